"""A word is replaced alike wherever it occurs in an item: a property of every benchmark."""

from __future__ import annotations

import re
from collections import Counter
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.corpus.items import Item
from rote.corpus.items._read import Source, benchmark_names, item_reader
from rote.curate.perturb import PerturbOptions, perturb
from rote.curate.synonyms.replacement import UNLIKE, Replacement

SENTENCES = (
    "The crack in the wall was wider than the crevice.",
    "They crack nuts with a hammer and a rock.",
    "He had to work, because the work was hard.",
    "The tabby cat chased another cat through the garden.",
    "Microwave the soup, and clean the microwave.",
    "She had a cookie, and he had eaten two cookies.",
    "Watch the old watch, or hide the watches.",
    "His feet hurt, and one foot was cold.",
    "The iced coffee was iced by the barista.",
    "You have to have money, and she has none.",
    "A lot of cars stood in the parking lot near the automobile.",
    "Guy knows the guy who knew the women.",
    "The war was shorter than the Great War.",
    "Put the lid on, and put the phone down.",
    "The guinea pig looked at the pig with a hungry look.",
    "Paint the fence with paint; painted fences last.",
)

exact = partial(PerturbOptions, variant="exact")
_WORD = re.compile(r"[^\W_]+")
WORDS = sorted({word for text in SENTENCES for word in _WORD.findall(text)})
sentences = st.sampled_from(SENTENCES)
words = st.sampled_from(WORDS)


@st.composite
def _copa(draw: st.DrawFn) -> dict[str, Any]:
    return {
        "premise": draw(sentences),
        "choice1": draw(sentences),
        "choice2": draw(sentences),
        "answer": 1,
        "asks_for": "cause",
    }


@st.composite
def _piqa(draw: st.DrawFn) -> dict[str, Any]:
    return {"goal": draw(sentences), "sol1": draw(sentences), "sol2": draw(sentences), "label": 0}


@st.composite
def _winogrande(draw: st.DrawFn) -> dict[str, Any]:
    told = f"{draw(sentences)} {draw(sentences)}"
    # One word or two in a row; an article alone may change.
    option = st.sampled_from(re.findall(r"\w{2,}", told) + re.findall(r"\w+ \w{2,}", told))
    first, second = draw(option), draw(option)
    sentence = f"{told} The _ was there. {draw(sentences)}"
    return {"sentence": sentence, "option1": first, "option2": second, "answer": "1"}


@st.composite
def _lambada(draw: st.DrawFn) -> dict[str, Any]:
    return {"context": f"{draw(sentences)} {draw(sentences)} It was the", "target": draw(words)}


@st.composite
def _blimp(draw: st.DrawFn) -> dict[str, Any]:
    good = draw(sentences)
    bad = re.sub(rf"\b{draw(st.sampled_from(_WORD.findall(good)))}\b", draw(words), good, count=1)
    return {
        "paradigm": "p",
        "phenomenon": "x",
        "pair_id": 0,
        "sentence_good": good,
        "sentence_bad": bad,
    }


RECORDS = {
    "copa": _copa(),
    "piqa": _piqa(),
    "winogrande": _winogrande(),
    "lambada": _lambada(),
    "blimp": _blimp(),
}


def made_of(form: str, record: dict[str, Any], variant: Any = "exact") -> tuple[Item, Item, Any]:
    before = item_reader(form).item(record, 0, Source("made.jsonl", "made"))
    made = perturb([before], exact(variant=variant))
    return before, made.items[0], made


def fields(item: Item) -> dict[str, str]:
    options = {f"options.{n}": option for n, option in enumerate(item.options)}
    return {"context": item.context, **options, "ending": item.ending}


def kept_and_replaced(item: Item, log: list[Replacement]) -> tuple[set[str], dict[str, set[str]]]:
    """Forms that stand somewhere as they stood, and the lemmas in the place of the others."""
    changed: dict[str, set[str]] = {}
    for row in log:
        changed.setdefault(row.original.lower(), set()).add(row.choice)
    kept = {
        found[0].lower()
        for field, text in fields(item).items()
        for found in _WORD.finditer(text)
        if not any(r.field == field and r.start <= found.start() < r.end for r in log)
    }
    return kept, changed


def stands_in(phrase: str, text: str) -> bool:
    return bool(re.search(rf"(?<!\w){re.escape(phrase.lower())}(?!\w)", text.lower()))


@pytest.mark.parametrize("form", RECORDS)
@given(data=st.data())
def test_a_word_is_replaced_alike_everywhere_or_nowhere(form: str, data: st.DataObject) -> None:
    variant = data.draw(st.sampled_from(["exact", "paper"]))
    before, after, made = made_of(form, data.draw(RECORDS[form]), variant)
    kept, changed = kept_and_replaced(before, made.replacements)
    assert not kept & changed.keys()
    assert all(len(lemmas) == 1 for lemmas in changed.values())
    lemmas = {(row.lemma, row.pos, row.choice) for row in made.replacements}
    assert len(lemmas) == len({(lemma, pos) for lemma, pos, _ in lemmas})
    # Options that differed differ still.
    assert len(set(after.options)) == len(set(before.options))
    if form == "winogrande":
        sentences = [f"{item.context} _ {item.ending}" for item in (before, after)]
        for old, new in zip(before.options, after.options):
            assert stands_in(old, sentences[0])
            assert stands_in(new, sentences[1])
    if form == "lambada":
        assert after.options == before.options
        target = before.options[0].lower()
        counts = [Counter(_WORD.findall(item.context.lower()))[target] for item in (before, after)]
        assert counts[0] == counts[1]


def test_every_benchmark_has_its_property() -> None:
    others = {"choices", "lm-eval", "questions", "texts"}
    assert set(benchmark_names()) == RECORDS.keys() | others


@pytest.mark.parametrize(
    ("sentence", "option"),
    [
        ("The tabby cat fled from the dog, because the _ was wild.", "cat"),
        ("They had to work, but the _ was easy.", "work"),
        ("The watch could not be worn, because the _ was small.", "Watch"),
    ],
)
def test_an_option_that_is_another_word_in_the_sentence_stays_in_both(
    sentence: str, option: str
) -> None:
    record = {"sentence": sentence, "option1": option, "option2": "automobile", "answer": "1"}
    _, after, made = made_of("winogrande", record)
    assert after.options[0] == option
    assert stands_in(option, after.context)
    assert made.unreplaced["winogrande"][UNLIKE] or made.kept["winogrande"]["capitalized"]
    assert after.options[1] != "automobile"


@pytest.mark.parametrize(
    ("context", "target"),
    [
        ("The tabby cat slept. Nobody fed the", "cat"),  # inside a longer word
        ("They catch fish. He caught two, but it was no", "catching"),  # another form
        ("It was the best time of year. She loved the", "season"),  # what it would be replaced by
    ],
)
def test_the_word_that_lambada_asks_for_neither_goes_nor_comes(context: str, target: str) -> None:
    for n in range(8):
        _, after, made = made_of("lambada", {"id": str(n), "context": context, "target": target})
        log = [row.original.lower() for row in made.replacements]
        assert not {"tabby cat", "catch", "caught"} & set(log)
        assert stands_in(target, after.context) == stands_in(target, context)


def test_two_options_never_become_one() -> None:
    # pes is its own plural to the one who inflects it.
    good, bad = "Anna was taking that foot.", "Anna was taking that feet."
    record = {"paradigm": "p", "phenomenon": "x", "sentence_good": good, "sentence_bad": bad}
    for pair in range(12):
        _, after, _ = made_of("blimp", {**record, "pair_id": pair})
        assert after.options[0] != after.options[1]
