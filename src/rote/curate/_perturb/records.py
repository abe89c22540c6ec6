"""Records of items: matched with one another, and written back in their form with other texts.

What is written can be evaluated by whatever evaluates the benchmark itself. Sample logs of
lm-evaluation-harness hold prompts and answers of a model, which other texts make void: their items
are written as `context`, `options`, `answer`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rote.core.errors import InputError, OptionError
from rote.core.progress import several
from rote.corpus.items import Item, Record

_GAP = "_"
_LOGS = "lm-eval"
_SHOWN = 10
Fields = Mapping[str, Any]


def check_ids(items: Iterable[Item]) -> None:
    """Items are told apart by task and id; two of the same could not be matched."""
    seen: set[tuple[str, str]] = set()
    twice = []
    for item in items:
        key = (item.task, item.id)
        if key in seen:
            twice.append(f"{item.task} {item.id}")
        seen.add(key)
    if twice:
        raise InputError(
            f"items with the same task and id: {_listed(twice)}",
            remedy="Give every item an id of its own, and the answers of one model at a time",
        )


def matched(originals: Sequence[Item], others: Sequence[Item]) -> list[Item]:
    """The other items in the order of the originals; all that do not match up are listed.

    Where each side is one task, its name does not matter: perturbed items are often evaluated as a
    task of their own.
    """
    check_ids(originals)
    check_ids(others)
    tasks, other_tasks = ({item.task for item in items} for items in (originals, others))
    if len(tasks) == len(other_tasks) == 1:
        others = [replace(item, task=next(iter(tasks))) for item in others]
    held = {(item.task, item.id): item for item in others}
    wanted = {(item.task, item.id): item for item in originals}
    problems = [
        f"{task} {id} is not among the perturbed" for task, id in wanted if (task, id) not in held
    ]
    problems += [
        f"{task} {id} is not among the originals" for task, id in held if (task, id) not in wanted
    ]
    for key, item in wanted.items():
        other = held.get(key)
        if other is None:
            continue
        name = " ".join(key)
        if len(other.options) != len(item.options):
            problems.append(
                f"{name} has {several(len(other.options), 'option')}, not {len(item.options)}"
            )
        elif other.answer != item.answer:
            problems.append(f"{name} has another right answer")
    if problems:
        raise InputError(
            f"original and perturbed items do not match up: {_listed(problems)}",
            remedy="Give the items that were perturbed, and what was made of them",
        )
    return [held[key] for key in wanted]


def in_order_of(items: Sequence[Item], records: Sequence[Record]) -> list[Record]:
    """The records that hold matched items; the task may have been taken for another one."""
    held = {(record.item.task, record.item.id): record for record in records}
    only = {record.item.id: record for record in records}
    return [held.get((item.task, item.id)) or only[item.id] for item in items]


def _listed(problems: Sequence[str]) -> str:
    more = len(problems) - _SHOWN
    return "; ".join(problems[:_SHOWN]) + (f"; and {more:,} more" if more > 0 else "")


def written(record: Record, item: Item, answered: Iterable[str] = ()) -> dict[str, Any]:
    """The record with the texts of another item in the place of its own.

    `answered` are fields that say how the original was answered, which say nothing of this one.
    """
    if record.form not in _FORMS:
        raise OptionError(f"items of the form '{record.form}' cannot be written")
    texts = _FORMS[record.form](record.fields, item)
    if record.form == _LOGS:
        return texts
    left = set(answered)
    return {**{name: value for name, value in record.fields.items() if name not in left}, **texts}


def _tail(text: str) -> str:
    """The spaces that a reader takes away."""
    return text[len(text.rstrip()) :]


def _named(item: Item, *names: str) -> dict[str, Any]:
    """The options under the names that a benchmark has for them."""
    return dict(zip(names, item.options, strict=True))


def _choices(fields: Fields, item: Item) -> dict[str, Any]:
    found: dict[str, Any] = {"context": item.context, "options": list(item.options)}
    if "ending" in fields:
        found["ending"] = item.ending
    if isinstance(fields.get("answer"), str) and fields["answer"] in fields["options"]:
        found["answer"] = item.options[fields["options"].index(fields["answer"])]
    return found


_FORMS: dict[str, Callable[[Fields, Item], dict[str, Any]]] = {
    "blimp": lambda fields, item: _named(item, "sentence_good", "sentence_bad"),
    "choices": _choices,
    "copa": lambda fields, item: {
        "premise": item.context[:-1] + _tail(fields["premise"]),
        **_named(item, "choice1", "choice2"),
    },
    "lambada": lambda fields, item: {"context": item.context[:-1], **_named(item, "target")},
    "piqa": lambda fields, item: {
        "goal": item.context[:-1] + _tail(fields["goal"]),
        **_named(item, "sol1", "sol2"),
    },
    "winogrande": lambda fields, item: {
        "sentence": f"{item.context}{_GAP}{item.ending}",
        **_named(item, "option1", "option2"),
    },
    _LOGS: lambda fields, item: {
        **{name: getattr(item, name) for name in ("id", "task", "context")},
        "options": list(item.options),
        **{name: getattr(item, name) for name in ("ending", "answer")},
    },
}
