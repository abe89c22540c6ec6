"""What is repeated in a corpus, and which copies of it go.

First whole documents: one goes if an earlier one that stays is at least so similar (Jaccard over
runs of words). Candidates come from the rarest runs of each, so that none is missed and none is
guessed (prefix filtering, Chaudhuri et al. 2006; MinHash would find most of them). Then runs of
words: one of at least `length` words goes if the same words were kept before, in an earlier
document or earlier in this one. What counts as earlier is the order of the input, or what
`keep`, `newest` and `prefer` make of it. Both follow from the sorted suffixes of the corpus.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import OptionError
from rote.core.layer import items_of
from rote.core.metric import check_options, option, unsigned
from rote.curate._dedup_kernels import (
    ONCE,
    cover,
    distinct,
    drop_alike,
    drop_repeats,
    keep_split_sentences,
    number_runs,
)
from rote.curate.reading import Read, starts_of
from rote.index.columns.parts import END
from rote.index.sorting.suffixes import sort_suffixes

Ints = NDArray[np.int64]
_PASSAGES = 1_000


@dataclass(frozen=True, slots=True)
class DedupOptions:
    """What counts as a repetition, and which copy stays."""

    SECTION: ClassVar[str] = "Repetition"
    length: int = option(50, "words from which on a run that occurs again is cut; 0: none", least=0)
    near: float = option(
        0.8,
        "similarity from which on a whole document goes (Jaccard); 0: none",
        least=0.0,
        most=1.0,
    )
    shingle: int = option(5, "words in a run that documents are compared by", least=1)
    layer: Literal["lower", "word"] = option("lower", "words as they are, or in lower case")
    tokenizer: str = option("ud", "how texts are cut into words")
    cut: Literal["word", "sentence"] = option(
        "word", "cut at words, or take out whole sentences alone"
    )
    keep: Literal["first", "longest"] = option("first", "the copy that stays")
    newest: str | None = option(
        None, "field whose largest value stays (a year, a date)", metavar="FIELD"
    )
    prefer: tuple[str, ...] = option((), "sources whose copies stay, the first before the next")
    by: str = option("source", "field that names a text's source", metavar="FIELD", sign=unsigned)

    def __post_init__(self) -> None:
        check_options(self)
        if not self.length and not self.near:
            raise OptionError("nothing is looked for: --length and --near are both 0")
        if self.length and self.length < self.shingle:
            raise OptionError(
                f"--length {self.length} is shorter than the runs that documents are compared by "
                f"(--shingle {self.shingle})"
            )


@dataclass(frozen=True, slots=True)
class Passage:
    """Words that occur again and again: how often, in how many documents."""

    text: str
    words: int
    times: int
    documents: int


@dataclass(frozen=True, slots=True)
class Cut:
    """Words `start` to `end` of a document, and the copy that stays: words of a document, or -2
    where it is in the corpus that was compared with."""

    document: int
    start: int
    end: int
    copy: int
    copy_start: int


@dataclass(frozen=True, slots=True)
class Found:
    """What goes; documents are numbered in the order of the input."""

    alike: Ints
    """The document that stays instead (-1: it is not alike any)."""
    similar: NDArray[np.float64]
    cuts: Sequence[Cut]
    passages: Sequence[Passage]
    shared: NDArray[np.int64]
    """shared[s, t]: words of set s that set t holds in another document."""

    def __bool__(self) -> bool:
        return bool(self.cuts) or bool((self.alike >= 0).any())


class Stream:
    """The documents one after another in the order in which copies count, an END behind each."""

    def __init__(self, read: Read, order: Ints) -> None:
        lengths = read.words
        starts, ends = starts_of(np.cumsum(lengths)), np.cumsum(lengths)
        self.order = order
        self.ends = np.cumsum(lengths[order] + 1) - 1
        self.starts = self.ends - lengths[order]
        taken, _ = items_of(starts[order], ends[order])
        self.ids = np.full(len(read.ids) + len(order), END, np.int32)
        places, _ = items_of(self.starts, self.ends)
        self.ids[places] = read.ids[taken] + 1
        self.sentence_ends = None
        if read.sentence_ends is not None:
            back = np.zeros(len(read.ids) + 1, np.bool_)
            back[read.sentence_ends - 1] = True
            self.sentence_ends = places[back[taken]] + 1

    def document(self, place: int) -> int:
        """Which document of the stream a place belongs to."""
        return int(np.searchsorted(self.ends, place, side="left"))


def order_of(read: Read, options: DedupOptions, sources: Sequence[str]) -> Ints:
    """The documents, those first whose copies stay."""
    keys: list[Any] = []
    if options.prefer:
        unknown = set(options.prefer) - set(sources)
        if unknown:
            raise OptionError(
                f"--prefer {', '.join(sorted(unknown))}: no such source; there are "
                f"{', '.join(sorted(set(sources))[:20])}"
            )
        places = {name: place for place, name in enumerate(options.prefer)}
        keys.append([places.get(name, len(places)) for name in sources])
    if options.newest is not None:
        values = read.beside[options.newest]
        if all(value is None for value in values):
            raise OptionError(f"--newest {options.newest}: no record has such a field")
        ordered = sorted({_comparable(value) for value in values})
        ranks = {value: -rank for rank, value in enumerate(ordered)}
        keys.append([ranks[_comparable(value)] for value in values])
    if options.keep == "longest":
        keys.append(-read.words)
    if not keys:
        return np.arange(len(read))
    return np.lexsort([np.asarray(key) for key in reversed(keys)])


def _comparable(value: Any) -> tuple[int, float, str]:
    """Numbers before texts, nothing before either: a year may be written in both ways."""
    if value is None:
        return (0, 0.0, "")
    try:
        return (1, float(value), "")
    except (TypeError, ValueError):
        return (2, 0.0, str(value))


def find(
    read: Read,
    options: DedupOptions,
    sources: Sequence[str],
    held: NDArray[np.bool_] | None = None,
    *,
    threads: int = 1,
) -> Found:
    """All that goes, in one pass; `held` tells of each word whether a run of `length` words that
    another corpus holds begins there."""
    order = order_of(read, options, sources)
    stream = Stream(read, order)
    entries = len(read.vocabulary) + 1
    suffixes = sort_suffixes(stream.ids, entries, threads=threads).order
    numbers = np.empty(len(stream.ids), np.int32)
    alike, similar = np.full(len(order), -1, np.int64), np.zeros(len(order))
    if options.near:
        kinds = number_runs(stream.ids, suffixes, options.shingle, numbers)
        runs, last, sizes = distinct(stream.starts, stream.ends, numbers, options.shingle)
        frequency = np.bincount(runs, minlength=kinds)
        similar = drop_alike(runs, last, sizes, frequency, options.near, alike)
        _short(stream, options.shingle, alike, similar)
    names = {name: number for number, name in enumerate(dict.fromkeys(sources))}
    sets = np.array([names[sources[document]] for document in order.tolist()], np.int64)
    cuts: list[Cut] = []
    passages: list[Passage] = []
    shared = np.zeros((len(names), len(names)), np.int64)
    if options.length:
        kinds = number_runs(stream.ids, suffixes, options.length, numbers)
        for one in range(len(names) if kinds else 0):
            shared[:, one] = cover(
                stream.starts, stream.ends, numbers, options.length, sets, one, kinds
            )
        passages = _passages(stream, numbers, kinds, options.length, read.vocabulary)
        cuts = _cuts(stream, numbers, kinds, options, alike, held, read)
    back = np.empty_like(alike)
    back[order] = np.where(alike >= 0, order[alike], -1)
    likeness = np.empty_like(similar)
    likeness[order] = similar
    return Found(back, likeness, cuts, passages, shared)


def _short(stream: Stream, shingle: int, alike: Ints, similar: NDArray[np.float64]) -> None:
    """Documents without a single run are alike if they have the same words."""
    first: dict[bytes, int] = {}
    for document in np.flatnonzero(stream.ends - stream.starts < shingle).tolist():
        words = stream.ids[stream.starts[document] : stream.ends[document]].tobytes()
        kept = first.setdefault(words, document)
        if kept != document:
            alike[document], similar[document] = kept, 1.0


def _cuts(
    stream: Stream,
    numbers: NDArray[np.int32],
    kinds: int,
    options: DedupOptions,
    alike: Ints,
    held: NDArray[np.bool_] | None,
    read: Read,
) -> list[Cut]:
    gone = np.zeros(len(stream.ids), np.uint8)
    places, _ = items_of(stream.starts[alike >= 0], stream.ends[alike >= 0])
    gone[places] = 1
    elsewhere = np.zeros(len(stream.ids), np.bool_)
    if held is not None:
        starts = starts_of(np.cumsum(read.words))[stream.order]
        taken, _ = items_of(starts, starts + read.words[stream.order])
        places, _ = items_of(stream.starts, stream.ends)
        elsewhere[places] = held[taken]
    dropped, copies = gone.copy(), np.empty(len(stream.ids), np.int32)
    kept = np.full(max(1, kinds), -1, np.int32)
    drop_repeats(stream.ids, numbers, elsewhere, options.length, dropped, copies, kept)
    if stream.sentence_ends is not None:
        keep_split_sentences(stream.sentence_ends, gone, dropped)
    own = (dropped == 1) & (gone == 0)
    edges = np.flatnonzero(np.diff(own, prepend=False, append=False))
    found = []
    for start, end in edges.reshape(-1, 2).tolist():
        document = stream.document(start)
        begins = start
        # Of a sentence that goes the run may have begun in the one before.
        while begins > stream.starts[document] and copies[begins] == -1:
            begins -= 1
        copy = int(copies[begins])
        where = stream.document(copy + start - begins) if copy >= 0 else -1
        found.append(
            Cut(
                document=int(stream.order[document]),
                start=start - int(stream.starts[document]),
                end=end - int(stream.starts[document]),
                copy=int(stream.order[where]) if copy >= 0 else copy,
                copy_start=copy + start - begins - int(stream.starts[where]) if copy >= 0 else 0,
            )
        )
    return sorted(found, key=lambda cut: (cut.document, cut.start))


def _passages(
    stream: Stream,
    numbers: NDArray[np.int32],
    kinds: int,
    length: int,
    vocabulary: Sequence[str],
) -> list[Passage]:
    """The passages that occur most often, each as long as it does."""
    times = np.bincount(numbers[numbers != ONCE], minlength=kinds)
    places = np.flatnonzero(numbers != ONCE)[::-1]
    first = np.zeros(kinds, np.int64)
    first[numbers[places]] = places  # the last to be written, so the first place
    most = np.lexsort((first, -times))[:_PASSAGES]
    covered: set[int] = set()
    found: list[Passage] = []
    for number in most.tolist():
        start = end = int(first[number])
        if start in covered:
            continue
        while start and numbers[start - 1] != ONCE and times[numbers[start - 1]] == times[number]:
            start -= 1
        while numbers[end + 1] != ONCE and times[numbers[end + 1]] == times[number]:
            end += 1
        covered.update(range(start - length, end + length))
        words = stream.ids[start : end + length].tolist()
        at = np.searchsorted(stream.ends, np.flatnonzero(numbers == number))
        found.append(
            Passage(
                " ".join(vocabulary[word - 1] for word in words),
                len(words),
                int(times[number]),
                len(np.unique(at)),
            )
        )
        if len(found) == 20:
            break
    return found
