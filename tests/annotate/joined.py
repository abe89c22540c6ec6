"""Layers of several texts as one: what worker processes make, put together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rote.core.layer import Layer


def concatenate(layers: Sequence[Layer]) -> Layer:
    """The texts of several layers as one, with one vocabulary.

    The result depends on the order of the layers alone, not on who made them, so
    it is the same at any number of workers.
    """
    first = layers[0]
    seen: dict[str, int] = {}
    ids, text_ends, sentence_ends, base = [], [], [], 0
    for layer in layers:
        table = np.array([seen.setdefault(e, len(seen)) for e in layer.vocabulary], np.int32)
        ids.append(table[layer.ids] if len(table) else layer.ids)
        text_ends.append(layer.text_ends + base)
        if layer.sentence_ends is not None:
            sentence_ends.append(layer.sentence_ends + base)
        base += len(layer.ids)
    return Layer(
        name=first.name,
        ids=np.concatenate(ids),
        vocabulary=tuple(seen),
        starts=np.concatenate([layer.starts for layer in layers]),
        ends=np.concatenate([layer.ends for layer in layers]),
        text_ends=np.concatenate(text_ends),
        sentence_ends=np.concatenate(sentence_ends) if len(sentence_ends) == len(layers) else None,
    )
