"""Raw text for training: the novels as one word layer with sentence ends.

The words are those of the package's own tokenizer, so that what is counted here is
what the models meet at run time.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import zstandard

from rote.annotate import sentences, words
from rote.core.layer import Layer, concatenate

NOVELS = Path("novels_en/all-novels.jsonl.zst")
_BATCH = 1000


def novels(data: Path) -> Layer:
    """Every passage of the novels, in the order of the file."""
    return concatenate([_words(batch) for batch in _batches(data / NOVELS)])


def _words(texts: list[str]) -> Layer:
    return sentences.split(texts, words.get("ud")(texts))


def _batches(path: Path) -> Iterator[list[str]]:
    batch: list[str] = []
    with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as plain:
        for line in io.TextIOWrapper(plain, encoding="utf-8"):
            batch.append(json.loads(line)["text"])
            if len(batch) == _BATCH:
                yield batch
                batch = []
    if batch:
        yield batch
