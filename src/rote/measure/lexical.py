"""Words, how varied: Unique-n, n-gram diversity, TTR, MATTR, MTLD, HD-D, PATTR, entropy.

Unique-n is the lexical diversity of Guo, Shang and Clavel (2025): distinct / total over a
fixed number of n-grams drawn from the group's texts. MATTR, MTLD and HD-D are
taken of each text and averaged, as `lexicalrichness` computes them. PATTR, after Deshpande et
al. (2025), where a target length L is given: different words / (words + |words - L|), the mean
over texts; a text is charged for every word that it is too long or too short.

Direction: higher is more diverse, for every value. Length: Unique-n, TTR, n-gram
diversity and entropy move with the number of texts and with their length, MTLD, HD-D, PATTR
and MATTR with their length alone: MATTR and HD-D leave out texts that are shorter than their
window, and those that are left differ from the rest. Compare groups of different size by the
values at equal length, where that window has at most the words compared. Punctuation marks count
as words, as tokenizers give them.

Variants. `exact`: the words of the chosen tokenizer and layer. `paper`: all
values on the words of that paper's program (tokenizer `guo-2025`). `package`: only
`ngram_diversity`, as `diversity` 0.3.1 has it: split at single spaces, all texts
joined, n-grams running across the joints; left unrounded here.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rote.compare.intervals import mean, mean_error, shares
from rote.core.arrays import Flags, Floats, Integers
from rote.core.errors import OptionError
from rote.core.layer import Ids, Offsets, items_of, layer_words
from rote.core.metric import (
    LONGEST_NGRAM,
    Metric,
    Progress,
    Value,
    Values,
    Work,
    check_options,
    option,
)
from rote.core.ngrams import Postings, TextGroups, number_ngrams
from rote.core.progress import several
from rote.core.record import Headline
from rote.core.sample import Cut, Need, Sample, Take
from rote.measure import _lexical_kernels as kernels
from rote.measure._text_means import count_note

UNIQUE_LENGTHS = (1, 2, 3)
SHORT_FOR_MTLD = 50
TEXTS_AT_A_TIME = 20_000
NUMBERED = 4_000_000
"""Up to so many words all n-grams that Unique-n draws have numbers, 12 bytes a word."""
_BITS = [count * math.log2(count) if count else 0.0 for count in range(4_096)]
"""What a word that stands so often adds to the entropy, for most words."""
_NEVER = 40.0
"""An n-gram that should be drawn so often is missed once in 10^17 draws: never."""


@dataclass(frozen=True, slots=True)
class Options:
    variant: Literal["exact", "paper", "package"] = option(
        "exact",
        "definition: exact, on the paper's tokens, or as in the diversity package",
    )
    layer: str = option("lower", "layer to count over (variant exact)")
    sample_ngrams: int = option(
        40_000, "n-grams drawn for each Unique-n; all if there are fewer", least=1
    )
    ngram_max: int = option(
        4, "longest n-gram in ngram_diversity; 0: leave it out", least=0, most=LONGEST_NGRAM
    )
    window: int = option(50, "words in a window of MATTR", least=1, most=1_000_000, window=True)
    threshold: float = option(0.72, "type-token ratio that ends a factor of MTLD", above=0, below=1)
    draws: int = option(
        42, "words drawn from a text for HD-D", least=1, most=1_000_000, window=True
    )
    target_length: int | None = option(
        None,
        "target length in words, for PATTR",
        least=1,
        sign=lambda value: value,
        most=1_000_000,
    )
    punctuation: bool = option(
        True,
        "count punctuation as words, as tokenized",
        sign=lambda counted: None if counted else "no",
    )

    def __post_init__(self) -> None:
        check_options(self)
        if self.variant == "package" and not self.ngram_max:
            raise OptionError("ngram_max must be at least 1: variant package gives nothing else")

    def signed(self) -> dict[str, Any]:
        """Variants bring words of their own."""
        return {"layer": _need(self).layer}


@dataclass(frozen=True, slots=True)
class Rows:
    """The words of all texts as they came, values per text, n-grams of several texts.

    `postings`: by n; with counts where some group may have to draw, and always for n = 1. Those of
    n-grams that are only drawn are left out where there are too many words, and so are `numbers`:
    for n = 1, 2, 3 those of `number_ngrams` by place, and how many there are. `bits`: `_BITS`, up
    to the most frequent word.
    """

    ids: Ids
    starts: Offsets
    ends: Offsets
    kinds: int
    texts: Mapping[str, Floats]
    postings: Mapping[int, Postings]
    numbers: tuple[tuple[Ids, int], ...]
    bits: Floats


def values(options: Options) -> tuple[Value, ...]:
    diversity = Value("ngram_diversity", "n-gram diversity", "diverse", "both")
    if options.variant == "package":
        return (diversity,)
    unique = (
        Value(f"unique_{n}", f"Unique-{n}", "diverse", "both", share=True) for n in UNIQUE_LENGTHS
    )
    return (
        *unique,
        Value("unique", "share of distinct n-grams", "diverse", "both", share=True),
        Value("ttr", "type-token ratio", "diverse", "both", share=True),
        *((diversity,) if options.ngram_max else ()),
        Value("mattr", "MATTR", "diverse", "length", share=True),
        Value("mtld", "MTLD", "diverse", "length"),
        Value("hdd", "HD-D", "diverse", "length", share=True),
        *(
            (Value("pattr", "PATTR", "diverse", "length", share=True),)
            if options.target_length
            else ()
        ),
        Value("entropy", "entropy of words (bits)", "diverse", "both"),
    )


def needs(options: Options) -> tuple[Need, ...]:
    return (_need(options),)


def rows(sample: Sample, options: Options, work: Work) -> Rows:
    layer = sample.layer(_need(options))
    columns = (layer.ids, layer.text_starts, layer.text_ends)
    if not options.punctuation:
        columns = _words_alone(*columns, layer.vocabulary)
    return _rows(*columns, len(layer.vocabulary), options, work.progress)


def sizes(rows: Rows, options: Options) -> Integers:
    return rows.ends - rows.starts


def cut(rows: Rows, windows: Cut, options: Options) -> Rows:
    """Of windows of the words that are counted."""
    starts = rows.starts[windows.texts] + windows.firsts
    ids = rows.ids[(starts[:, None] + np.arange(windows.size)).ravel()]
    ends = np.arange(1, len(starts) + 1, dtype=np.int64) * windows.size
    return _rows(ids, ends - windows.size, ends, rows.kinds, options, lambda share: None)


def _rows(
    ids: Ids, starts: Offsets, ends: Offsets, kinds: int, options: Options, progress: Progress
) -> Rows:
    if options.variant == "package":
        return Rows(ids, starts, ends, kinds, {}, {}, (), np.empty(0))
    share = 0.5 if options.ngram_max > 1 else 1.0
    texts = _texts(ids, starts, ends, kinds, options, lambda done: progress(share * done))
    postings, numbers = _numbered(ids, starts, ends, kinds, options)
    progress(1.0)
    return Rows(ids, starts, ends, kinds, texts, postings, numbers, np.array(_BITS))


def _words_alone(
    ids: Ids, starts: Offsets, ends: Offsets, vocabulary: Sequence[str]
) -> tuple[Ids, Offsets, Offsets]:
    """Without items that hold no letter and no digit."""
    is_word = np.array([any(map(str.isalnum, entry)) for entry in vocabulary], np.bool_)[ids]
    before = np.concatenate((np.zeros(1, np.int64), np.cumsum(is_word, dtype=np.int64)))
    return ids[is_word], before[starts], before[ends]


def reduce(rows: Rows, take: Take, options: Options, rng: np.random.Generator) -> Values:
    if options.variant == "package":
        return {"ngram_diversity": _joined_diversity(rows, take, options.ngram_max)}
    starts, ends = rows.starts, rows.ends
    ttr, entropy = kernels.ttr_and_entropy(rows.ids, starts, ends, take, rows.kinds, rows.bits)
    groups = _Groups(rows, [take])
    values = _draw_unique(groups, options, rng)
    values["ttr"] = float(ttr)
    if options.ngram_max:
        beyond = sum(float(groups.share(n)[0]) for n in _beyond_words(options))
        values["ngram_diversity"] = float(ttr) + beyond
    for name in _of_texts(options):
        values[name] = mean(rows.texts[name][take])
    values["entropy"] = float(entropy)
    return values


def draw(rows: Rows, take: Take, options: Options, rng: np.random.Generator) -> Values:
    """Unique-n alone."""
    return _draw_unique(_Groups(rows, [take]), options, rng)


def _draw_unique(groups: _Groups, options: Options, rng: np.random.Generator) -> Values:
    rows, (take,), values = groups.rows, groups.takes, Values()
    for n in UNIQUE_LENGTHS:
        seed = rng.integers(0, 2**64, dtype=np.uint64)
        few = groups.totals(n)[0] <= options.sample_ngrams
        if few and (n == 1 or n in rows.postings):  # all are used
            values[f"unique_{n}"] = float(groups.share(n)[0])
        else:
            values[f"unique_{n}"] = _unique(rows, take, n, options.sample_ngrams, seed)
    values["unique"] = sum(values.values()) / len(UNIQUE_LENGTHS)
    return values


def resample(rows: Rows, take: Take, options: Options, rng: np.random.Generator) -> Values:
    """A Unique-n that is drawn has its mean over all draws in place of one of them."""
    names = [value.name for value in values(options)]
    return {name: float(column[0]) for name, column in many(rows, [take], names, options).items()}


def many(
    rows: Rows, takes: Sequence[Take], names: Collection[str], options: Options
) -> dict[str, Floats]:
    """`resample` of many groups: n-grams are counted in all of them at once."""
    if options.variant == "package":
        each = [_joined_diversity(rows, take, options.ngram_max) for take in takes]
        return {"ngram_diversity": np.array(each)}
    groups = _Groups(rows, takes)
    values = {name: groups.mean(name) for name in _of_texts(options) if name in names}
    for n in UNIQUE_LENGTHS:
        if {"unique", f"unique_{n}"} & set(names):
            values[f"unique_{n}"] = groups.unique(n, options.sample_ngrams)
    if "unique" in names:
        every = [values[f"unique_{n}"] for n in UNIQUE_LENGTHS]
        values["unique"] = np.asarray(sum(every) / len(UNIQUE_LENGTHS))
    if "ttr" in names:
        values["ttr"] = groups.share(1)
    if "ngram_diversity" in names:
        beyond = [groups.share(n) for n in _beyond_words(options)]
        values["ngram_diversity"] = groups.share(1) + sum(beyond)
    if "entropy" in names:
        values["entropy"] = groups.entropy()
    return {name: column for name, column in values.items() if name in names}


class _Groups:
    def __init__(self, rows: Rows, takes: Sequence[Take]) -> None:
        self.rows, self.takes, self.texts = rows, takes, TextGroups.of(takes)
        self._shares: dict[int, Floats] = {}

    def mean(self, name: str) -> Floats:
        """Of the texts that have the value."""
        column = self.rows.texts[name]
        defined = ~np.isnan(column)
        return shares(*self.texts.sums(np.where(defined, column, 0), defined))

    def totals(self, n: int) -> Floats:
        (totals,) = self.texts.sums(np.maximum(self.rows.ends - self.rows.starts - n + 1, 0))
        return np.asarray(totals)

    def share(self, n: int) -> Floats:
        """Distinct / total over all n-grams; nan where there are none."""
        if n not in self._shares:
            postings = self.rows.postings.get(n)
            if postings is None:
                self._shares[n] = self.words()[:, 0]
            else:
                self._shares[n] = shares(postings.distinct(self.texts), self.totals(n))
        return self._shares[n]

    def words(self) -> Floats:
        """Type-token ratio and entropy one by one, where there are too many words."""
        rows = self.rows
        where, how = (rows.ids, rows.starts, rows.ends), (rows.kinds, rows.bits)
        return np.array([kernels.ttr_and_entropy(*where, take, *how) for take in self.takes])

    def entropy(self) -> Floats:
        postings, totals = self.rows.postings.get(1), self.totals(1)
        if postings is None:
            return self.words()[:, 1]
        counts = np.arange(len(_BITS), max(postings.most + 1, len(_BITS)))
        bits: Floats = np.append(self.rows.bits, counts * np.log2(counts))
        # A word that stands once adds nothing.
        weighted = postings.summed(self.texts, bits[None], np.zeros(len(totals), np.int64))
        with np.errstate(divide="ignore"):
            entropy = np.log2(totals) - shares(weighted, totals)
        return np.maximum(entropy, 0.0)  # which keeps nan

    def unique(self, n: int, limit: int) -> Floats:
        """Unique-n: its mean over all draws where there are more n-grams than are drawn."""
        totals, postings = self.totals(n), self.rows.postings.get(n)
        drawn = totals > limit
        if postings is None or (drawn.any() and len(postings.counts) < len(postings.texts)):
            # Too many words: one draw, the same whenever these texts are asked for.
            return np.array([_unique(self.rows, t, n, limit, np.uint64(0)) for t in self.takes])
        if not drawn.any():
            return self.share(n)
        if drawn.all():
            return self.mean_unique(postings, totals, limit)
        shares, some = self.share(n).copy(), itertools.compress(self.takes, drawn)
        shares[drawn] = _Groups(self.rows, [*some]).mean_unique(postings, totals[drawn], limit)
        return shares

    def mean_unique(self, postings: Postings, totals: Floats, limit: int) -> Floats:
        """The mean of Unique-n over all draws of `limit` n-grams, fewer than any total.

        Of a total of N, an n-gram that stands c times is missed by (N-m)(N-m-1)...(N-m-c+1) in
        N(N-1)...(N-c+1) draws of m.
        """
        sizes, chosen = np.unique(totals, return_inverse=True)
        rate = -math.log1p(-limit / sizes[-1])
        steps = np.arange(min(postings.most, math.ceil(_NEVER / rate)))
        remaining = sizes[:, None] - steps
        missed = np.cumprod(np.maximum(remaining - limit, 0) / np.maximum(remaining, 1), axis=1)
        tables = np.concatenate((np.zeros((len(sizes), 1)), 1 - missed), axis=1)
        (once,) = self.texts.sums(postings.alone)
        return np.asarray(once / totals + postings.summed(self.texts, tables, chosen) / limit)


def random_values(rows: Rows, take: Take, options: Options) -> set[str]:
    """Unique-n of texts with more n-grams than are drawn."""
    if options.variant == "package":
        return set()
    totals = {n: kernels.ngram_total(rows.starts, rows.ends, take, n) for n in UNIQUE_LENGTHS}
    drawn = {f"unique_{n}" for n, total in totals.items() if total > options.sample_ngrams}
    return drawn | ({"unique"} if drawn else set())


def standard_errors(rows: Rows, take: Take, options: Options) -> Values:
    names = _of_texts(options) if options.variant != "package" else ()
    return {name: mean_error(rows.texts[name][take]) for name in names}


def _of_texts(options: Options) -> tuple[str, ...]:
    """The values that are means over texts."""
    return ("mattr", "mtld", "hdd", *(("pattr",) if options.target_length else ()))


def per_text(rows: Rows, options: Options) -> Mapping[str, Floats]:
    return rows.texts


def contributions(rows: Rows, take: Take, options: Options) -> Mapping[str, Floats]:
    """To a mean its text's value; to the different words of a group a text's own share of them."""
    columns = {name: column[take] for name, column in rows.texts.items()}
    return columns | {"unique_1": columns["ttr"]} if "ttr" in columns else columns


def undefined(rows: Rows, options: Options) -> Mapping[str, Flags]:
    if options.variant == "package":  # all texts are read as one
        return {}
    lengths = rows.ends - rows.starts
    flags = {name: np.isnan(column) for name, column in rows.texts.items()}
    flags |= {f"unique_{n}": lengths < n for n in UNIQUE_LENGTHS}
    least = {"unique": max(UNIQUE_LENGTHS), "ngram_diversity": options.ngram_max, "entropy": 1}
    return flags | {name: lengths < words for name, words in least.items()}


def notes(rows: Rows, take: Take, options: Options) -> list[str]:
    lengths = (rows.ends - rows.starts)[take]
    longest = int(lengths.max(initial=0))
    lines = []
    if options.ngram_max and options.variant == "package":
        if lengths.sum() < options.ngram_max:
            few = several(options.ngram_max, "word")
            lines.append(f"fewer than {few}: ngram_diversity is undefined")
        return lines
    totals = {n: int(np.maximum(lengths - n + 1, 0).sum()) for n in UNIQUE_LENGTHS}
    most = options.sample_ngrams
    if fewer := [f"{total:,} for n = {n}" for n, total in totals.items() if total < most]:
        used = f"Unique-n: fewer than {most:,} n-grams, all of them used: "
        lines.append(used + ", ".join(fewer))
    if longest < options.ngram_max:
        lines.append(f"no text of {options.ngram_max} words: ngram_diversity is undefined")
    for name, least in (("mattr", options.window), ("hdd", options.draws)):
        problem = f"texts with fewer than {several(least, 'word')}"
        lines += count_note(lengths < least, problem, f"{name}: left out ")
    lines += count_note(lengths == 0, "texts without words", "mtld: left out ")
    few = f"texts with fewer than {SHORT_FOR_MTLD} words, where it is unstable"
    return lines + count_note((lengths > 0) & (lengths < SHORT_FOR_MTLD), few, "mtld: ")


def _need(options: Options) -> Need:
    if options.variant == "paper":
        return Need("word", "guo-2025")
    if options.variant == "package":
        return Need("word", "spaces")
    return Need(options.layer)


def _texts(
    ids: Ids, starts: Offsets, ends: Offsets, kinds: int, options: Options, progress: Progress
) -> dict[str, Floats]:
    """MATTR, MTLD, HD-D and TTR of every text."""
    columns = {name: np.empty(len(starts)) for name in ("mattr", "mtld", "hdd", "ttr")}
    for first in range(0, len(starts), TEXTS_AT_A_TIME):
        part = slice(first, first + TEXTS_AT_A_TIME)
        words = (ids, starts[part], ends[part], kinds)
        columns["mattr"][part] = kernels.mattr_of_texts(*words, options.window)
        columns["mtld"][part] = kernels.mtld_of_texts(*words, options.threshold)
        columns["hdd"][part] = kernels.hdd_of_texts(*words, options.draws)
        columns["ttr"][part] = kernels.ttr_of_texts(*words)
        progress(min(first + TEXTS_AT_A_TIME, len(starts)) / len(starts))
    if options.target_length:
        lengths = ends - starts
        # nan where there are no words; never 0 / 0, since the target is at least 1.
        penalty = np.abs(lengths - options.target_length)
        columns["pattr"] = np.rint(columns["ttr"] * lengths) / (lengths + penalty)
    return columns


def _numbered(
    ids: Ids, starts: Offsets, ends: Offsets, kinds: int, options: Options
) -> tuple[dict[int, Postings], tuple[tuple[Ids, int], ...]]:
    """The postings of n-grams, and the numbers of those that are drawn."""
    lengths = UNIQUE_LENGTHS if len(ids) <= NUMBERED else ()
    beyond_words = _beyond_words(options)
    last = max((*beyond_words, *lengths), default=0)
    if not last:
        return {}, ()
    postings, by_place = {}, []
    for n, numbers, repeated, _ in number_ngrams(ids, starts, ends, kinds, last):
        if n in beyond_words or n in lengths:
            total = int(np.maximum(ends - starts - n + 1, 0).sum())
            counted = n in lengths and (n == 1 or total > options.sample_ngrams)
            postings[n] = Postings.build(numbers, starts, ends, n, repeated, counted=counted)
        if n in lengths:
            by_place.append((numbers.copy(), repeated))  # the next n overwrites them
    return postings, tuple(by_place)


def _beyond_words(options: Options) -> range:
    """The lengths of n-grams that n-gram diversity counts beside words."""
    return range(2, options.ngram_max + 1)


def _unique(rows: Rows, take: Take, n: int, limit: int, seed: np.uint64) -> float:
    """The share of different n-grams among those drawn."""
    texts = (rows.starts, rows.ends, take)
    if rows.numbers:
        numbers, kinds = rows.numbers[n - 1]
        return float(kernels.numbered_share(numbers, kinds, *texts, n, limit, seed))
    return float(kernels.distinct_share(rows.ids, *texts, n, limit, seed))


def _joined_diversity(rows: Rows, take: Take, longest: int) -> float:
    """N-gram diversity of the chosen texts read as one, as the package reads them."""
    ids = rows.ids[items_of(rows.starts[take], rows.ends[take])[0]]
    if len(ids) < longest:
        return np.nan
    start, end = np.zeros(1, np.int64), np.array([len(ids)], np.int64)
    summed = 0.0
    for n, _, repeated, once in number_ngrams(ids, start, end, rows.kinds, longest):
        summed += (repeated + once) / (len(ids) - n + 1)
    return summed


def method(s: Mapping[str, str]) -> str:
    of = layer_words(s["layer"])
    target = s.get("target_length")
    penalized = (
        f", and so is PATTR (Deshpande et al. 2025; target: {several(int(target), 'word')})"
        if target
        else ""
    )
    return (
        f"Lexical diversity is the share of different n-grams of {of} among "
        f"{int(s['sample_ngrams']):,} drawn from each source (Unique-n, n = 1, 2, 3); MATTR "
        f"(windows of {s['window']} words), MTLD (threshold {s['threshold']}) and HD-D "
        f"({s['draws']} draws) are means over texts{penalized}"
    )


METRIC = Metric(
    name="lexical",
    title="Words",
    values=values,
    needs=needs,
    options=Options,
    without=("threshold", "ngram_max"),
    rows=rows,
    reduce=reduce,
    citation=(
        "Guo, Shang and Clavel (2025), Benchmarking Linguistic Diversity of Large Language "
        "Models; Covington and McFall (2010) for MATTR; McCarthy and Jarvis (2007, 2010) for "
        "HD-D and MTLD"
    ),
    match="words",
    standard_errors=standard_errors,
    resample=resample,
    many=many,
    random_values=random_values,
    draw=draw,
    # Fewer n-grams than Unique-n draws: a draw of windows then has no draw inside it.
    largest=20_000,
    per_text=per_text,
    contributions=contributions,
    undefined=undefined,
    notes=notes,
    sizes=sizes,
    cut=cut,
    says="How varied the words are.",
    section="diversity",
    place=10,
    panel=({},),
    main=("unique",),
    headlines=(Headline("unique", "uses more varied words", "uses less varied words"),),
    method=method,
)
