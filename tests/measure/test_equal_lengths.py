"""Diversity at equal sentence lengths: by hand, against all pairs, and how often it is right."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from rote.compare.intervals import interval_from_error, mean_similarity
from rote.core.metric import Work
from rote.core.result import Result
from rote.core.sample import Sample, Take
from rote.measure import Settings, syntactic
from rote.measure._sentences import Sentences, sentences_of
from rote.measure._tree_histograms import (
    BANDS,
    LENGTHS,
    EqualLengthSentences,
    Histograms,
    band_weights,
    bands_of,
    by_band,
    common_shares,
    equal_lengths,
    histograms,
)
from rote.measure.driver.compute import compute
from rote.measure.syntactic import HEAD, UPOS, WORD, Options

from ..examples import dear
from .trees import Tree, conllu, grown, layers_of, texts_of_trees

Floats = NDArray[np.float64]
NOTHING = np.random.default_rng(0)


def flat(*tags: str) -> Tree:
    """A sentence whose words all hang on the root."""
    return [(tag, -1) for tag in tags]


def measured(tmp_path: Path, *sources: list[list[Tree]], reference: str | None = None) -> Result:
    paths = [tmp_path / f"source{number}.conllu" for number in range(len(sources))]
    for path, texts in zip(paths, sources):
        path.write_text(conllu(texts))
    given = Settings(annotator="given", permutations=99, reference=reference)
    return compute({"syntactic": Options(depth=0)}, paths, settings=given)[0]


def rows_of(*sources: list[list[Tree]]) -> tuple[syntactic.Rows, list[Take]]:
    texts = [text for source in sources for text in source]
    upos, head = layers_of(texts)
    sample = Sample(upos.text_ends - upos.text_starts, {WORD: upos, UPOS: upos, HEAD: head})
    ends = np.cumsum([len(source) for source in sources])
    groups = [np.arange(end - len(source), end) for source, end in zip(sources, ends)]
    work = Work(groups={f"source{number}": take for number, take in enumerate(groups)})
    return syntactic.rows(sample, Options(), work), groups


# The value


def test_weights_and_value_worked_out_by_hand(tmp_path: Path) -> None:
    """Two of four sentences are long, or three of four: shares of at least 1/4 short and 1/2 long,
    so the target is 1/3 and 2/3, and the first source's sentences weigh 1, 1, 2, 2 sixths.

    At depth 0 the histograms (root, X, Y) are (1, 1, 0), (1, 0, 1) and, of the long, (1, 5, 0).
    """
    x, y, long = flat("X"), flat("Y"), flat(*"XXXXX")
    result = measured(tmp_path, [[x, y], [long, long]], [[x, long], [long, long]])
    found = result.by_source["source0"].values
    pairs = [(1, 1 / 2), *2 * [(2, 6 / math.sqrt(52))], *2 * [(2, 1 / math.sqrt(52))], (4, 1)]
    expected = sum(weight * (1 - k) for weight, k in pairs) / sum(weight for weight, _ in pairs)
    assert found["wl_matched"] == pytest.approx(expected, abs=1e-12)
    table = result.tables["sentence_lengths"]
    assert [row["target"] for row in table] == pytest.approx(2 * [1 / 3, 2 / 3, *6 * [0]])


def weights_twin(sources: Sequence[Sequence[Tree]], own: Sequence[Tree]) -> list[float]:
    """Of each sentence, from the definition; `own` may be any group of sentences."""

    def band(tree: Tree) -> int:
        return max(number for number, least in enumerate(LENGTHS) if len(tree) >= least)

    def share(trees: Sequence[Tree], number: int) -> float:
        return sum(band(tree) == number for tree in trees) / len(trees)

    counted = [trees for trees in sources if len(trees) > 1]
    several = counted if len(counted) > 1 else []
    target = [min((share(trees, n) for trees in several), default=0.0) for n in range(BANDS)]
    held = sum({band(tree): target[band(tree)] for tree in own}.values())
    return [
        target[band(tree)] / held / sum(band(other) == band(tree) for other in own) if held else 0.0
        for tree in own
    ]


def diversity_twin(weights: Sequence[float], units: Floats) -> float:
    """Over all pairs, one after the other."""
    kept = [(w, unit) for w, unit in zip(weights, units) if w]
    pairs = [(v * w, 1 - float(a @ b)) for (v, a), (w, b) in combinations(kept, 2)]
    total = sum(weight for weight, _ in pairs)
    return sum(weight * apart for weight, apart in pairs) / total if pairs else math.nan


def units_of(texts: Sequence[Sequence[Tree]]) -> list[Floats]:
    """The unit vectors of every text's sentences."""
    upos, head = layers_of(texts)
    made = histograms(upos, head, sentences_of(upos))
    units = np.zeros((len(made), made.kinds))
    for unit, first, end in zip(units, [0, *made.ends[:-1]], made.ends):
        unit[made.labels[first:end]] = made.counts[first:end]
        unit /= np.linalg.norm(unit)
    return np.split(units, np.cumsum([len(text) for text in texts])[:-1])


@given(texts_of_trees(longest=10), texts_of_trees(longest=10), st.integers(0, 99))
@dear(50)
def test_value_and_error_are_those_of_all_pairs(
    first: list[list[Tree]], second: list[list[Tree]], seed: int
) -> None:
    """Of each source, and of any group of texts: permuted ones too keep the study's target."""
    rows, groups = rows_of(first, second)
    texts = first + second
    sources = [[tree for text in source for tree in text] for source in (first, second)]
    units = units_of(texts) if texts else []

    def twin(take: Sequence[int]) -> float:
        own = [tree for text in take for tree in texts[text]]
        vectors = [unit for text in take for unit in units[text]]
        return diversity_twin(weights_twin(sources, own), np.array(vectors))

    mixed = np.flatnonzero(np.random.default_rng(seed).integers(0, 2, len(texts)))
    takes = (*groups, mixed, mixed[:1])
    names = {"wl", "wl_matched", "sentence_length"}
    together = syntactic.many(rows, takes, names, Options())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(syntactic, "_TOGETHER", 0)
        assert set(syntactic.many(rows, takes, names, Options())) == names
    for number, take in enumerate(takes):
        alone = syntactic.resample(rows, take, Options(), NOTHING)
        same = pytest.approx(alone, abs=1e-9, nan_ok=True)
        assert {name: column[number] for name, column in together.items()} == same
    for take in (*groups, mixed):
        found = syntactic.reduce(rows, take, Options(), NOTHING)["wl_matched"]
        assert found == pytest.approx(twin(take.tolist()), abs=1e-9, nan_ok=True)

        counting = [text for text in take if any(weights_twin(sources, texts[text]))]
        without = [twin([other for other in counting if other != text]) for text in counting]
        expected = math.nan
        if len(without) > 1 and not any(map(math.isnan, without)):
            share = (len(without) - 1) / len(without)
            expected = math.sqrt(share * sum((w - np.mean(without)) ** 2 for w in without))
        error = syntactic.standard_errors(rows, take, Options())["wl_matched"]
        assert error == pytest.approx(expected, abs=1e-6, nan_ok=True)


@given(texts_of_trees(longest=10))
def test_sources_of_the_same_lengths_have_the_plain_value(texts: list[list[Tree]]) -> None:
    rows, (take, _) = rows_of(texts, texts)
    found = syntactic.reduce(rows, take, Options(), NOTHING)
    assert found["wl_matched"] == pytest.approx(found["wl"], abs=1e-12, nan_ok=True)


def test_bands_that_a_group_lacks_leave_their_share_to_the_others() -> None:
    target = np.array([0.5, 0.2, 0.3])
    assert band_weights(target, np.array([5, 0, 3])) == pytest.approx([0.125, 0, 0.125])
    several = band_weights(target, np.array([[1, 1, 1], [0, 2, 0], [0, 0, 0]]))
    assert several == pytest.approx(np.array([[0.5, 0.2, 0.3], [0, 0.5, 0], [0, 0, 0]]))


def test_a_source_without_pairs_does_not_take_part() -> None:
    counts = [np.array([3, 1]), np.array([1, 3]), np.array([0, 1]), np.array([0, 0])]
    assert common_shares(counts) == pytest.approx([0.5, 0.5])
    assert not common_shares(counts[2:]).any()


# What is said


def test_what_the_weights_do_is_said(tmp_path: Path) -> None:
    """Shares of 1/2, 1/2 and of 1/4, 1/2, 1/4: a target of 1/3 and 2/3. The weights of the first
    are four times 1/12 and four times 1/6, which is worth 1 / (4/144 + 4/36) = 7.2 sentences; those
    of the second six times 1/6."""
    x, long, longer = flat("X"), flat(*"XXXXX"), flat(*40 * "X")
    result = measured(tmp_path, [[x, long]] * 4, [[x, long], [long, longer]] * 2)
    # 7 of 8 is much, and nothing is lost: not worth a word.
    assert not any("wl_matched" in note for note in result.by_source["source0"].notes)
    assert result.by_source["source1"].notes[0] == (
        "wl_matched: weighted to equal lengths, 8 sentences are worth 6; 25% have lengths that "
        "some source lacks"
    )


def test_nothing_is_said_where_all_sentences_count_alike(tmp_path: Path) -> None:
    x, long = flat("X"), flat(*"XXXXX")
    result = measured(tmp_path, [[x, x, long]], [[x, x], [long]])
    assert all("wl_matched" not in " ".join(s.notes) for s in result.by_source.values())


def test_sources_without_a_common_length_have_no_value_and_a_reason(tmp_path: Path) -> None:
    short, long = [[flat("X"), flat("Y")]] * 3, [[flat(*40 * "X")]] * 3
    result = measured(tmp_path, short, long, reference="source0")
    reason = "wl_matched: the sources share no sentence length, so it is undefined"
    for source in result.by_source.values():
        assert math.isnan(source.values["wl_matched"])
        assert "wl_matched" not in source.intervals
        assert reason in source.notes
    (row,) = (row for row in result.comparisons if row["value"] == "wl_matched")
    assert math.isnan(row["p"])


@pytest.mark.parametrize("others", [[], [[[flat("X")]]]])
def test_a_single_source_has_no_value_and_a_reason(
    tmp_path: Path, others: list[list[list[Tree]]]
) -> None:
    """A source with a single sentence has nothing to be matched, and is no second one."""
    result = measured(tmp_path, [[flat("X"), flat("Y")], [flat("X")]], *others)
    source = result.by_source["source0"]
    assert source.values["wl"] == pytest.approx(1 - (1 + 2 * 0.5) / 3)
    assert math.isnan(source.values["wl_matched"])
    assert "wl_matched" not in source.intervals
    assert "wl_matched: one source: nothing to match with" in source.notes


def test_a_source_with_one_sentence_of_a_common_length_has_no_value(tmp_path: Path) -> None:
    x, long = flat("X"), flat(*40 * "X")
    result = measured(tmp_path, [[x, x, x]], [[x], [long]])
    reason = "wl_matched: 1 sentence of a length shared by all sources: undefined"
    assert math.isnan(result.by_source["source1"].values["wl_matched"])
    assert reason in result.by_source["source1"].notes
    assert result.by_source["source0"].values["wl_matched"] == pytest.approx(0, abs=1e-12)


# Whether it does what it is for


def test_sources_that_differ_in_length_alone_are_told_apart_by_the_plain_value_only(
    tmp_path: Path,
) -> None:
    rng = np.random.default_rng(3)

    def texts(mean: float) -> list[list[Tree]]:
        lengths = 1 + rng.poisson(rng.gamma(4, mean / 4, (60, 6)))
        return [[grown(rng, int(length), 3) for length in text] for text in lengths]

    result = measured(tmp_path, texts(10), texts(16), reference="source0")
    rows = {row["value"]: row for row in result.comparisons}
    # Measured: -0.071 and -0.004, p = 0.63.
    assert rows["wl"]["difference"] < -0.06
    assert rows["wl"]["p"] == 0.01
    assert abs(rows["wl_matched"]["difference"]) < 0.02
    assert rows["wl_matched"]["p"] > 0.05


KINDS = 12


def simulated(
    rng: np.random.Generator, means: Sequence[float], texts: int, sentences: int = 8
) -> tuple[Histograms, Sentences]:
    """Sources that differ in mean sentence length; what a text's sentences are made of, and how
    long they are, is its own. Sorted by text and band."""
    count = texts * len(means)
    lengths = np.repeat(means, texts) * np.exp(0.3 * rng.normal(size=count))
    labels = rng.dirichlet(np.full(KINDS - 1, 5.0), count)
    text = np.repeat(np.arange(count), sentences)
    own = 1 + rng.poisson(lengths[text] * np.exp(0.4 * rng.normal(size=len(text))))
    counts = np.column_stack((np.ones(len(text)), rng.poisson(own[:, None] * labels[text])))
    unsorted = Sentences(np.arange(len(text)), np.arange(len(text)) + own, text)
    used = by_band(unsorted)
    counts = counts[used.starts].astype(np.int32)
    ends = KINDS * (1 + np.arange(len(text)))
    numbers = np.tile(np.arange(KINDS, dtype=np.int32), len(text))
    norms = np.square(counts).sum(axis=1).astype(np.int64)
    return Histograms(numbers, counts.ravel(), ends, norms, KINDS), used


def similarities(rng: np.random.Generator, mean: float) -> Floats:
    """Between sentences of each two bands, over a great many texts."""
    made, used = simulated(rng, [mean], 5_000)
    units = made.counts.reshape(-1, KINDS) / np.sqrt(made.norms)[:, None]
    bands = bands_of(used)
    means = np.array([units[bands == band].mean(axis=0) for band in range(BANDS)])
    return np.asarray(means @ means.T)


def fixed_error(rows: EqualLengthSentences, take: Take) -> float:
    """The jackknife with the weights left as they are."""
    weights = band_weights(rows.target, rows.counts(take).sum(axis=0))
    without = []
    for text in take:
        rest = take[take != text]
        counts = rows.counts(rest)
        parts = (rest[:, None] * BANDS + np.arange(BANDS)).ravel()
        square = rows.sums.square(parts, np.tile(weights, len(rest)))
        same = (counts * weights**2).sum()
        without.append((square - same) / ((counts * weights).sum() ** 2 - same))
    return math.sqrt((len(take) - 1) / len(take) * np.square(without - np.mean(without)).sum())


def test_the_interval_covers_the_value_at_the_lengths_of_the_study() -> None:
    """The truth depends on the target, which every sample has its own of."""
    rng = np.random.default_rng(7)
    truths = [similarities(rng, mean) for mean in (10, 18)]
    groups = [np.arange(40), np.arange(40, 80)]
    covered, zero, plain = [], [], []
    for _ in range(300):
        made, used = simulated(rng, [10, 18], 40)
        rows = equal_lengths(made, used, 80, groups)
        found = [rows.diversity(take) for take in groups]
        errors = [rows.error(take) for take in groups]
        for value, error, truth in zip(found, errors, truths):
            low, high = interval_from_error(value, error, 0.95, 40)
            covered.append(low <= 1 - rows.target @ truth @ rows.target <= high)
        low, high = interval_from_error(found[0] - found[1], math.hypot(*errors), 0.95, 79)
        zero.append(low <= 0 <= high)
        units = made.counts.reshape(-1, KINDS) / np.sqrt(made.norms)[:, None]
        squares = [np.square(own.sum(axis=0)).sum() for own in np.split(units, 2)]
        plain.append(np.subtract(*(mean_similarity(square, 40 * 8) for square in squares)))
    # Shares of 600 and 300 intervals: standard errors of about 1 point. Measured: 0.94 and 0.94.
    assert 0.91 <= np.mean(covered) <= 0.98
    assert 0.91 <= np.mean(zero) <= 0.99
    assert np.mean(plain) < -0.08
    # Weights that stay let the lengths vary again.
    assert fixed_error(rows, groups[0]) > 1.2 * rows.error(groups[0])
