"""Compare, the work behind it, and History, as a user goes through them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.e2e.serving import Running
from tests.e2e.watching import Watch, cut_labels, expect, faults, overflow, watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_RESULT = re.compile(r"/compare/result/[0-9a-f]+(\?|$)")
_MEASURES = ("Words", "Templates")


def choose(page: Page, *measures: str) -> None:
    """Only these measures, and few permutations."""
    boxes = page.get_by_role("group", name="Measures")
    boxes.locator("input:checked").evaluate_all("(all) => all.forEach((one) => one.click())")
    for name in measures:
        boxes.get_by_role("checkbox", name=re.compile(f"^{name} ")).check()
    page.get_by_text("More settings").click()
    page.get_by_label("Permutations").fill("39")


def start(page: Page) -> None:
    page.get_by_role("button", name="Measure", exact=True).click()


def measured(page: Page, app: Running, *measures: str, seed: str = "0") -> str:
    """The address of what came out of the given answers."""
    page.goto(app.at("/compare?file=answers.jsonl"))
    choose(page, *measures)
    page.get_by_role("group", name="Sources").get_by_label("Seed").fill(seed)
    start(page)
    page.wait_for_url(_RESULT)
    return page.url


@pytest.fixture(scope="module")
def app(started: Running) -> Running:
    """Work is started and killed here."""
    return started


@pytest.fixture(scope="module")
def result(browser: Browser, app: Running) -> str:
    with watched(browser) as (page, _):
        return measured(page, app, *_MEASURES)


def test_texts_are_chosen_measured_and_seen_even_if_the_page_is_loaded_again_meanwhile(
    app: Running, page: Page
) -> None:
    page.goto(app.at("/"))
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Compare").click()
    given = page.get_by_role("group", name="Texts")
    expect(given.get_by_role("checkbox", name="answers.jsonl")).to_be_checked()
    expect(page.get_by_label("Fields to group by")).to_have_value("source")
    expect(page.get_by_label("Reference", exact=True)).to_have_value("human")
    choose(page, "Words")
    page.get_by_role("group", name="Sources").get_by_label("Seed").fill("5")
    start(page)
    page.wait_for_url("**/jobs/*")
    job = page.url
    expect(page.get_by_role("heading", level=1)).to_have_text("answers.jsonl, against human")
    page.reload()
    page.wait_for_url(_RESULT)
    expect(page.get_by_role("heading", level=1)).to_have_text("answers.jsonl, against human")
    expect(page.get_by_role("region", name="Summary")).to_contain_text("share of distinct n-grams")
    page.goto(job)  # a link to the work leads to what came out of it
    page.wait_for_url(_RESULT)


def test_a_result_shows_its_summary_its_panel_and_what_was_measured(
    result: str, page: Page
) -> None:
    page.goto(result)
    summary = page.get_by_role("region", name="Summary")
    expect(summary).to_contain_text("Differences from human")
    panel = page.get_by_role("region", name="Diversity")
    expect(summary.locator("figure svg").first).to_be_visible()
    expect(panel.get_by_role("row", name=re.compile("^human reference 10 510 "))).to_be_visible()
    for part in (
        page.get_by_role("navigation", name="Parts of this result").get_by_role("link").all()
    ):
        place = part.get_attribute("href") or ""
        part.click()
        expect(page.locator(place)).to_be_in_viewport()


def test_a_table_is_sorted_with_the_keyboard(result: str, page: Page) -> None:
    page.goto(result)
    table = page.get_by_role("table", name="The panel in numbers")
    heads, first = table.get_by_role("columnheader"), table.locator("tbody tr th")
    expect(first).to_have_text([re.compile("^human"), re.compile("^model")])
    words = heads.nth(2)
    words.get_by_role("button").focus()
    page.keyboard.press("Enter")
    expect(words).to_have_attribute("aria-sort", "descending")
    expect(first).to_have_text([re.compile("^human"), re.compile("^model")])
    page.keyboard.press("Space")
    expect(words).to_have_attribute("aria-sort", "ascending")
    expect(first).to_have_text([re.compile("^model"), re.compile("^human")])
    heads.nth(0).get_by_role("button").press("Enter")
    expect(words).not_to_have_attribute("aria-sort", "ascending")
    expect(heads.nth(0)).to_have_attribute("aria-sort", "ascending")
    expect(first).to_have_text([re.compile("^human"), re.compile("^model")])


def test_a_table_is_copied_as_csv(result: str, page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(result)
    button = page.get_by_role("button", name="Copy as CSV: The panel in numbers")
    button.click()
    expect(button).to_have_text("Copied")
    copied = page.evaluate("navigator.clipboard.readText()").splitlines()
    assert copied[0].startswith("source,texts,words,")
    assert [line.split(",")[:3] for line in copied[1:]] == [
        ["human", "10", "510"],
        ["model", "10", "450"],
    ]
    assert len(copied[1].split(",")) == len(copied[0].split(","))


def test_what_is_copied_is_no_formula(result: str, page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(result)
    table = page.get_by_role("table", name="The panel in numbers")
    button = page.get_by_role("button", name="Copy as CSV: The panel in numbers")
    for name, written in (("=1+1", "'=1+1"), ("@x", "'@x"), ("-x", "'-x"), ("-1.5", "-1.5")):
        first = table.locator("tbody tr th").first
        first.evaluate(
            "(cell, name) => { (cell.querySelector('bdi') || cell).textContent = name }", name
        )
        button.click()
        copied = page.evaluate("navigator.clipboard.readText()").splitlines()
        assert copied[1].split(",")[0] == written


def test_a_figure_is_saved_and_the_result_is_taken_along_as_files(result: str, page: Page) -> None:
    page.goto(result)
    for kind, head in (("SVG", b"<svg"), ("PNG", b"\x89PNG\r\n\x1a\n")):
        with page.expect_download() as saving:
            page.get_by_role("button", name=f"Save {kind}: Templates by length").click()
        assert saving.value.suggested_filename.endswith(f".{kind.lower()}")
        content = Path(saving.value.path()).read_bytes()
        assert content.startswith(head)
        assert len(content) > 2_000
    files = {"Report (HTML)": "<!doctype html>", "JSON": "{", "CSV": "measure,"}
    for link, beginning in files.items():
        with page.expect_download() as saving:
            page.locator("main p.actions").get_by_role("link", name=link).click()
        text = Path(saving.value.path()).read_text(encoding="utf-8")
        assert text.startswith(beginning)
        assert "model" in text


def test_a_number_leads_to_its_texts_and_to_one_of_them(result: str, page: Page) -> None:
    page.goto(result)
    row = page.locator("#texts").get_by_role("row", name=re.compile("^model 10 ")).first
    row.get_by_role("link", name="model").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Texts of model: Words")
    expect(page.locator("table.texts tbody tr")).to_have_count(10)
    page.get_by_role("columnheader", name="id").get_by_role("link").click()
    expect(page.get_by_role("columnheader", name="id")).to_have_attribute("aria-sort", "ascending")
    page.get_by_role("columnheader", name="id").get_by_role("link").press("Enter")
    expect(page.get_by_role("columnheader", name="id")).to_have_attribute("aria-sort", "descending")
    expect(page.locator("table.texts tbody tr").first).to_contain_text("m9")
    page.get_by_label("Source").select_option("human")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Texts of human: Words")
    page.get_by_role("link", name="h3").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("h3")
    # Numbers of the templates stand between its words.
    expect(page.get_by_role("article")).to_contain_text(re.compile("doctor.*lost.*garden.*winter"))
    expect(page.get_by_role("row", name=re.compile("^type-token ratio 0"))).to_be_visible()
    page.get_by_role("button", name="Trace this text").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Traced against tales")
    expect(page.get_by_role("region", name="The text")).to_contain_text("The doctor lost a garden")


def test_answers_to_one_prompt_are_side_by_side_and_a_run_is_shown_in_both(
    result: str, page: Page
) -> None:
    page.goto(result)
    page.get_by_role("link", name="Answers to one prompt, side by side").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Answers to lamp")
    page.get_by_role("link", name="next →").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Answers to river")
    page.get_by_label("Shared runs from so many words on").fill("2")
    page.get_by_role("button", name="Mark").click()
    human, model = (page.get_by_role("article", name=name) for name in ("human", "model"))
    human.locator("mark", has_text="The baker").hover()
    expect(model.locator("mark.on")).to_have_text(["The baker"] * 3)
    assert faults(page) == []
    assert overflow(page) <= 0
    human.get_by_role("link", name="h1").click()
    page.get_by_role("link", name="next text").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("h2")
    page.get_by_role("link", name="Side by side with 1 other answer").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Answers to bridge")


def test_a_file_is_uploaded_by_choosing_it_and_another_by_dropping_it(
    app: Running, page: Page
) -> None:
    record = json.dumps({"text": "A story that was brought along.", "teller": "Eve"}).encode()
    page.goto(app.at("/compare"))
    page.get_by_label("Permutations").evaluate("field => { field.value = '77' }")
    page.get_by_label("Drop files here, or choose them").set_input_files(
        {"name": "brought.jsonl", "mimeType": "application/json", "buffer": record}
    )
    brought = page.get_by_role("checkbox", name="brought.jsonl uploaded A story that was brought")
    expect(brought).to_be_checked()
    expect(page.get_by_role("checkbox", name="answers.jsonl")).not_to_be_checked()
    expect(page.get_by_label("Fields to group by")).to_have_value("")
    expect(page.get_by_label("Permutations")).to_have_value("77")
    expect(
        page.get_by_role("row", name=re.compile("A story that was .* teller Eve"))
    ).to_be_visible()
    dropped = page.evaluate_handle(
        """() => { const held = new DataTransfer();
        held.items.add(new File(["A text that fell from above."], "dropped.txt")); return held; }"""
    )
    page.locator("[data-drop]").dispatch_event("drop", {"dataTransfer": dropped})
    expect(
        page.get_by_role("checkbox", name="dropped.txt uploaded A text that fell")
    ).to_be_checked()
    expect(brought).not_to_be_checked()


def test_long_work_survives_a_reload_and_is_cancelled(app: Running, page: Page) -> None:
    page.goto(app.at("/compare?file=many.jsonl"))
    start(page)
    page.wait_for_url("**/jobs/*")
    bar = page.get_by_role("progressbar", name="Progress of many.jsonl")
    expect(bar).to_be_visible()
    expect(page.locator("[data-stage]")).not_to_have_text(re.compile("^(Waiting|Starting)$"))
    page.reload()
    expect(bar).to_be_visible()
    page.get_by_role("link", name="work under way").first.click()
    row = page.get_by_role("listitem").filter(has_text="many.jsonl, against human running")
    expect(row).to_contain_text("Words, Sentence structure")
    row.get_by_role("link", name="many.jsonl").click()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("Cancelled. Nothing was saved.")).to_be_visible()
    expect(bar).to_have_count(0)
    page.goto(app.at("/jobs"))
    row = page.get_by_role("listitem").filter(has_text=re.compile("many.jsonl.* cancelled"))
    expect(row).to_be_visible()
    assert faults(page) == []
    there = page.evaluate("new Date().getHours()")
    asked = row.locator("time").first
    expect(asked).to_contain_text(re.compile(rf", {there:02}:|, {(there + 23) % 24:02}:"))
    page.get_by_role("button", name="Clear what has ended").click()
    expect(row).to_have_count(0)
    page.goto(app.at("/history?q=many"))
    expect(page.get_by_text("No result matches this.")).to_be_visible()


def test_the_first_page_and_the_history_show_what_was_measured(
    app: Running, result: str, page: Page
) -> None:
    page.goto(app.at("/"))
    last = page.get_by_role("region", name=re.compile("^The last result: answers.jsonl"))
    first = last.get_by_role("figure").filter(has_text="Differences from human")
    expect(first.get_by_text("Words", exact=True)).to_be_visible()
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="History").click()
    entry = page.get_by_role("listitem").filter(has_text="lexical, templates")
    entry.get_by_text("Signatures").click()
    expect(entry.locator(".signature").first).to_contain_text("measure:lexical")
    page.get_by_label("Search", exact=True).fill("measure:templates")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_have_text("1 result")
    page.get_by_role("link", name="answers.jsonl, against human").click()
    assert page.url == result
    assert cut_labels(page) == []


def test_a_history_button_without_a_tick_says_what_is_missing(
    app: Running, result: str, page: Page, watch: Watch
) -> None:
    watch.forgive("status of 400")
    page.goto(app.at("/history"))
    page.get_by_role("button", name="Put side by side").click()
    expect(page.get_by_role("alert")).to_contain_text("choose at least two results")


@pytest.mark.slow
def test_an_index_is_built_while_one_watches_and_then_searched(app: Running, page: Page) -> None:
    page.goto(app.at("/"))
    page.get_by_role("link", name="Build or extend an index").click()
    page.get_by_label("Name").fill("answers")
    page.get_by_role("checkbox", name="answers.jsonl").check()
    assert faults(page) == []
    page.get_by_role("button", name="Build").click()
    page.wait_for_url("**/jobs/*")
    expect(page.get_by_role("heading", level=1)).to_have_text("index answers: answers.jsonl")
    page.wait_for_url("**/search?index=answers")
    page.goto(app.at("/search?index=answers&q=the+doctor"))
    expect(page.locator("mark").first).to_contain_text("doctor")
    page.goto(app.at("/indexes"))
    row = page.get_by_role("row", name=re.compile("^answers 20 "))
    row.get_by_role("link", name="Extend").click()
    expect(page.get_by_role("heading", name="Extend answers")).to_be_visible()
