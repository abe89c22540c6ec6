"""Near-verbatim spans, against a plain loop over all spans."""

from __future__ import annotations

import numpy as np
import pytest

from rote.core.arrays import Integers
from rote.search.meaning.near_verbatim import _match_spans


def twin(cosines: Integers, bounds: Integers, least: int) -> list[int]:
    """For each content word the longest span that begins with it and matches some span there."""
    own, others = cosines.shape
    longest = [0] * own
    for first in range(own):
        for last in range(first + 2, own + 1):
            for begin in range(others):
                for end in range(begin + 2, others + 1):
                    part = cosines[first:last, begin:end]
                    forth, back = (int(part.max(axis=axis).sum()) for axis in (1, 0))
                    if forth >= least * (last - first) and back >= least * (end - begin):
                        longest[first] = int(bounds[last + 1] - bounds[first] - 1)
    return longest


@pytest.mark.parametrize("seed", range(20))
def test_spans_are_those_of_a_plain_loop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    own, others = rng.integers(2, 8, 2)
    cosines = np.where(rng.random((own, others)) < 0.3, 1000, rng.integers(0, 900, (own, others)))
    bounds = np.concatenate(([-1], np.cumsum(rng.integers(1, 4, own + 1))))
    lengths, places, similar = (np.zeros(int(bounds[-1]), np.int64) for _ in range(3))
    _match_spans(cosines, bounds, 700, 5, (lengths, places, similar))
    starts = bounds[:own] + 1
    assert lengths[starts].tolist() == twin(cosines, bounds, 700)
    assert set(places[lengths > 0].tolist()) <= {5}
    assert (similar[lengths > 0] >= 700).all()
    assert lengths.sum() == lengths[starts].sum()
