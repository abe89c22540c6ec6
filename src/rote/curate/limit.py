"""Which texts to keep so that no n-gram is repeated more often than a limit (D_theta).

Beside it, to compare with: as many texts at random, as many of those that repeat most (theta_sim),
and samples of equal size inside each. N-grams come numbered (`core/ngrams.py`): exactly, by their
words and not by a hash. Those that stand once in the whole set have the number ONCE.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rote.core.arrays import Array, empty
from rote.core.errors import OptionError
from rote.core.kernels import njit
from rote.core.layer import Ids, Offsets
from rote.core.metric import LONGEST_NGRAM, OptionSet, Progress, option
from rote.core.ngrams import ONCE, number_ngrams
from rote.curate.corpus_reader import TokenizedCorpus

Kind = Literal["limited", "random", "most-repeated"]
Mask = NDArray[np.bool_]
EXAMPLES = 10


@dataclass(frozen=True, slots=True)
class LimitOptions(OptionSet):
    """Which subsets are made."""

    max: tuple[int, ...] = option(
        (2, 5, 10, 25), "Maximum frequency of an n-gram in a subset (theta)"
    )
    n: int = option(4, "Words in an n-gram", short="-n", most=LONGEST_NGRAM)
    field: str | None = option(
        None, "Field to count in (default: reference if the first record has one, else the text)"
    )
    layer: Literal["word", "lower"] = option("word", "Words as they are, or lower-cased")
    tokenizer: str = option("ud", "Tokenizer: ud, treebank, whitespace, ... or a tokenizer.json")
    seeds: int = option(3, "Number of subsets per limit, each from another shuffle", most=10_000)
    seed: int = option(0, "First seed; the others follow it")
    most_repeated: bool = option(
        False, "Also equally many texts with the most frequent n-grams (theta_sim)"
    )
    random: bool = option(False, "Also equally many texts drawn at random")
    sizes: tuple[int, ...] = option((), "Also samples of these sizes from each subset")
    variant: Literal["exact", "paper"] = option(
        "exact",
        "Count the n-grams of kept texts (exact), or of all texts seen so far (paper), which gives "
        "the sizes that Choubey et al. (2023) print",
    )

    def check(self) -> None:
        """Refuse what makes no sense, before anything is read."""
        settings = {"--max": self.max, "-n": (self.n,), "--seeds": (self.seeds,)}
        for flag, numbers in {**settings, "--sizes": self.sizes}.items():
            if any(number < 1 for number in numbers):
                raise OptionError(f"{flag} must be at least 1, not {min(numbers)}")
            if len(set(numbers)) < len(numbers):
                raise OptionError(f"{flag} names a number twice")
        if not self.max:
            raise OptionError("--max is empty: give one or more limits, such as 2,5,10,25")
        if self.seed < 0:
            raise OptionError(f"--seed must be at least 0, not {self.seed}")


@dataclass(frozen=True, slots=True)
class RepeatedNgrams:
    """The n-grams that may come over a limit, text by text, and how repetitive each text is.

    Text t holds the n-grams `grams[ends[t-1]:ends[t]]`; n-gram g stands `frequency[g]` times in
    the whole set, first at `places[g]`. `everywhere[t]` is how often the most frequent n-gram of a
    text occurs in the whole set, `inside[t]` its own most frequent one in itself.
    """

    grams: Ids
    ends: Offsets
    frequency: Ids
    places: Offsets
    everywhere: Ids
    inside: Ids

    def __len__(self) -> int:
        return len(self.ends)


@dataclass(frozen=True, slots=True)
class Subset:
    """Some of the texts, and why the others are not among them (of a limited one).

    `size` is given for samples inside a subset. `blocking` is how many n-grams kept out a text,
    `blockers` those that kept out most, by number, and how many texts they did.
    """

    kind: Kind
    limit: int
    seed: int
    texts: Mask
    size: int | None = None
    blocking: int = 0
    blockers: tuple[tuple[int, int], ...] = ()

    @property
    def name(self) -> str:
        kind = f".{self.kind}" if self.kind != "limited" else ""
        size = f".{self.size}" if self.size is not None else ""
        return f"max-{self.limit}.seed-{self.seed}{kind}{size}.jsonl"

    def __len__(self) -> int:
        return int(np.count_nonzero(self.texts))


def count_repeats(
    read: TokenizedCorpus, n: int, least: int, progress: Progress = lambda share: None
) -> RepeatedNgrams:
    """Number the n-grams, exactly, and leave out those that stand at most `least` times."""
    starts, ends = read.part_starts, read.part_ends
    *_, (_, numbers, kinds, _) = number_ngrams(read.ids, starts, ends, len(read.vocabulary), n)
    progress(0.8)
    frequency = _count_ngrams(numbers, starts, ends, kinds, n)
    everywhere, inside = _most_frequent(numbers, starts, ends, read.last_parts, n, frequency)
    high = frequency[frequency > least]
    grams = empty(int(high.sum()), np.int32)
    parts = (starts, ends, read.last_parts)
    text_ends, places = _ngrams_above(numbers, *parts, n, frequency, least, grams)
    progress(1.0)
    return RepeatedNgrams(grams, text_ends, high, places, everywhere, inside)


def choose_subsets(
    counted: RepeatedNgrams,
    keys: NDArray[np.uint64],
    options: LimitOptions,
    *,
    threads: int = 1,
    progress: Progress = lambda share: None,
) -> list[Subset]:
    """All subsets that are asked for, limit by limit and seed by seed."""
    seeds = range(options.seed, options.seed + options.seeds)
    wanted = [(limit, seed) for limit in options.max for seed in seeds]
    subsets: list[Subset] = []
    with ThreadPoolExecutor(threads) as pool:
        paper = options.variant == "paper"
        walk = partial(limit_texts, counted, keys, count_dropped=paper)
        limited = pool.map(walk, *zip(*wanted))
        for done, subset in enumerate(limited, 1):
            subsets += _add_comparisons(subset, counted, keys, options)
            progress(done / len(wanted))
    return subsets


def limit_texts(
    counted: RepeatedNgrams,
    keys: NDArray[np.uint64],
    limit: int,
    seed: int,
    count_dropped: bool = False,
) -> Subset:
    """D_theta: one walk through the texts in the order of their ranks."""
    order = np.argsort(shuffle_ranks(keys, "walk", seed), kind="stable")
    chosen, blocked = _walk_texts(
        order, counted.grams, counted.ends, len(counted.frequency), limit, count_dropped
    )
    blocking = int(np.count_nonzero(blocked))
    return Subset("limited", limit, seed, chosen, None, blocking, tuple(_blockers(blocked)))


def _blockers(blocked: Ids) -> Iterator[tuple[int, int]]:
    """The n-grams that kept out most texts; of equal ones those that stand first."""
    if not len(blocked):
        return
    place = max(0, len(blocked) - EXAMPLES)
    least = max(1, int(np.partition(blocked, place)[place]))
    candidates = np.flatnonzero(blocked >= least)
    for gram in candidates[np.argsort(-blocked[candidates], kind="stable")][:EXAMPLES].tolist():
        yield gram, int(blocked[gram])


def _add_comparisons(
    limited: Subset, counted: RepeatedNgrams, keys: NDArray[np.uint64], options: LimitOptions
) -> Iterator[Subset]:
    """A limited subset, those to compare it with, and samples inside them."""
    limit, seed, count = limited.limit, limited.seed, len(limited)
    subsets = [limited]
    if options.random:
        drawn = np.argsort(shuffle_ranks(keys, "random", seed), kind="stable")[:count]
        subsets.append(Subset("random", limit, seed, _mask(drawn, len(keys))))
    if options.most_repeated:
        # Many texts may share the most frequent n-gram: which of them is left to the seed.
        most = np.lexsort((shuffle_ranks(keys, "most-repeated", seed), -counted.everywhere))[:count]
        subsets.append(Subset("most-repeated", limit, seed, _mask(most, len(keys))))
    inside = shuffle_ranks(keys, "sample", seed)
    for subset in subsets:
        yield subset
        members = np.flatnonzero(subset.texts)
        order = members[np.argsort(inside[members], kind="stable")]
        for size in options.sizes:
            if size > count:
                raise OptionError(
                    f"the subset with at most {limit} of each {options.n}-gram (seed {seed}) has "
                    f"{count:,} of {len(keys):,} texts, so no {size:,} can be drawn from it: give "
                    "smaller --sizes, or larger limits with --max"
                )
            yield Subset(subset.kind, limit, seed, _mask(order[:size], len(keys)), size)


def shuffle_ranks(keys: NDArray[np.uint64], purpose: str, seed: int) -> NDArray[np.uint64]:
    """A number for each text by which sorting shuffles them.

    It depends on the text and its id, the seed and the purpose, so neither the order of the files
    nor the version of a random generator matters, and no two purposes share their order.
    """
    salt = blake2b(f"{purpose} {seed}".encode(), digest_size=8).digest()
    mixed = keys ^ np.frombuffer(salt, "<u8").astype(np.uint64)
    # The finalizer of splitmix64; arrays of unsigned numbers wrap around, as it needs.
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)), np.uint64)


def _mask(chosen: NDArray[np.int64], texts: int) -> Mask:
    mask = np.zeros(texts, np.bool_)
    mask[chosen] = True
    return mask


@njit(cache=True, nogil=True)
def _count_ngrams(numbers: Array, starts: Array, ends: Array, kinds: int, n: int) -> Array:
    """How often each n-gram occurs in all parts."""
    counts = np.zeros(kinds, np.int32)
    for part in range(len(starts)):
        for place in range(starts[part], ends[part] - n + 1):
            if numbers[place] != ONCE:
                counts[numbers[place]] += 1
    return counts


@njit(cache=True, nogil=True)
def _most_frequent(
    numbers: Array, starts: Array, ends: Array, last_parts: Array, n: int, frequency: Array
) -> tuple[Array, Array]:
    """For each text: how often its most frequent n-gram occurs in the whole set, and its own most
    frequent one in itself; 0 for a text without any.

    Text t holds the parts `last_parts[t-1]:last_parts[t]`; no n-gram goes across parts.
    """
    everywhere = np.zeros(len(last_parts), np.int32)
    inside = np.zeros(len(last_parts), np.int32)
    counts = np.zeros(len(frequency), np.int32)
    first = 0
    for text in range(len(last_parts)):
        for part in range(first, last_parts[text]):
            for place in range(starts[part], ends[part] - n + 1):
                number = numbers[place]
                if number == ONCE:
                    everywhere[text] = max(everywhere[text], 1)
                    inside[text] = max(inside[text], 1)
                else:
                    counts[number] += 1
                    everywhere[text] = max(everywhere[text], frequency[number])
                    inside[text] = max(inside[text], counts[number])
        for part in range(first, last_parts[text]):
            for place in range(starts[part], ends[part] - n + 1):
                if numbers[place] != ONCE:
                    counts[numbers[place]] = 0
        first = last_parts[text]
    return everywhere, inside


@njit(cache=True, nogil=True)
def _ngrams_above(
    numbers: Array,
    starts: Array,
    ends: Array,
    last_parts: Array,
    n: int,
    frequency: Array,
    least: int,
    grams: Array,
) -> tuple[Array, Array]:
    """The n-grams that stand more than `least` times, text by text and numbered anew.

    The others can never reach a limit of `least` or more. Writes the numbers one after another;
    gives where each text ends among them, and for each number the place where it first stands.
    """
    renumbered = np.full(len(frequency), ONCE, np.int32)
    used = 0
    for number in range(len(frequency)):
        if frequency[number] > least:
            renumbered[number] = used
            used += 1
    text_ends = np.empty(len(last_parts), np.int64)
    places = np.full(used, -1, np.int64)
    filled = 0
    first = 0
    for text in range(len(last_parts)):
        for part in range(first, last_parts[text]):
            for place in range(starts[part], ends[part] - n + 1):
                if numbers[place] == ONCE:
                    continue
                number = renumbered[numbers[place]]
                if number != ONCE:
                    grams[filled] = number
                    filled += 1
                    if places[number] < 0:
                        places[number] = place
        first = last_parts[text]
        text_ends[text] = filled
    return text_ends, places


@njit(cache=True, nogil=True)
def _walk_texts(
    order: Array, grams: Array, text_ends: Array, kinds: int, limit: int, count_dropped: bool
) -> tuple[Array, Array]:
    """Go through the texts in order and keep each that takes no n-gram over the limit.

    Gives which texts are kept, and for each n-gram how many texts it kept out. `count_dropped`:
    n-grams of texts that are not kept count as well.
    """
    chosen = np.zeros(len(text_ends), np.bool_)
    counts = np.zeros(kinds, np.int32)
    blocked = np.zeros(kinds, np.int32)
    last_text = np.full(kinds, -1, np.int64)  # that each n-gram kept out
    for text in order:
        first = text_ends[text - 1] if text else 0
        over = False
        for place in range(first, text_ends[text]):
            counts[grams[place]] += 1
            over |= counts[grams[place]] > limit
        chosen[text] = not over
        if over:
            for place in range(first, text_ends[text]):
                gram = grams[place]
                if counts[gram] > limit and last_text[gram] != text:
                    last_text[gram] = text
                    blocked[gram] += 1
            if not count_dropped:
                for place in range(first, text_ends[text]):
                    counts[grams[place]] -= 1
    return chosen, blocked
