"""Change an index in place: merge its segments, remove or replace documents, add a layer.

As with every command the manifest comes last: who opens the index meets the old state or the new.

**Merge.** Every query asks every segment, so fewer are faster. Readers that have the old segments
open go on with them; a merge that was killed goes on with the merged segments that it had sealed.

**Remove.** Every answer is a range of sorted positions, so a document that is only masked would
cost each query a look at each position. Its segment is written again from its own columns, without
annotating anything, and answers as if the document had never been there.

**Add a layer.** Texts are annotated again, and one new part comes beside the old ones. The
annotator must be the one that made the index, so that positions mean the same in every layer.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rote import run
from rote.annotate import words
from rote.annotate.pieces import Recipe, checked, read_piece
from rote.annotate.store import Store
from rote.core.document import Document
from rote.core.errors import OptionError, UnknownName
from rote.core.layer import Layer
from rote.core.numbers import name_some
from rote.core.progress import Advance, Reporter, Silent, several
from rote.corpus import Problems
from rote.index.folders.build import (
    BuildContext,
    IndexChange,
    check_source,
    copy_tokenizer,
    publish_sealed,
    write_new_segments,
)
from rote.index.folders.folder import (
    SealedSegment,
    changing,
    find_unlisted,
    open_documents,
    open_segments,
    publish,
    read_sealed,
    remove_unlisted,
    seal_segment,
)
from rote.index.folders.manifest import (
    SEGMENTS,
    EmbedderRecord,
    ListedSegment,
    Manifest,
    Provenance,
    annotator_of,
    embedder_of,
    join_provenances,
    read_sealed_segment,
    recipe_of,
    record_embedder,
    settings_hash,
    write_provenance,
)
from rote.index.folders.options import MEANING, SUBWORDS, BuildOptions, max_positions, parse_layers
from rote.index.folders.source import Source
from rote.index.segments.documents import Documents
from rote.index.segments.meanings import copy_meanings, sentence_positions, write_meanings
from rote.index.segments.part import (
    MEANINGS,
    FolderTarget,
    PartRecord,
    check_part,
    describe_part,
    is_sealed,
    stream_length,
)
from rote.index.segments.segment import WORD, LayerForms, Segment, open_segment
from rote.index.segments.writers import (
    merge_segments,
    read_kept_documents,
    sort_layer,
    write_layer,
    write_pieces,
)
from rote.run import check_jobs


def merge_index(
    path: Path,
    *,
    memory: int = BuildOptions().memory,
    threads: int = 1,
    reporter: Reporter | None = None,
) -> Manifest:
    """Join segments until none can be joined within the memory; the documents stay in order."""
    reporter = reporter or Silent()
    check_jobs(threads)
    limit = max_positions(memory)
    with changing(path, "rote index merge") as manifest:
        sealed = read_sealed(path, manifest)
        groups = _group_neighbours(sealed, [_longest_stream(path, each) for each in sealed], limit)
        if len(groups) == len(manifest.segments):
            reporter.say(
                f"{path} has {len(groups):,} segments, and none of them can be merged"
                if len(groups) > 1
                else f"{path} has fewer than two segments: nothing to merge"
            )
            remove_unlisted(path, manifest)
            return manifest
        unlisted = find_unlisted(path, manifest)
        segments = []
        with reporter.stage("merging segments", manifest.words, unit="words") as advance:
            for group in groups:
                segments.append(_merge_group(path, manifest, group, unlisted, threads))
                advance(segments[-1].record.tokens)
        return publish(path, manifest, segments)


def _longest_stream(path: Path, sealed: SealedSegment) -> int:
    """The longest row of numbers of a segment; a layer added later may exceed all others."""
    listed, provenance = sealed
    folder = path / SEGMENTS / listed.name
    parts = listed.record.parts
    return max(provenance.places, *(stream_length(folder / part.folder, part) for part in parts))


def _group_neighbours(
    sealed: Sequence[SealedSegment], lengths: Sequence[int], limit: int
) -> list[list[SealedSegment]]:
    """Runs of neighbours that fit together; one that is too large already stays by itself."""
    groups: list[list[SealedSegment]] = []
    places = 0
    for each, length in zip(sealed, lengths):
        if groups and places + length <= limit:
            groups[-1].append(each)
            places += length
        else:
            groups.append([each])
            places = length
    return groups


def _merge_group(
    path: Path,
    manifest: Manifest,
    group: list[SealedSegment],
    unlisted: dict[str, SealedSegment],
    threads: int,
) -> ListedSegment:
    if len(group) == 1:
        return group[0][0]
    # Layers added since are part of what the segments hold, so they are part of the name.
    checksums = [part.checksum for listed, _ in group for part in listed.parts]
    name = settings_hash("merge", manifest.sorted_layers, *checksums)
    if name in unlisted:
        return unlisted[name][0]
    # Never copy damage into a segment with fresh checksums.
    group_manifest = replace(manifest, segments=tuple(listed for listed, _ in group))
    segments = open_segments(path, group_manifest, Silent())
    with seal_segment(path) as folder:
        target, folder.name = folder.target, name
        merge_segments(target, segments, manifest.forms(threads))
        codes = [segment.meanings for segment in segments if segment.meanings is not None]
        if codes:
            copy_meanings(target, [(each, None) for each in codes])
        write_provenance(target, join_provenances([provenance for _, provenance in group], name))
    return read_sealed_segment(path / SEGMENTS / name)[0]


Missing = Literal["stop", "skip"]
_NAMED_IDS = 5


def remove_documents(
    path: Path,
    ids: Iterable[str],
    *,
    missing: Missing = "stop",
    threads: int = 1,
    reporter: Reporter | None = None,
) -> IndexChange:
    """Remove documents by their ids; ids that the index does not hold stop it, or are skipped."""
    reporter = reporter or Silent()
    wanted = list(dict.fromkeys(ids))
    if isinstance(ids, str) or not wanted:
        raise OptionError("give a list of the ids of the documents to remove")
    run.check_jobs(threads)
    with changing(path, "rote index remove") as manifest:
        documents_by_segment = _find_documents(open_documents(path, manifest.segments), wanted)
        known_ids = {identity for numbers in documents_by_segment for identity in numbers}
        unknown = [identity for identity in wanted if identity not in known_ids]
        if unknown and missing == "stop":
            raise OptionError(
                f"{path} contains no {_name_ids(unknown)}: nothing was removed. "
                "--missing skip removes the others"
            )
        if unknown:
            reporter.say(f"{path} contains no {_name_ids(unknown)}")
        if not known_ids:
            reporter.say(f"{path} contains none of these documents: nothing to remove")
            remove_unlisted(path, manifest)
            return IndexChange(manifest, 0, Problems(), 0)
        remaining = _write_without(path, manifest, documents_by_segment, threads, reporter)
        new = publish_sealed(path, manifest, remaining)
        return IndexChange(new, 0, Problems(), len(known_ids))


def replace_documents(
    path: Path,
    source: Source,
    *,
    memory: int = BuildOptions().memory,
    jobs: int = 1,
    engine: str | run.Engine | None = None,
    reporter: Reporter | None = None,
) -> IndexChange:
    """Put the documents of the input in place of those with their ids; others are added."""
    reporter = reporter or Silent()
    context = BuildContext(max_positions(memory), jobs, run.get(engine, jobs), reporter)
    with changing(path, "rote index replace") as manifest:
        check_source(source, path, manifest)
        segment_documents = open_documents(path, manifest.segments)
        ids, same = [], True
        for document in _read_documents(source):
            ids.append(document.id)
            same = same and any(each.holds(document) for each in segment_documents)
        if same:
            reporter.say(f"{path} already contains exactly this: nothing to replace")
            remove_unlisted(path, manifest)
            return IndexChange(manifest, 0, Problems(), 0)
        documents_by_segment = _find_documents(segment_documents, ids)
        remaining = _write_without(path, manifest, documents_by_segment, jobs, reporter)
        new_segments, problems = write_new_segments(source, path, manifest, remaining, context)
        new = publish_sealed(path, manifest, [*remaining, *new_segments])
        added = sum(provenance.documents for _, provenance in new_segments)
        return IndexChange(new, added, problems, sum(map(len, documents_by_segment)))


def _find_documents(
    segment_documents: Sequence[Documents], ids: Iterable[str]
) -> list[dict[str, int]]:
    wanted = list(dict.fromkeys(ids))
    numbers_by_segment = []
    for each in segment_documents:
        numbers = {identity: each.find(identity) for identity in wanted}
        numbers_by_segment.append({identity: n for identity, n in numbers.items() if n is not None})
    return numbers_by_segment


def _write_without(
    path: Path,
    manifest: Manifest,
    documents_by_segment: Sequence[dict[str, int]],
    threads: int,
    reporter: Reporter,
) -> list[SealedSegment]:
    """The segments of an index without these documents; one that holds no other is left out."""
    sealed = find_unlisted(path, manifest)
    sealed_segments = read_sealed(path, manifest)
    touched = sum(
        each.record.tokens for (each, _), gone in zip(sealed_segments, documents_by_segment) if gone
    )
    remaining: list[SealedSegment] = []
    with reporter.stage("writing segments again", touched, unit="words") as advance:
        for (listed, provenance), gone in zip(sealed_segments, documents_by_segment):
            if not gone:
                remaining.append((listed, provenance))
                continue
            if len(gone) < listed.record.documents:
                numbers = sorted(gone.values())
                segment_manifest = replace(manifest, segments=(listed,))
                remaining.append(
                    _rewrite_segment(path, segment_manifest, provenance, numbers, sealed, threads)
                )
            advance(listed.record.tokens)
    return remaining


def _rewrite_segment(
    path: Path,
    manifest: Manifest,
    provenance: Provenance,
    gone: Sequence[int],
    sealed: dict[str, SealedSegment],
    threads: int,
) -> SealedSegment:
    """The one segment of this manifest without some of its documents."""
    (listed,) = manifest.segments
    checksums = [part.checksum for part in listed.parts]
    name = settings_hash("without", manifest.sorted_layers, *checksums, *gone)
    if name in sealed:
        return sealed[name]
    # Never copy damage into a segment with fresh checksums.
    (segment,) = open_segments(path, manifest, Silent())
    keep: NDArray[np.bool_] = np.ones(len(segment.documents), np.bool_)
    keep[list(gone)] = False
    with seal_segment(path) as folder:
        target, folder.name = folder.target, name
        record = write_pieces(
            target,
            read_kept_documents(segment, keep),
            sorted(segment.columns, key=lambda layer: layer != WORD),
            manifest.forms(threads),
            manifest.author_field,
        )
        if segment.meanings is not None:
            positions = segment.positions[WORD]
            holders = positions.document_of(sentence_positions(positions).starts)
            copy_meanings(target, [(segment.meanings, keep[holders])])
        streams = (
            np.diff(positions.document_ends, prepend=-1) for positions in segment.positions.values()
        )
        longest = max(int(lengths[keep].sum()) for lengths in streams)
        # The pieces that it was built from are not what it holds any more.
        rest = Provenance(name, (), record.tokens, longest, provenance.digests[keep])
        write_provenance(target, rest)
    return read_sealed_segment(path / SEGMENTS / name)


def _read_documents(source: Source) -> Iterator[Document]:
    """The documents of the input, read here: what is replaced is far less than what is built."""
    if isinstance(source, Store):
        for file in source.files:
            yield from read_piece(source.path / file, derived=())[0].documents
        return
    for _, batch in checked(source, Problems()):
        yield from batch.documents


def _name_ids(ids: Sequence[str]) -> str:
    names = name_some([f"'{identity}'" for identity in ids], _NAMED_IDS)
    if len(ids) == 1:
        return f"document with the id {names}"
    return f"{several(len(ids), 'document')} of those named: {names}"


_CHARACTERS_AT_ONCE = 4 * 2**20
_AnnotatedBatch = tuple[Layer, int, bool]


def add_layer(
    path: Path,
    name: str,
    *,
    jobs: int = 1,
    engine: str | run.Engine | None = None,
    reporter: Reporter | None = None,
) -> Manifest:
    """Add and sort one layer; `word` is there already and gets sorted."""
    runner = run.get(engine, jobs)
    reporter = reporter or Silent()
    chosen = parse_layers([name])
    if chosen.embedder is not None:
        return _add_meanings(path, chosen.embedder, runner, reporter)
    (layer,) = chosen.names
    with changing(path, "rote index add-layer") as manifest:
        if chosen.tokenizer is not None:
            _check_tokenizer(path, manifest, chosen.tokenizer)
        if layer in manifest.sorted_layers:
            reporter.say(f"{path} already has the layer {layer}: nothing to do")
            remove_unlisted(path, manifest)
            return manifest
        new = replace(
            manifest,
            layers=tuple(dict.fromkeys((*manifest.layers, layer))),
            sorted_layers=(*manifest.sorted_layers, layer),
        )
        if chosen.tokenizer is not None:
            new = replace(new, subwords=(copy_tokenizer(path, chosen.tokenizer),))
        annotator = _LayerAnnotator(layer, _layer_recipe(path, new, layer))
        segments = open_segments(path, manifest, reporter)
        folders = [path / SEGMENTS / listed.name for listed in manifest.segments]
        with reporter.stage(f"adding {layer}", manifest.words, unit="words") as advance:
            new_parts = _layer_parts(annotator, folders, segments, new.forms(jobs), runner, advance)
            listed = list(map(_add_part, manifest.segments, new_parts))
        return publish(path, new, listed)


def _add_meanings(
    path: Path, embedder_name: str, engine: run.Engine, reporter: Reporter
) -> Manifest:
    record = record_embedder(embedder_name)
    with changing(path, "rote index add-layer") as manifest:
        if manifest.meanings is not None and manifest.meanings.signature != record.signature:
            raise OptionError(
                f"{path} has meanings by {manifest.meanings.signature}, and {embedder_name} is "
                f"{record.signature}: an index can have only one layer of meanings. Build another "
                "index for this embedder"
            )
        if manifest.meanings is not None:
            reporter.say(f"{path} already has the layer {MEANING}: nothing to do")
            remove_unlisted(path, manifest)
            return manifest
        segments = open_segments(path, manifest, reporter)
        for segment in segments:
            sentence_positions(segment.positions[WORD])  # which must be known
        items = [
            ((path / SEGMENTS / listed.name).absolute(), listed.record.parts)
            for listed in manifest.segments
        ]
        work = partial(_add_meanings_part, record, None if engine.remote else reporter)
        new_parts = (
            engine.map(work, items, doing="embedding sentences")
            if engine.remote
            else map(work, items)
        )
        listed = list(map(_add_part, manifest.segments, new_parts))
        return publish(path, manifest, listed, meanings=record)


def _add_meanings_part(
    record: EmbedderRecord, reporter: Reporter | None, item: tuple[Path, tuple[PartRecord, ...]]
) -> PartRecord:
    """Write the part of one segment, wherever; one that an interrupted run has written stays."""
    folder, parts = item
    name = f"{MEANINGS}.{settings_hash(record.signature)[:8]}"
    if _is_whole(folder / name):
        return describe_part(folder / name)
    segment, embedder = open_segment(folder, parts), embedder_of(folder, record)
    positions, documents = segment.positions[WORD], segment.documents
    target = FolderTarget(folder)
    with _removed_on_error(folder / name):
        try:
            return write_meanings(
                target, positions, documents, embedder, folder=name, reporter=reporter
            )
        finally:
            target.close()


def _is_whole(part: Path) -> bool:
    return is_sealed(part) and not check_part(part)


@contextmanager
def _removed_on_error(part: Path) -> Iterator[None]:
    """On a full disk the room is needed; after a kill the next writer does this."""
    try:
        yield
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


def _check_tokenizer(path: Path, manifest: Manifest, file: Path) -> None:
    """An index has one layer of subwords: another tokenizer's must not pass for it."""
    signature = words.get(str(file)).signature
    for each in manifest.subwords:
        if each.signature != signature:
            raise OptionError(
                f"{path} has a layer of subwords by {each.signature}, and {file} is {signature}: "
                "an index can have only one layer of subwords. Build another index for this "
                "tokenizer"
            )


def _layer_recipe(path: Path, manifest: Manifest, layer: str) -> Recipe:
    recipe = recipe_of(path, manifest)
    if layer == SUBWORDS:
        return replace(recipe, layers=())
    gives = annotator_of(path, manifest).gives
    if layer not in gives:
        raise UnknownName(f"layer for the annotator '{manifest.annotator}'", layer, gives)
    if manifest.annotator.partition(":")[0] in ("given", "brackets") and layer != "word":
        raise OptionError(
            "the annotation of this index came with its input, which the index does not store: "
            f"build it again with `--layers {','.join(manifest.sorted_layers)}`"
        )
    return replace(recipe, layers=(layer,), subwords=())


def _add_part(old: ListedSegment, part: PartRecord) -> ListedSegment:
    """The segment with its new part; one that was there without sorted suffixes goes."""
    other_parts = [each for each in old.record.parts if each.name != part.name]
    parts = tuple(sorted((*other_parts, part), key=lambda each: each.folder))
    return replace(old, record=replace(old.record, parts=parts))


@dataclass(frozen=True, slots=True)
class _LayerAnnotator:
    """Annotates a batch in whichever process: the layer, its words, whether a segment ends."""

    layer: str
    recipe: Recipe

    @property
    def folder(self) -> str:
        """The name says who made it, so that another tokenizer's part is not taken for it."""
        return f"{self.layer}.{settings_hash(self.recipe.hash)[:8]}"

    def __call__(self, batch: tuple[list[Document], bool]) -> _AnnotatedBatch:
        documents, last = batch
        annotation = self.recipe.annotate(documents)
        layer = {**annotation.trees, **annotation.layers}[self.layer]
        return layer, len(annotation.word.ids), last


def _layer_parts(
    annotator: _LayerAnnotator,
    folders: Sequence[Path],
    segments: Sequence[Segment],
    forms: LayerForms,
    engine: run.Engine,
    advance: Advance,
) -> Iterator[PartRecord]:
    """The new part of each segment, made now or by an interrupted run."""
    layer, name = annotator.layer, annotator.folder
    finished = {folder for folder in folders if _is_whole(folder / name)}
    missing = [s for folder, s in zip(folders, segments) if folder not in finished]
    # One stream over all segments, so that workers start once and never wait for sorting.
    batches = (batch for segment in missing for batch in _batch_documents(segment.documents))
    annotated: Iterator[_AnnotatedBatch] = iter(())
    if missing and layer not in missing[0].columns:
        annotated = engine.map(annotator, batches, doing="annotating")

    def layers_of_segment() -> Iterator[Layer]:
        for new_layer, words_done, last in annotated:
            advance(words_done)
            yield new_layer
            if last:
                return

    for folder, segment in zip(folders, segments):
        if folder in finished:
            advance(segment.tokens)
            yield describe_part(folder / name)
            continue
        target = FolderTarget(folder)
        with _removed_on_error(folder / name):
            if layer in segment.columns:
                part = sort_layer(target, segment, layer, forms, folder=name)
                advance(segment.tokens)
            else:
                part = write_layer(
                    target,
                    segment,
                    layer,
                    layers_of_segment(),
                    forms,
                    has_own_items=layer not in annotator.recipe.annotate([]).layers,
                    folder=name,
                )
        yield part


def _batch_documents(documents: Documents) -> Iterator[tuple[list[Document], bool]]:
    """Documents with about as much text as a shard holds, and whether they are the last."""
    batch: list[Document] = []
    characters = 0
    for i in range(len(documents)):
        text = documents.text(i)
        batch.append(Document(documents.id(i), text))
        characters += len(text)
        last = i == len(documents) - 1
        if last or characters >= _CHARACTERS_AT_ONCE:
            yield batch, last
            batch, characters = [], 0
