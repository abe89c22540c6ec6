"""Regular expressions of strangers: what Python means by them, and none that hangs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import unicodedata

import pytest

from rote.core.errors import OptionError
from rote.index import query
from rote.index.query.conditions import NotARegex, compile_regex, match_strings

EVIL = [
    "(a+)+", "(a+)+b", "(a*)*b", "(a*a*)*b", "(a|a)*b", "(a|aa)+b", "(a|a?)+b", "(a|b|ab)*c",
    "((a+)+)+b", "(?:(?:(?:a*)*)*)*b", "(([a-z])+.)+[A-Z]([a-z])+", "([a-zA-Z]+)*!", "(.*)*x",
    "(.*a){20}", "(.*a){20}!", "(x+x+)+y", "([a-z]+)*!", "(([a-z]+)*)*!", r"(\w+\s?)*!",
    r"(\d+)*x", r"(\s+)*x", "(a?){50}a{50}", "a*a*a*a*a*a*a*a*b", ".*" * 60 + "b", "(a{1,}){1,}b",
    "(a+){1,100}b", "(?:a|a)+?b", "(?i:(A+)+)b", "(?P<n>a+)+b", r"(.|\w)*!", "([^a]|a)*!",
    r"[\w\W]*[\w\W]*[\w\W]*z", r"\b(\w+\b)*!", "(0|1|01)*2", r"(\w+[-.])*\w+@\w+",
    r"([a-zA-Z0-9])(([\-.]|[_]+)?([a-zA-Z0-9]+))*(@){1}[a-z0-9]+[.]{1}(([a-z]{2,3}))",
    # What a guard that reads signs would misread: comments, and brackets in them.
    r"(?#[)(\w|\w|\w+)+!(?#])", "(?x)(a+)+b # )", "(?x) ( a | a # (\n )+ b", "(?x:(a|a # [\n)+)b",
    r"[(](a+)+b|(a+)+c", r"\((a+)+b|(?:a+)+\)", "[]](a+)+b|(a+)+c", r"(?x)[ #](a+)+b|(a+)+\#",
    # Larger than any engine should hold.
    "(((a{0,99}){0,99}){0,99}){0,99}b", "(a{65535}){1000}", r"(\w{0,1000}){0,1000}b",
    "(a|b){9999999}",     "x{0,99}" * 6 + "y", ".?" * 200 + "Z",
    # What no engine matches letter by letter.
    "(?=(a+)+b)a", "(?<=a)b", "(?!(a+)+b)a", r"(a+)\1+b", "(?P<n>a+)(?P=n)+b", "(a)?(?(1)b|c)",
]  # fmt: skip
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
        input=given, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answers = dict(zip(EVIL, map(json.loads, done.stdout.splitlines()), strict=True))
    assert answers["(a+)+"] == ["found", 1]
    assert answers["(.*a){20}"] == ["found", 1]
    assert "too large" in answers["(a{65535}){1000}"][1]
    refused = [pattern for pattern, (said, _) in answers.items() if said == "refused"]
    assert {"(?=(a+)+b)a", r"(a+)\1+b", "(a)?(?(1)b|c)"} <= set(refused)
    assert len(EVIL) - len(refused) > 40


@pytest.mark.parametrize(
    ("pattern", "what"),
    [
        ("(?=a)b", "look-ahead and look-behind cannot be matched"),
        (r"(a)\1", "references to a group cannot be matched"),
        (r"\w{0,500}" * 4, "it is too large"),
        ("(a", "missing ), unterminated subpattern"),
    ],
)
def test_what_cannot_be_matched_is_refused_at_its_place(pattern: str, what: str) -> None:
    with pytest.raises(OptionError, match=re.escape(f"not a regular expression: {what}")) as error:
        query.parse(f'"x" "{pattern}"')
    assert str(error.value).endswith("\n" + " " * 7 + "^")


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 does not know them")
@pytest.mark.parametrize("pattern", ["a++b", "(?>a+)b"])
def test_what_would_mean_something_else_is_refused(pattern: str) -> None:
    with pytest.raises(NotARegex, match="cannot be matched here"):
        compile_regex(pattern)


@pytest.mark.parametrize(
    "pattern",
    [r"\w", r"\W", r"\d", r"\D", r"\s", r"\S", ".", r"[^\W\d]", r"(?a)\w", r"(?a)[^\s\d]", "(?s)."],
)
def test_every_character_is_what_python_says_it_is(pattern: str, known: list[str]) -> None:
    """Of those that Python knows: newer ones may be letters to one and nothing to the other."""
    wanted = set(re.findall(pattern, "".join(known)))
    assert match_strings(compile_regex(pattern), known).tolist() == [one in wanted for one in known]


@pytest.fixture(scope="module")
def known() -> list[str]:
    # Of the planes for private use, whose characters are all alike, the ends.
    private = (0xF0000, 0xFFFFD, 0x100000, 0x10FFFD)
    characters = map(chr, (*range(private[0]), *private))
    return [one for one in characters if unicodedata.category(one) not in ("Cn", "Cs")]


def test_half_a_surrogate_pair_is_a_character() -> None:
    assert match_strings(compile_regex("a.b"), ["a\ud800b", "ab"]).tolist() == [True, False]
    assert match_strings(compile_regex("[\ud800-\udfff]b"), ["\ud812b", "ab"]).tolist() == [
        True,
        False,
    ]
