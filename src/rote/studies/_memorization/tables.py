"""What a study of memorization gives: mean scores, prediction, halves, membership, frequency."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.compare.clusters import mean_of as clustered_mean
from rote.compare.correlation import bonett_wright_interval, spearman
from rote.core.facets import JOINT
from rote.core.progress import several as counted
from rote.core.result import Row, SourceResult
from rote.core.table import estimate
from rote.corpus.items import Item
from rote.studies._items import (
    HALVES,
    Floats,
    Groups,
    Labels,
    Share,
    described,
    estimates,
    halves,
    named,
    repeated,
)
from rote.studies._memorization import controls, extraction
from rote.studies._memorization import samples as drawing
from rote.studies._memorization import scores as known
from rote.studies._memorization.prediction import predict
from rote.studies._memorization.scores import (
    ATTACKS,
    REFERRED,
    Attack,
    Scores,
    separation,
)

_HALVED = ("tde_likelihood", "neighbours")
"""The scores of the paper's table 4; a loss decides about the answer itself, so that halves by it
would say nothing."""
_FREQUENCIES = ("copies", "ips", "held")
_FEW = 4
EVERY = "all items"
FALSE_ALARMS = 0.01
"""Share of non-members that may be taken for members."""
_ENDS = ("low", "high")
_NO_GROUPS: Groups = {}


@dataclass(frozen=True, slots=True)
class Scoring:
    """What the tables are made from. Groups are those of the items, the same for every model."""

    items: Sequence[Item]
    groups: Mapping[str, Labels]
    scores: Mapping[str, Scores]
    """By the name of the model."""
    correct: Floats
    member: Floats
    frequencies: known.Frequencies | None
    bases: Labels
    """Items with the same number are made from one another."""
    order: Labels
    """The place of each item in an order that is not that of the file."""
    options: Any
    cuts: Sequence[extraction.Cut] = ()
    windows: extraction.Windows | None = None
    samples: drawing.Samples | None = None

    @property
    def attacks(self) -> tuple[Attack, ...]:
        """Those of every model, and where there is a reference model those that need it."""
        referred = any("reference" in one.by_attack for one in self.scores.values())
        return (*ATTACKS, *REFERRED) if referred else ATTACKS


def sources(scored: Scoring) -> dict[str, SourceResult]:
    """The mean of every score over the right instances of each group, model by model."""
    return {
        JOINT.join((model, group)): _source(scored, model, own)
        for model in scored.scores
        for group, own in scored.groups.items()
    }


def values(scored: Scoring) -> list[Row]:
    return described({a.name: a.title for a in scored.attacks}, shares=("tde_accuracy",))


def all_tables(scored: Scoring) -> dict[str, Sequence[Row]]:
    found: dict[str, Sequence[Row]] = {
        "prediction": list(_prediction(scored)),
        "halves": list(_halves(scored)),
        "membership": list(_membership(scored)),
        "overlap": list(_overlap(scored)),
        "topic": list(_topic(scored)),
        "frequency": list(_frequency(scored)),
        "items": list(_items(scored)),
    }
    if scored.windows is not None:
        found["extraction"] = list(_extraction(scored))
        found["windows"] = list(_windows(scored))
    if scored.samples is not None:
        found["samples"] = list(_samples(scored))
        found["drawn_membership"] = list(_drawn_membership(scored, scored.samples))
    return found


def notes(scored: Scoring, found: Mapping[str, Sequence[Row]]) -> Iterator[str]:
    """What a reader of the numbers must know."""
    yield from controls.notes(found["topic"], found["membership"])
    several = any(len(item.options) > 1 for item in scored.items)
    if several and not _answered(scored):
        yield (
            "nobody says which items were answered rightly: `rote evaluate` does, and its results "
            "can be given here"
        )
    single = sum(len(item.options) == 1 for item in scored.items)
    if single and _answered(scored):
        yield f"one option only: {counted(single, 'item')}; no score of both right and wrong ones"
    if scored.cuts:
        short = len(scored.items) - len({one.item for one in scored.cuts})
        if short:
            yield f"shorter than a window of --prefix and --suffix words: {counted(short, 'text')}"
    if (scored.member == 1).any() and not (scored.member == 0).any():
        yield "all items are members: nothing to tell them from"
    if twice := repeated(scored.items, scored.groups):
        yield (
            f"more than once in a group (same task and id): {counted(twice, 'item')}. Answers of "
            "several models do not go together: give those of the model that is scored"
        )


def _source(scored: Scoring, model: str, own: Labels) -> SourceResult:
    columns = {a.name: scored.scores[model].of_right(a.name)[own] for a in scored.attacks}
    level, bases = scored.options.interval, scored.bases[own]
    values, intervals = estimates(columns, bases, level, shares=("tde_accuracy",))
    lacking = [f"{name}: {_why_not(name)}" for name, value in values.items() if math.isnan(value)]
    words = sum(len(scored.items[i].instances()[0].split()) for i in own.tolist())
    return SourceResult(len(own), words, values, intervals, tuple(lacking))


def _why_not(attack: str) -> str:
    return {
        "neighbours": "no neighbours (--neighbours makes some)",
        "min_k_plus": "this backend does not give the whole distribution",
        "error_zone": "every token is the likeliest one, or both models agree",
    }.get(attack, "no item has one, or nobody says which option is right")


def _named(scored: Scoring, model: str, group: str) -> dict[str, Any]:
    return {"model": model, **named(() if group == EVERY else scored.options.by, group)}


def _each(scored: Scoring, more: Groups = _NO_GROUPS) -> Iterator[tuple[Row, Labels, Scores]]:
    """Every model and group, as the rows of a table begin."""
    for model, scores in scored.scores.items():
        for group, own in {**scored.groups, **more}.items():
            yield _named(scored, model, group), own, scores


def _answered(scored: Scoring) -> bool:
    return not np.isnan(scored.correct).all()


def _prediction(scored: Scoring) -> Iterator[Row]:
    """Tables E to J: do the scores of the right and the wrong option predict right answers?"""
    for begin, own, scores in _each(scored) if _answered(scored) else ():
        for attack in scored.attacks:
            columns = {
                "right": scores.of_right(attack.name)[own],
                "wrong": scores.of_wrong(attack.name)[own],
            }
            if np.isnan(columns["right"]).all():
                continue
            if np.isnan(columns["wrong"]).all():
                del columns["wrong"]
            found = predict(
                np.column_stack(list(columns.values())),
                list(columns),
                scored.correct[own],
                scored.order[own],
                scored.bases[own],
                level=scored.options.interval,
                seed=scored.options.seed,
            )
            yield {**begin, "attack": attack.name, **found}


def _halves(scored: Scoring) -> Iterator[Row]:
    """Table 4: accuracy of the items with a low and with a high score."""
    for begin, own, scores in _each(scored) if _answered(scored) else ():
        for attack in _HALVED:
            right = scores.of_right(attack)[own]
            if np.isnan(right).all():
                continue
            several = scores.differences(attack)[own]
            # A single option has nothing to be compared with: its score itself.
            column = np.where(np.isnan(several), right, several)
            half = halves(column, np.zeros(len(own), np.int64))
            for number, name in HALVES.items():
                part = own[half == number]
                share = Share.of(scored.correct[part], scored.bases[part])
                ends = share.interval(scored.options.interval)
                about = {"attack": attack, "half": name, "items": len(part)}
                yield {**begin, **about, **estimate("accuracy", share.value, ends, _ENDS)}


def _membership(scored: Scoring) -> Iterator[Row]:
    """Members of each group against all non-members."""
    for begin, own, scores in _each(scored):
        for attack in scored.attacks:
            # Turned so that higher speaks for membership.
            found = _separated(scored, attack.sign * scores.of_right(attack.name), own)
            if found["members"] and found["others"]:
                yield {**begin, "attack": attack.name, **found}


def _separated(scored: Scoring, column: Floats, own: Labels) -> dict[str, Any]:
    """How well a score tells the members of a group from all non-members."""
    members, others = own[scored.member[own] == 1], np.flatnonzero(scored.member == 0)
    return separation(
        column[members],
        column[others],
        bases=(scored.bases[members], scored.bases[others]),
        alarms=FALSE_ALARMS,
        level=scored.options.interval,
    )


def _drawn_membership(scored: Scoring, samples: drawing.Samples) -> Iterator[Row]:
    """Membership by what is drawn after the windows of an item."""
    item = np.array([one.item for one in scored.cuts])
    for model, columns in samples.alike.items():
        for attack, of, column in drawing.item_scores(columns, item, len(scored.items)):
            for group, own in scored.groups.items():
                found = _separated(scored, column, own)
                if found["members"] and found["others"]:
                    yield {**_named(scored, model, group), "attack": attack, "of": of, **found}


def _overlap(scored: Scoring) -> Iterator[Row]:
    """How much of members and others occurs in the training data: what separates them for free."""
    if np.isnan(scored.member).all():
        return
    kinds = {"members": scored.member == 1, "others": scored.member == 0}
    if scored.frequencies is not None:
        for kind, here in kinds.items():
            held = scored.frequencies.held[here]
            yield _overlap_row(scored, kind, "corpus", held, scored.bases[here])
    members, others = (_texts(scored, here) for here in kinds.values())
    for kind, own, held_in, (_, texts) in (
        ("members", members, "others", others),
        ("others", others, "members", members),
    ):
        shares = controls.overlap_of_groups(texts, own[1], scored.options.n)
        yield _overlap_row(scored, kind, held_in, shares, scored.bases[own[0]])


def _texts(scored: Scoring, here: NDArray[np.bool_]) -> tuple[Labels, list[str]]:
    """Items with a right instance, and those instances."""
    chosen = [i for i in np.flatnonzero(here).tolist() if scored.items[i].answer is not None]
    texts = [scored.items[i].instances()[scored.items[i].answer or 0] for i in chosen]
    return np.array(chosen, np.int64), texts


def _topic(scored: Scoring) -> Iterator[Row]:
    """How well words alone tell the members of each group from all non-members."""
    others, theirs = _texts(scored, scored.member == 0)
    for group, own in scored.groups.items():
        here = np.zeros(len(scored.items), np.bool_)
        here[own] = scored.member[own] == 1
        members, ours = _texts(scored, here)
        if ours and theirs:
            found = controls.by_words(
                *(ours, theirs, (scored.bases[members], scored.bases[others])),
                level=scored.options.interval,
                seed=scored.options.seed,
            )
            yield {**named(scored.options.by, group), **found}


def _overlap_row(
    scored: Scoring, kind: str, held_in: str, shares: Floats, bases: Labels
) -> dict[str, Any]:
    found, count = clustered_mean(shares, bases), int((~np.isnan(shares)).sum())
    reach = found.interval(scored.options.interval, share=True)
    about = {"of": kind, "in": held_in, "n": scored.options.n, "items": count}
    return {**about, **estimate("share", found.value, reach, _ENDS)}


def _frequency(scored: Scoring) -> Iterator[Row]:
    """Does a score go with how often the item occurs in the corpus?"""
    if scored.frequencies is None:
        return
    # Groups may be made by the frequency itself: only all items together vary in it then.
    whole = {EVERY: np.arange(len(scored.items))} if len(scored.groups) > 1 else {}
    for begin, own, scores in _each(scored, whole):
        for attack in scored.attacks:
            column = scores.of_right(attack.name)[own]
            for name in _FREQUENCIES:
                held = getattr(scored.frequencies, name)[own]
                both = ~np.isnan(column) & ~np.isnan(held)
                if both.sum() < _FEW:
                    continue
                rho = spearman(column[both], held[both])
                count = len(np.unique(scored.bases[own][both]))
                reach = bonett_wright_interval(rho, count, scored.options.interval)
                about = {"attack": attack.name, "frequency": name, "items": int(both.sum())}
                yield {**begin, **about, **estimate("spearman", rho, reach, _ENDS)}


def _extraction(scored: Scoring) -> Iterator[Row]:
    """How many windows of each group so many draws extract."""
    if scored.windows is not None:
        level = scored.options.interval
        for model, group, row in extraction.rows(
            scored.windows, scored.groups, scored.bases, level
        ):
            yield {**_named(scored, model, group), **row}


def _samples(scored: Scoring) -> Iterator[Row]:
    """What was drawn, against what follows in the text."""
    if scored.samples is not None:
        item = np.array([one.item for one in scored.cuts])
        found = (scored.groups, scored.bases, scored.options.interval)
        for model, group, row in drawing.rows(scored.samples, item, *found):
            yield {**_named(scored, model, group), **row}


def _windows(scored: Scoring) -> Iterator[Row]:
    if scored.windows is not None:
        group_of = {i: name for name, own in scored.groups.items() for i in own.tolist()}
        for model, number, row in extraction.window_rows(scored.windows, scored.items):
            yield {**_named(scored, model, group_of[number]), **row}


def _items(scored: Scoring) -> Iterator[Row]:
    frequencies = scored.frequencies
    group_of = {i: name for name, own in scored.groups.items() for i in own.tolist()}
    for model, scores in scored.scores.items():
        # Once for all items: a column has as many entries as there are items.
        right = {a.name: scores.of_right(a.name) for a in scored.attacks}
        wrong = {f"{a.name}_wrong": scores.of_wrong(a.name) for a in scored.attacks}
        for number, item in enumerate(scored.items):
            several = scores.right[number] >= 0 and len(scores.wrong[number])
            yield {
                **_named(scored, model, group_of[number]),
                "id": item.id,
                "correct": _plain(scored.correct[number]),
                "member": _plain(scored.member[number]),
                **{
                    name: None if frequencies is None else getattr(frequencies, name)[number]
                    for name in _FREQUENCIES
                },
                **{name: column[number] for name, column in right.items()},
                **({name: column[number] for name, column in wrong.items()} if several else {}),
            }


def _plain(value: float) -> bool | None:
    return None if math.isnan(value) else bool(value)
