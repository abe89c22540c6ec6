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

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from rote.annotate import embeddings
from rote.compare.intervals import interval_from_error
from rote.core.array_types import Flags, Floats, Integers
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
from rote.core.result import Row
from rote.core.sample import Need, Sample, Take
from rote.core.table import ends
from rote.measure import _meaning as meaning
from rote.measure._likeness import (
    ABOVE,
    SCORES,
    Likeness,
    Pairs,
    between_sets,
    both,
    check_scores,
    scored,
    within_sets,
)
from rote.measure._sameness import Estimate, by_chance, by_set, estimate, leaves, tree
from rote.measure._sameness_layout import CHARTS, LAYOUT

_SETS, _TIMES = 1_000, 4
"""For chance: so many prompts, each with the texts of so many others."""
_OWN = "_own"


@dataclass(frozen=True, slots=True)
class Options:
    """Settings of `sameness`."""

    scores: tuple[str, ...] = option(
        ("rouge_l", "runs", "templates"),
        "likenesses, a table each: rouge_l, runs, templates, cosine",
    )
    layer: str = option("lower", "layer of words that are compared")
    run: int = option(5, "words in a shared run", least=2, most=LONGEST_NGRAM)
    tags: str = option("pos", "layer of tags whose patterns are compared")
    pattern: int = option(6, "tags in a shared pattern", least=2, most=LONGEST_NGRAM)
    words: int | None = option(
        None,
        "compare only this many words of each text, from its beginning: for sources of different "
        "length (not in the cosine)",
        least=1,
        most=1_000_000,
    )
    above: float | None = option(
        None,
        "pairs above this are counted as alike; default: "
        + ", ".join(f"{name} {least}" for name, least in ABOVE.items()),
    )
    embedder: str = option(
        embeddings.DEFAULT, "who makes the vectors of the cosine", sign=meaning.signed
    )
    max_texts: int = option(
        200,
        "at most this many texts of a source for one prompt, the first ones",
        least=2,
        most=10_000,
    )

    def __post_init__(self) -> None:
        check_options(self)
        check_scores(self.scores)

    @property
    def how(self) -> Likeness:
        own = (self.layer, self.run, self.tags, self.pattern, self.words, self.embedder)
        return Likeness(self.scores, *own)

    def signed(self) -> dict[str, Any]:
        """Without what was not asked for."""
        asked = {
            "tags": "templates" in self.scores,
            "pattern": "templates" in self.scores,
            "run": "runs" in self.scores,
            "embedder": "cosine" in self.scores,
        }
        return {name: None for name, used in asked.items() if not used}

    def threshold(self, score: str) -> float:
        return ABOVE[score] if self.above is None else self.above


@dataclass(frozen=True, slots=True)
class Found:
    """Pairs of texts of one prompt and of two, with their scores; `sets` is by text the prompt that
    it answers (-1: none), `left_out` whether it was one too many."""

    pairs: Pairs
    scores: Mapping[str, Floats]
    others: Pairs
    other_scores: Mapping[str, Floats]
    sets: Integers
    left_out: Flags
    prompts: bool
    """Whether sets are prompts; else all texts are one set."""


def values(options: Options) -> tuple[Value, ...]:
    found = []
    for name in options.scores:
        title, share = SCORES[name], name != "cosine"
        found.append(
            Value(name, f"{title}, with others", "neither", "length", share=share, relative=True)
        )
        own = f"{title}, with itself"
        found.append(Value(name + _OWN, own, "repetitive", "length", share=share))
    return tuple(found)


def needs(options: Options) -> tuple[Need, ...]:
    return options.how.needs


def check(options: Options, signature: str) -> None:
    if "cosine" in options.scores:
        meaning.check(options.embedder)


def rows(sample: Sample, options: Options, work: Work) -> Found:
    count = len(sample)
    prompts = len(work.strata) == count and bool((work.strata >= 0).any())
    sets = work.strata if prompts else np.zeros(count, np.int64)
    source = owners(work.sources(count), count)
    left_out = _too_many(sets, source, options.max_texts)
    texts = np.flatnonzero(~left_out & (source >= 0) & (sample.words > 0))
    pairs = within_sets(sets, texts)
    others = between_sets(sets, texts, work, most=_SETS, times=_TIMES)
    scores = scored(sample, options.how, both(pairs, others), work)
    return Found(
        pairs=pairs,
        scores={name: column[: len(pairs)] for name, column in scores.items()},
        others=others,
        other_scores={name: column[len(pairs) :] for name, column in scores.items()},
        sets=sets,
        left_out=left_out,
        prompts=prompts,
    )


def reduce(rows: Found, take: Take, options: Options, rng: np.random.Generator) -> Values:
    found = many(rows, [take], {value.name for value in values(options)}, options)
    return {name: float(column[0]) for name, column in found.items()}


def many(
    rows: Found, takes: Sequence[Take], names: Collection[str], options: Options
) -> dict[str, Floats]:
    """Each pair is looked at once for all groups."""
    from rote.measure._likeness_kernels import set_means

    held = np.zeros((len(rows.sets), len(takes)), np.uint8)
    for group, take in enumerate(takes):
        held[take, group] = 1
    # A pair of texts that no group holds says nothing.
    any_held: Flags = np.any(held, axis=1)
    near = any_held[rows.pairs.first] | any_held[rows.pairs.second]
    first, second, sets = (c[near] for c in (rows.pairs.first, rows.pairs.second, rows.pairs.sets))
    found = {}
    for name, scores in rows.scores.items():
        if {name, name + _OWN} & set(names):
            found[name], found[name + _OWN] = set_means(first, second, sets, scores[near], held)
    return {name: column for name, column in found.items() if name in names}


def standard_errors(rows: Found, take: Take, options: Options) -> Values:
    return {name: found.error for name, found in _estimates(rows, take)}


def units(rows: Found, take: Take, options: Options) -> dict[str, int]:
    return {name: found.units for name, found in _estimates(rows, take)}


def _estimates(rows: Found, take: Take) -> Iterator[tuple[str, Estimate]]:
    one, two = _held(rows, take)
    for name, scores in rows.scores.items():
        yield name, estimate(rows.pairs, scores, one != two)
        yield name + _OWN, estimate(rows.pairs, scores, one & two)


def _held(rows: Found, take: Take) -> tuple[Flags, Flags]:
    """By pair whether the first, and whether the second, is one of these texts."""
    held = np.zeros(len(rows.sets), np.bool_)
    held[take] = True
    return held[rows.pairs.first], held[rows.pairs.second]


def undefined(rows: Found, options: Options) -> Mapping[str, Flags]:
    """Texts that have pairs, but none that could be scored."""
    pairs, count = rows.pairs, len(rows.sets)

    def paired(chosen: Flags) -> Flags:
        found = np.zeros(count, np.bool_)
        found[pairs.first[chosen]] = found[pairs.second[chosen]] = True
        return found

    every = paired(np.ones(len(pairs), np.bool_))
    flags = {name: every & ~paired(~np.isnan(scores)) for name, scores in rows.scores.items()}
    return {f"{name}{whom}": own for name, own in flags.items() for whom in ("", _OWN)}


def _too_many(sets: Integers, source: Integers, most: int) -> Flags:
    """The texts after the first so many of their set and source."""
    order = np.lexsort((source, sets))
    begins = np.flatnonzero(
        np.append(True, (np.diff(sets[order]) != 0) | (np.diff(source[order]) != 0))
    )
    rank = np.arange(len(order)) - np.repeat(begins, np.diff(np.append(begins, len(order))))
    found = np.zeros(len(sets), np.bool_)
    found[order] = rank >= most
    return found


def notes(rows: Found, take: Take, options: Options) -> list[str]:
    found = []
    if not rows.prompts:
        found.append("the texts have no doc_id: all are compared with all, whatever they answer")
    elif alone := int((rows.sets[take] < 0).sum()):
        found.append(f"left out: {several(alone, 'text')} without doc_id")
    if many := int(rows.left_out[take].sum()):
        found.append(
            f"left out: {several(many, 'text')} beyond {options.max_texts} of a prompt (max_texts)"
        )
    one, two = _held(rows, take)
    if not (one != two).any():
        found.append("no text of another source answers the same prompt")
    if not (one & two).any():
        found.append("no prompt has two texts of this source: nothing to compare it with itself by")
    for name, scores in rows.scores.items():
        if undefined := int((np.isnan(scores) & (one | two)).sum()):
            found.append(
                f"{name}: undefined for {several(undefined, 'pair')}, of texts that are too short"
            )
    return found


def tables(rows: Found, comparison: Comparison, options: Options) -> Mapping[str, Sequence[Row]]:
    """Every two sources, and the tree."""
    groups = comparison.groups
    source = owners(list(groups.values()), len(rows.sets))
    own, other = source[rows.pairs.first], source[rows.pairs.second]
    apart = source[rows.others.first], source[rows.others.second]
    names, level = list(groups), comparison.level
    found: list[Row] = []
    links: list[Row] = []
    for score, scores in rows.scores.items():
        least = options.threshold(score)
        by_luck = rows.other_scores[score]
        for a, b in combinations_with_replacement(range(len(names)), 2):
            these, those = _of_two(own, other, a, b), _of_two(*apart, a, b)
            one = estimate(rows.pairs, scores, these)
            chance = by_chance(rows.others, by_luck, those, rows.sets)
            alike = estimate(rows.pairs, _beyond(scores, least), these)
            row: dict[str, Any] = {"score": score, "title": SCORES[score]}
            row |= {"source": names[a], "other": names[b], "prompts": one.sets, "pairs": one.pairs}
            bounded = score != "cosine"
            row |= _with_ends("likeness", one, level, bounded)
            row |= _with_ends("chance", chance, level, bounded)
            row |= _with_ends("above", alike, level, True)
            chance = by_chance(rows.others, _beyond(by_luck, least), those, rows.sets)
            found.append({**row, "chance_above": chance.value, "threshold": least})
        joins = tree(by_set(rows.pairs, scores, own, other, len(names)), comparison.seed)
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
    return {"pairs": found, **({"tree": links} if links else {})}


def _of_two(own: Integers, other: Integers, a: int, b: int) -> Flags:
    found: Flags = ((own == a) & (other == b)) | ((own == b) & (other == a))
    return found


def _beyond(scores: Floats, least: float) -> Floats:
    return np.where(np.isnan(scores), np.nan, scores > least)


def _with_ends(name: str, one: Estimate, level: float, share: bool) -> dict[str, float]:
    low, high = interval_from_error(one.value, one.error, level, one.units, share=share)
    return dict(zip((name, *ends(name)), (one.value, low, high)))


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
    whole="texts that answer the same prompt are compared as they are; --words N takes the first "
    "N words of each",
    undefined=undefined,
    notes=notes,
    tables=tables,
    check=check,
    inputs=False,
    layout=LAYOUT,
    charts=CHARTS,
    says="How alike the texts of different sources are that answer the same prompt.",
    section="diversity",
    place=65,
    main=("rouge_l",),
    method=method,
    report=lambda asked: asked.lacks_fields("doc_id") or {},
)
