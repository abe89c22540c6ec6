"""What endpoints answer, as scores and texts; and what they do not give, said clearly."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np

from rote.core.errors import RoteError
from rote.core.model import Continuation, Decoding, Generated, Scored
from rote.models.endpoint.spelling import lay

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
    choice = _choice(answer, where)
    held = choice.get("logprobs")
    if not isinstance(held, Mapping) or not held.get("tokens"):
        raise CannotScore(where)
    tokens, logprobs = held["tokens"], held.get("token_logprobs")
    if not isinstance(logprobs, list) or len(logprobs) != len(tokens):
        raise CannotScore(where, "its answer has no token_logprobs")
    spans = lay(tokens, wanted.context + wanted.text)
    if spans is None:
        raise CannotScore(where, "the tokens that it answers do not spell the text that was sent")
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


def written(answer: Mapping[str, Any], where: str) -> tuple[str, float] | None:
    """The one token that was written and its log-probability; None where it spells nothing."""
    choice = _choice(answer, where)
    held = choice.get("logprobs")
    tokens, logprobs = (
        (held.get(name) if isinstance(held, Mapping) else None)
        for name in ("tokens", "token_logprobs")
    )
    if not tokens or not logprobs or logprobs[0] is None:
        raise CannotScore(where, "a token that it writes comes without a log-probability")
    # An end token is no text, and a part of a character cannot be sent.
    return (tokens[0], float(logprobs[0])) if choice.get("text") == tokens[0] != "" else None


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
