"""A factor's effect from the values of single texts: a mixed model in which what texts share (a
prompt, an author, a source) is a random effect, and sources and levels are crossed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rote.compare.mixed import Mixed, NoFit
from rote.compare.permutation import holm
from rote.core.array_types import Floats
from rote.core.errors import OptionError, UnknownName
from rote.core.facets import JOINT
from rote.core.result import Result
from rote.core.table import Column, Row, Rows, Table, estimate
from rote.studies._correlate_layout import short
from rote.studies._factors import Part, Trends
from rote.studies._joined import reordered

EVERY = "every source"
_OF_TEXTS = ("doc_id", "id")


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of a facet that have a value: whose, at which level, and what they share."""

    values: Floats
    sources: list[str]
    levels: list[str]
    shared: Mapping[str, list[tuple[str, ...]]]


class Effects:
    """The rows of the mixed models of one factor."""

    def __init__(self, read: Sequence[tuple[str, Result]], trends: Trends, over: str) -> None:
        self.trends, self.table, self.over = trends, trends.table, over
        self.random = {name: tuple(name.split(":")) for name in trends.options.random}
        known = (*_OF_TEXTS, *self.table.by)
        for name in (field for fields in self.random.values() for field in fields):
            if name not in known:
                raise UnknownName("random effect", name, known)
        if (over,) in self.random.values():
            raise OptionError(f"{over} is the factor, so its own effect cannot be random")
        self.texts = {
            column.name: _of_texts(read, column.name, self.table.by)
            for column in self.table.columns
        }
        if not any(self.texts.values()):
            raise OptionError(
                "--random looks at the values of single texts, and the results hold none: make "
                "them with --per-text, of values that a single text has (MTLD, not Unique-n)"
            )

    def tables(self, parts: Sequence[Part]) -> dict[str, list[dict[str, Any]]]:
        found: dict[str, list[dict[str, Any]]] = {"mixed": [], "alike": [], "random": []}
        for part in parts:
            means: list[dict[str, Any]] = []
            for column, texts in self.texts.items():
                if not texts:
                    continue
                named = {"facet": part.title, "column": column}
                try:
                    held = self._texts(part, texts)
                    rows = self._rows(held)
                except NoFit as why:
                    where = " of ".join(filter(None, (column, part.title)))
                    raise OptionError(f"{where}: {why}") from None
                for table, own in rows.items():
                    found[table] += [{**named, **row} for row in own]
            means = [r for r in found["mixed"] if (r["facet"], r["all"]) == (part.title, True)]
            for row, p in zip(means, holm([row["p"] for row in means])):
                row["p_corrected"] = p
        return found

    def notes(self) -> list[str]:
        """Which values no single text has."""
        lacking = [name for name, texts in self.texts.items() if not texts]
        return [f"no mixed model of what no single text has: {', '.join(lacking)}"] * bool(lacking)

    def _texts(self, part: Part, texts: Sequence[tuple[str, Row, float]]) -> Texts:
        """Those of the facet's sources that have every level; a number's trend needs two."""
        numeric = self.trends.levels.kind == "numeric"
        groups = {group for by_level in part.groups.values() for group in by_level.values()}
        single = {fields[0] for fields in self.random.values() if len(fields) == 1}
        own = [
            n for n in self.table.by if n not in (self.over, *self.trends.options.facet, *single)
        ]
        found = []
        for group, row, value in texts:
            held = self.table.fields(group) if group in groups else {}
            if held.get(self.over) in self.trends.numbers:
                source = JOINT.join(held[name] for name in own) or EVERY
                found.append((source, held, row, value))
        have: dict[str, set[str]] = {}
        for source, held, _, _ in found:
            have.setdefault(source, set()).add(held[self.over])
        least = 2 if numeric else len(self.trends.numbers)
        found = [one for one in found if len(have[one[0]]) >= least]
        if not found:
            raise NoFit(f"no source has {'two' if numeric else 'all'} levels of {self.over}")
        return Texts(
            np.array([value for *_, value in found], np.float64),
            [source for source, *_ in found],
            [held[self.over] for _, held, _, _ in found],
            {
                name: [
                    tuple(_shared({**row, **held}, f) for f in fields) for _, held, row, _ in found
                ]
                for name, fields in self.random.items()
            },
        )

    def _rows(self, texts: Texts) -> dict[str, list[dict[str, Any]]]:
        """Each source by itself, their mean, whether they change alike; the random effects."""
        sources = list(dict.fromkeys(texts.sources))
        which = np.eye(len(sources))[[sources.index(source) for source in texts.sources]]
        names, numbers = self.trends.levels.names, self.trends.numbers
        if self.trends.levels.kind == "numeric":
            steps, across = [""], np.array([[numbers[level]] for level in texts.levels])
        else:
            steps = list(names[1:])
            across = np.eye(len(names))[[names.index(level) for level in texts.levels]][:, 1:]
        design = np.column_stack([which, *(which * column[:, None] for column in across.T)])
        model = Mixed(texts.values, design, texts.shared)
        count, level = len(sources), self.table.level
        mixed, unlike = [], []
        for step, name in enumerate(steps, 1):
            of_step = np.eye(design.shape[1])[step * count : (step + 1) * count]
            every = [(EVERY, of_step.mean(axis=0), True)] if count > 1 else []
            for source, weights, is_mean in (
                *every,
                *((s, own, count == 1) for s, own in zip(sources, of_step)),
            ):
                one = model.contrast(weights)
                mixed.append(
                    {
                        "source": source,
                        "level": name,
                        **estimate("estimate", one.estimate, one.interval(level), ("low", "high")),
                        "error": one.error,
                        "freedom": one.freedom,
                        "p": one.p,
                        "texts": len(texts.values),
                        "all": is_mean,
                    }
                )
            unlike += [own - of_step[0] for own in of_step[1:]]
        alike = []
        if unlike:
            test = model.joint(np.array(unlike))
            alike.append(
                {"f": test.f, "freedom": test.freedom[0], "of": test.freedom[1], "p": test.p}
            )
        random: list[dict[str, Any]] = [
            {"effect": name, "sd": sd, "levels": count}
            for (name, sd), count in zip(model.deviations.items(), model.counts)
        ]
        random.append({"effect": "residual", "sd": model.residual, "levels": len(texts.values)})
        return {"mixed": mixed, "alike": alike, "random": random}


def _of_texts(
    read: Sequence[tuple[str, Result]], column: str, by: tuple[str, ...]
) -> list[tuple[str, Row, float]]:
    """The group, the row and the number of every text that has this value."""
    found = []
    for _, result in read:
        measure, _, value = column.partition(".")
        name = value if measure == result.measure else column
        for row in result.tables.get("texts", ()):
            number = row.get(name)
            if number is not None and np.isfinite(number):
                found.append((reordered(row["source"], result.by, by), row, float(number)))
    return found


def _shared(row: Row, field: str) -> str:
    if row.get(field) is None:
        raise NoFit(f"the text {row.get('id')} has no {field}")
    return str(row[field])


def _named(rows: Rows, result: Result) -> list[Row]:
    return [{**row, "facet": row["facet"] or None, "column": short(row["column"])} for row in rows]


_OF = (Column("facet", optional=True), Column("column", "value"))
TABLES = (
    Table(
        "mixed",
        "Mixed model of the texts",
        (
            *_OF,
            *(Column("source"), Column("level", optional=True)),
            Column("estimate", "effect", "number", ends=("low", "high")),
            *(Column("freedom", "df", "number", 1), Column("p", kind="p")),
            Column("p_corrected", "corrected", "p", optional=True),
        ),
        said="effect: per unit (doubling) of the factor, or from the first level to this one; "
        "corrected: by Holm over the values",
        rows=_named,
        limit=1000,
    ),
    Table(
        "alike",
        "Do all sources change alike?",
        (
            *(*_OF, Column("f", "F", "number", 2), Column("freedom", "df", "count")),
            *(Column("of", "of", "number", 1), Column("p", kind="p")),
        ),
        rows=_named,
        limit=1000,
    ),
    Table(
        "random",
        "Random effects",
        (*_OF, Column("effect"), Column("sd", kind="number"), Column("levels", kind="count")),
        said="sd: how far texts of one level are from those of another, all else equal",
        rows=_named,
        limit=1000,
    ),
)
