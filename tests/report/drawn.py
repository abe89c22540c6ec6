"""Figures as data, which the schema of Vega-Lite allows.

To check a figure takes longer than to make it, so of parts that are alike but for their data,
ranges and names one is checked.
"""

from __future__ import annotations

import json
from typing import Any

_ALIKE = ("data", "scale", "axis", "title", "text", "sort", "width", "height")
"""What differs between parts that are made in the same way: its shape counts, not what it says."""
_PARTS = ("concat", "hconcat", "vconcat", "layer")
_CHECKED: set[str] = set()


def as_data(chart: Any) -> dict[str, Any]:
    """A figure of Altair's as data; an error if it is none that the schema allows."""
    found: dict[str, Any] = chart.to_dict(validate=False)
    few = _few(found)
    shape = f"{type(chart).__name__} {_shape(few)}"
    if shape not in _CHECKED:
        type(chart).validate(few)
        _CHECKED.add(shape)
    return found


def _few(whole: dict[str, Any]) -> dict[str, Any]:
    """One part of every shape, and of every shape of row."""
    fewer = dict(whole)
    for name in _PARTS:
        if name in whole:
            parts = [_few(part) for part in whole[name]]
            fewer[name] = list({_shape(part): part for part in parts}.values())
    if "values" in whole.get("data", {}):
        rows = {_shape(row, said=False): row for row in whole["data"]["values"]}
        fewer["data"] = {**whole["data"], "values": list(rows.values())}
    return fewer


def _shape(part: Any, said: bool = True) -> str:
    return json.dumps(_outline(part, said), sort_keys=True)


def _outline(part: Any, said: bool) -> Any:
    """The names of all settings, and what is said where it is the same for all alike."""
    if isinstance(part, dict):
        return {k: _outline(v, said and k not in _ALIKE) for k, v in part.items()}
    if isinstance(part, list | tuple):
        own = [_outline(one, said) for one in part]
        return own if said else [json.loads(one) for one in sorted({json.dumps(o) for o in own})]
    return part if said else type(part).__name__
