"""Test items as input of a report: the studies of items that take part in reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from rote.core.errors import OptionError, RoteError
from rote.core.progress import Reporter
from rote.core.record import Study
from rote.core.result import Result
from rote.corpus import Input, ReadOptions
from rote.corpus.items import Item, fingerprint, read_items, read_records
from rote.measure import Settings
from rote.report.materials import named
from rote.report.report import Material
from rote.studies._driver import kinds, run


def found_in(inputs: Input, read: ReadOptions) -> list[str]:
    """The benchmarks that the input files hold; none where they hold texts.

    Whoever names the field of the text wants it to be read as texts.
    """
    paths = _paths(inputs)
    if not paths or read.text_field or read.format:
        return []
    try:
        first = next(iter(read_records(paths)))
        # A record with a text can be taken for an item with one option.
        return [] if "text" in first.fields else [first.form]
    except (RoteError, StopIteration, OSError):
        return []


def material(inputs: Input) -> tuple[list[Item], Material]:
    """The items, and what is said of them."""
    every = list(read_items(_paths(inputs)))
    tasks = ", ".join(dict.fromkeys(item.task for item in every))
    facts = {"items": len(every), "tasks": tasks}
    return every, Material("items", named(inputs), fingerprint(every), facts)


def measured(
    study: Study,
    given: Mapping[str, Any],
    items: Sequence[Item],
    settings: Settings,
    reporter: Reporter,
) -> tuple[Result, list[str]]:
    """The result of a study, with less where that is needed, and what is said of it."""
    names = {field.name for kind in kinds(study) for field in fields(kind)}
    shared: dict[str, Any] = {"interval": settings.interval, "jobs": settings.jobs}
    shared |= {"by": settings.by} if settings.by else {}
    own = {**{name: value for name, value in shared.items() if name in names}, **given}
    said: list[str] = []
    while True:
        try:
            return run(study.name, items, own, reporter=reporter), said
        except OptionError as problem:
            less = study.lesser(own) if study.lesser else None
            if less is None:
                raise
            changed = [name for name in less if less[name] != own[name]]
            now = ", ".join(f"{less[n]}-grams" if n == "n" else f"{n} = {less[n]}" for n in changed)
            before = ", ".join(f"{name} = {own[name]}" for name in changed)
            said = [f"{study.name} is that of {now}: {study.name} with {before}: {problem}"]
            own = less


def _paths(inputs: Input) -> list[Path]:
    """Files by name; texts in memory are no items."""
    if isinstance(inputs, (str, Path)):
        return [Path(inputs)]
    if isinstance(inputs, Sequence) and all(isinstance(one, Path) for one in inputs):
        return [one for one in inputs if isinstance(one, Path)]
    return []
