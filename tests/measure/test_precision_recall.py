"""The measure `precision-recall`: from texts to scores, equal sizes, halves, what is said."""

from __future__ import annotations

import math
import random
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from rote.annotate import embeddings
from rote.annotate.annotators import get
from rote.annotate.trees import head_layer
from rote.core.document import Document
from rote.core.errors import MissingExtra
from rote.core.result import Result
from rote.measure import Settings
from rote.measure import _sentences as meaning
from rote.measure._sentences import sentences_of
from rote.measure._tree_histograms import histograms
from rote.measure.driver.compute import compute
from rote.measure.precision_recall import Options, check

from .embedding import FakeEmbedder
from .test_neighbours import plain_scores, square_distance, tree_distance

MODEL = [
    f"The {thing} {verb} in the {place}{end}"
    for thing in ("heron", "small clerk")
    for verb in ("waited", "slept")
    for place in ("water", "old house", "garden")
    for end in (".", " and smiled.")
]
HUMAN = [
    *(
        f"The {thing} waited in the {place}."
        for thing in ("cat", "boy")
        for place in ("hall", "sea")
    ),
    *(f"Why would {who} take {what}?" for who in ("she", "you") for what in ("it", "my red boat")),
    *(f"Run, {name}, run!" for name in ("Tom", "Ann", "Joe", "Kate", "Bill", "Sue")),
    *(f"Never have I seen so {how} a mess." for how in ("great", "sad", "foul", "fine", "big")),
    *(f"{who} said that nobody had come." for who in ("He", "She", "Ann", "Tom", "They")),
]


def documents(source: str, sentences: list[str], at_once: int = 2) -> list[Document]:
    return [
        Document(
            f"{source}{start}",
            " ".join(sentences[start : start + at_once]),
            {"source": source, "doc_id": str(start)},
        )
        for start in range(0, len(sentences), at_once)
    ]


TEXTS = documents("human", HUMAN) + documents("model", MODEL)


def run(texts: list[Document] = TEXTS, jobs: int = 1, **options: Any) -> Result:
    given = {"on": ("trees",), "k": 2, **options}
    settings = Settings(by=("source",), reference="human", jobs=jobs)
    return compute({"precision-recall": Options(**given)}, texts, settings=settings)[0]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeEmbedder:
    embedder = FakeEmbedder()
    monkeypatch.setattr(embeddings, "get", lambda name: embedder)
    return embedder


def plain_histograms(sentences: list[str]) -> list[dict[int, int]]:
    """Of sentences annotated as the measure's own are: all together, so that labels agree."""
    annotation = get("rote")(TEXTS, ["upos", "dep"])
    assert annotation.heads is not None
    made = histograms(
        annotation.layers["upos"],
        head_layer(annotation.word, annotation.heads),
        sentences_of(annotation.word),
    )
    assert len(made) == len(sentences)
    starts = [0, *made.ends.tolist()]
    return [
        dict(zip(made.labels[a:b].tolist(), made.counts[a:b].tolist())) for a, b in pairwise(starts)
    ]


@pytest.mark.parametrize("variant", ["exact", "paper"])
def test_the_values_on_trees_are_those_of_the_definition(variant: str) -> None:
    assert len(HUMAN) == len(MODEL)
    every = plain_histograms(HUMAN + MODEL)
    human, model = every[: len(HUMAN)], every[len(HUMAN) :]
    expected = plain_scores(model, human, tree_distance, 2, variant == "paper")
    found = run(variant=variant).by_source["model"]
    assert found.values == pytest.approx({f"tree_{name}": v for name, v in expected.items()})
    assert set(found.intervals) == set(found.values)


def test_the_values_on_meaning_are_those_of_the_definition(
    fake: FakeEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rote.measure.precision_recall.PCA", 1.0)
    # With all of the variance kept, distances are those of the vectors themselves.
    found = run(on=("meaning",)).by_source["model"].values
    model, human = (fake(sentences).astype(float).tolist() for sentences in (MODEL, HUMAN))
    expected = plain_scores(model, human, square_distance, 2, False)
    assert found == pytest.approx({f"meaning_{name}": v for name, v in expected.items()})


def test_a_source_that_repeats_the_reference_covers_it(fake: FakeEmbedder) -> None:
    same = documents("human", HUMAN) + documents("copy", HUMAN[::-1], at_once=3)
    for variant, everything in (("exact", 1.0), ("paper", None)):
        found = run(same, on=("trees", "meaning"), variant=variant).by_source["copy"].values
        for name, value in found.items():
            if not name.endswith("density"):
                assert 0 <= value <= 1
                assert everything in (None, value)


def test_a_model_that_writes_one_sentence_only_is_precise_and_covers_little() -> None:
    texts = documents("human", HUMAN) + documents("model", [HUMAN[0]] * len(HUMAN))
    found = run(texts).by_source["model"].values
    assert found["tree_precision"] == 1
    assert found["tree_recall"] == sum(s.startswith("The ") for s in HUMAN) / len(HUMAN)
    # Strictly inside a ball of radius 0 lies nothing.
    assert run(texts, variant="paper").by_source["model"].values["tree_recall"] == 0


def test_all_sources_are_cut_to_the_size_of_the_smallest() -> None:
    texts = TEXTS + documents("short", MODEL[:10]) + documents("tiny", MODEL[:2])
    found = run(texts)
    note = "trees: compares 10 sentences of every source"
    assert all(note in found.by_source[source].notes for source in ("human", "model", "short"))
    short = "trees: not compared: too few sentences, not more than k = 2"
    assert short in found.by_source["tiny"].notes
    assert all(map(math.isnan, found.by_source["tiny"].values.values()))
    assert "10 sentences drawn at random from 24" in found.by_source["model"].notes
    fewer = run(texts, sentences=6)
    assert "trees: compares 6 sentences of every source" in fewer.by_source["model"].notes


def test_the_reference_has_no_values_but_a_baseline() -> None:
    found = run()
    assert all(map(math.isnan, found.by_source["human"].values.values()))
    assert any("baseline" in note for note in found.by_source["human"].notes)
    rows = {(row["source"], row["value"]): row for row in found.tables["baseline"]}
    assert set(rows) == {
        (s, v) for s in ("human", "model") for v in found.by_source["model"].values
    }
    assert all(0 < rows["human", f"tree_{name}"]["mean"] <= 1 for name in ("precision", "recall"))


def test_a_reference_of_too_few_sentences_leaves_nothing_to_compare() -> None:
    texts = documents("human", HUMAN[:2], at_once=1) + documents("model", MODEL)
    found = run(texts)
    assert all(math.isnan(v) for source in found.by_source.values() for v in source.values.values())
    assert any("other side" in note for note in found.by_source["model"].notes)
    assert "baseline" not in found.tables


def test_without_a_reference_there_is_nothing_but_a_note() -> None:
    options = Options(on=("trees",))
    found = compute({"precision-recall": options}, TEXTS, settings=Settings(by=("source",)))[0]
    for source in found.by_source.values():
        assert all(map(math.isnan, source.values.values()))
        assert source.notes == ("no reference: name the source to compare with, with --reference",)


@pytest.mark.usefixtures("pickling_pool")
def test_neither_jobs_nor_the_order_of_texts_change_a_value(fake: FakeEmbedder) -> None:
    both = ("trees", "meaning")
    shuffled = random.Random(3).sample(TEXTS, len(TEXTS))
    expected = run(on=both, sentences=12)
    assert run(on=both, sentences=12, jobs=3).to_json() == expected.to_json()
    moved = run(shuffled, on=both, sentences=12)
    for source in ("human", "model"):
        assert moved.by_source[source].values == pytest.approx(
            dict(expected.by_source[source].values), nan_ok=True
        )


def test_sentences_without_a_vector_are_missing_from_all_samples(fake: FakeEmbedder) -> None:
    fake.vector = lambda text: (
        [0.0] * 3 if text.startswith("Run") else [len(text), 1.0, text.count("a")]
    )
    found = run(on=("trees", "meaning"))
    left = len(HUMAN) - 6
    for source in ("human", "model"):
        notes = found.by_source[source].notes
        assert f"trees: compares {len(HUMAN)} sentences of every source" in notes
        assert f"meaning: compares {left} sentences of every source" in notes


def test_words_without_sentence_ends_are_split_for_meaning_alone(fake: FakeEmbedder) -> None:
    found = run(on=("meaning",), k=4)
    assert sorted(fake.asked) == sorted(HUMAN + MODEL)
    few = documents("human", HUMAN) + documents("model", MODEL[:3], at_once=3)
    notes = run(few, on=("meaning",), k=4).by_source["model"].notes
    assert "meaning: not compared: too few sentences, not more than k = 4" in notes
    assert not any(math.isnan(value) for value in found.by_source["model"].values.values())


def test_unfinished_sentences_are_left_out() -> None:
    cut = [*TEXTS, Document("cut", "The dog ran. The dog and the", {"source": "model"})]
    notes = run(cut, drop_incomplete="last").by_source["model"].notes
    assert "left out: 1 sentence of truncated texts" in notes


def test_a_missing_embedder_is_an_error_that_names_what_works_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(name: str) -> None:
        raise MissingExtra("onnxruntime", "semantic", "the embedder 'minilm'")

    monkeypatch.setattr(meaning, "check", missing)
    with pytest.raises(MissingExtra, match="--on trees"):
        check(Options(), "")
    check(Options(on=("trees",)), "")


def test_the_components_are_those_of_both_samples_together(fake: FakeEmbedder) -> None:
    # All variance lies between the two sources: on its axis they do not touch.
    fake.vector = lambda text: [1.0 if text in MODEL else -1.0, 1e-4 * len(text)]
    found = run(on=("meaning",)).by_source["model"]
    assert "meaning: 90% of the variance is in 1 dimension" in found.notes
    assert found.values["meaning_precision"] == found.values["meaning_recall"] == 0
    assert np.isfinite(found.values["meaning_density"])
