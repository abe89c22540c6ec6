"""Regular expressions of strangers: what the engine means by them, and none that hangs."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from rote.core.errors import OptionError
from rote.index import query
from rote.index.query import tree
from rote.index.query.conditions import check_test, compile_regex, match_strings
from tests.kit import PATIENCE

EVIL = [
    "(a+)+",
    "(a+)+b",
    "(a*)*b",
    "(a*a*)*b",
    "(a|a)*b",
    "(a|aa)+b",
    "(a|a?)+b",
    "(a|b|ab)*c",
    "((a+)+)+b",
    "(?:(?:(?:a*)*)*)*b",
    "(([a-z])+.)+[A-Z]([a-z])+",
    "([a-zA-Z]+)*!",
    "(.*)*x",
    "(.*a){20}",
    "(.*a){20}!",
    "(x+x+)+y",
    "([a-z]+)*!",
    "(([a-z]+)*)*!",
    r"(\w+\s?)*!",
    r"(\d+)*x",
    r"(\s+)*x",
    "(a?){50}a{50}",
    "a*a*a*a*a*a*a*a*b",
    ".*" * 60 + "b",
    "(a{1,}){1,}b",
    "(a+){1,100}b",
    "(?:a|a)+?b",
    "(?i:(A+)+)b",
    "(?P<n>a+)+b",
    r"(.|\w)*!",
    "([^a]|a)*!",
    r"[\w\W]*[\w\W]*[\w\W]*z",
    r"\b(\w+\b)*!",
    "(0|1|01)*2",
    r"(\w+[-.])*\w+@\w+",
    r"([a-zA-Z0-9])(([\-.]|[_]+)?([a-zA-Z0-9]+))*(@){1}[a-z0-9]+[.]{1}(([a-z]{2,3}))",
    # What a guard that reads signs would misread: comments, and brackets in them.
    r"(?#[)(\w|\w|\w+)+!(?#])",
    "(?x)(a+)+b # )",
    "(?x) ( a | a # (\n )+ b",
    "(?x:(a|a # [\n)+)b",
    r"[(](a+)+b|(a+)+c",
    r"\((a+)+b|(?:a+)+\)",
    "[]](a+)+b|(a+)+c",
    r"(?x)[ #](a+)+b|(a+)+\#",
    # Larger than any engine should hold.
    "(((a{0,99}){0,99}){0,99}){0,99}b",
    "(a{65535}){1000}",
    r"(\w{0,1000}){0,1000}b",
    "(a|b){9999999}",
    "x{0,99}" * 6 + "y",
    ".?" * 200 + "Z",
    # What no engine matches letter by letter.
    "(?=(a+)+b)a",
    "(?<=a)b",
    "(?!(a+)+b)a",
    r"(a+)\1+b",
    "(?P<n>a+)(?P=n)+b",
    "(a)?(?(1)b|c)",
]
WORDS = ["dog", "a" * 50_000, "ab" * 20_000, "x" * 30_000, "1" * 9_999, "01" * 500, "a" * 31 + "!"]
_ANSWERS = """
import json, sys
from rote.core.errors import OptionError
from rote.index import query
from rote.index.columns.layer_column import Vocabulary
from rote.index.query.conditions import matching_entries

evil, words = json.load(sys.stdin)
vocabulary = Vocabulary.of(sorted(words))
for pattern in evil:
    try:
        (test,) = query.parse('[word="' + pattern + '"]').tests
        print(json.dumps(["found", len(matching_entries(test, vocabulary))]))
    except OptionError as error:
        print(json.dumps(["refused", str(error)]))
"""


def test_no_expression_runs_for_ever() -> None:
    """The limit is there to end a failure; all of them together take some seconds."""
    given = json.dumps([EVIL, WORDS])
    done = subprocess.run(
        [sys.executable, "-c", _ANSWERS],
        input=given,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    answers = dict(zip(EVIL, map(json.loads, done.stdout.splitlines()), strict=True))
    assert answers["(a+)+"] == ["found", 1]
    assert answers["(.*a){20}"] == ["found", 1]
    assert "too large" in answers["(a{65535}){1000}"][1]
    refused = [pattern for pattern, (said, _) in answers.items() if said == "refused"]
    assert {"(?=(a+)+b)a", r"(a+)\1+b", "(a)?(?(1)b|c)"} <= set(refused)
    assert len(EVIL) - len(refused) > 40


@pytest.mark.parametrize(
    ("pattern", "what", "at"),
    [
        ("(?=a)b", "look-around, including look-ahead and look-behind, is not supported: say", 0),
        (r"(a)\1", "backreferences are not supported: say it in several conditions", 3),
        (r"\w{0,500}" * 4, "it is too large", 0),
        ("a)|(b", "unopened group", 1),
        ("(a", "unclosed group", 0),
        ("é(?>a+)b", "unrecognized flag", 3),
    ],
)
def test_what_the_engine_does_not_take_is_refused_at_its_place(
    pattern: str, what: str, at: int
) -> None:
    with pytest.raises(OptionError, match=re.escape(f"not a regular expression: {what}")) as error:
        query.parse(f'"x" "{pattern}"')
    assert str(error.value).endswith("\n" + " " * (7 + at) + "^")


@pytest.mark.parametrize(
    ("pattern", "letters"),
    [
        ("dog|cat", 0),  # looked up
        ("dogs?", 4),
        (r"\w{1,200}!", 201),
        (r"(a{1,50}b?){1,9}|x{99}", 558),
        ("[^]a{9}]{3}", 3),
        ("((a{9}){9}){9}", 729),
        ("(?x)a # )", 6),
    ],
)
def test_letters_are_counted_with_repetitions_written_out(pattern: str, letters: int) -> None:
    assert check_test(tree.LayerTest("lower", pattern)) == letters


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        (r"\w+", ["cafe\u0301", "नमस्ते", "_1"], ["x-y"]),
        (r"[\p{Lu}&&[^A-Z]]", ["Ä"], ["A", "ä"]),
        (r"(?-u:\w)+", ["abc"], ["ä", "-"]),
        ("(?s:.)", ["\n", "a"], ["ab"]),
        (".", ["a"], ["\n"]),
        ("(?x) a b # )", ["ab"], ["a b", "ab\n"]),
    ],
)
def test_the_syntax_is_that_of_the_engine(
    pattern: str, matching: list[str], others: list[str]
) -> None:
    """Letters with their marks, properties, sets of sets: docs/queries.md names them."""
    expected = [True] * len(matching) + [False] * len(others)
    assert match_strings(compile_regex(pattern), [*matching, *others]).tolist() == expected


def test_half_a_surrogate_pair_is_a_character() -> None:
    assert match_strings(compile_regex("a.b"), ["a\ud800b", "ab"]).tolist() == [True, False]
    assert match_strings(compile_regex("[\ud800-\udfff]b"), ["\ud812b", "ab"]).tolist() == [
        True,
        False,
    ]
