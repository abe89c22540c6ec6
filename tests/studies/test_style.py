"""Style memorization on a model that goes on as its table says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import rote
from rote.cli.main import rote as command
from rote.core.document import Document
from rote.core.errors import InputError, OptionError
from rote.core.model import Decoding, Generated, Prompt
from rote.core.result import Result
from rote.studies._memorization_style import cut_texts
from tests.kit import write_jsonl

SEEN = "The old man walked to the small house and the young dog slept there ."
OPTIONS: dict[str, Any] = {"layer": "pos", "prefix": 6, "suffix": 6}


class Scripted:
    """Writes after each prompt what a dictionary says."""

    def __init__(self, written: dict[str, str]) -> None:
        self.written = written

    signature = "scripted/1"
    batch = 1000

    def length(self, text: str) -> int:
        return len(text.split())

    def score(self, wanted: object) -> list[object]:
        raise NotImplementedError

    def generate(self, wanted: list[Prompt], decoding: Decoding) -> list[Generated]:
        assert not decoding.sampled
        return [Generated(self.written[one.text], 9, "length") for one in wanted]


@pytest.fixture(autouse=True)
def kept_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROTE_CACHE", str(tmp_path / "kept"))
    monkeypatch.setattr("rote.studies._memorization_style.RESAMPLES", 20)


def style_memorization(documents: Any, models: Mapping[str, Any], **options: Any) -> Result:
    return rote.memorization(documents, model=models, **{**OPTIONS, **options})


def study(*written: str, options: Mapping[str, Any] = OPTIONS, **meta: object) -> Result:
    """The same text over and over, a different beginning each time."""
    starts = ("The", "An", "One", "Some", "This", "That")
    documents, script = [], {}
    for number, text in enumerate(written):
        whole = SEEN.replace("The", starts[number], 1)
        fields = {name: value[number] for name, value in meta.items()}  # type: ignore[index]
        documents.append(Document(str(number), whole, fields))
        script[cut_texts(documents[-1:], 6, 6)[0].prompt] = text
    return style_memorization(documents, {"scripted": Scripted(script)}, **options)


EXACT = " small house and the young dog slept there ."
STYLE = " large room and the old cat slept there ."
OTHER = " of the of the of the of the"


def test_a_text_is_cut_after_so_many_words_and_short_ones_are_left_out() -> None:
    cuts = cut_texts([Document("a", SEEN), Document("b", "Too short .")], 6, 6)
    assert [(cut.prompt, cut.passage) for cut in cuts] == [
        ("The old man walked to the", "The old man walked to the small house and the young dog")
    ]


def test_equal_words_are_exact_and_equal_tags_are_style() -> None:
    found = study(EXACT, STYLE, OTHER, EXACT).by_source["scripted|texts"].values
    assert found["exact"] == 0.5
    assert found["style"] == 0.75
    assert found["style_only"] == 0.25
    # All, "and the", "the", all of six.
    assert found["words_agree"] == pytest.approx((1 + 2 / 6 + 1 / 6 + 1) / 4)


def test_substitutions_are_those_of_the_texts_in_style_alone() -> None:
    result = study(EXACT, STYLE, OTHER)
    pairs = {(row["tag"], row["word"], row["written"]) for row in result.tables["substitutions"]}
    assert pairs == {
        ("JJ", "small", "large"),
        ("NN", "house", "room"),
        ("JJ", "young", "old"),
        ("NN", "dog", "cat"),
    }
    (example,) = result.tables["examples"]
    assert example["differ"] == [0, 1, 4, 5]


def test_a_model_that_stops_early_or_goes_on_within_a_word_has_memorized_nothing() -> None:
    found = study(" small house", "r" + EXACT).by_source["scripted|texts"].values
    assert found["exact"] == found["style"] == 0
    # The prompt's last word became another: nothing is compared.
    assert found["words_agree"] == pytest.approx(2 / 6 / 2)


def test_shares_are_given_by_how_often_a_text_was_seen() -> None:
    options = {"frequency": "repeats"}
    result = study(OTHER, STYLE, EXACT, EXACT, options=options, repeats=[1, 8, 8, 64])
    rows = {row["least"]: row for row in result.tables["seen"]}
    assert [(rows[n]["exact"], rows[n]["style"]) for n in (1, 8, 64)] == [(0, 0), (0.5, 1), (1, 1)]
    assert all(row["exact_low"] <= row["exact"] <= row["exact_high"] for row in rows.values())


def test_an_index_says_how_often_a_text_was_seen() -> None:
    index = rote.index([SEEN, SEEN, "Another text altogether ."])
    document = Document("a", SEEN)
    model = Scripted({"The old man walked to the": EXACT})
    result = style_memorization([document], {"m": model}, corpus=index)
    assert result.tables["texts"][0]["frequency"] == 2


def test_the_spread_is_that_of_draws_of_half_of_the_texts() -> None:
    result = study(EXACT, EXACT, OTHER, OTHER)
    row = next(row for row in result.tables["resamples"] if row["value"] == "exact")
    # Two of four without replacement: 0, 1/2 (four times of six), 1.
    assert row["size"] == 2
    assert row["sd"] == pytest.approx((1 / 3 * 0.25) ** 0.5, abs=0.15)


def test_groups_are_made_by_fields_and_a_missing_one_is_named() -> None:
    options = {"by": ("book",)}
    result = study(EXACT, OTHER, options=options, book=["a", "b"])
    assert {name: one.values["exact"] for name, one in result.by_source.items()} == {
        "scripted|a": 1,
        "scripted|b": 0,
    }
    with pytest.raises(InputError, match="'book'"):
        study(EXACT, options=options)


def test_texts_that_are_all_too_short_are_an_error() -> None:
    with pytest.raises(InputError, match="shorter prefix"):
        style_memorization([Document("a", "short")], {"m": Scripted({})})
    with pytest.raises(OptionError, match="must be at least 1"):
        study(EXACT, options={"suffix": 0})


def test_the_command_asks_an_index_that_speaks(tmp_path: Path) -> None:
    texts = tmp_path / "texts.jsonl"
    text = " ".join(f"word{n} follows" for n in range(12))
    write_jsonl(texts, [{"id": "a", "text": text}])
    runner = CliRunner()
    index = tmp_path / "index"
    rote.index([text], output=index)
    call = ["memorization", str(texts), "--model", f"index:{index}", "--corpus", str(index)]
    call += ["--layer", "pos", "--prefix", "6", "--suffix", "6", "--json", "-q"]
    found = runner.invoke(command, call)
    assert found.exit_code == 0, found.output
    values = json.loads(found.output)["sources"]["index|texts"]["values"]
    assert values["style"] >= values["exact"] == 1
    assert runner.invoke(command, ["memorization", str(texts), "--layer", "pos"]).exit_code != 0


def test_what_is_missing_is_noticed_before_a_model_is_asked() -> None:
    document = Document("1", SEEN, {})
    options = {"by": ("book",)}
    with pytest.raises(InputError, match="has no such field"):
        style_memorization([document], {"never asked": Scripted({})}, **options)
    with pytest.raises(OptionError, match="sample must be at least 1"):
        study(EXACT, options={"sample": 0})


def test_texts_with_the_same_id_keep_their_own_frequency() -> None:
    other = SEEN.replace("The", "An", 1)
    documents = [Document("1", SEEN, {"n": 1}), Document("1", other, {"n": 8})]
    files = {"one": documents[:1], "other": documents[1:]}
    script = {one.prompt: " no" for one in cut_texts(documents, 6, 6)}
    result = style_memorization(files, {"m": Scripted(script)}, frequency="n")
    assert [row["frequency"] for row in result.tables["texts"]] == [1, 8]
