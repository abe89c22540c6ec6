"""`open_corpus`: from anything that can be input to a Corpus; and work over all of its shards, on
any engine, in the order of the input.

On this machine shards are cut here and go to the workers one by one. On others each file is cut
where it is read first: this process learns how many shards there are, and the places of those that
can be read alone. What cannot be cut without reading all that comes before (gzip, a table with
line ends in quotes) is one task, which gives the results of all its shards.
"""

from __future__ import annotations

import glob
import json
import os
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import chain, groupby, islice
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

from rote.core import plugins
from rote.core.document import Document, describe_absence
from rote.core.errors import InputError
from rote.corpus._checks import DuplicateIds, Fingerprint, Problems, digest
from rote.corpus._fields import name_flags, naming_flags
from rote.corpus._paths import (
    InputFile,
    find_addresses,
    find_files,
    is_address,
    place_of,
    short_names,
    suffixes,
)
from rote.corpus._select import JoinedRecords, none_fulfils
from rote.corpus._shard import Fields, Origin, Part, Reader, ReadOptions, Shard, failure_of
from rote.corpus._streams import (
    COMPRESSIONS,
    STDIN,
    changed_file_error,
    check_encoding,
    raw_pieces,
    sniff,
    spool,
    spool_stdin,
)
from rote.corpus.memory import DataFrameLike, length, to_rows
from rote.run import Engine

_TEXTS = "texts"


class Corpus:
    """A stream of Documents that can be read again and again; never a list in memory.

    `open_corpus` makes one. Iterating gives Documents, `shards()` pieces of work.
    `problems` holds what the last iteration skipped. Temporary copies (of standard
    input) live as long as the corpus does.
    """

    def __init__(
        self,
        parts: Sequence[Part],
        options: ReadOptions,
        *,
        name: str = _TEXTS,
        role: str = "",
        remarks: Sequence[str] = (),
        temporary: Sequence[Path] = (),
    ) -> None:
        self.options = options
        self.name = name
        """What the input was called: a path, or what a command calls it."""
        self.role = role
        """The option that it was given with; none for what a command works on."""
        self.problems = Problems()
        self.parts = tuple(parts)
        self._remarks = tuple(remarks)
        self._fields: dict[int, Fields] = {}
        self._temporary = frozenset(temporary)
        for path in temporary:
            weakref.finalize(self, os.unlink, path)

    @property
    def short_name(self) -> str:
        """The names of its files without their folders."""
        return ", ".join(Path(name).name for name in self.name.split(", "))

    def __iter__(self) -> Iterator[Document]:
        duplicates = DuplicateIds(self.options.on_error)
        self.problems = problems = Problems()
        for shard in self.shards():
            batch = duplicates.check(shard.read())
            problems.add(batch.problems)
            yield from batch.documents

    def shards(self) -> Iterator[Shard]:
        """Pieces of about 4 MB in input order, the same ones every time."""
        shards = (shard for file in self.files() for shard in file.shards())
        return (replace(shard, number=number) for number, shard in enumerate(shards))

    def files(self) -> Iterator[File]:
        """The parts of the input with all that is needed to read them."""
        for number, part in enumerate(self.parts):
            yield File(part, self._fields_of(number), self.options, number, self.role)

    def some(self, numbers: Sequence[int]) -> Corpus:
        """The corpus with these of its parts alone."""
        part = copy(self)
        part.parts = tuple(self.parts[number] for number in numbers)
        part._fields = {place: self._fields_of(number) for place, number in enumerate(numbers)}
        return part

    def is_here(self, file: File) -> bool:
        """Whether a part of the input is in this process, or a temporary file of it."""
        return file.part.reader == "memory" or file.part.where in self._temporary

    @property
    def size(self) -> int:
        """Bytes of input (characters for texts in memory); the sizes of the shards add up to it."""
        return sum(part.size for part in self.parts)

    @property
    def fingerprint(self) -> str:
        """A hash over ids and texts; reads everything once."""
        fingerprint = Fingerprint()
        fingerprint.add(map(digest, self))
        return fingerprint.hexdigest()

    @property
    def guesses(self) -> list[str]:
        """What was assumed about the input, a line for each kind; looks at the start of files."""
        files: dict[str, list[str]] = {}
        for number, part in enumerate(self.parts):
            if remark := self._fields_of(number).remark:
                files.setdefault(remark, []).append(part.origin.file)
        remarks = [*self._remarks, *(f"{_several(names)}: {r}" for r, names in files.items())]
        return [name_flags(line, self.role) for line in remarks]

    def with_text_in(self, field: str) -> Corpus | None:
        """The same records with their texts in this field; None where the first has none there."""
        corpus = copy(self)
        corpus.options, corpus._fields = replace(self.options, text_field=field), {}
        records = (record for shard in corpus.shards() for _, record in shard.records())
        first = next(records, None)
        return corpus if isinstance(first, dict) and isinstance(first.get(field), str) else None

    def _fields_of(self, number: int) -> Fields:
        if number not in self._fields:
            part = self.parts[number]
            with naming_flags(self.role):
                self._fields[number] = _reader(part).inspect(part, self.options)
        return self._fields[number]


@dataclass(frozen=True, slots=True)
class File:
    """One part of the input; small unless its texts are in memory."""

    part: Part
    fields: Fields
    options: ReadOptions
    number: int = 0
    role: str = ""

    def shards(self) -> Iterator[Shard]:
        shards = _reader(self.part).shards(self.part, self.fields, self.options)
        joined_records = None
        if self.options.join:
            joined_records = partial(joined, self.options)
        for place, shard in enumerate(shards):
            yield replace(
                shard, part=self.number, place=place, read_joined=joined_records, role=self.role
            )


def _reader(part: Part) -> Reader:
    return cast(Reader, plugins.load("corpus", part.reader))


def _several(names: list[str]) -> str:
    if len(names) <= 2:
        return " and ".join(names)
    return f"{names[0]} and {len(names) - 1} other files"


Name: TypeAlias = "str | Path"
Texts: TypeAlias = (
    "Sequence[str] | Sequence[Document] | Sequence[Mapping[str, Any]] | DataFrameLike"
)
Input: TypeAlias = (
    "Name | Sequence[Name] | Texts | Mapping[str, Texts | Name | Sequence[Path]] | Corpus"
)


def open_corpus(
    inputs: Input, options: ReadOptions | None = None, *, role: str = "", called: str = ""
) -> Corpus:
    """Open files, folders, globs, `-`, `bible:kjv`, lists of texts or records, a frame or a column
    of pandas, polars or pyarrow, a data set of Hugging Face, or a dict source -> texts.

    Nothing is read yet but standard input; what cannot be found is an error at once. `role` is the
    option that names the input, where it has a NAME_read beside it, which errors then name;
    `called` is what texts in memory are called.

    >>> next(iter(open_corpus(["one text", "another"]))).text
    'one text'
    """
    if isinstance(inputs, Corpus):
        return inputs
    options = options or ReadOptions()
    check_encoding(options.encoding)
    sources = inputs if isinstance(inputs, Mapping) else {None: inputs}
    opening = _Opening(options, role, called or role or _TEXTS)
    try:
        with naming_flags(role):
            options = opening.spool_joined()
            for source, value in sources.items():
                opening.add(value, source)
            corpus = opening.corpus(inputs)
            if options.join:
                joined(options)  # what is wrong with it is said before the work
            if options.where:
                _check_where(corpus)
        return corpus
    except BaseException:
        for path in opening.temporary:
            path.unlink()
        raise


def _check_where(corpus: Corpus) -> None:
    """Refuse conditions that no record fulfils; reads up to the first that does."""
    if any(shard.read().documents for shard in corpus.shards()):
        return
    everything = Corpus(corpus.parts, replace(corpus.options, where=()))
    records = ({"id": document.id, **document.meta} for document in everything)
    files = _several([part.origin.file for part in corpus.parts])
    raise none_fulfils(corpus.options.where, records, files)


def joined(options: ReadOptions) -> JoinedRecords:
    """The records that are joined; read once in each process, and again when a file changes."""
    # Records are taken as they are; a field for the text is named so that none is guessed.
    field, files = options.join_on, tuple(options.join)
    plain = ReadOptions(
        text_field=field, input_format=options.input_format, encoding=options.encoding
    )
    changed = tuple(os.stat(file).st_mtime_ns if os.path.exists(file) else 0 for file in files)
    return _joined(files, field, plain, changed)


@lru_cache(maxsize=4)
def _joined(
    files: tuple[str, ...], field: str, plain: ReadOptions, changed: tuple[int, ...]
) -> JoinedRecords:
    records_by_key: dict[str, dict[str, Any]] = {}
    for shard in open_corpus([place_of(file) for file in files], plain).shards():
        for number, record in shard.records():
            if isinstance(record, InputError):
                raise record
            fields = record if isinstance(record, dict) else {}
            if fields.get(field) is None:
                raise shard.origin.error(
                    f"the record has no match to join: the field {describe_absence(fields, field)}",
                    number,
                    field=field,
                    remedy="Name the field that both files share with --join-on",
                )
            if records_by_key.setdefault(str(fields[field]), fields) is not fields:
                raise shard.origin.error(
                    f"the second record with the value '{fields[field]}'",
                    number,
                    field=field,
                    remedy="Remove one of them: a record is joined with one other",
                )
    return JoinedRecords(field, " and ".join(files), records_by_key)


class _Opening:
    """What has been found so far, in order."""

    def __init__(self, options: ReadOptions, role: str, called: str) -> None:
        self.options, self.role, self.called = options, role, called
        self.items: list[tuple[Part | InputFile, str | None]] = []
        self.remarks: list[str] = []
        self.temporary: list[Path] = []
        self.seen: set[str] = set()

    def spool_joined(self) -> ReadOptions:
        """Put records that are to be joined into a file, which every process can read."""
        rows = to_rows(self.options.join)
        rows = [rows] if isinstance(rows, (str, Path)) else rows
        if not all(isinstance(row, (str, Path)) for row in rows):
            if not all(isinstance(row, Mapping) for row in rows):
                kinds = sorted({type(row).__name__ for row in rows})
                raise InputError(
                    f"join takes files, records or a frame, not {', '.join(kinds)}",
                    remedy="Give records that share the field join_on with the texts",
                )
            lines = (json.dumps(row, default=str).encode() + b"\n" for row in rows)
            self.temporary.append(spool(lines))
            rows = [f"jsonl:{self.temporary[-1]}"]
        self.options = replace(self.options, join=tuple(map(str, rows)))
        return self.options

    def add(self, value: object, source: str | None) -> None:
        if isinstance(value, (str, Path)):
            self.add_name(value, source)
            return
        rows = to_rows(value)
        called = source if source is not None else self.called
        if not isinstance(rows, Sequence) or isinstance(rows, bytes):
            raise InputError(
                f"{called} cannot be of type {type(value).__name__}",
                remedy="Give a path, a list of paths, texts or records, a frame or a column of "
                "pandas, polars or pyarrow, a Hugging Face data set, a dict source -> texts, or a "
                "Corpus",
            )
        # Strings of a column are texts, whatever files there are.
        if are_names(rows) and (rows is value or isinstance(rows[0], Path)):
            for name in rows:
                self.add_name(name, source)
        elif not rows:
            raise InputError(f"no input: {called} is empty", remedy="Give texts or paths")
        else:
            origin = Origin(called, called, called, source)
            size = sum(map(length, rows))
            # A list: a tuple holds the parts of a folder of texts.
            self.items.append((Part("memory", list(rows), origin, size), source))

    def add_name(self, name: Name, source: str | None) -> None:
        text = str(name)
        reader, _, rest = text.partition(":")
        if not text:
            raise InputError(
                "no input: the file name is empty", remedy="Give a path, or . for here"
            )
        if is_address(name):
            self._add(text, *find_addresses(text, self.options), source)
        elif text == "-":
            self.items.append((self._stdin(), source))
        elif _is_named(text):
            module = plugins.load("corpus", reader)
            if hasattr(module, "named"):
                self.items.append((module.named(rest), source))
            else:
                self._files(Path(rest), replace(self.options, input_format=reader), source)
        else:
            self._files(Path(text), self.options, source)

    def _files(self, path: Path, options: ReadOptions, source: str | None) -> None:
        self._add(str(path), *find_files(path, options), source)

    def _add(
        self, name: str, files: list[InputFile], remarks: list[str], source: str | None
    ) -> None:
        self.remarks += remarks
        again = 0
        for file in files:
            real = file.address or str(file.path.resolve())
            if real in self.seen:
                again += 1
            else:
                self.seen.add(real)
                self.items.append((file, source))
        if again:
            times = "a file that was" if again == 1 else f"{again} files that were"
            self.remarks.append(f"{name}: {times} named before, read once")

    def _stdin(self) -> Part:
        path = spool_stdin()
        self.temporary.append(path)
        size = path.stat().st_size
        origin = Origin(STDIN, "stdin", "stdin")
        reader, compression = sniff(path)
        if self.options.input_format is not None:
            return self._seekable(Part(self.options.input_format, path, origin, size, compression))
        kind = "text, one document per line" if reader == "text" else reader
        self.remarks.append(f"{STDIN}: read as {kind} (guessed; --input-format chooses another)")
        plain = "line" if self.options.plain == "file" else None
        return self._seekable(Part(reader, path, origin, size, compression, plain))

    def _seekable(self, part: Part) -> Part:
        """Unpack, or copy here, what a reader can only read by jumping about in it."""
        away = part.reader == "arrow" and is_address(part.where)
        seeks = getattr(plugins.load("corpus", part.reader), "NEEDS_SEEKING", False)
        if not away and not (part.compression and seeks):
            return part
        pieces = raw_pieces(part.where, part.compression, part.origin.file)
        path = spool(piece for piece, _ in pieces)
        self.temporary.append(path)
        return replace(part, where=path, compression="", size=path.stat().st_size)

    def corpus(self, inputs: Input) -> Corpus:
        if not self.items:
            raise InputError("no input: the dict is empty", remedy="Give source -> texts")
        files = [item for item, _ in self.items if isinstance(item, InputFile)]
        names = iter(short_names([f.stem for f in files], [f.path for f in files]))
        parts: list[Part] = []
        for label, group in groupby(self._parts(names), self._document_label):
            some = list(group)
            parts += some if label is None else [_merge_parts(some)]
        # What files were called; texts in memory have no names.
        paths = [inputs] if isinstance(inputs, (str, Path)) else inputs
        is_named = isinstance(paths, (list, tuple)) and are_names(paths)
        return Corpus(
            parts,
            self.options,
            name=(", ".join(map(str, paths)) if is_named else "") or self.called,
            role=self.role,
            remarks=self.remarks,
            temporary=self.temporary,
        )

    def _parts(self, names: Iterator[str]) -> Iterator[Part]:
        for item, source in self.items:
            part = item
            if isinstance(part, InputFile):
                part = self._seekable(_part(part, next(names), self.options))
            if source is not None:
                origin = replace(part.origin, label=source, source=source)
                part = replace(part, origin=origin)
            yield part

    def _document_label(self, part: Part) -> str | None:
        """The label of a text file that is one document; None for anything else."""
        is_whole = part.reader == "text" and (part.plain or self.options.plain) == "file"
        return part.origin.label if is_whole else None


def _part(file: InputFile, name: str, options: ReadOptions) -> Part:
    is_whole = file.reader == "text" and options.plain == "file" and file.in_folder
    label = file.path.absolute().parent.name if is_whole else name
    origin = Origin(str(file.where), name, label or name)
    # In full: whoever reads it may work in another folder.
    where = file.address or file.path.absolute()
    return Part(file.reader, where, origin, file.size, file.compression)


def _merge_parts(parts: Sequence[Part]) -> Part:
    """Text files of one label that are one document each, as one part: there may be very many."""
    origin = parts[0].origin
    if len(parts) > 1:
        origin = replace(origin, file=os.path.dirname(origin.file) or ".")
    return Part("text", tuple(parts), origin, sum(part.size for part in parts))


def are_names(values: object) -> bool:
    """Paths, or strings that all name something; a list of texts names nothing."""
    if not isinstance(values, Sequence):
        return False
    if any(isinstance(value, Path) for value in values):
        return all(isinstance(value, (str, Path)) for value in values)
    if not values or not all(isinstance(value, str) for value in values):
        return False
    files = [value for value in values if isinstance(value, str) and _exists(value)]
    if files and len(files) < len(values):
        raise InputError(
            f"{len(files)} of {len(values)} strings are names of files ('{files[0]}'), the others "
            "are not",
            remedy="Give files as Path objects, and texts as a dict {'texts': [...]}",
        )
    return bool(files)


def _is_named(text: str) -> bool:
    reader, colon, _ = text.partition(":")
    return bool(colon) and reader in plugins.members("corpus") and not os.path.exists(text)


def _exists(text: str) -> bool:
    if not text.strip() or "\n" in text or len(text) > 1000:
        return False
    if is_address(text) or os.path.exists(text) or _is_named(text):
        return True
    # Question marks are frequent in texts, and a search through folders is slow.
    like_path = os.sep in text or text.lower().endswith((*suffixes(), *COMPRESSIONS))
    return like_path and glob.has_magic(text) and bool(glob.glob(text, recursive=True))


Out = TypeVar("Out")
Value = TypeVar("Value")
Again = Callable[[Callable[[Shard], Out]], Out]
"""Applies another function to the shard that a result was made from."""


def map_shards(
    work: Callable[[Any], Out],
    corpus: Corpus,
    engine: Engine,
    *,
    doing: str,
    extra: Callable[[int], Any] | None = None,
) -> Iterator[Out]:
    """A result for each shard; with `extra`, work gets the shard and what that gives by number."""
    pairs = map_again(work, corpus, engine, doing=doing, extra=extra)
    return (result for _, result in pairs)


def map_again(
    work: Callable[[Any], Out],
    corpus: Corpus,
    engine: Engine,
    *,
    doing: str,
    note: str = "",
    extra: Callable[[int], Any] | None = None,
) -> Iterator[tuple[Again[Any], Out]]:
    """The same, each result with a way to work on its shard again."""
    tasks: deque[_Task] = deque()

    def drawn() -> Iterator[_Task]:
        for task in _tasks(corpus, engine):
            task = task if extra is None else replace(task, extras=tuple(map(extra, task.numbers)))
            tasks.append(task)
            yield task

    for results in engine.map(partial(_work_on_each, work), drawn(), doing=doing, note=note):
        task = tasks.popleft()
        for place, result in enumerate(results):
            yield partial(_again, engine, task, place, doing), result


def group_shards(
    work: Callable[[Shard], Iterable[tuple[Any, Value]]],
    corpus: Corpus,
    engine: Engine,
    fold: Callable[[Value, Value], Value],
    *,
    then: Callable[[Any, Value], Out],
    doing: str,
) -> Iterator[tuple[Any, Out]]:
    """What the work on all shards gives, by key (`Engine.group`)."""
    return engine.group(
        partial(_work_on_pairs, work), _tasks(corpus, engine), fold, then=then, doing=doing
    )


@dataclass(frozen=True, slots=True)
class _Task:
    """A shard, several that are read at once, or a file of several, one after the other."""

    what: tuple[Shard, ...] | File
    first: int
    count: int = 1
    extras: tuple[Any, ...] = ()

    @property
    def numbers(self) -> range:
        return range(self.first, self.first + self.count)

    def shards(self) -> Iterator[Shard]:
        what, number = self.what, self.first
        shards = what.shards() if isinstance(what, File) else what
        for number, shard in enumerate(shards, self.first):
            yield replace(shard, number=number)
        if isinstance(what, File) and number + 1 != self.first + self.count:
            raise changed_file_error(what.part.origin.file)


def _work_on_each(work: Callable[[Any], Any], task: _Task) -> list[Any]:
    if not task.extras:
        return list(map(work, task.shards()))
    return list(map(work, zip(task.shards(), task.extras)))


def _work_on_pairs(
    work: Callable[[Shard], Iterable[tuple[Any, Any]]], task: _Task
) -> Iterator[tuple[Any, Any]]:
    return chain.from_iterable(map(work, task.shards()))


def _work_on_one(work: Callable[[Shard], Any], place: int, task: _Task) -> Any:
    """Work on one shard of a task."""
    return work(next(islice(task.shards(), place, None)))


def _again(
    engine: Engine, task: _Task, place: int, doing: str, work: Callable[[Shard], Out]
) -> Out:
    single: Callable[[_Task], Out] = partial(_work_on_one, work, place)
    return next(engine.map(single, [task], doing=doing)) if engine.remote else single(task)


def _tasks(corpus: Corpus, engine: Engine) -> Iterator[_Task]:
    if not engine.remote:
        yield from (_Task((shard,), shard.number) for shard in corpus.shards())
        return
    # Texts in memory and what was spooled here go along with their tasks.
    files = list(corpus.files())
    away = engine.map(_cut, (f for f in files if not corpus.is_here(f)), doing="cutting files")
    number = 0
    for file in files:
        shards = list(file.shards()) if corpus.is_here(file) else next(away)
        if isinstance(shards, int):
            if shards:
                yield _Task(file, number, shards)
            number += shards
            continue
        for several in _together(shards):
            yield _Task(several, number, len(several))
            number += len(several)


def _together(shards: list[Shard]) -> Iterator[tuple[Shard, ...]]:
    """The shards one by one, but neighbours that are read at once as one."""
    for number, group in groupby(shards, attrgetter("together")):
        some = tuple(group)
        yield from zip(some) if number is None else (some,)


def _cut(file: File) -> list[Shard] | int:
    """The shards of a file where all refer to their place in it, else how many there are."""
    shards: list[Shard] = []
    count = 0
    for shard in file.shards():
        count += 1
        problem = failure_of(shard)
        if problem and isinstance(problem.__cause__, OSError) and file.options.on_error == "stop":
            raise problem  # said with the name of this machine
        if shard.refers:
            shards.append(shard)
    return shards if len(shards) == count else count
