"""Probabilistic extraction: by hand, against plain twins, and against what a model really draws."""

from __future__ import annotations

import importlib
import itertools
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

import rote
from rote.cli.main import rote as command
from rote.core.decoding import _weighted, drawn_logs
from rote.core.errors import InputError, OptionError, RoteError
from rote.core.model import Continuation, Decoding, Prompt
from rote.core.progress import Silent
from rote.core.result import Result
from rote.corpus.items import Item
from rote.models.answers import score_draws
from rote.models.backends.fake import Fake
from rote.models.options import ModelOptions, open_model
from rote.report.result_tables import results_text
from rote.studies._memorization_extraction import (
    TRIES,
    best_of_draws,
    cut_windows,
    draw_similarities,
    draws_needed,
    item_scores,
    longest_run,
    ngram_coverage,
)
from tests.models.endpoint_server import generates_only, serving
from tests.models.test_numpy import OPEN_MODEL

TABLE = {
    "": {"a": 1.0},
    "a": {"b": 0.5, "c": 0.3, "d": 0.2},
    "b": {"a": 0.6, "c": 0.4},
    "c": {"a": 1.0},
    "d": {"a": 0.9, "d": 0.1},
}
MODEL = Fake(TABLE)


def item(text: str, number: int, **meta: object) -> Item:
    return Item(str(number), "texts", "", (text,), 0, "", meta)


def found(texts: Sequence[str], **keywords: Any) -> Result:
    items = [item(text, number) for number, text in enumerate(texts)]
    given = {"extraction": 0.5, "prefix": 1, "suffix": 2, "stride": 1, "model": {"m": MODEL}}
    return rote.memorization(items, **(given | keywords))


def plain_log(logits: Sequence[float], target: int, decoding: Decoding) -> float:
    """What `choose` does, written out."""
    if not decoding.sampled:
        return 0.0 if int(np.argmax(logits)) == target else -math.inf
    tokens, weights = _weighted(np.array(logits), decoding)
    own = dict(zip(tokens.tolist(), (weights / weights.sum()).tolist())).get(target, 0.0)
    if decoding.constraint:
        first = float(int(np.argmax(logits)) == target)
        own = first / decoding.constraint + (1 - 1 / decoding.constraint) * own
    return math.log(own) if own else -math.inf


@given(
    # Few values, so that some are equal.
    st.lists(st.sampled_from([-3.0, -1.5, 0.0, 0.25, 0.5, 2.0, 4.0]), min_size=1, max_size=12),
    st.data(),
)
def test_the_chance_of_a_draw_is_that_of_the_draws(
    logits: list[float], data: st.DataObject
) -> None:
    sampled = data.draw(st.booleans())
    decoding = Decoding(
        temperature=data.draw(st.sampled_from([0.3, 1.0, 2.0])) if sampled else 0.0,
        top_k=data.draw(st.integers(0, 14)),
        top_p=data.draw(st.sampled_from([0.05, 0.5, 0.9, 1.0])),
        constraint=data.draw(st.sampled_from([0.0, 1.0, 3.0])) if sampled else 0.0,
    )
    targets = np.arange(len(logits))
    logs = drawn_logs(np.tile(np.array(logits), (len(logits), 1)), targets, decoding)
    assert logs == pytest.approx([plain_log(logits, one, decoding) for one in targets])
    assert np.exp(logs).sum() == pytest.approx(1)


def test_numbers_of_draws_are_those_worked_out_by_hand() -> None:
    chances = np.array([1.0, 0.5, 0.25, 0.01, 0.0])
    with np.errstate(divide="ignore"):
        logs = np.log(chances)
    assert draws_needed(logs, 0.5).tolist() == [1, 1, 3, 69, math.inf]
    assert draws_needed(logs, 0.9).tolist() == [1, 4, 9, 230, math.inf]
    for p in (0.1, 0.5, 0.99):
        needed = draws_needed(logs[:4], p)
        assert (1 - (1 - chances[:4]) ** needed >= p - 1e-9).all()
        fewer = needed[1:] - 1
        assert ((1 - (1 - chances[1:4]) ** fewer < p - 1e-12) | (fewer == 0)).all()


@given(
    st.lists(st.text("ab\n ", max_size=30), min_size=1, max_size=3),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(1, 4),
)
def test_windows_are_words_of_the_text(
    texts: list[str], prefix: int, suffix: int, stride: int
) -> None:
    items = [item(text, number) for number, text in enumerate(texts)]
    counts = [max(0, len(text.split()) - prefix - suffix + 1) for text in texts]
    if not any(counts):
        with pytest.raises(InputError, match="smaller --prefix"):
            cut_windows(items, prefix, suffix, stride)
        return
    made = cut_windows(items, prefix, suffix, stride)
    assert len(made) == sum(-(-count // stride) for count in counts)
    for one in made:
        text = texts[one.item]
        words, middle = text.split(), one.word
        assert text[one.first : one.cut].split() == words[middle - prefix : middle]
        assert text[one.cut : one.end].split() == words[middle : middle + suffix]


def test_shares_are_those_of_windows_known_by_hand() -> None:
    result = found(["a b a b", "a c a d"])
    windows = result.tables["windows"]
    assert [row["p"] for row in windows] == pytest.approx([0.5 * 0.6, 0.6 * 0.5, 0.3, 0.2])
    assert [row["tries"] for row in windows] == [2, 2, 2, 4]
    assert [row["greedy"] for row in windows] == [True, True, False, False]
    assert [row["word"] for row in windows] == [1, 2, 1, 2]
    rows = result.tables["extraction"]
    assert [row["tries"] for row in rows] == list(TRIES)
    assert [row["share"] for row in rows] == [0.0] + [1.0] * (len(TRIES) - 1)
    assert rows[0]["windows"], rows[0]["passages"] == (4, 2)
    assert rows[0]["greedy"] == 0.5
    assert 0 <= rows[0]["greedy_low"] < 0.5 < rows[0]["greedy_high"] <= 1
    again = Result.from_json(result.to_json())
    assert again.figure("map").to_dict()
    assert again.figure("extraction").to_dict()
    assert "extraction:0.5" in str(result.signature)


def test_one_passage_has_no_interval_and_short_texts_are_mentioned() -> None:
    result = found(["a b a b a b", "a b"])
    assert all(math.isnan(row["low"]) for row in result.tables["extraction"])
    assert any("1 text" in note for note in result.notes)


def test_drawing_from_the_likeliest_alone_is_greedy_decoding() -> None:
    texts = ["a b a b", "a c a d", "c a b a"]
    for settings_ in ({"top_k": 1}, {"temperature": 0.0}, {"top_p": 0.01}):
        rows = found(texts, **settings_).tables["windows"]
        assert [row["p"] for row in rows] == [float(row["greedy"]) for row in rows]
        assert {row["p"] for row in rows} == {0.0, 1.0}
    cut = found(texts, top_k=2, temperature=0.5).tables["windows"]
    # b and c stay, their chances squared: 0.25 and 0.09; after b: 0.36 and 0.16.
    assert cut[0]["p"] == pytest.approx(0.25 / 0.34 * 0.36 / 0.52)
    assert cut[3]["p"] == 0
    assert cut[3]["tries"] is None


def test_the_open_model_draws_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Frequencies of its texts against p_z, over passages that it knows more or less well."""
    model = open_model(str(OPEN_MODEL), ModelOptions(), Silent())
    decoding = {"temperature": 0.9, "top_k": 50, "top_p": 0.95}
    draws = 100
    monkeypatch.syspath_prepend(str(OPEN_MODEL.parent))
    sources, planting = map(importlib.import_module, ("sources", "planting"))
    items = planting.draw(sources.bible().passages)
    known = [one.passage.text for one in items if one.repeats in (2, 4, 8)]
    wanted = [Continuation(*_cut(text, 12, 3)) for text in known]
    scored = score_draws(model, wanted, Decoding(1, **decoding), Silent())
    total, counted = 0.0, 0
    for one, own in zip(wanted, scored):
        chance = math.exp(own.total)
        if not 0.05 < chance < 0.95:
            continue
        asked = Decoding(len(own.logprobs), **decoding)
        written = model.generate([Prompt(one.context, seed) for seed in range(draws)], asked)
        hits = sum(text.text == one.text for text in written)
        total += (hits - draws * chance) ** 2 / (draws * chance * (1 - chance))
        counted += 1
        if counted == 8:
            break
    assert counted == 8
    assert 0.001 < chi2.sf(total, counted) < 0.999


def _cut(text: str, prefix: int, suffix: int) -> tuple[str, str]:
    (first, *_) = cut_windows([item(text, 0)], prefix, suffix, 10**6)
    return text[: first.cut], text[first.cut : first.end]


def test_a_model_without_its_distribution_says_so() -> None:
    class Blind:
        signature, batch, limit = "blind", 100, None

        def length(self, text: str) -> int:
            return len(text)

        def score(self, wanted: Sequence[Continuation]) -> Any:
            return MODEL.score(wanted)

        def generate(self, wanted: Sequence[Prompt], decoding: Decoding) -> Any:
            return MODEL.generate(wanted, decoding)

    asked = [Continuation("a", " b a")]
    for plain in (Decoding(1, 1.0), Decoding(1)):
        (one,), (other,) = (score_draws(who, asked, plain, Silent()) for who in (Blind(), MODEL))
        assert one.logprobs.tolist() == other.logprobs.tolist()
    with pytest.raises(OptionError, match="does not return the full distribution"):
        score_draws(Blind(), asked, Decoding(1, 0.5), Silent())


def test_the_command_says_how_many_draws(tmp_path: Path) -> None:
    (tmp_path / "table.json").write_text(json.dumps(TABLE))
    (tmp_path / "book.jsonl").write_text('{"text": "a b a b a c a b"}\n')
    call = [
        "memorization",
        str(tmp_path / "book.jsonl"),
        "--model",
        f"fake:{tmp_path / 'table.json'}",
    ]
    call += ["--extraction", "0.5", "--prefix", "2", "--suffix", "2", "--stride", "1", "-q"]
    shown = CliRunner().invoke(command, [*call, "--figure", str(tmp_path / "map.svg")])
    assert shown.exit_code == 0, (shown.output, shown.exception)
    assert "10 draws" in shown.output
    refused = CliRunner().invoke(command, [*call, "--extraction", "1"])
    assert refused.exit_code != 0


def plain_run(words: list[str], others: list[str]) -> int:
    """All runs of one, looked for in the other."""
    runs = [words[i:j] for i in range(len(words)) for j in range(i + 1, len(words) + 1)]
    there = [others[i:j] for i in range(len(others)) for j in range(i + 1, len(others) + 1)]
    return max((len(run) for run in runs if run in there), default=0)


@given(st.lists(st.sampled_from("abc"), max_size=7), st.lists(st.sampled_from("abc"), max_size=7))
def test_the_longest_run_equals_its_plain_twin(words: list[str], others: list[str]) -> None:
    assert longest_run(words, others) == longest_run(others, words) == plain_run(words, others)


@given(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=8),
    st.lists(st.lists(st.sampled_from("abc"), max_size=8), max_size=3),
    st.integers(1, 3),
)
def test_coverage_equals_its_plain_twin(words: list[str], texts: list[list[str]], n: int) -> None:
    def held(gram: list[str]) -> bool:
        return any(gram == text[at : at + n] for text in texts for at in range(len(text)))

    plain = [
        any(
            held(words[at : at + n])
            for at in range(max(0, place - n + 1), place + 1)
            if at + n <= len(words)
        )
        for place in range(len(words))
    ]
    assert ngram_coverage(words, texts, n) == sum(plain) / len(words)


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=6).flatmap(
        lambda row: st.tuples(st.just(row), st.integers(1, len(row)))
    )
)
def test_the_best_of_k_is_the_mean_over_all_ways_to_take_k(case: tuple[list[float], int]) -> None:
    row, k = case
    every = [max(some) for some in itertools.combinations(row, k)]
    assert best_of_draws(np.array([row]), k)[0] == pytest.approx(sum(every) / len(every))


def test_draws_are_held_against_the_text_and_the_corpus(tmp_path: Path) -> None:
    certain = Fake({one: {other: 1.0} for one, other in ("_a", "ab", "bc", "cd", "da")})
    items = [item("a b c d", 0), item("a b c x", 1), item("c d x x", 2)]
    path = tmp_path / "texts.jsonl"
    path.write_text('{"text": "b c d"}\n')
    rote.index(str(path), output=tmp_path / "index")
    result = rote.memorization(
        items,
        model={"m": certain},
        samples=3,
        prefix=1,
        suffix=3,
        n=2,
        corpus=str(tmp_path / "index"),
    )
    rows = result.tables["samples"]
    assert [row["draws"] for row in rows] == [1, 2, 3]
    # The draws are b c d, b c d and d a b; their longest runs with what follows: 3, 2 and 1 words.
    for row in rows:
        assert row["best"] == pytest.approx((1 + 2 / 3 + 1 / 3) / 3)
        assert row["covered"] == pytest.approx((1 + 2 / 3 + 0) / 3)
        assert row["held"] == pytest.approx((1 + 1 + 0) / 3)
        assert row["best_low"] < row["best"] < row["best_high"]
    assert "extraction" not in result.tables
    assert "samples:3" in str(result.signature)
    with pytest.raises(OptionError, match="above 0"):
        rote.memorization(items, model={"m": certain}, samples=3, prefix=1, suffix=3, temperature=0)


def test_an_endpoint_without_log_probabilities_is_judged_by_its_draws(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text('{"text": "say the end the end"}\n{"text": "say the start of it"}\n')
    with serving(generates_only) as served:
        asked = {"model": f"openai:{served.url}#small", "prefix": 1, "suffix": 4, "n": 2}
        result = rote.memorization(str(path), samples=2, **asked)
        with pytest.raises(RoteError, match="can generate but not score"):
            rote.memorization(str(path), samples=2, extraction=0.5, **asked)
    # It writes " the end the end" again and again, here as long as what follows.
    assert result.tables["samples"][0]["best"] == pytest.approx((1 + 1 / 4) / 2)
    assert any("only its draws are analysed" in note for note in result.notes)
    assert all(
        math.isnan(value) for own in result.by_source.values() for value in own.values.values()
    )


def test_nearly_is_never_less_than_exactly_and_needs_a_model_that_goes_on() -> None:
    result = found(["a b a b", "a c a d"], near=1, beams=4)
    rows = result.tables["windows"]
    assert all(row["near_p"] >= row["p"] for row in rows)
    # Of three words the first is given; " b a", " b c", " c a" and so on are one edit away.
    (bound,) = MODEL.near([Continuation("a", " b a")], Decoding(1, 1.0), 1, 4)
    assert rows[0]["near_p"] == pytest.approx(math.exp(bound))
    assert all(row["near"] >= row["share"] for row in result.tables["extraction"])
    assert "near:1-4" in str(result.signature)
    # A word that the table does not name is never drawn, however it is scored.
    rows = found(["a b z a", "z z z z"], near=1, beams=4).tables["windows"]
    assert [row["p"] for row in rows] == [0, 0, 0, 0]
    assert all(row["near_p"] >= row["p"] for row in rows)
    with pytest.raises(OptionError, match="token by token"):
        found(["a b a b"], near=1, model={"m": Unsearched()})


class Unsearched:
    signature, batch, limit = "unsearched", 100, None
    length, score, generate = MODEL.length, MODEL.score, MODEL.generate


def plain_string(text: str, other: str) -> int:
    strings = {text[i:j] for i in range(len(text)) for j in range(i, len(text) + 1)}
    return max((len(one) for one in strings if one in other), default=0)


@given(st.text("ab c", max_size=12), st.text("ab c", max_size=12))
def test_the_longest_string_equals_its_plain_twin(text: str, other: str) -> None:
    assert longest_run(text, other) == plain_string(text, other)


@given(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=9),
    st.lists(st.sampled_from("abc"), min_size=1, max_size=9),
    st.integers(1, 4),
)
def test_draws_and_suffixes_are_as_alike_as_their_plain_twins(
    drawn: list[str], suffix: list[str], n: int
) -> None:
    def covered(least: int) -> float:
        """Words in a run of `least` words or more, all runs looked at."""
        inside = set()
        for first in range(len(drawn)):
            for end in range(first + least, len(drawn) + 1):
                run = drawn[first:end]
                if any(run == suffix[at : at + len(run)] for at in range(len(suffix))):
                    inside |= set(range(first, end))
        return len(inside) / len(drawn)

    text, other = " ".join(drawn), " ".join(suffix)
    found = {name: column[0, 0] for name, column in draw_similarities([[text]], [other], n).items()}
    assert found == {
        "coverage": covered(n),
        "creativity": pytest.approx(sum(covered(least) for least in range(2, 13))),
        "longest_words": plain_run(drawn, suffix),
        "longest_letters": plain_string(text, other),
    }


def test_members_are_told_by_their_draws_alone() -> None:
    certain = Fake({one: {other: 1.0} for one, other in ("_a", "ab", "bc", "cd", "da")})
    items = [item("a b c d", 0, member=1), item("b c d a", 1, member=1)]
    items += [item("a c b d", 2, member=0), item("b d b d", 3, member=0), item("a b", 4, member=0)]
    result = rote.memorization(
        items, model={"m": certain}, samples=2, prefix=1, suffix=3, n=2, member="member"
    )
    rows = {(row["attack"], row["of"]): row for row in result.tables["drawn_membership"]}
    assert len(rows) == 16
    # Draws are "b c d", "c d a", "b c d", "c d a"; the short text has no window.
    for row in rows.values():
        assert (row["members"], row["others"], row["auc"]) == (2, 2, 1)
    assert "by their draws alone" in results_text([result], 140)


def test_of_several_windows_the_mean_and_of_draws_each_aggregate_is_taken() -> None:
    column = np.array([[1.0, 2.0, 6.0], [3.0, 3.0, 3.0], [5.0, 0.0, 1.0]])
    found = {of: scores for _, of, scores in item_scores({"x": column}, np.array([0, 0, 2]), 4)}
    assert found["largest"][[0, 2]].tolist() == [4.5, 5]
    assert found["mean"][[0, 2]].tolist() == [3, 2]
    assert found["median"][[0, 2]].tolist() == [2.5, 1]
    assert found["smallest"][[0, 2]].tolist() == [2, 0]
    assert np.isnan(found["mean"][[1, 3]]).all()
