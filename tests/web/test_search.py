from __future__ import annotations

import csv
import html
import io
import json
import re
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from rote.index.factory import open_index
from rote.web import app as answers
from rote.web import app as threads
from rote.web import search_views as asked
from rote.web.search_views import SearchQuestion, count_needed, find_page, page_matches
from rote.web.workspace import OpenIndex
from tests.indexes import index_texts
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


@pytest.mark.parametrize(
    "sort", ["place", "left", "left2", "right", "right3", "document", "form", "random"]
)
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
        "1903",
        "1905",
        "1916",
    ]
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


def test_answers_have_the_shape_that_openapi_names(app: TestClient, ask: Asking) -> None:
    answers.SearchAnswer(**ask("search", q="dog"))
    answers.FormsAnswer(**ask("search/forms", q="dog"))
    answers.GroupsAnswer(**ask("search/groups", q="dog", by="source"))
    answers.CountAnswer(**ask("count", phrase="dog"))
    answers.TopAnswer(**ask("top"))
    for row in app.get("/api/indexes").json():
        answers.IndexEntry(**row)


# -- limits ----------------------------------------------------------------------------------


def whole_index() -> OpenIndex:
    texts = [" ".join("abcde"[i % 5] for i in range(n)) for n in range(1, 30)]
    return OpenIndex(index_texts(texts), NO_MANIFEST)


def test_only_the_first_matches_are_put_in_order_and_it_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(asked, "MAX_MATCHES", 20)
    opened = whole_index()
    question = SearchQuestion("[]", sort="right", per=50)
    found = find_page(opened, question, count_needed(question))
    assert (found.limited, len(found.matches)) == (True, 20)
    assert found.total == opened.index.items_held("lower")
    assert found.documents is None
    assert find_page(opened, SearchQuestion("a"), 20).documents == 29


def test_a_page_takes_no_more_matches_than_it_needs() -> None:
    opened = whole_index()
    question = SearchQuestion("[]", page=2, per=10)
    found = find_page(opened, question, count_needed(question))
    assert len(found.matches) == 20
    assert found.total == opened.index.items_held("lower")
    assert page_matches(found, question) == opened.index.search("[]", 20)[10:]


def test_an_answer_that_takes_too_long_is_a_sentence(
    app: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "ANSWER_SECONDS", 0.0)
    answer = app.get("/api/search", params={"index": "made", "q": "dog"})
    assert answer.status_code == 503
    assert "reduce the request (a narrower query" in answer.json()["error"]["message"]


def test_who_finds_too_many_waiting_is_told_so(
    app: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "MAX_QUEUED", 0)
    answer = app.get("/search", params={"q": "dog"})
    assert answer.status_code == 503
    assert "try again in a minute" in answer.text


HANGING = [r"(\w|\w|\w+)+!", "(?x)(a+)+b # )", "(a+)+!", "([a-z]+)*!", ".*" * 60 + "!"]


@pytest.mark.parametrize(
    "address",
    [
        "/search",
        "/api/search",
        "/api/search/forms",
        "/api/count",
        "/api/search/groups",
        "/search/export.csv",
    ],
)
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


@pytest.mark.parametrize("view", ["lines", "forms", "by", "before", "after", "collocates"])
@pytest.mark.parametrize("q", ["dog", "[]", '"x.*"', "<script>alert(1)</script> dog"])
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


@pytest.mark.parametrize("layers", [("lower", "pos"), ("lower",)])
def test_the_first_page_suggests_phrases_of_these_texts(
    tmp_path: Path, layers: tuple[str, ...]
) -> None:
    small = client(tmp_path / "store", indexes={"made": made_index(tmp_path / "i", layers=layers)})
    page = small.get("/").text
    chips = [
        (html.unescape(title), html.unescape(address))
        for address, title in re.findall(r'<a class="chip" href="([^"]*)">([^<]*)</a>', page)
    ]
    phrases = [title for title, address in chips if "&q=" in address and "“" not in title]
    assert "red gate" in phrases
    assert all(re.fullmatch(r"[a-z]+ [a-z]+", phrase) for phrase in phrases)
    for _, address in chips:
        found = small.get(address)
        assert found.status_code == 200
        assert "Nothing matches" not in found.text


def test_without_an_index_the_page_says_how_to_make_one(tmp_path: Path) -> None:
    page = client(tmp_path / "store").get("/search")
    assert page.status_code == 200
    assert "rote index build" in page.text


# -- what people look for --------------------------------------------------------------------


def shown_lines(page: str) -> list[str]:
    """The lines of a page as they are read, from end to end."""
    rows = re.findall(r'<tr role="row" id="m\d+">(.*?)</tr>', page)
    return [" ".join(re.sub(r"<[^>]+>", " ", row).split()) for row in rows]


def followed(app: TestClient, address: str) -> str:
    page = app.get(address.replace("&amp;", "&").partition("#")[0])
    assert page.status_code == 200, page.text
    return page.text


def test_lines_are_sorted_by_the_second_and_the_third_word(app: TestClient, ask: Asking) -> None:
    def words(line: dict[str, Any], side: str) -> list[str]:
        found = re.findall(r"\w+", line[side].lower())
        return found if side == "after" else found[::-1]

    for sort, side, nth in (("left2", "before", 2), ("right3", "after", 3)):
        given = {"q": "the", "sort": sort, "where": "author=Ada|Bo"}
        lines = ask("search", **given, per=1000, context=500)["lines"]
        keys = [words(line, side)[nth - 1 : 10] for line in lines]
        assert keys == sorted(keys)
        assert keys[-1] > [""]
        page = app.get("/search", params={"q": "the", "sort": sort}).text
        assert f'<option value="{sort}" selected>' in page


@pytest.mark.parametrize(
    ("where", "names"),
    [
        (["author=Ada"], {"one", "three"}),
        (
            ["author!=Ada"],
            {"two", '<script>alert("id")</script>', "../../etc/passwd", "turned\u202e", "long"},
        ),
        (["author=Ada|Bo", "year>=1904"], {"three"}),
        (["document=two"], {"two"}),
    ],
)
def test_only_documents_with_a_field_are_searched(
    ask: Asking, where: list[str], names: set[str]
) -> None:
    found = ask("search", q="dog", where=where, per=1000)
    plain = [place for place in places_of("dog") if place[0] in names]
    assert [(line["document"], line["start"]) for line in found["lines"]] == plain
    assert (found["matches"], found["matched_documents"]) == (len(plain), len(names))


def test_a_filter_that_does_not_see_all_matches_says_so(
    app: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {"q": "gate", "where": "author=Ada"}
    assert "were looked at" not in app.get("/search", params=asked).text
    monkeypatch.setattr("rote.web.search_views.MAX_EXPORTED", 2)
    assert "Of 5 matches in all documents the first" in app.get("/search", params=asked).text
    assert "were looked at" not in app.get("/search", params={"q": "gate"}).text


def test_a_condition_is_filled_in_shown_and_left_out_again(app: TestClient) -> None:
    given = {"q": "gate", "field": "author", "relation": "=", "value": " Ada "}
    answer = app.get("/search", params=given, follow_redirects=False)
    assert answer.status_code == 303
    page = followed(app, answer.headers["location"])
    assert "3 matches in 2 documents" in page
    (without,) = re.findall(r'<a class="chip" href="([^"]*)" aria-label="Leave out', page)
    assert "5 matches in 4 documents" in followed(app, without)
    number = app.get("/search", params={"q": "gate", "where": "year>=old"})
    assert number.status_code == 400
    assert "compares with a number" in number.text
    assert "--where" not in number.text
    missing = app.get("/search", params={"q": "gate", "where": "colour=red"})
    assert "unknown field" in missing.text
    nobody = app.get("/search", params={"q": "gate", "where": "author=Eve"})
    assert "no document of the index matches author=Eve" in nobody.text


def test_authors_are_links_to_their_own_matches(app: TestClient) -> None:
    page = app.get("/search", params={"q": "gate"}).text
    ada = re.findall(r'class="author"><div><a href="([^"]*)"><bdi>Ada', page)
    own = followed(app, ada[0])
    assert "3 matches in 2 documents" in own
    groups = app.get("/search", params={"q": "gate", "view": "by", "by": "author"}).text
    (address,) = re.findall(r'<a href="([^"]*)"><bdi>Bo</bdi>', groups)
    assert "1 match in 1 document" in followed(app, address)


def test_what_follows_and_what_comes_before_are_counted(ask: Asking, app: TestClient) -> None:
    after = ask("search/beside", q="old", per=1000)
    texts = [re.findall(r"\w+|[^\w\s]", text.lower()) for text, _ in TEXTS.values()]
    pairs = Counter(b for words in texts for a, b in pairwise(words) if a == "old")
    assert {row["words"]: row["count"] for row in after["beside"]} == dict(pairs)
    assert sum(row["share"] for row in after["beside"]) == pytest.approx(1)
    before = ask("search/beside", q="dog", side="before", span=2, where="author=Ada|Bo")["beside"]
    assert {name: before[0][name] for name in ("words", "ends", "count")} == {
        "words": "the old",
        "ends": False,
        "count": 2,
    }
    ends = [row for row in ask("search/beside", q="dog", per=1000)["beside"] if row["ends"]]
    assert [(row["words"], row["count"]) for row in ends] == [("", 3)]
    page = app.get("/search", params={"q": "old", "view": "after"}).text
    (address,) = re.findall(r'<a href="([^"]*)"><bdi>dog</bdi>', page)
    assert f"{pairs['dog']} matches" in followed(app, address)


def test_collocates_lead_to_where_both_are(app: TestClient, ask: Asking) -> None:
    rows = ask("search/collocates", q="old", span=2)["collocates"]
    dog = next(row for row in rows if row["word"] == "dog")
    assert dog["near"] == 3
    page = app.get("/search", params={"q": "old", "view": "collocates", "span": 2}).text
    (address,) = re.findall(r'<a href="([^"]*)"><bdi>dog</bdi>', page)
    assert all("old" in line and "dog" in line for line in shown_lines(followed(app, address)))


def test_what_is_lacking_is_said_where_nothing_matches(app: TestClient) -> None:
    page = app.get("/search", params={"q": "the old dog flew home"}).text
    assert re.search(r"does not occur at all: <b><bdi>flew</bdi></b>", page)
    (address,) = re.findall(r'longest part that occurs: <a href="([^"]*)"><bdi>the old dog<', page)
    assert "2 matches" in followed(app, address)
    known = app.get("/search", params={"q": "dog gate"}).text
    assert "not occur at all" not in known
    assert re.findall(r'"><bdi>(dog|gate)</bdi></a> <span class="quiet">\d+ times', known) == [
        "dog",
        "gate",
    ]
    query = app.get("/search", params={"q": '[pos="JJ"] "dog" "flew"'}).text
    assert "[lower=&#34;flew&#34;]" in query
    assert "[pos=&#34;JJ&#34;] [lower=&#34;dog&#34;]" in query
    chosen = app.get("/search", params={"q": "cat", "where": "author=Bo"}).text
    assert "2 matches" in chosen
    nowhere = app.get("/search", params={"q": "shut", "where": "author=Bo"}).text
    assert "Nothing matches in these documents" in nowhere
    assert "In all others: 1" in nowhere


def test_a_document_leads_from_match_to_match_and_back_to_the_line(app: TestClient) -> None:
    page = app.get("/search", params={"q": "the", "sort": "right2"}).text
    rows = re.findall(r'<tr role="row" id="(m\d+)">(.*?)</tr>', page)
    line, row = next((name, row) for name, row in rows if ">one</bdi>" in row)
    (address,) = set(re.findall(r'href="(/document/[^"]*)"', row))
    seen, places = set(), len([1 for name, _ in places_of("the") if name == "one"])
    document = followed(app, address)
    (back,) = re.findall(r'<a href="([^"]*)">← all matches of', document)
    assert back.endswith(f"#{line}")
    assert shown_lines(followed(app, back)) == shown_lines(page)
    while True:
        number, count = re.findall(r"match (\d+) of (\d+) in this document", document)[0]
        seen.add(number)
        assert int(count) == places
        assert document.count('<mark class="hit"') == 1
        assert document.count('<mark class="also"') == places - 1
        before = re.findall(r'rel="prev" href="([^"]*)">previous match', document)
        if not before:
            break
        document = followed(app, before[0])
    while after := re.findall(r'rel="next" href="([^"]*)">next match', document):
        document = followed(app, after[0])
        seen |= set(re.findall(r"match (\d+) of", document))
    assert seen == {str(n) for n in range(1, places + 1)}


def test_a_group_by_document_opens_at_its_first_match(app: TestClient) -> None:
    page = app.get("/search", params={"q": "gate", "view": "by"}).text
    (address,) = re.findall(r'<a href="([^"]*)"><bdi>three</bdi>', page)
    assert "match 1 of 2 in this document" in followed(app, address)


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


@pytest.mark.parametrize(
    "given",
    [{"sort": "right2"}, {"sort": "random", "seed": "3"}, {"where": "author=Ada", "sort": "left"}],
)
def test_a_download_is_what_is_shown_in_that_order(
    app: TestClient, ask: Asking, given: dict[str, str]
) -> None:
    lines = ask("search", q="the", per=1000, **given)["lines"]
    page = app.get("/search", params={"q": "the", **given}).text
    (address,) = re.findall(r'href="(/search/export.jsonl[^"]*)"', page)
    rows = [json.loads(line) for line in followed(app, address).splitlines()]
    assert rows == lines


@pytest.mark.parametrize(
    ("view", "first"),
    [
        ("forms", "form"),
        ("by", "group"),
        ("after", "words"),
        ("before", "words"),
        ("collocates", "word"),
    ],
)
def test_every_view_can_be_downloaded(app: TestClient, view: str, first: str) -> None:
    page = app.get("/search", params={"q": '"the" []', "view": view, "per": 2}).text
    (address,) = re.findall(r'href="(/search/export.csv[^"]*)"', page)
    rows = list(csv.DictReader(io.StringIO(followed(app, address), newline="")))
    shown = re.findall(r"<td>(?:<a [^>]*>)?<bdi>([^<]*)</bdi>", page)
    assert [row[first] for row in rows][: len(shown)] == [html.unescape(one) for one in shown]
    assert "link" not in rows[0]
