"""The values, tables and charts of a study of memorization."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.compare.clusters import clustered_mean
from rote.compare.correlation import bonett_wright_interval, spearman
from rote.core.chart import Chart, make_chart
from rote.core.facets import JOINT
from rote.core.numbers import format_number
from rote.core.progress import several as counted
from rote.core.result import Result, SourceResult
from rote.core.table import Column, Pivot, Row, Rows, Table, defined, ends, estimate, make_columns
from rote.corpus.items import Item
from rote.studies import _items
from rote.studies import _memorization_classifiers as classifiers
from rote.studies import _memorization_extraction as extraction
from rote.studies import _memorization_scores as attacks
from rote.studies import _memorization_unprompted as unprompted
from rote.studies._items import Floats, Groups, Labels, Share
from rote.studies._memorization_classifiers import predict

_HALVED = ("tde_likelihood", "neighbours")
"""The scores of the paper's table 4; a loss decides about the answer itself, so that halves by it
would say nothing."""
_FREQUENCIES = {"copies": "copies", "ips": "ips", "held": "coverage"}
"""Columns of the table, and the fields of `Frequencies` that they show."""
_FEW = 4
EVERY = "all items"
_LACKING = {
    "neighbours": "no neighbours (--neighbours makes some)",
    "min_k_plus": "this backend does not return the full distribution",
    "error_zone": "every token is the likeliest one, or both models agree",
}
FALSE_ALARMS = 0.01
"""Share of non-members that may be taken for members."""
_ENDS = ("low", "high")
_NO_GROUPS: Groups = {}


@dataclass(frozen=True, slots=True)
class MemorizationScoring:
    """What the tables are made from. Groups are those of the items, the same for every model."""

    items: Sequence[Item]
    groups: Mapping[str, Labels]
    scores: Mapping[str, attacks.AttackScores]
    """By the name of the model."""
    correct: Floats
    member: Floats
    frequencies: attacks.Frequencies | None
    bases: Labels
    """Items with the same number are made from one another."""
    order: Labels
    """The place of each item in an order that is not that of the file."""
    options: Any
    cuts: Sequence[extraction.TextWindow] = ()
    windows: extraction.WindowChances | None = None
    samples: extraction.DrawnSamples | None = None

    @property
    def attacks(self) -> tuple[attacks.Attack, ...]:
        """Those of every model, and where there is a reference model those that need it."""
        referred = any("reference" in scores.by_attack for scores in self.scores.values())
        return (*attacks.ATTACKS, *attacks.REFERENCE_ATTACKS) if referred else attacks.ATTACKS


def source_results(scored: MemorizationScoring) -> dict[str, SourceResult]:
    """The mean of every score over the right instances of each group, model by model."""
    return {
        JOINT.join((model, group)): _source(scored, model, group_items)
        for model in scored.scores
        for group, group_items in scored.groups.items()
    }


def value_rows(scored: MemorizationScoring) -> list[Row]:
    return _items.describe_values(
        {a.name: a.title for a in scored.attacks}, shares=("tde_accuracy",)
    )


def build_tables(scored: MemorizationScoring) -> dict[str, Sequence[Row]]:
    tables: dict[str, Sequence[Row]] = {
        "prediction": list(_prediction_rows(scored)),
        "halves": list(_half_rows(scored)),
        "membership": list(_membership_rows(scored)),
        "overlap": list(_overlap_rows(scored)),
        "topic": list(_topic_rows(scored)),
        "frequency": list(_frequency_rows(scored)),
        "items": list(_item_rows(scored)),
    }
    about = scored.groups, scored.bases, scored.options.interval
    if scored.windows is not None:
        extracted = extraction.extraction_rows(scored.windows, *about)
        tables["extraction"] = list(_start_rows(scored, extracted))
        group_of = _items.group_by_item(scored.groups)
        windows = extraction.window_rows(scored.windows, scored.items)
        by_group = ((model, group_of[number], row) for model, number, row in windows)
        tables["windows"] = list(_start_rows(scored, by_group))
    if scored.samples is not None:
        item = np.array([cut.item for cut in scored.cuts])
        samples = extraction.sample_rows(scored.samples, item, *about)
        tables["samples"] = list(_start_rows(scored, samples))
        tables["drawn_membership"] = list(_drawn_membership_rows(scored, scored.samples))
    return tables


def notes(scored: MemorizationScoring, tables: Mapping[str, Sequence[Row]]) -> Iterator[str]:
    yield from classifiers.topic_notes(tables["topic"], tables["membership"])
    several = any(len(item.options) > 1 for item in scored.items)
    if several and not _has_answers(scored):
        yield (
            "no item has a recorded answer: `rote evaluate` does, and its results can be given here"
        )
    single = sum(len(item.options) == 1 for item in scored.items)
    if single and _has_answers(scored):
        yield f"one option only: {counted(single, 'item')}; no score of both right and wrong ones"
    if scored.cuts:
        short = len(scored.items) - len({cut.item for cut in scored.cuts})
        if short:
            yield f"shorter than a window of --prefix and --suffix words: {counted(short, 'text')}"
    if (scored.member == 1).any() and not (scored.member == 0).any():
        yield "all items are members: no non-members to compare with"
    if twice := _items.count_repeated(scored.items, scored.groups):
        yield (
            f"duplicates within a group (same task and id): {counted(twice, 'item')}. Answers of "
            "several models do not mix: give those of the scored model"
        )


def _source(scored: MemorizationScoring, model: str, group_items: Labels) -> SourceResult:
    columns = {a.name: scored.scores[model].of_right(a.name)[group_items] for a in scored.attacks}
    level, bases = scored.options.interval, scored.bases[group_items]
    values, intervals = _items.estimate_columns(columns, bases, level, shares=("tde_accuracy",))
    lacking = [
        f"{name}: {_LACKING.get(name, 'no item has one, or no item has a recorded right option')}"
        for name, value in values.items()
        if math.isnan(value)
    ]
    words = sum(len(scored.items[i].instances()[0].split()) for i in group_items.tolist())
    return SourceResult(len(group_items), words, values, intervals, tuple(lacking))


def _row_start(scored: MemorizationScoring, model: str, group: str) -> dict[str, Any]:
    return {
        "model": model,
        **_items.group_columns(() if group == EVERY else scored.options.by, group),
    }


def _each_group(
    scored: MemorizationScoring, more: Groups = _NO_GROUPS
) -> Iterator[tuple[Row, Labels, attacks.AttackScores]]:
    """Every model and group, as the rows of a table begin."""
    for model, scores in scored.scores.items():
        for group, group_items in {**scored.groups, **more}.items():
            yield _row_start(scored, model, group), group_items, scores


def _has_answers(scored: MemorizationScoring) -> bool:
    return not np.isnan(scored.correct).all()


def _prediction_rows(scored: MemorizationScoring) -> Iterator[Row]:
    """Tables E to J: do the scores of the right and the wrong option predict right answers?"""
    for begin, group_items, scores in _each_group(scored) if _has_answers(scored) else ():
        for attack in scored.attacks:
            right, wrong = scores.of_right(attack.name), scores.of_wrong(attack.name)
            columns = {"right": right[group_items], "wrong": wrong[group_items]}
            if np.isnan(columns["right"]).all():
                continue
            if np.isnan(columns["wrong"]).all():
                del columns["wrong"]
            prediction = predict(
                np.column_stack(list(columns.values())),
                list(columns),
                scored.correct[group_items],
                scored.order[group_items],
                scored.bases[group_items],
                level=scored.options.interval,
                seed=scored.options.seed,
            )
            yield {**begin, "attack": attack.name, **prediction}


def _half_rows(scored: MemorizationScoring) -> Iterator[Row]:
    """Table 4: accuracy of the items with a low and with a high score."""
    for begin, group_items, scores in _each_group(scored) if _has_answers(scored) else ():
        for attack in _HALVED:
            right = scores.of_right(attack)[group_items]
            if np.isnan(right).all():
                continue
            several = scores.differences(attack)[group_items]
            # A single option has nothing to be compared with: its score itself.
            column = np.where(np.isnan(several), right, several)
            half = _items.split_halves(column, np.zeros(len(group_items), np.int64))
            for number, name in _items.HALVES.items():
                part = group_items[half == number]
                share = Share.of(scored.correct[part], scored.bases[part])
                ends = share.interval(scored.options.interval)
                about = {"attack": attack, "half": name, "items": len(part)}
                yield {**begin, **about, **estimate("accuracy", share.value, ends, _ENDS)}


def _membership_rows(scored: MemorizationScoring) -> Iterator[Row]:
    """Members of each group against all non-members."""
    for begin, group_items, scores in _each_group(scored):
        for attack in scored.attacks:
            # Turned so that higher speaks for membership.
            row = _separate_members(scored, attack.sign * scores.of_right(attack.name), group_items)
            if row["members"] and row["others"]:
                yield {**begin, "attack": attack.name, **row}


def _separate_members(
    scored: MemorizationScoring, column: Floats, group_items: Labels
) -> dict[str, Any]:
    """How well a score tells the members of a group from all non-members."""
    members = group_items[scored.member[group_items] == 1]
    others = np.flatnonzero(scored.member == 0)
    bases, level = (scored.bases[members], scored.bases[others]), scored.options.interval
    return attacks.separation(
        column[members], column[others], bases=bases, alarms=FALSE_ALARMS, level=level
    )


def _drawn_membership_rows(
    scored: MemorizationScoring, samples: extraction.DrawnSamples
) -> Iterator[Row]:
    """Membership by what is drawn after the windows of an item."""
    item = np.array([cut.item for cut in scored.cuts])
    for model, columns in samples.alike.items():
        for attack, of, column in extraction.item_scores(columns, item, len(scored.items)):
            for group, group_items in scored.groups.items():
                row = _separate_members(scored, column, group_items)
                if row["members"] and row["others"]:
                    yield {**_row_start(scored, model, group), "attack": attack, "of": of, **row}


def _overlap_rows(scored: MemorizationScoring) -> Iterator[Row]:
    """How much of members and others occurs in the training data: what separates them for free."""
    if np.isnan(scored.member).all():
        return
    kinds = {"members": scored.member == 1, "others": scored.member == 0}
    if scored.frequencies is not None:
        for kind, here in kinds.items():
            coverage = scored.frequencies.coverage[here]
            yield _overlap_row(scored, kind, "corpus", coverage, scored.bases[here])
    members, others = (_right_instances(scored, here) for here in kinds.values())
    for kind, group, held_in, (_, texts) in (
        ("members", members, "others", others),
        ("others", others, "members", members),
    ):
        shares = classifiers.group_overlap(texts, group[1], scored.options.n)
        yield _overlap_row(scored, kind, held_in, shares, scored.bases[group[0]])


def _right_instances(
    scored: MemorizationScoring, here: NDArray[np.bool_]
) -> tuple[Labels, list[str]]:
    """Items with a right instance, and those instances."""
    chosen = [i for i in np.flatnonzero(here).tolist() if scored.items[i].answer is not None]
    texts = [scored.items[i].instances()[scored.items[i].answer or 0] for i in chosen]
    return np.array(chosen, np.int64), texts


def _topic_rows(scored: MemorizationScoring) -> Iterator[Row]:
    """How well words alone tell the members of each group from all non-members."""
    others, theirs = _right_instances(scored, scored.member == 0)
    for group, group_items in scored.groups.items():
        here = np.zeros(len(scored.items), np.bool_)
        here[group_items] = scored.member[group_items] == 1
        members, ours = _right_instances(scored, here)
        if ours and theirs:
            bases, options = (scored.bases[members], scored.bases[others]), scored.options
            row = classifiers.word_baseline(
                ours, theirs, bases, level=options.interval, seed=options.seed
            )
            yield {**_items.group_columns(scored.options.by, group), **row}


def _overlap_row(
    scored: MemorizationScoring, kind: str, held_in: str, shares: Floats, bases: Labels
) -> dict[str, Any]:
    average, count = clustered_mean(shares, bases), int((~np.isnan(shares)).sum())
    reach = average.interval(scored.options.interval, share=True)
    about = {"of": kind, "in": held_in, "n": scored.options.n, "items": count}
    return {**about, **estimate("share", average.value, reach, _ENDS)}


def _frequency_rows(scored: MemorizationScoring) -> Iterator[Row]:
    """Does a score go with how often the item occurs in the corpus?"""
    if scored.frequencies is None:
        return
    # Groups may be made by the frequency itself: only all items together vary in it then.
    all_items = {EVERY: np.arange(len(scored.items))} if len(scored.groups) > 1 else {}
    for begin, group_items, scores in _each_group(scored, all_items):
        for attack in scored.attacks:
            column = scores.of_right(attack.name)[group_items]
            for name, field in _FREQUENCIES.items():
                frequency = getattr(scored.frequencies, field)[group_items]
                both = ~np.isnan(column) & ~np.isnan(frequency)
                if both.sum() < _FEW:
                    continue
                rho = spearman(column[both], frequency[both])
                count = len(np.unique(scored.bases[group_items][both]))
                reach = bonett_wright_interval(rho, count, scored.options.interval)
                about = {"attack": attack.name, "frequency": name, "items": int(both.sum())}
                yield {**begin, **about, **estimate("spearman", rho, reach, _ENDS)}


def _start_rows(scored: MemorizationScoring, rows: Iterable[tuple[str, str, Row]]) -> Iterator[Row]:
    """Rows of a model and a group, as the rows of all tables begin."""
    for model, group, row in rows:
        yield {**_row_start(scored, model, group), **row}


def _item_rows(scored: MemorizationScoring) -> Iterator[Row]:
    frequencies = scored.frequencies
    group_of = _items.group_by_item(scored.groups)
    for model, scores in scored.scores.items():
        # Once for all items: a column has as many entries as there are items.
        right = {a.name: scores.of_right(a.name) for a in scored.attacks}
        wrong = {f"{a.name}_wrong": scores.of_wrong(a.name) for a in scored.attacks}
        for number, item in enumerate(scored.items):
            several = scores.right[number] >= 0 and len(scores.wrong[number])
            yield {
                **_row_start(scored, model, group_of[number]),
                "id": item.id,
                "correct": _as_bool(scored.correct[number]),
                "member": _as_bool(scored.member[number]),
                **{
                    name: None if frequencies is None else getattr(frequencies, field)[number]
                    for name, field in _FREQUENCIES.items()
                },
                **{name: column[number] for name, column in right.items()},
                **({name: column[number] for name, column in wrong.items()} if several else {}),
            }


def _as_bool(value: float) -> bool | None:
    return None if math.isnan(value) else bool(value)


_LINES = 40
TITLES = {
    "tde_accuracy": "TDE accuracy",
    "tde_likelihood": "TDE likelihood",
    "loss": "loss",
    "neighbours": "neighbours",
    "zlib": "zlib",
    "min_k": "Min-K%",
    "min_k_plus": "Min-K%++",
    "reference": "reference",
    "error_zone": "error zone",
}
_SHORT = TITLES | {"tde_accuracy": "TDE", "tde_likelihood": "TDE lik.", "neighbours": "neighb."}


def _format_coefficients(row: Row) -> str:
    lines = []
    for coefficient in row["coefficients"]:
        p = coefficient["p"]
        p = "–" if not defined(p) else "< 0.001" if p < 0.001 else format_number(p, ".3f")
        lines.append(f"{coefficient['of']} {format_number(coefficient['value'], '+.2f')} (p {p})")
    return ", ".join(lines)


def _score_column(name: str, title: str) -> Column:
    auc = Column(f"{name}_auc", kind="share", ends=ends(f"{name}_auc"))
    return Column(f"{name}_f1", title, "share", ends=ends(f"{name}_f1"), also=auc)


def _alarms_title(rows: Rows, result: Result) -> str:
    return f"Members found at {max(row['false_alarms'] for row in rows):.1%} false alarms"


LAYOUT = (
    *(
        Table(
            "membership",
            title,
            make_columns("model group members:count others:count"),
            limit=_LINES,
            # An attack may leave out items, so how many there are is said by the first alone.
            pivot=Pivot("attack", cell, _SHORT),
        )
        for title, (cell,) in (
            ("Members against non-members: AUC", make_columns("auc:number.3~")),
            (_alarms_title, make_columns("found:share~")),
        )
    ),
    *classifiers.TOPIC_LAYOUT,
    Table(
        "overlap",
        "N-grams that members and others share, with the training data and with each other",
        make_columns("of in n:count items:count share:share~low"),
        limit=_LINES,
    ),
    Table(
        "prediction",
        "Right answers predicted from the scores",
        (
            *make_columns("model group attack items:count majority_f1=majority:share"),
            _score_column("logistic", "logistic"),
            _score_column("svm", "SVM"),
            *make_columns("said=coefficients"),
        ),
        note="macro-F1 (AUC), on items not fitted",
        rows=lambda rows, result: [
            {**row, "said": _format_coefficients(row) or row["reason"]} for row in rows
        ],
        limit=_LINES,
    ),
    Table(
        "halves",
        "Accuracy of the halves with low and high scores",
        make_columns("model group attack half items:count accuracy:share~low"),
        limit=_LINES,
    ),
    Table(
        "frequency",
        "Scores against the frequency in the corpus: Spearman's rho",
        make_columns("model group frequency items:count"),
        note="copies: of the whole text; ips: popularity; held: share of its n-grams there; a "
        "dash, or no line: the same for all",
        rows=lambda rows, result: [row for row in rows if defined(row["spearman"])],
        limit=_LINES,
        pivot=Pivot("attack", make_columns("spearman:number.2+~low")[0], _SHORT),
    ),
    *extraction.EXTRACTION_LAYOUT,
    *extraction.SAMPLES_LAYOUT,
    *unprompted.UNPROMPTED_LAYOUT,
    Table("items", "Scores of each item", limit=0, page=False),
)


def _chart_membership(rows: Rows, result: Result) -> Rows:
    drawn = []
    for model in dict.fromkeys(row["model"] for row in rows):
        model_rows = [row for row in rows if row["model"] == model and defined(row["auc"])]
        at = max((row["false_alarms"] for row in model_rows), default=0)
        for value, title in (("auc", "AUC"), ("found", f"found at {at:.1%} false alarms")):
            drawn += [
                {
                    **{name: row[name] for name in ("group", "attack", "model")},
                    "value": row[value],
                    "low": row[f"{value}_low"],
                    "high": row[f"{value}_high"],
                    "title": title,
                }
                for row in model_rows
            ]
    return drawn


def _chart_prediction(rows: Rows, result: Result) -> Rows:
    order = list(TITLES)
    return [
        {**row, "attack": TITLES[row["attack"]]}
        for row in sorted(rows, key=lambda row: order.index(row["attack"]))
    ]


CHARTS = (
    make_chart(
        "membership",
        "Members told from others",
        "membership lines x=group y=value colour=attack panel=title,model ends=low,high",
        names=TITLES,
        domain=(0, 1),
        rows=_chart_membership,
        says="AUC, and members found at few false alarms, over the groups; a line for each attack.",
    ),
    make_chart(
        "prediction",
        "Right answers predicted from the scores",
        "prediction bars x=attack y=logistic_f1 panel=group,model rule=majority_f1",
        titles={"logistic_f1": "macro-F1"},
        domain=(0, 1),
        rows=_chart_prediction,
        says="Macro-F1 by attack; the dashed line is the guess of the majority.",
    ),
    *extraction.EXTRACTION_CHARTS,
    Chart("values", "Values"),
)
