"""Tracing: what is found equals the slow way, and what a user is told about it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.core.document import Document
from rote.core.errors import InputError, OptionError, UnknownName
from rote.corpus import open_corpus
from rote.index.factory import open_index
from rote.index.folders.build import add_to_index
from rote.index.folders.maintenance import merge_index
from rote.index.index import Index
from rote.index.segments.writers import build_layer_segment
from rote.search.trace.alignment import (
    EDIT,
    AlignmentThreshold,
    Runs,
    find_alignments,
    find_shared_runs,
)
from rote.search.trace.evidence import Span
from rote.search.trace.options import TraceOptions
from rote.search.trace.spans import (
    Copy,
    Likelihood,
    Match,
    QueryLayer,
    count_edits,
    find_exact,
    find_gapped,
    find_matches,
    informative_part,
    join_boundaries,
    maximal_spans,
)
from rote.search.trace.trace import Trace, respell_lemmas, select_best, trace
from tests.examples import dear, drawn, lists, some
from tests.indexes import build_index, index_texts
from tests.search import trace_twins as twins
from tests.search.trace_twins import layer_of

TEXTS = lists(some("abc", 12), 4, 1)
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
            build_layer_segment(
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
    first, last = maximal_spans(index.longest(layer).lengths, layer)
    starts = layer.text_starts
    expected = [
        (int(starts[t]) + i, int(starts[t]) + j)
        for t, text in enumerate(texts)
        for i, j in twins.maximal_spans(text, documents)
    ]
    assert list(zip(first.tolist(), last.tolist())) == expected


@dear(50)
@given(TEXTS, TEXTS, TEXTS, st.integers(1, 3), st.integers(1, 4))
def test_runs_are_those_that_hold_a_rare_window(
    texts: list[list[str]], documents: list[list[str]], more: list[list[str]], seed: int, most: int
) -> None:
    index, layer = index_of(documents, more), layer_of(texts)
    found = set()
    for segment, runs in enumerate(find_shared_runs(index.lookups("lower"), layer, seed, most)):
        frame = index.segments[segment].positions_of("lower")
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


def aligned(
    text: Sequence[str], document: Sequence[str], weight: dict[str, float], drop: int, least: float
) -> list[list[tuple[int, int, int]]]:
    """The alignments of all runs of a text and a document, by the kernel."""
    # Other documents before and behind: an alignment must not go on into them.
    index, layer = index_of([text, document, text]), layer_of([text, text])
    (lookup,) = index.lookups("lower")
    weights = np.array([weight[word] for word in [*text, *text]], float)
    bar = AlignmentThreshold(weights, least, drop)
    (runs,) = find_shared_runs([lookup], layer, 1, 1000, lengths=index.lengths(layer), bar=bar)
    frame = index.segments[0].positions_of("lower")
    holders = frame.document_of(runs.place)
    own = (holders == 1) & (runs.first >= len(text))
    runs = Runs(runs.first[own], runs.place[own], runs.length[own])
    found = find_alignments(lookup, layer, runs, holders[own], bar)
    at = frame.start_of(1)
    return [
        [(i - len(text), p - at, n) for i, p, n in found.runs(number)]
        for number in range(len(found))
    ]


ALIGNED = lists("abc", 14, 1)
WEIGHTS = drawn(lambda chance: dict(zip("abc", chance.choices([1.0, 3.0, 7.0, 15.0], k=3))))


@given(ALIGNED, ALIGNED, WEIGHTS, st.integers(0, 3), st.sampled_from([-1e9, 20.0]))
def test_runs_are_aligned_as_the_slow_way_does(
    text: list[str], document: list[str], weight: dict[str, float], drop: int, least: float
) -> None:
    weights = [weight[word] for word in text]
    runs = [run for _, run in twins.runs(text, [document], 1, 1000)]
    runs.sort(key=lambda run: (-sum(weights[run[0] : run[0] + run[2]]), run))
    expected: list[list[tuple[int, int, int]]] = []
    for i, p, n in runs:
        if any(
            held[0][0] <= i
            and i + n <= held[-1][0] + held[-1][2]
            and held[0][1] <= p
            and p + n <= held[-1][1] + held[-1][2]
            for held in expected
        ):
            continue
        score, parts = twins.aligned(text, document, (i, p, n), weights, drop)
        if score >= least:
            expected.append(parts)
    assert aligned(text, document, weight, drop, least) == expected


@given(ALIGNED, ALIGNED, st.sampled_from([1.0, 5.0, 13.0]))
def test_without_bounds_an_extension_is_the_best_of_all(
    text: list[str], document: list[str], weight: float
) -> None:
    score, pairs = twins.extended(text, document, [weight] * len(text), EDIT, 30)
    assert score == twins.best_prefixes(text, document, weight, EDIT)
    assert all(text[i] == document[j] for i, j in pairs)
    runs = [(0, 0, 0), *((i, j, 1) for i, j in pairs)]
    assert score == weight * len(pairs) - EDIT * sum(count_edits(tuple(runs)))


@dear(40)
@given(TEXTS, TEXTS, TEXTS)
def test_several_segments_give_the_spans_of_one(
    texts: list[list[str]], documents: list[list[str]], more: list[list[str]]
) -> None:
    layer = layer_of(texts)
    one, two = index_of([*documents, *more]), index_of(documents, more)
    assert find_exact(one, QueryLayer.of(one, layer), "verbatim", EVERY) == find_exact(
        two, QueryLayer.of(two, layer), "verbatim", EVERY
    )
    options = replace(EVERY, seed_words=2, min_words=2)

    def found(index: Index) -> list[tuple[int, int, int]]:
        return [
            (m.first, m.last, m.words)
            for m in find_gapped(index, QueryLayer.of(index, layer), options)
        ]

    assert found(one) == found(two)


@given(TEXTS, TEXTS)
def test_gapped_spans_tell_something_each_and_have_the_words_that_they_say(
    texts: list[list[str]], documents: list[list[str]]
) -> None:
    index, layer = index_of(documents), layer_of(texts)
    found = find_gapped(
        index, QueryLayer.of(index, layer), replace(EVERY, min_words=2, seed_words=2, gap=2)
    )
    for match in found:
        assert sum(match.edits) > 0
        assert match.words - 2 * sum(match.edits) >= 2
        for other in found:
            both = set(range(match.first, match.last)) & set(range(other.first, other.last))
            if other is not match and other.bits >= match.bits:
                assert match.last - match.first - len(both) >= 3
        for copy in match.copies:
            assert sum(length for _, _, length in copy.runs) == match.words
            assert copy.runs[0][0] == match.first
            assert copy.runs[-1][0] + copy.runs[-1][2] == match.last
            assert count_edits(copy.runs) == match.edits


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
        "all": "a b c X e f Y g h j k l".split(),
        "too far": "a b c d X Y Z f g h i".split(),
    }
    # So many other words that each of these has more bits (9) than an edit takes off (6).
    index = index_of([document], [[word] for word in "XYZ"] + [["."]] * 500)
    options = TraceOptions(min_words=3, min_bits=-1e9, seed_words=3, gap=2)
    found = {
        name: [
            (m.first, m.last, m.words, m.edits)
            for m in find_gapped(index, QueryLayer.of(index, layer_of([t])), options)
        ]
        for name, t in texts.items()
    }
    assert found == {
        "added": [(0, 9, 8, (0, 1, 0))],
        "left out": [(0, 8, 8, (0, 0, 2))],
        "exchanged": [(0, 10, 8, (1, 1, 0))],
        "all": [(0, 12, 10, (1, 1, 1))],
        "too far": [],
    }
    (match,) = find_gapped(index, QueryLayer.of(index, layer_of([texts["all"]])), options)
    # Each of 10 words stands once in 515; three edits of 6 bits each.
    assert match.bits == pytest.approx(10 * np.log2(515) - np.log2(515) - 3 * 6)


def test_a_repeated_word_at_the_seam_is_added() -> None:
    index = index_of(["he said that he would go".split()], [["."]] * 100)
    asked = QueryLayer.of(index, layer_of(["he said that that he would go".split()]))
    (match,) = find_gapped(index, asked, replace(EVERY, seed_words=2))
    assert (match.first, match.last, match.words, match.edits) == (0, 7, 6, (0, 1, 0))


def test_a_long_copy_with_edits_is_one_match() -> None:
    document = [f"w{i}" for i in range(300)]
    text = [f"x{i}" if i % 11 == 5 else word for i, word in enumerate(document)]
    index = index_of([["a"], document], [["b"] * 9])
    options = TraceOptions(seed_count=1000)
    (match,) = find_gapped(index, QueryLayer.of(index, layer_of([text])), options)
    assert (match.first, match.last) == (0, 300)
    assert match.edits == (len(range(5, 300, 11)), 0, 0)


def test_an_alignment_with_too_many_edits_is_cut_to_its_best_part() -> None:
    runs = ((0, 0, 4), (6, 7, 10), (17, 17, 2), (23, 23, 9), (36, 36, 1))
    whole = 4 + 10 + 2 + 9 + 1 - 2 * (3 + 1 + 4 + 4)
    assert informative_part(runs, whole) == runs
    # 10 - 2 + 2 - 8 + 9 = 11 words, less two for each of five edits.
    assert informative_part(runs, 11) == runs[1:4]
    assert informative_part(runs, 12) == ()


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
                build_layer_segment(
                    {"word": layers["lower"], **layers}, sorted_layers=["lower", "lemma"]
                )
            ]
        )
        found = find_matches(index, {"lower": lower, "lemma": lemma}, options)
        assert [match.kind for match in found] == expected


def test_a_full_stop_may_belong_to_the_word_before_it_or_not() -> None:
    document = "so he met mr. q. at the gate of the old mill and said no".split()
    text = "so he met mr . q . at the gate of the old mill and said yes".split()
    for own, other in ((text, document), (document, text)):
        index, layer = index_of([other]), layer_of([own])
        (match,) = find_exact(
            index, QueryLayer.of(index, layer), "verbatim", TraceOptions(min_bits=-100)
        )
        assert (match.first, match.last) == (0, len(own) - 1)
        assert match.copies == (Copy(0, 0, len(other) - 1),)


# A word, whether a full stop stands behind it, and whether it is cut off in the text, in a copy.
Word = tuple[str, bool, bool, bool]


def word(chance: random.Random) -> Word:
    return (chance.choice("abcd"), *(chance.random() < 0.5 for _ in range(3)))


PASSAGE = some(word, 14)


def cut(passage: list[Word], way: int) -> list[str]:
    """The passage as the text has it (2), or as its copy (3)."""
    words: list[str] = []
    for word in passage:
        words += [word[0], "."] if word[1] and word[way] else [word[0] + "." * word[1]]
    return words


@dear(50)
@given(lists(PASSAGE, 2), lists(some(lambda c: (c.randint(0, 1), PASSAGE(c)), 2), 2, 1))
def test_spans_across_seams_are_those_that_are_followed_word_by_word(
    passages: list[list[Word]], held: list[list[tuple[int, list[Word]]]]
) -> None:
    texts = [cut(passage, 2) for passage in passages]
    segments = [
        [
            cut(passages[which][2:], 3) + cut(more, 2) if which < len(passages) else cut(more, 2)
            for which, more in documents
        ]
        for documents in held
    ]
    index, layer = index_of(*segments), layer_of(texts)
    found = join_boundaries(index, layer, *maximal_spans(index.lengths(layer), layer))
    expected = twins.joined(texts, segments, least=4)
    assert [(s.first, s.last, s.segment, s.start, s.end) for s in found] == expected


@given(lists(some(["a", "b", "a.", "b.", "."], 16), 3))
def test_spans_across_seams_have_the_same_characters(documents: list[list[str]]) -> None:
    text = "b a . b a b . a a b a a. b .".split()
    index, layer = index_of([*documents, ["a", "b", "a", "b."]]), layer_of([text, text])
    first, last = maximal_spans(index.longest(layer).lengths, layer)
    column = index.columns("lower")[0]
    both = [*text, *text]
    for span in join_boundaries(index, layer, first, last):
        held = [column.vocabulary[column.ids[p]] for p in range(span.start, span.end)]
        assert "".join(both[span.first : span.last]) == "".join(held)
        assert (span.first < len(text)) == (span.last <= len(text))
        assert "" not in held  # no document's end


CASED = lists(some(["a", "GO", "Go", "go", "US"], 8), 3)


@given(CASED, CASED)
def test_the_spelling_of_a_lemma_follows_from_its_definition(
    texts: list[list[str]], documents: list[list[str]]
) -> None:
    held = layer_of(documents, "lemma")
    index = Index([build_layer_segment({"word": held, "lemma": held}, sorted_layers=["lemma"])])
    found = respell_lemmas(index, layer_of(texts, "lemma"))
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
    index = Index([build_layer_segment({"word": held, "lemma": held}, sorted_layers=["lemma"])])
    lemmas = layer_of([["GOD", "God", "god", "NATO", "Ii", "II", "Rose", "Nowhere", "I"]], "lemma")
    found = respell_lemmas(index, lemmas)
    assert found.items(0) == ["God", "God", "god", "NATO", "II", "II", "Rose", "Nowhere", "I"]
    assert found.text_ends is lemmas.text_ends
    # In a longer match than the other spelling has, a word stays as it is.
    held = layer_of([["a", "GOD", "b"], ["God", "c"], ["God"]], "lemma")
    index = Index([build_layer_segment({"word": held, "lemma": held}, sorted_layers=["lemma"])])
    lemmas = layer_of([["a", "GOD", "b"], ["a", "GOD", "c"], ["GOD"]], "lemma")
    found = respell_lemmas(index, lemmas)
    assert [found.items(t) for t in range(3)] == [["a", "GOD", "b"], ["a", "God", "c"], ["God"]]
    nothing = layer_of([[]], "lemma")
    assert len(respell_lemmas(index, nothing).ids) == 0


def test_a_changed_passage_is_a_gapped_match_with_its_parts() -> None:
    text = DEEP.replace("ninety-one", "some forty").replace("that long November", "November")
    found = traced([text])
    gaps = next(span for span in found.spans if span.kind == "gapped")
    parts = [text[start:end] for start, end in gaps.runs]
    assert parts[0] == "Dr. P. Q. Marsh, the lighthouse keeper, had counted"
    assert "forty" not in " ".join(parts)
    place = gaps.places[0]
    held = [place.match[a:b] for a, b in place.runs]
    # Run by run the same: what lies between them is what was changed.
    assert held == parts
    # Three words (ninety-one) became two; two words behind "that long" do not make up for it.
    assert gaps.edits == (2, 0, 1)
    assert gaps.edit_rate == 3 / (gaps.words + 3)


EDITS = {
    "exchanged 10%": ("exchanged", 0.1, 0.95),
    "added 10%": ("added", 0.1, 0.95),
    "left out 10%": ("left out", 0.1, 0.95),
    "exchanged 20%": ("exchanged", 0.2, 0.8),
    "left out 20%": ("left out", 0.2, 0.8),
}


@pytest.fixture(scope="module")
def chapters() -> list[str]:
    """Genesis and Exodus, and behind them some of Luke."""
    found = [d.text for d in open_corpus("bible:kjv") if _book(d) in ("Genesis", "Exodus", "Luke")]
    assert len(found) == 50 + 40 + 24
    return found


def _book(document: Document) -> str:
    return str(document.meta["doc_id"]).rsplit(" ", 1)[0]


@pytest.fixture(scope="module")
def two_books(chapters: list[str]) -> Index:
    return index_texts(chapters[:90], ("lower", "lemma"))


@pytest.mark.parametrize(("how", "rate", "share"), EDITS.values(), ids=EDITS)
def test_near_verbatim_passages_are_found_nearly_whole(
    chapters: list[str], two_books: Index, how: str, rate: float, share: float
) -> None:
    chance = random.Random(f"{how} {rate}")
    others = " ".join(chapters[90:]).split()
    texts, planted, wanted = [], [], []
    for _ in range(40):
        number = chance.randrange(90)
        words = chapters[number].split()
        size = min(chance.randint(50, 200), len(words))
        first = chance.randrange(len(words) - size + 1)
        passage = words[first : first + size]
        for place in sorted(chance.sample(range(1, size - 1), round(rate * size)), reverse=True):
            new = [] if how == "left out" else [chance.choice(others)]
            passage[place : place + (how != "added")] = new
        texts.append(f"Here something else is told. {' '.join(passage)} And here it ends.")
        planted.append((29, 29 + len(" ".join(passage))))
        wanted.append(str(number))
    found = trace(two_books, open_corpus(texts), TraceOptions(limit=0, places=20))
    whole, rates = 0, []
    for text, ((start, end), document) in enumerate(zip(planted, wanted)):
        spans = [
            span
            for span in found.spans
            if span.number == text and any(place.document == document for place in span.places)
        ]
        reached = {c for span in spans for c in range(max(start, span.start), min(end, span.end))}
        whole += len(reached) >= 0.9 * (end - start)
        assert all(start - 30 <= span.start and span.end <= end + 30 for span in spans)
        rates += [s.edit_rate for s in spans if s.end - s.start >= 0.9 * (end - start)]
    assert whole >= share * len(texts)
    # A mark is a word too, and words that are there by chance may be the same.
    assert 0.5 * rate < np.mean(rates) < 1.1 * rate


def test_without_a_lemma_layer_lemma_matches_are_left_out_and_that_is_said() -> None:
    index = index_texts(CORPUS)
    found = trace(index, open_corpus([DEEP]))
    assert list(found.span_counts) == ["verbatim", "gapped"]
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
    with pytest.raises(OptionError, match="at most 100"):
        TraceOptions(gap=101)


def test_counts_are_exact_and_places_few_in_different_documents() -> None:
    phrase = "the seven brass lanterns of the drowned town"
    corpus = [f"He saw {phrase} again. And {phrase}."] * 7 + ["Nothing of the kind."]
    (span,) = traced([f"We know {phrase}!"], corpus, kinds=("verbatim",), min_bits=0).spans
    assert (span.occurrences, span.documents) == (14, 7)
    assert len({place.document for place in span.places}) == 3


def test_the_document_that_other_spans_come_from_is_shown_first() -> None:
    shared = "nobody in the whole valley remembered the old name"
    corpus = [f"Once upon a time {shared}, it seems.", f"In those years {shared}. {DEEP}"]
    found = traced([f"I think {shared} but {DEEP}"], corpus, kinds=("verbatim",), places=1)
    assert {place.document for span in found.spans for place in span.places} == {"1"}


def test_the_best_spans_are_listed_and_all_are_counted() -> None:
    texts = [CORPUS[1], CORPUS[0], "Nothing that was ever seen before in any of them."]
    found = traced(texts, limit=1)
    assert len(found.spans) == 1
    assert found.spans[0].number == 1
    assert found.span_counts["verbatim"] == 2
    assert list(found.texts_by_number) == [1]
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
    assert select_best([rare, long], TraceOptions()) == [long, rare]
    assert select_best([long, rare], TraceOptions(sort="unlikely")) == [rare, long]
    assert select_best([long, rare], TraceOptions(limit=1)) == [long]


@pytest.mark.usefixtures("pickling_pool")
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


@pytest.mark.usefixtures("pickling_pool")
def test_an_index_on_disk_gives_the_same_at_any_number_of_jobs(tmp_path: Path) -> None:
    documents = [Document(f"d{i}", text, {"author": "Ada"}) for i, text in enumerate(CORPUS)]
    index = build_index(documents, tmp_path / "IDX", layers=("lower", "lemma"))
    texts = open_corpus([f"Some words first. {text} More words." for text in CORPUS])
    one, two = (trace(index, texts, TraceOptions(min_bits=5), jobs=jobs) for jobs in (1, 2))
    assert one == two
    assert [span.places[0].document for span in one.spans] == ["d0", "d1", "d2"]
    assert one.spans[0].places[0].author == "Ada"
    assert one.spans[0].authors == 1
