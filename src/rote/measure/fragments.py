"""How much of a text is taken over from what it was made of: extractive fragments.

Grusky, Naaman and Artzi (2018, Newsroom): a text (a summary) is walked from its beginning; at each
word the longest run that the field `document` (or another: --to) also holds is a fragment, and the
walk goes on behind it. Coverage is the share of words in fragments, density the sum of the squared
lengths of fragments by the words of the text, so the mean length of the fragment that a word is in,
and compression the words of the document by those of the text.

Direction: none; a summary of high density is put together from copies. Length: longer documents
hold more, so that coverage grows with them; compression is a ratio of lengths itself.

Variants. `exact`: the longest run. `paper`: the procedure as it is printed and published: after a
run in the document it goes on behind the run, so that a longer one that begins inside it is missed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rote.compare.intervals import shares
from rote.core.array_types import Flags, Floats
from rote.core.errors import OptionError
from rote.core.metric import Metric, Value, Work, check_options, option
from rote.core.record import Headline
from rote.core.sample import Need, Sample, Take
from rote.measure._means import per_text, reduce, said_of, standard_errors


@dataclass(frozen=True, slots=True)
class Options:
    """Settings of `fragments`."""

    variant: Literal["exact", "paper"] = option(
        "exact", "how fragments are found: the longest runs, or the procedure as it is printed"
    )
    to: str = option("document", "field of the record that the text was made from", metavar="FIELD")
    layer: str = option("lower", "layer whose items are compared")

    def __post_init__(self) -> None:
        check_options(self)
        if not self.to:
            raise OptionError("to must name a field of the records")


@dataclass(frozen=True, slots=True)
class FragmentRows:
    """The values of every text; which have no words, they or the field."""

    scores: Mapping[str, Floats]
    empty: Flags


def values(options: Options) -> tuple[Value, ...]:
    return (
        Value("coverage", "words in fragments", "neither", "length", share=True),
        Value("density", "density", "neither", "length"),
        Value("compression", "words of the document by those of the text", "neither", "length"),
    )


def needs(options: Options) -> tuple[Need, ...]:
    return (Need(options.layer), Need(options.layer, field=options.to))


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
    after = f"texts without words, or whose '{options.to}' has none"
    return said_of(rows.empty[take], after, "left out: ")


METRIC = Metric(
    name="fragments",
    title="Extractive fragments",
    values=values,
    needs=needs,
    options=Options,
    rows=rows,
    reduce=reduce,
    standard_errors=standard_errors,
    per_text=per_text,
    notes=notes,
    citation=(
        "Grusky, Naaman and Artzi (2018), Newsroom: A Dataset of 1.3 Million Summaries with "
        "Diverse Extractive Strategies"
    ),
    match=None,
    whole="a text is held beside the whole document that it was made from",
    inputs=False,
    says="How much of a text is taken over from the document that it was made from.",
    section="references",
    place=40,
    main=("coverage", "density"),
    headlines=(
        Headline(
            *("density", "copying from the document"),
            "copies longer spans of the document",
            "copies shorter spans of the document",
            "density of fragments",
            ways=("shorter spans", "longer spans"),
        ),
    ),
    method=lambda s: (
        f"Coverage, density and compression are those of extractive fragments of the field "
        f"{s['to']}"
    ),
    report=lambda asked: asked.lacks_fields("document") or {},
)
