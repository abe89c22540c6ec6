"""Every page with texts that mean harm: nothing runs, everything stays readable and usable."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

import pytest

from tests.e2e import written
from tests.e2e.serving import Running
from tests.e2e.watching import (
    Watch,
    axe_findings,
    axe_script,
    expect,
    faults,
    overflow,
    paper,
    watched,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

_HARM = written.HARMFUL_NAME
_HOSTILE = [one["id"] for one in written.documents() if one["id"].startswith("hostile")]


@pytest.fixture(scope="module")
def result(browser: Browser, app: Running) -> Iterator[str]:
    """The path of what was measured of the hostile file, started from its form."""
    measures = [("measure", "lexical"), ("measure", "templates"), ("permutations", "19")]
    query = urlencode([("file", _HARM), *measures, ("by", "source"), ("reference", "human")])
    with watched(browser) as (page, _):
        page.goto(app.at(asked("/templates", file=_HARM)))
        page.get_by_role("button", name="Find templates").click()
        page.wait_for_url(re.compile(r"/templates/kept/[0-9a-f]+$"))
        page.goto(app.at(f"/compare?{query}"))
        page.get_by_role("button", name="Measure", exact=True).click()
        page.wait_for_url(re.compile(r"/compare/result/[0-9a-f]+$"))
        yield page.url.removeprefix(app.at(""))


def asked(path: str, **query: str) -> str:
    return f"{path}?{urlencode(query)}"


def places(result: str) -> dict[str, str]:
    """Every page of the app, with as much harm on it as it takes."""
    source = written.HARMFUL_SOURCE
    own = f"0 {written.SCRIPT} of model"
    return {
        "home": "/",
        "compare": asked("/compare", file=_HARM, by=written.SCRIPT, reference=written.IMAGE),
        "result": result,
        "texts": asked(f"{result}/texts", place="0", source=source),
        "text": asked(f"{result}/text", source=source, text=own),
        "long text": asked(f"{result}/text", source="human", text="long"),
        "unknown text": asked(f"{result}/text", source=source, text=written.CLOSING),
        "history": asked("/history", q="img"),
        "nothing found": asked("/history", q=written.IMAGE),
        "jobs": "/jobs",
        "search": "/search",
        "lines": "/search?index=tales&q=hostile&sort=right",
        "quotes": asked("/search", index="tales", q=written.QUOTES),
        "forms": asked("/search", index="tales", q='"says" []', view="forms"),
        "groups": "/search?index=tales&q=hostile&view=by&by=author",
        "long word": "/search?index=tales&q=before",
        "before": "/search?index=tales&q=says&view=before",
        "collocates": "/search?index=tales&q=says&view=collocates",
        "lacking": asked("/search", index="tales", q=f"a hostile {written.SCRIPT} page"),
        "some": asked("/search", index="tales", q="spoke", where="author=Ada Voss", sort="random"),
        "hits": asked("/document/tales", id=_HOSTILE[0], q="page"),
        "top": "/search/top?index=tales&n=2&k=1000",
        "document": asked("/document/tales", id=_HOSTILE[1]),
        "long document": asked("/document/tales", id="long"),
        "templates": asked("/templates", file=_HARM, source=source),  # leads to what was measured
        "templates form": asked("/templates", file=_HARM, n="4", by=written.SCRIPT),
        "index templates": "/templates?index=tales&layer=lower&n=3",
        "trace": "/trace",
        "run": "/run",
        "run form": "/run/templates",
        "indexes": "/indexes",
        "side": asked(result.replace("/result/", "/side/"), key=written.SCRIPT, n="3"),
        "file": f"/files/{quote(_HARM, safe='')}",
        "api": "/api",
    }


@pytest.fixture(scope="module")
def walk(browser: Browser) -> Iterator[tuple[Page, Watch]]:
    """One page for all of them: a new profile for each would take longer than the pages."""
    with watched(browser) as (page, watch):
        page.add_init_script(axe_script())
        watch.forgive("status of 40")  # of those that are asked for what is not there
        yield page, watch


@pytest.fixture(scope="module", params=places(""))
def visited(
    request: pytest.FixtureRequest, app: Running, result: str, walk: tuple[Page, Watch]
) -> tuple[Page, Watch]:
    """Each page in turn, opened once for all that is asked of it."""
    page, watch = walk
    watch.complaints.clear()
    page.emulate_media(color_scheme="light")
    page.goto(app.at(places(result)[request.param]))
    return walk


# First, since the test after it clicks and types.
def test_axe_finds_nothing_on_any_page(visited: tuple[Page, Watch]) -> None:
    axe_is_content(visited[0])


def test_every_page_is_sound_in_light_and_dark_and_on_a_small_screen(
    visited: tuple[Page, Watch],
) -> None:
    page, watch = visited
    page.emulate_media(color_scheme="light")
    assert faults(page) == []
    assert overflow(page) <= 0
    light = paper(page)
    page.emulate_media(color_scheme="dark")
    assert paper(page) != light
    for one in page.get_by_role("main").locator("summary").all()[:3]:
        one.click()
    # Whatever runs on hovering or on a focus would have run now.
    page.get_by_role("main").hover(position={"x": 5, "y": 5})
    page.keyboard.press("Tab")
    # From wherever one is, `/` leads to a search field.
    page.get_by_role("main").focus()
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.type") == "search"
    watch.check(page)


@pytest.mark.parametrize("name", ["traced", "cited"])
def test_axe_finds_nothing_on_what_was_traced(
    app: Running, walk: tuple[Page, Watch], name: str
) -> None:
    page, _ = walk
    page.emulate_media(color_scheme="light")
    form = {"text": f"Once more the miller spoke about the lamp. {written.SCRIPT}"}
    page.goto(page.request.post(app.at("/trace"), form={**form, "index": "tales"}).url)
    if name == "cited":
        page.get_by_role("link", name="What needs a citation").click()
        page.wait_for_url("**view=fragments**")
    axe_is_content(page)


def axe_is_content(page: Page) -> None:
    assert axe_findings(page) == []
    page.emulate_media(color_scheme="dark")
    assert axe_findings(page, ["color-contrast"]) == []


def test_what_means_harm_is_pasted_and_traced(app: Running, page: Page) -> None:
    page.goto(app.at("/trace"))
    page.get_by_label("Text", exact=True).fill(" ".join(written.HARM) + " and so it ends.")
    page.get_by_role("button", name="Trace").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Traced against tales")
    # Numbers of matches and citations stand between its words.
    matches = page.get_by_role("region", name="The text with its matches")
    for shown in ("<script>", "window.harmed = 'script'</script>"):
        expect(matches).to_contain_text(shown)
    page.get_by_role("link", name="What needs a citation").click()
    text = page.get_by_role("region", name="The text with its fragments")
    expect(text).to_contain_text("script>window.harmed = 'script'</script>")
    expect(text).to_contain_text("7 * 191 }} {% raw %}")
    assert "1337" not in page.content()
    assert faults(page) == []
    assert overflow(page) <= 0


def test_a_word_longer_than_a_text_may_be_is_cut_by_the_form_and_refused_without_it(
    app: Running, page: Page
) -> None:
    page.goto(app.at("/trace"))
    box = page.get_by_label("Text", exact=True)
    box.focus()
    page.keyboard.insert_text(written.LONG_WORD)
    assert box.evaluate("field => field.value.length") == 200_000
    page.get_by_role("button", name="Trace").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Traced against tales")
    assert overflow(page) <= 0
    form = {"text": written.LONG_WORD, "index": "tales"}
    answer = page.request.post(app.at("/trace"), form=form)
    assert answer.status == 400
    assert "200,000" in answer.text()


def test_a_policy_keeps_a_script_that_was_slipped_in_from_running(
    app: Running, page: Page, watch: Watch
) -> None:
    watch.forgive("Content Security Policy")
    answer = page.goto(app.at("/"))
    assert answer is not None
    policy = answer.header_value("content-security-policy") or ""
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    page.evaluate(
        """() => {
        const script = document.createElement("script");
        script.textContent = "window.harmed = 'inline'";
        document.body.append(script);
        const box = document.createElement("div");
        box.innerHTML = '<img src="x:" onerror="window.harmed = 1"><p style="color: red">';
        document.body.append(box);
        }"""
    )
    page.goto(app.at("/compare"))
    assert any("Content Security Policy" in one for one in watch.complaints)


def test_a_form_of_another_site_does_nothing_in_this_browser(
    app: Running, page: Page, watch: Watch
) -> None:
    watch.forgive("status of 403")
    watch.forgive("ERR_FAILED")
    watch.forgive("blocked by CORS")
    form = f'<form method="post" action="{app.at("/trace")}"><input name="text" value="stolen">'
    page.route(
        "http://127.0.0.1:1/",
        lambda route: route.fulfill(
            body=f"{form}<button>Win</button></form>", content_type="text/html"
        ),
    )
    page.goto("http://127.0.0.1:1/")
    page.get_by_role("button", name="Win").click()
    expect(page.locator("body")).to_contain_text("sent from another site")
