"""Results as sections: the panel of diversity, templates, texts held against a corpus, test items,
and measures without a section of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rote.core.facets import EACH
from rote.core.record import Section as Place
from rote.core.registry import main_values, of_result, title_of
from rote.core.result import Result
from rote.report._grid import GridRow, grid, key
from rote.report.notes import gathered
from rote.report.report import Block, Facts, Group, Listed, Report, Said, Section, Texts
from rote.report.sections._figures import curves, figures
from rote.report.tables.sheet import Sheet, shown_name
from rote.report.tables.values import comparisons_table, on_page, sources_table, values_table
from rote.report.texts.originality import ground_truth

_NAMED = 8


def section(result: Result) -> Place:
    record = of_result(result.measure)
    return record.section if record else "others"


def _says(result: Result) -> list[Block]:
    """In a line what it says."""
    record = of_result(result.measure)
    says = record.says if record else ""
    said = says if isinstance(says, str) else says(dict(result.signature.settings))
    return [Said(said)] if said else []


def _values(result: Result) -> Sheet:
    return values_table(result, title=title_of(result))


def _tests(
    results: Sequence[Result], id: str = "tests", titles: Mapping[str, str] | None = None
) -> list[Block]:
    named = titles or {key(result): title_of(result) for result in results}
    tests = comparisons_table(results, id, named)
    pairs = any(result.reference == EACH for result in results)
    heading = "Tests of pairs" if pairs else "Tests against the reference"
    return [Group(heading, [tests], closed=True)] if tests else []


def _own_tests(result: Result) -> list[Block]:
    return _tests([result], f"tests-{result.measure}")


def _texts(study: Report, section: str, title: str, said: str) -> list[Block]:
    found = [one for one in study.evidence if one.section == section]
    return [Texts(f"texts-{section}", title, found, said)] if found else []


def _notes(result: Result) -> list[Block]:
    """What must be known of a result: its own notes, and those of its sources."""
    every = len(result.by_source)
    said = [
        note + (f" ({_some(names)})" if 0 < len(names) < every else "")
        for note, names in gathered(result)
    ]
    return [Listed([f"Note: {note}" for note in said], quiet=True)] if said else []


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(map(shown_name, names[:_NAMED])) + more


# Sections


def in_panel(result: Result) -> bool:
    record = of_result(result.measure)
    return record is not None and bool(record.panel)


def panel(results: Sequence[Result]) -> Section | None:
    """The panel of diversity: the values that stand for each measure, then all."""
    own = [result for result in results if in_panel(result)]
    if not own:
        return None
    main = {
        (result.measure, value)
        for result in own
        for value in main_values(result.measure, [row.value for row in grid(result)])
    }
    titles = {key(result): title_of(result) for result in own}

    def chosen(row: GridRow) -> bool:
        return (row.measure, row.value) in main

    blocks: list[Block] = [
        sources_table(own, "panel-values", "The panel in numbers", chosen, titles),
        *(Group("How values move with length", [figure], closed=True) for figure in curves(own)),
    ]
    for result in own:
        shown = [*_says(result), _values(result), *_notes(result)]
        blocks.append(Group(title_of(result), shown, closed=True))
    return Section("panel", "Diversity", [*blocks, *_tests(own, titles=titles)])


def shown(
    id: str, heading: str, results: Sequence[Result], *, one_alone: bool = False
) -> Section | None:
    """Results below headings of their own; `one_alone`: but for one that is there by itself."""
    if not results:
        return None
    if one_alone and len(results) == 1:
        return Section(id, heading, _blocks(results[0]))
    groups = [Group(title_of(result), _blocks(result), closed=True) for result in results]
    return Section(id, heading, groups)


def _blocks(result: Result) -> list[Block]:
    drawn = figures(result).values()
    values = [_values(result)] if result.by_source else []
    tables = [*values, *_notes(result), *drawn, *on_page(result)]
    return [*_says(result), *tables, *_own_tests(result)]


def is_of_grammar(result: Result) -> bool:
    """Whether it is keyness of patterns of grammar, which belong beside the templates."""
    return result.measure == "keyness" and "grammar" in result.tables


def templates(study: Report) -> Section | None:
    """Templates and favoured patterns: how much they fill, which they are, where they stand."""
    blocks: list[Block] = []
    if (found := study.result("templates")) is not None:
        blocks += _templates(study, found)
    if (found := next(filter(is_of_grammar, study.results), None)) is not None:
        shown = [*_says(found), *figures(found).values(), *on_page(found), *_notes(found)]
        blocks.append(Group(title_of(found), shown, closed=True))
    return Section("templates", "Templates", blocks) if blocks else None


def _templates(study: Report, result: Result) -> list[Block]:
    drawn, tables = figures(result), on_page(result)
    texts = _texts(
        study,
        "templates",
        "",
        "Each line under the words is a template; its number leads to the list below.",
    )
    apart = [drawn.pop(name) for name in ("distinctive",) if name in drawn]
    apart += [table for table in tables if table.id != "templates-templates"]
    return [
        Said(
            "A template is a sequence of parts of speech that recurs in the texts "
            "of a source; the words in it differ."
        ),
        _values(result),
        *_notes(result),
        *(drawn.pop(name) for name in ("", "lengths") if name in drawn),
        *(table for table in tables if table.id == "templates-templates"),
        *_folded("Templates in their texts", texts),
        *_folded("Templates that set a source apart", [*apart, *drawn.values()]),
        *_own_tests(result),
    ]


def _folded(heading: str, blocks: Sequence[Block]) -> list[Block]:
    return [Group(heading, blocks, closed=True)] if blocks else []


def originality(study: Report) -> Section | None:
    """Which sentences are original, which need a citation, and whose words those are."""
    result = study.result("originality")
    if result is None:
        return None
    tables = on_page(result)
    held = ground_truth(result)
    blocks = [
        *_says(result),
        _values(result),
        *_notes(result),
        *(table for table in tables if table.id == "originality-lengths"),
        *_texts(
            study,
            "originality",
            "Sentences and whose words they hold",
            "A solid line: words that need a citation, with their sources below the text; a dotted "
            "line: words that nobody in the corpus has.",
        ),
        *(table for table in tables if table.id != "originality-lengths"),
        *([Group("The ground truth", [Facts([*held.items()])])] if held else []),
    ]
    return Section("originality", "Originality", [*blocks, *_own_tests(result)])


def novelty(study: Report) -> Section | None:
    """How much of the texts a corpus does not hold, and the longest runs that it does."""
    result = study.result("novelty")
    if result is None:
        return None
    texts = _texts(
        study,
        "novelty",
        "The longest copied runs, in their texts",
        "Underlined: words that occur in the corpus in the same order; where, below the text.",
    )
    shown = [_values(result), *_notes(result), *figures(result).values(), *texts]
    blocks = [*_says(result), *shown, *on_page(result), *_own_tests(result)]
    return Section("novelty", "Novelty", blocks)
