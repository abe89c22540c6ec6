"""Recitations that nobody asked for: by hand, against a plain twin, and on the open model."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import rote
from rote.cli.main import rote as command
from rote.core.errors import OptionError
from rote.core.model import Decoding
from rote.core.progress import Silent
from rote.core.result import Result
from rote.corpus.items import Item
from rote.models.backends.fake import Fake
from rote.models.options import ModelOptions, open_model
from rote.studies._memorization_unprompted import RecitedRun, draw_texts, find_runs, index_grams
from tests.models.endpoint_server import generates_only, serving
from tests.models.test_numpy import OPEN_MODEL

WORDS = st.lists(st.sampled_from("abc"), max_size=8)
CERTAIN = Fake({one: {other: 1.0} for one, other in zip(("", *"abcd"), (*"abcd", ""))})


def item(text: str, number: int, **meta: object) -> Item:
    return Item(str(number), "texts", "", (text,), 0, "", meta)


def plain(text: list[str], passages: list[list[str]], least: int) -> list[RecitedRun]:
    """Every pair of runs that are equal and cannot be made longer."""
    found = []
    for first in range(len(text)):
        for number, words in enumerate(passages):
            for at in range(len(words)):
                for size in range(least, len(text) - first + 1):
                    same = text[first : first + size] == words[at : at + size]
                    before = first and at and text[first - 1] == words[at - 1]
                    behind = (
                        first + size < len(text)
                        and at + size < len(words)
                        and text[first + size] == words[at + size]
                    )
                    if same and at + size <= len(words) and not before and not behind:
                        found.append(RecitedRun(number, first, at, size))
    return found


@given(WORDS, st.lists(WORDS, max_size=3), st.integers(1, 3))
def test_runs_equal_their_plain_twin(
    text: list[str], passages: list[list[str]], least: int
) -> None:
    assert find_runs(text, index_grams(passages, least), passages, least) == plain(
        text, passages, least
    )


def found(**keywords: Any) -> Result:
    items = [
        item("a b c d e f", 0, kind="x"),
        item("x b c d", 1, kind="x"),
        item("x y z z", 2, kind="y"),
    ]
    return rote.memorization(items, by="kind", **({"run": 3, "model": {"m": CERTAIN}} | keywords))


def test_what_is_recited_is_counted_by_texts_words_and_passages() -> None:
    result = found(unprompted=5)
    drawn, itself = result.tables["unprompted"]
    # Every text is "a b c d": the first passage in four words, the second in three.
    assert (drawn["model"], drawn["after"], drawn["texts"]) == ("m", "the start", 5)
    assert (drawn["some"], drawn["inside"], drawn["longest"]) == (1, 1, 4)
    assert drawn["some_low"] < 1
    # Of the passages themselves two have "b c d" of one another: 3 of 6, 3 of 4 and 0 of 4 words.
    assert itself["some"] == pytest.approx(2 / 3)
    assert itself["inside"] == pytest.approx((3 / 6 + 3 / 4) / 3)
    rows = {row["group"]: row for row in result.tables["recited"]}
    assert (rows["x"]["recited"], rows["x"]["count"], rows["y"]["recited"]) == (1, 2, 0)
    first, second = result.tables["recitations"]
    assert (first["id"], first["texts"], first["run"]) == ("0", 5, "a b c d")
    assert (second["id"], second["words"], second["run"]) == ("1", 3, "b c d")
    assert "unprompted:5x128-3" in str(result.signature)
    assert found(unprompted="5").tables["unprompted"] == result.tables["unprompted"]
    with pytest.raises(OptionError, match="above 0"):
        found(unprompted=5, temperature=0)
    with pytest.raises(OptionError, match="a number of texts or a file"):
        found(unprompted=0)


def test_texts_that_are_there_need_no_model(tmp_path: Path) -> None:
    path = tmp_path / "written.jsonl"
    path.write_text('{"text": "B c D, q"}\n{"text": "nothing of it"}\n')
    result = found(unprompted=str(path), model=())
    row = result.tables["unprompted"][0]
    assert (row["after"], row["texts"], row["some"], row["longest"]) == ("written.jsonl", 2, 0.5, 3)
    assert row["inside"] == pytest.approx((3 / 5 + 0) / 2)
    same = found(unprompted=["B c D, q", "nothing of it"], model=())
    assert same.tables["recited"][0]["count"] == result.tables["recited"][0]["count"] == 2
    assert not result.by_source
    with pytest.raises(OptionError, match="no model"):
        found(unprompted=3, model=())


def test_draws_after_a_prefix_count_what_others_have() -> None:
    items = [item("q a b c d", 0), item("a b c d", 1), item("z z z z z", 2)]
    result = rote.memorization(
        items, model={"m": CERTAIN}, unprompted=1, run=3, samples=2, prefix=2, suffix=3, n=2
    )
    row = next(row for row in result.tables["unprompted"] if row["after"] == "prefixes of others")
    # After "q a" it writes "b c d", which is asked for, and also of the other; after "z z" nothing.
    assert (row["texts"], row["some"]) == (4, 0.5)
    own = [row for row in result.tables["recitations"] if row["after"] == "prefixes of others"]
    assert [(one["id"], one["texts"]) for one in own] == [("1", 2)]


def test_an_endpoint_is_asked_with_nothing(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text('{"text": "say the end the end"}\n{"text": "say something else now"}\n')
    with serving(generates_only) as served:
        asked = ["memorization", str(path), "--model", f"openai:{served.url}#small"]
        more = ["--unprompted", "2", "--tokens", "4", "--run", "3", "--json", "-q"]
        done = CliRunner().invoke(command, [*asked, *more])
    assert done.exit_code == 0, (done.output, done.exception)
    rows = json.loads(done.stdout)["tables"]["unprompted"]
    assert (rows[0]["some"], rows[0]["longest"]) == (1, 4)


def test_the_open_model_recites_what_it_read_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passages with 128 copies against held-out ones of the same books."""
    monkeypatch.syspath_prepend(str(OPEN_MODEL.parent))
    sources, planting = map(importlib.import_module, ("sources", "planting"))
    items = [
        item(one.passage.text, number, repeats=one.repeats)
        for number, one in enumerate(planting.draw(sources.bible().passages))
        if one.repeats in (0, 128)
    ]
    items = [one for one in items if one.meta["repeats"]] + [
        one for one in items if not one.meta["repeats"]
    ][:25]
    # What the items score does not matter here, so the model is asked for texts alone.
    model = open_model(str(OPEN_MODEL), ModelOptions(), Silent())
    (made,) = draw_texts({"m": model}, 40, Decoding(36, 1.0), Silent())
    result = rote.memorization(items, model=(), by="repeats", unprompted=made.texts, run=20)
    rows = {row["group"]: row for row in result.tables["recited"]}
    assert rows["128"]["recited_low"] > rows["0"]["recited_high"]
    assert rows["0"]["count"] == 0
