"""Which group is which level of which source: the names of groups taken apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rote.core.errors import UnknownName
from rote.core.facets import JOINT
from rote.studies._source_table import SourceTable


@dataclass(frozen=True, slots=True)
class Part:
    """One facet: source -> level -> the group that holds it; the reference's groups apart."""

    title: str
    groups: Mapping[str, Mapping[str, str]]
    reference: Mapping[str, str]


def factor_parts(
    table: SourceTable,
    kept: SourceTable,
    place: str | None,
    *,
    over: str,
    facet: Sequence[str],
) -> list[Part]:
    """Facets, by the fields named or by those beside the factor and the field of the reference.

    `kept` are the sources that count, `place` is the field that names the reference.
    """
    for name in facet:
        if name not in table.by or name == over:
            raise UnknownName("field of --by", name, [f for f in table.by if f != over])
    if not facet and place not in (None, over):
        facet = [name for name in table.by if name not in (place, over)]
    own = [name for name in table.by if name != over and name not in facet]
    groups: dict[str, dict[str, dict[str, str]]] = {}
    references: dict[str, dict[str, str]] = {}
    for group in table.sizes:
        held = table.fields(group)
        title = JOINT.join(held[name] for name in facet)
        source = JOINT.join(held[name] for name in own) or "all"
        level = held[over]
        is_reference = place not in (None, over) and held[str(place)] == table.reference
        if is_reference or group == table.reference:
            references.setdefault(title, {})[level] = group
        if group in kept.sizes:
            groups.setdefault(title, {}).setdefault(source, {})[level] = group
    return [Part(title, held, references.get(title, {})) for title, held in groups.items()]


def reference_field(table: SourceTable) -> str | None:
    """The field that names the reference."""
    if table.reference is None or table.reference in table.sizes:
        return None
    for group in table.sizes:
        for name, value in table.fields(group).items():
            if value == table.reference:
                return name
    return None
