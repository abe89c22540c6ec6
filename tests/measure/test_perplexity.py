"""Perplexity of texts and of templates, on a model whose distribution is known."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rote
from rote.core.model import Continuation
from rote.core.result import Result
from rote.measure._template_corpus import within
from rote.measure.driver import pipeline
from rote.measure.driver.facets import measure_facets
from rote.models.backends.fake import Fake
from rote.report import result_tables as tables
from rote.report.charts import draw_figures

TABLE = {
    "": {"The": 1.0},
    "The": {"cat": 0.5, "dog": 0.5},
    "cat": {"sat": 1.0},
    "dog": {"ran": 0.25, "sat": 0.75},
    "sat": {"down": 0.5, "up": 0.5},
    "ran": {"off": 1.0},
}


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "table.json"
    path.write_text(json.dumps(TABLE))
    return f"fake:{path}"


def test_perplexity_is_two_to_the_mean_bits_of_all_tokens(model: str) -> None:
    texts = ["The cat sat down", "The dog ran off"]
    found = rote.perplexity(texts, model=model, matched=False)
    values = next(iter(found.by_source.values())).values
    bits = (0 + 1 + 0 + 1) + (0 + 1 + 2 + 0)
    assert values["perplexity"] == pytest.approx(2 ** (bits / 8))
    assert values["bits_per_word"] == pytest.approx(bits / 8)
    assert values["bits_per_byte"] == pytest.approx(bits / sum(map(len, texts)))


def test_only_a_model_has_the_threads_of_blas(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_info, threadpool_limits

    counts: list[set[int]] = []

    def counted(*inputs: Any, **settings: Any) -> Any:
        pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
        counts.append({pool["num_threads"] for pool in pools})
        return measure_facets(*inputs, **settings)

    monkeypatch.setattr(pipeline, "measure_facets", counted)
    with threadpool_limits(2, user_api="blas"):
        rote.perplexity(["The cat sat down"], model=model, matched=False)
        rote.lexical(["The cat sat down"], matched=False)
    assert counts == [{2}, {1}]


def test_without_a_model_perplexity_is_undefined_and_says_so() -> None:
    (source,) = rote.perplexity(["The cat"], matched=False).by_source.values()
    assert math.isnan(source.values["perplexity"])
    assert any("--model" in note for note in source.notes)


def test_tokens_count_that_reach_into_a_stretch() -> None:
    (whole,) = Fake(TABLE).score([Continuation("", "The dog ran off")])
    assert within(whole, 4, 11) == pytest.approx((1 + 2) / 2)  # dog ran
    assert within(whole, 5, 6) == pytest.approx(1)  # a letter of dog
    assert within(whole, 0, 15) == pytest.approx(3 / 4)


def templates(*models: str, **keywords: object) -> Result:
    texts = ["The cat sat down", "The dog sat up", "The dog ran off", "The cat sat up"]
    given = {"n": 2, "lengths": (2,), "top": 1, "matched": False, "permutations": 0} | keywords
    return rote.templates(texts, **{"model": models, **given})


def test_template_perplexity_is_the_mean_over_occurrences_then_over_texts(model: str) -> None:
    result = templates(model)
    (template,) = result.tables["templates"]
    assert template["template"] == "DT NN"  # The cat, The dog
    rows = {row["kind"]: row for row in result.tables["perplexity"]}
    assert rows["template"]["perplexity"] == pytest.approx(2**0.5)  # 0 and 1 bit, everywhere
    assert rows["template"]["texts"] == rows["template"]["spans"] == 4
    # What is drawn is no template: one of the two other windows of each text.
    possible = {
        "The cat sat down": {2 ** ((1 + 0) / 2), 2 ** ((0 + 1) / 2)},
        "The dog ran off": {2 ** ((1 + 2) / 2), 2 ** ((2 + 0) / 2)},
    }
    assert rows["other"]["spans"] == 4
    assert min(possible["The cat sat down"]) <= rows["other"]["perplexity"]


def test_without_context_a_stretch_begins_at_the_start(model: str) -> None:
    rows = {row["kind"]: row for row in templates(model, context="none").tables["perplexity"]}
    # The start token is followed by "The" for certain: the same here as within the text.
    assert rows["template"]["perplexity"] == pytest.approx(2**0.5)
    # "cat sat" alone: a word that the table does not have at the start.
    assert rows["other"]["bits"] > 5


def test_models_keep_their_order_and_the_figure_shows_them(model: str, tmp_path: Path) -> None:
    second = tmp_path / "other.json"
    second.write_text(json.dumps({**TABLE, "": {"The": 0.5, "A": 0.5}}))
    result = templates(model, f"fake:{second}")
    names = list(dict.fromkeys(row["model"] for row in result.tables["perplexity"]))
    assert names == ["table.json", "other.json"]
    assert "perplexity" in draw_figures(Result.from_json(result.to_json()))
    assert "table.json" in tables.results_text([result])


def test_draws_depend_on_the_seed_alone(model: str) -> None:
    first, second = (templates(model).tables["perplexity"] for _ in range(2))
    assert [row["perplexity"] for row in first] == [row["perplexity"] for row in second]
    assert not np.isnan([row["perplexity"] for row in first]).any()
