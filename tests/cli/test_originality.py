"""`rote originality` as a user meets it: what it prints, what it keeps, what it accepts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from rote.core.errors import OptionError
from rote.index.factory import open_index
from tests.kit import invoke, read_jsonl, succeeded, write_jsonl

GROUND = [
    {"id": "ann", "author": "Ann Lee", "text": "Green clocks never sleep."},
    {"id": "ann too", "author": "Ann B. Lee", "text": "Old rivers carry patient stones."},
]
TEXTS: list[dict[str, Any]] = [
    {"id": "new", "source": "model", "text": "Wooden moons applaud. Iron bells hum loudly."},
    {"id": "mixed", "source": "model", "text": "Green clocks tick. Silver foxes whistle."},
    {"id": "copy", "source": "thief", "text": "Green clocks never sleep."},
]
CITED = {
    "id": "cited",
    "source": "thief",
    "author": "Honest Joe",
    "citation": "Ann Lee, p. 3",
    "text": "Old rivers carry patient stones.",
}


def run(*arguments: str) -> Result:
    """Any fragment of one source needs a citation: these texts are short."""
    rule = ["--min-words", "2", "--chance", "0"] if arguments[0] == "originality" else []
    return invoke(*arguments, *rule)


def done(*arguments: str) -> Result:
    return succeeded(run(*arguments))


def refused(*arguments: str) -> str:
    error = run(*arguments).exception
    assert isinstance(error, OptionError), error
    return str(error)


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """The texts, and an index of the ground truth."""
    ground = write_jsonl(tmp_path / "ground.jsonl", GROUND)
    done("index", "build", ground, "-o", str(tmp_path / "idx"), "-q")
    return write_jsonl(tmp_path / "texts.jsonl", TEXTS), str(tmp_path / "idx")


def verdicts(*arguments: str) -> dict[str, tuple[bool, bool]]:
    """Sentence -> original, fails."""
    found = json.loads(done("originality", *arguments, "--json", "-q").stdout)
    rows = found["tables"]["sentences"]
    return {row["text"]: (row["original"], row["fails"]) for row in rows}


def test_facets_are_shown_one_after_the_other_and_the_ground_truth_once(
    files: tuple[str, str], tmp_path: Path
) -> None:
    records = [
        {**text, "id": f"{task} {number}", "task": task, "source": source}
        for task in ("tales", "news")
        for source in ("human", "model")
        for number, text in enumerate(TEXTS * 2, 6 * (source == "model"))
    ]
    texts = write_jsonl(tmp_path / "tasks.jsonl", records)
    by = ["--by", "task,source", "--reference", "human"]
    shown = done("originality", texts, "--corpus", files[1], *by).stdout
    assert shown.index("tales: What fails") < shown.index("news: What fails")
    assert shown.count("The ground truth") == 1
    assert shown.count("Ann B. Lee = Ann Lee") == 1
    # The reference comes first.
    part = shown[shown.index("news: What fails") :]
    assert part.index("human") < part.index("model")


def test_texts_that_act_on_a_terminal_are_shown_harmless(
    files: tuple[str, str], tmp_path: Path
) -> None:
    text = "\x1b[31m Now, green clocks\nnever sleep [bold]here[/bold] all night."
    odd = write_jsonl(tmp_path / "odd.jsonl", [{"id": "[b]x\x07", "text": text}])
    shown = done("originality", odd, "--corpus", files[1]).stdout
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "[green clocks never sleep] [bold]here[/bold]" in shown


def test_what_passes_is_written_and_can_be_read_as_texts(
    files: tuple[str, str], tmp_path: Path
) -> None:
    out = tmp_path / "passing.jsonl"
    arguments = [files[0], "--corpus", files[1], "--by", "source", "--write", str(out)]
    found = json.loads(done("originality", *arguments, "--json", "-q").stdout)
    # Every verdict is needed for it, but nobody asked to see them.
    assert "verdicts" not in found["tables"]
    records = read_jsonl(out)
    assert [(r["text_id"], r["sentence"], r["text"]) for r in records] == [
        ("new", 1, "Wooden moons applaud."),
        ("new", 2, "Iron bells hum loudly."),
        ("mixed", 2, "Silver foxes whistle."),
    ]
    assert all(record["original"] and record["source"] == "model" for record in records)
    again = verdicts(str(out), "--corpus", files[1])
    assert set(again.values()) == {(True, False)}


def test_accepted_sentences_are_known_to_the_next_run(files: tuple[str, str]) -> None:
    arguments = [files[0], "--corpus", files[1], "--by", "source"]
    before = verdicts(*arguments)
    assert before["Wooden moons applaud."] == (True, False)
    said = done("originality", *arguments, "--accept", "--json")
    assert "accepted 3 sentences of 2 texts" in said.stderr
    json.loads(said.stdout)
    index = open_index(Path(files[1]))
    assert len(index.segments) == 2
    assert index.documents_held == 4
    # Now they are the model's own, and whoever says them again has to cite it.
    after = verdicts(*arguments)
    assert after["Wooden moons applaud."] == (False, True)
    assert after["Silver foxes whistle."] == (False, True)
    (place,) = index.places("silver foxes whistle")
    assert (place.document, place.author, place.source) == ("mixed", "model", "model")
    # What was not accepted is not there.
    assert not index.count("clocks tick")
    again = done("originality", *arguments, "--accept")
    assert "accepted nothing" in again.stderr
    assert len(open_index(Path(files[1])).segments) == 2


def test_a_record_that_cites_is_accepted_whole(files: tuple[str, str], tmp_path: Path) -> None:
    cited = write_jsonl(tmp_path / "cited.jsonl", [CITED, {**CITED, "id": "not", "citation": ""}])
    assert verdicts(cited, "--corpus", files[1]) == {CITED["text"]: (False, True)}
    said = done("originality", cited, "--corpus", files[1], "--accept")
    assert "accepted 1 sentence of 1 text" in said.stderr
    index = open_index(Path(files[1]))
    authors = [place.author for place in index.places("patient stones")]
    assert authors == ["Ann B. Lee", "Honest Joe"]
    # Two sources have it now, so it is nobody's own.
    assert verdicts(cited, "--corpus", files[1]) == {CITED["text"]: (False, False)}


def test_a_quotation_stays_that_of_the_author_who_is_named(
    files: tuple[str, str], tmp_path: Path
) -> None:
    cited = write_jsonl(tmp_path / "cited.jsonl", [{**CITED, "citation": "Ann Lee"}])
    done("originality", cited, "--corpus", files[1], "--accept", "-q")
    authors = [place.author for place in open_index(Path(files[1])).places("patient stones")]
    assert authors == ["Ann B. Lee", "Ann Lee"]
    # Who repeats it without a word still needs a citation.
    assert verdicts(cited, "--corpus", files[1]) == {CITED["text"]: (False, True)}


def test_texts_whose_id_the_index_holds_are_passed_over(
    files: tuple[str, str], tmp_path: Path
) -> None:
    clash = write_jsonl(
        tmp_path / "clash.jsonl",
        [{"id": "ann", "text": "Iron bells hum."}, {"id": "b", "text": "Silver foxes whistle."}],
    )
    said = done("originality", clash, "--corpus", files[1], "--accept").stderr
    assert "accepted 1 sentence of 1 text" in said
    assert "skipped 1 text whose id is already in the index: ann" in said
    assert not open_index(Path(files[1])).count("iron bells")


def test_accepted_sentences_stay_apart(files: tuple[str, str], tmp_path: Path) -> None:
    text = "Silver foxes whistle. Green clocks tick. Iron bells hum"
    write_jsonl(tmp_path / "apart.jsonl", [{"id": "x", "text": text}])
    done("originality", str(tmp_path / "apart.jsonl"), "--corpus", files[1], "--accept", "-q")
    bridge = write_jsonl(
        tmp_path / "bridge.jsonl", [{"id": "y", "text": "They whistle. Iron, he says."}]
    )
    # "whistle . iron" would be a fragment if the two sentences had become one.
    found = json.loads(done("originality", bridge, "--corpus", files[1], "--json", "-q").stdout)
    assert not found["tables"]["citations"]


def test_what_cannot_be_accepted_is_refused_before_the_work(
    files: tuple[str, str], tmp_path: Path
) -> None:
    texts, index = files
    ground = str(tmp_path / "ground.jsonl")
    assert "rote index build" in refused("originality", texts, "--corpus", ground, "--accept")
    assert "--corpus" in refused("originality", texts, "--accept")
    assert "twice" in refused("originality", "-", "--corpus", index, "--accept")
    assert "--within" in refused(
        "originality", texts, "--corpus", index, "--accept", "--within", "doc_id"
    )
    nowhere = str(tmp_path / "no" / "out.jsonl")
    assert "folder" in refused("originality", texts, "--corpus", index, "--write", nowhere)


def test_a_file_of_authors_decides_who_is_one_source(
    files: tuple[str, str], tmp_path: Path
) -> None:
    file = tmp_path / "authors.csv"
    file.write_text("name,author\nAnn Lee,Ann Lee\n")
    plain, told = (
        json.loads(done("originality", files[0], "--corpus", files[1], "--json", *more).stdout)
        for more in ([], ["--authors", str(file)])
    )
    assert [plain["tables"]["ground_truth"][0][name] for name in ("sources", "authors")] == [1, 1]
    assert plain["tables"]["merged_authors"][0]["guessed"] == ["Ann Lee"]
    assert [told["tables"]["ground_truth"][0][name] for name in ("sources", "authors")] == [2, 2]
    assert "authors:2|" in plain["signature"] + "|"
    assert "authors:2+" in told["signature"]
    # Who quotes her by a name that the file tells is quoting somebody whom the truth knows.
    file.write_text("name,author\nThe Old Poet,Ann B. Lee\n")
    cited = write_jsonl(tmp_path / "cited.jsonl", [{**CITED, "citation": "The Old Poet"}])
    done("originality", cited, "--corpus", files[1], "--authors", str(file), "--accept", "-q")
    authors = [place.author for place in open_index(Path(files[1])).places("patient stones")]
    assert authors == ["Ann B. Lee", "The Old Poet"]
