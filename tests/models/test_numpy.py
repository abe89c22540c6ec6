"""The numpy backend: against transformers (golden), and against a slow version of its own."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rote.core.errors import InputError, OptionError
from rote.core.model import Continuation, Decoding, Prompt
from rote.core.progress import Silent
from rote.models.backends.numpy import Numpy
from rote.models.options import ModelOptions, open_model
from tests.models import tiny

HERE = Path(__file__).parent
GOLDEN = json.loads((HERE / "golden" / "tiny.json").read_text("utf-8"))
OPEN_MODEL = HERE.parents[1] / "training" / "open-model" / "bible"


def opened(folder: Path, **options: Any) -> Numpy:
    found = open_model(f"numpy:{folder}", ModelOptions(**options), Silent())
    assert isinstance(found, Numpy)
    return found


@pytest.fixture(scope="module", params=sorted(GOLDEN["models"]))
def golden(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    name, kind = request.param.split("-")
    folder = tmp_path_factory.mktemp("models") / request.param
    return opened(tiny.write_model(folder, tiny.SHAPES[name], kind)), GOLDEN["models"][
        request.param
    ]


@pytest.fixture(scope="module", params=sorted(tiny.SHAPES))
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Numpy:
    folder = tmp_path_factory.mktemp("models") / request.param
    return opened(tiny.write_model(folder, tiny.SHAPES[request.param]))


def test_every_number_is_that_of_transformers(golden: Any) -> None:
    model, said = golden
    found = model.score([Continuation("", one["text"]) for one in said["texts"]])
    for one, scored in zip(said["texts"], found):
        assert model.tokens.encode(one["text"], special=True).ids == one["tokens"]
        assert scored.logprobs == pytest.approx(one["logprobs"], abs=1e-4)
        assert scored.expected == pytest.approx(one["expected"], abs=1e-4)
        assert scored.spread == pytest.approx(one["spread"], abs=1e-4)
        assert scored.greedy.tolist() == one["greedy"]


def test_what_is_written_is_what_transformers_writes(golden: Any) -> None:
    model, said = golden
    found = model.generate([Prompt(one["text"]) for one in said["prompts"]], Decoding(12))
    assert [one.text for one in found] == [one["written"] for one in said["prompts"]]


def test_the_open_model_gives_the_numbers_of_transformers() -> None:
    model = opened(OPEN_MODEL)
    said = json.loads((OPEN_MODEL / "golden.json").read_text("utf-8"))
    found = model.score([Continuation(one["context"], one["text"]) for one in said["texts"]])
    for one, scored in zip(said["texts"], found):
        assert scored.logprobs == pytest.approx(one["logprobs"], abs=1e-3)
        assert len(scored.greedy) == len(one["tokens"])
    greedy = said["greedy"]
    (written,) = model.generate([Prompt(greedy["prompt"])], Decoding(greedy["max_tokens"]))
    assert written.text == greedy["text"]


def slow_logits(config: dict[str, Any], held: dict[str, np.ndarray], ids: list[int]) -> np.ndarray:
    """The model as it is described, in double precision, token by token and head by head."""
    held = {name: tensor.astype(np.float64) for name, tensor in held.items()}
    heads, groups = config["num_attention_heads"], config["num_key_value_heads"]
    width = config.get("head_dim", config["hidden_size"] // heads)

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        scale = math.sqrt((x * x).mean() + config["rms_norm_eps"])
        return x / scale * held[name]

    def product(x: np.ndarray, name: str) -> np.ndarray:
        return held[f"{name}.weight"] @ x + held.get(f"{name}.bias", 0)

    def turned(x: np.ndarray, position: int) -> np.ndarray:
        out = x.copy()
        for place in range(width // 2):
            angle = position / config["rope_theta"] ** (2 * place / width)
            first, second = x[place], x[place + width // 2]
            out[place] = first * math.cos(angle) - second * math.sin(angle)
            out[place + width // 2] = second * math.cos(angle) + first * math.sin(angle)
        return out

    states = [held["model.embed_tokens.weight"][token] for token in ids]
    for number in range(config["num_hidden_layers"]):
        before = f"model.layers.{number}."
        normed = [norm(x, f"{before}input_layernorm.weight") for x in states]
        q, k, v = (
            [product(x, f"{before}self_attn.{one}_proj").reshape(-1, width) for x in normed]
            for one in "qkv"
        )
        for place in range(len(ids)):
            seen = []
            for head in range(heads):
                group = head // (heads // groups)
                query = turned(q[place][head], place)
                scores = [
                    query @ turned(k[other][group], other) / math.sqrt(width)
                    for other in range(place + 1)
                ]
                weights = np.exp(np.array(scores) - max(scores))
                weights /= weights.sum()
                seen.append(sum(weights[other] * v[other][group] for other in range(place + 1)))
            states[place] = states[place] + product(
                np.concatenate(seen), f"{before}self_attn.o_proj"
            )
        for place, x in enumerate(states):
            normed_x = norm(x, f"{before}post_attention_layernorm.weight")
            gate = product(normed_x, f"{before}mlp.gate_proj")
            up = product(normed_x, f"{before}mlp.up_proj")
            states[place] = x + product(gate / (1 + np.exp(-gate)) * up, f"{before}mlp.down_proj")
    embedding = "model.embed_tokens.weight" if config["tie_word_embeddings"] else "lm_head.weight"
    return np.array([held[embedding] @ norm(x, "model.norm.weight") for x in states])


@settings(max_examples=12)
@given(data=st.data())
def test_the_forward_pass_equals_the_slow_version(
    data: st.DataObject, tmp_path_factory: Any
) -> None:
    groups = data.draw(st.sampled_from([1, 2, 3]))
    config = tiny.PLAIN | {
        "hidden_size": data.draw(st.sampled_from([8, 18])),
        "intermediate_size": data.draw(st.integers(1, 20)),
        "num_hidden_layers": data.draw(st.integers(1, 3)),
        "num_attention_heads": groups * data.draw(st.sampled_from([1, 2])),
        "num_key_value_heads": groups,
        "head_dim": data.draw(st.sampled_from([2, 6])),
        "rope_theta": data.draw(st.sampled_from([100.0, 10000.0])),
        "tie_word_embeddings": data.draw(st.booleans()),
        "attention_bias": data.draw(st.booleans()),
        "mlp_bias": data.draw(st.booleans()),
    }
    seed = data.draw(st.integers(0, 1000))
    folder = tiny.write_model(tmp_path_factory.mktemp("random"), config, seed=seed)
    model = opened(folder)
    text = data.draw(st.text("the andq", min_size=1, max_size=20))
    ids = [0, *model.tokens.encode(text, special=True).ids]
    held = tiny.weights(json.loads((folder / "config.json").read_text()), seed)
    logits = slow_logits(config, held, ids[:-1])
    logs = logits - np.log(np.exp(logits - logits.max(1, keepdims=True)).sum(1, keepdims=True))
    logs -= logits.max(1, keepdims=True)
    chances = np.exp(logs)
    expected = (chances * logs).sum(1)
    spread = np.sqrt((chances * (logs - expected[:, None]) ** 2).sum(1))
    (scored,) = model.score([Continuation("", text)])
    assert scored.logprobs == pytest.approx(logs[np.arange(len(ids) - 1), ids[1:]], abs=1e-4)
    assert scored.expected == pytest.approx(expected, abs=1e-4)
    assert scored.spread == pytest.approx(spread, abs=1e-4)


def test_the_chances_of_all_tokens_sum_to_one(model: Numpy) -> None:
    from rote.models.backends.numpy import read_states, token_likelihoods

    size = model.weights.shape.vocabulary
    for state in read_states(model.weights, [np.array([0, 5, 260, 9])]):
        logs, greedy, expected, spread = token_likelihoods(
            model.weights, np.tile(state, (size, 1)), np.arange(size)
        )
        chances = np.exp(logs)
        assert chances.sum() == pytest.approx(1, abs=1e-6)
        assert greedy.tolist() == [float(one == logs.argmax()) for one in range(size)]
        assert expected == pytest.approx([(chances * logs).sum()] * size, abs=1e-5)
        variance = (chances * (logs - expected) ** 2).sum()
        assert spread == pytest.approx([math.sqrt(variance)] * size, abs=1e-5)


words = st.lists(st.sampled_from(["the", " and", "in", " é", "☃", "q", "\n"]), max_size=200)


@settings(max_examples=15)
@given(some=st.lists(st.tuples(words.map("".join), words.map("".join)), min_size=1, max_size=12))
def test_texts_beside_a_text_change_nothing(model: Numpy, some: list[tuple[str, str]]) -> None:
    wanted = [Continuation(context, text) for context, text in some]
    for one, scored in zip(wanted, model.score(wanted)):
        (alone,) = model.score([one])
        assert scored.logprobs == pytest.approx(alone.logprobs, abs=1e-5)
        assert scored.expected == pytest.approx(alone.expected, abs=1e-5)
        assert scored.spread == pytest.approx(alone.spread, abs=1e-5)
        assert (scored.starts == alone.starts).all()


def test_threads_change_not_even_the_last_digit(tmp_path: Path) -> None:
    folder = tiny.write_model(tmp_path / "model", tiny.GROUPED)
    one, two = (opened(folder, threads=threads) for threads in (1, 2))
    wanted = [Continuation("the and", " in" * length) for length in range(1, 150, 3)]
    for first, second in zip(one.score(wanted), two.score(wanted)):
        assert (first.logprobs == second.logprobs).all()
    prompts = [Prompt("the" * (number % 7), number) for number in range(20)]
    decoding = Decoding(4, temperature=1.0)
    assert one.generate(prompts, decoding) == two.generate(prompts, decoding)


def test_a_text_longer_than_the_model_reads_is_scored_in_windows(model: Numpy) -> None:
    longest = model.weights.shape.longest
    text = "q" * (longest * 2 + 5)
    (scored,) = model.score([Continuation("", text)])
    assert len(scored.logprobs) == len(text)
    # The first window is what the model says of the beginning alone.
    (begun,) = model.score([Continuation("", text[:longest])])
    assert scored.logprobs[:longest] == pytest.approx(begun.logprobs, abs=1e-5)
    # The last token sees as much as fits.
    (last,) = model.score([Continuation(text[-longest - 1 : -1], text[-1])])
    assert scored.logprobs[-1] == pytest.approx(last.logprobs[-1], abs=1e-5)


def test_generation_reads_what_it_wrote(model: Numpy) -> None:
    """With kept keys and values as without them: each token is the likeliest after all before."""
    prompts = [Prompt("the and"), Prompt(""), Prompt("in")]
    logits_of: Any = model.weights
    from rote.models.backends.numpy import read_states

    for one in prompts:
        before = model.tokens.encode(one.text, special=True).ids or [0]
        ids = list(before)
        for _ in range(15):
            states = read_states(logits_of, [np.array(ids)])
            ids.append(int((states[-1] @ logits_of.head).argmax()))
            if ids[-1] == 0:
                break
        written = [token for token in ids[len(before) :] if token]
        (found,) = model.generate([one], Decoding(15))
        assert found.text == model.tokens.decode(written, [])


def test_a_prompt_that_leaves_no_room_is_cut_on_the_left(tmp_path: Path) -> None:
    model = opened(tiny.write_model(tmp_path / "model", tiny.PLAIN))
    decoding = Decoding(max_tokens=10)
    # 32 tokens can be read; the tenth is written and not read.
    long, short = (model.generate([Prompt("q" * size)], decoding) for size in (200, 23))
    assert long == short
    with pytest.raises(OptionError, match="32"):
        model.generate([Prompt("q")], Decoding(max_tokens=33))
    assert model.generate([Prompt("qqqq")], Decoding(max_tokens=32))[0].tokens <= 32


def test_what_is_cut_is_said_once(tmp_path: Path) -> None:
    said: list[str] = []

    class Listening(Silent):
        def say(self, line: str) -> None:
            said.append(line)

    folder = tiny.write_model(tmp_path / "model", tiny.PLAIN)
    model = open_model(str(folder), ModelOptions(), Listening())
    model.score([Continuation("q" * 20, "the"), Continuation("", "q" * 32)])
    model.generate([Prompt("q" * 23)], Decoding(10))
    assert said == []
    for _ in range(2):
        model.score([Continuation("q" * 40, "the"), Continuation("", "q" * 33)])
        model.generate([Prompt("q" * 24)], Decoding(10))
    assert [line.split()[0] for line in said] == ["texts", "contexts", "prompts"]


def test_the_signature_is_that_of_the_weights(tmp_path: Path) -> None:
    first = opened(tiny.write_model(tmp_path / "a", tiny.PLAIN, seed=1)).signature
    again = opened(tiny.write_model(tmp_path / "b" / "a", tiny.PLAIN, seed=1)).signature
    other = opened(tiny.write_model(tmp_path / "c" / "a", tiny.PLAIN, seed=2)).signature
    assert first == again != other
    assert first.startswith("numpy/1-a-")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"architectures": ["GPT2LMHeadModel"]}, "GPT2LMHeadModel"),
        ({"architectures": None, "model_type": "gpt2"}, "gpt2"),
        ({"hidden_act": "gelu"}, "gelu"),
        ({"rope_scaling": {"rope_type": "llama3"}}, "llama3"),
        ({"rope_parameters": {"rope_type": "yarn"}}, "yarn"),
        ({"quantization_config": {"bits": 4}}, "quantized"),
        ({"hidden_size": "wide"}, "something else"),
        ({"num_key_value_heads": 3}, "are inconsistent"),
        ({"vocab_size": 3}, "has 276 tokens, the model 3"),
        ({"num_hidden_layers": 3}, "no tensor 'model.layers.2"),
        ({"num_hidden_layers": 1}, "'model.layers.1.self_attn.q_proj.weight' does not belong"),
        ({"hidden_size": 16}, r"has shape \(32,\); config\.json says \(16,\)"),
    ],
)
def test_a_model_that_would_give_other_numbers_is_refused(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    folder = tiny.write_model(tmp_path / "a", tiny.PLAIN)
    config = json.loads((folder / "config.json").read_text()) | change
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(InputError, match=said):
        opened(folder)


def test_both_places_of_the_rope_base_are_read(tmp_path: Path) -> None:
    folder = tiny.write_model(tmp_path / "a", tiny.PLAIN | {"rope_theta": 77.0})
    wanted = [Continuation("", "the and in the")]
    before = opened(folder).score(wanted)[0].logprobs
    config = json.loads((folder / "config.json").read_text())
    config["rope_parameters"] = {"rope_theta": config.pop("rope_theta"), "rope_type": "default"}
    (folder / "config.json").write_text(json.dumps(config))
    assert (opened(folder).score(wanted)[0].logprobs == before).all()


def _header(path: Path, change: Any) -> None:
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    written = change(header) or json.dumps(header).encode()
    path.write_bytes(len(written).to_bytes(8, "little") + written + data[8 + length :])


NORM = "model.norm.weight"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda header: b"{", "damaged"),
        (lambda header: b"[1]", "damaged"),
        (lambda header: b'{"a": {}, "a": {}}', "damaged"),
        (lambda header: header.update({NORM: 1}), "damaged"),
        (lambda header: header[NORM].pop("dtype"), "damaged"),
        (lambda header: header[NORM].update(dtype="I64", shape=[16]), "I64"),
        (lambda header: header[NORM].update(shape=[31]), "damaged"),
        (lambda header: header[NORM].update(shape=[-32]), "damaged"),
        (lambda header: header[NORM].update(data_offsets=[0, 128]), "damaged"),
        (lambda header: header.pop(NORM), "damaged"),
    ],
)
def test_a_damaged_file_of_weights_is_refused(tmp_path: Path, change: Any, said: str) -> None:
    folder = tiny.write_model(tmp_path / "a", tiny.PLAIN)

    def changed(header: dict[str, Any]) -> bytes | None:
        found = change(header)
        return found if isinstance(found, bytes) else None

    _header(folder / "model.safetensors", changed)
    with pytest.raises(InputError, match=said):
        opened(folder)


@pytest.mark.parametrize("left", [0, 5, 100, -1])
def test_a_file_that_was_cut_off_is_refused(tmp_path: Path, left: int) -> None:
    folder = tiny.write_model(tmp_path / "a", tiny.PLAIN)
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:left])
    with pytest.raises(InputError, match="damaged"):
        opened(folder)


def test_missing_weights_name_the_other_backend(tmp_path: Path) -> None:
    folder = tiny.write_model(tmp_path / "a", tiny.PLAIN)
    (folder / "model.safetensors").unlink()
    with pytest.raises(InputError, match="transformers:FOLDER"):
        opened(folder)
