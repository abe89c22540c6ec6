"""The ledger of `dedup` or `decontaminate`, to look through: what went beside what it repeats."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from rote.core.errors import InputError, UnknownName
from rote.core.files import write_atomically
from rote.core.json_reader import read_json, read_json_lines
from rote.core.numbers import format_number
from rote.core.progress import several
from rote.core.record import Study
from rote.core.registry import find
from rote.report.terminal import mask_controls
from rote.report.texts import render_page

PAGE = "ledger.html"
_MANIFEST, _COMMAND = "manifest.json", "rote "
_MARKS = re.compile(r"\W+")
_MOST = 500
_LONGEST = 400
"""Words of a text that are shown; the ledger has all of them."""
_CHOICES = 60
"""Different values up to which a page lets choose among them."""


_SIDE = {"text?": str, "before?": str, "after?": str, "file?": str}
_ITEM_FIELDS = {
    **_SIDE,
    **dict.fromkeys(("item", "task", "part", "item_text"), str),
    **dict.fromkeys(("score", "bits"), float),
    "twins?": tuple,
}
_WORD_FIELDS = {**_SIDE, "kind?": str, "kept?": _SIDE, "words": int, "pass?": int}
_WORD_FIELDS |= dict.fromkeys(("similarity?", "p?"), float)
"""What is read of the rows of ledgers."""


def find_ledger(folder: Path) -> Study | None:
    """The command that made this folder, if it is one that keeps a ledger."""
    try:
        maker = read_json(folder / _MANIFEST)["made_by"]
        record = find(str(maker).removeprefix(_COMMAND))
    except (OSError, InputError, KeyError, TypeError, UnknownName):
        return None
    has_ledger = isinstance(record, Study) and record.ledger and (folder / record.ledger).is_file()
    return record if has_ledger and isinstance(record, Study) else None


def read_ledger(folder: Path, ledger: str) -> list[dict[str, Any]]:
    rows = []
    for _, row in read_json_lines(folder / ledger):
        row.check(_ITEM_FIELDS if "item" in row.values else _WORD_FIELDS)
        rows.append(_without_nulls(row.values))
    return sorted(rows, key=row_certainty)


def _without_nulls(row: Mapping[str, Any]) -> dict[str, Any]:
    """What is null is as good as missing."""
    return {
        name: _without_nulls(value) if isinstance(value, dict) else value
        for name, value in row.items()
        if value is not None
    }


def row_certainty(row: Mapping[str, Any]) -> float:
    """The score of an item, or how similar documents are; a run of words is the same for sure."""
    score = row.get("score", row.get("similarity"))
    return 1.0 if score is None else float(score)


def filter_fields(row: Mapping[str, Any]) -> dict[str, str]:
    """What rows are chosen by."""
    if "item" in row:
        return {"task": row["task"], "part": row["part"], "source": str(row.get("source", ""))}
    kept_in = (row.get("kept") or {}).get("source", "elsewhere")
    source = str(row.get("source", ""))
    return {"what": row.get("kind", "run"), "source": source, "kept in": str(kept_in)}


def filter_choices(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    values_by_field: dict[str, dict[str, None]] = {}
    for row in rows:
        for name, value in filter_fields(row).items():
            values_by_field.setdefault(name, {})[value] = None
    return {n: sorted(v) for n, v in values_by_field.items() if 1 < len(v) <= _CHOICES}


def write_page(folder: Path, ledger: str, title: str) -> Path:
    write_atomically(folder / PAGE, ledger_page(read_ledger(folder, ledger), title))
    return folder / PAGE


def ledger_page(rows: Sequence[Mapping[str, Any]], title: str) -> str:
    ordered = sorted(rows, key=row_certainty)
    more = ""
    if len(rows) > _MOST:
        more = f", of which {_MOST:,} are shown; `rote serve` with the folder shows all"
    choices = filter_choices(ordered[:_MOST])
    return render_page(
        "ledger.html",
        title=mask_controls(title),
        said=f"Entries: {len(rows):,}{more}; the least sure come first.",
        choices=[(name, list(map(mask_controls, values))) for name, values in choices.items()],
        entries=[
            {
                **make_entry(row),
                "fields": [mask_controls(filter_fields(row).get(name, "")) for name in choices],
            }
            for row in ordered[:_MOST]
        ],
    )


def make_entry(row: Mapping[str, Any]) -> dict[str, Any]:
    """One row for the eye: a heading, how sure it is, and both sides."""
    if "item" in row:
        heading = f"{row['task']}: {row['item']}, {row['part']}"
        score, bits = format_number(row["score"], ".2f"), format_number(row["bits"], ".0f")
        sure = [f"score {score}", f"{bits} bits"]
        if row.get("answered") is not None:
            sure.append("its answer follows" if row["answered"] else "without its answer")
        if row.get("twins"):
            sure.append(f"nearly also {', '.join(row['twins'])}")
        names, counterpart = ("in the corpus", "the item"), {"text": row["item_text"]}
    else:
        is_document = row.get("kind") == "document"
        heading = f"{row.get('id', '')}: {several(row['words'], 'word')}"
        sure = ["the whole document" if is_document else "cut"]
        if "similarity" in row:
            sure.append(f"similarity {format_number(row['similarity'], '.2f')}")
        if "p" in row:
            sure.append(f"paraphrase, by chance with p = {format_number(row['p'], '.2g')}")
        if row.get("pass", 1) > 1:
            sure.append("after other words were cut")
        names = ("taken out", "kept")
        counterpart = row.get("kept") or {"text": "in the corpus that was compared with"}
    texts = (row.get("text", ""), counterpart.get("text", ""))
    sides = []
    for name, side, parts in zip(names, (row, counterpart), _mark_shared(*texts)):
        cut = str(side.get("text", "")).endswith("…")
        place = mask_controls(_describe_place(side)) if "id" in side else ""
        before, after = (mask_controls(side.get(end, "")) for end in ("before", "after"))
        around = {"before": before, "after": "" if cut else after}
        sides.append({"name": name, "place": place, **around, "parts": list(parts)})
    return {
        "heading": mask_controls(heading),
        "said": mask_controls(", ".join(sure)),
        "sides": sides,
    }


def _describe_place(row: Mapping[str, Any]) -> str:
    where = [Path(row.get("file", "")).name, f"line {row.get('line', '')}", row.get("source")]
    return f"{row.get('id', '')} ({', '.join(str(part) for part in where if part)})"


def _mark_shared(
    left: str, right: str
) -> tuple[Iterator[tuple[str, bool]], Iterator[tuple[str, bool]]]:
    """Both texts in runs of words, each with whether the other one has it too."""
    sides = [text.split()[:_LONGEST] for text in (left, right)]
    folded = [[_MARKS.sub("", word.lower()) for word in side] for side in sides]
    blocks = SequenceMatcher(None, folded[0], folded[1], False).get_matching_blocks()

    def runs(side: int) -> Iterator[tuple[str, bool]]:
        last, between = 0, ""
        for block in blocks:
            first = (block.a, block.b)[side]
            for start, end, hit in ((last, first, False), (first, first + block.size, True)):
                if start < end:
                    if between:
                        yield between, True
                    yield mask_controls(" ".join(sides[side][start:end])), hit
                    between = " "
            last = first + block.size

    return runs(0), runs(1)
