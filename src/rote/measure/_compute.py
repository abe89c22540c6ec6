"""From inputs to results: read once, then run every measure that was asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rote.annotate.script import remarks
from rote.annotate.store import Store, is_store
from rote.compare.families import MOST
from rote.core import plugins
from rote.core.errors import InputError, MissingExtra, OptionError, RoteError
from rote.core.metric import Metric
from rote.core.progress import Reporter, Silent
from rote.core.result import Result
from rote.corpus import Corpus, Input, ReadOptions, are_names, open_corpus
from rote.corpus.items import as_documents, form_of
from rote.corpus.memory import hold
from rote.measure._against import open_inputs
from rote.measure._collect import Collected
from rote.measure._correct import PERMUTATIONS, Tests, corrected
from rote.measure._flow import (
    Chosen,
    Policy,
    Read,
    check_read,
    first_fields,
    opened,
    possible,
    take,
    tell_read,
)
from rote.measure._languages import UnknownLanguage
from rote.measure._settings import Settings

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
        if not self.panel or not isinstance(problem, MissingExtra):
            raise problem
        self.left_out.append(f"{metric.name} is left out. {problem}")
        self.reporter.say(self.left_out[-1])

    def seen(self, read: Read) -> Read:
        tell_read(read.collected, self.settings, self.reporter)
        check_read(read.collected, self.settings)
        self.collected = read.part(self.settings.sample, inputs=True, seed=self.settings.seed)
        for wanted in self.shown:
            _check_highlight(wanted, self.collected, read.collected, self.settings)
        return read

    def found(self, result: Result, tests: Tests, part: Collected) -> None:
        self.results.append((result, tests))

    def failed(self, metric: Metric, problem: RoteError) -> None:
        if not self.panel or not isinstance(problem, UnknownLanguage):
            raise problem
        self.left_out.append(str(problem))
        self.reporter.say(self.left_out[-1])


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
        (plugins.load("measure", name).METRIC, open_inputs(own, read)) for name, own in pairs
    ]
    if panel:
        chosen = [
            (replace(metric, permutations=min(metric.permutations, PERMUTATIONS)), own)
            for metric, own in chosen
        ]
    texts = open_texts(chosen, inputs, read, policy.reporter)
    if any(metric.settle for metric, _ in chosen):
        fields = first_fields(texts)
        chosen = [(m, m.settle(own, fields) if m.settle else own) for m, own in chosen]
    chosen = possible(chosen, texts, policy)
    asked = (getattr(own, "highlight", None) for _, own in chosen)
    policy.shown = [text for text in asked if text is not None]
    for line in texts.guesses if isinstance(texts, Corpus) else ():
        policy.reporter.say(line)
    with_inputs = settings.inputs and all(metric.inputs for metric, _ in chosen)
    take(chosen, texts, policy, inputs=settings.inputs if with_inputs else None)
    if not policy.results:
        raise UnknownLanguage("; ".join(policy.left_out))
    most = MOST if settings.permutations is None else None
    first, *others = corrected(
        policy.results, settings.correction, most=most, reporter=policy.reporter
    )
    notes = (*first.notes, *policy.left_out, *remarks(policy.collected.seen))
    return [replace(_with_copies(first, policy.collected), notes=notes), *others]


def _check_highlight(
    wanted: str, collected: Collected, everything: Collected, settings: Settings
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


def _with_copies(result: Result, collected: Collected) -> Result:
    """Texts that occur there twice make a source look repetitive: said once, with the first."""
    sources = dict(result.by_source)
    for source, copies in collected.copies.items():
        if copies and source in sources:
            found, texts = sources[source], collected.read[source]
            note = f"{copies:,} of {texts:,} texts are copies of another text of this source"
            sources[source] = replace(found, notes=(*found.notes, note))
    return replace(result, by_source=sources)


def open_texts(
    chosen: Sequence[Chosen], inputs: Input, read: ReadOptions, reporter: Reporter
) -> Corpus | Store:
    """What these measures measure: the texts of a corpus or a store, or items of a benchmark."""
    return _items(chosen, inputs, read, reporter) or opened(inputs, read)


def _items(
    chosen: Sequence[Chosen], inputs: Input, read: ReadOptions, reporter: Reporter
) -> Corpus | None:
    """The items of a benchmark, put together, where the input holds some and they are looked up."""
    if not all(metric.items for metric, _ in chosen) or isinstance(inputs, (Corpus, Mapping)):
        return None
    given: Any = [inputs] if isinstance(inputs, (str, Path)) else inputs
    parts: list[Any] = [inputs]
    if isinstance(given, (list, tuple)) and are_names(given):
        parts = [Path(path) for path in given]
        if not all(path.exists() and not is_store(path) for path in parts):
            return None
    named = next((own.benchmark for _, own in chosen if own.benchmark), None)
    if (form := form_of(parts, named)) is None:
        return None
    if read.text_field:
        reporter.say(
            f"these are items of {form}: without --text-field question, question with answer and "
            "passage are looked up"
        )
        return None
    skipped: list[InputError] = []
    found = as_documents(parts, named, read=read, skipped=skipped)
    reporter.say(
        f"items of {form}: question, question with answer, passage (--benchmark texts: as they are)"
    )
    for problem in skipped:
        reporter.say(f"skipped: {problem}")
    return open_corpus(found, read)
