"""Findings that are no difference between two values: what is reached, what rises with what."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from rote.core.facets import EACH, is_input
from rote.core.numbers import format_number
from rote.core.record import Headline
from rote.core.result import Result, SourceResult
from rote.report import wording
from rote.report.report import Statement

_SCORES = {"rouge_2": "ROUGE-2", "entity_recall": "entity recall"}
"""Scores of items that are told, of all that `overlap` can have."""
_REACHED = {"tree_recall": "sentence structures", "meaning_recall": "meanings"}


def of_texts(results: Sequence[Result]) -> list[Statement]:
    """What measures of texts say beside their differences."""
    said: list[Statement] = []
    for result in results:
        sources = [s for s in result.by_source if s != result.reference and not is_input(s)]
        if result.measure == "precision-recall" and result.reference not in (None, EACH):
            said += _recall(result, str(result.reference), sources)
        if result.measure == "overlap":
            said += _rising(result, sources)
    return said


def _recall(result: Result, reference: str, sources: Sequence[str]) -> Iterator[Statement]:
    """How much of the reference a source reaches, beside what the reference reaches of itself."""
    halves = {(row["source"], row["value"]): row for row in result.tables.get("baseline", ())}
    for source in sources:
        found = result.by_source.get(source)
        if found is None:
            continue
        own = [v for v in _REACHED if not math.isnan(found.values.get(v, math.nan))]
        if not own:
            continue
        parts = [
            f"{wording.percent(found.values[value])} of {reference}'s {_REACHED[value]}"
            f"{_interval(result, _ends(found, value), wording.percent)}"
            for value in own
        ]
        text = f"{source} reaches {wording.listed(parts)}."
        if all((name, value) in halves for name in (source, reference) for value in own):
            shown = {
                name: wording.listed([wording.percent(halves[name, v]["mean"]) for v in own])
                for name in (source, reference)
            }
            text += (
                f" Halves of the texts that share no doc_id: {source} {shown[source]}, {reference} "
                f"itself {shown[reference]}."
            )
        yield Statement(text, "found", result.measure, own[0], source=source)


def _rising(result: Result, sources: Sequence[str]) -> Iterator[Statement]:
    """Scores of items that are close to the training set, against those of novel ones."""
    names = [row["value"] for row in result.tables["values"]]
    for name in (name for name in names if name.endswith("_ratio")):
        score = _SCORES.get(name.removesuffix("_ratio"))
        if score is None:
            continue
        for source in sources:
            found = result.by_source.get(source)
            if found is None or math.isnan(found.values.get(name, math.nan)):
                continue
            low, high = _ends(found, name)
            apart = low > 1 or high < 1
            text = (
                f"The {score} of {source} is {format_number(found.values[name], '.2f')} times as "
                "high on the items closest to the training set as on the farthest"
                f"{_interval(result, (low, high))}"
                + ("." if apart else ", which leaves open whether it differs.")
                + (" Such items may also be easier." if apart and low > 1 else "")
            )
            state = "" if math.isnan(low) else "differs" if apart else "not found"
            yield Statement(text, "found", "overlap", name, source=source, state=state)


def extremes(
    result: Result, headline: Headline, aspect: str, sources: Sequence[str]
) -> list[Statement]:
    """Of a study: which source has most of a value and which least."""
    values = {
        name: result.by_source[name].values.get(headline.value, math.nan)
        for name in sources
        if name in result.by_source
    }
    defined = {name: value for name, value in values.items() if not math.isnan(value)}
    if not defined:
        return []
    least, most = min(defined, key=lambda n: defined[n]), max(defined, key=lambda n: defined[n])
    unit = f" {headline.unit}" if headline.unit else ""
    shown = wording.number(defined[most], headline)
    if len(defined) == 1 or defined[least] == defined[most]:
        only = most if len(defined) == 1 else "all sources alike"
        found = result.by_source[most]
        ends = _ends(found, headline.value)
        interval = (
            _interval(result, ends, wording.percent)
            if headline.percent
            else _interval(result, ends)
        )
        text = f"{aspect}: {shown}{unit}, {only}{interval}."
        return [Statement(text, "found", result.measure, headline.value)]
    low = _ends(result.by_source[least], headline.value)[1]
    high = _ends(result.by_source[most], headline.value)[0]
    order = (
        ""
        if math.isnan(low) or math.isnan(high)
        else "; their intervals do not overlap"
        if low < high
        else "; their intervals overlap"
    )
    text = (
        f"{aspect}: from {wording.number(defined[least], headline)} ({least}) to {shown} ({most})"
        f"{unit}{order}."
    )
    return [Statement(text, "found", result.measure, headline.value)]


def popularity(result: Result | None) -> list[Statement]:
    """Whether items that are popular in the corpus are answered better."""
    if result is None:
        return []
    said = []
    for name, found in result.by_source.items():
        gap = found.values.get("accuracy_difference", math.nan)
        popular = found.values.get("ips", math.nan)
        if math.isnan(gap):
            text = (
                f"{name}: the right instances have a mean popularity of "
                f"{format_number(popular, '.2f')} (1 to 10)"
                if not math.isnan(popular)
                else f"{name}: no item has a popularity"
            )
            text += "; no item has a recorded answer."
            said.append(Statement(text, "found", result.measure, "ips", source=name))
            continue
        low, high = _ends(found, "accuracy_difference")
        apart = low > 0 or high < 0
        ends = _interval(result, (low, high), wording.points)
        ends = f", {ends[2:-1]}" if ends else ""
        text = (
            f"{name}: accuracy is {wording.percent(found.values['accuracy_high'])} on the more "
            f"popular half and {wording.percent(found.values['accuracy_low'])} on the less popular "
            f"one ({wording.points(gap)}{ends})"
            + ("." if apart or math.isnan(low) else ": no difference was found.")
        )
        state = "" if math.isnan(low) else "differs" if apart else "not found"
        said.append(
            Statement(
                *(text, "found", result.measure, "accuracy_difference"),
                source=name,
                state=state,
                difference=gap,
            )
        )
    return said


def _interval(
    result: Result,
    ends: tuple[float, float],
    shown: Callable[[float], str] = lambda end: format_number(end, ".2f"),
) -> str:
    """` (95 % interval 0.20 to 0.30)`; nothing where there is none."""
    if math.isnan(ends[0]) or result.interval is None:
        return ""
    low, high = map(shown, ends)
    return f" ({wording.percent(result.interval.level)} interval {low} to {high})"


def _ends(found: SourceResult, value: str) -> tuple[float, float]:
    return found.intervals.get(value, (math.nan, math.nan))
