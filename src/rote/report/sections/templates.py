"""Templates and favoured patterns: how much they fill, which they are, where they stand."""

from __future__ import annotations

from rote.core.result import Result
from rote.report.blocks import Block, Group, Said, Section, Texts
from rote.report.report import Report
from rote.report.sections._figures import figures
from rote.report.sections._titles import says, title
from rote.report.sections.panel import notes
from rote.report.tables.layout import on_page
from rote.report.tables.values import comparisons_table, key, values_table


def templates(study: Report) -> Section | None:
    """What was found of templates, favoured patterns, precision and recall."""
    blocks: list[Block] = []
    if (found := study.result("templates")) is not None:
        blocks += _templates(study, found)
    if (found := study.result("favoured")) is not None:
        shown: list[Block] = [Said(says(found)), *figures(found).values()]
        blocks.append(Group(title(found), [*shown, *on_page(found), *notes(found)]))
    return Section("templates", "Templates", blocks) if blocks else None


def _templates(study: Report, result: Result) -> list[Block]:
    drawn = figures(result)
    blocks: list[Block] = [
        Said(
            "A template is a sequence of parts of speech that stands again and again in the texts "
            "of a source; the words in it differ."
        ),
        values_table(result, title=title(result)),
        *notes(result),
    ]
    blocks += [drawn.pop(name) for name in ("", "lengths") if name in drawn]
    tables = on_page(result)
    blocks += [table for table in tables if table.id == "templates-templates"]
    evidence = [one for one in study.evidence if one.section == "templates"]
    if evidence:
        blocks.append(
            Texts(
                "texts-templates",
                "Templates in their texts",
                evidence,
                "Each line under the words is a template; its number leads to the list below.",
            )
        )
    blocks += [drawn.pop(name) for name in ("distinctive",) if name in drawn]
    blocks += [table for table in tables if table.id != "templates-templates"]
    blocks += drawn.values()
    if tests := comparisons_table([result], "tests-templates", {key(result): title(result)}):
        blocks.append(Group("Tests against the reference", [tests], closed=True))
    return blocks
