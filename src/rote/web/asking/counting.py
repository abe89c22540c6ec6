"""How often phrases stand in the layers of an index, and which n-grams are frequent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rote.core.errors import OptionError, UnknownName
from rote.index import query as queries
from rote.index.grams import Grams
from rote.index.index import Index
from rote.web.asking.matches import Question, check
from rote.web.reading.indexes import OpenIndex

LONGEST_NGRAM = 32
MOST_LISTED = 1_000
_EXAMPLE = 200
"""Characters of an example that are shown."""


def counts(opened: OpenIndex, phrase: str, layers: Sequence[str] = ()) -> list[dict[str, Any]]:
    """One row for each layer of a phrase; a query is counted once, and names its layers itself."""
    index = opened.index
    default = layers[0] if layers else "lower"
    check(index, Question(phrase, default))
    if not queries.is_plain(phrase):
        return [_matched(index, phrase, default)]
    return [_counted(index, phrase, layer) for layer in layers or opened.manifest.sorted_layers]


def top(opened: OpenIndex, n: int, k: int, layer: str) -> list[dict[str, Any]]:
    """The k most frequent n-grams, exactly, each with the text of its first place."""
    index = opened.index
    if layer not in index.layers:
        raise UnknownName("layer of the index", layer, index.layers)
    if not 1 <= n <= LONGEST_NGRAM or not 1 <= k <= MOST_LISTED:
        raise OptionError(
            f"an n-gram has 1 to {LONGEST_NGRAM} items, and 1 to {MOST_LISTED:,} are listed"
        )
    return opened.recent.get(("top", n, k, layer), lambda: _top(index, n, k, layer))


def _top(index: Index, n: int, k: int, layer: str) -> list[dict[str, Any]]:
    found, held = index.top(n, k, layer, documents=True), index.items_held(layer)
    can_show = layer in index.sorted_layers
    return [
        {
            "rank": number + 1,
            "items": list(items),
            "count": count,
            "documents": None if found.documents is None else int(found.documents[number]),
            "per_million": count / held * 1e6,
            "example": _example(index, items, layer) if can_show else None,
        }
        for number, (items, count) in enumerate(found)
    ]


def _example(index: Index, items: Sequence[str], layer: str) -> str:
    place = index.places(items, 1, layer)[0]
    return " ".join(index.context(place, 0).match[:_EXAMPLE].split())


def _counted(index: Index, phrase: str, layer: str) -> dict[str, Any]:
    if layer not in index.sorted_layers:
        raise UnknownName("sorted layer of the index", layer, index.sorted_layers)
    items = list(index.items(phrase, layer))
    grams, held = Grams.of([items]), index.items_held(layer)
    authors = any(len(segment.documents.author.vocabulary) > 1 for segment in index.segments)
    occurrences = index.count(items, layer)
    return {
        "phrase": phrase,
        "layer": layer,
        "items": items,
        "query": None,
        "occurrences": occurrences,
        "documents": int(index.document_counts(grams, layer)[0]),
        "authors": int(index.author_counts(grams, layer)[0]) if authors else None,
        "per_million": occurrences / held * 1e6 if held else None,
    }


def _matched(index: Index, phrase: str, default: str) -> dict[str, Any]:
    parsed = index.parse(phrase, default)
    occurrences, held = index.matches(phrase, default), index.items_held(parsed.layers[0])
    return {
        "phrase": phrase,
        "layer": ",".join(parsed.layers),
        "items": None,
        "query": str(parsed),
        "occurrences": occurrences,
        "documents": None,
        "authors": None,
        "per_million": occurrences / held * 1e6 if held else None,
    }
