"""A report as data: what was measured on what, and what was found.

`make_report` makes it, `page`, `markdown` and `folder` show it; the web app keeps it. The JSON
form holds everything that is shown, so that a report can be shown again without the texts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, TypeAlias

from rote.core import plugins
from rote.core.errors import InputError, OptionError
from rote.core.evidence import Evidence, Mark
from rote.core.files import write_atomically
from rote.core.json_reader import parse_json
from rote.core.result import Result, results_in
from rote.report.cells import Sheet
from rote.report.verdicts import Verdicts

SCHEMA = 1
Form = Literal["html", "md", "folder", "json", "parquet"]
ENDINGS: Mapping[str, Form] = {
    ".html": "html",
    ".htm": "html",
    ".md": "md",
    ".markdown": "md",
    ".json": "json",
    ".parquet": "parquet",
    "": "folder",
}


@dataclass(frozen=True, slots=True)
class Material:
    """One thing that was measured, or measured against: a file of texts, an index, training text.

    `role` is "texts", "items", "corpus" or "train"; `fingerprint` says which version of it.
    """

    role: str
    name: str
    fingerprint: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What a reader wants to know: texts, words, documents, sources, ..."""


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    version: str
    licence: str
    use: str


@dataclass(frozen=True, slots=True)
class Omission:
    """A part that was not measured, and why; what to give so that it would be."""

    section: str
    reason: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Report:
    """Everything that a report shows. `print` shows the summary."""

    title: str
    created: str
    """Date and time, ISO 8601."""
    version: str
    reference: str | None
    materials: Sequence[Material]
    tools: Sequence[Tool]
    results: Sequence[Result]
    evidence: Sequence[Evidence] = ()
    omitted: Sequence[Omission] = ()
    notes: Sequence[str] = ()
    across: str = ""
    """The field of the groups that is set side by side."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Report) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        screen = plugins.load("report", "screen")
        summary = import_module("rote.report.summary")
        return str(screen.plain_text(summary.print_summary, self))

    def __repr__(self) -> str:
        return f"<Report {self.title!r}: {', '.join(r.measure for r in self.results)}>"

    def result(self, measure: str) -> Result | None:
        return next((result for result in self.results if result.measure == measure), None)

    def measured(self) -> int | None:
        """How many of the given texts were measured, by whatever measured most; None: all."""
        inputs = [m.facts.get("sources", {}) for m in self.materials if m.role == "texts"]
        names = [name for sources in inputs for name in sources]
        if any("within" in dict(result.signature.settings) for result in self.results):
            return None  # sets of texts are counted there
        by_source = [result.by_source for result in self.results]
        most = sum(
            max((sizes[n].texts for sizes in by_source if n in sizes), default=0) for n in names
        )
        total = sum(size["texts"] for sources in inputs for size in sources.values())
        return most if most < total else None

    def to_dict(self) -> dict[str, Any]:
        parts = {"given": "materials", **{n: n for n in ("tools", "evidence", "omitted")}}
        data = {key: list(map(asdict, getattr(self, name))) for key, name in parts.items()}
        return {
            "schema": SCHEMA,
            "title": self.title,
            "made": self.created,
            "version": self.version,
            "reference": self.reference,
            **data,
            "panel": [result.to_dict() for result in self.results],
            "notes": list(self.notes),
            **({"across": self.across} if self.across else {}),
        }

    def to_json(self, indent: int | None = 2) -> str:
        text = json.dumps(self.to_dict(), indent=indent, ensure_ascii=False, allow_nan=False)
        # Half a surrogate pair cannot be written in UTF-8; \\udc80 is how JSON spells it.
        return text.encode("utf-8", "backslashreplace").decode("utf-8")

    def page(self) -> str:
        return str(plugins.load("report", "output").html_page(self))

    def markdown(self) -> str:
        return str(plugins.load("report", "output").render_report_markdown(self))

    def figure(self) -> Any:
        """The figure that the page opens with, as an Altair chart."""
        return plugins.load("report", "charts").draw_panel(self.results)

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{escape(self.page())}" width="100%" height="800"></iframe>'

    def written(self, form: Form) -> str:
        if form == "json":
            return self.to_json() + "\n"
        return self.markdown() if form == "md" else self.page()

    def save(self, path: str | Path, form: Form | None = None) -> None:
        """Write a page, Markdown, JSON, Parquet, or a folder, by the ending of the path."""
        path = Path(path)
        form = form or output_form(path)
        if form == "folder":
            plugins.load("report", "output").write_folder(self, path)
        elif form == "parquet":
            values = plugins.load("report", "export").values_parquet(self.results)
            write_atomically(path, values)
        else:
            # Half a surrogate pair cannot be written in UTF-8.
            write_atomically(path, self.written(form).encode("utf-8", "backslashreplace"))

    @classmethod
    def from_json(cls, text: str) -> Report:
        return cls.from_dict(parse_json(text))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Report:
        return cls(
            title=data["title"],
            created=data["made"],
            version=data["version"],
            reference=data["reference"],
            materials=tuple(Material(**record) for record in data["given"]),
            tools=tuple(Tool(**record) for record in data["tools"]),
            results=tuple(Result.from_dict(record) for record in data["panel"]),
            evidence=tuple(
                Evidence(**{**record, "marks": tuple(map(Mark.from_dict, record["marks"]))})
                for record in data["evidence"]
            ),
            omitted=tuple(Omission(**record) for record in data["omitted"]),
            notes=tuple(data["notes"]),
            across=str(data.get("across", "")),
        )


def read_report(data: Any, file: str) -> Report:
    """The report that the JSON of a file holds; what is wrong with it is an error of the file."""
    results_in(data, file, tables=True)
    try:
        return Report.from_dict(data)
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        what = f"is not a complete study ({type(problem).__name__}: {problem})"
        remedy = "Create it again with `rote report ... -o FILE.json`"
        raise InputError(what, file=file, remedy=remedy) from None


def output_form(path: Path) -> Form:
    ending = path.suffix.lower()
    if ending in ENDINGS and not path.is_dir():
        return ENDINGS[ending]
    if path.is_dir() or not ending:
        return "folder"
    raise OptionError(
        f"{path}: unknown ending {ending}; use .html, .md, .json or .parquet, or name a folder"
    )


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph; a quiet one explains what stands beside it."""

    text: str
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class ItemList:
    """Short paragraphs, one below the other."""

    items: Sequence[str]
    quiet: bool = False
    addresses: Sequence[str] = ()
    """Where each leads on the web, where any does."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence in plain text; names of sources occur in it as they were given.

    kind        overall (a source as a whole), difference, not found (an aspect without one), found
                (a finding that is no test against the reference)
    direction   "more repetitive", "more diverse", the words of an aspect that is neither, or
                nothing
    state       "differs", "not found" or nothing where it is no test
    difference  of the source less the reference; `relative` is its share of the reference
    p           corrected over the aspects and sources of a facet
    section     where the page has more; `aspect` is what the link is called
    """

    text: str
    kind: str
    measure: str = ""
    value: str = ""
    source: str = ""
    facet: str = ""
    direction: str = ""
    state: str = ""
    difference: float | None = None
    relative: float | None = None
    p: float | None = None
    section: str = ""
    aspect: str = ""


@dataclass(frozen=True, slots=True)
class FindingList:
    statements: Sequence[Statement]


@dataclass(frozen=True, slots=True)
class Alert:
    kind: str
    text: str
    section: str = ""


@dataclass(frozen=True, slots=True)
class Alerts:
    alerts: Sequence[Alert]


@dataclass(frozen=True, slots=True)
class Code:
    text: str


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and what is known of them; `code` for what is copied letter by letter."""

    facts: Sequence[tuple[str, str]]
    code: bool = False


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure as its specification (`_svg.spec`); `says` is what one sees in it."""

    id: str
    title: str
    says: str
    spec: str


@dataclass(frozen=True, slots=True)
class MarkedTexts:
    id: str
    title: str
    evidence: Sequence[Evidence]
    legend: str = ""


@dataclass(frozen=True, slots=True)
class BlockGroup:
    """Blocks below a heading of their own; `closed` where few will want to read all of them."""

    title: str
    blocks: Sequence[Block]
    closed: bool = False


Block: TypeAlias = (
    Paragraph
    | ItemList
    | Alerts
    | Code
    | FindingList
    | Verdicts
    | Facts
    | Figure
    | MarkedTexts
    | Sheet
    | BlockGroup
)


@dataclass(frozen=True, slots=True)
class Section:
    """One section of the report; `id` is its address on the page."""

    id: str
    title: str
    blocks: Sequence[Block] = field(default_factory=tuple)
