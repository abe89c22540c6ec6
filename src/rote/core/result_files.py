"""Results that were saved as JSON, read back: one measure or a panel of them.

What is wrong with a file is said by its name and the place inside it, so that a user who gave
twenty files knows which one to look at.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from rote.core.errors import InputError
from rote.core.files import write_atomically
from rote.core.json_reader import JsonObject, kind_of, parse_json, read_json
from rote.core.result import SCHEMA, Result

_REMEDY = "Give what a measure wrote with --json, or with -o and a name that ends in .json"
RESULT = "result.json"
"""Where a folder that a command made keeps what it found."""
_ROWS = 1_000
_FIELDS: dict[str, Any] = {
    "measure": str,
    "signature": str,
    "by": tuple,
    "reference?": str,
    "interval?": {"level": float, "method": str},
    "sources": dict,
    "comparisons": [{}],
    "tables": dict,
    "notes?": list,
}
_OF_A_SOURCE = {"texts": int, "words": int, "values": dict, "intervals": dict, "notes?": list}


def read_results(path: Path, *, tables: bool = False) -> list[Result]:
    """The results in a file, `-` being standard input, or in a folder that a command made: several
    where it holds a panel. With `tables`, one without values of sources will do, if it has those.
    """
    if (path / RESULT).is_file():
        path = path / RESULT
    file = "standard input" if str(path) == "-" else str(path)
    return results_in(_parsed(path, file), file, tables=tables)


def results_in(data: Any, file: str, *, tables: bool = False) -> list[Result]:
    """The results that the JSON of a file holds."""
    if not isinstance(data, Mapping):
        _refuse(file, f"is no result: it holds {kind_of(data)}, not an object")
    if "schema" not in data:
        _refuse(file, "is no result: it has no 'schema'")
    if data["schema"] != SCHEMA:
        _refuse(
            file,
            f"has schema {data['schema']!r}, but this version of rote reads schema {SCHEMA}",
            "Make the result again with this version",
        )
    document = JsonObject(data, file, remedy=_REMEDY)
    if "panel" not in data:
        return [_result(document, tables)]
    if not document.array("panel"):
        _refuse(file, "is a panel without any result")
    return [_result(part, tables) for part in document.objects("panel")]


def save_result(result: Result, folder: Path) -> None:
    """Keep a result in the folder that the command made, with the first rows of long tables: its
    ledger has all."""
    tables = {name: rows[:_ROWS] for name, rows in result.tables.items()}
    content = {"schema": SCHEMA, **replace(result, tables=tables, about={}).to_dict()}
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    write_atomically(folder / RESULT, text.encode("utf-8", "backslashreplace"))


def _parsed(path: Path, file: str) -> Any:
    try:
        if file == "standard input":
            return parse_json(sys.stdin.read(), file, remedy=_REMEDY)
        return read_json(path, remedy=_REMEDY, regular=False)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        _refuse(file, f"cannot be read ({why})", "Check the path and its permissions")
    except UnicodeDecodeError:
        _refuse(file, "is not JSON: it is no text in UTF-8")


def _result(document: JsonObject, tables: bool) -> Result:
    """One result; everything that `Result.from_dict` relies on is looked at first."""
    document.check(_FIELDS)
    sources, rows = document.object("sources"), document.object("tables")
    for name in sources.values:
        source = sources.object(name)
        source.check(_OF_A_SOURCE)
        values, intervals = source.object("values"), source.object("intervals")
        for value, number in values.values.items():
            if not _is_number(number):
                raise values.error(value, f"is {kind_of(number)}, not a number")
        for value, pair in intervals.values.items():
            if not (isinstance(pair, list) and len(pair) == 2 and all(map(_is_number, pair))):
                raise intervals.error(value, "is no interval of two numbers")
    for name in rows.values:
        rows.objects(name)
    if not sources.values and not (tables and any(rows.values.values())):
        raise document.error("sources", "holds none: this is a result without any source")
    fields = {"reference": None, "notes": [], "interval": None, **document.values}
    fields["sources"] = {
        name: {**source, "notes": source.get("notes") or []}
        for name, source in sources.values.items()
    }
    fields["notes"] = fields["notes"] or []
    return Result.from_dict(fields)


def _refuse(file: str, problem: str, remedy: str = _REMEDY) -> NoReturn:
    raise InputError(problem, file=file, remedy=remedy)


def _is_number(value: object) -> bool:
    """null stands for an undefined number."""
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))
