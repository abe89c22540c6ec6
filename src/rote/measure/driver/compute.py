"""From inputs to results: read once, then run every measure that was asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rote.annotate.language_check import remarks
from rote.annotate.store import Store, is_store
from rote.compare.multiple_testing import MAX_PERMUTATIONS
from rote.core import plugins
from rote.core.errors import InputError, MissingExtra, OptionError, RoteError
from rote.core.metric import Metric
from rote.core.progress import Reporter, Silent
from rote.core.result import Result
from rote.corpus import Corpus, Input, ReadOptions, are_names, open_corpus
from rote.corpus.items import as_documents, form_of
from rote.corpus.memory import hold
from rote.measure.driver.collection import CollectedTexts
from rote.measure.driver.languages import UnknownLanguage
from rote.measure.driver.multiple_testing import PERMUTATIONS, Tests, correct_results
from rote.measure.driver.pipeline import (
    Chosen,
    Policy,
    ReadTexts,
    check_read,
    measure_all,
    open_corpus_or_store,
    read_first_fields,
    report_reading,
    select_possible,
)
from rote.measure.driver.settings import Settings
from rote.search.reference_corpus import open_inputs

Measures = Mapping[str, Any] | Sequence[tuple[str, Any]]


class _Panel(Policy):
    """One sample for all measures; `panel`: one whose extra is not installed is left out."""

    def __init__(self, settings: Settings, reporter: Reporter, *, panel: bool) -> None:
        super().__init__(settings, reporter)
        self.panel = self.pairs = panel
        self.left_out: list[str] = []
        self.shown: list[str] = []
        """Ids of the texts that are to be shown."""
        self.results: list[tuple[Result, Tests]] = []

    def unable(self, metric: Metric, options: Any, problem: RoteError) -> Any:
        self._leave_out(MissingExtra, problem, f"{metric.name} is left out. {problem}")

    def seen(self, read: ReadTexts) -> ReadTexts:
        report_reading(read.collected, self.settings, self.reporter)
        check_read(read.collected, self.settings)
        self.collected = read.part(self.settings.sample, inputs=True, seed=self.settings.seed)
        for wanted in self.shown:
            _check_highlight(wanted, self.collected, read.collected, self.settings)
        return read

    def add_result(self, result: Result, tests: Tests, part: CollectedTexts) -> None:
        self.results.append((result, tests))

    def failed(self, metric: Metric, problem: RoteError) -> None:
        self._leave_out(UnknownLanguage, problem, str(problem))

    def _leave_out(self, kind: type[RoteError], problem: RoteError, note: str) -> None:
        if not self.panel or not isinstance(problem, kind):
            raise problem
        self.left_out.append(note)
        self.reporter.say(note)


def compute(
    measures: Measures,
    inputs: Input,
    *,
    settings: Settings | None = None,
    read: ReadOptions | None = None,
    reporter: Reporter | None = None,
    panel: bool = False,
) -> list[Result]:
    """Measure name -> its options object; the results come in the same order.

    `panel`: a measure whose extra is not installed is left out, and that is said; otherwise it
    is an error.
    """
    settings, read = settings or Settings(), read or ReadOptions()
    inputs = hold(inputs)
    policy = _Panel(settings, reporter or Silent(), panel=panel)
    pairs = measures.items() if isinstance(measures, Mapping) else measures
    chosen: list[Chosen] = [
        (plugins.load("measure", name).METRIC, open_inputs(options, read))
        for name, options in pairs
    ]
    if panel:
        chosen = [
            (replace(metric, permutations=min(metric.permutations, PERMUTATIONS)), options)
            for metric, options in chosen
        ]
    texts = open_texts(chosen, inputs, read, policy.reporter)
    if any(metric.settle for metric, _ in chosen):
        fields = read_first_fields(texts)
        chosen = [(m, m.settle(options, fields) if m.settle else options) for m, options in chosen]
    chosen = select_possible(chosen, texts, policy)
    highlights = (getattr(options, "highlight", None) for _, options in chosen)
    policy.shown = [text for text in highlights if text is not None]
    for line in texts.guesses if isinstance(texts, Corpus) else ():
        policy.reporter.say(line)
    with_inputs = settings.inputs and all(metric.inputs for metric, _ in chosen)
    measure_all(chosen, texts, policy, inputs=settings.inputs if with_inputs else None)
    if not policy.results:
        raise UnknownLanguage("; ".join(policy.left_out))
    most = MAX_PERMUTATIONS if settings.permutations is None else None
    first, *others = correct_results(
        policy.results, settings.correction, most=most, reporter=policy.reporter
    )
    notes = (*first.notes, *policy.left_out, *remarks(policy.collected.guessed_languages))
    return [replace(_with_copies(first, policy.collected), notes=notes), *others]


def _check_highlight(
    wanted: str, collected: CollectedTexts, everything: CollectedTexts, settings: Settings
) -> None:
    """The text that is to be shown must be one that is measured; noticed before the work."""
    if wanted in collected.ids:
        return
    if wanted in everything.ids:
        raise OptionError(
            f"the text '{wanted}' is not among the {settings.sample:,} of each source that "
            "--sample drew: leave out --sample"
        )
    some = ", ".join(collected.ids[:3])
    raise OptionError(f"there is no text with the id '{wanted}'; ids are like {some}")


def _with_copies(result: Result, collected: CollectedTexts) -> Result:
    """Texts that occur there twice make a source look repetitive: said once, with the first."""
    sources = dict(result.by_source)
    for source, copies in collected.copies.items():
        if copies and source in sources:
            source_result, texts = sources[source], collected.read[source]
            note = f"{copies:,} of {texts:,} texts are duplicates of another text of this source"
            sources[source] = replace(source_result, notes=(*source_result.notes, note))
    return replace(result, by_source=sources)


def open_texts(
    chosen: Sequence[Chosen], inputs: Input, read: ReadOptions, reporter: Reporter
) -> Corpus | Store:
    """What these measures measure: the texts of a corpus or a store, or items of a benchmark."""
    return _items_as_documents(chosen, inputs, read, reporter) or open_corpus_or_store(inputs, read)


def _items_as_documents(
    chosen: Sequence[Chosen], inputs: Input, read: ReadOptions, reporter: Reporter
) -> Corpus | None:
    """The items of a benchmark, put together, where the input holds some and they are looked up."""
    if not all(metric.items for metric, _ in chosen) or isinstance(inputs, (Corpus, Mapping)):
        return None
    paths: Any = [inputs] if isinstance(inputs, (str, Path)) else inputs
    parts: list[Any] = [inputs]
    if isinstance(paths, (list, tuple)) and are_names(paths):
        parts = [Path(path) for path in paths]
        if not all(path.exists() and not is_store(path) for path in parts):
            return None
    benchmark = next((options.benchmark for _, options in chosen if options.benchmark), None)
    if (form := form_of(parts, benchmark)) is None:
        return None
    if read.text_field:
        reporter.say(
            f"these are items of {form}: without --text-field question, question with answer and "
            "passage are looked up"
        )
        return None
    skipped: list[InputError] = []
    documents = as_documents(parts, benchmark, read=read, skipped=skipped)
    reporter.say(
        f"items of {form}: question, question with answer, passage (--benchmark texts: as they are)"
    )
    for problem in skipped:
        reporter.say(f"skipped: {problem}")
    return open_corpus(documents, read)
