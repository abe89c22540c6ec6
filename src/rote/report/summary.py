"""What a person should know after a minute: what differs, by how much, and what limits it.

Every statement is a sentence of its own, carries its numbers and names the section that has more.
No sentence ranks sources by a value that moves with length, unless it is that at equal length.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rote.core.facets import is_input
from rote.core.numbers import format_interval, format_number, format_percent, join_names, name_some
from rote.core.progress import several
from rote.core.record import Headline, Study
from rote.core.registry import find, of_result
from rote.core.result import Result
from rote.measure.driver.multiple_testing import UNTESTED
from rote.report.report import Alert, Report, Statement
from rote.report.result_tables import print_verdicts
from rote.report.terminal import strip_controls
from rote.report.verdicts import FEW, TOO_FEW, Aspect, VerdictComparison, Verdicts, judge_facets
from rote.report.wording import capitalize, describe_pair, format_value, share_range

_OPENING, _DIFFERENCES = 5, 3
"""Sentences on the first screen, and how many of them tell of one difference each."""
_MAX_SEPARATE = 2
"""Sources that have a sentence each; more share one."""
_RANKS = {"overall": 0, "difference": 1, "found": 2, "not found": 2}


@dataclass(frozen=True, slots=True)
class Summary:
    verdicts: Sequence[Verdicts]
    statements: Sequence[Statement]

    def opening(self) -> list[Statement]:
        """The few that a reader in a hurry gets."""
        ranked = sorted(self.statements, key=lambda statement: _RANKS[statement.kind])
        differences = [statement for statement in ranked if statement.kind == "difference"]
        later = differences[_DIFFERENCES:]
        first = [statement for statement in ranked if statement not in later]
        opening = [*first, *later][:_OPENING]
        return sorted(opening, key=ranked.index)

    def rest(self) -> list[Statement]:
        first = self.opening()
        return [statement for statement in self.statements if statement not in first]


def summary(study: Report) -> list[Statement]:
    return list(summarize(study).statements)


def summarize(study: Report) -> Summary:
    facets = judge_facets(study.results)
    statements: list[Statement] = []
    for facet in facets:
        of_facet = [
            *_overall_statements(facet),
            *_difference_statements(facet),
            *_no_difference_statements(facet),
        ]
        for result in facet.results:
            names = [s for s in result.by_source if s != result.reference and not is_input(s)]
            of_facet += _record_findings(result, names)
        title = facet.facet
        statements += [
            replace(s, text=f"{title}: {s.text}", facet=title) if title else s for s in of_facet
        ]
    studies = [r for r in study.results if isinstance(of_result(r.measure), Study)]
    for result in studies:
        statements += _record_findings(result, list(result.by_source))
    for result in studies:
        for headline in (record := find(result.measure)).headlines:
            aspect, names = record.aspect(headline), list(result.by_source)
            statements += _extreme_statements(result, headline, aspect, names)
    return Summary(facets, statements)


def print_summary(study: Report, console: Any) -> None:
    summarized = summarize(study)
    for facet in summarized.verdicts:
        print_verdicts(facet, console)
    if opening := summarized.opening():
        console.print()
        for statement in opening:
            console.print(f"- {strip_controls(statement.text)}", highlight=False, markup=False)


def _overall_statements(facet: Verdicts) -> Iterator[Statement]:
    """Each source as a whole, or all of them in one sentence."""
    if not facet.aspects:
        return
    if facet.reference is None:
        yield _describe_pairs(facet)
        return
    with_verdict = [c for c in facet.comparisons if c.state not in ("circular", "not tested")]
    judged = {source: [c for c in with_verdict if c.source == source] for source in facet.sources}
    judged = {source: comparisons for source, comparisons in judged.items() if comparisons}
    if len(judged) > _MAX_SEPARATE:
        yield Statement(_describe_sources(facet, judged), "overall")
        return
    counts = {source: _count_directions(comparisons) for source, comparisons in judged.items()}
    for source in sorted(judged, key=lambda source: -sum(counts[source].values())):
        directions, state = list(counts[source]), "differs" if counts[source] else "not found"
        direction = directions[0] if len(directions) == 1 else ""
        text = f"{source} {_describe_source(judged[source], facet.reference)}."
        yield Statement(text, "overall", source=source, direction=direction, state=state)


def _count_directions(comparisons: Sequence[VerdictComparison]) -> dict[str, int]:
    """In how many aspects a source differs each way, the most frequent first."""
    return dict(Counter(c.direction for c in comparisons if c.state == "differs").most_common())


def _describe_source(comparisons: Sequence[VerdictComparison], reference: str) -> str:
    """`is more repetitive than plain in 6 of 8 aspects; 2 show no difference`."""
    ways = _count_directions(comparisons)
    total = len(comparisons)
    none = sum(comparison.state in ("not found", "equivalent") for comparison in comparisons)
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
        count = sum(comparison.state == state for comparison in comparisons)
        text += f"; {count} {'is' if count == 1 else 'are'} {words}" if count else ""
    verb = "shows" if none == 1 else "show"
    return text + (f"; {none} {verb} no difference" if none else "")


def _describe_sources(facet: Verdicts, judged: dict[str, list[VerdictComparison]]) -> str:
    total = max(map(len, judged.values()))
    counts = {source: _count_directions(values) for source, values in judged.items()}
    parts: list[str] = []
    for way in ("more repetitive", "more diverse"):
        by_count: dict[int, list[str]] = {}
        for source, values in counts.items():
            by_count.setdefault(values.get(way, 0), []).append(source)
        by_count.pop(0, None)
        if by_count:
            (most, first), *others = sorted(by_count.items(), reverse=True)
            verb = "is" if len(first) == 1 else "are"
            than = f" than {facet.reference}" if not parts else ""
            fewer = "".join(f", {_name_group(judged, names)} in {n}" for n, names in others)
            parts.append(f"{_name_group(judged, first)} {verb} {way}{than} in {most}{fewer}")
    borderline = [s for s, values in judged.items() if any(c.state == "borderline" for c in values)]
    if undecided := [source for source in borderline if not counts[source]]:
        verb = "is" if len(undecided) == 1 else "are"
        parts.append(f"{join_names(undecided)} {verb} borderline")
    alike = [source for source, values in counts.items() if not values and source not in borderline]
    for number in sorted({len(judged[source]) for source in alike}, reverse=True):
        if none := [source for source in alike if len(judged[source]) == number]:
            verb = "shows" if len(none) == 1 else "show"
            fewer = f" in the {number} that could be compared" if number < total else ""
            parts.append(f"{join_names(none)} {verb} no difference{fewer}")
    if not parts:
        parts.append(f"some differ from {facet.reference}, none in diversity")
    return f"Of {several(total, 'aspect')}, {'; '.join(parts)}."


def _name_group(judged: Collection[str], names: Sequence[str]) -> str:
    """Their names, or `all 5` where no source is left."""
    return f"all {len(names)}" if 2 < len(names) == len(judged) else join_names(names)


def _describe_pairs(facet: Verdicts) -> Statement:
    pairs = {(comparison.source, comparison.reference) for comparison in facet.comparisons}
    apart = {(o.source, o.reference) for o in facet.comparisons if o.state == "differs"}
    total = len(facet.aspects)
    aspects = "the one aspect" if total == 1 else f"at least one of {total} aspects"
    text = f"{len(apart)} of {len(pairs)} pairs of sources differ in {aspects}."
    if len(pairs) == 1:
        ((first, second),) = pairs
        verb = "differ in" if apart else "show no difference in"
        text = f"{first} and {second} {verb} {aspects if apart else f'any of {total} aspects'}."
    return Statement(text, "overall", state="differs" if apart else "not found")


def _difference_statements(facet: Verdicts) -> list[Statement]:
    """The largest difference of each aspect, the largest of all first."""
    largest = []
    for aspect in facet.aspects:
        differing = [c for c in aspect.comparisons if c.state == "differs"]
        if differing:
            largest.append((aspect, max(differing, key=_effect_size)))
    largest.sort(key=lambda pair: -_effect_size(pair[1]))
    return [_difference_statement(aspect, comparison) for aspect, comparison in largest]


def _effect_size(comparison: VerdictComparison) -> float:
    return abs(comparison.effect) if comparison.effect == comparison.effect else 0.0


def _difference_statement(aspect: Aspect, comparison: VerdictComparison) -> Statement:
    headline = comparison.headline
    verb = headline.more if comparison.difference > 0 else headline.less
    equal = "at equal length " if comparison.equal else ""
    values = comparison.value, comparison.other_value
    pair_text = describe_pair(*values, headline, comparison.row.title)
    who = f"{comparison.source} {verb} than {comparison.reference}"
    text = f"{who}: {equal}{pair_text} ({comparison.how_much})."
    return Statement(
        text,
        "difference",
        measure=aspect.measure,
        value=comparison.row.value,
        source=comparison.source,
        direction=comparison.direction,
        state=comparison.state,
        difference=comparison.difference,
        relative=None if comparison.relative != comparison.relative else comparison.relative,
        p=None if comparison.p != comparison.p else comparison.p,
        section=aspect.section,
        aspect=aspect.name,
    )


def _no_difference_statements(facet: Verdicts) -> Iterator[Statement]:
    """Aspects without a difference: how large it is, and what would have been detected."""
    for aspect in facet.aspects:
        none = [c for c in aspect.comparisons if c.state in ("not found", "equivalent")]
        if not none:
            continue
        if len(none) == 1:
            (comparison,) = none
            about, sizes = f"{comparison.source} and {comparison.reference}", comparison.how_much
            if comparison.detected:
                sizes += f"; {comparison.detected} or more would have been detected"
        else:
            what = "pairs" if facet.reference is None else "sources"
            about = f"{len(none)} of {len(aspect.comparisons)} {what}"
            sizes = _describe_ranges(none)
        sizes = f" ({sizes})" if sizes else ""
        yield Statement(
            f"{aspect.name}: no difference found for {about}{sizes}.",
            "not found",
            measure=aspect.measure,
            value=aspect.row.value,
            source=none[0].source if len(none) == 1 else "",
            state="not found",
            section=aspect.section,
            aspect=aspect.name,
        )


def _describe_ranges(none: Sequence[VerdictComparison]) -> str:
    sizes = [comparison for comparison in none if comparison.relative == comparison.relative]
    if len(sizes) < len(none):
        return ""
    low, high = (choose(comparison.relative for comparison in none) for choose in (min, max))
    detected = share_range([c.tested.detectable / abs(c.other_value) for c in none])
    text = f"differences {format_percent(low, True)} to {format_percent(high, True)}"
    return text + (f"; {detected} or more would have been detected" if detected else "")


def _record_findings(result: Result, sources: Sequence[str]) -> list[Statement]:
    record = of_result(result.measure)
    findings = record.findings(result, sources) if record and record.findings else ()
    statements = []
    for each in findings:
        statement = Statement(each.text, "found", result.measure, each.value, each.source)
        statements.append(replace(statement, state=each.state, difference=each.difference))
    return statements


def _extreme_statements(
    result: Result, headline: Headline, aspect: str, sources: Sequence[str]
) -> list[Statement]:
    """Of a study: which source has most of a value and which least."""
    known = [name for name in sources if name in result.by_source]
    values = {n: result.by_source[n].values.get(headline.value, math.nan) for n in known}
    defined = {name: value for name, value in values.items() if not math.isnan(value)}
    if not defined:
        return []
    least, most = min(defined, key=lambda n: defined[n]), max(defined, key=lambda n: defined[n])
    unit = f" {headline.unit}" if headline.unit else ""
    highest = format_value(defined[most], headline)
    if len(defined) == 1 or defined[least] == defined[most]:
        only = most if len(defined) == 1 else "all sources alike"
        ends = result.by_source[most].ends(headline.value)
        level = result.interval.level if result.interval else None
        formats = [format_percent] if headline.percent else []
        interval = format_interval(level, ends, *formats)
        text = f"{aspect}: {highest}{unit}, {only}{interval}."
        return [Statement(text, "found", result.measure, headline.value)]
    low = result.by_source[least].ends(headline.value)[1]
    high = result.by_source[most].ends(headline.value)[0]
    order = ""
    if not (math.isnan(low) or math.isnan(high)):
        apart = "; their intervals do not overlap"
        order = apart if low < high else "; their intervals overlap"
    lowest = format_value(defined[least], headline)
    text = f"{aspect}: from {lowest} ({least}) to {highest} ({most}){unit}{order}."
    return [Statement(text, "found", result.measure, headline.value)]


_SHORT_TEXT = 40
"""Words of a text on average, below which values of windows mean little."""
_LENGTH_RATIO = 1.2
"""Mean lengths of texts that differ by more than this factor are told."""
_MAX_LISTED = 6


def list_alerts(study: Report, facets: Sequence[Verdicts]) -> list[Alert]:
    """All of them: first what is wrong with the texts, then what tests cannot say."""
    texts = [r for r in study.results if not isinstance(of_result(r.measure), Study)]
    every = [Alert("Texts", note) for note in study.notes]
    for facet in facets:
        where = f"{facet.facet}: " if facet.facet else ""
        every += [Alert(kind, where + text) for kind, text in _facet_alerts(facet)]
    every += [Alert("Prompts", text) for text in _unbalanced_prompts(texts)]
    every += [Alert("Tests", text) for text in _untested_notes(texts)]
    if study.omitted:
        names = list(dict.fromkeys(omission.section for omission in study.omitted))
        every.append(Alert("Left out", f"{several(len(names), 'measure')}.", "omitted"))
    return list(dict.fromkeys(every))


def _facet_alerts(facet: Verdicts) -> Iterator[tuple[str, str]]:
    names = [*([facet.reference] if facet.reference else []), *facet.sources]
    groups = {
        "too few to compare": [n for n in names if facet.texts[n] < TOO_FEW],
        "intervals are rough, and tests have little power": [
            name for name in names if TOO_FEW <= facet.texts[name] < FEW
        ],
    }
    for words, few in groups.items():
        if few:
            sizes = name_some([f"{name} ({facet.texts[name]})" for name in few], _MAX_LISTED)
            yield "Few texts", f"fewer than {FEW} texts: {sizes}: {words}."
    means = {name: facet.words[name] / facet.texts[name] for name in names if facet.texts[name]}
    if short := [name for name, mean in means.items() if mean < _SHORT_TEXT]:
        lengths = [f"{name} ({format_number(means[name], '.0f')})" for name in short]
        sizes = name_some(lengths, _MAX_LISTED)
        yield "Short texts", f"fewer than {_SHORT_TEXT} words on average: {sizes}."
    if facet.reference in means:
        base = means[str(facet.reference)]
        lengths = [
            f"{name} {format_percent(abs(mean / base - 1))} {('shorter', 'longer')[mean > base]}"
            for name, mean in means.items()
            if base and mean and not 1 / _LENGTH_RATIO <= mean / base <= _LENGTH_RATIO
        ]
        if lengths:
            shown_lengths = name_some(lengths, _MAX_LISTED)
            yield "Lengths", f"texts differ in length from {facet.reference}: {shown_lengths}."
    if facet.unequal_note and not facet.drawn:  # else it stands below the figure
        yield "Lengths", facet.unequal_note
    for what, inside in facet.circular.items():
        verb = "occurs" if len(inside) == 1 else "occur"
        circle = f"{join_names(inside)} {verb} in the {what} itself"
        yield "Circular", f"{circle}: no verdict is based on that."
    if facet.power_note:
        yield "Power", facet.power_note
    for name, why in facet.left_out.items():
        yield "Left out", f"{name.lower()}: {why}."


def _unbalanced_prompts(results: Sequence[Result]) -> list[str]:
    """Pairs of sources that share some of their prompts, and not all; clusters are no prompts."""
    shares: dict[str, list[str]] = {}
    for result in results:
        if dict(result.signature.settings).get("cluster"):
            continue
        for row in result.comparisons:
            shared, both = row.get("shared_doc_ids") or 0, (row["source"], row["reference"])
            if not all(name in result.by_source for name in both):
                continue
            most = max(result.by_source[name].texts for name in both)
            if 0 < shared < most:
                count = f"{shared:,} of {several(most, 'prompt')}"
                shares.setdefault(count, []).append(" and ".join(both))
    return [
        f"{name_some(list(dict.fromkeys(pairs)), _MAX_LISTED)} share {count}."
        for count, pairs in shares.items()
    ]


def _untested_notes(results: Sequence[Result]) -> list[str]:
    """Why nothing was tested; which measures this is about is said where others are tested."""
    tested = {result.measure for result in results if result.comparisons}
    measures: dict[str, set[str]] = {}
    for result in results:
        for note in result.notes:
            if note.startswith(UNTESTED):
                measures.setdefault(note, set()).add(result.measure)
    return [
        f"{capitalize(note)}." if names >= tested else f"{', '.join(sorted(names))}: {note}."
        for note, names in measures.items()
    ]
