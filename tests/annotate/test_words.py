"""What holds for every tokenizer: spans, batches, strange characters, names."""

from __future__ import annotations

import pickle
import string
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.annotate import glyphs, words
from rote.annotate.glyphs import fold
from rote.core import plugins
from rote.core.errors import InputError, OptionError, UnknownName
from rote.core.layer import concatenate

NAMES = sorted(set(plugins.members("annotate.words")) - {"subwords"})
# Their items are the text itself; the others change case.
SLICES = ("spaces", "treebank", "ud", "whitespace", "wordpunct")

# Characters that tokenizers stumble over, more often than chance would draw them.
odd = st.sampled_from(
    "'’`\"-_.,:;/@#$%&*()<>!?0123 \t\n\r\0\x1c\u00a0\u00ad\u200b\u200d\ufe0f\ufeff\u0301"
    "\u0130\u212aaAnNtTsSmM中の한éß👍🏽🇫\ud83d\udc4d\U0001f469\U000e0067"
)
anything = st.text(st.one_of(odd, st.characters(), st.sampled_from(string.ascii_letters)))

STRANGE = {
    "empty": "",
    "one word": "word",
    "white space": " \t\n\u00a0\u2003 ",
    "emoji": "👩‍👩‍👧‍👦👍🏽🇫🇷🇩🇪☺️",
    "digits": "1234567890" * 50,
    "right to left": "שלום עולם، هذا نص.",
    "control": "a\x01b\x7f\x9fc",
    "surrogates": "a\ud83d b\udc4dc \ud83d",
    "nul": "a\0b\0\0",
    "byte order mark": "\ufeffa\ufeffb",
    "astral": "𝒳𝓎 𐍈𐌿 x",
}


def test_the_expected_tokenizers_are_known() -> None:
    assert NAMES == ["guo-2025", "rouge", "spaces", "treebank", "ud", "whitespace", "wordpunct"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", STRANGE.values(), ids=STRANGE.keys())
def test_strange_texts_keep_their_spans(name: str, text: str) -> None:
    layer = words.get(name)([text, "tail"])
    assert len(layer) == 2
    assert layer.items(1) == ["tail"]
    for item, (start, end) in zip(layer.items(0), layer.spans(0)):
        assert 0 <= start <= end <= len(text)
        assert name not in SLICES or fold(text[start:end]) == item


@pytest.mark.parametrize("name", NAMES)
def test_no_texts_give_no_words(name: str) -> None:
    layer = words.get(name)([])
    assert len(layer) == 0
    assert len(layer.ids) == 0
    assert layer.vocabulary == ()


@pytest.mark.parametrize("name", NAMES)
def test_columns_have_the_types_of_a_layer(name: str) -> None:
    for texts in ([], ["", "one two"], ["é"]):
        layer = words.get(name)(texts)
        kinds = [column.dtype for column in (layer.ids, layer.starts, layer.ends)]
        assert kinds == [np.int32] * 3
        assert layer.text_ends.dtype == np.int64
        assert layer.sentence_ends is None
        assert layer.name == "word"


@pytest.mark.parametrize("name", NAMES)
@given(st.lists(anything, max_size=4))
def test_words_do_not_depend_on_the_batch(name: str, texts: list[str]) -> None:
    tokenizer = words.get(name)
    together = tokenizer(texts)
    for number, text in enumerate(texts):
        alone = tokenizer([text])
        assert alone.items(0) == together.items(number)
        assert alone.spans(0) == together.spans(number)
    if texts:
        joined = concatenate([tokenizer([text]) for text in texts])
        assert joined.vocabulary == together.vocabulary
        assert np.array_equal(joined.ids, together.ids)


@pytest.mark.parametrize("name", SLICES)
@given(anything)
def test_items_are_slices_in_order(name: str, text: str) -> None:
    text = fold(text)
    layer = words.get(name)([text])
    assert [text[a:b] for a, b in layer.spans(0)] == layer.items(0)
    places = [place for span in layer.spans(0) for place in span]
    assert places == sorted(places)


@given(anything)
def test_ud_loses_nothing_but_white_space(text: str) -> None:
    import unicodedata

    place = 0
    for start, end in [*words.get("ud")([text]).spans(0), (len(text), len(text))]:
        gap = text[place:start]
        assert all(c.isspace() or unicodedata.category(c) in ("Cc", "Cf", "Zs") for c in gap)
        assert start < end or start == len(text)
        place = end


@pytest.mark.parametrize(
    "unit",
    ["a", "(", "a-", "1-", "a.", "a'", "$", "a@", "=)", "http://)", "...a", "中", "'", "_a*"],
)
def test_a_megabyte_without_a_space_takes_linear_time(unit: str) -> None:
    # Quadratic time would be hours here, not a slow test.
    text = unit * (1_000_000 // len(unit)) + "a"
    layer = words.get("ud")([text])
    assert layer.ends[-1] == len(text)


def test_vocabulary_is_numbered_by_first_appearance() -> None:
    layer = words.get("ud")(["b a b", "c a"])
    assert layer.vocabulary == ("b", "a", "c")
    assert layer.ids.tolist() == [0, 1, 0, 2, 1]


@pytest.mark.parametrize("name", NAMES)
def test_a_tokenizer_travels_to_another_process(name: str) -> None:
    tokenizer = words.get(name)
    again = pickle.loads(pickle.dumps(tokenizer))
    assert again == tokenizer
    assert again(["a b"]).items(0) == tokenizer(["a b"]).items(0)


def test_signatures_name_the_tokenizer_and_its_version() -> None:
    assert words.get().signature == f"ud/1-glyphs{glyphs.VERSION}"
    assert words.get("guo-2025").signature == f"guo-2025/1-glyphs{glyphs.VERSION}"


def test_unknown_names_get_a_suggestion() -> None:
    with pytest.raises(UnknownName, match="did you mean 'wordpunct'"):
        words.get("wordpunkt")
    with pytest.raises(OptionError, match=r"tokenizer\.json"):
        words.get("subwords")
    with pytest.raises(InputError, match="no such file"):
        words.get("missing/tokenizer.json")


def test_white_space_is_pythons_for_every_character() -> None:
    text = "".join(f"x{chr(code)}" for code in range(sys.maxunicode + 1) if chr(code).isspace())
    assert words.get("whitespace")([text]).items(0) == text.split()


@given(anything)
def test_whitespace_and_spaces_are_str_split(text: str) -> None:
    text = fold(text)
    assert words.get("whitespace")([text]).items(0) == text.split()
    assert words.get("spaces")([text]).items(0) == text.split(" ")
