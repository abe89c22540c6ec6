"""In words: over which tests p-values are corrected, and what those tests could have shown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from rote.compare.families import CORRECTIONS, POWER
from rote.core.numbers import format_number
from rote.core.progress import several
from rote.core.result import Result, Row
from rote.measure._correct import FAMILY

OLD = "corrected over sources and values"
"""All that is known of results of versions before families had a name."""
SHOWN = f"found with {POWER:.0%} power at the corrected level"


def corrected(results: Sequence[Result]) -> str:
    """`Holm over 44 tests: 11 values × 4 sources`; where facets differ, those of all. Verdicts come
    first, and apart from all other tests."""
    rows = families(results)
    if not rows:
        return OLD
    parts = dict.fromkeys(row.get("of", "") for row in rows)
    said = {part: _of_one_kind([r for r in rows if r.get("of", "") == part]) for part in parts}
    if len(said) == 1:
        return next(iter(said.values()))
    return "; ".join(f"{part}: {said[part]}" for part in sorted(parts, reverse=True))


def _of_one_kind(rows: Sequence[Row]) -> str:
    said = list(dict.fromkeys(in_words(row) for row in rows))
    if len(said) == 1:
        return said[0] + ("" if len(rows) == 1 else ", in each facet")
    counts = sorted(row["tests"] for row in rows)
    names = " or ".join(dict.fromkeys(CORRECTIONS[row["correction"]] for row in rows))
    return f"{names} over {counts[0]:,} to {counts[-1]:,} tests, in each facet"


def families(results: Iterable[Result]) -> list[Row]:
    """Every family once: all measures of a panel hold the same."""
    rows = [row for result in results for row in result.tables.get(FAMILY, ())]
    return list({tuple(sorted(row.items())): row for row in rows}.values())


def in_words(row: Row) -> str:
    tests, values, matched = row["tests"], row["values"], row["matched_values"]
    if tests == 1:
        return "one test, nothing to correct for"
    what = "pairs" if "pairs" in row else "sources"
    of = several(values or matched, "value")
    if matched:
        of += f" and {matched:,} at equal size" if values else " at equal size"
    count = row[what]
    if count > 1:
        whole = tests == (values + matched) * count
        brackets = f"({of})" if matched and whole else of
        of = f"{brackets} × {count:,} {what}" if whole else f"{of}, {count:,} {what}"
    return f"{CORRECTIONS[row['correction']]} over {several(tests, 'test')}: {of}"


def span(numbers: Sequence[float]) -> str:
    """`3 to 12 %` of shares; nothing where none is known."""
    known = [number for number in numbers if not math.isnan(number) and number > 0]
    if not known:
        return ""
    first, last = (format_number(100 * end, ".2g") for end in (min(known), max(known)))
    first, last = (
        one if "e" not in one else format_number(float(one), ".0f") for one in (first, last)
    )
    return f"{first} %" if first == last else f"{first} to {last} %"
