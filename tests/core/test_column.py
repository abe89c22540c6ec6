"""Room in memory, and arrays that are larger than it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rote.core import arrays


def test_a_container_has_the_memory_that_it_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = tmp_path / "memory.max"
    monkeypatch.setattr(arrays, "_GIVEN", given)
    whole = arrays.room()
    given.write_text("1000000\n")
    assert arrays.room() == 500_000
    given.write_text("max\n")
    assert arrays.room() == whole


def test_a_large_array_is_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "room", lambda: 800.0)
    small, large = arrays.empty(25, np.int32), arrays.empty(26, np.int32)
    assert isinstance(large.base, np.memmap)
    assert not isinstance(small.base, np.memmap)
    large[:] = np.arange(26)
    assert large.sum() == 325
    assert len(arrays.empty(0, np.int32)) == 0
