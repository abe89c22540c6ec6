"""The page of `rote judge page`, as a judge goes through it: marks, answers, stops, goes on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import rote
from tests.e2e.serving import served
from tests.e2e.watching import expect, watched
from tests.kit import read_jsonl, write_jsonl

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SELECT = """() => {
  const box = document.getElementById("document"), range = document.createRange();
  range.setStart(box.firstChild, 4); range.setEnd(box.firstChild, 10);
  getSelection().removeAllRanges(); getSelection().addRange(range);
}"""


def begin(page: Page, path: Path, judge: str) -> None:
    page.goto(path.as_uri())
    page.locator("#judge").fill(judge)
    page.locator("#begin").click()


def mark(page: Page) -> None:
    expect(page.locator("#done")).to_be_disabled()
    page.evaluate(SELECT)
    page.locator("#mark").click()
    expect(page.locator("mark")).to_have_text("miller")
    page.locator("#done").click()


def say(page: Page, made_up: int) -> str:
    text = page.locator("blockquote").inner_text()
    page.locator(".covered").first.check()
    page.locator("#made_up").fill(str(made_up))
    page.locator("#next").click()
    return text


def test_a_judge_marks_answers_stops_and_goes_on(browser: Browser, tmp_path: Path) -> None:
    texts = [
        {
            "id": f"{doc}{who}",
            "doc_id": doc,
            "source": who,
            "text": f"{who} writes <b>of</b> {doc}",
            "document": f"The miller lost a lamp </script> in {doc}.",
        }
        for doc in ("one", "two")
        for who in ("all", "few")
    ]
    path = tmp_path / "page.html"
    rote.judge_page(texts, output=path)
    context = browser.new_context(accept_downloads=True)
    page = context.new_page()
    begin(page, path, "ann")
    expect(page.locator("#document")).to_contain_text("lamp </script> in")
    mark(page)
    seen = [say(page, 1)]
    # The browser is closed in the middle of a document: the judge goes on with the next summary.
    page.close()
    page = context.new_page()
    begin(page, path, "ann")
    expect(page.locator("h2")).to_have_text("Summary 2 of 2")
    seen.append(say(page, 0))
    assert {text.split()[0] for text in seen} == {"all", "few"}
    assert "<b>of</b>" in seen[0]
    mark(page)
    say(page, 0)
    with page.expect_download() as half:
        page.locator("#download").click()
    half.value.save_as(tmp_path / "half.jsonl")
    context.close()
    # On another machine: the file is loaded, and what is left is judged.
    context = browser.new_context(accept_downloads=True)
    page = context.new_page()
    page.goto(path.as_uri())
    page.locator("#load").set_input_files(tmp_path / "half.jsonl")
    expect(page.locator("h2")).to_have_text("Summary 2 of 2")
    say(page, 2)
    expect(page.locator("h2")).to_have_text("Done")
    with page.expect_download() as whole:
        page.locator("#download").click()
    assert whole.value.suggested_filename == "ann.jsonl"
    whole.value.save_as(tmp_path / "ann.jsonl")
    context.close()
    answers = read_jsonl(tmp_path / "ann.jsonl")
    assert [one["kind"] for one in answers].count("summary") == 4
    assert answers[0]["texts"] == ["miller"]
    found = rote.judge_agreement(tmp_path / "ann.jsonl", key=tmp_path / "page.key.json")
    assert {name: one.texts for name, one in found.by_source.items()} == {"all": 2, "few": 2}
    assert sum(2 * one.values["made_up"] for one in found.by_source.values()) == 3


def test_an_answer_can_be_taken_back(browser: Browser, tmp_path: Path) -> None:
    record = {"id": "1", "doc_id": "d", "source": "all", "text": "A miller."}
    path = tmp_path / "page.html"
    rote.judge_page([{**record, "document": "The miller lost a lamp."}], output=path)
    context = browser.new_context(accept_downloads=True)
    page = context.new_page()
    begin(page, path, "ann")
    expect(page.locator("#back")).to_have_count(0)
    mark(page)
    say(page, 2)
    expect(page.locator("h2")).to_have_text("Done")
    page.locator("#back").click()
    # It is shown as it was given, and can be given otherwise.
    expect(page.locator("#made_up")).to_have_value("2")
    page.locator("#back").click()
    expect(page.locator("mark")).to_have_text("miller")
    page.locator("#done").click()
    say(page, 1)
    with page.expect_download() as answers:
        page.locator("#download").click()
    answers.value.save_as(tmp_path / "ann.jsonl")
    context.close()
    rows = read_jsonl(tmp_path / "ann.jsonl")
    assert [row["kind"] for row in rows] == ["highlights", "summary"]
    assert rows[1]["made_up"] == 1


def test_the_page_runs_in_the_app(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "summaries.jsonl"
    record = {
        "id": "1",
        "doc_id": "d",
        "source": "all",
        "text": "A miller.",
        "document": "The miller lost a lamp.",
    }
    write_jsonl(file, [record])
    with served(tmp_path / "store", file) as app, watched(browser) as (page, _):
        page.goto(app.at("/"))
        page.get_by_role("link", name="judge its summaries").click()
        page.locator("#judge").fill("bob")
        page.locator("#begin").click()
        mark(page)
        assert say(page, 0) == "A miller."
        expect(page.locator("h2")).to_have_text("Done")
