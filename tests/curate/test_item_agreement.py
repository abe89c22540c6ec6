"""One matcher: `contamination` flags an item's text in a corpus if and only if `decontaminate`
takes it out, whichever reader the item came from."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

import rote
from tests.item_records import READERS, record, write_records
from tests.kit import write_jsonl

RNG = random.Random(5)
WORDS = [
    "".join(RNG.choice(letters) for letters in ("bdfgklmnprst", "aeiou", "dlmnrst", "aeiou", "dnr"))
    for _ in range(900)
]
COMMON = "the of and to in that it was for on".split()


def prose(words: int, rng: random.Random) -> str:
    return " ".join(rng.choice(COMMON if rng.random() < 0.4 else WORDS) for _ in range(words))


def changed(text: str, rng: random.Random, every: int) -> str:
    words = text.split()
    for place in range(rng.randrange(every), len(words), every):
        words[place] = rng.choice(WORDS)
    return " ".join(words)


LENGTHS = ((1, 1), (2, 3), (2, 5), (3, 5), (1, 9), (4, 4), (9, 1), (6, 12), (14, 2), (30, 20))
"""Words of question and answer: too short alone, too short together, and longer."""
PLANTED = {
    "as it is": lambda text, rng: text,
    "in a text": lambda text, rng: f"{prose(40, rng)}. {text} {prose(40, rng)}.",
    "without punctuation": lambda text, rng: re.sub(r"[^\w\s]", "", text).upper(),
    "with words changed": lambda text, rng: changed(text, rng, 9),
    "with more words changed": lambda text, rng: changed(text, rng, 4),
    "other text": lambda text, rng: prose(len(text.split()), rng),
}


def texts_of(reader: str) -> tuple[list[dict[str, Any]], list[str]]:
    """Records, and the text of each, question and answer together."""
    rng = random.Random(reader)
    records, texts = [], []
    for size, (question, answer) in enumerate(LENGTHS):
        for marked in (True, False):
            parts = f"{prose(question, rng).capitalize()}?", f"{prose(answer, rng)}, it is said."
            records.append(record(reader, str(len(records)), *parts, marked=marked))
            texts.append(" ".join(parts))
        assert len(records) == 2 * size + 2
    return records, texts


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("form", PLANTED)
def test_an_item_is_flagged_if_and_only_if_it_is_taken_out(
    reader: str, form: str, tmp_path: Path
) -> None:
    rng = random.Random(form)
    records, texts = texts_of(reader)
    items = write_records(reader, tmp_path, records)
    corpus = tmp_path / "corpus.jsonl"
    held = [PLANTED[form](text, rng) for text in texts]
    filler = [prose(120, rng) for _ in range(30)]
    write_jsonl(corpus, ({"id": n, "text": t} for n, t in enumerate([*held, *filler])))
    measured = rote.contamination([items], corpus=str(corpus), permutations=0)
    verdicts = [row["verdict"] for row in measured.tables["items"]]
    flagged = {n for n, verdict in enumerate(verdicts) if verdict in ("contaminated", "near")}
    made = rote.decontaminate([corpus], test_items=[str(items)], output=str(tmp_path / "clean"))
    left = {
        int(json.loads(line)["id"])
        for line in (tmp_path / "clean" / "corpus.jsonl").read_text().splitlines()
    }
    assert left.isdisjoint(flagged)
    assert left >= set(range(len(held), len(held) + len(filler)))
    assert left == set(range(len(held) + len(filler))) - flagged
    # Both say how many cannot be judged, where people read it.
    short = verdicts.count("too short")
    total, judged = (sum(row[n] for row in made.tables["tasks"]) for n in ("items", "judged"))
    assert (total, total - judged) == (len(records), short)
    assert f"{short} of {total} are too short" in rote_says(made)
    (source,) = measured.by_source.values()
    assert source.notes[0].startswith(f"{short} of {total} items cannot be judged")
    if form in ("as it is", "in a text"):
        assert verdicts.count("clean") == 0
        assert flagged == {n for n, verdict in enumerate(verdicts) if verdict != "too short"}
        assert len(flagged) >= len(records) // 2
    if form == "other text":
        assert not flagged


def rote_says(made: Any) -> str:
    """The sentence that the command prints."""
    from rote.studies.decontaminate import STUDY

    assert STUDY.account is not None
    return STUDY.account(made, "clean")
