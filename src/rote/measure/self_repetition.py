"""Phrase reuse across texts: n-grams of a text that others have too (self-repetition).

The self-repetition score of Salkar et al. (2022) as Shaib et al. (2024) use it: the
mean over texts of ln(1 + s), where s sums, over the text's distinct n-grams, the
number of other texts in the group that hold the n-gram.

Direction: higher is more repetitive. Length: the score grows with the number of
texts, and still more with their length; compare groups of different size by the
values at equal length (as many windows of as many words).

Variants. `exact`: the words of the chosen tokenizer and layer; a text with fewer
than n words has no n-gram and is left out. `package`: as `diversity` 0.3.1: words
split at white space, case kept, and such a text counts as ln(1) = 0.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rote.compare.intervals import shares
from rote.core.arrays import Flags, Floats, Integers
from rote.core.metric import LONGEST_NGRAM, Metric, OptionSet, Value, Values, Work, option
from rote.core.ngrams import Postings, TextGroups, number_ngrams
from rote.core.progress import several
from rote.core.record import Headline
from rote.core.sample import Need, Sample, Take
from rote.measure._text_means import count_note


@dataclass(frozen=True, slots=True)
class Options(OptionSet):
    variant: Literal["exact", "package"] = option(
        "exact", "definition: exact, or as in the diversity package"
    )
    layer: str = option("lower", "layer to count over (variant exact)")
    n: int = option(4, "words in an n-gram", short="-n", least=1, most=LONGEST_NGRAM)

    def signed(self) -> dict[str, Any]:
        """The package brings words of its own."""
        return {"layer": _need(self).layer}


@dataclass(frozen=True, slots=True)
class Rows:
    """The length of each text, and which texts hold an n-gram that several do."""

    lengths: Integers
    postings: Postings


def values(options: Options) -> tuple[Value, ...]:
    return (
        Value("self_repetition", f"self-repetition of {options.n}-grams", "repetitive", "both"),
    )


def needs(options: Options) -> tuple[Need, ...]:
    return (_need(options),)


def rows(sample: Sample, options: Options, work: Work) -> Rows:
    layer = sample.layer(_need(options))
    starts, ends = layer.text_starts, layer.text_ends
    kinds = len(layer.vocabulary)
    *_, (n, numbers, repeated, _) = number_ngrams(layer.ids, starts, ends, kinds, options.n)
    work.progress(0.8)
    postings = Postings.build(numbers, starts, ends, n, repeated, counted=False)
    work.progress(1.0)
    return Rows(ends - starts, postings)


def reduce(rows: Rows, take: Take, options: Options, rng: np.random.Generator) -> Values:
    counted = take if options.variant == "package" else take[rows.lengths[take] >= options.n]
    if not len(counted):
        return {"self_repetition": np.nan}
    summed = rows.postings.elsewhere(TextGroups.of([counted]))
    return {"self_repetition": float(np.mean(np.log1p(summed)))}


def many(
    rows: Rows, takes: Sequence[Take], names: Collection[str], options: Options
) -> dict[str, Floats]:
    """`reduce` of many groups: n-grams are counted in all of them at once."""
    groups, sizes = TextGroups.of(takes), np.array([len(take) for take in takes])
    elsewhere = rows.postings.elsewhere(groups)
    # Sums are small as a rule, so that a table is quicker; that of a text without n-grams is 0.
    top = int(elsewhere.max(initial=0))
    table = np.log1p(np.arange(top + 1)) if top < len(elsewhere) else None
    logs = np.log1p(elsewhere) if table is None else table[elsewhere]
    summed = np.bincount(np.repeat(np.arange(len(takes)), sizes), logs, len(takes))
    (long_enough,) = groups.sums(rows.lengths >= options.n)
    counted = sizes if options.variant == "package" else long_enough
    return {"self_repetition": shares(summed, counted)}


def contributions(rows: Rows, take: Take, options: Options) -> Mapping[str, Floats]:
    """How often all these texts, whatever their source, hold the n-grams of each."""
    logs = np.log1p(rows.postings.elsewhere(TextGroups.of([take])))
    if options.variant != "package":
        logs[rows.lengths[take] < options.n] = np.nan
    return {"self_repetition": logs}


def undefined(rows: Rows, options: Options) -> Mapping[str, Flags]:
    if options.variant == "package":  # they count as 0
        return {}
    return {"self_repetition": rows.lengths < options.n}


def notes(rows: Rows, take: Take, options: Options) -> list[str]:
    done = "counted as 0: " if options.variant == "package" else "left out: "
    return count_note(
        rows.lengths[take] < options.n, f"texts with fewer than {several(options.n, 'word')}", done
    )


def _need(options: Options) -> Need:
    return Need("word", "whitespace") if options.variant == "package" else Need(options.layer)


def method(s: Mapping[str, str]) -> str:
    return (
        "Self-repetition is the mean over texts of ln(1 + s), where s sums over the different "
        f"{s['n']}-grams of a text how many other texts of its source hold them"
    )


METRIC = Metric(
    name="self-repetition",
    title="Phrase reuse across texts",
    values=values,
    needs=needs,
    options=Options,
    rows=rows,
    reduce=reduce,
    many=many,
    citation=(
        "Salkar, Trikalinos, Wallace and Nenkova (2022), Self-Repetition in Abstractive Neural "
        "Summarizers; Shaib, Barrow, Sun, Siu, Wallace and Nenkova (2024), Standardizing the "
        "Measurement of Text Diversity: A Tool and a Comparative Analysis of Scores"
    ),
    match="words",
    undefined=undefined,
    contributions=contributions,
    notes=notes,
    says="How much of a text recurs in other texts of its source.",
    section="diversity",
    place=50,
    panel=({},),
    main=("self_repetition",),
    headlines=(
        Headline(
            "self_repetition",
            "reuses more phrases across texts",
            "reuses fewer phrases across texts",
            ratio=False,
        ),
    ),
    method=method,
)
