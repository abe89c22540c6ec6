"""Many questions: order, batches, what is kept, and what happens when something breaks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from rote.core.errors import RoteError
from rote.core.model import Continuation, Decoding, Generated, Prompt, Scored
from rote.core.progress import Silent
from rote.models.answers import generate_all, score_all
from tests.kit import Heard


@dataclass
class Counting:
    """A model that says how long a text is, remembers what it was asked, and breaks on request."""

    signature: str = "counting"
    batch: int = 20
    limit: int | None = None
    room: int = 1000
    breaks_at: int | None = None
    asked: list[list[str]] = field(default_factory=list)

    def length(self, text: str) -> int:
        return len(text)

    def score(self, wanted: Sequence[Continuation]) -> list[Scored]:
        self._begin([one.text for one in wanted])
        return [_scored(one) for one in wanted]

    def generate(self, wanted: Sequence[Prompt], decoding: Decoding) -> list[Generated]:
        self._begin([one.text for one in wanted])
        return [Generated(f"{one.text}+{one.seed}é\ud800", 2, "stop") for one in wanted]

    def _begin(self, texts: list[str]) -> None:
        if len(texts) * max(map(len, texts)) > self.room:
            raise MemoryError
        if len(self.asked) == self.breaks_at:
            raise KeyboardInterrupt
        self.asked.append(texts)

    @property
    def all_asked(self) -> list[str]:
        return [text for batch in self.asked for text in batch]


def _scored(one: Continuation) -> Scored:
    count = len(one.text)
    places = np.arange(count)
    nothing = np.full(count, np.nan)
    return Scored(
        -places / 7 - len(one.context), places, places + 1, places % 2 == 0, nothing, places * 0.5
    )


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROTE_CACHE", str(tmp_path / "cache"))


def texts(*some: str) -> list[Continuation]:
    return [Continuation("", text) for text in some]


def same(first: Scored, second: Scored) -> bool:
    names = ("logprobs", "starts", "ends", "greedy", "expected", "spread")
    return all(
        np.array_equal(getattr(first, name), getattr(second, name), equal_nan=name != "greedy")
        and getattr(first, name).dtype == getattr(second, name).dtype
        for name in names
    )


def test_answers_come_in_the_order_of_the_questions() -> None:
    model = Counting()
    wanted = texts("aaaa", "b", "cccccc", "", "dd")
    found = score_all(model, wanted, Silent())
    assert [len(one.logprobs) for one in found] == [4, 1, 6, 0, 2]
    assert model.all_asked == ["cccccc", "aaaa", "dd", "b", ""]  # the longest first


def test_a_batch_holds_no_more_than_its_room() -> None:
    model = Counting(batch=12)
    score_all(model, texts(*"abcdefgh", "long one"), Silent())
    # A start token counts too: 9 alone, then six times 2.
    assert [len(batch) for batch in model.asked] == [1, 6, 2]


def test_what_was_answered_is_not_asked_again() -> None:
    wanted = [Continuation("x", "é \ud800"), Continuation("", "b")]
    first = score_all(Counting(), wanted, Silent())
    model = Counting()
    second = score_all(model, wanted, Silent())
    assert model.asked == []
    assert all(same(one, other) for one, other in zip(first, second))


def test_a_run_that_was_killed_goes_on_after_the_last_finished_batch() -> None:
    wanted = texts(*("x" * length for length in range(1, 9)))
    killed = Counting(batch=9, breaks_at=3)
    with pytest.raises(KeyboardInterrupt):
        score_all(killed, wanted, Silent())
    assert len(killed.all_asked) == 3
    again, listening = Counting(batch=9), Heard()
    found = score_all(again, wanted, listening)
    assert sorted(killed.all_asked + again.all_asked) == sorted(one.text for one in wanted)
    assert [len(one.logprobs) for one in found] == list(range(1, 9))
    assert listening.lines == ["scoring: 3 of 8 were already done"]
    assert listening.stages == [("scoring", 5)]
    assert listening.done == 5


def test_answers_are_kept_by_model_and_by_context() -> None:
    score_all(Counting("one/1"), texts("a"), Silent())
    other = Counting("other/1")
    score_all(other, texts("a"), Silent())
    assert other.all_asked == ["a"]
    again = Counting("one/1")
    score_all(again, [Continuation("c", "a"), Continuation("", "ca")], Silent())
    assert sorted(again.all_asked) == ["a", "ca"]


def test_a_batch_too_large_for_memory_is_halved_and_so_are_those_after_it() -> None:
    model, listening = Counting(batch=80, room=25), Heard()
    wanted = texts(*(letter * 9 for letter in "abcdefghijklmnop"))
    found = score_all(model, wanted, listening)
    assert [len(one.logprobs) for one in found] == [9] * 16
    assert [len(batch) for batch in model.asked] == [2] * 8
    assert [line.split(" with ")[0] for line in listening.lines] == ["out of memory"] * 2
    assert "8 texts at once, trying 4" in listening.lines[0]
    assert listening.done == 16


def test_one_text_that_does_not_fit_is_an_error_that_comes_at_once() -> None:
    model = Counting(room=3)
    with pytest.raises(RoteError, match="a single text does not fit into memory"):
        score_all(model, texts("a", "bbbb"), Silent())
    assert model.asked == []


def test_a_model_that_costs_money_is_told_before_it_is_asked() -> None:
    class Dear(Counting):
        told: tuple[int, int, int] | None = None

        def about_to(self, requests: int, read: int, generated: int) -> None:
            assert not self.asked
            self.told = requests, read, generated

    dear = Dear()
    generate_all(dear, [Prompt("abc"), Prompt("ab"), Prompt("ab")], Decoding(7), Silent())
    assert dear.told == (2, 7, 14)
    dear = Dear()
    generate_all(dear, [Prompt("ab")], Decoding(7), Silent())  # answered before
    assert dear.told is None
    score_all(dear, [Continuation("a", "bc")], Silent())
    assert dear.told == (1, 4, 0)


def test_a_model_that_leaves_out_an_answer_is_found_out() -> None:
    class Lazy(Counting):
        def score(self, wanted: Sequence[Continuation]) -> list[Scored]:
            return super().score(wanted)[1:]

    with pytest.raises(RoteError, match="2 texts were requested, but 1 returned"):
        score_all(Lazy(), texts("a", "b"), Silent())


def test_generations_are_kept_by_prompt_seed_and_settings() -> None:
    warm = Decoding(3, temperature=1.0)
    prompts = [Prompt("a", 1), Prompt("a", 2), Prompt("b", 1)]
    found = generate_all(Counting(), prompts, warm, Silent())
    assert [one.text for one in found] == ["a+1é\ud800", "a+2é\ud800", "b+1é\ud800"]
    again = Counting()
    assert generate_all(again, prompts, warm, Silent()) == found
    assert again.asked == []
    generate_all(again, prompts[:1], Decoding(3, temperature=0.9), Silent())
    generate_all(again, prompts[:1], Decoding(4, temperature=1.0), Silent())
    generate_all(again, prompts[:1], Decoding(3, temperature=1.0, stop=("x",)), Silent())
    assert len(again.asked) == 3


def test_greedy_generation_does_not_depend_on_the_seed() -> None:
    model = Counting()
    prompts = [Prompt("a", 1), Prompt("a", 2)]
    found = generate_all(model, prompts, Decoding(3), Silent())
    assert len(model.all_asked) == 1
    assert found[0] == found[1]


def test_settings_that_differ_in_the_last_digit_differ_in_their_signature() -> None:
    close = [Decoding(temperature=one).signature for one in (0.7, 0.70000001, 1.0)]
    assert close == ["temperature0.7-max128", "temperature0.70000001-max128", "temperature1-max128"]
    assert Decoding(top_p=0.5, top_k=3).signature == "greedy-max128"
    full = Decoding(9, 0.5, 0.9, 3, 2.0, ("a", "b"))
    assert full.signature == "temperature0.5-top-p0.9-top-k3-constraint2-max9-stop['a', 'b']"
