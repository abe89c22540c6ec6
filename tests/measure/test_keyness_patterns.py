"""Keyness of patterns of grammar: patterns counted by hand, examples, no reference."""

from __future__ import annotations

import math
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rote
from rote.annotate.annotators import get
from rote.core.document import Document
from rote.core.errors import InputError, OptionError
from rote.core.result import Result
from rote.measure import Settings
from rote.measure.driver.compute import compute
from rote.measure.keyness import Options

# Model-like sentences are all of one mould; people also ask, shout and break off.
MODEL = [
    f"Her {thing} {verb} softly in the quiet {place}."
    for thing in ("voice", "heart", "breath")
    for verb in ("trembled", "echoed", "lingered")
    for place in ("room", "hall", "night")
]
HUMAN = [
    *(
        f"Her {thing} {verb} softly in the quiet room."
        for thing in ("voice", "dog")
        for verb in ("sang", "slept")
    ),
    *(
        f"Why on earth would {who} want to do that to {whom}?"
        for who in ("she", "he", "you")
        for whom in ("me", "us", "them")
    ),
    *(f"Run, {name}, run!" for name in ("Tom", "Ann", "Joe", "Kate", "Bill", "Sue")),
    *(f"Never have I seen so {how} a mess." for how in ("great", "sad", "foul", "fine", "big")),
]


def documents(source: str, sentences: list[str]) -> list[Document]:
    """Three sentences to a text."""
    return [
        Document(f"{source}{start}", " ".join(sentences[start : start + 3]), {"source": source})
        for start in range(0, len(sentences), 3)
    ]


@cache
def found(**options: Any) -> Result:
    texts = documents("human", HUMAN) + documents("model", MODEL)
    settings = Settings(by=("source",), reference="human")
    given = {"min_count": 2, "min_texts": 1, "k": 2, **options}
    return compute({"keyness": Options(of="patterns", **given)}, texts, settings=settings)[0]


def tags(sentences: list[str]) -> list[list[str]]:
    annotation = get("rote")([Document(str(n), s) for n, s in enumerate(sentences)], ["upos"])
    layer = annotation.layers["upos"]
    return [layer.items(number) for number in range(len(sentences))]


def test_counts_are_those_of_all_windows_within_sentences() -> None:
    rows = found().tables["grammar"]
    assert {row["favoured_by"] for row in rows} == {"human", "model"}
    counts = {
        side: Counter(
            " ".join(sentence[start : start + n])
            for sentence in tags(sentences)
            for n in (3, 4, 5, 6)
            for start in range(len(sentence) - n + 1)
        )
        for side, sentences in (("source", MODEL), ("reference", HUMAN))
    }
    for row in rows:
        assert row["source_count"] == counts["source"][row["pattern"]]
        assert row["reference_count"] == counts["reference"][row["pattern"]]
        assert row["outside_count"] <= row["reference_count"]
        assert len(row["pattern"].split()) == row["n"]


def test_each_side_favours_what_it_says() -> None:
    rows = found().tables["grammar"]
    for row in rows:
        assert row["z"] > 0
        ours, theirs = (
            (row["source_count"], row["reference_count"])
            if row["favoured_by"] == "model"
            else (row["outside_count"], row["source_count"])
        )
        assert ours >= 2
        assert ours > theirs
    human = [e for row in rows if row["favoured_by"] == "human" for e in row["examples"]]
    assert any("on earth" in example or "have I" in example for example in human)
    model = [e for row in rows if row["favoured_by"] == "model" for e in row["examples"]]
    assert any("in the quiet" in example for example in model)


def test_sentences_outside_are_shared_with_precision_and_recall() -> None:
    result = found()
    settings = Settings(by=("source",), reference="human", interval=0)
    from rote.measure import precision_recall

    texts = documents("human", HUMAN) + documents("model", MODEL)
    options = precision_recall.Options(k=2, on=("trees",))
    other = compute({"precision-recall": options}, texts, settings=settings)[0]
    outside = result.by_source["model"].values["outside"]
    assert outside == pytest.approx(1 - other.by_source["model"].values["tree_recall"])
    assert 0 < outside < 1


def test_what_sets_sources_apart_is_certain_on_both_sides() -> None:
    rows = found(min_texts=2).tables["grammar"]
    assert {row["favoured_by"] for row in rows if row["p_corrected"] < 0.05} == {"human", "model"}
    for row in rows:
        ours = "source" if row["favoured_by"] == "model" else "outside"
        assert 2 <= row[f"{ours}_texts"] <= row[f"{ours}_sentences"] <= row[f"{ours}_count"]
        assert row["permutations"] == 199


def test_halves_of_one_source_differ_no_more_often_than_the_level() -> None:
    """Each text has a mould of its own, so patterns come in bunches, but no half has a habit."""
    rng = np.random.default_rng(5)
    moulds = [HUMAN[start : start + 4] for start in range(0, len(HUMAN) - 4, 2)]
    wrong = large = 0
    for split in range(10):
        chosen = [moulds[number] for number in rng.integers(0, len(moulds), 24)]
        texts = [
            Document(f"{split} {n}", " ".join(mould * 8), {"source": "ab"[n % 2]})
            for n, mould in enumerate(chosen)
        ]
        settings = Settings(by=("source",), reference="a", permutations=39)
        options = Options(of="patterns", min_count=2, min_texts=2, k=2)
        rows = compute({"keyness": options}, texts, settings=settings)[0].tables["grammar"]
        wrong += any(row["p_corrected"] < 0.05 for row in rows)
        large += any(row["z"] > 3 for row in rows)
    assert large >= 5
    assert wrong <= 2  # 10 / 40 are expected


def test_the_order_of_the_records_changes_no_p() -> None:
    texts = documents("human", HUMAN) + documents("model", MODEL)
    settings = Settings(by=("source",), reference="human", permutations=19)
    options = Options(of="patterns", min_count=2, min_texts=2, k=2)
    found = []
    for given in (texts, texts[::-1]):
        rows = compute({"keyness": options}, given, settings=settings)[0].tables["grammar"]
        found.append({(r["favoured_by"], r["pattern"]): r["p_corrected"] for r in rows})
    assert found[0] == found[1]


def test_too_few_permutations_are_said() -> None:
    texts = documents("human", HUMAN) + documents("model", MODEL)
    settings = Settings(by=("source",), reference="human", permutations=9)
    result = compute({"keyness": Options(of="patterns", k=2)}, texts, settings=settings)[0]
    assert "use --permutations 20 or more" in " ".join(result.by_source["model"].notes)
    settings = Settings(by=("source",), reference="human", permutations=0)
    result = compute(
        {"keyness": Options(of="patterns", k=2, min_count=2)}, texts, settings=settings
    )[0]
    assert all(math.isnan(row["p_corrected"]) for row in result.tables["grammar"])


def test_where_no_pattern_is_frequent_enough_none_is_listed() -> None:
    assert found(min_count=1000).tables["grammar"] == []


def test_a_pattern_moved_by_one_item_is_not_listed_again() -> None:
    rows = [r for r in found(lengths=(3,), top=50).tables["grammar"] if r["favoured_by"] == "model"]
    for one in rows:
        for other in rows:
            if one["pattern"].split()[1:] == other["pattern"].split()[:-1] and one is not other:
                assert one["source_count"] != other["source_count"]


def test_an_option_of_the_other_kind_is_refused() -> None:
    with pytest.raises(OptionError, match="--k is not for --of phrases"):
        Options(k=3)
    with pytest.raises(OptionError, match="--corpus is not for --of patterns"):
        Options(of="patterns", corpus="IDX")


def test_a_missing_reference_is_refused_before_texts_are_read(tmp_path: Path) -> None:
    path = tmp_path / "texts.jsonl"
    path.write_text('{"id": "1", "source": "a", "text": "A dog."}\n{"broken\n')
    with pytest.raises(OptionError, match=r"name one of the sources \(by\) with reference"):
        rote.keyness(path, by="source", of="patterns")
    with pytest.raises(InputError, match="line 2"):
        rote.keyness(path, by="source", of="patterns", reference="a")
