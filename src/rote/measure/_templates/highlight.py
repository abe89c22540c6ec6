"""One text with its templates, for whoever wants to see where they stand."""

from __future__ import annotations

from typing import Any

import numpy as np

from rote.core.errors import OptionError
from rote.core.metric import Comparison
from rote.measure._templates.core import Options, Rows, templates_of
from rote.measure._templates.matches import spans


def highlighted(rows: Rows, comparison: Comparison, options: Options) -> dict[str, Any]:
    """The text of this id, and every place in it where a template of its source stands."""
    if options.highlight not in comparison.ids:
        some = ", ".join(comparison.ids[:3])
        raise OptionError(
            f"there is no text with the id '{options.highlight}'; ids are like {some}"
        )
    number = comparison.ids.index(options.highlight)
    source = next(name for name, take in comparison.groups.items() if number in take)
    chosen = templates_of(rows, comparison.groups[source], options)
    names = [" ".join(gram) for gram in rows.windows.grams(rows.layer, chosen)]
    places, which = rows.windows.places(rows.layer, np.array([number]), chosen)
    starts, ends = spans(rows.layer, places, options.n)
    return {
        "source": source,
        "id": options.highlight,
        "text": rows.raw.text(number).decode("utf-8", "surrogatepass"),
        "spans": [
            {"start": start, "end": end, "template": names[rank], "rank": rank + 1}
            for start, end, rank in zip(starts.tolist(), ends.tolist(), which.tolist())
        ],
    }
