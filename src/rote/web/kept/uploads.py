"""Files that came through the browser: kept in the store under the hash of their content.

What a browser calls a file is never a path here: it is cleaned and used as the last part of a
path whose folder is a hash. A file that cannot be read is refused at once and not kept.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO

from rote.core.errors import InputError, RoteError

_FOLDER = "uploads"
_DIGITS, _SHOWN = 32, 8
_PIECE = 2**20
_LONGEST = 80


def uploaded(store: Path) -> dict[str, Path]:
    """Key -> path of all that was uploaded, the newest first."""
    found = [path for path in (store / _FOLDER).glob("*/*") if path.is_file()]
    found.sort(key=lambda path: (-path.stat().st_mtime_ns, path.name))
    return {key_of(path): path for path in found}


def key_of(path: Path) -> str:
    """The name of the file, and enough of its hash to tell it from others of that name."""
    return f"{path.name}~{path.parent.name[:_SHOWN]}"


def keep(store: Path, name: str, content: BinaryIO) -> str:
    """Keep a file, and give its key; the same content under the same name is kept once."""
    named = _cleaned(name)
    folder = store / _FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=".new-", dir=folder))
    try:
        digest = blake2b(digest_size=_DIGITS // 2)
        with (temporary / named).open("wb") as file:
            while piece := content.read(_PIECE):
                digest.update(piece)
                file.write(piece)
        _check(temporary / named, name)
        target = folder / digest.hexdigest()
        target.mkdir(exist_ok=True)
        os.replace(temporary / named, target / named)
        return key_of(target / named)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def remove(store: Path, key: str) -> bool:
    """Forget an uploaded file; whether there was one."""
    path = uploaded(store).get(key)
    if path is None:
        return False
    path.unlink(missing_ok=True)
    if not any(path.parent.iterdir()):
        path.parent.rmdir()
    return True


def _cleaned(name: str) -> str:
    """The last part of what the browser says, of plain characters; the endings stay."""
    last = re.split(r"[/\\]", name)[-1]
    plain = re.sub(r"[^\w.-]+", "-", last).lstrip(".-")
    if not plain:
        raise InputError(
            "the file has no name", file=name or "upload", remedy="Rename it and upload it again"
        )
    stem, dot, endings = plain.partition(".")
    return stem[: _LONGEST - len(endings)] + dot + endings[-20:]


def _check(path: Path, name: str) -> None:
    """Read its first record, so that what is wrong is said here and not in the middle of work."""
    from rote.corpus import open_corpus

    try:
        if next(iter(open_corpus([path])), None) is None:
            raise InputError("the file holds no text", remedy="Upload another")
    except RoteError as error:
        # The file lies in a folder that the user never heard of.
        raise InputError(str(error).replace(str(path), name)) from None
