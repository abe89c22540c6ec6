"""Values at equal length: what they rest on, and that the test holds its level."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rote
from rote.core import plugins
from rote.core.metric import Work
from rote.core.sample import Need
from rote.measure._matched import Matched, matched

from .by_path import lengths
from .samples import sample_of

STUDIES = 200
SEEDS = range(1000, 1000 + STUDIES)
BAND = (1, 20)
"""Of 200 studies at a level of 5 %: more come out wrong in 1 of 1,000 such tries."""


def studied(name: str, sources: dict[str, list[list[str]]], seed: int = 0) -> Matched:
    metric = plugins.load("measure", name).METRIC
    options = metric.options()
    texts = [text for own in sources.values() for text in own]
    sample = sample_of(texts, *metric.needs(options))
    ends = np.cumsum([len(own) for own in sources.values()])
    groups = {s: np.arange(end - len(sources[s]), end) for s, end in zip(sources, ends)}
    work = Work(
        groups=groups,
        ids=[f"{seed} {number}" for number in range(len(texts))],
        strata=np.full(len(texts), -1, np.int64),
        seed=seed,
    )
    rows = metric.rows(sample, options, work)
    found, _ = matched(metric, options, sample, rows, work, np.arange(len(texts)))
    assert found is not None
    return found


def test_values_are_those_of_the_windows_by_hand() -> None:
    rng = np.random.default_rng(1)
    sources = {
        source: [[f"w{n}" for n in rng.integers(0, 40, size)] for size in rng.integers(low, 60, 12)]
        for source, low in (("a", 12), ("b", 30))
    }
    found = studied("lexical", sources)
    plan, order = found.plan, found.source.order
    texts = [text for own in sources.values() for text in own]
    assert plan.size is not None
    cut = order.cut(plan.texts, found.source.sizes, plan.size, 0)
    windows = {
        int(t): texts[t][first : first + plan.size] for t, first in zip(cut.texts, cut.firsts)
    }
    for source, values in found.by_source().values.items():
        drawn = [windows[int(t)] for t in order.first(plan.groups[source], plan.windows, 0)]
        words = [word for window in drawn for word in window]
        assert len(drawn) == plan.windows
        assert len(words) == plan.windows * plan.size
        assert values["ttr"] == pytest.approx(len(set(words)) / len(words))


@pytest.mark.parametrize("name", lengths.LEVEL_OF)
def test_under_no_difference_but_length_one_test_of_twenty_finds_one(name: str) -> None:
    """Catches a level that is off (8 % instead of 5 %: three times in four), and what length alone
    does: on whole texts, ten times as long, 4 to 10 studies of 10 find a difference."""
    wrong: dict[str, list[tuple[int, int]]] = {}
    for ratio in (1, 10):
        found = [lengths.null_p_values(name, (12, 20), ratio, seed) for seed in SEEDS]
        for value in found[0]:
            p = np.array([one[value] for one in found])
            wrong.setdefault(value, []).append(((p <= 0.05).sum(), (~np.isnan(p)).sum()))
    assert wrong
    for value, counts in wrong.items():
        assert all(BAND[0] <= alarms <= BAND[1] for alarms, _ in counts), (value, counts)
        alarms, tests = np.sum(counts, axis=0)
        assert tests > len(counts) * STUDIES / 3, (value, counts)
        assert 0.03 <= alarms / tests <= 0.07, (value, counts)


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


def test_the_table_says_what_a_value_rests_on_and_who_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "texts.jsonl"
    rng = np.random.default_rng(3)
    records = [
        {"id": f"{s}{n}", "source": s, "text": " ".join(f"w{i}" for i in rng.integers(0, 90, size))}
        for s, sizes in (("a", [4, *range(40, 59)]), ("b", range(100, 120)))
        for n, size in enumerate(sizes)
    ]
    path.write_text("\n".join(map(json.dumps, records)))
    result = rote.self_repetition(path, by="source", reference="a", permutations=19)
    rows: dict[str, Any] = {row["source"]: row for row in result.tables["matched"]}
    assert rows["a"] | {"mean": 0, "sd": 0} == {
        "source": "a",
        "value": "self_repetition",
        "words": 18 * 41,
        "window": 41,
        "windows": 18,
        "left_out": 2,
        "mean": 0,
        "sd": 0,
        "draws": 5,
    }
    assert rows["b"]["left_out"] == 0
    (row,) = result.comparisons
    assert row["matched_difference"] == rows["b"]["mean"] - rows["a"]["mean"]
    assert any("texts left out because they are shorter: a 2" in note for note in result.notes)
    moves = result.tables["values"][0]
    assert (moves["moves_with_texts"], moves["moves_with_length"]) == (True, True)
    assert moves["length_sensitive"]


def test_texts_too_short_for_a_window_are_said_to_be(tmp_path: Path) -> None:
    result = rote.lexical({"a": ["one two three"] * 5, "b": ["word " * 40] * 5}, reference="a")
    assert "matched" not in result.tables
    assert any("no values at equal length" in n and n.endswith("in: a") for n in result.notes)


def test_words_alone_leave_punctuation_out_of_every_value_and_window() -> None:
    texts = ["One, two; three: four - five. Six?", "One two three four five six"]
    counted = rote.lexical(texts, window=6, draws=6)
    alone = rote.lexical(texts, window=6, draws=6, punctuation=False)
    (with_marks,), (without,) = counted.sources.values(), alone.sources.values()
    assert without.values["mattr"] == 1
    assert without.values["ttr"] == 6 / 12
    assert with_marks.values["ttr"] == 12 / 18
    assert "punctuation:no" in str(alone.signature)
    assert "punctuation" not in str(counted.signature)


def test_windows_of_sentences_are_runs_of_whole_ones() -> None:
    from rote.core.sample import Cut
    from rote.measure import semantic
    from rote.measure._meaning import Embedded
    from rote.measure._sentences import Sentences

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
    found, _ = matched(metric, options, sample, rows, work, np.arange(4))
    assert found is not None
    assert found.plan.size == 40
    assert set(found.rows.lengths.tolist()) == {40}
