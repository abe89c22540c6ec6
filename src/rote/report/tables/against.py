"""What was found in a corpus, on the terminal: the longest copied runs, the items that stand there.

Printed below the values of `novelty` and `contamination`; JSON holds the tables whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rote.core.result import Result
from rote.report.terminal import harmless, plain_table

if TYPE_CHECKING:
    from rich.console import RenderableType

Rows = Sequence[Mapping[str, Any]]
_TOP = 10
_LEAST_TEXT = 30
_SIDES = ("left", "left", "right", "right", "left", "left")
_BESIDE = 70
"""Cells that the other columns take, about; a match gets the rest."""


def copied(rows: Rows, result: Result, width: int) -> Iterator[RenderableType]:
    """The longest runs that the corpus holds, of all sources together."""
    longest = sorted(rows, key=lambda row: -row["words"])[:_TOP]
    yield _heading("The longest copied runs", f"{len(longest)} of {len(rows)}")
    yield plain_table(
        {
            "source": "left",
            "text": "left",
            "words": "right",
            "count": "right",
            "in": "left",
            "": "left",
        },
        [
            [row["source"], row["id"], f"{row['words']:,}", f"{row['count']:,}", _where(row), match]
            for row, match in zip(longest, _matches(longest, width))
        ],
    )


def items(rows: Rows, result: Result, width: int) -> Iterator[RenderableType]:
    """How many items of each source have which verdict, and what the corpus holds of them."""
    kinds = ["contaminated", "near", "touched", "clean", "too short"]
    counts = Counter((row["source"], row["verdict"]) for row in rows)
    sources = list(dict.fromkeys(row["source"] for row in rows))
    yield _heading("Verdicts", "number of items")
    yield plain_table(
        {"": "left", **dict.fromkeys(kinds, "right")},
        [[source, *(f"{counts[source, kind]:,}" for kind in kinds)] for source in sources],
    )
    found = [row for row in rows if row["document"] is not None]
    first = sorted(found, key=lambda row: (kinds.index(row["verdict"]), -row["longest"]))[:_TOP]
    if not first:
        return
    n = next(name for name in first[0] if name.startswith("found_")).removeprefix("found_")
    yield _heading(
        "Evidence",
        f"{len(first)} of {len(found):,} items with {n} words or more in a row, or found: exact "
        "(whole), folded (marks apart), near (words changed)",
    )
    yield plain_table(
        {
            "item": "left",
            "verdict": "left",
            "found": "left",
            "longest": "right",
            "in": "left",
            "": "left",
        },
        [
            [
                row["id"],
                row["verdict"],
                row.get("found") or "–",
                f"{row['longest']:,}",
                _where(row),
                match,
            ]
            for row, match in zip(first, _matches(first, width))
        ],
    )


def _where(row: Mapping[str, Any]) -> str:
    return f"{row['document']}, {row['author']}" if row["author"] else str(row["document"])


def _matches(rows: Rows, width: int) -> list[str]:
    """The matched texts, cut to one line."""
    room = max(_LEAST_TEXT, width - _BESIDE)
    shown = [harmless(row["match"]) for row in rows]
    return [text if len(text) <= room else text[: room - 1].rstrip() + "…" for text in shown]


def _heading(title: str, about: str) -> RenderableType:
    from rich.text import Text

    return Text(f"\n{title}", style="bold").append(f"  {about}", style="not bold dim")
