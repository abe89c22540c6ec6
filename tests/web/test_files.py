"""A file that cannot be read as it is: its page says what is wrong and asks how, without flags."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
from fastapi.testclient import TestClient

from rote.core.errors import OptionError
from rote.measure.driver.multiple_testing import UNTESTED
from rote.web.compare_form import CompareForm
from rote.web.database import prepare_store
from rote.web.files import name_form_fields, preview_file
from rote.web.history import History
from rote.web.job_worker import name_files
from rote.web.render import environment
from rote.web.routes.files import ReadForm
from rote.web.stored_results import result_sections
from rote.web.workspace import Workspace
from tests.kit import read_jsonl
from tests.web.asked import harmless
from tests.web.test_history import made


def upload(client: TestClient, name: str, content: bytes) -> str:
    """Where the page goes."""
    response = client.post("/uploads", files={"upload": (name, content)})
    assert response.status_code == 303
    return str(response.headers["location"])


def chosen(place: str) -> CompareForm:
    return CompareForm.read(parse_qsl(urlsplit(place).query))


UNCLEAR = "".join(
    json.dumps({"nr": n, "first": f"One longer answer {n}.", "second": f"Another one here {n}."})
    + "\n"
    for n in range(12)
).encode()


def test_the_field_with_the_text_is_chosen_and_what_was_read_is_used(
    client: TestClient, opened: Workspace
) -> None:
    place = upload(client, "answers.jsonl", UNCLEAR)
    assert place.startswith("/files/answers.jsonl~")
    page = client.get(place).text
    assert "cannot tell which field contains the text" in page
    assert "“Field with the text”" in page
    assert "--" not in page.partition("<main")[2].replace("<!--", "")
    assert page.count('<option value="second">second</option>') == 3
    seen = client.get(f"{place}?text=second&id=nr&source=first").text
    assert "12 texts." in seen
    assert "Another one here 9." in seen
    assert "Another one here 10." not in seen, "ten of them"
    used = client.post(place, data={"text": "second", "id": "nr", "source": "first"})
    form = chosen(used.headers["location"])
    assert form.settings == {"by": ("first",)}
    (key,) = form.files
    first = json.loads(opened.file(key).read_text().splitlines()[0])
    assert first == {
        "id": "0",
        "text": "Another one here 0.",
        "first": "One longer answer 0.",
        "source": "One longer answer 0.",
    }
    assert preview_file(opened.file(key)).texts[0] == ("0", "Another one here 0.")
    listed = client.get("/compare").text
    assert "Choose how to read it" in listed
    assert listed.count(" disabled") == 3, "neither ticked, nor a corpus, nor training texts"


def test_bad_records_are_skipped_and_named(client: TestClient, opened: Workspace) -> None:
    good = [json.dumps({"text": f"Text {n}."}) for n in range(3)]
    place = upload(
        client, "some.jsonl", "\n".join([good[0], "{oops", *good[1:], '{"a": 1}']).encode()
    )
    page = client.get(place).text
    assert "some.jsonl, line 2: malformed JSON" in page
    assert "“Skip bad records” leaves out such records" in page
    assert str(opened.store) not in page
    refused = client.post(place, data={"bad": "stop", "encoding": "latin-1"})
    assert refused.status_code == 400
    skipping = client.get(f"{place}?bad=skip").text
    assert "3 texts, 2 bad records left out." in skipping
    assert "line 5, field &#39;text&#39;: the field is missing" in skipping
    (key,) = chosen(client.post(place, data={"bad": "skip"}).headers["location"]).files
    assert len(opened.file(key).read_text().splitlines()) == 3


def test_format_encoding_and_lines_are_chosen(client: TestClient, opened: Workspace) -> None:
    place = upload(client, "notes.log", "Ein Mädchen.\nEine Straße.\n".encode("latin-1"))
    assert "unknown suffix" in client.get(place).text
    assert "not valid utf-8" in client.get(f"{place}?format=text").text
    told = {"format": "text", "encoding": "latin-1", "plain": "line"}
    (key,) = chosen(client.post(place, data=told).headers["location"]).files
    assert [text for _, text in preview_file(opened.file(key)).texts] == [
        "Ein Mädchen.",
        "Eine Straße.",
    ]


def test_the_same_id_twice_is_mended_by_another_field_and_by_skipping(
    client: TestClient, opened: Workspace
) -> None:
    records = [{"id": "same", "nr": n, "text": f"Text {n}."} for n in range(2)]
    place = upload(client, "twice.jsonl", "\n".join(map(json.dumps, records)).encode())
    assert "is in line 1 already" in client.get(place).text
    (by_number,) = chosen(client.post(place, data={"id": "nr"}).headers["location"]).files
    held = read_jsonl(opened.file(by_number))
    assert held[1] == {"id": "1", "text": "Text 1.", "given_id": "same"}


def test_programs_read_a_file_in_another_way(client: TestClient) -> None:
    asked = client.post("/api/files/texts.jsonl/read", json={"text": "source", "id": "id"})
    (name, _) = asked.json()["file"].split("~")
    assert name == "texts.jsonl"
    assert client.post("/api/files/texts.jsonl/read", json={"text": "nowhere"}).status_code == 400
    assert client.post("/api/files/none.jsonl/read", json={}).status_code == 404


def test_what_is_no_setting_is_refused(client: TestClient) -> None:
    for pair in (("encoding", "rot13"), ("format", "memory"), ("plain", "x"), ("bad", "maybe")):
        with pytest.raises(OptionError, match=pair[0]):
            ReadForm.read([pair])
        assert client.get("/files/texts.jsonl", params=[pair]).status_code == 400
    assert client.get("/files/nothing.jsonl").status_code == 404
    assert client.get("/files/../../etc/passwd").status_code == 404


def test_nothing_in_a_record_acts(client: TestClient) -> None:
    script = '<script>alert("x")</script>'
    record = json.dumps({"text": f"{script} \u202e \x1b[31m", script: f"{script}\u202e"})
    place = upload(client, "<b>.jsonl", record.encode())
    harmless(client.get(place).text)
    (key,) = chosen(place).files
    harmless(client.get(f"/files/{key}").text)


def test_remarks_name_fields_of_forms_in_place_of_flags(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    assert name_form_fields(f"{path}: try --text-field, --id-field", path) == (
        "a.jsonl: try “Field with the text”, “Field with the id”"
    )
    assert name_form_fields("about 4 minutes (--jobs, --sample, --min-count change that)") == (
        "about 4 minutes (“Sample”, “Min count” change that)"
    )
    assert (
        name_form_fields("--by source; --on-error skip")
        == "“Fields to group by” source; “Skip bad records”"
    )
    kept = "raise --upload-limit, or `rote index add-layer IDX --jobs 2 --layers pos`"
    assert name_form_fields(kept) == kept, "what is said to the shell stays"
    files = {"a.jsonl~12": path, "bible:kjv": "bible:kjv"}
    assert name_files(f"{path}: --sample of bible:kjv", files) == "a.jsonl: “Sample” of bible:kjv"


def test_remarks_of_a_result_name_fields_of_forms_too(tmp_path: Path) -> None:
    """They are kept as the shell says them, and so they are downloaded."""
    prepare_store(tmp_path)
    told = f"{UNTESTED} human: --permutations 99 would do"
    result = made()
    own = {name: replace(one, notes=("--sample",)) for name, one in result.by_source.items()}
    kept = History(tmp_path)
    id = kept.add([replace(result, notes=(told,), by_source=own)], title="a", kind="compare")
    shown = "".join(str(part.html) for part in result_sections(kept, id))
    assert "human: “Permutations” 99 would do" in shown
    assert "“Sample”" in shown
    assert "--" not in re.sub(r"<[^>]*>|<!--.*?-->", "", shown)
    assert kept.results(id)[0].notes == (told,)


def test_commands_in_messages_are_shown_as_code() -> None:
    shown = environment().from_string("{{ told|commands }}")
    assert shown.render(told="try `rote <x>`, & no") == (
        "try <code>rote &lt;x&gt;</code>, &amp; no"
    )
    assert shown.render(told="a file called `<b>") == "a file called `&lt;b&gt;"
