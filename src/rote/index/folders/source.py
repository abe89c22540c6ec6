"""What an index is built from: input, ids, and what building will take.

The input is texts, or a store in which they are annotated already. An index holds each id once.
The estimate reads the first shards and takes the rest to be like them; its constants were measured
on English novels and are meant to plan by.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rote.annotate import annotators, words
from rote.annotate.store import Store
from rote.core.errors import InputError, OptionError, UnknownName
from rote.core.layer import DERIVED
from rote.core.progress import duration, several
from rote.corpus import Batch, Corpus, SeenIds, hash_of
from rote.index.folders.manifest import Manifest, is_index
from rote.index.folders.options import (
    BYTES_PER_POSITION,
    SUBWORDS,
    BuildOptions,
    ChosenLayers,
    max_positions,
    parse_layers,
)
from rote.index.segments.documents import Documents
from rote.run import get

Source = Corpus | Store


def check_layers(source: Source, chosen: ChosenLayers, annotator: str) -> None:
    """Refuse layers that nobody makes, before anything is written."""
    if isinstance(source, Store):
        _check_stored_layers(source, chosen.names)
        return
    gives = annotators.get(annotator).gives
    for layer in chosen.layers:
        if layer not in gives:
            raise UnknownName(f"layer for the annotator '{annotator}'", layer, gives)


def check_store(store: Store, manifest: Manifest) -> None:
    if store.signature != manifest.signature:
        raise OptionError(
            f"the index was built with {manifest.signature}, the store {store.path} by "
            f"{store.signature}: their layers are not comparable. Add the texts themselves"
        )
    _check_stored_layers(store, manifest.layers)


def _check_stored_layers(store: Store, layers: Iterable[str]) -> None:
    for layer in layers:
        if layer == SUBWORDS:
            raise OptionError(
                f"the store {store.path} contains no subwords: build from the texts, or without "
                "subwords and then `rote index add-layer IDX subwords:PATH`"
            )
        if layer not in (*store.layers, *DERIVED, "word"):
            wanted = ",".join(dict.fromkeys((*store.layers, layer)))
            raise OptionError(
                f"the store {store.path} has no layer '{layer}' (it has {', '.join(store.layers)})"
                f": make one with `rote annotate ... --layers {wanted}`, or build from the texts"
            )


def stored_size(store: Store, file: str) -> int:
    try:
        return (store.path / file).stat().st_size
    except OSError as error:
        raise InputError(
            f"a piece of the store cannot be read ({error.strerror})",
            file=str(store.path / file),
            remedy="Run `rote annotate` with the same input again: it creates what is missing",
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
                f"the index {index} is inside its input folder {place} and would be read as text: "
                "choose a folder outside it"
            )


class KnownIds:
    """An index holds each id once: a second document with one is refused, or skipped.

    Known are the ids that the index holds and those that came by in this run.
    """

    def __init__(self, documents: Sequence[Documents] = ()) -> None:
        self._documents = documents
        self._hashes = np.sort(
            np.concatenate([np.empty(0, np.uint64), *(d.hashes[0] for d in documents)])
        )
        self._seen = SeenIds()

    def check(self, batch: Batch, *, skip: bool, remedy: str | None = None) -> Batch:
        """The batch without what is there; raises unless that is to be skipped."""
        if not batch.documents:
            return batch
        ids = [document.id for document in batch.documents]
        hashes = batch.hashes or list(map(hash_of, ids))
        in_index = self._in_index(ids, hashes)
        new = np.flatnonzero(~in_index).tolist()
        lines, hashed = ([values[i] for i in new] for values in (batch.lines, hashes))
        again = self._seen.take([ids[i] for i in new], lines, hashed)
        there = in_index.copy()
        there[[new[i] for i in again]] = True
        if not there.any():
            return batch
        problems = [
            InputError(
                f"the index already contains a document with the id '{ids[i]}'"
                if in_index[i]
                else (
                    f"the input already contains a document with the id '{ids[i]}', in another file"
                ),
                file=batch.file,
                line=batch.lines[i],
                field=batch.id_field,
                remedy=remedy
                or "Choose another field with --id-field, or keep the first one with --on-error "
                "skip",
            )
            for i in np.flatnonzero(there).tolist()
        ]
        if not skip:
            raise problems[0]
        return batch.without(set(np.flatnonzero(there).tolist()), problems)

    def _in_index(self, ids: list[str], hashes: Sequence[int]) -> NDArray[np.bool_]:
        wanted, there = np.array(hashes, np.uint64), np.zeros(len(hashes), np.bool_)
        if len(self._hashes):
            places = np.searchsorted(self._hashes, wanted)
            there = self._hashes[np.minimum(places, len(self._hashes) - 1)] == wanted
        # Two ids may share a hash: only the id itself decides.
        for i in np.flatnonzero(there).tolist():
            there[i] = any(documents.find(ids[i]) is not None for documents in self._documents)
        return there


_SAMPLED_SHARDS = 2
_SAMPLED_CHARACTERS = 2 * 2**20
_TOKENIZER = "ud"  # the fastest; others differ from it by a few words in a hundred

# Bits of an item's number, by layer; other layers are like words.
_BITS = {"pos": 6, "upos": 5, "dep": 6, "entity": 5}
_WORD_BITS = 17
# Bytes for each word in a compact layer of words, more than of any other.
_COMPACT = 2.3
# Bytes for each word: words for display, spans, sentence ends, and compressed text.
_DISPLAYED, _TEXT = 3.4, 1.9
_PIECE = 4.5
_DOCUMENT = 150
# Words per second and core.
_ANNOTATED = {"trees": 100_000, "tags": 350_000, "words": 1_500_000}
_STORED = 3_000_000
_SORTED = 6_000_000
# What a process takes before it has read anything, and for the shards in its hands.
_PROCESS = 300 * 2**20


@dataclass(frozen=True, slots=True)
class BuildEstimate:
    """Figures to expect; `memory`, `disk` and `scratch` (gone afterwards) in bytes.

    `seconds` is nan where nothing is known of the annotator's speed; `least` is memory that is
    needed however small the segments are, `allowed` what may be used.
    """

    documents: int
    tokens: int
    segments: int
    memory: int
    disk: int
    scratch: int
    seconds: float
    least: int
    allowed: int

    def lines(self) -> list[str]:
        if not self.tokens:
            return ["no estimate: no text is selected at the beginning of the input"]
        documents, segments = (
            _format_count(self.documents, "document"),
            several(self.segments, "segment"),
        )
        lines = [
            f"about {documents} and {_format_count(self.tokens, 'word')}, in {segments}",
            f"about {_format_bytes(self.memory)} of memory, {_format_bytes(self.disk)} on disk, "
            f"and {_format_bytes(self.scratch)} more during the build",
        ]
        if self.least > self.allowed:
            lines.append(
                f"at least about {_format_bytes(self.least)} of memory are needed, more than "
                f"allowed ({_format_bytes(self.allowed)})"
            )
        if not math.isnan(self.seconds):
            lines.append(f"about {duration(max(1, self.seconds))}")
        return lines


def estimate_build(source: Corpus | Store, options: BuildOptions) -> BuildEstimate:
    """Look at the start of the input and say what all of it will take."""
    jobs = get(options.engine, options.jobs).jobs
    layers = parse_layers(options.layers).names
    if isinstance(source, Store):
        documents, tokens = source.documents, source.words
        annotating = tokens / _STORED
    else:
        documents, tokens = _count_sample(source)
        annotating = tokens / _annotation_speed(options.annotator, layers) / jobs
    limit = max_positions(options.memory)
    places = documents + tokens
    in_hand = min(places, limit)
    order = max(1, in_hand).bit_length() / 8
    each = [_COMPACT if options.compact else _layer_bytes(layer, order) for layer in layers]
    # The last segment is sorted when all is annotated, the others beside the annotating.
    sorting = tokens * len(layers) / _SORTED
    least = (options.jobs + (options.jobs > 1)) * _PROCESS
    return BuildEstimate(
        documents=documents,
        tokens=tokens,
        segments=-(-places // limit),
        memory=in_hand * BYTES_PER_POSITION + least,
        disk=round(tokens * (_DISPLAYED + _TEXT + sum(each)) + documents * _DOCUMENT),
        scratch=0 if isinstance(source, Store) else round(min(tokens, 2 * limit) * _PIECE),
        seconds=annotating + sorting,
        least=least,
        allowed=options.memory,
    )


def _layer_bytes(layer: str, order: float) -> float:
    """Of each word: its number, unless that follows from the word; its sorted place; a table."""
    if layer in DERIVED:
        return order * 1.4 + 0.1
    return _BITS.get(layer, _WORD_BITS) / 8 + order * 1.2


def _count_sample(corpus: Corpus) -> tuple[int, int]:
    """Documents and words of the whole, by the share of the input that was looked at."""
    read = documents = tokens = 0.0
    for _, shard in zip(range(_SAMPLED_SHARDS), corpus.shards()):
        batch = shard.read()
        read += shard.size
        documents += len(batch.documents)
        texts, characters = [], 0
        for document in batch.documents:
            texts.append(document.text[: _SAMPLED_CHARACTERS - characters])
            characters += len(texts[-1])
            if characters >= _SAMPLED_CHARACTERS:
                break
        tokenized = words.get(_TOKENIZER)(texts)
        all_characters = sum(len(document.text) for document in batch.documents)
        tokens += len(tokenized.ids) * all_characters / max(1, characters)
    share = corpus.size / read if read else 0.0
    return round(documents * share), round(tokens * share)


def _annotation_speed(annotator: str, layers: tuple[str, ...]) -> float:
    if annotator != annotators.DEFAULT or SUBWORDS in layers:
        return math.nan
    if any(layer.startswith("dep") for layer in layers):
        return _ANNOTATED["trees"]
    return _ANNOTATED["words" if set(layers) <= {"word", "lower", "shape"} else "tags"]


def _format_count(number: int, noun: str) -> str:
    return f"{number / 1e6:,.1f} million {noun}s" if number >= 1e6 else several(number, noun)


def _format_bytes(number: int) -> str:
    if number < 1e6:
        return f"{number / 1e3:,.0f} kB"
    return f"{number / 1e9:,.1f} GB" if number >= 1e9 else f"{number / 1e6:,.0f} MB"
