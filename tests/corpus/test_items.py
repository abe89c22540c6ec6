"""Items of every benchmark, and of the harness' logs, are read as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from rote.core.errors import InputError, UnknownName
from rote.corpus import ReadOptions
from rote.corpus.items import Item, read_items, read_records
from tests.kit import write_jsonl


def written(path: Path, *records: Mapping[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_jsonl(path, records)


def one(path: Path, **record: Any) -> Item:
    return next(read_items([written(path / "made.jsonl", record)]))


def test_a_pair_of_blimp_is_two_sentences_of_which_the_first_is_right(tmp_path: Path) -> None:
    item = one(
        tmp_path,
        sentence_good="A gull sings.",
        sentence_bad="A gull sing.",
        pair_id=3,
        phenomenon="agreement",
        paradigm="agreement_1",
    )
    assert (item.id, item.task, item.answer) == ("agreement_1-3", "agreement", 0)
    assert item.instances() == ["A gull sings.", "A gull sing."]
    assert item.meta["kind"] == "formal"
    assert item.meta["paradigm"] == "agreement_1"
    own = one(tmp_path, sentence_good="a", sentence_bad="b", linguistics_term="islands", UID="u")
    assert (own.task, own.id) == ("islands", "u")


def test_lambada_has_one_option(tmp_path: Path) -> None:
    item = one(tmp_path, id="l-1", context="He threw the\n\nball to", target="Ann")
    assert (item.id, item.task, item.answer, item.options) == ("l-1", "lambada", 0, ("Ann",))
    assert item.instances() == ["He threw the\n\nball to Ann"]
    assert item.meta["kind"] == "functional"


def test_copa_counts_from_one_and_superglue_from_zero(tmp_path: Path) -> None:
    record = {"premise": "It rained.", "choice1": "The street got wet.", "choice2": "It was dry."}
    assert one(tmp_path, **record, answer=2, id=7).answer == 1
    assert one(tmp_path, **record, label=1, idx=7).answer == 1
    item = one(tmp_path, **record)
    assert item.answer is None
    assert item.instances()[0] == "It rained. The street got wet."


def test_piqa_counts_from_zero_and_may_have_no_label(tmp_path: Path) -> None:
    record = {"goal": "open a tin", "sol1": "use a key ", "sol2": "use a spoon"}
    item = one(tmp_path, **record, label=1)
    assert (item.answer, item.id, item.task) == (1, "made.jsonl:1", "piqa")
    assert item.instances() == ["open a tin use a key ", "open a tin use a spoon"]
    assert one(tmp_path, **record).answer is None


def test_winogrande_fills_the_gap(tmp_path: Path) -> None:
    record = {"option1": "Ann", "option2": "Bo", "answer": "2"}
    item = one(tmp_path, sentence="Ann called Bo, but _ slept.", **record)
    assert item.answer == 1
    assert item.instances() == ["Ann called Bo, but Ann slept.", "Ann called Bo, but Bo slept."]
    with pytest.raises(InputError, match="has no gap"):
        one(tmp_path, sentence="Ann called Bo.", **record)


def test_any_other_test_gives_context_options_and_answer(tmp_path: Path) -> None:
    record = {
        "id": 1,
        "task": "colours",
        "context": "The sky is ",
        "options": ["blue", "red", "up"],
    }
    item = one(tmp_path, **record, answer="red", ending=".", level=3)
    assert (item.task, item.answer, item.meta) == ("colours", 1, {"level": 3})
    assert item.instances()[1] == "The sky is red."
    assert one(tmp_path, **record, answer=2).answer == 2
    for wrong in (3, -1, "green", True, "1.5"):
        with pytest.raises(InputError, match=r"line 1: the field 'answer' contains"):
            one(tmp_path, **record, answer=wrong)
    with pytest.raises(InputError, match="'options' is not a list of texts"):
        one(tmp_path, context="x", options="blue")


def logged(
    requests: Sequence[Sequence[str]], target: object, *, old: bool = False, **more: Any
) -> dict[str, Any]:
    """A record as the harness writes it: requests by name, everything a text but the metrics."""
    named = {f"gen_args_{i}": dict(zip(("arg_0", "arg_1"), r)) for i, r in enumerate(requests)}
    return {
        "doc_id": 5,
        "doc": {"goal": "open a tin", "label": 1},
        "target": str(target),
        "arguments": [list(r) for r in requests] if old else named,
        "resps": [[["-3.5", "False"]]],
        "filtered_resps": [["-3.5", "False"]],
        "filter": "none",
        "metrics": ["acc"],
        "acc": 1.0,
        **more,
    }


@pytest.mark.parametrize("old", [False, True])
def test_logs_of_the_harness_give_what_the_model_saw(tmp_path: Path, old: bool) -> None:
    requests = [
        ("Question: open a tin\nAnswer:", " a key"),
        ("Question: open a tin\nAnswer:", " no"),
    ]
    path = tmp_path / "results" / "my__model" / "samples_piqa_2025-01-02T03-04-05.678.jsonl"
    item = next(read_items([written(path, logged(requests, 1, old=old))]))
    assert (item.id, item.task, item.answer) == ("5", "piqa", 1)
    assert item.context == "Question: open a tin\nAnswer:"
    assert item.options == (" a key", " no")
    assert item.meta["acc"] == 1.0
    assert item.meta["goal"] == "open a tin"
    assert (item.meta["kind"], item.meta["source"]) == ("functional", "my__model")


def test_of_a_folder_of_the_harness_only_the_logs_are_read(tmp_path: Path) -> None:
    requests = [("", "A gull sings."), ("", "A gull sing.")]
    for model in ("a", "b"):
        log = tmp_path / model / "samples_blimp_x_2025-01-02T03-04-05.678.jsonl"
        written(log, logged(requests, 0))
        written(tmp_path / model / "results_2025-01-02T03-04-05.678.json", {"results": {}})
    assert [item.meta["source"] for item in read_items([tmp_path])] == ["a", "b"]


def test_the_right_option_follows_from_text_or_scores(tmp_path: Path) -> None:
    path = tmp_path / "samples_copa_2025-01-02T03-04-05.jsonl"

    def answer(requests: Sequence[Sequence[str]], target: str, **more: Any) -> int | None:
        return next(read_items([written(path, logged(requests, target, **more))])).answer

    because = [("It rained because", " the sky fell."), ("It rained because", " it was wet.")]
    assert answer(because, " it was wet.") == 1
    # WinoGrande: the options occur in the contexts, the target is what follows both.
    gap = [("Ann called, but Ann", " slept."), ("Ann called, but Bo", " slept.")]
    scores = [["-9.5", "False"], ["-3.25", "True"]]
    assert answer(gap, "slept.", filtered_resps=scores, acc=1.0) == 1
    assert answer(gap, "slept.", filtered_resps=scores, acc=0.0) == 0
    item = next(read_items([written(path, logged(gap, "slept.", filtered_resps=scores))]))
    assert item.instances() == ["Ann called, but Ann slept.", "Ann called, but Bo slept."]
    with pytest.raises(InputError, match="so the right option is unknown"):
        answer(gap, "slept.", filtered_resps=[["?", ""], ["?", ""]])


def test_requests_without_context_are_options_only_where_all_are(tmp_path: Path) -> None:
    path = tmp_path / "samples_blimp_islands_2025-01-02T03-04-05.jsonl"
    pair = [("", "A gull sings."), ("", "A gull sing.")]
    item = next(read_items([written(path, logged(pair, 0))]))
    assert item.options == ("A gull sings.", "A gull sing.")
    assert item.meta["kind"] == "formal"
    mutual = [("It is", " blue"), ("It is", " red"), ("", " blue"), ("", " red")]
    assert next(read_items([written(path, logged(mutual, 1))])).options == (" blue", " red")


def test_what_was_generated_is_held_against_its_target(tmp_path: Path) -> None:
    path = tmp_path / "samples_sums_2025-01-02T03-04-05.jsonl"
    record = logged([("Two and two is", "")], "four", filter="strict")
    record["arguments"]["gen_args_0"]["arg_1"] = {"until": ["\n"]}
    item = next(read_items([written(path, record)]))
    assert item.instances() == ["Two and two is four"]
    assert (item.id, item.answer) == ("5.strict", 0)
    assert "kind" not in item.meta


def test_wrong_items_are_named_by_file_and_line(tmp_path: Path) -> None:
    good = {"context": "x", "target": "y"}
    path = written(
        tmp_path / "a.jsonl", good, {"context": "x"}, {"context": 3, "target": "y"}, good
    )
    with pytest.raises(InputError, match=r"a\.jsonl, line 2, field 'target': is missing"):
        list(read_items([path]))
    skipped: list[InputError] = []
    assert len(list(read_items([path], read=ReadOptions(on_error="skip"), skipped=skipped))) == 2
    assert [problem.line for problem in skipped] == [2, 3]
    with pytest.raises(InputError, match="no known benchmark has these fields: colour"):
        one(tmp_path, colour="red")
    with pytest.raises(InputError, match="field 'goal': is missing"):
        list(read_items([path], "piqa"))
    with pytest.raises(UnknownName, match="did you mean 'lambada'"):
        list(read_items([path], "lambda"))
    plain = tmp_path / "a.txt"
    plain.write_text("only words")
    [text] = read_items([plain])
    assert (text.task, text.instances()) == ("a", ["only words"])


def test_records_keep_their_form_and_fields(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    fields = {"goal": "open it", "sol1": "pull", "sol2": "push", "label": 1, "note": "x"}
    write_jsonl(path, [fields])
    (record,) = read_records([path])
    assert (record.form, record.fields) == ("piqa", fields)
    assert [record.item] == list(read_items([path]))
