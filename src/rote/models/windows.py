"""What a model reads at once: pairs cut to its context length, and put together again.

Texts of like length stand side by side, so that little is padding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rote.core.choosing import choose, generator
from rote.core.errors import OptionError
from rote.core.model import Continuation, Decoding, Floats, Generated, Ints, Prompt, Scored
from rote.core.progress import Once, several
from rote.models.tokens.encoding import Encoded, Tokens


@dataclass(frozen=True, slots=True)
class Pair:
    """`ids[first:]` are to be scored; their spans count from the beginning of the text."""

    ids: list[int]
    first: int
    starts: list[int]
    ends: list[int]


def pair(tokens: Tokens, one: Continuation) -> Pair:
    """The tokens of a context and of what follows it."""
    context = one.context.rstrip()
    text = one.context[len(context) :] + one.text
    moved = len(text) - len(one.text)
    if not one.text:
        return Pair([tokens.start], 1, [], [])
    if not one.context:
        return _from_start(tokens, one.text)
    # A context of spaces alone leaves nothing that could stand before: the start token does.
    before = _read(tokens, context).ids if context else [tokens.start]
    whole = _read(tokens, context + text) if context else tokens.encode(text, special=False)
    after = _tail(whole, len(before) if context else 0)
    if not after.ids:
        # The last word of the context has swallowed the continuation: it is read by itself.
        after, context = tokens.encode(text, special=False), ""
    away = len(context) + moved
    return Pair(
        [*before, *after.ids],
        len(before),
        [max(start - away, 0) for start in after.starts],
        [max(end - away, 0) for end in after.ends],
    )


def _from_start(tokens: Tokens, text: str) -> Pair:
    found = tokens.encode(text, special=False)
    if found.ids[:1] == [tokens.start]:  # the text writes its start token itself
        return Pair(found.ids, 1, found.starts[1:], found.ends[1:])
    return Pair([tokens.start, *found.ids], 1, found.starts, found.ends)


def _read(tokens: Tokens, text: str) -> Encoded:
    """With the start token that the tokenizer adds by itself, but not twice."""
    written = bool(tokens.start_text) and text.startswith(tokens.start_text)
    return tokens.encode(text, special=not written)


def _tail(whole: Encoded, first: int) -> Encoded:
    return Encoded(whole.ids[first:], whole.starts[first:], whole.ends[first:])


def prompt(tokens: Tokens, text: str) -> list[int]:
    """What a text to be continued begins with; without one, the start token."""
    return _read(tokens, text).ids or [tokens.start]


Read = Callable[[Sequence["Window"]], list[Floats]]
"""For each window of a batch four rows: log-probability, greedy (0 or 1), expected and spread of
the tokens it is asked for."""
Parts = list[list["Window"]]
Run = Callable[[Read, Parts], Iterable[list[Floats]]]


def batches(lengths: Sequence[int], room: int) -> Iterator[list[int]]:
    """Places in batches of `room` tokens, each as long as its longest; one that is longer is a
    batch of its own. The longest come first, so that what does not fit is noticed at once."""
    batch: list[int] = []
    longest = 0
    for place in sorted(range(len(lengths)), key=lambda one: (-lengths[one], one)):
        if batch and longest * (len(batch) + 1) > room:
            yield batch
            batch = []
        if not batch:
            longest = lengths[place]
        batch.append(place)
    if batch:
        yield batch


@dataclass(frozen=True, slots=True)
class Window:
    """What the model reads at once, and which of the tokens that follow each it is asked for.

    `ids` holds one token more than is read: the last is only asked for.
    """

    ids: list[int]
    first: int


def windows(one: Pair, longest: int) -> Iterator[Window]:
    """Cut to what the model can read at once, `longest` tokens.

    If the continuation alone fits, one window with as much of the context as there is room for,
    as lm-evaluation-harness cuts it. If not, windows that overlap: each token is scored once,
    with half a window before it where there is so much.
    """
    asked = len(one.ids) - one.first
    if not asked:
        return
    if len(one.ids) <= longest + 1 or asked <= longest:
        begin = max(0, len(one.ids) - longest - 1)
        yield Window(one.ids[begin:], one.first - begin)
        return
    first = one.first
    while first < len(one.ids):
        # The last window reaches back as far as it can.
        begin = max(0, min(first - max(longest // 2, 1), len(one.ids) - longest - 1))
        end = min(begin + longest + 1, len(one.ids))
        yield Window(one.ids[begin:end], first - begin)
        first = end


def uncut(tokens: Tokens, wanted: Sequence[Continuation], longest: int) -> list[Pair]:
    """Pairs whose texts are whole; contexts lose their beginning where there is no room for it."""
    found = []
    for part in (pair(tokens, one) for one in wanted):
        if len(part.ids) - part.first > longest:
            raise OptionError(f"the model reads {longest} tokens: take a smaller --suffix")
        cut = max(0, len(part.ids) - longest - 1)
        found.append(Pair(part.ids[cut:], part.first - cut, part.starts, part.ends))
    return found


def answered(
    found: Sequence[Pair], longest: int, room: int, read: Read, tell: Once, run: Run = map
) -> list[Scored]:
    """The scores of all pairs, by batches of windows that hold `room` tokens each."""
    cut = [list(windows(one, longest)) for one in found]
    if any(len(some) > 1 for some in cut):
        tell(f"texts longer than the model reads ({longest} tokens) are scored in windows")
    if any(len(some) == 1 and len(some[0].ids) < len(one.ids) for one, some in zip(found, cut)):
        tell(f"contexts longer than the model reads ({longest} tokens) are cut on their left side")
    flat = [window for some in cut for window in some]
    places = list(batches([len(one.ids) for one in flat], room))
    numbers: dict[int, Floats] = {}
    for part, given in zip(places, run(read, [[flat[place] for place in one] for one in places])):
        numbers.update(zip(part, given))
    answers = []
    first = 0
    for one, some in zip(found, cut):
        columns = [numbers[place] for place in range(first, first + len(some))]
        first += len(some)
        answers.append(_scored(one, np.concatenate([np.empty((4, 0)), *columns], axis=1)))
    return answers


def _scored(one: Pair, numbers: Floats) -> Scored:
    return Scored(
        logprobs=numbers[0],
        starts=_ints(one.starts),
        ends=_ints(one.ends),
        greedy=numbers[1] > 0,
        expected=numbers[2],
        spread=numbers[3],
    )


def _ints(numbers: list[int]) -> Ints:
    return np.array(numbers, np.int64)


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
                f"prompts that leave no room for {several(decoding.max_tokens, 'more token')} (the "
                f"model reads {longest}) are cut on their left side"
            )
        texts.append(Writing(before[-room:], decoding, tokens, ends, generator(one)))
    return texts
