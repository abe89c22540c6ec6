"""Figures of templates and of favoured patterns."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rote.compare.permutation import LEVEL
from rote.core.chart import Chart, Colour
from rote.core.result import Result
from rote.core.table import Row, Rows, defined

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
        {"corpus": corpus, "source": source, "kind": kind, "rank": rank, "share": n / len(found)}
        for (corpus, source, kind), found in groups.items()
        for n, rank in enumerate(sorted(found), 1)
    ]


def distinctive(rows: Rows, result: Result) -> Rows:
    """The strongest templates of each source, from those of the source to the reference's."""
    drawn = []
    for source in dict.fromkeys(row["source"] for row in rows):
        own = [row for row in rows if row["source"] == source and defined(row["z"])]
        for row in sorted(_strongest(own), key=lambda row: -row["z"]):
            p = row["p_corrected"]
            drawn.append(
                {
                    "source": source,
                    "template": row["template"],
                    "z": row["z"],
                    "zero": 0,
                    "side": "source" if row["z"] > 0 else "reference",
                    "unsure": not (defined(p) and p < LEVEL),
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
    return distinctive(
        [
            {**row, "template": row["pattern"], "z": row["z"] if own else -row["z"]}
            for row in rows
            if defined(row["z"])
            for own in (row["favoured_by"] == row["source"],)
        ],
        result,
    )


def _overlap(rows: Rows, result: Result) -> Rows:
    """Both triangles of what sources share."""
    pairs = {}
    for row in rows:
        if row["source"] != row["other"] and defined(row["jaccard"]):
            for a, b in ((row["source"], row["other"]), (row["other"], row["source"])):
                pairs[a, b] = row["jaccard"]
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
        says="The share of texts that hold a template, and templates per token, over the length "
        "of templates. The reference is dashed.",
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
        says="The share of the templates, and of other n-grams, that the corpus holds, with "
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
        "Hollow points may well be chance.",
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
        says="The perplexity of templates and of other stretches, with each model.",
    ),
)
