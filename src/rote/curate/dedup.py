"""What is repeated in a corpus, and which copies of it go.

First whole documents: one goes if an earlier one that stays is at least so similar (Jaccard over
runs of words, shingles; of folded words, unless words count as they are). Candidates come from the
rarest runs of each, so that none is missed and none is guessed (prefix filtering, Chaudhuri et al.
2006; MinHash would find most of them). Then runs of words: one of at least `length` words goes if
the same words were kept before, in an earlier document or earlier in this one. What counts as
earlier is the order of the input, or what `keep` makes of it. Both follow
from numbers for runs of words (`repeats.py`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import OptionError
from rote.core.layer import starts_of
from rote.core.metric import LONGEST_NGRAM, check_options, option, unsigned
from rote.core.progress import several as number_of
from rote.curate._dedup_kernels import (
    GONE,
    cover,
    distinct,
    documents_with,
    drop_alike,
    drop_repeats,
    keep_split_sentences,
    lay,
    lay_ends,
    list_cuts,
    prefixes,
    tally,
)
from rote.curate._repeat_kernels import ONCE
from rote.curate.repeats import Array, Room, kind_of_places, number_runs

Ints = NDArray[np.int64]
OTHERS = "other sources"
_PASSAGES, _SHOWN = 1_000, 20
# Of so many sources it is counted what each shares with each.
_SETS = 64
NEWEST, SOURCE = "newest:", "source:"
_RULE = re.compile(r"first|longest|(?:newest|source):.+")


@dataclass(frozen=True, slots=True)
class DedupOptions:
    """What counts as a repetition, and which copy stays."""

    SECTION: ClassVar[str] = "Repetition"
    length: int = option(
        50, "words from which on a run that occurs again is cut; 0: none", least=0, most=1_000_000
    )
    near: float = option(
        0.8,
        "similarity from which on a whole document goes (Jaccard); 0: none",
        least=0.0,
        most=1.0,
    )
    shingle: int = option(
        5, "words in a run that documents are compared by", least=1, most=LONGEST_NGRAM
    )
    exact: bool = option(
        False,
        "Compare words as they are; else case and the punctuation of documents do not count",
    )
    tokenizer: str = option("ud", "how texts are cut into words")
    cut: Literal["word", "sentence"] = option(
        "word", "where to cut: at words, or take out whole sentences alone"
    )
    keep: tuple[str, ...] = option(
        ("first",),
        "the copy that stays: first, longest, source:NAME, newest:FIELD (largest value: a year, a "
        "date); of several rules the first that tells them apart",
        metavar="RULE,...",
    )
    by: str = option("source", "field that names a text's source", metavar="FIELD", sign=unsigned)

    def __post_init__(self) -> None:
        check_options(self)
        for rule in self.keep:
            if not _RULE.fullmatch(rule):
                raise OptionError(
                    f"--keep {rule}: not a rule; write first, longest, newest:FIELD or source:NAME"
                )
        if sum(rule.startswith(NEWEST) for rule in self.keep) > 1:
            raise OptionError("--keep takes one newest:FIELD")
        if not self.length and not self.near:
            raise OptionError("nothing is looked for: --length and --near are both 0")
        if self.length and self.length < self.shingle:
            raise OptionError(
                f"--length {self.length} is shorter than the runs that documents are compared by: "
                f"{number_of(self.shingle, 'word')}"
            )

    @property
    def newest(self) -> str | None:
        """The field whose largest value stays."""
        return next((r.removeprefix(NEWEST) for r in self.keep if r.startswith(NEWEST)), None)

    @property
    def layer(self) -> str:
        """The layer in which repeated runs are looked for."""
        return "word" if self.exact else "lower"

    @property
    def folds(self) -> bool:
        """Whether documents are compared by folded words."""
        return bool(self.near) and not self.exact


@dataclass(frozen=True, slots=True)
class Passage:
    """Words that occur again and again: how often, in how many documents."""

    text: str
    words: int
    times: int
    documents: int


CUTS = np.dtype([(name, np.int64) for name in ("document", "start", "end", "kept", "kept_start")])
"""Words `start` to `end` of a document, and the copy that stays: from `kept_start` on in the
document `kept`, which is -2 where it is in the corpus that was compared with."""


@dataclass(frozen=True, slots=True)
class WordNumbers:
    """Documents as word numbers, in the order of the input.

    Document d is the words from `starts[d]` on, `lengths[d]` of them; places behind the end of
    `ids` are those of `more`, which holds what is left of documents that were cut.
    """

    ids: NDArray[np.int32]
    more: NDArray[np.int32]
    starts: Ints
    lengths: Ints

    def document(self, number: int) -> NDArray[np.int32]:
        """The words of a document."""
        start, length = int(self.starts[number]), int(self.lengths[number])
        if start < len(self.ids):
            return self.ids[start : start + length]
        return self.more[start - len(self.ids) :][:length]

    def recut(self, cut: Ints, new: NDArray[np.int32], ends: Ints) -> WordNumbers:
        """Other words for some documents, which end there in `new`."""
        first = len(self.ids) + len(self.more)
        starts, lengths = self.starts.copy(), self.lengths.copy()
        starts[cut], lengths[cut] = first + starts_of(ends), np.diff(ends, prepend=0)
        return WordNumbers(self.ids, np.concatenate((self.more, new)), starts, lengths)


@dataclass(frozen=True, slots=True)
class Texts:
    """The documents: their words, and the folded ones that they are compared by, if there are any.

    One that is `gone` takes no part any more.
    """

    words: WordNumbers
    gone: NDArray[np.bool_]
    vocabulary: Sequence[str]
    sources: Sequence[str]
    ages: Sequence[Any] | None = None
    """What the field `newest` holds."""
    sentence_ends: Ints | None = None
    folded: WordNumbers | None = None
    held: tuple[Array, Array] | None = None
    """Of each word of `ids` and of `more`, whether a run of `length` words begins there that the
    other corpus holds."""

    def __len__(self) -> int:
        return len(self.words.starts)


@dataclass(frozen=True, slots=True)
class Found:
    """What goes; documents are numbered in the order of the input."""

    alike: Ints
    """The document that stays instead (-1: it is not alike any)."""
    similar: NDArray[np.float64]
    cuts: np.recarray[Any, Any]
    """Of the type CUTS, by document and place."""
    passages: Sequence[Passage]
    sets: Sequence[str]
    shared: Ints
    """shared[s, t]: words of set s that set t holds in another document."""

    def __bool__(self) -> bool:
        return bool(len(self.cuts)) or bool((self.alike >= 0).any())


class Stream:
    """The documents one after another in the order in which copies count, an END behind each."""

    def __init__(self, words: WordNumbers, order: Ints, room: Room) -> None:
        lengths = words.lengths[order]
        self.order = order
        self.ends = np.cumsum(lengths + 1) - 1
        self.starts = self.ends - lengths
        self.ids = room.array(int(self.ends[-1]) + 1 if len(order) else 0, np.int32)
        lay(words.ids, words.more, words.starts, words.lengths, order, 1, self.ids)


def order_of(texts: Texts, options: DedupOptions) -> Ints:
    """The documents, those first whose copies stay."""
    keys: list[Any] = []
    sources = texts.sources
    for rule in options.keep:
        if rule.startswith(SOURCE):
            preferred = rule.removeprefix(SOURCE)
            if preferred not in sources:
                raise OptionError(
                    f"--keep {rule}: no such source; there are "
                    f"{', '.join(sorted(set(sources))[:20])}"
                )
            keys.append([name != preferred for name in sources])
        elif rule.startswith(NEWEST):
            values = texts.ages or ()
            if all(value is None for value in values):
                raise OptionError(f"--keep {rule}: no record has such a field")
            ordered = sorted({_comparable(value) for value in values})
            ranks = {value: -rank for rank, value in enumerate(ordered)}
            keys.append([ranks[_comparable(value)] for value in values])
        elif rule == "longest":
            keys.append(-texts.words.lengths)
    order = np.lexsort([np.asarray(key) for key in reversed(keys)]) if keys else None
    stays = np.flatnonzero(~texts.gone)
    return stays if order is None else order[~texts.gone[order]]


def _comparable(value: Any) -> tuple[int, float, str]:
    """Numbers before texts, nothing before either: a year may be written in both ways."""
    if value is None:
        return (0, 0.0, "")
    try:
        return (1, float(value), "")
    except (TypeError, ValueError):
        return (2, 0.0, str(value))


def find(
    texts: Texts, options: DedupOptions, room: Room | None = None, *, threads: int = 1
) -> Found:
    """All that goes, in one pass."""
    room = room or Room()
    order = order_of(texts, options)
    alike, similar = np.full(len(order), -1, np.int64), np.zeros(len(order))
    if options.near:
        similar = _alike(texts, order, options, room, alike, threads)
    cuts = np.empty(0, CUTS)
    passages: list[Passage] = []
    names, sets = _sets(texts)
    shared = np.zeros((len(names), len(names)), np.int64)
    if options.length:
        stream = Stream(texts.words, order, room)
        numbers, kinds = _numbered(stream, options.length, room, threads)
        once, more = (room.array(kinds, np.uint64) for _ in range(2))
        seen = room.array(kinds, np.int64, -1)
        places = stream.starts, stream.ends
        cover(*places, numbers, options.length, sets[order], once, more, seen, shared)
        del once, more, seen
        passages = _passages(stream, numbers, kinds, options.length, texts.vocabulary, room)
        cuts = _cuts(texts, stream, numbers, kinds, options, alike, room)
    back = np.full(len(texts), -1, np.int64)
    back[order] = np.where(alike >= 0, order[alike], -1)
    likeness = np.zeros(len(texts))
    likeness[order] = similar
    return Found(back, likeness, cuts.view(np.recarray), passages, names, shared)


def _numbered(stream: Stream, length: int, room: Room, threads: int) -> tuple[Array, int]:
    """The numbers of all runs of some words, and how many there are."""
    size = len(stream.ids)
    numbers = room.array(size, kind_of_places(size))
    return numbers, number_runs(stream.ids, length, numbers, room, threads=threads)


def _sets(texts: Texts) -> tuple[list[str], Ints]:
    """The sources, and which of them each document is of; of very many the smaller ones are one."""
    words: dict[str, int] = {}
    for name, length in zip(texts.sources, texts.words.lengths.tolist()):
        words[name] = words.get(name, 0) + length
    if len(words) > _SETS:
        large = sorted(words, key=lambda name: -words[name])[: _SETS - 1]
        names = [name for name in words if name in set(large)] + [OTHERS]
    else:
        names = list(words)
    numbers = {name: number for number, name in enumerate(names)}
    last = len(names) - 1
    return names, np.array([numbers.get(name, last) for name in texts.sources], np.int64)


def _alike(
    texts: Texts, order: Ints, options: DedupOptions, room: Room, alike: Ints, threads: int
) -> NDArray[np.float64]:
    """Fill in the document that stays in the place of another; how similar they are."""
    compared = texts.words if texts.folded is None else texts.folded
    stream = Stream(compared, order, room)
    numbers, kinds = _numbered(stream, options.shingle, room, threads)
    runs, frequency = room.array(len(numbers), numbers.dtype), room.array(kinds, np.int64)
    last, sizes = distinct(stream.starts, stream.ends, numbers, options.shingle, runs, frequency)
    rarest = prefixes(last, sizes, options.near)
    heads = room.array(kinds, np.int64, -1)
    links, owners = (room.array(int(rarest.sum()), np.int64) for _ in range(2))
    similar: NDArray[np.float64] = drop_alike(
        runs, last, sizes, frequency, options.near, rarest, heads, links, owners, alike
    )
    # Documents without a single run are alike if they have the same words, or, where they have
    # nothing but punctuation, the same of that.
    first: dict[tuple[bool, bytes], int] = {}
    for document in np.flatnonzero(stream.ends - stream.starts < options.shingle).tolist():
        number = int(order[document])
        empty = not compared.lengths[number]
        words = (texts.words if empty else compared).document(number).tobytes()
        kept = first.setdefault((empty, words), document)
        if kept != document:
            alike[document], similar[document] = kept, 1.0
    return similar


def _cuts(
    texts: Texts,
    stream: Stream,
    numbers: Array,
    kinds: int,
    options: DedupOptions,
    alike: Ints,
    room: Room,
) -> NDArray[Any]:
    laid = texts.words.starts, texts.words.lengths, stream.order
    held = room.array(len(numbers), np.uint8)
    if texts.held is not None:
        lay(*texts.held, *laid, 0, held)
    dropped, copies = room.array(len(numbers), np.uint8), room.array(len(numbers), numbers.dtype)
    for gone in np.flatnonzero(alike >= 0).tolist():
        dropped[stream.starts[gone] : stream.ends[gone]] = GONE
    kept = room.array(kinds, numbers.dtype, -1)
    drop_repeats(stream.ids, numbers, held, options.length, dropped, copies, kept)
    if texts.sentence_ends is not None and options.cut == "sentence":
        ends = room.array(len(texts.sentence_ends), np.int64)
        ends = ends[: lay_ends(texts.sentence_ends, *laid, ends)]
        keep_split_sentences(stream.ids, ends, dropped)
    nothing = np.empty((0, 3), np.int64)
    listed = np.empty((list_cuts(stream.ids, dropped, copies, nothing), 3), np.int64)
    list_cuts(stream.ids, dropped, copies, listed)
    starts, ends, copy = listed.T
    document = np.searchsorted(stream.ends, starts, "left")
    other = np.where(copy >= 0, np.searchsorted(stream.ends, copy, "left"), 0)
    here, there = stream.starts[document], stream.starts[other]
    cuts = np.empty(len(listed), CUTS)
    cuts["document"], cuts["start"], cuts["end"] = (
        stream.order[document],
        starts - here,
        ends - here,
    )
    cuts["kept"] = np.where(copy >= 0, stream.order[other], copy)
    cuts["kept_start"] = np.where(copy >= 0, copy - there, 0)
    return cuts[np.lexsort((cuts["start"], cuts["document"]))]


def _passages(
    stream: Stream,
    numbers: Array,
    kinds: int,
    length: int,
    vocabulary: Sequence[str],
    room: Room,
) -> list[Passage]:
    """The passages that occur most often, each as long as it does."""
    times, first = room.array(kinds, np.int64), room.array(kinds, np.int64)
    tally(numbers, times, first)
    most = _largest(times, _PASSAGES)
    covered: set[int] = set()
    found: list[tuple[int, int, int]] = []
    for number in most.tolist():
        start = end = int(first[number])
        if start in covered:
            continue
        while start and numbers[start - 1] != ONCE and times[numbers[start - 1]] == times[number]:
            start -= 1
        while numbers[end + 1] != ONCE and times[numbers[end + 1]] == times[number]:
            end += 1
        covered.update(range(start - length, end + length))
        found.append((number, start, end + length))
        if len(found) == _SHOWN:
            break
    wanted, counts = room.array(kinds, np.int8, -1), np.zeros(len(found), np.int64)
    wanted[[number for number, _, _ in found]] = np.arange(len(found))
    documents_with(stream.starts, stream.ends, numbers, wanted, counts)
    return [
        Passage(
            " ".join(vocabulary[word - 1] for word in stream.ids[start:end].tolist()),
            end - start,
            int(times[number]),
            int(counts[place]),
        )
        for place, (number, start, end) in enumerate(found)
    ]


def _largest(times: Ints, count: int) -> Ints:
    """The places of the largest numbers, of equal ones the first ones."""
    if len(times) <= count:
        return np.argsort(-times, kind="stable").astype(np.int64)
    least = np.partition(times, -count)[-count]
    above = np.flatnonzero(times > least)
    equal = np.flatnonzero(times == least)[: count - len(above)]
    several = np.concatenate((above, equal))
    return several[np.lexsort((several, -times[several]))]
