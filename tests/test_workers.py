"""The processes that run tests: whatever happens in one of them is seen at the end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("elsewhere tests run in one process", allow_module_level=True)

ROOT = Path(__file__).parents[1]
CONFTEST = """
from tests import workers

def pytest_addoption(parser):
    parser.addoption("--workers", type=int)

def pytest_runtestloop(session):
    return workers.run(session, lambda item: item.nodeid.partition("::")[0])

def pytest_terminal_summary(terminalreporter):
    workers.show_skips(terminalreporter)
"""
FILES = {
    "test_a.py": """
import os, pytest, warnings
def test_passes(tmp_path): assert os.path.isdir(tmp_path)
def test_fails(): print("printed before"); assert 1 == 2
def test_is_left_out(): pytest.skip("for a reason")
def test_warns(): warnings.warn("a warning of its own")
""",
    "test_b.py": """
import os, pytest
def test_passes(): pass
def test_kills_its_process(): os._exit(3)
def test_is_never_run(): pass
""",
    "test_c.py": """
import pytest
@pytest.fixture
def broken(): raise ValueError("no fixture")
def test_is_not_set_up(broken): pass
@pytest.fixture
def ends_badly():
    yield
    raise ValueError("no end")
def test_is_not_torn_down(ends_badly): pass
@pytest.mark.xfail
def test_is_expected_to_fail(): assert False
""",
    "test_d.py": "def test_passes(): pass",
}


def ran(folder: Path, files: dict[str, str], *options: str) -> subprocess.CompletedProcess[str]:
    for name, text in {"conftest.py": CONFTEST, **files}.items():
        (folder / name).write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", *options]
    # A summary is cut to the line's width, but not where a CI is named.
    own = {k: v for k, v in os.environ.items() if k not in ("CI", "BUILD_NUMBER")}
    own["PYTHONPATH"] = str(ROOT)
    return subprocess.run(command, cwd=folder, env=own, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("workers", ["2", "9"])
def test_every_outcome_is_reported(tmp_path: Path, workers: str) -> None:
    done = ran(tmp_path, FILES, "--workers", workers)
    assert done.returncode == 1
    last = done.stdout.splitlines()[-1]
    counts = "2 failed, 5 passed, 1 skipped, 1 xfailed, 1 warning, 2 errors in"
    assert last.startswith(counts), done.stdout
    for said in (
        *("printed before", "assert 1 == 2", "for a reason", "a warning of its own"),
        *("no fixture", "no end", "it was to run 1 more, of test_b.py: it died"),
    ):
        assert said in done.stdout


@pytest.mark.parametrize("workers", ["1", "2"])
def test_skips_are_summed_by_their_reason(tmp_path: Path, workers: str) -> None:
    test = """
import pytest
@pytest.mark.parametrize("number", range(3))
def test_waits(number): pytest.importorskip("no_such_package.part")
def test_sleeps(): pytest.skip("for a reason")
"""
    module = "import pytest\npytest.importorskip('no_such_package')\ndef test_passes(): pass"
    files = {"test_a.py": test, "test_b.py": test, "test_c.py": module}
    lines = ran(tmp_path, files, "--workers", workers).stdout.splitlines()
    assert [line for line in lines if "no_such_package" in line or "a reason" in line] == [
        "7 skipped: no_such_package is not installed",
        "2 skipped: for a reason",
    ]
    assert lines[-1].startswith("9 skipped in")


def test_what_is_not_run_since_processes_died_is_named(tmp_path: Path) -> None:
    """A process takes its next file before the last test of the one before is done."""
    files = {f"test_{n}.py": "import os\ndef test_kills(): os._exit(3)" for n in range(6)}
    done = ran(tmp_path, files, "--workers", "2")
    assert done.returncode == 1
    assert done.stdout.count("it was to run 1 more, of test_") == 2
    assert "no process was left for the tests of 2 more files" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("2 failed in")


def test_after_the_first_failure_none_is_begun(tmp_path: Path) -> None:
    files = {f"test_{n}.py": "def test_fails(): assert False" for n in range(40)}
    done = ran(tmp_path, files, "--workers", "2", "-x")
    assert done.returncode == 1
    assert "stopping after 1 failures" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("1 failed in")


def test_nothing_is_forked_beside_a_thread(tmp_path: Path) -> None:
    thread = """
from threading import Event, Thread
Thread(target=Event().wait, daemon=True).start()
"""
    done = ran(tmp_path, {**FILES, "test_a.py": thread + FILES["test_a.py"]}, "--workers", "2")
    assert done.returncode == 4
    assert "Import and use what started them inside the tests" in done.stderr
