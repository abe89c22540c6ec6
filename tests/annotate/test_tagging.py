"""The tagger: kernels against slow twins, batching, odd texts, plain English."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rote.annotate import _hashing, _network, _tagger, sentences, tagging
from rote.annotate._network import Subbatch, split_subbatches
from rote.annotate._weights import load
from rote.annotate.words import get
from rote.core.layer import Layer, concatenate, number
from rote.run import with_threads
from tests.annotate import network_twin as twin

WORDS = (
    "the The THE cat Paris ran running Running 1984 3.5 B2B n't 's don't ﬁ İstanbul ǅ ß Straße "
    "中文 שלום 👍 👩‍👩‍👧 … -- \ud800 , . ! ? of to is was have that as in There @x a I U.S. ²"
).split()
sentence = st.lists(st.one_of(st.sampled_from(WORDS), st.text(min_size=1, max_size=8)), max_size=7)
batches = st.lists(sentence, max_size=4)


def layer_of(texts: list[list[str]]) -> Layer:
    """Each text one sentence, its words side by side."""
    vocabulary, ids = number(word for text in texts for word in text)
    lengths = np.array([len(vocabulary[i]) for i in ids], np.int64)
    text_ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    ends = np.concatenate(
        [np.cumsum(lengths[b - len(t) : b]) for t, b in zip(texts, text_ends)] or [[]]
    )
    sentence_ends = np.unique(text_ends[text_ends > 0])
    spans = ((ends - lengths).astype(np.int32), ends.astype(np.int32))
    return Layer("word", ids, vocabulary, *spans, text_ends, sentence_ends)


def tagged(text: str) -> list[tuple[str, str, str]]:
    words = sentences.split([text], get("ud")([text]))
    pos, upos = tagging.tag(words)
    return list(zip(words.items(0), pos.items(0), upos.items(0)))


@cache
def slow_attributes(word: str) -> list[int]:
    return twin.describe(word)


def slow_pos(rows: list[list[int]]) -> list[int]:
    """Penn tags of one sentence."""
    held = tagging._weights()
    totals = [[0] * len(held.tags) for _ in rows]
    found = [0] * len(rows)
    for net, step in ((held.right.net, -1), (held.left.net, 1)):
        tag_1 = tag_2 = 0
        order = range(len(rows))[::step]
        for turn, i in enumerate(order):
            words = [twin.around(rows, i, offset, step) for offset in (0, -1, 1, -2, 2)]
            me, before, after = words[:3]
            both = twin.pair(tag_1, tag_2)
            style = twin.style(rows, turn == 0)
            joined = [
                tag_1,
                both,
                twin.pair(tag_1, me[1]),
                twin.pair(tag_1, me[5]),
                twin.pair(both, me[15]),
                twin.pair(before[1], me[1]),
                twin.pair(me[1], after[1]),
                twin.pair(tag_1, after[1]),
                twin.pair(tag_1, after[16]),
                twin.pair(style, me[12]),
                twin.pair(style, me[14]),
                twin.pair(tag_2, me[1]),
                twin.pair(tag_1, me[16]),
                twin.pair(before[16], after[16]),
            ]
            now = twin.scores(net, words, joined)
            # Labels that the first reader found far less likely than its best are out.
            least = max(totals[i]) - _tagger.MARGIN
            totals[i] = [a + b if a >= least else -(2**40) for a, b in zip(totals[i], now)]
            found[i] = twin.best(totals[i])
            tag_1, tag_2 = found[i] + 1, tag_1
    return found


def slow_upos(rows: list[list[int]], tags: list[int]) -> list[int]:
    """UPOS of one sentence from its Penn tags."""
    held = tagging._weights()
    found = []
    for i, tag in enumerate(tags):
        if held.fixed[tag] >= 0:
            found.append(int(held.fixed[tag]))
            continue
        words = [twin.around(rows, i, offset, 1) for offset in (0, -1, 1, 2)]
        left_2, left, me, right, right_2 = (
            tags[j] + 1 if 0 <= j < len(tags) else 0 for j in range(i - 2, i + 3)
        )
        ahead = [held.tags[t] for t in tags[i + 1 : i + 9]]
        stops = ("VBD VBP VBZ MD VB VBN VBG TO . , : -LRB- -RRB- `` '' CC NFP").split()
        cut = next((n for n, t in enumerate(ahead) if t in stops), len(ahead) - 1)
        seen = ahead[: cut + 1]
        is_verb = bool(seen) and seen[-1] in stops[:8]
        verb = held.tags.index(seen[-1]) + 1 if is_verb else 0
        solid = next((held.tags.index(t) + 1 for t in seen if t != "RB"), 0)
        mine = twin.pair(me, words[0][1])
        joined = [
            me,
            mine,
            twin.pair(me, right),
            twin.pair(me, left),
            twin.pair(mine, right),
            twin.pair(twin.pair(mine, right), right_2),
            twin.pair(mine, left),
            twin.pair(twin.pair(left, me), right),
            twin.pair(words[0][1], words[2][1]),
            twin.pair(mine, verb),
            twin.pair(mine, solid),
            twin.pair(twin.pair(mine, left), left_2),
            twin.pair(twin.pair(me, right), verb),
        ]
        found.append(twin.best(twin.scores(held.upos.net, words, joined)))
    return found


@given(st.lists(st.one_of(st.sampled_from(WORDS), st.text(max_size=15)), max_size=5, unique=True))
def test_attributes_agree_with_their_twin(words: list[str]) -> None:
    table = _hashing.describe(words)
    assert table[:-2].tolist() == [slow_attributes(word) for word in words]
    assert table[-2:].tolist() == [twin.padding(1), twin.padding(2)]


@settings(max_examples=25)
@given(batches)
def test_tags_agree_with_their_twin(texts: list[list[str]]) -> None:
    layer = layer_of(texts)
    pos, upos = tagging.tag(layer)
    assert tagging.penn(layer).ids.tolist() == pos.ids.tolist()
    rows = [[slow_attributes(word) for word in text] for text in texts]
    slow = [slow_pos(one) for one in rows]
    assert pos.ids.tolist() == [tag for text in slow for tag in text]
    slow_universal = [slow_upos(one, tags) for one, tags in zip(rows, slow)]
    assert upos.ids.tolist() == [tag for text in slow_universal for tag in text]


@given(batches)
def test_batches_do_not_matter(texts: list[list[str]]) -> None:
    whole = tagging.tag(layer_of(texts))
    if not texts:
        assert [len(layer) for layer in whole] == [0, 0]
        return
    parts = [tagging.tag(layer_of([text])) for text in texts]
    for layer, pieces_ in zip(whole, zip(*parts)):
        joined = concatenate(pieces_)
        assert [layer.items(t) for t in range(len(texts))] == [
            joined.items(t) for t in range(len(texts))
        ]


@given(st.lists(sentence.filter(bool), min_size=1), st.integers(1, 9))
def test_pieces_hold_every_sentence_once(texts: list[list[str]], size: int) -> None:
    layer = layer_of(texts)
    found = [
        [layer.vocabulary[entry] for entry in layer.ids[piece.first : piece.last]]
        for piece in split_subbatches(layer, size)
    ]
    assert [word for part in found for word in part] == [word for text in texts for word in text]
    ends = [
        end + piece.first for piece in split_subbatches(layer, size) for end in piece.ends.tolist()
    ]
    assert layer.sentence_ends is not None
    assert ends == layer.sentence_ends.tolist()


@given(st.lists(sentence.filter(bool), min_size=1), st.integers(2, 9))
def test_threads_are_given_every_sentence_once(texts: list[list[str]], count: int) -> None:
    (piece,) = split_subbatches(layer_of(texts))
    parts: list[Subbatch] = []
    with pytest.MonkeyPatch.context() as patch, with_threads(count):
        patch.setattr(_network, "_MIN_TOKENS_PER_THREAD", 1)
        piece.read(parts.append)
    parts.sort(key=lambda part: part.first)
    assert len(parts) <= count
    assert all(len(part.ends) for part in parts)
    assert np.concatenate([part.ids for part in parts]).tolist() == piece.ids.tolist()
    ends = [end + part.first for part in parts for end in part.ends.tolist()]
    assert ends == piece.ends.tolist()


def test_small_and_large_pieces_give_the_same_tags(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = layer_of([["The", "cat", "sat", "."], ["It", "purrs", "!"], ["A", "cat"]])
    whole = [found.ids.tolist() for found in tagging.tag(layer)]
    monkeypatch.setattr(split_subbatches, "__defaults__", (2,))
    assert [found.ids.tolist() for found in tagging.tag(layer)] == whole


@pytest.mark.parametrize("texts", [[], [""], ["", "One."], ["word"], ["👍👍 🎉"], ["1984 12 3.14"]])
def test_layers_align_on_odd_texts(texts: list[str]) -> None:
    words = sentences.split(texts, get("ud")(texts))
    for name, layer in zip(("pos", "upos"), tagging.tag(words)):
        assert layer.name == name
        assert len(layer.ids) == len(words.ids)
        for column in ("starts", "ends", "text_ends", "sentence_ends"):
            assert getattr(layer, column) is getattr(words, column)
        assert len(layer) == len(texts)


def test_words_without_sentences_are_refused() -> None:
    with pytest.raises(ValueError, match="sentence ends"):
        tagging.tag(get("ud")(["No sentences."]))


@pytest.mark.parametrize(
    ("text", "pos"),
    [
        ("The old dog sleeps in the garden .", "DT JJ NN VBZ IN DT NN ."),
        ("She gave him two red apples yesterday .", "PRP VBD PRP CD JJ NNS NN ."),
        ("They have been walking since Monday .", "PRP VBP VBN VBG IN NNP ."),
        ("I can n't believe it 's over !", "PRP MD RB VB PRP VBZ RB ."),
        ("Mary 's brother wants to see London .", "NNP POS NN VBZ TO VB NNP ."),
        ("the old dog sleeps in the garden .", "DT JJ NN VBZ IN DT NN ."),
        ("THE OLD DOG SLEEPS IN THE GARDEN .", "DT JJ NN VBZ IN DT NN ."),
    ],
)
def test_plain_english(text: str, pos: str) -> None:
    layer = layer_of([text.split()])
    assert " ".join(tagging.tag(layer)[0].items(0)) == pos


def test_auxiliaries_and_verbs_are_told_apart() -> None:
    found = {(word, upos) for word, _, upos in tagged("They have a dog. They have seen it.")}
    assert {("have", "VERB"), ("have", "AUX"), ("dog", "NOUN"), (".", "PUNCT")} <= found


def test_the_model_says_what_it_is() -> None:
    _, model = load("tagger")
    assert model["signature"] == tagging.SIGNATURE
    assert "CC BY-SA" in model["licence"]
    assert model["accuracy"]["xpos"] > 94
    assert len(tagging._weights().tags) == 49
    assert len(tagging._weights().universal) == 17


def test_sums_stay_within_their_types() -> None:
    held = tagging._weights()
    for net in (held.left.net, held.right.net, held.upos.net):
        rows = len(net.templates) + max(_tagger.TOKEN_ROWS, 20)
        assert rows * 127 + np.abs(net.bias).max() < np.iinfo(np.int16).max
        reach = np.abs(net.output.astype(np.int64)).sum(1).max() * _network.CEILING
        assert 2 * (reach + np.abs(net.output_bias).max()) < np.iinfo(np.int32).max


def test_attributes_of_nothing_are_the_padding() -> None:
    assert len(_hashing.attributes([])) == 2
