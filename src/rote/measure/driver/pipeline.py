"""The one way from texts to results: what can work is found out, the texts are read once, and each
measure is taken on its part of them. What a measure, a panel and a report do otherwise is their
`Policy`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rote import run
from rote.annotate import annotators, words
from rote.annotate.language_check import by_language
from rote.annotate.store import Store, is_store, open_store
from rote.core.errors import InputError, OptionError, RoteError, UnknownName
from rote.core.facets import EACH, JOINT, facets, is_input
from rote.core.layer import DERIVED
from rote.core.metric import Metric
from rote.core.progress import Reporter, Step, Steps
from rote.core.result import Result
from rote.core.sample import Need
from rote.corpus import Corpus, Input, ReadOptions, open_corpus
from rote.measure.driver.collection import CollectedTexts, collect_texts
from rote.measure.driver.equal_lengths import compared_names
from rote.measure.driver.facets import check_reference, measure_facets
from rote.measure.driver.languages import needs_language
from rote.measure.driver.multiple_testing import Tests
from rote.measure.driver.preparation import annotated_layers, uses_annotator
from rote.measure.driver.settings import Settings

MAX_SOURCES = 12
"""Of which every two are compared where no reference is named."""
MEASURES_AT_ONCE = 2
"""Each has steps that take one core alone, in which the other goes on."""
_MANY_SOURCES = 20
Chosen = tuple[Metric, Any]
"""A measure and its options."""
MeasuredPart = tuple[Result, Tests, CollectedTexts]


@dataclass(frozen=True, slots=True)
class ReadTexts:
    """Texts with the layers that some measures need.

    `parts` keeps what was drawn of them, by the number of texts of a source.
    """

    collected: CollectedTexts
    signatures: dict[str | None, str]
    parts: dict[tuple[int | None, bool], CollectedTexts] = field(default_factory=dict)

    def part(self, count: int | None, *, inputs: bool, seed: int) -> CollectedTexts:
        """At most so many texts of each source, with or without what they were made from."""
        key = (count, inputs)
        if key not in self.parts:
            sources = [name for name in self.collected.groups if inputs or not is_input(name)]
            part = self.collected.only(sources)
            self.parts[key] = part if count is None else part.sampled(count, seed)
        return self.parts[key]


class Policy:
    """As it stands: every measure gets what `--sample` says, and any failure is raised."""

    pairs = False
    """Whether every two sources are compared where no reference is named."""

    def __init__(self, settings: Settings, reporter: Reporter) -> None:
        self.settings, self.reporter = settings, reporter

    def unable(self, metric: Metric, options: Any, problem: RoteError) -> Any:
        """What is left of a measure that cannot work, noticed before the reading; None: nothing."""
        raise problem

    def seen(self, read: ReadTexts) -> ReadTexts:
        """Told when the texts are read, to look at them."""
        return read

    def count(self, metric: Metric) -> int | None:
        """How many texts of each source a measure gets; None: all."""
        return self.settings.sample

    def add_result(self, result: Result, tests: Tests, part: CollectedTexts) -> None:
        """Told of each result."""

    def failed(self, metric: Metric, problem: RoteError) -> None:
        raise problem


def select_possible(
    chosen: Sequence[Chosen], texts: Corpus | Store, policy: Policy
) -> list[Chosen]:
    """The measures that can work on these texts; a wrong name must not cost minutes of reading."""
    if not chosen:
        return []
    if policy.settings.reference == EACH:
        for metric, _ in chosen:
            if not metric.tested:
                raise OptionError(
                    f"{metric.name} compares sources with one reference, given by --reference: "
                    "'each' is for measures that test all pairs of sources"
                )
    possible = []
    signature = layer_signatures(_needs(chosen), policy.settings, texts)[None]
    for metric, options in chosen:
        while options is not None:
            try:
                why = metric.needs_reference(options)
                if why and policy.settings.reference is None:
                    raise OptionError(why)
                if metric.check:
                    metric.check(options, signature)
            except RoteError as problem:
                options = policy.unable(metric, options, problem)
            else:
                possible.append((metric, options))
                break
    return possible


def measure_all(
    chosen: Sequence[Chosen], texts: Corpus | Store, policy: Policy, *, inputs: str | None
) -> None:
    """Read the texts for these measures and take them, two at once; `inputs` is the field of what
    the texts were made from, where that is to be measured too."""
    settings, reporter = policy.settings, policy.reporter
    needs = _needs(chosen)
    signatures = layer_signatures(needs, settings, texts)
    collected = collect_texts(
        texts,
        needs,
        settings=settings,
        inputs=inputs,
        engine=run.get(settings.engine, settings.jobs),
        reporter=reporter,
        languages=any(needs_language(metric, options) for metric, options in chosen),
    )
    _check_inputs(collected, inputs)
    read = policy.seen(ReadTexts(collected, signatures))
    most = max(map(len, read.collected.groups.values()))
    tested = sum(count_tests(metric, options, settings) for metric, options in chosen)
    each = _pairs_are_compared(read.collected, policy)
    steps = Steps(len(chosen))

    def begin(number: int, metric: Metric, options: Any) -> Callable[[], MeasuredPart]:
        count, settings = policy.count(metric), policy.settings
        settings = replace(settings, reference=EACH) if each and metric.tested else settings
        # What nobody asked to be drawn at random is drawn alike every time.
        seed = settings.seed if settings.sample else 0
        part = read.part(count, inputs=metric.inputs, seed=seed)
        drawn = count if count is not None and (count < most or settings.sample) else None

        def measure() -> MeasuredPart:
            result, tests = measure_facets(
                metric,
                options,
                part,
                settings=replace(settings, sample=drawn),
                tokenizers=read.signatures,
                reporter=Step(reporter, number, steps),
                tests_of_source=tested,
                store=texts if isinstance(texts, Store) else None,
            )
            return result, tests, part

        return measure

    begun = [begin(number, *choice) for number, choice in enumerate(chosen, 1)]
    # A model that measures ask runs by itself.
    asks_model = any(getattr(options, "model", None) for _, options in chosen)
    with nullcontext() if asks_model else run.one_blas_thread():
        for (metric, _), measured in zip(chosen, _measure_at_once(begun, settings.jobs, steps)):
            try:
                policy.add_result(*measured())
            except RoteError as problem:
                policy.failed(metric, problem)
            steps.first += 1


def _measure_at_once(
    measures: Sequence[Callable[[], MeasuredPart]], jobs: int, steps: Steps
) -> Iterator[Callable[[], MeasuredPart]]:
    """What gives each result, as soon as it is there; others go on meanwhile."""
    if min(jobs, len(measures)) == 1:
        yield from measures
        return
    pool = ThreadPoolExecutor(MEASURES_AT_ONCE)
    try:
        for future in [pool.submit(measure) for measure in measures]:
            future.exception()
            yield future.result
    finally:
        steps.stopped = True
        pool.shutdown(cancel_futures=True)


def _pairs_are_compared(collected: CollectedTexts, policy: Policy) -> bool:
    """Whether no reference is named, and all pairs of sources are few enough to compare."""
    if not policy.pairs or policy.settings.reference is not None:
        return False
    sources = [name for name in collected.groups if not is_input(name)]
    most = max(len(facet.names) for facet in facets(sources, EACH))
    if most > MAX_SOURCES:
        policy.reporter.say(
            f"{most} sources and no --reference: the {most * (most - 1) // 2:,} pairs are not "
            "compared. Name a reference, or use `--reference each` to compare all pairs"
        )
    return 1 < most <= MAX_SOURCES and not any(EACH in name.split(JOINT) for name in sources)


def _check_inputs(collected: CollectedTexts, field: str | None) -> None:
    """Of a field that was named, some record must have a text; `document` need not be there."""
    if field in (None, Settings().inputs) or any(map(is_input, collected.groups)):
        return
    raise OptionError(
        f"--inputs names the field '{field}', but no record has a text there (fields: "
        f"{', '.join(sorted(collected.fields)) or 'none'})"
    )


def count_tests(metric: Metric, options: Any, settings: Settings) -> int:
    """How many tests a source may have in a measure, with those at equal size."""
    if not metric.tested:
        return 0
    tested = {value.name for value in metric.values(options) if value.tested}
    matched = settings.matched and metric.match is not None
    return len(tested) + (len(tested & set(compared_names(metric, options))) if matched else 0)


def _needs(chosen: Sequence[Chosen]) -> list[Need]:
    return [need for metric, options in chosen for need in metric.needs(options)]


def open_corpus_or_store(inputs: Input, read: ReadOptions) -> Corpus | Store:
    """A store if that is what the one path names, else a corpus."""
    only = inputs[0] if isinstance(inputs, list) and len(inputs) == 1 else inputs
    if isinstance(only, (str, Path)) and is_store(Path(only)):
        if read.where or read.join:
            raise OptionError(
                f"{only} is a store: give --where and --join to `rote annotate` when creating it"
            )
        return open_store(Path(only))
    return open_corpus(inputs, read)


def read_first_fields(texts: Corpus | Store) -> tuple[str, ...]:
    if isinstance(texts, Store):
        batches = (texts.piece(file)[0] for file in texts.files)
        documents = (document for batch in batches for document in batch.documents)
        return next((tuple(document.meta) for document in documents), ())
    return next((tuple(document.meta) for document in texts), ())


def layer_signatures(
    needs: Sequence[Need], settings: Settings, texts: Corpus | Store
) -> dict[str | None, str]:
    """Tokenizer name -> signature; None stands for whatever gives the user's own words."""
    tokenizers = {need.tokenizer for need in needs} - {None}
    signatures: dict[str | None, str] = {
        name: words.get(str(name)).signature for name in tokenizers
    }
    layers = annotated_layers(needs)
    if isinstance(texts, Store):
        _check_known(layers, ("word", *DERIVED, *texts.layers), f"the store {texts.path}")
        return {**signatures, None: texts.signature}
    if not uses_annotator(settings, needs):
        return {**signatures, None: words.get(settings.tokenizer).signature}
    # Of those for single languages each source is told (`_languages.py`).
    annotator = annotators.get(by_language(settings.annotator, annotators.DEFAULT)[""])
    _check_known(layers, annotator.gives, f"the annotator '{annotator.name}'")
    if settings.tokenizer != words.DEFAULT:
        raise OptionError(
            f"the layers {', '.join(layers)} come with the words of the annotator "
            f"'{annotator.name}': leave out --tokenizer"
        )
    return {**signatures, None: annotator.signature}


def _check_known(layers: Sequence[str], known: Sequence[str], giver: str) -> None:
    for name in layers:
        if name not in known:
            raise UnknownName(f"layer of {giver}:", name, known)


def report_reading(collected: CollectedTexts, settings: Settings, reporter: Reporter) -> None:
    """What was skipped, and what the user may have meant."""
    for line in collected.problems.listed():
        reporter.say(line)
    groups, texts = len(collected.groups), sum(map(len, collected.groups.values()))
    if settings.by and groups > _MANY_SOURCES and texts < 2 * groups:
        reporter.say(
            f"--by {','.join(settings.by)} makes {groups:,} sources of {texts:,} texts, so most "
            "have a single text: does the field number the texts? A source is who wrote them"
        )
    if not settings.by and len(collected.groups) == 1 and "source" in collected.fields:
        reporter.say("the records have a field 'source': compare by it with --by source")


def check_read(collected: CollectedTexts, settings: Settings) -> None:
    """A reference must be there, and be more than one text."""
    if not collected.groups:
        remedy = "See the skipped input listed above"
        raise InputError("no texts left to measure", remedy=remedy)
    for facet in check_reference(collected, settings):
        if len(collected.groups[str(facet.reference)]) < 2:
            raise OptionError(
                f"the reference '{facet.reference}' has only one text, but a comparison needs at "
                "least two. Choose another with --reference, or check the field of --by"
            )
