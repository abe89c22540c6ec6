"""Tables and figures of `sameness`: pairs of sources, and the tree that joins them."""

from __future__ import annotations

from rote.core.chart import Chart
from rote.core.result import Result, Row
from rote.core.table import Column, Rows, Table, defined, distinct, ends


def _mirrored(shown: Rows, result: Result) -> Rows:
    """Both triangles, sources in the order of the tree."""
    found: list[Row] = []
    for score in distinct(shown, "score"):
        own = [row for row in shown if row["score"] == score]
        links = [row for row in result.tables.get("tree", ()) if row["score"] == score]
        names = distinct(own, "source")
        place = {name: number for number, name in enumerate(links[0]["order"] if links else names)}
        cells = {(row["source"], row["other"]): row for row in own if defined(row["likeness"])}
        cells |= {(b, a): {**row, "source": b, "other": a} for (a, b), row in cells.items()}
        found += sorted(cells.values(), key=lambda row: (place[row["source"]], place[row["other"]]))
    return found


def _branches(shown: Rows, result: Result) -> Rows:
    """The tree as lines: of each link four points, and the names where it ends in a source."""
    found: list[Row] = []
    for score in distinct(shown, "score"):
        links = [row for row in shown if row["score"] == score]
        height = {name: float(number) for number, name in enumerate(links[0]["order"])}
        tip = max(row["likeness"] for row in links)
        tip += 0.05 * max(tip - links[-1]["likeness"], 0.01)
        at = {(name,): (tip, place) for name, place in height.items()}
        for number, row in enumerate(links):
            parts = tuple(row["one"]), tuple(row["other"])
            (x, y), (x2, y2) = (at[part] for part in parts)
            alike = row["likeness"]
            points = (x, y), (alike, y), (alike, y2), (x2, y2)
            for step, (likeness, place) in enumerate(points):
                leaf = {0: parts[0], 3: parts[1]}.get(step, ())
                found.append(
                    {
                        "title": row["title"],
                        "link": f"{score} {number}",
                        "likeness": likeness,
                        "place": place,
                        "step": step,
                        "name": leaf[0] if len(leaf) == 1 else "",
                    }
                )
            at[(*parts[0], *parts[1])] = alike, (y + y2) / 2
    return found


def _alike(shown: Rows, result: Result) -> Rows:
    """Different sources, the most alike first; a source with itself at the end."""
    order = distinct(shown, "score")
    return sorted(
        (row for row in shown if defined(row["likeness"])),
        key=lambda row: (
            order.index(row["score"]),
            row["source"] == row["other"],
            -row["likeness"],
        ),
    )


LAYOUT = (
    Table(
        "pairs",
        lambda rows, result: f"Sources that write alike: {rows[0]['title']}",
        (
            Column("source"),
            Column("other", "and"),
            Column("likeness", "alike", "number", 3, ends=ends("likeness")),
            Column("chance", "by chance", "number", 3, said="different prompts"),
            Column("above", "pairs alike", "share", 1, ends=ends("above")),
            Column("chance_above", "by chance", "share", 1, said="different prompts"),
            Column("prompts", kind="count"),
        ),
        said=lambda rows, result: (
            "mean over prompts of the mean over pairs of texts, with its "
            f"interval over prompts; pairs alike: above {rows[0]['threshold']:g}"
        ),
        rows=_alike,
        split=("score",),
    ),
    Table(
        "tree",
        "Sources joined by their likeness",
        (
            Column("title", "by"),
            Column("one", "these", "text"),
            Column("other", "and these", "text"),
            Column("likeness", "alike", "number", 3),
            Column("support", kind="share", said="draws of prompts with this branch"),
        ),
        by="title",
        limit=20,
    ),
)
CHARTS = (
    Chart(
        "matrix",
        "How alike sources are",
        table="pairs",
        shape="matrix",
        x="other",
        y="source",
        colour="likeness",
        panel=("title",),
        titles={"likeness": "alike"},
        share=True,
        format=".1%",
        rows=_mirrored,
        says="Every two sources, the darker the more alike their texts on the same prompts. "
        "The diagonal is a source with itself, where it has several texts on a prompt.",
    ),
    Chart(
        "tree",
        "Sources joined by their likeness",
        table="tree",
        shape="tree",
        x="likeness",
        y="place",
        colour="link",
        weight="step",
        text="name",
        panel=("title",),
        titles={"likeness": "alike (mean over pairs of the two branches)"},
        rows=_branches,
        says="Sources as the leaves of a tree; two branches meet where their likeness is.",
    ),
)
