"""How much of a text is taken over from what it was made of: extractive fragments (Grusky, Naaman
and Artzi 2018, Newsroom). The text is walked from its beginning; at each word the longest run that
the document also holds is a fragment, and the walk goes on behind it.

Variants. `exact`: the longest run. `paper`: the procedure as it is printed and published: after a
run in the document it goes on behind the run, so that a longer one that begins inside it is missed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rote.compare.intervals import shares
from rote.core.arrays import Array, Flags, Floats
from rote.core.kernels import njit
from rote.core.metric import Value, Work
from rote.core.sample import Need, Sample, Take
from rote.measure._text_means import count_note
from rote.measure.reference_scores.options import Options


@dataclass(frozen=True, slots=True)
class FragmentRows:
    """The values of every text; which have no words, they or the field."""

    scores: Mapping[str, Floats]
    empty: Flags


def values(options: Options) -> tuple[Value, ...]:
    return (
        Value("coverage", "words in fragments", "neither", "length", share=True),
        Value("density", "density of fragments", "neither", "length"),
        Value("compression", "words of the document by those of the text", "neither", "length"),
    )


def needs(options: Options) -> tuple[Need, ...]:
    return (Need("lower"), Need("lower", field=options.document_field))


def rows(sample: Sample, options: Options, work: Work) -> FragmentRows:
    text_words, document_words = (sample.layer(need) for need in needs(options))
    number = {item: place for place, item in enumerate(document_words.vocabulary)}
    known = np.array([number.get(item, -1) for item in text_words.vocabulary], np.int64)
    words = known[text_words.ids] if len(known) else np.empty(0, np.int64)
    ends, other_ends = text_words.text_ends, document_words.text_ends
    starts, other_starts = text_words.text_starts, document_words.text_starts
    document = (document_words.ids, other_starts, other_ends, len(document_words.vocabulary))
    covered, squares = _count_fragments(words, starts, ends, *document, options.variant == "paper")
    sizes, others = ends - starts, other_ends - other_starts
    empty = (sizes == 0) | (others == 0)
    lengths = np.where(empty, 0, sizes)
    return FragmentRows(
        {
            "coverage": shares(covered, lengths),
            "density": shares(squares, lengths),
            "compression": shares(others, lengths),
        },
        empty,
    )


def notes(rows: FragmentRows, take: Take, options: Options) -> list[str]:
    after = f"texts without words, or whose '{options.document_field}' has none"
    return count_note(rows.empty[take], after, "left out: ")


def method(s: Mapping[str, str]) -> str:
    return (
        "Coverage, density and compression are those of extractive fragments of the field "
        f"{s['document_field']}"
    )


CITATION = (
    "Grusky, Naaman and Artzi (2018), Newsroom: A Dataset of 1.3 Million Summaries with Diverse "
    "Extractive Strategies"
)


@njit(cache=True, nogil=True)
def _count_fragments(
    words: Array,
    starts: Array,
    ends: Array,
    others: Array,
    other_starts: Array,
    other_ends: Array,
    kinds: int,
    printed: bool,
) -> tuple[Array, Array]:
    """For each text the words in fragments, and the sum of their squared lengths.

    Words are numbered as those of the documents are, -1 for one that no document holds. `printed`:
    a run in the document is passed over as a whole, as the published procedure does.
    """
    covered = np.zeros(len(starts))
    squares = np.zeros(len(starts))
    heads = np.full(kinds, -1, np.int64)
    longest = 1
    for text in range(len(starts)):
        longest = max(longest, other_ends[text] - other_starts[text])
    later = np.empty(longest, np.int64)
    for text in range(len(starts)):
        first, last = other_starts[text], other_ends[text]
        # The places of each word, in order: the next one of the same word.
        for place in range(last - 1, first - 1, -1):
            later[place - first] = heads[others[place]]
            heads[others[place]] = place
        at = starts[text]
        while at < ends[text]:
            best, free = 0, first
            place = heads[words[at]] if words[at] >= 0 else -1
            while place >= 0:
                if not printed or place >= free:
                    length = 1
                    while (
                        at + length < ends[text]
                        and place + length < last
                        and words[at + length] == others[place + length]
                    ):
                        length += 1
                    best = max(best, length)
                    free = place + length
                place = later[place - first]
            covered[text] += best
            squares[text] += best * best
            at += max(best, 1)
        for place in range(first, last):
            heads[others[place]] = -1
    return covered, squares
