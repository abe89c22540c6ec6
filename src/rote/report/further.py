"""The further tables of a measure on the terminal: the beginning of each, one screen at most.

JSON holds them whole. `tables.print_results` prints these below the values.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rote.core.result import Result
from rote.report._grid import SIGNIFICANT, rounded
from rote.report.concordance import harmless

if TYPE_CHECKING:
    from rich.console import RenderableType

Rows = Sequence[Mapping[str, Any]]
_TOP, _SCREEN = 10, 36
_KINDS = {"templates": "templates", "reference templates": "reference's", "others": "others"}
_NAME = 120
_LISTED, _LEAST_TEXT = 5, 12


def print_tables(result: Result, console: Any) -> None:
    """Print every further table of a result that there is a readable form for."""
    printed: dict[str, Callable[[Rows, Result, int], Iterator[RenderableType]]] = {"sweep": _sweep}
    if result.measure == "templates":
        printed |= {
            "lengths": _lengths,
            "templates": _templates,
            "distinctive": _distinctive,
            "overlap": _overlap,
            "coverage": _coverage,
            "rank_tests": _rank_tests,
            "in_corpus": _in_corpus,
        }
    for name, table in printed.items():
        rows = result.tables.get(name, ())
        if rows:
            for part in table(rows, result, console.width):
                console.print(part, highlight=False)


def _sweep(rows: Rows, result: Result, width: int) -> Iterator[RenderableType]:
    """One line per source, one column per value; in several parts where the width asks for it."""
    sources = _distinct(rows, "source")
    cells = {(row["source"], row["value"]): row for row in rows}
    titles = {row["value"]: row["title"] for row in result.tables.get("values", ())}
    named = [_name(source) for source in sources]
    columns: dict[str, list[str]] = {}
    for value in _distinct(rows, "value"):
        found = [cells.get((source, value)) for source in sources]
        columns[value] = [_spread(row) if row else "–" for row in found]
    yield _heading(f"Over {rows[0]['over']}", "mean ± standard deviation (largest - smallest)")
    for part in _parts(columns, _room(named, width)):
        yield _table(
            {"": "left", **dict.fromkeys(part, "right")},
            [
                [name, *(columns[value][number] for value in part)]
                for number, name in enumerate(named)
            ],
        )
    explained = [f"{name}: {titles[name]}" for name in columns if titles.get(name, name) != name]
    if explained:
        yield _dim("; ".join(explained))


def _lengths(rows: Rows, result: Result, width: int) -> Iterator[RenderableType]:
    lengths = sorted({row["n"] for row in rows})
    cells = {(row["source"], row["n"]): row for row in rows}
    yield _heading("Templates by length", "share of texts with a template, templates per token")
    yield _table(
        {"": "left", **{f"n = {n}": "right" for n in lengths}},
        [
            [_name(source), *(_rate(cells.get((source, n))) for n in lengths)]
            for source in _sources(rows, result)
        ],
    )


def _templates(rows: Rows, result: Result, width: int) -> Iterator[RenderableType]:
    most_frequent: dict[tuple[str, str], str] = {}
    for row in result.tables.get("matches", ()):
        most_frequent.setdefault((row["source"], row["template"]), row["text"])
    sources = _sources(rows, result)
    top = _each(sources)
    yield _heading("Templates", f"the {top} most frequent of each source, and their commonest text")
    groups = {}
    for source in sources:
        own = [row for row in rows if row["source"] == source][:top]
        groups[source] = [
            [
                row["template"],
                *(_count(row["count"]), _count(row["texts"])),
                most_frequent.get((source, row["template"]), ""),
            ]
            for row in own
        ]
    columns = {"template": "left", "count": "right", "texts": "right", "commonest text": "left"}
    yield from _listed(width, columns, groups)


def _distinctive(rows: Rows, result: Result, width: int) -> Iterator[RenderableType]:
    sources = _sources(rows, result)
    top = _each(sources)
    reference = _name(result.reference or "the reference")
    yield _heading(
        "Distinctive templates",
        f"the {top} strongest of each source; ▲ more, ▼ fewer than in {reference}, "
        f"corrected p < {SIGNIFICANT}",
    )
    groups = {}
    for source in sources:
        own = [row for row in rows if row["source"] == source and _defined(row["z"])]
        # Mostly what the source does more often; a reference of one habit would fill the table.
        theirs = sorted((row for row in own if row["z"] < 0), key=lambda row: row["z"])[: top // 3]
        ours = sorted((row for row in own if row["z"] >= 0), key=lambda row: -row["z"])
        own = ours[: top - len(theirs)] + theirs
        groups[source] = [
            [
                row["template"],
                *(_count(row["count"]), _count(row["reference_count"])),
                f"{row['z']:.1f}{_arrow(row)}",
                row["examples"][0] if row["examples"] else "",
            ]
            for row in sorted(own, key=lambda row: -row["z"])
        ]
    columns = {"template": "left", "count": "right", reference: "right", "z": "right"}
    yield from _listed(width, {**columns, "for example": "left"}, groups)


def _overlap(rows: Rows, result: Result, width: int) -> Iterator[RenderableType]:
    """A matrix; its columns are numbered, since names would not fit."""
    shares = {}
    for row in rows:
        shares[row["source"], row["other"]] = shares[row["other"], row["source"]] = row["jaccard"]
    sources = [name for name in _order(result) if any(name in pair for pair in shares)]
    named = [_name(source) for source in sources]
    columns = {
        str(number): [
            "·" if source == other else _percent(shares.get((source, other))) for source in sources
        ]
        for number, other in enumerate(sources, 1)
    }
    yield _heading("Templates shared", "by both of two sources, of those that either has")
    for part in _parts(columns, _room(named, width) - 5):
        yield _table(
            {"": "right", " ": "left", **dict.fromkeys(part, "right")},
            [
                [str(place), name, *(columns[number][place - 1] for number in part)]
                for place, name in enumerate(named, 1)
            ],
        )


def _coverage(rows: Rows, result: Result, width: int) -> Iterator[RenderableType]:
    cells = {(row["corpus"], row["source"], row["kind"]): row for row in rows}
    kinds = [kind for kind in _KINDS if any(row["kind"] == kind for row in rows)]
    titles = {_KINDS[kind]: "right" for kind in kinds}
    yield _heading(
        "In a corpus", "among its most frequent n-grams / anywhere in it, with the interval"
    )
    for corpus in _distinct(rows, "corpus"):
        lines = [
            [_name(source), *(_covered(cells.get((corpus, source, kind))) for kind in kinds)]
            for source in _sources(rows, result)
        ]
        yield _table({_name(corpus): "left", **titles}, lines)


def _rank_tests(rows: Rows, result: Result, width: int) -> Iterator[RenderableType]:
    yield _heading("Ranks in a corpus", "1 is the most frequent n-gram; Mann-Whitney U, two-sided")
    columns = dict.fromkeys(("median rank", "of others", "U", "p"), "right")
    for corpus in _distinct(rows, "corpus"):
        lines = [
            [
                _name(row["source"]),
                *(_number(row[name]) for name in ("median", "median_others", "u")),
                _p(row["p"]),
            ]
            for row in rows
            if row["corpus"] == corpus
        ]
        yield _table({_name(corpus): "left", **columns}, lines)


def _in_corpus(rows: Rows, result: Result, width: int) -> Iterator[RenderableType]:
    from rich.text import Text

    groups = Counter((row["corpus"], row["source"], row["why"]) for row in rows)
    for (corpus, source, why), count in groups.items():
        group = (corpus, source, why)
        ids = [r["id"] for r in rows if (r["corpus"], r["source"], r["why"]) == group]
        listed = ", ".join(map(_name, ids[:_LISTED])) + (", …" if count > _LISTED else "")
        verb = "stands" if count == 1 else "stand"
        says = f"{count:,} text{'s' * (count != 1)} of {_name(source)} {verb} in {_name(corpus)}"
        yield Text(f"warning: {says} ({harmless(why)}): {listed}", style="yellow")


def _heading(title: str, explained: str) -> RenderableType:
    from rich.text import Text

    return Text.assemble("\n", (title, "bold"), (f"  {explained}", "dim"))


def _dim(text: str) -> RenderableType:
    from rich.text import Text

    return Text(text, style="dim")


def _table(columns: Mapping[str, str], lines: Sequence[Sequence[str]]) -> RenderableType:
    """Numbers stay in one piece; names give way to them."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for name, side in columns.items():
        if side == "right":
            table.add_column(Text(name), justify="right", no_wrap=True)
        else:
            table.add_column(Text(name), overflow="fold")
    for line in lines:
        table.add_row(*(Text(harmless(cell)) for cell in line))
    return table


def _listed(
    width: int, columns: Mapping[str, str], groups: Mapping[str, Sequence[Sequence[str]]]
) -> Iterator[RenderableType]:
    """Lines under the name of their group, which takes no column from them; the last column, a
    text, takes what room the others leave."""
    from rich.cells import cell_len
    from rich.text import Text

    every = [list(columns), *(line for lines in groups.values() for line in lines)]
    sizes = [
        min(max(cell_len(harmless(cell)) for cell in column), width // 2) for column in zip(*every)
    ]
    sizes[-1] = min(sizes[-1], max(_LEAST_TEXT, width - sum(sizes[:-1]) - 3 * len(sizes)))

    def shown(line: Sequence[str]) -> str:
        cells = (_cell(c, size, side) for c, size, side in zip(line, sizes, columns.values()))
        return " " + "   ".join(cells).rstrip()

    yield Text(f"\n{shown(list(columns))}", style="bold")
    yield Text(" " + "─" * (sum(sizes) + 3 * (len(sizes) - 1)))
    for name, lines in groups.items():
        yield Text(f" {_name(name)}:", style="bold")
        yield from (Text(shown(line), no_wrap=True) for line in lines)


def _cell(text: str, size: int, side: str) -> str:
    """A text in so many cells; a sign says that there was more."""
    from rich.cells import cell_len, set_cell_size

    text = harmless(text[: 4 * size])
    if cell_len(text) > size:
        text = set_cell_size(text, size - 1).rstrip() + "…"
    return " " * (size - cell_len(text)) + text if side == "right" else set_cell_size(text, size)


def _parts(columns: Mapping[str, Sequence[str]], room: int) -> Iterator[list[str]]:
    """Columns side by side as far as there is room, then the rest below."""
    part: list[str] = []
    used = 0
    for name, cells in columns.items():
        size = max(map(len, [name, *cells])) + 3
        if part and used + size > room:
            yield part
            part, used = [], 0
        part.append(name)
        used += size
    if part:
        yield part


def _each(sources: Sequence[str]) -> int:
    """How many lines each source gets below its name, so that all of them fit on a screen."""
    return max(2, min(_TOP, _SCREEN // max(1, len(sources)) - 1))


def _order(result: Result) -> list[str]:
    return sorted(result.sources, key=lambda name: name != result.reference)


def _sources(rows: Rows, result: Result) -> list[str]:
    """The sources of a table, the reference first."""
    return sorted(_distinct(rows, "source"), key=lambda name: name != result.reference)


def _distinct(rows: Rows, name: str) -> list[str]:
    return list(dict.fromkeys(row[name] for row in rows))


def _name(text: str) -> str:
    """A name whole, since names often differ in the middle; only an absurd one is cut."""
    shown = harmless(text[: 2 * _NAME])
    return shown if len(text) <= _NAME else shown[: _NAME - 1] + "…"


def _room(names: Sequence[str], width: int) -> int:
    """The cells that are left beside names; longer ones are folded."""
    return width - min(max(map(len, names)), width // 3) - 4


def _arrow(row: Mapping[str, Any]) -> str:
    if not (_defined(row["p_corrected"]) and row["p_corrected"] < SIGNIFICANT):
        return " "
    return "▲" if row["z"] > 0 else "▼"


def _spread(row: Mapping[str, Any]) -> str:
    """As many decimals as the spread needs to be seen, four at most."""
    sd = row["sd"]
    decimals = min(4, max(0, 1 - math.floor(math.log10(sd)))) if sd else 3
    return f"{row['mean']:,.{decimals}f} ±{sd:.{decimals}f} ({row['range']:.{decimals}f})"


def _rate(row: Mapping[str, Any] | None) -> str:
    if row is None or not _defined(row["rate"]):
        return "–"
    return f"{_percent(row['rate'])} {_number(row['per_token'], '.3f')}"


def _covered(row: Mapping[str, Any] | None) -> str:
    if row is None or not _defined(row["found"]):
        return "–"
    shown = f"{_percent(row['among_frequent'])} / {_percent(row['found'])}"
    if _defined(row["low"]) and _defined(row["high"]):
        shown += f" ({100 * row['low']:.0f}-{100 * row['high']:.0f})"
    return shown


def _percent(share: float | None) -> str:
    return f"{share:.0%}" if share is not None and not math.isnan(share) else "–"


def _p(number: float | None) -> str:
    if number is None or math.isnan(number):
        return "–"
    return "< 0.001" if number < 0.001 else f"{number:.3f}"


def _number(number: float | None, form: str = "") -> str:
    if number is None or math.isnan(number):
        return "–"
    return format(number, form) if form else rounded(number)


def _count(number: int | None) -> str:
    return "–" if number is None else f"{number:,}"


def _defined(number: float | None) -> bool:
    return number is not None and not math.isnan(number)
