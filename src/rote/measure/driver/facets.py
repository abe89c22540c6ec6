"""One measure over all facets of the collected texts, and their results as one; sets of texts in
place of texts, where what is measured of each set is averaged. To the driver a set is then what a
text is elsewhere, and a test exchanges the sets of two sources that belong to the same input.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rote.annotate.language_check import language_name
from rote.annotate.store import Store
from rote.compare.resampling import generator
from rote.core.arrays import Floats
from rote.core.errors import OptionError, RoteError, UnknownName
from rote.core.facets import EACH, JOINT, Facet, facets, reference_place
from rote.core.metric import Metric, Values
from rote.core.progress import Reporter, several
from rote.core.result import Result, SourceResult
from rote.core.sample import Sample, Take
from rote.measure._text_means import per_text, reduce, standard_errors
from rote.measure.driver.collection import CollectedTexts
from rote.measure.driver.languages import language_signatures, split_languages
from rote.measure.driver.multiple_testing import Tests
from rote.measure.driver.resampling import FacetStudy, measure_facet
from rote.measure.driver.settings import Settings

MIN_SET_SIZE = 2
"""A set of one text has no diversity between texts."""


@dataclass(frozen=True, slots=True)
class SetScores:
    """The values of every set, as scores; how many sets of a source had one text alone."""

    scores: Mapping[str, Floats]
    left_out: Mapping[str, int]
    notes: Mapping[str, list[str]]
    """What the measure itself says of all texts of a source."""
    source_of: Sequence[str]
    """By set."""


def average_over_sets(metric: Metric, options: Any, study: FacetStudy) -> tuple[Metric, FacetStudy]:
    """The measure and the study in which every set stands for one text."""
    texts, names = study.texts, study.texts.set_names
    if not metric.tested:
        raise OptionError(
            f"--within cannot be combined with {metric.name}, which compares with a reference"
        )
    for unsupported in ("highlight", "write"):
        if getattr(options, unsupported, None) is not None:
            flag = unsupported.replace("_", "-")
            raise OptionError(f"--within measures sets of texts: leave out --{flag} or --within")
    members, groups, left_out = _set_members(texts, study.settings.within)
    set_values: list[Values] = []
    with study.reporter.stage(f"{metric.name}: sets", 1 + len(members)) as advance:
        rows = metric.rows(texts.sample, options, study.work(lambda share: None))
        advance(1)
        for source, number, take in members:
            rng = generator(study.settings.seed, f"within {source} {names[number]}")
            set_values.append(metric.reduce(rows, take, options, rng))
            advance(1)
    scores = {
        value.name: np.array([values[value.name] for values in set_values], np.float64)
        for value in metric.values(options)
    }
    own_notes = {
        source: metric.notes(rows, take, options) if metric.notes else []
        for source, take in texts.groups.items()
    }
    table = SetScores(scores, left_out, own_notes, [source for source, _, _ in members])
    words = [int(texts.sample.words[take].sum()) for _, _, take in members]
    derived = replace(
        texts,
        sample=Sample(np.array(words, np.int64), {}),
        groups=groups,
        strata=np.array([number for _, number, _ in members], np.int64),
        ids=(ids := [names[number] for _, number, _ in members]),
        order=np.argsort(np.argsort(np.array(ids), kind="stable")),
        files=(),
        doc_ids=(),
    )
    set_metric = _set_metric(metric, table, study.settings.within)
    return set_metric, replace(study, texts=derived)


def _set_members(
    texts: CollectedTexts, field: str | None
) -> tuple[list[tuple[str, int, Take]], dict[str, Take], dict[str, int]]:
    """Every set of every source that has enough texts, and how many have not."""
    members: list[tuple[str, int, Take]] = []
    groups, left_out = {}, {}
    for source, take in texts.groups.items():
        first, sets = len(members), texts.sets[take]
        every = [(source, int(n), take[sets == n]) for n in np.unique(sets) if n >= 0]
        large = [member for member in every if len(member[2]) >= MIN_SET_SIZE]
        members += large
        groups[source] = np.arange(first, len(members), dtype=np.int64)
        left_out[source] = len(every) - len(large)
    if not members:
        raise OptionError(
            f"--within {field}: no two texts of one source share a value of that "
            "field, so there are no sets to measure"
        )
    # A source without sets has nothing to show, but is not lost: its note says why.
    return members, groups, left_out


def _set_metric(metric: Metric, table: SetScores, field: str | None) -> Metric:
    def notes(rows: SetScores, take: Take, options: Any) -> list[str]:
        if not len(take):
            return [f"no two texts with the same {field}: nothing to measure"]
        lines = [f"mean over {several(len(take), 'set')} of texts with the same {field}"]
        source = rows.source_of[take[0]]
        lines += rows.notes[source]
        if single := rows.left_out[source]:
            lines.append(f"left out: {several(single, 'set')} of a single text")
        for name, column in rows.scores.items():
            if undefined := int(np.isnan(column[take]).sum()):
                lines.append(f"{name}: undefined in {several(undefined, 'set')}, left out")
        return lines

    gone = "resample many random_values draw units intervals undefined tables check match".split()
    without: dict[str, Any] = dict.fromkeys(gone)
    return replace(
        metric,
        rows=lambda sample, options, work: table,
        reduce=reduce,
        standard_errors=standard_errors,
        per_text=per_text,
        notes=notes,
        order_matters=False,
        **without,
    )


def measure_facets(
    metric: Metric,
    options: Any,
    collected: CollectedTexts,
    *,
    settings: Settings,
    tokenizers: Mapping[str | None, str],
    reporter: Reporter,
    tests_of_source: int = 0,
    store: Store | None = None,
) -> tuple[Result, Tests]:
    """Every facet is a study of its own: equal sizes, tests and tables stay within it. So are
    sources that other models read, in the languages that they know.

    p-values are not corrected yet: `_correct.corrected` does it for all measures of a panel, in
    which a source has `tests_of_source`.
    """
    results, tests = [], Tests()
    parts, notes = split_languages(metric, options, collected, settings, tokenizers, store=store)
    for place, part in enumerate(parts):
        try:
            if place and metric.check:
                metric.check(part.options, str(part.tokenizers[None]))
            for facet in facets(part.collected.groups, settings.reference):
                study = FacetStudy(
                    texts=part.collected.only(facet.names),
                    settings=settings,
                    reference=facet.reference,
                    tokenizers=part.tokenizers,
                    grouping=collected.grouping,
                    reporter=reporter,
                    tests=tests_of_source,
                )
                facet_metric = metric
                if settings.within:
                    facet_metric, study = average_over_sets(metric, part.options, study)
                result, own_tests = measure_facet(facet_metric, part.options, study)
                results.append(result)
                tests |= own_tests
        except RoteError as problem:
            if not place:
                raise
            notes.append(f"{metric.name} leaves out {', '.join(part.collected.groups)}: {problem}")
        else:
            if place:
                notes.append(
                    f"{metric.name}: the texts of {', '.join(part.collected.groups)} are treated "
                    f"as {language_name(part.code)} and processed by other models, so they are not "
                    "tested against other sources"
                )
    combined = _join_results(results, list(collected.groups), settings)
    signature = combined.signature
    if languages := language_signatures(metric, options, collected, settings):
        signature = signature.with_setting("languages", languages)
    return replace(combined, notes=(*combined.notes, *notes), signature=signature), tests


def check_reference(collected: CollectedTexts, settings: Settings) -> list[Facet]:
    """The facets that have a reference; refuses a reference that no group bears."""
    by_facet = facets(collected.groups, settings.reference)
    if settings.reference == EACH:
        if EACH in {part for name in collected.groups for part in name.split(JOINT)}:
            raise OptionError(
                "--reference each compares every two sources, but one of them is called 'each': "
                "rename it"
            )
        if all(len(facet.names) < 2 for facet in by_facet):
            raise OptionError("--reference each compares every two sources: there is only one")
        return []
    having = [facet for facet in by_facet if facet.reference is not None]
    if settings.reference is not None and not having:
        parts = {part for name in collected.groups for part in name.split(JOINT)}
        raise UnknownName("reference", settings.reference, parts.union(collected.groups))
    return having


def _join_results(results: Sequence[Result], order: Sequence[str], settings: Settings) -> Result:
    """The facets' results as one, groups in the order in which they were read."""
    first = results[0]
    sources: dict[str, SourceResult] = {}
    for result in results:
        sources |= result.by_source
    sources = {name: sources[name] for name in order if name in sources}
    tables: dict[str, list[Any]] = {}
    for result in results:
        for name, rows in result.tables.items():
            # What is said of the corpus rather than of a source is the same in every facet.
            if name != "values" and (result is first or rows != first.tables.get(name)):
                tables.setdefault(name, []).extend(rows)
    combined = replace(
        first,
        reference=settings.reference,
        by_source=sources,
        comparisons=[row for result in results for row in result.comparisons],
        tables={"values": first.tables["values"], **tables},
        notes=tuple(dict.fromkeys(note for result in results for note in result.notes)),
    )
    return replace(combined, tables={**combined.tables, **_sweep(combined)})


def _sweep(result: Result) -> dict[str, list[dict[str, Any]]]:
    """Over the groups of one source (`--by source,temperature`): mean, spread, range.

    The source is the field that names the reference, or else the first.
    """
    if len(result.by) < 2:
        return {}
    place = reference_place(result.by_source, result.reference) or 0
    others = [field for number, field in enumerate(result.by) if number != place]
    members: dict[str, list[str]] = {}
    for group in result.by_source:
        parts = group.split(JOINT)
        members.setdefault(parts[min(place, len(parts) - 1)], []).append(group)
    rows = []
    for source, groups in members.items():
        for value in (row["value"] for row in result.tables["values"] if not row["relative"]):
            numbers = np.array([result.by_source[group].values[value] for group in groups])
            numbers = numbers[~np.isnan(numbers)]
            if len(numbers) < 2:
                continue
            rows.append(
                {
                    "source": source,
                    "by": result.by[place],
                    "over": JOINT.join(others),
                    "groups": len(numbers),
                    "value": value,
                    "mean": float(numbers.mean()),
                    "sd": float(numbers.std(ddof=1)),
                    "range": float(numbers.max() - numbers.min()),
                }
            )
    return {"sweep": rows} if rows else {}
