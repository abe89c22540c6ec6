"""The values of single texts of kept results: one row each, sorted and paged by SQLite.

There may be very many of them, and a page shows fifty; so they are not a part of the JSON that a
result is kept as.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rote.core.result import Result
from rote.web.files import file_name
from rote.web.store.database import connected, storable

TEXTS = "texts"
Excerpts = Mapping[tuple[str, str], str]
"""File ("" if there is one alone) and id of a text -> its beginning."""
_COLUMNS = ("source", "id", "file", "words", "excerpt")
_OWN = ("source", "id", "file", "words")


@dataclass(frozen=True, slots=True)
class TextRow:
    """The values of one text; `excerpt` is its beginning, `file` the name of its file where there
    are several."""

    source: str
    id: str
    file: str
    words: int
    excerpt: str
    numbers: Mapping[str, float | None]


class TextValues:
    """Those of a store; a result is named by its id and its place in the entry, from 0."""

    def __init__(self, store: Path) -> None:
        self._store = store

    def places(self, id: str) -> dict[int, list[str]]:
        """Which results of an entry have values per text: their place in it -> the sources."""
        query = "select distinct place, source from texts where result = ? order by place, rowid"
        found: dict[int, list[str]] = {}
        with connected(self._store) as file:
            for row in file.execute(query, (id,)):
                found.setdefault(row["place"], []).append(row["source"])
        return found

    def page(
        self,
        id: str,
        place: int,
        *,
        source: str | None = None,
        sort: str | None = None,
        descending: bool = False,
        limit: int = 50,
        offset: int = 0,
    ) -> tuple[list[TextRow], int]:
        """Some of the texts, and how many there are; undefined values come last."""
        where, given = "where result = ? and place = ?", [id, str(place)]
        if source is not None:
            where, given = where + " and source = ?", [*given, source]
        order, path = "rowid", []
        if sort in _OWN:
            order = f"{sort} {'desc' if descending else 'asc'}, rowid"
        elif sort is not None:
            # The name of a value is data here, never a part of the statement.
            value = "json_extract(numbers, ?)"
            order = f"{value} is null, {value} {'desc' if descending else 'asc'}, rowid"
            path = [_path(sort)] * 2
        with connected(self._store) as file:
            total = file.execute(f"select count(*) from texts {where}", given).fetchone()[0]
            rows = file.execute(
                f"select {', '.join(_COLUMNS)}, numbers from texts {where} "
                f"order by {order} limit ? offset ?",
                (*given, *path, limit, offset),
            )
            return [_text_row(row) for row in rows], int(total)

    def one(
        self, id: str, source: str, text: str, file: str = ""
    ) -> dict[int, Mapping[str, float | None]]:
        """All values of one text, by place of the result."""
        query = "select place, numbers from texts where result = ? and source = ? and id = ?"
        with connected(self._store) as held:
            rows = held.execute(f"{query} and file = ?", (id, source, text, file))
            return {row["place"]: json.loads(row["numbers"]) for row in rows}


def without_texts(result: Result) -> Result:
    return replace(result, tables={k: v for k, v in result.tables.items() if k != TEXTS})


def text_rows(
    id: str, results: Sequence[Result], excerpts: Excerpts, files: Mapping[str, str]
) -> Iterable[dict[str, Any]]:
    """Rows of the table `texts`."""
    for place, result in enumerate(results):
        for row in result.to_dict()["tables"].get(TEXTS, ()):
            numbers = {name: value for name, value in row.items() if name not in _OWN}
            path = row.get("file", "")
            excerpt = excerpts.get((path, row["id"]), "")
            file = file_name(path, files) if path else ""
            named = {"source": row["source"], "id": row["id"], "file": file, "excerpt": excerpt}
            yield {
                **{name: storable(text) for name, text in named.items()},
                "result": id,
                "place": place,
                "words": row["words"],
                "numbers": json.dumps(numbers),
            }


def _text_row(row: Any) -> TextRow:
    held = {name: row[name] for name in _COLUMNS}
    return TextRow(**held, numbers=json.loads(row["numbers"]))


def _path(name: str) -> str:
    """A JSON path to one member; a quote inside cannot be written in it, and no value has one."""
    return '$."' + name.replace('"', "") + '"'
