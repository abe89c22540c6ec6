"""The first page, Search, Trace, Templates and documents, as a user goes through them."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.e2e.serving import Running, served
from tests.e2e.watching import Watch, expect, focus_ring, watched
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


def test_every_chip_of_the_first_page_leads_to_something(app: Running, page: Page) -> None:
    page.goto(app.at("/"))
    places = [one.get_attribute("href") or "" for one in page.locator("a.chip").all()]
    assert len(places) >= 5
    for place in places:
        page.goto(app.at(place))
        expect(h1(page)).to_have_count(1)
        expect(page.get_by_role("alert")).to_have_count(0)


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


def test_the_query_language_its_forms_and_its_groups(app: Running, page: Page) -> None:
    page.goto(app.at("/search"))
    page.get_by_label("Word, phrase or query").fill('"the" [pos="NN"] "spoke" within s')
    page.get_by_role("button", name="Search").click()
    expect(page.get_by_role("heading", name="60 matches")).to_be_visible()
    page.get_by_role("link", name="Forms").click()
    expect(page.get_by_role("row", name=re.compile("the miller spoke 6 "))).to_be_visible()
    page.get_by_role("link", name="by author").click()
    row = page.get_by_role("row", name=re.compile("^Ada Voss"))
    expect(row).to_be_visible()


def test_what_was_found_is_exported_whole(app: Running, page: Page) -> None:
    page.goto(app.at("/search?index=tales&q=spoke+about"))
    with page.expect_download() as saving:
        page.get_by_role("link", name="CSV").click()
    with Path(saving.value.path()).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 60
    assert (rows[3]["document"], rows[3]["author"]) == ("tale-03", "Ada Voss")
    assert {row["match"] for row in rows} == {"spoke about"}
    assert rows[3]["before"].endswith("Once more the doctor ")
    with page.expect_download() as saving:
        page.get_by_role("link", name="JSONL").click()
    lines = Path(saving.value.path()).read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["document"] for line in lines] == [row["document"] for row in rows]


def test_a_wrong_query_is_explained_at_its_place(app: Running, page: Page, watch: Watch) -> None:
    watch.forgive("status of 400")
    page.goto(app.at("/search"))
    field = page.get_by_label("Word, phrase or query")
    field.fill('"the" [pos="NN" "spoke"')
    field.press("Enter")
    problem = page.get_by_role("alert")
    expect(problem.locator("mark")).to_have_text('"')
    expect(problem).to_contain_text("at character 17")
    expect(field).to_have_value('"the" [pos="NN" "spoke"')
    expect(field).to_have_attribute("aria-invalid", "true")


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


def test_a_trace_is_sent_by_its_address_with_its_settings(
    app: Running, page: Page, browser: Browser
) -> None:
    page.goto(app.at("/trace"))
    page.get_by_label("Text", exact=True).fill(_ESSAY)
    page.locator("details summary").click()
    page.get_by_label("A fragment of at most so many sources").fill("7")
    for kind in ("lemma", "gapped"):
        page.get_by_role("checkbox", name=kind).uncheck()
    page.get_by_role("button", name="Trace").click()
    expect(h1(page)).to_have_text("Traced against tales")
    with watched(browser) as (other, _):
        other.goto(page.url)
        other.get_by_role("link", name="What needs a citation").click()
        expect(other.get_by_role("main")).to_contain_text("that at most 7 sources have")
        other.get_by_text("Settings", exact=True).click()
        expect(other.get_by_label("A fragment of at most so many sources")).to_have_value("7")
        expect(other.get_by_role("checkbox", name="gapped")).not_to_be_checked()


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


def test_templates_are_listed_and_seen_in_the_texts(app: Running, page: Page) -> None:
    page.goto(app.at("/templates"))
    page.get_by_label("Texts").select_option("answers.jsonl")
    page.get_by_label("Items").fill("5")
    page.get_by_label("Reference", exact=True).select_option("human")
    page.get_by_role("button", name="Find templates").click()
    page.wait_for_url(re.compile(r"/templates/kept/"))
    sources = page.get_by_role("region", name="Sources")
    expect(sources.get_by_role("row", name=re.compile("^human 10 510 "))).to_be_visible()
    sources.get_by_role("link", name="model").click()
    table = page.get_by_role("region", name="Templates of model")
    first = table.locator("tbody tr").first
    expect(first.locator("td").nth(2)).to_have_text("30")
    expect(table.get_by_role("columnheader", name="log-odds")).to_be_visible()
    name = first.get_by_role("link").inner_text()
    first.get_by_role("link").press("Enter")
    expect(page.get_by_role("heading", name=name)).to_be_visible()
    example = page.locator("blockquote").first
    expect(example.locator("mark.template")).not_to_be_empty()
    expect(page.get_by_role("heading", name="What it reads like")).to_be_visible()
    example.get_by_role("link").click()
    expect(page.get_by_text("The templates of model are marked.")).to_be_visible()
    expect(page.locator("main mark").first).to_be_visible()
    page.get_by_role("link", name="Back to the table").click()
    expect(page.get_by_role("heading", name=name)).to_be_visible()


def test_templates_of_an_index_lead_to_their_places(app: Running, page: Page) -> None:
    page.goto(app.at("/templates"))
    page.get_by_role("link", name="tales").click()
    row = page.get_by_role("table").locator("tbody tr").first
    count = row.locator("td").nth(2).inner_text()
    row.get_by_role("link").click()
    expect(page.get_by_role("heading", name=re.compile(f"^{count} matches"))).to_be_visible()


@pytest.mark.parametrize(
    "place", ["/nothing", "/search?index=none&q=a", "/document/tales?id=none", "/jobs/none"]
)
def test_what_is_not_there_is_said_on_a_page(
    app: Running, page: Page, watch: Watch, place: str
) -> None:
    watch.forgive("status of 404")
    page.goto(app.at(place))
    expect(h1(page)).to_have_text("Not found")
    expect(page.get_by_role("alert")).not_to_be_empty()
    page.get_by_role("link", name="To the first page").click()
    expect(h1(page)).to_have_text("What is new here, and what is repeated?")
