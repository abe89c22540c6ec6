"""How alike different sources write: pairs of texts that answer the same prompt.

Texts with the same `doc_id` are compared pair by pair, those of every two sources: ROUGE-L F, the
share of words in runs of 5 words that both texts hold (`runs`), the share of words in patterns of
6 tags that both hold (`templates`), and the cosine of embeddings. A value is the mean over prompts
of the mean over pairs; intervals are over prompts. Beside it is what pairs of texts on different
prompts give, by chance as it were, and the share of pairs above a threshold. Sources are joined to
a tree by their likeness. Without a `doc_id` all texts are compared with all.

A source with itself (`_own`) is what `rote homogenization --within doc_id` gives, and without
`doc_id` what `rote homogenization` gives.

Direction: higher is more alike. Length: longer texts score higher, so that sources of different
length compare by the first words of each (--words); how many prompts there are does not matter.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from rote.annotate import embeddings
from rote.compare.intervals import interval_from_error, left_out_error, mean, mean_error, shares
from rote.compare.resampling import generator, rank_in_groups
from rote.core.arrays import Array, Flags, Floats, Integers
from rote.core.chart import Chart
from rote.core.metric import (
    LONGEST_NGRAM,
    Comparison,
    Metric,
    Value,
    Values,
    Work,
    check_options,
    option,
    owners,
)
from rote.core.progress import several
from rote.core.result import Result, Row
from rote.core.sample import Need, Sample, Take
from rote.core.table import Column, Rows, Table, defined, distinct, ends, make_columns
from rote.core.table import estimate as row_estimate
from rote.measure import _sentences as meaning
from rote.measure._likeness import (
    ABOVE,
    SCORES,
    Likeness,
    TextPairs,
    between_sets,
    both,
    check_scores,
    scored,
    set_means,
    within_sets,
)

DRAWS = 200
"""Of prompts with replacement, for the support of a branch."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over pairs; over how many sets and pairs, and how many independent units its error
    comes from: sets, the texts that answer one prompt, each of which counts the same. Where there
    is only one, texts: the jackknife leaves out a text with its pairs."""

    value: float
    error: float
    sets: int
    pairs: int
    units: int


def estimate(pairs: TextPairs, scores: Floats, chosen: Flags) -> Estimate:
    """The mean over sets of the mean over the chosen pairs."""
    chosen = chosen & ~np.isnan(scores)
    values = scores[chosen]
    numbers, place = np.unique(pairs.sets[chosen], return_inverse=True)
    if len(numbers) == 1:
        first, second = pairs.first[chosen], pairs.second[chosen]
        units = len(np.union1d(first, second))
        return Estimate(mean(values), left_out(values, first, second), 1, len(values), units)
    means = np.bincount(place, weights=values) / np.bincount(place)
    return Estimate(mean(means), mean_error(means), len(numbers), len(values), len(numbers))


def by_chance(pairs: TextPairs, scores: Floats, chosen: Flags, sets: Integers) -> Estimate:
    """The mean over the chosen pairs of different sets; its error leaves out a set at a time."""
    chosen = chosen & ~np.isnan(scores)
    values, first, second = scores[chosen], sets[pairs.first[chosen]], sets[pairs.second[chosen]]
    units = len(np.union1d(first, second))
    return Estimate(mean(values), left_out(values, first, second), units, len(values), units)


def left_out(values: Floats, first: Integers, second: Integers) -> float:
    """Jackknife error of a mean over pairs, leaving out one unit and all its pairs at a time;
    `first` and `second` are the units that a pair belongs to."""
    units, place = np.unique(np.concatenate((first, second)), return_inverse=True)
    if len(units) < 3:
        return math.nan
    both = np.concatenate((values, values))
    total = np.bincount(place, weights=both)
    count = np.bincount(place).astype(np.float64)
    rest = len(values) - count
    if (rest <= 0).any():
        return math.nan
    return left_out_error((values.sum() - total) / rest)


def by_set(
    pairs: TextPairs, scores: Floats, ours: Integers, theirs: Integers, sources: int
) -> Array:
    """The mean likeness of every two sources (the lower number first) in every set."""
    chosen = ~np.isnan(scores)
    numbers, place = np.unique(pairs.sets[chosen], return_inverse=True)
    first, second = ours[chosen], theirs[chosen]
    cell = (place * sources + np.minimum(first, second)) * sources + np.maximum(first, second)
    size = len(numbers) * sources * sources
    total = np.bincount(cell, weights=scores[chosen], minlength=size)
    return shares(total, np.bincount(cell, minlength=size)).reshape(-1, sources, sources)


@dataclass(frozen=True, slots=True)
class Link:
    """Two branches of sources that join, how alike they are, and in how many draws they do."""

    left: tuple[int, ...]
    right: tuple[int, ...]
    likeness: float
    support: float = math.nan

    @property
    def branch(self) -> tuple[int, ...]:
        return tuple(sorted((*self.left, *self.right)))


def tree(means: Array, seed: int) -> list[Link]:
    """Average linkage of 1 - likeness; `means[s, a, b]` is the likeness of two sources in set s.

    Nothing where a pair of sources has no likeness. The support of a branch is the share of draws
    of the sets, with replacement, whose tree has the same branch.
    """
    sets, sources, _ = means.shape
    known = ~np.isnan(means)
    filled = np.where(known, means, 0.0).reshape(sets, sources * sources)
    is_known = known.reshape(sets, sources * sources).astype(np.float64)

    def likeness(weights: Floats) -> Floats:
        weight = weights @ is_known
        shape = np.full(sources * sources, np.nan)
        summed = np.divide(weights @ filled, weight, out=shape, where=weight > 0)
        return summed.reshape(sources, sources)

    links = _link_sources(likeness(np.ones(sets)))
    counts = Counter[tuple[int, ...]]()
    rng = generator(seed, "support of branches")
    drawn = 0
    for _ in range(DRAWS if sets > 1 and links else 0):
        weights = np.bincount(rng.integers(0, sets, sets), minlength=sets).astype(np.float64)
        again = _link_sources(likeness(weights))
        drawn += bool(again)
        counts.update(link.branch for link in again)
    if not drawn:
        return links
    return [replace(link, support=counts[link.branch] / drawn) for link in links]


def _link_sources(alike: Floats) -> list[Link]:
    from scipy.cluster.hierarchy import linkage

    count = len(alike)
    upper = alike[np.triu_indices(count, 1)]
    if count < 3 or np.isnan(upper).any():
        return []
    members: list[tuple[int, ...]] = [(number,) for number in range(count)]
    links = []
    for first, second, distance, _ in linkage(1 - upper, "average"):
        links.append(Link(members[int(first)], members[int(second)], float(1 - distance)))
        members.append((*links[-1].left, *links[-1].right))
    return links


def leaves(links: Sequence[Link], sources: int) -> list[int]:
    return [*links[-1].left, *links[-1].right] if links else list(range(sources))


def _mirrored(rows: Rows, result: Result) -> Rows:
    """Both triangles, sources in the order of the tree."""
    table: list[Row] = []
    for score in distinct(rows, "score"):
        rows_of_score = [row for row in rows if row["score"] == score]
        links = [row for row in result.tables.get("tree", ()) if row["score"] == score]
        names = distinct(rows_of_score, "source")
        place = {name: number for number, name in enumerate(links[0]["order"] if links else names)}
        known = [row for row in rows_of_score if defined(row["likeness"])]
        cells = {(row["source"], row["other"]): row for row in known}
        cells |= {(b, a): {**row, "source": b, "other": a} for (a, b), row in cells.items()}
        table += sorted(cells.values(), key=lambda row: (place[row["source"]], place[row["other"]]))
    return table


def _branches(rows: Rows, result: Result) -> Rows:
    """The tree as lines: of each link four points, and the names where it ends in a source."""
    table: list[Row] = []
    for score in distinct(rows, "score"):
        links = [row for row in rows if row["score"] == score]
        height = {name: float(number) for number, name in enumerate(links[0]["order"])}
        tip = max(row["likeness"] for row in links)
        tip += 0.05 * max(tip - links[-1]["likeness"], 0.01)
        at = {(name,): (tip, place) for name, place in height.items()}
        for number, row in enumerate(links):
            parts = tuple(row["one"]), tuple(row["other"])
            (x, y), (x2, y2) = (at[part] for part in parts)
            alike = row["likeness"]
            points = (x, y), (alike, y), (alike, y2), (x2, y2)
            for step, (likeness, place) in enumerate(points):
                leaf = {0: parts[0], 3: parts[1]}.get(step, ())
                table.append(
                    {
                        "title": row["title"],
                        "link": f"{score} {number}",
                        "likeness": likeness,
                        "place": place,
                        "step": step,
                        "name": leaf[0] if len(leaf) == 1 else "",
                    }
                )
            at[(*parts[0], *parts[1])] = alike, (y + y2) / 2
    return table


def _order_by_likeness(rows: Rows, result: Result) -> Rows:
    """Different sources, the most alike first; a source with itself at the end."""
    order = distinct(rows, "score")
    return sorted(
        (row for row in rows if defined(row["likeness"])),
        key=lambda row: (
            (order.index(row["score"]), row["source"] == row["other"], -row["likeness"])
        ),
    )


LAYOUT = (
    Table(
        "pairs",
        lambda rows, result: f"Sources that write alike: {rows[0]['title']}",
        (
            Column("source"),
            Column("other", "and"),
            Column("likeness", "alike", "number", 3, ends=ends("likeness")),
            Column("chance", "by chance", "number", 3, note="different prompts"),
            Column("above", "pairs alike", "share", 1, ends=ends("above")),
            Column("chance_above", "by chance", "share", 1, note="different prompts"),
            Column("prompts", kind="count"),
        ),
        note=lambda rows, result: (
            "mean over prompts of the mean over pairs of texts, with its "
            f"interval over prompts; pairs alike: above {rows[0]['threshold']:g}"
        ),
        rows=_order_by_likeness,
        split=("score",),
    ),
    Table(
        "tree",
        "Sources joined by their likeness",
        (
            *make_columns("title=by one=these:text other=and_these:text"),
            Column("likeness", "alike", "number", 3),
            Column("support", kind="share", note="draws of prompts with this branch"),
        ),
        by="title",
        limit=20,
    ),
)
CHARTS = (
    Chart(
        "matrix",
        "How alike sources are",
        table="pairs",
        shape="matrix",
        x="other",
        y="source",
        colour="likeness",
        panel=("title",),
        titles={"likeness": "alike"},
        share=True,
        format=".1%",
        rows=_mirrored,
        says="All pairs of sources: darker means more similar texts on the same prompts. The "
        "diagonal is a source with itself, where it has several texts on a prompt.",
    ),
    Chart(
        "tree",
        "Sources joined by their likeness",
        table="tree",
        shape="tree",
        x="likeness",
        y="place",
        colour="link",
        weight="step",
        text="name",
        panel=("title",),
        titles={"likeness": "alike (mean over pairs of the two branches)"},
        rows=_branches,
        says="Sources as leaves of a tree; two branches join at the height of their similarity.",
    ),
)


_SETS, _TIMES = 1_000, 4
"""For chance: so many prompts, each with the texts of so many others."""
_OWN = "_own"


@dataclass(frozen=True, slots=True)
class Options:
    scores: tuple[str, ...] = option(
        ("rouge_l", "runs", "templates"),
        "similarity scores, one table each: rouge_l, runs, templates, cosine",
    )
    layer: str = option("lower", "layer of words to compare")
    run: int = option(5, "words in a shared run", least=2, most=LONGEST_NGRAM)
    tags: str = option("pos", "layer of tags for patterns")
    pattern: int = option(6, "tags in a shared pattern", least=2, most=LONGEST_NGRAM)
    words: int | None = option(
        None,
        "compare only the first words of each text, this many: for sources of different length "
        "(not in the cosine)",
        least=1,
        most=1_000_000,
    )
    above: float | None = option(
        None,
        "threshold above which pairs count as similar; default: "
        + ", ".join(f"{name} {least}" for name, least in ABOVE.items()),
    )
    embedder: str = option(embeddings.DEFAULT, "embedder for the cosine", sign=meaning.signed)
    max_texts: int = option(
        200,
        "maximum number of texts of a source per prompt, from the first on",
        least=2,
        most=10_000,
    )

    def __post_init__(self) -> None:
        check_options(self)
        check_scores(self.scores)

    @property
    def how(self) -> Likeness:
        settings = (self.layer, self.run, self.tags, self.pattern, self.words, self.embedder)
        return Likeness(self.scores, *settings)

    def signed(self) -> dict[str, Any]:
        """Without what was not asked for."""
        of = {"tags": "templates", "pattern": "templates", "run": "runs", "embedder": "cosine"}
        return {name: None for name, score in of.items() if score not in self.scores}

    def threshold(self, score: str) -> float:
        return ABOVE[score] if self.above is None else self.above


@dataclass(frozen=True, slots=True)
class ScoredPairs:
    """Pairs of texts of one prompt and of two, with their scores; `sets` is by text the prompt that
    it answers (-1: none), `left_out` whether it was one too many."""

    pairs: TextPairs
    scores: Mapping[str, Floats]
    others: TextPairs
    other_scores: Mapping[str, Floats]
    sets: Integers
    left_out: Flags
    prompts: bool
    """Whether sets are prompts; else all texts are one set."""


def values(options: Options) -> tuple[Value, ...]:
    values = []
    for name in options.scores:
        title, share = SCORES[name], name != "cosine"
        described = f"{title}, with others"
        values.append(Value(name, described, "neither", "length", share=share, relative=True))
        title_within = f"{title}, with itself"
        values.append(Value(name + _OWN, title_within, "repetitive", "length", share=share))
    return tuple(values)


def needs(options: Options) -> tuple[Need, ...]:
    return options.how.needs


def check(options: Options, signature: str) -> None:
    if "cosine" in options.scores:
        meaning.check(options.embedder)


def rows(sample: Sample, options: Options, work: Work) -> ScoredPairs:
    count = len(sample)
    prompts = len(work.strata) == count and bool((work.strata >= 0).any())
    sets = work.strata if prompts else np.zeros(count, np.int64)
    source = owners(work.sources(count), count)
    left_out = rank_in_groups(np.lexsort((source, sets)), sets, source) >= options.max_texts
    texts = np.flatnonzero(~left_out & (source >= 0) & (sample.words > 0))
    pairs = within_sets(sets, texts)
    others = between_sets(sets, texts, work, most=_SETS, times=_TIMES)
    scores = scored(sample, options.how, both(pairs, others), work)
    return ScoredPairs(
        pairs=pairs,
        scores={name: column[: len(pairs)] for name, column in scores.items()},
        others=others,
        other_scores={name: column[len(pairs) :] for name, column in scores.items()},
        sets=sets,
        left_out=left_out,
        prompts=prompts,
    )


def reduce(rows: ScoredPairs, take: Take, options: Options, rng: np.random.Generator) -> Values:
    by_name = many(rows, [take], {value.name for value in values(options)}, options)
    return {name: float(column[0]) for name, column in by_name.items()}


def many(
    rows: ScoredPairs, takes: Sequence[Take], names: Collection[str], options: Options
) -> dict[str, Floats]:
    """Each pair is looked at once for all groups."""
    is_member = np.zeros((len(rows.sets), len(takes)), np.uint8)
    for group, take in enumerate(takes):
        is_member[take, group] = 1
    # A pair of texts that no group holds says nothing.
    any_held: Flags = np.any(is_member, axis=1)
    near = any_held[rows.pairs.first] | any_held[rows.pairs.second]
    first, second, sets = (c[near] for c in (rows.pairs.first, rows.pairs.second, rows.pairs.sets))
    values = {}
    for name, scores in rows.scores.items():
        if {name, name + _OWN} & set(names):
            means = set_means(first, second, sets, scores[near], is_member)
            values[name], values[name + _OWN] = means
    return {name: column for name, column in values.items() if name in names}


def standard_errors(rows: ScoredPairs, take: Take, options: Options) -> Values:
    return {name: estimate.error for name, estimate in _estimates(rows, take)}


def units(rows: ScoredPairs, take: Take, options: Options) -> dict[str, int]:
    return {name: estimate.units for name, estimate in _estimates(rows, take)}


def _estimates(rows: ScoredPairs, take: Take) -> Iterator[tuple[str, Estimate]]:
    is_first, is_second = _pairs_within(rows, take)
    for name, scores in rows.scores.items():
        yield name, estimate(rows.pairs, scores, is_first != is_second)
        yield name + _OWN, estimate(rows.pairs, scores, is_first & is_second)


def _pairs_within(rows: ScoredPairs, take: Take) -> tuple[Flags, Flags]:
    """By pair whether the first, and whether the second, is one of these texts."""
    is_member = np.zeros(len(rows.sets), np.bool_)
    is_member[take] = True
    return is_member[rows.pairs.first], is_member[rows.pairs.second]


def undefined(rows: ScoredPairs, options: Options) -> Mapping[str, Flags]:
    """Texts that have pairs, but none that could be scored."""
    pairs, count = rows.pairs, len(rows.sets)

    def paired(chosen: Flags) -> Flags:
        is_paired = np.zeros(count, np.bool_)
        is_paired[pairs.first[chosen]] = is_paired[pairs.second[chosen]] = True
        return is_paired

    every = paired(np.ones(len(pairs), np.bool_))
    flags = {name: every & ~paired(~np.isnan(scores)) for name, scores in rows.scores.items()}
    return flags | {name + _OWN: column for name, column in flags.items()}


def notes(rows: ScoredPairs, take: Take, options: Options) -> list[str]:
    lines = []
    if not rows.prompts:
        lines.append("the texts have no doc_id, so all are compared with all")
    elif alone := int((rows.sets[take] < 0).sum()):
        lines.append(f"left out: {several(alone, 'text')} without doc_id")
    if many := int(rows.left_out[take].sum()):
        beyond = f"above {options.max_texts} per prompt (max_texts)"
        lines.append(f"left out: {several(many, 'text')} {beyond}")
    is_first, is_second = _pairs_within(rows, take)
    if not (is_first != is_second).any():
        lines.append("no other source answers the same prompt")
    if not (is_first & is_second).any():
        lines.append("no prompt has two texts of this source, so it cannot be compared with itself")
    for name, scores in rows.scores.items():
        if undefined := int((np.isnan(scores) & (is_first | is_second)).sum()):
            pairs = several(undefined, "pair")
            lines.append(f"{name}: undefined for {pairs}, of texts that are too short")
    return lines


def tables(
    rows: ScoredPairs, comparison: Comparison, options: Options
) -> Mapping[str, Sequence[Row]]:
    groups = comparison.groups
    source = owners(list(groups.values()), len(rows.sets))
    ours, theirs = source[rows.pairs.first], source[rows.pairs.second]
    apart = source[rows.others.first], source[rows.others.second]
    names, level = list(groups), comparison.level
    table: list[Row] = []
    links: list[Row] = []
    for score, scores in rows.scores.items():
        least = options.threshold(score)
        by_luck = rows.other_scores[score]
        for a, b in combinations_with_replacement(range(len(names)), 2):
            these, those = _of_two(ours, theirs, a, b), _of_two(*apart, a, b)
            cell = estimate(rows.pairs, scores, these)
            chance = by_chance(rows.others, by_luck, those, rows.sets)
            alike = estimate(rows.pairs, _is_beyond(scores, least), these)
            chance_above = by_chance(rows.others, _is_beyond(by_luck, least), those, rows.sets)
            bounded = score != "cosine"
            table.append(
                {
                    "score": score,
                    "title": SCORES[score],
                    "source": names[a],
                    "other": names[b],
                    "prompts": cell.sets,
                    "pairs": cell.pairs,
                    **_with_ends("likeness", cell, level, bounded),
                    **_with_ends("chance", chance, level, bounded),
                    **_with_ends("above", alike, level, True),
                    "chance_above": chance_above.value,
                    "threshold": least,
                }
            )
        joins = tree(by_set(rows.pairs, scores, ours, theirs, len(names)), comparison.seed)
        order = [names[number] for number in leaves(joins, len(names))]
        links += [
            {
                "score": score,
                "title": SCORES[score],
                "one": [names[number] for number in link.left],
                "other": [names[number] for number in link.right],
                "likeness": link.likeness,
                "support": link.support,
                "order": order,
            }
            for link in joins
        ]
    return {"pairs": table, **({"tree": links} if links else {})}


def _of_two(ours: Integers, theirs: Integers, a: int, b: int) -> Flags:
    flags: Flags = ((ours == a) & (theirs == b)) | ((ours == b) & (theirs == a))
    return flags


def _is_beyond(scores: Floats, least: float) -> Floats:
    return np.where(np.isnan(scores), np.nan, scores > least)


def _with_ends(name: str, cell: Estimate, level: float, share: bool) -> dict[str, float]:
    interval = interval_from_error(cell.value, cell.error, level, cell.units, share=share)
    return row_estimate(name, cell.value, interval)


def method(s: Mapping[str, str]) -> str:
    words = s.get("words", "None")
    first = "" if words == "None" else f" (first {words} words)"
    return (
        "Sameness between sources is the mean over prompts of the mean over pairs of texts of two "
        f"sources that answer the prompt{first}, by {s['scores'].replace(',', ', ')}; intervals "
        "are over prompts, and pairs of texts on different prompts say what is to be expected"
    )


METRIC = Metric(
    name="sameness",
    title="Sameness between sources",
    values=values,
    needs=needs,
    options=Options,
    rows=rows,
    reduce=reduce,
    standard_errors=standard_errors,
    units=units,
    many=many,
    interval_method="jackknife over prompts",
    citation=(
        "Jiang, Chai, Li, Liu, Fok, Dziri, Tsvetkov, Sap, Albalak and Choi (2025), "
        "Artificial Hivemind: The Open-Ended Homogeneity of Language Models; "
        "Padmakumar and He (2024), Does Writing with Language Models Reduce Content Diversity?"
    ),
    match=None,
    embeds=lambda options: "cosine" in options.scores,
    uncut_reason="texts that answer the same prompt are compared as they are; --words N takes the "
    "first N words of each",
    undefined=undefined,
    notes=notes,
    tables=tables,
    check=check,
    inputs=False,
    layout=LAYOUT,
    charts=CHARTS,
    says="How similar the answers of different sources to the same prompt are.",
    section="diversity",
    place=65,
    main=("rouge_l",),
    method=method,
    report=lambda context: context.lacks_prompts() or {},
)
