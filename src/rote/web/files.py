"""A first look at a file of texts: what its records hold, how it begins, and how it is read."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
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

_MAX_RECORDS, _MAX_CHARACTERS = 2_000, 5_000_000
"""Records, or characters of them, that are looked at."""
ALL_RECORDS = 10**12
FEW_VALUES, _MAX_VALUES = 12, 100
"""Values of a field that most probably names sources; and up to which one can be chosen."""
_RECORDS_SHOWN = 10
_LONG, _SHORT = 400, 60
_MAX_PROBLEMS = 20
_MAX_HASHED = 64 * 2**20
"""Bytes up to which a file is known by its content; beyond, by name, size and time."""


@dataclass(frozen=True, slots=True)
class FilePreview:
    """Of the first records alone: a large file is not read for this."""

    records: tuple[tuple[str, str, tuple[tuple[str, str], ...]], ...] = ()
    """Ids, beginnings and other fields of the first texts."""
    fields: tuple[str, ...] = ()
    values: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """The values of fields that may tell sources apart: not those with very many."""
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


def preview_file(
    path: Path, read: ReadOptions | None = None, most: int = _MAX_RECORDS
) -> FilePreview:
    """A file that cannot be read has a problem, and the page can still be shown.

    At most so many of its texts are looked at.
    """
    try:
        return _preview(path, fingerprint(path), read, most)
    except (RoteError, OSError) as error:
        return FilePreview(problem=name_form_fields(error, path))


def find_unreadable(files: Mapping[str, Path], takes: str = "texts") -> dict[str, str]:
    """Which of these files cannot be read, and why: as texts, or as test items."""
    problems = {key: preview_file(path).problem for key, path in files.items()}
    wrong = {key: problem for key, problem in problems.items() if problem}
    if takes == "items":
        return {key: problem for key, problem in wrong.items() if not _holds_items(files[key])}
    return wrong


def first_readable(files: Mapping[str, Path]) -> tuple[str, ...]:
    """The file that a form begins with; none where none can be read."""
    return tuple(islice((key for key, path in files.items() if not preview_file(path).problem), 1))


def _holds_items(path: Path) -> bool:
    from rote.corpus.items import read_records

    try:
        return next(iter(read_records(path)), None) is not None
    except (RoteError, OSError):
        return False


def list_sources(paths: Sequence[Path], by: Sequence[str] = ()) -> dict[str, list[str]]:
    """The sources that can be chosen among, by what tells them apart: the fields that were named,
    or where none is, the files themselves and every field that has few values."""
    from rote.corpus import open_corpus

    looks = [look for path in paths if not (look := preview_file(path)).problem]
    values_by_field: dict[str, dict[str, None]] = {}
    if not by and len(looks) > 1:
        try:
            parts = open_corpus(list(paths)).parts
            values_by_field["files"] = dict.fromkeys(part.origin.label for part in parts)
        except (RoteError, OSError):
            pass  # the page says what is wrong with each
    for look in looks:
        for name, values in look.values:
            if name in by or (not by and len(values) <= FEW_VALUES):
                values_by_field.setdefault(name, {}).update(dict.fromkeys(values))
    return {name: sorted(values) for name, values in values_by_field.items()}


def list_fields(path: Path, read: ReadOptions) -> list[str]:
    """The fields of the first records as the file has them, whichever of them holds the text."""
    from dataclasses import replace

    from rote.corpus import open_corpus

    names: dict[str, None] = {}
    try:
        # One is named, so that none is guessed.
        shards = open_corpus([path], replace(read, text_field="text", id_field=None)).shards()
        for shard in islice(shards, 1):
            for _, record in islice(shard.records(), _MAX_RECORDS):
                names |= dict.fromkeys(map(str, record)) if isinstance(record, dict) else {}
    except (RoteError, OSError):
        return []  # a glimpse of the file says what is wrong
    return list(names)


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


def name_form_fields(error: object, path: Path | None = None) -> str:
    """What is wrong, by the names that forms have for the shell's flags; the file is called by its
    name alone. Whole commands, `in such quotes`, are for the shell and stay."""
    message = str(error)
    if path is not None:
        message = message.replace(str(path), path.name)
    return _FLAG.sub(_field_label, message.replace("(--jobs, ", "("))


def _field_label(match: re.Match[str]) -> str:
    flag = match[0]
    if flag.startswith("`"):
        return flag
    return f"“{_FLAGS.get(flag) or flag[2:].replace('-', ' ').capitalize()}”"


def read_batches(path: Path, read: ReadOptions | None = None) -> Iterator[Batch]:
    """The texts of a file, a folder, an annotated store, or a bundled example, with the file that
    they occur in: an id is unique within its file only."""
    from rote.annotate.store import is_store, open_store
    from rote.corpus import open_corpus

    return corpus_batches(open_store(path) if is_store(path) else open_corpus([path], read))


def corpus_batches(texts: Corpus | Store) -> Iterator[Batch]:
    from rote.corpus import Corpus

    if isinstance(texts, Corpus):
        return (shard.read() for shard in texts.shards())
    return (batch for batch, _ in texts.pieces())


def file_name(file: str, files: Mapping[str, Path | str]) -> str:
    """How a file that was read is called here: by the key of what was given, and by the place
    inside, if that was a folder; never by its path alone."""
    for key, path in files.items():
        if file == str(path):
            return key
        if file.startswith(f"{path}{os.sep}"):
            return f"{key}/{file[len(str(path)) + 1 :]}"
    return Path(file).name


@lru_cache(maxsize=256)
def _preview(path: Path, version: str, read: ReadOptions | None, most: int) -> FilePreview:
    from rote.corpus import DuplicateIds, Problems

    values_by_field: dict[str, dict[str, None]] = {}
    first: list[tuple[str, str, tuple[tuple[str, str], ...]]] = []
    problems, ids = Problems(), DuplicateIds(read.on_error if read else "stop")
    position, remaining = 0, _MAX_CHARACTERS
    for batch in read_batches(path, read):
        checked = ids.check(batch)
        problems.add(checked.problems)
        for document in islice(checked.documents, most - position):
            position += 1
            remaining -= len(document.text)
            if len(first) < _RECORDS_SHOWN:
                first.append(
                    (document.id, _one_line(document.text, _LONG), _other_fields(document))
                )
            for name, value in document.meta.items():
                values = values_by_field.setdefault(name, {})
                if len(values) <= _MAX_VALUES and isinstance(value, (str, int, float)):
                    values[str(value)] = None
            if remaining < 0 and most <= _MAX_RECORDS:
                break
        if position >= most or (remaining < 0 and most <= _MAX_RECORDS):
            break
    if not position:
        raise InputError("the file holds no text that can be read", file=path.name)
    few = tuple((n, tuple(v)) for n, v in values_by_field.items() if 1 < len(v) <= _MAX_VALUES)
    messages = tuple(name_form_fields(problem, path) for problem in list(problems)[:_MAX_PROBLEMS])
    return FilePreview(
        tuple(first), tuple(values_by_field), few, "", position, messages, len(problems)
    )


def _other_fields(document: Document) -> tuple[tuple[str, str], ...]:
    return tuple((n, _one_line(v, _SHORT)) for n, v in document.meta.items() if v is not None)


def _one_line(value: Any, most: int) -> str:
    """The beginning of it, on one line."""
    line = " ".join(str(value)[: 2 * most].split())
    return line if len(line) <= most else line[:most] + "…"


def fingerprint(path: Path) -> str:
    """Of a file, a folder, or a name such as `bible:kjv`."""
    if path.is_file():
        return _file_fingerprint(path)
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file() and file.name != "lock")
        return hash_parts(*(f"{file.relative_to(path)} {_file_stamp(file)}" for file in files))
    from rote.core.distribution import version

    return hash_parts(str(path), version())


def hash_parts(*parts: str) -> str:
    return blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()


def _file_fingerprint(path: Path) -> str:
    stamp = _file_stamp(path)
    return (
        _content_hash(path, stamp)
        if path.stat().st_size <= _MAX_HASHED
        else hash_parts(str(path), stamp)
    )


def _file_stamp(path: Path) -> str:
    status = path.stat()
    return f"{status.st_size} {status.st_mtime_ns}"


@lru_cache(maxsize=256)
def _content_hash(path: Path, stamp: str) -> str:
    return blake2b(path.read_bytes(), digest_size=10).hexdigest()
