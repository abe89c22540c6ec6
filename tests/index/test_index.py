"""Every answer of an index equals that of a slow twin, over one segment or several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.annotate import glyphs
from rote.annotate.annotators.rote import RoteAnnotator
from rote.annotate.glyphs import fold
from rote.core.document import Document
from rote.core.errors import OptionError, UnknownName
from rote.core.layer import Layer, number
from rote.index import query
from rote.index.answers import Occurrence
from rote.index.counts import lookup as asking
from rote.index.factory import open_index
from rote.index.grams import Grams
from rote.index.index import Index
from rote.index.segments.writers import build_layer_segment
from tests.examples import dear, drawn, lists, some
from tests.index import twins
from tests.index.twins import index_layers
from tests.indexes import build_index, index_texts

ITEMS = "abcd"
texts = lists(some(ITEMS, 9), 6, 1)
gram = some(ITEMS + "z", 5, 1)
grams = lists(gram, 8)


def layer_of(texts: twins.Texts, name: str = "lower") -> Layer:
    vocabulary, ids = number(item for text in texts for item in text)
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    spans = np.arange(len(ids), dtype=np.int32)
    return Layer(name, ids, vocabulary, spans, spans + 1, ends)


def index_of(texts: twins.Texts, segments: int) -> Index:
    """The texts dealt out to so many segments, in order; some may be empty."""
    cuts = np.array_split(np.arange(len(texts)), segments)
    parts = [[texts[i] for i in cut] for cut in cuts]
    layers = [{"lower": layer_of(part), "word": layer_of(part, "word")} for part in parts]
    return Index([build_layer_segment(each, sorted_layers=("lower",)) for each in layers])


@given(texts, grams, st.integers(1, 3))
def test_counts(texts: twins.Texts, asked: list[list[str]], segments: int) -> None:
    index = index_of(texts, segments)
    expected = [twins.count(texts, gram) for gram in asked]
    assert [index.count(gram) for gram in asked] == expected
    assert index.counts(asked).tolist() == expected
    assert index.counts(Grams.of(asked)).tolist() == expected
    holding = [sum(twins.count([text], gram) > 0 for text in texts) for gram in asked]
    assert index.document_counts(asked).tolist() == holding
    held = index.ngram_counts(asked)
    assert (held.occurrences.tolist(), held.documents.tolist()) == (expected, holding)
    assert held.authors.tolist() == [0] * len(asked)


@dear(40)
@given(texts, grams, st.integers(1, 4))
def test_answers_do_not_depend_on_the_number_of_threads(
    texts: twins.Texts, asked: list[list[str]], segments: int
) -> None:
    index = index_of(texts, segments)
    many = Grams.of(asked * 100)
    text = layer_of(asked)

    def answers(index: Index) -> list[list[object]]:
        longest, tops = index.longest(text), [index.top(2, 3), index.top(2, 3, "word")]
        held = index.ngram_counts(many)
        columns = [held.occurrences, held.documents, longest.lengths, longest.counts]
        return [*(c.tolist() for c in (*columns, index.lengths(text))), *map(list, tops)]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asking, "FEW", 0)  # threads for as little as this
        assert answers(index.on(3)) == answers(index.on(1))
    assert index.on(3).counts(many).tolist() == [twins.count(texts, g) for g in asked] * 100


@given(texts, drawn(gram), st.integers(1, 3))
def test_documents_of_a_gram(texts: twins.Texts, gram: list[str], segments: int) -> None:
    found = Counter()
    for part in np.array_split(np.arange(len(texts)), segments):
        # A segment made of layers alone numbers its documents by itself.
        for i, text in enumerate(part):
            found[str(i)] += twins.count([texts[text]], gram)
    expected = {name: count for name, count in found.items() if count}
    assert index_of(texts, segments).documents(gram) == expected


@given(texts, drawn(gram), st.integers(1, 3), st.integers(0, 4))
def test_places(texts: twins.Texts, gram: list[str], segments: int, limit: int) -> None:
    expected = [
        (i, start)
        for i, text in enumerate(texts)
        for start, window in enumerate(twins.windows(text, len(gram)))
        if window == tuple(gram)
    ]
    index = index_of(texts, segments)
    bases = np.cumsum([0] + [len(segment.documents) for segment in index.segments])
    places = index.places(gram)
    assert [(bases[p.segment] + p.number, p.item) for p in places] == expected
    assert index.places(gram, limit) == places[:limit]
    query = " ".join(f'"{item}"' for item in gram)
    assert index.search(query) == places
    assert index.matches(query) == len(places)


@dear(50)
@given(texts, texts, st.integers(1, 3))
def test_longest(texts: twins.Texts, asked: twins.Texts, segments: int) -> None:
    expected = [pair for text in asked for pair in twins.longest(texts, text)]
    index = index_of(texts, segments)
    found = index.longest(layer_of(asked))
    assert list(zip(found.lengths.tolist(), found.counts.tolist())) == expected
    assert index.lengths(layer_of(asked)).tolist() == found.lengths.tolist()


@dear(50)
@given(texts, st.integers(1, 6), st.integers(1, 5), st.integers(1, 3))
def test_top(texts: twins.Texts, n: int, k: int, segments: int) -> None:
    index = index_of(texts, segments)
    ordered = sorted(twins.tallies(texts, n).items(), key=lambda pair: (-pair[1], pair[0]))
    found = index.top(n, k, documents=True)
    assert list(found) == ordered[:k]
    assert list(index.top(n)) == ordered
    holding = [sum(twins.count([text], gram) > 0 for text in texts) for gram, _ in ordered[:k]]
    assert found.documents is not None
    assert found.documents.tolist() == holding
    unsorted = index.top(n, k, "word", documents=True)
    assert list(unsorted) == ordered[:k]
    assert unsorted.documents is not None
    assert unsorted.documents.tolist() == holding


@given(texts, lists(ITEMS, 3), st.integers(1, 3))
def test_extend(texts: twins.Texts, gram: list[str], segments: int) -> None:
    after: Counter[str] = Counter()
    ends = 0
    for text in texts:
        for i in range(len(text) - len(gram) + 1):
            if list(text[i : i + len(gram)]) == gram:
                if i + len(gram) == len(text):
                    ends += 1
                else:
                    after[text[i + len(gram)]] += 1
    found = index_of(texts, segments).extend(gram)
    assert found.items == dict(after)
    assert list(found.items.values()) == sorted(after.values(), reverse=True)
    assert (found.ends, found.total) == (ends, ends + after.total())


def test_texts_in_and_out() -> None:
    index = index_texts(["The old man slept. The OLD man's dog did not.", ""], ("lower", "pos"))
    assert index.count("the old man") == 2
    assert index.count("old dog") == 0
    assert index.count(["DT", "JJ", "NN"], "pos") == 2
    first, second = index.places("Old Man")
    assert (first.document, first.item, first.start, first.end) == ("0", 1, 4, 11)
    around = index.context(second, around=4)
    assert (around.before, around.match, around.after) == ("The ", "OLD man", "'s d")
    assert [p.start for p in index.search('[pos="JJ"] "man"')] == [4, second.start]
    assert index.search("old man", limit=1) == [first]
    assert index.matches('[word="OLD"]') == 1


def test_authors_are_counted_over_segments() -> None:
    from rote.annotate import annotators
    from rote.corpus import Batch
    from rote.index.segments.writers import build_memory_segment

    def segment(*documents: Document):
        batch = Batch(list(documents), "made", "made", [1] * len(documents), [])
        annotation = annotators.get("rote")(documents, ["lower"])
        return build_memory_segment(
            [(batch, annotation)], layers=("lower",), sorted_layers=("lower",)
        )

    def document(number: str, text: str, author: str | None) -> Document:
        return Document(number, text, {"author": author} if author else {})

    index = Index(
        [
            segment(document("a", "a red fox", "Ann"), document("b", "red fox red fox", None)),
            segment(document("c", "the red fox", "Ann"), document("d", "a red fox", "Ben")),
        ]
    )
    assert index.authors(["red", "fox"]) == {"Ann": 2, "Ben": 1}
    assert index.documents(["red", "fox"]) == {"b": 2, "a": 1, "c": 1, "d": 1}
    asked: Sequence[list[str]] = [["red", "fox"], ["the"], ["fox", "red"], ["cat"]]
    assert index.author_counts(asked).tolist() == [2, 1, 0, 0]
    assert index.ngram_counts(asked).authors.tolist() == [2, 1, 0, 0]
    assert Index(index.segments[:1]).author_counts(asked).tolist() == [1, 0, 0, 0]


def test_what_cannot_be_answered_says_why() -> None:
    index = index_layers({"lower": layer_of([["a", "b"]])})
    with pytest.raises(OptionError, match="no annotator"):
        index.count("a b")
    with pytest.raises(OptionError, match="at least one item"):
        index.count([])
    with pytest.raises(UnknownName, match="lower"):
        index.count(["a"], "lowr")
    with pytest.raises(OptionError, match="add-layer"):
        index_of([["a"]], 1).count(["a"], "word")
    with pytest.raises(OptionError, match="at least 1"):
        index.top(0)


def test_an_index_without_documents_answers_too() -> None:
    index = Index([], layers=("lower",))
    assert index.count(["a"]) == 0
    assert index.counts([["a"]]).tolist() == [0]
    assert len(index.top(2, 5)) == 0
    assert index.places(["a"]) == []
    assert index.longest(["a"]).lengths.tolist() == index.lengths(["a"]).tolist() == [0]
    assert index.ngram_counts([["a"]]).documents.tolist() == [0]
    assert index.extend(["a"]).total == 0
    assert index.vocabulary() == [""]


def test_what_makes_no_sense_is_refused() -> None:
    index = index_texts(["a b a b", "c"])
    for batch in ([""], ["a", "  "], [[]], Grams.of([[], ["a"]])):
        with pytest.raises(OptionError, match="at least one item"):
            index.counts(batch)  # type: ignore[arg-type]
        with pytest.raises(OptionError, match="at least one item"):
            index.document_counts(batch)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="list of n-grams"):
        index.counts("a b")
    for call in (lambda: index.places("a", -1), lambda: index.search('"a"', -1)):
        with pytest.raises(OptionError, match="negative"):
            call()
    with pytest.raises(OptionError, match="negative"):
        index.context(index.places("a")[0], -3)


SPELLINGS = ("“I don’t,” she said — well… ﬁne.", '"I don\'t," she said -- well... fine.')


@pytest.mark.parametrize("asked", SPELLINGS)
@pytest.mark.parametrize("held", SPELLINGS)
def test_a_phrase_is_found_in_either_spelling(held: str, asked: str) -> None:
    index = index_texts([held], layers=("lower",))
    assert index.count(asked) == 1
    place = index.places(asked)[0]
    # The text is shown as it came.
    context = index.context(place)
    assert (context.before, context.match, context.after) == ("", held, "")


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ('"n’t"', "n't"),
        ('"n[’`]t"', "n't"),
        ('[word="—"]', "--"),
        ('"—+"', "--"),
        ('"…|—"', "-- ..."),
        ('"\\…"', "..."),
        ("[word='”']", '" "'),
        ('"ﬁne"', "fine"),
        ('[lemma="ﬁne"]', "fine"),
    ],
)
def test_strings_of_a_query_are_folded_as_the_texts_were(asked: str, found: str) -> None:
    index = index_texts([SPELLINGS[0]], layers=("lower", "lemma"))
    assert words_of(index, index.search(asked)) == found.split()
    assert str(index.parse(str(index.parse(asked)))) == str(index.parse(asked))


def words_of(index: Index, places: Sequence[Occurrence]) -> list[str]:
    return [fold(index.context(place).match) for place in places]


def test_what_is_repeated_in_a_query_is_the_whole_glyph() -> None:
    for asked, plain in (
        ('"…?x"', '"(?:\\.\\.\\.)?x"'),
        ('"a…"', '"a\\.\\.\\."'),
        ('"’?"', '"\'?"'),
        ('[pos="…"]', '[pos="…"]'),
    ):
        assert str(query.parse(asked, plain_glyphs=True)) == str(query.parse(plain))


def test_an_index_of_an_older_tokenizer_is_read_as_it_is(tmp_path: Path) -> None:
    source, path = tmp_path / "texts.txt", tmp_path / "index"
    source.write_text(SPELLINGS[0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(glyphs, "fold_texts", lambda texts: Unfolded(texts))
        patch.setattr(RoteAnnotator, "signature", "rote-en/ud1")
        build_index(source, path, layers=("lower",))
    index = open_index(path)
    assert not index.plain_glyphs
    assert words_of(index, index.search('"—"')) == ["--"]
    assert not index.search('"--"')
    with pytest.raises(OptionError, match=r"built with rote-en/ud1, and 'rote' is .*glyphs"):
        index.count("well…")


class Unfolded:
    """What a tokenizer read before glyphs were folded: the texts as they are."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts

    def restore(self, layer: Layer) -> Layer:
        return layer
