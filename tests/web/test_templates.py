from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from rote.core.errors import OptionError
from rote.core.progress import Silent
from rote.web.forms import templates as limits
from rote.web.forms.options import from_json
from rote.web.forms.templates import TemplatesForm
from rote.web.jobs import worker as work
from rote.web.routes.templates import IndexTemplatesAnswer, TemplatesAnswer
from rote.web.workspace import Workspace
from tests.web.asked import ESCAPE, NUL, OVERRIDE, client, harmless, made_index

PLAIN = [
    "The old dog saw the red gate. The tall man saw the blue door.",
    "The wet cat ate the cold fish. We left at once.",
]
HARM = [
    f"The <script>alert('text')</script> dog {OVERRIDE}ran {ESCAPE}[31m off {NUL}.",
    "The old dog saw the red gate. The tall man saw the blue door. " + "z" * 50_000,
]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("files")
    path = folder / "texts.jsonl"
    rows = [("plain", text) for text in PLAIN] + [("<b>harm</b>", text) for text in HARM]
    path.write_text(
        "".join(
            json.dumps({"id": f"{source}-{i}", "source": source, "text": text}) + "\n"
            for i, (source, text) in enumerate(rows)
        )
    )
    return {"texts.jsonl": path}


@pytest.fixture(scope="module")
def opened(files: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    index = made_index(tmp_path_factory.mktemp("index") / "idx", layers=("lower", "pos"))
    return Workspace({"made": index}, files, tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="module")
def app(opened: Workspace) -> TestClient:
    return client(opened.store, indexes=opened.indexes, files=opened.files)


def shown(app: TestClient, **given: Any) -> str:
    page = app.get("/templates", params={"file": "texts.jsonl", "n": 5, **given})
    assert page.status_code == 200, page.text
    return page.text


def test_the_templates_of_a_source_stand_in_a_table(app: TestClient) -> None:
    page = shown(app, source="plain")
    # Three sentences have these tags, two of them in one text.
    assert re.search(
        r"DT JJ NN VBD DT</bdi></code></a></td><td class=\"number\">3</td>"
        r"<td class=\"number\">2</td><td class=\"number\">100.0%</td>",
        page,
    )
    assert "The old dog saw the · " in page


def test_a_template_is_shown_in_context_and_leads_to_its_texts(app: TestClient) -> None:
    page = shown(app, source="plain", template="DT JJ NN VBD DT")
    assert '<mark class="template">The old dog saw the</mark> red gate.' in page
    address = next(a for a in re.findall(r'href="([^"]*)"', page) if "text=plain-0" in a)
    text = app.get(address.replace("&amp;", "&"))
    assert text.status_code == 200
    # Numbers stand before the words where a template begins.
    words = re.sub(r"<sup>.*?</sup>|<[^>]*>", "", text.text)
    assert PLAIN[0] in words


@pytest.mark.parametrize(
    "further", [{}, {"template": "DT JJ NN VBD DT"}, {"text": "<b>harm</b>-3"}]
)
def test_no_text_acts_on_the_page(app: TestClient, further: dict[str, str]) -> None:
    page = shown(app, source="<b>harm</b>", min_count="1", **further)
    assert "<b>harm</b>" not in page
    harmless(page)


def test_the_api_gives_the_templates_of_every_source(app: TestClient) -> None:
    given = {"file": "texts.jsonl", "n": 5, "reference": "plain"}
    found = app.get("/api/templates", params=given).json()
    TemplatesAnswer(**found)
    first = found["templates"]["plain"][0]
    assert (first["template"], first["count"], first["share"]) == ("DT JJ NN VBD DT", 3, 1.0)
    assert found["settings"]["reference"] == "plain"


def test_the_templates_of_an_index_are_its_frequent_ngrams(app: TestClient) -> None:
    given = {"index": "made", "layer": "pos", "n": 3, "top": 5}
    found = app.get("/api/templates/index", params=given).json()
    IndexTemplatesAnswer(**found)
    top = app.get("/api/top", params={"index": "made", "layer": "pos", "n": 3, "k": 5}).json()
    assert [(row["items"], row["count"]) for row in found["templates"]] == [
        (row["items"], row["count"]) for row in top["ngrams"]
    ]
    page = app.get("/templates", params=given).text
    assert found["templates"][0]["template"] in page
    assert "/search?index=made&amp;q=%5Bpos%3D" in page


def test_many_texts_wait_for_a_click_and_then_for_a_job(
    app: TestClient, opened: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SMALL", 10)
    given = {"file": "texts.jsonl", "n": 4}
    page = app.get("/templates", params=given)
    assert page.status_code == 200
    assert '<button type="submit">Start</button>' in page.text
    assert "Sources" not in page.text
    refused = app.get("/api/templates", params=given)
    assert refused.status_code == 400
    assert "POST /api/templates" in refused.json()["error"]["message"]


def test_the_work_keeps_its_result_and_its_page_shows_it(
    app: TestClient, opened: Workspace
) -> None:
    asked = TemplatesForm(("texts.jsonl",), n=5)
    address = work.run(asked.kind, json.loads(json.dumps(asdict(asked))), opened, Silent())
    page = app.get(address, params={"source": "plain"})
    assert page.status_code == 200
    assert "DT JJ NN VBD DT" in page.text
    history = app.app.state.history  # type: ignore[attr-defined]
    entry = history.get(address.rpartition("/")[2])
    assert (entry.kind, entry.address) == ("templates", address)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"layer": "nothing"}, "the layer is one of"),
        ({"n": "0"}, "1 to 32 items"),
        ({"top": "5000"}, "1 to 1,000 templates"),
        ({"file": "other.jsonl"}, "unknown file"),
        ({"template": "NN NN NN"}, "unknown template"),
        ({"source": "nobody"}, "unknown source"),
    ],
)
def test_a_wrong_setting_is_named_on_the_page(
    app: TestClient, given: dict[str, str], says: str
) -> None:
    page = app.get("/templates", params={"file": "texts.jsonl", **given})
    assert page.status_code == 400
    assert says in page.text


def test_an_address_holds_what_differs_from_the_usual() -> None:
    asked = TemplatesForm(("a b.jsonl", "c"), n=4, reference="plain")
    assert asked.address == "/templates?file=a+b.jsonl&file=c&n=4&reference=plain"
    assert from_json(TemplatesForm, json.loads(json.dumps(asdict(asked)))) == asked
    with pytest.raises(OptionError, match="no file"):
        TemplatesForm().perform(Workspace({}, {}, Path("store")), Silent())
