"""Endpoints: what is sent and read, what is tried again, and where the key never stands."""

from __future__ import annotations

import email.utils
import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.core.errors import OptionError, RoteError
from rote.core.http import Pace, Patience, Refused, _retry_after
from rote.core.model import Continuation, Decoding, Message, Prompt
from rote.core.progress import Silent
from rote.models import options as opening
from rote.models.answers import generate_all, score_all
from rote.models.endpoint.answers import align_tokens
from rote.models.endpoint.model import OPENAI, CostEstimate, Endpoint, open_client, parse_address
from rote.models.options import ModelOptions
from tests.kit import PATIENCE, Heard
from tests.models.endpoint_server import (
    Behaviour,
    Reply,
    Served,
    generates_only,
    gpt2,
    prompt_only,
    prompt_without_start,
    refuses_echo,
    serving,
    tokens_of,
    vllm,
)

KEY = "sk-never-to-be-seen-0123456789"
UNPENALIZED = {"repetition_penalty": 1.0, "repeat_penalty": 1.0}
QUICK = Patience(busy=3, unreachable=2, slow=2, first=0.001, connect=30.0, answer=PATIENCE)


@pytest.fixture(autouse=True)
def _no_key_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


@contextmanager
def endpoint(
    behaviour: Behaviour, *, model: str = "small", chat: bool = False, **options: Any
) -> Iterator[tuple[Endpoint, Served, Heard]]:
    with serving(behaviour) as served:
        backend = "openai-chat" if chat else "openai"
        heard = Heard()
        made = opening.open_model(f"{backend}:{served.url}#{model}", ModelOptions(**options), heard)
        assert isinstance(made, Endpoint)
        made.client.patience = QUICK
        yield made, served, heard


def after(failures: list[Reply], behaviour: Behaviour) -> Behaviour:
    """Behaves after these replies were given."""
    left = list(failures)
    return lambda path, asked: left.pop(0) if left else behaviour(path, asked)


def test_scores_are_those_of_the_echoed_continuation() -> None:
    with endpoint(vllm) as (model, served, heard):
        found = model.score([Continuation("To be", " or not"), Continuation("", "To the end")])
    assert found[0].logprobs.tolist() == [-3.0, -4.0]
    assert list(zip(found[0].starts, found[0].ends)) == [(0, 3), (3, 7)]
    assert found[0].greedy.tolist() == [True, True]
    assert found[1].logprobs.tolist() == [-2.0, -4.0, -4.0]
    assert all(math.isnan(one) for one in (*found[0].expected, *found[0].spread))
    path, body, headers = served.requests[-1]
    assert path == "/v1/completions"
    assert (body["echo"], body["logprobs"], body["max_tokens"]) == (True, 1, 1)
    assert "Authorization" not in headers
    assert heard.lines == []


def test_a_first_token_without_a_start_token_is_left_out_and_that_is_said() -> None:
    with endpoint(gpt2) as (model, _, heard):
        found = model.score([Continuation("", "To be or"), Continuation("", "Not to be")])
        assert found[0].starts.tolist() == [2, 5]
        assert len(heard.lines) == 1
        assert "second token" in heard.lines[0]
        assert model.score([Continuation("To", " be")])[0].logprobs.tolist() == [-3.0]
        with pytest.raises(RoteError, match="one token"):
            model.score([Continuation("", "To")])


@pytest.mark.parametrize(("echo", "prompt"), [(vllm, prompt_only), (gpt2, prompt_without_start)])
def test_log_probabilities_of_the_prompt_are_those_of_the_echo(
    echo: Behaviour, prompt: Behaviour
) -> None:
    wanted = [
        Continuation("To be", " or not"),
        Continuation("", "To be, longer words"),
        Continuation("the", " the the"),
    ]
    found = []
    for behaviour in (echo, prompt):
        with endpoint(behaviour) as (model, served, heard):
            found.append(model.score(wanted))
    for one, other in zip(*found):
        for name in ("logprobs", "starts", "ends", "greedy"):
            assert getattr(one, name).tolist() == getattr(other, name).tolist()
    _, body, _ = served.requests[-1]
    assert ("echo" in body, body["prompt_logprobs"]) == (False, 1)
    assert "scored by its `prompt_logprobs`" in heard.lines[0]


@pytest.mark.parametrize("rows", [{}, [None, {"1": {"logprob": 1}}], [{"1": {"rank": "first"}}]])
def test_malformed_log_probabilities_of_the_prompt_are_an_error(rows: Any) -> None:
    def broken(path: str, asked: dict[str, Any]) -> Reply:
        status, answer, *_ = prompt_only(path, asked)
        if "prompt_logprobs" in asked:
            answer["choices"][0]["prompt_logprobs"] = rows
        return status, answer

    with endpoint(broken) as (model, _, _), pytest.raises(RoteError, match="prompt_logprobs"):
        model.score([Continuation("To be", " or not")])


@pytest.mark.parametrize("behaviour", [generates_only, refuses_echo])
def test_an_endpoint_that_cannot_score_is_told_from_one_that_can(behaviour: Behaviour) -> None:
    with endpoint(behaviour) as (model, _, _):
        with pytest.raises(RoteError, match="can generate but not score"):
            model.score([Continuation("To be", " or not")])
        assert model.generate([Prompt("To be")], Decoding(2))[0].text == " the end"


@pytest.mark.parametrize(
    "logprobs", [None, {}, {"tokens": ["To", " be"]}, {"tokens": ["To"], "token_logprobs": []}]
)
def test_missing_log_probabilities_are_an_error(logprobs: Any) -> None:
    answer = {"choices": [{"text": "To be", "logprobs": logprobs}]}
    with (
        endpoint(lambda path, asked: (200, answer)) as (model, _, _),
        pytest.raises(RoteError, match="not score"),
    ):
        model.score([Continuation("", "To be")])


def test_generation_sends_the_settings_that_matter() -> None:
    decoding = Decoding(3, temperature=0.7, top_p=0.9, top_k=5, stop=("end",))
    with endpoint(vllm) as (model, served, _):
        drawn = model.generate([Prompt("To be", 7)], decoding)[0]
        greedy = model.generate([Prompt("To be", 7)], Decoding(2))[0]
    assert (drawn.text, drawn.tokens, drawn.ended) == (" the ", 3, "stop")
    assert (greedy.text, greedy.tokens, greedy.ended) == (" the end", 2, "length")
    sent = {"model": "small", "prompt": "To be", "max_tokens": 3, "temperature": 0.7}
    sent |= {"seed": 7, "top_p": 0.9, "top_k": 5, "min_p": 0.0, "stop": ["end"]}
    sent |= UNPENALIZED
    assert served.requests[0][1] == sent
    assert drawn.sent == {k: v for k, v in sent.items() if k not in ("model", "prompt")}
    greedy_settings = {"max_tokens": 2, "temperature": 0.0, **UNPENALIZED}
    assert served.requests[1][1] == {"model": "small", "prompt": "To be", **greedy_settings}


def test_settings_at_rest_are_sent_for_servers_that_have_their_own() -> None:
    """llama.cpp takes top_k 40, top_p 0.95 and min_p 0.05 unless it is told."""
    with endpoint(vllm) as (model, served, heard):
        made = model.generate([Prompt("To be", 7)], Decoding(1, temperature=1.0))[0]
    sent = {"max_tokens": 1, "temperature": 1.0, "seed": 7, "top_p": 1.0, "top_k": 0, "min_p": 0.0}
    assert made.sent == {**sent, **UNPENALIZED}
    assert served.requests[0][1] == {"model": "small", "prompt": "To be", **made.sent}
    assert heard.lines == []


def test_a_setting_that_a_server_does_not_know_is_left_out_and_that_is_said() -> None:
    def strict(path: str, asked: dict[str, Any]) -> Reply:
        for name in ("min_p", "repeat_penalty"):
            if name in asked:
                detail = [{"loc": ["body", name], "msg": "Extra inputs are not permitted"}]
                return 422, {"detail": detail}
        if asked.get("top_k") == 0:
            return 400, {"error": {"message": "top_k must be -1 (disable), or at least 1, got 0."}}
        return vllm(path, asked)

    with endpoint(strict) as (model, served, heard):
        decoding = Decoding(1, temperature=1.0)
        first, second = (model.generate([Prompt("To be", n)], decoding)[0] for n in (1, 2))
    assert first.sent is not None
    assert second.sent is not None
    assert (first.sent["top_k"], "min_p" in first.sent, "repeat_penalty" in first.sent) == (
        -1,
        False,
        False,
    )
    assert set(first.sent) == set(second.sent)
    assert len(served.requests) == 5
    assert [line.split("`")[1] for line in heard.lines] == ["min_p", "repeat_penalty"]

    def no_top_k(path: str, asked: dict[str, Any]) -> Reply:
        return (400, {"error": "top_k is unknown"}) if "top_k" in asked else vllm(path, asked)

    with endpoint(no_top_k) as (model, _, _):
        model.generate([Prompt("To be")], Decoding(1, temperature=1.0))
        with pytest.raises(RoteError, match="top_k is unknown"):
            model.generate([Prompt("To be")], Decoding(1, temperature=1.0, top_k=5))


def test_openai_is_sent_nothing_that_its_api_does_not_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    made = opening.open_model("openai:some-model", ModelOptions(), Silent())
    assert isinstance(made, Endpoint)
    sent = made._sent(Prompt("a", 3), Decoding(1, temperature=1.0))
    assert sent == {"max_tokens": 1, "temperature": 1.0, "seed": 3, "top_p": 1.0}


def test_an_echo_that_belongs_to_other_tokens_is_refused() -> None:
    """As llama-cpp-python's for models without a start token: perplexity 325,179 in place of 84."""

    def by_place(path: str, asked: dict[str, Any], shift: int) -> Reply:
        status, answer = gpt2(path, asked)[:2]
        held = answer["choices"][0]["logprobs"]
        if held is None:  # it does not know `prompt_logprobs`
            return status, answer
        first = 0 if asked.get("echo") else len(tokens_of(asked["prompt"]))
        places = range(first, first + len(held["tokens"]))
        held["token_logprobs"] = [-1.0 - (5 * (place + shift)) % 7 for place in places]
        if asked.get("echo"):
            held["token_logprobs"][0] = None
        return status, answer

    with endpoint(lambda path, asked: by_place(path, asked, 0)) as (model, _, _):
        assert len(model.score([Continuation("To be", " or not")])[0].logprobs) == 2
    shifted = lambda path, asked: by_place(path, asked, int(bool(asked.get("echo"))))  # noqa: E731
    with endpoint(shifted) as (model, served, _):
        with pytest.raises(RoteError, match="its echo belongs to other tokens"):
            model.score([Continuation("To be", " or not")])
        assert len(served.requests) == 4


def test_an_echo_that_cannot_be_checked_is_refused() -> None:
    def ends_at_once(path: str, asked: dict[str, Any]) -> Reply:
        status, answer = vllm(path, asked)[:2]
        answer["choices"][0]["text"] = ""
        return status, answer

    with (
        endpoint(ends_at_once) as (model, _, _),
        pytest.raises(RoteError, match="could be compared with its echo"),
    ):
        model.score([Continuation("To be", " or not")])


def test_what_a_prompt_gets_stands_at_its_place() -> None:
    def slow_for_some(path: str, asked: dict[str, Any]) -> Reply:
        time.sleep(0.02 * (int(asked["prompt"]) % 3))
        return 200, {"choices": [{"text": asked["prompt"] * 2, "finish_reason": "stop"}]}

    with endpoint(slow_for_some) as (model, _, _):
        found = model.generate([Prompt(str(i)) for i in range(12)], Decoding(1))
    assert [one.text for one in found] == [str(i) * 2 for i in range(12)]
    assert {one.ended for one in found} == {"end"}


def test_messages_are_sent_where_chat_is_asked_for() -> None:
    with endpoint(vllm, chat=True) as (model, served, _):
        found = model.generate([Prompt("Hello", 3)], Decoding(9, temperature=1.0))[0]
        assert (found.text, found.ended) == ("You said: Hello", "end")
        assert served.requests[0][0] == "/v1/chat/completions"
        assert served.requests[0][1]["messages"] == [{"role": "user", "content": "Hello"}]
        turns = (Message("system", "Be brief."), Message("user", "Hello"))
        model.generate([Prompt("Hello", 3, turns)], Decoding(9))
        assert served.requests[1][1]["messages"] == [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hello"},
        ]
        with pytest.raises(RoteError, match="not score"):
            model.score([Continuation("a", "b")])
        assert "-chat" in model.signature
    with endpoint(vllm, chat=True, model="newer") as (model, served, _):
        model.generate([Prompt("Hello")], Decoding(9))
        model.generate([Prompt("Hello")], Decoding(9))
    assert [body.get("max_completion_tokens") for _, body, _ in served.requests] == [None, 9, 9]


def test_an_endpoint_without_completions_is_told_apart() -> None:
    message = "This is a chat model and not supported in the v1/completions endpoint."
    reply = 404, {"error": {"message": message, "type": "invalid_request_error", "code": None}}
    with endpoint(lambda path, asked: reply) as (model, served, _):
        with pytest.raises(RoteError, match=r"openai-chat:http://127\.0\.0\.1"):
            model.generate([Prompt("Hello")], Decoding(1))
        assert len(served.requests) == 1


@pytest.mark.parametrize(
    "failures",
    [
        [(429, {"error": {"message": "slow down"}}, {"Retry-After": "0"})] * 2,
        [(500, b"oops"), (503, {"error": "overloaded"})],
        [(0, b"")],
    ],
)
def test_trouble_that_passes_is_waited_for(failures: list[Reply]) -> None:
    with endpoint(after(failures, vllm)) as (model, served, _):
        assert model.generate([Prompt("To be")], Decoding(1))[0].text == " the"
        assert len(served.requests) == len(failures) + 1


def test_trouble_that_stays_is_an_error_with_its_reason() -> None:
    busy = 429, {"error": {"message": "too many requests"}}, {"Retry-After": "0.001"}
    with endpoint(lambda path, asked: busy) as (model, served, _):
        with pytest.raises(RoteError, match="429: too many requests; given up after 3 attempts"):
            model.generate([Prompt("To be")], Decoding(1))
        assert len(served.requests) == 3
    quota = 429, {"error": {"message": "no money left", "code": "insufficient_quota"}}
    with endpoint(lambda path, asked: quota) as (model, served, _):
        with pytest.raises(RoteError, match="no money left"):
            model.generate([Prompt("To be")], Decoding(1))
        assert len(served.requests) == 1


def test_every_wait_is_said_and_the_last_attempt_ends_all() -> None:
    """Twenty requests to a server that always fails, eight at a time: none begins after the first
    has been given up."""
    with endpoint(lambda path, asked: (500, b"oops")) as (model, served, heard):
        with pytest.raises(RoteError, match="500: oops; given up after 3 attempts"):
            model.generate([Prompt(str(n)) for n in range(20)], Decoding(1))
        assert len(served.requests) <= 8 * 3
        assert len({body["prompt"] for _, body, _ in served.requests}) <= 8
    waits = [line.partition("; ")[2] for line in heard.lines]
    assert waits == [
        "retrying in 0.001 s (2 attempts left, 120 s at most)",
        "retrying in 0.002 s (1 attempt left, 120 s at most)",
    ]
    with endpoint(after([(500, b"oops")], vllm)) as (model, _, _):
        # A request that was given up before does not end the next ones.
        with pytest.raises(RoteError), endpoint(lambda path, asked: (500, b"oops")) as (other, *_):
            other.generate([Prompt("To be")], Decoding(1))
        assert model.generate([Prompt("To be")], Decoding(1))[0].text == " the"
        assert model.generate([Prompt("To be")], Decoding(1))[0].text == " the"


def test_attempts_end_after_a_time() -> None:
    with endpoint(lambda path, asked: (503, b"busy")) as (model, served, _):
        model.client.patience = Patience(busy=1000, first=0.001, total=0.05)
        message = r"given up after \d attempts? \(the limit is 0\.05 s\)\. Answers are saved"
        for _ in range(2):  # nothing is left of the first
            with pytest.raises(RoteError, match=message):
                model.generate([Prompt("To be")], Decoding(1))
        assert 2 <= len(served.requests) <= 14
        asked = 503, b"busy", {"Retry-After": "90"}
    with endpoint(lambda path, body: asked) as (model, served, _):
        model.client.patience = Patience(longest=600.0, total=60.0)
        with pytest.raises(RoteError, match=r"given up after 1 attempt \(the limit is 60 s\)"):
            model.generate([Prompt("To be")], Decoding(1))


def test_an_error_within_an_answer_is_one() -> None:
    """Gateways answer 200 and name the status of the server behind them."""
    busy = 200, {"error": {"message": "upstream is busy", "code": 503}}
    with endpoint(after([busy], vllm)) as (model, served, _):
        assert model.generate([Prompt("To be")], Decoding(1))[0].text == " the"
        assert len(served.requests) == 2
    wrong = 200, {"error": {"message": "no such model", "code": 404}}
    with (
        endpoint(lambda path, asked: wrong) as (model, _, _),
        pytest.raises(RoteError, match="answers 404: no such model"),
    ):
        model.generate([Prompt("To be")], Decoding(1))


def test_a_late_answer_is_given_up() -> None:
    given_up = threading.Event()

    def asleep(path: str, asked: dict[str, Any]) -> Reply:
        assert given_up.wait(PATIENCE)
        return 200, {}

    with endpoint(asleep) as (model, _, _):
        model.client.patience = replace(QUICK, answer=0.2)
        try:
            with pytest.raises(RoteError, match="timed out; given up after 2 attempts"):
                model.generate([Prompt("To be")], Decoding(1))
        finally:
            given_up.set()


def test_an_endpoint_that_is_not_there_is_noticed_in_seconds() -> None:
    with serving(vllm) as served:
        gone = served.url
    model = opening.open_model(f"openai:{gone}#small", ModelOptions(), Silent())
    assert isinstance(model, Endpoint)
    waits = [model.client.patience.wait(attempt, None) for attempt in range(1, 4)]
    most = model.client.patience.unreachable * model.client.patience.connect + sum(waits)
    assert most < 30
    model.client.patience = QUICK
    with pytest.raises(RoteError, match=r"cannot be reached .* given up after 2 attempts"):
        model.generate([Prompt("To be")], Decoding(1))


@pytest.mark.parametrize("answer", [b"<html>hello</html>", b"[1]", b"\xff"])
def test_what_is_no_json_is_an_error(answer: bytes) -> None:
    with (
        endpoint(lambda path, asked: (200, answer)) as (model, _, _),
        pytest.raises(RoteError, match="expected a JSON object"),
    ):
        model.generate([Prompt("To be")], Decoding(1))
    with (
        endpoint(lambda path, asked: (200, {"choices": []})) as (model, _, _),
        pytest.raises(RoteError, match="expected an object in `choices"),
    ):
        model.generate([Prompt("To be")], Decoding(1))


def test_waits_double_and_are_those_that_were_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    patience = Patience(first=0.5, longest=60)
    assert [patience.wait(n, None) for n in (1, 2, 3, 9)] == [0.5, 1.0, 2.0, 60.0]
    assert [patience.wait(1, asked) for asked in (0.0, 7.0, 900.0, -3.0)] == [0.0, 7.0, 60.0, 0.0]
    assert _retry_after(None) is None
    assert _retry_after("soon") is None
    assert _retry_after("2.5") == 2.5
    now = time.time()
    date = email.utils.formatdate(now + 30, usegmt=True)
    monkeypatch.setattr(time, "time", lambda: now)
    assert _retry_after(date) == pytest.approx(30, abs=2)


def test_requests_keep_their_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    now, slept = [100.0], []
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "sleep", slept.append)
    pace = Pace(120)
    for _ in range(3):
        pace.wait()
    now[0] = 200.0
    pace.wait()
    assert slept == [0.0, 0.5, 1.0, 0.0]
    Pace(0).wait()
    assert len(slept) == 4


def test_the_key_is_sent_and_stands_nowhere_else(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ROTE_CACHE", str(tmp_path))

    def rude(path: str, asked: dict[str, Any]) -> Reply:
        return 401, {"error": {"message": f"Incorrect API key provided: {KEY}", "code": KEY}}

    with endpoint(vllm, price=(1.0, 2.0), yes=True) as (model, served, heard):
        generate_all(model, [Prompt("To be")], Decoding(2), heard)
        score_all(model, [Continuation("To be", " or not")], heard)
        assert {headers["Authorization"] for _, _, headers in served.requests} == {f"Bearer {KEY}"}
        model.about_to(1, 10, 10)
        shown = [repr(model), repr(model.client), model.signature, *heard.lines]
    with endpoint(rude) as (model, _, heard):
        with pytest.raises(RoteError) as refused:
            model.generate([Prompt("To be")], Decoding(1))
        shown += [str(refused.value), repr(refused.value), *heard.lines]
    with endpoint(lambda path, asked: (500, KEY.encode())) as (model, _, _):
        with pytest.raises(RoteError) as broken:
            model.generate([Prompt("To be")], Decoding(1))
        shown.append(str(broken.value))
    with endpoint(lambda path, asked: (200, f"key: {KEY}".encode())) as (model, _, _):
        with pytest.raises(RoteError) as odd:
            model.generate([Prompt("To be")], Decoding(1))
        shown.append(str(odd.value))
    assert any("(environment variable OPENAI_API_KEY) was not accepted" in one for one in shown)
    assert not any(KEY in one for one in shown)
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert written
    assert not any(KEY.encode() in path.read_bytes() for path in written)


def test_a_key_goes_nowhere_that_it_should_not(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OptionError, match="OPENAI_API_KEY is not set"):
        opening.open_model("openai:davinci-002", ModelOptions(), Silent())
    monkeypatch.setenv("OTHER_KEY", KEY)
    options = ModelOptions(key_variable="OTHER_KEY")
    with pytest.raises(OptionError, match="unencrypted"):
        opening.open_model("openai:http://example.org/v1#m", options, Silent())
    heard = Heard()
    opening.open_model("openai:https://example.org/v1#m", options, heard)
    assert heard.lines == ["the key in OTHER_KEY is sent to example.org"]
    found = opening.open_model("openai:davinci-002", options, Heard())
    assert found.signature == "openai/3-api.openai.com/v1-davinci-002-completions"


def test_addresses() -> None:
    url, model = parse_address("http://localhost:8000/v1/#org/model")
    assert (url, model) == ("http://localhost:8000/v1", "org/model")
    found = open_client(url, "NO_KEY")
    assert (found.host, found.port, found.local) == ("localhost", 8000, True)
    assert open_client("https://example.org", "NO_KEY").port == 443
    assert parse_address("gpt-x") == (OPENAI, "gpt-x")
    for wrong in (
        "http://localhost:8000/v1",
        "ftp://host#m",
        "localhost:8000#m",
        "http://host#",
        "http://name:secret@host/v1#m",
        "https://host/v1?key=secret#m",
        "http://host:port/v1#m",
    ):
        with pytest.raises(OptionError) as refused:
            open_client(parse_address(wrong)[0], "NO_KEY")
        assert "secret" not in str(refused.value)


def test_costs_are_said_first_and_agreed_to() -> None:
    assert CostEstimate(3, 2_000_000, 500_000, (0.5, 1.5)).cost == pytest.approx(1.75)
    assert CostEstimate(3, 1, 1, None).cost is None
    assert str(CostEstimate(3, 1, 1, (0.5, 1.5))).endswith("less than 0.01")
    with endpoint(vllm, price=(1.0, 2.0)) as (model, _, heard):
        with pytest.raises(OptionError, match=r"3 requests.*at most about 3\.00.*--yes"):
            model.about_to(3, 1_000_000, 1_000_000)
        assert heard.lines == []
    with endpoint(vllm, price=(1.0, 2.0), yes=True) as (model, _, heard):
        model.about_to(3, 1_000_000, 1_000_000)
        model.about_to(3, 1_000_000, 1_000_000)
        assert len(heard.lines) == 1
        assert "3.00" in heard.lines[0]
    with endpoint(vllm) as (model, _, heard):
        model.about_to(3, 10, 20)
        assert "3 requests, about 10 tokens read" in heard.lines[0]
    with pytest.raises(OptionError, match="two numbers"), endpoint(vllm, price=(1.0,)):
        pass


def test_what_was_answered_is_not_asked_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ROTE_CACHE", str(tmp_path))
    prompts = [Prompt(f"number {i}") for i in range(6)]
    asked: list[str] = []

    def dies(path: str, body: dict[str, Any]) -> Reply:
        asked.append(body["prompt"])
        return (400, {"error": "dead"}) if len(asked) > 3 else vllm(path, body)

    with serving(after([], dies)) as served:
        model = opening.open_model(f"openai:{served.url}#m", ModelOptions(batch=1), Silent())
        with pytest.raises(Refused):
            generate_all(model, prompts, Decoding(2), Silent())
        asked.clear()
        found = generate_all(model, prompts[:3], Decoding(2), Silent())
    assert [one.text for one in found] == [" the end"] * 3
    assert asked == []


@given(st.lists(st.sampled_from(["ab", " cd", "é", " 🙂", "\n", "x"]), max_size=8), st.booleans())
def test_tokens_are_laid_along_their_text(tokens: list[str], started: bool) -> None:
    text = "".join(tokens)
    cut: list[str] = []
    expected: list[tuple[int, int]] = []
    place = 0
    for token in tokens:
        if "🙂" in token:  # comes in two pieces, neither of which can be written
            cut += ["\ufffd", "\ufffd"]
            expected += [(place, place + len(token))] * 2
        else:
            cut.append(token)
            expected.append((place, place + len(token)))
        place += len(token)
    # Broken ones side by side share what they spell together.
    joined: list[tuple[int, int]] = []
    for i, span in enumerate(expected):
        first = i
        while first and cut[first] == cut[first - 1] == "\ufffd":
            first -= 1
        last = i
        while last + 1 < len(cut) and cut[last] == cut[last + 1] == "\ufffd":
            last += 1
        whole = (expected[first][0], expected[last][1])
        joined.append(whole if cut[i] == "\ufffd" else span)
    start = ["<s>"] if started else []
    found = align_tokens([*start, *cut, " generated"], text)
    assert found == [(0, 0)] * (len(start) if text else 0) + joined


def test_tokens_that_spell_another_text_are_noticed() -> None:
    assert align_tokens(["To", " be"], "To be") == [(0, 2), (2, 5)]
    assert align_tokens([" To", " be"], "To be") == [(0, 2), (2, 5)]
    assert align_tokens(["To"], "To be") is None
    assert align_tokens(["to", " be"], "To be") is None
    assert align_tokens([" the"], "To be") is None
    assert align_tokens([], "To be") is None
    assert align_tokens(["\ufffd", " no", " way"], "é, not here") is None
    assert align_tokens(tokens_of("To be or"), "To be or") == [(0, 2), (2, 5), (5, 8)]


def cuts(tokens: int) -> Behaviour:
    """Reads so many tokens of a prompt, and says nothing of the rest."""

    def behaviour(path: str, asked: dict[str, Any]) -> Reply:
        status, answer = vllm(path, asked)[:2]
        read = min(tokens, len(tokens_of(asked["prompt"])))
        return status, {**answer, "usage": {"prompt_tokens": read, "completion_tokens": 1}}

    return behaviour


def test_an_endpoint_that_cuts_long_prompts_is_found_out() -> None:
    words = ["word", "another", "some", "more", "of", "it"]
    prompts = [" ".join((words * 40)[:count]) for count in (5, 12, 20, 35, 60, 110)]
    with endpoint(cuts(16)) as (model, _, _):
        assert len(model.generate([Prompt(one) for one in prompts[:3]], Decoding(1))) == 3
        with pytest.raises(RoteError, match="counts 16 tokens"):
            model.generate([Prompt(one) for one in prompts], Decoding(1))
    with endpoint(cuts(16)) as (model, _, _):  # one text, cut to a tenth
        with pytest.raises(RoteError, match="truncates long texts"):
            model.generate([Prompt("word " * 200)], Decoding(1))
        # Blanks in a row may be one token.
        assert model.generate([Prompt("word" + " " * 900)], Decoding(1))
    with endpoint(cuts(10**6)) as (model, _, _):
        assert len(model.generate([Prompt(one) for one in prompts], Decoding(1))) == 6

    def says_so(path: str, asked: dict[str, Any]) -> Reply:
        status, answer = vllm(path, asked)[:2]
        return status, {**answer, "truncated": True}

    with endpoint(says_so) as (model, _, _), pytest.raises(RoteError, match="only a part"):
        model.generate([Prompt("a b c")], Decoding(1))


@pytest.mark.parametrize("kept", ["first", "last"])
def test_an_endpoint_that_cuts_what_is_scored_is_found_out(kept: str) -> None:
    def behaviour(path: str, asked: dict[str, Any]) -> Reply:
        some = tokens_of(asked["prompt"])
        some = some[:20] if kept == "first" else some[-20:]
        return vllm(path, {**asked, "prompt": "".join(some)})

    with endpoint(behaviour) as (model, _, _):
        assert len(model.score([Continuation("", "a few words")])) == 1
        with pytest.raises(RoteError, match="do not match the text that was sent"):
            model.score([Continuation("", "and many words " * 20)])


def test_fewer_log_probabilities_than_tokens_are_an_error() -> None:
    def gaps(path: str, asked: dict[str, Any]) -> Reply:
        status, answer = vllm(path, asked)[:2]
        held = answer["choices"][0]["logprobs"]["token_logprobs"]
        if "gap" in asked["prompt"]:
            held[3] = None
        return status, answer

    def shorter(path: str, asked: dict[str, Any]) -> Reply:
        status, answer = vllm(path, asked)[:2]
        if "gap" in asked["prompt"]:
            answer["choices"][0]["logprobs"]["token_logprobs"].pop()
        return status, answer

    for behaviour, said in ((gaps, "1 token comes without"), (shorter, "no token_logprobs")):
        with endpoint(behaviour) as (model, _, _):
            assert len(model.score([Continuation("", "a few words")])) == 1
            with pytest.raises(RoteError, match=said):
                model.score([Continuation("", "here is a gap to see")])


@pytest.mark.parametrize(
    ("said", "asked", "same"),
    [
        ("gpt-4o-2024-08-06", "gpt-4o", True),
        ("/models/Small-7B.gguf", "small-7b", True),
        ("small", "org/small", True),
        ("", "small", True),
        ("large", "small", False),
        ("org/small", "org/large", False),
    ],
)
def test_an_endpoint_that_runs_another_model_is_found_out(
    said: str, asked: str, same: bool
) -> None:
    def named(path: str, body: dict[str, Any]) -> Reply:
        status, answer = vllm(path, body)[:2]
        return status, {**answer, "model": said}

    with endpoint(named, model=asked) as (model, _, _):
        for call in (
            lambda: model.generate([Prompt("a b")], Decoding(1)),
            lambda: model.score([Continuation("", "a few words")]),
        ):
            if same:
                assert len(call()) == 1
            else:
                with pytest.raises(RoteError, match=f"answers as '{said}'"):
                    call()


def test_what_others_were_answered_is_kept_when_one_fails() -> None:
    """One of a batch is refused; when it is mended, what was answered is not asked again."""
    broken = [True]

    def behaviour(path: str, asked: dict[str, Any]) -> Reply:
        if "bad" in asked["prompt"] and broken[0]:
            return 400, {"error": {"message": "not this one"}}
        return vllm(path, asked)

    prompts = [Prompt(text) for text in ("one", "two", "bad", "three", "four")]
    with endpoint(behaviour) as (model, served, _):
        with pytest.raises(RoteError, match="not this one"):
            generate_all(model, prompts, Decoding(2), Silent())
        before = [body["prompt"] for _, body, _ in served.requests]
        broken[0] = False
        found = generate_all(model, prompts, Decoding(2), Silent())
        assert [one.text for one in found] == [" the end"] * 5
        again = [body["prompt"] for _, body, _ in served.requests[len(before) :]]
        # What had not been asked when the error came was not asked at all.
        assert sorted([*before, *again]) == sorted([*(one.text for one in prompts), "bad"])
