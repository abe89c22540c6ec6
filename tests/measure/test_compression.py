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


def test_levels_are_used() -> None:
    texts = words(4, length=500)
    joined = b"\n".join(" ".join(text).encode() for text in texts)
    found = values_of(
        texts, codecs=("gzip", "xz", "zstd"), gzip_level=1, xz_preset=0, zstd_level=19
    )
    assert found["gzip"] == len(joined) / len(gzip.compress(joined, 1, mtime=0))
    assert found["xz"] == len(joined) / len(lzma.compress(joined, preset=0))
    assert found["zstd"] == len(joined) / len(zstandard.ZstdCompressor(level=19).compress(joined))


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


def test_said_twice_compresses_better() -> None:
    texts = words(8)
    assert values_of(texts + texts)["gzip"] > values_of(texts)["gzip"]


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


def test_values_follow_the_codecs() -> None:
    options = Options(codecs=("zstd", "gzip"))
    assert [value.name for value in METRIC.values(options)] == ["zstd", "gzip"]
    assert list(values_of(words(9), codecs=("zstd", "gzip"))) == ["zstd", "gzip"]
    assert METRIC.order_matters


def test_senseless_options_are_refused() -> None:
    with pytest.raises(UnknownName, match="did you mean 'gzip'"):
        Options(codecs=("gzp",))
    for wrong in (
        {"codecs": ()},
        {"variant": "package", "codecs": ("zstd",)},
        {"gzip_level": 10},
        {"xz_preset": -1},
        {"zstd_level": 23},
    ):
        with pytest.raises(OptionError):
            Options(**wrong)
