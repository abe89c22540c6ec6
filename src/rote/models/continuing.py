"""One text that is being written, token by token, by a backend that sees the logits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rote.core.choosing import choose, generator
from rote.core.errors import OptionError
from rote.core.model import Decoding, Generated, Prompt
from rote.core.progress import Once
from rote.models.tokens.encoding import Tokens
from rote.models.windows import prompt


@dataclass(slots=True)
class Writing:
    """A prompt and what follows it so far."""

    before: list[int]
    decoding: Decoding
    tokens: Tokens
    ends: frozenset[int]
    random: np.random.Generator
    ids: list[int] = field(default_factory=list)
    done: Generated | None = None

    def go_on(self, logits: NDArray[np.floating]) -> None:
        """Choose one more token; `done` is set when it was the last."""
        token = choose(logits, self.decoding, self.random)
        if token in self.ends:
            self._finish("end", None)
            return
        self.ids.append(token)
        if self.decoding.stop:
            written = self._text()
            places = [written.find(stop) for stop in self.decoding.stop]
            if found := [place for place in places if place >= 0]:
                self._finish("stop", written[: min(found)])
                return
        if len(self.ids) == self.decoding.max_tokens:
            self._finish("length", None)

    def _text(self) -> str:
        return self.tokens.decode(self.ids, self.before)

    def _finish(self, ended: Literal["end", "stop", "length"], text: str | None) -> None:
        # The end token was chosen too.
        count = len(self.ids) + (ended == "end")
        self.done = Generated(self._text() if text is None else text, count, ended)


def begin(
    wanted: Sequence[Prompt],
    decoding: Decoding,
    tokens: Tokens,
    ends: frozenset[int],
    longest: int,
    tell: Once,
) -> list[Writing]:
    """Prompts ready to be continued; one that leaves no room is cut on its left side."""
    room = longest - decoding.max_tokens + 1  # the last token is written and not read
    if room < 1:
        raise OptionError(
            f"the model reads {longest} tokens at most: max_tokens can be {longest} and no more, "
            f"not {decoding.max_tokens}"
        )
    texts = []
    for one in wanted:
        before = prompt(tokens, one.text)
        if len(before) > room:
            tell(
                f"prompts that leave no room for {decoding.max_tokens} more tokens (the model "
                f"reads {longest}) are cut on their left side"
            )
        texts.append(Writing(before[-room:], decoding, tokens, ends, generator(one)))
    return texts
