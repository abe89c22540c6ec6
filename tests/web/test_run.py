"""The page Run: a form, a job and a result for every record of the registry, whoever wrote it."""

from __future__ import annotations

import html
import json
import os
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, fields, replace
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("fastapi")

from fastapi.testclient import TestClient

from rote.core import plugins, registry
from rote.core.errors import OptionError, RoteError, UnknownName
from rote.core.progress import Silent
from rote.web.app import make_app
from rote.web.forms.options import from_json
from rote.web.forms.run import RunForm, fields_of, offered, record_of, takes_of
from rote.web.jobs import worker as work
from rote.web.store.database import prepare
from rote.web.store.history import History
from rote.web.workspace import Workspace
from tests.cli.calls import HUMAN, World
from tests.web.asked import made_index
from tests.web.conftest import HERE, PYTHONPATH, Calling
from tests.web.test_history import made

NAMES = offered()


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_index(tmp_path_factory.mktemp("index") / "idx", layers=("lower", "pos"))


@pytest.fixture
def held(opened: Workspace, index: Path) -> Workspace:
    prepare(opened.store)
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
    names = [field.name for field in fields_of(name)]
    assert len(set(names)) == len(names), "two options have one name"
    for field in fields_of(name):
        assert f'name="{field.name}"' in page.text
        assert field.label.lower().replace(" ", "_") != field.name, (
            "words, not the parameter's name"
        )
        assert field.help.startswith(field.label) or "--" in field.help
        assert len(field.label) <= 90
    usual = [(field.name, field.default) for field in fields_of(name)]
    assert RunForm.read(name, usual).options == {}
    assert takes_of(record_of(name)) in ("results", "index") or 'href="/compare"' in page.text
    nothing = app.post(f"/run/{name}", data={})
    assert nothing.status_code == 400
    assert "nothing is chosen" in nothing.text


@pytest.mark.parametrize("name", NAMES)
def test_no_option_names_a_file_or_a_model_that_was_not_given(held: Workspace, name: str) -> None:
    """Whatever is in an address, only what the app was started with is read."""
    found = registry.find(name)
    kinds = [found.options, *getattr(found, "more", ())]
    every = [(one.name, "/etc/passwd") for kind in kinds for one in fields(kind)]
    offered = {field.name for field in fields_of(name)}
    hidden = [pair for pair in every if pair[0] not in offered]
    assert RunForm.read(name, hidden).options == {}
    for field in fields_of(name):
        if field.kind in ("place", "models"):
            key = "texts.jsonl" if takes_of(found) in ("texts", "items") else "idx"
            form = RunForm.read(name, [("input", key), (field.name, "/etc/passwd")])
            with pytest.raises(RoteError, match=r"etc/passwd|unknown|no result"):
                form.check(held)


def test_what_writes_a_data_set_is_left_to_the_shell(app: TestClient) -> None:
    written = set(registry.names()) - set(NAMES)
    for record in map(registry.find, written):
        # Files of a form of its own, such as prompts or answers, can be named on the shell alone.
        assert getattr(record, "output", "result") != "result" or takes_of(record) == "prompts"
    for name in written:
        assert app.get(f"/run/{name}").status_code == 404


def test_an_address_holds_what_differs_and_comes_back(app: TestClient) -> None:
    form = RunForm("lexical", ("texts.jsonl",), {"window": 77, "by": ("source",)})
    assert form.address == "/run/lexical?input=texts.jsonl&window=77&by=source"
    assert from_json(RunForm, json.loads(json.dumps(asdict(form)))) == form
    pairs = re.findall(r"[?&](\w+)=([^&]*)", form.address)
    assert RunForm.read("lexical", pairs) == form
    tidy = app.get("/run/lexical?input=texts.jsonl&seed=0&window=77&by=source&tidy=true")
    assert tidy.headers["location"] == form.address


def test_a_wrong_value_and_an_unknown_name_are_said(app: TestClient) -> None:
    page = app.post("/run/lexical", data={"input": "texts.jsonl", "window": "many"})
    assert page.status_code == 400
    assert "window wants a number" in page.text
    assert app.get("/run/lexica").status_code == 404
    asked = {"inputs": ["nowhere.jsonl"]}
    assert app.post("/api/run/lexical", json=asked).status_code == 404


def test_a_job_is_started_once_for_the_same(app: TestClient) -> None:
    asked = {"inputs": ["texts.jsonl"], "options": {"by": "source"}}
    job = app.post("/api/run/lexical", json=asked).json()
    assert (job["kind"], job["settings"]["name"]) == ("run", "lexical")
    assert app.post("/api/run/lexical", json=asked).json()["id"] == job["id"]
    app.post(f"/jobs/{job['id']}/cancel")
    page = app.get(f"/jobs/{job['id']}?stay=true").text
    assert "/run/lexical?input=texts.jsonl&amp;by=source" in page


def test_the_work_keeps_its_result_and_the_page_of_results_shows_it(
    app: TestClient, held: Workspace
) -> None:
    form = RunForm("lexical", ("texts.jsonl",), {"by": ("source",)})
    address = work.run(form.kind, json.loads(json.dumps(asdict(form))), held, Silent())
    page = app.get(address)
    assert page.status_code == 200
    assert "human" in page.text
    assert form.address.replace("&", "&amp;") in page.text
    entry = History(held.store).get(address[-12:])
    assert (entry.kind, entry.measures) == ("run", ["lexical"])


def test_texts_are_held_against_an_index_of_the_app(held: Workspace, index: Path) -> None:
    form = RunForm("novelty", ("texts.jsonl",), {"against": "index:idx", "by": ("source",)})
    assert form.places() == (["texts.jsonl"], ["idx"])
    (result,) = form.perform(held, Silent())
    assert set(result.sources) == {"human", "model"}


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
    address = work.run(form.kind, json.loads(json.dumps(asdict(form))), held, Silent())
    page = app.get(address)
    assert page.status_code == 200
    assert "idx" in page.text
    (result,) = History(held.store).results(address[-12:])
    assert result.measure == "memorization"
    for name, rows in result.tables.items():
        if rows and name != "values":
            assert app.get(f"{address}/result.json").json()["panel"][0]["tables"][name]


@pytest.fixture
def foreign(monkeypatch: pytest.MonkeyPatch) -> str:
    """A measure of another package, known by its entry point alone."""
    own = plugins.load("measure", "lexical").METRIC
    module = ModuleType("foreign_measure", "How many words there are, by another package.")
    module.METRIC = replace(own, name="foreign", title="Foreign words")  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "foreign_measure", module)
    entry = EntryPoint("foreign", "foreign_measure", "rote.measure")
    real = plugins.members.__wrapped__
    monkeypatch.setattr(
        "importlib.metadata.entry_points",
        lambda **asked: [entry] if asked.get("group") == "rote.measure" else [],
    )
    monkeypatch.setattr(plugins, "members", real)
    return "foreign"


def test_a_measure_of_another_package_is_in_the_app_by_itself(
    app: TestClient, held: Workspace, foreign: str
) -> None:
    assert "Foreign words" in app.get("/run").text
    assert app.get("/run/foreign").status_code == 200
    (result,) = RunForm("foreign", ("texts.jsonl",), {"by": ("source",)}).perform(held, Silent())
    assert result.measure == "foreign"


def test_results_that_are_kept_can_go_in(held: Workspace) -> None:
    studies = [name for name in NAMES if takes_of(registry.find(name)) == "results"]
    history = History(held.store)
    id = history.add([made()], title="kept")
    assert {"correlate", "factors"} <= set(studies)
    for name in studies:
        given = {"over": "source"} if "over" in {one.name for one in fields_of(name)} else {}
        RunForm(name, (id,), given).check(held)
        with pytest.raises(RoteError, match="no result 'abcdefabcdef'"):
            RunForm(name, ("abcdefabcdef",), given).check(held)


def test_nothing_goes_in_by_another_key(held: Workspace) -> None:
    for key in ("/etc/passwd", "../texts.jsonl", ""):
        with pytest.raises((UnknownName, OptionError)):
            RunForm("lexical", (key,) if key else ()).check(held)


# -- as a click does: the queue, its process, the page that shows what came out -----------------


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="module")
def served(world: World) -> Iterator[TestClient]:
    """An app whose work is done by one process, in which torch is not installed."""
    hidden = world.path / "hidden"
    hidden.mkdir()
    (hidden / "torch.py").write_text("raise ModuleNotFoundError('not here', name='torch')")
    files = {name: Path(getattr(world, name)) for name in ("texts", "items", "sampled")}
    models = {"torch": "torch=transformers:none", "endpoint": "endpoint=openai:http://[::1]:9/v1#m"}
    opened = Workspace(
        {"idx": Path(world.index)}, files, world.path / "store", at_once=1, models=models
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", f"{hidden}{os.pathsep}{PYTHONPATH}")
        app = make_app(opened)
        yield TestClient(app, **HERE, follow_redirects=False)
        app.state.jobs.stop()


FAST = {"by": "source", "reference": HUMAN, "permutations": "9", "matched": "no", "resamples": "9"}
FAST |= {"n": "2"}
NEEDS: dict[str, dict[str, str]] = {
    "contamination": {"n": "2,3"},
    "correlate": {"values": "all"},
    "decontaminate": {"against": "file:items", "answers": ""},
    "distinct": {"input": "sampled"},
    "factors": {"values": "all", "over": "temperature"},
    "overlap": {"layer": "lower"},
    "style-memorization": {"prompt": "4", "words": "3"},
    "templates": {"model": ""},
}
"""What some commands want beside texts, items or results, an index and a model."""


def asked(name: str, kept: str, model: str = "index:idx") -> dict[str, str]:
    """A form that works, filled in by the kinds of its fields: a new command has one at once."""
    takes = takes_of(record_of(name))
    given = {"input": {"results": kept, "index": "idx"}.get(takes, takes)}
    for one in fields_of(name):
        if one.kind in ("place", "models"):
            given[one.name] = "index:idx" if one.kind == "place" else model
        elif one.name in FAST and (takes == "texts" or one.name not in ("by", "reference")):
            given[one.name] = FAST[one.name]
    return given | NEEDS.get(name, {})


def ended(app: TestClient, name: str, given: dict[str, str]) -> dict[str, Any]:
    answer = app.post(f"/run/{name}", data=given)
    assert answer.status_code == 303, answer.text
    place = answer.headers["location"]
    job: dict[str, Any]
    while (job := app.get(f"/api{place}").json())["open"]:
        time.sleep(0.02)
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
def test_every_command_runs_in_a_worker_and_its_result_is_shown(
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
    assert ("/ledger/" in page.text) == bool(getattr(record_of(name), "ledger", ""))
    beside = served.get("/history/compare", params={"id": [kept, job["result"][-12:]]})
    assert beside.status_code == 200


ASKING = [name for name in NAMES if "model" in asked(name, "") and name != "templates"]
# Each waits some seconds before it gives up: a measure and a study stand for all.
ENDPOINTS = [name for name in ASKING if name in ("perplexity", "evaluate")]


@pytest.mark.parametrize(
    ("name", "model", "says"),
    [(name, "torch", "needs the package 'torch'. Install it in a checkout") for name in ASKING]
    + [(name, "endpoint", "http://[::1]:9/v1") for name in ENDPOINTS],
)
def test_a_model_that_cannot_be_asked_is_named(
    served: TestClient, kept: str, name: str, model: str, says: str
) -> None:
    job = ended(served, name, asked(name, kept, model) | {"model": model})
    assert job["state"] == "failed"
    assert says in job["error"]
    page = served.get(f"/jobs/{job['id']}")
    assert page.status_code == 200
    assert job["error"] in html.unescape(re.sub(r"</?code>", "", page.text)).replace("`", "")
