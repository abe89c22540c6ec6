"""The manifest: the one file that says which segments an index has, and how they were made.

Everything else in the folder is immutable or unimportant. A command that changes an index
writes new parts first and then replaces this file, so that a reader, or a crash, meets either
the old index or the new one.

Which documents went into a segment is its *provenance*, the part `origin`, which only writers read.
It lets a command that was interrupted, or is run twice, recognize what is done already, and gives
the fingerprint of all documents without reading a text.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.annotate import annotators, embeddings, words
from rote.annotate.embeddings import Embedder
from rote.annotate.pieces import Recipe
from rote.core.document import Annotator, Document
from rote.core.errors import InputError, OptionError
from rote.core.files import read_regular
from rote.core.json_reader import JsonObject
from rote.corpus import Fingerprint, digest
from rote.index.segments.part import (
    DOCUMENTS,
    RESTORE,
    PartRecord,
    Target,
    describe_part,
    open_part,
    parse_description,
    read_name,
)
from rote.index.segments.segment import LayerForms, SegmentRecord

FORMAT = 3
READABLE = (1, 2, FORMAT)
"""Formats that can be read; the first knew no form but the plain one, the second no meanings."""
PLAIN, COMPACT = "plain", "compact"
MANIFEST = "rote-index.json"
SEGMENTS = "segments"
TOKENIZERS = "tokenizers"
PROVENANCE = "origin"

_TOKENIZER = re.compile(rf"{TOKENIZERS}/[0-9a-f]+\.json")


@dataclass(frozen=True, slots=True)
class Subwords:
    """A layer by a tokenizer.json, of which the index keeps a copy."""

    layer: str
    file: str
    signature: str


@dataclass(frozen=True, slots=True)
class EmbedderRecord:
    """Who made the vectors of the sentences."""

    name: str
    signature: str
    dimensions: int


@dataclass(frozen=True, slots=True)
class ListedSegment:
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
    segments: tuple[ListedSegment, ...]
    documents: int
    words: int
    fingerprint: str
    form: str = PLAIN
    """How sorted layers are kept: `compact` ones are smaller and slower."""
    meanings: EmbedderRecord | None = None

    @property
    def version(self) -> int:
        """The oldest format that can say all of this: older versions of rote read it."""
        return 2 if self.meanings is None else FORMAT

    @property
    def is_compact(self) -> bool:
        return self.form == COMPACT

    def forms(self, threads: int) -> LayerForms:
        return LayerForms(self.sorted_layers, self.is_compact, threads)

    @property
    def bytes(self) -> int:
        return sum(part.bytes for listed in self.segments for part in listed.parts)

    def parts(self, path: Path) -> list[tuple[Path, PartRecord]]:
        return [
            (path / SEGMENTS / listed.name / part.folder, part)
            for listed in self.segments
            for part in listed.parts
        ]


def is_index(path: Path) -> bool:
    # A folder that may not be looked into is none, rather than an error here.
    return os.path.isfile(path / MANIFEST)


def render_manifest(manifest: Manifest, version: int | None = None) -> str:
    """The manifest as it stands in the file, with a checksum of itself."""
    version = manifest.version if version is None else version
    meanings = manifest.meanings
    fields: dict[str, Any] = {
        "format": version,
        **({"form": manifest.form} if version > 1 else {}),
        **({"meanings": asdict(meanings)} if version > 2 and meanings else {}),
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
                "record": asdict(listed.record),
                "origin": asdict(listed.origin),
            }
            for listed in manifest.segments
        ],
    }
    body = json.dumps(fields, indent=1)
    fields["checksum"] = blake2b(body.encode(), digest_size=16).hexdigest()
    return json.dumps(fields, indent=1) + "\n"


def read_manifest(path: Path) -> Manifest:
    """The manifest of an index folder, checked to the last byte."""
    place = path / MANIFEST
    try:
        data = read_regular(place)
    except (FileNotFoundError, NotADirectoryError):
        remedy = "Build one with `rote index build`"
        if (path / SEGMENTS).is_dir():
            remedy = "The build was interrupted: run the same `rote index build` again to continue"
        raise InputError("this is no index", file=str(path), remedy=remedy) from None
    except OSError as error:
        problem = f"the manifest cannot be read ({error.strerror})"
        raise InputError(problem, file=str(place), remedy=RESTORE) from None
    json_object = parse_description(data, place, "the index", READABLE)
    manifest = _parse_manifest(json_object)
    # Written again it must be the same, to the last byte: so the checksum is checked too.
    again = render_manifest(manifest, json_object.get("format"))
    if again.encode("utf-8", "surrogatepass") != data:
        raise _damage_error(place, "its checksum does not fit")
    return manifest


def _parse_manifest(json_object: JsonObject) -> Manifest:
    meanings = None
    if "meanings" in json_object.values:
        about = json_object.object("meanings")
        meanings = EmbedderRecord(
            about.text("name"), about.text("signature"), about.count("dimensions")
        )
    manifest = Manifest(
        generation=json_object.count("generation"),
        annotator=json_object.text("annotator"),
        signature=json_object.text("signature"),
        subwords=_parse_subwords(json_object),
        layers=json_object.texts("layers"),
        sorted_layers=json_object.texts("sorted_layers"),
        author_field=json_object.text("author_field"),
        segments=tuple(map(_parse_segment, json_object.objects("segments"))),
        documents=json_object.count("documents"),
        words=json_object.count("words"),
        fingerprint=json_object.text("fingerprint"),
        form=json_object.text("form") if "form" in json_object.values else PLAIN,
        meanings=meanings,
    )
    if manifest.form not in (PLAIN, COMPACT):
        raise json_object.error("form", f"is {manifest.form!r}, not {PLAIN!r} or {COMPACT!r}")
    segments = manifest.segments
    json_object.check_names((each.name for each in segments), "segments", ".name")
    # Documents have one id each, so that no two segments hold the same, by whichever names.
    json_object.check_once(
        (each.origin.checksum for each in segments), "segments", ".origin.checksum"
    )
    texts = [
        next((part.checksum for part in each.record.parts if part.kind == DOCUMENTS), each.name)
        for each in segments
    ]
    json_object.check_once(texts, "segments", ".record.parts[documents].checksum")
    for name, total, parts in (
        ("documents", manifest.documents, [each.record.documents for each in segments]),
        ("words", manifest.words, [each.record.tokens for each in segments]),
    ):
        if sum(parts) != total:
            raise json_object.error(name, f"is {total}, and the segments have {sum(parts)}")
    return manifest


def _parse_subwords(json_object: JsonObject) -> tuple[Subwords, ...]:
    rows = json_object.array("subwords")
    for place, row in enumerate(rows):
        if not isinstance(row, list) or [type(each) for each in row] != [str] * 3:
            problem = "is no list of a layer, a file and a signature"
            raise json_object.error(f"subwords[{place}]", problem)
        # A stranger's manifest must not lead out of the folder.
        if not _TOKENIZER.fullmatch(row[1]):
            raise json_object.error(
                f"subwords[{place}]", f"{row[1]!r} is no name of a tokenizer's file"
            )
    for number in (0, 1):
        json_object.check_once((row[number] for row in rows), "subwords", f"[{number}]")
    return tuple(Subwords(*row) for row in rows)


def _parse_segment(json_object: JsonObject) -> ListedSegment:
    record, origin = json_object.object("record"), json_object.object("origin")
    if (folder := origin.text("folder")) != PROVENANCE:
        raise origin.error("folder", f"is {folder!r}, not {PROVENANCE!r}")
    listed = SegmentRecord.from_json(record)
    if PROVENANCE in (part.folder for part in listed.parts):
        raise record.error("parts", f"one of them has the folder {PROVENANCE!r}")
    return ListedSegment(read_name(json_object, "name"), listed, PartRecord.from_json(origin))


def annotator_of(path: Path, manifest: Manifest, annotator_name: str | None = None) -> Annotator:
    """Who annotated an index; refuses if that is not here. The user may ask for it by a name of
    their own, which then need not be that of an installed one."""
    if annotator_name is not None:
        annotator = annotators.get(annotator_name)
    else:
        annotator = annotators.get_recorded(manifest.annotator, path / MANIFEST)
    # Layers that were made by another tokenizer or tagger do not compare.
    if annotator.signature != manifest.signature:
        raise OptionError(
            f"the index {path} was built with {manifest.signature}, and '{annotator.name}' is "
            f"{annotator.signature} here: their layers are not comparable. Use the version that "
            "built the index, or build the index again"
        )
    return annotator


def embedder_of(where: object, meanings: EmbedderRecord) -> Embedder:
    """Who made the vectors of an index; refuses if that is not here."""
    embedder = embeddings.get(meanings.name)
    embedder.check()
    if embedder.signature != meanings.signature:
        raise OptionError(
            f"the meanings of {where} were computed by {meanings.signature}, and '{meanings.name}' "
            f"is {embedder.signature} here: their vectors are not comparable. Use the version that "
            "computed them, or build the index again"
        )
    return embedder


def record_embedder(name: str) -> EmbedderRecord:
    embedder = embeddings.get(name)
    embedder.check()
    return EmbedderRecord(embedder.name, embedder.signature, embedder.dimensions)


def recipe_of(path: Path, manifest: Manifest, annotator_name: str | None = None) -> Recipe:
    """What annotates a text exactly as the index was annotated."""
    annotator = annotator_of(path, manifest, annotator_name)
    for each in manifest.subwords:
        if words.get(str(path / each.file)).signature != each.signature:
            raise _damage_error(
                path / each.file, f"it was {each.signature} when the index was built"
            )
    subword_layers = {each.layer for each in manifest.subwords}
    return Recipe(
        annotator=annotator.name,
        signature=" ".join((manifest.signature, *(s.signature for s in manifest.subwords))),
        layers=tuple(
            name for name in manifest.layers if name not in subword_layers and name != "word"
        ),
        subwords=tuple((each.layer, str(path / each.file)) for each in manifest.subwords),
    )


def _damage_error(place: Path, why: str) -> InputError:
    return InputError(f"the file is damaged ({why})", file=str(place), remedy=RESTORE)


_DIGEST_BYTES, _CONTENT_BYTES, _KEY_BYTES = 16, 12, 16


@dataclass(frozen=True, slots=True)
class Provenance:
    """The pieces of a segment by their content, and its documents by their hashes.

    `key` stands for the settings that the segment was made with; `places` is the length of its
    longest stream; `digests` holds one row for each document in order.
    """

    key: str
    contents: tuple[str, ...]
    words: int
    places: int
    digests: NDArray[np.uint8]

    @property
    def documents(self) -> int:
        return len(self.digests)


def document_digests(documents: Iterable[Document]) -> NDArray[np.uint8]:
    return np.frombuffer(b"".join(map(digest, documents)), np.uint8).reshape(-1, _DIGEST_BYTES)


def join_provenances(origins: Sequence[Provenance], key: str) -> Provenance:
    return Provenance(
        key=key,
        contents=tuple(content for origin in origins for content in origin.contents),
        words=sum(origin.words for origin in origins),
        places=sum(origin.places for origin in origins),
        digests=np.concatenate([origin.digests for origin in origins]),
    )


def write_provenance(target: Target, origin: Provenance) -> PartRecord:
    """Write the part; the last one of a segment."""
    part = target.part(PROVENANCE, PROVENANCE, DOCUMENTS)
    part.column("key", "uint8")(_hex_bytes(origin.key))
    part.column("contents", "uint8")(_hex_bytes("".join(origin.contents)))
    part.column("size", "int64")(np.array([origin.words, origin.places], np.int64))
    part.column("digests", "uint8")(origin.digests.reshape(-1))
    return part.seal()


def read_provenance(folder: Path, expected: str | None = None) -> Provenance:
    part = open_part(folder / PROVENANCE, expected)
    try:
        words, places = part["size"].tolist()
        contents = part["contents"].reshape(-1, _CONTENT_BYTES)
        digests = part["digests"].reshape(-1, _DIGEST_BYTES)
    except ValueError as error:
        problem = f"its document records are invalid ({error})"
        raise InputError(problem, file=str(folder / PROVENANCE), remedy=RESTORE) from None
    return Provenance(
        key=part["key"].tobytes().hex(),
        contents=tuple(row.tobytes().hex() for row in contents),
        words=words,
        places=places,
        digests=digests,
    )


def read_sealed_segment(folder: Path) -> tuple[ListedSegment, Provenance]:
    """A whole segment as a manifest lists it; the same whether it was made now or found."""
    origin = read_provenance(folder)
    places = (place for place in folder.iterdir() if place.is_dir())
    parts = sorted(place.name for place in places if place.name != PROVENANCE)
    record = SegmentRecord(
        documents=origin.documents,
        tokens=origin.words,
        places=origin.words + origin.documents,
        parts=tuple(describe_part(folder / name) for name in parts),
    )
    return ListedSegment(folder.name, record, describe_part(folder / PROVENANCE)), origin


def settings_hash(*settings: object) -> str:
    """One short name for everything that changes a segment beside its documents."""
    return blake2b(repr(settings).encode(), digest_size=_KEY_BYTES).hexdigest()


def _hex_bytes(text: str) -> NDArray[np.uint8]:
    return np.frombuffer(bytes.fromhex(text), np.uint8)


def read_provenances(path: Path, segments: Sequence[ListedSegment]) -> list[Provenance]:
    return [
        read_provenance(path / SEGMENTS / listed.name, listed.origin.checksum)
        for listed in segments
    ]


def fingerprint_of(provenances: Sequence[Provenance]) -> str:
    """That of all documents in order, as a corpus of them would have it."""
    fingerprint = Fingerprint()
    for origin in provenances:
        fingerprint.add(row.tobytes() for row in origin.digests)
    return fingerprint.hexdigest()
