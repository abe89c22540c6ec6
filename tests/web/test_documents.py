from __future__ import annotations

import re

import pytest
from starlette.testclient import TestClient

from rote.core.document import Document
from rote.web.render import document_link, make_link
from rote.web.routes.document import PART, DocumentAnswer, DocumentsAnswer
from tests.web.asked import LONE, OVERRIDE, TEXTS, client, harmless, made_index

NOVEL = " ".join(f"word{i}" for i in range(12_000))


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    folder = tmp_path_factory.mktemp("documents")
    novel = made_index(folder / "novel", [Document("novel", NOVEL)], layers=("lower",))
    made = made_index(folder / "made", layers=("lower",))
    return client(folder / "store", indexes={"made": made, "a novel": novel})


def opened(app: TestClient, address: str | None) -> str:
    assert address is not None
    page = app.get(address.partition("#")[0])
    assert page.status_code == 200
    return page.text


@pytest.mark.parametrize("name", TEXTS)
def test_every_document_has_a_page_whatever_its_id_and_text(app: TestClient, name: str) -> None:
    page = opened(app, document_link("made", name, 4, 7))
    harmless(page)
    assert re.search(r'<mark class="hit" id="hit"[^>]*>[^<]+</mark>', page)
    assert len(page) < 2 * PART + 10_000


def test_the_parts_of_a_long_document_are_the_whole(app: TestClient) -> None:
    text, at = "", 0
    while at < len(NOVEL):
        given = {"id": "novel", "at": at}
        part = app.get("/api/document/a%20novel", params=given).json()
        DocumentAnswer(**part)
        assert part["start"] == at
        assert part["length"] == len(NOVEL)
        text += part["text"]
        at = part["end"]
    assert text == NOVEL


def test_links_lead_from_part_to_part_and_back(app: TestClient) -> None:
    first = opened(app, document_link("a novel", "novel"))
    (later,) = set(re.findall(r'rel="next" href="([^"]*)"', first))
    second = opened(app, later.replace("&amp;", "&"))
    (earlier,) = set(re.findall(r'rel="prev" href="([^"]*)"', second))
    assert 'rel="prev"' not in opened(app, earlier.replace("&amp;", "&"))


@pytest.mark.parametrize("word", ["word0", "word2345", "word6000", "word11999"])
def test_the_place_that_was_asked_for_is_marked(app: TestClient, word: str) -> None:
    start = NOVEL.index(word)
    page = opened(app, document_link("a novel", "novel", start, start + len(word)))
    assert f">{word}</mark>" in page
    around = NOVEL[max(0, start - 100) : start]
    assert around in page


def test_a_document_that_is_not_there_is_named(app: TestClient) -> None:
    missing = app.get("/document/made", params={"id": "four"})
    assert missing.status_code == 404
    assert "four" in missing.text
    assert app.get("/document/other", params={"id": "one"}).status_code == 404


def test_ids_are_listed_in_the_order_of_the_index(app: TestClient) -> None:
    found = app.get("/api/documents/made", params={"start": 2, "limit": 3}).json()
    DocumentsAnswer(**found)
    assert found["ids"] == list(TEXTS)[2:5]
    assert app.get("/api/documents/made", params={"start": 99}).json()["ids"] == []


def test_an_address_keeps_what_a_name_holds() -> None:
    address = document_link("a/b?", f"x&y#{OVERRIDE}", 0, 3)
    assert address == "/document/a%2Fb%3F?id=x%26y%23%E2%80%AE&from=0&to=3#hit"
    assert document_link("made", f"half {LONE}") is None
    assert make_link("/search", q="", index=None, page=0) == "/search?page=0"
