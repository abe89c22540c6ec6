"""The tokenizer of a model's folder; test_numpy.py compares with transformers."""

from __future__ import annotations

import builtins
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.core.errors import InputError, MissingExtra
from rote.models.tokens import Encoded, LibraryTokens, read_tokens
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
LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
KINDS = {
    "open model": tiny.tokenizer(),
    "odd": tiny.tokenizer(OTHER),
    "gaps": tiny.tokenizer(r"[a-z]+|\s(?=\s)"),
    "trims": tiny.tokenizer() | {"post_processor": LEVEL},
}

texts = st.one_of(
    st.text(),
    st.text("abct he'sd \n\t\x1c\x85\u2003é☃😀12-]<|", max_size=60),
    st.lists(
        st.sampled_from(["the", " the", "and", tiny.END, " ", "\n\n", "er", "'ll", "😀", "ing"]),
        max_size=20,
    ).map("".join),
)


def opened(folder: Path, described: dict[str, Any]) -> LibraryTokens:
    (folder / "tokenizer.json").write_text(json.dumps(described), "utf-8")
    return read_tokens(folder, 0)


@pytest.fixture(scope="module", params=KINDS)
def tokens(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> LibraryTokens:
    return opened(tmp_path_factory.mktemp("tokens"), KINDS[request.param])


@given(text=texts)
def test_every_text_comes_back_and_is_covered(tokens: LibraryTokens, text: str) -> None:
    own = tokens
    found = own.encode(text, special=False)
    clean = text.encode("utf-8", "replace").decode()
    assert own.decode(found.ids, []) == clean.replace(tiny.END, "")
    reached = 0
    for start, end in zip(found.starts, found.ends):
        assert reached - 1 <= start <= reached < end or start < reached == end
        reached = end
    assert reached == len(text)


def test_a_character_of_several_tokens_is_the_span_of_each(tmp_path: Path) -> None:
    own = opened(tmp_path, tiny.tokenizer(merges=""))
    found = own.encode("a☃b", special=False)
    assert list(zip(found.starts, found.ends)) == [(0, 1), (1, 2), (1, 2), (1, 2), (2, 3)]


def test_the_special_token_is_found_in_the_text(tmp_path: Path) -> None:
    own = opened(tmp_path, tiny.tokenizer())
    found = own.encode(f"the{tiny.END}the", special=True)
    assert found.ids == [own.encode("the", special=True).ids[0], 0, *found.ids[:1]]
    assert found.ends == [3, 3 + len(tiny.END), 6 + len(tiny.END)]
    assert own.decode(found.ids, []) == "thethe"


def test_a_word_of_a_hundred_thousand_letters_does_not_take_for_ever(tmp_path: Path) -> None:
    own = opened(tmp_path, tiny.tokenizer(merges="a a|aa aa|aaaa aaaa"))
    assert len(own.encode("a" * 100_000, special=False).ids) == 12_500


def test_bytes_that_are_no_character_are_shown_as_such(tmp_path: Path) -> None:
    own = opened(tmp_path, tiny.tokenizer(merges=""))
    first, *_ = own.encode("☃", special=False).ids
    assert own.decode([first], []) == "\ufffd"
    assert own.size == 257
    assert own.start_text == tiny.END


def test_spaces_that_a_tokenizer_leaves_out_belong_to_what_follows() -> None:
    # A start token, a word, a trimmed space before a word, a character in two tokens.
    spans = [(0, 0), (0, 3), (4, 7), (7, 8), (7, 8)]
    assert Encoded.of(range(5), spans).starts == [0, 0, 3, 7, 7]


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


@pytest.mark.parametrize("special", [True, False])
def test_a_start_token_is_added_where_the_file_says_so(tmp_path: Path, special: bool) -> None:
    found = opened(tmp_path, tiny.tokenizer() | {"post_processor": TEMPLATE})
    encoded = found.encode("the king and \ud800", special=special)
    assert encoded.ids[:special] == [0] * special
    assert (encoded.starts[0], max(encoded.ends)) == (0, 14)


def test_the_library_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _without(monkeypatch, "tokenizers")
    with pytest.raises(MissingExtra, match=r"\.\[numpy\]"):
        opened(tmp_path, tiny.tokenizer())


def _without(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    real = builtins.__import__

    def importing(name: str, *rest: Any) -> Any:
        if name.split(".")[0] == package:
            raise ImportError(name=name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", importing)
