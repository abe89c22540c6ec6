"""A text with patterns marked in it, in the terminal and as a page: overlapping ones stay apart.

Spans that overlap lie in different lanes. In the terminal a line of text is followed by one line
of brackets for each lane; on a page the lanes are lines under the words. Everything is told by
number and line style too, so that it can be read without colour.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from rote.report.tables.screen import plain_table
from rote.report.terminal import harmless, readable
from rote.report.texts.marks import Mark, Piece, in_lanes, paragraphs

if TYPE_CHECKING:
    from rich.text import Text

Key = tuple[str, str]
_COLOURS = ("cyan", "magenta", "yellow", "green", "blue", "red", "bright_cyan", "bright_magenta")
# Corner, line, corner, and a span of one cell, for the first, second and every further kind.
_BRACKETS = ("└─┘┴", "╚═╝╩", "└┄┘┴")
_STYLES = ("solid", "double", "dashed")
_GOES_ON = "→"
_LABEL_WIDTH = 60


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the legend: a pattern, whose it is, how often it stands."""

    label: str
    kind: str
    count: int


@dataclass(frozen=True, slots=True)
class _Row:
    """A line on the terminal, and where each character of the text, and the end, stands in it:
    in cells (wide characters take two) and in shown characters (some are left out)."""

    start: int
    shown: str
    columns: Sequence[int]
    letters: Sequence[int]


def legend_of(spans: Iterable[Mark]) -> list[Entry]:
    """The patterns of some spans, as often as they stand there, in order of first appearance."""
    counts = Counter((span.label, span.kind) for span in spans)
    return [Entry(label, kind, count) for (label, kind), count in counts.items()]


def terminal(
    text: str, spans: Sequence[Mark], console: Any, legend: Sequence[Entry] | None = None
) -> None:
    """Print a text with its spans, and below it what the numbers mean."""
    for line in lines(text, spans, console.width, legend):
        console.print(line, no_wrap=True, highlight=False, soft_wrap=True)
    entries, _ = _numbered(spans, legend)
    if not entries:
        return
    kinds = any(entry.kind for entry in entries.values())
    columns = {"": "right", "template": "left", **({"of": "left"} if kinds else {})}
    rows = [
        [str(number), entry.label, *([entry.kind] if kinds else []), f"{entry.count:,}"]
        for number, entry in entries.items()
    ]
    console.print(plain_table({**columns, "count": "right"}, rows))


def lines(
    text: str, spans: Sequence[Mark], width: int, legend: Sequence[Entry] | None = None
) -> Iterator[Text]:
    """Lines of the given width: a line of the text, then its brackets, one line for each lane."""
    from rich.text import Text

    _, numbers = _numbered(spans, legend)
    kinds = _kinds(spans, legend)
    placed = in_lanes(text, [span for span in map(partial(_trimmed, text), spans) if span])
    following, active = 0, list[tuple[Mark, int]]()
    for row in _wrapped(text, max(1, width)):
        end = row.start + len(row.columns) - 1
        active = [(span, lane) for span, lane in active if span.end > row.start]
        while following < len(placed) and placed[following][0].start < end:
            if placed[following][0].end > row.start:
                active.append(placed[following])
            following += 1
        shown, lanes = Text(row.shown, no_wrap=True), dict[int, Text]()
        for span, lane in active:
            start, stop = max(span.start - row.start, 0), min(span.end, end) - row.start
            first, last = row.columns[start], row.columns[stop]
            if first == last:
                continue
            number = numbers[span.label, span.kind]
            style = _COLOURS[(number - 1) % len(_COLOURS)]
            cells = _bracket(
                last - first,
                (f" {number} {_named(span.label)} ", f" {number} ", f"{number}"),
                _BRACKETS[kinds[span.kind]],
                (span.start >= row.start, span.end <= end),
            )
            below = lanes.setdefault(lane, Text(no_wrap=True))
            below.append(" " * (first - below.cell_len)).append(cells, style=style)
            shown.stylize("bold", row.letters[start], row.letters[stop])
        yield shown
        yield from (lanes[lane] for lane in sorted(lanes))


def html_page(
    title: str,
    texts: Sequence[tuple[str, str, Sequence[Mark]]],
    legend: Sequence[Entry] | None = None,
) -> str:
    """A page of its own: texts under their headings, and the legend; no script, no network."""
    from markupsafe import Markup

    body = Markup(html_fragment(texts, legend))
    return str(page_template("page.html").render(title=readable(title), body=body))


def html_fragment(
    texts: Sequence[tuple[str, str, Sequence[Mark]]],
    legend: Sequence[Entry] | None = None,
    *,
    anchor: str = "template",
) -> str:
    """The same as a part of a page; `anchor` begins the ids, one for each part of a page."""
    everything = [span for _, _, spans in texts for span in spans]
    entries, numbers = _numbered(everything, legend)
    kinds = _kinds(everything, legend)

    def look(label: str, kind: str) -> dict[str, Any]:
        number = numbers[label, kind]
        return {
            "number": number,
            "colour": (number - 1) % len(_COLOURS),
            "style": _STYLES[kinds[kind]],
            "says": f"{number}: {readable(label)}" + (f" ({readable(kind)})" if kind else ""),
        }

    def places(piece: Piece, first: bool) -> dict[str, Any]:
        return {
            "places": [
                {
                    **look(place.mark.label, place.mark.kind),
                    "lane": place.lane,
                    "first": place.first and first,
                }
                for place in piece.places
            ]
        }

    written = page_template("highlight.html").render(
        anchor=anchor,
        texts=[
            {"heading": readable(heading), "paragraphs": paragraphs(text, spans, places)}
            for heading, text, spans in texts
        ],
        kinds=any(entry.kind for entry in entries.values()),
        legend=[
            {
                **look(entry.label, entry.kind),
                "label": readable(entry.label),
                "kind": readable(entry.kind),
                "count": f"{entry.count:,}",
            }
            for entry in entries.values()
        ],
    )
    return str(written)


def _numbered(
    spans: Sequence[Mark], legend: Sequence[Entry] | None
) -> tuple[dict[int, Entry], dict[Key, int]]:
    """The entries that the spans need, by number, and the number of each pattern."""
    found = legend_of(sorted(spans, key=lambda span: (span.start, span.end)))
    known = {(entry.label, entry.kind): entry for entry in legend or ()}
    every = known | {(e.label, e.kind): e for e in found if (e.label, e.kind) not in known}
    numbers = {key: number for number, key in enumerate(every, 1)}
    used = sorted(numbers[entry.label, entry.kind] for entry in found)
    entries = list(every.values())
    return {number: entries[number - 1] for number in used}, numbers


def _kinds(spans: Sequence[Mark], legend: Sequence[Entry] | None) -> dict[str, int]:
    """The line style of each kind: two are told apart, the rest share the last."""
    kinds = dict.fromkeys([entry.kind for entry in legend or ()] + [span.kind for span in spans])
    return {kind: min(number, len(_STYLES) - 1) for number, kind in enumerate(kinds)}


def _named(label: str) -> str:
    shown = harmless(label[:_LABEL_WIDTH])
    return shown if len(label) <= _LABEL_WIDTH else shown + "…"


def _trimmed(text: str, span: Mark) -> Mark | None:
    """A span without the white space at its ends, which may fall between two lines."""
    part = text[span.start : span.end]
    start = span.start + len(part) - len(part.lstrip())
    end = span.end - (len(part) - len(part.rstrip()))
    return replace(span, start=start, end=end) if start < end else None


def _wrapped(text: str, width: int) -> Iterator[_Row]:
    """The text in lines, broken between words; a word longer than a line is cut."""
    from rich.cells import cell_len

    shown, columns, letters = list[str](), [0], [0]

    def finished() -> _Row:
        nonlocal shown, columns, letters
        row = _Row(start, "".join(shown), columns, letters)
        shown, columns, letters = [], [0], [0]
        return row

    start = 0
    for match in re.finditer(r"(\s*)(\S+)", text):
        gap, first = match.group(1), match.start(2)
        cells = [(c, len(c) if c.isascii() else cell_len(c)) for c in map(readable, match.group(2))]
        breaks = gap.count("\n")
        if len(columns) > 1 and (breaks or columns[-1] + 1 + sum(s for _, s in cells) > width):
            yield finished()
            if breaks > 1:
                yield _Row(first, "", [0], [0])
        if len(columns) == 1:
            start = first
        else:
            shown.append(" ")
            columns += [columns[-1] + 1] * len(gap)
            letters += [letters[-1] + 1] * len(gap)
        for place, (c, size) in enumerate(cells, first):
            if columns[-1] and columns[-1] + size > width:
                yield finished()
                start = place
            shown.append(c)
            columns.append(columns[-1] + size)
            letters.append(letters[-1] + len(c))
    if len(columns) > 1:
        yield finished()


def _bracket(width: int, labels: Sequence[str], signs: str, whole: tuple[bool, bool]) -> str:
    """A line of so many cells with the longest label that fits; open where the span goes on."""
    from rich.cells import cell_len

    left, line, right, single = tuple(signs)
    if width == 1:
        return single if all(whole) else _GOES_ON
    room = width - 2
    label = next((label for label in labels if cell_len(label) <= room), "")
    free = room - cell_len(label)
    inner = line * (free // 2) + label + line * (free - free // 2)
    return (left if whole[0] else _GOES_ON) + inner + (right if whole[1] else _GOES_ON)


def page_template(name: str) -> Any:
    from importlib.resources import files

    from jinja2 import Environment

    written = files("rote.report.texts").joinpath("pages", name).read_text("utf-8")
    return Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(written)
