"""What the golden tests overlook, and what they do not."""

from __future__ import annotations

import json

import pytest

import rote
from tests.golden import plain
from tests.golden.comparing import differences, joined, lost, same, split

JSON = {
    "measure": "lexical",
    "values": {"ttr": 0.2105263157, "words": 95},
    "tables": {"values": [{"value": f"v{n}", "share": n / 7, "count": n} for n in range(40)]},
}
TEXT = """
 source   texts      ttr
 ───────────────────────
 human        5   0.2134
note: 5 texts only
"""


def told(old: object, new: object) -> list[str]:
    sections = ({"json x": plain.of_json(json.dumps(one))} for one in (old, new))
    return differences(*sections)


def changed(place: tuple[str | int, ...], value: object) -> object:
    new = json.loads(json.dumps(JSON))
    part = new
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    return new


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("values", "ttr"), 0.21053),
        (("values", "words"), 96),
        (("values", "ttr"), None),
        (("values",), {"type_token": 0.2105263157, "words": 95}),
        (("tables",), {}),
        (("tables", "values"), JSON["tables"]["values"][:-1]),  # type: ignore[index]
        (("tables", "values", 30, "share"), 4.29),
        (("tables", "values", 30, "value"), "v31"),
        (("tables", "values", 30), {"value": "v30", "part": 30 / 7, "count": 30}),
    ],
)
def test_a_change_of_json_is_seen(place: tuple[str | int, ...], value: object) -> None:
    assert told(JSON, changed(place, value))


def test_last_digits_of_json_are_not() -> None:
    assert not told(JSON, JSON)
    assert not told(JSON, changed(("values", "ttr"), 0.21052631577))
    assert not told(JSON, changed(("tables", "values", 30, "share"), 30 / 7 + 1e-9))


def test_rows_of_csv_beyond_the_first_count() -> None:
    lines = ["table,source,ttr", *(f"values,s{n},{n / 7}" for n in range(30))]
    whole = {"csv x": plain.of_csv("\n".join(lines))}
    for wrong in (lines[:-1], [*lines[:-1], "values,s29,4.2"], ["table,source,rate", *lines[1:]]):
        assert differences(whole, {"csv x": plain.of_csv("\n".join(wrong))})


def test_rows_of_latex_beyond_the_first_count() -> None:
    lines = [r"\midrule", *(rf"s & {n}.5 & a \\" for n in range(30)), r"\bottomrule"]
    whole = {"latex x": plain.of_latex("\n".join(lines))}
    assert whole["latex x"].endswith("\\bottomrule\n")
    for wrong in (lines[:-2] + lines[-1:], [line.replace("& a", "") for line in lines]):
        assert differences(whole, {"latex x": plain.of_latex("\n".join(wrong))})


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("0.2134", "0.2136"),
        ("0.2134", "0.21"),
        ("ttr", "rate"),
        ("   ttr", ""),
        ("   0.2134", ""),
        ("note: 5 texts only\n", ""),
        ("note: 5", "note: 6"),
    ],
)
def test_a_change_of_text_is_seen(old: str, new: str) -> None:
    assert differences({"text x": TEXT}, {"text x": TEXT.replace(old, new)})


@pytest.mark.parametrize(("old", "new"), [("0.2134", "0.2135"), ("human  ", "human"), ("─", "──")])
def test_one_unit_of_the_last_digit_and_widths_are_not(old: str, new: str) -> None:
    assert not differences({"text x": TEXT}, {"text x": TEXT.replace(old, new)})


@pytest.mark.parametrize(
    ("old", "new", "equal"),
    [
        ("12 % of 40", "13 % of 40", True),
        ("12 % of 40", "12 % of 41", False),
        ("1,234 words", "1,235 words", False),
        ("9.99", "10.0", True),
        ("p = 1e-05", "p = 2e-05", True),
        ("p = 1e-05", "p = 1e-04", False),
        ("-0.5", "0.5", False),
        ("−0.50", "−0.51", True),
        ("texts:036b5a82e0de", "texts:036b5a82e0df", False),
    ],
)
def test_numbers_as_people_read_them(old: str, new: str, equal: bool) -> None:
    assert same(old, new, exact=False) is equal


def test_a_section_that_is_gone_or_new_is_seen() -> None:
    both = {"text a": "one\n", "csv b": "two\n"}
    assert split(joined(both)) == both
    assert differences(both, {"text a": "one\n"})
    assert differences({"text a": "one\n"}, both)


def test_what_a_new_layout_lost_is_told() -> None:
    turned = "ttr of human: 0.21341 (5 texts; source)\nnote: only"
    assert lost({"text x": TEXT}, {"text x": turned}) == []
    assert lost(
        {"text x": TEXT}, {"text x": turned.replace("0.21341", "0.21").replace("ttr", "")}
    ) == ["══ text x: ttr 0.2134"]
    assert lost({"text x": TEXT}, {}) == ["no section 'text x' any more"]


PAGE = """<html><head><title>A page</title><style>p {}</style></head><body><h2>Words</h2>
<p>Some <b>bold</b> words &amp; <a href="/history?id=1">a link</a>.<script>x()</script></p>
<table><tr><th>source</th><th>ttr</th></tr><tr><td>human<br>x</td><td><p>0.21</p></td></tr></table>
<svg><title id="f">Figure</title><g><text>low</text><text>high</text></g>
<path><title>value: 3</title></path></svg>
<form action="/compare"><label>Seed <input name="seed" value="3"></label>
<input type="checkbox" name="matched" value="yes" checked></form></body></html>"""


def test_a_page_is_what_it_shows() -> None:
    assert plain.of_html(PAGE).splitlines() == [
        "A page",
        "## Words",
        "Some bold words & a link </history?id=1>.",
        "| source | ttr",
        "| humanx | 0.21",
        "[figure] Figure · low · high",
        "[form get /compare]",
        "Seed [input seed=3]",
        "[checkbox matched=yes on]",
    ]


def test_what_differs_between_runs_is_left_out() -> None:
    found = plain.of_text(
        f"rote {rote.__version__}, 15 November 2026, 23:42 UTC, 9 words, 1,200 words/s, 0.3 s"
    )
    assert found == "rote VERSION, DATE, 9 words, RATE words/s, TIME\n"
