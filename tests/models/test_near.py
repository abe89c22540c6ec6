"""Nearly what follows: the bound against all texts there are, and against what is drawn."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.core.model import Continuation, Decoding, Prompt
from rote.core.progress import Silent
from rote.models.backends.fake import Fake
from rote.models.backends.numpy import Numpy
from rote.models.options import ModelOptions, open_model
from rote.models.windows import next_row
from tests.examples import dear
from tests.models.test_numpy import OPEN_MODEL

TABLE = {
    "a": {"b": 0.5, "c": 0.3, "a": 0.2},
    "b": {"a": 0.6, "c": 0.4},
    "c": {"a": 0.7, "b": 0.2, "c": 0.1},
}
MODEL = Fake(TABLE)


def distance(one: str, other: str) -> int:
    """Levenshtein's, by its definition."""
    if not one or not other:
        return len(one) + len(other)
    if one[0] == other[0]:
        return distance(one[1:], other[1:])
    return 1 + min(distance(one[1:], other), distance(one, other[1:]), distance(one[1:], other[1:]))


@given(st.text("abc", max_size=5), st.text("abc", min_size=1, max_size=5))
def test_rows_are_distances_to_all_beginnings(written: str, wanted: str) -> None:
    row = np.arange(len(wanted) + 1)
    for letter in written:
        row = next_row(row, np.array([ord(one) for one in wanted]), ord(letter))
    assert row.tolist() == [distance(written, wanted[:end]) for end in range(len(wanted) + 1)]


@dear(30)
@given(st.text("abc", min_size=1, max_size=5), st.integers(0, 2), st.booleans())
def test_with_room_for_all_the_bound_is_the_chance_itself(
    wanted: str, edits: int, cut: bool
) -> None:
    decoding = Decoding(1, 0.7, top_k=2) if cut else Decoding(1, 1.0)
    exact = 0.0
    for written in itertools.product("abc", repeat=len(wanted)):
        (own,) = MODEL.drawn([Continuation("a", " " + " ".join(written))], decoding)
        unseen = any(other not in TABLE[one] for one, other in zip(("a", *written), written))
        if distance("".join(written), wanted) <= edits and not unseen:
            exact += math.exp(own.total)
    asked = [Continuation("a", " " + " ".join(wanted))]
    (found,) = MODEL.near(asked, decoding, edits, 1000)
    assert math.exp(found) == pytest.approx(exact, abs=1e-12)
    for beams in (1, 2, 5):
        (bound,) = MODEL.near(asked, decoding, edits, beams)
        assert math.exp(bound) <= exact + 1e-12
        (own,) = MODEL.drawn(asked, decoding)
        assert bound >= own.total - 1e-9 or own.total < -20


def test_where_nothing_follows_there_is_no_chance() -> None:
    asked = [Continuation("x", " a b"), Continuation("a", " x x"), Continuation("a", " b x")]
    found = MODEL.near(asked, Decoding(1, 1.0), 1, 4)
    assert found[:2] == [-math.inf, -math.inf]
    assert math.exp(found[2]) == pytest.approx(0.5)


def test_the_open_model_writes_it_nearly_as_often_as_the_bound_says() -> None:
    model = open_model(str(OPEN_MODEL), ModelOptions(), Silent())
    assert isinstance(model, Numpy)
    decoding, draws = {"temperature": 0.8, "top_k": 20}, 200
    for text in ("And God said, Let there be light", "And it came to pass in those days, that"):
        words = text.split(" ")
        asked = Continuation(" ".join(words[:3]), " " + " ".join(words[3:]))
        (own,) = model.drawn([asked], Decoding(1, **decoding))
        bounds = [model.near([asked], Decoding(1, **decoding), k, 8)[0] for k in (0, 1, 2)]
        assert bounds[0] == pytest.approx(own.total, abs=1e-3)
        assert bounds == sorted(bounds)
        wanted = model.tokens.encode(asked.text, special=False).ids
        how = Decoding(len(wanted), **decoding)
        written = model.generate([Prompt(asked.context, seed) for seed in range(draws)], how)
        for edits, bound in enumerate(bounds):
            near = 0
            for one in written:
                row = np.arange(len(wanted) + 1)
                for token in model.tokens.encode(one.text, special=False).ids:
                    row = next_row(row, np.array(wanted), token)
                near += row[-1] <= edits
            chance = math.exp(bound)
            assert chance <= near / draws + 4 * math.sqrt(chance * (1 - chance) / draws)
