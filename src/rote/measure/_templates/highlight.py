"""Where templates stand: in one text, to be shown, or in all, to be written to a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from rote.core.errors import OptionError
from rote.core.files import check_parent
from rote.core.metric import Comparison
from rote.measure._templates.core import Options, Rows, templates_of
from rote.measure._templates.matches import Reader, spans


def highlighted(rows: Rows, comparison: Comparison, options: Options) -> list[dict[str, Any]]:
    """The text of this id, and every place in it where a template of its source stands.

    Nothing where it is a text of another facet; that there is one was checked before the work.
    """
    if options.highlight not in comparison.ids:
        return []
    number = comparison.ids.index(options.highlight)
    source = next(name for name, take in comparison.groups.items() if number in take)
    chosen = templates_of(rows, comparison.groups[source], options)
    names = [" ".join(gram) for gram in rows.windows.grams(rows.layer, chosen)]
    places, which = rows.windows.places(rows.layer, np.array([number]), chosen)
    starts, ends = spans(rows.layer, places, options.n)
    row = {
        "source": source,
        "id": options.highlight,
        "text": rows.raw.text(number).decode("utf-8", "surrogatepass"),
        "spans": [
            {"start": start, "end": end, "template": names[rank], "rank": rank + 1}
            for start, end, rank in zip(starts.tolist(), ends.tolist(), which.tolist())
        ],
    }
    return [row]


def check_target(path: Path) -> None:
    """A file that is there is never written over: it may be an input."""
    check_parent(path)
    if path.exists():
        raise OptionError(f"{path} is there already: name another file for --all-matches")


def write_matches(rows: Rows, comparison: Comparison, options: Options, path: Path) -> None:
    """Every place of every template in every text, text after text, as JSON lines.

    Facets follow each other, so what is there is added to.
    """
    reader = Reader(rows.layer, rows.word, rows.raw, options.n)
    total = len(comparison.groups)
    with (
        open(path, "a", encoding="utf-8") as file,
        comparison.reporter.stage("templates: all matches", total) as advance,
    ):
        for source, take in comparison.groups.items():
            chosen = templates_of(rows, take, options)
            names = [" ".join(gram) for gram in rows.windows.grams(rows.layer, chosen)]
            places, which = rows.windows.places(rows.layer, take, chosen)
            starts, ends = spans(rows.layer, places, options.n)
            for index, number, text in reader.decoded(places):
                start, end = int(starts[index]), int(ends[index])
                row = {
                    "id": comparison.ids[number],
                    "source": source,
                    "template": names[which[index]],
                    "start": start,
                    "end": end,
                    "text": text[start:end],
                }
                file.write(json.dumps(row) + "\n")
            advance(1)
