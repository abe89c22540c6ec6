"""Command line flags made from options dataclasses, so that nothing is typed twice."""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import re
import typing
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

import click

from rote.core import plugins
from rote.core.errors import OptionError, UnknownName
from rote.core.numbers import format_memory
from rote.run import cores

Options = TypeVar("Options")


class OptionValue(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A list `a,b,c`, or an amount of memory: what click has no type for."""

    def __init__(self, field: dataclasses.Field[Any], hint: Any, name: str) -> None:
        self.field, self.hint, self.name = field, hint, name

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        from rote.core.metric import parse_option

        try:
            return parse_option(self.field, self.hint, value, text=True)
        except OptionError as error:
            self.fail(str(error), param, ctx)


_FULL = "rote.full_help"
"""In the context: that every option is shown."""


class SectionedCommand(click.Command):
    """A command that writes over no input. Its help shows an example and the options that most
    people set (`glance`); `--help-all` everything, options under headings."""

    def __init__(self, *args: Any, glance: Iterable[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.glance = frozenset(glance)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        rest = click.Option(
            ["--help-all"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            help="Show all options and the full description.",
            callback=self._show_all,
        )
        *params, usual = super().get_params(ctx)
        return [*params, rest, usual]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            known = [flag for param in self.params for flag in param.opts if flag[:2] == "--"]
            meant = suggested(error.option_name, known)
            hint = f"did you mean {meant}?" if meant else f"{ctx.command_path} --help-all lists all"
            raise click.UsageError(f"no such option {error.option_name}: {hint}", ctx) from None

    def _show_all(self, ctx: click.Context, param: click.Parameter, wants_all: bool) -> None:
        if wants_all and not ctx.resilient_parsing:
            click.echo(self.full_help(ctx), color=ctx.color)
            ctx.exit()

    def full_help(self, ctx: click.Context) -> str:
        ctx.meta[_FULL] = True
        try:
            return self.get_help(ctx)
        finally:
            del ctx.meta[_FULL]

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        text = self.help or ""
        self.help = text if _FULL in ctx.meta else brief(text, ctx.command_path)
        try:
            super().format_help_text(ctx, formatter)
        finally:
            self.help = text

    def invoke(self, ctx: click.Context) -> Any:
        from rote.cli._output import check_places

        check_places(self.params, ctx.params)
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if isinstance(param, click.Option) and record is not None:
                if _FULL in ctx.meta:
                    sections.setdefault(getattr(param, "section", "Help"), []).append(record)
                elif param.name in self.glance or not isinstance(param, SectionedOption):
                    sections.setdefault("Options", []).append(record)
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)


class SectionedOption(click.Option):
    """An option that knows under which heading of the help it stands, and what it writes."""

    def __init__(
        self, *args: Any, section: str = "Options", writes: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.section, self.writes = section, writes


class Rooms(click.Group):
    """A group whose commands are the files of rooms; only the one that runs is imported."""

    what = "command"
    moved: Mapping[str, str] = MappingProxyType({})
    """What earlier names became."""

    def rooms(self) -> dict[str, dict[str, str]]:
        """Under the headings of the help, commands by name and the room of each."""
        raise NotImplementedError

    def load(self, name: str, room: str) -> click.Command:
        loaded = plugins.load(room, name)
        # Of commands that share a file the member is the command, else the module that holds it.
        command: click.Command = getattr(loaded, "command", loaded)
        return command

    def summary(self, name: str, room: str) -> str:
        return plugins.summary(room, name)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for commands in self.rooms().values() for name in commands]

    def get_command(self, ctx: click.Context, name: str) -> click.Command:
        known = {name: room for c in self.rooms().values() for name, room in c.items()}
        if name in self.moved:
            was, now = f"{ctx.command_path} {name}", self.moved[name]
            raise click.UsageError(f"`{was}` is now {now}", ctx)
        if name not in known:
            raise click.UsageError(str(UnknownName(self.what, name, known)), ctx)
        return self.load(name, known[name])

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, rooms in self.rooms().items():
            with formatter.section(heading):
                wide = formatter.width - formatter.current_indent - 2 - max(map(len, rooms))
                rows = [(n, _fit(self.summary(n, room), wide)) for n, room in rooms.items()]
                formatter.write_dl(rows)


_OTHER_WORDS = {
    "corpus": "idx index train",
    "corpus test-items": "against",
    "test-items": "test",
    "benchmark test-items sample": "items",
    "write-answers": "answers",
    "write": "keep-passing all-matches fragments",
    "top": "listed",
    "keep": "prefer newest",
    "reference-field document-field": "to",
    "reference-field": "references",
    "reference": "baseline",
    "by": "group group-by source",
    "where": "filter select",
    "input-format output": "format",
    "output": "out outfile save",
    "figure": "plot",
    "limit": "texts sample",
    "sample limit max": "most",
    "sample top": "limit",
    "limit sample": "max",
    "samples limit": "num",
    "n lengths": "ngram",
    "jobs": "workers threads cores processes",
    "prefix prompt-field": "prompt",
    "suffix min-words": "words",
    "text-field": "text",
    "id-field": "id",
    "phrases-from": "from",
    "layer": "tags pos",
    "embedder": "encoder",
    "interval": "ci confidence alpha",
    "on-error": "skip-errors ignore-errors",
    "quiet": "silent",
}
"""What somebody means who writes another word for the same idea, or an earlier name of it: the
options, the first that a command has, and these words, all without their dashes."""
_MEANT = {
    f"--{word}": [f"--{name}" for name in meant.split()]
    for meant, words in _OTHER_WORDS.items()
    for word in words.split()
}


def suggested(flag: str, known: Iterable[str]) -> str:
    """The option that an unknown flag stands for; nothing where none is near."""
    names = list(known)
    for meant in _MEANT.get(flag, ()):
        if meant in names:
            return meant
    near = difflib.get_close_matches(flag, names, n=1, cutoff=0.75)
    return near[0] if near else ""


_EXAMPLES = 3
"""Calls that the help shows at a glance."""


def brief(help: str, command: str) -> str:
    """The first paragraph of a help text, and a few of the calls of the command that it shows."""
    first = help.split("\n\n", 1)[0]
    calls = [line for line in examples(help) if f"{line} ".startswith(f"{command} ")][:_EXAMPLES]
    return f"{first}\n\n\b\n" + "\n".join(f"  {line}" for line in calls) if calls else first


def examples(help: str) -> list[str]:
    """The calls of a help text, each on one line."""
    unwrapped = re.sub(r" \\\\?\n +", " ", help)
    return [line.strip() for line in unwrapped.splitlines() if line.startswith("  rote ")]


def _fit(line: str, width: int) -> str:
    """A sentence on one line: where it is too long, up to a colon or comma."""
    line = line.removesuffix(".")
    while len(line) > width and (cut := max(line.rfind(", "), line.rfind(": "))) > 0:
        line = line[:cut]
    return line


def flags(options: type, section: str, skip: Iterable[str] = ()) -> list[click.Option]:
    from rote.core.metric import hints_of

    hints, skip = hints_of(options), set(skip)
    return [
        _flag(f, hints[f.name], section) for f in dataclasses.fields(options) if f.name not in skip
    ]


def command_of(
    doc: str | None, *arguments: click.Argument, skip: Iterable[str] = ()
) -> Callable[[Callable[..., None]], click.Command]:
    """Makes a command of a function: its parameters that are options dataclasses become flags,
    under the heading that the class names (`SECTION`), and the rest are `arguments`; `reporter` is
    whom it tells.

    The docstring of the module is the help, else that of the function. `skip` leaves out fields
    (`ReadOptions.plain`).
    """
    from rote.cli._output import Output
    from rote.cli._progress import TerminalReporter
    from rote.core.metric import at_a_glance

    def made(run: Callable[..., None]) -> click.Command:
        hints = typing.get_type_hints(run)
        kinds: dict[str, Any] = {n: h for n, h in hints.items() if dataclasses.is_dataclass(h)}
        argument_names = [argument.name or "" for argument in arguments]

        def left_out(kind: Any) -> list[str]:
            parts = (name.partition(".") for name in skip)
            return [field for owner, _, field in parts if owner == kind.__name__]

        def call(**parsed: Any) -> None:
            options: dict[str, Any] = {}
            for name, kind in kinds.items():
                settings = {key: v for key, v in parsed.items() if key not in left_out(kind)}
                options[name] = build(kind, settings)
            for setting in options.values():
                if isinstance(setting, Output):
                    setting.form()  # a contradiction is noticed before the work, not after
            if "reporter" in hints:
                options["reporter"] = TerminalReporter(parsed.get("quiet", False))
            run(**{name: parsed[name] for name in argument_names}, **options)

        groups = [flags(kind, section(kind), left_out(kind)) for kind in kinds.values()]
        params = [*arguments, *(option for group in groups for option in group)]
        name = run.__module__.rpartition(".")[2] if doc else run.__name__
        return SectionedCommand(
            name.replace("_", "-"),
            callback=call,
            help=(doc or inspect.getdoc(run) or "").strip(),
            params=params,
            glance=at_a_glance(list(kinds.values())),
        )

    return made


def section(kind: Any, default: str = "Options") -> str:
    return str(getattr(kind, "SECTION", default))


def files_argument(name: str = "inputs", metavar: str = "FILE...") -> click.Argument:
    return click.Argument([name], metavar=metavar, nargs=-1, required=True)


def build(options: type[Options], parsed: dict[str, Any]) -> Options:
    names = {field.name for field in dataclasses.fields(options)}  # type: ignore[arg-type]
    return options(**{name: value for name, value in parsed.items() if name in names})


def _flag(field: dataclasses.Field[Any], hint: Any, section: str) -> click.Option:
    flag = "--" + field.name.replace("_", "-")
    declaration, kind = [flag, field.name], _click_type(field, hint)
    if kind is bool and field.default is not False:
        declaration[0] = f"{flag}/--no-{flag[2:]}"
    if "also" in field.metadata:
        declaration.insert(1, field.metadata["also"])
    if "short" in field.metadata:
        declaration.insert(0, field.metadata["short"])
    default, help = field.default, field.metadata["help"]
    shown_default: bool | str = default not in (None, (), False, "")
    if field.metadata.get("size"):
        default = format_memory(typing.cast(int, default))
    if field.name == "jobs":
        # Not in Python: a script must guard `__main__` before it may start processes.
        default, shown_default = cores(), "all cores"
    repeated = bool(field.metadata.get("repeated"))
    if isinstance(default, tuple) and not repeated:
        default = ",".join(map(str, default))
    return SectionedOption(
        declaration,
        section=section,
        type=None if kind is bool else kind,
        default=default,
        multiple=repeated,
        help=help[0].upper() + help[1:],
        show_default=shown_default,
        is_flag=kind is bool,
        metavar=field.metadata.get("metavar"),
        writes=field.metadata.get("writes"),
    )


def _click_type(field: dataclasses.Field[Any], hint: Any) -> Any:
    from rote.core.metric import bare

    kind, _ = bare(hint)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Literal:
        return click.Choice(arguments)
    if field.metadata.get("repeated"):
        return arguments[0]
    if origin is tuple:
        return OptionValue(field, hint, f"{arguments[0].__name__},...")
    return OptionValue(field, hint, "size") if field.metadata.get("size") else kind
