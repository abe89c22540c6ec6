"""Whether intervals and tests keep what they promise: every measure on null splits of real text.

    python benchmarks/levels.py                                 all measures, on the Bible
    python benchmarks/levels.py FILE --where is_human=True      ... on texts of one's own
    python benchmarks/levels.py FILE --measures lexical,style --splits 400 --texts 30

The texts of one kind of writer are drawn into two sources at random, again and again, so nothing
but chance sets them apart. The table says of every value in how many splits its 95 % interval held
the mean over all splits (of whole texts and, where sources are compared at equal size, there as
well), and in how many the test had p <= 0.05. `4.9 of 80 %`: in one split of
five the test could find nothing and says so, since too few texts hold what is counted. Then the
same of the test at equal length, where one source keeps whole texts and the other a part of each
(whole sentences at a random place) that is so many times shorter. `--texts 30,90` draws sources of
different size, the larger one longer; `--texts 30 --within` draws 30 doc_ids and gives each source
half of the texts of each. A share of N splits has a standard error of its own,
sqrt(0.05 * 0.95 / N) for 5 %. 39 permutations are enough for it: that at most one of them is as
far as what was observed has a probability of exactly 5 %.

Of measures that list patterns the table says in how many splits anything in the list had a
corrected p <= 0.05, which is what they promise to hold to 5 %.

Measures that hold texts against a corpus get the texts that --held keeps back; those that need a
field of the records take it from FILE, and those that ask a model the --model. Options follow the
name of a measure: `--measures keyness:of=patterns,score:scores=rouge+cosine`. Texts are read and
annotated once for all measures, and --jobs processes share the splits of each.

Many processes can share the work: --first says with which split a part begins, -o appends one line
of JSON for each measure and split, and --sum makes the table of the lines of all parts:

    python benchmarks/levels.py FILE --measures lexical --first 40 --splits 20 -o part-2.jsonl
    python benchmarks/levels.py --sum part-*.jsonl
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from rote.annotate import sentences, words
from rote.compare.permutation import PermutedTest
from rote.core import plugins
from rote.core.document import Document
from rote.core.errors import OptionError, RoteError
from rote.core.metric import Metric, Work
from rote.core.progress import Silent
from rote.core.sample import Need, Sample, Take
from rote.corpus import ReadOptions, open_corpus
from rote.measure import Settings
from rote.measure.driver.collection import CollectedTexts, collect_texts
from rote.measure.driver.equal_lengths import match_lengths
from rote.measure.driver.facets import measure_facets
from rote.measure.driver.pipeline import layer_signatures
from rote.run import Engine, Shared, get

LEVEL = 0.05
LISTS = {
    "keyness": "phrases",
    "keyness:of=patterns": "grammar",
    "templates": "distinctive",
}
"""Tables whose p-values hold for the whole list; so many permutations make them small enough."""
LISTED = 99
BY_TEXT = ("contamination", "novelty", "originality", "perplexity", "score", "style")
"""Measures that look at each text by itself and long: all texts are looked at once."""
WITH_CORPUS = ("contamination", "novelty", "originality", "overlap")
"""Measures that hold texts against a corpus, in place of one another."""
RATIOS = (1, 4, 10)
SENTENCES = 20
"""Of each text at most so many are read: what is shorter than half of that is left out."""


@dataclass(frozen=True, slots=True)
class Pool:
    """Texts to draw from, whole and cut: part `k` of text `t` is text `k * count + t`."""

    collected: CollectedTexts
    count: int

    def split(self, sizes: tuple[int, int], ratio: int, seed: int, within: bool) -> dict[str, Take]:
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
        part = self.count * RATIOS.index(ratio)
        return {"one": np.sort(one) + part, "other": np.sort(other)}


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


def cuts(metric: Metric) -> bool:
    """Whether texts are compared at equal length, so that parts of them are needed."""
    return metric.match in ("words", "sentences")


def pool_of(
    needs: Sequence[Need],
    ratios: Sequence[int],
    documents: Sequence[Document],
    most: int,
    engine: Engine,
) -> Pool:
    """The texts and parts of them, with all layers that any measure needs."""
    cut = [(d, own) for d in documents if (own := pieces(d, ratios, most)) is not None]
    made = [
        Document(f"{number} {document.id}", own[number], dict(document.meta))
        for number in range(len(ratios))
        for document, own in cut
    ]
    collected = collect_texts(
        open_corpus(made),
        needs,
        settings=Settings(),
        engine=engine,
        reporter=Silent(),
    )
    return Pool(collected, len(cut))


@dataclass(frozen=True, slots=True)
class Asked:
    """How sources are drawn, and how they are tested."""

    sizes: tuple[int, int]
    within: bool
    permutations: int


@dataclass(frozen=True, slots=True)
class Measure:
    """What is measured, of which texts; `rows` are those of all of them, where there are such."""

    name: str
    """With its options, as they were asked for."""
    options: Any
    pool: Pool
    asked: Asked
    rows: Any = None

    @property
    def metric(self) -> Metric:
        """Without tables that nothing here looks at; with the rows that are known."""
        found = metric_of(self.name)
        if self.name not in LISTS:
            found = replace(found, tables=None)
        if self.rows is None:
            return found

        def rows(sample: Sample, options: Any, work: Work) -> Any:
            known = sample is self.pool.collected.sample
            return self.rows if known else found.rows(sample, options, work)

        return replace(found, rows=rows)

    def part(self, ratio: int, seed: int) -> CollectedTexts:
        groups = self.pool.split(self.asked.sizes, ratio, seed, self.asked.within)
        if self.rows is None:
            return self.pool.collected.chosen(groups)
        return replace(self.pool.collected, groups=groups)


@dataclass(frozen=True, slots=True)
class Split:
    """By value of one split: estimates, whether an interval is there and which, and p-values."""

    measure: str
    number: int
    estimates: list[dict[str, float]]
    intervals: list[dict[str, tuple[float, float]]]
    """None of what depends on the other source: it has no mean over all splits to hold."""
    p: dict[str, float]
    at_equal_size: dict[str, dict[str, float]]
    """By ratio of length."""
    matched: list[dict[str, tuple[float, float, float]]]
    """The values at equal size of the two whole sources, with the ends of their intervals."""
    listed: float | None
    """The smallest corrected p of a list, where there is any."""
    seconds: float
    """Of processor time."""


def split(measured: Shared[Measure], seed: int) -> Split:
    this, began = measured.value, time.process_time()
    metric, options, count = this.metric, this.options, this.asked.permutations
    if this.name in LISTS:
        count = max(count, LISTED)
    settings = Settings(reference="other", permutations=count, seed=seed, matched=cuts(metric))
    result, tests = measure_facets(
        metric,
        options,
        this.part(1, seed),
        settings=settings,
        tokenizers=layer_signatures(metric.needs(options), settings, open_corpus(["any"])),
        reporter=Silent(),
    )
    equal = {}
    for ratio in RATIOS if cuts(metric) else RATIOS[:1]:
        if metric.match is not None:
            equal[str(ratio)] = at_equal_size(metric, options, this.part(ratio, seed), count, seed)
    listing = result.tables[LISTS[this.name]] if this.name in LISTS else ()
    listed = [row["p_corrected"] for row in listing]
    relative = {value.name for value in metric.values(options) if value.relative}
    sources = result.by_source.values()
    return Split(
        this.name,
        seed,
        [
            {value.name: own.values[value.name] for value in metric.values(options)}
            for own in sources
        ],
        [
            {name: ends for name, ends in own.intervals.items() if name not in relative}
            for own in sources
        ],
        {value: p_of(test) for (_, _, value, _), test in tests.items()},
        equal,
        matched_values(result.tables.get("matched", ()), relative),
        float(np.nanmin(listed)) if listed and not np.isnan(listed).all() else None,
        time.process_time() - began,
    )


def matched_values(
    rows: Sequence[dict[str, Any]], relative: set[str]
) -> list[dict[str, tuple[float, float, float]]]:
    """None of what depends on the other source."""
    by_source: dict[str, dict[str, tuple[float, float, float]]] = {}
    for row in rows:
        if row["value"] not in relative:
            own = by_source.setdefault(row["source"], {})
            own[row["value"]] = row["mean"], row["low"], row["high"]
    return list(by_source.values())


def at_equal_size(
    metric: Metric, options: Any, part: CollectedTexts, permutations: int, seed: int
) -> dict[str, float]:
    """The p-values of the test at equal length or number."""
    work = Work(groups=part.groups, reference="other", ids=part.ids, strata=part.strata, seed=seed)
    rows = metric.rows(part.sample, options, work)
    equal, _ = match_lengths(metric, options, part.sample, rows, work, part.order)
    if equal is None:
        return {}
    found = equal.test("one", "other", equal.by_source(), permutations, lambda amount: None)
    return {value: p_of(test) for value, test in found.items()}


def p_of(test: PermutedTest) -> float:
    """Not corrected; 1 and more where no p could have been small."""
    return test.p if test.least <= LEVEL else 1 + test.p


def table(found: Sequence[Split]) -> Iterator[str]:
    """A line for every value of a measure."""
    name = found[0].measure
    for value in dict.fromkeys(value for s in found for own in s.estimates for value in own):
        each = [
            (own.get(value, math.nan), *ends[value])
            for s in found
            for own, ends in zip(s.estimates, s.intervals)
            if value in ends
        ]
        matched = [own[value] for s in found for own in s.matched if value in own]
        held, held_at_equal_size = hits(each), hits(matched)
        equal = ([s.at_equal_size.get(str(r), {}) for s in found] for r in RATIOS)
        every = [s.p for s in found], *equal
        tests = [alarms([own.get(value, math.nan) for own in p]) for p in every]
        if held or any(tests):
            shares = percent(held), percent(held_at_equal_size)
            columns = (name, f"`{value}`", len(found), *shares, *tests)
            yield f"| {' | '.join(map(str, columns))} |"
    if name in LISTS:
        listed = percent([s.listed is not None and s.listed <= LEVEL for s in found])
        columns = (name, f"anything in `{LISTS[name]}`", len(found), "", "", listed)
        yield f"| {' | '.join(map(str, columns))} |{'  |' * len(RATIOS)}"


def print_tables(found: Sequence[Split]) -> None:
    heads = ("measure", "value", "splits", "intervals that hold", "at equal size", "p <= 0.05")
    heads += tuple(f"equal size, ratio {ratio}" for ratio in RATIOS)
    print(f"| {' | '.join(heads)} |\n|{' --- |' * len(heads)}")
    for name in dict.fromkeys(split.measure for split in found):
        # A part that was run twice counts once.
        of_measure = {split.number: split for split in found if split.measure == name}
        print("\n".join(table([of_measure[number] for number in sorted(of_measure)])), flush=True)


def read_parts(paths: Sequence[str]) -> Iterator[Split]:
    for path in paths:
        with open(path, encoding="utf-8") as file:
            yield from (Split(**json.loads(line)) for line in file)


def alarms(p: Sequence[float]) -> str:
    """Among the tests that could have found something, and how many these are if not all."""
    defined = [own for own in p if not math.isnan(own)]
    tests = [own <= LEVEL for own in defined if own <= 1]
    some = f" of {100 * len(tests) / len(p):.0f} %" if len(tests) < len(p) else ""
    return percent(tests) + some if defined else ""


def hits(rows: Sequence[tuple[float, float, float]]) -> list[bool]:
    """Whether the intervals hold the mean of the values."""
    target = float(np.nanmean([row[0] for row in rows])) if rows else math.nan
    return [low <= target <= high for _, low, high in rows if not math.isnan(low)]


def percent(hits: Sequence[bool]) -> str:
    return f"{100 * np.mean(hits):.1f}" if hits else "–"


def documents_of(paths: Sequence[str], where: str) -> list[Document]:
    read = ReadOptions(where=(where,)) if where else ReadOptions()
    return [
        replace(document, meta=dict(document.meta)) for document in open_corpus(list(paths), read)
    ]


def metric_of(name: str) -> Metric:
    found: Metric = plugins.load("measure", name.partition(":")[0]).METRIC
    return found


def options_of(name: str, corpus: str, model: str, fields_held: set[str]) -> Any:
    """Of a measure that these texts and the model are enough for."""
    metric, (base, _, settings) = metric_of(name), name.partition(":")
    given: dict[str, Any] = {
        f.name: corpus
        for f in fields(metric.options)
        if f.name in ("corpus", "train") and base in WITH_CORPUS
    }
    for setting in filter(None, settings.split(":")):
        option, _, value = setting.partition("=")
        several = isinstance(getattr(metric.options(), option), tuple)
        given[option] = tuple(value.split("+")) if several else value
    if base == "perplexity":
        if not model:
            raise OptionError("no --model to ask")
        given["model"] = model
    options = metric.options(**given)
    if metric.settle:
        options = metric.settle(options, fields_held)
    missing = {need.field for need in metric.needs(options) if need.field} - fields_held
    if missing:
        raise OptionError(f"the records have no field {', '.join(map(str, sorted(missing)))}")
    return options


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("inputs", nargs="*", default=["bible:kjv"], metavar="FILE")
    parser.add_argument("--where", default="", metavar="FIELD=VALUE")
    parser.add_argument("--measures", default=",".join(sorted(plugins.members("measure"))))
    parser.add_argument("--splits", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, metavar="NUMBER")
    parser.add_argument("--texts", default="40", metavar="N[,M]")
    parser.add_argument("--within", action="store_true")
    parser.add_argument("--permutations", type=int, default=39)
    parser.add_argument("--sentences", type=int, default=SENTENCES)
    parser.add_argument("--held", type=int, default=100)
    parser.add_argument("--model", default="")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("-o", "--output")
    parser.add_argument("--sum", action="store_true", help="inputs are the outputs of parts")
    asked = parser.parse_args()
    found = list(read_parts(asked.inputs) if asked.sum else run_splits(asked))
    print_tables(found)


def run_splits(asked: argparse.Namespace) -> Iterator[Split]:
    """Every split of every measure; appended to the output as soon as it is there."""
    first, *more = map(int, asked.texts.split(","))
    how = Asked((first, more[0] if more else first), asked.within, asked.permutations)
    documents = documents_of(asked.inputs, asked.where)
    # What texts are held against is none of them.
    kept = np.random.default_rng(0).permutation(len(documents))
    held = [documents[number] for number in kept[: asked.held]]
    drawn = [documents[number] for number in np.sort(kept[asked.held :])]
    with TemporaryDirectory() as folder:
        corpus = Path(folder) / "corpus.txt"
        corpus.write_text("\n".join(document.text for document in held))
        chosen = {}
        for name in asked.measures.split(","):
            try:
                fields_held = set(documents[0].meta)
                chosen[name] = options_of(name, str(corpus), asked.model, fields_held)
            except RoteError as error:
                print(f"{name} is left out: {error}", file=sys.stderr, flush=True)
        metrics = {name: metric_of(name) for name in chosen}
        needs = [need for name, own in chosen.items() for need in metrics[name].needs(own)]
        ratios = RATIOS if any(map(cuts, metrics.values())) else RATIOS[:1]
        began = time.process_time()
        engine = get(jobs=asked.jobs)
        pool = pool_of(needs, ratios, drawn, asked.sentences, engine)
        print(f"texts: {time.process_time() - began:.0f} s of processor time", file=sys.stderr)
        for name, options in chosen.items():
            rows, began = None, time.process_time()
            if name.partition(":")[0] in BY_TEXT:
                rows = metrics[name].rows(pool.collected.sample, options, Work())
            measured = Measure(name, options, pool, how, rows)
            print(f"{name}: rows {time.process_time() - began:.0f} s", file=sys.stderr, flush=True)
            one = partial(split, engine.share(measured))
            numbers = range(asked.first, asked.first + asked.splits)
            for result in engine.map(one, numbers, doing="measuring splits"):
                if asked.output:
                    with open(asked.output, "a", encoding="utf-8") as file:
                        file.write(json.dumps(asdict(result)) + "\n")
                print(
                    f"{name} {result.number}: {result.seconds:.1f} s of processor time",
                    file=sys.stderr,
                    flush=True,
                )
                yield result


if __name__ == "__main__":
    main()
