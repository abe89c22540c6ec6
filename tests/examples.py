"""How many random examples a property test tries."""

from __future__ import annotations

from hypothesis import settings


def dear(count: int) -> settings:
    """So many where each takes long, of the hundred that are usual; `make fuzz` tries as many more
    as it does elsewhere."""
    return settings(max_examples=count * settings().max_examples // 100)
