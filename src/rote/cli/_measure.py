"""The command of a measure, made from its record: one function serves them all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args, get_type_hints

import click

from rote.cli._flags import SectionedCommand, build, flags
from rote.cli._output import OutputOptions, deliver
from rote.cli._progress import TerminalReporter
from rote.core import plugins
from rote.core.errors import OptionError
from rote.core.metric import Metric
from rote.core.result import Result


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a command: what was given to it, where results go, and whom it tells."""

    files: tuple[str, ...]
    given: dict[str, Any]
    output: OutputOptions
    reporter: TerminalReporter


@dataclass(frozen=True, slots=True)
class Further:
    """What the command of a measure does beside measuring.

    `prepare` refuses before the work what cannot work, and gives settings that differ from those
    that were given; `finish` delivers the result in place of `deliver`.
    """

    flags: Sequence[click.Option]
    prepare: Callable[[Call], Mapping[str, Any]]
    finish: Callable[[Result, Call], None]


def measure_command(name: str, further: Further | None = None) -> click.Command:
    """`rote NAME FILE...`"""
    metric: Metric = plugins.load("measure", name).METRIC
    return _command(
        name,
        plugins.load("measure", name).__doc__ or "",
        flags(metric.options, "What is measured"),
        [(name, metric.options, {})],
        further=further,
    )


def panel_command(
    name: str, help: str, measures: Sequence[tuple[str, type, dict[str, Any]]], shared: type
) -> click.Command:
    """Several measures at once, each with settings of its own; `shared` holds the options that
    all of them take."""
    return _command(name, help, flags(shared, "What is measured"), measures, panel=True)


def _accepted(
    measure: str, options: type, given: dict[str, Any], reporter: TerminalReporter
) -> Any:
    """The options of one measure; where it lacks the variant, its default, and a remark."""
    variant = given.get("variant")
    allowed = get_args(get_type_hints(options).get("variant"))
    if variant is not None and variant not in allowed:
        default = allowed[0] if allowed else "exact"
        reporter.say(f"{measure} has no variant '{variant}': '{default}' is used")
        given = {**given, "variant": default}
    return build(options, given)


def _refuse_half(chosen: Sequence[tuple[str, Any]], given: Mapping[str, Any]) -> None:
    """On the shell, a measure that compares with nothing is a mistake, not a table of dashes."""
    for name, options in chosen:
        for flag in ("against", "train"):
            if not getattr(options, flag, "-"):
                raise OptionError(
                    f"{name} holds the texts against a corpus: --{flag} names an index, or a file "
                    "of texts"
                )
        if getattr(options, "model", "-") is None:
            raise OptionError(f"{name} asks a language model: --model names one")
        if not plugins.load("measure", name).METRIC.tested and not given.get("reference"):
            raise OptionError(
                f"{name} compares with a reference: --reference names one of the sources that "
                "--by tells apart"
            )


def _command(
    name: str,
    help: str,
    own: list[click.Option],
    measures: Sequence[tuple[str, type, dict[str, Any]]],
    *,
    panel: bool = False,
    further: Further | None = None,
) -> click.Command:
    from rote.corpus import ReadOptions
    from rote.measure import Settings

    def run(files: tuple[str, ...], **given: Any) -> None:
        from rote.measure._compute import compute

        output = build(OutputOptions, given)
        # A contradiction is noticed before the work, not after.
        output.form(page=bool(given.get("highlight")))
        reporter = TerminalReporter(output.quiet)
        call = Call(files, given, output, reporter)
        if further:
            given = {**given, **further.prepare(call)}
        chosen = [
            (measure, _accepted(measure, options, {**given, **fixed}, reporter))
            for measure, options, fixed in measures
        ]
        _refuse_half(chosen, given)
        results = compute(
            chosen,
            [Path(name) for name in files],
            settings=build(Settings, given),
            read=build(ReadOptions, given),
            reporter=reporter,
            panel=panel,
        )
        if further:
            further.finish(results[0], call)
        else:
            deliver(results, output, panel=panel)

    return SectionedCommand(
        name,
        callback=run,
        help=help.strip(),
        params=[
            click.Argument(["files"], metavar="FILE...", nargs=-1, required=True),
            *own,
            *(further.flags if further else ()),
            *flags(Settings, "Comparison"),
            *flags(ReadOptions, "Reading"),
            *flags(OutputOptions, "Output"),
        ],
    )
