"""One measure on one facet of a sample: values, intervals, tests, values at equal size. A source, a
half-sample and a permuted group are all arrays of text numbers given to the measure's `reduce`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.compare.clusters import cluster_ids, error_of_sum
from rote.compare.intervals import (
    HALF_SAMPLES,
    NO_ERROR,
    ValueEstimate,
    calibrated_error,
    deviation,
    difference_interval,
    draw_half_samples,
    interval_error,
    interval_from_error,
    paired_error,
    ratio_interval,
    text_deviation,
    wilson,
)
from rote.compare.multiple_testing import Margin, equivalence_p
from rote.compare.permutation import (
    Groups,
    PermutedTest,
    SourceValues,
    balance_groups,
    permuted_differences,
    shared_strata,
)
from rote.compare.resampling import Keys, ReduceMany, generator, rank_in_groups, scramble
from rote.core.arrays import Floats
from rote.core.facets import EACH
from rote.core.metric import Comparison, Metric, Progress, Value, Values, Work
from rote.core.progress import Advance, Reporter, share_steps
from rote.core.progress import several as counted
from rote.core.result import Interval, Result, SourceResult
from rote.core.sample import Take
from rote.core.signature import Signature, option_settings
from rote.measure.driver.collection import CollectedTexts
from rote.measure.driver.equal_lengths import (
    EqualLengths,
    compared_names,
    has_equal_length,
    match_lengths,
    tested_names,
)
from rote.measure.driver.multiple_testing import UNTESTED, Tests, permutations_needed
from rote.measure.driver.settings import DOC_ID, Settings
from rote.run import side_by_side

Reduce = Callable[[Take, np.random.Generator], Values]
_FEW_TEXTS = 10
_MIN_NAMED = 2
"""Clusters that are drawn where the user names their field."""
CALIBRATION_DRAWS = 24
"""Half-samples of a source of which the values themselves are computed, where those of a stand-in
are calibrated by them: fewer where it is so large that they would take long."""
_CALIBRATED_WORDS = 500_000
_MIN_CALIBRATION = 6
_TESTED = ("tested_texts", "tested_reference_texts")
MAX_UNDEFINED = 0.1
"""The share of a source's texts that may have no part in a value that is tested on whole texts:
which texts are left is not chance, so a value of the rest is no estimate for all."""
BALANCED_NOTE = (
    "where two sources have different numbers of texts per {}, the test uses equal numbers of them "
    "(JSON: tested_texts); values, differences and intervals use all texts"
)
BORDERLINE_NOTE = (
    "{} against {}: no difference is reported in {}: all texts together contradict the test on "
    "equal numbers per {}"
)


def hash_name(name: str) -> int:
    """64 bits of it, the same on every machine."""
    encoded = name.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(encoded, digest_size=8).digest(), "little")


@dataclass(frozen=True)
class FacetStudy:
    """What is measured, whatever the measure: the texts of a facet, and settings."""

    texts: CollectedTexts
    settings: Settings
    reference: str | None
    """The group that the others are compared with."""
    tokenizers: Mapping[str | None, str]
    """Signature of the user's tokenizer (None) and of those that variants ask for."""
    grouping: str
    """Which texts belong to which group, doc_id and set, over all facets."""
    reporter: Reporter
    tests: int
    """Of one source, of all measures together: p-values are corrected over them."""

    @cached_property
    def drawn_from(self) -> dict[str, Take]:
        """The texts of each source as draws see them: what is drawn does not depend on the order of
        the records."""
        return {
            source: take[np.argsort(self.texts.order[take], kind="stable")]
            for source, take in self.texts.groups.items()
        }

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """What is tested against what."""
        names = list(self.texts.groups)
        if self.settings.reference == EACH:
            return [(a, b) for place, a in enumerate(names) for b in names[place + 1 :]]
        reference = self.reference
        return [(a, reference) for a in names if a != reference] if reference is not None else []

    def unit_keys(self, source: str, take: Take, *, by_doc_id: bool) -> Keys:
        """Of each of a source's texts a number that it shares with what belongs to it: with all
        texts of its doc_id (`by_doc_id`), or with those that come as early in other sources."""
        strata = self.texts.strata[take]
        numbers, first, number = np.unique(strata, return_index=True, return_inverse=True)
        # Sets of texts have no doc_ids: each is named by its id.
        names = (
            self.texts.doc_ids[stratum] if self.texts.doc_ids else self.texts.ids[text]
            for stratum, text in zip(numbers.tolist(), take[first].tolist())
        )
        by_name = np.array([hash_name(name) for name in names], np.uint64)
        turn = rank_in_groups(np.argsort(number, kind="stable"), number).astype(np.uint64)
        alone = strata < 0
        turn[~alone] *= np.uint64(not by_doc_id)
        salt = np.uint64(hash_name(f"source {source}"))
        return scramble(np.where(alone, salt, by_name[number]), scramble(turn, np.uint64(1)))

    def work(self, progress: Progress, permutations: int = 0) -> Work:
        return Work(
            jobs=self.settings.jobs,
            engine=self.settings.engine,
            progress=progress,
            groups=self.texts.groups,
            reference=self.reference,
            ids=self.texts.ids,
            strata=self.texts.strata,
            seed=self.settings.seed,
            permutations=permutations,
            reporter=self.reporter,
            each=self.settings.reference == EACH,
        )


def measure_facet(metric: Metric, options: Any, study: FacetStudy) -> tuple[Result, Tests]:
    """Run one measure over all sources of a study; p-values are not corrected yet."""
    run = _MeasureRun(metric, options, study)
    return run.result(), run.tests


class _MeasureRun:
    """One measure at work; the rows are computed once, when it is made."""

    def __init__(self, metric: Metric, options: Any, study: FacetStudy) -> None:
        self.metric, self.options, self.study = metric, options, study
        self.settings, self.texts = study.settings, study.texts
        self.values: tuple[Value, ...] = metric.values(options)
        self.tests: Tests = {}
        self.halves: dict[str, dict[str, Floats]] = {}
        with study.reporter.stage(f"{metric.name}: counting", 1.0) as advance:
            work = study.work(share_steps(advance), self.permutations())
            across = not self.settings.matched or not has_equal_length(
                metric, options, self.texts.sample, self.texts.groups
            )
            self.rows = metric.rows(self.texts.sample, options, replace(work, across=across))
        self.equal: EqualLengths | None = None
        self.unmatched: list[str] = []
        if self.settings.matched:
            self.equal, self.unmatched = match_lengths(
                metric, options, self.texts.sample, self.rows, work, self.texts.order
            )

    def reduce(self, take: Take, rng: np.random.Generator) -> Values:
        return self.metric.reduce(self.rows, take, self.options, rng)

    def resample(self, take: Take, rng: np.random.Generator) -> Values:
        """The values of a group that was drawn; those that are too costly may be missing."""
        again = self.metric.resample or self.metric.reduce
        return again(self.rows, take, self.options, rng)

    def draw(self, take: Take, rng: np.random.Generator) -> Values:
        """The values that rest on a draw, of one draw; others may be there too."""
        return (self.metric.draw or self.metric.reduce)(self.rows, take, self.options, rng)

    def many(self, names: Collection[str]) -> ReduceMany | None:
        """`resample` for many groups, and these values alone, where the measure has it."""
        if (many := self.metric.many) is None:
            return None
        return lambda takes: many(self.rows, takes, names, self.options)

    def result(self) -> Result:
        values = self.found_values(self.reduce)
        drawn = self.found_values(self.resample) if self.metric.draws_differ else values
        by_source = SourceValues(values, drawn)
        if self.settings.interval:
            self.halves = self.half_samples(by_source)
        matched, estimates, equal, notes = self.at_equal_sizes()
        sources = {s: self.source_result(s, values) for s, values in by_source.values.items()}
        comparisons, test_notes = self.comparisons(by_source, matched)
        notes = [*notes, *test_notes]
        comparisons = [self.with_intervals(row, sources, estimates) for row in comparisons]
        text_rows = self.text_table()
        if self.settings.per_text and not text_rows:
            notes.append(f"{self.metric.name} has no per-text values for --per-text")
        further = self.metric.tables
        return Result(
            measure=self.metric.name,
            signature=self.signature(),
            by=self.settings.by,
            reference=self.settings.reference,
            interval=self.interval() if self.settings.interval else None,
            by_source=sources,
            comparisons=comparisons,
            tables={
                "values": self.value_table(),
                **equal,
                **text_rows,
                **(further(self.rows, self.comparison(), self.options) if further else {}),
            },
            notes=tuple(notes),
        )

    def found_values(self, reduce: Reduce) -> dict[str, Values]:
        """The values of every source, side by side: compressing, for one, leaves Python alone."""
        groups = self.texts.groups

        def reduce_source(source: str) -> Values:
            values = reduce(groups[source], generator(self.settings.seed, f"value {source}"))
            advance(1)
            return values

        with self.study.reporter.stage(f"{self.metric.name}: values", len(groups)) as advance:
            return dict(zip(groups, side_by_side(reduce_source, groups, self.settings.jobs)))

    def signature(self) -> Signature:
        common, needs = self.settings, self.metric.needs(self.options)
        used = (self.study.tokenizers[need.tokenizer] for need in needs if need.layer != "text")
        known = {
            "tokenizer": tuple(dict.fromkeys(used)),
            "within": common.within,
            "cluster": "" if common.cluster == DOC_ID else common.cluster,
            "sample": common.sample or "all",
            "seed": common.seed,
            "draws": self.metric.stand_in,
            "texts": self.texts.fingerprint[:12],
            "groups": self.study.grouping,
            "reference": common.reference,
            "correction": "" if common.correction == "westfall-young" else common.correction,
            "equivalent": common.equivalent,
        }
        settings = {name: value for name, value in known.items() if value or name == "seed"}
        of_measure = {"measure": self.metric.name, **option_settings(self.options)}
        return Signature.of({**of_measure, **settings})

    # Intervals

    @cached_property
    def formulas(self) -> dict[str, Values]:
        """By source: the standard errors that have a formula. Most take texts as independent."""
        groups, formula = self.texts.groups, self.metric.standard_errors
        by_text = self.metric.text_errors

        def errors(source: str) -> Values:
            take, clusters = groups[source], self.clusters[source]
            if not self.settings.interval:
                return {}
            if by_text is not None:
                together = None if clusters is None else cluster_ids(self.texts.strata[take], 0)
                columns = by_text(self.rows, take, self.options)
                return {name: error_of_sum(column, together) for name, column in columns.items()}
            if formula is None or clusters is not None:
                return {}
            return formula(self.rows, take, self.options)

        return dict(zip(groups, side_by_side(errors, groups, self.settings.jobs)))

    @cached_property
    def clusters(self) -> dict[str, NDArray[np.int64] | None]:
        """By source the doc_id of each of its texts, as `drawn_from` has them, where several share
        one: they are not independent. None where each has its own, or doc_ids are too few."""
        least = _FEW_TEXTS if self.settings.cluster == DOC_ID else _MIN_NAMED
        return {
            source: cluster_ids(self.texts.strata[take], least)
            for source, take in self.study.drawn_from.items()
        }

    @cached_property
    def units(self) -> dict[str, dict[str, int]]:
        """By source and value: how many independent texts, or clusters of them, it rests on."""
        by_name: dict[str, dict[str, int]] = {}
        for source, take in self.study.drawn_from.items():
            clusters = self.clusters[source]
            ids = np.arange(len(take)) if clusters is None else clusters
            all_units = len(np.unique(ids))
            by_name[source] = {value.name: all_units for value in self.values}
            for name, flags in self.undefined.items():
                if (missing := flags[take]).any():
                    by_name[source][name] = len(np.unique(ids[~missing]))
            if self.metric.units is not None and clusters is None:
                by_name[source] |= self.metric.units(self.rows, take, self.options)
        return by_name

    @cached_property
    def keys(self) -> dict[str, Keys]:
        """By source, of each text as `drawn_from` has it, the unit that it is drawn with: a doc_id
        where its texts keep together, else a text. Texts of several sources that answer the same
        doc_id have the same: first with first, second with second."""
        drawn_from = self.study.drawn_from
        return {source: self.unit_keys(source, take) for source, take in drawn_from.items()}

    def unit_keys(self, source: str, take: Take) -> Keys:
        return self.study.unit_keys(source, take, by_doc_id=self.clusters[source] is not None)

    @cached_property
    def paired(self) -> set[tuple[str, str]]:
        """The pairs of sources that answer some of the same doc_ids."""
        keys = self.keys
        return {(a, b) for a, b in self.study.pairs if np.isin(keys[a], keys[b]).any()}

    def closed_form(self, source: str) -> set[str]:
        """Names of the values whose standard error or interval has a formula."""
        return set(self.formulas[source]) | set(self.own_intervals[source])

    @cached_property
    def own_intervals(self) -> dict[str, Mapping[str, tuple[float, float]]]:
        """By source: the intervals that the measure itself gives."""
        groups, give = self.texts.groups, self.metric.intervals
        if give is None or not self.settings.interval:
            return {source: {} for source in groups}
        level = self.settings.interval
        return {s: give(self.rows, take, self.options, level) for s, take in groups.items()}

    def interval(self) -> Interval:
        every = [self.closed_form(source) for source in self.texts.groups]
        closed = [v.title for v in self.values if any(v.name in names for names in every)]
        method = self.metric.interval_method or "jackknife over texts"
        if min(map(len, every)) < len(self.values):
            by = f" by {self.metric.stand_in}, calibrated" * bool(self.metric.stand_in)
            halves = (
                f"delete-half jackknife, {HALF_SAMPLES} half-samples drawn without replacement{by}"
            )
            if any(ids is not None for ids in self.clusters.values()):
                field = self.settings.cluster
                halves += f", drawn as whole {field}s where a source has several texts of one"
            method = f"{halves}; {method} for {', '.join(closed)}" if closed else halves
        method += "; Student's t"
        for value in self.values:
            method += f"; Wilson for {value.title}" if self.counts_texts(value) else ""
        if any(value.per for value in self.values):
            method += "; score intervals for rates"
        return Interval(self.settings.interval, method)

    def counts_texts(self, value: Value) -> bool:
        return value.of_texts and not self.settings.within

    def half_samples(self, values: SourceValues) -> dict[str, dict[str, Floats]]:
        """By source and value: half-samples, whose standard deviation is the standard error.

        Of values without a formula, and of all that are compared with a source which answers the
        same doc_ids: a difference of such values is surer than each of them."""
        names = {value.name for value in self.values}
        open_names = {source: names - self.closed_form(source) for source in self.texts.groups}
        resampled = self.metric.tested and getattr(self.rows, "resamplable", True)
        if resampled and self.permutations():
            for source in {source for pair in self.paired for source in pair}:
                open_names[source] |= tested_names(self.metric, self.options, self.rows)
        halves: dict[str, dict[str, Floats]] = {}
        total = HALF_SAMPLES * sum(map(bool, open_names.values()))
        with self.study.reporter.stage(f"{self.metric.name}: intervals", total) as advance:
            for source, open_values in open_names.items():
                if not open_values:
                    continue
                how, random = self.of_source(source), open_values & self.random_values(source)
                many = self.many(open_values - random)
                drawn = draw_half_samples(self.resample, **how, advance=advance, many=many)
                drawn = {name: drawn[name] for name in (open_values - random) & drawn.keys()}
                if self.metric.stand_in:
                    drawn = self.calibrated(source, drawn, values)
                halves[source] = drawn
                if random:
                    drawn = draw_half_samples(self.draw, **how)
                    halves[source] |= {name: drawn[name] for name in random & drawn.keys()}
                halves[source] |= {
                    value.name: value.at_full_size(
                        halves[source][value.name], values.values[source][value.name]
                    )
                    for value in self.values
                    if value.name in halves[source]
                }
        return halves

    def of_source(self, source: str) -> dict[str, Any]:
        """What half-samples of a source are drawn from, and how."""
        take, keys = self.study.drawn_from[source], self.keys[source]
        return {"take": take, "keys": keys, "seed": self.settings.seed, "jobs": self.settings.jobs}

    def calibrated(
        self, source: str, drawn: Mapping[str, Floats], by_source: SourceValues
    ) -> dict[str, Floats]:
        """Half-samples of a stand-in, with the level and the spread of the values: as a formula
        gives it, or as some half-samples do that are not of the stand-in. Of values that nothing
        stands in for, as they are."""
        closed, scale = self.closed_form(source), by_source.scale(source)
        errors = {n: error for n, error in self.formulas[source].items() if n in closed}
        same = {n: drawn[n] for n in drawn if abs(scale[n] - 1) < NO_ERROR}
        drawn = {n: column for n, column in drawn.items() if n not in same}
        if not drawn.keys() <= errors.keys():
            half = int(self.texts.sample.words[self.texts.groups[source]].sum()) // 2
            count = max(_MIN_CALIBRATION, min(CALIBRATION_DRAWS, _CALIBRATED_WORDS // max(1, half)))
            exact = draw_half_samples(self.reduce, **self.of_source(source), count=count)
            errors = {n: calibrated_error(drawn[n], exact[n]) for n in drawn} | errors
        values = by_source.values[source]
        return same | {
            name: values[name] + errors[name] * (column - column.mean()) / (deviation(column) or 1)
            for name, column in drawn.items()
        }

    def random_values(self, source: str) -> set[str]:
        """The values of a source that rest on a draw of parts of its texts."""
        names, take = self.metric.random_values, self.texts.groups[source]
        return set(names(self.rows, take, self.options)) if names else set()

    def source_result(self, source: str, values: Values) -> SourceResult:
        take, halves = self.texts.groups[source], self.halves.get(source, {})
        closed = self.closed_form(source)
        errors = {n: deviation(column) for n, column in halves.items() if n not in closed}
        errors |= self.formulas[source]
        clusters = self.clusters[source]
        words = int(self.texts.sample.words[take].sum())
        level, own_intervals = self.settings.interval, self.own_intervals[source]
        intervals = {}
        for value in self.values:
            number = values[value.name]
            units = self.units[source][value.name]
            # One occurrence among texts that belong together counts as many as they are.
            per_occurrence = value.per / words * len(take) / units if words and units else 0.0
            error = errors.get(value.name, math.nan)
            if self.counts_texts(value) and 0 < number < 1:
                # Texts that belong together are no surer than as many that do not.
                error = max(error, math.sqrt(number * (1 - number) / len(take)))
            ends = interval_from_error(
                number, error, level, units, share=value.share, unit=per_occurrence
            )
            if self.counts_texts(value) and clusters is None:
                ends = wilson(number * units, units, level)
            ends = own_intervals.get(value.name, ends)
            if not any(map(math.isnan, (number, *ends))):
                intervals[value.name] = ends
        notes = list(self.metric.notes(self.rows, take, self.options) if self.metric.notes else ())
        if self.settings.interval and len(take) < _FEW_TEXTS:
            how = "no interval" if len(take) < 2 else "the interval is rough"
            unit = "set" if self.settings.within else "text"
            notes.append(f"only {counted(len(take), unit)}: {how}")
        elif self.settings.interval:
            notes += self.few_clusters(take)
        return SourceResult(
            texts=len(take),
            words=words,
            values=values,
            intervals=intervals,
            notes=tuple(notes),
            clusters=None if clusters is None else len(np.unique(clusters)),
        )

    def few_clusters(self, take: Take) -> list[str]:
        field, values = self.settings.cluster, len(np.unique(self.texts.strata[take]))
        if field == DOC_ID:
            several = cluster_ids(self.texts.strata[take], 1)
            if several is None or (values := len(np.unique(several))) >= _FEW_TEXTS:
                return []
            strata = self.texts.strata[take]
            inputs, without = len(np.unique(strata[strata >= 0])), int((strata < 0).sum())
            doc_ids = f"only {inputs} doc_ids" if inputs > 1 else "one doc_id"
            doc_ids += f" ({without} have none)" if without else ""
            return [f"its texts have {doc_ids}: the interval is rough"]
        if values < _MIN_NAMED:
            return [f"all texts have one {field}: the interval does not generalize to others"]
        few = f"only {values} values of {field}: the interval is rough"
        return [few] if values < _FEW_TEXTS else []

    # Tests against the reference

    def permutations(self) -> int:
        """As asked for; else enough that the smallest corrected p-value is 0.025."""
        if self.settings.permutations is not None:
            return self.settings.permutations
        others = len(self.study.pairs) or len(self.texts.groups) - 1
        tests = others * self.study.tests
        return permutations_needed(self.metric.permutations, self.settings.correction, tests)

    @cached_property
    def undefined(self) -> Mapping[str, NDArray[np.bool_]]:
        """By value: which texts have no part in it."""
        if self.metric.undefined is not None:
            return self.metric.undefined(self.rows, self.options)
        columns = self.metric.per_text(self.rows, self.options) if self.metric.per_text else {}
        return {name: np.isnan(column) for name, column in columns.items()}

    @cached_property
    def too_undefined(self) -> dict[str, dict[str, int]]:
        """By value: the sources that are not tested in it, and for how many of their texts it is
        undefined."""
        return {
            name: {
                source: count
                for source, take in self.texts.groups.items()
                if (count := int(flags[take].sum())) > MAX_UNDEFINED * len(take)
            }
            for name, flags in self.undefined.items()
        }

    def untested_notes(self, rows: Sequence[Mapping[str, Any]]) -> list[str]:
        """Why values of these rows are not tested: a note for each reason."""

        def counted(many: Mapping[str, int]) -> str:
            unit = "sets" if self.settings.within else "texts"
            sizes = {source: len(self.texts.groups[source]) for source in many}
            return ", ".join(f"{n:,} of {sizes[s]:,} {unit} of {s}" for s, n in many.items())

        values: dict[str, list[str]] = {}
        for row in rows:
            many = self.too_undefined.get(row["value"], {})
            # Where there is no difference, the notes of the sources say why.
            undefined = math.isnan(row["difference"])
            if not undefined and not many.keys().isdisjoint((row["source"], row["reference"])):
                values.setdefault(f"undefined for {counted(many)}", []).append(row["value"])
        each = self.settings.reference == EACH
        whom = f"{UNTESTED} {'each other' if each else self.study.reference}"
        return [
            f"{whom}: {', '.join(dict.fromkeys(names))}: {why}" for why, names in values.items()
        ]

    @cached_property
    def tested_whole(self) -> set[str]:
        """The values that are tested on whole texts. A value that moves with length is tested at
        equal length instead, where lengths differ: on whole texts it would be a test of length."""
        tested = tested_names(self.metric, self.options, self.rows)
        if self.equal is None or not self.equal.compared:
            return tested
        return tested - set(compared_names(self.metric, self.options))

    def comparisons(
        self, values: SourceValues, matched: SourceValues | None
    ) -> tuple[list[dict[str, Any]], list[str]]:
        """One row per source and value, and what has to be said about the tests."""
        pairs, count = self.study.pairs, self.permutations()
        if not self.metric.tested or not pairs or count == 0:
            return [], []
        if not getattr(self.rows, "resamplable", True):
            return [], [f"{self.metric.name}: too many texts to permute all pairs"]
        tested = tested_names(self.metric, self.options, self.rows)
        rows, fewer, turned = list[dict[str, Any]](), False, list[str]()
        steady = {value.name for value in self.values if not value.moves_with_texts}
        total = count * len(pairs) * (2 if matched else 1)
        with self.study.reporter.stage(f"{self.metric.name}: tests", total) as advance:
            for source, reference in pairs:
                ends = source, reference
                all_texts = self.texts.groups[source], self.texts.groups[reference]
                tests, pair = self.test(*ends, values, advance)
                texts = {}
                if sum(map(len, pair)) < sum(map(len, all_texts)):
                    texts = dict(zip(_TESTED, map(len, pair)))
                fewer = fewer or bool(texts)
                shared = len(shared_strata(*all_texts, self.texts.strata))
                windows = dict[str, PermutedTest]()
                if matched and self.equal:
                    windows = self.equal.test(*ends, matched, count, advance)
                around = list[str]()
                measured = set(tests) | (tested - self.tested_whole)
                for name in (v.name for v in self.values if v.name in tested & measured):
                    test, difference = tests.get(name), values.difference(name, *ends)
                    if test and texts and name in steady and test.observed * difference < 0:
                        test, around = replace(test, observed=0.0), [*around, name]
                    row: dict[str, Any] = {
                        "source": source,
                        "reference": reference,
                        "value": name,
                        "difference": difference,
                        "permutations": count,
                        "shared_doc_ids": shared,
                        **texts,
                    }
                    undefined = not self.too_undefined.get(name, {}).keys().isdisjoint(ends)
                    row["expected"] = row["p"] = math.nan
                    if test:
                        # What is left of a difference is what is tested, of all texts or of some.
                        row["expected"] = difference - test.observed if texts else test.middle
                        row["p"] = math.nan if undefined else test.p
                    equal = matched is not None and name in windows
                    verdict = name in self.headlines and not equal and self.comparable(name)
                    if test and not undefined:
                        self.tests[source, reference, name, "p"] = replace(test, headline=verdict)
                    if matched and name in windows:
                        difference, test = matched.difference(name, *ends), windows[name]
                        if texts and test.observed * difference < 0:
                            test, around = replace(test, observed=0.0), [*around, name]
                        row["matched_difference"], row["matched_p"] = difference, test.p
                        test = replace(test, headline=name in self.headlines)
                        self.tests[source, reference, name, "matched_p"] = test
                    rows.append(row)
                if around:
                    names = ", ".join(dict.fromkeys(around))
                    turned.append(BORDERLINE_NOTE.format(*ends, names, self.settings.cluster))
        as_many = [BALANCED_NOTE.format(self.settings.cluster)] * fewer
        return rows, [*as_many, *turned, *self.untested_notes(rows)]

    def with_intervals(
        self,
        row: dict[str, Any],
        sources: Mapping[str, SourceResult],
        equal: Mapping[str, Mapping[str, ValueEstimate]],
    ) -> dict[str, Any]:
        """A comparison with the intervals of its differences: of whole texts and at equal size,
        each in units of the value and as a share of the reference's value."""
        both, name = (row["source"], row["reference"]), row["value"]
        on_all_texts = [self.estimate(name, source, sources[source]) for source in both]
        matched = [equal.get(source, {}).get(name) for source in both]
        for before, estimates in (("", on_all_texts), ("matched_", matched)):
            if f"{before}difference" in row and all(estimates):
                first, second = (estimate for estimate in estimates if estimate)
                paired = both in self.paired
                ends = difference_interval(first, second, self.settings.interval, paired=paired)
                row |= dict(zip((f"{before}difference_low", f"{before}difference_high"), ends))
                spread = text_deviation(first, second, self.settings.interval)
                if spread > NO_ERROR:
                    effects = (row[f"{before}difference"], *ends)
                    names = (f"{before}effect{end}" for end in ("", "_low", "_high"))
                    row |= {name: end / spread for name, end in zip(names, effects)}
                if first.value > 0 and second.value > 0:
                    ratio = ratio_interval(first, second, self.settings.interval, paired=paired)
                    row |= dict(zip((f"{before}relative_low", f"{before}relative_high"), ratio))
        return {**row, **self.equivalence(row, sources)}

    def estimate(self, name: str, source: str, result: SourceResult) -> ValueEstimate | None:
        """One value of whole texts of a source, with all that its error is known from."""
        if name not in result.intervals:
            return None
        return ValueEstimate(
            result.values[name],
            result.intervals[name],
            self.units[source][name],
            self.halves.get(source, {}).get(name),
            any(value.name == name and self.counts_texts(value) for value in self.values),
            self.clusters[source] is not None,
        )

    @cached_property
    def headlines(self) -> set[str]:
        """The values that the verdicts of aspects rest on."""
        summarized = [headline for headline in self.metric.headlines if not headline.detail]
        return {headline.equal or headline.value for headline in summarized}

    def comparable(self, name: str) -> bool:
        """Whether whole texts of the sources can be compared by a value: not where it moves with
        their length and they differ in it."""
        moving = {value.name for value in self.values if value.length_sensitive}
        unequal = bool(self.unmatched) or (self.equal is not None and self.equal.compared)
        return name not in moving or self.metric.match is None or not unequal

    def equivalence(
        self, row: Mapping[str, Any], sources: Mapping[str, SourceResult]
    ) -> dict[str, float]:
        """Whether a difference, beyond what numbers of texts make of it, is within the margin."""
        if self.settings.equivalent is None:
            return {}
        value = next(value for value in self.values if value.name == row["value"])
        both = row["source"], row["reference"]
        ours, theirs = (sources[source] for source in both)
        units = [self.units[source][value.name] for source in both]
        level, name = self.settings.interval, value.name
        errors = [
            interval_error(source.values[name], source.intervals.get(name), level, count)
            for source, count in zip((ours, theirs), units)
        ]
        margin = Margin.of(self.settings.equivalent).at(theirs.values[value.name])
        beyond = row["difference"]
        if value.moves_with_texts:
            beyond -= row["expected"]
            # What is left is that of the tested texts: of fewer, so much less sure at most.
            every = ours.texts, theirs.texts
            fewer = [n / row.get(key, n) for n, key in zip(every, _TESTED)]
            errors = [error * math.sqrt(times) for error, times in zip(errors, fewer)]
        estimates = [self.estimate(value.name, source, sources[source]) for source in both]
        if both in self.paired and all(estimates) and _TESTED[0] not in row:
            first, second = (estimate for estimate in estimates if estimate)
            if (error := paired_error(first, second)) > 0:
                errors, units = [error], [min(units)]
        untested = math.isnan(row["p"])
        p = math.nan if untested else equivalence_p(beyond, margin, errors, units)
        return {"margin": margin, "equivalence_p": p}

    def test(
        self, source: str, reference: str, values: SourceValues, advance: Advance
    ) -> tuple[dict[str, PermutedTest], Groups]:
        """By value, and of which texts of the two."""
        strata, seed = self.texts.strata, self.settings.seed
        all_texts = self.study.drawn_from[source], self.study.drawn_from[reference]
        pair = balance_groups(*all_texts, strata, generator(seed, f"choose {source} {reference}"))

        def permuted(
            numbers: range, names: Collection[str], advance: Advance = lambda amount: None
        ) -> dict[str, Floats]:
            differences = permuted_differences(
                self.resample,
                *pair,
                strata=strata,
                numbers=numbers,
                seed=seed,
                purpose=f"test {source} {reference}",
                jobs=self.settings.jobs,
                advance=advance,
                many=self.many(names),
                among=all_texts,
            )
            return {name: column for name, column in differences.items() if name in names}

        tested = self.tested_whole
        drawn_first = permuted(range(self.permutations()), tested, advance) if tested else {}
        drawn = [
            self.resample(np.sort(take), generator(seed, f"value {name}"))
            for name, take in zip((source, reference), pair)
            if sum(map(len, pair)) < sum(map(len, all_texts))
        ]

        def more(numbers: range, name: str) -> Floats:
            return permuted(numbers, {name})[name]

        return values.tests(source, reference, drawn_first, pair, strata, drawn, more), pair

    # Equal sizes

    def at_equal_sizes(
        self,
    ) -> tuple[
        SourceValues | None,
        dict[str, dict[str, ValueEstimate]],
        dict[str, list[dict[str, Any]]],
        list[str],
    ]:
        """The values at equal size by source, their intervals, their tables, and what has to be
        said of them."""
        if self.equal is None:
            return None, {}, {}, self.unmatched
        values, estimates = None, dict[str, dict[str, ValueEstimate]]()
        with self.study.reporter.stage(f"{self.metric.name}: equal sizes", 2) as advance:
            moving = [value.name for value in self.values if value.moves_with_texts]
            if self.equal.compared:
                values = self.equal.by_source()
                estimates = self.equal_estimates(self.equal, values)
            advance(1)
            tables = {"curve": self.equal.curve(moving)}
            if values is not None:
                tables["matched"] = self.equal.table(values, estimates)
            advance(1)
        return values, estimates, tables, self.equal.notes()

    def equal_estimates(
        self, equal: EqualLengths, by_source: SourceValues
    ) -> dict[str, dict[str, ValueEstimate]]:
        """By source and value: what is compared at equal size, with its interval over texts."""
        level = self.settings.interval
        if not level:
            return {}
        halves = equal.halves(by_source, self.unit_keys, lambda amount: None)
        estimates: dict[str, dict[str, ValueEstimate]] = {}
        for source, values in by_source.values.items():
            units = len(np.unique(self.unit_keys(source, equal.plan.groups[source])))
            estimates[source] = {}
            for v in self.values:
                drawn = halves.get(source, {}).get(v.name)
                if v.name in values and drawn is not None:
                    error = deviation(drawn)
                    ends = interval_from_error(values[v.name], error, level, units, share=v.share)
                    estimates[source][v.name] = ValueEstimate(values[v.name], ends, units, drawn)
        return estimates

    def value_table(self) -> list[dict[str, Any]]:
        """What each value is: a reader of the JSON need not know the measure."""
        moves = ("length_sensitive", "moves_with_texts", "moves_with_length")
        columns = ("title", "higher", *moves, "share", "relative")
        settings = dict(self.signature().settings)
        aspect = self.metric.title_of([value.name for value in self.values], settings)
        aspects = {line.value: self.metric.aspect(line) for line in self.metric.headlines}
        return [
            {"value": value.name, "aspect": aspects.get(value.name, aspect)}
            | {name: getattr(value, name) for name in columns}
            for value in self.values
        ]

    def text_table(self) -> dict[str, list[dict[str, Any]]]:
        if not self.settings.per_text or self.metric.per_text is None:
            return {}
        columns = self.metric.per_text(self.rows, self.options)
        comparison, words = self.comparison(), self.texts.sample.words
        rows = [
            {"source": source, **comparison.named(text), **self.prompt(text)}
            | {"words": int(words[text]), **{n: float(c[text]) for n, c in columns.items()}}
            for source, take in self.texts.groups.items()
            for text in take
        ]
        return {"texts": rows} if columns else {}

    def prompt(self, text: int) -> dict[str, str]:
        stratum, doc_ids = int(self.texts.strata[text]), self.texts.doc_ids
        return {"doc_id": doc_ids[stratum]} if doc_ids and stratum >= 0 else {}

    def comparison(self) -> Comparison:
        study, texts = self.study, self.texts
        # In the order of the groups, not in that of draws.
        order = [np.argsort(texts.order[take], kind="stable") for take in texts.groups.values()]
        by_source = zip(self.keys.values(), order)
        keys = np.concatenate([keys[np.argsort(places)] for keys, places in by_source])
        units = np.unique(keys, return_inverse=True)[1].astype(np.int64)
        ends = np.cumsum(list(map(len, order)))[:-1]
        return Comparison(
            groups=texts.groups,
            reference=study.reference,
            ids=texts.ids,
            signature=study.tokenizers[None],
            seed=self.settings.seed,
            reporter=study.reporter,
            level=self.settings.interval,
            strata=texts.strata,
            permutations=self.permutations(),
            files=texts.files,
            units=dict(zip(texts.groups, np.split(units, ends))),
        )
