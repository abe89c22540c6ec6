"""The open model as it is shipped: its truth is that of its training text, its files are whole."""

from __future__ import annotations

import hashlib
import importlib
import json
import re
import struct
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rote.core.model import Continuation, Decoding, Prompt
from rote.core.progress import Silent
from rote.models.options import ModelOptions, open_model
from tests.kit import read_jsonl

ROOT = Path(__file__).parents[2] / "training" / "open-model"
NAMES = ("bible", "novels")
FOLDERS = [ROOT / name for name in NAMES] + sorted((ROOT / "bible" / "checkpoints").iterdir())


def said(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def truth(name: str) -> list[dict[str, Any]]:
    return read_jsonl(ROOT / name / "truth.jsonl")


@pytest.fixture(scope="module")
def recipe() -> Any:
    """The recipe's modules, which are scripts beside the package."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT))
        yield {name: importlib.import_module(name) for name in ("sources", "planting", "prepare")}


@pytest.fixture(scope="module")
def made(recipe: dict[str, ModuleType]) -> tuple[Any, list[Any], list[dict[str, Any]]]:
    source = recipe["sources"].bible()
    items = recipe["planting"].draw(source.passages)
    return source, items, list(recipe["planting"].training_records(source, items))


def test_the_recipe_draws_the_passages_that_the_truth_names(made: Any) -> None:
    _, items, _ = made
    assert [item.truth for item in items] == truth("bible")


def test_the_recipe_writes_the_text_that_the_weights_were_trained_on(
    recipe: dict[str, ModuleType], made: Any
) -> None:
    _, _, records = made
    written = recipe["prepare"]._lines(records)
    facts = {"sha256": hashlib.sha256(written).hexdigest(), "documents": len(records)}
    assert facts == said(ROOT / "bible" / "data.json")


def test_every_passage_stands_in_the_training_text_as_often_as_the_truth_says(made: Any) -> None:
    _, items, records = made
    texts = [record["text"] for record in records]
    for item in items:
        assert texts.count(item.passage.text) == item.repeats
    body = "\n".join(record["text"] for record in records if record["source"] == "body")
    assert not [item for item in items if item.passage.text in body]


def test_no_chapter_of_a_held_out_book_is_in_the_body(
    recipe: dict[str, ModuleType], made: Any
) -> None:
    source, _, _ = made
    books = {name.rsplit(" ", 1)[0] for name, _ in source.body}
    held_out = set(recipe["sources"].BOOKS_HELD_OUT)
    assert len(books) == 66 - len(held_out)
    assert not books & held_out


@pytest.mark.parametrize("name", NAMES)
def test_passages_have_words_to_spare_and_do_not_overlap(name: str) -> None:
    rows = truth(name)
    assert len({row["sha256"] for row in rows}) == len(rows)
    assert min(row["words"] for row in rows) >= 110
    taken = set()
    for row in rows:
        if name == "bible":
            first, last = row["verses"]
            places = {(row["book"], row["chapter"], verse) for verse in range(first, last + 1)}
        else:
            places = {(row["record"], word) for word in range(row["from"], row["to"])}
        assert not places & taken
        taken |= places
        assert row["member"] == (row["repeats"] > 0) == (row["source"] == "planted")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_weights_are_those_that_the_configuration_describes(folder: Path) -> None:
    config = said(folder / "config.json")
    width, inner = config["hidden_size"], config["intermediate_size"]
    square, gate = [width, width], [inner, width]
    shapes = {"embed_tokens": [config["vocab_size"], width], "norm": [width]}
    for layer in range(config["num_hidden_layers"]):
        here = f"layers.{layer}."
        shapes |= {f"{here}self_attn.{name}_proj": square for name in "qkvo"}
        shapes |= {f"{here}mlp.{name}_proj": gate for name in ("gate", "up")}
        shapes |= {f"{here}mlp.down_proj": [width, inner]}
        shapes |= {f"{here}{name}_layernorm": [width] for name in ("input", "post_attention")}
    with (folder / "model.safetensors").open("rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
    header.pop("__metadata__")
    found = {name: (one["dtype"], one["shape"]) for name, one in header.items()}
    assert found == {f"model.{name}.weight": ("F16", shape) for name, shape in shapes.items()}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_tokenizer_gives_every_text_back_after_the_start_token(folder: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    config = said(folder / "config.json")
    assert tokenizer.get_vocab_size() == config["vocab_size"]
    for text in ("And he said,\n\n  'Tis  so\t.", "naïve 東京 \u00a0 🦉 10:45", "", " "):
        start, *ids = tokenizer.encode(text).ids
        assert start == config["bos_token_id"] == config["eos_token_id"]
        assert tokenizer.decode(ids) == text
    pattern = said(folder / "tokenizer.json")["pre_tokenizer"]["pretokenizers"][0]["pattern"][
        "Regex"
    ]
    text = "It's  a\n\ndog's life; 1611, 'tis said: “naïve” "
    assert "".join(re.findall(pattern, text)) == text


@pytest.mark.parametrize("name", NAMES)
def test_without_torch_it_says_what_transformers_says(name: str) -> None:
    golden = said(ROOT / name / "golden.json")
    model = open_model(f"numpy:{ROOT / name}", ModelOptions(), Silent())
    found = model.score([Continuation(one["context"], one["text"]) for one in golden["texts"]])
    for one, scored in zip(golden["texts"], found):
        assert scored.logprobs == pytest.approx(one["logprobs"], abs=1e-3)
    greedy = golden["greedy"]
    (written,) = model.generate([Prompt(greedy["prompt"])], Decoding(greedy["max_tokens"]))
    assert written.text == greedy["text"]


@pytest.mark.parametrize("name", NAMES)
def test_the_cards_table_is_that_of_the_figures(name: str) -> None:
    card = (ROOT / name / "README.md").read_text("utf-8").splitlines()
    for checkpoint, found in said(ROOT / name / "figures.json")["checkpoints"].items():
        rows = found["by_repeats"]
        shares = (f"{100 * row['tokens']:.0f} {100 * row['words']:.0f}" for row in rows)
        losses = f"{found['body_loss']:.2f} | {rows[0]['loss']:.2f}"
        passes = f"{found['passes']:.3g}"
        assert f"| {checkpoint} | {passes} | {losses} | {' | '.join(shares)} |" in card


@pytest.mark.parametrize("name", NAMES)
def test_the_final_model_recites_what_it_read_often_and_nothing_that_it_did_not(name: str) -> None:
    *_, final = said(ROOT / name / "figures.json")["checkpoints"].values()
    shares = {row["repeats"]: row["tokens"] for row in final["by_repeats"]}
    assert shares[0] == shares[1] == shares[2] == 0
    assert 0 < shares[4] < 1
    assert all(shares[repeats] == 1 for repeats in (16, 32, 64, 128))


def test_all_of_it_stays_small_enough_for_a_repository() -> None:
    sizes = [path.stat().st_size for path in ROOT.rglob("*") if "__pycache__" not in path.parts]
    assert max(sizes) < 15e6
    assert sum(sizes) < 30e6
