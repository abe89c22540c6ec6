"""Damaged, copied, read while it is written, written twice: never a wrong count."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

import rote.index
from rote.core.errors import InputError, OptionError
from rote.core.locked_folder import locked
from rote.index.factory import open_index
from rote.index.folders import build, folder
from rote.index.folders.build import add_to_index, build_index
from rote.index.folders.folder import verify_index
from rote.index.folders.maintenance import add_layer, merge_index
from rote.index.folders.manifest import MANIFEST, read_manifest
from rote.index.segments import part
from tests.index.folders import MEMORY, corpus, options, tree, words, write_files
from tests.killing import KILLED, fork, status
from tests.kit import Heard

pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk")


@pytest.fixture
def index(tmp_path: Path) -> Path:
    build_index(corpus(write_files(tmp_path / "in", 0, 3)), tmp_path / "idx", options())
    return tmp_path / "idx"


def test_a_flipped_byte_a_cut_and_a_missing_file_are_found(index: Path) -> None:
    whole, first = words(open_index(index)), read_manifest(index).segments[0].name
    for name, data in tree(index).items():
        if name != MANIFEST and first not in name:
            continue
        place = index / name
        flipped = bytearray(data)
        if data:
            flipped[len(data) // 2] ^= 4
        for damage in (bytes(flipped), data[:-1], data + b"\0", None):
            if damage == data:
                continue
            place.unlink()
            if damage is not None:
                place.write_bytes(damage)
            with pytest.raises(InputError) as caught:
                open_index(index)
            if name != MANIFEST or damage is not None:
                assert caught.value.file in (str(place), str(place.parent / "part.json"))
            assert caught.value.remedy
            assert verify_index(index)
        place.write_bytes(data)
    assert words(open_index(index)) == whole
    assert verify_index(index) == []


def test_no_byte_of_the_manifest_can_change(index: Path) -> None:
    place = index / MANIFEST
    data = place.read_bytes()
    for at in range(0, len(data), 7):
        flipped = bytearray(data)
        flipped[at] ^= 1
        place.write_bytes(bytes(flipped))
        with pytest.raises(InputError) as caught:
            read_manifest(index)
        assert caught.value.file == str(place)
    for text in ("", "[]", "{}", "null", '{"format": 1}', "\x00", data.decode()[:-9], "[" * 99999):
        place.write_text(text)
        with pytest.raises(InputError, match=r"rote-index\.json.* is (not|missing|a list|null)"):
            read_manifest(index)
    place.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not valid UTF-8 text"):
        read_manifest(index)
    place.write_bytes(data.replace(b'"format": 2', b'"format": 99', 1))
    with pytest.raises(InputError, match="format 99, this version of rote reads 1"):
        read_manifest(index)
    assert "format 99" in verify_index(index)[0]


def test_a_manifest_does_not_lead_out_of_the_folder(index: Path) -> None:
    manifest = read_manifest(index)
    for bad in ("../elsewhere", "/etc", ".."):
        text = (index / MANIFEST).read_text()
        (index / MANIFEST).write_text(text.replace(manifest.segments[0].name, bad))
        with pytest.raises(
            InputError, match=r"segments\[0\].name': is .* not a valid name of a file or folder"
        ):
            open_index(index)
        (index / MANIFEST).write_text(text)


def test_damage_behind_an_unchanged_stamp_is_found_by_verify(index: Path) -> None:
    place = next(index.glob("segments/*/lower/order"))
    about, data = place.stat(), bytearray(place.read_bytes())
    data[0] ^= 1
    with place.open("r+b") as file:
        file.write(data)
    os.utime(place, ns=(about.st_atime_ns, about.st_mtime_ns))
    assert verify_index(index) == [f"{place}: the content has changed since it was written"]


def test_merging_does_not_copy_damage(index: Path) -> None:
    place = next(index.glob("segments/*/lower/ids"))
    data = bytearray(place.read_bytes())
    data[0] ^= 1
    place.write_bytes(bytes(data))
    with pytest.raises(InputError, match="content has changed"):
        merge_index(index)


def test_files_are_read_in_full_once(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stages(path: Path) -> list[str]:
        heard = Heard()
        open_index(path, heard)
        return [title for title, _ in heard.stages]

    assert stages(index) == []
    copy = index.with_name("copy")
    shutil.copytree(index, copy)
    with monkeypatch.context() as patch:
        # A folder that cannot be written: checked each time, and no error.
        def refuse(*given: object) -> None:
            raise PermissionError(errno.EROFS, "read-only")

        patch.setattr(folder, "write_atomically", refuse)
        assert [stages(copy), stages(copy)] == [["checking"], ["checking"]]
    assert [stages(copy), stages(copy)] == [["checking"], []]
    (copy / "checked.json").write_text("{garbage")
    assert [stages(copy), stages(copy)] == [["checking"], []]


def test_readers_keep_what_they_have_opened(tmp_path: Path) -> None:
    files, path = write_files(tmp_path / "in", 0, 6), tmp_path / "idx"
    build_index(corpus(files[:3]), path, options())
    first = open_index(path)
    before = words(first)
    add_to_index(path, corpus(files[3:]), memory=MEMORY)
    second = open_index(path)
    after = words(second)
    merge_index(path)
    assert words(first) == before
    assert words(second) == after == words(open_index(path))
    assert first.segments[0].documents.text(0) == next(iter(corpus(files))).text


def test_a_merge_that_ends_while_the_index_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "idx"
    build_index(corpus(write_files(tmp_path / "in", 0, 5)), path, options())
    before, real, merged = words(open_index(path)), folder.open_segment, list[int]()

    def slow(*given: Any) -> Any:
        if not merged:
            merged.append(1)
            merge_index(path)
        return real(*given)

    monkeypatch.setattr(folder, "open_segment", slow)
    opened = open_index(path)
    assert len(opened.segments) == 1
    assert words(opened) == before


def test_a_second_writer_is_refused_by_the_name_of_the_first(index: Path) -> None:
    before, texts = tree(index), corpus(sorted((index.parent / "in").iterdir()))
    with locked(index, "rote index add"):
        for change in (
            lambda: merge_index(index),
            lambda: add_layer(index, "shape"),
            lambda: add_to_index(index, texts),
        ):
            with pytest.raises(OptionError, match=rf"pid {os.getpid()} on .*rote index add, since"):
                change()
        assert words(open_index(index))
    assert tree(index) == before

    def die() -> None:
        with locked(index, "rote index merge"):
            os._exit(KILLED)

    assert status(fork(die)) == KILLED
    merge_index(index)


def test_leftovers_go_with_the_next_writer(index: Path, tmp_path: Path) -> None:
    name = "ab" * 16
    for left in (f"{name}.partial/lower", f"{name}.removed", name, "../pieces"):
        (index / "segments" / left).mkdir(parents=True)
    for half in (
        *(
            f"segments/{name}.partial/lower/ids",
            "pieces/.000.npz.zst.0123abcd",
            f".{MANIFEST}.0123abcd",
        ),
        "tokenizers/.12ab.json.0123abcd",
    ):
        (index / half).write_bytes(b"half")
    open_index(index)
    assert (index / f"segments/{name}.partial").exists()
    add_to_index(index, corpus(write_files(tmp_path / "in", 8, 9)))
    there = {place.relative_to(index).as_posix() for place in index.rglob("*")}
    assert not [each for each in there if name in each or ".0123" in each or "pieces" in each]
    assert verify_index(index) == []


def test_what_is_not_ours_is_left_alone(index: Path, tmp_path: Path) -> None:
    first = read_manifest(index).segments[0].name
    strays = ["segments/.DS_Store", f"segments/{first}/.DS_Store", "segments/mine/notes.txt"]
    strays += ["tokenizers/.DS_Store", "tokenizers/mine/notes.txt", "tokenizers/notes.txt"]
    for name in strays:
        (index / name).parent.mkdir(exist_ok=True)
        (index / name).write_text("not of an index")
    add_to_index(index, corpus(write_files(tmp_path / "in", 8, 9)), memory=MEMORY)
    add_layer(index, "shape")
    for name in strays:
        assert (index / name).exists()
    merge_index(index)
    for name in strays:
        assert (index / name).exists() != (first in name)
    assert verify_index(index) == []


def test_a_stray_file_in_a_sealed_segment_does_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, path = write_files(tmp_path / "in", 0, 5), tmp_path / "idx"

    def fail(*given: object, **changes: object) -> None:
        raise RuntimeError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(build, "publish", fail)
        with pytest.raises(RuntimeError):
            build_index(corpus(files), path, options())
    for segment in list((path / "segments").iterdir()):
        (segment / ".DS_Store").write_text("")
    build_index(corpus(files), path, options())
    assert verify_index(path) == []


def test_a_file_that_cannot_be_read_is_named(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = next(index.glob("segments/*/lower/order"))
    other = index.with_name("copy")
    shutil.copytree(index, other)

    def refuse(path: str) -> Any:
        if Path(path).name == "order":
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return open(path, "rb")

    monkeypatch.setattr(part, "open_regular", refuse)
    problem = r"order: a file of the index cannot be read \(Permission denied\)"
    for path in (index, other):
        with pytest.raises(InputError, match=problem):
            open_index(path)
    assert f"{place}: a file of the index cannot be read (Permission denied)" in verify_index(index)


@pytest.mark.parametrize("place", ["file.txt/idx", "file.txt/a/idx", "/proc/rote/idx"])
def test_a_place_where_no_folder_can_be_is_refused(tmp_path: Path, place: str) -> None:
    (tmp_path / "file.txt").write_text("mine")
    files = write_files(tmp_path / "in", 0, 1)
    with pytest.raises(OptionError, match=r"cannot be the folder of an index .*choose another"):
        build_index(corpus(files), tmp_path / place, options())


def test_nothing_of_an_index_can_run_code() -> None:
    for source in Path(rote.index.__path__[0]).rglob("*.py"):
        text = source.read_text(encoding="utf-8")
        assert "import pickle" not in text
        assert "allow_pickle=True" not in text
