"""Repeated runs and documents: against plain twins, on random texts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.core.errors import OptionError
from rote.curate.dedup import DedupOptions, DedupTexts, Repetitions, WordNumbers, find_repetitions
from rote.curate.repeated_runs import ArrayRoom
from tests.examples import lists, some

Words = list[list[str]]
SOME = lists(some("abc", 12, 1), 7, 1)


def readable(texts: Words, sources: list[str] | None = None, **more: Any) -> DedupTexts:
    """The words numbered in the order in which they occur."""
    numbers: dict[str, int] = {}
    ids = [numbers.setdefault(word, len(numbers)) for text in texts for word in text]
    lengths = np.array([len(text) for text in texts])
    starts = np.cumsum(lengths) - lengths
    return DedupTexts(
        words=WordNumbers(np.array(ids, np.int32), np.empty(0, np.int32), starts, lengths),
        gone=np.zeros(len(texts), np.bool_),
        vocabulary=list(numbers),
        sources=sources or ["one"] * len(texts),
        ages=[number % 3 for number in range(len(texts))],
        **more,
    )


def found_in(texts: Words, memory: int = 1 << 30, **options: object) -> Repetitions:
    chosen = DedupOptions(**{"length": 0, "near": 0.0, "shingle": 1, **options})  # type: ignore[arg-type]
    return find_repetitions(readable(texts), chosen, ArrayRoom(memory))


def left(texts: Words, found: Repetitions) -> Words:
    """What stays of each text."""
    stays = [list(text) for text in texts]
    for cut in reversed(found.cuts):
        del stays[cut.document][cut.start : cut.end]
    return [[] if found.alike[n] >= 0 else text for n, text in enumerate(stays)]


def runs_twin(texts: Words, length: int) -> Words:
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


def alike_twin(texts: Words, shingle: int, least: float) -> list[tuple[int, float]]:
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


MEMORY = st.sampled_from([0, 40, 200, 1 << 30])
"""Bytes: so few that arrays are mapped from files, and runs are numbered in many passes."""


@given(SOME, st.integers(1, 4), MEMORY)
def test_runs_are_those_of_the_twin(texts: Words, length: int, memory: int) -> None:
    assert left(texts, found_in(texts, memory, length=length)) == runs_twin(texts, length)


@given(SOME, st.integers(1, 3), st.sampled_from([0.2, 0.5, 0.75, 0.8, 1.0]), MEMORY)
def test_documents_are_those_of_the_twin(
    texts: Words, shingle: int, least: float, memory: int
) -> None:
    found = found_in(texts, memory, near=least, shingle=shingle)
    assert list(zip(found.alike.tolist(), found.similar.tolist())) == [
        (number, pytest.approx(share)) for number, share in alike_twin(texts, shingle, least)
    ]


@given(
    lists(some("abcABC.,", 12, 1), 7, 1),
    st.integers(1, 3),
    st.sampled_from([0.5, 0.8, 1.0]),
    MEMORY,
)
def test_documents_are_compared_by_other_words_than_runs(
    texts: Words, shingle: int, least: float, memory: int
) -> None:
    texts = [["a", *text] for text in texts]
    plain = [[word.lower() for word in text if word.isalpha()] for text in texts]
    both = replace(readable(texts), folded=readable(plain).words)
    found = find_repetitions(
        both, DedupOptions(length=3, near=least, shingle=shingle), ArrayRoom(memory)
    )
    assert list(zip(found.alike.tolist(), found.similar.tolist())) == [
        (number, pytest.approx(share)) for number, share in alike_twin(plain, shingle, least)
    ]
    stay = [text for text, alike in zip(texts, found.alike) if alike < 0]
    assert [t for t, a in zip(left(texts, found), found.alike) if a < 0] == runs_twin(stay, 3)


@given(SOME, st.integers(1, 4))
def test_a_copy_of_all_that_goes_stays(texts: Words, length: int) -> None:
    found = found_in(texts, length=length)
    dropped = [[False] * len(text) for text in texts]
    for cut in found.cuts:
        dropped[cut.document][cut.start : cut.end] = [True] * (cut.end - cut.start)
        same = texts[cut.kept][cut.kept_start : cut.kept_start + length]
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
def test_words_that_other_sets_hold_are_those_of_the_twin(texts: Words, length: int) -> None:
    sources = ["ab"[n % 2] for n in range(len(texts))]
    chosen = DedupOptions(length=length, near=0.0, shingle=1)
    found = find_repetitions(readable(texts, sources), chosen)
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
    longest = found_in(texts, length=3, keep=("longest",))
    assert left(texts, longest) == [["x"], ["y", "y"], list("abczzz")]
    newest = found_in(texts, length=3, keep=("newest:year",))
    assert left(texts, newest) == [["x"], ["y", "y"], list("abczzz")]
    chosen = DedupOptions(length=3, near=0.0, shingle=1, keep=("source:b",))
    assert left(texts, find_repetitions(readable(texts, ["a", "b", "c"]), chosen))[1] == list(
        "abcyy"
    )
    # The first rule that tells two copies apart decides.
    both = replace(chosen, keep=("source:b", "longest"))
    assert left(texts, find_repetitions(readable(texts, ["a", "b", "b"]), both))[2] == list(
        "abczzz"
    )
    with pytest.raises(OptionError, match="not a rule; write first, longest"):
        DedupOptions(keep=("oldest:year",))


def test_a_passage_is_as_long_as_it_is_repeated() -> None:
    texts = [list("uabcdv"), list("wabcdx"), list("yabcdz"), list("pqrpqr")]
    passages = found_in(texts, length=3).passages
    assert [tuple(passage.values()) for passage in passages] == [
        ("a b c d", 4, 3, 3),
        ("p q r", 3, 2, 1),
    ]


def test_held_elsewhere_goes_wherever_it_is() -> None:
    texts = [list("abcd"), list("xbcy")]
    held = np.array([0, 1, 0, 0] * 2, np.uint8)
    chosen = DedupOptions(length=2, near=0.0, shingle=1)
    found = find_repetitions(readable(texts, elsewhere=(held, held[:0])), chosen)
    assert left(texts, found) == [["a", "d"], ["x", "y"]]
    assert {cut.kept for cut in found.cuts} == {-2}


SENTENCES = lists(some(["a a a", "a b c", "b c", "c"], 6, 1), 6, 1)


def sentences_twin(texts: list[list[str]], length: int) -> Words:
    """A sentence goes if a run of words that were kept before covers each of its words; of such a
    run what does not go counts as kept no second time."""
    whole = [" ".join(text).split() for text in texts]
    kept: set[tuple[str, ...]] = set()
    out = []
    for text, sentence_words in zip(whole, texts):
        until, stays = 0, []
        for place in range(len(text)):
            run = tuple(text[place : place + length])
            if len(run) == length and run in kept:
                until = place + length
            stays.append(place >= until)
            if len(stays) >= length and all(stays[-length:]):
                kept.add(tuple(text[place - length + 1 : place + 1]))
        left, start = [], 0
        for sentence in sentence_words:
            end = start + len(sentence.split())
            left += text[start:end] if any(stays[start:end]) else []
            start = end
        out.append(left)
    return out


@given(SENTENCES, st.integers(1, 4), MEMORY)
def test_sentences_are_those_of_the_twin(texts: list[list[str]], length: int, memory: int) -> None:
    whole = [" ".join(text).split() for text in texts]
    ends = np.cumsum([len(sentence.split()) for text in texts for sentence in text])
    chosen = DedupOptions(length=length, near=0.0, shingle=1, cut="sentence")
    found = find_repetitions(readable(whole, sentence_ends=ends), chosen, ArrayRoom(memory))
    assert left(whole, found) == sentences_twin(texts, length)


@given(SOME, st.integers(1, 4), st.integers(1, 3))
def test_neither_memory_nor_threads_change_a_thing(texts: Words, length: int, threads: int) -> None:
    chosen = DedupOptions(length=length, near=0.5, shingle=1)
    few = find_repetitions(readable(texts), chosen, ArrayRoom(64), threads=threads)
    many = find_repetitions(readable(texts), chosen)
    assert few.cuts.tolist() == many.cuts.tolist()
    assert few.passages == many.passages
    assert few.alike.tolist() == many.alike.tolist()
    assert few.shared.tolist() == many.shared.tolist()


def test_places_beyond_31_bits_are_counted_in_64(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [list("abcabcx"), list("yabcz")]
    narrow = found_in(texts, length=3, near=0.9)
    monkeypatch.setattr("rote.curate.repeated_runs.MAX_POSITIONS", 3)
    wide = found_in(texts, length=3, near=0.9)
    assert wide.cuts.tolist() == narrow.cuts.tolist()
    assert len(wide.cuts) == 2


def test_of_very_many_sources_the_smaller_ones_are_counted_together() -> None:
    texts = [list("abc")] + [list("abc" + "xyz"[n % 3] * (n + 1)) for n in range(70)]
    found = find_repetitions(
        readable(texts, [f"s{n}" for n in range(71)]), DedupOptions(length=3, near=0.0, shingle=1)
    )
    assert len(found.sets) == 64
    assert found.sets[-1] == "other sources"
    assert found.sets[0] == "s8"
    other = found.sets.index("other sources")
    # Each of the eight small ones has the three words that another of them has too.
    assert found.shared[other, other] >= 8 * 3


def repeated_words(texts: Words, length: int) -> set[tuple[int, int]]:
    """The words of all runs of this length that occur at two places or more: what
    deduplicate-text-datasets (Lee et al. 2022) calls duplicated, here inside documents."""
    places: dict[tuple[str, ...], list[tuple[int, int]]] = {}
    for number, text in enumerate(texts):
        for start in range(len(text) - length + 1):
            places.setdefault(tuple(text[start : start + length]), []).append((number, start))
    return {
        (number, start + step)
        for found in places.values()
        if len(found) > 1
        for number, start in found
        for step in range(length)
    }


def cut_words(found: Repetitions) -> set[tuple[int, int]]:
    return {(cut.document, place) for cut in found.cuts for place in range(cut.start, cut.end)}


@given(SOME, st.integers(1, 4))
def test_what_is_cut_is_duplicated_by_the_other_definition(texts: Words, length: int) -> None:
    assert cut_words(found_in(texts, length=length)) <= repeated_words(texts, length)


@given(lists(range(4, 10), 4, 1), lists(range(4), 8, 2))
def test_of_passages_apart_from_one_another_all_copies_go_but_the_first(
    lengths: list[int], order: list[int]
) -> None:
    """There both definitions cut at the same words, and ours leaves the first copy."""
    passages = [[f"p{n}.{i}" for i in range(size)] for n, size in enumerate(lengths)]
    texts, first = [], set()
    seen: set[int] = set()
    for place, drawn in enumerate(order):
        number = drawn % len(passages)
        texts.append([f"own{place}", *passages[number], f"end{place}"])
        if number not in seen:
            first |= {(place, 1 + step) for step in range(len(passages[number]))}
        seen.add(number)
    assert cut_words(found_in(texts, length=4)) == repeated_words(texts, 4) - first
