"""What is asked of an index that is open: within limits, and once where once is enough.

Strangers ask here, so what could take for ever is refused. In the order of the documents only the
matches up to the page's end are looked up; any other order takes the first `MOST` matches, a tally
the first `MOST_TALLIED`, and says so. A filter and a random order see the first `MOST_EXPORTED`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from rote.core.array_types import Flags
from rote.core.errors import OptionError, UnknownName
from rote.corpus._select import conditions
from rote.index import query as queries
from rote.index.answers import Occurrence
from rote.index.index import DEFAULT, Index
from rote.index.query.conditions import check_test
from rote.search.rows import counts as counting
from rote.search.rows import groups
from rote.search.rows.groups import documents_where
from rote.search.rows.match_arrays import find_matches
from rote.search.rows.matches import SearchResult, Sort, search_index, sort_matches
from rote.web.indexes import OpenIndex

MOST = 20_000
"""Matches that are put in another order, told apart by form, or paged through."""
MOST_TALLIED = 200_000
"""Matches whose documents or neighbours are counted."""
MOST_EXPORTED = 1_000_000
LONGEST = 2_000
"""Characters of a query."""
MOST_LETTERS = 500
"""Of all expressions of a query: for each of them every word is read once, at worst."""
LONGEST_NGRAM = 32
MOST_BESIDE = 10
"""Words beside a match that are counted."""
MOST_LISTED = 1_000
_EXAMPLE = 200
"""Characters of an example that are shown."""
SORTS: dict[str, str] = {
    "place": "place in the index",
    "left": "1st word before",
    "left2": "2nd word before",
    "left3": "3rd word before",
    "right": "1st word after",
    "right2": "2nd word after",
    "right3": "3rd word after",
    "document": "name of the document",
    "form": "most frequent form",
    "random": "at random",
}


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of an index."""

    q: str
    layer: str = DEFAULT
    sort: Sort = "place"
    context: int = 60
    page: int = 1
    per: int = 50
    where: tuple[str, ...] = ()
    """Conditions on the documents, as `rote search --where` has them."""
    seed: int = 0

    @property
    def last(self) -> int:
        """The match behind the last of the page."""
        return self.page * self.per

    @property
    def settings(self) -> dict[str, Any]:
        """What differs from the defaults, as an address carries it."""
        held = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "per"}
        return {name: value for name, value in held.items() if name == "q" or value != _USUAL[name]}


_USUAL = {one.name: one.default for one in fields(Question)}


def check(opened: OpenIndex, question: Question) -> queries.Query:
    """The query, read; what cannot be asked is refused."""
    index = opened.index
    if not question.q.strip():
        raise OptionError("there is nothing to look for: write a word, a phrase or a query")
    if len(question.q) > LONGEST:
        raise OptionError(f"a query has at most {LONGEST:,} characters, not {len(question.q):,}")
    _check_layer(index, question.layer)
    parsed = index.parse(question.q, question.layer)
    letters = sum(map(check_test, parsed.tests))
    if letters > MOST_LETTERS:
        raise OptionError(
            f"the regular expressions of a query have at most {MOST_LETTERS} letters here, "
            f"repetitions written out (x{{1,30}} has 30), and these {letters:,}: ask on the "
            "command line, which has no limit"
        )
    return parsed


def needed(question: Question, view: str = "lines") -> int:
    """How many matches a page of a view needs: as few as will do."""
    if view == "lines" and question.sort == "place":
        return min(question.last, MOST)
    if view == "lines" and question.sort == "random":
        return MOST_EXPORTED  # else the first documents alone would be drawn from
    return MOST if view in ("lines", "forms") else MOST_TALLIED


def find(opened: OpenIndex, question: Question, limit: int) -> SearchResult:
    """So many of the first matches, and how many there are."""
    check(opened, question)
    kept = kept_documents(opened, question.where)
    return search_index(opened.index, question.q, question.layer, limit, kept, MOST_EXPORTED)


def kept_documents(opened: OpenIndex, where: tuple[str, ...]) -> list[Flags] | None:
    """Of each segment the documents that fulfil the conditions; None without any."""
    if not where:
        return None
    for condition in conditions(where):
        if condition.field not in fields_of(opened):
            raise UnknownName("field of the documents", condition.field, fields_of(opened))
    return opened.recent.get(("where", where), lambda: documents_where(opened.index, where))


def page_of(found: SearchResult, question: Question) -> list[Occurrence]:
    """The matches of the page, in the order asked for."""
    order = sort_matches(found.matches, question.sort, seed=question.seed)
    return found.matches.places(order[question.last - question.per : question.last])


def fields_of(opened: OpenIndex) -> list[str]:
    """The fields that matches can be counted by."""
    return opened.once("fields", lambda: groups.fields_of(opened.index))


def groups_by(opened: OpenIndex, field: str) -> groups.Groups:
    """The groups that a field makes."""
    if field not in fields_of(opened):
        raise UnknownName("field of the documents", field, fields_of(opened))
    return opened.once(("groups", field), lambda: groups.groups_by(opened.index, field))


def counts(opened: OpenIndex, phrase: str, layers: Sequence[str] = ()) -> list[dict[str, Any]]:
    """One row for each layer of a phrase; a query is counted once, and names its layers itself."""
    index = opened.index
    default = layers[0] if layers else DEFAULT
    check(opened, Question(phrase, default))
    if not queries.is_plain(phrase):
        return [counting.count_query(index, phrase, default)]
    rows: list[dict[str, Any]] = []
    for layer in layers or opened.manifest.sorted_layers:
        if layer not in index.sorted_layers:
            raise UnknownName("sorted layer of the index", layer, index.sorted_layers)
        rows += counting.count_phrases(
            index, [phrase], counting.split_phrases(index, [phrase], layer), layer
        )
    return rows


def top(opened: OpenIndex, n: int, k: int, layer: str) -> list[dict[str, Any]]:
    """The k most frequent n-grams, exactly, each with the text of its first place."""
    _check_layer(opened.index, layer)
    if not 1 <= n <= LONGEST_NGRAM or not 1 <= k <= MOST_LISTED:
        raise OptionError(
            f"an n-gram has 1 to {LONGEST_NGRAM} items, and 1 to {MOST_LISTED:,} are listed"
        )

    def listed() -> list[dict[str, Any]]:
        rows = counting.list_frequent(opened.index, n, k, layer)
        return [{**row, "example": _short(row["example"])} for row in rows]

    return opened.recent.get(("top", n, k, layer), listed)


def _check_layer(index: Index, layer: str) -> None:
    if layer not in index.layers:
        raise UnknownName("layer of the index", layer, index.layers)


def _short(example: str | None) -> str | None:
    return None if example is None else " ".join(example[:_EXAMPLE].split())


def hits_in(opened: OpenIndex, question: Question, identity: str) -> list[tuple[int, int]]:
    """The characters of every match in a document, in its order."""
    index = opened.index
    parsed = check(opened, question)

    def made() -> list[tuple[int, int]]:
        matches = find_matches(index, parsed, MOST_EXPORTED)
        for number, segment in enumerate(index.segments):
            document = segment.documents.find(identity)
            if document is not None:
                own = matches.of_segment(number)
                held = np.arange(len(matches))[own][matches.documents[own] == document]
                return [(place.start, place.end) for place in matches.places(held[:MOST])]
        return []

    return opened.recent.get(("hits", question.q, question.layer, identity), made)
