"""Test items as input of a report: their popularity in the corpus is what there is to measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rote.core.errors import OptionError, RoteError
from rote.core.progress import Reporter
from rote.core.result import Result
from rote.corpus import Input, ReadOptions
from rote.corpus.items import read_items, read_records
from rote.measure import Settings
from rote.report.materials import named
from rote.report.options import ReportOptions
from rote.report.report import Material

_LENGTHS = (7, 6, 5, 4, 3, 2)
"""That of the paper first; words are fewer than subwords, so shorter ones may be needed."""
_NO_CORPUS = "no corpus: --corpus names the index in which n-grams of the items are counted"


@dataclass(frozen=True, slots=True)
class Found:
    """The result, or why there is none."""

    given: Material
    result: Result | None = None
    reason: str = ""
    notes: list[str] = field(default_factory=list)


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


def measured(
    inputs: Input, options: ReportOptions, settings: Settings, reporter: Reporter
) -> Found:
    """The popularity of the items, by the longest n-grams that enough of them hold."""
    from rote.search.backends import BackendOptions, open_backend
    from rote.studies._driver import run

    every = list(read_items(_paths(inputs)))
    tasks = list(dict.fromkeys(item.task for item in every))
    given = Material("items", named(inputs), "", {"items": len(every), "tasks": ", ".join(tasks)})
    if options.corpus is None:
        return Found(given, reason=_NO_CORPUS)
    by = settings.by or ("task",)
    notes: list[str] = []
    try:
        backend = open_backend(options.corpus, BackendOptions(jobs=settings.jobs), reporter)
        for n in _LENGTHS:
            own = {"corpus": backend, "n": n, "by": by, "interval": settings.interval}
            try:
                result = run("popularity", every, own, reporter=reporter)
            except OptionError as short:
                if n == _LENGTHS[-1]:
                    raise
                notes.append(f"popularity with n = {n}: {short}")
            else:
                last = notes[-1:] and [f"popularity is that of {n}-grams: {notes[-1]}"]
                items = dict(result.signature.settings)["items"]
                return Found(_with(given, items), result, notes=[*last])
    except RoteError as problem:
        return Found(given, reason=str(problem), notes=notes)
    raise AssertionError("one of the lengths is the last")


def _with(given: Material, fingerprint: str) -> Material:
    return Material(given.role, given.name, fingerprint, given.facts)


def _paths(inputs: Input) -> list[Path]:
    """Files by name; texts in memory are no items."""
    if isinstance(inputs, (str, Path)):
        return [Path(inputs)]
    if isinstance(inputs, Sequence) and all(isinstance(one, Path) for one in inputs):
        return [one for one in inputs if isinstance(one, Path)]
    return []
