"""What generated sentences owe to a ground truth: original, to be cited, or common.

With C the number of sources that hold a fragment: original iff C = 0, citation needed iff
1 <= C <= relax, common iff C > relax. A sentence is original iff it holds an original fragment,
and fails iff it holds one that needs a citation. C never grows with a fragment's length, so what
decides are the shortest original and the longest cited fragments; all others follow.

A fragment of few words, or one that chance would put into a ground truth of that size, is nobody's
own: it counts as common (see `chance`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rote.core.layer import Layer
from rote.core.progress import several
from rote.index.answers import Place
from rote.index.counting.batch import ranges_of
from rote.index.counting.lookup import fixed
from rote.index.grams import Grams
from rote.index.places import places_in
from rote.search.originality import fragment_kernels as kernels
from rote.search.originality.chance import expected_runs
from rote.search.originality.edges import Edges, Rule
from rote.search.originality.neighbour_kernels import LEAST
from rote.search.originality.reach import GroundTruth, Reach


@dataclass(frozen=True, slots=True)
class Spans:
    """Fragments of a text: items `starts[f]` to `ends[f]` - 1 of the layer, by rising start."""

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts)


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Of each sentence of a text (number s is the s-th of `sentence_ends`) what it holds.

    `originals`, `cited` and `commons` count its fragments of each kind. `shortest` are the
    original fragments that hold no other original one; `longest` the cited ones that no other
    cited one holds.
    """

    originals: NDArray[np.int64]
    cited: NDArray[np.int64]
    commons: NDArray[np.int64]
    shortest: Spans
    longest: Spans
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
    min_words: int = LEAST,
    chance: float = 0,
    held_out: bool = False,
) -> Verdicts:
    """Judge every sentence of a text; `edges` as `edges_of_text` gives them.

    What needs a citation has at least `min_words` words, and is so rare that chance brings at most
    `chance` such fragments in 1,000 words (0: however many). `held_out` as in `GroundTruth.reach`.
    """
    reach = ground.reach(text, relax, held_out=held_out)
    most = reach.common
    if min_words > LEAST or chance:
        most = np.maximum(most, expected_runs(ground, text, reach, min_words, chance))
    ends = text.sentence_ends
    assert ends is not None  # `reach` has asked
    counts = np.zeros((len(ends), 3), np.int64)
    decisive = np.zeros((2, len(text.ids)), np.int64)
    kernels.judge(edges, fixed(ends, np.int64), reach.known, most, counts, decisive)
    original, cited, common = counts.T.copy()
    shortest, longest = map(spans_of, decisive)
    return Verdicts(original, cited, common, shortest, longest, reach)


def citations(
    ground: GroundTruth, text: Layer, spans: Spans, *, limit: int = 3
) -> list[list[Place]]:
    """For each fragment where the ground truth has it: one place for each source, by document.

    At most `limit` sources. A place where the words are parted by a sentence's end is none.
    """
    sizes = spans.ends - spans.starts
    ends = np.cumsum(sizes)
    items = np.repeat(spans.starts - (ends - sizes), sizes) + np.arange(int(sizes.sum()))
    grams = Grams(text.ids[items], ends, text.vocabulary)
    found: list[list[Place]] = [[] for _ in range(len(spans))]
    met: list[set[int]] = [set() for _ in range(len(spans))]
    for number, (lookup, segment) in enumerate(zip(ground.lookups, ground.index.segments)):
        low, high = ranges_of(lookup, grams)
        suffixed, frame = ground.segments[number], segment.frame_of(ground.layer)
        whose: list[int] = []
        starts: list[int] = []
        for f in np.flatnonzero(high > low).tolist():
            if len(met[f]) >= limit:
                continue
            places = np.sort(suffixed.suffixes.order.slice(int(low[f]), int(high[f])))
            places = places[suffixed.rests_at(places) >= sizes[f]]
            sources = suffixed.sources[frame.document_of(places)]
            for place, source in zip(places.tolist(), sources.tolist()):
                if source not in met[f] and len(met[f]) < limit:
                    met[f].add(source)
                    whose.append(f)
                    starts.append(place)
        begins = np.array(starts, np.int64)
        listed = places_in(segment, number, ground.layer, begins, begins + sizes[whose])
        for f, place in zip(whose, listed):
            found[f].append(place)
    return found


def commons(edges: Edges, verdicts: Verdicts) -> Spans:
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
    return Spans(np.array(starts, np.int64), np.array(ends, np.int64))


def remarks(ground: GroundTruth, rule: Rule, relax: int, named: str) -> list[str]:
    """What is to be known of a ground truth before its verdicts are read."""
    sources, said = ground.sources.count, list[str]()
    if not ground.index.items_held(ground.layer):
        return [f"{named} is empty: every fragment is original"]
    if sources <= relax:
        said.append(
            f"{named} has {several(sources, 'source')}: whatever it holds needs a "
            "citation, nothing is common property"
        )
    if rule == "words":
        said.append(
            f"{named} has no tags: word lists say which words no fragment begins or ends with"
        )
    return said


def spans_of(ends: NDArray[np.int64]) -> Spans:
    """Fragments given by the end of that which begins at each item; 0 where none does."""
    starts = np.flatnonzero(ends)
    return Spans(starts, ends[starts])
