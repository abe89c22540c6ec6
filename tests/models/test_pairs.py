"""The rule of lm-evaluation-harness for contexts and continuations, and windows over long texts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.core.model import Continuation, Floats
from rote.core.progress import Once, Silent
from rote.models.tokens import Encoded, Tokens, read_tokens
from rote.models.windows import (
    TokenPair,
    Window,
    batches,
    cut_windows,
    encode_pair,
    encode_prompt,
    score_pairs,
)
from tests.kit import Heard
from tests.models import tiny


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Tokens:
    return read_tokens(tiny.write_model(tmp_path_factory.mktemp("model"), tiny.PLAIN), 0)


def ids(tokens: Tokens, text: str) -> list[int]:
    return tokens.encode(text, special=True).ids


def spans(found: TokenPair) -> list[tuple[int, int]]:
    return list(zip(found.starts, found.ends))


def test_a_space_before_the_text_belongs_to_it(tokens: Tokens) -> None:
    apart = encode_pair(tokens, Continuation("in the", " and"))
    assert apart.ids == ids(tokens, "in the and")
    assert (apart.first, spans(apart)) == (len(ids(tokens, "in the")), [(0, 4)])


def test_spaces_at_the_end_of_the_context_go_over_to_the_text(tokens: Tokens) -> None:
    moved = encode_pair(tokens, Continuation("in the ", "and"))
    assert moved.ids == encode_pair(tokens, Continuation("in the", " and")).ids
    assert spans(moved) == [(0, 3)]
    # Of three spaces the first two are tokens of their own, before the text begins.
    three = encode_pair(tokens, Continuation("in the   ", "and"))
    assert spans(three) == [(0, 0), (0, 3)]


def test_without_a_context_the_start_token_stands_before(tokens: Tokens) -> None:
    found = encode_pair(tokens, Continuation("", "the and"))
    assert (found.ids, found.first) == ([0, *ids(tokens, "the and")], 1)
    written = encode_pair(tokens, Continuation("", f"{tiny.END}the"))
    assert (written.ids, written.first) == ([0, *ids(tokens, "the")], 1)
    assert spans(written) == [(len(tiny.END), len(tiny.END) + 3)]


def test_a_text_of_nothing_has_no_tokens(tokens: Tokens) -> None:
    for context in ("", "the", " "):
        found = encode_pair(tokens, Continuation(context, ""))
        assert len(found.ids) == found.first
        assert not list(cut_windows(found, 8))


def test_a_text_that_merges_with_its_context_is_read_by_itself(tokens: Tokens) -> None:
    # "th" + "e" is the one token "the", which would leave nothing to score.
    found = encode_pair(tokens, Continuation("th", "e"))
    assert (found.ids, spans(found)) == ([*ids(tokens, "th"), *ids(tokens, "e")], [(0, 1)])


def test_where_a_word_is_cut_the_rule_counts_tokens(tokens: Tokens) -> None:
    # Alone "a|n" is one token "an"; with "d" it is "and", followed by "s".
    found = encode_pair(tokens, Continuation("an", "ds"))
    assert found.ids == [*ids(tokens, "an"), *ids(tokens, "ands")[1:]]
    assert spans(found) == [(1, 2)]


class Marked:
    """A tokenizer that puts a start token before every text: a token is a character."""

    start = 0
    start_text = "^"
    size = 256

    def encode(self, text: str, *, special: bool) -> Encoded:
        begun = [0] if special else []
        own = [0 if letter == "^" else ord(letter) for letter in text]
        places = list(range(len(text)))
        return Encoded(begun + own, [*begun, *places], [*begun, *(place + 1 for place in places)])

    def decode(self, ids: list[int], before: list[int]) -> str:
        return "".join(map(chr, ids))


def test_a_start_token_that_the_tokenizer_adds_counts_to_the_context_once() -> None:
    found = encode_pair(Marked(), Continuation("ab", "c"))
    assert (found.ids, found.first, spans(found)) == ([0, 97, 98, 99], 3, [(0, 1)])
    written = encode_pair(Marked(), Continuation("^a", "b"))
    assert (written.ids, written.first) == ([0, 97, 98], 2)
    assert encode_pair(Marked(), Continuation("", "a")).ids == [0, 97]
    assert encode_prompt(Marked(), "") == [0]
    assert encode_prompt(Marked(), "^a") == encode_prompt(Marked(), "a") == [0, 97]


@given(st.integers(1, 12), st.integers(1, 60), st.integers(1, 60))
def test_every_token_is_scored_once_with_enough_before_it(
    longest: int, context: int, text: int
) -> None:
    numbers = list(range(context + text))
    found = TokenPair(numbers, context, list(range(text)), list(range(1, text + 1)))
    cut = list(cut_windows(found, longest))
    asked = [one.ids[place] for one in cut for place in range(one.first, len(one.ids))]
    assert asked == numbers[context:]
    for one in cut:
        assert len(one.ids) - 1 <= longest
        assert one.ids == list(range(one.ids[0], one.ids[0] + len(one.ids)))
        assert one.first >= 1
    if text <= longest:  # as lm-evaluation-harness cuts
        assert [one.ids for one in cut] == [numbers[-(longest + 1) :]]
    else:
        for one in cut:
            assert one.first >= min(one.ids[one.first], longest // 2)


@given(
    st.lists(st.tuples(st.integers(1, 5), st.integers(0, 40)), max_size=8),
    st.integers(1, 9),
    st.integers(1, 50),
)
def test_what_was_cut_is_put_together_again(
    sizes: list[tuple[int, int]], longest: int, room: int
) -> None:
    found = []
    for before, text in sizes:
        places = list(range(text))
        found.append(TokenPair(list(range(before + text)), before, places, places))
    answers = score_pairs(
        found,
        longest,
        room,
        lambda some: [
            np.array([one.ids[one.first :]] + [[0] * (len(one.ids) - one.first)] * 3, float)
            for one in some
        ],
        Once(Silent()),
    )
    assert [list(one.logprobs) for one in answers] == [one.ids[one.first :] for one in found]
    assert [list(one.starts) for one in answers] == [one.starts for one in found]


def test_windows_that_do_not_fit_into_memory_are_read_in_smaller_batches() -> None:
    text = TokenPair(list(range(41)), 1, list(range(40)), list(range(1, 41)))
    sizes: list[int] = []

    def read(some: Sequence[Window]) -> list[Floats]:
        if len(some) > 3:
            raise MemoryError
        sizes.append(len(some))
        return [np.array([one.ids[one.first :]] * 4, float) for one in some]

    heard = Heard()
    (answer,) = score_pairs([text], 4, 1000, read, Once(heard))
    assert list(answer.logprobs) == list(range(1, 41)), "each token once, whatever the batch"
    assert max(sizes) == 3
    assert heard.lines[-1].endswith("windows at once, trying 3")
    with pytest.raises(MemoryError):  # fewer texts come first
        score_pairs([text, text], 4, 1000, read, Once(Silent()))
    with pytest.raises(MemoryError):  # one window alone
        score_pairs([text], 4, 1, lambda some: read([*some] * 4), Once(Silent()))


@given(st.lists(st.integers(1, 30), max_size=40), st.integers(1, 60))
def test_batches_hold_every_place_once_and_no_more_than_their_room(
    lengths: list[int], room: int
) -> None:
    made = list(batches(lengths, room))
    assert sorted(place for batch in made for place in batch) == list(range(len(lengths)))
    for batch in made:
        assert len(batch) == 1 or len(batch) * max(lengths[place] for place in batch) <= room
    order = [lengths[place] for batch in made for place in batch]
    assert order == sorted(order, reverse=True)


def test_the_rule_is_that_of_the_harness(tokens: Tokens, tmp_path: Path) -> None:
    """Their function, where it is installed, on the same tokenizer."""
    harness = pytest.importorskip("lm_eval.api.model")

    class Theirs(harness.TemplateLM):  # type: ignore[name-defined,misc]
        eot_token_id = 0
        prefix_token_id = 0
        _loglikelihood_tokens = loglikelihood_rolling = generate_until = None

        def tok_encode(self, string: str, add_special_tokens: bool | None = None) -> list[int]:
            return ids(tokens, string)

    theirs = Theirs()
    pieces = ["the", " and", "th", "er", "\n", "  ", "é", "s ", "a", "x.", "'s", " 1"]
    random = np.random.RandomState(3)
    for _ in range(400):
        context, text = ("".join(random.choice(pieces, random.randint(1, 5))) for _ in range(2))
        before, after = theirs._encode_pair(context, text)
        if before and after:
            found = encode_pair(tokens, Continuation(context, text))
            assert (found.ids, found.first) == ([*before, *after], len(before))
