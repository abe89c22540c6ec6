"""From a corpus to one sample: read, tokenize and group, piece by piece.

Each shard becomes a piece in a worker; pieces are joined here in the order of the
input, so the sample is the same at any number of jobs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from rote.annotate import annotators, layers, words
from rote.annotate.script import glance
from rote.annotate.store import Store
from rote.core.annotation import Annotation
from rote.core.column import Column
from rote.core.document import Document
from rote.core.errors import InputError
from rote.core.layer import Layer
from rote.core.progress import Reporter
from rote.core.sample import Need, RawText, Sample, Take
from rote.corpus import Batch, Corpus, DuplicateIds, Fingerprint, Problems, Shard, digest
from rote.run import map_ordered

RAW = "text"
_FROM_WORDS = frozenset({"word", *layers.DERIVED})
_PARALLEL = "doc_id"
_DOCUMENT = "document"
INPUTS = "input documents"
"""The source that holds the documents which the texts were made from."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One shard, ready to be joined. Its documents hold no text and no fields any more."""

    batch: Batch
    size: int
    sample: Sample
    groups: list[str]
    doc_ids: list[str | None]
    digests: list[bytes]
    fields: frozenset[str]
    seen: Counter[str]
    """What the texts look like, where the English models were used on them."""
    inputs: Piece | None = None
    """The documents that the texts were made from, where they are measured too."""


@dataclass(frozen=True, slots=True)
class Words:
    """Where words and what hangs on them come from.

    Words alone come from the tokenizer; as soon as a layer needs more (tags, trees), or
    another annotator was chosen, everything comes from the annotator.
    """

    tokenizer: str
    annotator: str

    def annotates(self, needs: Sequence[Need]) -> bool:
        own = [need.layer for need in needs if need.tokenizer is None and need.layer != RAW]
        return self.annotator != annotators.DEFAULT or not _FROM_WORDS.issuperset(own)


@dataclass(frozen=True, slots=True)
class Preparation:
    """The work on one shard; small and picklable, since it travels to worker processes."""

    needs: tuple[Need, ...]
    words: Words
    by: tuple[str, ...]
    skip: bool
    inputs: bool = False

    def __call__(self, shard: Shard) -> Piece:
        return self.piece(shard.read(), shard.size)

    def piece(self, batch: Batch, size: int, annotation: Annotation | None = None) -> Piece:
        """A batch, annotated here unless that was done before."""
        if annotation is None:
            batch = _grouped(batch, self.by, skip=self.skip)
        else:
            _grouped(batch, self.by, skip=False)  # stored pieces cannot lose a document
        documents = batch.documents
        seen: Counter[str] = Counter()
        if annotation is None and self.words.annotates(self.needs):
            if self.words.annotator == annotators.DEFAULT:
                seen = glance([document.text for document in documents])
            layers = [n.layer for n in self.needs if n.tokenizer is None and n.layer != RAW]
            annotation = annotators.get(self.words.annotator)(documents, layers)
        return Piece(
            batch=replace(batch, documents=[Document(d.id, "") for d in documents]),
            size=size,
            sample=self._sample([document.text for document in documents], annotation),
            groups=[_group(document, self.by, batch.label) for document in documents],
            doc_ids=[_written(document.meta.get(_PARALLEL)) for document in documents],
            digests=[digest(document) for document in documents],
            fields=frozenset(documents[0].meta) if documents else frozenset(),
            seen=seen,
            inputs=self._inputs(batch),
        )

    def _inputs(self, batch: Batch) -> Piece | None:
        """The documents behind the texts, each once, as a piece of their own."""
        if not self.inputs:
            return None
        found: dict[str, tuple[Document, int]] = {}
        for document, line in zip(batch.documents, batch.lines):
            text = document.meta.get(_DOCUMENT)
            if isinstance(text, str) and text.strip():
                doc_id = _written(document.meta.get(_PARALLEL))
                # Named by what it is, not by who answered it, so that it is known again.
                name = f"document {doc_id or _hash(text, 0).hex()}"
                meta = {} if doc_id is None else {_PARALLEL: doc_id}
                found.setdefault(text, (Document(name, text, meta), line))
        if not found:
            return None
        documents, lines = zip(*found.values())
        own = replace(
            batch, documents=list(documents), lines=list(lines), label=INPUTS, problems=[]
        )
        return replace(self, by=(), inputs=False).piece(own, 0)

    def _sample(self, texts: list[str], annotation: Annotation | None) -> Sample:
        made: dict[str, Layer] = {}

        def words_by(name: str) -> Layer:
            if name not in made:
                made[name] = words.get(name)(texts)
            return made[name]

        def layer(need: Need) -> Layer:
            if need.tokenizer is None and annotation is not None:
                return {**annotation.layers, **annotation.trees}[need.layer]
            return layers.derive(words_by(need.tokenizer or self.words.tokenizer), need.layer)

        own = words_by(self.words.tokenizer) if annotation is None else annotation.word
        return Sample(
            words=own.text_ends - own.text_starts,
            layers={need: layer(need) for need in self.needs if need.layer != RAW},
            raw=_raw(texts) if any(need.layer == RAW for need in self.needs) else None,
        )


@dataclass(frozen=True, slots=True)
class StoredPreparation:
    """The same for a piece that was annotated before, by its file's name."""

    store: Store
    preparation: Preparation

    def __call__(self, file: str) -> Piece:
        batch, annotation = self.store.piece(file)
        return self.preparation.piece(batch, 1, annotation)


@dataclass(frozen=True, slots=True)
class Collected:
    """A sample, which texts belong to which source, and what was seen on the way.

    `strata` holds each text's number in `doc_ids` (-1: none); `fields` are those of the
    first record.
    """

    sample: Sample
    groups: dict[str, Take]
    strata: NDArray[np.int64]
    doc_ids: tuple[str, ...]
    ids: list[str]
    fingerprint: str
    problems: Problems
    fields: frozenset[str]
    seen: Counter[str]

    def sampled(self, count: int, seed: int) -> Collected:
        """At most `count` texts of each source, drawn at random.

        The draw ranks texts by a hash of their doc_id, so sources that answer the
        same prompts stay paired, and the order of the input does not matter.
        """
        drawn = {
            source: sorted(take, key=lambda text: self._rank(text, seed))[:count]
            for source, take in self.groups.items()
        }
        chosen = np.sort(np.concatenate([np.array(take, np.int64) for take in drawn.values()]))
        return replace(
            self,
            sample=self.sample.take(chosen),
            groups={
                source: np.searchsorted(chosen, np.sort(take)) for source, take in drawn.items()
            },
            strata=self.strata[chosen],
            ids=[self.ids[text] for text in chosen],
        )

    def _rank(self, text: int, seed: int) -> tuple[bytes, bytes]:
        parallel = self.doc_ids[self.strata[text]] if self.strata[text] >= 0 else self.ids[text]
        return _hash(parallel, seed), _hash(self.ids[text], seed)


def collect(
    texts: Corpus | Store,
    needs: Sequence[Need],
    *,
    words: Words,
    by: tuple[str, ...],
    inputs: bool = False,
    jobs: int,
    reporter: Reporter,
) -> Collected:
    """Read all texts once; `inputs`: the documents they were made from are a source too."""
    wanted = tuple(dict.fromkeys(needs))
    pieces: Iterator[Piece]
    if isinstance(texts, Store):
        stored = StoredPreparation(texts, Preparation(wanted, words, by, skip=False))
        pieces = map_ordered(stored, texts.files, jobs)
        stage = reporter.stage("reading", len(texts.files))
        duplicates = DuplicateIds("stop")
    else:
        skip = texts.options.on_error == "skip"
        preparation = Preparation(wanted, words, by, skip, inputs)
        pieces = map_ordered(preparation, texts.shards(), jobs)
        stage = reporter.stage("reading", texts.size, unit="B")
        duplicates = DuplicateIds(texts.options.on_error)
    joined = _Joined(wanted)
    members: dict[str, list[int]] = {}
    doc_numbers: dict[str, int] = {}
    strata: list[int] = []
    ids: list[str] = []
    problems, fingerprint = Problems(), Fingerprint()
    fields: frozenset[str] = frozenset()
    seen: Counter[str] = Counter()
    known_inputs: set[bytes] = set()

    def add(piece: Piece, kept: NDArray[np.int64]) -> None:
        for number in kept:
            members.setdefault(piece.groups[number], []).append(len(ids))
            doc_id = piece.doc_ids[number]
            known = -1 if doc_id is None else doc_numbers.setdefault(doc_id, len(doc_numbers))
            strata.append(known)
            ids.append(piece.batch.documents[number].id)
        fingerprint.add(piece.digests[number] for number in kept)
        complete = len(kept) == len(piece.groups)
        joined.append(piece.sample if complete else piece.sample.take(kept))

    with stage as advance:
        for piece in pieces:
            batch = duplicates.check(piece.batch)
            problems.add(batch.problems)
            add(piece, np.flatnonzero(np.isin(piece.batch.lines, batch.lines)))
            if piece.inputs is not None:
                # Texts of one document may lie in several pieces.
                new = [i for i, d in enumerate(piece.inputs.digests) if d not in known_inputs]
                add(piece.inputs, np.array(new, np.int64))
                known_inputs.update(piece.inputs.digests)
            fields = fields or piece.fields
            seen += piece.seen
            advance(piece.size)
    return Collected(
        sample=joined.finish(),
        groups={name: np.array(numbers, np.int64) for name, numbers in members.items()},
        strata=np.array(strata, np.int64),
        doc_ids=tuple(doc_numbers),
        ids=ids,
        fingerprint=fingerprint.hexdigest(),
        problems=problems,
        fields=fields,
        seen=seen,
    )


class _Joined:
    """A sample as it grows, in columns that move to disk when they get large."""

    def __init__(self, needs: tuple[Need, ...]) -> None:
        self._words = Column(np.int64)
        self._layers = {need: _JoinedLayer(need.spans) for need in needs if need.layer != RAW}
        self._raw = Column(np.uint8)
        self._raw_ends = Column(np.int64)
        self._raw_size = 0
        self._has_raw = any(need.layer == RAW for need in needs)

    def append(self, sample: Sample) -> None:
        self._words.append(sample.words)
        for need, layer in sample.layers.items():
            self._layers[need].append(layer)
        if sample.raw is not None:
            self._raw.append(sample.raw.data)
            self._raw_ends.append(sample.raw.ends + self._raw_size)
            self._raw_size += len(sample.raw.data)

    def finish(self) -> Sample:
        raw = RawText(self._raw.finish(), self._raw_ends.finish()) if self._has_raw else None
        layers = {need: joined.finish(need.layer) for need, joined in self._layers.items()}
        return Sample(self._words.finish(), layers, raw)


class _JoinedLayer:
    """A layer as it grows; most counts over groups need no spans, so they are kept on request."""

    def __init__(self, spans: bool) -> None:
        self._ids, self._ends = Column(np.int32), Column(np.int64)
        self._spans = (Column(np.int32), Column(np.int32)) if spans else None
        self._sentences: Column | None = Column(np.int64) if spans else None
        self._numbers: dict[str, int] = {}
        self._items = 0

    def append(self, layer: Layer) -> None:
        numbers = self._numbers
        table = [numbers.setdefault(entry, len(numbers)) for entry in layer.vocabulary]
        self._ids.append(np.array(table, np.int32)[layer.ids] if table else layer.ids)
        self._ends.append(layer.text_ends + self._items)
        if self._spans is not None:
            self._spans[0].append(layer.starts)
            self._spans[1].append(layer.ends)
        if self._sentences is not None:
            if layer.sentence_ends is None:
                self._sentences = None
            else:
                self._sentences.append(layer.sentence_ends + self._items)
        self._items += len(layer.ids)

    def finish(self, name: str) -> Layer:
        nothing = np.empty(0, np.int32)
        starts, ends = (c.finish() for c in self._spans) if self._spans else (nothing, nothing)
        sentences = None if self._sentences is None else self._sentences.finish()
        return Layer(
            name,
            self._ids.finish(),
            tuple(self._numbers),
            starts,
            ends,
            self._ends.finish(),
            sentences,
        )


def _hash(name: str, seed: int) -> bytes:
    salt = seed.to_bytes(8, "little")
    return blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8, salt=salt).digest()


def _raw(texts: list[str]) -> RawText:
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
    return RawText(np.frombuffer(b"".join(encoded), np.uint8), ends)


def _group(document: Document, by: tuple[str, ...], label: str) -> str:
    return "|".join(str(document.meta[name]) for name in by) if by else label


def _written(value: object) -> str | None:
    return None if value is None else str(value)


def _grouped(batch: Batch, by: tuple[str, ...], *, skip: bool) -> Batch:
    """The batch without records that lack a field of `by`; raises unless they are skipped."""
    missing = {
        number: next(name for name in by if document.meta.get(name) is None)
        for number, document in enumerate(batch.documents)
        if any(document.meta.get(name) is None for name in by)
    }
    if not missing:
        return batch
    problems = [
        InputError(
            "the field that --by names is missing",
            file=batch.file,
            line=batch.lines[number],
            field=name,
            remedy=f"The record has: {', '.join(batch.documents[number].meta) or 'no other field'}",
        )
        for number, name in missing.items()
    ]
    if not skip:
        raise problems[0]
    kept = [number for number in range(len(batch.documents)) if number not in missing]
    return replace(
        batch,
        documents=[batch.documents[number] for number in kept],
        lines=[batch.lines[number] for number in kept],
        problems=[*batch.problems, *problems],
    )
