"""`rote index`, `rote count`, `rote search`, `rote top` as a user meets them."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest

from rote.core.errors import InputError, OptionError, RoteError
from tests.kit import done, invoke, write_jsonl

DOCUMENTS = [
    {
        "id": "harbour",
        "author": "Anna",
        "source": "human",
        "text": "The old dog slept. The old boat slept too.\n"
        "Nobody saw the \x1b[31mred\x1b[0m light.",
    },
    {
        "id": "hill",
        "author": "Ben",
        "source": "human",
        "text": "The old dog climbed the hill. A young dog waited.",
    },
    {"id": "answer", "source": "model", "text": "The dog is a testament to the old dog."},
]
MORE = [{"id": "extra", "author": "Anna", "source": "human", "text": "The old dog came back."}]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("index")
    texts = write_jsonl(folder / "texts.jsonl", DOCUMENTS)
    built = done("index", "build", texts, "-o", str(folder / "idx"), "--layers", "lower,pos")
    assert "3 documents, 43 words" in built.stdout
    assert "bytes per token: word " in built.stdout
    assert "3 documents" in built.stderr
    assert "on disk" in built.stderr
    return str(folder / "idx")


@pytest.fixture
def own(index: str, tmp_path: Path) -> str:
    """A copy that a test may change."""
    shutil.copytree(index, tmp_path / "own")
    return str(tmp_path / "own")


def test_an_empty_index_is_described(tmp_path: Path) -> None:
    (tmp_path / "none.jsonl").write_text("")
    idx = str(tmp_path / "idx")
    built = done("index", "build", str(tmp_path / "none.jsonl"), "-o", idx, "--on-error", "skip")
    assert "0 documents, 0 words; 0 bytes in 0 segments" in built.stdout
    assert "lower" in done("index", "info", idx).stdout
    assert "0 documents" in done("index", "merge", idx).stdout
    assert "0 documents" in done("index", "add-layer", idx, "lemma").stdout
    added = done("index", "add", idx, write_jsonl(tmp_path / "more.jsonl", MORE))
    assert "1 document, 6 words" in added.stdout


def test_an_index_is_not_built_among_its_texts_or_of_an_index(own: str, tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    write_jsonl(tmp_path / "texts" / "more.jsonl", MORE)
    inside, outside = str(tmp_path / "texts" / "idx"), str(tmp_path / "idx")
    for arguments, message in (
        (["build", str(tmp_path / "texts"), "-o", inside], "is inside its input folder"),
        (["add", own, str(tmp_path)], "is inside its input folder"),
        (["build", own, "-o", outside], "is an index"),
    ):
        found = invoke("index", *arguments)
        assert isinstance(found.exception, OptionError), (found.output, found.exception)
        assert message in str(found.exception)
    assert not Path(inside).exists()
    assert not Path(outside).exists()


def test_a_remedy_can_be_pasted(own: str, tmp_path: Path) -> None:
    spaced = tmp_path / "my index"
    Path(own).rename(spaced)
    found = invoke("count", str(spaced), "a", "--layer", "lemma")
    assert f"rote index add-layer '{spaced}' lemma" in str(found.exception)


def test_add_merge_and_add_layer(own: str, tmp_path: Path) -> None:
    more = write_jsonl(tmp_path / "more.jsonl", MORE)
    added = json.loads(done("index", "add", own, more, "--json", "-q").stdout)
    assert (added["added"], added["documents"], len(added["segments"])) == (1, 4, 2)
    assert "(0 documents new)" in done("index", "add", own, more).stdout
    before = done("count", own, "the old dog", "--json").stdout
    assert json.loads(before)["counts"][0]["occurrences"] == 4
    assert json.loads(before)["counts"][0]["authors"] == 2
    assert "1 segment" in done("index", "merge", own, "--memory", "500M").stdout
    assert done("count", own, "the old dog", "--json").stdout == before
    assert "lemma" in done("index", "add-layer", own, "lemma").stdout
    assert done("count", own, "dogs", "--layer", "lemma", "--csv").stdout.count("dog,") == 1
    done("index", "add-layer", own, "word")
    words = json.loads(done("count", own, "The", "--layer", "word", "--json").stdout)
    assert words["counts"][0]["occurrences"] == 5
    assert done("index", "verify", own).stdout == f"{own}: whole\n"


def test_documents_are_printed_removed_and_replaced(own: str, tmp_path: Path) -> None:
    shown = done("show", own, "--id", "harbour").stdout
    assert "Anna" in shown
    assert "\x1b" not in shown
    printed = tmp_path / "harbour.jsonl"
    printed.write_text(done("show", own, "--id", "harbour", "--json").stdout)
    assert json.loads(printed.read_text()) == DOCUMENTS[0]
    listed = tmp_path / "ids.txt"
    listed.write_text("harbour\n\n")
    removed = done("index", "remove", own, "answer", "--ids", str(listed), "-q").stdout
    assert "1 document, 12 words (2 documents removed, 0 new)" in removed
    found = json.loads(done("count", own, "the old dog", "--json").stdout)["counts"][0]
    assert (found["occurrences"], found["documents"], found["authors"]) == (1, 1, 1)
    changed = [DOCUMENTS[1] | {"text": "The old dog slept on the hill."}, DOCUMENTS[0]]
    replaced = done(
        *("index", "replace", own, write_jsonl(tmp_path / "new.jsonl", changed), "--json", "-q")
    )
    held = json.loads(replaced.stdout)
    assert (held["removed"], held["added"], held["documents"]) == (1, 2, 2)
    assert done("index", "verify", own).stdout == f"{own}: whole\n"


def test_a_compact_index_is_named_and_answers_alike(index: str, tmp_path: Path) -> None:
    texts, folder = write_jsonl(tmp_path / "texts.jsonl", DOCUMENTS), str(tmp_path / "idx")
    done("index", "build", texts, "-o", folder, "--layers", "lower,pos", "--compact")
    assert "2, compact, generation 1" in done("index", "info", folder).stdout
    for asked in (("count", "the old dog"), ("search", '[pos="JJ"] "dog"'), ("top", "-n", "2")):
        command, *rest = asked
        said = [done(command, held, *rest, "--csv").stdout for held in (index, folder)]
        assert said[0] == said[1] != ""
    refused = invoke("index", "build", texts, "-o", folder, "--layers", "lower,pos")
    assert isinstance(refused.exception, OptionError)


def test_verify_names_what_is_damaged(own: str) -> None:
    file = next(iter(Path(own).glob("segments/*/lower/ids")))
    data = bytearray(file.read_bytes())
    data[0] ^= 1
    file.write_bytes(data)
    found = invoke("index", "verify", own, "-q")
    assert found.exit_code == 1
    assert str(file) in found.stdout
    assert "damaged, 1 problem" in found.stdout
    held = json.loads(invoke("index", "verify", own, "--json").stdout)
    assert not held["whole"]
    assert len(held["problems"]) == 1


def test_items_are_taken_as_they_are(index: str) -> None:
    found = done("count", index, "--layer", "pos", "--items", "DT JJ NN", "XX", "--csv").stdout
    rows = list(csv.DictReader(found.splitlines()))
    assert [row["items"] for row in rows] == ["DT JJ NN", "XX"]
    assert int(rows[0]["occurrences"]) >= 5
    assert rows[1]["occurrences"] == rows[1]["documents"] == "0"


def test_a_query_is_counted(index: str) -> None:
    found = done("count", index, '[pos="JJ"] "dog"', "the", "--json").stdout
    query, phrase, _ = json.loads(found)["counts"]
    assert query["occurrences"] == 4
    assert query["items"] is None
    assert query["query"] == '[pos="JJ"] [lower="dog"]'
    assert query["documents"] is None
    assert phrase["items"] == ["the"]


def test_phrases_come_from_a_file_or_standard_input(index: str, tmp_path: Path) -> None:
    lines = 'the old dog\n\n a dog \n[pos="JJ"]\nthe hill\n'
    file = tmp_path / "phrases.txt"
    file.write_text(lines)
    asked = ("--layer", "lower", "--csv")
    from_file = done("count", index, "--phrases-from", str(file), *asked).stdout
    assert done("count", index, "--phrases-from", "-", *asked, input=lines).stdout == from_file
    rows = list(csv.DictReader(from_file.splitlines()))
    assert [row["occurrences"] for row in rows] == ["3", "0", "5", "1"]


def test_many_phrases_are_counted_as_each_alone(index: str, tmp_path: Path) -> None:
    words = "the old dog slept too . nobody a hill is of".split()
    phrases = [f"{a} {b}" for a in words for b in words]
    (tmp_path / "phrases").write_text("\n".join(phrases))
    rows = json.loads(
        done(
            "count",
            index,
            "--phrases-from",
            str(tmp_path / "phrases"),
            "--layer",
            "lower",
            "--json",
        ).stdout
    )["counts"]
    from rote.index.factory import open_index

    opened = open_index(index)
    for row in rows:
        assert row["occurrences"] == opened.count(row["phrase"])
        assert row["documents"] == len(opened.documents(row["phrase"]))


def test_what_a_text_holds_does_not_reach_the_terminal(index: str) -> None:
    found = done("search", index, "nobody saw the").stdout
    assert "\x1b" not in found
    assert "␛[31mred" in found


def test_json_and_csv_keep_the_text_and_json_is_safe_to_look_at(index: str) -> None:
    found = done("search", index, "nobody saw the", "--json").stdout
    assert "\x1b" not in found
    assert json.loads(found)["places"][0]["after"] == " \x1b[31mred\x1b[0m light."
    assert "\x1b[31mred" in done("search", index, "nobody saw the", "--csv").stdout


def test_offsets_lead_back_to_the_text(index: str) -> None:
    found = json.loads(done("search", index, '[pos="JJ"] []', "--json", "--limit", "0").stdout)
    assert found["matches"] == len(found["places"]) == 5
    texts = {document["id"]: document["text"] for document in DOCUMENTS}
    for place in found["places"]:
        text = texts[place["document"]]
        assert text[place["start"] : place["end"]] == place["match"]
        assert place["before"] + place["match"] + place["after"] in text
    rows = list(csv.DictReader(done("search", index, "old dog", "--csv").stdout.splitlines()))
    assert [row["document"] for row in rows] == ["harbour", "hill", "answer"]
    assert rows[2]["author"] == ""


def test_search_keeps_to_documents_with_a_field(index: str) -> None:
    asked = ("search", index, "old dog", "--where")
    rows = list(csv.DictReader(done(*asked, "author=Anna", "--csv").stdout.splitlines()))
    assert [row["document"] for row in rows] == ["harbour"]
    others = json.loads(done(*asked, "author!=Anna", "--by", "document", "--json").stdout)
    assert [row["group"] for row in others["groups"]] == ["answer", "hill"]
    wrong = invoke(*asked, "autor=Anna")
    assert "unknown field of the documents 'autor'" in str(wrong.exception)


def test_top_is_written_to_a_file(index: str, tmp_path: Path) -> None:
    file = tmp_path / "top.csv"
    assert done("top", index, "--no-examples", "-o", str(file)).stdout == ""
    rows = list(csv.DictReader(file.read_text().splitlines()))
    assert rows[0]["items"] == "the"
    assert rows[0]["example"] == ""
    done("top", index, "-o", str(tmp_path / "top.txt"))
    assert "per million" in (tmp_path / "top.txt").read_text()


def test_examples_need_sorted_places(index: str) -> None:
    found = done("top", index, "--layer", "word")
    assert "no examples" in found.stderr
    assert "The" in found.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["count", "IDX", "a", "--layer", "lemma"], "rote index add-layer IDX lemma"),
        (["count", "IDX", "a", "--layer", "lemm"], "did you mean 'lemma'?"),
        (["count", "IDX", "a", "--layer", "word"], "rote index add-layer IDX word"),
        (["count", "IDX"], "give at least one phrase"),
        (["count", "IDX", " "], "holds nothing to count"),
        (["count", "IDX", "--items", " "], "holds nothing to count"),
        (["count", "IDX", "--phrases-from", "nowhere"], "nowhere: the phrases cannot be read"),
        (["count", "IDX", "a", "--json", "--csv"], "choose one of"),
        (["search", "IDX", '[lemma="a"]'], "rote index add-layer IDX lemma"),
        (["search", "IDX", "[pos="], "expected a string in quotes"),
        (["search", "IDX", "a", "--show", "upos"], "rote index add-layer IDX upos"),
        (["search", "IDX", "a", "--limit", "-1"], "at least 0"),
        (["top", "IDX", "--layer", "upos"], "rote index add-layer IDX upos"),
        (["top", "IDX", "-n", "0"], "must both be at least 1"),
        (["index", "add-layer", "IDX", "lemm"], "did you mean 'lemma'?"),
        (["index", "remove", "IDX", "hil"], "no document with the id 'hil': nothing was removed"),
        (["index", "remove", "IDX"], "the ids of the documents"),
        (["index", "remove", "IDX", "--ids", "nowhere"], "nowhere: the ids cannot be read"),
        (["show", "IDX", "--id", "hil"], "no document with the id 'hil'"),
        (["count", "IDX", "a", "-o", "IDX"], "-o IDX would overwrite the input"),
        (["index", "merge", "IDX", "--jobs", "0"], "jobs must be at least 1, not 0"),
        (["index", "add", "IDX", "example:answers", "--jobs", "-1"], "at least 1, not -1"),
    ],
)
def test_errors_say_what_to_do(index: str, arguments: list[str], message: str) -> None:
    found = invoke(*[index if word == "IDX" else word for word in arguments])
    assert isinstance(found.exception, RoteError), (found.output, found.exception)
    assert message.replace("IDX", index) in str(found.exception)


@pytest.mark.parametrize(
    "command",
    [
        "count {} a",
        "search {} a",
        "top {}",
        "index info {}",
        "index verify {}",
        "index merge {}",
        "index add {} example:answers",
        "index add-layer {} lemma",
        "index remove {} a",
        "index replace {} example:answers",
    ],
)
def test_a_folder_that_is_no_index_is_named(command: str, tmp_path: Path) -> None:
    found = invoke(*command.format(tmp_path).split())
    assert isinstance(found.exception, InputError), found.output
    assert f"{tmp_path}: this is no index" in str(found.exception)
    assert "rote index build" in str(found.exception)
