"""The back-off model equals its formula, and its probabilities add up."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.core.errors import OptionError
from rote.search.index_language_model import BackOff
from tests.examples import dear, lists
from tests.index import twins
from tests.index.test_index import index_of, layer_of, texts

END = "\0"


def by_formula(model: BackOff, texts: twins.Texts, context: Sequence[str], item: str) -> float:
    """The formula as it stands in the module's docstring, on texts that end in a mark."""
    ended = [[*text, END] for text in texts]
    vocabulary = {item for text in texts for item in text}
    found = 1 / (len(vocabulary) + 2)
    for length in range(min(len(context), model.longest) + 1):
        h = list(context[len(context) - length :])
        held = twins.count(texts, h) if h else sum(map(len, ended))
        if not held:
            break
        doubt = model.scale * held**model.power
        found = (twins.count(ended, [*h, item]) + doubt * found) / (held + doubt)
    return found


@dear(50)
@given(texts, texts, st.integers(1, 3), st.sampled_from([1, 2, 32]))
def test_probabilities(texts: twins.Texts, asked: twins.Texts, segments: int, longest: int) -> None:
    model = BackOff(index_of(texts, segments), longest=longest)
    expected = [
        by_formula(model, texts, text[:i], item) for text in asked for i, item in enumerate(text)
    ]
    assert model.probabilities(layer_of(asked)).tolist() == pytest.approx(expected)


@given(texts, lists("abz", 3), st.integers(1, 3))
def test_everything_that_can_follow_adds_up(
    texts: twins.Texts, context: list[str], segments: int
) -> None:
    model = BackOff(index_of(texts, segments))
    found = model.distribution(context)
    for item, probability in found.items():
        assert probability == pytest.approx(by_formula(model, texts, context, item))
    rest = [by_formula(model, texts, context, item) for item in (END, "never seen")]
    assert sum(found.values()) + sum(rest) == pytest.approx(1)
    assert list(found.values()) == sorted(found.values(), reverse=True)


def test_what_is_drawn_follows_the_distribution() -> None:
    model = BackOff(index_of([list("abac"), list("abab"), list("ca")], 2))
    drawn = [model.generate(["a"], most=1, seed=seed) for seed in range(3000)]
    for item, probability in model.distribution(["a"]).items():
        share = sum(one == [item] for one in drawn) / len(drawn)
        # The unknown is never drawn; its share, 1 in 60 here, falls to the others.
        assert share == pytest.approx(probability, abs=4 * math.sqrt(0.25 / 3000) + 1 / 60)
    assert model.generate(["a"], most=9, seed=5) == model.generate(["a"], most=9, seed=5)
    assert [] in drawn


def test_perplexity() -> None:
    model = BackOff(index_of([list("abab")], 1))
    found = model.probabilities(["a", "b"])
    assert model.perplexity(["a", "b"]) == pytest.approx(1 / math.sqrt(found[0] * found[1]))
    assert math.isnan(model.perplexity(layer_of([[]])))
    with pytest.raises(OptionError):
        model.generate(most=0)
