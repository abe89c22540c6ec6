"""What a model reads at once: pairs cut to its context length, and put together again.

Texts of like length stand side by side, so that little is padding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rote.core.decoding import Logits, choose, distribution, generator
from rote.core.errors import OptionError
from rote.core.json_reader import shortened
from rote.core.model import Continuation, Decoding, Floats, Generated, Ints, Message, Prompt, Scored
from rote.core.progress import Once, several
from rote.models.tokens import Encoded, Tokens


@dataclass(frozen=True, slots=True)
class TokenPair:
    """`ids[first:]` are to be scored; their spans count from the beginning of the text."""

    ids: list[int]
    first: int
    starts: list[int]
    ends: list[int]


def encode_pair(tokens: Tokens, request: Continuation) -> TokenPair:
    context = request.context.rstrip()
    text = request.context[len(context) :] + request.text
    moved = len(text) - len(request.text)
    if not request.text:
        return TokenPair([tokens.start], 1, [], [])
    if not request.context:
        return _from_start(tokens, request.text)
    # A context of spaces alone leaves nothing that could stand before: the start token does.
    before = _encode_text(tokens, context).ids if context else [tokens.start]
    full = _encode_text(tokens, context + text) if context else tokens.encode(text, special=False)
    first = len(before) if context else 0
    after = Encoded(full.ids[first:], full.starts[first:], full.ends[first:])
    if not after.ids:
        # The last word of the context has swallowed the continuation: it is read by itself.
        after, context = tokens.encode(text, special=False), ""
    away = len(context) + moved
    starts, ends = ([max(at - away, 0) for at in some] for some in (after.starts, after.ends))
    return TokenPair([*before, *after.ids], len(before), starts, ends)


def _from_start(tokens: Tokens, text: str) -> TokenPair:
    encoded = tokens.encode(text, special=False)
    if encoded.ids[:1] == [tokens.start]:  # the text writes its start token itself
        return TokenPair(encoded.ids, 1, encoded.starts[1:], encoded.ends[1:])
    return TokenPair([tokens.start, *encoded.ids], 1, encoded.starts, encoded.ends)


def _encode_text(tokens: Tokens, text: str) -> Encoded:
    """With the start token that the tokenizer adds by itself, but not twice."""
    has_start = bool(tokens.start_text) and text.startswith(tokens.start_text)
    return tokens.encode(text, special=not has_start)


def encode_prompt(tokens: Tokens, text: str) -> list[int]:
    """What a text to be continued begins with; without one, the start token."""
    return _encode_text(tokens, text).ids or [tokens.start]


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
    for place in sorted(range(len(lengths)), key=lambda number: (-lengths[number], number)):
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


def cut_windows(part: TokenPair, longest: int) -> Iterator[Window]:
    """Cut to what the model can read at once, `longest` tokens.

    If the continuation alone fits, one window with as much of the context as there is room for,
    as lm-evaluation-harness cuts it. If not, windows that overlap: each token is scored once,
    with half a window before it where there is so much.
    """
    wanted = len(part.ids) - part.first
    if not wanted:
        return
    if len(part.ids) <= longest + 1 or wanted <= longest:
        begin = max(0, len(part.ids) - longest - 1)
        yield Window(part.ids[begin:], part.first - begin)
        return
    first = part.first
    while first < len(part.ids):
        # The last window reaches back as far as it can.
        begin = max(0, min(first - max(longest // 2, 1), len(part.ids) - longest - 1))
        end = min(begin + longest + 1, len(part.ids))
        yield Window(part.ids[begin:end], first - begin)
        first = end


def encode_uncut(tokens: Tokens, wanted: Sequence[Continuation], longest: int) -> list[TokenPair]:
    """Pairs whose texts are whole; contexts lose their beginning where there is no room for it."""
    pairs = []
    for part in (encode_pair(tokens, request) for request in wanted):
        if len(part.ids) - part.first > longest:
            raise OptionError(f"the model reads {longest} tokens: use a smaller --suffix")
        cut = max(0, len(part.ids) - longest - 1)
        pairs.append(TokenPair(part.ids[cut:], part.first - cut, part.starts, part.ends))
    return pairs


def score_pairs(
    pairs: Sequence[TokenPair], longest: int, room: int, read: Read, tell: Once, run: Run = map
) -> list[Scored]:
    """The scores of all pairs, by batches of windows that hold `room` tokens each.

    Where the windows of one text do not fit into memory at once, half as many are read. Of several
    texts whoever asked takes fewer, and begins with fewer the next time.
    """
    cut = [list(cut_windows(part, longest)) for part in pairs]
    if any(len(some) > 1 for some in cut):
        tell(f"texts longer than the model reads ({longest} tokens) are scored in windows")
    if any(len(some) == 1 and len(some[0].ids) < len(part.ids) for part, some in zip(pairs, cut)):
        tell(f"contexts longer than the model reads ({longest} tokens) are truncated on the left")
    flat = [window for some in cut for window in some]
    numbers: dict[int, Floats] = {}
    while pending := [place for place in range(len(flat)) if place not in numbers]:
        lengths = [len(flat[place].ids) for place in pending]
        parts = [[pending[place] for place in batch] for batch in batches(lengths, room)]
        try:
            several_windows = [[flat[place] for place in part] for part in parts]
            for part, results in zip(parts, run(read, several_windows)):
                numbers.update(zip(part, results))
        except MemoryError:
            part = next(part for part in parts if part[0] not in numbers)
            if len(pairs) > 1 or len(part) == 1:
                raise
            half = len(part) // 2
            many = several(len(part), "window")
            tell(f"out of memory with {many} at once, trying {half}")
            room = half * max(len(flat[place].ids) for place in part)
    answers = []
    first = 0
    for text_pair, some in zip(pairs, cut):
        columns = [numbers[place] for place in range(first, first + len(some))]
        first += len(some)
        answers.append(_scored(text_pair, np.concatenate([np.empty((4, 0)), *columns], axis=1)))
    return answers


def _scored(part: TokenPair, numbers: Floats) -> Scored:
    logprobs, greedy, expected, spread = numbers
    starts, ends = (np.array(places, np.int64) for places in (part.starts, part.ends))
    return Scored(logprobs, starts, ends, greedy > 0, expected, spread)


@dataclass(slots=True)
class TextInProgress:
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
        text = self._text() if self.decoding.stop else ""
        if stops := [text.index(stop) for stop in self.decoding.stop if stop in text]:
            self._finish("stop", text[: min(stops)])
            return
        if len(self.ids) == self.decoding.max_tokens:
            self._finish("length", None)

    def _text(self) -> str:
        return self.tokens.decode(self.ids, self.before)

    def _finish(self, ended: Literal["end", "stop", "length"], text: str | None) -> None:
        # The end token was chosen too.
        count = len(self.ids) + (ended == "end")
        self.done = Generated(self._text() if text is None else text, count, ended)


def check_room(text: str, length: int, max_tokens: int, longest: int) -> None:
    if length + max_tokens > longest + 1:
        raise OptionError(
            f"a conversation of {length:,} tokens ({shortened(text)}) and {max_tokens:,} more do "
            f"not fit into the {longest:,} that the model reads: shorten it or --max-tokens"
        )


def start_texts(
    wanted: Sequence[Prompt],
    decoding: Decoding,
    tokens: Tokens,
    ends: frozenset[int],
    longest: int,
    tell: Once,
    render: Callable[[Sequence[Message]], str],
) -> list[TextInProgress]:
    """Prompts ready to be continued; one that leaves no room is cut on its left side. A
    conversation is not: without its beginning it would be another form."""
    room = longest - decoding.max_tokens + 1  # the last token is written and not read
    if room < 1:
        raise OptionError(
            f"the model reads at most {longest} tokens: max_tokens can be at most {longest}, not "
            f"{decoding.max_tokens}"
        )
    texts = []
    for request in wanted:
        if request.messages:
            # The template writes the start token itself, where the model wants one.
            before = tokens.encode(render(request.messages), special=False).ids
            check_room(request.text, len(before), decoding.max_tokens, longest)
        else:
            before = encode_prompt(tokens, request.text)
        if len(before) > room:
            tell(
                f"prompts that leave no room for {several(decoding.max_tokens, 'more token')} (the "
                f"model reads {longest}) are truncated on the left"
            )
        texts.append(TextInProgress(before[-room:], decoding, tokens, ends, generator(request)))
    return texts


# How likely a model is to write nearly what follows: a lower bound, by a beam search.
#
# The beams are beginnings that can still come within so many edits (tokens put in, left out or
# exchanged) of the tokens that follow. What is found in the end are different texts, so that their
# chances add up; those that no beam held are missing, hence a lower bound. The beginning of the
# text itself is always held: the bound is never below the chance of the text.

Step = Callable[[list[int], list[int]], Logits]
"""(beam that each goes on from, its next token) -> logits behind it, a row for each."""


def near_bound(
    target: Sequence[int], first: Logits, step: Step, decoding: Decoding, edits: int, beams: int
) -> float:
    """The logarithm of the bound; `first` are the logits before the first token."""
    wanted = np.array(target, np.int64)
    active = [(0.0, np.arange(len(wanted) + 1), True)]
    logits = first
    for place in range(len(wanted)):
        candidates: list[tuple[float, int, int, Ints, bool]] = []
        for number, (log, row, exact) in enumerate(active):
            following = _next_tokens(logits[number], wanted, place, decoding, edits, beams)
            for token, chance in following:
                reached = next_row(row, wanted, token)
                if reached.min() <= edits:
                    same = exact and token == wanted[place]
                    candidates.append((log + chance, number, token, reached, same))
        if place == len(wanted) - 1:
            ends = [log for log, _, _, row, _ in candidates if row[-1] <= edits]
            return float(np.logaddexp.reduce(ends)) if ends else -math.inf
        candidates.sort(key=lambda each: (not each[4], -each[0], each[1], each[2]))
        candidates = candidates[:beams]
        if not candidates:
            return -math.inf
        active = [(log, row, exact) for log, _, _, row, exact in candidates]
        logits = step([each[1] for each in candidates], [each[2] for each in candidates])
    return 0.0


def _next_tokens(
    logits: Logits, wanted: Ints, place: int, decoding: Decoding, edits: int, most: int
) -> list[tuple[int, float]]:
    """The likeliest tokens, and those that would follow in the text or near it."""
    if not np.isfinite(logits).any():
        return []  # nothing follows here
    tokens, logs = distribution(logits, decoding)
    tried = np.isin(tokens, wanted[max(0, place - edits) : place + edits + 1])
    tried[np.argsort(-logs, kind="stable")[:most]] = True
    return list(zip(tokens[tried].tolist(), logs[tried].tolist()))


def next_row(row: Ints, wanted: Ints, token: int) -> Ints:
    """Levenshtein's distances to all beginnings of the text, one token further."""
    steps = np.arange(len(row))
    reached = np.empty_like(row)
    reached[0] = row[0] + 1
    reached[1:] = np.minimum(row[1:] + 1, row[:-1] + (wanted != token))
    # A token of the text left out costs one, again and again.
    distances: Ints = np.minimum.accumulate(reached - steps) + steps
    return distances
