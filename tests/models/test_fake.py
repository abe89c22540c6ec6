"""The fake model: every number can be worked out by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from rote.core.errors import InputError
from rote.core.model import Continuation, Decoding, Prompt
from rote.core.progress import Silent
from rote.models.backends.fake import Fake
from rote.models.options import ModelOptions, open_model

TABLE = {
    "": {"the": 0.75, "a": 0.25},
    "the": {"cat": 0.5, "dog": 0.5},
    "a": {"cat": 1.0},
    "cat": {"sat": 0.9, "": 0.1},
    "dog": {"": 1.0},
}


def test_scores_are_those_of_the_table() -> None:
    (found,) = Fake(TABLE).score([Continuation("the", " cat sat")])
    assert found.logprobs == pytest.approx([math.log(0.5), math.log(0.9)])
    assert found.starts.tolist() == [0, 4]
    assert found.ends.tolist() == [4, 8]
    assert found.greedy.tolist() == [True, True]
    mean = 0.9 * math.log(0.9) + 0.1 * math.log(0.1)
    # Of two values the distance times the root of both chances.
    spread = (math.log(0.9) - math.log(0.1)) * math.sqrt(0.9 * 0.1)
    assert found.expected == pytest.approx([math.log(0.5), mean])
    assert found.spread == pytest.approx([0, spread])
    assert found.total == pytest.approx(math.log(0.45))


def test_a_word_that_the_table_does_not_have_is_unlikely() -> None:
    (found,) = Fake(TABLE).score([Continuation("", "the fox ran")])
    assert found.logprobs[1:] == pytest.approx([math.log(1e-6)] * 2)
    assert math.isnan(found.expected[2])


def test_greedy_generation_follows_the_table() -> None:
    model = Fake(TABLE)
    start, prompted = model.generate([Prompt(""), Prompt("a")], Decoding())
    assert (start.text, start.tokens, start.ended) == ("the cat sat", 4, "end")
    assert prompted.text == " cat sat"
    (short,) = model.generate([Prompt("")], Decoding(2))
    assert (short.text, short.tokens, short.ended) == ("the cat", 2, "length")


def test_draws_have_the_chances_of_the_table() -> None:
    model = Fake(TABLE)
    prompts = [Prompt("", seed) for seed in range(2000)]
    found = model.generate(prompts, Decoding(1, temperature=1.0))
    assert sum(one.text == "the" for one in found) / 2000 == pytest.approx(0.75, abs=0.03)


def test_a_table_is_read_from_a_file_and_checked(tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    path.write_text(json.dumps(TABLE))
    model = open_model(f"fake:{path}", ModelOptions(), Silent())
    assert model.signature == Fake(TABLE).signature
    assert model.limit is None
    for wrong in ("[1]", '{"a": 1}', '{"a": {"b": 0}}', '{"a": {"b": "x"}}', "no"):
        path.write_text(wrong)
        with pytest.raises(InputError, match=r"table\.json"):
            open_model(f"fake:{path}", ModelOptions(), Silent())
