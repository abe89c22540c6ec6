from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from rote.index.opening import index_texts, open_index
from rote.web import api as answers
from rote.web import state as threads
from rote.web.indexes import OpenIndex
from rote.web.pages import search as asked
from rote.web.pages.search import Question, find, page_of
from tests.web.asked import TEXTS, client, harmless, made_index


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_index(tmp_path_factory.mktemp("search") / "idx")


@pytest.fixture(scope="module")
def app(path: Path, tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    return client(tmp_path_factory.mktemp("store"), indexes={"made": path})


Asking = Callable[..., Any]
NO_MANIFEST: Any = None
"""An index in memory has none, and matches need none."""


@pytest.fixture(scope="module")
def ask(app: TestClient) -> Asking:
    def answered(place: str, **given: Any) -> Any:
        answer = app.get(f"/api/{place}", params={"index": "made", **given})
        assert answer.status_code == 200, answer.text
        return answer.json()

    return answered


def places_of(word: str) -> list[tuple[str, int]]:
    """Where a word stands, found without any index."""
    return [
        (name, match.start())
        for name, (text, _) in TEXTS.items()
        for match in re.finditer(rf"\b{word}\b", text.lower())
    ]


# -- what is found ---------------------------------------------------------------------------


def test_every_place_of_a_word_is_a_line(ask: Asking) -> None:
    found = ask("search", q="dog", per=100)
    assert [(line["document"], line["start"]) for line in found["lines"]] == places_of("dog")
    assert found["matches"] == len(places_of("dog"))
    assert found["matched_documents"] == len({name for name, _ in places_of("dog")})
    assert found["documents"] == len(TEXTS)


def test_a_line_is_the_text_cut_in_three(ask: Asking) -> None:
    for line in ask("search", q='"old" []', context=10)["lines"]:
        text = TEXTS[line["document"]][0]
        assert text[line["start"] : line["end"]] == line["match"]
        assert text[: line["start"]].endswith(line["before"])
        assert text[line["end"] :].startswith(line["after"])
        assert len(line["before"]) <= 10


@pytest.mark.parametrize("sort", ["place", "left", "right", "document", "form"])
def test_pages_are_the_parts_of_the_whole(ask: Asking, sort: str) -> None:
    whole = ask("search", q='"the" []', sort=sort, per=1000)
    parts = [ask("search", q='"the" []', sort=sort, per=4, page=n) for n in range(1, 6)]
    assert whole["pages"] == 1
    assert parts[0]["pages"] == -(-whole["matches"] // 4)
    assert [line for part in parts for line in part["lines"]] == whole["lines"]


def test_lines_are_put_in_the_order_that_was_asked_for(ask: Asking) -> None:
    def lines(sort: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = ask("search", q='"the" []', sort=sort, per=1000)["lines"]
        return found

    def words(text: str) -> list[str]:
        return re.findall(r"\w+", text.lower())

    left = [words(line["before"])[::-1] for line in lines("left")]
    assert left == sorted(left)
    right = [words(line["after"]) for line in lines("right")]
    assert right == sorted(right)
    assert [one["document"] for one in lines("document")] == sorted(
        one["document"] for one in lines("document")
    )
    shown = [" ".join(one["match"].lower().split()) for one in lines("form")]
    counts = Counter(shown)
    assert [counts[form] for form in shown] == sorted(counts[form] for form in shown)[::-1]


def test_forms_are_counted_with_capitals_folded(ask: Asking) -> None:
    found = ask("search/forms", q='[lower="a|an|the"] "old" []')
    assert found["forms"] == [
        {"form": "the old dog", "count": 2},
        {"form": "an old dog", "count": 1},
        {"form": "the old cat", "count": 1},
    ]


def test_groups_hold_the_matches_of_a_field_per_million_of_its_words(ask: Asking) -> None:
    found = ask("search/groups", q="gate", by="author")
    rows = {row["group"]: row for row in found["groups"]}
    assert {name: (row["matches"], row["documents"]) for name, row in rows.items()} == {
        "Ada": (3, 2),
        "Bo": (1, 1),
        "": (1, 1),
    }
    assert rows["Bo"]["words"] == 18  # sixteen words and two full stops
    assert rows["Bo"]["per_million"] == pytest.approx(1e6 / 18)
    assert [row["group"] for row in ask("search/groups", q="gate", by="year")["groups"]] == [
        "1903", "1905", "1916",
    ]  # fmt: skip
    assert ask("search/groups", q="gate")["groups"][0]["group"] == "three"


def test_a_phrase_is_counted_in_every_sorted_layer(ask: Asking) -> None:
    rows = {row["layer"]: row for row in ask("count", phrase="The old dog")["counts"]}
    assert (rows["lower"]["occurrences"], rows["lower"]["documents"]) == (2, 2)
    assert rows["lower"]["authors"] == 2
    assert rows["pos"]["items"] == ["DT", "JJ", "NN"]
    assert rows["pos"]["occurrences"] >= 5
    (only,) = ask("count", phrase='[pos="JJ"] "gate"')["counts"]
    assert (only["occurrences"], only["documents"], only["layer"]) == (3, None, "pos,lower")


def test_the_most_frequent_are_those_of_a_plain_count(ask: Asking, path: Path) -> None:
    index = open_index(path)
    found = ask("top", layer="lower", n=2, k=5)["ngrams"]
    assert [(tuple(row["items"]), row["count"]) for row in found] == list(index.top(2, 5))
    assert found[0]["example"].lower() == " ".join(found[0]["items"])


def test_answers_have_the_shape_that_openapi_names(ask: Asking) -> None:
    answers.SearchAnswer(**ask("search", q="dog"))
    answers.FormsAnswer(**ask("search/forms", q="dog"))
    answers.GroupsAnswer(**ask("search/groups", q="dog", by="source"))
    answers.CountAnswer(**ask("count", phrase="dog"))
    answers.TopAnswer(**ask("top"))
    for row in ask("indexes"):
        answers.IndexListed(**row)


# -- limits ----------------------------------------------------------------------------------


def whole_index() -> OpenIndex:
    texts = [" ".join("abcde"[i % 5] for i in range(n)) for n in range(1, 30)]
    return OpenIndex(index_texts(texts), NO_MANIFEST)


def test_only_the_first_matches_are_put_in_order_and_it_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(asked, "MOST", 20)
    opened = whole_index()
    found = find(opened, Question("[]", sort="right", per=50))
    assert (found.limited, len(found.matches)) == (True, 20)
    assert found.total == opened.index.items_held("lower")
    assert found.documents is None
    assert find(opened, Question("a", sort="right")).documents == 29


def test_a_page_takes_no_more_matches_than_it_needs() -> None:
    opened = whole_index()
    question = Question("[]", page=2, per=10)
    found = find(opened, question)
    assert len(found.matches) == 20
    assert found.total == opened.index.items_held("lower")
    assert page_of(found, question) == opened.index.search("[]", 20)[10:]


def test_an_answer_that_takes_too_long_is_a_sentence(
    app: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "SECONDS", 0.0)
    answer = app.get("/api/search", params={"index": "made", "q": "dog"})
    assert answer.status_code == 503
    assert "ask for less" in answer.json()["error"]["message"]


def test_who_finds_too_many_waiting_is_told_so(
    app: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "WAITING", 0)
    answer = app.get("/search", params={"q": "dog"})
    assert answer.status_code == 503
    assert "ask again" in answer.text


HANGING = [r"(?#[)(\w|\w|\w+)+!(?#])", "(?x)(a+)+b # )", "(a+)+!", "([a-z]+)*!", ".*" * 60 + "!"]


@pytest.mark.parametrize("address", ["/search", "/api/search", "/api/search/forms", "/api/count",
                                  "/api/search/groups", "/search/export.csv"])  # fmt: skip
@pytest.mark.parametrize("pattern", HANGING)
def test_no_link_hangs_the_app(app: TestClient, address: str, pattern: str) -> None:
    """`tests/index/test_regexes.py` has more of them, and a process that can be killed."""
    asked = "phrase" if address == "/api/count" else "q"
    answer = app.get(address, params={"index": "made", asked: f'"{pattern}"'})
    assert answer.status_code == 200


def test_expressions_that_would_take_long_are_refused_in_sum(app: TestClient) -> None:
    def status(q: str) -> int:
        return app.get("/api/search", params={"index": "made", "q": q}).status_code

    assert status(r'"\w{1,200}!"') == 200
    assert status(" ".join([r'"\w{1,200}!"'] * 3)) == 400
    said = app.get("/search", params={"q": r'[lower="(a{1,50}b?){1,9}|x{99}"]'})
    assert said.status_code == 400
    assert "at most 500 letters here" in said.text
    assert status('"' + "|".join(["antidisestablishmentarianism"] * 50) + '"') == 200  # looked up


# -- pages -----------------------------------------------------------------------------------


def test_the_page_shows_lines_that_lead_to_their_documents(app: TestClient) -> None:
    page = app.get("/search", params={"q": "old cat"})
    assert "1 match in 1 document" in page.text
    assert '<mark class="hit">old cat</mark>' in page.text
    (address,) = re.findall(r'href="(/document/[^"]*)"', page.text)
    document = app.get(address.replace("&amp;", "&").partition("#")[0])
    assert 'tabindex="-1">old cat</mark>' in document.text


@pytest.mark.parametrize("view", ["lines", "forms", "by"])
@pytest.mark.parametrize("q", ["dog", "[]", '"x.*"'])
def test_no_text_acts_on_a_page(app: TestClient, view: str, q: str) -> None:
    page = app.get("/search", params={"q": q, "view": view, "context": 500})
    assert page.status_code == 200
    harmless(page.text)
    assert len(page.text) < 200_000


@pytest.mark.parametrize(
    "q", ['"><script>alert(1)</script>', "[<script>", '"\x1b[31m', "\u202e[pos", '"' + "(" * 60]
)
def test_what_was_typed_cannot_act_on_the_page_either(app: TestClient, q: str) -> None:
    page = app.get("/search", params={"q": q})
    assert page.status_code == 400
    harmless(page.text)


def test_a_mistake_is_shown_at_its_place(app: TestClient) -> None:
    page = app.get("/search", params={"q": '"a" [pos=JJ]'})
    assert page.status_code == 400
    assert 'role="alert"' in page.text
    assert '&#34;a&#34; [pos=<mark class="here">J</mark>J]' in page.text
    assert "at character 10" in page.text


def test_a_layer_or_an_index_that_is_not_there_is_named(app: TestClient) -> None:
    assert "known: lemma" in app.get("/search", params={"q": "a", "layer": "tags"}).text
    missing = app.get("/api/search", params={"index": "other", "q": "a"})
    assert missing.status_code == 404
    assert "unknown index &#39;other&#39;" in app.get("/search", params={"index": "other"}).text


def test_examples_find_something_here(app: TestClient, ask: Asking) -> None:
    page = app.get("/search").text
    queries = re.findall(r'<li><a href="(/search\?[^"]*)"', page)
    assert queries
    for address in queries:
        assert "Nothing matches" not in app.get(address.replace("&amp;", "&")).text


def test_a_link_holds_all_settings(app: TestClient) -> None:
    given = {"q": '"the" []', "layer": "lower", "sort": "right", "context": 20}
    page = app.get("/search", params=given).text
    assert re.search(r'<option value="right" selected>', page)
    assert 'value="20"' in page
    forms_link = next(a for a in re.findall(r'href="([^"]*)"', page) if "view=forms" in a)
    for part in ("sort=right", "context=20", "layer=lower"):
        assert part in forms_link


def test_frequent_ngrams_lead_to_their_places(app: TestClient) -> None:
    page = app.get("/search/top", params={"layer": "pos", "n": 3}).text
    first = re.findall(r'<td><a href="(/search\?[^"]*)"', page)[0].replace("&amp;", "&")
    count = int(re.findall(r'</a></td><td class="number">(\d+)', page)[0])
    assert f"{count} matches" in app.get(first).text


def test_without_an_index_the_page_says_how_to_make_one(tmp_path: Path) -> None:
    page = client(tmp_path / "store").get("/search")
    assert page.status_code == 200
    assert "rote index build" in page.text


# -- export ----------------------------------------------------------------------------------


def test_the_export_holds_every_match(app: TestClient, ask: Asking) -> None:
    lines = ask("search", q="dog", per=1000)["lines"]
    given = {"index": "made", "q": "dog"}
    rows = app.get("/search/export.jsonl", params=given)
    assert [json.loads(line) for line in rows.text.splitlines()] == lines
    table = app.get("/search/export.csv", params=given)
    assert table.headers["content-type"].startswith("text/csv")
    read = list(csv.DictReader(io.StringIO(table.text, newline="")))
    assert [row["match"] for row in read] == [line["match"] for line in lines]
    assert [row["start"] for row in read] == [str(line["start"]) for line in lines]


def test_an_export_of_a_mistake_is_an_error_and_no_file(app: TestClient) -> None:
    answer = app.get("/search/export.csv", params={"index": "made", "q": '"a'})
    assert answer.status_code == 400
    assert "closing quote" in answer.text
