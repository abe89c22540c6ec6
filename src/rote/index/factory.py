"""Open an index folder, or make an index in memory of texts or of a corpus."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rote.core.errors import OptionError
from rote.core.progress import Reporter
from rote.index.index import Index
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


def _embed_sentences(
    segment: Segment, embedder: str | None, reporter: Reporter
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
