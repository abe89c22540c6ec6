"""Every backend counts what is there: rote's index, a folder of infini-gram, its web service."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.core.errors import InputError, OptionError, RoteError, UnknownName
from rote.core.http import Patience
from rote.core.progress import Silent
from rote.index.grams import Grams
from rote.search.backends import BackendOptions, open_backend
from rote.search.backends.infini_gram import _read_pointers, _search_ranks
from tests.indexes import build_index
from tests.kit import Heard
from tests.search.infini_gram_made import (
    Answer,
    Documents,
    documented,
    occurrences,
    served,
    write_folder,
)

QUIET = Silent()


TEXTS = ["The old man sang. The old man slept.", "An old man sang the old song.", "Old men."]


def made_up(kind: str, shards: int, seed: int) -> list[list[list[int]]]:
    chance = random.Random(seed)
    # Numbers whose bytes sort otherwise than they do, up to the largest that is allowed.
    largest = int(np.iinfo(kind).max) - 1
    known = [0, 1, 2, 255, 256, 257, 512, 65280, 65534, min(65536, largest), largest]
    return [
        [chance.choices(known, k=chance.randint(0, 40)) for _ in range(chance.randint(1, 12))]
        for _ in range(shards)
    ]


def asked(shards: Sequence[Documents], longest: int, seed: int) -> list[list[int]]:
    """N-grams that are there, and some that are not."""
    chance = random.Random(seed)
    there = [
        list(d[i : i + n])
        for documents in shards
        for d in documents
        for n in range(1, longest + 1)
        for i in range(len(d) - n + 1)
    ]
    numbers = sorted({number for gram in there for number in gram})
    absent = [chance.choices([*numbers, 7], k=chance.randint(1, longest)) for _ in range(100)]
    return [*there, *absent]


def as_grams(grams: Sequence[Sequence[int]]) -> Grams:
    return Grams.of([[str(number) for number in gram] for gram in grams])


@pytest.mark.parametrize("kind", ["<u2", "<u4"])
@pytest.mark.parametrize("shards", [1, 2])
def test_a_folder_of_infini_gram_is_read_exactly(tmp_path: Path, kind: str, shards: int) -> None:
    for seed in range(5):
        documents = made_up(kind, shards, seed)
        write_folder(tmp_path / f"v4_{seed}", documents, kind)
        grams = asked(documents, 5, seed)
        expected = [occurrences(documents, gram) for gram in grams]
        for place, count in enumerate(("occurrences", "documents")):
            options = BackendOptions(tokenizer="ids", count=count, jobs=1 + seed % 2)
            backend = open_backend(str(tmp_path / f"v4_{seed}"), options)
            found = backend.counts(as_grams(grams), QUIET)
            assert found.tolist() == [pair[place] for pair in expected]


@given(st.binary(min_size=1, max_size=60), st.lists(st.binary(min_size=1, max_size=4), max_size=8))
def test_the_search_finds_every_suffix_that_begins_with_a_query(
    text: bytes, queries: list[bytes]
) -> None:
    text = bytes(byte % 3 for byte in text)
    order = sorted(range(len(text)), key=lambda place: text[place:])
    asked = [bytes(byte % 4 for byte in query) for query in [*queries, text[:3]]]
    found = _search_ranks(
        np.frombuffer(text, np.uint8),
        np.array(order, "<u2").view(np.uint8),
        2,
        np.frombuffer(b"".join(asked), np.uint8),
        np.array([len(query) for query in asked], np.int64),
    )
    for query, (low, high) in zip(asked, found.tolist()):
        starts = [place for place in order if text[place:].startswith(query)]
        assert order[low:high] == starts
        assert (
            _read_pointers(np.array(order, "<u2").view(np.uint8), 2, low, high).tolist() == starts
        )


def test_an_index_that_holds_documents_backwards_is_asked_backwards(tmp_path: Path) -> None:
    documents = made_up("<u2", 2, 9)
    backwards = [[d[::-1] for d in shard] for shard in documents]
    write_folder(tmp_path / "v5_made", backwards, "<u2")
    backend = open_backend(str(tmp_path / "v5_made"), BackendOptions(tokenizer="ids"))
    grams = asked(documents, 4, 9)
    expected = [occurrences(documents, gram)[0] for gram in grams]
    assert backend.counts(as_grams(grams), QUIET).tolist() == expected


def test_bytes_are_tokens_too_and_files_may_have_no_number(tmp_path: Path) -> None:
    documents = [[list(b"the old man"), list(b"an old man")]]
    write_folder(tmp_path / "v6", documents, "u1", end="")
    backend = open_backend(str(tmp_path / "v6"), BackendOptions(tokenizer="ids"))
    assert backend.counts(
        as_grams([list(b"old man"), list(b"the"), [255], [300]]), QUIET
    ).tolist() == [*(2, 1), *(0, 0)]


def test_pointers_of_two_and_three_bytes_are_read(tmp_path: Path) -> None:
    chance = random.Random(1)
    for size in (200, 33_000):
        documents = [[chance.choices(range(50), k=size)]]
        write_folder(tmp_path / str(size), documents, "<u2")
        backend = open_backend(str(tmp_path / str(size)), BackendOptions(tokenizer="ids"))
        grams = [documents[0][0][i : i + 2] for i in range(0, size - 2, size // 20)]
        expected = [occurrences(documents, gram)[0] for gram in grams]
        assert backend.counts(as_grams(grams), QUIET).tolist() == expected


def test_a_folder_that_does_not_fit_together_is_refused(tmp_path: Path) -> None:
    options = BackendOptions(tokenizer="ids")
    write_folder(tmp_path / "whole", [[[1, 2, 3]]], "<u2")
    table = tmp_path / "whole" / "table.0"
    table.write_bytes(table.read_bytes()[:-1])
    with pytest.raises(InputError, match=r"table\.0: has 3 bytes, and no width of tokens fits"):
        open_backend(str(tmp_path / "whole"), options)
    write_folder(tmp_path / "other", [[[1, 2, 3]]], "<u2")
    (tmp_path / "other" / "tokenized.0").write_bytes(bytes(8))
    with pytest.raises(InputError, match="separator"):
        open_backend(str(tmp_path / "other"), options)
    write_folder(tmp_path / "lost", [[[1, 2, 3]]], "<u2")
    (tmp_path / "lost" / "offset.0").unlink()
    with pytest.raises(InputError, match=r"offset\.0: cannot be mapped"):
        open_backend(str(tmp_path / "lost"), options)
    write_folder(tmp_path / "mixed", [[[1, 2, 3]]], "<u2")
    write_folder(tmp_path / "wide", [[[1, 2, 3]]], "<u4")
    for part in ("tokenized", "table", "offset"):
        content = (tmp_path / "wide" / f"{part}.0").read_bytes()
        (tmp_path / "mixed" / f"{part}.1").write_bytes(content)
    with pytest.raises(InputError, match="2 and 4 bytes wide in different shards"):
        open_backend(str(tmp_path / "mixed"), options)


def test_a_folder_of_numbers_needs_a_tokenizer(tmp_path: Path, tokenizer: str) -> None:
    write_folder(tmp_path / "IDX", [[[1, 2, 3, 1, 2], [4, 1, 2]]], "<u2")
    with pytest.raises(OptionError, match="with --tokenizer"):
        open_backend(str(tmp_path / "IDX"))
    backend = open_backend(str(tmp_path / "IDX"), BackendOptions(tokenizer=tokenizer))
    layer = backend.tokenize(["the old man the old", "song zebra"], QUIET)
    assert layer.items(0) == ["the", "old", "man", "the", "old"]
    assert layer.spans(0)[1] == (4, 7)
    grams, _ = Grams.windows(layer, 2)
    assert grams[0] == ("the", "old")
    assert backend.counts(grams, QUIET).tolist() == [3, 1, 1, 3, 0]
    assert backend.name == "infini-gram"
    assert backend.tokenizer.startswith("subwords/")
    assert backend.index.startswith("IDX=")
    ids = open_backend(str(tmp_path / "IDX"), BackendOptions(tokenizer="ids"))
    assert ids.tokenize(["1 2 3"], QUIET).items(0) == ["1", "2", "3"]
    with pytest.raises(InputError, match="'old' is not a token id"):
        ids.tokenize(["1 old 3"], QUIET)


@pytest.fixture
def tokenizer(tmp_path: Path) -> str:
    pytest.importorskip("tokenizers")
    path = tmp_path / "tokenizer.json"
    vocabulary = {"[UNK]": 0, "the": 1, "old": 2, "man": 3, "song": 4}
    model = {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"}
    parts = ("truncation", "padding", "normalizer", "post_processor", "decoder")
    path.write_text(
        json.dumps(
            {
                "version": "1.0",
                "added_tokens": [],
                "pre_tokenizer": {"type": "Whitespace"},
                "model": model,
                **dict.fromkeys(parts),
            }
        )
    )
    return str(path)


def test_an_index_of_rote_counts_words_or_subwords(tmp_path: Path, tokenizer: str) -> None:
    build_index(TEXTS, tmp_path / "IDX", layers=("lower", f"subwords:{tokenizer}"))
    words = open_backend(str(tmp_path / "IDX"))
    grams, _ = Grams.windows(words.tokenize(["the OLD man sang"], QUIET), 2)
    assert words.counts(grams, QUIET).tolist() == [3, 3, 2]
    documents = open_backend(str(tmp_path / "IDX"), BackendOptions(count="documents"))
    assert documents.counts(grams, QUIET).tolist() == [2, 2, 2]
    assert words.signature != documents.signature
    subwords = open_backend(str(tmp_path / "IDX"), BackendOptions(layer="subwords"))
    assert subwords.tokenizer == f"subwords={_digest(tokenizer)}"
    grams, _ = Grams.windows(subwords.tokenize(["the old man"], QUIET), 2)
    assert subwords.counts(grams, QUIET).tolist() == [1, 3]
    with pytest.raises(UnknownName, match="layer"):
        open_backend(str(tmp_path / "IDX"), BackendOptions(layer="lowr"))


def _digest(tokenizer: str) -> str:
    from rote.annotate import words

    return words.get(tokenizer).signature


def test_what_names_no_corpus_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="not a corpus to count in"):
        open_backend(str(tmp_path))
    with pytest.raises(OptionError, match="which index"):
        open_backend("infini-gram:")
    with pytest.raises(UnknownName, match="infini-gram:NAME"):
        open_backend("infinigram:v4_pileval_llama")
    with pytest.raises(OptionError, match="jobs"):
        open_backend(str(tmp_path), BackendOptions(jobs=0))


# -- the web service ---------------------------------------------------------------------------

pytestmark = pytest.mark.usefixtures("own_cache")


def opened(url: str, tokenizer: str | None = None, index: str = "v4_made") -> Any:
    options = BackendOptions(tokenizer=tokenizer, api=url)
    backend: Any = open_backend(f"infini-gram:{index}", options)
    backend.service.patience = Patience(busy=4, unreachable=1, slow=4, first=0.001)
    return backend


def test_the_service_is_asked_once_for_each_ngram_and_never_again() -> None:
    with served(documented) as (url, questions):
        grams = as_grams([[1, 2], [2, 3], [1, 2], [9, 9]])
        assert opened(url, "ids").counts(grams, QUIET).tolist() == [3, 1, 3, 0]
        assert [q["query_ids"] for q in sorted(questions, key=str)] == [[1, 2], [2, 3], [9, 9]]
        more = as_grams([[9, 9], [4, 1], [2, 3]])
        assert opened(url, "ids").counts(more, QUIET).tolist() == [0, 1, 1]
        assert len(questions) == 4


def test_without_a_tokenizer_the_service_cuts_the_texts() -> None:
    with served(documented) as (url, questions):
        backend = opened(url)
        layer = backend.tokenize(["the old man", "", "the old man", "old song"], QUIET)
        assert [layer.items(t) for t in range(4)] == [
            ["1", "2", "3"],
            [],
            ["1", "2", "3"],
            ["2", "4"],
        ]
        assert sorted(q["query"] for q in questions) == ["", "old song", "the old man"]
        grams, _ = Grams.windows(layer, 2)
        assert backend.counts(grams, QUIET).tolist() == [3, 1, 3, 1, 0]
        assert backend.tokenizer == "tokenizer of v4_made"
        with pytest.raises(InputError, match="AND and OR as operators"):
            backend.tokenize(["the old AND the new"], QUIET)


def test_a_tokenizer_of_the_user_cuts_texts_here(tokenizer: str) -> None:
    with served(documented) as (url, questions):
        backend = opened(url, tokenizer)
        grams, _ = Grams.windows(backend.tokenize(["the old zebra"], QUIET), 2)
        assert backend.counts(grams, QUIET).tolist() == [3, 0]
        assert all("query_ids" in question for question in questions)


def test_a_busy_service_is_asked_again() -> None:
    refused: list[int] = []
    lock = threading.Lock()

    def busy(question: dict[str, Any]) -> tuple[int, Any]:
        with lock:
            if len(refused) < 3:
                refused.append(1)
                return (429, 500, 503)[len(refused) - 1], {"error": "try again later"}
        return documented(question)

    told = Heard()
    with served(busy) as (url, questions):
        assert opened(url, "ids").counts(as_grams([[1, 2]]), told).tolist() == [3]
        assert len(questions) == 4
    assert "answers 429: try again later; retrying in" in told.lines[1]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda q: (503, b"busy"), "answers 503: busy; given up after 4 attempts"),
        (lambda q: (400, {"error": "bad ids"}), "answers 400: bad ids"),
        (lambda q: (200, {"error": "too long"}), "answers with an error: too long"),
        (lambda q: (200, b"<html>"), "expected a JSON object, got <html>"),
        (lambda q: (200, {"counts": 3}), "expected a number of occurrences in `count`, got {"),
        (lambda q: (200, {"count": -1}), "expected a number of occurrences"),
        (lambda q: (200, {"count": 10**30}), "expected a number of occurrences"),
        (lambda q: (200, {"count": True}), "expected a number of occurrences"),
        (lambda q: (200, {"count": 3, "approx": True}), "not exact"),
    ],
)
def test_what_the_service_says_is_told(answer: Answer, said: str) -> None:
    with served(answer) as (url, _), pytest.raises(RoteError, match=said) as caught:
        opened(url, "ids").counts(as_grams([[1, 2]]), QUIET)
    assert url in str(caught.value)


@pytest.mark.parametrize("numbers", [None, "1 2", [1, "a"], [-1], [2**40], [1.5], [[1]], [True]])
def test_token_ids_that_are_none_are_an_error_and_are_not_cached(numbers: Any) -> None:
    with served(lambda q: (200, {"token_ids": numbers})) as (url, questions):
        for _ in range(2):
            with pytest.raises(InputError, match="expected a list of token ids in `token_ids`"):
                opened(url).tokenize(["the old man"], QUIET)
        assert len(questions) == 2


@pytest.mark.parametrize(
    "url",
    [
        "",
        "http://no-such-host.invalid/",
        "http://127.0.0.1:not-a-port/",
        "localhost:8080",
        "nonsense",
        "http://" + "a" * 70 + ".org",
        "http://exa mple.org/",
    ],
)
def test_an_address_that_leads_nowhere_is_an_error_at_once(url: str) -> None:
    if not url:
        with served(documented) as (url, _):
            pass  # closed: connections are refused
    told = Heard()
    with pytest.raises(RoteError, match=r"cannot be reached|is not a web address") as caught:
        opened(url, "ids").counts(as_grams([[1]]), told)
    assert url in str(caught.value)
    assert "--api" in str(caught.value)
    assert not [line for line in told.lines if "retrying" in line]


def test_only_occurrences_are_counted_by_the_service() -> None:
    with pytest.raises(OptionError, match="not documents"):
        open_backend("infini-gram:v4_made", BackendOptions(count="documents"))


def test_answers_that_came_before_an_error_are_kept() -> None:
    def half(question: dict[str, Any]) -> tuple[int, Any]:
        if question["query_ids"] == [9, 9]:
            return 400, {"error": "no more"}
        return documented(question)

    with served(half) as (url, questions):
        with pytest.raises(RoteError, match="no more"):
            opened(url, "ids").counts(as_grams([[1, 2], [2, 3], [9, 9]]), QUIET)
        asked_before = len(questions)
        assert opened(url, "ids").counts(as_grams([[1, 2], [2, 3]]), QUIET).tolist() == [3, 1]
        assert len(questions) == asked_before
