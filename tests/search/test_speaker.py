"""An index that speaks equals its formula, and writes what it can read again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.core.errors import InputError, OptionError
from rote.core.model import Continuation, Decoding, Prompt
from rote.index.grams import ABSENT, END
from rote.search.index_language_model import BackOff, IndexLanguageModel, open_index_model
from tests.examples import lists
from tests.index import twins
from tests.index.test_index import index_of, texts
from tests.indexes import build_index, index_texts

PARABLE = [
    "A sower went out to sow. Some seed fell by the way side, and the birds ate it.",
    "Some seed fell upon stony places, and it withered. Dr. Sower said, “Other seed fell well.”",
    "Other seed fell into good ground, and brought forth fruit: some a hundredfold, some sixty.",
]


def by_formula(texts: twins.Texts, context: Sequence[str], strings: Sequence[str]) -> list[float]:
    """The chance of the end, of every string, and of the unknown, as the module of the back-off
    model has it; an empty context is the start of a document."""
    following = [[*text, "END"] for text in texts]
    names = ["END", *strings, "unknown"]
    chances = [1 / (len(strings) + 2)] * len(names)
    contexts = [list(context[len(context) - n :]) for n in range(min(len(context), 32) + 1)]
    rounds = [[item for text in following for item in text]]
    if context:
        for h in contexts[1:]:
            places = [
                text[i + len(h)]
                for text in following
                for i in range(len(text) - len(h))
                if text[i : i + len(h)] == h
            ]
            rounds.append(places)
    else:
        rounds.append([text[0] for text in following])
    for seen in rounds:
        if not seen:
            break
        doubt = 12 * len(seen) ** 0.6
        chances = [
            (seen.count(name) + doubt * chance) / (len(seen) + doubt)
            for name, chance in zip(names, chances)
        ]
    return chances


@given(texts, lists("abcz", 5), st.integers(1, 3))
def test_a_mixture_equals_the_formula(
    texts: twins.Texts, context: list[str], segments: int
) -> None:
    following = BackOff(index_of(texts, segments), "lower")
    strings = following.shared.strings[1:]
    expected = by_formula(texts, context, strings)
    found = following.after(following.numbers(context))
    assert found.all().tolist() == pytest.approx(expected[:-1])
    one_by_one = [found.chance(item) for item in (*range(len(strings) + 1), ABSENT)]
    assert one_by_one == pytest.approx(expected)
    assert found.chance(following.numbers(["never seen"])[0]) == pytest.approx(expected[-1])
    mean = sum(p * math.log(p) for p in expected)
    square = sum(p * (math.log(p) - mean) ** 2 for p in expected)
    assert found.expected == pytest.approx(mean)
    assert found.spread == pytest.approx(math.sqrt(square), abs=1e-6)
    assert found.best_chance == pytest.approx(max(expected[:-1]))
    assert found.chance(found.best) == found.best_chance


def test_mixtures_that_are_forgotten_are_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rote.search.index_language_model._MAX_CACHED", 0)
    following = BackOff(index_of([list("abac"), list("cab")], 1), "lower")
    a, b = following.numbers("ab")
    before = following.after([a]).all().tolist()
    following.after([b])
    assert following.after([a]).all().tolist() == before


def test_tokens_are_words_with_the_space_before_them() -> None:
    speaker = IndexLanguageModel(index_texts(PARABLE), "lower", "parable")
    text = "  Some seed, unheard of, fell.\n"
    found = speaker.score([Continuation("And", text)])[0]
    tokens = [text[start:end] for start, end in zip(found.starts, found.ends)]
    assert tokens == ["  Some", " seed", ",", " unheard", " of", ",", " fell", "."]
    assert found.total == pytest.approx(float(found.logprobs.sum()))
    assert speaker.length(text) > 0


def test_a_word_that_begins_in_the_context_starts_at_0() -> None:
    speaker = IndexLanguageModel(index_texts(PARABLE), "lower", "parable")
    whole = speaker.score([Continuation("", "Some seed fell")])[0]
    parted = speaker.score([Continuation("Some se", "ed fell")])[0]
    assert parted.starts.tolist() == [0, 2]
    assert parted.ends.tolist() == [2, 7]
    assert parted.logprobs.tolist() == whole.logprobs.tolist()[1:]


def test_scores_are_those_of_the_back_off_model_but_for_the_start() -> None:
    index = index_texts(PARABLE)
    speaker = IndexLanguageModel(index, "lower", "parable")
    text = "Some seed fell into the sea"
    expected = speaker._model.probabilities(text)
    found = speaker.score([Continuation("", text)])[0]
    assert np.exp(found.logprobs[1:]).tolist() == pytest.approx(expected[1:].tolist())
    # Two of three documents do not begin with this word, which is rarer among all words.
    assert np.exp(found.logprobs[0]) > expected[0]


def test_the_likeliest_words_are_marked_greedy_and_written_as_they_stand() -> None:
    speaker = IndexLanguageModel(index_texts(PARABLE), "lower", "parable")
    made = speaker.generate([Prompt("Other seed fell into")], Decoding(5))[0]
    assert made.text == " good ground, and brought"
    assert (made.tokens, made.ended) == (5, "length")
    found = speaker.score([Continuation("Other seed fell into", made.text)])[0]
    assert found.greedy.all()
    assert len(found.logprobs) == 5
    after_space = speaker.generate([Prompt("Other seed fell into ")], Decoding(5))[0]
    assert after_space.text == "good ground, and brought"


def test_capitals_and_spaces_are_those_of_the_index() -> None:
    speaker = IndexLanguageModel(index_texts(PARABLE), "lower", "parable")
    made = speaker.generate([Prompt("it withered. Dr. Sower")], Decoding(7))[0]
    assert made.text == ' said, "Other seed fell well'
    start = speaker.generate([Prompt("")], Decoding(3))[0]
    assert start.text.split()[0] in {"A", "Some", "Other"}
    assert not start.text.startswith(" ")


def test_a_text_ends_where_a_document_would_or_before_a_stop() -> None:
    speaker = IndexLanguageModel(index_texts(["One two three four."]), "lower", "count")
    whole = speaker.generate([Prompt("One two")], Decoding(50))[0]
    assert (whole.text, whole.tokens, whole.ended) == (" three four.", 4, "end")
    stopped = speaker.generate([Prompt("One two")], Decoding(50, stop=("four", "our")))[0]
    assert (stopped.text, stopped.ended) == (" three ", "stop")


def test_draws_depend_on_the_seed_alone() -> None:
    speaker = IndexLanguageModel(index_texts(PARABLE), "lower", "parable")
    decoding = Decoding(20, temperature=1.0, top_k=8, top_p=0.9, constraint=3)
    prompts = [Prompt("Some seed", seed) for seed in range(6)]
    together = speaker.generate(prompts, decoding)
    alone = [speaker.generate([prompt], decoding)[0] for prompt in reversed(prompts)]
    assert together == alone[::-1]
    assert len({one.text for one in together}) > 1


def test_draws_follow_the_distribution() -> None:
    index = index_of([list("abac"), list("abab"), list("ca")], 2)
    following = BackOff(index, "lower")
    speaker = IndexLanguageModel(index_texts(["a b a c", "a b a b", "c a"]), "lower", "letters")
    drawn = speaker.generate(
        [Prompt("a", seed) for seed in range(2000)], Decoding(1, temperature=1.0)
    )
    chances = following.after(following.numbers("a")).all()
    for item, string in enumerate(following.shared.strings):
        share = sum(one.text.strip() == string for one in drawn) / len(drawn)
        # The unknown cannot be written: the others share its part.
        assert share == pytest.approx(chances[item] / chances.sum(), abs=0.04)
    assert sum(one.ended == "end" for one in drawn) / len(drawn) == pytest.approx(
        chances[END] / chances.sum(), abs=0.04
    )


def test_a_folder_speaks_in_words_if_they_are_sorted(tmp_path: Path) -> None:
    build_index(PARABLE, tmp_path / "both", layers=("word", "lower"))
    both = open_index_model(str(tmp_path / "both"))
    assert "-word-" in both.signature
    assert "-lower-" in open_index_model(f"{tmp_path / 'both'}#lower").signature
    assert both.generate([Prompt("Other seed fell")], Decoding(2))[0].text == " into good"
    build_index(PARABLE[:2], tmp_path / "lower", layers=("lower",))
    lower = open_index_model(str(tmp_path / "lower"))
    assert "-lower-" in lower.signature
    assert lower.signature != open_index_model(f"{tmp_path / 'both'}#lower").signature


def test_what_cannot_speak_is_refused(tmp_path: Path) -> None:
    build_index(PARABLE, tmp_path / "tags", layers=("pos",))
    with pytest.raises(OptionError, match=r"rote index add-layer .* lower"):
        open_index_model(str(tmp_path / "tags"))
    with pytest.raises(OptionError, match="works on words"):
        open_index_model(f"{tmp_path / 'tags'}#pos")
    with pytest.raises(InputError, match="no index"):
        open_index_model(str(tmp_path / "nowhere"))
    with pytest.raises(OptionError, match="an empty index is not a language model"):
        IndexLanguageModel(index_of([], 1), "lower", "empty")
