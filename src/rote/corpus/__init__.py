"""Files to Documents, as a stream, with errors that name file, line and field.

`open_corpus` takes paths, folders, globs, standard input, lists or dicts of texts;
the Corpus it gives can be read again and again, or shard by shard in other
processes. A file in this folder whose name does not begin with `_` is a reader.
"""

from __future__ import annotations

from rote.corpus._checks import DuplicateIds, Fingerprint, Problems, SeenIds, digest
from rote.corpus._fields import read_option
from rote.corpus._open import (
    Again,
    Corpus,
    Input,
    are_names,
    group_shards,
    map_again,
    map_shards,
    open_corpus,
)
from rote.corpus._paths import is_address, place_of, short_names
from rote.corpus._select import SKIP, conditions, values_held, where_option
from rote.corpus._shard import Batch, Origin, Part, ReadOptions, Shard, hash_id, hash_of
from rote.corpus._streams import COMPRESSIONS, changed_file_error, raw_pieces

__all__ = [
    "COMPRESSIONS",
    "SKIP",
    "Again",
    "Batch",
    "Corpus",
    "DuplicateIds",
    "Fingerprint",
    "Input",
    "Origin",
    "Part",
    "Problems",
    "ReadOptions",
    "SeenIds",
    "Shard",
    "are_names",
    "changed_file_error",
    "conditions",
    "digest",
    "group_shards",
    "hash_id",
    "hash_of",
    "is_address",
    "map_again",
    "map_shards",
    "open_corpus",
    "place_of",
    "raw_pieces",
    "read_option",
    "short_names",
    "values_held",
    "where_option",
]
