"""Whatever in a folder that a command writes is a link, what it leads to stays as it is.

Every entry of what an earlier run left is moved elsewhere in turn, among things of a stranger's
that look as if rote had made them, and a link put in its place: the command does its work without
touching them, or says that there is a link.
"""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import pytest
from click.testing import CliRunner

import rote
from rote.annotate import annotators, store
from rote.cli.commands.demo import command as demo
from rote.core.cache import DiskCache
from rote.core.errors import OptionError, RoteError
from rote.core.locked_folder import LOCK, is_abandoned, locked
from rote.core.progress import Silent
from rote.corpus import open_corpus
from rote.corpus.items import Item
from rote.curate.decontaminate import decontaminate
from rote.curate.dedup_folder import dedup
from rote.curate.generate import count_lines, grow_file, partial_path
from rote.curate.limit import LimitOptions
from rote.curate.limit_folder import limit
from rote.index.factory import open_index
from rote.index.folders.build import add_to_index, build_index
from rote.index.folders.maintenance import (
    replace_documents,
)
from rote.index.folders.manifest import MANIFEST
from rote.report.output import write_folder
from rote.web.database import prepare_store
from rote.web.files import list_uploads, remove_partial, remove_upload, store_text, store_upload
from rote.web.job_queue import JobStore
from tests.cli.calls import commands
from tests.index.folders import characters, corpus, options, write_files
from tests.killing import state_of
from tests.kit import write_jsonl
from tests.report.made_report import study

TEXT = "The ferry was late again near the old quay, and nobody waited for it in the cold rain."
STRANGE = {
    "2024.json": "{}",
    "000000-00-00.npz.zst": "mine",
    ".rote-index.json.abcdefgh": "mine",
    ".note.json.abcdefgh": "mine",
    f"{'0a' * 16}/origin/part.json": "{}",
    f"{'0b' * 16}.partial/mine": "mine",
    "0c0c0c0c0c0c": "mine",
    f"{'0d' * 16}.txt": "mine",
    "lock": "mine",
}
"""What a stranger's folder holds beside: names of segments, pieces, tokenizers, halves, servers."""


@dataclass(frozen=True)
class Case:
    """A command: what an earlier run leaves in `home / "work"`, and the run that finds it."""

    leave: Callable[[Path], object]
    run: Callable[[Path], object]
    every: int = 1
    """Every second or third entry is enough: one function writes all, and that takes long."""


def texts(home: Path) -> Path:
    """A few documents, one of them twice."""
    path = home / "texts.jsonl"
    rows = [{"id": str(n), "text": f"{TEXT} {n}" if n % 3 else TEXT} for n in range(6)]
    return write_jsonl(path, rows)


def indexed(home: Path) -> None:
    files = write_files(home / "in", 0, 4)
    layers = ("lower", characters(home / "tokenizer.json"))
    build_index(corpus(files[:2]), home / "work", options(layers=layers))
    add_to_index(home / "work", corpus(files[2:3]))


def begun(home: Path) -> None:
    """An index that is being built."""
    indexed(home)
    (home / "work" / MANIFEST).unlink()
    (home / "work" / "pieces").mkdir(exist_ok=True)


def built(home: Path) -> None:
    layers = ("lower", f"subwords:{home / 'tokenizer.json'}")
    build_index(corpus(write_files(home / "in", 0, 3)), home / "work", options(layers=layers))


def annotated(home: Path) -> None:
    store.annotate(
        open_corpus(texts(home)), home / "work", annotators.get("rote"), ("pos",), reporter=Silent()
    )


def interrupted(work: Callable[[Path], object]) -> Callable[[Path], None]:
    """Everything is made, and the process ends before it gets its name."""

    def leave(home: Path) -> None:
        (home / "work").mkdir()
        real = os.rename

        def rename(*given: object) -> None:
            raise KeyboardInterrupt

        os.rename = rename  # type: ignore[assignment]
        try:
            with pytest.raises(KeyboardInterrupt):
                work(home)
        finally:
            os.rename = real

    return leave


def deduplicated(home: Path) -> None:
    dedup(open_corpus(texts(home)), home / "work" / "out")


def decontaminated(home: Path) -> None:
    item = Item("1", "task", TEXT, ("yes", "no"), 0)
    decontaminate(open_corpus(texts(home)), [item], home / "work" / "out")


def limited(home: Path) -> None:
    limit(open_corpus(texts(home)), home / "work" / "out", LimitOptions(max=(1,), seeds=1))


def limiting(home: Path) -> None:
    """Half a folder of a run that was killed."""
    half = home / "work" / ".out.abcdefgh"
    half.mkdir(parents=True)
    (half / LOCK).write_text('{"pid": 1}')
    (half / "max-1.seed-0.jsonl").write_text("{}")


def reported(home: Path) -> None:
    write_folder(study(), home / "work")


def served(home: Path) -> None:
    """What the app does with its folder."""
    folder = home / "work"
    prepare_store(folder)
    remove_partial(folder)
    key = store_upload(folder, "a.txt", BytesIO(TEXT.encode()), 2**20)
    store_upload(folder, "b.txt", BytesIO(f"{TEXT} Again.".encode()), 2**20)
    remove_upload(folder, key)
    for one in tuple(list_uploads(folder)):
        remove_upload(folder, one)
    store_upload(folder, "a.txt", BytesIO(TEXT.encode()), 2**20)
    store_text(folder, TEXT)
    JobStore(folder).close()


def drawn(home: Path) -> None:
    (home / "work").mkdir(exist_ok=True)
    rote.lexical({"a": [TEXT], "b": [f"{TEXT} Again."]}).save(home / "work" / "result.json")
    made = CliRunner().invoke(
        commands()["lexical"],
        [str(texts(home)), "--figures", str(home / "work"), "--figure", str(home / "work/a.json")],
    )
    assert made.exception is None, made.output


CASES = {
    "annotate": Case(annotated, annotated),
    "decontaminate": Case(interrupted(decontaminated), decontaminated),
    "dedup": Case(interrupted(deduplicated), deduplicated),
    "index add": Case(
        indexed, lambda home: add_to_index(home / "work", corpus(write_files(home / "in", 3, 4)))
    ),
    "index build": Case(begun, built),
    "index replace": Case(
        indexed, lambda home: replace_documents(home / "work", open_corpus(replaced(home)))
    ),
    "lexical --figures": Case(drawn, drawn, every=2),
    "limit": Case(limiting, limited),
    "report": Case(reported, reported, every=3),
    "serve": Case(served, served),
}
ELSEWHERE = {"train calibrate", "train finetune", "train study"}
"""Commands that train, in tests/studies/test_training.py."""
ALIKE = {"index add-layer", "index merge", "index remove"}
"""Commands that lock, read and publish an index as `index add` and `index replace` do."""


def replaced(home: Path) -> Path:
    return write_jsonl(home / "new.jsonl", [{"id": "0-0", "text": TEXT}])


def entries(work: Path) -> Iterator[Path]:
    """The first of each kind, whatever its hash is."""
    seen: set[str] = set()
    for folder, folders, files in os.walk(work):
        for name in sorted((*folders, *files)):
            place = (Path(folder) / name).relative_to(work)
            kind = re.sub(r"[0-9a-f]{12,}", "#", str(place))
            if len(place.parts) > 2 or place.parts[0] in ("tables", "figures"):
                kind = f"{place.parts[0]} {len(place.parts)} {place.suffix}"
            if kind not in seen:
                seen.add(kind)
                yield place


def plant(work: Path, place: Path, strange: Path) -> None:
    """Move an entry to a stranger's folder, and link to it from where it was."""
    strange.mkdir()
    target = strange / place.name
    os.rename(work / place, target)
    home = target if target.is_dir() else strange
    for name, text in STRANGE.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    (work / place).symlink_to(target)


@pytest.mark.parametrize("name", CASES)
def test_what_a_link_leads_to_stays_as_it_is(name: str, tmp_path: Path) -> None:
    case, home = CASES[name], tmp_path / "home"
    home.mkdir()
    case.leave(home)
    places = list(entries(home / "work"))[:: case.every]
    assert places
    refused = []
    for number, place in enumerate(places):
        copy, strange = tmp_path / f"copy{number}", tmp_path / f"strange{number}"
        shutil.copytree(home, copy)
        plant(copy / "work", place, strange)
        before = state_of(strange)
        problem = ""
        try:
            case.run(copy)
        except RoteError as error:
            problem = str(error)
            refused.append(str(place))
        assert state_of(strange) == before, place
        assert not problem or "is a link to" in problem, place
        shutil.rmtree(copy)
    # What holds other things is never gone through a link.
    folders = [str(p) for p in places if (home / "work" / p).is_dir() and len(p.parts) == 1]
    assert {p for p in folders if not p.startswith(".out.abc")} <= set(refused)


def test_every_command_that_writes_a_folder_is_tried() -> None:
    writing = {
        name
        for name, command in commands().items()
        for parameter in command.params
        if getattr(parameter, "writes", None) == "folder"
    }
    assert writing <= CASES.keys() | ELSEWHERE
    changing = {name for name in commands() if name.startswith("index ")}
    reading = {"index info", "index originals", "index verify"}
    assert changing - reading <= CASES.keys() | ALIKE


@pytest.mark.parametrize("name", [n for n in CASES if n.startswith("index")] + ["annotate"])
def test_a_folder_that_is_reached_through_a_link_is_used(name: str, tmp_path: Path) -> None:
    CASES[name].leave(tmp_path)
    os.rename(tmp_path / "work", tmp_path / "work-2024")
    (tmp_path / "work").symlink_to("work-2024")
    CASES[name].run(tmp_path)
    if name != "annotate":
        assert open_index(tmp_path / "work").documents_held


@pytest.mark.parametrize("name", ["dedup", "decontaminate", "limit"])
def test_a_folder_takes_the_place_of_an_empty_one_behind_a_link(name: str, tmp_path: Path) -> None:
    (tmp_path / "disk" / "out").mkdir(parents=True)
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "out").symlink_to(tmp_path / "disk" / "out")
    CASES[name].run(tmp_path)
    assert (tmp_path / "disk" / "out" / "manifest.json").is_file()
    assert os.listdir(tmp_path / "disk") == ["out"]
    assert (tmp_path / "work" / "out").is_symlink()
    CASES[name].run(tmp_path)


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_a_lock_that_is_somebodys_file_is_left_alone(
    link: Callable[[Path, Path], None], tmp_path: Path
) -> None:
    mine, folder = tmp_path / "thesis.txt", tmp_path / "folder"
    mine.write_text("all of it")
    folder.mkdir()
    link(mine, folder / LOCK)
    with (
        pytest.raises(OptionError, match=r"lock is (a link to|not a rote lock file)"),
        locked(folder, "me"),
    ):
        pass
    assert not is_abandoned(folder)
    assert mine.read_text() == "all of it"


def test_a_lock_is_no_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / LOCK)
    with pytest.raises(OptionError, match="is not a rote lock file"), locked(tmp_path, "me"):
        pass
    assert not is_abandoned(tmp_path)


def test_a_text_that_grows_does_not_grow_through_a_link(tmp_path: Path) -> None:
    mine, path = tmp_path / "mine.jsonl", tmp_path / "out.jsonl"
    mine.write_text("no line of its own")
    partial_path(path).symlink_to(mine)
    with pytest.raises(OptionError, match="is a link"):
        count_lines(path, 3, lambda number, line: None)
    with pytest.raises(OptionError, match="is a link"), grow_file(path):
        pass
    assert mine.read_text() == "no line of its own"


def test_what_is_cached_is_not_written_through_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROTE_CACHE", str(tmp_path / "cache"))
    with DiskCache("vectors", "model", Silent()) as kept:
        kept.write([(b"key", b"value")])
    (held,) = (tmp_path / "cache" / "vectors").glob("*.sqlite")
    mine = tmp_path / "mine.sqlite"
    sqlite3.connect(mine).execute("create table mine (a)").connection.close()
    for place, target in ((held, mine), (held.parent, tmp_path / "other")):
        shutil.rmtree(place) if place.is_dir() else place.unlink()
        (tmp_path / "other").mkdir(exist_ok=True)
        place.symlink_to(target)
        before = state_of(tmp_path)
        with DiskCache("vectors", "model", Silent()) as kept:
            kept.write([(b"key", b"value")])
            assert kept.read([b"key"]) == {}
        assert state_of(tmp_path) == before


@pytest.mark.parametrize("entry", ["index", "kjv-index", "report"])
def test_the_demo_does_not_write_through_a_link(entry: str, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / entry).symlink_to(tmp_path / "mine")
    made = CliRunner().invoke(demo, ["-o", str(tmp_path / "out")])
    assert "is a link" in str(made.exception)
    assert os.listdir(tmp_path / "mine") == []
