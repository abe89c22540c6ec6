"""Annotated pieces on disk: what a store keeps, and what an index is built from.

A piece is the documents of one shard and their layers in one file. Its name holds a hash of
the documents, of the annotator's signature and of the layers, so that a piece that is there
need not be made again, and pieces of different makers are never mixed up.

Ids take the fewest bytes that their vocabulary needs. Layers that follow from the word
alone are not kept: deriving them takes less time than reading them.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.annotate import annotators, words
from rote.annotate.annotators.rote import RoteAnnotator
from rote.annotate.language_check import glance
from rote.core.arrays import ENDING, Arrays, pack, unpack
from rote.core.document import Annotation, Document
from rote.core.errors import InputError
from rote.core.files import read_regular, write_atomically
from rote.core.json_reader import DEEPEST, parse_json
from rote.core.layer import DERIVED, Layer, derive
from rote.corpus import Batch, Corpus, DuplicateIds, Problems, Shard, digest, map_again
from rote.run import Engine


def to_arrays(batch: Batch, annotation: Annotation) -> tuple[Arrays, dict[str, Any]]:
    """Everything of one piece; the description says which layers there are."""
    # Annotation that came with the input is in the layers now.
    records = (
        (d.id, d.text, {key: value for key, value in d.meta.items() if key != "annotation"})
        for d in batch.documents
    )
    arrays = {"documents": _json(records), **_spans("", annotation.word)}
    stored = [name for name in annotation.layers if name not in DERIVED]
    for name in stored:
        arrays |= _column(name, annotation.layers[name])
    for name, layer in annotation.trees.items():
        arrays |= _column(name, layer) | _spans(f"{name}.", layer)
    if annotation.heads is not None:
        # Distance to the head, 0 for a root: small numbers compress well.
        places = np.arange(len(annotation.heads), dtype=np.int32)
        arrays["heads"] = np.where(annotation.heads < 0, 0, annotation.heads - places)
    about = {
        "file": batch.file,
        "label": batch.label,
        "lines": batch.lines,
        "layers": stored,
        "trees": list(annotation.trees),
    }
    return arrays, about


def from_arrays(
    arrays: Arrays, about: dict[str, Any], derived: Iterable[str] = DERIVED
) -> tuple[Batch, Annotation]:
    """The reverse of `to_arrays`; the derived layers named are there again."""
    documents = [Document(*record) for record in _from_json(arrays["documents"])]
    if not all(
        isinstance(d.id, str) and isinstance(d.text, str) and isinstance(d.meta, dict)
        for d in documents
    ):
        raise ValueError("a document is no list of id, text and fields")
    layers = {name: _layer(name, "", arrays) for name in about["layers"]}
    layers |= {name: derive(layers["word"], name) for name in derived}
    heads = None
    if "heads" in arrays:
        away = arrays["heads"]
        heads = np.where(away == 0, -1, away + np.arange(len(away), dtype=np.int32))
        heads = heads.astype(np.int32)
        inside = (heads >= -1).all() and (heads < len(heads)).all()
        if not inside or len(heads) != len(layers["word"].ids):
            raise ValueError("a head is outside the words")
    trees = {name: _layer(name, f"{name}.", arrays) for name in about["trees"]}
    for layer in (*layers.values(), *trees.values()):
        _check_layer(layer, documents)
    batch = Batch(documents, about["file"], about["label"], about["lines"], [])
    return batch, Annotation(layers, heads, trees)


def _spans(prefix: str, layer: Layer) -> Arrays:
    # -1 stands for "no sentence ends": an empty array would mean a text without words.
    none = np.array([-1], np.int64)
    return {
        f"{prefix}starts": layer.starts,
        f"{prefix}lengths": _narrow_dtype(layer.ends - layer.starts),
        f"{prefix}text_ends": layer.text_ends,
        f"{prefix}sentence_ends": none if layer.sentence_ends is None else layer.sentence_ends,
    }


def _column(name: str, layer: Layer) -> Arrays:
    return {f"{name}.ids": _narrow_dtype(layer.ids), f"{name}.vocabulary": _json(layer.vocabulary)}


def _layer(name: str, prefix: str, arrays: Arrays) -> Layer:
    starts = arrays[f"{prefix}starts"]
    sentence_ends = arrays[f"{prefix}sentence_ends"]
    return Layer(
        name=name,
        ids=arrays[f"{name}.ids"].astype(np.int32),
        vocabulary=tuple(_from_json(arrays[f"{name}.vocabulary"])),
        starts=starts,
        ends=(starts + arrays[f"{prefix}lengths"]).astype(np.int32),
        text_ends=arrays[f"{prefix}text_ends"],
        sentence_ends=None if sentence_ends.tolist() == [-1] else sentence_ends,
    )


def _check_layer(layer: Layer, documents: Sequence[Document]) -> None:
    """Refuse numbers that lead out of the texts: compiled code looks them up as they are."""
    lengths = np.array([len(document.text) for document in documents], np.int64)
    ends = (layer.text_ends, *(() if layer.sentence_ends is None else (layer.sentence_ends,)))
    inside = len(layer.starts) == len(layer.ends) == len(layer.ids)
    inside = inside and len(layer.text_ends) == len(documents)
    for each in ends:
        last = int(each[-1]) if len(each) else 0
        inside = inside and each.ndim == 1 and last == len(layer.ids)
        inside = inside and bool((np.diff(each, prepend=0) >= 0).all())
    if inside and len(layer.ids):
        most = np.repeat(lengths, np.diff(layer.text_ends, prepend=0))
        inside = layer.ids.min() >= 0 and layer.ids.max() < len(layer.vocabulary)
        inside = inside and layer.starts.min() >= 0 and bool((layer.starts <= layer.ends).all())
        inside = inside and bool((layer.ends <= most).all())
    if not inside:
        raise ValueError(f"the layer {layer.name} leads out of the texts")


def _narrow_dtype(numbers: NDArray[Any]) -> NDArray[Any]:
    """Unsigned, in as few bytes as the largest number needs."""
    largest = int(numbers.max()) if len(numbers) else 0
    return numbers.astype(np.min_scalar_type(largest))


def _json(values: Iterable[Any]) -> NDArray[np.uint8]:
    # ASCII escapes keep lone surrogates, which UTF-8 could not.
    return np.frombuffer(json.dumps(list(values)).encode("ascii"), np.uint8)


def _from_json(data: NDArray[Any]) -> list[Any]:
    values: list[Any] = parse_json(data.tobytes())
    return values


NOTHING = Batch([], "", "", [], [])
_NAME = re.compile(rf"\d{{6}}-[0-9a-f-]+{re.escape(ENDING)}")
_DEEPEST = DEEPEST - 10
"""Levels of a field: pieces and indexes hold it a few levels down, and are to be read again."""
_RESTORE = "Create it again, or restore a copy"
RESUME_NOTE = "Annotated pieces are saved: run the same command to continue"


@dataclass(frozen=True, slots=True)
class Recipe:
    """Who annotates and which layers; all that can change a piece beside its documents.

    `subwords` are layers by a `tokenizer.json` of their own: (layer, path) each; the signature
    names those files' content. Small and picklable, since it travels to worker processes.
    """

    annotator: str
    signature: str
    layers: tuple[str, ...]
    subwords: tuple[tuple[str, str], ...] = ()

    @property
    def hash(self) -> str:
        parts = (self.signature, *self.layers, *(f"{layer}:" for layer, _ in self.subwords))
        return blake2b("\n".join(parts).encode(), digest_size=6).hexdigest()

    def annotate(self, documents: list[Document]) -> Annotation:
        annotation = annotators.get(self.annotator)(documents, self.layers)
        if not self.subwords:
            return annotation
        texts = [document.text for document in documents]
        subword_layers = {
            name: replace(words.get(path)(texts), name=name) for name, path in self.subwords
        }
        return replace(annotation, trees={**annotation.trees, **subword_layers})

    def annotate_words(self, documents: list[Document]) -> Annotation:
        """The same for those who need no sentences: where they end may then be unknown."""
        annotator = annotators.get(self.annotator)
        alone = not self.subwords and all(layer in DERIVED for layer in self.layers)
        if alone and isinstance(annotator, RoteAnnotator):
            return annotator.words(documents, self.layers)
        return self.annotate(documents)


@dataclass(frozen=True, slots=True)
class AnnotatedShard:
    """What the main process needs to know of a piece: `batch` has ids and lines, but no texts.

    `content` is a hash of the documents alone, whoever annotates them. `items` says how many items
    the layers have that do not align with the words; `guessed_languages` what the texts look like,
    where the English models were used on them.
    """

    file: str
    content: str
    documents: int
    words: int
    size: int
    digests: list[bytes]
    guessed_languages: Counter[str]
    items: tuple[tuple[str, int], ...] = ()
    batch: Batch = NOTHING


@dataclass(frozen=True, slots=True)
class AnnotateShard:
    """The work on one shard, wherever it is read; a piece that is there already is kept.

    `level` is that of compression: what is read once need not be as small as what stays. A shard
    whose documents are among the `known_contents` is not annotated; lines that are left `out` are
    those of documents whose ids came before.
    """

    path: Path
    recipe: Recipe
    level: int = 3
    known_contents: frozenset[str] = frozenset()
    out: frozenset[int] = frozenset()

    def __call__(self, shard: Shard) -> AnnotatedShard:
        batch = shard.read()
        if self.out:
            places = {i for i, line in enumerate(batch.lines) if line in self.out}
            batch = batch.without(places, [])
        ids = batch.bare()
        if not batch.documents:
            return AnnotatedShard("", "", 0, 0, shard.size, [], Counter(), batch=ids)
        digests = [digest(document) for document in batch.documents]
        content = content_hash(batch.documents, digests)
        file = f"{shard.number:06d}-{content}-{self.recipe.hash}{ENDING}"
        known = content in self.known_contents
        about: dict[str, Any] = {"words": 0, "items": {}}
        if not known:
            about = self._stored_account(file) or self._annotate(file, batch)
        english = self.recipe.annotator == annotators.DEFAULT and not known
        return AnnotatedShard(
            file=file,
            content=content,
            documents=len(batch.documents),
            words=about["words"],
            size=shard.size,
            digests=digests,
            guessed_languages=glance([d.text for d in batch.documents]) if english else Counter(),
            items=tuple(sorted(about["items"].items())),
            batch=ids,
        )

    def _stored_account(self, file: str) -> dict[str, Any] | None:
        place = self.path / file
        try:
            return unpack(place.read_bytes(), str(place))[1] if place.is_file() else None
        except InputError:
            return None  # damaged by a power cut, say: it is made again, over the old one

    def _annotate(self, file: str, batch: Batch) -> dict[str, Any]:
        # What follows from the words is not kept, so it is not made either.
        needed = tuple(name for name in self.recipe.layers if name not in DERIVED)
        annotation = replace(self.recipe, layers=needed).annotate(batch.documents)
        plain = [replace(d, meta=_plain_meta(d)) for d in batch.documents]
        arrays, about = to_arrays(replace(batch, documents=plain), annotation)
        about["words"] = len(annotation.word.ids)
        about["items"] = {name: len(layer.ids) for name, layer in annotation.trees.items()}
        write_atomically(self.path / file, pack(arrays, about, self.level))
        return about


def read_piece(place: Path, derived: Iterable[str] = DERIVED) -> tuple[Batch, Annotation]:
    """One piece by its file, with those layers that follow from the words that are named."""
    try:
        data = read_regular(place)
    except OSError as error:
        raise InputError(
            f"an annotated piece cannot be read ({error.strerror})",
            file=str(place),
            remedy="Run the command that made it (`rote annotate` for a store) with the same "
            "input again: it creates what is missing",
        ) from None
    arrays, about = unpack(data, str(place))
    try:
        return from_arrays(arrays, about, derived)
    except (InputError, LookupError, ValueError, TypeError, AttributeError, OverflowError) as error:
        problem = f"the file is damaged ({error})"
        raise InputError(problem, file=str(place), remedy=_RESTORE) from None


def checked(corpus: Corpus, problems: Problems) -> Iterator[tuple[int, Batch]]:
    """Batches with their sizes, read in this process: parsing is far faster than annotating."""
    duplicates = DuplicateIds(corpus.options.on_error)
    for shard in corpus.shards():
        batch = duplicates.check(shard.read())
        problems.add(batch.problems)
        yield shard.size, batch


def pieces(
    corpus: Corpus, work: AnnotateShard, engine: Engine
) -> Iterator[tuple[Callable[..., AnnotatedShard], AnnotatedShard]]:
    """The pieces of a corpus, made wherever the engine works, with documents of one id each.

    Ids come back with a piece. Where some came before, which is rare, the piece is made again
    without them; so can the caller, who knows of others, given the batch that is to be left.
    """
    duplicates = DuplicateIds(corpus.options.on_error)
    for again, piece in map_again(work, corpus, engine, doing="annotating", note=RESUME_NOTE):
        last_piece, all_lines = piece, frozenset(piece.batch.lines)

        def without(
            batch: Batch,
            known_contents: frozenset[str] = work.known_contents,
            again: Any = again,
            lines: frozenset[int] = all_lines,
        ) -> AnnotatedShard:
            left_out = lines.difference(batch.lines)
            fewer: AnnotatedShard = again(
                replace(work, out=left_out, known_contents=known_contents)
            )
            return replace(fewer, batch=batch)

        batch = left_of(piece, work.path, duplicates.check)
        if batch is not piece.batch:
            last_piece = without(batch)
        yield without, last_piece


def left_of(piece: AnnotatedShard, path: Path, check: Callable[[Batch], Batch]) -> Batch:
    """What a check leaves of a piece's documents; the file goes if it holds others."""
    checked = None
    try:
        checked = check(piece.batch)
        return checked
    finally:
        if checked is not piece.batch and piece.file:
            (path / piece.file).unlink(missing_ok=True)


def content_hash(documents: Sequence[Document], digests: Iterable[bytes]) -> str:
    """What the documents of a piece are known by, whoever annotates them."""
    state = blake2b(b"".join(digests), digest_size=12)
    for document in documents:
        # The fields go into the piece too: a changed author must not find the old one.
        state.update(json.dumps(_plain_meta(document), sort_keys=True, default=str).encode())
    return state.hexdigest()


def _plain_meta(document: Document) -> dict[str, Any]:
    """The fields as JSON holds them; what it has no word for (a date) is kept as people read it."""
    return {
        # Annotation that came with the input goes into the layers, never into JSON.
        str(key): value if key == "annotation" else _plain(value, document, str(key))
        for key, value in document.meta.items()
    }


def _plain(value: Any, document: Document, field: str, level: int = 0) -> Any:
    if level > _DEEPEST:
        problem = (
            f"document '{document.id}' holds lists or objects nested more than {_DEEPEST} levels "
            "deep"
        )
        raise InputError(problem, field=field, remedy="Remove such fields from the input")
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, Integral):
        return int(value)  # of numpy, say
    if isinstance(value, Mapping):
        return {str(key): _plain(each, document, field, level + 1) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each, document, field, level + 1) for each in value]
    if str(value) == object.__repr__(value):
        # Its text would be its address, another one in every run.
        raise InputError(
            f"document '{document.id}' holds a {type(value).__name__}, which cannot be written",
            field=field,
            remedy="Give numbers, texts, dates, or lists and dicts of them",
        )
    return str(value)


def is_piece(name: str) -> bool:
    """Whether a file's name is one that `order` gives, in this version or an earlier one."""
    return _NAME.fullmatch(name) is not None


def content_of(file: str) -> str:
    """The hash of the documents in a piece, from its file's name."""
    parts = file.removesuffix(ENDING).split("-")
    if len(parts) != 3:
        raise InputError(
            "this piece was made by an older version of rote",
            file=file,
            remedy="Run `rote annotate` with the same input again",
        )
    return parts[1]
