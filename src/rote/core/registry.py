"""Which records there are: the files of `measure/` and `studies/`, and entry points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rote.core import plugins
from rote.core.errors import UnknownName

if TYPE_CHECKING:  # `rote --help` imports this file, and must not wait for numpy
    from rote.core.metric import Metric
    from rote.core.record import Study
    from rote.core.result import Result

ROOMS = ("measure", "studies")
"""Whose files are records."""
FAMILIES = {
    "train": "Train summarizers with and without repetition, and test what they learned.",
    "judge": "Have people or models judge summaries, blind, and compare the judges.",
}
"""Words that several records begin with: `train-finetune` is the command `rote train finetune`."""
GROUPS: Mapping[str, Sequence[str]] = {
    "Compare texts": (
        *("report", "diversity", "lexical", "syntactic", "semantic", "compression"),
        *("self-repetition", "homogenization", "templates", "precision-recall", "keyness", "style"),
        *("sameness", "distinct", "perplexity", "score", "overlap", "correlate", "factors"),
    ),
    "Look up in a corpus": (
        *("index", "search", "count", "top", "trace", "novelty", "originality", "contamination"),
        "popularity",
    ),
    "Ask models": ("generate", "evaluate", "memorization", "perturb", "train", "judge"),
    "Prepare data": (
        *("annotate", "show", "limit", "dedup", "decontaminate", "demo", "serve", "table"),
    ),
}
"""The commands as `rote --help` and the app show them, most used first. Not a field of the records:
the help imports none of them, and the order is one of all commands."""
OTHERS = "From other packages"


def names() -> list[str]:
    """Every record there is, ours and those of other packages; nothing is imported."""
    return list(dict.fromkeys(name for room in ROOMS for name in plugins.members(room)))


def functions() -> dict[str, tuple[str, str]]:
    """Every command as Python names it, with its room and its name there; nothing is imported.
    `rote index build` is `rote.index`, and `rote index add` is `rote.index_add`."""
    places = {f"index-{name}": ("cli.index", name) for name in plugins.members("cli.index")}
    places["index"] = places.pop("index-build")
    commands = plugins.members("cli.commands")
    places |= {name: ("cli.commands", name) for name in commands if name != "index"}
    places |= {name: (room_of(name), name) for name in names()}
    return {name.replace("-", "_"): places[name] for name in sorted(places)}


def find(name: str) -> Metric | Study:
    module = module_of(name)
    record: Metric | Study = getattr(module, "METRIC", None) or module.STUDY
    return record


def summary(name: str) -> str:
    """The first line of what its file says, read without importing it."""
    room = next((room for room in ROOMS if name in plugins.members(room)), ROOMS[0])
    return plugins.summary(room, name)


def module_of(name: str) -> Any:
    """The module that holds the record; its docstring is the help of the command."""
    return plugins.load(room_of(name), name)


def room_of(name: str) -> str:
    for room in ROOMS:
        if name in plugins.members(room):
            return room
    raise UnknownName("command", name, names())


def words_of(name: str) -> tuple[str, ...]:
    """What calls a record at the shell: one word, or the family's and its own."""
    family, _, rest = name.partition("-")
    return (family, rest) if family in FAMILIES and rest else (name,)


def group_of(name: str) -> str:
    """The heading that a record's command stands under."""
    word = words_of(name)[0]
    return next((heading for heading, words in GROUPS.items() if word in words), OTHERS)


def order_of(name: str) -> int:
    """Where a record's command stands among all."""
    every = [word for words in GROUPS.values() for word in words]
    word = words_of(name)[0]
    return every.index(word) if word in every else len(every)


def of_result(measure: str) -> Metric | Study | None:
    """The record behind a result; None where the package that measured it is not installed."""
    return find(measure) if measure in names() else None


def title_of(result: Result) -> str:
    """What a result is called on a page, in a table, above a figure: the name of its aspect."""
    record = of_result(result.measure)
    if record is None:
        return result.measure[:1].upper() + result.measure[1:].replace("-", " ")
    values = [row["value"] for row in result.tables.get("values", ())]
    return record.title_of(values, dict(result.signature.settings))


def main_values(measure: str, values: Sequence[str]) -> list[str]:
    """Which of these values stand for a measure: those that its record names, else the first."""
    record = of_result(measure)
    usual = [name for name in record.main if name in values] if record else []
    return usual or list(values[:1])
