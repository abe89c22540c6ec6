"""What the tests of index folders share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.index.folders import write_files


@pytest.fixture
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed processes are tested, not power cuts: nothing has to reach the disk."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    return write_files(tmp_path / "in", 0, 7)
