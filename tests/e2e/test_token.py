"""The app as other machines reach it: only with its token, and with a limit on what they send."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.e2e.serving import Running, served
from tests.e2e.watching import Watch, expect, faults

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="module")
def open_app(
    browser: Browser, given: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    settings = {"host": "0.0.0.0", "upload_limit": 300 * 2**10}
    with served(tmp_path_factory.mktemp("open"), given / "answers.jsonl", **settings) as running:
        yield running


def entered(page: Page, app: Running) -> None:
    page.goto(app.at("/compare?token=" + app.address.partition("?token=")[2]))


def test_the_address_with_the_token_opens_the_app_for_good(open_app: Running, page: Page) -> None:
    entered(page, open_app)
    expect(page.get_by_role("heading", level=1)).to_have_text("Compare")
    assert "token" not in page.url
    assert page.evaluate("document.cookie") == ""  # no script may read it
    page.get_by_role("link", name="History").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("History")
    another = page.context.new_page()
    another.goto(open_app.at("/"))
    expect(another.get_by_text("answers.jsonl").first).to_be_visible()


def test_an_upload_within_the_limit_is_taken(open_app: Running, page: Page) -> None:
    entered(page, open_app)
    file = {"name": "small.txt", "mimeType": "text/plain", "buffer": b"Some words. " * 1000}
    page.get_by_label("Drop files here, or choose them").set_input_files(file)
    expect(page.get_by_role("checkbox", name="small.txt")).to_be_checked()


@pytest.mark.parametrize("size", [400_000, 3_000_000])
def test_an_upload_over_the_limit_is_refused_in_words(
    open_app: Running, page: Page, watch: Watch, size: int
) -> None:
    watch.forgive("status of 413")
    entered(page, open_app)
    file = {
        "name": "large.txt",
        "mimeType": "text/plain",
        "buffer": b"Some more words " * (size // 16),
    }
    page.get_by_label("Drop files here, or choose them").set_input_files(file)
    expect(page.locator("body")).to_contain_text("more than 307,200 bytes")
    entered(page, open_app)
    assert faults(page) == []
    expect(page.get_by_role("checkbox", name="large.txt")).to_have_count(0)
