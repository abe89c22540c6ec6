"""A small Llama decoder by numpy alone: `numpy:FOLDER`, or the folder itself.

The folder is as transformers saves it: config.json, model.safetensors (float32, float16 or
bfloat16, computed with in float32), tokenizer.json. Equal to transformers to about 1e-5 nats.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rote.core.decoding import drawn_logs
from rote.core.errors import InputError
from rote.core.model import (
    Continuation,
    Decoding,
    Floats,
    Generated,
    Ints,
    Message,
    Model,
    Prompt,
    Scored,
)
from rote.core.progress import Once, Reporter
from rote.models import windows
from rote.models.chat import ChatTemplate, folder_template, render
from rote.models.llama.weights import Single, Weights, read_shape, read_weights
from rote.models.options import ModelOptions
from rote.models.windows import TextInProgress, Window
from rote.run import side_by_side

if TYPE_CHECKING:
    from rote.models.tokens import Tokens

VERSION = "1"
_FILES = (
    "config.json generation_config.json tokenizer.json tokenizer_config.json "
    "chat_template.jinja model.safetensors"
).split()
"""What the numbers and texts depend on; three of them need not be there."""
_TOKENS = 1024
"""Read at once: what the layers compute with stays in the cache. It is cut by the data alone,
so that numbers do not depend on how many threads share the work."""
_TEXTS = 16
"""Written at once."""


@dataclass(frozen=True, slots=True)
class Numpy:
    signature: str
    batch: int
    tokens: Tokens
    weights: Weights
    threads: int
    tell: Once
    template: ChatTemplate | None = None

    @property
    def limit(self) -> int:
        return self.weights.shape.longest

    @property
    def chat_form(self) -> str | None:
        return self.template.signature if self.template else None

    def render(self, messages: Sequence[Message]) -> str:
        return render(self.template, messages)

    def length(self, text: str) -> int:
        return len(self.tokens.encode(text, special=False).ids)

    def score(self, wanted: Sequence[Continuation]) -> list[Scored]:
        return self._scored(wanted, None)

    def drawn(self, wanted: Sequence[Continuation], decoding: Decoding) -> list[Scored]:
        return self._scored(wanted, decoding)

    def _scored(self, wanted: Sequence[Continuation], decoding: Decoding | None) -> list[Scored]:

        pairs = [windows.encode_pair(self.tokens, request) for request in wanted]

        def read(some: Sequence[Window]) -> list[Floats]:
            return read_windows(self.weights, some, decoding)

        def run(work: windows.Read, parts: windows.Parts) -> Iterable[list[Floats]]:
            return side_by_side(work, parts, self.threads)

        return windows.score_pairs(pairs, self.limit, _TOKENS, read, self.tell, run)

    def near(
        self, wanted: Sequence[Continuation], decoding: Decoding, edits: int, beams: int
    ) -> list[float]:
        def search(part: windows.TokenPair) -> float:
            return search_near(self.weights, part.ids, part.first, decoding, edits, beams)

        pairs = windows.encode_uncut(self.tokens, wanted, self.limit)
        return list(side_by_side(search, pairs, self.threads))

    def generate(self, wanted: Sequence[Prompt], decoding: Decoding) -> list[Generated]:

        ends = self.weights.shape.ends
        texts = windows.start_texts(
            wanted, decoding, self.tokens, ends, self.limit, self.tell, self.render
        )
        parts = [texts[first : first + _TEXTS] for first in range(0, len(texts), _TEXTS)]

        list(side_by_side(partial(write, self.weights), parts, self.threads))
        return [text.done for text in texts if text.done is not None]


def threads_of(requested: int) -> int:
    """As many as there are cores, unless numpy's own products use them already."""
    single = any(
        os.environ.get(name) == "1" for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")
    )
    return requested or ((os.cpu_count() or 1) if single else 1)


def open_model(name: str, options: ModelOptions, reporter: Reporter) -> Model:
    """`numpy:FOLDER`"""
    from rote.models.tokens import read_tokens

    folder = Path(name)
    if not folder.is_dir():
        raise InputError(
            "there is no such model folder",
            file=name,
            remedy="A model of the hub is run by transformers:NAME",
        )
    shape = read_shape(folder)
    tokens = read_tokens(folder, shape.start)
    if max(tokens.size, tokens.start + 1, *(end + 1 for end in shape.ends)) > shape.vocabulary:
        raise InputError(
            f"the tokenizer has {tokens.size} tokens, the model {shape.vocabulary}",
            file=str(folder / "tokenizer.json"),
            remedy="Keep all files of a model together",
        )
    weights = read_weights(folder, shape)
    signature = f"numpy/{VERSION}-{folder.resolve().name}-{_fingerprint(folder)}"
    if options.dtype not in ("auto", "float32"):
        reporter.say(f"{folder}: numpy computes in float32, not in {options.dtype}")
    threads = threads_of(options.threads)
    return Numpy(
        signature, options.batch, tokens, weights, threads, Once(reporter), folder_template(folder)
    )


def _fingerprint(folder: Path) -> str:
    digest = hashlib.blake2b(digest_size=6)
    for name in _FILES:
        if not (folder / name).is_file():
            continue
        digest.update(f"{name}\n".encode())
        with (folder / name).open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


Attend = Callable[[int, Single, Single, Single], Single]
"""(number of the layer, queries, keys, values) -> what is seen; all of them token by head."""


def run_layers(weights: Weights, ids: Ints, positions: Ints, attend: Attend) -> Single:
    """The normed states behind the last layer, one row for each token."""
    shape = weights.shape
    cosines, sines = weights.cosines[positions][:, None], weights.sines[positions][:, None]
    queries, keys = shape.heads * shape.head, shape.groups * shape.head
    x = weights.embedding[ids]
    for number, layer in enumerate(weights.layers):
        looked = layer.looking(_rms_norm(x, layer.norm, shape.epsilon))
        q = looked[:, :queries].reshape(len(ids), shape.heads, shape.head)
        k = looked[:, queries : queries + keys].reshape(len(ids), shape.groups, shape.head)
        v = looked[:, queries + keys :].reshape(len(ids), shape.groups, shape.head)
        _rotate(q, cosines, sines)
        _rotate(k, cosines, sines)
        q *= np.float32(shape.head**-0.5)
        x += layer.out(attend(number, q, k, v).reshape(len(ids), queries))
        both = layer.inner(_rms_norm(x, layer.second_norm, shape.epsilon))
        x += layer.down(_silu_gate(both[:, : shape.inner], both[:, shape.inner :]))
    return _rms_norm(x, weights.norm, shape.epsilon)


def softmax_weighted(scores: Single, values: Single) -> Single:
    """The values weighted by the softmax of their scores, which are overwritten."""
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    total = scores.sum(axis=-1, keepdims=True)
    # Divided afterwards: there are fewer sums than scores.
    sums: Single = scores @ values
    sums /= total
    return sums


def _rms_norm(x: Single, weight: Single, epsilon: float) -> Single:
    square = np.einsum("ij,ij->i", x, x) / np.float32(x.shape[1])
    scaled: Single = x * (1 / np.sqrt(square + np.float32(epsilon)))[:, None]
    scaled *= weight
    return scaled


def _rotate(x: Single, cosines: Single, sines: Single) -> None:
    """Each head's first half against its second, by the token's position, in place."""
    half = x.shape[-1] // 2
    first, second = x[..., :half], x[..., half:]
    turned = first * cosines - second * sines
    second *= cosines
    second += first * sines
    first[...] = turned


def _silu_gate(gate: Single, values: Single) -> Single:
    with np.errstate(over="ignore"):  # far below zero the gate is shut: x / inf is 0
        gated = np.exp(-gate)
    gated += 1
    np.divide(gate, gated, out=gated)
    gated *= values
    return gated


_QUERIES = 128
"""Tokens whose attention is computed at once: they see no further than the last of them."""
_TOGETHER = 64
"""Sequences up to this length are computed together with others of the same length."""
_LOGITS = 1 << 19
"""Logits at once: few enough to stay in the cache between two passes over them."""
_FEWEST = 128
"""States at once, however large the vocabulary: the head is read from memory for each of them."""


def read_windows(
    weights: Weights, some: Sequence[Window], decoding: Decoding | None = None
) -> list[Floats]:
    """For each window the columns log-probability, greedy, expected, spread of what it asks; with
    a decoding, the log-probability of its draws."""
    order = sorted(range(len(some)), key=lambda place: len(some[place].ids))
    read = [np.array(some[place].ids[:-1], np.int64) for place in order]
    states = read_states(weights, read)
    ends = np.cumsum([len(sequence) for sequence in read])
    counts = [len(some[place].ids) - some[place].first for place in order]
    rows = np.concatenate([np.arange(end - count, end) for end, count in zip(ends, counts)])
    targets = np.concatenate(
        [np.array(some[place].ids[some[place].first :], np.int64) for place in order]
    )
    numbers = token_likelihoods(weights, states[rows], targets, decoding)
    parts = np.split(numbers, np.cumsum(counts)[:-1], axis=1)
    by_place = dict(zip(order, parts))
    return [by_place[place] for place in range(len(some))]


def read_states(
    weights: Weights,
    sequences: Sequence[Ints],
    keys: Sequence[Single] = (),
    values: Sequence[Single] = (),
) -> Single:
    """The states of all tokens, one sequence after the other; the shortest come first.

    `keys` and `values`, one array for each layer, are filled for what is to go on: sequence by
    position by head.
    """
    lengths = [len(sequence) for sequence in sequences]
    groups = [(length, len(list(group))) for length, group in groupby(lengths)]

    def attend(number: int, q: Single, k: Single, v: Single) -> Single:
        attended = np.empty_like(q)
        first = row = 0
        for length, count in groups:
            part = slice(first, first + length * count)
            form = (count, length, -1, q.shape[-1])
            blocks = q[part].reshape(form), k[part].reshape(form), v[part].reshape(form)
            if keys:
                keys[number][row : row + count, :length] = blocks[1]
                values[number][row : row + count, :length] = blocks[2]
            attended[part].reshape(form)[...] = attention(*blocks)
            first, row = part.stop, row + count
        return attended

    ids = np.concatenate(sequences)
    positions = np.concatenate([np.arange(length) for length in lengths])
    return run_layers(weights, ids, positions, attend)


def attention(queries: Single, keys: Single, values: Single) -> Single:
    """Causal attention of sequences of one length: sequence by position by head by width."""
    count, length, heads, width = queries.shape
    groups = keys.shape[2]
    # Group by (head of the group, position), so that shared keys are multiplied once.
    q = queries.reshape(count, length, groups, heads // groups, width).transpose(0, 2, 3, 1, 4)
    k = keys.transpose(0, 2, 3, 1)[:, :, None]
    v = values.transpose(0, 2, 1, 3)[:, :, None]
    attended = np.empty((count, length, groups, heads // groups, width), np.float32)
    step = count if length <= _TOGETHER else 1
    for row in range(0, count, step):
        rows = slice(row, row + step)
        for first in range(0, length, _QUERIES):
            end = min(first + _QUERIES, length)
            scores = q[rows, :, :, first:end] @ k[rows, ..., :end]
            scores[..., first:] += _causal_mask(end - first)
            weighted_values = softmax_weighted(scores, v[rows, :, :, :end])
            attended[rows, first:end] = weighted_values.transpose(0, 3, 1, 2, 4)
    return attended.reshape(queries.shape)


@cache
def _causal_mask(length: int) -> Single:
    """Minus infinity where a key stands behind its query."""
    behind: NDArray[np.bool_] = np.tri(length, dtype=np.bool_)
    return np.where(behind, np.float32(0), np.float32(-np.inf))


def token_likelihoods(
    weights: Weights, states: Single, targets: Ints, decoding: Decoding | None = None
) -> Floats:
    """Log-probability, whether it is the likeliest, and mean and standard deviation of the
    log-probability under the distribution itself: four rows, a column for each target."""
    columns = np.empty((4, len(targets)), np.float64)
    step = max(_FEWEST, _LOGITS // weights.shape.vocabulary)
    for first in range(0, len(targets), step):
        logits, wanted = states[first : first + step] @ weights.head, targets[first : first + step]
        # Before the columns, which overwrite the logits.
        drawn = None if decoding is None else drawn_logs(logits, wanted, decoding)
        columns[:, first : first + step] = _columns(logits, wanted)
        if drawn is not None:
            columns[0, first : first + step] = drawn
    return columns


def _columns(logits: Single, targets: Ints) -> Floats:
    rows = np.arange(len(targets))
    likeliest = logits.argmax(axis=1)
    logits -= logits[rows, likeliest][:, None]
    target_logits = logits[rows, targets].astype(np.float64)
    chances = np.exp(logits)
    total = chances.sum(axis=1)
    chances /= total[:, None]
    mean = np.einsum("ij,ij->i", chances, logits)
    # From the mean on: the difference of two large squares would lose the small spreads.
    logits -= mean[:, None]
    logits *= logits
    variance = np.einsum("ij,ij->i", chances, logits)
    normal = np.log(total.astype(np.float64))
    return np.stack(
        [target_logits - normal, likeliest == targets, mean - normal, np.sqrt(variance)]
    )


def write(weights: Weights, texts: Sequence[TextInProgress]) -> None:
    """Continue all of them until each is done."""
    # The shortest first: prompts of one length are read together.
    going = sorted(texts, key=lambda text: len(text.before))
    lengths = np.array([len(text.before) for text in going])
    # Several answers to one prompt read it once.
    prompts = {tuple(text.before): text for text in going}
    read = [np.array(prompt, np.int64) for prompt in prompts]
    longest = max(len(text.before) + text.decoding.max_tokens for text in prompts.values())
    keys, values = _empty_caches(weights, len(prompts), longest)
    states = read_states(weights, read, keys, values)[
        np.cumsum([len(sequence) for sequence in read]) - 1
    ]
    if len(prompts) < len(going):
        number = {prompt: place for place, prompt in enumerate(prompts)}
        rows = [number[tuple(text.before)] for text in going]
        states = states[rows]
        keys, values = ([layer[rows] for layer in cache] for cache in (keys, values))
    while True:
        for text, logits in zip(going, states @ weights.head):
            text.go_on(logits)
        unfinished = [place for place, text in enumerate(going) if text.done is None]
        if not unfinished:
            return
        if len(unfinished) < len(going):
            going = [going[place] for place in unfinished]
            lengths = lengths[unfinished]
            for layer in range(len(keys)):
                keys[layer], values[layer] = keys[layer][unfinished], values[layer][unfinished]
        last = np.array([text.ids[-1] for text in going], np.int64)
        states = _step_tokens(weights, last, lengths, keys, values)
        lengths = lengths + 1


def _empty_caches(weights: Weights, texts: int, longest: int) -> tuple[list[Single], list[Single]]:
    """Keys and values of so many texts, layer by layer."""
    shape = weights.shape
    form = (texts, min(longest, shape.longest), shape.groups, shape.head)
    # Zeros, since what is behind the end of a row is multiplied by a weight of 0.
    keys, values = ([np.zeros(form, np.float32) for _ in range(shape.layers)] for _ in range(2))
    return keys, values


def _step_tokens(
    weights: Weights, ids: Ints, lengths: Ints, keys: Sequence[Single], values: Sequence[Single]
) -> Single:
    """One token further in every row; `lengths` are those before."""
    rows = np.arange(len(ids))
    end = int(lengths.max()) + 1
    behind = np.where(np.arange(end) > lengths[:, None], np.float32(-np.inf), np.float32(0))

    def attend(number: int, q: Single, k: Single, v: Single) -> Single:
        keys[number][rows, lengths] = k
        values[number][rows, lengths] = v
        # Row by group by head of the group.
        grouped = q.reshape(len(ids), k.shape[1], -1, q.shape[-1])
        scores = grouped @ keys[number][:, :end].transpose(0, 2, 3, 1)
        scores += behind[:, None, None]
        attended = softmax_weighted(scores, values[number][:, :end].transpose(0, 2, 1, 3))
        return attended.reshape(q.shape)

    return run_layers(weights, ids, lengths, attend)


def search_near(
    weights: Weights, ids: Sequence[int], first: int, decoding: Decoding, edits: int, beams: int
) -> float:
    """The bound of `models.windows` for the tokens from `first` on."""
    keys, values = _empty_caches(weights, 1, len(ids))
    states = read_states(weights, [np.array(ids[:first], np.int64)], keys, values)[-1:]
    length = first

    def step(parents: list[int], tokens: list[int]) -> Single:
        nonlocal length
        for layer in range(len(keys)):
            keys[layer], values[layer] = keys[layer][parents], values[layer][parents]
        rows = np.array(tokens, np.int64)
        states = _step_tokens(weights, rows, np.full(len(rows), length), keys, values)
        length += 1
        logits: Single = states @ weights.head
        return logits

    return windows.near_bound(ids[first:], states @ weights.head, step, decoding, edits, beams)
