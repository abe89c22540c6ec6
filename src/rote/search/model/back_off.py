"""A language model that is nothing but counts: from single items to runs of any length.

Each context mixes what followed it in the index with the prediction of the context that is one
item shorter:

    P(w | h) = (c(h w) + a(h) P(w | shorter h)) / (c(h) + a(h)),   a(h) = scale * c(h) ** power

down to a uniform guess over the vocabulary, the document's end and the unknown. `a(h)` stands
for how many different things may follow; a power of the count is close to their true number
(Heaps' law) and needs no search. The document's end is an event like any other, so that the
probabilities of everything that can follow add up to one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import OptionError
from rote.core.layer import Layer
from rote.index.columns.parts import END
from rote.index.grams import Grams
from rote.index.index import DEFAULT, Gram, Index

Probabilities = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class BackOff:
    """The language model of one sorted layer of an index.

    `scale` and `power` were chosen on held-out novels (docs/index.md); `longest` is the longest
    context that is looked at: a longer one would hardly change the mixture.
    """

    index: Index
    layer: str = DEFAULT
    scale: float = 12.0
    power: float = 0.6
    longest: int = 32

    @property
    def signature(self) -> str:
        return f"back-off/1-scale{self.scale:g}-power{self.power:g}-longest{self.longest}"

    def probabilities(self, text: Layer | Gram) -> Probabilities:
        """The probability of every item, given the items before it in its own text.

        Items that the index has never seen share one slot of the uniform guess.
        """
        layer = text if isinstance(text, Layer) else self._layer(text)
        place = np.arange(len(layer.ids), dtype=np.int64)
        starts = np.repeat(layer.text_starts, np.diff(layer.text_ends, prepend=0))
        context = self._counts(layer, 1, place)
        events = np.full(len(place), self._events())
        found = self._mix(context, events, np.full(len(place), self._uniform()))
        for length in range(1, self.longest + 1):
            # Those go on whose context lies within the text and occurs in the index.
            place = place[place - length >= starts[place]]
            place = place[context[place - length] > 0]
            if not len(place):
                break
            longer = self._counts(layer, length + 1, place - length)
            found[place] = self._mix(longer, context[place - length], found[place])
            # What was counted here as "context and item" is the next item's longer context.
            context = np.zeros_like(context)
            context[place - length] = longer
        return found

    def perplexity(self, text: Layer | Gram) -> float:
        """Two to the mean number of bits per item; nan for a text without items."""
        found = self.probabilities(text)
        return float(np.exp2(-np.mean(np.log2(found)))) if len(found) else float("nan")

    def distribution(self, context: Gram = ()) -> dict[str, float]:
        """The probability of every item of the vocabulary after a context, the likeliest first.

        What is missing to 1 is the document's end and the unknown.
        """
        if context:
            context = self.index.items(context, self.layer)
        strings = self.index.vocabulary(self.layer)
        number = {string: i for i, string in enumerate(strings)}
        found = np.full(len(strings), self._uniform())
        for length in range(min(len(context), self.longest) + 1):
            next_up = self.index.extend(context[len(context) - length :], self.layer)
            if not next_up.total:
                break
            counts = np.zeros(len(strings), np.int64)
            counts[[number[item] for item in next_up.items]] = list(next_up.items.values())
            counts[END] = next_up.ends
            found = self._mix(counts, np.array(next_up.total), found)
        order = np.argsort(-found[1:], kind="stable") + 1
        return {strings[i]: float(found[i]) for i in order.tolist()}

    def generate(self, context: Gram = (), *, most: int = 100, seed: int = 0) -> list[str]:
        """Items drawn one after the other, up to a document's end or `most` of them.

        Drawing from the mixture needs no distribution: choose a context by its weight, then one
        of its occurrences, and take what follows it.
        """
        if most < 1:
            raise OptionError("at least one item has to be asked for")
        random = np.random.default_rng(seed)
        text = list(self.index.items(context, self.layer)) if context else []
        given = len(text)
        while len(text) < given + most:
            item = self._draw(text, random)
            if item is None:
                break
            text.append(item)
        return text[given:]

    def _draw(self, text: Sequence[str], random: np.random.Generator) -> str | None:
        """One item, or None for the document's end."""
        lookups = self.index.lookups(self.layer)
        for length in range(min(len(text), self.longest), 0, -1):
            context = text[len(text) - length :]
            ranges = [
                lookup.range([lookup.column.vocabulary.find(item) for item in context])
                for lookup in lookups
            ]
            held = np.array([high - low for low, high in ranges])
            if held.sum() and random.random() < self._weight(float(held.sum())):
                drawn = int(random.integers(held.sum()))
                number = int(np.searchsorted(np.cumsum(held), drawn, side="right"))
                column = lookups[number].column
                assert column.suffixes is not None
                rank = ranges[number][0] + drawn - int(held[:number].sum())
                return _item(column.ids[column.suffixes.order[rank] + length], column.vocabulary)
        return self._draw_any(random)

    def _draw_any(self, random: np.random.Generator) -> str | None:
        """An item without regard to what stands before it."""
        if random.random() < self._weight(self._events()):
            columns = self.index.columns(self.layer)
            ends = np.cumsum([len(column.ids) for column in columns])
            drawn = int(random.integers(ends[-1]))
            number = int(np.searchsorted(ends, drawn, side="right"))
            place = drawn - (int(ends[number - 1]) if number else 0)
            return _item(columns[number].ids[place], columns[number].vocabulary)
        # The unknown cannot be written down, so it is not drawn.
        strings = self.index.vocabulary(self.layer)
        return _item(int(random.integers(len(strings))), strings)

    def _mix(
        self, seen: NDArray[np.int64], context: NDArray[np.int64], shorter: Probabilities
    ) -> Probabilities:
        """The formula above, for many items at once."""
        doubt = self.scale * context.astype(np.float64) ** self.power
        mixed: Probabilities = (seen + doubt * shorter) / (context + doubt)
        return mixed

    def _weight(self, context: float) -> float:
        """How much a context is trusted."""
        return float(context / (context + self.scale * context**self.power))

    def _events(self) -> int:
        """Items and document ends of the whole index."""
        events = self.index.items_held(self.layer) + self.index.documents_held
        if not events:
            raise OptionError("an index without documents is no language model")
        return events

    def _uniform(self) -> float:
        """The guess of one who knows the vocabulary alone: its items, the end, the unknown."""
        # The shared vocabulary counts the document's end as its entry 0.
        return 1 / (len(self.index.vocabulary(self.layer)) + 1)

    def _counts(self, layer: Layer, n: int, starts: NDArray[np.int64]) -> NDArray[np.int64]:
        ids = layer.ids[starts[:, None] + np.arange(n)].reshape(-1)
        ends = np.arange(1, len(starts) + 1, dtype=np.int64) * n
        return self.index.counts(Grams(ids, ends, layer.vocabulary), self.layer)

    def _layer(self, text: Gram) -> Layer:
        grams = Grams.of([self.index.items(text, self.layer) if len(text) else ()])
        spans = np.zeros(len(grams.ids), np.int32)
        return Layer(self.layer, grams.ids, grams.vocabulary, spans, spans, grams.ends)


def _item(number: int, vocabulary: Sequence[str]) -> str | None:
    return None if number == END else vocabulary[number]
