"""The transformers backend, where torch is installed: tiny models with random weights."""

from __future__ import annotations

import builtins
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rote.core.errors import InputError, MissingExtra, OptionError, RoteError
from rote.core.model import Continuation, Decoding, Drawing, Model, Prompt
from rote.core.progress import Silent
from rote.models.answers import score_all
from rote.models.backends.transformers import Transformers
from rote.models.options import ModelOptions, open_model
from rote.studies._training import open_trainable
from tests.models import tiny
from tests.models.test_numpy import OPEN_MODEL


def test_without_torch_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def importing(name: str, *rest: Any) -> Any:
        if name == "torch":
            raise ImportError(name=name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", importing)
    with pytest.raises(MissingExtra, match=r"\.\[lm\]"):
        open_model("transformers:gpt2", ModelOptions(), Silent())


CONTINUATIONS = [
    Continuation("the king", "'s and the"),
    Continuation("the king ", "and"),
    Continuation("", "in the and, é ☃"),
    Continuation("  ", "the"),
    Continuation("th", "e"),
    Continuation("the and " * 200, "in the"),
    Continuation("", "q" * 700),
    Continuation("in", ""),
    Continuation("", "x"),
]


def opened(named: Path | str, **options: Any) -> Transformers:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    found = open_model(f"transformers:{named}", ModelOptions(device="cpu", **options), Silent())
    assert isinstance(found, Transformers)
    return found


def same(first: Model, second: Model, wanted: list[Continuation], within: float) -> None:
    for one, other in zip(first.score(wanted), second.score(wanted)):
        for name in ("logprobs", "expected", "spread"):
            assert getattr(one, name) == pytest.approx(getattr(other, name), abs=within)
        for name in ("starts", "ends", "greedy"):
            assert getattr(one, name).tolist() == getattr(other, name).tolist()


@pytest.mark.parametrize("by_hand", [False, True])
def test_layers_spread_over_devices_give_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_hand: bool
) -> None:
    """As many as there are; without a GPU accelerate puts all on the processor. By hand: the second
    layer lies on the disk, and accelerate's hooks move what passes through."""
    pytest.importorskip("accelerate")
    auto = pytest.importorskip("transformers").AutoModelForCausalLM
    load, placed = auto.from_pretrained, []

    def loading(*given: Any, **more: Any) -> Any:
        placed.append(more.get("device_map"))
        if by_hand and "device_map" in more:
            parts = ("embed_tokens", "layers.0", "norm", "rotary_emb")
            where = dict.fromkeys([*(f"model.{part}" for part in parts), "lm_head"], "cpu")
            more["device_map"] = where | {"model.layers.1": "disk"}
            more["offload_folder"] = str(tmp_path / "disk")
        return load(*given, **more)

    monkeypatch.setattr(auto, "from_pretrained", loading)
    folder = tiny.write_model(tmp_path / "m", tiny.PLAIN, "F16")
    plain = opened(folder)
    spread = open_model(f"transformers:{folder}", ModelOptions(device="balanced"), Silent())
    assert isinstance(spread, Transformers)
    assert placed == [None, "balanced"]
    kinds = {weights.device.type for weights in spread.loaded.model.parameters()}
    assert ("meta" in kinds) == by_hand
    same(plain, spread, CONTINUATIONS, 1e-4)
    bounds = [model.near(CONTINUATIONS[:1], Decoding(1, 0.8), 1, 3) for model in (plain, spread)]
    assert bounds[0] == pytest.approx(bounds[1], abs=1e-4)
    prompts = [Prompt("the king"), Prompt("in", 2)]
    for decoding in (Decoding(5), Decoding(5, 0.8)):
        assert plain.generate(prompts, decoding) == spread.generate(prompts, decoding)
    with pytest.raises(OptionError, match="training runs on one device"):
        open_trainable(str(folder), ModelOptions(device="balanced"), Silent())


@pytest.mark.parametrize("shape", sorted(tiny.SHAPES))
def test_numpy_and_transformers_give_the_same_numbers_and_texts(tmp_path: Path, shape: str) -> None:
    folder = tiny.write_model(tmp_path / shape, tiny.SHAPES[shape], "F16")
    ours = open_model(f"numpy:{folder}", ModelOptions(), Silent())
    theirs = opened(folder)
    assert isinstance(ours, Drawing)
    assert ours.limit == theirs.limit
    same(ours, theirs, CONTINUATIONS, 1e-4)
    for drawing in (Decoding(1, 0.7, top_p=0.9, top_k=20), Decoding(1, 1.3), Decoding(1)):
        both = (model.drawn(CONTINUATIONS, drawing) for model in (ours, theirs))
        for one, other in zip(*both):
            assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)
    prompts = [Prompt("the king"), Prompt(""), Prompt("in " * 40, 3), Prompt("a", 9)]
    for decoding in (Decoding(9), Decoding(9, 0.8, top_p=0.9), Decoding(9, 1.0, constraint=3)):
        assert ours.generate(prompts, decoding) == theirs.generate(prompts, decoding)


def test_the_open_model_is_the_same_in_both() -> None:
    theirs = opened(OPEN_MODEL)
    ours = open_model(f"numpy:{OPEN_MODEL}", ModelOptions(), Silent())
    same(ours, theirs, CONTINUATIONS, 1e-3)
    asked = [Continuation("And the LORD", " said unto Moses"), Continuation("", "In the beginning")]
    for drawing in (Decoding(1, 1.0), Decoding(1, 0.8, top_k=40)):
        bounds = [model.near(asked, drawing, 1, 4) for model in (ours, theirs)]  # type: ignore[attr-defined]
        assert bounds[0] == pytest.approx(bounds[1], abs=1e-3)
        for bound, exact in zip(bounds[1], theirs.drawn(asked, drawing)):
            assert bound >= exact.total - 1e-3
    prompts = [Prompt("And the shepherd said unto"), Prompt("")]
    assert ours.generate(prompts, Decoding(20)) == theirs.generate(prompts, Decoding(20))


@pytest.fixture(scope="module")
def absolute(tmp_path_factory: pytest.TempPathFactory) -> Transformers:
    """GPT-2, whose positions are learned: padding that shifts them would show."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(4)
    folder = tiny.write_model(tmp_path_factory.mktemp("gpt2"), tiny.PLAIN)
    (folder / "model.safetensors").unlink()
    size = len(tiny.tokenizer()["model"]["vocab"])
    config = transformers.GPT2Config(
        n_embd=24, n_layer=2, n_head=3, n_positions=40, vocab_size=size, initializer_range=0.5
    )
    config.bos_token_id = config.eos_token_id = 0
    transformers.GPT2LMHeadModel(config).save_pretrained(folder)
    return opened(folder)


def test_padding_changes_nothing(absolute: Transformers) -> None:
    wanted = [Continuation("the" * (one % 3), "in" * one) for one in range(1, 12)]
    for one, found in zip(wanted, absolute.score(wanted)):
        (alone,) = absolute.score([one])
        assert found.logprobs == pytest.approx(alone.logprobs, abs=1e-5)
    prompts = [Prompt("the" * one, one) for one in range(9)]
    for decoding in (Decoding(12), Decoding(12, temperature=1.0)):
        together = absolute.generate(prompts, decoding)
        assert together == [absolute.generate([one], decoding)[0] for one in prompts]


def test_greedy_generation_is_that_of_the_library(absolute: Transformers) -> None:
    import torch

    for text in ("the king", "in"):
        ids = torch.tensor([absolute.tokens.encode(text, special=True).ids])
        found = absolute.loaded.model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=15,
            do_sample=False,
            pad_token_id=0,
        )
        expected = absolute.loaded.tokenizer.decode(
            found[0, ids.shape[1] :], skip_special_tokens=True
        )
        assert absolute.generate([Prompt(text)], Decoding(15))[0].text == expected


def test_a_batch_that_does_not_fit_is_a_memory_error(
    absolute: Transformers, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import torch

    monkeypatch.setenv("ROTE_CACHE", str(tmp_path))
    real = absolute.loaded.model.forward

    def small(*given: Any, **named: Any) -> Any:
        if named["input_ids"].numel() > 30:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return real(*given, **named)

    wanted = [Continuation("the", f" {'q' * 8}{number}") for number in range(9)]
    expected = absolute.score(wanted)
    parameters = "rote.models.hub_models._parameters"
    known = frozenset({"position_ids", "logits_to_keep"})
    monkeypatch.setattr(parameters, lambda loaded: known)
    monkeypatch.setattr(absolute.loaded.model, "forward", small)
    with pytest.raises(MemoryError):
        absolute.score(wanted)
    with pytest.raises(MemoryError):
        absolute.generate([Prompt("q" * 12)] * 4, Decoding(3))
    for one, other in zip(score_all(absolute, wanted, Silent()), expected):
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-5)


@pytest.mark.parametrize(
    "message", ["CUDA out of memory.", "DefaultCPUAllocator: can't allocate memory"]
)
def test_a_long_text_is_scored_in_fewer_windows_at_once(
    absolute: Transformers, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, message: str
) -> None:
    import torch

    monkeypatch.setenv("ROTE_CACHE", str(tmp_path))
    real, kind = absolute.loaded.model.forward, torch.OutOfMemoryError
    kind = kind if "CUDA" in message else RuntimeError
    seen: list[int] = []

    def small(*given: Any, **named: Any) -> Any:
        seen.append(len(named["input_ids"]))
        if seen[-1] > 3:
            raise kind(message)
        return real(*given, **named)

    wanted = [Continuation("the", " q" * 200), Continuation("the", " q")]
    expected = absolute.score(wanted)
    known = frozenset({"position_ids", "logits_to_keep"})
    monkeypatch.setattr("rote.models.hub_models._parameters", lambda loaded: known)
    monkeypatch.setattr(absolute.loaded.model, "forward", small)
    for one, other in zip(score_all(absolute, wanted, Silent()), expected):
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-5)
    assert max(seen) > 3 >= seen[-1]


def test_other_errors_of_torch_stay_what_they_are(
    absolute: Transformers, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*given: Any, **named: Any) -> Any:
        raise RuntimeError("shapes do not fit")

    monkeypatch.setattr(absolute.loaded.model, "forward", broken)
    with pytest.raises(RuntimeError, match="shapes do not fit"):
        absolute.score([Continuation("", "the")])


def test_the_signature_names_precision_and_weights(tmp_path: Path) -> None:
    folder = tiny.write_model(tmp_path / "a", tiny.PLAIN)
    single, half = opened(folder), opened(folder, dtype="bfloat16")
    assert single.signature.startswith("transformers/2-a-float32-")
    assert half.signature.startswith("transformers/2-a-bfloat16-")
    other = opened(tiny.write_model(tmp_path / "b" / "a", tiny.PLAIN, seed=2))
    again = opened(tiny.write_model(tmp_path / "c" / "a", tiny.PLAIN))
    assert again.signature == single.signature != other.signature
    (found,) = half.score([Continuation("", "the and")])
    (exact,) = single.score([Continuation("", "the and")])
    assert found.logprobs == pytest.approx(exact.logprobs, abs=0.3)


def test_numbers_too_large_for_half_precision_are_an_error(tmp_path: Path) -> None:
    """As Gemma's are, whose layers give more than the 65,504 that float16 holds."""
    torch = pytest.importorskip("torch")
    half = opened(tiny.write_model(tmp_path / "a", tiny.PLAIN), dtype="float16")
    with torch.no_grad():
        half.loaded.model.model.embed_tokens.weight *= 1e4
        half.loaded.model.model.layers[0].mlp.down_proj.weight *= 1e4
    for ask in (
        lambda: half.score([Continuation("", "the and")]),
        lambda: half.drawn([Continuation("", "the and")], Decoding(1, 0.7)),
        lambda: half.generate([Prompt("the")], Decoding(2)),
    ):
        with pytest.raises(RoteError, match="gives NaN: use --dtype float32"):
            ask()


def test_settings_that_cannot_be_had_are_refused(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    folder = tiny.write_model(tmp_path / "a", tiny.PLAIN)

    def refused(said: str, **options: Any) -> None:
        with pytest.raises(OptionError, match=said):
            open_model(f"transformers:{folder}", ModelOptions(**options), Silent())

    refused("device can be", device="tpu")
    refused("dtype can be", dtype="int3")
    refused("needs a CUDA device", device="cpu", dtype="4bit")
    if not torch.cuda.is_available():
        refused("no device cuda", device="cuda")


def test_what_cannot_be_loaded_is_a_readable_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("huggingface_hub")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    for named in ("nobody/nothing@main", str(tmp_path), "//"):
        with pytest.raises(InputError, match=r"cannot load it.*config\.json"):
            opened(named)
    folder = tiny.write_model(tmp_path / "a", tiny.PLAIN)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "unheard-of"}))
    with pytest.raises(InputError, match="unheard-of"):
        opened(folder)


def test_log_likelihoods_are_those_of_the_harness(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    models = pytest.importorskip("lm_eval.models.huggingface")
    from lm_eval.api.instance import Instance

    folder = tiny.write_model(tmp_path / "a", tiny.GROUPED)
    harness = models.HFLM(pretrained=str(folder), device="cpu", dtype="float32", batch_size=3)
    pieces = ["the", " and", "er", "  ", "é", "s ", "x.", "'s", " 1", " the king" * 90]
    random = np.random.RandomState(5)
    pairs = []
    while len(pairs) < 60:
        context, text = ("".join(random.choice(pieces, random.randint(1, 6))) for _ in range(2))
        before, after = harness._encode_pair(context, text)
        if before and 0 < len(after) <= harness.max_length:
            pairs.append((context, text))
        pairs.append(("", text[:100]))
    instances = [
        Instance(request_type="loglikelihood", doc={}, arguments=pair, idx=0) for pair in pairs
    ]
    expected = harness.loglikelihood(instances, disable_tqdm=True)
    wanted = [Continuation(*pair) for pair in pairs]
    for model in (opened(folder), open_model(str(folder), ModelOptions(), Silent())):
        for found, (total, greedy) in zip(model.score(wanted), expected):
            assert found.total == pytest.approx(total, abs=1e-3)
            assert bool(found.greedy.all()) == greedy
