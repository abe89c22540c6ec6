"""Sets of texts in place of texts: what is measured of each set, and averaged over the sets.

Ten answers to one prompt say how varied a model is when it is asked again; all answers together
also hold how varied the prompts are. Once each set has its values, a set is to the driver what a
text is elsewhere: intervals are those of a mean over sets, and a test exchanges the sets of two
sources that belong to the same input.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rote.compare._resample import generator
from rote.core.array_types import Floats, Integers
from rote.core.errors import OptionError
from rote.core.metric import Metric, Values
from rote.core.progress import several
from rote.core.sample import Sample, Take
from rote.measure._means import per_text, reduce, standard_errors
from rote.measure._study import Study

FEWEST = 2
"""A set of one text has no diversity between texts."""


@dataclass(frozen=True, slots=True)
class Sets:
    """The values of every set, as scores; how many sets of a source had one text alone."""

    scores: Mapping[str, Floats]
    left_out: Mapping[str, int]
    notes: Mapping[str, list[str]]
    """What the measure itself says of all texts of a source."""
    source_of: Integers


def averaged_over_sets(
    metric: Metric, options: Any, study: Study, sets: Integers, names: tuple[str, ...]
) -> tuple[Metric, Study]:
    """The measure and the study in which every set stands for one text."""
    if not metric.tested:
        raise OptionError(
            f"--within does not go with {metric.name}, which compares with a reference"
        )
    for asked in ("highlight", "write"):
        if getattr(options, asked, None) is not None:
            flag = asked.replace("_", "-")
            raise OptionError(f"--within measures sets of texts: leave out --{flag}, or --within")
    members, groups, left_out = _members(study, sets)
    found: list[Values] = []
    with study.reporter.stage(f"{metric.name}: sets", 1 + len(members)) as advance:
        rows = metric.rows(study.sample, options, study.work(lambda share: None))
        advance(1)
        for source, number, take in members:
            rng = generator(study.settings.seed, f"within {source} {names[number]}")
            found.append(metric.reduce(rows, take, options, rng))
            advance(1)
    scores = {
        value.name: np.array([values[value.name] for values in found], np.float64)
        for value in metric.values(options)
    }
    sources = {source: rank for rank, source in enumerate(groups)}
    own_notes = {
        source: metric.notes(rows, take, options) if metric.notes else []
        for source, take in study.groups.items()
    }
    source_of = np.array([sources[source] for source, _, _ in members], np.int64)
    table = Sets(scores, left_out, own_notes, source_of)
    words = [int(study.sample.words[take].sum()) for _, _, take in members]
    derived = replace(
        study,
        sample=Sample(np.array(words, np.int64), {}),
        groups=groups,
        strata=np.array([number for _, number, _ in members], np.int64),
        ids=(ids := [names[number] for _, number, _ in members]),
        order=np.argsort(np.argsort(np.array(ids), kind="stable")),
        files=(),
        doc_ids=(),
    )
    return _of_sets(metric, table, list(groups), study.settings.within), derived


def _members(
    study: Study, sets: Integers
) -> tuple[list[tuple[str, int, Take]], dict[str, Take], dict[str, int]]:
    """Every set of every source that has enough texts, and how many have not."""
    members: list[tuple[str, int, Take]] = []
    groups, left_out = {}, {}
    for source, take in study.groups.items():
        first = len(members)
        found = [(int(n), take[sets[take] == n]) for n in np.unique(sets[take]) if n >= 0]
        members += [(source, number, own) for number, own in found if len(own) >= FEWEST]
        groups[source] = np.arange(first, len(members), dtype=np.int64)
        left_out[source] = sum(len(own) < FEWEST for _, own in found)
    if not members:
        raise OptionError(
            f"--within {study.settings.within}: no value of that field occurs in two texts of "
            "one source, so there are no sets to measure"
        )
    # A source without sets has nothing to show, but is not lost: its note says why.
    return members, groups, left_out


def _of_sets(metric: Metric, table: Sets, sources: list[str], field: str | None) -> Metric:
    def notes(rows: Sets, take: Take, options: Any) -> list[str]:
        if not len(take):
            return [f"no two texts with the same {field}: nothing to measure"]
        said = [f"mean over {several(len(take), 'set')} of texts with the same {field}"]
        source = sources[int(rows.source_of[take[0]])]
        said += rows.notes[source]
        if single := rows.left_out[source]:
            said.append(f"left out: {several(single, 'set')} of a single text")
        for name, column in rows.scores.items():
            if undefined := int(np.isnan(column[take]).sum()):
                said.append(f"{name}: undefined in {several(undefined, 'set')}, left out")
        return said

    return replace(
        metric,
        rows=lambda sample, options, work: table,
        reduce=reduce,
        resample=None,
        many=None,
        random_values=None,
        draw=None,
        standard_errors=standard_errors,
        units=None,
        intervals=None,
        per_text=per_text,
        undefined=None,
        notes=notes,
        tables=None,
        check=None,
        match=None,
        order_matters=False,
    )
