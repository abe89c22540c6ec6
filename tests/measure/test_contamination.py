"""Contamination: verdicts by hand, their evidence, and what cannot be judged."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from rote.core.errors import OptionError
from rote.core.result import Result
from rote.measure import Settings
from rote.measure._compute import compute
from rote.measure.contamination import Options

PAGE = (
    "In the spring the millers met at the bridge to settle who might draw water first, and when "
    "the talk was done they ate cold mutton under the elms until the light had gone."
)
OTHER = "A committee of seven bakers voted twice on raisins but never once mentioned any flour."


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"id": "mill", "author": "Ada", "text": "Before. ' + PAGE + ' After."}\n')
    return path


def run(texts: Any, against: Path | str, **own: Any) -> Result:
    options = Options(against=str(against), **own)
    return compute(
        {"contamination": options}, texts, settings=Settings(permutations=9, per_text=True)
    )[0]


def items(result: Result) -> list[dict[str, Any]]:
    return [dict(row) for row in result.tables["items"]]


def test_verdicts_follow_from_the_stated_thresholds(corpus: Path) -> None:
    words = PAGE.split()
    texts = [
        PAGE,  # all of it
        f"{' '.join(words[:13])} {OTHER} {OTHER}",  # one 13-gram, few of the 8-grams
        f"{' '.join(words[:12])} {OTHER}",  # twelve words in a row
        OTHER,
        "Too short to be judged.",
    ]
    found = items(run(texts, corpus))
    assert [row["verdict"] for row in found] == [
        "contaminated",
        "touched",
        "clean",
        "clean",
        "too short",
    ]
    assert [row["longest"] for row in found[:3]] == [len(found_words(PAGE)), 13, 12]
    # Of the second item's 13 + 16 + 16 words, the first six 8-grams and one 13-gram are held.
    assert found[1]["found_8"] == pytest.approx(6 / (45 - 7))
    assert found[1]["found_13"] == pytest.approx(1 / (45 - 12))


def found_words(text: str) -> list[str]:
    from rote.annotate.words import get

    return get()([text]).items(0)


def test_evidence_says_where_the_longest_run_stands(corpus: Path) -> None:
    text = f"Question: {PAGE}"
    (row,) = items(run([text], corpus))
    assert (row["document"], row["author"], row["count"]) == ("mill", "Ada", 1)
    assert (row["before"], row["match"], row["after"]) == ("Before. ", PAGE, " After.")
    assert text[row["text_start"] : row["text_end"]] == PAGE
    nearly = f"{' '.join(PAGE.split()[:12])} {OTHER}"
    (clean,) = items(run([nearly], corpus))
    assert (clean["verdict"], clean["longest"], clean["document"]) == ("clean", 12, "mill")
    assert nearly[clean["text_start"] : clean["text_end"]] == clean["match"]
    (clean,) = items(run([OTHER], corpus))
    assert (clean["document"], clean["match"], clean["text_start"]) == (None, None, None)


def test_values_are_means_over_the_items_that_can_be_judged(corpus: Path) -> None:
    result = run([PAGE, OTHER, OTHER, "Too short."], corpus)
    found = result.sources["texts"]
    assert found.values["contaminated"] == pytest.approx(1 / 3)
    assert found.values["touched"] == 0
    assert found.values["found_8"] == pytest.approx(1 / 3)
    assert found.values["longest"] == pytest.approx((len(found_words(PAGE)) + 1 + 1 + 1) / 4, abs=1)
    assert found.notes[0] == "1 of 4 items are shorter than 8 words: cannot be judged"
    assert [math.isnan(row["contaminated"]) for row in result.tables["texts"]] == [
        False,
        False,
        False,
        True,
    ]
    assert result.interval is not None
    assert result.interval.method == "jackknife over texts"


def test_the_thresholds_can_be_moved(corpus: Path) -> None:
    half = " ".join(PAGE.split()[:20])
    text = f"{half} {OTHER}"
    assert items(run([text], corpus))[0]["verdict"] == "touched"
    assert items(run([text], corpus, share=0.3))[0]["verdict"] == "contaminated"
    assert items(run([text], corpus, n=(30, 40)))[0]["verdict"] == "clean"
    for wrong in ({"n": (8,)}, {"n": (13, 8)}, {"share": 0.0}, {"share": 1.5}):
        with pytest.raises(OptionError):
            Options(**wrong)  # type: ignore[arg-type]


def test_without_a_corpus_values_are_undefined_and_a_note_says_why() -> None:
    found = run([PAGE, OTHER], "").sources["texts"]
    assert list(found.values) == ["contaminated", "touched", "found_8", "found_13", "longest"]
    assert all(math.isnan(value) for value in found.values.values())
    assert "--against" in found.notes[0]


def test_items_without_a_word_are_no_crash(corpus: Path) -> None:
    found = items(run(["\u200b", PAGE, "\u200b"], corpus))
    assert [row["verdict"] for row in found] == ["too short", "contaminated", "too short"]
    assert [row["longest"] for row in found] == [0, len(found_words(PAGE)), 0]
