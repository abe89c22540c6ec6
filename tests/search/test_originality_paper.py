"""Algorithm 1 as printed equals a word-for-word reading of it, and differs where it should."""

from __future__ import annotations

from collections import Counter

from hypothesis import given

from rote.search.originality.algorithm1 import algorithm1
from rote.search.originality.edges import edges_of_text
from rote.search.originality.originals import find_originals
from tests.search import originality_twins as twins
from tests.search.originality_twins import Text, Words


def printed(sentences: list[twins.Sentence]) -> dict[Words, int]:
    """Lines 1 to 20: CountPerFrag."""
    counts: dict[Words, int] = {}
    for s in different(sentences):
        for wl in range(2, len(s) + 1):
            for i in range(len(s) - wl + 1):
                if twins.is_special(s[i]) or twins.is_special(s[i + wl - 1]):
                    continue
                frag = twins.lower(s[i : i + wl])
                if frag in counts:
                    counts[frag] += 1
                    break
                counts[frag] = 1
    return counts


def different(sentences: list[twins.Sentence]) -> list[twins.Sentence]:
    """Sentences are equal if their words are, in lower case; the first one stays."""
    seen: dict[Words, twins.Sentence] = {}
    for sentence in sentences:
        seen.setdefault(twins.lower(sentence), sentence)
    return list(seen.values())


def all_sentences(truth: twins.Truth) -> list[twins.Sentence]:
    return [s for segment in truth for text in segment for s in text.sentences]


@given(twins.truths)
def test_counts_are_those_of_the_printed_loop(truth: twins.Truth) -> None:
    sentences = all_sentences(truth)
    counts = printed(sentences)
    found = algorithm1(twins.index_of(truth))
    assert found.removed == len(sentences) - len(different(sentences))
    rows, original = found.by_length()
    assert {r.length: r.fragments for r in rows} == Counter(map(len, counts))
    once = {fragment for fragment, count in counts.items() if count == 1}
    assert {r.length: r.original for r in rows if r.original} == Counter(map(len, once))
    assert original == sum(
        any(twins.lower(s[a:b]) in once for a, b in twins.windows(s)) for s in different(sentences)
    )
    index = found.index
    listed = list(found.fragments())
    assert Counter(f.words for f in listed) == Counter(once)
    assert all(index.context(f.place, 0).match.lower() == " ".join(f.words) for f in listed)


@given(twins.truths, twins.texts)
def test_generated_sentences_are_judged_by_the_printed_counts(
    truth: twins.Truth, texts: list[list[twins.Sentence]]
) -> None:
    counts = printed(all_sentences(truth))
    made = twins.layers(texts)
    edges = edges_of_text(made["word"], made["pos"], "tags")
    found = algorithm1(twins.index_of(truth)).judge(made["lower"], edges)
    sentences = [sentence for text in texts for sentence in text]
    kinds = [
        Counter(min(2, counts.get(twins.lower(s[a:b]), 0)) for a, b in twins.windows(s))
        for s in sentences
    ]
    assert found.originals.tolist() == [kind[0] for kind in kinds]
    assert found.cited.tolist() == [kind[1] for kind in kinds]
    assert found.commons.tolist() == [kind[2] for kind in kinds]
    assert set(found.fails.nonzero()[0]) == {i for i, kind in enumerate(kinds) if kind[1]}
    shortest, longest, at = [], [], 0
    for s in sentences:
        by = {(a, b): counts.get(twins.lower(s[a:b]), 0) for a, b in twins.windows(s)}
        new = [w for w, count in by.items() if count == 0]
        own = [w for w, count in by.items() if count == 1]
        shortest += [
            (at + a, at + b)
            for a, b in sorted(new)
            if not any(a <= c and d <= b and (a, b) != (c, d) for c, d in new)
        ]
        longest += [
            (at + a, at + b)
            for a, b in sorted(own)
            if not any(c <= a and b <= d and (a, b) != (c, d) for c, d in own)
        ]
        at += len(s)
    assert list(zip(found.shortest.starts.tolist(), found.shortest.ends.tolist())) == shortest
    assert list(zip(found.longest.starts.tolist(), found.longest.ends.tolist())) == longest


def test_a_fragment_behind_a_known_one_is_never_looked_at() -> None:
    # "a b" is known when the second sentence comes, so its "b c" is not added: line 12.
    truth = [[Text("Ann", [["a", "b"]]), Text("Bo", [["a", "b", "c"], ["b", "c"]])]]
    index = twins.index_of(truth)
    rows, _ = algorithm1(index).by_length()
    assert [(r.length, r.fragments, r.original) for r in rows] == [(2, 2, 1), (3, 1, 1)]
    assert ("b", "c") in {f.words for f in algorithm1(index).fragments()}
    # By the definition "b c" is original too, since only Bo has it; it occurs twice.
    exact = find_originals(index)
    assert [(r.length, r.fragments, r.original) for r in exact.by_length] == [(2, 2, 1), (3, 1, 1)]
    assert exact.by_length[0].original_occurrences == 2
