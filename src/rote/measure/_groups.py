"""The order in which groups stand: where they are numbers, as numbers are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from rote.core.facets import JOINT

T = TypeVar("T")


def in_order(groups: Mapping[str, T]) -> dict[str, T]:
    """Groups by their fields: one whose values are all numbers goes up, any other stays in the
    order in which its values came. A curve over repeats or steps is read from left to right."""
    fields = list(zip(*(name.split(JOINT) for name in groups)))
    ranks = [_ranks(column) for column in fields]

    def place(name: str) -> list[float]:
        return [rank[value] for rank, value in zip(ranks, name.split(JOINT))]

    return {name: groups[name] for name in sorted(groups, key=place)}


def _ranks(values: tuple[str, ...]) -> dict[str, float]:
    try:
        return {value: float(value) for value in values}
    except ValueError:
        return {value: float(place) for place, value in enumerate(dict.fromkeys(values))}
