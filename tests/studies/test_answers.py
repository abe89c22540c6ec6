"""Answers from other files: brought together with items, and counted by what a corpus holds."""

from __future__ import annotations

from pathlib import Path

import pytest

import rote
from rote.compare.intervals import wilson
from rote.core.errors import OptionError
from rote.corpus.items import Item, read_items
from rote.studies.decontaminate import match_answers
from tests.kit import write_jsonl

QUESTIONS = [
    f"Which {colour} {animal} crossed the {place} at noon while nobody was looking there?"
    for colour in ("brown", "green")
    for animal in ("badger", "heron", "lynx")
    for place in ("orchard", "viaduct")
]
ITEMS = [
    {"id": f"q{n}", "task": "made", "context": f"{text} ", "options": ["yes", "no"], "answer": 0}
    for n, text in enumerate(QUESTIONS)
]
RIGHT = [int(n % 3 != 0) for n in range(len(ITEMS))]


def evaluated(path: Path) -> Path:
    """As `rote evaluate` writes them, in another order."""
    rows = [
        {**item, "source": "small", "acc": right} for item, right in zip(ITEMS, RIGHT, strict=True)
    ]
    return write_jsonl(path, rows[::-1])


def logged(folder: Path) -> Path:
    """As the harness writes them: other ids, a prompt around, an example before each question."""
    folder.mkdir()
    rows = []
    for number, item in enumerate(ITEMS):
        example = f"Question: {QUESTIONS[number - 1]}\nAnswer: yes\n\n"
        prompt = f"{example}Question: {item['context'].strip()}\nAnswer:"
        rows.append(
            {
                "doc_id": 100 + number,
                "doc": {},
                "target": "0",
                "arguments": [[prompt, " yes"], [prompt, " no"]],
                "acc": RIGHT[number],
            }
        )
    return write_jsonl(folder / "samples_made_2024-01-01T00-00-00.jsonl", rows)


def corpus(path: Path) -> Path:
    filler = "The committee met again on Tuesday and went through the minutes of the last meeting."
    texts = [f"{filler} {QUESTIONS[n]} {filler}" for n in range(6)] + [
        filler + str(n) for n in "ab"
    ]
    return write_jsonl(path, [{"id": str(n), "text": text} for n, text in enumerate(texts)])


@pytest.mark.parametrize("kind", ["evaluate", "harness", "both"])
def test_accuracy_of_answers_from_other_files(tmp_path: Path, kind: str) -> None:
    answers = []
    if kind != "harness":
        answers.append(str(evaluated(tmp_path / "answers.jsonl")))
    if kind != "evaluate":
        answers.append(str(logged(tmp_path / "large")))
    result = rote.decontaminate(
        corpus(tmp_path / "train.jsonl"),
        test_items=[str(write_jsonl(tmp_path / "items.jsonl", ITEMS))],
        answers=answers,
        output=tmp_path / "out",
    )
    rows = list(result.tables["accuracy"])
    assert {row["source"] for row in rows} == {
        "evaluate": {"small"},
        "harness": {"large"},
        "both": {"small", "large"},
    }[kind]
    for row in rows:
        own = {"all": RIGHT, "found": RIGHT[:6], "not found": RIGHT[6:]}[row["items"]]
        assert (row["n"], row["accuracy"]) == (len(own), sum(own) / len(own))
        low, high = wilson(sum(own), len(own), 0.95)
        assert (row["low"], row["high"]) == (pytest.approx(low), pytest.approx(high))


def test_answers_to_other_questions_are_refused(tmp_path: Path) -> None:
    other = write_jsonl(tmp_path / "other.jsonl", [{**ITEMS[0], "context": "What? ", "acc": 1}])
    with pytest.raises(OptionError, match="none of 1 answers"):
        rote.decontaminate(
            corpus(tmp_path / "train.jsonl"),
            test_items=[str(write_jsonl(tmp_path / "items.jsonl", ITEMS))],
            answers=[str(other)],
            output=tmp_path / "out",
        )
    assert not (tmp_path / "out").exists()


def test_of_items_that_ask_the_same_options_and_ids_decide() -> None:
    items = [
        Item("1", "t", "Which one is it? ", ("red", "blue"), 0),
        Item("2", "t", "Which one is it? ", ("tall", "small"), 0),
        Item("3", "t", "Which one is it? ", ("tall", "small"), 1),
    ]
    asked = [
        Item("9", "t", "Which one is it? ", ("red", "blue"), 0, meta={"acc": 1, "source": "m"}),
        Item("3", "t", "Which one is it? ", ("tall", "small"), 0, meta={"acc": 0, "source": "m"}),
        Item("9", "t", "Which one is it? ", ("tall", "small"), 0, meta={"acc": 1, "source": "m"}),
    ]
    found, lost = match_answers(items, asked)
    assert lost == 1
    assert found["m"].tolist()[::2] == [1, 0]
    assert found["m"][1] != found["m"][1]  # nobody knows


def test_winogrande_is_the_same_in_a_log(tmp_path: Path) -> None:
    sentence = "The fox hid from the hound because the _ was afraid of a long and noisy chase."
    item = {"sentence": sentence, "option1": "fox", "option2": "hound", "answer": "1", "qID": "x-1"}
    before, after = sentence.split("_")
    log = {
        "doc_id": 4,
        "doc": item,
        "target": after.strip(),
        "arguments": [[before + "fox", after], [before + "hound", after]],
        "acc": 1,
        "resps": [[[-1.0, False]], [[-2.0, False]]],
    }
    items = list(read_items([write_jsonl(tmp_path / "w.jsonl", [item])]))
    answers = list(read_items([write_jsonl(tmp_path / "samples_winogrande_x.jsonl", [log])]))
    found, lost = match_answers(items, answers)
    assert (lost, [one.tolist() for one in found.values()]) == (0, [[1.0]])
