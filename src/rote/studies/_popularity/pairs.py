"""Distributional memorization (Wang et al. 2025): do pairs of n-grams predict the likelihood?

A pair is an n-gram of what the model was given and one of the right answer, two different ones. The
corpus says how many of its documents (or stretches of them) hold both, and how many hold each:

    together   mean of log(1 + C(x, y)) over the pairs of an item
    given      mean of log((1 + C(x, y)) / (1 + C(x))), the task-gram model's log P(y | x)
    input      mean of log(1 + C(x));  output: of log(1 + C(y))
    expected   mean of log(1 + C(x) C(y) / D), as by chance in D documents
    lift       together - expected

Each is correlated over items (Spearman) with the log-likelihood of the right answer per token. What
pairs say that single n-grams do not: the difference from `expected`, and the partial correlation of
`together` given `input`, `output` and `expected`. Twins belong together in every interval.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rote.compare.clusters import Estimate, numbered
from rote.compare.ranks import partial_estimate, rank_estimate
from rote.core.errors import InputError, OptionError
from rote.core.progress import Reporter, several
from rote.core.result import Row
from rote.core.table import estimate
from rote.corpus.items import Item
from rote.index.answers import Holders
from rote.index.grams import Grams
from rote.search.backends import Backend
from rote.studies._items import Floats, Groups, Labels, mean_of, named
from rote.studies._popularity.scores import Numbers, windows

if TYPE_CHECKING:
    from rote.search.backends.rote import RoteIndex

ASKED, LIKELIHOODS = "asked", "loglikelihoods"
SCORES = ("together", "given", "input", "output", "expected", "lift")
_SINGLE = ("input", "output", "expected")
"""What single n-grams say, without their pairs."""
_CHUNK = 1 << 14
MOST_OCCURRENCES = 10_000
"""N-grams that occur more often make no pairs."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """Of each item how many pairs it has, the share that occurs together, its scores, and the
    log-likelihood of its answer; `frequent` of `different` n-grams took no part."""

    number: Numbers
    seen: Floats
    scores: Mapping[str, Floats]
    likelihood: Floats
    different: int
    frequent: int


def checked(items: Sequence[Item], backend: Backend) -> RoteIndex:
    """The index that can count pairs; what has none is refused before anything is counted."""
    from rote.search.backends.rote import RoteIndex

    if not isinstance(backend, RoteIndex):
        raise OptionError(
            f"--pairs needs documents, and {backend.name} gives counts alone: name an index of rote"
        )
    if not any(_asked(item) for item in items):
        raise OptionError(
            f"no item says what was asked and how likely the answers were ('{ASKED}', "
            f"'{LIKELIHOODS}'): --pairs needs the answers that `rote evaluate --write` writes"
        )
    return backend


def count_pairs(
    items: Sequence[Item], backend: RoteIndex, options: Any, reporter: Reporter
) -> Pairs:
    """All that is known of the pairs of each item; `options` are those of the study."""
    asked = [_asked(item) for item in items]
    texts = [text for one in asked for text in (one[:2] if one else ("", ""))]
    layer = backend.tokenize(texts, reporter)
    text, gram, grams = windows(layer, options.pairs)
    tokens = np.diff(layer.text_ends, prepend=0)[1::2]
    likelihood = np.array([one[2] if one else math.nan for one in asked])
    likelihood = likelihood / np.where(tokens > 0, tokens, math.nan)
    often = backend.opened_index.counts(grams, backend.layer) > MOST_OCCURRENCES
    taken = ~often[gram] if len(gram) else np.empty(0, np.bool_)
    item, x, y = _combined(text[taken], gram[taken], len(items))
    if options.pairs_similar is not None:
        near = _similar(grams, x, y, options, reporter)
        item, x, y = item[near], x[near], y[near]
    used, place = np.unique(np.concatenate((x, y)), return_inverse=True)
    x, y = place[: len(x)], place[len(x) :]
    holders = backend.holders(_chosen(grams, used, options.pairs), options.pairs_within)
    return _scored(len(items), item, x, y, holders, likelihood, len(grams), int(often.sum()))


def _asked(item: Item) -> tuple[str, str, float] | None:
    """What the model was given, the right answer, and its log-likelihood; None if not known."""
    asked, found = item.meta.get(ASKED), item.meta.get(LIKELIHOODS)
    if item.answer is None or not asked or not found:
        return None
    try:
        given, answer = asked[item.answer]
        return str(given), str(answer), float(found[item.answer])
    except (IndexError, KeyError, TypeError, ValueError):
        raise InputError(
            f"the item '{item.id}' of {item.task} does not hold a context, a text and a "
            f"log-likelihood for each option in '{ASKED}' and '{LIKELIHOODS}'",
            field=ASKED,
        ) from None


def _combined(text: Numbers, gram: Numbers, items: int) -> tuple[Numbers, Numbers, Numbers]:
    """Every n-gram of an item's input (even texts) with each of its output (odd), but itself."""
    ends = np.searchsorted(text, np.arange(2 * items + 1))
    found = [np.empty((3, 0), np.int64)]
    for item in range(items):
        begin, middle, end = ends[2 * item], ends[2 * item + 1], ends[2 * item + 2]
        own = np.meshgrid(gram[begin:middle], gram[middle:end], indexing="ij")
        x, y = own[0].ravel(), own[1].ravel()
        found.append(np.stack((np.full(len(x), item), x, y))[:, x != y])
    item_of, x, y = np.concatenate(found, axis=1)
    return item_of, x, y


def _chosen(grams: Grams, which: Numbers, n: int) -> Grams:
    ids = grams.ids.reshape(-1, n)[which].reshape(-1)
    return Grams(ids, np.arange(1, len(which) + 1, dtype=np.int64) * n, grams.vocabulary)


def _similar(grams: Grams, x: Numbers, y: Numbers, options: Any, reporter: Reporter) -> Labels:
    """The pairs whose embeddings have at least this cosine."""
    from rote.annotate.embeddings import get

    used, place = np.unique(np.concatenate((x, y)), return_inverse=True)
    embed = get(options.embedder)
    embed.check()
    vectors = np.asarray(embed([" ".join(grams[g]) for g in used.tolist()], reporter), np.float64)
    a, b = place[: len(x)], place[len(x) :]
    kept = [np.empty(0, np.int64)]
    for first in range(0, len(x), _CHUNK):
        part = slice(first, first + _CHUNK)
        cosines = np.einsum("ij,ij->i", vectors[a[part]], vectors[b[part]])
        kept.append(first + np.flatnonzero(cosines >= options.pairs_similar))
    return np.concatenate(kept)


def together(holders: Holders, x: Numbers, y: Numbers) -> Numbers:
    """How many documents hold both n-grams of each pair: those of one are marked, and looked up in
    the lists of all that are paired with it. Pairs that come again are counted once."""
    kinds = max(1, len(holders.ends))
    pairs, again = np.unique(y * kinds + x, return_inverse=True)
    ys, xs = np.divmod(pairs, kinds)
    begins, sizes = holders.ends - holders.counts, holders.counts
    found, marked = np.zeros(len(pairs), np.int64), np.zeros(holders.total, np.bool_)
    some = np.flatnonzero((sizes[xs] > 0) & (sizes[ys] > 0))
    for own in np.split(some, np.flatnonzero(np.diff(ys[some])) + 1) if len(some) else ():
        one = ys[own[0]]
        held = holders.units[begins[one] : begins[one] + sizes[one]]
        marked[held] = True
        lengths = sizes[xs[own]]
        starts = np.cumsum(lengths) - lengths
        listed = np.repeat(begins[xs[own]] - starts, lengths) + np.arange(lengths.sum())
        found[own] = np.add.reduceat(marked[holders.units[listed]], starts, dtype=np.int64)
        marked[held] = False
    return found[again]


def _scored(
    items: int,
    item: Numbers,
    x: Numbers,
    y: Numbers,
    holders: Holders,
    likelihood: Floats,
    different: int,
    frequent: int,
) -> Pairs:
    both, sizes = together(holders, x, y), holders.counts
    number = np.bincount(item, minlength=items)

    def mean(values: Any) -> Floats:
        total = np.bincount(item, values, minlength=items)
        found: Floats = np.full(items, np.nan)
        np.divide(total, number, out=found, where=number > 0)
        return found

    a, b, joint = np.log1p(sizes[x]), np.log1p(sizes[y]), np.log1p(both)
    chance = np.log1p(sizes[x] * (sizes[y] / max(1, holders.total)))
    scores = {
        "together": mean(joint),
        "given": mean(joint - a),
        "input": mean(a),
        "output": mean(b),
        "expected": mean(chance),
        "lift": mean(joint - chance),
    }
    return Pairs(number, mean(both > 0), scores, likelihood, different, frequent)


def table(pairs: Pairs, bases: Labels, groups: Groups, options: Any) -> Iterator[Row]:
    """A row for each group: the correlations, and what pairs add to single n-grams."""
    for group, own in groups.items():
        known = own[(pairs.number[own] > 0) & ~np.isnan(pairs.likelihood[own])]
        if not len(known):
            continue
        likelihood, clusters = pairs.likelihood[known], numbered(bases[known])
        columns = {name: column[known] for name, column in pairs.scores.items()}
        found = {name: rank_estimate(columns[name], likelihood, clusters) for name in SCORES}
        given = [columns[name] for name in _SINGLE]
        found["difference"] = found["together"] - found["expected"]
        found["partial"] = partial_estimate(columns["together"], likelihood, given, clusters)
        yield {
            **named(options.by, group),
            "items": len(known),
            "independent": int(clusters.max()) + 1,
            "pairs": float(pairs.number[known].mean()),
            "seen": mean_of(pairs.seen[known]),
            **_told(found, options.interval),
        }


def _told(found: Mapping[str, Estimate], level: float) -> dict[str, float]:
    told: dict[str, float] = {}
    for name, one in found.items():
        reach = 2.0 if name == "difference" else 1.0
        told |= estimate(name, one.value, np.clip(one.interval(level), -reach, reach).tolist())
    return told


def rows(pairs: Pairs) -> Iterator[Row]:
    """What the table of items has more."""
    for number in range(len(pairs.number)):
        scores = {name: float(column[number]) for name, column in pairs.scores.items()}
        likelihood = float(pairs.likelihood[number])
        yield {"pairs": int(pairs.number[number]), **scores, "likelihood": likelihood}


def signed(options: Any) -> dict[str, Any]:
    """What the counts of pairs depend on."""
    within, least = options.pairs_within, options.pairs_similar
    told = {"pairs": options.pairs, "in": f"stretch of {within}" if within else "document"}
    told["most"] = MOST_OCCURRENCES
    return told | ({"similar": f"{least:g} by {options.embedder}"} if least is not None else {})


def notes(pairs: Pairs, options: Any) -> Iterator[str]:
    """What a reader of the correlations must know."""
    if pairs.frequent:
        yield (
            f"pairs: {pairs.frequent:,} of {pairs.different:,} different {options.pairs}-grams "
            f"occur more than {several(MOST_OCCURRENCES, 'time')} in the corpus and take no "
            "part"
        )
    unknown, none = np.isnan(pairs.likelihood), pairs.number == 0
    for count, why in (
        (int(unknown.sum()), "no log-likelihood of a right answer is known"),
        (int((none & ~unknown).sum()), "no n-gram of the input goes with one of the answer"),
    ):
        if count:
            yield f"pairs: {count:,} of {len(none):,} items have no part: {why}"
