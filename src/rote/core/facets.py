"""Groups over several fields, `task|source`: which stand side by side, and against which reference.

`--by task,source --reference human` compares the sources of a task with the human texts of the
same task: every task is a facet. Where the reference is a group of its own, or there is none, all
groups are one facet. With `--reference each` the last field names what is compared, all pairs of
it, within the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")
JOINT = "|"
EACH = "each"
"""In place of a reference: every two sources are compared."""
_DOCUMENTS, _OTHER = "input documents", "input: "


def input_name(field: str) -> str:
    """What the source is called that holds the texts of a field: what others were made from."""
    return _DOCUMENTS if field == "document" else _OTHER + field


def is_input(name: str) -> bool:
    """Whether a source holds what the texts were made from, in a facet or by itself.

    >>> is_input("input: prompt"), is_input("news|input documents"), is_input("news|human")
    (True, True, False)
    """
    return any(part == _DOCUMENTS or part.startswith(_OTHER) for part in name.split(JOINT))


@dataclass(frozen=True, slots=True)
class Facet:
    """Groups that are compared with each other.

    `names` has for every group its name within the facet: without what all of them share.
    """

    title: str
    names: Mapping[str, str]
    reference: str | None

    def __contains__(self, group: object) -> bool:
        return group in self.names


def facets(groups: Iterable[str], reference: str | None) -> list[Facet]:
    """The facets, in order of first appearance; no reference where no group bears its name."""
    names = list(groups)
    place = reference_place(names, reference)
    if reference == EACH:
        place = max((len(name.split(JOINT)) for name in names), default=1) - 1 or None
    if reference is None or place is None:
        facet_of = {name: name for name in names}
        return [Facet("", facet_of, reference if reference in facet_of else None)]
    by_facet: dict[str, dict[str, str]] = {}
    for name in names:
        parts = name.split(JOINT)
        source = parts.pop(place) if place < len(parts) else name
        by_facet.setdefault(JOINT.join(parts), {})[name] = source
    return [
        Facet(
            title, members, next((g for g, source in members.items() if source == reference), None)
        )
        for title, members in by_facet.items()
    ]


def reference_place(names: Iterable[str], reference: str | None) -> int | None:
    """Which field of the groups names the reference; None where a whole group does, or nothing."""
    names = list(names)
    if reference is None or reference in names:
        return None
    fields = (name.split(JOINT) for name in names)
    return next((parts.index(reference) for parts in fields if reference in parts), None)


def sort_groups(groups: Mapping[str, T]) -> dict[str, T]:
    """Groups by their fields: one whose values are all numbers goes up, any other stays in the
    order in which its values came. A curve over repeats or steps is read from left to right."""
    fields = list(zip(*(name.split(JOINT) for name in groups)))
    ranks = [_value_ranks(column) for column in fields]

    def place(name: str) -> list[float]:
        return [rank[value] for rank, value in zip(ranks, name.split(JOINT))]

    return {name: groups[name] for name in sorted(groups, key=place)}


def _value_ranks(values: tuple[str, ...]) -> dict[str, float]:
    try:
        return {value: float(value) for value in values}
    except ValueError:
        return {value: float(place) for place, value in enumerate(dict.fromkeys(values))}
