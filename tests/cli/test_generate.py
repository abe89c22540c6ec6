"""`rote generate` as a user meets it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import Result

from rote.cli import _progress
from rote.core.errors import OptionError, RoteError
from rote.search.open_models import open_model
from tests.indexes import build_index
from tests.kit import invoke, read_jsonl, succeeded, write_jsonl
from tests.models.endpoint_server import Served, serving, vllm

KEY = "sk-never-to-be-seen-9876543210"
TABLE = {"": {"one": 0.6, "two": 0.4}, "one": {"two": 0.9, "": 0.1}, "two": {"": 0.5, "one": 0.5}}


pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture
def fake(tmp_path: Path) -> str:
    (tmp_path / "table.json").write_text(json.dumps(TABLE))
    return f"fake:{tmp_path / 'table.json'}"


def run(*arguments: str) -> Result:
    return invoke("generate", *arguments)


def done(*arguments: str) -> Result:
    return succeeded(run(*arguments))


def test_an_index_continues_the_beginnings_of_texts(tmp_path: Path) -> None:
    text = "Some seed fell into good ground, and brought forth fruit a hundredfold."
    build_index([text], tmp_path / "idx", layers=("lower",))
    given = write_jsonl(tmp_path / "in.jsonl", [{"id": "sower", "text": text, "book": "13"}])
    path = tmp_path / "o.jsonl"
    done(f"prefix:{given}", "--words", "3", "--model", f"index:{tmp_path / 'idx'}", "-o", str(path))
    held = read_jsonl(path)[0]
    assert held["prompt"] == "Some seed fell"
    assert held["text"] == held["reference"] == text.removeprefix("Some seed fell")
    assert (held["doc_id"], held["book"], held["source"]) == ("sower", "13", "idx")
    assert (held["ended"], held["incomplete"]) == ("end", False)
    scores = invoke("lexical", str(path), "--by", "source", "--json")
    assert scores.exit_code == 0
    assert json.loads(scores.stdout)["sources"]["idx"]["texts"] == 1


def test_contradictions_are_refused_first(fake: str, tmp_path: Path) -> None:
    out = str(tmp_path / "o.jsonl")
    for flags, reason in (
        (["start", "-o", out], "no model: name one or more with --model"),
        (["start", "--model", fake, "--top-k", "3", "-o", out], "temperature 0 does not sample"),
        (["set:none", "--model", fake, "-o", out], "unknown set of prompts"),
        (["start", "--model", "nobody:x", "-o", out], "unknown model backend"),
        ([out, "--model", fake, "-o", out], "overwrite the input"),
        (["start", "--model", fake, "--samples", "0", "-o", out], "samples must be at least 1"),
        (["start", "--model", "index:nowhere", "-o", out], "this is no index"),
    ):
        failed = run(*flags)
        assert isinstance(failed.exception, RoteError), failed.output
        assert reason in str(failed.exception)
        assert not Path(out).exists()


def test_the_key_of_an_endpoint_stands_in_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_KEY", KEY)
    with serving(vllm) as served:
        flags = ["--model", f"openai:{served.url}#m", "--key-variable", "SOME_KEY"]
        paid = ["--price", "10,20", "-o", str(tmp_path / "o.jsonl")]
        refused = run("set:cnn-dm", *flags, *paid)
        assert isinstance(refused.exception, OptionError)
        assert "7 requests" in str(refused.exception)
        assert "--yes" in str(refused.exception)
        assert served.requests == []
        found = done("set:cnn-dm", *flags, *paid, "--yes")
        assert len(served.requests) == 7
        assert served.requests[0][2]["Authorization"] == f"Bearer {KEY}"
    assert "7 requests, about " in found.stderr
    assert read_jsonl(tmp_path / "o.jsonl")[0]["text"].startswith(" the end")
    said = found.output + found.stderr + refused.output + repr(refused.exception)
    assert KEY not in said
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) >= 2
    assert not any(KEY.encode() in path.read_bytes() for path in written)


def test_whoever_sits_there_is_asked_about_the_costs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal:
        def isatty(self) -> bool:
            return True

    asked: list[str] = []

    def confirm(text: str, **_: Any) -> bool:
        asked.append(text)
        if len(asked) == 1:
            raise click.Abort
        return True

    monkeypatch.setattr(click, "confirm", confirm)
    monkeypatch.setattr(_progress, "sys", type("sys", (), {"stdin": Terminal()}))
    with serving(vllm) as served:
        flags = ["start:3", "--model", f"openai:{served.url}#m", "--price", "1000,2000"]
        flags += ["--max-tokens", "5", "--temperature", "1", "-o", str(tmp_path / "o.jsonl")]
        assert run(*flags).exit_code == 1
        assert served.requests == []
        done(*flags)
        assert len(served.requests) == 3
    assert asked[0] == (
        "3 requests, about 3 tokens read and at most 15 written: at most about 0.03. Go on?"
    )


def test_endpoints_and_others_write_into_one_file(fake: str, tmp_path: Path) -> None:
    def generated(served: Served, models: Sequence[str]) -> list[dict[str, Any]]:
        path = tmp_path / "o.jsonl"
        done("start:2", "--model", ",".join(models), "--max-tokens", "4", "-o", str(path))
        return read_jsonl(path)

    with serving(vllm) as served:
        held = generated(served, [f"f={fake}", f"openai:{served.url}#remote"])
    assert [one["source"] for one in held] == ["f", "f", "remote", "remote"]
    assert len({one["id"] for one in held}) == 4


def test_a_name_is_opened_wherever_it_leads(fake: str, tmp_path: Path) -> None:
    from rote.core.progress import Silent
    from rote.models.options import ModelOptions

    assert open_model(fake, ModelOptions(), Silent()).signature.startswith("fake/1")
    build_index(["a b"], tmp_path / "idx", layers=("lower",))
    found = open_model(f"index:{tmp_path / 'idx'}", ModelOptions(), Silent())
    assert found.signature.startswith("index/1-idx-")


def test_quiet_runs_still_say_that_an_endpoint_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rote.core.http.Patience.wait", lambda *_: 0.0)
    with serving(lambda path, asked: (500, b"oops")) as served:
        flags = ["--model", f"openai:{served.url}#m", "-o", str(tmp_path / "o.jsonl"), "-q"]
        found = run("start", *flags)
    assert found.exit_code == 1
    assert "given up after 8 attempts" in str(found.exception)
    waits = found.stderr.splitlines()
    assert len(waits) == 7
    assert "completions: answers 500: oops; retrying in 0 s (7 attempts left" in waits[0]


def test_filtered_texts_are_named_as_such(tmp_path: Path) -> None:
    def withholds(path: str, asked: dict[str, Any]) -> Any:
        if "bad" not in asked["messages"][0]["content"]:
            return vllm(path, asked)
        choice = {"message": {"content": None}, "finish_reason": "content_filter"}
        return 200, {"choices": [choice], "usage": {"completion_tokens": 0}}

    prompts, path = tmp_path / "p.jsonl", tmp_path / "o.jsonl"
    write_jsonl(prompts, ({"prompt": p} for p in ("a", "bad", "c")))
    with serving(withholds) as served:
        flags = [str(prompts), "--text-field", "prompt", "-o", str(path)]
        found = done(*flags, "--model", f"m=openai-chat:{served.url}#m")
        again = done(*flags, "--model", f"m=openai-chat:{served.url}#m", "--json")
        assert len(served.requests) == 3
    assert "endpoints filtered 1 of 3 texts" in found.stderr
    (row,) = json.loads(again.stdout)["sources"]
    assert (row["texts"], row["empty"], row["filtered"], row["incomplete"]) == (3, 0, 1, 0)
    held = read_jsonl(path)
    assert [one["ended"] for one in held] == ["end", "filtered", "end"]
    assert [one["incomplete"] for one in held] == [False, True, False]
    assert held[1]["text"] is None
