"""Options over all commands: the level of intervals reaches every table, wrong types are named."""

from __future__ import annotations

import pkgutil
import re
from dataclasses import Field, fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import click
import pytest

import rote.cli.commands as commands_room
from rote.core import registry
from rote.core.errors import OptionError
from rote.core.metric import bare, hints_of
from rote.core.result import Result
from rote.studies.dispatch.driver import build_options, option_kinds
from tests.cli.calls import World, commands, make_once, measure_once
from tests.cli.test_outputs import done, refused
from tests.measure.test_contract import bounds
from tests.report.drawn import as_data

WITH_LEVEL = [n for n, c in commands().items() if any(p.name == "interval" for p in c.params)]
WITHIN = {
    "evaluate": (),
    "popularity": ("groups", "accuracy"),
    "memorization": ("prediction", "halves", "membership", "overlap", "topic", "frequency"),
    "perturb": ("answers", "judge"),
    "correlate": ("correlations",),
    "factors": ("cells", "trends", "changes"),
}
"""The tables with intervals of commands that are no measures; measures have a contract of their
own."""


@pytest.fixture(autouse=True)
def measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    make_once(monkeypatch)
    measure_once(monkeypatch, {})


@pytest.mark.parametrize("name", WITHIN)
def test_every_table_has_the_level_that_was_asked_for(name: str, tmp_path: Path) -> None:
    world = World(tmp_path, times=5)
    further = {"perturb": ["--judge", world.model.partition("=")[2]]}
    call = [*world.call(name), *further.get(name, []), "--interval"]
    none, less, more = (
        Result.from_json(done([*call, level, "--json"])) for level in ("0", "0.8", "0.95")
    )
    assert none.interval is None
    assert not any(source.intervals for source in none.by_source.values())
    assert less.interval is not None
    assert less.interval.level == 0.8
    held = [(less.by_source[s].intervals, more.by_source[s].intervals) for s in more.by_source]
    pairs = [(one[value], other[value]) for one, other in held for value in other]
    assert pairs
    for table in more.tables:
        assert not bounds(none.tables[table]), table
        narrow, wide = bounds(less.tables[table]), bounds(more.tables[table])
        assert len(narrow) == len(wide)
        assert bool(wide) is (table in WITHIN[name]), table
        pairs += zip(narrow, wide)
    for (low, high), (lowest, highest) in pairs:
        assert high - low < highest - lowest or highest == lowest
    shown = done([*call, "0"])
    assert not re.search(r"\[-?[\d.]+%?, |interval", shown)
    assert "±" not in shown
    assert none.table()
    assert as_data(none.figure())


@pytest.mark.parametrize("name", WITH_LEVEL)
def test_a_level_that_is_none_is_refused_before_anything_is_read(name: str, world: World) -> None:
    call = [name, world.texts] if name == "report" else world.call(name)
    asked = [word.replace(".json", ".gone") for word in call]
    for level in ("1", "-0.5", "nan"):
        assert "interval must be at least 0 and below 1" in refused([*asked, "--interval", level])


def options() -> list[type]:
    """What commands are told, where Python can tell it too."""
    found = {}
    commands = [f"rote.cli.commands.{m.name}" for m in pkgutil.iter_modules(commands_room.__path__)]
    for module in ["rote.cli.index", *commands]:
        for one in vars(import_module(module)).values():
            if isinstance(one, type) and is_dataclass(one) and ".cli." not in one.__module__:
                found[one.__module__, one.__name__] = one
    return [kind for kind in found.values() if any("help" in f.metadata for f in fields(kind))]


@pytest.mark.parametrize("kind", options())
def test_an_option_of_another_type_is_named(kind: type) -> None:
    hints = get_type_hints(kind)
    needed = {"over": "temperature"} if "over" in hints else {}
    plain = [name for name, hint in hints.items() if hint in (bool, int, float, str)]
    assert plain
    for name in plain:
        with pytest.raises(OptionError, match=f"^{name} must be "):
            kind(**{**needed, name: object()})


def flags_of(command: click.Command) -> set[str]:
    return {flag for param in command.params for flag in (*param.opts, *param.secondary_opts)}


def foreign(text: str, own: set[str]) -> list[str]:
    """Flags that a help text names and that neither the command has, nor the other command whose
    call they stand in (`rote NAME ... --flag`)."""
    found = []
    for line in re.sub(r"(`[^`]*)\n\s*([^`]*`)", r"\1 \2", text).splitlines():
        for named in re.finditer(r"(?<![\w-])--[a-z][a-z-]*", line):
            call = re.findall(r"\brote ([a-z-]+) (?:([a-z-]+) )?[^`]*$", line[: named.start()])
            names = (call[-1][0], " ".join(call[-1])) if call else ()
            others = next((flags_of(commands()[name]) for name in names if name in commands()), own)
            if named[0] not in others:
                found.append(named[0])
    return found


@pytest.mark.parametrize("name", commands())
def test_help_names_only_flags_that_the_command_has(name: str) -> None:
    command, own = commands()[name], flags_of(commands()[name])
    texts = [command.help, *(p.help for p in command.params if isinstance(p, click.Option))]
    assert [flag for text in texts for flag in foreign(text or "", own)] == []


# -- whole numbers ------------------------------------------------------------------------------

UNBOUNDED = {
    **dict.fromkeys(("seed", "seeds"), "any number is as good as another"),
    **dict.fromkeys(
        (*("sample", "sample_ngrams", "limit", "judge_items", "size", "sizes", "top_k"),),
        "so many of what there is: more than that is all of it",
    ),
    **dict.fromkeys(("top",), "a table is no longer than what was found"),
    **dict.fromkeys(
        (*("min_count", "min_texts", "min_samples", "relax", "seed_count", "theta", "max"),),
        "a count that is compared with others",
    ),
    **dict.fromkeys(
        ("epochs", "steps", "warmup", "evaluate_every", "patience"),
        "how long training goes on is for whoever starts it to say",
    ),
}
"""Options that are whole numbers without an upper bound, and why they need none. A length, of an
n-gram, a window or a text, and a number of draws or processes have one: time and memory grow with
it, whatever the texts."""


def whole_numbers() -> list[tuple[str, type, Field[Any]]]:
    """Command, kind of options and field; a kind that several commands share is there once."""
    found: dict[tuple[type, str], tuple[str, type, Field[Any]]] = {}
    for name in registry.names():
        for kind in option_kinds(registry.find(name)):
            for field in fields(kind):
                hint, _ = bare(hints_of(kind)[field.name])
                item = get_args(hint)[0] if get_origin(hint) is tuple else hint
                if item is int:
                    found.setdefault((kind, field.name), (name, kind, field))
    return list(found.values())


@pytest.mark.parametrize(
    ("name", "kind", "field"),
    [pytest.param(*one, id=f"{one[0]}-{one[2].name}") for one in whole_numbers()],
)
def test_every_whole_number_has_an_upper_bound_or_a_reason(
    name: str, kind: type, field: Field[Any]
) -> None:
    most = field.metadata.get("most")
    if most is None:
        assert field.name in UNBOUNDED, f"--{field.name} of {name}: option(..., most=...)"
        # Words that a search begins with are called a seed, too.
        assert field.name not in ("seed", "seeds") or "seed" in field.metadata["help"].lower()
        return
    hint, _ = bare(hints_of(kind)[field.name])
    above = (most, most + 1) if get_origin(hint) is tuple else most + 1
    with pytest.raises(
        OptionError, match=rf"{field.name} must be at most {most:,}, not {most + 1:,}"
    ):
        build_options((kind,), {field.name: above})


def test_what_takes_no_upper_bound_is_there() -> None:
    assert set(UNBOUNDED) <= {field.name for _, _, field in whole_numbers()}


def test_an_ngram_of_a_million_words_is_refused_at_once(world: World) -> None:
    """It took minutes and 1.5 GB for a few texts."""
    said = refused([*world.call("lexical"), "--window", "10000000"])
    assert "window must be at most 1,000,000, not 10,000,000" in said
