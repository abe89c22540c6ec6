"""The parser: its oracle against search, its kernel against a slow twin, trees, batching."""

from __future__ import annotations

import importlib
import sys
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.annotate import _network, parsing, sentences, tagging
from rote.annotate._weights import load
from rote.annotate.words import get
from rote.core.layer import Layer, number
from rote.run import side_by_side, with_threads
from tests.annotate import network_twin, parser_twin

Heads = tuple[int, ...]
Configuration = tuple[tuple[int, ...], int]  # the stack and the first word of the buffer


@cache
def oracle() -> Any:
    """The module of `training/`, which is no package: its files import each other by name."""
    folder = str(Path(__file__).parents[2] / "training")
    if folder not in sys.path:
        sys.path.append(folder)
    return importlib.import_module("parser_oracle")


def is_tree(heads: Heads) -> bool:
    for word in range(len(heads)):
        seen = set()
        while word >= 0 and word not in seen:
            seen.add(word)
            word = heads[word]
        if word >= 0:
            return False
    return heads.count(-1) == 1


def is_projective(heads: Heads) -> bool:
    """No two arcs cross; the root's comes from before the sentence."""
    arcs = [(min(c, h), max(c, h)) for c, h in enumerate(heads)]
    return not any(a < c < b < d for a, b in arcs for c, d in arcs)


@cache
def projective_trees(size: int) -> list[Heads]:
    every = product(*([h for h in range(-1, size) if h != child] for child in range(size)))
    return [heads for heads in every if is_tree(heads) and is_projective(heads)]


def moves(at: Configuration, size: int) -> dict[str, tuple[Configuration, tuple[int, int] | None]]:
    """What may follow a configuration, and the arc (child, head) that each move draws."""
    stack, front = at
    found: dict[str, tuple[Configuration, tuple[int, int] | None]] = {}
    if front < size:
        found["shift"] = ((*stack, front), front + 1), None
        if stack:
            found["left"] = (stack[:-1], front), (stack[-1], front)
    if len(stack) > 1:
        found["right"] = (stack[:-1], front), (stack[-1], stack[-2])
    return found


def check_oracle(heads: Heads) -> None:
    """The price of every move in every configuration that can be reached at all."""
    size = len(heads)

    @cache
    def best(at: Configuration) -> int:
        stack, front = at
        if front == size and len(stack) == 1:
            return int(heads[stack[0]] == -1)
        return max(
            best(after) + (arc is not None and heads[arc[0]] == arc[1])
            for after, arc in moves(at, size).values()
        )

    gold = np.array(heads, np.int32)
    todo: list[Configuration] = [((), 0)]
    seen = set(todo)
    while todo:
        at = todo.pop()
        stack = np.array([*at[0], 0], np.int32)
        said = oracle().prices(gold, stack, len(at[0]), at[1], size)
        prices = dict(zip(("shift", "left", "right"), said))
        for move, (after, arc) in moves(at, size).items():
            kept = best(after) + (arc is not None and heads[arc[0]] == arc[1])
            assert prices.pop(move) == best(at) - kept, (heads, at, move)
            if after not in seen:
                seen.add(after)
                todo.append(after)
        assert all(price >= oracle().NEVER for price in prices.values())


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_oracle_equals_search(size: int) -> None:
    for heads in projective_trees(size)[:: 1 if size < 5 else 5]:
        check_oracle(heads)


@given(st.integers(1, 7).flatmap(lambda n: st.tuples(*[st.integers(-1, n - 1)] * n)))
def test_projective_lifts_only_what_crosses(heads: Heads) -> None:
    if not is_tree(heads):
        return
    lifted = tuple(oracle().projective(np.array(heads, np.int32)).tolist())
    assert is_tree(lifted)
    assert is_projective(lifted)
    assert lifted == heads or not is_projective(heads)


WORDS = "the The cat ran to 1984 n't 中文 שלום 👍 … , . that of Paris zxqv".split()
PENN, UNIVERSAL = ("DT", "NN", "VB", ","), ("CCONJ", "NOUN", "PUNCT", "VERB", "X")
TAG = st.tuples(st.sampled_from([*PENN, "??"]), st.sampled_from(UNIVERSAL))
tagged = st.lists(st.tuples(st.sampled_from(WORDS), TAG), min_size=1, max_size=12)


def layer_of(texts: list[list[str]], name: str = "word") -> Layer:
    """Each text one sentence."""
    vocabulary, ids = number(word for text in texts for word in text)
    none = np.zeros(len(ids), np.int32)
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    filled = np.array([len(text) > 0 for text in texts], bool)
    return Layer(name, ids, vocabulary, none, none, ends, ends[filled] if len(ends) else ends)


@cache
def small_parser(seed: int, shift: int = 0) -> parsing.Parser:
    """Random weights, so that moves of every kind are made; `shift` favours one of them."""
    generator = np.random.default_rng(seed)
    relations = ("det", "nsubj", "obj", "root")
    actions = 1 + 3 + 3
    arrays = {
        "rows": generator.integers(-9, 10, (1 << 9, 16)).astype(np.int8),
        "bias": generator.integers(0, 20, 16).astype(np.int16),
        "output": generator.integers(-99, 99, (actions, 16)).astype(np.int16),
        "output_bias": generator.integers(-99, 99, actions).astype(np.int32),
        "templates": parsing.weights().net.net.templates,
        "named": np.array([0, 1, 2, 3, 1, 2, 3], np.int32),
    }
    arrays["output_bias"][0] += shift
    about = {"penn": PENN, "universal": UNIVERSAL, "relations": relations, "lefts": 3}
    return parsing.make(arrays, about)


def tag_number(penn: str, universal: str) -> int:
    """As the kernel numbers tags; 0 is a tag that the model does not know."""
    if penn not in PENN:
        return 0
    return 1 + PENN.index(penn) * len(UNIVERSAL) + UNIVERSAL.index(universal)


@given(st.lists(tagged, min_size=1, max_size=3), st.integers(0, 3))
def test_kernel_equals_twin(texts: list[list[tuple[str, tuple[str, str]]]], seed: int) -> None:
    held = small_parser(seed)
    word = layer_of([[form for form, _ in text] for text in texts])
    tags = [[tag_number(*tag) for _, tag in text] for text in texts]
    pos, upos = (layer_of([[tag[k] for _, tag in text] for text in texts]) for k in (0, 1))
    labels, heads = parsing.parse_with(held, word, pos, upos)
    start = 0
    for text, numbers in zip(texts, tags):
        rows = [network_twin.describe(form) for form, _ in text]
        wanted = parser_twin.parse(held, rows, numbers)
        end = start + len(text)
        found = [h - start if h >= 0 else -1 for h in heads[start:end].tolist()]
        assert list(zip(found, labels[start:end].tolist())) == wanted
        start = end


@pytest.mark.parametrize(("seed", "shift"), [(4, 0), (7, 22000), (12, 30000)])
def test_a_deep_stack_equals_twin(seed: int, shift: int) -> None:
    """Deeper than the sums that are kept, and back again by LEFT moves."""
    held = small_parser(seed, shift)
    drawn = np.random.default_rng(seed).integers(0, len(WORDS), 70)
    text = [(WORDS[k], (PENN[k % len(PENN)], UNIVERSAL[k % len(UNIVERSAL)])) for k in drawn]
    word = layer_of([[form for form, _ in text]])
    pos, upos = (layer_of([[tag[k] for _, tag in text]]) for k in (0, 1))
    labels, heads = parsing.parse_with(held, word, pos, upos)
    rows = [network_twin.describe(form) for form, _ in text]
    wanted = parser_twin.parse(held, rows, [tag_number(*tag) for _, tag in text])
    assert list(zip(heads.tolist(), labels.tolist())) == wanted


def check_trees(word: Layer, dep: Layer, heads: np.ndarray[Any, Any]) -> None:
    assert word.sentence_ends is not None
    assert heads.dtype == np.int32
    assert len(heads) == len(dep.ids) == len(word.ids)
    start = 0
    for end in word.sentence_ends.tolist():
        local = tuple(h - start if h >= 0 else -1 for h in heads[start:end].tolist())
        assert is_tree(local)
        names = [dep.vocabulary[i] for i in dep.ids[start:end]]
        assert [name == "root" for name in names] == [head < 0 for head in local]
        start = end


@given(st.lists(st.one_of(st.just([]), tagged), max_size=4))
def test_every_sentence_is_one_tree(texts: list[list[tuple[str, tuple[str, str]]]]) -> None:
    word = layer_of([[form for form, _ in text] for text in texts])
    pos, upos = (layer_of([[tag[k] for _, tag in text] for text in texts]) for k in (0, 1))
    check_trees(word, *parsing.parse(word, pos, upos))


def read(texts: list[str]) -> Layer:
    return sentences.split(texts, get("ud")(texts))


def parsed(texts: list[str]) -> tuple[Layer, Layer, Any]:
    word = read(texts)
    dep, heads = parsing.parse(word, *tagging.tag(word))
    return word, dep, heads


TEXTS = [
    "",
    "Stop!",
    "The cat that I saw yesterday sat on the mat. It was black, and its tail was long.",
    "👍👍 ok 123",
    "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd",
    "She gave her brother the book which he had wanted to read; he thanked her.",
]


def test_batches_do_not_matter() -> None:
    word, dep, heads = parsed(TEXTS)
    check_trees(word, dep, heads)
    parts = [parsed([text]) for text in TEXTS]
    assert np.array_equal(dep.ids, np.concatenate([part[1].ids for part in parts]))
    starts = word.text_starts.tolist()
    moved = [np.where(p[2] >= 0, p[2] + start, -1) for p, start in zip(parts, starts)]
    assert np.array_equal(heads, np.concatenate(moved))


def test_pieces_do_not_matter() -> None:
    word = read(TEXTS)
    pos, upos = tagging.tag(word)
    held = parsing.weights()
    labels, heads = parsing.parse_with(held, word, pos, upos)
    small_labels, small_heads = parsing.parse_with(held, word, pos, upos, size=5)
    assert np.array_equal(labels, small_labels)
    assert np.array_equal(heads, small_heads)


@pytest.mark.parametrize("count", [2, 3, 50])
def test_threads_do_not_matter(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    word = read(TEXTS)
    tags = tagging.tag(word)
    dep, heads = parsing.parse(word, *tags)
    monkeypatch.setattr(_network, "_MIN_TOKENS_PER_THREAD", 1)
    started: list[int] = []

    def seen(work: Any, parts: Any, size: int) -> Any:
        started.append(size)
        return side_by_side(work, parts, size)

    monkeypatch.setattr(_network, "side_by_side", seen)
    with with_threads(count):
        own = tagging.tag(word)
        own_dep, own_heads = parsing.parse(word, *own)
        assert np.array_equal(tagging.penn(word).ids, tags[0].ids)
    assert started == 3 * [min(count, len(word.ids))]
    for found, alone in zip((*own, own_dep), (*tags, dep)):
        assert np.array_equal(found.ids, alone.ids)
    assert np.array_equal(heads, own_heads)


def test_long_sentence_is_one_tree() -> None:
    text = ["the", "old", "dog", "and", "barked", "in"] * 3000
    word = layer_of([text])
    check_trees(word, *parsing.parse(word, *tagging.tag(word)))


def test_words_without_sentence_ends_are_refused() -> None:
    word = get("ud")(["One. Two."])
    tags = tagging.tag(read(["One. Two."]))
    with pytest.raises(ValueError, match="sentence ends"):
        parsing.parse(word, *tags)


SENTENCES = [
    ("The dog barked .", "2 3 0 3", "det nsubj root punct"),
    ("She reads old books .", "2 0 4 2 2", "nsubj root amod obj punct"),
    ("I live in a small house .", "2 0 6 6 6 2 2", "nsubj root case det amod obl punct"),
    ("His sister is a doctor .", "2 5 5 5 0 5", "nmod:poss nsubj cop det root punct"),
    ("He said that she was tired .", "2 0 6 6 6 2 2", "nsubj root mark nsubj cop ccomp punct"),
    ("Cats and dogs sleep .", "4 3 1 0 4", "nsubj cc conj root punct"),
    ("The bell was rung twice .", "2 4 4 0 4 4", "det nsubj:pass aux:pass root advmod punct"),
]


@pytest.mark.parametrize(("text", "heads", "relations"), SENTENCES)
def test_plain_sentences(text: str, heads: str, relations: str) -> None:
    word = layer_of([text.split()])
    dep, found = parsing.parse(word, *tagging.tag(word))
    assert [h + 1 for h in found.tolist()] == [int(h) for h in heads.split()]
    assert [dep.vocabulary[i] for i in dep.ids] == relations.split()


def test_model_is_described() -> None:
    _, model = load("parser")
    assert model["signature"] == parsing.SIGNATURE
    assert "EWT" in model["licence"]
    assert model["accuracy"]["LAS"] >= 80
