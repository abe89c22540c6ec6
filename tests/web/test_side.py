"""Answers to one prompt side by side, shared runs marked, and the way from text to text."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from itertools import combinations
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from rote.core.document import Document
from rote.core.progress import Silent
from rote.web import job_worker
from rote.web.compare_form import CompareForm
from rote.web.database import prepare_store
from rote.web.routes.result import (
    SetAnswer,
    answer_columns,
    document_prompt,
    find_sets,
    shared_runs,
)
from rote.web.workspace import Workspace
from tests.kit import write_jsonl
from tests.web.asked import harmless, made_index
from tests.web.conftest import Calling

ANSWERS = {
    ("human", "p1"): "The old dog slept by the fire all night. Nobody woke it.",
    ("gpt", "p1"): "She saw that the old dog slept by the fire, and she left.",
    ("claude", "p1"): "Rain. Nobody came. Then she saw that the old dog was gone.",
    ("human", "p2"): "A ship came in.",
    ("gpt", "p2"): "A ship came in at dawn <script>alert('text')</script>.",
    ("human", "p3"): "Alone.",
}


@pytest.fixture
def place(opened: Workspace, calling: Calling) -> tuple[TestClient, str]:
    """An app and a result on these answers."""
    records = [
        {
            "id": f"{source}/{key}",
            "source": source,
            "doc_id": key,
            "prompt": f"Tell {key}.",
            "text": t,
        }
        for (source, key), t in ANSWERS.items()
    ]
    write_jsonl(opened.files["texts.jsonl"], records)
    prepare_store(opened.store)
    settings = {"by": ("source",), "reference": "human", "permutations": 0}
    form = CompareForm(("texts.jsonl",), ("lexical",), settings=settings)
    asked = json.loads(json.dumps(asdict(form)))
    return calling(opened), job_worker.run_job(form.kind, asked, opened, Silent())


def marked(page: str) -> list[str]:
    return re.findall(r'<mark class="shared"[^>]*>([^<]*)</mark>', page)


def test_answers_are_side_by_side_with_what_they_share_marked(
    place: tuple[TestClient, str],
) -> None:
    client, result = place
    side = result.replace("/result/", "/side/")
    assert side in client.get(result).text
    page = client.get(f"{side}").text
    assert "Tell p1." in page
    assert "1 of 2" in page, "what one source alone answers is no set"
    assert page.index("<bdi>human</bdi>") < page.index("<bdi>gpt</bdi>"), "the reference first"
    assert marked(page) == [
        "The old dog slept by the fire",
        "the old dog slept by the fire",
        "she saw that the old dog",
    ]
    assert 'title="also in gpt"' in page
    following = client.get(
        re.findall(r'href="([^"]*)" rel="next"', page)[0].replace("&amp;", "&")
    ).text
    assert "Tell p2." in following
    assert 'rel="prev"' in following
    assert 'rel="next"' not in following
    harmless(following)
    assert marked(client.get(f"{side}?key=p2&n=3").text) == ["A ship came in"] * 2
    assert client.get(f"{side}?key=none").status_code == 404
    assert client.get(f"{side}?n=1").status_code == 400


def test_a_text_leads_to_the_next_one_in_the_order_of_its_list(
    place: tuple[TestClient, str],
) -> None:
    client, result = place
    listed = client.get(f"{result}/texts?place=0&sort=words&down=true").text
    assert "Words" in listed
    hrefs = [h.replace("&amp;", "&") for h in re.findall(rf'href="({result}/text\?[^"]*)"', listed)]
    names = [re.search(r"text=([^&]*)", h)[1] for h in hrefs]  # type: ignore[index]
    assert len(hrefs) == 6
    page = client.get(hrefs[1]).text
    for rel, other in (("prev", names[0]), ("next", names[2])):
        (found,) = re.findall(rf'href="([^"]*)" rel="{rel}"', page)
        assert f"text={other}&" in found.replace("&amp;", "&")
    assert 'rel="prev"' not in client.get(hrefs[0]).text
    assert 'rel="next"' not in client.get(hrefs[5]).text
    alone = client.get(f"{result}/text?source=gpt&text=gpt/p1").text
    assert "text=gpt%2Fp2" in re.findall(r'href="([^"]*)" rel="next"', alone)[0]
    assert "Side by side with 2 other answers" in alone
    assert "Tell p1." in alone
    assert "type-token ratio" in alone
    assert ">ttr<" not in alone
    assert ">hdd<" not in alone
    gone = client.get(f"{result}/text?source=gpt&text=gpt/p1&place=0&at=5").text
    assert 'rel="next"' not in gone, "another text has its place in that list"


def test_a_text_can_be_traced_where_there_is_an_index(
    place: tuple[TestClient, str], opened: Workspace, tmp_path: Path, calling: Calling
) -> None:
    client, result = place
    side = result.replace("/result/", "/side/")
    assert "build an index" in client.get(f"{side}").text
    made = {name: made_index(tmp_path / name, layers=("lower",)) for name in ("one", "two")}
    both = calling(Workspace(made, opened.files, opened.store))
    page = both.get(f"{side}").text
    assert page.count("Trace this") == 3
    assert page.count('<option value="two">') == 3
    assert both.get(f"{result}/text?source=gpt&text=gpt/p1").text.count("Trace this") == 1


def test_runs_are_all_that_two_texts_share() -> None:
    """Against a plain search for every run of every two texts."""
    texts = [*ANSWERS.values(), "the old dog the old dog slept", "dog slept by the", ""]
    for least in (2, 3, 5):
        found = shared_runs(texts, least)
        words = [re.findall(r"\w+", text.lower()) for text in texts]
        for place, marks in enumerate(found):
            covered = set()
            for run, mark in marks:
                assert re.findall(r"\w+", texts[place][mark.start : mark.end].lower()) == list(run)
                holders = {
                    other
                    for other, held in enumerate(words)
                    if other != place
                    and any(tuple(held[i : i + len(run)]) == run for i in range(len(held)))
                }
                assert {one["place"] for one in mark.sources} == holders
                assert holders
                covered |= set(range(mark.start, mark.end))
            own = words[place]
            longest = max(
                (
                    end - start
                    for start, end in combinations(range(len(own) + 1), 2)
                    if end - start >= least
                    and any(
                        own[start:end] == held[i : i + end - start]
                        for other, held in enumerate(words)
                        if other != place
                        for i in range(len(held))
                    )
                ),
                default=0,
            )
            assert max((len(run) for run, _ in marks), default=0) == longest


def test_sets_are_by_doc_id_or_by_prompt(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_jsonl(tmp_path / f"{name}.jsonl", [{"text": name, "question": "Why?"}])
    given = {"a": tmp_path / "a.jsonl", "b": tmp_path / "b.jsonl"}
    sets = find_sets(given, ())
    assert sets.field == "question"
    assert [(one.source, one.file) for one in sets.answers["Why?"]] == [("a", "a"), ("b", "b")]
    assert document_prompt({"instruction": "Do.", "text": "x"}) == "Do."


def test_very_long_answers_that_repeat_are_cut_and_no_trouble() -> None:
    both = [Document("1", "word " * 30_000), Document("2", "a word " * 30_000)]
    made, runs = answer_columns([SetAnswer(one.id, one.id, "") for one in both], both, 5)
    assert all(one["cut"] for one in made)
    assert runs == []
    made, runs = answer_columns(
        [SetAnswer("a", "1", ""), SetAnswer("b", "2", "")], [both[0]] * 2, 5
    )
    assert runs[0]["words"] == 12_000
    assert made[0]["shared"] == 12_000
