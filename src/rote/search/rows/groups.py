"""Matches by what is known of their documents: author, source, or any field of their records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from rote.core.errors import UnknownName
from rote.index.index import Index
from rote.index.segments.segment import Segment
from rote.search.rows.counts import per_million
from rote.search.rows.found import Matches

DOCUMENT = "document"
GROUPED = ("group", "matches", "documents", "words", "per_million")
_LABELS = ("author", "source")
_LOOKED_AT = 50
"""Documents of a segment that are looked at to say which fields there are."""
_READ = 100_000
"""In a larger index, fields that have to be read from every record are not offered."""
_PLAIN = (str, int, float, bool)


@dataclass(frozen=True, slots=True)
class Groups:
    """The group of every document, by segment and number, and how many words each has."""

    of: Sequence[Sequence[str]]
    words: Mapping[str, int]


def fields_of(index: Index) -> list[str]:
    """The fields that matches can be counted by."""
    held = [
        name
        for name in _LABELS
        if any(len(getattr(s.documents, name).vocabulary) > 1 for s in index.segments)
    ]
    if index.documents_held <= _READ:
        held += sorted(_plain_fields(index) - {DOCUMENT, *_LABELS})
    return [DOCUMENT, *held]


def groups_by(index: Index, field: str) -> Groups:
    """The groups that one of the fields makes."""
    of = [_names(segment, field) for segment in index.segments]
    words: Counter[str] = Counter()
    for segment, names in zip(index.segments, of):
        ends = segment.frames["word"].document_ends
        # Behind every document stands its end, which is no word.
        lengths = np.diff(ends, prepend=-1) - 1
        for name, length in zip(names, lengths.tolist()):
            words[name] += length
    return Groups(of, words)


def chosen_groups(index: Index, field: str) -> Groups:
    """The groups of a field that was asked for by name; one that no document has is refused."""
    known = {*fields_of(index), *_plain_fields(index)}
    if field not in known:
        raise UnknownName("field of the documents", field, sorted(known))
    return groups_by(index, field)


def tally(matches: Matches, groups: Groups) -> list[dict[str, Any]]:
    """Matches and documents of each group that has any, most matches first."""
    counts: Counter[str] = Counter()
    holding: Counter[str] = Counter()
    for segment, number, held in zip(*(column.tolist() for column in matches.holding())):
        name = groups.of[segment][number]
        counts[name] += held
        holding[name] += 1
    return [
        {
            "group": name,
            "matches": count,
            "documents": holding[name],
            "words": groups.words[name],
            "per_million": per_million(count, groups.words[name]),
        }
        for name, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    ]


def _plain_fields(index: Index) -> set[str]:
    return {
        name
        for segment in index.segments
        for number in islice(range(len(segment.documents)), _LOOKED_AT)
        for name, value in segment.documents.meta(number).items()
        if isinstance(value, _PLAIN)
    }


def _names(segment: Segment, field: str) -> list[str]:
    documents = segment.documents
    if field == DOCUMENT:
        return documents.ids()
    if field in _LABELS:
        labels = getattr(documents, field)
        names = labels.vocabulary.strings()
        return [names[number] for number in labels.numbers.tolist()]
    return [_written(documents.meta(number).get(field)) for number in range(len(documents))]


def _written(value: Any) -> str:
    return str(value) if isinstance(value, _PLAIN) else ""
