"""The back-off model of an index behind the contract of language models (`core.model.Model`).

A token is an item of the index, with the white space before it. Nothing is random but the draws
and nothing is trained: a text of the index is likely because it stands there. So this is the
model to try a measure on when every word of the training data has to be known, and the baseline
that a real model has to beat.

Items as text: capitals and spaces as the index has them where the same words stand.
An item of the layer `lower` has no capitals, and no item knows whether a space stands before it.
Both are looked up where the item stands behind the longest part of its context that is in the
index, by the majority of a sample of these positions. So a sentence begins with a capital because
sentences in the index do, and a comma has no space before it for the same reason.

The back-off model is nothing but counts: from single items to runs of any length. Each context
mixes what followed it in the index with the prediction of the context that is one item shorter:

    P(w | h) = (c(h w) + a(h) P(w | shorter h)) / (c(h) + a(h)),   a(h) = scale * c(h) ** power

down to a uniform guess over the vocabulary, the document's end and the unknown. `a(h)` stands
for how many different things may follow; a power of the count is close to their true number
(Heaps' law) and needs no search. The document's end is an event like any other, so that the
probabilities of everything that can follow add up to one.

A distribution is a chain of `Mixture`s: the items that followed a context are in it with their
probabilities; all others have those of the context that is one item shorter, times one number. So
the mean and the spread of the log-probability over the whole vocabulary need no pass over it:

    sum over others of s p log(s p) = s log s (1 - P) + s (M - M'),

with P and M' the sums of p and p log p over the items that are not others, and M that over all.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rote.core.decoding import choose, generator
from rote.core.errors import OptionError
from rote.core.layer import Layer
from rote.core.model import Continuation, Decoding, Floats, Generated, Model, Prompt, Scored
from rote.index.columns.layer_column import LayerColumn, SharedVocabulary
from rote.index.counts.lookup import next_items
from rote.index.grams import ABSENT, END, Grams
from rote.index.index import DEFAULT, Gram, Index
from rote.index.segments.segment import WORD

_MAX_CACHED = 4_000_000
"""How many items the mixtures behind single items may hold together: they are used all the time."""


@dataclass(eq=False)
class BackOff:
    """The language model of one sorted layer of an index.

    `scale` and `power` were chosen on held-out novels (docs/indexes.md); `longest` is the longest
    context that is looked at: a longer one would hardly change the mixture.
    """

    index: Index
    layer: str = DEFAULT
    scale: float = 12.0
    power: float = 0.6
    longest: int = 32
    _cached: dict[int, Mixture | None] = field(default_factory=dict, init=False, repr=False)
    _cached_items: int = field(default=0, init=False, repr=False)

    @property
    def signature(self) -> str:
        return f"back-off/1-scale{self.scale:g}-power{self.power:g}-longest{self.longest}"

    def probabilities(self, text: Layer | Gram) -> Floats:
        """The probability of every item, given the items before it in its own text.

        Items that the index has never seen share one slot of the uniform guess.
        """
        layer = text if isinstance(text, Layer) else self._layer(text)
        position = np.arange(len(layer.ids), dtype=np.int64)
        starts = np.repeat(layer.text_starts, np.diff(layer.text_ends, prepend=0))
        context = self._counts(layer, 1, position)
        events = np.full(len(position), self.events())
        probabilities = self.mix(context, events, np.full(len(position), self.uniform()))
        matches = self.index.longest(layer, self.layer)
        for length in range(1, self.longest + 1):
            # Those go on whose context lies within the text and occurs in the index.
            position = position[position - length >= starts[position]]
            position = position[context[position - length] > 0]
            if not len(position):
                break
            begins = position - length
            # What occurs as often as the longest match from there does so up to that match's end,
            # and nothing longer occurs: the rest is looked up.
            longer = np.where(length < matches.lengths[begins], matches.counts[begins], 0)
            unsettled = (length + 1 < matches.lengths[begins]) & (context[begins] > longer)
            longer[unsettled] = self._counts(layer, length + 1, begins[unsettled])
            probabilities[position] = self.mix(longer, context[begins], probabilities[position])
            # What was counted here as "context and item" is the next item's longer context.
            context = np.zeros_like(context)
            context[begins] = longer
        return probabilities

    def perplexity(self, text: Layer | Gram) -> float:
        """Two to the mean number of bits per item; nan for a text without items."""
        probabilities = self.probabilities(text)
        return (
            float(np.exp2(-np.mean(np.log2(probabilities)))) if len(probabilities) else float("nan")
        )

    def distribution(self, context: Gram = ()) -> dict[str, float]:
        """The probability of every item of the vocabulary after a context, the likeliest first.

        What is missing to 1 is the document's end and the unknown.
        """
        probabilities = self._behind(self._context_numbers(context)).all()
        strings, order = self.shared.strings, np.argsort(-probabilities[1:], kind="stable") + 1
        return {strings[i]: float(probabilities[i]) for i in order.tolist()}

    def generate(self, context: Gram = (), *, most: int = 100, seed: int = 0) -> list[str]:
        """Items drawn one after the other, up to a document's end or `most` of them.

        The unknown cannot be written down, so it is not drawn.
        """
        if most < 1:
            raise OptionError("give at least one item")
        random, drawing = np.random.default_rng(seed), Decoding(most, temperature=1.0)
        text = self._context_numbers(context)
        prompt_length = len(text)
        while len(text) < prompt_length + most:
            item = choose(np.log(self._behind(text).all()), drawing, random)
            if item == END:
                break
            text.append(item)
        return [self.shared.strings[item] for item in text[prompt_length:]]

    def mix(self, counts: NDArray[np.int64], context: NDArray[np.int64], shorter: Floats) -> Floats:
        """The formula above, for many items at once."""
        doubt = self.scale * context.astype(np.float64) ** self.power
        mixed: Floats = (counts + doubt * shorter) / (context + doubt)
        return mixed

    def events(self) -> int:
        events = self.index.items_held(self.layer) + self.index.documents_held
        if not events:
            raise OptionError("an empty index is not a language model")
        return events

    def uniform(self) -> float:
        """The guess of one who knows the vocabulary alone: its items, the end, the unknown."""
        # The shared vocabulary counts the document's end as its entry 0.
        return 1 / (len(self.shared.strings) + 1)

    def _counts(self, layer: Layer, n: int, starts: NDArray[np.int64]) -> NDArray[np.int64]:
        grams = Grams.of_rows(layer.ids[starts[:, None] + np.arange(n)], layer.vocabulary)
        return self.index.counts(grams, self.layer)

    def _layer(self, text: Gram) -> Layer:
        grams = Grams.of([self.index.items(text, self.layer) if len(text) else ()])
        spans = np.zeros(len(grams.ids), np.int32)
        return Layer(self.layer, grams.ids, grams.vocabulary, spans, spans, grams.ends)

    # -- what may follow, by the numbers of the vocabulary that all segments share -----------

    @property
    def shared(self) -> SharedVocabulary:
        return self.index.shared(self.layer)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {string: i for i, string in enumerate(self.shared.strings) if i}

    def numbers(self, items: Sequence[str]) -> list[int]:
        """The numbers of items, ABSENT for those that the index has never seen."""
        return [self._numbers.get(item, ABSENT) for item in items]

    def to_segment(self, segment: int, run: Sequence[int]) -> list[int]:
        down = self.shared.down[segment]
        return [int(down[number]) if number != ABSENT else ABSENT for number in run]

    def after(self, context: Sequence[int]) -> Mixture:
        """The distribution after a context; after none, that of a document's first item."""
        if not context:
            return self._start
        mixture = self._after_one(context[-1])
        if mixture is None:
            return self._any
        for length in range(2, min(len(context), self.longest) + 1):
            following = self._following_items(context[len(context) - length :])
            if following is None:
                break
            mixture = longer_mixture(mixture, *following, self.scale, self.power)
        return mixture

    def _context_numbers(self, context: Gram) -> list[int]:
        return self.numbers(self.index.items(context, self.layer)) if context else []

    def _behind(self, context: Sequence[int]) -> Mixture:
        """As `after`; but after nothing comes what is likely anywhere, not at a start."""
        return self.after(context) if context else self._any

    def _after_one(self, item: int) -> Mixture | None:
        if item not in self._cached:
            if self._cached_items > _MAX_CACHED:
                self._cached.clear()
                self._cached_items = 0
            following = self._following_items([item])
            mixture = None
            if following is not None:
                mixture = longer_mixture(self._any, *following, self.scale, self.power)
                self._cached_items += len(mixture.items)
            self._cached[item] = mixture
        return self._cached[item]

    def _following_items(self, run: Sequence[int]) -> tuple[Numbers, Numbers] | None:
        """The items behind a run and how often each; None where the run does not occur."""
        following: list[tuple[NDArray[np.int32], Numbers]] = []
        for segment, lookup in enumerate(self.index.lookups(self.layer)):
            segment_run = self.to_segment(segment, run)
            if ABSENT in segment_run:
                continue
            items, counts = next_items(lookup, segment_run)
            if len(items):
                following.append((self.shared.up[segment][items], counts))
        if not following:
            return None
        if len(following) == 1:
            return following[0][0].astype(np.int64), following[0][1]
        items, positions = np.unique(
            np.concatenate([part for part, _ in following]), return_inverse=True
        )
        counts = np.zeros(len(items), np.int64)
        np.add.at(counts, positions, np.concatenate([part for _, part in following]))
        return items.astype(np.int64), counts

    @cached_property
    def _any(self) -> Mixture:
        counts = np.zeros(len(self.shared.strings), np.int64)
        for segment, lookup in enumerate(self.index.lookups(self.layer)):
            items, item_counts = next_items(lookup, [])
            counts[self.shared.up[segment][items]] += item_counts
        if not counts.sum():
            raise OptionError("an empty index is not a language model")
        return shortest_mixture(counts, self.scale, self.power)

    @cached_property
    def _start(self) -> Mixture:
        """A document's start is a context like any other: every document has one."""
        counts = np.zeros(len(self.shared.strings), np.int64)
        for segment, column in enumerate(self.index.columns(self.layer)):
            starts = np.append(np.int64(0), column.document_ends + 1)[: len(column.document_ends)]
            first = column.ids.take(starts)
            np.add.at(counts, self.shared.up[segment][first], 1)
        items = np.flatnonzero(counts)
        return longer_mixture(self._any, items, counts[items], self.scale, self.power)


Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Mixture:
    """The distribution of the next item. Items are numbers of the shared vocabulary, 0 the
    document's end, ABSENT the unknown.

    `items` are those that followed the context, ascending, `chances` theirs; every other has
    `rest` times its chance under `shorter`. The shortest one holds the whole vocabulary, and
    `rest` is the chance of the unknown. `expected` is the mean log-probability in nats,
    minus the entropy: the sum of p log p over everything that can follow; `second` is that of
    p (log p)^2; `best` is the likeliest item.
    """

    items: Numbers
    chances: Floats
    rest: float
    shorter: Mixture | None
    expected: float
    second: float
    best: int
    best_chance: float

    @property
    def spread(self) -> float:
        return float(np.sqrt(max(0.0, self.second - self.expected**2)))

    def chance(self, item: int) -> float:
        if self.shorter is None:
            return float(self.chances[item]) if item != ABSENT else self.rest
        position = int(np.searchsorted(self.items, item))
        if position < len(self.items) and self.items[position] == item:
            return float(self.chances[position])
        return self.rest * self.shorter.chance(item)

    def all(self) -> Floats:
        """The probability of every number of the vocabulary, the document's end included."""
        if self.shorter is None:
            return self.chances.copy()
        every = self.shorter.all()
        every *= self.rest
        every[self.items] = self.chances
        return every


def shortest_mixture(counts: Numbers, scale: float, power: float) -> Mixture:
    """Without any context: how often each number of the vocabulary stands in the index, mixed
    with a uniform guess over all of them and the unknown."""
    events, uniform = float(counts.sum()), 1 / (len(counts) + 1)
    doubt = scale * events**power
    chances = (counts + doubt * uniform) / (events + doubt)
    unknown = doubt * uniform / (events + doubt)
    logs = np.append(np.log(chances), np.log(unknown))
    weighted = np.append(chances, unknown) * logs
    best = int(np.argmax(chances))
    return Mixture(
        np.arange(len(counts), dtype=np.int64),
        chances,
        unknown,
        None,
        float(weighted.sum()),
        float((weighted * logs).sum()),
        best,
        float(chances[best]),
    )


def longer_mixture(
    shorter: Mixture, items: Numbers, counts: Numbers, scale: float, power: float
) -> Mixture:
    """After a context that is one item longer, which these items followed so often.

    What followed it also followed the shorter one, so nothing has to be searched further down.
    """
    occurrences = float(counts.sum())
    doubt = scale * occurrences**power
    rest = doubt / (occurrences + doubt)
    before = shorter.chances[np.searchsorted(shorter.items, items)]
    chances = (counts + doubt * before) / (occurrences + doubt)
    logs_before, logs, log_rest = np.log(before), np.log(chances), float(np.log(rest))
    others = 1.0 - float(before.sum())
    others_first = shorter.expected - float((before * logs_before).sum())
    others_second = shorter.second - float((before * logs_before**2).sum())
    first = float((chances * logs).sum()) + rest * (log_rest * others + others_first)
    second = float((chances * logs**2).sum()) + rest * (
        log_rest**2 * others + 2 * log_rest * others_first + others_second
    )
    position = int(np.argmax(chances))
    best, best_chance = int(items[position]), float(chances[position])
    shorter_best = rest * shorter.best_chance
    # The shorter one's best may be none of these items: they are all that rose.
    if shorter_best > best_chance or (shorter_best == best_chance and shorter.best < best):
        best, best_chance = shorter.best, shorter_best
    return Mixture(items, chances, rest, shorter, first, second, best, best_chance)


_SAMPLE = 64
"""Positions that are looked at in each segment."""


class Spelling:
    """How an item is written behind a context."""

    def __init__(self, model: BackOff) -> None:
        index, layer = model.index, model.layer
        self._model = model
        self._columns = index.columns(layer)
        self._lookups = index.lookups(layer)
        # The words as they were written align with those of the layer.
        display_layer = WORD if WORD in index.layers else layer
        self._spelled_columns: Sequence[LayerColumn] = index.columns(display_layer)

    def spell(self, context: Sequence[int], item: int) -> tuple[str, str]:
        """What stands between the item before and this one (a space or nothing), and the item."""
        if not context and (spellings := Counter(self._at_starts(item))):
            return "", spellings.most_common(1)[0][0][1]
        length, ranges = 0, self._ranges([item])
        while length < min(len(context), self._model.longest):
            longer = self._ranges([*context[len(context) - length - 1 :], item])
            if not longer:
                break
            length, ranges = length + 1, longer
        spellings = Counter()
        for segment, low, high in ranges:
            suffixes = self._columns[segment].suffixes
            assert suffixes is not None
            count = min(high - low, _SAMPLE)
            ranks = low + (high - low) * np.arange(count, dtype=np.int64) // count
            spellings.update(self._spellings_at(segment, suffixes.order.take(ranks) + length))
        gap, word = spellings.most_common(1)[0][0]
        return gap if context else "", word

    def _ranges(self, run: Sequence[int]) -> list[tuple[int, int, int]]:
        """The segments that hold a run, and where it stands among their sorted positions."""
        ranges = []
        for segment, lookup in enumerate(self._lookups):
            segment_run = self._model.to_segment(segment, run)
            low, high = (0, 0) if ABSENT in segment_run else lookup.range(segment_run)
            if low < high:
                ranges.append((segment, low, high))
        return ranges

    def _at_starts(self, item: int) -> Iterator[tuple[str, str]]:
        """Where a document begins with the item."""
        for segment, column in enumerate(self._columns):
            ends = column.document_ends
            starts = np.append(np.int64(0), ends + 1)[: len(ends)]
            number = self._model.to_segment(segment, [item])[0]
            yield from self._spellings_at(
                segment, starts[column.ids.take(starts) == number][:_SAMPLE]
            )

    def _spellings_at(self, segment: int, positions: np.ndarray) -> Iterator[tuple[str, str]]:
        column = self._spelled_columns[segment]
        spans = self._model.index.segments[segment].positions_of(column.name).spans
        starts, _ = spans.spans(positions)
        # The item before; that of a document's first is its end, which stands at 0.
        _, ends = spans.spans(np.maximum(positions - 1, 0))
        for number, start, end in zip(column.ids.take(positions).tolist(), starts, ends):
            yield " " if start > end else "", column.vocabulary[number]


_LAYERS = ("word", "lower")
"""Layers that can be written down, the better one first."""


class IndexLanguageModel:
    """An index that scores and continues texts."""

    batch = 1024
    """Nothing is gained by large batches, and one that is not finished is lost by a kill."""
    limit: int | None = None
    """Any text may be as long as it likes."""

    def __init__(self, index: Index, layer: str, name: str) -> None:
        self._index, self._layer = index, layer
        self._model = BackOff(index, layer)
        self._model.after([])  # an index without documents is refused at once
        self._spelling = Spelling(self._model)
        self._name = name

    @property
    def signature(self) -> str:
        return f"index/1-{self._name}-{self._layer}-{self._model.signature}"

    def length(self, text: str) -> int:
        return len(text.split())

    def score(self, wanted: Sequence[Continuation]) -> list[Scored]:
        layer = self._index.layer_of(
            [continuation.context + continuation.text for continuation in wanted], self._layer
        )
        return [
            self._score_text(layer, i, len(continuation.context))
            for i, continuation in enumerate(wanted)
        ]

    def generate(self, wanted: Sequence[Prompt], decoding: Decoding) -> list[Generated]:
        layer = self._index.layer_of([prompt.text for prompt in wanted], self._layer)
        return [
            self._continue_prompt(self._model.numbers(layer.items(i)), prompt, decoding)
            for i, prompt in enumerate(wanted)
        ]

    def _score_text(self, layer: Layer, text: int, before: int) -> Scored:
        """The tokens of one text that end behind its first `before` characters."""
        items, spans = self._model.numbers(layer.items(text)), layer.spans(text)
        rows: list[tuple[float, int, int, bool, float, float]] = []
        last = 0
        for i, (_, end) in enumerate(spans):
            if end > before:
                mixture = self._model.after(items[:i])
                rows.append(
                    (
                        float(np.log(mixture.chance(items[i]))),
                        max(0, last - before),
                        end - before,
                        items[i] == mixture.best,
                        mixture.expected,
                        mixture.spread,
                    )
                )
            last = end
        return Scored.of(rows)

    def _continue_prompt(self, context: list[int], prompt: Prompt, decoding: Decoding) -> Generated:
        random = generator(prompt)
        # The space after a prompt is there already, or there is no prompt to be kept apart from.
        spaced = not prompt.text or prompt.text[-1:].isspace()
        text = ""
        for tokens in range(1, decoding.max_tokens + 1):
            mixture = self._model.after(context)
            # The likeliest is known without looking at the whole vocabulary.
            item = mixture.best
            if decoding.sampled:
                item = choose(np.log(mixture.all()), decoding, random)
            if item == END:
                return Generated(text, tokens, "end")
            gap, word = self._spelling.spell(context, item)
            text += word if spaced and not text else gap + word
            context.append(item)
            stops = [text.index(stop) for stop in decoding.stop if stop in text]
            if stops:
                return Generated(text[: min(stops)], tokens, "stop")
        return Generated(text, decoding.max_tokens, "length")


def open_index_model(path: str) -> Model:
    """The model of an index folder; `FOLDER#lower` names the layer that it speaks."""
    from rote.index.factory import open_index
    from rote.index.folders.manifest import is_index, read_manifest

    folder, _, layer = path, "", ""
    if not is_index(Path(path)) and "#" in path:
        folder, _, layer = path.rpartition("#")
    manifest = read_manifest(Path(folder))
    can = [name for name in _LAYERS if name in manifest.sorted_layers]
    if layer and layer not in _LAYERS:
        raise OptionError(
            f"an index language model works on words: its layer is {' or '.join(_LAYERS)}, not "
            f"'{layer}'"
        )
    if not can or (layer and layer not in can):
        raise OptionError(
            f"{folder} has no sorted layer {layer or ' or '.join(_LAYERS)} to generate from. Add "
            f"it with: rote index add-layer {folder} {layer or 'lower'}"
        )
    # What is written may depend on how the documents are spread over segments (capitals are
    # looked up at a sample of positions), so that is part of the name too.
    made_of = [
        manifest.fingerprint,
        manifest.signature,
        [listed.record.documents for listed in manifest.segments],
    ]
    digest = blake2b(json.dumps(made_of).encode(), digest_size=6).hexdigest()
    name = Path(folder).resolve().name
    return IndexLanguageModel(open_index(folder), layer or can[0], f"{name}-{digest}")
