"""Results that were made before: kept by signature, found again, reopened, deleted.

A result is kept as compressed JSON, in the form that the shell writes. Its values per text are
many, so they have rows of their own.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import zstandard

from rote.core.errors import InputError
from rote.core.json_reader import parse_json, read_json
from rote.core.result import RESULT_FILE, Result, Row, panel_to_json, plain, read_results
from rote.report.report import Report, read_report
from rote.web.database import NotStored, current_time, insert_rows, open_database, to_storable
from rote.web.files import file_name, hash_parts

TEXTS = "texts"
Excerpts = Mapping[tuple[str, str], str]
"""File ("" if there is one alone) and id of a text -> its beginning."""
_TEXT_COLUMNS = ("source", "id", "file", "words", "excerpt")
_SORT_COLUMNS = ("source", "id", "file", "words")
_REQUIRED = {"source", "id", "words"}


def text_values(result: Result) -> Sequence[Row]:
    """The values of each text; a study may have a table of that name with something else in it."""
    rows = result.tables.get(TEXTS, ())
    return rows if rows and rows[0].keys() >= _REQUIRED else ()


def without_texts(result: Result) -> Result:
    """As it is kept: values of texts have rows of their own, and `about` is for the shell."""
    gone = TEXTS if text_values(result) else None
    return replace(
        result, tables={k: v for k, v in result.tables.items() if k != gone}, about={}, listing=""
    )


def text_rows(
    id: str, results: Sequence[Result], excerpts: Excerpts, files: Mapping[str, str]
) -> Iterable[dict[str, Any]]:
    for place, result in enumerate(results):
        for row in plain(text_values(result)):
            # What else a row says of its text, such as its doc_id, is no value of it.
            others = {name: value for name, value in row.items() if name not in _SORT_COLUMNS}
            numbers = {n: value for n, value in others.items() if not isinstance(value, str)}
            path = row.get("file", "")
            excerpt = excerpts.get((path, row["id"]), "")
            file = file_name(path, files) if path else ""
            columns = {"source": row["source"], "id": row["id"], "file": file, "excerpt": excerpt}
            yield {
                **{name: to_storable(text) for name, text in columns.items()},
                "result": id,
                "place": place,
                "words": row["words"],
                "numbers": json.dumps(numbers),
            }


RESULT = "/compare/result/{id}"
"""The page that shows the results of most kinds."""
_LONGEST_QUERY, _MOST_WORDS = 1_000, 50
_COLUMNS = ("id", "title", "kind", "made", "settings", "files", "signatures", "sources", "address")


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    id: str
    title: str
    kind: str
    created: str
    settings: Mapping[str, Any]
    files: Mapping[str, str]
    signatures: Sequence[str]
    sources: Sequence[str]
    address: str

    @property
    def measures(self) -> list[str]:
        names = (line.partition("|")[0].partition(":")[2] for line in self.signatures)
        return list(dict.fromkeys(names))


class History:
    def __init__(self, store: Path) -> None:
        self._store = store

    def add(
        self,
        outcome: Report | Sequence[Result],
        *,
        title: str,
        kind: str = "compare",
        settings: Mapping[str, Any] | None = None,
        files: Mapping[str, str] | None = None,
        address: str = RESULT,
        excerpts: Excerpts | None = None,
        created: str | None = None,
    ) -> str:
        """Keep a result, and give its id; `excerpts` are the beginnings of its texts."""
        results = outcome.results if isinstance(outcome, Report) else outcome
        if not results:
            raise InputError("there is no result to keep")
        signatures = [str(result.signature) for result in results]
        light = [without_texts(result) for result in results]
        # Numbers that differ are two results, even where a signature does not tell them apart.
        panel = panel_to_json(light, None)
        id = hash_parts(kind, json.dumps(settings or {}, sort_keys=True), *signatures, panel)[:12]
        sources = list(dict.fromkeys(s for result in results for s in result.by_source))
        form, data = "panel", panel
        if isinstance(outcome, Report):
            form, data = "study", replace(outcome, results=light).to_json(None)
        row = {
            "id": id,
            "title": to_storable(title),
            "kind": kind,
            "made": created or current_time(),
            "settings": _to_json(settings or {}),
            "files": _to_json(files or {}),
            "signatures": _to_json(signatures),
            "sources": _to_json(sources),
            "address": address.format(id=id),
            "form": form,
            "data": _compress(data),
        }
        texts = list(text_rows(id, results, excerpts or {}, files or {}))
        with open_database(self._store) as file:
            _forget_parts(file, id)
            insert_rows(file, "results", [row])
            insert_rows(file, "texts", texts)
        return id

    def read_in(self, path: Path) -> str:
        results = read_results(path, tables=True)
        data = read_json(path, strict=True)
        modified = datetime.fromtimestamp(path.stat().st_mtime, timezone.utc)
        created = modified.isoformat(timespec="seconds")
        if "given" not in data:
            name = path.parent.name if path.name == RESULT_FILE else path.stem
            return self.add(results, title=name, kind="file", created=created)
        study = read_report(data, str(path))
        return self.add(study, title=study.title, kind="file", created=created)

    def get(self, id: str) -> HistoryEntry:
        return _make_entry(self._row(id, ", ".join(_COLUMNS)))

    def entries(self, query: str = "", limit: int = 50, offset: int = 0) -> list[HistoryEntry]:
        """The newest first; each word of the query occurs in the title, a signature or a source."""
        where, values = _make_condition(query)
        order = "order by made desc, rowid desc limit ? offset ?"
        query = f"select {', '.join(_COLUMNS)} from results {where} {order}"
        with open_database(self._store) as file:
            return [_make_entry(row) for row in file.execute(query, (*values, limit, offset))]

    def count(self, query: str = "") -> int:
        where, values = _make_condition(query)
        with open_database(self._store) as file:
            return int(file.execute(f"select count(*) from results {where}", values).fetchone()[0])

    def results(self, id: str) -> list[Result]:
        """Without their values per text; `texts` has those."""
        return [Result.from_dict(part) for part in self._data(id)[1]["panel"]]

    def study(self, id: str) -> Report:
        """The whole picture; of results alone, one that holds no more than they do."""
        form, data = self._data(id)
        if form == "study":
            return Report.from_dict(data)
        results = [Result.from_dict(part) for part in data["panel"]]
        entry = self.get(id)
        settings = dict(results[0].signature.settings)
        version, reference = settings.get("rote", ""), results[0].reference
        return Report(
            entry.title, entry.created, version, reference, materials=(), tools=(), results=results
        )

    def text_places(self, id: str) -> dict[int, list[str]]:
        """Which results of an entry have values per text: their place in it -> the sources."""
        query = "select distinct place, source from texts where result = ? order by place, rowid"
        sources_by_place: dict[int, list[str]] = {}
        with open_database(self._store) as file:
            for row in file.execute(query, (id,)):
                sources_by_place.setdefault(row["place"], []).append(row["source"])
        return sources_by_place

    def texts(
        self,
        id: str,
        place: int,
        *,
        source: str | None = None,
        sort: str | None = None,
        descending: bool = False,
        limit: int = 50,
        offset: int = 0,
    ) -> tuple[list[dict[str, Any]], int]:
        """Some of the texts, undefined values last, and how many there are."""
        where, values = "where result = ? and place = ?", [id, str(place)]
        if source is not None:
            where, values = where + " and source = ?", [*values, source]
        order, path = "rowid", []
        if sort in _SORT_COLUMNS:
            order = f"{sort} {'desc' if descending else 'asc'}, rowid"
        elif sort is not None:
            # The name of a value is data here, never a part of the statement.
            value = "json_extract(numbers, ?)"
            order = f"{value} is null, {value} {'desc' if descending else 'asc'}, rowid"
            # A quote inside cannot be written in a path, and no value has one.
            path = ['$."' + sort.replace('"', "") + '"'] * 2
        query = f"select {', '.join(_TEXT_COLUMNS)}, numbers from texts {where} order by {order}"
        with open_database(self._store) as file:
            total = file.execute(f"select count(*) from texts {where}", values).fetchone()[0]
            rows = file.execute(f"{query} limit ? offset ?", (*values, *path, limit, offset))
            values_of = ({**row, "numbers": parse_json(row["numbers"])} for row in rows)
            return list(values_of), int(total)

    def position(self, id: str, place: int, source: str, text: str, file: str = "") -> int | None:
        """How many texts of its source are before one; None if it is none of them."""
        condition = "result = ? and place = ? and source = ?"
        first = f"select min(rowid) from texts where {condition} and id = ? and file = ?"
        count = f"select count(*) from texts where {condition} and rowid < ?"
        with open_database(self._store) as connection:
            row = connection.execute(first, (id, place, source, text, file)).fetchone()[0]
            if row is None:
                return None
            return int(connection.execute(count, (id, place, source, row)).fetchone()[0])

    def text(
        self, id: str, source: str, text: str, file: str = ""
    ) -> dict[int, Mapping[str, float | None]]:
        query = "select place, numbers from texts where result = ? and source = ? and id = ?"
        with open_database(self._store) as connection:
            rows = connection.execute(f"{query} and file = ?", (id, source, text, file))
            return {row["place"]: parse_json(row["numbers"]) for row in rows}

    def delete(self, ids: Iterable[str]) -> int:
        """How many there were."""
        gone = 0
        with open_database(self._store) as file:
            for id in ids:
                gone += file.execute("delete from results where id = ?", (id,)).rowcount
                _forget_parts(file, id)
        return gone

    def drawn(self, id: str, maker: str) -> list[list[str]] | None:
        """The parts of the result's page, if this version of rote made them before."""
        query = "select data from sections where result = ? and maker = ?"
        with open_database(self._store) as file:
            row = file.execute(query, (id, maker)).fetchone()
        parts: list[list[str]] | None = parse_json(_decompress(row["data"])) if row else None
        return parts

    def keep_drawn(self, id: str, maker: str, parts: Sequence[Sequence[str]]) -> None:
        with open_database(self._store) as file:
            drawn = {"result": id, "maker": maker, "data": _compress(_to_json(parts))}
            insert_rows(file, "sections", [drawn])

    def _data(self, id: str) -> tuple[str, dict[str, Any]]:
        row = self._row(id, "form, data")
        return row["form"], parse_json(_decompress(row["data"]))

    def _row(self, id: str, columns: str) -> Any:
        with open_database(self._store) as file:
            row = file.execute(f"select {columns} from results where id = ?", (id,)).fetchone()
        if row is None:
            raise NotStored("result", id)
        return row


def _forget_parts(file: sqlite3.Connection, id: str) -> None:
    for table in ("texts", "sections"):
        file.execute(f"delete from {table} where result = ?", (id,))


def _make_entry(row: Any) -> HistoryEntry:
    values = {name: row[name] for name in _COLUMNS}
    for name in ("settings", "files", "signatures", "sources"):
        values[name] = parse_json(values[name])
    return HistoryEntry(created=values.pop("made"), **values)


def _make_condition(query: str) -> tuple[str, list[str]]:
    parts, values = [], []
    # SQLite takes no conditions without end, and nobody remembers so many words of a title.
    for word in query[:_LONGEST_QUERY].split()[:_MOST_WORDS]:
        sign = word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        parts.append("title || ' ' || signatures || ' ' || sources like ? escape '\\'")
        values.append(f"%{sign}%")
    return ("where " + " and ".join(f"({part})" for part in parts) if parts else ""), values


def _to_json(value: Any) -> str:
    """As it is read: the list is searched in it."""
    return to_storable(json.dumps(value, ensure_ascii=False))


def _compress(text: str) -> bytes:
    return zstandard.ZstdCompressor(level=6).compress(text.encode("utf-8", "surrogatepass"))


def _decompress(data: bytes) -> str:
    return zstandard.ZstdDecompressor().decompress(data).decode("utf-8", "surrogatepass")
