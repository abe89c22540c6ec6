"""Tables and the figure of `keyness`: phrases of both sides, and named patterns."""

from __future__ import annotations

from rote.compare.permutation import LEVEL
from rote.core.chart import Chart
from rote.core.result import Result, Row
from rote.core.table import Column, Pivot, Rows, Table, defined, distinct

_DRAWN = 12


def _strongest(shown: Rows, result: Result) -> Rows:
    """Of each source its own phrases, then those of the other side."""
    found: list[Row] = []
    for source in distinct(shown, "source"):
        own = [row for row in shown if row["source"] == source]
        more = [row for row in own if row["used_more_by"] == source][:_DRAWN]
        less = [row for row in own if row["used_more_by"] != source][: _DRAWN // 2]
        for row in [*more, *reversed(less)]:
            p = row["p_corrected"] if defined(row["p_corrected"]) else row["p_independent"]
            sure = defined(p) and p < LEVEL
            side = "source" if row["used_more_by"] == source else "reference"
            title = f"z (left: more in {row['other']})"
            found.append({**row, "zero": 0, "unsure": not sure, "side": side, "title": title})
    return found


def _marked(shown: Rows, result: Result) -> Rows:
    """Which patterns a source uses more or less, beyond chance."""
    found: list[Row] = []
    for row in shown:
        sure = defined(row["p_corrected"]) and row["p_corrected"] < LEVEL
        found.append({**row, "mark": ("▲" if row["log_odds"] > 0 else "▼") if sure else ""})
    return found


def _both_sides(rows: Rows, count: int) -> Rows:
    more = [row for row in rows if row["used_more_by"] == row["source"]][: count // 2]
    return [*more, *[row for row in rows if row["used_more_by"] != row["source"]][: count // 4]]


_NUMBERS = (
    Column("rate", "per 1,000", "number", 3, also=Column("count", kind="count")),
    Column("other_rate", "of the other", "number", 3, also=Column("other_count", kind="count")),
    Column("texts", kind="count"),
    Column("log_ratio", "log ratio", "number", 2, signed=True),
    Column("z", kind="number", decimals=1, signed=True),
    Column("g2", "G2", "number", 1, signed=True),
    Column("p_independent", "p (G2)", "p", said="independent words"),
    Column("p_corrected", "p", "p", said="texts permuted"),
    Column("dp", "DP", "number", 2),
    Column("juilland_d", "D", "number", 2),
)
LAYOUT = (
    Table(
        "phrases",
        "Words and phrases that set a source apart",
        lambda rows, result: (
            Column("pair", "between"),
            Column("used_more_by", "used more by"),
            Column("phrase"),
            *_NUMBERS,
        ),
        said="in 1,000 items of its length (count); windows of one phrase are one row",
        rows=lambda rows, result: [
            {**row, "pair": f"{row['source']} and {row['other']}"} for row in rows
        ],
        by="pair",
        limit=24,
        first=_both_sides,
    ),
    Table(
        "patterns",
        "Named patterns",
        (Column("pattern"),),
        said="in 1,000 words; more (▲) or less (▼) than on the other side, p < 0.05 by texts",
        rows=_marked,
        pivot=Pivot("source", Column("rate", kind="number", decimals=3, mark="mark")),
        limit=40,
    ),
)
CHARTS = (
    Chart(
        "phrases",
        "Words and phrases that set a source apart",
        table="phrases",
        x="z",
        y="phrase",
        colour="side",
        colours={"source": "plain", "reference": "reference"},
        panel=("source",),
        ends=("zero", "z"),
        titles={"z": "title"},
        hollow="unsure",
        rows=_strongest,
        says="Right: phrases that the source uses more; left: those of the other side. Hollow "
        "points may be chance among so many.",
    ),
)
