"""From a corpus to one sample: read, tokenize and group, piece by piece.

Each shard becomes a piece in a worker; pieces are joined here in the order of the
input, so the sample is the same at any number of jobs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from rote.annotate import annotators, layers, words
from rote.annotate.script import glance
from rote.annotate.store import Store
from rote.annotate.trees import HEAD, head_layer
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
_INPUTS = {"document": "input documents"}


@dataclass(frozen=True, slots=True)
class Piece:
    """One shard, ready to be joined. Its documents hold no text and no fields any more."""

    batch: Batch
    size: int
    sample: Sample
    groups: list[str]
    doc_ids: list[str | None]
    sets: list[str | None]
    """What the field of `--within` holds."""
    digests: list[bytes]
    fields: frozenset[str]
    seen: Counter[str]
    """What the texts look like, where the English models were used on them."""
    inputs: Piece | None = None
    """What the texts were made from, where that is measured too."""


@dataclass(frozen=True, slots=True)
class Words:
    """Where words and what hangs on them come from.

    Words alone come from the tokenizer; as soon as a layer needs more (tags, trees), or
    another annotator was chosen, everything comes from the annotator.
    """

    tokenizer: str
    annotator: str

    def annotates(self, needs: Sequence[Need]) -> bool:
        return self.annotator != annotators.DEFAULT or not _FROM_WORDS.issuperset(own_layers(needs))


def own_layers(needs: Sequence[Need]) -> list[str]:
    """The layers that the annotator must make; heads come with the dependencies."""
    own = [need.layer for need in needs if need.tokenizer is None and need.layer != RAW]
    return list(dict.fromkeys("dep" if layer == HEAD else layer for layer in own))


@dataclass(frozen=True, slots=True)
class Fields:
    """Which fields of a record are looked at: those that tell sources apart, the one whose texts
    are a source too, and the one that puts texts into sets."""

    by: tuple[str, ...] = ()
    inputs: str | None = None
    within: str | None = None

    @property
    def required(self) -> tuple[str, ...]:
        return (*self.by, *([self.within] if self.within else []))

    def as_source(self, document: Document) -> dict[str, object]:
        """The fields by which what a text was made from is grouped: not who wrote the text."""
        if not self.by:
            return {}
        writer = "source" if "source" in self.by else self.by[-1]
        return {**{name: document.meta.get(name) for name in self.by}, writer: self.inputs_name}

    @property
    def inputs_name(self) -> str:
        return _INPUTS.get(str(self.inputs), f"input: {self.inputs}")


@dataclass(frozen=True, slots=True)
class Preparation:
    """The work on one shard; small and picklable, since it travels to worker processes."""

    needs: tuple[Need, ...]
    words: Words
    fields: Fields
    skip: bool

    def __call__(self, shard: Shard) -> Piece:
        return self.piece(shard.read(), shard.size)

    def piece(self, batch: Batch, size: int, annotation: Annotation | None = None) -> Piece:
        """A batch, annotated here unless that was done before."""
        if annotation is None:
            batch = self._checked(batch, skip=self.skip)
        else:
            self._checked(batch, skip=False)  # stored pieces cannot lose a document
        documents = batch.documents
        seen: Counter[str] = Counter()
        if annotation is None and self.words.annotates(self.needs):
            if self.words.annotator == annotators.DEFAULT:
                seen = glance([document.text for document in documents])
            annotation = annotators.get(self.words.annotator)(documents, own_layers(self.needs))
        return Piece(
            batch=replace(batch, documents=[Document(d.id, "") for d in documents]),
            size=size,
            sample=self._sample(documents, annotation),
            groups=[_group(document, self.fields.by, batch.label) for document in documents],
            doc_ids=[_written(document.meta.get(_PARALLEL)) for document in documents],
            sets=[_written(document.meta.get(self.fields.within or "")) for document in documents],
            digests=[digest(document) for document in documents],
            fields=frozenset(documents[0].meta) if documents else frozenset(),
            seen=seen,
            inputs=self._inputs(batch),
        )

    def _inputs(self, batch: Batch) -> Piece | None:
        """What the texts were made from, each text once, as a piece of its own."""
        fields = self.fields
        if fields.inputs is None:
            return None
        found: dict[tuple[str, ...], tuple[Document, int]] = {}
        for document, line in zip(batch.documents, batch.lines):
            text = document.meta.get(fields.inputs)
            if isinstance(text, str) and text.strip():
                doc_id = _written(document.meta.get(_PARALLEL))
                meta = fields.as_source(document)
                if doc_id is not None:
                    meta[_PARALLEL] = doc_id
                # Named by what it is, not by who answered it, so that it is known again.
                own = [str(meta[name]) for name in fields.by if meta[name] != fields.inputs_name]
                name = " ".join([*own, fields.inputs, doc_id or _hash(text, 0).hex()])
                found.setdefault((*own, text), (Document(name, text, meta), line))
        if not found:
            return None
        documents, lines = zip(*found.values())
        inputs = replace(
            batch,
            documents=list(documents),
            lines=list(lines),
            label=fields.inputs_name,
            problems=[],
        )
        return replace(self, fields=Fields(fields.by)).piece(inputs, 0)

    def _sample(self, documents: Sequence[Document], annotation: Annotation | None) -> Sample:
        texts = [document.text for document in documents]
        layered = _Layered(self.words, texts, annotation)
        beside = {
            field: _Layered(self.words, _beside(documents, field), None)
            for field in {need.field for need in self.needs if need.field is not None}
        }
        own = layered.words()
        return Sample(
            words=own.text_ends - own.text_starts,
            layers={
                need: (layered if need.field is None else beside[need.field]).layer(need)
                for need in self.needs
                if need.layer != RAW
            },
            raws={
                need.field: _raw(texts if need.field is None else beside[need.field].texts)
                for need in self.needs
                if need.layer == RAW
            },
        )

    def _checked(self, batch: Batch, *, skip: bool) -> Batch:
        """The batch without records that lack a field; raises unless they are skipped."""
        flags = dict.fromkeys(self.fields.by, "--by")
        if self.fields.within:
            flags.setdefault(self.fields.within, "--within")
        beside = {need.field: "the measure" for need in self.needs if need.field is not None}
        return _complete(batch, {**beside, **flags}, skip=skip)


class _Layered:
    """Texts and the layers over them, each made once, when it is first asked for."""

    def __init__(self, source: Words, texts: list[str], annotation: Annotation | None) -> None:
        self.source, self.texts, self.annotation = source, texts, annotation
        self._words: dict[str, Layer] = {}

    def words(self, tokenizer: str | None = None) -> Layer:
        if tokenizer is None and self.annotation is not None:
            return self.annotation.word
        name = tokenizer or self.source.tokenizer
        if name not in self._words:
            self._words[name] = words.get(name)(self.texts)
        return self._words[name]

    def layer(self, need: Need) -> Layer:
        if need.tokenizer is None and self.annotation is not None:
            if need.layer == HEAD and self.annotation.heads is not None:
                return head_layer(self.annotation.word, self.annotation.heads)
            return {**self.annotation.layers, **self.annotation.trees}[need.layer]
        return layers.derive(self.words(need.tokenizer), need.layer)


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

    `strata` holds each text's number in `doc_ids` (-1: none), `sets` the same for what the field
    of `--within` holds; `fields` are those of the first record.
    """

    sample: Sample
    groups: dict[str, Take]
    strata: NDArray[np.int64]
    doc_ids: tuple[str, ...]
    sets: NDArray[np.int64]
    set_names: tuple[str, ...]
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
        return self.chosen(
            {
                source: np.array(sorted(take, key=lambda t: self._rank(t, seed))[:count], np.int64)
                for source, take in self.groups.items()
            }
        )

    def chosen(self, groups: Mapping[str, Take]) -> Collected:
        """These texts of these sources alone."""
        chosen = np.sort(np.concatenate(list(groups.values())))
        return replace(
            self,
            sample=self.sample.take(chosen),
            groups={
                source: np.searchsorted(chosen, np.sort(take)) for source, take in groups.items()
            },
            strata=self.strata[chosen],
            sets=self.sets[chosen],
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
    fields: Fields,
    jobs: int,
    reporter: Reporter,
) -> Collected:
    """Read all texts once."""
    wanted = tuple(dict.fromkeys(needs))
    pieces: Iterator[Piece]
    if isinstance(texts, Store):
        stored = StoredPreparation(texts, Preparation(wanted, words, fields, skip=False))
        pieces = map_ordered(stored, texts.files, jobs)
        stage = reporter.stage("reading", len(texts.files))
        duplicates = DuplicateIds("stop")
    else:
        skip = texts.options.on_error == "skip"
        preparation = Preparation(wanted, words, fields, skip)
        pieces = map_ordered(preparation, texts.shards(), jobs)
        stage = reporter.stage("reading", texts.size, unit="B")
        duplicates = DuplicateIds(texts.options.on_error)
    joined = _Joined(wanted)
    members: dict[str, list[int]] = {}
    strata, sets = _Numbered(), _Numbered()
    ids: list[str] = []
    problems, fingerprint = Problems(), Fingerprint()
    seen_fields: frozenset[str] = frozenset()
    seen: Counter[str] = Counter()
    known_inputs: set[bytes] = set()

    def add(piece: Piece, kept: NDArray[np.int64]) -> None:
        for number in kept:
            members.setdefault(piece.groups[number], []).append(len(ids))
            strata.append(piece.doc_ids[number])
            sets.append(piece.sets[number])
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
            seen_fields = seen_fields or piece.fields
            seen += piece.seen
            advance(piece.size)
    return Collected(
        sample=joined.finish(),
        groups={name: np.array(numbers, np.int64) for name, numbers in members.items()},
        strata=strata.column(),
        doc_ids=tuple(strata.names),
        sets=sets.column(),
        set_names=tuple(sets.names),
        ids=ids,
        fingerprint=fingerprint.hexdigest(),
        problems=problems,
        fields=seen_fields,
        seen=seen,
    )


class _Numbered:
    """Names as they come, numbered in order of first appearance; -1 where there is none."""

    def __init__(self) -> None:
        self.names: dict[str, int] = {}
        self._numbers: list[int] = []

    def append(self, name: str | None) -> None:
        self._numbers.append(-1 if name is None else self.names.setdefault(name, len(self.names)))

    def column(self) -> NDArray[np.int64]:
        return np.array(self._numbers, np.int64)


class _Joined:
    """A sample as it grows, in columns that move to disk when they get large."""

    def __init__(self, needs: tuple[Need, ...]) -> None:
        self._words = Column(np.int64)
        self._layers = {need: _JoinedLayer(need.spans) for need in needs if need.layer != RAW}
        self._raws = {need.field: _JoinedText() for need in needs if need.layer == RAW}

    def append(self, sample: Sample) -> None:
        self._words.append(sample.words)
        for need, layer in sample.layers.items():
            self._layers[need].append(layer)
        for field, raw in sample.raws.items():
            self._raws[field].append(raw)

    def finish(self) -> Sample:
        layers = {need: joined.finish(need.layer) for need, joined in self._layers.items()}
        raws = {field: joined.finish() for field, joined in self._raws.items()}
        return Sample(self._words.finish(), layers, raws)


class _JoinedText:
    """Raw text as it grows."""

    def __init__(self) -> None:
        self._data, self._ends, self._size = Column(np.uint8), Column(np.int64), 0

    def append(self, raw: RawText) -> None:
        self._data.append(raw.data)
        self._ends.append(raw.ends + self._size)
        self._size += len(raw.data)

    def finish(self) -> RawText:
        return RawText(self._data.finish(), self._ends.finish())


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


def _beside(documents: Sequence[Document], field: str) -> list[str]:
    """What a field of the records holds; checked before."""
    return [str(document.meta[field]) for document in documents]


def _complete(batch: Batch, asked: Mapping[str, str], *, skip: bool) -> Batch:
    """The batch without records that lack a field; raises unless they are skipped.

    `asked`: the fields, and who asks for each.
    """
    missing = {
        number: next(name for name in asked if document.meta.get(name) is None)
        for number, document in enumerate(batch.documents)
        if any(document.meta.get(name) is None for name in asked)
    }
    if not missing:
        return batch
    problems = [
        InputError(
            f"the field that {asked[name]} names is missing",
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
