"""How much of a text is taken over from what it was made of: extractive fragments.

Grusky, Naaman and Artzi (2018, Newsroom): a text (a summary) is walked from its beginning; at each
word the longest run that the document also holds is a fragment, and the walk goes on behind it.
Coverage is the share of words in fragments, density the sum of the squared lengths of fragments by
the words of the text, so the mean length of the fragment that a word is in, and compression the
words of the document by those of the text.

Variants. `exact`: the longest run. `paper`: the procedure as it is printed and published: after a
run in the document it goes on behind the run, so that a longer one that begins inside it is missed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rote.compare.intervals import shares
from rote.core.array_types import Flags, Floats
from rote.core.metric import Value, Work
from rote.core.sample import Need, Sample, Take
from rote.measure._means import said_of
from rote.measure._score.options import Options


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
    from rote.measure._fragment_kernels import fragments

    own, other = (sample.layer(need) for need in needs(options))
    number = {item: place for place, item in enumerate(other.vocabulary)}
    known = np.array([number.get(item, -1) for item in own.vocabulary], np.int64)
    words = known[own.ids] if len(known) else np.empty(0, np.int64)
    covered, squares = fragments(
        words,
        own.text_starts,
        own.text_ends,
        other.ids,
        other.text_starts,
        other.text_ends,
        len(other.vocabulary),
        options.variant == "paper",
    )
    sizes, others = own.text_ends - own.text_starts, other.text_ends - other.text_starts
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
    return said_of(rows.empty[take], after, "left out: ")


def method(s: Mapping[str, str]) -> str:
    return (
        "Coverage, density and compression are those of extractive fragments of the field "
        f"{s['document_field']}"
    )


CITATION = (
    "Grusky, Naaman and Artzi (2018), Newsroom: A Dataset of 1.3 Million Summaries with Diverse "
    "Extractive Strategies"
)
