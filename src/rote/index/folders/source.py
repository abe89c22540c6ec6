"""What an index is built from: texts, or a store in which they are annotated already."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from rote.annotate import annotators
from rote.annotate.layers import DERIVED
from rote.annotate.store import Store
from rote.core.errors import InputError, OptionError, UnknownName
from rote.corpus import Corpus
from rote.index.folders.manifest import Manifest, is_index
from rote.index.folders.options import SUBWORDS, Chosen

Source = Corpus | Store


def check_layers(source: Source, chosen: Chosen, annotator: str) -> None:
    """Refuse layers that nobody makes, before anything is written."""
    if isinstance(source, Store):
        _check_stored(source, chosen.names)
        return
    gives = annotators.get(annotator).gives
    for layer in chosen.layers:
        if layer not in gives:
            raise UnknownName(f"layer for the annotator '{annotator}'", layer, gives)


def check_store(store: Store, manifest: Manifest) -> None:
    """Refuse a store that does not fit the index."""
    if store.signature != manifest.signature:
        raise OptionError(
            f"the index was made by {manifest.signature}, the store {store.path} by "
            f"{store.signature}: their layers do not compare. Add the texts themselves"
        )
    _check_stored(store, manifest.layers)


def _check_stored(store: Store, layers: Iterable[str]) -> None:
    for layer in layers:
        if layer == SUBWORDS:
            raise OptionError(
                f"the store {store.path} holds no subwords: build from the texts themselves, or "
                "without them, and then `rote index add-layer IDX subwords:PATH`"
            )
        if layer not in (*store.layers, *DERIVED, "word"):
            wanted = ",".join(dict.fromkeys((*store.layers, layer)))
            raise OptionError(
                f"the store {store.path} has no layer '{layer}' (it has {', '.join(store.layers)})"
                f": make one with `rote annotate ... --layers {wanted}`, or build from the texts"
            )


def stored_bytes(store: Store) -> int:
    return sum(stored_size(store, file) for file in store.files)


def stored_size(store: Store, file: str) -> int:
    """The bytes of one piece, which must be there."""
    try:
        return (store.path / file).stat().st_size
    except OSError as error:
        raise InputError(
            f"a piece of the store cannot be read ({error.strerror})",
            file=str(store.path / file),
            remedy="Run `rote annotate` with the same input again: it makes what is missing",
        ) from None


def check_inputs(inputs: Sequence[Path], index: Path | None) -> None:
    """Refuse an index as input, and one that would lie, and later be read, among its texts."""
    for place in inputs:
        if is_index(place):
            raise OptionError(
                f"{place} is an index: build from the texts, or from a store of `rote annotate`"
            )
        if index and os.path.isdir(place) and index.resolve().is_relative_to(place.resolve()):
            raise OptionError(
                f"the index {index} lies in the folder {place}, which is its input, and would be "
                "read with the texts: choose a place outside of it"
            )
