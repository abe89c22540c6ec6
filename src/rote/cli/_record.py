"""The command of a record, with its flags: one function serves measures, studies and the panel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args, get_type_hints

import click

from rote.cli._flags import SectionedCommand, build, flags
from rote.cli._output import OutputOptions, deliver
from rote.cli._progress import TerminalReporter
from rote.core.errors import OptionError
from rote.core.metric import Metric
from rote.core.record import find, module_of
from rote.core.result import Result


@dataclass(frozen=True, slots=True)
class Given:
    """One call of a command: what was given to it, where results go, and whom it tells."""

    files: tuple[str, ...]
    options: dict[str, Any]
    output: OutputOptions
    reporter: TerminalReporter


@dataclass(frozen=True, slots=True)
class Further:
    """What a command does beside what its record says.

    `prepare` refuses before the work what cannot work, and gives options that differ from those
    that were given; `finish` delivers the result in place of `deliver`.
    """

    flags: Sequence[click.Option] = ()
    prepare: Callable[[Given], Mapping[str, Any]] = lambda given: {}
    finish: Callable[[Result, Given], None] | None = None


NOTHING = Further()


def record_command(name: str, further: Further = NOTHING) -> click.Command:
    """`rote NAME FILE...`"""
    from rote.studies._driver import kinds, run

    record = find(name)
    own = {field for kind in kinds(record) for field in get_type_hints(kind)}

    def call(given: Given) -> list[Result]:
        options = {key: value for key, value in given.options.items() if key in own}
        if isinstance(record, Metric):
            _refuse_half(record, options)
        return [run(name, _inputs(given.files), options, reporter=given.reporter)]

    metavar = "FILE..." if isinstance(record, Metric) else record.metavar
    every = [option for kind in kinds(record) for option in flags(kind, _section(kind, record))]
    shown = [*flags(record.options, "What is measured"), *further.flags, *every]
    return _command(name, module_of(name).__doc__ or "", metavar, shown, call, further)


def panel_command(
    name: str, help: str, measures: Sequence[tuple[str, Mapping[str, Any]]], shared: type
) -> click.Command:
    """Several measures at once, each with settings of its own; `shared` holds the options that
    all of them take."""
    from rote.corpus import ReadOptions
    from rote.measure import Settings

    def call(given: Given) -> list[Result]:
        from rote.measure._compute import compute

        chosen = [
            (measure, _accepted(measure, {**given.options, **fixed}, given.reporter))
            for measure, fixed in measures
        ]
        return compute(
            chosen,
            _inputs(given.files),
            settings=build(Settings, given.options),
            read=build(ReadOptions, given.options),
            reporter=given.reporter,
            panel=True,
        )

    shown = [*flags(shared, "What is measured"), *flags(Settings, "Comparison")]
    shown += flags(ReadOptions, "Reading")
    return _command(name, help, "FILE...", shown, call, NOTHING, panel=True)


def _command(
    name: str,
    help: str,
    metavar: str,
    shown: Sequence[click.Option],
    call: Callable[[Given], list[Result]],
    further: Further,
    *,
    panel: bool = False,
) -> click.Command:
    def run(files: tuple[str, ...], **options: Any) -> None:
        output = build(OutputOptions, options)
        # A contradiction is noticed before the work, not after.
        output.form(page=bool(options.get("highlight")))
        given = Given(files, options, output, TerminalReporter(output.quiet))
        results = call(replace(given, options={**options, **further.prepare(given)}))
        if further.finish:
            further.finish(results[0], given)
        else:
            deliver(results, output, panel=panel)

    once = {option.name: option for option in reversed([*shown, *flags(OutputOptions, "Output")])}
    return SectionedCommand(
        name,
        callback=run,
        help=help.strip(),
        params=[
            click.Argument(["files"], metavar=metavar, nargs=-1, required=True),
            *reversed(once.values()),
        ],
    )


def _section(kind: type, record: Any) -> str:
    return "What is measured" if kind is record.options else getattr(kind, "SECTION", "Options")


def _inputs(files: Sequence[str]) -> list[Path]:
    return [Path(name) for name in files]


def _accepted(measure: str, given: Mapping[str, Any], reporter: TerminalReporter) -> Any:
    """The options of one measure; where it lacks the variant, its default, and a remark."""
    options = find(measure).options
    variant = given.get("variant")
    allowed = get_args(get_type_hints(options).get("variant"))
    if variant is not None and variant not in allowed:
        default = allowed[0] if allowed else "exact"
        reporter.say(f"{measure} has no variant '{variant}': '{default}' is used")
        given = {**given, "variant": default}
    return build(options, dict(given))


def _refuse_half(metric: Metric, given: Mapping[str, Any]) -> None:
    """On the shell, a measure that compares with nothing is a mistake, not a table of dashes."""
    for flag in ("against", "train"):
        if not given.get(flag, "-"):
            raise OptionError(
                f"{metric.name} holds the texts against a corpus: --{flag} names an index, or a "
                "file of texts"
            )
    if given.get("model", "-") is None:
        raise OptionError(f"{metric.name} asks a language model: --model names one")
    if not metric.tested and not given.get("reference"):
        raise OptionError(
            f"{metric.name} compares with a reference: --reference names one of the sources that "
            "--by tells apart"
        )
