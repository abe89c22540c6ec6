"""Settings of all tests: no deadlines, since the first call of a kernel compiles it."""

from __future__ import annotations

import gc
import os
import pickle
import shutil
import tempfile
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal import entropy

from rote.cli import _flags
from rote.core import cache, precompile
from tests import workers

if TYPE_CHECKING:
    from tests.cli.calls import World

# As on the command line: with threads of their own the workers would wait for each
# other, those of torch with all their might. Read when numpy is imported, which is later.
for name in ("OPENBLAS", "MKL", "OMP"):
    os.environ.setdefault(f"{name}_NUM_THREADS", "1")
os.environ.setdefault("VECLIB_MAXIMUM_THREADS", "1")

# Likewise no command starts a process for each core unless a test asks for it with --jobs.
_flags.cores = lambda: 1

settings.register_profile(
    "rote",
    deadline=None,
    # Of hypothesis's hundred; `make fuzz` tries 500.
    max_examples=25,
    # The same examples every time; `make fuzz` looks for new ones.
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "fuzz",
    deadline=None,
    max_examples=500,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("rote")
# Around each example Hypothesis keeps, seeds and restores numpy's global generator too, from which
# nothing here draws; that takes longer than most examples.
vars(entropy)["NP_RANDOM"] = object()


def _write_to_memory(place: str = "/dev/shm", room: int = 2 << 30) -> None:
    """Files of tests are kept in memory if there is room: one is made in a tenth of the time."""
    if "TMPDIR" in os.environ or not os.access(place, os.W_OK):
        return
    about = os.statvfs(place)
    if about.f_bavail * about.f_frsize >= room and not about.f_flag & os.ST_NOEXEC:
        os.environ["TMPDIR"] = tempfile.tempdir = place


_write_to_memory()
# Vectors are cached on disk; those of tests do not belong in the user's folder. Kernels stay there.
os.environ.setdefault("NUMBA_CACHE_DIR", str(cache.folder() / "kernels"))
os.environ["ROTE_CACHE"] = tempfile.mkdtemp(prefix="rote-tests-")


def pytest_unconfigure() -> None:
    shutil.rmtree(os.environ["ROTE_CACHE"], ignore_errors=True)


_MANY = 1000


class PicklingPool:
    """Stands in for a pool of processes: what goes to one and comes back is pickled."""

    def __init__(self, jobs: int, **_: Any) -> None:
        assert jobs > 1

    def submit(self, *work: Any) -> Future[Any]:
        function, *given = pickle.loads(pickle.dumps(work))
        done: Future[Any] = Future()
        try:
            done.set_result(pickle.loads(pickle.dumps(function(*given))))
        except Exception as error:
            done.set_exception(pickle.loads(pickle.dumps(error)))
        return done

    def shutdown(self, **_: Any) -> None:
        return None


@pytest.fixture
def pickling_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests that several jobs change nothing: processes take seconds to start. How they start
    and die is tested in tests/run and tests/index/test_kills.py."""
    monkeypatch.setattr("rote.run.processes.ProcessPoolExecutor", PicklingPool)


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache that is empty, and no key of the user."""
    monkeypatch.setenv("ROTE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Inputs of every kind, for calls of every command."""
    from tests.cli.calls import World

    return World(tmp_path_factory.mktemp("world"))


_LONGEST = (
    # Those with a browser one after the other: it is started once.
    *("run/test_spark.py", "e2e/test_compare.py", "e2e/test_harm.py", "e2e/test_reading.py"),
    *("e2e/test_report.py", "e2e/test_token.py", "e2e/test_judging.py"),
    *("measure/test_contract.py", "index/test_kills.py", "golden/test_golden.py"),
    *("cli/test_outputs.py", "test_docs.py", "compare/test_coverage.py"),
    *("index/test_hostile.py", "search/test_originality.py"),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    # One more than cores: tests wait for browsers, servers and processes.
    parser.addoption(
        "--workers",
        type=int,
        default=(os.cpu_count() or 1) + 1,
        help="processes that run the tests (default: cores + 1; 1: the one that collects them)",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    return workers.run(session, _group, _load_kernels)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    workers.show_skips(terminalreporter)


def _load_kernels(items: list[pytest.Item]) -> None:
    """Kernels that were compiled before are loaded once, not by every process."""
    if len(items) >= _MANY:
        for kernel, types in map(precompile.find_kernel, precompile.read_list()):
            if kernel.is_cached(types):
                kernel.compile(types)


def _group(item: pytest.Item) -> str:
    """A file's tests run in one process, and those of all that need a browser in the same."""
    return "e2e" if item.nodeid.startswith("tests/e2e/") else item.nodeid.partition("::")[0]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A file that takes long is begun early: nobody should wait for it at the end."""
    here = Path(__file__).parent
    place = {here / name: number for number, name in enumerate(_LONGEST)}
    items.sort(key=lambda item: place.get(item.path, len(place)))


def pytest_collection_finish() -> None:
    """What was imported and collected stays: looking through it for rubbish again and again takes
    a tenth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)
