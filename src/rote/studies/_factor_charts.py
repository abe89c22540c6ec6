"""A factor as a figure: each value over the levels, one line for each source, with intervals."""

from __future__ import annotations

from rote.core.chart import Chart, defined
from rote.core.result import Result
from rote.core.table import Row, Rows
from rote.studies._correlate_layout import short


def _cells(rows: Rows, result: Result) -> Rows:
    """Numbers to scale, other levels side by side; a reference of one value is a line across."""
    first = result.tables["levels"][0]
    over = dict(result.signature.settings).get("over", "")
    numeric = first["kind"] == "numeric"
    order = {row["level"]: place for place, row in enumerate(result.tables["levels"])}
    about = {row["value"]: row for row in result.tables["values"]}
    agreement = {(row["facet"], row["column"]): row for row in result.tables["agreement"]}
    groups: dict[tuple[str, str], list[Row]] = {}
    for facet in dict.fromkeys(row["facet"] for row in rows):
        for column in about:
            own = [row for row in rows if (row["facet"], row["column"]) == (facet, column)]
            groups[facet, column] = sorted(own, key=lambda row: order.get(row["level"], -1))
    drawn = []
    for (facet, column), own in groups.items():
        held = [row for row in own if row["reference"]]
        level = len(held) == 1 or any(not defined(row["number"]) for row in held)
        said = _said(about[column], agreement.get((facet, column)), held)
        for row in [*held[: 1 if level else None], *(row for row in own if not row["reference"])]:
            across = row["number"] if numeric else row["level"]
            drawn.append(
                {
                    "source": row["source"] or "",
                    "level": None if row["reference"] and level else across,
                    **{name: row[name] for name in ("estimate", "low", "high")},
                    "title": " ".join(filter(None, (facet, short(column)))),
                    "said": said,
                    "over": f"{over} ({first['unit']})" if first["unit"] else over,
                    "scale": first["scale"] or "",
                }
            )
    return drawn


def _said(about: Row, judged: Row | None, held: Rows) -> str:
    lines = [] if about["higher"] == "neither" else [f"higher: more {about['higher']}"]
    more = [f"W = {judged['w']:.2f}"] if judged and defined(judged["w"]) else []
    more += [f"dashed: {held[0]['source']}"] if held else []
    return "\n".join([*lines, ", ".join(more)])


CHARTS = (
    Chart(
        "factors",
        "Values over the levels of a factor",
        table="cells",
        shape="lines",
        x="level",
        y="estimate",
        colour="source",
        panel=("title", "said"),
        ends=("low", "high"),
        titles={"level": "over"},
        scales={"level": "scale"},
        rows=_cells,
        whole=True,
        says="Each value over the levels, one line for each source, with intervals; the reference "
        "is dashed.",
    ),
)
