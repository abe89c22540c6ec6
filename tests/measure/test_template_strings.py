"""Templates by their word strings: worked values, a plain twin, the published package."""

from __future__ import annotations

import importlib
import random
import re
import sys
from collections import Counter
from dataclasses import replace
from functools import partial
from importlib.metadata import distribution
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.annotate.glyphs import fold
from rote.core.errors import OptionError
from rote.core.layer import Layer
from rote.core.sample import RawText, Take
from rote.measure import _template_rows
from rote.measure._template_rows import (
    find,
    first_seen,
    package_windows,
    string_values,
    strings_of,
    treebank_lengths,
)
from rote.measure._template_windows import windows
from tests.examples import drawn, each, one_of, some, string

from .samples import layer_of

# A text as a list of sentences, a sentence as a list of (word, tag).
Sentence = list[tuple[str, str]]
Text = list[Sentence]


def tagged(line: str) -> Text:
    """`the/D dog/N . | it/P` as a text of two sentences; a mark is its own tag."""
    found = []
    for sentence in line.split(" | "):
        pairs = (word.rpartition("/") for word in sentence.split())
        found.append([(word or tag, tag) for word, _, tag in pairs])
    return found


def raw_of(texts: list[str]) -> RawText:
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
    return RawText(np.frombuffer(bytearray(b"".join(encoded)), np.uint8), ends)


def layers_of(texts: list[Text]) -> tuple[Layer, Layer]:
    """Tags and words, with sentence ends."""
    flat = [[pair for sentence in text for pair in sentence] for text in texts]
    lengths = [len(sentence) for text in texts for sentence in text if sentence]
    ends = np.cumsum(lengths, dtype=np.int64)
    word = layer_of([[word for word, _ in text] for text in flat], "word")
    pos = layer_of([[tag for _, tag in text] for text in flat], "pos")
    return replace(pos, sentence_ends=ends), replace(word, sentence_ends=ends)


def everything(texts: list[Any]) -> Take:
    return np.arange(len(texts), dtype=np.int64)


def plain_strings(texts: list[Text], n: int, top: int) -> dict[str, set[str]]:
    """Templates and their strings, n-grams across sentences, as the paper seems to make them."""
    counts: Counter[str] = Counter()
    strings: dict[str, set[str]] = {}
    for text in texts:
        pairs = [pair for sentence in text for pair in sentence]
        for start in range(len(pairs) - n + 1):
            window = pairs[start : start + n]
            template = " ".join(tag for _, tag in window)
            counts[template] += 1
            strings.setdefault(template, set()).add(" ".join(word for word, _ in window))
    return {template: strings[template] for template, _ in counts.most_common(top)}


def plain_paper(
    texts: list[Text], raw: list[str], n: int, top: int, tokens: int
) -> dict[str, float]:
    made = plain_strings(texts, n, top)
    pairs = [[(t, s) for t in made for s in made[t] if s in text] for text in raw]
    return {
        "rate": sum(bool(found) for found in pairs) / len(texts),
        "per_token": sum(len(found) for found in pairs) / tokens,
        "distinct": sum(len({t for t, _ in found}) for found in pairs) / len(texts),
    }


def paper(
    texts: list[Text],
    raw: list[str],
    n: int,
    top: int,
    lengths: list[int],
    take: Take | None = None,
) -> Any:
    pos, word = layers_of(texts)
    made = windows(pos, n, singles=True)
    take = everything(texts) if take is None else take
    chosen = first_seen(made, pos, take, top)
    return string_values("paper", made, word, raw_of(raw), take, chosen, np.array(lengths))


def package(texts: list[Text], raw: list[str], n: int, top: int, shard: int = 500) -> Any:
    pos, word = layers_of(texts)
    made, take = package_windows(pos, n), everything(texts)
    chosen = first_seen(made, pos, take, top)
    lengths = np.array([len(text.split()) for text in raw])
    values = string_values("package", made, word, raw_of(raw), take, chosen, lengths, shard=shard)
    spelled = strings_of(made, word, take, chosen).strings
    order = [string.decode("utf-8", "surrogatepass") for string in spelled]
    return values, order


@pytest.fixture(scope="module")
def peer() -> Any:
    """`diversity.template` 0.3.1; spaCy, which only tags there, is stood in for."""
    files = distribution("diversity").files or []
    folder = next(f.locate() for f in files if str(f) == "diversity/template.py").parent  # type: ignore[attr-defined]
    whole = ModuleType("diversity_parts")
    whole.__path__ = [str(folder)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "diversity_parts", whole)
        patch.setitem(sys.modules, "spacy", ModuleType("spacy"))
        return importlib.import_module("diversity_parts.template")


def peer_values(peer: Any, texts: list[Text], raw: list[str], n: int, top: int) -> dict[str, Any]:
    """The package's templates from given tags and sentences."""
    functions = sys.modules["diversity_parts.functions"]
    sentences = [sentence for text in texts for sentence in text if sentence]
    joined = [" ".join(tag for _, tag in sentence) for sentence in sentences]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(functions, "sent_tokenize", lambda joined_texts: sentences)
        patch.setattr(functions, "get_pos", lambda _: (joined, sentences))
        made: dict[str, Any] = functions.extract_patterns(raw, n, top)
        return made


DOGS = [
    tagged("the/D dog/N sees/V the/D cat/N ."),
    tagged("a/D cat/N sees/V the/D dog/N . | it/P sleeps/V ."),
    tagged("we/P sleep/V ."),
]
DOGS_RAW = ["the dog sees the cat.", "a cat sees the dog. it sleeps.", "we sleep."]


def test_worked_values_of_the_paper() -> None:
    # Trigrams: D N V, N V D, V D N, D N . twice each; P V . twice (it sleeps ., we sleep .), and
    # N . P and . P V once. The top 4, as first seen, are D N V, N V D, V D N and D N .; a full stop
    # stands beside its word, so no string of D N . is found. First text: "the dog sees", "dog sees
    # the", "sees the cat"; second: "a cat sees", "cat sees the", "sees the dog".
    found = paper(DOGS, DOGS_RAW, n=3, top=4, lengths=[6, 9, 3])
    assert found["rate"] == pytest.approx(2 / 3)
    assert found["per_token"] == pytest.approx(6 / 18)
    assert found["distinct"] == pytest.approx(6 / 3)


def test_a_string_inside_longer_words_is_found() -> None:
    texts = [tagged("he/P is/V a/D"), tagged("xx/N yy/N zz/N")]
    found = paper(texts, ["she is all right", "xx  yy zz"], n=3, top=1, lengths=[4, 3])
    assert found == {"rate": 0.5, "per_token": 1 / 7, "distinct": 0.5}


def test_equal_counts_are_taken_as_first_seen() -> None:
    texts = [tagged("z/Z a/A b/B"), tagged("b/B a/A a/A"), tagged("a/A a/A")]
    pos, _ = layers_of(texts)
    made = windows(pos, 2, singles=True)
    chosen = first_seen(made, pos, everything(texts), 3)
    assert made.grams(pos, chosen) == [("A", "A"), ("Z", "A"), ("A", "B")]
    chosen = first_seen(made, pos, np.array([1, 2]), 3)
    assert made.grams(pos, chosen) == [("A", "A"), ("B", "A")]


def test_worked_values_of_the_package(peer: Any) -> None:
    values, _ = package(DOGS, DOGS_RAW, n=3, top=4)
    # Within sentences N . P and . P V are gone; P V . is fifth. Hits by white-space words: 3 / 5
    # and 3 / 7 and 0 / 2.
    assert values == {
        "rate": 2 / 3,
        "per_token": pytest.approx((3 / 5 + 3 / 7) / 3),
        "distinct": 2.0,
    }
    made = peer_values(peer, DOGS, DOGS_RAW, 3, 4)
    assert peer.template_rate(DOGS_RAW, made) == values["rate"]
    assert np.mean(peer.templates_per_token(DOGS_RAW, made)) == pytest.approx(values["per_token"])


def test_two_strings_at_one_place_are_one_hit_of_a_shard() -> None:
    texts = [tagged("a/A b/B"), tagged("a/A bc/B")]
    raw = ["a bc", ""]
    assert package(texts, raw, n=2, top=1)[0]["per_token"] == 1 / 2 / 2
    assert package(texts, raw, n=2, top=1, shard=1)[0]["per_token"] == 2 / 2 / 2


def test_treebank_lengths_go_sentence_by_sentence() -> None:
    texts = ["I can't see it. It's late.", "", " ", "One of them", "Why? No. 5 is here."]
    ends = [[5, 9], [], [], [3], [2, 6, 7]]
    spans = [
        [(0, 1), (2, 4), (4, 7), (8, 11), (12, 15), (16, 18), (18, 20), (21, 25), (25, 26)],
        [],
        [],
        [(0, 3), (4, 6), (7, 11)],
        [(0, 3), (3, 4), (5, 8), (9, 10), (11, 13), (14, 18), (18, 19)],
    ]
    word = layer_of([["x"] * len(text) for text in spans], "word")
    flat = np.array([span for text in spans for span in text], np.int32)
    firsts = word.text_starts
    word = replace(
        word,
        starts=flat[:, 0],
        ends=flat[:, 1],
        sentence_ends=np.array([first + end for first, own in zip(firsts, ends) for end in own]),
    )
    # I ca n't see it . / It 's late . - and the last text's odd sentences: "Why ?", "No. 5 is
    # here", ".", as they were given.
    assert treebank_lengths(word, raw_of(texts)).tolist() == [10, 0, 0, 3, 2 + 4 + 1]
    whole = replace(word, sentence_ends=None)
    assert treebank_lengths(whole, raw_of(texts)).tolist() == [9, 0, 0, 3, 7]


@pytest.mark.parametrize(
    "sentence",
    [
        "It’s “quoted” — isn't it?",
        "He said: ‘wait.... what’ and left in '18.",
        "They read 'Go home.'",
        "A *bold* move (so they say).”",
        "Gotta go, 'tis late; we'll see at 7:30...",
        "«Non», dit-il – puis rien .",
    ],
)
def test_lengths_are_those_of_nltks_words(sentence: str) -> None:
    nltk = pytest.importorskip("nltk.tokenize.destructive")
    word = replace(layer_of([["x"]], "word"), sentence_ends=None)
    found = treebank_lengths(word, raw_of([sentence])).tolist()
    assert found == [len(nltk.NLTKWordTokenizer().tokenize(fold(sentence)))]


def test_layers_that_are_not_words_are_refused() -> None:
    pos, word = layers_of(DOGS)
    trees = layer_of([["S", "NP", "VP"] for _ in DOGS], "dep-bfs")
    made, take = windows(trees, 2, singles=True), everything(DOGS)
    with pytest.raises(OptionError, match="not words"):
        strings_of(made, word, take, first_seen(made, trees, take, 5))
    with pytest.raises(OptionError, match="no sentence boundaries"):
        package_windows(replace(pos, sentence_ends=None), 2)


def test_no_text_and_no_template_are_defined() -> None:
    pos, word = layers_of([tagged("one/A"), []])
    raw, lengths, take = raw_of(["one", ""]), np.array([1, 0]), np.arange(2)
    made_by_variant = {"paper": windows(pos, 3, singles=True), "package": package_windows(pos, 3)}
    for variant, made in made_by_variant.items():
        values = partial(string_values, variant)
        chosen = first_seen(made, pos, take, 5)
        found = values(made, word, raw, take, chosen, lengths)
        assert found == {"rate": 0, "per_token": 0, "distinct": 0}
        nothing = values(made, word, raw, take[:0], chosen, lengths)
        assert all(np.isnan(number) for number in nothing.values())


def test_strings_may_come_from_other_texts() -> None:
    texts = [tagged("the/D old/A dog/N"), tagged("my/D new/A cat/N")]
    raw = raw_of(["the old dog", "my new cat and the old dogs"])
    pos, word = layers_of(texts)
    made, first, second = windows(pos, 3, singles=True), np.array([0]), np.array([1])
    chosen = first_seen(made, pos, first, 5)
    lengths = np.array([3, 7])
    own = string_values("paper", made, word, raw, second, chosen, lengths)
    assert own == {"rate": 1, "per_token": 1 / 7, "distinct": 1}
    assert string_values("paper", made, word, raw, second, chosen, lengths, origin=first) == own
    assert (
        string_values("paper", made, word, raw, first, chosen, lengths, origin=second)["rate"] == 0
    )


TAGGED = each(one_of(["a", "b", "ab", "é", "a b", "\udc80", "."]), one_of(["A", "B"]))
TEXTS = some(some(some(TAGGED, 6), 3), 6, least=1)
GAPS = [" ", " ", " ", "", "  ", "\n"]


def texts_and_raw(chance: random.Random) -> tuple[list[Text], list[str]]:
    """Tagged texts and raw ones that are near to them: joined by spaces or by nothing at times."""
    texts = TEXTS(chance)
    tokens = [[word for sentence in text for word, _ in sentence] for text in texts]
    return texts, ["".join(token + chance.choice(GAPS) for token in own) for own in tokens]


@given(drawn(texts_and_raw), st.integers(1, 4), st.integers(1, 6), st.integers(0, 5))
def test_paper_is_what_plain_python_finds(
    made: tuple[list[Text], list[str]], n: int, top: int, left_out: int
) -> None:
    texts, raw = made
    lengths = [len(text) + 1 for text in raw]
    take = [text for text in range(len(texts)) if text != left_out] or [0]
    own = [texts[text] for text in take]
    expected = plain_paper(own, [raw[t] for t in take], n, top, sum(lengths[t] for t in take))
    assert paper(texts, raw, n, top, lengths, np.array(take)) == pytest.approx(expected)


@given(
    made=drawn(texts_and_raw), n=st.integers(1, 4), top=st.integers(1, 6), shard=st.integers(1, 8)
)
def test_package_is_what_the_package_finds(
    peer: Any, made: tuple[list[Text], list[str]], n: int, top: int, shard: int
) -> None:
    texts, raw = made
    values, order = package(texts, raw, n, top, shard)
    patterns = peer_values(peer, texts, raw, n, top)
    assert {s for strings in patterns.values() for s in strings} == set(order)
    assert values["rate"] == peer.template_rate(raw, patterns)
    with pytest.MonkeyPatch.context() as patch:
        # The package shards a set, whose order differs from run to run.
        patch.setattr(peer, "_gather_substrings", lambda templates: order)
        hits = peer.templates_per_token(raw, patterns, shard_size=shard)
    assert values["per_token"] == pytest.approx(float(np.mean(hits)))


@given(
    drawn(some(string("ab é", 7, least=1), 12)),
    drawn(some(string("ab é", 30), 4)),
    st.sampled_from([1, 40, 1 << 22]),
)
def test_find_gives_every_place_once(pieces: list[str], texts: list[str], at_once: int) -> None:
    names = [piece.encode() for piece in dict.fromkeys(pieces)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_template_rows, "_BYTES_AT_ONCE", at_once)
        found = find(names, raw_of(texts), everything(texts))
    expected = [
        (number, place, string)
        for number, text in enumerate(texts)
        for string, name in enumerate(names)
        for place in range(len(text.encode()))
        if text.encode()[place:].startswith(name)
    ]
    triples = zip(found.texts.tolist(), found.starts.tolist(), found.strings.tolist())
    assert sorted(triples) == sorted(expected)


def test_find_compares_bytes_where_hashes_are_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    # Now any order of the same letters has one hash.
    monkeypatch.setattr(_template_rows, "_STEPS", (1, 1))
    found = find([b"ab cd", b"x"], raw_of(["ba cd ab cd dc ab"]), np.arange(1))
    assert (found.starts.tolist(), found.strings.tolist()) == ([6], [0])


def test_many_strings_and_many_matches() -> None:
    names = [f"w{a} w{b}".encode() for a in range(40) for b in range(40)]
    text = " ".join(f"w{i % 40}" for i in range(3000))
    found = find(names, raw_of(["", text]), np.arange(2))
    spelled = text.encode()
    expected = sum(len(re.findall(b"(?=%s)" % name, spelled)) for name in names)
    assert len(found.texts) == expected
    assert all(spelled.startswith(names[s], a) for s, a in zip(found.strings, found.starts))
    assert len({(a, s) for a, s in zip(found.starts.tolist(), found.strings.tolist())}) == expected
