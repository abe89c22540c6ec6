"""The next token from a distribution: greedy, temperature, top-k, top-p, constraining factor.

One implementation for every backend that sees the logits, in double precision and with a random
generator of its own for every prompt, so that what is drawn depends on nothing but the logits,
the settings and the seed.
"""

from __future__ import annotations

import numpy as np

from rote.core.model import Decoding, Floats


def log_softmax(logits: Floats) -> Floats:
    """Over the last axis, in double precision."""
    shifted = logits.astype(np.float64) - logits.max(axis=-1, keepdims=True)
    normal: Floats = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return normal


def choose(logits: Floats, decoding: Decoding, random: np.random.Generator) -> int:
    """One token. Equal logits go to the lower number, as argmax has it."""
    if not decoding.sampled:
        return int(np.argmax(logits))
    if decoding.constraint and random.random() < 1 / decoding.constraint:
        return int(np.argmax(logits))
    tokens, weights = _weighted(logits, decoding)
    return int(
        tokens[np.searchsorted(np.cumsum(weights), random.random() * weights.sum(), "right")]
    )


def _weighted(logits: Floats, decoding: Decoding) -> tuple[np.ndarray, Floats]:
    """The tokens that may be drawn, likeliest first, and how likely each is.

    As usual, temperature comes first, then the k likeliest, then the smallest set of the
    likeliest that holds `top_p` of what is left.
    """
    order = np.argsort(-logits, kind="stable")
    if decoding.top_k:
        order = order[: decoding.top_k]
    chances = np.exp(log_softmax(logits[order] / decoding.temperature))
    if decoding.top_p < 1:
        before = np.cumsum(chances) - chances
        order, chances = order[before < decoding.top_p], chances[before < decoding.top_p]
    return order, chances
