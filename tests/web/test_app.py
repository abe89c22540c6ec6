"""The app as a whole: its pages, its API, its static files."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from fastapi.testclient import TestClient

from rote.web.render import environment, page_address
from rote.web.workspace import Workspace
from tests.web.conftest import Calling

PAGES = ("/", "/compare", "/trace", "/templates", "/search", "/history", "/jobs", "/api")


@pytest.mark.parametrize("place", PAGES)
def test_every_page_has_what_a_reader_needs(client: TestClient, place: str) -> None:
    page = client.get(place).text
    assert '<html lang="en">' in page
    assert page.count("<h1") == 1
    assert '<a class="skip" href="#main">' in page
    assert '<main id="main"' in page
    assert re.search(r"<title>[^<]+ · rote</title>", page)
    for found in re.findall(r"<(?:input|select|textarea)[^>]*>", page):
        named = re.search(r'\bid="([^"]*)"', found)
        inside = re.search(r"<label[^>]*>\s*" + re.escape(found), page)
        labelled = "aria-label" in found or (named and f'for="{named[1]}"' in page) or inside
        assert labelled or 'type="hidden"' in found, found


@pytest.mark.parametrize("place", PAGES)
def test_pages_ask_nothing_of_the_network(client: TestClient, place: str) -> None:
    page = client.get(place).text
    for found in re.findall(r'(?:src|href|action)="([^"]*)"', page):
        assert found.startswith(("/", "#", "?")), found


@pytest.mark.parametrize(
    "place", [*PAGES, "/static/style.css", "/api/opened", "/nothing", "/api/jobs/none"]
)
def test_head_is_answered_as_get_is_without_the_body(client: TestClient, place: str) -> None:
    head, whole = client.head(place), client.get(place)
    assert head.status_code == whole.status_code
    assert head.headers["content-type"] == whole.headers["content-type"]
    assert head.headers["content-security-policy"] == whole.headers["content-security-policy"]
    assert head.content == b""


@pytest.mark.parametrize("place", PAGES)
def test_every_page_has_one_field_to_search_by(client: TestClient, place: str) -> None:
    page = client.get(place).text
    assert ('<form class="find"' in page) == (place != "/search")


def test_static_files_are_cached_by_their_hash(client: TestClient) -> None:
    page = client.get("/history").text
    for place in re.findall(r'(?:src|href)="(/static/[^"]+)"', page):
        response = client.get(place)
        assert response.status_code == 200
        assert "immutable" in response.headers["cache-control"]
        again = client.get(place, headers={"If-None-Match": response.headers["etag"]})
        assert again.status_code == 304
    assert client.get("/static/style.css").headers["cache-control"] == "no-cache"
    assert client.get("/static/style.css").headers["content-type"].startswith("text/css")
    assert client.get("/static/app.js").headers["content-type"].startswith("text/javascript")
    assert client.get("/favicon.ico").headers["content-type"] == "image/svg+xml"


def test_every_endpoint_is_described(client: TestClient) -> None:
    described = client.get("/api/openapi.json").json()
    page = client.get("/api").text
    for path, methods in described["paths"].items():
        assert path.startswith("/api/"), path
        assert f"<code>{path}</code>" in page
        for method, one in methods.items():
            assert one["tags"], path
            # FastAPI makes one of the function's name if none is given.
            assert one["summary"] != one["operationId"].split("_api_")[0].replace("_", " ").title()
            assert method in ("get", "post")


def test_errors_are_pages_or_json(client: TestClient) -> None:
    assert "There is no such page" in client.get("/nowhere").text
    assert client.get("/api/nowhere").json()["error"]["message"] == "There is no such page."
    assert client.get("/compare/result/unknown").status_code == 404
    assert "page" in client.get("/history?page=x").text
    assert client.get("/api/results?limit=x").status_code == 400
    assert client.put("/history").status_code == 405


def test_an_app_without_anything_still_answers(opened: Workspace, calling: Calling) -> None:
    client = calling(Workspace({}, {}, opened.store))
    for place in PAGES:
        assert client.get(place).status_code == 200, place


def test_addresses_keep_the_other_settings(client: TestClient) -> None:
    from fastapi import Request

    scope = {
        "type": "http",
        "path": "/history",
        "query_string": b"q=a%26b&id=1&id=2&page=3",
        "headers": [(b"host", b"x")],
        "server": ("x", 80),
        "scheme": "http",
    }
    request = Request(scope)
    assert page_address(request, page=4) == "/history?q=a%26b&id=1&id=2&page=4"
    assert page_address(request, page=None, id=["7"]) == "/history?q=a%26b&id=7"


def test_templates_make_texts_harmless() -> None:
    shown = environment().from_string("{{ text }}").render(text="<b>\u202e\x1b[1m\nnext")
    assert "&lt;b&gt;" in shown
    assert "\u202e" not in shown
    assert "\x1b" not in shown
    assert "\nnext" in shown


@pytest.mark.parametrize(
    ("filtered", "shown"),
    [
        ("{{ 1234567|thousands }}", "1,234,567"),
        ("{{ 'a  b c'|short(4) }}", "a b…"),
        ("{{ '2026-11-05T03:04:05'|date }}", "5 Nov 2026, 03:04"),
        ("{{ 'no date'|date }}", "no date"),
        ("{{ 59.6|span }} {{ 61|span }} {{ 7300|span }}", "1 min 0 s 1 min 1 s 2 h 1 min"),
        ("{{ query({'a': 'ü&', 'b': none}) }}", "a=%C3%BC%26"),
    ],
)
def test_numbers_and_dates_are_written_for_people(filtered: str, shown: str) -> None:
    assert environment().from_string(filtered).render() == shown


def test_times_are_those_of_the_clock_on_the_wall(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        shown = environment().from_string("{{ '2026-11-05T23:04:05+00:00'|date }}").render()
    finally:
        monkeypatch.undo()
        time.tzset()
    assert shown == '<time datetime="2026-11-05T23:04:05+00:00">6 Nov 2026, 08:04</time>'


def described(client: TestClient) -> list[tuple[str, str, dict[str, Any]]]:
    """Method, address and description of everything that the API answers."""
    paths = client.get("/api/openapi.json").json()["paths"]
    return [
        (method, re.sub(r"\{[^}]*\}", "x", path), one)
        for path, held in paths.items()
        for method, one in held.items()
    ]


def test_a_misspelt_parameter_of_any_address_is_named(client: TestClient) -> None:
    for method, place, one in described(client):
        known = [given["name"] for given in one.get("parameters", ()) if given["in"] == "query"]
        for wrong in (f"{name}x" for name in known or ["nothing"]):
            answer = client.request(method, place, params={wrong: "1"})
            if "x-fields" in one:  # further ones are fields of what it lists
                assert answer.status_code == 404
                continue
            assert answer.status_code == 400, place
            assert answer.json()["error"]["message"].startswith(f"unknown option `{wrong}`; ")
        right = client.request(method, place, params=dict.fromkeys(known, "1"))
        assert "unknown option" not in right.text, place


def test_a_misspelt_member_of_any_body_is_named(client: TestClient) -> None:
    schemas = client.get("/api/openapi.json").json()["components"]["schemas"]
    members = 0
    for method, place, one in described(client):
        body = one.get("requestBody", {}).get("content", {}).get("application/json")
        if body is None:
            continue
        shape = schemas[body["schema"]["$ref"].rpartition("/")[2]]
        assert shape["additionalProperties"] is False, place
        for name in shape["properties"]:
            answer = client.request(method, place, json={f"{name}x": "1"})
            assert answer.status_code == 400
            said = answer.json()["error"]["message"]
            assert said == f"unknown option `{name}x`; did you mean `{name}`?", place
            members += 1
    assert members > 20
