"""Extractive fragments: worked values, and the procedure in plain Python."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import rote
from rote.core.document import Document
from rote.core.errors import InputError
from rote.measure.reference_scores.fragments import _count_fragments
from tests.examples import drawn, each, some

from .strategies import columns


def plain(text: Sequence[int], document: Sequence[int], printed: bool) -> tuple[int, int]:
    """Words in fragments and the sum of squares, step by step as Grusky et al. (2018) write it."""
    covered = squares = at = 0
    while at < len(text):
        best = place = 0
        while place < len(document):
            length = 0
            while (
                at + length < len(text)
                and place + length < len(document)
                and text[at + length] == document[place + length]
            ):
                length += 1
            best = max(best, length)
            place += max(length, 1) if printed else 1
        covered, squares = covered + best, squares + best**2
        at += max(best, 1)
    return covered, squares


TEXT = some(range(3), 12)


@given(drawn(some(each(TEXT, TEXT), 5, least=1)), st.booleans())
@example([([0, 0, 1], [0, 0, 0, 1])], True)
def test_the_kernel_is_the_procedure(pairs: list[Any], printed: bool) -> None:
    words, starts, ends = columns([text for text, _ in pairs])
    others, other_starts, other_ends = columns([document for _, document in pairs])
    wide = words.astype(np.int64)
    found = _count_fragments(wide, starts, ends, others, other_starts, other_ends, 3, printed)
    expected = [plain(text, document, printed) for text, document in pairs]
    assert list(zip(*(column.tolist() for column in found))) == expected


def test_a_worked_example() -> None:
    document = "the old heron slept by the water until the rain came"
    text = "The heron slept by night until the rain stopped"
    # Fragments: "the" (1), "heron slept by" (3), "until the rain" (3); 7 of 9 words.
    one = Document("1", text, {"document": document, "source": "a"})
    found = rote.score([one], by="source", scores="fragments").by_source["a"].values
    assert found["coverage"] == pytest.approx(7 / 9)
    assert found["density"] == pytest.approx((1 + 9 + 9) / 9)
    assert found["compression"] == pytest.approx(11 / 9)


def test_the_printed_procedure_misses_what_begins_inside_a_run() -> None:
    one = Document("1", "a a b", {"document": "a a a b", "source": "x"})
    exact = rote.score([one], by="source", scores="fragments").by_source["x"].values
    printed = (
        rote.score([one], by="source", variant="paper", scores="fragments").by_source["x"].values
    )
    assert exact["density"] == 3
    assert printed["density"] == pytest.approx((4 + 1) / 3)


def test_what_has_no_words_is_left_out_and_a_missing_field_is_named() -> None:
    both = [Document("1", "a b", {"document": "a"}), Document("2", "a b", {"document": "..."})]
    empty = [Document("3", "a", {"document": " "}), *both]
    found = rote.score(empty, scores="fragments").by_source["texts"]
    assert found.values["coverage"] == pytest.approx((1 / 2 + 0) / 2)
    assert any("1 of 3 texts" in note for note in found.notes)
    assert not math.isnan(found.values["density"])
    with pytest.raises(InputError, match="document"):
        rote.score([Document("1", "a", {})], scores="fragments")
