"""Perplexity of templates and other stretches at each checkpoint: Shaib et al. (2024), figure 3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rote.core.result import Result
from rote.report.figures._looks import colour_and_shape, names_axis
from rote.report.tables._blocks import defined
from rote.report.terminal import harmless

KINDS = {"template": "templates", "other": "other stretches"}


def perplexity(rows: Sequence[Mapping[str, Any]], result: Result) -> Any:
    """A panel for each source, a line for each kind, over the models in the order given."""
    import altair as alt

    known = [row for row in rows if defined(row["perplexity"])]
    if not known:
        return None
    models = list(dict.fromkeys(harmless(row["model"]) for row in known))
    colour, shape = colour_and_shape(list(KINDS.values()))
    panels = []
    for source in dict.fromkeys(row["source"] for row in known):
        data = [
            {
                "model": harmless(row["model"]),
                "source": KINDS[row["kind"]],
                "perplexity": row["perplexity"],
                # On a logarithmic scale an interval cannot reach 0.
                "low": max(row["low"], 1.0) if defined(row["low"]) else row["perplexity"],
                "high": row["high"] if defined(row["high"]) else row["perplexity"],
            }
            for row in known
            if row["source"] == source
        ]
        base = alt.Chart(alt.Data(values=data)).encode(
            x=alt.X("model:N", sort=models, title="model", axis=names_axis(labelAngle=-30)),
            color=colour,
        )
        y = alt.Y("perplexity:Q", title="perplexity", scale=alt.Scale(type="log", nice=False))
        line = base.mark_line(strokeWidth=2).encode(y=y)
        points = base.mark_point(filled=True, size=35, opacity=1).encode(y=y, shape=shape)
        reach = base.mark_rule(opacity=0.4).encode(y=alt.Y("low:Q", title=""), y2="high:Q")
        panels.append(
            alt.layer(reach, line, points).properties(
                width=max(120, 36 * len(models)), height=220, title=harmless(source)
            )
        )
    return alt.hconcat(*panels).resolve_scale(y="shared")
