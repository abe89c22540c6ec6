"""Items counted text by text, two groups of texts held against each other, windows made phrases.

An item is an n-gram of a layer, or a named pattern. Counts are a sparse matrix of texts by items,
so that the counts of any group, and of groups with permuted labels, are one product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rote.compare._resample import generator
from rote.compare.log_odds import benjamini_hochberg, contrast, frequent_enough, standing
from rote.compare.permutation import Groups, as_many_in_order, exchanges
from rote.core.array_types import Flags, Floats, Integers
from rote.core.layer import Layer
from rote.core.sample import Take
from rote.search.originality.edges import DETERMINERS, FORMS, PREPOSITIONS
from rote.search.rows.collocates import deviation, juilland, likelihood_p, log_likelihood, log_ratio

# A window of another one is the same phrase, unless it occurs clearly more often alone.
_SAME = 0.75
_LOOKED_AT = 40
"""So many times as many windows as phrases are looked at to find those that belong together."""
_WORD_LAYERS = ("word", "lower", "lemma")
# English; what no fragment of `originality` begins with is part of it.
FUNCTION_WORDS = (
    DETERMINERS
    | PREPOSITIONS
    | FORMS
    | frozenset(
        """i me my mine myself we us our ours ourselves you your yours yourself yourselves he him
        his himself she her hers herself it its itself they them their theirs themselves oneself
        who whom whose which what whoever whatever whichever when where why how there
        and or but nor so yet be been being having do does did doing done can could may might must
        shall should will would ought not n't 's 're 've 'll 'd 'm ca wo such same other own more
        most much many few several""".split()
    )
)


@dataclass(frozen=True, slots=True)
class Items:
    """`counts[t, i]`: how often text t holds item i; `sizes[t]`: how many places it has for one.

    `grams` are the items' words; of a named pattern its name alone.
    """

    counts: Any
    sizes: Integers
    grams: Sequence[tuple[str, ...]]
    by_item: Any
    """The same counts, column by column."""
    numbers: Integers | None = None
    """By place of the layer the item that begins there, -1 for none."""

    @property
    def n(self) -> int:
        return len(self.grams[0]) if self.grams else 0

    def column(self, number: int) -> Floats:
        """How often each text holds one item."""
        found: Floats = self.by_item[:, [number]].toarray().ravel()
        return found

    def of(self, take: Take) -> Integers:
        return np.asarray(self.counts[take].sum(axis=0)).ravel().astype(np.int64)

    def texts(self, take: Take) -> Integers:
        return np.asarray((self.counts[take] > 0).sum(axis=0)).ravel().astype(np.int64)


def ngrams(
    layer: Layer, lengths: Sequence[int], least: int, function_words: bool = False
) -> Iterator[Items]:
    """The n-grams that occur at least so often in all texts together. Of words, those that begin
    and end with a word and hold a content word; with `function_words` also those without one, and
    single punctuation marks."""
    from rote.measure._ngram_kernels import number_ngrams

    starts, ends = layer.text_starts, layer.text_ends
    text = np.repeat(np.arange(len(layer)), ends - starts)
    is_word = np.array([any(map(str.isalnum, item)) for item in layer.vocabulary], np.bool_)
    is_content = is_word & [item.lower() not in FUNCTION_WORDS for item in layer.vocabulary]
    if layer.name not in _WORD_LAYERS:
        is_word[:] = is_content[:] = True
    if function_words:
        is_content[:] = True
    before = np.concatenate(([0], np.cumsum(is_content[layer.ids])))
    vocabulary = len(layer.vocabulary)
    for n, numbers, kinds, _ in number_ngrams(layer.ids, starts, ends, vocabulary, max(lengths)):
        if n not in lengths:
            continue
        place = np.arange(len(layer.ids))
        valid = place + n <= ends[text]
        found = valid & (np.asarray(numbers) >= 0)
        found &= before[np.minimum(place + n, len(place))] > before[:-1]
        if n > 1:
            last = np.minimum(place + n - 1, len(place) - 1)
            found &= is_word[layer.ids] & is_word[layer.ids[last]]
        where = place[found]
        own = np.asarray(numbers)[where].astype(np.int64)
        often = np.bincount(own, minlength=kinds) >= least
        where, own = where[often[own]], own[often[own]]
        kept, first, item = np.unique(own, return_index=True, return_inverse=True)
        grams = [tuple(layer.vocabulary[i] for i in layer.ids[p : p + n]) for p in where[first]]
        begins = np.full(len(place), -1, np.int64)
        begins[where] = item
        counts = _counted(text[where], item, (len(layer), len(kept)))
        yield Items(
            counts=counts,
            by_item=counts.tocsc(),
            sizes=np.maximum(ends - starts - n + 1, 0),
            grams=grams,
            numbers=begins,
        )


def _counted(text: Integers, item: Integers, shape: tuple[int, int]) -> Any:
    from scipy.sparse import csr_matrix

    # Places of one text and item add up.
    return csr_matrix((np.ones(len(text), np.float64), (text, item)), shape=shape)


def matched(index: Any, patterns: Any, words: Integers) -> Items:
    """Named patterns as items; of each the matches in every text."""
    from rote.index.index import DEFAULT
    from rote.search.patterns import find_pattern

    found = [find_pattern(index, queries, DEFAULT).documents for queries in patterns.values()]
    item = np.repeat(np.arange(len(found)), [len(one) for one in found])
    text = np.concatenate(found) if found else np.empty(0, np.int64)
    counts = _counted(text, item, (len(words), len(found)))
    return Items(counts, words, [(name,) for name in patterns], counts.tocsc())


Side = Sequence[tuple[Integers, int]]
"""By length: how often a side has each item, and how many places for one."""


@dataclass(frozen=True, slots=True)
class Held:
    """All items of one source against others: what is known of each, in the order of the items of
    all lengths, one after another."""

    ours: Integers
    theirs: Integers
    totals: tuple[Floats, Floats]
    delta: Floats
    z: Floats
    g2: Floats
    log_ratio: Floats
    p_independent: Floats
    p: Floats
    strength: Floats
    tested: Flags
    texts: int = 0
    """That p rests on; 0 where there is none."""


def held_against(
    items: Sequence[Items],
    ours: Take,
    theirs: Take | None,
    others: Side,
    *,
    permuted: Callable[[int], Groups] | None,
    permutations: int,
) -> Held:
    """`theirs` are the texts on the other side, or `others` the counts and total of each length in
    a corpus, whose texts cannot be permuted."""
    own = _side(items, ours)
    other = others if theirs is None else _side(items, theirs)
    in_test, texts = (own, other), 0
    if permuted is not None and theirs is not None and permutations:
        pair = permuted(0)
        texts = sum(map(len, pair))
        if texts < len(ours) + len(theirs):
            in_test = _side(items, pair[0]), _side(items, pair[1])
    tested = [frequent_enough(a, b, (m, n)) for (a, m), (b, n) in zip(*in_test)]
    found = [contrast(a, b, (m, n)) for (a, m), (b, n) in zip(own, other)]
    totals = tuple(
        np.repeat([float(total) for _, total in side], [len(counts) for counts, _ in side])
        for side in (own, other)
    )
    a, b = (np.concatenate([counts for counts, _ in side]) for side in (own, other))
    g2 = log_likelihood(a, b, *totals)
    flags = np.concatenate(tested)
    independent = np.where(flags, likelihood_p(g2), np.nan)
    z = np.concatenate([one.z for one in found])
    p, strength = np.full(len(a), np.nan), np.where(flags, np.abs(z), -np.inf)
    if permuted is not None and permutations and flags.any():
        z_of = _permuted_z(items, tested, in_test, permuted, permutations)
        stands = standing(z_of, permutations, two_sided=True)
        # What all texts say the other way round than as many of each doc_id is not claimed.
        turned = z_of(0) * z[flags] < 0
        p[flags] = np.where(turned, 1.0, stands.p())
        strength[flags] = np.where(turned, 0.0, stands.excess)
    return Held(
        ours=a,
        theirs=b,
        totals=totals,  # type: ignore[arg-type]
        delta=np.concatenate([one.delta for one in found]),
        z=z,
        g2=g2,
        log_ratio=log_ratio(a, b, *totals),
        p_independent=benjamini_hochberg(independent),
        p=p,
        strength=strength,
        tested=flags,
        texts=texts,
    )


def _side(items: Sequence[Items], take: Take) -> Side:
    return [(one.of(take), int(one.sizes[take].sum())) for one in items]


def exchanged(
    ours: Take, theirs: Take, ids: Sequence[str], strata: Integers, seed: int, purpose: str
) -> Callable[[int], Groups]:
    """A function that gives the two groups with labels permuted, by the number of the draw; 0: as
    they are, with as many texts of each doc_id."""
    names = ids or range(len(strata))
    pair = as_many_in_order(ours, theirs, strata, names, generator(seed, f"choose {purpose}"))
    exchange = exchanges(*pair, strata)
    return lambda draw: exchange(generator(seed, purpose, draw)) if draw else pair


def _permuted_z(
    items: Sequence[Items],
    tested: Sequence[Flags],
    sides: tuple[Side, Side],
    permuted: Callable[[int], Groups],
    permutations: int,
) -> Callable[[int], Floats]:
    """z of the tested items, of the groups as they are (0) and of each permutation."""
    held = np.zeros((len(items[0].sizes), permutations + 1))
    for run in range(1, permutations + 1):
        held[permuted(run)[0], run] = 1
    counts, places = [], []
    for one, flags in zip(items, tested):
        counts.append(np.asarray(one.counts[:, flags].T @ held))
        places.append(one.sizes.astype(np.float64) @ held)

    def z_of(run: int) -> Floats:
        found = []
        for number, (flags, (own, size), (other, others)) in enumerate(zip(tested, *sides)):
            both, total = (own + other)[flags], size + others
            ours = own[flags] if run == 0 else counts[number][:, run]
            places_ = size if run == 0 else int(places[number][run])
            found.append(contrast(ours, both - ours, (places_, total - places_)).z)
        return np.concatenate(found)

    return z_of


class Where:
    """The places at which items of all lengths begin, in some texts or in all; items are numbered
    through all lengths."""

    def __init__(self, items: Sequence[Items], layer: Layer, take: Take | None) -> None:
        inside = np.ones(len(layer.ids), np.bool_)
        if take is not None:
            held = np.zeros(len(layer), np.bool_)
            held[take] = True
            inside = np.repeat(held, layer.text_ends - layer.text_starts)
        self.at, self._order, self._ends, self._firsts = [], [], [], [0]
        for one in items:
            assert one.numbers is not None
            begins = np.where(inside, one.numbers, -1)
            self.at.append(begins)
            order = np.argsort(begins, kind="stable")
            self._order.append(order)
            self._ends.append(np.searchsorted(begins[order], np.arange(len(one.grams) + 1)))
            self._firsts.append(self._firsts[-1] + len(one.grams))

    def split(self, number: int) -> tuple[int, int]:
        """Which length an item is of, and its number there."""
        length = int(np.searchsorted(self._firsts, number, side="right")) - 1
        return length, number - self._firsts[length]

    def __call__(self, number: int) -> Integers:
        length, own = self.split(number)
        ends = self._ends[length]
        return self._order[length][ends[own] : ends[own + 1]]

    def together(self, one: int, other: int, step: int) -> bool:
        """Whether the one item and, `step` places further, the other hardly occur apart."""
        places = self(one)
        length, own = self.split(other)
        there = places + step
        there = there[(there >= 0) & (there < len(self.at[length]))]
        both = int((self.at[length][there] == own).sum())
        return both > 0 and both >= _SAME * max(len(places), len(self(other)))


@dataclass(slots=True)
class Phrase:
    """The strongest window of a phrase, its number, and all words of its windows; `offset` is
    where the window begins in them."""

    number: int
    words: tuple[str, ...]
    offset: int = 0
    windows: int = 1


def phrases(
    grams: Sequence[tuple[str, ...]], where: Where, order: Integers, top: int
) -> list[Phrase]:
    """The strongest items, with windows of one phrase put together: those that hold each other or
    overlap, and hardly occur apart."""
    found: list[Phrase] = []
    for number in order[: _LOOKED_AT * top].tolist():
        new = Phrase(number, grams[number])
        grown = next((one for one in found if _absorbed(one, new, where)), None)
        if grown is None:
            if len(found) < top:
                found.append(new)
            continue
        for other in [one for one in found if one is not grown]:
            # A window between two phrases makes one of them: the stronger stays.
            stays, goes = sorted((grown, other), key=found.index)
            if _absorbed(stays, goes, where):
                found.remove(goes)
                grown = stays
    return found


def _absorbed(phrase: Phrase, other: Phrase, where: Where) -> bool:
    """Whether another phrase overlaps this one and hardly occurs without it, so that this one now
    holds the words of both."""
    words, more = phrase.words, other.words
    for first in range(1 - len(more), len(words)):
        low, high = max(first, 0), min(first + len(more), len(words))
        if words[low:high] != more[low - first : high - first]:
            continue
        if where.together(phrase.number, other.number, first + other.offset - phrase.offset):
            before, after = more[: max(-first, 0)], more[max(len(words) - first, 0) :]
            phrase.words = (*before, *words, *after)
            phrase.offset += len(before)
            phrase.windows += other.windows
            return True
    return False


def spread(items: Items, number: int, take: Take) -> dict[str, float]:
    """How evenly the texts of a side hold an item."""
    counts, sizes = items.column(number)[take], items.sizes[take]
    return {"juilland_d": juilland(counts, sizes), "dp": deviation(counts, sizes)}


def covered(layer: Layer, items: Sequence[Items], key: Sequence[Flags], take: Take) -> float:
    """The share of the words of some texts that lie in an item of these."""
    inside = np.zeros(len(layer.ids) + 1, np.int64)
    for one, flags in zip(items, key):
        if one.numbers is not None and flags.any():
            starts = np.flatnonzero((one.numbers >= 0) & flags[one.numbers])
            np.add.at(inside, starts, 1)
            np.add.at(inside, starts + one.n, -1)
    held = np.concatenate(([0], np.cumsum(np.cumsum(inside)[:-1] > 0)))
    starts, ends = layer.text_starts[take], layer.text_ends[take]
    words = int((ends - starts).sum())
    return float((held[ends] - held[starts]).sum() / words) if words else float("nan")
