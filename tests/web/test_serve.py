"""`rote serve`: what it recognizes, where it listens, and what it refuses."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from rote.core.errors import MissingExtra, OptionError, RoteError
from rote.web import server
from rote.web.job_queue import JobStore
from rote.web.server import ServeOptions, default_store, open_socket
from rote.web.workspace import recognize_inputs
from tests.indexes import build_index
from tests.kit import PATIENCE
from tests.web.test_history import made


def test_paths_are_recognized_by_what_they_hold(tmp_path: Path, texts: Path) -> None:
    build_index(["A text.", "Another."], tmp_path / "idx", layers=("lower",))
    results = tmp_path / "results.json"
    results.write_text(made().to_json())
    listed = tmp_path / "texts.json"
    listed.write_text(json.dumps([{"id": "1", "text": "A text."}]))
    names = [str(path) for path in (tmp_path / "idx", results, listed, texts)]
    found = recognize_inputs([*names, "example:answers", names[0]])
    assert found.indexes == {"idx": tmp_path / "idx"}
    assert found.results == (results,)
    assert list(found.files) == ["texts.json", "texts.jsonl", "example:answers"]
    assert found.files["example:answers"] == Path("example:answers")


def test_files_of_the_same_name_have_different_keys(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "texts.txt").write_text("Words.")
    found = recognize_inputs([str(tmp_path / folder / "texts.txt") for folder in ("a", "b")])
    assert list(found.files) == ["a/texts.txt", "b/texts.txt"]


@pytest.mark.parametrize("name", ["no-such-file.jsonl", "-", "example:nothing", "file.exe"])
def test_what_cannot_be_used_is_refused_at_the_start(tmp_path: Path, name: str) -> None:
    (tmp_path / "file.exe").write_bytes(b"MZ")
    given = str(tmp_path / name) if "." in name else name
    with pytest.raises(RoteError):
        recognize_inputs([given])


def test_a_taken_port_leads_to_the_next(tmp_path: Path) -> None:
    with open_socket("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with open_socket("127.0.0.1", port) as second:
            assert port < second.getsockname()[1] < port + 50


def test_an_address_that_is_not_ours_is_refused() -> None:
    with pytest.raises(OptionError, match=r"203\.0\.113\.7"):
        open_socket("203.0.113.7", 65535)


@pytest.mark.parametrize(
    "wrong", [{"port": 70000}, {"jobs": 0}, {"upload_limit": 0}, {"token": "a;b"}, {"at_once": 0}]
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(OptionError):
        ServeOptions(**wrong)  # type: ignore[arg-type]


def test_without_the_extra_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"\.\[web\]"):
        server.check_installed()


def test_the_store_can_be_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ROTE_STORE", str(tmp_path))
    assert default_store() == tmp_path
    monkeypatch.delenv("ROTE_STORE")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    if sys.platform == "linux":
        assert default_store() == tmp_path / "rote"


@pytest.fixture
def never_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The work of a server that is started takes until it is killed."""
    waits = "import sys, time\nif 'rote.web.job_worker' in sys.orig_argv:\n    time.sleep(3600)\n"
    (tmp_path / "waiting").mkdir()
    (tmp_path / "waiting" / "sitecustomize.py").write_text(waits)
    before = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(tmp_path / "waiting"), before)))


def queued(address: str, token: str = "") -> list[str]:
    """The ids of four pieces of work, of which two run at once."""
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    found = []
    for seed in range(4):
        settings = {"seed": str(seed)}
        asked = {"files": ["texts.jsonl"], "measures": ["lexical"], "settings": settings}
        request = urllib.request.Request(address, json.dumps(asked).encode(), headers)
        with urllib.request.urlopen(request) as response:
            found.append(json.load(response)["id"])
    return found


def all_are_interrupted(store: Path, asked_for: list[str]) -> None:
    ledger = JobStore(store)
    try:
        assert {ledger.get(id).state for id in asked_for} == {"interrupted"}
    finally:
        ledger.close()


@pytest.mark.usefixtures("never_done")
def test_a_server_that_is_ended_leaves_jobs_interrupted(tmp_path: Path, texts: Path) -> None:
    command = [sys.executable, "-c", "from rote.cli.main import main; main()", "serve", str(texts)]
    command += ["--store", str(tmp_path / "store"), "--port", "0", "--no-open"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        asked_for = queued(f"{process.stderr.readline().split()[-1]}api/compare")
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)
    all_are_interrupted(tmp_path / "store", asked_for)


@pytest.mark.usefixtures("never_done")
def test_a_server_starts_asks_for_its_token_and_ends(tmp_path: Path, texts: Path) -> None:
    results = tmp_path / "results.json"
    results.write_text(made().to_json())
    with socket.socket() as taken:
        taken.bind(("0.0.0.0", 0))
        taken.listen()
        port = taken.getsockname()[1]
        command = [sys.executable, "-c", "from rote.cli.main import main; main()"]
        command += ["serve", str(texts), str(results), "--store", str(tmp_path / "store")]
        command += ["--host", "0.0.0.0", "--port", str(port), "--no-open"]
        command += ["--upload-limit", "300K"]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            assert process.stderr is not None
            lines = [process.stderr.readline() for _ in range(3)]
            assert "results.json is in the history" in lines[0]
            assert f"port {port} is in use" in lines[1]
            address = lines[2].split()[-1]
            assert "?token=" in address
            own, token = address.split("?token=")
            api = f"http://127.0.0.1:{own.rstrip('/').rpartition(':')[2]}/api"
            place = f"{api}/results"
            request = urllib.request.Request(place, headers={"Authorization": f"Bearer {token}"})
            with urllib.request.urlopen(request) as response:
                assert json.load(response)["total"] == 1
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(place)
            assert refused.value.code == 401
            refused.value.close()
            large = urllib.request.Request(place, bytes(300 * 2**10 + 1), request.headers)
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(large, timeout=PATIENCE)
            assert refused.value.code == 413
            refused.value.close()
            asked_for = queued(f"{api}/compare", token)
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=PATIENCE)
    assert process.returncode in (0, 130)
    assert not os.listdir(tmp_path / "store" / "servers")
    all_are_interrupted(tmp_path / "store", asked_for)
