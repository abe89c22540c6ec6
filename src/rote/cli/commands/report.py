"""Everything that can be measured of some texts, as one page to send to a colleague.

Writes one HTML file that needs no network: what was measured on what, a summary, the panel of
diversity, templates, novelty and originality with the texts that show them, figures, tables and a
method section with citations. What the inputs do not allow is listed with the reason.

\b
  rote report stories.jsonl --by source --reference human -o report.html
  rote report stories.jsonl --by source --reference human --corpus IDX --train train.jsonl
  rote report stories.jsonl --by source -o paper/
  rote report stories.jsonl --by source -o study.json
  rote report study.json -o report.md

A study that was saved as JSON is shown again in another form without measuring.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from rote.cli._flags import command_of, files_argument
from rote.cli._index import paths_of
from rote.cli._output import STDOUT, Gate, printing_console, send
from rote.cli._progress import TerminalReporter
from rote.core.errors import InputError, OptionError
from rote.core.json_reader import read_json
from rote.core.metric import option
from rote.core.progress import Reporter
from rote.corpus import Input, ReadOptions
from rote.measure import Settings
from rote.report.options import ReportOptions, check_across
from rote.report.report import Form, Report, output_form, read_report


@dataclass(frozen=True, slots=True)
class WritingOptions:
    """Where the report goes, and in which form."""

    SECTION: ClassVar[str] = "Output"
    output: Path | None = option(
        None,
        "Write the report to this file: .html, .md, .json to show it again, .parquet for all "
        "values as one table, or a folder of CSV, LaTeX and figures for a paper; - is standard "
        "output  [default: report.html]",
        short="-o",
        metavar="FILE",
        writes="report",
        common=True,
    )
    quiet: bool = option(False, "No progress bars and remarks", short="-q")

    def target(self) -> tuple[Path, Form]:
        if self.output in (None, STDOUT):
            return self.output or Path("report.html"), "html"
        path, form = self.output, output_form(self.output)
        if form == "folder" and path.is_file():
            raise OptionError(f"{path} is a file: name a folder, or end in .html, .md or .json")
        if form != "folder" and path.is_dir():
            raise OptionError(f"{path} is a folder: name a file with -o")
        if not path.absolute().parent.is_dir():
            raise OptionError(f"{path}: the folder {path.parent} does not exist")
        return path, form


def report(
    texts: Input,
    options: ReportOptions,
    settings: Settings,
    read: ReadOptions,
    writing: WritingOptions,
    reporter: Reporter,
) -> Report:
    form = writing.target()[1] if writing.output else None  # a wrong ending costs no minutes
    study = _measured(texts, options, settings, read, reporter)
    if writing.output:
        study.save(writing.output, form)
    return study


@command_of(__doc__, files_argument("files"))
def command(
    files: tuple[str, ...],
    options: ReportOptions,
    settings: Settings,
    read: ReadOptions,
    writing: WritingOptions,
    gate: Gate,
    reporter: TerminalReporter,
) -> None:
    gate.limits()
    path, form = writing.target()  # a target that cannot be written is noticed before the work
    study = _measured([Path(name) for name in files], options, settings, read, reporter)
    try:
        with reporter.stage(f"writing {path}", None):
            send(study.written(form), None) if path == STDOUT else study.save(path, form)
    except Exception:
        _keep(study, path, files, reporter)
        raise
    if not (path == STDOUT and writing.quiet):
        _tell(study, path)
    gate.check(study.results)


def _measured(
    texts: Input, options: ReportOptions, settings: Settings, read: ReadOptions, reporter: Reporter
) -> Report:
    """The report on these texts, or the one that was saved."""
    from rote.report.builder import make_report

    files = paths_of(texts)
    study = saved_study(files)
    if study is None:
        return make_report(texts, options, settings=settings, read=read, reporter=reporter)
    reporter.say(f"{files[0]} is a saved study of {study.created}: shown again, not measured")
    if not options.across:
        return study
    check_across(options.across, list(dict.fromkeys(n for r in study.results for n in r.by)))
    return replace(study, across=options.across)


def _keep(study: Report, path: Path, files: tuple[str, ...], reporter: TerminalReporter) -> None:
    """What was measured is not lost when it cannot be shown, unless it was kept before."""
    from rote.core.files import write_atomically

    copy = path.with_name(f"{path.name}.json")
    if copy.resolve() not in (Path(name).resolve() for name in files):
        write_atomically(copy, study.to_json() + "\n")
        reporter.say(f"results saved in {copy}: `rote report {copy}` shows them again")


def saved_study(files: list[Path]) -> Report | None:
    """The study that the only file holds; None where it holds something else."""
    if len(files) != 1 or not _may_be_saved(files[0]):
        return None
    try:
        data = read_json(files[0], strict=True)
    except InputError:
        return None  # whoever reads the texts says what is wrong with it
    if not isinstance(data, dict) or not {"panel", "given", "evidence"} <= data.keys():
        return None
    return read_report(data, str(files[0]))


def _may_be_saved(path: Path) -> bool:
    """Whether a file begins as our JSON does; nothing large is read for that."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        start = file.read(40).lstrip()
    return start.startswith(b"{") and b'"schema"' in start


def _tell(study: Report, path: Path) -> None:
    from rote.report.summary import print_summary

    # What was asked for stands on standard output alone.
    console = printing_console(path)
    print_summary(study, console)
    sections = dict.fromkeys(omitted.section for omitted in study.omitted)
    if sections:
        line = f"left out: {', '.join(sections)} (the report says why)"
        console.print(line, style="dim", highlight=False)
    console.print(f"{path}", highlight=False, markup=False, soft_wrap=True)
