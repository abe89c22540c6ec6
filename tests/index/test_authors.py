"""Spellings of one name are one author, and what was merged is said."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.index.originality.authors import merge, normalize
from rote.index.originality.sources import components


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
        ("Ray, Tom, Ph.D.", "tom ray phd"),
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


def test_initials_join_the_one_full_name_that_they_can_stand_for() -> None:
    found = merge(["M. A. Evans", "Mary A. Evans", "Evans, Mary Anne", "Mary Evans"])
    assert found.names == ["Evans, Mary Anne", "Mary Evans"]
    assert found.of["M. A. Evans"] == found.of["Mary A. Evans"] == found.of["Evans, Mary Anne"]
    assert found.of["Mary Evans"] != found.of["M. A. Evans"]
    assert [len(spellings) for spellings in found.merged.values()] == [3]
    assert not found.ambiguous


def test_initials_of_several_people_stay_alone_and_are_reported() -> None:
    found = merge(["J. Doe", "John Doe", "Jane Doe"])
    assert len({found.of[name] for name in found.of}) == 3
    assert found.ambiguous == {"J. Doe": ("Jane Doe", "John Doe")}
    assert not found.merged


def test_a_field_that_lists_authors_names_them_all() -> None:
    found = merge(["Ann Lee; Bo", "LEE, ANN", "bo", "anonymous", "Anon.; Bo", "; "])
    (ann,), (bo,) = found.of["LEE, ANN"], found.of["bo"]
    assert set(found.of["Ann Lee; Bo"]) == {ann, bo}
    assert found.of["Anon.; Bo"] == (bo,)
    assert found.of["anonymous"] == found.of["; "] == ()
    assert found.merged == {"Ann Lee": ("Ann Lee", "LEE, ANN"), "Bo": ("Bo", "bo")}


def test_no_names_are_no_authors() -> None:
    found = merge([])
    assert not found.of
    assert not found.names


@given(st.lists(st.sampled_from(["J. Doe", "John Doe", "Doe, J. K.", "John K. Doe", "?", "A; B"])))
def test_merging_does_not_depend_on_the_order(names: list[str]) -> None:
    expected = merge(names)
    assert merge(reversed(names)) == expected
    assert merge([*names[1:], *names[:1]]) == expected


def test_components_are_numbered_by_their_first_documents() -> None:
    of, count = components(6, [(4, "x"), (1, "x"), (1, "y"), (3, "y"), (5, "z")])
    assert of.tolist() == [0, 1, 2, 1, 1, 3]
    assert count == 4
    assert components(0, [])[1] == 0
