"""No index, whoever wrote it, crashes the process: it answers, or refuses with a clear error."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from rote.annotate import annotators
from rote.cli._index import check_layers
from rote.core.errors import InputError
from rote.index.factory import open_index
from rote.index.folders.build import add_to_index, build_index
from rote.index.folders.folder import CHECKED, verify_index
from rote.index.folders.maintenance import add_layer, replace_documents
from rote.index.folders.manifest import MANIFEST
from rote.index.segments.part import SEAL
from tests.examples import dear
from tests.index import hostile
from tests.index.folders import corpus, options, write_files
from tests.killing import fork, status

_TOGETHER = 12

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("hostile")
    files = write_files(home / "in", 0, 6)
    chosen = options(memory=2**30, layers=("lower", "pos", "meaning:static"))
    build_index(corpus(files[:4]), home / "idx", chosen)
    add_to_index(home / "idx", corpus(files[4:]))
    return home / "idx"


@pytest.fixture(scope="module")
def compact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("hostile-compact")
    files = write_files(home / "in", 0, 6)
    chosen = options(memory=2**30, layers=("lower", "pos"), compact=True)
    build_index(corpus(files[:4]), home / "idx", chosen)
    add_to_index(home / "idx", corpus(files[4:]))
    return home / "idx"


def files_of(index: Path) -> list[Path]:
    return sorted(place.relative_to(index) for place in index.glob("segments/*/*/*"))


class Child(NamedTuple):
    """A process that is told names of indexes, and says what it made of each."""

    id: int
    told: TextIO
    said: TextIO


@pytest.fixture(scope="module")
def child() -> Iterator[Child]:
    """One process for all indexes of this file."""
    names, told = os.pipe()
    said, answers = os.pipe()

    def serve() -> None:
        os.close(told)
        with open(names) as given, open(answers, "w") as out:
            hostile.serve(given, out)

    started = fork(serve)
    os.close(names)
    os.close(answers)
    with open(told, "w") as telling, open(said) as listening:
        yield Child(started, telling, listening)
    assert status(started) == 0


def asked(child: Child, paths: list[Path]) -> list[tuple[int, int]]:
    """What the child made of indexes; if a signal kills it, the test fails."""
    found = []
    watch = threading.Timer(300, os.kill, (child.id, signal.SIGKILL))
    watch.start()
    try:
        for path in paths:
            child.told.write(f"{path}\n")
            child.told.flush()
            said = child.said.readline().split()
            assert said, f"exit {status(child.id)} at {path}"
            found.append((int(said[0]), int(said[1])))
    finally:
        watch.cancel()
    return found


def test_a_whole_index_answers_everything(child: Child, index: Path, compact: Path) -> None:
    for found in asked(child, [index, compact]):
        assert found[1] == 0
        assert found[0] > 40


@contextmanager
def tampered(index: Path, file: Path, draw: random.Random) -> Iterator[str]:
    """One file of the index is another while this lasts, which is quicker than a copy of all."""
    touched = (file, file.parent / SEAL, index / MANIFEST)
    before = {place: place.read_bytes() for place in touched}
    try:
        yield hostile.tamper(index, file, draw)
    finally:
        for place, data in before.items():
            place.unlink()
            place.write_bytes(data)
        (index / CHECKED).unlink(missing_ok=True)


# One example is many indexes; shrinking would take for ever.
@settings(dear(5), phases=[Phase.generate])
@given(st.integers(0, 2**32))
def test_a_tampered_index_answers_or_refuses(
    child: Child, index: Path, compact: Path, seed: int
) -> None:
    draw = random.Random(seed)
    found = []
    for _ in range(_TOGETHER):
        whole = draw.choice([index, compact])
        files = files_of(whole)
        # Whether places are sorted is not checked on opening, so more is tried of them.
        files += [f for f in files if f.name in ("order", "table") or "chain" in f.name] * 4
        with tampered(whole, whole / draw.choice(files), draw) as what:
            try:
                found += asked(child, [whole])
            except AssertionError as error:
                raise AssertionError(f"{error}: {what}") from None
    # Not all changes matter: a text that says something else is a text all the same.
    assert any(refused for _, refused in found)
    assert [refused for _, refused in asked(child, [index, compact])] == [0, 0]


def change(index: Path, pattern: str, word: int, at: int = -1, size: int = 8) -> None:
    (file, *_) = sorted(index.glob(f"segments/*/{pattern}"))
    data = bytearray(file.read_bytes())
    start = at * size % len(data)
    data[start : start + size] = (word % (1 << 8 * size)).to_bytes(size, "little")
    file.write_bytes(bytes(data))
    hostile._mend_seal(file)
    hostile._mend_manifest(index)
    (index / CHECKED).unlink(missing_ok=True)


@pytest.mark.parametrize(
    ("pattern", "word", "at", "size"),
    [
        ("lower/chain.begins", 2**31, 1, 4),
        ("lower/chain.blocks", -1, 0, 4),
        ("lower/chain.blocks", -1, 4, 4),
        ("lower/chain.firsts", 2**31, 2, 4),
        ("lower/chain.items", -1, 0, 1),
        ("lower/chain.samples", -1, 0, 1),
        ("lower/chain.ranks", -1, 0, 1),
    ],
)
def test_a_chain_that_leads_nowhere_is_named(
    compact: Path, tmp_path: Path, pattern: str, word: int, at: int, size: int
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(compact, copy)
    change(copy, pattern, word, at, size)
    with pytest.raises(InputError, match=r"its links of lower make no sense"):
        open_index(copy)


@pytest.mark.parametrize(
    ("pattern", "word", "at", "size", "said"),
    [
        ("lower/table", -1, 3, 1, "sorted places of lower"),
        ("lower/table", 1, 0, 1, "sorted places of lower"),
        ("lower/code_lengths", 0, 1, 1, "sorted places of lower"),
        ("lower/vocabulary.ends", 2**40, 2, 8, "strings of lower"),
        ("lower/ids", -1, 0, 1, "items of lower|ends of documents in lower"),
        ("lower/order", -1, 0, 8, "sorted places of lower"),
        ("documents/document_ends", 2**40, 0, 8, "ends of documents"),
        ("documents/spans.steps", 7 << 5, 1, 1, "spans of word"),
        ("documents/texts.offsets", 2**62, 1, 8, "texts"),
        ("documents/texts.ends", -5, 0, 8, "texts"),
        ("documents/author", 2**30, 0, 4, "authors"),
        ("documents/hashes.documents", -7, 0, 4, "hashes of ids"),
    ],
)
def test_what_leads_nowhere_is_named_on_opening_and_by_verify(
    index: Path, tmp_path: Path, pattern: str, word: int, at: int, size: int, said: str
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(index, copy)
    change(copy, pattern, word, at, size)
    with pytest.raises(InputError, match=f"its ({said}).* make no sense"):
        open_index(copy)
    (problem,) = verify_index(copy)
    assert "make no sense" in problem
    # Not noted as whole: the next opening says it again.
    with pytest.raises(InputError, match="make no sense"):
        open_index(copy)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda held: held["segments"].append(held["segments"][0]), r"segments\[2\]\.name"),
        (
            lambda held: held["segments"].append({**held["segments"][0], "name": "copy"}),
            r"segments\[2\]\.origin\.checksum",
        ),
        (
            lambda held: held["segments"].append(
                {**held["segments"][0], "name": "copy", "origin": other_origin(held)}
            ),
            r"segments\[2\]\.record\.parts\[documents\]\.checksum",
        ),
        (
            lambda held: held["segments"].append({**held["segments"][0], "name": "./copy"}),
            r"segments\[2\]\.name': is './copy', which is not a valid name",
        ),
        (lambda held: double(held["segments"][0]["record"]["parts"]), r"parts\[5\]\.folder"),
        (
            lambda held: held["segments"][0]["record"]["parts"].append(
                {**held["segments"][0]["record"]["parts"][1], "folder": "other"}
            ),
            r"parts\[5\]\.name",
        ),
        (lambda held: double(held["layers"]), r"layers\[3\]"),
        (lambda held: double(held["sorted_layers"]), r"sorted_layers\[2\]"),
        (
            lambda held: held.update(subwords=[["subwords", "tokenizers/0a.json", "s"]] * 2),
            "subwords",
        ),
        (
            lambda held: held.update(subwords=[["subwords", "tokenizers/../0a.json", "s"]]),
            r"subwords\[0\].*no name of a tokenizer",
        ),
        (lambda held: held["segments"].pop(), "documents': is 18, and the segments have"),
    ],
)
def test_what_is_named_twice_or_leads_elsewhere_is_refused(
    index: Path, tmp_path: Path, change: Callable[[dict[str, Any]], object], said: str
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(index, copy)
    held = json.loads((copy / MANIFEST).read_text())
    shutil.copytree(copy / "segments" / held["segments"][0]["name"], copy / "segments" / "copy")
    change(held)
    hostile.write_manifest(copy, held)
    with pytest.raises(InputError, match=rf"rote-index\.json, field '.*{said}"):
        open_index(copy)
    (problem,) = verify_index(copy)
    assert re.search(said, problem)


def double(held: list[Any]) -> None:
    held.append(held[0])


def other_origin(held: dict[str, Any]) -> dict[str, Any]:
    return {**held["segments"][0]["origin"], "checksum": "0" * 32}


@pytest.mark.parametrize("name", ["/tmp/elsewhere", "folder", "../folder", "pip", ""])
def test_a_manifest_chooses_no_path_to_load_from(
    index: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spacy = pytest.importorskip("spacy")
    loaded = []
    monkeypatch.setattr(spacy, "load", loaded.append)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(annotators.TRUSTED, raising=False)
    (tmp_path / "folder").mkdir()
    copy = tmp_path / "copy"
    shutil.copytree(index, copy)
    held = json.loads((copy / MANIFEST).read_text())
    hostile.write_manifest(copy, {**held, "annotator": f"spacy:{name}"})
    more = write_files(tmp_path / "in", 7, 8)
    said = (
        r"rote-index\.json, field 'annotator': is 'spacy:.* not installed.*ROTE_TRUSTED_ANNOTATOR"
    )
    for ask in (
        lambda: open_index(copy).count("the"),
        lambda: add_to_index(copy, corpus(more)),
        lambda: replace_documents(copy, corpus(more)),
        lambda: add_layer(copy, "upos"),
        lambda: check_layers(open_index(copy), ["upos"]),
    ):
        with pytest.raises(InputError, match=said):
            ask()
    assert loaded == []


def test_a_path_that_the_user_names_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spacy = pytest.importorskip("spacy")
    monkeypatch.delenv(annotators.TRUSTED, raising=False)
    made = spacy.blank("en")
    made.to_disk(tmp_path / "mine")
    name = f"spacy:{tmp_path / 'mine'}"
    files = write_files(tmp_path / "in", 0, 3)
    build_index(corpus(files[:2]), tmp_path / "idx", options(layers=("lower",), annotator=name))
    with pytest.raises(InputError, match="is not installed"):
        open_index(tmp_path / "idx").count("the")
    add_to_index(tmp_path / "idx", corpus(files[2:]), annotator=name)
    monkeypatch.setenv(annotators.TRUSTED, f"rote,{name}")
    assert open_index(tmp_path / "idx").count("the") > 0


def test_a_text_that_would_fill_the_memory_is_refused(index: Path, tmp_path: Path) -> None:
    import zstandard

    copy = tmp_path / "copy"
    shutil.copytree(index, copy)
    (file, *_) = sorted(copy.glob("segments/*/documents/texts.data"))
    bomb = zstandard.ZstdCompressor().compress(bytes(2**28))
    file.write_bytes(bomb)
    hostile._mend_seal(file)
    change(copy, "documents/texts.offsets", len(bomb))
    opened = open_index(copy)
    held = [segment.documents for segment in opened.segments]
    with pytest.raises(InputError, match="exceeds the maximum size"):
        [documents.text(0) for documents in held]
