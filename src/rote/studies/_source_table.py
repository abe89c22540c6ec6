"""Values of results side by side: one row per source, one column per value of a measure."""

from __future__ import annotations

import json
import math
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any

from rote.compare.intervals import at_level
from rote.core.errors import OptionError, UnknownName
from rote.core.facets import JOINT, is_input
from rote.core.metric import check_options, option, unsigned
from rote.core.numbers import format_number
from rote.core.record import Findings
from rote.core.result import Row, SourceResult

ALL = "all"
_NOT_REFERENCE = "the reference is not counted as a source: --with-reference counts it"
_NOT_INPUTS = "inputs are not counted as a source: --with-inputs counts them"
_UNEQUAL = 1.5
_BY_SOURCE = ("values", "errors", "intervals", "units")


def if_given(value: Any) -> Any:
    """For `sign`: a signature says it where it was asked for."""
    return value or None


@dataclass(frozen=True, slots=True)
class Column:
    """One value over all sources, with its standard errors where they are known, and from how many
    independent units these come."""

    name: str
    title: str
    higher: str = "neither"
    length_sensitive: bool = False
    share: bool = False
    quality: bool = False
    headline: bool = True
    values: Mapping[str, float] = field(default_factory=dict)
    errors: Mapping[str, float] = field(default_factory=dict)
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    units: Mapping[str, int] = field(default_factory=dict)

    def take(self, sources: Container[str]) -> Column:
        """The column over these sources alone."""
        held: dict[str, Any] = {
            name: {s: v for s, v in getattr(self, name).items() if s in sources}
            for name in _BY_SOURCE
        }
        return replace(self, **held)

    def at_level(self, was: float, level: float) -> Column:
        """With intervals of another level than they have; 0 leaves them out."""
        if was == level:
            return self
        ends = {
            source: at_level(
                self.values[source], own, was, level, self.units[source], share=self.share
            )
            for source, own in self.intervals.items()
            if level
        }
        return replace(self, intervals=ends)

    def and_of(self, other: Column, source: str) -> Column:
        """With what another column of the same name holds for a source."""
        found = other.take({source})
        held: dict[str, Any] = {
            name: {**getattr(self, name), **getattr(found, name)} for name in _BY_SOURCE
        }
        return replace(self, **held)


@dataclass(frozen=True, slots=True)
class SourceTable:
    """Columns over sources; `sizes` has for each source its texts and words."""

    by: tuple[str, ...]
    reference: str | None
    level: float
    sizes: Mapping[str, tuple[int, int]]
    columns: tuple[Column, ...]
    files: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def fields(self, source: str) -> dict[str, str]:
        """What each field of `by` holds for a source."""
        parts = source.split(JOINT)
        if len(parts) != len(self.by):
            raise OptionError(
                f"the source '{source}' does not consist of {', '.join(self.by) or 'fields'}: make "
                "the results with --by, of fields whose values hold no '|'"
            )
        return dict(zip(self.by, parts))

    def at_level(self, level: float | None) -> SourceTable:
        """With intervals of this level, 0 for none; None leaves it as the results have it."""
        if level is None:
            return self
        columns = tuple(column.at_level(self.level, level) for column in self.columns)
        return replace(self, level=level, columns=columns)

    @property
    def fingerprint(self) -> str:
        """What went in: the sources, and every number known of them."""
        held: list[Any] = [list(self.by), self.reference, self.level, dict(self.sizes)]
        held += [[c.name, dict(c.values), dict(c.errors), dict(c.intervals)] for c in self.columns]
        return blake2b(json.dumps(held).encode(), digest_size=6).hexdigest()

    def findings(
        self,
        tables: Mapping[str, Sequence[Row]],
        *,
        method: str,
        notes: Iterable[str],
        signed: Mapping[str, Any],
    ) -> Findings:
        """What was found, with the table itself: a result like any other."""
        told = ("title", "higher", "length_sensitive", "share")
        described = [{"value": c.name, **{n: getattr(c, n) for n in told}} for c in self.columns]
        sources = {
            name: SourceResult(
                *size,
                values={c.name: c.values.get(name, math.nan) for c in self.columns},
                intervals={c.name: c.intervals[name] for c in self.columns if name in c.intervals},
                notes=_lacking(self.columns, name),
            )
            for name, size in self.sizes.items()
        }
        names = [column.name for column in self.columns]
        return Findings(
            signed={"values": names, **signed, "results": self.fingerprint},
            sources=sources,
            values=described,
            by=self.by,
            tables=tables,
            method=method,
            level=self.level,
            reference=self.reference,
            notes=tuple(dict.fromkeys((*self.notes, *notes))),
        )


@dataclass(frozen=True, slots=True)
class TableOptions:
    """Which values of which sources: what all commands on saved results have."""

    values: tuple[str, ...] = option(
        (),
        "Values to take: lexical.mtld, a measure's or a value's name, or all; default: the one or "
        "two main ones of each measure",
    )
    facet: tuple[str, ...] = option(
        (),
        "Fields of the sources whose values are looked at one by one (default: as the reference of "
        "the results asks)",
        sign=if_given,
    )
    without: tuple[str, ...] = option(
        (), "Sources to leave out, or what a field of them holds", sign=if_given
    )
    with_reference: bool = option(
        False, "Count the reference as a source like the others", sign=if_given
    )
    with_inputs: bool = option(
        False, "Count the inputs as a source (input documents)", sign=if_given
    )
    matched: bool = option(
        False, "Take the values at equal size, where a result has them", sign=if_given
    )
    interval: float | None = option(
        None,
        "Level of the intervals; 0 leaves them out  [default: as the results have it]",
        sign=unsigned,
    )
    seed: int = option(0, "Seed of the random orders, where sources are too many for all of them")

    def __post_init__(self) -> None:
        check_options(self)


def chosen(table: SourceTable, values: Sequence[str]) -> SourceTable:
    """The columns that `values` names: measure.value, a measure, a value, or `all`.

    Without any, those that stand for their measure. Quality columns always stay.
    """
    own = [column for column in table.columns if not column.quality]
    if not values:
        wanted = {column.name for column in own if column.headline}
    else:
        wanted = set()
        for name in values:
            found = [c.name for c in own if name == ALL or name in _names(c)]
            if not found:
                known = {known for c in own for known in _names(c)}
                raise UnknownName("value", name, known)
            wanted.update(found)
    kept = tuple(c for c in table.columns if c.quality or c.name in wanted)
    return replace(table, columns=kept)


def without(
    table: SourceTable, left_out: Sequence[str], *, reference: bool, inputs: bool
) -> SourceTable:
    """The table without some sources; `reference`, `inputs`: whether these stay."""
    dropped: dict[str, list[str]] = {"": [], _NOT_REFERENCE: [], _NOT_INPUTS: []}
    for source in table.sizes:
        parts = source.split(JOINT)
        if source in left_out or any(part in left_out for part in parts):
            dropped[""].append(source)
        elif not reference and table.reference in (source, *parts):
            dropped[_NOT_REFERENCE].append(source)
        elif not inputs and any(map(is_input, parts)):
            dropped[_NOT_INPUTS].append(source)
    known = {part for source in table.sizes for part in (source, *source.split(JOINT))}
    for name in left_out:
        if name not in known:
            raise UnknownName("source", name, known)
    gone = {source for sources in dropped.values() for source in sources}
    said = [f"{why} ({_listed(sources)})" for why, sources in dropped.items() if why and sources]
    return replace(
        table,
        sizes={source: size for source, size in table.sizes.items() if source not in gone},
        columns=tuple(column.take(table.sizes.keys() - gone) for column in table.columns),
        notes=(*table.notes, *said),
    )


def length_remarks(
    table: SourceTable, together: Iterable[Iterable[str]], *, matched: bool
) -> list[str]:
    """Says which values move with the amount of text, where sources that stand together differ
    in it."""
    moving = [c.name for c in table.columns if c.length_sensitive]
    most = 1.0
    for sources in together:
        words = [table.sizes[source][1] for source in sources if table.sizes[source][1]]
        most = max(most, max(words) / min(words)) if words else most
    if matched or not moving or most < _UNEQUAL:
        return []
    return [
        f"sources differ in length, up to {format_number(most, '.1f')} times as many words: what "
        f"moves with the amount of text ({', '.join(moving)}) may show that alone. --matched takes "
        "values at equal size, where the results have them"
    ]


def _names(column: Column) -> tuple[str, ...]:
    measure, _, value = column.name.partition(".")
    return (column.name, measure, value)


def _lacking(columns: Sequence[Column], source: str) -> tuple[str, ...]:
    missing = [c.name for c in columns if math.isnan(c.values.get(source, math.nan))]
    return (f"no value of {', '.join(missing)}",) if missing else ()


def _listed(names: Sequence[str], most: int = 6) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
