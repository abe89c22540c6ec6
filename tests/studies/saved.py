"""Results made by hand, as a measure would have saved them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from rote.core.result import Interval, Result, SourceResult
from rote.core.signature import Signature
from rote.studies._source_table import SourceTable, join_results

Number = float | tuple[float, float]
"""A value, or a value and half the width of its interval."""


def made(
    values: Mapping[str, Mapping[str, Number]],
    *,
    measure: str = "lexical",
    by: Sequence[str] = ("source",),
    reference: str | None = None,
    words: Mapping[str, int] | None = None,
    settings: Mapping[str, object] | None = None,
    matched: Mapping[str, float] | None = None,
) -> Result:
    """Source -> value -> number; everything else as it usually is."""
    names = list(dict.fromkeys(name for held in values.values() for name in held))
    return Result(
        measure=measure,
        signature=Signature.of({"measure": measure, **(settings or {})}),
        by=tuple(by),
        reference=reference,
        interval=Interval(0.95, "by hand"),
        by_source={
            source: SourceResult(
                texts=100,
                words=(words or {}).get(source, 10_000),
                values={name: _value(held[name]) for name in held},
                intervals={
                    name: (number[0] - number[1], number[0] + number[1])
                    for name, number in held.items()
                    if isinstance(number, tuple)
                },
            )
            for source, held in values.items()
        },
        tables={
            "values": [
                {"value": name, "title": name, "higher": "diverse", "length_sensitive": True}
                for name in names
            ],
            "matched": [
                {"source": source, "value": names[0], "words": 500, "mean": mean, "sd": 0.1}
                for source, mean in (matched or {}).items()
            ],
        },
    )


def table(*results: Result, matched: bool = False) -> SourceTable:
    """Results joined, each from a file of its own."""
    return join_results([(f"{n}.json", r) for n, r in enumerate(results, 1)], matched=matched)


def columns(**held: Sequence[float]) -> Result:
    """Columns over the sources a, b, c, ...; nan where a source lacks the value."""
    count = max(map(len, held.values()))
    return made(
        {
            chr(ord("a") + place): {
                name: numbers[place]
                for name, numbers in held.items()
                if not math.isnan(numbers[place])
            }
            for place in range(count)
        }
    )


def _value(number: Number) -> float:
    return number[0] if isinstance(number, tuple) else number
