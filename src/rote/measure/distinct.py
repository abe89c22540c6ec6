"""Distinct answers to a prompt: how many a source gives, and how useful they are together.

Answers to one prompt (texts with the same `doc_id`) are put into classes, in the order in which
they come: an answer is new unless it is similar to an earlier new one. `distinct` is the number of
classes among the first k answers, the mean over prompts (distinct_k of Zhang et al. 2025,
NoveltyBench). With --quality, a field that says how good each answer is, `utility` is what a reader
gets who goes on to the next answer with probability --patience: the mean of the quality of new
answers, with 0 for others, weighted by patience ** 0, 1, 2, ... (utility_k).

Like may be told by any partition: a field of the records (--partition), or a likeness above a
threshold: ROUGE-L (near duplicates), shared runs of words, shared patterns of tags, or the cosine
of embeddings.

Direction: higher is more diverse. Length: with k fixed it does not matter how many prompts there
are; without `doc_id` all texts of a source answer one prompt, and `distinct` grows with them.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rote.annotate import embeddings
from rote.compare.intervals import mean, mean_error
from rote.compare.resampling import rank_in_groups
from rote.core.arrays import Array, Flags, Floats, Integers
from rote.core.chart import Chart
from rote.core.errors import InputError, OptionError
from rote.core.metric import Comparison, Metric, OptionSet, Value, Values, Work, option, owners
from rote.core.progress import several
from rote.core.record import Headline
from rote.core.result import Row
from rote.core.sample import Need, RawText, Sample, Take
from rote.core.table import Column, Pivot, Table
from rote.measure import _sentences as meaning
from rote.measure._likeness import ABOVE, Likeness, scored, within_sets


@dataclass(frozen=True, slots=True)
class Options(OptionSet):
    partition: str | None = option(
        None,
        "field with the class of each answer: answers of one class are the same",
        metavar="FIELD",
    )
    like: Literal["rouge_l", "runs", "templates", "cosine"] = option(
        "rouge_l", "similarity that decides which answers are the same, without --partition"
    )
    above: float | None = option(
        None,
        "threshold of similarity above which answers are the same; default: "
        + ", ".join(f"{name} {least}" for name, least in ABOVE.items()),
    )
    k: int | None = option(
        None,
        "number of answers per prompt, from the first on; default: as many as most prompts have",
        short="-k",
        least=2,
        most=10_000,
    )
    quality: str | None = option(
        None, "field with the quality of each answer, a number: gives utility", metavar="FIELD"
    )
    patience: float = option(
        0.8, "probability that a reader looks at one more answer", above=0, most=1
    )
    embedder: str = option(embeddings.DEFAULT, "embedder for the cosine", sign=meaning.signed)

    @property
    def how(self) -> Likeness:
        return Likeness((self.like,), embedder=self.embedder)

    @property
    def threshold(self) -> float:
        return ABOVE[self.like] if self.above is None else self.above

    def signed(self) -> dict[str, object]:
        """What was not asked for is not named; the default threshold is."""
        like = None if self.partition else self.like
        return {
            "like": like,
            "above": self.threshold if like else None,
            "embedder": meaning.signed(self.embedder) if like == "cosine" else None,
            "patience": self.patience if self.quality else None,
        }


@dataclass(frozen=True, slots=True)
class Answers:
    """Which texts of a set are the same: text t is row and column `place[t]` of the square that
    begins at `begin[t]` of `same` and is `width[t]` wide."""

    sets: Integers
    place: Integers
    begin: Integers
    width: Integers
    same: Flags
    quality: Floats | None
    k: int
    prompts: bool


def values(options: Options) -> tuple[Value, ...]:
    values = [Value("distinct", "distinct answers", "diverse", "texts")]
    if options.quality:
        values.append(Value("utility", "utility", "diverse", "neither"))
    return tuple(values)


def needs(options: Options) -> tuple[Need, ...]:
    layers = [Need("word")] if options.partition else [*options.how.needs]
    fields = (options.partition, options.quality)
    return (*layers, *(Need("text", field=field) for field in fields if field))


def check(options: Options, signature: str) -> None:
    if not options.partition and options.like == "cosine":
        meaning.check(options.embedder)


def rows(sample: Sample, options: Options, work: Work) -> Answers:
    count = len(sample)
    prompts = len(work.strata) == count and bool((work.strata >= 0).any())
    sets = work.strata if prompts else np.zeros(count, np.int64)
    sizes = _sizes(sets, owners(work.sources(count), count))
    if prompts and sizes.max(initial=0) < 2:
        raise OptionError(
            "distinct counts distinct answers to one prompt, but no doc_id has two texts of one "
            "source"
        )
    place, begin, width, total = _squares(sets)
    same = np.zeros(total, np.bool_)
    pairs = within_sets(sets, np.arange(count, dtype=np.int64))
    if options.partition:
        classes = np.unique(sample.text(options.partition).strings(), return_inverse=True)[1]
        alike = classes[pairs.first] == classes[pairs.second]
    else:
        # Undefined: too short to be scored, and then the same only if it holds the same items.
        score = scored(sample, options.how, pairs, work)[options.like]
        alike = score > options.threshold
        unknown = np.isnan(score)
        alike[unknown] = _is_equal(sample, options, pairs.first[unknown], pairs.second[unknown])
    for first, second in ((pairs.first, pairs.second), (pairs.second, pairs.first)):
        same[begin[first] + place[first] * width[first] + place[second]] = alike
    quality = _numbers(sample.text(options.quality), options.quality) if options.quality else None
    k = options.k or int(statistics.multimode(sorted(sizes[sizes > 1].tolist()) or [1])[-1])
    return Answers(sets, place, begin, width, same, quality, k, prompts)


def reduce(rows: Answers, take: Take, options: Options, rng: np.random.Generator) -> Values:
    return {name: mean(column) for name, column in _by_prompt(rows, take, options)[1].items()}


def standard_errors(rows: Answers, take: Take, options: Options) -> Values:
    by_prompt = _by_prompt(rows, take, options)[1]
    return {name: mean_error(column) for name, column in by_prompt.items()}


def units(rows: Answers, take: Take, options: Options) -> dict[str, int]:
    prompts = len(_by_prompt(rows, take, options)[0])
    return {value.name: prompts for value in values(options)}


def _by_prompt(rows: Answers, take: Take, options: Options) -> tuple[Integers, dict[str, Floats]]:
    """The values of every prompt with k answers, and the prompts."""
    texts = np.sort(take)
    texts = texts[rows.sets[texts] >= 0]
    texts = texts[np.argsort(rows.sets[texts], kind="stable")]
    prompts = rows.sets[texts]
    starts = np.flatnonzero(np.append(True, np.diff(prompts) != 0)) if len(prompts) else prompts
    counts = np.diff(np.append(starts, len(prompts)))
    starts = starts[counts >= rows.k]
    answers = texts[starts[:, None] + np.arange(rows.k)]
    new = _is_new(rows, answers)
    by_value = {"distinct": new.sum(axis=1).astype(np.float64)}
    if rows.quality is not None:
        weights = options.patience ** np.arange(rows.k)
        by_value["utility"] = (new * rows.quality[answers]) @ weights / weights.sum()
    return prompts[starts], by_value


def _is_new(rows: Answers, answers: Array) -> Flags:
    """By prompt and answer, whether it is like none that was new before."""
    new = np.ones(answers.shape, np.bool_)
    row = rows.begin[answers] + rows.place[answers] * rows.width[answers]
    for number in range(1, answers.shape[1]):
        before = rows.place[answers[:, :number]]
        like = rows.same[row[:, number, None] + before]
        new[:, number] = ~(like & new[:, :number]).any(axis=1)
    return new


def notes(rows: Answers, take: Take, options: Options) -> list[str]:
    lines = [f"the first {several(rows.k, 'answer')} to each prompt"]
    if not rows.prompts:
        lines = ["the texts have no doc_id: all texts of a source count as answers to one prompt"]
    prompts = rows.sets[take]
    used, _ = _by_prompt(rows, take, options)
    every = np.unique(prompts[prompts >= 0])
    if fewer := len(every) - len(used):
        lines.append(f"left out: {fewer:,} of {len(every):,} prompts with fewer answers")
    if alone := int((prompts < 0).sum()):
        lines.append(f"left out: {several(alone, 'text')} without doc_id")
    return lines


def tables(rows: Answers, comparison: Comparison, options: Options) -> Mapping[str, Sequence[Row]]:
    """How many prompts have 1, 2, 3, ... distinct answers."""
    table: list[Row] = []
    for source, take in comparison.groups.items():
        used, by_value = _by_prompt(rows, take, options)
        if len(used):
            counts = np.bincount(by_value["distinct"].astype(np.int64), minlength=rows.k + 1)[1:]
            table += [
                {"source": source, "distinct": number, "prompts": int(prompts)}
                | {"share": float(prompts / len(used))}
                for number, prompts in enumerate(counts, 1)
            ]
    return {"prompts": table} if rows.prompts and table else {}


def _sizes(sets: Integers, source: Integers) -> Integers:
    """How many texts every source has of every set."""
    known = (sets >= 0) & (source >= 0)
    return np.unique(np.stack((source[known], sets[known])), axis=1, return_counts=True)[1]


def _squares(sets: Integers) -> tuple[Integers, Integers, Integers, int]:
    """Place of each text in its set, where the square of its set begins, and how wide it is."""
    order = np.argsort(sets, kind="stable")
    begins = np.flatnonzero(np.append(True, np.diff(sets[order]) != 0))
    sizes = np.diff(np.append(begins, len(sets)))
    widths = np.where(sets[order[begins]] >= 0, sizes, 0)
    if int((widths**2).sum()) > 4_000_000_000:
        raise OptionError(
            "too many answers to one prompt to compare all: reduce them with --sample"
        )
    place = rank_in_groups(order, sets)
    begin, width = np.empty(len(sets), np.int64), np.empty(len(sets), np.int64)
    begin[order] = np.repeat(np.cumsum(widths**2) - widths**2, sizes)
    width[order] = np.repeat(widths, sizes)
    return place, begin, width, int((widths**2).sum())


def _is_equal(sample: Sample, options: Options, first: Integers, second: Integers) -> Flags:
    layer = sample.layer(options.how.needs[0])
    items = [[layer.ids[layer.slice(text)] for text in side.tolist()] for side in (first, second)]
    return np.array(list(map(np.array_equal, *items)), np.bool_)


def _numbers(raw: RawText, field: str) -> Floats:
    numbers = np.empty(len(raw))
    for number, string in enumerate(raw.strings()):
        try:
            numbers[number] = float(string)
        except ValueError:
            problem = f"the quality of an answer is not a number: {string!r}"
            raise InputError(problem, field=field) from None
    return numbers


METRIC = Metric(
    name="distinct",
    title="Distinct answers to a prompt",
    values=values,
    needs=needs,
    options=Options,
    rows=rows,
    reduce=reduce,
    standard_errors=standard_errors,
    units=units,
    interval_method="jackknife over prompts",
    citation=(
        "Zhang, Diddee, Holm, Liu, Liu, Samuel, Wang and Ippolito (2025), NoveltyBench: Evaluating "
        "Creativity and Diversity in Language Models"
    ),
    match=None,
    embeds=lambda options: not options.partition and options.like == "cosine",
    notes=notes,
    tables=tables,
    check=check,
    inputs=False,
    order_matters=True,
    layout=(
        Table(
            "prompts",
            "Prompts by how many distinct answers they have",
            (Column("distinct", "distinct answers"),),
            pivot=Pivot("source", Column("share", kind="share")),
            limit=20,
        ),
    ),
    charts=(
        Chart(
            "prompts",
            "Prompts by how many distinct answers they have",
            table="prompts",
            shape="lines",
            x="distinct",
            y="share",
            colour="source",
            titles={"distinct": "distinct answers", "share": "share of prompts"},
            scales={"distinct": "ordinal"},
            share=True,
            says="For each source, the share of prompts with one, two, three, ... different "
            "answers.",
        ),
    ),
    says="How many distinct answers a source gives to one prompt.",
    section="diversity",
    place=66,
    main=("distinct",),
    headlines=(
        Headline(
            "distinct",
            "gives more distinct answers to a prompt",
            "gives fewer distinct answers to a prompt",
        ),
    ),
    method=lambda s: (
        "Distinct answers are counted among the answers of a source to the same prompt"
        + (f", as classified by the field {s['partition']}" if s["partition"] != "None" else "")
        + "; an answer is new unless it is similar to an earlier new one"
    ),
    report=lambda context: context.lacks_prompts() or {},
)
