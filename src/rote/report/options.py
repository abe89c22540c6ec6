"""What a whole picture is asked for, and how much text each measure gets.

Most measures are computed again for hundreds of half-samples and permutations, so that the time
they take is set by the amount of text and not by what a reader can see in it. Each measure has a
share of work; sources that hold more text than that are drawn down to the same number of texts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

from rote.annotate import embeddings
from rote.core import plugins
from rote.core.errors import UnknownName
from rote.core.facets import EACH
from rote.core.metric import Metric, check_options, option
from rote.core.record import Asked, Study
from rote.corpus import ReadOptions, read_option
from rote.measure import Settings, metrics
from rote.measure._against import open_inputs
from rote.measure._correct import PERMUTATIONS
from rote.measure._flow import Chosen
from rote.report.report import Omission

WORDS = {"light": 3_000_000, "medium": 600_000, "heavy": 200_000}
"""By effort, how many words of all sources together a measure gets."""
_FEWEST = 50
"""Texts of a source that are always taken: with fewer there is nothing to test."""
_PAIRS = 4_900
"""Texts of all sources together whose pairs are kept, so that homogenization can be tested."""
_SECONDS = {"light": 1.5e-5, "medium": 3e-5, "heavy": 2.6e-4}
"""A word takes about so long on one core of a virtual machine of 2024, by effort."""


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """What the report is about; the shell's flags and the browser's form are made from this."""

    SECTION: ClassVar[str] = "What is reported"
    corpus: str | None = option(
        None,
        "Index, or a small file of texts, that the texts are compared with: novelty, originality, "
        "contamination; for test items popularity",
        metavar="IDX",
        opened=True,
        takes="corpus",
        common=True,
    )
    corpus_read: tuple[str, ...] = read_option("the corpus")
    train: str | None = option(
        None,
        "Training set, an index or files of texts: how much of the texts or references it holds",
        metavar="TRAIN",
        opened=True,
        takes="corpus",
        common=True,
    )
    train_read: tuple[str, ...] = read_option("TRAIN")
    model: tuple[str, ...] = option(
        (),
        "Models that are asked about test items (memorization, accuracy), as in `rote evaluate`",
        metavar="M,...",
        opened=True,
        common=True,
    )
    results: tuple[Path, ...] = option(
        (),
        "Results that other commands wrote with -o FILE.json, shown as parts of the report",
        metavar="FILE,...",
        opened=True,
        takes="results",
    )
    measures: tuple[str, ...] = option(
        (),
        "Only these measures  [default: all that the inputs allow]",
        metavar="NAME,...",
        common=True,
    )
    examples: int = option(
        4, "Texts that are shown with marks, for each source and section", least=0
    )
    all_texts: bool = option(
        False,
        "Give all texts to every measure, however long it takes; without it, and without --sample, "
        "costly measures get a part of large inputs, and the report says how much",
    )
    sentences: int = option(
        1_000,
        "At most this many sentences of each source for meanings, precision and recall",
        least=10,
    )
    embedder: str = option(
        embeddings.DEFAULT,
        "Who makes the vectors: minilm (English), sentence-transformers:NAME; de=NAME: of German "
        "texts",
    )
    title: str | None = option(None, "Title of the report", common=True)

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True, slots=True)
class Size:
    """How many texts a source has, and how many words."""

    texts: int
    words: int


@dataclass(frozen=True, slots=True)
class Limits:
    """How many texts of each source a measure gets, by effort; None: all of them."""

    texts: Mapping[str, int | None]

    @classmethod
    def of(cls, sizes: Mapping[str, Size], *, sample: int | None, everything: bool) -> Limits:
        """`sample` is the number that was asked for; `everything` that none is wanted."""
        if sample is not None or everything:
            return cls(dict.fromkeys(WORDS, sample))
        return cls({effort: _texts_for(effort, sizes) for effort in WORDS})

    def seconds(self, efforts: Sequence[str], sizes: Mapping[str, Size]) -> float:
        """About how long measures of these efforts take on one core."""
        total = 0.0
        for effort in efforts:
            count = self.texts[effort]
            for size in sizes.values():
                share = 1.0 if count is None else min(1.0, count / max(size.texts, 1))
                total += size.words * share * _SECONDS[effort]
        return total


def _texts_for(effort: str, sizes: Mapping[str, Size]) -> int | None:
    most = max((size.texts for size in sizes.values()), default=0)
    if most <= _FEWEST:
        return None

    def fits(count: int) -> bool:
        taken = {source: min(count, size.texts) for source, size in sizes.items()}
        words = sum(n * sizes[s].words / sizes[s].texts for s, n in taken.items() if sizes[s].texts)
        return words <= WORDS[effort] and (effort == "light" or sum(taken.values()) <= _PAIRS)

    if fits(most):
        return None
    low, high = _FEWEST, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return _rounded(low)


def _rounded(count: int) -> int:
    """A number that can be remembered: 1,234 becomes 1,200."""
    step = int(10 ** max(0, len(str(count)) - 2))
    return max(_FEWEST, count - count % step)


_OF_ITEMS = "of test items with options (BLiMP, COPA, PIQA, ...): their file is an input of its own"


def offered() -> list[str]:
    """All that a report can hold, in the order in which it is shown."""
    of_texts = [one.name for one in metrics() if _options(one, Asked()) != ""]
    return [*of_texts, *(study.name for study in of_items())]


def of_items() -> list[Study]:
    """The studies of test items that take part in reports."""
    every = [plugins.load("studies", name).STUDY for name in plugins.members("studies")]
    return [study for study in every if study.takes == "items" and study.report]


def asked_for(options: ReportOptions, settings: Settings, fields: Collection[str] = ()) -> Asked:
    """What a report has to offer its measures."""
    if settings.cluster in fields:
        fields = {*fields, "doc_id"}  # whose place it takes
    return Asked(
        fields,
        None if settings.reference == EACH else settings.reference,
        options.corpus,
        options.train,
        options.sentences,
        options.embedder,
        options.model,
    )


def _options(metric: Metric, asked: Asked) -> Sequence[Mapping[str, Any] | str] | str:
    """The options of a measure in a report, each time that it is taken, or what it lacks; nothing:
    it is no part of reports."""
    given = metric.report(asked) if metric.report else {}
    return [given] if isinstance(given, Mapping) else given


def planned(
    fields: Collection[str],
    options: ReportOptions,
    settings: Settings,
    changed: Mapping[str, Mapping[str, Any]],
) -> tuple[list[Chosen], list[Omission]]:
    """The measures for records with these fields, in the order in which they are shown."""
    check_names(options.measures)
    found: list[Chosen] = []
    omitted: list[Omission] = []
    asked = asked_for(options, settings, fields)
    for metric in metrics():
        name, given = metric.name, _options(metric, asked)
        if given == "" or (options.measures and name not in options.measures):
            continue
        if isinstance(given, str):
            omitted.append(Omission(name, given))
            continue
        parts = [part for part in given if not isinstance(part, str)]
        omitted += [Omission(f"{name}, in part", part) for part in given if isinstance(part, str)]
        for chosen, more in product(metric.panel or ({},), parts):
            own = metric.options(**{**chosen, **more, **changed.get(name, {})})
            if metric.settle:
                own = metric.settle(own, fields)
            # Fewer than a measure by itself makes; the number that is given counts anyway.
            fewer = min(metric.permutations, PERMUTATIONS)
            found.append((replace(metric, permutations=fewer), own))
    # Studies, which are many files, are looked through where one may be asked for.
    every = of_items() if not all(map(_of_texts, options.measures or ("",))) else ()
    names = [study.name for study in every]
    if lacking := [name for name in names if not options.measures or name in options.measures]:
        omitted.append(Omission(", ".join(lacking), _OF_ITEMS))
    return found, omitted


def check_names(names: Sequence[str]) -> None:
    for name in names:
        if not _of_texts(name) and name not in offered():
            raise UnknownName("measure", name, offered())


def _of_texts(name: str) -> bool:
    """Whether a report can hold the measure of this name."""
    if name not in plugins.members("measure"):
        return False
    return _options(plugins.load("measure", name).METRIC, Asked()) != ""


def open_given(options: ReportOptions, read: ReadOptions) -> ReportOptions:
    """Open the corpus and the training set; what is not there is refused at once."""
    from rote.search.backends import ROOM

    backends = [plugins.load(ROOM, name) for name in plugins.members(ROOM)]
    if isinstance(options.corpus, str) and any(one.accepts(options.corpus) for one in backends):
        corpus = options.corpus  # one that counts, and may be somebody else's
        options = replace(options, corpus=None)
        opened: ReportOptions = replace(open_inputs(options, read), corpus=corpus)
    else:
        opened = open_inputs(options, read)
    return opened
