"""A corpus written again without some of its documents and words, each file in its own format.

Records keep their fields; what came as JSONL, JSON, CSV, TSV, Parquet or text, packed or not,
is written as that, and anything else as JSONL. Words are cut together with the white space
behind them, so that what is left reads on.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import chain, pairwise
from pathlib import Path
from typing import IO, Any, cast

from rote.annotate import words
from rote.core.document import Document
from rote.core.errors import InputError
from rote.core.files import write_atomically
from rote.core.progress import Reporter
from rote.corpus import Corpus, Shard
from rote.corpus._shard import Part
from rote.curate.reading import json_line, record_of
from rote.run import Engine

Words = tuple[int, int]
"""From where to where, in words of a document."""
_SEPARATORS = {".tsv": "\t", ".tab": "\t"}
_GZIP_LEVEL, _ZSTD_LEVEL = 6, 3


@dataclass(frozen=True, slots=True)
class Edits:
    """What is done to the documents of one shard, by line: None drops one, else words are cut.

    `told` are words that somebody wants to read, cut or not; `lines` are all that are read.
    """

    lines: frozenset[int]
    cuts: Mapping[int, Sequence[Words] | None] = field(default_factory=dict)
    told: Mapping[int, Sequence[Words]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Told:
    """Words of a document: whose, where its text has them, and the text."""

    id: str
    file: str
    line: int
    start: int
    end: int
    text: str


Tellings = dict[tuple[int, Words], Told]
"""By line and words."""


@dataclass(frozen=True, slots=True)
class Cutting:
    """Edits a shard; small and picklable, since it travels to worker processes."""

    tokenizer: str

    def __call__(self, shard: Shard, edits: Edits) -> tuple[list[Any], Tellings]:
        """The records that stay, and what is told."""
        records, told, seen = [], {}, 0
        for number, record in shard.records():
            if number not in edits.lines or isinstance(record, InputError):
                continue
            seen += 1
            cuts = edits.cuts.get(number, ())
            asked = edits.told.get(number, ())
            if cuts or asked:
                identity, text = known(record, shard, number)
                layer = words.get(self.tokenizer)([text])
                starts, ends = layer.starts.tolist(), layer.ends.tolist()
                for first, last in asked:
                    begin, end = starts[first], ends[last - 1]
                    origin = shard.origin.file
                    told[number, (first, last)] = Told(
                        identity, origin, number, begin, end, text[begin:end]
                    )
                for first, last in reversed(cuts or ()):
                    text = cut_words(text, starts, ends, first, last)
                record = with_text(record, shard, text)
            if cuts is not None:
                records.append(record)
        if seen != len(edits.lines):
            raise InputError(
                "the file has changed since it was read first",
                file=shard.origin.file,
                remedy="Run the command again while nothing writes to it",
            )
        return records, told


def with_text(record: Any, shard: Shard, text: str) -> Any:
    """The record with another text."""
    if isinstance(record, Document):
        return Document(record.id, text, record.meta)
    return {**record, shard.fields.text: text}


def known(record: Any, shard: Shard, number: int) -> tuple[str, str]:
    """Id and text of a record."""
    if isinstance(record, Document):
        return record.id, record.text
    found = record.get(shard.fields.id) if shard.fields.id else None
    identity = f"{shard.origin.name}:{number}" if found is None else str(found)
    return identity, record[shard.fields.text]


def cut_words(text: str, starts: Sequence[int], ends: Sequence[int], first: int, last: int) -> str:
    """The text without words `first` to `last`; what follows takes their place."""
    if last < len(starts):
        return text[: starts[first]] + text[starts[last] :]
    return text[: ends[first - 1] if first else 0] + text[ends[last - 1] :]


@dataclass(frozen=True, slots=True)
class Form:
    """How records are written: each shard's `piece` where it is read, then `write`, in order."""

    piece: Callable[[Sequence[Any]], Any]
    write: Callable[[IO[bytes], Iterator[Any], str], None]


def _as_record(record: Any) -> Mapping[str, Any]:
    return record_of(record) if isinstance(record, Document) else record


def _lines(records: Sequence[Any]) -> bytes:
    return b"".join(json_line(_as_record(record)) for record in records)


def _write_bytes(file: IO[bytes], pieces: Iterator[bytes], _: str) -> None:
    for piece in pieces:
        file.write(piece)


def _write_array(file: IO[bytes], pieces: Iterator[bytes], _: str) -> None:
    before = b"[\n"
    for piece in pieces:
        for line in piece.splitlines():
            file.write(before + line)
            before = b",\n"
    file.write(b"\n]\n" if before == b",\n" else b"[]\n")


def _write_table(file: IO[bytes], pieces: Iterator[Sequence[Any]], ending: str) -> None:
    text = io.TextIOWrapper(file, "utf-8", newline="")
    writer = None
    for records in pieces:
        for record in records:
            if writer is None:
                separator = _SEPARATORS.get(ending, ",")
                writer = csv.DictWriter(
                    text, list(record), delimiter=separator, lineterminator="\n"
                )
                writer.writeheader()
            writer.writerow(record)
    text.flush()
    text.detach()


def _write_parquet(file: IO[bytes], pieces: Iterator[Sequence[Any]], _: str) -> None:
    import polars as pl

    frames = [
        pl.DataFrame(list(records), infer_schema_length=None) for records in pieces if records
    ]
    pl.concat(frames or [pl.DataFrame()], how="diagonal_relaxed").write_parquet(file)


def _texts(records: Sequence[Any]) -> list[str]:
    return [r.text if isinstance(r, Document) else r["text"] for r in records]


def _write_texts(between: str) -> Callable[[IO[bytes], Iterator[list[str]], str], None]:
    def write(file: IO[bytes], pieces: Iterator[list[str]], _: str) -> None:
        first = True
        for piece in pieces:
            for text in piece:
                file.write(("" if first else between).encode() + text.encode())
                first = False
        file.write(b"\n")

    return write


_FORMS = {
    "jsonl": Form(_lines, _write_bytes),
    "json": Form(_lines, _write_array),
    "csv": Form(list, _write_table),
    "parquet": Form(list, _write_parquet),
    "line": Form(_texts, _write_texts("\n")),
    "paragraph": Form(_texts, _write_texts("\n\n")),
    "files": Form(list, _write_bytes),
}


@dataclass(frozen=True, slots=True)
class Written:
    """One file, how many documents it holds, and what the work told of each of its shards."""

    file: str
    documents: int
    told: list[Any]


@dataclass(frozen=True, slots=True)
class _Task:
    """A shard's records in the form in which they are written; travels to worker processes."""

    work: Callable[[Shard, Any], tuple[list[Any], Any]]

    def __call__(self, given: tuple[str, Shard, Any, bool]) -> tuple[Any, int, Any, bool]:
        form, shard, edits, last = given
        records, told = self.work(shard, edits)
        return _FORMS[form].piece(records), len(records), told, last


def write_corpus(
    corpus: Corpus,
    folder: Path,
    work: Callable[[Shard, Any], tuple[list[Any], Any]],
    edits: Iterable[Any],
    *,
    doing: str,
    engine: Engine,
    reporter: Reporter,
    finished: Path | None = None,
) -> list[Written]:
    """Write every file of the corpus into the folder, without what `work` leaves out of its shards,
    each of which gets the next of `edits`.

    `finished` is a folder that holds a note of each file that is whole, with what the work told,
    which JSON has to be able to hold: a file that an earlier run finished is not made again.
    """
    taken: set[str] = set()
    forms, names = [], []
    for part in corpus.parts:
        form, name = _form(part, part.plain or corpus.options.plain)
        forms.append(form)
        names.append(_free(name, taken))
    notes = [finished and finished / f"{name}.json" for name in names]
    before = {
        number: found
        for number, (part, note) in enumerate(zip(corpus.parts, notes))
        if (found := _noted(note, part))
    }
    written = dict(before)
    left = iter(edits)
    with reporter.stage(doing, corpus.size, unit="B") as advance:

        def tasks() -> Iterator[tuple[str, Shard, Any, bool]]:
            for number, part in enumerate(corpus.parts):
                if number in before:
                    advance(part.size)
                    continue
                shards = Corpus([part], corpus.options).shards()
                for shard, following in pairwise(chain(shards, [None])):
                    assert shard is not None
                    yield forms[number], shard, next(left), following is None
                    advance(shard.size)

        done = iter(engine.map(_Task(work), tasks(), doing=f"{doing} texts"))
        for number in (n for n in range(len(names)) if n not in before):
            told: list[Any] = []
            counts: list[int] = []
            place = folder / names[number]
            _remove(place)  # half a file of a run that was killed
            _write_file(place, forms[number], _contents(done, told, counts))
            made = written[number] = Written(names[number], sum(counts), told)
            if note := notes[number]:
                told_of = {"input": _identity(corpus.parts[number]), "written": asdict(made)}
                write_atomically(note, json.dumps(told_of))
    return [written[number] for number in range(len(names))]


def _noted(note: Path | None, part: Part) -> Written | None:
    """What was made of this input, if it is finished."""
    if note is None or not note.exists():
        return None
    held = json.loads(note.read_text(encoding="utf-8"))
    return Written(**held["written"]) if held["input"] == _identity(part) else None


def _identity(part: Part) -> list[Any]:
    """What tells an input from another, or from itself after a change, without reading it."""
    place = part.where if isinstance(part.where, Path) else None
    changed = place.stat().st_mtime_ns if place else repr(part.where)
    return [part.origin.file, part.size, changed]


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _contents(done: Iterator[Any], told: list[Any], counts: list[int]) -> Iterator[Any]:
    """What is to be written to one file, while the rest of the results is put aside."""
    last = False
    while not last:
        piece, documents, said, last = next(done)
        told.append(said)
        counts.append(documents)
        yield piece


def _write_file(path: Path, form: str, contents: Iterator[Any]) -> None:
    if form == "files":
        path.mkdir()
        for document in (one for piece in contents for one in piece):
            place = path / f"{Path(document.id).name or 'text'}.txt"
            place.write_text(document.text, encoding="utf-8")
        return
    with _packed(path) as file:
        ending = Path(path.name.removesuffix(".gz").removesuffix(".zst")).suffix
        _FORMS[form].write(file, contents, ending)


def _form(part: Part, plain: str) -> tuple[str, str]:
    """How a part is written, and under which name."""
    if part.reader == "text" and plain == "file":
        return "files", part.origin.label
    name = Path(part.origin.file).name if isinstance(part.where, Path) else part.origin.name
    if part.reader == "text":
        return plain, name
    if part.reader in _FORMS and isinstance(part.where, Path):
        return part.reader, name.removesuffix(".zst").removesuffix(".gz") if (
            part.reader == "parquet"
        ) else name
    return "jsonl", f"{name.split('.')[0]}.jsonl"


def _free(name: str, taken: set[str]) -> str:
    """The name, or one with a number where another file of the corpus has it."""
    stem, dot, ending = name.partition(".")
    free, number = name, 1
    while free in taken:
        number += 1
        free = f"{stem}-{number}{dot}{ending}"
    taken.add(free)
    return free


@contextmanager
def _packed(path: Path) -> Iterator[IO[bytes]]:
    with path.open("wb") as raw:
        if path.suffix == ".gz":
            with gzip.GzipFile("", "wb", _GZIP_LEVEL, raw, mtime=0) as packed:
                yield cast(IO[bytes], packed)
        elif path.suffix == ".zst":
            import zstandard

            with zstandard.ZstdCompressor(_ZSTD_LEVEL).stream_writer(raw, closefd=False) as packed:
                yield packed
        else:
            yield raw
