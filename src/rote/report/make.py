"""From inputs to a report: all that can be measured of some texts, on one reading of them.

    found = make_report("stories.jsonl", settings=Settings(by=("source",), reference="human"))

A measure that cannot work is left out with the reason, and nothing that was computed is lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

from rote.compare.families import MOST
from rote.core.distribution import version
from rote.core.errors import OptionError, RoteError
from rote.core.facets import EACH
from rote.core.metric import Metric, is_given
from rote.core.progress import Reporter, Silent, several
from rote.core.result import Result
from rote.core.saved import read_results
from rote.corpus import Corpus, Input, ReadOptions
from rote.corpus.memory import hold
from rote.measure import Settings
from rote.measure._collect import Collected
from rote.measure._correct import Tests, corrected
from rote.measure._flow import Chosen, Policy, Read, first_fields, opened, possible, take
from rote.report import reading
from rote.report.evidence import evidence
from rote.report.materials import (
    corpus_material,
    found_in,
    items_material,
    items_measured,
    named,
    texts_material,
    tools,
)
from rote.report.options import (
    Limits,
    ReportOptions,
    asked_for,
    check_names,
    of_items,
    open_given,
    planned,
)
from rote.report.reading import Overview
from rote.report.report import Evidence, Material, Omission, Report

ROWS = 300
"""Rows of each source that a table keeps: a study is read, not computed with."""
_WHOLE = ("texts",)
"""Tables that somebody asked for row by row (`--per-text`)."""


class _Policy(Policy):
    """What was asked for, and what came of it so far: what fails is left out, with the reason."""

    pairs = True

    def __init__(
        self, inputs: Input, options: ReportOptions, settings: Settings, reporter: Reporter
    ) -> None:
        super().__init__(settings, reporter)
        self.inputs, self.options = inputs, options
        self.about: Overview | None = None
        self.materials: list[Material] = []
        self.results: list[tuple[Result, Tests]] = []
        self.evidence: list[Evidence] = []
        self.omitted: list[Omission] = []
        self.notes: list[str] = []
        self.reading: list[Chosen] = []
        """The measures that the texts are being read for."""

    @property
    def limits(self) -> Limits:
        assert self.about is not None
        return Limits.of(
            self.about.sizes, sample=self.settings.sample, everything=self.options.all_texts
        )

    def unable(self, metric: Metric, options: Any, problem: RoteError) -> Any:
        less = metric.lesser(options) if metric.lesser else None
        part = "" if less is None else ", in part"
        self.omitted.append(Omission(f"{metric.name}{part}", str(problem)))
        return less

    def seen(self, read: Read) -> Read:
        # What was skipped is told once, by whoever reads the texts first.
        heard = self.reporter if self.about is None else Silent()
        seen = reading.overview(read.collected, self.settings, heard)
        if self.about is None:
            self.about = seen
        elif not self.materials:
            # Only a part was read here: what is said of all texts was counted before.
            whole = replace(read.collected, fingerprint=self.about.fingerprint)
            read = Read(whole, read.signatures)
        about = self.about
        if not self.materials:
            self.materials.append(texts_material(self.inputs, about, self.settings.by))
            self.notes += [*about.notes, *(seen.notes if seen is not about else ())]
        named = [(metric.name, metric.effort) for metric, _ in self.reading]
        self.notes += reading.said_of(self.limits, about.sizes, named)
        seconds = self.limits.seconds([effort for _, effort in named], about.sizes)
        jobs, measures = self.settings.jobs, len(dict(named))  # one may be taken twice
        if seconds / jobs >= 60:
            self.reporter.say(
                f"{several(measures, 'measure')}: about "
                f"{several(round(seconds / jobs / 60), 'minute')} on {several(jobs, 'core')} "
                "(--jobs, --sample, --permutations change that)"
            )
        return read

    def count(self, metric: Metric) -> int | None:
        return self.limits.texts[metric.effort]

    def found(self, result: Result, tests: Tests, part: Collected) -> None:
        shown = evidence(result, part, self.options.examples, self.settings.seed)
        self.results.append((_kept(result, self.notes), tests))
        self.evidence += shown

    def failed(self, metric: Metric, problem: RoteError) -> None:
        self.omitted.append(Omission(metric.name, str(problem)))


def make_report(
    inputs: Input,
    options: ReportOptions | None = None,
    *,
    settings: Settings | None = None,
    read: ReadOptions | None = None,
    own: Mapping[str, Mapping[str, Any]] | None = None,
    reporter: Reporter | None = None,
) -> Report:
    """Measure what the inputs allow; raises only where nothing at all can be measured.

    `own` are options of single measures that differ from those that a report takes.
    """
    options, settings, read = (
        options or ReportOptions(),
        settings or Settings(),
        read or ReadOptions(),
    )
    inputs = hold(inputs)
    check_names(options.measures)
    opened_options = open_given(options, read)
    benchmark = found_in(inputs, read)
    if not benchmark:
        options = opened_options  # items are looked up where somebody counts, which texts do not
    call = _Policy(inputs, options, settings, reporter or Silent())
    if benchmark:
        _measure_items(call, benchmark, read)
    else:
        _measure_texts(call, read, own or {})
    several = [options.results] if isinstance(options.results, Result) else options.results
    for saved in several:
        results = [saved] if isinstance(saved, Result) else read_results(saved, tables=True)
        call.results += [(_kept(result, call.notes), {}) for result in results]
    if not call.results:
        reasons = "; ".join(f"{one.section}: {one.reason}" for one in call.omitted)
        raise OptionError(f"nothing could be measured. {reasons}")
    for role, given in (("corpus", options.corpus), ("train", options.train)):
        if is_given(given) and (role == "corpus" or not benchmark):
            call.materials.append(_held_against(role, given))
    most = MOST if settings.permutations is None else None
    results = corrected(call.results, settings.correction, most=most, reporter=call.reporter)
    of, reference = named(inputs), settings.reference
    against = "each other" if reference == EACH else reference
    return Report(
        title=options.title or (f"{of}, compared with {against}" if against else of),
        made=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        version=version(),
        reference=None if benchmark else reference,
        given=tuple(call.materials),
        tools=tuple(tools(results)),
        results=tuple(results),
        evidence=tuple(call.evidence),
        omitted=tuple(call.omitted),
        notes=tuple(dict.fromkeys(call.notes)),
    )


def _held_against(role: str, given: Any) -> Material:
    try:
        return corpus_material(role, given)
    except RoteError:  # an index of somebody else: it has counted, but has no fingerprint
        return Material(role, str(given), "", {"kind": "counts"})


def _measure_items(call: _Policy, benchmark: Sequence[str], read: ReadOptions) -> None:
    call.omitted.append(
        Omission("diversity", f"the input holds test items ({', '.join(benchmark)}), not texts")
    )
    every, material = items_material(call.inputs, read)
    call.materials.append(material)
    asked = asked_for(call.options, call.settings)
    for study in of_items():
        given = study.report(asked) if study.report else ""
        if isinstance(given, str):
            call.omitted.append(Omission(study.name, given))
            continue
        for own in [given] if isinstance(given, Mapping) else given:
            if isinstance(own, str):
                call.omitted.append(Omission(f"{study.name}, in part", own))
                continue
            try:
                result, said = items_measured(study, own, every, call.settings, call.reporter)
            except RoteError as problem:
                call.omitted.append(Omission(study.name, str(problem)))
            else:
                call.notes += said
                call.results.append((_kept(result, call.notes), {}))


def _measure_texts(call: _Policy, read: ReadOptions, own: Mapping[str, Mapping[str, Any]]) -> None:
    texts = opened(call.inputs, read)
    chosen, omitted = planned(first_fields(texts), call.options, call.settings, own)
    call.omitted.extend(omitted)
    for line in texts.guesses if isinstance(texts, Corpus) else ():
        call.reporter.say(line)
    if call.settings.reference == EACH:
        reason = "no reference: it compares no pairs of sources"
        call.omitted += [Omission(one.name, reason) for one, _ in chosen if not one.tested]
        chosen = [one for one in chosen if one[0].tested]
    # Texts and what they were made from are read together; a measure of fields cannot have both.
    alone = possible([one for one in chosen if not _of_fields(one)], texts, call)
    beside = possible([one for one in chosen if _of_fields(one)], texts, call)
    if not alone and not beside:
        return
    if reading.is_large(texts, call.settings.sample) and isinstance(texts, Corpus):
        everything = reading.counted(texts, call.settings, call.reporter)
        call.about = reading.overview(everything, call.settings, call.reporter)
        if (most := call.limits.texts["light"]) is not None:
            texts = reading.drawn(texts, everything, most, call.settings, call.reporter)
    for group, inputs in ((alone, call.settings.inputs or None), (beside, None)):
        call.reading = group
        try:
            if group:
                take(group, texts, call, inputs=inputs)
        except RoteError as problem:
            if not call.materials:
                raise
            call.omitted += [Omission(metric.name, str(problem)) for metric, _ in group]


def _of_fields(chosen: Chosen) -> bool:
    """Whether it reads other fields of the records too."""
    metric, options = chosen
    return any(need.field is not None for need in metric.needs(options))


def _kept(result: Result, notes: list[str]) -> Result:
    """A result without most of the rows of long tables; a note says which."""
    tables = {}
    for name, rows in result.tables.items():
        seen: dict[object, int] = {}
        kept = []
        if len(rows) > ROWS and name not in _WHOLE:
            # Items come with how much of them a corpus holds: those with most are kept.
            rows = sorted(rows, key=lambda row: -(row.get("longest") or 0))
        for row in rows:
            source = row.get("source")
            seen[source] = seen.get(source, 0) + 1
            if seen[source] <= ROWS or name in _WHOLE:
                kept.append(row)
        if len(kept) < len(rows):
            notes.append(
                f"{result.measure}: the table '{name}' is kept with {len(kept):,} of its "
                f"{len(rows):,} rows; `rote {result.measure} --json` gives all"
            )
        tables[name] = tuple(kept)
    return replace(result, tables=tables)
