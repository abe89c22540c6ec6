"""From inputs to results: read once, then run every measure that was asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rote.annotate import words
from rote.core import plugins
from rote.core.compiling import say_if_compiling
from rote.core.errors import InputError, OptionError, UnknownName
from rote.core.metric import Metric
from rote.core.progress import Reporter, Silent
from rote.core.result import Result
from rote.corpus import Input, ReadOptions, open_corpus
from rote.measure._collect import Collected, collect
from rote.measure._settings import Settings
from rote.measure._study import Study, measure

_SHOWN_PROBLEMS = 20


def compute(
    measures: Mapping[str, Any],
    inputs: Input,
    *,
    settings: Settings | None = None,
    read: ReadOptions | None = None,
    reporter: Reporter | None = None,
) -> list[Result]:
    """Measure name -> its options object; the results come in the same order."""
    settings, read, reporter = settings or Settings(), read or ReadOptions(), reporter or Silent()
    metrics: dict[str, Metric] = {name: plugins.load("measure", name).METRIC for name in measures}
    needs = [need for name, options in measures.items() for need in metrics[name].needs(options)]
    # Looked up before the reading starts: a wrong name must not cost minutes.
    names = {need.tokenizer for need in needs} | {None}
    tokenizers = {name: words.get(name or settings.tokenizer).signature for name in names}

    say_if_compiling(reporter)
    corpus = open_corpus(inputs, read)
    for line in corpus.guesses:
        reporter.say(line)
    collected = collect(
        corpus,
        needs,
        tokenizer=settings.tokenizer,
        by=settings.by,
        jobs=settings.jobs,
        reporter=reporter,
    )
    _tell(collected, settings, reporter)
    _check(collected, settings)
    if settings.sample is not None:
        collected = collected.sampled(settings.sample, settings.seed)
    study = Study(
        sample=collected.sample,
        groups=collected.groups,
        strata=collected.strata,
        ids=collected.ids,
        settings=settings,
        tokenizers=tokenizers,
        fingerprint=collected.fingerprint,
        reporter=reporter,
    )
    return [measure(metrics[name], options, study) for name, options in measures.items()]


def _tell(collected: Collected, settings: Settings, reporter: Reporter) -> None:
    """What was skipped, and what the user may have meant."""
    problems = collected.problems
    if len(problems):
        reporter.say(f"skipped {len(problems):,} record{'s' * (len(problems) != 1)}:")
        for problem in list(problems)[:_SHOWN_PROBLEMS]:
            reporter.say(f"  {problem}")
        if len(problems) > _SHOWN_PROBLEMS:
            reporter.say(f"  ... and {len(problems) - _SHOWN_PROBLEMS:,} more")
    if not settings.by and len(collected.groups) == 1 and "source" in collected.fields:
        reporter.say("the records have a field 'source': --by source compares what it names")


def _check(collected: Collected, settings: Settings) -> None:
    """A reference must be there, and be more than one text."""
    if not collected.groups:
        raise InputError(
            "no text is left to measure", remedy="Look at what was skipped, listed above"
        )
    reference = settings.reference
    if reference is None:
        return
    if reference not in collected.groups:
        raise UnknownName("reference", reference, collected.groups)
    if len(collected.groups[reference]) < 2:
        raise OptionError(
            f"the reference '{reference}' has only one text: a comparison needs at least two. "
            "Choose another with --reference, or check the field that --by names"
        )
