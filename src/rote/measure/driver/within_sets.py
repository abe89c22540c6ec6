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

from rote.compare.resampling import generator
from rote.core.array_types import Floats, Integers
from rote.core.errors import OptionError
from rote.core.metric import Metric, Values
from rote.core.progress import several
from rote.core.sample import Sample, Take
from rote.measure._text_means import per_text, reduce, standard_errors
from rote.measure.driver.resampling import FacetStudy

MIN_SET_SIZE = 2
"""A set of one text has no diversity between texts."""


@dataclass(frozen=True, slots=True)
class SetScores:
    """The values of every set, as scores; how many sets of a source had one text alone."""

    scores: Mapping[str, Floats]
    left_out: Mapping[str, int]
    notes: Mapping[str, list[str]]
    """What the measure itself says of all texts of a source."""
    source_of: Integers


def average_over_sets(
    metric: Metric, options: Any, study: FacetStudy, sets: Integers, names: tuple[str, ...]
) -> tuple[Metric, FacetStudy]:
    """The measure and the study in which every set stands for one text."""
    if not metric.tested:
        raise OptionError(
            f"--within does not go with {metric.name}, which compares with a reference"
        )
    for unsupported in ("highlight", "write"):
        if getattr(options, unsupported, None) is not None:
            flag = unsupported.replace("_", "-")
            raise OptionError(f"--within measures sets of texts: leave out --{flag}, or --within")
    members, groups, left_out = _set_members(study, sets)
    set_values: list[Values] = []
    with study.reporter.stage(f"{metric.name}: sets", 1 + len(members)) as advance:
        rows = metric.rows(study.sample, options, study.work(lambda share: None))
        advance(1)
        for source, number, take in members:
            rng = generator(study.settings.seed, f"within {source} {names[number]}")
            set_values.append(metric.reduce(rows, take, options, rng))
            advance(1)
    scores = {
        value.name: np.array([values[value.name] for values in set_values], np.float64)
        for value in metric.values(options)
    }
    sources = {source: rank for rank, source in enumerate(groups)}
    own_notes = {
        source: metric.notes(rows, take, options) if metric.notes else []
        for source, take in study.groups.items()
    }
    source_of = np.array([sources[source] for source, _, _ in members], np.int64)
    table = SetScores(scores, left_out, own_notes, source_of)
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
    return _set_metric(metric, table, list(groups), study.settings.within), derived


def _set_members(
    study: FacetStudy, sets: Integers
) -> tuple[list[tuple[str, int, Take]], dict[str, Take], dict[str, int]]:
    """Every set of every source that has enough texts, and how many have not."""
    members: list[tuple[str, int, Take]] = []
    groups, left_out = {}, {}
    for source, take in study.groups.items():
        first = len(members)
        sets_of_source = [(int(n), take[sets[take] == n]) for n in np.unique(sets[take]) if n >= 0]
        members += [
            (source, number, texts)
            for number, texts in sets_of_source
            if len(texts) >= MIN_SET_SIZE
        ]
        groups[source] = np.arange(first, len(members), dtype=np.int64)
        left_out[source] = sum(len(texts) < MIN_SET_SIZE for _, texts in sets_of_source)
    if not members:
        raise OptionError(
            f"--within {study.settings.within}: no value of that field occurs in two texts of "
            "one source, so there are no sets to measure"
        )
    # A source without sets has nothing to show, but is not lost: its note says why.
    return members, groups, left_out


def _set_metric(metric: Metric, table: SetScores, sources: list[str], field: str | None) -> Metric:
    def notes(rows: SetScores, take: Take, options: Any) -> list[str]:
        if not len(take):
            return [f"no two texts with the same {field}: nothing to measure"]
        lines = [f"mean over {several(len(take), 'set')} of texts with the same {field}"]
        source = sources[int(rows.source_of[take[0]])]
        lines += rows.notes[source]
        if single := rows.left_out[source]:
            lines.append(f"left out: {several(single, 'set')} of a single text")
        for name, column in rows.scores.items():
            if undefined := int(np.isnan(column[take]).sum()):
                lines.append(f"{name}: undefined in {several(undefined, 'set')}, left out")
        return lines

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
