"""The page Run: a form, a job and a result for every record of the registry, whoever wrote it."""

from __future__ import annotations

import ast
import difflib
import html
import json
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import click
import pytest

pytest.importorskip("fastapi")

from fastapi.testclient import TestClient

from rote.core import registry
from rote.core.errors import OptionError, RoteError, UnknownName
from rote.core.metric import bare
from rote.core.progress import Silent
from rote.studies.dispatch.driver import option_kinds
from rote.web import form_fields
from rote.web import job_worker as work
from rote.web.app import make_app
from rote.web.database import prepare_store
from rote.web.form_fields import form_from_json
from rote.web.forms import RunForm, command_fields, find_record, input_kind, list_commands
from rote.web.history import History
from rote.web.workspace import Workspace
from tests.cli.calls import HUMAN, World, commands
from tests.kit import ended_job, option_names, write_jsonl
from tests.web.asked import made_index
from tests.web.conftest import HERE, Calling
from tests.web.job_here import work_here
from tests.web.test_history import made

NAMES = list_commands()


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_index(tmp_path_factory.mktemp("index") / "idx", layers=("lower", "pos"))


@pytest.fixture
def held(opened: Workspace, index: Path) -> Workspace:
    prepare_store(opened.store)
    models = {"small": "small=transformers:none"}
    return replace(opened, indexes={"idx": index}, models=models, at_once=0)


@pytest.fixture
def app(held: Workspace, calling: Calling) -> TestClient:
    return calling(held)


def test_every_record_is_listed_with_what_it_says(app: TestClient) -> None:
    page = app.get("/run").text
    listed = {one["name"]: one for one in app.get("/api/run").json()}
    assert set(listed) == set(NAMES)
    for name, one in listed.items():
        assert f'href="/run/{name}"' in page
        assert one["title"] == registry.find(name).title
        assert one["says"]


@pytest.mark.parametrize("name", NAMES)
def test_every_record_has_a_form_that_is_read_back(app: TestClient, name: str) -> None:
    page = app.get(f"/run/{name}")
    assert page.status_code == 200, page.text
    names = [field.name for field in command_fields(name)]
    assert len(set(names)) == len(names), "two options have one name"
    assert not {"jobs", "output", "per_text"} & set(names)
    for field in command_fields(name):
        assert f'name="{field.name}"' in page.text
        assert field.label.lower().replace(" ", "_") != field.name, (
            "words, not the parameter's name"
        )
        assert field.help.startswith(field.label) or "--" in field.help
        assert len(field.label) <= 90
    usual = [(field.name, field.default) for field in command_fields(name)]
    assert RunForm.read(name, usual).options == {}
    assert input_kind(find_record(name)) in ("results", "index") or 'href="/compare"' in page.text
    nothing = app.post(f"/run/{name}", data={})
    assert nothing.status_code == 400
    assert "nothing is chosen" in nothing.text


INSIDE = {
    *("by", "reference", "within", "cluster", "inputs", "layer", "tags", "to", "on", "codecs"),
    *("scores", "control", "normalize_to", "document_field", "reference_field", "correct"),
    *("member", "benchmark", "over", "order", "pair", "facet", "without", "values", "text_field"),
    *("id_field", "prompt_field", "join_on", "where", "partition", "quality", "keep"),
    *("frequency", "random", "quality_columns", "comet_source", "highlight", "pos", "encoding"),
    *("memory", "equivalent", "device", "dtype"),
}
"""Strings that name something inside the texts, or are compared with what is known: no file is
opened by their name."""


@pytest.mark.parametrize("name", NAMES)
def test_no_option_names_a_file_or_a_model_that_was_not_given(held: Workspace, name: str) -> None:
    """Whatever is in a request, only what the app was started with is read."""
    found = registry.find(name)
    key = {"results": "none", "index": "idx"}.get(input_kind(found), "texts.jsonl")
    for field in command_fields(name):
        if field.choices or field.step:
            continue
        assert field.kind in ("text", "name", "place", "file", "models")
        numbers = bare(field.type)[0] in ((), tuple[int, ...], tuple[float, float])
        assert field.kind != "text" or field.name in INSIDE or numbers, field.name
        for place in ("/etc/passwd", "../texts.jsonl", "~/x", "numpy:/etc", "model:openai://x"):
            if field.kind != "text":
                with pytest.raises(RoteError):
                    RunForm.of(name, [key], {field.name: place}).check(held)
    for writing in ({"output": "/tmp/x"}, {"write": "x.jsonl"}, {"jobs": 99}, {"engine": "spark"}):
        with pytest.raises(OptionError, match=r"cannot be set here|unknown option"):
            RunForm.of(name, [key], writing)


@pytest.mark.parametrize("name", NAMES)
def test_every_option_of_python_is_taken_or_refused_by_name(app: TestClient, name: str) -> None:
    listed = {one["name"]: one for one in app.get("/api/run").json()}[name]["options"]
    taken = {one["name"] for one in listed}
    record = registry.find(name)
    kept = form_fields.refused_options(*option_kinds(record))
    known = set(option_names(record))
    assert taken | (kept.keys() & known) == known
    assert not taken & kept.keys()
    for option, why in kept.items():
        answer = sent(app, name, option)
        assert answer.status_code == 400
        said = f"option `{option}` cannot be set here: {why}"
        assert answer.json()["error"] == {"kind": "OptionError", "message": said}


def sent(app: TestClient, name: str, option: str, value: Any = 1) -> Any:
    asked = {"inputs": ["texts.jsonl"], "options": {option: value}}
    return app.post(f"/api/run/{name}", json=asked)


@pytest.mark.parametrize("name", NAMES)
def test_a_misspelt_option_is_refused_with_the_nearest_name(app: TestClient, name: str) -> None:
    known = [one.name for one in command_fields(name)]
    for option in known:
        turned = option[:-2] + option[:-3:-1]
        wrong = turned if len(option) > 3 and turned not in known else f"{option}x"
        with pytest.raises(OptionError) as error:
            RunForm.of(name, ["texts.jsonl"], {wrong: 1})
        said = str(error.value)
        near = said.removeprefix(f"unknown option `{wrong}`; did you mean `").removesuffix("`?")
        assert near in difflib.get_close_matches(wrong, known, n=3), said
    answer = sent(app, name, wrong)
    assert (answer.status_code, answer.json()["error"]["message"]) == (400, said)
    assert app.get("/api/jobs").json() == []


def test_the_four_that_were_dropped(app: TestClient) -> None:
    wrong = sent(app, "lexical", "refrence", "human").json()["error"]["message"]
    assert wrong == "unknown option `refrence`; did you mean `reference`?"
    assert sent(app, "lexical", "where", ["source=human"]).json()["state"] == "waiting"
    assert sent(app, "lexical", "tokenizer", "whitespace").json()["state"] == "waiting"
    for name in ("lexical", "dedup"):
        refused = sent(app, name, "output", "x").json()["error"]["message"]
        assert refused.startswith("option `output` cannot be set here: it writes a file")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"window": 7.5}, "window must be a whole number, not 7.5"),
        ({"window": "7"}, None),
        ({"window": 7}, None),
        ({"window": True}, "window must be a whole number"),
        ({"window": None}, "window must not be null"),
        ({"sample": None}, None),
        ({"interval": "nan"}, "interval must be a number"),
        ({"matched": False}, None),
        ({"matched": "maybe"}, "matched is one of yes, no"),
        ({"matched": 0}, "matched is one of yes, no"),
        ({"by": ["source", "id"]}, None),
        ({"by": "source,id"}, None),
        ({"by": [["source"]]}, "by must be a text, not ['source']"),
        ({"variant": "none"}, "variant is one of"),
        ({"where": "source=a,b"}, None),
        ({"where": ["source=a,b", "words>3"]}, None),
        ({"where": "source"}, "write FIELD=VALUE"),
        ({"join": ["file:texts.jsonl"], "join_on": "id"}, None),
        ({"join": ["file:none.jsonl"]}, "unknown file 'none.jsonl'"),
        ({"join": "texts.jsonl.gz/../../etc"}, "a place on the machine"),
        ({"window": 10_000_000}, "window must be at most 1,000,000"),
    ],
)
def test_values_of_json_are_taken_as_they_are(
    app: TestClient, options: dict[str, Any], says: str | None
) -> None:
    asked = {"inputs": ["texts.jsonl"], "options": options}
    answer = app.post("/api/run/lexical", json=asked)
    if says is None:
        assert answer.status_code == 200, answer.text
        # The form has the same settings, and they come back from its address.
        place = answer.json()["address"]
        app.post(f"/api{place}/cancel")
        (place,) = re.findall(r'href="(/run/lexical\?[^"]*)"', app.get(place).text)
        query = parse_qsl(urlsplit(html.unescape(place)).query)
        kept = form_from_json(RunForm, answer.json()["settings"])
        assert RunForm.read("lexical", query) == kept
        assert app.get(html.unescape(place)).status_code == 200
    else:
        assert answer.status_code in (400, 404)
        assert says in answer.json()["error"]["message"]


def test_what_writes_a_data_set_is_left_to_the_shell(app: TestClient) -> None:
    written = set(registry.names()) - set(NAMES)
    for record in map(registry.find, written):
        # Files of a form of its own, such as prompts or answers, can be named on the shell alone.
        assert getattr(record, "output", "result") != "result" or input_kind(record) == "prompts"
    for name in written:
        assert app.get(f"/run/{name}").status_code == 404


def test_an_address_holds_what_differs_and_comes_back(app: TestClient) -> None:
    form = RunForm("lexical", ("texts.jsonl",), {"window": 77, "by": ("source",)})
    assert form.address == "/run/lexical?input=texts.jsonl&window=77&by=source"
    assert form_from_json(RunForm, json.loads(json.dumps(asdict(form)))) == form
    pairs = re.findall(r"[?&](\w+)=([^&]*)", form.address)
    assert RunForm.read("lexical", pairs) == form
    tidy = app.get("/run/lexical?input=texts.jsonl&seed=0&window=77&by=source&tidy=true")
    assert tidy.headers["location"] == form.address


def test_a_wrong_value_and_an_unknown_name_are_said(app: TestClient) -> None:
    page = app.post("/run/lexical", data={"input": "texts.jsonl", "window": "many"})
    assert page.status_code == 400
    assert "window must be a whole number" in page.text
    assert app.get("/run/lexica").status_code == 404
    asked = {"inputs": ["nowhere.jsonl"]}
    assert app.post("/api/run/lexical", json=asked).status_code == 404


def test_the_work_keeps_its_result_and_the_page_of_results_shows_it(
    app: TestClient, held: Workspace
) -> None:
    form = RunForm("lexical", ("texts.jsonl",), {"by": ("source",)})
    address = work.run_job(form.kind, json.loads(json.dumps(asdict(form))), held, Silent())
    page = app.get(address)
    assert page.status_code == 200
    assert "human" in page.text
    assert form.address.replace("&", "&amp;") in page.text
    entry = History(held.store).get(address[-12:])
    assert (entry.kind, entry.measures) == ("run", ["lexical"])


def test_models_are_those_of_the_start_and_the_indexes(held: Workspace, index: Path) -> None:
    assert list(held.speakers()) == ["small", "index:idx"]
    assert held.speaker("index:idx") == f"idx=index:{index}"
    with pytest.raises(UnknownName):
        held.speaker("/etc/passwd")


def test_a_study_asks_an_index_as_a_model_and_its_result_is_shown(
    app: TestClient, held: Workspace
) -> None:
    given = {"model": ("index:idx",), "by": ("source",), "corpus": "index:idx", "n": 2}
    form = RunForm("memorization", ("texts.jsonl",), given)
    assert form.places() == (["texts.jsonl"], ["idx", "idx"])
    address = work.run_job(form.kind, json.loads(json.dumps(asdict(form))), held, Silent())
    page = app.get(address)
    assert page.status_code == 200
    assert "idx" in page.text
    (result,) = History(held.store).results(address[-12:])
    assert result.measure == "memorization"
    for name, rows in result.tables.items():
        if rows and name != "values":
            assert app.get(f"{address}/result.json").json()["panel"][0]["tables"][name]


def test_results_that_are_kept_can_go_in(held: Workspace) -> None:
    studies = [name for name in NAMES if input_kind(registry.find(name)) == "results"]
    history = History(held.store)
    id = history.add([made()], title="kept")
    assert {"correlate", "factors"} <= set(studies)
    for name in studies:
        given = {"over": "source"} if "over" in {one.name for one in command_fields(name)} else {}
        RunForm(name, (id,), given).check(held)
        with pytest.raises(RoteError, match="no result 'abcdefabcdef'"):
            RunForm(name, ("abcdefabcdef",), given).check(held)


# -- as a click does: the queue, its work, the page that shows what came out -----------------


@pytest.fixture(scope="module")
def served(world: World) -> Iterator[TestClient]:
    """An app whose work is done here."""
    files = {name: Path(getattr(world, name)) for name in ("texts", "items", "sampled")}
    moods = [{"doc_id": n, "mood": "odd" if n % 2 else "even"} for n in range(5)]
    files["scores"] = Path(world.lines("scores.jsonl", moods))
    models = {"torch": "torch=transformers:none", "endpoint": "endpoint=openai:http://[::1]:9/v1#m"}
    opened = Workspace(
        {"idx": Path(world.index)}, files, world.path / "store", at_once=1, models=models
    )
    app = make_app(opened)
    work_here(app.state.jobs)
    yield TestClient(app, **HERE, follow_redirects=False)
    app.state.jobs.stop()


FAST = {"by": "source", "reference": HUMAN, "permutations": "9", "matched": "no"}
FAST |= {"n": "2"}
NEEDS: dict[str, dict[str, str]] = {
    "contamination": {"n": "2,3"},
    "correlate": {"values": "all"},
    "decontaminate": {"test_items": "file:items"},
    "distinct": {"input": "sampled"},
    "factors": {"values": "all", "over": "temperature"},
    "judge-model": {"document_field": "doc_id", "by": "source"},
    "overlap": {"layer": "lower"},
    "templates": {"model": "index:idx"},
}
"""What some commands want beside texts, items or results, an index and a model."""


def asked(name: str, kept: str, model: str = "index:idx") -> dict[str, str]:
    """A form that works, filled in by the kinds of its fields: a new command has one at once."""
    takes = input_kind(find_record(name))
    given = {"input": {"results": kept, "index": "idx"}.get(takes, takes)}
    for one in command_fields(name):
        if one.kind in ("place", "models") and not one.further:
            given[one.name] = "index:idx" if one.kind == "place" else model
        elif one.name in FAST and (takes == "texts" or one.name not in ("by", "reference")):
            given[one.name] = FAST[one.name]
    return given | NEEDS.get(name, {})


@pytest.mark.parametrize("name", NAMES)
def test_the_form_has_the_shell_and_python_lines_that_do_the_same(
    app: TestClient, name: str
) -> None:
    """Every flag is one of the command, every keyword one of the function, with its value."""
    form = RunForm.read(name, asked(name, "abc").items())
    assert form.options
    page = html.unescape(app.get(form.address).text)
    command = " ".join(registry.words_of(name))
    assert f"<h1>{find_record(name).title}, <code>{command}</code></h1>" in page
    lines = form.lines()
    assert all(line in page for line in lines.values())
    words = shlex.split(lines["shell"])
    assert " ".join(words[1:3]).startswith(command)
    known = commands()[command]
    context = click.Context(known)
    read, left, _ = known.make_parser(context).parse_args(words[1 + len(command.split()) :])
    assert not [one for one in left if one.startswith("-")]
    assert form.options.keys() <= read.keys()
    call = ast.parse(lines["python"]).body[-1].value  # type: ignore[attr-defined]
    assert ast.unparse(call.func) == f"rote.{name.replace('-', '_')}"
    given = {one.arg: ast.literal_eval(one.value) for one in call.keywords}
    assert given.keys() <= set(option_names(registry.find(name)))
    assert not [value for value in map(str, given.values()) if value.startswith("file:")]


def test_lines_are_exact(app: TestClient) -> None:
    pairs = [("input", "a b.jsonl~1"), ("by", "source"), ("matched", "no"), ("where", "x=1,2")]
    lines = RunForm.read("lexical", [*pairs, ("where", "y=3")]).lines()
    flags = "--by source --no-matched --where x=1,2 --where y=3"
    assert sorted(lines["shell"].split(" --")) == sorted(
        f"rote lexical 'a b.jsonl' {flags}".split(" --")
    )
    assert lines["python"].startswith("import rote\nrote.lexical('a b.jsonl', ")
    assert "where=('x=1,2', 'y=3')" in lines["python"]


@pytest.mark.parametrize("place", ["/run/lexical", "/templates", "/compare", "/indexes"])
def test_a_file_that_cannot_be_read_cannot_be_chosen_and_says_why(
    held: Workspace, calling: Calling, tmp_path: Path, place: str
) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"id": 1, "text": "fine"}\n{"id": 2, "text": oops}\n')
    # It comes first: nothing is chosen unasked that cannot be read.
    opened = replace(held, files={"broken.jsonl": broken, **held.files})
    page = html.unescape(calling(opened).get(place).text)
    chosen = re.findall(r'<(?:input type="checkbox"|option)[^>]* value="broken.jsonl"[^>]*>', page)
    assert chosen
    assert all(" disabled" in one for one in chosen)
    assert "line 2: malformed JSON" in page
    if place != "/indexes":
        assert re.search(r'value="texts.jsonl" (checked|selected)', page)


def test_a_corpus_that_cannot_be_read_is_disabled_and_items_are_no_texts(
    held: Workspace, calling: Calling, tmp_path: Path
) -> None:
    item = {"goal": "Cut bread", "sol1": "with a knife", "sol2": "with a spoon", "label": 0}
    items, broken = tmp_path / "items.jsonl", tmp_path / "broken.jsonl"
    write_jsonl(items, [item])
    broken.write_text("{")
    app = calling(replace(held, files={"items.jsonl": items, "broken.jsonl": broken}))
    page = app.get("/run/popularity").text
    assert re.search(r'name="input" value="items.jsonl">', page)
    assert re.search(r'name="input" value="broken.jsonl" disabled>', page)
    page = app.get("/run/novelty").text
    assert re.search(r'<option value="file:broken.jsonl" disabled>', page)


@pytest.mark.parametrize("place", ["/run/lexical", "/templates", "/compare"])
def test_the_reference_is_one_of_the_sources_that_were_found(app: TestClient, place: str) -> None:
    page = app.get(place).text
    (choice,) = re.findall(r'<select id="[\w-]*reference" name="reference".*?</select>', page, re.S)
    assert re.findall(r'<option value="([^"]*)"', choice) == ["", "each", "human", "model"]
    assert '<option value="human" selected>' in choice
    assert 'name="reference" type=' not in page


def ended(app: TestClient, name: str, given: dict[str, str]) -> dict[str, Any]:
    answer = app.post(f"/run/{name}", data=given)
    assert answer.status_code == 303, answer.text
    job: dict[str, Any] = ended_job(app, f"/api{answer.headers['location']}")
    return job


@pytest.fixture(scope="module")
def kept(served: TestClient, world: World) -> str:
    id: str = served.app.state.history.read_in(Path(world.swept))  # type: ignore[attr-defined]
    return id


def leading(page: str, part: str) -> list[str]:
    """The links to such a part of a result."""
    return list(
        map(html.unescape, re.findall(rf'href="(/compare/result/\w+/{part}\?[^"]*)"', page))
    )


@pytest.mark.parametrize("name", NAMES)
def test_every_command_runs_as_a_job_and_its_result_is_shown(
    served: TestClient, kept: str, name: str
) -> None:
    job = ended(served, name, asked(name, kept))
    assert job["state"] == "done", job["error"]
    page = served.get(job["result"])
    assert page.status_code == 200
    assert "<h2" in page.text, "the page has no part"
    files = re.findall(r'href="([^"]*)" download', page.text)
    assert len(files) == 3
    for file in files:
        saved = served.get(file)
        assert saved.status_code == 200
        assert len(saved.text.splitlines()) > 1, f"{file} is empty"
    (panel,) = served.get(f"{job['result']}/result.json").json()["panel"]
    assert panel["measure"] == name
    if texts := leading(page.text, "texts"):  # from a number to the texts behind it
        listed = served.get(texts[0]).text
        assert '<div class="notice">' not in served.get(leading(listed, "text")[0]).text
    for ledger in re.findall(r'href="(/ledger/[^"]*)"', page.text):
        assert served.get(ledger).status_code == 200
    assert ("/ledger/" in page.text) == bool(getattr(find_record(name), "ledger", ""))
    beside = served.get("/history/compare", params={"id": [kept, job["result"][-12:]]})
    assert beside.status_code == 200


ASKING = [name for name in NAMES if "model" in asked(name, "")]
# Each waits some seconds before it gives up: a measure and a study stand for all.
ENDPOINTS = [name for name in ASKING if name in ("perplexity", "evaluate")]


@pytest.mark.parametrize(
    ("name", "model", "says"),
    [(name, "torch", "needs the package 'torch'. Install it ") for name in ASKING]
    + [(name, "endpoint", "http://[::1]:9/v1") for name in ENDPOINTS],
)
def test_a_model_that_cannot_be_asked_is_named(
    served: TestClient,
    kept: str,
    name: str,
    model: str,
    says: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if model == "torch":
        monkeypatch.setitem(sys.modules, "torch", None)
    job = ended(served, name, asked(name, kept, model) | {"model": model})
    assert job["state"] == "failed"
    assert says in job["error"]
    page = served.get(f"/jobs/{job['id']}")
    assert page.status_code == 200
    assert job["error"] in html.unescape(re.sub(r"</?code>", "", page.text)).replace("`", "")


def test_reading_options_reach_the_work(served: TestClient, world: World) -> None:
    """Which records, which field, what is joined to them, and how they are cut into words."""
    options = {
        "text_field": "reference",
        "where": ["doc_id<3", f"source={HUMAN}|llama[instruct]"],
        "join": "file:scores",
        "by": "mood",
        "tokenizer": "whitespace",
        "inputs": "",
        "permutations": 0,
        "interval": 0,
        "matched": False,
    }
    asked = {"inputs": ["texts"], "options": options}
    job = served.post("/api/run/lexical", json=asked).json()
    job = ended_job(served, f"/api/jobs/{job['id']}")
    assert job["state"] == "done", job["error"]
    (panel,) = served.get(f"{job['result']}/result.json").json()["panel"]
    assert {name: one["texts"] for name, one in panel["sources"].items()} == {"even": 4, "odd": 2}
    assert panel["sources"]["odd"]["words"] == 22  # "A cat sat on the mat by a door. Day 1."
    assert "tokenizer:whitespace" in panel["signature"]
    listed = served.get(leading(served.get(job["result"]).text, "texts")[0]).text
    text = served.get(leading(listed, "text")[0]).text
    assert "A cat sat on the mat by a door." in text
