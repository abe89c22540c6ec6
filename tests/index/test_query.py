"""The query language: what it reads, what it refuses, and that it finds what a slow twin finds."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from random import Random
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from rote.core.errors import OptionError
from rote.index import query
from rote.index.columns.layer_column import LayerColumn, Vocabulary
from rote.index.columns.packed_array import PackedArray, pack
from rote.index.query import conditions, plan
from tests.examples import dear, drawn, lists, some
from tests.index import twins

Token = dict[str, str]
Node = tuple[Any, ...]
"""("item", condition or None) | ("chain" | "either", nodes) | ("repeat", node, least, most)."""
FRAMES = {"word": "word", "lower": "word", "pos": "word", "pieces": "pieces"}


def token(word: str, pos: str) -> Token:
    return {"word": word, "lower": word.lower(), "pos": pos}


def columns_of(documents: Sequence[Sequence[Token]]) -> dict[str, LayerColumn]:
    made = {
        layer: replace(
            twins.column([[token[layer] for token in document] for document in documents]),
            name=layer,
        )
        for layer in ("word", "lower", "pos")
    }
    return {**made, "word": replace(made["word"], suffixes=None)}


def places(documents: Sequence[Sequence[Token]]) -> Iterator[tuple[int, Sequence[Token], int]]:
    """Every item: its place, its document, its number there."""
    place = 0
    for document in documents:
        for i in range(len(document)):
            yield place + i, document, i
        place += len(document) + 1


# The twin.


def holds(condition: Node | None, token: Token) -> bool:
    if condition is None:
        return True
    kind, *parts = condition
    if kind == "test":
        layer, pattern, ignore_case, equal = parts
        pattern = pattern.lower() if layer == "lower" else pattern
        flags = re.IGNORECASE if ignore_case else 0
        return bool(re.fullmatch(pattern, token[layer], flags)) == equal
    if kind == "not":
        return not holds(parts[0], token)
    return (all if kind == "and" else any)(holds(part, token) for part in parts[0])


def ends(node: Node, tokens: Sequence[Token], at: int) -> set[int]:
    """Where a match of the node that begins at `at` can end."""
    kind, *parts = node
    if kind == "item":
        return {at + 1} if at < len(tokens) and holds(parts[0], tokens[at]) else set()
    if kind == "either":
        return set().union(*(ends(part, tokens, at) for part in parts[0]))
    if kind == "chain":
        reached = {at}
        for part in parts[0]:
            reached = {end for start in reached for end in ends(part, tokens, start)}
        return reached
    part, least, most = parts
    found, reached, times = set(), {at}, 0
    while reached and (most is None or times <= most):
        if times >= least:
            if most is None and reached <= found:
                break
            found |= reached
        reached = {end for start in reached for end in ends(part, tokens, start)}
        times += 1
    return found


def matches(
    node: Node, documents: Sequence[Sequence[Token]], last: Sequence[bool] | None = None
) -> list[tuple[int, int]]:
    found = []
    for place, document, i in places(documents):
        stop = len(document)
        if last is not None:
            stop = next(j for j in range(i, stop) if last[place + j - i]) + 1
        longest = max(ends(node, document[:stop], i), default=i)
        if longest > i:
            found.append((place, place + longest - i))
    return found


# Queries as text, with many parentheses; random ones, and random corpora.


def condition_text(condition: Node | None) -> str:
    if condition is None:
        return ""
    kind, *parts = condition
    if kind == "test":
        layer, pattern, ignore_case, equal = parts
        return f'{layer}{"=" if equal else " != "}"{pattern}"{"%c" if ignore_case else ""}'
    if kind == "not":
        return f"!({condition_text(parts[0])})"
    return {"and": " & ", "or": "|"}[kind].join(f"({condition_text(part)})" for part in parts[0])


def text_of(node: Node) -> str:
    kind, *parts = node
    if kind == "item":
        return f"[{condition_text(parts[0])}]"
    if kind == "chain":
        return " ".join(f"({text_of(part)})" for part in parts[0])
    if kind == "either":
        return " | ".join(text_of(part) for part in parts[0])
    part, least, most = parts
    return f"({text_of(part)}){{{least},{'' if most is None else most}}}"


LITERALS = {"word": "a A b B z".split(), "lower": "a A b z".split(), "pos": "N NN V z".split()}
REGEXES = {
    "word": ["a|B", ".", "[ab]", "(?i:a)", "A?"],
    "lower": ["a|b", ".", "[^a]", "B+", "a.*"],
    "pos": ["N.*", "N+", "N|V", ".", "NN?"],
}


def condition(chance: Random, deep: int = 2) -> Node:
    way = chance.random() if deep else 0
    if way < 0.5:
        layer = chance.choice(sorted(LITERALS))
        pattern = chance.choice(LITERALS[layer] + REGEXES[layer])
        return "test", layer, pattern, chance.random() < 0.5, chance.random() < 2 / 3
    if way < 0.7:
        return "not", condition(chance, deep - 1)
    return chance.choice(["and", "or"]), some(lambda c: condition(c, deep - 1), 3, 1)(chance)


def query_node(chance: Random, deep: int = 2) -> Node:
    way = chance.random() if deep else 0
    if way < 0.3:
        return "item", condition(chance, chance.choice([0, 2])) if chance.random() < 2 / 3 else None
    if way < 0.8:
        kind = chance.choice(["chain", "chain", "either"])
        return kind, some(lambda c: query_node(c, deep - 1), 3, 1)(chance)
    part = query_node(chance, deep - 1)
    return "repeat", part, chance.randint(0, 2), chance.choice([2, 3, None])


def any_token(chance: Random) -> Token:
    return token(chance.choice("aAbB"), chance.choice(["N", "NN", "V"]))


NODES = drawn(query_node)
DOCUMENTS = lists(some(any_token, 8), 5)


def sentences(chance: Random, documents: Sequence[Sequence[Token]]) -> list[bool]:
    """For each place whether it is the last item of its sentence."""
    last = []
    for document in documents:
        last += chance.choices([True, False], k=len(document[1:]))
        last += [True] * bool(document) + [False]
    return last


def packed(last: Sequence[bool]) -> PackedArray:
    return pack(np.array(last, np.int64), 1)


def found(text: str, columns: Mapping[str, LayerColumn], **options: Any) -> list[tuple[int, int]]:
    starts, stops = query.find(query.parse(text), columns, **options)
    return list(zip(starts.tolist(), stops.tolist()))


@dear(50)
@given(DOCUMENTS, NODES, st.booleans(), st.sampled_from([0, 16, 10**9]), drawn(lambda c: c))
def test_matches_are_those_of_the_twin(
    documents: list[list[Token]], node: Node, within: bool, dear: int, chance: Random
) -> None:
    last = sentences(chance, documents)
    parsed = query.parse(text_of(node) + (" within s" if within else ""))
    try:
        query.check(parsed, FRAMES)
    except OptionError:  # more items or combinations than a query may have
        assume(False)
    columns, memo = columns_of(documents), query.RegexMemo()
    expected = matches(node, documents, last if within else None)
    limit = chance.choice([None, chance.randint(0, len(expected) + 1)])
    # Anchors always, where they pay, never; and pieces so small that there are several.
    with (
        mock.patch.object(plan, "_LIST_COST", dear),
        mock.patch.object(plan, "_FIRST_CHUNK", 3),
        mock.patch.object(plan, "_CHUNK", 5),
    ):
        for _ in range(2):  # the second time out of the memo
            starts, stops = query.find(
                parsed, columns, sentence_last=packed(last), limit=limit, memo=memo
            )
            assert list(zip(starts.tolist(), stops.tolist())) == expected[:limit]
        assert query.count(parsed, columns, sentence_last=packed(last), memo=memo) == len(expected)


PLAIN: list[Node] = [
    ("item", ("test", layer, item, False, True))
    for layer, item in (("lower", "a"), ("lower", "b"), ("pos", "N"), ("pos", "V"))
]


def plain_or_chain(chance: Random) -> Node:
    return chance.choice([chance.choice(PLAIN), ("chain", some(PLAIN, 3, 1)(chance))])


def gap(chance: Random) -> Node:
    if chance.random() < 0.5:
        part = chance.choice([("item", None), chance.choice(PLAIN)])
        return "repeat", part, chance.randint(0, 2), chance.randint(2, 3)
    return "either", some(plain_or_chain, 3, 1)(chance)


def chain(chance: Random) -> Node:
    first = chance.choice([chance.choice(PLAIN), gap(chance)])
    return "chain", (first, gap(chance), chance.choice(PLAIN))


# Several queries and patterns an example: what goes wrong here goes wrong seldom.


@given(lists(some(any_token, 12, 5), 3, 1), lists(chain, 6, 6))
def test_a_rare_part_may_stand_anywhere(documents: list[list[Token]], nodes: list[Node]) -> None:
    columns = columns_of(documents)
    with mock.patch.object(plan, "_LIST_COST", 0):
        for node in nodes:
            assert found(text_of(node), columns) == matches(node, documents)


@dear(50)
@given(NODES, st.booleans())
@example(("repeat", ("repeat", ("item", None), 0, 1), 1, None), True)
def test_the_canonical_form_is_the_same_query(node: Node, within: bool) -> None:
    parsed = query.parse(text_of(node) + (" within s" if within else ""))
    assert query.parse(str(parsed)) == parsed
    assert str(query.parse(str(parsed))) == str(parsed)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ('"of" "the"', '[lower="of"] [lower="the"]'),
        ("'of'  'the'", '[lower="of"] [lower="the"]'),
        ('"Of"', '[lower="of"]'),
        ('[word="Of"]', '[word="Of"]'),
        (r'"Mr\." "\W"', r'[lower="mr\."] [lower="\W"]'),
        (r""" '"' "\"" """, r'[lower="\""] [lower="\""]'),
        ('[ pos = "JJ" ] [lemma="dog"]', '[pos="JJ"] [lemma="dog"]'),
        ('[pos="NN.*" & lower="time"]', '[pos="NN.*" & lower="time"]'),
        ('[pos!="NN" | !pos="VB"]', '[pos!="NN" | pos!="VB"]'),
        ('[!(pos="A" | pos="B")]', '[!(pos="A" | pos="B")]'),
        ('[!(!pos="A")]', '[pos="A"]'),
        (
            '[(pos="A" | pos="B") & (pos="C" & pos="D")]',
            '[(pos="A" | pos="B") & pos="C" & pos="D"]',
        ),
        ('"Bush"%c [word="bush"%c]', '[lower="bush"%c] [word="bush"%c]'),
        ("[]{2} []{1,3} []{2,} []{,4} []{1} []{0,1}", "[]{2} []{1,3} []{2,} []{0,4} [] []?"),
        ('"a"? "b"* "c"+', '[lower="a"]? [lower="b"]* [lower="c"]+'),
        ('("a" "b" | "c") "d"', '([lower="a"] [lower="b"] | [lower="c"]) [lower="d"]'),
        ('("a" ("b" "c"))', '[lower="a"] [lower="b"] [lower="c"]'),
        ('("a" | "b"){2} | "c"', '([lower="a"] | [lower="b"]){2} | [lower="c"]'),
        ('"a" []* "b" within s', '[lower="a"] []* [lower="b"] within s'),
        ('"a" within <s/>', '[lower="a"] within s'),
        ('"within" [dep-bfs="x"]', '[lower="within"] [dep-bfs="x"]'),
    ],
)
def test_forms(text: str, canonical: str) -> None:
    assert str(query.parse(text)) == canonical


def test_plain_phrases_are_told_apart() -> None:
    assert query.is_plain("don't stop (now)")
    assert not any(query.is_plain(text) for text in ('"of"', "[]", '[pos="JJ"] dog'))


def test_examples() -> None:
    text = "The/DT old/JJ dog/NN saw/VB Mr./NNP the/DT big/JJ old/JJ dog/NN ./."
    first = [token(*pair.rsplit("/", 1)) for pair in text.split()]
    second = [token(*pair.split("/")) for pair in "dog/NN dogs/NNS".split()]
    columns = columns_of([first, [], second])
    wanted = {
        '"the" "old"': [(0, 2)],
        '[pos="JJ"] [lower="dog"]': [(1, 3), (7, 9)],
        '[pos="JJ"]{1,2} [pos="NN.*"]': [(1, 3), (6, 9), (7, 9)],
        '[pos="NN.*" & lower="dogs?"]': [(2, 3), (8, 9), (12, 13), (13, 14)],
        '[pos="DT" & word!="The"]': [(5, 6)],
        '[word="THE"%c]': [(0, 1), (5, 6)],
        '"the" []{0,2} "dog"': [(0, 3), (5, 9)],
        '("the" "old" | "mr\\.") []': [(0, 3), (4, 6)],
        '"dog" []': [(2, 4), (8, 10), (12, 14)],
        '"the|big"': [(0, 1), (5, 6), (6, 7)],
        '"."': [(9, 10)],
        '"m.*"': [(4, 5)],
        "[]{9,}": [(0, 10), (1, 10)],
        '"cat"': [],
        '[word="cat"]': [],
        '"dog"? [pos="nothing"]': [],
    }
    for query_text, expected in wanted.items():
        assert found(query_text, columns) == expected, query_text
        assert query.count(query.parse(query_text), columns) == len(expected), query_text


def test_a_match_stays_inside_its_sentence() -> None:
    documents = [[token(word, "N") for word in "abab"]]
    last = packed([False, True, False, True, False])
    columns = columns_of(documents)
    assert found('"a" []+', columns) == [(0, 4), (2, 4)]
    assert found('"a" []+ within s', columns, sentence_last=last) == [(0, 2), (2, 4)]
    assert found('"b" "a" within s', columns, sentence_last=last) == []
    for missing in (None, packed([True])):
        with pytest.raises(OptionError, match="sentences of the layer 'lower' are not known"):
            found('"a" within s', columns, sentence_last=missing)


def test_a_match_has_at_most_a_hundred_items() -> None:
    columns = columns_of([[token("a", "N")] * 150])
    assert found("[]*", columns)[:52] == [(i, min(i + 100, 150)) for i in range(52)]
    assert found('"a"+ [pos="N"]', columns, limit=1) == [(0, 100)]
    assert query.count(query.parse("[]{60,}"), columns) == 91


REFUSED = [
    ("", 0, "expected a string in quotes"),
    ("of the", 0, "a plain phrase has no quotes"),
    ('"a" of', 4, "expected a string in quotes"),
    ('"a', 2, "expected the closing quote"),
    ('"a" |', 5, "expected a string in quotes"),
    ('("a"', 4, r"expected a token, a quantifier, | or )"),
    ('"a")', 3, "expected a token, a quantifier, | or the end"),
    ("[pos]", 4, "expected = or !="),
    ("[pos=JJ]", 5, "expected a string in quotes"),
    ('[pos="JJ"', 9, "expected &, | or ]"),
    ('[pos="JJ" & ]', 12, "expected a condition such as"),
    ('[(pos="JJ"]', 10, "expected &, | or )"),
    ('"a"{x}', 3, "expected how often"),
    ('"a"{,}', 3, "expected how often"),
    ('"a"{2', 3, "expected how often"),
    ('"a"{3,2}', 3, "no smaller than the first"),
    ('"a"{0}', 3, "at least 1"),
    ('"a"?+', 4, "a second quantifier"),
    ('"a"%d', 3, "expected %c"),
    ('"a(b"', 2, "not a regular expression: unclosed group"),
    ('"x{99999999999999}"', 3, "not a regular expression"),
    ('<s> "a"', 0, "within s"),
    ('"a" within p', 11, "expected s"),
    ('"a" within s "b"', 13, "expected the end"),
    ("(" * 60 + '"a"' + ")" * 60, 51, "more than 50 nested parentheses"),
    ('"a" [nose="x"]', 5, "there is no layer 'nose'; known: lower, pieces, pos, word"),
    ('"a" [pieces="x"]', 5, "the items of 'pieces' are not those of 'lower'"),
    ('"a"{65}', None, "more than 64 items"),
    ("(([]{9}){9}){9}", None, "more than 64 items"),
]


@pytest.mark.parametrize(("text", "at", "problem"), REFUSED)
def test_a_query_that_makes_no_sense_is_refused_with_the_place(
    text: str, at: int | None, problem: str
) -> None:
    with pytest.raises(OptionError) as refused:
        query.check(query.parse(text), FRAMES)
    lines = str(refused.value).split("\n")
    assert problem in lines[0]
    assert lines[1] == "  " + text
    assert at is None or lines[2:] == ["  " + " " * at + "^"]


def test_too_many_combinations_are_refused() -> None:
    text = "[" + " & ".join(f'(word="{i}" | pos="{i}" & lower="{i}")' for i in range(9)) + "]"
    with pytest.raises(OptionError, match="too many combinations"):
        query.check(query.parse(text), FRAMES)


def test_columns_that_do_not_fit_are_refused() -> None:
    columns = columns_of([[token("a", "N"), token("b", "V")]])
    columns["pieces"] = twins.column([["a"], []])
    assert len(columns["pieces"].ids) == len(columns["lower"].ids)
    for search in (query.find, query.count):
        with pytest.raises(OptionError, match="the items of 'pieces' are not those of 'lower'"):
            search(query.parse('"a" [pieces="a"]'), columns)
        with pytest.raises(OptionError, match="there is no layer 'lemma'; known: lower, pieces"):
            search(query.parse('[lemma="a"]'), columns)
        with pytest.raises(OptionError, match="there is no layer 'lemma'"):
            search(query.parse("[]", "lemma"), columns)
    with pytest.raises(OptionError, match="there is no layer 'lemma'"):
        query.check(query.parse("[]", "lemma"), FRAMES)
    assert found('[pieces="a"]', columns) == [(0, 1)]


def _joined(pieces: list[tuple[str, str]]) -> str:
    """Every group has a name of its own."""
    return "".join(piece.replace("%d", str(n)) + sign for n, (piece, sign) in enumerate(pieces))


# What Python and the engine both know, and mean the same by.
PIECES = [
    "a",
    "b",
    "é",
    r"\.",
    "[ab]",
    "(b)",
    r"\w",
    ".",
    "[^a]",
    r"[\W.]",
    "(?i:a)",
    "(?s:.)",
    "(?:a|ab)",
    "(?P<n%d>a)",
    "(?x: a b # c\n)",
    "[]b]",
    "[a-b-]",
    r"\x61",
    r"\u00e9",
    r"[^\W\d_]",
]
SIGNS = ["", "", "*", "?", "+", "{0,2}", "{2}", "*?", "|"]


def pattern(chance: Random) -> str:
    return _joined(some(lambda c: (c.choice(PIECES), c.choice(SIGNS)), 4)(chance))


STRINGS = sorted("".join(chars) for n in (1, 2, 3) for chars in product("abAé.&<", repeat=n))


@dear(50)
@given(lists(pattern, 6, 6), st.booleans())
def test_looking_up_finds_what_trying_every_entry_finds(
    patterns: list[str], ignore_case: bool
) -> None:
    vocabulary = Vocabulary.of(STRINGS)
    for pattern in patterns:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            wanted = re.compile(pattern, re.IGNORECASE if ignore_case else 0)
        parsed = query.parse(f'[word="{pattern}"{"%c" if ignore_case else ""}]')
        with mock.patch.object(conditions, "_BLOCK", 50):
            numbers = conditions.matching_entries(parsed.tests[0], vocabulary)
        assert numbers.tolist() == [i for i, s in enumerate(STRINGS, 1) if wanted.fullmatch(s)]


def test_plain_patterns_are_looked_up() -> None:
    assert conditions.plain_prefixes(r"u\.s\.|uk") == (["u.s.", "uk"], True)
    assert conditions.plain_prefixes("unti?l") == (["unt"], False)
    assert conditions.plain_prefixes(r"a\d") == (["a"], False)
