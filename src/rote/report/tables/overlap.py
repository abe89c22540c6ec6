"""Scores bin by bin, from the most novel items to the most similar, and entities by type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rote.core.result import Result
from rote.report._grid import lopsided
from rote.report.tables._blocks import (
    Rows,
    count,
    defined,
    dim,
    distinct,
    heading,
    listed,
    number,
    p_value,
    parts,
    room,
    shown_name,
    sources_of,
    table,
)

if TYPE_CHECKING:
    from rich.console import RenderableType

_TITLES = {
    "rouge_1": "ROUGE-1",
    "rouge_2": "ROUGE-2",
    "rouge_l": "ROUGE-L",
    "rouge_lsum": "ROUGE-Lsum",
    "entity_recall": "E_Rec",
    "entity_precision": "E_Prc",
    "entity_remembered": "E_Rem",
}
_LARGE = 10
"""A score from here on, such as one in percent, needs fewer decimals."""
_KINDS = {
    "mean": "mean in each bin, ± the reach of its interval, or its ends",
    "normalized": "divided by the score of the source that --normalize-to names",
    "excess": "above the control, on the same items",
}


def score_title(name: str) -> str:
    """What a score is called for the eye; a field's name stays as it is."""
    return _TITLES.get(name, name)


def bin_name(row: Mapping[str, Any]) -> str:
    """A bin as the paper writes it: 0-10, 10-15, >45; in points."""
    if row["bin"] is None:
        return str(row["name"])
    low, high = f"{100 * row['low']:g}", f"{100 * row['high']:g}"
    return f">{low}" if row["high"] == 1 and row["low"] > 0 else f"{low}-{high}"


def partition(rows: Rows, result: Result, width: int) -> Iterator[RenderableType]:
    """The bins, and how many items they hold."""
    first = [row for row in rows if row["source"] == rows[0]["source"]]
    yield heading("Bins", "percent of an item's n-grams that the training set holds")
    columns = {f"{bin_name(row)} ": [count(row["items"]), row["name"] or ""] for row in first}
    for part in parts(columns, width - 10):
        yield table(
            {"": "left", **dict.fromkeys(part, "right")},
            [
                ["items", *(columns[name][0] for name in part)],
                # A row without a bin is named in the heading already.
                ["", *("" if columns[n][1] == n.strip() else columns[n][1] for n in part)],
            ],
        )


def bins(rows: Rows, result: Result, width: int) -> Iterator[RenderableType]:
    """One table for each score, one line for each source, one column for each bin."""
    for score in distinct(rows, "score"):
        own = [row for row in rows if row["score"] == score]
        for kind, explained in _KINDS.items():
            if kind in own[0]:
                reach = ", ± the reach of its interval, or both its ends" if result.interval else ""
                yield heading(score_title(score), explained + reach)
                yield from _by_bin(own, result, width, kind)


def trends(rows: Rows, result: Result, width: int) -> Iterator[RenderableType]:
    """What becomes of a score from T_nov to T_sim; above the control where there is one."""
    controlled = "rise" in rows[0]
    yield heading(
        "From T_nov to T_sim",
        "ratio of the means; rank correlation with the overlap, over items"
        + ("; how much more it rises than the control's" if controlled else ""),
    )
    columns = {"score": "left", "ratio": "right", "correlation": "right", "p": "right"}
    if controlled:
        columns |= {"rise above control": "right", "its correlation": "right", "p ": "right"}
    groups = {
        source: [_trend(row) for row in rows if row["source"] == source]
        for source in sources_of(rows, result)
    }
    yield from listed(width, columns, groups)
    if "over_placebo" in rows[0]:
        yield from _beside_placebo(rows, result, width)


def _beside_placebo(rows: Rows, result: Result, width: int) -> Iterator[RenderableType]:
    yield heading(
        "Above the placebo",
        "by the training set and by the placebo at equal size: ratio of the ratios, difference of "
        "the correlations",
    )
    columns = {
        "score": "left",
        "ratio, train": "right",
        "placebo": "right",
        "train / placebo": "right",
        "correlation, train": "right",
        "placebo ": "right",
        "difference": "right",
    }
    groups = {
        source: [
            [
                score_title(row["score"]),
                number(row["train_ratio"], ".2f"),
                number(row["placebo_ratio"], ".2f"),
                _ranged(row, "over_placebo", ".2f"),
                number(row["train_trend"], ".2f"),
                number(row["placebo_trend"], ".2f"),
                _ranged(row, "trend_over_placebo", ".2f"),
            ]
            for row in rows
            if row["source"] == source
        ]
        for source in sources_of(rows, result)
    }
    yield from listed(width, columns, groups)


def types(rows: Rows, result: Result, width: int) -> Iterator[RenderableType]:
    """The scores by type of entity."""
    yield heading("By type of entity", "means over the texts that have the type")
    scores = [name for name in _TITLES if name in rows[0]]
    for source in sources_of(rows, result):
        # A type that only references have is a miss, which recall shows.
        own = [
            row
            for row in rows
            if row["source"] == source and (row["tokens"] or defined(row["entity_recall"]))
        ]
        yield dim(f"{shown_name(source)}{'' if own else ': no entities'}")
        if own:
            yield table(
                {
                    "type": "left",
                    "texts": "right",
                    "tokens": "right",
                    **{score_title(name): "right" for name in scores},
                },
                [
                    [
                        row["type"],
                        count(row["texts"]),
                        count(row["tokens"]),
                        *(number(row[name], ".3f") for name in scores),
                    ]
                    for row in own
                ],
            )


def _trend(row: Mapping[str, Any]) -> list[str]:
    line = [
        score_title(row["score"]),
        _ranged(row, "ratio", ".2f"),
        _ranged(row, "trend", ".2f"),
        p_value(row["p"]),
    ]
    if "rise" in row:
        line += [
            _ranged(row, "rise", ".3f"),
            _ranged(row, "excess_trend", ".2f"),
            p_value(row["excess_p"]),
        ]
    return line


def _by_bin(rows: Rows, result: Result, width: int, kind: str) -> Iterator[RenderableType]:
    sources = sources_of([row for row in rows if defined(row[kind])], result)
    if not sources:
        return
    named = [shown_name(source) for source in sources]
    cells = {(row["source"], bin_name(row)): row for row in rows}
    columns = {
        name: [_reach(cells.get((source, name)), kind) for source in sources]
        for name in dict.fromkeys(bin_name(row) for row in rows)
    }
    for part in parts(columns, room(named, width)):
        yield table(
            {"": "left", **dict.fromkeys(part, "right")},
            [[name, *(columns[bin][place] for bin in part)] for place, name in enumerate(named)],
        )


def _reach(row: Mapping[str, Any] | None, kind: str) -> str:
    if row is None or not defined(row[kind]):
        return "–"
    return _ranged(row, kind, ".3f" if abs(row[kind]) < _LARGE else ".1f")


def _ranged(row: Mapping[str, Any], name: str, form: str) -> str:
    """A number with its interval, written as in the table of values."""
    if not defined(row[name]):
        return "–"
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    if not (defined(low) and defined(high)):
        return format(row[name], form)
    if lopsided(row[name], low, high):
        return f"{row[name]:{form}} [{low:{form}} to {high:{form}}]"
    return f"{row[name]:{form}} ±{(high - low) / 2:{form}}"
