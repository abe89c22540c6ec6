"""Style: every feature on a sentence that has it once and on one that has not, pybiber's counts."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rote.annotate import annotators
from rote.core.document import Document
from rote.core.metric import Comparison, Work
from rote.core.progress import Silent
from rote.core.sample import Sample
from rote.measure import style
from rote.measure._style import (
    DIMENSIONS,
    FEATURES,
    StyleColumns,
    StyleTokens,
    count_features,
    dimensions,
    rates,
)

from .samples import layer_of

# Near to the feature's own sentence, and without the feature.
WITHOUT = {
    "past_tense": "The boat sinks.",
    "perfect_aspect": "She had soup.",
    "present_tense": "He played chess.",
    "place_adverbials": "The children play loudly.",
    "time_adverbials": "The train left the late guests behind.",
    "first_person": "Nobody told her.",
    "second_person": "The dog likes them.",
    "third_person": "The teacher praised you.",
    "it": "The cat ate them.",
    "demonstrative_pronouns": "This soup is good.",
    "indefinite_pronouns": "Some body knocked.",
    "do_as_verb": "They did not work.",
    "wh_questions": "Did the engine stop?",
    "nominalizations": "The moment lasted.",
    "gerunds": "The morning was good.",
    "nouns": "He slept.",
    "agentless_passives": "The house was sold by them.",
    "by_passives": "The house was sold.",
    "be_main_verb": "The water is boiling.",
    "there": "She lives there.",
    "that_verb_complements": "He said that.",
    "that_adjective_complements": "I am glad of that.",
    "wh_clauses": "I know you want bread.",
    "infinitives": "She walks to school.",
    "present_participial_clauses": "Joe likes bread.",
    "past_participial_clauses": "They built a house in a week.",
    "past_participial_relatives": "The solution is pure.",
    "present_participial_relatives": "The event is causing this decline.",
    "that_subject_relatives": "The dog that I saw ran away.",
    "that_object_relatives": "The dog that bit me ran away.",
    "wh_subject_relatives": "The man whom Sally likes is here.",
    "wh_object_relatives": "The man who likes bread is here.",
    "pied_piping": "The manner which he liked was odd.",
    "sentence_relatives": "He knows which music is odd.",
    "because": "She left because of the rain.",
    "though": "When it rained, she left.",
    "if": "When it rains, we leave.",
    "other_subordinators": "She left because he slept.",
    "prepositions": "The key opens doors.",
    "attributive_adjectives": "The car is red.",
    "predicative_adjectives": "He drives a red car.",
    "adverbs": "He walks a mile.",
    "conjuncts": "The new idea on the edge failed.",
    "downtoners": "She slept.",
    "hedges": "He may know.",
    "amplifiers": "The soup was hot.",
    "emphatics": "I like tea.",
    "discourse_particles": "She sings well.",
    "demonstratives": "She wrote this.",
    "possibility_modals": "You must swim.",
    "necessity_modals": "You can swim.",
    "predictive_modals": "She has the will.",
    "public_verbs": "They chose the winner.",
    "private_verbs": "She follows him.",
    "suasive_verbs": "They had money.",
    "seem": "He is tired.",
    "contractions": "The dog's bowl was empty.",
    "that_deletion": "I think that he went home.",
    "stranded_prepositions": "Look at the moon!",
    "split_infinitives": "He really wants to win.",
    "split_auxiliaries": "They have called often.",
    "phrasal_coordination": "She sang, and he danced.",
    "clausal_coordination": "She bought bread and milk.",
    "synthetic_negation": "No, she has money.",
    "analytic_negation": "He came.",
}
COUNTED = [feature for feature in FEATURES if feature.example]
NAMES = ("word", "pos", "upos", "dep", "lemma")
FIELDS = ("word", "tag", "upos", "dep", "lemma")
OPTIONS = style.Options()
KEPT = Path(__file__).parent / "style_spacy.json"


def columns_of(texts: Sequence[str], annotator: str = "rote") -> StyleColumns:
    documents = [Document(str(number), text) for number, text in enumerate(texts)]
    made = annotators.get(annotator)(documents, NAMES).layers
    return StyleColumns(*(made[name] for name in NAMES))


@cache
def counts_of(texts: tuple[str, ...]) -> Mapping[str, Any]:
    return count_features(StyleTokens(columns_of(texts), 0, len(texts)))


@pytest.mark.parametrize("feature", COUNTED, ids=lambda feature: feature.name)
def test_each_feature_is_found_once_in_its_example_and_not_in_a_sentence_near_it(
    feature: Any,
) -> None:
    place = COUNTED.index(feature)
    having = counts_of(tuple(one.example for one in COUNTED))[feature.name]
    lacking = counts_of(tuple(WITHOUT[one.name] for one in COUNTED))[feature.name]
    assert (having[place], lacking[place]) == (1, 0)


def test_counts_are_those_of_pybiber_but_for_what_is_documented() -> None:
    """`style_spacy.json`: spaCy's tags (en_core_web_sm 3.8) of both lists of sentences, and what
    pybiber 0.3.1 counts on them with `strict_be_main_verb=False`."""
    kept = json.loads(KEPT.read_text())
    columns = spaced([[text[name].split(" ") for text in kept["texts"]] for name in NAMES])
    ends = np.array(kept["sentence_ends"], np.int64)
    columns = StyleColumns(*(replace(getattr(columns, one), sentence_ends=ends) for one in FIELDS))
    assert not columns.universal
    found = count_features(StyleTokens(columns, 0, 2))
    theirs = kept["counts"]
    np.testing.assert_allclose(rates(columns)[0][:, 43], theirs.pop("word_length"), rtol=1e-12)
    differ = {name: found[name].tolist() for name in theirs if found[name].tolist() != theirs[name]}
    # `idea` and `edge` are no conjuncts.
    assert theirs["conjuncts"] == [1, 2]
    assert differ == {"conjuncts": [1, 0]}


def spaced(layers: Sequence[Sequence[Sequence[str]]]) -> StyleColumns:
    return StyleColumns(*(layer_of(texts, name) for name, texts in zip(NAMES, layers)))


# The columns against plain loops


def random_texts(seed: int) -> tuple[StyleColumns, list[list[str]]]:
    """Texts of few kinds of words; some hold none."""
    draw = random.Random(seed)
    words = ["The", "the", "a", "lot", "such", ",", "Idea", "x-y", "don't", "...", "runs", "7"]
    texts = [[draw.choice(words) for _ in range(draw.choice((0, 1, 2, 9, 700)))] for _ in range(9)]
    labels = [["punct" if word == "," else "det" for word in text] for text in texts]
    return spaced([texts, texts, texts, labels, texts]), texts


@pytest.mark.parametrize("seed", range(5))
def test_columns_equal_plain_loops(seed: int) -> None:
    columns, texts = random_texts(seed)
    tokens = StyleTokens(columns, 0, len(texts))
    own = tokens.words("the idea")
    plain = [[word.lower() in ("the", "idea") for word in text] for text in texts]
    assert own.tolist() == [one for text in plain for one in text]
    for step in (-4, -1, 1, 2, 3):
        for outside in (False, True):
            shifted = [
                text[n + step] if 0 <= n + step < len(text) else outside
                for text in plain
                for n in range(len(text))
            ]
            assert tokens.at(step, own, outside).tolist() == shifted
    phrase = [
        [word.lower() for word in text[n : n + 3]] == ["such", "a", "lot"]
        for text in texts
        for n in range(len(text))
    ]
    assert tokens.phrases("such a lot").tolist() == phrase
    assert tokens.count(own).tolist() == [sum(text) for text in plain]


@pytest.mark.parametrize("seed", range(5))
def test_types_lengths_and_words_equal_plain_loops(seed: int) -> None:
    columns, texts = random_texts(seed)
    found, words = rates(columns)
    for number, text in enumerate(texts):
        own = [word.lower() for word in text if any(map(str.isalnum, word))]
        letters = [len(word) for word in text if word.isalpha()]
        assert words[number] == len(own)
        types = len(set(own[:400])) / 4 if len(own) >= 400 else np.nan
        length = sum(letters) / len(letters) if letters else np.nan
        np.testing.assert_allclose(found[number, 42:44], (types, length))


def test_texts_are_counted_alone_and_in_blocks_as_together() -> None:
    texts = [one.example for one in COUNTED] + ["", "Well"]
    columns = columns_of(texts)
    together, words = rates(columns)
    assert np.isnan(together[-2]).all()
    for size in (1, 7, 40):
        np.testing.assert_array_equal(rates(columns, size)[0], together)
    alone = [rates(columns_of([text]))[0][0] for text in texts]
    np.testing.assert_array_equal(np.stack(alone), together)
    assert words[-2:].tolist() == [0, 1]


def test_sentences_begin_where_the_last_one_ends() -> None:
    columns = columns_of(["One two. Three four five.", "", "Six."])
    found = StyleTokens(columns, 0, 3).sentence_place().tolist()
    assert found == [0, 1, 2, 0, 1, 2, 3, 0, 1]
    assert StyleTokens(columns, 2, 3).sentence_place().tolist() == [0, 1]


# Dimensions


def test_a_text_like_the_average_of_bibers_has_dimensions_of_0() -> None:
    average = np.array([[one.mean for one in FEATURES]])
    assert np.abs(dimensions(average, common=False)).max() < 1e-12


def test_dimensions_worked_out_by_hand() -> None:
    """Past tense one deviation up: narrative + 1. Adverbs two up: explicit - 2. No share of
    different words: as the average. Pied piping is rare in Biber's texts."""
    rates_of = {one.name: one.mean for one in FEATURES}
    rates_of["past_tense"] += 30.4
    rates_of["adverbs"] += 2 * 17.6
    rates_of["type_token"] = np.nan
    rates_of["pied_piping"] += 1.1
    text = np.array([list(rates_of.values())])
    np.testing.assert_allclose(dimensions(text, common=False)[0], [0, 1, -1, 0, 0, 0], atol=1e-9)
    np.testing.assert_allclose(dimensions(text, common=True)[0], [0, 1, -2, 0, 0, 0], atol=1e-9)
    assert np.isnan(dimensions(np.full((1, 67), np.nan), common=False)).all()


def test_features_are_bibers_67_and_each_is_in_one_dimension_at_most() -> None:
    assert [one.number for one in FEATURES] == list(range(1, 68))
    names = [name for one in DIMENSIONS for name in f"{one.more} {one.less}".split()]
    assert len(names) == len(set(names))
    assert set(names) <= {one.name for one in FEATURES if one.sd}


# The measure


def rows_of(texts: Sequence[str]) -> style.StyleRows:
    columns = columns_of(texts)
    layers = {need: getattr(columns, one) for need, one in zip(style.needs(OPTIONS), FIELDS)}
    sample = Sample(words=np.diff(columns.word.text_ends, prepend=0), layers=layers)
    return style.rows(sample, OPTIONS, Work())


def test_many_groups_at_once_are_reduced_as_one_by_one() -> None:
    rows = rows_of([one.example for one in COUNTED] + [""])
    rng = np.random.default_rng(1)
    takes = [np.sort(rng.choice(66, size, replace=False)) for size in (1, 5, 40)]
    takes.append(np.array([65]))
    names = ("dimension_1", "past_tense", "type_token")
    found = style.many(rows, takes, names, OPTIONS)
    assert list(found) == ["dimension_1", "past_tense", "type_token"]
    for place, take in enumerate(takes):
        one = style.METRIC.reduce(rows, take, OPTIONS, rng)
        for name in names:
            np.testing.assert_allclose(found[name][place], one[name], rtol=1e-12)


def test_what_sets_a_source_apart_is_in_standard_deviations_of_texts() -> None:
    """Contractions in 1,000 words: 0 and 250 against 0 and 0; the pooled deviation is 125."""
    rows = rows_of(["She came home.", "She didn't come.", "She came home.", "He came home."])
    groups = {"a": np.array([0, 1]), "b": np.array([2, 3])}
    comparison = Comparison(groups, "b", list("wxyz"), "", 0, Silent())
    tables = style.tables(rows, comparison, OPTIONS)
    row = next(row for row in tables["apart"] if row["feature"] == "contractions")
    assert (row["source"], row["rate"], row["reference_rate"]) == ("a", 125.0, 0.0)
    assert row["difference"] == pytest.approx(1.0)
    assert row["high"] - 1 == pytest.approx(12.7062047 * np.sqrt(1 + 1 / 8), rel=1e-6)
    assert row["unsure"]
    shown = {row["feature"] for row in tables["features"]}
    assert shown == {one.name for one in FEATURES}
