"""Search an index: every match with the text around it, its document and author.

QUERY is a phrase, or a pattern over layers: strings in quotes are regular expressions for whole
items, brackets hold conditions, {1,3} ? * + repeat, word~ stands for words of like meaning:


  rote search IDX "at the end of"
  rote search IDX '"of" "the" []{1,2} "day"'
  rote search IDX '[pos="JJ"]{1,3} [lemma="dog"]' --show pos
  rote search IDX '[pos="NN.*" & lower="time"]' --sort right
  rote search IDX "gold~ medal~"
  rote search IDX "of course" --by author
  rote search IDX "of course" --where author=Austen --where "year<1815"
  rote search IDX tea --collocates 4
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import click

from rote.cli._flags import command_of
from rote.cli._index import about, check_layers, index_argument, opened, signed
from rote.cli._output import Draw, Listing, Output, deliver_rows
from rote.cli._progress import TerminalReporter
from rote.core.errors import OptionError
from rote.core.metric import option
from rote.core.progress import Reporter
from rote.core.result import Result
from rote.corpus import where_option

if TYPE_CHECKING:
    from rote.core.arrays import Flags
    from rote.index.answers import Occurrence
    from rote.index.index import Index


def items_under(index: Index, place: Occurrence, layer: str) -> list[str]:
    """The items of a layer whose characters a place holds; a match may be of others (subwords)."""
    import numpy as np

    segment = index.segments[place.segment]
    column, positions = segment.columns[layer], segment.positions_of(layer)
    first = int(positions.start_of(place.number))
    starts, ends = positions.spans.spans(
        np.arange(first, int(positions.document_ends[place.number]), dtype=np.int64)
    )
    items = np.flatnonzero((starts < place.end) & (ends > place.start)) + first
    return [column.vocabulary[column.ids[i]] for i in items.tolist()]


_CHOICE = {
    "place": "the first",
    "left": "the first by the words before them",
    "right": "the first by the words after them",
    "random": "chosen at random",
    **{
        f"{side}{nth}": f"the first by the words {where} them, from the {name} on"
        for side, where in (("left", "before"), ("right", "after"))
        for nth, name in ((2, "second"), (3, "third"))
    },
}


Order = Literal["place", "left", "left2", "left3", "right", "right2", "right3", "random"]


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """What is searched, and which matches are shown."""

    SECTION: ClassVar[str] = "What is shown"
    layer: str = option("lower", "Layer of phrases, and of strings outside brackets")
    limit: int = option(20, "Maximum number of matches to show; 0: all")
    context: int = option(
        60, "Characters of context on each side of a match, as far as the line allows"
    )
    sort: Order = option(
        "place",
        "By position, by the words left or right of the match (left2: from the second word on), "
        "or in random order",
    )
    seed: int = option(0, "Seed of the random choice")
    where: tuple[str, ...] = where_option("search only documents with")
    show: tuple[str, ...] = option((), "Layers to show below each match, such as pos,lemma")
    by: str | None = option(
        None,
        "Count matches by a field instead: author, source, document, year, ...",
        metavar="FIELD",
    )
    collocates: int = option(
        0,
        "List collocates within this many words of a match instead (G2, PMI, t, logDice)",
        least=0,
    )


def search(
    index: Index | str | Path, query: str, options: SearchOptions, reporter: Reporter
) -> Result:
    index = opened(index, reporter)
    listing, _ = _answer(index, query, options, reporter)
    return listing.result("search", query=query, **signed(index, options))


@command_of(__doc__, index_argument(), click.Argument(["query"], metavar="QUERY"))
def command(
    idx: Path, query: str, options: SearchOptions, output: Output, reporter: TerminalReporter
) -> None:
    deliver_rows(*_answer(opened(idx, reporter), query, options, reporter), output)


def _answer(
    index: Index, query: str, options: SearchOptions, reporter: Reporter
) -> tuple[Listing, Draw]:
    from rote.index.query import is_plain, parse
    from rote.search.rows.matches import (
        COLUMNS,
        count_soft_forms,
        name_forms,
        row_of,
        search_index,
        sort_matches,
    )

    if options.limit < 0 or options.context < 0:
        raise OptionError("--limit and --context must be at least 0")
    if options.by and options.collocates:
        raise OptionError("--by and --collocates exclude each other: leave one out")
    layers = [options.layer] if is_plain(query) else parse(query, options.layer).layers
    check_layers(index, [*layers, *options.show])
    if options.by or options.collocates:
        return _count_groups(index, query, options)
    # Any order but that of the documents takes all matches.
    limit = options.limit if options.sort == "place" else 0
    chosen = _document_filter(index, options)
    matches = search_index(index, query, options.layer, limit or None, chosen)
    order = sort_matches(matches.matches, options.sort, reporter, options.seed)
    # The words come first: the others stand below them.
    under = tuple(dict.fromkeys(("word", *options.show))) if options.show else ()
    rows = [
        row_of(place, index.context(place, options.context))
        | {layer: items_under(index, place, layer) for layer in under}
        for place in matches.matches.places(order[: options.limit or None])
    ]
    about_query = {**about(index), "query": str(matches.parsed), "matches": matches.total}
    forms = count_soft_forms(index, matches.parsed)
    about_query |= {"forms": forms} if forms else {}
    listing = Listing("places", rows, (*COLUMNS, *under), about_query)

    def draw(console: Any) -> None:
        _draw(rows, under, matches.total, options, console)
        if forms:
            console.print(name_forms(forms), highlight=False, markup=False)

    return listing, draw


def _count_groups(index: Index, query: str, options: SearchOptions) -> tuple[Listing, Draw]:
    from rote.report.texts.concordance import collocate_table, group_table
    from rote.search.rows.collocates import COLLOCATES, dispersion, find_collocates
    from rote.search.rows.counts import GROUPED, count_by_group, groups_by_field
    from rote.search.rows.matches import search_index

    matches = search_index(index, query, options.layer, selected=_document_filter(index, options))
    about_query = {**about(index), "query": str(matches.parsed), "matches": matches.total}
    limit = options.limit or None
    if options.by:
        groups = groups_by_field(index, options.by)
        rows = count_by_group(matches.matches, groups)
        about_query |= {"by": options.by, "dispersion": dispersion(rows, groups)}
        listing = Listing("groups", rows[:limit], GROUPED, about_query)
        return listing, lambda console: group_table(listing, console)
    rows = find_collocates(matches.matches, options.collocates, options.layer)
    listing = Listing("collocates", rows[:limit], COLLOCATES, about_query)
    return listing, lambda console: console.print(collocate_table(listing.rows))


def _document_filter(index: Index, options: SearchOptions) -> list[Flags] | None:
    from rote.search.rows.counts import documents_where

    return documents_where(index, options.where) if options.where else None


def _draw(
    rows: Sequence[dict[str, Any]],
    under: Sequence[str],
    total: int,
    options: SearchOptions,
    console: Any,
) -> None:
    from rote.report.texts.concordance import ConcordanceLine, concordance_lines

    lines = [
        ConcordanceLine(
            **{name: row[name] for name in ("before", "match", "after", "document", "author")},
            items={name: row[name] for name in under},
        )
        for row in rows
    ]
    for line in concordance_lines(lines, console.width):
        console.print(line, no_wrap=True, crop=True)
    matches = f"{total:,} match{'es' * (total != 1)}"
    if len(rows) < total:
        matches = f"{len(rows):,} of {matches}, {_CHOICE[options.sort]}"
    console.print(f"\n{matches}" if rows else matches, highlight=False)
