"""Which texts say in other words what a part of a test item says; texts may be a stream.

A part is compared as a whole (a long one in pieces) with windows of one to three sentences, because
whoever rewords joins sentences and turns them around. Three steps, each for what the step before
let pass:

1. The cosine of static vectors, and the share of words in common by weight: all windows.
2. Alignment of words: each word of one side with the most similar word of the other by static
   vectors, weighted by rarity. How much of the piece the window has counts, and the worse of both
   directions, since a window that says the same leaves nothing out and adds nothing.
3. The same with the encoder's vectors of word pieces in their sentences, and the cosine of wholes.
   A match is what chance reaches seldom enough; that is counted on the sample's own sentences.

Pieces of which the sample has the like (*he looked at the clock*) must be met more closely, in the
second step and in the third.

Products of static vectors are whole numbers that single precision adds exactly, so the same windows
pass on every machine.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from rote.annotate import sentences, words
from rote.annotate.embeddings import static
from rote.annotate.embeddings.minilm import PIECE_UNIT, read_pieces
from rote.annotate.folded_words import lower_word
from rote.core.arrays import Array, Integers
from rote.core.kernels import njit
from rote.core.layer import Layer, starts_of
from rote.core.numbers import format_number
from rote.search.meaning import facts
from rote.search.meaning.chains import (
    UNIT,
    Vectors,
    sentence_bounds,
    span_strings,
    word_sets,
    word_weight,
)
from rote.search.meaning.facts import compare_pairs

VERSION = f"parts/4+facts/{facts.VERSION}"
_SENTENCES, _LONGEST = 3, 100
"""Sentences of a window or a piece, and words that several of them have at most."""
_SAMPLED = 20_000
"""Sentences of the sample that tell how rare words are."""
_BLOCKS = 400
"""Blocks of `_ROWS` sentences of the sample that tell what chance does."""
_PASS, _ALIGNED = 0.15, 0.002
"""The shares of a sample's windows that pass the first and the second step."""
_SURE, _SURELY_ALIGNED = 750, 1500
"""With this score a window passes in any case."""
_NEAR = 0.4
"""The cosine from which on shared words are looked at."""
_MOST = 8
"""Pieces that a window is compared with, the nearest ones."""
_COPY = 1400
"""Windows of the sample with this score in the first step may be copies of a piece, and tell
nothing about chance."""
_SLACK = 35
"""Of overlapping windows those go on that align so much worse than the best at most."""
_ROWS = 256
_SQUARE = static.UNIT**2
_SCALE, _LONG = 128, 2000
"""Sums of sentences are divided, and cut, so that products stay below 2**24."""
_ALIGNED_WORSE, _ALIGNED_WEIGHT, _ALIGNED_UNEQUAL = 0.82, 90.0, -106.0
"""Of the second step's score, beside how much of the piece the window has: the worse of both
directions, the logarithm of the weight, and how much longer one is than the other."""
_WORSE, _COSINE, _WEIGHT, _UNEQUAL = 0.32, 0.77, 183.0, -80.0
"""Of the third step's, likewise; and the cosine of wholes. Both were fitted by logistic regression
on 210 reworded items and 8 million words of novels; other items and authors tested them
(docs/curate.md)."""
_LIKE_SHARE, _LEAST_LIKE, _COMMON, _RATE = 3e-4, 5, 1050, 0.3
"""The second step tells of which pieces the sample has the like: if so large a share of its
sentences (so many of a small sample) reach a score above `_COMMON`, this share of the difference is
taken from the piece's scores. Some may be the item itself."""
_SHARES = (3e-3, 1e-3, 3e-4, 1e-4)
_USUAL = (1985.0, 2210.0, 2330.0, 2400.0)
"""The scores that these shares of sentences of novels reach with `_USUAL_PIECES` pieces."""
_USUAL_PIECES = 3_500
_ENOUGH = 10
"""So many sentences must have reached a score for it to be counted."""
_TRIMMED = 3
"""So often sentences of the sample that are matches are looked for and left out of chance."""
_SMALLEST = 1e-12
_LINE_ENDS = re.compile(r"""[.!?]["'”’)]*[ \t\r]*\n|\n(?=\s*["'“‘(]?[A-Z0-9])""")
"""Where a line ends a sentence, or the next one begins one."""
HELD = 0.5
"""The share of a part's words that the pieces of a match hold at least."""
_APART = 100
"""Words that may stand between the pieces of a part."""


@dataclass(frozen=True, slots=True)
class PartMeaning:
    """Characters `start` to `end` of a text, whole sentences, that say what a part says; `p` is the
    probability that a passage which has nothing to do with the parts does as well."""

    text: int
    part: int
    start: int
    end: int
    words: int
    similarity: float
    p: float
    differing: tuple[str, ...]
    """Facts (numbers, names, negation) in which both differ."""


@dataclass(frozen=True, slots=True)
class SentenceWindows:
    """Sentences in a row: words `first[w]` to `last[w]` of a layer, `counts[w]` sentences from
    `sentences[w]` on, of text `texts[w]`."""

    first: Integers
    last: Integers
    sentences: Integers
    counts: Integers
    texts: Integers

    @classmethod
    def of(cls, layer: Layer) -> SentenceWindows:
        """All of one to three sentences; of more than one only if they are not too long."""
        first, last = sentence_bounds(layer)
        texts = np.searchsorted(layer.text_ends, first, side="right")
        begins = np.repeat(np.arange(len(first)), _SENTENCES)
        ends = begins + np.tile(np.arange(_SENTENCES), len(first))
        inside = np.minimum(ends, len(first) - 1)
        fits = (ends < len(first)) & (texts[begins] == texts[inside])
        fits &= (begins == ends) | (last[inside] - first[begins] <= _LONGEST)
        begins, ends = begins[fits], ends[fits]
        return cls(first[begins], last[ends], begins, ends - begins + 1, texts[begins])

    def strings(self, texts: Sequence[str], layer: Layer) -> list[str]:
        return span_strings(texts, layer, self.texts, self.first, self.last)

    def __getitem__(self, rows: Integers | NDArray[np.bool_] | slice) -> SentenceWindows:
        columns = (self.first, self.last, self.sentences, self.counts, self.texts)
        return SentenceWindows(*(column[rows] for column in columns))

    def __len__(self) -> int:
        return len(self.first)


def _cut_pieces(layer: Layer) -> SentenceWindows:
    """Texts in as few pieces as window size allows, one after the other."""
    first, last = sentence_bounds(layer)
    texts = np.searchsorted(layer.text_ends, first, side="right")
    begins: list[int] = []
    for number in range(len(first)):
        begin = begins[-1] if begins else 0
        if (
            not begins
            or texts[number] != texts[begin]
            or number - begin >= _SENTENCES
            or last[number] - first[begin] > _LONGEST
        ):
            begins.append(number)
    rows = np.array(begins, np.int64)
    ends = np.append(rows[1:], len(first))[: len(rows)] - 1
    return SentenceWindows(first[rows], last[ends], rows, ends - rows + 1, texts[rows])


@dataclass(frozen=True, slots=True)
class PieceCandidates:
    """Windows and the pieces that they may say."""

    windows: Integers
    pieces: Integers
    scores: Integers
    """In thousandths."""
    weights: Integers
    """The weight of the words of the one that says less."""

    def __getitem__(self, rows: NDArray[np.bool_] | Integers) -> PieceCandidates:
        columns = (self.windows, self.pieces, self.scores, self.weights)
        return PieceCandidates(*(column[rows] for column in columns))

    def lower(self, offsets: Integers) -> PieceCandidates:
        return replace(self, scores=self.scores - offsets[self.pieces])


@dataclass(frozen=True, slots=True)
class LayerWords:
    """The different words of a layer in lower case; marks are none (-1)."""

    ids: Integers
    """The number of each word of the layer."""
    known: Integers
    """The number that a sieve has for each word, -1 for none."""
    weights: Integers
    rows: NDArray[np.int8]
    """Static vectors in whole numbers."""


@dataclass(frozen=True, slots=True)
class Sieve:
    """The pieces, as windows are quickly compared with them."""

    vectors: Vectors
    """Static vectors in whole numbers, see `embeddings/static.py`."""
    numbers: dict[str, int]
    """The different words of the pieces."""
    starts: Integers
    """Where the words of each piece begin in `words`."""
    words: Integers
    weights: Integers
    """How rare each word is, ten for each nat."""
    totals: Integers
    """The weights of the different words of each piece."""
    sizes: Integers
    """Words of each piece."""
    rows: NDArray[np.int8]
    """Static vectors of words."""
    counts: dict[str, int]
    """How many sentences of a sample have a word, and how many there are."""
    sampled: int

    @classmethod
    def build(cls, layer: Layer, pieces: SentenceWindows, among: Sequence[frozenset[str]]) -> Sieve:
        """Rare is a word `among` others."""
        own_words = word_sets(layer.ids, layer.vocabulary, pieces.first, pieces.last)
        numbers = {word: n for n, word in enumerate(sorted(frozenset().union(*own_words)))}
        counts = dict(Counter(word for each in among for word in each))
        ids = [sorted(numbers[word] for word in each) for each in own_words]
        weights = _weigh_words(list(numbers), counts, len(among))
        rows = static.weighted_rows(layer.vocabulary)
        sums = static.sum_spans(rows, layer.ids, pieces.first, pieces.last)
        return cls(
            static.quantize(sums).astype(np.float32),
            numbers,
            np.cumsum([0, *map(len, ids)]),
            np.array([number for each in ids for number in each], np.int64),
            weights,
            np.array([weights[each].sum() for each in ids], np.int64),
            pieces.last - pieces.first,
            _word_rows(list(numbers)),
            counts,
            len(among),
        )

    def read_words(self, layer: Layer) -> LayerWords:
        """The words of texts, as the pieces' words are numbered and weighed."""
        strings = list(map(lower_word, layer.vocabulary))
        different = [word for word in dict.fromkeys(strings) if word]
        codes = {word: number for number, word in enumerate(different)}
        code_of = np.array([codes.get(word, -1) for word in strings], np.int64)
        return LayerWords(
            code_of[layer.ids] if len(strings) else np.empty(0, np.int64),
            np.array([self.numbers.get(word, -1) for word in different], np.int64),
            _weigh_words(different, self.counts, self.sampled),
            _word_rows(different),
        )

    def find_near(
        self, layer: Layer, text_words: LayerWords, windows: SentenceWindows
    ) -> PieceCandidates:
        """The first step: the nearest pieces of each window, and how near they are."""
        pieces = np.full((len(windows), _MOST), -1, np.int64)
        scores = np.zeros((len(windows), _MOST), np.int64)
        weights = np.zeros((len(windows), _MOST), np.int64)
        sums = _sum_sentences(layer, *sentence_bounds(layer))
        lengths = _window_lengths(sums, windows)
        columns = self.starts, self.words, self.weights, self.totals
        text = text_words.ids, text_words.known, text_words.weights
        for begin in range(0, len(sums) if len(self.vectors) else 0, _ROWS):
            low, high = np.searchsorted(windows.sentences, (begin, begin + _ROWS))
            if low == high:
                continue
            some = slice(low, high)
            products = sums[begin : begin + _ROWS + _SENTENCES - 1] @ self.vectors.T
            part = windows[some]
            rows = part.sentences - begin, part.counts, lengths[some], part.first, part.last
            out = pieces[some], scores[some], weights[some]
            _near_pieces(products, _NEAR, static.UNIT, rows, text, columns, out)
        best = np.nonzero(pieces >= 0)
        return PieceCandidates(best[0], pieces[best], scores[best], weights[best])

    def align(
        self, text_words: LayerWords, windows: SentenceWindows, near: PieceCandidates
    ) -> PieceCandidates:
        """The second step: what is near, scored by the words that are alike; of overlapping
        windows the best."""
        covered = np.zeros((len(near.windows), 2), np.int64)
        first, last = windows.first[near.windows], windows.last[near.windows]
        ours = text_words.rows, text_words.ids, text_words.weights, first, last
        pieces = self.starts[near.pieces], self.starts[near.pieces + 1]
        _cover(ours, (self.rows, self.words, self.weights, *pieces), _SQUARE, covered)
        scores = covered[:, 1] + _ALIGNED_WORSE * covered.min(axis=1, initial=UNIT)
        scores += _ALIGNED_WEIGHT * _logarithm(near.weights)
        scores += _ALIGNED_UNEQUAL * _log_ratios(last - first, self.sizes[near.pieces])
        rounded = np.rint(scores).astype(np.int64)
        aligned = PieceCandidates(near.windows, near.pieces, rounded, near.weights)
        aligned = aligned[np.lexsort((aligned.windows, aligned.pieces))]
        keep = np.zeros(len(rounded), np.bool_)
        spans = windows.first[aligned.windows], windows.last[aligned.windows]
        _keep_local_best(aligned.pieces, *spans, aligned.scores, _SLACK, keep)
        return aligned[keep]


@dataclass(frozen=True, slots=True)
class WindowChance:
    """How often the best window from a sentence on reaches a score by chance; above the counted
    levels the tail is exponential."""

    levels: tuple[float, ...]
    """The scores that `_SHARES` of sentences reach, falling shares."""
    scale: float

    @classmethod
    def count(cls, scores: Integers, pieces: int) -> WindowChance:
        """From the best scores of sentences; shares that too few of them reach are as usual."""
        ordered = _drop_matches(np.sort(scores)[::-1])
        shift = 80.0 * float(np.log(max(1, pieces) / _USUAL_PIECES))
        levels: list[float] = []
        for share, usual in zip(_SHARES, _USUAL):
            place = int(share * len(ordered))
            if place >= _ENOUGH:
                levels.append(float(ordered[place]))
            else:
                before = _USUAL[len(levels) - 1] if levels else usual
                levels.append(usual - before + levels[-1] if levels else usual + shift)
        usual_scale, scale = (
            (each[-1] - each[1]) / float(np.log(_SHARES[1] / _SHARES[-1]))
            for each in (_USUAL, levels)
        )
        return cls(tuple(levels), round(max(scale, usual_scale / 2), 1))

    def probability(self, score: float) -> float:
        """That a sentence reaches the score; never above the largest counted share."""
        levels = np.array(self.levels) + 1e-6 * np.arange(len(_SHARES))
        log = np.interp(score, levels, np.log(_SHARES))
        share = float(np.exp(log - max(0.0, score - self.levels[-1]) / self.scale))
        return float(format_number(max(_SMALLEST, share), ".2g"))


@dataclass(frozen=True, slots=True)
class _PieceMatch:
    text: int
    part: int
    piece: int
    first: int
    last: int
    similarity: int
    score: int
    p: float


@dataclass(frozen=True, slots=True)
class MeaningMatcher:
    """The pieces of parts, and what is a match with them; travels to worker processes."""

    parts: tuple[str, ...]
    part_of: Integers
    """The part of each piece."""
    totals: Integers
    """Words of each part."""
    vectors: NDArray[np.int8]
    """The encoder's of the word pieces of each piece, which end at `ends`."""
    ends: Integers
    sieve: Sieve
    least: tuple[int, int]
    """The scores from which on a window passes the first two steps."""
    chance: WindowChance
    offsets: Integers
    """By how much the scores of each piece are lowered, because the sample has the like of it."""
    most: float

    @classmethod
    def build(
        cls, parts: Sequence[str], judged: NDArray[np.bool_], sample: Sequence[str], most: float
    ) -> MeaningMatcher:
        """`judged`: the parts that are looked for. `sample`: texts that tell what chance does."""
        looked_for = [part if is_judged else "" for part, is_judged in zip(parts, judged)]
        layer = split_layer(looked_for)
        pieces = _cut_pieces(layer)
        sample_layer = split_layer(sample)
        first, last = sentence_bounds(sample_layer)
        step = max(1, len(first) // _SAMPLED)
        among = word_sets(sample_layer.ids, sample_layer.vocabulary, first[::step], last[::step])
        sieve = Sieve.build(layer, pieces, among)
        matcher = cls(
            tuple(parts),
            pieces.texts,
            np.bincount(pieces.texts, sieve.sizes, minlength=len(parts)).astype(np.int64),
            *read_pieces(pieces.strings(looked_for, layer)),
            sieve,
            (0, 0),
            WindowChance.count(np.empty(0, np.int64), len(pieces)),
            np.zeros(len(pieces), np.int64),
            most,
        )
        windows = SentenceWindows.of(sample_layer)
        every = max(1, len(first) // _ROWS // _BLOCKS)
        blocks = windows.sentences // _ROWS
        chosen = blocks % every == 0
        return matcher._learn_chance(sample, sample_layer, windows[chosen])

    def _learn_chance(
        self, texts: Sequence[str], layer: Layer, windows: SentenceWindows
    ) -> MeaningMatcher:
        text_words = self.sieve.read_words(layer)
        near = self.sieve.find_near(layer, text_words, windows)
        passing = _border(near, len(windows), _PASS, _SURE)
        aligned = self.sieve.align(text_words, windows, near[near.scores >= passing])
        sentences = windows.sentences[aligned.windows]
        place = max(_LEAST_LIKE, round(_LIKE_SHARE * len(np.unique(windows.sentences))))
        matcher = replace(self, offsets=_offsets(aligned, sentences, len(self.part_of), place))
        aligned = aligned.lower(matcher.offsets)
        border = _border(aligned, len(windows), _ALIGNED, _SURELY_ALIGNED)
        passed = aligned[aligned.scores >= border]
        scored, _ = matcher._encode(texts, layer, windows, passed)
        copies = windows.sentences[near.windows[near.scores >= _COPY]]
        suspect = np.concatenate([copies - back for back in range(_SENTENCES)])
        best = np.zeros(int(windows.sentences.max(initial=-1)) + 1, np.int64)
        np.maximum.at(best, windows.sentences[scored.windows], scored.scores)
        honest = np.setdiff1d(windows.sentences, suspect)
        chance = WindowChance.count(best[honest], len(self.part_of))
        return replace(matcher, least=(passing, border), chance=chance)

    def find(self, texts: Sequence[str]) -> list[PartMeaning]:
        """All matches, by text and place; several parts may have the same."""
        layer = split_layer(texts)
        windows = SentenceWindows.of(layer)
        scored, similar = self._encode(texts, layer, windows, self.pass_sieve(layer, windows))
        likely = []
        columns = (scored.windows, scored.pieces, similar, scored.scores)
        for window, piece, similarity, score in zip(*(column.tolist() for column in columns)):
            p = self.chance.probability(score)
            if p <= self.most:
                place = int(windows.first[window]), int(windows.last[window])
                text, part = int(windows.texts[window]), int(self.part_of[piece])
                likely.append(_PieceMatch(text, part, piece, *place, similarity, score, p))
        matches = [
            PartMeaning(
                text=group[0].text,
                part=group[0].part,
                start=int(layer.starts[group[0].first]),
                end=int(layer.ends[max(match.last for match in group) - 1]),
                words=max(match.last for match in group) - group[0].first,
                similarity=round(float(np.mean([match.similarity for match in group])) / UNIT, 3),
                p=min(match.p for match in group),
                differing=(),
            )
            for group in self._join_pieces(likely)
        ]
        pairs = [(texts[m.text][m.start : m.end], self.parts[m.part]) for m in matches]
        compared = [replace(m, differing=each) for m, each in zip(matches, compare_pairs(pairs))]
        return sorted(compared, key=attrgetter("text", "start", "part"))

    def pass_sieve(self, layer: Layer, windows: SentenceWindows) -> PieceCandidates:
        """The first two steps."""
        text_words = self.sieve.read_words(layer)
        near = self.sieve.find_near(layer, text_words, windows)
        aligned = self.sieve.align(text_words, windows, near[near.scores >= self.least[0]])
        aligned = aligned.lower(self.offsets)
        return aligned[aligned.scores >= self.least[1]]

    def _encode(
        self, texts: Sequence[str], layer: Layer, windows: SentenceWindows, aligned: PieceCandidates
    ) -> tuple[PieceCandidates, Integers]:
        """The third step: what passes the second, scored by the encoder, and how similar it is."""
        used, places = np.unique(aligned.windows, return_inverse=True)
        rows, ends = read_pieces(windows[used].strings(texts, layer))
        starts = starts_of(ends)[places], starts_of(self.ends)[aligned.pieces]
        last = ends[places], self.ends[aligned.pieces]
        items, even = np.arange(len(rows)), np.zeros(len(rows), np.int64)
        others, as_even = np.arange(len(self.vectors)), np.zeros(len(self.vectors), np.int64)
        covered = np.zeros((len(places), 2), np.int64)
        theirs = self.vectors, others, as_even, starts[1], last[1]
        _cover((rows, items, even, starts[0], last[0]), theirs, PIECE_UNIT**2, covered)
        worse = covered.min(axis=1, initial=UNIT)
        wholes = zip((rows, self.vectors), starts, last)
        cosines = UNIT * _row_cosines(*(_sum_rows(*spans) for spans in wholes))
        sizes = tuple(each - start for start, each in zip(starts, last))
        scores = covered[:, 1] + _WORSE * worse + _COSINE * cosines
        scores += _WEIGHT * _logarithm(aligned.weights) + _UNEQUAL * _log_ratios(*sizes)
        scored = np.rint(scores).astype(np.int64)
        result = PieceCandidates(aligned.windows, aligned.pieces, scored, aligned.weights)
        return result.lower(self.offsets), worse

    def _join_pieces(self, matches: Sequence[_PieceMatch]) -> Iterator[list[_PieceMatch]]:
        """Of each part the best windows that do not overlap, if those that stand together hold
        half of it; by place."""
        by_part = attrgetter("text", "part")
        for _, several in groupby(sorted(matches, key=by_part), key=by_part):
            best: list[_PieceMatch] = []
            for match in sorted(several, key=lambda m: (-m.score, m.first, m.last, m.piece)):
                if all(match.first >= m.last or m.first >= match.last for m in best):
                    best.append(match)
            group: list[_PieceMatch] = []
            for after in [*sorted(best, key=attrgetter("first")), None]:
                if group and (
                    after is None
                    or after.piece in {m.piece for m in group}
                    or after.first - group[-1].last > _APART
                ):
                    sum_covered = sum(self.sieve.sizes[m.piece] for m in group)
                    if sum_covered >= HELD * self.totals[group[0].part]:
                        yield group
                    group = []
                if after is not None:
                    group.append(after)


def _drop_matches(ordered: Integers) -> Integers:
    """Falling scores of a sample's sentences without those that none of so many reaches by chance,
    as far above `_SHARES[0]` of them as is usual: the sample may hold items."""
    scale = (_USUAL[-1] - _USUAL[1]) / float(np.log(_SHARES[1] / _SHARES[-1]))
    for _ in range(_TRIMMED):
        place = int(_SHARES[0] * len(ordered))
        if place < _ENOUGH:
            break
        above = _USUAL[-1] - _USUAL[0] + scale * max(0.0, np.log(_SHARES[-1] * len(ordered)))
        ordered = ordered[ordered <= ordered[place] + above]
    return ordered


def _offsets(aligned: PieceCandidates, sentences: Integers, count: int, place: int) -> Integers:
    """By how much the scores of each piece are lowered: by a share of what so many of the sample's
    passages, which do not overlap, have above `_COMMON`."""
    nearest: dict[int, list[int]] = {}
    offsets = np.zeros(count, np.int64)
    chosen = np.flatnonzero(aligned.scores > _COMMON)
    order = chosen[np.lexsort((chosen, -aligned.scores[chosen]))]
    columns = (aligned.pieces[order], sentences[order], aligned.scores[order])
    for piece, sentence, score in zip(*(column.tolist() for column in columns)):
        passages = nearest.setdefault(piece, [])
        if len(passages) < place and all(abs(sentence - p) >= _SENTENCES for p in passages):
            passages.append(sentence)
            if len(passages) == place:
                offsets[piece] = int(_RATE * (score - _COMMON))
    return offsets


def _logarithm(weights: Integers) -> Array:
    logarithms: Array = np.log(np.maximum(1, weights))
    return logarithms


def _log_ratios(sizes: Integers, others: Integers) -> Array:
    """How much longer the longer one of two is."""
    ratios: Array = np.abs(_logarithm(sizes) - _logarithm(others))
    return ratios


def _sum_rows(rows: NDArray[np.int8], first: Integers, last: Integers) -> Integers:
    numbers = np.arange(len(rows), dtype=np.int32)
    return static.sum_spans(rows.astype(np.int16), numbers, first, last)


def _row_cosines(rows: Integers, others: Integers) -> Array:
    """Of each row with the other in its place; exact but for the division."""
    products, squares, other_squares = (
        np.einsum("ij,ij->i", *pair) for pair in ((rows, others), (rows, rows), (others, others))
    )
    lengths: Array = np.sqrt(np.maximum(1.0, squares.astype(np.float64) * other_squares))
    cosines: Array = products / lengths
    return cosines


def split_layer(texts: Sequence[str]) -> Layer:
    """The words of texts with the ends of their sentences; a line ends one if it closes with a full
    stop, or the next begins with a capital: an item may stand between lines that were wrapped."""
    layer = sentences.split(texts, words.get(words.DEFAULT)(texts))
    assert layer.sentence_ends is not None
    ends = [layer.sentence_ends]
    for text, first, last in zip(texts, layer.text_starts.tolist(), layer.text_ends.tolist()):
        places = [match.end() for match in _LINE_ENDS.finditer(text)]
        ends.append(first + np.searchsorted(layer.starts[first:last], places))
    merged = np.unique(np.concatenate(ends).astype(np.int64))
    return replace(layer, sentence_ends=merged[merged > 0])


def _sum_sentences(layer: Layer, first: Integers, last: Integers) -> Vectors:
    """Static vectors of sentences in whole numbers, not of one length, so that they add up."""
    sums = static.sum_spans(static.weighted_rows(layer.vocabulary), layer.ids, first, last)
    return np.clip(np.rint(sums / _SCALE), -_LONG, _LONG).astype(np.float32)


def _window_lengths(sums: Vectors, windows: SentenceWindows) -> NDArray[np.float64]:
    """The length of the sum of each window's sentences."""
    squares = np.einsum("ij,ij->i", sums, sums, dtype=np.float64)
    total = np.zeros(len(windows))
    for back in range(_SENTENCES):
        rows = np.minimum(windows.sentences + back, len(sums) - 1)
        total += np.where(windows.counts > back, squares[rows], 0)
        for apart in range(1, back + 1):
            products = np.einsum("ij,ij->i", sums[apart:], sums[:-apart], dtype=np.float64)
            earlier = np.minimum(rows - apart, len(products) - 1)
            total += (
                np.where(windows.counts > back, 2 * products[earlier], 0) if len(products) else 0
            )
    return np.sqrt(total)


def _weigh_words(strings: Sequence[str], counts: dict[str, int], sampled: int) -> Integers:
    shares = ((counts.get(word, 0) + 0.5) / (sampled + 1) for word in strings)
    return np.fromiter(map(word_weight, shares), np.int64, len(strings))


def _word_rows(strings: Sequence[str]) -> NDArray[np.int8]:
    return static.quantize(static.weighted_rows(strings).astype(np.int64))


def _border(candidates: PieceCandidates, windows: int, share: float, sure: int) -> int:
    """The score that this share of windows exceeds; ties at the border stay out."""
    best = np.zeros(windows, np.int64)
    np.maximum.at(best, candidates.windows, candidates.scores)
    if not windows:
        return sure
    return min(int(np.sort(best)[int((1 - share) * (windows - 1))]) + 1, sure)


@njit(cache=True, nogil=True)
def _near_pieces(
    products: Vectors,
    least: float,
    unit: int,
    windows: tuple[Array, ...],
    text: tuple[Integers, ...],
    sieve: tuple[Integers, ...],
    out: tuple[Integers, ...],
) -> None:
    """For each window the pieces with the highest scores: cosines and shares of words in common,
    in thousandths; cosines below `least` are none. Of equal ones the first stay."""
    sentences, counts, lengths, first, last = windows
    ids, known, own_weights = text
    starts, words, weights, totals = sieve
    pieces, scores, least_weights = out
    stamps = np.full(len(weights), -1, np.int64)
    counted = np.full(len(known), -1, np.int64)
    sums = np.zeros(products.shape[1], np.float32)
    for row in range(len(sentences)):
        total = np.int64(0)
        for place in range(first[row], last[row]):
            code = ids[place]
            if code >= 0 and counted[code] != row:
                counted[code] = row
                total += own_weights[code]
                if known[code] >= 0:
                    stamps[known[code]] = row
        # Windows from one sentence on come in a row, each a sentence longer than the one before.
        if counts[row] == 1:
            sums[:] = products[sentences[row]]
        else:
            sums += products[sentences[row] + counts[row] - 1]
        length = lengths[row] * unit
        if length == 0:
            continue
        border = np.float32(least * length)
        for column in range(len(sums)):
            product = sums[column]
            if product < border:
                continue
            shared = np.int64(0)
            for place in range(starts[column], starts[column + 1]):
                if stamps[words[place]] == row:
                    shared += weights[words[place]]
            score = np.int64(np.float64(product) * 1000 / length)
            score += shared * 1000 // max(total, totals[column], 1)
            lowest = 0
            for place in range(1, pieces.shape[1]):
                if scores[row, place] < scores[row, lowest]:
                    lowest = place
            if score > scores[row, lowest]:
                pieces[row, lowest], scores[row, lowest] = column, score
                least_weights[row, lowest] = min(total, totals[column])


@njit(cache=True, nogil=True)
def _cover(
    own_spans: tuple[Array, ...], other_spans: tuple[Array, ...], square: int, covered: Array
) -> None:
    """Of each pair of spans how much of the first the second has in similar items, and the other
    way round, in thousandths; items below 0 are none. An item weighs its weight and one.

    Spans: vectors of items, the items, their weights, where each span begins and ends.
    """
    own_rows, own_items, own_weights, own_first, own_last = own_spans
    rows, items, weights, first, last = other_spans
    room = 1
    for pair in range(len(first)):
        room = max(room, last[pair] - first[pair])
    reached = np.empty(room, np.int64)
    for pair in range(len(first)):
        begin, end = first[pair], last[pair]
        reached[: end - begin] = 0
        total, sum_covered = np.int64(0), np.int64(0)
        for place in range(own_first[pair], own_last[pair]):
            item = own_items[place]
            if item < 0:
                continue
            best = np.int64(0)
            for place_there in range(begin, end):
                product = np.int32(0)
                for column in range(rows.shape[1]):
                    product += np.int32(own_rows[item, column]) * np.int32(
                        rows[items[place_there], column]
                    )
                near = min(np.int64(product) * 1000 // square, np.int64(1000))
                best = max(best, near)
                reached[place_there - begin] = max(reached[place_there - begin], near)
            total += own_weights[item] + 1
            sum_covered += (own_weights[item] + 1) * best
        covered[pair, 0] = sum_covered // total if total else 0
        total, sum_covered = np.int64(0), np.int64(0)
        for place_there in range(begin, end):
            total += weights[items[place_there]] + 1
            sum_covered += (weights[items[place_there]] + 1) * reached[place_there - begin]
        covered[pair, 1] = sum_covered // total if total else 0


@njit(cache=True, nogil=True)
def _keep_local_best(
    pieces: Integers, first: Integers, last: Integers, scores: Integers, slack: int, keep: Array
) -> None:
    """Of spans sorted by piece and beginning those that no overlapping one of the same piece
    exceeds by more than `slack`."""
    for row in range(len(pieces)):
        best = scores[row]
        for step in (-1, 1):
            rival = row + step
            # Windows from as many sentences back may still overlap.
            while 0 <= rival < len(pieces) and abs(rival - row) <= 9:
                if pieces[rival] != pieces[row]:
                    break
                if first[rival] < last[row] and first[row] < last[rival]:
                    best = max(best, scores[rival])
                rival += step
        keep[row] = best - scores[row] <= slack
