"""Open an index folder, or make an index in memory of texts or of a corpus."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rote.core.document import Document
from rote.core.errors import OptionError, UnknownName
from rote.core.progress import Reporter
from rote.corpus import Input, ReadOptions
from rote.corpus.memory import to_rows
from rote.index.index import DEFAULT, Index
from rote.index.segments.meanings import read_meanings, write_meanings
from rote.index.segments.part import MEANINGS, MemoryTarget
from rote.index.segments.segment import WORD, Segment
from rote.index.segments.writers import build_memory_segment

if TYPE_CHECKING:
    from rote.core.document import Annotation
    from rote.corpus import Batch, Corpus
    from rote.index.folders.manifest import EmbedderRecord, Manifest
    from rote.index.folders.options import BuildOptions


def open_index(path: str | Path, reporter: Reporter | None = None) -> Index:
    """Open an index folder as it is now; nothing is read before it is needed."""
    from rote.index.folders.folder import open_folder

    # In full, so that the index outlives a change of the working folder.
    folder = Path(path).resolve()
    manifest, segments = open_folder(folder, reporter)
    return Index(segments, path=folder, manifest=manifest)


def to_index(value: Any, called: str, reporter: Reporter | None = None) -> Index:
    """An index that is open already, or the one in a folder; `called`: the input that names it."""
    if isinstance(value, Index):
        return value
    if not isinstance(value, (str, Path)):
        raise OptionError(
            f"{called} cannot be of type {type(value).__name__}: it takes an index, its folder or "
            "one that is open; `rote.index` makes one of texts"
        )
    return open_index(value, reporter)


@lru_cache(maxsize=8)
def open_state(path: Path, manifest: Manifest) -> Index:
    """Open an index as this manifest describes it, whatever has become of it since.

    For worker processes, which keep it open: numbers of segments and documents must mean what
    they mean in the process that sent them.
    """
    from rote.index.folders.folder import open_folder_as

    return Index(open_folder_as(path, manifest), path=path, manifest=manifest)


def build_index(
    inputs: Input,
    path: str | Path,
    *,
    read: ReadOptions | None = None,
    reporter: Reporter | None = None,
    **settings: Any,
) -> Index:
    """Build an index folder of files, texts or documents, and open it.

    `settings` are the fields of `BuildOptions`: layers, annotator, author_field, memory,
    compact, jobs.
    """
    from rote.corpus import open_corpus
    from rote.index.folders.build import build_index as build
    from rote.index.folders.options import BuildOptions, parse_memory
    from rote.index.folders.source import check_inputs

    if isinstance(settings.get("memory"), str):
        settings["memory"] = parse_memory(settings["memory"])
    if isinstance(settings.get("layers"), str):
        settings["layers"] = tuple(settings["layers"].split(","))
    known = [field.name for field in fields(BuildOptions)]
    for name in settings:
        if name not in known:
            raise UnknownName("setting", name, known)
    # In a list, strings are texts; alone, a string is a path.
    places = [Path(inputs)] if isinstance(inputs, (str, Path)) else inputs
    if isinstance(places, list):
        check_inputs([place for place in places if isinstance(place, Path)], Path(path))
    build(
        open_corpus(inputs, read or ReadOptions()), Path(path), BuildOptions(**settings), reporter
    )
    return open_index(path, reporter)


def index_corpus(corpus: Corpus, options: BuildOptions, reporter: Reporter) -> Index:
    """An index in memory of anything that can be read."""
    from rote.annotate import annotators
    from rote.annotate.pieces import Recipe, checked
    from rote.corpus import Problems
    from rote.index.folders.options import parse_layers

    problems = Problems()
    for line in corpus.guesses:
        reporter.say(line)
    chosen, compact = parse_layers(options.layers), options.compact
    layers = chosen.layers
    if chosen.tokenizer:
        raise OptionError("an index in memory has no subwords: --output names a folder for it")
    made_by = annotators.get(options.annotator)
    names = tuple(name for name in layers if name != "word")
    recipe = Recipe(options.annotator, made_by.signature, names)
    with reporter.stage(f"indexing {corpus.short_name}", corpus.size, unit="B") as advance:

        def pieces() -> Iterator[tuple[Batch, Annotation]]:
            for size, batch in checked(corpus, problems):
                yield batch, recipe.annotate(batch.documents)
                advance(size)

        segment = build_memory_segment(
            pieces(),
            layers=layers,
            sorted_layers=layers,
            author_field=options.author_field,
            compact=compact,
        )
    segment, meanings = _embed_sentences(segment, chosen.embedder, reporter)
    for line in problems.listed():
        reporter.say(line)
    return Index([segment], recipe, meanings=meanings)


def index_texts(
    texts: Sequence[str],
    layers: Sequence[str] = (DEFAULT,),
    annotator: str = "rote",
    *,
    compact: bool = False,
) -> Index:
    """An index in memory over a list of texts, with the same calls as one on disk."""
    texts = to_rows(texts)
    if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        raise OptionError("texts are a list or a column of strings; `rote.index` reads files")
    from rote.annotate import annotators
    from rote.annotate.pieces import Recipe
    from rote.corpus import Batch
    from rote.index.folders.options import parse_layers

    chosen = parse_layers(layers)
    layers = chosen.names
    made_by = annotators.get(annotator)
    recipe = Recipe(annotator, made_by.signature, tuple(n for n in layers if n != "word"))
    documents = [Document(str(i), text) for i, text in enumerate(texts)]
    batch = Batch(documents, "texts", "texts", list(range(1, len(texts) + 1)), [])
    pieces = [(batch, recipe.annotate(documents))] if documents else []
    segment = build_memory_segment(pieces, layers=layers, sorted_layers=layers, compact=compact)
    segment, meanings = _embed_sentences(segment, chosen.embedder, None)
    return Index([segment], recipe, meanings=meanings)


def _embed_sentences(
    segment: Segment, embedder: str | None, reporter: Reporter | None
) -> tuple[Segment, EmbedderRecord | None]:
    """A segment in memory with a vector of each sentence, and who made them."""
    if embedder is None:
        return segment, None
    from rote.index.folders.manifest import embedder_of, record_embedder

    record, target = record_embedder(embedder), MemoryTarget()
    positions, documents = segment.positions[WORD], segment.documents
    write_meanings(
        target, positions, documents, embedder_of("the index", record), reporter=reporter
    )
    return replace(segment, meanings=read_meanings(target.sealed(MEANINGS))), record
