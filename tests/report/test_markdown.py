"""The report in Markdown: the same parts, and nothing from the data that Markdown would act on."""

from __future__ import annotations

import re
from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from rote.report.export import escape_markdown, markdown_code
from rote.report.output import render_report_markdown
from tests.report import made_report as made

ATTACKS = (
    "# heading",
    "| a | b | `c` |",
    "<script>alert(1)</script> <b>",
    "[click](javascript:alert(1)) ![x](http://away)",
    "```\n# heading\n```",
    "1. one\n- two\n> three\n\n---\n",
    "*a* _b_ ~~c~~ $d$ \\ &lt;",
    "\x1b[31m \u202e \ud800",
)


def attacked(name: str) -> str:
    return f"{ATTACKS[sum(map(ord, name)) % len(ATTACKS)]} {name}"


@cache
def written(hostile: bool = False) -> str:
    return render_report_markdown(made.study(attacked if hostile else made.plain))


def bars(line: str) -> int:
    """Bars that end a cell: GitHub's Markdown takes any bar behind a backslash as escaped."""
    return len(re.findall(r"(?<!\\)\|", line))


def shape(text: str) -> list[str]:
    """What Markdown makes of the beginnings of lines, and the cells of every table."""
    found = []
    for line in text.splitlines():
        start = re.match(r"#+ |- |> ?|\||\d+[.)] |```|!\[", line)
        found.append(f"{start[0] if start else 'text' if line else ''}{bars(line) or ''}")
    return found


def test_the_same_parts_are_there_with_their_tables() -> None:
    text = written()
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert headings == [
        "Summary",
        "Diversity",
        "Templates",
        "Originality",
        "Left out",
        "Methods",
        "Data, tools and settings",
    ]
    assert "| **human** | 100 | 20,000 | 0.6000 \\[0.5800, 0.6200] = 0.6100 ±0.0010 |" in text
    assert "| overlap | no training text was given |" in text
    assert "**The old** " in text or "**The** " in text


def test_names_and_texts_do_not_change_the_shape() -> None:
    assert shape(written(hostile=True)) == shape(written())


def test_nothing_in_it_is_html_a_link_or_code_of_the_data() -> None:
    text = written(hostile=True)
    text.encode("utf-8")
    outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text.replace(r"\`", ""))
    assert not re.search(r"(?<!\\)<", outside)
    assert not re.search(r"(?<!\\)\[", outside)
    assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", text)


def test_every_row_of_a_table_has_as_many_cells_as_its_head() -> None:
    lines = written(hostile=True).splitlines()
    for place, line in enumerate(lines):
        if re.match(r"\|( -)", line):
            rows = [lines[place - 1]]
            for row in lines[place + 1 :]:
                if not row.startswith("|"):
                    break
                rows.append(row)
            assert {bars(row) for row in rows} == {bars(line)}


@given(st.text(alphabet="`| a\\", max_size=12))
def test_code_ends_where_it_should(text: str) -> None:
    made_code = markdown_code(text)
    if not text.strip():
        assert made_code == ""
        return
    fence = re.match("`+", made_code)
    assert fence
    inside = made_code[len(fence[0]) : -len(fence[0])]
    assert made_code.endswith(fence[0])
    assert fence[0] not in re.findall("`+", inside)
    assert bars(made_code) == 0


def test_signs_are_escaped_and_words_left_alone() -> None:
    assert escape_markdown("a_b * c | d `e` <f> [g](h)") == r"a\_b \* c \| d \`e\` \<f> \[g](h)"
    assert escape_markdown("3. Three") == r"3\. Three"
    assert escape_markdown("0.35 and 3.5") == "0.35 and 3.5"
    assert escape_markdown("- minus") == r"\- minus"
