"""What the Search page shows: lines, forms or groups of one page, each with where it leads."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from rote.core.errors import RoteError
from rote.index.query import literal
from rote.search.rows.counts import per_million
from rote.search.rows.groups import DOCUMENT, tally
from rote.search.rows.matches import Found, forms, row_of
from rote.web.forms.search import MOST, Question, find, groups_by, page_of, top
from rote.web.indexes import OpenIndex
from rote.web.pages.render import document_link, link

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
