"""The losses of training in plain numpy, as the definitions write them."""

from __future__ import annotations

import numpy as np


def log_softmax(logits: np.ndarray) -> np.ndarray:
    moved = logits - logits.max(-1, keepdims=True)
    return moved - np.log(np.exp(moved).sum(-1, keepdims=True))


def cross_entropy(logits: np.ndarray, labels: np.ndarray, smoothing: float) -> float:
    chances, total, every = log_softmax(logits), 0.0, 0
    for row in range(labels.shape[0]):
        for place in range(labels.shape[1]):
            if labels[row, place] >= 0:
                own = -chances[row, place, labels[row, place]]
                spread = -chances[row, place].mean()
                total += (1 - smoothing) * own + smoothing * spread
                every += 1
    return total / every


def scores(logits: np.ndarray, labels: np.ndarray, alpha: float) -> np.ndarray:
    chances = log_softmax(logits)
    found = np.zeros(labels.shape[0])
    for row in range(labels.shape[0]):
        learned = [place for place in range(labels.shape[1]) if labels[row, place] >= 0]
        total = sum(chances[row, place, labels[row, place]] for place in learned)
        found[row] = total / len(learned) ** alpha
    return found


def ranking(f: np.ndarray, margin: float) -> float:
    """`f[i, j]`: of item i the candidate of rank j."""
    items, count = f.shape
    total = 0.0
    for gap in range(1, count):
        terms = [
            max(0.0, f[i, j + gap] - f[i, j] + gap * margin)
            for i in range(items)
            for j in range(count - gap)
        ]
        total += sum(terms) / len(terms)
    return total


def slope(function, at: np.ndarray, step: float = 1e-6) -> np.ndarray:  # type: ignore[no-untyped-def]
    """The gradient by finite differences, from both sides."""
    found = np.zeros_like(at)
    for place in np.ndindex(at.shape):
        ahead, behind = at.copy(), at.copy()
        ahead[place] += step
        behind[place] -= step
        found[place] = (function(ahead) - function(behind)) / (2 * step)
    return found
