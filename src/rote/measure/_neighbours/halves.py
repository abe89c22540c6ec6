"""Scores of some texts of each sample: for intervals, and for what the reference itself scores.

Texts that answer the same input are about the same things, so it matters which halves meet.
`strata` holds the number of each text's input (`doc_id`), or -1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rote.core.metric import Values
from rote.core.sample import Take
from rote.measure._neighbours.pair import Pair

Strata = NDArray[np.int64]


def scores_of_texts(pair: Pair, ours: Take, theirs: Take, rng: np.random.Generator) -> Values:
    """Of the source's and the reference's sentences in these texts, cut to equal numbers."""
    kept = [
        np.flatnonzero(np.isin(sample.texts, texts))
        for sample, texts in ((pair.source, ours), (pair.reference, theirs))
    ]
    size = min(map(len, kept))
    return pair.scores(*(rng.choice(places, size, replace=False) for places in kept))


def matching_half(theirs: Take, ours: Take, strata: Strata, rng: np.random.Generator) -> Take:
    """One half of the reference's texts: first those with the same inputs as `ours`.

    So inputs are what is resampled where all answer the same ones; else it is any half.
    """
    inputs = strata[ours]
    shared = np.isin(strata[theirs], inputs[inputs >= 0])
    shuffled = rng.permutation(len(theirs))
    first = shuffled[np.argsort(~shared[shuffled], kind="stable")]
    return theirs[first[: len(theirs) // 2]]


def strange_halves(
    ours: Take, theirs: Take, strata: Strata, rng: np.random.Generator
) -> tuple[Take, Take]:
    """About one half of each, with no input in common, nor a text if both are the same source."""
    texts = np.union1d(ours, theirs)
    inputs = np.unique(strata[texts])
    inputs = inputs[inputs >= 0]
    chosen = rng.permutation(inputs)[: len(inputs) // 2]
    on_their_side = np.zeros(len(strata), np.bool_)
    on_their_side[texts] = np.isin(strata[texts], chosen)
    for group in (ours, theirs):
        alone = group[strata[group] < 0]
        on_their_side[alone] = False
        on_their_side[rng.permutation(alone)[: len(alone) // 2]] = True
    return ours[~on_their_side[ours]], theirs[on_their_side[theirs]]
