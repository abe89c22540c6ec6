"""What a repetition study says of its arms: numbers by hand, and intervals at their level."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rote.core.result import Result
from rote.core.signature import Signature
from rote.curate.pairs import TrainingPair
from rote.studies._repetition import (
    SCORES,
    OverlapScores,
    StudyArm,
    TrainedStudy,
    contrast_rows,
    neighbour_rows,
)

SEEDS = (0, 1, 2)


def made(items: int) -> TrainedStudy:
    arms = [
        StudyArm("theta=1", "limited", 1),
        StudyArm("all", "all"),
        StudyArm("without neighbours", "apart"),
    ]
    texts = {(arm.name, seed): Path("t") for arm in arms for seed in SEEDS}
    test = [TrainingPair(f"d/{n}", f"document {n}", "reference") for n in range(items)]
    return TrainedStudy(Path("f"), arms, test, [], "", texts)


def scored(trained: TrainedStudy, scores: dict[str, np.ndarray], bins: np.ndarray) -> OverlapScores:
    """`scores`: by arm a table of seeds by items."""
    rows = [
        {
            "source": arm,
            "id": f"{one.id}/{arm}/{seed}",
            "bin": int(bins[n]) + 1,
            **{score: float(table[row, n]) for score in SCORES},
        }
        for arm, table in scores.items()
        for row, seed in enumerate(SEEDS)
        for n, one in enumerate(trained.test)
    ]
    result = Result("overlap", Signature(()), (), None, None, {}, tables={"items": rows})
    return OverlapScores(result, trained)


def test_differences_are_taken_item_by_item() -> None:
    trained = made(6)
    bins = np.array([0, 0, 0, 2, 2, 2])
    lower, higher = np.full((3, 6), 0.1), np.full((3, 6), 0.1)
    higher[:, 3:] += np.array([[0.1], [0.2], [0.3]])
    items = scored(trained, {"theta=1": lower, "all": higher}, bins)
    (row,) = [
        r for r in contrast_rows("all", "theta=1", items, None, 0.95) if r["score"] == "rouge_2"
    ]
    assert row["in_nov"] == pytest.approx(0)
    assert row["in_sim"] == pytest.approx(0.2)
    assert row["more_in_sim"] == pytest.approx(0.2)
    assert row["between_seeds"] == pytest.approx(0.1)


def test_what_is_lost_without_neighbours_is_told_from_what_all_lose() -> None:
    trained = made(8)
    trained.apart = {
        0: np.array([0, 1, 2, 3]),
        1: np.array([4, 5, 6, 7]),
        2: np.array([0, 2, 4, 6]),
    }
    whole, without = np.full((3, 8), 0.5), np.full((3, 8), 0.4)
    for row, seed in enumerate(SEEDS):
        without[row, trained.apart[seed]] -= 0.15
    items = scored(trained, {"all": whole, "without neighbours": without}, np.zeros(8, np.int64))
    found = [r for r in neighbour_rows(items, trained, 0.95) if r["score"] == "rouge_2"]
    assert [row["items"] for row in found] == ["all"]
    assert found[0]["lost"] == pytest.approx(0.25)
    assert found[0]["lost_by_others"] == pytest.approx(0.1)
    assert found[0]["by_rote"] == pytest.approx(0.15)


def test_where_neighbours_do_nothing_the_interval_holds_nothing_as_often_as_it_says() -> None:
    """Items differ, and their losses do too, alike in all seeds; which are treated is drawn."""
    random = np.random.default_rng(5)
    trained, held, runs = made(60), 0, 150
    for _ in range(runs):
        trained.apart = {s: np.sort(random.choice(60, 30, replace=False)) for s in SEEDS}
        level = random.gamma(1.0, 0.2, 60)
        whole = level + random.normal(scale=0.05, size=(3, 60))
        without = level * random.uniform(0.5, 1.1, 60) + random.normal(scale=0.05, size=(3, 60))
        items = scored(
            trained, {"all": whole, "without neighbours": without}, np.zeros(60, np.int64)
        )
        row = next(r for r in neighbour_rows(items, trained, 0.95) if r["score"] == "rouge_2")
        held += row["by_rote_low"] <= 0 <= row["by_rote_high"]
    assert 0.9 <= held / runs <= 0.995


def test_items_with_the_same_document_are_one_cluster() -> None:
    draw = np.random.default_rng(0)
    trained, several = made(40), made(160)
    for n, one in enumerate(several.test):
        several.test[n] = TrainingPair(one.id, f"document {n % 40}", "reference")
    scores = {arm: draw.random((3, 40)) for arm in ("theta=1", "all")}
    bins = np.arange(40) % 2
    alone = scored(trained, scores, bins)
    again = scored(several, {k: np.tile(v, 4) for k, v in scores.items()}, np.tile(bins, 4))
    found, wanted = (
        one.difference("all", "theta=1", "rouge_2", one.bin == 0) for one in (again, alone)
    )
    assert found.value == pytest.approx(wanted.value)
    assert found.error == pytest.approx(wanted.error)
    mean = float(scores["all"][:, bins == 0].mean())
    assert again.ends("all", "rouge_2", 1, mean, 0.95) == pytest.approx(
        alone.ends("all", "rouge_2", 1, mean, 0.95)
    )
