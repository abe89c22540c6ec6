"""Perturbation with models: who chooses senses, who judges, who answers before and after."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from rote.core.errors import OptionError
from rote.core.progress import Silent
from rote.corpus.items import Item, ItemRecord
from rote.curate.perturb import PerturbOptions, perturb
from rote.curate.synonyms import lexicons, senses
from rote.curate.synonyms.senses import ModelChooser, sense_prompt
from rote.models.backends.fake import Fake
from rote.studies._perturb_checks import (
    ORIGINAL,
    ItemPairs,
    JudgeOptions,
    ask_models,
    judge_items,
    judge_prompt,
    parse_verdict,
    replace_items,
    sample_changed,
)

exact = partial(PerturbOptions, variant="exact")

CAR = {"02958343-n": "a motor vehicle", "02959942-n": "a wheeled vehicle on rails"}


@pytest.fixture
def wordnet(tmp_path: Path) -> str:
    """A folder like Princeton's, with what some synsets mean at the places where they stand."""
    data = bytearray(b" " * 3_100_000)
    for synset, gloss in CAR.items():
        offset = synset[:8]
        line = f'{offset} 06 n 01 car 0 000 | {gloss}; "he needs one"\n'.encode()
        data[int(offset) : int(offset) + len(line)] = line
    (tmp_path / "data.noun").write_bytes(bytes(data))
    (tmp_path / "data.verb").write_bytes(b"")
    return str(tmp_path)


def test_definitions_are_read_from_wordnets_own_files(wordnet: str) -> None:
    lexicon = lexicons.get(f"wordnet:{wordnet}")
    first, second, *_ = lexicon.senses("car", "noun")
    assert lexicon.gloss(first) == "a motor vehicle"
    assert lexicon.gloss(second) == "a wheeled vehicle on rails"
    assert lexicon.defines
    assert lexicon.signature == "wordnet/3.0+definitions"
    assert not lexicons.get().defines
    assert lexicons.get().gloss(first) == ""


def test_files_of_another_wordnet_are_refused(tmp_path: Path) -> None:
    for name in ("data.noun", "data.verb"):
        (tmp_path / name).write_text("00001740 03 n 01 entity 0 000 | that which is\n")
    with pytest.raises(OptionError, match=r"not of WordNet 3\.0"):
        lexicons.get(f"wordnet:{tmp_path}")


def question(lexicon: lexicons.SynonymLexicon) -> senses.SenseQuestion:
    text = "The car stopped."
    found = lexicon.senses("car", "noun")[:2]
    return senses.SenseQuestion("car", "noun", "NN", found, (), text, 4, 7)


def test_a_model_chooses_by_the_number_of_the_definition(wordnet: str) -> None:
    lexicon = lexicons.get(f"wordnet:{wordnet}")
    asked = question(lexicon)
    assert sense_prompt(asked, lexicon) == (
        'Sentence: "The car stopped."\n'
        'Which of these is the meaning of the noun "car" in the sentence?\n'
        "1) a motor vehicle\n"
        "2) a wheeled vehicle on rails\n"
        "Answer with the number of the meaning:"
    )
    chooser = ModelChooser(Fake({"meaning:": {"1)": 0.2, "2)": 0.6}}))
    [answer] = chooser([asked], lexicon, Silent())
    assert (answer.number, answer.share) == (1, pytest.approx(0.75))
    assert chooser.signature.startswith("model/1/fake/1-")


def test_a_lexicon_without_definitions_is_refused_before_the_work(tmp_path: Path) -> None:
    table = tmp_path / "next.json"
    table.write_text("{}")
    item = Item("1", "own", "The car stopped. ", ("It was old.", "It was new."), 0)
    with pytest.raises(OptionError, match="wordnet-base"):
        perturb([item], exact(sense=f"model:fake:{table}"))
    with pytest.raises(OptionError, match="no model to choose senses"):
        perturb([item], exact(sense="model:"))


def test_the_model_decides_what_a_word_is_replaced_by(wordnet: str, tmp_path: Path) -> None:
    table = tmp_path / "next.json"
    table.write_text('{"meaning:": {"2)": 0.9, "1)": 0.01}}')
    item = Item("1", "own", "", ("The car is here.", "The car is there."), 0)
    options = exact(sense=f"model:fake:{table}", lexicon=f"wordnet:{wordnet}")
    made = perturb([item], options)
    assert {row.synset for row in made.replacements} == {"02959942-n"}
    assert made.items[0].options != item.options


def changed(count: int, task: str = "own") -> ItemPairs:
    before = [Item(str(n), task, f"The car {n}. ", ("Yes.", "No."), 1) for n in range(count)]
    after = [Item(str(n), task, f"The auto {n}. ", ("Yes.", "No."), 1) for n in range(count)]
    return ItemPairs(before, after)


def test_the_judge_reads_the_instructions_of_the_paper_and_both_sentences() -> None:
    text = judge_prompt("The car 1. No.", " The auto 1. No. ")
    assert text.startswith("You are a strict semantic evaluator.")
    assert 'Sentence A: "The car 1. No." Sentence B: "The auto 1. No."' in text
    assert text.endswith("Respond with only one word: same or different.")


@pytest.mark.parametrize("by", ["likelihood", "writing"])
def test_the_judge_says_same_or_different(by: str) -> None:
    pairs = changed(3)
    options = JudgeOptions(judge_by=by)  # type: ignore[arg-type]
    agreeing = Fake({"different.": {"same": 0.6, "different": 0.4}})
    strict = Fake({"different.": {"same": 0.4, "different": 0.6}})
    assert judge_items(pairs, agreeing, options, Silent()).tolist() == [1, 1, 1]
    assert judge_items(pairs, strict, options, Silent()).tolist() == [0, 0, 0]


def test_what_a_judge_writes_is_read_by_its_first_word() -> None:
    assert parse_verdict(" Same.") == 1
    assert parse_verdict("different, since") == 0
    assert math.isnan(parse_verdict("I think so"))
    assert math.isnan(parse_verdict(""))


def test_only_changed_items_are_judged_so_many_of_each_task() -> None:
    one, other = changed(20), changed(20, "other")
    pairs = ItemPairs(
        [*one.before, *other.before], [*one.before[:15], *one.after[15:], *other.after]
    )
    places = sample_changed(pairs, 8, seed=0)
    assert sum(place < 20 for place in places) == 5
    assert sum(place >= 20 for place in places) == 8
    assert places == sample_changed(pairs, 8, seed=0) != sample_changed(pairs, 8, seed=1)
    assert len(sample_changed(pairs, 0, seed=0)) == 25
    found = judge_items(pairs, Fake({}), JudgeOptions(judge_items=8), Silent())
    assert np.flatnonzero(np.isfinite(found)).tolist() == places
    with pytest.raises(OptionError, match="negative"):
        JudgeOptions(judge_items=-1)


def test_models_are_asked_before_and_after_in_the_same_way() -> None:
    fields = {"goal": "use the car", "sol1": "now", "sol2": "then", "label": 0, "acc": 1}
    item = Item("1", "piqa", "use the car ", ("now", "then"), 0)
    new = Item("1", "piqa", "use the auto ", ("now", "so"), 0)
    records = [ItemRecord("piqa", fields, item)]
    other = replace_items(records, [new])
    model = Fake({"Answer:": {"now": 0.4, "then": 0.3, "so": 0.5}})
    found = ask_models({"m": model}, records, {"noun": other}, Silent())
    [told] = found.changes
    assert (told.source, told.pos, told.before.tolist(), told.after.tolist()) == (
        "m",
        "noun",
        [1],
        [0],
    )
    assert [row["perturbed"] for row in found.rows] == [ORIGINAL, "noun"]
    assert found.rows[1]["asked"][1] == ["Question: use the auto\nAnswer:", " so"]
    assert found.rows[1]["loglikelihoods"] == pytest.approx([math.log(0.4), math.log(0.5)])
