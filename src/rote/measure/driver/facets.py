"""One measure over all facets of the collected texts, and their results as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rote.annotate.language_check import language_name
from rote.annotate.store import Store
from rote.core.errors import OptionError, RoteError, UnknownName
from rote.core.facets import EACH, JOINT, Facet, facets, reference_place
from rote.core.metric import Metric
from rote.core.progress import Reporter
from rote.core.result import Result
from rote.measure.driver.collection import CollectedTexts
from rote.measure.driver.languages import LanguagePart, language_signatures, split_languages
from rote.measure.driver.multiple_testing import Tests
from rote.measure.driver.preparation import WordSettings
from rote.measure.driver.resampling import FacetStudy, measure_facet
from rote.measure.driver.settings import Settings
from rote.measure.driver.within_sets import average_over_sets


def measure_facets(
    metric: Metric,
    options: Any,
    collected: CollectedTexts,
    *,
    settings: Settings,
    words: WordSettings,
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
    parts, notes = split_languages(
        metric, options, collected, words, tokenizers, reference=settings.reference, store=store
    )
    for place, part in enumerate(parts):
        try:
            if place and metric.check:
                metric.check(part.options, str(part.tokenizers[None]))
            for facet in facets(part.collected.groups, settings.reference):
                study = _measure_part(
                    part, facet, collected.grouping, settings, reporter, tests_of_source
                )
                facet_metric = metric
                if settings.within:
                    sets = part.collected.sets, part.collected.set_names
                    facet_metric, study = average_over_sets(metric, part.options, study, *sets)
                result, own_tests = measure_facet(facet_metric, part.options, study)
                results.append(result)
                tests |= own_tests
        except RoteError as problem:
            if not place:
                raise
            notes.append(f"{metric.name} leaves out {', '.join(part.collected.groups)}: {problem}")
        else:
            notes += _read_apart(metric, part) if place else []
    combined = _join_results(results, list(collected.groups), settings)
    signature = combined.signature
    if languages := language_signatures(metric, options, collected, words):
        signature = signature.with_setting("languages", languages)
    return replace(combined, notes=(*combined.notes, *notes), signature=signature), tests


def _measure_part(
    part: LanguagePart,
    facet: Facet,
    grouping: str,
    settings: Settings,
    reporter: Reporter,
    tests_of_source: int,
) -> FacetStudy:
    texts = _facet_texts(part.collected, facet)
    return FacetStudy(
        sample=texts.sample,
        groups=texts.groups,
        strata=texts.strata,
        ids=texts.ids,
        files=texts.files,
        doc_ids=texts.doc_ids,
        settings=settings,
        reference=facet.reference,
        tokenizers=part.tokenizers,
        fingerprint=texts.fingerprint,
        grouping=grouping,
        reporter=reporter,
        order=texts.order,
        tests=tests_of_source,
    )


def _read_apart(metric: Metric, part: LanguagePart) -> list[str]:
    names = ", ".join(part.collected.groups)
    return [
        f"{metric.name}: the texts of {names} are taken for {language_name(part.code)} and read "
        "by other models, so that they are not tested against other sources"
    ]


def check_reference(collected: CollectedTexts, settings: Settings) -> list[Facet]:
    """The facets that have a reference; refuses a reference that no group bears."""
    by_facet = facets(collected.groups, settings.reference)
    if settings.reference == EACH:
        if EACH in {part for name in collected.groups for part in name.split(JOINT)}:
            raise OptionError(
                "--reference each compares every two sources, and one of them is called 'each': "
                "give it another name"
            )
        if all(len(facet.names) < 2 for facet in by_facet):
            raise OptionError("--reference each compares every two sources: there is only one")
        return []
    having = [facet for facet in by_facet if facet.reference is not None]
    if settings.reference is not None and not having:
        parts = {part for name in collected.groups for part in name.split(JOINT)}
        raise UnknownName("reference", settings.reference, parts.union(collected.groups))
    return having


def _facet_texts(collected: CollectedTexts, facet: Facet) -> CollectedTexts:
    if len(facet.names) == len(collected.groups):
        return collected
    groups = {name: take for name, take in collected.groups.items() if name in facet}
    return collected.chosen(groups)


def _join_results(results: Sequence[Result], order: Sequence[str], settings: Settings) -> Result:
    """The facets' results as one, groups in the order in which they were read."""
    first = results[0]
    sources = {
        name: source_result
        for result in results
        for name, source_result in result.by_source.items()
    }
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
