"""The report as one page: what stands in it, and that nothing from the data acts in it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from itertools import pairwise

from rote.report import fragments
from rote.report.output import html_page
from rote.report.report import Report
from rote.report.sections import make_sections
from rote.report.value_tables import values_sheet
from tests.report import made_report as made

VOID = {"meta", "img"}
ATTACKS = (
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)> ' onclick=alert(1) x='",
    "</script><script>alert(1)</script></style><style>*{}</style>",
    "<!-- --><svg onload=alert(1)><foreignObject>]]>",
    "{{ 7 * 7 }}{% raw %} &lt;b&gt; &amp; &#60;i&#62;",
    "\x1b[31mred\x1b[0m \x00 \x07 \x9b31m",
    "\u202egnirts \u2066 \u200f \u061c \ufeff",
    "\ud800 lone \udfff",
    "javascript:alert(1)//",
)
TAGS = set(
    "html head meta title style body a header h1 h2 h3 h4 h5 p time nav ol li main section ul span "
    "caption div table thead tr th bdi tbody td code figure figcaption details summary mark sup "
    "pre cite blockquote b dl dt dd footer script svg desc g path text tspan rect line "
    "circle template".split()
)
ATTRIBUTES = set(
    "lang charset http-equiv content name class href id aria-label datetime tabindex "
    "aria-labelledby scope data-fields data-v role width height viewbox xmlns aria-hidden open "
    "dir title value transform d fill stroke stroke-width stroke-dasharray stroke-miterlimit "
    "opacity text-anchor font-family font-size font-weight x y x1 y1 x2 y2 dx dy cx cy r "
    "stroke-opacity fill-opacity display".split()
)


class Parsed(HTMLParser):
    """A page as elements with their attributes, and its text; complains of tags that do not fit."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.outline: list[tuple[str, tuple[str, ...]]] = []
        self.text: list[str] = []
        self.inside: dict[str, list[str]] = {}
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        # What a figure draws depends on the names' lengths.
        if "svg" not in self.open:
            self.outline.append((tag, tuple(name for name, _ in attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)
        self.inside.setdefault(self.open[-1] if self.open else "", []).append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def of(self, name: str) -> list[str]:
        """The values of an attribute."""
        return [
            value or "" for _, held in self.elements for key, value in held.items() if key == name
        ]


def attacked(name: str) -> str:
    """Every name with an attack of its own, always the same."""
    place = hashlib.sha256(name.encode()).digest()[0] % len(ATTACKS)
    return f"{name} {ATTACKS[place]}"


@cache
def shown(say: Callable[[str], str] = made.plain) -> str:
    return html_page(made.study(say))


@cache
def parsed(say: Callable[[str], str] = made.plain) -> Parsed:
    return Parsed(shown(say))


def test_a_part_is_there_only_where_there_are_results() -> None:
    shown = fragments.render_sections(make_sections(made.study(results=[made.originality()])))
    found = {section.id for section in shown}
    assert "originality" in found
    assert not found & {"panel", "templates", "novelty", "repetition", "popularity", "further"}


def test_test_items_have_parts_of_their_own() -> None:
    study = made.study(results=[])
    results = (made.contamination(3), made.overlap(), made.popularity())
    whole = Report(
        **{name: getattr(study, name) for name in study.__slots__} | {"results": results}
    )
    found = {
        section.id: section.html for section in fragments.render_sections(make_sections(whole))
    }
    text = {id: " ".join(" ".join(Parsed(str(html)).text).split()) for id, html in found.items()}
    assert "Items that the corpus holds" in text["repetition"]
    assert "0.2000 [0.1000, 0.3000]" in text["repetition"]
    assert "2.00 [1.50, 2.50] 0.30 [0.10, 0.50] < 0.001" in text["repetition"]
    assert "Accuracy of the less and the more popular half" in text["popularity"]
    assert "further" not in found


def test_the_policy_allows_our_style_and_script_and_nothing_else() -> None:
    page = shown(attacked)
    policy = next(
        str(held["content"])
        for tag, held in parsed(attacked).elements
        if held.get("http-equiv") == "Content-Security-Policy"
    )
    allowed = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert allowed["default-src"] == "'none'"
    assert allowed["img-src"] == "data:"
    for tag, directive in (("style", "style-src"), ("script", "script-src")):
        (held,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(held.encode()).digest()).decode()
        assert allowed[directive] == f"'sha256-{digest}'"
    # Before anything that it forbids.
    assert page.index("Content-Security-Policy") < page.index("<style>")


def test_whatever_names_and_texts_hold_the_page_has_the_same_elements() -> None:
    assert parsed(attacked).outline == parsed().outline


def test_no_element_or_attribute_is_unknown() -> None:
    for page in (parsed(), parsed(attacked)):
        assert {tag for tag, _ in page.elements} <= TAGS
        assert {name for _, held in page.elements for name in held} <= ATTRIBUTES
        assert not page.of("src")


def test_attacks_are_shown_as_text() -> None:
    text = "".join(parsed(attacked).text)
    assert "<script>alert(1)</script>" in text
    assert "{{ 7 * 7 }}" in text
    assert "␛[31mred" in text


def test_nothing_steers_the_terminal_or_the_direction_of_writing() -> None:
    page = shown(attacked)
    page.encode("utf-8")
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", page)
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c\ufeff]", page)


def test_texts_stand_in_elements_that_keep_their_direction_to_themselves() -> None:
    arabic = html_page(made.study(lambda name: f"{name} سلام"))
    page = Parsed(arabic)
    assert any("سلام" in text for text in page.inside["bdi"])
    assert {held.get("dir") for tag, held in page.elements if tag == "p"} == {None, "auto"}


def test_words_of_a_megabyte_do_not_make_the_page_longer() -> None:
    huge = "w" * 1_000_000

    def say(name: str) -> str:
        return f"{name}{huge}"

    page = html_page(made.study(say))
    assert len(page) < 700_000
    assert max(map(len, re.findall("w+", page))) < 10_000
    assert {tag for tag, _ in Parsed(page).elements} <= TAGS


def test_a_hundred_thousand_texts_make_a_page_of_a_few_megabytes() -> None:
    many = 100_000
    texts = tuple(
        made.Evidence(
            "templates",
            f"source {number % 7}",
            f"text/{number}",
            made.SENTENCE * 100,
            tuple(made.Mark(57 * i, 57 * i + 12, f"DT JJ {i}", "template") for i in range(99)),
        )
        for number in range(500)
    )
    results = [
        *made.panel(tuple(f"model {number}" for number in range(11))),
        made.contamination(many),
        made.originality(3_000),
        made.templates(12, rows=20),
    ]
    study = made.study(results=results)
    whole = Report(**{name: getattr(study, name) for name in study.__slots__} | {"evidence": texts})
    page = html_page(whole)
    assert len(page.encode()) < 4_000_000
    text = " ".join(" ".join(Parsed(page).text).split())
    assert "The first 100 of 100,000 rows; rote table RESULT.json --csv writes all." in text
    assert "The first 8 of each source: 96 of 240 rows; all rows" in text
    assert re.search(r"4\d\d further texts are not shown; --examples sets how many", text)
    assert "JSON has" not in text


def test_a_study_that_was_read_from_json_gives_the_same_page() -> None:
    study = made.study(attacked)
    again = Report.from_dict(json.loads(study.to_json()))
    assert html_page(again) == shown(attacked)


def test_ids_are_unique_and_links_lead_somewhere() -> None:
    for page in (parsed(), parsed(attacked)):
        ids = page.of("id")
        assert len(ids) == len(set(ids))
        outside = {link for link in page.of("href") if not link.startswith("#")}
        assert all(
            re.match(r"https://(doi|aclanthology|jmlr|www\.jstor)\.org/", a) for a in outside
        )
        assert {link[1:] for link in set(page.of("href")) - outside} <= set(ids)
        named = {id for value in page.of("aria-labelledby") for id in value.split()}
        assert named <= set(ids)


def test_headings_leave_no_level_out() -> None:
    levels = [int(tag[1]) for tag, _ in parsed().elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))


def test_figures_are_named_for_those_who_do_not_see_them() -> None:
    drawn = [held for tag, held in parsed().elements if tag == "svg"]
    assert all(held.get("role") == "img" or held.get("aria-hidden") == "true" for held in drawn)
    figures = [held for held in drawn if "aria-labelledby" in held]
    strips = [held for held in drawn if "rote-strip" in str(held.get("class"))]
    # Two that are drawn, and the first one as it is saved.
    assert len(parsed().inside["desc"]) == len(figures) == 3
    assert all(held["aria-label"] for held in strips)


def test_cells_carry_their_numbers_unrounded() -> None:
    result = made.panel()[0]
    page = Parsed(str(fragments.render_blocks([values_sheet(result)])))
    fields = [json.loads(value) for value in page.of("data-fields")]
    assert fields[0] == ["source"]
    assert fields[3] == [
        "unique",
        "unique_low",
        "unique_high",
        "unique_p_corrected",
        "unique_equal",
    ]
    numbers = [json.loads(value) for value in page.of("data-v")]
    values = result.by_source["one"].values["unique"], *result.by_source["one"].intervals["unique"]
    assert [*values, 0.02, values[0] + 0.01] in numbers
    assert all(len(held) <= max(map(len, fields)) for held in numbers)


def test_fragments_need_no_style_or_script_of_their_own() -> None:
    pages = [
        section.html for section in fragments.render_sections(make_sections(made.study(attacked)))
    ]
    pages.append(fragments.render_text(made.evidence(attacked)[0]))
    for page in map(Parsed, map(str, pages)):
        tags = {tag for tag, _ in page.elements}
        assert not tags & {"script", "style", "link"}
        assert not page.of("style")
