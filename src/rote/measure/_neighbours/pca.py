"""Principal components: as many as hold the asked share of the variance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rote.measure._neighbours.points import Floats, Numbers


def projected(vectors: NDArray[np.float32], counts: Numbers, share: float) -> Floats:
    """The vectors on the first components of their own sample, where each stands `counts` times.

    As few components as hold at least `share` of the variance; one if there is no variance.
    """
    weights = counts.astype(np.float64)
    wide = vectors.astype(np.float64)
    wide -= (weights @ wide) / weights.sum()
    variances, axes = np.linalg.eigh((wide * weights[:, None]).T @ wide)
    variances, axes = np.maximum(variances[::-1], 0.0), axes[:, ::-1]
    held = np.cumsum(variances)
    kept = int(np.searchsorted(held, share * held[-1])) + 1
    return np.ascontiguousarray(wide @ axes[:, : min(kept, len(held))])
