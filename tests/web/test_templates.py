from __future__ import annotations

import csv
import html
import io
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from rote.annotate import annotators
from rote.annotate.tag_glossary import LEGEND
from rote.core.document import Document
from rote.core.errors import OptionError, RoteError
from rote.core.progress import Silent
from rote.web import job_worker as work
from rote.web.form_fields import form_from_json
from rote.web.forms import TemplatesForm
from rote.web.routes.templates import IndexTemplatesAnswer, TemplatesAnswer
from rote.web.workspace import Workspace
from tests.kit import ended_job, write_jsonl
from tests.web.asked import ESCAPE, NUL, OVERRIDE, client, harmless, made_index
from tests.web.conftest import Calling
from tests.web.job_here import Worker

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
    write_jsonl(
        path,
        (
            {"id": f"{source}-{i}", "source": source, "text": text}
            for i, (source, text) in enumerate(rows)
        ),
    )
    return {"texts.jsonl": path}


@pytest.fixture(scope="module")
def opened(files: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    index = made_index(tmp_path_factory.mktemp("index") / "idx", layers=("lower", "pos"))
    return Workspace({"made": index}, files, tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="module")
def app(opened: Workspace) -> Iterator[TestClient]:
    with served(opened) as app:
        yield app


@contextmanager
def served(opened: Workspace) -> Iterator[TestClient]:
    """An app whose work is done in this process, since another would import all of it again."""
    app = client(opened.store, indexes=opened.indexes, files=opened.files)
    jobs = app.app.state.jobs  # type: ignore[attr-defined]
    jobs._process = lambda folder: Worker()
    yield app
    jobs.stop()


def measured(app: TestClient, **given: Any) -> str:
    """Where what was asked for is shown."""
    answer = app.post("/templates", data=given, follow_redirects=False)
    assert answer.status_code == 303, answer.text
    place = str(answer.headers["location"])
    if place.startswith("/jobs/"):
        job = ended_job(app, f"/api{place}")
        assert job["state"] == "done", job["error"]
        place = job["result"]
    return place.partition("?")[0]


def shown(app: TestClient, **given: Any) -> str:
    chosen = {name: given.pop(name) for name in ("source", "template", "text") if name in given}
    page = app.get(measured(app, file="texts.jsonl", n=5, **given), params=chosen)
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
    early = app.get("/api/templates", params=given)
    assert early.status_code == 400
    assert "POST /api/templates" in early.json()["error"]["message"]
    asked = {"files": ["texts.jsonl"], "n": 5, "reference": "plain"}
    job = app.post("/api/templates", json=asked).json()
    ended_job(app, job["address"])
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


def test_a_link_starts_nothing_and_a_click_starts_one_job(
    opened: Workspace, calling: Calling
) -> None:
    """Tagging takes a while: it is work of a process, and its page shows how far it is."""
    app = calling(replace(opened, store=opened.store / "other", at_once=0))
    given = {"file": "texts.jsonl", "n": 4, "by": "source"}
    page = app.get("/templates", params=given)
    assert page.status_code == 200
    assert ">Find templates</button>" in page.text
    assert "Sources" not in page.text
    assert app.get("/api/jobs").json() == []
    place = app.post("/templates", data=given).headers["location"]
    assert place.startswith("/jobs/")
    # Asked for again, by whichever way, it is the same work.
    assert app.get("/templates", params=given).headers["location"] == place
    assert app.post("/templates", data=given).headers["location"] == place
    assert len(app.get("/api/jobs").json()) == 1


def test_what_was_measured_is_shown_at_once(app: TestClient) -> None:
    given = {"file": "texts.jsonl", "n": 7, "by": "source"}
    place = measured(app, **given)
    again = app.get("/templates", params={**given, "source": "plain"}, follow_redirects=False)
    assert again.headers["location"] == f"{place}?source=plain"
    assert (
        app.post("/templates", data=given, follow_redirects=False)
        .headers["location"]
        .startswith(f"{place}?found=")
    )


def test_the_work_keeps_its_result_and_its_page_shows_it(
    app: TestClient, opened: Workspace
) -> None:
    asked = TemplatesForm(("texts.jsonl",), n=5)
    address = work.run_job(asked.kind, json.loads(json.dumps(asdict(asked))), opened, Silent())
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
    ],
)
def test_a_wrong_setting_is_named_on_the_page(
    app: TestClient, given: dict[str, str], says: str
) -> None:
    asked = {"file": "texts.jsonl", **given}
    for page in (app.get("/templates", params=asked), app.post("/templates", data=asked)):
        assert page.status_code in (400, 404)
        assert says in page.text


def test_an_address_holds_what_differs_from_the_usual() -> None:
    asked = TemplatesForm(("a b.jsonl", "c"), n=4, reference="plain")
    assert asked.address == "/templates?file=a+b.jsonl&file=c&n=4&by=&reference=plain"
    assert form_from_json(TemplatesForm, json.loads(json.dumps(asdict(asked)))) == asked
    with pytest.raises(OptionError, match="no file"):
        TemplatesForm().check(Workspace({}, {}, Path("store")))


# -- for whoever comes without knowing tags ---------------------------------------------------

ANSWERS = [
    ("human", "Gulls slept. We went out and it rained."),
    ("human", "Nobody heard it. Then she laughed."),
    ("model", "The old dog saw the red gate. The tall man saw the blue door."),
    ("model", "The wet cat ate the cold fish. The old man saw the red door."),
]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("answers")
    lines = [
        json.dumps({"id": str(i), "model": source, "text": text})
        for i, (source, text) in enumerate(ANSWERS)
    ]
    (folder / "answers.jsonl").write_text("\n".join(lines))
    files = {"answers.jsonl": folder / "answers.jsonl"}
    index = made_index(folder / "idx", layers=("lower", "pos"))
    with served(Workspace({"made": index}, files, folder / "store")) as app:
        yield app


def begun(app: TestClient) -> str:
    """The page that opens, and what a click on its button leads to."""
    page = app.get("/templates").text
    fields = re.findall(r'<input [^>]*name="(\w+)"[^>]* value="([^"]*)"', page)
    file, reference = re.findall(r'<option value="([^"]*)" selected>', page)
    return app.get(measured(app, file=file, **dict(fields), reference=reference)).text


def test_the_page_opens_on_a_model_with_its_fields_filled_in(answers: TestClient) -> None:
    for page in (answers.get("/templates").text, begun(answers)):
        assert re.search(r'<option value="answers.jsonl" selected>', page)
        assert re.search(r'name="by" value="model"', page)
        assert '<option value="human" selected>human</option>' in page
        assert '<option value="model">model</option>' in page
    assert "Templates of <bdi>model</bdi>" in page
    assert "log-odds" in page
    without = measured(answers, file="answers.jsonl", by="model", reference="")
    assert "log-odds" not in answers.get(without).text


def test_templates_are_ordered_by_z_against_a_reference_and_else_by_count(
    answers: TestClient,
) -> None:
    def column(page: str, name: str) -> list[str]:
        table = page[page.index('id="templates"') :]
        heads = re.findall(r"<th[^>]*>([^<]*)</th>", table[: table.index("</thead>")])
        rows = re.findall(r"<tr><td.*?</tr>", table[: table.index("</tbody>")])
        cells = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in rows]
        assert [row[0] for row in cells] == [str(n) for n in range(1, len(rows) + 1)]
        return [row[heads.index(name)] for row in cells]

    z = [float(one.replace("−", "-")) for one in column(begun(answers), "z")]
    assert z == sorted(z, reverse=True)
    assert len({*z}) > 1
    without = answers.get(measured(answers, file="answers.jsonl", by="model", reference="")).text
    counts = [int(one) for one in column(without, "count")]
    assert counts == sorted(counts, reverse=True)


def test_a_reference_that_was_guessed_and_does_not_serve_is_left_out_and_named(
    tmp_path: Path,
) -> None:
    path = tmp_path / "few.jsonl"
    lines = [json.dumps({"source": source, "text": text}) for source, text in ANSWERS[1:]]
    path.write_text("\n".join(lines))
    with served(Workspace({}, {"few.jsonl": path}, tmp_path / "store")) as app:
        page = begun(app)
    assert "Not compared with &#39;human&#39;: " in page
    assert "--reference" not in page
    assert "Templates of <bdi>model</bdi>" in page
    opened = Workspace({}, {"few.jsonl": path}, tmp_path / "store")
    chosen = TemplatesForm(("few.jsonl",), by="source", reference="human")
    with pytest.raises(RoteError, match="human"):
        chosen.perform(opened, Silent())


@pytest.mark.parametrize("given", [{}, {"index": "made"}])
def test_every_tag_that_is_shown_is_explained(answers: TestClient, given: dict[str, str]) -> None:
    page = answers.get("/templates", params=given).text if given else begun(answers)
    shown = {
        tag
        for template in re.findall(r"<code[^>]*><bdi>([^<]*)</bdi></code>", page)
        for tag in html.unescape(template).split()
    }
    explained = {html.unescape(tag) for tag in re.findall(r"<dt><code>([^<]*)</code></dt>", page)}
    assert shown == explained != set()
    assert re.search(r'<code title="determiner, adjective, noun, singular', page)


def test_templates_are_downloaded_as_they_are_shown(answers: TestClient) -> None:
    page = begun(answers)
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
