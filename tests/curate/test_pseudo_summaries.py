"""Pseudo-summaries: the kernel against a slow twin, scores against rouge-score, and by hand."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from rote.core.document import Document
from rote.core.errors import InputError, OptionError
from rote.corpus import ReadOptions, open_corpus
from rote.curate.pseudo_summaries import SummaryPair, _most_shared, make_pairs, pseudo_summaries
from tests.examples import lists, some
from tests.kit import invoke, read_jsonl

Sentences = list[list[int]]


def twin_best(sentences: Sentences) -> tuple[int, int]:
    """The first sentence that shares most words with all others, and how many."""
    best, most = -1, -1
    for number, sentence in enumerate(sentences):
        rest = Counter(w for i, other in enumerate(sentences) if i != number for w in other)
        shared = sum((Counter(sentence) & rest).values())
        if shared > most:
            best, most = number, shared
    return best, max(most, 0)


@given(lists(some(some(range(5), 8), 6), 5))
def test_the_best_sentence_is_the_one_that_counting_finds(texts: list[Sentences]) -> None:
    ids, places, text_ends, starts, last = [], [], [], [], []
    for sentences in texts:
        character = 0
        for sentence in sentences:
            starts.append(character)
            for word in sentence:
                ids.append(word)
                places.append(character)
                character += 2
            character += 1
        text_ends.append(len(ids))
        last.append(len(starts))
    best, shared = _most_shared(
        np.array(ids, np.int32),
        np.array(places, np.int32),
        np.array(text_ends, np.int64),
        np.array(starts, np.int64),
        np.array(last, np.int64),
        5,
    )
    assert list(zip(best.tolist(), shared.tolist())) == [twin_best(text) for text in texts]


def pair(text: str) -> SummaryPair:
    (found,) = make_pairs([text])
    assert isinstance(found, SummaryPair)
    return found


def test_a_pair_by_hand() -> None:
    text = "The cat sat. A dog saw the cat. Rain fell."
    # Shared with the rest: {the, cat} of the first and of the second, nothing of the third.
    found = pair(text)
    assert found == SummaryPair("A dog saw the cat. Rain fell.", "The cat sat.", 2 * 2 / 10)


def test_a_word_is_shared_as_often_as_both_have_it() -> None:
    found = pair("Row row row. Stop now. Row, row and stop.")
    # The first shares 2 of its 3 rows, the second 1 word, the third row, row and stop.
    assert found.summary == "Row, row and stop."
    assert found.document == "Row row row. Stop now."
    assert found.score == 2 * 3 / 9


def test_paragraphs_stay_apart_without_the_sentence_between_them() -> None:
    found = pair("It rained.\n\nThe dog and the cat and the cow saw it.\nThe dog barked. A cat?")
    assert found.summary == "The dog and the cat and the cow saw it."
    assert found.document == "It rained.\n\nThe dog barked. A cat?"


def test_scores_are_those_of_rouge_score() -> None:
    from rouge_score.rouge_scorer import RougeScorer  # slow to import

    rng = np.random.default_rng(0)
    scorer = RougeScorer(["rouge1"])
    kinds = ["the", "Cat", "sat", "on", "mat", "dog's", "3.5", "Ünder", "it"]
    texts = [
        " ".join(
            " ".join(rng.choice(kinds, rng.integers(1, 9))).capitalize() + "."
            for _ in range(rng.integers(2, 7))
        )
        for _ in range(200)
    ]
    seen = 0
    for found in make_pairs(texts):
        if isinstance(found, SummaryPair):
            expected = scorer.score(found.document, found.summary)["rouge1"].fmeasure
            assert found.score == pytest.approx(expected, abs=1e-12)
            seen += 1
    assert seen > 150


def test_texts_that_give_no_pair_say_why() -> None:
    assert make_pairs(["Only one sentence here.", "Да. Нет.", "Yes. No."]) == [
        "one sentence",
        "no words",
        SummaryPair("No.", "Yes.", 0.0),
    ]
    assert make_pairs([]) == []


# Files


def test_pairs_keep_other_fields_and_what_they_replace_is_counted(tmp_path: Path) -> None:
    texts = [
        Document("a", "The cat sat. The cat ran. Rain.", {"split": "train", "reference": "old"}),
        Document("b", "One sentence.", {}),
        Document("c", "Yes. No.", {}),
    ]
    made = pseudo_summaries(open_corpus(texts), tmp_path / "out.jsonl")
    assert (made.pairs, made.left_out, made.unrelated) == (2, {"one sentence": 1}, 1)
    assert made.replaced == {"reference": 1}
    assert read_jsonl(tmp_path / "out.jsonl") == [
        {
            "id": "a",
            "text": "The cat sat.",
            "document": "The cat ran. Rain.",
            "reference": "The cat sat.",
            "rouge_1": 4 / 7,
            "split": "train",
        },
        {"id": "c", "text": "Yes.", "document": "No.", "reference": "Yes.", "rouge_1": 0.0},
    ]


def test_a_bad_record_leaves_no_file_or_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "docs.jsonl"
    path.write_text('{"text": "Yes. No."}\n{"text": 3}\n')
    with pytest.raises(InputError, match="line 2"):
        pseudo_summaries(open_corpus([path]), tmp_path / "out.jsonl")
    assert [place.name for place in tmp_path.iterdir()] == ["docs.jsonl"]
    lenient = open_corpus([path], ReadOptions(on_error="skip"))
    made = pseudo_summaries(lenient, tmp_path / "out.jsonl")
    assert (made.pairs, len(made.problems)) == (1, 1)


def test_the_documents_are_not_written_over(tmp_path: Path) -> None:
    source = tmp_path / "docs.jsonl"
    source.write_text('{"id": "1", "text": "One fish. Two fish."}\n', encoding="utf-8")
    held = source.read_bytes()
    error = invoke("train", "pseudo-summaries", str(source), "-o", str(source)).exception
    assert isinstance(error, OptionError)
    assert "would overwrite the input" in str(error)
    assert source.read_bytes() == held
