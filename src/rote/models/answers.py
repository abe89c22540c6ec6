"""Many questions to a model: sorted by length, in batches, each answer kept as soon as it is there.

What a model answered is kept under its signature (`core.cache`), so that a run that was killed
goes on after the last finished batch, and asking again costs nothing. Where a batch does not fit
into memory, it and those after it are halved.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np

from rote.core.cache import Kept
from rote.core.errors import OptionError, RoteError
from rote.core.json_reader import parse_json
from rote.core.model import (
    Charging,
    Continuation,
    Decoding,
    Drawing,
    Generated,
    Model,
    Prompt,
    Scored,
)
from rote.core.progress import Reporter, several
from rote.models.windows import batches

Question = TypeVar("Question")
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class _Way(Generic[Question, Answer]):
    """How one kind of question is put, and how its answer is kept."""

    title: str
    key: Callable[[Question], bytes]
    length: Callable[[Question], int]
    """Tokens to read."""
    written: int
    """Tokens that may be written for each."""
    ask: Callable[[Sequence[Question]], list[Answer]]
    to_bytes: Callable[[Answer], bytes]
    from_bytes: Callable[[bytes], Answer]


def score_all(
    model: Model, wanted: Sequence[Continuation], reporter: Reporter, *, title: str = "scoring"
) -> list[Scored]:
    """The scores of all continuations, in their order."""
    way = _Way(
        title,
        lambda one: _key("score/1", one.context, one.text),
        lambda one: model.length(one.context + one.text) + 1,
        0,
        model.score,
        _scored_to_bytes,
        _scored_from_bytes,
    )
    return _ask(model, wanted, way, reporter)


def drawn_all(
    model: Model,
    wanted: Sequence[Continuation],
    decoding: Decoding,
    reporter: Reporter,
    *,
    title: str = "scoring",
) -> list[Scored]:
    """How likely the model is to write each continuation when it draws by `decoding`."""
    plain = decoding.temperature == 1 and decoding.top_p == 1 and not decoding.top_k
    if not decoding.sampled:
        return [_certain(one) for one in score_all(model, wanted, reporter, title=title)]
    if not isinstance(model, Drawing):
        if plain and not decoding.constraint:
            return score_all(model, wanted, reporter, title=title)
        raise OptionError(
            f"{model.signature} shows no whole distribution, so that nobody knows what it draws by "
            "other settings than --temperature 1: run it with gguf: or transformers:"
        )
    able, settings = model, replace(decoding, max_tokens=1).signature
    way: _Way[Continuation, Scored] = _Way(
        title,
        lambda one: _key("drawn/1", settings, one.context, one.text),
        lambda one: model.length(one.context + one.text) + 1,
        0,
        lambda some: able.drawn(some, decoding),
        _scored_to_bytes,
        _scored_from_bytes,
    )
    return _ask(model, wanted, way, reporter)


def _certain(one: Scored) -> Scored:
    """Greedy decoding takes the likeliest token and no other."""
    return replace(one, logprobs=np.where(one.greedy, 0.0, -np.inf))


def generate_all(
    model: Model,
    wanted: Sequence[Prompt],
    decoding: Decoding,
    reporter: Reporter,
    *,
    title: str = "generating",
    count_filtered: bool = True,
) -> list[Generated]:
    """What the model writes after each prompt, in their order.

    Texts that an endpoint withheld are counted in a remark, unless the caller does so itself.
    """

    def key(one: Prompt) -> bytes:
        # Greedy decoding draws nothing: the seed does not matter.
        seed = str(one.seed) if decoding.sampled else ""
        return _key("generate/1", decoding.signature, seed, one.text)

    way = _Way(
        title,
        key,
        lambda one: model.length(one.text) + 1,
        decoding.max_tokens,
        lambda some: model.generate(some, decoding),
        lambda one: json.dumps([one.text, one.tokens, one.ended, one.sent]).encode(),
        lambda data: Generated(*parse_json(data)),
    )
    made = _ask(model, wanted, way, reporter)
    filtered = sum(one.ended == "filtered" for one in made)
    if filtered and count_filtered:
        reporter.say(
            f"{title}: the endpoint filtered {filtered:,} of {several(len(made), 'text')}; what it "
            "withheld counts as not written"
        )
    return made


def _ask(
    model: Model, wanted: Sequence[Question], way: _Way[Question, Answer], reporter: Reporter
) -> list[Answer]:
    keys = [way.key(one) for one in wanted]
    questions = dict(zip(keys, wanted))
    with Kept("answers", model.signature, reporter) as kept:
        before = kept.read(list(questions))
        answers = {found: way.from_bytes(data) for found, data in before.items()}
        left = [(found, one) for found, one in questions.items() if found not in answers]
        if answers and left:
            reporter.say(f"{way.title}: {len(answers):,} of {len(questions):,} were done before")
        if left:
            names, asked = [name for name, _ in left], [one for _, one in left]
            lengths = [way.length(one) for one in asked]
            if isinstance(model, Charging):
                model.about_to(len(left), sum(lengths), len(left) * way.written)
            lengths = [length + way.written for length in lengths]
            with reporter.stage(way.title, len(left), "texts") as advance:
                for places, given in _answers(way.ask, asked, lengths, model.batch, reporter):
                    found = [names[place] for place in places]
                    kept.write((name, way.to_bytes(one)) for name, one in zip(found, given))
                    answers.update(zip(found, given))
                    advance(len(places))
    return [answers[name] for name in keys]


def _answers(
    ask: Callable[[Sequence[Question]], list[Answer]],
    questions: Sequence[Question],
    lengths: Sequence[int],
    room: int,
    reporter: Reporter,
) -> Iterator[tuple[list[int], list[Answer]]]:
    """Places and their answers, a batch at a time; one that is too large makes all smaller."""
    left = list(range(len(questions)))
    while left:
        done: set[int] = set()
        for batch in batches([lengths[place] for place in left], room):
            places = [left[place] for place in batch]
            try:
                given = ask([questions[place] for place in places])
            except MemoryError:
                if len(places) == 1:
                    raise RoteError(
                        "one text alone does not fit into memory: shorten it, or take a smaller "
                        "model or precision"
                    ) from None
                half = len(places) // 2
                reporter.say(
                    f"out of memory: {len(places)} texts at once are too many, {half} are tried"
                )
                room = half * max(lengths[place] for place in places)
                break
            except RoteError as error:
                if error.answered:
                    yield [places[one] for one in error.answered], list(error.answered.values())
                raise
            if len(given) != len(places):
                raise RoteError(f"{len(places)} texts were asked for and {len(given)} answered")
            yield places, given
            done.update(places)
        left = [place for place in left if place not in done]


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
