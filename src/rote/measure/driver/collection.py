"""From a corpus to one sample: read, prepare and group, shard by shard in the order of the input,
so that the sample is the same at any number of jobs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from rote.annotate.store import Store
from rote.core.arrays import GrowableArray
from rote.core.layer import Layer
from rote.core.progress import Reporter
from rote.core.sample import Need, RawText, Sample, Take
from rote.corpus import Corpus, DuplicateIds, Fingerprint, Problems, map_shards
from rote.measure.driver.preparation import (
    RAW,
    Preparation,
    PreparedShard,
    hash_id,
    prepare_stored,
)
from rote.measure.driver.settings import Settings
from rote.run import Engine, get, with_threads

_SMALL = 6 * 2**20
"""Bytes that are read before further processes have started."""


@dataclass(frozen=True, slots=True)
class CollectedTexts:
    """A sample, which texts belong to which source, and what was learned on the way.

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
    order: NDArray[np.int64]
    """The place of each text in an order by what it holds, its doc_id and id."""
    fingerprint: str
    problems: Problems
    fields: frozenset[str]
    guessed_languages: Counter[str]
    copies: Counter[str]
    """How many of the `read` texts of a source occur there already."""
    read: Mapping[str, int]
    files: Sequence[str] = ()
    """The file of each text, where there are several."""
    languages: Mapping[tuple[str, str | None], str] = field(default_factory=dict)
    """By source and field (None: the text) the code of the language of most, "" if not known."""

    @property
    def grouping(self) -> str:
        """Which texts are whose, answer the same prompt and form a set: what `fingerprint`, of
        ids and texts, does not say. In which order they were read, and which others were, does not
        matter."""
        whose = np.full(len(self.ids), -1, np.int64)
        digest = blake2b(digest_size=6)
        for number, name in enumerate(sorted(self.groups)):
            digest.update(hash_id(name, 0))
            whose[self.groups[name]] = number
        canonical = np.argsort(self.order, kind="stable")
        strata, sets = (_number_as_met(column[canonical]) for column in (self.strata, self.sets))
        for column in (whose[canonical], strata, sets):
            digest.update(column.astype("<i8").tobytes())
        return digest.hexdigest()

    def sampled(self, count: int, seed: int) -> CollectedTexts:
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

    def only(self, sources: Collection[str]) -> CollectedTexts:
        if len(sources) == len(self.groups):
            return self
        return self.chosen({name: take for name, take in self.groups.items() if name in sources})

    def chosen(self, groups: Mapping[str, Take]) -> CollectedTexts:
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
            order=self.order[chosen],
            files=[self.files[text] for text in chosen] if self.files else [],
        )

    def _rank(self, text: int, seed: int) -> tuple[bytes, bytes]:
        parallel = self.doc_ids[self.strata[text]] if self.strata[text] >= 0 else self.ids[text]
        return hash_id(parallel, seed), hash_id(self.ids[text], seed)


def _number_as_met(column: NDArray[np.int64]) -> NDArray[np.int64]:
    """The same kinds, numbered as they come; -1 (none) stays."""
    _, first, kind = np.unique(column, return_index=True, return_inverse=True)
    return np.where(column < 0, -1, np.argsort(np.argsort(first))[kind])


def collect_texts(
    texts: Corpus | Store,
    needs: Sequence[Need],
    *,
    settings: Settings,
    inputs: str | None = None,
    engine: Engine,
    reporter: Reporter,
    languages: bool = True,
) -> CollectedTexts:
    """`inputs`: the field of what texts were made from, where that is to be a source too."""
    wanted, own_threads = tuple(dict.fromkeys(needs)), 1
    pieces: Iterator[PreparedShard]
    if isinstance(texts, Store):
        here = replace(texts, path=texts.path.absolute())
        preparation = Preparation(wanted, settings, inputs, False, languages)
        stored = partial(prepare_stored, preparation, here)
        pieces = engine.map(stored, texts.files, doing="reading the store")
        stage = reporter.stage("reading", len(texts.files))
        duplicates = DuplicateIds("stop")
    else:
        skip = texts.options.on_error == "skip"
        preparation = Preparation(wanted, settings, inputs, skip, languages)
        if 0 < texts.size < _SMALL and not engine.remote:  # of a pipe it is not known
            own_threads, engine = engine.jobs, get()
        pieces = map_shards(preparation, texts, engine, doing="reading texts")
        stage = reporter.stage("reading", texts.size, unit="B")
        duplicates = DuplicateIds(texts.options.on_error)
    builder = _SampleBuilder(wanted)
    members: dict[str, list[int]] = {}
    doc_ids, strata = dict[str, int](), list[int]()
    set_names, sets = dict[str, int](), list[int]()
    ids: list[str] = []
    keys: list[bytes] = []
    files: list[str] = []
    problems, fingerprint = Problems(), Fingerprint()
    seen_fields: frozenset[str] = frozenset()
    guessed_languages: Counter[str] = Counter()
    known_inputs: set[bytes] = set()
    known_texts: dict[str, set[bytes]] = {}
    copies: Counter[str] = Counter()
    codes: dict[tuple[str, str | None], Counter[str]] = {}

    def add(piece: PreparedShard, numbers: NDArray[np.int64]) -> None:
        for number in numbers:
            group, text = piece.groups[number], piece.texts[number]
            members.setdefault(group, []).append(len(ids))
            for name, codes_of_source in piece.languages.items():
                codes.setdefault((group, name), Counter())[codes_of_source[number]] += 1
            known = known_texts.setdefault(group, set())
            copies[group] += text in known
            known.add(text)
            strata.append(_number_of(piece.doc_ids[number], doc_ids))
            sets.append(_number_of(piece.sets[number], set_names))
            ids.append(piece.batch.documents[number].id)
            keys.append(text + hash_id(f"{piece.doc_ids[number]} {ids[-1]}", 0))
            files.append(piece.batch.file)
        fingerprint.add(piece.digests[number] for number in numbers)
        complete = len(numbers) == len(piece.groups)
        builder.append(piece.sample if complete else piece.sample.take(numbers))

    with stage as advance, with_threads(own_threads):
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
            guessed_languages += piece.guessed_languages
            advance(piece.size)
    return CollectedTexts(
        sample=builder.finish(),
        groups={name: np.array(numbers, np.int64) for name, numbers in members.items()},
        strata=np.array(strata, np.int64),
        doc_ids=tuple(doc_ids),
        sets=np.array(sets, np.int64),
        set_names=tuple(set_names),
        ids=ids,
        order=np.argsort(np.argsort(np.array(keys, "S16"), kind="stable")),
        fingerprint=fingerprint.hexdigest(),
        problems=problems,
        fields=seen_fields,
        guessed_languages=guessed_languages,
        copies=copies,
        read={name: len(numbers) for name, numbers in members.items()},
        files=files if len(set(files)) > 1 else [],
        languages={name: counts.most_common(1)[0][0] for name, counts in codes.items()},
    )


def _number_of(name: str | None, numbers: dict[str, int]) -> int:
    """Names are numbered in order of first appearance; -1 where there is none."""
    return -1 if name is None else numbers.setdefault(name, len(numbers))


class _SampleBuilder:
    """A sample as it grows, in columns that move to disk when they get large."""

    def __init__(self, needs: tuple[Need, ...]) -> None:
        self._words = GrowableArray(np.int64)
        self._layers = {need: _LayerBuilder(need.spans) for need in needs if need.layer != RAW}
        self._raws = {need.field: _TextBuilder() for need in needs if need.layer == RAW}

    def append(self, sample: Sample) -> None:
        self._words.append(sample.words)
        for need, layer in sample.layers.items():
            self._layers[need].append(layer)
        for name, raw in sample.raws.items():
            self._raws[name].append(raw)

    def finish(self) -> Sample:
        layers = {need: column.finish(need.layer) for need, column in self._layers.items()}
        raws = {field: column.finish() for field, column in self._raws.items()}
        return Sample(self._words.finish(), layers, raws)


class _TextBuilder:
    def __init__(self) -> None:
        self._data, self._ends, self._size = GrowableArray(np.uint8), GrowableArray(np.int64), 0

    def append(self, raw: RawText) -> None:
        self._data.append(raw.data)
        self._ends.append(raw.ends + self._size)
        self._size += len(raw.data)

    def finish(self) -> RawText:
        return RawText(self._data.finish(), self._ends.finish())


class _LayerBuilder:
    """A layer as it grows; most counts over groups need no spans, so they are kept on request."""

    def __init__(self, spans: bool) -> None:
        self._ids, self._ends = GrowableArray(np.int32), GrowableArray(np.int64)
        self._spans = [GrowableArray(np.int32), GrowableArray(np.int32)] if spans else []
        self._sentences: GrowableArray | None = GrowableArray(np.int64) if spans else None
        self._numbers: dict[str, int] = {}
        self._items = 0

    def append(self, layer: Layer) -> None:
        numbers = self._numbers
        table = [numbers.setdefault(entry, len(numbers)) for entry in layer.vocabulary]
        self._ids.append(np.array(table, np.int32)[layer.ids] if table else layer.ids)
        self._ends.append(layer.text_ends + self._items)
        for column, spans in zip(self._spans, (layer.starts, layer.ends)):
            column.append(spans)
        if layer.sentence_ends is None:
            self._sentences = None
        elif self._sentences is not None:
            self._sentences.append(layer.sentence_ends + self._items)
        self._items += len(layer.ids)

    def finish(self, name: str) -> Layer:
        nothing = np.empty(0, np.int32)
        starts, ends = (c.finish() for c in self._spans) if self._spans else (nothing, nothing)
        sentences = None if self._sentences is None else self._sentences.finish()
        ids, text_ends = self._ids.finish(), self._ends.finish()
        return Layer(name, ids, tuple(self._numbers), starts, ends, text_ends, sentences)
