"""Perturbed items: what is replaced, by what, in which form."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.annotate.lemmas import lemma_of
from rote.core.errors import OptionError, UnknownName
from rote.corpus.items import Item
from rote.curate.perturb import Perturbed, PerturbOptions, perturb
from rote.curate.synonyms import lexicons
from rote.curate.synonyms.lexicons import Sense
from rote.curate.synonyms.words import (
    agree_article,
    inflect,
    match_case,
    starts_with_vowel,
)

SENTENCES = (
    "The woman bought a car and drove to the city.",
    "My brother repaired the old automobile with his friends.",
    "Several doctors have been asked to help the injured children.",
    "A teacher was reading an essay when the student closed the window.",
    "They ended the conversation because the noise frightened the baby.",
    "The soldiers attacked a village, but the villagers fled into the forest.",
    "She utilizes a small hammer for fixing the furniture in her home.",
    "He must answer the letters that his mother sent.",
    "Lawyers criticize the movie, and the author hates that decision.",
    "The taxi stopped near the shop; its driver was eating a biscuit.",
)

exact = partial(PerturbOptions, variant="exact")


def item(context: str, *options: str, name: str = "1", answer: int = 0, ending: str = "") -> Item:
    return Item(name, "made up", context, options or ("",), answer, ending)


def two(first: str, second: str) -> Perturbed:
    return perturb([item("", first, second)], exact())


def every_sentence(**options: Any) -> Perturbed:
    items = [item("", text, "It was so.", name=str(n)) for n, text in enumerate(SENTENCES)]
    return perturb(items, exact(**options))


def test_a_noun_and_a_verb_are_replaced_in_their_forms() -> None:
    # WordNet has one synset for bestseller, {best seller, bestseller}.
    made = two("Two bestsellers were lost.", "One bestseller was lost.")
    assert made.items[0].options[0].startswith("Two best sellers were ")
    assert made.items[0].options[1].startswith("One best seller was ")


def test_every_replacement_is_a_lemma_of_the_synset_in_the_form_of_the_word() -> None:
    lexicon = lexicons.get()
    made = every_sentence()
    assert len(made.replacements) > 25
    for row in made.replacements:
        sense = lexicon.senses(row.lemma, row.pos)[row.sense - 1]  # type: ignore[arg-type]
        assert sense.synset == row.synset
        assert row.choice in sense.lemmas
        assert row.choice.lower() != row.lemma.lower()
        upos = row.pos.upper()
        words, lemma = row.replacement.lower().split(" "), row.choice.lower().split(" ")
        changed = [n for n, (a, b) in enumerate(zip(words, lemma)) if a != b]
        assert len(words) == len(lemma)
        assert len(changed) <= 1
        assert [lemma_of(words[n], upos) for n in changed] == [lemma[n] for n in changed]


def test_the_log_says_where_words_stand_before_and_after() -> None:
    items = [
        item(f"{text} ", "It rained.", "It snowed.", name=str(n))
        for n, text in enumerate(SENTENCES)
    ]
    made = perturb(items, exact())
    fields = {
        (one.id, name): (text, new)
        for one, other in zip(items, made.items)
        for name, text, new in (
            ("context", one.context, other.context),
            *((f"options.{n}", a, b) for n, (a, b) in enumerate(zip(one.options, other.options))),
        )
    }
    for row in made.replacements:
        text, new = fields[row.item, row.field]
        assert text[row.start : row.end] == row.original
        assert new[row.new_start : row.new_end] == row.replacement


def test_proper_nouns_auxiliaries_and_modals_stay() -> None:
    text = "Jordan and Rose must have been helping Bill, who could not be seen in Turkey."
    made = perturb([item("", text, "Frank did.")], exact())
    new = made.items[0].options[0]
    for word in ("Jordan", "Rose", "must have been", "Bill", "could not be", "Turkey"):
        assert word in new
    assert made.items[0].options[1] == "Frank did."


@pytest.mark.parametrize(
    "text", ["He is going to walk.", "We used to walk.", "You have to walk.", "She needs to walk."]
)
def test_verbs_that_stand_for_a_tense_or_a_modal_stay(text: str) -> None:
    made = perturb([item("", text, "No.")], exact())
    assert made.items[0].options[0].startswith(text[: -len("walk.")])
    assert made.unreplaced["made up"]["auxiliary"] == 1


def test_a_word_in_both_options_is_replaced_alike() -> None:
    first, second = (
        "The children destroyed this automobile.",
        "The children destroyed these automobile.",
    )
    made = two(first, second).items[0].options
    assert made[0] != first
    assert made[0].replace("this", "these") == made[1]


def test_a_word_of_the_context_is_replaced_alike_in_the_options() -> None:
    made = perturb(
        [
            item(
                "They wrapped the automobile in the blanket, but the ",
                "automobile",
                "blanket",
                ending=" tore.",
            )
        ],
        exact(),
    ).items[0]
    for option in made.options:
        assert f"the {option}" in made.context
    assert made.options[0] != "automobile"


def test_the_word_that_is_asked_for_stays_wherever_it_stands() -> None:
    one = item("The automobile was old. Nobody wanted the automobiles. He sold the ", "automobile")
    made = perturb([one], exact()).items[0]
    assert made.options == ("automobile",)
    assert "The automobile was" in made.context
    assert "the automobiles" in made.context


def test_the_same_seed_gives_the_same_items_whatever_else_is_read() -> None:
    items = [item("", text, "It was so.", name=str(n)) for n, text in enumerate(SENTENCES)]
    together = perturb(items, exact(seed=3)).items
    alone = [perturb([one], exact(seed=3)).items[0] for one in reversed(items)]
    assert together == alone[::-1]
    assert together != perturb(items, exact(seed=4)).items


def test_the_draw_is_uniform_over_the_other_lemmas_and_in_the_paper_over_all() -> None:
    # {car, auto, automobile, machine, motorcar} is the first sense of car.
    items = [item("", "The car stopped.", "It did.", name=str(n)) for n in range(600)]
    for variant, expected in (
        ("exact", {"auto", "automobile", "machine", "motorcar"}),
        ("paper", {"auto", "automobile", "machine", "motorcar", "car"}),
    ):
        made = perturb(items, exact(variant=variant, sense="order", pos=("noun",)))  # type: ignore[arg-type]
        drawn = [row.choice for row in made.replacements]
        drawn += ["car"] * made.unreplaced["made up"]["drawn itself"]
        assert set(drawn) == expected
        mean = len(drawn) / len(expected)
        assert all(abs(drawn.count(word) - mean) < 5 * mean**0.5 for word in expected)


def test_a_synset_with_one_lemma_keeps_its_word_and_the_reason_is_counted() -> None:
    made = perturb([item("", "The window.", "No.")], exact(sense="order"))
    assert made.items[0].options == ("The window.", "No.")
    assert made.unreplaced == {"made up": {"no synonym": 1}}


def test_words_of_a_fixed_expression_stay() -> None:
    made = perturb([item("", "Of course the automobile cost a lot.", "No.")], exact())
    new = made.items[0].options[0]
    assert new.startswith("Of course the ")
    assert "a lot." in new
    assert "automobile" not in new


def test_lemmas_with_a_blank_in_them_are_never_drawn() -> None:
    # {decide, make up one's mind, determine}
    items = [item("", "They decided.", "No.", name=str(n)) for n in range(60)]
    made = perturb(items, exact(sense="order"))
    assert {row.choice for row in made.replacements} == {"determine"}


def test_the_sense_of_a_verb_fits_what_the_verb_takes() -> None:
    # The first sense, {open fire, fire}, takes no object.
    made = perturb([item("", "The manager fired Anna.", "No.")], exact(pos=("verb",)))
    assert made.replacements[0].sense > 1


def test_the_sense_of_a_noun_fits_the_words_around() -> None:
    texts = (
        "The boat drifted to the bank of the river near the meadow.",
        "The bank lent money to the company and paid interest on the loan.",
    )
    made = perturb([item("", text, "No.", name=str(n)) for n, text in enumerate(texts)], exact())
    held = {row.item: row.synset for row in made.replacements if row.lemma == "bank"}
    assert held == {"1": "08420278-n"}  # the river's bank has no other name


def test_words_whose_sense_is_not_sure_stay_where_asked_for() -> None:
    all_words, sure = every_sentence(), every_sentence(sure=0.9)
    assert 0 < len(sure.replacements) < len(all_words.replacements)
    assert all(row.share >= 0.9 for row in sure.replacements)
    assert sure.unreplaced["made up"]["sense not sure"] > 0


def test_a_past_that_looks_like_a_participle_stays_a_past() -> None:
    made = perturb([item("", "The woman suffered amnesia.", "No.")], exact())
    assert {row.tag for row in made.replacements if row.pos == "verb"} <= {"VBD"}


def test_lemmas_of_several_words_are_replaced_as_one() -> None:
    lexicon = lexicons.get()
    made = perturb([item("", "He gave up the guinea pigs.", "No.")], exact())
    rows = {row.lemma: row for row in made.replacements}
    assert "guinea pig" in rows
    assert rows["guinea pig"].original == "guinea pigs"
    assert "pig" not in rows
    synsets = {sense.synset for sense in lexicon.senses("guinea pig", "noun")}
    assert rows["guinea pig"].synset in synsets


@pytest.mark.parametrize(
    ("lemma", "pos", "tag", "form"),
    [
        ("car", "noun", "NNS", "cars"),
        ("point of view", "noun", "NNS", "points of view"),
        ("mother-in-law", "noun", "NNS", "mothers-in-law"),
        ("best seller", "noun", "NNS", "best sellers"),
        ("trousers", "noun", "NNS", "trousers"),
        ("TV", "noun", "NNS", "TVs"),
        ("child", "noun", "NNS", "children"),
        ("take a breath", "verb", "VBD", "took a breath"),
        ("give up", "verb", "VBN", "given up"),
        ("carry through", "verb", "VBZ", "carries through"),
        ("utilise", "verb", "VBG", "utilising"),
        ("run", "verb", "VBP", "run"),
        ("collar", "verb", "VBN", "collared"),
        ("give-up the ghost", "verb", "VBD", "gave-up the ghost"),
        ("hand-wash", "verb", "VBD", "hand-washed"),
        ("Dr.", "noun", "NNS", "Drs."),
    ],
)
def test_forms_worked_out_by_hand(lemma: str, pos: Any, tag: str, form: str) -> None:
    assert inflect(lemma, pos, tag) == form


def test_capitals_are_those_of_the_word_that_was_there() -> None:
    assert match_case("best seller", "Bestseller") == "Best seller"
    assert match_case("best seller", "BESTSELLER") == "BEST SELLER"
    assert match_case("TV", "television") == "TV"


@pytest.mark.parametrize(
    ("word", "vowel"),
    [
        ("apple", True),
        ("hour", True),
        ("heir", True),
        ("MP", True),
        ("X-ray", True),
        ("house", False),
        ("university", False),
        ("user", False),
        ("European", False),
        ("one", False),
        ("uninteresting", True),
        ("umbrella", True),
        ("oven", True),
    ],
)
def test_first_sounds_of_words(word: str, vowel: bool) -> None:
    assert starts_with_vowel(word) is vowel


def test_an_article_agrees_as_much_as_before() -> None:
    assert agree_article("He saw a ", "car", "automobile") == "He saw an "
    assert agree_article("An ", "automobile", "car") == "A "
    assert (
        agree_article("He saw an ", "car", "automobile") == "He saw a "
    )  # wrong before, wrong after
    assert agree_article("plan a ", "car", "machine") == "plan a "
    assert agree_article("the data ", "car", "automobile") == "the data "
    assert agree_article("America ", "car", "automobile") == "America "


@given(st.text(alphabet="ab AN'\"\n", max_size=12), st.sampled_from(["apple", "pear"]))
def test_nothing_but_an_article_ever_changes(before: str, word: str) -> None:
    found = agree_article(before, "pear", word)
    if found != before:
        # A quotation mark stands between words as well as a space does.
        old, new = (re.findall(r'[^\s"]+', text) for text in (before, found))
        assert new[:-1] == old[:-1]
        last = {words[-1].strip("'").lower() for words in (old, new)}
        assert last == {"a", "an"}


@given(st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=3), st.integers(0, 99))
def test_text_outside_the_replaced_words_stays(texts: list[str], seed: int) -> None:
    one = item(" ".join(texts) + " ", "It was so.", "It was not.")
    made = perturb([one], exact(seed=seed))
    rows = [row for row in made.replacements if row.field == "context"]
    back = made.items[0].context
    for row in sorted(rows, key=lambda row: -row.new_start):
        back = back[: row.new_start] + row.original + back[row.new_end :]
    articles = str.maketrans("", "", "n")
    assert [w for w in back.split() if w.lower() not in ("a", "an")] == [
        w for w in one.context.split() if w.lower() not in ("a", "an")
    ]
    assert len(back.translate(articles)) == len(one.context.translate(articles))


def test_unknown_names_are_refused() -> None:
    with pytest.raises(OptionError, match="noun, verb or both"):
        exact(pos=("adjective",))
    with pytest.raises(OptionError, match="at most 1"):
        exact(sure=2)
    with pytest.raises(UnknownName, match="wordnet"):
        perturb([item("", "A car.", "No.")], exact(lexicon="wordnett"))
    with pytest.raises(UnknownName, match="order"):
        perturb([item("", "A car.", "No.")], exact(sense="ordre"))
    with pytest.raises(OptionError, match="no variants"):
        lexicons.get("wordnet:3.1")


def test_the_lexicon_holds_wordnets_facts() -> None:
    lexicon = lexicons.get()
    first = lexicon.senses("car", "noun")[0]
    assert first.synset == "02958343-n"
    assert first.lemmas == ("car", "auto", "automobile", "machine", "motorcar")
    assert first.count == 71
    assert "motor vehicle" in lexicon.related(first)
    assert "ambulance" in lexicon.related(first)
    assert lexicon.senses("xyzzy", "noun") == ()
    assert lexicon.senses("car", "verb") == ()
    assert lexicon.gloss(first) == ""
    assert Sense("x", ("A", "b")).others("a") == ("b",)


def test_items_travel_as_they_are() -> None:
    one = replace(item("", "A car.", "No."), meta={"kind": "functional"})
    made = perturb([one], exact()).items[0]
    assert json.dumps(dict(made.meta)) == '{"kind": "functional"}'
    assert (made.id, made.task, made.answer) == (one.id, one.task, one.answer)


LMF = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE LexicalResource SYSTEM "http://globalwordnet.github.io/schemas/WN-LMF-1.1.dtd">
<LexicalResource xmlns:dc="https://globalwordnet.github.io/schemas/dc/">
  <Lexicon id="tiny" label="Tiny" language="en" email="a@b.c" license="x" version="1">
    <LexicalEntry id="tiny-a"><Lemma writtenForm="car" partOfSpeech="n"/>
      <Sense id="tiny-a-1" synset="tiny-1"/></LexicalEntry>
    <LexicalEntry id="tiny-b"><Lemma writtenForm="motor car" partOfSpeech="n"/>
      <Sense id="tiny-b-1" synset="tiny-1"/></LexicalEntry>
    <LexicalEntry id="tiny-c"><Lemma writtenForm="of course" partOfSpeech="r"/>
      <Sense id="tiny-c-1" synset="tiny-2"/></LexicalEntry>
    <Synset id="tiny-1" ili="" partOfSpeech="n"><Definition>it drives</Definition></Synset>
    <Synset id="tiny-2" ili="" partOfSpeech="r"/>
  </Lexicon>
</LexicalResource>
"""


def test_any_lexicon_of_wn_can_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wn = pytest.importorskip("wn")
    monkeypatch.setattr(wn.config, "data_directory", tmp_path / "wn")
    (tmp_path / "tiny.xml").write_text(LMF)
    wn.add(tmp_path / "tiny.xml", progress_handler=None)
    one = item("", "Two cars stopped, of course.", "No.")
    made = perturb([one], exact(lexicon="wn:tiny:1"))
    assert made.items[0].options[0] == "Two motor cars stopped, of course."
    with pytest.raises(OptionError, match="does not hold"):
        lexicons.get("wn:nothing:1")
