"""Results on a terminal: values, further tables, verdicts with bars, what decides originality."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rich.text import Text

from rote.core.facets import EACH
from rote.core.numbers import name_some
from rote.core.progress import several
from rote.core.result import Result
from rote.core.table import Column, Row, defined, make_columns
from rote.report.cells import Cell, Sheet, make_sheets, rows_sheet, text_cell
from rote.report.grid import (
    BORDERLINE,
    EQUIVALENT,
    SIGNIFICANT,
    UNTESTED,
    CellValue,
    GridCell,
    GridRow,
    list_cells,
    make_grid,
    make_pair_grid,
    make_slug,
    order_sources,
    round_like,
    round_number,
    split_facets,
    split_panel,
)
from rote.report.screen import TableLine, grid_lines, heading_text, plain_text, print_sheet
from rote.report.terminal import facts_table, strip_controls
from rote.report.value_tables import SWEEP, across_sheets, further_tables, values_table_layout
from rote.report.verdicts import (
    Aspect,
    Rank,
    VerdictComparison,
    Verdicts,
    judge_facets,
    rank_sources,
)
from rote.report.wording import POWER_NOTE, describe_correction, gather_notes, share_range

_MANY_SOURCES = 4
_MAX_NAMED = 12
_MAX_PRINTED = 60
"""Sources that are printed: nobody reads thousands of lines, and files have them all."""


def print_results(results: Sequence[Result], console: Any, across: str = "") -> None:
    """Print values, notes and further tables; with `across` two-way tables alone."""
    if across:
        for sheet in across_sheets(results, across):
            print_sheet(sheet, console)
        _print_legend(results, console)
    else:
        _print_all(results, console)
    for result in results:
        console.print(strip_controls(str(result.signature)), style="dim", soft_wrap=True)


def _print_all(results: Sequence[Result], console: Any) -> None:
    laid = {result.measure: table for result in results if (table := values_table_layout(result))}
    for result in results:
        for sheet in make_sheets(laid[result.measure], result) if result.measure in laid else ():
            if sheet.terminal:
                print_sheet(sheet, console)
    _print_values(
        [result for result in results if result.by_source and result.measure not in laid], console
    )
    # Where no values are shown, what the signs mean comes below the tables.
    later = bool(results) and all(table.limit == 0 for table in laid.values()) and bool(laid)
    if not later:
        _print_legend(results, console)
    for result in results:
        print_tables(_shorten_result(result), console)
    if later:
        _print_legend(results, console)


def print_panel(results: Sequence[Result], console: Any) -> None:
    """The verdicts of several measures, and what must be known; all values where none is."""
    facets = [facet for facet in judge_facets(results) if facet.comparisons]
    if not facets:
        print_results(results, console)
        return
    for facet in facets:
        print_verdicts(facet, console)
    for line in _note_lines(results):
        console.print(f"note: {strip_controls(line)}")
    console.print("--all prints every value", style="dim")


def _print_legend(results: Sequence[Result], console: Any) -> None:
    console.print()
    for line in _legend_lines(results):
        console.print(strip_controls(line), style="dim")
    for line in _note_lines(results):
        console.print(f"note: {strip_controls(line)}")


def results_text(results: Sequence[Result], width: int = 120, across: str = "") -> str:
    """The same as plain text."""
    return plain_text(
        lambda results, console: print_results(results, console, across), results, width
    )


def print_tables(result: Result, console: Any) -> None:
    # What compares groups of different facets stands before what each facet has of its own.
    limited = [table for table in further_tables(result) if table.limit]
    for table in (table for table in limited if table.name == SWEEP):
        for sheet in make_sheets(table, result):
            print_sheet(sheet, console)
    # Rows of a study that shows its values in its own way are not about groups of texts.
    is_of_study = values_table_layout(result) is not None
    for facet, part in [(result.facets()[0], result)] if is_of_study else split_facets(result):
        further = [s for table in limited if table.name != SWEEP for s in make_sheets(table, part)]
        if facet.title and not is_of_study and any(sheet.data for sheet in further):
            console.print(heading_text(facet.title), highlight=False)
        for sheet in further:
            print_sheet(sheet, console)


def _print_values(results: Sequence[Result], console: Any) -> None:
    for title, parts in split_panel(results):
        if title:
            reference = parts[0].reference and _reference_name(parts[0])
            against = f"against {reference}" if reference else "without a reference"
            console.print(heading_text(title, against))
        sources = order_sources(parts)
        first_sources, reference = sources[:_MAX_PRINTED], parts[0].reference
        columns = [Column("", " "), *(Column(name, name, "number") for name in first_sources)]
        place = first_sources.index(reference) + 1 if reference in first_sources else None
        for text in grid_lines(
            columns,
            dict(_value_lines(parts, first_sources)),
            console.width,
            keys=1 if place is None else 2,
            bold=place if place is not None else -1,
        ):
            console.print(text, highlight=False)
        if (omitted := len(sources) - _MAX_PRINTED) > 0:
            line = f"not printed: {several(omitted, 'more source')}; --csv and --json give them all"
            console.print(line, highlight=False)
        _print_pairs(parts, console)
        _print_undetected(parts, console)


def _reference_name(result: Result) -> str:
    return "each other" if result.reference == EACH else str(result.reference)


def _print_pairs(parts: Sequence[Result], console: Any) -> None:
    rows = [row for part in parts for row in make_pair_grid(part)]
    if not rows:
        return
    pairs = list(dict.fromkeys(pair for row in rows for pair in row.cells))
    lines: dict[str, list[TableLine]] = {}
    for row in rows:
        aspect_lines = lines.setdefault(row.aspect, [])
        cells = [row.cells.get(pair) for pair in pairs]
        aspect_lines.append(TableLine([f"  {row.title}", *map(_difference_text, cells)]))
        if any(cell and not math.isnan(cell.matched.difference) for cell in cells):
            equal = [_difference_text(cell and cell.matched) for cell in cells]
            aspect_lines.append(TableLine(["    at equal size", *equal], "dim"))
    console.print(
        heading_text("Pairs of sources", "the difference between the first and the second")
    )
    columns = [Column("", " "), *(Column(pair, pair, "number") for pair in pairs)]
    for text in grid_lines(columns, lines, console.width, keys=1):
        console.print(text, highlight=False)


def _difference_text(cell: CellValue | None) -> str:
    if cell is None:
        return ""
    sign = "+" if cell.difference > 0 else ""
    return sign + round_number(cell.difference) + (cell.mark or " ")


def _print_undetected(parts: Sequence[Result], console: Any) -> None:
    """Where no difference was found: how large one would have had to be."""
    lines = []
    for part in parts:
        paired = make_pair_grid(part)
        for row in paired or make_grid(part):
            reference = None if paired else row.cells.get(str(part.reference))
            for equal in (False, True):
                line = _detectable_line(row, equal, reference)
                lines += [TableLine(line)] if line else []
    if not lines:
        return
    note = f"smallest difference that would be {POWER_NOTE}"
    console.print(heading_text("No difference found", note))
    what = "pairs" if parts[0].reference == EACH else "sources"
    columns = [Column("value"), Column(what), Column("smallest", "smallest difference")]
    columns += [Column("share", f"of {_reference_name(parts[0])}")] if what == "sources" else []
    for text in grid_lines(columns, {"": lines}, console.width):
        console.print(text, highlight=False)


def _detectable_line(row: GridRow, equal: bool, reference: GridCell | None) -> list[str]:
    """One line: in how many sources, from the smallest to the largest that it takes."""
    values = {name: cell.at(equal) for name, cell in row.cells.items()}
    tested = [name for name, value in values.items() if value.verdict != "not tested"]
    names = [name for name in tested if values[name].verdict == "not found"]
    sizes = [values[name].detectable for name in names]
    known = [size for size in sizes if not math.isnan(size)]
    if not known:
        return []
    who = ", ".join(names) if len(names) <= 2 else f"{len(names)} of {len(tested)}"
    title = f"{row.title} at equal size" if equal else row.title
    ends = list(dict.fromkeys(round_number(end) for end in (min(known), max(known))))
    line = [title, who, " to ".join(ends)]
    if reference is None:
        return line
    base = abs(reference.at(equal).estimate)
    return [*line, share_range([size / base for size in known]) if base else ""]


def _value_lines(
    parts: Sequence[Result], sources: Sequence[str]
) -> Iterator[tuple[str, list[TableLine]]]:
    first = parts[0]
    # With --within, what is counted are sets of texts.
    texts = "sets" if "within" in dict(first.signature.settings) else "texts"
    sizes = []
    for name, what in ((texts, "texts"), ("words", "words")):
        numbers = (f"{getattr(first.by_source[s], what):,} " for s in sources)
        sizes.append(TableLine([name, *numbers], "dim"))
    yield "", sizes
    lines_by_aspect: dict[str, list[TableLine]] = {}
    for row in (row for part in parts for row in make_grid(part)):
        lines = lines_by_aspect.setdefault(row.aspect, [])
        title = f"  {row.title}" + (" ~" if row.length_sensitive else "")
        lines.append(TableLine([title, *(_value_text(row.cells.get(s)) for s in sources)]))
        if row.matched_at and any(not math.isnan(c.matched.estimate) for c in row.cells.values()):
            values = (row.cells[s].matched if s in row.cells else CellValue() for s in sources)
            # A blank in place of the arrow keeps the digits in line.
            known = ("" if math.isnan(v.estimate) else v.text + (v.mark or " ") for v in values)
            lines.append(TableLine([f"    at {row.matched_at}", *known], "dim"))
    yield from lines_by_aspect.items()


def _shorten_result(result: Result) -> Result:
    printed: set[str] = set()
    for facet in result.facets():
        every = sorted(facet.names, key=lambda group: group != facet.reference)
        printed.update(every[:_MAX_PRINTED])
    if len(printed) == len(result.by_source):
        return result
    return replace(
        result,
        by_source={name: s for name, s in result.by_source.items() if name in printed},
        tables={
            table: [row for row in rows if "source" not in row or row["source"] in printed]
            for table, rows in result.tables.items()
        },
    )


def _value_text(cell: GridCell | None) -> str:
    if cell is None:
        return ""
    text = cell.text
    if cell.ends:
        text = f"{round_number(cell.estimate)} [{' to '.join(cell.ends)}]"
    return text + (cell.mark or " ")


def _legend_lines(results: Sequence[Result]) -> list[str]:
    """What the signs mean; only of those that are there."""
    lines = []
    interval = next((r.interval for r in results if r.interval), None)
    cells = list_cells(results)
    if interval and any(not math.isnan(cell.low) for cell in cells):
        method = f": {interval.method}" if values_table_layout(results[0]) else ""
        lines.append(f"± half-width of the {interval.level:.0%} interval, or both ends{method}")
    usual = [result for result in results if not values_table_layout(result)]
    if any(result.comparisons for result in usual):
        pairs = results[0].reference == EACH
        whom = "the second source of a pair" if pairs else _reference_name(usual[0])
        lines.append(f"▲ ▼ above or below {whom}: permutation test, corrected p < {SIGNIFICANT}")
        lines.append(f"corrected: {describe_correction(usual)}")
    margins = (dict(result.signature.settings).get("equivalent") for result in usual)
    if margin := next(filter(None, margins), ""):
        lines.append(
            f"{EQUIVALENT} within {margin} of {_reference_name(usual[0])}: two one-sided tests, "
            f"corrected p < {SIGNIFICANT}"
        )
    if any(cell.has_sign(BORDERLINE) for cell in cells):
        lines.append(f"{BORDERLINE} borderline: more permutations could change the verdict")
    if any(cell.has_sign(UNTESTED) for cell in cells):
        lines.append(f"{UNTESTED} not tested (see the notes)")
    if any(row["length_sensitive"] for result in usual for row in result.tables["values"]):
        lines.append(
            "~ depends on the number of texts or their length; the line below it, if any, compares "
            "equal numbers of windows of equal length"
        )
    return lines


def _note_lines(results: Sequence[Result]) -> list[str]:
    """Every note once, with the measures and the sources that it is about."""
    everyone = list(dict.fromkeys(source for result in results for source in result.by_source))
    about: dict[str, list[str]] = {}
    for result in results:
        for line, who in gather_notes(result):
            line = f"{result.measure}: {line}" if who else line
            of = line.startswith((f"{result.measure}:", f"{result.measure} "))
            rest = line.removeprefix(result.measure) if of else line
            about.setdefault(rest + _name_sources(who, everyone), []).extend([result.measure] * of)
    return [", ".join(dict.fromkeys(measures)) + rest for rest, measures in about.items()]


def _name_sources(who: Sequence[str], everyone: Sequence[str]) -> str:
    who = list(dict.fromkeys(who))
    if not who:
        return ""
    if len(who) == len(everyone) >= _MANY_SOURCES:
        return " (all)"
    return f" ({name_some(who, _MAX_NAMED)})"


_BAR_WIDTH, _NAME_WIDTH = 25, 26
_MAX_SOURCES = 300
_MARKS = {"differs": "●", "borderline": "◎"}
BAR_NOTE = (
    "Bar and effect: standard deviations of single texts, with their interval. ● holds after "
    "correction, ○ does not, ◎ borderline."
)


def verdict_sheet(verdicts: Verdicts) -> Sheet:
    rows = [
        {
            "aspect": aspect.name,
            "source": verdicts.name_pair(c),
            "difference": c.size,
            "interval": c.size_interval,
            "effect": c.effect,
            "effect_low": c.effect_interval[0],
            "effect_high": c.effect_interval[1],
            "p": c.p,
            "detectable": c.detected,
            "verdict": c.verdict,
        }
        for aspect in verdicts.aspects
        for c in aspect.comparisons
    ]
    columns = [
        *make_columns("aspect source difference:text interval:text"),
        Column("effect", kind="number", ends=("effect_low", "effect_high"), decimals=2),
        *make_columns("p:p detectable:text verdict"),
    ]
    return rows_sheet(
        verdicts.id, verdicts.title, columns, rows, note=verdicts.reading_note, terminal=99
    )


def rank_sheet(verdicts: Verdicts) -> Sheet:
    """Sources by aspects, where none is the reference: ranks, letters and values."""
    order, ranks_by_aspect = rank_sources(verdicts)

    def make(row: Row) -> list[Cell]:
        return [text_cell(row["source"]), *(_rank_cell(row[a.name]) for a in verdicts.aspects)]

    columns = [Column("source"), *map(_rank_column, verdicts.aspects)]
    data = [
        {"source": s, **{name: ranks.get(s) for name, ranks in ranks_by_aspect.items()}}
        for s in order
    ]
    says = "Rank 1 is the most diverse. Sources that share a letter do not differ significantly."
    note = " ".join(filter(None, (says, verdicts.power_note, verdicts.values_note)))
    id, title, limit = f"{verdicts.id}-ranks", verdicts.title, _MAX_SOURCES
    return Sheet(id, title, columns, data, make, note=note, wide=True, terminal=99, limit=limit)


def _rank_column(aspect: Aspect) -> Column:
    slug = make_slug(aspect.name)
    lines = [aspect.row.title]
    if aspect.row.higher == "neither":
        lines.append(f"1: {aspect.ways[0]}")
    if aspect.equal:
        lines.append("at equal length")
    ends = f"{slug}_letters", f"{slug}_value"
    return Column(f"{slug}_rank", aspect.name, "number", ends=ends, note="\n".join(lines))


def _rank_cell(rank: Rank | None) -> Cell:
    if rank is None:
        return Cell("–", (None, None, None))
    low, high = (round_like(end, rank.value) for end in (rank.low, rank.high))
    number_text = round_number(rank.value)
    below = (number_text, *([f"[{low}, {high}]"] if low else []))
    text = f"{rank.rank} {rank.letters}"
    return Cell(text, (rank.rank, rank.letters, rank.value), below=below, beside=f"({number_text})")


def print_verdicts(verdicts: Verdicts, console: Any, title: str = "", note: str = BAR_NOTE) -> None:
    """One line per aspect and source: bar, difference, effect with its interval, verdict."""
    if verdicts.drawn and verdicts.reference is None:
        print_sheet(rank_sheet(verdicts), console)
    elif verdicts.drawn:
        console.print(heading_text(title or verdicts.title), highlight=False)
        _print_bars(verdicts, console)
        if note:
            console.print(note, style="dim", highlight=False)
    if unequal := verdicts.unequal_note:
        console.print(strip_controls(unequal), highlight=False, markup=False)


def _print_bars(verdicts: Verdicts, console: Any) -> None:
    several = len(verdicts.sources) > 1
    lines = []
    for aspect in verdicts.drawn:
        for place, comparison in enumerate(aspect.drawn):
            name = aspect.name if place == 0 else ""
            who = strip_controls(comparison.source) if several else ""
            ends = f" [{comparison.effect_ends}]" if comparison.effect_ends else ""
            bar, effect = draw_bar(comparison, verdicts), comparison.effect_words + ends
            lines.append(([name, who, bar, comparison.size, effect], comparison.verdict))
    widths = [min(_NAME_WIDTH, max(len(cells[n]) for cells, _ in lines)) for n in range(5)]
    diverse_side, right = "← more diverse", "more repetitive →"
    names = " " * sum(width + 2 for width in widths[:2] if width)
    ends = f" {names}{diverse_side} {right:>{_BAR_WIDTH - len(diverse_side)}}"
    console.print(ends, style="dim", highlight=False)
    for cells, verdict in lines:
        cut = (c if len(c) <= w else f"{c[: w - 1]}…" for c, w in zip(cells, widths))
        padded = "  ".join(f"{c:<{w}}" for c, w in zip(cut, widths) if w)
        console.print(f" {padded}  {verdict}", highlight=False, markup=False, soft_wrap=True)


def draw_bar(comparison: VerdictComparison, verdicts: Verdicts) -> str:
    """The effect on a line of fixed width: zero, the interval and a mark."""
    low, high = verdicts.bounds

    def column(effect: float) -> int:
        share = (min(max(effect, low), high) - low) / (high - low)
        return round(share * (_BAR_WIDTH - 1))

    cells = [" "] * _BAR_WIDTH
    if not math.isnan(comparison.effect_interval[0]):
        first, last = map(column, comparison.effect_interval)
        cells[first : last + 1] = "─" * (last + 1 - first)
    zero = column(0.0)
    cells[zero] = "│" if cells[zero] == " " else "┼"
    if not math.isnan(comparison.effect):
        cells[column(comparison.effect)] = _MARKS.get(comparison.state, "○")
    return "".join(cells)


Rows = Sequence[Mapping[str, Any]]
_MAX_FAILING, _MAX_ORIGINAL, _MAX_MERGED = 4, 6, 5
_NUMBERS = {2: "two", 3: "three", 4: "four"}
_MIN_CONTEXT = 20


def print_originality(result: Result, console: Any) -> None:
    for facet, part in split_facets(result):
        if not part.tables.get("counts"):
            continue
        title = f"{facet.title}: " if facet.title else ""
        for table in (_failing_lines, _original_lines):
            for lines_of_table in table(part, title, console.width):
                console.print(lines_of_table, highlight=False)
    if facts := describe_ground_truth(result):
        console.print(heading_text("The ground truth", "all verdicts concern it alone"))
        console.print(facts_table(facts), highlight=False)


def _failing_lines(result: Result, title: str, width: int) -> Iterator[Text]:
    """For each source the sentences that repeat most, the fragment marked, and whose it is."""
    whose: dict[tuple[str, str, int, int], list[str]] = {}
    for row in result.tables["citations"]:
        key = (row["source"], row["id"], row["start"], row["end"])
        document, author = strip_controls(row["document"]), strip_controls(row["author"] or "")
        whose.setdefault(key, []).append(f"{author} ({document})" if row["author"] else document)
    rows = [row for row in result.tables["sentences"] if row["fails"]]
    if not rows:
        return
    yield heading_text(
        f"{title}What fails", "the longest fragments that need a citation, with their sources"
    )
    for source in _order_by_reference(rows, result):
        of_source = [row for row in rows if row["source"] == source]
        failing = [
            (max(row["cited_fragments"], key=lambda f: f["words"]), row) for row in of_source
        ]
        failing.sort(key=lambda pair: (-pair[0]["words"], pair[1]["id"], pair[1]["sentence"]))
        yield Text(f" {strip_controls(source)}", style="bold")
        for span, row in failing[:_MAX_FAILING]:
            yield _mark_fragment(row, span, width - 4)
            holders = whose.get((source, row["id"], span["start"], span["end"]), [])
            where = f"{strip_controls(row['id'])}, sentence {row['sentence']}"
            yield Text(f"    {where}: {'; '.join(holders)}", style="dim")


def _original_lines(result: Result, title: str, width: int) -> Iterator[Text]:
    """For each source a fragment of some sentences that nobody in the ground truth has."""
    rows = [row for row in result.tables["sentences"] if row["original"]]
    if not rows:
        return
    yield heading_text(
        f"{title}What is original", "fragments that do not occur in the ground truth"
    )
    for source in _order_by_reference(rows, result):
        fragments = [row["original_fragments"][0] for row in rows if row["source"] == source]
        examples = " · ".join(strip_controls(s["fragment"]) for s in fragments[:_MAX_ORIGINAL])
        yield Text.assemble((f" {strip_controls(source)}: ", "bold"), examples)


def describe_ground_truth(result: Result) -> dict[str, str]:
    """What the verdicts rest on; the rows of every facet are the same."""
    if not result.tables.get("ground_truth"):
        return {}
    size = result.tables["ground_truth"][0]
    facts = {
        "size": f"{several(size['documents'], 'document')}, {several(size['words'], 'word')}",
        "sources": f"{size['sources']:,}: {several(size['authors'], 'author')}, "
        f"{several(size['documents_without_author'], 'document')} without one",
    }
    unseen = {row["length"]: row["unseen"] for row in result.tables.get("incompleteness", ())}
    known = [(unseen[n], name) for n, name in _NUMBERS.items() if defined(unseen.get(n))]
    rows_shown = [f"{share:.0%} of those of {name} words" for share, name in known]
    if rows_shown:
        facts["missing"] = (
            f"of the fragments of further texts like it {', '.join(rows_shown)} (Good-Turing)"
        )
    if size.get("held_out_sentences"):
        failing, sentences = size["held_out_failing"], size["held_out_sentences"]
        facts["by chance"] = (
            f"{failing / sentences:.1%} of its own sentences need a citation of another source "
            f"({failing:,} of {sentences:,} held out)"
        )
    rows = result.tables.get("merged_authors", ())
    authors = {(row["spellings"][0], row["author"]): row for row in rows}
    merged = [" = ".join(row["spellings"]) for row in authors.values() if row["author"]]
    unclear = [
        f"{row['spellings'][0]} ({' or '.join(row['could_be'])})"
        for row in authors.values()
        if not row["author"]
    ]
    guessed = [f"{n} = {row['author']}" for row in authors.values() for n in row.get("guessed", ())]
    settings = {"one author": merged, "guessed": guessed, "left apart": unclear}
    return facts | {
        what: name_some(names, _MAX_MERGED, "; ") for what, names in settings.items() if names
    }


def _order_by_reference(rows: Rows, result: Result) -> list[str]:
    sources = dict.fromkeys(row["source"] for row in rows)
    return sorted(sources, key=lambda name: name != result.reference)


def _mark_fragment(row: Mapping[str, Any], span: Mapping[str, Any], width: int) -> Text:
    """The sentence in one line with the fragment in brackets; cut on both sides if it must be."""
    first, last = span["start"] - row["start"], span["end"] - row["start"]
    before, after = strip_controls(row["text"][:first]), strip_controls(row["text"][last:])
    middle = strip_controls(span["fragment"])
    room = max(_MIN_CONTEXT, (width - len(middle)) // 2)
    before = before if len(before) <= room else f"…{before[1 - room :]}"
    after = after if len(after) <= room else f"{after[: room - 1]}…"
    gap = " " if row["text"][:first][-1:].isspace() else ""
    behind = " " if row["text"][last:][:1].isspace() else ""
    return Text.assemble(
        f"  {before}{gap}", (f"[{middle}]", "bold"), f"{behind}{after}", no_wrap=True
    )
