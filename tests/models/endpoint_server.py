"""A small server that behaves, or misbehaves, like endpoints with the API of OpenAI.

Its tokens are a word with the space before it; the log-probability of a token is minus its
length, the likeliest token is always " the" (-1), and texts go on with " the end" for ever.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = tuple[int, Any] | tuple[int, Any, dict[str, str]]
Behaviour = Callable[[str, dict[str, Any]], Reply]


def tokens_of(text: str) -> list[str]:
    return re.findall(r"\s*\S+|\s+", text)


def vllm(path: str, asked: dict[str, Any]) -> Reply:
    """Echoes with log-probabilities, and with a start token that counts in the offsets."""
    return _completions(path, asked, start=["<s>"])


def gpt2(path: str, asked: dict[str, Any]) -> Reply:
    """The same without a start token: the first token has no log-probability."""
    return _completions(path, asked, start=[])


def generates_only(path: str, asked: dict[str, Any]) -> Reply:
    """Takes `echo` and does not do it, as some versions of llama.cpp."""
    return _completions(path, {**asked, "echo": False}, start=[])


def refuses_echo(path: str, asked: dict[str, Any]) -> Reply:
    """As other versions of llama.cpp."""
    if asked.get("echo"):
        return 400, {"error": {"code": 400, "message": "Only no echo is supported"}}
    return _completions(path, asked, start=[])


def prompt_only(path: str, asked: dict[str, Any], start: str = "<s>") -> Reply:
    """As vLLM where `echo` is not to be had: `prompt_logprobs`, in the order of its own code."""
    status, answer, *more = refuses_echo(path, asked)
    if status == 200 and "prompt_logprobs" in asked:
        rows: list[Any] = [None]
        for token in ([start] if start else []) + tokens_of(asked["prompt"]):
            own = {"logprob": -float(len(token)), "rank": 1, "decoded_token": token}
            best = {"logprob": -4.0, "rank": 1, "decoded_token": " the"}
            below = own["logprob"] < best["logprob"]
            rows.append({"7": {**own, "rank": 9}, "3": best} if below else {"7": own})
        del rows[1]  # nothing stands before the first
        answer["choices"][0]["prompt_logprobs"] = rows
    return status, answer, *more


def prompt_without_start(path: str, asked: dict[str, Any]) -> Reply:
    return prompt_only(path, asked, "")


def _completions(path: str, asked: dict[str, Any], start: list[str]) -> Reply:
    if path == "/v1/chat/completions":
        return _chat(asked)
    if path != "/v1/completions":
        return 404, {"error": {"message": f"no {path} here"}}
    written = [" the", " end"] * asked["max_tokens"]
    written = written[: asked["max_tokens"]]
    text = "".join(written)
    shown = [*start, *tokens_of(asked["prompt"]), *written] if asked.get("echo") else written
    logprobs: list[float | None] = [-float(len(token)) for token in shown]
    if asked.get("echo"):
        logprobs[0] = None
    finish, reason = "length", None
    for stop in asked.get("stop", []):
        if stop in text:
            text, finish, reason = text[: text.index(stop)], "stop", stop
    choice: dict[str, Any] = {
        "index": 0,
        "text": asked["prompt"] + text if asked.get("echo") else text,
        "finish_reason": finish,
        "stop_reason": reason,
        "logprobs": None,
    }
    if asked.get("logprobs"):
        offsets = [sum(map(len, shown[:i])) for i in range(len(shown))]
        choice["logprobs"] = {
            "tokens": shown,
            "token_logprobs": logprobs,
            "text_offset": offsets,
            "top_logprobs": [None if one is None else {" the": -4.0} for one in logprobs],
        }
    usage = {"prompt_tokens": len(asked["prompt"]), "completion_tokens": len(written)}
    return 200, {"object": "text_completion", "choices": [choice], "usage": usage}


def _chat(asked: dict[str, Any]) -> Reply:
    if "max_tokens" in asked and asked["model"] == "newer":
        message = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
        return 400, {"error": {"message": message, "code": "unsupported_parameter"}}
    said = f"You said: {asked['messages'][0]['content']}"
    choice = {"message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
    return 200, {"object": "chat.completion", "choices": [choice]}


@dataclass
class Served:
    """What a server was asked, and where it stands."""

    url: str = ""
    requests: list[tuple[str, dict[str, Any], dict[str, str]]] = field(default_factory=list)


@contextmanager
def listening(handler: type[BaseHTTPRequestHandler]) -> Iterator[int]:
    """The port of a server on this machine, which logs nothing."""
    handler.log_message = lambda *_: None  # type: ignore[assignment,method-assign]
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def serving(behaviour: Behaviour) -> Iterator[Served]:
    served = Served()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            served.requests.append((self.path, body, dict(self.headers)))
            status, answer, *more = behaviour(self.path, body)
            if status == 0:  # the connection is lost
                self.close_connection = True
                self.connection.close()
                return
            data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            for name, value in (more[0] if more else {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    with listening(Handler) as port:
        served.url = f"http://127.0.0.1:{port}/v1"
        yield served
