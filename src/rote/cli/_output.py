"""Where results go: a table on the terminal, or JSON, CSV, LaTeX, figures in files; no input is
ever written over.

An option that writes says so (`writes`): the endings of its file, `result` or `report` where the
form follows from the ending and other flags, `folder`, or `names` for a folder in which only names
of rote's own are written (figures). Everything else that names something on the disk is read:
arguments, files, indexes, models. All of it is looked at before any work.
"""

from __future__ import annotations

import glob
import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import click

from rote.core.errors import OptionError, UnknownName
from rote.core.files import check_parent, write_atomically
from rote.core.metric import option
from rote.core.numbers import format_number
from rote.core.record import LINES as LINES
from rote.core.result import Result, panel_to_json
from rote.core.signature import Signature

if TYPE_CHECKING:
    from rote.core.evidence import Evidence

STDOUT = Path("-")
FOLDER, NAMES, RESULT, REPORT = "folder", "names", "result", "report"
_FILES = (".json", ".jsonl", ".csv", ".tsv", ".tex", ".txt", ".md", ".html", ".xlsx", ".parquet")
_NO_PLACE = ("FIELD", "NAME", "NAME,...", "ID", "SOURCE", "URL", "KIND", "FIELD=VALUE", "SHAPE")
"""What an option that takes such a value names is no file."""


def check_places(params: Sequence[click.Parameter], parsed: Mapping[str, Any]) -> None:
    """Refuse a target that is an input, another's target, no place, or of an unknown form."""
    read = [place for param in params for place in _read(param, parsed.get(param.name or ""))]
    key_by_path: dict[Path, str] = {}
    for param in params:
        writes, target = getattr(param, "writes", None), parsed.get(param.name or "")
        if writes is None or target is None:
            continue
        flag = param.opts[0]
        if target == STDOUT:
            # What is written beside a result does not go where the result goes.
            if param.name != "output" or writes in (FOLDER, NAMES):
                what = "a folder" if writes in (FOLDER, NAMES) else "a file"
                raise OptionError(f"{flag} - would be standard output: name {what}")
            continue
        _check_ending(target, flag, writes)
        if writes not in (FOLDER, NAMES):
            check_parent(target.absolute())
        for place, name in read:
            if _written_over(target, place, writes):
                raise OptionError(
                    f"{flag} {target} would overwrite the input ({name}): choose another file"
                )
        if other_flag := key_by_path.get(target.resolve()):
            both = f"{other_flag} and {flag}"
            raise OptionError(f"{target} is the target of both {both}: choose different files")
        key_by_path[target.resolve()] = flag


def _read(param: click.Parameter, value: Any) -> Iterator[tuple[Path, str]]:
    """The files and folders that a parameter names, and how it was given."""
    if getattr(param, "writes", None) is not None or value is None:
        return
    if isinstance(param, click.Option) and param.metavar in _NO_PLACE:
        return
    for item in value if isinstance(value, tuple) else (value,):
        if isinstance(item, (str, Path)) and str(item) not in ("", "-"):
            is_argument = isinstance(param, click.Argument)
            described = str(item) if is_argument else f"{param.opts[-1]} {item}"
            # A folder named like a field (--by stories) is not read; a file of that name might.
            folders = is_argument or param.metavar is not None
            yield from ((p, described) for p in _places(str(item)) if folders or os.path.isfile(p))
            if folders:
                yield Path(item), described  # though it may not be there yet


def _places(text: str) -> Iterator[Path]:
    """What a value may stand for: a path, a glob, NAME=PATH, KIND:PATH, NAME=KIND:PATH#MORE."""
    places = {text, text.partition("=")[2]}
    places |= {place.partition(":")[2] for place in places} | {p.partition("#")[0] for p in places}
    for name in places:
        if not name:
            continue
        if os.path.lexists(name):
            yield Path(name)
        elif glob.has_magic(name):
            yield from map(Path, glob.glob(name, recursive=True))


def _written_over(target: Path, place: Path, writes: Any) -> bool:
    """Whether writing to `target` may change what is read at `place`."""
    if _is_same_file(target, place):
        return True
    if os.path.isdir(place) and _is_inside(target, place):
        # A new file among the inputs changes none of them; an old one may be one of them.
        return writes != NAMES and target.exists()
    return writes in (FOLDER, REPORT) and _is_inside(place, target)


def _is_same_file(first: Path, second: Path) -> bool:
    if first.resolve() == second.resolve():
        return True
    return os.path.exists(first) and os.path.exists(second) and os.path.samefile(first, second)


def _is_inside(path: Path, folder: Path) -> bool:
    return folder.resolve() in path.resolve().parents


def _check_ending(target: Path, flag: str, writes: Any) -> None:
    ending = target.suffix.lower()
    if writes in (FOLDER, NAMES):
        if ending in _FILES and not target.is_dir():
            raise OptionError(f"{flag} takes a folder, but {target} looks like a file")
    elif writes not in (RESULT, REPORT) and ending not in writes and (ending or writes != LINES):
        raise OptionError(f"{flag} {target}: end in one of {', '.join(writes)}")


FIGURES = (".png", ".svg", ".html", ".json")
_ENDINGS = {".json": "json", ".csv": "csv", ".tex": "latex", ".md": "md", ".txt": "table"}
_PAGES = {".html": "html", ".htm": "html"}
_FLAGS = ("json", "csv", "latex", "md")
ESCAPES = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_UNKNOWN = "\ufffd"


@dataclass(frozen=True, slots=True)
class Output:
    """The same on every command that gives results or lists."""

    SECTION: ClassVar[str] = "Output"
    SHARED: ClassVar[bool] = True
    ENDINGS: ClassVar[Mapping[str, str]] = _ENDINGS
    json: bool = option(False, "Print JSON, unrounded", common=True)
    csv: bool = option(
        False, "Print all tables as unrounded CSV, with the table's name in the first column"
    )
    latex: bool = option(False, "Print LaTeX tables")
    md: bool = option(False, "Print Markdown tables")
    output: Path | None = option(
        None,
        "Write the result to this file: .json, .csv, .tex, .md or .txt; - is standard output",
        short="-o",
        metavar="FILE",
        writes="result",
        common=True,
    )
    quiet: bool = option(False, "No progress bars and remarks", short="-q")

    @property
    def path(self) -> Path | None:
        """The file that is written; None for standard output."""
        return None if self.output == STDOUT else self.output

    def form(self, *, page: bool = False) -> str:
        """`table`, `json`, `csv`, `latex`, `md` or `html`; called before the work."""
        chosen = [name for name in _FLAGS if getattr(self, name, False)]
        if len(chosen) > 1:
            raise OptionError(f"choose one of {', '.join('--' + name for name in chosen)}")
        ending = self.path.suffix.lower() if self.path else ""
        if not ending:
            return chosen[0] if chosen else "table"
        known = {**self.ENDINGS, **(_PAGES if page else {})}
        form = known.get(ending)
        if form is None:
            known_ones = f"end in one of {', '.join(known)}"
            raise OptionError(f"{self.output}: results are not written as {ending}; {known_ones}")
        if chosen and chosen[0] != form:
            both = f"--{chosen[0]} and the ending of {self.output}"
            raise OptionError(f"{both} contradict each other: leave one out")
        return form


@dataclass(frozen=True, slots=True)
class OutputOptions(Output):
    """With figures, where a measure draws some."""

    figure: Path | None = option(
        None,
        "Also draw a figure of the values, or the panel (.png, .svg, .html, .json)",
        metavar="FILE",
        writes=FIGURES,
    )
    figures: Path | None = option(
        None, "Write all figures into this folder, as PNG and SVG", metavar="DIR", writes="names"
    )
    across: str | None = option(
        None,
        "Print only two-way tables: the values of this grouping field as columns, the others as "
        "rows; as a page: -o FILE.html",
        metavar="FIELD",
    )


@dataclass(frozen=True, slots=True)
class PanelOutput(OutputOptions):
    """Of several measures at once: the verdicts, or every value."""

    ENDINGS: ClassVar[Mapping[str, str]] = {**Output.ENDINGS, ".parquet": "parquet"}
    output: Path | None = option(
        None,
        "Write the result to this file: .json, .csv, .tex, .md, .txt, or all values as one table: "
        ".parquet; - is standard output",
        short="-o",
        metavar="FILE",
        writes="result",
        common=True,
    )
    all: bool = option(False, "Print all values, not only the verdicts")


@dataclass(frozen=True, slots=True)
class Gate:
    """Values that a pipeline is to stop at."""

    SECTION: ClassVar[str] = "Output"
    SHARED: ClassVar[bool] = True
    fail_above: tuple[str, ...] = option(
        (),
        "Exit with status 1 if any source exceeds this value: contaminated=0",
        metavar="VALUE=NUMBER",
    )

    def limits(self) -> dict[str, float]:
        limits = {}
        for limit in self.fail_above:
            name, equals, number = limit.partition("=")
            try:
                limits[name.strip()] = float(number)
            except ValueError:
                equals = ""
            if not equals:
                wanted = "--fail-above takes a value and a number, contaminated=0"
                raise OptionError(f"{wanted}, not '{limit}'")
        return limits

    def check(self, results: Sequence[Result]) -> None:
        failed = []
        for name, most in self.limits().items():
            for source, value in _numbers(results, name):
                if math.isnan(value):
                    failed.append(f"{name} of {source} is undefined")
                elif value > most:
                    number = format_number(value, ".6g")
                    failed.append(f"{name} of {source} is {number}, more than {most:g}")
        for line in failed:
            click.echo(f"failed: {line}", err=True)
        if failed:
            raise click.exceptions.Exit(1)


def _numbers(results: Sequence[Result], name: str) -> list[tuple[str, float]]:
    """A value of every source; a column of a table where no value has that name."""
    values = [
        (value, f"{source}{_measure(result, results)}", number)
        for result in results
        for source, measured in result.by_source.items()
        for value, number in measured.values.items()
    ]
    cells = [
        (column, f"row {number} of {table}{_measure(result, results)}", float(cell))
        for result in results
        for table, rows in result.tables.items()
        for number, row in enumerate(rows, 1)
        for column, cell in row.items()
        if isinstance(cell, (int, float)) and not isinstance(cell, bool)
    ]
    for known in (values, cells):
        if chosen := [(of, number) for value, of, number in known if value == name]:
            return chosen
    names = dict.fromkeys(value for known in (values, cells) for value, _, _ in known)
    raise UnknownName("value", name, names)


def _measure(result: Result, results: Sequence[Result]) -> str:
    return f" ({result.measure})" if len(results) > 1 else ""


def emit(
    output: Output,
    show: Callable[[Any], None],
    forms: Mapping[str, Callable[[], str]],
    *,
    page: bool = False,
) -> None:
    """Print or write in the form asked for: `show` prints to a console, `forms` make others."""
    from rote.report.screen import plain_text

    form = output.form(page=page)
    if form == "table" and output.path is None:
        show(printing_console())
        return
    text = plain_text(lambda _, console: show(console), None) if form == "table" else forms[form]()
    send(text if text.endswith("\n") else text + "\n", output.path)


def send(text: str, path: Path | None) -> None:
    # Half a surrogate pair cannot be written in UTF-8; \\udc80 is how JSON spells it.
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    if path is not None:
        write_atomically(path, text)
        return
    printable = ESCAPES.sub(_UNKNOWN, text) if sys.stdout.isatty() else text
    # color=True: click would take what looks like colours out of the texts.
    click.echo(printable, nl=False, color=True)


@contextmanager
def written(path: Path) -> Iterator[Path]:
    """A file to write to in the place of `path`; what it holds goes to standard output for -."""
    import tempfile

    if path != STDOUT:
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder, "-")
        click.echo(Path(folder, "-").read_bytes(), nl=False)


def deliver(
    results: Sequence[Result],
    output: OutputOptions,
    *,
    panel: bool,
    show: Callable[[Any], None] | None = None,
) -> None:
    """Print or write the results of measures; `show` where more than their tables is shown."""
    from rote.report import export
    from rote.report import result_tables as tables

    draw(results, output, panel=panel)
    across, highlighted = output.across or "", results[0].tables.get("highlight")
    has_page, is_panel = bool(across or highlighted), isinstance(output, PanelOutput)
    if is_panel and output.path and output.form(page=has_page) == "parquet":
        write_atomically(output.path, export.values_parquet(results))
        return

    def page() -> str:
        from rote.report.fragments import results_page, text_page

        return results_page(results, across) if across else text_page(_evidence(highlighted))

    forms = {
        "json": lambda: panel_to_json(results) if panel else results[0].to_json(),
        "csv": lambda: (
            export.across_csv(results, across) if across else export.results_csv(results)
        ),
        "latex": lambda: export.results_latex(results, across),
        "md": lambda: export.results_markdown(results, across),
        "html": page,
    }
    if across or show is None:
        show = partial(tables.print_results, results, across=across)
        if highlighted and not across:
            show = partial(_print_evidence, _evidence(highlighted))
        elif isinstance(output, PanelOutput) and not (across or output.all):
            show = partial(tables.print_panel, results)
    emit(output, show, forms, page=has_page)


def _evidence(rows: Any) -> Evidence:
    """One text with what was found in it."""
    from rote.core.evidence import Evidence, Mark

    (row,) = rows
    spans = [Mark(s["start"], s["end"], s["template"], "template") for s in row["spans"]]
    return Evidence("templates", row["source"], row["id"], row["text"], spans)


def _print_evidence(evidence: Evidence, console: Any) -> None:
    from rote.report.terminal import strip_controls
    from rote.report.texts.highlight import print_highlighted

    console.print(f"{strip_controls(f'{evidence.source}: {evidence.id}')}\n", style="bold")
    print_highlighted(evidence.text, evidence.marks, console)


def draw(results: Sequence[Result], output: OutputOptions, *, panel: bool = False) -> None:
    if not (output.figure or output.figures):
        return
    from rote.report.charts import (
        draw_figure,
        draw_figures,
        draw_panel,
        draw_panel_figures,
        save_figure,
    )

    if output.figure and not output.figures:
        save_figure(draw_panel(results) if panel else draw_figure(results[0]), output.figure)
    if output.figures:
        charts = draw_panel_figures(results) if panel else draw_figures(results[0])
        if not charts:
            raise OptionError("nothing to plot: no value is defined")
        if output.figure:
            save_figure(next(iter(charts.values())), output.figure)
        output.figures.mkdir(parents=True, exist_ok=True)
        for name, chart in charts.items():
            save_figure(chart, *(output.figures / (name + ending) for ending in (".png", ".svg")))


def printing_console(beside: Path | None = None) -> Any:
    """The console that results are printed to; standard error where `beside` takes the output."""
    from rote.report.screen import FILE_WIDTH
    from rote.report.terminal import make_console

    if beside == STDOUT:
        return make_console(stderr=True)
    # A pipe has no width of its own: wide enough for a handful of sources side by side.
    return make_console() if sys.stdout.isatty() else make_console(width=FILE_WIDTH)


SCHEMA = 1


@dataclass(frozen=True, slots=True)
class SummaryOptions:
    """The same on every command that changes or describes an index."""

    SECTION: ClassVar[str] = "Output"
    SHARED: ClassVar[bool] = True
    json: bool = option(False, "Print JSON", common=True)
    quiet: bool = option(False, "No progress bars and remarks", short="-q")


@dataclass(frozen=True, slots=True)
class Listing:
    """Rows under a name, and what JSON says of all of them."""

    name: str
    rows: Sequence[Mapping[str, Any]]
    columns: Sequence[str]
    about: Mapping[str, Any]

    def result(self, command: str, **signed: Any) -> Result:
        """What the function of a command gives; the signature names what the rows depend on."""
        rows = [{name: row[name] for name in self.columns} for row in self.rows]
        signature = Signature.of({"measure": command, **signed})
        about = {**self.about, "signature": str(signature)}
        tables = {"values": (), self.name: rows}
        plain = Result(command, signature, (), None, None, {}, tables=tables)
        return replace(plain, about=about, listing=self.name)


Draw: TypeAlias = Callable[[Any], None]
"""Prints to a rich console."""


def deliver_rows(
    listing: Listing, draw: Draw, output: Output, page: Callable[[], str] | None = None
) -> None:
    """Print or write the rows; `draw` prints the table to a rich console, `page` makes HTML."""
    from rote.report.export import rows_latex, rows_markdown

    forms: dict[str, Callable[[], str]] = {
        "json": lambda: as_json({**listing.about, listing.name: list(listing.rows)}),
        "csv": lambda: results_csv(listing),
        "latex": lambda: rows_latex(listing.columns, listing.rows),
        "md": lambda: rows_markdown(listing.name, listing.columns, listing.rows),
    }
    emit(output, draw, {**forms, **({"html": page} if page else {})}, page=page is not None)


def as_json(content: Mapping[str, Any]) -> str:
    """One JSON object of the current schema."""
    text = json.dumps({"schema": SCHEMA, **content}, indent=2, ensure_ascii=False)
    # JSON leaves some characters as they are that a terminal would obey.
    escaped = ESCAPES.sub(lambda c: f"\\u{ord(c[0]):04x}", text)
    return escaped.encode("utf-8", "backslashreplace").decode("utf-8") + "\n"


def results_csv(listing: Listing) -> str:
    """One line per row; lists of items are separated by spaces, what is not known is empty."""
    from rote.report.export import rows_csv, to_csv_cell

    def cell(value: Any) -> Any:
        return " ".join(value) if isinstance(value, (list, tuple)) else to_csv_cell(value)

    rows = ([cell(row[name]) for name in listing.columns] for row in listing.rows)
    return rows_csv([("table", *listing.columns), *((listing.name, *row) for row in rows)])
