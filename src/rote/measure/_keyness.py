"""Items counted text by text, two groups of texts held against each other, windows made phrases.

An item is an n-gram of a layer, or a named pattern. Counts are a sparse matrix of texts by items,
so that the counts of any group, and of groups with permuted labels, are one product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from rote.compare.log_odds import benjamini_hochberg, contrast, frequent_enough, permuted_excess
from rote.compare.permutation import Groups, balance_groups_by_id, make_exchange
from rote.compare.resampling import generator
from rote.core.arrays import Flags, Floats, Integers
from rote.core.layer import Layer
from rote.core.ngrams import number_ngrams
from rote.core.sample import Take

# A window of another one is the same phrase, unless it occurs clearly more often alone.
_SAME = 0.75
_LOOKED_AT = 40
"""So many times as many windows as phrases are looked at to find those that belong together."""
_WORD_LAYERS = ("word", "lower", "lemma")


@cache
def list_function_words() -> frozenset[str]:
    """English; what no fragment of `originality` begins with is part of it."""
    from rote.search.originality.edges import DETERMINERS, FORMS, PREPOSITIONS

    others = """i me my mine myself we us our ours ourselves you your yours yourself yourselves he
        him his himself she her hers herself it its itself they them their theirs themselves oneself
        who whom whose which what whoever whatever whichever when where why how there
        and or but nor so yet be been being having do does did doing done can could may might must
        shall should will would ought not n't 's 're 've 'll 'd 'm ca wo such same other own more
        most much many few several"""
    return DETERMINERS | PREPOSITIONS | FORMS | frozenset(others.split())


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
        counts: Floats = self.by_item[:, [number]].toarray().ravel()
        return counts

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
    starts, ends = layer.text_starts, layer.text_ends
    text = np.repeat(np.arange(len(layer)), ends - starts)
    is_word = np.array([any(map(str.isalnum, item)) for item in layer.vocabulary], np.bool_)
    is_content = is_word & [item.lower() not in list_function_words() for item in layer.vocabulary]
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
        is_repeated = valid & (np.asarray(numbers) >= 0)
        is_repeated &= before[np.minimum(place + n, len(place))] > before[:-1]
        if n > 1:
            last = np.minimum(place + n - 1, len(place) - 1)
            is_repeated &= is_word[layer.ids] & is_word[layer.ids[last]]
        where = place[is_repeated]
        ngram_numbers = np.asarray(numbers)[where].astype(np.int64)
        often = np.bincount(ngram_numbers, minlength=kinds) >= least
        where, ngram_numbers = where[often[ngram_numbers]], ngram_numbers[often[ngram_numbers]]
        used, first, item = np.unique(ngram_numbers, return_index=True, return_inverse=True)
        grams = [tuple(layer.vocabulary[i] for i in layer.ids[p : p + n]) for p in where[first]]
        begins = np.full(len(place), -1, np.int64)
        begins[where] = item
        counts = _counted(text[where], item, (len(layer), len(used)))
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

    documents = [find_pattern(index, queries, DEFAULT).documents for queries in patterns.values()]
    item = np.repeat(np.arange(len(documents)), [len(texts) for texts in documents])
    text = np.concatenate(documents) if documents else np.empty(0, np.int64)
    counts = _counted(text, item, (len(words), len(documents)))
    return Items(counts, words, [(name,) for name in patterns], counts.tocsc())


Side = Sequence[tuple[Integers, int]]
"""By length: how often a side has each item, and how many places for one."""


@dataclass(frozen=True, slots=True)
class SourceContrast:
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
    jobs: int = 1,
) -> SourceContrast:
    """`theirs` are the texts on the other side, or `others` the counts and total of each length in
    a corpus, whose texts cannot be permuted."""
    our_counts = _side(items, ours)
    other_side = others if theirs is None else _side(items, theirs)
    in_test, texts = (our_counts, other_side), 0
    if permuted is not None and theirs is not None and permutations:
        pair = permuted(0)
        texts = sum(map(len, pair))
        if texts < len(ours) + len(theirs):
            in_test = _side(items, pair[0]), _side(items, pair[1])
    from rote.search.rows import collocates

    tested = [frequent_enough(a, b, (m, n)) for (a, m), (b, n) in zip(*in_test)]
    contrasts = [contrast(a, b, (m, n)) for (a, m), (b, n) in zip(our_counts, other_side)]
    totals = tuple(
        np.repeat([float(total) for _, total in side], [len(counts) for counts, _ in side])
        for side in (our_counts, other_side)
    )
    a, b = (np.concatenate([counts for counts, _ in side]) for side in (our_counts, other_side))
    g2 = collocates.log_likelihood(a, b, *totals)
    flags = np.concatenate(tested)
    independent = np.where(flags, collocates.likelihood_p(g2), np.nan)
    z = np.concatenate([result.z for result in contrasts])
    p, strength = np.full(len(a), np.nan), np.where(flags, np.abs(z), -np.inf)
    if permuted is not None and permutations and flags.any():
        z_of = _permuted_z(items, tested, in_test, permuted, permutations)
        stands = permuted_excess(z_of, permutations, two_sided=True, jobs=jobs)
        # What all texts say the other way round than as many of each doc_id is not claimed.
        turned = z_of(0) * z[flags] < 0
        p[flags] = np.where(turned, 1.0, stands.p())
        strength[flags] = np.where(turned, 0.0, stands.excess)
    return SourceContrast(
        ours=a,
        theirs=b,
        totals=totals,  # type: ignore[arg-type]
        delta=np.concatenate([result.delta for result in contrasts]),
        z=z,
        g2=g2,
        log_ratio=collocates.log_ratio(a, b, *totals),
        p_independent=benjamini_hochberg(independent),
        p=p,
        strength=strength,
        tested=flags,
        texts=texts,
    )


def _side(items: Sequence[Items], take: Take) -> Side:
    return [(counts.of(take), int(counts.sizes[take].sum())) for counts in items]


def exchanged(
    ours: Take, theirs: Take, ids: Sequence[str], strata: Integers, seed: int, purpose: str
) -> Callable[[int], Groups]:
    """A function that gives the two groups with labels permuted, by the number of the draw; 0: as
    they are, with as many texts of each doc_id."""
    names = ids or range(len(strata))
    pair = balance_groups_by_id(ours, theirs, strata, names, generator(seed, f"choose {purpose}"))
    exchange = make_exchange(*pair, strata)
    return lambda draw: exchange(generator(seed, purpose, draw)) if draw else pair


def _permuted_z(
    items: Sequence[Items],
    tested: Sequence[Flags],
    sides: tuple[Side, Side],
    permuted: Callable[[int], Groups],
    permutations: int,
) -> Callable[[int], Floats]:
    """z of the tested items, of the groups as they are (0) and of each permutation."""
    labels = np.zeros((len(items[0].sizes), permutations + 1))
    for run in range(1, permutations + 1):
        labels[permuted(run)[0], run] = 1
    counts, places = [], []
    for items_of_length, flags in zip(items, tested):
        counts.append(np.asarray(items_of_length.counts[:, flags].T @ labels))
        places.append(items_of_length.sizes.astype(np.float64) @ labels)

    def z_of(run: int) -> Floats:
        z_values = []
        of_lengths = enumerate(zip(tested, *sides))
        for number, (flags, (our_counts, size), (their_counts, others)) in of_lengths:
            both, total = (our_counts + their_counts)[flags], size + others
            ours = our_counts[flags] if run == 0 else counts[number][:, run]
            places_ = size if run == 0 else int(places[number][run])
            z_values.append(contrast(ours, both - ours, (places_, total - places_)).z)
        return np.concatenate(z_values)

    return z_of


class Where:
    """The places at which items of all lengths begin, in some texts or in all; items are numbered
    through all lengths."""

    def __init__(self, items: Sequence[Items], layer: Layer, take: Take | None) -> None:
        inside = np.ones(len(layer.ids), np.bool_)
        if take is not None:
            is_used = np.zeros(len(layer), np.bool_)
            is_used[take] = True
            inside = np.repeat(is_used, layer.text_ends - layer.text_starts)
        self.at, self._order, self._ends, self._firsts = [], [], [], [0]
        for counts in items:
            assert counts.numbers is not None
            begins = np.where(inside, counts.numbers, -1)
            self.at.append(begins)
            places = np.flatnonzero(begins >= 0)
            order = places[np.argsort(begins[places], kind="stable")]
            self._order.append(order)
            self._ends.append(np.searchsorted(begins[order], np.arange(len(counts.grams) + 1)))
            self._firsts.append(self._firsts[-1] + len(counts.grams))

    def split(self, number: int) -> tuple[int, int]:
        """Which length an item is of, and its number there."""
        length = int(np.searchsorted(self._firsts, number, side="right")) - 1
        return length, number - self._firsts[length]

    def __call__(self, number: int) -> Integers:
        length, gram = self.split(number)
        ends = self._ends[length]
        return self._order[length][ends[gram] : ends[gram + 1]]

    def together(self, first: int, second: int, step: int) -> bool:
        """Whether the one item and, `step` places further, the other hardly occur apart."""
        places = self(first)
        length, gram = self.split(second)
        there = places + step
        there = there[(there >= 0) & (there < len(self.at[length]))]
        both = int((self.at[length][there] == gram).sum())
        return both > 0 and both >= _SAME * max(len(places), len(self(second)))


@dataclass(slots=True)
class KeyPhrase:
    """The strongest window of a phrase, its number, and all words of its windows; `offset` is
    where the window begins in them."""

    number: int
    words: tuple[str, ...]
    offset: int = 0
    windows: int = 1


def phrases(
    grams: Sequence[tuple[str, ...]], where: Where, order: Integers, top: int
) -> list[KeyPhrase]:
    """The strongest items, with windows of one phrase put together: those that hold each other or
    overlap, and hardly occur apart."""
    merged: list[KeyPhrase] = []
    for number in order[: _LOOKED_AT * top].tolist():
        new = KeyPhrase(number, grams[number])
        grown = next((phrase for phrase in merged if _absorbed(phrase, new, where)), None)
        if grown is None:
            if len(merged) < top:
                merged.append(new)
            continue
        for phrase_part in [phrase for phrase in merged if phrase is not grown]:
            # A window between two phrases makes one of them: the stronger stays.
            stays, goes = sorted((grown, phrase_part), key=merged.index)
            if _absorbed(stays, goes, where):
                merged.remove(goes)
                grown = stays
    return merged


def _absorbed(phrase: KeyPhrase, other: KeyPhrase, where: Where) -> bool:
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
    from rote.search.rows.collocates import deviation, juilland

    counts, sizes = items.column(number)[take], items.sizes[take]
    return {"juilland_d": juilland(counts, sizes), "dp": deviation(counts, sizes)}


def covered(layer: Layer, items: Sequence[Items], key: Sequence[Flags], take: Take) -> float:
    inside = np.zeros(len(layer.ids) + 1, np.int64)
    for counts, flags in zip(items, key):
        if counts.numbers is not None and flags.any():
            starts = np.flatnonzero((counts.numbers >= 0) & flags[counts.numbers])
            np.add.at(inside, starts, 1)
            np.add.at(inside, starts + counts.n, -1)
    positions = np.concatenate(([0], np.cumsum(np.cumsum(inside)[:-1] > 0)))
    starts, ends = layer.text_starts[take], layer.text_ends[take]
    words = int((ends - starts).sum())
    return float((positions[ends] - positions[starts]).sum() / words) if words else float("nan")
