"""Two public-domain Bible translations from PyPI, by chapter: bible:kjv and bible:asv."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from itertools import groupby
from typing import Any

from rote.core.document import Document
from rote.core.errors import UnknownName, import_extra
from rote.corpus._shard import Fields, Numbered, Origin, Part, ReadOptions, Shard

SUFFIXES = ()
VERSIONS = ("kjv", "asv")
_LAST_OLD = 39  # Malachi is the 39th of 66 books


def named(rest: str) -> Part:
    if rest not in VERSIONS:
        raise UnknownName("Bible translation", rest, VERSIONS)
    size = len(_load(rest).scripture_content)
    return Part("bible", rest, Origin(f"bible:{rest}", rest, rest), size)


def inspect(part: Part, options: ReadOptions) -> Fields:
    return Fields()


def shards(part: Part, fields: Fields, options: ReadOptions) -> Iterator[Shard]:
    """One shard per book."""
    bible = _load(part.where)
    first = begin = 0
    for book, ids in _verses(part.where).items():
        end = bible.verse_end_indices[ids[-1]] if book < 66 else part.size
        records = partial(_chapters, part.where, book, first + 1)
        yield Shard(part.origin, fields, options, end - begin, records)
        first += ids[-1] // 1000 % 1000
        begin = end


def _chapters(version: str, book: int, first: int) -> Iterator[Numbered]:
    """The chapters of a book, numbered through the whole Bible from `first` on."""
    bible = _load(version)
    title = next(str(entry.title) for entry in bible.short_titles if entry.value == book)
    content, ends = bible.scripture_content, bible.verse_end_indices
    texts: dict[int, list[str]] = {}
    for verse in _verses(version)[book]:
        text = content[bible.verse_start_indices[verse] : ends[verse]]
        texts.setdefault(verse // 1000 % 1000, []).append(text)
    for number, (chapter, verses) in enumerate(texts.items(), first):
        name = f"{title} {chapter}"
        meta = {
            "source": version,
            "doc_id": name,
            "book": title,
            "chapter": chapter,
            "testament": "old" if book <= _LAST_OLD else "new",
        }
        yield number, Document(f"{name} ({version.upper()})", _plain(verses), meta)


@cache
def _verses(version: str) -> dict[int, list[int]]:
    """The verses of each book, by their numbers."""
    starts = _load(version).verse_start_indices
    return {
        book: list(verses) for book, verses in groupby(starts, lambda verse: int(verse) // 10**6)
    }


def _plain(verses: list[str]) -> str:
    """Verses joined by spaces, without the brackets around words that translators supplied.

    An opening bracket may follow a full stop directly ("God.[Selah"), hence a space.
    """
    return " ".join(" ".join(verses).replace("[", " ").replace("]", "").split())


def _load(version: str) -> Any:
    module = f"pythonbible_{version}.plain_text_readers_bible"
    return import_extra(module, f"pythonbible-{version}", "demo", f"reading bible:{version}").bible
