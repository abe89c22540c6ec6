"""From answers, one record each, to values of groups and tests between models."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from statistics import NormalDist

import numpy as np

from rote.compare.clusters import mean_error, numbered, share_interval
from rote.compare.exact_tests import mcnemar
from rote.compare.permutation import holm
from rote.core.facets import JOINT
from rote.core.result import Row, SourceResult
from rote.corpus.items import Item
from rote.studies._evaluate.answers import SOURCE
from rote.studies._items import grouped

VALUES = {
    "accuracy": ("accuracy", "up"),
    "accuracy_norm": ("accuracy by characters", "up"),
    "perplexity": ("perplexity of the last word", "down"),
    "loglikelihood": ("log-likelihood of the right option", "up"),
    "chance": ("accuracy of chance", "neither"),
    "majority": ("accuracy of the most frequent place", "neither"),
    "unanswered": ("items without an answer", "neither"),
}
_ALWAYS = "majority: the right option always stands at the same place, which says nothing"
_MIXED = "chance, majority: last words are among the items, and cannot be had by lot"
_ENOUGH = 20
"""Last words of which a model should have one right."""


def grouped_rows(rows: Sequence[Row], by: Sequence[str]) -> dict[str, list[Row]]:
    """The rows of each group, named by its fields."""
    groups = grouped([row[field] for field in by] for row in rows)
    return {name: [rows[place] for place in own.tolist()] for name, own in groups.items()}


def source(rows: Sequence[Row], level: float) -> SourceResult:
    """The values of one group."""
    values: dict[str, float] = {}
    intervals: dict[str, tuple[float, float]] = {}
    notes: list[str] = []
    bases = numbered([_base(row) for row in rows])
    for name, field in (("accuracy", "acc"), ("accuracy_norm", "acc_norm")):
        told = [row[field] for row in rows if row.get(field) is not None]
        if told or field == "acc":
            values[name] = sum(told) / len(told) if told else math.nan
        if told and level:
            asked = np.array([_number(row.get(field)) for row in rows])
            intervals[name] = share_interval(asked, bases, level)
    if math.isnan(values["accuracy"]):
        notes.append("accuracy: no item has both an answer and a right option")
    scored = np.array([_scored(row) for row in rows], bool)
    right = np.array([row["loglikelihoods"][row["answer"]] for row in rows if _scored(row)])
    single = scored & np.array([len(row["options"]) == 1 for row in rows], bool)
    last = np.array([row["loglikelihoods"][0] for row, one in zip(rows, single) if one])
    if len(last):
        values["perplexity"], reach = perplexity(last, bases[single], level)
        if level:
            intervals["perplexity"] = reach
    values["loglikelihood"] = float(right.mean()) if len(right) else math.nan
    if level and len(right) > 1:
        reach_of = NormalDist().inv_cdf((1 + level) / 2) * mean_error(right, bases[scored])
        middle = values["loglikelihood"]
        intervals["loglikelihood"] = (middle - reach_of, middle + reach_of)
    _baselines(rows, values, notes)
    values["unanswered"] = float(sum("unanswered" in row for row in rows))
    tokens = sum(sum(row.get("tokens", ())) for row in rows)
    return SourceResult(len(rows), tokens, values, intervals, tuple(notes))


def _base(row: Row) -> str:
    """What the item of an answer was made from; its fields stand in the row."""
    return Item(row["id"], row["task"], "", (), None, meta=row).base


def _number(told: int | None) -> float:
    return math.nan if told is None else float(told)


def perplexity(
    loglikelihoods: np.ndarray, bases: np.ndarray, level: float
) -> tuple[float, tuple[float, float]]:
    """exp(- mean log-likelihood) of whole words, with the interval of the mean carried over."""
    middle = -float(loglikelihoods.mean())
    error = mean_error(loglikelihoods, bases) if level else math.nan
    reach = NormalDist().inv_cdf((1 + level) / 2) * error
    return _exp(middle), (_exp(middle - reach), _exp(middle + reach))


def _exp(number: float) -> float:
    try:
        return math.exp(number)
    except OverflowError:
        return math.inf


def _scored(row: Row) -> bool:
    return row["answer"] is not None and "unanswered" not in row


def _baselines(rows: Sequence[Row], values: dict[str, float], notes: list[str]) -> None:
    """What those who do not read the question get: by lot, and by the most frequent place."""
    known = [row for row in rows if len(row["options"]) > 1 and row["answer"] is not None]
    if not known:
        return
    if any(len(row["options"]) == 1 for row in rows):
        values["chance"] = values["majority"] = math.nan
        notes.append(_MIXED)
        return
    values["chance"] = sum(1 / len(row["options"]) for row in known) / len(known)
    places = Counter(row["answer"] for row in known)
    if len(places) > 1:
        values["majority"] = places.most_common(1)[0][1] / len(known)
    else:
        values["majority"] = math.nan
        notes.append(_ALWAYS)


def described(sources: Mapping[str, SourceResult]) -> list[Row]:
    """What the values are, those alone that a group has."""
    return [
        {
            "value": name,
            "title": title,
            "higher": higher,
            "length_sensitive": False,
            "share": name.startswith("accuracy"),
        }
        for name, (title, higher) in VALUES.items()
        if any(name in one.values for one in sources.values())
    ]


def tests(rows: Sequence[Row], by: Sequence[str]) -> list[Row]:
    """McNemar between every two models on the items of a group that both answered."""
    found: list[Row] = []
    others = [field for field in by if field != SOURCE]
    models = list(dict.fromkeys(row[SOURCE] for row in rows))
    for group, own in grouped_rows(rows, others).items():
        told: dict[str, list[tuple[int | None, str]]] = {name: [] for name in models}
        for row in own:
            told[row[SOURCE]].append((row["acc"], _base(row)))
        for one, other in combinations(models, 2):
            both = [
                (a, b, base)
                for (a, base), (b, _) in zip(told[one], told[other])
                if a is not None and b is not None
            ]
            first = np.array([a for a, _, _ in both], bool)
            second = np.array([b for _, b, _ in both], bool)
            test = mcnemar(first, second, numbered([base for _, _, base in both]))
            found.append(
                {
                    **dict(zip(others, group.split(JOINT))),
                    "one": one,
                    "other": other,
                    "items": len(both),
                    "only_one": test.lost,
                    "only_other": test.gained,
                    "p": test.p,
                }
            )
    corrected = holm([row["p"] for row in found])
    return [{**row, "p_corrected": p} for row, p in zip(found, corrected)]


def unanswered(rows: Sequence[Row]) -> list[Row]:
    """The items without an answer, and why."""
    return [
        {SOURCE: row[SOURCE], "task": row["task"], "id": row["id"], "why": row["unanswered"]}
        for row in rows
        if "unanswered" in row
    ]


def notes(rows: Sequence[Row]) -> Iterator[str]:
    reasons = Counter((row[SOURCE], row["unanswered"]) for row in rows if "unanswered" in row)
    for (name, why), count in reasons.items():
        yield f"{name}: {count:,} items have no answer and count nowhere ({why})"
    # A backend that does not see the likeliest token never says greedy, here or elsewhere.
    for name in dict.fromkeys(row[SOURCE] for row in rows):
        own = [row for row in rows if row[SOURCE] == name]
        last = [row for row in own if _is_last_word(row)]
        if len(last) >= _ENOUGH and not any(any(row.get("greedy", ())) for row in own):
            yield (
                f"{name}: not one last word was the likeliest. Either it is that bad, or its "
                "backend does not tell which token is likeliest, and the accuracy means nothing"
            )


def _is_last_word(row: Row) -> bool:
    return len(row["options"]) == 1 and "unanswered" not in row
