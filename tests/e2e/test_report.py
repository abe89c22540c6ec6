"""`rote report` as a colleague opens it: a file without a server, on any screen, and on paper."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from tests.e2e import written
from tests.e2e.watching import Watch, cut_labels, expect, faults, focus_ring, overflow, paper

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="module")
def report(browser: Browser, given: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a report on the hostile texts, held against the hostile index."""
    from rote.cli.main import rote

    path = tmp_path_factory.mktemp("report") / "report.html"
    texts = ["report", str(given / written.HARMFUL_NAME), "--by", "source", "--reference", "human"]
    measures = ["--measures", "lexical,templates,originality", "--permutations", "19"]
    corpus = ["--corpus", str(given / "tales"), "--title", f"Report {written.SCRIPT}"]
    command = [*texts, *measures, *corpus, "-q", "-o", str(path)]
    CliRunner().invoke(rote, command, catch_exceptions=False)
    return path.as_uri()


def unfold(page: Page) -> None:
    page.evaluate(
        "document.querySelectorAll('details:not([open], [name]) > summary').forEach(s => s.click())"
    )
    expect(page.locator("details:not([open], [name])")).to_have_count(0)


def test_the_report_asks_for_nothing_and_runs_nothing_of_its_texts(
    report: str, page: Page, watch: Watch
) -> None:
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(report)
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Report {written.SCRIPT}")
    unfold(page)
    watch.check(page)
    assert asked == [report]
    shown = page.content()
    assert not re.search("[\x1b\x07\u202a-\u202e\u2066-\u2069]", shown)
    assert "1337" not in page.get_by_role("main").inner_text()
    assert faults(page) == []


def test_a_script_that_was_slipped_in_does_not_run_in_the_report(
    report: str, page: Page, watch: Watch
) -> None:
    watch.forgive("Content Security Policy")
    page.goto(report)
    page.evaluate(
        """() => {
        const script = document.createElement("script");
        script.textContent = "window.harmed = 'inline'";
        document.body.append(script);
        fetch("http://127.0.0.1:9/").catch(() => {});
        }"""
    )
    watch.check(page)
    assert len(watch.complaints) >= 2


def test_the_contents_lead_to_every_part(report: str, page: Page) -> None:
    page.goto(report)
    links = page.get_by_role("navigation", name="Contents").get_by_role("link")
    expect(links.first).to_have_text("Summary")
    assert links.count() >= 5
    for link in links.all():
        place = link.get_attribute("href") or ""
        link.focus()
        assert focus_ring(page) != "none"
        page.keyboard.press("Enter")
        expect(page.locator(f"{place} > h2")).to_be_in_viewport()


def test_the_keyboard_skips_the_contents(report: str, page: Page) -> None:
    page.goto(report)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()


def test_tables_of_the_report_are_sorted_and_copied(report: str, page: Page) -> None:
    page.goto(report)
    table = page.get_by_role("table", name="The panel in numbers")
    first = table.locator("tbody tr th")
    before = first.all_inner_texts()
    head = table.get_by_role("columnheader").nth(0)
    head.get_by_role("button").press("Enter")
    expect(head).to_have_attribute("aria-sort", "ascending")
    head.get_by_role("button").press("Enter")
    expect(head).to_have_attribute("aria-sort", "descending")
    assert first.all_inner_texts() == sorted(before, reverse=True)
    head.get_by_role("button").press("Enter")
    assert first.all_inner_texts() == before
    copied = page.get_by_role("button", name="Copy as CSV: The panel in numbers")
    copied.click()
    expect(copied).to_have_text("Copied")


def test_figures_of_the_report_are_saved(report: str, page: Page) -> None:
    page.goto(report)
    for kind, head in (("SVG", b"<svg"), ("PNG", b"\x89PNG\r\n\x1a\n")):
        with page.expect_download() as saving:
            page.get_by_role("button", name=f"Save {kind}:").first.click()
        assert Path(saving.value.path()).read_bytes().startswith(head)


def test_no_label_of_a_figure_is_cut_whatever_the_font_and_marks_show_their_values(
    report: str, page: Page
) -> None:
    page.goto(report)
    unfold(page)
    assert cut_labels(page) == []
    titles = page.locator("figure svg path > title").all_text_contents()
    assert any("source: human" in one and "value: " in one for one in titles)


def test_after_printing_all_is_folded_as_it_was(report: str, page: Page) -> None:
    page.goto(report)
    folded = page.locator("details:not([open], [name])")
    before = folded.count()
    assert before
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    expect(folded).to_have_count(0)
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    expect(folded).to_have_count(before)


def test_a_mark_in_a_text_leads_to_its_source(report: str, page: Page) -> None:
    page.goto(report)
    mark = page.locator("#originality .rote-reading sup a").first
    place = mark.get_attribute("href") or ""
    mark.click()
    expect(page.locator(place)).to_be_in_viewport()


def test_the_report_is_dark_where_the_reader_wants_it_and_light_on_paper(
    report: str, page: Page
) -> None:
    page.goto(report)
    light = paper(page)
    page.emulate_media(color_scheme="dark")
    assert paper(page) != light
    page.emulate_media(media="print", color_scheme="dark")
    assert paper(page) in ("rgb(255, 255, 255)", "rgba(0, 0, 0, 0)", light)
    ink = page.evaluate("getComputedStyle(document.body).color")
    assert sum(map(int, re.findall(r"\d+", ink)[:3])) < 200, "pale letters on white paper"
    expect(page.get_by_role("button", name="Save SVG:").first).not_to_be_visible()


def test_the_first_figure_is_saved_as_a_file_has_it(report: str, page: Page) -> None:
    page.goto(report)
    figure = page.locator(".rote-verdicts").first
    names = figure.locator(".rote-name").all_inner_texts()
    with page.expect_download() as saving:
        figure.get_by_role("button", name="Save SVG").click()
    drawn = Path(saving.value.path()).read_text("utf-8")
    assert drawn.startswith("<svg")
    assert names
    assert all(name in drawn for name in names)
    with page.expect_download() as saving:
        figure.get_by_role("button", name="Save PNG").click()
    assert Path(saving.value.path()).read_bytes().startswith(b"\x89PNG")


def test_the_report_fits_a_small_screen(report: str, page: Page) -> None:
    page.goto(report)
    assert overflow(page) <= 0
    unfold(page)
    assert overflow(page) <= 0


def test_a_row_unfolds_on_a_tap_on_a_narrow_screen_and_its_link_opens_the_section(
    report: str, page: Page, watch: Watch
) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(report)
    row = page.locator(".rote-aspect").first
    row.locator("summary").click()
    expect(row.locator("table")).to_be_in_viewport()
    expect(row.locator("table")).to_contain_text(" against ")
    link = row.get_by_role("link")
    section = page.locator(str(link.get_attribute("href")))
    link.click()
    expect(section).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    watch.check(page)
    assert faults(page) == []
