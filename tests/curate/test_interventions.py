"""Edited documents, what becomes of their summaries, and the nearest training document."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

import rote
from rote.curate.pairs import TrainingPair, shares_ngram
from rote.studies.train_intervene import (
    edit_documents,
    find_mentions,
    judge_outcome,
)
from rote.studies.train_reina import K1, B, Bm25
from tests.kit import read_jsonl


def test_mentions_are_spans_of_the_text() -> None:
    (found,) = find_mentions(["Yesterday Anna Brown met Paul Smith in Paris."])
    assert {"Anna Brown", "Paul Smith", "Paris"} <= {one.text for one in found}
    text = "Yesterday Anna Brown met Paul Smith in Paris."
    assert all(text[one.start : one.end] == one.text for one in found)


def test_a_fact_is_substituted_where_it_is_and_added_where_it_is_not() -> None:
    known = {"Paris": "LOC", "London": "LOC"}
    here = TrainingPair("1", "They met in Paris. Parisians saw it: PARIS!", "They met in Paris.")
    (made,) = edit_documents([here], known, 1, 1, 0)
    assert made.how == "substituted"
    assert made.document == "They met in London. Parisians saw it: London!"
    absent = TrainingPair("2", "They met.", "They met in Paris on a day.")
    (made,) = edit_documents([absent], known, 1, 1, 0)
    assert made.how == "added"
    assert made.document == "They met. They met in London on a day."
    assert made.old == "Paris"
    # No other of its type that the document does not hold: no edit.
    both = TrainingPair("3", "London and Paris.", "They met in Paris.")
    assert edit_documents([both], known, 1, 1, 0) == []


def test_a_summary_is_correct_skipped_or_incorrect() -> None:
    assert judge_outcome("They met in London.", "Paris", "London") == "correct"
    assert judge_outcome("They met.", "Paris", "London") == "skipped"
    assert judge_outcome("They met in paris.", "Paris", "London") == "incorrect"
    assert judge_outcome("London and Paris.", "Paris", "London") == "incorrect"
    assert judge_outcome("Parisians in Londonderry.", "Paris", "London") == "skipped"


def test_neighbours_share_an_n_gram_of_words() -> None:
    texts = ["a b c d e", "b c d", "x a b c d", "e d c b a", "A b c d"]
    found = shares_ngram(texts, ["z a b c d", "q"], 4)
    assert found.tolist() == [True, False, True, False, False]


def by_hand(query: str, documents: list[str]) -> list[float]:
    words = [re.findall(r"\w+", one.lower()) for one in documents]
    mean = sum(map(len, words)) / len(words)
    found = []
    for own in words:
        total = 0.0
        for term in re.findall(r"\w+", query.lower()):
            held, often = sum(term in one for one in words), own.count(term)
            rarity = math.log(1 + (len(words) - held + 0.5) / (held + 0.5))
            total += rarity * often * (K1 + 1) / (often + K1 * (1 - B + B * len(own) / mean))
        found.append(total)
    return found


def test_scores_are_those_of_bm25() -> None:
    random = np.random.default_rng(0)
    documents = [" ".join(random.choice(list("abcdefgh"), n)) for n in random.integers(1, 20, 12)]
    queries = [" ".join(random.choice(list("abcdefghij"), 6)) for _ in range(8)]
    index = Bm25(documents)
    for query, row in zip(queries, index.scores(queries)):
        assert row == pytest.approx(by_hand(query, documents))
    best = [int(np.argmax(by_hand(query, documents))) for query in queries]
    assert index.nearest(queries).tolist() == best
    assert (index.nearest(documents, exclude=range(12)) != np.arange(12)).all()


def test_the_summary_of_the_nearest_training_document_goes_first(tmp_path: Path) -> None:
    def pair(number: int, split: str, topic: str) -> dict[str, str]:
        return {
            "doc_id": f"{split}{number}",
            "split": split,
            "document": f"{topic} news {number}",
            "reference": f"about {topic}",
        }

    records = [
        pair(1, "train", "rain"),
        pair(2, "train", "rain"),
        pair(3, "train", "gold"),
        pair(4, "train", "gold"),
        pair(5, "test", "gold"),
    ]
    made = rote.train_reina(records, output=tmp_path / "r.jsonl")
    assert made.about["pairs"] == 5

    found = read_jsonl(tmp_path / "r.jsonl")
    assert found[4]["document"] == "about gold | gold news 5"
    assert [one["retrieved"] for one in found] == ["train2", "train1", "train4", "train3", "train3"]
