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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, cast

from rote.annotate import words
from rote.core.document import Document
from rote.core.errors import InputError
from rote.core.files import write_atomically
from rote.core.json_reader import JsonObject, as_json, read_json
from rote.core.progress import Reporter
from rote.corpus import Corpus, Part, Shard, changed_file_error, map_shards
from rote.curate.corpus_reader import part_identity, record_line
from rote.run import Engine

WordSpan = tuple[int, int]
"""From where to where, in words of a document."""
_SEPARATORS = {".tsv": "\t", ".tab": "\t"}
_GZIP_LEVEL, _ZSTD_LEVEL = 6, 3
_ROW_GROUP = 1 << 16


@dataclass(frozen=True, slots=True)
class EditStage:
    """What is done to documents, by line: None drops one, else words are cut; `quoted` are words
    that somebody wants to read, cut or not."""

    cuts: Mapping[int, Sequence[WordSpan] | None] = field(default_factory=dict)
    quoted: Mapping[int, Sequence[WordSpan]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ShardEdits:
    """What is done to the documents of one shard, stage after stage: each counts the words that the
    one before has left. `lines` are all that are read."""

    lines: frozenset[int]
    stages: Sequence[EditStage]


Excerpts = dict[tuple[int, int, WordSpan], dict[str, Any]]
"""By stage, line and words: whose they are, where its text has them, and what stands around."""
_SHOWN, _AROUND = 300, 100


@dataclass(frozen=True, slots=True)
class WordCutter:
    """Edits a shard; small and picklable, since it travels to worker processes."""

    tokenizer: str

    def __call__(self, task: tuple[Shard, ShardEdits]) -> tuple[list[Any], Excerpts]:
        """The records that stay, and the excerpts."""
        (shard, edits), records, position = task, [], 0
        excerpts: Excerpts = {}
        for number, record in shard.records():
            if number not in edits.lines or isinstance(record, InputError):
                continue
            position += 1
            text, stays = self.edited(shard, number, record, edits, excerpts)
            if stays:
                records.append(record if text is None else replace_text(record, shard, text))
        if position != len(edits.lines):
            raise changed_file_error(shard.origin.file)
        return records, excerpts

    def edited(
        self,
        shard: Shard,
        number: int,
        record: Any,
        edits: ShardEdits,
        excerpts: Excerpts | None = None,
    ) -> tuple[str | None, bool]:
        """The text after all stages, nothing if it is as it was, and whether it stays."""
        identity, text = "", None
        for place, stage in enumerate(edits.stages):
            cuts = stage.cuts.get(number, ())
            wanted = stage.quoted.get(number, ()) if excerpts is not None else ()
            if not cuts and not wanted and cuts is not None:
                continue
            if text is None:
                identity, text = id_and_text(record, shard, number)
            layer = words.get(self.tokenizer)([text])
            starts, ends = layer.starts.tolist(), layer.ends.tolist()
            for first, last in wanted:
                begin, end = starts[first], ends[last - 1]
                assert excerpts is not None
                excerpts[place, number, (first, last)] = {
                    "id": identity,
                    "file": shard.origin.file,
                    "line": number,
                    "start": begin,
                    "end": end,
                    "text": _shorten(text[begin:end]),
                    **text_around(text, begin, end),
                }
            if cuts is None:
                return text, False
            for first, last in reversed(cuts):
                text = cut_words(text, starts, ends, first, last)
        return text, True


def text_around(text: str, start: int, end: int) -> dict[str, str]:
    """What stands before and behind a stretch of a text, for a reader to know it by."""
    return {"before": text[max(0, start - _AROUND) : start], "after": text[end : end + _AROUND]}


def _shorten(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def replace_text(record: Any, shard: Shard, text: str) -> Any:
    if isinstance(record, Document):
        return Document(record.id, text, record.meta)
    return {**record, shard.fields.text: text}


def id_and_text(record: Any, shard: Shard, number: int) -> tuple[str, str]:
    if isinstance(record, Document):
        return record.id, record.text
    value = record.get(shard.fields.id) if shard.fields.id else None
    identity = f"{shard.origin.name}:{number}" if value is None else str(value)
    return identity, record[shard.fields.text]


def cut_words(text: str, starts: Sequence[int], ends: Sequence[int], first: int, last: int) -> str:
    """The text without words `first` to `last`; what follows takes their place."""
    if last < len(starts):
        return text[: starts[first]] + text[starts[last] :]
    return text[: ends[first - 1] if first else 0] + text[ends[last - 1] :]


@dataclass(frozen=True, slots=True)
class FileForm:
    """How records are written: each shard's `piece` where it is read, then `write`, in order."""

    piece: Callable[[Sequence[Any]], Any]
    write: Callable[[IO[bytes], Iterator[Any], str], None]


def _json_lines(records: Sequence[Any]) -> bytes:
    return b"".join(map(record_line, records))


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
    text, separator = io.TextIOWrapper(file, "utf-8", newline=""), _SEPARATORS.get(ending, ",")
    writer = None
    for record in chain.from_iterable(pieces):
        if writer is None:
            style: dict[str, Any] = {"delimiter": separator, "lineterminator": "\n"}
            writer = csv.DictWriter(text, list(record), **style)
            writer.writeheader()
        writer.writerow(record)
    text.flush()
    text.detach()


def _write_parquet(file: IO[bytes], pieces: Iterator[Sequence[Any]], _: str) -> None:
    import polars as pl

    place = Path(file.name)
    # Outside the folder that is made: what a kill leaves there goes with what was left of it.
    with TemporaryDirectory(prefix=".rows-", dir=place.parent.parent) as folder:
        parts: list[Path] = []
        for records in pieces:
            if records:
                parts.append(Path(folder) / str(len(parts)))
                pl.DataFrame(list(records), infer_schema_length=None).write_parquet(parts[-1])
        if not parts:
            pl.DataFrame().write_parquet(file)
            return
        # Row by row: a column may be empty, or of another type, in one of the parts.
        frame = pl.concat([pl.scan_parquet(part) for part in parts], how="diagonal_relaxed")
        frame.sink_parquet(place, row_group_size=_ROW_GROUP)


def _record_texts(records: Sequence[Any]) -> list[str]:
    return [r.text if isinstance(r, Document) else r["text"] for r in records]


def _write_texts(between: bytes, file: IO[bytes], pieces: Iterator[list[str]], _: str) -> None:
    before = b""
    for text in chain.from_iterable(pieces):
        file.write(before + text.encode())
        before = between
    file.write(b"\n")


_FORMS = {
    "jsonl": FileForm(_json_lines, _write_bytes),
    "json": FileForm(_json_lines, _write_array),
    "csv": FileForm(list, _write_table),
    "parquet": FileForm(list, _write_parquet),
    "line": FileForm(_record_texts, partial(_write_texts, b"\n")),
    "paragraph": FileForm(_record_texts, partial(_write_texts, b"\n\n")),
    "files": FileForm(list, _write_bytes),
}


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """One file, how many documents it holds, and what the work reports of each of its shards."""

    file: str
    documents: int
    reports: list[Any]


@dataclass(frozen=True, slots=True)
class _WrittenShard:
    """A shard's records as they are written, and what the work reports of it."""

    part: int
    place: int
    size: int
    contents: Any = None
    documents: int = 0
    report: Any = None
    problem: InputError | None = None


@dataclass(frozen=True, slots=True)
class _WriteTask:
    """A shard's records in the form in which they are written; travels to worker processes."""

    work: Callable[[Any], tuple[list[Any], Any]]
    forms: Sequence[str]

    def __call__(self, task: Any) -> _WrittenShard:
        shard: Shard = task[0] if isinstance(task, tuple) else task
        try:
            records, report = self.work(task)
        except InputError as problem:  # for the file that it is of: those before it are whole
            return _WrittenShard(shard.part, shard.place, shard.size, problem=problem)
        contents = _FORMS[self.forms[shard.part]].piece(records)
        return _WrittenShard(shard.part, shard.place, shard.size, contents, len(records), report)


def write_corpus(
    corpus: Corpus,
    folder: Path,
    work: Callable[[Any], tuple[list[Any], Any]],
    *,
    doing: str,
    engine: Engine,
    reporter: Reporter,
    finished: Path,
    extra_for: Callable[[int, int], Any] | None = None,
    shards: Sequence[int] = (),
    keep: Callable[[int, int, Any], Any] = lambda part, place, report: report,
) -> list[WrittenFile]:
    """Write every file of the corpus into the folder, without what `work` leaves out of its shards.

    Work gets a shard; with `extra_for`, also what that gives for the number of its part and its
    place there, where `shards` says how many each part has.
    `finished` is a folder that holds a note of each file that is whole, with what is to `keep` of
    what the work reports, which JSON has to be able to hold: a file that an earlier run finished is
    not made again.
    """
    stems: set[str] = set()
    forms, names = [], []
    for part in corpus.parts:
        form, name = _choose_form(part, part.plain or corpus.options.plain)
        forms.append(form)
        names.append(_free_name(name, stems))
    notes = [finished / f"{name}.json" for name in names]
    every = [_read_note(note, part) for note, part in zip(notes, corpus.parts)]
    finished_files = {number: file for number, file in enumerate(every) if file}
    pending = [number for number in range(len(names)) if number not in finished_files]
    places = [(number, place) for number in pending if extra_for for place in range(shards[number])]

    def extra_of_shard(number: int) -> Any:
        assert extra_for is not None
        if number >= len(places):
            raise changed_file_error(corpus.parts[pending[-1]].origin.file)
        return extra_for(*places[number])

    with reporter.stage(doing, corpus.size, unit="B") as advance:
        advance(sum(corpus.parts[number].size for number in finished_files))
        pieces = map_shards(
            _WriteTask(work, [forms[number] for number in pending]),
            corpus.some(pending),
            engine,
            doing=f"{doing} texts",
            extra=None if extra_for is None else extra_of_shard,
        )
        following = next(pieces, None)

        def contents(position: int, reports: list[Any], counts: list[int]) -> Iterator[Any]:
            nonlocal following
            while following is not None and following.part == position:
                if following.problem is not None:
                    raise following.problem
                reports.append(keep(pending[position], following.place, following.report))
                counts.append(following.documents)
                advance(following.size)
                yield following.contents
                following = next(pieces, None)

        for position, number in enumerate(pending):
            reports: list[Any] = []
            counts: list[int] = []
            place = folder / names[number]
            if place.is_dir():  # half of it, from a run that was killed
                shutil.rmtree(place)
            place.unlink(missing_ok=True)
            _write_file(place, forms[number], contents(position, reports, counts))
            result = finished_files[number] = WrittenFile(names[number], sum(counts), reports)
            note = {"input": part_identity(corpus.parts[number]), "written": asdict(result)}
            write_atomically(notes[number], json.dumps(note))
    return [finished_files[number] for number in range(len(names))]


def _read_note(note: Path, part: Part) -> WrittenFile | None:
    """What was made of this input, if it is finished."""
    try:
        record = JsonObject.of(read_json(note), str(note))
        entry = record.object("written")
        before = WrittenFile(entry.text("file"), entry.count("documents"), entry.array("reports"))
    except (OSError, InputError):
        return None  # not there, or damaged by a power cut, say: the file is made again
    # As JSON holds it, so that tuples compare.
    fits = record.values.get("input") == as_json(part_identity(part)) and before.file == note.stem
    return before if fits else None


def _write_file(path: Path, form: str, contents: Iterator[Any]) -> None:
    if form == "files":
        path.mkdir()
        stems: set[str] = set()
        for document in (item for piece in contents for item in piece):
            name = _free_name(f"{Path(document.id).name or 'text'}.txt", stems)
            (path / name).write_text(document.text, encoding="utf-8")
        return
    with _open_packed(path) as file:
        ending = Path(path.name.removesuffix(".gz").removesuffix(".zst")).suffix
        _FORMS[form].write(file, contents, ending)


def _choose_form(part: Part, plain: str) -> tuple[str, str]:
    """How a part is written, and under which name."""
    if part.reader == "text" and plain == "file":
        return "files", part.origin.label
    name = Path(part.origin.file).name if isinstance(part.where, Path) else part.origin.name
    if part.reader == "text":
        return plain, name
    if part.reader in _FORMS and isinstance(part.where, Path):
        packed = part.reader != "parquet"
        return part.reader, name if packed else name.removesuffix(".zst").removesuffix(".gz")
    return "jsonl", f"{name.split('.')[0]}.jsonl"


def _free_name(name: str, names: set[str]) -> str:
    """The name, or one with a number where another file of the corpus has it."""
    stem, dot, ending = name.partition(".")
    free, number = name, 1
    while free in names:
        number += 1
        free = f"{stem}-{number}{dot}{ending}"
    names.add(free)
    return free


@contextmanager
def _open_packed(path: Path) -> Iterator[IO[bytes]]:
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
