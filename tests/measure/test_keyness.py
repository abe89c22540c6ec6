"""Keyness: counts and scores by hand, phrases from windows, patterns, a corpus, the level of p."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rote
from rote.compare.log_odds import contrast
from rote.core.document import Document
from rote.core.errors import InputError
from rote.measure._keyness import Where, ngrams, phrases
from rote.search.patterns import KNOWN, read_patterns
from rote.search.rows.collocates import log_likelihood

from .samples import layer_of

WORDS = "heron water letter clock uncle rain cellar train coast orange lamp loaf".split()
SETTINGS: dict[str, Any] = {"by": "source", "permutations": 0}


def texts(own: str = "the old grey mill", count: int = 12, seed: int = 1) -> list[Document]:
    """Two sources of random words; one also has a phrase of its own in each text."""
    rng = np.random.default_rng(seed)
    found = []
    for source in ("plain", "habit"):
        for number in range(count):
            words = [*rng.choice(WORDS, 20), *(own.split() if source == "habit" else ())]
            words += list(rng.choice(WORDS, 10))
            text = " ".join(words)
            found.append(Document(f"{source}{number}", text, {"source": source}))
    return found


def row_of(result: Any, phrase: str, source: str = "habit") -> dict[str, Any]:
    rows = result.tables["phrases"]
    return next(dict(r) for r in rows if r["phrase"] == phrase and r["source"] == source)


def test_counts_and_scores_by_hand() -> None:
    result = rote.keyness(texts(), **SETTINGS, reference="plain", lengths=(1,), top=50)
    row = row_of(result, "mill")
    assert (row["count"], row["other_count"], row["texts"], row["other_texts"]) == (12, 0, 12, 0)
    sizes = 12 * 34, 12 * 30
    assert row["rate"] == pytest.approx(1000 * 12 / sizes[0])
    assert row["g2"] == pytest.approx(float(log_likelihood(12, 0, *sizes)))
    assert row["log_ratio"] == pytest.approx(math.log2((12 / sizes[0]) / (0.5 / sizes[1])))
    # The prior is spread as all words are; of one word it needs only its own counts.
    expected = contrast(np.array([12]), np.array([0]), sizes)
    assert row["z"] == pytest.approx(expected.z[0])
    assert row["log_odds"] == pytest.approx(expected.delta[0])
    assert row["dp"] == pytest.approx(0)
    assert row["juilland_d"] == pytest.approx(1)


def test_windows_of_one_phrase_are_one_row() -> None:
    result = rote.keyness(texts(), **SETTINGS, reference="plain", lengths=(1, 2, 3))
    listed = [r["phrase"] for r in result.tables["phrases"] if r["used_more_by"] == "habit"]
    assert listed[0] == "the old grey mill"
    assert not any("grey" in phrase for phrase in listed[1:])
    assert row_of(result, "the old grey mill")["windows"] == 3 + 3 + 2


def merged(words: Sequence[Sequence[str]], lengths: Sequence[int]) -> list[tuple[str, ...]]:
    layer = layer_of(words)
    items = list(ngrams(layer, lengths, 2))
    grams = [gram for one in items for gram in one.grams]
    counts = np.concatenate([one.of(np.arange(len(words))) for one in items])
    order = np.lexsort((np.arange(len(grams)), -counts))
    return [one.words for one in phrases(grams, Where(items, layer, None), order, 20)]


def test_windows_that_also_occur_apart_stay_apart() -> None:
    both = [["a", "b"]] * 3 + [["b", "c"]] * 3
    assert ("a", "b", "c") not in merged(both, (2,))
    assert merged([["a", "b", "c"]] * 3, (2,)) == [("a", "b", "c")]
    # b is there without a as often as with it.
    assert set(merged([["a", "b"]] * 4 + [["b"]] * 4, (1, 2))) == {("b",), ("a", "b")}


@pytest.mark.parametrize("function_words", [False, True])
def test_ngrams_are_counted_as_in_plain_python(function_words: bool) -> None:
    rng = np.random.default_rng(0)
    words = [list(rng.choice(["The", "b", "c", ","], rng.integers(0, 12))) for _ in range(9)]
    for items in ngrams(layer_of(words), (1, 2, 3), 2, function_words):
        n = items.n
        held = [tuple(text[i : i + n]) for text in words for i in range(len(text) - n + 1)]
        assert set(items.grams) == {
            gram
            for gram in held
            if held.count(gram) >= 2
            and (n == 1 or "," not in (gram[0], gram[-1]))
            and (function_words or {"b", "c"} & {*gram})
        }
        for number, gram in enumerate(items.grams):
            own = [
                sum(tuple(text[i : i + n]) == gram for i in range(len(text) - n + 1))
                for text in words
            ]
            assert items.column(number).tolist() == own
        assert items.sizes.tolist() == [max(len(text) - n + 1, 0) for text in words]


def test_marks_and_function_words_are_listed_on_request_alone() -> None:
    habit = texts(own="it was -- and of the mill")
    plain = rote.keyness(habit, **SETTINGS, reference="plain")
    listed = {row["phrase"] for row in plain.tables["phrases"]}
    assert any("mill" in phrase for phrase in listed)
    content = {*WORDS, "mill"}
    assert all(content & {*phrase.split()} for phrase in listed)
    asked = rote.keyness(habit, **SETTINGS, reference="plain", function_words=True, lengths=(1,))
    assert {"--", "it", "mill"} <= {row["phrase"] for row in asked.tables["phrases"]}
    # Tags are no words.
    tags = rote.keyness(habit, **SETTINGS, reference="plain", layer="pos", lengths=(1,))
    assert "DT" in {row["phrase"] for row in tags.tables["phrases"]}


def test_without_a_reference_it_is_all_others() -> None:
    found = rote.keyness(texts(), **SETTINGS, lengths=(1,))
    assert {(r["source"], r["other"]) for r in found.tables["phrases"]} == {
        ("plain", "habit"),
        ("habit", "plain"),
    }


def test_a_corpus_is_the_other_side(tmp_path: Path) -> None:
    file = tmp_path / "corpus.txt"
    file.write_text("the old house stood by the water . the old heron slept .")
    own = [one for one in texts() if one.meta["source"] == "habit"]
    result = rote.keyness(own, **SETTINGS, corpus=str(file), lengths=(1,), top=40)
    row = row_of(result, "old")
    assert (row["count"], row["other_count"]) == (12, 2)
    assert math.isnan(row["p_corrected"])
    assert row["p_independent"] <= 1
    assert any("cannot be permuted" in note for note in result.by_source["habit"].notes)


def test_the_permutation_test_finds_a_habit_and_holds_its_level() -> None:
    settings: dict[str, Any] = {"by": "source", "reference": "plain", "lengths": (1, 2)}
    found = rote.keyness(texts(count=30), **settings, permutations=99)
    assert row_of(found, "the old grey mill")["p_corrected"] < 0.05
    assert found.by_source["habit"].values["key"] == pytest.approx(4 / 34, abs=0.02)
    # Both sides alike, but each text has a word of its own that it repeats: G2 is misled.
    rng = np.random.default_rng(5)
    alarms = independent = 0
    for _ in range(40):
        alike = []
        for number in range(24):
            burst = [WORDS[rng.integers(0, 12)]] * 15
            text = " ".join([*burst, *rng.choice(WORDS, 15)])
            source = "plain" if number % 2 else "habit"
            alike.append(Document(str(number), text, {"source": source}))
        rows = rote.keyness(alike, **settings, permutations=19, interval=0).tables["phrases"]
        alarms += any(row["p_corrected"] <= 0.1 for row in rows)
        independent += any(row["p_independent"] <= 0.1 for row in rows)
    assert alarms <= 10  # of 40 at 0.1
    assert independent >= 35


def test_unequal_numbers_of_answers_with_words_in_common_hold_the_level() -> None:
    # A source has words of its own for each prompt: one by one, eight lists of ten name one.
    alarms = 0
    for seed in range(25):
        rng, documents = np.random.default_rng(seed), []
        for source, count in (("one", 1), ("five", 5)):
            for prompt in range(20):
                own = rng.integers(0, 60, 6)
                for number in range(count):
                    words = np.where(
                        rng.random(60) < 0.5, rng.choice(own, 60), rng.integers(0, 60, 60)
                    )
                    meta = {"source": source, "doc_id": str(prompt)}
                    text = " ".join(f"w{word}" for word in words)
                    documents.append(Document(f"{source}{prompt}:{number}", text, meta))
        how: dict[str, Any] = {
            "by": "source",
            "reference": "one",
            "lengths": (1,),
            "permutations": 39,
        }
        found = rote.keyness(documents, **how, seed=seed, interval=0)
        assert "p rests on 40 of 120 texts" in found.by_source["five"].notes[-1]
        alarms += any(row["p_corrected"] <= 0.05 for row in found.tables["phrases"])
    assert alarms <= 6


def test_patterns_are_counted_and_compared(tmp_path: Path) -> None:
    told = ["It was not a cat but a dog.", "It was not red, not green, but blue.", "It was a cat."]
    own = [Document(f"a{n}", text, {"source": "a"}) for n, text in enumerate(told)]
    own += [Document(f"b{n}", "It was a dog.", {"source": "b"}) for n in range(3)]
    file = tmp_path / "mine.json"
    file.write_text(json.dumps({"not but": '"not" []{1,6} "but"', "pets": ["cat", "dog"]}))
    rows = rote.keyness(own, **SETTINGS, patterns=str(file)).tables["patterns"]
    held = {(row["source"], row["pattern"]): row for row in rows}
    assert held["a", "not but"]["count"] == 3  # both "not" of the second text
    assert held["a", "not but"]["texts"] == 2
    assert (held["a", "pets"]["count"], held["b", "pets"]["count"]) == (3, 3)
    words = sum(len(text.replace(",", " ,").replace(".", " .").split()) for text in told)
    assert held["a", "pets"]["rate"] == pytest.approx(1000 * 3 / words)


def test_known_patterns_find_what_they_are_named_after() -> None:
    examples = {
        "not X but Y": "He was not angry but tired.",
        "not only X but Y": "It is not only cheap but good.",
        "it's not X, it's Y": "It's not a bug, it's a feature.",
        "not just X": "She is not just fast.",
        "X, Y, and Z": "We had bread, cheese, and wine.",
        "dash": "He came — at last.",
        "as if, as though": "It looked as though it slept.",
        "a sense of": "There was a sense of peace.",
        "a testament to": "It is a testament to hope.",
        "delve into": "Let us delve into it.",
        "serves as": "It serves as a door.",
        "it is important to note": "It is important to note that.",
        "in conclusion": "In conclusion, all is well.",
    }
    assert set(read_patterns(KNOWN)) == set(examples)
    own = [Document(name, text, {"source": "a"}) for name, text in examples.items()]
    own.append(Document("none", "A man walked home.", {"source": "b"}))
    rows = rote.keyness(own, **SETTINGS, patterns=KNOWN).tables["patterns"]
    assert all(row["count"] for row in rows if row["source"] == "a")
    assert not any(row["count"] for row in rows if row["source"] == "b")


@pytest.mark.parametrize(
    ("name", "text", "names"),
    [
        ("a.json", '[["tapestry"], ["a testament to"]]', ["tapestry", "a testament to"]),
        ("a.txt", "# slop\ntapestry\n\na testament to\n", ["tapestry", "a testament to"]),
        ("a.json", '{"x": "one", "y": ["two", "three"]}', ["x", "y"]),
    ],
)
def test_forms_of_lists(name: str, text: str, names: list[str], tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    assert list(read_patterns(str(tmp_path / name))) == names


def test_toml_is_a_table_of_patterns(tmp_path: Path) -> None:
    pytest.importorskip("tomllib")
    (tmp_path / "a.toml").write_text('[patterns]\nx = \'"not" "only"\'\n')
    assert read_patterns(str(tmp_path / "a.toml")) == {"x": ['"not" "only"']}


def test_what_is_no_phrase_is_named_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "slop.json"
    file.write_text('[\n  "tapestry",\n  ["a, testament [to"],\n\n  ["delve", 3.5]\n]')
    with pytest.raises(
        InputError, match=r"slop.json, line 5: entry 3 of the list is 3.5, which is"
    ):
        read_patterns(str(file))
    file.write_text('["tapestry", null]')
    with pytest.raises(InputError, match="entry 2 of the list is null"):
        read_patterns(str(file))
    pytest.importorskip("tomllib")
    (tmp_path / "a.toml").write_text('patterns = ["tapestry", 7]')
    with pytest.raises(InputError, match=r"a.toml: entry 2 of the list is 7"):
        read_patterns(str(tmp_path / "a.toml"))


@pytest.mark.parametrize("text", ["{", "[]", '{"x": 3}'])
def test_lists_that_cannot_be_read_are_named(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(InputError, match=r"pattern|is not JSON"):
        read_patterns(str(tmp_path / "a.json"))
    with pytest.raises(InputError, match="cannot be read"):
        read_patterns(str(tmp_path / "none.json"))
