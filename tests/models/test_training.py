"""Losses against plain twins, batches, and a training that a kill does not change."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rote.core.errors import InputError, OptionError, RoteError
from rote.core.progress import Silent
from tests.models import losses_twin as twin

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")

from rote.models.training import loop, objectives  # noqa: E402
from rote.models.training.loop import TrainOptions, train  # noqa: E402
from rote.models.training.objectives import (  # noqa: E402  # noqa: E402
    CalibrationObjective,
    FineTuning,
    Ragged,
    encode_pairs,
    token_batches,
)
from rote.models.training.summarizer import (  # noqa: E402  # noqa: E402
    Searching,
    add_adapters,
    random_model,
    start_from_config,
    train_tokenizer,
    write,
)

DOCUMENTS = [
    f"the {a} {b} sat on the {c} mat and slept"
    for a in ("old", "grey", "red")
    for b in ("cat", "dog", "hen", "cow")
    for c in ("long", "soft")
]
REFERENCES = [f"a {one.split()[1]} {one.split()[2]} slept" for one in DOCUMENTS]


@pytest.fixture(autouse=True)
def one_thread() -> Any:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def tiny(seed: int = 0, **shape: Any) -> Any:
    config_of = __import__("transformers").MBartConfig
    sizes = {
        "d_model": 16,
        "encoder_layers": 1,
        "decoder_layers": 1,
        "encoder_ffn_dim": 32,
        "decoder_ffn_dim": 32,
        "encoder_attention_heads": 2,
        "decoder_attention_heads": 2,
        "max_position_embeddings": 64,
        "vocab_size": 300,
        "scale_embedding": True,
    }
    tokenizer = train_tokenizer([*DOCUMENTS, *REFERENCES], 300, 64)
    return random_model(config_of(**{**sizes, **shape}), tokenizer, seed, "cpu")


def decoder(seed: int = 0) -> Any:
    config = __import__("transformers").LlamaConfig(
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=64,
        vocab_size=300,
    )
    return random_model(config, train_tokenizer([*DOCUMENTS, *REFERENCES], 300, 64), seed, "cpu")


def same(found: Callable[[Any], Any], twin_of: Callable[[Any], float], at: np.ndarray) -> None:
    """Value and gradient of a loss are those of its twin."""
    given = torch.tensor(at, dtype=torch.float64, requires_grad=True)
    # The losses compute in single precision; here the twin's digits are wanted.
    loss = found(given)
    loss.backward()
    assert float(loss) == pytest.approx(twin_of(at), abs=1e-9)
    assert given.grad.numpy() == pytest.approx(twin.slope(twin_of, at), abs=1e-6)


@pytest.fixture
def double(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.Tensor, "float", lambda self: self)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_cross_entropy_is_its_twin(smoothing: float, double: None) -> None:
    random = np.random.default_rng(1)
    logits = random.normal(size=(3, 4, 7))
    labels = random.integers(0, 7, (3, 4))
    labels[0, 2:] = labels[2, 1:] = objectives.IGNORED
    same(
        lambda x: objectives.cross_entropy(x, torch.tensor(labels), smoothing),
        lambda x: twin.cross_entropy(x, labels, smoothing),
        logits,
    )


@pytest.mark.parametrize(("margin", "alpha"), [(0.001, 2.0), (0.001, 0.6), (0.3, 1.0)])
def test_the_ranking_of_candidates_is_its_twin(margin: float, alpha: float, double: None) -> None:
    random = np.random.default_rng(2)
    logits = random.normal(size=(12, 5, 6))
    labels = random.integers(0, 6, (12, 5))
    for row, length in enumerate(random.integers(1, 6, 12)):
        labels[row, length:] = objectives.IGNORED
    same(
        lambda x: objectives.ranking_loss(
            objectives.length_normalized(x, torch.tensor(labels), alpha).view(3, 4), margin
        ),
        lambda x: twin.ranking(twin.scores(x, labels, alpha).reshape(3, 4), margin),
        logits,
    )


def test_candidates_in_the_right_order_and_apart_cost_nothing() -> None:
    scores = torch.tensor([[-1.0, -2.0, -3.0]])
    assert float(objectives.ranking_loss(scores, 0.001)) == 0
    assert float(objectives.ranking_loss(scores.flip(1), 0.0)) == pytest.approx(1 + 2)


def test_batches_hold_every_row_once_and_no_more_tokens_than_there_is_room_for() -> None:
    draw = np.random.default_rng(0)
    read, said = draw.integers(3, 60, 500), draw.integers(2, 20, 500)
    read[7] = 300  # longer than the room: alone
    made = token_batches(read, said, 512, seed=1, epoch=0)
    assert sorted(np.concatenate(made).tolist()) == list(range(500))
    padded = [len(one) * int(read[one].max() + said[one].max()) for one in made]
    assert all(size <= 512 or len(one) == 1 for size, one in zip(padded, made))
    assert (read + said).sum() > 0.8 * sum(padded)
    again = token_batches(read, said, 512, seed=1, epoch=0)
    assert all((a == b).all() for a, b in zip(made, again))
    other = token_batches(read, said, 512, seed=1, epoch=1)
    assert [one.tolist() for one in other] != [one.tolist() for one in made]


def test_rows_are_padded_on_the_side_that_is_asked_for() -> None:
    rows = Ragged.of([[5, 6, 7], [8], [9, 9]], 100, "cpu")
    assert rows.flat.dtype == torch.int16
    found, mask = rows.rows(np.array([1, 0]), 1)
    assert found.tolist() == [[8, 1, 1], [5, 6, 7]]
    assert mask.tolist() == [[True, False, False], [True] * 3]
    found, mask = rows.rows(np.array([2, 0]), 1, pad_left=True)
    assert found.tolist() == [[1, 9, 9], [5, 6, 7]]


@pytest.mark.parametrize("make", [tiny, decoder])
def test_padding_changes_no_loss(make: Any) -> None:
    loaded = make()
    loaded.model.eval()
    tokens = encode_pairs(loaded, ["the cat", DOCUMENTS[0]], ["a cat", REFERENCES[0]], 64, 16)
    fitting = FineTuning(loaded, tokens, np.arange(2), 500, 0.1)
    both, parts = np.arange(2), [np.array([i]) for i in range(2)]
    alone = [float(fitting.loss(part, part)) * tokens.share(part, both) for part in parts]
    assert float(fitting.loss(both, both)) == pytest.approx(sum(alone), abs=1e-5)


def gradients(loaded: Any, parts: list[Any], loss: Callable[[Any], Any]) -> tuple[float, Any]:
    """The loss of some parts, summed, and the gradients of all weights."""
    loaded.model.zero_grad(set_to_none=True)
    total = 0.0
    for part in parts:
        own = loss(part)
        own.backward()
        total += float(own)
    held = [one.grad for one in loaded.model.parameters() if one.grad is not None]
    return total, torch.cat([one.flatten() for one in held])


@pytest.mark.parametrize("make", [tiny, decoder])
@pytest.mark.parametrize("kind", [FineTuning, CalibrationObjective])
def test_parts_of_a_batch_have_its_loss_and_gradients(make: Any, kind: Any) -> None:
    """References of unequal length: the mean over tokens is not that over items."""
    loaded = make()
    loaded.model.eval()
    references = ["a hen", "a red cat slept on the long mat and slept", "cow", REFERENCES[3]]
    tokens = encode_pairs(loaded, DOCUMENTS[:4], references, 64, 24)
    assert len(set(tokens.lengths(np.arange(4))[1].tolist())) > 2
    if kind is FineTuning:
        objective: Any = FineTuning(loaded, tokens, np.arange(4), 500, 0.1)
    else:
        said = [text for one in references for text in (one, "a hen slept", "the mat")]
        candidates = encode_pairs(loaded, [""] * len(said), said, 64, 24).references
        objective = CalibrationObjective(
            loaded, tokens, candidates, 3, 4, 0.3, 1.0, reference_weight=3.0
        )
    batch = np.arange(4)
    whole, slopes = gradients(loaded, [batch], lambda rows: objective.loss(rows, batch))
    for count in (2, 3, 4):
        parts = [batch[first::count] for first in range(count)]
        loss, own = gradients(loaded, parts, lambda rows: objective.loss(rows, batch))
        assert loss == pytest.approx(whole, rel=1e-5)
        assert torch.allclose(own, slopes, rtol=1e-3, atol=1e-6)


def add_start_token(tokenizer: Any) -> None:
    """Let a start token stand before each text, as BART's tokenizer does."""
    from tokenizers import processors

    special = [("<s>", 0), ("</s>", 2)]
    own = processors.TemplateProcessing("<s> $A </s>", special_tokens=special)
    tokenizer.backend_tokenizer.post_processor = own


@pytest.mark.parametrize("objective", [FineTuning, CalibrationObjective])
def test_the_decoder_reads_in_training_what_it_reads_in_generation(objective: Any) -> None:
    loaded = tiny()
    add_start_token(loaded.tokenizer)
    loaded.model.generation_config.forced_bos_token_id = 0
    tokens = encode_pairs(loaded, DOCUMENTS[:1], ["a hen"], 64, 16)
    wanted = loaded.tokenizer("a hen")["input_ids"]
    assert (wanted[0], wanted[-1]) == (0, 2)
    read: list[list[int]] = []
    own = loaded.model.forward

    def forward(*given: Any, **more: Any) -> Any:
        read.extend(more["decoder_input_ids"].tolist())
        return own(*given, **more)

    loaded.model.forward = forward
    if objective is FineTuning:
        FineTuning(loaded, tokens, np.arange(1), 500, 0.1).loss(np.arange(1), np.arange(1))
    else:
        calibrating = CalibrationObjective(loaded, tokens, tokens.references, 1, 1)
        calibrating.loss(np.arange(1), np.arange(1))
    assert all(row == [2, *wanted[:-1]] for row in read)
    made = loaded.model.generate(torch.tensor([wanted]), max_new_tokens=2, num_beams=1)
    assert made[0, :2].tolist() == read[0][:2] == [2, 0]


def test_targets_are_cut_with_their_start_and_end() -> None:
    loaded = tiny()
    plain = loaded.tokenizer("a red cat slept")["input_ids"]
    assert encode_pairs(loaded, ["cat"], ["a red cat slept"], 64, 4).references.flat.tolist() == [
        *plain[:3],
        2,
    ]
    add_start_token(loaded.tokenizer)
    made = encode_pairs(loaded, ["cat"], ["a red cat slept"], 64, 4).references.flat.tolist()
    assert made == [0, *plain[:2], 2]
    loaded.tokenizer.backend_tokenizer.post_processor = None
    made = encode_pairs(loaded, ["cat"], ["a red cat slept"], 64, 4).references.flat.tolist()
    assert made == [*plain[:3], 2]


def fitted(
    folder: Path, loaded: Any, steps: int = 12, finish: Any = None, **more: Any
) -> dict[str, Any]:
    tokens = encode_pairs(loaded, DOCUMENTS, REFERENCES, 64, 16)
    objective = FineTuning(loaded, tokens, np.arange(len(tokens)), 200, 0.1)
    options = TrainOptions(steps=steps, learning_rate=5e-3, warmup=2, **more)
    settings = {"of": "a test"}
    return train(loaded, objective, folder, options, 3, Silent(), settings=settings, finish=finish)


def weights(folder: Path) -> bytes:
    return (folder / "model.safetensors").read_bytes()


@pytest.mark.parametrize("make", [tiny, decoder])
def test_a_model_learns(make: Any, tmp_path: Path) -> None:
    made = fitted(tmp_path / "m", make(), steps=60)
    assert np.mean(made["loss"][-5:]) < 0.7 * made["loss"][0]


@pytest.mark.parametrize("make", [tiny, decoder])
def test_adapters_learn_and_change_linear_layers_by_their_rank_alone(
    make: Any, tmp_path: Path
) -> None:
    pytest.importorskip("peft")
    loaded, rank = make(), 2
    before = {name: tensor.clone() for name, tensor in loaded.model.state_dict().items()}
    merge = add_adapters(loaded, rank, 0)
    account = fitted(tmp_path / "m", loaded, steps=60, finish=merge)
    assert np.mean(account["loss"][-5:]) < account["loss"][0]
    kind = "Seq2SeqLM" if loaded.model.config.is_encoder_decoder else "CausalLM"
    auto = getattr(__import__("transformers"), f"AutoModelFor{kind}")
    after = auto.from_pretrained(tmp_path / "m").state_dict()
    assert set(after) == set(before)
    ranks = {}
    for name, weight in after.items():
        change = (weight - before[name]).numpy()
        if np.abs(change).max() > 0:
            sizes = np.linalg.svd(change, compute_uv=False)
            ranks[name] = int((sizes > 1e-4 * sizes[0]).sum())
    linear = {name for name in before if name.endswith(("proj.weight", "fc1.weight", "fc2.weight"))}
    assert set(ranks) == linear
    assert set(ranks.values()) <= {1, rank}


def test_adapters_are_trained_to_the_same_after_a_kill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("peft")
    monkeypatch.setattr("rote.models.training.loop.SAVE_EVERY", 4)
    loaded = tiny()
    fitted(tmp_path / "whole", loaded, finish=add_adapters(loaded, 2, 0))

    class Killed(Exception):
        pass

    def stop() -> None:
        raise Killed

    loaded = tiny()
    add_adapters(loaded, 2, 0)
    with pytest.raises(Killed):
        fitted(tmp_path / "killed", loaded, finish=stop)
    assert (tmp_path / "killed.checkpoint").exists()
    loaded = tiny()
    fitted(tmp_path / "killed", loaded, finish=add_adapters(loaded, 2, 0))
    assert weights(tmp_path / "killed") == weights(tmp_path / "whole")


@pytest.mark.parametrize("make", [tiny, decoder])
def test_adapters_have_the_same_gradients_with_checkpointing(make: Any) -> None:
    pytest.importorskip("peft")
    gradients = []
    for checkpointing in (False, True):
        loaded = make()
        add_adapters(loaded, 2, 0)
        loaded.model.train()
        if checkpointing:
            assert loop._start_checkpointing(loaded.model)
        tokens = encode_pairs(loaded, DOCUMENTS, REFERENCES, 64, 16)
        objective = FineTuning(loaded, tokens, np.arange(len(tokens)), 200, 0.1)
        torch.manual_seed(0)
        objective.loss(np.arange(4), np.arange(4)).backward()
        trained = {n: p.grad for n, p in loaded.model.named_parameters() if p.requires_grad}
        assert trained
        assert all("lora_" in name for name in trained)
        gradients.append(trained)
    for name, gradient in gradients[0].items():
        assert gradients[1][name].numpy() == pytest.approx(gradient.numpy(), abs=1e-7), name


def test_a_kill_at_any_step_ends_in_the_same_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rote.models.training.loop.SAVE_EVERY", 4)
    fitted(tmp_path / "whole", tiny())
    for at in (1, 5, 11):

        class Killed(Exception):
            pass

        loaded, seen = tiny(), 0
        own = loaded.model.forward

        def forward(*given: Any, own: Any = own, at: int = at, **more: Any) -> Any:
            nonlocal seen
            seen += 1
            if seen > at:
                raise Killed
            return own(*given, **more)

        loaded.model.forward = forward
        with pytest.raises(Killed):
            fitted(tmp_path / f"killed-{at}", loaded)
        assert (tmp_path / f"killed-{at}.checkpoint").exists() == (at >= 4)
        fitted(tmp_path / f"killed-{at}", tiny())
        assert weights(tmp_path / f"killed-{at}") == weights(tmp_path / "whole")
        assert not (tmp_path / f"killed-{at}.checkpoint").exists()


def test_a_finished_training_is_left_alone_and_another_is_refused(tmp_path: Path) -> None:
    fitted(tmp_path / "m", tiny(), steps=2)
    before = (tmp_path / "m" / "model.safetensors").stat().st_mtime_ns
    assert fitted(tmp_path / "m", tiny(), steps=2)["updates"] == 2
    assert (tmp_path / "m" / "model.safetensors").stat().st_mtime_ns == before
    held = json.loads((tmp_path / "m" / "training.json").read_text())
    (tmp_path / "m" / "training.json").write_text(json.dumps({**held, "settings": {"of": "more"}}))
    with pytest.raises(OptionError, match=r"other settings .of more, not a test."):
        fitted(tmp_path / "m", tiny(), steps=2)


@pytest.mark.parametrize("name", ["m", "m.checkpoint"])
def test_nothing_is_trained_through_a_link(name: str, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.write_text("mine")
    (tmp_path / name).symlink_to(mine)
    with pytest.raises(OptionError, match=f"{name} is a link to .*mine"):
        fitted(tmp_path / "m", tiny(), steps=2)
    assert mine.read_text() == "mine"


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("settings", [], "field 'settings': is a list"),
        ("updates", "two", "field 'updates': is a string"),
        ("loss", {"a": 1}, "field 'loss': is an object"),
        ("loss", ["a"], "field 'loss': or 'validation' contains something other than numbers"),
        ("validation", [[1, 2, 3]], "field 'validation': contains something other than pairs"),
        (
            "validation",
            [[1, None]],
            "field 'loss': or 'validation' contains something other than numbers",
        ),
        ("validation", None, "field 'validation': is null"),
    ],
)
def test_an_account_of_something_else_is_refused(
    field: str, value: Any, said: str, tmp_path: Path
) -> None:
    (tmp_path / "m").mkdir()
    whole = {"settings": {"of": "a test"}, "updates": 2, "loss": [0.5], "validation": []}
    (tmp_path / "m" / "training.json").write_text(json.dumps({**whole, field: value}))
    with pytest.raises(InputError, match=rf"training\.json, {said}"):
        fitted(tmp_path / "m", tiny(), steps=2)


def test_a_checkpoint_of_something_else_is_refused(tmp_path: Path) -> None:
    import torch

    place = tmp_path / "m.checkpoint"
    for held in ({}, [], {"settings": {"of": "a test"}, "model": {}, "adam": {}, "rate": {}}):
        torch.save(held, place)
        with pytest.raises(InputError, match=r"m\.checkpoint: the checkpoint cannot be read"):
            fitted(tmp_path / "m", tiny(), steps=2)
    place.unlink()
    os.mkfifo(place)
    with pytest.raises(InputError, match=r"m\.checkpoint: the checkpoint cannot be read"):
        fitted(tmp_path / "m", tiny(), steps=2)


def test_a_batch_that_does_not_fit_is_cut_and_comes_to_the_same(tmp_path: Path) -> None:
    loaded, plain = tiny(dropout=0.0), tiny(dropout=0.0)
    own = loaded.model.forward

    def forward(*given: Any, **more: Any) -> Any:
        if more["decoder_input_ids"].shape[0] > 3:
            raise RuntimeError("CUDA out of memory.")
        return own(*given, **more)

    loaded.model.forward = forward
    cut, whole = fitted(tmp_path / "cut", loaded), fitted(tmp_path / "whole", plain)
    assert cut["parts"] > 1
    assert cut["loss"] == pytest.approx(whole["loss"], abs=1e-4)


def checkpoints(loaded: Any) -> bool:
    return any(getattr(part, "gradient_checkpointing", False) for part in loaded.model.modules())


def test_a_pair_that_does_not_fit_is_read_with_gradient_checkpointing(tmp_path: Path) -> None:
    loaded, plain = tiny(), tiny()
    real = loaded.model.forward

    def forward(*given: Any, **more: Any) -> Any:
        if not checkpoints(loaded):
            raise RuntimeError("CUDA out of memory.")
        return real(*given, **more)

    loaded.model.forward = forward
    short, full = fitted(tmp_path / "short", loaded), fitted(tmp_path / "full", plain)
    assert len(short["loss"]) == len(full["loss"])
    assert checkpoints(loaded)
    assert not checkpoints(plain)
    # The same numbers.
    without = tiny(dropout=0.0)
    kept = fitted(tmp_path / "kept", without)
    again = tiny(dropout=0.0)
    assert loop._start_checkpointing(again.model)
    assert not loop._start_checkpointing(again.model)
    assert fitted(tmp_path / "again", again)["loss"] == pytest.approx(kept["loss"], abs=1e-5)


def test_a_pair_that_never_fits_is_an_error(tmp_path: Path) -> None:
    loaded = tiny()

    def forward(*given: Any, **more: Any) -> Any:
        raise RuntimeError("out of memory")

    loaded.model.forward = forward
    with pytest.raises(RoteError, match="a single pair does not fit"):
        fitted(tmp_path / "m", loaded)


def test_a_full_disk_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a checkpoint is written, and while the model is: the next run goes on."""
    monkeypatch.setattr(loop, "SAVE_EVERY", 4)
    fitted(tmp_path / "whole", tiny())
    real, writes = loop.write_atomically, 0

    def full(path: Path, data: bytes) -> None:
        nonlocal writes
        writes += 1
        if writes == 2:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        real(path, data)

    monkeypatch.setattr(loop, "write_atomically", full)
    with pytest.raises(InputError, match=r"No space left.*finished work is saved"):
        fitted(tmp_path / "m", tiny())
    loaded = tiny()

    def save(path: Path) -> None:
        raise RuntimeError("I/O error: No space left on device (os error 28)")

    loaded.model.save_pretrained = save
    with pytest.raises(InputError, match="Make room, then run the same command again"):
        fitted(tmp_path / "m", loaded)
    assert not (tmp_path / "m").exists()
    fitted(tmp_path / "m", tiny())
    assert weights(tmp_path / "m") == weights(tmp_path / "whole")


def test_training_stops_when_the_validation_loss_does_not_fall(tmp_path: Path) -> None:
    loaded = tiny()
    tokens = encode_pairs(loaded, DOCUMENTS, REFERENCES, 64, 16)
    objective = FineTuning(loaded, tokens, np.arange(len(tokens)), 200, 0.1)
    looks = iter([3.0, 2.0, 2.5, 2.4, 1.0])
    kept: list[Any] = []

    def held_out() -> float:
        kept.append({k: v.clone() for k, v in loaded.model.state_dict().items()})
        return next(looks)

    options = TrainOptions(steps=50, learning_rate=1e-2, evaluate_every=2, patience=2)
    made = train(
        loaded, objective, tmp_path / "m", options, 0, Silent(), settings={}, held_out=held_out
    )
    assert made["validation"] == [[2, 3.0], [4, 2.0], [6, 2.5], [8, 2.4]]
    for name, value in loaded.model.state_dict().items():
        assert torch.equal(value, kept[1][name])


@pytest.mark.parametrize("make", [tiny, decoder])
def test_calibration_brings_candidates_into_order(make: Any, tmp_path: Path) -> None:
    loaded = make()
    tokens = encode_pairs(loaded, DOCUMENTS[:6], REFERENCES[:6], 64, 16)
    said = [text for one in REFERENCES[:6] for text in (one, "a hen", "the the mat on cat")]
    candidates = encode_pairs(loaded, [""] * len(said), said, 64, 16).references
    objective = CalibrationObjective(
        loaded, tokens, candidates, 3, 3, 0.01, 1.0, reference_weight=0.0
    )
    before = float(objective.loss(np.arange(6), np.arange(6)))
    options = TrainOptions(steps=20, learning_rate=1e-2)
    train(loaded, objective, tmp_path / "m", options, 0, Silent(), settings={})
    loaded.model.eval()
    assert float(objective.loss(np.arange(6), np.arange(6))) < 0.5 * before


def test_the_encoder_reads_a_document_once_for_all_candidates() -> None:
    """The shared encoding gives the loss that reading each candidate by itself gives."""
    loaded = tiny()
    loaded.model.eval()
    tokens = encode_pairs(loaded, DOCUMENTS[:2], REFERENCES[:2], 64, 16)
    said = ["a cat", "a hen slept", "mat", "the old dog"]
    candidates = encode_pairs(loaded, [DOCUMENTS[0]] * 2 + [DOCUMENTS[1]] * 2, said, 64, 16)
    objective = CalibrationObjective(
        loaded, tokens, candidates.references, 2, 2, reference_weight=0.0
    )
    from rote.models.training.objectives import logits_of

    logits, labels = logits_of(loaded, candidates, candidates.batch(np.arange(4)))
    scores = objectives.length_normalized(logits, labels, 2.0).view(2, 2)
    wanted = 10 * float(objectives.ranking_loss(scores, 0.001))
    assert float(objective.loss(np.arange(2), np.arange(2))) == pytest.approx(wanted, abs=1e-5)


@pytest.mark.parametrize("make", [tiny, decoder])
def test_summaries_do_not_depend_on_the_batch(make: Any) -> None:
    loaded = make()
    loaded.model.eval()
    how = Searching(beams=3, max_tokens=6, longest=40)
    some = [DOCUMENTS[0], "cat", DOCUMENTS[5] + " again and again"]
    together = [own[0].text for own in write(loaded, some, how)]
    alone = [write(loaded, [one], how)[0][0].text for one in some]
    assert together == alone


def test_diverse_candidates_are_penalized_as_defined() -> None:
    """Group by group: what an earlier candidate takes at a place costs the later ones."""
    loaded = tiny()
    loaded.model.eval()
    how = Searching(max_tokens=5, longest=40, candidates=4, diversity=2.0)
    found = [one.text for one in write(loaded, DOCUMENTS[:1], how)[0]]
    assert len(set(found)) > 1
    tokenizer, model = loaded.tokenizer, loaded.model
    given = {
        name: torch.tensor([row])
        for name, row in tokenizer(DOCUMENTS[0]).items()
        if name != "token_type_ids"
    }
    rows: list[list[int]] = [[2] for _ in range(4)]
    for place in range(5):
        taken = np.zeros(len(tokenizer))
        for row in rows:
            if 2 in row[1:]:
                continue
            logits = model(**given, decoder_input_ids=torch.tensor([row])).logits[0, -1]
            scores = twin.log_softmax(logits.detach().numpy().astype(float)) - 2.0 * taken
            # At the last place the config forces the end.
            token = 2 if place == 4 else int(scores.argmax())
            row.append(token)
            taken[int(scores.argmax())] += 1
    wanted = [tokenizer.decode(row[1:], skip_special_tokens=True).strip() for row in rows]
    assert found == wanted


def test_from_config_starts_from_the_seed(tmp_path: Path) -> None:
    one, other = (
        start_from_config("tiny", [*DOCUMENTS, *REFERENCES], seed, "cpu") for seed in (1, 1)
    )
    third = start_from_config("tiny", [*DOCUMENTS, *REFERENCES], 2, "cpu")
    first, second, last = (
        loaded.model.get_input_embeddings().weight for loaded in (one, other, third)
    )
    assert torch.equal(first, second)
    assert not torch.equal(first, last)
    assert one.tokenizer.decode(one.tokenizer("the cat")["input_ids"]) == "the cat</s>"
    with pytest.raises(OptionError, match="takes tiny, small or a config"):
        start_from_config("huge", DOCUMENTS, 0, "cpu")
