"""What training minimizes: label-smoothed cross-entropy, and BRIO's ranking of candidates."""

from __future__ import annotations

from typing import Any

IGNORED = -100
"""The label of a place that is not learned."""


def cross_entropy(logits: Any, labels: Any, smoothing: float) -> Any:
    """The mean over all labels; smoothing spreads so much of each over the whole vocabulary."""
    from torch.nn.functional import cross_entropy

    return cross_entropy(
        logits.float().flatten(0, 1),
        labels.flatten(),
        ignore_index=IGNORED,
        label_smoothing=smoothing,
    )


def lengthwise(logits: Any, labels: Any, alpha: float) -> Any:
    """Of each row f(S) = sum log p / |S|^alpha, start and end tokens included."""
    import torch

    learned = labels != IGNORED
    chances = torch.log_softmax(logits.float(), -1)
    own = chances.gather(-1, labels.clamp(min=0)[..., None])[..., 0]
    lengths = learned.sum(-1).clamp(min=1).to(own.dtype)
    return (own * learned).sum(-1) / lengths**alpha


def ranking(scores: Any, margin: float) -> Any:
    """BRIO (Liu et al. 2022): candidates of an item stand in a row, the best first. For each gap
    between ranks the mean over pairs of max(0, f(worse) - f(better) + gap * margin), summed."""
    total = scores.new_zeros(())
    for gap in range(1, scores.shape[1]):
        total = total + (scores[:, gap:] - scores[:, :-gap] + gap * margin).clamp(min=0).mean()
    return total
