"""Words beside matches, matches by group, dispersion, named patterns: plain twins and by hand."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rote.core.document import Document
from rote.core.errors import OptionError, UnknownName
from rote.index.index import Index
from rote.search.patterns import count_patterns, count_patterns_by_group
from rote.search.rows.collocates import dispersion, find_collocates
from rote.search.rows.counts import count_by_group, groups_by_field
from rote.search.rows.matches import find_matches
from tests.indexes import build_index, index_texts

WORDS = list("abcdef")


def near_by_hand(texts: list[list[str]], node: str, window: int) -> dict[str, int]:
    found: dict[str, int] = {}
    for text in texts:
        for place, word in enumerate(text):
            if word == node:
                beside = text[max(place - window, 0) : place] + text[place + 1 : place + 1 + window]
                for other in beside:
                    found[other] = found.get(other, 0) + 1
    return found


@pytest.mark.parametrize("window", [1, 3, 16])
def test_collocates_are_counted_as_in_plain_python(window: int) -> None:
    rng = np.random.default_rng(window)
    texts = [list(rng.choice(WORDS, rng.integers(1, 30))) for _ in range(12)]
    index = index_texts([" ".join(text) for text in texts])
    rows = find_collocates(find_matches(index, index.parse("a")), window, least=1)
    expected = near_by_hand(texts, "a", window)
    assert {row["word"]: row["near"] for row in rows} == expected
    total, places = sum(map(len, texts)), sum(expected.values())
    for row in rows:
        count = sum(text.count(row["word"]) for text in texts)
        assert row["count"] == count
        assert row["expected"] == pytest.approx(places * count / total)
        assert row["pmi"] == pytest.approx(math.log2(row["near"] / row["expected"]))
    assert [row["g2"] for row in rows] == sorted((row["g2"] for row in rows), reverse=True)
    with pytest.raises(OptionError, match="collocates"):
        find_collocates(find_matches(index, index.parse("a")), 17)


@pytest.fixture
def index(tmp_path: Path) -> Index:
    told = [
        ("tea and tea", "x", 1900),
        ("a cup of tea", "y", 1900),
        ("not red but blue", "y", 1901),
    ]
    texts: list[Any] = [
        Document(str(n), text, {"author": author, "year": year})
        for n, (text, author, year) in enumerate(told)
    ]
    return build_index(texts, tmp_path / "index")


def test_matches_by_any_field_and_their_dispersion(index: Index) -> None:
    groups = groups_by_field(index, "year")
    rows = count_by_group(find_matches(index, index.parse("tea")), groups)
    assert [(row["group"], row["matches"], row["words"]) for row in rows] == [("1900", 3, 7)]
    # All of it in 7 of 11 words: DP = (4/11 + 4/11) / 2; one of two groups has it.
    spread = dispersion(rows, groups)
    assert spread["dp"] == pytest.approx(4 / 11)
    assert spread["juilland_d"] == pytest.approx(0)
    with pytest.raises(UnknownName, match="year"):
        groups_by_field(index, "yaer")


def test_named_patterns_in_an_index(index: Index) -> None:
    named = {"tea": ["tea"], "both": ['"red|blue"', '"red" "but"'], "none": ["coffee"]}
    rows = {row["pattern"]: row for row in count_patterns(index, named, "lower")}
    assert {name: row["matches"] for name, row in rows.items()} == {"tea": 3, "both": 2, "none": 0}
    assert rows["tea"]["documents"] == 2
    assert math.isnan(rows["none"]["dp"])
    grouped = count_patterns_by_group(index, named, "lower", groups_by_field(index, "author"))
    found = {(row["pattern"], row["group"]): row["matches"] for row in grouped}
    assert found == {("tea", "x"): 2, ("tea", "y"): 1, ("both", "y"): 2}
