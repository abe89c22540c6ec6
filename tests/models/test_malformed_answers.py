"""Answers of an endpoint that are not what its API says: an error that names what came."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from rote.core.errors import RoteError
from rote.core.http import Patience
from rote.core.model import Continuation, Decoding, Prompt
from rote.core.progress import Silent
from rote.models.answers import generate_all, score_all
from rote.models.endpoint.answers import MalformedAnswer, read_answer
from rote.models.endpoint.model import Endpoint
from rote.models.options import ModelOptions, open_model
from tests.kit import Heard
from tests.models.endpoint_server import Behaviour, Reply, serving, vllm

USAGE = {"prompt_tokens": 3, "completion_tokens": 2}
CHAT = {
    "model": "small",
    "choices": [{"message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}],
    "usage": USAGE,
}
LOGPROBS = {
    "tokens": ["To", " be"],
    "token_logprobs": [None, -1.5],
    "top_logprobs": [None, {" be": -1.5}],
}
COMPLETION = {
    "model": "small",
    "choices": [{"text": "To be", "finish_reason": "stop", "logprobs": LOGPROBS}],
    "usage": USAGE,
}
MESSAGES = {
    "choices": [
        {
            "text": " be",
            "logprobs": {
                "content": [
                    {
                        "token": " be",
                        "logprob": -1.0,
                        "top_logprobs": [{"token": "a", "logprob": -1}],
                    }
                ]
            },
        }
    ]
}
WRONG = ("hi", 5, -3, 2.5, 10**40, 1e999, -1e999, True, None, [], {}, [[]], [None], {"a": 1})


pytestmark = pytest.mark.usefixtures("own_cache")


def places(held: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every field and entry of an answer."""
    entries = held.items() if isinstance(held, dict) else enumerate(held)
    for name, value in entries:
        yield (*before, name)
        if isinstance(value, (dict, list)):
            yield from places(value, (*before, name))


def changed(held: Any, place: tuple[Any, ...], value: Any) -> Any:
    """The answer with another value there; `...` leaves it out."""
    held = copy.deepcopy(held)
    inside = held
    for name in place[:-1]:
        inside = inside[name]
    if value is ...:
        del inside[place[-1]]
    else:
        inside[place[-1]] = value
    return held


@pytest.mark.parametrize("answer", [CHAT, COMPLETION, MESSAGES], ids=["chat", "text", "messages"])
def test_a_wrong_type_anywhere_is_an_error_or_does_not_matter(answer: dict[str, Any]) -> None:
    """Every field of an answer, replaced by whatever JSON can hold, or left out."""
    refused = []
    for place in places(answer):
        for value in (*WRONG, ...):
            try:
                found = read_answer(changed(answer, place, value), "URL", json.dumps, scores=True)
            except MalformedAnswer as error:
                refused.append(str(error))
                continue
            assert isinstance(found.text, str), (place, value)
            for count in (found.prompt_tokens, found.output_tokens):
                assert count is None or 0 <= count < 2**31, (place, value)
            tokens, held = found.logprobs.tokens, found.logprobs.logprobs or ()
            assert all(isinstance(token, str) for token in tokens), (place, value)
            assert all(one is None or -(2.0**1000) < one <= 0.01 for one in held), (place, value)
    assert len(refused) > 60
    assert all(re.match("URL: expected .* in `.*`, got ", error) for error in refused)


RAW: dict[str, tuple[Any, str]] = {
    "no choices": ({}, "expected a list in `choices`, got nothing"),
    "choices null": ({"choices": None}, "expected a list in `choices`, got null"),
    "choices empty": ({"choices": []}, r"expected an object in `choices\[0\]`, got nothing"),
    "choice empty": ({"choices": [{}]}, "expected a `text` or a `message` in .*, got {}"),
    "choice a text": ({"choices": ["hi"]}, r"expected an object in `choices\[0\]`, got \"hi\""),
    "message a text": (
        {"choices": [{"message": "hi"}]},
        r"expected an object in `choices\[0\]\.message`, got \"hi\"",
    ),
    "message empty": (
        {"choices": [{"message": {}}]},
        r"expected a string in `choices\[0\]\.message\.content`, got nothing",
    ),
    "content null": (
        {"choices": [{"message": {"content": None}, "finish_reason": "stop"}]},
        r"expected a string in `choices\[0\]\.message\.content`, got null",
    ),
    "content a number": (
        {"choices": [{"message": {"content": 7}}]},
        "expected a string in .*, got 7",
    ),
    "a picture": (
        {"choices": [{"message": {"content": [{"type": "image_url", "image_url": "x"}]}}]},
        r"expected a part of text in `choices\[0\]\.message\.content\[0\]`, got .*image_url",
    ),
    "text null": ({"choices": [{"text": None}]}, "expected a string in .*text`, got null"),
    "tokens a word": (
        {"choices": [{"text": "hi"}], "usage": {"completion_tokens": "abc"}},
        'expected a number of tokens in `usage.completion_tokens`, got "abc"',
    ),
    "tokens without end": (
        b'{"choices": [{"text": "hi"}], "usage": {"completion_tokens": 1e999}}',
        "expected a number of tokens in .*, got Infinity",
    ),
    "tokens huge": (
        {"choices": [{"text": "hi"}], "usage": {"completion_tokens": 10**30}},
        "expected a number of tokens in .*, got 10000",
    ),
    "read a word": (
        {"choices": [{"text": "hi"}], "usage": {"prompt_tokens": "abc"}},
        'expected a number of tokens in `usage.prompt_tokens`, got "abc"',
    ),
    "usage a list": (
        {"choices": [{"text": "hi"}], "usage": [1]},
        r"expected an object in `usage`, got \[1\]",
    ),
    "model a number": ({"model": 4, "choices": [{"text": "hi"}]}, "a string in `model`, got 4"),
    "finish a list": (
        {"choices": [{"text": "hi", "finish_reason": ["stop"]}]},
        r"a string in `choices\[0\]\.finish_reason`, got \[\"stop\"\]",
    ),
    "an error": ({"error": {"message": "no room"}}, "answers with an error: no room"),
    "an error and null": ({"error": "no room", "choices": None}, "with an error: no room"),
    "html": (b"<html><h1>Sign in</h1></html>", "expected a JSON object, got <html>"),
    "cut off": (b'{"choices": [{"text": "h', "expected a JSON object, got {"),
    "empty": (b"", "expected a JSON object, got an empty body"),
    "blank": (b" \n", "expected a JSON object, got an empty body"),
    "a list": (b"[1]", r"expected a JSON object, got \[1\]"),
    "null": (b"null", "expected a JSON object, got null"),
    "not UTF-8": (b'{"choices": [{"text": "\xff\xfe"}]}', "expected a JSON object, got {"),
    "deep": (b"[" * 100_000, r"expected a JSON object, got \[\[\["),
    "NaN": (b'{"choices": [{"text": "hi"}], "usage": NaN}', "an object in `usage`, got NaN"),
    "digits": (b'{"a": ' + b"9" * 5_000 + b"}", "expected a JSON object, got {"),
}


def opened(url: str, *, chat: bool = False, batch: int = 8192) -> Endpoint:
    name = f"{'openai-chat' if chat else 'openai'}:{url}#small"
    model = open_model(name, ModelOptions(batch=batch), Silent())
    assert isinstance(model, Endpoint)
    model.client.patience = Patience(busy=2, first=0.001)
    return model


@pytest.mark.parametrize("chat", [False, True], ids=["completions", "chat"])
@pytest.mark.parametrize(("answer", "message"), RAW.values(), ids=RAW.keys())
def test_a_malformed_answer_is_one_line_and_is_not_cached(
    answer: Any, message: str, chat: bool
) -> None:
    broken = [True]

    def behaviour(path: str, asked: dict[str, Any]) -> Reply:
        prompt = asked["messages"][0]["content"] if chat else asked["prompt"]
        if prompt == "bad" and broken[0]:
            return 200, answer
        return 200, CHAT if chat else COMPLETION

    with serving(behaviour) as served:
        model = opened(served.url, chat=chat, batch=1)
        prompts = [Prompt("one"), Prompt("two"), Prompt("bad")]
        with pytest.raises(RoteError, match=message) as refused:
            generate_all(model, prompts, Decoding(5), Silent())
        said = str(refused.value)
        assert said.startswith(f"{served.url}{'/chat' * chat}/completions")
        assert "\n" not in said
        assert len(said) < 700
        before = len(served.requests)
        broken[0] = False
        made = generate_all(model, prompts, Decoding(5), Silent())
        assert len({one.text for one in made}) == 1
        # What was answered is in the cache, and nothing else is.
        assert len(served.requests) - before == 4 - before


@pytest.mark.parametrize(
    "logprobs",
    [
        "many",
        3,
        [1],
        {"tokens": "To be", "token_logprobs": [-1]},
        {"tokens": [1, 2]},
        {"tokens": ["To"], "token_logprobs": "x"},
        {"tokens": ["To"], "token_logprobs": ["x"]},
        {"tokens": ["To"], "token_logprobs": [1e999]},
        {"tokens": ["To"], "token_logprobs": [7]},
        {"tokens": ["To"], "token_logprobs": [True]},
        {"tokens": ["To", " be"], "token_logprobs": [-1, -1], "top_logprobs": [{}]},
        {"tokens": ["To"], "token_logprobs": [-1], "top_logprobs": ["x"]},
        {"tokens": ["To"], "token_logprobs": [-1], "top_logprobs": [{"To": "x"}]},
        {"content": "x"},
        {"content": ["x"]},
        {"content": [{"logprob": -1}]},
        {"content": [{"token": "To", "logprob": "x"}]},
        {"content": [{"token": "To", "logprob": -1, "top_logprobs": [3]}]},
    ],
    ids=str,
)
def test_malformed_log_probabilities_are_one_line_and_are_not_cached(logprobs: Any) -> None:
    broken = [True]

    def behaviour(path: str, asked: dict[str, Any]) -> Reply:
        if "bad" in asked["prompt"] and broken[0]:
            return 200, {"choices": [{"text": "To be", "logprobs": logprobs}]}
        return vllm(path, asked)

    wanted = [Continuation("one", " two"), Continuation("bad", " two")]
    with serving(behaviour) as served:
        model = opened(served.url, batch=1)
        with pytest.raises(MalformedAnswer, match=r"expected .* in `choices\[0\]\.logprobs.*, got"):
            score_all(model, wanted, Silent())
        before = len(served.requests)
        broken[0] = False
        assert [len(one.logprobs) for one in score_all(model, wanted, Silent())] == [1, 1]
        assert len(served.requests) - before <= 1


PART = {"type": "text", "text": "a "}


def message(**fields: Any) -> Behaviour:
    finish = fields.pop("finish", "stop")
    return lambda path, asked: (200, {"choices": [{"message": fields, "finish_reason": finish}]})


@pytest.mark.parametrize(
    ("fields", "text", "ended"),
    [
        ({"content": ""}, "", "end"),
        ({"content": "half \ud83d"}, "half \ufffd", "end"),
        ({"content": [PART, PART]}, "a a ", "end"),
        ({"content": [{"type": "thinking", "thinking": []}, PART]}, "a ", "end"),
        ({"content": []}, "", "end"),
        ({"content": None, "finish": "length"}, "", "length"),
        ({"content": None, "reasoning_content": "hm"}, "", "end"),
        ({"content": None, "finish": "content_filter"}, "", "filtered"),
        ({"finish": "content_filter"}, "", "filtered"),
        ({"content": "as far as", "finish": "content_filter"}, "as far as", "filtered"),
        ({"content": None, "refusal": "I cannot help with that."}, "", "filtered"),
    ],
    ids=str,
)
def test_what_a_message_may_hold(fields: dict[str, Any], text: str, ended: str) -> None:
    with serving(message(**fields)) as served:
        (made,) = opened(served.url, chat=True).generate([Prompt("Hello")], Decoding(9))
    assert (made.text, made.ended) == (text, ended)
    assert made.tokens > 0 or ended == "filtered"


def test_filtered_texts_are_counted_and_cached() -> None:
    with serving(message(content=None, finish="content_filter")) as served:
        model = opened(served.url, chat=True)
        for _ in range(2):
            heard = Heard()
            made = generate_all(model, [Prompt("a"), Prompt("b")], Decoding(9), heard)
            assert {one.ended for one in made} == {"filtered"}
            assert "generating: the endpoint filtered 2 of 2 texts" in heard.lines[-1]
        assert len(served.requests) == 2
