"""Values at equal length: what they rest on, and that the test holds its level."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rote
from rote.annotate.trees import head_layer
from rote.core import plugins
from rote.core.arrays import Integers
from rote.core.layer import Layer
from rote.core.metric import Metric, Work
from rote.core.sample import Cut, Need, RawText, Sample
from rote.measure import originality, semantic, style, syntactic
from rote.measure._originality_tables import Rows
from rote.measure._sentences import Embedded, Sentences
from rote.measure.driver.equal_lengths import EqualLengths, match_lengths
from tests.kit import write_jsonl

from .by_path import lengths
from .samples import sample_of

STUDIES = 25
SEEDS = range(1000, 1000 + STUDIES)
MOST = 6
"""Of 25 studies at a level of 5 %: more come out wrong in 2 of 10,000 such tries."""


def studied(name: str, sources: dict[str, list[list[str]]]) -> EqualLengths:
    metric = plugins.load("measure", name).METRIC
    texts = [text for own in sources.values() for text in own]
    sample = sample_of(texts, *metric.needs(metric.options()))
    counts = {source: len(own) for source, own in sources.items()}
    return at_equal_size(metric, sample, counts, np.full(len(texts), -1, np.int64), 0)


def at_equal_size(
    metric: Metric, sample: Sample, counts: dict[str, int], strata: Integers, seed: int
) -> EqualLengths:
    """Of sources with so many texts, one source behind the other."""
    ends, numbers = np.cumsum(list(counts.values())), np.arange(len(sample))
    work = Work(
        groups=dict(zip(counts, np.split(numbers, ends[:-1]))),
        ids=[f"{seed} {number}" for number in numbers],
        strata=strata,
        seed=seed,
    )
    rows = metric.rows(sample, metric.options(), work)
    found, _ = match_lengths(metric, metric.options(), sample, rows, work, numbers)
    assert found is not None
    return found


Made = tuple[Metric, Sample, Any]
NOTHING = np.empty(0, np.int64)
EMPTY = Rows(
    Layer("lower", NOTHING, (), NOTHING, NOTHING, NOTHING),
    RawText(np.empty(0, np.uint8), NOTHING),
    Sentences(NOTHING, NOTHING, NOTHING),
    np.empty((0, originality.COLUMNS)),
)


def semantic_rows(metric: Metric, sizes: Integers, rng: np.random.Generator, work: Work) -> Made:
    """So many sentences in a text, around what it is about."""
    texts = np.repeat(np.arange(len(sizes)), sizes)
    vectors = rng.normal(size=(len(sizes), 6))[texts] + rng.normal(size=(len(texts), 6))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    places, none = np.arange(len(texts)), np.zeros(len(sizes), np.int64)
    sentences = Sentences(places, places + 1, texts)
    whole = np.zeros(len(texts), np.bool_)
    found = Embedded(vectors.astype(np.float32), sentences, whole, sizes, none, none, {})
    return metric, Sample(sizes, {}), semantic.arranged(found, work)


def originality_rows(metric: Metric, sizes: Integers, rng: np.random.Generator, work: Work) -> Made:
    """Sums over so many sentences of 20 words, most of whose n-grams are known."""
    sums = np.zeros((len(sizes), originality.COLUMNS))
    sums[:, originality.SENTENCES] = sums[:, originality.HOLDING] = sizes
    sums[:, originality.WORDS] = sums[:, originality.NEAREST] = 20 * sizes
    surprise = rng.gamma(20, 0.4, len(sizes))
    sums[:, originality.BITS] = 20 * sizes * surprise
    sums[:, originality.TOTAL] = sizes[:, None] * np.array([20, 19, 18, 17])
    share = np.array([0.9, 0.6, 0.3, 0.1]) ** (surprise[:, None] / 8)
    sums[:, originality.FOUND] = rng.binomial(sums[:, originality.TOTAL].astype(int), share)
    return metric, Sample(sizes, {}), replace(EMPTY, sums=sums)


def syntactic_rows(metric: Metric, sizes: Integers, rng: np.random.Generator, work: Work) -> Made:
    """So many sentences of six words, each of which hangs on one of the three before it."""
    words = 6 * int(sizes.sum())
    places = np.arange(words)
    heads = np.maximum(places - rng.integers(1, 4, words), places - places % 6)
    heads[::6] = -1
    sample = sentences_of_six(rng.integers(0, 6, words), heads, sizes)
    return metric, sample, metric.rows(sample, metric.options(), work)


def sentences_of_six(tags: Integers, heads: Integers, sizes: Integers) -> Sample:
    upos = Layer(
        *("upos", tags.astype(np.int32), tuple("ABCDEF"), NOTHING, NOTHING),
        *(np.cumsum(6 * sizes), np.arange(6, len(tags) + 1, 6)),
    )
    head = head_layer(replace(upos, name="word"), heads.astype(np.int32))
    layers = {syntactic.WORD: upos, syntactic.UPOS: upos, syntactic.HEAD: head}
    return Sample(6 * sizes, layers)


def test_trees_of_cut_texts_are_those_of_texts_with_these_sentences_alone() -> None:
    rng, metric = np.random.default_rng(3), plugins.load("measure", "syntactic").METRIC
    sizes, options = np.array([4, 9, 5, 7, 3, 6]), metric.options()
    owners = {"a": np.array([0, 1, 2]), "b": np.array([3, 4, 5])}
    work = Work(groups=owners, reference="a", ids=[*"uvwxyz"], strata=np.full(6, -1, np.int64))
    words = 6 * int(sizes.sum())
    places, tags = np.arange(words), rng.integers(0, 6, words)
    heads = np.maximum(places - rng.integers(1, 4, words), places - places % 6)
    heads[::6] = -1
    rows = metric.rows(sentences_of_six(tags, heads, sizes), options, work)
    texts, firsts = np.array([0, 1, 3, 5]), np.array([0, 4, 2, 2])
    cut = metric.cut(rows, Cut(texts, firsts, sizes[texts], 4), options)
    begins = 6 * (np.cumsum(sizes) - sizes)[texts] + 6 * firsts
    kept = (begins[:, None] + np.arange(24)).ravel()
    moved = np.where(heads[kept] < 0, -1, heads[kept] - kept + np.arange(len(kept)))
    alone = replace(work, groups={"a": np.array([0, 1]), "b": np.array([2, 3])}, ids=[*"uvxz"])
    alone = replace(alone, strata=np.full(4, -1, np.int64))
    made = metric.rows(sentences_of_six(tags[kept], moved, np.full(4, 4)), options, alone)
    for take in (np.array([0, 1]), np.array([2, 3]), np.array([0, 2, 3])):
        found, slow = (metric.reduce(one, take, options, rng) for one in (cut, made))
        assert found == pytest.approx(slow)
        assert 0 < slow["wl"] < 1


def style_rows(metric: Metric, sizes: Integers, rng: np.random.Generator, work: Work) -> Made:
    """A dimension is here the mean of random numbers, one of each word."""
    ends = np.cumsum(10 * sizes)
    levels = np.repeat(rng.normal(100, 10, len(sizes)), 10 * sizes)
    ids = rng.normal(levels, 30).clip(0, 199).astype(np.int32)
    nothing = np.empty(0, np.int32)
    need = metric.needs(metric.options())[0]
    words = Layer(need.layer, ids, tuple(map(str, range(200))), nothing, nothing, ends)

    def rows(sample: Sample, options: Any, work: Work) -> style.StyleRows:
        own = sample.layer(need)
        score = np.add.reduceat(own.ids, own.text_starts) / (own.text_ends - own.text_starts)
        columns = np.repeat(score[:, None], len(metric.values(options)), axis=1)
        scores = {v.name: score for v in metric.values(options)}
        return style.StyleRows(own.text_ends - own.text_starts, columns, scores)

    sample, own = Sample(10 * sizes, {need: words}), replace(metric, rows=rows)
    return own, sample, rows(sample, metric.options(), work)


def test_values_are_those_of_the_windows_by_hand() -> None:
    rng = np.random.default_rng(1)
    sources = {
        source: [
            [f"w{n}" for n in rng.integers(0, 400, size)] for size in rng.integers(low, 90, 12)
        ]
        for source, low in (("a", 42), ("b", 50))
    }
    found = studied("lexical", sources)
    plan, order = found.plan, found.source.order
    texts = [text for own in sources.values() for text in own]
    assert plan.size is not None
    for source, values in found.by_source().values.items():
        ratios = []
        blocks = order.blocks(plan.groups[source], plan.windows, plan.draws)
        for draw, block in enumerate(blocks):
            cut = order.cut(block, found.source.sizes, plan.size, draw)
            drawn = [texts[t][first : first + plan.size] for t, first in zip(block, cut.firsts)]
            words = [word for window in drawn for word in window]
            assert len(drawn) == plan.windows
            assert len(words) == plan.windows * plan.size
            ratios.append(len(set(words)) / len(words))
        assert len(set(ratios)) > 1
        assert values["ttr"] == pytest.approx(np.mean(ratios))


COUNTS = 12, 20
WORDS = {"templates": 50, "homogenization": 50}
"""In a short text, where fewer than 60 are enough."""
PREPARED = {
    "semantic": semantic_rows,
    "originality": originality_rows,
    "syntactic": syntactic_rows,
    "style": style_rows,
}


def prepared_p_values(name: str, ratio: int, seed: int) -> dict[str, float]:
    """Of measures that need a model of language: from random numbers in place of what it finds."""
    rng = np.random.default_rng([seed, ratio])
    metric = plugins.load("measure", name).METRIC
    sizes = rng.integers(4, 7, sum(COUNTS)) * np.repeat([1, ratio], COUNTS)
    numbers = np.arange(len(sizes))
    work = Work(
        groups={"short": numbers[: COUNTS[0]], "long": numbers[COUNTS[0] :]},
        reference="short",
        ids=[str(number) for number in numbers],
        strata=np.full(len(sizes), -1, np.int64),
        seed=seed,
    )
    metric, sample, rows = PREPARED[name](metric, sizes, rng, work)
    equal, _ = match_lengths(metric, metric.options(), sample, rows, work, rng.permutation(numbers))
    assert equal is not None
    return lengths.p_values(equal.test("long", "short", equal.by_source(), 19, lambda amount: None))


@pytest.mark.parametrize("name", lengths.LEVEL_OF)
def test_what_texts_contribute_does_not_depend_on_their_labels(name: str) -> None:
    """A test divides by the spread of it, for the observed labels as for permuted ones."""
    metric = plugins.load("measure", name).METRIC
    needs, numbers = metric.needs(metric.options()), np.arange(30)
    column = np.random.default_rng(0).geometric(0.2, 30 * 80).astype(np.int32) % 12
    # All as long, so that windows are the same whatever the labels.
    sample = lengths.random_texts(np.full(30, 80), column, needs)
    mixed = np.random.default_rng(0).permutation(numbers)
    contributed = []
    for order in (numbers, mixed):
        work = Work(
            groups={"few": np.sort(order[:10]), "many": np.sort(order[10:])},
            reference="few",
            ids=[str(number) for number in numbers],
            strata=np.full(len(numbers), -1, np.int64),
        )
        rows = metric.rows(sample, metric.options(), work)
        equal, _ = match_lengths(metric, metric.options(), sample, rows, work, numbers)
        assert equal is not None
        contributed.append(equal.contributions(numbers, set(equal.names))[0])
    for value, column in contributed[0].items():
        assert column == pytest.approx(contributed[1][value], nan_ok=True), value


@pytest.mark.parametrize("name", [*lengths.LEVEL_OF, *PREPARED])
def test_under_no_difference_but_length_one_test_of_twenty_finds_one(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches what length alone does: on whole texts, ten times as long, 4 to 10 studies of 10
    find a difference. A level that is a little off shows in benchmarks/levels.py."""
    monkeypatch.setattr("rote.compare.equal_sizes.DRAWS", 6)  # not 20
    if name in PREPARED:
        found = [prepared_p_values(name, 10, seed + 1000) for seed in SEEDS]
    else:
        found = [
            lengths.null_p_values(name, COUNTS, 10, seed, WORDS.get(name, 60)) for seed in SEEDS
        ]
    alarms = {value: sum(one[value] <= 0.05 for one in found) for value in found[0]}
    assert alarms
    assert max(alarms.values()) <= MOST, alarms
    for value in alarms:
        tested = [one[value] for one in found if not math.isnan(one[value])]
        assert len(tested) > STUDIES / 3, value
        # A test that never finds anything would hold its level, too.
        assert 0.25 < np.mean(tested) < 0.8, value


def test_unequal_numbers_of_answers_hold_the_level_at_equal_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Answers of a source to a prompt repeat themselves alike. Exchanged one by one: 9 to 17 %.
    monkeypatch.setattr("rote.compare.equal_sizes.DRAWS", 6)
    counts, studies = (1, 5), 50
    strata = np.concatenate([np.repeat(np.arange(20), count) for count in counts])
    wrong: dict[str, int] = {}
    metric, texts = plugins.load("measure", "lexical").METRIC, [20 * count for count in counts]
    for seed in range(studies):
        rng = np.random.default_rng(seed)
        kinds = np.concatenate([np.repeat(rng.integers(10, 60, 20), count) for count in counts])
        sizes = rng.integers(45, 70, len(kinds))
        words = rng.integers(0, np.repeat(kinds, sizes)).astype(np.int32)
        sample = lengths.random_texts(sizes, words, metric.needs(metric.options()))
        equal = at_equal_size(metric, sample, dict(zip("ab", texts)), strata, seed)
        tests = equal.test("a", "b", equal.by_source(), 19, lambda amount: None)
        for value in ("unique_1", "unique_2", "mtld", "entropy"):
            wrong[value] = wrong.get(value, 0) + (tests[value].p <= 0.05)
    assert 0.01 <= sum(wrong.values()) / (4 * studies) <= 0.085, wrong


def test_texts_too_short_for_mattr_do_not_make_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    """One side is cut to quarters, most of them shorter than the window of 50 words. Which have 50
    is not chance: longer texts are more repetitive, as they often are."""
    monkeypatch.setattr("rote.compare.equal_sizes.DRAWS", 6)
    metric, counts = plugins.load("measure", "lexical").METRIC, {"whole": 20, "cut": 20}
    differences, undefined, windows, alarms = [], [], [], 0
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        lengths_ = rng.integers(164, 284, 40)
        sizes = lengths_ // np.repeat([1, 4], 20)
        kinds = np.repeat(120 - (lengths_ - 164) // 4, sizes)
        words = rng.integers(0, kinds).astype(np.int32)
        sample = lengths.random_texts(sizes, words, metric.needs(metric.options()))
        equal = at_equal_size(metric, sample, counts, np.full(40, -1, np.int64), seed)
        whole, cut = np.split(equal.source.rows.texts["mattr"], 2)
        undefined.append(np.isnan(cut).mean())
        differences.append(np.nanmean(cut) - np.nanmean(whole))
        found = equal.test("cut", "whole", equal.by_source(), 19, lambda amount: None)["mattr"]
        assert equal.plan.size is not None
        assert equal.source.options.window == min(equal.plan.size, 50)
        windows.append(equal.plan.size)
        alarms += found.p <= 0.05
    assert np.mean(undefined) > 0.2
    assert np.mean(np.array(windows) < 50) > 0.9
    # What is left of the cut texts is more repetitive.
    assert np.mean(differences) / np.std(differences) * np.sqrt(STUDIES) < -3
    assert alarms <= MOST


def test_what_equal_length_leaves_out_for_want_of_words_is_not_tested() -> None:
    rng = np.random.default_rng(5)

    def texts(*sizes: int) -> list[str]:
        return [" ".join(f"w{n}" for n in rng.integers(0, 90, size)) for size in sizes]

    short = {"a": texts(*[8] * 3, *[45] * 17), "b": texts(*[60] * 20)}
    result = rote.lexical(short, reference="b", permutations=39, interval=0)
    assert result.notes[0] == (
        "lexical: no usable equal length for a: more than a tenth of the texts are shorter than 40 "
        "words"
    )
    assert "matched" not in result.tables
    # Others are compared without it.
    three = rote.lexical({**short, "c": texts(*[50] * 20)}, reference="b", permutations=39)
    compared = {row["source"] for row in three.comparisons if "matched_p" in row}
    assert compared == {"c"}
    assert {row["source"] for row in three.tables["matched"]} == {"b", "c"}
    assert result.notes[0] in three.notes
    enough = {**short, "a": [*short["a"][1:], *texts(45)]}
    fewer = rote.lexical(enough, reference="b", permutations=39)
    assert fewer.tables["matched"][0]["left_out"] == 2
    assert all(not math.isnan(r["matched_p"]) for r in fewer.comparisons if "matched_p" in r)


def test_long_texts_do_not_pass_for_repetitive_ones() -> None:
    # The short texts share more of each hundred words; the long ones share more in all.
    rng = np.random.default_rng(2)
    phrases = [[f"p{n}-{k}" for k in range(4)] for n in range(300)]

    def text(size: int, kinds: int) -> list[str]:
        chosen = rng.integers(0, kinds, size // 4)
        return [word for phrase in chosen for word in phrases[phrase]]

    sources = {
        "short": [text(60, 200) for _ in range(25)],
        "long": [text(480, 300) for _ in range(25)],
    }
    found = studied("self-repetition", sources)
    values = found.by_source().values
    raw = {
        source: found.source.metric.reduce(
            found.source.rows, take, found.source.options, np.random.default_rng(0)
        )["self_repetition"]
        for source, take in found.source.work.groups.items()
    }
    assert raw["long"] > raw["short"] + 0.5
    assert values["long"]["self_repetition"] < values["short"]["self_repetition"]


@pytest.mark.parametrize(("sharing", "tested"), [(4, False), (5, True), (25, True), (26, False)])
def test_what_hardly_any_or_nearly_all_texts_share_is_not_tested_at_equal_length(
    sharing: int, tested: bool
) -> None:
    """With fewer than five texts that differ from the others, 10 % of null studies had p <= 0.05 at
    a length ratio of 10."""
    rng = np.random.default_rng(6)

    def text(number: int, size: int) -> list[str]:
        if number < sharing:  # alike in every window
            return "one two three four five six".split() * (size // 6)
        return [f"{number}-{place}" for place in range(size)]

    numbers = rng.permutation(30)
    sources = {
        "short": [text(n, 60) for n in numbers[:15]],
        "long": [text(n, 600) for n in numbers[15:]],
    }
    found = studied("self-repetition", sources)
    _, too_rare = found.contributions(np.arange(30), {"self_repetition"})
    assert too_rare == (set() if tested else {"self_repetition"})
    if not tested:
        test = found.test("long", "short", found.by_source(), 39, lambda amount: None)
        assert test["self_repetition"].least == 1


def test_the_table_says_what_a_value_rests_on_and_who_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "texts.jsonl"
    rng = np.random.default_rng(3)
    records = [
        {"id": f"{s}{n}", "source": s, "text": " ".join(f"w{i}" for i in rng.integers(0, 9, size))}
        for s, sizes in (("a", [4, *range(40, 59)]), ("b", range(100, 120)))
        for n, size in enumerate(sizes)
    ]
    write_jsonl(path, records)
    result = rote.self_repetition(path, by="source", reference="a", permutations=19)
    rows: dict[str, Any] = {row["source"]: row for row in result.tables["matched"]}
    assert rows["a"]["low"] < rows["a"]["mean"] < rows["a"]["high"]
    assert rows["a"] | {"mean": 0, "low": 0, "high": 0} == {
        "source": "a",
        "value": "self_repetition",
        "words": 18 * 41,
        "window": 41,
        "windows": 18,
        "left_out": 2,
        "mean": 0,
        "low": 0,
        "high": 0,
        "draws": 20,
    }
    assert rows["b"]["left_out"] == 0
    (row,) = result.comparisons
    assert row["matched_difference"] == rows["b"]["mean"] - rows["a"]["mean"]
    assert any("shorter texts left out: a 2" in note for note in result.notes)
    moves = result.tables["values"][0]
    assert (moves["moves_with_texts"], moves["moves_with_length"]) == (True, True)
    assert moves["length_sensitive"]


def test_texts_too_short_for_a_window_are_said_to_be(tmp_path: Path) -> None:
    result = rote.lexical({"a": ["one two three"] * 5, "b": ["word " * 39] * 5}, reference="a")
    assert "matched" not in result.tables
    assert any("no usable equal length for a" in note for note in result.notes)


def test_words_alone_leave_punctuation_out_of_every_value_and_window() -> None:
    texts = ["One, two; three: four - five. Six?", "One two three four five six"]
    counted = rote.lexical(texts, window=6, draws=6)
    alone = rote.lexical(texts, window=6, draws=6, punctuation=False)
    (with_marks,), (without,) = counted.by_source.values(), alone.by_source.values()
    assert without.values["mattr"] == 1
    assert without.values["ttr"] == 6 / 12
    assert with_marks.values["ttr"] == 12 / 18
    assert "punctuation:no" in str(alone.signature)
    assert "punctuation" not in str(counted.signature)


def test_windows_of_sentences_are_runs_of_whole_ones() -> None:
    from rote.core.sample import Cut

    rng = np.random.default_rng(4)
    vectors = rng.normal(size=(9, 5)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    texts = np.repeat([0, 1], [4, 5])
    places = np.arange(9)
    none, cut_off = np.zeros(2, np.int64), np.zeros(9, np.bool_)
    embedded = Embedded(
        vectors, Sentences(places, places + 1, texts), cut_off, np.bincount(texts), none, none, {}
    )
    options = semantic.Options()
    rows = semantic.arranged(embedded, Work())
    assert semantic.sizes(rows, options).tolist() == [4, 5]
    cut = Cut(np.array([0, 1]), np.array([1, 2]), np.array([4, 5]), 3)
    part = semantic.cut(rows, cut, options)
    chosen = vectors[[1, 2, 3, 6, 7, 8]].astype(np.float64)
    cosines = chosen @ chosen.T
    apart = (1 - cosines[np.triu_indices(6, 1)]).mean() / 2
    found = semantic.reduce(part, np.arange(2), options, rng)
    assert found["semantic"] == pytest.approx(apart, abs=1e-6)
    nearest = 1 - np.where(np.eye(6), -np.inf, cosines).max(axis=1)
    assert found["nearest"] == pytest.approx(nearest.mean(), abs=1e-6)


def test_the_words_of_a_variant_are_those_that_windows_count() -> None:
    # Windows of the variant's own words: as many in every text, whatever others would count.
    metric = plugins.load("measure", "self-repetition").METRIC
    options = metric.options(variant="package")
    texts = [["a", "b"] * 20, ["c", "d", "e"] * 20, ["f"] * 50, ["g", "h"] * 40]
    sample = sample_of(texts, Need("word", "whitespace"))
    work = Work(
        groups={"x": np.array([0, 1]), "y": np.array([2, 3])},
        ids=list("0123"),
        strata=np.full(4, -1, np.int64),
    )
    rows = metric.rows(sample, options, work)
    found, _ = match_lengths(metric, options, sample, rows, work, np.arange(4))
    assert found is not None
    assert found.plan.size == 40
    assert set(found.rows(0).lengths.tolist()) == {40}
