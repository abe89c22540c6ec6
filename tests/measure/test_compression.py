"""Compression ratio: against the codecs themselves and the package."""

from __future__ import annotations

import gzip
import lzma
import math
import random
import time
from typing import Any

import numpy as np
import pytest
import zstandard

from rote.compare.clusters import error_of_sum
from rote.core.errors import OptionError, UnknownName
from rote.core.metric import Values, Work
from rote.measure import compression
from rote.measure.compression import METRIC, Options

from .peers import diversity_file
from .samples import everything, sample_of

LOWER = {"layer": "lower"}


def values_of(texts: list[list[str]], take: list[int] | None = None, **settings: Any) -> Values:
    options = Options(**settings)
    sample = sample_of(texts, *METRIC.needs(options))
    rows = METRIC.rows(sample, options, Work())
    chosen = everything(sample) if take is None else np.array(take, np.int64)
    return METRIC.reduce(rows, chosen, options, np.random.default_rng(0))


def words(seed: int, texts: int = 30, length: int = 50) -> list[list[str]]:
    rng = random.Random(seed)
    return [
        [rng.choice(["sea", "ölig", "grün", "a", "fish"]) for _ in range(length)]
        for _ in range(texts)
    ]


def test_worked_example() -> None:
    # "ab ab\nab" is 8 bytes. Deflate, fixed codes: 3 bits of header; the letters a, b and the
    # space at 8 bits each, then a copy of 2 (3 is the least) does not exist, so a, b, newline, a, b
    # follow as letters, 64 bits, and 7 bits end the block: 74 bits, 10 bytes; the gzip
    # container adds 18.
    assert values_of([["ab", "ab"], ["ab"]])["gzip"] == 8 / 28


@pytest.mark.parametrize("layer", ["text", "lower"])
def test_each_codec_in_one_piece(layer: str) -> None:
    texts = words(1)
    joined = b"\n".join(" ".join(text).encode() for text in texts)
    found = values_of(texts, layer=layer, codecs=("gzip", "xz", "zstd"))
    name = {codec: compression.value_name(codec, layer) for codec in ("gzip", "xz", "zstd")}
    assert found[name["gzip"]] == len(joined) / len(gzip.compress(joined, 9, mtime=0))
    assert found[name["xz"]] == len(joined) / len(lzma.compress(joined))
    assert found[name["zstd"]] == len(joined) / len(
        zstandard.ZstdCompressor(level=3).compress(joined)
    )


@pytest.mark.parametrize("codecs", [("gzip",), ("xz",), ("zstd",)])
@pytest.mark.parametrize("layer", ["text", "lower"])
def test_pieces_do_not_change_the_size(
    layer: str, codecs: tuple[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [*words(2), [], [], *words(3, texts=3, length=4000)]
    whole = values_of(texts, layer=layer, codecs=codecs)
    monkeypatch.setattr(compression, "CHUNK", 1000)
    assert values_of(texts, layer=layer, codecs=codecs) == whole


@pytest.mark.parametrize("texts", [words(5), [["x"]], [["a", "b"], [], ["c"]], words(6, 400)])
def test_package_variant_is_what_the_package_computes(
    texts: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    # The package's size depends on the time of day by a byte or so: stop the clock.
    monkeypatch.setattr(time, "time", lambda: 0x67654321)
    package = diversity_file("compression")
    strings = [" ".join(text) for text in texts]
    found = values_of(texts, variant="package", codecs=("gzip", "xz"))
    assert round(found["gzip"], 3) == package.compression_ratio(strings, "gzip")
    assert round(found["xz"], 3) == package.compression_ratio(strings, "xz")


def test_a_group_has_the_ratio_of_its_texts_alone() -> None:
    texts = words(7)
    for layer in ("text", "lower"):
        for take in ([0, 1, 2], [3, 4, 9, 29]):
            alone = values_of([texts[t] for t in take], layer=layer)
            assert values_of(texts, take, layer=layer) == alone


@pytest.mark.parametrize("texts", [[], [[]], [[], []]])
@pytest.mark.parametrize("settings", [{}, LOWER, {"variant": "package"}])
def test_nothing_is_undefined(texts: list[list[str]], settings: dict[str, Any]) -> None:
    options = Options(**settings)
    sample = sample_of(texts, *METRIC.needs(options))
    rows = METRIC.rows(sample, options, Work())
    assert all(math.isnan(value) for value in values_of(texts, **settings).values())
    assert compression.notes(rows, everything(sample), options) == [
        "no bytes to compress: the ratio is undefined"
    ]


def test_senseless_options_are_refused() -> None:
    with pytest.raises(UnknownName, match="did you mean 'gzip'"):
        Options(codecs=("gzp",))
    for wrong in ({"codecs": ()}, {"variant": "package", "codecs": ("zstd",)}):
        with pytest.raises(OptionError):
            Options(**wrong)


def stories(seed: int, texts: int, habits: int) -> list[str]:
    """Texts over one vocabulary, each of its own mixture, with the writer's few set phrases."""
    rng = np.random.default_rng(seed)
    known = [f"w{number}" for number in range(600)]
    phrases = [" ".join(rng.choice(known, 6)) for _ in range(5)]
    found = []
    for _ in range(texts):
        weights = rng.gamma(0.4, size=len(known))
        size, chances = rng.integers(60, 180), np.cumsum(weights / weights.sum())
        # As `rng.choice` does it, which looks through the chances first.
        places = np.searchsorted(chances / chances[-1], rng.random(size), "right")
        drawn = [known[place] for place in places]
        for _ in range(rng.poisson(habits)):
            drawn.insert(int(rng.integers(len(drawn))), phrases[int(rng.integers(5))])
        found.append(" ".join(drawn))
    return found


def rows_of(texts: list[str], options: Options) -> Any:
    sample = sample_of([text.split() for text in texts], *METRIC.needs(options))
    return METRIC.rows(sample, options, Work())


@pytest.mark.parametrize("layer", ["text", "lower"])
def test_draws_are_measured_by_a_quick_codec_with_settings_of_its_own(layer: str) -> None:
    texts, take = stories(1, 20, 2), np.array([1, 4, 5, 9])
    joined = "\n".join(texts[text] for text in take).encode()
    settings = zstandard.ZstdCompressionParameters.from_level(1, source_size=1 << 20)
    quick = zstandard.ZstdCompressor(compression_params=settings).compress(joined)
    options = Options(layer=layer, codecs=("gzip", "xz"))
    found = compression.resample(rows_of(texts, options), take, options, np.random.default_rng(0))
    assert set(found) == {compression.value_name(codec, layer) for codec in ("gzip", "xz")}
    assert list(found.values()) == pytest.approx([len(joined) / len(quick)] * 2, rel=1e-3)


def test_few_items_are_compressed_as_a_byte_each() -> None:
    texts = words(3)
    options = Options(layer="lower")
    rows = rows_of([" ".join(text) for text in texts], options)
    codes = {
        word: number for number, word in enumerate({word: 0 for text in texts for word in text})
    }
    joined = b"\n".join(bytes(codes[word] for word in text) for text in texts)
    spelled = sum(len(" ".join(text).encode()) + 1 for text in texts) - 1
    settings = zstandard.ZstdCompressionParameters.from_level(2, source_size=1 << 20)
    size = len(zstandard.ZstdCompressor(compression_params=settings).compress(joined))
    found = compression.resample(rows, np.arange(len(texts)), options, np.random.default_rng(0))
    # Which byte an item has is the vocabulary's order, which moves the size by a byte or two.
    assert found["gzip_lower"] == pytest.approx(spelled / size, rel=0.02)


def test_the_standard_error_is_that_of_texts_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    # The spread of the ratio over new texts by the same writer against the formula's.
    ratios, errors = [], []
    monkeypatch.setattr(compression, "LARGE", 1)
    monkeypatch.setattr(compression, "GZIP_LEVEL", 1)
    for seed in range(60):
        options = Options()
        rows, take = rows_of(stories(seed, 90, 1), options), np.arange(90)
        ratios.append(METRIC.reduce(rows, take, options, np.random.default_rng(0))["gzip"])
        errors.append(error_of_sum(compression.text_errors(rows, take, options)["gzip"], None))
    assert 0.75 < np.mean(errors) / np.std(ratios, ddof=1) < 1.35
    inside = np.abs(np.array(ratios) - np.mean(ratios)) < 1.96 * np.array(errors)
    assert inside.mean() >= 0.87


@pytest.mark.parametrize("together", [1, 5])
def test_half_samples_give_the_same_standard_error(
    monkeypatch: pytest.MonkeyPatch, together: int
) -> None:
    from rote.compare.intervals import deviation, draw_half_samples

    monkeypatch.setattr(compression, "GZIP_LEVEL", 1)
    options, take, clusters = Options(), np.arange(500), np.arange(500) // together
    texts = stories(7, 500, 1)
    if together > 1:  # the texts of an author have a word of his own
        texts = [
            f"{text} {'so ' * 30}" if cluster % 2 else text
            for text, cluster in zip(texts, clusters)
        ]
    rows = rows_of(texts, options)
    keys = clusters.astype(np.uint64)
    halves = draw_half_samples(
        lambda own, rng: METRIC.reduce(rows, own, options, rng), take, keys, seed=0
    )
    errors = compression.text_errors(rows, take, options)["gzip"]
    spread = deviation(halves["gzip"])
    assert error_of_sum(errors, clusters) == pytest.approx(spread, rel=0.3)
    if together > 1:
        assert error_of_sum(errors, None) < 0.7 * spread
    assert compression.text_errors(rows, take[:100], options) == {}  # too small to go by


def test_tests_by_the_stand_in_find_differences_and_hold_their_level() -> None:
    import rote

    def p(seed: int, habits: int) -> float:
        found = rote.compression(
            {"human": stories(seed, 16, 1), "model": stories(seed + 1000, 16, habits)},
            reference="human",
            permutations=19,
            matched=False,
            interval=0,
        )
        return float(found.comparisons[0]["p"])

    assert np.mean([p(seed, 12) <= 0.05 for seed in range(5)]) == 1
    alike = np.array([p(seed, 1) for seed in range(40)])
    assert (alike <= 0.1).mean() <= 0.225  # 4 of 40 expected; 9 or fewer in 99 of 100 such rounds
    assert 0.3 < alike.mean() < 0.7


def test_the_stand_in_is_named_and_the_difference_is_that_of_the_codec() -> None:
    import rote

    texts = {"human": stories(1, 12, 1), "model": stories(2, 12, 6)}
    found = rote.compression(texts, reference="human", permutations=39)
    assert "draws:zstd" in str(found.signature)
    row = found.comparisons[0]
    own, theirs = (found.by_source[source].values["gzip"] for source in ("model", "human"))
    assert row["difference"] == own - theirs
    assert found.interval is not None
    assert found.interval.method.endswith(
        "without replacement by zstd and n-grams, calibrated; Student's t"
    )
