"""A browser, and the app in it; without a browser every test here is skipped with the reason."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from tests.e2e import written
from tests.e2e.serving import Running, served, serving
from tests.e2e.watching import TIMEOUT, Watch, as_new, watched
from tests.kit import write_jsonl

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_NAMES = (
    "chromium-headless-shell",  # no windows: a page takes a quarter of the time
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
)


def _missing() -> str:
    """What there is to be installed before these tests can run."""
    from importlib.util import find_spec

    for package in ("playwright", "axe_playwright_python", "fastapi", "uvicorn"):
        if find_spec(package) is None:
            return f"{package} is not installed"
    return "" if _chromium() else "no Chromium (on Debian: apt install chromium-headless-shell)"


def _chromium() -> str | None:
    return next((found for name in _NAMES if (found := shutil.which(name))), None)


# Of this folder, not of the session: while it runs, Playwright keeps an event loop in this
# thread, which other tests of the same worker would trip over.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    if problem := _missing():
        pytest.skip(problem)
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=TIMEOUT)
    as_root = ["--no-sandbox"] if os.geteuid() == 0 else []
    plainly = ["--disable-gpu", *as_root]  # not by a graphics card that is computed
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=_chromium(), args=plainly)
        yield started
        started.close()


@pytest.fixture(scope="session")
def given(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an index (`tales`) and files of texts."""
    from rote.cli.main import rote

    folder = tmp_path_factory.mktemp("given")
    write_jsonl(folder / "answers.jsonl", written.answers())
    write_jsonl(folder / "many.jsonl", written.many_answers())
    write_jsonl(folder / written.HARMFUL_NAME, written.hostile_answers())
    source = write_jsonl(folder / "tales.jsonl", written.documents())
    build = ["index", "build", str(source), "-o", str(folder / "tales"), "-q"]
    CliRunner().invoke(rote, build, catch_exceptions=False)
    return folder


_GIVEN = ("tales", "answers.jsonl", "many.jsonl", written.HARMFUL_NAME)


@pytest.fixture(scope="module")
def app(
    browser: Browser, given: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    """The server of one file of tests, with all that is given."""
    with served(tmp_path_factory.mktemp("store"), *(given / name for name in _GIVEN)) as running:
        yield running


@pytest.fixture(scope="module")
def started(
    browser: Browser, given: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    """The same as a user starts it, with work in processes of its own."""
    with serving(tmp_path_factory.mktemp("store"), *(given / name for name in _GIVEN)) as running:
        yield running


@pytest.fixture(scope="module")
def profile(browser: Browser) -> Iterator[tuple[Page, Watch]]:
    with watched(browser) as both:
        yield both


@pytest.fixture
def seen(profile: tuple[Page, Watch]) -> Iterator[tuple[Page, Watch]]:
    """A page as in a fresh profile, which would take longer to make than most tests take."""
    page, watch = profile
    yield profile
    watch.check(page)
    as_new(page)
    watch.forget()


@pytest.fixture
def page(seen: tuple[Page, Watch]) -> Page:
    return seen[0]


@pytest.fixture
def watch(seen: tuple[Page, Watch]) -> Watch:
    return seen[1]
