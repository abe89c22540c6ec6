"""Whether intervals and tests keep what they promise: every measure on null splits of real text.

    python benchmarks/levels.py                                 all measures, on the Bible
    python benchmarks/levels.py FILE --where is_human=True      ... on texts of one's own
    python benchmarks/levels.py FILE --measures lexical,style --splits 400 --texts 30

The texts of one kind of writer are drawn into two sources at random, again and again, so nothing
but chance sets them apart. The table says of every value in how many splits its 95 % interval held
the mean over all splits, and in how many the test had p <= 0.05. `4.9 of 80 %`: in one split of
five the test could find nothing and says so, since too few texts hold what is counted. Then the
same of the test at equal length, where one source keeps whole texts and the other a part of each
(whole sentences at a random place) that is so many times shorter. `--texts 30,90` draws sources of
different size, the larger one longer; `--texts 30 --within` draws 30 doc_ids and gives each source
half of the texts of each. A share of N splits has a standard error of its own,
sqrt(0.05 * 0.95 / N) for 5 %.

Measures that hold texts against a corpus get the texts that --held keeps back; those that need a
field of the records take it from FILE.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from rote.annotate import sentences, words
from rote.compare.permutation import PermutedTest
from rote.core import plugins
from rote.core.document import Document
from rote.core.errors import RoteError
from rote.core.metric import Metric, Work
from rote.core.progress import Silent
from rote.corpus import ReadOptions, open_corpus
from rote.measure import Settings
from rote.measure._collect import Collected, collect
from rote.measure._facets import measure_facets
from rote.measure._flow import signatures_of
from rote.measure._matched import matched
from rote.measure._prepare import Fields, Words
from rote.run import get

LEVEL = 0.05
RATIOS = (1, 4, 10)
SENTENCES = 20
"""Of each text at most so many are read: what is shorter than half of that is left out."""
WORDS = Words("ud", "rote")


@dataclass(frozen=True, slots=True)
class Pool:
    """Texts to draw from, whole and cut: part `k` of text `t` is text `k * count + t`."""

    collected: Collected
    count: int
    ratios: tuple[int, ...]

    def split(self, sizes: tuple[int, int], ratio: int, seed: int, within: bool) -> Collected:
        """Two sources of different texts, those of the second whole."""
        rng = np.random.default_rng(seed)
        if within:
            prompts = self.collected.strata[: self.count]
            names, counts = np.unique(prompts[prompts >= 0], return_counts=True)
            drawn = rng.permutation(names[counts > 1])[: sizes[0]]
            own = [rng.permutation(np.flatnonzero(prompts == name)) for name in drawn]
            one = np.concatenate([texts[: len(texts) // 2] for texts in own])
            other = np.concatenate([texts[len(texts) // 2 :] for texts in own])
        else:
            one, other = np.split(rng.permutation(self.count)[: sum(sizes)], [sizes[0]])
        part = self.count * self.ratios.index(ratio)
        return self.collected.chosen({"one": np.sort(one) + part, "other": np.sort(other)})


def pieces(document: Document, ratios: Sequence[int], most: int) -> list[str] | None:
    """A text's first sentences, and runs of these that are so many times shorter."""
    layer = sentences.split([document.text], words.get(words.DEFAULT)([document.text]))
    ends = layer.sentence_ends
    if ends is None or len(ends) < most // 2:
        return None
    ends = ends[:most]
    begins = layer.starts[np.concatenate((np.zeros(1, np.int64), ends[:-1]))]
    stops = layer.ends[ends - 1]
    rng = np.random.default_rng([len(document.text), len(ends)])
    found = []
    for ratio in ratios:
        size = max(1, len(ends) // ratio)
        first = int(rng.integers(len(ends) - size + 1))
        found.append(document.text[begins[first] : stops[first + size - 1]])
    return found


def pool_of(metric: Metric, options: Any, documents: Sequence[Document], most: int) -> Pool:
    """The texts with the layers that a measure needs; parts of them where it takes windows."""
    ratios = RATIOS if metric.match in ("words", "sentences") else RATIOS[:1]
    cut = [(d, own) for d in documents if (own := pieces(d, ratios, most)) is not None]
    made = [
        Document(f"{number} {document.id}", own[number], dict(document.meta))
        for number in range(len(ratios))
        for document, own in cut
    ]
    collected = collect(
        open_corpus(made),
        metric.needs(options),
        words=WORDS,
        fields=Fields((), None, None),
        engine=get(),
        reporter=Silent(),
    )
    return Pool(collected, len(cut), ratios)


@dataclass(frozen=True, slots=True)
class Asked:
    """How sources are drawn, and how they are tested."""

    sizes: tuple[int, int]
    within: bool
    permutations: int


@dataclass(frozen=True, slots=True)
class Split:
    """By value of one split: estimates, whether an interval is there and which, and p-values."""

    estimates: list[dict[str, float]]
    intervals: list[dict[str, tuple[float, float]]]
    p: dict[str, float]
    at_equal_size: dict[int, dict[str, float]]


def split(metric: Metric, options: Any, pool: Pool, asked: Asked, seed: int) -> Split:
    settings = Settings(
        reference="other", permutations=asked.permutations, seed=seed, matched=False
    )
    needs = metric.needs(options)
    part = pool.split(asked.sizes, 1, seed, asked.within)
    result, tests = measure_facets(
        metric,
        options,
        part,
        settings=settings,
        tokenizers=signatures_of(needs, WORDS, open_corpus(["any"])),
        reporter=Silent(),
    )
    equal = {}
    if metric.match is not None:
        for ratio in pool.ratios:
            part = pool.split(asked.sizes, ratio, seed, asked.within)
            equal[ratio] = at_equal_size(metric, options, part, asked.permutations, seed)
    return Split(
        [dict(source.values) for source in result.sources.values()],
        [dict(source.intervals) for source in result.sources.values()],
        {value: p_of(test) for (_, _, value, _), test in tests.items()},
        equal,
    )


def at_equal_size(
    metric: Metric, options: Any, part: Collected, permutations: int, seed: int
) -> dict[str, float]:
    """The p-values of the test at equal length or number."""
    work = Work(groups=part.groups, reference="other", ids=part.ids, strata=part.strata, seed=seed)
    rows = metric.rows(part.sample, options, work)
    equal, _ = matched(metric, options, part.sample, rows, work, part.order)
    if equal is None:
        return {}
    found = equal.test("one", "other", equal.by_source(), permutations, lambda amount: None)
    return {value: p_of(test) for value, test in found.items()}


def p_of(test: PermutedTest) -> float:
    """Not corrected; 1 and more where no p could have been small."""
    return test.p if test.least <= LEVEL else 1 + test.p


def table(metric: Metric, options: Any, found: Sequence[Split]) -> Iterator[str]:
    """A line for every value."""
    for value in metric.values(options):
        name = value.name
        estimates = np.array([own.get(name, math.nan) for s in found for own in s.estimates])
        target = float(np.nanmean(estimates)) if not np.isnan(estimates).all() else math.nan
        held = [
            low <= target <= high
            for one in found
            for own in one.intervals
            # What depends on the other source has no mean over all splits to hold.
            if name in own and not value.relative
            for low, high in [own[name]]
        ]
        every = [s.p for s in found], *([s.at_equal_size.get(r, {}) for s in found] for r in RATIOS)
        cells = [percent(held), *(alarms([own.get(name, math.nan) for own in p]) for p in every)]
        yield f"| {metric.name} | `{name}` | {' | '.join(cells)} |"


def alarms(p: Sequence[float]) -> str:
    """Among the tests that could have found something, and how many these are if not all."""
    defined = [own for own in p if not math.isnan(own)]
    tests = [own <= LEVEL for own in defined if own <= 1]
    some = f" of {100 * len(tests) / len(p):.0f} %" if len(tests) < len(p) else ""
    return percent(tests) + some if defined else ""


def percent(hits: Sequence[bool]) -> str:
    return f"{100 * np.mean(hits):.1f}" if hits else "–"


def documents_of(path: str, where: str) -> list[Document]:
    read = ReadOptions(where=(where,)) if where else ReadOptions()
    return [replace(document, meta=dict(document.meta)) for document in open_corpus(path, read)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file", nargs="?", default="bible:kjv")
    parser.add_argument("--where", default="", metavar="FIELD=VALUE")
    parser.add_argument("--measures", default=",".join(sorted(plugins.members("measure"))))
    parser.add_argument("--splits", type=int, default=200)
    parser.add_argument("--texts", default="40", metavar="N[,M]")
    parser.add_argument("--within", action="store_true")
    parser.add_argument("--permutations", type=int, default=99)
    parser.add_argument("--sentences", type=int, default=SENTENCES)
    parser.add_argument("--held", type=int, default=100)
    asked = parser.parse_args()
    first, *more = map(int, asked.texts.split(","))
    sizes = (first, more[0] if more else first)
    how = Asked(sizes, asked.within, asked.permutations)
    documents = documents_of(asked.file, asked.where)
    # What texts are held against is none of them.
    kept = np.random.default_rng(0).permutation(len(documents))
    held = [documents[number] for number in kept[: asked.held]]
    drawn = [documents[number] for number in np.sort(kept[asked.held :])]
    heads = ("measure", "value", "intervals that hold", "p <= 0.05")
    heads += tuple(f"at equal size, {ratio} times as long" for ratio in RATIOS)
    print(f"| {' | '.join(heads)} |\n|{' --- |' * len(heads)}")
    with TemporaryDirectory() as folder:
        corpus = Path(folder) / "corpus.txt"
        corpus.write_text("\n".join(document.text for document in held))
        for name in asked.measures.split(","):
            # Tables take long, and nothing here looks at them.
            metric: Metric = replace(plugins.load("measure", name).METRIC, tables=None)
            given = {f.name for f in fields(metric.options)} & {"against", "train"}
            try:
                options = metric.options(**dict.fromkeys(given, str(corpus)))
                pool = pool_of(metric, options, drawn, asked.sentences)
                found = [split(metric, options, pool, how, seed) for seed in range(asked.splits)]
            except RoteError as error:
                print(f"| {name} | left out: {error} |{' |' * 5}", flush=True)
                continue
            print("\n".join(table(metric, options, found)), flush=True)


if __name__ == "__main__":
    main()
