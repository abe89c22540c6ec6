"""How many of each text's n-grams a training set holds: an index, or files that are read once.

The n-grams of the test items are few, those of the training set many. So the former are numbered
and the latter only looked up: memory goes with the test set alone, however large the training set
is. Numbers are exact, as an n-gram's key is made from the number of its first n-1 words and its
last word; nothing is hashed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rote.core.array_types import Flags, Integers
from rote.core.document import Document
from rote.core.errors import OptionError
from rote.core.layer import Layer, n_gram_starts
from rote.core.metric import Work
from rote.corpus import Corpus, Shard, digest

if TYPE_CHECKING:
    from rote.measure._against import Reference

WITHOUT = "no training set to hold the items against: --train names an index, or texts"


def check_train(
    train: Reference, layer: str, signature: str, placebo: str | Corpus | None = None
) -> None:
    """Refuse, before any text is read, a training set whose words do not compare.

    `signature`: of whoever makes the layers of the measured texts.
    """
    from rote.measure._against import check_against, name_of, open_reference

    sides: dict[str, Reference | None] = {"train": train, "placebo": placebo}
    for flag, given in sides.items():
        if given is None:
            continue
        texts = open_reference(given, role=flag)
        if placebo and not isinstance(texts, Corpus):
            raise OptionError(
                f"--{flag} {name_of(texts)} is an index, of which nothing can be drawn: with "
                "--placebo, both sets are texts"
            )
        check_against(texts, (layer,), signature, flag)


def held(layer: Layer, n: int, train: Reference, work: Work) -> tuple[Integers, Integers]:
    """Of every text how many of its n-gram positions the training set holds, and how many it has.

    The same layer of the training texts is asked.
    """
    from rote.measure._against import longest_in, open_against, open_reference

    texts = open_reference(train, role="train")
    if not isinstance(texts, Corpus):
        # An n-gram is held where the longest match has at least n items.
        index = open_against(texts, (layer.name,), work.reporter)
        flags = np.asarray(longest_in(index, layer, work) >= n, np.bool_)
        return counted(layer, n, flags)
    wanted = Wanted(layer, n)
    for _, part in read_texts(texts, layer.name, work):
        wanted.meet(part)
    return counted(layer, n, wanted.found())


def counted(layer: Layer, n: int, flags: Flags) -> tuple[Integers, Integers]:
    """Of every text how many of its n-gram positions are flagged, and how many it has."""
    counts: Integers = np.concatenate(([0], np.cumsum(flags)))
    every = np.maximum(layer.text_ends - layer.text_starts - n + 1, 0)
    return counts[layer.text_ends] - counts[layer.text_starts], every


def read_texts(corpus: Corpus, layer: str, work: Work) -> Iterator[tuple[list[bytes], Layer]]:
    """Read once, a shard at a time; words are cut on all cores. With the hash of each text."""
    from rote.corpus import map_shards
    from rote.run import get

    for line in corpus.guesses:
        work.reporter.say(line)
    if field := corpus.options.text_field:
        work.reporter.say(f"{corpus.name}: the items are looked up in the field '{field}'")
    with work.reporter.stage(f"reading {corpus.short_name}", corpus.size, unit="B") as advance:
        engine = get(work.engine, work.jobs)
        pieces = map_shards(_Cut(layer), corpus, engine, doing="cutting texts")
        for size, keys, texts in pieces:
            yield keys, texts
            advance(size)


@dataclass(frozen=True, slots=True)
class _Cut:
    """The work on one shard; small and picklable, since it travels to worker processes."""

    layer: str

    def __call__(self, shard: Shard) -> tuple[int, list[bytes], Layer]:
        from rote.annotate import annotators, words
        from rote.annotate.layers import DERIVED, derive

        documents = shard.read().documents
        keys = [digest(Document("", document.text)) for document in documents]
        if self.layer == "word" or self.layer in DERIVED:
            cut = words.get()([document.text for document in documents])
            return shard.size, keys, derive(cut, self.layer)
        made = annotators.get()(documents, (self.layer,))
        return shard.size, keys, {**made.layers, **made.trees}[self.layer]


_UNKNOWN = -1


class Wanted:
    """The n-grams of a layer's texts, and which of them were met elsewhere."""

    def __init__(self, layer: Layer, n: int) -> None:
        self.n = n
        self._words = {word: number for number, word in enumerate(layer.vocabulary)}
        self._keys: list[Integers] = []
        """For 2, 3, ... n words: the keys of all n-grams, ascending; the place is the number."""
        self._places = n_gram_starts(layer, n)
        numbers = layer.ids.astype(np.int64)
        for length in range(2, n + 1):
            starts = n_gram_starts(layer, length)
            keys = self._key(numbers[starts], layer.ids[starts + length - 1])
            known, own = np.unique(keys, return_inverse=True)
            self._keys.append(known)
            numbers[starts] = own
        self._numbers = numbers[self._places]
        self._items = len(layer.ids)
        self._met = np.zeros(len(self._keys[-1]) if self._keys else len(self._words), np.bool_)

    @property
    def kinds(self) -> int:
        """How many different n-grams there are."""
        return len(self._met)

    def meet(self, layer: Layer) -> None:
        """Mark the n-grams that these texts hold."""
        self._met[self._places_and_numbers(layer)[1]] = True

    def hits(self, layer: Layer) -> tuple[Integers, Integers]:
        """Which of these texts holds which n-gram, by number; each pair once."""
        starts, numbers = self._places_and_numbers(layer)
        kinds = max(1, self.kinds)
        pairs = np.unique(np.searchsorted(layer.text_ends, starts, side="right") * kinds + numbers)
        return pairs // kinds, pairs % kinds

    def _places_and_numbers(self, layer: Layer) -> tuple[Integers, Integers]:
        """Where these texts hold an n-gram of the items, and which."""
        words = np.array([self._words.get(w, _UNKNOWN) for w in layer.vocabulary], np.int64)
        if not len(words) or not len(self._met):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        ids = words[layer.ids]
        starts = n_gram_starts(layer, self.n)
        starts = starts[ids[starts] != _UNKNOWN]
        numbers = ids[starts]
        for length, known in enumerate(self._keys, 2):
            last = ids[starts + length - 1]
            keys = self._key(numbers, last)
            found = np.minimum(np.searchsorted(known, keys), len(known) - 1)
            held = (last != _UNKNOWN) & (known[found] == keys)
            starts, numbers = starts[held], found[held]
        return starts, numbers

    def found(self, met: Flags | None = None) -> Flags:
        """For every item of the layer: whether the n-gram that begins there was met, or is among
        those that are given."""
        flags = np.zeros(self._items, np.bool_)
        flags[self._places] = (self._met if met is None else met)[self._numbers]
        return flags

    def _key(self, first: Integers, last: Integers | NDArray[np.int32]) -> Integers:
        return first * len(self._words) + last
