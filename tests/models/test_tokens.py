"""Our byte-level BPE against the `tokenizers` library: same tokens, same spans, same text."""

from __future__ import annotations

import builtins
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.core.errors import InputError, MissingExtra
from rote.models.tokens.byte_bpe import ByteBPE, carried_over, letters, merged
from rote.models.tokens.encoding import Library, Tokens, without_gaps
from rote.models.tokens.reading import read_tokens
from tests.models import tiny

OTHER = r"[a-z]{1,3}|(b|\S)+?c| ?[^\s\-a-z\]]+|\s+"
TEMPLATE = {
    "type": "TemplateProcessing",
    "single": [
        {"SpecialToken": {"id": tiny.END, "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}},
    ],
    "pair": [],
    "special_tokens": {tiny.END: {"id": tiny.END, "ids": [0], "tokens": [tiny.END]}},
}
PATTERNS = {"open model": tiny.PATTERN, "odd": OTHER, "gaps": r"[a-z]+|\s(?=\s)"}

texts = st.one_of(
    st.text(),
    st.text("abct he'sd \n\t\x1c\x85\u2003é☃😀12-]<|", max_size=60),
    st.lists(
        st.sampled_from(["the", " the", "and", tiny.END, " ", "\n\n", "er", "'ll", "😀", "ing"]),
        max_size=20,
    ).map("".join),
)


def opened(folder: Path, described: dict[str, Any]) -> Tokens:
    folder.mkdir(exist_ok=True)
    (folder / "tokenizer.json").write_text(json.dumps(described), "utf-8")
    return read_tokens(folder, 0)


@pytest.fixture(scope="module", params=PATTERNS)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Ours and the library's tokenizer of one file."""
    library = pytest.importorskip("tokenizers")
    described = tiny.tokenizer(PATTERNS[request.param])
    own = opened(tmp_path_factory.mktemp("tokens"), described)
    assert isinstance(own, ByteBPE)
    return own, library.Tokenizer.from_str(json.dumps(described))


@given(text=texts)
def test_tokens_and_spans_are_those_of_the_library(both: Any, text: str) -> None:
    own, library = both
    found = own.encode(text, special=True)
    clean = text.encode("utf-8", "replace").decode()
    expected = library.encode(clean)
    assert found.ids == expected.ids
    assert list(zip(found.starts, found.ends)) == expected.offsets
    assert own.decode(found.ids, []) == library.decode(expected.ids)


@given(text=texts)
def test_every_text_comes_back_and_is_covered(both: Any, text: str) -> None:
    own, _ = both
    found = own.encode(text, special=False)
    clean = text.encode("utf-8", "replace").decode()
    assert own.decode(found.ids, []) == clean.replace(tiny.END, "")
    reached = 0
    for start, end in zip(found.starts, found.ends):
        assert reached - 1 <= start <= reached < end or start < reached == end
        reached = end
    assert reached == len(text)


@given(st.lists(st.integers(0, 3), max_size=30), st.randoms(use_true_random=False))
def test_merging_equals_the_obvious_way(tokens: list[int], random: Any) -> None:
    """The pair of the lowest rank, and of those the leftmost, again and again."""
    pairs = [(first, second) for first in range(12) for second in range(12)]
    random.shuffle(pairs)
    # What a pair becomes is known once only: two ways to one token have ranks of their own.
    merges = {pair: (rank, 4 + rank) for rank, pair in enumerate(pairs[:20])}
    slow = list(tokens)
    while found := [
        (merges[pair][0], place)
        for place, pair in enumerate(itertools.pairwise(slow))
        if pair in merges
    ]:
        _, place = min(found)
        slow[place : place + 2] = [merges[slow[place], slow[place + 1]][1]]
    assert merged(tokens, merges) == slow


def test_a_character_of_several_tokens_is_the_span_of_each() -> None:
    own = _built(tiny.tokenizer(merges=""))
    found = own.encode("a☃b", special=False)
    assert list(zip(found.starts, found.ends)) == [(0, 1), (1, 2), (1, 2), (1, 2), (2, 3)]


def test_the_special_token_is_found_in_the_text() -> None:
    own = _built(tiny.tokenizer())
    found = own.encode(f"the{tiny.END}the", special=True)
    assert found.ids == [own.encode("the", special=True).ids[0], 0, *found.ids[:1]]
    assert found.ends == [3, 3 + len(tiny.END), 6 + len(tiny.END)]
    assert own.decode(found.ids, []) == "thethe"


@given(text=texts)
def test_a_start_token_is_added_where_the_file_says_so(text: str) -> None:
    library = pytest.importorskip("tokenizers")
    described = tiny.tokenizer() | {"post_processor": TEMPLATE}
    own, theirs = _built(described), library.Tokenizer.from_str(json.dumps(described))
    for special in (True, False):
        found = own.encode(text, special=special)
        expected = theirs.encode(text, add_special_tokens=special)
        assert found.ids == expected.ids
        assert list(zip(found.starts, found.ends)) == expected.offsets


def test_a_word_of_a_hundred_thousand_letters_does_not_take_for_ever() -> None:
    own = _built(tiny.tokenizer(merges="a a|aa aa|aaaa aaaa"))
    assert len(own.encode("a" * 100_000, special=False).ids) == 12_500


def test_bytes_that_are_no_character_are_shown_as_such() -> None:
    own = _built(tiny.tokenizer(merges=""))
    first, *_ = own.encode("☃", special=False).ids
    assert own.decode([first], []) == "\ufffd"
    assert own.size == 257
    assert own.start_text == tiny.END


def test_there_is_a_letter_for_every_byte() -> None:
    found = letters()
    assert sorted(found) == list(range(256))
    assert len(set(found.values())) == 256
    assert (found[ord("a")], found[ord(" ")], found[ord("\n")]) == ("a", "Ġ", "Ċ")


@pytest.mark.parametrize(
    "pattern",
    [
        r"\p{L}+| ?\p{N}",
        r"\w+",
        r"\d",
        r".+",
        r"^a",
        r"a$",
        r"(?i:s|t)",
        r"a++",
        r"a{2}+",
        r"a{2}?",
        r"a{,2}",
        r"[a-z&&b]",
        r"[a[bc]]",
        r"[\S]",
        r"[\w]",
        r"(?<=a)b",
        r"a*",
        r"a|",
        r"\b",
        r"[",
        r"(",
        r"[]",
        "\\",
    ],
)
def test_an_expression_that_may_mean_something_else_is_left_to_the_library(pattern: str) -> None:
    assert carried_over(pattern) is None


def test_spaces_are_those_of_the_tokenizers_library() -> None:
    words = carried_over(r"\S+")
    assert words is not None
    # Python counts the first as a space, Oniguruma does not; the second both do.
    assert words.findall("a\x1cb\x85c") == ["a\x1cb", "c"]


@pytest.mark.parametrize(
    "change",
    [
        {"normalizer": {"type": "NFC"}},
        {"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}},
        {"pre_tokenizer": tiny.tokenizer(r"\p{L}+|.")["pre_tokenizer"]},
        {"decoder": {"type": "BPEDecoder", "suffix": "</w>"}},
        {"post_processor": TEMPLATE | {"single": TEMPLATE["single"][::-1]}},
    ],
)
def test_other_kinds_are_run_by_the_library(
    change: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("tokenizers")
    described = tiny.tokenizer() | change
    found = opened(tmp_path, described)
    assert isinstance(found, Library)
    encoded = found.encode("the king and \ud800", special=True)
    assert encoded.starts[0] == 0
    assert max(encoded.ends) == 14
    assert found.size == len(described["model"]["vocab"])
    assert found.start_text == tiny.END
    _without(monkeypatch, "tokenizers")
    with pytest.raises(MissingExtra, match=r"\.\[subwords\]"):
        opened(tmp_path, described)


def test_spaces_that_a_tokenizer_leaves_out_belong_to_what_follows() -> None:
    # A start token, a word, a trimmed space before a word, a character in two tokens.
    assert without_gaps([0, 0, 4, 7, 7], [0, 3, 7, 8, 8]) == [0, 0, 3, 7, 7]


def test_tokens_after_others_keep_their_space(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    plain = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({"▁a": 0, "▁b": 1, "</s>": 2}, unk_token="▁a")
    )
    plain.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    plain.decoder = tokenizers.decoders.Metaspace()
    plain.add_special_tokens(["</s>"])
    plain.save(str(tmp_path / "tokenizer.json"))
    found = read_tokens(tmp_path, 2)
    assert found.decode([1], [0]) == " b"
    assert found.decode([1], []) == "b"


def test_the_start_token_is_that_of_the_tokenizer_then_that_of_the_model(tmp_path: Path) -> None:
    described = tiny.tokenizer()
    described["added_tokens"].append(described["added_tokens"][0] | {"id": 5, "content": "<b>"})
    (tmp_path / "tokenizer.json").write_text(json.dumps(described))
    assert read_tokens(tmp_path, 7).start == 7
    for settings in ({"eos_token": "<b>"}, {"bos_token": {"content": "<b>"}, "eos_token": "x"}):
        (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
        assert read_tokens(tmp_path, 7).start == 5
    (tmp_path / "tokenizer_config.json").write_text("{}")
    with pytest.raises(InputError, match="bos_token_id"):
        read_tokens(tmp_path, None)


@pytest.mark.parametrize("content", [None, "no json", "[1]"])
def test_a_file_that_is_missing_or_broken_is_named(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(InputError, match=r"tokenizer\.json"):
        read_tokens(tmp_path, 0)


def test_merges_that_do_not_fit_the_vocabulary_are_an_error(tmp_path: Path) -> None:
    described = tiny.tokenizer()
    described["model"]["merges"].append("q q")
    with pytest.raises(InputError, match="fit together"):
        opened(tmp_path, described)


def _built(described: dict[str, Any]) -> ByteBPE:
    from rote.models.tokens import reading

    found = reading._own(described, 0)
    assert found is not None
    return found


def _without(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    real = builtins.__import__

    def importing(name: str, *rest: Any) -> Any:
        if name.split(".")[0] == package:
            raise ImportError(name=name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", importing)
