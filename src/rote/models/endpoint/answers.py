"""What endpoints answer, as scores and texts; and what they do not give, said clearly.

Where the tokens of an endpoint stand in the text that they spell.
Endpoints name tokens by their text. What they say of offsets differs (some count a start token
that is not in the text), so tokens are laid along the text instead. A token that holds a part of
a character only cannot be written: those between two that can share the characters between them.

Whether an endpoint's echo can be believed.
Some servers echo log-probabilities that belong to the token before (llama-cpp-python does for
models without a start token). So a token is written first, with its log-probability, then sent as
a part of the text: the echo must say the same of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from rote.core.errors import RoteError
from rote.core.model import Continuation, Decoding, Generated, Scored

_FAR = 256
"""How many characters tokens that cannot be written may stand for."""


def lay(tokens: Sequence[str], text: str) -> list[tuple[int, int]] | None:
    """The span of each token up to the end of the text; None where they do not spell the text.

    A start token has an empty span, and one token behind the text (which the endpoint had to
    generate) is left out.
    """
    spans: list[tuple[int, int]] = []
    place = 0
    if tokens and not _seems(tokens[0], text) and tokens[1:] and _seems(tokens[1], text):
        spans.append((0, 0))
    while place < len(text):
        number = len(spans)
        if number == len(tokens):
            return None
        if length := _fits(tokens[number], text, place):
            spans.append((place, place + length))
            place += length
            continue
        whole, start = _next_whole(tokens, number, text, place)
        if start <= place:
            return None
        spans += [(place, start)] * (whole - number)
        place = start
    return spans


def _fits(token: str, text: str, place: int) -> int:
    """How many characters the token spells there; 0 where it spells something else."""
    if text.startswith(token, place):
        return len(token)
    # Some tokenizers put a space before every text.
    if not place and len(token) > 1 and token[0] == " " and text.startswith(token[1:]):
        return len(token) - 1
    return 0


def _seems(token: str, text: str) -> bool:
    """Whether the text may begin with this token, as far as can be seen."""
    return _fits(token, text, 0) > 0 or _broken(token)


def _next_whole(tokens: Sequence[str], first: int, text: str, place: int) -> tuple[int, int]:
    """The next token that can be found behind broken ones, and where it begins; -1: none can."""
    number = first
    while number < len(tokens) and _broken(tokens[number]):
        number += 1
    if number == first:
        return number, -1
    start = -1
    if number < len(tokens):
        start = text.find(tokens[number], place + 1, place + _FAR)
    if start < 0 and number >= len(tokens) - 1 and len(text) - place <= _FAR:
        start = len(text)  # the broken ones are the last of the text
    return number, start


def _broken(token: str) -> bool:
    return "\ufffd" in token or token.startswith("bytes:") or not token


_NO_ECHO = (
    "gives no log-probabilities of a text that it is sent (`echo` with `logprobs`, as vLLM has "
    "it), so it can generate but not score; run the model with transformers: instead"
)


class CannotScore(RoteError):
    """The endpoint does not give what scoring needs."""

    def __init__(self, where: str, detail: str = "") -> None:
        super().__init__(f"{where} {_NO_ECHO}{f' ({detail})' if detail else ''}")


def scored(answer: Mapping[str, Any], wanted: Continuation, where: str) -> Scored:
    """The tokens of a continuation that have a log-probability.

    The first token of all has none where the model has no start token: it is left out.
    """
    held = _logprobs(_choice(answer, where))
    if not held.get("tokens"):
        raise CannotScore(where)
    tokens, logprobs = held["tokens"], held.get("token_logprobs")
    if not isinstance(logprobs, list) or len(logprobs) != len(tokens):
        raise CannotScore(where, "its answer has no token_logprobs")
    spans = lay(tokens, wanted.context + wanted.text)
    if spans is None:
        raise CannotScore(where, "the tokens that it answers do not spell the text that was sent")
    lacking = sum(one is None for one in logprobs[_first(spans) + 1 : len(spans)])
    if lacking:
        raise CannotScore(where, f"{lacking:,} tokens come without a log-probability")
    tops = held.get("top_logprobs") or [None] * len(tokens)
    before = len(wanted.context)
    rows = [
        (float(logprob), max(0, start - before), end - before, _greedy(float(logprob), top))
        for (start, end), logprob, top in zip(spans, logprobs, tops)
        if end > before and logprob is not None
    ]
    columns = list(zip(*rows)) or [()] * 4
    unseen = np.full(len(rows), np.nan)
    return Scored(
        np.array(columns[0], np.float64),
        np.array(columns[1], np.int64),
        np.array(columns[2], np.int64),
        np.array(columns[3], np.bool_),
        unseen,
        unseen.copy(),
    )


def _first(spans: Sequence[tuple[int, int]]) -> int:
    """The first token that spells something: it and a start token may have no log-probability."""
    return next((place for place, (start, end) in enumerate(spans) if end > start), 0)


def written(answer: Mapping[str, Any], where: str) -> tuple[str, float] | None:
    """The one token that was written and its log-probability; None where it spells nothing."""
    choice = _choice(answer, where)
    held = _logprobs(choice)
    tokens, logprobs = held.get("tokens"), held.get("token_logprobs")
    if not tokens or not logprobs or logprobs[0] is None:
        raise CannotScore(where, "a token that it writes comes without a log-probability")
    # An end token is no text, and a part of a character cannot be sent.
    return (tokens[0], float(logprobs[0])) if choice.get("text") == tokens[0] != "" else None


def _logprobs(choice: Mapping[str, Any]) -> Mapping[str, Any]:
    """Log-probabilities as completions have them; llama.cpp gives those of messages for both."""
    held = choice.get("logprobs")
    if not isinstance(held, Mapping):
        return {}
    listed = held.get("content")
    if held.get("tokens") or not isinstance(listed, list):
        return held
    rows = [one for one in listed if isinstance(one, Mapping)]
    tops = [one.get("top_logprobs") or () for one in rows]
    return {
        "tokens": [str(one.get("token", "")) for one in rows],
        "token_logprobs": [one.get("logprob") for one in rows],
        "top_logprobs": [{top["token"]: top["logprob"] for top in some} for some in tops],
    }


def generated(
    answer: Mapping[str, Any],
    decoding: Decoding,
    length: Callable[[str], int],
    where: str,
    sent: Mapping[str, Any],
) -> Generated:
    """The text of a completion or of a message; `length` guesses where no tokens are counted."""
    choice = _choice(answer, where)
    message = choice.get("message")
    text = choice.get("text") if message is None else message.get("content")
    if text is None:
        # A message of tool calls, or one that was withheld.
        text = ""
    tokens = (answer.get("usage") or {}).get("completion_tokens")
    counted = int(tokens) if tokens is not None else length(str(text))
    return Generated(str(text), counted, _ended(choice, decoding), sent)


def _ended(choice: Mapping[str, Any], decoding: Decoding) -> Literal["end", "stop", "length"]:
    if choice.get("finish_reason") == "length":
        return "length"
    if choice.get("finish_reason") == "content_filter":
        return "stop"
    if not decoding.stop:
        return "end"
    # vLLM says which stop string it was, and null for the model's own end; others do not say.
    return "stop" if choice.get("stop_reason", "unsaid") is not None else "end"


def _greedy(logprob: float, top: Any) -> bool:
    return isinstance(top, Mapping) and bool(top) and logprob >= max(top.values()) - 1e-9


def _choice(answer: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    choices = answer.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        raise RoteError(f"{where} answers without choices: {str(dict(answer))[:200]}")
    found: Mapping[str, Any] = choices[0]
    return found


_OPENINGS = (
    "It was late, and the last train had left. She looked at",
    "One, two, three, four, five,",
    "The answer to the first question is",
)
_TOLERANCE = 0.3
"""Nats. Numbers of low precision differ by less; those of another token by far more."""


def check_echo(ask: Callable[[dict[str, Any]], Mapping[str, Any]], model: str, where: str) -> None:
    """Refuse an endpoint whose echo and whose own writing give one token two probabilities."""
    compared = 0
    for opening in _OPENINGS:
        body = {"model": model, "max_tokens": 1, "temperature": 0, "logprobs": 1}
        found = written(ask({**body, "prompt": opening}), where)
        if found is None:
            continue
        token, logprob = found
        answer = ask({**body, "prompt": opening + token, "echo": True})
        echoed = scored(answer, Continuation(opening, token), where)
        if len(echoed.logprobs) != 1:
            continue  # in the text the token is cut otherwise
        compared += 1
        if abs(echoed.total - logprob) > _TOLERANCE:
            raise CannotScore(
                where,
                f"it writes {token!r} with a log-probability of {logprob:.2f} and echoes it with "
                f"{echoed.total:.2f}: its echo belongs to other tokens",
            )
    if not compared:
        raise CannotScore(where, "no token that it writes could be compared with its echo")
