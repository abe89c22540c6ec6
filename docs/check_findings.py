"""Run the commands that the findings pages print, and compare the numbers of their tables.

    python docs/check_findings.py --data FOLDER [--work FOLDER] [--page templates] [--timeout 1800]

FOLDER holds the data under the names that the commands use; each page says what these files are.
The work folder keeps what commands wrote: a command that is done is not run again, so a check that
was stopped goes on. What fails, for want of data too, is listed.

A table is checked where a comment stands above it that says where its numbers come from:

    <!-- check
    rows: {genre}|{source}
    names: stories=wp, essays=essay
    Unique-n: lexical.json unique
    per token: wp.json per_token±
    -->

`rows` is how a row's source is called in the result, columns in braces; an empty cell is that of
the row above. `names` are words of the page that the data call otherwise. Then, column by column,
the file that a command of the page writes with -o, and the value in it: `unique`, with its interval
`unique±`, at equal size `matched(unique)`, the corrected p-value of a test `p(unique)`, of another
table the row of this source with these cells: `averages(rouge_2).mean±`. `scale: 100` says that the
page has 100 times the numbers. The result of a folder is its result.json. A cell without a number
is passed over. Everything else on a page is listed as unchecked: numbers in prose,
and tables without a comment.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PAGES = Path(__file__).resolve().parent / "findings"
_BLOCK = re.compile(r"^```(?:sh|console)\n(.*?)^```", re.M | re.S)
_COMMENT = re.compile(r"<!-- check\n(.*?)-->\n+", re.S)
_TABLE = re.compile(r"(?:^\|.*\n)+", re.M)
_NUMBER = re.compile(r"[-−]?\d[\d,]*(?:\.\d+)?")
_VALUE = re.compile(r"(?:(p|matched)\((\w+)\)|(\w+\([^)]+\))\.(\w+)|(\w+))(±?)")


@dataclass(frozen=True)
class Check:
    """A table and where its columns come from: name -> (file, kind, value, with interval)."""

    rows: str
    scale: float
    names: Mapping[str, str]
    columns: Mapping[str, tuple[str, str, str, bool]]
    table: list[dict[str, str]]


@dataclass
class Found:
    """What came of one page."""

    right: int = 0
    wrong: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)


def commands(page: str) -> list[list[str]]:
    """The words of every `rote` command in the shell blocks of a page; remarks are left out."""
    lines = []
    for block in _BLOCK.findall(page):
        lines += block.replace("\\\n", " ").splitlines()
    lines = [line.removeprefix("$ ").strip() for line in lines]
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("rote ")]


def written_by(command: Sequence[str]) -> str | None:
    """The file that a command writes."""
    for flag in ("-o", "--output"):
        if flag in command[:-1]:
            return command[list(command).index(flag) + 1]
    return None


def checks(page: str) -> Iterator[Check]:
    """The tables of a page that say where their numbers come from."""
    for comment in _COMMENT.finditer(page):
        said = dict(line.split(": ", 1) for line in comment[1].strip().splitlines())
        table = _TABLE.match(page, comment.end())
        if table is None or "rows" not in said:
            raise SystemExit(f"a check without 'rows', or without a table below it:\n{comment[0]}")
        pairs = [pair.split("=") for pair in said.pop("names", "").split(", ") if pair]
        columns = {}
        rows, scale = said.pop("rows"), float(said.pop("scale", "1"))
        for name, where in said.items():
            file, value = where.split(" ", 1)
            match = _VALUE.fullmatch(value)
            if match is None:
                raise SystemExit(f"'{value}' is no value of a result")
            kind, own = match[1] or match[3] or "", match[2] or match[4] or match[5]
            columns[name] = (file, kind, own, bool(match[6]))
        yield Check(rows, scale, dict(pairs), columns, table_rows(table[0]))


def table_rows(text: str) -> list[dict[str, str]]:
    """The rows of a Markdown table by the names of its columns."""
    lines = [[cell.strip() for cell in line.strip()[1:-1].split("|")] for line in text.splitlines()]
    return [dict(zip(lines[0], line)) for line in lines[2:]]


def compare(check: Check, results: Mapping[str, Any], found: Found) -> None:
    """Hold every cell of a checked table against the results."""
    named: dict[str, str] = {}
    for row in check.table:
        for name, cell in row.items():
            if plain(cell) or name not in named:
                named[name] = check.names.get(plain(cell), plain(cell))
        source = check.rows.format_map(named)
        for column, (file, kind, value, reach) in check.columns.items():
            if column not in row:
                raise SystemExit(f"no column '{column}' in the table of {sorted(row)}")
            cell = plain(row[column])
            if not _NUMBER.match(cell):
                continue
            if file not in results:
                found.unchecked.append(f"{source}, {column}: no {file}")
                continue
            wanted = numbers(results[file], source, kind, value)
            scale = 100.0 if "%" in cell else check.scale
            for part, number in zip(cell.split("±"), wanted if reach else wanted[:1]):
                if agrees(part, scale * number):
                    found.right += 1
                else:
                    found.wrong.append(f"{source}, {column}: '{cell}' on the page, {number:.6g}")


def plain(cell: str) -> str:
    return cell.replace("*", "").replace("`", "").strip()


def numbers(result: Mapping[str, Any], source: str, kind: str, value: str) -> list[float]:
    """A value of a source and the reach of its interval; nan where there is none."""
    own = result["sources"].get(source)
    if kind == "p":
        rows = [r for r in result["comparisons"] if (r["source"], r["value"]) == (source, value)]
        return [_number(rows[0]["p_corrected"]) if rows else math.nan]
    if kind == "matched":
        table = result["tables"].get("matched", ())
        rows = [r for r in table if (r["source"], r["value"]) == (source, value)]
        return [_number(rows[0]["mean"]) if rows else math.nan]
    if "(" in kind:
        table, _, cells = kind.rstrip(")").partition("(")
        wanted = {source, *cells.split(", ")}
        rows = [r for r in result["tables"].get(table, ()) if wanted <= set(map(str, r.values()))]
        if len(rows) != 1:
            return [math.nan, math.nan]
        low, high = (_number(rows[0].get(f"{value}_{end}")) for end in ("low", "high"))
        return [_number(rows[0].get(value)), (high - low) / 2]
    if own is None:
        return [math.nan, math.nan]
    low, high = own["intervals"].get(value, (math.nan, math.nan))
    return [_number(own["values"].get(value)), (_number(high) - _number(low)) / 2]


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)


def agrees(printed: str, number: float) -> bool:
    """Whether a number is the printed one, up to one in its last place."""
    match = _NUMBER.search(printed)
    if match is None or math.isnan(number):
        return False
    written = match[0].replace(",", "").replace("−", "-")
    place = 10.0 ** -len(written.partition(".")[2])
    return abs(float(written) - number) <= 1.000001 * place


def run(command: Sequence[str], work: Path, timeout: int) -> str:
    """Run one command in the work folder unless it was done there; what went wrong, if anything."""
    from rote import __version__

    key = hashlib.blake2b(repr((__version__, command)).encode(), digest_size=8).hexdigest()
    done = work / f".done-{key}"
    if done.exists():
        return ""
    if any("$" in word for word in command):
        return "needs a model that the page describes"
    try:
        ended = subprocess.run(
            [sys.executable, "-c", "from rote.cli.main import main; main()", *command],
            cwd=work,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
    except subprocess.TimeoutExpired:
        return f"not done after {timeout} s"
    if ended.returncode:
        return ended.stderr.strip().splitlines()[-1] if ended.stderr.strip() else "failed"
    done.write_text(ended.stdout)
    return ""


def results_of(names: Iterable[str], work: Path) -> dict[str, Any]:
    """What commands wrote to files and folders of these names."""
    places = {name: work / name for name in names if name.endswith(".json")}
    places |= {name: work / name / "result.json" for name in names if (work / name).is_dir()}
    return {
        name: json.loads(place.read_text(encoding="utf-8"))
        for name, place in places.items()
        if place.is_file()
    }


def check_page(path: Path, work: Path, timeout: int) -> Found:
    page, found = path.read_text(encoding="utf-8"), Found()
    for command in commands(page):
        line = shlex.join(["rote", *command])
        print(f"  {line}", flush=True)
        if problem := run(command, work, timeout):
            found.unchecked.append(f"{line}: {problem}")
    files = {name for command in commands(page) if (name := written_by(command))}
    results = results_of(files, work)
    checked = list(checks(page))
    for check in checked:
        compare(check, results, found)
    tables = len(_TABLE.findall(page))
    found.unchecked.append(f"{tables - len(checked)} of {tables} tables, and all prose")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("findings-check"))
    parser.add_argument("--page", help="one page, such as templates")
    parser.add_argument("--timeout", type=int, default=1800, help="seconds for one command")
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    for entry in given.data.iterdir():
        link = given.work / entry.name
        if not link.exists():
            link.symlink_to(entry.resolve())
    wrong = 0
    for path in sorted(PAGES.glob(f"{given.page or '*'}.md")):
        print(path.name, flush=True)
        found = check_page(path, given.work, given.timeout)
        wrong += len(found.wrong)
        print(f"  {found.right} numbers agree, {len(found.wrong)} do not")
        for line in found.wrong:
            print(f"  WRONG {line}")
        for line in found.unchecked:
            print(f"  unchecked: {line}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
