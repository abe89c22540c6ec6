"""The page for judges in the app: what the shell writes, and allowed to run."""

from __future__ import annotations

import json
from pathlib import Path

import rote
from tests.kit import write_jsonl
from tests.web.asked import client


def test_the_app_serves_the_page_that_the_shell_writes(tmp_path: Path) -> None:
    file = tmp_path / "summaries.jsonl"
    write_jsonl(
        file,
        (
            {
                "id": f"{n}{who}",
                "doc_id": str(n),
                "source": who,
                "text": f"{who} says",
                "document": "A long day.",
            }
            for n in range(3)
            for who in ("all", "few")
        ),
    )
    app = client(tmp_path / "store", files={"summaries.jsonl": file})
    assert 'href="/judge/summaries.jsonl"' in app.get("/").text
    made = rote.judge_page(file, output=tmp_path / "page.html", sample=2)
    page = app.get("/judge/summaries.jsonl", params={"sample": 2})
    assert page.text == (tmp_path / "page.html").read_text("utf-8")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'; script-src 'sha256-" in policy
    assert "unsafe" not in policy
    key = app.get("/api/judge/summaries.jsonl", params={"sample": 2}).json()
    assert key["sources"] == json.loads(Path(made.about["key"]).read_text("utf-8"))["sources"]


def test_a_file_without_documents_is_refused_in_words(tmp_path: Path) -> None:
    file = tmp_path / "plain.jsonl"
    file.write_text('{"id": "1", "text": "no document", "source": "a"}\n')
    app = client(tmp_path / "store", files={"plain.jsonl": file})
    assert "judge" not in app.get("/").text
    page = app.get("/judge/plain.jsonl")
    assert page.status_code == 400
    assert "A summary needs its document" in page.text
