from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from rote.core.errors import InputError, OptionError
from rote.index.segments.part import (
    DOCUMENTS,
    LAYER,
    SEAL,
    FolderTarget,
    MemoryTarget,
    PartRecord,
    Target,
    check_part,
    describe_part,
    is_sealed,
    open_part,
)


def write(target: Target) -> PartRecord:
    part = target.part("lower", "lower", LAYER)
    append = part.column("ends", "int64")
    append(np.arange(3))
    append(np.arange(3000))
    part.column("nothing", "uint32")
    part.column("bytes", "uint8")(np.frombuffer(b"abc", np.uint8))
    part.pack("order", np.arange(100, dtype=np.int32), 7)
    part.pack("empty", np.empty(0, np.int32), 1)
    return part.seal()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(FolderTarget(tmp_path))
    return tmp_path / "lower"


def test_a_part_reads_back_as_it_was_written_to_a_folder_and_to_memory(folder: Path) -> None:
    memory = MemoryTarget()
    write(memory)
    for part in (open_part(folder), memory.parts["lower"]):
        assert (part.name, part.kind) == ("lower", LAYER)
        assert part["ends"].tolist() == [*range(3), *range(3000)]
        assert part["nothing"].tolist() == []
        assert part["bytes"].tobytes() == b"abc"
        assert part.numbers("order").all().tolist() == list(range(100))
        assert len(part.numbers("empty")) == 0
        arrays = [*part.arrays.values(), *(packed.data for packed in part.packed.values())]
        assert not any(array.flags.writeable for array in arrays)
        assert all(type(array) is np.ndarray for array in arrays)


def test_a_part_is_whole_only_once_it_is_sealed(tmp_path: Path) -> None:
    target = FolderTarget(tmp_path)
    target.part("lower", "lower", LAYER).column("ids", "int32")(np.arange(5))
    assert not is_sealed(tmp_path / "lower")
    with pytest.raises(InputError, match=r"part\.json: .*cannot be read"):
        open_part(tmp_path / "lower")
    write(FolderTarget(tmp_path))
    assert is_sealed(tmp_path / "lower")
    assert not (tmp_path / "lower" / "ids").exists(), "the interrupted part is gone"
    target.part("pos", "pos", LAYER)
    target.close()
    assert [place.name for place in tmp_path.iterdir()] == ["lower"]


def test_all_damage_is_listed_and_every_byte_read(folder: Path) -> None:
    seen: list[float] = []
    assert check_part(folder, advance=seen.append) == []
    assert sum(seen) == describe_part(folder).bytes
    (folder / "bytes").write_bytes(b"abd")
    (folder / "ends").unlink()
    (folder / "order").write_bytes(b"")
    problems = check_part(folder)
    assert [problem.split(": ")[0] for problem in problems] == [
        str(folder / name) for name in ("bytes", "ends", "order")
    ]


def test_a_changed_description_is_refused_when_opened(folder: Path) -> None:
    checksum = describe_part(folder).checksum
    place = folder / SEAL
    place.write_text(place.read_text().replace('"lower"', '"upper"'))
    with pytest.raises(InputError, match="has changed since it was written"):
        open_part(folder, checksum)


@pytest.mark.parametrize("name", ["ends", "bytes", "order", "nothing"])
def test_a_file_that_is_missing_or_of_another_size_is_refused(folder: Path, name: str) -> None:
    whole = (folder / name).read_bytes()
    (folder / name).write_bytes(whole[:-1] if whole else b"?")
    with pytest.raises(InputError, match=rf"{name}: the file has .* bytes.*rote index verify"):
        open_part(folder)
    (folder / name).unlink()
    with pytest.raises(InputError, match=rf"{name}: .*cannot be read.*rote index verify"):
        open_part(folder)


@pytest.mark.parametrize(
    "change",
    [
        {"files": {"../../etc/passwd": {"type": "uint8", "bytes": 0, "checksum": ""}}},
        {"files": {"ends": {"type": "object", "bytes": 8, "checksum": ""}}},
        {"files": {"ends": {"type": "int64", "bytes": 7, "checksum": ""}}},
        {"files": {"ends": {"type": "int64"}}},
        {"files": {"ids": {"type": "packed", "bytes": 9, "checksum": "", "bits": 9, "length": 9}}},
        {"files": {"ids": {"type": "packed", "bytes": 8, "checksum": "", "bits": 99, "length": 0}}},
        {"files": []},
        {"files": {"ends": 3}},
        {"files": {"ends": {"type": "int64", "bytes": "8", "checksum": ""}}},
        {"name": None},
    ],
)
def test_a_description_that_makes_no_sense_is_refused(
    folder: Path, change: dict[str, object]
) -> None:
    held = json.loads((folder / SEAL).read_text())
    (folder / SEAL).write_text(json.dumps({**held, **change}))
    with pytest.raises(InputError, match=r"part\.json, field '(files|name)"):
        open_part(folder)


def test_a_missing_column_is_an_error_that_names_it(folder: Path) -> None:
    part = open_part(folder)
    with pytest.raises(InputError, match="the column vocabulary is missing"):
        part["vocabulary"]
    with pytest.raises(InputError, match="the column ids is missing"):
        part.numbers("ids")


@pytest.mark.parametrize("name", ["", "..", "a/b", ".hidden", "scratch", DOCUMENTS])
def test_layers_are_not_named_so_that_they_could_harm(tmp_path: Path, name: str) -> None:
    for target in (FolderTarget(tmp_path), MemoryTarget()):
        with pytest.raises(OptionError, match="cannot name a layer"):
            target.part(name, name, LAYER)


def test_scratch_columns_go_away(tmp_path: Path) -> None:
    target = FolderTarget(tmp_path)
    for each in (target, MemoryTarget()):
        scratch = each.scratch("int32")
        scratch.append(np.arange(3))
        scratch.append(np.arange(0))
        scratch.append(np.arange(2))
        taken = scratch.take()
        assert taken.tolist() == [0, 1, 2, 0, 1]
        assert taken.flags.writeable
    target.scratch("int32").append(np.arange(3))
    target.close()
    assert list(tmp_path.iterdir()) == []
    target.scratch("int32").append(np.arange(3))
    again = FolderTarget(tmp_path)
    assert list(tmp_path.iterdir()) == [], "what a killed run left is removed by the next"
    target.close()
    again.close()
