"""What endpoints answer, as scores and texts; and what they do not give, said clearly. An answer of
another shape, of another model or to a part of a text is an error, neither used nor cached.

What endpoints say of offsets differs (some count a start token that is not in the text), so tokens
are laid along the text instead. A token that holds a part of a character only cannot be written:
those between two that can share the characters between them.

Some servers echo log-probabilities that belong to the token before (llama-cpp-python does for
models without a start token). So a token is written first, with its log-probability, then sent as
a part of the text: the echo must say the same of it.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Literal

from rote.core.errors import RoteError
from rote.core.model import Continuation, Decoding, Generated, Scored
from rote.core.progress import several

_FAR = 256
"""How many characters tokens that cannot be written may stand for."""
_MOST_TOKENS = 2**31 - 1
_ROUNDING = 0.01
"""Nats that a log-probability may be above 0: servers compute in low precision."""
_UNSAID = object()
_UNSEEN = ("thinking", "reasoning")
"""Parts of a message that are not its text."""


class MalformedAnswer(RoteError):
    """An answer that does not have the shape of the API."""


class _UnexpectedShape(Exception):
    def __init__(self, expected: str, field: str, value: Any) -> None:
        super().__init__(expected, field, value)
        self.expected, self.field, self.value = expected, field, value


@dataclass(frozen=True, slots=True)
class Logprobs:
    """Tokens, and what the endpoint says of each. Without `logprobs` it says nothing."""

    tokens: Sequence[str] = ()
    logprobs: Sequence[float | None] | None = None
    tops: Sequence[Mapping[str, float]] = ()
    """Likely tokens at each place with their log-probabilities, or nothing at all."""


@dataclass(frozen=True, slots=True)
class EndpointAnswer:
    """An answer whose shape was checked."""

    text: str
    filtered: bool
    """Whether the endpoint withheld the text, or a part of it."""
    finish: str | None
    ended_itself: bool
    """Whether it says that no stop string ended the text."""
    model: str | None
    prompt_tokens: int | None
    """Tokens of the prompt, as far as they are counted."""
    output_tokens: int | None
    truncated: bool
    logprobs: Logprobs


def read_answer(
    body: Mapping[str, Any], where: str, show: Callable[[Any], str], *, scores: bool = False
) -> EndpointAnswer:
    """The answer of a chat or of a completion, with log-probabilities where `scores` asks.

    `show` writes a part of the answer into a message.
    """
    try:
        return _read_answer(body, scores)
    except _UnexpectedShape as error:
        got = "nothing" if error.value is _UNSAID else show(error.value)
        raise MalformedAnswer(
            f"{where}: expected {error.expected} in `{error.field}`, got {got}"
        ) from None


def _read_answer(body: Mapping[str, Any], scores: bool) -> EndpointAnswer:
    choices = _list(body.get("choices", _UNSAID), "choices")
    choice = _object(choices[0] if choices else _UNSAID, "choices[0]")
    finish = _check_string_or_none(choice.get("finish_reason"), "choices[0].finish_reason")
    usage = body.get("usage")
    usage = {} if usage is None else _object(usage, "usage")
    text, filtered = _text_of(choice, finish)
    return EndpointAnswer(
        text,
        filtered,
        finish,
        # vLLM says which stop string it was, and null for the model's own end; others do not say.
        choice.get("stop_reason", _UNSAID) is None,
        _check_string_or_none(body.get("model"), "model"),
        _check_count(usage.get("prompt_tokens"), "usage.prompt_tokens"),
        _check_count(usage.get("completion_tokens"), "usage.completion_tokens"),
        body.get("truncated") is True,
        _scores(choice) if scores else Logprobs(),
    )


def _text_of(choice: Mapping[str, Any], finish: str | None) -> tuple[str, bool]:
    """The text of a choice, and whether it was filtered."""
    field, holder, name = "choices[0]", choice, "text"
    if choice.get("message") is not None:
        field, name = "choices[0].message", "content"
        holder = _object(choice["message"], field)
    content = holder.get(name, _UNSAID)
    refused = isinstance(holder.get("refusal"), str) and bool(holder["refusal"])
    filtered = finish == "content_filter" or (refused and not content)
    # A model that had no room, or no words, beside its reasoning has written an empty text.
    thought = any(isinstance(holder.get(key), str) for key in ("reasoning_content", "reasoning"))
    empty = filtered or (content is None and (finish == "length" or thought))
    if empty and (content is None or content is _UNSAID):
        return "", filtered
    if name == "content" and isinstance(content, list):
        return "".join(_parts(content, f"{field}.{name}")), filtered
    if name == "text" and content is _UNSAID:
        raise _UnexpectedShape("a `text` or a `message`", field, choice)
    return _check_string(content, f"{field}.{name}"), filtered


def _parts(parts: Sequence[Any], field: str) -> list[str]:
    texts = []
    for number, part in enumerate(parts):
        here = f"{field}[{number}]"
        part = _object(part, here)
        if part.get("type") in _UNSEEN:
            continue
        if part.get("type") not in ("text", "output_text"):
            raise _UnexpectedShape("a part of text", here, part)
        texts.append(_check_string(part.get("text", _UNSAID), f"{here}.text"))
    return texts


def _logprobs(value: Any, field: str) -> Logprobs:
    """Log-probabilities as completions have them; llama.cpp gives those of messages for both."""
    if value is None:
        return Logprobs()
    value = _object(value, field)
    if value.get("tokens") or value.get("content") is None:
        return _columns(value, field)
    rows = _list(value["content"], f"{field}.content")
    tokens, logprobs, tops = [], [], []
    for number, row in enumerate(rows):
        here = f"{field}.content[{number}]"
        token, logprob = _token(row, here)
        tokens.append(token)
        logprobs.append(logprob)
        listed = row.get("top_logprobs")
        some = [] if listed is None else _list(listed, f"{here}.top_logprobs")
        pairs = [_token(top, f"{here}.top_logprobs[{n}]") for n, top in enumerate(some)]
        tops.append({token: logprob for token, logprob in pairs if logprob is not None})
    return Logprobs(tokens, logprobs, tops)


def _scores(choice: Mapping[str, Any]) -> Logprobs:
    """Those of the prompt where it has them (vLLM's `prompt_logprobs`), else of what it shows."""
    if (rows := choice.get("prompt_logprobs")) is None:
        return _logprobs(choice.get("logprobs"), "choices[0].logprobs")
    tokens, logprobs, tops = [], [], []
    for number, row in enumerate(_list(rows, "choices[0].prompt_logprobs")):
        here = f"choices[0].prompt_logprobs[{number}]"
        entries = [] if row is None else [*_object(row, here).values()]
        ranked = [_parse_ranked(entry, here) for entry in entries]
        # The token of the prompt stands beside the likeliest one, unless it is the likeliest.
        _, token, logprob = max(ranked, default=(0, "", None), key=lambda entry: entry[0])
        tokens.append(token)
        logprobs.append(logprob)
        tops.append({name: log for _, name, log in ranked if log is not None})
    return Logprobs(tokens, logprobs, tops)


def _parse_ranked(entry: Any, field: str) -> tuple[int, str, float | None]:
    entry = _object(entry, field)
    return (
        _check_count(entry.get("rank"), f"{field}.rank") or 0,
        _check_string_or_none(entry.get("decoded_token"), f"{field}.decoded_token") or "",
        _logprob(entry.get("logprob"), f"{field}.logprob"),
    )


def _columns(value: Mapping[str, Any], field: str) -> Logprobs:
    listed = value.get("tokens")
    tokens = [
        _check_string(token, f"{field}.tokens[{number}]")
        for number, token in enumerate([] if listed is None else _list(listed, f"{field}.tokens"))
    ]
    token_logprobs, tops = value.get("token_logprobs"), value.get("top_logprobs")
    logprobs = None
    if token_logprobs is not None:
        token_logprobs = _list(token_logprobs, f"{field}.token_logprobs")
        places = enumerate(token_logprobs)
        logprobs = [_logprob(entry, f"{field}.token_logprobs[{n}]") for n, entry in places]
    likely: list[dict[str, float]] = []
    if tops:
        some = _list(tops, f"{field}.top_logprobs")
        if len(some) != len(tokens):
            raise _UnexpectedShape("as many entries as tokens", f"{field}.top_logprobs", some)
        for number, top in enumerate(some):
            here = f"{field}.top_logprobs[{number}]"
            entries = {} if top is None else _object(top, here)
            read = {name: _logprob(entry, f"{here}[{name!r}]") for name, entry in entries.items()}
            likely.append({name: log for name, log in read.items() if log is not None})
    return Logprobs(tokens, logprobs, likely)


def _token(row: Any, field: str) -> tuple[str, float | None]:
    row = _object(row, field)
    return (
        _check_string(row.get("token", _UNSAID), f"{field}.token"),
        _logprob(row.get("logprob"), f"{field}.logprob"),
    )


def _object(value: Any, field: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise _UnexpectedShape("an object", field, value)
    return value


def _list(value: Any, field: str) -> list[Any]:
    if not isinstance(value, list):
        raise _UnexpectedShape("a list", field, value)
    return value


def _check_string(value: Any, field: str) -> str:
    if not isinstance(value, str):
        raise _UnexpectedShape("a string", field, value)
    # Half a surrogate pair is a broken character, as half of its bytes would be.
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _check_string_or_none(value: Any, field: str) -> str | None:
    return None if value is None else _check_string(value, field)


def _check_count(value: Any, field: str) -> int | None:
    if value is None:
        return None
    is_whole = type(value) is int or (type(value) is float and value.is_integer())
    if not is_whole or not 0 <= value <= _MOST_TOKENS:
        raise _UnexpectedShape("a number of tokens", field, value)
    return int(value)


def _logprob(value: Any, field: str) -> float | None:
    if value is None:
        return None
    if type(value) not in (int, float) or not -math.inf < value <= _ROUNDING:
        raise _UnexpectedShape("a log-probability (a number, 0 at most)", field, value)
    return float(value)


def align_tokens(tokens: Sequence[str], text: str) -> list[tuple[int, int]] | None:
    """The span of each token up to the end of the text; None where they do not spell the text.

    A start token has an empty span, and one token behind the text (which the endpoint had to
    generate) is left out. A first token without a text is the start token where the others spell
    all, else what they leave.
    """
    if tokens and not tokens[0] and (rest := align_tokens(tokens[1:], text)) is not None:
        return [(0, 0), *rest]
    spans: list[tuple[int, int]] = []
    place = 0
    if tokens and not _may_begin(tokens[0], text) and tokens[1:] and _may_begin(tokens[1], text):
        spans.append((0, 0))
    while place < len(text):
        number = len(spans)
        if number == len(tokens):
            return None
        if length := _spelled_length(tokens[number], text, place):
            spans.append((place, place + length))
            place += length
            continue
        following, start = _next_whole(tokens, number, text, place)
        if start <= place:
            return None
        spans += [(place, start)] * (following - number)
        place = start
    return spans


def _spelled_length(token: str, text: str, place: int) -> int:
    """How many characters the token spells there; 0 where it spells something else."""
    if text.startswith(token, place):
        return len(token)
    # Some tokenizers put a space before every text.
    if not place and len(token) > 1 and token[0] == " " and text.startswith(token[1:]):
        return len(token) - 1
    return 0


def _may_begin(token: str, text: str) -> bool:
    """Whether the text may begin with this token, as far as can be seen."""
    return _spelled_length(token, text, 0) > 0 or _is_broken(token)


def _next_whole(tokens: Sequence[str], first: int, text: str, place: int) -> tuple[int, int]:
    """The next token that can be found behind broken ones, and where it begins; -1: none can."""
    number = first
    while number < len(tokens) and _is_broken(tokens[number]):
        number += 1
    if number == first:
        return number, -1
    start = text.find(tokens[number], place + 1, place + _FAR) if number < len(tokens) else -1
    if start < 0 and number >= len(tokens) - 1 and len(text) - place <= _FAR:
        start = len(text)  # the broken ones are the last of the text
    return number, start


def _is_broken(token: str) -> bool:
    return "\ufffd" in token or token.startswith("bytes:") or not token


_NO_ECHO = (
    "returns no log-probabilities of a text that it is sent (`echo` with `logprobs`, or "
    "`prompt_logprobs`, as vLLM has them), so it can generate but not score; run the model with "
    "transformers: instead"
)


class CannotScore(RoteError):
    def __init__(self, where: str, detail: str = "") -> None:
        super().__init__(f"{where} {_NO_ECHO}{f' ({detail})' if detail else ''}")


def score_answer(answer: EndpointAnswer, wanted: Continuation, where: str) -> Scored:
    """The tokens of a continuation that have a log-probability.

    The first token of all has none where the model has no start token: it is left out.
    """
    tokens, logprobs = answer.logprobs.tokens, answer.logprobs.logprobs
    if not tokens:
        raise CannotScore(where)
    if logprobs is None or len(logprobs) != len(tokens):
        raise CannotScore(where, "its answer has no token_logprobs")
    spans = align_tokens(tokens, wanted.context + wanted.text)
    if spans is None:
        raise CannotScore(where, "the tokens in its response do not match the text that was sent")
    # The first that spells something, and a start token, may have no log-probability.
    first = next((place for place, (start, end) in enumerate(spans) if end > start), 0)
    lacking = sum(logprob is None for logprob in logprobs[first + 1 : len(spans)])
    if lacking:
        without = "comes" if lacking == 1 else "come"
        raise CannotScore(where, f"{several(lacking, 'token')} {without} without a log-probability")
    tops = answer.logprobs.tops or [{}] * len(tokens)
    before = len(wanted.context)
    rows = []
    for (start, end), logprob, top in zip(spans, logprobs, tops):
        if end > before and logprob is not None:
            greedy = bool(top) and logprob >= max(top.values()) - 1e-9
            unseen = math.nan
            rows.append((logprob, max(0, start - before), end - before, greedy, unseen, unseen))
    return Scored.of(rows)


def written_token(answer: EndpointAnswer, where: str) -> tuple[str, float] | None:
    """The one token that was written and its log-probability; None where it spells nothing."""
    tokens, logprobs = answer.logprobs.tokens, answer.logprobs.logprobs
    if not tokens or not logprobs or logprobs[0] is None:
        raise CannotScore(where, "a token that it writes comes without a log-probability")
    # An end token is no text, and a part of a character cannot be sent.
    return (tokens[0], logprobs[0]) if answer.text == tokens[0] != "" else None


def generated_text(
    answer: EndpointAnswer,
    decoding: Decoding,
    length: Callable[[str], int],
    sent: Mapping[str, Any],
) -> Generated:
    """The text of an answer; `length` guesses its tokens where the endpoint does not count."""
    guessed = length(answer.text) if answer.text or not answer.filtered else 0
    tokens = guessed if answer.output_tokens is None else answer.output_tokens
    ended: Literal["end", "stop", "length", "filtered"] = "end"
    if answer.filtered:
        ended = "filtered"
    elif answer.finish == "length":
        ended = "length"
    elif decoding.stop and not answer.ended_itself:
        ended = "stop"
    return Generated(answer.text, tokens, ended, sent)


ECHO: Mapping[str, Any] = {"echo": True, "logprobs": 1}
PROMPT: Mapping[str, Any] = {"prompt_logprobs": 1}
"""Two ways to ask for the log-probabilities of what is sent."""
_OPENINGS = (
    "It was late, and the last train had left. She looked at",
    "One, two, three, four, five,",
    "The answer to the first question is",
)
_TOLERANCE = 0.3
"""Nats. Numbers of low precision differ by less; those of another token by far more."""


def check_echo(
    ask: Callable[[dict[str, Any]], EndpointAnswer], how: Mapping[str, Any], model: str, where: str
) -> None:
    """Refuse an endpoint whose echo and whose own writing give one token two probabilities."""
    compared = 0
    for opening in _OPENINGS:
        body = {"model": model, "max_tokens": 1, "temperature": 0}
        first_token = written_token(ask({**body, "logprobs": 1, "prompt": opening}), where)
        if first_token is None:
            continue
        token, logprob = first_token
        answer = ask({**body, **how, "prompt": opening + token})
        echoed = score_answer(answer, Continuation(opening, token), where)
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


_DENSE = 12
"""Characters that no tokenizer puts into a token, on average over a text."""
_SEVERAL, _LONGER = 4, 2
"""So many texts of different length, the longest so many times as long as the shortest, do not all
have the largest number of tokens by chance."""
_ENDINGS = (".gguf", ".bin", ".safetensors")


def check_name(answer: EndpointAnswer, requested: str, where: str) -> None:
    """Refuse the answer of another model. A dated version of what was named, or the last part of
    its path, is the same."""
    actual = answer.model or requested
    names = _last_part(actual), _last_part(requested)
    if not (names[0].startswith(names[1]) or names[1].startswith(names[0])):
        raise RoteError(
            f"{where} was asked for the model '{requested}' but answers as '{actual}': name the "
            f"model that runs there (#{actual})"
        )


def _last_part(name: str) -> str:
    last = PurePosixPath(name.replace("\\", "/")).name.lower()
    for ending in _ENDINGS:
        last = last.removesuffix(ending)
    return last


@dataclass(slots=True)
class PromptLengths:
    """How many tokens an endpoint said that it read, for texts of which length."""

    _most: int = 0
    _sizes: set[int] = field(default_factory=set)
    """Of the texts with the largest number of tokens so far."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def check(self, answer: EndpointAnswer, text: str, where: str) -> None:
        """Refuse an answer to a part of the text."""
        read = answer.prompt_tokens
        # Blanks in a row may be one token, whatever their number.
        size = len(" ".join(text.split()))
        if answer.truncated:
            raise _cut_error(where, len(text), read)
        if not read:
            return
        with self._lock:
            if read > self._most:
                self._most, self._sizes = read, set()
            if read == self._most:
                self._sizes.add(size)
            sizes = self._sizes
            full = len(sizes) >= _SEVERAL and max(sizes) > _LONGER * min(sizes)
        if size > _DENSE * read or (read == self._most and full):
            raise _cut_error(where, len(text), read)


def _cut_error(where: str, characters: int, read: int | None) -> RoteError:
    counted = "" if read is None else f" (it counts {several(read, 'token')})"
    length = several(characters, "character")
    return RoteError(
        f"{where} read only a part of a text of {length}{counted}: it truncates long texts. "
        "Shorten the texts, or serve the model with more context"
    )
