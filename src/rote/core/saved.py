"""Results that were saved as JSON, read back: one measure or a panel of them.

What is wrong with a file is said by its name and the place inside it, so that a user who gave
twenty files knows which one to look at.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from rote.core.errors import InputError
from rote.core.files import write_atomically
from rote.core.result import SCHEMA, Result

_REMEDY = "Give what a measure wrote with --json, or with -o and a name that ends in .json"
RESULT = "result.json"
"""Where a folder that a command made keeps what it found."""
_ROWS = 1_000
_KINDS = {Mapping: "an object", list: "a list", str: "a string", int: "a whole number"}
_PARTS: dict[str, Any] = {
    "measure": str,
    "signature": str,
    "by": list,
    "sources": Mapping,
    "comparisons": list,
    "tables": Mapping,
}
_OF_A_SOURCE: dict[str, Any] = {"texts": int, "words": int, "values": Mapping, "intervals": Mapping}


def read_results(path: Path, *, tables: bool = False) -> list[Result]:
    """The results in a file, `-` being standard input, or in a folder that a command made: several
    where it holds a panel. With `tables`, one without values of sources will do, if it has those.
    """
    if (path / RESULT).is_file():
        path = path / RESULT
    file = "standard input" if str(path) == "-" else str(path)
    data = _parsed(path, file)
    if not isinstance(data, Mapping):
        _refuse(file, f"is no result: it holds {_named(data)}, not an object")
    if "schema" not in data:
        _refuse(file, "is no result: it has no 'schema'")
    if data["schema"] != SCHEMA:
        _refuse(
            file,
            f"has schema {data['schema']!r}, but this version of rote reads schema {SCHEMA}",
            "Make the result again with this version",
        )
    if "panel" not in data:
        return [_result(data, file, "", tables)]
    if not isinstance(data["panel"], list) or not data["panel"]:
        _refuse(file, "is a panel without any result")
    return [
        _result(part, file, f"panel[{place}].", tables) for place, part in enumerate(data["panel"])
    ]


def save_result(result: Result, folder: Path) -> None:
    """Keep a result in the folder that the command made, with the first rows of long tables: its
    ledger has all."""
    tables = {name: rows[:_ROWS] for name, rows in result.tables.items()}
    held = {"schema": SCHEMA, **replace(result, tables=tables, about={}).to_dict()}
    text = json.dumps(held, indent=1, ensure_ascii=False) + "\n"
    write_atomically(folder / RESULT, text.encode("utf-8", "backslashreplace"))


def _parsed(path: Path, file: str) -> Any:
    try:
        text = sys.stdin.read() if file == "standard input" else path.read_text(encoding="utf-8")
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        _refuse(file, f"cannot be read ({why})", "Check the path and its permissions")
    except UnicodeDecodeError:
        _refuse(file, "is not JSON: it is no text in UTF-8")
    if not text.strip():
        _refuse(file, "is empty")
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(
            f"is not JSON ({error.msg.lower()})", file=file, line=error.lineno, remedy=_REMEDY
        ) from None


def _result(data: Any, file: str, place: str, tables: bool) -> Result:
    """One result; everything that `Result.from_dict` relies on is looked at first."""
    if not isinstance(data, Mapping):
        _refuse(file, f"holds {_named(data)} where a result should stand", field=place[:-1])
    _check(data, _PARTS, file, place)
    for name, source in data["sources"].items():
        where = f"{place}sources.{name}."
        if not isinstance(source, Mapping):
            _refuse(file, f"holds {_named(source)}, not an object", field=where[:-1])
        _check(source, _OF_A_SOURCE, file, where)
        for value, number in source["values"].items():
            if not _is_number(number):
                _refuse(file, f"holds {_named(number)}, not a number", field=f"{where}{value}")
        for value, pair in source["intervals"].items():
            if not (isinstance(pair, Sequence) and len(pair) == 2 and all(map(_is_number, pair))):
                _refuse(file, "is no interval of two numbers", field=f"{where}{value}")
    if not data["sources"] and not (tables and any(data["tables"].values())):
        _refuse(file, "is a result without any source", field=f"{place}sources")
    interval = data.get("interval")
    if interval is not None and not (isinstance(interval, Mapping) and "level" in interval):
        _refuse(file, "does not say the level of its intervals", field=f"{place}interval")
    sources = {
        name: {**source, "notes": source.get("notes", [])}
        for name, source in data["sources"].items()
    }
    whole = {"reference": None, "notes": [], **data, "interval": interval, "sources": sources}
    return Result.from_dict(whole)


def _check(data: Mapping[str, Any], parts: Mapping[str, Any], file: str, place: str) -> None:
    for name, kind in parts.items():
        if name not in data:
            _refuse(file, "is missing: this is no result of a measure", field=f"{place}{name}")
        if not isinstance(data[name], kind):
            said = f"holds {_named(data[name])}, not {_KINDS[kind]}"
            _refuse(file, said, field=f"{place}{name}")


def _refuse(file: str, problem: str, remedy: str = _REMEDY, field: str | None = None) -> NoReturn:
    raise InputError(problem, file=file, field=field, remedy=remedy)


def _is_number(value: object) -> bool:
    """null stands for an undefined number."""
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))


def _named(value: object) -> str:
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    for kind, name in _KINDS.items():
        if isinstance(value, kind):
            return name
    return f"a {type(value).__name__}"
