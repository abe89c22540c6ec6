"""The tables of `templates` and its figures, and those of favoured patterns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

from rote.compare.permutation import LEVEL
from rote.core.chart import Chart, Colour
from rote.core.result import Result
from rote.core.table import Column, Pivot, Row, Rows, Table, defined, distinct, make_columns

EXAMPLES = 3
_LISTED = 5
_KINDS = {"templates": "templates", "reference templates": "reference's", "others": "others"}


def arrow(row: Mapping[str, Any]) -> str:
    """Whether something is found more or less often than in the reference, beyond chance."""
    if not (defined(row["p_corrected"]) and row["p_corrected"] < LEVEL):
        return ""
    return "▲" if row["z"] > 0 else "▼"


def _with_texts(rows: Rows, result: Result) -> Rows:
    read: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for row in result.tables.get("matches", ()):
        read[row["source"], row["template"]].append(row["text"])
    return [{**row, "commonest": read[row["source"], row["template"]][:EXAMPLES]} for row in rows]


def _distinctive(rows: Rows, result: Result) -> Rows:
    known = sorted((row for row in rows if defined(row["z"])), key=lambda row: -abs(row["z"]))
    return [{**row, "sign": arrow(row), "examples": row["examples"][:EXAMPLES]} for row in known]


def _both_ways(rows: Rows, count: int) -> Rows:
    """Mostly what the source does more often; a reference of one habit would fill the table."""
    theirs = [row for row in rows if row["z"] < 0][: count // 3]
    ours = [row for row in rows if row["z"] >= 0][: count - len(theirs)]
    return [*ours, *reversed(theirs)]


def _reference(rows: Rows, result: Result) -> list[Column]:
    return [
        *make_columns("source template:code count:count"),
        Column("reference_count", f"in {result.reference or 'the reference'}", "count"),
        Column("z", kind="number", decimals=1, mark="sign", note="of the log-odds"),
        Column("p_corrected", "p", "p", note="corrected"),
        Column("examples", "for example", "text"),
    ]


def _matrix(rows: Rows, result: Result) -> Rows:
    """Every pair both ways; columns are numbered, since names would not fit."""
    shares = {}
    for row in rows:
        shares[row["source"], row["other"]] = shares[row["other"], row["source"]] = row["jaccard"]
    listed = {name for pair in shares for name in pair}.intersection(result.by_source)
    in_order = (result.reference, *result.by_source)
    sources = [name for name in dict.fromkeys(in_order) if name in listed]
    return [
        {
            "number": str(place),
            "source": source,
            "other": str(number),
            "jaccard": "·" if source == second else shares.get((source, second)),
        }
        for place, source in enumerate(sources, 1)
        for number, second in enumerate(sources, 1)
    ]


def _models(rows: Rows, result: Result) -> Rows:
    """Templates and as many other stretches, side by side."""
    cells = {(row["source"], row["model"], row["kind"]): row for row in rows}
    return [
        {**cell, **{f"other_{name}": background[name] for name in ("perplexity", "low", "high")}}
        for source in distinct(rows, "source")
        for model in distinct(rows, "model")
        if (cell := cells.get((source, model, "template")))
        and (background := cells.get((source, model, "other")))
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
            "texts": len(names),
            "ids": ", ".join(names[:_LISTED]) + (", …" if len(names) > _LISTED else ""),
        }
        for (corpus, source, why), names in ids.items()
    ]


LAYOUT = (
    Table(
        "lengths",
        "Templates by length",
        (Column("source"),),
        note="share of texts with a template (templates per token)",
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
            *make_columns("source template:code count:count"),
            Column("texts", kind="count", note="that hold it"),
            Column("commonest", "commonest texts", "text"),
        ),
        rows=_with_texts,
        by="source",
    ),
    Table(
        "distinctive",
        "Templates that set a source apart",
        _reference,
        note=lambda rows, result: (
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
        make_columns("number=_ source"),
        note="by both of two sources, of those that either has",
        rows=_matrix,
        by="source",
        pivot=Pivot("other", Column("jaccard", kind="share", decimals=0)),
        page=False,
    ),
    Table(
        "coverage",
        lambda rows, result: f"Templates in {rows[0]['corpus']}",
        (Column("source"),),
        note="share of n-grams that occur in the corpus (share among its most frequent ones)",
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
            *make_columns("source median=median_rank:number median_others=of_others:number"),
            *make_columns("u=U:number p:p"),
        ),
        note="1 is the most frequent n-gram; Mann-Whitney U, two-sided",
        split=("corpus",),
        by="source",
    ),
    Table(
        "in_corpus",
        "Warning: texts that occur in the corpus",
        make_columns("source corpus why texts:count ids:text"),
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
            *make_columns("texts:count spans=occurrences:count p:p"),
        ),
        note="of templates, and of other spans of the same texts; p: Wilcoxon, on bits",
        rows=_models,
        limit=100,
    ),
)


_STRONGEST, _EACH_SIDE = 15, 5
_SIDES: Mapping[str, Colour] = {"source": "plain", "reference": "reference"}


def _lengths(rows: Rows, result: Result) -> Rows:
    return [
        {"source": row["source"], "n": row["n"], "value": row[value], "title": title, "form": form}
        for value, title, form in (
            ("rate", "texts with a template", ".0%"),
            ("per_token", "templates per token", "~g"),
        )
        for row in rows
    ]


def _coverage(rows: Rows, result: Result) -> Rows:
    return [
        {
            **{name: row[name] for name in ("source", "kind", "corpus")},
            "title": title,
            "share": row[value],
            "low": row.get(low),
            "high": row.get(high),
        }
        for corpus in dict.fromkeys(row["corpus"] for row in rows)
        for value, low, high, title in (
            ("among_frequent", "among_low", "among_high", "among the most frequent n-grams"),
            ("found", "low", "high", "anywhere"),
        )
        for row in rows
        if row["corpus"] == corpus
    ]


def _ranks(rows: Rows, result: Result) -> Rows:
    """For each source and kind the share of n-grams that rank at least so high."""
    groups: dict[tuple[str, str, str], list[float]] = {}
    for row in rows:
        if defined(row["rank"]):
            groups.setdefault((row["corpus"], row["source"], row["kind"]), []).append(row["rank"])
    return [
        {"corpus": corpus, "source": source, "kind": kind, "rank": rank, "share": n / len(ranks)}
        for (corpus, source, kind), ranks in groups.items()
        for n, rank in enumerate(sorted(ranks), 1)
    ]


def distinctive(rows: Rows, result: Result) -> Rows:
    """The strongest templates of each source, from those of the source to the reference's."""
    drawn = []
    for source in dict.fromkeys(row["source"] for row in rows):
        rows_of_source = [row for row in rows if row["source"] == source and defined(row["z"])]
        for row in sorted(_strongest(rows_of_source), key=lambda row: -row["z"]):
            drawn.append(
                {
                    **{name: row[name] for name in ("source", "template", "z")},
                    "zero": 0,
                    "side": "source" if row["z"] > 0 else "reference",
                    "unsure": not arrow(row),
                    "title": f"z (left: more in {result.reference or 'the reference'})",
                }
            )
    return drawn


def _strongest(rows: Rows) -> list[Row]:
    """The largest z, whichever way; but of each side a few, where it has as many."""
    ordered = sorted(rows, key=lambda row: -abs(row["z"]))
    more = [row for row in ordered if row["z"] > 0][:_EACH_SIDE]
    less = [row for row in ordered if row["z"] < 0][:_EACH_SIDE]
    rest = [row for row in ordered if row not in more and row not in less]
    return [*more, *less, *rest[: _STRONGEST - len(more) - len(less)]]


def patterns(rows: Rows, result: Result) -> Rows:
    """The patterns that each source favours, and those that it misses, in the same way."""
    drawn = []
    for row in rows:
        if defined(row["z"]):
            z = row["z"] if row["favoured_by"] == row["source"] else -row["z"]
            drawn.append({**row, "template": row["pattern"], "z": z})
    return distinctive(drawn, result)


def _overlap(rows: Rows, result: Result) -> Rows:
    pairs = {}
    for row in rows:
        a, b = row["source"], row["other"]
        if a != b and defined(row["jaccard"]):
            pairs[a, b] = pairs[b, a] = row["jaccard"]
    return [{"source": a, "other": b, "jaccard": share} for (a, b), share in pairs.items()]


def _perplexity(rows: Rows, result: Result) -> Rows:
    """On a logarithmic scale an interval cannot reach 0."""
    return [{**row, "low": max(row["low"], 1.0) if defined(row["low"]) else None} for row in rows]


def strongest_chart(
    name: str, title: str, says: str, rows: Callable[[Rows, Result], Rows]
) -> Chart:
    """Patterns of a source to the right, those of the reference to the left."""
    return Chart(
        name,
        title,
        table=name,
        x="z",
        y="template",
        colour="side",
        colours=_SIDES,
        panel=("source",),
        ends=("zero", "z"),
        titles={"z": "title"},
        hollow="unsure",
        rows=rows,
        says=says,
    )


CHARTS = (
    Chart(
        "lengths",
        "Templates by length",
        table="lengths",
        shape="lines",
        x="n",
        y="value",
        colour="source",
        panel=("title",),
        titles={"n": "items in a template"},
        scales={"n": "ordinal"},
        format="form",
        zero=True,
        rows=_lengths,
        says="The share of texts with a template, and templates per token, by template length. "
        "The reference is dashed.",
    ),
    Chart(
        "coverage",
        "Templates in a corpus",
        table="coverage",
        shape="bars",
        x="share",
        y="source",
        colour="kind",
        colours={"templates": "plain", "reference templates": "reference", "others": "pale"},
        panel=("corpus", "title"),
        ends=("low", "high"),
        share=True,
        rows=_coverage,
        says="The share of the templates, and of other n-grams, that occur in the corpus, with "
        "intervals.",
    ),
    Chart(
        "ranks",
        "Ranks in a corpus",
        table="ranks",
        shape="steps",
        x="rank",
        y="share",
        colour="kind",
        colours={"templates": "plain", "others": "pale"},
        panel=("source", "corpus"),
        titles={"rank": "rank in the corpus", "share": "share of n-grams"},
        scales={"rank": "log"},
        share=True,
        rows=_ranks,
        says="The share of n-grams that rank at least so high in the corpus: templates against "
        "others.",
    ),
    strongest_chart(
        "distinctive",
        "Distinctive templates",
        "The templates that set each source apart from the reference. Right: more in the source. "
        "Hollow points may be due to chance.",
        distinctive,
    ),
    Chart(
        "overlap",
        "Templates shared",
        table="overlap",
        shape="matrix",
        x="other",
        y="source",
        colour="jaccard",
        titles={"jaccard": "shared"},
        share=True,
        zero=True,
        rows=_overlap,
        says="How many templates two sources share, of those that either has.",
    ),
    Chart(
        "perplexity",
        "Perplexity of templates",
        table="perplexity",
        shape="lines",
        x="model",
        y="perplexity",
        colour="kind",
        names={"template": "templates", "other": "other stretches"},
        panel=("source",),
        ends=("low", "high"),
        titles={"model": "model", "perplexity": "perplexity"},
        scales={"perplexity": "log"},
        shared=True,
        rows=_perplexity,
        says="The perplexity of templates and of other spans, with each model.",
    ),
)
