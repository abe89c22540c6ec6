"""Spellings of one name are one author, and what was merged is said."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.core.errors import InputError
from rote.search.originality.authors import (
    authors_signature,
    connected_components,
    merge_authors,
    normalize,
    read_author_names,
)


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("Mary Anne Evans", "mary anne evans"),
        ("EVANS, Mary Anne", "mary anne evans"),
        ("Evans, Mary Anne, 1819-1880", "mary anne evans"),
        ("M.A. Evans", "m a evans"),
        ("MA Evans", "m a evans"),
        ("Zoë  Łącka", "zoe lacka"),
        ("ZOE LACKA", "zoe lacka"),
        ("Søren Ærø-Öst", "soren aero ost"),
        ("Flann O'Shea", "flann oshea"),
        ("Flann O’Shea", "flann oshea"),
        ("Tom Ray, Jr.", "tom ray jr"),
        ("Ray, Tom, Jr.", "tom ray jr"),
        ("Ray, Tom, Ph.D.", "tom ray"),
        ("Sir Winston Marsh", "winston marsh"),
        ("Marsh, Sir Winston", "winston marsh"),
        ("Marsh, Winston, Sir", "winston marsh"),
        ("Rev. Dr. Ann B. Lee, Jr.", "ann b lee jr"),
        ("Gen. George S. Ray", "george s ray"),
        ("Lord Marsh", "lord marsh"),
        ("St. Winifred", "saint winifred"),
        ("Saint Winifred", "saint winifred"),
        ("Dr. Who, Jr.", "doctor who jr"),
        ("Sir", "sir"),
        ("van der Berg, Jan", "jan van der berg"),
        ("Hesiod", "hesiod"),
        ("254 Law Reports 472", "254 law reports 472"),
        ("Anon.", ""),
        ("UNKNOWN", ""),
        ("N/A", ""),
        ("?", ""),
        ("", ""),
        (",", ""),
    ],
)
def test_a_name_has_one_form(name: str, form: str) -> None:
    assert " ".join(normalize(name)) == form


def test_initials_alone_are_too_little_to_go_by_and_are_listed() -> None:
    found = merge_authors(["T. H. White", "Theodore H. White", "G. B. Shaw", "George Bernard Shaw"])
    assert len(found.names) == 4
    assert not found.merged
    assert found.ambiguous == {
        "T. H. White": ("Theodore H. White",),
        "G. B. Shaw": ("George Bernard Shaw",),
    }


def test_a_name_joins_the_one_fuller_name_with_which_it_shares_two() -> None:
    found = merge_authors(
        ["Bernard Shaw", "George Bernard Shaw", "G. Bernard Shaw", "Shaw", "Sir Bernard Shaw"]
    )
    assert found.names == ["George Bernard Shaw", "Shaw"]
    assert set(found.guessed) == {"Bernard Shaw", "G. Bernard Shaw", "Sir Bernard Shaw"}
    assert set(found.guessed.values()) == {"George Bernard Shaw"}
    # Titles, case and accents are no guess.
    sure = merge_authors(["Sir Winston Churchill", "Winston Churchill", "CHURCHILL, Winston"])
    assert sure.names == ["Winston Churchill"]
    assert not sure.guessed


def test_father_and_son_stay_apart_and_so_do_longer_descriptions() -> None:
    found = merge_authors(["Henry James", "Henry James Sr.", "A letter of praise for Henry James"])
    assert len(found.names) == 3
    assert not found.guessed


def test_names_of_several_people_stay_alone_and_are_reported() -> None:
    found = merge_authors(["Jo Doe", "Jo Ann Doe", "Jo Beth Doe", "J. Doe"])
    assert len({found.of[name] for name in found.of}) == 4
    assert found.ambiguous["Jo Doe"] == ("Jo Ann Doe", "Jo Beth Doe")
    assert not found.merged


def test_a_file_overrides_all(tmp_path: Path) -> None:
    file = tmp_path / "authors.csv"
    file.write_text(
        "name,author\n"
        "T. H. White,Terence Hanbury White\n"
        '"White, T.",Terence Hanbury White\n'
        "Charles Darwin,Charles Darwin\n"
        "Sir Richard Burton,Richard Francis Burton\n"
        "Old Saying,\n"
    )
    names = ["T. H. White", "t white", "Theodore H. White", "Charles Darwin", "Old Saying"]
    names += ["Charles Galton Darwin", "Sir Richard Burton", "Richard Burton", "Charles R. Darwin"]
    found = merge_authors(names, read_author_names(file))
    assert found.merged == {"Terence Hanbury White": ("T. H. White", "t white")}
    assert len(found.names) == 7
    assert found.of["Old Saying"] == ()
    assert not found.guessed
    without = merge_authors(names)
    assert without.of["Sir Richard Burton"] == without.of["Richard Burton"]
    # The signature tells files apart by what they say, and the rules by their version.
    again = tmp_path / "again.csv"
    again.write_text("author,name\n" + "\n".join(reversed("A,B C\nD,E F".split("\n"))))
    other = tmp_path / "other.csv"
    other.write_text("name,author\nB C,A\nE F,D\n\n")
    assert authors_signature(again) == authors_signature(other) != authors_signature(file)
    assert authors_signature("") == "2"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("who,whom\nA,B\n", "line 1: a file of authors must begin with the line 'name,author'"),
        ("", "line 1"),
        ("name,author\nAnon.,B\n", "line 2, field 'name': 'Anon.' names nobody"),
        ("name,author\nAnn Lee,B\n\nLEE; ANN,C\n", None),
        ('name,author\nAnn Lee,B\n"Lee, Ann",C\n', "line 3.*stands for 'C', and above for 'B'"),
        ("name,author\nLee, Ann,B\n", "line 2.*more than two"),
        ("name,author\n\udcff", "cannot be read"),
        (None, "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_used_says_where_and_why(
    content: str | None, says: str | None, tmp_path: Path
) -> None:
    file = tmp_path / "authors.csv"
    if content is not None:
        file.write_bytes(content.encode("utf-8", "surrogateescape"))
    if says is None:
        assert len(read_author_names(file)) == 2
        return
    with pytest.raises(InputError, match=says) as raised:
        read_author_names(file)
    assert str(file) in str(raised.value)


def test_a_field_that_lists_authors_names_them_all() -> None:
    found = merge_authors(["Ann Lee; Bo", "LEE, ANN", "bo", "anonymous", "Anon.; Bo", "; "])
    (ann,), (bo,) = found.of["LEE, ANN"], found.of["bo"]
    assert set(found.of["Ann Lee; Bo"]) == {ann, bo}
    assert found.of["Anon.; Bo"] == (bo,)
    assert found.of["anonymous"] == found.of["; "] == ()
    assert found.merged == {"Ann Lee": ("Ann Lee", "LEE, ANN"), "Bo": ("Bo", "bo")}


@given(st.lists(st.sampled_from(["J. Doe", "John Doe", "Doe, J. K.", "John K. Doe", "?", "A; B"])))
def test_merging_does_not_depend_on_the_order(names: list[str]) -> None:
    expected = merge_authors(names)
    assert merge_authors(reversed(names)) == expected
    assert merge_authors([*names[1:], *names[:1]]) == expected


def test_components_are_numbered_by_their_first_documents() -> None:
    of, count = connected_components(6, [(4, "x"), (1, "x"), (1, "y"), (3, "y"), (5, "z")])
    assert of.tolist() == [0, 1, 2, 1, 1, 3]
    assert count == 4
    assert connected_components(0, [])[1] == 0
