"""Writing files so that a half-written one never stands under the final name."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from rote.core.errors import OptionError


def write_atomically(path: Path, content: str | bytes, *, durable: bool = False) -> None:
    """Write beside the target, then rename over it; `durable`: safe from a power cut too."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    if not path.parent.is_dir():
        raise OptionError(f"{path}: there is no folder {path.parent}; make it first")
    if path.is_dir():
        raise OptionError(f"{path} is a folder: name a file, such as {path / 'result'}")
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _umask() -> int:
    # mkstemp makes private files; a result should be as readable as any other file.
    current = os.umask(0)
    os.umask(current)
    return current
