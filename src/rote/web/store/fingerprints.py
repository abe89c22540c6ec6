"""Which version of a file or an index this is, found out quickly: for recognizing repeated work."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

_WHOLE = 64 * 2**20
"""Bytes up to which a file is known by its content; beyond, by name, size and time."""


def fingerprint(path: Path) -> str:
    """Of a file, a folder, or a name such as `bible:kjv`."""
    if path.is_file():
        return _of_file(path)
    if path.is_dir():
        held = sorted(one for one in path.rglob("*") if one.is_file() and one.name != "lock")
        return hashed(*(f"{one.relative_to(path)} {_stamp(one)}" for one in held))
    from rote.core.distribution import version

    return hashed(str(path), version())


def hashed(*parts: str) -> str:
    return blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()


def _of_file(path: Path) -> str:
    stamp = _stamp(path)
    return _content(path, stamp) if path.stat().st_size <= _WHOLE else hashed(str(path), stamp)


def _stamp(path: Path) -> str:
    status = path.stat()
    return f"{status.st_size} {status.st_mtime_ns}"


@lru_cache(maxsize=256)
def _content(path: Path, stamp: str) -> str:
    return blake2b(path.read_bytes(), digest_size=10).hexdigest()
