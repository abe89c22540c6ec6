"""Numbers, lists, corrections and notes in the words of a sentence."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from rote.compare.multiple_testing import CORRECTIONS, POWER
from rote.core.numbers import format_number, format_percent
from rote.core.progress import several
from rote.core.record import Headline
from rote.core.result import Result, Row
from rote.measure.driver.multiple_testing import FAMILY


def format_value(value: float, headline: Headline) -> str:
    """A percentage, or three digits that count: the tables have more."""
    if headline.percent:
        return format_percent(value)
    if math.isnan(value):
        return "–"
    return format_number(value, f".{count_decimals(value)}f", typeset=True)


def count_decimals(value: float) -> int:
    if value == 0 or math.isnan(value):
        return 0
    return max(0, min(4, 2 - math.floor(math.log10(abs(value)))))


def describe_pair(value: float, other: float, headline: Headline, title: str) -> str:
    """`gzip compression ratio 2.25 against 1.91`; a unit that says what it is needs no title."""
    values = f"{format_value(value, headline)} against {format_value(other, headline)}"
    return f"{values} {headline.unit}" if headline.unit else f"{title} {values}"


def format_p(p: float) -> str:
    if math.isnan(p):
        return "not tested"
    if p < 0.001:
        return "p < 0.001"
    return f"p = {format_number(p, '.3f')}" if p < 0.01 else f"p = {format_number(p, '.2f')}"


def capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]


UNKNOWN_FAMILY = "corrected over sources and values"
"""All that is known of results of versions before families had a name."""
POWER_NOTE = f"found with {POWER:.0%} power at the corrected level"


def describe_correction(results: Sequence[Result]) -> str:
    """`Holm over 44 tests: 11 values × 4 sources`; verdicts come first, apart from other tests."""
    rows = list_families(results)
    if not rows:
        return UNKNOWN_FAMILY
    parts = dict.fromkeys(row.get("of", "") for row in rows)
    sentences = {p: _describe_families([r for r in rows if r.get("of", "") == p]) for p in parts}
    if len(sentences) == 1:
        return next(iter(sentences.values()))
    return "; ".join(f"{part}: {sentences[part]}" for part in sorted(parts, reverse=True))


def _describe_families(rows: Sequence[Row]) -> str:
    sentences = list(dict.fromkeys(describe_family(row) for row in rows))
    if len(sentences) == 1:
        return sentences[0] + ("" if len(rows) == 1 else ", in each facet")
    counts = sorted(row["tests"] for row in rows)
    names = " or ".join(dict.fromkeys(CORRECTIONS[row["correction"]] for row in rows))
    return f"{names} over {counts[0]:,} to {counts[-1]:,} tests, in each facet"


def list_families(results: Iterable[Result]) -> list[Row]:
    """Every family once: all measures of a panel hold the same."""
    rows = [row for result in results for row in result.tables.get(FAMILY, ())]
    return list({tuple(sorted(row.items())): row for row in rows}.values())


def describe_family(row: Row) -> str:
    tests, values, matched = row["tests"], row["values"], row["matched_values"]
    if tests == 1:
        return "one test, nothing to correct for"
    what = "pairs" if "pairs" in row else "sources"
    of = several(values or matched, "value")
    if matched:
        of += f" and {matched:,} at equal size" if values else " at equal size"
    count = row[what]
    if count > 1:
        is_full_grid = tests == (values + matched) * count
        brackets = f"({of})" if matched and is_full_grid else of
        of = f"{brackets} × {count:,} {what}" if is_full_grid else f"{of}, {count:,} {what}"
    return f"{CORRECTIONS[row['correction']]} over {several(tests, 'test')}: {of}"


def share_range(numbers: Sequence[float]) -> str:
    """`3 to 12 %` of shares; nothing where none is known."""
    known = [number for number in numbers if not math.isnan(number) and number > 0]
    if not known:
        return ""
    first, last = (format_number(100 * end, ".2g") for end in (min(known), max(known)))
    first, last = (s if "e" not in s else format_number(float(s), ".0f") for s in (first, last))
    return f"{first} %" if first == last else f"{first} to {last} %"


# A number by itself: the 4 of gpt-4 is part of a name.
_NUMBER = re.compile(r"(?<![\w.,-])\d[\d,]*(?:\.\d+)?(?![\w-])")


def gather_notes(result: Result) -> list[tuple[str, list[str]]]:
    """The notes with the sources that each is about; those alike but for their numbers are one."""
    about: dict[str, list[tuple[str, str]]] = {note: [] for note in result.notes}
    for source, source_result in result.by_source.items():
        for note in source_result.notes:
            # Without its numbers: 1 text and 2 texts are alike.
            alike = re.sub(r"(# \w+?)s\b", r"\1", _NUMBER.sub("#", note))
            about.setdefault(alike, []).append((source, note))
    return [
        (_join_notes([note for _, note in of]) if of else line, [source for source, _ in of])
        for line, of in about.items()
    ]


def _join_notes(notes: Sequence[str]) -> str:
    numbers = iter(zip(*(_NUMBER.findall(note) for note in notes)))
    # The longest says "texts" where one of them says "1 text".
    return _NUMBER.sub(lambda _: _number_range(next(numbers)), max(notes, key=len))


def _number_range(numbers: Sequence[str]) -> str:
    ordered = sorted(set(numbers), key=lambda number: float(number.replace(",", "")))
    return ordered[0] if len(ordered) == 1 else f"{ordered[0]} to {ordered[-1]}"
