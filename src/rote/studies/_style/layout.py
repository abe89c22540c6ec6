"""The tables of `style-memorization` as they are shown."""

from __future__ import annotations

from rote.core.result import Result
from rote.core.table import Column, Row, Rows, Table, ends

_SHOWN, _EVERY = 12, 100


def seen(row: Row) -> str:
    """How often the texts of a bin were seen."""
    least, most = row["least"], row["most"]
    return f"{least:,g}" if least == most else f"{least:,g} - {most:,g}"


def _shares(rows: Rows, result: Result) -> Rows:
    return [row for row in rows if row["value"] in ("exact", "style")]


LAYOUT = (
    Table(
        "resamples",
        lambda rows, result: f"Spread over {rows[0]['draws']:,} draws of half of the texts",
        (Column("group"), Column("value"), Column("mean", "share", "share", spread="sd")),
        said="mean ± standard deviation",
        rows=_shares,
        limit=_EVERY,
    ),
    Table(
        "frequency",
        "By how often a text was seen",
        (
            *(Column("group"), Column("seen"), Column("texts", kind="count")),
            *(Column(n, kind="share", ends=ends(n)) for n in ("exact", "style", "style_only")),
        ),
        rows=lambda rows, result: [{**row, "seen": seen(row)} for row in rows],
        limit=_EVERY,
    ),
    Table(
        "substitutions",
        "Words put in the place of others",
        (
            *(Column("group"), Column("tag"), Column("word"), Column("written")),
            Column("count", kind="count"),
        ),
        limit=_SHOWN,
    ),
    Table("examples", "Examples", limit=0),
    # What was written, not values of each text.
    Table("texts", "Texts", limit=0, page=False),
)
