"""The corpus that texts are held against: an index on disk, or a small set of texts read at once.

Stands behind `--corpus` and the like. The layers that are asked for have to be made as those of
the measured texts were, or counts would mean nothing; what cannot work is refused before any text
is read. Passages of it that may hold a text or a part of one are found by runs of words that both
share; `part_matcher` says which of them hold it, and which parts can be judged at all.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rote.annotate.folded_words import FoldedWords, fold_words
from rote.core.arrays import Integers
from rote.core.errors import OptionError
from rote.core.layer import Layer, concatenate
from rote.core.metric import Work, is_given, option
from rote.core.progress import Reporter, Silent
from rote.core.sample import SEVERAL, RawText, some_texts
from rote.corpus import Corpus, ReadOptions, open_corpus
from rote.index.grams import END
from rote.search.part_matcher import SAMPLE, MatchOptions, PartMatcher, holds_run

if TYPE_CHECKING:
    from rote.index.folders.manifest import Manifest
    from rote.index.index import Index
    from rote.search.trace.alignment import Runs


EXACT, FOLDED, NEAR = "exact", "folded", "near"
SEED = 3
"""Words in a row, punctuation included, that lead to a passage: fewer than the matcher asks for."""
_MAX_HITS = 100
"""Runs of which no three words in a row are rarer than this lead nowhere: they stand everywhere."""
_CANDIDATES = 5
"""Passages of a part that are looked at closely."""
_TOLD = 0.5
"""Scores below this are not told."""
_BATCH_WORDS = 1 << 20
_SLACK = 3
"""So many words, and an eighth of the part, may have been added between two runs."""
_NO_IDS, _NO_SPANS = np.empty(0, np.int64), np.empty(0, np.int32)


@dataclass(frozen=True, slots=True)
class MatchedPassage:
    """Words of a part that weigh `score` of it stand between two places of a segment."""

    score: float
    folded: bool
    """Whether all its words stand there one behind another, punctuation apart."""
    segment: int
    first: int
    last: int


def find_passages(
    index: Index, layer: Layer, unsure: Integers, options: MatchOptions
) -> tuple[NDArray[np.bool_], dict[int, MatchedPassage]]:
    """Which texts of a layer can be judged, and the passage that comes nearest to each of some."""
    sample, folded = _sample(index, layer.name), fold_words(layer)
    judged = np.zeros(len(layer), np.bool_)
    passages: dict[int, MatchedPassage] = {}
    for first, last in _passage_batches(layer):
        matcher = PartMatcher.build(folded.texts(first, last), sample, options)
        judged[first:last] = matcher.judged
        in_batch = unsure[(unsure >= first) & (unsure < last)]
        in_batch = in_batch[judged[in_batch]]
        if len(in_batch):
            nearest = _nearest_passages(
                index, some_texts(layer, in_batch), in_batch - first, matcher
            )
            passages |= {first + part: passage for part, passage in nearest.items()}
    return judged, passages


def _passage_batches(layer: Layer) -> Iterator[tuple[int, int]]:
    """Texts of about so many words; where one batch ends depends on the texts alone."""
    first = 0
    while first < len(layer):
        words = layer.text_starts[first] + _BATCH_WORDS
        last = max(first + 1, int(np.searchsorted(layer.text_ends, words, side="right")))
        yield first, last
        first = last


def _sample(index: Index, layer: str) -> FoldedWords:
    """The words of the first documents, as many as `decontaminate` weighs words by."""
    room, layers = SAMPLE, []
    for segment in index.segments:
        sizes = segment.documents.texts.ends
        ends = segment.positions_of(layer).document_ends[: int(np.searchsorted(sizes, room)) + 1]
        if len(ends):
            column = segment.columns[layer]
            ids = column.ids.slice(0, int(ends[-1]) + 1)
            ids, ends = ids[ids != END], ends - np.arange(len(ends))
            layers.append(_layer(layer, column.vocabulary, ids, ends))
            room -= int(sizes[len(ends) - 1])
        if room <= 0:
            break
    return fold_words(concatenate(layers) if layers else _layer(layer, (), _NO_IDS, _NO_IDS))


def _layer(name: str, vocabulary: Sequence[str], ids: Integers, text_ends: Integers) -> Layer:
    """Numbers of a segment as a layer, whose vocabulary has no more than these."""
    used, numbers = np.unique(ids, return_inverse=True)
    strings = tuple(vocabulary[i] for i in used.tolist())
    return Layer(name, numbers.astype(np.int32), strings, _NO_SPANS, _NO_SPANS, text_ends)


def _nearest_passages(
    index: Index, layer: Layer, parts: Integers, matcher: PartMatcher
) -> dict[int, MatchedPassage]:
    """Of each text of a layer the passage with the highest score, by the part that it is."""
    from rote.search.trace.alignment import find_shared_runs

    shared = find_shared_runs(index.lookups(layer.name), layer, SEED, _MAX_HITS)
    best = _best_candidates(
        [_candidates(index, layer, number, runs) for number, runs in enumerate(shared) if len(runs)]
    )
    least = min(_TOLD, matcher.options.share)
    passages: dict[int, MatchedPassage] = {}
    for number, segment in enumerate(index.segments):
        texts, _, _, low, high = best[:, best[2] == number]
        # The places, which lie within documents, each as a text.
        column, name = segment.columns[layer.name], layer.name
        ids = [column.ids.slice(first, last) for first, last in zip(low.tolist(), high.tolist())]
        text_ends = np.cumsum(high - low)
        windows = _layer(name, column.vocabulary, np.concatenate([_NO_IDS, *ids]), text_ends)
        folded = fold_words(windows)
        words = matcher.number(folded)
        for match in matcher.find(words, folded.text_ends, parts[texts], least):
            if match.part in passages and passages[match.part].score >= match.score:
                continue
            # Places within a window follow one another as those of the segment do.
            offset = int(low[match.text] - windows.text_starts[match.text])
            first, last = (int(folded.places[word]) + offset for word in (match.first, match.last))
            window = words[folded.slice(match.text)]
            is_exact = holds_run(window, matcher.words_of(match.part))
            passages[match.part] = MatchedPassage(match.score, is_exact, number, first, last + 1)
    return passages


def _best_candidates(candidates: Sequence[Integers]) -> Integers:
    """By text, the most words first; of equal ones by place, so that the answer is one."""
    if not candidates:
        return np.empty((5, 0), np.int64)
    every = np.concatenate(candidates, axis=1)
    text, count, *place = every
    ordered = every[:, np.lexsort((*reversed(place), -count, text))]
    # Of each text those that come first.
    begin = np.searchsorted(ordered[0], ordered[0])
    return np.asarray(ordered[:, np.arange(len(begin)) - begin < _CANDIDATES])


def _candidates(index: Index, layer: Layer, segment: int, runs: Runs) -> Integers:
    """Rows of text, words in runs, segment, first and last place of passages of documents.

    Runs of one text and one document, whose diagonals are near each other, make a passage.
    """
    texts = np.searchsorted(layer.text_ends, runs.first, side="right")
    documents = index.segments[segment].positions_of(layer.name).document_of(runs.place)
    diagonal = runs.place - (runs.first - layer.text_starts[texts])
    order = np.lexsort((diagonal, documents, texts))
    texts, documents, diagonal = texts[order], documents[order], diagonal[order]
    sizes = layer.text_ends[texts] - layer.text_starts[texts]
    apart = np.diff(diagonal) > (_SLACK + sizes[1:] // 8)
    new = (np.diff(texts) != 0) | (np.diff(documents) != 0) | apart
    starts = np.concatenate(([0], np.flatnonzero(new) + 1))
    total = np.add.reduceat(runs.length[order], starts)
    # As far as the matcher looks on either side, and some more for punctuation.
    slack = 12 + sizes[starts] // 2
    low = np.minimum.reduceat(diagonal, starts) - slack
    high = np.maximum.reduceat(diagonal, starts) + sizes[starts] + slack
    # Never into another document.
    positions, of_passage = index.segments[segment].positions_of(layer.name), documents[starts]
    begins = np.where(of_passage > 0, positions.document_ends[of_passage - 1] + 1, 0)
    first, last = np.maximum(low, begins), np.minimum(high, positions.document_ends[of_passage])
    columns = (texts[starts], total, np.full(len(starts), segment), first, last)
    return np.stack(columns).astype(np.int64)


@dataclass(frozen=True, slots=True)
class ItemParts:
    """A layer with a text for each part; which item it is of, and where it begins there."""

    layer: Layer
    item: Integers
    offset: Integers
    number: Integers
    """1 for the first part of an item."""


def split_parts(layer: Layer, raw: RawText) -> ItemParts:
    """Items are texts whose parts stand one behind another, with a mark between them."""
    ends, items, offsets, numbers = [], [], [], []
    for item in range(len(layer)):
        items_of_text = layer.slice(item)
        begin = 0
        for number, part in enumerate(raw.string(item).split(SEVERAL)):
            last = begin + len(part)
            ends.append(
                items_of_text.start + int(np.searchsorted(layer.starts[items_of_text], last))
            )
            items.append(item)
            offsets.append(begin)
            numbers.append(number + 1)
            begin = last + len(SEVERAL)
    split = replace(layer, text_ends=np.array(ends, np.int64), sentence_ends=None)
    return ItemParts(split, *(np.array(column, np.int64) for column in (items, offsets, numbers)))


Reference: TypeAlias = "str | Index | Corpus"
"""The folder of an index, an opened index, or texts."""
_IN_MEMORY: dict[tuple[tuple[str, ...], str], Index] = {}
"""The last corpus that was read from a file."""
NO_CORPUS = "no corpus to compare the texts with: --corpus takes an index or a file of texts"


def corpus_option(
    help: str = "Corpus to search: an index, or a file of texts if they are few",
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
                raise OptionError(f"{flag} is for reading texts, but {value} is an index")
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
            f"the index {name} was built with {made_by}, and the measured texts by {signature}: "
            "their layers are not comparable. Use the annotator that built the index "
            "(--annotator), or build the index again"
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
    if isinstance(against, (str, Corpus)):
        return against if isinstance(against, str) else against.name
    return str(against.path or "in memory")


def name_indexes(corpora: Any) -> list[tuple[str, Path | Index]]:
    """Indexes by name: NAME=IDX or a path; from Python also open indexes, or a dict."""
    if isinstance(corpora, Mapping):
        return [(str(name), _name_and_corpus(entry)[1]) for name, entry in corpora.items()]
    return [
        _name_and_corpus(entry)
        for entry in (corpora if isinstance(corpora, (list, tuple)) else [corpora])
    ]


def _name_and_corpus(entry: Any) -> tuple[str, Path | Index]:
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
    from rote.index.answers import describe_occurrence

    items = [layer.vocabulary[i] for i in layer.ids[first:last].tolist()]
    place, count = index.places(items, 1, layer.name)[0], index.count(items, layer.name)
    return {"count": count, **describe_occurrence(place, index.context(place, around))}


def describe_passage(
    index: Index, layer: str, passage: MatchedPassage, around: int = 60
) -> dict[str, Any]:
    """A passage of the corpus: where it stands, once, and the text around it."""
    from rote.index.answers import describe_occurrence, occurrence_at

    place = occurrence_at(index.segments, passage.segment, layer, passage.first, passage.last)
    return {"count": 1, **describe_occurrence(place, index.context(place, around))}
