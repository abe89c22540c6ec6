"""Texts of like length side by side, so that little is padding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def batches(lengths: Sequence[int], room: int) -> Iterator[list[int]]:
    """Places in batches of `room` tokens, each as long as its longest; one that is longer is a
    batch of its own. The longest come first, so that what does not fit is noticed at once."""
    batch: list[int] = []
    longest = 0
    for place in sorted(range(len(lengths)), key=lambda one: (-lengths[one], one)):
        if batch and longest * (len(batch) + 1) > room:
            yield batch
            batch = []
        if not batch:
            longest = lengths[place]
        batch.append(place)
    if batch:
        yield batch
