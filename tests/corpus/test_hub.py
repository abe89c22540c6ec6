"""Data sets of Hugging Face by name, read through fsspec; a folder stands for the hub."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from rote.core.errors import InputError
from rote.corpus import open_corpus

fsspec = pytest.importorskip("fsspec", reason="fsspec reads addresses (extra `spark`)")


@pytest.fixture
def hub() -> Iterator[Any]:
    from fsspec.implementations.memory import MemoryFileSystem

    class Hub(MemoryFileSystem):  # type: ignore[misc]
        protocol = "hf"
        store: ClassVar[dict[str, Any]] = {}
        pseudo_dirs: ClassVar[list[str]] = [""]
        cachable = False

        @classmethod
        def _strip_protocol(cls, path: str) -> str:
            return "/" + path.removeprefix("hf://").strip("/")

    known = fsspec.registry.get("hf")
    fsspec.register_implementation("hf", Hub, clobber=True)
    yield Hub()
    if known is not None:
        fsspec.register_implementation("hf", known, clobber=True)


def test_a_data_set_is_read_by_its_name(hub: Any) -> None:
    for split in ("train", "test"):
        line = json.dumps({"text": f"a text of {split}"})
        hub.pipe(f"/datasets/owner/name/data/{split}.jsonl", line.encode())
    hub.pipe("/datasets/owner/name/README.md", b"About this data set.")
    texts = [document.text for document in open_corpus("hf:owner/name")]
    assert texts == ["a text of test", "a text of train"]
    some = [document.text for document in open_corpus("hf:owner/name/data/tr*")]
    assert some == ["a text of train"]


def test_without_a_network_the_error_says_what_to_do(
    hub: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class NetworkError(Exception):
        pass

    def unreachable(*args: Any, **kwargs: Any) -> Any:
        raise NetworkError("Name or service not known")

    monkeypatch.setattr(type(hub), "isdir", unreachable)
    with pytest.raises(InputError, match=r"hf:owner/name: cannot be read .*Check the address and"):
        open_corpus("hf:owner/name")
