"""Entities: the kernel against a slow twin, rules for numbers and dates, batching."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given

from rote.annotate import entities, sentences, tagging
from rote.annotate._weights import load
from rote.annotate.entities import CALENDAR, CLOCK, DECADE, MONTH, PLAIN, YEAR, word_class
from rote.annotate.words import get
from rote.core.layer import Layer, concatenate
from tests.annotate import network_twin as twin
from tests.annotate.test_tagging import batches, layer_of, slow_attributes
from tests.examples import dear


def find(texts: list[str]) -> tuple[Layer, Layer]:
    words = sentences.split(texts, get("ud")(texts))
    return words, entities.find(words, tagging.tag(words)[0])


def mentions(text: str) -> list[tuple[str, str]]:
    """The mentions of a text, each with its type."""
    words, found = find([text])
    out: list[tuple[str, str]] = []
    for word, label in zip(words.items(0), found.items(0)):
        if label.startswith("B-"):
            out.append((word, label[2:]))
        elif label.startswith("I-"):
            out[-1] = (f"{out[-1][0]} {word}", out[-1][1])
    return out


def allowed(before: str, label: str, last: bool) -> bool:
    """Whether a BILOU label may follow another."""
    if last and label[0] in "BI":
        return False
    if before[0] in "BI":
        return label[0] in "IL" and label[1:] == before[1:]
    return label[0] in "OBU"


def slow_names(rows: list[list[int]], tags: list[int]) -> list[str]:
    """Names of one sentence in BIO."""
    net = entities._weights()[0].net
    label_1 = label_2 = 0
    before, found = "O", []
    for i in range(len(rows)):
        words = [twin.around(rows, i, offset, 1) for offset in (0, -1, 1, -2, 2)]
        me, left, right = words[:3]
        t_2, t_1, tag, n_1, n_2 = (
            tags[j] + 1 if 0 <= j < len(tags) else 0 for j in range(i - 2, i + 3)
        )
        style = twin.style(rows, i == 0)
        joined = [
            label_1,
            twin.pair(label_1, label_2),
            tag,
            twin.pair(t_1, tag),
            twin.pair(tag, n_1),
            twin.pair(twin.pair(t_1, tag), n_1),
            twin.pair(label_1, me[1]),
            twin.pair(label_1, tag),
            twin.pair(label_1, me[12]),
            twin.pair(label_1, me[16]),
            twin.pair(left[1], me[1]),
            twin.pair(me[1], right[1]),
            twin.pair(style, me[12]),
            twin.pair(style, twin.pair(me[12], me[14])),
            twin.pair(twin.pair(label_1, tag), n_1),
            twin.pair(left[1], me[12]),
            twin.pair(me[12], right[1]),
            twin.pair(twin.pair(t_2, t_1), tag),
            twin.pair(twin.pair(tag, n_1), n_2),
            twin.pair(tag, me[16]),
        ]
        values = twin.scores(net, words, joined)
        good = [
            n
            for n, label in enumerate(entities.BILOU)
            if allowed(before, label, i + 1 == len(rows))
        ]
        number = max(good, key=lambda n: (values[n], -n))
        before = entities.BILOU[number]
        label_1, label_2 = number + 1, label_1
        found.append(before.replace("L-", "I-").replace("U-", "B-"))
    return found


@dear(10)
@given(batches)
def test_names_agree_with_their_twin(texts: list[list[str]]) -> None:
    layer = layer_of(texts)
    pos, _ = tagging.tag(layer)
    found = entities.find(layer, pos)
    names = [
        label if label[2:] in entities.NAMES else "O"
        for text in range(len(texts))
        for label in found.items(text)
    ]
    slow: list[str] = []
    for text, (first, last) in zip(texts, zip(pos.text_starts, pos.text_ends)):
        slow += slow_names([slow_attributes(word) for word in text], pos.ids[first:last].tolist())
    assert names == slow


@given(batches)
def test_inside_follows_the_same_type(texts: list[list[str]]) -> None:
    layer = layer_of(texts)
    found = entities.find(layer, tagging.tag(layer)[0])
    for text in range(len(texts)):
        labels = ["O", *found.items(text)]
        for before, label in pairwise(labels):
            assert not label.startswith("I-") or before[2:] == label[2:]


def test_batches_do_not_matter() -> None:
    texts = ["Ann met Bob in Rome.", "", "On 3 May 1999 it cost $ 20.", "Nothing here"]
    whole = find(texts)[1]
    parts = concatenate([find([text])[1] for text in texts])
    assert [whole.items(t) for t in range(4)] == [parts.items(t) for t in range(4)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("It rained on 14 March 1998 in the hills.", ("14 March 1998", "DATE")),
        ("It rained on March 14, 1998 in the hills.", ("March 14 , 1998", "DATE")),
        ("We open at 10:30 every day.", ("10:30", "DATE")),
        ("See you on Tuesday evening.", ("Tuesday", "DATE")),
        ("There were seven cats and a dog.", ("seven", "NUM")),
        ("She paid $ 20 for it.", ("$ 20", "NUM")),
        ("Prices rose by 12 % again.", ("12 %", "NUM")),
        ("They flew from Paris to New York.", ("Paris", "LOC")),
        ("They flew from Paris to New York.", ("New York", "LOC")),
        ("My friend Robert Brown is here.", ("Robert Brown", "PER")),
    ],
)
def test_mentions_of_every_kind(text: str, wanted: tuple[str, str]) -> None:
    assert wanted in mentions(text)


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("March", MONTH),
        ("Sept.", MONTH),
        ("1998", YEAR),
        ("3998", PLAIN),
        ("1990s", DECADE),
        ("10:30", CLOCK),
        ("5pm", CLOCK),
        ("2001-02-03", CALENDAR),
        ("cat", PLAIN),
        ("", PLAIN),
    ],
)
def test_words_of_dates(word: str, kind: int) -> None:
    assert word_class(word) == kind


@pytest.mark.parametrize("texts", [[], [""], ["word"], ["👍 🎉"], ["1984 12 3.14"], ["", "Rome"]])
def test_the_layer_aligns_on_odd_texts(texts: list[str]) -> None:
    words, found = find(texts)
    assert found.name == "entity"
    assert found.vocabulary == entities.LABELS
    assert len(found.ids) == len(words.ids)
    assert found.starts is words.starts
    assert found.text_ends is words.text_ends


def test_other_tag_sets_are_refused() -> None:
    words = layer_of([["a", "cat"]])
    with pytest.raises(ValueError, match="'cat'"):
        entities.find(words, words.map("pos", lambda word: "DT" if word == "a" else word))


def test_the_model_says_what_it_is() -> None:
    _, model = load("entities")
    assert model["signature"] == entities.SIGNATURE
    assert model["accuracy"]["entity F"] > 60
