"""Which texts to keep so that no n-gram is repeated more often than a limit (D_theta).

Lexical repetition in training summaries teaches a model to repeat them. D_theta is the subset of
a training set that a single walk through its shuffled texts leaves: a text is kept if, with it, no
n-gram of the kept ones stands more than theta times. Beside it, to compare with: as many texts at
random, as many of those that repeat most (theta_sim), and samples of equal size inside each.

Nothing here reads or writes; `limit_folder` does.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rote.core.column import empty
from rote.core.errors import OptionError
from rote.core.layer import Ids, Offsets
from rote.core.metric import LONGEST_NGRAM, Progress, check_options, option
from rote.curate.reading import Read

Kind = Literal["limited", "random", "most-repeated"]
Mask = NDArray[np.bool_]
EXAMPLES = 10


@dataclass(frozen=True, slots=True)
class LimitOptions:
    """Which subsets are made."""

    max: tuple[int, ...] = option(
        (2, 5, 10, 25), "How often an n-gram may occur in a subset (theta)"
    )
    n: int = option(4, "Words in an n-gram", short="-n", most=LONGEST_NGRAM)
    field: str | None = option(
        None, "Field that is counted (reference if the first record has one, else the text)"
    )
    layer: Literal["word", "lower"] = option("word", "Words as they are, or lower-cased")
    tokenizer: str = option("ud", "Tokenizer: ud, treebank, whitespace, ... or a tokenizer.json")
    seeds: int = option(
        3, "How many subsets for each limit, each from another shuffle", most=10_000
    )
    seed: int = option(0, "The first seed; the others follow it")
    most_repeated: bool = option(
        False, "Also as many texts that hold the most frequent n-grams (theta_sim)"
    )
    random: bool = option(False, "Also as many texts drawn at random")
    sizes: tuple[int, ...] = option((), "Also samples of these sizes inside each subset")

    def __post_init__(self) -> None:
        check_options(self)

    def check(self) -> None:
        """Refuse what makes no sense, before anything is read."""
        named = {"--max": self.max, "-n": (self.n,), "--seeds": (self.seeds,)}
        for flag, numbers in {**named, "--sizes": self.sizes}.items():
            if any(number < 1 for number in numbers):
                raise OptionError(f"{flag} must be at least 1, not {min(numbers)}")
            if len(set(numbers)) < len(numbers):
                raise OptionError(f"{flag} names a number twice")
        if not self.max:
            raise OptionError("--max names no limit: give one or several, such as 2,5,10,25")
        if self.seed < 0:
            raise OptionError(f"--seed must be at least 0, not {self.seed}")


@dataclass(frozen=True, slots=True)
class Repeats:
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
        """What its file is called."""
        parts = [f"max-{self.limit}", f"seed-{self.seed}"]
        parts += [self.kind] if self.kind != "limited" else []
        parts += [str(self.size)] if self.size is not None else []
        return ".".join([*parts, "jsonl"])

    def __len__(self) -> int:
        return int(np.count_nonzero(self.texts))


def repeats(read: Read, n: int, least: int, progress: Progress = lambda share: None) -> Repeats:
    """Number the n-grams, exactly, and leave out those that stand at most `least` times."""
    from rote.curate._limit_kernels import above, frequencies, most_frequent
    from rote.measure._ngram_kernels import number_ngrams

    starts, ends = read.part_starts, read.part_ends
    *_, (_, numbers, kinds, _) = number_ngrams(read.ids, starts, ends, len(read.vocabulary), n)
    progress(0.8)
    frequency = frequencies(numbers, starts, ends, kinds, n)
    everywhere, inside = most_frequent(numbers, starts, ends, read.last_parts, n, frequency)
    high = frequency[frequency > least]
    grams = empty(int(high.sum()), np.int32)
    parts = (starts, ends, read.last_parts)
    text_ends, places = above(numbers, *parts, n, frequency, least, grams)
    progress(1.0)
    return Repeats(grams, text_ends, high, places, everywhere, inside)


def choose(
    found: Repeats,
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
        limited = pool.map(lambda each: walked(found, keys, *each), wanted)
        for done, subset in enumerate(limited, 1):
            subsets += _with_others(subset, found, keys, options)
            progress(done / len(wanted))
    return subsets


def walked(found: Repeats, keys: NDArray[np.uint64], limit: int, seed: int) -> Subset:
    """D_theta: one walk through the texts in the order of their ranks."""
    from rote.curate._limit_kernels import walk

    order = np.argsort(ranks(keys, "walk", seed), kind="stable")
    kept, blocked = walk(order, found.grams, found.ends, len(found.frequency), limit)
    blocking = int(np.count_nonzero(blocked))
    return Subset("limited", limit, seed, kept, None, blocking, tuple(_blockers(blocked)))


def _blockers(blocked: Ids) -> Iterator[tuple[int, int]]:
    """The n-grams that kept out most texts; of equal ones those that stand first."""
    if not len(blocked):
        return
    place = max(0, len(blocked) - EXAMPLES)
    least = max(1, int(np.partition(blocked, place)[place]))
    candidates = np.flatnonzero(blocked >= least)
    for gram in candidates[np.argsort(-blocked[candidates], kind="stable")][:EXAMPLES].tolist():
        yield gram, int(blocked[gram])


def _with_others(
    limited: Subset, found: Repeats, keys: NDArray[np.uint64], options: LimitOptions
) -> Iterator[Subset]:
    """A limited subset, those to compare it with, and samples inside them."""
    limit, seed, count = limited.limit, limited.seed, len(limited)
    subsets = [limited]
    if options.random:
        drawn = np.argsort(ranks(keys, "random", seed), kind="stable")[:count]
        subsets.append(Subset("random", limit, seed, _mask(drawn, len(keys))))
    if options.most_repeated:
        # Many texts may share the most frequent n-gram: which of them is left to the seed.
        most = np.lexsort((ranks(keys, "most-repeated", seed), -found.everywhere))[:count]
        subsets.append(Subset("most-repeated", limit, seed, _mask(most, len(keys))))
    inside = ranks(keys, "sample", seed)
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


def ranks(keys: NDArray[np.uint64], purpose: str, seed: int) -> NDArray[np.uint64]:
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
