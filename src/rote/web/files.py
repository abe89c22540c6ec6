"""A first look at a file of texts: what its records hold, how it begins, and how it is read."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from rote.core.document import Document
from rote.core.errors import InputError, RoteError

if TYPE_CHECKING:
    from rote.annotate.store import Store
    from rote.corpus import Batch, Corpus, ReadOptions

Reader: TypeAlias = "Callable[[Path], Iterator[Batch]]"
"""Gives the texts of a file, as somebody reads it."""

_LOOKED_AT, _CHARACTERS = 2_000, 5_000_000
"""Records, or characters of them, that are looked at."""
ALL = 10**12
_FEW = 12
_SHOWN = 10
_LONG, _SHORT = 400, 60
_PROBLEMS = 20
_WHOLE = 64 * 2**20
"""Bytes up to which a file is known by its content; beyond, by name, size and time."""


@dataclass(frozen=True, slots=True)
class Glimpse:
    """Of the first records alone: a large file is not read for this."""

    records: tuple[tuple[str, str, tuple[tuple[str, str], ...]], ...] = ()
    """Ids, beginnings and other fields of the first texts."""
    fields: tuple[str, ...] = ()
    values: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """The values of fields that tell sources apart: those with few of them."""
    problem: str = ""
    seen: int = 0
    """Texts that were looked at."""
    skipped: tuple[str, ...] = ()
    """What is wrong with the first records that were left out."""
    left_out: int = 0

    @property
    def texts(self) -> list[tuple[str, str]]:
        """Ids and beginnings of the first texts."""
        return [(id, text) for id, text, _ in self.records]

    def of(self, field: str) -> tuple[str, ...]:
        return dict(self.values).get(field, ())


def glimpse(path: Path, read: ReadOptions | None = None, most: int = _LOOKED_AT) -> Glimpse:
    """A file that cannot be read has a problem, and the page can still be shown.

    At most so many of its texts are looked at.
    """
    try:
        return _look(path, fingerprint(path), read, most)
    except (RoteError, OSError) as error:
        return Glimpse(problem=in_words(error, path))


def fields_of(path: Path, read: ReadOptions) -> list[str]:
    """The fields of the first records as the file has them, whichever of them holds the text."""
    from dataclasses import replace

    from rote.corpus import open_corpus

    found: dict[str, None] = {}
    try:
        # One is named, so that none is guessed.
        shards = open_corpus([path], replace(read, text_field="text", id_field=None)).shards()
        for shard in islice(shards, 1):
            for _, record in islice(shard.records(), _LOOKED_AT):
                found |= dict.fromkeys(map(str, record)) if isinstance(record, dict) else {}
    except (RoteError, OSError):
        return []  # a glimpse of the file says what is wrong
    return list(found)


_FLAGS = {
    "--on-error skip": "Skip bad records",
    "--text-field": "Field with the text",
    "--id-field": "Field with the id",
    "--plain": "Plain text: one text per",
    "--by": "Fields that tell sources apart",
}
_SERVING = "host|port|token|store|jobs|at-once|upload-limit|model"
"""Flags of `rote serve` itself: no form has them."""
_FLAG = re.compile(rf"`[^`]*`|{'|'.join(_FLAGS)}|--(?!(?:{_SERVING})\b)[a-z][a-z-]+")


def in_words(error: object, path: Path | None = None) -> str:
    """What is wrong, by the names that forms have for the shell's flags; the file is called by its
    name alone. Whole commands, `in such quotes`, are for the shell and stay."""
    told = str(error)
    if path is not None:
        told = told.replace(str(path), path.name)
    return _FLAG.sub(_label, told.replace("(--jobs, ", "("))


def _label(found: re.Match[str]) -> str:
    flag = found[0]
    if flag.startswith("`"):
        return flag
    return f"“{_FLAGS.get(flag) or flag[2:].replace('-', ' ').capitalize()}”"


def batches(path: Path, read: ReadOptions | None = None) -> Iterator[Batch]:
    """The texts of a file, a folder, an annotated store, or a bundled example, with the file that
    they occur in: an id is unique within its file only."""
    from rote.annotate.store import is_store, open_store
    from rote.corpus import open_corpus

    return batches_of(open_store(path) if is_store(path) else open_corpus([path], read))


def batches_of(texts: Corpus | Store) -> Iterator[Batch]:
    from rote.corpus import Corpus

    if isinstance(texts, Corpus):
        return (shard.read() for shard in texts.shards())
    return (batch for batch, _ in texts.pieces())


def file_name(file: str, given: Mapping[str, Path | str]) -> str:
    """How a file that was read is called here: by the key of what was given, and by the place
    inside, if that was a folder; never by its path alone."""
    for key, path in given.items():
        if file == str(path):
            return key
        if file.startswith(f"{path}{os.sep}"):
            return f"{key}/{file[len(str(path)) + 1 :]}"
    return Path(file).name


@lru_cache(maxsize=256)
def _look(path: Path, version: str, read: ReadOptions | None, most: int) -> Glimpse:
    from rote.corpus import DuplicateIds, Problems

    found: dict[str, dict[str, None]] = {}
    first: list[tuple[str, str, tuple[tuple[str, str], ...]]] = []
    problems, ids = Problems(), DuplicateIds(read.on_error if read else "stop")
    seen, left = 0, _CHARACTERS
    for batch in batches(path, read):
        checked = ids.check(batch)
        problems.add(checked.problems)
        for document in islice(checked.documents, most - seen):
            seen += 1
            left -= len(document.text)
            if len(first) < _SHOWN:
                first.append((document.id, _line(document.text, _LONG), _others(document)))
            for name, value in document.meta.items():
                held = found.setdefault(name, {})
                if len(held) <= _FEW and isinstance(value, (str, int, float)):
                    held[str(value)] = None
            if left < 0 and most <= _LOOKED_AT:
                break
        if seen >= most or (left < 0 and most <= _LOOKED_AT):
            break
    if not seen:
        raise InputError("the file holds no text that can be read", file=path.name)
    few = tuple((n, tuple(v)) for n, v in found.items() if 1 < len(v) <= _FEW)
    told = tuple(in_words(one, path) for one in list(problems)[:_PROBLEMS])
    return Glimpse(tuple(first), tuple(found), few, "", seen, told, len(problems))


def _others(document: Document) -> tuple[tuple[str, str], ...]:
    return tuple((n, _line(v, _SHORT)) for n, v in document.meta.items() if v is not None)


def _line(value: Any, most: int) -> str:
    """The beginning of it, on one line."""
    line = " ".join(str(value)[: 2 * most].split())
    return line if len(line) <= most else line[:most] + "…"


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
