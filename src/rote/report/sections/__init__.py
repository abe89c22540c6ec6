"""The sections of a report, in order; only those that the study has something for.

Every section is data (`blocks`): a page, Markdown and a folder are made of the same ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from rote.report.report import Block, Figure, Group, Report, Section, Texts
from rote.report.tables.sheet import Sheet
from rote.report.verdicts import Verdicts

_ALONE = ("templates", "originality", "novelty")
"""Measures with a section of their own making."""


def sections(study: Report) -> list[Section]:
    from rote.report.sections import about, results

    own = [
        one for one in study.results if one.measure not in _ALONE and not results.is_of_grammar(one)
    ]
    repetition = [one for one in own if results.section(one) == "corpus"]
    items = [one for one in own if results.section(one) == "items"]
    elsewhere = ("corpus", "items")
    further = [o for o in own if results.section(o) not in elsewhere and not results.in_panel(o)]
    found = (
        about.summary(study),
        results.panel(study.results),
        results.templates(study),
        results.originality(study),
        results.novelty(study),
        results.shown("repetition", "Repetition of training text", repetition),
        results.shown("popularity", "Popularity", items, one_alone=True),
        results.shown("further", "Further measures", further),
        about.omitted(study),
        about.methods(study),
        about.provenance(study),
    )
    shown = [part for part in found if part is not None]
    taken = Counter(part.id for part in shown)
    return [replace(part, blocks=_apart(part.blocks, taken)) for part in shown]


def _apart(blocks: Sequence[Block], taken: Counter[str]) -> list[Block]:
    """The blocks with ids of their own: a study may hold a measure twice."""
    found: list[Block] = []
    for block in blocks:
        if isinstance(block, Group):
            found.append(replace(block, blocks=_apart(block.blocks, taken)))
        elif isinstance(block, (Sheet, Verdicts, Figure, Texts)):
            taken[block.id] += 1
            times = taken[block.id]
            found.append(replace(block, id=f"{block.id}-{times}") if times > 1 else block)
        else:
            found.append(block)
    return found
