"""What an index is built from: texts, or a store in which they are annotated already."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rote.annotate import annotators
from rote.annotate.layers import DERIVED
from rote.annotate.pieces import checked, content_hash, content_of
from rote.annotate.store import Store
from rote.core.errors import OptionError, UnknownName
from rote.corpus import Corpus, Problems, digest
from rote.index.folders.manifest import Manifest
from rote.index.folders.options import SUBWORDS, Chosen

Source = Corpus | Store


def contents(source: Source, problems: Problems) -> Iterator[str]:
    """What the pieces of the input are known by, in order; nothing is annotated for it."""
    if isinstance(source, Store):
        yield from map(content_of, source.files)
        return
    for _, batch in checked(source, problems):
        if batch.documents:
            yield content_hash(batch.documents, map(digest, batch.documents))


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
    return sum((store.path / file).stat().st_size for file in store.files)
