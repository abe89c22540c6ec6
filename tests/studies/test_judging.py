"""The page for judges, and what their answers come to."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rote
from rote.core.errors import InputError, UnknownName


def texts() -> list[dict[str, Any]]:
    return [
        {
            "id": f"{doc}-{source}",
            "doc_id": doc,
            "source": source,
            "text": f"{source} of {doc}",
            "document": f"Document {doc} </script> says é.",
        }
        for doc in ("d1", "d2", "d3")
        for source in ("all", "theta=2")
    ]


def page(folder: Path, **more: Any) -> tuple[Any, dict[str, str], dict[str, Any]]:
    made = rote.judge_page(texts(), output=folder / "page.html", **more)
    html = (folder / "page.html").read_text("utf-8")
    data = html.partition('type="application/json">')[2].partition("</script>")[0]
    key = json.loads((folder / "page.key.json").read_text("utf-8"))["sources"]
    return made, key, json.loads(data)


def test_the_page_holds_all_summaries_and_does_not_say_whose_they_are(tmp_path: Path) -> None:
    made, key, data = page(tmp_path)
    assert made.about["summaries"] == 6
    held = [one for item in data["items"] for one in item["summaries"]]
    assert {one["text"]: key[one["key"]] for one in held} == {
        t["text"]: t["source"] for t in texts()
    }
    assert "source" not in json.dumps(data)
    assert data["items"][0]["document"] == "Document d1 </script> says é."
    assert len({tuple(key[s["key"]] for s in item["summaries"]) for item in data["items"]}) <= 2


def test_documents_are_drawn_by_the_seed(tmp_path: Path) -> None:
    _, _, data = page(tmp_path, sample=2)
    _, _, again = page(tmp_path, sample=2)
    assert len(data["items"]) == 2
    assert data == again


def test_summaries_without_a_document_are_refused(tmp_path: Path) -> None:
    some = [{**one, "document": " "} for one in texts()]
    with pytest.raises(InputError, match="A summary needs its document"):
        rote.judge_page(some, output=tmp_path / "page.html")
    twice = [*texts(), {**texts()[0], "id": "again"}]
    with pytest.raises(InputError, match="two summaries of 'all'"):
        rote.judge_page(twice, output=tmp_path / "page.html")


def answer(judge: str, doc: str, summary: str, covered: int, made_up: int) -> dict[str, Any]:
    return {
        "kind": "summary",
        "judge": judge,
        "doc_id": doc,
        "summary": summary,
        "highlights": 4,
        "covered": list(range(covered)),
        "made_up": made_up,
    }


def write(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_answers_of_several_judges_are_joined(tmp_path: Path) -> None:
    _, key, data = page(tmp_path)
    named = {(i["doc_id"], key[s["key"]]): s["key"] for i in data["items"] for s in i["summaries"]}
    said = {"all": (1, 2), "theta=2": (3, 0)}
    files = []
    for judge in ("ann", "bob"):
        rows: list[dict[str, Any]] = [
            {"kind": "highlights", "judge": judge, "doc_id": doc, "spans": [[0, 3]]}
            for doc in ("d1", "d2", "d3")
        ]
        for (doc, source), name in named.items():
            covered, made_up = said[source]
            # Bob finds both alike in one document.
            covered = 1 if (judge, doc) == ("bob", "d3") else covered
            rows.append(answer(judge, doc, name, 4, 9))  # taken back by the next
            rows.append(answer(judge, doc, name, covered, made_up))
        files.append(write(tmp_path / f"{judge}.jsonl", rows))
    found = rote.judge_agreement(files, key=tmp_path / "page.key.json")
    assert found.by_source["all"].values["relevance"] == pytest.approx(0.25)
    assert found.by_source["theta=2"].values["relevance"] == pytest.approx((5 * 0.75 + 0.25) / 6)
    assert found.by_source["all"].values["consistent"] == 0
    (wins,) = [row for row in found.tables["wins"] if row["of"] == "relevance"]
    assert (wins["a"], wins["b"], wins["judgements"]) == ("all", "theta=2", 6)
    assert wins["b_better"] == pytest.approx(5 / 6)
    assert wins["alike"] == pytest.approx(1 / 6)
    assert wins["b_better_low"] < 5 / 6 < wins["b_better_high"]
    levels = {(row["of"], row["what"], row["level"]): row for row in found.tables["agreement"]}
    assert len(levels) == 18
    assert levels["consistency", "facts made up", "interval"]["alpha"] == 1.0
    assert {(row["units"], row["documents"]) for row in levels.values()} == {(6, 3), (3, 3)}
    # All say the same of which is more consistent: nothing to tell apart.
    assert math.isnan(levels["consistency", "better of two", "nominal"]["alpha"])
    assert "Krippendorff" in found.table()


def test_agreement_is_that_of_what_the_table_shows(tmp_path: Path) -> None:
    krippendorff = pytest.importorskip("krippendorff")
    # Bob marks twice as many highlights as Ann, and finds the same share of them covered.
    marked = {"ann": 2, "bob": 4}
    covered = {"d1": (0, 0), "d2": (1, 2), "d3": (2, 4), "d4": (1, 3)}
    rows = [
        answer(judge, doc, "x", own[number], number) | {"highlights": marked[judge]}
        for number, judge in enumerate(marked)
        for doc, own in covered.items()
    ]
    nothing = [answer(judge, "d5", "x", 0, 0) | {"highlights": 0} for judge in marked]
    found = rote.judge_agreement(write(tmp_path / "both.jsonl", rows + nothing))
    levels = {(row["of"], row["what"], row["level"]): row for row in found.tables["agreement"]}
    counts = np.array(list(covered.values()), float).T
    shares = counts / np.array([[2], [4]])
    for what, ratings in (("highlights covered", shares), ("count of highlights covered", counts)):
        for level in ("nominal", "ordinal", "interval"):
            shown = ratings
            if ratings is counts:
                shown = np.column_stack((counts, [0, 0]))  # of no highlights none is covered
            expected = krippendorff.alpha(shown, level_of_measurement=level)
            assert levels["relevance", what, level]["alpha"] == pytest.approx(expected)
    both = [
        levels["relevance", what, "interval"]["alpha"]
        for what in ("highlights covered", "count of highlights covered")
    ]
    assert both[0] > 0.9 > both[1] + 0.2


def test_one_judge_alone_has_no_agreement(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [answer("ann", "d1", "x", 2, 0)])
    found = rote.judge_agreement(path)
    assert found.notes == ("one judge alone: no agreement",)
    assert found.by_source["x"].values["relevance"] == 0.5


def test_what_is_no_answer_is_refused_by_its_line(tmp_path: Path) -> None:
    wrong = answer("ann", "d1", "x", 2, 0) | {"highlights": 1}
    path = write(tmp_path / "a.jsonl", [answer("ann", "d1", "x", 2, 0), wrong])
    with pytest.raises(InputError, match=r"a\.jsonl, line 2: no answer"):
        rote.judge_agreement(path)
    page(tmp_path)
    with pytest.raises(UnknownName, match="unknown summary 'x'"):
        rote.judge_agreement(
            write(tmp_path / "b.jsonl", [answer("ann", "d1", "x", 2, 0)]),
            key=tmp_path / "page.key.json",
        )
