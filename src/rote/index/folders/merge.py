"""Merging: neighbouring segments of an index become one, as few as memory allows.

Every query asks every segment, so fewer are faster. Readers that have the old segments open go
on with them; a merge that was killed goes on with the merged segments that it had sealed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rote.core.progress import Reporter, Silent
from rote.index.folders.folder import map_segments
from rote.index.folders.manifest import SEGMENTS, Listed, Manifest, read_manifest
from rote.index.folders.options import BuildOptions, most_places
from rote.index.folders.origin import Origin, joined, key_of, sealed_segment, write_origin
from rote.index.folders.writing import origins, publish, sealing, tidy, unlisted, writing
from rote.index.segments.merge import merge_segments
from rote.index.segments.part import stream_length
from rote.run import check_jobs

Held = tuple[Listed, Origin]


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
    limit = most_places(memory)
    read_manifest(path)
    with writing(path, "rote index merge"):
        manifest = read_manifest(path)
        held = list(zip(manifest.segments, origins(path, manifest.segments)))
        groups = _groups(held, [_places(path, each) for each in held], limit)
        if len(groups) == len(manifest.segments):
            reporter.say(
                f"{path} has {len(groups):,} segments, none of which can be joined"
                if len(groups) > 1
                else f"{path} has no two segments: nothing to join"
            )
            tidy(path, manifest)
            return manifest
        found = unlisted(path, manifest)
        segments = []
        with reporter.stage("merging segments", manifest.words, unit="words") as advance:
            for group in groups:
                segments.append(_merged(path, manifest, group, found, threads))
                advance(segments[-1].record.tokens)
        new = replace(manifest, generation=manifest.generation + 1, segments=tuple(segments))
        publish(path, new)
        return new


def _places(path: Path, held: Held) -> int:
    """The longest row of numbers of a segment; a layer added later may exceed all others."""
    listed, origin = held
    folder = path / SEGMENTS / listed.name
    parts = listed.record.parts
    return max(origin.places, *(stream_length(folder / part.folder, part) for part in parts))


def _groups(held: Sequence[Held], lengths: Sequence[int], limit: int) -> list[list[Held]]:
    """Runs of neighbours that fit together; one that is too large already stays by itself."""
    groups: list[list[Held]] = []
    places = 0
    for each, length in zip(held, lengths):
        if groups and places + length <= limit:
            groups[-1].append(each)
            places += length
        else:
            groups.append([each])
            places = length
    return groups


def _merged(
    path: Path, manifest: Manifest, group: list[Held], found: dict[str, Held], threads: int
) -> Listed:
    if len(group) == 1:
        return group[0][0]
    # Layers added since are part of what the segments hold, so they are part of the name.
    checksums = [part.checksum for listed, _ in group for part in listed.parts]
    name = key_of("merge", manifest.sorted_layers, *checksums)
    if name in found:
        return found[name][0]
    # Never copy damage into a segment with fresh checksums.
    held = replace(manifest, segments=tuple(listed for listed, _ in group))
    segments = map_segments(path, held, Silent())
    with sealing(path) as written:
        target, written.name = written.target, name
        merge_segments(
            target,
            segments,
            sorted_layers=manifest.sorted_layers,
            threads=threads,
            compact=manifest.is_compact,
        )
        write_origin(target, joined([origin for _, origin in group], name))
    return sealed_segment(path / SEGMENTS / name)[0]
