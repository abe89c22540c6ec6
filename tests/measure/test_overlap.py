"""Overlap with a training set: n-grams against a slow twin, bins and trends by hand."""

from __future__ import annotations

import json
import math
import random
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from rote.compare.correlation import rank_estimate
from rote.core.document import Document
from rote.core.errors import InputError, OptionError, UnknownName
from rote.core.result import Result
from rote.measure import Settings
from rote.measure._overlap_partition import NO_BIN, Wanted, log_ratio, partition, rank_test, ratio
from rote.measure.driver.compute import compute
from rote.measure.overlap import Options, settled, values
from tests.examples import drawn, each, one_of, some
from tests.indexes import build_index
from tests.kit import invoke, write_jsonl
from tests.measure.samples import layer_of

TEXTS = some(some("abc", 10), 6)


# -- n-grams --------------------------------------------------------------------------------


def slow(texts: list[list[str]], train: list[list[str]], n: int) -> list[bool]:
    held = {tuple(t[i : i + n]) for t in train for i in range(len(t) - n + 1)}
    return [i + n <= len(t) and tuple(t[i : i + n]) in held for t in texts for i in range(len(t))]


@given(drawn(TEXTS), drawn(some(TEXTS, 3)), st.integers(1, 5))
def test_ngrams_are_found_as_by_a_set_of_tuples(
    texts: list[list[str]], shards: list[list[list[str]]], n: int
) -> None:
    wanted = Wanted(layer_of(texts), n)
    for shard in shards:
        wanted.meet(layer_of(shard))
    together = [text for shard in shards for text in shard]
    assert wanted.found_ngrams().tolist() == slow(texts, together, n)


# -- bins -----------------------------------------------------------------------------------


def binned(shares: list[str], least: int | None) -> tuple[list[tuple[float, float]], list[int]]:
    """Bounds in points and numbers of items, from overlaps as fractions; '-' has none."""
    parts = [Fraction(s) if s != "-" else None for s in shares]
    found = np.array([p.numerator if p is not None else 0 for p in parts], np.int64)
    every = np.array([p.denominator if p is not None else 0 for p in parts], np.int64)
    made = partition(found, every, least)
    bins = made.bins(found, every)
    counted = [int((bins == bin).sum()) for bin in range(len(made))]
    assert list(made.items) == counted
    assert made.undefined == int((bins == NO_BIN).sum()) == shares.count("-")
    bounds = [made.bounds(bin) for bin in range(len(made))]
    return [(round(100 * low), round(100 * high)) for low, high in bounds], counted


def test_an_edge_belongs_to_the_bin_below_it_and_zero_to_the_first() -> None:
    shares = ["0", "1/20", "1/10", "3/20", "16/100", "1"]
    assert binned(shares, 2) == ([(0, 5), (5, 15), (15, 100)], [2, 2, 2])


def test_edges_are_exact_where_floating_point_is_not() -> None:
    # 0.15 * 20 is 3.0000000000000004 as a floating point number.
    assert binned(["0", "3/20", "7/20", "11/20"], 1)[0] == [(0, 5), (5, 15), (15, 35), (35, 100)]


def test_items_without_ngrams_are_in_no_bin() -> None:
    assert binned(["-", "-"], None) == ([(0, 100)], [0])
    assert binned([], None) == ([(0, 100)], [0])
    assert binned(["0", "-", "1"], 1) == ([(0, 5), (5, 100)], [1, 1])


def test_by_default_a_bin_holds_five_percent_of_the_items_that_have_an_overlap() -> None:
    assert partition(np.zeros(41, np.int64), np.ones(41, np.int64)).least == 3
    assert partition(np.zeros(40, np.int64), np.ones(40, np.int64)).least == 2
    with_short = np.concatenate((np.ones(40, np.int64), np.zeros(40, np.int64)))
    assert partition(np.zeros(80, np.int64), with_short).least == 2


def part_and_whole(chance: random.Random) -> tuple[int, int]:
    whole = chance.randint(0, 9)
    return chance.randint(0, whole), whole


@given(drawn(some(part_and_whole, 20)), st.one_of(st.none(), st.integers(1, 6)))
def test_bins_are_those_of_a_walk_over_sorted_items(
    pairs: list[tuple[int, int]], least: int | None
) -> None:
    made = partition(*_columns(pairs), least)
    shares = sorted(Fraction(k, m) for k, m in pairs if m)
    enough = least or max(1, math.ceil(Fraction(len(shares), 20)))
    edges, low = [], Fraction(-1)
    for step in range(1, 21):
        high = Fraction(step, 20)
        if sum(low < share <= high for share in shares) >= enough:
            edges.append(high)
            low = high
    edges = [*edges[:-1], Fraction(1)]
    assert [Fraction(edge, 20) for edge in made.edges] == edges
    lows = [Fraction(-1), *edges[:-1]]
    assert list(made.items) == [sum(a < s <= b for s in shares) for a, b in zip(lows, edges)]
    assert all(a < b for a, b in pairwise(made.edges))


def _columns(pairs: list[tuple[int, int]]) -> tuple[Any, Any]:
    return (np.array([k for k, _ in pairs], np.int64), np.array([m for _, m in pairs], np.int64))


# -- trends ---------------------------------------------------------------------------------


@given(drawn(some(each(one_of(range(5)), one_of(range(5))), 20, least=3)))
def test_the_rank_correlation_is_spearmans(pairs: list[tuple[int, int]]) -> None:
    x, y = np.array(pairs, np.float64).T
    rho, p, n = rank_test(x, y)
    assert n == len(pairs)
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        assert math.isnan(rho)
        return
    found = spearmanr(x, y)
    assert rho == pytest.approx(found.statistic)
    assert p == pytest.approx(found.pvalue, abs=1e-7)


def test_a_correlation_leaves_out_what_is_undefined() -> None:
    x = np.array([1, 2, 3, 4, math.nan])
    assert rank_test(x, np.array([1, 2, 3, math.nan, 0])) == (1.0, 0.0, 3)
    assert math.isnan(rank_test(x[:2], x[:2])[0])


def test_the_ratio_and_its_error_by_hand() -> None:
    novel, similar = np.array([1.0, 3.0]), np.array([4.0, 8.0])
    assert ratio(novel, similar) == 3
    column, bins = np.concatenate((novel, similar)), np.array([0, 0, 1, 1])
    logs = log_ratio(column, bins, np.arange(4), 1)
    assert logs.value == pytest.approx(math.log(3))
    # Standard errors of the means are 1 and 2, relative to means of 2 and 6.
    assert logs.error == pytest.approx(math.hypot(1 / 2, 2 / 6))
    # Two texts of one item are no two items.
    assert math.isnan(log_ratio(column, bins, np.array([0, 0, 1, 2]), 1).error)
    assert math.isnan(ratio(np.array([0.0, 0.0]), similar))
    nothing = np.concatenate((np.zeros(2), similar))
    assert math.isnan(log_ratio(nothing, bins, np.arange(4), 1).interval(0.95)[0])


@pytest.mark.parametrize(("novel", "similar"), [(67, 28), (24, 24)])
def test_the_interval_of_a_ratio_misses_as_often_on_either_side(novel: int, similar: int) -> None:
    """Scores like ROUGE-2, skewed and often 0; plain standard errors miss in 8 % on one side."""
    rng, runs = np.random.default_rng(1), 1_500
    bins = np.repeat([0, 1], [novel, similar])
    below = above = 0
    for _ in range(runs):
        column = rng.gamma(1.2, 0.2, len(bins)) * (rng.random(len(bins)) < 0.7)
        low, high = log_ratio(column, bins, np.arange(len(bins)), 1).exp_interval(0.95)
        below, above = below + (high < 1), above + (low > 1)
    # Half of 5 % on each side; the share itself has a standard error of 0.4 points.
    assert 0.01 <= below / runs <= 0.042
    assert 0.01 <= above / runs <= 0.042


@pytest.mark.parametrize("ties", [False, True])
def test_a_rank_correlation_knows_what_each_item_adds_to_it(ties: bool) -> None:
    rng = np.random.default_rng(2)
    x = rng.integers(0, 8, 60).astype(float) if ties else rng.random(60)
    y = x + rng.random(60) * 3
    y = np.round(y) if ties else y
    found = rank_estimate(x, y, np.arange(60))
    assert found.value == pytest.approx(rank_test(x, y)[0])
    left_out = [rank_test(np.delete(x, i), np.delete(y, i))[0] for i in range(60)]
    jackknife = math.sqrt(59 / 60 * float(((left_out - np.mean(left_out)) ** 2).sum()))
    assert found.error == pytest.approx(jackknife, rel=0.1)
    # Every item twice is as sure as every item once.
    twice = rank_estimate(np.tile(x, 2), np.tile(y, 2), np.tile(np.arange(60), 2))
    assert twice.error == pytest.approx(found.error, rel=0.05)


# -- the measure ----------------------------------------------------------------------------

OLD = "the ferry left the pier at nine"
NEW = "grey gulls argued over seven unsold oranges"
HALF = "the ferry left the harbour in fog"
"""Of its four 4-grams the training set holds the first."""


@pytest.fixture
def train(tmp_path: Path) -> str:
    return str(write_jsonl(tmp_path / "train.jsonl", [{"id": "pier", "text": OLD}]))


def records(source: str, rises: bool) -> list[Document]:
    """Answers to eight items, two of each overlap; they are right where the item is known."""
    found = []
    for number, reference in enumerate([NEW, NEW, HALF, HALF, HALF, OLD, OLD, "too short"]):
        known = reference == OLD
        text = reference if known and rises else f"{reference.split()[0]} and nothing else here"
        meta = {"doc_id": str(number), "reference": reference, "grade": str(number % 3)}
        found.append(Document(f"{source}:{number}", text, meta))
    return found


def measured(texts: Any, train: str | None, jobs: int = 1, **own: Any) -> Result:
    own = {"on": "reference", "min_samples": 2, **own}
    options = Options(train=train, **own)
    return compute(
        {"overlap": options}, texts, settings=Settings(permutations=0, jobs=jobs, per_text=True)
    )[0]


def test_overlap_bins_scores_ratio_and_trend_by_hand(train: str) -> None:
    texts = {"learner": records("learner", True), "other": records("other", False)}
    result = measured(texts, train, scores=("rouge_1", "grade"))
    values = result.by_source["learner"].values
    assert values["overlap"] == pytest.approx((0 + 0 + 3 / 4 + 1 + 1) / 7)
    # T_nov: one of 7 words of the reference in 5 words of the text; T_sim: all.
    assert values["rouge_1_nov"] == pytest.approx(2 / 12)
    assert values["rouge_1_sim"] == 1
    assert values["rouge_1_ratio"] == pytest.approx(6)
    assert result.by_source["other"].values["rouge_1_ratio"] == pytest.approx(1)
    assert values["grade_nov"] == 0.5
    assert values["grade_sim"] == 1
    assert values["rouge_1_trend"] > 0.8
    bins = [row for row in result.tables["partition"] if row["source"] == "learner"]
    assert [(row["name"], row["low"], row["high"], row["items"], row["texts"]) for row in bins] == [
        ("T_nov", 0, 0.05, 2, 2),
        (None, 0.05, 0.25, 3, 3),
        ("T_sim", 0.25, 1, 2, 2),
        ("too short", None, None, 1, 1),
    ]
    assert "1 of 8 items have fewer than 4 words: no bin" in result.by_source["learner"].notes


@pytest.mark.usefixtures("pickling_pool")
def test_an_index_and_a_file_of_the_same_texts_agree_at_any_number_of_jobs(
    train: str, tmp_path: Path
) -> None:
    build_index(Path(train), tmp_path / "idx", layers="word")
    texts = {"learner": records("learner", True)}
    rows = [
        measured(texts, where, jobs, scores=("rouge_2",)).tables["items"]
        for where, jobs in ((train, 1), (train, 2), (str(tmp_path / "idx"), 1))
    ]
    assert [row["found"] for row in rows[0]] == [0, 0, 1, 1, 1, 4, 4, 0]
    assert [row["ngrams"] for row in rows[0]] == [4, 4, 4, 4, 4, 4, 4, 0]
    assert repr(rows[0]) == repr(rows[1]) == repr(rows[2])


def test_case_counts_unless_the_layer_folds_it(train: str) -> None:
    texts = [OLD.upper(), OLD.title()]
    assert measured(texts, train, on="text").by_source["texts"].values["overlap"] == 0
    folded = measured(texts, train, on="text", layer="lower")
    assert folded.by_source["texts"].values["overlap"] == 1


def test_sources_that_answer_the_same_items_do_not_make_more_items(train: str) -> None:
    one = measured({"a": records("a", True)}, train)
    three = measured({name: records(name, True) for name in "abc"}, train)
    per_source = [r for r in three.tables["partition"] if r["source"] == "a"]
    assert [r["items"] for r in per_source] == [r["items"] for r in one.tables["partition"]]


def test_texts_that_are_looked_up_themselves_are_items_each(train: str) -> None:
    texts = {
        name: [Document(f"{name}:{n}", text, {"doc_id": str(n)}) for n, text in enumerate(own)]
        for name, own in {"a": [OLD, NEW], "b": [NEW, NEW]}.items()
    }
    result = measured(texts, train, on="text", min_samples=1)
    assert [row["items"] for row in result.tables["partition"] if row["source"] == "a"] == [3, 1]


def test_the_excess_over_a_control_and_the_share_of_another(train: str) -> None:
    texts = {"learner": records("learner", True), "other": records("other", False)}
    result = measured(texts, train, scores=("rouge_1",), control="other", normalize_to="other")
    bins = {(row["source"], row["name"]): row for row in result.tables["bins"]}
    assert bins["learner", "T_nov"]["excess"] == 0
    assert bins["learner", "T_sim"]["excess"] == pytest.approx(1 - 2 / 12)
    assert bins["learner", "T_sim"]["normalized"] == pytest.approx(6)
    assert math.isnan(bins["other", "T_sim"]["excess"])
    trend = next(row for row in result.tables["trends"] if row["source"] == "learner")
    assert trend["rise"] == pytest.approx(1 - 2 / 12)
    assert trend["ratio"] == pytest.approx(6)


def test_a_number_has_one_interval_wherever_it_stands(train: str) -> None:
    texts = {"learner": varied("learner"), "other": varied("other")}
    for level in (0.95, 0.5):
        result = overlapping(texts, train, level=level, placebo=train)
        for row in result.tables["trends"]:
            for part in ("nov", "sim", "ratio", "trend", "over_placebo"):
                name = f"{row['score']}_{part}"
                source = result.by_source[row["source"]]
                assert source.values[name] == pytest.approx(row[part])
                ends = (row[f"{part}_low"], row[f"{part}_high"])
                if math.isnan(ends[0]):
                    assert name not in source.intervals
                else:
                    assert source.intervals[name] == ends
        for row in result.tables["bins"]:
            if part := {"T_nov": "nov", "T_sim": "sim"}.get(row["name"]):
                ends = result.by_source[row["source"]].intervals[f"{row['score']}_{part}"]
                assert (row["mean_low"], row["mean_high"]) == ends
    without = overlapping(texts, train, level=0, placebo=train)
    assert not without.by_source["learner"].intervals
    for table in ("bins", "trends"):
        for row in without.tables[table]:
            assert all(math.isnan(row[key]) for key in row if key.endswith(("_low", "_high")))


def varied(source: str) -> list[Document]:
    """Answers to 40 items of four overlaps, with grades that vary and rise."""
    rng = np.random.default_rng(len(source))
    found = []
    for number in range(40):
        reference = (NEW, NEW, HALF, OLD)[number % 4]
        grade = float(rng.random() + number % 4)
        meta = {"doc_id": str(number), "reference": reference, "grade": grade}
        found.append(Document(f"{source}:{number}", reference.split()[0], meta))
    return found


def overlapping(texts: Any, train: str, level: float = 0.95, **own: Any) -> Result:
    options = Options(train=train, **{"on": "reference", "scores": ("grade",), **own})
    return compute({"overlap": options}, texts, settings=Settings(permutations=0, interval=level))[
        0
    ]


def test_a_placebo_that_is_the_training_set_leaves_no_excess(train: str) -> None:
    (row,) = overlapping({"a": varied("a")}, train, placebo=train).tables["trends"]
    assert row["train_ratio"] == row["placebo_ratio"] == pytest.approx(row["ratio"])
    assert row["over_placebo"] == 1
    assert row["trend_over_placebo"] == 0
    assert row["train_trend"] == pytest.approx(row["trend"])


def test_the_excess_over_a_placebo_that_holds_other_items(train: str, tmp_path: Path) -> None:
    """By the placebo the items of NEW are the similar ones, whose grades are low."""
    other = write_jsonl(tmp_path / "placebo.jsonl", [{"id": "gulls", "text": NEW}])
    result = overlapping({"a": varied("a")}, train, placebo=str(other))
    (row,) = result.tables["trends"]
    assert row["train_ratio"] > 1 > row["placebo_ratio"]
    assert row["over_placebo"] == pytest.approx(row["train_ratio"] / row["placebo_ratio"])
    assert 1 < row["over_placebo_low"] < row["over_placebo"] < row["over_placebo_high"]
    assert row["trend_over_placebo_low"] > 0
    first = [v["value"] for v in result.tables["values"]][1]
    assert first == "grade_over_placebo"  # what is led with
    assert any("7 words each" in note for note in result.by_source["a"].notes)


def test_the_larger_set_is_drawn_whatever_the_order_of_its_texts(
    train: str, tmp_path: Path
) -> None:
    lines = [json.dumps({"id": str(n), "text": t}) for n, t in enumerate([OLD, NEW, HALF] * 4)]
    found = []
    for number, own in enumerate((lines, lines[::-1])):
        large = tmp_path / f"{number}.jsonl"
        large.write_text("\n".join(own))
        result = overlapping({"a": varied("a")}, str(large), placebo=train)
        assert any("training set (20 draws)" in note for note in result.by_source["a"].notes)
        found.append(result.tables["trends"][0]["trend_over_placebo"])
    assert found[0] == found[1]
    assert not math.isnan(found[0])


def test_a_placebo_needs_texts_that_can_be_drawn(train: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="--train"):
        Options(placebo=train)
    build_index(Path(train), tmp_path / "idx", layers="word")
    with pytest.raises(OptionError, match="cannot be sampled"):
        overlapping({"a": varied("a")}, str(tmp_path / "idx"), placebo=train)


def test_texts_on_one_document_belong_together_in_the_trend_too(train: str) -> None:
    once = overlapping({"a": varied("a")}, train).tables["trends"][0]
    copies = [Document(f"{d.id}.{n}", d.text, d.meta) for d in varied("a") for n in range(3)]
    thrice = overlapping({"a": copies}, train).tables["trends"][0]
    assert (thrice["texts"], thrice["items"]) == (3 * once["texts"], once["items"])
    assert thrice["trend"] == pytest.approx(once["trend"])
    width, wide = (row["trend_high"] - row["trend_low"] for row in (once, thrice))
    assert wide == pytest.approx(width, rel=0.4)
    assert thrice["p"] < 0.05


def test_a_control_that_is_no_source_is_refused(train: str) -> None:
    with pytest.raises(UnknownName, match=r"--control"):
        measured({"a": records("a", True)}, train, control="b")


def test_pairs_are_the_items_that_both_have(train: str) -> None:
    texts = {"learner": records("learner", True), "other": records("other", False)[:6]}
    result = measured(texts, train, scores=("rouge_1",), control="other")
    (similar,) = [
        row
        for row in result.tables["bins"]
        if row["source"] == "learner" and row["name"] == "T_sim"
    ]
    assert similar["texts"] == 2
    assert math.isnan(similar["excess_low"])  # one item in both


def test_one_bin_has_neither_end(train: str) -> None:
    result = measured({"a": records("a", True)}, train, scores=("rouge_1",), min_samples=100)
    source = result.by_source["a"]
    assert all(math.isnan(source.values[f"rouge_1_{part}"]) for part in ("nov", "sim", "ratio"))
    assert any("all items are in one bin" in note for note in source.notes)
    (row,) = result.tables["trends"]
    assert all(math.isnan(row[f"ratio{end}"]) for end in ("", "_low", "_high"))
    assert source.values["rouge_1_trend"] > 0.8


def test_items_that_are_all_too_short_have_no_values_but_a_note(train: str) -> None:
    source = measured(["one two", "three"], train, on="text").by_source["texts"]
    assert math.isnan(source.values["overlap"])
    assert "2 of 2 items have fewer than 4 words: no bin" in source.notes


def test_a_score_that_is_no_number_is_an_error_and_an_empty_one_undefined(train: str) -> None:
    good = [Document(f"{n}", OLD, {"grade": g}) for n, g in enumerate(["true", "False", "", "2"])]
    rows = measured(good, train, on="text", scores=("grade",)).tables["items"]
    assert [row["grade"] for row in rows][:2] == [1, 0]
    assert math.isnan(rows[2]["grade"])
    with pytest.raises(InputError, match="the score of '9' is not a number: 'good'"):
        measured([Document("9", OLD, {"grade": "good"})], train, on="text", scores=("grade",))


def test_null_in_a_score_is_as_empty_as_nothing(train: str) -> None:
    found = []
    for missing in (None, ""):
        own = [Document(f"{n}", OLD, {"grade": g}) for n, g in enumerate([1, missing, 0.5])]
        found.append(measured(own, train, on="text", scores=("grade",)))
    assert repr(found[0].tables["items"]) == repr(found[1].tables["items"])
    assert math.isnan(found[0].tables["items"][1]["grade"])
    # What is looked up is a text, and null is none: said as it is.
    with pytest.raises(InputError, match="is null"):
        measured([Document("9", OLD, {"reference": None})], train, scores=("none",))


def test_numbers_of_the_records_and_entities_are_scores_too(train: str) -> None:
    meta = {"reference": OLD, "document": "John Smith went to York.", "grade": 0.5, "right": True}
    texts = [Document("1", "John Smith left.", meta), Document("2", "Ann Lee left.", meta)]
    rows = measured(texts, train, scores=("entities", "grade", "right")).tables["items"]
    assert [row["entity_precision"] for row in rows] == [1, 0]
    assert [(row["grade"], row["right"]) for row in rows] == [(0.5, 1), (0.5, 1)]


def test_the_fields_of_the_records_settle_what_is_left_open() -> None:
    rouge = ("rouge_1", "rouge_2", "rouge_l")
    entities = ("entity_recall", "entity_precision", "entity_remembered")
    plain = settled(Options(), {"doc_id"})
    assert (plain.on, plain.scores) == ("text", ("none",))
    assert settled(Options(), {"reference"}).scores == rouge
    both = settled(Options(), {"reference", "document"})
    assert (both.on, both.scores) == ("reference", (*rouge, *entities))
    assert settled(Options(scores=("none",)), {"reference"}).scores == ("none",)
    chosen = settled(Options(on="text", scores=("rouge_2", "entities", "grade")), {"reference"})
    assert (chosen.on, chosen.scores) == ("text", ("rouge_2", *entities, "grade"))
    assert values(Options(scores=("rouge",))) == values(Options(scores=rouge))
    with pytest.raises(OptionError, match="rename the field"):
        settled(Options(scores=("rouge_2",)), {"reference", "rouge_2"})


def test_an_index_without_the_layer_says_how_to_add_it(train: str, tmp_path: Path) -> None:
    build_index(Path(train), tmp_path / "idx", layers="lower")
    with pytest.raises(OptionError, match=r"rote index add-layer .* word"):
        measured([OLD], str(tmp_path / "idx"), on="text")


# -- the command ----------------------------------------------------------------------------


def run(*arguments: str) -> Any:
    return invoke("overlap", *arguments)


def test_without_a_training_set_nothing_is_known_and_a_note_says_so() -> None:
    source = measured([OLD], None, on="text").by_source["texts"]
    assert math.isnan(source.values["overlap"])
    assert any("--train" in note for note in source.notes)


def test_references_are_held_against_the_references_of_training_records(tmp_path: Path) -> None:
    import json

    import rote

    path = tmp_path / "train.jsonl"
    path.write_text(
        json.dumps(
            {"id": "1", "text": "A long article.", "reference": "the heron stood quite still"}
        )
    )
    item = rote.Document("1", "some output text here", {"reference": "the heron stood quite still"})
    other = rote.Document(
        "2", "some output text here", {"reference": "a wholly new sentence stands"}
    )
    found = rote.overlap([item, other], train=str(path), min_samples=1, permutations=0)
    assert {row["overlap"] for row in found.tables["items"]} == {0.0, 1.0}
