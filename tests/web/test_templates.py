from __future__ import annotations

import csv
import html
import io
import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from rote.annotate import annotators
from rote.annotate.legend import LEGEND
from rote.core.document import Document
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
    assert asked.address == "/templates?file=a+b.jsonl&file=c&n=4&by=&reference=plain"
    assert from_json(TemplatesForm, json.loads(json.dumps(asdict(asked)))) == asked
    with pytest.raises(OptionError, match="no file"):
        TemplatesForm().perform(Workspace({}, {}, Path("store")), Silent())


# -- for whoever comes without knowing tags ---------------------------------------------------

ANSWERS = [
    ("human", "Gulls slept. We went out and it rained."),
    ("human", "Nobody heard it. Then she laughed."),
    ("model", "The old dog saw the red gate. The tall man saw the blue door."),
    ("model", "The wet cat ate the cold fish. The old man saw the red door."),
]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    folder = tmp_path_factory.mktemp("answers")
    lines = [
        json.dumps({"id": str(i), "model": source, "text": text})
        for i, (source, text) in enumerate(ANSWERS)
    ]
    (folder / "answers.jsonl").write_text("\n".join(lines))
    files = {"answers.jsonl": folder / "answers.jsonl"}
    index = made_index(folder / "idx", layers=("lower", "pos"))
    return client(folder / "store", files=files, indexes={"made": index})


def test_the_page_opens_on_a_model_with_its_fields_filled_in(answers: TestClient) -> None:
    page = answers.get("/templates").text
    assert "Templates of <bdi>model</bdi>" in page
    assert re.search(r'<option value="answers.jsonl" selected>', page)
    assert re.search(r'name="by" value="model"', page)
    assert re.search(r'name="reference" value="human"', page)
    assert '<option value="human">' in page
    assert "log-odds" in page
    without = answers.get("/templates", params={"by": "model", "reference": ""}).text
    assert "log-odds" not in without


def test_a_reference_that_was_guessed_and_does_not_serve_is_left_out_and_named(
    tmp_path: Path,
) -> None:
    path = tmp_path / "few.jsonl"
    lines = [json.dumps({"source": source, "text": text}) for source, text in ANSWERS[1:]]
    path.write_text("\n".join(lines))
    page = client(tmp_path / "store", files={"few.jsonl": path}).get("/templates")
    assert page.status_code == 200
    assert "Not compared with &#39;human&#39;: " in page.text
    assert "--reference" not in page.text
    assert "Templates of <bdi>model</bdi>" in page.text


@pytest.mark.parametrize("given", [{}, {"index": "made"}])
def test_every_tag_that_is_shown_is_explained(answers: TestClient, given: dict[str, str]) -> None:
    page = answers.get("/templates", params=given).text
    shown = {
        tag
        for template in re.findall(r"<code[^>]*><bdi>([^<]*)</bdi></code>", page)
        for tag in html.unescape(template).split()
    }
    explained = {html.unescape(tag) for tag in re.findall(r"<dt><code>([^<]*)</code></dt>", page)}
    assert shown == explained != set()
    assert re.search(r'<code title="determiner, adjective, noun, singular', page)


def test_templates_are_downloaded_as_they_are_shown(answers: TestClient) -> None:
    page = answers.get("/templates").text
    first = html.unescape(re.findall(r"<code[^>]*><bdi>([^<]*)</bdi></code>", page)[0])
    files = dict(re.findall(r'<a href="([^"]*)" download>(CSV|JSON)</a>', page))
    saved = {kind: answers.get(html.unescape(place)) for place, kind in files.items()}
    rows = list(csv.DictReader(io.StringIO(saved["CSV"].text, newline="")))
    own = [row for row in rows if row["source"] == "model"]
    assert own[0]["template"] == first
    assert own[0]["meaning"].startswith("determiner")
    assert [row["template"] for row in saved["JSON"].json()] == [row["template"] for row in rows]
    assert saved["CSV"].headers["content-disposition"] == 'attachment; filename="templates.csv"'
    page = answers.get("/templates", params={"index": "made", "n": 3}).text
    (place,) = re.findall(r'<a href="([^"]*)" download>JSON</a>', page)
    rows = answers.get(html.unescape(place)).json()
    shown = re.findall(r"<code[^>]*><bdi>([^<]*)</bdi></code>", page)
    assert [row["template"] for row in rows] == [html.unescape(one) for one in shown]


def test_the_legend_has_every_tag_of_the_annotator() -> None:
    layers = annotators.get()([Document("0", "It rains.")], ("pos", "upos", "dep")).layers
    for layer, known in LEGEND.items():
        assert set(layers[layer].vocabulary) <= set(known)
        assert all(name and example for name, example in known.values())
