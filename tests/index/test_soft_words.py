"""Words that stand for their neighbours in meaning: `gold~`."""

from __future__ import annotations

from pathlib import Path

import pytest

from rote.annotate.embeddings import static
from rote.core.errors import OptionError
from rote.index import query
from rote.index.index import Index
from rote.search.rows.counts import count_query
from rote.search.rows.matches import count_soft_forms, find_missing, name_forms
from tests.indexes import build_index, index_texts
from tests.kit import done

TEXTS = [
    "She won a gold medal. He won two silver medals.",
    "Gold is heavy, golden rings are dear. The tilde ~ is a mark.",
    "They walked home. He strolled home. A dog walks. We walk.",
]


@pytest.fixture(scope="module")
def index() -> Index:
    return index_texts(TEXTS, layers=("lower", "word", "lemma", "pos"))


def test_a_soft_word_is_its_neighbours(index: Index) -> None:
    assert list(index.neighbours("gold")) == ["gold", "golden", "silver"]
    assert index.matches("gold~") == 4
    assert count_soft_forms(index, index.parse("gold~ medal~")) == [
        ("gold medal", 1),
        ("silver medals", 1),
    ]
    assert index.matches('[lower="walk~"] "home"') == 2
    assert index.matches("walk~ home") == 2
    assert index.matches("walk home") == 0
    assert index.matches('[word="gold~"]') == 4  # Gold, gold, golden, silver
    assert index.matches('[lemma="walk~"]') == 4
    assert [each.start for each in index.search("gold~ medal~")] == [10, 33]


def test_neighbours_are_those_of_all_rows_compared_one_by_one(index: Index) -> None:
    known = static.table()
    for word in ("gold", "walk", "xylophonists"):
        row = known.rows[known.numbers[word]] if word in known.numbers else None
        row = static.weighted_rows([word])[0] if row is None else row
        near = {}
        for other, number in known.numbers.items():
            one, two = known.rows[number].astype(int), row.astype(int)
            cosine = one @ two / ((one @ one) ** 0.5 * (two @ two) ** 0.5)
            if cosine >= 0.5 and known.weights[number]:
                near[number] = (cosine, other)
        best = sorted(near, key=lambda n: (-near[n][0], n))[:50]
        found = static.find_neighbours(word)
        assert list(found) == best
        assert list(found.values()) == pytest.approx([near[n][0] for n in best])


def test_counts_are_those_of_the_alternatives(index: Index) -> None:
    row = count_query(index, '"gold~"')
    assert row["occurrences"] == sum(map(index.count, ["gold", "golden", "silver"])) == 4
    assert row["query"] == '[lower="gold~"]'
    assert row["forms"] == [("gold", 2), ("golden", 1), ("silver", 1)]
    assert "forms" not in count_query(index, '"gold"')
    assert name_forms(row["forms"], 2) == "gold 2, golden 1, and 1 more"


def test_the_canonical_form_is_the_same_query(index: Index) -> None:
    for text in ("gold~ medal~", 'a "x"', '[lower="gold~" & word!="Gold~"] []? "medal~"%c'):
        parsed = index.parse(text if "~" in text else '"a"')
        assert index.parse(str(parsed)) == parsed
    assert str(query.parse("a gold~ ring")) == '[lower="a"] [lower="gold~"] [lower="ring"]'


def test_a_tilde_is_written_with_a_backslash(index: Index) -> None:
    assert index.matches(r'"\~"') == index.matches("~") == index.matches('"~"') == 1
    assert index.matches(r"tilde \~") == 1
    assert index.matches(r'"gold\~"') == 0
    assert index.matches(r"gold\~") == 0
    assert index.matches("tilde ~ is") == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('"walk.*~"', "~ follows a word, not an expression"),
        ('"a|b~"', "~ follows a word, not an expression"),
        ('"gold medal~"', "put each word into quotes of its own"),
        ('[pos="NN~"]', "~ applies to words only"),
    ],
)
def test_what_has_no_neighbours_is_refused(index: Index, text: str, said: str) -> None:
    with pytest.raises(OptionError, match=said) as caught:
        index.parse(text)
    assert r"\~ is the character" in str(caught.value)


def test_words_that_the_index_lacks_stand_for_those_it_holds(index: Index) -> None:
    assert index.count("gilded") == 0
    assert "gold" in index.neighbours("gilded")
    assert "gilded" not in index.neighbours("gilded")
    assert index.neighbours("zzyzx") == {}
    assert index.matches("zzyzx~") == 0
    missing = find_missing(index, "gilded~ zzyzx~")
    assert missing.unknown == ['[lower="zzyzx~"]']


def test_the_shell_lists_what_matched(tmp_path: Path) -> None:
    build_index(TEXTS, tmp_path / "idx", layers="lower")
    shown = done("search", tmp_path / "idx", "gold~ medal~").output
    assert "2 matches" in shown
    assert "gold medal 1, silver medals 1" in shown
    assert "gold 2, golden 1, silver 1" in done("count", tmp_path / "idx", "gold~").output
