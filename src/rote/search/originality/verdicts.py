"""What generated sentences owe to a ground truth: original, to be cited, or common.

With C the number of sources that hold a fragment: original iff C = 0, citation needed iff
1 <= C <= relax, common iff C > relax. A sentence is original iff it holds an original fragment,
and fails iff it holds one that needs a citation. C never grows with a fragment's length, so what
decides are the shortest original and the longest cited fragments; all others follow. A fragment of
few words, or one that chance would put into a ground truth of that size, counts as common.

**Chance.** A run w1 ... wn of a text is expected N P(w1) P(w2 | w1) ... P(wn | wn-1) times in a
ground truth of N words by other hands. P are the index's own probabilities of one word after
another (`BackOff`, cut to pairs), from counts without the run's own occurrences: else what was
copied once would look expected. Whether a run that begins at some word is there by chance has at
most this probability, so if the threshold is t, chance brings at most 1,000 t of them in 1,000
words, whatever the text's length. Phrases are more frequent than pairs of words say: how many
sentences chance flags nevertheless is counted on the ground truth itself, judged by all other
sources (`judge_held_out`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rote.core.arrays import Floats, Integers
from rote.core.kernels import njit
from rote.core.layer import Layer, items_of
from rote.core.progress import several
from rote.index.answers import Occurrence, occurrences_in
from rote.index.columns.layer_column import LayerColumn
from rote.index.counts.lookup import as_kernel_array, find_ranges
from rote.index.grams import END, Grams
from rote.search.index_language_model import BackOff
from rote.search.originality.edges import TAGS, Edges, Rule, edges_of_text, is_mark
from rote.search.originality.reach import GroundTruth, Reach
from rote.search.originality.suffix_blocks import MIN_FRAGMENT, Int32s, Int64s, SourcedSegment


@dataclass(frozen=True, slots=True)
class FragmentSpans:
    """Fragments of a text: items `starts[f]` to `ends[f]` - 1 of the layer, by rising start."""

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts)


@dataclass(frozen=True, slots=True)
class SentenceVerdicts:
    """Of each sentence of a text (number s is the s-th of `sentence_ends`) what it holds.

    `originals`, `cited` and `commons` count its fragments of each kind. `shortest` are the
    original fragments that hold no other original one; `longest` the cited ones that no other
    cited one holds.
    """

    originals: NDArray[np.int64]
    cited: NDArray[np.int64]
    commons: NDArray[np.int64]
    shortest: FragmentSpans
    longest: FragmentSpans
    reach: Reach | None = None

    @property
    def original(self) -> NDArray[np.bool_]:
        """Of each sentence whether it is an original use of language."""
        return self.originals > 0

    @property
    def fails(self) -> NDArray[np.bool_]:
        """Of each sentence whether it repeats what is somebody's own."""
        return self.cited > 0

    @property
    def fragments(self) -> NDArray[np.int64]:
        """Of each sentence how many fragments it has; with none it is neither of the two."""
        return self.originals + self.cited + self.commons


def judge(
    ground: GroundTruth,
    text: Layer,
    edges: Edges,
    *,
    relax: int = 1,
    min_words: int = MIN_FRAGMENT,
    chance: float = 0,
    held_out: bool = False,
) -> SentenceVerdicts:
    """Judge every sentence of a text; `edges` as `edges_of_text` gives them.

    What needs a citation has at least `min_words` words, and is so rare that chance brings at most
    `chance` such fragments in 1,000 words (0: however many). `held_out` as in `GroundTruth.reach`.
    """
    reach = ground.reach(text, relax, held_out=held_out)
    most = reach.common
    if min_words > MIN_FRAGMENT or chance:
        most = np.maximum(most, expected_runs(ground, text, reach, min_words, chance))
    ends = text.sentence_ends
    assert ends is not None  # `reach` has asked
    counts = np.zeros((len(ends), 3), np.int64)
    decisive = np.zeros((2, len(text.ids)), np.int64)
    _judge_sentences(edges, as_kernel_array(ends, np.int64), reach.known, most, counts, decisive)
    original, cited, common = counts.T.copy()
    shortest, longest = map(spans_of, decisive)
    return SentenceVerdicts(original, cited, common, shortest, longest, reach)


def find_citations(
    ground: GroundTruth, text: Layer, spans: FragmentSpans, *, limit: int = 3
) -> list[list[Occurrence]]:
    """For each fragment where the ground truth has it: one position for each source, by document.

    At most `limit` sources. A position where the words are parted by a sentence's end is none.
    """
    sizes = spans.ends - spans.starts
    items, ends = items_of(spans.starts, spans.ends)
    grams = Grams(text.ids[items], ends, text.vocabulary)
    citations: list[list[Occurrence]] = [[] for _ in range(len(spans))]
    met: list[set[int]] = [set() for _ in range(len(spans))]
    for number, (lookup, segment) in enumerate(zip(ground.lookups, ground.index.segments)):
        low, high = find_ranges(lookup, grams)
        suffixed, positions = ground.segments[number], segment.positions_of(ground.layer)
        whose: list[int] = []
        starts: list[int] = []
        for f in np.flatnonzero(high > low).tolist():
            if len(met[f]) >= limit:
                continue
            places = np.sort(suffixed.suffixes.order.slice(int(low[f]), int(high[f])))
            places = places[suffixed.rests_at(places) >= sizes[f]]
            sources = suffixed.sources[positions.document_of(places)]
            for position, source in zip(places.tolist(), sources.tolist()):
                if source not in met[f] and len(met[f]) < limit:
                    met[f].add(source)
                    whose.append(f)
                    starts.append(position)
        begins = np.array(starts, np.int64)
        listed = occurrences_in(segment, number, ground.layer, begins, begins + sizes[whose])
        for f, position in zip(whose, listed):
            citations[f].append(position)
    return citations


def find_common(edges: Edges, verdicts: SentenceVerdicts) -> FragmentSpans:
    """The fragments of more than `relax` sources that lie in no longer one of them."""
    assert verdicts.reach is not None
    starts, ends, most = list[int](), list[int](), 0
    for start in np.flatnonzero(edges & (verdicts.reach.common > 1)).tolist():
        end = start + int(verdicts.reach.common[start])
        while end - start > 1 and not edges[end - 1]:
            end -= 1
        if end - start > 1 and end > most:
            most = end
            starts.append(start)
            ends.append(end)
    return FragmentSpans(np.array(starts, np.int64), np.array(ends, np.int64))


def remarks(ground: GroundTruth, rule: Rule, relax: int, corpus_name: str) -> list[str]:
    """What is to be known of a ground truth before its verdicts are read."""
    sources, lines = ground.sources.count, list[str]()
    if not ground.index.items_held(ground.layer):
        return [f"{corpus_name} is empty, so every fragment is original"]
    if sources <= relax:
        lines.append(
            f"{corpus_name} has {several(sources, 'source')}: whatever occurs in it needs a "
            "citation; nothing is common property"
        )
    if rule == "words":
        lines.append(f"{corpus_name} has no tags: word lists decide where fragments begin and end")
    return lines


def spans_of(ends: NDArray[np.int64]) -> FragmentSpans:
    """Fragments given by the end of that which begins at each item; 0 where none does."""
    starts = np.flatnonzero(ends)
    return FragmentSpans(starts, ends[starts])


@njit(cache=True, nogil=True)
def _judge_sentences(edges, ends, known, common, counts, decisive):  # type: ignore[no-untyped-def]
    """The fragments of each sentence of a generated text, sorted by what is known of them.

    `counts` of each sentence: original ones, those that need a citation, common ones. Of each
    start, the fragment that decides: `decisive[0]` is the end of a shortest original one,
    `decisive[1]` of a longest that needs a citation, 0 where there is none.
    """
    start = 0
    for sentence in range(len(ends)):
        stop = ends[sentence]
        least, most = stop + 1, 0
        for i in range(stop - 1, start - 1, -1):
            decisive[0, i] = 0
            if not edges[i]:
                continue
            for end in range(i + MIN_FRAGMENT, stop + 1):
                if not edges[end - 1]:
                    continue
                length = end - i
                if length > known[i]:
                    counts[sentence, 0] += 1
                    if end < least:
                        least = end
                        decisive[0, i] = end
                elif length > common[i]:
                    counts[sentence, 1] += 1
                else:
                    counts[sentence, 2] += 1
        for i in range(start, stop):
            decisive[1, i] = 0
            if edges[i]:
                end = i + known[i]
                while (
                    end - i > max(common[i], MIN_FRAGMENT - 1) and end > most and not edges[end - 1]
                ):
                    end -= 1
                if end - i > max(common[i], MIN_FRAGMENT - 1) and end > most:
                    decisive[1, i] = most = end
        start = stop


PER_WORDS = 1_000
"""Words in which `chance` counts."""


def expected_runs(
    ground: GroundTruth, text: Layer, reach: Reach, min_words: int, chance: float
) -> Int32s:
    """Of every item the longest run from there on that is too short, or expected, to be cited.

    No longer than what the ground truth knows. `chance` 0: no run is expected.
    """
    least = np.maximum(reach.common + 1, _items_for_words(text, min_words))
    runs: Int32s = np.minimum(reach.known, least - 1).astype(np.int32)
    starts = np.flatnonzero(reach.known >= least)
    if not chance or not len(starts):
        return runs
    model, least, longest = BackOff(ground.index, ground.layer), least[starts], reach.known[starts]
    singles, pairs, runs_held = _count_runs(ground, text, starts, least, longest.astype(np.int64))
    events = np.full(len(starts), model.events())
    uniform = np.full(len(starts), model.uniform())

    def single(going: Int64s, offset: int) -> tuple[Int64s, Floats]:
        """How often the item at that offset occurs elsewhere, and how probable that makes it."""
        elsewhere = np.maximum(singles[starts[going] + offset] - runs_held[going], 0)
        return elsewhere, model.mix(elsewhere, events[going] - runs_held[going], uniform[going])

    going, length = np.arange(len(starts)), 1
    context, probability = single(going, 0)
    expected = np.log2(events) + np.log2(probability)
    while len(going):
        elsewhere, probability = single(going, length)
        both = np.maximum(pairs[starts[going] + length - 1] - runs_held[going], 0)
        # Where the context occurs nowhere else, nothing is known of what follows it.
        known = context > 0
        probability[known] = model.mix(both[known], context[known], probability[known])
        expected[going] += np.log2(probability)
        length += 1
        rare = (length >= least[going]) & (expected[going] <= np.log2(chance / PER_WORDS))
        runs[starts[going[rare]]] = length - 1
        ended = ~rare & (length == longest[going])
        runs[starts[going[ended]]] = length
        undecided = ~(rare | ended)
        going, context = going[undecided], elsewhere[undecided]
    return runs


def _items_for_words(text: Layer, words: int) -> Int64s:
    """Of every item how many items from there on hold so many words; marks are none.

    More than the text has where it ends before.
    """
    is_word = ~is_mark(text.vocabulary)[text.ids]
    # Behind the last word there is always one too few.
    positions = np.append(np.flatnonzero(is_word), np.full(words, len(text.ids) + words))
    before: Int64s = np.cumsum(is_word, dtype=np.int64) - is_word
    lengths: Int64s = positions[before + words - 1] + 1 - np.arange(len(text.ids))
    return lengths


def _count_runs(
    ground: GroundTruth, text: Layer, starts: Int64s, least: Int64s, longest: Int64s
) -> tuple[Int64s, Int64s, Int64s]:
    """How often the ground truth holds each item of some runs, each item with the one behind it,
    and the first `least` items of each run."""

    def count(starts: Int64s, sizes: Int64s) -> Int64s:
        items, ends = items_of(starts, starts + sizes)
        return ground.index.counts(Grams(text.ids[items], ends, text.vocabulary), ground.layer)

    inside = np.zeros(len(text.ids) + 1, np.int64)
    np.add.at(inside, starts, 1)
    np.subtract.at(inside, starts + longest, 1)
    items = np.flatnonzero(np.cumsum(inside[:-1]) > 0)
    single, pair = np.zeros((2, len(text.ids)), np.int64)
    single[items] = count(items, np.ones_like(items))
    pairs = items[np.append(np.diff(items) == 1, False)]
    pair[pairs] = count(pairs, np.full(len(pairs), 2))
    return single, pair, count(starts, least)


_SAMPLE = 100_000
"""Words of the ground truth that are held out."""
_BLOCK = 1_000
"""Words that are held out in a row."""


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Of some sentences of a ground truth those that would need a citation of another source."""

    sentences: int
    words: int
    failing: int

    def expected(self, words: int) -> float:
        """How many sentences of so many words in all are flagged by chance; punctuation counts."""
        return self.failing * words / self.words if self.words else float("nan")


def judge_held_out(
    ground: GroundTruth, rule: Rule, *, relax: int, min_words: int, chance: float
) -> HeldOut | None:
    """Judge sentences of the ground truth by all other sources: what is flagged there is chance.

    Or it was copied inside the ground truth, so that this is no less than chance. All sentences of
    blocks that are evenly spaced; None where there is one source alone.
    """
    if ground.sources.count < 2:
        return None
    sentences = words = failing = 0
    for text, edges in _sample_sentences(ground, rule):
        verdicts = judge(
            ground, text, edges, relax=relax, min_words=min_words, chance=chance, held_out=True
        )
        sentences += len(verdicts.fails)
        words += len(text.ids)
        failing += int(verdicts.fails.sum())
    return HeldOut(sentences, words, failing)


def _sample_sentences(ground: GroundTruth, rule: Rule) -> Iterator[tuple[Layer, Edges]]:
    """Sentences of each segment as a text, and its edges."""
    total = sum(len(segment.column.ids) for segment in ground.segments)
    step = _BLOCK * max(1, total // _SAMPLE)
    for segment in ground.segments:
        blocks = range(0, len(segment.column.ids), step)
        begins: Integers = np.concatenate(
            [np.empty(0, np.int64), *(_sentence_starts(segment, at, at + _BLOCK) for at in blocks)]
        )
        if not len(begins):
            continue
        positions, ends = items_of(begins, begins + segment.rests_at(begins))
        columns = segment.segment.columns
        word, text = (
            _layer_at(columns[name], name, positions, ends) for name in ("word", ground.layer)
        )
        tags = _layer_at(columns[TAGS], TAGS, positions, ends) if rule == "tags" else None
        yield text, edges_of_text(word, tags, rule)


def _sentence_starts(segment: SourcedSegment, first: int, stop: int) -> Int64s:
    """The positions from `first` on, up to `stop`, at which a sentence begins."""
    before = max(0, first - 1)
    items = segment.column.ids.slice(before, stop) != END
    ended = ~items | (segment.sentence_last.slice(before, stop)[: len(items)] == 1)
    begins = items & np.append(True, ended[:-1])
    begins[0] &= not first
    return np.flatnonzero(begins) + before


def _layer_at(column: LayerColumn, name: str, positions: Int64s, ends: Int64s) -> Layer:
    """The items at these positions as one text with sentences."""
    used, ids = np.unique(column.ids.take(positions), return_inverse=True)
    vocabulary = [column.vocabulary[i] for i in used.tolist()]
    spans = np.zeros(len(ids), np.int32)
    return Layer(name, ids.astype(np.int32), vocabulary, spans, spans, ends[-1:], ends)
