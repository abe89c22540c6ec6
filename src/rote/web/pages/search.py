"""Search in an index that is open: what is asked, within limits and once where once is enough; and
what the page shows of it: lines, forms or groups of one page, each with where it leads.

Strangers ask here, so what could take for ever is refused. In the order of the documents only the
matches up to the page's end are looked up; any other order, and every tally, takes the first
`MOST` matches, and says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rote.core.errors import OptionError, RoteError, UnknownName
from rote.index import query as queries
from rote.index.answers import Place
from rote.index.index import DEFAULT, Index
from rote.index.query import literal
from rote.index.query.tables import checked
from rote.search.rows import counts as counting
from rote.search.rows import groups
from rote.search.rows.counts import per_million
from rote.search.rows.groups import DOCUMENT, tally
from rote.search.rows.matches import Found, Sort, forms, look_up, ordered, row_of, rows_in_blocks
from rote.web.indexes import OpenIndex
from rote.web.pages.render import document_link, link

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


_LONGEST_MATCH = 300
_AROUND = 80
"""Characters of a query that are shown on either side of a mistake."""
_EXAMPLES = (
    ("came to pass", "a phrase: these words in a row, capitals aside", "lower"),
    ("at the end of", "a phrase: these words in a row, capitals aside", "lower"),
    ('"man|woman"', "one word or the other; strings are regular expressions", "lower"),
    ('"un.*ly"', "words that begin and end so", "lower"),
    ('"the" [] "of"', "any word in between", "lower"),
    ('"day" []{1,3} "night" within s', "one to three words between, in one sentence", "lower"),
    ('[lemma="go"]', "a word in all its forms", "lemma"),
    ('[pos="JJ"] "heart|idea|time"', "an adjective and one of these words", "pos"),
    ('[pos="DT"] [pos="JJ"]{2,} [pos="NN.*"]', "tags alone: two adjectives, a noun", "pos"),
    ('[word="[A-Z]{2,}"]', "as it was written, capitals included", "word"),
)
"""A query, what it finds, and the layer that it needs."""
_MISTAKE = re.compile(r"(.*)\n  (.*)\n  ( *)\^", re.DOTALL)


@dataclass(frozen=True, slots=True)
class View:
    """What of the matches is shown."""

    key: str
    question: Question
    view: str = "lines"
    by: str = ""


def search_view(opened: OpenIndex, asked: View) -> dict[str, Any]:
    """One page of what was asked."""
    question, index = asked.question, opened.index
    found = find(opened, question, every=asked.view != "lines")
    held = index.items_held(found.matches.layer)
    shown: dict[str, Any] = {
        "query": str(found.parsed),
        "matches": found.total,
        "matched_documents": found.documents,
        "per_million": per_million(found.total, held),
        "limited": found.limited and (asked.view != "lines" or question.sort != "place"),
        "tallied": len(found.matches),
        "page": question.page,
    }
    if asked.view == "forms":
        rows = _forms(asked, found)
        return shown | {"pages": _pages(len(rows), question), "forms": _part(rows, question)}
    if asked.view == "by":
        field = asked.by or DOCUMENT
        rows = _groups(opened, asked, found, field)
        pages = _pages(len(rows), question)
        return shown | {"pages": pages, "by": field, "groups": _part(rows, question)}
    return shown | {
        "pages": _pages(min(found.total, MOST), question),
        "lines": [
            {
                **row_of(place, index.context(place, question.context)),
                "link": document_link(asked.key, place.document, place.start, place.end),
            }
            for place in page_of(found, question)
        ],
    }


def top_view(opened: OpenIndex, key: str, n: int, k: int, layer: str) -> list[dict[str, Any]]:
    """Frequent n-grams, each with the search that finds it."""
    return [
        {**row, "link": link("/search", index=key, q=literal(row["items"], layer), layer=layer)}
        for row in top(opened, n, k, layer)
    ]


def misplaced(error: RoteError) -> dict[str, Any]:
    """What is wrong with a query, and the query around the place of the mistake."""
    said = _MISTAKE.fullmatch(str(error))
    if not said:
        return {"problem": str(error)}
    query, at = said[2], len(said[3])
    first = max(0, at - _AROUND)
    mistake = {
        "before": ("…" if first else "") + query[first:at],
        "at": query[at : at + 1] or " ",
        "after": query[at + 1 : at + _AROUND],
        "place": f"{at + 1:,}",
    }
    return {"problem": said[1], "mistake": mistake}


def examples_for(opened: OpenIndex) -> list[dict[str, str]]:
    """Queries that find something in this index, from simple to less so."""

    def chosen() -> list[dict[str, str]]:
        found = []
        for query, says, layer in _EXAMPLES:
            # The first match is enough, and is soon found.
            if layer in opened.index.layers and opened.index.search(query, 1):
                found.append({"query": query, "says": says})
        return found

    return opened.once("examples", chosen)


def _forms(asked: View, found: Found) -> list[dict[str, Any]]:
    return [
        {
            "form": form[:_LONGEST_MATCH],
            "count": count,
            "link": link("/search", index=asked.key, q=_phrase(form)),
        }
        for form, count in forms(found.matches)
    ]


def _groups(opened: OpenIndex, asked: View, found: Found, field: str) -> list[dict[str, Any]]:
    rows = tally(found.matches, groups_by(opened, field))
    for row in rows:
        row["link"] = document_link(asked.key, row["group"]) if field == DOCUMENT else None
    return rows


def _phrase(form: str) -> str | None:
    """A form as a query for it; none if it would be read as something else."""
    return None if len(form) > _LONGEST_MATCH or any(sign in form for sign in '"[') else form


def _pages(rows: int, question: Question) -> int:
    return max(1, -(-rows // question.per))


def _part(rows: list[dict[str, Any]], question: Question) -> list[dict[str, Any]]:
    return rows[question.last - question.per : question.last]
