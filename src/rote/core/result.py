"""What a measure found: unrounded values per source, intervals, comparisons, tables.

The JSON form is a contract with other programs (`schema` 1). Only `report/` rounds. What is wrong
with a file of saved results is said by its name and the place inside it, so that a user who gave
twenty files knows which one to look at.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex, overload

from rote.core import plugins
from rote.core.errors import InputError, OptionError, UnknownName
from rote.core.facets import Facet, facets
from rote.core.files import write_atomically
from rote.core.json_reader import JsonObject, kind_of, parse_json, read_json
from rote.core.progress import several
from rote.core.signature import Signature

if TYPE_CHECKING:
    import polars as pl

SCHEMA = 1
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Interval:
    """How the intervals of a result were made."""

    level: float
    method: str


@dataclass(frozen=True, slots=True)
class SourceResult:
    """The values of one source. An undefined value is nan and a note says why."""

    texts: int
    words: int
    values: Mapping[str, float]
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    clusters: int | None = None
    """Into how many independent ones its texts fall, where some belong together."""

    @property
    def units(self) -> int:
        """How many independent texts, or clusters of them, intervals rest on."""
        return self.texts if self.clusters is None else self.clusters

    def ends(self, value: str) -> tuple[float, float]:
        """The interval of a value; nan where there is none."""
        return self.intervals.get(value, (math.nan, math.nan))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Result:
    """One measure on one set of texts. Two are equal if they say the same: nan is nan here.

    `print` shows the tables. `result["mattr"]` is a polars frame of a value, with a row for each
    source, or of a table by its name; `result.differences` one of all comparisons.
    """

    measure: str
    signature: Signature
    by: tuple[str, ...]
    reference: str | None
    interval: Interval | None
    by_source: Mapping[str, SourceResult]
    comparisons: Sequence[Row] = ()
    tables: Mapping[str, Sequence[Row]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    records: Sequence[Row] = ()
    """The data set that was made, for commands that make one; JSON does not hold it."""
    about: Mapping[str, Any] = field(default_factory=dict)
    """For commands that list or write something: what JSON says in place of sources and values; its
    key `signature` holds that of the result."""
    listing: str = ""
    """The table that such a command lists."""
    detail: Any = None
    """What a page or a printout of its own is made from."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Result) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        sizes = [f"{name}: {len(rows):,}" for name, rows in self.tables.items() if name != "values"]
        sizes = [several(len(self.by_source), "source")] if self.by_source else sizes
        return f"<Result of {self.measure}: {', '.join(sizes) or 'no rows'}>"

    def __getitem__(self, name: str) -> pl.DataFrame:
        """A value of all sources, or a table, as a polars frame."""
        return _frame("named_frame", self, name)

    @property
    def sources(self) -> pl.DataFrame:
        """A row for each source: how many texts and words, then a column for each value."""
        return _frame("sources_frame", self.by_source)

    @property
    def differences(self) -> pl.DataFrame:
        """What sources were compared in, as a polars frame: a row for each source and value."""
        return _frame("rows_frame", self.comparisons)

    def facets(self) -> list[Facet]:
        """The sources that stand side by side, each facet with its own reference."""
        return facets(self.by_source, self.reference)

    def to_dict(self) -> dict[str, Any]:
        """The JSON object; undefined numbers become null."""
        if self.about:
            rows = {self.listing: self.tables[self.listing]} if self.listing else {}
            signed = {"signature": str(self.signature)} if "signature" in self.about else {}
            return {"schema": SCHEMA, **plain({**self.about, **signed, **rows})}
        return {
            "schema": SCHEMA,
            "measure": self.measure,
            "signature": str(self.signature),
            "by": list(self.by),
            "reference": self.reference,
            "interval": None if self.interval is None else asdict(self.interval),
            "sources": {
                name: {
                    "texts": source.texts,
                    **({} if source.clusters is None else {"clusters": source.clusters}),
                    "words": source.words,
                    "values": plain(source.values),
                    "intervals": plain(source.intervals),
                    "notes": list(source.notes),
                }
                for name, source in self.by_source.items()
            },
            "comparisons": plain(self.comparisons),
            "tables": plain(self.tables),
            "notes": list(self.notes),
        }

    def to_json(self, indent: int | None = 2) -> str:
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Result:
        """The reverse of `to_dict`."""
        if "comparisons" not in data and "schema" in data:
            return cls._listed({key: value for key, value in data.items() if key != "schema"})
        return cls(
            measure=data["measure"],
            signature=Signature.parse(data["signature"]),
            by=tuple(data["by"]),
            reference=data.get("reference"),
            interval=Interval(**interval) if (interval := data.get("interval")) else None,
            by_source={
                name: SourceResult(
                    texts=source["texts"],
                    words=source["words"],
                    values={k: _number(v) for k, v in source["values"].items()},
                    intervals={
                        k: (_number(low), _number(high))
                        for k, (low, high) in source["intervals"].items()
                    },
                    notes=tuple(source.get("notes") or ()),
                    clusters=source.get("clusters"),
                )
                for name, source in data["sources"].items()
            },
            comparisons=tuple(data["comparisons"]),
            tables={name: tuple(rows) for name, rows in data["tables"].items()},
            notes=tuple(data.get("notes") or ()),
        )

    @classmethod
    def _listed(cls, about: dict[str, Any]) -> Result:
        """Of a command that lists or writes something: the rows that it lists come last."""
        signature = Signature.parse(about.get("signature") or "measure:")
        name, rows = next(reversed(about.items()), ("", None))
        listing = name if isinstance(rows, list) and all(isinstance(r, dict) for r in rows) else ""
        tables = {"values": (), **({listing: tuple(about.pop(listing))} if listing else {})}
        measure = dict(signature.settings).get("measure", "")
        return cls(
            measure, signature, (), None, None, {}, tables=tables, about=about, listing=listing
        )

    @classmethod
    def from_json(cls, text: str) -> Result:
        return cls.from_dict(parse_json(text))

    # Tables and pictures live in report/, which core must not import: they are looked up by name.
    def table(self, across: str = "") -> str:
        """The values and the beginning of each further table, as plain text; with a field of `by`
        a two-way table, the values of that field side by side."""
        return str(plugins.load("report", "result-tables").results_text([self], across=across))

    def to_polars(self, table: str = "values") -> pl.DataFrame:
        """A table as a polars frame, unrounded; `values` has a row for each source and value, the
        others are those of `tables`."""
        return _frame("as_polars", self, table)

    def to_pandas(self, table: str = "values") -> Any:
        """The same as a pandas frame, where pandas is installed."""
        return plugins.load("report", "export").as_pandas(self, table)

    def to_csv(self) -> str:
        """Every table, unrounded; the first column says which one a row belongs to."""
        return str(plugins.load("report", "export").results_csv([self]))

    def to_latex(self, across: str = "") -> str:
        """Every table for a paper, with booktabs; `across` as in `table`."""
        return str(plugins.load("report", "export").results_latex([self], across))

    def to_markdown(self, across: str = "") -> str:
        """The tables that a report shows."""
        return str(plugins.load("report", "export").results_markdown([self], across))

    def to_html(self, across: str = "") -> str:
        """The same tables as a page that needs nothing else."""
        return str(plugins.load("report", "fragments").result_page(self, across))

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return str(plugins.load("report", "fragments").render_result(self))

    def save(self, path: str | Path) -> None:
        """Write it in the form that the ending says: .json, .csv, .tex, .txt, .md or .html."""
        _save(self, path, {".html": self.to_html})

    def figure(self, name: str | None = None) -> Any:
        """An Altair chart by its name, such as `values`; without one the main one."""
        return plugins.load("report", "charts").draw_figure(self, name)


class PanelResults(list[Result]):
    """Several measures on the same texts: `results["lexical"]` is one of them."""

    @overload
    def __getitem__(self, key: SupportsIndex | str) -> Result: ...
    @overload
    def __getitem__(self, key: slice) -> list[Result]: ...
    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return super().__getitem__(key)
        for result in self:
            if result.measure == key:
                return result
        raise UnknownName("measure of these results", key, {result.measure for result in self})

    def __str__(self) -> str:
        return str(plugins.load("report", "result-tables").results_text(self))

    def __repr__(self) -> str:
        return f"<PanelResults of {', '.join(result.measure for result in self)}>"

    def to_json(self, indent: int | None = 2) -> str:
        return panel_to_json(self, indent)

    def to_csv(self) -> str:
        return str(plugins.load("report", "export").results_csv(self))

    def to_latex(self) -> str:
        return str(plugins.load("report", "export").results_latex(self))

    def to_markdown(self) -> str:
        return str(plugins.load("report", "export").results_markdown(self))

    def save(self, path: str | Path) -> None:
        """Write them in the form that the ending says: .json, .csv, .tex, .txt or .md."""
        _save(self, path)

    @classmethod
    def from_json(cls, text: str) -> PanelResults:
        """The reverse of `to_json`."""
        return cls(map(Result.from_dict, parse_json(text)["panel"]))

    def figure(self) -> Any:
        """All aspects at once, as an Altair chart."""
        return plugins.load("report", "charts").draw_panel(self)


def _save(
    result: Result | PanelResults, path: str | Path, more: Mapping[str, Callable[[], str]] = {}
) -> None:
    target = Path(path)
    forms: dict[str, Callable[[], str]] = {
        ".json": result.to_json,
        ".csv": result.to_csv,
        ".tex": result.to_latex,
        ".txt": result.__str__,
        ".md": result.to_markdown,
        **more,
    }
    form = forms.get(target.suffix.lower())
    if form is None:
        raise OptionError(f"{target}: end in one of {', '.join(forms)}")
    # Half a surrogate pair cannot be written in UTF-8.
    write_atomically(target, form().encode("utf-8", "backslashreplace"))


def _frame(made_by: str, *results: Any) -> pl.DataFrame:
    frame: pl.DataFrame = getattr(plugins.load("report", "export"), made_by)(*results)
    return frame


def panel_to_json(results: Sequence[Result], indent: int | None = 2) -> str:
    """Several measures on the same texts as one JSON object."""
    panel = {"schema": SCHEMA, "panel": [result.to_dict() for result in results]}
    return json.dumps(panel, indent=indent, ensure_ascii=False, allow_nan=False)


def plain(value: Any) -> Any:
    """Numpy scalars and tuples to JSON types, nan and infinities to null."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _number(value: float | None) -> float:
    return math.nan if value is None else value


_REMEDY = "Give a file that a measure wrote with --json or -o FILE.json"
RESULT_FILE = "result.json"
"""Where a folder that a command made keeps what it found."""
_ROWS = 1_000
_FIELDS: dict[str, Any] = {
    "measure": str,
    "signature": str,
    "by": tuple,
    "reference?": str,
    "interval?": {"level": float, "method": str},
    "sources": dict,
    "comparisons": [{}],
    "tables": dict,
    "notes?": list,
}
_OF_A_SOURCE = {"texts": int, "words": int, "values": dict, "intervals": dict, "notes?": list}


def read_results(path: Path, *, tables: bool = False) -> list[Result]:
    """The results in a file, `-` being standard input, or in a folder that a command made: several
    where it holds a panel. With `tables`, one without values of sources will do, if it has those.
    """
    if (path / RESULT_FILE).is_file():
        path = path / RESULT_FILE
    file = "standard input" if str(path) == "-" else str(path)
    return results_in(_parsed(path, file), file, tables=tables)


def results_in(data: Any, file: str, *, tables: bool = False) -> list[Result]:
    """The results that the JSON of a file holds."""
    if not isinstance(data, Mapping):
        _refuse(file, f"is not a result: it contains {kind_of(data)}, not an object")
    if "schema" not in data:
        _refuse(file, "is not a result: it has no 'schema'")
    if data["schema"] != SCHEMA:
        _refuse(
            file,
            f"has schema {data['schema']!r}, but this version of rote reads schema {SCHEMA}",
            "Create the result again with this version",
        )
    document = JsonObject(data, file, remedy=_REMEDY)
    if "panel" not in data:
        return [_result(document, tables)]
    if not document.array("panel"):
        _refuse(file, "is a panel with no results")
    return [_result(part, tables) for part in document.objects("panel")]


def save_result(result: Result, folder: Path) -> None:
    """Keep a result in the folder that the command made, with the first rows of long tables: its
    ledger has all."""
    tables = {name: rows[:_ROWS] for name, rows in result.tables.items()}
    content = {"schema": SCHEMA, **replace(result, tables=tables, about={}).to_dict()}
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    write_atomically(folder / RESULT_FILE, text.encode("utf-8", "backslashreplace"))


def _parsed(path: Path, file: str) -> Any:
    try:
        if file == "standard input":
            return parse_json(sys.stdin.read(), file, remedy=_REMEDY)
        return read_json(path, remedy=_REMEDY, regular=False)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        _refuse(file, f"cannot be read ({why})", "Check the path and its permissions")
    except UnicodeDecodeError:
        _refuse(file, "is not JSON: it is not valid UTF-8 text")


def _result(document: JsonObject, tables: bool) -> Result:
    """One result; everything that `Result.from_dict` relies on is looked at first."""
    document.check(_FIELDS)
    sources, rows = document.object("sources"), document.object("tables")
    for name in sources.values:
        source = sources.object(name)
        source.check(_OF_A_SOURCE)
        values, intervals = source.object("values"), source.object("intervals")
        for value, number in values.values.items():
            if not _is_number(number):
                raise values.error(value, f"is {kind_of(number)}, not a number")
        for value, pair in intervals.values.items():
            if not (isinstance(pair, list) and len(pair) == 2 and all(map(_is_number, pair))):
                raise intervals.error(value, "is not an interval of two numbers")
    for name in rows.values:
        rows.objects(name)
    if not sources.values and not (tables and any(rows.values.values())):
        raise document.error("sources", "is empty: this result has no sources")
    return Result.from_dict(document.values)


def _refuse(file: str, problem: str, remedy: str = _REMEDY) -> NoReturn:
    raise InputError(problem, file=file, remedy=remedy)


def _is_number(value: object) -> bool:
    """null stands for an undefined number."""
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))
