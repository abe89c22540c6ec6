"""The tables of `originality` as they are shown."""

from __future__ import annotations

from rote.core.table import Column, Pivot, Table

LAYOUT = (
    Table(
        "counts",
        "Sentences that need a citation",
        (
            *(Column("source"), Column("sentences", kind="count")),
            Column("failing", "need a citation", kind="count"),
            Column("failing_by_chance", "by chance", kind="number", decimals=1, optional=True),
        ),
        said="By chance: so many sentences of texts of this length would be flagged whoever wrote "
        "them, as counted on the ground truth's own sentences, judged by all other sources.",
        by="source",
    ),
    Table(
        "lengths",
        "Failing sentences",
        (Column("source"),),
        said="The share of sentences that would fail if only fragments of at least so many words "
        "counted.",
        by="source",
        pivot=Pivot(
            "words",
            Column("failing", kind="share", ends=("low", "high"), said="words"),
            lambda row: f"{row['words']}+",
        ),
    ),
    Table(
        "citations",
        "Fragments that need a citation",
        (
            *(Column("source"), Column("id", "text")),
            Column("words", kind="count"),
            Column("fragment", kind="text"),
            *(Column("document"), Column("author", optional=True)),
        ),
        rows=lambda rows, result: sorted(rows, key=lambda row: -(row.get("words") or 0)),
        by="source",
        # The terminal shows them in their sentences.
        limit=0,
    ),
)
