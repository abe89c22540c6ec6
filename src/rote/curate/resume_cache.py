"""What the reading of a corpus found, kept shard by shard, for a run that goes on after a kill.

A file for each shard, named by the part of the corpus that it is of (its name, size and date) and
by its place there; numbers and JSON, no code.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from rote.annotate.folded_words import FoldedWords
from rote.core.document import Document
from rote.core.errors import InputError
from rote.core.files import open_regular, write_atomically
from rote.core.json_reader import parse_json
from rote.core.layer import Layer
from rote.corpus import Batch, Corpus, Part, Shard
from rote.curate.corpus_reader import ShardTokenizer, TokenizedShard

_DIGEST = 16


def part_identity(part: Part) -> list[Any]:
    """What tells an input from another, or from itself after a change, without reading it."""
    if isinstance(part.where, tuple):
        return [part.origin.file, [part_identity(member) for member in part.where]]
    place = part.where if isinstance(part.where, Path) else None
    changed = place.stat().st_mtime_ns if place else repr(part.where)
    return [part.origin.file, part.size, changed]


@dataclass(frozen=True, slots=True)
class StoredShard:
    """Where the piece of a shard is."""

    path: str
    part: int

    def load(self) -> TokenizedShard:
        try:
            with open_regular(self.path) as file, np.load(file, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
            return self._piece(arrays, parse_json(arrays.pop("header").tobytes()))
        except (
            InputError,
            BadZipFile,
            ValueError,
            TypeError,
            KeyError,
            OSError,
            EOFError,
        ) as error:
            problem = f"what an interrupted run has kept is damaged ({error})"
            raise InputError(
                problem, file=self.path, remedy="Remove the file, and run the command again"
            ) from None

    def _piece(self, arrays: dict[str, Any], header: dict[str, Any]) -> TokenizedShard:
        problems = [InputError(problem, **place) for problem, place in header["problems"]]
        lines = arrays["lines"].tolist()
        nothing, digests = np.empty(0, np.int32), arrays["digests"].tobytes()
        return TokenizedShard(
            batch=Batch(
                [Document("", "")] * len(lines), header["file"], header["label"], lines, problems
            ),
            size=header["size"],
            layer=Layer(
                header["layer"],
                arrays["ids"],
                tuple(header["vocabulary"]),
                nothing,
                nothing,
                arrays["text_ends"],
                arrays.get("sentence_ends"),
            ),
            counts=arrays["counts"],
            digests=[digests[i : i + _DIGEST] for i in range(0, len(digests), _DIGEST)],
            beside=header["beside"],
            part=self.part,
            folded=FoldedWords(
                arrays["folded_ids"],
                tuple(header["folded"]),
                arrays["folded_ends"],
                np.empty(0, np.int64),
            )
            if "folded_ids" in arrays
            else None,
        )


@dataclass(frozen=True, slots=True)
class ShardCache:
    """Reads a shard unless its piece is there, and says where it is; ids are not kept."""

    work: ShardTokenizer
    folder: str
    parts: Sequence[str]

    @classmethod
    def of(cls, work: ShardTokenizer, corpus: Corpus, folder: Path) -> ShardCache:
        folder.mkdir(exist_ok=True)
        how = repr(work) + repr(corpus.options)
        names = [json.dumps([how, part_identity(part)]).encode() for part in corpus.parts]
        return cls(work, str(folder), [blake2b(n, digest_size=12).hexdigest() for n in names])

    def __call__(self, shard: Shard) -> StoredShard:
        path = Path(self.folder) / f"{self.parts[shard.part]}-{shard.place}.npz"
        if not path.exists():
            write_atomically(path, _pack_shard(self.work(shard)))
        return StoredShard(str(path), shard.part)


def _pack_shard(piece: TokenizedShard) -> bytes:
    batch, layer = piece.batch, piece.layer
    header = {
        "file": batch.file,
        "label": batch.label,
        "size": piece.size,
        "layer": layer.name,
        "vocabulary": layer.vocabulary,
        "beside": piece.beside,
        "folded": piece.folded.vocabulary if piece.folded is not None else None,
        "problems": [
            (p.problem, {"file": p.file, "line": p.line, "field": p.field, "remedy": p.remedy})
            for p in batch.problems
        ],
    }
    arrays: dict[str, Any] = {
        "header": np.frombuffer(json.dumps(header, default=str).encode(), np.uint8),
        "ids": layer.ids,
        "text_ends": layer.text_ends,
        "counts": piece.counts,
        "lines": np.array(batch.lines, np.int64),
        "digests": np.frombuffer(b"".join(piece.digests), np.uint8),
    }
    if layer.sentence_ends is not None:
        arrays["sentence_ends"] = layer.sentence_ends
    if piece.folded is not None:
        arrays["folded_ids"] = piece.folded.ids
        arrays["folded_ends"] = piece.folded.text_ends
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()
