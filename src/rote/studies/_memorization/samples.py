"""What a model writes after a prefix when it is drawn from, held against what follows there.

For endpoints without log-probabilities, and for what is written nearly: the longest run of words
that a draw shares with the suffix (the best of k draws), how much of the suffix the n-grams of the
draws cover, and how much of the draws occurs in a corpus, asked for or not. Words are what stands
between white space.

The same draws as an attack on membership (Hallinan et al. 2025, The surprising effectiveness of
membership inference with simple n-gram coverage): how alike a draw and the suffix are, by

    coverage         the share of the draw's words in runs of n words or more that the suffix has
    creativity       the sum of that share over n = 2 to 12 (turned: high is copied)
    longest words    words of the longest run that both have
    longest letters  characters of the longest string that both have

and then the largest, mean, median or smallest of the draws; of several windows the mean.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from rote.compare.clusters import mean, numbered
from rote.core.errors import OptionError
from rote.core.model import Continuation, Decoding, Model, Prompt
from rote.core.progress import Reporter
from rote.core.result import Row
from rote.core.table import Column, Pivot, Table, ends, estimate
from rote.index.grams import Grams
from rote.models.answers import generate_all
from rote.search.backends import Backend
from rote.studies._items import Floats, Labels

ATTACKS = {
    "coverage": "coverage",
    "creativity": "creativity",
    "longest_words": "longest run of words",
    "longest_letters": "of letters",
}
AGGREGATES: Mapping[str, Any] = {
    "largest": np.max,
    "mean": np.mean,
    "median": np.median,
    "smallest": np.min,
}
_CREATIVITY = range(2, 13)
ItemScore: TypeAlias = tuple[str, str, Floats]


@dataclass(frozen=True, slots=True)
class Samples:
    """By model, window by draw: the share of the suffix that the longest run has; the share of
    the suffix that the n-grams of the first draws cover; by window, the share of the draws' tokens
    in n-grams of the corpus; what was drawn; and by similarity how alike a draw and its suffix
    are."""

    best: Mapping[str, Floats]
    covered: Mapping[str, Floats]
    held: Mapping[str, Floats]
    texts: Mapping[str, Sequence[Sequence[str]]]
    alike: Mapping[str, Mapping[str, Floats]]


def draw(
    models: Mapping[str, Model],
    wanted: Sequence[Continuation],
    decoding: Decoding,
    count: int,
    n: int,
    backend: Backend | None,
    reporter: Reporter,
) -> Samples:
    """`count` texts after every prefix, each as long as its suffix."""
    if not decoding.sampled:
        raise OptionError("--samples are draws: set a --temperature above 0")
    best, covered, held, drawn, similar = {}, {}, {}, {}, {}
    suffixes = [one.text.split() for one in wanted]
    for name, model in models.items():
        texts = drawn[name] = _written(model, wanted, decoding, count, reporter)
        words = [[text.split() for text in some] for some in texts]
        best[name] = np.array(
            [
                [longest_run(own, suffix) / len(suffix) for own in some]
                for some, suffix in zip(words, suffixes)
            ]
        )
        covered[name] = np.array(
            [
                [coverage(suffix, some[: first + 1], n) for first in range(count)]
                for some, suffix in zip(words, suffixes)
            ]
        )
        similar[name] = alike(texts, [one.text.strip() for one in wanted], n)
        if backend is not None:
            held[name] = in_corpus(texts, backend, n, reporter)
    return Samples(best, covered, held, drawn, similar)


def _written(
    model: Model,
    wanted: Sequence[Continuation],
    decoding: Decoding,
    count: int,
    reporter: Reporter,
) -> list[list[str]]:
    """By the length of the suffix, since a decoding has one."""
    lengths = [max(1, model.length(one.text)) for one in wanted]
    found: list[list[str]] = [[] for _ in wanted]
    for length in sorted(set(lengths)):
        own = [place for place, other in enumerate(lengths) if other == length]
        prompts = [Prompt(wanted[place].context, seed) for place in own for seed in range(count)]
        how = Decoding(length, decoding.temperature, decoding.top_p, decoding.top_k)
        made = generate_all(model, prompts, how, reporter, title="draws")
        for place, first in zip(own, range(0, len(made), count)):
            found[place] = [one.text for one in made[first : first + count]]
    return found


def longest_run(words: Sequence[str], others: Sequence[str]) -> int:
    """Words of the longest run that both have."""
    longest = 0
    before = [0] * (len(others) + 1)
    for word in words:
        row = [0] * (len(others) + 1)
        for place, other in enumerate(others, 1):
            if word == other:
                row[place] = before[place - 1] + 1
                longest = max(longest, row[place])
        before = row
    return longest


def coverage(words: Sequence[str], texts: Sequence[Sequence[str]], n: int) -> float:
    """The share of words in an n-gram that one of the texts has."""
    held = {tuple(text[at : at + n]) for text in texts for at in range(len(text) - n + 1)}
    covered = np.zeros(len(words), np.bool_)
    for at in range(len(words) - n + 1):
        if tuple(words[at : at + n]) in held:
            covered[at : at + n] = True
    return float(covered.mean())


def in_corpus(
    texts: Sequence[Sequence[str]], backend: Backend, n: int, reporter: Reporter
) -> Floats:
    """Of the draws of each window the share of tokens in an n-gram of the corpus; nan where they
    have none."""
    layer = backend.tokenize([text for some in texts for text in some], reporter)
    grams, starts = Grams.windows(layer, n)
    found = starts[np.asarray(backend.counts(grams, reporter)) > 0]
    covered = np.zeros(len(layer.ids), np.bool_)
    for step in range(n):
        covered[found + step] = True
    text = np.repeat(np.arange(len(layer.text_ends)), np.diff(layer.text_ends, prepend=0))
    of_text = np.repeat(np.arange(len(texts)), [len(some) for some in texts])
    sizes = np.bincount(of_text[text], minlength=len(texts))
    hits = np.bincount(of_text[text], covered, minlength=len(texts))
    shares = np.full(len(texts), np.nan)
    np.divide(hits, sizes, out=shares, where=sizes > 0)
    return shares


def best_of(values: Floats, k: int) -> Floats:
    """For each row the mean, over all ways to take k of its values, of the largest."""
    count = values.shape[1]
    ways = [math.comb(place, k - 1) / math.comb(count, k) for place in range(count)]
    found: Floats = np.sort(values, axis=1) @ np.array(ways)
    return found


def longest_string(text: str, other: str) -> int:
    """Characters of the longest string that both have: if there is one of some length, there are
    shorter ones, so that halving finds it."""
    low, high = 0, min(len(text), len(other))
    while low < high:
        size = (low + high + 1) // 2
        held = {text[at : at + size] for at in range(len(text) - size + 1)}
        if any(other[at : at + size] in held for at in range(len(other) - size + 1)):
            low = size
        else:
            high = size - 1
    return low


def alike(texts: Sequence[Sequence[str]], suffixes: Sequence[str], n: int) -> dict[str, Floats]:
    """Each similarity of each draw to the suffix of its window: by window and draw."""
    found: dict[str, list[list[float]]] = {name: [] for name in ATTACKS}
    for some, suffix in zip(texts, suffixes):
        wanted = suffix.split()
        words = [text.split() for text in some]
        for name, column in (
            ("coverage", [_copied(own, wanted, (n,)) for own in words]),
            ("creativity", [_copied(own, wanted, _CREATIVITY) for own in words]),
            ("longest_words", [float(longest_run(own, wanted)) for own in words]),
            ("longest_letters", [float(longest_string(one, suffix)) for one in some]),
        ):
            found[name].append(column)
    return {name: np.array(column) for name, column in found.items()}


def _copied(words: Sequence[str], wanted: Sequence[str], lengths: Sequence[int]) -> float:
    return sum(coverage(words, [wanted], n) if words else 0.0 for n in lengths)


def item_scores(columns: Mapping[str, Floats], item: Labels, items: int) -> Iterator[ItemScore]:
    """By similarity and aggregate one number for each item; nan for one without a window."""
    for name, column in columns.items():
        for aggregate, function in AGGREGATES.items():
            own = function(column, axis=1)
            count = np.bincount(item, minlength=items)
            found = np.full(items, np.nan)
            total = np.bincount(item, own, minlength=items)
            np.divide(total, count, out=found, where=count > 0)
            yield name, aggregate, found


def rows(
    samples: Samples, item: Labels, groups: Mapping[str, Labels], bases: Labels, level: float
) -> Iterator[tuple[str, str, Row]]:
    """For each model, group and 1, 2, 4, ... draws; windows of one passage belong together."""
    for model, best in samples.best.items():
        count = best.shape[1]
        steps = sorted({*(1 << power for power in range(count.bit_length())), count})
        for group, own in groups.items():
            here = np.isin(item, own)
            if not here.any():
                continue
            passages = numbered(bases[item[here]])
            about = {"windows": int(here.sum()), "passages": len(np.unique(passages))}
            for k in (step for step in steps if step <= count):
                columns = {
                    "best": best_of(best[here], k),
                    "covered": samples.covered[model][here][:, k - 1],
                }
                if samples.held:
                    columns["held"] = samples.held[model][here]
                row: dict[str, Any] = {**about, "draws": k}
                for name, column in columns.items():
                    found = mean(column, passages, len(column))
                    row |= estimate(name, found.value, found.interval(level))
                yield model, group, row


def _share(name: str, title: str, *, optional: bool = False) -> Column:
    return Column(name, title, "share", ends=ends(name), optional=optional)


LAYOUT = (
    Table(
        "samples",
        "What is drawn after the prefixes, against what follows there",
        (
            *(Column("model"), Column("group")),
            *(Column("windows", kind="count"), Column("passages", kind="count")),
            Column("draws", kind="count"),
            _share("best", "longest run"),
            _share("covered", "covered by n-grams"),
            _share("held", "in the corpus", optional=True),
        ),
        said="longest run: share of the suffix's words in the longest run that the best of so many "
        "draws has; covered: share of its words in n-grams of the draws; in the corpus: "
        "share of the draws' own tokens in n-grams of --corpus",
        limit=40,
    ),
    Table(
        "drawn_membership",
        "Members against non-members by their draws alone: AUC",
        (
            *(Column("model"), Column("group"), Column("of", "of the draws the")),
            *(Column("members", kind="count"), Column("others", kind="count")),
        ),
        said="how alike draws and suffix are: words in runs that both have (-n words, or 2 to 12), "
        "the longest run, the longest string",
        limit=40,
        pivot=Pivot("attack", Column("auc", kind="number", decimals=3, ends=ends("auc")), ATTACKS),
    ),
)
