"""Only the app's own pages may use it, and nothing in a text can act on them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from fastapi.testclient import TestClient

from rote.core.errors import OptionError
from rote.web.compare_form import CompareForm
from rote.web.history import History
from rote.web.request_guard import POLICY
from rote.web.workspace import Workspace
from tests.kit import write_jsonl
from tests.web.asked import kept_result
from tests.web.conftest import Calling

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "\u202egnp.exe \u2066over\u2069",
    "\x1b[31mred\x1b[0m\x07\x00",
    "{{ 7 * 7 }}{% raw %}",
    "javascript:alert(1)",
    "w" * 1_000_000,
)


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "127.0.0.1.evil.example", "localhost.evil:8765", "", "[::2]"),
        *("127.0.0.2", "localhost:1@evil.example", "localhost:evil", "127.0.0.1:1:2"),
    ],
)
def test_another_name_for_this_machine_is_refused(client: TestClient, host: str) -> None:
    response = client.get("/history", headers={"Host": host})
    assert response.status_code == 403
    assert "History" not in response.text


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:99", "127.0.0.1:8765", "[::1]:8765"])
def test_its_own_names_are_known(client: TestClient, host: str) -> None:
    assert client.get("/history", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Origin": "http://127.0.0.1:8765.evil.example"},
        {"Origin": "file://127.0.0.1:8765"},
        *({"Origin": one} for one in ("http://[::1", "http://", "//127.0.0.1:8765", "http://[x]")),
        [("Origin", "http://127.0.0.1:8765"), ("Origin", "http://evil.example")],
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "http://127.0.0.1:8765", "Sec-Fetch-Site": "cross-site"},
    ],
)
def test_a_form_of_another_site_changes_nothing(
    client: TestClient, headers: Any, opened: Workspace
) -> None:
    id = kept_result(opened)
    response = client.post("/history/delete", data={"id": id, "sure": "yes"}, headers=headers)
    assert response.status_code == 403
    assert History(opened.store).get(id).id == id


def test_its_own_pages_may_post(client: TestClient, opened: Workspace) -> None:
    id = kept_result(opened)
    headers = {"Origin": "http://127.0.0.1:8765", "Sec-Fetch-Site": "same-origin"}
    response = client.post("/history/delete", data={"id": id, "sure": "yes"}, headers=headers)
    assert response.status_code == 303
    assert History(opened.store).count() == 0


def test_other_pages_may_lead_here_but_not_load_parts(client: TestClient) -> None:
    cross = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert client.get("/history", headers=cross).status_code == 200
    loaded = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
    assert client.get("/api/results", headers=loaded).status_code == 403


def test_every_answer_has_the_headers(client: TestClient) -> None:
    for response in (
        client.get("/history"),
        client.get("/nowhere"),
        client.get("/api/nowhere"),
        client.get("/history", headers={"Host": "evil.example"}),
        client.get("/api/openapi.json"),
    ):
        assert response.headers["content-security-policy"] == POLICY
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["referrer-policy"] == "same-origin"
        assert response.headers["cross-origin-resource-policy"] == "same-origin"
        assert response.headers["cross-origin-opener-policy"] == "same-origin"


def test_an_unforeseen_error_shows_no_trace(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: History, *given: object, **more: object) -> int:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr(History, "count", broken)
    response = client.get("/history")
    assert response.status_code == 500
    assert "secret" not in response.text
    assert "Traceback" not in response.text
    assert response.headers["content-security-policy"] == POLICY
    assert client.get("/api/results").json()["error"]["kind"] == "Unexpected"


class TestToken:
    @pytest.fixture
    def client(self, opened: Workspace, calling: Calling) -> TestClient:
        return calling(replace(opened, token="a1b2c3", hosts=("*",)))

    def test_without_it_nothing_is_shown(self, client: TestClient) -> None:
        for headers in ({}, {"Authorization": "Bearer a1b2c"}, {"Cookie": "rote-token-8765=no"}):
            for place in ("/", "/api/results", "/static/style.css"):
                response = client.get(place, headers=headers)
                assert response.status_code == 401
        assert client.get("/?token=wrong").status_code == 401
        assert client.post("/compare?token=a1b2c3").status_code == 401

    def test_it_moves_from_the_address_into_a_cookie(self, client: TestClient) -> None:
        response = client.get("/history?q=x&token=a1b2c3&page=1")
        assert response.status_code == 303
        assert response.headers["location"] == "/history?q=x&page=1"
        cookie = response.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Lax" in cookie
        assert client.get("/history").status_code == 200  # the client keeps cookies

    def test_the_way_on_stays_on_this_machine(self, client: TestClient) -> None:
        response = client.get("http://127.0.0.1:8765//evil.example/?token=a1b2c3")
        assert response.headers["location"] == "/evil.example/"

    def test_programs_send_it_as_a_header(self, client: TestClient) -> None:
        headers = {"Authorization": "Bearer a1b2c3"}
        assert client.get("/api/results", headers=headers).status_code == 200


def test_too_much_is_refused_by_its_length(client: TestClient) -> None:
    response = client.post("/uploads", files={"upload": ("a.txt", b"a" * 30_000)})
    assert response.status_code == 413
    assert response.headers["content-type"].startswith("text/html")
    assert "<h1>Too large</h1>" in response.text
    assert "more than 20,000 bytes" in response.text
    assert "give a large file to <code>rote serve</code> at its start" in response.text
    assert '<a href="/compare"' in response.text
    assert "default-src 'none'" in response.headers["content-security-policy"]


@pytest.mark.parametrize("place", ["/uploads", "/compare", "/api/compare", "/api/uploads"])
def test_too_much_is_refused_while_it_comes(
    client: TestClient, opened: Workspace, place: str
) -> None:
    boundary = {"Content-Type": "multipart/form-data; boundary=x"}
    start = b'--x\r\nContent-Disposition: form-data; name="upload"; filename="a.txt"\r\n\r\n'

    def pieces() -> Iterator[bytes]:
        yield start
        for _ in range(40):
            yield b"word " * 200

    response = client.post(place, content=pieces(), headers=boundary)
    assert response.status_code == 413
    assert not opened.all_files().keys() - {"texts.jsonl"}


def test_a_length_that_is_no_number_is_refused(client: TestClient) -> None:
    response = client.post("/uploads", headers={"Content-Length": "-1"}, content=b"")
    assert response.status_code == 413


@pytest.mark.parametrize(
    "key",
    ["../given/texts.jsonl", "/etc/passwd", "..", "texts.jsonl/../../x", "bible:kjv", "%2e%2e/x"],
)
def test_a_path_is_no_key(client: TestClient, key: str) -> None:
    response = client.post("/api/compare", json={"files": [key]})
    assert response.status_code == 404
    assert response.json()["error"]["kind"] == "UnknownName"
    asked = {"files": ["texts.jsonl"], "corpus": key}
    assert client.post("/api/compare", json=asked).status_code == 404
    asked = {"files": ["texts.jsonl"], "corpus": f"file:{key}"}
    assert client.post("/api/compare", json=asked).status_code == 404
    assert client.get("/static/" + quote(key, safe="").replace(".", "%2e")).status_code == 404


@pytest.mark.parametrize(
    ("name", "refused"),
    [
        ("train", False),
        ("corpus", False),
        ("embedder", True),
        ("tokenizer", True),
        ("templates_from", True),
    ],
)
def test_no_option_of_a_request_names_a_file(client: TestClient, name: str, refused: bool) -> None:
    """What the form does not offer is refused or not read, wherever it occurs in the address."""

    pairs = [("file", "texts.jsonl"), (name, "/etc/passwd")]
    for measure in ("novelty", "semantic", "templates", "overlap"):
        pairs += [("measure", measure), (f"{measure}.{name}", "/etc/passwd")]
    if refused:
        with pytest.raises(OptionError, match="a place on the machine that the app runs on"):
            CompareForm.read(pairs)
        return
    read = CompareForm.read(pairs)
    assert "/etc/passwd" not in json.dumps([dict(read.settings), dict(read.measure_options)])


@pytest.mark.parametrize(
    "name", ["../../x.txt", "/etc/x.txt", "..\\x.txt", ".hidden.txt", "a\0b.txt"]
)
def test_an_upload_stays_in_its_folder(client: TestClient, opened: Workspace, name: str) -> None:
    client.post("/uploads", files={"upload": (name, b"Some words.")})
    inside = [path for path in opened.store.rglob("*") if path.suffix == ".txt"]
    assert len(inside) <= 1
    assert all(path.parent.parent == opened.store / "uploads" for path in inside)
    assert not list(opened.store.parent.glob("*.txt"))


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_and_texts_are_inert(
    client: TestClient, opened: Workspace, texts: Path, text: str
) -> None:
    write_jsonl(texts, [{"id": text[:500], "source": text[:500], "text": text}])
    id = kept_result(opened, text, texts)
    named = quote(text[:500])
    for place in (
        "/",
        "/compare",
        "/history",
        f"/history?q={quote(text[:50])}",
        f"/compare/result/{id}",
        f"/compare/result/{id}/texts?place=0&source={named}",
        f"/compare/result/{id}/text?source={named}&text={named}",
    ):
        page = client.get(place).text
        assert "<script>alert" not in page
        assert "<img src=x" not in page
        assert "\u202e" not in page
        assert "\x1b" not in page
        assert "\x00" not in page
        assert 'href="javascript:' not in page
        assert len(page) < 900_000


def test_pages_hold_no_script_or_style_of_their_own(client: TestClient, opened: Workspace) -> None:
    id = kept_result(opened)
    for place in (
        "/",
        "/compare",
        "/history",
        "/jobs",
        "/api",
        "/nowhere",
        f"/compare/result/{id}",
    ):
        page = client.get(place).text
        assert "<style" not in page
        assert " style=" not in page
        assert "<script>" not in page
        assert " onclick=" not in page
