"""The default, `careful`: what it replaces, what it leaves alone and why."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rote.corpus.items import Item
from rote.curate.perturb import Perturbed, PerturbOptions, perturb
from rote.curate.synonyms import lexicons
from rote.curate.synonyms.lexicons import Pos
from rote.curate.synonyms.replacement import NEAR_SHARED, fitting_lemmas, shared_senses
from rote.curate.synonyms.senses import nearness, rarities
from rote.curate.synonyms.words import Word, take_same_clauses, take_same_prepositions
from tests.kit import invoke, write_jsonl


def made_of(*options: str, context: str = "") -> Perturbed:
    return perturb([Item("1", "own", context, options, 0)], PerturbOptions())


def word(lemma: str, pos: Pos, tag: str = "", form: str = "", **more: object) -> Word:
    tag = tag or {"noun": "NN", "verb": "VB"}[pos]
    return Word("context", 0, 1, form or lemma, lemma, pos, tag, "", (), **more)  # type: ignore[arg-type]


def lemmas(lemma: str, pos: Pos, number: int = 0, **more: object) -> tuple[str, ...]:
    lexicon = lexicons.get()
    sense = lexicon.senses(lemma, pos)[number]
    return fitting_lemmas([word(lemma, pos, **more)], sense, lexicon)[0]


def why(lemma: str, pos: Pos, number: int = 0, **more: object) -> str:
    lexicon = lexicons.get()
    return fitting_lemmas([word(lemma, pos, **more)], lexicon.senses(lemma, pos)[number], lexicon)[
        1
    ]


def test_care_is_the_default_and_signed() -> None:
    made = made_of("They bought it.", "It rained.", context="The doctor was here. ")
    assert made.settings["variant"] == "careful"
    assert made.settings["version"] == "3"


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("The doctor wanted an old car.", "The physician"),
        ("They bought the house.", "They purchased the house."),
        ("He tried to sleep.", "He attempted to sleep."),
        ("She stared at the wall.", "She gazed at the wall."),
    ],
)
def test_words_that_mean_the_same_are_exchanged(text: str, new: str) -> None:
    assert (
        made_of(text, "It rained all day long, and then it stopped.")
        .items[0]
        .options[0]
        .startswith(new)
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("She gave him the letter.", "light word"),
        ("They liked the doctor jokes.", "compound"),
        ("He was a doctor-in-training.", "compound"),
        ("They did it without effort.", "phrase"),
        ("As a result they lost.", "phrase"),
        ("She put little effort there.", "phrase"),
        ("I could use a break.", "phrase"),
        ("The doctor talked back.", "particle"),
        ("The purchased cars were old.", "adjective"),
    ],
)
def test_what_is_bound_to_its_surroundings_stays(text: str, reason: str) -> None:
    kept = made_of(text, "It rained all day long, and then it stopped.").unreplaced["own"]
    assert kept[reason] >= 1, kept


def test_a_clause_or_a_preposition_asks_for_verbs_that_take_the_same() -> None:
    assert "begin" in lemmas("start", "verb", bound="clause")
    assert why("finish", "verb", bound="clause") == "other complement"
    assert "speak" in lemmas("talk", "verb", 1, bound="preposition") + lemmas(
        "talk", "verb", bound="preposition"
    )
    assert why("buy", "verb", bound="preposition") == "other complement"
    assert take_same_clauses("want", "desire")
    assert not take_same_clauses("want", "attempt")
    assert take_same_prepositions("gaze", "stare")
    assert not take_same_prepositions("gaze", "talk")


def test_the_object_of_a_verb_and_the_article_of_a_noun_have_to_fit() -> None:
    assert "reply" in lemmas("answer", "verb", frame="alone")
    assert "reply" not in lemmas("answer", "verb", frame="object")
    assert "begin" in lemmas("start", "verb", 1) + lemmas("start", "verb")
    assert "begin" not in lemmas("start", "verb", 1, frame="object")
    assert "begin" not in lemmas("start", "verb", frame="object")
    assert "attempt" in lemmas("try", "verb", bound="clause")
    assert "attempt" not in lemmas("try", "verb", bound="clause", frame="object")
    assert "assistance" not in lemmas("help", "noun", counted=True)


def test_a_lemma_has_to_fit_wherever_the_word_occurs() -> None:
    lexicon = lexicons.get()
    both = [word("answer", "verb", frame=frame) for frame in ("alone", "object")]
    assert "reply" not in fitting_lemmas(both, lexicon.senses("answer", "verb")[0], lexicon)[0]


def test_rare_archaic_and_short_lemmas_are_refused() -> None:
    assert why("head", "noun") in ("rare synonym", "synonym of several words")  # caput
    assert "babe" not in lemmas("baby", "noun")
    assert "yr" not in lemmas("year", "noun")
    assert "min" not in lemmas("minute", "noun")
    assert "authorities" not in lemmas("government", "noun")
    assert "quit" not in lemmas("cease", "verb", tag="VBD", form="ceased")  # quitted


def test_spellings_of_one_word_are_usual_however_rare() -> None:
    assert lemmas("color", "noun") == ("colour",)
    assert "organise" in lemmas("organize", "verb")


def test_words_of_other_senses_are_refused() -> None:
    assert "eyelid" not in lemmas("lid", "noun")
    assert "promote" not in lemmas("encourage", "verb")
    assert why("encourage", "verb") == "means other things too"
    assert "minor" not in lemmas("child", "noun")
    assert "glove" not in lemmas("baseball glove", "noun")
    assert "commission" not in lemmas("committee", "noun")


def test_a_tag_that_is_hardly_ever_right_is_not_believed() -> None:
    assert why("stone", "verb") == "tag not sure"
    assert why("try", "noun") == "tag not sure"
    assert why("rise", "verb", form="rose", tag="VBD") != "tag not sure"


def test_what_two_words_share_is_a_product_of_shares() -> None:
    lexicon = lexicons.get()
    there, back = shared_senses("car", "automobile", "noun", lexicon)
    senses = lexicon.senses("car", "noun")
    usual = [sense.count + 0.5 * 0.7**n for n, sense in enumerate(senses)]
    held = [share for share, s in zip(usual, senses) if "automobile" in s.lemmas]
    assert there == pytest.approx(sum(held) / sum(usual))
    met = sum(sense.count for sense in lexicon.senses("automobile", "noun")) + 0.5
    verb = sum(sense.count for sense in lexicon.senses("automobile", "verb")) + 0.5
    assert back == pytest.approx(met / (met + verb))
    assert there * back >= NEAR_SHARED[1]
    assert shared_senses("car", "dog", "noun", lexicon) == (0.0, 0.0)


def test_nearness_and_rarity_come_from_the_vectors() -> None:
    assert nearness("car", "car") == pytest.approx(1)
    assert nearness("car", "xyzzy") is None
    near = nearness("buy", "purchase")
    far = nearness("child", "minor")
    assert near is not None
    assert far is not None
    assert near > 0.6 > 0.2 > far
    assert rarities()["automobile"] > rarities()["house"]


def test_what_options_of_a_minimal_pair_differ_in_stays() -> None:
    made = made_of("The doctor bought the car.", "The lawyer bought the car.")
    assert made.items[0].options[0].startswith("The doctor ")
    assert made.items[0].options[1].startswith("The lawyer ")
    assert made.unreplaced["own"]["options differ in it"] == 2
    assert "purchased" in made.items[0].options[0]
    # Options of one word or two are answers: they stay in the context as well.
    winograd = perturb(
        [Item("1", "own", "The car hit the house because the ", ("car", "house"), 0, " was old.")],
        PerturbOptions(),
    ).items[0]
    assert winograd.options == ("car", "house")
    assert winograd.context.startswith("The car ")
    # Sentences that differ in much are no minimal pair.
    apart = made_of("The doctor bought the car at last.", "It rained all day, and then it stopped.")
    assert apart.items[0].options[0].startswith("The physician ")


def test_a_word_before_a_clause_and_before_a_preposition_stays_everywhere() -> None:
    text = "They talked about it. Nobody talked to her."
    assert "spoke" in made_of(text, "It rained all day, and then it stopped.").items[0].options[0]
    text = "He started to eat. He started with soup."
    assert made_of(text, "It rained all day, and then.").items[0].options[0] == text


def test_every_careful_replacement_is_one_that_exact_could_draw() -> None:
    texts = [
        "The doctor bought a car and started to talk about the movie.",
        "Several students tried to hide the stone near the store.",
        "The lawyers hated the colour of the house that the author built.",
    ]
    items = [Item(str(n), "own", "", (t, "It rained all day."), 0) for n, t in enumerate(texts)]
    made = perturb(items, PerturbOptions())
    exact = perturb(items, PerturbOptions(variant="exact"))
    lexicon = lexicons.get()
    assert len(made.replacements) >= 5
    for row in made.replacements:
        senses = lexicon.senses(row.lemma, row.pos)  # type: ignore[arg-type]
        assert row.choice in senses[row.sense - 1].others(row.lemma)
    places = {(row.item, row.field, row.start) for row in exact.replacements}
    assert {(row.item, row.field, row.start) for row in made.replacements} <= places


def test_the_output_counts_items_words_and_reasons(tmp_path: Path) -> None:
    records = [
        {"id": "1", "context": "The doctor left. ", "options": ["It rained.", "He slept."]},
        {"id": "2", "context": "It was so. ", "options": ["It rained.", "He slept."]},
    ]
    path = write_jsonl(tmp_path / "items.jsonl", ({**record, "answer": 0} for record in records))
    found = invoke("perturb", str(path), "--json", "-q")
    assert found.exit_code == 0, found.exception
    tables = json.loads(found.stdout)["tables"]
    [row] = tables["counts"]
    assert (row["items"], row["changed"], row["replaced"]) == (2, 1, 1)
    assert row["stay"] == sum(each["words"] for each in tables["kept"])
    shown = invoke("perturb", str(path), "-q").stdout
    assert "Items that changed" in shown
    assert "Words that stay, and why" in shown
