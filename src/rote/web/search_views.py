"""What is asked of an open index, and what the page Search shows of it, with links.

Strangers ask here, so what could take for ever is refused: any order but that of documents takes
the first `MAX_MATCHES` matches, a tally `MAX_TALLIED`, a filter and a random order `MAX_EXPORTED`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from rote.core.arrays import Flags
from rote.core.errors import OptionError, RoteError, UnknownName
from rote.corpus import conditions
from rote.index import query as queries
from rote.index.answers import Occurrence
from rote.index.index import DEFAULT, Index
from rote.index.query import literal
from rote.index.query.conditions import check_test
from rote.search.originality.edges import TAGS
from rote.search.rows import counts as counting
from rote.search.rows.collocates import count_neighbours, find_collocates
from rote.search.rows.counts import DOCUMENT, count_by_group, documents_where, per_million, words_in
from rote.search.rows.matches import (
    COLUMNS,
    SearchResult,
    Sort,
    count_forms,
    count_soft_forms,
    find_matches,
    find_missing,
    name_forms,
    read_row_blocks,
    row_of,
    search_index,
    sort_matches,
)
from rote.web.render import document_link, make_link
from rote.web.workspace import OpenIndex

MAX_MATCHES = 20_000
"""Matches that are put in another order, told apart by form, or paged through."""
MAX_TALLIED = 200_000
"""Matches whose documents or neighbours are counted."""
MAX_EXPORTED = 1_000_000
MAX_QUERY = 2_000
"""Characters of a query."""
MAX_REGEX = 500
"""Of all expressions of a query: for each of them every word is read once, at worst."""
MAX_NGRAM = 32
MAX_BESIDE = 10
"""Words beside a match that are counted."""
MAX_LISTED = 1_000
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
class SearchQuestion:
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
        return self.page * self.per

    @property
    def settings(self) -> dict[str, Any]:
        """What differs from the defaults, as an address carries it."""
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "per"}
        return {n: value for n, value in values.items() if n == "q" or value != _DEFAULTS[n]}


_DEFAULTS = {field.name: field.default for field in fields(SearchQuestion)}


def check_question(opened: OpenIndex, question: SearchQuestion) -> queries.Query:
    """The query, read; what cannot be asked is refused."""
    index = opened.index
    if not question.q.strip():
        raise OptionError("the search is empty: write a word, a phrase or a query")
    if len(question.q) > MAX_QUERY:
        raise OptionError(f"a query has at most {MAX_QUERY:,} characters, not {len(question.q):,}")
    _check_layer(index, question.layer)
    parsed = index.parse(question.q, question.layer)
    letters = sum(map(check_test, parsed.tests))
    if letters > MAX_REGEX:
        raise OptionError(
            f"the regular expressions of a query have at most {MAX_REGEX} letters here, "
            f"repetitions written out (x{{1,30}} has 30), and these {letters:,}: ask on the "
            "command line, which has no limit"
        )
    return parsed


def count_needed(question: SearchQuestion, view: str = "lines") -> int:
    """How many matches a page of a view needs: as few as will do."""
    if view == "lines" and question.sort == "place":
        return min(question.last, MAX_MATCHES)
    if view == "lines" and question.sort == "random":
        return MAX_EXPORTED  # else the first documents alone would be drawn from
    return MAX_MATCHES if view in ("lines", "forms") else MAX_TALLIED


def find_page(opened: OpenIndex, question: SearchQuestion, limit: int) -> SearchResult:
    check_question(opened, question)
    documents = filter_documents(opened, question.where)
    return search_index(opened.index, question.q, question.layer, limit, documents, MAX_EXPORTED)


def filter_documents(opened: OpenIndex, where: tuple[str, ...]) -> list[Flags] | None:
    """Of each segment the documents that fulfil the conditions; None without any."""
    if not where:
        return None
    for condition in conditions(where):
        if condition.field not in group_fields(opened):
            raise UnknownName("field of the documents", condition.field, group_fields(opened))
    return opened.recent.get(("where", where), lambda: documents_where(opened.index, where))


def page_matches(result: SearchResult, question: SearchQuestion) -> list[Occurrence]:
    order = sort_matches(result.matches, question.sort, seed=question.seed)
    return result.matches.places(order[question.last - question.per : question.last])


def group_fields(opened: OpenIndex) -> list[str]:
    return opened.once("fields", lambda: counting.fields_of(opened.index))


def count_phrase(
    opened: OpenIndex, phrase: str, layers: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """One row for each layer of a phrase; a query is counted once, and names its layers itself."""
    index = opened.index
    default = layers[0] if layers else DEFAULT
    check_question(opened, SearchQuestion(phrase, default))
    if not queries.is_plain(phrase):
        return [counting.count_query(index, phrase, default)]
    rows: list[dict[str, Any]] = []
    for layer in layers or opened.manifest.sorted_layers:
        if layer not in index.sorted_layers:
            raise UnknownName("sorted layer of the index", layer, index.sorted_layers)
        grams = counting.split_phrases(index, [phrase], layer)
        rows += counting.count_phrases(index, [phrase], grams, layer)
    return rows


def top_ngrams(opened: OpenIndex, n: int, k: int, layer: str) -> list[dict[str, Any]]:
    """The k most frequent n-grams, exactly, each with the text of its first place."""
    _check_layer(opened.index, layer)
    if not 1 <= n <= MAX_NGRAM or not 1 <= k <= MAX_LISTED:
        limits = f"an n-gram has 1 to {MAX_NGRAM} items, and 1 to {MAX_LISTED:,} are listed"
        raise OptionError(limits)

    def listed() -> list[dict[str, Any]]:
        rows = counting.list_frequent(opened.index, n, k, layer)
        texts = [row["example"] and " ".join(row["example"][:_EXAMPLE].split()) for row in rows]
        return [{**row, "example": text} for row, text in zip(rows, texts)]

    return opened.recent.get(("top", n, k, layer), listed)


def _check_layer(index: Index, layer: str) -> None:
    if layer not in index.layers:
        raise UnknownName("layer of the index", layer, index.layers)


def document_hits(
    opened: OpenIndex, question: SearchQuestion, identity: str
) -> list[tuple[int, int]]:
    index = opened.index
    parsed = check_question(opened, question)

    def made() -> list[tuple[int, int]]:
        matches = find_matches(index, parsed, MAX_EXPORTED)
        for number, segment in enumerate(index.segments):
            document = segment.documents.find(identity)
            if document is not None:
                in_segment = matches.of_segment(number)
                is_here = matches.documents[in_segment] == document
                numbers = np.arange(len(matches))[in_segment][is_here]
                return [(place.start, place.end) for place in matches.places(numbers[:MAX_MATCHES])]
        return []

    return opened.recent.get(("hits", question.q, question.layer, identity), made)


Rows = list[dict[str, Any]]
Blocks = Iterator[Rows]
_BLOCK = 1_000
"""Rows of a file that are made at once."""
_MAX_PARTS = 5
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
_PHRASE = re.compile(r"[^\W\d_]{3,} [^\W\d_]{4,}")
_MISTAKE = re.compile(r"(.*)\n  (.*)\n  ( *)\^", re.DOTALL)


@dataclass(frozen=True, slots=True)
class SearchView:
    key: str
    question: SearchQuestion
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
        query = {"view": self.view if self.view != "lines" else "", "by": self.by}
        return {"index": self.key, **self.question.settings, **query, "span": self.span or ""}

    def address(self, **changes: Any) -> str:
        return make_link("/search", **{**self.settings, **changes})


def search_view(opened: OpenIndex, view: SearchView) -> dict[str, Any]:
    """One page of what was asked; its rows under the name of the view."""
    question, index = view.question, opened.index
    result = find_page(opened, question, count_needed(question, view.view))
    documents = filter_documents(opened, question.where)
    if documents is None:
        words, every = index.items_held(result.matches.layer), 0
    else:
        words, every = words_in(index, documents), index.matches(question.q, question.layer)
    cells: dict[str, Any] = {
        "query": str(result.parsed),
        "soft_forms": name_forms(count_soft_forms(index, result.parsed)),
        "unfiltered": every if every > MAX_EXPORTED else 0,
        "matches": result.total,
        "matched_documents": result.documents,
        "per_million": per_million(result.total, words),
        "limited": result.limited and (view.view != "lines" or question.sort != "place"),
        "tallied": len(result.matches),
        "page": question.page,
        "field": view.by or DOCUMENT,
        "words": view.words,
    }
    if not result.total:
        lacking = _explain_nothing(opened, view, documents)
        return cells | {"pages": 1, view.view: [], "lacking": lacking}
    if view.view == "lines":
        lines = []
        for line, place in enumerate(page_matches(result, question), 1):
            row = row_of(place, index.context(place, question.context))
            way = {**question.settings, "line": line}
            link = document_link(view.key, place.document, place.start, place.end, **way)
            whose = _narrowed_link(view, "author", place.author) if place.author else None
            lines.append({**row, "link": link, "whose": whose})
        pages = _count_pages(min(result.total, MAX_MATCHES), question)
        return cells | {"pages": pages, "lines": lines}
    rows = _ROW_MAKERS[view.view](opened, view, result)
    part = rows[question.last - question.per : question.last]
    return cells | {"pages": _count_pages(len(rows), question), view.view: part}


def _narrowed_link(view: SearchView, field: str, value: str) -> str | None:
    """The same question, only in documents with this value; none if it cannot be asked for."""
    if "|" in value or value != value.strip() or not value:
        return None
    condition = f"{field}={value}"
    others = tuple(c for c in view.question.where if c != condition)
    try:
        return view.address(where=(*others, condition), view="", by="", page="")
    except UnicodeEncodeError:
        return None


def export_rows(opened: OpenIndex, view: SearchView) -> tuple[Sequence[str], Blocks]:
    """All pages of what is shown: the names of the columns, and the rows, a block at a time."""
    question, index = view.question, opened.index
    if view.view != "lines":
        every = replace(question, page=1, per=MAX_EXPORTED)
        rows = search_view(opened, replace(view, question=every))[view.view]
        names = [name for name in rows[0] if name != "link"] if rows else []
        return names, iter([rows])
    if question.sort == "place" and not question.where:
        parsed = check_question(opened, question)
        return COLUMNS, read_row_blocks(index, parsed, question.context, MAX_EXPORTED)
    limit = MAX_EXPORTED if question.sort == "place" else count_needed(question)
    matches = find_page(opened, question, limit).matches
    order = sort_matches(matches, question.sort, seed=question.seed)

    def blocks() -> Iterator[list[dict[str, Any]]]:
        for first in range(0, len(order), _BLOCK):
            places = matches.places(order[first : first + _BLOCK])
            yield [row_of(place, index.context(place, question.context)) for place in places]

    return COLUMNS, blocks()


def top_view(opened: OpenIndex, key: str, n: int, k: int, layer: str) -> list[dict[str, Any]]:
    rows = top_ngrams(opened, n, k, layer)
    queries_of_rows = [literal(row["items"], layer) for row in rows]
    links = [make_link("/search", index=key, q=query, layer=layer) for query in queries_of_rows]
    return [{**row, "link": link} for row, link in zip(rows, links)]


def describe_mistake(error: RoteError) -> dict[str, Any]:
    """What is wrong with a query, and the query around the place of the mistake."""
    mistake_match = _MISTAKE.fullmatch(str(error))
    if not mistake_match:
        # Nobody has written a flag here.
        return {"problem": str(error).removeprefix("--where ")}
    query, at = mistake_match[2], len(mistake_match[3])
    first = max(0, at - _AROUND)
    mistake = {
        "before": ("…" if first else "") + query[first:at],
        "at": query[at : at + 1] or " ",
        "after": query[at + 1 : at + _AROUND],
        "place": f"{at + 1:,}",
    }
    return {"problem": mistake_match[1], "mistake": mistake}


def example_phrases(opened: OpenIndex) -> list[str]:
    """Phrases that tell what these texts are about: an adjective and a noun, or longer words."""
    index = opened.index

    def chosen() -> list[str]:
        if DEFAULT not in index.sorted_layers or index.items_held(DEFAULT) > _QUICK:
            return []
        if TAGS in index.layers:
            matches = search_index(index, '[pos="JJ"] [pos="NNS?"]', limit=MAX_MATCHES).matches
            pairs = [form for form, _ in count_forms(matches)]
        else:
            pairs = [" ".join(words) for words, _ in index.top(2, MAX_LISTED, DEFAULT)]
        return [pair for pair in pairs if _PHRASE.fullmatch(pair)][:_MOST_PHRASES]

    return opened.once("phrases", chosen)


def example_queries(opened: OpenIndex) -> list[dict[str, str]]:
    """Queries that find something in this index, from simple to less so."""

    def chosen() -> list[dict[str, str]]:
        says = "a phrase: these words in a row, capitals aside"
        examples = [{"query": phrase, "says": says} for phrase in example_phrases(opened)[:2]]
        for query, says, layer in _EXAMPLES:
            # The first match is enough, and is soon found.
            if layer in opened.index.layers and opened.index.search(query, 1):
                examples.append({"query": query, "says": says})
        return examples

    return opened.once("examples", chosen)


def _form_rows(opened: OpenIndex, view: SearchView, result: SearchResult) -> Rows:
    rows = []
    for form, count in count_forms(result.matches):
        # None where a form would be read as something else than a query for it.
        plain = len(form) <= _LONGEST_MATCH and not any(sign in form for sign in '"[')
        link = make_link("/search", index=view.key, q=form if plain else None)
        rows.append({"form": form[:_LONGEST_MATCH], "count": count, "link": link})
    return rows


def _group_rows(opened: OpenIndex, view: SearchView, result: SearchResult) -> Rows:
    """Matches by a field; a document leads to its first match, any other group to its lines."""
    field = view.by or DOCUMENT
    if field not in group_fields(opened):
        raise UnknownName("field of the documents", field, group_fields(opened))
    groups = opened.once(("groups", field), lambda: counting.groups_by(opened.index, field))
    rows = count_by_group(result.matches, groups)
    way = {name: v for name, v in view.question.settings.items() if name != "page"}
    for row in rows:
        if field == DOCUMENT:
            row["link"] = document_link(view.key, row["group"], **way)
        else:
            row["link"] = _narrowed_link(view, field, row["group"])
    return rows


def _collocate_rows(opened: OpenIndex, view: SearchView, result: SearchResult) -> Rows:
    """Words near the matches; each leads to where both are."""
    layer = result.matches.read_layer()
    rows = find_collocates(result.matches, view.words, layer)[:MAX_LISTED]
    between = f"[]{{0,{view.words - 1}}}" if view.words > 1 else ""
    for row in rows:
        word, pattern = literal([row["word"]], layer), f"({result.parsed.pattern})"
        both = f"({pattern} {between} {word}) | ({word} {between} {pattern})"
        row["link"] = _query_link(view, both)
        row["word"] = row["word"][:_LONGEST_MATCH]
    return rows


def _query_link(view: SearchView, q: str) -> str | None:
    return view.address(q=q, view="", span="", page="") if len(q) <= MAX_QUERY else None


def _neighbour_rows(side: str) -> Callable[[OpenIndex, SearchView, SearchResult], Rows]:
    def rows(opened: OpenIndex, view: SearchView, result: SearchResult) -> Rows:
        listed = count_neighbours(result.matches, side, view.words)
        layer = result.matches.read_layer()
        for row in listed:
            # Marks are words of their own, so the words can be told apart again.
            more, pattern = literal(row["words"].split(), layer), f"({result.parsed.pattern})"
            both = f"{pattern} {more}" if side == "right" else f"{more} {pattern}"
            row["link"] = _query_link(view, both) if more and not row["ends"] else None
            row["words"] = row["words"][:_LONGEST_MATCH]
        return listed

    return rows


_ROW_MAKERS: dict[str, Callable[[OpenIndex, SearchView, SearchResult], Rows]] = {
    "forms": _form_rows,
    "by": _group_rows,
    "collocates": _collocate_rows,
    "after": _neighbour_rows("right"),
    "before": _neighbour_rows("left"),
}


def _explain_nothing(
    opened: OpenIndex, view: SearchView, documents: list[Flags] | None
) -> dict[str, Any]:
    """Why there is nothing: the documents that were chosen, or words that occur nowhere."""
    question, index = view.question, opened.index
    plain = replace(question, where=(), page=1)
    if documents is not None and (elsewhere := index.matches(question.q, question.layer)):
        every = replace(view, question=plain).address()
        return {"elsewhere": elsewhere, "link": every, "unknown": [], "longest": []}
    query = question.q, question.layer
    missing = opened.recent.get(("lacking", *query), lambda: find_missing(index, *query))
    longest = [
        {"part": part, "count": count, "link": view.address(q=query, page="")}
        for part, query, count in missing.longest[:_MAX_PARTS]
    ]
    return {"elsewhere": 0, "link": "", "unknown": missing.unknown[:_MAX_PARTS], "longest": longest}


def _count_pages(rows: int, question: SearchQuestion) -> int:
    return max(1, -(-rows // question.per))
