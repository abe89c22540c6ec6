"""Run the commands that the findings pages print, and compare or write their numbers.

    python docs/check_findings.py --data FOLDER [--work FOLDER] [--page templates] [--write]

FOLDER holds the data under the names that the commands use; each page says what these files are.
What is in its folder `sameness` is for that page alone. What the commands of a page write stays in
`build/findings-sameness`: a command that is done is not run again, so a check that was stopped
resumes. Commands that fail, for lack of data too, are listed.

A number of the text has its origin right behind it, in a comment that readers do not see:

    stories 0.0247<!--genres.json wp|human matched(per_token)--> per token

that is, the file that a command of the page writes with -o, the source in that result, and the
value. The value of a source is `unique`, the half-width of its interval `unique±`, at equal size
`matched(unique)`, the corrected p-value of its test `p(unique)`, a column of another table in the
row of this source with these cells `averages(rouge_2).mean`. The source `*` is the mean over all
sources, or over all such rows; in a result without sources any name will do. Two origins joined by
` - ` or ` / ` are a difference or a ratio. A number before % is 100 times the value.

A comment above a table says the same of its columns:

    <!-- check
    rows: {genre}|{source}
    names: stories=wp, essays=essay
    Unique-n: lexical.json unique
    per token: wp.json per_token±
    -->

`rows` is how a row's source is called in the result, columns in braces; an empty cell is that of
the row above. `names` are words of the page that the data call otherwise. `scale: 100` says that
the page has 100 times the numbers. `bold: 0.05` says that numbers are bold where the corrected
p-value of their test is below, at equal size where that is the only test. A column of another table
may name a column of the page: `grammar({pattern}).count`. The result of a folder is its
result.json. A cell without a number is passed over.

A figure `figures/sameness-answers-tree.svg` is the file `answers/tree.svg` that a command of the
page `sameness` draws with `--figures answers`; the folder `figures` is not in the name.

With --write the numbers of a page are replaced by those of the results where they differ by more
than one in their last place, and figures by those that were drawn; where every number was checked,
version and date of the page, too.
Numbers without an origin (settings, years, counts of texts) are listed as unchecked.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import math
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

PAGES = Path(__file__).resolve().parent / "findings"
_BLOCK = re.compile(r"^```(?:sh|console)\n(.*?)^```", re.M | re.S)
_COMMENT = re.compile(r"<!-- check\n(.*?)-->\n+", re.S)
_TABLE = re.compile(r"(?:^\|[^\n]*\n)+", re.M)
_DIGITS = r"[-−+]?\d[\d,]*(?:\.\d+)?"
_NUMBER = re.compile(_DIGITS)
_IN_TEXT = re.compile(rf"({_DIGITS})( ?%?)<!--(?! check)(.*?)-->")
_VALUE = re.compile(r"(?:(p|matched)\((\w+)\)|(\w+\([^)]+\))\.(\w+)|(\w+))(±?)")
_ORIGIN = re.compile(rf"(\S+) (.+) ({_VALUE.pattern})")
_OPERATOR = re.compile(r" ([-/]) ")
_FIGURE = re.compile(r"\]\((figures/[\w-]+\.svg)\)")
_VERSION = re.compile(r"rote \d+\.\d+\.\d+")
_DATE = re.compile(r"run on \d+ \w+ \d{4}")
_UNCHECKED = re.compile(
    rf"```.*?```|<!--.*?-->|`[^`]*`|\]\([^)]*\)|{_TABLE.pattern}|{_VERSION.pattern}|{_DATE.pattern}",
    re.S | re.M,
)
"""What has no numbers of the text."""
EACH = "*"
"""In the place of a source: the mean over all."""


@dataclass(frozen=True)
class Origin:
    """Where a number comes from: a value of a result, its kind, and whether it is a half-width."""

    file: str
    kind: str
    value: str
    half_width: bool


@dataclass(frozen=True)
class Check:
    """What a comment says of the table below it; the origins by the names of columns."""

    rows: str
    scale: float
    bold: float | None
    names: Mapping[str, str]
    columns: Mapping[str, Origin]


@dataclass
class Outcome:
    """What the check of one page gave."""

    agreeing: int = 0
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


def read_check(comment: str) -> Check:
    """The comment above a table."""
    lines = dict(line.split(": ", 1) for line in comment.strip().splitlines())
    if "rows" not in lines:
        raise SystemExit(f"a check without 'rows':\n{comment}")
    names = dict(pair.split("=") for pair in lines.pop("names", "").split(", ") if pair)
    rows, scale = lines.pop("rows"), float(lines.pop("scale", "1"))
    bold = float(lines.pop("bold")) if "bold" in lines else None
    columns = {name: read_origin(*where.split(" ", 1)) for name, where in lines.items()}
    return Check(rows, scale, bold, names, columns)


def read_origin(file: str, value: str) -> Origin:
    match = _VALUE.fullmatch(value)
    if match is None:
        raise SystemExit(f"'{value}' is no value of a result")
    name = match[2] or match[4] or match[5]
    return Origin(file, match[1] or match[3] or "", name, bool(match[6]))


def read_origins(comment: str) -> list[tuple[str, Origin, str]]:
    """The comment behind a number: source, origin and the operator before it, if any."""
    parts = _OPERATOR.split(comment.strip())
    origins = []
    for operator, part in zip(["", *parts[1::2]], parts[::2]):
        match = _ORIGIN.fullmatch(part)
        if match is None:
            raise SystemExit(f"'{part}' is not FILE SOURCE VALUE")
        origins.append((match[2], read_origin(match[1], match[3]), operator))
    return origins


def origins_of(page: str) -> Iterator[Origin]:
    """Every origin on a page."""
    for comment in _COMMENT.findall(page):
        yield from read_check(comment).columns.values()
    for match in _IN_TEXT.finditer(page):
        yield from (origin for _, origin, _ in read_origins(match[3]))


def fill(page: str, results: Mapping[str, Any], outcome: Outcome) -> str:
    """The page with the numbers of the results in place of those that differ."""

    def table(match: re.Match[str]) -> str:
        check = read_check(match[1])
        return match[0].replace(match[2], fill_table(check, match[2], results, outcome))

    def number(match: re.Match[str]) -> str:
        value = evaluate(read_origins(match[3]), results)
        scaled = None if value is None else value * (100.0 if "%" in match[2] else 1.0)
        place = f"{match[1]}{match[2]} ({match[3].strip()})"
        return match[0].replace(match[1], renew(match[1], scaled, place, outcome), 1)

    page = re.sub(rf"{_COMMENT.pattern}({_TABLE.pattern})", table, page, flags=re.S | re.M)
    return _IN_TEXT.sub(number, page)


def fill_table(check: Check, text: str, results: Mapping[str, Any], outcome: Outcome) -> str:
    """The same of a table, row by row."""
    header, *lines = (line.strip()[1:-1].split("|") for line in text.splitlines())
    names = [plain(cell) for cell in header]
    if unknown := [name for name in check.columns if name not in names]:
        raise SystemExit(f"no column '{unknown[0]}' in the table of {names}")
    filled, row = [header], dict[str, str]()
    for cells in lines:
        for name, cell in zip(names, cells):
            if plain(cell) or name not in row:
                row[name] = check.names.get(plain(cell), plain(cell))
        source = check.rows.format_map(row)
        filled.append(
            [
                fill_cell(cell, check, check.columns.get(name), source, row, results, outcome)
                for name, cell in zip(names, cells)
            ]
        )
    return "".join(f"|{'|'.join(cells)}|\n" for cells in filled)


def fill_cell(
    cell: str,
    check: Check,
    origin: Origin | None,
    source: str,
    row: Mapping[str, str],
    results: Mapping[str, Any],
    outcome: Outcome,
) -> str:
    """A number, or a number and its half-width behind ±."""
    if origin is None or not _NUMBER.match(plain(cell)):
        return cell
    origin = replace(origin, kind=origin.kind.format_map(row))
    scale = 100.0 if "%" in cell else check.scale
    parts = cell.split("±")
    for position, half_width in enumerate((False, True)[: len(parts) if origin.half_width else 1]):
        value = find_value(results, origin, source, half_width)
        printed = _NUMBER.search(parts[position])
        if printed is not None:
            place = f"{source}, {origin.value}{'±' * half_width} in {origin.file}"
            scaled = None if value is None else value * scale
            new = renew(printed[0], scaled, place, outcome)
            parts[position] = parts[position].replace(printed[0], new, 1)
    p = None if origin.kind == "p" else find_p(results, origin, source)
    if check.bold is not None and p is not None:
        place = f"{source}, {origin.value} in {origin.file}: p = {p:.3g}"
        parts[0] = renew_bold(parts[0], p < check.bold, place, outcome)
    return "±".join(parts)


def renew_bold(printed: str, bold: bool, place: str, outcome: Outcome) -> str:
    """A number that is bold, or is not."""
    if bold != ("**" in printed):
        outcome.wrong.append(f"{place}, but {'not ' * bold}bold")
    return _NUMBER.sub("**\\g<0>**" if bold else "\\g<0>", printed.replace("**", ""), count=1)


def renew(printed: str, value: float | None, place: str, outcome: Outcome) -> str:
    """The printed number, or the value in its form where they differ."""
    if value is None:
        outcome.unchecked.append(f"{place}: no result")
        return printed
    if agrees(printed, value):
        outcome.agreeing += 1
        return printed
    outcome.wrong.append(f"{place}: '{printed}' on the page, {value:.6g}")
    return printed if math.isnan(value) else write_like(printed, value)


def write_like(printed: str, value: float) -> str:
    """A number with as many places, the same signs and separators as a printed one."""
    places = len(printed.partition(".")[2])
    text = f"{value:{'+' if printed[0] == '+' else ''},.{places}f}"
    text = text if "," in printed or abs(value) >= 10_000 else text.replace(",", "")
    return text.replace("-", "−") if "−" in printed else text


def agrees(printed: str, value: float) -> bool:
    """Whether a value is the printed one, up to one in its last place."""
    number = float(printed.replace(",", "").replace("−", "-"))
    place = 10.0 ** -len(printed.partition(".")[2])
    return abs(number - value) <= 1.000001 * place


def evaluate(
    origins: Sequence[tuple[str, Origin, str]], results: Mapping[str, Any]
) -> float | None:
    """A value, the difference or the ratio of two; None where a command gave no result."""
    total: float | None = None
    for source, origin, operator in origins:
        value = find_value(results, origin, source, origin.half_width)
        if value is None:
            return None
        if total is not None:
            value = total - value if operator == "-" else total / value
        total = value
    return total


def find_value(
    results: Mapping[str, Any], origin: Origin, source: str, half_width: bool
) -> float | None:
    """A value of a source or the half-width of its interval: nan where the result has none, None
    where there is no result."""
    if origin.file not in results:
        return None
    result, name = results[origin.file], origin.value
    if origin.kind == "p":
        p = find_p(results, origin, source)
        return math.nan if p is None else p
    if origin.kind == "matched":
        table = result["tables"].get("matched", ())
        rows = [r for r in table if (r["source"], r["value"]) == (source, name)]
        row, name = (rows[0] if rows else {}), "mean"
        return _half_width(row, "low", "high") if half_width else _number(row.get(name))
    if origin.kind:
        table, _, cells = origin.kind.rstrip(")").partition("(")
        wanted = {source, *cells.split(", ")} - {EACH}
        rows = [r for r in result["tables"].get(table, ()) if wanted <= set(map(str, r.values()))]
        if source == EACH:  # not of a source with itself
            return _mean(r.get(name) for r in rows if r.get("source") != r.get("other"))
        row = rows[0] if len(rows) == 1 else {}
        ends = f"{name}_low", f"{name}_high"
        return _half_width(row, *ends) if half_width else _number(row.get(name))
    if source == EACH:
        return _mean(entry["values"].get(name) for entry in result["sources"].values())
    entry = result["sources"].get(source) if "sources" in result else {"values": result}
    if entry is None:
        return math.nan
    low, high = entry.get("intervals", {}).get(name, (math.nan, math.nan))
    return (_number(high) - _number(low)) / 2 if half_width else _number(entry["values"].get(name))


def find_p(results: Mapping[str, Any], origin: Origin, source: str) -> float | None:
    """The corrected p-value of a source's test, at equal size where there is no other one."""
    for row in results.get(origin.file, {}).get("comparisons", ()):
        if (row["source"], row["value"]) == (source, origin.value):
            at_equal_size = origin.kind == "matched" or not row.get("tested", True)
            return row.get("matched_p_corrected" if at_equal_size else "p_corrected")
    return None


def _mean(values: Iterable[Any]) -> float:
    numbers = [float(value) for value in values if value is not None]
    return sum(numbers) / len(numbers) if numbers else math.nan


def _half_width(row: Mapping[str, Any], low: str, high: str) -> float:
    return (_number(row.get(high)) - _number(row.get(low))) / 2


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)


def plain(cell: str) -> str:
    return cell.replace("*", "").replace("`", "").strip()


def unchecked_numbers(page: str) -> list[str]:
    """Numbers of the text that have no origin."""
    text = _UNCHECKED.sub(" ", _IN_TEXT.sub(" ", page))
    return re.findall(rf"(?<![\w.-]){_DIGITS}", text)


def run(command: Sequence[str], work: Path, timeout: int) -> str:
    """Run one command in the work folder unless it was done there; what went wrong, if anything."""
    from rote import __version__

    key = hashlib.blake2b(repr((__version__, command)).encode(), digest_size=8).hexdigest()
    marker = work / f".done-{key}"
    if marker.exists():
        return ""
    if any("$" in word for word in command):
        return "needs a model that the page describes"
    try:
        process = subprocess.run(
            [sys.executable, "-c", "from rote.cli.main import main; main()", *command],
            cwd=work,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
    except subprocess.TimeoutExpired:
        return f"not done after {timeout} s"
    if process.returncode:
        return process.stderr.strip().splitlines()[-1] if process.stderr.strip() else "failed"
    marker.write_text(process.stdout)
    return ""


def link_data(data: Path, page: str, work: Path) -> Path:
    """The work folder of a page with links to the data, those of a folder of its name first."""
    work.mkdir(parents=True, exist_ok=True)
    for folder in (data / page, data):
        for entry in folder.iterdir() if folder.is_dir() else ():
            link = work / entry.name
            if not link.exists():
                link.symlink_to(entry.resolve())
    return work


def figures_of(page: str, name: str) -> dict[str, str]:
    """The figures on a page: each with the file that a command of the page draws."""
    flag = "--figures"
    folders = [line[line.index(flag) + 1] for line in commands(page) if flag in line]
    drawn = {}
    for figure in _FIGURE.findall(page):
        stem = Path(figure).stem.removeprefix(f"{name}-")
        folder = next((one for one in folders if stem.startswith(f"{one}-")), "figures")
        if folder not in folders:
            raise SystemExit(f"no command draws {figure}")
        drawn[figure] = f"{folder}/{stem.removeprefix(f'{folder}-')}.svg"
    return drawn


def check_figures(page: str, name: str, work: Path, write: bool, outcome: Outcome) -> None:
    """Compare the figures on a page with those that its commands drew, or replace them."""
    for figure, source in figures_of(page, name).items():
        drawn, shown = work / source, PAGES / figure
        if not drawn.is_file():
            outcome.unchecked.append(f"{figure}: not drawn")
        elif shown.is_file() and shown.read_bytes() == drawn.read_bytes():
            outcome.agreeing += 1
        else:
            outcome.wrong.append(f"{figure} is not {source}")
            if write:
                shutil.copy(drawn, shown)


def results_of(names: Iterable[str], work: Path) -> dict[str, Any]:
    """What commands wrote to files and folders of these names."""
    paths = {name: work / name for name in names if name.endswith(".json")}
    paths |= {name: work / name / "result.json" for name in names if (work / name).is_dir()}
    return {
        name: json.loads(path.read_text(encoding="utf-8"))
        for name, path in paths.items()
        if path.is_file()
    }


def check_page(page: str, work: Path, timeout: int, outcome: Outcome) -> str:
    """Run the commands of a page; the page with its numbers, version and date renewed."""
    from rote import __version__

    failed = set()
    for command in commands(page):
        line = shlex.join(["rote", *command])
        print(f"  {line}", flush=True)
        if problem := run(command, work, timeout):
            failed.add(written_by(command))
            outcome.unchecked.append(f"{line}: {problem}")
    files = {name for command in commands(page) if (name := written_by(command))} - failed
    filled = fill(page, results_of(files, work), outcome)
    if not outcome.unchecked:
        today = datetime.date.today()
        filled = _VERSION.sub(f"rote {__version__}", filled)
        filled = _DATE.sub(f"run on {today.day} {today:%B %Y}", filled)
    elif f"rote {__version__}" not in page:
        outcome.wrong.append(f"the page is not of rote {__version__}")
    tables = len(_TABLE.findall(page)) - len(_COMMENT.findall(page))
    if tables:
        outcome.unchecked.append(f"{tables} tables without a check")
    if numbers := unchecked_numbers(page):
        outcome.unchecked.append(f"numbers without an origin: {' '.join(numbers)}")
    return filled


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("build/findings"))
    parser.add_argument("--page", help="one page, such as templates")
    parser.add_argument("--timeout", type=int, default=1800, help="seconds for one command")
    parser.add_argument("--write", action="store_true", help="write the numbers into the pages")
    given = parser.parse_args()
    wrong = 0
    for path in sorted(PAGES.glob(f"{given.page or '*'}.md")):
        print(path.name, flush=True)
        page, outcome = path.read_text(encoding="utf-8"), Outcome()
        work = link_data(
            given.data, path.stem, given.work.with_name(f"{given.work.name}-{path.stem}")
        )
        filled = check_page(page, work, given.timeout, outcome)
        check_figures(page, path.stem, work, given.write, outcome)
        if given.write:
            path.write_text(filled, encoding="utf-8")
        wrong += len(outcome.wrong)
        print(f"  {outcome.agreeing} numbers agree, {len(outcome.wrong)} do not")
        for line in outcome.wrong:
            print(f"  {'CHANGED' if given.write else 'WRONG'} {line}")
        for line in outcome.unchecked:
            print(f"  unchecked: {line}")
    sys.exit(1 if wrong and not given.write else 0)


if __name__ == "__main__":
    main()
