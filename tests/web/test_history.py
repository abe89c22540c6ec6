"""Results are kept by signature: found again, read back, put side by side, deleted."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from rote.core.errors import InputError, UnknownName
from rote.core.evidence import Evidence, Mark
from rote.core.result import Interval, Result, SourceResult, panel_to_json
from rote.core.signature import Signature
from rote.report.report import Material, Report
from rote.web.database import prepare_store
from rote.web.history import History
from rote.web.routes.history import side_by_side
from rote.web.workspace import Workspace


@pytest.fixture
def history(opened: Workspace) -> History:
    prepare_store(opened.store)
    return History(opened.store)


def test_results_come_back_as_they_went_in(history: History) -> None:
    result = made(ttr=0.5)
    id = history.add([result], title="A title")
    (back,) = history.results(id)
    assert back.to_dict() == result.to_dict()
    entry = history.get(id)
    assert (entry.title, entry.kind, entry.measures) == ("A title", "compare", ["lexical"])
    assert entry.sources == ["human", "model|x"]
    assert entry.address == f"/compare/result/{id}"


def test_a_study_comes_back_whole(history: History) -> None:
    mark = Mark(0, 3, "DT NN", "template", ({"document": "d"},))
    study = Report(
        title="Report",
        created="2026-01-02T03:04:05+00:00",
        version="0.1.0",
        reference="human",
        materials=(Material("texts", "a.jsonl", "abc", {"texts": 3}),),
        tools=(),
        results=(made(ttr=0.5), made("compression", layer="pos")),
        evidence=(Evidence("templates", "human", "1", "The cat", (mark,)),),
        notes=("sampled",),
    )
    id = history.add(study, title="x")
    assert history.study(id).to_dict() == study.to_dict()


def test_the_same_again_takes_the_place_of_the_old(history: History) -> None:
    first = history.add([made(ttr=0.5)], title="old")
    assert history.add([made(ttr=0.5)], title="new") == first
    assert history.count() == 1
    assert history.get(first).title == "new"
    assert history.add([made(seed="1")], title="other") != first
    assert history.add([made(ttr=0.5)], title="x", settings={"files": ["b"]}) != first


def test_other_numbers_under_the_same_signature_are_kept_beside(history: History) -> None:
    kept = {history.add([made(ttr=ttr)], title="r") for ttr in (0.04, 0.82)}
    assert len(kept) == history.count() == 2


def test_the_newest_is_first_and_words_are_found_anywhere(history: History) -> None:
    first = history.add([made()], title="Stories of 2024")
    second = history.add([made("compression", layer="100%_x")], title="Poems")
    assert [entry.id for entry in history.entries()] == [second, first]
    assert [entry.id for entry in history.entries("stories lexical")] == [first]
    assert [entry.id for entry in history.entries("layer:100%_x")] == [second]
    assert history.entries("layer:100%ax") == [], "signs of the search are letters"
    assert history.entries("' or 1 = 1 --") == []
    assert history.count("model|x") == 2
    assert len(history.entries(limit=1, offset=1)) == 1


def test_what_is_deleted_is_gone(history: History) -> None:
    id = history.add([with_texts()], title="x")
    assert history.delete([id, "unknown"]) == 1
    assert history.text_places(id) == {}
    for call in (history.get, history.results, history.study):
        with pytest.raises(UnknownName):
            call(id)


def test_values_of_texts_are_sorted_and_paged(history: History) -> None:
    id = history.add([made(), with_texts()], title="x", excerpts={("", "t1"): "Once upon"})
    assert history.text_places(id) == {1: ["human", "model|x"]}
    rows, total = history.texts(id, 1, sort="score", descending=True)
    assert total == 5
    assert [row["id"] for row in rows] == ["t4", "t3", "t1", "t0", "t2"], "undefined comes last"
    assert rows[2]["excerpt"] == "Once upon"
    rows, total = history.texts(id, 1, source="human", sort="words", limit=1, offset=1)
    assert (total, [row["id"] for row in rows]) == (2, ["t0"])
    assert history.texts(id, 1, sort='x" or 1') == history.texts(id, 1)
    assert history.text(id, "human", "t1") == {1: {"score": 2.0}}
    assert "texts" not in history.results(id)[1].tables


def test_files_of_the_shell_are_read_in(history: History, tmp_path: Path) -> None:
    one, panel = tmp_path / "one.json", tmp_path / "panel.json"
    one.write_text(made().to_json())
    panel.write_text(panel_to_json([made(), made("compression")]))
    assert history.get(history.read_in(one)).title == "one"
    assert history.get(history.read_in(panel)).measures == ["lexical", "compression"]
    study = history.study(history.read_in(panel))
    whole = tmp_path / "study.json"
    whole.write_text(study.to_json())
    assert history.study(history.read_in(whole)).to_dict() == study.to_dict()
    whole.write_text(json.dumps({**study.to_dict(), "given": [{"rolle": "texts"}]}))
    with pytest.raises(InputError, match="study"):
        history.read_in(whole)


def test_what_differs_in_the_settings_is_said(history: History) -> None:
    ids = [
        history.add([made(ttr=0.5, texts="aaa")], title="A"),
        history.add([made(ttr=0.6, texts="bbb")], title="B"),
        history.add([made(ttr=0.7, window="99", texts="aaa"), made("compression")], title="C"),
    ]
    held = [(id, history.results(id)) for id in ids]
    (same,) = side_by_side(held[:2])
    assert same["alike"]
    assert [one["setting"] for one in same["differences"]] == ["texts"]
    assert [line["source"] for line in same["lines"]] == ["human", "model|x"] * 2
    assert [line["cells"][0]["estimate"] for line in same["lines"]] == [
        *("0.5000", "0.4000"),
        *("0.6000", "0.4000"),
    ]
    assert same["lines"][0]["cells"][0]["reach"] == "0.4000 to 0.6000"
    lexical, compression = side_by_side([held[0], held[2]])
    assert not lexical["alike"]
    assert lexical["differences"] == [{"setting": "window", "values": [None, "99"]}]
    assert compression["entries"] == ids[2:]


class TestPages:
    def test_history_is_listed_searched_and_compared(
        self, client: TestClient, history: History
    ) -> None:
        ids = [history.add([made(ttr=0.5, seed=str(n))], title=f"Result {n}") for n in range(3)]
        page = client.get("/history").text
        assert all(f"Result {n}" in page for n in range(3))
        assert "Result 2" not in client.get("/history?q=seed:1").text
        assert client.get("/history/compare?id=" + "&id=".join(ids)).status_code == 200
        assert "settings differ" in client.get("/history/compare?id=" + "&id=".join(ids)).text
        for wrong in ("", f"?id={ids[0]}", "?id=" + "&id=".join(map(str, range(9)))):
            assert client.get(f"/history/compare{wrong}").status_code == 400
        found = client.get("/api/results?q=seed:1").json()
        assert (found["total"], found["results"][0]["id"]) == (1, ids[1])
        blocks = client.get(f"/api/results/compare?id={ids[0]}&id={ids[1]}").json()
        assert blocks[0]["differences"][0]["setting"] == "seed"
        whole = client.get(f"/api/results/{ids[0]}").json()
        assert whole["panel"][0]["measure"] == "lexical"

    def test_deleting_asks_first(self, client: TestClient, history: History) -> None:
        id = history.add([made()], title="To go")
        page = client.post("/history/delete", data={"id": id})
        assert page.status_code == 200
        assert "To go" in page.text
        assert history.count() == 1
        gone = client.post("/history/delete", data={"id": id, "sure": "yes"})
        assert gone.headers["location"] == "/history"
        assert history.count() == 0
        assert client.post("/history/delete").status_code == 400
        assert client.post("/api/results/unknown/delete").json() == {"deleted": 0}

    def test_no_path_of_the_machine_is_told(self, client: TestClient, history: History) -> None:
        history.add([made()], title="x", files={"a.jsonl": "/home/me/a.jsonl"})
        assert "/home/me" not in client.get("/api/results").text
        assert "/home/me" not in client.get("/history").text


def made(measure: str = "lexical", ttr: float = 0.5, **settings: str) -> Result:
    row: Mapping[str, Any] = {
        "value": "ttr",
        "title": "type-token ratio",
        "higher": "diverse",
        "length_sensitive": True,
        "relative": False,
    }
    pairs = (("measure", measure), *settings.items(), ("rote", "0.1.0"))
    human = SourceResult(2, 20, {"ttr": ttr}, {"ttr": (ttr - 0.1, ttr + 0.1)}, ("a note",))
    return Result(
        measure=measure,
        signature=Signature(pairs),
        by=("source",),
        reference="human",
        interval=Interval(0.95, "jackknife"),
        by_source={"human": human, "model|x": SourceResult(3, 30, {"ttr": 0.4})},
        tables={"values": (row,)},
    )


def with_texts() -> Result:
    from dataclasses import replace

    rows = [
        {"source": "human" if n < 2 else "model|x", "id": f"t{n}", "words": 9 - n, "score": score}
        for n, score in enumerate((1.0, 2.0, math.nan, 3.0, 4.0))
    ]
    result = made("originality")
    return replace(result, tables={**result.tables, "texts": rows})
