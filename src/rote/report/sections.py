"""The sections of a report, in order; only those that the report has something for.

Every section is data (`Block`): the page, Markdown and the folder are made of the same ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from rote.core.facets import EACH, JOINT, is_input
from rote.core.numbers import name_some
from rote.core.progress import several
from rote.core.record import Chapter
from rote.core.registry import find, main_values, of_result, title_of
from rote.core.result import Result, Row
from rote.core.table import Column, make_columns
from rote.report import value_tables
from rote.report.cells import Sheet, infer_columns, rows_sheet, shorten_name
from rote.report.charts import CURVE, VALUES, draw_chart, list_charts
from rote.report.grid import GridRow, make_grid, result_key
from rote.report.methods import write_methods
from rote.report.report import (
    Alerts,
    Block,
    BlockGroup,
    Code,
    Facts,
    Figure,
    FindingList,
    ItemList,
    MarkedTexts,
    Material,
    Paragraph,
    Report,
    Section,
)
from rote.report.result_tables import describe_ground_truth, rank_sheet, verdict_sheet
from rote.report.summary import list_alerts, summarize
from rote.report.svg import chart_spec
from rote.report.verdicts import Verdicts, judge_facets
from rote.report.wording import gather_notes


def make_sections(study: Report) -> list[Section]:
    by_chapter: dict[str, list[Result]] = {}
    for result in study.results:
        by_chapter.setdefault(chapter_of(result), []).append(result)
    others = by_chapter.pop("", [])
    chapters = sorted(by_chapter, key=lambda name: _chapter(name).place)
    repetition, items, further = list[Result](), list[Result](), list[Result]()
    parts = {"corpus": repetition, "items": items}
    for result in others:
        of = of_result(result.measure)
        section = of.section if of else "others"
        parts.get(section, [] if is_in_panel(result) else further).append(result)
    of_items = results_section("items", "Test items", items)
    if len(items) == 1:
        record = find(items[0].measure)
        of_items = Section(record.name, record.title, _result_blocks(items[0]))
    every = (
        summary_section(study),
        panel_section(study.results),
        across_section(study),
        *(chapter_section(study, name, by_chapter[name]) for name in chapters),
        results_section("repetition", "Repetition of training text", repetition),
        of_items,
        results_section("further", "Further measures", further),
        omitted_section(study),
        methods_section(study),
        provenance_section(study),
    )
    sections = [part for part in every if part is not None]
    id_counts = Counter(part.id for part in sections)
    return [replace(part, blocks=_make_ids_unique(part.blocks, id_counts)) for part in sections]


def _make_ids_unique(blocks: Sequence[Block], id_counts: Counter[str]) -> list[Block]:
    """The blocks with ids of their own: a study may hold a measure twice."""
    unique: list[Block] = []
    for block in blocks:
        if isinstance(block, BlockGroup):
            unique.append(replace(block, blocks=_make_ids_unique(block.blocks, id_counts)))
        elif isinstance(block, (Sheet, Verdicts, Figure, MarkedTexts)):
            id_counts[block.id] += 1
            times = id_counts[block.id]
            unique.append(replace(block, id=f"{block.id}-{times}") if times > 1 else block)
        else:
            unique.append(block)
    return unique


_TOOL_COLUMNS = [*make_columns("name version licence use=used_for")]
_ROLES = {"texts": "texts", "corpus": "corpus", "train": "training text"}


def lead_lines(study: Report) -> list[str]:
    """What was measured on what, in two lines."""
    names = {name for result in study.results for name in result.by_source}
    size = _describe_size(study)
    sources = several(len(names), "source")
    compared = "without a reference"
    if study.reference:
        reference = "each other" if study.reference == EACH else shorten_name(study.reference)
        compared = f"compared with {reference}"
    measures = len({title_of(result) for result in study.results})
    grounds = [material for material in study.materials if material.role != "texts"]
    corpora = [f"held against {_ROLES.get(m.role, m.role)} {shorten_name(m.name)}" for m in grounds]
    second = "; ".join([several(measures, "measure"), *corpora])
    return [f"{size}{sources}, {compared}.", f"{second}."]


def _describe_size(study: Report) -> str:
    """`240 texts (199,321 words) of `: what was measured, by whatever measured most."""
    facets = judge_facets(study.results)
    texts = sum(n for facet in facets for name, n in facet.texts.items() if not is_input(name))
    words = sum(n for facet in facets for name, n in facet.words.items() if not is_input(name))
    if not texts or any("within" in dict(result.signature.settings) for result in study.results):
        return ""
    inputs = [result.facts for result in study.materials if result.role == "texts"]
    totals = [sum(facts.get(what, 0) for facts in inputs) for what in ("texts", "words")]
    if all(totals) and texts >= totals[0]:
        texts, words = totals
    count = several(texts, "text")
    if texts < totals[0]:
        count = f"{texts:,} of {several(totals[0], 'text')}"
    return f"{count} ({several(words, 'word')}) of "


def format_date(study: Report) -> str:
    try:
        time = datetime.fromisoformat(study.created)
    except ValueError:
        return study.created
    zone = f" {time.tzname()}" if time.tzinfo else ""
    return f"{time.day} {time:%B %Y, %H:%M}{zone}"


def summary_section(study: Report) -> Section | None:
    summarized = summarize(study)
    first, *others = [_facet_blocks(facet) for facet in summarized.verdicts if facet.drawn] or [[]]
    blocks: list[Block] = [*first]
    if summarized.statements:
        blocks.append(FindingList(summarized.opening()))
    if known := list_alerts(study, summarized.verdicts):
        blocks.append(Alerts(known))
    more: list[Block] = [block for facet_blocks in others for block in facet_blocks]
    if rest := summarized.rest():
        more.append(FindingList(rest))
    if more:
        blocks.append(BlockGroup("More on what was found", more, closed=True))
    return Section("summary", "Summary", blocks) if blocks else None


def _facet_blocks(facet: Verdicts) -> list[Block]:
    if facet.reference is not None:
        return [facet]
    unequal = [Paragraph(facet.unequal_note, quiet=True)] if facet.unequal_note else []
    pairs = BlockGroup("Pairs of sources", [verdict_sheet(facet)], closed=True)
    return [rank_sheet(facet), *unequal, pairs]


def omitted_section(study: Report) -> Section | None:
    if not study.omitted:
        return None
    rows = [{"part": omission.section, "why": omission.reason} for omission in study.omitted]
    sheet = rows_sheet("omitted-parts", "What, and why", make_columns("part why"), rows)
    return Section("omitted", "Left out", [sheet])


def methods_section(study: Report) -> Section | None:
    text = write_methods(study)
    blocks: list[Block] = [Paragraph(paragraph) for paragraph in text.paragraphs]
    if text.references:
        works = ItemList(text.references, addresses=text.addresses)
        blocks.append(BlockGroup("References", [works, Code(text.bibtex)], closed=True))
    return Section("methods", "Methods", blocks) if blocks else None


def provenance_section(study: Report) -> Section | None:
    blocks: list[Block] = [_data_sheet(study)] if study.materials else []
    if sources := _sources_sheet(study):
        blocks.append(sources)
    if study.tools:
        names = [column.field for column in _TOOL_COLUMNS]
        rows = [{name: getattr(tool, name) for name in names} for tool in study.tools]
        blocks.append(rows_sheet("tools", "Tools and models", _TOOL_COLUMNS, rows))
    if study.results:
        note = "Results with the same signature on the same texts have the same numbers."
        # A measure by name; where there are two of a kind, with what is different about it.
        counts = Counter(r.measure for r in study.results)
        facts = [
            (result_key(r) if counts[r.measure] > 1 else r.measure, str(r.signature))
            for r in study.results
        ]
        signatures: list[Block] = [Paragraph(note, quiet=True), Facts(facts, code=True)]
        blocks.append(BlockGroup("Signatures", signatures, closed=True))
    return Section("provenance", "Data, tools and settings", blocks) if blocks else None


def _data_sheet(study: Report) -> Sheet:
    rows = [
        {
            "role": _ROLES.get(material.role, material.role),
            "name": material.name,
            "holds": "; ".join(_describe_facts(material)),
            "fingerprint": material.fingerprint,
        }
        for material in study.materials
    ]
    columns = [*make_columns("role name holds=what_it_holds")]
    return rows_sheet("data", "Data", [*columns, Column("fingerprint", kind="code")], rows)


def _describe_facts(material: Material) -> Iterator[str]:
    for name, value in material.facts.items():
        if isinstance(value, (int, float)):
            yield f"{value:,} {name}"
        elif isinstance(value, (list, tuple)):
            yield f"{name}: {', '.join(map(str, value))}"
        elif not isinstance(value, Mapping):
            yield f"{name}: {value}"


def _sources_sheet(study: Report) -> Sheet | None:
    """How much each source of the texts holds, where the study knows."""
    known = [material.facts.get("sources") for material in study.materials]
    rows = [
        {"source": name, **facts}
        for sources in known
        for name, facts in (sources.items() if isinstance(sources, Mapping) else ())
        if isinstance(facts, Mapping)
    ]
    if not rows:
        return None
    return rows_sheet(
        "sources", "Sources", infer_columns(rows), rows, by="source", reference=study.reference
    )


_MAX_NAMED = 8


def _explanation(result: Result) -> list[Block]:
    """In a line what it says."""
    record = of_result(result.measure)
    says = record.says if record else ""
    sentence = says if isinstance(says, str) else says(dict(result.signature.settings))
    return [Paragraph(sentence)] if sentence else []


def _tests_group(
    results: Sequence[Result], id: str = "tests", titles: Mapping[str, str] | None = None
) -> list[Block]:
    title_by_key = titles or {result_key(result): title_of(result) for result in results}
    tests = value_tables.comparisons_sheet(results, id, title_by_key)
    pairs = any(result.reference == EACH for result in results)
    heading = "Tests of pairs" if pairs else "Tests against the reference"
    return _fold(heading, [tests] if tests else [])


def _result_tests(result: Result) -> list[Block]:
    return _tests_group([result], f"tests-{result.measure}")


def _notes_block(result: Result) -> list[Block]:
    every = len(result.by_source)
    notes = []
    for note, names in gather_notes(result):
        some = name_some(list(map(shorten_name, names)), _MAX_NAMED)
        notes.append(f"Note: {note} ({some})" if 0 < len(names) < every else f"Note: {note}")
    return [ItemList(notes, quiet=True)] if notes else []


def is_in_panel(result: Result) -> bool:
    record = of_result(result.measure)
    return record is not None and bool(record.panel)


def panel_section(results: Sequence[Result]) -> Section | None:
    panel_results = [result for result in results if is_in_panel(result)]
    if not panel_results:
        return None
    main = {
        (result.measure, value)
        for result in panel_results
        for value in main_values(result.measure, [row.value for row in make_grid(result)])
    }
    titles = {result_key(result): title_of(result) for result in panel_results}

    def chosen(row: GridRow) -> bool:
        return (row.measure, row.value) in main

    blocks: list[Block] = [
        value_tables.sources_sheet(
            panel_results, "panel-values", "The panel in numbers", chosen, titles
        ),
        *_fold("How values move with length", curve_figures(panel_results)),
    ]
    for result in panel_results:
        section_blocks = [
            *_explanation(result),
            value_tables.values_sheet(result, title_of(result)),
            *_notes_block(result),
        ]
        blocks.append(BlockGroup(title_of(result), section_blocks, closed=True))
    return Section("panel", "Diversity", [*blocks, *_tests_group(panel_results, titles=titles)])


def across_section(study: Report) -> Section | None:
    headlines = value_tables.headline_sheet(study.results, study.across)
    if headlines is None:
        return None
    sheets = [
        sheet
        for result in study.results
        if study.across in result.by and (sheet := value_tables.across_sheet(result, study.across))
    ]
    every = BlockGroup("All values", sheets, closed=True)
    return Section("across", f"Side by side: {study.across}", [headlines, every])


def results_section(id: str, heading: str, results: Sequence[Result]) -> Section | None:
    if not results:
        return None
    groups = [BlockGroup(title_of(r), _result_blocks(r), closed=True) for r in results]
    return Section(id, heading, groups)


def _result_blocks(result: Result) -> list[Block]:
    drawn = figure_blocks(result).values()
    values = [value_tables.values_sheet(result, title_of(result))] if result.by_source else []
    tables = [*values, *_notes_block(result), *drawn, *value_tables.page_sheets(result)]
    return [*_explanation(result), *tables, *_result_tests(result)]


def chapter_of(result: Result) -> str:
    """The record in whose chapter a result is shown; nothing: in none."""
    record = of_result(result.measure)
    if record is None:
        return ""
    table_names = (name for table, name in record.joins.items() if table in result.tables)
    return next(table_names, record.name if record.chapter else "")


def _chapter(name: str) -> Chapter:
    chapter = find(name).chapter
    assert chapter is not None
    return chapter


def chapter_section(study: Report, name: str, results: Sequence[Result]) -> Section:
    blocks: list[Block] = []
    for result in sorted(results, key=lambda result: result.measure != name):
        if result.measure == name:
            blocks += _chapter_blocks(study, result, _chapter(name))
        else:
            figures = [*figure_blocks(result).values(), *value_tables.page_sheets(result)]
            section_blocks = [*_explanation(result), *figures, *_notes_block(result)]
            blocks.append(BlockGroup(title_of(result), section_blocks, closed=True))
    return Section(name, _chapter(name).heading, blocks)


def _chapter_blocks(study: Report, result: Result, chapter: Chapter) -> list[Block]:
    drawn, tables = figure_blocks(result), value_tables.page_sheets(result)
    folds, first = bool(chapter.folded), {f"{result.measure}-{name}" for name in chapter.first}
    open_figures = [block for name, block in drawn.items() if not folds or name in chapter.first]
    open_tables = [table for table in tables if table.id in first]
    rest = [table for table in tables if table.id not in first]
    texts = [text for text in study.evidence if text.section == result.measure]
    title, marked = "" if folds else chapter.texts, list[Block]()
    if texts:
        marked = [MarkedTexts(f"texts-{result.measure}", title, texts, chapter.legend)]
    if folds:
        apart = {name: block for name, block in drawn.items() if name not in chapter.first}
        table_ids = {table.id for table in rest}
        # A figure of a table stands before it, others behind.
        before = [apart.pop(n) for n in list(apart) if f"{result.measure}-{n}" in table_ids]
        marked = _fold(chapter.texts, marked)
        marked += _fold(chapter.folded, [*before, *rest, *apart.values()])
        rest = []
    facts = describe_ground_truth(result)
    return [
        *([Paragraph(chapter.lead)] if chapter.lead else _explanation(result)),
        value_tables.values_sheet(result, title_of(result)),
        *_notes_block(result),
        *open_figures,
        *open_tables,
        *marked,
        *rest,
        *([BlockGroup("The ground truth", [Facts([*facts.items()])])] if facts else []),
        *_result_tests(result),
    ]


def _fold(heading: str, blocks: Sequence[Block]) -> list[Block]:
    return [BlockGroup(heading, blocks, closed=True)] if blocks else []


_MAX_NAME, _SHORT_NAME = 80, 60


def shorten_names(result: Result) -> Result:
    """The result with its long names cut: of sources, and of whatever its tables name."""
    short: dict[str, str] = {}

    def cut(value: Any) -> Any:
        if not isinstance(value, str) or len(value) <= _MAX_NAME:
            return value
        # The fields of a group stay apart, since facets are made of them.
        parts = value.split(JOINT)
        for name in parts:
            if len(name) > _MAX_NAME:
                # Names that differ in their ends alone must not become one.
                short.setdefault(name, f"{name[:_SHORT_NAME]}… ({len(short) + 1})")
        return JOINT.join(short.get(name, name) for name in parts)

    def rows(table: Sequence[Row]) -> list[Row]:
        return [{name: cut(value) for name, value in row.items()} for row in table]

    return replace(
        result,
        reference=cut(result.reference),
        by_source={cut(name): source_result for name, source_result in result.by_source.items()},
        comparisons=rows(result.comparisons),
        tables={name: rows(table) for name, table in result.tables.items()},
    )


_MAX_DRAWN = 80
"""Sources in a figure; of more nobody can read one, and the page would be many megabytes."""


def figure_blocks(result: Result) -> dict[str, Block]:
    declared = [c for c in list_charts(result.measure) if c.name not in (VALUES.name, CURVE.name)]
    if declared and (refused := _refuse_many([result])):
        return {"": refused}
    short = shorten_names(result)
    drawn_figures: dict[str, Block] = {}
    for chart in declared:
        if (drawn := draw_chart(chart, [short])) is not None:
            id = f"figure-{result.measure}-{chart.name}"
            drawn_figures[chart.name] = Figure(id, chart.title, chart.says, chart_spec(drawn))
    return drawn_figures


def curve_figures(results: Sequence[Result]) -> list[Figure]:
    drawn = None
    if not _refuse_many(results):
        drawn = draw_chart(CURVE, list(map(shorten_names, results)))
    figure = ("figure-curves", CURVE.title, CURVE.says)
    return [] if drawn is None else [Figure(*figure, chart_spec(drawn))]


def _refuse_many(results: Sequence[Result]) -> Paragraph | None:
    sources = len({name for result in results for name in result.by_source})
    if sources <= _MAX_DRAWN:
        return None
    return Paragraph(f"{sources:,} sources are too many for a figure: see the tables.", quiet=True)
