"""The corpus that texts are held against: an index on disk, or a small set of texts read at once.

Stands behind `--corpus` and the like. The layers that are asked for have to be made as those of
the measured texts were, or counts would mean nothing; what cannot work is refused before any text
is read.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from rote.core.array_types import Integers
from rote.core.errors import OptionError
from rote.core.metric import Work, is_given, option
from rote.core.progress import Reporter, Silent
from rote.core.sample import some_texts
from rote.corpus import Corpus, ReadOptions, open_corpus

if TYPE_CHECKING:
    from rote.core.layer import Layer
    from rote.index.answers import Occurrence
    from rote.index.folders.manifest import Manifest
    from rote.index.index import Index
    from rote.search.passages import MatchedPassage


Reference: TypeAlias = "str | Index | Corpus"
"""The folder of an index, an opened index, or texts."""
_IN_MEMORY: dict[tuple[tuple[str, ...], str], Index] = {}
"""The last corpus that was read from a file."""
NO_CORPUS = "no corpus to hold the texts against: --corpus names an index, or a file of texts"


def corpus_option(
    help: str = "The corpus: an index, or a file of texts if they are few",
    *,
    default: str | None = None,
    metavar: str = "IDX",
    takes: str = "corpus",
    needed: bool = True,
) -> Any:
    """An option of a measure that names texts to compare with; `read_option` goes with it."""
    return option(
        default,
        help,
        metavar=metavar,
        sign=reference_signature,
        opened=True,
        takes=takes,
        needed=needed,
        common=True,
    )


def open_inputs(options: Any, read: ReadOptions) -> Any:
    """The options of a command with the texts that they name opened; indexes stay as they are.

    `read` says how the command's own texts are read, an option NAME_read what differs for others.
    """
    opened: dict[str, Reference] = {}
    for field in fields(options):
        takes, value = field.metadata.get("takes"), getattr(options, field.name)
        if takes in ("corpus", "texts") and is_given(value):
            changes = getattr(options, f"{field.name}_read", ())
            reading = read.beside(changes)
            if takes == "texts":
                opened[field.name] = open_corpus(value, reading, role=field.name)
                continue
            opened[field.name] = open_reference(value, reading, field.name)
            if changes and not isinstance(opened[field.name], Corpus):
                flag = f"--{field.name}-read".replace("_", "-")
                raise OptionError(f"{flag} says how texts are read, and {value} is an index")
    return replace(options, **opened) if opened else options


def open_reference(value: Any, read: ReadOptions | None = None, role: str = "") -> Reference:
    """What texts are held against, ready to be read; an index is opened when it is asked."""
    from rote.index.folders.manifest import is_index
    from rote.index.index import Index

    if isinstance(value, (Corpus, Index)):
        return value
    if isinstance(value, (str, Path)) and is_index(Path(value)):
        return str(value)
    return open_corpus(value, read, role=role)


def check_reference_corpus(
    against: Reference, layers: Sequence[str], signature: str, flag: str = "corpus"
) -> None:
    """Refuse a corpus that cannot be compared; cheap enough to be asked before any text is read.

    `signature`: of whoever makes the layers of the measured texts.
    """
    from rote.annotate import annotators

    ours, against = annotator_signature(signature), open_reference(against)
    if isinstance(against, str):
        check_index(Path(against), layers, ours)
    elif not isinstance(against, Corpus):
        theirs = against.manifest.signature if against.manifest else against.recipe.signature
        _check(str(against.path or "in memory"), theirs, against.sorted_layers, layers, ours)
    elif ours != annotators.get().signature:
        raise OptionError(
            f"texts given to --{flag} are annotated by {annotators.get().signature}, and the "
            f"texts by {ours}: build an index of {against.name} with the same --annotator"
        )


def check_meanings(against: Reference) -> None:
    """Refuse a corpus whose sentences have no vectors, or whose embedder is not installed."""
    from rote.annotate import embeddings

    against = open_reference(against)
    if isinstance(against, Corpus):
        embeddings.get().check()
    else:
        open_reference_index(against, ()).sentence_embedder().check()


def check_index(path: Path, layers: Sequence[str], signature: str) -> None:
    """Refuse an index of another annotator, or without a layer that is asked for."""
    from rote.index.folders.manifest import read_manifest

    manifest = read_manifest(path)
    _check(str(path), manifest.signature, manifest.sorted_layers, layers, signature)


def _check(
    name: str, made_by: str, sorted_layers: Sequence[str], layers: Sequence[str], signature: str
) -> None:
    if made_by != signature:
        raise OptionError(
            f"the index {name} was made by {made_by}, and the measured texts by {signature}: their "
            "layers do not compare. Measure with the annotator that made the index (--annotator), "
            "or build the index again"
        )
    for layer in layers:
        if layer not in sorted_layers:
            raise OptionError(
                f"the index {name} cannot count over the layer '{layer}', only over "
                f"{', '.join(sorted_layers)}. "
                f"`rote index add-layer {shlex.quote(name)} {layer}` adds it"
            )


def open_reference_index(
    against: Reference, layers: Sequence[str], reporter: Reporter | None = None
) -> Index:
    """The index, or one in memory of the texts; from Python one that is open already."""
    from rote.index.factory import index_corpus, open_index
    from rote.index.folders.options import BuildOptions

    against = open_reference(against)
    if isinstance(against, str):
        return open_index(Path(against), reporter)
    if not isinstance(against, Corpus):
        return against
    # Every facet asks again: texts that are still the same are not annotated again.
    key = (tuple(layers), against.fingerprint)
    if key not in _IN_MEMORY:
        _IN_MEMORY.clear()
        options = BuildOptions(layers=tuple(layers))
        _IN_MEMORY[key] = index_corpus(against, options, reporter or Silent())
    return _IN_MEMORY[key]


def reference_signature(against: Reference | None) -> str | None:
    """What the signature says of a corpus: its name, and which documents it holds."""
    from rote.index.folders.manifest import read_manifest

    if not is_given(against):
        return None
    assert against is not None
    against = open_reference(against)
    if isinstance(against, str):
        path = Path(against)
        return f"{path.resolve().name}={read_manifest(path).fingerprint[:12]}"
    if isinstance(against, Corpus):
        return f"{against.short_name}={against.fingerprint[:12]}"
    from rote.search.backends.rote import index_signature

    return index_signature(against)


def reference_name(against: Reference) -> str:
    """What a corpus is called where results are shown."""
    if isinstance(against, (str, Corpus)):
        return against if isinstance(against, str) else against.name
    return str(against.path or "in memory")


def name_indexes(corpora: Any) -> list[tuple[str, Path | Index]]:
    """Indexes by name: NAME=IDX or a path; from Python also open indexes, or a dict."""
    if isinstance(corpora, Mapping):
        return [(str(name), _named(entry)[1]) for name, entry in corpora.items()]
    return [
        _named(entry) for entry in (corpora if isinstance(corpora, (list, tuple)) else [corpora])
    ]


def _named(entry: Any) -> tuple[str, Path | Index]:
    """NAME=IDX, or a path alone, which is named by its folder."""
    from rote.index.factory import to_index
    from rote.index.folders.manifest import is_index

    if not isinstance(entry, (str, Path)):
        index = to_index(entry, "corpus")
        return index.path.name if index.path else "memory", index
    name, sign, path = str(entry).partition("=")
    # A folder may have the sign in its name.
    if sign and name and path and not is_index(Path(entry)):
        return name.strip(), Path(path.strip())
    return Path(entry).resolve().name, Path(entry)


def annotator_signature(signature: str) -> str:
    """Words of the default tokenizer alone are those of the default annotator."""
    from rote.annotate import annotators, words

    return annotators.get().signature if signature == words.get().signature else signature


_BATCH_ITEMS = 1 << 20


def longest_matches(index: Index, layer: Layer, work: Work | None = None) -> Integers:
    """For every item the length of the longest run from there on that the corpus holds."""
    from rote.run import get, side_by_side

    work = work or Work()
    engine, jobs = get(work.engine, work.jobs), work.jobs
    if engine.remote and index.path and index.manifest:
        state = (index.path, index.manifest)
        ask = partial(_lengths, state, layer.name)
        lengths = engine.map(ask, _batches(layer), doing="matching texts")
        return np.concatenate([np.empty(0, np.int64), *lengths])
    index.lookups(layer.name)  # opened here, once, not by every thread
    bounds = np.linspace(0, len(layer), max(1, min(jobs, len(layer))) + 1).astype(int).tolist()
    parts = [some_texts(layer, np.arange(first, last)) for first, last in pairwise(bounds)]
    lengths_by_part = side_by_side(
        lambda part: index.on(1).lengths(part, layer.name), parts, len(parts)
    )
    return np.concatenate(list(lengths_by_part)).astype(np.int64)


def _batches(layer: Layer) -> Iterator[Layer]:
    """The texts in runs of about as many items."""
    runs = layer.text_ends // _BATCH_ITEMS
    bounds = [0, *(np.flatnonzero(np.diff(runs)) + 1).tolist(), len(layer)]
    for first, last in pairwise(bounds):
        part = some_texts(layer, np.arange(first, last))
        used, ids = np.unique(part.ids, return_inverse=True)
        words = tuple(part.vocabulary[i] for i in used.tolist())
        yield replace(part, ids=ids.astype(np.int32), vocabulary=words)


def _lengths(state: tuple[Path, Manifest], name: str, part: Layer) -> Integers:
    """The same of a part, on whichever machine."""
    from rote.index.factory import open_state

    return np.asarray(open_state(*state).lengths(part, name), np.int64)


def describe_span(
    index: Index, layer: Layer, first: int, last: int, around: int = 60
) -> dict[str, Any]:
    """Items `first` to `last` as they occur in the corpus: how often, and the first place."""
    items = [layer.vocabulary[i] for i in layer.ids[first:last].tolist()]
    place = index.places(items, 1, layer.name)[0]
    return _describe_occurrence(index, place, index.count(items, layer.name), around)


def describe_passage(
    index: Index, layer: str, passage: MatchedPassage, around: int = 60
) -> dict[str, Any]:
    """A passage of the corpus: where it stands, once, and the text around it."""
    from rote.index.answers import occurrences_in

    segment, number = index.segments[passage.segment], passage.segment
    ends = (np.array([place], np.int64) for place in (passage.first, passage.last))
    (place,) = occurrences_in(segment, number, layer, *ends)
    return _describe_occurrence(index, place, 1, around)


def _describe_occurrence(
    index: Index, place: Occurrence, count: int, around: int
) -> dict[str, Any]:
    context = index.context(place, around)
    return {
        "count": count,
        "document": place.document,
        "author": place.author,
        "start": place.start,
        "end": place.end,
        "before": context.before,
        "match": context.match,
        "after": context.after,
    }
