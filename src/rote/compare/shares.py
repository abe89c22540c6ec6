"""How sure a share is: so many of so many."""

from __future__ import annotations

import math
from statistics import NormalDist


def wilson(found: float, total: float, level: float) -> tuple[float, float]:
    """The Wilson score interval of the share `found` / `total`; nan where there is nothing.

    It stays within 0 and 1, and says something of 0 in 100 and of 100 in 100 too.
    """
    if not total or not level:
        return math.nan, math.nan
    z = NormalDist().inv_cdf((1 + level) / 2)
    share, stretch = found / total, 1 + z * z / total
    middle = (share + z * z / (2 * total)) / stretch
    reach = z / stretch * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    # Rounding may leave an end just beyond.
    low = 0.0 if found == 0 else max(middle - reach, 0.0)
    high = 1.0 if found == total else min(middle + reach, 1.0)
    return low, high
