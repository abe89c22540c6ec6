"""The recipe of the open summarizer: its quick updates are those of transformers and of rote."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from rote.models.training.objectives import (  # noqa: E402  # noqa: E402
    CalibrationObjective,
    FineTuning,
    PairTokens,
    encode_pairs,
    logits_of,
)
from rote.models.training.summarizer import start_from_config  # noqa: E402

ROOT = Path(__file__).parents[2] / "training" / "open-summarizer"
WORDS = "the cat sat on a mat and one dog ran over hills far away from nothing".split()


@pytest.fixture(scope="module")
def quick() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT))
        yield importlib.import_module("quick")


@pytest.fixture
def loaded() -> Any:
    return start_from_config("tiny", [" ".join(WORDS)] * 2, 0, "cpu")


@pytest.fixture
def tokens(loaded: Any) -> PairTokens:
    random = np.random.default_rng(0)
    documents, references = (
        [" ".join(random.choice(WORDS, random.integers(1, most))) for _ in range(60)]
        for most in (90, 30)
    )
    return encode_pairs(loaded, documents, references, 160, 48)


def padded(quick: Any, tokens: PairTokens, rows: Any) -> tuple[Any, ...]:
    inputs, mask = quick.padded(tokens.documents, rows, 160, tokens.pad)
    said, _ = quick.padded(tokens.references, rows, 48, tokens.pad)
    return inputs, mask, quick.shifted(said, tokens.start)


def test_logits_are_those_of_transformers(quick: Any, loaded: Any, tokens: PairTokens) -> None:
    rows = np.arange(len(tokens))
    loaded.model.eval()
    theirs, labels = logits_of(loaded, tokens, tokens.batch(rows))
    ours = quick.logits(loaded.model, *padded(quick, tokens, torch.as_tensor(rows)))
    learned = labels >= 0
    assert learned.sum() > len(tokens)
    torch.testing.assert_close(
        ours[:, : theirs.shape[1]][learned], theirs[learned], atol=1e-5, rtol=1e-4
    )


def gradients(model: Any, loss: Any) -> list[Any]:
    model.zero_grad()
    loss.backward()
    return [one.grad.clone() for one in model.parameters()]


def test_losses_and_gradients_are_those_of_rote(
    quick: Any, loaded: Any, tokens: PairTokens
) -> None:
    loaded.model.eval()
    rows = np.arange(12)
    count = 3
    some = replace(tokens, documents=tokens.documents, references=tokens.references)
    candidates = encode_pairs(
        loaded, [""] * 36, [" ".join(WORDS[i % 9 :]) for i in range(36)], 8, 48
    )
    weights = {"margin": 0.01, "alpha": 0.6, "rank_weight": 10.0, "reference_weight": 0.1}
    theirs = (
        FineTuning(loaded, tokens, rows, 2_048, 0.1),
        CalibrationObjective(loaded, some, candidates.references, count, 4, **weights),
    )
    ours = (
        quick.Fitted(loaded.model, tokens, rows, 2_048, 0.1, "cpu"),
        quick.Calibrated(
            loaded.model,
            some,
            candidates.references,
            count,
            4,
            smoothing=0.1,
            device="cpu",
            **weights,
        ),
    )
    for one, other in zip(theirs, ours):
        wanted, found = one.loss(rows, rows), other.loss((160, 48), torch.as_tensor(rows))
        torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5)
        pairs = zip(gradients(loaded.model, found), gradients(loaded.model, wanted))
        assert all(torch.allclose(a, b, atol=1e-4, rtol=1e-3) for a, b in pairs)


def test_a_plan_reads_all_rows_once_an_epoch(quick: Any, loaded: Any, tokens: PairTokens) -> None:
    chosen = np.arange(5, 60)
    one = quick.Fitted(loaded.model, tokens, chosen, 600, 0.1, "cpu")
    plan = one.plan(3, 400)
    assert len(plan) == 400
    read = np.concatenate([rows for _, rows in plan])
    assert set(read) == set(chosen)
    assert np.ptp(np.bincount(read)[5:]) <= 2  # what does not fill a batch waits
    for shape, rows in plan:
        assert len(rows) == 600 // sum(shape)
        assert (tokens.documents.lengths[rows] <= shape[0]).all()
        assert (tokens.references.lengths[rows] <= shape[1]).all()
    again = one.plan(3, 400)
    assert all((a[1] == b[1]).all() for a, b in zip(plan, again))


def test_a_stopped_training_ends_in_the_same_weights(
    quick: Any, loaded: Any, tokens: PairTokens, tmp_path: Path
) -> None:
    model, rows = loaded.model, np.arange(60)
    began = [one.detach().clone() for one in model.parameters()]
    one = quick.Fitted(model, tokens, rows, 1_000, 0.1, "cpu")
    plan = one.plan(0, 8)

    def updates() -> Any:
        made = quick.Updates(model, one.loss, plan, "cpu", True)
        made.reset(began)
        return made

    whole = updates()
    whole.run(1e-3, 3, 0, 8)
    wanted = [own.detach().clone() for own in model.parameters()]
    assert whole.mean_loss(2) < whole.losses[:2].mean()
    first = updates()
    first.run(1e-3, 3, 0, 5)
    first.save(tmp_path / "checkpoint")
    second = updates()
    second.load(tmp_path / "checkpoint")
    second.run(1e-3, 3, 0, 8)
    assert all(torch.equal(a, b) for a, b in zip(wanted, model.parameters()))
    assert torch.equal(whole.losses, second.losses)


def test_seeds_without_subsets_are_refused_before_any_work(quick: Any, tmp_path: Path) -> None:
    lacking = importlib.import_module("run").lacking
    assert "prepare.py makes it" in lacking(tmp_path, 3)
    (tmp_path / "carried").mkdir()
    held = {f"theta2-{seed}": np.arange(2) for seed in range(3)}
    np.savez(tmp_path / "carried" / "subsets.npz", **held)
    assert [lacking(tmp_path, seeds) for seeds in (1, 3)] == ["", ""]
    assert "--seeds 5" in lacking(tmp_path, 5)
    assert "for 3 seeds" in lacking(tmp_path, 5)
    assert "--seeds 0" in lacking(tmp_path, 0)
