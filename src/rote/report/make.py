"""From inputs to a study: everything that can be measured of some texts, on one reading of them.

    study = make_report("stories.jsonl", settings=Settings(by=("source",), reference="human"))

A measure that cannot work is left out with the reason, and nothing that was computed is lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import Any

from rote.annotate.store import Store
from rote.core.distribution import version
from rote.core.errors import OptionError, RoteError
from rote.core.progress import Reporter, Silent
from rote.core.result import Result
from rote.corpus import Corpus, Input, ReadOptions
from rote.measure import Settings
from rote.measure._compute import first_fields, opened, signatures_of
from rote.measure._correct import Tests, corrected
from rote.measure._facets import measure_facets
from rote.measure._prepare import Words
from rote.report import items, reading
from rote.report.evidence import evidence
from rote.report.materials import corpus_material, named, texts_material
from rote.report.options import Limits, ReportOptions
from rote.report.plan import (
    POPULARITY,
    Planned,
    check_given,
    check_names,
    planned,
    possible,
)
from rote.report.reading import Overview, Read
from rote.report.report import Evidence, Material, Omission, Report
from rote.report.tools import tools

ROWS = 300
"""Rows of each source that a table keeps: a study is read, not computed with."""
_WHOLE = ("texts",)
"""Tables that somebody asked for row by row (`--per-text`)."""


@dataclass(frozen=True, slots=True)
class _Call:
    """What was asked for, and what came of it so far."""

    inputs: Input
    options: ReportOptions
    settings: Settings
    read: ReadOptions
    reporter: Reporter
    own: Mapping[str, Mapping[str, Any]]
    given: list[Material] = field(default_factory=list)
    results: list[tuple[Result, Tests]] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    omitted: list[Omission] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


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
    call = _Call(
        inputs,
        options or ReportOptions(),
        settings or Settings(),
        read or ReadOptions(),
        reporter or Silent(),
        own or {},
    )
    check_names(call.options.measures)
    check_given(call.options)
    benchmark = items.found_in(inputs, call.read)
    if benchmark:
        _measure_items(call, benchmark)
    else:
        _measure_texts(call)
    if not call.results:
        reasons = "; ".join(f"{one.section}: {one.reason}" for one in call.omitted)
        raise OptionError(f"nothing could be measured. {reasons}")
    for role, name in (("corpus", call.options.corpus), ("train", call.options.train)):
        if name and (role == "corpus" or not benchmark):
            call.given.append(_given(call, role, name))
    results = corrected(call.results)
    return Report(
        title=call.options.title or _title(call),
        made=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        version=version(),
        reference=None if benchmark else call.settings.reference,
        given=tuple(call.given),
        tools=tuple(tools(results)),
        results=tuple(results),
        evidence=tuple(call.evidence),
        omitted=tuple(call.omitted),
        notes=tuple(dict.fromkeys(call.notes)),
    )


def _given(call: _Call, role: str, name: str) -> Material:
    try:
        return corpus_material(role, name)
    except RoteError:  # an index of somebody else: it has counted, but has no fingerprint
        return Material(role, name, "", {"kind": "counts"})


def _title(call: _Call) -> str:
    of = named(call.inputs)
    return f"{of}, compared with {call.settings.reference}" if call.settings.reference else of


def _measure_items(call: _Call, benchmark: Sequence[str]) -> None:
    call.omitted.append(
        Omission("diversity", f"the input holds test items ({', '.join(benchmark)}), not texts")
    )
    found = items.measured(call.inputs, call.options, call.settings, call.reporter)
    call.given.append(found.given)
    call.notes.extend(found.notes)
    if found.result is None:
        call.omitted.append(Omission(POPULARITY, found.reason))
    else:
        call.results.append((_kept(found.result, call.notes), {}))


def _measure_texts(call: _Call) -> None:
    texts = opened(call.inputs, call.read)
    plans, omitted = planned(first_fields(texts), call.options, call.settings, call.own)
    call.omitted.extend(omitted)
    for line in texts.guesses if isinstance(texts, Corpus) else ():
        call.reporter.say(line)
    # Texts and what they were made from are read together; a measure of fields cannot have both.
    alone = _can(call, [plan for plan in plans if not plan.beside], texts)
    beside = _can(call, [plan for plan in plans if plan.beside], texts)
    if not alone and not beside:
        return
    found: Overview | None = None
    if reading.is_large(texts) and isinstance(texts, Corpus):
        everything = reading.counted(texts, call.settings, call.reporter)
        found = reading.overview(everything, call.settings, call.reporter)
        limits = _limits(call, found)
        if (most := limits.texts["light"]) is not None:
            texts = reading.drawn(texts, everything, most, call.settings, call.reporter)
    for plans in (alone, beside):
        if plans:
            found = _run(call, plans, texts, found, first=plans is alone or not alone)


def _can(call: _Call, plans: Sequence[Planned], texts: Corpus | Store) -> list[Planned]:
    """The measures that can work on these texts; what cannot is noticed before the reading."""
    if not plans:
        return []
    source = Words(call.settings.tokenizer, call.settings.annotator)
    needs = [need for plan in plans for need in plan.metric.needs(plan.options)]
    signature = signatures_of(needs, source, texts)[None]
    return possible(plans, signature, call.omitted)


def _run(
    call: _Call,
    plans: Sequence[Planned],
    texts: Corpus | Store,
    found: Overview | None,
    *,
    first: bool,
) -> Overview | None:
    """Read the texts for these measures and take them, one by one."""
    needs = [need for plan in plans for need in plan.metric.needs(plan.options)]
    try:
        read = reading.annotated(texts, needs, call.settings, call.reporter)
        # What was skipped is told once, by whoever reads the texts first.
        heard = call.reporter if found is None else Silent()
        seen = reading.overview(read.collected, call.settings, heard)
    except RoteError as problem:
        if first:
            raise
        call.omitted.extend([Omission(plan.name, str(problem)) for plan in plans])
        return found
    if found is None:
        found = seen
    elif first:
        # Only a part was read here: what is said of all texts was counted before.
        whole = replace(read.collected, fingerprint=found.fingerprint)
        read = Read(whole, read.signatures)
    limits = _limits(call, found)
    if first:
        call.given.append(texts_material(call.inputs, found, call.settings.by))
        call.notes.extend((*found.notes, *(seen.notes if seen is not found else ())))
    call.notes.extend(reading.said_of(limits, found.sizes, [(p.name, p.effort) for p in plans]))
    _say_time(call, plans, limits, found)
    for plan in plans:
        _measure(call, plan, read, limits)
    return found


def _limits(call: _Call, found: Overview) -> Limits:
    return Limits.of(found.sizes, sample=call.settings.sample, everything=call.options.all_texts)


def _measure(call: _Call, plan: Planned, read: Read, limits: Limits) -> None:
    count = limits.texts[plan.effort]
    part = read.part(count, inputs=plan.metric.inputs, seed=call.settings.seed)
    most = max(len(take) for take in read.collected.groups.values())
    drawn = count if count is not None and (count < most or call.settings.sample) else None
    try:
        result, tests = measure_facets(
            plan.metric,
            plan.options,
            part,
            settings=replace(call.settings, sample=drawn),
            tokenizers=read.signatures,
            reporter=call.reporter,
        )
        shown = evidence(result, part, call.options.examples, call.settings.seed)
    except RoteError as problem:
        call.omitted.append(Omission(plan.name, str(problem)))
        return
    call.results.append((_kept(result, call.notes), tests))
    call.evidence.extend(shown)


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


def _say_time(call: _Call, plans: Sequence[Planned], limits: Limits, found: Overview) -> None:
    seconds = limits.seconds([plan.effort for plan in plans], found.sizes) / call.settings.jobs
    if seconds >= 60:
        call.reporter.say(
            f"{len(plans)} measures: about {round(seconds / 60):,} minutes on {call.settings.jobs} "
            f"core{'s' * (call.settings.jobs != 1)} (--jobs, --sample, --permutations change that)"
        )
