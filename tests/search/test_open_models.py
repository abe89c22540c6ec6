"""Models as commands name them, and as signatures do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rote
from rote.core.errors import MissingExtra, OptionError
from rote.core.facets import sort_groups
from rote.core.progress import Silent
from rote.models.options import ModelOptions
from rote.search.open_models import (
    check_models,
    model_signatures,
    name_models,
    open_model,
    open_models,
)

NEXT = {"": {"The": 1.0}, "The": {"cat": 0.5, "dog": 0.5}, "cat": {"": 1.0}, "dog": {"": 1.0}}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "next.json"
    path.write_text(json.dumps(NEXT))
    return path


def test_a_model_has_the_last_part_of_its_place_or_the_name_that_it_is_given() -> None:
    specs = ("models/small", "b=index:kjv", "openai:http://localhost:1/v1#m", "index:kjv#lower")
    assert [one.name for one in name_models(specs)] == ["small", "b", "m", "kjv-lower"]
    assert [one.spec for one in name_models(specs)][1] == "index:kjv"
    # Names that would be the same are written out.
    assert [one.name for one in name_models(("a/step", "b/step"))] == ["a/step", "b/step"]
    with pytest.raises(OptionError, match="twice"):
        name_models(("a=one", "a=two"))


def test_no_models_are_none_and_a_backend_alone_is_no_model(table: Path) -> None:
    assert open_models((), ModelOptions(), Silent()) == {}
    for spec in ("index:", "index:#lower", "numpy:", "fake:", "transformers:"):
        with pytest.raises(OptionError, match="names no model"):
            open_model(spec, ModelOptions(), Silent())


def test_signatures_name_the_weights_and_not_their_place(table: Path, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere" / "next.json"
    other.parent.mkdir()
    other.write_text(table.read_text())
    texts = ["The cat", "The dog"]
    one = rote.perplexity(texts, model=f"fake:{table}", matched=False).signature
    assert str(one) == str(rote.perplexity(texts, model=f"fake:{other}", matched=False).signature)
    other.write_text(json.dumps({**NEXT, "The": {"cat": 0.9, "dog": 0.1}}))
    assert str(one) != str(rote.perplexity(texts, model=f"fake:{other}", matched=False).signature)
    assert model_signatures(["a=transformers:gpt2@main"]) == ("transformers:gpt2@main",)


def test_what_cannot_be_asked_is_noticed_without_loading_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("rote.search.open_models.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match="torch"):
        check_models(["transformers:gpt2"])
    with pytest.raises(OptionError, match="Name the backend"):
        check_models(["nosuch"])
    check_models([])


def test_precision_and_device_are_checked_whoever_runs_the_model() -> None:
    with pytest.raises(OptionError, match="dtype can be auto, float32"):
        ModelOptions(dtype="float64")
    with pytest.raises(OptionError, match="device can be auto, cpu"):
        ModelOptions(device="gpu")
    with pytest.raises(OptionError, match="dtype"):
        rote.perplexity(["The cat"], model="fake:x", dtype="half")


def test_groups_that_are_numbers_go_up_and_others_stay() -> None:
    assert list(sort_groups(dict.fromkeys(("16", "2", "0", "128"), 1))) == ["0", "2", "16", "128"]
    assert list(sort_groups(dict.fromkeys(("b", "a"), 1))) == ["b", "a"]
    mixed = dict.fromkeys(("b|10", "a|10", "b|9"), 1)
    assert list(sort_groups(mixed)) == ["b|9", "b|10", "a|10"]
    assert sort_groups({}) == {}
