"""Files are whole or not there, and as readable as any other of the user's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import rote
from rote.core.errors import OptionError
from rote.core.files import new_file, write_atomically
from rote.curate.output_folder import new_folder


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    write_atomically(target, "old")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(target, "new \ud800")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="does not exist"):
        write_atomically(tmp_path / "no" / "out.json", "text")


_WRITES = """
import os, sys
from pathlib import Path
from rote.core.files import write_atomically
from rote.curate.output_folder import new_folder

os.umask(int(sys.argv[1], 8))

def refuse(mask):
    raise AssertionError("another thread's file would have this mode")

os.umask = refuse
folder = Path(sys.argv[2])
write_atomically(folder / "file", "text")
with new_folder(folder / "made") as partial:
    (partial / "inside").write_text("text")
"""


@pytest.mark.parametrize("mask", [0o022, 0o027, 0o077])
def test_a_new_file_has_the_mode_that_the_user_gives_to_files(mask: int, tmp_path: Path) -> None:
    """The process's own mask is never set meanwhile: other threads make files too."""
    subprocess.run([sys.executable, "-c", _WRITES, f"{mask:o}", str(tmp_path)], check=True)
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert modes == {"file": 0o666 & ~mask, "made": 0o777 & ~mask}


def test_nothing_sets_the_mask_of_the_process() -> None:
    source = Path(rote.__file__).parent
    assert [p for p in source.rglob("*.py") if "umask(" in p.read_text(encoding="utf-8")] == []


def test_what_cannot_be_finished_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(TypeError), new_file(tmp_path / "out") as file:
        file.write("no bytes")  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError), new_folder(tmp_path / "out") as partial:
        (partial / "no" / "file").touch()
    assert os.listdir(tmp_path) == []


def test_what_a_killed_run_left_is_removed_and_what_another_writes_is_not(tmp_path: Path) -> None:
    script = (
        "import os, sys\nfrom pathlib import Path\n"
        "from rote.curate.output_folder import new_folder\n"
        "with new_folder(Path(sys.argv[1])) as partial:\n"
        "    (partial / 'half').touch()\n    os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "out")], check=False)
    assert [place.name[:5] for place in tmp_path.iterdir()] == [".out."]
    with new_folder(tmp_path / "out") as first:
        with new_folder(tmp_path / "out") as second:
            held = sorted(tmp_path.iterdir())
        os.rename(tmp_path / "out", tmp_path / "other")
    assert held == sorted([first, second])
    assert sorted(os.listdir(tmp_path)) == ["other", "out"]
