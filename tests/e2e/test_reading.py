"""The first page, Search, Trace, Templates and documents, as a user goes through them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.e2e.serving import Running, served
from tests.e2e.watching import expect, focus_ring, watched
from tests.e2e.written import COPIED, HARMFUL_NAME

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Locator, Page

_ESSAY = f"Purple elephants sing operas on Tuesdays. Then {COPIED}. So ends my own essay."


@pytest.fixture(scope="module")
def app(
    browser: Browser, given: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    names = ("tales", "answers.jsonl", "many.jsonl", HARMFUL_NAME)
    with served(tmp_path_factory.mktemp("store"), *(given / name for name in names)) as running:
        yield running


def h1(page: Page) -> Locator:
    return page.get_by_role("heading", level=1)


def test_the_first_page_shows_what_was_opened_and_leads_there(app: Running, page: Page) -> None:
    page.goto(app.at("/"))
    indexes = page.get_by_role("region", name="Indexes")
    expect(indexes).to_contain_text("70 documents")
    texts = page.get_by_role("region", name="Texts")
    expect(texts.get_by_role("heading", level=3)).to_have_count(3)
    expect(texts).to_contain_text("Sources: human, model")
    expect(texts).to_contain_text("The miller lost a lamp that winter.")
    for name in ("Compare", "Trace", "Templates", "Search", "History"):
        page.goto(app.at("/"))
        page.locator(".doors").get_by_role("link", name=re.compile(f"^{name} ")).click()
        expect(h1(page)).to_have_text(name)
        here = page.get_by_role("navigation", name="Pages").locator("[aria-current=page]")
        expect(here).to_have_text(name)
        page.get_by_role("link", name="rote", exact=True).click()
        expect(h1(page)).to_have_text("What is new here, and what is repeated?")
    texts.get_by_role("link", name="compare its sources").first.click()
    expect(page.get_by_role("checkbox", name="answers.jsonl")).to_be_checked()


def test_the_keyboard_skips_to_the_content_and_sees_where_it_is(app: Running, page: Page) -> None:
    page.goto(app.at("/search"))
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to the content")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_label("Word, phrase or query")).to_be_focused()
    rings = []
    for _ in range(8):
        rings.append(focus_ring(page))
        page.keyboard.press("Tab")
    assert "none" not in rings


def test_words_are_found_in_their_context(app: Running, page: Page) -> None:
    page.goto(app.at("/search"))
    page.locator("body").press("/")
    expect(page.get_by_label("Word, phrase or query")).to_be_focused()
    page.keyboard.type("spoke about")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="60 matches in 60 documents")).to_be_visible()
    lines = page.locator("table.kwic tbody tr")
    expect(lines).to_have_count(50)
    expect(lines.first).to_contain_text("Once more the miller spoke about the lamp.")
    expect(lines.first.locator("mark")).to_have_text("spoke about")
    page.get_by_role("link", name="next →").click()
    expect(lines).to_have_count(10)
    expect(lines.last).to_contain_text("number 59 of sixty")
    expect(page.get_by_text("page 2 of 2", exact=True)).to_be_visible()


def test_a_match_is_shown_whole(app: Running, page: Page) -> None:
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(app.at("/search?index=tales&q=miller+spoke+about+the+lamp"))
    match = page.locator("table.kwic td.match").first
    expect(match).to_have_text("miller spoke about the lamp")
    assert match.evaluate("cell => cell.scrollWidth <= cell.clientWidth")


def test_lines_are_put_in_another_order_and_the_address_says_so(
    app: Running, page: Page, browser: Browser
) -> None:
    page.goto(app.at("/search?index=tales&q=spoke+about"))
    head = page.get_by_role("columnheader", name="after")
    head.get_by_role("link", name="after", exact=True).press("Enter")
    lines = page.locator("table.kwic tbody tr")
    expect(lines.first).to_contain_text("spoke about the bridge")
    expect(page.get_by_label("Order")).to_have_value("right")
    with watched(browser) as (other, _):
        other.goto(page.url)
        expect(other.locator("table.kwic tbody tr").first).to_contain_text("about the bridge")
    page.get_by_label("Order").select_option("left")
    page.get_by_role("button", name="Search").click()
    expect(lines.first).to_contain_text("the baker spoke")


def test_the_most_frequent_runs_lead_to_their_places(app: Running, page: Page) -> None:
    page.goto(app.at("/search"))
    page.get_by_role("link", name="the most frequent words, phrases and runs of tags").click()
    page.get_by_label("Items in a row").fill("4")
    page.get_by_role("button", name="List").click()
    page.get_by_role("link", name=". it was number").click()
    expect(page.get_by_role("heading", name="60 matches")).to_be_visible()


def test_a_line_leads_to_its_place_in_the_document(app: Running, page: Page) -> None:
    page.goto(app.at("/search?index=tales&q=frozen+mill"))
    page.get_by_role("link", name="frozen mill").click()
    expect(h1(page)).to_have_text("heron")
    expect(page.get_by_role("main")).to_contain_text("Cleo Marsh")
    expect(page.locator("mark.hit")).to_have_text("frozen mill")
    expect(page.locator("mark.hit")).to_be_in_viewport()
    page.get_by_role("link", name="all matches of frozen mill").click()
    expect(page.locator("#m1")).to_be_in_viewport()
    page.get_by_role("link", name="Cleo Marsh").click()
    expect(page.get_by_role("link", name="Leave out the condition author=Cleo")).to_be_visible()


def test_a_line_is_one_row_with_the_match_in_the_middle(app: Running, page: Page) -> None:
    # On a narrow screen whose it is stands on a second line.
    for width, most in ((1280, 32), (390, 60)):
        page.set_viewport_size({"width": width, "height": 800})
        page.goto(app.at("/search?index=tales&q=spoke+about&sort=left2"))
        boxes = page.evaluate(
            "() => [...document.querySelectorAll('.kwic tbody tr')].map((row) => [row.offsetHeight,"
            " Math.round(row.querySelector('.match').getBoundingClientRect().left)])"
        )
        assert len(boxes) == 50
        assert len({left for _, left in boxes}) == 1
        assert max(height for height, _ in boxes) < most


def test_on_a_telephone_a_line_still_says_whose_it_is(app: Running, page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(app.at("/search?q=heron"))
    expect(page.get_by_role("main")).to_contain_text("In the index tales.")
    line = page.get_by_role("row", name=re.compile("heron"))
    for name in ("heron", "Cleo Marsh"):
        expect(line.get_by_role("link", name=name, exact=True).last).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_sample_is_traced_in_two_clicks(app: Running, page: Page) -> None:
    page.goto(app.at("/trace"))
    page.get_by_role("link", name="Take a sample text").click()
    page.get_by_role("button", name="Trace").click()
    expect(h1(page)).to_have_text("Traced against tales")
    colours = page.locator(".key .lane").evaluate_all(
        "(all) => all.slice(-4).map((one) => getComputedStyle(one).borderBottomColor)"
    )
    assert len({*colours}) == 4
    span = page.locator(".text .lane.match").first
    drawn = span.evaluate("(one) => getComputedStyle(one).borderBottomColor")
    assert drawn in colours


def test_the_lines_of_a_command_follow_its_form(app: Running, page: Page) -> None:
    page.goto(app.at("/run/lexical?input=answers.jsonl"))
    expect(h1(page)).to_have_text("Words, lexical")
    shell = page.locator("#shell")
    expect(shell).to_have_text("rote lexical answers.jsonl")
    page.get_by_label("Reference", exact=True).select_option("human")
    expect(shell).to_have_text("rote lexical answers.jsonl --reference human")
    expect(page.locator("#python")).to_contain_text("reference='human'")


def test_a_pasted_text_is_traced_to_the_document_it_was_copied_from(
    app: Running, page: Page
) -> None:
    page.goto(app.at("/trace"))
    page.get_by_label("Text", exact=True).fill(_ESSAY)
    page.get_by_role("button", name="Trace").press("Enter")
    expect(h1(page)).to_have_text("Traced against tales")
    matches = page.get_by_role("region", name="The text with its matches")
    expect(matches.get_by_role("link", name=COPIED)).to_be_visible()
    expect(page.get_by_role("heading", name="1: 15 words, verbatim")).to_be_visible()
    with page.expect_download() as saving:
        page.get_by_role("link", name="Save as a page").click()
    assert "Match 1: 15 words" in Path(saving.value.path()).read_text(encoding="utf-8")
    page.get_by_role("link", name="What needs a citation").click()
    text = page.get_by_role("region", name="The text with its fragments")
    expect(text.locator(".lane.cited").last).to_contain_text(
        "frozen mill until the miller had gone"
    )
    expect(text.get_by_role("row", name=re.compile("^2 to cite"))).to_contain_text("heron")
    expect(text.get_by_role("row", name=re.compile("^1 new"))).to_contain_text("Purple")
    page.reload()
    text.get_by_role("link", name="citation 1").click()
    cited = page.locator("#cite-1")
    expect(cited).to_be_in_viewport()
    expect(cited.locator("blockquote")).to_contain_text(f"In the morning {COPIED}")
    cited.get_by_role("link", name="heron").click()
    expect(h1(page)).to_have_text("heron")
    expect(page.locator("mark.hit")).to_contain_text("heron waited beside the frozen mill")


def test_unticking_one_kind_of_match_keeps_the_others_as_they_were(
    app: Running, page: Page
) -> None:
    """The index has no lemmas; that is no mistake of whoever leaves the box as it came."""
    page.goto(app.at("/trace"))
    page.get_by_label("Text", exact=True).fill(_ESSAY)
    page.locator("details summary").click()
    page.get_by_role("checkbox", name="gapped").uncheck()
    page.get_by_role("button", name="Trace").click()
    expect(h1(page)).to_have_text("Traced against tales")
