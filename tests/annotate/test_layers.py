"""Layers that follow from the words alone."""

from __future__ import annotations

import pytest

from rote.annotate.words import get
from rote.core.errors import UnknownName
from rote.core.layer import derive


def test_lower_and_shape_align_with_the_words() -> None:
    words = get("ud")(["The USA the", "B2B in 2001, McKinley's"])
    assert derive(words, "word") is words
    lower = derive(words, "lower")
    assert lower.items(0) == ["the", "usa", "the"]
    assert lower.ids.tolist()[:3] == [0, 1, 0]
    shape = derive(words, "shape")
    assert shape.items(0) == ["Xxx", "XXX", "xxx"]
    assert shape.items(1) == ["XdX", "xx", "dddd", ",", "XxXxxxx", "'x"]
    assert shape.starts is words.starts


@pytest.mark.parametrize(
    ("word", "shape"),
    [("Extraordinary", "Xxxxx"), ("1234567", "dddd"), ("......", "...."), ("中文", "xx"), ("", "")],
)
def test_runs_end_at_four(word: str, shape: str) -> None:
    layer = get("spaces")([word])
    assert derive(layer, "shape").items(0) == [shape]


def test_unknown_layers_are_refused() -> None:
    with pytest.raises(UnknownName, match="did you mean 'lower'"):
        derive(get("ud")(["a"]), "lowr")
