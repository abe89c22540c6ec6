"""The first use says that it compiles; later ones say nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from rote.core import compiling
from rote.core.progress import Silent


class Listener(Silent):
    def __init__(self) -> None:
        self.heard: list[str] = []

    def say(self, line: str) -> None:
        self.heard.append(line)


def test_only_uncompiled_kernels_are_announced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiling, "_PACKAGE", tmp_path)
    monkeypatch.setattr(compiling, "_USER_CACHE", tmp_path / "none")
    listener = Listener()
    compiling.say_if_compiling(listener, "_tagger")
    assert "compiling" in listener.heard[0]
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "_tagger.tag_tokens-1.py311.nbi").touch()
    compiling.say_if_compiling(listener, "_tagger")
    assert len(listener.heard) == 1
    compiling.say_if_compiling(listener, "_machine")
    assert len(listener.heard) == 2
