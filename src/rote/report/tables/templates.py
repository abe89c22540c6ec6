"""The tables of the templates measure on the terminal, the beginning of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rote.core.result import Result
from rote.report._grid import SIGNIFICANT
from rote.report.tables._blocks import (
    Rows,
    arrow,
    count,
    defined,
    distinct,
    each,
    heading,
    listed,
    number,
    p_value,
    parts,
    percent,
    room,
    shown_name,
    sources_of,
    table,
)
from rote.report.terminal import harmless

if TYPE_CHECKING:
    from rich.console import RenderableType

_KINDS = {"templates": "templates", "reference templates": "reference's", "others": "others"}
_LISTED = 5


def perplexity(rows: Rows, result: Result, width: int) -> Iterator[RenderableType]:
    """Templates and as many other stretches, model by model."""
    cells = {(row["source"], row["model"], row["kind"]): row for row in rows}
    yield heading(
        "Perplexity", "of templates, and of other stretches of the same texts; p: Wilcoxon, on bits"
    )
    yield table(
        {"": "left", "model": "left"}
        | dict.fromkeys(("templates", "others", "texts", "occurrences", "p"), "right"),
        [
            [
                shown_name(source),
                model,
                number(own["perplexity"]),
                number(other["perplexity"]),
                count(own["texts"]),
                count(own["spans"]),
                p_value(own["p"]),
            ]
            for source in sources_of(rows, result)
            for model in distinct(rows, "model")
            if (own := cells.get((source, model, "template")))
            and (other := cells.get((source, model, "other")))
        ],
    )


def lengths(rows: Rows, result: Result, width: int) -> Iterator[RenderableType]:
    lengths = sorted({row["n"] for row in rows})
    cells = {(row["source"], row["n"]): row for row in rows}
    yield heading("Templates by length", "share of texts with a template, templates per token")
    yield table(
        {"": "left", **{f"n = {n}": "right" for n in lengths}},
        [
            [shown_name(source), *(_rate(cells.get((source, n))) for n in lengths)]
            for source in sources_of(rows, result)
        ],
    )


def templates(rows: Rows, result: Result, width: int) -> Iterator[RenderableType]:
    most_frequent: dict[tuple[str, str], str] = {}
    for row in result.tables.get("matches", ()):
        most_frequent.setdefault((row["source"], row["template"]), row["text"])
    sources = sources_of(rows, result)
    top = each(sources)
    yield heading("Templates", f"the {top} most frequent of each source, and their commonest text")
    groups = {}
    for source in sources:
        own = [row for row in rows if row["source"] == source][:top]
        groups[source] = [
            [
                row["template"],
                *(count(row["count"]), count(row["texts"])),
                most_frequent.get((source, row["template"]), ""),
            ]
            for row in own
        ]
    columns = {"template": "left", "count": "right", "texts": "right", "commonest text": "left"}
    yield from listed(width, columns, groups)


def distinctive(rows: Rows, result: Result, width: int) -> Iterator[RenderableType]:
    sources = sources_of(rows, result)
    top = each(sources)
    reference = shown_name(result.reference or "the reference")
    yield heading(
        "Distinctive templates",
        f"the {top} strongest of each source; ▲ more, ▼ fewer than in {reference}, "
        f"corrected p < {SIGNIFICANT}",
    )
    groups = {}
    for source in sources:
        own = [row for row in rows if row["source"] == source and defined(row["z"])]
        # Mostly what the source does more often; a reference of one habit would fill the table.
        theirs = sorted((row for row in own if row["z"] < 0), key=lambda row: row["z"])[: top // 3]
        ours = sorted((row for row in own if row["z"] >= 0), key=lambda row: -row["z"])
        own = ours[: top - len(theirs)] + theirs
        groups[source] = [
            [
                row["template"],
                *(count(row["count"]), count(row["reference_count"])),
                f"{row['z']:.1f}{arrow(row)}",
                row["examples"][0] if row["examples"] else "",
            ]
            for row in sorted(own, key=lambda row: -row["z"])
        ]
    columns = {"template": "left", "count": "right", reference: "right", "z": "right"}
    yield from listed(width, {**columns, "for example": "left"}, groups)


def overlap(rows: Rows, result: Result, width: int) -> Iterator[RenderableType]:
    """A matrix; its columns are numbered, since names would not fit."""
    shares = {}
    for row in rows:
        shares[row["source"], row["other"]] = shares[row["other"], row["source"]] = row["jaccard"]
    sources = [
        name
        for name in sorted(result.sources, key=lambda name: name != result.reference)
        if any(name in pair for pair in shares)
    ]
    named = [shown_name(source) for source in sources]
    columns = {
        str(number): [
            "·" if source == other else percent(shares.get((source, other))) for source in sources
        ]
        for number, other in enumerate(sources, 1)
    }
    yield heading("Templates shared", "by both of two sources, of those that either has")
    for part in parts(columns, room(named, width) - 5):
        yield table(
            {"": "right", " ": "left", **dict.fromkeys(part, "right")},
            [
                [str(place), name, *(columns[number][place - 1] for number in part)]
                for place, name in enumerate(named, 1)
            ],
        )


def coverage(rows: Rows, result: Result, width: int) -> Iterator[RenderableType]:
    cells = {(row["corpus"], row["source"], row["kind"]): row for row in rows}
    kinds = [kind for kind in _KINDS if any(row["kind"] == kind for row in rows)]
    titles = {_KINDS[kind]: "right" for kind in kinds}
    yield heading(
        "In a corpus", "among its most frequent n-grams / anywhere in it, with the interval"
    )
    for corpus in distinct(rows, "corpus"):
        lines = [
            [shown_name(source), *(_covered(cells.get((corpus, source, kind))) for kind in kinds)]
            for source in sources_of(rows, result)
        ]
        yield table({shown_name(corpus): "left", **titles}, lines)


def rank_tests(rows: Rows, result: Result, width: int) -> Iterator[RenderableType]:
    yield heading("Ranks in a corpus", "1 is the most frequent n-gram; Mann-Whitney U, two-sided")
    columns = dict.fromkeys(("median rank", "of others", "U", "p"), "right")
    for corpus in distinct(rows, "corpus"):
        lines = [
            [
                shown_name(row["source"]),
                *(number(row[name]) for name in ("median", "median_others", "u")),
                p_value(row["p"]),
            ]
            for row in rows
            if row["corpus"] == corpus
        ]
        yield table({shown_name(corpus): "left", **columns}, lines)


def in_corpus(rows: Rows, result: Result, width: int) -> Iterator[RenderableType]:
    from rich.text import Text

    groups = Counter((row["corpus"], row["source"], row["why"]) for row in rows)
    for (corpus, source, why), texts in groups.items():
        group = (corpus, source, why)
        ids = [r["id"] for r in rows if (r["corpus"], r["source"], r["why"]) == group]
        first = ", ".join(map(shown_name, ids[:_LISTED])) + (", …" if texts > _LISTED else "")
        whose, where = shown_name(source), shown_name(corpus)
        stand = "text of {} stands" if texts == 1 else "texts of {} stand"
        says = f"{texts:,} {stand.format(whose)} in {where} ({harmless(why)})"
        yield Text(f"warning: {says}: {first}", style="yellow")


def _rate(row: Mapping[str, Any] | None) -> str:
    if row is None or not defined(row["rate"]):
        return "–"
    return f"{percent(row['rate'])} {number(row['per_token'], '.3f')}"


def _covered(row: Mapping[str, Any] | None) -> str:
    if row is None or not defined(row["found"]):
        return "–"
    shown = f"{percent(row['among_frequent'])} / {percent(row['found'])}"
    if defined(row["low"]) and defined(row["high"]):
        shown += f" ({100 * row['low']:.0f}-{100 * row['high']:.0f})"
    return shown
