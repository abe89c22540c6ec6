"""Matches of a query as rows: how many, in which order, their forms; and why there are none.

Nothing is computed in full that is not shown in full: who wants the first twenty in the order of
the documents has only those looked up, and the others counted. Where a query finds nothing,
`find_missing` says which of its words occur nowhere, and how much of it does occur.

**As arrays.** Tens of thousands of matches are put in order to show fifty of them, so nothing here
looks at a match by itself: texts, ids and strings are read for those alone that are shown or told
apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rote.core.arrays import Flags
from rote.core.progress import Advance, Reporter, Silent
from rote.index import query as queries
from rote.index.answers import MatchContext, Occurrence, occurrences_in
from rote.index.columns.layer_column import LayerColumn
from rote.index.grams import END
from rote.index.index import DEFAULT, Index
from rote.index.query import literal
from rote.index.query.tree import Concatenation, ItemPattern

Numbers = NDArray[np.int64]
ITEMS, _WORDS = 16, 10
"""Items beside a match that are read to sort it, and how many words of them are compared."""
_AT_ONCE = 1 << 16
"""Matches whose neighbours are read together."""
_AROUND = 60
"""Characters beside a match of other items than words that are read to sort it."""
_FOLDED = ("lower", "word")


@dataclass(frozen=True)
class MatchArrays:
    """Matches [start, end) of the stream of each segment, in the order of the documents."""

    index: Index
    layer: str
    """One that the query reads: the matches are in its positions."""
    segment: Numbers
    start: Numbers
    end: Numbers

    def __len__(self) -> int:
        return len(self.start)

    def of_segment(self, number: int) -> slice:
        low, high = np.searchsorted(self.segment, [number, number + 1])
        return slice(int(low), int(high))

    def places(self, chosen: NDArray[Any]) -> list[Occurrence]:
        occurrences: dict[int, Occurrence] = {}
        for number in np.unique(self.segment[chosen]).tolist():
            in_segment = chosen[self.segment[chosen] == number]
            segment_occurrences = occurrences_in(
                self.index.segments[number],
                number,
                self.layer,
                self.start[in_segment],
                self.end[in_segment],
            )
            occurrences |= dict(zip(in_segment.tolist(), segment_occurrences))
        return [occurrences[match] for match in chosen.tolist()]

    @cached_property
    def documents(self) -> Numbers:
        documents = np.zeros(len(self), np.int64)
        for number, segment in enumerate(self.index.segments):
            in_segment = self.of_segment(number)
            documents[in_segment] = segment.positions_of(self.layer).document_of(
                self.start[in_segment]
            )
        return documents

    def first(self, count: int) -> MatchArrays:
        return self._some(slice(count))

    def only(self, selected: Sequence[NDArray[np.bool_]]) -> MatchArrays:
        """Those in some documents: of each segment which of its documents are kept."""
        chosen = np.zeros(len(self), np.bool_)
        for number, documents in enumerate(selected):
            in_segment = self.of_segment(number)
            chosen[in_segment] = documents[self.documents[in_segment]]
        return self._some(chosen)

    def _some(self, chosen: slice | NDArray[np.bool_]) -> MatchArrays:
        columns = (self.segment[chosen], self.start[chosen], self.end[chosen])
        return MatchArrays(self.index, self.layer, *columns)

    def holding(self) -> tuple[Numbers, Numbers, Numbers]:
        """The documents with a match, by segment and number, and how many each has."""
        documents, counts = np.unique(self.segment << 32 | self.documents, return_counts=True)
        return documents >> 32, documents & 0xFFFFFFFF, counts

    # -- orders ------------------------------------------------------------------------------

    def by_document(self) -> Numbers:
        segment, number, _ = self.holding()
        names = [
            self.index.segments[s].documents.id(d)
            for s, d in zip(segment.tolist(), number.tolist())
        ]
        rank = np.empty(len(names), np.int64)
        rank[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
        documents = segment << 32 | number
        of = np.searchsorted(documents, self.segment << 32 | self.documents)
        return np.argsort(rank[of], kind="stable")

    def by_neighbours(self, side: str, reporter: Reporter | None = None, nth: int = 1) -> Numbers:
        """By the words before each match, the nearest first, or by those after it; from the
        `nth` on."""
        if not len(self):
            return np.empty(0, np.int64)
        with (reporter or Silent()).stage("sorting", len(self)) as advance:
            if self._has_own_items():
                return self._by_text(side, nth, advance)
            return np.lexsort(self._words(side, advance)[:, nth - 1 :].T[::-1])

    def forms(self) -> tuple[list[str], Numbers]:
        """What was matched, capitals folded, and which of these each match is."""
        names: dict[str, int] = {}
        of = np.zeros(len(self), np.int64)
        lengths = self.end - self.start
        for number, segment in enumerate(self.index.segments):
            in_segment = np.arange(len(self))[self.of_segment(number)]
            column = segment.columns[self.read_layer()]
            for length in np.unique(lengths[in_segment]).tolist():
                alike = in_segment[lengths[in_segment] == length]
                grid = self.start[alike][:, None] + np.arange(length)
                ids = column.ids.take(grid.ravel()).reshape(grid.shape)
                first, which = unique_rows(ids, column.ids.bits)
                contexts = (self.index.context(place, 0) for place in self.places(alike[first]))
                read = [" ".join(context.match.lower().split()) for context in contexts]
                numbers = [names.setdefault(form, len(names)) for form in read]
                of[alike] = np.array(numbers, np.int64)[which]
        return list(names), of

    def _has_own_items(self) -> bool:
        """Whether the matches are of other items than words: subwords, trees."""
        return self.layer != "word" and self.layer in self.index.segments[0].positions

    def read_layer(self) -> str:
        """A layer with the items of the matches that folds capitals, if there is one."""
        if self._has_own_items():
            return self.layer
        return next(name for name in (*_FOLDED, self.layer) if name in self.index.layers)

    def _by_text(self, side: str, nth: int, advance: Advance) -> Numbers:
        """Beside subwords or trees, too, people look for words: those of the text."""
        keys: list[list[str]] = []
        for first in range(0, len(self), _AT_ONCE):
            block = np.arange(first, min(first + _AT_ONCE, len(self)))
            keys += [
                neighbours(self.index.context(occurrence, _AROUND), side)[nth - 1 :]
                for occurrence in self.places(block)
            ]
            advance(len(block))
        return np.array(sorted(range(len(self)), key=keys.__getitem__), np.int64)

    def _words(self, side: str, advance: Advance) -> Numbers:
        """The nearest words of each match as ranks of their strings; 0 where there are no more.

        Marks are passed over, and what lies beyond the document's end.
        """
        layer = self.read_layer()
        ids = np.zeros((len(self), _WORDS), np.int64)
        strings: list[dict[int, str]] = []
        for number, segment in enumerate(self.index.segments):
            in_segment, column = self.of_segment(number), segment.columns[layer]
            strings.append({})
            looked_up, is_word = np.zeros((2, len(column.vocabulary)), np.bool_)
            for first in range(in_segment.start, in_segment.stop, _AT_ONCE):
                block = slice(first, min(first + _AT_ONCE, in_segment.stop))
                here = items_beside(column, self.start[block], self.end[block], side)
                read = np.zeros(len(looked_up), np.bool_)
                read[here] = True
                for item in np.flatnonzero(read & ~looked_up).tolist():
                    string = column.vocabulary[item] if item != END else ""
                    if any(map(str.isalnum, string)):
                        strings[number][item] = string
                        is_word[item] = True
                looked_up |= read
                here *= is_word[here]
                # Words in front, in their order.
                order = np.argsort(here == END, axis=1, kind="stable")[:, :_WORDS]
                ids[block] = np.take_along_axis(here, order, axis=1)
                advance(block.stop - block.start)
        different = sorted({word for words in strings for word in words.values()})
        rank = {word: number for number, word in enumerate(different, 1)}
        for number, words in enumerate(strings):
            in_segment = self.of_segment(number)
            table = np.zeros(max(words, default=END) + 1, np.int64)
            table[list(words)] = [rank[word] for word in words.values()]
            ids[in_segment] = table[ids[in_segment]]
        return ids


def find_matches(index: Index, parsed: queries.Query, limit: int | None = None) -> MatchArrays:
    """The first matches of a query, or all of them, in the order of the documents."""
    nothing = np.empty(0, np.int64)
    parts = [(nothing, nothing, nothing)]
    for number, start, end in index.find(parsed, limit):
        parts.append((np.full(len(start), number), start, end))
    segment, starts, ends = (np.concatenate(column) for column in zip(*parts))
    return MatchArrays(index, parsed.layers[0], segment, starts, ends)


def neighbours(context: MatchContext, side: str) -> list[str]:
    """The words next to a match, the nearest first, in lower case."""
    if side == "right":
        return re.findall(r"\w+", context.after.lower())
    return re.findall(r"\w+", context.before.lower())[::-1]


def items_beside(column: LayerColumn, start: Numbers, end: Numbers, side: str) -> Numbers:
    """The items next to matches, the nearest first; from the document's end on nothing else."""
    steps = np.arange(ITEMS)
    occurrences = end[:, None] + steps if side == "right" else start[:, None] - 1 - steps
    inside = (occurrences >= 0) & (occurrences < len(column.ids))
    ids = column.ids.take(np.where(inside, occurrences, 0).ravel()).reshape(occurrences.shape)
    ids[~inside] = END
    ids *= np.cumprod(ids != END, axis=1)
    return ids


def unique_rows(rows: Numbers, bits: int) -> tuple[Numbers, Numbers]:
    """The first of each different row, and which of them each row is."""
    if rows.shape[1] * bits < 64:
        # As one number each they are told apart far faster.
        rows = (rows << bits * np.arange(rows.shape[1])).sum(axis=1)
    _, first, which = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return first, which.ravel()


COLUMNS = ("document", "author", "source", "item", "start", "end", "before", "match", "after")
Sort = Literal[
    "place", "left", "left2", "left3", "right", "right2", "right3", "document", "form", "random"
]
_WRITTEN = 1_000
"""Rows of a block."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The matches that were looked up, and how many there are in all."""

    query: str
    layer: str
    parsed: queries.Query
    matches: MatchArrays
    total: int
    holding: int | None = None
    """Documents with a match, where they were counted on the way."""

    @property
    def limited(self) -> bool:
        return len(self.matches) < self.total

    @property
    def documents(self) -> int | None:
        """How many documents hold a match; None where counting them would take all matches."""
        index = self.matches.index
        if self.holding is not None:
            return self.holding
        if not self.limited:
            return len(self.matches.holding()[0])
        if queries.is_plain(self.query) and self.layer in index.sorted_layers:
            return int(index.document_counts([self.query], self.layer)[0])
        return None


def search_index(
    index: Index,
    query: str,
    layer: str = DEFAULT,
    limit: int | None = None,
    selected: Sequence[Flags] | None = None,
    among: int | None = None,
) -> SearchResult:
    """The first matches of a phrase or a query, or all, and how many there are.

    `selected`: only those in some documents of each segment (`documents_where`), `among` the first.
    """
    parsed = index.parse(query, layer)
    if selected is not None:
        selected_matches = find_matches(index, parsed, among).only(selected)
        limited = selected_matches if limit is None else selected_matches.first(limit)
        return SearchResult(
            query, layer, parsed, limited, len(selected_matches), len(selected_matches.holding()[0])
        )
    matches = find_matches(index, parsed, limit)
    total = len(matches)
    if total == limit:
        total = index.matches(query, layer)
    return SearchResult(query, layer, parsed, matches, total)


def sort_matches(
    matches: MatchArrays, sort: Sort, reporter: Reporter | None = None, seed: int = 0
) -> Numbers:
    """The numbers of the matches in an order; equal ones stay in that of the documents.

    `left2` goes by the second word before a match, then by the third, and so on.
    """
    if sort == "random":
        return np.random.default_rng(seed).permutation(len(matches))
    if sort == "document":
        return matches.by_document()
    if sort == "form":
        names, of = matches.forms()
        counts = np.bincount(of, minlength=len(names))
        alphabet = np.empty(len(names), np.int64)
        alphabet[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
        return np.lexsort((alphabet[of], -counts[of]))
    for side in ("left", "right"):
        if sort.startswith(side):
            return matches.by_neighbours(side, reporter, int(sort[len(side) :] or 1))
    return np.arange(len(matches))


def count_forms(matches: MatchArrays) -> list[tuple[str, int]]:
    """What was matched, capitals folded, and how often; the most frequent first."""
    names, of = matches.forms()
    counts = np.bincount(of, minlength=len(names)).tolist()
    return sorted(zip(names, counts), key=lambda pair: (-pair[1], pair[0]))


def count_soft_forms(index: Index, parsed: queries.Query) -> list[tuple[str, int]]:
    """What the soft words of a query matched, and how often, over all matches; none without any."""
    if not any(test.soft for test in parsed.tests):
        return []
    return count_forms(find_matches(index, parsed, None))


def name_forms(forms: Sequence[tuple[str, int]], most: int = 12) -> str:
    """Forms and their counts in a line: gold medal 5, silver medal 2, and 3 more."""
    listing = ", ".join(f"{form} {count:,}" for form, count in forms[:most])
    return listing + (f", and {len(forms) - most:,} more" if len(forms) > most else "")


def row_of(occurrence: Occurrence, context: MatchContext) -> dict[str, Any]:
    """A match as it is listed and written to files: the names are `COLUMNS`."""
    return {name: getattr(occurrence, name) for name in COLUMNS[:6]} | asdict(context)


def read_row_blocks(
    index: Index, parsed: queries.Query, around: int, limit: int | None = None
) -> Iterator[list[dict[str, Any]]]:
    """The matches in the order of the documents, a block of rows at a time, while they are read."""
    layer = parsed.layers[0]
    for number, starts, ends in index.find(parsed, limit):
        for at in range(0, len(starts), _WRITTEN):
            block = slice(at, at + _WRITTEN)
            occurrences = occurrences_in(
                index.segments[number], number, layer, starts[block], ends[block]
            )
            yield [
                row_of(occurrence, index.context(occurrence, around)) for occurrence in occurrences
            ]


_MOST_PARTS = 8
"""Parts of a query whose combinations are tried: some thirty questions."""


@dataclass(frozen=True, slots=True)
class MissingParts:
    """What occurs nowhere by itself; the longest parts that do, as queries, with their counts."""

    unknown: list[str]
    longest: list[tuple[str, str, int]]
    """How a part is written, the query for it, how often it occurs."""


def find_missing(index: Index, query: str, layer: str = DEFAULT) -> MissingParts:
    if queries.is_plain(query) and layer in index.sorted_layers:
        return _missing_of_phrase(index, query, layer)
    return _missing_of_query(index, index.parse(query, layer))


def _missing_of_phrase(index: Index, phrase: str, layer: str) -> MissingParts:
    items = index.items(phrase, layer)
    matches = index.longest(items, layer)
    lengths = matches.lengths.tolist()
    most = max(lengths, default=0)
    unknown = [item for item, length in zip(items, lengths) if not length]
    longest = {}
    for start, (length, count) in enumerate(zip(lengths, matches.counts.tolist())):
        if length == most > 0:
            part = items[start : start + length]
            longest[" ".join(part)] = (literal(part, layer), count)
    return MissingParts(
        list(dict.fromkeys(unknown)), [(name, *part) for name, part in longest.items()]
    )


def _missing_of_query(index: Index, parsed: queries.Query) -> MissingParts:
    pattern = parsed.pattern
    parts = pattern.parts if isinstance(pattern, Concatenation) else (pattern,)
    tests = dict.fromkeys(str(ItemPattern(test)) for test in parsed.tests)
    unknown = [test for test in tests if not _occurs(index, index.parse(test))]
    if len(parts) > _MOST_PARTS:
        return MissingParts(unknown, [])
    for length in range(len(parts) - 1, 0, -1):
        windows = (parts[first : first + length] for first in range(len(parts) - length + 1))
        patterns = (w[0] if len(w) == 1 else Concatenation(w) for w in windows)
        candidates = [replace(parsed, pattern=pattern) for pattern in patterns]
        if occurring := dict.fromkeys(str(part) for part in candidates if _occurs(index, part)):
            return MissingParts(unknown, [(part, part, index.matches(part)) for part in occurring])
    return MissingParts(unknown, [])


def _occurs(index: Index, parsed: queries.Query) -> bool:
    return any(len(starts) for _, starts, _ in index.find(parsed, 1))
