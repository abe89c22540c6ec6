"""Spark's driver killed, and executors that lack rote; on a machine alone, which starts quickly."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rote.core.distribution import version
from rote.run import Engine
from tests.index.folders import write_files
from tests.run.clusters import BEGUN, MAKERS, Make, limited, started

MASTER = "spark:local[2]"


@pytest.fixture(scope="module")
def spark() -> Iterator[Engine]:
    yield from started(MASTER)


@pytest.mark.parametrize("make", MAKERS)
def test_a_killed_driver_goes_on_where_it_was(make: Make, spark: Engine, tmp_path: Path) -> None:
    files = write_files(tmp_path / "in", 0, 16)
    expected = make(files, tmp_path / "serial", "serial")
    script = (
        "import sys; from pathlib import Path; from tests.run import clusters\n"
        "here = Path(sys.argv[3])\n"
        "files = sorted((here / 'in').glob('*.jsonl'))\n"
        "getattr(clusters, sys.argv[1])(files, here / 's', sys.argv[2])"
    )
    command = [sys.executable, "-c", script, make.__name__, MASTER, str(tmp_path)]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, start_new_session=True, stderr=quiet) as child:
        while child.poll() is None and not list(tmp_path.glob(BEGUN[make])):
            time.sleep(0.01)
        os.killpg(child.pid, signal.SIGKILL)
    done = {place: place.stat().st_mtime_ns for place in tmp_path.glob(BEGUN[make])}
    assert done
    assert make(files, tmp_path / "s", MASTER) == expected
    assert sorted(place.name for place in tmp_path.iterdir()) == ["in", "s", "serial"]
    if make is not limited:
        assert all(place.stat().st_mtime_ns == when for place, when in done.items())


def test_an_executor_without_rote_is_told_so_before_any_work(tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    packages.mkdir()
    for name in ("pyspark", "py4j"):
        found = importlib.util.find_spec(name)
        assert found is not None
        (packages / name).symlink_to(Path(str(found.origin)).parent)
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={packages} exec {sys.executable} -S "$@"\n')
    python.chmod(0o755)
    said = subprocess.run(
        [sys.executable, "-c", "from rote.run import get\nget('spark:local[1]')"],
        env={**os.environ, "PYSPARK_PYTHON": str(python)},
        capture_output=True,
        text=True,
        check=False,
    ).stderr
    assert re.search(
        rf"OptionError: the executor on \S+ has no rote .* needs rote {version()}", said
    )
