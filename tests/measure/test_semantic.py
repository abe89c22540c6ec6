"""Semantic diversity: worked values, the matrix of all pairs, neighbours, intervals, variants."""

from __future__ import annotations

import math
import random
import sys
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.annotate import embeddings
from rote.compare.intervals import left_out_error
from rote.core.errors import MissingExtra, OptionError
from rote.core.metric import Values, Work
from rote.measure import Settings, lexical, semantic
from rote.measure import _sentences as meaning
from rote.measure import semantic as nearest
from rote.measure._sentences import Embedded, Sentences
from rote.measure.driver.compute import compute
from rote.measure.semantic import METRIC, NearestIndex, Options, Rows, arranged, nearest_among
from tests.examples import Maker, drawn, some

from .embedding import FakeEmbedder

Points = list[list[list[float]]]
RNG = np.random.default_rng(0)


def embedded(texts: Points, dimensions: int = 3) -> Embedded:
    """Texts as lists of vectors; as if every vector were a sentence of one word."""
    points = [point for text in texts for point in text]
    vectors = np.array(points, np.float64).reshape(len(points), dimensions)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    counts = np.array([len(text) for text in texts], np.int64)
    places = np.arange(len(points), dtype=np.int64)
    return Embedded(
        vectors=vectors.astype(np.float32),
        sentences=Sentences(places, places + 1, np.repeat(np.arange(len(texts)), counts)),
        cut=np.zeros(len(points), np.bool_),
        sentence_counts=counts,
        unfinished=np.zeros_like(counts),
        without=np.zeros_like(counts),
        looks={},
    )


def rows_of(texts: Points, groups: dict[str, Any] | None = None) -> Rows:
    dimensions = next((len(point) for text in texts for point in text), 3)
    return arranged(embedded(texts, dimensions), Work(groups=groups or {}))


def values_of(rows: Rows, take: Any = None, **settings: Any) -> Values:
    chosen = np.arange(len(rows.counts)) if take is None else np.array(take, np.int64)
    return METRIC.reduce(rows, chosen, Options(**settings), RNG)


def all_pairs(rows: Rows, take: Any, variant: str = "exact") -> Values:
    """The slow twin: one matrix of all cosines."""
    vectors = rows.embedded.vectors[rows.embedded.sentences.of(np.array(take, np.int64))]
    unit = vectors.astype(np.float64)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    cosines = unit @ unit.T
    n = len(unit)
    if n < 2:
        found = {"semantic": math.nan, "nearest": math.nan, "vendi": 1.0 if n else math.nan}
        mean = math.nan
    else:
        other = ~np.eye(n, dtype=bool)
        shares = np.linalg.eigvalsh(cosines / n)
        shares = shares[shares > 1e-15]
        found = {
            "semantic": float(((1 - cosines[other]) / 2).mean()),
            "nearest": float((1 - np.where(other, cosines, -9)).min(axis=1).mean()),
            "vendi": float(np.exp(-(shares * np.log(shares)).sum())),
        }
        # As in the package, with the distances of texts to themselves.
        mean = float((1 - cosines).mean())
    return {"mean_distance": mean, "nearest": found["nearest"]} if variant == "package" else found


PLACES = [[float(x) for x in place] for place in product(range(-2, 3), repeat=3) if any(place)]
"""Few places, so that many are equal, and none without a direction."""


def texts_of(most: int) -> Maker:
    return some(some(PLACES, 4), most, least=1)


some_texts = drawn(texts_of(9))


@dataclass(frozen=True)
class Split:
    texts: Points
    groups: dict[str, Any]
    take: list[int]


def split_of(chance: random.Random) -> Split:
    """Texts of two sources, and some of them."""
    texts = texts_of(9)(chance)
    first, kept = ([chance.random() < 0.5 for _ in texts] for _ in range(2))
    groups = {
        "a": np.array([n for n, here in enumerate(first) if here], np.int64),
        "b": np.array([n for n, here in enumerate(first) if not here], np.int64),
    }
    return Split(texts, groups, [n for n, keep in enumerate(kept) if keep])


splits = drawn(split_of)


def test_worked_example() -> None:
    right, up, left = [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]
    found = values_of(rows_of([[right, up], [left]]))
    # Cosines 0, 0, -1; every sentence has one at a right angle; eigenvalues 2/3 and 1/3.
    assert found["semantic"] == pytest.approx((1 / 2 + 1 / 2 + 1) / 3)
    assert found["nearest"] == pytest.approx(1)
    assert found["vendi"] == pytest.approx(math.exp(math.log(3) - 2 / 3 * math.log(2)))


@pytest.mark.parametrize("variant", ["exact", "package"])
@given(split=splits)
def test_values_are_those_of_the_matrix_of_all_pairs(variant: str, split: Split) -> None:
    rows = rows_of(split.texts, split.groups)
    found = values_of(rows, split.take, variant=variant)
    expected = all_pairs(rows, split.take, variant)
    assert list(found) == list(expected)
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-6, nan_ok=True)
    assert METRIC.resample is not None
    again = METRIC.resample(rows, np.array(split.take, np.int64), Options(variant=variant), RNG)  # type: ignore[arg-type]
    assert again == pytest.approx(found, nan_ok=True)
    own = Options(variant=variant)  # type: ignore[arg-type]
    takes = [np.array(split.take, np.int64), *split.groups.values()]
    at_once = semantic.many(rows, takes, set(found), own)
    for number, take in enumerate(takes):
        alone = METRIC.resample(rows, take, own, RNG)
        together = {name: float(column[number]) for name, column in at_once.items()}
        assert together == pytest.approx(alone, nan_ok=True, abs=1e-12)
    assert list(semantic.many(rows, takes, {"nearest"}, own)) == ["nearest"]


@given(split=splits, listed=st.integers(1, 4), at_once=st.integers(1, 30))
def test_lists_of_neighbours_change_nothing(split: Split, listed: int, at_once: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nearest, "FEW", 1)
        patch.setattr(nearest, "LISTED", listed)
        patch.setattr(nearest, "_AT_ONCE", at_once)
        rows = rows_of(split.texts, split.groups)
        found = values_of(rows, split.take)["nearest"]
        assert found == pytest.approx(all_pairs(rows, split.take)["nearest"], abs=1e-6, nan_ok=True)


def test_many_sentences_use_the_lists_and_few_do_not() -> None:
    rng = np.random.default_rng(1)
    texts: Points = rng.normal(size=(400, 3, 6)).tolist()
    groups = {"a": np.arange(0, 400, 2), "b": np.arange(1, 400, 2)}
    rows = rows_of(texts, groups)
    values_of(rows, np.arange(0, 90, 2))
    assert not rows.neighbours.lists
    halves = [np.sort(rng.choice(groups["a"], 180, replace=False)) for _ in range(3)]
    mixed = np.sort(rng.choice(400, 200, replace=False))
    for take in (groups["a"], *halves, mixed, np.arange(400)):
        found = values_of(rows, take)["nearest"]
        assert found == pytest.approx(all_pairs(rows, take)["nearest"], abs=1e-6)
    assert set(rows.neighbours.lists) == {(0, 0), (0, 1), (1, 0), (1, 1)}


def test_a_vector_is_not_its_own_neighbour() -> None:
    vectors = np.eye(3, dtype=np.float32)
    everyone = np.arange(3)
    assert nearest_among(vectors, everyone, everyone).tolist() == [1, 1, 1]
    assert nearest_among(vectors, everyone, np.array([1, 2])).tolist() == [1, 1, 1]
    assert nearest_among(np.vstack((vectors, vectors)), everyone, np.arange(6)).tolist() == [0] * 3
    assert NearestIndex(vectors, np.zeros(3, np.int64)).distances(np.array([0, 2])).tolist() == [
        1,
        1,
    ]


@given(texts=drawn(texts_of(7)))
def test_standard_error_leaves_out_one_text_at_a_time(texts: Points) -> None:
    rows = rows_of(texts)
    held = [number for number, text in enumerate(texts) if text]
    errors = semantic.standard_errors(rows, np.arange(len(texts)), Options())
    left = [all_pairs(rows, [n for n in held if n != out]) for out in held]
    assert set(errors) == {"semantic", "vendi"}
    for name, error in errors.items():
        without = np.array([values[name] for values in left])
        if len(held) < 2 or np.isnan(without).any():
            assert math.isnan(error)
        else:
            share = (len(held) - 1) / len(held)
            expected = math.sqrt(share * ((without - without.mean()) ** 2).sum())
            assert error == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("count", [30, 90])
def test_the_vendi_score_without_each_text_is_that_of_the_others(count: int) -> None:
    # Fewer vectors than dimensions, and more.
    rng = np.random.default_rng(count)
    texts = np.sort(rng.integers(0, 12, count))
    points = (
        rng.normal(size=(count, 50)) * np.linspace(2, 0.1, 50) + rng.normal(size=(12, 50))[texts]
    )
    vectors = (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)
    vectors[5] = vectors[0]
    found = semantic.vendi_without(vectors, texts)
    expected = [semantic.vendi(vectors[texts != text]) for text in np.unique(texts)]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert np.std(expected) > 0.01
    assert math.isnan(semantic.vendi_without(vectors, np.zeros(count))[0])


def test_intervals_of_the_vendi_score_cover_what_they_should() -> None:
    rng = np.random.default_rng(4)

    def drawn() -> tuple[Any, Any]:
        texts = np.repeat(np.arange(20), rng.integers(1, 6, 20))
        topics = rng.normal(size=(20, 24)) * np.linspace(1.5, 0.2, 24)
        points = topics[texts] + rng.normal(size=(len(texts), 24)) * np.linspace(1.2, 0.3, 24)
        return (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32), texts

    target = np.mean([semantic.vendi(drawn()[0]) for _ in range(400)])
    covered = []
    for _ in range(150):
        vectors, texts = drawn()
        error = left_out_error(semantic.vendi_without(vectors, texts))
        covered.append(abs(semantic.vendi(vectors) - target) <= 1.96 * error)
    # The share of 150 has itself a standard error of 2 points; the jackknife errs on the safe side.
    assert np.mean(covered) >= 0.9


@given(texts=some_texts)
def test_a_text_has_the_diversity_of_its_own_sentences(texts: Points) -> None:
    rows = rows_of(texts)
    column = semantic.per_text(rows, Options())["semantic"]
    for number, found in enumerate(column):
        expected = all_pairs(rows, [number])["semantic"]
        assert found == pytest.approx(expected, abs=1e-6, nan_ok=True)
    assert semantic.per_text(rows, Options(unit="text")) == {}


@given(texts=some_texts, block=st.integers(1, 5))
def test_blocks_change_neither_sums_nor_the_vendi_score(texts: Points, block: int) -> None:
    rows = rows_of(texts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(meaning, "_BLOCK", block)
        patch.setattr(semantic, "_BLOCK", block)
        cut = rows_of(texts)
        np.testing.assert_allclose(cut.sums, rows.sums, atol=1e-12)
        assert values_of(cut) == pytest.approx(values_of(rows), nan_ok=True)


def test_a_large_source_is_resampled_without_the_vendi_score(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts: Points = np.random.default_rng(2).normal(size=(6, 2, 3)).tolist()
    groups = {"a": np.arange(4), "b": np.arange(4, 6)}
    monkeypatch.setattr(semantic, "RESAMPLED", 8)
    assert rows_of(texts, groups).few
    monkeypatch.setattr(semantic, "RESAMPLED", 7)
    rows = rows_of(texts, groups)
    options = Options()
    for take in groups.values():
        assert list(semantic.resample(rows, take, options, RNG)) == ["semantic", "nearest"]
        assert list(semantic.reduce(rows, take, options, RNG)) == ["semantic", "nearest", "vendi"]
        assert "more than 7 sentences (--sentences 7" in semantic.notes(rows, take, options)[-1]
    package = Options(variant="package")
    assert semantic.notes(rows, groups["a"], package) == []


@pytest.mark.parametrize("texts", [[], [[]], [[], [[1.0, 0.0, 0.0]]]])
def test_fewer_than_two_sentences_have_no_pairs(texts: Points) -> None:
    rows = rows_of(texts)
    found = values_of(rows)
    assert math.isnan(found["semantic"])
    assert math.isnan(found["nearest"])
    assert found["vendi"] == 1 if any(texts) else math.isnan(found["vendi"])
    assert all(map(math.isnan, values_of(rows, variant="package").values()))
    notes = semantic.notes(rows, np.arange(len(texts)), Options())
    assert notes[-1] == "fewer than two sentences: no pairs to compare"


def test_variants_choose_what_is_embedded() -> None:
    assert Options().choice.count is None
    assert Options(variant="paper").choice.count == 2000
    assert Options(variant="paper", sentences=50).choice.count == 50
    assert Options(variant="package").choice.unit == "text"
    assert Options(drop_incomplete="both").choice.drop == "both"
    with pytest.raises(OptionError, match="at least 2"):
        Options(sentences=1)


def test_a_missing_package_is_missed_before_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtra, match=r"\.\[semantic\]"):
        compute({"semantic": Options()}, ["A text.", "Another."])
    panel = [("lexical", lexical.Options()), ("semantic", Options())]
    found = compute(panel, ["A text.", "Another."], panel=True)
    assert [result.measure for result in found] == ["lexical"]
    assert "semantic is left out" in found[0].notes[-1]


def test_from_texts_to_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = FakeEmbedder(vector=lambda text: [1, float("b" in text)])
    monkeypatch.setattr(embeddings, "get", lambda name: embedder)
    texts = {"a": ["An a. One b.", "An a."], "b": ["No b.", "A b. No b.", "A b. Some b."]}
    settings = Settings(reference="b", permutations=9, per_text=True)
    result = compute({"semantic": Options()}, texts, settings=settings)[0]
    # Cosine of (1, 0) and (1, 1): the two pairs of three that differ.
    expected = 2 / 3 * (1 - 1 / math.sqrt(2)) / 2
    assert result.by_source["a"].values["semantic"] == pytest.approx(expected)
    assert result.by_source["b"].values == pytest.approx(
        {"semantic": 0, "nearest": 0, "vendi": 1}, abs=1e-7
    )
    assert "|embedder:fake/1|" in str(result.signature)
    assert result.tables["texts"][0]["semantic"] == pytest.approx((1 - 1 / math.sqrt(2)) / 2)


def test_answers_to_one_prompt_are_a_set_each(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    embedder = FakeEmbedder(vector=lambda text: [float("a" in text), float("b" in text)])
    monkeypatch.setattr(embeddings, "get", lambda name: embedder)
    lines = [("p", "a"), ("p", "b"), ("q", "a"), ("q", "a")]
    path = tmp_path / "answers.jsonl"
    path.write_text(
        "\n".join(f'{{"doc_id": "{prompt}", "text": "{text}"}}' for prompt, text in lines)
    )
    options = {"semantic": Options(unit="text")}
    result = compute(options, path, settings=Settings(within="doc_id"))[0]
    (source,) = result.by_source.values()
    assert source.values == pytest.approx({"semantic": 0.25, "nearest": 0.5, "vendi": 1.5})
    assert len(embedder.asked) == 4


def test_what_moves_with_the_number_of_sentences_is_not_tested_where_they_are_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    embedder = FakeEmbedder(lambda text: [len(text), 1])
    monkeypatch.setattr(embeddings, "get", lambda name: embedder)
    texts = {"a": ["An a. One b. Two c.", "An a."], "b": ["No b.", "A b. No b.", "A bc. Some b."]}
    every = {"semantic", "nearest"}
    for most, tested in ((None, every), (100, every), (3, {"semantic"})):
        settings = Settings(reference="b", permutations=9)
        result = compute({"semantic": Options(sentences=most)}, texts, settings=settings)[0]
        assert {row["value"] for row in result.comparisons} == tested
        said = any("not tested" in note for note in result.by_source["a"].notes)
        assert said == (most == 3)


def test_half_samples_of_the_vendi_score_vary_as_the_score_does() -> None:
    """A score that grows with the texts varies less in half of them, until it has its size."""
    rng = np.random.default_rng(1)
    topics = rng.normal(size=(12, 1, 48))
    texts, scores, errors = 20, [], []
    (vendi_score,) = (v for v in semantic.values(semantic.Options()) if v.name == "vendi")
    for _ in range(250):
        apart = rng.gamma(2, 0.5, (texts, 1, 1))
        about = topics[rng.integers(0, 12, texts)] + rng.normal(size=(texts, 1, 48)) * apart
        vectors = about + 0.7 * rng.normal(size=(texts, 4, 48)) * apart
        vectors /= np.linalg.norm(vectors, axis=2, keepdims=True)
        scores.append(semantic.vendi(vectors.reshape(-1, 48)))
        takes = [rng.permutation(texts)[: texts // 2] for _ in range(20)]
        halves = np.array([semantic.vendi(vectors[take].reshape(-1, 48)) for take in takes])
        at_full_size = vendi_score.at_full_size(halves, scores[-1])
        errors.append([halves.std(ddof=1), at_full_size.std(ddof=1)])
    of_halves, brought_to_size = np.sqrt(np.square(errors).mean(axis=0)) / np.std(scores, ddof=1)
    assert of_halves < 0.8
    assert 0.85 < brought_to_size < 1.2
