"""The page for judges, and what their answers come to."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rote
from rote.core.errors import InputError, OptionError, UnknownName
from rote.core.model import Decoding, Generated, Message, Prompt, Scored
from rote.studies.judge_model import INSTRUCTION, QUESTIONS, parse_choice, write_question
from tests.kit import read_jsonl, write_jsonl


def texts() -> list[dict[str, Any]]:
    return [
        {
            "id": f"{doc}-{source}",
            "doc_id": doc,
            "source": source,
            "text": f"{source} of {doc}",
            "document": f"Document {doc} </script> says é.",
        }
        for doc in ("d1", "d2", "d3")
        for source in ("all", "theta=2")
    ]


def page(folder: Path, **more: Any) -> tuple[Any, dict[str, str], dict[str, Any]]:
    made = rote.judge_page(texts(), output=folder / "page.html", **more)
    html = (folder / "page.html").read_text("utf-8")
    data = html.partition('type="application/json">')[2].partition("</script>")[0]
    key = json.loads((folder / "page.key.json").read_text("utf-8"))["sources"]
    return made, key, json.loads(data)


def test_the_page_holds_all_summaries_and_does_not_say_whose_they_are(tmp_path: Path) -> None:
    made, key, data = page(tmp_path)
    assert made.about["summaries"] == 6
    held = [one for item in data["items"] for one in item["summaries"]]
    assert {one["text"]: key[one["key"]] for one in held} == {
        t["text"]: t["source"] for t in texts()
    }
    assert "source" not in json.dumps(data)
    assert data["items"][0]["document"] == "Document d1 </script> says é."
    assert len({tuple(key[s["key"]] for s in item["summaries"]) for item in data["items"]}) <= 2


def test_summaries_without_a_document_are_refused(tmp_path: Path) -> None:
    some = [{**one, "document": " "} for one in texts()]
    with pytest.raises(InputError, match="A summary needs its document"):
        rote.judge_page(some, output=tmp_path / "page.html")
    twice = [*texts(), {**texts()[0], "id": "again"}]
    with pytest.raises(InputError, match="two summaries of 'all'"):
        rote.judge_page(twice, output=tmp_path / "page.html")


def answer(judge: str, doc: str, summary: str, covered: int, made_up: int) -> dict[str, Any]:
    return {
        "kind": "summary",
        "judge": judge,
        "doc_id": doc,
        "summary": summary,
        "highlights": 4,
        "covered": list(range(covered)),
        "made_up": made_up,
    }


def test_answers_of_several_judges_are_joined(tmp_path: Path) -> None:
    _, key, data = page(tmp_path)
    named = {(i["doc_id"], key[s["key"]]): s["key"] for i in data["items"] for s in i["summaries"]}
    said = {"all": (1, 2), "theta=2": (3, 0)}
    files = []
    for judge in ("ann", "bob"):
        rows: list[dict[str, Any]] = [
            {"kind": "highlights", "judge": judge, "doc_id": doc, "spans": [[0, 3]]}
            for doc in ("d1", "d2", "d3")
        ]
        for (doc, source), name in named.items():
            covered, made_up = said[source]
            # Bob finds both alike in one document.
            covered = 1 if (judge, doc) == ("bob", "d3") else covered
            rows.append(answer(judge, doc, name, 4, 9))  # taken back by the next
            rows.append(answer(judge, doc, name, covered, made_up))
        files.append(write_jsonl(tmp_path / f"{judge}.jsonl", rows))
    found = rote.judge_agreement(files, key=tmp_path / "page.key.json")
    assert found.by_source["all"].values["relevance"] == pytest.approx(0.25)
    assert found.by_source["theta=2"].values["relevance"] == pytest.approx((5 * 0.75 + 0.25) / 6)
    assert found.by_source["all"].values["consistent"] == 0
    (wins,) = [row for row in found.tables["wins"] if row["of"] == "relevance"]
    assert (wins["a"], wins["b"], wins["judgements"]) == ("all", "theta=2", 6)
    assert wins["b_better"] == pytest.approx(5 / 6)
    assert wins["alike"] == pytest.approx(1 / 6)
    assert wins["b_better_low"] < 5 / 6 < wins["b_better_high"]
    levels = {(row["of"], row["what"], row["level"]): row for row in found.tables["agreement"]}
    assert len(levels) == 18
    assert levels["consistency", "facts made up", "interval"]["alpha"] == 1.0
    assert {(row["units"], row["documents"]) for row in levels.values()} == {(6, 3), (3, 3)}
    # All say the same of which is more consistent: nothing to tell apart.
    assert math.isnan(levels["consistency", "better of two", "nominal"]["alpha"])
    assert "Krippendorff" in found.table()


def test_agreement_is_that_of_what_the_table_shows(tmp_path: Path) -> None:
    krippendorff = pytest.importorskip("krippendorff")
    # Bob marks twice as many highlights as Ann, and finds the same share of them covered.
    marked = {"ann": 2, "bob": 4}
    covered = {"d1": (0, 0), "d2": (1, 2), "d3": (2, 4), "d4": (1, 3)}
    rows = [
        answer(judge, doc, "x", own[number], number) | {"highlights": marked[judge]}
        for number, judge in enumerate(marked)
        for doc, own in covered.items()
    ]
    nothing = [answer(judge, "d5", "x", 0, 0) | {"highlights": 0} for judge in marked]
    found = rote.judge_agreement(write_jsonl(tmp_path / "both.jsonl", rows + nothing))
    levels = {(row["of"], row["what"], row["level"]): row for row in found.tables["agreement"]}
    counts = np.array(list(covered.values()), float).T
    shares = counts / np.array([[2], [4]])
    for what, ratings in (("highlights covered", shares), ("count of highlights covered", counts)):
        for level in ("nominal", "ordinal", "interval"):
            shown = ratings
            if ratings is counts:
                shown = np.column_stack((counts, [0, 0]))  # of no highlights none is covered
            expected = krippendorff.alpha(shown, level_of_measurement=level)
            assert levels["relevance", what, level]["alpha"] == pytest.approx(expected)
    both = [
        levels["relevance", what, "interval"]["alpha"]
        for what in ("highlights covered", "count of highlights covered")
    ]
    assert both[0] > 0.9 > both[1] + 0.2


def test_one_judge_alone_has_no_agreement(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [answer("ann", "d1", "x", 2, 0)])
    found = rote.judge_agreement(path)
    assert found.notes == ("one judge alone: no agreement",)
    assert found.by_source["x"].values["relevance"] == 0.5


def test_what_is_no_answer_is_refused_by_its_line(tmp_path: Path) -> None:
    wrong = answer("ann", "d1", "x", 2, 0) | {"highlights": 1}
    path = write_jsonl(tmp_path / "a.jsonl", [answer("ann", "d1", "x", 2, 0), wrong])
    with pytest.raises(InputError, match=r"a\.jsonl, line 2: not an answer"):
        rote.judge_agreement(path)
    page(tmp_path)
    with pytest.raises(UnknownName, match="unknown summary 'x'"):
        rote.judge_agreement(
            write_jsonl(tmp_path / "b.jsonl", [answer("ann", "d1", "x", 2, 0)]),
            key=tmp_path / "page.key.json",
        )


class Judge:
    """A model that answers by a function of the two summaries and the question that it reads."""

    batch = 10_000
    limit = None

    def __init__(self, name: str, choose: Callable[[str, str, str], str]) -> None:
        self.signature = f"{name}/1"
        self.read: list[str] = []
        self._choose = choose

    def length(self, text: str) -> int:
        return len(text.split())

    def score(self, wanted: Sequence[Any]) -> list[Scored]:
        raise AssertionError

    def generate(self, wanted: Sequence[Prompt], decoding: Decoding) -> list[Generated]:
        self.read += [prompt.text for prompt in wanted]
        return [Generated(self._answer(prompt.text), 1, "end") for prompt in wanted]

    def _answer(self, text: str) -> str:
        first = text.partition("Summary A:\n")[2].partition("\n")[0]
        second = text.partition("Summary B:\n")[2].partition("\n")[0]
        return self._choose(first, second, text)


class ChattingJudge(Judge):
    chat_form = "template-1"

    def render(self, messages: Sequence[Message]) -> str:
        return "".join(message.content for message in messages)


def summaries(documents: int = 12) -> list[dict[str, Any]]:
    """Two of each document, by `long` and `short`."""
    return [
        {
            "id": f"{n}-{source}",
            "doc_id": f"d{n}",
            "source": source,
            "document": f"Document {n} {{first}} was long.",
            "text": text,
        }
        for n in range(documents)
        for source, text in (("long", f"{n} with very many words"), ("short", f"{n} few"))
    ]


pytestmark = pytest.mark.usefixtures("own_cache")


def judged(choose: Callable[[str, str, str], str], **more: Any) -> Any:
    return rote.judge_model(summaries(), model={"m": Judge("m", choose)}, **more)


def row(result: Any, table: str, of: str = "relevance") -> dict[str, Any]:
    (found,) = [row for row in result.tables[table] if row["of"] == of]
    return dict(found)


def test_a_judge_that_takes_the_first_text_is_found_out() -> None:
    result = judged(lambda first, second, text: "A")
    position = row(result, "position")
    assert (position["answers"], position["first_wins"], position["consistent"]) == (24, 1, 0)
    assert position["p"] == pytest.approx(2 / 2**12)
    # Wilson's interval of 12 of 12: answers of a document are one observation.
    z = 1.959963984540054
    assert position["first_wins_low"] == pytest.approx(12 / (12 + z * z))
    wins = row(result, "wins")
    assert (wins["a_better"], wins["b_better"], wins["alike"], wins["inconsistent"]) == (
        0,
        0,
        1,
        12,
    )
    assert any("the order influences the judge" in note for note in result.notes)
    assert row(result, "length")["pairs"] == 0
    assert result.by_source["long"].values["relevance"] == 0


def test_a_judge_that_takes_the_longer_text_is_found_out() -> None:
    result = judged(lambda first, second, text: "B" if len(second) > len(first) else "A")
    position, length = row(result, "position"), row(result, "length")
    assert (position["first_wins"], position["consistent"]) == (0.5, 1)
    assert math.isnan(position["p"])
    assert (length["pairs"], length["longer_wins"], length["rho"]) == (12, 1, pytest.approx(1))
    assert length["p"] == pytest.approx(2 / 2**12)
    assert row(result, "wins")["a_better"] == 1
    assert result.by_source["long"].values["relevance"] == 1
    assert not any("order" in note for note in result.notes)
    assert any("longer text wins 100%" in note for note in result.notes)


def test_length_goes_with_preference_as_scipy_says() -> None:
    stats = pytest.importorskip("scipy.stats")
    words = [(5, 2), (3, 4), (6, 1), (2, 2), (1, 5), (4, 4), (7, 3)]
    choices = ["AB", "AB", "AA", "TT", "BA", "AT", "BA"]
    liked = {"AB": 1.0, "AA": 0.0, "TT": 0.0, "BA": -1.0, "AT": 0.5}
    texts = [
        {"id": f"{n}{source}", "doc_id": str(n), "source": source, "document": f"d{n}"}
        | {"text": " ".join([f"{source}{n}"] + ["w"] * (count - 1))}
        for n, pair in enumerate(words)
        for source, count in zip("ab", pair)
    ]

    def choose(first: str, second: str, text: str) -> str:
        name = first.split()[0]
        return choices[int(name[1])][int(name[0] == "b")]

    result = rote.judge_model(texts, model={"m": Judge("m", choose)}, of=("quality",))
    more, preference = [a - b for a, b in words], [liked[choice] for choice in choices]
    expected = stats.spearmanr(
        [*more, *(-d for d in more)], [*preference, *(-p for p in preference)]
    ).statistic
    length = row(result, "length", "quality")
    assert length["rho"] == pytest.approx(expected)
    # Of four clear verdicts on texts of different length, the longer won 0, 4; not 1, 6.
    assert (length["pairs"], length["longer_wins"]) == (4, 0.5)
    wins = row(result, "wins", "quality")
    assert (wins["a_better"], wins["b_better"], wins["alike"]) == (2 / 7, 2 / 7, 3 / 7)
    assert wins["inconsistent"] == 2


def test_answers_that_cannot_be_read_are_counted_and_not_guessed(tmp_path: Path) -> None:
    path = tmp_path / "model.jsonl"

    def choose(first: str, second: str, text: str) -> str:
        return "A summary of it" if first.startswith(("1 ", "2 ")) else "T"

    result = judged(choose, write=path, of=("relevance",))
    position = row(result, "position")
    assert (position["answers"], position["unreadable"], position["ties"]) == (24, 4, 20)
    assert row(result, "wins")["judgements"] == 10
    assert any("4 of 24 answers name no text" in note for note in result.notes)
    verdicts = {record["doc_id"]: record["better"] for record in read_jsonl(path)}
    assert [verdicts[f"d{n}"] for n in range(4)] == ["alike", "unreadable", "unreadable", "alike"]
    again = rote.judge_agreement(path)
    assert again.tables["wins"][0]["judgements"] == 10
    assert "2 answers of models cannot be read: left out" in again.notes


def test_a_model_is_compared_with_people(tmp_path: Path) -> None:
    texts = summaries(6)
    rote.judge_page(texts, output=tmp_path / "page.html")
    key = json.loads((tmp_path / "page.key.json").read_text("utf-8"))["sources"]
    html = (tmp_path / "page.html").read_text("utf-8")
    data = json.loads(html.partition('type="application/json">')[2].partition("</script>")[0])
    # Ann finds the long summaries better but for the last document; the model all of them.
    rows = [
        answer("ann", item["doc_id"], summary["key"], 1 + 2 * better, 0)
        for item in data["items"]
        for summary in item["summaries"]
        for better in [(key[summary["key"]] == "long") != (item["doc_id"] == "d5")]
    ]
    ann = write_jsonl(tmp_path / "ann.jsonl", rows)
    model = tmp_path / "model.jsonl"
    judge = Judge("m", lambda first, second, text: "A" if len(first) > len(second) else "B")
    rote.judge_model(texts, model={"judge": judge}, write=model)
    result = rote.judge_agreement([model, ann], key=tmp_path / "page.key.json")
    relevance, consistency = result.tables["judges"]
    assert (relevance["of"], relevance["a"], relevance["b"]) == ("relevance", "ann", "judge")
    assert (relevance["units"], relevance["same"]) == (6, 5 / 6)
    krippendorff = pytest.importorskip("krippendorff")
    ratings = np.array([[1, 1, 1, 1, 1, -1], [1] * 6], float)
    expected = krippendorff.alpha(ratings, level_of_measurement="nominal")
    assert relevance["alpha"] == pytest.approx(expected)
    # Ann found nothing made up in any: no summary is better, and the model never says so.
    assert consistency["same"] == 0
    (wins,) = [row for row in result.tables["wins"] if row["of"] == "relevance"]
    assert (wins["judgements"], wins["a_better"]) == (12, pytest.approx(11 / 12))
    assert set(result.by_source) == {"long", "short"}


def test_both_orders_are_asked_of_both_questions_and_texts_stay_as_they_are() -> None:
    judge = Judge("m", lambda first, second, text: "T")
    rote.judge_model(summaries(1), model={"m": judge})
    long, short = "0 with very many words", "0 few"
    assert sorted(judge.read) == sorted(
        write_question(
            INSTRUCTION,
            document="Document 0 {first} was long.",
            first=first,
            second=second,
            question=QUESTIONS[of],
        )
        for first, second in ((long, short), (short, long))
        for of in ("relevance", "consistency")
    )
    assert all("Document 0 {first} was long." in text for text in judge.read)


def test_the_instruction_can_be_changed(tmp_path: Path) -> None:
    judge = Judge("m", lambda first, second, text: "[[A]]")
    path = tmp_path / "ask.txt"
    path.write_text("Which is shorter?\n1: {first}\n2: {second}", "utf-8")
    texts = summaries(1)
    rote.judge_model(texts, model={"m": judge}, instruction=str(path), of=("quality",))
    assert "Which is shorter?\n1: 0 few\n2: 0 with very many words" in judge.read
    for instruction, of, cause in (
        (str(path), ("relevance", "consistency"), "has no {question}"),
        ("only {first}", ("quality",), "lacks {second}"),
    ):
        with pytest.raises(OptionError, match=cause):
            rote.judge_model(texts, model={"m": judge}, instruction=instruction, of=of)
    with pytest.raises(InputError, match="no instruction"):
        rote.judge_model(texts, model={"m": judge}, instruction="none.txt")


def test_an_instruct_model_is_asked_in_its_chat_form() -> None:
    judge = ChattingJudge("m", lambda first, second, text: "T")
    rote.judge_model(summaries(1), model={"m": judge}, of=("quality",))
    plain = Judge("p", lambda first, second, text: "T")
    with pytest.raises(OptionError, match="'p' has no chat template"):
        rote.judge_model(summaries(1), model={"p": plain}, of=("quality",), chat=True)


def test_what_cannot_be_compared_is_refused() -> None:
    alone = [text for text in summaries(2) if text["source"] == "long"]
    judge = {"m": Judge("m", lambda first, second, text: "A")}
    with pytest.raises(InputError, match="no document has two summaries"):
        rote.judge_model(alone, model=judge)
    with pytest.raises(OptionError, match="of can be relevance, consistency, quality"):
        rote.judge_model(summaries(1), model=judge, of=("beauty",))
    with pytest.raises(OptionError, match="no judge"):
        rote.judge_model(summaries(1))


def test_what_is_no_answer_of_a_model_is_refused(tmp_path: Path) -> None:
    pair = {"kind": "pair", "judge": "m", "doc_id": "d", "of": "quality", "a": "x", "b": "y"}
    for wrong in ({"better": "x"}, {"better": "a", "b": "x"}, {"better": "a", "of": 1}, {}):
        path = write_jsonl(tmp_path / "m.jsonl", [pair | wrong])
        with pytest.raises(InputError, match=r"m\.jsonl, line 1: not an answer"):
            rote.judge_agreement(path)


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("A", "A"),
        (" B\nBecause it is short.", "B"),
        ("T.", "T"),
        ("tie", "T"),
        ("**A**", "A"),
        ("(B)", "B"),
        ("Answer: B", "B"),
        ("The better summary is A.", "A"),
        ("Summary B, since", "B"),
        ("Long thoughts on A and B. [[b]]", "B"),
        ("[[C]]", "T"),
        ("A summary of this", None),
        ("A or B", None),
        ("a", None),
        ("Between them: [[A]] or [[B]]", None),
        ("Neither", None),
        ("", None),
    ],
)
def test_an_answer_is_a_letter_alone(text: str, choice: str | None) -> None:
    assert parse_choice(text) == choice
