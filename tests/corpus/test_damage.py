"""Damaged files of every format: texts, or an error that names the file; nothing is printed."""

from __future__ import annotations

import random

import pytest

from rote.core.errors import InputError
from rote.corpus import open_corpus

from .files import FORMATS, ROWS

ROUNDS = 40


def damaged(data: bytes, draw: random.Random) -> bytes:
    """The data cut off, with a few bytes changed, or a stretch of it replaced."""
    if draw.random() < 0.2:
        return data[: draw.randrange(1, len(data))]
    changed = bytearray(data)
    # The footer of a Parquet file stands in its last third, and is what the rest hangs on.
    low = draw.choice((0, 2 * len(data) // 3))
    for _ in range(draw.choice((1, 3, 30))):
        changed[draw.randrange(low, len(changed))] = draw.randrange(256)
    return bytes(changed)


@pytest.mark.parametrize("ending", FORMATS)
def test_a_damaged_file_is_read_or_refused_by_name(ending, write, capfd):
    rows = [{**row, "id": f"{row['id']}-{n}", "number": n} for n in range(12) for row in ROWS]
    whole, draw = FORMATS[ending](rows), random.Random(ending)
    refused: list[tuple[str, InputError]] = []
    for number in range(ROUNDS):
        path = write(f"{number}{ending}", damaged(whole, draw))
        try:
            list(open_corpus([path]))
        except InputError as error:
            refused.append((path.name, error))
    assert refused
    for name, error in refused:
        assert name in str(error)
        assert "`" not in error.problem.replace("`rote", "")  # Rust quotes its code so
    assert capfd.readouterr().err == ""


def test_a_parquet_file_that_makes_polars_panic_says_which_rows(write, capfd, monkeypatch):
    import polars as pl

    path = write("a.parquet", FORMATS[".parquet"](ROWS))
    corpus = open_corpus([path])
    corpus.guesses  # noqa: B018 - the first rows are read here

    def panic(*_, **__):
        import os

        os.write(2, b"thread 'async-executor-0' panicked at byte_source.rs:461:9\n")
        raise pl.exceptions.PanicException("called `Option::unwrap()` on a `None` value")

    monkeypatch.setattr(pl.LazyFrame, "slice", panic)
    with pytest.raises(InputError, match=r"a\.parquet.* between rows 1 and 4 \(its parts"):
        list(corpus)
    assert capfd.readouterr().err == ""
