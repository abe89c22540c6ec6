"""ROUGE: kernels against slow twins, values against rouge-score and against paper and pencil."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from itertools import chain, groupby
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import rote
from rote.annotate import words
from rote.compare.intervals import wilson
from rote.core.errors import InputError, MissingExtra, OptionError
from rote.core.sample import SEVERAL, RawText
from rote.measure.reference_scores import rouge as scores
from rote.measure.reference_scores.rouge import (
    NEW_LINE,
    NEW_TEXT,
    Side,
    breaks,
    common_subsequences,
)
from tests.examples import drawn, each, some, string

PEER = {"rouge_1": "rouge1", "rouge_2": "rouge2", "rouge_l": "rougeL", "rouge_lsum": "rougeLsum"}
FIRST = "The cat sat on the mat."
SECOND = "The cat lay on a mat."

Lines = list[list[int]]


def measured(text: str, reference: Any, **options: Any) -> dict[str, float]:
    one = rote.Document("1", text, {"reference": reference})
    found = rote.score([one], interval=0, scores="rouge", **options)
    return dict(found.by_source["texts"].values)


def rouge_score(text: str, references: Sequence[str], stem: bool = False) -> dict[str, Any]:
    from rouge_score.rouge_scorer import RougeScorer  # slow to import

    found = RougeScorer(list(PEER.values()), use_stemmer=stem).score_multi(references, text)
    return {name: found[peer] for name, peer in PEER.items()}


# Slow twins


def twin_table(one: list[int], other: list[int]) -> list[list[int]]:
    table = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i, a in enumerate(one):
        for j, b in enumerate(other):
            longer = max(table[i][j + 1], table[i + 1][j])
            table[i + 1][j + 1] = table[i][j] + 1 if a == b else longer
    return table


def twin_path(one: list[int], other: list[int]) -> set[int]:
    """Places of `one` on the longest common subsequence that a walk from the end finds."""
    table, i, j, found = twin_table(one, other), len(one), len(other), set()
    while i and j:
        if one[i - 1] == other[j - 1]:
            i, j = i - 1, j - 1
            found.add(i)
        elif table[i][j - 1] > table[i - 1][j]:
            j -= 1
        else:
            i -= 1
    return found


def twin_union(text: Lines, reference: Lines) -> int:
    left = Counter(word for line in text for word in line)
    hits = 0
    for line in reference:
        for place in set().union(*(twin_path(line, other) for other in text)):
            hits += left[line[place]] > 0
            left[line[place]] -= 1
    return hits


def twin_breaks(text: str, starts: Sequence[int]) -> list[int]:
    found, before = [], -1
    for number, start in enumerate(starts):
        between = text[before + 1 : start]
        begun = NEW_TEXT if SEVERAL in between or number == 0 else NEW_LINE * ("\n" in between)
        found.append(begun)
        before = start
    return found


def side_of(texts: Sequence[str]) -> Side:
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
    return Side(
        words.get("rouge")(texts), RawText(np.frombuffer(b"".join(encoded), np.uint8), ends)
    )


def subsequences(text: Lines, reference: Lines, kinds: int) -> list[int]:
    """The kernel on one pair."""
    flat = [word for line in (*text, *reference) for word in line]
    begins = [int(place == 0) for line in (*text, *reference) for place, _ in enumerate(line)]
    own = sum(map(len, text))
    places = (np.array([place], np.int64) for place in (0, own, own, len(flat)))
    ids, flags = np.array(flat, np.int32), np.array(begins, np.uint8)
    return list(common_subsequences(ids, kinds, flags, *places)[0])


lines_of_words = drawn(some(some(range(5), 12), 5))
CHARACTERS = ["a", "b", "c", "Z", "7", " ", "\n", SEVERAL, "ü", "漢", "😀", "\ud800"]


@given(lines_of_words, lines_of_words)
def test_common_subsequences_are_those_of_the_table(text: Lines, reference: Lines) -> None:
    one, other = (list(chain.from_iterable(lines)) for lines in (text, reference))
    expected = [twin_table(other, one)[-1][-1], twin_union(text, reference)]
    assert subsequences(text, reference, 5) == expected


@pytest.mark.parametrize("kinds", [2, 9, 300])
def test_common_subsequences_of_lines_longer_than_a_machine_word(kinds: int) -> None:
    rng = np.random.default_rng(kinds)
    for lengths, others in (((63, 65), (64,)), ((128,), (127, 129)), ((300, 1, 20), (257, 64))):
        text = [rng.integers(0, kinds, length).tolist() for length in lengths]
        reference = [rng.integers(0, kinds, length).tolist() for length in others]
        one, other = (list(chain.from_iterable(lines)) for lines in (text, reference))
        expected = [twin_table(other, one)[-1][-1], twin_union(text, reference)]
        assert subsequences(text, reference, kinds) == expected


@given(drawn(some(string(CHARACTERS, 20), 4)))
def test_words_know_what_begins_with_them(texts: list[str]) -> None:
    side = side_of(texts)
    layer, raw = side.words, side.raw
    found = breaks(raw.data, raw.ends, layer.starts, layer.text_ends, ord("\n"), ord(SEVERAL))
    expected = [
        begun
        for number, text in enumerate(texts)
        for begun in twin_breaks(text, [start for start, _ in layer.spans(number)])
    ]
    assert found.tolist() == expected


letters = string("aAbc \n.İKé", 30)


@given(drawn(some(each(letters, some(letters, 3, least=1)), 5)))
def test_every_score_is_that_of_rouge_score(pairs: list[tuple[str, list[str]]]) -> None:
    texts, references = [text for text, _ in pairs], [SEVERAL.join(own) for _, own in pairs]
    found = scores.rouge(
        side_of(texts), side_of(references), threads=1, progress=lambda share: None
    )
    for number, (text, own) in enumerate(pairs):
        for name, expected in rouge_score(text, own).items():
            score = found[name]
            given_back = [score.precision[number], score.recall[number], score.f[number]]
            assert given_back == pytest.approx(list(expected), abs=1e-12)


def test_blocks_and_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    texts, references = (
        [" ".join(rng.choice(list("abcdefg"), length)) for length in rng.integers(1, 30, 40)]
        for _ in range(2)
    )
    sides = side_of(texts), side_of(references)
    whole = scores.rouge(*sides, threads=1, progress=lambda share: None)
    monkeypatch.setattr(scores, "PAIRS_AT_A_TIME", 3)
    shares: list[float] = []
    parts = scores.rouge(*sides, threads=3, progress=shares.append)
    for name in PEER:
        assert np.array_equal(whole[name].f, parts[name].f)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


# Values worked out by hand


def test_shared_words_pairs_of_words_and_subsequence() -> None:
    found = measured(FIRST, SECOND)
    # the (once: the reference has one), cat, on, mat; only "the cat"; the cat on mat
    assert found["rouge_1"] == pytest.approx(4 / 6)
    assert found["rouge_2"] == pytest.approx(1 / 5)
    assert found["rouge_l"] == found["rouge_lsum"] == pytest.approx(4 / 6)


def test_the_union_over_lines_is_the_example_of_the_paper() -> None:
    # Lin (2004), 3.2: the lines share w1 w2 and w1 w3 w5, together four of the reference's five.
    # Read as one, the text has its w1 w3 w5 before w2, and no more than three in order.
    text, reference = "w1 w3 w8 w9 w5\nw1 w2 w6 w7 w8", "w1 w2 w3 w4 w5"
    assert measured(text, reference, rouge="recall")["rouge_lsum"] == pytest.approx(4 / 5)
    assert measured(text, reference, rouge="precision")["rouge_lsum"] == pytest.approx(4 / 10)
    assert measured(text, reference, rouge="recall")["rouge_l"] == pytest.approx(3 / 5)


def test_precision_is_of_the_text_and_recall_of_the_field() -> None:
    text, reference = "one two", "one two three four"
    assert measured(text, reference, rouge="precision")["rouge_1"] == 1.0
    assert measured(text, reference, rouge="recall")["rouge_1"] == 0.5
    assert measured(text, reference)["rouge_1"] == pytest.approx(2 / 3)


def test_of_several_references_the_one_with_the_highest_f_counts() -> None:
    references = ["one two three four five six seven eight", "one nine", "ten"]
    # F of the first: 2 * 1 * 0.5 / 1.5 = 2/3; of the second: 2 * 0.25 * 0.5 / 0.75 = 1/3
    text = "one two three four"
    assert measured(text, references)["rouge_1"] == pytest.approx(2 / 3)
    assert measured(text, references, rouge="precision")["rouge_1"] == 1.0
    assert measured(text, references, rouge="recall")["rouge_1"] == 0.5


@pytest.mark.parametrize("stem", [False, True])
@pytest.mark.parametrize("score", ["f", "precision", "recall"])
def test_sentences_of_english_score_as_with_rouge_score(stem: bool, score: str) -> None:
    text = "The runners were running late.\nNobody noticed; they kept on running, happily."
    references = [
        "Runners run late.\nNobody noticed them, and happily they ran on.",
        "They kept running.\n\nLate runners.",
    ]
    found = measured(text, references, stemming=stem, rouge=score)
    for name, expected in rouge_score(text, references, stem).items():
        of = {"f": expected.fmeasure}.get(score, getattr(expected, score, None))
        assert found[name] == pytest.approx(of, abs=1e-12)


def test_stemming_lets_forms_of_a_word_match_unless_it_is_short() -> None:
    assert measured("running", "runs")["rouge_1"] == 0.0
    assert measured("running", "runs", stemming=True)["rouge_1"] == 1.0
    assert measured("its", "it", stemming=True)["rouge_1"] == 0.0


def test_stemming_without_nltk_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nltk.stem.porter", None)
    with pytest.raises(MissingExtra, match=r"\.\[stemming\]"):
        measured(FIRST, SECOND, stemming=True)


# What the measure does with records


def documents(pairs: Sequence[tuple[str, str]], **more: Any) -> list[rote.Document]:
    return [
        rote.Document(str(number), text, {"reference": reference, **more})
        for number, (text, reference) in enumerate(pairs)
    ]


def test_values_are_means_over_the_texts_of_a_source_and_columns_hold_the_texts() -> None:
    texts = documents([(FIRST, SECOND), (FIRST, FIRST), (FIRST, "Nothing here")])
    found = rote.score(texts, per_text=True, scores="rouge")
    column = [row["rouge_1"] for row in found.tables["texts"]]
    assert column == pytest.approx([4 / 6, 1.0, 0.0])
    assert found.by_source["texts"].values["rouge_1"] == pytest.approx(np.mean(column))
    assert found.interval is not None
    assert found.interval.method == "jackknife over texts; Student's t"
    # Standard error of the mean is sd / sqrt(3); Wilson's interval of as many answers as have it.
    share, error = np.mean(column), np.std(column, ddof=1) / np.sqrt(3)
    count = share * (1 - share) / error**2
    assert found.by_source["texts"].intervals["rouge_1"] == pytest.approx(
        wilson(share * count, count, 0.95, 3)
    )


def test_a_text_or_a_field_without_words_scores_0_and_that_is_said() -> None:
    found = rote.score(documents([("!!!", FIRST), (FIRST, ""), (FIRST, FIRST)]), scores="rouge")
    assert found.by_source["texts"].values["rouge_1"] == pytest.approx(1 / 3)
    notes = " ".join(found.by_source["texts"].notes)
    assert "scored 0: 1 of 3 texts without words" in notes
    assert "scored 0: 1 of 3 fields 'reference' without words" in notes


def test_any_field_may_be_compared_with_and_a_missing_one_is_named() -> None:
    texts = documents([(FIRST, SECOND)], input=FIRST)
    assert (
        rote.score(texts, reference_field="input", scores="rouge")
        .by_source["texts"]
        .values["rouge_l"]
        == 1.0
    )
    with pytest.raises(InputError, match="field 'document'"):
        rote.score(texts, reference_field="document", scores="rouge")
    with pytest.raises(InputError, match="field 'reference'"):
        rote.score([rote.Document("1", FIRST, {"reference": {"a": 3}})], scores="rouge")
    with pytest.raises(OptionError, match="must name fields"):
        rote.score(texts, reference_field="", scores="rouge")


def test_the_signature_names_field_score_words_and_stemmer() -> None:
    found = rote.score(documents([(FIRST, SECOND)]), stemming=True, rouge="recall", scores="rouge")
    line = str(found.signature)
    for part in (
        "reference_field:reference",
        "rouge:recall",
        "stemming:porter/nltk-",
        "tokenizer:rouge/1",
    ):
        assert part in line


def test_runs_of_lines_are_what_the_twins_take_them_for() -> None:
    side = side_of(["a b\nc", "d\n\n\ne f"])
    pairs = scores.paired(side, side_of([f"x{SEVERAL}{SEVERAL}y z", ""]))
    lines = [len(list(run)) for _, run in groupby(np.cumsum(pairs.begins > 0))]
    assert lines == [2, 1, 1, 2, 1, 2]
    assert pairs.owner.tolist() == [0, 0]
    assert (pairs.other_ends - pairs.other_starts).tolist() == [1, 2]
