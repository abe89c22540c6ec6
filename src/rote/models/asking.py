"""Many questions to a model: sorted by length, in batches, each answer kept as soon as it is there.

What a model answered is kept under its signature (`core.kept`), so that a run that was killed
goes on after the last finished batch, and asking again costs nothing. A batch that does not fit
into memory is halved.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np

from rote.core.errors import RoteError
from rote.core.kept import Kept
from rote.core.model import Continuation, Decoding, Generated, Model, Prompt, Scored
from rote.core.progress import Reporter

Question = TypeVar("Question")
Answer = TypeVar("Answer")


def score_all(
    model: Model, wanted: Sequence[Continuation], reporter: Reporter, *, title: str = "scoring"
) -> list[Scored]:
    """The scores of all continuations, in their order."""

    def length(one: Continuation) -> int:
        return model.length(one.context + one.text) + 1

    return _ask(
        model,
        wanted,
        lambda one: _key("score/1", one.context, one.text),
        length,
        model.score,
        _scored_to_bytes,
        _scored_from_bytes,
        reporter,
        title,
    )


def generate_all(
    model: Model,
    wanted: Sequence[Prompt],
    decoding: Decoding,
    reporter: Reporter,
    *,
    title: str = "generating",
) -> list[Generated]:
    """What the model writes after each prompt, in their order."""

    def key(one: Prompt) -> bytes:
        # Greedy decoding draws nothing: the seed does not matter.
        seed = str(one.seed) if decoding.sampled else ""
        return _key("generate/1", decoding.signature, seed, one.text)

    return _ask(
        model,
        wanted,
        key,
        lambda one: model.length(one.text) + decoding.max_tokens + 1,
        lambda some: model.generate(some, decoding),
        _generated_to_bytes,
        _generated_from_bytes,
        reporter,
        title,
    )


def _ask(
    model: Model,
    wanted: Sequence[Question],
    key: Callable[[Question], bytes],
    length: Callable[[Question], int],
    ask: Callable[[Sequence[Question]], list[Answer]],
    written: Callable[[Answer], bytes],
    read: Callable[[bytes], Answer],
    reporter: Reporter,
    title: str,
) -> list[Answer]:
    questions = {key(one): one for one in wanted}
    with Kept("answers", model.signature, reporter) as kept:
        answers = {found: read(data) for found, data in kept.read(list(questions)).items()}
        left = [(found, one) for found, one in questions.items() if found not in answers]
        if answers and left:
            reporter.say(f"{title}: {len(answers):,} of {len(questions):,} were done before")
        if left:
            lengths = [length(one) for _, one in left]
            with reporter.stage(title, len(left), "") as advance:
                for batch in _batches(lengths, model.batch):
                    some = [left[place] for place in batch]
                    given = _smaller(ask, [one for _, one in some], reporter)
                    kept.write((found, written(one)) for (found, _), one in zip(some, given))
                    answers.update((found, one) for (found, _), one in zip(some, given))
                    advance(len(batch))
    return [answers[key(one)] for one in wanted]


def _batches(lengths: Sequence[int], room: int) -> Iterator[list[int]]:
    """Places, the longest first, so that what does not fit is noticed at once; equal lengths
    side by side, so that little is padding."""
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


def _smaller(
    ask: Callable[[Sequence[Question]], list[Answer]], some: Sequence[Question], reporter: Reporter
) -> list[Answer]:
    try:
        return ask(some)
    except MemoryError:
        if len(some) == 1:
            raise RoteError(
                "one text alone does not fit into memory: shorten it, or take a smaller model"
            ) from None
        half = len(some) // 2
        reporter.say(f"out of memory: {len(some)} texts at once are too many, {half} are tried")
        return [*_smaller(ask, some[:half], reporter), *_smaller(ask, some[half:], reporter)]


def _key(*parts: str) -> bytes:
    # JSON keeps the parts apart, whatever they hold; lone surrogates stay writable.
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=16).digest()


def _scored_to_bytes(one: Scored) -> bytes:
    numbers = (one.logprobs, one.expected, one.spread)
    places = (one.starts, one.ends, one.greedy)
    return b"".join(
        [
            np.int64(len(one.logprobs)).tobytes(),
            *(np.asarray(column, np.float64).tobytes() for column in numbers),
            *(np.asarray(column, np.int64).tobytes() for column in places),
        ]
    )


def _scored_from_bytes(data: bytes) -> Scored:
    count = int(np.frombuffer(data, np.int64, 1)[0])
    numbers = np.frombuffer(data, np.float64, 3 * count, 8).reshape(3, count)
    places = np.frombuffer(data, np.int64, 3 * count, 8 + 24 * count).reshape(3, count)
    return Scored(numbers[0], places[0], places[1], places[2].astype(bool), numbers[1], numbers[2])


def _generated_to_bytes(one: Generated) -> bytes:
    return json.dumps([one.text, one.tokens, one.ended]).encode()


def _generated_from_bytes(data: bytes) -> Generated:
    return Generated(*json.loads(data))
