"""How much of its reference a text shares, in words: ROUGE-1, 2, L and Lsum (Lin 2004), digit by
digit those of the package rouge-score 0.1.2.

A pair is a text and one reference; its words are two runs of places in one column of ids.
Subsequences are bit-parallel, as in `_pair_kernels`: a column of the usual table is a row of bits,
and a 0 says that the table grows by one there. That is all that is needed to walk back through it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.annotate import words
from rote.core.arrays import Array, Floats, Integers
from rote.core.errors import MissingExtra
from rote.core.kernels import njit
from rote.core.layer import Ids, Layer, Offsets
from rote.core.metric import Progress, Value, Work
from rote.core.ngrams import ONCE, number_ngrams
from rote.core.sample import SEVERAL, Need, RawText, Sample, Take
from rote.measure._pair_kernels import ALL, ONE, ZERO, common, forget, held, marks, step
from rote.measure._text_means import count_note
from rote.measure.reference_scores.options import Options
from rote.run import side_by_side

TITLES = {
    "rouge_1": "ROUGE-1",
    "rouge_2": "ROUGE-2",
    "rouge_l": "ROUGE-L",
    "rouge_lsum": "ROUGE-Lsum",
}
_STEMMED = 4
"""The fewest letters of a word that is stemmed."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The scores of every text, and how many words it and its field have."""

    scores: Mapping[str, Floats]
    lengths: Integers
    other_lengths: Integers


def values(options: Options) -> tuple[Value, ...]:
    kind = {"f": "F"}.get(options.rouge, options.rouge)
    titles = {name: f"{title} {kind}" for name, title in TITLES.items()}
    return tuple(Value(n, title, "neither", "length", share=True) for n, title in titles.items())


def needs(options: Options) -> tuple[Need, ...]:
    return (
        Need("word", "rouge", spans=True),
        Need("word", "rouge", spans=True, field=options.reference_field, several=True),
        Need("text"),
        Need("text", field=options.reference_field, several=True),
    )


def check(options: Options) -> None:
    if options.stemming:
        _stem()


def rows(sample: Sample, options: Options, work: Work) -> Rows:
    text_need, reference_need, *_ = needs(options)
    text, field = sample.layer(text_need), sample.layer(reference_need)
    if options.stemming:
        text, field = _stem_layer(text), _stem_layer(field)
    scores = rouge(
        Side(text, sample.text()),
        Side(field, sample.text(options.reference_field)),
        threads=work.jobs,
        progress=work.progress,
    )
    return Rows(
        scores={name: getattr(scores[name], options.rouge) for name in TITLES},
        lengths=text.text_ends - text.text_starts,
        other_lengths=field.text_ends - field.text_starts,
    )


def notes(rows: Rows, take: Take, options: Options) -> list[str]:
    sides = {"texts": rows.lengths, f"fields '{options.reference_field}'": rows.other_lengths}
    lines: list[str] = []
    for what, lengths in sides.items():
        lines += count_note(lengths[take] == 0, f"{what} without words (a-z, 0-9)", "scored 0: ")
    return lines


def _stem_layer(layer: Layer) -> Layer:
    """Every word of the vocabulary is stemmed once, however often it occurs in the texts."""
    stem = _stem()
    return layer.map("stem", lambda word: stem(word) if len(word) >= _STEMMED else word)


def _stem() -> Any:
    try:
        from nltk.stem.porter import PorterStemmer
    except ImportError:
        raise MissingExtra("nltk", "stemming", "ROUGE with stemming") from None
    return PorterStemmer().stem


PAIRS_AT_A_TIME = 2_000


@dataclass(frozen=True, slots=True)
class Score:
    """One number per text for each of the three; 0 where one of the two has no words."""

    precision: Floats
    recall: Floats
    f: Floats


@dataclass(frozen=True, slots=True)
class Side:
    """The words of one side of the comparison (with their places), and what they occur in."""

    words: Layer
    raw: RawText


def side_of(texts: Sequence[str]) -> Side:
    return Side(words.get("rouge")(texts), RawText.of(texts))


@dataclass(frozen=True, slots=True)
class ReferencePairs:
    """Every text with each of its references, their words in one column of ids.

    Texts are the runs `starts[t]:ends[t]`. Pair p is text `owner[p]` and the reference at
    `other_starts[p]:other_ends[p]`. `begins` marks the words that begin a line.
    """

    ids: Ids
    kinds: int
    begins: NDArray[np.uint8]
    starts: Offsets
    ends: Offsets
    owner: Integers
    other_starts: Offsets
    other_ends: Offsets

    def __len__(self) -> int:
        return len(self.owner)

    def places(self, part: slice) -> tuple[Offsets, Offsets, Offsets, Offsets]:
        """Of some pairs: starts and ends of the text, starts and ends of the reference."""
        owner = self.owner[part]
        return self.starts[owner], self.ends[owner], self.other_starts[part], self.other_ends[part]


def rouge(texts: Side, references: Side, *, threads: int, progress: Progress) -> dict[str, Score]:
    """ROUGE-1, 2, L and Lsum of every text, each against the reference with the highest F."""
    pairs = paired(texts, references)
    starts, ends, other_starts, other_ends = pairs.places(slice(None))
    size, other_size = ends - starts, other_ends - other_starts
    by_name = {}
    for n, shared in _shared_ngrams(pairs, threads):
        by_name[f"rouge_{n}"] = _best(shared, size - n + 1, other_size - n + 1, pairs)
        progress(0.1 * n)
    common = _common(pairs, threads, lambda share: progress(0.2 + 0.8 * share))
    by_name["rouge_l"] = _best(common[:, 0], size, other_size, pairs)
    by_name["rouge_lsum"] = _best(common[:, 1], size, other_size, pairs)
    progress(1.0)
    return by_name


def paired(texts: Side, references: Side) -> ReferencePairs:
    """A reference without words is left out: it could not score more than 0."""
    words, reference_words = texts.words, references.words
    numbers: dict[str, int] = {}
    ids = []
    for side in (words, reference_words):
        table = [numbers.setdefault(word, len(numbers)) for word in side.vocabulary]
        ids.append(np.array(table, np.int32)[side.ids])
    begins = _begins(texts), _begins(references)
    starts = np.flatnonzero(begins[1] == NEW_TEXT)
    base = len(words.ids)
    return ReferencePairs(
        ids=np.concatenate(ids),
        kinds=len(numbers),
        begins=np.concatenate(begins),
        starts=words.text_starts,
        ends=words.text_ends,
        owner=np.searchsorted(reference_words.text_ends, starts, side="right"),
        other_starts=base + starts,
        other_ends=base + np.append(starts[1:], len(reference_words.ids))[: len(starts)],
    )


def _begins(side: Side) -> NDArray[np.uint8]:
    words, raw = side.words, side.raw
    return np.asarray(
        breaks(raw.data, raw.ends, words.starts, words.text_ends, ord("\n"), ord(SEVERAL))
    )


def _shared_ngrams(pairs: ReferencePairs, threads: int) -> Iterator[tuple[int, Integers]]:
    """For n = 1 and 2: how many n-grams the two texts of each pair share."""
    starts = np.concatenate((pairs.starts, pairs.other_starts))
    ends = np.concatenate((pairs.ends, pairs.other_ends))
    for n, numbers, kinds, _ in number_ngrams(pairs.ids, starts, ends, pairs.kinds, 2):

        def count(part: slice, n: int = n, numbers: Ids = numbers, kinds: int = kinds) -> Integers:
            return np.asarray(count_shared_ngrams(numbers, kinds, *pairs.places(part), n))

        parts = [some for _, some in _blocks(count, len(pairs), threads)]
        yield n, np.concatenate([np.empty(0, np.int64), *parts])


def _common(pairs: ReferencePairs, threads: int, progress: Progress) -> Integers:
    """Of each pair the longest common subsequence, and the union over lines: their lengths."""

    def count(part: slice) -> Integers:
        places = pairs.places(part)
        return np.asarray(common_subsequences(pairs.ids, pairs.kinds, pairs.begins, *places))

    lengths = np.empty((len(pairs), 2), np.int64)
    for part, some in _blocks(count, len(pairs), threads):
        lengths[part] = some
        progress(part.stop / len(pairs))
    return lengths


def _blocks(
    count: Callable[[slice], Integers], pairs: int, threads: int
) -> Iterator[tuple[slice, Integers]]:
    """The pairs in blocks, in order, whatever the number of threads."""
    ends = range(PAIRS_AT_A_TIME, pairs + PAIRS_AT_A_TIME, PAIRS_AT_A_TIME)
    parts = [slice(end - PAIRS_AT_A_TIME, min(end, pairs)) for end in ends]
    yield from zip(parts, side_by_side(count, parts, threads))


def _best(shared: Integers, size: Integers, other_size: Integers, pairs: ReferencePairs) -> Score:
    """Of each text the scores with the reference that gives the highest F; the first of equals.

    `size` is how many items the text has of what is shared, `other_size` the reference.
    """
    precision = shared / np.maximum(size, 1)
    recall = shared / np.maximum(other_size, 1)
    both = precision + recall
    f = 2 * precision * recall / np.where(both > 0, both, 1)
    chosen = np.lexsort((-f, pairs.owner))
    owners, first = np.unique(pairs.owner[chosen], return_index=True)
    highest = np.zeros((3, len(pairs.starts)))
    highest[:, owners] = np.stack((precision, recall, f))[:, chosen[first]]
    return Score(*highest)


def method(s: Mapping[str, str]) -> str:
    stems = "" if s["stemming"] == "False" else " on Porter stems"
    kind = {"f": "F"}.get(s["rouge"], s["rouge"])
    return (
        f"ROUGE-1, -2, -L and -Lsum ({kind}){stems} are those of each text against the field "
        f"{s['reference_field']}"
    )


CITATION = "Lin (2004), ROUGE: A Package for Automatic Evaluation of Summaries"


NEW_LINE = 1
NEW_TEXT = 2


@njit(cache=True, nogil=True)
def breaks(
    data: Array, byte_ends: Array, places: Array, text_ends: Array, line: int, several: int
) -> Array:
    """For each word what begins with it: NEW_LINE, NEW_TEXT (which is a new line too), or 0.

    `places` are the characters at which words start in their own text, `data` the texts in
    UTF-8. The first word of a text begins one; so does the first after the byte `several`.
    """
    begins = np.zeros(len(places), np.uint8)
    byte = 0
    word = 0
    for text in range(len(text_ends)):
        character = -1
        begun = NEW_TEXT
        while word < text_ends[text]:
            # Up to and including the word's first byte; bytes 10xxxxxx continue a character.
            while character < places[word]:
                if data[byte] == line:
                    begun = max(begun, NEW_LINE)
                elif data[byte] == several:
                    begun = NEW_TEXT
                character += (data[byte] & 0xC0) != 0x80
                byte += 1
            begins[word] = begun
            begun = 0
            word += 1
        byte = byte_ends[text]
    return begins


@njit(cache=True, nogil=True)
def count_shared_ngrams(
    numbers: Array, kinds: int, starts: Array, ends: Array, others: Array, other_ends: Array, n: int
) -> Array:
    """For each pair: how many n-grams both hold, each as often as in the one that has fewer.

    `numbers` are those of `number_ngrams`; text p is at `starts[p]:ends[p]`, its reference at
    `others[p]:other_ends[p]`.
    """
    shared = np.zeros(len(starts), np.int64)
    remaining = np.zeros(kinds, np.int32)
    for pair in range(len(starts)):
        for place in range(others[pair], other_ends[pair] - n + 1):
            if numbers[place] != ONCE:
                remaining[numbers[place]] += 1
        for place in range(starts[pair], ends[pair] - n + 1):
            number = numbers[place]
            if number != ONCE and remaining[number] > 0:
                remaining[number] -= 1
                shared[pair] += 1
        for place in range(others[pair], other_ends[pair] - n + 1):
            if numbers[place] != ONCE:
                remaining[numbers[place]] = 0
    return shared


@njit(cache=True, nogil=True)
def common_subsequences(
    ids: Array,
    kinds: int,
    begins: Array,
    starts: Array,
    ends: Array,
    others: Array,
    other_ends: Array,
) -> Array:
    """For each pair: length of the longest common subsequence, and of the union over lines."""
    lengths = np.zeros((len(starts), 2), np.int64)
    row_of = np.full(kinds, -1, np.int32)
    remaining = np.zeros(kinds, np.int32)
    for pair in range(len(starts)):
        text, reference = (starts[pair], ends[pair]), (others[pair], other_ends[pair])
        lengths[pair, 0] = _longest(ids, row_of, text, reference)
        if _one_line(begins, text) and _one_line(begins, reference):
            lengths[pair, 1] = lengths[pair, 0]
        else:
            lengths[pair, 1] = _union(ids, row_of, remaining, begins, text, reference)
    return lengths


@njit(cache=True, nogil=True)
def _one_line(begins: Array, run: tuple[int, int]) -> bool:
    place = run[0] + 1
    while place < run[1] and not begins[place]:
        place += 1
    return place >= run[1]


@njit(cache=True, nogil=True)
def _number_rows(ids: Array, row_of: Array, run: tuple[int, int]) -> int:
    """Give the words of a run rows, which `forget` takes back; how many there are."""
    rows = 0
    for place in range(run[0], run[1]):
        if row_of[ids[place]] < 0:
            row_of[ids[place]] = rows
            rows += 1
    return rows


@njit(cache=True, nogil=True)
def _longest(ids: Array, row_of: Array, text: tuple[int, int], reference: tuple[int, int]) -> int:
    """Length of the longest common subsequence of two runs."""
    words, others = ids[text[0] : text[1]], ids[reference[0] : reference[1]]
    masks = marks(others, row_of)
    length = held(words, row_of, np.empty(len(words) + 1, np.int32))
    forget(others, row_of)
    return common(masks, length, np.empty(len(length), np.uint8)) if len(length) else 0


@njit(cache=True, nogil=True)
def _union(
    ids: Array,
    row_of: Array,
    remaining: Array,
    begins: Array,
    text: tuple[int, int],
    reference: tuple[int, int],
) -> int:
    """Words of the reference's lines that lie on a common subsequence with some line of the text.

    A word counts at most as often as the text holds it.
    """
    for place in range(text[0], text[1]):
        remaining[ids[place]] += 1
    hits = 0
    line = reference[0]
    while line < reference[1]:
        end = line + 1
        while end < reference[1] and not begins[end]:
            end += 1
        on_path = _words_in_common(ids, row_of, begins, text, (line, end))
        for place in range(line, end):
            if on_path[place - line] and remaining[ids[place]] > 0:
                remaining[ids[place]] -= 1
                hits += 1
        line = end
    for place in range(text[0], text[1]):
        remaining[ids[place]] = 0
    return hits


@njit(cache=True, nogil=True)
def _words_in_common(
    ids: Array, row_of: Array, begins: Array, text: tuple[int, int], line: tuple[int, int]
) -> Array:
    """Which words of one line of the reference lie on a common subsequence with a line of the text.

    There may be several longest ones; the walk takes the one that rouge-score takes.
    """
    length = line[1] - line[0]
    width = (length + 63) // 64
    masks = np.zeros((_number_rows(ids, row_of, line), width), np.uint64)
    for place in range(length):
        masks[row_of[ids[line[0] + place]], place >> 6] |= ONE << np.uint64(place & 63)
    on_path = np.zeros(length, np.bool_)
    columns = np.empty((text[1] - text[0], width), np.uint64)
    cells = np.empty(width, np.uint64)
    first = text[0]
    while first < text[1]:
        for part in range(width):
            cells[part] = ALL
        place = first
        while place == first or (place < text[1] and not begins[place]):
            row = row_of[ids[place]]
            if row >= 0:
                carry = ZERO
                for part in range(width):
                    cells[part], carry = step(cells[part], masks[row, part], carry)
            for part in range(width):
                columns[place - first, part] = cells[part]
            place += 1
        _walk_back(ids, columns, on_path, first, place, line[0])
        first = place
    forget(ids[line[0] : line[1]], row_of)
    return on_path


@njit(cache=True, nogil=True)
def _walk_back(ids: Array, columns: Array, on_path: Array, first: int, end: int, line: int) -> None:
    """Mark one longest common subsequence of the line and the words `first` to `end`."""
    last = len(on_path) - 1
    column = end - first - 1
    while last >= 0 and column >= 0:
        if ids[line + last] == ids[first + column]:
            on_path[last] = True
            last -= 1
            column -= 1
        elif columns[column, last >> 6] >> np.uint64(last & 63) & ONE:
            last -= 1  # the table does not grow with this word: nothing is lost without it
        else:
            column -= 1
