"""Which measures the inputs allow, with which settings; why the others are left out.

What is missing (a reference, a corpus, a field, a package) leaves out the measures that need it,
and only those. A corpus that is not there at all is a mistake, and is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rote.core import plugins
from rote.core.errors import RoteError, UnknownName
from rote.core.metric import Metric
from rote.measure import PANEL, Settings
from rote.report.options import PERMUTATIONS, ReportOptions
from rote.report.report import Omission

POPULARITY = "popularity"
_HEAVY = ("compression",)
_LIGHT = ("novelty", "originality", "contamination", "overlap", "rouge", "entity-scores")
_LISTED = 25
"""Sentences of each source, of every kind, that originality lists."""
MEASURES = (
    *dict.fromkeys(name for name, _ in PANEL),
    *("templates", "precision-recall", "favoured", "novelty", "originality", "contamination"),
    *("overlap", "entity-scores", "rouge", "similarity", POPULARITY),
)
"""All that a report can hold, in the order in which it is shown."""

_NO_REFERENCE = "no reference: --reference names the source that the others are compared with"
_NO_CORPUS = "no corpus: --corpus names an index of texts that the texts may repeat"
_NO_TRAIN = "no training set: --train names an index, or files, of the texts that were learned from"
_NO_FIELD = "the records have no field {}"


@dataclass(frozen=True, slots=True)
class Planned:
    """A measure that is to be taken."""

    name: str
    metric: Metric
    options: Any
    effort: str

    @property
    def beside(self) -> bool:
        """Whether it reads other fields of the records too."""
        return any(need.field is not None for need in self.metric.needs(self.options))


def planned(
    fields: Collection[str],
    options: ReportOptions,
    settings: Settings,
    changed: Mapping[str, Mapping[str, Any]],
) -> tuple[list[Planned], list[Omission]]:
    """The measures for records with these fields, in the order in which they are shown."""
    check_names(options.measures)
    found: list[Planned] = []
    omitted: list[Omission] = []
    for name, given in _wanted(fields, options, settings):
        if options.measures and name not in options.measures:
            continue
        if isinstance(given, str):
            omitted.append(Omission(name, given))
            continue
        metric = plugins.load("measure", name).METRIC
        own = metric.options(**{**given, **changed.get(name, {})})
        found.append(Planned(name, _quicker(metric), _settled(metric, own, fields), _effort(name)))
    return found, omitted


def check_names(names: Sequence[str]) -> None:
    for name in names:
        if name not in MEASURES:
            raise UnknownName("measure", name, MEASURES)


def _wanted(
    fields: Collection[str], options: ReportOptions, settings: Settings
) -> Iterator[tuple[str, dict[str, Any] | str]]:
    """Every measure with its settings, or with what it lacks."""
    embedding: dict[str, Any] = {"embedder": options.embedder}
    more: dict[str, Any]
    for name, given in PANEL:
        more = {"sentences": options.sentences, **embedding} if name == "semantic" else {}
        yield name, {**given, **more}
    looked_up = _named_index(options.corpus)
    yield "templates", {"corpus": (looked_up,)} if looked_up else {}
    for name, more in (("precision-recall", embedding), ("favoured", {})):
        given = {"sentences": options.sentences, **more}
        yield name, given if settings.reference else _NO_REFERENCE
    for name, more in (
        ("novelty", {}),
        ("originality", {"listed": _LISTED}),
        ("contamination", {}),
    ):
        yield name, {"against": options.corpus, **more} if options.corpus else _NO_CORPUS
    yield "overlap", {"train": options.train} if options.train else _NO_TRAIN
    lacking = [f"'{name}'" for name in ("reference", "document") if name not in fields]
    yield "entity-scores", _NO_FIELD.format(" and no ".join(lacking)) if lacking else {}
    no_reference = _NO_FIELD.format("'reference'")
    for name, more in (("rouge", {}), ("similarity", embedding)):
        yield name, dict(more) if "reference" in fields else no_reference
    yield (
        POPULARITY,
        "popularity is that of test items with options (BLiMP, COPA, PIQA, ...): their file is an "
        "input of its own",
    )


def possible(plans: Sequence[Planned], signature: str, omitted: list[Omission]) -> list[Planned]:
    """The measures that can work here, with what is left of those that can in part."""
    found = []
    for plan in plans:
        try:
            found.append(_checked(plan, signature))
        except RoteError as problem:
            less = _lesser(plan)
            if less is None:
                omitted.append(Omission(plan.name, str(problem)))
                continue
            omitted.append(Omission(f"{plan.name}, in part", str(problem)))
            try:
                found.append(_checked(less, signature))
            except RoteError as other:
                omitted.append(Omission(plan.name, str(other)))
    return found


def _checked(plan: Planned, signature: str) -> Planned:
    if plan.metric.check:
        plan.metric.check(plan.options, signature)
    return plan


def _lesser(plan: Planned) -> Planned | None:
    """The measure without the part that needs a package or an index, where it has one."""
    if plan.name == "templates" and plan.options.corpus:
        return replace(plan, options=replace(plan.options, corpus=()))
    if plan.name == "precision-recall" and "meaning" in plan.options.on:
        return replace(plan, options=replace(plan.options, on=("trees",)))
    if plan.name == "novelty" and plan.options.tags:
        return replace(plan, options=replace(plan.options, tags=""))
    return None


def check_given(options: ReportOptions) -> None:
    """Refuse at once a corpus or a training set that is not there."""
    from rote.corpus import open_corpus
    from rote.index.folders.manifest import is_index
    from rote.search.backends import ROOM

    if options.corpus and not is_index(Path(options.corpus)):
        backends = [plugins.load(ROOM, name) for name in plugins.members(ROOM)]
        if not any(backend.accepts(options.corpus) for backend in backends):
            open_corpus([Path(options.corpus)])
    if options.train and not is_index(Path(options.train)):
        open_corpus([Path(options.train)])


def _settled(metric: Metric, options: Any, fields: Collection[str]) -> Any:
    return metric.settle(options, fields) if metric.settle else options


def _quicker(metric: Metric) -> Metric:
    """Fewer permutations than a measure by itself makes; the number that is given counts anyway."""
    return replace(metric, permutations=min(metric.permutations, PERMUTATIONS))


def _effort(name: str) -> str:
    return "heavy" if name in _HEAVY else "light" if name in _LIGHT else "medium"


def _named_index(corpus: str | None) -> str | None:
    """How `rote templates` names a corpus; a file of texts cannot be asked for tags."""
    from rote.index.folders.manifest import is_index

    if corpus is None or not is_index(Path(corpus)):
        return None
    return f"{Path(corpus).resolve().name}={corpus}"
