"""Files to Documents, as a stream, with errors that name file, line and field.

`open_corpus` takes paths, folders, globs, standard input, lists or dicts of texts;
the Corpus it gives can be read again and again, or shard by shard in other
processes. A file in this folder whose name does not begin with `_` is a reader.
"""

from __future__ import annotations

from rote.corpus._checks import DuplicateIds, Fingerprint, Problems, SeenIds, digest, hash_id
from rote.corpus._open import Corpus, Input, open_corpus
from rote.corpus._shard import Batch, ReadOptions, Shard

__all__ = [
    "Batch",
    "Corpus",
    "DuplicateIds",
    "Fingerprint",
    "Input",
    "Problems",
    "ReadOptions",
    "SeenIds",
    "Shard",
    "digest",
    "hash_id",
    "open_corpus",
]
