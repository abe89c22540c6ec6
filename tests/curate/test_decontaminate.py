"""Test items in training documents: planted and found again, weighed, cut out."""

from __future__ import annotations

import json
import random
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.core.errors import InputError
from rote.corpus import open_corpus
from rote.corpus.items import Item, read_items
from rote.curate import decontaminate_folder
from rote.curate._decontaminate_kernels import align
from rote.curate.decontaminate import (
    DecontaminateOptions,
    Match,
    fold,
    matches_in,
    needles_of,
    parts_of,
)
from rote.curate.decontaminate_folder import LEDGER, Made, decontaminate, without

from ..killing import assert_whole, calls_of, kill_at, restore, states_at

RNG = random.Random(3)
WORDS = [
    "".join(RNG.choices("bcdfglmnprst", k=1) + RNG.choices("aeiou", k=1))
    + "".join(RNG.choices("bdlmnrst", k=1) + RNG.choices("aeiou", k=RNG.randint(1, 2)))
    for _ in range(1_500)
]
WEIGHTS = [1 / (rank + 2) for rank in range(len(WORDS))]


def prose(words: int, rng: random.Random) -> str:
    drawn = rng.choices(WORDS, WEIGHTS, k=words)
    for place in range(9, words, 10):
        drawn[place] += "."
    return " ".join(drawn)


ITEMS = [
    Item(
        str(number),
        "made",
        f"What is {prose(18, RNG)}? ",
        (prose(3, RNG), prose(3, RNG)),
        0,
        meta={"acc": number % 2},
    )
    for number in range(40)
]
DOCUMENTS = [prose(300, RNG) for _ in range(60)]
OPTIONS = DecontaminateOptions()


def changed(text: str, share: float, rng: random.Random) -> str:
    drawn = text.split()
    for place in rng.sample(range(len(drawn)), round(share * len(drawn))):
        drawn[place] = rng.choice(WORDS)
    return " ".join(drawn)


FORMS: dict[str, Callable[[str, random.Random], str]] = {
    "verbatim": lambda text, rng: f"\n{text}\n",
    "paragraph": lambda text, rng: f"\n\n{text}\n\n",
    "wrapped": lambda text, rng: f"\n{textwrap.fill(text, 30)}\n",
    "embedded": lambda text, rng: f" {text} ",
    "other case and marks": lambda text, rng: f" {text.upper().replace('.', ' -- ')} ",
    "a tenth of the words changed": lambda text, rng: f" {changed(text, 0.1, rng)} ",
}


def planted(form: str) -> tuple[list[str], set[tuple[int, str]]]:
    """The documents with half of the items in them, and who holds which."""
    rng = random.Random(form)
    documents, held = list(DOCUMENTS), set()
    for place, item in enumerate(ITEMS[:20]):
        cut = documents[place].index(" ", rng.randrange(1_000))
        text = FORMS[form](f"{item.context}{item.options[0]}", rng)
        documents[place] = documents[place][:cut] + text + documents[place][cut:]
        held.add((place, item.id))
    return documents, held


def found_in(documents: list[str], items: list[Item], **options: Any) -> list[Match]:
    chosen = DecontaminateOptions(**options)
    needles = needles_of(parts_of(items), chosen, "ud", DOCUMENTS)
    return matches_in(needles, chosen, documents, "ud")


@pytest.mark.parametrize("form", FORMS)
def test_planted_items_are_found_and_no_others(form: str) -> None:
    documents, held = planted(form)
    parts = parts_of(ITEMS)
    found = found_in(documents, ITEMS)
    assert {(match.document, ITEMS[parts[match.part].item].id) for match in found} == held
    if "changed" not in form:
        assert all(match.score == pytest.approx(1) and match.answered for match in found)
        for match in found:
            text = documents[match.document][match.start : match.end]
            asked = parts[match.part].text
            assert [w for w in map(fold, text.split()) if w] == [
                w for w in map(fold, asked.split()) if w
            ]


def test_a_phrase_that_is_common_in_the_corpus_convicts_nobody() -> None:
    phrase = "once upon a time there lived a very old king in the deep green valley of"
    sample = [f"{text} {phrase} {place}" for place, text in enumerate(DOCUMENTS)]
    item = Item("one", "made", f"{phrase} {prose(14, random.Random(8))} ", ("yes",), 0)
    needles = needles_of(parts_of([item]), OPTIONS, "ud", sample)
    assert matches_in(needles, OPTIONS, sample, "ud") == []
    asked = matches_in(needles, OPTIONS, [f"so {item.context} it was"], "ud")
    assert [match.score for match in asked] == [pytest.approx(1)]
    # Had it not been common, half of the words of the item would have been it.
    rare = needles_of(parts_of([item]), OPTIONS, "ud", DOCUMENTS)
    loose = DecontaminateOptions(score=0.4)
    assert len(matches_in(rare, loose, sample, "ud")) == len(sample)
    assert matches_in(needles, loose, sample, "ud") == []


def test_of_twins_the_nearer_one_is_found_and_the_other_named() -> None:
    twins = [
        Item(str(n), "w", "The dog slept in the barn because the ", (), None, f"{end} outside.")
        for n, end in enumerate(("storm was loud and wild", "storm was soft and wild"))
    ]
    twins = [Item(t.id, t.task, t.context, ("big ",), 0, t.ending) for t in twins]
    (found,) = found_in([f"{DOCUMENTS[0]} {twins[1].instances()[0]}"], twins)
    assert parts_of(twins)[found.part].item == 1
    assert found.twins == (0,)


def test_short_parts_and_answers_alone_convict_nobody() -> None:
    items = [Item("s", "made", "Who came to the party? ", ("a man of many words indeed",), 0)]
    assert found_in([f"Who came to the party? {items[0].options[0]}"], items) == []


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=7),
    st.lists(st.integers(1, 4), max_size=9),
    st.integers(0, 5),
)
def test_alignments_are_those_of_the_twin(part: list[int], window: list[int], seed: int) -> None:
    weights = np.random.default_rng(seed).uniform(0.5, 3, len(part))

    def heaviest_in(window: list[int]) -> float:
        def heaviest(i: int, j: int) -> float:
            if i == len(part) or j == len(window):
                return 0.0
            best = max(heaviest(i + 1, j), heaviest(i, j + 1))
            if part[i] == window[j]:
                best = max(best, float(weights[i]) + heaviest(i + 1, j + 1))
            return best

        return heaviest(0, 0)

    room = np.empty(len(window) + 1), np.empty((len(part), len(window) + 1), np.uint8)
    arrays = np.array(part, np.int32), weights, np.array(window, np.int32)
    weight, start, stop, count = align(*arrays, *room)
    assert weight == pytest.approx(heaviest_in(window))
    assert (count == 0) == (weight == 0) == (start == -1)
    assert stop - start + 1 >= count
    # Nothing that ends before holds as much, and nothing shorter that ends there.
    if count:
        assert heaviest_in(window[:stop]) < weight - 1e-9
        assert heaviest_in(window[start + 1 : stop + 1]) < weight - 1e-9


def corpus(tmp_path: Path, form: str = "embedded") -> Path:
    documents, _ = planted(form)
    path = tmp_path / "train.jsonl"
    path.write_text(
        "".join(json.dumps({"id": f"d{n}", "text": t}) + "\n" for n, t in enumerate(documents))
    )
    return path


def made(path: Path, folder: Path, **more: Any) -> Made:
    return decontaminate(open_corpus(path), ITEMS, folder, **more)


def ledger(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / LEDGER).read_text().splitlines()]


def test_documents_are_dropped_or_cut_or_left(tmp_path: Path) -> None:
    path = corpus(tmp_path)
    for policy in ("drop", "cut", "report"):
        made(path, tmp_path / policy, policy=policy)
    before = {d.id: d.text for d in open_corpus(path)}
    dropped = {d.id: d.text for d in open_corpus(tmp_path / "drop" / "train.jsonl")}
    cut = {d.id: d.text for d in open_corpus(tmp_path / "cut" / "train.jsonl")}
    assert dropped == {name: text for name, text in before.items() if int(name[1:]) >= 20}
    assert {name for name in before if before[name] != cut[name]} == before.keys() - dropped.keys()
    rows = ledger(tmp_path / "drop")
    assert rows == ledger(tmp_path / "cut") == ledger(tmp_path / "report")
    assert not (tmp_path / "report" / "train.jsonl").exists()
    for row in rows:
        assert before[row["id"]][row["start"] : row["end"]] == row["text"]
        assert row["text"] not in cut[row["id"]]
        assert len(cut[row["id"]]) > 0.7 * len(before[row["id"]])
    again = decontaminate(open_corpus(tmp_path / "cut" / "train.jsonl"), ITEMS, tmp_path / "again")
    assert again.rows == []


def test_sentences_that_hold_a_match_go() -> None:
    text = "It rained. The man who sold the boat went home. She laughed! Then it was over."
    match = Match(0, 0, 1.0, 1.0, 1, text.index("sold"), text.index("laughed"), None)
    assert without(text, [match]) == "It rained. Then it was over."


@pytest.mark.usefixtures("kept_processes")
def test_jobs_change_no_byte_and_what_was_made_is_left(tmp_path: Path) -> None:
    paths = [corpus(tmp_path), tmp_path / "more.jsonl"]
    paths[1].write_text(json.dumps({"id": "m", "text": ITEMS[30].context}) + "\n")
    held = []
    for jobs in (1, 2):
        folder = tmp_path / str(jobs)
        held.append(decontaminate(open_corpus(paths), ITEMS, folder, jobs=jobs))
    assert held[0].manifest == held[1].manifest
    assert held[0].rows == held[1].rows
    assert len(held[0].rows) == 21
    again = decontaminate(open_corpus(paths), ITEMS, tmp_path / "1")
    assert (again.new, again.rows) == (False, held[0].rows)


def test_a_killed_run_is_gone_on_with(tmp_path: Path) -> None:
    paths = [corpus(tmp_path), tmp_path / "more.jsonl"]
    paths[1].write_text(json.dumps({"id": "m", "text": ITEMS[30].context}) + "\n")
    whole = tmp_path / "whole"

    def run(folder: Path) -> None:
        decontaminate(open_corpus(paths), ITEMS[:31], folder)

    run(tmp_path / "first")  # kernels are loaded once
    points = calls_of(lambda: run(whole), tmp_path / "log")
    assert len(points) > 10
    expected = {path.name: path.read_bytes() for path in whole.iterdir()}
    home = tmp_path / "home"

    def check() -> None:
        run(home / "out")
        assert_whole(home / "out", expected)

    decisive = [i for i, name in enumerate(points) if name in ("rename", "replace")]
    for point in (0, *decisive[-2:], len(points) - 1):
        restore({}, home)
        kill_at(point, lambda: run(home / "out"))
        check()
    restore({}, home)
    for state in states_at(
        range(len(points)), lambda: run(home / "out"), home, tmp_path / "states"
    ):
        restore(state, home)
        check()


def test_an_error_before_anything_is_finished_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "broken.jsonl"
    path.write_text("no record\n")
    with pytest.raises(InputError):
        made(path, tmp_path / "out")
    assert [each.name for each in tmp_path.iterdir()] == ["broken.jsonl"]


def test_what_is_finished_is_not_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [corpus(tmp_path), tmp_path / "more.jsonl"]
    paths[1].write_text("no record\n")
    with pytest.raises(InputError, match=r"more.jsonl, line 1"):
        decontaminate(open_corpus(paths), ITEMS, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    paths[1].write_text(json.dumps({"id": "m", "text": ITEMS[30].context}) + "\n")
    looked: list[str] = []
    real = decontaminate_folder.Looking.__call__

    def call(self: Any, shard: Any) -> Any:
        looked.append(Path(shard.origin.file).name)
        return real(self, shard)

    monkeypatch.setattr(decontaminate_folder.Looking, "__call__", call)
    # The sample, and so the weights, must be the same: the file that is mended adds to it.
    monkeypatch.setattr(decontaminate_folder, "_SAMPLE", 1_000)
    paths[1].write_text("no record\n")
    with pytest.raises(InputError):
        decontaminate(open_corpus(paths), ITEMS, tmp_path / "out")
    paths[1].write_text(json.dumps({"id": "m", "text": ITEMS[30].context}) + "\n")
    looked.clear()
    held = decontaminate(open_corpus(paths), ITEMS, tmp_path / "out")
    assert looked == ["more.jsonl"]
    assert len(held.rows) == 21


def test_questions_with_answers_and_passages_are_items(tmp_path: Path) -> None:
    path = tmp_path / "quiz.jsonl"
    records = [
        {"question": "Who?", "answer": "me", "passage": "Long ago."},
        {"id": 7, "question": "Why?", "answer": ["so", "thus"]},
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    items = list(read_items([path]))
    assert [(item.id, item.options, item.answer) for item in items] == [
        ("quiz.jsonl:1", ("me",), 0),
        ("7", ("so", "thus"), None),
    ]
    assert [(part.kind, part.text) for part in parts_of(items)] == [
        ("question", "Who?"),
        ("answer", "me"),
        ("passage", "Long ago."),
        ("question", "Why?"),
        ("answer", "so"),
        ("answer", "thus"),
    ]


# Cases of the kinds that decon (Allen Institute for AI) is tested by, in words of their own.
LIGHTHOUSE = (
    "The Bellrock lighthouse, a beacon off the coast of Angus, was lit in 1811. Storms hide it."
)
QUIZ = [
    {
        "id": "tower",
        "passage": LIGHTHOUSE,
        "question": "What year was the Bellrock lighthouse lit?",
        "answer": "1811",
    },
    {
        "id": "salt",
        "question": "Which dissolved mineral is most plentiful in the world's oceans?",
        "answer": "Salt",
    },
    {
        "id": "sum",
        "question": "Solve for y: 3y + 4 = 19",
        "answer": "To solve 3y + 4 = 19, take 4 from both sides to get 3y = 15, then divide by 3",
    },
]
FILLER = "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor."
ASKED = QUIZ[1]["question"]
CASES = {
    "between other texts": (f"{FILLER} {LIGHTHOUSE} {FILLER}", {"tower"}),
    "at the beginning": (f"{LIGHTHOUSE} {FILLER}", {"tower"}),
    "at the end": (f"{FILLER} {LIGHTHOUSE}", {"tower"}),
    "a short question": (f"In class we asked: {ASKED} It is salt, they said.", {"salt"}),
    "two in one": (f"First: {LIGHTHOUSE} {FILLER} Second: {ASKED}", {"tower", "salt"}),
    "other marks": (
        "The **Bellrock lighthouse** -- a beacon off the coast of Angus! -- was lit in (1811)... "
        "Storms hide it!",
        {"tower"},
    ),
    "words between": (
        "The Bellrock lighthouse, a beacon off the coast of Angus. It was lit in 1811. Moreover, "
        "storms often hide it.",
        {"tower"},
    ),
    "a letter changed": (LIGHTHOUSE.replace("coast", "caost"), {"tower"}),
    "a letter more": (LIGHTHOUSE.replace("beacon", "beaccon"), {"tower"}),
    "a letter less": (LIGHTHOUSE.replace("Storms", "Storm"), {"tower"}),
    "said otherwise": (
        "Off eastern Scotland a famous light has warned ships of a reef since the early "
        "nineteenth century; in bad weather nobody sees it.",
        set(),
    ),
    "an answer alone": (f"{FILLER} {QUIZ[2]['answer']}", set()),
    "clean": (f"{FILLER} Nothing to see here but minerals and years.", set()),
}


@pytest.mark.parametrize("case", CASES)
def test_cases_of_another_tool_come_out_right(tmp_path: Path, case: str) -> None:
    text, expected = CASES[case]
    path = tmp_path / "quiz.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in QUIZ))
    items = list(read_items([path]))
    needles = needles_of(parts_of(items), OPTIONS, "ud", [text])
    found = matches_in(needles, OPTIONS, [text], "ud")
    assert {items[needles.parts[match.part].item].id for match in found} == expected


def test_a_lower_score_finds_at_least_as_much() -> None:
    documents, _ = planted("a tenth of the words changed")
    found = [
        {(m.document, m.part) for m in found_in(documents, ITEMS, score=score)}
        for score in (0.95, 0.8, 0.5)
    ]
    assert found[0] < found[1] <= found[2]


def test_questions_without_answers_are_read_by_name(tmp_path: Path) -> None:
    path = tmp_path / "quiz.jsonl"
    path.write_text(json.dumps({"doc_id": 4, "question": ASKED}) + "\n")
    (item,) = read_items([path], "questions")
    assert [(part.kind, part.text) for part in parts_of([item])] == [("question", ASKED)]
