"""Adding a layer to an index: its texts annotated again, one new part beside the old ones.

The annotator must be the one that made the index, so that the words are the same and places
mean the same in every layer. Segments that are done are found by their part; only the manifest,
replaced at the end, makes the layer known.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from rote import run
from rote.annotate import words
from rote.annotate.pieces import Recipe
from rote.core.document import Document
from rote.core.errors import OptionError, UnknownName
from rote.core.layer import Layer
from rote.core.progress import Advance, Reporter, Silent
from rote.index.folders.build import keep_tokenizer
from rote.index.folders.folder import map_segments
from rote.index.folders.manifest import (
    SEGMENTS,
    Listed,
    Manifest,
    annotator_of,
    read_manifest,
    recipe_of,
)
from rote.index.folders.options import SUBWORDS, choose
from rote.index.folders.origin import key_of
from rote.index.folders.writing import publish, tidy, writing
from rote.index.segments.documents import Documents
from rote.index.segments.merge import sort_layer
from rote.index.segments.part import PartRecord, check_part, describe, is_whole
from rote.index.segments.segment import Segment
from rote.index.segments.target import FolderTarget
from rote.index.segments.write import write_layer

_CHARACTERS_AT_ONCE = 4 * 2**20
_Made = tuple[Layer, int, bool]


def add_layer(
    path: Path,
    name: str,
    *,
    jobs: int = 1,
    engine: str | run.Engine | None = None,
    reporter: Reporter | None = None,
) -> Manifest:
    """Add and sort one layer; `word` is there already and gets sorted."""
    works = run.get(engine, jobs)
    reporter = reporter or Silent()
    chosen = choose([name])
    (layer,) = chosen.names
    read_manifest(path)
    with writing(path, "rote index add-layer"):
        manifest = read_manifest(path)
        if chosen.tokenizer is not None:
            _check_tokenizer(path, manifest, chosen.tokenizer)
        if layer in manifest.sorted_layers:
            reporter.say(f"{path} has the layer {layer} already: nothing to do")
            tidy(path, manifest)
            return manifest
        new = replace(
            manifest,
            layers=tuple(dict.fromkeys((*manifest.layers, layer))),
            sorted_layers=(*manifest.sorted_layers, layer),
        )
        if chosen.tokenizer is not None:
            new = replace(new, subwords=(keep_tokenizer(path, chosen.tokenizer),))
        recipe = _recipe(path, new, layer)
        segments = map_segments(path, manifest, reporter)
        with reporter.stage(f"adding {layer}", manifest.words, unit="words") as advance:
            work = _Adding(path, layer, recipe, jobs, works, advance, manifest.is_compact)
            folders = [path / SEGMENTS / listed.name for listed in manifest.segments]
            parts = list(work.parts(folders, segments))
        new = replace(
            new,
            generation=manifest.generation + 1,
            segments=tuple(map(_extended, manifest.segments, parts)),
        )
        publish(path, new)
        return new


def _check_tokenizer(path: Path, manifest: Manifest, file: Path) -> None:
    """An index has one layer of subwords: another tokenizer's must not pass for it."""
    asked = words.get(str(file)).signature
    for each in manifest.subwords:
        if each.signature != asked:
            raise OptionError(
                f"{path} has a layer of subwords by {each.signature}, and {file} is {asked}: an "
                "index holds one layer of subwords. Build another index for this tokenizer"
            )


def _recipe(path: Path, manifest: Manifest, layer: str) -> Recipe:
    """What makes this layer and no other."""
    recipe = recipe_of(path, manifest)
    if layer == SUBWORDS:
        return replace(recipe, layers=())
    gives = annotator_of(path, manifest).gives
    if layer not in gives:
        raise UnknownName(f"layer for the annotator '{manifest.annotator}'", layer, gives)
    if manifest.annotator.partition(":")[0] in ("given", "brackets") and layer != "word":
        raise OptionError(
            "the annotation of this index came with its input, which the index does not keep: "
            f"build it again with `--layers {','.join(manifest.sorted_layers)}`"
        )
    return replace(recipe, layers=(layer,), subwords=())


def _extended(old: Listed, part: PartRecord) -> Listed:
    """The segment with its new part; one that was there without sorted suffixes goes."""
    kept = [each for each in old.record.parts if each.name != part.name]
    parts = tuple(sorted((*kept, part), key=lambda each: each.folder))
    return replace(old, record=replace(old.record, parts=parts))


@dataclass(frozen=True, slots=True)
class _Adding:
    path: Path
    layer: str
    recipe: Recipe
    jobs: int
    engine: run.Engine
    advance: Advance
    compact: bool

    def parts(self, folders: list[Path], segments: tuple[Segment, ...]) -> Iterator[PartRecord]:
        """The new part of each segment, made now or by an interrupted run."""
        # The name says who made it, so that another tokenizer's part is not taken for it.
        name = f"{self.layer}.{key_of(self.recipe.hash)[:8]}"
        found = {place for place in folders if _is_sound(place / name)}
        missing = [s for place, s in zip(folders, segments) if place not in found]
        # One stream over all segments, so that workers start once and never wait for sorting.
        batches = (batch for segment in missing for batch in _batches(segment.documents))
        made: Iterator[_Made] = iter(())
        if missing and self.layer not in missing[0].columns:
            made = self.engine.map(_Making(self.layer, self.recipe), batches, doing="annotating")
        for place, segment in zip(folders, segments):
            if place in found:
                self.advance(segment.tokens)
                yield describe(place / name)
                continue
            try:
                yield self._written(FolderTarget(place), segment, name, made)
            except BaseException:
                # On a full disk the room is needed; after a kill the next writer does this.
                shutil.rmtree(place / name, ignore_errors=True)
                raise

    def _written(
        self, target: FolderTarget, segment: Segment, folder: str, made: Iterator[_Made]
    ) -> PartRecord:
        if self.layer in segment.columns:
            part = sort_layer(
                target,
                segment,
                self.layer,
                folder=folder,
                threads=self.jobs,
                compact=self.compact,
            )
            self.advance(segment.tokens)
            return part
        return write_layer(
            target,
            segment,
            self.layer,
            self._layers(made),
            own=self.layer not in _aligned(self.recipe),
            folder=folder,
            threads=self.jobs,
            compact=self.compact,
        )

    def _layers(self, made: Iterator[_Made]) -> Iterator[Layer]:
        """The layers of one segment."""
        for layer, held, last in made:
            self.advance(held)
            yield layer
            if last:
                return


@dataclass(frozen=True, slots=True)
class _Making:
    """Annotates a batch in whichever process: the layer, its words, whether a segment ends."""

    layer: str
    recipe: Recipe

    def __call__(self, batch: tuple[list[Document], bool]) -> _Made:
        documents, last = batch
        made = self.recipe.annotate(documents)
        layer = made.layers[self.layer] if self.layer in made.layers else made.trees[self.layer]
        return layer, len(made.word.ids), last


def _is_sound(part: Path) -> bool:
    return is_whole(part) and not check_part(part)


def _aligned(recipe: Recipe) -> tuple[str, ...]:
    """The names of the layers that stand on the words, found by asking for them."""
    return tuple(recipe.annotate([]).layers)


def _batches(documents: Documents) -> Iterator[tuple[list[Document], bool]]:
    """Documents with about as much text as a shard holds, and whether they are the last."""
    batch: list[Document] = []
    held = 0
    for i in range(len(documents)):
        text = documents.text(i)
        batch.append(Document(documents.id(i), text))
        held += len(text)
        last = i == len(documents) - 1
        if last or held >= _CHARACTERS_AT_ONCE:
            yield batch, last
            batch, held = [], 0
