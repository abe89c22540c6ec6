from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from rote.core.errors import InputError, OptionError, UnknownName
from rote.corpus import ReadOptions, open_corpus
from rote.corpus._shard import find_fields, strip_prompt

from .files import complaint, jsonl_bytes, skipped


@pytest.mark.parametrize(
    ("record", "text", "identity"),
    [
        ({"text": "a b", "content": "c d", "id": 1}, "text", "id"),
        ({"output": "a b", "prompt": "a much longer prompt than that"}, "output", None),
        ({"text": None, "completion": "a b", "uid": "x"}, "completion", "uid"),
        ({"answer": 1, "sentence": "a b", "_id": "x"}, "sentence", "_id"),
        ({"name": "k", "passage": "words that go on and on", "key": 2}, "passage", "key"),
        ({"count": "12", "ngram": "of the"}, "ngram", None),
        ({"source": "a very long name of a source", "utterance": "hm"}, "utterance", None),
        # Filtered, empty and numeric texts of `rote generate`, beside what else a record says.
        ({"text": None, "signature": "openai/3-of-a-model", "id": "1"}, "text", "id"),
        ({"text": "", "signature": "openai/3-of-a-model", "id": "1"}, "text", "id"),
        ({"text": "42", "signature": "openai/3-of-a-model", "id": "1"}, "text", "id"),
    ],
)
def test_fields_are_guessed(record, text, identity):
    fields = find_fields([record], ReadOptions(), "f")
    assert (fields.text, fields.id) == (text, identity)
    assert f"texts are in '{text}'" in fields.remark
    assert "--text-field" in fields.remark


def test_an_unclear_text_field_is_a_question_not_a_guess(write):
    path = write("a.jsonl", jsonl_bytes([{"good": "It rains now.", "bad": "It rain now.", "n": 1}]))
    error = complaint(path, on_error="skip")
    assert error.file == str(path)
    assert "fields: good, bad, n" in str(error)
    assert "--text-field" in str(error)
    assert [d.text for d in open_corpus(path, ReadOptions(text_field="bad"))] == ["It rain now."]


def test_no_text_at_all_is_an_error(write):
    error = complaint(write("a.jsonl", '{"n": 1}\n'))
    assert "no field contains text (fields: n)" in str(error)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("", "the text is empty"),
        (" \n\t", "the text is empty"),
        (None, "the text is null"),
        (3, "the text is a number"),
        (["a"], "the text is a list"),
        ({"a": 1}, "the text is an object"),
        (True, "the text is true or false"),
        ("a \ud83d b", "an unpaired surrogate (\\ud83d) at position 2"),
    ],
)
def test_a_text_that_cannot_be_used(write, value, problem):
    rows = [{"text": "one"}, {"text": value}, {"text": "three"}]
    path = write("a.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    error = complaint(path)
    assert (error.file, error.line, error.field) == (str(path), 2, "text")
    assert problem in str(error)
    assert "--on-error skip" in str(error)
    texts, problems = skipped(path)
    assert texts == ["one", "three"]
    assert len(problems) == 1


def test_a_missing_text_field_lists_those_that_are_there(write):
    path = write("a.jsonl", '{"text": "one"}\n{"txt": "two", "n": 1}\n')
    error = complaint(path)
    assert (error.line, error.field) == (2, "text")
    assert "the field is missing (fields: txt, n)" in str(error)
    assert "--text-field" in str(error)


@pytest.mark.parametrize(
    ("value", "problem"), [(None, "missing"), (1.5, "a number"), ([], "a list")]
)
def test_a_named_id_field_has_to_hold_an_id(write, value, problem):
    path = write("a.jsonl", jsonl_bytes([{"text": "one", "nr": 1}, {"text": "two", "nr": value}]))
    error = complaint(path, id_field="nr")
    assert (error.line, error.field) == (2, "nr")
    assert problem in str(error)
    assert "--id-field" in str(error)


def test_a_guessed_id_field_may_be_missing_in_some_records(write):
    path = write("a.jsonl", '{"text": "one", "id": "x"}\n{"text": "two"}\n')
    assert [d.id for d in open_corpus(path)] == ["x", "a:2"]


def test_the_prompt_field_is_kept_as_prompt(write):
    path = write("a.jsonl", '{"text": "one", "q": "why"}\n')
    (document,) = open_corpus(path, ReadOptions(prompt_field="q"))
    assert document.meta == {"q": "why", "prompt": "why"}


def test_an_echoed_prompt_is_removed(write):
    rows = [
        {"instruction": "Say  hello\nto me.", "output": " Say hello to me.\n\nHello!"},
        {"instruction": "Say bye.", "output": "Bye."},
        {"instruction": None, "output": "Say bye. Bye."},
    ]
    path = write("a.jsonl", jsonl_bytes(rows))
    corpus = open_corpus(path, ReadOptions(strip_prompt=True))
    assert [d.text for d in corpus] == ["Hello!", "Bye.", "Say bye. Bye."]
    assert "prompts in 'instruction'" in corpus.guesses[0]


def test_nothing_but_the_prompt_is_an_empty_text(write):
    path = write("a.jsonl", '{"prompt": "Say bye.", "text": "Say bye. "}\n')
    assert "the text is empty" in str(complaint(path, strip_prompt=True))


@pytest.mark.parametrize(
    ("text", "prompt", "rest"),
    [
        ("a cat sat", "a cat", "sat"),
        ("a cattle market", "a cat", "a cattle market"),
        ("猫が好きだ", "猫が", "好きだ"),
        ("a cat", "", "a cat"),
        ("other", "a cat", "other"),
        ("a", "a cat", "a"),
    ],
)
def test_strip_prompt(text, prompt, rest):
    assert strip_prompt(text, prompt) == rest


def test_another_input_is_read_alike_unless_something_else_is_said():
    own = ReadOptions(
        text_field="story",
        id_field="uid",
        input_format="jsonl",
        on_error="skip",
        where=("a=1",),
        join=("x.csv",),
        prompt_field="p",
        strip_prompt=True,
    )
    alike = ReadOptions(text_field="story", id_field="uid", input_format="jsonl", on_error="skip")
    assert own.beside() == alike
    changes = ("where=split=train", "text-field=body", "where=b>2", "id-field=", "strip-prompt=yes")
    asked = replace(
        alike, where=("split=train", "b>2"), text_field="body", id_field=None, strip_prompt=True
    )
    assert own.beside(changes) == asked
    same = {"where": ["split=train", "b>2"], "text_field": "body", "id_field": None}
    assert own.beside({**same, "strip_prompt": True}) == asked
    assert own.beside("text-field=body").text_field == "body"
    assert own.beside(ReadOptions()) == ReadOptions()
    with pytest.raises(UnknownName, match="'text-feld': did you mean 'text-field'"):
        own.beside("text-feld=body")
    with pytest.raises(UnknownName, match="'text_feld': did you mean 'text_field'"):
        own.beside({"text_feld": "body"})
    with pytest.raises(OptionError, match="strip_prompt is one of yes, no, not 'perhaps'"):
        own.beside("strip-prompt=perhaps")
    assert own.beside("strip-prompt=no").strip_prompt is False
    with pytest.raises(OptionError, match="write NAME=VALUE"):
        own.beside("body")
    with pytest.raises(OptionError, match="on_error is one of stop, skip, not 'go'"):
        own.beside("on-error=go")


def test_the_text_of_a_conversation_is_its_last_turn(tmp_path: Path) -> None:
    turns = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]
    for suffix, written in (
        ("jsonl", json.dumps({"id": "1", "messages": turns})),
        ("json", json.dumps([{"id": "1", "messages": turns}])),
    ):
        (tmp_path / f"c.{suffix}").write_text(written)
        (document,) = open_corpus([tmp_path / f"c.{suffix}"])
        assert (document.id, document.text) == ("1", "Hello.")
        assert document.meta["messages"] == turns
    (tmp_path / "wrong.jsonl").write_text('{"id": "1", "messages": ["Hi"]}')
    with pytest.raises(InputError, match="no field contains text"):
        list(open_corpus([tmp_path / "wrong.jsonl"]))
