"""A text with patterns marked in it, in the terminal: overlapping ones lie in different lanes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

from rich.cells import cell_len
from rich.text import Text

from rote.core.evidence import Mark
from rote.report.screen import plain_table
from rote.report.terminal import mask_controls, strip_controls

LINES = re.compile(r"\n")
BLANK_LINES = re.compile(r"\n[^\S\n]*\n\s*")


@dataclass(frozen=True, slots=True)
class MarkPlace:
    """A mark where it passes under a piece of a text, in its lane."""

    mark: Mark
    lane: int
    first: bool
    last: bool


@dataclass(frozen=True, slots=True)
class MarkedPiece:
    """Characters of a text that lie in the same marks; the pieces together are the text."""

    start: int
    end: int
    text: str
    places: tuple[MarkPlace, ...]


def assign_lanes(text: str, marks: Sequence[Mark]) -> list[tuple[Mark, int]]:
    """The marks from left to right, each in the first lane that is free."""
    for mark in marks:
        if not 0 <= mark.start < mark.end <= len(text):
            raise ValueError(f"{mark} is not a part of a text of {len(text)} characters")
    placed, ends = [], list[int]()
    for mark in sorted(marks, key=lambda m: (m.start, -m.end, m.label, m.kind)):
        lane = next((lane for lane, end in enumerate(ends) if end <= mark.start), len(ends))
        ends[lane : lane + 1] = [mark.end]
        placed.append((mark, lane))
    return placed


def cut_pieces(text: str, marks: Sequence[Mark]) -> list[MarkedPiece]:
    """The text cut wherever a mark begins or ends, each part with the marks it lies in."""
    placed = assign_lanes(text, marks)
    cuts = sorted({0, len(text), *(c for mark, _ in placed for c in (mark.start, mark.end))})
    cut, active, following = [], list[tuple[Mark, int]](), 0
    for start, end in pairwise(cuts):
        active = [(mark, lane) for mark, lane in active if mark.end > start]
        while following < len(placed) and placed[following][0].start == start:
            active.append(placed[following])
            following += 1
        places = (MarkPlace(m, lane, m.start == start, m.end == end) for m, lane in active)
        ordered = tuple(sorted(places, key=lambda place: place.lane))
        cut.append(MarkedPiece(start, end, text[start:end], ordered))
    return cut


def mark_paragraphs(
    text: str,
    marks: Sequence[Mark],
    show: Callable[[MarkedPiece, bool], Mapping[str, Any]],
    *,
    between: re.Pattern[str] = LINES,
    lanes: int = 1_000,
) -> list[dict[str, Any]]:
    """The pieces of each paragraph as a page shows them, and how many lanes it needs.

    `show` gives what a page has to know of a piece, and hears whether it is the piece's first
    part: a piece that goes over paragraphs has one in each. At most so many `lanes` are counted.
    """
    paragraphs: list[dict[str, Any]] = [{"runs": [], "lanes": 0}]
    for piece in cut_pieces(text, marks):
        first = True
        deepest = max((min(place.lane + 1, lanes) for place in piece.places), default=0)
        for number, part in enumerate(between.split(mask_controls(piece.text))):
            if number:
                paragraphs.append({"runs": [], "lanes": 0})
            if part:
                paragraphs[-1]["lanes"] = max(paragraphs[-1]["lanes"], deepest)
                paragraphs[-1]["runs"].append({"text": part, **show(piece, first)})
                first = False
    return [paragraph for paragraph in paragraphs if paragraph["runs"]]


_COLOURS = ("cyan", "magenta", "yellow", "green", "blue", "red", "bright_cyan", "bright_magenta")
_CORNERS = "└─┘┴"
_GOES_ON = "→"
_LABEL_WIDTH = 60


@dataclass(frozen=True, slots=True)
class _ScreenRow:
    """A line on the terminal, and where each character of the text, and the end, occurs in it:
    in cells (wide characters take two) and in shown characters (some are left out)."""

    start: int
    visible: str
    columns: Sequence[int]
    letters: Sequence[int]


def print_highlighted(text: str, spans: Sequence[Mark], console: Any) -> None:
    for line in highlight_lines(text, spans, console.width):
        console.print(line, no_wrap=True, highlight=False, soft_wrap=True)
    counts, numbers = Counter(span.label for span in spans), _number_patterns(spans)
    rows = [[str(number), label, f"{counts[label]:,}"] for label, number in numbers.items()]
    if rows:
        console.print(plain_table({"": "right", "template": "left", "count": "right"}, rows))


def _number_patterns(spans: Sequence[Mark]) -> dict[str, int]:
    ordered = sorted(spans, key=lambda span: (span.start, span.end))
    return {label: n for n, label in enumerate(dict.fromkeys(mark.label for mark in ordered), 1)}


def highlight_lines(text: str, spans: Sequence[Mark], width: int) -> Iterator[Text]:
    """Lines of the given width: a line of the text, then its brackets, one line for each lane."""
    numbers = _number_patterns(spans)
    placed = assign_lanes(text, [span for span in map(partial(_trim_mark, text), spans) if span])
    following, active = 0, list[tuple[Mark, int]]()
    for row in _wrap_text(text, max(1, width)):
        end = row.start + len(row.columns) - 1
        active = [(span, lane) for span, lane in active if span.end > row.start]
        while following < len(placed) and placed[following][0].start < end:
            if placed[following][0].end > row.start:
                active.append(placed[following])
            following += 1
        line_text, lanes = Text(row.visible, no_wrap=True), dict[int, Text]()
        for span, lane in active:
            start, stop = max(span.start - row.start, 0), min(span.end, end) - row.start
            first, last = row.columns[start], row.columns[stop]
            if first == last:
                continue
            number = numbers[span.label]
            style = _COLOURS[(number - 1) % len(_COLOURS)]
            label = strip_controls(span.label[:_LABEL_WIDTH])
            label += "…" * (len(span.label) > _LABEL_WIDTH)
            cells = _draw_bracket(
                last - first,
                (f" {number} {label} ", f" {number} ", f"{number}"),
                (span.start >= row.start, span.end <= end),
            )
            below = lanes.setdefault(lane, Text(no_wrap=True))
            below.append(" " * (first - below.cell_len)).append(cells, style=style)
            line_text.stylize("bold", row.letters[start], row.letters[stop])
        yield line_text
        yield from (lanes[lane] for lane in sorted(lanes))


def _trim_mark(text: str, span: Mark) -> Mark | None:
    """A span without the white space at its ends, which may fall between two lines."""
    part = text[span.start : span.end]
    start = span.start + len(part) - len(part.lstrip())
    end = span.end - (len(part) - len(part.rstrip()))
    return replace(span, start=start, end=end) if start < end else None


def _wrap_text(text: str, width: int) -> Iterator[_ScreenRow]:
    """The text in lines, broken between words; a word longer than a line is cut."""
    line_text, columns, letters = list[str](), [0], [0]

    def finished() -> _ScreenRow:
        nonlocal line_text, columns, letters
        row = _ScreenRow(start, "".join(line_text), columns, letters)
        line_text, columns, letters = [], [0], [0]
        return row

    start = 0
    for match in re.finditer(r"(\s*)(\S+)", text):
        gap, first = match.group(1), match.start(2)
        cells = [
            (c, len(c) if c.isascii() else cell_len(c)) for c in map(mask_controls, match.group(2))
        ]
        breaks = gap.count("\n")
        if len(columns) > 1 and (breaks or columns[-1] + 1 + sum(s for _, s in cells) > width):
            yield finished()
            if breaks > 1:
                yield _ScreenRow(first, "", [0], [0])
        if len(columns) == 1:
            start = first
        else:
            line_text.append(" ")
            columns += [columns[-1] + 1] * len(gap)
            letters += [letters[-1] + 1] * len(gap)
        for place, (c, size) in enumerate(cells, first):
            if columns[-1] and columns[-1] + size > width:
                yield finished()
                start = place
            line_text.append(c)
            columns.append(columns[-1] + size)
            letters.append(letters[-1] + len(c))
    if len(columns) > 1:
        yield finished()


def _draw_bracket(width: int, labels: Sequence[str], closed: tuple[bool, bool]) -> str:
    """A line of so many cells with the longest label that fits; open where the span goes on."""
    left, line, right, single = tuple(_CORNERS)
    if width == 1:
        return single if all(closed) else _GOES_ON
    room = width - 2
    label = next((label for label in labels if cell_len(label) <= room), "")
    free = room - cell_len(label)
    inner = line * (free // 2) + label + line * (free - free // 2)
    return (left if closed[0] else _GOES_ON) + inner + (right if closed[1] else _GOES_ON)
