"""Similarity between texts: ROUGE-L and BLEU of all pairs (homogenization).

The homogenization score of Padmakumar and He (2024) as Shaib et al. (2024) use it: the
mean over pairs of texts of ROUGE-L F, 2 LCS / (length + length), and the mean over
ordered pairs of sentence BLEU-4 (smoothing `exp`, effective order, on a scale of 0
to 1, as sacrebleu's `sentence_bleu`).

Direction: higher is more repetitive. Length: the mean does not depend on how many
texts there are, but longer texts score higher: compare groups of different length by
the values at equal length. Texts without words are left out.

All pairs of up to `KEPT_TEXTS` texts are kept in memory and any group is summed
from them. Beyond that, each group's pairs are scored when first asked for, and
permutation tests are not possible (`Rows.resamplable`).

Variants. `exact`: the words of the chosen tokenizer and layer. `package`: ROUGE-L
as `diversity` 0.3.1: the words of rouge-score, a text without words scores 0 with
all others, and where no pair has anything in common the value is 1.0 (the package
takes a sum of 0 for texts that are all the same); left unrounded here. BLEU is
not given: the package downloads its scorer at run time and divides a corpus BLEU by
the number of pairs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Literal, TypeAlias

import numpy as np

from rote.compare.intervals import pair_mean_error
from rote.core.arrays import Flags, Floats, Integers
from rote.core.errors import OptionError, UnknownName
from rote.core.layer import Ids, Offsets
from rote.core.metric import Metric, Value, Values, Work, check_options, members, option, owners
from rote.core.ngrams import number_ngrams, shared_sets
from rote.core.record import Headline
from rote.core.sample import Need, Sample, Take
from rote.measure import _pair_kernels as kernels
from rote.measure._text_means import count_note
from rote.run import side_by_side

SCORES = {"rouge_l": "mean ROUGE-L of pairs", "bleu": "mean BLEU of pairs"}
KEPT_TEXTS = 5_000
ROWS_AT_A_TIME = 32
BLEU_VERSIONS = 4
"""Of how many of a text's windows BLEU is taken: each means scoring all pairs again."""

Ngrams: TypeAlias = tuple[Ids, Ids, Offsets, int]
"""Of one n: the n-grams that several texts hold, text after text; counts; ends; kinds."""


@dataclass(frozen=True, slots=True)
class Options:
    variant: Literal["exact", "package"] = option(
        "exact", "definition: exact, or as in the diversity package"
    )
    layer: str = option("lower", "layer to compare (variant exact)")
    scores: tuple[str, ...] = option(("rouge_l", "bleu"), "scores, one value each: rouge_l, bleu")
    max_texts: int = option(
        10_000,
        "maximum number of texts per group; larger groups are sampled",
        least=2,
        most=100_000,
    )

    def __post_init__(self) -> None:
        check_options(self)
        for score in self.scores:
            if score not in SCORES:
                raise UnknownName("score", score, SCORES)
        if not given(self):
            raise OptionError("scores must name rouge_l, or bleu (not in variant package)")

    def signed(self) -> dict[str, Any]:
        """The package brings words of its own, and has no BLEU."""
        return {"layer": _need(self).layer, "scores": given(self)}


@dataclass(frozen=True, slots=True)
class Texts:
    """The words of all texts and, for BLEU, their n-grams (`_ngram_kernels.shared_sets`)."""

    ids: Ids
    starts: Offsets
    ends: Offsets
    kinds: int
    ngrams: tuple[Ngrams, ...]

    @property
    def lengths(self) -> Integers:
        return self.ends - self.starts


@dataclass(frozen=True, slots=True)
class Rows:
    """The scores of the pairs that groups may hold, or what is needed to score those of a group.

    `sources`: by text the number of its source, 0 for all where every two are compared. A group
    holds texts of one source, or of one and of the `reference`; no other pairs are scored.
    """

    texts: Texts
    sources: Integers
    reference: int
    pairs: dict[str, Floats]
    resamplable: bool
    threads: int
    scored: dict[bytes, dict[str, Floats]] = field(default_factory=dict)
    lock: Any = field(default_factory=Lock)


def given(options: Options) -> tuple[str, ...]:
    """Names of the values that these options lead to."""
    package = options.variant == "package"
    return tuple(name for name in options.scores if not (package and name == "bleu"))


def values(options: Options) -> tuple[Value, ...]:
    titles = {name: SCORES[name] for name in given(options)}
    return tuple(Value(n, title, "repetitive", "length", share=True) for n, title in titles.items())


def needs(options: Options) -> tuple[Need, ...]:
    return (_need(options),)


def rows(sample: Sample, options: Options, work: Work) -> Rows:
    """Scores of all pairs where they can be kept. Threads change the time, not the result."""
    return blend([sample], options, work)


def blend(windows: Sequence[Sample], options: Options, work: Work) -> Rows:
    """Two texts are scored in one of several windows, and in another with the next text: over all
    pairs, each text shows every window."""
    names = given(options)
    versions = [_texts(sample, options) for sample in windows]
    texts, count = versions[0], len(windows[0])
    # Where labels are exchanged between any two sources, all pairs are scored.
    every = work.each and work.across
    sources = np.zeros(count, np.int64) if every else owners(work.sources(count), count)
    mixed = work.reference is not None and work.across
    reference = list(work.groups).index(work.reference or "") if mixed else -1
    if count > KEPT_TEXTS:
        work.progress(1.0)
        return Rows(texts, sources, reference, {}, resamplable=False, threads=work.jobs)
    pairs = {name: np.empty(count * (count - 1) // 2) for name in names}
    order = _scoring_order(versions, np.arange(count), sources)
    score = _scorer(versions, order, names, sources, reference)
    for first, block in _scored_blocks(score, count, work.jobs):
        for name, scores in block.items():
            kernels.keep_rows(pairs[name], scores, first, order)
        remaining = max(count - first - ROWS_AT_A_TIME, 0)
        work.progress(1.0 - (remaining / count) ** 2)
    return Rows(texts, sources, reference, pairs, resamplable=True, threads=work.jobs)


def reduce(rows: Rows, take: Take, options: Options, rng: np.random.Generator) -> Values:
    chosen = _chosen(rows, take, options)
    count = len(chosen)
    if count < 2:
        return dict.fromkeys(given(options), np.nan)
    values = {
        name: float(sums.sum() / (count * (count - 1)))
        for name, sums in _sums(rows, chosen, options).items()
    }
    if options.variant == "package" and values["rouge_l"] == 0:
        values["rouge_l"] = 1.0
    return values


def many(
    rows: Rows, takes: Sequence[Take], names: Collection[str], options: Options
) -> dict[str, Floats]:
    """`reduce` of many groups: each pair is looked at once for all of them."""
    every, membership = members([_chosen(rows, take, options) for take in takes])
    counts = membership.sum(axis=0)
    pairs = np.where(counts > 1, counts * (counts - 1) / 2, np.nan)
    values = {}
    for name in (name for name in given(options) if name in names):
        sums = kernels.pair_sums(rows.pairs[name], len(rows.sources), every, membership)
        values[name] = sums / pairs
        if options.variant == "package":
            values[name][values[name] == 0] = 1.0
    return values


def standard_errors(rows: Rows, take: Take, options: Options) -> Values:
    chosen = _chosen(rows, take, options)
    return {name: pair_mean_error(sums) for name, sums in _sums(rows, chosen, options).items()}


def undefined(rows: Rows, options: Options) -> Mapping[str, Flags]:
    if options.variant == "package":  # they count as 0
        return {}
    return dict.fromkeys(given(options), rows.texts.lengths == 0)


def notes(rows: Rows, take: Take, options: Options) -> list[str]:
    empty, package = rows.texts.lengths[take] == 0, options.variant == "package"
    done = "scored 0 with all others: " if package else "left out: "
    lines = count_note(empty, "texts without words", done)
    remaining = len(take) - (0 if package else int(empty.sum()))
    if remaining > (most := options.max_texts):
        drawn = f"{most:,} texts drawn at random from {remaining:,}"
        lines.append(f"all pairs of {drawn} (max_texts)")
    if remaining < 2:
        lines.append("fewer than two texts: no pairs to compare")
    return lines


def _need(options: Options) -> Need:
    return Need("word", "rouge") if options.variant == "package" else Need(options.layer)


def _chosen(rows: Rows, take: Take, options: Options) -> Take:
    sources = np.unique(rows.sources[take])
    if np.count_nonzero(sources != rows.reference) > 1:
        raise ValueError("a group of several sources: its pairs are not scored")
    chosen = take if options.variant == "package" else take[rows.texts.lengths[take] > 0]
    if len(chosen) <= options.max_texts:
        return chosen
    rng = np.random.default_rng(0)
    return np.sort(rng.choice(chosen, options.max_texts, replace=False))


def _sums(rows: Rows, chosen: Take, options: Options) -> dict[str, Floats]:
    """By score: the sum of each chosen text's scores with the other chosen ones."""
    if rows.resamplable:
        count = len(rows.texts.starts)
        return {name: kernels.row_sums(pairs, count, chosen) for name, pairs in rows.pairs.items()}
    key = hashlib.blake2b(chosen.tobytes()).digest()
    with rows.lock:  # the value and its error ask for the same sums: score the pairs once
        if key not in rows.scored:
            sums = {name: np.zeros(len(chosen)) for name in given(options)}
            order = _scoring_order([rows.texts], chosen, rows.sources)
            names = tuple(sums)
            score = _scorer([rows.texts], chosen[order], names, rows.sources, rows.reference)
            for first, block in _scored_blocks(score, len(chosen), rows.threads):
                for name, scores in block.items():
                    sums[name][order[first : first + len(scores)]] += scores.sum(axis=1)
                    sums[name][order] += scores.sum(axis=0)
            rows.scored[key] = sums
        return rows.scored[key]


def _scored_blocks(
    score: Callable[[int], dict[str, Floats]], count: int, threads: int
) -> Iterator[tuple[int, dict[str, Floats]]]:
    """Blocks of rows of the pair matrix in order, whatever the number of threads."""
    firsts = list(range(0, count, ROWS_AT_A_TIME))
    # A few blocks ahead of the reader, so that memory does not fill with rows.
    for begin in range(0, len(firsts), 4 * threads):
        part = firsts[begin : begin + 4 * threads]
        yield from zip(part, side_by_side(score, part, threads))


def _scoring_order(versions: Sequence[Texts], chosen: Take, sources: Integers) -> Integers:
    """An order of the chosen texts in which those that are scored at once stand together: those of
    one version, of one source, of similar length."""
    lengths = versions[0].lengths[chosen]
    return np.lexsort((lengths, sources[chosen], chosen % len(versions)))


def _scorer(
    versions: Sequence[Texts],
    chosen: Take,
    names: tuple[str, ...],
    sources: Integers,
    reference: int,
) -> Callable[[int], dict[str, Floats]]:
    """A function that scores the block of rows that starts at the given text."""
    from rote.measure._subsequences import rouge_rows

    offset = np.cumsum([0, *(len(texts.ids) for texts in versions[:-1])])
    ids = np.concatenate([texts.ids for texts in versions])
    starts = np.stack([texts.starts[chosen] + at for texts, at in zip(versions, offset)])
    ends = np.stack([texts.ends[chosen] + at for texts, at in zip(versions, offset)])
    few = versions[:: max(1, len(versions) // BLEU_VERSIONS)][:BLEU_VERSIONS]
    lists = [[kernels.invert(*ngrams, chosen) for ngrams in texts.ngrams] for texts in few]

    def score(first: int) -> dict[str, Floats]:
        last = min(first + ROWS_AT_A_TIME, len(chosen))
        by_name = {}
        if "rouge_l" in names:
            words = (ids, starts, ends, versions[0].kinds, chosen)
            by_name["rouge_l"] = rouge_rows(*words, sources[chosen], reference, first, last)
        if "bleu" in names:
            for number, (texts, parts) in enumerate(zip(few, lists)):
                matches = np.stack([kernels.match_rows(*part, first, last) for part in parts])
                scores = kernels.bleu_rows(matches, texts.lengths[chosen], first)
                if number == 0:
                    by_name["bleu"] = scores
                    continue
                pair = np.add.outer(chosen[first:last], chosen)
                by_name["bleu"] = np.where(pair % len(few) == number, scores, by_name["bleu"])
        return by_name

    return score


def _texts(sample: Sample, options: Options) -> Texts:
    layer = sample.layer(_need(options))
    starts, ends, kinds = layer.text_starts, layer.text_ends, len(layer.vocabulary)
    if "bleu" not in given(options):
        return Texts(layer.ids, starts, ends, kinds, ())
    numbered = number_ngrams(layer.ids, starts, ends, kinds, kernels.BLEU_LENGTHS)
    ngrams = (shared_sets(numbers, starts, ends, n, again) for n, numbers, again, _ in numbered)
    return Texts(layer.ids, starts, ends, kinds, tuple(ngrams))


def contributions(rows: Rows, take: Take, options: Options) -> Mapping[str, Floats]:
    sums = _sums(rows, take, options)
    return {name: column / max(len(take) - 1, 1) for name, column in sums.items()}


METRIC = Metric(
    name="homogenization",
    title="Similarity between texts",
    values=values,
    needs=needs,
    options=Options,
    rows=rows,
    reduce=reduce,
    citation=(
        "Padmakumar and He (2024), Does Writing with Language Models Reduce Content Diversity?; "
        "Shaib, Barrow, Sun, Siu, Wallace and Nenkova (2024), Standardizing the Measurement of "
        "Text Diversity: A Tool and a Comparative Analysis of Scores"
    ),
    match="words",
    standard_errors=standard_errors,
    many=many,
    undefined=undefined,
    blend=blend,
    contributions=contributions,
    notes=notes,
    says="How similar the texts of a source are to each other.",
    section="diversity",
    place=60,
    panel=({},),
    main=("rouge_l",),
    headlines=(
        Headline("rouge_l", "has texts that are more similar", "has texts that are less similar"),
    ),
    method=lambda settings: (
        "The similarity between texts (homogenization) is the mean over pairs of texts of a source "
        "of ROUGE-L F and of sentence BLEU"
    ),
)
