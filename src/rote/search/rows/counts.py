"""How often phrases stand in the layers of an index, and which n-grams are frequent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rote.core.progress import Reporter, Silent
from rote.index.grams import Grams
from rote.index.index import DEFAULT, Index
from rote.search.rows.matches import count_soft_forms

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
                    "example": example_of(index, items, layer) if examples else None,
                }
            )
            advance(1)
    return rows


def example_of(index: Index, items: Sequence[str], layer: str) -> str:
    """The text of the first place of an n-gram."""
    return index.context(index.places(items, 1, layer)[0], 0).match


def per_million(count: int, total: int) -> float | None:
    """Of a million items of the layer; none where it has no items."""
    return count / total * _MILLION if total else None


def has_authors(index: Index) -> bool:
    """Whether it is known who wrote any of the documents."""
    return any(len(segment.documents.author.vocabulary) > 1 for segment in index.segments)
