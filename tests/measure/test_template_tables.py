"""The lists of templates: by hand, and against plain Python on random texts."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.core.layer import Layer, number
from rote.core.metric import Comparison, Work
from rote.core.progress import Silent
from rote.core.result import plain
from rote.core.sample import RawText, Sample
from rote.measure._template_rows import Options, Rows, needs, rows, templates_of
from rote.measure._template_windows import MatchReader
from rote.measure.templates import TemplateTables, length_table
from tests.examples import drawn, each, one_of, some

Piece = tuple[str, str]
"""A word and the white space behind it."""

TAGS = {"the": "D", "a": "D", "cat": "N", "dög": "N", "owl": "N", "saw": "V", "bit": "V", ".": "."}


def column(texts: Sequence[Sequence[Piece]], sentences: bool = True) -> Layer:
    """The words of texts that are given in pieces; a full stop ends a sentence."""
    starts, ends, text_ends, words = [], [], [], []
    for text in texts:
        place = 0
        for word, space in text:
            words.append(word)
            starts.append(place)
            ends.append(place + len(word))
            place += len(word) + len(space)
        text_ends.append(len(words))
    vocabulary, ids = number(words)
    stops = {item + 1 for item, word in enumerate(words) if word == "."} | set(text_ends) - {0}
    return Layer(
        "word",
        ids,
        vocabulary,
        np.array(starts, np.int32),
        np.array(ends, np.int32),
        np.array(text_ends, np.int64),
        np.array(sorted(stops), np.int64) if sentences else None,
    )


def joined(text: Sequence[Piece]) -> str:
    return "".join(word + space for word, space in text)


def rows_of(texts: Sequence[Sequence[Piece]], options: Options, layer: Layer | None = None) -> Rows:
    word = column(texts)
    tags = word.map("pos", lambda item: TAGS.get(item, item)) if layer is None else layer
    encoded = [joined(text).encode() for text in texts]
    raw = RawText(
        np.frombuffer(bytearray(b"".join(encoded)), np.uint8),
        np.cumsum([len(text) for text in encoded], dtype=np.int64),
    )
    layers = {
        need: word if need.layer == "word" else tags
        for need in needs(options)
        if need.layer != "text"
    }
    return rows(Sample(word.text_ends - word.text_starts, layers, {None: raw}), options, Work())


def comparison(groups: Mapping[str, Sequence[int]], reference: str | None = None) -> Comparison:
    return Comparison(
        groups={source: np.array(take, np.int64) for source, take in groups.items()},
        reference=reference,
        ids=[f"id-{text}" for text in range(100)],
        signature="",
        seed=0,
        reporter=Silent(),
    )


def pieces(text: str) -> list[Piece]:
    """Words of a text; a full stop touches the word before it."""
    words = text.split()
    return [(word, "" if behind == "." else " ") for word, behind in zip(words, [*words[1:], ""])]


THREE = [
    pieces("the cat saw a dög . the cat bit a dög ."),
    pieces("a owl saw the cat ."),
    pieces("the cat saw a dög . saw ."),
]
OPTIONS = Options(n=3, top=2, lengths=(2, 3, 9))


def tables(
    texts: Sequence[Sequence[Piece]], made: Comparison, options: Options = OPTIONS
) -> dict[str, list[dict[str, Any]]]:
    found = TemplateTables(rows_of(texts, options), made, options).tables()
    json.dumps(plain(found), allow_nan=False)
    return found


def test_templates_by_hand() -> None:
    found = tables(THREE, comparison({"own": [0, 2], "other": [1]}))
    # Tags: DNVDN.DNVDN. / DNVDN. / DNVDN.V. ; D N V and N V D and V D N and D N . stand 3 times.
    assert [
        (row["source"], row["rank"], row["template"], row["count"], row["texts"])
        for row in found["templates"]
    ] == [("own", 1, "D N .", 3, 2), ("own", 2, "D N V", 3, 2)]
    assert found["templates"][0]["counts"] == {"own": 3, "other": 1}
    assert found["templates"][0]["log_odds"] is None
    assert found["distinctive"] == []


def test_matches_are_the_raw_text_most_frequent_first() -> None:
    found = tables(THREE, comparison({"all": [0, 1, 2]}))
    assert [(row["template"], row["text"], row["count"]) for row in found["matches"]] == [
        ("D N .", "a dög.", 3),
        ("D N .", "the cat.", 1),
        ("D N V", "the cat saw", 2),
        ("D N V", "a owl saw", 1),
        ("D N V", "the cat bit", 1),
    ]


def test_examples_are_in_different_texts_with_their_sentence() -> None:
    found = tables(THREE, comparison({"all": [0, 1, 2]}))
    first = [row for row in found["examples"] if row["template"] == "D N ."]
    assert [(row["id"], row["sentence"]) for row in first] == [
        ("id-0", "the cat saw a dög."),
        ("id-1", "a owl saw the cat."),
        ("id-2", "the cat saw a dög."),
    ]
    assert (first[0]["start"], first[0]["end"], first[0]["sentence_start"]) == (12, 18, 0)
    assert joined(THREE[0])[12:18] == "a dög."


def test_an_example_over_two_sentences_shows_both() -> None:
    text = pieces("a cat saw . the dög . the owl . a owl .")
    found = tables([text, text], comparison({"all": [0, 1]}), replace(OPTIONS, top=9))
    rows = [row for row in found["examples"] if row["template"] == "N . D"]
    assert rows[0]["sentence"] == "the dög. the owl."
    assert rows[0]["sentence_start"] == joined(text).index("the dög")


@pytest.mark.parametrize("sentences", [False, True])
def test_without_sentences_the_words_around_are_shown(sentences: bool) -> None:
    """So are those in a sentence without an end."""
    text = [*[("word", " ")] * 150, *pieces("the cat saw"), *[("ward", " ")] * 150]
    layer = column([text], sentences)
    reader = MatchReader(layer, layer, rows_of([text], OPTIONS).raw, 3)
    (example,) = reader.examples([np.array([150])])[0]
    assert example.sentence == ("word " * 16) + "the cat saw" + (" ward" * 16)
    assert example.sentence_start == 150 * 5 - 80
    assert joined(text)[example.start : example.end] == "the cat saw"


def test_words_without_white_space_are_cut_anywhere() -> None:
    text = [("x" * 200, ""), *pieces("the cat saw"), ("y" * 200, "")]
    layer = column([text], sentences=False)
    reader = MatchReader(layer, layer, rows_of([text], OPTIONS).raw, 3)
    (example,) = reader.examples([np.array([1])])[0]
    assert example.sentence == "x" * 80 + "the cat saw " + "y" * 79
    assert example.sentence_start == 120


def test_touching_words_and_words_apart_are_two_matches() -> None:
    apart, together = [("do", " "), ("not", " ")], [("do", ""), ("not", " ")]
    found = tables([apart, together, apart], comparison({"all": [0, 1, 2]}), Options(n=2))
    assert [(row["text"], row["count"]) for row in found["matches"]] == [
        ("do not", 2),
        ("donot", 1),
    ]


def test_tree_items_read_from_the_first_to_the_last_character() -> None:
    """Their order is not that of the text, though there may be as many as words."""
    texts = [pieces("the cat saw a dög"), pieces("the cat bit a owl")]
    word = column(texts)
    walk = np.array([2, 1, 4, 0, 3])
    order = np.concatenate((walk, walk + 5))
    tree = replace(
        word,
        name="pos",
        ids=np.tile(np.arange(5, dtype=np.int32), 2),
        vocabulary=("root", "subj", "obj", "det", "det2"),
        starts=word.starts[order],
        ends=word.ends[order],
    )
    options = Options(n=3)
    found = TemplateTables(
        rows_of(texts, options, tree), comparison({"all": [0, 1]}), options
    ).tables()
    read = {row["template"]: [] for row in found["matches"]}
    for row in found["matches"]:
        read[row["template"]].append((row["text"], row["count"]))
    assert read["root subj obj"] == [("cat bit a owl", 1), ("cat saw a dög", 1)]
    assert read["obj det det2"] == [("the cat bit a owl", 1), ("the cat saw a dög", 1)]
    spans = [(row["start"], row["end"]) for row in found["examples"]]
    assert all(start < end for start, end in spans)


def test_distinctive_needs_two_texts_and_keeps_both_directions() -> None:
    often = pieces("the cat saw .")
    rare = pieces("saw bit saw bit saw bit saw bit saw bit saw bit saw bit saw bit saw bit")
    texts = [often] * 12 + [pieces("owl a bit")] * 12 + [rare]
    made = comparison({"own": [*range(12), 24], "human": range(12, 24)}, "human")
    found = tables(texts, made)["distinctive"]
    assert [(row["template"], row["count"], row["reference_count"]) for row in found] == [
        ("D N V", 12, 0),
        ("N V .", 12, 0),
        ("N D V", 0, 12),
    ]
    assert found[0]["z"] == found[1]["z"] > 0 > found[2]["z"]
    assert found[2]["examples"] == ["owl a bit"]
    assert found[0]["examples"] == ["the cat saw"]
    assert (found[0]["texts"], found[2]["reference_texts"]) == (12, 12)
    # 40 windows against 12: V V V stands 16 times, in one text.
    prior = 0.2 * 12 * 12 / 52
    odds = math.log((12 + prior) / (40 + 2.4 - 12 - prior)) - math.log(prior / (12 + 2.4 - prior))
    assert found[0]["log_odds"] == pytest.approx(odds)


def test_what_sets_apart_is_certain_by_permuted_texts_alone() -> None:
    """The n-gram of many texts is; one that is as frequent, but of three texts, is not."""
    bunch = pieces("owl a bit " * 4)
    texts = [pieces("the cat saw .")] * 12 + [pieces("owl cat dög")] * 9 + [bunch] * 3
    made = comparison({"own": range(12), "human": range(12, 24)}, "human")
    made = replace(made, strata=np.full(24, -1), permutations=99)
    rows = {row["template"]: row for row in tables(texts, made)["distinctive"]}
    assert (rows["D N V"]["count"], rows["N D V"]["reference_count"]) == (12, 12)
    assert rows["D N V"]["p_corrected"] < 0.05
    assert rows["N D V"]["p_corrected"] > 0.05


def test_overlap_by_hand() -> None:
    texts = [pieces("the cat saw")] * 2 + [pieces("the cat saw . . .")] * 2 + [pieces("saw")]
    found = tables(texts, comparison({"a": [0, 1], "b": [2, 3], "c": [4]}), replace(OPTIONS, top=9))
    rows = {(row["source"], row["other"]): row for row in found["overlap"]}
    assert len(rows) == 6
    # a: D N V; b: D N V, N V ., V . ., . . .
    assert rows["a", "b"]["shared"] == rows["b", "a"]["shared"] == 1
    assert rows["a", "b"]["jaccard"] == 1 / 4
    assert rows["a", "c"]["jaccard"] == 0


def test_no_template_at_all() -> None:
    texts = [pieces("the"), pieces("cat saw")]
    made = comparison({"a": [0], "b": [1]}, "b")
    found = tables(texts, made)
    assert {name: len(rows) for name, rows in found.items()} == {
        "templates": 0,
        "matches": 0,
        "examples": 0,
        "distinctive": 0,
        "overlap": 2,
    }
    assert math.isnan(found["overlap"][0]["jaccard"])
    curve = length_table(rows_of(texts, OPTIONS), made, OPTIONS)
    assert [(row["source"], row["n"], row["templates"], row["rate"]) for row in curve] == [
        ("a", 2, 0, 0.0),
        ("a", 3, 0, 0.0),
        ("a", 9, 0, 0.0),
        ("b", 2, 0, 0.0),
        ("b", 3, 0, 0.0),
        ("b", 9, 0, 0.0),
    ]


def test_a_reference_without_windows_leaves_the_log_odds_undefined() -> None:
    found = tables([*THREE, pieces("cat")], comparison({"a": [0, 1, 2], "b": [3]}, "b"))
    assert all(math.isnan(row["z"]) for row in found["templates"])
    assert all(math.isnan(row["p_corrected"]) for row in found["templates"])
    assert found["distinctive"] == []


def test_given_templates_are_listed_for_every_source_in_their_order() -> None:
    options = replace(OPTIONS, templates_from="own")
    made = rows_of(THREE, OPTIONS)
    groups = comparison({"own": [0, 2], "other": [1]})
    fixed = templates_of(made, np.array([0, 2]), OPTIONS)[::-1].copy()
    given_rows = replace(made, fixed=fixed)
    found = TemplateTables(given_rows, groups, options).tables()
    assert [(row["source"], row["template"], row["count"]) for row in found["templates"]] == [
        ("own", "D N V", 3),
        ("own", "D N .", 3),
        ("other", "D N V", 1),
        ("other", "D N .", 1),
    ]
    assert found["overlap"] == []
    assert {row["n"] for row in length_table(given_rows, groups, options)} == {3}


# Plain Python

some_texts = drawn(some(some(each(one_of("aeöb."), one_of(["", " ", " \n"])), 14), 6, least=2))


@given(some_texts, st.integers(1, 4), st.integers(1, 6), st.integers(1, 3), st.integers(1, 5))
def test_like_plain_python(
    texts: list[list[Piece]], n: int, top: int, min_count: int, cut: int
) -> None:
    cut = min(cut, len(texts) - 1)
    groups = {"a": list(range(cut)), "b": list(range(cut, len(texts)))}
    options = Options(n=n, top=top, min_count=min_count, lengths=(n, n + 1))
    # Vowels are one tag, so that a template reads in different ways.
    layer = column(texts).map("pos", lambda item: "V" if item in "aeö" else item)
    made, compared = rows_of(texts, options, layer), comparison(groups, "b")
    found = TemplateTables(made, compared, options).tables()

    read: dict[str, dict[tuple[str, ...], Counter[str]]] = {"a": {}, "b": {}}
    for source, take in groups.items():
        for text in take:
            items, spans, raw = layer.items(text), layer.spans(text), joined(texts[text])
            for start in range(len(items) - n + 1):
                gram = tuple(items[start : start + n])
                span = raw[spans[start][0] : spans[start + n - 1][1]]
                counter = read[source].setdefault(gram, Counter())
                counter[" ".join(span.split())] += 1
    for source in groups:
        counts = {gram: sum(texts.values()) for gram, texts in read[source].items()}
        ranked = sorted(
            (gram for gram in counts if counts[gram] >= min_count),
            key=lambda gram: (-counts[gram], gram),
        )[:top]
        listed = [row for row in found["templates"] if row["source"] == source]
        assert [(row["template"], row["count"]) for row in listed] == [
            (" ".join(gram), counts[gram]) for gram in ranked
        ]
        matches = [row for row in found["matches"] if row["source"] == source]
        assert [(row["template"], row["text"], row["count"]) for row in matches] == [
            (" ".join(gram), text, count)
            for gram in ranked
            for text, count in sorted(read[source][gram].items(), key=lambda p: (-p[1], p[0]))[:10]
        ]
    curve = length_table(made, compared, options)
    for row in curve:
        if row["n"] == n:
            own = [line for line in found["templates"] if line["source"] == row["source"]]
            assert row["templates"] == len(own)
            assert row["rate"] > 0 or not own or math.isnan(row["rate"])
