from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.core.errors import InputError
from rote.corpus import _linewise as _blocks
from rote.corpus._linewise import cut_blocks
from rote.corpus._shard import Origin
from rote.corpus.text import _lines, _paragraphs

ORIGIN = Origin("f", "f", "f")
LINE = st.text(alphabet="ab \t\r", max_size=6)
TEXT = st.lists(LINE, max_size=12).map("\n".join)


def pieces(data: bytes, size: int):
    return ((data[i : i + size], min(i + size, len(data))) for i in range(0, len(data), size))


def numbered_lines(text: str):
    """The slow twin: split everything at once."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return [(number, line) for number, line in enumerate(lines, 1) if line.strip()]


def numbered_paragraphs(text: str):
    found, current = [], []
    for number, line in enumerate([*text.split("\n"), ""], 1):
        if line.strip():
            current.append((number, line.removesuffix("\r")))
        elif current:
            found.append((current[0][0], "\n".join(line for _, line in current)))
            current = []
    return found


@given(TEXT, st.integers(1, 30), st.integers(1, 9))
def test_lines_do_not_depend_on_the_blocks(text, target, size):
    data = text.encode()
    blocks = list(cut_blocks(pieces(data, size), target, "f"))
    assert b"".join(block.data for block in blocks) == data
    assert sum(block.size for block in blocks) == len(data)
    found = [r for b in blocks for r in _lines(b.data, b.first_line, "utf-8", ORIGIN)]
    assert [(number, record["text"]) for number, record in found] == numbered_lines(text)


@given(TEXT, st.integers(1, 30), st.integers(1, 9))
def test_paragraphs_do_not_depend_on_the_blocks(text, target, size):
    data = text.encode()
    blocks = list(cut_blocks(pieces(data, size), target, "f", "paragraph"))
    assert b"".join(block.data for block in blocks) == data
    found = [r for b in blocks for r in _paragraphs(b.data, b.first_line, "utf-8", ORIGIN)]
    assert [(number, record["text"]) for number, record in found] == numbered_paragraphs(text)


@given(TEXT, st.integers(1, 30), st.integers(1, 9), st.sampled_from(["line", "paragraph"]))
def test_blocks_depend_on_the_bytes_alone(text, target, size, unit):
    data = text.encode()
    in_pieces = cut_blocks(pieces(data, size), target, "f", unit)
    at_once = cut_blocks(iter([(data, len(data))]), target, "f", unit)
    assert [block.data for block in in_pieces] == [block.data for block in at_once]


def test_a_stream_that_breaks_off_gives_its_whole_lines_first():
    def broken():
        yield b"one\ntwo\nthr", 11
        raise InputError("the file is cut short", file="f", remedy="Copy it again")

    blocks = cut_blocks(broken(), 100, "f")
    assert next(blocks).data == b"one\ntwo\n"
    with pytest.raises(InputError) as caught:
        next(blocks)
    assert caught.value.line == 3


def test_a_line_without_end_is_refused(monkeypatch):
    monkeypatch.setattr(_blocks, "MAX_UNIT", 1000)
    with pytest.raises(InputError, match="a line of more than") as caught:
        list(cut_blocks(((b"x" * 100, i) for i in range(100)), 10, "f"))
    assert caught.value.line == 1
