"""Whether an endpoint answered what it was asked: the model that was named, and the whole text.

Some servers run whatever they have loaded under any name, and some cut what does not fit without a
word. Numbers made from that would be wrong and look right, so it is an error.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from rote.core.errors import RoteError
from rote.core.progress import several
from rote.models.endpoint.answers import Answer

_DENSE = 12
"""Characters that no tokenizer puts into a token, on average over a text."""
_SEVERAL, _LONGER = 4, 2
"""So many texts of different length, the longest so many times as long as the shortest, do not all
have the largest number of tokens by chance."""
_ENDINGS = (".gguf", ".bin", ".safetensors")


def check_name(answer: Answer, asked: str, where: str) -> None:
    """Refuse the answer of another model. A dated version of what was named, or the last part of
    its path, is the same."""
    said = answer.model
    if not said or _same(said, asked):
        return
    raise RoteError(
        f"{where} was asked for the model '{asked}' and answers as '{said}': name the model that "
        f"runs there (#{said})"
    )


def _same(said: str, asked: str) -> bool:
    one, other = (_last(name) for name in (said, asked))
    return one.startswith(other) or other.startswith(one)


def _last(name: str) -> str:
    last = PurePosixPath(name.replace("\\", "/")).name.lower()
    for ending in _ENDINGS:
        last = last.removesuffix(ending)
    return last


@dataclass(slots=True)
class Lengths:
    """How many tokens an endpoint said that it read, for texts of which length."""

    _most: int = 0
    _sizes: set[int] = field(default_factory=set)
    """Of the texts with the largest number of tokens so far."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def check(self, answer: Answer, text: str, where: str) -> None:
        """Refuse an answer to a part of the text."""
        read = answer.read
        # Blanks in a row may be one token, whatever their number.
        size = len(" ".join(text.split()))
        if answer.truncated:
            raise _cut(where, len(text), read)
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
            raise _cut(where, len(text), read)


def _cut(where: str, characters: int, read: int | None) -> RoteError:
    said = "" if read is None else f" (it counts {several(read, 'token')})"
    length = several(characters, "character")
    return RoteError(
        f"{where} has read a part only of a text of {length}{said}: it cuts what "
        "is too long for it. Shorten the texts, or serve the model with more context"
    )
