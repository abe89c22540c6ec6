"""What was tried to break the app: each is refused with a sentence, and harms nothing."""

from __future__ import annotations

import asyncio
import csv
import gzip
import io
import json
import os
import signal
import stat
import subprocess
import threading
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")

from fastapi.testclient import TestClient

from rote.core.errors import InputError, OptionError
from rote.corpus._shard import Shard
from rote.report.export import escape_formula, rows_csv
from rote.web import files as glimpses
from rote.web import files as uploads
from rote.web import job_queue as running
from rote.web.app import make_app
from rote.web.database import prepare_store
from rote.web.errors import Busy
from rote.web.files import MAX_TEXT as LONGEST
from rote.web.job_queue import JobQueue
from rote.web.routes import result
from rote.web.server import ServeOptions
from rote.web.workspace import Workspace
from tests.kit import PATIENCE, write_jsonl
from tests.web.asked import kept_result
from tests.web.conftest import PYTHONPATH, Calling
from tests.web.fake_work import COMMAND

HALF = "\ud800"


# -- who calls, and from where ---------------------------------------------------------------


def test_a_browser_that_names_its_page_alone_is_believed(client: TestClient) -> None:
    foreign = {"Referer": "http://evil.example/127.0.0.1:8765"}
    assert client.post("/jobs/x/cancel", headers=foreign).status_code == 403
    own = {"Referer": "http://127.0.0.1:8765/jobs/x"}
    assert client.post("/jobs/x/cancel", headers=own).status_code == 404
    assert client.post("/jobs/x/cancel").status_code == 404  # a program


def test_two_lengths_of_one_request_are_refused(client: TestClient) -> None:
    headers = {"Content-Length": "5", "Transfer-Encoding": "chunked"}
    response = client.post("/history/delete", content=b"id=xx", headers=headers)
    assert response.status_code == 400
    assert "twice" in response.text


@pytest.mark.parametrize("token", ["short", "a" * 7, "eight or", "täglich12"])
def test_a_token_that_can_be_guessed_or_misread_is_refused(token: str) -> None:
    with pytest.raises(OptionError, match="token"):
        ServeOptions(token=token)


# -- how much --------------------------------------------------------------------------------


def test_only_files_may_be_large(opened: Workspace, calling: Calling) -> None:
    client = calling(replace(opened, upload_limit=2**26))
    large = json.dumps({"files": ["x" * 2**22]})
    response = client.post("/api/compare", content=large)
    assert response.status_code == 413
    assert "as a file" in response.json()["error"]["message"]


@pytest.mark.parametrize("length", [True, False])
def test_what_is_refused_is_read_to_its_end(opened: Workspace, length: bool) -> None:
    """Otherwise a browser shows a broken connection in place of the answer."""
    prepare_store(opened.store)
    start = b'--x\r\nContent-Disposition: form-data; name="upload"; filename="a.txt"\r\n\r\n'
    pieces = [*[b"x" * 1000] * 49, start]
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        piece = pieces.pop()
        return {"type": "http.request", "body": piece, "more_body": bool(pieces)}

    async def send(message: dict[str, Any]) -> None:
        assert not pieces
        sent.append(message)

    headers = [(b"host", b"localhost"), (b"content-type", b"multipart/form-data; boundary=x")]
    headers += [(b"content-length", b"49068")] * length
    scope = {"type": "http", "method": "POST", "path": "/uploads", "query_string": b""}
    app = make_app(opened)
    asyncio.run(app({**scope, "headers": headers}, receive, send))
    app.state.jobs.stop()
    assert sent[0]["status"] == 413


def _packed(size: int, *, head: bytes = b"", tail: bytes = b"") -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    body = b"".join(packer.compress(b"word " * 2000) for _ in range(size // 10_000))
    return packer.compress(head) + body + packer.compress(tail) + packer.flush()


@pytest.mark.parametrize("name", ["bomb.txt.gz", "bomb.jsonl.GZ", "bomb.parquet.gz"])
def test_a_file_that_unpacks_to_far_more_is_refused(
    client: TestClient, opened: Workspace, name: str
) -> None:
    bomb = _packed(10_000_000)
    assert len(bomb) < opened.upload_limit
    response = client.post("/api/uploads", files={"upload": (name, bomb)})
    assert response.status_code == 400
    assert "unpacked" in response.json()["error"]["message"]
    assert list(opened.all_files()) == ["texts.jsonl"]


def _zst(data: bytes) -> bytes:
    import zstandard

    return zstandard.ZstdCompressor().compress(data)


def _parquet(text: str) -> bytes:
    import polars as pl

    file = io.BytesIO()
    pl.DataFrame({"id": ["1", "2"], "text": ["short", text]}).write_parquet(file)
    return file.getvalue()


def _rows(text: str) -> bytes:
    rows = ({"id": "1", "text": "short"}, {"id": "2", "text": text})
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def _cells(text: str) -> bytes:
    return b'id,text\n1,short\n2,"' + text.encode() + b'"\n'


LONG = "ten words that one wrote and another one may read\n" * 6_000
ONE_TEXT: dict[str, Callable[[], bytes]] = {
    "a.jsonl.zst": lambda: _zst(_rows(LONG)),
    "a.jsonl.gz": lambda: gzip.compress(_rows(LONG)),
    "a.csv.gz": lambda: gzip.compress(_cells(LONG)),
    "a.json.zst": lambda: _zst(b"[" + _rows(LONG).replace(b"\n", b",")[:-1] + b"]"),
    "a.txt.zst": lambda: _zst(LONG.encode()),
    "a.parquet": lambda: _parquet(LONG),
}


@pytest.mark.parametrize("name", ONE_TEXT)
def test_one_text_is_no_larger_than_a_request_may_be(tmp_path: Path, name: str) -> None:
    """300,000 characters in a file of a few thousand bytes, wherever in the file they stand."""
    packed = ONE_TEXT[name]()
    assert len(packed) < 20_000
    with pytest.raises(InputError, match=r"299,999|300,000") as error:
        uploads.store_upload(tmp_path, name, io.BytesIO(packed), limit=100_000)
    assert "the limit is 100,000" in str(error.value)
    assert "--upload-limit" in str(error.value)
    assert uploads.list_uploads(tmp_path) == {}
    uploads.store_upload(tmp_path, name, io.BytesIO(packed), limit=1_000_000)


@pytest.mark.parametrize("pack", [gzip.compress, _zst])
def test_what_expands_a_thousandfold_is_refused_under_any_limit(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    packed = pack(b"a" * 2 * uploads._ALWAYS)
    name = "bomb.txt.gz" if pack is gzip.compress else "bomb.txt.zst"
    with pytest.raises(InputError, match="when it is unpacked"):
        uploads.store_upload(tmp_path, name, io.BytesIO(packed), limit=2**30)


def test_a_zstd_bomb_never_stands_in_memory_as_a_whole(tmp_path: Path) -> None:
    from rote.corpus._streams import raw_pieces

    path = tmp_path / "bomb.zst"
    path.write_bytes(_zst(b"a" * 2**28))
    assert path.stat().st_size < 2**14
    sizes = [len(piece) for piece, _ in raw_pieces(path, "zst", "bomb.zst")]
    assert sum(sizes) == 2**28
    assert max(sizes) <= 2**26 + 2**17


ROWS = 400
WORDS = "word " * 20_000


def _one_text() -> Any:
    """A column of 40 MB whose rows all are one text."""
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(pa.array([0] * ROWS, pa.int32()), pa.array([WORDS]))


def _table(text: Any, **settings: Any) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    file = io.BytesIO()
    parquet.write_table(pa.table({"text": text}), file, compression="zstd", **settings)
    return file.getvalue()


def _stream(text: Any, compression: str | None = "zstd") -> bytes:
    import pyarrow as pa

    file, held = io.BytesIO(), pa.table({"text": text})
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(file, held.schema, options=options) as writer:
        writer.write_table(held)
    return file.getvalue()


def _views() -> Any:
    import pyarrow as pa

    text = pa.array([WORDS]).cast(pa.string_view())
    _, view, held = text.buffers()
    views = pa.py_buffer(view.to_pybytes() * ROWS)
    return pa.Array.from_buffers(pa.string_view(), ROWS, [None, views, held])


def _nested(text: Any) -> Any:
    import pyarrow as pa

    return pa.ListArray.from_arrays(pa.array([0, len(text)], pa.int32()), text)


def _fixed() -> Any:
    import pyarrow as pa

    return pa.array([WORDS.encode()] * ROWS, pa.binary(len(WORDS)))


def _nulls() -> Any:
    import pyarrow as pa

    return pa.nulls(10**7)


PLAIN = {"store_schema": False}
DELTA = {**PLAIN, "use_dictionary": False}
PACKED_INSIDE: dict[str, Callable[[], bytes]] = {
    "plain.parquet": lambda: _table([WORDS] * ROWS, **DELTA),
    "dictionary.parquet": lambda: _table(_one_text(), **PLAIN),
    "second-version.pq": lambda: _table(_one_text(), data_page_version="2.0", **PLAIN),
    "categories.parquet": lambda: _table(_one_text()),
    "list.parquet": lambda: _table(_nested(_one_text()), **PLAIN),
    "delta.parquet": lambda: _table(
        [WORDS] * ROWS, column_encoding={"text": "DELTA_BYTE_ARRAY"}, **DELTA
    ),
    "delta-list.parquet": lambda: _table(
        _nested([WORDS] * ROWS), column_encoding={"text.list.element": "DELTA_BYTE_ARRAY"}, **DELTA
    ),
    "fixed.parquet": lambda: _table(_fixed(), **PLAIN),
    "rows.parquet": lambda: _table(["a"] * 2_500_000, **PLAIN),
    "packed.parquet.gz": lambda: gzip.compress(_table(_one_text(), **PLAIN)),
    "packed.parquet.zst": lambda: _zst(_table(_one_text(), **PLAIN)),
    "plain.arrow": lambda: _stream([WORDS] * ROWS),
    "dictionary.arrow": lambda: _stream(_one_text(), None),
    "views.arrow": lambda: _stream(_views(), None),
    "packed.arrow.gz": lambda: gzip.compress(_stream(_one_text())),
    "nulls.arrow": lambda: _stream(_nulls(), None),
}


@pytest.mark.parametrize("name", PACKED_INSIDE)
def test_what_is_packed_inside_a_table_is_counted_before_texts_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A row is a number where its text stands in a dictionary: 3 GB fit into 7 kB."""

    def never(shard: Shard) -> None:
        raise AssertionError("texts are made of what should be refused")

    packed = PACKED_INSIDE[name]()
    monkeypatch.setattr(Shard, "read", never)
    # 100 times its own size, or 16 MB, under any limit.
    assert len(packed) < 400_000
    monkeypatch.setattr(uploads, "_ALWAYS", 2**22)
    with pytest.raises(InputError, match="when it is unpacked"):
        uploads.store_upload(tmp_path, name, io.BytesIO(packed), limit=2**30)
    with pytest.raises(InputError, match="when it is unpacked"):
        uploads.store_upload(tmp_path, name, io.BytesIO(packed), limit=2**30, unread=True)


def test_a_file_is_counted_as_it_is_read(opened: Workspace, calling: Calling) -> None:
    """Under a name that says nothing it is kept, until somebody says what it is."""
    client = calling(replace(opened, upload_limit=2**20))
    bomb = PACKED_INSIDE["dictionary.parquet"]()
    sent = client.post("/uploads", files={"upload": ("bomb.bin", bomb)}, data={})
    place = sent.headers["location"]
    assert place.startswith("/files/bomb.bin")
    page = client.get(f"{place}?format=parquet")
    assert "when it is unpacked" in page.text
    key = place.rpartition("/")[2]
    answer = client.post(f"/api/files/{key}/read", json={"format": "parquet"})
    assert answer.status_code == 400
    assert "when it is unpacked" in answer.json()["error"]["message"]


@pytest.mark.parametrize("name", ["delta.parquet", "dictionary.parquet", "dictionary.arrow"])
def test_honest_tables_are_kept(tmp_path: Path, name: str) -> None:
    texts = [f"Some words that nobody wrote before, {n} times." for n in range(300)]
    text = texts if name.startswith("delta") else pa_dictionary(texts)
    encoding = {"column_encoding": {"text": "DELTA_BYTE_ARRAY"}, **DELTA}
    made = (
        _stream(text)
        if name.endswith(".arrow")
        else _table(text, **(encoding if name.startswith("delta") else PLAIN))
    )
    uploads.store_upload(tmp_path, name, io.BytesIO(made), limit=100_000)


def pa_dictionary(texts: list[str]) -> Any:
    import pyarrow as pa

    return pa.array(texts).dictionary_encode()


def test_uploads_do_not_fill_the_disk(tmp_path: Path) -> None:
    for number in range(uploads.MAX_TOTAL):
        uploads.store_upload(tmp_path, "a.txt", io.BytesIO(b"%09d " % number), limit=10)
    with pytest.raises(InputError, match="no space"):
        uploads.store_upload(tmp_path, "a.txt", io.BytesIO(b"one more"), limit=10)
    assert len(uploads.list_uploads(tmp_path)) == uploads.MAX_TOTAL
    assert not list(tmp_path.rglob(".new-*"))
    assert uploads.remove_upload(tmp_path, next(iter(uploads.list_uploads(tmp_path))))
    uploads.store_upload(tmp_path, "a.txt", io.BytesIO(b"one more"), limit=10)


def test_an_upload_can_be_deleted_by_page_and_program(
    client: TestClient, opened: Workspace
) -> None:
    keys = [
        client.post("/api/uploads", files={"upload": (name, b"Some words.")}).json()["files"][0]
        for name in ("a.txt", "b.txt")
    ]
    assert 'action="/uploads/remove"' in client.get("/compare").text
    assert client.post("/uploads/remove", data={"key": keys[0]}).status_code == 303
    assert client.post(f"/api/uploads/{keys[1]}/delete").json() == {"deleted": 1}
    assert client.post(f"/api/uploads/{keys[1]}/delete").json() == {"deleted": 0}
    assert client.post("/api/uploads/texts.jsonl/delete").json() == {"deleted": 0}
    assert list(opened.all_files()) == ["texts.jsonl"]
    assert opened.file("texts.jsonl").exists()


def test_only_so_many_jobs_wait(
    opened: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(running, "MAX_WAITING", 3)
    prepare_store(opened.store)
    held = JobQueue(replace(opened, at_once=0), COMMAND)
    for number in range(3):
        held.start("compare", "t", {"do": "sleep", "number": number})
    with pytest.raises(Busy, match="3 jobs are already waiting"):
        held.start("compare", "t", {"do": "sleep", "number": 3})
    held.start("compare", "t", {"do": "sleep", "number": 2})  # the same waits already
    held.stop()


def test_a_queue_that_is_full_is_said_with_503(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "MAX_WAITING", 0)
    asked = {"files": ["texts.jsonl"], "measures": ["lexical"]}
    assert client.post("/api/compare", json=asked).status_code == 503
    page = client.post("/compare", data={"file": "texts.jsonl", "measure": "lexical"})
    assert page.status_code == 503
    assert "jobs are already waiting: cancel some" in page.text


FAR = 10**30


@pytest.mark.parametrize(
    "place",
    [
        f"/history?page={FAR}",
        f"/history?page={10**18}",
        f"/api/results?offset={FAR}",
        f"/api/results?limit={FAR}",
        f"/api/jobs?limit={-FAR}",
        "/api/jobs?limit=-1",
        f"/templates?file=texts.jsonl&n={FAR}",
        f"/templates?file=texts.jsonl&top={FAR}",
        "/templates?file=texts.jsonl&min_count=0",
    ],
)
def test_numbers_without_sense_are_refused_with_a_word(client: TestClient, place: str) -> None:
    assert client.get(place).status_code == 400


def test_a_search_of_many_words_ends(client: TestClient, opened: Workspace) -> None:
    words = "+".join(f"w{number}" for number in range(3000))
    assert client.get(f"/history?q={words}").status_code == 200
    assert client.get(f"/api/results?q={'a' * 50_000}").json()["total"] == 0


def test_a_first_look_at_a_file_reads_no_more_than_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(glimpses, "_MAX_CHARACTERS", 1_000)
    path = write_jsonl(tmp_path / "long.jsonl", ({"text": "a" * 600, f"f{n}": n} for n in range(9)))
    assert glimpses.preview_file(path).fields == ("f0", "f1")


# -- names -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "\u4e00" * 300 + ".txt",
        "a." + "b" * 300 + ".txt",
        "a." + "\u4e00" * 300 + ".txt",
        "x" * 5000 + ".txt",
        "..." + "-" * 30 + "a.txt",
        "=cmd().txt",
        "bible:kjv.txt",
        "*?.txt.txt",
        "a\r\nX-Evil: 1.txt",
    ],
)
def test_odd_names_of_files_become_plain_ones(tmp_path: Path, name: str) -> None:
    key = uploads.store_upload(tmp_path, name, io.BytesIO(b"Some words."), limit=10_000)
    path = uploads.list_uploads(tmp_path)[key]
    assert path.parent.parent == tmp_path / "uploads"
    assert len(os.fsencode(path.name)) < 255
    assert path.name.endswith(".txt")
    assert path.name[0] not in ".-~"
    assert not set(path.name) & set(":*?[]/\\=\r\n'\"<>")


def test_a_file_on_its_way_is_no_file_yet(tmp_path: Path) -> None:
    coming = tmp_path / "uploads" / ".new-abc"
    coming.mkdir(parents=True)
    (coming / "a.txt").write_text("half of it")
    assert uploads.list_uploads(tmp_path) == {}
    uploads.remove_partial(tmp_path)
    assert coming.exists()  # it may still be coming
    os.utime(coming, (0, 0))
    uploads.remove_partial(tmp_path)
    assert not coming.exists()


@pytest.mark.parametrize("found", ["../../history/delete?x=", "x/../../y", "x?y", "x#y", "//evil"])
def test_a_link_cannot_choose_where_a_button_leads(
    client: TestClient, opened: Workspace, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(result, "result_sections", lambda history, id, across: [])
    id = kept_result(opened)
    page = client.get(f"/compare/result/{id}", params={"found": found}).text
    assert "Measure again" not in page
    assert "/again" not in page
    assert "/jobs/abc123/again" in client.get(f"/compare/result/{id}?found=abc123").text


@pytest.mark.parametrize("layer", ["subwords:/etc/passwd", "/etc/passwd", "bible:kjv", "-"])
def test_no_layer_names_a_file(layer: str, texts: Path) -> None:
    """The command that builds an index reads `subwords:PATH`; a measure knows no such layer."""
    from rote.core.errors import UnknownName
    from rote.measure.driver.compute import compute
    from rote.measure.lexical import METRIC

    with pytest.raises(UnknownName, match="layer"):
        compute([("lexical", METRIC.options(layer=layer))], [texts])


def test_uploads_may_come_and_go_at_once(tmp_path: Path) -> None:
    problems: list[BaseException] = []

    def coming_and_going() -> None:
        try:
            for number in range(40):
                content = io.BytesIO(b"Some words, number %d." % (number % 2))
                key = uploads.store_upload(tmp_path, "a.txt", content, limit=10_000)
                uploads.list_uploads(tmp_path)
                uploads.remove_upload(tmp_path, key)
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=coming_and_going) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
    assert uploads.list_uploads(tmp_path) == {}


# -- texts -----------------------------------------------------------------------------------


def test_half_a_character_in_a_request_is_no_surprise(client: TestClient) -> None:
    def ask(place: str, **given: object) -> int:
        headers = {"Content-Type": "application/json"}
        return client.post(place, content=json.dumps(given), headers=headers).status_code

    assert ask("/api/compare", files=[HALF]) == 404
    by = {"files": ["texts.jsonl"], "measures": ["lexical"], "settings": {"by": HALF}}
    assert ask("/api/compare", **by) == 400
    assert ask("/api/trace", index=HALF, text="Some words.") == 404
    assert ask("/api/templates", files=["texts.jsonl"], by=HALF) == 400
    assert client.get("/api/jobs").json() == []


def test_half_a_character_in_a_file_is_no_surprise(
    client: TestClient, opened: Workspace, texts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(result, "result_sections", lambda history, id, across: [])
    record = {"id": f"x{HALF}", "source": f"s{HALF}", "text": "Some words.", f"f{HALF}": 1}
    texts.write_text(json.dumps(record) + "\n" + json.dumps({**record, "id": "y", "source": "t"}))
    assert client.get("/api/opened").status_code == 200
    id = kept_result(opened, f"s{HALF}")
    for place in ("/", "/compare", "/history", f"/compare/result/{id}", f"/api/results/{id}"):
        assert client.get(place).status_code == 200
    assert client.get(f"/compare/result/{id}/texts?place=0").status_code == 200
    assert client.get(f"/api/results/{id}/texts?place=0").json()["total"] == 1


def test_a_job_that_fails_with_half_a_character_has_failed(opened: Workspace) -> None:
    prepare_store(opened.store)
    held = JobQueue(replace(opened, at_once=0), COMMAND)
    job = held.start("compare", "t", {"do": "sleep"})
    assert held._hear(job.id, {"error": f"no field {HALF}"})
    assert held.get(job.id).state == "failed"
    held.stop()


def test_a_process_that_says_what_nobody_understands_has_failed(opened: Workspace) -> None:
    prepare_store(opened.store)
    held = JobQueue(opened, ("echo", "no JSON"))
    job = held.start("compare", "t", {"do": "nothing"})
    for thread in held._threads:
        thread.join(PATIENCE)
    assert held.get(job.id).state == "failed"
    held.stop()


def test_a_process_that_cannot_be_started_has_failed(opened: Workspace) -> None:
    prepare_store(opened.store)
    held = JobQueue(opened, ("/nowhere/python",))
    job = held.start("compare", "t", {"do": "nothing"})
    found = held.get(job.id)
    assert (found.state, found.open) == ("failed", False)
    assert "cannot be started" in str(found.error)
    held.stop()


@pytest.mark.parametrize(
    "cell", ["=1+1", "+1+1", "-x", "@SUM(A1)", "\t=1", "\r=1", "=cmd|' /C'!A0"]
)
def test_a_cell_of_a_table_is_no_formula(cell: str) -> None:
    assert escape_formula(cell) == "'" + cell
    written = io.StringIO(rows_csv([["a", cell]]), newline="")
    assert list(csv.reader(written)) == [["a", "'" + cell]]


@pytest.mark.parametrize("cell", ["", "a=1", "-1.5", "+3", "-1e-9", "-inf", "human", 5, -5, None])
def test_other_cells_stay_as_they_are(cell: object) -> None:
    assert escape_formula(cell) == cell


def test_tables_to_take_away_hold_no_formula(client: TestClient, opened: Workspace) -> None:
    id = kept_result(opened, '=HYPERLINK("http://evil.example")')
    for name in ("values.csv", "texts/values.csv?place=0"):
        text = client.get(f"/compare/result/{id}/{name}").text
        cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row]
        assert any(cell.startswith("'=HYPERLINK") for cell in cells)
        assert not any(cell.startswith("=") for cell in cells)


def test_a_message_does_not_say_all_that_was_sent(client: TestClient) -> None:
    response = client.post("/api/compare", json={"files": ["x" * 15_000]})
    assert response.status_code == 404
    assert len(response.text) < 3_000


def test_the_temporary_files_of_a_job_go_when_the_app_is_killed(tmp_path: Path) -> None:
    folder = tmp_path / "rote-job-x"
    folder.mkdir()
    (folder / "large").write_text("x")
    env = {**os.environ, "PYTHONPATH": PYTHONPATH}
    process = subprocess.Popen(
        COMMAND, stdin=subprocess.PIPE, start_new_session=True, env=env, text=True
    )
    opened = {"indexes": {}, "files": {}, "store": str(tmp_path), "jobs": 1, "upload_limit": 0}
    settings = {"do": "sleep", "here": str(tmp_path / "pid")}
    order = {"kind": "compare", "settings": settings, "opened": opened, "folder": str(folder)}
    process.communicate(json.dumps(order) + "\n", timeout=PATIENCE)  # and the pipe is closed
    assert process.returncode == -signal.SIGKILL
    assert not folder.exists()


# -- what is said ----------------------------------------------------------------------------


def test_the_description_says_how_the_app_answers(opened: Workspace, calling: Calling) -> None:
    described = calling(opened).get("/api/openapi.json").json()
    for path, methods in described["paths"].items():
        for one in methods.values():
            assert one["summary"], path
            assert "4XX" in one["responses"], path
            assert "422" not in one["responses"], path
    assert "HTTPValidationError" not in json.dumps(described)
    assert "securitySchemes" not in described["components"]
    guarded = calling(replace(opened, token="a1b2c3d4"))
    headers = {"Authorization": "Bearer a1b2c3d4"}
    described = guarded.get("/api/openapi.json", headers=headers).json()
    assert described["security"] == [{"token": []}]


def test_the_page_of_the_api_names_what_is_sent(client: TestClient) -> None:
    page = client.get("/api").text
    for name in ("measures", "min_bits", "upload", "min_count"):
        assert f">{name}</code>" in page


def test_the_longest_text_can_be_pasted_in_any_script(opened: Workspace, calling: Calling) -> None:
    """Each of these characters is sent as nine."""
    client, place = calling(replace(opened, upload_limit=2**26)), {"index": "none"}
    assert client.post("/trace", data={**place, "text": "\u4e00" * LONGEST}).status_code == 303
    longer = client.post("/trace", data={**place, "text": "a" * (6 * LONGEST)})
    assert longer.status_code == 400
    assert "Field exceeded" not in longer.text


# -- what is kept ----------------------------------------------------------------------------


def test_nobody_else_on_the_machine_can_read_the_store(
    client: TestClient, opened: Workspace
) -> None:
    client.post("/api/uploads", files={"upload": ("a.txt", b"Some words.")})
    client.post("/api/trace", json={"index": "none", "text": "x"})
    assert _mode(opened.store) == 0o700
    for path in opened.store.iterdir():
        assert _mode(path) in (0o700, 0o600), path


def test_the_rights_of_a_folder_that_was_there_are_its_owner_s(tmp_path: Path) -> None:
    store = tmp_path / "shared"
    store.mkdir()
    store.chmod(0o750)
    prepare_store(store)
    assert _mode(store) == 0o750


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)
