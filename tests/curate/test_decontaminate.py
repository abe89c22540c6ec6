"""Test items in training documents: planted and found again, weighed, cut out."""

from __future__ import annotations

import random
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rote.annotate.folded_words import fold_text
from rote.core.errors import InputError
from rote.corpus import open_corpus
from rote.corpus.items import Item, read_items
from rote.curate.decontaminate import (
    LEDGER,
    ItemMatch,
    ItemMatcher,
    ShardMatcher,
    cut_sentences,
    decontaminate,
)
from rote.curate.output_folder import MadeFolder
from rote.search import part_matcher
from rote.search.part_matcher import MatchOptions
from tests.kit import read_jsonl, write_jsonl

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


def matcher_of(items: list[Item], sample: list[str] = DOCUMENTS, **options: Any) -> ItemMatcher:
    return ItemMatcher.build(items, MatchOptions(**options), "ud", sample)


def found_in(documents: list[str], items: list[Item], **options: Any) -> list[ItemMatch]:
    return matcher_of(items, **options).find(documents)


@pytest.mark.parametrize("form", FORMS)
def test_planted_items_are_found_and_no_others(form: str) -> None:
    documents, held = planted(form)
    matcher = matcher_of(ITEMS)
    found = matcher.find(documents)
    assert {(match.document, ITEMS[matcher.items[match.part]].id) for match in found} == held
    if "changed" not in form:
        assert all(match.score == 1 and match.answered for match in found)
        for match in found:
            text = documents[match.document][match.start : match.end]
            part = matcher.parts[match.part]
            assert part.kind == "question and answer"  # of two parts the one that holds most
            assert fold_text(text) == fold_text(part.text)


def test_a_phrase_that_is_common_in_the_corpus_convicts_nobody() -> None:
    phrase = "once upon a time there lived a very old king in the deep green valley of"
    sample = [f"{text} {phrase} {place}" for place, text in enumerate(DOCUMENTS)]
    item = Item("one", "made", f"{phrase} {prose(14, random.Random(8))} ", ("yes",), 0)
    matcher = matcher_of([item], sample)
    assert matcher.find(sample) == []
    asked = matcher.find([f"so {item.context} it was"])
    assert [match.score for match in asked] == [1]
    # Had it not been common, half of the words of the item would have been it.
    assert len(matcher_of([item], share=0.4).find(sample)) == len(sample)
    assert matcher_of([item], sample, share=0.4).find(sample) == []


def test_of_twins_the_nearer_one_is_found_and_the_other_named() -> None:
    twins = [
        Item(str(n), "w", "The dog slept in the barn because the ", (), None, f"{end} outside.")
        for n, end in enumerate(("storm was loud and wild", "storm was soft and wild"))
    ]
    twins = [Item(t.id, t.task, t.context, ("big ",), 0, t.ending) for t in twins]
    matcher = matcher_of(twins)
    (found,) = matcher.find([f"{DOCUMENTS[0]} {twins[1].instances()[0]}"])
    assert matcher.items[found.part] == 1
    assert found.twins == (0,)


def test_a_short_question_convicts_with_its_answer_alone() -> None:
    answer = "a man of many words indeed"
    items = [Item("s", "made", "Who came to the party? ", (answer, "none"), 0)]
    (found,) = found_in([f"They said: Who came to the party? {answer.title()}, it seems."], items)
    assert found.answered
    for text in ("Who came to the party?", answer, "none", f"{answer} none {answer}"):
        assert found_in([text], items) == []


def test_without_a_right_answer_the_question_with_each_option_is_a_part() -> None:
    options = ("a man of many words indeed", "nobody but the old grey mare")
    for answer, expected in ((None, [0, 1]), (1, [1])):
        items = [Item("s", "made", "Who came to the party? ", options, answer)]
        texts = [f"{items[0].context}{option}" for option in options]
        assert [match.document for match in found_in(texts, items)] == expected


def test_options_of_two_words_drop_no_document() -> None:
    items = [
        Item(str(n), "made", f"{a} {b}? ", (f"{c} {d}", f"{d} {c}"), None)
        for n, (a, b, c, d) in enumerate(zip(*(WORDS[k::4] for k in range(4))))
    ]
    assert not matcher_of(items).judged
    assert found_in([*DOCUMENTS, *(i.instances()[0] for i in items)], items) == []


def test_a_copy_behind_many_beginnings_of_it_is_found() -> None:
    # Each beginning is a hit of its own, and none of them may stand for the copy.
    question = ITEMS[0].context
    start = " ".join(question.split()[:6])
    (found,) = found_in([f"{f'{start}. ' * 60} {question}"], ITEMS)
    assert found.score == 1


def corpus(tmp_path: Path, form: str = "embedded") -> Path:
    documents, _ = planted(form)
    return write_jsonl(
        tmp_path / "train.jsonl", ({"id": f"d{n}", "text": t} for n, t in enumerate(documents))
    )


def made(path: Path, folder: Path, **more: Any) -> MadeFolder:
    return decontaminate(open_corpus(path), ITEMS, folder, **more)


def ledger(folder: Path) -> list[dict[str, Any]]:
    return read_jsonl(folder / LEDGER)


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
    match = ItemMatch(0, 0, 1.0, 1.0, 1, text.index("sold"), text.index("laughed"), None)
    assert cut_sentences(text, [match]) == "It rained. Then it was over."


@pytest.mark.usefixtures("pickling_pool")
def test_jobs_change_no_byte_and_what_was_made_is_left(tmp_path: Path) -> None:
    paths = [corpus(tmp_path), tmp_path / "more.jsonl"]
    write_jsonl(paths[1], [{"id": "m", "text": ITEMS[30].context}])
    held = []
    for jobs in (1, 2):
        folder = tmp_path / str(jobs)
        held.append(decontaminate(open_corpus(paths), ITEMS, folder, jobs=jobs))
    assert held[0].manifest == held[1].manifest
    assert held[0].rows == held[1].rows
    assert len(held[0].rows) == 21
    again = decontaminate(open_corpus(paths), ITEMS, tmp_path / "1")
    assert (again.new, again.rows) == (False, held[0].rows)


def test_what_is_finished_is_not_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [corpus(tmp_path), tmp_path / "more.jsonl"]
    paths[1].write_text("no record\n")
    with pytest.raises(InputError, match=r"more.jsonl, line 1"):
        decontaminate(open_corpus(paths), ITEMS, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    write_jsonl(paths[1], [{"id": "m", "text": ITEMS[30].context}])
    looked: list[str] = []
    real = ShardMatcher.__call__

    def call(self: Any, shard: Any) -> Any:
        looked.append(Path(shard.origin.file).name)
        return real(self, shard)

    monkeypatch.setattr(ShardMatcher, "__call__", call)
    # The sample, and so the weights, must be the same: the file that is mended adds to it.
    monkeypatch.setattr(part_matcher, "SAMPLE", 1_000)
    paths[1].write_text("no record\n")
    with pytest.raises(InputError):
        decontaminate(open_corpus(paths), ITEMS, tmp_path / "out")
    write_jsonl(paths[1], [{"id": "m", "text": ITEMS[30].context}])
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
    write_jsonl(path, records)
    items = list(read_items([path]))
    assert [(item.id, item.options, item.answer) for item in items] == [
        ("quiz.jsonl:1", ("me",), 0),
        ("7", ("so", "thus"), None),
    ]
    assert [item.parts() for item in items] == [
        [("question", "Who?"), ("question and answer", "Who? me"), ("passage", "Long ago.")],
        [
            ("question", "Why?"),
            ("question and answer", "Why? so"),
            ("question and answer", "Why? thus"),
        ],
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
    "an answer alone": (f"{FILLER} {QUIZ[1]['answer']} {QUIZ[0]['answer']}", set()),
    "an answer that says it all": (f"{FILLER} {QUIZ[2]['answer']}", {"sum"}),
    "clean": (f"{FILLER} Nothing to see here but minerals and years.", set()),
}


@pytest.mark.parametrize("case", CASES)
def test_cases_of_another_tool_come_out_right(tmp_path: Path, case: str) -> None:
    text, expected = CASES[case]
    path = write_jsonl(tmp_path / "quiz.jsonl", QUIZ)
    items = list(read_items([path]))
    matcher = matcher_of(items, [text])
    assert {items[matcher.items[match.part]].id for match in matcher.find([text])} == expected


def test_a_lower_score_finds_at_least_as_much() -> None:
    documents, _ = planted("a tenth of the words changed")
    matchers = [matcher_of(ITEMS, share=score) for score in (0.95, 0.8, 0.5)]
    found = [{(m.document, each.items[m.part]) for m in each.find(documents)} for each in matchers]
    assert found[0] < found[1] <= found[2]


def test_questions_without_answers_are_read_by_name(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "quiz.jsonl", [{"doc_id": 4, "question": ASKED}])
    (item,) = read_items([path], "questions")
    assert item.parts() == [("question", ASKED)]
