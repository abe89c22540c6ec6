"""A result as a grid of cells: one row per value, one column per source; every facet by itself.

The grid is where numbers are rounded; every written form (terminal, LaTeX, CSV) is made from it.
Within a facet a source has a short name and the reference is one of the sources, so nothing else
here has to know of facets.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from rote.compare.permutation import LEVEL
from rote.core.facets import EACH, Facet
from rote.core.numbers import format_number
from rote.core.registry import of_result, title_of
from rote.core.result import Result, Row

SIGNIFICANT = LEVEL
Verdict = Literal["differs", "borderline", "not found", "not tested"]
UNTESTED = "?"
"""The mark of a value that no test could tell apart from the reference, whatever there is."""
BORDERLINE = "◎"
"""The mark of a value of which more permutations might say either."""
_ASYMMETRY = 0.1
_MAX_ID = 60
"""Characters of an id."""
EQUIVALENT = "≈"
"""The mark of a value that was shown to differ by less than the margin."""
_TESTED = tuple(
    "difference difference_low difference_high relative_low relative_high effect effect_low "
    "effect_high p_corrected detectable".split()
)


@dataclass(frozen=True, slots=True)
class CellValue:
    """A value of one source, unrounded, with its difference from the reference."""

    estimate: float = math.nan
    low: float = math.nan
    high: float = math.nan
    difference: float = math.nan
    difference_low: float = math.nan
    difference_high: float = math.nan
    relative_low: float = math.nan
    """Of the difference as a share of the reference's value."""
    relative_high: float = math.nan
    effect: float = math.nan
    """The difference in standard deviations of single texts."""
    effect_low: float = math.nan
    effect_high: float = math.nan
    p_corrected: float = math.nan
    detectable: float = math.nan
    """The smallest difference that the test would have found in four of five cases."""
    tested: bool = False
    """Whether a difference could have been found at all: by a test, and below the level."""
    borderline: bool = False
    """Whether more permutations than were made might turn the verdict."""

    @property
    def verdict(self) -> Verdict:
        if not self.tested or math.isnan(self.p_corrected):
            return "not tested"
        if self.borderline:
            return "borderline"
        return "differs" if self.p_corrected < SIGNIFICANT else "not found"

    @property
    def reach(self) -> str:
        """Half the width of the interval, rounded."""
        return round_like((self.high - self.low) / 2, self.estimate)

    @property
    def text(self) -> str:
        return round_number(self.estimate) + (f" ±{self.reach}" if self.reach else "")

    @property
    def mark(self) -> str:
        """An arrow where the source differs from the reference, a sign where no test can say."""
        return _choose_mark(self.difference, self.verdict, not math.isnan(self.difference))


@dataclass(frozen=True, slots=True)
class GridCell(CellValue):
    """The value of whole texts with all that is known about it."""

    matched: CellValue = CellValue()
    """The same at equal size."""
    expected: float = math.nan
    """What sizes alone make of the difference."""
    p: float = math.nan
    compared: bool = False
    """Whether it was to be tested on whole texts."""
    margin: float = math.nan
    equivalence_p_corrected: float = math.nan

    def at(self, equal: bool) -> CellValue:
        """The value at equal size, or that of whole texts."""
        return self.matched if equal else self

    def has_sign(self, sign: str) -> bool:
        return sign in self.mark or sign in self.matched.mark

    @property
    def equivalent(self) -> bool:
        """Whether a difference beyond the margin was ruled out."""
        return self.equivalence_p_corrected < SIGNIFICANT

    @property
    def ends(self) -> tuple[str, str] | None:
        """The ends of an interval that is lop-sided, as that of a ratio, rounded; else None."""
        if not is_asymmetric(self.estimate, self.low, self.high):
            return None
        return round_like(self.low, self.estimate), round_like(self.high, self.estimate)

    @property
    def beyond(self) -> float:
        """What is tested: the difference without what sizes alone make of it."""
        return self.difference - (0.0 if math.isnan(self.expected) else self.expected)

    @property
    def mark(self) -> str:
        """With one more sign where the difference is within the margin."""
        mark = _choose_mark(self.beyond, self.verdict, self.compared)
        return mark.replace(UNTESTED, "") + EQUIVALENT if self.equivalent else mark


@dataclass(frozen=True, slots=True)
class GridRow:
    measure: str
    aspect: str
    value: str
    title: str
    higher: str
    length_sensitive: bool
    matched_at: str
    cells: dict[str, GridCell]


def make_grid(result: Result) -> list[GridRow]:
    tests = {} if result.reference == EACH else _index_tests(result, "{source}")
    matched = {(row["source"], row["value"]): row for row in result.tables.get("matched", ())}
    rows = []
    for value in result.tables["values"]:
        name = value["value"]
        cells = {}
        for source, measured in result.by_source.items():
            estimate, interval = measured.values.get(name, math.nan), measured.intervals.get(name)
            test, at_equal_size = tests.get((source, name), {}), matched.get((source, name), {})
            cells[source] = _make_cell(estimate, interval, test, at_equal_size)
        sizes = [matched[key] for key in matched if key[1] == name]
        rows.append(_make_row(result, value, cells, _describe_size(sizes[0]) if sizes else ""))
    return rows


def _make_row(
    result: Result, value: Row, cells: dict[str, GridCell], matched_at: str = ""
) -> GridRow:
    about = {name: value[name] for name in ("value", "title", "higher", "length_sensitive")}
    return GridRow(result.measure, title_of(result), **about, matched_at=matched_at, cells=cells)


def make_pair_grid(result: Result) -> list[GridRow]:
    """Where every two sources were tested: a column for each pair, the difference in its cells."""
    if result.reference != EACH:
        return []
    tests = _index_tests(result, "{source} − {reference}")
    names = dict.fromkeys(pair for pair, _ in tests)
    rows = []
    for value in result.tables["values"]:
        keys = [(pair, value["value"]) for pair in names if (pair, value["value"]) in tests]
        cells = {key[0]: _make_cell(math.nan, None, tests[key], {}) for key in keys}
        rows += [_make_row(result, value, cells)] if cells else []
    return rows


def _index_tests(result: Result, field: str) -> dict[tuple[str, str], Row]:
    """The rows of tests by the name of what is tested and the value, each with whether it was
    tested; a result of an older version says what that takes."""
    families = Counter((row["reference"], row["value"]) for row in result.comparisons)
    tests: dict[tuple[str, str], Row] = {}
    for row in result.comparisons:
        others, count = families[row["reference"], row["value"]], row.get("permutations")
        enough = count is None or others / (1 + count) < SIGNIFICANT
        judged = row if "tested" in row else {"tested": enough, "matched_tested": enough, **row}
        tests[field.format(**row), row["value"]] = judged
    return tests


def order_sources(results: Sequence[Result]) -> list[str]:
    names = dict.fromkeys(name for result in results for name in result.by_source)
    reference = results[0].reference if results else None
    return sorted(names, key=lambda name: name != reference)


def is_asymmetric(estimate: float, low: float, high: float) -> bool:
    """Whether an interval reaches so much farther on one side that half its width misleads."""
    return abs(high + low - 2 * estimate) > _ASYMMETRY * (high - low)


def round_number(number: float) -> str:
    """About four significant digits, and no more decimals than a reader can use."""
    if math.isnan(number):
        return "–"
    size = abs(number)
    if size >= 1000:
        return format_number(number, ",.0f")
    decimals = 1 if size >= 100 else 2 if size >= 10 else 3 if size >= 1 else 4
    return format_number(number, f".{decimals}f")


def round_like(number: float, model: float) -> str:
    """As many decimals as `model` is shown with: a value and its interval agree."""
    if math.isnan(number):
        return ""
    number_text = round_number(model)
    decimals = len(number_text.rpartition(".")[2]) if "." in number_text else 0
    return format_number(number, f".{decimals}f")


def _make_cell(
    estimate: float, interval: tuple[float, float] | None, test: Row, matched: Row
) -> GridCell:
    low, high = interval or (None, None)
    fields = _value_fields({"estimate": estimate, "low": low, "high": high}, test)
    names = ("expected", "p", "margin", "equivalence_p_corrected")
    fields |= {name: _to_float(test.get(name)) for name in names}
    ends = {"estimate": matched.get("mean"), "low": matched.get("low"), "high": matched.get("high")}
    equal = CellValue(**_value_fields(ends, test, "matched_"))
    # Where only the values at equal size are tested, nothing is missing.
    at_equal_size = math.isnan(fields["p"]) and not math.isnan(equal.difference)
    compared = bool(test) and not math.isnan(fields["difference"]) and not at_equal_size
    return GridCell(**fields, matched=equal, compared=compared)


def _value_fields(known: Mapping[str, Any], test: Row, prefix: str = "") -> dict[str, Any]:
    """The fields of a `CellValue`: its estimate, and what a row says under names so prefixed."""
    numbers = {**known, **{name: test.get(prefix + name) for name in _TESTED}}
    judged = {name: bool(test.get(prefix + name)) for name in ("tested", "borderline")}
    return {name: _to_float(number) for name, number in numbers.items()} | judged


def _to_float(number: Any) -> float:
    return math.nan if number is None else float(number)


def _choose_mark(difference: float, verdict: Verdict, is_compared: bool) -> str:
    if verdict == "not tested":
        return UNTESTED if is_compared else ""
    if verdict == "borderline":
        return BORDERLINE
    return "" if verdict == "not found" else "▲" if difference > 0 else "▼"


def _describe_size(row: Any) -> str:
    """What a value at equal size rests on; results of before windows had words or texts alone."""
    unit = next(unit for unit in ("words", "sentences", "texts") if unit in row)
    if "window" in row:
        return f"{row['windows']:,} × {row['window']:,} {unit}"
    return f"{row[unit]:,} {unit}"


# Fields of a table's row that hold the name of a group, and those keyed by such names.
_NAMING, _KEYED = ("source", "other", "reference", "favoured_by"), ("counts",)


def split_facets(result: Result) -> list[tuple[Facet, Result]]:
    """Every facet and what the result says of it; rows about no group of a facet are in no part."""
    facets = result.facets()
    if all(group == name for facet in facets for group, name in facet.names.items()):
        return [(facets[0], result)]
    return [(facet, _facet_part(result, facet)) for facet in facets]


def split_panel(results: Sequence[Result]) -> list[tuple[str, list[Result]]]:
    parts_by_title: dict[str, list[Result]] = {}
    for result in results:
        for facet, part in split_facets(result):
            parts_by_title.setdefault(facet.title, []).append(part)
    return list(parts_by_title.items())


def _facet_part(result: Result, facet: Facet) -> Result:
    names = facet.names

    def rename(field: str, value: Any) -> Any:
        if field in _NAMING:
            return names.get(value, value)
        if field in _KEYED and isinstance(value, Mapping):
            return {names.get(group, group): count for group, count in value.items()}
        return value

    def part(rows: Sequence[Row]) -> list[Row]:
        of_facet = (row for row in rows if row.get("source") in names)
        return [{field: rename(field, value) for field, value in row.items()} for row in of_facet]

    # Every two sources are compared in a part as well.
    reference = result.reference if result.reference == EACH else None
    tables = {
        name: rows if name == "values" else part(rows) for name, rows in result.tables.items()
    }
    return replace(
        result,
        reference=reference if facet.reference is None else names[facet.reference],
        by_source={name: result.by_source[group] for group, name in names.items()},
        comparisons=part(result.comparisons),
        tables=tables,
    )


def list_cells(results: Sequence[Result]) -> list[GridCell]:
    parts = [part for _, parts_of_facet in split_panel(results) for part in parts_of_facet]
    return [cell for part in parts for row in make_grid(part) for cell in row.cells.values()]


def make_slug(name: str) -> str:
    """A name that can be an id and a file: a plugin may call its measure anything."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()[:_MAX_ID]).strip("-") or "unnamed"


def result_key(result: Result) -> str:
    """A name for ids: the measure, and what tells two results of one measure apart."""
    record = of_result(result.measure)
    settings = dict(result.signature.settings)
    # What tells several of one measure apart; a single one needs nothing.
    several = record.panel if record and len(record.panel) > 1 else ()
    apart = dict.fromkeys(name for chosen in several for name in chosen)
    return make_slug("-".join([result.measure, *(settings.get(name, "") for name in apart)]))
