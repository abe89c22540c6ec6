"""The next token from a distribution: greedy, temperature, top-k, top-p, constraining factor.

One implementation for every backend that sees the logits, in double precision and with a random
generator of its own for every prompt, so that what is drawn depends on nothing but the logits,
the settings, the prompt and its seed.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import RoteError
from rote.core.model import Decoding, Floats, Ints, Prompt

Logits = NDArray[np.floating[Any]]
_AT_FIRST = 512


def log_softmax(logits: Logits) -> Floats:
    """Over the last axis, in double precision."""
    exact = logits.astype(np.float64)
    shifted = exact - exact.max(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))


def generator(prompt: Prompt) -> np.random.Generator:
    """The draws of one prompt. Its text counts too: prompts with the same seed would otherwise
    all draw the same numbers, and texts be alike that have nothing to do with each other."""
    prompt_bytes = prompt.text.encode("utf-8", "surrogatepass")
    text = int.from_bytes(hashlib.blake2b(prompt_bytes, digest_size=8).digest(), "little")
    return np.random.default_rng([prompt.seed % (1 << 64), text])


def refuse_nan(numbers: Any) -> None:
    """Of a model whose numbers are too large for float16, Gemma's say."""
    if np.isnan(numbers).any():
        raise RoteError("the model gives NaN: use --dtype float32")


def choose(logits: Logits, decoding: Decoding, random: np.random.Generator) -> int:
    """One token. Equal logits go to the lower number, as argmax has it."""
    likeliest = int(np.argmax(logits))
    refuse_nan(logits[likeliest])  # argmax stops at the first nan
    if not decoding.sampled:
        return likeliest
    if decoding.constraint and random.random() < 1 / decoding.constraint:
        return likeliest
    tokens, weights = _weighted(logits, decoding)
    reached = np.cumsum(weights)
    place = np.searchsorted(reached, random.random() * reached[-1], "right")
    return int(tokens[min(place, len(tokens) - 1)])


def _weighted(logits: Logits, decoding: Decoding) -> tuple[Ints, Floats]:
    """The tokens that may be drawn, and how likely each is.

    As usual, temperature comes first, then the k likeliest, then the smallest set of the
    likeliest that holds `top_p` of what is left. Where all may be drawn nothing is sorted.
    """
    scaled = logits.astype(np.float64) / decoding.temperature
    if not decoding.top_k and decoding.top_p == 1:
        return np.arange(len(logits)), np.exp(log_softmax(scaled))
    if decoding.top_k:
        order = _likeliest(logits, decoding.top_k)[: decoding.top_k]
        chances = np.exp(log_softmax(scaled[order]))
    else:
        every, count = np.exp(log_softmax(scaled)), _AT_FIRST
        while True:  # mostly a few hundred tokens hold the share
            order = _likeliest(logits, count)
            chances = every[order]
            if len(order) == len(logits) or np.cumsum(chances)[-1] >= decoding.top_p:
                break
            count *= 8
    if decoding.top_p < 1:
        before = np.cumsum(chances) - chances
        order, chances = order[before < decoding.top_p], chances[before < decoding.top_p]
    return order, chances


def _likeliest(logits: Logits, count: int) -> Ints:
    """The `count` likeliest tokens or more (equal ones all), in order."""
    places = np.arange(len(logits))
    if count < len(logits):
        places = np.flatnonzero(logits >= np.partition(logits, -count)[-count])
    return places[np.argsort(-logits[places], kind="stable")]


def distribution(logits: Logits, decoding: Decoding) -> tuple[Ints, Floats]:
    """The tokens that may be taken next, and the log-probability of each."""
    if not decoding.sampled:
        return np.array([np.argmax(logits)]), np.zeros(1)
    tokens, weights = _weighted(logits, decoding)
    with np.errstate(divide="ignore"):
        return tokens, np.log(weights / weights.sum())


def drawn_logs(logits: Logits, targets: Ints, decoding: Decoding) -> Floats:
    """For each row the log-probability with which `choose` takes the target; minus infinity where
    it never does."""
    refuse_nan(logits)
    rows = np.arange(len(targets))
    scores = logits[rows, targets][:, None]
    # Equal logits go by their number, as in `choose`.
    before = (logits == scores) & (np.arange(logits.shape[1]) < targets[:, None])
    rank = (logits > scores).sum(axis=1) + before.sum(axis=1)
    if not decoding.sampled:
        return np.where(rank == 0, 0.0, -np.inf)
    if decoding.top_k or decoding.top_p < 1:
        logs = _cut_logs(logits, rank, decoding)
    else:
        logs = log_softmax(logits.astype(np.float64) / decoding.temperature)[rows, targets]
    if decoding.constraint:
        certain = 1 / decoding.constraint
        with np.errstate(divide="ignore"):
            logs = np.log((1 - certain) * np.exp(logs) + np.where(rank == 0, certain, 0))
    return logs


def _cut_logs(logits: Logits, rank: Ints, decoding: Decoding) -> Floats:
    """The same among those that may be drawn, as `_weighted` cuts them off."""
    size = logits.shape[1]
    most = min(decoding.top_k or size, size)
    best = logits if most == size else -np.partition(-logits, most - 1, axis=1)[:, :most]
    logs = log_softmax(-np.sort(-best, axis=1).astype(np.float64) / decoding.temperature)
    chances = np.exp(logs)
    allowed = np.ones(chances.shape, np.bool_)
    if decoding.top_p < 1:
        allowed = np.cumsum(chances, axis=1) - chances < decoding.top_p
    rows, place = np.arange(len(rank)), np.minimum(rank, most - 1)
    total = np.where(allowed, chances, 0).sum(axis=1)
    inside = (rank < most) & allowed[rows, place]
    return np.where(inside, logs[rows, place] - np.log(total), -np.inf)
