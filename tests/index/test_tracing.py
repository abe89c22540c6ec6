"""Tracing: what is found equals the slow way, and what a user is told about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.core.document import Document
from rote.core.errors import InputError, OptionError, UnknownName
from rote.core.layer import Layer
from rote.corpus import open_corpus
from rote.index.folders.build import add_to_index
from rote.index.folders.merge import merge_index
from rote.index.index import Index
from rote.index.opening import build_index, index_texts, open_index
from rote.index.segments.segment import segment_of_layers
from rote.index.tracing.capitals import as_the_corpus_spells
from rote.index.tracing.chains import chains
from rote.index.tracing.evidence import Span
from rote.index.tracing.options import TraceOptions
from rote.index.tracing.runs import shared_runs
from rote.index.tracing.seams import joined
from rote.index.tracing.spans import Copy, Likelihood, Match, exact, gapped, matches, maximal
from rote.index.tracing.trace import Trace, best, trace
from tests.index import tracing_twins as twins
from tests.index.tracing_twins import layer_of

WORDS = st.lists(st.sampled_from("abc"), max_size=12)
TEXTS = st.lists(WORDS, min_size=1, max_size=4)
EVERY = TraceOptions(min_words=1, min_bits=-1e9)
DEEP = (
    "Dr. P. Q. Marsh, the lighthouse keeper, had counted ninety-one ships before the fog came down "
    "and hid the harbour from him for the rest of that long November."
)
CORPUS = [
    f"It was a slow year. {DEEP} Nobody wrote to him.",
    "She walked along the quay every morning and bought two herrings from the same old woman.",
    "Something else entirely was written here about bread, salt and patience.",
]


def index_of(*segments: Sequence[Sequence[str]]) -> Index:
    """An index in memory, one segment for each list of documents."""
    return Index(
        [
            segment_of_layers(
                {"word": layer_of(s, "word"), "lower": layer_of(s)}, sorted_layers=["lower"]
            )
            for s in segments
        ]
    )


def traced(texts: Sequence[str], corpus: Sequence[str] = CORPUS, **options: object) -> Trace:
    index = index_texts(corpus, ("lower", "lemma"))
    return trace(index, open_corpus(list(texts)), TraceOptions(**options))  # type: ignore[arg-type]


def kinds(found: Trace) -> list[str]:
    return [span.kind for span in found.spans]


# -- against the slow way --------------------------------------------------------------------


@given(TEXTS, TEXTS)
def test_exact_spans_are_all_that_lie_in_no_other(
    texts: list[list[str]], documents: list[list[str]]
) -> None:
    index, layer = index_of(documents), layer_of(texts)
    first, last = maximal(index.longest(layer).lengths, layer)
    starts = layer.text_starts
    expected = [
        (int(starts[t]) + i, int(starts[t]) + j)
        for t, text in enumerate(texts)
        for i, j in twins.maximal_spans(text, documents)
    ]
    assert list(zip(first.tolist(), last.tolist())) == expected


@given(TEXTS, TEXTS, TEXTS, st.integers(1, 3), st.integers(1, 4))
def test_runs_are_those_that_hold_a_rare_window(
    texts: list[list[str]],
    documents: list[list[str]],
    more: list[list[str]],
    seed: int,
    most: int,
) -> None:
    index, layer = index_of(documents, more), layer_of(texts)
    found = set()
    for segment, runs in enumerate(shared_runs(index.lookups("lower"), layer, seed, most)):
        frame = index.segments[segment].frame_of("lower")
        for i, place, length in zip(*(c.tolist() for c in (runs.first, runs.place, runs.length))):
            text = int(np.searchsorted(layer.text_ends, i, side="right"))
            holder = int(frame.document_of(np.array([place]))[0])
            run = (i - int(layer.text_starts[text]), place - frame.start_of(holder), length)
            found.add((text, segment * len(documents) + holder, run))
        assert len(runs) == len(set(zip(runs.first.tolist(), runs.place.tolist())))
    expected = {
        (t, document, run)
        for t, text in enumerate(texts)
        for document, run in twins.runs(text, [*documents, *more], seed, most)
    }
    assert found == expected


@given(WORDS, WORDS, st.integers(0, 3), st.integers(1, 2))
def test_a_chain_is_the_best_of_its_group(
    text: list[str], document: list[str], gap: int, seed: int
) -> None:
    index, layer = index_of([document]), layer_of([text])
    (runs,) = shared_runs(index.lookups("lower"), layer, seed, 1000)
    same = np.zeros(len(runs), np.int64)
    found = chains(runs, same, same, gap)
    scores = []
    for number in range(len(found)):
        own = found.slice(number)
        parts = list(
            zip(*(c[own].tolist() for c in (found.first, found.place, found.length)), strict=True)
        )
        apart = 0
        for (i, p, n), (j, q, _) in pairwise(parts):
            assert 0 <= j - i - n <= gap
            assert 0 <= q - p - n <= gap
            apart += j - i - n + q - p - n
        for i, p, n in parts:
            assert text[i : i + n] == document[p : p + n]
        scores.append((sum(n for _, _, n in parts), -apart))
    runs_of_one = [run for _, run in twins.runs(text, [document], seed, 1000)]
    assert sorted(scores) == twins.best_chains(runs_of_one, gap)


@given(TEXTS, TEXTS, TEXTS)
def test_several_segments_give_the_spans_of_one(
    texts: list[list[str]], documents: list[list[str]], more: list[list[str]]
) -> None:
    layer = layer_of(texts)
    one, two = index_of([*documents, *more]), index_of(documents, more)
    assert exact(one, layer, "verbatim", EVERY) == exact(two, layer, "verbatim", EVERY)
    options = replace(EVERY, seed_words=2)

    def found(index: Index) -> list[tuple[int, int, int]]:
        return [(m.first, m.last, m.words) for m in gapped(index, layer, options)]

    assert found(one) == found(two)


@given(TEXTS, TEXTS)
def test_gapped_spans_lie_in_no_other_and_have_the_words_that_they_say(
    texts: list[list[str]], documents: list[list[str]]
) -> None:
    index, layer = index_of(documents), layer_of(texts)
    found = gapped(index, layer, replace(EVERY, seed_words=2, gap=2))
    for match in found:
        assert not any(
            other is not match and other.first <= match.first and match.last <= other.last
            for other in found
        )
        for copy in match.copies:
            assert sum(length for _, _, length in copy.runs) == match.words
            assert copy.runs[0][0] == match.first
            assert copy.runs[-1][0] + copy.runs[-1][2] == match.last


# -- by hand ---------------------------------------------------------------------------------


def test_bits_are_those_of_words_in_random_order() -> None:
    # Eight words: a stands four times (1 bit), b and c twice (2 bits); log2(8) = 3.
    index = index_of([["a", "a", "b", "c"], ["a", "b", "a", "c"]])
    layer = layer_of([["a", "b", "c", "new"]])
    bits = Likelihood(index, layer).of(np.array([0, 0, 3]), np.array([1, 3, 4]))
    assert bits.tolist() == [1 - 3, 1 + 2 + 2 - 3, 0]


def test_added_left_out_and_exchanged_words_make_a_gapped_span() -> None:
    document = "a b c d e f g h i j k l".split()
    texts = {
        "added": "a b c d X e f g h".split(),
        "left out": "a b c d g h i j".split(),
        "exchanged": "a b c d X Y f g h i".split(),
        "too far": "a b c d X Y Z W f g h i".split(),
    }
    index = index_of([document])
    options = replace(EVERY, seed_words=3, gap=2)
    found = {
        name: [(m.first, m.last, m.words) for m in gapped(index, layer_of([text]), options)]
        for name, text in texts.items()
    }
    assert found == {
        "added": [(0, 9, 8)],
        "left out": [(0, 8, 8)],
        "exchanged": [(0, 10, 8)],
        "too far": [],
    }


def test_a_repeated_word_at_the_seam_is_cut() -> None:
    index = index_of(["he said that he would go".split()])
    (match,) = gapped(
        index, layer_of(["he said that that he would go".split()]), replace(EVERY, seed_words=2)
    )
    assert (match.first, match.last, match.words) == (0, 7, 6)
    assert match.copies[0].runs == ((0, 0, 3), (4, 3, 3))


def test_a_looser_span_that_adds_little_is_left_out() -> None:
    lower = layer_of(["a b c d e f g h i".split()])
    lemma = layer_of(["a b c d e f g h i".split()], "lemma")
    options = TraceOptions(kinds=("verbatim", "lemma"), min_words=4, min_bits=-100)
    for words, expected in ((7, ["verbatim"]), (6, ["verbatim", "lemma"])):
        held = "a b c d e f g h i".split()
        exactly = held[:words] + ["X"] * (9 - words)
        layers = {"lower": layer_of([exactly]), "lemma": layer_of([held], "lemma")}
        index = Index(
            [
                segment_of_layers(
                    {"word": layers["lower"], **layers}, sorted_layers=["lower", "lemma"]
                )
            ]
        )
        found = matches(index, {"lower": lower, "lemma": lemma}, options)
        assert [match.kind for match in found] == expected


def test_a_full_stop_may_belong_to_the_word_before_it_or_not() -> None:
    document = "so he met mr. q. at the gate of the old mill and said no".split()
    text = "so he met mr . q . at the gate of the old mill and said yes".split()
    for own, other in ((text, document), (document, text)):
        index, layer = index_of([other]), layer_of([own])
        (match,) = exact(index, layer, "verbatim", TraceOptions(min_bits=-100))
        assert (match.first, match.last) == (0, len(own) - 1)
        assert match.copies == (Copy(0, 0, len(other) - 1),)


@given(st.lists(st.lists(st.sampled_from(["a", "b", "a.", "b.", "."]), max_size=16), max_size=3))
def test_spans_across_seams_have_the_same_characters(documents: list[list[str]]) -> None:
    text = "b a . b a b . a a b a a. b .".split()
    index, layer = index_of([*documents, ["a", "b", "a", "b."]]), layer_of([text, text])
    first, last = maximal(index.longest(layer).lengths, layer)
    column = index.columns("lower")[0]
    both = [*text, *text]
    for span in joined(index, layer, first, last):
        held = [column.vocabulary[column.ids[p]] for p in range(span.start, span.end)]
        assert "".join(both[span.first : span.last]) == "".join(held)
        assert (span.first < len(text)) == (span.last <= len(text))
        assert "" not in held  # no document's end


CASED = st.lists(st.lists(st.sampled_from(["a", "GO", "Go", "go", "US"]), max_size=8), max_size=3)


@given(CASED, CASED)
def test_the_spelling_of_a_lemma_follows_from_its_definition(
    texts: list[list[str]], documents: list[list[str]]
) -> None:
    held = layer_of(documents, "lemma")
    index = Index([segment_of_layers({"word": held, "lemma": held}, sorted_layers=["lemma"])])
    found = as_the_corpus_spells(index, layer_of(texts, "lemma"))
    every = [word for document in documents for word in document]

    def changed(word: str) -> str:
        if every.count(word) and not word.isupper():
            return word
        # max takes the first of those that are equally frequent.
        return max([word, word.lower(), word.capitalize(), word.upper()], key=every.count)

    def longest(text: list[str], place: int) -> int:
        return max(
            (j - i for i, j in twins.maximal_spans(text, documents) if i <= place < j), default=0
        )

    for number, text in enumerate(texts):
        other = [changed(word) for word in text]
        assert found.items(number) == [
            text[i] if longest(text, i) > longest(other, i) else other[i] for i in range(len(text))
        ]


# -- as a user meets it ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "recased"),
    [
        (DEEP, False),
        (DEEP.upper(), True),
        (DEEP.lower(), True),
        (DEEP.replace(" ", "\n   "), False),
    ],
)
def test_a_copied_passage_is_found_whatever_its_capitals_and_line_breaks(
    text: str, recased: bool
) -> None:
    found = traced([f"Here we begin differently, as one does.\n\n{text}\n\nAnd stop."])
    span = found.spans[0]
    assert span.kind == "verbatim"
    assert "".join(text.split()) in "".join(span.text.split())
    assert span.recased is recased
    place = span.places[0]
    assert (place.document, span.occurrences, span.documents, span.authors) == ("0", 1, 1, 0)
    assert CORPUS[0][place.start : place.end] == place.match
    assert place.before == CORPUS[0][: place.start]


def test_other_forms_of_the_same_words_are_a_lemma_match() -> None:
    text = "They say she walks along the quay every morning and buys two herrings from those women."
    found = traced([text], min_bits=10)
    assert kinds(found) == ["lemma"]
    assert found.spans[0].text.startswith("she walks along the quay")
    assert found.spans[0].places[0].match.endswith("bought two herrings from")


def test_other_forms_are_a_lemma_match_in_capitals_too() -> None:
    corpus = [
        "At last the old God made the heaven wide and gave seven rivers to Texas, it is said."
    ]
    text = "The old God makes the heaven wide and gives seven rivers to Texas."
    (plain,) = traced([text], corpus, min_bits=0).spans
    (shouted,) = traced([text.upper()], corpus, min_bits=0).spans
    assert (plain.kind, shouted.kind) == ("lemma", "lemma")
    assert shouted.text == plain.text.upper()


def test_a_lemma_in_capitals_or_unknown_takes_the_spelling_that_the_corpus_has_most() -> None:
    held = layer_of([["God", "God", "god", "NATO", "nato", "II", "rose", "rose", "Rose"]], "lemma")
    index = Index([segment_of_layers({"word": held, "lemma": held}, sorted_layers=["lemma"])])
    lemmas = layer_of([["GOD", "God", "god", "NATO", "Ii", "II", "Rose", "Nowhere", "I"]], "lemma")
    found = as_the_corpus_spells(index, lemmas)
    assert found.items(0) == ["God", "God", "god", "NATO", "II", "II", "Rose", "Nowhere", "I"]
    assert found.text_ends is lemmas.text_ends
    # In a longer match than the other spelling has, a word stays as it is.
    held = layer_of([["a", "GOD", "b"], ["God", "c"], ["God"]], "lemma")
    index = Index([segment_of_layers({"word": held, "lemma": held}, sorted_layers=["lemma"])])
    lemmas = layer_of([["a", "GOD", "b"], ["a", "GOD", "c"], ["GOD"]], "lemma")
    found = as_the_corpus_spells(index, lemmas)
    assert [found.items(t) for t in range(3)] == [["a", "GOD", "b"], ["a", "God", "c"], ["God"]]
    nothing = layer_of([[]], "lemma")
    assert len(as_the_corpus_spells(index, nothing).ids) == 0


def test_a_changed_passage_is_a_gapped_match_with_its_parts() -> None:
    text = DEEP.replace("ninety-one", "some forty").replace("that long November", "November")
    found = traced([text])
    gaps = next(span for span in found.spans if span.kind == "gapped")
    parts = [text[start:end] for start, end in gaps.runs]
    assert parts[0] == "Dr. P. Q. Marsh, the lighthouse keeper, had counted"
    assert "forty" not in " ".join(parts)
    place = gaps.places[0]
    assert next(place.match[a:b] for a, b in place.runs) == parts[0]


def test_without_a_lemma_layer_lemma_matches_are_left_out_and_that_is_said() -> None:
    index = index_texts(CORPUS)
    found = trace(index, open_corpus([DEEP]))
    assert list(found.found) == ["verbatim", "gapped"]
    assert "rote index add-layer IDX lemma" in found.notes[0]
    with pytest.raises(OptionError, match="add-layer IDX lemma"):
        trace(index, open_corpus([DEEP]), TraceOptions(kinds=("lemma",)))
    with pytest.raises(OptionError, match="'lower'"):
        trace(index_texts(CORPUS, ("pos",)), open_corpus([DEEP]))


def test_an_unknown_kind_and_senseless_numbers_are_refused() -> None:
    with pytest.raises(UnknownName, match="verbatim"):
        TraceOptions(kinds=("verbatin",))
    with pytest.raises(OptionError, match="--min-words"):
        TraceOptions(min_words=0)
    with pytest.raises(OptionError, match="--gap"):
        TraceOptions(gap=-1)


def test_counts_are_exact_and_places_few_in_different_documents() -> None:
    phrase = "the seven brass lanterns of the drowned town"
    corpus = [f"He saw {phrase} again. And {phrase}."] * 7 + ["Nothing of the kind."]
    (span,) = traced([f"We know {phrase}!"], corpus, kinds=("verbatim",), min_bits=0).spans
    assert (span.occurrences, span.documents) == (14, 7)
    assert len({place.document for place in span.places}) == 3


def test_the_document_that_other_spans_come_from_is_shown_first() -> None:
    shared = "nobody in the whole valley remembered the old name"
    corpus = [
        f"Once upon a time {shared}, it seems.",
        f"In those years {shared}. {DEEP}",
    ]
    found = traced([f"I think {shared} but {DEEP}"], corpus, kinds=("verbatim",), places=1)
    assert {place.document for span in found.spans for place in span.places} == {"1"}


def test_the_best_spans_are_listed_and_all_are_counted() -> None:
    texts = [CORPUS[1], CORPUS[0], "Nothing that was ever seen before in any of them."]
    found = traced(texts, limit=1)
    assert len(found.spans) == 1
    assert found.spans[0].number == 1
    assert found.found["verbatim"] == 2
    assert list(found.held) == [1]
    assert [(text.spans, text.covered == text.words) for text in found.texts] == [
        (1, True),
        (1, True),
        (0, False),
    ]


def test_spans_are_sorted_by_length_or_by_how_unlikely_they_are() -> None:
    match = Match("verbatim", 0, 0, 1, 1, 0.0)

    def span(words: int, bits: float) -> Span:
        return Span("verbatim", 0, "t", 0, 1, "t", words, bits, (), match, ())

    long, rare = span(12, 30.0), span(9, 80.0)
    assert best([rare, long], TraceOptions()) == [long, rare]
    assert best([long, rare], TraceOptions(sort="unlikely")) == [rare, long]
    assert best([long, rare], TraceOptions(limit=1)) == [long]


@pytest.mark.parametrize("texts", [["\u200b"], ["word"], ["!"], ["\u200b", DEEP, "a"]])
@pytest.mark.parametrize("corpus", [CORPUS, ["\u200b"], ["one"]])
def test_very_little_text_is_traced_too(texts: list[str], corpus: list[str]) -> None:
    found = traced(texts, corpus)
    assert len(found.texts) == len(texts)
    assert len(found.spans) <= 1


@pytest.mark.parametrize("change", ["add", "merge"])
def test_workers_see_the_index_as_it_was_opened(tmp_path: Path, change: str) -> None:
    """Between the opening here and there, the index grows, or its segments are merged."""
    folders = {name: tmp_path / name for name in ("a", "b")}
    for folder in folders.values():
        build_index([f"the gull was late on day {n}" for n in range(4)], folder)
        for day in (7, 8):
            more = Document(f"new-{day}", f"the ferry was late on day {day}")
            add_to_index(folder, open_corpus([more]))
    texts = open_corpus(["Now the gull was late on day 3, the ferry was late on day 8."])
    wanted = TraceOptions(min_bits=5)
    expected = trace(open_index(folders["a"]), texts, wanted)
    index = open_index(folders["b"])
    if change == "add":
        add_to_index(folders["b"], open_corpus([Document("z", "the gull was late on day 3")]))
        assert trace(index, texts, wanted, jobs=2).spans == expected.spans
    else:
        merge_index(folders["b"])
        with pytest.raises(InputError, match=r"changed while it was being read.* Run the command"):
            trace(index, texts, wanted, jobs=2)
        # One process has it all mapped.
        assert trace(index, texts, wanted).spans == expected.spans


def test_an_index_on_disk_gives_the_same_at_any_number_of_jobs(tmp_path: Path) -> None:
    documents = [Document(f"d{i}", text, {"author": "Ada"}) for i, text in enumerate(CORPUS)]
    index = build_index(documents, tmp_path / "IDX", layers=("lower", "lemma"))
    texts = open_corpus([f"Some words first. {text} More words." for text in CORPUS])
    one, two = (trace(index, texts, TraceOptions(min_bits=5), jobs=jobs) for jobs in (1, 2))
    assert one == two
    assert [span.places[0].document for span in one.spans] == ["d0", "d1", "d2"]
    assert one.spans[0].places[0].author == "Ada"
    assert one.spans[0].authors == 1


def test_a_layer_without_texts_has_no_spans() -> None:
    nothing = np.empty(0, np.int32)
    empty = Layer("lower", nothing, (), nothing, nothing, np.empty(0, np.int64))
    index = index_of([["a"]])
    assert matches(index, {"lower": empty}, TraceOptions(kinds=("verbatim", "gapped"))) == []
