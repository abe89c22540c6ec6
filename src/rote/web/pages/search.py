"""What the page Search shows: lines, forms, groups, neighbours of one page of what was asked
(`asking.py`), each with where it leads."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rote.core.array_types import Flags
from rote.core.errors import RoteError
from rote.index.answers import Occurrence
from rote.index.index import DEFAULT
from rote.index.query import literal
from rote.search.originality.edges import TAGS
from rote.search.rows.collocates import count_neighbours, find_collocates
from rote.search.rows.counts import per_million
from rote.search.rows.groups import DOCUMENT, count_by_group, words_in
from rote.search.rows.matches import (
    COLUMNS,
    SearchResult,
    count_forms,
    find_missing,
    read_row_blocks,
    row_of,
    search_index,
    sort_matches,
)
from rote.web.indexes import OpenIndex
from rote.web.pages.asking import (
    LONGEST,
    MOST,
    MOST_EXPORTED,
    MOST_LISTED,
    Question,
    check,
    find,
    groups_by,
    kept_documents,
    needed,
    page_of,
    top,
)
from rote.web.pages.render import document_link, link

Rows = list[dict[str, Any]]
Blocks = Iterator[Rows]
_BLOCK = 1_000
"""Rows of a file that are made at once."""
_MOST_PARTS = 5
RELATIONS = {"=": "is", "!=": "is not", ">=": "is at least", "<=": "is at most"}
"""How a field is compared, as people say it."""
_SPANS = {"collocates": 4}
_LONGEST_MATCH = 300
_AROUND = 80
"""Characters of a query that are shown on either side of a mistake."""
_EXAMPLES = (
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
_QUICK = 20_000_000
"""Words up to which frequent phrases are found while a page waits."""
_MOST_PHRASES = 3
_TELLING = re.compile(r"[^\W\d_]{3,} [^\W\d_]{4,}")
_MISTAKE = re.compile(r"(.*)\n  (.*)\n  ( *)\^", re.DOTALL)


@dataclass(frozen=True, slots=True)
class View:
    """What of the matches is shown."""

    key: str
    question: Question
    view: str = "lines"
    by: str = ""
    span: int = 0
    """Words beside a match that are looked at; 0: as many as usual."""

    @property
    def words(self) -> int:
        return self.span or _SPANS.get(self.view, 1)

    @property
    def settings(self) -> dict[str, Any]:
        """Everything that an address of this view carries."""
        shown = {"view": self.view if self.view != "lines" else "", "by": self.by}
        return {"index": self.key, **self.question.settings, **shown, "span": self.span or ""}

    def address(self, **changes: Any) -> str:
        return link("/search", **{**self.settings, **changes})


def search_view(opened: OpenIndex, asked: View) -> dict[str, Any]:
    """One page of what was asked; its rows under the name of the view."""
    question, index = asked.question, opened.index
    found = find(opened, question, needed(question, asked.view))
    kept = kept_documents(opened, question.where)
    held = index.items_held(found.matches.layer) if kept is None else words_in(index, kept)
    every = 0 if kept is None else index.matches(question.q, question.layer)
    shown: dict[str, Any] = {
        "query": str(found.parsed),
        "unfiltered": every if every > MOST_EXPORTED else 0,
        "matches": found.total,
        "matched_documents": found.documents,
        "per_million": per_million(found.total, held),
        "limited": found.limited and (asked.view != "lines" or question.sort != "place"),
        "tallied": len(found.matches),
        "page": question.page,
        "field": asked.by or DOCUMENT,
        "words": asked.words,
    }
    if not found.total:
        return shown | {"pages": 1, asked.view: [], "lacking": _lacking(opened, asked, kept)}
    if asked.view == "lines":
        lines = [
            {**row_of(place, index.context(place, question.context)), **_leads(asked, place, n)}
            for n, place in enumerate(page_of(found, question), 1)
        ]
        return shown | {"pages": _pages(min(found.total, MOST), question), "lines": lines}
    rows = _ROWS[asked.view](opened, asked, found)
    part = rows[question.last - question.per : question.last]
    return shown | {"pages": _pages(len(rows), question), asked.view: part}


def _leads(asked: View, place: Occurrence, line: int) -> dict[str, Any]:
    """Where a line leads: into its document, and to the matches of its author."""
    way = {**asked.question.settings, "line": line}
    return {
        "link": document_link(asked.key, place.document, place.start, place.end, **way),
        "whose": _narrowed(asked, "author", place.author) if place.author else None,
    }


def _narrowed(asked: View, field: str, value: str) -> str | None:
    """The same question, only in documents with this value; none if it cannot be asked for."""
    if "|" in value or value != value.strip() or not value:
        return None
    condition = f"{field}={value}"
    held = tuple(one for one in asked.question.where if one != condition)
    try:
        return asked.address(where=(*held, condition), view="", by="", page="")
    except UnicodeEncodeError:
        return None


def exported(opened: OpenIndex, asked: View) -> tuple[Sequence[str], Blocks]:
    """What is shown, all pages of it in their order: the names of the columns, and the rows, a
    block at a time."""
    question, index = asked.question, opened.index
    if asked.view != "lines":
        whole = replace(question, page=1, per=MOST_EXPORTED)
        rows = search_view(opened, replace(asked, question=whole))[asked.view]
        names = [name for name in rows[0] if name != "link"] if rows else []
        return names, iter([rows])
    if question.sort == "place" and not question.where:
        parsed = check(opened, question)
        return COLUMNS, read_row_blocks(index, parsed, question.context, MOST_EXPORTED)
    limit = MOST_EXPORTED if question.sort == "place" else needed(question)
    matches = find(opened, question, limit).matches
    order = sort_matches(matches, question.sort, seed=question.seed)

    def blocks() -> Iterator[list[dict[str, Any]]]:
        for first in range(0, len(order), _BLOCK):
            places = matches.places(order[first : first + _BLOCK])
            yield [row_of(place, index.context(place, question.context)) for place in places]

    return COLUMNS, blocks()


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
        # Nobody has written a flag here.
        return {"problem": str(error).removeprefix("--where ")}
    query, at = said[2], len(said[3])
    first = max(0, at - _AROUND)
    mistake = {
        "before": ("…" if first else "") + query[first:at],
        "at": query[at : at + 1] or " ",
        "after": query[at + 1 : at + _AROUND],
        "place": f"{at + 1:,}",
    }
    return {"problem": said[1], "mistake": mistake}


def telling_phrases(opened: OpenIndex) -> list[str]:
    """Phrases that a reader of these texts would know them by: an adjective and a noun, of those
    in the first matches the most frequent; without tags, frequent pairs of longer words."""
    index = opened.index

    def chosen() -> list[str]:
        if DEFAULT not in index.sorted_layers or index.items_held(DEFAULT) > _QUICK:
            return []
        if TAGS in index.layers:
            matches = search_index(index, '[pos="JJ"] [pos="NNS?"]', limit=MOST).matches
            pairs = [form for form, _ in count_forms(matches)]
        else:
            pairs = [" ".join(words) for words, _ in index.top(2, MOST_LISTED, DEFAULT)]
        return [pair for pair in pairs if _TELLING.fullmatch(pair)][:_MOST_PHRASES]

    return opened.once("phrases", chosen)


def examples_for(opened: OpenIndex) -> list[dict[str, str]]:
    """Queries that find something in this index, from simple to less so."""

    def chosen() -> list[dict[str, str]]:
        says = "a phrase: these words in a row, capitals aside"
        found = [{"query": phrase, "says": says} for phrase in telling_phrases(opened)[:2]]
        for query, says, layer in _EXAMPLES:
            # The first match is enough, and is soon found.
            if layer in opened.index.layers and opened.index.search(query, 1):
                found.append({"query": query, "says": says})
        return found

    return opened.once("examples", chosen)


def _forms(opened: OpenIndex, asked: View, found: SearchResult) -> Rows:
    return [
        {
            "form": form[:_LONGEST_MATCH],
            "count": count,
            "link": link("/search", index=asked.key, q=_phrase(form)),
        }
        for form, count in count_forms(found.matches)
    ]


def _groups(opened: OpenIndex, asked: View, found: SearchResult) -> Rows:
    """Matches by a field; a document leads to its first match, any other group to its lines."""
    field = asked.by or DOCUMENT
    rows = count_by_group(found.matches, groups_by(opened, field))
    way = {name: v for name, v in asked.question.settings.items() if name != "page"}
    for row in rows:
        name = row["group"]
        row["link"] = (
            document_link(asked.key, name, **way)
            if field == DOCUMENT
            else _narrowed(asked, field, name)
        )
    return rows


def _collocates(opened: OpenIndex, asked: View, found: SearchResult) -> Rows:
    """Words near the matches; each leads to where both are."""
    layer = found.matches.read_layer()
    rows = find_collocates(found.matches, asked.words, layer)[:MOST_LISTED]
    between = f"[]{{0,{asked.words - 1}}}" if asked.words > 1 else ""
    for row in rows:
        word, own = literal([row["word"]], layer), f"({found.parsed.pattern})"
        both = f"({own} {between} {word}) | ({word} {between} {own})"
        row["link"] = _asking(asked, both)
        row["word"] = row["word"][:_LONGEST_MATCH]
    return rows


def _asking(asked: View, q: str) -> str | None:
    """Where another query has its lines; none if it is too long to be asked."""
    return asked.address(q=q, view="", span="", page="") if len(q) <= LONGEST else None


def _beside(side: str) -> Callable[[OpenIndex, View, SearchResult], Rows]:
    def rows(opened: OpenIndex, asked: View, found: SearchResult) -> Rows:
        listed = count_neighbours(found.matches, side, asked.words)
        layer = found.matches.read_layer()
        for row in listed:
            # Marks are words of their own, so the words can be told apart again.
            more, own = literal(row["words"].split(), layer), f"({found.parsed.pattern})"
            both = f"{own} {more}" if side == "right" else f"{more} {own}"
            row["link"] = _asking(asked, both) if more and not row["ends"] else None
            row["words"] = row["words"][:_LONGEST_MATCH]
        return listed

    return rows


_ROWS: dict[str, Callable[[OpenIndex, View, SearchResult], Rows]] = {
    "forms": _forms,
    "by": _groups,
    "collocates": _collocates,
    "after": _beside("right"),
    "before": _beside("left"),
}


def _lacking(opened: OpenIndex, asked: View, kept: list[Flags] | None) -> dict[str, Any]:
    """Why there is nothing: the documents that were chosen, or words that occur nowhere."""
    question, index = asked.question, opened.index
    plain = replace(question, where=(), page=1)
    if kept is not None and (elsewhere := index.matches(question.q, question.layer)):
        every = replace(asked, question=plain).address()
        return {"elsewhere": elsewhere, "link": every, "unknown": [], "longest": []}
    found = opened.recent.get(
        ("lacking", question.q, question.layer),
        lambda: find_missing(index, question.q, question.layer),
    )
    longest = [
        {"part": part, "count": count, "link": asked.address(q=query, page="")}
        for part, query, count in found.longest[:_MOST_PARTS]
    ]
    return {"elsewhere": 0, "link": "", "unknown": found.unknown[:_MOST_PARTS], "longest": longest}


def _phrase(form: str) -> str | None:
    """A form as a query for it; none if it would be read as something else."""
    return None if len(form) > _LONGEST_MATCH or any(sign in form for sign in '"[') else form


def _pages(rows: int, question: Question) -> int:
    return max(1, -(-rows // question.per))
