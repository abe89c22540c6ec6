"""The tables of `templates` as they are shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rote.compare.permutation import LEVEL
from rote.core.result import Result
from rote.core.table import Column, Pivot, Rows, Table, defined, distinct

EXAMPLES = 3
_LISTED = 5
_KINDS = {"templates": "templates", "reference templates": "reference's", "others": "others"}


def arrow(row: Mapping[str, Any]) -> str:
    """Whether something is found more or less often than in the reference, beyond chance."""
    if not (defined(row["p_corrected"]) and row["p_corrected"] < LEVEL):
        return ""
    return "▲" if row["z"] > 0 else "▼"


def _with_texts(rows: Rows, result: Result) -> Rows:
    """Each template with the words that occur in it most often."""
    commonest: dict[tuple[str, str], list[str]] = {}
    for row in result.tables.get("matches", ()):
        commonest.setdefault((row["source"], row["template"]), []).append(row["text"])
    return [
        {**row, "commonest": commonest.get((row["source"], row["template"]), [])[:EXAMPLES]}
        for row in rows
    ]


def _distinctive(rows: Rows, result: Result) -> Rows:
    found = [
        {**row, "sign": arrow(row), "examples": row["examples"][:EXAMPLES]}
        for row in rows
        if defined(row["z"])
    ]
    return sorted(found, key=lambda row: -abs(row["z"]))


def _both_ways(rows: Rows, count: int) -> Rows:
    """Mostly what the source does more often; a reference of one habit would fill the table."""
    theirs = [row for row in rows if row["z"] < 0][: count // 3]
    ours = [row for row in rows if row["z"] >= 0][: count - len(theirs)]
    return [*ours, *reversed(theirs)]


def _reference(rows: Rows, result: Result) -> list[Column]:
    return [
        Column("source"),
        Column("template", kind="code"),
        Column("count", kind="count"),
        Column("reference_count", f"in {result.reference or 'the reference'}", "count"),
        Column("z", kind="number", decimals=1, mark="sign", said="of the log-odds"),
        Column("p_corrected", "p", "p", said="corrected"),
        Column("examples", "for example", "text"),
    ]


def _matrix(rows: Rows, result: Result) -> Rows:
    """Every pair both ways; columns are numbered, since names would not fit."""
    shares = {}
    for row in rows:
        shares[row["source"], row["other"]] = shares[row["other"], row["source"]] = row["jaccard"]
    sources = [
        name
        for name in sorted(result.by_source, key=lambda name: name != result.reference)
        if any(name in pair for pair in shares)
    ]
    return [
        {
            "number": str(place),
            "source": source,
            "other": str(number),
            "jaccard": "·" if source == other else shares.get((source, other)),
        }
        for place, source in enumerate(sources, 1)
        for number, other in enumerate(sources, 1)
    ]


def _models(rows: Rows, result: Result) -> Rows:
    """Templates and as many other stretches, side by side."""
    cells = {(row["source"], row["model"], row["kind"]): row for row in rows}
    return [
        {**own, **{f"other_{name}": other[name] for name in ("perplexity", "low", "high")}}
        for source in distinct(rows, "source")
        for model in distinct(rows, "model")
        if (own := cells.get((source, model, "template")))
        and (other := cells.get((source, model, "other")))
    ]


def _in_corpus(rows: Rows, result: Result) -> Rows:
    ids: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        ids.setdefault((row["corpus"], row["source"], row["why"]), []).append(str(row["id"]))
    return [
        {
            "corpus": corpus,
            "source": source,
            "why": why,
            "texts": len(own),
            "ids": ", ".join(own[:_LISTED]) + (", …" if len(own) > _LISTED else ""),
        }
        for (corpus, source, why), own in ids.items()
    ]


LAYOUT = (
    Table(
        "lengths",
        "Templates by length",
        (Column("source"),),
        said="share of texts with a template (templates per token)",
        by="source",
        pivot=Pivot(
            "n",
            Column("rate", kind="share", decimals=0, also=Column("per_token", "", "number", 3)),
            lambda row: f"n = {row['n']}",
        ),
        page=False,
    ),
    Table(
        "templates",
        "The most frequent templates",
        (
            Column("source"),
            Column("template", kind="code"),
            Column("count", kind="count"),
            Column("texts", kind="count", said="that hold it"),
            Column("commonest", "commonest texts", "text"),
        ),
        rows=_with_texts,
        by="source",
    ),
    Table(
        "distinctive",
        "Templates that set a source apart",
        _reference,
        said=lambda rows, result: (
            f"▲ more, ▼ fewer than in {result.reference or 'the reference'}, corrected p < {LEVEL};"
            " log-odds with an informative prior, p by permuting texts."
        ),
        rows=_distinctive,
        by="source",
        first=_both_ways,
    ),
    Table(
        "overlap",
        "Templates shared",
        (Column("number", " "), Column("source")),
        said="by both of two sources, of those that either has",
        rows=_matrix,
        by="source",
        pivot=Pivot("other", Column("jaccard", kind="share", decimals=0)),
        page=False,
    ),
    Table(
        "coverage",
        lambda rows, result: f"Templates in {rows[0]['corpus']}",
        (Column("source"),),
        said="share of n-grams that the corpus holds (share among its most frequent ones)",
        split=("corpus",),
        by="source",
        pivot=Pivot(
            "kind",
            Column(
                "found",
                kind="share",
                decimals=0,
                ends=("low", "high"),
                also=Column("among_frequent", kind="share", decimals=0),
            ),
            _KINDS,
        ),
        page=False,
    ),
    Table(
        "rank_tests",
        lambda rows, result: f"Ranks in {rows[0]['corpus']}",
        (
            Column("source"),
            Column("median", "median rank", "number"),
            Column("median_others", "of others", "number"),
            Column("u", "U", "number"),
            Column("p", kind="p"),
        ),
        said="1 is the most frequent n-gram; Mann-Whitney U, two-sided",
        split=("corpus",),
        by="source",
    ),
    Table(
        "in_corpus",
        "Warning: texts that occur in the corpus",
        (
            *(Column("source"), Column("corpus"), Column("why")),
            Column("texts", kind="count"),
            Column("ids", kind="text"),
        ),
        rows=_in_corpus,
    ),
    Table(
        "perplexity",
        "Perplexity",
        (
            Column("source"),
            Column("model"),
            Column("perplexity", "templates", "number", ends=("low", "high")),
            Column("other_perplexity", "others", "number", ends=("other_low", "other_high")),
            Column("texts", kind="count"),
            Column("spans", "occurrences", "count"),
            Column("p", kind="p"),
        ),
        said="of templates, and of other stretches of the same texts; p: Wilcoxon, on bits",
        rows=_models,
        limit=100,
    ),
)
