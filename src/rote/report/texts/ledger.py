"""The ledger of `dedup` or `decontaminate` as a page: what went beside what it repeats.

One page for itself: no network, no script made from data.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from importlib.resources import files
from pathlib import Path
from typing import Any

from rote.core.files import write_atomically
from rote.core.progress import several
from rote.report.terminal import readable

PAGE = "ledger.html"
_MARKS = re.compile(r"\W+")
_MOST = 500
_LONGEST = 400
"""Words of a text that are shown; the ledger has all of them."""
_SCRIPT = """
(function () {
  "use strict";
  var entries = document.querySelectorAll("article"), shown = document.getElementById("shown");
  function filter() {
    var sought = document.getElementById("filter").value.toLowerCase(), count = 0;
    entries.forEach(function (entry) {
      var held = entry.textContent.toLowerCase().indexOf(sought) >= 0;
      entry.hidden = !held;
      count += held;
    });
    shown.textContent = count + " of " + entries.length + " entries";
  }
  document.getElementById("filter").addEventListener("input", filter);
  filter();
})();
"""


def write_page(folder: Path, ledger: str, title: str) -> Path:
    """Write the page of a folder's ledger beside it."""
    with (folder / ledger).open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    write_atomically(folder / PAGE, page(rows, title))
    return folder / PAGE


def page(rows: Sequence[Mapping[str, Any]], title: str) -> str:
    """Rows of a ledger, those that are least sure first."""
    from jinja2 import Environment
    from markupsafe import Markup

    written = files("rote.report.texts").joinpath("pages", "ledger.html").read_text("utf-8")
    template = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    ordered = sorted(rows, key=lambda row: row.get("score", row.get("similarity", 1.0)))
    more = f", of which {_MOST:,} are shown" if len(rows) > _MOST else ""
    digest = hashlib.sha256(_SCRIPT.encode()).digest()
    return str(
        template.from_string(written).render(
            title=readable(title),
            said=f"Entries: {len(rows):,}{more}; the least sure come first.",
            entries=[_entry(row) for row in ordered[:_MOST]],
            script=Markup(_SCRIPT),
            script_hash=base64.b64encode(digest).decode(),
        )
    )


def _entry(row: Mapping[str, Any]) -> dict[str, Any]:
    other: Mapping[str, Any] = row.get("kept") or {}
    if "item" in row:
        heading = f"{row['task']}: {row['item']}, {row['part']}"
        sure = [f"score {row['score']:.2f}", f"{row['bits']:.0f} bits"]
        if row["answered"] is not None:
            sure.append("its answer follows" if row["answered"] else "without its answer")
        names = ("in the corpus", "the item")
        second = {"text": row["item_text"], "place": ""}
    else:
        heading = f"{row['id']}: {several(row['words'], 'word')}"
        sure = [f"similarity {row['similarity']:.2f}"] if "similarity" in row else []
        names = ("taken out", "kept")
        text = other.get("text", "in the corpus that was compared with")
        second = {"text": text, "place": _place(other) if other else ""}
    texts = (row.get("text", ""), second["text"])
    sides = zip(names, (_place(row), second["place"]), _marked(*texts))
    return {
        "heading": readable(heading),
        "said": readable(", ".join(sure)),
        "sides": [{"name": n, "place": readable(p), "parts": list(m)} for n, p, m in sides],
    }


def _place(row: Mapping[str, Any]) -> str:
    return f"{row.get('id', '')} ({row.get('file', '')}, line {row.get('line', '')})"


def _marked(one: str, other: str) -> tuple[Iterator[tuple[str, bool]], Iterator[tuple[str, bool]]]:
    """Both texts in runs of words, each with whether the other one has it too."""
    sides = [text.split()[:_LONGEST] for text in (one, other)]
    folded = [[_MARKS.sub("", word.lower()) for word in side] for side in sides]
    blocks = SequenceMatcher(None, folded[0], folded[1], False).get_matching_blocks()

    def runs(side: int) -> Iterator[tuple[str, bool]]:
        last = 0
        for block in blocks:
            first = (block.a, block.b)[side]
            for start, end, hit in ((last, first, False), (first, first + block.size, True)):
                if start < end:
                    yield readable(" ".join(sides[side][start:end])), hit
                    yield " ", True
            last = first + block.size

    return runs(0), runs(1)
