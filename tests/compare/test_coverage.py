"""The interval is honest: over repeated draws from a large pool it covers what it should.

A diversity score has no true value apart from the amount of text, so the target is
its mean over many samples of the same size. The pool is real language: paragraphs
of six sentences from a Bible translation, in which phrases come again as they do.
"""

from __future__ import annotations

import numpy as np
import pytest

from rote.annotate.annotators import get
from rote.compare.intervals import (
    calibrated_error,
    deviation,
    draw_half_samples,
    interval_from_error,
)
from rote.core import plugins
from rote.core.document import Document
from rote.core.metric import Metric, Values, Work
from rote.core.sample import Sample, Take
from rote.corpus import open_corpus
from rote.measure.driver.resampling import CALIBRATION_DRAWS

from ..measure.samples import sample_of

TEXTS, SAMPLES = 80, 25
HALVES = 25
"""Half-samples of each, of the 200 that are usual: errors vary by 14 in place of 5 %."""
THINNED = {"lexical": 4, "homogenization": 4, "compression": 1}
"""Of so many texts of the pool one: by half-samples, by a formula, by half-samples of a quicker
value. benchmarks/levels.py tries every measure."""


@pytest.fixture(scope="module")
def pool() -> list[list[str]]:
    text = " ".join(document.text for document in open_corpus("bible:kjv"))
    sentences = text.replace(":", ".").replace(";", ".").lower().split(". ")
    return [" ".join(sentences[i : i + 6]).split() for i in range(0, len(sentences) - 6, 12)]


@pytest.fixture(scope="module")
def tags(pool: list[list[str]]) -> list[list[str]]:
    texts = [Document(str(n), " ".join(words)) for n, words in enumerate(pool[::6])]
    layer = get("rote")(texts, ["pos"]).layers["pos"]
    return [layer.items(n) for n in range(len(texts))]


class Drawn:
    """A measure on samples of a pool: its values, and their standard errors as a study has them."""

    def __init__(self, name: str, pool: list[list[str]], **options: str) -> None:
        self.metric: Metric = plugins.load("measure", name).METRIC
        self.options = self.metric.options(**options)
        self.values = self.metric.values(self.options)
        sample: Sample = sample_of(pool, *self.metric.needs(self.options))
        self.rows = self.metric.rows(sample, self.options, Work())

    def value(self, take: Take, generator: np.random.Generator) -> Values:
        return self.metric.reduce(self.rows, take, self.options, generator)

    def quick(self, take: Take, generator: np.random.Generator) -> Values:
        resample = self.metric.resample or self.metric.reduce
        return resample(self.rows, take, self.options, generator)

    def errors(self, take: Take, seed: int) -> dict[str, float]:
        """By a formula; else by half-samples, of a quicker value if there is one."""
        of, metric = {"take": take, "keys": take.astype(np.uint64), "seed": seed}, self.metric
        formula = metric.standard_errors
        errors = dict(formula(self.rows, take, self.options)) if formula else {}
        names = {value.name for value in self.values} - errors.keys()
        if not names:
            return errors
        halves = draw_half_samples(self.quick, **of)
        if metric.stand_in:
            exact = draw_half_samples(self.value, **of, count=CALIBRATION_DRAWS)
            return {n: calibrated_error(halves[n], exact[n]) for n in names} | errors
        return {name: deviation(halves[name]) for name in names} | errors


def coverage(name: str, pool: list[list[str]], **options: str) -> dict[str, float]:
    """Share of the intervals that hold the mean over all samples, for every value."""
    measured = Drawn(name, pool, **options)
    rng = np.random.default_rng(3)
    found = []
    for number in range(SAMPLES):
        take = np.sort(rng.choice(len(pool), TEXTS, replace=False))
        values, errors = measured.value(take, rng), measured.errors(take, number)
        found.append(
            {
                v.name: (
                    values[v.name],
                    interval_from_error(values[v.name], errors[v.name], 0.95, TEXTS, share=v.share),
                )
                for v in measured.values
            }
        )
    covered = {}
    for value in found[0]:
        estimates = np.array([row[value][0] for row in found])
        if np.isnan(estimates).any():
            continue
        target = estimates.mean()
        intervals = [row[value][1] for row in found]
        covered[value] = float(np.mean([low <= target <= high for low, high in intervals]))
    return covered


@pytest.mark.parametrize("name", THINNED)
def test_95_percent_intervals_cover_about_95_percent(
    name: str, pool: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rote.compare.intervals.HALF_SAMPLES", HALVES)
    covered = coverage(name, pool[:: THINNED[name]])
    assert covered
    # 25 samples: the share itself has a standard error of 4 points (errors a third too small would
    # give 81). Values that rest on rare coincidences (Unique-3, n-gram diversity) come out a little
    # below, at 87 to 92.
    for value, share in covered.items():
        assert share >= 0.82, (value, share)


def test_intervals_of_tags_are_as_wide_as_those_of_the_codec_itself(tags: list[list[str]]) -> None:
    """zstd's ratio of tags moves less than gzip's: on its own it gave 0.86 of the width."""
    measured = Drawn("compression", tags, layer="pos")
    rng = np.random.default_rng(5)
    widths = []
    for seed in range(8):
        take = np.sort(rng.choice(len(tags), 60, replace=False))
        exact = draw_half_samples(measured.value, take, take.astype(np.uint64), seed=seed)
        (error,) = measured.errors(take, seed).values()
        widths.append(error / deviation(exact["gzip_pos"]))
    assert 0.93 <= np.mean(widths) <= 1.07, widths
