"""Walking along the text from a sorted suffix, for kernels: the same words for all columns.

In packed columns a cursor is a place of the stream. In a chain it is a rank: to look for the place
first, and from there for the items, would take many steps, and following the chain takes one an
item.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload

from rote.index.columns.chain import ChainItems, ChainPlaces, follow, item_of, place_of
from rote.index.columns.packed import read

_KERNELS = "only kernels have cursors"


def suffix_at(order: Any, bits: Any, i: Any) -> Any:
    """A cursor at the beginning of sorted suffix i."""
    raise NotImplementedError(_KERNELS)


def skip(ids: Any, at: Any, items: Any) -> Any:
    """The cursor so many items further."""
    raise NotImplementedError(_KERNELS)


def item_at(ids: Any, bits: Any, at: Any) -> Any:
    """The item at a cursor."""
    raise NotImplementedError(_KERNELS)


def place_at(ids: Any, at: Any) -> Any:
    """The place of a cursor."""
    raise NotImplementedError(_KERNELS)


def _is(data: Any, kind: type) -> bool:
    return getattr(data, "instance_class", None) is kind


@overload(suffix_at)
def _suffix_at(order, bits, i):  # type: ignore[no-untyped-def]
    if _is(order, ChainPlaces):
        return lambda order, bits, i: np.int64(i) + order.chain.documents
    return lambda order, bits, i: read(order, bits, i)


@overload(skip)
def _skip(ids, at, items):  # type: ignore[no-untyped-def]
    return _skip_links if _is(ids, ChainItems) else lambda ids, at, items: at + items


def _skip_links(ids, at, items):  # type: ignore[no-untyped-def]
    for _ in range(items):
        at = follow(ids.chain, at)
    return at


@overload(item_at)
def _item_at(ids, bits, at):  # type: ignore[no-untyped-def]
    if _is(ids, ChainItems):
        return lambda ids, bits, at: item_of(ids.chain, at)
    return lambda ids, bits, at: read(ids, bits, at)


@overload(place_at)
def _place_at(ids, at):  # type: ignore[no-untyped-def]
    if _is(ids, ChainItems):
        return lambda ids, at: place_of(ids.chain, at)
    return lambda ids, at: at
