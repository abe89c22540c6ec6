"""A model behind an endpoint, as `core.model.Model`: the two ways of asking one.

Requests of a batch go out side by side. What a seed does is up to the endpoint: most promise no
more than to try. What is not sent the endpoint decides by itself (llama.cpp cuts the distribution,
vLLM takes what the model's folder says), so neutral settings are sent too, and what was sent goes
into the record.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import urlsplit

from rote.core.errors import OptionError, RoteError
from rote.core.http import Client, Pace, Refused
from rote.core.model import MESSAGES, Continuation, Decoding, Generated, Message, Prompt, Scored
from rote.core.progress import Once, Reporter, several
from rote.models.endpoint.answers import (
    ECHO,
    PROMPT,
    CannotScore,
    EndpointAnswer,
    PromptLengths,
    check_echo,
    check_name,
    generated_text,
    read_answer,
    score_answer,
)

OPENAI = "https://api.openai.com/v1"


def parse_address(name: str) -> tuple[str, str]:
    """The endpoint and the model, from what stands behind `openai:` in the name of a model."""
    url, sharp, model = name.rpartition("#")
    if not sharp:
        if "://" in name:
            raise OptionError(f"which model of {name}? Write it as openai:{name}#MODEL")
        url, model = OPENAI, name
    if not model:
        raise OptionError("which model? openai:URL#MODEL, or openai:MODEL for one of OpenAI")
    parts = urlsplit(url)
    if parts.username is not None or parts.password is not None or parts.query:
        # What stands in an address ends up in signatures and results.
        raise OptionError(
            "an address must not contain a password, key or query: name the environment variable "
            "with the key with --key-variable"
        )
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}", model


def open_client(url: str, key_variable: str, rate: float = 0.0) -> Client:
    """Who asks the endpoint; the key, if there is one, goes nowhere that it should not."""
    connection, key = Client(url, Pace(rate)), os.environ.get(key_variable) or None
    if key is None and url == OPENAI:
        raise OptionError(
            f"{OPENAI} needs a key, but the environment variable {key_variable} is not set"
        )
    if key is not None and not connection.secure and not connection.local:
        raise OptionError(
            f"the key in {key_variable} would be sent unencrypted to {connection.host}: use https, "
            "or name an unset variable with --key-variable"
        )
    connection.key = key
    return connection


_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """Tokens that are read and written at most, and their price where one was given."""

    requests: int
    prompt_tokens: int
    output_tokens: int
    price: tuple[float, float] | None

    @property
    def cost(self) -> float | None:
        """In the currency of the price."""
        if self.price is None:
            return None
        return (self.prompt_tokens * self.price[0] + self.output_tokens * self.price[1]) / _MILLION

    def __str__(self) -> str:
        requests, read = several(self.requests, "request"), several(self.prompt_tokens, "token")
        amount = f"{requests}, about {read} read and at most {self.output_tokens:,} written"
        if self.cost is None:
            return amount
        cents = self.cost >= 0.01 or not self.cost
        return f"{amount}: at most about {self.cost:,.2f}" if cents else f"{amount}: less than 0.01"


def check_price(price: tuple[float, ...] | None) -> tuple[float, float] | None:
    if price is None:
        return None
    if len(price) != 2 or min(price) < 0:
        raise OptionError(
            "--price takes two numbers, per million tokens read and written: --price 0.5,1.5"
        )
    return price[0], price[1]


_SIDE_BY_SIDE = 8
_CHARACTERS = 4
"""Of a token in English, about."""
_EXTENSIONS: dict[str, Any] = {
    "top_k": 0,
    "min_p": 0.0,
    "repetition_penalty": 1.0,
    "repeat_penalty": 1.0,
}
"""At rest: settings that OpenAI has not. The last two are one, of vLLM and of llama.cpp."""
Question = TypeVar("Question")
Reply = TypeVar("Reply")


@dataclass(slots=True)
class Endpoint:
    """One model of one endpoint; `chat` asks with messages instead of plain text."""

    client: Client
    model: str
    key_variable: str
    reporter: Reporter
    chat: bool = False
    batch: int = 8192
    price: tuple[float, float] | None = None
    yes: bool = False
    limit: int | None = None
    _newer: bool = False
    _settings: dict[str, Any] = field(default_factory=dict)
    """Extensions that the endpoint takes, with their neutral values."""
    _echo: Mapping[str, Any] | None = None
    """How it gives log-probabilities of what it is sent, once that is known."""
    _estimated: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _lengths: PromptLengths = field(default_factory=PromptLengths)
    _tell: Once = field(init=False)

    def __post_init__(self) -> None:
        self._tell = Once(self.reporter)
        if self.client.url != OPENAI:
            self._settings = dict(_EXTENSIONS)

    @property
    def signature(self) -> str:
        way = "chat" if self.chat else "completions"
        return f"openai/3-{self.where.partition('://')[2]}-{self.model}-{way}"

    @property
    def where(self) -> str:
        return self.client.url

    @property
    def chat_form(self) -> str | None:
        return MESSAGES if self.chat else None

    def render(self, messages: Sequence[Message]) -> str:
        """As it is counted: the endpoint writes the form itself."""
        return "\n".join(message.content for message in messages)

    def length(self, text: str) -> int:
        return max(1, round(len(text) / _CHARACTERS))

    def about_to(self, requests: int, read: int, generated: int) -> None:
        """Say what is to come, once; refuse where it costs and nobody has agreed."""
        with self._lock:
            if self._estimated:
                return
            self._estimated = True
        estimate = CostEstimate(requests, read, generated, self.price)
        if estimate.cost and not self.yes:
            self._estimated = False
            raise OptionError(f"{self.where}: {estimate}. Confirm with --yes")
        self.reporter.say(f"{self.where}: {estimate}")

    def score(self, wanted: Sequence[Continuation]) -> list[Scored]:
        if self.chat:
            raise CannotScore(self.where, "messages are never scored; openai:URL#MODEL may be")
        if wanted and self._echo is None:
            self._echo = self._find_echo()
        return self._side_by_side(self._scored, wanted)

    def _find_echo(self) -> Mapping[str, Any]:
        try:
            check_echo(self._completed, ECHO, self.model, self.where)
        except CannotScore as error:
            if self.where == OPENAI:
                raise
            try:
                check_echo(self._completed, PROMPT, self.model, self.where)
            except CannotScore:
                raise error from None
            self._tell(f"{self.where} does not echo: texts are scored by its `prompt_logprobs`")
            return PROMPT
        return ECHO

    def generate(self, wanted: Sequence[Prompt], decoding: Decoding) -> list[Generated]:
        if decoding.constraint:
            raise OptionError(
                "an endpoint samples by itself, so it has no constraining factor: run the model "
                "with transformers:, or leave out --constraint"
            )
        return self._side_by_side(lambda prompt: self._generated(prompt, decoding), wanted)

    def _scored(self, request: Continuation) -> Scored:
        body = {
            "model": self.model,
            "prompt": request.context + request.text,
            "max_tokens": 1,  # not all endpoints take 0; what is generated is left out
            "temperature": 0,
            **(self._echo or ECHO),
        }
        result = score_answer(self._completed(body), request, self.where)
        if not request.context and (not len(result.starts) or result.starts[0] > 0):
            if not len(result.starts):
                raise CannotScore(self.where, "a text of one token needs a context before it")
            self._tell(
                f"{self.where} gives no log-probability for the first token of a text: texts "
                "without a context are scored from their second token on"
            )
        return result

    def _completed(self, body: dict[str, Any]) -> EndpointAnswer:
        try:
            return self._post("/completions", body, scores=True)
        except Refused as error:
            if "echo" in error.said.lower() or "logprob" in error.said.lower():
                raise CannotScore(self.where, f"it says: {error.said}") from None
            raise self._explained(error) from None

    def _generated(self, prompt: Prompt, decoding: Decoding) -> Generated:
        body: dict[str, Any] = {"model": self.model}
        if self.chat:
            turns = prompt.messages or (Message("user", prompt.text),)
            body["messages"] = [{"role": turn.role, "content": turn.content} for turn in turns]
        else:
            body["prompt"] = prompt.text
        while True:
            sent = self._sent(prompt, decoding)
            path = "/chat/completions" if self.chat else "/completions"
            try:
                answer = self._post(path, {**body, **sent})
            except Refused as error:
                if not self._adapted(error, sent, decoding):
                    raise self._explained(error) from None
            else:
                read = self.render(prompt.messages) if prompt.messages else prompt.text
                self._lengths.check(answer, read, self.where)
                return generated_text(answer, decoding, self.length, sent)

    def _post(self, path: str, body: dict[str, Any], *, scores: bool = False) -> EndpointAnswer:
        """The answer of the model that was asked for."""
        reply = self.client.post(path, body, self.reporter.warn)
        answer = read_answer(reply, self.where + path, self.client.show, scores=scores)
        check_name(answer, self.model, self.where)
        return answer

    def _sent(self, prompt: Prompt, decoding: Decoding) -> dict[str, Any]:
        """The settings of a request, those at rest too."""
        most = "max_completion_tokens" if self._newer else "max_tokens"
        sent: dict[str, Any] = {most: decoding.max_tokens, "temperature": decoding.temperature}
        with self._lock:
            sent |= self._settings
        if decoding.sampled:
            sent |= {"seed": prompt.seed, "top_p": decoding.top_p}
            if decoding.top_k:
                sent["top_k"] = decoding.top_k
        else:  # whatever is cut off, the likeliest token stays
            sent = {name: value for name, value in sent.items() if name not in ("top_k", "min_p")}
        if decoding.stop:
            sent["stop"] = list(decoding.stop)
        return sent

    def _adapted(self, error: Refused, sent: Mapping[str, Any], decoding: Decoding) -> bool:
        """Whether the endpoint refused a setting that can be left out or written otherwise."""
        if self.chat and "max_tokens" in sent and "max_completion_tokens" in error.said:
            self._newer = True
            return True
        for name in _EXTENSIONS:
            if error.status not in (400, 422) or name not in sent or name not in error.said:
                continue
            if name == "top_k" and decoding.sampled and decoding.top_k:
                return False  # asked for by the user: not to be left out
            with self._lock:
                if name == "top_k" and sent[name] == 0:
                    self._settings[name] = -1  # older versions of vLLM
                    return True
                self._settings.pop(name, None)
            self._tell(f"{self.where} does not accept `{name}`: its own setting, if any, applies")
            return True
        return False

    def _explained(self, error: Refused) -> RoteError:
        """The endpoint's own words, and what to do about them."""
        if error.status in (401, 403):
            name = self.key_variable
            state = "was not accepted" if self.client.key else "is missing"
            return RoteError(f"{error}. The key (environment variable {name}) {state}")
        missing = error.status in (404, 405) or "chat" in error.said.lower()
        if missing and not self.chat:
            return RoteError(
                f"{error}. If it has no completions, or the model only answers messages, generate "
                f"with openai-chat:{self.where}#{self.model}"
            )
        return error

    def _side_by_side(
        self, ask: Callable[[Question], Reply], wanted: Sequence[Question]
    ) -> list[Reply]:
        if not wanted:
            return []
        answers: dict[int, Reply] = {}
        connections = min(_SIDE_BY_SIDE, len(wanted))
        try:
            with closing(self.client.post_all(ask, wanted, connections)) as coming:
                answers.update(coming)
        except RoteError as error:
            error.answered = answers  # they were paid for: they are cached
            raise
        return [answers[place] for place in range(len(wanted))]
