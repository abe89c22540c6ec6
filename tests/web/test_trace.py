from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from rote.core.document import Document
from rote.measure.originality import Fragment
from rote.report.texts.trace import UNLIKELY, bits_class
from rote.web import files as texts
from rote.web.routes.trace import FRAGMENT_KINDS, TraceAnswer, fragment_paragraphs, list_cited
from tests.web.asked import ESCAPE, NUL, OVERRIDE, client, harmless, made_index

OLD = "The quick fox jumped over nine lazy dogs. Seven sailors sang loudly near Dover harbour."
NEW = "The quick fox jumped over nine lazy dogs. Purple lamps hummed quietly upstairs yesterday."

SHARED = "Plump robins nested under grey slate roofs."


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = [
        Document("first", OLD, {"author": "Ada"}),
        Document(
            "second", "Seven sailors sang loudly again. The quick fox slept.", {"author": "Bo"}
        ),
    ]
    found += [Document(author, SHARED, {"author": author}) for author in ("Cy", "Di")]
    return made_index(tmp_path_factory.mktemp("trace") / "idx", found)


@pytest.fixture(scope="module")
def app(path: Path, tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    return client(tmp_path_factory.mktemp("store"), indexes={"made": path})


def pasted(app: TestClient, text: str, **given: Any) -> str:
    answer = app.post(
        "/trace", data={"text": text, "index": "made", **given}, follow_redirects=False
    )
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])


# -- pages -----------------------------------------------------------------------------------


def test_a_pasted_text_has_a_page_that_can_be_sent(app: TestClient) -> None:
    address = pasted(app, NEW, min_words="8")
    assert "min_words=8" in address
    for _ in range(2):
        page = app.get(address)
        assert page.status_code == 200
        assert "1 match" in page.text
        assert "Purple lamps" in page.text
    assert pasted(app, NEW) == pasted(app, NEW, min_words="5")


def test_a_sample_text_is_offered_and_has_a_match(app: TestClient) -> None:
    (place,) = re.findall(r'href="(/trace\?sample=true[^"]*)"', app.get("/trace").text)
    page = app.get(place.replace("&amp;", "&")).text
    (text,) = re.findall(r"<textarea[^>]*>([^<]*)</textarea>", page)
    assert OLD in text
    found = app.get(pasted(app, text)).text
    assert "15 words" in found or "1 match" in found
    assert "purple tractors" in found


def test_a_text_too_short_for_a_creativity_index_says_so(app: TestClient) -> None:
    for words, known in ((12, False), (23, False), (24, True)):
        page = app.get(pasted(app, " ".join(f"zz{n}" for n in range(words)))).text
        assert ("too short: a text needs 24 words to have one" in page) is not known
        assert ("<dd>8.00</dd>" in page) is known
    answer = app.post("/api/trace", json={"index": "made", "text": "one two three"})
    assert answer.json()["creativity"] is None


def test_the_colour_of_a_span_says_how_unlikely_it_is(app: TestClient) -> None:
    for address in (pasted(app, NEW), pasted(app, NEW).replace("?", "/page?")):
        page = app.get(address).text
        (key,) = re.findall(r'<p class="key quiet">.*?</p>', page, re.S)
        shown = re.findall(r'<span class="lane (?:match )?(u\d)">([^<]*)</span>', key)
        assert shown == list(UNLIKELY)
        bits = [float(one) for one in re.findall(r"(\d+) bits unlikely", page)]
        assert set(re.findall(r'class="lane [^"]*?\b(u\d) [^"]*s\d+"', page)) == {
            bits_class(one) for one in bits
        }


SHORT_AND_LONG = (
    "Seven sailors sang loudly again. Nobody heard. The quick fox jumped over nine lazy dogs."
)


def test_the_page_opens_on_the_longest_matches_from_five_words_on(app: TestClient) -> None:
    page = app.get(pasted(app, SHORT_AND_LONG)).text
    headings = re.findall(r"<h3>(\d+): (\d+) words, (\w+)</h3>", page)
    assert [int(words) for _, words, _ in headings][:2] == [9, 6]
    assert [int(number) for number, _, _ in headings] == list(range(1, len(headings) + 1))
    assert re.search(r'aria-current="page">Longest matches', page)
    assert ">9 words</a></dd>" in page
    longer = app.get(pasted(app, SHORT_AND_LONG, min_words="8")).text
    assert "6 words, verbatim" not in longer
    assert re.search(r'name="min_words"[^>]*value="8"', longer)


def test_sentences_are_divided_by_what_they_hold(app: TestClient) -> None:
    """Each sentence counts once, so what holds both is no contradiction."""
    both = "The quick fox jumped over nine purple lamps upstairs."
    page = app.get(pasted(app, f"{NEW} {both} Yes.") + "&view=fragments").text
    shown = dict(re.findall(r"<div><dt>([^<]*)</dt><dd>(\d+)</dd>", page))
    assert shown == {
        "something new, nothing to cite": "1",
        "something new and something to cite": "1",
        "something to cite, nothing new": "1",
        "no fragment at all": "1",
    }
    assert "2 of 4 sentences need a citation" in page
    assert "would be flagged by chance in a text of this length" in page


def test_what_is_said_of_a_fragment_is_what_is_marked(app: TestClient) -> None:
    page = app.get(pasted(app, "Seven sailors sang loudly again. I saw them.") + "&view=fragments")
    assert "pronouns as well" in page.text
    held = app.post("/api/trace", json={"index": "made", "text": "I saw them."}).json()
    assert [one["kind"] for one in held["fragments"]] == ["original"] * 2  # I saw, saw them


def test_the_matches_are_saved_as_a_page_of_their_own(app: TestClient) -> None:
    address = pasted(app, NEW, kinds="verbatim")
    page = app.get(address).text
    (whole,) = re.findall(r'<a href="([^"]*)" download>Save as a page', page)
    saved = app.get(whole.replace("&amp;", "&"))
    assert saved.headers["content-disposition"] == 'attachment; filename="trace.html"'
    assert "Match 1: 9 words, verbatim" in saved.text
    assert "quick fox jumped" in saved.text
    assert 'http-equiv="Content-Security-Policy"' in saved.text


def test_what_is_to_be_cited_leads_to_its_document(app: TestClient) -> None:
    page = app.get(pasted(app, NEW) + "&view=fragments").text
    assert "quick fox jumped over nine lazy dogs" in page
    address = re.findall(r'<p class="whose"><a href="(/document/[^"]*)"', page)[0]
    document = app.get(address.replace("&amp;", "&").partition("#")[0])
    assert "fox jumped over nine lazy dogs</mark>" in document.text


def test_the_page_offers_the_settings_that_it_was_made_with(app: TestClient) -> None:
    page = app.get(pasted(app, NEW, min_words="6", kinds=["verbatim", "gapped"], relax="2")).text
    assert re.search(r'name="min_words"[^>]*value="6"', page)
    assert re.search(r'name="relax"[^>]*value="2"', page)
    checked = re.findall(r'name="kinds" value="(\w+)" checked', page)
    assert checked == ["verbatim", "gapped"]


HARM = (
    f"<script>alert('text')</script> the quick fox {ESCAPE}[31m {NUL} {OVERRIDE}fox jumped. "
    + "y" * 100_000
)


@pytest.mark.parametrize("view", ["fragments", "matches"])
def test_no_text_acts_on_the_page(app: TestClient, view: str) -> None:
    page = app.get(pasted(app, HARM) + f"&view={view}")
    assert page.status_code == 200
    harmless(page.text)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"text": "  "}, "there is no text"),
        ({"text": "x " * texts.MAX_TEXT}, "at most 200,000"),
        ({"text": "a fox", "min_words": "0"}, "min-words must be at least 1"),
        ({"text": "a fox", "min_words": "many"}, "min_words must be a whole number"),
        ({"text": "a fox", "kinds": "literal"}, "unknown kind of match"),
        ({"text": "a fox", "limit": "0"}, "limit is at most"),
    ],
)
def test_what_cannot_be_traced_is_said_and_the_form_keeps_the_text(
    app: TestClient, given: dict[str, str], says: str
) -> None:
    page = app.post("/trace", data={"index": "made", **given})
    assert page.status_code == 400
    assert says in page.text
    assert given["text"][:100] in page.text


def test_without_an_index_the_form_says_how_to_make_one(tmp_path: Path) -> None:
    assert "rote index build" in client(tmp_path / "store").get("/trace").text


@pytest.mark.parametrize("identity", ["0" * 32, "../../etc/passwd", "..%2F..%2Fsecret", "x"])
def test_only_texts_that_were_pasted_are_read(app: TestClient, identity: str) -> None:
    page = app.get(f"/trace/{identity}", params={"index": "made"})
    assert page.status_code in (400, 404)
    assert "passwd:" not in page.text


# -- API -------------------------------------------------------------------------------------


def test_the_api_gives_verdicts_fragments_and_matches(app: TestClient) -> None:
    found = app.post("/api/trace", json={"index": "made", "text": NEW}).json()
    TraceAnswer(**found)
    first, second = found["sentences"]
    assert (first["fails"], first["original"]) == (True, False)
    assert (second["fails"], second["original"]) == (False, True)
    assert found["words_in_text"] == 16
    assert found["covered"] == 9
    kinds = {one["kind"]: NEW[one["start"] : one["end"]] for one in found["fragments"]}
    assert kinds["cited"] == "quick fox jumped over nine lazy dogs"
    assert kinds["common"] == "quick fox"
    again = app.get(f"/api/trace/{found['id']}", params={"index": "made"}).json()
    assert again == found


def test_a_sentence_of_many_sources_is_common_unless_relaxed(app: TestClient) -> None:
    strict = app.post("/api/trace", json={"index": "made", "text": SHARED}).json()
    relaxed = app.post("/api/trace", json={"index": "made", "text": SHARED, "relax": 2}).json()
    assert not strict["sentences"][0]["fails"]
    assert not strict["sentences"][0]["original"]
    assert relaxed["sentences"][0]["fails"]


@pytest.mark.parametrize(
    "question",
    [
        {"text": "a"},
        {"index": "made"},
        {"index": "other", "text": "a"},
        {"index": "made", "text": "a", "kinds": ["x"]},
        {"index": "made", "text": "a", "relax": 0},
    ],
)
def test_a_question_that_lacks_something_is_an_error(
    app: TestClient, question: dict[str, Any]
) -> None:
    answer = app.post("/api/trace", json=question)
    assert answer.status_code in (400, 404, 422)
    assert answer.json()["error"]["message"]


# -- texts that are kept ---------------------------------------------------------------------


def test_the_oldest_texts_go_when_there_are_too_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts, "MAX_STORED", 3)
    kept = [texts.store_text(tmp_path, f"text {i}") for i in range(5)]
    left = [identity for identity in kept if _is_kept(tmp_path, identity)]
    assert len(left) == 3
    assert kept[-1] in left


def _is_kept(store: Path, identity: str) -> bool:
    return (store / "traced" / f"{identity}.txt").exists()


# -- fragments ----------------------------------------------------------------------------------


@given(
    st.text("ab \n", min_size=1, max_size=60),
    st.lists(
        st.tuples(st.sampled_from(FRAGMENT_KINDS), st.integers(0, 59), st.integers(1, 20)),
        max_size=8,
    ),
)
def test_runs_are_the_text_and_every_character_has_its_kinds(
    text: str, spans: list[tuple[str, int, int]]
) -> None:
    chosen = {
        (kind, start): Fragment(kind, start, min(len(text), start + size), 2)
        for kind, start, size in spans
        if start < len(text)
    }
    fragments = sorted(chosen.values(), key=lambda one: (one.start, one.end))
    paragraphs = fragment_paragraphs(text, fragments)
    shown = "".join(run["text"] for paragraph in paragraphs for run in paragraph)
    blank = re.compile(r"\n[^\S\n]*\n\s*")
    if not blank.search(text):
        assert shown == text
        kinds = [set(run["kinds"]) for p in paragraphs for run in p for _ in run["text"]]
        for place in range(len(text)):
            over = {one.kind for one in fragments if one.start <= place < one.end}
            assert kinds[place] == over
    numbers = [run["number"] for p in paragraphs for run in p if run["number"]]
    assert numbers == sorted(numbers)
    assert set(numbers) <= set(range(1, len(list_cited(fragments)) + 1))
