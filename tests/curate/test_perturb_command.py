"""`rote perturb` as a user meets it: what is written, what is compared, what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result as Outcome

from rote.core.errors import InputError, MissingExtra, OptionError
from tests.kit import invoke, read_jsonl, succeeded, write_jsonl

FORMS: dict[str, list[dict[str, Any]]] = {
    "copa": [
        {
            "id": "c1",
            "premise": "The woman bought an automobile. ",
            "choice1": "She drove the automobile home.",
            "choice2": "She sold the house.",
            "answer": 1,
            "asks_for": "effect",
        }
    ],
    "piqa": [
        {
            "id": "p1",
            "goal": "To repair an automobile",
            "sol1": "utilize a hammer ",
            "sol2": "utilize a doctor",
            "label": 0,
        }
    ],
    "winogrande": [
        {
            "id": "w1",
            "sentence": "Anna repaired the automobile in the garage because the _ was broken.",
            "option1": "automobile",
            "option2": "garage",
            "answer": "1",
        }
    ],
    "lambada": [
        {"id": "l1", "context": "He bought an automobile. He liked his", "target": "automobile"}
    ],
    "blimp": [
        {
            "paradigm": "agreement",
            "phenomenon": "determiner_noun_agreement",
            "pair_id": 4,
            "sentence_good": "Anna repaired this automobile.",
            "sentence_bad": "Anna repaired this automobiles.",
        }
    ],
    "choices": [
        {
            "id": "o1",
            "task": "own",
            "context": "The automobile stopped. ",
            "options": ["The doctor left.", "The doctor stayed.", "Nobody left."],
            "answer": "The doctor stayed.",
            "acc": 1,
        }
    ],
}
KEPT = {"id", "answer", "label", "asks_for", "target", "paradigm", "phenomenon", "pair_id", "task"}


def run(*arguments: str) -> Outcome:
    return invoke("perturb", *arguments)


def done(*arguments: str) -> Outcome:
    return succeeded(run(*arguments))


@pytest.mark.parametrize("form", FORMS)
def test_items_come_out_in_the_form_in_which_they_came(form: str, tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "items.jsonl", FORMS[form])
    target = tmp_path / "new.jsonl"
    done(source, "--write", str(target), "--log", str(tmp_path / "log.jsonl"), "-q")
    [old], [new] = FORMS[form], read_jsonl(target)
    if form == "choices":
        old = {name: value for name, value in old.items() if name != "acc"}
        assert new["answer"] == new["options"][1]
        new = {**new, "answer": old["answer"]}
    assert list(new) == list(old)
    assert {name: new[name] for name in new if name in KEPT} == {
        name: old[name] for name in old if name in KEPT
    }
    assert new != old
    rows = read_jsonl(tmp_path / "log.jsonl")
    assert all(row["replacement"] != row["original"] for row in rows)
    # What was written can be compared with what it was made from.
    compared = done(source, "--perturbed", str(target), "--json", "-q")
    assert json.loads(compared.stdout)["sources"]


def test_items_of_sample_logs_come_out_as_choices(tmp_path: Path) -> None:
    log = {
        "doc_id": 7,
        "doc": {"goal": "repair"},
        "target": "0",
        "arguments": [
            ["To repair an automobile,", " call a friend"],
            ["To repair an automobile,", " sing"],
        ],
        "acc": 1.0,
    }
    source = write_jsonl(tmp_path / "samples_mine_2024-01-01T00-00-00.jsonl", [log])
    done(source, "--write", str(tmp_path / "new.jsonl"), "-q")
    [new] = read_jsonl(tmp_path / "new.jsonl")
    assert list(new) == ["id", "task", "context", "options", "ending", "answer"]
    assert (new["id"], new["task"], new["answer"]) == ("7", "mine", 0)
    assert "automobile" not in new["context"]
    done(source, "--perturbed", str(tmp_path / "new.jsonl"), "-q")


def test_the_result_says_how_far_items_moved(tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "items.jsonl", FORMS["copa"])
    result = json.loads(done(source, "--json", "-q").stdout)
    values = result["sources"]["copa"]["values"]
    assert values["changed"] == 1
    assert 0 < values["rouge_l"] < 1
    assert 0 < values["replaced_share"] <= 1
    assert values["replaced"] == sum(row["times"] for row in result["tables"]["replacements"])
    assert "accuracy_before" not in values
    assert "lexicon:wordnet/3.0" in result["signature"]


@pytest.fixture
def answered(tmp_path: Path) -> tuple[str, str]:
    """Ten items before and after, of which three are lost and one is gained."""

    def records(word: str, right: list[int]) -> list[dict[str, Any]]:
        return [
            {
                "id": str(n),
                "task": "own",
                "context": f"The {word} number {n} was near the old house. ",
                "options": ["It was red.", "It was blue."],
                "answer": 0,
                "right": value,
            }
            for n, value in enumerate(right)
        ]

    before = records("car", [1, 1, 1, 1, 1, 1, 0, 0, 0, 0])
    after = records("motorcar", [0, 0, 0, 1, 1, 1, 1, 0, 0, 0])
    return (
        write_jsonl(tmp_path / "before.jsonl", before),
        write_jsonl(tmp_path / "after.jsonl", after[::-1]),
    )


def test_answers_before_and_after_are_compared(answered: tuple[str, str]) -> None:
    before, after = answered
    result = json.loads(
        done(before, "--perturbed", after, "--correct", "right", "--json", "-q").stdout
    )
    values = result["sources"]["own"]["values"]
    assert values["accuracy_before"] == pytest.approx(0.6)
    assert values["accuracy_after"] == pytest.approx(0.4)
    assert values["accuracy_change"] == pytest.approx(-1 / 3)
    [test] = result["tables"]["tests"]
    # Of 4 changes 1 or fewer, or 3 or more, go one way: 2 * (1 + 4) / 16.
    assert (test["lost"], test["gained"], test["p"]) == (3, 1, pytest.approx(10 / 16))


def test_popularity_falls_where_the_corpus_knows_the_original(
    answered: tuple[str, str], tmp_path: Path
) -> None:
    before, after = answered
    texts = [
        {"id": str(n), "text": f"The car number {n} was near the old house. It was red."}
        for n in range(10)
    ]
    index = str(tmp_path / "idx")
    built = invoke(
        "index", "build", write_jsonl(tmp_path / "texts.jsonl", texts), "-o", index, "-q"
    )
    assert built.exit_code == 0, built.exception
    found = done(
        before,
        "--perturbed",
        after,
        "--correct",
        "right",
        "--corpus",
        index,
        "-n",
        "3",
        "--json",
        "-q",
        "--figures",
        str(tmp_path / "figures"),
    )
    result = json.loads(found.stdout)
    values = result["sources"]["own"]["values"]
    assert values["ips_after"] < values["ips_before"]
    tests = {row.get("of", "answers"): row for row in result["tables"]["tests"]}
    assert tests["all"]["items"] == 10
    assert tests["lost"]["items"] == 3
    assert tests["lost"]["p"] == pytest.approx(2 / 2**3)  # three of three fall
    assert {path.name for path in (tmp_path / "figures").iterdir()} >= {"popularity.svg"}
    asked = (before, "--corpus", index, "-n", "3", "--variant", "exact")
    made = json.loads(done(*asked, "--json", "-q").stdout)
    [row] = [row for row in made["tables"]["replacements"] if row["original"] == "car"][:1]
    assert row["original_count"] == 10
    assert {row["words"] for row in made["tables"]["frequencies"]} == {"original", "replacement"}
    shown = done(*asked, "-q").stdout
    assert "Wilcoxon" in shown
    assert "Words that stay" in shown


def test_items_that_do_not_match_up_are_listed(answered: tuple[str, str], tmp_path: Path) -> None:
    before, after = answered
    records = read_jsonl(Path(after))
    records[0] = {**records[0], "id": "other"}
    records[1] = {**records[1], "options": ["It was red."]}
    records[2] = {**records[2], "answer": 1}
    error = run(before, "--perturbed", write_jsonl(tmp_path / "x.jsonl", records)).exception
    assert isinstance(error, InputError)
    for said in (
        "own 9 is not among the perturbed",
        "own other is not among the originals",
        "own 8 has 1 option, not 2",
        "own 7 has another right answer",
    ):
        assert said in str(error)


def test_what_makes_no_sense_is_refused_before_the_work(tmp_path: Path) -> None:
    copa = write_jsonl(tmp_path / "copa.jsonl", FORMS["copa"])
    piqa = write_jsonl(tmp_path / "piqa.jsonl", FORMS["piqa"])
    for arguments, said in (
        ((copa, "--perturbed", piqa, "--write", str(tmp_path / "x")), "nothing to write"),
        ((copa, "--perturbed", piqa, "--seed", "3"), "decided when they were made"),
        ((copa, "--write", copa), "would overwrite the input"),
        ((copa, "--write", out := str(tmp_path / "x"), "--log", out), "is the target of both"),
        ((copa, piqa, "--write", str(tmp_path / "x")), "several forms"),
        ((copa, "--pos", "adverb"), "noun, verb"),
    ):
        error = run(*arguments).exception
        assert isinstance(error, OptionError), (arguments, error)
        assert said in str(error)


def test_a_lexicon_of_wn_names_the_extra_where_it_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "wn", None)
    source = write_jsonl(tmp_path / "items.jsonl", FORMS["copa"])
    error = run(source, "--lexicon", "wn:oewn:2024").exception
    assert isinstance(error, MissingExtra)
    assert ".[wordnet]" in str(error)


def test_perturbed_items_may_be_a_task_of_their_own() -> None:
    from rote.core.errors import InputError
    from rote.corpus.items import Item
    from rote.curate.perturb import match_items

    def items(task: str, *ids: str) -> list[Item]:
        return [Item(id=id, task=task, context="", options=("a", "b"), answer=0) for id in ids]

    found = match_items(items("copa", "1", "2"), items("copa_perturbed", "2", "1"))
    assert [item.id for item in found] == ["1", "2"]
    with pytest.raises(InputError, match="copa 2 is not among the perturbed"):
        match_items(items("copa", "1", "2"), items("copa_perturbed", "1"))
