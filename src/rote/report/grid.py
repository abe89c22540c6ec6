"""A result as a grid of cells: one row per value, one column per source; and facet by facet, every
facet as a result of its own.

The grid is where numbers are rounded; every written form (terminal, LaTeX, CSV) is made from it.
`--by task,source --reference human` compares the sources of each task with the human texts of
that task. Tables and figures show one facet at a time, in which a source has a short name and the
reference is one of the sources; so nothing else here has to know of facets.
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
_ENDS = tuple(
    "difference difference_low difference_high relative_low relative_high effect effect_low "
    "effect_high".split()
)
_TESTED = (
    *_ENDS,
    *(f"matched_{name}" for name in _ENDS),
    *"expected p p_corrected detectable matched_p_corrected matched_detectable margin".split(),
    "equivalence_p_corrected",
)


@dataclass(frozen=True, slots=True)
class GridCell:
    """One value of one source, unrounded, with all that is known about it."""

    estimate: float
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
    expected: float = math.nan
    """What sizes alone make of the difference."""
    p: float = math.nan
    p_corrected: float = math.nan
    tested: bool = False
    """Whether a difference could have been found at all: by a test, and below the level."""
    compared: bool = False
    """Whether it was to be tested on whole texts."""
    matched: float = math.nan
    matched_low: float = math.nan
    matched_high: float = math.nan
    matched_difference: float = math.nan
    matched_difference_low: float = math.nan
    matched_difference_high: float = math.nan
    matched_relative_low: float = math.nan
    matched_relative_high: float = math.nan
    matched_effect: float = math.nan
    matched_effect_low: float = math.nan
    matched_effect_high: float = math.nan
    matched_p_corrected: float = math.nan
    matched_tested: bool = False
    detectable: float = math.nan
    """The smallest difference that the test would have found in four of five cases."""
    matched_detectable: float = math.nan
    margin: float = math.nan
    equivalence_p_corrected: float = math.nan
    borderline: bool = False
    """Whether more permutations than were made might turn the verdict."""
    matched_borderline: bool = False

    @property
    def equivalent(self) -> bool:
        """Whether a difference beyond the margin was ruled out."""
        return self.equivalence_p_corrected < SIGNIFICANT

    @property
    def verdict(self) -> Verdict:
        return _decide(self.tested, self.p_corrected, self.borderline)

    @property
    def matched_verdict(self) -> Verdict:
        return _decide(self.matched_tested, self.matched_p_corrected, self.matched_borderline)

    @property
    def matched_text(self) -> str:
        """The value at equal size with half the width of its interval, rounded."""
        spread = round_like((self.matched_high - self.matched_low) / 2, self.matched)
        return round_number(self.matched) + (f" ±{spread}" if spread else "")

    @property
    def reach(self) -> float:
        """Half the width of the interval."""
        return (self.high - self.low) / 2

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
        """An arrow where the source differs from the reference, a sign where no test can say, and
        one where the difference is within the margin."""
        mark = _choose_mark(self.beyond, self.verdict, self.compared)
        return mark.replace(UNTESTED, "") + EQUIVALENT if self.equivalent else mark

    @property
    def matched_mark(self) -> str:
        """The same at equal size."""
        is_compared = not math.isnan(self.matched_difference)
        return _choose_mark(self.matched_difference, self.matched_verdict, is_compared)


@dataclass(frozen=True, slots=True)
class GridRow:
    """One value over all sources."""

    measure: str
    aspect: str
    value: str
    title: str
    higher: str
    length_sensitive: bool
    matched_at: str
    cells: dict[str, GridCell]


def make_grid(result: Result) -> list[GridRow]:
    """The values of a result, each with its intervals, tests and matched values."""
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
    """The rows of tests by the name of what is tested and the value."""
    judged = _add_tested(result.comparisons)
    return {(field.format(**row), row["value"]): row for row in judged}


def _add_tested(rows: Sequence[Row]) -> list[Row]:
    """Rows that say whether they were tested; a result of an older version says what it takes."""
    families = Counter((row["reference"], row["value"]) for row in rows)
    judged: list[Row] = []
    for row in rows:
        if "tested" not in row:
            others, count = families[row["reference"], row["value"]], row.get("permutations")
            enough = count is None or others / (1 + count) < SIGNIFICANT
            row = {"tested": enough, "matched_tested": enough, **row}
        judged.append(row)
    return judged


def order_sources(results: Sequence[Result]) -> list[str]:
    """All sources, the reference first."""
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
    fields = {"estimate": estimate, "low": low, "high": high}
    fields |= {"matched": matched.get("mean")}
    fields |= {f"matched_{end}": matched.get(end) for end in ("low", "high")}
    fields |= {name: test.get(name) for name in _TESTED}
    numbers: dict[str, Any] = {k: math.nan if v is None else float(v) for k, v in fields.items()}
    # Where only the values at equal size are tested, nothing is missing.
    at_equal_size = math.isnan(numbers["p"]) and not math.isnan(numbers["matched_difference"])
    compared = bool(test) and not math.isnan(numbers["difference"]) and not at_equal_size
    names = ("tested", "matched_tested", "borderline", "matched_borderline")
    judged = {name: bool(test.get(name)) for name in names}
    return GridCell(**numbers, **judged, compared=compared)


def _decide(tested: bool, p: float, borderline: bool) -> Verdict:
    if not tested or math.isnan(p):
        return "not tested"
    if borderline:
        return "borderline"
    return "differs" if p < SIGNIFICANT else "not found"


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
    """Every facet and what the result says of it.

    Where there are facets, rows that are about none of their groups (a sweep over groups) are in
    no part: they are about the result as a whole.
    """
    facets = result.facets()
    if all(group == name for facet in facets for group, name in facet.names.items()):
        return [(facets[0], result)]
    return [(facet, _facet_part(result, facet)) for facet in facets]


def split_panel(results: Sequence[Result]) -> list[tuple[str, list[Result]]]:
    """The facets of several measures on the same texts, each with its title."""
    parts_by_title: dict[str, list[Result]] = {}
    for result in results:
        for facet, part in split_facets(result):
            parts_by_title.setdefault(facet.title, []).append(part)
    return list(parts_by_title.items())


def _facet_part(result: Result, facet: Facet) -> Result:
    names = facet.names
    # Every two sources are compared in a part as well.
    reference = result.reference if result.reference == EACH else None
    return replace(
        result,
        reference=reference if facet.reference is None else names[facet.reference],
        by_source={name: result.by_source[group] for group, name in names.items()},
        comparisons=_facet_rows(result.comparisons, names),
        tables={
            table: rows if table == "values" else _facet_rows(rows, names)
            for table, rows in result.tables.items()
        },
    )


def _facet_rows(rows: Sequence[Row], names: Mapping[str, str]) -> list[Row]:
    return [
        {field: _rename_groups(field, value, names) for field, value in row.items()}
        for row in rows
        if row.get("source") in names
    ]


def _rename_groups(field: str, value: Any, names: Mapping[str, str]) -> Any:
    if field in _NAMING:
        return names.get(value, value)
    if field in _KEYED and isinstance(value, Mapping):
        return {names.get(group, group): count for group, count in value.items()}
    return value


def list_cells(results: Sequence[Result]) -> list[GridCell]:
    """Every value of every source, facet by facet."""
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
