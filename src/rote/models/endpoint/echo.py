"""Whether an endpoint's echo can be believed.

Some servers echo log-probabilities that belong to the token before (llama-cpp-python does for
models without a start token). So a token is written first, with its log-probability, then sent as
a part of the text: the echo must say the same of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rote.core.model import Continuation
from rote.models.endpoint.answers import CannotScore, scored, written

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
