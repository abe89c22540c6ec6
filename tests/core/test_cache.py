"""Values of one name are never given out under another."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.core.cache import DiskCache
from rote.core.progress import Silent
from tests.examples import dear


@pytest.fixture(autouse=True, scope="module")
def own_folder(tmp_path_factory: pytest.TempPathFactory):
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        patch.setenv("ROTE_CACHE", str(folder))
        yield folder


def kept(name: str, key: bytes, value: bytes | None = None) -> bytes | None:
    with DiskCache("answers", name, Silent()) as held:
        if value is not None:
            held.write([(key, value)])
        return held.read([key]).get(key)


@pytest.mark.parametrize(
    "names",
    [
        ("llama3:8b", "llama3-8b", "llama3/8b", "Llama3:8b", "-llama3:8b-"),
        ("modèle", "mod-le"),
        ("long" * 100 + ":a", "long" * 100 + "-a"),
        ("b" * 200 + "same end" * 20, "c" * 200 + "same end" * 20),
        ("a\ud800", "a\ud801", "..", "/", ""),
    ],
)
def test_like_names_do_not_share_what_is_kept(names: tuple[str, ...]) -> None:
    for name in names:
        assert kept(name, b"key") is None
        kept(name, b"key", name.encode("utf-8", "surrogatepass"))
    for name in names:
        assert kept(name, b"key") == name.encode("utf-8", "surrogatepass")


@dear(30)
@given(st.dictionaries(st.text(max_size=8), st.binary(max_size=4), min_size=1, max_size=5))
def test_every_name_finds_its_own(held: dict[str, bytes]) -> None:
    for name, value in held.items():
        kept(name, b"k", value)
    for name, value in held.items():
        assert kept(name, b"k") == value


def test_a_file_of_an_older_version_is_not_read(own_folder: Path) -> None:
    """Its keys do not say whose they are, whatever it is called."""
    with DiskCache("answers", "older", Silent()):
        pass
    (path,) = (own_folder / "answers").glob("older-*.sqlite")
    with sqlite3.connect(path) as file:
        file.execute("insert into kept values (?, ?)", (b"key", b"of somebody"))
    file.close()
    assert kept("older", b"key") is None


def test_the_file_shows_whose_it_is(own_folder: Path) -> None:
    kept("https://example.org/v1 model:8b", b"key", b"value")
    (path,) = (own_folder / "answers").glob("https-example.org-v1-model-8b-*.sqlite")
    assert len(path.name) < 200
