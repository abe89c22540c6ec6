"""The page of a ledger: both sides, what differs, and nothing that runs."""

from __future__ import annotations

import re
from pathlib import Path

import rote
from rote.report.report import BlockGroup
from rote.report.sections import make_sections
from rote.report.texts.ledger import PAGE, ledger_page, write_page
from tests.kit import write_jsonl

FOUND = {
    "id": "d1",
    "file": "a.jsonl",
    "line": 3,
    "text": "The cat sat on a red mat.",
    "item": "q7",
    "task": "quiz",
    "part": "question",
    "score": 0.8,
    "bits": 71.2,
    "answered": False,
    "item_text": "The cat sat on a mat",
}
GONE = {
    "kind": "run",
    "id": "<script>alert(1)</script>",
    "file": "a.jsonl",
    "line": 1,
    "text": "x < y & z",
    "words": 5,
    "kept": {"id": "k", "file": "b.jsonl", "line": 9, "text": "x < y & z"},
}


def test_both_sides_are_shown_and_what_differs_is_marked() -> None:
    shown = ledger_page([FOUND], "Found")
    quotes = re.findall(r"<blockquote[^>]*>(.*?)</blockquote>", shown, re.DOTALL)
    assert [quote.strip() for quote in quotes] == [
        "The cat sat on a <b>red</b> mat.",
        "The cat sat on a mat",
    ]
    assert "quiz: q7, question" in shown
    assert "score 0.80, 71 bits, without its answer" in shown


def test_the_least_sure_come_first_and_nothing_runs() -> None:
    shown = ledger_page([GONE, FOUND], "Both")
    assert shown.index("q7") < shown.index("x &lt; y &amp; z")
    assert "<script>alert" not in shown
    assert shown.count("<script>") == 1


def test_a_corpus_that_was_compared_with_has_no_place() -> None:
    row = {name: value for name, value in GONE.items() if name != "kept"}
    assert "in the corpus that was compared with" in ledger_page([row], "Gone")


def test_the_page_lies_beside_the_ledger(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "found.jsonl", [FOUND])
    assert write_page(tmp_path, "found.jsonl", "Found") == tmp_path / PAGE
    assert "Entries: 1;" in (tmp_path / PAGE).read_text()


def test_a_report_shows_what_a_folder_found(tmp_path: Path) -> None:
    texts = [" ".join(f"w{n * place % 83}" for place in range(120)) for n in (2, 3, 2)]
    records = [{"id": str(n), "text": text, "source": "ab"[n % 2]} for n, text in enumerate(texts)]
    rote.dedup(records, length=20, near=0.0, output=tmp_path / "clean")
    made = rote.report(records, measures=("lexical",), by="source", results=(tmp_path / "clean",))
    (section,) = [one for one in make_sections(made) if one.id == "repetition"]
    (group,) = section.blocks
    assert isinstance(group, BlockGroup)
    assert group.title == "Near-duplicates"
    kinds = [type(block).__name__ for block in group.blocks]
    assert kinds.count("Sheet") == 3
    assert "Figure" in kinds
    assert "runs of 20 words or more that were kept before were cut" in made.markdown()
