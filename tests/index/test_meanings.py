"""Vectors of sentences in an index: codes, the nearest, segments, and who made them."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rote.annotate import annotators
from rote.annotate.embeddings import get
from rote.core.errors import InputError, MissingExtra, OptionError
from rote.core.progress import Silent
from rote.index.factory import open_index
from rote.index.folders import build
from rote.index.folders.folder import verify_index
from rote.index.folders.maintenance import (
    add_layer,
    merge_index,
    remove_documents,
    replace_documents,
)
from rote.index.folders.manifest import MANIFEST, read_manifest, render_manifest
from rote.index.index import Index
from rote.index.segments import meanings
from rote.index.segments.meanings import LARGE, SMALL, MeaningQuery, encode, find_nearest, turn
from tests.index.folders import MEMORY, corpus, options, tree, write_files
from tests.indexes import build_index, index_texts

TEXTS = [
    "The ferry left the harbour at noon. It was cold. Nobody sang.",
    "\u200b",  # a text, but no word
    "At midday the boat sailed out of the port.",
    "…",
    "Her accountant found an error in last year's taxes. She wept.",
]
LAYERS = ("lower", "meaning:static")


def _vectors(rows: int, width: int, seed: int) -> np.ndarray:
    vectors = np.random.default_rng(seed).standard_normal((rows, width)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _codes(index: Index) -> list[list[int]]:
    rows: list[list[int]] = []
    for segment in index.segments:
        assert segment.meanings is not None
        rows += np.hstack([segment.meanings.signs, segment.meanings.sizes]).tolist()
    return rows


def _nearest(index: Index) -> tuple[list[list[float]], list[list[int]], list[str]]:
    vectors = index.sentence_embedder()(["The ferry was late.", "Nobody sang again.", ""])
    near = index.nearest_sentences(vectors, k=7)
    shown = near.sentences[near.sentences >= 0]
    texts = [index.context(each, 0).match for each in index.sentences(shown)]
    return near.similarities.tolist(), near.sentences.tolist(), texts


# -- codes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [3, 64, 100, 256, 384])
def test_turning_keeps_cosines(width: int) -> None:
    vectors = _vectors(5, width, width)
    turned = turn(vectors)
    assert turned.shape == (5, -(-width // 64) * 64)
    np.testing.assert_allclose(turned @ turned.T, vectors @ vectors.T, atol=1e-5)
    assert np.array_equal(turn(vectors[2:3])[0], turned[2])


def _twin_similarity(vector: np.ndarray, query: np.ndarray) -> float:
    """The cosine of a query and the four values that stand for a vector's numbers."""
    turned, asked = turn(vector[None])[0], turn(query[None])[0]
    bound = 0.9816 / np.sqrt(len(turned))
    values = [float((LARGE if abs(x) > bound else SMALL) * (1 if x >= 0 else -1)) for x in turned]
    product = sum(value * round(float(y) * 8192) for value, y in zip(values, asked.tolist()))
    length = np.sqrt(sum(value * value for value in values)) * 8192 * 0.9394
    return float(np.clip(product / length, -1, 1))


@settings(max_examples=20)
@given(st.integers(0, 30), st.integers(1, 12), st.integers(0, 99))
def test_the_nearest_are_those_of_a_slow_search(rows: int, k: int, seed: int) -> None:
    vectors, queries = _vectors(rows, 70, seed), _vectors(2, 70, seed + 1)
    vectors[rows // 2 :] = vectors[: rows - rows // 2]  # equal ones, too
    codes, query = encode(vectors), MeaningQuery.of(queries)
    for number in range(2):
        similar = [
            (-np.float32(_twin_similarity(v, queries[number])), n) for n, v in enumerate(vectors)
        ]
        expected = sorted(similar)[:k]
        cut = rows // 3
        parts = [
            replace(codes, signs=codes.signs[part], sizes=codes.sizes[part])
            for part in (slice(0, cut), slice(cut, cut), slice(cut, None))
        ]
        for segments in ([codes], parts):
            similarities, places = find_nearest(segments, query, number, k)
            assert places.tolist() == [n for _, n in expected]
            assert similarities.tolist() == [-s for s, _ in expected]


def test_few_signs_differ_where_the_nearest_are_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meanings, "count_candidates", lambda k: 5)
    codes, query = encode(_vectors(400, 64, 1)), MeaningQuery.of(_vectors(1, 64, 2))
    differing = [bin(int(sign ^ query.signs[0, 0])).count("1") for sign in codes.signs[:, 0]]
    bound = sorted(differing)[4]
    _, places = find_nearest([codes], query, 0, 400)
    assert sorted(places.tolist()) == [n for n, d in enumerate(differing) if d <= bound]


def test_golden_codes_and_similarities() -> None:
    index = index_texts(TEXTS, layers=LAYERS)
    assert hex(_codes(index)[0][0]) == "0x73b86966c7fc373b"
    near = index.nearest_sentences(get("static")(["A ship sailed from the port at twelve."]), k=3)
    assert near.sentences.tolist() == [[3, 0, 4]]
    assert near.similarities.tolist() == [
        [0.7969125509262085, 0.5470722913742065, 0.08132931590080261]
    ]


def test_estimates_are_near_the_cosine() -> None:
    vectors = _vectors(300, 384, 5)
    codes, query = encode(vectors), MeaningQuery.of(vectors[:20])
    for number in range(20):
        similarities, places = find_nearest([codes], query, number, 300)
        assert places[0] == number
        assert similarities[0] > 0.97
        errors = similarities - (vectors[places] @ vectors[number])
        assert np.sqrt((errors**2).mean()) < 0.022


# -- in an index -------------------------------------------------------------------------------


def test_sentences_are_found_by_what_they_mean() -> None:
    index = index_texts(TEXTS, layers=LAYERS)
    assert index.sentences_held == 7
    near = index.nearest_sentences(index.sentence_embedder()(["A ship sailed at twelve."]), k=9)
    first, second = index.sentences(near.sentences[0, :2])
    assert (first.document, first.item, first.start) == ("2", 0, 0)
    assert index.context(second, 0).match == "The ferry left the harbour at noon."
    assert near.sentences[0, 7:].tolist() == [-1, -1]
    assert np.isnan(near.similarities[0, 7:]).all()
    wept = index.sentences([6, 1, 6])
    assert [index.context(each, 0).match for each in wept] == [
        "She wept.",
        "It was cold.",
        "She wept.",
    ]
    assert [each.item for each in wept] == [11, 8, 11]


@pytest.mark.parametrize("compact", [False, True])
def test_segments_and_jobs_do_not_matter(tmp_path: Path, compact: bool) -> None:
    files = write_files(tmp_path / "in", 0, 6)
    one = options(memory=2**30, layers=LAYERS, compact=compact)
    build.build_index(corpus(files), tmp_path / "one", one)
    several = options(layers=LAYERS, jobs=2, compact=compact)
    build.build_index(corpus(files), tmp_path / "several", several)
    build.build_index(
        corpus(files[:2]), tmp_path / "grown", options(layers=LAYERS, compact=compact)
    )
    build.add_to_index(tmp_path / "grown", corpus(files[2:]), memory=MEMORY)
    build.build_index(corpus(files), tmp_path / "later", options(compact=compact))
    add_layer(tmp_path / "later", "meaning:static")
    expected = open_index(tmp_path / "one")
    assert len(expected.segments) == 1
    for name in ("several", "grown", "later"):
        path = tmp_path / name
        assert len(open_index(path).segments) > 1
        for merged in (False, True):
            if merged:
                merge_index(path)
                assert len(open_index(path).segments) == 1
            assert verify_index(path) == []
            assert _codes(open_index(path)) == _codes(expected)
            assert _nearest(open_index(path)) == _nearest(expected)
            assert _nearest(open_index(path).on(1)) == _nearest(expected)


def test_removed_and_replaced_documents_take_their_sentences_along(tmp_path: Path) -> None:
    files = write_files(tmp_path / "in", 0, 4)
    lines = [line for file in files for line in file.read_text().splitlines()]
    left = [line for line in lines if json.loads(line)["id"] not in ("0-1", "2-0", "3-2")]
    new = json.dumps({"id": "3-2", "text": "A letter came. Nobody read it."})
    for name, content in (("left", left), ("new", [new]), ("both", [*left, new])):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(content))
    build.build_index(corpus(files), tmp_path / "idx", options(layers=LAYERS))
    remove_documents(tmp_path / "idx", ["0-1", "2-0"])
    replace_documents(tmp_path / "idx", corpus([tmp_path / "new.jsonl"]), memory=MEMORY)
    whole = options(memory=2**30, layers=LAYERS)
    build.build_index(corpus([tmp_path / "both.jsonl"]), tmp_path / "fresh", whole)
    changed, fresh = open_index(tmp_path / "idx"), open_index(tmp_path / "fresh")
    assert _codes(changed) == _codes(fresh)
    assert _nearest(changed) == _nearest(fresh)
    assert verify_index(tmp_path / "idx") == []


def test_a_stores_pieces_are_embedded_too(tmp_path: Path) -> None:
    from rote.annotate.store import annotate, open_store

    files = write_files(tmp_path / "in", 0, 3)
    annotate(
        corpus(files), tmp_path / "store", annotators.get(), ("word", "lower"), reporter=Silent()
    )
    build.build_index(open_store(tmp_path / "store"), tmp_path / "a", options(layers=LAYERS))
    build.build_index(corpus(files), tmp_path / "b", options(layers=LAYERS))
    assert _nearest(open_index(tmp_path / "a")) == _nearest(open_index(tmp_path / "b"))


# -- who made them -----------------------------------------------------------------------------


def test_an_index_without_meanings_says_how_to_get_them(tmp_path: Path) -> None:
    build_index(TEXTS, tmp_path / "idx", layers="lower")
    index = open_index(tmp_path / "idx")
    assert (index.meanings, index.sentences_held) == (None, 0)
    assert '"format": 2' in (tmp_path / "idx" / MANIFEST).read_text()  # older versions read it
    with pytest.raises(OptionError, match=r"no meanings .*rote index add-layer .*idx meaning"):
        index.nearest_sentences(np.zeros((1, 256), np.float32))
    with pytest.raises(OptionError, match="rote index add-layer IDX meaning"):
        index_texts(TEXTS).sentence_embedder()


def test_another_embedder_is_refused_by_name(tmp_path: Path) -> None:
    build_index(TEXTS, tmp_path / "idx", layers="lower,meaning:static")
    index = open_index(tmp_path / "idx")
    assert index.sentence_embedder("static").name == "static"
    with pytest.raises(OptionError, match=r"computed by 'static' .*'minilm' makes other vectors"):
        index.sentence_embedder("minilm")
    with pytest.raises(OptionError, match=r"meanings by static/1/.*, and minilm is minilm/2"):
        add_layer(tmp_path / "idx", "meaning")
    before = tree(tmp_path / "idx")
    add_layer(tmp_path / "idx", "meaning:static")
    assert tree(tmp_path / "idx") == before
    with pytest.raises(OptionError, match="vectors of 256 numbers, one per row"):
        index.nearest_sentences(np.zeros((1, 384), np.float32))
    with pytest.raises(OptionError, match="at least 1 sentence"):
        index.nearest_sentences(np.zeros((1, 256), np.float32), 0)
    with pytest.raises(OptionError, match="the index has 7 sentences"):
        index.sentences([7])


def test_vectors_of_another_version_are_refused(tmp_path: Path) -> None:
    build_index(TEXTS, tmp_path / "idx", layers="lower,meaning:static")
    manifest = read_manifest(tmp_path / "idx")
    assert manifest.meanings is not None
    old = replace(manifest, meanings=replace(manifest.meanings, signature="static/0/12345678"))
    (tmp_path / "idx" / MANIFEST).write_text(render_manifest(old))
    with pytest.raises(
        OptionError, match=r"computed by static/0/12345678, and 'static' is static/1/"
    ):
        open_index(tmp_path / "idx").sentence_embedder()
    more = write_files(tmp_path / "in", 0, 1)
    with pytest.raises(OptionError, match="their vectors are not comparable"):
        build.add_to_index(tmp_path / "idx", corpus(more))


def test_what_is_not_installed_is_said_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build_index(TEXTS, tmp_path / "there", layers="lower")
    before = tree(tmp_path / "there")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtra, match=r"'onnxruntime'.*\.\[semantic\]"):
        build_index(TEXTS, tmp_path / "idx", layers="lower,meaning")
    assert not (tmp_path / "idx").exists()
    with pytest.raises(MissingExtra, match="semantic"):
        add_layer(tmp_path / "there", "meaning")
    assert tree(tmp_path / "there") == before


def test_codes_that_do_not_fit_are_damage(tmp_path: Path) -> None:
    build_index(TEXTS, tmp_path / "idx", layers="lower,meaning:static")
    (place,) = (tmp_path / "idx").glob("segments/*/meanings/signs")
    data = place.read_bytes()
    place.write_bytes(b"\x00" + data[1:])
    assert any("signs" in line for line in verify_index(tmp_path / "idx"))
    with pytest.raises(InputError, match="content has changed"):
        open_index(tmp_path / "idx")
    place.write_bytes(data)
    assert verify_index(tmp_path / "idx") == []


def test_minilm_is_the_one_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROTE_CACHE", str(tmp_path / "cache"))
    build_index(TEXTS[:3], tmp_path / "idx", layers="lower,meaning")
    index = open_index(tmp_path / "idx")
    assert index.meanings is not None
    assert (index.meanings.name, index.meanings.dimensions) == ("minilm", 384)
    near = index.nearest_sentences(index.sentence_embedder()(["A ship sailed at twelve."]), k=1)
    assert index.sentences(near.sentences[0])[0].document == "texts:3"
    # Kept by text: nothing is embedded twice.
    assert list((tmp_path / "cache").rglob("*"))
