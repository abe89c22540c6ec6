"""The instances of items that were put together with each of their options, as texts of a layer."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rote.core.layer import Layer
from rote.core.sample import SEVERAL, RawText

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Instances:
    """A layer with a text for each instance; which item it is of, and where it begins there."""

    layer: Layer
    item: Integers
    offset: Integers
    number: Integers
    """1 for the first instance of an item."""


def instances(layer: Layer, raw: RawText) -> Instances:
    """Items are texts whose instances stand one behind another, with a mark between them."""
    ends, items, offsets, numbers = [], [], [], []
    for item in range(len(layer)):
        own = layer.slice(item)
        begin = 0
        for number, part in enumerate(
            raw.text(item).decode("utf-8", "surrogatepass").split(SEVERAL)
        ):
            last = begin + len(part)
            ends.append(own.start + int(np.searchsorted(layer.starts[own], last)))
            items.append(item)
            offsets.append(begin)
            numbers.append(number + 1)
            begin = last + len(SEVERAL)
    made = replace(layer, text_ends=np.array(ends, np.int64), sentence_ends=None)
    return Instances(made, *(np.array(column, np.int64) for column in (items, offsets, numbers)))
