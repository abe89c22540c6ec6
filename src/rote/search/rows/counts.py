"""How often phrases occur in an index, which n-grams are frequent, and matches by group: by author,
source, or any field of the documents' records.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.core.arrays import Flags
from rote.core.errors import OptionError, UnknownName
from rote.core.progress import Reporter, Silent
from rote.corpus import conditions, values_held
from rote.index.grams import Grams
from rote.index.index import DEFAULT, Index
from rote.index.segments.segment import Segment
from rote.search.rows.matches import MatchArrays, count_soft_forms

COUNT_COLUMNS = (
    "phrase",
    "layer",
    "items",
    "query",
    "occurrences",
    "documents",
    "authors",
    "per_million",
)
FREQUENT_COLUMNS = ("rank", "items", "count", "documents", "per_million", "example")
_MILLION = 1e6


def split_phrases(index: Index, phrases: Sequence[str], layer: str) -> Grams:
    """The items of each phrase, by the index's own annotator; none where it holds nothing."""
    if not phrases:
        return Grams.of(())
    annotated = index.layer_of(phrases, layer)
    return Grams(annotated.ids, annotated.text_ends, annotated.vocabulary)


def count_phrases(
    index: Index, phrases: Sequence[str], grams: Grams, layer: str
) -> list[dict[str, Any]]:
    """A row for each phrase, which stands for these items of the layer; all counted at once."""
    if not phrases:
        return []
    ngram_counts, items = index.ngram_counts(grams, layer), index.items_held(layer)
    columns = [ngram_counts.occurrences, ngram_counts.documents]
    if has_authors(index):
        columns.append(ngram_counts.authors)
    return [
        {
            "phrase": phrase,
            "layer": layer,
            "items": list(grams[number]),
            "query": None,
            "occurrences": occurrences,
            "documents": documents,
            "authors": authors[0] if authors else None,
            "per_million": per_million(occurrences, items),
        }
        for number, (phrase, (occurrences, documents, *authors)) in enumerate(
            zip(phrases, zip(*(column.tolist() for column in columns)))
        )
    ]


def count_query(index: Index, query: str, layer: str = DEFAULT) -> dict[str, Any]:
    """The row of a query, which names its layers itself; of it only occurrences are counted."""
    parsed = index.parse(query, layer)
    occurrences = index.matches(query, layer)
    return {
        "phrase": query,
        "layer": ",".join(parsed.layers),
        "items": None,
        "query": str(parsed),
        "occurrences": occurrences,
        "documents": None,
        "authors": None,
        "per_million": per_million(occurrences, index.items_held(parsed.layers[0])),
        **({"forms": forms} if (forms := count_soft_forms(index, parsed)) else {}),
    }


def list_frequent(
    index: Index,
    n: int,
    k: int,
    layer: str = DEFAULT,
    *,
    examples: bool = True,
    reporter: Reporter | None = None,
) -> list[dict[str, Any]]:
    """The k most frequent n-grams of a layer, exactly, with the text of the first place of each.

    Where the places of the layer are not sorted there are no examples.
    """
    frequent, items_held = index.top(n, k, layer, documents=True), index.items_held(layer)
    examples = examples and layer in index.sorted_layers
    rows: list[dict[str, Any]] = []
    with (reporter or Silent()).stage("reading examples", len(frequent) * examples) as advance:
        for number, (items, count) in enumerate(frequent):
            rows.append(
                {
                    "rank": number + 1,
                    "items": list(items),
                    "count": count,
                    "documents": None
                    if frequent.documents is None
                    else int(frequent.documents[number]),
                    "per_million": per_million(count, items_held),
                    "example": index.context(index.places(items, 1, layer)[0], 0).match
                    if examples
                    else None,
                }
            )
            advance(1)
    return rows


def per_million(count: int, total: int) -> float | None:
    """Of a million items of the layer; none where it has no items."""
    return count / total * _MILLION if total else None


def has_authors(index: Index) -> bool:
    return any(len(segment.documents.author.vocabulary) > 1 for segment in index.segments)


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
    fields = [
        name
        for name in _LABELS
        if any(len(getattr(s.documents, name).vocabulary) > 1 for s in index.segments)
    ]
    if index.documents_held <= _READ:
        fields += sorted(_plain_fields(index) - {DOCUMENT, *_LABELS})
    return [DOCUMENT, *fields]


def groups_by(index: Index, field: str) -> Groups:
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
        listed = (
            values_held(field, chain.from_iterable(_field_values(s, field) for s in index.segments))
            for field in fields
        )
        raise OptionError(
            f"no document of the index matches {' and '.join(where)}: "
            + "; ".join(filter(None, listed))
        )
    return selected


def words_in(index: Index, selected: Sequence[Flags]) -> int:
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
