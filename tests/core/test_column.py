"""Room in memory, and arrays that are larger than it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rote.core import column


def test_a_container_has_the_memory_that_it_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = tmp_path / "memory.max"
    monkeypatch.setattr(column, "_GIVEN", given)
    whole = column.room()
    given.write_text("1000000\n")
    assert column.room() == 500_000
    given.write_text("max\n")
    assert column.room() == whole


def test_a_large_array_is_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column, "room", lambda: 800.0)
    small, large = column.empty(25, np.int32), column.empty(26, np.int32)
    assert isinstance(large.base, np.memmap)
    assert not isinstance(small.base, np.memmap)
    large[:] = np.arange(26)
    assert large.sum() == 325
    assert len(column.empty(0, np.int32)) == 0
