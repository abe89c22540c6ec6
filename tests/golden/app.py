"""The pages of the web app, over little data. Its work is done here, since another process would
import all of it again; that it can be done elsewhere is tested in tests/web."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rote.corpus import open_corpus
from tests.cli.calls import World
from tests.golden import plain
from tests.kit import ended_job

_BY = {"by": "source", "reference": "plain", "permutations": "9"}
_FORM = "/compare"
_PASTED = "The old cat sat on a mat by the door. Nobody had opened the tin with a key before."


class App:
    """An app with some texts and an index, and the ids of what was made in it."""

    def __init__(self, world: World) -> None:
        pytest.importorskip("fastapi")
        from fastapi.testclient import TestClient

        from rote.web.app import make_app
        from rote.web.workspace import Workspace
        from tests.web.job_here import work_here

        answers = [
            {"id": one.id, "text": one.text, **one.meta} for one in open_corpus(["example:answers"])
        ]
        files = {
            "answers.jsonl": Path(world.lines("answers.jsonl", answers)),
            "texts.jsonl": Path(world.texts),
        }
        app = make_app(Workspace({"corpus": Path(world.index)}, files, Path("store")))
        self.client = TestClient(app, base_url="http://localhost", follow_redirects=False)
        self.jobs = app.state.jobs
        work_here(self.jobs)
        self.ids: dict[str, str] = {}
        self.found: dict[str, str] = {}

    def get(self, address: str, **params: Any) -> None:
        """Keep what an address shows."""
        answer = self.client.get(address, params=params or None)
        self.keep(f"GET {answer.url.raw_path.decode()}", answer)

    def post(self, address: str, data: Mapping[str, Any]) -> str:
        """Send a form; where it leads."""
        answer = self.client.post(address, data=dict(data))
        if answer.status_code != 303:
            self.keep(f"POST {address}", answer)
            return ""
        return str(answer.headers["location"])

    def keep(self, title: str, answer: Any) -> None:
        kind = answer.headers.get("content-type", "").partition(";")[0]
        form, normal = {
            "text/html": ("html", plain.of_html),
            "application/json": ("json", plain.of_json),
            "text/csv": ("csv", plain.of_csv),
        }.get(kind, ("text", plain.of_text))
        code = "" if answer.status_code == 200 else f" {answer.status_code}"
        title, text = self._known(f"{form} {title}{code}"), self._known(normal(answer.text))
        # A form is shown again and again: only what it did not show at first is kept.
        first = self.found.get(f"{form} GET {_FORM}")
        self.found[title] = plain.beside(text, first) if first and _FORM in title else text

    def known_as(self, id: str, name: str) -> str:
        self.ids[id] = name
        return id

    def _known(self, text: str) -> str:
        for id, name in self.ids.items():
            text = text.replace(id, name)
        return text

    def worked(self, place: str, name: str) -> str:
        """Wait for a job; where its result is."""
        id = self.known_as(place.rpartition("/")[2], f"JOB-{name}")
        job = ended_job(self.client, f"/api/jobs/{id}")
        assert job["state"] == "done", job["error"]
        self.known_as(re.split(r"[/?]", job["result"])[3], f"RESULT-{name}")
        return str(job["result"])


def pages(world: World) -> dict[str, str]:
    app = App(world)
    try:
        for part in (_before, _comparing, _running, _searching, _tracing, _templates, _after):
            part(app)
    finally:
        app.jobs.stop()
    return app.found


def _before(app: App) -> None:
    for address in ("/", "/compare", "/trace", "/search", "/templates", "/history", "/jobs"):
        app.get(address)
    for address in ("/run", "/run/lexical", "/run/memorization", "/api"):
        app.get(address)
    app.get("/nowhere")
    app.get("/compare", file="answers.jsonl", measure="lexical", seed="x")


def _comparing(app: App) -> None:
    asked = {"file": "answers.jsonl", "measure": ["lexical", "self-repetition"], **_BY}
    app.get("/compare", **asked)
    app.post("/compare", {"file": "answers.jsonl"})
    place = app.worked(app.post("/compare", asked), "one")
    app.get(place)
    app.get(f"{place}/texts", place=0, source="plain", sort="mattr", down="true")
    app.get(f"{place}/text", source="plain", text="plain/a walk")
    app.get(f"{place}/values.csv")
    app.get(f"{place}/texts/values.csv", place=0)
    other = {**asked, "measure": "lexical", "lexical.window": "20"}
    again = app.worked(app.post("/compare", other), "two")
    app.client.get(again)  # so that it is drawn, and the first page can show it
    ids = [one.rpartition("/")[2] for one in (place, again)]
    app.get("/history/compare", id=ids)
    app.post("/history/delete", {"id": ids[1]})
    app.get(f"/api/results/{ids[0]}/texts", place=0, limit=2)


def _running(app: App) -> None:
    """One command by itself, what is said of a job, and what is left of a deleted result."""
    asked = {"input": "texts.jsonl", "by": "source", "permutations": "0", "matched": "no"}
    app.post("/run/lexical", {**asked, "window": "many"})
    job = app.post("/run/lexical", {**asked, "window": "9"})
    place = app.worked(job, "run")
    app.get(place)
    app.get(f"{job}?stay=true")
    app.client.post("/history/delete", data={"id": place.rpartition("/")[2], "sure": "yes"})
    app.get(f"{place}?gone")
    app.get("/history", q="window:20")


def _searching(app: App) -> None:
    for more in ({}, {"by": "author"}, {"view": "forms"}, {"view": "groups"}):
        app.get("/search", index="corpus", q="the", **more)
    app.get("/search", index="corpus", q="a [lemma=mat]", layer="lower")
    app.get("/search", index="corpus", q="[")
    app.get("/search/top", index="corpus", n=2)
    app.get("/search/export.csv", index="corpus", q="the")
    app.get("/document/corpus", id="0")
    app.get("/api/search", index="corpus", q="the")


def _tracing(app: App) -> None:
    place = app.post("/trace", {"index": "corpus", "text": _PASTED, "min_words": "4"})
    app.known_as(re.split(r"[/?]", place)[2], "TEXT")
    app.get(place)
    app.get(f"{place}&view=matches")


def _templates(app: App) -> None:
    asked = {"file": "answers.jsonl", "n": "5", "top": "5"}
    app.get("/templates", **asked)
    app.get("/api/templates", **asked)
    place = app.worked(app.post("/templates", asked), "templates")
    app.get(place)
    app.get(f"{place}?source=plain&template=DT+NN+IN+DT+NN")
    app.get("/api/templates", **asked)
    app.get("/templates", index="corpus", n=3)


def _after(app: App) -> None:
    for address in ("/?after", "/history?after", "/jobs?after", "/api/results"):
        app.get(address)
