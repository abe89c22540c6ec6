"""Short names that tell files apart: the last part of a path where that is enough."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path


def short_names(stems: Sequence[Path], paths: Sequence[Path]) -> list[str]:
    """For each stem the shortest end of it that no other has.

    Files that differ in their suffix alone (`a.csv`, `a.jsonl`) keep it.
    """
    twins = Counter(stems)
    full = [path if twins[stem] > 1 else stem for stem, path in zip(stems, paths)]
    longest = max((len(stem.parts) for stem in full), default=0)
    names = [""] * len(full)
    open_ones = list(range(len(full)))
    for depth in range(1, longest + 1):
        ends = {i: "/".join(full[i].parts[-depth:]) for i in open_ones}
        counts = Counter(ends.values())
        for i in open_ones:
            names[i] = ends[i]
        open_ones = [i for i in open_ones if counts[ends[i]] > 1]
        if not open_ones:
            break
    return names
