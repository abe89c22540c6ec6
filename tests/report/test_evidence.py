"""Texts cut around their marks, and how much of large inputs a measure gets."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from rote.core.evidence import Evidence, Mark, cut_evidence
from rote.report.options import WORDS, Limits, SourceSize


def one(text: str, *spans: tuple[int, int]) -> Evidence:
    return Evidence("templates", "a", "1", text, [Mark(*s, "DT NN", "template") for s in spans])


def test_a_short_text_is_shown_whole() -> None:
    shown = cut_evidence(one("a few words", (2, 5)))
    assert not shown.cut
    assert shown.text == "a few words"


def test_a_long_text_is_cut_where_its_marks_are() -> None:
    text = "word " * 1_000 + "the end of it " + "word " * 1_000
    start = text.index("the end")
    shown = cut_evidence(one(text, (0, 4), (start, start + 7), (start + 4, start + 13)))
    assert shown.cut
    assert [shown.text[m.start : m.end] for m in shown.marks] == ["the end", "end of it"]
    assert len(shown.text) <= 1_200
    assert not shown.text.startswith("ord")


def test_a_text_without_a_space_is_cut_all_the_same() -> None:
    shown = cut_evidence(one("x" * 1_000_000, (500_000, 900_000)))
    assert len(shown.text) == 1_200
    assert shown.marks[0].end == 1_200


@given(
    st.text(alphabet="ab \n", max_size=400),
    st.lists(st.tuples(st.integers(0, 400), st.integers(1, 60)), max_size=6),
    st.integers(20, 200),
)
# The only space is the mark itself: a cut at the last word end would lose it.
@example("aaaaaaaaa aaaaaaaaaaa", [(9, 1)], 20)
def test_what_is_marked_reads_the_same_after_the_cut(
    text: str, spans: list[tuple[int, int]], longest: int
) -> None:
    inside = [(start, min(start + size, len(text))) for start, size in spans if start < len(text)]
    whole = one(text, *inside)
    shown = cut_evidence(whole, longest)
    assert len(shown.text) <= max(longest, 0) or not shown.cut
    assert shown.text in text
    assert shown.cut == (len(text) > longest)
    marked = [text[start:end] for start, end in inside]
    for mark in shown.marks:
        assert 0 <= mark.start < mark.end <= len(shown.text)
        assert any(shown.text[mark.start : mark.end] in other for other in marked)
    if inside:
        assert shown.marks


@given(
    st.dictionaries(
        st.text("abc", min_size=1),
        st.builds(SourceSize, st.integers(1, 200_000), st.integers(0, 50_000_000)),
        min_size=1,
        max_size=6,
    )
)
def test_no_measure_gets_more_words_than_its_share_but_for_the_fewest_texts(
    sizes: dict[str, SourceSize],
) -> None:
    limits = Limits.of(sizes, sample=None, everything=False)
    for effort, count in limits.texts.items():
        if count is None:
            continue
        taken = {name: min(count, size.texts) for name, size in sizes.items()}
        words = sum(n * sizes[name].words / sizes[name].texts for name, n in taken.items())
        assert words <= WORDS[effort] * 1.000001 or count == 50
    counts = [limits.texts[effort] for effort in ("heavy", "medium", "light")]
    held = [10**9 if count is None else count for count in counts]
    assert held == sorted(held)


def test_what_was_asked_for_counts() -> None:
    sizes = {"a": SourceSize(100_000, 30_000_000)}
    assert set(Limits.of(sizes, sample=7, everything=False).texts.values()) == {7}
    assert set(Limits.of(sizes, sample=None, everything=True).texts.values()) == {None}
    # 300 words a text: 3,000,000 words are 10,000 texts.
    assert Limits.of(sizes, sample=None, everything=False).texts == {
        "light": 10_000,
        "medium": 2_000,
        "heavy": 660,
    }
