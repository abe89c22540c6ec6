"""What a measure is given: fields read as texts, trees as a layer, wrong fields named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rote import run
from rote.annotate.annotators import get
from rote.annotate.trees import head_distances, head_layer
from rote.core.document import Document
from rote.core.errors import InputError
from rote.core.progress import Silent
from rote.core.sample import Need, Sample
from rote.corpus import ReadOptions, open_corpus
from rote.measure.driver.collection import CollectedTexts, collect_texts
from rote.measure.driver.preparation import Preparation, PreparedShard
from rote.measure.driver.settings import Settings
from tests.kit import write_jsonl

WORD = Need("word", "whitespace", field="reference", several=True)
ONE = Need("word", "whitespace", field="reference")


def collected(path: Path, *needs: Need, on_error: Any = "stop", jobs: int = 1) -> CollectedTexts:
    return collect_texts(
        open_corpus(path, ReadOptions(on_error=on_error)),
        needs,
        settings=Settings(),
        engine=run.get(jobs=jobs),
        reporter=Silent(),
    )


def written(tmp_path: Path, *records: dict[str, Any]) -> Path:
    return write_jsonl(
        tmp_path / "texts.jsonl", ({"text": "a text", **record} for record in records)
    )


def words(sample: Sample, need: Need) -> list[list[str]]:
    layer = sample.layer(need)
    return [layer.items(text) for text in range(len(layer))]


def test_a_field_is_read_beside_its_text(tmp_path: Path) -> None:
    path = written(tmp_path, {"reference": "one two"}, {"reference": "three"})
    sample = collected(path, ONE, Need("text", field="reference"), Need("lower")).sample
    assert words(sample, ONE) == [["one", "two"], ["three"]]
    assert words(sample, Need("lower")) == [["a", "text"]] * 2
    assert [sample.text("reference").text(number) for number in (0, 1)] == [b"one two", b"three"]


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_small_file_is_read_in_this_process_on_as_many_threads_as_jobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    seen: list[int] = []

    def piece(self: Preparation, *given: Any) -> PreparedShard:
        seen.append(run.threads())
        return prepared(self, *given)

    prepared = Preparation.piece
    monkeypatch.setattr(Preparation, "piece", piece)
    path = written(tmp_path, {"text": "The old dog slept."})
    found = collected(path, Need("pos"), jobs=jobs).sample
    assert words(found, Need("pos")) == [["DT", "JJ", "NN", "VBD", "."]]
    assert seen == [jobs]
    assert run.threads() == 1


def test_tags_of_a_field_come_from_the_annotator(tmp_path: Path) -> None:
    need = Need("pos", field="reference")
    sample = collected(written(tmp_path, {"reference": "The old dog slept."}), need).sample
    assert words(sample, need) == [["DT", "JJ", "NN", "VBD", "."]]


def test_a_number_is_read_as_it_is_written(tmp_path: Path) -> None:
    path = written(tmp_path, {"reference": 42}, {"reference": 0.5}, {"reference": True})
    assert words(collected(path, ONE).sample, ONE) == [["42"], ["0.5"], ["True"]]


@pytest.mark.parametrize(
    ("value", "several", "wrong"),
    [
        (None, True, "is null"),
        ({"a": "b"}, True, "holds no text but dict"),
        ([], True, "contains a list of values that are not texts"),
        (["a", 3], True, "contains a list of values that are not texts"),
        (["a", "b"], False, "contains a list where one text is needed"),
    ],
)
def test_a_field_that_is_no_text_is_named(
    tmp_path: Path, value: object, several: bool, wrong: str
) -> None:
    path = written(tmp_path, {"reference": "fine"}, {"reference": value})
    need = WORD if several else ONE
    with pytest.raises(InputError, match=rf"line 2, field 'reference'.*{wrong}"):
        collected(path, need)
    found = collected(path, need, on_error="skip")
    assert len(found.sample) == 1
    assert len(found.problems.listed()) >= 1


def test_the_fingerprint_covers_what_is_read(tmp_path: Path) -> None:
    one = written(tmp_path, {"reference": "one", "other": "x"})
    first = collected(one, ONE).fingerprint
    plain = collected(one, Need("lower")).fingerprint
    two = written(tmp_path, {"reference": "two", "other": "y"})
    assert collected(two, ONE).fingerprint != first
    assert collected(two, Need("lower")).fingerprint == plain


def test_heads_are_a_layer_that_can_be_read_back() -> None:
    documents = [Document("1", "The old dog slept. It snored."), Document("2", "Rain fell.")]
    annotation = get("rote")(documents, ["dep"])
    assert annotation.heads is not None
    away = head_distances(head_layer(annotation.word, annotation.heads))
    for place, (head, distance) in enumerate(zip(annotation.heads.tolist(), away.tolist())):
        assert distance == (0 if head < 0 else head - place)


def test_trees_are_collected_like_any_layer(tmp_path: Path) -> None:
    texts = ["The old dog slept.", "It snored and the rain fell."]
    path = written(tmp_path, *({"text": text} for text in texts))
    sample = collected(path, Need("head"), Need("upos")).sample
    annotation = get("rote")([Document(str(n), t) for n, t in enumerate(texts)], ["dep"])
    assert annotation.heads is not None
    expected = head_distances(head_layer(annotation.word, annotation.heads))
    assert head_distances(sample.layer(Need("head"))).tolist() == expected.tolist()
    second = sample.take(sample.words.argsort()[-1:])
    assert head_distances(second.layer(Need("head"))).tolist() == expected[5:].tolist()
