"""What is repeated in a corpus, and which copies of it go.

First whole documents: one goes if an earlier one that stays is at least so similar (Jaccard over
runs of words, shingles; of folded words, unless words count as they are). Candidates come from the
rarest runs of each, so that none is missed and none is guessed (prefix filtering, Chaudhuri et al.
2006; MinHash would find most of them). With `meaning` also one that says in other words what an
earlier one says (`search/meaning/paraphrases.py`), unless their numbers, names or negation differ.
Then runs of words: one of at least `length` words goes if
the same words were kept before, in an earlier document or earlier in this one. What counts as
earlier is the order of the input, or what `keep` makes of it. Both follow
from numbers for runs of words (`repeated_runs.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from rote.core.arrays import Array
from rote.core.errors import OptionError
from rote.core.kernels import njit
from rote.core.layer import starts_of
from rote.core.metric import LONGEST_NGRAM, check_options, option, unsigned_option
from rote.core.progress import several as number_of
from rote.core.result import Row
from rote.curate.repeated_runs import ONCE, ArrayRoom, number_runs, position_dtype
from rote.index.grams import END

Ints = NDArray[np.int64]
OTHERS = "other sources"
_PASSAGES, _SHOWN = 1_000, 20
# Of so many sources it is counted what each shares with each.
_SETS = 64
NEWEST, SOURCE = "newest:", "source:"
_RULE = re.compile(r"first|longest|(?:newest|source):.+")


CHANCE = 1e-3
"""One document in a thousand that say nothing in common."""


@dataclass(frozen=True, slots=True)
class DedupOptions:
    """What counts as a repetition, and which copy stays."""

    SECTION: ClassVar[str] = "Repetition"
    length: int = option(
        50, "minimum length of a repeated span to cut, in words; 0: none", least=0, most=1_000_000
    )
    near: float = option(
        0.8,
        "minimum similarity to remove a whole document (Jaccard); 0: none",
        least=0.0,
        most=1.0,
    )
    meaning: bool = option(False, "Also remove documents that paraphrase an earlier one (English)")
    chance: float = option(
        CHANCE,
        "maximum probability that unrelated documents are this similar",
        above=0.0,
        most=0.2,
    )
    shingle: int = option(
        5, "shingle size for comparing documents, in words", least=1, most=LONGEST_NGRAM
    )
    exact: bool = option(
        False, "Compare words exactly; default: ignore case and the punctuation of documents"
    )
    tokenizer: str = option("ud", "tokenizer of the texts")
    cut: Literal["word", "sentence"] = option(
        "word", "where to cut: at words, or only whole sentences"
    )
    keep: tuple[str, ...] = option(
        ("first",),
        "copy to keep: first, longest, source:NAME, newest:FIELD (largest value: a year, a date); "
        "with several rules, the first that decides",
        metavar="RULE,...",
    )
    by: str = unsigned_option("source", "field with a text's source", metavar="FIELD")

    def __post_init__(self) -> None:
        check_options(self)
        for rule in self.keep:
            if not _RULE.fullmatch(rule):
                raise OptionError(
                    f"--keep {rule}: not a rule; write first, longest, newest:FIELD or source:NAME"
                )
        if sum(rule.startswith(NEWEST) for rule in self.keep) > 1:
            raise OptionError("--keep takes one newest:FIELD")
        if not (self.length or self.near or self.meaning):
            raise OptionError("nothing to do: --length and --near are both 0")
        if self.chance != CHANCE and not self.meaning:
            raise OptionError("--chance is for paraphrased documents: add --meaning")
        if self.length and self.length < self.shingle:
            raise OptionError(
                f"--length {self.length} is shorter than the shingles that documents are compared "
                f"by: {number_of(self.shingle, 'word')}"
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
class OtherFacts:
    """Documents that say nearly the same, and state different facts: both stay."""

    document: int
    earlier: int
    similarity: float
    p: float
    differing: tuple[str, ...]


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

    @classmethod
    def of(cls, ids: NDArray[np.int32], ends: Ints) -> WordNumbers:
        """Documents that follow one another and end there."""
        return cls(ids, np.empty(0, np.int32), starts_of(ends), np.diff(ends, prepend=0))

    def document(self, number: int) -> NDArray[np.int32]:
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
class DedupTexts:
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
    read: Callable[[Ints], Sequence[str]] | None = None
    """The texts of some documents, in order; without it none is compared by meaning."""
    elsewhere: tuple[Array, Array] | None = None
    """Of each word of `ids` and of `more`, whether a run of `length` words begins there that the
    other corpus holds."""

    def __len__(self) -> int:
        return len(self.words.starts)


@dataclass(frozen=True, slots=True)
class Repetitions:
    """What goes; documents are numbered in the order of the input."""

    alike: Ints
    """The document that stays instead (-1: it is not alike any)."""
    similar: NDArray[np.float64]
    p: NDArray[np.float64]
    """Of documents in other words, how often chance does as well; else nan."""
    other_facts: Sequence[OtherFacts]
    cuts: np.recarray[Any, Any]
    """Of the type CUTS, by document and place."""
    passages: Sequence[Row]
    """Words that occur again and again: how often, in how many documents."""
    sets: Sequence[str]
    shared: Ints
    """shared[s, t]: words of set s that set t holds in another document."""

    def __bool__(self) -> bool:
        return bool(len(self.cuts)) or bool((self.alike >= 0).any())


class DocumentStream:
    """The documents one after another in the order in which copies count, an END behind each."""

    def __init__(self, words: WordNumbers, order: Ints, room: ArrayRoom) -> None:
        lengths = words.lengths[order]
        self.order = order
        self.ends = np.cumsum(lengths + 1) - 1
        self.starts = self.ends - lengths
        self.ids = room.array(int(self.ends[-1]) + 1 if len(order) else 0, np.int32)
        _lay_documents(words.ids, words.more, words.starts, words.lengths, order, 1, self.ids)


def copy_order(texts: DedupTexts, options: DedupOptions) -> Ints:
    """The documents, those first whose copies stay."""
    keys: list[Any] = []
    sources = texts.sources
    for rule in options.keep:
        if rule.startswith(SOURCE):
            preferred = rule.removeprefix(SOURCE)
            if preferred not in sources:
                there = ", ".join(sorted(set(sources))[:20])
                raise OptionError(f"--keep {rule}: no such source; there are {there}")
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


def find_repetitions(
    texts: DedupTexts, options: DedupOptions, room: ArrayRoom | None = None, *, threads: int = 1
) -> Repetitions:
    """All that goes, in one pass."""
    room = room or ArrayRoom()
    order = copy_order(texts, options)
    alike, similar = np.full(len(order), -1, np.int64), np.zeros(len(order))
    if options.near:
        similar = _find_alike(texts, order, options, room, alike, threads)
    p = np.full(len(order), np.nan)
    other_facts: list[OtherFacts] = []
    if options.meaning and texts.read is not None:
        other_facts = _find_paraphrases(texts, order, options.chance, alike, similar, p)
    cuts = np.empty(0, CUTS)
    passages: list[Row] = []
    names, sets = _source_sets(texts)
    shared = np.zeros((len(names), len(names)), np.int64)
    if options.length:
        stream = DocumentStream(texts.words, order, room)
        numbers, kinds = _number_stream(stream, options.length, room, threads)
        once, more = (room.array(kinds, np.uint64) for _ in range(2))
        last_text = room.array(kinds, np.int64, -1)
        places = stream.starts, stream.ends
        _count_shared(*places, numbers, options.length, sets[order], once, more, last_text, shared)
        del once, more, last_text
        passages = _top_passages(stream, numbers, kinds, options.length, texts.vocabulary, room)
        cuts = _find_cuts(texts, stream, numbers, kinds, options, alike, room)
    back = np.full(len(texts), -1, np.int64)
    back[order] = np.where(alike >= 0, order[alike], -1)
    likeness, chances = np.zeros(len(texts)), np.full(len(texts), np.nan)
    likeness[order], chances[order] = similar, p
    return Repetitions(
        back, likeness, chances, other_facts, cuts.view(np.recarray), passages, names, shared
    )


def _number_stream(
    stream: DocumentStream, length: int, room: ArrayRoom, threads: int
) -> tuple[Array, int]:
    """The numbers of all runs of some words, and how many there are."""
    size = len(stream.ids)
    numbers = room.array(size, position_dtype(size))
    return numbers, number_runs(stream.ids, length, numbers, room, threads=threads)


def _source_sets(texts: DedupTexts) -> tuple[list[str], Ints]:
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


def _find_alike(
    texts: DedupTexts,
    order: Ints,
    options: DedupOptions,
    room: ArrayRoom,
    alike: Ints,
    threads: int,
) -> NDArray[np.float64]:
    """Fill in the document that stays in the place of another; how similar they are."""
    compared = texts.words if texts.folded is None else texts.folded
    stream = DocumentStream(compared, order, room)
    numbers, kinds = _number_stream(stream, options.shingle, room, threads)
    runs, frequency = room.array(len(numbers), numbers.dtype), room.array(kinds, np.int64)
    places = stream.starts, stream.ends
    last, sizes = _distinct_runs(*places, numbers, options.shingle, runs, frequency)
    rarest = _prefix_sizes(last, sizes, options.near)
    heads = room.array(kinds, np.int64, -1)
    links, owners = (room.array(int(rarest.sum()), np.int64) for _ in range(2))
    similar: NDArray[np.float64] = _drop_alike(
        runs, last, sizes, frequency, options.near, rarest, heads, links, owners, alike
    )
    # Documents without a single run are alike if they have the same words, or, where they have
    # nothing but punctuation, the same of that.
    first: dict[tuple[bool, bytes], int] = {}
    for document in np.flatnonzero(stream.ends - stream.starts < options.shingle).tolist():
        number = int(order[document])
        empty = not compared.lengths[number]
        words = (texts.words if empty else compared).document(number).tobytes()
        earlier = first.setdefault((empty, words), document)
        if earlier != document:
            alike[document], similar[document] = earlier, 1.0
    return similar


def _find_paraphrases(
    texts: DedupTexts,
    order: Ints,
    chance: float,
    alike: Ints,
    similar: NDArray[np.float64],
    p: NDArray[np.float64],
) -> list[OtherFacts]:
    """Fill in the document that stays in the place of one that says the same; pairs with other
    facts, of which none goes."""
    from rote.search.meaning.facts import compare_facts, read_facts
    from rote.search.meaning.paraphrases import find_pairs

    assert texts.read is not None
    ranks = np.flatnonzero(alike < 0)
    documents = order[ranks]
    documents = documents[texts.words.lengths[documents] > 0]
    ranks = ranks[texts.words.lengths[order[ranks]] > 0]
    starts = texts.words.starts[documents]
    ends = starts + texts.words.lengths[documents]
    pairs = find_pairs(texts.words.ids, texts.vocabulary, starts, ends, chance)
    used = np.unique(np.concatenate((pairs.later, pairs.earlier)))
    wanted = np.argsort(documents[used], kind="stable")
    strings = dict(zip(used[wanted].tolist(), texts.read(documents[used[wanted]])))
    facts = dict(zip(strings, read_facts(list(strings.values()))))
    rows = zip(pairs.later.tolist(), pairs.earlier.tolist(), pairs.similarity, pairs.p)
    similar_pairs: dict[int, OtherFacts] = {}
    for later, earlier, similarity, probability in rows:
        # An earlier one has been decided before.
        if alike[ranks[later]] >= 0 or alike[ranks[earlier]] >= 0:
            continue
        if differing := compare_facts(facts[later], facts[earlier]):
            places = int(documents[later]), int(documents[earlier])
            chances = float(similarity), float(probability)
            similar_pairs.setdefault(later, OtherFacts(*places, *chances, differing))
            continue
        alike[ranks[later]], similar[ranks[later]] = ranks[earlier], similarity
        p[ranks[later]] = probability
        similar_pairs.pop(later, None)
    return list(similar_pairs.values())


def _find_cuts(
    texts: DedupTexts,
    stream: DocumentStream,
    numbers: Array,
    kinds: int,
    options: DedupOptions,
    alike: Ints,
    room: ArrayRoom,
) -> NDArray[Any]:
    laid = texts.words.starts, texts.words.lengths, stream.order
    elsewhere = room.array(len(numbers), np.uint8)
    if texts.elsewhere is not None:
        _lay_documents(*texts.elsewhere, *laid, 0, elsewhere)
    dropped, copies = room.array(len(numbers), np.uint8), room.array(len(numbers), numbers.dtype)
    for gone in np.flatnonzero(alike >= 0).tolist():
        dropped[stream.starts[gone] : stream.ends[gone]] = GONE
    first_copies = room.array(kinds, numbers.dtype, -1)
    _drop_repeats(stream.ids, numbers, elsewhere, options.length, dropped, copies, first_copies)
    if texts.sentence_ends is not None and options.cut == "sentence":
        ends = room.array(len(texts.sentence_ends), np.int64)
        ends = ends[: _lay_sentence_ends(texts.sentence_ends, *laid, ends)]
        _keep_split_sentences(stream.ids, ends, dropped)
    nothing = np.empty((0, 3), np.int64)
    listed = np.empty((_list_cuts(stream.ids, dropped, copies, nothing), 3), np.int64)
    _list_cuts(stream.ids, dropped, copies, listed)
    starts, ends, copy = listed.T
    document = np.searchsorted(stream.ends, starts, "left")
    copy_text = np.where(copy >= 0, np.searchsorted(stream.ends, copy, "left"), 0)
    here, there = stream.starts[document], stream.starts[copy_text]
    cuts = np.empty(len(listed), CUTS)
    cuts["document"], cuts["start"] = stream.order[document], starts - here
    cuts["end"] = ends - here
    cuts["kept"] = np.where(copy >= 0, stream.order[copy_text], copy)
    cuts["kept_start"] = np.where(copy >= 0, copy - there, 0)
    return cuts[np.lexsort((cuts["start"], cuts["document"]))]


def _top_passages(
    stream: DocumentStream,
    numbers: Array,
    kinds: int,
    length: int,
    vocabulary: Sequence[str],
    room: ArrayRoom,
) -> list[Row]:
    """The passages that occur most often, each as long as it does."""
    times, first = room.array(kinds, np.int64), room.array(kinds, np.int64)
    _count_runs(numbers, times, first)
    most = _largest_positions(times, _PASSAGES)
    covered: set[int] = set()
    spans: list[tuple[int, int, int]] = []
    for number in most.tolist():
        start = end = int(first[number])
        if start in covered:
            continue
        while start and numbers[start - 1] != ONCE and times[numbers[start - 1]] == times[number]:
            start -= 1
        while numbers[end + 1] != ONCE and times[numbers[end + 1]] == times[number]:
            end += 1
        covered.update(range(start - length, end + length))
        spans.append((number, start, end + length))
        if len(spans) == _SHOWN:
            break
    wanted, counts = room.array(kinds, np.int8, -1), np.zeros(len(spans), np.int64)
    wanted[[number for number, _, _ in spans]] = np.arange(len(spans))
    _count_documents(stream.starts, stream.ends, numbers, wanted, counts)
    passages: list[Row] = []
    for (number, start, end), documents in zip(spans, counts.tolist()):
        text = " ".join(vocabulary[word - 1] for word in stream.ids[start:end].tolist())
        passage = {"text": text, "words": end - start, "times": int(times[number])}
        passages.append({**passage, "documents": documents})
    return passages


def _largest_positions(times: Ints, count: int) -> Ints:
    """The places of the largest numbers, of equal ones the first ones."""
    if len(times) <= count:
        return np.argsort(-times, kind="stable").astype(np.int64)
    least = np.partition(times, -count)[-count]
    above = np.flatnonzero(times > least)
    equal = np.flatnonzero(times == least)[: count - len(above)]
    several = np.concatenate((above, equal))
    return several[np.lexsort((several, -times[several]))]


CUT, GONE = 1, 2
"""What `dropped` says of a word: cut, or gone with its document."""


@njit(cache=True, nogil=True)
def _lay_documents(
    values: Array, more: Array, starts: Array, lengths: Array, order: Array, plus: int, out: Array
) -> None:
    """Documents one after another, a zero behind each; what `values` lacks goes on in `more`."""
    at = 0
    for document in order:
        for place in range(starts[document], starts[document] + lengths[document]):
            out[at] = (values[place] if place < len(values) else more[place - len(values)]) + plus
            at += 1
        out[at] = 0
        at += 1


@njit(cache=True, nogil=True)
def _lay_sentence_ends(ends: Array, starts: Array, lengths: Array, order: Array, out: Array) -> int:
    """The same for ends of sentences, of which those of a document are in order; how many."""
    at, count = 0, 0
    for document in order:
        start, stop = starts[document], starts[document] + lengths[document]
        sentence = np.searchsorted(ends, start, "right")
        while sentence < len(ends) and ends[sentence] <= stop:
            out[count] = at + ends[sentence] - start
            count += 1
            sentence += 1
        at += lengths[document] + 1
    return count


@njit(cache=True, nogil=True)
def _drop_repeats(
    ids: Array,
    numbers: Array,
    elsewhere: Array,
    length: int,
    dropped: Array,
    copies: Array,
    first_copies: Array,
) -> None:
    """Drop every run of `length` words that was kept before, or that another corpus holds, as
    `elsewhere` says.

    `dropped` comes with the words of documents that are gone, and gets all others.
    `first_copies[number]` is where the first copy that stays begins (-1: nowhere yet);
    `copies[place]` where the copy of a run that goes begins (-1: none, -2: elsewhere). A copy
    counts as kept once its last word has been passed and none of its words was dropped.
    """
    until, run = 0, 0
    for place in range(len(ids)):
        copies[place] = -1
        if ids[place] == END:
            until, run = place, 0
            continue
        if dropped[place]:
            run = 0
            continue
        number = numbers[place]
        if number != ONCE and first_copies[number] >= 0:
            copies[place], until = first_copies[number], place + length
        elif elsewhere[place]:
            copies[place], until = -2, place + length
        if place < until:
            dropped[place] = CUT
            run = 0
            continue
        run += 1
        if run >= length:
            first = numbers[place - length + 1]
            if first != ONCE and first_copies[first] < 0:
                first_copies[first] = place - length + 1


@njit(cache=True, nogil=True)
def _keep_split_sentences(ids: Array, sentence_ends: Array, dropped: Array) -> None:
    """Put back what was cut of a sentence of which words stay."""
    start = 0
    for end in sentence_ends:
        while ids[start] == END:
            start += 1
        every = True
        for place in range(start, end):
            every = every and dropped[place] != 0
        if not every:
            for place in range(start, end):
                if dropped[place] == CUT:
                    dropped[place] = 0
        start = end


@njit(cache=True, nogil=True)
def _list_cuts(ids: Array, dropped: Array, copies: Array, cuts: Array) -> int:
    """Of each run of words that is cut the first one, the end, and where its copy is: -2 if that is
    elsewhere. How many there are; with no room in `cuts` they are only counted."""
    count, begin = 0, 0
    for place in range(len(ids)):
        if ids[place] == END:
            begin = place + 1
        if dropped[place] != CUT or (place > begin and dropped[place - 1] == CUT):
            continue
        if len(cuts):
            end = place
            while dropped[end] == CUT:
                end += 1
            # Of a sentence that goes the run may have begun in the one before.
            from_ = place
            while from_ > begin and copies[from_] == -1:
                from_ -= 1
            copy = copies[from_]
            cuts[count, 0], cuts[count, 1] = place, end
            cuts[count, 2] = copy + place - from_ if copy >= 0 else copy
        count += 1
    return count


@njit(cache=True, nogil=True)
def _distinct_runs(
    starts: Array, ends: Array, numbers: Array, length: int, runs: Array, frequency: Array
) -> tuple[Array, Array]:
    """In `runs`, of each document the different numbers in order, and in `frequency` how many
    documents have each; where they end, and how many different runs of `length` words a document
    has, those that occur once included."""
    last = np.zeros(len(starts), np.int64)
    sizes = np.zeros(len(starts), np.int64)
    filled = 0
    for document in range(len(starts)):
        first, once = filled, 0
        for place in range(starts[document], ends[document] - length + 1):
            if numbers[place] == ONCE:
                once += 1
            else:
                runs[filled] = numbers[place]
                filled += 1
        document_runs = np.unique(runs[first:filled])
        runs[first : first + len(document_runs)] = document_runs
        filled = first + len(document_runs)
        for number in document_runs:
            frequency[number] += 1
        last[document], sizes[document] = filled, once + len(document_runs)
    return last, sizes


@njit(cache=True, nogil=True)
def _prefix_sizes(last: Array, sizes: Array, least: float) -> Array:
    """How many of its rarest numbers a document is looked up by. Two sets this similar share one
    of the rarest of each: a set of n has to share at least `least * n`, so it shares one of its
    n - ceil(least * n) + 1 rarest. Those that occur once are the rarest, and none shares them."""
    counts = np.zeros(len(last), np.int64)
    first = 0
    for document in range(len(last)):
        size, end = sizes[document], last[document]
        # One less than the least number that two have to share is still too few.
        prefix = size - int(np.ceil(least * size - 1e-9)) + 1 - (size - (end - first))
        counts[document] = max(0, prefix)
        first = end
    return counts


@njit(cache=True, nogil=True)
def _shared_runs(runs: Array, first: int, first_end: int, second: int, second_end: int) -> int:
    """How many numbers two sorted lists have in common."""
    shared = 0
    while first < first_end and second < second_end:
        if runs[first] == runs[second]:
            shared += 1
            first += 1
            second += 1
        elif runs[first] < runs[second]:
            first += 1
        else:
            second += 1
    return shared


@njit(cache=True, nogil=True)
def _drop_alike(
    runs: Array,
    last: Array,
    sizes: Array,
    frequency: Array,
    least: float,
    rarest: Array,
    heads: Array,
    links: Array,
    owners: Array,
    alike: Array,
) -> Array:
    """Documents that are at least so similar (Jaccard) to one before them that stays.

    Gives for each the most similar of those, the first of several, in `alike` (-1: none, it
    stays), and how similar they are. Only documents that stay are looked up, each by its `rarest`
    numbers, so none is missed; `heads` (all -1), `links` and `owners` are room to work in.
    """
    compared = np.full(len(last), -1, np.int64)
    similar = np.zeros(len(last))
    used = 0
    for document in range(len(last)):
        first = last[document - 1] if document else 0
        end, size = last[document], sizes[document]
        alike[document] = -1
        if rarest[document] == 0:
            continue
        document_runs = runs[first:end]
        by_rarity = np.argsort(frequency[document_runs], kind="mergesort")
        rare = document_runs[by_rarity[: rarest[document]]]
        for number in rare:
            at = heads[number]
            while at >= 0:
                candidate = owners[at]
                at = links[at]
                if compared[candidate] == document:
                    continue
                compared[candidate] = document
                if min(size, sizes[candidate]) < least * max(size, sizes[candidate]) - 1e-9:
                    continue
                begin = last[candidate - 1] if candidate else 0
                shared = _shared_runs(runs, first, end, begin, last[candidate])
                share = shared / (size + sizes[candidate] - shared)
                if share >= least and (
                    share > similar[document]
                    or (share == similar[document] and candidate < alike[document])
                ):
                    similar[document], alike[document] = share, candidate
        if alike[document] < 0:
            for number in rare:
                links[used], owners[used], heads[number] = heads[number], document, used
                used += 1
    return similar


@njit(cache=True, nogil=True)
def _count_shared(
    starts: Array,
    ends: Array,
    numbers: Array,
    length: int,
    sets: Array,
    once: Array,
    more: Array,
    last_text: Array,
    words: Array,
) -> None:
    """`words[s, t]`: words of set s that are part of a run that set t, one of at most 64, holds in
    another document. `once` and `more` (zeros) get the sets that hold a number in a document, and
    in several; `last_text` (all -1) the last document that does."""
    for document in range(len(starts)):
        bit = np.uint64(1) << np.uint64(sets[document])
        for place in range(starts[document], ends[document]):
            number = numbers[place]
            if number == ONCE or last_text[number] == document:
                continue
            last_text[number] = document
            if once[number] & bit:
                more[number] |= bit
            once[number] |= bit
    until = np.zeros(words.shape[1], np.int64)
    for document in range(len(starts)):
        document_set = sets[document]
        bit = np.uint64(1) << np.uint64(document_set)
        for place in range(starts[document], ends[document]):
            number = numbers[place]
            if number == ONCE:
                continue
            holders = (once[number] & ~bit) | (more[number] & bit)
            for column in range(words.shape[1]):
                if (holders >> np.uint64(column)) & np.uint64(1):
                    words[document_set, column] += place + length - max(until[column], place)
                    until[column] = place + length


@njit(cache=True, nogil=True)
def _count_runs(numbers: Array, times: Array, first: Array) -> None:
    """How often each number occurs, and where first."""
    for place in range(len(numbers)):
        number = numbers[place]
        if number != ONCE:
            if times[number] == 0:
                first[number] = place
            times[number] += 1


@njit(cache=True, nogil=True)
def _count_documents(
    starts: Array, ends: Array, numbers: Array, wanted: Array, counts: Array
) -> None:
    """In how many documents a number occurs: `wanted` says of each which of `counts` it is, or
    -1."""
    last_text = np.full(len(counts), -1, np.int64)
    for document in range(len(starts)):
        for place in range(starts[document], ends[document]):
            number = numbers[place]
            if number != ONCE and wanted[number] >= 0 and last_text[wanted[number]] != document:
                last_text[wanted[number]] = document
                counts[wanted[number]] += 1
