"""What a person should know after a minute: what differs, by how much, and what was not found.

    for statement in summary(study):
        print(statement.text)

Every statement is a sentence of its own, carries its numbers and names the section that has more.
Nothing is said about causes. No sentence ranks sources by a value that moves with length, unless it
is that at equal length.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rote.core.progress import several
from rote.core.record import Study
from rote.core.registry import of_result
from rote.report import wording
from rote.report.family import span
from rote.report.report import Report, Statement
from rote.report.summary import findings
from rote.report.verdicts import Aspect, Comparison, Verdicts, verdicts

_OPENING, _DIFFERENCES = 5, 3
"""Sentences on the first screen, and how many of them tell of one difference each."""
_NAMED = 2
"""Sources that have a sentence each; more share one."""
_RANKS = {"overall": 0, "difference": 1, "found": 2, "not found": 2}


@dataclass(frozen=True, slots=True)
class Summary:
    """The verdicts of each facet, and the statements, most important first."""

    verdicts: Sequence[Verdicts]
    statements: Sequence[Statement]

    def opening(self) -> list[Statement]:
        """The few that a reader in a hurry gets."""
        ranked = sorted(self.statements, key=lambda one: _RANKS[one.kind])
        differences = [one for one in ranked if one.kind == "difference"]
        later = differences[_DIFFERENCES:]
        first = [one for one in ranked if one not in later]
        kept = [*first, *later][:_OPENING]
        return sorted(kept, key=ranked.index)

    def rest(self) -> list[Statement]:
        first = self.opening()
        return [one for one in self.statements if one not in first]


def summary(study: Report) -> list[Statement]:
    """The statements, most important first."""
    return list(summarize(study).statements)


def summarize(study: Report) -> Summary:
    facets = verdicts(study.results)
    said: list[Statement] = []
    for facet in facets:
        own = [*_overall(facet), *_differences(facet), *_not_found(facet)]
        own += findings.of_texts(facet.results)
        title = facet.facet
        said += [
            replace(one, text=f"{title}: {one.text}", facet=title) if title else one for one in own
        ]
    said += findings.popularity(study.result("popularity"))
    for result in study.results:
        record = of_result(result.measure)
        if isinstance(record, Study):
            for headline in record.headlines:
                said += findings.extremes(
                    result, headline, record.aspect(headline), list(result.by_source)
                )
    return Summary(facets, said)


def print_summary(study: Report, console: Any) -> None:
    """The verdicts and the first statements on a rich console; the report has the rest."""
    from rote.report.tables.verdicts import print_verdicts
    from rote.report.terminal import harmless

    found = summarize(study)
    for facet in found.verdicts:
        print_verdicts(facet, console)
    if shown := found.opening():
        console.print()
        for statement in shown:
            console.print(f"- {harmless(statement.text)}", highlight=False, markup=False)


def _overall(facet: Verdicts) -> Iterator[Statement]:
    """Each source as a whole, or all of them in one sentence."""
    if not facet.aspects:
        return
    if facet.reference is None:
        yield _pairs(facet)
        return
    judged = {source: _judged(facet, source) for source in facet.sources}
    judged = {source: own for source, own in judged.items() if own}
    if len(judged) > _NAMED:
        yield Statement(_together(facet, judged), "overall")
        return
    most = sorted(judged, key=lambda source: -sum(_directions(judged[source]).values()))
    for source in most:
        own = judged[source]
        differing = [one for one in own if one.state == "differs"]
        directions = {one.direction for one in differing}
        yield Statement(
            f"{source} {_counted(own, facet.reference)}.",
            "overall",
            source=source,
            direction=directions.pop() if len(directions) == 1 else "",
            state="differs" if differing else "not found",
        )


def _judged(facet: Verdicts, source: str) -> list[Comparison]:
    """The comparisons of a source that have a verdict."""
    no_verdict = ("circular", "not tested")
    own = [one for one in facet.comparisons if one.source == source]
    return [one for one in own if one.state not in no_verdict]


def _directions(own: Sequence[Comparison]) -> dict[str, int]:
    """In how many aspects a source differs each way, the most frequent first."""
    counts: dict[str, int] = {}
    for one in own:
        if one.state == "differs":
            counts[one.direction] = counts.get(one.direction, 0) + 1
    return dict(sorted(counts.items(), key=lambda pair: -pair[1]))


def _counted(own: Sequence[Comparison], reference: str) -> str:
    """`is more repetitive than plain in 6 of 8 aspects; 2 show no difference`."""
    ways = _directions(own)
    total = len(own)
    none = sum(one.state in ("not found", "equivalent") for one in own)
    if none == total:
        of = "the one aspect" if total == 1 else f"any of {total} aspects"
        return f"shows no difference from {reference} in {of}"
    if not ways:
        text = f"differs clearly from {reference} in none of {several(total, 'aspect')}"
    else:
        (first, count), *others = ways.items()
        of = "the one aspect" if total == 1 else f"{count} of {total} aspects"
        text = f"is {first} than {reference} in {of}"
        text += "".join(f", {way} in {number}" for way, number in others)
    for state, words in (("borderline", "borderline"), ("no power", "without power")):
        count = sum(one.state == state for one in own)
        text += f"; {count} {'is' if count == 1 else 'are'} {words}" if count else ""
    verb = "shows" if none == 1 else "show"
    return text + (f"; {none} {verb} no difference" if none else "")


def _together(facet: Verdicts, judged: dict[str, list[Comparison]]) -> str:
    """Many sources in one sentence, by direction."""
    total = max(map(len, judged.values()))
    counts = {source: _directions(own) for source, own in judged.items()}
    parts: list[str] = []
    for way in ("more repetitive", "more diverse"):
        found = sorted((-own[way], source) for source, own in counts.items() if way in own)
        if found:
            (most, first), *others = found
            than = f" than {facet.reference}" if not parts else ""
            names = [f"in {-most}", *(f"{source} in {-count}" for count, source in others)]
            parts.append(f"{first} is {way}{than} {wording.listed(names)}")
    borderline = [s for s, own in judged.items() if any(one.state == "borderline" for one in own)]
    if undecided := [source for source in borderline if not counts[source]]:
        verb = "is" if len(undecided) == 1 else "are"
        parts.append(f"{wording.listed(undecided)} {verb} borderline")
    alike = [source for source, own in counts.items() if not own and source not in borderline]
    for number in sorted({len(judged[source]) for source in alike}, reverse=True):
        if none := [source for source in alike if len(judged[source]) == number]:
            verb = "shows" if len(none) == 1 else "show"
            fewer = f" in the {number} that could be compared" if number < total else ""
            parts.append(f"{wording.listed(none)} {verb} no difference{fewer}")
    if not parts:
        parts.append(f"some differ from {facet.reference}, none in diversity")
    return f"Of {several(total, 'aspect')}, {'; '.join(parts)}."


def _pairs(facet: Verdicts) -> Statement:
    pairs = {(one.source, one.reference) for one in facet.comparisons}
    apart = {(o.source, o.reference) for o in facet.comparisons if o.state == "differs"}
    total = len(facet.aspects)
    aspects = "the one aspect" if total == 1 else f"at least one of {total} aspects"
    text = f"{len(apart)} of {len(pairs)} pairs of sources differ in {aspects}."
    if len(pairs) == 1:
        (one,) = pairs
        verb = "differ in" if apart else "show no difference in"
        text = f"{one[0]} and {one[1]} {verb} {aspects if apart else f'any of {total} aspects'}."
    return Statement(text, "overall", state="differs" if apart else "not found")


def _differences(facet: Verdicts) -> list[Statement]:
    """The largest difference of each aspect, the largest of all first."""
    found = []
    for aspect in facet.aspects:
        differing = [one for one in aspect.comparisons if one.state == "differs"]
        if differing:
            found.append((aspect, max(differing, key=_extent)))
    found.sort(key=lambda pair: -_extent(pair[1]))
    return [_difference(aspect, one) for aspect, one in found]


def _extent(one: Comparison) -> float:
    return abs(one.effect) if one.effect == one.effect else 0.0


def _difference(aspect: Aspect, one: Comparison) -> Statement:
    headline = one.headline
    verb = headline.more if one.difference > 0 else headline.less
    equal = "at equal length " if one.equal else ""
    shown = wording.pair(one.value, one.other_value, headline, one.row.title)
    text = f"{one.source} {verb} than {one.reference}: {equal}{shown} ({one.how_much})."
    return Statement(
        text,
        "difference",
        measure=aspect.measure,
        value=one.row.value,
        source=one.source,
        direction=one.direction,
        state=one.state,
        difference=one.difference,
        relative=None if one.relative != one.relative else one.relative,
        p=None if one.p != one.p else one.p,
        section=aspect.section,
        aspect=aspect.name,
    )


def _not_found(facet: Verdicts) -> Iterator[Statement]:
    """Aspects without a difference: how large it is, and what would have been detected."""
    for aspect in facet.aspects:
        none = [one for one in aspect.comparisons if one.state in ("not found", "equivalent")]
        if not none:
            continue
        if len(none) == 1:
            (one,) = none
            about = f"{one.source} and {one.reference}"
            detected = f"; {one.detected} or more would have been detected" * bool(one.detected)
            shown = f"{one.how_much}{detected}"
        else:
            what = "pairs" if facet.reference is None else "sources"
            about = f"{len(none)} of {len(aspect.comparisons)} {what}"
            shown = _ranges(none)
        shown = f" ({shown})" if shown else ""
        yield Statement(
            f"{aspect.name}: no difference found for {about}{shown}.",
            "not found",
            measure=aspect.measure,
            value=aspect.row.value,
            source=none[0].source if len(none) == 1 else "",
            state="not found",
            section=aspect.section,
            aspect=aspect.name,
        )


def _ranges(none: Sequence[Comparison]) -> str:
    sizes = [one for one in none if one.relative == one.relative]
    if len(sizes) < len(none):
        return ""
    low, high = (choose(one.relative for one in none) for choose in (min, max))
    shares = [one.detectable / abs(one.other_value) for one in none]
    detected = span(shares)
    text = f"differences {wording.percent(low, True)} to {wording.percent(high, True)}"
    return text + (f"; {detected} or more would have been detected" if detected else "")
