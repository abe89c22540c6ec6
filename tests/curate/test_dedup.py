"""Repeated runs and documents: against plain twins, on random texts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.core.progress import Silent
from rote.corpus import open_corpus
from rote.curate.dedup import DedupOptions, Found, find
from rote.curate.reading import Read, Tokenizing, read
from rote.run import get

Texts = list[list[str]]
SOME = st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=12), min_size=1, max_size=7)


def readable(texts: Texts, beside: tuple[str, ...] = (), *, tokenizer: str = "spaces") -> Read:
    records = [
        {"id": str(n), "text": " ".join(text), "year": n % 3} for n, text in enumerate(texts)
    ]
    work = Tokenizing(None, "word", tokenizer, False, beside, tokenizer == "ud")
    return read(open_corpus(records), work, engine=get(), reporter=Silent())


def found_in(texts: Texts, **options: object) -> Found:
    chosen = DedupOptions(**{"length": 0, "near": 0.0, "shingle": 1, **options})  # type: ignore[arg-type]
    beside = (chosen.newest,) if chosen.newest else ()
    return find(readable(texts, beside), chosen, ["one"] * len(texts))


def left(texts: Texts, found: Found) -> Texts:
    """What stays of each text."""
    stays = [list(text) for text in texts]
    for cut in reversed(found.cuts):
        del stays[cut.document][cut.start : cut.end]
    return [[] if found.alike[n] >= 0 else text for n, text in enumerate(stays)]


def runs_twin(texts: Texts, length: int) -> Texts:
    """Word by word: a run goes if its words were kept before, in one piece."""
    kept: set[tuple[str, ...]] = set()
    out = []
    for text in texts:
        stays: list[bool] = []
        until = 0
        for place in range(len(text)):
            run = tuple(text[place : place + length])
            if len(run) == length and run in kept:
                until = place + length
            stays.append(place >= until)
            if len(stays) >= length and all(stays[-length:]):
                kept.add(tuple(text[place - length + 1 : place + 1]))
        out.append([word for word, stay in zip(text, stays) if stay])
    return out


def alike_twin(texts: Texts, shingle: int, least: float) -> list[tuple[int, float]]:
    sets: list[frozenset[tuple[str, ...]]] = []
    out: list[tuple[int, float]] = []
    for text in texts:
        own = frozenset(tuple(text[i : i + shingle]) for i in range(len(text) - shingle + 1))
        if len(text) < shingle:
            own = frozenset([("short", *text)])
        best = (-1, 0.0)
        for number, other in enumerate(sets):
            share = len(own & other) / len(own | other)
            if out[number][0] < 0 and share >= least and share > best[1]:
                best = (number, share)
        sets.append(own)
        out.append(best)
    return out


@given(SOME, st.integers(1, 4))
def test_runs_are_those_of_the_twin(texts: Texts, length: int) -> None:
    assert left(texts, found_in(texts, length=length)) == runs_twin(texts, length)


@given(SOME, st.integers(1, 3), st.sampled_from([0.2, 0.5, 0.75, 0.8, 1.0]))
def test_documents_are_those_of_the_twin(texts: Texts, shingle: int, least: float) -> None:
    found = found_in(texts, near=least, shingle=shingle)
    assert list(zip(found.alike.tolist(), found.similar.tolist())) == [
        (number, pytest.approx(share)) for number, share in alike_twin(texts, shingle, least)
    ]


@given(SOME, st.integers(1, 4))
def test_a_copy_of_all_that_goes_stays(texts: Texts, length: int) -> None:
    found = found_in(texts, length=length)
    dropped = [[False] * len(text) for text in texts]
    for cut in found.cuts:
        dropped[cut.document][cut.start : cut.end] = [True] * (cut.end - cut.start)
        same = texts[cut.copy][cut.copy_start : cut.copy_start + length]
        assert same == texts[cut.document][cut.start : cut.start + length]
    kept = {
        tuple(text[i : i + length])
        for text, gone in zip(texts, dropped)
        for i in range(len(text) - length + 1)
        if not any(gone[i : i + length])
    }
    for cut in found.cuts:
        copy = tuple(texts[cut.document][cut.start : cut.start + length])
        assert copy in kept


@given(SOME, st.integers(1, 4))
def test_words_that_other_sets_hold_are_those_of_the_twin(texts: Texts, length: int) -> None:
    sources = ["ab"[n % 2] for n in range(len(texts))]
    chosen = DedupOptions(length=length, near=0.0, shingle=1)
    found = find(readable(texts), chosen, sources)
    names = list(dict.fromkeys(sources))
    runs = [{tuple(t[i : i + length]) for i in range(len(t) - length + 1)} for t in texts]
    for one, own in enumerate(names):
        for other, theirs in enumerate(names):
            words = 0
            for number, text in enumerate(texts):
                held: set[int] = set()
                for i in range(len(text) - length + 1):
                    if sources[number] == own and any(
                        tuple(text[i : i + length]) in runs[n]
                        for n in range(len(texts))
                        if sources[n] == theirs and n != number
                    ):
                        held |= set(range(i, i + length))
                words += len(held)
            assert found.shared[one, other] == words


def test_the_copy_that_stays_is_the_one_that_is_preferred() -> None:
    texts = [list("abcx"), list("abcyy"), list("abczzz")]
    assert left(texts, found_in(texts, length=3)) == [list("abcx"), ["y"] * 2, ["z"] * 3]
    longest = found_in(texts, length=3, keep="longest")
    assert left(texts, longest) == [["x"], ["y", "y"], list("abczzz")]
    newest = found_in(texts, length=3, newest="year")
    assert left(texts, newest) == [["x"], ["y", "y"], list("abczzz")]
    chosen = DedupOptions(length=3, near=0.0, shingle=1, prefer=("b",))
    assert left(texts, find(readable(texts), chosen, ["a", "b", "c"]))[1] == list("abcyy")


def test_a_passage_is_as_long_as_it_is_repeated() -> None:
    texts = [list("uabcdv"), list("wabcdx"), list("yabcdz"), list("pqrpqr")]
    passages = found_in(texts, length=3).passages
    assert [(p.text, p.words, p.times, p.documents) for p in passages] == [
        ("a b c d", 4, 3, 3),
        ("p q r", 3, 2, 1),
    ]


def test_held_elsewhere_goes_wherever_it_is() -> None:
    texts = [list("abcd"), list("xbcy")]
    held = np.array([False, True, False, False] * 2)
    chosen = DedupOptions(length=2, near=0.0, shingle=1)
    found = find(readable(texts), chosen, ["one"] * 2, held)
    assert left(texts, found) == [["a", "d"], ["x", "y"]]
    assert {cut.copy for cut in found.cuts} == {-2}


def test_only_whole_sentences_go() -> None:
    texts = [
        "One two three. Four five six seven. Eight nine.".split(),
        "Nil three. Four five six seven. Eight no.".split(),
    ]
    joined = readable(texts, tokenizer="ud")
    assert joined.sentence_ends is not None
    chosen = DedupOptions(length=3, near=0.0, shingle=1, cut="sentence")
    found = find(joined, chosen, ["one"] * 2)
    words = [joined.vocabulary[i] for i in joined.ids[joined.words[0] :].tolist()]
    for cut in reversed(found.cuts):
        del words[cut.start : cut.end]
    assert " ".join(words) == "Nil three . Eight no ."
