"""Lexical diversity: worked values, other implementations, what has to hold."""

from __future__ import annotations

import math
import random
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.core.errors import OptionError
from rote.core.metric import Values, Work
from rote.measure import lexical
from rote.measure.lexical import METRIC, Options

from .peers import diversity_file
from .samples import everything, sample_of


def values_of(texts: list[list[str]], seed: int = 0, **settings_: Any) -> Values:
    options = Options(**settings_)
    sample = sample_of(texts, *METRIC.needs(options))
    rows = METRIC.rows(sample, options, Work())
    rng = np.random.default_rng(seed)
    return METRIC.reduce(rows, everything(sample), options, rng)


def notes_of(texts: list[list[str]], **settings_: Any) -> list[str]:
    options = Options(**settings_)
    sample = sample_of(texts, *METRIC.needs(options))
    return lexical.notes(METRIC.rows(sample, options, Work()), everything(sample), options)


def zipf_text(rng: random.Random, words: int) -> list[str]:
    return [f"w{int(rng.paretovariate(0.6))}" for _ in range(words)]


def test_worked_example() -> None:
    found = values_of([["a", "b", "a", "b"], ["a", "b", "c"]], window=3, draws=2)
    # Words: a b a b a b c -> 3 of 7. Pairs: ab ba ab | ab bc -> 3 of 5 (none across the texts).
    # Triples: aba bab | abc -> 3 of 3. Four: abab -> 1 of 1.
    assert found["unique_1"] == found["ttr"] == 3 / 7
    assert found["unique_2"] == 3 / 5
    assert found["unique_3"] == 1
    assert found["unique"] == pytest.approx((3 / 7 + 3 / 5 + 1) / 3)
    assert found["ngram_diversity"] == pytest.approx(3 / 7 + 3 / 5 + 1 + 1)
    # MATTR: aba, bab -> 2/3; abc -> 1; mean of the two texts.
    assert found["mattr"] == pytest.approx((2 / 3 + 1) / 2)
    # MTLD of abab: 1, 1, 2/3 <= 0.72 -> one factor, then b alone: TTR 1, no part of a factor:
    # 4 / 1 both ways. Of abc: no word twice, one factor for the whole text: 3.
    assert found["mtld"] == pytest.approx((4 + 3) / 2)
    # HD-D of abab: a is missed by C(2,2)/C(4,2) = 1/6 of the draws of two, b too: (5/6 + 5/6)/2.
    # Of abc: C(2,2)/C(3,2) = 1/3 each: 3 * 2/3 / 2 = 1.
    assert found["hdd"] == pytest.approx((5 / 6 + 1) / 2)
    # a 3/7, b 3/7, c 1/7.
    bits = -2 * 3 / 7 * math.log2(3 / 7) - 1 / 7 * math.log2(1 / 7)
    assert found["entropy"] == pytest.approx(bits)


def test_mtld_with_part_of_a_factor() -> None:
    # a b c d a: TTR 4/5 at the end, (1 - 0.8) / (1 - 0.72) = 0.714286 factors; backwards the same.
    assert values_of([list("abcda")])["mtld"] == pytest.approx(5 / (0.2 / 0.28))


@pytest.mark.parametrize("words", [50, 51, 77, 150, 900])
@pytest.mark.parametrize("kind", ["zipf", "all different", "all the same", "few words"])
def test_agrees_with_lexicalrichness(words: int, kind: str) -> None:
    rng = random.Random(words)
    text = {
        "zipf": zipf_text(rng, words),
        "all different": [f"w{i}" for i in range(words)],
        "all the same": ["w"] * words,
        "few words": [rng.choice("abcde") for _ in range(words)],
    }[kind]
    from lexicalrichness import LexicalRichness  # slow to import

    other = LexicalRichness(text, preprocessor=None, tokenizer=None)
    found = values_of([text])
    assert found["mattr"] == pytest.approx(other.mattr(window_size=50), rel=1e-12)
    assert found["mtld"] == pytest.approx(other.mtld(threshold=0.72), rel=1e-12)
    assert found["hdd"] == pytest.approx(other.hdd(draws=42), rel=1e-9)
    assert found["ttr"] == pytest.approx(other.ttr, rel=1e-15)


@given(st.lists(st.sampled_from("abcdefghij"), min_size=1, max_size=60), st.floats(0.3, 0.95))
def test_mtld_agrees_with_lexicalrichness_on_short_texts(text: list[str], threshold: float) -> None:
    from lexicalrichness import LexicalRichness  # slow to import

    other = LexicalRichness(text, preprocessor=None, tokenizer=None)
    found = values_of([text], threshold=threshold)
    assert found["mtld"] == pytest.approx(other.mtld(threshold=threshold), rel=1e-12)


def test_package_variant_is_what_the_package_computes() -> None:
    package = diversity_file("ngram_diversity")
    rng = random.Random(3)
    texts = [[rng.choice(["a", "b", "c", "", "D."]) for _ in range(k)] for k in (7, 1, 30, 12)]
    strings = [" ".join(text) for text in texts]
    found = values_of([string.split(" ") for string in strings], variant="package")
    assert list(found) == ["ngram_diversity"]
    expected = package.ngram_diversity_score(strings)
    assert round(found["ngram_diversity"], 3) == expected
    # Across the joints it differs from the exact definition.
    assert found["ngram_diversity"] != values_of(texts)["ngram_diversity"]


def test_exactly_the_asked_number_is_drawn() -> None:
    texts = [[f"{t} {i}" for i in range(40)] for t in range(10)]
    # 400 words, all different: any 100 of them are distinct, and all 400 are.
    assert values_of(texts, sample_ngrams=100)["unique_1"] == 1
    twice = [text + text for text in texts]
    # 800 words, each twice: of 799 drawn, 400 are distinct and only one is missing.
    assert values_of(twice, sample_ngrams=799)["unique_1"] == 400 / 799


def test_drawn_value_is_unbiased() -> None:
    # 1,000 texts "a b": drawing 1,000 of 2,000 words leaves 2 distinct ones.
    assert values_of([["a", "b"]] * 1000, sample_ngrams=1000)["unique_1"] == 2 / 1000
    # Words 1..100 ten times each; of k drawn, a word is missed with C(990,k)/C(1000,k).
    texts = [[str(w) for w in range(100)] for _ in range(10)]
    missed = math.comb(990, 100) / math.comb(1000, 100)
    draws = [values_of(texts, seed=s, sample_ngrams=100)["unique_1"] for s in range(100)]
    assert np.mean(draws) == pytest.approx(1 - missed, abs=0.01)


def test_a_group_has_the_values_of_its_texts_alone() -> None:
    texts = [zipf_text(random.Random(t), 60) for t in range(9)]
    options = Options()
    sample = sample_of(texts, *METRIC.needs(options))
    take = np.array([1, 4, 5, 8])
    group = METRIC.reduce(
        METRIC.rows(sample, options, Work()), take, options, np.random.default_rng(0)
    )
    assert group == pytest.approx(values_of([texts[t] for t in take]), rel=1e-12)


def test_groups_may_be_reduced_from_several_threads() -> None:
    texts = [zipf_text(random.Random(t), 60) for t in range(40)]
    for settings_ in ({"sample_ngrams": 300}, {"variant": "package"}):
        options = Options(**settings_)  # type: ignore[arg-type]
        rows = METRIC.rows(sample_of(texts, *METRIC.needs(options)), options, Work())

        def one(seed: int, rows: Any = rows, options: Options = options) -> Values:
            take = np.sort(np.random.default_rng(seed).permutation(40)[:20])
            return METRIC.reduce(rows, take, options, np.random.default_rng(seed))

        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(one, range(60))) == [one(seed) for seed in range(60)]


@pytest.mark.parametrize("texts", [[], [[]], [[], []]])
def test_nothing_is_undefined(texts: list[list[str]]) -> None:
    assert all(math.isnan(value) for value in values_of(texts).values())
    assert math.isnan(values_of(texts, variant="package")["ngram_diversity"])
    assert notes_of(texts)


def test_short_text_says_what_is_missing() -> None:
    found = values_of([["one", "two"]])
    assert found["ttr"] == 1
    assert all(math.isnan(found[name]) for name in ("unique_3", "unique", "mattr", "hdd"))
    assert math.isnan(found["ngram_diversity"])
    assert notes_of([["one", "two"]]) == [
        "Unique-n: fewer than 40,000 n-grams, all of them used: "
        "2 for n = 1, 1 for n = 2, 0 for n = 3",
        "no text of 4 words: ngram_diversity is undefined",
        "mattr: left out 1 of 1 texts with fewer than 50 words",
        "hdd: left out 1 of 1 texts with fewer than 42 words",
        "mtld: 1 of 1 texts with fewer than 50 words, where it is unstable",
    ]


@pytest.mark.parametrize("target", [1, 60, 400])
def test_pattr_charges_for_every_word_that_is_too_many_or_too_few(target: int) -> None:
    texts = [zipf_text(random.Random(t), 20 * t) for t in range(6)]
    found = values_of(texts, target_length=target)["pattr"]
    each = [len(set(t)) / (len(t) + abs(len(t) - target)) for t in texts if t]
    assert found == pytest.approx(np.mean(each), rel=1e-14)
    assert "pattr" not in values_of(texts)
    assert values_of([["a", "b", "a"]], target_length=3)["pattr"] == 2 / 3
    assert values_of([["a", "b", "a"]], target_length=5)["pattr"] == 2 / 5
    assert values_of([["a", "b", "a"]], target_length=1)["pattr"] == 2 / 5


def test_standard_errors_are_those_of_means() -> None:
    texts = [zipf_text(random.Random(t), 60) for t in range(5)]
    options = Options()
    sample = sample_of(texts, *METRIC.needs(options))
    rows = METRIC.rows(sample, options, Work())
    errors = lexical.standard_errors(rows, everything(sample), options)
    per_text = lexical.per_text(rows, options)
    assert set(errors) == {"mattr", "mtld", "hdd"}
    for name, error in errors.items():
        assert error == pytest.approx(np.std(per_text[name], ddof=1) / math.sqrt(5))
    lone = lexical.standard_errors(rows, np.array([2]), options)
    assert all(math.isnan(error) for error in lone.values())


@pytest.mark.parametrize(
    "wrong",
    [
        {"sample_ngrams": 0},
        {"window": 0},
        {"draws": 0},
        {"threshold": 1.0},
        {"ngram_max": -1},
        {"variant": "package", "ngram_max": 0},
    ],
)
def test_senseless_options_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        Options(**wrong)


def groups_of(texts: int, count: int) -> list[Any]:
    rng = np.random.default_rng(texts)
    takes = [np.flatnonzero(rng.random(texts) < rng.random()) for _ in range(count)]
    return [*takes, np.empty(0, np.int64), np.arange(texts)]


@pytest.mark.parametrize(
    "settings_", [{}, {"ngram_max": 0}, {"ngram_max": 6}, {"target_length": 9}]
)
@pytest.mark.parametrize("numbered", [lexical.NUMBERED, 0])
def test_many_groups_have_the_values_of_each(
    settings_: dict[str, Any], numbered: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lexical, "NUMBERED", numbered)
    rng = random.Random(3)
    texts = [[], *(zipf_text(rng, rng.choice([0, 1, 3, 20, 70])) for _ in range(30)), ["a"]]
    options = Options(window=5, draws=4, **settings_)
    rows = METRIC.rows(sample_of(texts, *METRIC.needs(options)), options, Work())
    names, takes = [value.name for value in METRIC.values(options)], groups_of(len(texts), 140)
    found = lexical.many(rows, takes, names, options)
    assert set(found) == set(names)
    each = [METRIC.reduce(rows, take, options, np.random.default_rng(0)) for take in takes]
    for name in names:
        expected = [values[name] for values in each]
        assert found[name].tolist() == pytest.approx(expected, rel=1e-12, nan_ok=True)
        alone = lexical.many(rows, takes, [name], options)
        assert list(alone) == [name]
        assert np.array_equal(alone[name], found[name], equal_nan=True)


def test_many_groups_of_the_package_variant() -> None:
    options = Options(variant="package")
    rows = METRIC.rows(
        sample_of([["a", "b"], [], list("abcab")], *METRIC.needs(options)), options, Work()
    )
    takes = [np.array([0, 2]), np.array([1]), np.array([0])]
    (found,) = lexical.many(rows, takes, ["ngram_diversity"], options).values()
    each = [METRIC.reduce(rows, take, options, np.random.default_rng(0)) for take in takes]
    expected = [values["ngram_diversity"] for values in each]
    assert found.tolist() == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("limit", [1, 2, 4, 6])
def test_a_drawn_group_has_the_mean_over_all_draws(limit: int) -> None:
    texts = [list("abab"), list("aabcca"), [], list("abcd"), list("aa")]
    options = Options(sample_ngrams=limit, window=2, draws=2)
    rows = METRIC.rows(sample_of(texts, *METRIC.needs(options)), options, Work())
    takes = [np.array(take, np.int64) for take in ([0], [0, 1], [1, 3], [2], [4], [0, 3, 4])]
    found = lexical.many(rows, takes, ["unique", "unique_1", "unique_2", "unique_3"], options)
    for number, take in enumerate(takes):
        drawn = set()
        for n in (1, 2, 3):
            grams = [tuple(texts[t][i : i + n]) for t in take for i in range(len(texts[t]) - n + 1)]
            if len(grams) > limit:
                drawn |= {"unique", f"unique_{n}"}
            draws = [*combinations(grams, min(limit, len(grams)))]
            expected = np.mean([len(set(d)) / len(d) for d in draws]) if grams else math.nan
            assert found[f"unique_{n}"][number] == pytest.approx(expected, nan_ok=True)
        assert lexical.random_values(rows, take, options) == drawn
        alone = lexical.resample(rows, take, options, np.random.default_rng(0))
        assert alone["unique"] == pytest.approx(found["unique"][number], nan_ok=True)
    assert np.isnan(found["unique"][3])


def test_tests_are_of_means_over_draws_and_intervals_hold_what_drawing_adds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import rote

    chance = random.Random(5)
    texts = {
        source: [" ".join(zipf_text(chance, 60)) for _ in range(12)] for source in ("one", "two")
    }

    def study(spread: float) -> Any:
        rng = np.random.default_rng(1)
        monkeypatch.setattr(lexical, "_unique", lambda *_: 0.5 + spread * rng.random())
        how: dict[str, Any] = {"sample_ngrams": 100, "permutations": 39}
        return rote.lexical(texts, reference="one", **how)

    calm, wild = study(0.01), study(0.2)
    for row, other in zip(calm.comparisons, wild.comparisons):
        assert row["p"] == other["p"]
        assert row.get("matched_p") == other.get("matched_p")
    widths = [np.ptp(found.by_source["two"].intervals["unique_1"]) for found in (calm, wild)]
    assert widths[1] > 5 * widths[0]
