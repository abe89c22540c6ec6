"""The `ud` tokenizer: conventions by hand, and a regular expression for a part of it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given

from rote.annotate.glyphs import fold
from rote.annotate.words import get
from tests.examples import drawn, each, one_of, some

# Each line is a text with its words cut by `|`; a bar at a space is not written.
GOLDEN = """
I do|n't know|, she ca|n't say|, and we wo|n't ask|.
It|'s Ann|'s|; they|'re here|, I|'m not|, we|'ve gone|, he|'ll see|, you|'d think|.
It|’s Ann|’s and we do|n’t mind|.
She can|not swim|, so she|'s gon|na wade and wan|na rest|.
do|nt do that
They called it a well|-|known|, long|-|term plan|.
Her co-workers re-read the e-mail on non-stop trains in mid-July|.
The price was $|3.50|, not €|1,000.25 or 5|%|.
We met at 7:30|pm|, then again at 9|am and 11:15 a.m. on 12/25|.
He ate 1|/|2 of it and 3|/|4 of that on 2020-01-31|.
Call 555-0199 or 212-555-0199|, pages 10|-|12|.
The 1990s|, the 80's and the '90s|.
Dr. Lee met Mr. J. R. Moss at St. Ives|.
He works for Moss Inc. in the U.S. and for the U.N. elsewhere|, e.g. in Oslo|.
Bring pens|, paper|, etc|.
They left at 5 p.m|.
So did I|.
I sat|. She stood|.
See https://example.org/a/b_(c)?d=1&e=2|, please|.
Write to ann.lee@example.org|, or see www.example.com/x|.
Ask example.com|. Open notes.txt and plan-v2.docx|.
He said nothing|.|The end|.
Wait|... what|?! No|!!! Well|...
"|Yes|,|" he said|, (|quietly|) [|sic|]|.
I|--|well|--|no|.
Nice :-) really ;) sad :( love <3 ^_^ yes
Rock 'n|' roll|, tell 'em so|.
A cat|/|dog thing and|/|or w/o it|.
AT&T and R&D but salt|&|pepper
C++ and C# and v2.0.1
@ann likes #tea a lot|.
_|This|_ is **|bold|** and `|code|`
a -> b => c >= d
See p. 15 and Fig. 3|.
===== x ----
中|文|字|。|好
カタカナ|と|漢|字
naïve café Straße|, œuvre|!
Привет|, мир|!
यह हिन्दी है|।
👍🏽|👩‍👩‍👧|🇫🇷|🇩🇪 ok|☺️
“|Quoted|” and ‘|single|’ marks|—|dashes|…
"""


def cut(line: str) -> tuple[str, list[str]]:
    """The text, and its words in plain glyphs."""
    return line.replace("|", ""), fold(line).replace("|", " ").split()


@pytest.mark.parametrize("line", GOLDEN.strip().splitlines())
def test_golden(line: str) -> None:
    text, expected = cut(line)
    assert get("ud")([text]).items(0) == expected


@given(drawn(some(GOLDEN.strip().splitlines(), 5)))
def test_a_blank_line_ends_a_text_as_far_as_words_go(lines: list[str]) -> None:
    pairs = [cut(line) for line in lines]
    found = get("ud")(["\n\n".join(text for text, _ in pairs)]).items(0)
    assert found == [word for _, expected in pairs for word in expected]


# An independent reading of a well-defined part: words of letters that are on no list,
# with inner apostrophes and clitics; whole numbers with inner marks; and the marks.
REFERENCE = re.compile(
    r"""
    (?<=[a-z])'(?:s|m|d|re|ve|ll)(?![a-z])  # clitics
    | [jqz]+(?:'(?!(?:s|m|d|re|ve|ll)(?![a-z]))[a-z]+)*
    | [0-9]+(?:[.,:][0-9]+)*
    | [.!?]+ | ,+ | '' | [;:"()\[\]']
    """,
    re.VERBOSE,
)
pieces = one_of(["j", "qz", "jq'zz", "zz's", "qj've", "j'm", "12", "1,200", "3.75", "7:05"])
marks = one_of([" ", "  ", "\n", ", ", "; ", "! ", "?! ", " (", ") ", '"', "... ", ": ", "', "])


@given(drawn(some(each(pieces, marks), 12)))
def test_agrees_with_a_regular_expression_on_plain_words(parts: list[tuple[str, str]]) -> None:
    text = "".join(piece + mark for piece, mark in parts)
    assert get("ud")([text]).items(0) == REFERENCE.findall(text)
