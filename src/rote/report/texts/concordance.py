"""What an index found, for the eye: concordance lines, counts, n-grams; a text with its layers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from rote.core.document import Annotation
from rote.core.numbers import format_number
from rote.core.progress import several
from rote.core.table import Column, make_columns
from rote.report.screen import TableListing, cut_text, rows_table
from rote.report.terminal import isolate_direction, strip_controls

_GAP = 2
_LEAST_CONTEXT = 8


@dataclass(frozen=True, slots=True)
class ConcordanceLine:
    """A match with its surroundings; `items` are layers to be shown below it, by name."""

    before: str
    match: str
    after: str
    document: str
    author: str | None = None
    items: Mapping[str, Sequence[str]] = field(default_factory=dict)


def concordance_lines(lines: Sequence[ConcordanceLine], width: int) -> Iterator[Text]:
    """Lines of the given width: the matches one below the other, then whose they are."""
    if not lines:
        return
    matches = [_match_rows(line) for line in lines]
    whose = [[strip_controls(line.document), strip_controls(line.author or "")] for line in lines]
    sizes = [min(max(map(cell_len, c)), width // share) for c, share in zip(zip(*whose), (5, 7))]
    columns_width = sum(size + _GAP for size in sizes if size)
    around = [(strip_controls(line.before), strip_controls(line.after)) for line in lines]
    widest = max(cell_len(row) for rows in matches for row in rows)
    middle = min(widest, max(_LEAST_CONTEXT, (width - columns_width) // 3))
    side = max(_LEAST_CONTEXT, (width - columns_width - middle - 2 * _GAP) // 2)
    left, right = (min(side, max(map(cell_len, texts))) for texts in zip(*around))
    gap = " " * _GAP
    for line, rows, (before, after), names in zip(lines, matches, around, whose):
        line_text = Text(_pad_end(before, left) + gap, no_wrap=True)
        line_text.append(_pad_start(rows[0], middle), style="bold")
        line_text.append(gap + _pad_start(after, right))
        for name, size in zip(names, sizes):
            if size:
                line_text.append(gap + _pad_start(cut_text(name, size), size), style="dim")
        line_text.rstrip()
        yield line_text
        for name, row in zip([n for n in line.items if n != "word"], rows[1:]):
            # The label stands where the words before the match stand, close to what it names.
            label = _pad_end(strip_controls(name), left)
            yield Text(f"{label}{gap}{row}", style="dim", no_wrap=True)


def count_table(rows: Sequence[Mapping[str, Any]]) -> TableListing:
    """One row per phrase and layer; the phrase is left out where the items say the same."""
    plain = {row["phrase"] for row in rows if _phrase_text(row).lower() == row["phrase"].lower()}
    phrases = any(row["phrase"] not in plain for row in rows)
    table_rows, last = [], None
    for row in rows:
        phrase = "" if row["phrase"] == last else row["phrase"]
        last = row["phrase"]
        shown_phrase = phrase if phrases else None
        table_rows.append({**row, "phrase": shown_phrase, "items": _phrase_text(row)})
    counts = _count_columns("occurrences", "documents", "authors")
    return rows_table([*make_columns("phrase? layer items"), *counts], table_rows)


def group_table(listing: Any, console: Any) -> None:
    """Matches by group, and how evenly they are spread over all groups."""
    counts = _count_columns("matches", "documents", "words")
    console.print(rows_table([Column("group", listing.about["by"]), *counts], listing.rows))
    spread = listing.about["dispersion"]
    d, dp = (format_number(spread[name], ".3f") for name in ("juilland_d", "dp"))
    groups = several(spread["groups"], "group")
    console.print(f"over {groups}: Juilland's D {d}, DP {dp}", highlight=False)


def named_table(rows: Sequence[Mapping[str, Any]], by: str | None) -> TableListing:
    columns = [Column("pattern"), *([Column("group", by)] if by else [])]
    columns += _count_columns("matches", "documents")
    if by is None:
        columns.append(Column("dp", "DP", "number", 3))
        columns.append(Column("juilland_d", "D", "number", 3))
    return rows_table(columns, rows)


def collocate_table(rows: Sequence[Mapping[str, Any]]) -> TableListing:
    columns = [
        Column("word"),
        *_count_columns("near"),
        Column("expected", kind="number", decimals=1),
        *_count_columns("count"),
        Column("g2", "G2", "number", 1),
        Column("pmi", "PMI", "number", 2),
        Column("t", kind="number", decimals=2),
        Column("log_dice", "logDice", "number", 2),
    ]
    return rows_table(columns, rows)


def frequent_table(rows: Sequence[Mapping[str, Any]]) -> TableListing:
    columns = [
        *make_columns("rank:count items=n-gram"),
        *_count_columns("count", "documents"),
        *make_columns("example?:text"),
    ]
    return rows_table(columns, [{**row, "items": " ".join(row["items"])} for row in rows])


def _count_columns(*names: str) -> list[Column]:
    """Those that hold anything; an empty one would only take room."""
    rate = Column("per_million", kind="number", optional=True)
    return [*(Column(name, kind="count", optional=True) for name in names), rate]


def _match_rows(line: ConcordanceLine) -> list[str]:
    """The match, and below it the items of each layer, in columns if there are as many."""
    if not line.items:
        return [strip_controls(line.match)]
    rows = [[strip_controls(item) or "∅" for item in items] for items in line.items.values()]
    if len({len(row) for row in rows}) > 1 or "word" not in line.items:
        below = [row for name, row in zip(line.items, rows) if name != "word"]
        return [strip_controls(line.match), *(" ".join(row) for row in below)]
    widths = [max(map(cell_len, column)) for column in zip(*rows)]
    return [" ".join(map(set_cell_size, row, widths)).rstrip() for row in rows]


def _phrase_text(row: Mapping[str, Any]) -> str:
    """The items of a phrase; a query says what it means itself."""
    return " ".join(row["items"]) if row["items"] else str(row["phrase"])


def _pad_start(text: str, size: int) -> str:
    """The beginning of a text in so many cells, padded."""
    return isolate_direction(set_cell_size(text, size))


def _pad_end(text: str, size: int) -> str:
    """The end of a text in so many cells, padded on the left."""
    first, room = len(text), size
    while first and cell_len(text[first - 1]) <= room:
        first -= 1
        room -= cell_len(text[first])
    # An accent whose letter was cut off would sit on the space before it.
    while first and first < len(text) and not cell_len(text[first]):
        first += 1
    return isolate_direction(" " * room + text[first:])


_COLUMN_GAP = 2
# Classes of tags that a reader tells apart at a glance; the same in every layer.
_STYLES = {
    "NOUN": "green",
    "PROPN": "bright_green",
    "PRON": "cyan",
    "VERB": "red",
    "AUX": "bright_red",
    "ADJ": "yellow",
    "ADV": "magenta",
    "NUM": "bright_yellow",
    "PUNCT": "dim",
}


def gloss_lines(
    annotation: Annotation, text: int, layers: Sequence[str], width: int
) -> Iterator[Text]:
    """Lines of the given width: the words in bold, then one line per layer."""
    word = annotation.word
    place = word.slice(text)
    ends = word.text_ends if word.sentence_ends is None else word.sentence_ends
    first = place.start
    for end in ends[(ends > place.start) & (ends <= place.stop)].tolist():
        yield from _sentence_lines(annotation, first, end, layers, width)
        first = end


def _sentence_lines(
    annotation: Annotation, first: int, last: int, layers: Sequence[str], width: int
) -> Iterator[Text]:
    rows = {name: _layer_items(annotation, name, first, last) for name in ("word", *layers)}
    if annotation.heads is not None:
        # Heads are counted within the sentence, from 1, as treebanks do; 0 is the root.
        heads = annotation.heads[first:last].tolist()
        rows["head"] = [str(head - first + 1) if head >= 0 else "0" for head in heads]
    label = max(map(len, rows)) + _COLUMN_GAP
    widths = [max(map(cell_len, column)) + _COLUMN_GAP for column in zip(*rows.values())]
    classes = _layer_items(annotation, "upos", first, last) if "upos" in annotation.layers else None
    start = 0
    while start < len(widths):
        stop, used = start + 1, label + widths[start]
        while stop < len(widths) and used + widths[stop] <= width:
            used += widths[stop]
            stop += 1
        for name, items in rows.items():
            line = Text(set_cell_size(name, label), style="dim")
            for number in range(start, stop):
                style = "bold" if name == "word" else ""
                if classes:
                    style += " " + _STYLES.get(classes[number], "")
                line.append(set_cell_size(items[number], widths[number]), style=style.strip())
            yield line
        yield Text()
        start = stop


def _layer_items(annotation: Annotation, name: str, first: int, last: int) -> list[str]:
    layer = annotation.layers[name]
    # Control characters would move the cursor: shown as what they are.
    return [
        "".join(c if c.isprintable() else repr(c)[1:-1] for c in layer.vocabulary[item]) or "∅"
        for item in layer.ids[first:last]
    ]
