"""What every language model can be asked, whoever runs it.

Text goes in and text with numbers comes out: no one outside a backend sees token ids. A backend
answers one batch at a time; `rote.models.answers` makes the batches, keeps what was answered and
goes on where it stopped.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import InputError, OptionError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Continuation:
    """A text to be scored, given the text before it.

    Both are taken as they stand: a space between them belongs to one of them. Without a context
    the model begins with its start token. Backends with subwords cut the two apart as
    lm-evaluation-harness does (`models.pairs`).
    """

    context: str
    text: str


@dataclass(frozen=True, slots=True)
class Scored:
    """How likely each token of a continuation was, in nats, and where it stands in its text.

    A token that begins in the context (a merged space) starts at 0; one that is all in it, such
    as further spaces, has an empty span there. Where a character is several tokens, each has the
    whole character as its span. `expected` and `spread` are the mean and the standard deviation
    of the log-probability under the model's own distribution at that place (of which Min-K%++ is
    made); nan where the backend does not see the whole distribution, as is `greedy` False.
    """

    logprobs: Floats
    starts: Ints
    ends: Ints
    greedy: NDArray[np.bool_]
    expected: Floats
    spread: Floats

    @classmethod
    def of(cls, tokens: Sequence[tuple[float, int, int, bool, float, float]]) -> Scored:
        """From the tokens one by one: the fields above, in their order."""
        columns = list(zip(*tokens)) or [()] * 6
        kinds = (np.float64, np.int64, np.int64, np.bool_, np.float64, np.float64)
        return cls(*(np.array(column, kind) for column, kind in zip(columns, kinds)))

    @property
    def total(self) -> float:
        """The log-probability of the whole continuation, in nats."""
        return float(self.logprobs.sum())


@dataclass(frozen=True, slots=True)
class Decoding:
    max_tokens: int = 128
    temperature: float = 0.0
    """0: the likeliest token (greedy)."""
    top_p: float = 1.0
    top_k: int = 0
    constraint: float = 0.0
    """With probability 1/c the likeliest token, otherwise a sampled one (GOT); 0: none."""
    stop: tuple[str, ...] = ()
    beams: int = 1

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise OptionError(f"max_tokens must be at least 1, not {self.max_tokens}")
        if not 0 <= self.temperature < math.inf:
            raise OptionError(f"temperature must be 0 or more, not {self.temperature}")
        if not 0 < self.top_p <= 1:
            raise OptionError(f"top_p must be above 0 and at most 1, not {self.top_p}")
        if self.top_k < 0:
            raise OptionError(f"top_k must not be negative, not {self.top_k}")
        if self.constraint and not 1 <= self.constraint < math.inf:
            raise OptionError(f"the constraining factor must be at least 1, not {self.constraint}")
        if "" in self.stop:
            raise OptionError("an empty stop string would end every text at once")
        if self.beams < 1:
            raise OptionError(f"beams must be at least 1, not {self.beams}")
        if self.beams > 1 and self.temperature:
            raise OptionError("beam search does not sample: leave out --temperature or --beams")
        if self.constraint and not self.temperature:
            raise OptionError("a constraining factor needs sampling: set a temperature, such as 1")

    @property
    def sampled(self) -> bool:
        return self.temperature > 0

    @property
    def signature(self) -> str:
        """Settings that can change the text, those at rest left out."""
        parts = ["greedy"] if not self.sampled else [f"temperature{_spell(self.temperature)}"]
        if self.beams > 1:
            parts = [f"beams{self.beams}"]
        if self.sampled and self.top_p < 1:
            parts.append(f"top-p{_spell(self.top_p)}")
        if self.sampled and self.top_k:
            parts.append(f"top-k{self.top_k}")
        if self.constraint:
            parts.append(f"constraint{_spell(self.constraint)}")
        parts.append(f"max{self.max_tokens}")
        if self.stop:
            parts.append("stop" + repr(list(self.stop)))
        return "-".join(parts)


def _spell(number: float) -> str:
    """Short where that says all: answers are kept by it."""
    short = f"{number:g}"
    return short if float(short) == number else repr(number)


_ROLES = ("system", "user", "assistant")


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation: whose (`system`, `user`, `assistant`), and what it says."""

    role: str
    content: str


def read_messages(turns: Any, name: str) -> tuple[Message, ...]:
    """The field `messages` of a record, checked: [{"role": ..., "content": ...}, ...]; a content in
    parts is the text of those."""
    if not isinstance(turns, (list, tuple)) or not turns:
        raise InputError(f"the messages of '{name}' are not a list of turns", field="messages")
    messages = []
    for number, turn in enumerate(turns, 1):
        role, content = (
            (turn.get("role"), turn.get("content")) if isinstance(turn, dict) else ("",) * 2
        )
        if isinstance(content, list) and all(isinstance(part, dict) for part in content):
            parts = [part.get("text") for part in content]
            content = "".join(parts) if all(isinstance(part, str) for part in parts) else None
        if role not in _ROLES or not isinstance(content, str):
            raise InputError(
                f"turn {number} of '{name}' needs a role and a text content",
                field="messages",
                remedy=f'Write {{"role": "user", "content": "..."}}; roles are {", ".join(_ROLES)}',
            )
        messages.append(Message(role, content))
    return tuple(messages)


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a text begins with, and the seed of its draws. An empty one is the start token.

    With `messages` the model is asked in its chat form, and answers the last of them; only one
    that is `Chatting` can be, and `text` is what people read."""

    text: str
    seed: int = 0
    messages: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True)
class Generated:
    """What a model wrote after a prompt, the prompt left out."""

    text: str
    tokens: int
    """How many were chosen; the end token, where there is one, counts."""
    ended: Literal["end", "stop", "length", "filtered"]
    """By the model's own end, at a stop string, cut off at `max_tokens`, or withheld by a filter of
    the endpoint: the text is then what it gave of it, often nothing."""
    sent: Mapping[str, Any] | None = None
    """The settings that an endpoint was sent, those at rest too."""


class Model(Protocol):
    """A language model behind one of the backends."""

    @property
    def signature(self) -> str:
        """Backend, name and a fingerprint of the weights: what the numbers depend on."""

    @property
    def batch(self) -> int:
        """How many tokens, padding included, one batch may hold."""

    @property
    def limit(self) -> int | None:
        """How many tokens it reads at once; None: as many as there are, or not known."""

    def length(self, text: str) -> int:
        """How many tokens a text has, or a fair guess: batches are made by it."""

    def score(self, wanted: Sequence[Continuation]) -> list[Scored]:
        """One batch; `MemoryError` where it is too large for the machine."""

    def generate(self, wanted: Sequence[Prompt], decoding: Decoding) -> list[Generated]:
        """One batch. What a prompt gets does not depend on the others in the batch."""


MESSAGES = "messages"
"""The chat form of an endpoint that takes messages and nothing else."""


@runtime_checkable
class Chatting(Protocol):
    """A model that may have a chat form."""

    @property
    def chat_form(self) -> str | None:
        """What the form depends on: its template's fingerprint, or `MESSAGES`; None: no form."""

    def render(self, messages: Sequence[Message]) -> str:
        """What it reads of a conversation; raises where its template refuses the messages."""


def chat_form(model: Model) -> str | None:
    """The chat form of a model, None where it has none."""
    return model.chat_form if isinstance(model, Chatting) else None


@runtime_checkable
class Drawing(Protocol):
    """A model that sees its whole distribution: it knows how likely its own draws are."""

    def drawn(self, wanted: Sequence[Continuation], decoding: Decoding) -> list[Scored]:
        """As `score`, with the log-probability of each token under the given decoding: minus
        infinity where it is cut off, 0 where nothing else may be taken."""


@runtime_checkable
class StepwiseModel(Protocol):
    """A model that can be asked token by token."""

    def near(
        self, wanted: Sequence[Continuation], decoding: Decoding, edits: int, beams: int
    ) -> list[float]:
        """For each a lower bound of the log-probability that draws, as many tokens as the text
        has, come within so many edits of it (`models.windows`)."""


@runtime_checkable
class Charging(Protocol):
    """A model whose answers cost money: it says so before it is asked."""

    def about_to(self, requests: int, read: int, generated: int) -> None:
        """Told how many questions follow, the tokens in them, and those written at most. Raises
        where the user has not agreed; says the same thing once only."""
