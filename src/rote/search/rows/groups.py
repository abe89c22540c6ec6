"""Matches by what is known of their documents: author, source, or any field of their records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.core.array_types import Flags
from rote.core.errors import OptionError, UnknownName
from rote.corpus import conditions, values_held
from rote.index.index import Index
from rote.index.segments.segment import Segment
from rote.search.rows.counts import per_million
from rote.search.rows.match_arrays import MatchArrays

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
    fields = [
        name
        for name in _LABELS
        if any(len(getattr(s.documents, name).vocabulary) > 1 for s in index.segments)
    ]
    if index.documents_held <= _READ:
        fields += sorted(_plain_fields(index) - {DOCUMENT, *_LABELS})
    return [DOCUMENT, *fields]


def groups_by(index: Index, field: str) -> Groups:
    """The groups that one of the fields makes."""
    of = [
        ["" if value is None else str(value) for value in _field_values(segment, field)]
        for segment in index.segments
    ]
    words: Counter[str] = Counter()
    for segment, names in zip(index.segments, of):
        for name, length in zip(names, _document_lengths(segment).tolist()):
            words[name] += length
    return Groups(of, words)


def groups_by_field(index: Index, field: str) -> Groups:
    """The groups of a field that was asked for by name; one that no document has is refused."""
    _check_field(index, field)
    return groups_by(index, field)


def _check_field(index: Index, field: str) -> None:
    known = {*fields_of(index), *_plain_fields(index)}
    if field not in known:
        raise UnknownName("field of the documents", field, sorted(known))


def documents_where(index: Index, where: Sequence[str]) -> list[Flags]:
    """Of each segment which of its documents fulfil all of `FIELD=VALUE`, `FIELD>=NUMBER`, ...;
    that none does is an error."""
    selected = [np.ones(len(segment.documents), np.bool_) for segment in index.segments]
    for condition in conditions(tuple(where)):
        _check_field(index, condition.field)
        for flags, segment in zip(selected, index.segments):
            values = _field_values(segment, condition.field)
            fulfilled = {value: condition.fulfilled(value) for value in set(values)}
            flags &= np.array([fulfilled[value] for value in values], np.bool_)
    if where and not any(flags.any() for flags in selected):
        fields = dict.fromkeys(condition.field for condition in conditions(tuple(where)))
        values_by_field = [
            values_held(
                field,
                (
                    value
                    for any_segment in index.segments
                    for value in _field_values(any_segment, field)
                ),
            )
            for field in fields
        ]
        listed_values = "; ".join(filter(None, values_by_field))
        raise OptionError(
            f"no document of the index fulfils {' and '.join(where)}: {listed_values}"
        )
    return selected


def words_in(index: Index, selected: Sequence[Flags]) -> int:
    """The words of some documents."""
    return sum(int(_document_lengths(s)[flags].sum()) for s, flags in zip(index.segments, selected))


def count_by_group(matches: MatchArrays, groups: Groups) -> list[dict[str, Any]]:
    """Matches and documents of each group that has any, most matches first."""
    counts: Counter[str] = Counter()
    holding: Counter[str] = Counter()
    for segment, number, matches_here in zip(*(column.tolist() for column in matches.holding())):
        name = groups.of[segment][number]
        counts[name] += matches_here
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


def _document_lengths(segment: Segment) -> NDArray[np.int64]:
    # Behind every document is its end, which is no word.
    lengths: NDArray[np.int64] = np.diff(segment.positions["word"].document_ends, prepend=-1) - 1
    return lengths


def _field_values(segment: Segment, field: str) -> Sequence[Any]:
    """What each document has in a field; nothing plain is nothing."""
    documents = segment.documents
    if field == DOCUMENT:
        return documents.ids()
    if field in _LABELS:
        labels = getattr(documents, field)
        names = labels.vocabulary.strings()
        return [names[number] for number in labels.numbers.tolist()]
    values = (documents.meta(number).get(field) for number in range(len(documents)))
    return [value if isinstance(value, _PLAIN) else None for value in values]
