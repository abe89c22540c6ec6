"""Novelty and contamination for the eye: figures and tables, also from a result read from JSON."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rote.core.result import Result
from rote.measure import Settings
from rote.measure import contamination as contamination_measure
from rote.measure import novelty as novelty_measure
from rote.measure.driver.compute import compute
from rote.report.charts import draw_figures
from tests.report.test_template_figures import data

OLD = "The ferry left at nine and nobody on the pier waved to the captain or his dog."
NEW = "Grey gulls argued above seventeen crates of unsold oranges, while accordions wheezed on."


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"id": "pier", "author": "Ada", "text": "' + OLD + '"}\n')
    return str(path)


def measured(measure: Any, corpus: str) -> Result:
    options = measure.Options(corpus=corpus)
    texts = {"copier": [OLD, f"{OLD} {NEW}"], "writer\x1b[31m": [NEW, f"{NEW} Truly."]}
    (result,) = compute(
        {measure.METRIC.name: options}, texts, settings=Settings(permutations=9, matched=False)
    )
    return Result.from_json(result.to_json())


def test_the_curves_end_soon_after_everything_is_new_in_every_source(corpus: str) -> None:
    found = measured(novelty_measure, corpus)
    shares = {"copier": [0.2, 0.6, 0.9], "writer": [0.5, 0.999, 0.9]}
    rows = [
        {"source": source, "layer": "lower", "n": n, "novel": novel, "low": novel, "high": novel}
        for source, column in shares.items()
        for n, novel in enumerate([*column, *[1.0] * 27], 1)
    ]
    with_rows = replace(found, tables={**found.tables, "novelty": rows})
    drawn = data(draw_figures(with_rows)["novelty"])
    assert sorted({point["n"] for point in drawn}) == [1, 2, 3, 4, 5]


def test_other_measures_and_empty_tables_have_no_such_figures(corpus: str) -> None:
    assert list(draw_figures(measured(contamination_measure, corpus))) == ["values"]
    (without,) = compute({"novelty": novelty_measure.Options()}, [OLD, NEW])
    assert draw_figures(without) == {}
