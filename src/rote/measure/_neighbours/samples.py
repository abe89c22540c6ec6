"""Samples of equal size: with more points balls are smaller and there are more of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rote.core.metric import Work
from rote.measure._neighbours.points import Members, Numbers
from rote.measure._sentences import Sentences, drawn


def equal_size(sentences: Sentences, work: Work, k: int, most: int) -> int:
    """As many sentences as the smallest source has, at most `most`; 0 if nothing can be compared.

    A source of no more than k sentences has no k-th neighbours: it is not compared, and does
    not make the samples of the others small.
    """
    if work.reference is None:
        return 0
    sizes = {source: len(sentences.of(take)) for source, take in work.groups.items()}
    enough = [size for size in sizes.values() if size > k]
    if sizes[work.reference] <= k or len(enough) < 2:
        return 0
    return min(*enough, most)


def of_equal_size(sentences: Sentences, work: Work, size: int) -> NDArray[np.bool_]:
    """Which sentences are drawn: `size` of every source that has as many, none of the others."""
    kept = drawn(sentences, work, size)
    for take in work.groups.values():
        own = sentences.of(take)
        if len(own) < size:
            kept[own] = False
    return kept


def members_of(sentences: Sentences, number: Numbers, work: Work) -> dict[str, Members]:
    """The samples, given the number of every sentence's point; sources without any have none."""
    found = {}
    for source, take in work.groups.items():
        own = sentences.of(take)
        if len(own):
            points, which = np.unique(number[own], return_inverse=True)
            found[source] = Members(points, which.astype(np.int64), sentences.texts[own], own)
    return found
