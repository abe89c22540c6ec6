"""Verdicts as a table, and on a terminal: a line for each aspect and source, with a bar."""

from __future__ import annotations

import math
from typing import Any

from rote.core.table import Column, Row
from rote.report._grid import rounded, rounded_like, slug
from rote.report.ranks import Rank, ranked
from rote.report.tables.screen import heading, print_sheet
from rote.report.tables.sheet import Cell, Sheet, of_rows, text_cell
from rote.report.terminal import harmless
from rote.report.verdicts import Aspect, Comparison, Verdicts

_BAR, _NAME = 25, 26
_SOURCES = 300
_MARKS = {"differs": "●", "borderline": "◎"}
SAID = (
    "Bar and effect: standard deviations of single texts, with their interval. ● holds after "
    "correction, ○ does not, ◎ borderline."
)


def verdict_sheet(shown: Verdicts) -> Sheet:
    """The verdicts as a table, for what is no page."""
    rows = [
        {
            "aspect": aspect.name,
            "source": one.source if shown.reference else f"{one.source} − {one.reference}",
            "difference": one.size,
            "interval": one.size_interval,
            "effect": one.effect,
            "effect_low": one.effect_interval[0],
            "effect_high": one.effect_interval[1],
            "p": one.p,
            "detectable": one.detected,
            "verdict": one.verdict,
        }
        for aspect in shown.aspects
        for one in aspect.comparisons
    ]
    columns = [
        *(Column("aspect"), Column("source")),
        *(Column(name, kind="text") for name in ("difference", "interval")),
        Column("effect", kind="number", ends=("effect_low", "effect_high"), decimals=2),
        *(Column("p", kind="p"), Column("detectable", kind="text"), Column("verdict")),
    ]
    return of_rows(shown.id, shown.title, columns, rows, said=shown.said, terminal=99)


def rank_sheet(shown: Verdicts) -> Sheet:
    """Sources by aspects, where none is the reference: ranks, letters and values."""
    order, found = ranked(shown)

    def make(row: Row) -> list[Cell]:
        return [text_cell(row["source"]), *(_rank(row[aspect.name]) for aspect in shown.aspects)]

    columns = [Column("source"), *map(_rank_column, shown.aspects)]
    data = [{"source": s, **{name: own.get(s) for name, own in found.items()}} for s in order]
    said = " ".join(
        filter(
            None,
            (
                "Rank 1 is the most diverse. Sources that share a letter cannot be told apart.",
                shown.said_values,
            ),
        )
    )
    return Sheet(
        *(f"{shown.id}-ranks", shown.title, columns, data, make),
        said=said,
        wide=True,
        terminal=99,
        limit=_SOURCES,
    )


def _rank_column(aspect: Aspect) -> Column:
    named = slug(aspect.name)
    lines = [aspect.row.title]
    if aspect.row.higher == "neither":
        lines.append(f"1: {aspect.ways[0]}")
    if aspect.equal:
        lines.append("at equal length")
    return Column(
        f"{named}_rank",
        aspect.name,
        "number",
        ends=(f"{named}_letters", f"{named}_value"),
        said="\n".join(lines),
    )


def _rank(own: Rank | None) -> Cell:
    if own is None:
        return Cell("–", (None, None, None))
    low, high = (rounded_like(end, own.value) for end in (own.low, own.high))
    shown = rounded(own.value)
    below = (shown, *([f"[{low}, {high}]"] if low else []))
    text = f"{own.rank} {own.letters}"
    return Cell(text, (own.rank, own.letters, own.value), below=below, beside=f"({shown})")


def print_verdicts(shown: Verdicts, console: Any, title: str = "", said: str = SAID) -> None:
    """One line per aspect and source: bar, difference, effect with its interval, verdict."""
    if not shown.drawn:
        if unequal := shown.said_unequal:
            console.print(harmless(unequal), highlight=False, markup=False)
        return
    if shown.reference is None:
        print_sheet(rank_sheet(shown), console)
        if unequal := shown.said_unequal:
            console.print(harmless(unequal), highlight=False, markup=False)
        return
    several = len(shown.sources) > 1
    lines = []
    for aspect in shown.drawn:
        for place, one in enumerate(aspect.drawn):
            who = one.source if shown.reference else f"{one.source} − {one.reference}"
            name = aspect.name if place == 0 else ""
            effect = one.effect_words + (f" [{one.effect_ends}]" if one.effect_ends else "")
            cells = [name, harmless(who) if several else "", bar(one, shown), one.size, effect]
            lines.append((cells, one.verdict))
    widths = [min(_NAME, max(len(cells[n]) for cells, _ in lines)) for n in range(5)]
    console.print(heading(title or shown.title), highlight=False)
    left, right = "← more diverse", "more repetitive →"
    names = " " * sum(width + 2 for width in widths[:2] if width)
    console.print(f" {names}{left} {right:>{_BAR - len(left)}}", style="dim", highlight=False)
    for cells, verdict in lines:
        padded = "  ".join(_padded(*one) for one in zip(cells, widths) if one[1])
        console.print(f" {padded}  {verdict}", highlight=False, markup=False, soft_wrap=True)
    if said:
        console.print(said, style="dim", highlight=False)
    if unequal := shown.said_unequal:
        console.print(harmless(unequal), highlight=False, markup=False)


def bar(one: Comparison, shown: Verdicts) -> str:
    """The effect on a line of fixed width: zero, the interval and a mark."""
    low, high = shown.bounds

    def column(effect: float) -> int:
        share = (min(max(effect, low), high) - low) / (high - low)
        return round(share * (_BAR - 1))

    cells = [" "] * _BAR
    if not math.isnan(one.effect_interval[0]):
        first, last = map(column, one.effect_interval)
        cells[first : last + 1] = "─" * (last + 1 - first)
    zero = column(0.0)
    cells[zero] = "│" if cells[zero] == " " else "┼"
    if not math.isnan(one.effect):
        cells[column(one.effect)] = _MARKS.get(one.state, "○")
    return "".join(cells)


def _padded(text: str, width: int) -> str:
    return f"{text if len(text) <= width else text[: width - 1] + '…':<{width}}"
