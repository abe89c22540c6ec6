"""Entity scores: golden values by hand, a slow twin, what is left out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.core.document import Document
from rote.core.errors import InputError
from rote.core.result import Result
from rote.core.sample import Sample
from rote.measure import Settings
from rote.measure.driver.compute import compute
from rote.measure.reference_scores.entities import (
    STOP_WORDS,
    entities,
    needs,
    says_something,
)
from rote.measure.reference_scores.options import Options
from tests.examples import drawn, each, one_of, some
from tests.measure.samples import layer_of

Tagged = list[tuple[str, str]]


def sample(texts: list[tuple[Tagged, Tagged, list[str]]]) -> Sample:
    """Text and reference as words with labels, the document as words."""
    own, own_labels, other, other_labels, document = needs(Options())
    columns = {
        own: [[word for word, _ in text] for text, _, _ in texts],
        own_labels: [[label for _, label in text] for text, _, _ in texts],
        other: [[word for word, _ in reference] for _, reference, _ in texts],
        other_labels: [[label for _, label in reference] for _, reference, _ in texts],
        document: [words for _, _, words in texts],
    }
    return Sample(
        words=np.array([len(text) for text, _, _ in texts], np.int64),
        layers={need: layer_of(column, need.layer) for need, column in columns.items()},
    )


def scores(
    text: Tagged, reference: Tagged, document: list[str], variant: Any = "exact"
) -> dict[str, float]:
    found = entities(sample([(text, reference, document)]), Options())
    return {name: float(column[0]) for name, column in found.scores(variant).items()}


TEXT = [
    ("ada", "B-PER"),
    ("of", "I-PER"),
    ("kent", "I-PER"),
    ("paid", "O"),
    ("nine", "B-NUM"),
    ("pounds", "O"),
    ("in", "O"),
    ("hull", "B-LOC"),
    ("for", "O"),
    ("ada", "B-PER"),
]
REFERENCE = [
    ("ada", "B-PER"),
    ("left", "O"),
    ("hull", "B-LOC"),
    ("for", "O"),
    ("york", "B-LOC"),
    ("on", "B-DATE"),
    ("monday", "I-DATE"),
]
DOCUMENT = ["ada", "kent", "went", "to", "york", "with", "nine"]


def test_the_three_scores_by_hand() -> None:
    found = scores(TEXT, REFERENCE, DOCUMENT)
    # Tokens of the text: ada kent nine hull ada; "of" is a stop word. Not in the document: hull.
    assert found["entity_precision"] == pytest.approx(4 / 5)
    assert found["entity_remembered"] == pytest.approx(1 / 5)
    # Of the reference's ada, hull, york, monday the document has ada and york, the text ada.
    assert found["entity_recall"] == pytest.approx(1 / 2)


def test_the_papers_recall_is_a_share_of_the_texts_own_tokens() -> None:
    found = scores(TEXT, REFERENCE, DOCUMENT, "paper")
    assert found["entity_recall"] == pytest.approx(2 / 5)  # ada twice
    assert found["entity_precision"] == pytest.approx(4 / 5)


def test_by_type_only_the_tokens_of_that_type_count() -> None:
    found = entities(sample([(TEXT, REFERENCE, DOCUMENT)]), Options())
    assert found.types == ("DATE", "LOC", "NUM", "PER")
    location = found.scores("exact", found.types.index("LOC"))
    assert location["entity_precision"][0] == 0
    assert location["entity_remembered"][0] == 1
    assert location["entity_recall"][0] == 0
    assert math.isnan(found.scores("exact", found.types.index("DATE"))["entity_precision"][0])


def test_a_text_without_entities_has_no_precision() -> None:
    found = scores([("he", "O"), ("left", "O")], REFERENCE, DOCUMENT)
    assert math.isnan(found["entity_precision"])
    assert found["entity_recall"] == 0
    assert math.isnan(scores(TEXT, [("gone", "O")], DOCUMENT)["entity_recall"])


def test_stop_words_and_punctuation_say_nothing_and_numbers_do() -> None:
    assert not any(map(says_something, ["The", "of", "'s", ",", "-", "…"]))
    assert all(map(says_something, ["two", "1999", "U.S.", "May's", "Ö"]))
    assert all(word == word.lower() for word in STOP_WORDS)


TAGGED = some(each(one_of("abcd"), one_of(["O", "B-X", "I-X", "B-Y"])), 6)
ITEM = each(TAGGED, TAGGED, some("abcd", 4))


@given(drawn(some(ITEM, 5)), st.sampled_from(["exact", "paper"]))
def test_scores_are_those_of_sets_and_loops(
    texts: list[tuple[Tagged, Tagged, list[str]]], variant: Any
) -> None:
    found = entities(sample(texts), Options()).scores(variant)
    for number, (text, reference, document) in enumerate(texts):
        own = [w for w, label in text if label != "O" and w not in STOP_WORDS]
        other = [w for w, label in reference if label != "O" and w not in STOP_WORDS]
        words, others = {w for w, _ in text}, {w for w, _ in reference}
        source = set(document)
        if variant == "exact":
            base = [w for w in other if w in source]
            recalled = [w for w in base if w in words]
        else:
            base, recalled = own, [w for w in own if w in source and w in others]
        expected = {
            "entity_recall": share(recalled, base),
            "entity_precision": share([w for w in own if w in source], own),
            "entity_remembered": share([w for w in own if w in others - source], own),
        }
        actual = {name: column[number] for name, column in found.items()}
        assert actual == pytest.approx(expected, nan_ok=True)


def share(found: list[str], every: list[str]) -> float:
    return len(found) / len(every) if every else math.nan


def measured(documents: list[Document], **own: Any) -> Result:
    return compute({"score": Options(scores=("entities",), **own)}, documents, settings=Settings())[
        0
    ]


def test_from_raw_text_the_annotator_finds_the_entities() -> None:
    meta = {
        "reference": "John Smith moved to Berlin.",
        "document": "John Smith packed in March. He went to Germany.",
    }
    copied = Document("1", "John Smith packed.", meta)
    remembered = Document("2", "He lives in Berlin.", meta)
    neither = Document("3", "nothing of that sort", meta)
    result = measured([copied, remembered, neither])
    values = result.by_source["texts"].values
    assert values["entity_precision"] == pytest.approx((1 + 0) / 2)
    assert values["entity_remembered"] == pytest.approx((0 + 1) / 2)
    assert "left out: 1 of 3 texts without entities" in result.by_source["texts"].notes
    types = {row["type"]: row for row in result.tables["types"]}
    assert types["PER"]["entity_precision"] == 1
    assert types["LOC"]["entity_remembered"] == 1


def test_a_missing_document_is_an_error_that_names_it() -> None:
    with pytest.raises(InputError, match="document"):
        measured([Document("1", "John left.", {"reference": "John left."})])
