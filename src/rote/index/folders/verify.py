"""Verifying an index: every byte of every file read and compared, every problem named.

Opening checks what it has not seen before; this checks everything again, whatever the stamps
of the files say.
"""

from __future__ import annotations

import os
from pathlib import Path

from rote.annotate import words
from rote.core.errors import InputError, RoteError
from rote.core.progress import Reporter, Silent
from rote.index.folders.folder import map_segments
from rote.index.folders.manifest import SEGMENTS, Manifest, read_manifest
from rote.index.folders.writing import fingerprint, origins
from rote.index.segments.part import check_part


def verify_index(path: Path, reporter: Reporter | None = None) -> list[str]:
    """One line for each problem; none when the index is whole."""
    reporter = reporter or Silent()
    try:
        manifest = read_manifest(path)
    except InputError as error:
        return [_line(error)]
    problems: list[str] = []
    with reporter.stage("verifying", manifest.bytes, unit="B") as advance:
        for folder, part in manifest.parts(path):
            problems += check_part(folder, part.checksum, advance)
    for each in manifest.subwords:
        problems += _tokenizer_problem(path / each.file, each.signature)
    # What the files hold is only worth comparing when they are as they were written.
    return problems or _disagreements(path, manifest)


def _tokenizer_problem(place: Path, signature: str) -> list[str]:
    if not os.path.isfile(place):
        return [f"{place}: the tokenizer's file is missing"]
    try:
        if words.get(str(place)).signature == signature:
            return []
    except OSError as error:
        return [f"{place}: a file of the index cannot be read ({error.strerror})"]
    return [f"{place}: the content has changed since it was written"]


def _disagreements(path: Path, manifest: Manifest) -> list[str]:
    """Where files that are whole do not fit each other, or the manifest."""
    try:
        segments = map_segments(path, manifest, Silent(), everything=True)
        held = origins(path, manifest.segments)
    except RoteError as error:
        return [_line(error)]
    problems = []
    for listed, segment, origin in zip(manifest.segments, segments, held):
        place = path / SEGMENTS / listed.name
        if segment.columns.keys() != set(manifest.layers):
            problems.append(f"{place}: its layers are not those of the index")
            continue
        unsorted = [n for n in manifest.sorted_layers if segment.columns[n].suffixes is None]
        problems += [f"{place}: the layer {name} is not sorted" for name in unsorted]
        sizes = {
            (listed.record.documents, listed.record.tokens),
            (len(segment.documents), segment.tokens),
            (origin.documents, origin.words),
        }
        if len(sizes) > 1:
            problems.append(f"{place}: its documents and words are not as many as listed")
    totals = (sum(o.documents for o in held), sum(o.words for o in held), fingerprint(held))
    if totals != (manifest.documents, manifest.words, manifest.fingerprint):
        problems.append(f"{path}: the segments do not add up to what the manifest says")
    return problems


def _line(error: RoteError) -> str:
    if isinstance(error, InputError):
        return error.diagnosis
    return str(error)
