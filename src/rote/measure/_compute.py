"""From inputs to results: read once, then run every measure that was asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rote.annotate import annotators, words
from rote.annotate.layers import DERIVED
from rote.annotate.script import remarks
from rote.annotate.store import Store, is_store, open_store
from rote.core import plugins
from rote.core.compiling import say_if_compiling
from rote.core.errors import InputError, MissingExtra, OptionError, UnknownName
from rote.core.metric import Metric
from rote.core.progress import Reporter, Silent
from rote.core.result import Result
from rote.core.sample import Need
from rote.corpus import Corpus, Input, ReadOptions, open_corpus
from rote.corpus.items import as_documents, form_of
from rote.measure._collect import Collected, collect
from rote.measure._correct import corrected
from rote.measure._facets import check_reference, measure_facets
from rote.measure._prepare import Fields, Words, own_layers
from rote.measure._settings import Settings

_MANY_SOURCES = 20
Measures = Mapping[str, Any] | Sequence[tuple[str, Any]]


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
    settings, read, reporter = settings or Settings(), read or ReadOptions(), reporter or Silent()
    pairs = list(measures.items() if isinstance(measures, Mapping) else measures)
    chosen: list[tuple[Metric, Any]] = [
        (plugins.load("measure", name).METRIC, options) for name, options in pairs
    ]
    source = Words(settings.tokenizer, settings.annotator)
    texts = _items(chosen, inputs, read, reporter) or opened(inputs, read)
    if any(metric.settle for metric, _ in chosen):
        fields = first_fields(texts)
        chosen = [(m, m.settle(own, fields) if m.settle else own) for m, own in chosen]
    # Looked up before the reading starts: a wrong name must not cost minutes.
    signatures = signatures_of(
        [n for m, options in chosen for n in m.needs(options)], source, texts
    )
    left_out: list[str] = []
    chosen = list(_possible(chosen, signatures[None], left_out if panel else None))
    for line in left_out:
        reporter.say(line)
    needs = [need for metric, options in chosen for need in metric.needs(options)]
    say_if_compiling(
        reporter,
        "rote.annotate._tagger" if source.annotates(needs) else "rote.annotate.words._batch",
    )
    for line in texts.guesses if isinstance(texts, Corpus) else ():
        reporter.say(line)
    collected = collect(
        texts,
        needs,
        words=source,
        fields=Fields(
            settings.by,
            settings.inputs if settings.inputs and all(m.inputs for m, _ in chosen) else None,
            settings.within,
        ),
        jobs=settings.jobs,
        reporter=reporter,
    )
    tell_read(collected, settings, reporter)
    check_read(collected, settings)
    everything = collected
    if settings.sample is not None:
        collected = collected.sampled(settings.sample, settings.seed)
    for wanted in (getattr(options, "highlight", None) for _, options in chosen):
        if wanted is not None:
            _check_highlight(wanted, collected, everything, settings)
    results = corrected(
        [
            measure_facets(
                metric,
                options,
                collected,
                settings=settings,
                tokenizers=signatures,
                reporter=reporter,
            )
            for metric, options in chosen
        ]
    )
    results[0] = _with_copies(results[0], collected)
    noted = (*results[0].notes, *left_out, *remarks(collected.seen))
    results[0] = replace(results[0], notes=noted)
    return results


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
    """Texts that stand there twice make a source look repetitive: said once, with the first."""
    sources = dict(result.sources)
    for source, copies in collected.copies.items():
        if copies:
            found, texts = sources[source], collected.read[source]
            note = f"{copies:,} of {texts:,} texts are copies of another text of this source"
            sources[source] = replace(found, notes=(*found.notes, note))
    return replace(result, sources=sources)


def _possible(
    chosen: Sequence[tuple[Metric, Any]], signature: str, left_out: list[str] | None
) -> Iterator[tuple[Metric, Any]]:
    """The measures that can work here; why others cannot goes to `left_out`, or is raised."""
    for metric, options in chosen:
        try:
            if metric.check:
                metric.check(options, signature)
        except MissingExtra as missing:
            if left_out is None:
                raise
            left_out.append(f"{metric.name} is left out. {missing}")
        else:
            yield metric, options


def _items(
    chosen: Sequence[tuple[Metric, Any]], inputs: Input, read: ReadOptions, reporter: Reporter
) -> Corpus | None:
    """The items of a benchmark, put together, where files hold some and items are looked up."""
    paths = [inputs] if isinstance(inputs, (str, Path)) else inputs
    if not all(metric.items for metric, _ in chosen) or not isinstance(paths, list):
        return None
    if not all(isinstance(path, (str, Path)) and Path(path).exists() for path in paths):
        return None
    named = next((own.items for _, own in chosen if own.items), None)
    files = [Path(path) for path in paths]
    if any(map(is_store, files)) or (form := form_of(files, named)) is None:
        return None
    if read.text_field:
        reporter.say(
            f"these are items of {form}: without --text-field they are put together with each of "
            "their options"
        )
        return None
    skipped: list[InputError] = []
    found = as_documents(files, named, on_error=read.on_error, skipped=skipped)
    reporter.say(f"items of {form}, put together with each of their options (--items texts: not)")
    for problem in skipped:
        reporter.say(f"skipped: {problem}")
    return open_corpus(found, read)


def opened(inputs: Input, read: ReadOptions) -> Corpus | Store:
    """A store if that is what the one path names, else a corpus."""
    only = inputs[0] if isinstance(inputs, list) and len(inputs) == 1 else inputs
    if isinstance(only, (str, Path)) and is_store(Path(only)):
        return open_store(Path(only))
    return open_corpus(inputs, read)


def first_fields(texts: Corpus | Store) -> tuple[str, ...]:
    """What the first record holds."""
    if isinstance(texts, Store):
        batches = (texts.piece(file)[0] for file in texts.files)
        documents = (document for batch in batches for document in batch.documents)
        return next((tuple(document.meta) for document in documents), ())
    return next((tuple(document.meta) for document in texts), ())


def signatures_of(
    needs: Sequence[Need], source: Words, texts: Corpus | Store
) -> dict[str | None, str]:
    """Tokenizer name -> signature; None stands for whatever gives the user's own words."""
    named = {need.tokenizer for need in needs} - {None}
    found: dict[str | None, str] = {name: words.get(str(name)).signature for name in named}
    own = own_layers(needs)
    if isinstance(texts, Store):
        _known(own, ("word", *DERIVED, *texts.layers), f"the store {texts.path}")
        return {**found, None: texts.signature}
    if not source.annotates(needs):
        return {**found, None: words.get(source.tokenizer).signature}
    annotator = annotators.get(source.annotator)
    _known(own, annotator.gives, f"the annotator '{annotator.name}'")
    if source.tokenizer != words.DEFAULT:
        raise OptionError(
            f"the layers {', '.join(own)} come with the words of the annotator '{annotator.name}': "
            "leave out --tokenizer"
        )
    return {**found, None: annotator.signature}


def _known(layers: Sequence[str], given: Sequence[str], giver: str) -> None:
    for name in layers:
        if name not in given:
            raise UnknownName(f"layer of {giver}:", name, given)


def tell_read(collected: Collected, settings: Settings, reporter: Reporter) -> None:
    """What was skipped, and what the user may have meant."""
    for line in collected.problems.listed():
        reporter.say(line)
    groups, texts = len(collected.groups), sum(map(len, collected.groups.values()))
    if settings.by and groups > _MANY_SOURCES and texts < 2 * groups:
        reporter.say(
            f"--by {','.join(settings.by)} makes {groups:,} sources of {texts:,} texts, so that "
            "most are of one text alone: is it a field that numbers the texts? A source is who "
            "wrote them"
        )
    if not settings.by and len(collected.groups) == 1 and "source" in collected.fields:
        reporter.say("the records have a field 'source': --by source compares what it names")


def check_read(collected: Collected, settings: Settings) -> None:
    """A reference must be there, and be more than one text."""
    if not collected.groups:
        raise InputError(
            "no text is left to measure", remedy="Look at what was skipped, listed above"
        )
    for facet in check_reference(collected, settings):
        if len(collected.groups[str(facet.reference)]) < 2:
            raise OptionError(
                f"the reference '{facet.reference}' has only one text: a comparison needs at least "
                "two. Choose another with --reference, or check the field that --by names"
            )
