"""Overlap with the training set: how close test items are, and whether scores rise with that.

The overlap of an item is the share of its n-gram positions (n = 4; field `reference` where records
have it, else the text) whose n-gram occurs anywhere in TRAIN. Items are put into bins by it, from
T_nov (the least) to T_sim (the most), and scores are given bin by bin: ROUGE where there is a
reference, entity scores where there is a `document` too, or any field with numbers. A score that
rises from T_nov to T_sim may be rote, or the items close to TRAIN may be typical of their genre and
easier: `--placebo` names unseen texts of the same kind, by which the same ratio is taken, and
`--control` a system that never saw TRAIN.

Direction: more overlap is more repetitive. Length: items of fewer than n words have none.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rote.compare.intervals import mean, shares
from rote.core.arrays import Floats, Integers
from rote.core.errors import OptionError, UnknownName
from rote.core.facets import JOINT
from rote.core.metric import (
    LONGEST_NGRAM,
    Comparison,
    Metric,
    Value,
    Values,
    Work,
    check_options,
    is_given,
    option,
)
from rote.core.numbers import format_interval, format_number
from rote.core.progress import several
from rote.core.record import Finding, Headline
from rote.core.result import Result
from rote.core.sample import Need, Sample, Take
from rote.corpus import Corpus, ReadOptions, read_option
from rote.measure._overlap_partition import (
    NO_BIN,
    WITHOUT,
    check_train,
    count_held,
    partition,
    placebo,
    rank_correlation,
    ratio,
)
from rote.measure._overlap_tables import (
    CHARTS,
    LAYOUT,
    REFERENCE,
    Rows,
    TableInput,
    bins,
    expanded,
    is_made,
    items,
    mean_interval,
    partition_rows,
    scores,
    title,
    trend_row,
    trends,
    wanted,
)
from rote.measure._overlap_tables import needs as score_needs
from rote.measure._text_means import count_note
from rote.search.reference_corpus import corpus_option, open_reference

TEXT = "text"
_OF_A_SCORE = ("nov", "sim", "ratio", "trend")
OVER_PLACEBO = "over_placebo"


@dataclass(frozen=True, slots=True)
class Options:
    train: str | None = corpus_option(
        "Training set: an index, or a file or folder of texts", metavar="TRAIN"
    )
    train_read: tuple[str, ...] = read_option("TRAIN")
    n: int = option(
        4, "length of the n-grams", short="-n", least=1, most=LONGEST_NGRAM, common=True
    )
    layer: str = option("word", "layer of words; lower ignores case")
    on: str | None = option(
        None,
        "field whose n-grams are looked up, or 'text'; default: reference where records have it, "
        "else text",
        metavar="FIELD",
        common=True,
    )
    scores: tuple[str, ...] = option(
        (),
        "Scores of each text: fields with numbers, rouge, entities, rouge_2, ... or none; default: "
        "rouge where records have a reference, entities where they have a document too",
        common=True,
    )
    min_samples: int | None = option(
        None, "minimum number of items per bin; default: 5 % of all", least=1
    )
    placebo: str | None = corpus_option(
        "Unseen texts of the same kind as TRAIN, a file or folder: what the ratio by TRAIN has "
        "above the ratio by them is given first",
        metavar="FILE",
        takes="texts",
        needed=False,
    )
    placebo_read: tuple[str, ...] = read_option("the placebo")
    control: str | None = option(
        None,
        "Source that never saw the training set, as a control: also give the excess over it",
        metavar="NAME",
    )
    normalize_to: str | None = option(
        None, "Source to normalize by: also divide the other scores by its scores", metavar="NAME"
    )
    variant: Literal["exact", "paper"] = option("exact", "variant of entity scores: see there")

    def __post_init__(self) -> None:
        check_options(self)
        if is_given(self.placebo) and not is_given(self.train):
            raise OptionError("--placebo needs a training set: name one with --train")


def settled(options: Options, fields: Collection[str]) -> Options:
    """The options for records with these fields, where they leave something open."""
    on = options.on or (REFERENCE if REFERENCE in fields else TEXT)
    scored = wanted(options.scores, fields) or ("none",)
    sides = {side: side_of(options, side, on) for side in ("train", "placebo")}
    return replace(options, on=on, scores=scored, **sides)


def side_of(options: Options, side: str, on: str) -> Any:
    """The training set or the placebo, with its texts in the field that is looked up, where its
    records have that and nobody named another: references are held against references."""
    texts, changes = getattr(options, side), getattr(options, f"{side}_read")
    texts = open_reference(texts, role=side) if is_given(texts) else texts
    if on == TEXT or not isinstance(texts, Corpus) or ReadOptions().beside(changes).text_field:
        return texts
    return texts.with_text_in(on) or texts


def values(options: Options) -> tuple[Value, ...]:
    values = [Value("overlap", f"{options.n}-grams in TRAIN", "repetitive", "neither", share=True)]
    for name in expanded(options.scores):
        heading = title(name)
        if options.placebo:
            described = f"{heading}, T_sim / T_nov, times the placebo's"
            name_over = f"{name}_{OVER_PLACEBO}"
            values.append(Value(name_over, described, "neither", "neither", tested=False))
        titles = (f"{heading} in T_nov", f"{heading} in T_sim", "T_sim / T_nov", "rank correlation")
        for part, described in zip(_OF_A_SCORE, titles):
            described = described if heading in described else f"{heading}, {described}"
            share = is_made(name) and part in ("nov", "sim")
            values.append(Value(f"{name}_{part}", described, "neither", "neither", share=share))
    return tuple(values)


def needs(options: Options) -> tuple[Need, ...]:
    return (_looked_up(options), *score_needs(expanded(options.scores), options.variant))


def check(options: Options, signature: str) -> None:
    if options.train:
        check_train(options.train, options.layer, signature, options.placebo)


def rows(sample: Sample, options: Options, work: Work) -> Rows:
    layer = sample.layer(_looked_up(options))
    others = _named_groups(options, work.groups)
    if options.train:
        counts, totals = count_held(layer, options.n, options.train, work)
    else:
        counts = totals = np.zeros(len(layer), np.int64)
    item = _items(layer.ids, layer.text_ends, work.strata, _looked_up(options).field is None)
    _, first = np.unique(item, return_index=True)
    bins = partition(counts[first], totals[first], options.min_samples)
    beside = None
    if options.train and options.placebo:
        sides: dict[str, Any] = {"train": options.train, "placebo": options.placebo}
        beside = placebo(layer, options.n, sides, options.min_samples, work, first)
    return Rows(
        item=item,
        base=_bases(item, work.strata),
        matched=counts,
        every=totals,
        overlap=shares(counts, totals),
        bin=bins.bins(counts, totals),
        partition=bins,
        scores=scores(sample, expanded(options.scores), options.variant, work),
        others=others,
        trained=bool(options.train),
        placebo=beside,
    )


def reduce(rows: Rows, take: Take, options: Options, rng: np.random.Generator) -> Values:
    values = resample(rows, take, options, rng)
    if rows.placebo:
        for name, column in rows.scores.items():
            excess = rows.placebo.excess("log_ratio", column, rows.base, take)
            values[f"{name}_{OVER_PLACEBO}"] = float(np.exp(excess.value))
    return values


def resample(rows: Rows, take: Take, options: Options, rng: np.random.Generator) -> Values:
    """All but what is above the placebo, which has an interval of its own and many draws."""
    values = {"overlap": mean(rows.overlap[take])}
    for name, column in rows.scores.items():
        novel, similar = _ends(rows, column, take)
        numbers = (
            mean(novel),
            mean(similar),
            ratio(novel, similar),
            rank_correlation(rows.overlap[take], column[take]),
        )
        values |= {f"{name}_{part}": number for part, number in zip(_OF_A_SCORE, numbers)}
    return values


def intervals(
    rows: Rows, take: Take, options: Options, level: float
) -> Mapping[str, tuple[float, float]]:
    """Those of the tables: a number has one interval, wherever it stands."""
    table = TableInput(rows, {}, (), level)
    by_name = {"overlap": mean_interval(table, take, rows.overlap, share=True)[1]}
    for name, column in rows.scores.items():
        row = trend_row(table, take, column, share=is_made(name))
        for part in (*_OF_A_SCORE, *((OVER_PLACEBO,) if rows.placebo else ())):
            by_name[f"{name}_{part}"] = row[f"{part}_low"], row[f"{part}_high"]
    return by_name


def per_text(rows: Rows, options: Options) -> Mapping[str, Floats]:
    return {"overlap": rows.overlap, **rows.scores}


def notes(rows: Rows, take: Take, options: Options) -> list[str]:
    if not rows.trained:
        return [WITHOUT]
    few = f"items have fewer than {several(options.n, 'word')}: no bin"
    lines = count_note(rows.every[take] == 0, few)
    if rows.placebo:
        words, draws = rows.placebo.words, rows.placebo.draws
        lines.append(
            f"training set ({_draws_note(len(draws['train']))}) and placebo "
            f"({_draws_note(len(draws['placebo']))}) are compared at {several(words, 'word')} each"
        )
        if any(draw.bins < 2 for side in draws.values() for draw in side):
            lines.append("a draw puts all items into one bin: nothing to compare with the placebo")
    if rows.scores and len(rows.partition) < 2:
        lines.append(
            f"all items are in one bin (each bin needs {rows.partition.least:,} or more): no "
            "T_nov, no T_sim"
        )
    for name, column in rows.scores.items():
        lines += count_note(np.isnan(column[take]), "texts", f"{title(name)} is undefined in ")
        if len(rows.partition) > 1:
            novel, similar = _ends(rows, column, take)
            lines += _why_no_ratio(title(name), novel, similar)
        if np.isnan(rank_correlation(rows.overlap[take], column[take])):
            lines.append(f"{title(name)}: no rank correlation of fewer than 3 or of equal numbers")
    return lines


def tables(rows: Rows, comparison: Comparison, options: Options) -> Mapping[str, Sequence[Any]]:
    if not rows.trained:
        return {}
    table = TableInput(rows, comparison.groups, comparison.ids, comparison.level)
    return {
        "partition": partition_rows(table),
        "bins": bins(table),
        "trends": trends(table),
        "items": items(table),
    }


def _looked_up(options: Options) -> Need:
    return Need(options.layer, field=None if options.on in (None, TEXT) else options.on)


def _draws_note(draws: int) -> str:
    return "whole" if draws == 1 else f"{draws} draws"


def _ends(rows: Rows, column: Floats, take: Take) -> tuple[Floats, Floats]:
    chosen, last = take[~np.isnan(column[take])], len(rows.partition) - 1
    novel, similar = (column[chosen[rows.bin[chosen] == bin]] for bin in (0, last))
    return (novel, similar) if last else (novel[:0], similar[:0])


def _why_no_ratio(value: str, novel: Floats, similar: Floats) -> list[str]:
    empty = [name for name, part in (("T_nov", novel), ("T_sim", similar)) if not len(part)]
    if empty:
        return [f"{value}: no text in {' and '.join(empty)}"]
    return [f"{value} is 0 in T_nov: no ratio"] if novel.mean() == 0 else []


def _items(ids: NDArray[np.int32], ends: Integers, strata: Integers, alone: bool) -> Integers:
    """The number of each text's item: texts with the same doc_id and what is looked up are one.

    `alone`: the texts themselves are looked up, so each is an item.
    """
    numbers: dict[object, int] = {}
    items, begin = np.empty(len(ends), np.int64), 0
    for text, end in enumerate(ends.tolist()):
        stratum = int(strata[text]) if len(strata) else NO_BIN
        key = text if alone or stratum < 0 else (stratum, ids[begin:end].tobytes())
        items[text] = numbers.setdefault(key, len(numbers))
        begin = end
    return items


def _bases(item: Integers, strata: Integers) -> Integers:
    if not len(strata):
        return item
    alone = strata < 0
    return np.where(alone, int(strata.max(initial=-1)) + 1 + item, strata)


def _named_groups(options: Options, groups: Mapping[str, Take]) -> dict[str, str]:
    by_name = {}
    for flag in ("control", "normalize_to"):
        name = getattr(options, flag)
        if name is None:
            continue
        bearing = [g for g in groups if g == name] or [g for g in groups if name in g.split(JOINT)]
        if len(bearing) != 1:
            raise UnknownName(f"source of --{flag.replace('_', '-')}:", name, list(groups))
        by_name[flag] = bearing[0]
    return by_name


def method(s: Mapping[str, str]) -> str:
    return (
        f"Overlap is the share of {s['n']}-gram positions of the field {s['on']} whose n-gram "
        "occurs in the training set; items are put into bins by it, T_nov with the least and T_sim "
        "with the most"
    )


_SCORES = {"rouge_2": "ROUGE-2", "entity_recall": "entity recall"}
"""Scores of items that a summary tells."""


def findings(result: Result, sources: Sequence[str]) -> Iterator[Finding]:
    """Scores of items that are close to the training set, against those of novel ones."""
    level = result.interval.level if result.interval else None
    names = [row["value"] for row in result.tables["values"]]
    for name in (name for name in names if name.endswith("_ratio")):
        score = _SCORES.get(name.removesuffix("_ratio"))
        if score is None:
            continue
        for source in sources:
            at_source = result.by_source[source]
            if math.isnan(at_source.values.get(name, math.nan)):
                continue
            low, high = at_source.ends(name)
            apart = low > 1 or high < 1
            text = (
                f"The {score} of {source} is {format_number(at_source.values[name], '.2f')} times "
                "as high on the items closest to the training set as on the farthest"
                f"{format_interval(level, (low, high))}"
                + ("." if apart else ", which leaves open whether it differs.")
                + (" Such items may also be easier." if apart and low > 1 else "")
            )
            state = "" if math.isnan(low) else "differs" if apart else "not found"
            yield Finding(text, name, source, state)


METRIC = Metric(
    name="overlap",
    title="Overlap with the training set",
    values=values,
    needs=needs,
    options=Options,
    rows=rows,
    reduce=reduce,
    citation=(
        "Choubey et al. (2023), Lexical Repetitions Lead to Rote Learning: Unveiling the Impact of "
        "Lexical Overlap in Train and Test Reference Summaries"
    ),
    match=None,
    permutations=1_999,
    resample=resample,
    intervals=intervals,
    interval_method=(
        "jackknife over items, of ratios on the log (Student's t); rank correlation after Bonett "
        "and Wright"
    ),
    per_text=per_text,
    notes=notes,
    tables=tables,
    charts=CHARTS,
    check=check,
    settle=settled,
    inputs=False,
    layout=LAYOUT,
    says="How close items are to the training set, and whether scores rise with that.",
    section="corpus",
    findings=findings,
    circular=("training set", "overlap", 1.0),
    place=40,
    headlines=(
        Headline(
            "overlap",
            "shares more 4-grams with the training set",
            "shares fewer 4-grams with the training set",
            unit="of the 4-grams",
            percent=True,
        ),
    ),
    method=method,
    effort="light",
    report=lambda context: context.lacks("train") or {"train": context.train},
)
