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
from functools import partial
from typing import Generic, TypeVar

import numpy as np

from rote.core.cache import DiskCache
from rote.core.errors import OptionError, RoteError
from rote.core.json_reader import parse_json
from rote.core.model import (
    Charging,
    Chatting,
    Continuation,
    Decoding,
    Drawing,
    Generated,
    Model,
    Prompt,
    Scored,
    chat_form,
)
from rote.core.progress import Reporter, several
from rote.models.windows import batches

Question = TypeVar("Question")
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class _QuestionKind(Generic[Question, Answer]):
    """How one kind of question is put, and how its answer is kept."""

    title: str
    key: Callable[[Question], bytes]
    length: Callable[[Question], int]
    """Tokens to read."""
    max_tokens: int
    """Tokens that may be written for each."""
    ask: Callable[[Sequence[Question]], list[Answer]]
    to_bytes: Callable[[Answer], bytes]
    from_bytes: Callable[[bytes], Answer]


def score_all(
    model: Model, wanted: Sequence[Continuation], reporter: Reporter, *, title: str = "scoring"
) -> list[Scored]:
    """The scores of all continuations, in their order."""
    return _ask_model(model, wanted, _scoring(model, title, model.score, "score/1"), reporter)


def _scoring(
    model: Model, title: str, ask: Callable[[Sequence[Continuation]], list[Scored]], *settings: str
) -> _QuestionKind[Continuation, Scored]:
    return _QuestionKind(
        title,
        lambda request: _key(*settings, request.context, request.text),
        lambda request: model.length(request.context + request.text) + 1,
        0,
        ask,
        _scored_to_bytes,
        _scored_from_bytes,
    )


def score_draws(
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
        # Greedy decoding takes the likeliest token and no other.
        return [
            replace(scored, logprobs=np.where(scored.greedy, 0.0, -np.inf))
            for scored in score_all(model, wanted, reporter, title=title)
        ]
    if not isinstance(model, Drawing):
        if plain and not decoding.constraint:
            return score_all(model, wanted, reporter, title=title)
        raise OptionError(
            f"{model.signature} does not return the full distribution, so only --temperature 1 is "
            "known: run it with gguf: or transformers:"
        )
    able, settings = model, replace(decoding, max_tokens=1).signature
    ask = partial(able.drawn, decoding=decoding)
    return _ask_model(model, wanted, _scoring(model, title, ask, "drawn/1", settings), reporter)


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

    def key(prompt: Prompt) -> bytes:
        # Greedy decoding draws nothing: the seed does not matter.
        seed = str(prompt.seed) if decoding.sampled else ""
        if not prompt.messages:
            return _key("generate/1", decoding.signature, seed, prompt.text)
        turns = [part for message in prompt.messages for part in (message.role, message.content)]
        return _key("chat/1", decoding.signature, seed, str(chat_form(model)), *turns)

    def length(prompt: Prompt) -> int:
        read = prompt.text
        if prompt.messages and isinstance(model, Chatting):
            read = model.render(prompt.messages)
        return model.length(read) + 1

    if any(prompt.messages for prompt in wanted) and chat_form(model) is None:
        raise OptionError(f"{model.signature} has no chat form: send it plain text")

    way = _QuestionKind(
        title,
        key,
        length,
        decoding.max_tokens,
        lambda some: model.generate(some, decoding),
        lambda generated: json.dumps(
            [generated.text, generated.tokens, generated.ended, generated.sent]
        ).encode(),
        lambda data: Generated(*parse_json(data)),
    )
    texts = _ask_model(model, wanted, way, reporter)
    filtered = sum(text.ended == "filtered" for text in texts)
    if filtered and count_filtered:
        reporter.say(
            f"{title}: the endpoint filtered {filtered:,} of {several(len(texts), 'text')}; "
            "withheld text counts as missing"
        )
    return texts


def _ask_model(
    model: Model,
    wanted: Sequence[Question],
    way: _QuestionKind[Question, Answer],
    reporter: Reporter,
) -> list[Answer]:
    keys = [way.key(question) for question in wanted]
    questions = dict(zip(keys, wanted))
    with DiskCache("answers", model.signature, reporter) as cache:
        before = cache.read(list(questions))
        answers = {key: way.from_bytes(data) for key, data in before.items()}
        unanswered = [(key, question) for key, question in questions.items() if key not in answers]
        if answers and unanswered:
            reporter.say(f"{way.title}: {len(answers):,} of {len(questions):,} were already done")
        if unanswered:
            names, pending = zip(*unanswered)
            lengths = [way.length(question) for question in pending]
            if isinstance(model, Charging):
                model.about_to(len(unanswered), sum(lengths), len(unanswered) * way.max_tokens)
            lengths = [length + way.max_tokens for length in lengths]
            with reporter.stage(way.title, len(unanswered), "texts") as advance:
                answered = _answer_batches(way.ask, pending, lengths, model.batch, reporter)
                for places, replies in answered:
                    batch_keys = [names[place] for place in places]
                    cache.write(zip(batch_keys, map(way.to_bytes, replies)))
                    answers.update(zip(batch_keys, replies))
                    advance(len(places))
    return [answers[name] for name in keys]


def _answer_batches(
    ask: Callable[[Sequence[Question]], list[Answer]],
    questions: Sequence[Question],
    lengths: Sequence[int],
    room: int,
    reporter: Reporter,
) -> Iterator[tuple[list[int], list[Answer]]]:
    """Places and their answers, a batch at a time; one that is too large makes all smaller."""
    pending = list(range(len(questions)))
    while pending:
        done: set[int] = set()
        for batch in batches([lengths[place] for place in pending], room):
            places = [pending[place] for place in batch]
            try:
                replies = ask([questions[place] for place in places])
            except MemoryError:
                if len(places) == 1:
                    raise RoteError(
                        "a single text does not fit into memory: shorten it, or use a smaller "
                        "model or precision"
                    ) from None
                half = len(places) // 2
                reporter.say(f"out of memory with {len(places)} texts at once, trying {half}")
                room = half * max(lengths[place] for place in places)
                break
            except RoteError as error:
                if error.answered:
                    answered = [places[number] for number in error.answered]
                    yield answered, list(error.answered.values())
                raise
            if len(replies) != len(places):
                raise RoteError(f"{len(places)} texts were requested, but {len(replies)} returned")
            yield places, replies
            done.update(places)
        pending = [place for place in pending if place not in done]


def _key(*parts: str) -> bytes:
    # JSON keeps the parts apart, whatever they hold; lone surrogates stay writable.
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=16).digest()


def _scored_to_bytes(scored: Scored) -> bytes:
    numbers = (scored.logprobs, scored.expected, scored.spread)
    places = (scored.starts, scored.ends, scored.greedy)
    return b"".join(
        [
            np.int64(len(scored.logprobs)).tobytes(),
            *(np.asarray(column, np.float64).tobytes() for column in numbers),
            *(np.asarray(column, np.int64).tobytes() for column in places),
        ]
    )


def _scored_from_bytes(data: bytes) -> Scored:
    count = int(np.frombuffer(data, np.int64, 1)[0])
    numbers = np.frombuffer(data, np.float64, 3 * count, 8).reshape(3, count)
    places = np.frombuffer(data, np.int64, 3 * count, 8 + 24 * count).reshape(3, count)
    return Scored(numbers[0], places[0], places[1], places[2].astype(bool), numbers[1], numbers[2])
