"""What models are asked, how their answers are judged, what comes out for groups."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rote
from rote.core.errors import InputError, OptionError
from rote.core.model import Continuation, Scored
from rote.core.progress import Silent
from rote.core.result import Result
from rote.corpus.items import Item, ItemRecord, read_records
from rote.models.backends.fake import Fake
from rote.studies import _evaluation
from rote.studies._evaluation import (
    ItemQuestion,
    answer_all,
    build_question,
    draw_examples,
    judge_answer,
)
from tests.kit import write_jsonl

PIQA = {"id": "p", "goal": "open a tin ", "sol1": "use a key", "sol2": "wait", "label": 0}
COPA = {
    "id": "c",
    "premise": "The cup fell. ",
    "choice1": "Somebody pushed it.",
    "choice2": "It sang.",
    "asks_for": "cause",
    "answer": 1,
}
GAP = {
    "id": "w",
    "sentence": "The cup hit the floor and the _ broke.",
    "option1": "cup",
    "option2": "floor",
    "answer": "1",
}
PAIR = {"pair_id": 1, "sentence_good": "A gull sings.", "sentence_bad": "A gull sing."}
LAST = {"id": "l", "context": "She fed the", "target": "gull"}
NEXT: dict[str, dict[str, float]] = {
    "": {"A": 0.5, "The": 0.25, "Gulls": 0.25},
    "A": {"gull": 1.0},
    "gull": {"sings.": 0.75, "sing.": 0.25},
    "Answer:": {"use": 0.25, "wait": 0.5},
    "use": {"a": 1.0},
    "a": {"key": 0.9},
    "because": {"somebody": 0.5, "it": 0.25},
    "somebody": {"pushed": 0.5},
    "pushed": {"it.": 1.0},
    "it": {"sang.": 0.125},
    "cup": {"broke.": 0.5},
    "floor": {"broke.": 0.25},
    "the": {"gull": 0.4, "dog": 0.6},
}


def evaluate(records: Sequence[ItemRecord], models: Mapping[str, Any], **options: Any) -> Result:
    return rote.evaluate(records, model=models, **options)


def record(fields: Mapping[str, Any], tmp_path: Path) -> ItemRecord:
    path = tmp_path / "items.jsonl"
    path.write_text(json.dumps(fields))
    return next(iter(read_records([path])))


def requests(fields: Mapping[str, Any], tmp_path: Path) -> list[tuple[str, str]]:
    return [(one.context, one.text) for one in build_question(record(fields, tmp_path)).requests]


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        (PAIR, [("", " A gull sings."), ("", " A gull sing.")]),
        (
            COPA,
            [
                ("The cup fell because", "  somebody pushed it."),
                ("The cup fell because", "  it sang."),
            ],
        ),
        (
            {**COPA, "asks_for": "effect"},
            [
                ("The cup fell therefore", "  somebody pushed it."),
                ("The cup fell therefore", "  it sang."),
            ],
        ),
        (
            PIQA,
            [
                ("Question: open a tin \nAnswer:", " use a key"),
                ("Question: open a tin \nAnswer:", " wait"),
            ],
        ),
        (
            GAP,
            [
                ("The cup hit the floor and the cup", " broke."),
                ("The cup hit the floor and the floor", " broke."),
            ],
        ),
        (LAST, [("She fed the", " gull")]),
        # Spaces at the end of a context go over to what follows.
        ({**LAST, "context": "She fed the "}, [("She fed the", "  gull")]),
        (
            {"context": "It is ", "options": ["red", "blue"], "answer": 0},
            [("It is", " red"), ("It is", " blue")],
        ),
        (
            {"context": "The ", "options": ["cup", "floor"], "ending": " broke.", "answer": 0},
            [("The cup", " broke."), ("The floor", " broke.")],
        ),
    ],
)
def test_items_are_asked_as_the_harness_asks_them(
    fields: Mapping[str, Any], wanted: list[tuple[str, str]], tmp_path: Path
) -> None:
    assert requests(fields, tmp_path) == wanted


@pytest.mark.parametrize(
    "pairs",
    [
        [("Question: x\nAnswer:", " a key"), ("Question: x\nAnswer:", " no")],
        [("Ann called, but Ann", " slept."), ("Ann called, but Bo", " slept.")],
        [("The car", " sped."), ("The car door", " sped.")],
    ],
)
def test_logs_are_asked_again_as_they_were_even_after_they_became_choices(
    pairs: list[tuple[str, str]], tmp_path: Path
) -> None:
    from rote.studies._perturb_checks import replace_items

    log = {"doc_id": 1, "doc": {}, "target": "0", "arguments": pairs}
    found = record(log, tmp_path)
    assert [(one.context, one.text) for one in build_question(found).requests] == pairs
    [rewritten] = replace_items([found], [found.item])
    assert rewritten.form == "choices"
    assert build_question(rewritten).requests == build_question(found).requests


def test_copa_that_does_not_say_what_it_asks_for_is_refused(tmp_path: Path) -> None:
    without = {name: value for name, value in COPA.items() if name != "asks_for"}
    with pytest.raises(InputError, match="cause or effect"):
        requests(without, tmp_path)


def answered(fields: Mapping[str, Any], tmp_path: Path, model: Any = None) -> Any:
    [found] = answer_all([record(fields, tmp_path)], model or Fake(NEXT), Silent())
    return found


def test_golden_log_likelihoods_of_all_five(tmp_path: Path) -> None:
    pair = answered(PAIR, tmp_path)
    assert pair.loglikelihoods == pytest.approx([math.log(0.5 * 0.75), math.log(0.5 * 0.25)])
    assert (pair.chosen, pair.acc, pair.acc_norm) == (0, 1, 1)
    piqa = answered(PIQA, tmp_path)
    assert piqa.loglikelihoods == pytest.approx([math.log(0.25 * 0.9), math.log(0.5)])
    # By itself the short one is likelier (-0.69); by its 4 characters it is less so:
    # -1.49 / 9 = -0.166 against -0.69 / 4 = -0.173.
    assert (piqa.chosen, piqa.acc, piqa.acc_norm, piqa.acc_bytes) == (1, 0, 1, 1)
    copa = answered(COPA, tmp_path)
    assert copa.loglikelihoods == pytest.approx([math.log(0.25), math.log(0.25 * 0.125)])
    assert copa.acc == 1
    gap = answered(GAP, tmp_path)
    assert gap.loglikelihoods == pytest.approx([math.log(0.5), math.log(0.25)])
    assert gap.tokens == (1, 1)  # the end of the sentence alone is scored
    assert (gap.acc, gap.acc_norm) == (1, 1)
    last = answered(LAST, tmp_path)
    assert last.loglikelihoods == pytest.approx([math.log(0.4)])
    assert (last.acc, last.chosen, last.acc_norm) == (0, None, None)
    assert answered({**LAST, "target": "dog"}, tmp_path).acc == 1


def test_bytes_and_characters_are_told_apart(tmp_path: Path) -> None:
    fields = {"context": "It is ", "options": ["über", "grey"], "answer": 0}
    assert build_question(record(fields, tmp_path)).lengths == (4, 4)
    assert build_question(record(fields, tmp_path)).sizes == (5, 4)


def scores(logprobs: list[float], greedy: list[bool]) -> Scored:
    none = np.full(len(logprobs), np.nan)
    places = np.arange(len(logprobs))
    return Scored(np.array(logprobs), places, places + 1, np.array(greedy), none, none)


@given(
    st.lists(
        st.lists(st.tuples(st.sampled_from([-0.5, -1.0, -2.0]), st.booleans()), min_size=1),
        min_size=1,
        max_size=4,
    ),
    st.data(),
)
def test_answers_equal_a_slow_twin(options: list[list[tuple[float, bool]]], data: Any) -> None:
    lengths = [data.draw(st.integers(1, 9)) for _ in options]
    sizes = [length + data.draw(st.integers(0, 9)) for length in lengths]
    right = data.draw(st.integers(0, len(options) - 1))
    item = Item("i", "t", "", tuple("o" * length for length in lengths), right)
    question = ItemQuestion(
        tuple(Continuation("", option) for option in item.options), tuple(lengths), tuple(sizes)
    )
    found = judge_answer(item, question, [scores(*map(list, zip(*one))) for one in options])

    def first_best(values: list[float]) -> int:
        best = 0
        for place, value in enumerate(values):
            if value > values[best]:
                best = place
        return best

    totals = [sum(value for value, _ in one) for one in options]
    assert found.loglikelihoods == pytest.approx(totals)
    if len(options) == 1:
        assert found.acc == int(all(likely for _, likely in options[0]))
        return
    assert found.chosen == first_best(totals)
    assert found.acc == int(first_best(totals) == right)
    assert found.acc_norm == int(first_best([t / n for t, n in zip(totals, lengths)]) == right)
    assert found.acc_bytes == int(first_best([t / n for t, n in zip(totals, sizes)]) == right)


@dataclass(frozen=True)
class Short(Fake):
    """A model that reads no more than so many tokens."""

    table: Mapping[str, Mapping[str, float]] = field(default_factory=lambda: NEXT)
    limit: int = 6


def test_what_cannot_be_answered_is_listed_and_counts_nowhere(tmp_path: Path) -> None:
    records = [
        record(fields, tmp_path)
        for fields in (
            LAST,
            {**LAST, "id": "long", "context": "She fed the old dog and the"},
            {**LAST, "id": "empty", "target": ""},
            {**LAST, "id": "right", "target": "dog"},
        )
    ]
    found = evaluate(records, {"short": Short()})
    values = found.by_source["lambada"].values
    assert values["accuracy"] == 0.5
    assert values["unanswered"] == 2
    assert [(row["id"], row["why"]) for row in found.tables["unanswered"]] == [
        ("long", "longer than the model reads"),
        ("empty", "nothing to score"),
    ]
    assert [row["acc"] for row in found.records] == [0, None, None, 1]
    assert any("2" in note or "1 item" in note for note in found.notes)


def test_perplexity_is_that_of_whole_words(tmp_path: Path) -> None:
    records = [record({**LAST, "id": t, "target": t}, tmp_path) for t in ("gull", "dog")]
    result = evaluate(records, {"m": Fake(NEXT)})
    found = result.by_source["lambada"]
    assert found.values["perplexity"] == pytest.approx(1 / math.sqrt(0.4 * 0.6))
    low, high = found.intervals["perplexity"]
    assert low < found.values["perplexity"] < high
    assert low * high == pytest.approx(found.values["perplexity"] ** 2)
    assert "chance" not in found.values


def test_a_model_that_never_has_the_last_word_is_mentioned(tmp_path: Path) -> None:
    one = record(LAST, tmp_path)
    assert not evaluate([one] * 19, {"m": Fake(NEXT)}).notes
    [note] = evaluate([one] * 20, {"m": Fake(NEXT)}).notes
    assert "no last word" in note


def many(tmp_path: Path) -> list[ItemRecord]:
    """Four pairs: the table prefers the first option of three, and the first two are right."""
    goods = ["A gull sings.", "A gull sings.", "A gull sings.", "A gull sing."]
    return [
        record(
            {
                "id": str(n),
                "task": "own",
                "kind": "formal",
                "half": n % 2,
                "context": "",
                "options": [good, "A gull sing." if "sings" in good else "A gull sings."],
                "answer": 0 if n != 2 else 1,
            },
            tmp_path,
        )
        for n, good in enumerate(goods)
    ]


def test_groups_have_accuracy_baselines_and_intervals(tmp_path: Path) -> None:
    result = evaluate(many(tmp_path), {"m": Fake(NEXT)})
    found = result.by_source["own"]
    assert found.values["accuracy"] == 0.5
    assert found.values["chance"] == 0.5
    assert found.values["majority"] == 0.75
    assert found.intervals["accuracy"] == pytest.approx((0.150036, 0.849964), abs=1e-5)
    assert found.texts == 4
    halves = evaluate(many(tmp_path), {"m": Fake(NEXT)}, by=("kind", "half"))
    assert set(halves.by_source) == {"formal|0", "formal|1"}
    assert halves.by_source["formal|0"].values["accuracy"] == 0.5  # items 0 and 2


def test_several_models_are_groups_of_their_own_and_tested_against_each_other(
    tmp_path: Path,
) -> None:
    other = {**NEXT, "gull": {"sings.": 0.25, "sing.": 0.75}}
    found = evaluate(many(tmp_path), {"one": Fake(NEXT), "two": Fake(other)})
    assert found.by == ("source", "task")
    assert set(found.by_source) == {"one|own", "two|own"}
    [test] = found.tables["tests"]
    # One has the first two right, the other the last two: each change as often up as down.
    assert (test["one"], test["other"], test["items"]) == ("one", "two", 4)
    assert (test["only_one"], test["only_other"], test["p"]) == (2, 2, 1.0)
    assert [row["source"] for row in found.records] == ["one"] * 4 + ["two"] * 4


def test_a_right_option_that_never_moves_is_no_baseline(tmp_path: Path) -> None:
    found = evaluate([record(PAIR, tmp_path)], {"m": Fake(NEXT)}).by_source["blimp"]
    assert math.isnan(found.values["majority"])
    assert any("same position" in note for note in found.notes)


def test_answers_are_asked_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROTE_CACHE", str(tmp_path / "kept"))
    records = many(tmp_path)
    first = evaluate(records, {"m": Fake(NEXT)})

    class Mute(Fake):
        def score(self, wanted: Any) -> list[Scored]:
            raise AssertionError("asked twice")

    assert evaluate(records, {"m": Mute(NEXT)}).records == first.records


def test_what_makes_no_sense_is_refused(tmp_path: Path) -> None:
    records = many(tmp_path)
    with pytest.raises(InputError, match="no input"):
        evaluate([], {"m": Fake(NEXT)})
    with pytest.raises(OptionError, match="no model: name at least one"):
        evaluate(records, {})
    with pytest.raises(InputError, match="has no such field"):
        evaluate(records, {"m": Fake(NEXT)}, by=("colour",))
    with pytest.raises(OptionError, match="not by answers"):
        evaluate(records, {"m": Fake(NEXT)}, by=("acc",))
    with pytest.raises(OptionError, match="interval"):
        evaluate(records, {"m": Fake(NEXT)}, interval=1)
    with pytest.raises(OptionError, match="at least one field"):
        evaluate(records, {"m": Fake(NEXT)}, by=())


def test_mirrored_twins_are_no_two_items_in_intervals_and_tests() -> None:
    def rows(twins: int) -> list[dict[str, Any]]:
        return [
            {
                "id": f"{number}.{twin}",
                "base_id": str(number),
                "task": "t",
                "source": model,
                "options": ["a", "b"],
                "answer": number % 2,
                "acc": int(number < right),
                "loglikelihoods": [-1.0 - number, -2.0],
            }
            for model, right in (("one", 30), ("other", 24))
            for number in range(40)
            for twin in range(twins)
        ]

    once, twice = (_evaluation.source_result(own, 0.95) for own in (rows(1), rows(2)))
    assert twice.intervals["accuracy"] == pytest.approx(once.intervals["accuracy"], abs=0.003)
    width = np.diff(once.intervals["loglikelihood"])
    assert np.diff(twice.intervals["loglikelihood"]) == pytest.approx(width)
    for own in (rows(1), rows(2)):
        assert _evaluation.compare_models(own, ["task"])[0]["p"] == pytest.approx(2 / 2**6)


def piqa_records(count: int, path: Path, label: int = 1) -> list[ItemRecord]:
    rows = [
        {"id": f"{path.stem}{n}", "goal": f"g{n}", "sol1": f"a{n}", "sol2": f"b{n}", "label": label}
        for n in range(count)
    ]
    write_jsonl(path, rows)
    return list(read_records(path))


def test_examples_stand_before_the_question_as_the_harness_writes_them(tmp_path: Path) -> None:
    """Question, a space, the right answer, an empty line; drawn by Python's own generator."""
    items, pool = piqa_records(3, tmp_path / "t.jsonl"), piqa_records(9, tmp_path / "train.jsonl")
    drawn = random.Random(1234)
    for record, examples in zip(items, draw_examples(items, pool, 2, 1234)):
        wanted = "".join(
            f"Question: g{example.item.id[5:]}\nAnswer: b{example.item.id[5:]}\n\n"
            for example in drawn.sample(pool, 2)
        )
        assert examples == wanted
        question = build_question(record, examples)
        place = record.item.id[1:]
        assert question.requests[0] == Continuation(
            f"{wanted}Question: g{place}\nAnswer:", f" a{place}"
        )
        assert question.lengths == build_question(record).lengths


@pytest.mark.parametrize(
    ("fields", "example"),
    [
        (COPA, "The cup fell because  somebody pushed it.\n\n"),
        (GAP, "The cup hit the floor and the cup broke.\n\n"),
        (LAST, "She fed the gull\n\n"),
    ],
)
def test_an_example_is_an_item_with_its_right_answer(
    fields: Mapping[str, Any], example: str, tmp_path: Path
) -> None:
    found = record(fields, tmp_path)
    assert draw_examples([found], [found], 1, 0) == [example]


def test_without_a_training_split_an_item_is_not_its_own_example(tmp_path: Path) -> None:
    items = piqa_records(4, tmp_path / "t.jsonl")
    for found, examples in zip(items, draw_examples(items, [], 3, 7)):
        assert found.item.context not in examples
        assert examples.count("Question:") == 3
    with pytest.raises(InputError, match=r"4 answered items .* 4 examples"):
        draw_examples(items, [], 4, 7)
    blimp = record(PAIR, tmp_path)
    with pytest.raises(OptionError, match="items of blimp take no examples"):
        draw_examples([blimp], [], 1, 7)


def test_shots_are_drawn_asked_and_signed(tmp_path: Path) -> None:
    piqa_records(3, tmp_path / "t.jsonl", label=0)
    piqa_records(5, tmp_path / "train.jsonl")
    given = {"model": {"fake": Fake(NEXT)}, "train": tmp_path / "train.jsonl"}
    result = rote.evaluate(tmp_path / "t.jsonl", shots=2, **given)
    assert result.records[0]["asked"][0][0].count("Answer: b") == 2
    assert dict(result.signature.settings)["shots"] == "2"
    other = rote.evaluate(tmp_path / "t.jsonl", shots=2, seed=5, **given)
    assert other.records[0]["asked"] != result.records[0]["asked"]
    with pytest.raises(OptionError, match="set their number with shots"):
        rote.evaluate(tmp_path / "t.jsonl", **given)
