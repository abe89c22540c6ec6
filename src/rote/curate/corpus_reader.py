"""Records read and written: from a corpus to word numbers of one field, in columns; and back to
JSONL.

Shards are read and tokenized in worker processes and joined here in the order of the input, so
that nothing depends on the number of jobs. Texts themselves are not kept: who writes them reads
the corpus again, and finds a text by its place in `lines`. A record is written as it was read: the
same fields under the same names. What was no record to begin with (a text file, a chapter) becomes
`{"id": ..., "text": ..., ...}`.

For a run that goes on after a kill, what was read is stored in a file for each shard, named by the
part of the corpus (its name, size and date) and by its place there: numbers and JSON, no code.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.annotate import sentences, words
from rote.annotate.folded_words import FoldedWords, fold_joined_words
from rote.core.arrays import DAMAGED, LIMIT, GrowableArray
from rote.core.document import Annotation, Document, describe_absence
from rote.core.errors import InputError
from rote.core.files import new_file, open_regular, write_atomically
from rote.core.json_reader import CollectorPaused, parse_json
from rote.core.layer import Ids, Layer, Offsets, derive, starts_of
from rote.core.progress import Reporter, several
from rote.core.sample import SEVERAL
from rote.corpus import (
    SKIP,
    Batch,
    Corpus,
    DuplicateIds,
    Fingerprint,
    Part,
    Problems,
    Shard,
    changed_file_error,
    digest,
    map_shards,
)
from rote.run import Engine


def json_line(record: Mapping[str, Any]) -> bytes:
    """One record as a line of UTF-8."""
    try:
        with CollectorPaused():
            line = json.dumps(record, ensure_ascii=False, default=_json_default)
        return (line + "\n").encode()
    except UnicodeEncodeError:  # half a surrogate pair, for which JSON has an escape
        return (json.dumps(record, default=_json_default) + "\n").encode()
    except RecursionError:
        problem = f"the record '{record.get('id', '')}' is nested too deep to be written"
        raise InputError(problem, remedy="Remove such fields from the input") from None


def write_lines(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """A file of records, whole or not there."""
    with new_file(path) as file:
        for record in records:
            file.write(json_line(record))


def record_line(record: Document | Mapping[str, Any]) -> bytes:
    """A record as a line, or a document that came from none."""
    if isinstance(record, Document):
        record = {"id": record.id, "text": record.text, **other_fields(record)}
    return json_line(record)


def other_fields(document: Document) -> dict[str, Any]:
    """The other fields; annotation that came with the input is none that JSON could hold."""
    return {k: v for k, v in document.meta.items() if not isinstance(v, Annotation)}


def _json_default(value: Any) -> Any:
    """What JSON has no word for: numbers as numbers, dates and the like as people read them."""
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, bytes) or str(value) == object.__repr__(value):
        raise InputError(
            f"a record contains a {type(value).__name__}, which JSON cannot represent",
            remedy="Give numbers, texts, dates, or lists and dicts of them",
        )
    return str(value)


def read_lines_at(wanted: tuple[Shard, NDArray[np.int64]]) -> tuple[int, list[bytes]]:
    """The size of a shard and its records at some lines, each as JSON; work for other processes."""
    shard, numbers = wanted
    remaining = set(numbers.tolist())
    lines = [
        record_line(record)
        for number, record in shard.records()
        if number in remaining and not isinstance(record, InputError)
    ]
    if len(lines) != len(numbers):
        raise changed_file_error(shard.origin.file)
    return shard.size, lines


REFERENCE = "reference"
_LOOKED_AT = 2_000
_NO_PLACES, _NOTHING = np.empty(0, np.int64), np.empty(0, np.int32)


@dataclass(frozen=True, slots=True)
class TokenizedCorpus:
    """All texts of a corpus as word numbers.

    Text t holds the parts `last_parts[t-1]:last_parts[t]` (more than one where its field holds a
    list), part p the words `ids[part_ends[p-1]:part_ends[p]]`. `keys` are 64 bits of a hash of
    each text and its id; `lines[s]` are the line numbers of the texts of shard s.
    """

    ids: Ids
    vocabulary: tuple[str, ...]
    part_ends: Offsets
    last_parts: Offsets
    keys: NDArray[np.uint64]
    lines: tuple[NDArray[np.int64], ...]
    fingerprint: str
    problems: Problems
    beside: Mapping[str, list[Any]] = field(default_factory=dict)
    """What the fields hold that were asked for, a value for each text."""
    labels: Sequence[str] = ()
    """What the file of each text is called."""
    sentence_ends: Offsets | None = None
    parts: Sequence[int] = ()
    """The part of the corpus that each shard is of."""
    folded: FoldedWords | None = None
    """The words as documents are compared by, where they were asked for."""

    def __len__(self) -> int:
        return len(self.last_parts)

    @property
    def part_starts(self) -> Offsets:
        return starts_of(self.part_ends)

    @property
    def words(self) -> NDArray[np.int64]:
        """How many words each text has."""
        ends = np.concatenate((np.zeros(1, np.int64), self.part_ends))[self.last_parts]
        return np.asarray(ends - starts_of(ends), np.int64)


@dataclass(frozen=True, slots=True)
class TokenizedShard:
    """One shard, ready to be joined; its documents hold no text and no fields any more."""

    batch: Batch
    size: int
    layer: Layer
    counts: NDArray[np.int64]
    """How many parts each text has."""
    digests: list[bytes]
    beside: dict[str, list[Any]]
    part: int = 0
    """The part of the corpus that the shard is of."""
    folded: FoldedWords | None = None


@dataclass(frozen=True, slots=True)
class ShardTokenizer:
    """The work on one shard; small and picklable, since it travels to worker processes."""

    field: str | None
    layer: str
    tokenizer: str
    skip: bool
    beside: tuple[str, ...] = ()
    """Fields whose values are kept beside the words."""
    sentences: bool = False
    folded: bool = False
    """Whether folded words are made, too; of the default tokenizer's words."""

    def __call__(self, shard: Shard) -> TokenizedShard:
        is_text = self.field is None or self.field == shard.fields.text
        batch = shard.read() if is_text else self._checked(shard.read())
        parts = [
            [d.text] if is_text else field_texts(d.meta, str(self.field)) for d in batch.documents
        ]
        texts = [text for several in parts for text in several]
        word = words.get(self.tokenizer)(texts)
        if self.sentences:
            word = sentences.split(texts, word)
        digests = [digest(document) for document in batch.documents]
        if not is_text:
            pairs = zip(digests, map(SEVERAL.join, parts))
            digests = [digest(Document(code.hex(), text)) for code, text in pairs]
        return TokenizedShard(
            batch=batch.bare(),
            size=shard.size,
            # Spans are twice the size of the words, and nobody asks where these stand.
            layer=replace(derive(word, self.layer), starts=_NOTHING, ends=_NOTHING),
            counts=np.fromiter(map(len, parts), np.int64, len(parts)),
            digests=digests,
            beside={n: [d.meta.get(n) for d in batch.documents] for n in self.beside},
            part=shard.part,
            folded=self._fold(texts, word) if self.folded else None,
        )

    def _fold(self, texts: list[str], word: Layer) -> FoldedWords:
        default_words = word if self.tokenizer == words.DEFAULT else words.get()(texts)
        return replace(fold_joined_words(default_words), places=_NO_PLACES)

    def _checked(self, batch: Batch) -> Batch:
        """The batch without records whose field holds no text; raises unless they are skipped."""
        problems: dict[int, InputError] = {}
        for number, document in enumerate(batch.documents):
            try:
                field_texts(document.meta, str(self.field))
            except InputError as error:
                error.file, error.line = batch.file, batch.lines[number]
                problems[number] = error
        if problems and not self.skip:
            raise next(iter(problems.values()))
        return batch.without(problems, [*problems.values()]) if problems else batch


def field_texts(meta: Mapping[str, Any], field: str) -> list[str]:
    """The text that a field holds, or the texts; raises where it holds something else."""
    value = meta.get(field)
    if isinstance(value, str):
        return [value]
    if isinstance(value, (list, tuple)) and value and all(isinstance(v, str) for v in value):
        return list(value)
    raise InputError(
        f"the field {describe_absence(meta, field) if value is None else 'holds no text'}",
        field=field,
        remedy=f"Choose another with --field; the record has: {', '.join(meta) or 'no other'}; "
        f"{SKIP}",
    )


@dataclass(frozen=True, slots=True)
class CorpusEstimate:
    """What the first texts say of all: the field that is counted (None: the text itself), what it
    is called in the records, and about how many texts and words there are."""

    field: str | None
    name: str
    texts: int
    words: int

    def __str__(self) -> str:
        texts, words = several(self.texts, "text"), several(self.words, "word")
        return f"about {texts} and {words} (in '{self.name}')"


def estimate_corpus(corpus: Corpus, field: str | None, tokenizer: str) -> CorpusEstimate:
    """Look at the first shard; without a field it is `reference`, where the first record has one.

    What is wrong with a record is for the reading to say.
    """
    for shard in corpus.shards():
        lenient = replace(shard, options=replace(shard.options, on_error="skip"))
        documents = lenient.read().documents
        if not documents:
            continue
        if field is None and REFERENCE in documents[0].meta:
            field = REFERENCE
        work = ShardTokenizer(field, "word", tokenizer, skip=True)
        piece = work(replace(lenient, records=partial(enumerate, documents[:_LOOKED_AT])))
        times = corpus.size / max(1, shard.size) * len(documents) / max(1, len(piece.counts))
        texts, words = (round(times * len(some)) for some in (piece.counts, piece.layer.ids))
        return CorpusEstimate(field, field or shard.fields.text, texts, words)
    return CorpusEstimate(field, field or "text", 0, 0)


class UniqueIds:
    """One record for each id: a file made of several must not hold the same id twice."""

    def __init__(self, corpus: Corpus) -> None:
        from rote.index.folders.source import KnownIds

        self._skip = corpus.options.on_error == "skip"
        self._in_file, self._in_all = DuplicateIds(corpus.options.on_error), KnownIds()

    def check(self, batch: Batch) -> Batch:
        """The batch without documents whose id came before; raises unless they are skipped."""
        return self._in_all.check(self._in_file.check(batch), skip=self._skip)


def read_corpus(
    corpus: Corpus,
    work: Callable[[Shard], Any],
    *,
    engine: Engine,
    reporter: Reporter,
    unique: bool = True,
    limit: int = LIMIT,
    folder: Path | None = None,
) -> TokenizedCorpus:
    """Read all texts once; an id may occur again only where that is said not to matter.

    The work gives a `Piece`, or something to load it from. Columns longer than `limit` bytes are
    kept in a file in the folder.
    """
    words, folded = (JoinedWords({}, limit, folder) for _ in range(2))
    counts = GrowableArray(np.int64, limit, folder)
    sentence_ends: list[Offsets] = []
    beside: dict[str, list[Any]] = {}
    shards: list[int] = []
    digests: list[bytes] = []
    lines: list[NDArray[np.int64]] = []
    fingerprint, problems = Fingerprint(), Problems()
    known = UniqueIds(corpus) if unique else None
    labels: list[str] = []
    with reporter.stage("reading", corpus.size, unit="B") as advance:
        for result in map_shards(work, corpus, engine, doing="reading texts"):
            piece: TokenizedShard = result if isinstance(result, TokenizedShard) else result.load()
            shards.append(piece.part)
            batch = known.check(piece.batch) if known else piece.batch
            problems.add(batch.problems)
            lines.append(np.array(batch.lines, np.int64))
            labels += [batch.label] * len(batch.lines)
            piece = keep_texts(piece, np.isin(piece.batch.lines, batch.lines))
            if piece.layer.sentence_ends is not None:
                sentence_ends.append(piece.layer.sentence_ends + words.count)
            words.add(piece.layer)
            counts.append(piece.counts)
            if piece.folded is not None:
                folded.add(piece.folded)
            for name, values in piece.beside.items():
                beside.setdefault(name, []).extend(values)
            digests.append(b"".join(piece.digests))
            fingerprint.add(piece.digests)
            advance(piece.size)
    ids, part_ends = words.finish()
    return TokenizedCorpus(
        ids=ids,
        vocabulary=tuple(words.numbers),
        part_ends=part_ends,
        last_parts=np.cumsum(counts.finish()),
        keys=np.frombuffer(b"".join(digests), "<u8").reshape(-1, 2)[:, 0].astype(np.uint64),
        lines=tuple(lines),
        fingerprint=fingerprint.hexdigest(),
        problems=problems,
        beside=beside,
        labels=labels,
        sentence_ends=np.concatenate(sentence_ends) if sentence_ends else None,
        parts=shards,
        folded=folded.as_folded() if folded.numbers else None,
    )


class JoinedWords:
    """The words of pieces one after another, by the numbers that they have, or get now."""

    def __init__(
        self, numbers: dict[str, int], limit: int = LIMIT, folder: Path | None = None
    ) -> None:
        self.numbers, self.count = numbers, 0
        self._ids = GrowableArray(np.int32, limit, folder)
        self._ends = GrowableArray(np.int64, limit, folder)

    def add(self, words: Layer | FoldedWords) -> None:
        numbers = self.numbers
        table = [numbers.setdefault(entry, len(numbers)) for entry in words.vocabulary]
        self._ids.append(np.array(table, np.int32)[words.ids] if table else words.ids)
        self._ends.append(words.text_ends + self.count)
        self.count += len(words.ids)

    def finish(self) -> tuple[Ids, Offsets]:
        """All words, and where each text ends."""
        return self._ids.finish(), self._ends.finish()

    def as_folded(self) -> FoldedWords:
        ids, ends = self.finish()
        return FoldedWords(ids, tuple(self.numbers), ends, _NO_PLACES)


def corpus_fingerprint(corpus: Corpus, engine: Engine) -> str:
    """What `read` would give, without the words."""
    fingerprint = Fingerprint()
    for digests in map_shards(_shard_digests, corpus, engine, doing="reading texts"):
        fingerprint.add(digests)
    return fingerprint.hexdigest()


def _shard_digests(shard: Shard) -> list[bytes]:
    return [digest(document) for document in shard.read().documents]


def keep_texts(piece: TokenizedShard, mask: NDArray[np.bool_]) -> TokenizedShard:
    """The piece without texts whose id came before."""
    if mask.all():
        return piece
    parts = np.repeat(mask, piece.counts)
    lengths = piece.layer.text_ends - piece.layer.text_starts
    words = np.repeat(parts, lengths)
    ends = piece.layer.sentence_ends
    return replace(
        piece,
        layer=replace(
            piece.layer,
            ids=piece.layer.ids[words],
            text_ends=np.cumsum(lengths[parts]),
            # A sentence is within one text, so the word before its end tells whether it stays.
            sentence_ends=None
            if ends is None
            else np.cumsum(words, dtype=np.int64)[ends - 1][words[ends - 1]],
        ),
        folded=None if piece.folded is None else _select_texts(piece.folded, parts),
        counts=piece.counts[mask],
        digests=[code for code, stays in zip(piece.digests, mask) if stays],
        beside={n: [v for v, stays in zip(vs, mask) if stays] for n, vs in piece.beside.items()},
    )


def _select_texts(words: FoldedWords, chosen: NDArray[np.bool_]) -> FoldedWords:
    lengths = np.diff(words.text_ends, prepend=0)
    ids = words.ids[np.repeat(chosen, lengths)]
    return FoldedWords(ids, words.vocabulary, np.cumsum(lengths[chosen]), _NO_PLACES)


_DIGEST = 16


def part_identity(part: Part) -> list[Any]:
    """What tells an input from another, or from itself after a change, without reading it."""
    if isinstance(part.where, tuple):
        return [part.origin.file, [part_identity(member) for member in part.where]]
    place = part.where if isinstance(part.where, Path) else None
    changed = place.stat().st_mtime_ns if place else repr(part.where)
    return [part.origin.file, part.size, changed]


@dataclass(frozen=True, slots=True)
class StoredShard:
    path: str
    part: int

    def load(self) -> TokenizedShard:
        try:
            with open_regular(self.path) as file, np.load(file, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
            return self._piece(arrays, parse_json(arrays.pop("header").tobytes()))
        except (InputError, *DAMAGED) as error:
            problem = f"the saved state of an interrupted run is damaged ({error})"
            remedy = "Remove the file, and run the command again"
            raise InputError(problem, file=self.path, remedy=remedy) from None

    def _piece(self, arrays: dict[str, Any], header: dict[str, Any]) -> TokenizedShard:
        problems = [InputError(problem, **place) for problem, place in header["problems"]]
        lines = arrays["lines"].tolist()
        digests = arrays["digests"].tobytes()
        folded = None
        if "folded_ids" in arrays:
            entries = tuple(header["folded"])
            folded = FoldedWords(arrays["folded_ids"], entries, arrays["folded_ends"], _NO_PLACES)
        return TokenizedShard(
            batch=Batch(
                [Document("", "")] * len(lines), header["file"], header["label"], lines, problems
            ),
            size=header["size"],
            layer=Layer(
                header["layer"],
                arrays["ids"],
                tuple(header["vocabulary"]),
                _NOTHING,
                _NOTHING,
                arrays["text_ends"],
                arrays.get("sentence_ends"),
            ),
            counts=arrays["counts"],
            digests=[digests[i : i + _DIGEST] for i in range(0, len(digests), _DIGEST)],
            beside=header["beside"],
            part=self.part,
            folded=folded,
        )


@dataclass(frozen=True, slots=True)
class ShardCache:
    """Reads a shard unless its piece is there, and says where it is; ids are not kept."""

    work: ShardTokenizer
    folder: str
    parts: Sequence[str]

    @classmethod
    def of(cls, work: ShardTokenizer, corpus: Corpus, folder: Path) -> ShardCache:
        folder.mkdir(exist_ok=True)
        how = repr(work) + repr(corpus.options)
        names = [json.dumps([how, part_identity(part)]).encode() for part in corpus.parts]
        return cls(work, str(folder), [blake2b(n, digest_size=12).hexdigest() for n in names])

    def __call__(self, shard: Shard) -> StoredShard:
        path = Path(self.folder) / f"{self.parts[shard.part]}-{shard.place}.npz"
        if not path.exists():
            write_atomically(path, _pack_shard(self.work(shard)))
        return StoredShard(str(path), shard.part)


def _pack_shard(piece: TokenizedShard) -> bytes:
    batch, layer = piece.batch, piece.layer
    header = {
        "file": batch.file,
        "label": batch.label,
        "size": piece.size,
        "layer": layer.name,
        "vocabulary": layer.vocabulary,
        "beside": piece.beside,
        "folded": piece.folded.vocabulary if piece.folded is not None else None,
        "problems": [
            (p.problem, {"file": p.file, "line": p.line, "field": p.field, "remedy": p.remedy})
            for p in batch.problems
        ],
    }
    arrays: dict[str, Any] = {
        "header": np.frombuffer(json.dumps(header, default=str).encode(), np.uint8),
        "ids": layer.ids,
        "text_ends": layer.text_ends,
        "counts": piece.counts,
        "lines": np.array(batch.lines, np.int64),
        "digests": np.frombuffer(b"".join(piece.digests), np.uint8),
    }
    if layer.sentence_ends is not None:
        arrays["sentence_ends"] = layer.sentence_ends
    if piece.folded is not None:
        arrays |= {"folded_ids": piece.folded.ids, "folded_ends": piece.folded.text_ends}
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()
