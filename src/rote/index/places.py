"""From places in a segment's stream to documents and characters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import InputError, OptionError
from rote.index.answers import Context, Place
from rote.index.columns.packed import OUTSIDE
from rote.index.segments.documents import Documents
from rote.index.segments.segment import Segment


def places_in(
    segment: Segment,
    number: int,
    layer: str,
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
) -> list[Place]:
    """The matches [start, end) of a layer in segment `number`, as places in documents."""
    frame, documents = segment.frame_of(layer), segment.documents
    if frame.spans is None:
        raise OptionError("this index holds numbers alone, so it cannot say where texts stand")
    if len(starts) and not 0 <= int(starts.min()) < int(ends.max()) <= len(frame):
        raise InputError(OUTSIDE)
    holders = frame.document_of(starts)
    first, _ = frame.spans.spans(starts)
    _, last = frame.spans.spans(ends - 1)
    known = {
        holder: (
            documents.id(holder),
            documents.author.of(holder),
            documents.source.of(holder),
            frame.start_of(holder),
        )
        for holder in set(holders.tolist())
    }
    found = []
    for holder, start, begin, end in zip(*(c.tolist() for c in (holders, starts, first, last))):
        name, author, source, base = known[holder]
        found.append(Place(name, author, source, start - base, begin, end, number, holder))
    return found


def context_of(documents: Documents, place: Place, around: int) -> Context:
    """The text of a place, with so many characters before and after it."""
    start = max(0, place.start - around)
    text = documents.text(place.number, start, place.end + around)
    match, end = place.start - start, place.end - start
    return Context(text[:match], text[match:end], text[end:])


def check_limit(limit: int | None) -> None:
    """How many places, how many characters: never a negative number."""
    if limit is not None and limit < 0:
        raise OptionError(f"a limit must not be negative, and {limit} is")
