"""Original fragments equal the definition: all windows, a dictionary of sets of sources."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rote.core.errors import OptionError
from rote.index.index import Index
from rote.search.originality import originals, suffix_blocks
from rote.search.originality import reach as reaches
from rote.search.originality.authors import sources_of
from rote.search.originality.edges import edges_of_text, rule_for
from rote.search.originality.originals import find_originals
from rote.search.originality.reach import GroundTruth, _reach_along, reach_of_two
from rote.search.originality.verdicts import (
    HeldOut,
    SentenceVerdicts,
    find_citations,
    judge,
    judge_held_out,
)
from tests.examples import dear, lists, some
from tests.index.twins import index_layers
from tests.indexes import index_texts
from tests.search import originality_twins as twins
from tests.search.originality_twins import Text

relaxes = st.integers(1, 4)


@pytest.fixture(params=["small", "large", "deep"], scope="module")
def sizes(request: pytest.FixtureRequest) -> Iterator[None]:
    """Small pieces, so that all seams are met; large ones; suffixes compared in text order."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param != "large":
            patch.setattr(suffix_blocks, "BLOCK_SIZE", 4)
            patch.setattr(originals, "_MIN_PART", 2)
            patch.setattr(reaches, "_AT_ONCE", 12)
            patch.setattr(reaches, "_GAP", 0)
            # One step is enough for some places; the others are left to the walk.
            patch.setattr(reaches, "_SPARSE", 0)
            patch.setattr(reaches, "_STEPS", 1)
        if request.param == "deep":
            patch.setattr(suffix_blocks, "_BUDGET", 0)
            patch.setattr(suffix_blocks, "_MIN_BUDGET", 0)
        yield


@dear(50)
@given(twins.truths)
def test_sources_are_components_of_documents_and_authors(truth: twins.Truth) -> None:
    found = sources_of(twins.index_of(truth))
    assert np.concatenate(found.of).tolist() == twins.sources(truth)
    assert found.count == len(set(twins.sources(truth)))


@pytest.mark.usefixtures("sizes")
@dear(30)
@given(twins.truths, relaxes)
def test_counts_by_length_are_those_of_all_windows(truth: twins.Truth, relax: int) -> None:
    held = twins.held_by(truth)
    expected: dict[int, list[int]] = defaultdict(lambda: [0] * 5)
    for fragment, times in held.fragments.items():
        original = len(held.sources[fragment]) <= relax
        once = held.occurrences[fragment] == 1
        for i, value in enumerate((1, original, times, times * original, once)):
            expected[len(fragment)][i] += value
    index = twins.index_of(truth)
    found = find_originals(index, relax=relax)
    rows = {
        r.length: [r.fragments, r.original, r.occurrences, r.original_occurrences, r.once]
        for r in found.by_length
    }
    assert rows == dict(expected)
    assert find_originals(index.on(2), relax=relax).by_length == found.by_length
    originals = {f for f in held.fragments if len(held.sources[f]) <= relax}
    sentences = [s for segment in truth for text in segment for s in text.sentences]
    assert found.sentences == len(sentences)
    assert found.original_sentences == sum(
        any(twins.lower(s[a:b]) in originals for a, b in twins.windows(s)) for s in sentences
    )
    assert found.total.original == len(originals)
    listed = list(found.fragments())
    assert Counter(f.words for f in listed) == Counter(originals)
    for fragment in listed:
        assert index.context(fragment.place, 0).match.lower() == " ".join(fragment.words)


@pytest.mark.usefixtures("sizes")
@dear(30)
@given(twins.truths, relaxes)
def test_the_shortest_hold_no_other_and_every_original_one_holds_one(
    truth: twins.Truth, relax: int
) -> None:
    held = twins.held_by(truth)
    original = {f for f in held.fragments if len(held.sources[f]) <= relax}
    index = twins.index_of(truth)
    found = find_originals(index, relax=relax)
    shortest = list(found.fragments(shortest=True))
    assert len({f.words for f in shortest}) == len(shortest)
    for fragment in shortest:
        assert fragment.words in original
        words = index.context(fragment.place, 0).match.split()
        assert not any(
            twins.lower(words[a:b]) in original
            for a, b in twins.windows(words)
            if b - a < len(words)
        )
    if not any(
        word == "B" for s in truth for text in s for line in text.sentences for word in line
    ):
        # Where edges follow from the words alone, so does this set.
        assert {f.words for f in shortest} == {
            f
            for f in original
            if not any(f[a:b] in original for a, b in twins.windows(f) if b - a < len(f))
        }


@pytest.mark.usefixtures("sizes")
@dear(30)
@given(twins.truths, twins.texts, relaxes)
def test_generated_sentences_are_judged_by_the_sources_of_their_fragments(
    truth: twins.Truth, texts: list[list[twins.Sentence]], relax: int
) -> None:
    by = twins.held_by(truth).sources
    index = twins.index_of(truth)
    made = twins.layers(texts)
    ground = GroundTruth(index, "lower", sources_of(index))
    edges = edges_of_text(made["word"], made["pos"], "tags")
    found = judge(ground, made["lower"], edges, relax=relax)
    sentences = [sentence for text in texts for sentence in text]
    shortest, longest, at = [], [], 0
    for number, sentence in enumerate(sentences):
        kinds: dict[str, list[tuple[int, int]]] = {"original": [], "cited": [], "common": []}
        for a, b in twins.windows(sentence):
            count = len(by.get(twins.lower(sentence[a:b]), ()))
            kind = "original" if not count else "cited" if count <= relax else "common"
            kinds[kind].append((a, b))
        assert found.originals[number] == len(kinds["original"])
        assert found.cited[number] == len(kinds["cited"])
        assert found.commons[number] == len(kinds["common"])
        assert found.original[number] == bool(kinds["original"])
        assert found.fails[number] == bool(kinds["cited"])
        shortest += [
            (at + a, at + b)
            for a, b in kinds["original"]
            if not any(a <= c and d <= b and (a, b) != (c, d) for c, d in kinds["original"])
        ]
        longest += [
            (at + a, at + b)
            for a, b in kinds["cited"]
            if not any(c <= a and b <= d and (a, b) != (c, d) for c, d in kinds["cited"])
        ]
        at += len(sentence)
    assert list(zip(found.shortest.starts.tolist(), found.shortest.ends.tolist())) == shortest
    assert list(zip(found.longest.starts.tolist(), found.longest.ends.tolist())) == longest
    words = [word.lower() for sentence in sentences for word in sentence]
    cited = find_citations(ground, made["lower"], found.longest, limit=relax)
    of = np.concatenate(ground.sources.of) if truth else np.empty(0)
    for (a, b), places in zip(longest, cited):
        assert {int(of[int(p.document)]) for p in places} == by[tuple(words[a:b])]
        assert len(places) == len(by[tuple(words[a:b])])
        assert all(index.context(p, 0).match.lower() == " ".join(words[a:b]) for p in places)


@settings(max_examples=20)
@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 6))
def test_a_walk_over_many_blocks_equals_comparing_all_pairs(
    seed: int, width: int, sources: int
) -> None:
    chance = np.random.default_rng(seed)
    size = 1100  # more than two blocks
    shared = chance.choice([0, 1, 2, 3, 9], size, p=[0.01, 0.01, 0.3, 0.3, 0.38]).astype(np.int32)
    rests = chance.integers(1, 9, size).astype(np.int32)
    of = (chance.integers(0, sources, size) ** 2 // max(1, sources - 1)).astype(np.int32)
    shared[0] = 0
    ranks = np.sort(chance.integers(0, size, 40))
    most = chance.integers(2, 9, 40).astype(np.int32)
    found_sources, found = np.zeros((40, width), np.int32), np.zeros((40, width), np.int32)
    before, alone = np.empty(size, np.int32), np.empty(size, np.int32)
    _reach_along((shared, rests, of), (ranks, most), (found_sources, found), before, alone)
    two = tuple(np.empty(size, np.int32) for _ in range(3))
    reach_of_two(shared, rests, of, *two)
    for q, rank in enumerate(ranks.tolist()):
        up = np.minimum.accumulate(shared[rank:0:-1])[::-1][-rank:] if rank else shared[:0]
        down = np.minimum.accumulate(shared[rank + 1 :])
        matches = np.concatenate([up, [99], down])
        matches = np.minimum(matches, rests)
        matches[matches < 2] = 0
        best = sorted(
            (min(int(matches[of == source].max(initial=0)), int(most[q])) for source in set(of)),
            reverse=True,
        )
        assert found[q].tolist() == (best + [0] * width)[:width]
        assert before[rank] == min(matches[:rank].max(initial=0), rests[rank])
        others = np.delete(matches, rank)
        assert alone[rank] == min(others.max(initial=0), rests[rank])
        foreign = matches[of != of[rank]].max(initial=0)
        expected = (min(foreign, rests[rank]) if rests[rank] > 1 else 0, before[rank], alone[rank])
        assert tuple(column[rank] for column in two) == expected


long_sentences = some(["a", "b", "B", "the"], 90, 1)


def copy(chance: Random) -> tuple[int, str | None, int]:
    return chance.randint(0, 2), chance.choice([None, "Ann Lee", "Bo"]), chance.randint(0, 9)


@pytest.mark.usefixtures("sizes")
@settings(max_examples=25)
@given(lists(some(long_sentences, 2), 3, 1), lists(copy, 5), relaxes)
def test_long_sentences_and_copies_in_several_segments_are_counted_as_in_one(
    texts: list[list[twins.Sentence]], copies: list[tuple[int, str | None, int]], relax: int
) -> None:
    """Sentences longer than a load has bits; documents that stand in other segments too."""
    truth = [[Text("Ann Lee", text)] for text in texts]
    for segment, author, which in copies:
        copied = texts[which % len(texts)]
        truth[segment % len(truth)] += [
            Text(author, copied),
            Text(author, [s[1:] for s in copied if s[1:]]),
        ]
    truth.append([])
    together = [[text for segment in truth for text in segment]]
    held = twins.held_by(truth)
    originals = {f for f in held.fragments if len(held.sources[f]) <= relax}
    found = find_originals(twins.index_of(truth), relax=relax)
    assert found.total.original == len(originals)
    assert found.total.fragments == len(held.fragments)
    assert found.total.occurrences == held.fragments.total()
    assert found.total.once == sum(held.occurrences[f] == 1 for f in held.fragments)
    whole = find_originals(twins.index_of(together), relax=relax)
    assert found.by_length == whole.by_length
    assert found.original_sentences == whole.original_sentences
    assert {f.words for f in found.fragments()} == originals


def judged(index: Index, texts: list[list[twins.Sentence]], relax: int = 1) -> SentenceVerdicts:
    made = twins.layers(texts)
    edges = edges_of_text(made["word"], made["pos"], "tags")
    return judge(GroundTruth(index, "lower", sources_of(index)), made["lower"], edges, relax=relax)


def test_an_empty_ground_truth_knows_nothing() -> None:
    for truth in ([], [[]], [[Text("Ann", [])]], [[Text(None, [["a"]])]]):
        index = twins.index_of(truth)
        found = (
            find_originals(Index([], layers=("lower", "pos")))
            if not truth
            else find_originals(index)
        )
        assert found.by_length == []
        assert found.total.fragments == found.original_sentences == 0
        assert not list(found.fragments())
    verdicts = judged(twins.index_of([[]]), [[["a", "b"], ["a"]]])
    assert verdicts.original.tolist() == [True, False]
    assert verdicts.fails.tolist() == [False, False]
    assert judged(Index([], layers=("lower",)), [[["a", "b"]]]).original.tolist() == [True]


def test_a_sentence_longer_than_any_of_the_ground_truth_is_original_and_may_fail() -> None:
    index = twins.index_of([[Text("Ann", [["a", "b"]])]])
    verdicts = judged(index, [[["a", "b", "a", "b", "a", "b"]]])
    assert verdicts.original.all()
    assert verdicts.fails.all()
    assert list(zip(verdicts.longest.starts, verdicts.longest.ends)) == [(0, 2), (2, 4), (4, 6)]
    assert list(zip(verdicts.shortest.starts, verdicts.shortest.ends)) == [(1, 3), (3, 5)]


def test_a_match_ends_at_the_sentence_end_in_both_texts() -> None:
    # "a b" stands at the seam of Bo's sentences: that is no occurrence.
    truth = [[Text("Ann", [["a", "b"]]), Text("Bo", [["c", "a"], ["b", "c"]])]]
    index = twins.index_of(truth)
    assert ("a", "b") in {f.words for f in find_originals(index).fragments()}
    verdicts = judged(index, [[["a", "b"]], [["a"], ["b"]]])
    assert verdicts.cited.tolist() == [1, 0, 0]


def test_an_index_without_sentences_is_refused() -> None:
    made = twins.layers([[["a", "b"]]])
    plain = {name: replace(layer, sentence_ends=None) for name, layer in made.items()}
    with pytest.raises(OptionError, match="this index has no sentence boundaries"):
        find_originals(index_layers(plain))
    with pytest.raises(OptionError, match="no sentence boundaries"):
        GroundTruth(index_layers(made), "lower", sources_of(index_layers(made))).reach(
            plain["lower"]
        )


def test_without_tags_word_lists_tell_the_edges() -> None:
    index = index_texts(["He was to sleep under the old bridge."], layers=("lower",))
    assert rule_for(index) == "words"
    words = {f.words for f in find_originals(index).fragments(shortest=True)}
    assert words == {
        ("old", "bridge"),
        ("he", "was", "to", "sleep"),
        ("sleep", "under", "the", "old"),
    }


@pytest.mark.usefixtures("sizes")
@dear(30)
@given(twins.truths, relaxes)
def test_held_out_sentences_are_judged_by_all_other_sources(truth: twins.Truth, relax: int) -> None:
    by, index = twins.held_by(truth).sources, twins.index_of(truth)
    ground = GroundTruth(index, "lower", sources_of(index))
    found = judge_held_out(ground, "tags", relax=relax, min_words=2, chance=0)
    if ground.sources.count < 2:
        assert found is None
        return
    texts = [text for segment in truth for text in segment]
    sentences = [
        (source, sentence)
        for source, text in zip(twins.sources(truth), texts)
        for sentence in text.sentences
    ]
    failing = sum(
        any(
            1 <= len(by[twins.lower(sentence[a:b])] - {source}) <= relax
            for a, b in twins.windows(sentence)
        )
        for source, sentence in sentences
    )
    words = sum(len(sentence) for _, sentence in sentences)
    assert found == HeldOut(len(sentences), words, failing)


@dear(30)
@given(twins.truths, twins.texts, relaxes, st.integers(2, 4), st.sampled_from([0.05, 5.0, 500.0]))
def test_what_needs_a_citation_is_long_and_rarer_than_chance(
    truth: twins.Truth, texts: list[list[twins.Sentence]], relax: int, min_words: int, chance: float
) -> None:
    by, index, made = twins.held_by(truth).sources, twins.index_of(truth), twins.layers(texts)
    ground = GroundTruth(index, "lower", sources_of(index))
    edges = edges_of_text(made["word"], made["pos"], "tags")
    found = judge(ground, made["lower"], edges, relax=relax, min_words=min_words, chance=chance)
    for number, words in enumerate(map(twins.lower, (s for text in texts for s in text))):
        cited = 0
        sentence = [s for text in texts for s in text][number]
        for a, b in twins.windows(sentence):
            # Of runs that begin alike the first one that is long enough decides.
            least = next(
                (
                    end
                    for end in range(a + 2, len(words) + 1)
                    if 1 <= len(by.get(words[a:end], ())) <= relax
                    and sum(word != "," for word in words[a:end]) >= min_words
                ),
                len(words) + 1,
            )
            few = 1 <= len(by.get(words[a:b], ())) <= relax
            if few and b >= least:
                times = twins.expected(truth, words[a:b], words[a:least])
                cited += times <= chance / 1000
        assert found.cited[number] == cited
