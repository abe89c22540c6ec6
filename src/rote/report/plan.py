"""Which measures the inputs allow, with which settings; why the others are left out.

What is missing (a reference, a corpus, a field, a package) leaves out the measures that need it,
and only those. A corpus that is not there at all is a mistake, and is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rote.core import plugins
from rote.core.errors import UnknownName
from rote.core.metric import Metric
from rote.core.record import Asked, Study
from rote.measure import Settings, metrics
from rote.measure._flow import Chosen
from rote.report.options import PERMUTATIONS, ReportOptions
from rote.report.report import Omission

_OF_ITEMS = "of test items with options (BLiMP, COPA, PIQA, ...): their file is an input of its own"


def offered() -> list[str]:
    """All that a report can hold, in the order in which it is shown."""
    of_texts = [one.name for one in metrics() if _options(one, Asked()) != ""]
    return [*of_texts, *(study.name for study in of_items())]


def of_items() -> list[Study]:
    """The studies of test items that take part in reports."""
    every = [plugins.load("studies", name).STUDY for name in plugins.members("studies")]
    return [study for study in every if study.takes == "items" and study.report]


def asked_for(options: ReportOptions, settings: Settings, fields: Collection[str] = ()) -> Asked:
    """What a report has to offer its measures."""
    return Asked(
        fields,
        settings.reference,
        options.corpus,
        options.train,
        options.sentences,
        options.embedder,
        options.model,
    )


def _options(metric: Metric, asked: Asked) -> Mapping[str, Any] | str:
    """The options of a measure in a report, or what it lacks; nothing: it is no part of reports."""
    return metric.report(asked) if metric.report else {}


def planned(
    fields: Collection[str],
    options: ReportOptions,
    settings: Settings,
    changed: Mapping[str, Mapping[str, Any]],
) -> tuple[list[Chosen], list[Omission]]:
    """The measures for records with these fields, in the order in which they are shown."""
    check_names(options.measures)
    found: list[Chosen] = []
    omitted: list[Omission] = []
    asked = asked_for(options, settings, fields)
    for metric in metrics():
        name, given = metric.name, _options(metric, asked)
        if given == "" or (options.measures and name not in options.measures):
            continue
        if isinstance(given, str):
            omitted.append(Omission(name, given))
            continue
        for chosen in metric.panel or ({},):
            own = metric.options(**{**chosen, **given, **changed.get(name, {})})
            if metric.settle:
                own = metric.settle(own, fields)
            found.append((_quicker(metric), own))
    names = [study.name for study in of_items()]
    if lacking := [name for name in names if not options.measures or name in options.measures]:
        omitted.append(Omission(", ".join(lacking), _OF_ITEMS))
    return found, omitted


def check_names(names: Sequence[str]) -> None:
    for name in names:
        if name not in offered():
            raise UnknownName("measure", name, offered())


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


def _quicker(metric: Metric) -> Metric:
    """Fewer permutations than a measure by itself makes; the number that is given counts anyway."""
    return replace(metric, permutations=min(metric.permutations, PERMUTATIONS))
