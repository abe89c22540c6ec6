"""Named arrays in one file: a zstd-compressed npz without pickle, with a description.

Opening a stranger's file must not run code, and a damaged one must not give wrong
numbers: numpy's pickles are refused, and zstd's checksum is written and checked.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from rote.core.errors import InputError
from rote.core.json_reader import JsonObject, parse_json

ENDING = ".npz.zst"
_RESTORE = "Make it again, or restore a copy"
Arrays: TypeAlias = dict[str, Any]


def pack(arrays: Mapping[str, Any], about: Mapping[str, Any], level: int = 3) -> bytes:
    """The arrays and a JSON-able description as bytes; the same input gives the same bytes."""
    import numpy as np
    import zstandard

    text = json.dumps(about, ensure_ascii=True, sort_keys=True).encode("ascii")
    plain = io.BytesIO()
    held: Any = {"about": np.frombuffer(text, np.uint8), **arrays}
    np.savez(plain, **held)
    compressor = zstandard.ZstdCompressor(level=level, write_checksum=True)
    return compressor.compress(plain.getvalue())


def unpack(data: bytes, name: str) -> tuple[Arrays, dict[str, Any]]:
    """The reverse of `pack`; `name` is the file, for the error."""
    import zipfile

    import numpy as np
    import zstandard

    try:
        plain = zstandard.ZstdDecompressor().decompress(data)
        with np.load(io.BytesIO(plain), allow_pickle=False) as held:
            arrays = {key: held[key] for key in held.files}
        about = arrays.pop("about").tobytes()
    except (
        zstandard.ZstdError,
        zipfile.BadZipFile,
        ValueError,
        TypeError,
        KeyError,
        OSError,
        EOFError,
    ) as error:
        problem = f"the file is damaged ({error})"
        raise InputError(problem, file=name, remedy=_RESTORE) from None
    return arrays, dict(JsonObject.of(parse_json(about, name), name, remedy=_RESTORE).values)
