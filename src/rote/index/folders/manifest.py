"""The manifest: the one file that says which segments an index holds, and how they were made.

Everything else in the folder is immutable or unimportant. A command that changes an index
writes new parts first and then replaces this file, so that a reader, or a crash, meets either
the old index or the new one.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from rote.annotate import annotators, words
from rote.annotate.pieces import Recipe
from rote.core.annotation import Annotator
from rote.core.errors import InputError, OptionError
from rote.core.files import read_regular
from rote.core.json_reader import JsonObject, parse_json
from rote.index.segments.part import DOCUMENTS, RESTORE, PartRecord, name_in
from rote.index.segments.segment import SegmentRecord

FORMAT = 2
READ = (1, FORMAT)
"""Formats that can be read; the first one knew no form but the plain one."""
PLAIN, COMPACT = "plain", "compact"
MANIFEST = "rote-index.json"
SEGMENTS = "segments"
TOKENIZERS = "tokenizers"
ORIGIN = "origin"

_TOKENIZER = re.compile(rf"{TOKENIZERS}/[0-9a-f]+\.json")


@dataclass(frozen=True, slots=True)
class Subwords:
    """A layer by a tokenizer.json, of which the index keeps a copy."""

    layer: str
    file: str
    signature: str


@dataclass(frozen=True, slots=True)
class Listed:
    """A segment of the index; `origin` is the part that says which documents went in."""

    name: str
    record: SegmentRecord
    origin: PartRecord

    @property
    def parts(self) -> tuple[PartRecord, ...]:
        return (*self.record.parts, self.origin)


@dataclass(frozen=True, slots=True)
class Manifest:
    """An index: who annotated it, which layers it has, its segments in order."""

    generation: int
    annotator: str
    signature: str
    subwords: tuple[Subwords, ...]
    layers: tuple[str, ...]
    sorted_layers: tuple[str, ...]
    author_field: str
    segments: tuple[Listed, ...]
    documents: int
    words: int
    fingerprint: str
    form: str = PLAIN
    """How sorted layers are kept: `compact` ones are smaller and slower."""

    @property
    def is_compact(self) -> bool:
        return self.form == COMPACT

    @property
    def bytes(self) -> int:
        return sum(part.bytes for listed in self.segments for part in listed.parts)

    def parts(self, path: Path) -> list[tuple[Path, PartRecord]]:
        """The folder and the record of every part."""
        return [
            (path / SEGMENTS / listed.name / part.folder, part)
            for listed in self.segments
            for part in listed.parts
        ]


def is_index(path: Path) -> bool:
    # A folder that may not be looked into is none, rather than an error here.
    return os.path.isfile(path / MANIFEST)


def render(manifest: Manifest, version: int = FORMAT) -> str:
    """The manifest as it stands in the file, with a checksum of itself."""
    held: dict[str, Any] = {
        "format": version,
        **({"form": manifest.form} if version > 1 else {}),
        "generation": manifest.generation,
        "annotator": manifest.annotator,
        "signature": manifest.signature,
        "subwords": [[s.layer, s.file, s.signature] for s in manifest.subwords],
        "layers": list(manifest.layers),
        "sorted_layers": list(manifest.sorted_layers),
        "author_field": manifest.author_field,
        "documents": manifest.documents,
        "words": manifest.words,
        "fingerprint": manifest.fingerprint,
        "segments": [
            {
                "name": listed.name,
                "record": listed.record.to_json(),
                "origin": {n: getattr(listed.origin, n) for n in PartRecord.__dataclass_fields__},
            }
            for listed in manifest.segments
        ],
    }
    body = json.dumps(held, indent=1)
    held["checksum"] = blake2b(body.encode(), digest_size=16).hexdigest()
    return json.dumps(held, indent=1) + "\n"


def read_manifest(path: Path) -> Manifest:
    """The manifest of an index folder, checked to the last byte."""
    place = path / MANIFEST
    try:
        data = read_regular(place)
    except (FileNotFoundError, NotADirectoryError):
        raise InputError("this is no index", file=str(path), remedy=_remedy(path)) from None
    except OSError as error:
        problem = f"the manifest cannot be read ({error.strerror})"
        raise InputError(problem, file=str(place), remedy=RESTORE) from None
    held = JsonObject.of(
        parse_json(data, str(place), remedy=RESTORE, strict=True), str(place), remedy=RESTORE
    )
    version = held.get("format")
    if version not in READ:
        known = " and ".join(map(str, READ))
        raise InputError(
            f"the index has format {version}, this version of rote reads {known}",
            file=str(place),
            remedy="Build the index again, or use the version that made it",
        )
    manifest = _parsed(held)
    # Written again it must be the same, to the last byte: so the checksum is checked too.
    if render(manifest, version).encode("utf-8", "surrogatepass") != data:
        raise _damaged(place, "its checksum does not fit")
    return manifest


def _parsed(held: JsonObject) -> Manifest:
    manifest = Manifest(
        generation=held.count("generation"),
        annotator=held.text("annotator"),
        signature=held.text("signature"),
        subwords=_subwords(held),
        layers=held.texts("layers"),
        sorted_layers=held.texts("sorted_layers"),
        author_field=held.text("author_field"),
        segments=tuple(map(_listed, held.objects("segments"))),
        documents=held.count("documents"),
        words=held.count("words"),
        fingerprint=held.text("fingerprint"),
        form=held.text("form") if "form" in held.values else PLAIN,
    )
    if manifest.form not in (PLAIN, COMPACT):
        raise held.error("form", f"is {manifest.form!r}, not {PLAIN!r} or {COMPACT!r}")
    segments = manifest.segments
    held.check_names((each.name for each in segments), "segments", ".name")
    # Documents have one id each, so that no two segments hold the same, by whichever names.
    held.check_once((each.origin.checksum for each in segments), "segments", ".origin.checksum")
    texts = [
        next((part.checksum for part in each.record.parts if part.kind == DOCUMENTS), each.name)
        for each in segments
    ]
    held.check_once(texts, "segments", ".record.parts[documents].checksum")
    for name, total, parts in (
        ("documents", manifest.documents, [each.record.documents for each in segments]),
        ("words", manifest.words, [each.record.tokens for each in segments]),
    ):
        if sum(parts) != total:
            raise held.error(name, f"is {total}, and the segments have {sum(parts)}")
    return manifest


def _subwords(held: JsonObject) -> tuple[Subwords, ...]:
    rows = held.array("subwords")
    for place, row in enumerate(rows):
        if not isinstance(row, list) or [type(each) for each in row] != [str] * 3:
            problem = "is no list of a layer, a file and a signature"
            raise held.error(f"subwords[{place}]", problem)
        # A stranger's manifest must not lead out of the folder.
        if not _TOKENIZER.fullmatch(row[1]):
            raise held.error(f"subwords[{place}]", f"{row[1]!r} is no name of a tokenizer's file")
    for number in (0, 1):
        held.check_once((row[number] for row in rows), "subwords", f"[{number}]")
    return tuple(Subwords(*row) for row in rows)


def _listed(held: JsonObject) -> Listed:
    record, origin = held.object("record"), held.object("origin")
    if (folder := origin.text("folder")) != ORIGIN:
        raise origin.error("folder", f"is {folder!r}, not {ORIGIN!r}")
    listed = SegmentRecord.from_json(record)
    if ORIGIN in (part.folder for part in listed.parts):
        raise record.error("parts", f"one of them has the folder {ORIGIN!r}")
    return Listed(name_in(held, "name"), listed, PartRecord.from_json(origin))


def annotator_of(path: Path, manifest: Manifest, asked: str | None = None) -> Annotator:
    """Who annotated an index; refuses if that is not here. The user may ask for it by a name of
    their own, which then need not be that of an installed one."""
    if asked is not None:
        annotator = annotators.get(asked)
    else:
        annotator = annotators.get_recorded(manifest.annotator, path / MANIFEST)
    # Layers that were made by another tokenizer or tagger do not compare.
    if annotator.signature != manifest.signature:
        raise OptionError(
            f"the index {path} was made by {manifest.signature}, and '{annotator.name}' is "
            f"{annotator.signature} here: their layers do not compare. Use the version that made "
            "the index, or build the index again"
        )
    return annotator


def recipe_of(path: Path, manifest: Manifest, asked: str | None = None) -> Recipe:
    """What annotates a text exactly as the index was annotated."""
    annotator = annotator_of(path, manifest, asked)
    for each in manifest.subwords:
        if words.get(str(path / each.file)).signature != each.signature:
            raise _damaged(path / each.file, f"it was {each.signature} when the index was made")
    own = {each.layer for each in manifest.subwords}
    return Recipe(
        annotator=annotator.name,
        signature=" ".join((manifest.signature, *(s.signature for s in manifest.subwords))),
        layers=tuple(name for name in manifest.layers if name not in own and name != "word"),
        subwords=tuple((each.layer, str(path / each.file)) for each in manifest.subwords),
    )


def _damaged(place: Path, why: str) -> InputError:
    return InputError(f"the file is damaged ({why})", file=str(place), remedy=RESTORE)


def _remedy(path: Path) -> str:
    if (path / SEGMENTS).is_dir():
        return "Building it was interrupted: run the same `rote index build` again, it goes on"
    return "Make one with `rote index build`"
