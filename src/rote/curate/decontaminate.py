"""Where documents hold test items: parts of items, seeds, alignments, a score.

A part (question, answer, passage) is its words without marks, in lower case, Unicode forms folded;
line breaks and spaces do not count. A document that shares a seed of a few words with a part is
aligned with it there: its score is the weight of the part's words that occur in that stretch in
the same order, of the weight of all its words. A word weighs as many bits as it is rare in the
corpus. Seeds that are common in the corpus start no alignment, and words that only such seeds
hold weigh nothing: a phrase that everybody writes convicts nobody.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from rote.annotate import words
from rote.core.layer import Layer, starts_of
from rote.core.metric import check_options, option
from rote.corpus.items import Item
from rote.curate._decontaminate_kernels import align, hits_of, make_table, seeds_of
from rote.index.columns.parts import END

Ints = NDArray[np.int64]
_NOT_WORDS = re.compile(r"[\W_]+")
_PASSAGES = ("passage", "article", "story", "document", "paragraph", "background")
_ANSWER_WITHIN = 50
# A window is so much longer than the part, on either side.
_SLACK, _LEAST_SLACK = 0.25, 8
_LONGEST = 2_000
# Bits of a word that occurs once in a million: a sample of that many words tells rare from common.
_ENOUGH = 20


@dataclass(frozen=True, slots=True)
class DecontaminateOptions:
    """What counts as a copy of an item."""

    SECTION: ClassVar[str] = "Items"
    score: float = option(
        0.7, "share of a part's words, rare ones first, from which on it is held", above=0, most=1
    )
    bits: float = option(60.0, "rarity that the words of a part must have in all", least=0.0)
    shortest: int = option(8, "parts of fewer words prove nothing", least=1)
    seed: int = option(4, "words in a row from which on a document is looked at", least=2)
    common: int = option(
        10, "documents of the sample from which on a seed is a common phrase", least=1
    )

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of an item as it is looked for; an item with a gap has one for each option."""

    item: int
    kind: Literal["question", "answer", "passage"]
    text: str


def parts_of(items: Sequence[Item]) -> list[Part]:
    """Question, answer and passage of each item, told apart."""
    found = []
    for number, item in enumerate(items):
        if item.ending.strip() or not item.context.strip():
            # The question is the sentence with its gap filled, or the text itself.
            found += [Part(number, "question", text) for text in item.instances()]
        else:
            found.append(Part(number, "question", item.context.strip()))
            right = item.options if item.answer is None else (item.options[item.answer],)
            found += [Part(number, "answer", text) for text in right if text.strip()]
        passages = (item.meta.get(name) for name in _PASSAGES)
        found += [Part(number, "passage", text) for text in passages if isinstance(text, str)]
    return found


def fold(word: str) -> str:
    """A word as it is compared: forms and case folded, marks left out; a mark is nothing."""
    return _NOT_WORDS.sub("", unicodedata.normalize("NFKC", word).casefold())


def plain_words(text: str) -> list[str]:
    """The words of a text as they are compared, for a few texts."""
    return [word for word in map(fold, text.split()) if word]


def folded(texts: Sequence[str], tokenizer: str) -> tuple[Layer, NDArray[np.bool_]]:
    """The words of texts as they are compared, and which items of the layer are words at all."""
    layer = words.get(tokenizer)(texts).map("folded", fold)
    empty = np.array([entry == "" for entry in layer.vocabulary] or [False], np.bool_)
    return layer, ~empty[layer.ids] if len(layer.vocabulary) else np.zeros(0, np.bool_)


@dataclass(frozen=True, slots=True)
class Needles:
    """The parts that are looked for, ready for the kernels."""

    parts: tuple[Part, ...]
    numbers: dict[str, int]
    ids: NDArray[np.int32]
    starts: Ints
    ends: Ints
    weights: NDArray[np.float64]
    """Of each place; 0 for words that only common seeds hold."""
    common: NDArray[np.bool_]
    table: NDArray[np.int32]
    links: NDArray[np.int32]
    seed: int
    least: float
    """Bits that the words of a part must have in all."""

    def judged(self, shortest: int) -> NDArray[np.bool_]:
        """Which parts are long and rare enough to convict."""
        totals = np.add.reduceat(self.weights, self.starts)  # an END weighs nothing
        asked = np.array([part.kind != "answer" for part in self.parts])
        return asked & (self.ends - self.starts >= shortest) & (totals >= self.least)


def needles_of(
    parts: Sequence[Part], options: DecontaminateOptions, tokenizer: str, sample: Sequence[str]
) -> Needles:
    """The parts numbered, weighed by a sample of the corpus."""
    layer, is_word = folded([part.text for part in parts], tokenizer)
    numbers: dict[str, int] = {}
    table = np.array(
        [numbers.setdefault(e, len(numbers) + 1) if e else END for e in layer.vocabulary], np.int32
    )
    lengths = np.bincount(
        np.repeat(np.arange(len(layer)), layer.text_ends - layer.text_starts)[is_word],
        minlength=len(layer),
    )
    ends = np.cumsum(lengths + 1) - 1
    starts = ends - lengths
    ids = np.full(int(lengths.sum()) + len(parts), END, np.int32)
    places = np.concatenate([np.arange(a, b) for a, b in zip(starts, ends)] or [np.empty(0, int)])
    ids[places] = table[layer.ids[is_word]]
    slots = 1 << max(4, (len(ids) * 4).bit_length())
    found, links = np.empty(slots, np.int32), np.empty(len(ids), np.int32)
    make_table(ids, options.seed, found, links)
    bare = Needles(
        parts=tuple(parts),
        numbers=numbers,
        ids=ids,
        starts=starts,
        ends=ends,
        weights=np.zeros(len(ids)),
        common=np.zeros(len(ids), np.bool_),
        table=found,
        links=links,
        seed=options.seed,
        least=options.bits,
    )
    return _weighed(bare, options, tokenizer, sample)


def _weighed(
    bare: Needles, options: DecontaminateOptions, tokenizer: str, sample: Sequence[str]
) -> Needles:
    """Rarity of words and seeds in a sample of the corpus."""
    layer, is_word = folded(sample, tokenizer)
    counts: Counter[str] = Counter()
    per_entry = np.bincount(layer.ids, minlength=len(layer.vocabulary))
    for entry, count in zip(layer.vocabulary, per_entry.tolist()):
        counts[entry] += count
    total = int(is_word.sum()) + len(bare.numbers) + 1
    bits = np.zeros(len(bare.numbers) + 1)
    for entry, number in bare.numbers.items():
        bits[number] = -np.log2((counts[entry] + 1) / total)
    _, first, documents = _seeds(bare, layer, is_word)
    pairs = np.unique(np.stack((first[first >= 0], documents[first >= 0])), axis=1)
    held = np.bincount(pairs[0], minlength=len(bare.ids))
    heads = np.flatnonzero(held >= options.common)
    common = np.zeros(len(bare.ids), np.bool_)
    for head in heads.tolist():
        at = head
        while at >= 0:
            common[at] = True
            at = int(bare.links[at])
    weights = bits[bare.ids]
    for start, end in zip(bare.starts.tolist(), bare.ends.tolist()):
        rare = np.zeros(end - start, np.bool_)
        for place in range(start, end - bare.seed + 1):
            if not common[place]:
                rare[place - start : place - start + bare.seed] = True
        # A part of which every seed is common is copied as a whole, or says nothing; its length
        # and its rarity tell which.
        if rare.any():
            weights[start:end][~rare] = 0.0
        else:
            common[start:end] = False
    return Needles(
        **{
            **{name: getattr(bare, name) for name in bare.__slots__},
            "weights": weights,
            "common": common,
            # In few words none is rare: what is asked for shrinks with what can be told.
            "least": options.bits * min(1.0, float(np.log2(total)) / _ENOUGH),
        }
    )


def _seeds(
    needles: Needles, layer: Layer, is_word: NDArray[np.bool_]
) -> tuple[NDArray[np.int32], NDArray[np.int32], Ints]:
    """Words of documents by the numbers of the parts, the seeds that begin at each, and whose
    they are."""
    table = np.array([needles.numbers.get(e, END) for e in layer.vocabulary] or [END], np.int32)
    documents = np.repeat(np.arange(len(layer)), layer.text_ends - layer.text_starts)[is_word]
    ids = table[layer.ids[is_word]] if len(layer.ids) else np.empty(0, np.int32)
    ends = np.cumsum(np.bincount(documents, minlength=len(layer)))
    first = np.empty(len(ids), np.int32)
    seeds_of(ids, ends, needles.ids, needles.seed, needles.table, first)
    return ids, first, documents


@dataclass(frozen=True, slots=True)
class Match:
    """A stretch of a document, in characters, that holds a part of an item."""

    document: int
    part: int
    score: float
    bits: float
    words: int
    start: int
    end: int
    answered: bool | None
    """Whether the item's answer follows within fifty words; None where it has none."""
    twins: tuple[int, ...] = ()
    """Other items that this stretch is nearly."""


def matches_in(
    needles: Needles, options: DecontaminateOptions, texts: Sequence[str], tokenizer: str
) -> list[Match]:
    """All stretches of the texts that hold a question or a passage, in order."""
    layer, is_word = folded(texts, tokenizer)
    ids, first, documents = _seeds(needles, layer, is_word)
    hits, places = hits_of(first, needles.links, needles.common)
    if not len(hits):
        return []
    char_starts, char_ends = layer.starts[is_word], layer.ends[is_word]
    text_ends = np.cumsum(np.bincount(documents, minlength=len(layer)))
    text_starts = starts_of(text_ends)
    part_of = np.searchsorted(needles.ends, places, side="left")
    totals = np.add.reduceat(needles.weights, needles.starts)  # an END weighs nothing
    judged = needles.judged(options.shortest)
    hits, places, part_of = (each[judged[part_of]] for each in (hits, places, part_of))
    order = np.lexsort((hits, documents[hits], part_of))
    found: list[Match] = []
    answers = _answers(needles)
    for part, document, own, at in _clusters(
        part_of[order], documents[hits][order], hits[order], places[order], needles
    ):
        length = int(needles.ends[part] - needles.starts[part])
        weights = needles.weights[needles.starts[part] : needles.ends[part]]
        slack = max(_LEAST_SLACK, int(_SLACK * length))
        begins = int((own - (at - needles.starts[part])).min()) - slack
        stops = int((own - (at - needles.starts[part])).max()) + length + slack
        low = max(int(text_starts[document]), begins)
        high = min(int(text_ends[document]), stops, low + 3 * length + 2 * slack)
        window = ids[low:high]
        best = np.empty(len(window) + 1)
        moves = np.empty((length, len(window) + 1), np.uint8)
        words = needles.ids[needles.starts[part] : needles.ends[part]]
        bits, start, stop, count = align(words, weights, window, best, moves)
        score = min(1.0, bits / totals[part])
        if score < options.score or bits < needles.least:
            continue
        behind = ids[low + start : min(int(text_ends[document]), low + stop + 1 + _ANSWER_WITHIN)]
        found.append(
            Match(
                document=int(document),
                part=int(part),
                score=float(score),
                bits=float(bits),
                words=int(count),
                start=int(char_starts[low + start]),
                end=int(char_ends[low + stop]),
                answered=_answered(needles, answers.get(needles.parts[part].item, ()), behind),
            )
        )
    return _best(found, needles)


def _clusters(
    parts: Ints, documents: Ints, hits: Ints, places: Ints, needles: Needles
) -> Iterable[tuple[int, int, Ints, Ints]]:
    """Hits of one part in one document that are no further apart than the part is long."""
    lengths = (needles.ends - needles.starts)[parts]
    new = np.ones(len(parts), np.bool_)
    new[1:] = (
        (parts[1:] != parts[:-1])
        | (documents[1:] != documents[:-1])
        | (hits[1:] - hits[:-1] > np.minimum(lengths[1:], _LONGEST))
    )
    bounds = [*np.flatnonzero(new).tolist(), len(parts)]
    for first, last in pairwise(bounds):
        yield parts[first], documents[first], hits[first:last], places[first:last]


def _answers(needles: Needles) -> dict[int, list[NDArray[np.int32]]]:
    found: dict[int, list[NDArray[np.int32]]] = {}
    for number, part in enumerate(needles.parts):
        if part.kind == "answer":
            words = needles.ids[needles.starts[number] : needles.ends[number]]
            found.setdefault(part.item, []).append(words)
    return found


def _answered(
    needles: Needles, answers: Sequence[NDArray[np.int32]], behind: NDArray[np.int32]
) -> bool | None:
    """Whether one of the answers occurs there, word for word."""
    known = [answer for answer in answers if len(answer)]
    if not known:
        return None
    return any(
        bool((np.lib.stride_tricks.sliding_window_view(behind, len(answer)) == answer).all(1).any())
        for answer in known
        if len(answer) <= len(behind)
    )


def _best(found: Sequence[Match], needles: Needles) -> list[Match]:
    """Of several parts that hold one stretch the one with the highest score; the items of the
    others, twins that differ by a word, are named with it. Of equal ones all are kept."""
    kept: list[Match] = []
    for match in sorted(found, key=lambda m: (m.document, -m.score, m.start, m.part)):
        over = [
            place
            for place, other in enumerate(kept)
            if other.document == match.document
            and 2 * (min(other.end, match.end) - max(other.start, match.start))
            > min(other.end - other.start, match.end - match.start)
        ]
        part = needles.parts[match.part]
        own = any(needles.parts[kept[n].part].item == part.item for n in over)
        if not over or (not own and kept[over[0]].score == match.score):
            kept.append(match)
        elif not own:
            first = kept[over[0]]
            kept[over[0]] = replace(first, twins=(*first.twins, part.item))
    return sorted(kept, key=lambda m: (m.document, m.start, m.part))


def sample_of(texts: Iterable[str], most: int) -> list[str]:
    """The first texts, so many characters of them."""
    found: list[str] = []
    size = 0
    for text in texts:
        found.append(text)
        size += len(text)
        if size >= most:
            break
    return found


def described(needles: Needles, items: Sequence[tuple[str, str]], match: Match) -> dict[str, Any]:
    """What a ledger says of a match, beside the document; `items` are ids and tasks."""
    part = needles.parts[match.part]
    return {
        "item": items[part.item][0],
        "task": items[part.item][1],
        "part": part.kind,
        "score": match.score,
        "bits": match.bits,
        "words": match.words,
        "answered": match.answered,
        "twins": [items[number][0] for number in dict.fromkeys(match.twins)],
        "item_text": part.text,
    }
