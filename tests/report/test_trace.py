"""Traced texts on the terminal and as a page, whose two sides lead to each other."""

from __future__ import annotations

import base64
import hashlib
import io
import re
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

from rich.console import Console

import rote
from rote.corpus import open_corpus
from rote.report.texts.trace import STYLES, print_trace, trace_page
from rote.search.trace.options import TraceOptions
from rote.search.trace.trace import Trace, trace
from tests.indexes import index_texts

PASSAGE = "the gardener buried eleven spoons beneath the pear tree before the bailiffs came here"
CORPUS = [
    f"People say that {PASSAGE}. So it goes.",
    "</script><script>alert(1)</script> nobody & nothing <b>in</b> this whole wide parish slept",
]
TEXTS = [
    f"It is told here that {PASSAGE}, and more.\nAnother line of its own.",
    "They claim the gardener buried eleven spoons quietly beneath the pear tree before bailiffs.",
    "</script><script>alert(1)</script> nobody & nothing <b>in</b> this whole wide parish slept",
    "Nothing to see.",
]
VOID = {"meta", "br", "link"}


class Parsed(HTMLParser):
    """Ids, links, classes and text of a page; complains of tags that do not fit."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.sections: dict[str, str] = {}
        self.text: list[str] = []
        self.scripts: list[str] = []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        held = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        if held.get("id"):
            self.ids.append(str(held["id"]))
        if tag == "a":
            assert "a" not in self.open[:-1]
            self.links.append(str(held["href"]))
        if tag == "section":
            self.sections[str(held["id"])] = str(held["data-spans"])

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        (self.scripts if self.open[-1:] == ["script"] else self.text).append(data)


def traced(**options: object) -> Trace:
    index = index_texts(CORPUS, ("lower", "lemma"))
    settings = TraceOptions(**{"min_bits": 5, **options})  # type: ignore[arg-type]
    return trace(index, open_corpus(TEXTS), settings)


def printed(found: Trace, width: int = 120) -> str:
    out = io.StringIO()
    print_trace(found, Console(file=out, width=width, color_system=None))
    return out.getvalue()


def test_every_link_of_the_page_leads_somewhere_and_ids_are_unique() -> None:
    found = Parsed(trace_page(traced(), "a title"))
    assert len(found.ids) == len(set(found.ids))
    assert {link[1:] for link in found.links} <= set(found.ids)
    assert all(link.startswith("#") for link in found.links)


def test_spans_lead_to_documents_and_documents_to_spans() -> None:
    written = trace_page(traced(), "a title")
    found = Parsed(written)
    section = next(s for s in written.split("<section ")[1:] if "People say that" in s)
    name = re.search(r'id="span-(\d)" data-spans="(\d)"', section)
    document = re.search(r'href="#(document-\d)"', section)
    assert name is not None
    assert document is not None
    assert name[1] == name[2]
    assert name[1] in found.sections[document[1]].split()
    # Both spans that come from the same document are listed under it.
    assert len(found.sections[document[1]].split()) >= 2


def test_words_that_lie_in_several_matches_of_a_document_count_once() -> None:
    text = f"It is told that {PASSAGE}, quietly, so they claim."
    changed = f"{PASSAGE.replace('pear', 'old pear')} again"
    found = trace(
        index_texts([f"{PASSAGE}.", "Nothing."], ("lower", "lemma")),
        open_corpus([text, changed]),
        TraceOptions(min_words=4, min_bits=5),
    )
    kinds = [span.kind for span in found.spans]
    assert (kinds.count("verbatim"), kinds.count("gapped")) == (3, 1)
    # Two spans of the second text lie in its gapped one.
    assert sum(text.covered for text in found.texts) == 28
    assert sum(span.words for span in found.spans) == 42
    documents = trace_page(found, "a title").split("<h2>Documents</h2>")[1]
    assert re.findall(r'<td class="number">([\d,]+)</td>', documents) == ["4", "28"]


def test_large_numbers_have_separators_and_authors_a_column_only_where_known() -> None:
    long = " ".join(f"word{i}" for i in range(1_200))
    index = index_texts([long], ("lower",))
    found = trace(index, open_corpus([long]))
    documents = trace_page(found, "a title").split("<h2>Documents</h2>")[1]
    assert '<td class="number">1,200</td>' in documents
    assert "author" not in documents
    known = replace(
        found,
        spans=tuple(
            replace(span, places=tuple(replace(place, author="Ann Lee") for place in span.places))
            for span in found.spans
        ),
    )
    documents = trace_page(known, "a title").split("<h2>Documents</h2>")[1]
    assert '<th scope="col">author</th>' in documents
    assert "<td><bdi>Ann Lee</bdi></td>" in documents


def test_what_a_text_holds_is_text_on_the_page() -> None:
    written = trace_page(traced(), "<i>title</i>")
    found = Parsed(written)
    assert written.count("<script>") == 1
    assert "alert(1)" not in "".join(found.scripts)
    assert "</script><script>alert(1)</script>" in "".join(found.text)
    assert "<i>title</i>" in found.text
    assert not re.search(r"https?://|\son\w+=|javascript:", written)


def test_the_page_allows_no_script_but_its_own() -> None:
    written = trace_page(traced(), "a title")
    script = Parsed(written).scripts[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest.replace('+', '&#43;')}'" in written or (
        f"script-src 'sha256-{digest}'" in written
    )
    assert "default-src 'none'" in written


def test_texts_without_a_listed_span_are_left_out_of_the_page() -> None:
    written = trace_page(traced(limit=1), "a title")
    assert "parish slept" in written
    assert "Another line of its own" not in written
    assert "1 of 3, the longest first" in written


def test_paragraphs_are_kept_and_every_word_of_a_text_is_there_once() -> None:
    text = f"One.\n \nTwo and\nthree. {PASSAGE}\n\n\n{PASSAGE.upper()}, four."
    index = index_texts(CORPUS, ("lower",))
    written = trace_page(trace(index, open_corpus([text]), TraceOptions(min_bits=5)), "a title")
    body = written[written.index("<h2>") : written.index("</main>")]
    paragraphs = re.findall(r'<p class="text".*?</p>', body, re.DOTALL)
    assert len(paragraphs) == 3
    assert "Two and\nthree." in paragraphs[1]
    plain = re.sub(r"<sup>.*?</sup>|<[^>]*>", "", "\n\n".join(paragraphs))
    assert plain.split() == text.split()


def test_a_trace_that_found_nothing_is_a_page_too() -> None:
    index = index_texts(["unrelated"], ("lower", "lemma"))
    found = trace(index, open_corpus(["Nothing to see."]))
    assert "No match is long and unlikely enough" in trace_page(found, "a title")
    assert "4 words in 1 text; 0 of them (0.00%) are in a match, in 0 texts" in printed(found)


def test_what_was_changed_is_marked_and_counted() -> None:
    changed = PASSAGE.replace("buried eleven", "buried some").replace("the pear", "pear")
    found = trace(
        index_texts(CORPUS, ("lower", "lemma")), open_corpus([changed]), TraceOptions(min_bits=5)
    )
    assert "12 words  gapped, edit rate 14% (1 exchanged, 1 left out)" in printed(found)
    written = trace_page(found, "a title")
    assert "edit rate 14% (1 exchanged, 1 left out)" in written
    assert [part.strip() for part in re.findall(r"<ins>(.*?)</ins>", written)] == ["some"]
    gone = [part.strip() for part in re.findall(r"<del>(.*?)</del>", written)]
    assert gone == ["eleven", "the"]


def test_the_terminal_is_harmless_and_says_what_is_not_shown() -> None:
    evil = "\x1b[31mred\x1b[0m " + PASSAGE
    index = index_texts([evil], ("lower", "lemma"))
    found = trace(index, open_corpus([evil] * 20), TraceOptions(min_bits=5))
    shown = printed(found)
    assert "\x1b" not in shown
    assert "15 of 20 matches, the longest first" in shown
    assert "\x1b" not in trace_page(found, "a title")


def test_every_kind_of_match_has_a_line_of_its_own_on_the_page_and_in_the_app() -> None:
    app = (Path(rote.__file__).parent / "web" / "static" / "trace.css").read_text()
    page = trace_page(traced(), "x")
    for name in {name for style in STYLES.values() for name in style.split()} - {"solid"}:
        assert re.search(rf"\.lane\.{name}\b", app), name
        assert re.search(rf"\.lane\.{name}\b", page), name
