"""Names are found without importing anything, and a wrong one gets a suggestion."""

from __future__ import annotations

import pickle

import pytest

from rote.core import plugins
from rote.core.errors import InputError, MissingExtra, RoteError, UnknownName


def test_every_measure_file_is_known_by_its_name() -> None:
    known = plugins.members("measure")
    assert {"lexical", "compression", "self-repetition", "homogenization"} <= set(known)
    assert known["self-repetition"] == "rote.measure.self_repetition"
    assert not any(name.startswith("_") for name in known)


def test_an_unknown_name_gets_the_nearest_one() -> None:
    with pytest.raises(UnknownName, match="did you mean 'lexical'"):
        plugins.load("measure", "lexcal")


def test_the_summary_is_the_first_line_of_the_docstring() -> None:
    line = plugins.summary("measure", "lexical")
    module = plugins.load("measure", "lexical")
    assert line == module.__doc__.split("\n")[0]


def test_an_input_error_names_the_place_and_the_remedy() -> None:
    error = InputError("no text", file="a.jsonl", line=3, field="text", remedy="Give it one")
    assert str(error) == "a.jsonl, line 3, field 'text': no text. Give it one"


@pytest.mark.parametrize(
    "error",
    [
        InputError("no text", file="a", line=1, field="text", remedy="r"),
        UnknownName("measure", "x", ["y"]),
        MissingExtra("tokenizers", "subwords", "a tokenizer.json"),
    ],
)
def test_errors_survive_the_way_from_a_worker_process(error: RoteError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
