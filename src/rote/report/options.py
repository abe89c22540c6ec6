"""What a whole picture is asked for, and how much text each measure gets.

Measures are computed again for hundreds of half-samples and permutations. Each has a share of work;
sources that hold more text than that are drawn down to the same number of texts.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

from rote.annotate import embeddings
from rote.core import plugins
from rote.core.errors import UnknownName
from rote.core.facets import EACH
from rote.core.metric import Metric, OptionSet, option
from rote.core.record import ReportContext, Study
from rote.corpus import ReadOptions, read_option
from rote.measure import Settings, metrics
from rote.measure.driver.multiple_testing import PERMUTATIONS
from rote.measure.driver.pipeline import Chosen
from rote.report.report import Omission
from rote.search.reference_corpus import open_inputs

WORDS = {"light": 3_000_000, "medium": 600_000, "heavy": 200_000}
"""By effort, how many words of all sources together a measure gets."""
_MIN_TEXTS = 50
"""Texts of a source that are always taken: with fewer there is nothing to test."""
_MAX_PAIRED = 4_900
"""Texts of all sources together whose pairs are kept, so that homogenization can be tested."""
_SECONDS = {"light": 8e-6, "medium": 1.6e-5, "heavy": 4e-5}
"""A word takes about so long on one core of a virtual machine of 2024, by effort."""


@dataclass(frozen=True, slots=True)
class ReportOptions(OptionSet):
    """What the report is about; the shell's flags and the browser's form are made from this."""

    SECTION: ClassVar[str] = "What is reported"
    corpus: str | None = option(
        None,
        "Corpus to compare the texts with, an index or a small file of texts: novelty, "
        "originality, contamination; for test items popularity",
        metavar="IDX",
        opened=True,
        takes="corpus",
        common=True,
    )
    corpus_read: tuple[str, ...] = read_option("the corpus")
    train: str | None = option(
        None,
        "Training set, an index or files of texts: how much of the texts or references occurs in "
        "it",
        metavar="TRAIN",
        opened=True,
        takes="corpus",
        common=True,
    )
    train_read: tuple[str, ...] = read_option("TRAIN")
    model: tuple[str, ...] = option(
        (),
        "Models to test on the items (memorization, accuracy), as in `rote evaluate`",
        metavar="M,...",
        opened=True,
        common=True,
    )
    results: tuple[Path, ...] = option(
        (),
        "Results of other commands (-o FILE.json) to include in the report",
        metavar="FILE,...",
        opened=True,
        takes="results",
    )
    measures: tuple[str, ...] = option(
        (),
        "Measures to run  [default: all that the inputs allow]",
        metavar="NAME,...",
        common=True,
    )
    examples: int = option(4, "Number of marked texts to show per source and section", least=0)
    all_texts: bool = option(
        False,
        "Use all texts for every measure, however long it takes; default: costly measures sample "
        "large inputs, unless --sample is given, and the report says how much",
    )
    sentences: int = option(
        1_000,
        "Maximum number of sentences per source for meanings, precision and recall",
        least=10,
    )
    embedder: str = option(
        embeddings.DEFAULT,
        "Embedding model: minilm (English), sentence-transformers:NAME; de=NAME: for German texts",
    )
    title: str | None = option(None, "Title of the report", common=True)
    across: str | None = option(
        None,
        "Field for two-way tables: its values as columns, the other --by fields as rows",
        metavar="FIELD",
        form=True,
    )


@dataclass(frozen=True, slots=True)
class SourceSize:
    texts: int
    words: int


@dataclass(frozen=True, slots=True)
class Limits:
    """How many texts of each source a measure gets, by effort; None: all of them."""

    texts: Mapping[str, int | None]

    @classmethod
    def of(cls, sizes: Mapping[str, SourceSize], *, sample: int | None, everything: bool) -> Limits:
        """`sample` is the number that was asked for; `everything` that none is wanted."""
        if sample is not None or everything:
            return cls(dict.fromkeys(WORDS, sample))
        return cls({effort: _max_texts(effort, sizes) for effort in WORDS})

    def seconds(self, efforts: Sequence[str], sizes: Mapping[str, SourceSize]) -> float:
        total = 0.0
        for effort in efforts:
            count = self.texts[effort]
            for size in sizes.values():
                share = 1.0 if count is None else min(1.0, count / max(size.texts, 1))
                total += size.words * share * _SECONDS[effort]
        return total


def _max_texts(effort: str, sizes: Mapping[str, SourceSize]) -> int | None:
    most = max((size.texts for size in sizes.values()), default=0)
    if most <= _MIN_TEXTS:
        return None

    def fits(count: int) -> bool:
        sample_sizes = {source: min(count, size.texts) for source, size in sizes.items()}
        words = sum(
            n * sizes[s].words / sizes[s].texts for s, n in sample_sizes.items() if sizes[s].texts
        )
        return words <= WORDS[effort] and (
            effort == "light" or sum(sample_sizes.values()) <= _MAX_PAIRED
        )

    if fits(most):
        return None
    more = range(_MIN_TEXTS + 1, most)
    low = _MIN_TEXTS + bisect_left(more, True, key=lambda count: not fits(count))
    # A number that can be remembered: 1,234 becomes 1,200.
    step = int(10 ** max(0, len(str(low)) - 2))
    return max(_MIN_TEXTS, low - low % step)


_ITEMS_ONLY = (
    "of test items with options (BLiMP, COPA, PIQA, ...): give their file as a separate input"
)


def check_across(across: str | None, by: Sequence[str]) -> None:
    """Refuse a field to set side by side that groups no texts, before anything is measured."""
    if across and across not in by:
        raise UnknownName("field of the groups", across, by)


def list_offered() -> list[str]:
    of_texts = [m.name for m in metrics() if _report_options(m, ReportContext()) != ""]
    return [*of_texts, *(study.name for study in item_studies())]


def item_studies() -> list[Study]:
    every = [plugins.load("studies", name).STUDY for name in plugins.members("studies")]
    return [study for study in every if study.takes == "items" and study.report]


def report_context(
    options: ReportOptions, settings: Settings, fields: Collection[str] = ()
) -> ReportContext:
    cluster = settings.cluster
    if cluster in fields and options.measures:  # whoever names a measure of prompts says it is one
        fields, cluster = {*fields, "doc_id"}, "doc_id"
    return ReportContext(
        fields,
        None if settings.reference == EACH else settings.reference,
        options.corpus,
        options.train,
        options.sentences,
        options.embedder,
        options.model,
        cluster,
    )


def _report_options(
    metric: Metric, context: ReportContext
) -> Sequence[Mapping[str, Any] | str] | str:
    """Options each time that a measure is taken, or what it lacks; "": it is in no report."""
    chosen = metric.report(context) if metric.report else {}
    return [chosen] if isinstance(chosen, Mapping) else chosen


def plan_measures(
    fields: Collection[str],
    options: ReportOptions,
    settings: Settings,
    changed: Mapping[str, Mapping[str, Any]],
) -> tuple[list[Chosen], list[Omission]]:
    check_names(options.measures)
    plan: list[Chosen] = []
    omitted: list[Omission] = []
    context = report_context(options, settings, fields)
    for metric in metrics():
        name, choices = metric.name, _report_options(metric, context)
        if choices == "" or (options.measures and name not in options.measures):
            continue
        if isinstance(choices, str):
            omitted.append(Omission(name, choices))
            continue
        parts = [part for part in choices if not isinstance(part, str)]
        omitted += [Omission(f"{name}, in part", part) for part in choices if isinstance(part, str)]
        for chosen, more in product(metric.panel or ({},), parts):
            values = metric.options(**{**chosen, **more, **changed.get(name, {})})
            if metric.settle:
                values = metric.settle(values, fields)
            # Fewer than a measure by itself makes; the number that is given counts anyway.
            fewer = min(metric.permutations, PERMUTATIONS)
            plan.append((replace(metric, permutations=fewer), values))
    # Studies, which are many files, are looked through where one may be asked for.
    every = item_studies() if not all(map(_is_text_measure, options.measures or ("",))) else ()
    names = [study.name for study in every]
    if lacking := [name for name in names if not options.measures or name in options.measures]:
        omitted.append(Omission(", ".join(lacking), _ITEMS_ONLY))
    return plan, omitted


def check_names(names: Sequence[str]) -> None:
    for name in names:
        if not _is_text_measure(name) and name not in list_offered():
            raise UnknownName("measure", name, list_offered())


def _is_text_measure(name: str) -> bool:
    if name not in plugins.members("measure"):
        return False
    return _report_options(plugins.load("measure", name).METRIC, ReportContext()) != ""


def open_corpora(options: ReportOptions, read: ReadOptions) -> ReportOptions:
    """Open the corpus and the training set; what is not there is refused at once."""
    from rote.search.backends import ROOM

    backends = [plugins.load(ROOM, name) for name in plugins.members(ROOM)]
    if isinstance(options.corpus, str) and any(b.accepts(options.corpus) for b in backends):
        # One that counts, and may be somebody else's.
        others: ReportOptions = open_inputs(replace(options, corpus=None), read)
        return replace(others, corpus=options.corpus)
    opened: ReportOptions = open_inputs(options, read)
    return opened
