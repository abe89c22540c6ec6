"""The figures that a result has, with what one sees in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rote.core.errors import OptionError
from rote.core.result import Result
from rote.report._svg import spec
from rote.report.blocks import Block, Figure, Said
from rote.report.figures import novelty, overlap, popularity, templates
from rote.report.figures.panel import panel_chart
from rote.report.figures.results import curve_chart
from rote.report.sections._names import drawable
from rote.report.sections._titles import title

_MOST = 80
"""Sources in a figure; of more nobody can read one, and the page would be many megabytes."""
_DRAWING: Mapping[str, Callable[[Result], Mapping[str, Any]]] = {
    "templates": templates.figures,
    "favoured": templates.figures,
    "novelty": novelty.figures,
    "overlap": overlap.figures,
    "popularity": popularity.figures,
}
_SAID = {
    ("templates", "lengths"): (
        "Templates by length",
        "The share of texts that hold a template, and templates per token, over the length of "
        "templates. The reference is dashed.",
    ),
    ("templates", "coverage"): (
        "Templates in a corpus",
        "The share of the templates, and of other n-grams, that the corpus holds, with intervals.",
    ),
    ("templates", "ranks"): (
        "Ranks in a corpus",
        "The share of n-grams that rank at least so high in the corpus: templates against others.",
    ),
    ("templates", "distinctive"): (
        "Distinctive templates",
        "The templates that set each source apart from the reference. Right: more in the source. "
        "Hollow points may well be chance.",
    ),
    ("templates", "overlap"): (
        "Templates shared",
        "How many templates two sources share, of those that either has.",
    ),
    ("favoured", "patterns"): (
        "What each source favours",
        "Right: patterns that the source favours; left: patterns that only the reference has.",
    ),
    ("novelty", "novelty"): (
        "New n-grams",
        "The share of n-grams that the corpus does not hold, over their length.",
    ),
    ("novelty", "coverage"): (
        "Copied runs",
        "The share of words that lie in runs that the corpus holds, over the length of the runs.",
    ),
    ("overlap", "bins"): (
        "Scores over closeness",
        "Each score over the share of an item's n-grams that stand in the training set.",
    ),
    ("overlap", "normalized"): (
        "Scores over closeness, normalized",
        "Each score divided by that of the system that it is normalized to.",
    ),
    ("overlap", "excess"): (
        "Scores above the control",
        "Each score above that of the control, which never saw the training set.",
    ),
    ("popularity", "halves"): (
        "Accuracy of the less and the more popular half",
        "Accuracy of the items up to the median popularity of their task, and above it.",
    ),
    ("popularity", "deciles"): (
        "Accuracy over popularity",
        "Accuracy over the deciles of popularity.",
    ),
    ("popularity", "popularity"): (
        "Popularity of items",
        "How the popularity of the right instances is spread.",
    ),
}


def figures(result: Result) -> dict[str, Block]:
    """Every figure that the tables of a result give, by name."""
    draw = _DRAWING.get(result.measure)
    if draw is None:
        return {}
    if refused := _too_many([result]):
        return {"": refused}
    try:
        charts = draw(drawable(result))
    except OptionError:
        # No value is defined, and the table says why.
        return {}
    found: dict[str, Block] = {}
    for name, chart in charts.items():
        heading, says = _SAID.get((result.measure, name), (f"{title(result)}: {name}", ""))
        found[name] = Figure(f"figure-{result.measure}-{name}", heading, says, spec(chart))
    return found


def panel_figure(results: Sequence[Result]) -> list[Block]:
    """The panel as one picture; where nothing can be drawn, nothing, or why."""
    if refused := _too_many(results):
        return [refused]
    dashed = "; the dashed line is the reference" if any(r.reference for r in results) else ""
    says = f"Each column is an aspect of diversity, drawn so that right is more diverse{dashed}."
    return list(_drawn("figure-panel", "All sources on all aspects", says, results, panel_chart))


def curves(results: Sequence[Result]) -> list[Figure]:
    """How values grow with the amount of text."""
    if _too_many(results):
        return []
    says = (
        "How each value that moves with length grows with the amount of text: sources are "
        "comparable where their lines stand above the same amount."
    )
    return _drawn("figure-curves", "Values over the amount of text", says, results, curve_chart)


def _drawn(
    id: str,
    heading: str,
    says: str,
    results: Sequence[Result],
    draw: Callable[[Sequence[Result]], Any],
) -> list[Figure]:
    try:
        return [Figure(id, heading, says, spec(draw([drawable(result) for result in results])))]
    except OptionError:
        # No value is defined, and the table says why.
        return []


def _too_many(results: Sequence[Result]) -> Said | None:
    sources = len({name for result in results for name in result.sources})
    if sources <= _MOST:
        return None
    return Said(
        f"{sources:,} sources are too many for a figure; the tables have the first of them, and "
        "the JSON has all.",
        quiet=True,
    )
