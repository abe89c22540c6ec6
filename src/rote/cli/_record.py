"""The command of a record, with its flags: one function serves measures, studies and the panel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from rote.cli._flags import SectionedCommand, build, files_argument, flags, section
from rote.cli._index import places_of
from rote.cli._output import (
    STDOUT,
    Gate,
    Output,
    OutputOptions,
    PanelOutput,
    SummaryOptions,
    as_json,
    deliver,
    printing_console,
    written,
)
from rote.cli._progress import TerminalReporter
from rote.core.errors import OptionError
from rote.core.metric import Metric, at_a_glance
from rote.core.record import LINES, Study
from rote.core.registry import find
from rote.core.result import Result


@dataclass(frozen=True, slots=True)
class Invocation:
    """One call of a command: what was given to it, where results go, and whom it tells."""

    files: tuple[str, ...]
    options: dict[str, Any]
    output: Any
    reporter: TerminalReporter


@dataclass(frozen=True, slots=True)
class Further:
    """What a command does beside what its record says.

    `prepare` refuses before the work what cannot work, and gives options that differ from those
    that were given; `finish` delivers the result in place of `deliver`.
    """

    flags: Sequence[click.Option] = ()
    prepare: Callable[[Invocation], Mapping[str, Any]] = lambda _: {}
    finish: Callable[[Result, Invocation], None] | None = None
    output: type[Output] | type[SummaryOptions] = OutputOptions
    page: bool = False
    """Whether a result can be written as a page."""


NOTHING = Further()


def record_command(name: str, further: Further = NOTHING) -> click.Command:
    """`rote NAME FILE...`"""
    from rote.studies.dispatch.driver import option_kinds
    from rote.studies.dispatch.functions import command_help

    record = find(name)
    every = [field for kind in option_kinds(record) for field in fields(kind)]
    names = {field.name for field in every}
    # At the shell they are names, whether there are such files or not.
    takes = ("texts", "items")
    several = {f.name for f in every if f.metadata.get("takes") in takes and f.default == ()}

    def call(invocation: Invocation) -> list[Result]:
        from rote.studies.dispatch.driver import run_command

        options = {key: value for key, value in invocation.options.items() if key in names}
        for key in several & options.keys():
            options[key] = tuple(places_of(options[key]))
        if isinstance(record, Metric):
            _refuse_half(record, options)
        files = places_of(invocation.files)
        return [run_command(name, files, options, reporter=invocation.reporter)]

    metavar, left_out = "FILE...", tuple(record.without)
    if isinstance(record, Study):
        metavar = record.metavar
        if record.account:
            further = Further(finish=partial(_account, record), output=SummaryOptions)
    groups = []
    for kind in option_kinds(record):
        heading = section(kind, "What is measured" if kind is record.options else "Options")
        groups.append(flags(kind, heading, left_out))
    groups.insert(1, list(further.flags))
    every_flag = [option for group in groups for option in group]
    glance = at_a_glance([*option_kinds(record), further.output], left_out)
    return _command(name, command_help(record), metavar, every_flag, call, further, glance=glance)


def panel_command(
    name: str, help: str, work: Callable[..., list[Result]], shared: type
) -> click.Command:
    """Several measures at once; `shared` holds the options that all of them take."""
    from rote.corpus import ReadOptions
    from rote.measure import Settings

    def call(invocation: Invocation) -> list[Result]:
        kinds: list[Any] = [build(k, invocation.options) for k in (shared, Settings, ReadOptions)]
        return work(places_of(invocation.files), *kinds, invocation.reporter)

    headings = {shared: "What is measured", Settings: "Comparison", ReadOptions: "Reading"}
    every_flag = [option for kind, heading in headings.items() for option in flags(kind, heading)]
    further, glance = Further(output=PanelOutput), at_a_glance([*headings, PanelOutput])
    return _command(name, help, "FILE...", every_flag, call, further, glance=glance, panel=True)


def _command(
    name: str,
    help: str,
    metavar: str,
    record_flags: Sequence[click.Option],
    call: Callable[[Invocation], list[Result]],
    further: Further,
    *,
    glance: Sequence[str],
    panel: bool = False,
) -> click.Command:
    def run(files: tuple[str, ...], **options: Any) -> None:
        options = _with_lines(options)
        output = build(further.output, options)
        if isinstance(output, Output):
            # A contradiction is noticed before the work, not after.
            across = getattr(output, "across", None)
            form = output.form(page=further.page or bool(options.get("highlight") or across))
            if across and form in ("json", "parquet"):
                why = "--across formats tables only: JSON and Parquet always contain all values"
                raise OptionError(why)
            if across and (by := options.get("by")) and across not in by:
                raise OptionError(f"--across names a field of --by ({', '.join(by)}), not {across}")
        gate = build(Gate, options)
        gate.limits()
        invocation = Invocation(files, options, output, TerminalReporter(output.quiet))
        options = {**options, **further.prepare(invocation)}
        # The data set that a command makes goes to a file first, if it is for standard output.
        is_piped = further.output is SummaryOptions and options.get("output") == STDOUT
        with written(STDOUT) if is_piped else nullcontext() as place:
            options = {**options, "output": place} if place else options
            results = call(replace(invocation, options=options))
            if further.finish:
                further.finish(results[0], invocation)
            else:
                assert isinstance(output, OutputOptions)
                deliver(results, output, panel=panel)
            gate.check(results)

    outputs = [*flags(further.output, "Output"), *flags(Gate, "Output")]
    once = {option.name: option for option in reversed([*record_flags, *outputs])}
    main = {option.opts[0] for option in once.values()}
    for option in once.values():
        # A second name of a flag gives way to another's first (--on of precision-recall).
        option.opts = [option.opts[0], *(name for name in option.opts[1:] if name not in main)]
    params = [files_argument("files", metavar), *reversed(once.values())]
    return SectionedCommand(name, callback=run, help=help.strip(), params=params, glance=glance)


def _with_lines(options: dict[str, Any]) -> dict[str, Any]:
    """Where a command writes records beside its result, -o FILE.jsonl is the place for them."""
    target, write_target = options.get("output"), options.get("write")
    if "write" not in options or target is None or target.suffix not in LINES:
        return options
    if write_target is not None:
        raise OptionError(f"records can go to only one file: {write_target} or {target}")
    return {**options, "output": None, "write": target}


def _account(record: Study, result: Result, invocation: Invocation) -> None:
    """What a command tells of the data set it made; on standard error where the data go to `-`."""
    assert record.account is not None
    target = invocation.options["output"] or Path(result.about["folder"])
    if record.ledger:
        from rote.report.texts.ledger import write_page

        write_page(Path(target), record.ledger, record.title)
    if invocation.output.json:
        click.echo(as_json(result.to_dict()), nl=False, err=target == STDOUT)
        return
    from rote.report.result_tables import print_tables

    console = printing_console(target)
    console.print(record.account(result, str(target)), highlight=False, soft_wrap=True)
    print_tables(result, console)


def _refuse_half(metric: Metric, parsed: Mapping[str, Any]) -> None:
    """On the shell, a measure that compares with nothing is a mistake, not a table of dashes."""
    for field in fields(metric.options):
        if not field.metadata.get("needed") or parsed.get(field.name):
            continue
        if field.name == "model":
            raise OptionError(f"{metric.name} needs a language model: name one with --model")
        raise OptionError(
            f"{metric.name} compares the texts with a corpus: --{field.name} takes an index or a "
            "file of texts"
        )
    if not (metric.tested or metric.alone or parsed.get("reference")):
        hint = "name one of the sources (--by) with --reference"
        raise OptionError(f"{metric.name} compares with a reference: {hint}")
