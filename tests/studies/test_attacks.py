"""Attack scores on a model whose distribution is known, and how well they separate and predict."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rote
from rote.compare.clusters import number_clusters
from rote.core.errors import OptionError
from rote.core.model import Continuation, Scored
from rote.corpus.items import Item
from rote.models.backends.fake import Fake
from rote.studies import _memorization_scores as attacks
from rote.studies._memorization_classifiers import (
    FOLDS,
    _Logistic,
    _out_of_fold,
    _scores,
    _wald_coefficients,
    predict,
    stratified_folds,
)
from rote.studies._memorization_scores import error_zone, separation

TABLE = {
    "": {"the": 0.75, "a": 0.25},
    "the": {"cat": 0.5, "dog": 0.25, "end": 0.25},
    "cat": {"sat": 0.5, "ran": 0.5},
    "a": {"dog": 1.0},
    "dog": {"ran": 0.875, "sat": 0.125},
}
MODEL = Fake(TABLE)


def scored(context: str, text: str) -> Scored:
    return MODEL.score([Continuation(context, text)])[0]


def test_a_text_is_cut_between_words_and_the_space_goes_to_the_second_half() -> None:
    assert attacks.cut_in_half("one two three four") == Continuation("one two", " three four")
    assert attacks.cut_in_half("one two three") == Continuation("one", " two three")
    assert attacks.cut_in_half("alone") == Continuation("alone", "")
    assert attacks.cut_in_half("") == Continuation("", "")


@given(st.text(max_size=60))
def test_the_halves_of_any_text_put_together_are_the_text(text: str) -> None:
    cut = attacks.cut_in_half(text)
    assert cut.context + cut.text == text


def test_scores_are_those_worked_out_by_hand() -> None:
    text = "the dog sat"
    whole = scored("", text)
    logs = [math.log(0.75), math.log(0.25), math.log(0.125)]
    assert attacks.loss(whole) == pytest.approx(-sum(logs) / 3)
    assert attacks.zlib_loss(text, whole) == pytest.approx(
        -sum(logs) / 3 / len(zlib.compress(b"the dog sat"))
    )
    assert attacks.min_k(whole, 0.4) == pytest.approx(math.log(0.125))
    assert attacks.min_k(whole, 0.7) == pytest.approx((math.log(0.125) + math.log(0.25)) / 2)
    # Fewer than one token: the lowest one counts.
    assert attacks.min_k(whole, 0.01) == pytest.approx(math.log(0.125))


def test_min_k_plus_measures_in_standard_deviations_of_the_models_own_distribution() -> None:
    whole = scored("", "the dog")
    expected = []
    for row, word in ((TABLE[""], "the"), (TABLE["the"], "dog")):
        mean = sum(p * math.log(p) for p in row.values())
        spread = math.sqrt(sum(p * (math.log(p) - mean) ** 2 for p in row.values()))
        expected.append((math.log(row[word]) - mean) / spread)
    assert attacks.min_k_plus(whole, 1.0) == pytest.approx(sum(expected) / 2)
    assert attacks.min_k_plus(whole, 0.5) == pytest.approx(min(expected))


def test_a_certain_place_says_nothing_to_min_k_plus() -> None:
    assert attacks.min_k_plus(scored("a", " dog ran"), 1.0) == pytest.approx(
        attacks.min_k_plus(scored("a dog", " ran"), 1.0)
    )
    assert math.isnan(attacks.min_k_plus(scored("a", " dog"), 1.0))


def test_a_completion_is_the_second_half_if_every_token_is_the_likeliest() -> None:
    assert attacks.is_completed(scored("the", " cat sat")) == 1  # equal chances: the first of them
    assert attacks.is_completed(scored("the", " cat ran")) == 0
    assert attacks.second_half_likelihood(scored("the", " cat ran")) == pytest.approx(
        2 * math.log(0.5)
    )
    assert math.isnan(attacks.is_completed(scored("the", "")))


def test_neighbours_are_subtracted() -> None:
    near = [scored("", "the cat"), scored("", "a dog")]
    mean = (attacks.loss(near[0]) + attacks.loss(near[1])) / 2
    assert attacks.neighbour_loss(scored("", "the dog"), near) == pytest.approx(
        attacks.loss(scored("", "the dog")) - mean
    )
    assert math.isnan(attacks.neighbour_loss(scored("", "the dog"), []))


def test_what_a_backend_does_not_see_is_undefined() -> None:
    blind = scored("", "the dog")
    nothing = np.full(2, np.nan)
    seen = Scored(blind.logprobs, blind.starts, blind.ends, blind.greedy, nothing, nothing)
    assert math.isnan(attacks.min_k_plus(seen, 0.2))


SCORES = st.lists(st.integers(-3, 3).map(float), min_size=2, max_size=12)


@given(SCORES, SCORES)
def test_auc_is_the_share_of_pairs_in_order(members: list[float], others: list[float]) -> None:
    pairs = [(m > o) + (m == o) / 2 for m in members for o in others]
    found = separation(np.array(members), np.array(others), alarms=0.25, level=0.95)
    assert found["auc"] == pytest.approx(sum(pairs) / len(pairs))
    # The threshold is the lowest among the others that keeps the false alarms within bounds.
    allowed = [t for t in sorted(others) if sum(o > t for o in others) <= 0.25 * len(others)]
    assert found["found"] == pytest.approx(sum(m > allowed[0] for m in members) / len(members))
    assert found["false_alarms"] <= 0.25


def test_without_members_nothing_separates() -> None:
    found = separation(np.array([np.nan]), np.array([1.0]), alarms=0.01, level=0.95)
    assert (found["members"], found["others"]) == (0, 1)
    assert math.isnan(found["auc"])


def test_the_interval_of_an_auc_covers_the_truth_about_as_often_as_it_says() -> None:
    random, held = np.random.default_rng(4), 0
    truth = 0.7602  # of two normal distributions one standard deviation apart: Phi(1 / sqrt 2)
    for _ in range(400):
        found = separation(random.normal(1, 1, 60), random.normal(0, 1, 60), alarms=0.1, level=0.9)
        held += found["auc_low"] <= truth <= found["auc_high"]
    assert 0.86 <= held / 400 <= 0.94


def test_a_score_that_decides_predicts_and_one_that_does_not_is_no_better_than_the_majority() -> (
    None
):
    random = np.random.default_rng(0)
    telling = random.normal(size=300)
    idle = random.normal(size=300)
    right = (telling + random.normal(size=300) > -0.5).astype(float)
    found = predict(np.column_stack([telling, idle]), ["telling", "idle"], right)
    first, second = found["coefficients"]
    assert first["p"] < 1e-6 < second["p"]
    assert found["logistic_auc_low"] > 0.72
    assert found["svm_auc"] > 0.7
    assert found["logistic_f1_low"] > found["majority_f1"]
    share = right.mean()
    assert found["majority_f1"] == pytest.approx(share / (1 + share))
    alone = predict(idle[:, None], ["idle"], right)
    assert abs(alone["logistic_auc"] - 0.5) < 0.1
    assert alone["logistic_auc_low"] < 0.5 < alone["logistic_auc_high"] + 0.05


def test_neither_the_order_of_items_nor_twins_taken_for_two_make_a_prediction_surer() -> None:
    random = np.random.default_rng(4)
    feature = random.normal(size=80)
    right = (feature + 2 * random.normal(size=80) > 0).astype(float)
    features, order, bases = feature[:, None], np.arange(80), np.arange(80)
    found = predict(features, ["x"], right, order, bases)
    turned = predict(features[::-1], ["x"], right[::-1], order[::-1], bases[::-1])
    assert turned == found
    twice = predict(
        np.repeat(features, 2, axis=0),
        ["x"],
        np.repeat(right, 2),
        np.arange(160),
        np.repeat(bases, 2),
    )
    assert twice["coefficients"][0]["error"] == pytest.approx(
        found["coefficients"][0]["error"], rel=0.1
    )
    width = found["logistic_auc_high"] - found["logistic_auc_low"]
    assert twice["logistic_auc_high"] - twice["logistic_auc_low"] == pytest.approx(width, rel=0.35)


def test_scores_of_samples_are_those_of_items_that_are_there_as_often() -> None:
    from sklearn.metrics import f1_score, roc_auc_score

    rng = np.random.default_rng(3)
    margins, answers = rng.normal(size=(4, 30)).round(0), rng.random(30) < 0.4
    times = rng.integers(0, 4, (5, 30))
    for found, own in zip(_scores(margins, answers, times), times):
        right, drawn = np.repeat(answers, own), np.repeat(margins, own, axis=1)
        f1 = [f1_score(right, one > 0, average="macro") for one in drawn]
        auc = [roc_auc_score(right, one) for one in drawn]
        assert found == pytest.approx([np.mean(f1), np.mean(auc)])


@pytest.mark.parametrize("twins", [1, 2, 3])
def test_folds_are_those_of_scikit_learn(twins: int) -> None:
    from sklearn.model_selection import StratifiedGroupKFold

    for seed in range(3):
        rng = np.random.default_rng([seed, twins])
        count = int(rng.integers(20, 60))
        right = rng.random(count) < rng.uniform(0.3, 0.7)
        bases = (
            number_clusters(rng.integers(0, count // twins, count))
            if twins > 1
            else np.arange(count)
        )
        for split, found in enumerate(stratified_folds(right, bases, seed)):
            peer = StratifiedGroupKFold(FOLDS, shuffle=True, random_state=seed + split)
            for number, (_, held) in enumerate(peer.split(right, right, bases)):
                assert np.array_equal(np.flatnonzero(found == number), held)


def test_coefficients_are_those_of_a_regression_without_penalty() -> None:
    from sklearn.linear_model import LogisticRegression

    random = np.random.default_rng(1)
    features = random.normal(size=(200, 2)) * [1, 100] + [5, 0]
    right = (features[:, 0] - 5 + features[:, 1] / 200 + random.normal(size=200) > 0).astype(float)
    found = predict(features, ["a", "b"], right)
    standard = (features - features.mean(axis=0)) / features.std(axis=0)
    peer = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(standard, right)
    assert [one["value"] for one in found["coefficients"]] == pytest.approx(peer.coef_[0], rel=1e-4)
    margins = _Logistic().fit(standard, right.astype(bool)).decision_function(standard)
    assert margins == pytest.approx(peer.decision_function(standard), rel=1e-4, abs=1e-4)


def test_what_is_not_told_apart_is_not_decided_by_rounding() -> None:
    # Twins have the same features and one of them is right, so every margin is nothing.
    features = np.repeat([[0.1], [0.7], [0.3]], 14, axis=0)
    right, twins = np.tile([True, False], 21), np.arange(42) // 2
    (f1, *_), (auc, *_) = _out_of_fold(_Logistic(), features, right, twins, 0, 0).tolist()
    assert (f1, auc) == (pytest.approx(1 / 3), 0.5)


def test_p_values_are_even_where_nothing_is_to_be_found() -> None:
    random = np.random.default_rng(2)
    small = [
        _wald_coefficients(
            random.normal(size=(120, 1)), ["x"], random.random(120) < 0.4, np.arange(120)
        )[0]["p"]
        for _ in range(60)
    ]
    assert 0.3 < float(np.mean(small)) < 0.7


@pytest.mark.parametrize(
    ("features", "right", "reason"),
    [
        (np.ones((20, 1)), np.tile([0.0, 1.0], 10), "the same for all items"),
        (np.arange(20.0)[:, None], np.ones(20), "fewer than 5"),
        (np.arange(20.0)[:, None], np.repeat([0.0, 1.0], 10), "separated"),
    ],
)
def test_what_cannot_be_fitted_says_why(
    features: np.ndarray, right: np.ndarray, reason: str
) -> None:
    found = predict(features, ["x"], right)
    assert reason in found["reason"]
    assert found["coefficients"] == []


def plain_zone(own: list[float], other: list[float], greedy: list[bool]) -> float:
    up = down = 0.0
    for p, q, taken in zip(own, other, greedy):
        if not taken and p > q:
            up += p - q
        if not taken and p < q:
            down += q - p
    return up / (up + down) if up + down else math.nan


@given(
    st.lists(st.tuples(st.floats(-9, 0), st.floats(-9, 0), st.booleans()), min_size=0, max_size=8)
)
def test_the_error_zone_equals_its_plain_twin(tokens: list[tuple[float, float, bool]]) -> None:
    own, other = (
        Scored.of([(one[place], 0, 1, one[2], -1.0, 1.0) for one in tokens]) for place in (0, 1)
    )
    expected = plain_zone(
        [one[0] for one in tokens], [one[1] for one in tokens], [one[2] for one in tokens]
    )
    assert error_zone(own, other) == pytest.approx(expected, nan_ok=True)


def test_a_reference_model_is_subtracted_and_must_have_the_same_tokens() -> None:
    target = Fake({"": {"a": 0.5, "b": 0.5}, "a": {"a": 0.2, "b": 0.8}, "b": {"a": 0.7, "b": 0.3}})
    before = Fake({"": {"a": 0.6, "b": 0.4}, "a": {"a": 0.1, "b": 0.9}, "b": {"a": 0.6, "b": 0.4}})
    texts = ["a b", "b b", "a a b"]
    items = [
        Item(str(i), "t", "", (text,), 0, "", {"member": i != 1}) for i, text in enumerate(texts)
    ]
    result = rote.memorization(items, model={"m": target}, reference_model=before, member="member")
    rows = result.tables["items"]
    for row, text in zip(rows, texts):
        own, other = (attacks.loss(m.score([Continuation("", text)])[0]) for m in (target, before))
        assert row["reference"] == pytest.approx(own - other)
    # "a b": both likeliest (the first of two equal ones). "b b": the first of them rises from 0.4
    # to 0.5, the second falls from 0.4 to 0.3. "a a b": the second rises from 0.1 to 0.2.
    up, down = math.log(0.5 / 0.4), math.log(0.4 / 0.3)
    assert math.isnan(rows[0]["error_zone"])
    assert rows[1]["error_zone"] == pytest.approx(up / (up + down))
    assert rows[2]["error_zone"] == 1
    assert {"reference", "error_zone"} <= {row["attack"] for row in result.tables["membership"]}
    assert "reference_model:fake/1" in str(result.signature)

    class Otherwise(Fake):
        def score(self, wanted: Sequence[Continuation]) -> list[Scored]:
            return [Scored.of([(-1.0, 0, 99, True, -1.0, 1.0)]) for _ in wanted]

    with pytest.raises(OptionError, match="same tokenizer"):
        rote.memorization(items, model={"m": target}, reference_model=Otherwise(TABLE))


def test_twins_that_cancel_have_no_p_value() -> None:
    """Of each pair one is right and one is wrong, with the same score: nothing pulls."""
    scores = np.repeat(np.random.default_rng(0).normal(size=12), 2)[:, None]
    answers = np.tile([True, False], 12)
    (found,) = _wald_coefficients(scores, ["x"], answers, np.repeat(np.arange(12), 2))
    assert (found["value"], found["error"]) == (0, 0)
    assert math.isnan(found["p"])
