"""What the pages ask of an index that is open: within limits, and once where once is enough.

Strangers ask here, so what could take for ever is refused. In the order of the documents only the
matches up to the page's end are looked up; any other order, and every tally, takes the first
`MOST` matches, and says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rote.core.errors import OptionError, UnknownName
from rote.index import query as queries
from rote.index.answers import Place
from rote.index.index import DEFAULT, Index
from rote.index.query.tables import checked
from rote.search.rows import counts as counting
from rote.search.rows import groups
from rote.search.rows.matches import Found, Sort, look_up, ordered, rows_in_blocks
from rote.web.indexes import OpenIndex

MOST = 20_000
"""Matches that are put in another order, tallied, or paged through."""
MOST_EXPORTED = 1_000_000
LONGEST = 2_000
"""Characters of a query."""
MOST_LETTERS = 500
"""Of all expressions of a query: for each of them every word is read once, at worst."""
LONGEST_NGRAM = 32
MOST_LISTED = 1_000
_EXAMPLE = 200
"""Characters of an example that are shown."""
SORTS: dict[str, str] = {
    "place": "place in the index",
    "left": "words before",
    "right": "words after",
    "document": "name of the document",
    "form": "most frequent form",
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

    @property
    def last(self) -> int:
        """The match behind the last of the page."""
        return self.page * self.per


def check(opened: OpenIndex, question: Question) -> queries.Query:
    """The query, read; what cannot be asked is refused."""
    index = opened.index
    if not question.q.strip():
        raise OptionError("there is nothing to look for: write a word, a phrase or a query")
    if len(question.q) > LONGEST:
        raise OptionError(f"a query has at most {LONGEST:,} characters, not {len(question.q):,}")
    _check_layer(index, question.layer)
    parsed = index.parse(question.q, question.layer)
    letters = sum(found.letters for found in map(checked, parsed.tests) if found)
    if letters > MOST_LETTERS:
        raise OptionError(
            f"the regular expressions of a query have at most {MOST_LETTERS} letters here, "
            f"repetitions written out (x{{1,30}} has 30), and these {letters:,}: ask on the "
            "command line, which has no limit"
        )
    return parsed


def find(opened: OpenIndex, question: Question, *, every: bool = False) -> Found:
    """The matches up to the end of the page, or with `every` all up to `MOST`."""
    index = opened.index
    check(opened, question)
    limit = MOST if every or question.sort != "place" else min(question.last, MOST)
    return look_up(index, question.q, question.layer, limit)


def page_of(found: Found, question: Question) -> list[Place]:
    """The matches of the page, in the order asked for."""
    order = ordered(found.matches, question.sort)
    return found.matches.places(order[question.last - question.per : question.last])


def exported(index: Index, question: Question) -> Iterator[list[dict[str, Any]]]:
    """All matches in the order of the documents, a block of rows at a time."""
    parsed = index.parse(question.q, question.layer)
    return rows_in_blocks(index, parsed, question.context, MOST_EXPORTED)


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
        return [counting.matched(index, phrase, default)]
    rows: list[dict[str, Any]] = []
    for layer in layers or opened.manifest.sorted_layers:
        if layer not in index.sorted_layers:
            raise UnknownName("sorted layer of the index", layer, index.sorted_layers)
        rows += counting.counted(index, [phrase], counting.cut(index, [phrase], layer), layer)
    return rows


def top(opened: OpenIndex, n: int, k: int, layer: str) -> list[dict[str, Any]]:
    """The k most frequent n-grams, exactly, each with the text of its first place."""
    _check_layer(opened.index, layer)
    if not 1 <= n <= LONGEST_NGRAM or not 1 <= k <= MOST_LISTED:
        raise OptionError(
            f"an n-gram has 1 to {LONGEST_NGRAM} items, and 1 to {MOST_LISTED:,} are listed"
        )

    def listed() -> list[dict[str, Any]]:
        rows = counting.frequent(opened.index, n, k, layer)
        return [{**row, "example": _short(row["example"])} for row in rows]

    return opened.recent.get(("top", n, k, layer), listed)


def _check_layer(index: Index, layer: str) -> None:
    if layer not in index.layers:
        raise UnknownName("layer of the index", layer, index.layers)


def _short(example: str | None) -> str | None:
    return None if example is None else " ".join(example[:_EXAMPLE].split())
