"""Further tables on the terminal: what they show, how much of it, and how wide."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from rote.core.result import Result
from rote.report.result_tables import print_tables
from tests.report.made import made


def shown(result: Result, width: int = 160) -> str:
    out = io.StringIO()
    print_tables(result, Console(file=out, width=width, color_system=None))
    return out.getvalue()


def only(name: str, rows: Sequence[Mapping[str, Any]] | None = None, sources: int = 2) -> Result:
    """A result with one of the tables, and what it refers to."""
    result = made(sources)
    kept = {name: result.tables[name] if rows is None else rows}
    return replace(result, tables={"matches": result.tables["matches"], **kept})


def line(text: str, beginning: str) -> str:
    return next(line for line in text.splitlines() if line.strip().startswith(beginning))


def test_many_sources_share_one_screen() -> None:
    for name in ("templates", "distinctive"):
        assert len(shown(only(name, sources=12)).splitlines()) <= 45


def test_texts_that_stand_in_the_corpus_are_a_warning() -> None:
    text = shown(only("in_corpus"))
    assert text.startswith("\nWarning: texts that occur in the corpus")
    assert line(text, "human").split()[1:5] == ["pre-training", "same", "text", "7"]
    assert line(text, "human").endswith("d0, d1, d2, d3, d4, …")


def test_a_sweep_has_mean_spread_and_range() -> None:
    text = shown(only("sweep"))
    assert "Over temperature" in text
    assert "6.000 ±0.120 (0.3000)" in line(text, "human")
    assert "0.0400 ±0.0008 (0.0020)" in line(text, "human")
    rows = [{**made(2).tables["sweep"][0], "sd": 0.0, "range": 0.0}]
    assert "6.000 ±0.000 (0.0000)" in shown(only("sweep", rows))


def test_tables_that_nobody_laid_out_have_a_column_for_each_field() -> None:
    text = shown(made(2, measure="of another package"))
    assert "Over temperature" in text
    assert line(text, "corpus").split()[:4] == ["corpus", "kind", "n", "grams"]
    assert line(text, "pre-training").split()[:4] == ["pre-training", "templates", "100", "0.7000"]
    assert shown(replace(made(2, measure="lexical"), tables={})) == ""


@pytest.mark.parametrize("width", [80, 160])
@pytest.mark.parametrize("sources", [1, 2, 12])
def test_nothing_is_wider_than_the_screen(width: int, sources: int) -> None:
    for text in shown(made(sources), width).splitlines():
        assert cell_len(text) <= width


def test_names_and_texts_cannot_act_on_the_terminal() -> None:
    row = {**made(2).tables["templates"][0], "source": "[red]\x1b[31m", "template": "\x1b[2J"}
    matches = [{"source": row["source"], "template": "\x1b[2J", "text": "a\n\x07b" * 999}]
    result = made(2)
    text = shown(replace(result, tables={"templates": [row], "matches": matches}), 80)
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "[red]␛[31m" in text
    assert all(cell_len(line) <= 80 for line in text.splitlines())


def patterns_of(*sources: str) -> Result:
    """What keyness of patterns finds, by hand: three patterns of each length and either side."""
    rows = [
        {
            "source": source,
            "favoured_by": side,
            "n": n,
            "pattern": " ".join(f"{mark}{rank}" for _ in range(n)),
            "source_count": 40 + rank,
            "reference_count": 4,
            "outside_count": 30 + rank,
            "source_ngrams": 1000,
            "reference_ngrams": 2000,
            "outside_ngrams": 500,
            "z": None if rank == 2 else 9.0 - rank,
            "p_corrected": None if rank == 2 else 0.01 * rank,
            "examples": [] if rank == 2 else [f"such as {mark}{rank}"],
        }
        for source in sources
        for side, mark in (("human", "H"), (source, "S"))
        for n in (3, 4)
        for rank in (1, 2, 3)
    ]
    return replace(made(2, measure="keyness"), tables={"grammar": rows})


def test_favoured_patterns_of_both_sides_stand_below_each_other() -> None:
    text = shown(patterns_of("m"))
    lines = text.splitlines()
    theirs = next(
        i for i, line in enumerate(lines) if "human, in sentences unlike any of m" in line
    )
    ours = next(i for i, line in enumerate(lines) if "m more than human" in line)
    assert theirs < ours
    assert line(text, "H1 H1 H1 ").split()[3:9] == [
        *("62.00", "(31)", "41.00", "(41)", "8.0", "0.010")
    ]
    assert "such as H1" in line(text, "H1 H1 H1 ")
    assert line(text, "S1 S1 S1 ").split()[3:9] == [
        *("41.00", "(41)", "2.00", "(4)", "8.0", "0.010")
    ]
    assert line(text, "H2 H2 H2 ").split()[3:] == ["64.00", "(32)", "42.00", "(42)", "–", "–"]
    assert "H3" not in text


def test_halves_beside_halves_have_a_line_for_each_source() -> None:
    rows = [
        {"source": source, "value": value, "mean": mean, "sd": 0.01, "draws": 50}
        for source, mean in (("m", 0.5), ("human", 0.75))
        for value in ("precision", "recall")
    ]
    rows.append({"source": "n", "value": "recall", "mean": None, "sd": None, "draws": 50})
    values = [{"value": "precision", "title": "precision of trees"}]
    result = replace(
        made(2, measure="precision-recall"), tables={"values": values, "baseline": rows}
    )
    text = shown(result)
    assert "50 draws" in text
    assert line(text, "source").split() == ["source", "precision", "of", "trees", "recall"]
    assert line(text, "human").split() == ["human", "0.7500", "±0.0100", "0.7500", "±0.0100"]
    assert text.index("human") < text.index(" m ")
    assert line(text, "n ").split() == ["n", "–", "–"]
