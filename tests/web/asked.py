"""A small index with texts that mean harm, and an app over it, without a server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from rote.core.document import Document
from rote.core.result import Interval, Result, SourceResult
from rote.core.signature import Signature
from rote.web.app import make_app
from rote.web.database import prepare_store
from rote.web.history import History
from rote.web.workspace import Workspace
from tests.indexes import build_index

ESCAPE, NUL, OVERRIDE, LONE = "\x1b", "\x00", "\u202e", "\ud800"
LONG = "x" * 1_000_000
TEXTS = {
    "one": ("The old dog slept. The dog ran to the red gate, and the cat ran too.", "Ada"),
    "two": ("A cat saw the old dog. Nobody saw the old cat run to the red gate.", "Bo"),
    "three": ("The red gate was shut. An old dog came to the gate and slept there.", "Ada"),
    '<script>alert("id")</script>': ("<script>alert('text')</script> the dog & the cat", ""),
    "../../etc/passwd": (f"the dog {ESCAPE}[31mred{ESCAPE}[0m gate {NUL} dog", ""),
    f"turned{OVERRIDE}": (f"the dog {OVERRIDE}went home\u2066 \u200e dog", ""),
    "long": (f"the dog {LONG} dog", ""),
}


def documents(texts: dict[str, tuple[str, str]] = TEXTS) -> list[Document]:
    return [
        Document(name, text, {"source": "made", "author": author, "year": 1900 + len(name)})
        for name, (text, author) in texts.items()
    ]


def made_index(path: Path, found: list[Document] | None = None, **settings: Any) -> Path:
    settings.setdefault("layers", ("lower", "lemma", "pos"))
    build_index(documents() if found is None else found, path, **settings)
    return path


def client(store: Path, **given: Any) -> TestClient:
    given.setdefault("indexes", {})
    given.setdefault("files", {})
    return TestClient(make_app(Workspace(store=store, **given)), base_url="http://localhost")


def harmless(page: str) -> None:
    """Nothing in a page acts: no script of a text, no control character, no turned direction."""
    assert "<script>" not in page
    assert "alert('text')<" not in page
    for sign in (ESCAPE, NUL, OVERRIDE, "\u2066", "\u200e", LONE):
        assert sign not in page
    assert " style=" not in page
    assert "onclick" not in page


def kept_result(opened: Workspace, name: str = "human", file: Path | None = None) -> str:
    """The id of a result whose source, title, notes and texts bear this name."""
    prepare_store(opened.store)
    source = name[:500]
    row = {
        "value": "ttr",
        "title": "TTR",
        "higher": "diverse",
        "length_sensitive": True,
        "relative": False,
    }
    result = Result(
        measure="lexical",
        signature=Signature((("measure", "lexical"), ("seed", "0"))),
        by=("source",),
        reference=None,
        interval=Interval(0.95, "jackknife"),
        by_source={source: SourceResult(3, 30, {"ttr": 0.5}, {"ttr": (0.4, 0.6)}, (source,))},
        tables={
            "values": [row],
            "texts": [{"source": source, "id": source, "words": 9, "ttr": 0.5}],
        },
    )
    return History(opened.store).add(
        [result],
        title=name,
        files={"texts.jsonl": str(file)} if file else {},
        excerpts={source: name},
    )
