"""The page Compare: settings in the address, uploads, work, and the way down to single texts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from fastapi.testclient import TestClient

from rote.core import plugins
from rote.core.errors import OptionError, UnknownName
from rote.core.progress import Silent
from rote.web import form_fields
from rote.web import job_worker as work
from rote.web.app import make_app, start_first_job
from rote.web.compare_form import CompareForm, offered_measures
from rote.web.database import prepare_store
from rote.web.form_fields import form_from_json, form_to_json
from rote.web.history import History
from rote.web.workspace import Workspace
from tests.kit import ended_job, write_jsonl
from tests.web.conftest import HERE, Calling
from tests.web.test_history import with_texts


def test_an_address_says_all_settings() -> None:
    comparison = CompareForm(
        files=("a b.jsonl", "ü&x.csv"),
        measures=("lexical", "templates"),
        corpus="index:kjv",
        settings={"by": ("task", "source"), "reference": "human", "seed": 3, "matched": False},
        measure_options={"lexical": {"window": 99}, "templates": {"lengths": (4, 5)}},
    )
    query = parse_qsl(urlsplit(comparison.address).query, keep_blank_values=True)
    assert CompareForm.read(query) == comparison
    assert (
        form_from_json(CompareForm, json.loads(json.dumps(form_to_json(comparison)))) == comparison
    )


def test_fields_at_their_defaults_do_not_count() -> None:
    pairs = [
        ("file", "a"),
        ("measure", "lexical"),
        ("lexical.window", "50"),
        ("seed", "0"),
        ("by", ""),
    ]
    assert CompareForm.read(pairs) == CompareForm(("a",), ("lexical",))


@pytest.mark.parametrize(
    "pair", [("seed", "x"), ("matched", "maybe"), ("interval", "much"), ("lexical.window", "1.5")]
)
def test_a_wrong_value_is_named(pair: tuple[str, str]) -> None:
    with pytest.raises(OptionError, match=pair[0].split(".")[-1]):
        CompareForm.read([("measure", "lexical"), pair])


@pytest.mark.parametrize("name", offered_measures())
def test_every_measure_has_a_form_that_gives_its_defaults(name: str) -> None:
    options = plugins.load("measure", name).METRIC.options
    fields = form_fields.options_fields(options)
    assert all(field.help and field.label for field in fields)
    assert form_fields.read_values(fields, {field.name: field.default for field in fields}) == {}


class TestPage:
    def test_the_form_shows_files_fields_and_measures(self, client: TestClient) -> None:
        page = client.get("/compare").text
        assert "texts.jsonl" in page
        assert "<b>Words</b>" in page
        assert 'name="lexical.window"' in page
        assert 'value="human"' in page

    def test_a_link_fills_the_form(self, client: TestClient) -> None:
        address = CompareForm(
            ("texts.jsonl",), ("lexical",), measure_options={"lexical": {"window": 77}}
        ).address
        page = client.get(address).text
        assert 'value="77"' in page
        assert page.count(" checked") == 2

    def test_the_tidy_address_holds_what_differs(self, client: TestClient) -> None:
        form = "file=texts.jsonl&measure=lexical&by=source&seed=0&lexical.window=77&tidy=true"
        place = client.get(f"/compare?{form}").headers["location"]
        assert place == "/compare?file=texts.jsonl&measure=lexical&by=source&lexical.window=77"

    def test_what_is_wrong_is_said_above_the_form(self, client: TestClient) -> None:
        for data, said in (
            ({"measure": "lexical"}, "no file is chosen"),
            ({"file": "texts.jsonl"}, "no measure is chosen"),
            ({"file": "texts.jsonl", "measure": "lexical", "seed": "-1"}, "seed"),
        ):
            response = client.post("/compare", data=data)
            assert response.status_code == 400
            assert said in response.text
            assert 'role="alert"' in response.text

    def test_starting_leads_to_the_job(self, client: TestClient) -> None:
        data = {"file": "texts.jsonl", "measure": ["lexical"], "by": "source"}
        response = client.post("/compare", data=data)
        assert response.status_code == 303
        assert response.headers["location"].startswith("/jobs/")

    def test_the_api_starts_the_same(self, client: TestClient) -> None:
        asked = {"files": ["texts.jsonl"], "measures": ["lexical"], "settings": {"by": "source"}}
        job = client.post("/api/compare", json=asked).json()
        assert job["title"] == "texts.jsonl"
        wrong = {**asked, "options": {"templates": {"n": "4"}}}
        assert client.post("/api/compare", json=wrong).status_code == 400
        assert client.post("/api/compare", json={}).status_code == 400
        assert client.get("/api/measures").json()[0]["options"]

    @pytest.mark.parametrize(
        ("more", "says"),
        [
            ({"settings": {"refrence": "human"}}, "`refrence`; did you mean `reference`?"),
            ({"settings": {"output": "x"}}, "option `output` cannot be set here"),
            ({"settings": {"jobs": 9}}, "option `jobs` cannot be set here: `rote serve --jobs`"),
            ({"options": {"lexical": {"windw": 9}}}, "`windw`; did you mean `window`?"),
            ({"options": {"style": {}}}, "not a measure chosen"),
            ({"setings": {}}, "`setings`; did you mean `settings`?"),
            ({"settings": {"tokenizer": "/etc/x.json"}}, "a place on the machine"),
        ],
    )
    def test_what_the_api_does_not_know_is_refused(
        self, client: TestClient, more: dict[str, Any], says: str
    ) -> None:
        asked = {"files": ["texts.jsonl"], "measures": ["lexical"], **more}
        answer = client.post("/api/compare", json=asked)
        assert answer.status_code == 400
        assert says in answer.json()["error"]["message"]

    def test_every_setting_of_python_is_taken(self, opened: Workspace, tmp_path: Path) -> None:
        more = tmp_path / "more.jsonl"
        ids = [f"{source}-{n}" for source in ("human", "model") for n in range(3)]
        moods = [{"id": id, "mood": "sad" if id.endswith("0") else "glad"} for id in ids]
        write_jsonl(more, moods)
        held = replace(opened, files={**opened.files, "more.jsonl": more})
        settings = {
            "where": ["source=human"],
            "join": "file:more.jsonl",
            "join_on": "id",
            "by": "mood",
            "tokenizer": "whitespace",
            "permutations": 0,
            "matched": False,
        }
        form = CompareForm.of(["texts.jsonl"], ["lexical"], settings, {"lexical": {"window": 4}})
        query = parse_qsl(urlsplit(form.address).query, keep_blank_values=True)
        assert CompareForm.read(query) == form
        assert form.places() == (["texts.jsonl", "more.jsonl"], [])
        form.check(held)
        (result,) = form.perform(held, Silent()).results
        assert {name: one.texts for name, one in result.by_source.items()} == {"sad": 1, "glad": 2}
        assert "tokenizer:whitespace" in str(result.signature)
        page = TestClient(make_app(held), **HERE).get(form.address).text
        assert 'value="source=human"' in page, "the form lost a setting"

    def test_a_field_is_set_side_by_side(self, opened: Workspace) -> None:
        with pytest.raises(UnknownName, match="field of the groups"):
            CompareForm.of(["texts.jsonl"], ["lexical"], {"across": "task"}, {}).check(opened)
        records = [
            {"id": f"{task}{source}{n}", "task": task, "source": source, "text": f"Some text {n}."}
            for task in ("news", "tale")
            for source in ("human", "model")
            for n in range(3)
        ]
        path = write_jsonl(opened.store.parent / "tasks.jsonl", records)
        held = replace(opened, files={"tasks.jsonl": path})
        settings = {"by": "task,source", "across": "task", "permutations": 0}
        form = CompareForm.of(["tasks.jsonl"], ["lexical"], settings, {})
        query = parse_qsl(urlsplit(form.address).query, keep_blank_values=True)
        assert CompareForm.read(query) == form
        study = form.perform(held, Silent())
        prepare_store(held.store)
        address = "/compare/result/" + History(held.store).add(study, title="tasks")
        client = TestClient(make_app(held), **HERE)
        shown = {across: client.get(f"{address}?across={across}") for across in ("", "source")}
        assert 'id="across-headline"' in client.get(address).text
        for across, other in (("", "source by task"), ("source", "task by source")):
            assert f"Headline values: {other}" in shown[across].text
            assert shown[across].text.count('id="across-headline"') == 1
        assert '<option value="source" selected>' in shown["source"].text
        assert client.get(f"{address}?across=colour").status_code in (400, 404)


class TestUploads:
    def test_only_what_was_uploaded_is_chosen_and_its_fields_are_guessed_anew(
        self, client: TestClient, opened: Workspace
    ) -> None:
        records = [
            {"id": str(n), "text": f"Some words here, {n}.", "model": name, "task": "story"}
            for n, name in enumerate(("gpt", "Human"))
        ]
        lines = "".join(json.dumps(record) + "\n" for record in records).encode()
        response = client.post(
            "/uploads",
            files={"upload": ("new texts.jsonl", lines)},
            data={
                "file": "texts.jsonl",
                "measure": "lexical",
                "seed": "4",
                "by": "source",
                "reference": "human",
            },
        )
        place = response.headers["location"]
        chosen = CompareForm.read(parse_qsl(urlsplit(place).query))
        assert [key.split("~")[0] for key in chosen.files] == ["new-texts.jsonl"]
        assert chosen.settings == {"by": ("model",), "reference": "Human", "seed": 4}
        assert chosen.measures == ("lexical",)
        page = client.get(place).text
        assert page.count('name="file"') == 2
        assert "The first 2 texts of" in page
        assert "Some words here, 1." in page
        again = client.post("/api/uploads", files={"upload": ("new texts.jsonl", lines)}).json()
        assert again["files"] == list(chosen.files)
        two = [("upload", ("a.txt", b"Plain.")), ("upload", ("b.txt", b"Also plain."))]
        both = client.post("/uploads", files=two, data={"file": "texts.jsonl", "by": "source"})
        chosen = CompareForm.read(parse_qsl(urlsplit(both.headers["location"]).query))
        assert [key.split("~")[0] for key in chosen.files] == ["a.txt", "b.txt"]
        assert chosen.settings == {}
        assert len(opened.all_files()) == 4

    def test_a_file_that_holds_nothing_is_not_kept(
        self, client: TestClient, opened: Workspace
    ) -> None:
        response = client.post("/uploads", files={"upload": ("empty.jsonl", b"")})
        assert response.status_code == 400
        assert "empty.jsonl: the file is empty" in response.text
        bad = client.post("/api/uploads", files={"upload": ("bad.jsonl", b"{oops\n")})
        assert bad.status_code == 400
        assert "bad.jsonl, line 1" in bad.json()["error"]["message"]
        assert str(opened.store) not in bad.text
        assert list(opened.all_files()) == ["texts.jsonl"]
        assert not list((opened.store / "uploads").glob("**/*.*l"))

    def test_an_upload_can_be_removed(self, client: TestClient, opened: Workspace) -> None:
        (key,) = client.post("/api/uploads", files={"upload": ("b.txt", b"Plain.")}).json()["files"]
        client.post("/uploads/remove", data={"key": key})
        client.post("/uploads/remove", data={"key": "texts.jsonl"})
        assert list(opened.all_files()) == ["texts.jsonl"]


def test_from_texts_to_a_result_and_down_to_one_text(client: TestClient, opened: Workspace) -> None:
    """The work itself, in this process, and every page that shows what came out."""
    prepare_store(opened.store)
    comparison = CompareForm(
        ("texts.jsonl",),
        ("lexical", "templates"),
        settings={"by": ("source",), "reference": "human", "permutations": 9},
        measure_options={"lexical": {"window": 5}},
    )
    place = work.run_job(
        comparison.kind, json.loads(json.dumps(form_to_json(comparison))), opened, Silent()
    )
    page = client.get(place).text
    assert "Summary" in page
    assert comparison.address.replace("&", "&amp;") in page
    assert "window:5" in client.get("/history").text
    texts = client.get(f"{place}/texts?place=0&source=human&sort=mattr&down=true")
    assert texts.status_code == 200
    assert "human-0" in texts.text
    assert "The cat sat there." in texts.text
    assert client.get(f"{place}/texts?place=9").status_code == 400
    text = client.get(f"{place}/text?source=human&text=human-0").text
    assert "human-0" in text
    assert "cat" in text
    lines = client.get(f"{place}/texts/values.csv?place=0").text.splitlines()
    assert lines[0].startswith("source,id,words")
    assert len(lines) == 7
    for name, kind in (
        ("result.json", "application/json"),
        ("values.csv", "text/csv"),
        ("report.html", "text/html"),
    ):
        response = client.get(f"{place}/{name}")
        assert response.headers["content-type"].startswith(kind)
        assert "attachment" in response.headers["content-disposition"]
    assert client.get(f"{place}/passwd").status_code == 404
    assert client.get(f"{place}/text?source=human&text=gone").status_code == 200
    found = client.get(f"/api/results/{place.split('/')[-1]}/texts?place=0&limit=2").json()
    assert (found["total"], len(found["texts"])) == (6, 2)
    assert "The last result" in client.get("/").text


def test_the_text_of_a_file_that_is_not_open_is_not_shown(
    client: TestClient, opened: Workspace, tmp_path: Path
) -> None:
    other = tmp_path / "texts.jsonl"
    other.write_text(json.dumps({"id": "t1", "text": "A secret."}))
    history = History(opened.store)
    for files in ({"texts.jsonl": str(other)}, {}):
        id = history.add([with_texts()], title="x", files=files)
        page = client.get(f"/compare/result/{id}/text?source=human&text=t1").text
        assert "secret" not in page
        assert "not" in page


def test_the_whole_way_in_another_process(opened: Workspace) -> None:
    """As the browser goes it, with the real work."""
    app = make_app(opened)
    with TestClient(app, **HERE, follow_redirects=False) as client:
        data = {"file": "texts.jsonl", "measure": "self-repetition", "by": "source"}
        place = client.post("/compare", data=data).headers["location"]
        done = ended_job(client, f"/api{place}")
        assert done["state"] == "done", done["error"]
        assert client.get(place).headers["location"] == done["result"]
        assert client.get(done["result"]).status_code == 200
        again = client.post("/compare", data=data).headers["location"]
        assert again == f"{done['result']}?found={done['id']}"
        assert "were measured before" in client.get(again).text
        assert "see the result" in client.get(f"/compare?{urlencode(data)}").text


def test_an_empty_history_begins_with_the_first_file(opened: Workspace, calling: Calling) -> None:
    client = calling(replace(opened, at_once=0))  # it waits, and cannot be over too soon
    history, jobs = History(opened.store), client.app.state.jobs  # type: ignore[attr-defined]
    start_first_job(opened, history, jobs)
    assert jobs.list() == [], "the user's own files are not measured unasked"
    start_first_job(replace(opened, first=True), history, jobs)
    (job,) = jobs.list()
    comparison = form_from_json(CompareForm, job.settings)
    assert comparison.files == ("texts.jsonl",)
    assert comparison.settings["reference"] == "human"
    start_first_job(replace(opened, first=True), history, jobs)
    assert len(jobs.list()) == 1
    assert "Under way" in client.get("/").text
