"""Results made by hand, with just what a summary looks at."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rote.core.result import Interval, Result, SourceResult
from rote.core.signature import Signature
from rote.report.report import Material, Report

NAN = math.nan


def result(
    measure: str,
    value: str,
    sources: Mapping[str, tuple[float, float]],
    tests: Mapping[str, Mapping[str, float]] | None = None,
    *,
    higher: str = "repetitive",
    length_sensitive: bool = False,
    matched: Mapping[str, float] | None = None,
    reference: str | None = "human",
    texts: Mapping[str, int] | None = None,
    words: Mapping[str, int] | None = None,
    **settings: Any,
) -> Result:
    """One value of some sources: (estimate, half of its interval), tests by source."""
    of_reference = sources.get(reference or "", (NAN, 0.0))[0]
    return Result(
        measure=measure,
        signature=Signature.of({"measure": measure, **settings}),
        by=("source",),
        reference=reference,
        interval=Interval(0.95, "by hand"),
        by_source={
            name: SourceResult(
                texts=(texts or {}).get(name, 100),
                words=(words or {}).get(name, 200 * (texts or {}).get(name, 100)),
                values={value: estimate},
                intervals={} if math.isnan(estimate) else {value: (estimate - r, estimate + r)},
            )
            for name, (estimate, r) in sources.items()
        },
        comparisons=[
            {
                "source": name,
                "reference": reference,
                "value": value,
                "difference": sources[name][0] - of_reference,
                "permutations": 199,
                **_effects(sources[name][0] - of_reference, sources[name][1], ""),
                **_effects(test.get("matched_difference", NAN), sources[name][1], "matched_"),
                **test,
            }
            for name, test in (tests or {}).items()
        ],
        tables={
            "values": [
                {
                    "value": value,
                    "title": value,
                    "higher": higher,
                    "length_sensitive": length_sensitive,
                    "relative": False,
                }
            ],
            "matched": [
                {"source": name, "value": value, "words": 500, "mean": mean, "sd": 0.0, "draws": 20}
                for name, mean in (matched or {}).items()
            ],
        },
    )


def _effects(difference: float, reach: float, prefix: str) -> dict[str, float]:
    """The effect of a difference, single texts having a standard deviation of 0.1."""
    if math.isnan(difference):
        return {}
    ends = {"": 0.0, "_low": -reach, "_high": reach}
    return {f"{prefix}effect{end}": (difference + off) / 0.1 for end, off in ends.items()}


def study(results: Sequence[Result], reference: str | None = "human") -> Report:
    return Report(
        title="by hand",
        created="2026-01-01T00:00:00+00:00",
        version="0.1.0",
        reference=reference,
        materials=(
            Material("texts", "by-hand.jsonl", "0" * 32, {"texts": 0, "words": 0, "sources": {}}),
        ),
        tools=(),
        results=tuple(results),
    )
