"""Saved results side by side: what is joined, what is refused, what is said."""

from __future__ import annotations

import math

import pytest

import rote
from rote.core.errors import OptionError, UnknownName
from rote.core.result import Result
from rote.studies._source_table import drop_sources, note_lengths, select_columns
from rote.studies.correlate import METHOD
from tests.studies.saved import made, table

LEXICAL = made({"a": {"unique": (0.5, 0.1), "mtld": 60.0}, "b": {"unique": 0.6, "mtld": 70.0}})
ENOUGH = [made({name: {"share": ord(name)} for name in "abc"}, measure=m) for m in ("y", "z")]
COMPRESSION = made({"b": {"gzip": 2.5}, "c": {"gzip": 2.0}}, measure="compression")


def test_sources_with_the_same_name_are_joined() -> None:
    found = table(LEXICAL, COMPRESSION)
    assert list(found.sizes) == ["a", "b", "c"]
    held = {column.name: column.values for column in found.columns}
    assert held["lexical.mtld"] == {"a": 60, "b": 70}
    assert held["compression.gzip"] == {"b": 2.5, "c": 2.0}
    unique = found.columns[0]
    assert unique.errors["a"] == pytest.approx(0.1 / 1.98422, abs=1e-5)  # t of 100 texts
    assert math.isnan(unique.errors["b"])


def test_two_files_that_agree_are_one_and_that_disagree_are_refused() -> None:
    assert table(LEXICAL, LEXICAL).columns == table(LEXICAL).columns
    other = made({"a": {"unique": 0.7}})
    with pytest.raises(OptionError, match=r"unique of 'a' is 0\.5 in 1\.json and 0\.7 in 2\.json"):
        table(LEXICAL, other)


def test_an_undefined_value_gives_way_to_a_defined_one() -> None:
    nothing = made({"a": {"unique": math.nan}})
    for results in ((nothing, LEXICAL), (LEXICAL, nothing)):
        column = table(*results).columns[0]
        assert column.values["a"] == 0.5
        assert column.intervals["a"] == pytest.approx((0.4, 0.6))


def test_fields_in_another_order_name_the_same_sources() -> None:
    first = made({"wp|x": {"unique": 0.5}}, by=("task", "model"))
    second = made({"x|wp": {"gzip": 2.0}}, by=("model", "task"), measure="compression")
    assert list(table(first, second).sizes) == ["wp|x"]
    assert table(first).fields("wp|x") == {"task": "wp", "model": "x"}
    with pytest.raises(OptionError, match="does not consist of task, model"):
        table(first).fields("wp|x|y")


def test_other_settings_and_other_texts_are_said() -> None:
    other = made({"c": {"unique": 0.4}}, settings={"layer": "word"})
    notes = table(LEXICAL, other).notes
    assert notes == (
        "lexical.unique was made with different settings in 1.json and 2.json: layer none / word",
    )


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ((), ["lexical.unique", "compression.gzip"]),
        (("all",), ["lexical.unique", "lexical.mtld", "compression.gzip"]),
        (("mtld", "compression"), ["lexical.mtld", "compression.gzip"]),
        (("lexical.mtld",), ["lexical.mtld"]),
    ],
)
def test_values_are_chosen_by_name(values: tuple[str, ...], names: list[str]) -> None:
    found = select_columns(table(LEXICAL, COMPRESSION), values)
    assert [column.name for column in found.columns] == names


def test_a_measure_without_a_known_headline_shows_its_first_value() -> None:
    foreign = made({"a": {"first": 1.0, "second": 2.0}}, measure="foreign")
    assert [column.name for column in select_columns(table(foreign), ()).columns] == [
        "foreign.first"
    ]


def test_the_reference_and_inputs_do_not_count_unless_asked_for() -> None:
    held = {name: {"unique": 0.5} for name in ("human", "x", "input documents", "y")}
    whole = table(made(held, reference="human"))
    kept = drop_sources(whole, (), reference=False, inputs=False)
    assert list(kept.sizes) == ["x", "y"]
    assert any("human" in note for note in kept.notes)
    assert list(drop_sources(whole, ("y",), reference=True, inputs=True).sizes) == [
        *("human", "x", "input documents")
    ]
    with pytest.raises(UnknownName, match="source 'z'"):
        drop_sources(whole, ("z",), reference=True, inputs=True)


def test_values_at_equal_size_come_without_intervals() -> None:
    result = made({"a": {"unique": (0.5, 0.1)}, "b": {"unique": 0.6}}, matched={"a": 0.4})
    column = table(result, matched=True).columns[0]
    assert column.values == {"a": 0.4, "b": 0.6}
    assert column.intervals == {}


def test_unequal_lengths_are_said_where_values_move_with_them() -> None:
    held = {"a": {"unique": 0.5}, "b": {"unique": 0.6}}
    found = table(made(held, words={"a": 3_000, "b": 1_000}))
    assert "3.0 times as many words" in note_lengths(found, [["a", "b"]], matched=False)[0]
    assert note_lengths(found, [["a", "b"]], matched=True) == []
    # They do not stand together.
    assert note_lengths(found, [["a"], ["b"]], matched=False) == []


def test_the_joined_table_is_a_result_that_can_be_read_again() -> None:
    three = made({name: {"ttr": 0.5} for name in "abc"}, measure="x")
    result = rote.correlate([three, LEXICAL, COMPRESSION, *ENOUGH], values="all")
    again = Result.from_json(result.to_json())
    assert again.by_source["a"].values["lexical.mtld"] == 60
    assert math.isnan(again.by_source["a"].values["compression.gzip"])
    assert again.by_source["a"].notes == ("no value of compression.gzip",)
    assert again.by_source["a"].intervals["lexical.unique"] == pytest.approx((0.4, 0.6))
    assert any("exists for" in note for note in again.notes)
    assert again.interval is not None
    assert (again.interval.level, again.interval.method) == (0.95, METHOD)
