"""What length does to every value, and that what is compared at equal length is not moved by it.

    python benchmarks/lengths.py moves               which values move with what, on the Bible
    python benchmarks/lengths.py moves FILE...       ... on texts of one's own
    python benchmarks/lengths.py level [STUDIES [MEASURE...]]
                                                     how often the test at equal length is wrong
    python benchmarks/lengths.py parts FILE [TIMES]  whole texts against halves and quarters

`moves` compares groups of texts with quarters of these groups, and texts with quarters of these
texts, whole sentences at a random place. A value moves if the mean change over the groups is more
than SURE of its standard errors and not too small to be seen (SEEN). `level` makes studies of
random texts without any difference but length, and counts p <= 0.05. `parts` splits the texts of a
file at random, cuts one side to halves or quarters, and counts in how many splits the test at equal
length finds a difference, and how often the shorter side comes out as more diverse.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache, lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.annotate import sentences, words
from rote.compare.permutation import PermutedTest
from rote.core import plugins
from rote.core.errors import RoteError
from rote.core.layer import Layer
from rote.core.metric import Metric, Work
from rote.core.progress import Silent
from rote.core.sample import Need, RawText, Sample
from rote.corpus import open_corpus
from rote.measure import Settings
from rote.measure.driver.collection import collect_texts
from rote.measure.driver.compute import compute
from rote.measure.driver.equal_lengths import match_lengths
from rote.run import get

SEEN = 0.005
SURE = 4
LEVEL = 0.05
LEVEL_OF = ("lexical", "self-repetition", "compression", "homogenization", "templates")
"""Measures that are compared by windows of words and need no model of language."""
TEXTS, GROUPS = 256, 8
Needs = Sequence[Need]
SENTENCES, LONGEST = 16, 40


def metric_of(name: str) -> Metric:
    found: Metric = plugins.load("measure", name).METRIC
    return found


# Random texts without a difference


def random_texts(lengths: NDArray[np.int64], column: NDArray[np.int32], needs: Needs) -> Sample:
    """Texts of these words; all layers are the words."""
    ends, nothing = np.cumsum(lengths), np.empty(0, np.int32)
    words, letters = _spelled(_kinds(needs))
    layers = {
        need: Layer(need.layer, column, words, nothing, nothing, ends.astype(np.int64))
        for need in needs
        if need.layer != "text"
    }
    # All words are of two letters: with spaces between, but not after the last of a text.
    spelled = letters[column].reshape(-1)
    raw = RawText(np.delete(spelled, 3 * ends - 1), 3 * ends - np.arange(1, len(ends) + 1))
    return Sample(lengths, layers, {None: raw})


def _kinds(needs: Needs) -> int:
    """How many words there are; where tags are needed, as few as of these."""
    return 12 if any(need.layer == "pos" for need in needs) else 400


@lru_cache(maxsize=1_000)  # the same for all measures
def random_words(
    counts: tuple[int, int], ratio: float, seed: int, words: int, kinds: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """Lengths of texts, their words of a Zipfian vocabulary, of which each text prefers some
    throughout, and the texts in another order."""
    rng = np.random.default_rng([seed, counts[0], counts[1], int(10 * ratio)])
    means = np.repeat([words, words * ratio], counts)
    lengths = rng.integers((0.8 * means).astype(int), (1.2 * means).astype(int) + 1)
    common, ids = 1 / np.arange(1, kinds + 1), []
    for length in lengths:
        # As `rng.choice` does it, which looks through the chances first.
        chances = np.cumsum(common * rng.gamma(0.5, size=kinds))
        ids.append(np.searchsorted(chances / chances[-1], rng.random(length), "right"))
    column = np.concatenate(ids).astype(np.int32)
    return lengths.astype(np.int64), column, rng.permutation(sum(counts)).astype(np.int64)


@cache
def _spelled(kinds: int) -> tuple[tuple[str, ...], NDArray[np.uint8]]:
    """Words of two letters, and those with a space behind as bytes."""
    words = tuple(np.base_repr(number + 36, 36) for number in range(kinds))
    letters = np.frombuffer("".join(f"{word} " for word in words).encode(), np.uint8)
    return words, letters.reshape(kinds, 3)


def null_p_values(
    name: str, counts: tuple[int, int], ratio: float, seed: int, words: int = 60
) -> dict[str, float]:
    """The p-values at equal length of one study in which sources differ in length alone; nan where
    the test could find nothing, and says so. Short texts have some `words`.

    Of 19 permutations none may be as far: that is the level, and more would not make it finer.
    """
    metric = metric_of(name)
    options = metric.options()
    needs = metric.needs(options)
    lengths, column, places = random_words(counts, ratio, seed, words, _kinds(needs))
    sample = random_texts(lengths, column, needs)
    numbers = np.arange(sum(counts), dtype=np.int64)
    work = Work(
        groups={"short": numbers[: counts[0]], "long": numbers[counts[0] :]},
        reference="short",
        ids=[str(number) for number in numbers],
        strata=np.full(len(numbers), -1, np.int64),
        seed=seed,
    )
    # Whole texts are not asked about: most measures take windows from the sample.
    rows = metric.rows(sample, options, work) if metric.cut else None
    equal, _ = match_lengths(metric, options, sample, rows, work, places)
    assert equal is not None
    found = equal.test("long", "short", equal.by_source(), 19, lambda amount: None)
    return p_values(found)


def p_values(found: Mapping[str, PermutedTest]) -> dict[str, float]:
    """Not corrected; nan where the test could find nothing."""
    return {value: test.p if test.least <= LEVEL else math.nan for value, test in found.items()}


def level(studies: int, measures: Sequence[str]) -> None:
    """How often p <= 0.05, by value, numbers of texts and length ratio."""
    print("| value | texts | ratio 1 | ratio 4 | ratio 10 |\n| --- | --- | --- | --- | --- |")
    for name in measures:
        for counts in ((15, 15), (15, 45), (45, 15)):
            found: dict[str, list[float]] = {}
            for ratio in (1, 4, 10):
                each = [null_p_values(name, counts, ratio, seed) for seed in range(studies)]
                for value in each[0]:
                    p = np.array([one[value] for one in each])
                    found.setdefault(value, []).append(float(np.mean(p[~np.isnan(p)] <= LEVEL)))
            for value, rates in found.items():
                said = " | ".join(f"{100 * rate:.1f} %" for rate in rates)
                print(f"| {value} | {counts[0]} short, {counts[1]} long | {said} |", flush=True)


# What moves with what

Texts = Sequence[Sequence[str]]
"""Texts as lists of sentences."""


@dataclass(frozen=True, slots=True)
class Change:
    """By how much a value changes, as a share of it, and the standard error of that."""

    mean: float
    error: float

    @property
    def seen(self) -> bool:
        return abs(self.mean) > max(SEEN, SURE * self.error)

    @property
    def still(self) -> bool:
        """Whether it is known that there is nothing to be seen."""
        return abs(self.mean) + SURE * self.error < SEEN

    @classmethod
    def of(cls, before: Sequence[float], after: Sequence[float]) -> Change:
        whole = abs(float(np.mean(before)))
        changes = np.subtract(after, before) / (whole if whole else 1.0)
        return cls(float(changes.mean()), float(changes.std(ddof=1) / math.sqrt(len(changes))))


def measured_moves(
    name: str, options: Any, texts: Texts, groups: int
) -> dict[str, tuple[Change, Change]]:
    """By value: what it does from a quarter of the texts to all, and from a quarter of each to all.

    Texts are divided into `groups`, which say how sure a change is. A quarter of a text is a run of
    its sentences at a random place, and texts keep to the first four times as many.
    """
    metric, rng = metric_of(name), np.random.default_rng(0)
    quarters = [len(sentences) // 4 for sentences in texts]
    whole = [" ".join(own[: 4 * part]) for own, part in zip(texts, quarters)]
    first = [int(rng.integers(3 * part + 1)) for part in quarters]
    short = [" ".join(own[at : at + part]) for own, at, part in zip(texts, first, quarters)]
    collected = collect_texts(
        open_corpus([*whole, *short]),
        metric.needs(options),
        settings=Settings(),
        engine=get(),
        reporter=Silent(),
    )
    count = len(texts)
    numbers = np.arange(count, dtype=np.int64)
    work = Work(groups={"whole": numbers, "short": numbers + count}, ids=collected.ids)
    rows = metric.rows(collected.sample, options, work)

    def value(take: NDArray[np.int64]) -> dict[str, float]:
        return metric.reduce(rows, np.sort(take), options, np.random.default_rng(0))

    parts = np.array_split(rng.permutation(count), groups)
    found = [value(part) for part in parts]
    shorter = [value(part + count) for part in parts]
    fewer = [[value(part[start::4]) for start in range(4)] for part in parts]
    changes = {}
    for each in metric.values(options):
        here = [one[each.name] for one in found]
        if each.relative or np.isnan(here).any():
            continue
        few = [float(np.mean([one[each.name] for one in four])) for four in fewer]
        changes[each.name] = (
            Change.of(few, here),
            Change.of([s[each.name] for s in shorter], here),
        )
    return changes


def moves(paths: list[str]) -> None:
    """A table of all values of all measures that work on plain texts."""
    texts = [sentences for path in paths for sentences in sentences_of(path)]
    rng = np.random.default_rng(0)
    chosen = [texts[number] for number in np.sort(rng.permutation(len(texts))[:TEXTS])]
    held = " ".join(sentence for own in texts[:40] for sentence in own)
    print(f"{len(chosen)} texts, {sum(map(len, chosen)):,} sentences")
    print("| measure | value | 4 x as many texts | 4 x as long texts | record |")
    print("| --- | --- | --- | --- | --- |")
    with TemporaryDirectory() as folder:
        corpus = Path(folder) / "corpus.txt"
        corpus.write_text(held)
        for name in sorted(plugins.members("measure")):
            metric = metric_of(name)
            asked = {field.name for field in fields(metric.options)} & {"corpus", "train"}
            options = metric.options(**dict.fromkeys(asked, str(corpus)))
            if any(need.field for need in metric.needs(options)):
                continue
            try:
                changes = measured_moves(name, options, chosen, GROUPS)
            except RoteError as error:
                print(f"| {name} | left out: {error} | | | |")
                continue
            for value in metric.values(options):
                if value.name not in changes:
                    continue
                said = " | ".join(
                    f"{100 * one.mean:+.2f} % ± {100 * one.error:.2f}{' *' if one.seen else ''}"
                    for one in changes[value.name]
                )
                print(f"| {name} | {value.name} | {said} | {value.moves} |", flush=True)


def sentences_of(path: str, least: int = SENTENCES, most: int = LONGEST) -> Iterator[list[str]]:
    """The texts of a file that are long enough to be quartered."""
    for document in open_corpus(path):
        (layer,) = [sentences.split([document.text], words.get(words.DEFAULT)([document.text]))]
        ends = layer.sentence_ends
        if ends is None or len(ends) < least:
            continue
        starts = np.concatenate((np.zeros(1, np.int64), ends[:-1]))
        spans = zip(layer.starts[starts].tolist(), layer.ends[ends - 1].tolist())
        yield [document.text[start:end] for start, end in spans][:most]


# Whole texts against parts


def parts(path: str, times: int) -> None:
    """Halves of one source's texts, one side cut: how often the test finds a difference."""
    texts = list(sentences_of(path))
    for name in ("lexical", "self-repetition", "compression", "templates"):
        metric = metric_of(name)
        options = metric.options()
        higher = {value.name: value.higher for value in metric.values(options)}
        for share in (2, 4):
            counts: dict[str, list[int]] = {}
            for number in range(times):
                for value, (p, gap) in _cut_against_whole(metric, options, texts, share, number):
                    own = counts.setdefault(value, [0, 0])
                    own[0] += p <= LEVEL
                    shorter_more_diverse = (gap > 0) == (higher[value] == "diverse")
                    own[1] += p <= LEVEL and shorter_more_diverse
            for value, (found, diverse) in counts.items():
                print(
                    f"| {name} | {value} | whole against 1/{share} | {found} of {times} | "
                    f"{diverse} |",
                    flush=True,
                )


def _cut_against_whole(
    metric: Metric, options: Any, texts: Texts, share: int, number: int
) -> Iterator[tuple[str, tuple[float, float]]]:
    rng = np.random.default_rng(number)
    order = rng.permutation(len(texts))
    half = len(texts) // 2
    whole = [" ".join(texts[t]) for t in order[:half]]
    cut = []
    for text in order[half : 2 * half]:
        size = max(1, len(texts[text]) // share)
        at = int(rng.integers(len(texts[text]) - size + 1))
        cut.append(" ".join(texts[text][at : at + size]))
    settings = Settings(reference="whole", permutations=99, interval=0, seed=number)
    result = compute({metric.name: options}, {"whole": whole, "cut": cut}, settings=settings)[0]
    for row in result.comparisons:
        if "matched_p" in row and not math.isnan(row["matched_p"]):
            yield row["value"], (row["matched_p"], row["matched_difference"])


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["level", *studies]:
            level(int(studies[0]) if studies else 400, studies[1:] or LEVEL_OF)
        case ["moves", *paths]:
            moves(paths or ["bible:kjv"])
        case ["parts", path, *times]:
            parts(path, int(times[0]) if times else 40)
        case _:
            sys.exit(__doc__)
