"""Removing and replacing documents: the segments that hold them are written again without them.

Every answer is a range of sorted places, so a document that is only masked would cost each
query a look at each place. Written again from its own columns, without annotating anything, a
segment answers as if the document had never been there. As with every other command the
manifest comes last: whoever opens the index meets all of the documents or none of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rote import run
from rote.annotate.pieces import checked, read_piece
from rote.annotate.store import Store
from rote.core.document import Document
from rote.core.errors import OptionError
from rote.core.progress import Reporter, Silent, several
from rote.corpus import Problems
from rote.index.folders.build import Means, Written, check_source, joined, new_segments
from rote.index.folders.folder import map_segments
from rote.index.folders.manifest import SEGMENTS, Manifest, read_manifest
from rote.index.folders.options import BuildOptions, most_places
from rote.index.folders.origin import Origin, key_of, sealed_segment, write_origin
from rote.index.folders.sealing import Sealed
from rote.index.folders.source import Source
from rote.index.folders.writing import documents, origins, publish, sealing, tidy, unlisted, writing
from rote.index.segments.documents import Documents
from rote.index.segments.rest import rest_of
from rote.index.segments.segment import WORD
from rote.index.segments.write import write_pieces

Missing = Literal["stop", "skip"]
_NAMED = 5


def remove_documents(
    path: Path,
    ids: Iterable[str],
    *,
    missing: Missing = "stop",
    threads: int = 1,
    reporter: Reporter | None = None,
) -> Written:
    """Remove documents by their ids; ids that the index does not hold stop it, or are skipped."""
    reporter = reporter or Silent()
    wanted = list(dict.fromkeys(ids))
    if isinstance(ids, str) or not wanted:
        raise OptionError("name the documents that are to be removed, by a list of their ids")
    run.check_jobs(threads)
    read_manifest(path)
    with writing(path, "rote index remove"):
        manifest = read_manifest(path)
        found = _places(documents(path, manifest.segments), wanted)
        held = {identity for numbers in found for identity in numbers}
        unknown = [identity for identity in wanted if identity not in held]
        if unknown and missing == "stop":
            raise OptionError(
                f"{path} holds no {_named(unknown)}: nothing was removed. "
                "--missing skip removes the others"
            )
        if unknown:
            reporter.say(f"{path} holds no {_named(unknown)}")
        if not held:
            reporter.say(f"{path} holds none of these documents: nothing to remove")
            tidy(path, manifest)
            return Written(manifest, 0, Problems(), 0)
        left = _without(path, manifest, found, threads, reporter)
        new = joined(manifest, left)
        publish(path, new)
        return Written(new, 0, Problems(), len(held))


def replace_documents(
    path: Path,
    source: Source,
    *,
    memory: int = BuildOptions().memory,
    jobs: int = 1,
    engine: str | run.Engine | None = None,
    reporter: Reporter | None = None,
) -> Written:
    """Put the documents of the input in place of those with their ids; others are added."""
    reporter = reporter or Silent()
    means = Means(most_places(memory), jobs, run.get(engine, jobs), reporter)
    read_manifest(path)
    with writing(path, "rote index replace"):
        manifest = read_manifest(path)
        check_source(source, path, manifest)
        held = documents(path, manifest.segments)
        given, same = [], True
        for document in _read(source):
            given.append(document.id)
            same = same and any(each.holds(document) for each in held)
        if same:
            reporter.say(f"{path} holds all of this as it is: nothing to replace")
            tidy(path, manifest)
            return Written(manifest, 0, Problems(), 0)
        found = _places(held, given)
        left = _without(path, manifest, found, jobs, reporter)
        made, problems = new_segments(source, path, manifest, left, means)
        new = joined(manifest, [*left, *made])
        publish(path, new)
        added = sum(origin.documents for _, origin in made)
        return Written(new, added, problems, sum(map(len, found)))


def _places(held: Sequence[Documents], ids: Iterable[str]) -> list[dict[str, int]]:
    """For each segment the numbers of those documents that it holds."""
    wanted = list(dict.fromkeys(ids))
    found = []
    for each in held:
        numbers = {identity: each.find(identity) for identity in wanted}
        found.append({identity: n for identity, n in numbers.items() if n is not None})
    return found


def _without(
    path: Path,
    manifest: Manifest,
    found: Sequence[dict[str, int]],
    threads: int,
    reporter: Reporter,
) -> list[Sealed]:
    """The segments of an index without these documents; one that holds no other is left out."""
    sealed = unlisted(path, manifest)
    held = list(zip(manifest.segments, origins(path, manifest.segments)))
    touched = sum(each.record.tokens for (each, _), gone in zip(held, found) if gone)
    left: list[Sealed] = []
    with reporter.stage("writing segments again", touched, unit="words") as advance:
        for (listed, origin), gone in zip(held, found):
            if not gone:
                left.append((listed, origin))
                continue
            if len(gone) < listed.record.documents:
                numbers = sorted(gone.values())
                one = replace(manifest, segments=(listed,))
                left.append(_rewritten(path, one, origin, numbers, sealed, threads))
            advance(listed.record.tokens)
    return left


def _rewritten(
    path: Path,
    manifest: Manifest,
    origin: Origin,
    gone: Sequence[int],
    sealed: dict[str, Sealed],
    threads: int,
) -> Sealed:
    """The one segment of this manifest without some of its documents."""
    (listed,) = manifest.segments
    checksums = [part.checksum for part in listed.parts]
    name = key_of("without", manifest.sorted_layers, *checksums, *gone)
    if name in sealed:
        return sealed[name]
    # Never copy damage into a segment with fresh checksums.
    (segment,) = map_segments(path, manifest, Silent())
    keep: NDArray[np.bool_] = np.ones(len(segment.documents), np.bool_)
    keep[list(gone)] = False
    with sealing(path) as written:
        target, written.name = written.target, name
        record = write_pieces(
            target,
            rest_of(segment, keep),
            sorted(segment.columns, key=lambda layer: layer != WORD),
            manifest.sorted_layers,
            author_field=manifest.author_field,
            threads=threads,
            compact=manifest.is_compact,
        )
        streams = (np.diff(frame.document_ends, prepend=-1) for frame in segment.frames.values())
        longest = max(int(lengths[keep].sum()) for lengths in streams)
        # The pieces that it was built from are not what it holds any more.
        rest = Origin(name, (), record.tokens, longest, origin.digests[keep])
        write_origin(target, rest)
    return sealed_segment(path / SEGMENTS / name)


def _read(source: Source) -> Iterator[Document]:
    """The documents of the input, read here: what is replaced is far less than what is built."""
    if isinstance(source, Store):
        for file in source.files:
            yield from read_piece(source.path / file, derived=())[0].documents
        return
    for _, batch in checked(source, Problems()):
        yield from batch.documents


def _named(ids: Sequence[str]) -> str:
    shown = ", ".join(f"'{identity}'" for identity in ids[:_NAMED])
    more = f" and {len(ids) - _NAMED:,} more" if len(ids) > _NAMED else ""
    return (
        f"document with the id {shown}{more}"
        if len(ids) == 1
        else (f"{several(len(ids), 'document')} of those named: {shown}{more}")
    )
