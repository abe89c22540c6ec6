"""All sources in all respects at a glance: which differ from the reference, which way, how clearly.

Only what survives the correction is a difference. A source that occurs in the corpus it is held
against says nothing there (`circular`): its cells say so, and no count holds them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from rote.core.result import Result
from rote.report.family import families, in_words
from rote.report.report import Judged, Matrix, State
from rote.report.summary import contrast as wording
from rote.report.summary.comparisons import (
    Scene,
    differs,
    direction,
    equal_p,
    equal_values,
    is_length,
    only_equal,
)
from rote.report.summary.contrast import Contrast, contrasts, headlines

HELD = {"novelty": "corpus", "originality": "corpus", "contamination": "corpus"}
HELD |= {"overlap": "training set"}
"""Measures that hold texts against something, and what that is."""
_WHOLE = {
    "novelty": ("coverage_8", 1.0),
    "contamination": ("found_8", 1.0),
    "originality": ("new_fragments", 0.0),
    "overlap": ("overlap", 1.0),
}
"""The value that it has of texts which occur there themselves."""
_NEARLY = 0.01
_CLEAR, _VERY_CLEAR = 2.0, 4.0
"""Half widths of its interval that a difference has, for two signs and for three."""
Compared = Mapping[str, Sequence[tuple[Contrast, bool]]]
"""The contrasts of each source, and whether each is circular."""


def compared(scene: Scene) -> Compared:
    """Every source beside the reference; all results are laid out once."""
    own: dict[str, list[tuple[Contrast, bool]]] = {source: [] for source in scene.others}
    inside = circular(scene.results)
    for result in scene.results:
        held = inside.get(HELD.get(result.measure, ""), ())
        for headline in headlines(result.measure):
            for one in contrasts(result, headline):
                if one.source in own:
                    own[one.source].append((one, one.source in held or scene.reference in held))
    return own


def circular(results: Sequence[Result]) -> dict[str, list[str]]:
    """What texts are held against, and the sources that occur in it themselves."""
    found: dict[str, dict[str, None]] = {}
    for result in results:
        value, whole = _WHOLE.get(result.measure, ("", 0.0))
        for name, source in result.sources.items():
            if abs(source.values.get(value, math.nan) - whole) <= _NEARLY:
                found.setdefault(HELD[result.measure], {})[name] = None
    return {held: list(names) for held, names in found.items()}


def matrix(scene: Scene, own: Compared, few: int) -> Matrix | None:
    """Respects by sources; a source of fewer than `few` texts is not compared."""
    reference = str(scene.reference)
    cells: dict[str, dict[str, Judged]] = {}
    for source, found in own.items():
        scarce = any(scene.size(name)[0] < few for name in (source, reference))
        for one, circles in found:
            why: State | None = "circular" if circles else "untested" if scarce else None
            noun = one.headline.noun[0].upper() + one.headline.noun[1:]
            # A study may hold a measure twice.
            names = (noun, *(f"{noun} ({time})" for time in range(2, len(found) + 1)))
            name = next(name for name in names if source not in cells.get(name, {}))
            cells.setdefault(name, {})[source] = judged(one, why)
    if not cells:
        return None
    title = f"Differences from {reference}"
    title += f": {scene.facet.title}" if scene.facet.title else ""
    family = [one for one in families(scene.whole) if one["facet"] == scene.facet.title]
    return Matrix("matrix", title, list(own), cells, "; ".join(map(in_words, family)))


def judged(one: Contrast, state: State | None = None) -> Judged:
    state = state or _state(one)
    value, other = equal_values(one) if only_equal(one) else (one.value, one.other)
    known = state not in ("undefined", "circular")
    size = ""
    if known:
        at_all = math.isnan(one.relative) or only_equal(one)
        size = wording.size(value - other, one) if at_all else wording.percent(one.relative, True)
    said = f"{wording.pair(value, other, one.headline)}"
    if state in ("same", "alike"):
        said += f": {wording.at_most(one)} ({wording.how_much(one)}){wording.could_show(one)}"
    elif state == "length":
        mine, theirs = (wording.number(v, one.headline) for v in equal_values(one))
        said += f"; at equal length {mine} against {theirs}, {wording.p_value(equal_p(one))}"
    elif only_equal(one):
        said = f"At equal length {said} ({wording.p_value(equal_p(one))})"
    elif known:
        said += f" ({wording.how_much(one)})"
    found = state in ("diverse", "repetitive", "differs")
    return Judged(state, _strength(one, value - other) if found else 0, size, said)


def _state(one: Contrast) -> State:
    if math.isnan(one.difference):
        return "undefined"
    if one.sure == "untested" and one.at_equal_length is None:
        return "untested"
    if is_length(one):
        return "length"
    if not differs(one):
        return "alike" if one.own.equivalent else "same"
    way = direction(one)
    return "diverse" if way == "more diverse" else "repetitive" if way else "differs"


def _strength(one: Contrast, difference: float) -> int:
    """One to three: by how many half widths of its interval the difference is away from none."""
    half = (one.high - one.low) / 2
    if math.isnan(half):
        return 1
    times = math.inf if half == 0 else abs(difference) / half
    return 3 if times >= _VERY_CLEAR else 2 if times >= _CLEAR else 1
