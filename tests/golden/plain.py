"""Outputs in a form that can be kept: plain lines, without what differs between runs."""

from __future__ import annotations

import csv
import io
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import rote

SHOWN = 5
"""Rows of a table that are kept as they are; those after them as sums and checksums."""
_ONE_LINE = 300
_CHANGING = (
    (rf"(?<![\w.]){re.escape(rote.__version__)}(?![\w.]*\d)", "VERSION"),
    (r"\b\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?(\+\d\d:\d\d|Z)?)?\b", "DATE"),
    (r"\b\d\d? [A-Z][a-z]+ \d{4}(, \d\d:\d\d( UTC)?)?", "DATE"),
    (r"\b\d+(\.\d+)? (s|ms|seconds|min)\b", "TIME"),
    (r'("seconds": |\bseconds )[\d.e-]+', r"\1TIME"),
    # How well texts are compressed depends on the version of a library.
    (r"\b\d+(\.\d+)? (bytes|kB|MB)\b", "SIZE"),
    (r'("bytes": |"text_bytes": |\bbytes |\btext_bytes )\d+', r"\1SIZE"),
    (r"\b[\d,.]+ ([a-z]+)/s\b", r"RATE \1/s"),
)


def of_latex(text: str) -> str:
    """The first rows of each table in full, of the others the words: they are rounded as these."""
    lines: list[str] = []
    rows = 0
    more: list[str] = []
    for line in [*of_text(text).splitlines(), ""]:
        rows = rows + 1 if line.endswith(r"\\") else 0
        if rows > SHOWN:
            more.append(re.sub(r"\d+", "0", line))
        else:
            lines += [f"+ {len(more)} {_sum_of(more)}"] if more else []
            lines.append(line)
            more = []
    return "\n".join(lines)


def of_text(text: str) -> str:
    """Printed text, Markdown."""
    for pattern, stands in _CHANGING:
        text = re.sub(pattern, stands, text)
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def beside(text: str, known: str) -> str:
    """The lines of a text that another one does not hold, and how many it does."""
    lines, held = text.splitlines(), set(known.splitlines())
    new = [line for line in lines if line not in held]
    return "\n".join([f"{len(lines) - len(new)} lines as before", *new]) + "\n"


# -- JSON ------------------------------------------------------------------------------------


def of_json(text: str) -> str:
    return of_text("\n".join(_lines("", json.loads(without_place(text)), "")))


def of_json_lines(text: str) -> str:
    lines = [json.loads(line) for line in without_place(text).splitlines()]
    return of_text("\n".join(_lines("", lines, "")))


def without_place(text: str) -> str:
    """Where the files are differs: what fits in one line must not depend on it."""
    return text.replace(str(Path.cwd()), "HERE")


def _lines(name: str, value: Any, pad: str) -> Iterator[str]:
    """A value in one line if there is room, else its parts."""
    whole = _written(value)
    # Its numbers may have more digits elsewhere, so they do not count.
    if not isinstance(value, (dict, list)) or len(re.sub(r"\d+", "", whole)) <= _ONE_LINE:
        yield f"{pad}{name} {whole}" if name else pad + whole
        return
    yield f"{pad}{name} ({len(value)})"
    parts: Iterable[tuple[str, Any]] = (
        value.items() if isinstance(value, dict) else (("-", one) for one in value[:SHOWN])
    )
    for key, one in parts:
        yield from _lines(key, one, pad + "  ")
    if isinstance(value, list) and len(value) > SHOWN:
        yield f"{pad}  + {len(value) - SHOWN}: {folded(value[SHOWN:])}"


def _written(value: Any) -> str:
    return json.dumps(_short(value), ensure_ascii=False)


def _short(value: Any) -> Any:
    """Nine digits of a number are more than are compared."""
    if isinstance(value, dict):
        return {key: _short(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_short(one) for one in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


def folded(rows: Sequence[Any]) -> str:
    """Many rows in one line: of each field how many there are and a sum of its numbers, in which
    a row's place counts, or a checksum of its words."""
    numbers: dict[str, list[float]] = {}
    words: dict[str, list[str]] = {}
    for field, value in (leaf for row in rows for leaf in _leaves("", row)):
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            numbers.setdefault(field, []).append(abs(value))
        else:
            words.setdefault(field, []).append(str(value))
    found: dict[str, Any] = {
        field: [len(own), float(f"{sum(n * x for n, x in enumerate(own, 1)):.9g}")]
        for field, own in numbers.items()
    }
    for field, said in words.items():
        found.setdefault(field, []).extend([len(said), _sum_of(said)])
    return json.dumps(dict(sorted(found.items())), ensure_ascii=False)


def _sum_of(words: Sequence[str]) -> str:
    return f"#{zlib.crc32(of_text(chr(10).join(words)).encode()):08x}"


def _leaves(field: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from _leaves(f"{field}.{key}" if field else str(key), one)
    elif isinstance(value, list):
        for one in value:
            yield from _leaves(field, one)
    else:
        yield field, value


# -- CSV -------------------------------------------------------------------------------------


def of_csv(text: str) -> str:
    """The first rows of each table in full, the others of it in one line."""
    reader = csv.DictReader(io.StringIO(text))
    assert reader.fieldnames
    tables: dict[str, list[dict[str, str]]] = {}
    for row in reader:
        tables.setdefault(row.get("table", ""), []).append(row)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(reader.fieldnames)
    for table, rows in tables.items():
        for row in rows[:SHOWN]:
            writer.writerow([_cell(cell) for cell in row.values()])
        if len(rows) > SHOWN:
            more = [{k: _number(v) for k, v in row.items() if v} for row in rows[SHOWN:]]
            out.write(f"+ {len(more)} of {table}: {folded(more)}\n")
    return of_text(out.getvalue())


def _cell(cell: str) -> str:
    found = _number(cell)
    if isinstance(found, float) and len(cell) > 9:
        return f"{found:.9g}"
    return cell.replace("\n", "\\n")


def _number(cell: str) -> float | str:
    return float(cell) if re.fullmatch(r"-?\d+(\.\d+)?(e[-+]?\d+)?", cell) else cell


# -- pages -----------------------------------------------------------------------------------


def of_html(text: str) -> str:
    """What a page shows: a line for each row of a table, paragraph, heading, field of a form."""
    page = _Page()
    page.feed(text)
    page.end_line()
    return of_text("\n".join(page.lines))


_BLOCKS = frozenset(
    """address article aside blockquote body button caption dd details div dl dt fieldset
    figcaption figure footer form h1 h2 h3 h4 h5 h6 header html label legend li main nav ol option
    p pre section select summary table tbody tfoot thead textarea title tr ul br hr svg""".split()
)
_UNSEEN = frozenset(("script", "style", "defs", "template"))
_MARKS = {**{f"h{n}": "#" * n + " " for n in range(1, 7)}, "li": "- ", "svg": "[figure] "}


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.lines: list[str] = []
        self.line, self.mark = "", ""
        self.unseen, self.rows, self.drawings, self.hovering = 0, 0, 0, 0
        self.links: list[str] = []

    def end_line(self) -> None:
        line = re.sub(r"\s+", " ", self.line).strip()
        if line and line != "|":
            self.lines.append(self.mark + line)
        self.line = self.mark = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {key: value or "" for key, value in attrs}
        self.unseen += tag in _UNSEEN
        # Values on hover have no id; the title of a figure has one.
        self.hovering += tag == "title" and self.drawings > 0 and "id" not in given
        if tag in ("td", "th"):
            self.line += " | "
        elif tag == "tr" or (tag in _BLOCKS and not self.rows and not self.drawings):
            self.end_line()
            self.mark = _MARKS.get(tag, "")
        elif tag == "text":
            self.line += " · "
        self.rows += tag == "tr"
        self.drawings += tag == "svg"
        if tag == "a":
            self.links.append(given.get("href", "#"))
        elif tag in ("input", "select", "textarea", "button"):
            kind = given.get("type", tag)
            on = " on" if "checked" in given else ""
            self.line += f" [{kind} {given.get('name', '')}={given.get('value', '')}{on}] "
        elif tag == "option":
            on = " on" if "selected" in given else ""
            self.line += f"({given.get('value', '')}{on}) "
        elif tag == "form":
            self.line += f"[form {given.get('method', 'get')} {given.get('action', '')}]"
            self.end_line()

    def handle_endtag(self, tag: str) -> None:
        self.unseen -= tag in _UNSEEN
        self.hovering -= tag == "title" and self.hovering > 0
        if tag == "a" and self.links:
            href = self.links.pop()
            self.line += "" if href.startswith(("#", "data:")) else f" <{href}>"
        self.rows -= tag == "tr"
        self.drawings -= tag == "svg"
        if tag in _BLOCKS and not self.rows and not self.drawings:
            self.end_line()

    def handle_data(self, data: str) -> None:
        if not self.unseen and not self.hovering:
            self.line += data


# -- figures ---------------------------------------------------------------------------------


def of_figure(spec: Mapping[str, Any]) -> str:
    """A line for each view of a Vega-Lite figure: its title, mark and the fields that it shows;
    then the data."""
    data: dict[str, int] = {}
    lines = list(_views(spec, spec.get("datasets", {}), data, ""))
    return of_text("\n".join(lines + [f"data {n}: {rows}" for rows, n in data.items()]))


def _views(
    view: Mapping[str, Any], named: Mapping[str, Any], data: dict[str, int], pad: str
) -> Iterator[str]:
    mark, title, given = view.get("mark"), view.get("title"), view.get("data")
    said = [_written(title["text"] if isinstance(title, dict) else title)] if title else []
    if mark:
        said.append(mark["type"] if isinstance(mark, dict) else mark)
    for channel, one in {**view.get("encoding", {}), "facet": view.get("facet")}.items():
        said += [_shown(channel, each) for each in (one if isinstance(one, list) else [one])]
    if given:
        rows = named[given["name"]] if "name" in given else given["values"]
        kept = f"{len(rows)} rows {folded(rows)}"
        said.append(f"data {data.setdefault(kept, len(data) + 1)}")
    yield f"{pad}- {' '.join(filter(None, said))}"
    for kind in ("layer", "concat", "hconcat", "vconcat", "spec"):
        parts = view.get(kind, [])
        for part in parts if isinstance(parts, list) else [parts]:
            yield from _views(part, named, data, pad + "  ")


def _shown(channel: str, given: Mapping[str, Any] | None) -> str:
    if not given or not {"field", "aggregate", "value", "datum"} & set(given):
        return ""
    shows = [str(given[k]) for k in ("aggregate", "field", "value", "datum") if k in given]
    titled = _written(given["title"]) if given.get("title") else ""
    return f"{channel}={'.'.join(shows)}{titled}"
