"""Short records written for these tests: two writers who answer the same questions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.kit import write_jsonl

PLACES = ("mill", "bridge", "orchard", "harbour", "school", "chapel", "quarry", "market")
_HUMAN = (
    "Nobody went near the {} after the flood. My uncle kept a ladder there, two buckets and a "
    "saw. We sold the ladder in May.",
    "Ask at the {} if you need nails. They open late. Bring your own bag, and do not park in "
    "front of the gate.",
)
_MODEL = (
    "The old {} stands as a testament to the beauty of the past. The old {} reminds us of the "
    "power of the people. It is a reminder of the value of the community.",
)
DOCUMENT = "The {} was built by Anna Keller in Bremen. It burned down and was built again."


def records() -> list[dict[str, Any]]:
    """Eight texts of each writer, with what they were made from and how they should read."""
    found = []
    for number, place in enumerate(PLACES):
        texts = {"human": _HUMAN[number % 2].format(place), "model": _MODEL[0].format(place, place)}
        for source, text in texts.items():
            found.append(
                {
                    "id": f"{source}-{place}",
                    "doc_id": place,
                    "source": source,
                    "text": text,
                    "reference": f"Anna Keller built the {place} in Bremen.",
                    "document": DOCUMENT.format(place),
                }
            )
    return found


def write(path: Path, rows: list[dict[str, Any]], *without: str) -> Path:
    """As JSON Lines, without some of the fields."""
    kept = [{k: v for k, v in row.items() if k not in without} for row in rows]
    return write_jsonl(path, kept)
