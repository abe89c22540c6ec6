"""Tables as CSV that a spreadsheet may open: what a text holds is not taken for a formula.

Every CSV of rote is written here: the shell's, the report's and the app's; `report.js` does the
same for what it copies. A cell that begins with `=` is run when the file is opened, and ids and
names of sources come from whoever wrote the texts. Such a cell gets an apostrophe before it, which
spreadsheets read as "this is text". Numbers stay as they are; JSON holds everything unchanged.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def inert(cell: Any) -> Any:
    """The cell, so that it cannot be run."""
    if not isinstance(cell, str) or not cell.startswith(_FORMULA):
        return cell
    try:
        float(cell)
    except ValueError:
        return "'" + cell
    return cell


def rows_as_csv(rows: Iterable[Iterable[Any]]) -> str:
    """Rows of cells, the first one being their headings."""
    out = io.StringIO()
    plain = csv.writer(out, lineterminator="\n")
    # A carriage return ends a row for most readers, and Python's writer lets it pass.
    quoted = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL)
    for row in rows:
        cells = [inert(cell) for cell in row]
        turned = any(isinstance(cell, str) and "\r" in cell for cell in cells)
        (quoted if turned else plain).writerow(cells)
    return out.getvalue()


def unrounded(value: Any) -> Any:
    """As it stands in a cell: nothing where it is undefined, lists and objects as JSON."""
    if hasattr(value, "item"):
        value = value.item()
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, (list, tuple, Mapping)):
        return json.dumps(value, ensure_ascii=False, default=str)
    return repr(value) if isinstance(value, float) else value
