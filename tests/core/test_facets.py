"""Which groups stand side by side, and what they are called there."""

from __future__ import annotations

from rote.core.facets import Facet, facets, input_name, is_input

TASKS = ["news|human", "news|model", "tales|human", "tales|model", "tales|other"]


def test_each_task_is_a_facet_with_its_own_reference() -> None:
    news, tales = facets(TASKS, "human")
    assert news == Facet("news", {"news|human": "human", "news|model": "model"}, "news|human")
    assert tales.title == "tales"
    assert list(tales.names.values()) == ["human", "model", "other"]
    assert tales.reference == "tales|human"
    assert "tales|other" in tales
    assert "news|model" not in tales


def test_the_reference_may_stand_in_any_field() -> None:
    first, second = facets(["human|0.2", "model|0.2", "human|0.9", "model|0.9"], "human")
    assert first.title == "0.2"
    assert first.names == {"human|0.2": "human", "model|0.2": "model"}
    assert second.reference == "human|0.9"
    (only,) = facets(["en|human|news", "en|model|news"], "human")
    assert only.title == "en|news"
    assert set(only.names.values()) == {"human", "model"}


def test_a_group_that_is_the_reference_makes_one_facet() -> None:
    (plain,) = facets(["model", "human"], "human")
    assert plain == Facet("", {"model": "model", "human": "human"}, "human")
    (whole,) = facets(TASKS, "news|human")
    assert whole.title == ""
    assert whole.reference == "news|human"
    assert list(whole.names) == TASKS


def test_without_a_reference_all_groups_are_one_facet() -> None:
    for reference in (None, "nobody"):
        (whole,) = facets(TASKS, reference)
        assert whole.reference is None
        assert list(whole.names.values()) == TASKS


def test_a_facet_may_lack_the_reference() -> None:
    news, tales = facets(["news|human", "news|model", "tales|model"], "human")
    assert news.reference == "news|human"
    assert tales.reference is None
    assert tales.names == {"tales|model": "model"}


def test_facets_come_in_order_of_appearance_whatever_the_order_of_groups() -> None:
    mixed = ["tales|model", "news|human", "tales|human", "news|model"]
    assert [facet.title for facet in facets(mixed, "human")] == ["tales", "news"]


def test_inputs_are_known_by_their_name() -> None:
    assert input_name("document") == "input documents"
    assert input_name("prompt") == "input: prompt"
    assert is_input(input_name("document"))
    assert is_input(input_name("prompt"))
    assert not is_input("inputs")
