"""The instance popularity score (IPS) of texts: n-grams, their counts, deciles, means.

IPS(x) = mean of popularity(g) over the different n-grams g of x;  nan where x has none

The counts of the different n-grams of a task, sorted, are cut into ten parts of equal size. Equal
counts belong to the lowest part that holds one of them, so

    popularity(c) = 1 + floor(10 * share of the n-grams with a count below c).

Nine edges say the same: edge d is the last count of part d, and the popularity of a count is one
more than the number of edges below it. That also holds for counts that the task itself lacks.
Deciles are made from the n-grams of one task, stored, and applied to others unchanged.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rote.compare.clusters import ClusterEstimate, number_clusters
from rote.compare.correlation import partial_estimate, rank_estimate
from rote.core.arrays import Integers
from rote.core.errors import InputError, OptionError
from rote.core.files import write_atomically
from rote.core.json_reader import read_json
from rote.core.layer import Layer, n_gram_starts
from rote.core.progress import Reporter, Silent, several
from rote.core.result import Row
from rote.core.table import estimate
from rote.corpus.items import Item
from rote.index.grams import Grams
from rote.search.backends import Backend
from rote.studies._items import Floats, Groups, Labels, defined_mean, group_columns, mean_by_number

if TYPE_CHECKING:
    from rote.index.answers import Holders
    from rote.search.backends.rote import RoteIndex

PARTS = 10
_SCHEMA = 1
_KIND = "popularity deciles"
_REMEDY = "Create it with `rote popularity ... --save-deciles FILE`"
_NAMED = 4


@dataclass(frozen=True, slots=True)
class PopularityScores:
    """Per text its score, its tokens and its different n-grams; the deciles that were used.

    `grams` and `counts` are the different n-grams of all texts, with their counts.
    """

    ips: Floats
    tokens: Integers
    different: Integers
    scale: DecileScale
    grams: Grams
    counts: Integers


def score_popularity(
    texts: Sequence[str],
    tasks: Sequence[str],
    backend: Backend,
    n: int,
    *,
    scale: DecileScale | None = None,
    max_undefined: float = 1.0,
    reporter: Reporter | None = None,
) -> PopularityScores:
    """The score of each text; `tasks` says for each which task it belongs to.

    Without `scale` the deciles come from these texts, task by task. Where more than
    `max_undefined` of a task's texts are shorter than n, nothing is counted at all.
    """
    reporter = reporter or Silent()
    if n < 1:
        raise OptionError(f"an n-gram has at least one token, not {n}")
    if scale is not None:
        scale.check(backend, n)
        for task in dict.fromkeys(tasks):
            scale.of(task)
    layer = backend.tokenize(texts, reporter)
    tokens = np.diff(layer.text_ends, prepend=0)
    names = list(dict.fromkeys(tasks))
    place = {task: number for number, task in enumerate(names)}
    of_text = np.array([place[task] for task in tasks], np.int64)
    _check_lengths(tokens, of_text, names, n, max_undefined)
    text, gram, grams = distinct_ngrams(layer, n)
    counts = backend.counts(grams, reporter) if len(grams) else np.empty(0, np.int64)
    gram_tasks = of_text[text]
    if scale is None:
        of_tasks = {task: np.unique(gram[gram_tasks == t]) for t, task in enumerate(names)}
        # A task whose texts are all too short has none.
        deciles = {task: Deciles.of(counts[of]) for task, of in of_tasks.items() if len(of)}
        scale = DecileScale.by(backend, n, deciles)
    popularity = np.zeros(len(gram), np.int64)
    for number, task in enumerate(names):
        if (mine := gram_tasks == number).any():
            popularity[mine] = scale.of(task)(counts[gram[mine]])
    different = np.bincount(text, minlength=len(texts))
    ips = mean_by_number(text, popularity, len(texts))
    return PopularityScores(ips, tokens, different, scale, grams, counts)


def _check_lengths(
    tokens: Integers, of_text: Integers, names: Sequence[str], n: int, allowed: float
) -> None:
    """Refuse an n that leaves too many texts without a score, and say which one does not."""
    lengths = [tokens[of_text == number] for number in range(len(names))]
    shares = {name: float((some < n).mean()) for name, some in zip(names, lengths)}
    if not (short := {name: share for name, share in shares.items() if share > allowed}):
        return
    worst = sorted(short, key=lambda name: -short[name])
    listed = ", ".join(f"{name} {short[name]:.0%}" for name in worst[:_NAMED])
    if len(worst) > _NAMED:
        listed += f" and {several(len(worst) - _NAMED, 'more task')}"
    # The largest n that leaves at most the allowed share of each task's texts too short.
    places = (min(len(some) - 1, int(allowed * len(some))) for some in lengths)
    fits = min(int(np.sort(some)[place]) for some, place in zip(lengths, places))
    smaller = f"-n {fits} fits all of them" if fits else "some texts have no tokens"
    raise OptionError(
        f"too many instances are shorter than {several(n, 'token')} ({listed}; at most "
        f"{allowed:.0%} may be): use a smaller n ({smaller}), or an index of subwords, which cut "
        "texts into more tokens"
    )


@dataclass(frozen=True, slots=True)
class Deciles:
    """The edges of one task, and how many different n-grams they come from."""

    edges: tuple[float, ...]
    grams: int

    @classmethod
    def of(cls, values: NDArray[Any]) -> Deciles:
        """From the counts (or any other values) themselves."""
        ordered = np.sort(values)
        last = [-(-len(ordered) * part // PARTS) - 1 for part in range(1, PARTS)]
        return cls(tuple(ordered[max(0, place)].item() for place in last), len(ordered))

    def __call__(self, values: NDArray[Any]) -> Integers:
        """The part of each value, 1 to 10."""
        return 1 + np.searchsorted(np.array(self.edges), values, side="left")


@dataclass(frozen=True, slots=True)
class DecileScale:
    """The deciles of several tasks, and all that the counts in them depend on."""

    n: int
    backend: str
    tokenizer: str
    index: str
    signature: str
    tasks: Mapping[str, Deciles]

    @classmethod
    def by(cls, backend: Backend, n: int, tasks: Mapping[str, Deciles]) -> DecileScale:
        return cls(n, backend.name, backend.tokenizer, backend.index, backend.signature, tasks)

    @property
    def fingerprint(self) -> str:
        content = json.dumps(asdict(self), sort_keys=True)
        return blake2b(content.encode(), digest_size=6).hexdigest()

    def of(self, task: str) -> Deciles:
        if task not in self.tasks:
            raise OptionError(
                f"no deciles for the task '{task}', only for {', '.join(self.tasks)}: they must "
                "come from the original items of the same task"
            )
        return self.tasks[task]

    def check(self, backend: Backend, n: int) -> None:
        """Refuse counts of another kind: their deciles would mean nothing."""
        if self.n != n:
            problem = f"the deciles are of {self.n}-grams, not of {n}-grams"
            raise OptionError(f"{problem}: give -n {self.n}")
        if self.signature != backend.signature:
            raise OptionError(
                f"the deciles come from other counts ({self.signature}) than requested "
                f"({backend.signature})"
            )

    def write(self, path: Path) -> None:
        content = {"schema": _SCHEMA, "kind": _KIND, **asdict(self)}
        write_atomically(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")

    @classmethod
    def read(cls, path: Path) -> DecileScale:
        try:
            content = read_json(path, regular=False)
        except (OSError, InputError) as error:
            why = getattr(error, "strerror", None) or getattr(error, "problem", None)
            problem = f"the deciles cannot be read ({why})"
            raise InputError(problem, file=str(path), remedy=_REMEDY) from None
        try:
            if content["schema"] != _SCHEMA or content["kind"] != _KIND:
                raise ValueError
            tasks = {
                str(name): Deciles(_check_edges(saved["edges"]), int(saved["grams"]))
                for name, saved in content["tasks"].items()
            }
            names = ("backend", "tokenizer", "index", "signature")
            provenance = {name: str(content[name]) for name in names}
            return cls(n=int(content["n"]), **provenance, tasks=tasks)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            problem = "this is not a file of deciles"
            raise InputError(problem, file=str(path), remedy=_REMEDY) from None


def _check_edges(values: Any) -> tuple[float, ...]:
    edges = tuple(float(edge) if not isinstance(edge, int) else edge for edge in values)
    if len(edges) != PARTS - 1 or list(edges) != sorted(edges) or any(map(math.isnan, edges)):
        raise ValueError
    return edges


def distinct_ngrams(layer: Layer, n: int) -> tuple[Integers, Integers, Grams]:
    """The different n-grams of each text, numbered exactly: pairs of a text and an n-gram, each
    once, by text; and the different n-grams themselves.

    An n-gram's number comes from those of two shorter ones that overlap or touch in it, so that
    three sortings of one integer a place are enough for seven items.
    """
    starts = n_gram_starts(layer, n)
    numbers, first = _number_ngrams(layer, starts, n)
    texts = np.searchsorted(layer.text_ends, starts, side="right")
    kinds = max(1, len(first))
    pairs = np.unique(texts * kinds + numbers)
    grams = Grams.of_rows(layer.ids[first[:, None] + np.arange(n)], layer.vocabulary)
    return pairs // kinds, pairs % kinds, grams


def _number_ngrams(layer: Layer, starts: Integers, n: int) -> tuple[Integers, Integers]:
    """The number of the n-gram at each start, and of each number the first item it begins at."""
    # By place; what stands behind the last start of a text is never looked at.
    at_place = layer.ids.astype(np.int64)
    length, places = 1, np.arange(len(at_place))
    while length < n:
        longer = min(2 * length, n)
        places = n_gram_starts(layer, longer)
        kinds = int(at_place.max(initial=0)) + 1
        keys = at_place[places] * kinds + at_place[places + longer - length]
        _, at_place[places] = np.unique(keys, return_inverse=True)
        length = longer
    _, first, numbers = np.unique(at_place[starts], return_index=True, return_inverse=True)
    return numbers.astype(np.int64), starts[first]


# Distributional memorization (Wang et al. 2025): do pairs of n-grams predict the likelihood?
#
# A pair is an n-gram of what the model was given and one of the right answer, two different ones.
# What pairs say that single n-grams do not: the difference from `expected`, and the partial
# correlation of `together` given `input`, `output` and `expected`.

ASKED, LIKELIHOODS = "asked", "loglikelihoods"
SCORES = ("together", "given", "input", "output", "expected", "lift")
_SINGLE = ("input", "output", "expected")
"""What single n-grams say, without their pairs."""
_CHUNK = 1 << 14
MOST_OCCURRENCES = 10_000
"""N-grams that occur more often make no pairs."""


@dataclass(frozen=True, slots=True)
class NgramPairs:
    """Of each item how many pairs it has, the share that occurs together, its scores, and the
    log-likelihood of its answer; `frequent` of `different` n-grams took no part."""

    number: Integers
    both_seen: Floats
    scores: Mapping[str, Floats]
    likelihood: Floats
    different: int
    frequent: int


def check_pairs(items: Sequence[Item], backend: Backend) -> RoteIndex:
    """The index that can count pairs; what has none is refused before anything is counted."""
    from rote.search.backends.rote import RoteIndex

    if not isinstance(backend, RoteIndex):
        raise OptionError(
            f"--pairs needs documents, and {backend.name} gives counts alone: name an index of rote"
        )
    if not any(_recorded_answer(item) for item in items):
        raise OptionError(
            f"no item has the question and the likelihoods of the answers ('{ASKED}', "
            f"'{LIKELIHOODS}'): --pairs needs the answers that `rote evaluate --write` writes"
        )
    return backend


def count_pairs(
    items: Sequence[Item], backend: RoteIndex, options: Any, reporter: Reporter
) -> NgramPairs:
    """All that is known of the pairs of each item; `options` are those of the study."""
    answers = [_recorded_answer(item) for item in items]
    texts = [text for answer in answers for text in (answer[:2] if answer else ("", ""))]
    layer = backend.tokenize(texts, reporter)
    text, gram, grams = distinct_ngrams(layer, options.pairs)
    tokens = np.diff(layer.text_ends, prepend=0)[1::2]
    likelihood = np.array([answer[2] if answer else math.nan for answer in answers])
    likelihood = likelihood / np.where(tokens > 0, tokens, math.nan)
    often = backend.opened_index.counts(grams, backend.layer) > MOST_OCCURRENCES
    rare = ~often[gram] if len(gram) else np.empty(0, np.bool_)
    item, x, y = _combine_grams(text[rare], gram[rare], len(items))
    if options.pairs_similar is not None:
        near = _similar_pairs(grams, x, y, options, reporter)
        item, x, y = item[near], x[near], y[near]
    used, place = np.unique(np.concatenate((x, y)), return_inverse=True)
    x, y = place[: len(x)], place[len(x) :]
    rows = grams.ids.reshape(-1, options.pairs)[used]
    holders = backend.holders(Grams.of_rows(rows, grams.vocabulary), options.pairs_within)
    return _score_pairs(len(items), item, x, y, holders, likelihood, len(grams), int(often.sum()))


def _recorded_answer(item: Item) -> tuple[str, str, float] | None:
    """What the model was given, the right answer, and its log-likelihood; None if not known."""
    requests, likelihoods = item.meta.get(ASKED), item.meta.get(LIKELIHOODS)
    if item.answer is None or not requests or not likelihoods:
        return None
    try:
        context, answer = requests[item.answer]
        return str(context), str(answer), float(likelihoods[item.answer])
    except (IndexError, KeyError, TypeError, ValueError):
        raise InputError(
            f"the item '{item.id}' of {item.task} does not contain a context, a text and a "
            f"log-likelihood for each option in '{ASKED}' and '{LIKELIHOODS}'",
            field=ASKED,
        ) from None


def _combine_grams(
    text: Integers, gram: Integers, items: int
) -> tuple[Integers, Integers, Integers]:
    """Every n-gram of an item's input (even texts) with each of its output (odd), but itself."""
    ends = np.searchsorted(text, np.arange(2 * items + 1))
    blocks = [np.empty((3, 0), np.int64)]
    for item in range(items):
        begin, middle, end = ends[2 * item], ends[2 * item + 1], ends[2 * item + 2]
        grid = np.meshgrid(gram[begin:middle], gram[middle:end], indexing="ij")
        x, y = grid[0].ravel(), grid[1].ravel()
        blocks.append(np.stack((np.full(len(x), item), x, y))[:, x != y])
    item_of, x, y = np.concatenate(blocks, axis=1)
    return item_of, x, y


def _similar_pairs(
    grams: Grams, x: Integers, y: Integers, options: Any, reporter: Reporter
) -> Labels:
    """The pairs whose embeddings have at least this cosine."""
    from rote.annotate.embeddings import get

    used, place = np.unique(np.concatenate((x, y)), return_inverse=True)
    embed = get(options.embedder)
    embed.check()
    vectors = np.asarray(embed([" ".join(grams[g]) for g in used.tolist()], reporter), np.float64)
    a, b = place[: len(x)], place[len(x) :]
    chosen = [np.empty(0, np.int64)]
    for first in range(0, len(x), _CHUNK):
        part = slice(first, first + _CHUNK)
        cosines = np.einsum("ij,ij->i", vectors[a[part]], vectors[b[part]])
        chosen.append(first + np.flatnonzero(cosines >= options.pairs_similar))
    return np.concatenate(chosen)


def count_together(holders: Holders, x: Integers, y: Integers) -> Integers:
    """How many documents hold both n-grams of each pair: those of one are marked, and looked up in
    the lists of all that are paired with it. Pairs that come again are counted once."""
    kinds = max(1, len(holders.ends))
    pairs, again = np.unique(y * kinds + x, return_inverse=True)
    ys, xs = np.divmod(pairs, kinds)
    begins, sizes = holders.ends - holders.counts, holders.counts
    joint_counts, marked = np.zeros(len(pairs), np.int64), np.zeros(holders.total, np.bool_)
    some = np.flatnonzero((sizes[xs] > 0) & (sizes[ys] > 0))
    for same_y in np.split(some, np.flatnonzero(np.diff(ys[some])) + 1) if len(some) else ():
        gram = ys[same_y[0]]
        documents = holders.units[begins[gram] : begins[gram] + sizes[gram]]
        marked[documents] = True
        lengths = sizes[xs[same_y]]
        starts = np.cumsum(lengths) - lengths
        listed = np.repeat(begins[xs[same_y]] - starts, lengths) + np.arange(lengths.sum())
        hits = marked[holders.units[listed]]
        joint_counts[same_y] = np.add.reduceat(hits, starts, dtype=np.int64)
        marked[documents] = False
    return joint_counts[again]


def _score_pairs(
    items: int,
    item: Integers,
    x: Integers,
    y: Integers,
    holders: Holders,
    likelihood: Floats,
    different: int,
    frequent: int,
) -> NgramPairs:
    both, sizes = count_together(holders, x, y), holders.counts
    number, both_seen = np.bincount(item, minlength=items), mean_by_number(item, both > 0, items)
    a, b, joint = np.log1p(sizes[x]), np.log1p(sizes[y]), np.log1p(both)
    chance = np.log1p(sizes[x] * (sizes[y] / max(1, holders.total)))
    columns = (joint, joint - a, a, b, chance, joint - chance)
    scores = {name: mean_by_number(item, col, items) for name, col in zip(SCORES, columns)}
    return NgramPairs(number, both_seen, scores, likelihood, different, frequent)


def correlation_rows(
    pairs: NgramPairs, bases: Labels, groups: Groups, options: Any
) -> Iterator[Row]:
    """A row for each group: the correlations, and what pairs add to single n-grams."""
    for group, group_items in groups.items():
        has_pairs = (pairs.number > 0) & ~np.isnan(pairs.likelihood)
        if not len(known := group_items[has_pairs[group_items]]):
            continue
        likelihood, clusters = pairs.likelihood[known], number_clusters(bases[known])
        columns = {name: column[known] for name, column in pairs.scores.items()}
        estimates = {name: rank_estimate(columns[name], likelihood, clusters) for name in SCORES}
        single_columns = [columns[name] for name in _SINGLE]
        estimates["difference"] = estimates["together"] - estimates["expected"]
        together = columns["together"]
        estimates["partial"] = partial_estimate(together, likelihood, single_columns, clusters)
        yield {
            **group_columns(options.by, group),
            "items": len(known),
            "independent": int(clusters.max()) + 1,
            "pairs": float(pairs.number[known].mean()),
            "seen": defined_mean(pairs.both_seen[known]),
            **_estimate_cells(estimates, options.interval),
        }


def _estimate_cells(estimates: Mapping[str, ClusterEstimate], level: float) -> dict[str, float]:
    cells: dict[str, float] = {}
    for name, correlation in estimates.items():
        most = 2.0 if name == "difference" else 1.0
        reach = np.clip(correlation.interval(level), -most, most)
        cells |= estimate(name, correlation.value, reach.tolist())
    return cells


def pair_columns(pairs: NgramPairs) -> Iterator[Row]:
    """What the table of items has more."""
    for number in range(len(pairs.number)):
        scores = {name: float(column[number]) for name, column in pairs.scores.items()}
        likelihood = float(pairs.likelihood[number])
        yield {"pairs": int(pairs.number[number]), **scores, "likelihood": likelihood}


def pair_signature(options: Any) -> dict[str, Any]:
    """What the counts of pairs depend on."""
    within, least = options.pairs_within, options.pairs_similar
    settings = {"pairs": options.pairs, "in": f"stretch of {within}" if within else "document"}
    settings["most"] = MOST_OCCURRENCES
    return settings | ({"similar": f"{least:g} by {options.embedder}"} if least is not None else {})


def pair_notes(pairs: NgramPairs, options: Any) -> Iterator[str]:
    if pairs.frequent:
        yield (
            f"pairs: {pairs.frequent:,} of {pairs.different:,} different {options.pairs}-grams "
            f"occur more than {several(MOST_OCCURRENCES, 'time')} in the corpus and take no part"
        )
    unknown, none = np.isnan(pairs.likelihood), pairs.number == 0
    reasons = {
        "no log-likelihood of a right answer is known": unknown,
        "no n-gram of the input occurs together with one of the answer": none & ~unknown,
    }
    for why, lacking in reasons.items():
        if count := int(lacking.sum()):
            yield f"pairs: {count:,} of {len(none):,} items have no part: {why}"
