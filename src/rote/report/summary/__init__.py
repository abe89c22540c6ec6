"""What a person should know after a minute: what differs from the reference, by how much, how sure.

    for statement in summary(study):
        print(statement.text)

Every statement is a sentence of its own and carries its numbers. Nothing is said about causes; a
difference that was not found is said to be not found, with how large it may be all the same.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from rote.core.progress import several
from rote.core.record import Study
from rote.core.registry import of_result
from rote.core.result import Result
from rote.measure._correct import UNTESTED
from rote.report._grid import SIGNIFICANT
from rote.report.report import Matrix, Report, Statement
from rote.report.summary import findings
from rote.report.summary.comparisons import Scene, of_source, scenes
from rote.report.summary.contrast import headlines, listed
from rote.report.summary.matrix import HELD, Compared, circular, compared, matrix

TOO_FEW, FEW = 5, 10
_DETAILS = 6
"""Single differences that are told, of all sources together; at least two of each source."""


_OPENING = 5
_COULD_SHOW = re.compile(r" \([^()]* would have shown\)")
_RANKS = {"circular": 0, "overall": 1, "untested": 2, "difference": 2, "found": 2}


@dataclass(frozen=True, slots=True)
class Summary:
    """A matrix for each facet that has a reference, and the statements, most important first."""

    matrices: Sequence[Matrix]
    statements: Sequence[Statement]

    def opening(self) -> list[Statement]:
        """The few that a reader in a hurry gets: what bounds all, then sources as a whole."""
        said = self.statements

        def rank(one: Statement) -> int:
            return 0 if one is said[0] and not one.source else _RANKS.get(one.kind, 3)

        return _joined(sorted(said, key=rank))[:_OPENING]

    def rest(self) -> list[Statement]:
        first = self.opening()
        return [one for one in self.statements if one not in first]


def _joined(said: Sequence[Statement]) -> list[Statement]:
    """Sources of which the same is said have one sentence, in the place of the first; what could
    have been found of each is in its own, among the rest."""
    alike: dict[tuple[str, str], list[Statement]] = {}
    for one in said:
        begins = f"{one.source} is more "
        whole = one.kind == "overall" and one.text.startswith(begins)
        same = _COULD_SHOW.sub("", one.text.removeprefix(begins)) if whole else one.text
        alike.setdefault((same, one.sure if whole else ""), []).append(one)
    return [
        replace(own[0], text=f"{listed([one.source for one in own])} are more {same}", source="")
        if len(own) > 1 and own[0].kind == "overall"
        else own[0]
        for (same, _), own in alike.items()
    ]


def summary(study: Report) -> list[Statement]:
    """The statements, most important first."""
    return list(summarized(study).statements)


def summarized(study: Report) -> Summary:
    texts: list[Result] = []
    studies: list[Result] = []
    for one in study.results:
        (studies if isinstance(of_result(one.measure), Study) else texts).append(one)
    said: list[Statement] = []
    matrices: list[Matrix] = []
    every = scenes(texts)
    # With many facets fewer single differences are told of each.
    details = max(2, _DETAILS // max(1, len(every)))
    for scene in every:
        if scene.reference:
            found = compared(scene)
            own = _compared(scene, found, details)
            matrices += filter(None, [matrix(scene, found, TOO_FEW)])
        else:
            own = _beside(scene)
        title = scene.facet.title
        said += [
            replace(one, text=f"{title}: {one.text}", facet=title) if title else one for one in own
        ]
    said += findings.popularity(study.result("popularity"))
    for result in studies:
        for headline in headlines(result.measure):
            said += findings.extremes(result, headline, list(result.sources))
    if len(every) > 1 and any(one.p is not None for one in said):
        said.append(_on_chance(every))
    said[:0] = _on_permutations(texts)
    return Summary(matrices, said)


def print_summary(study: Report, console: Any) -> None:
    """The matrices and the first statements on a rich console; the report has the rest."""
    from rote.report.tables.screen import print_sheet
    from rote.report.terminal import harmless

    found = summarized(study)
    for one in found.matrices:
        print_sheet(one.sheet, console)
    console.print()
    for statement in found.opening():
        console.print(f"- {harmless(statement.text)}", highlight=False, markup=False)
    if rest := len(found.rest()):
        console.print(f"  and {rest} more in the report", style="dim", highlight=False)


def _compared(scene: Scene, own: Compared, details: int) -> list[Statement]:
    reference = str(scene.reference)
    said = _on_sizes(scene)
    few = scene.size(reference)[0] < TOO_FEW
    told: list[tuple[int, list[Statement]]] = []
    each = max(2, details // max(1, len(scene.others)))
    for source in scene.others:
        if few or scene.size(source)[0] < TOO_FEW:
            continue
        honest = [one for one, circles in own[source] if not circles]
        told.append(of_source(scene, source, honest, each))
    if not scene.others:
        said.append(Statement(f"There is no source beside {reference} to compare.", "scope"))
    # Those that differ most come first; the order of the input decides between equals.
    for _, statements in sorted(told, key=lambda pair: -pair[0]):
        said += statements
    said += _on_circles(scene, own)
    return said + findings.of_texts(scene.results, reference, scene.others, scene.group)


def _on_circles(scene: Scene, own: Compared) -> list[Statement]:
    """Sources that occur in what they are held against are named; nothing is counted there."""
    said = []
    for held, names in circular(scene.results).items():
        every = (one for found in own.values() for one, circles in found if circles)
        left = len({one.headline for one in every if HELD[one.row.measure] == held})
        many = len(names) > 1
        text = (
            f"{listed(names)} occur{'' if many else 's'} in the {held} that "
            f"{'they are' if many else 'it is'} held against: what that says "
            f"({several(left, 'respect')}) is left out of the count."
        )
        said.append(Statement(text, "circular"))
    return said


def _on_sizes(scene: Scene) -> list[Statement]:
    said = []
    for name in (*([scene.reference] if scene.reference else []), *scene.others):
        texts = scene.size(name)[0]
        group = scene.group(name)
        if texts < TOO_FEW:
            text = f"{name} has {several(texts, 'text')}: too few to say what differs."
            said.append(Statement(text, "scope", source=group))
        elif texts < FEW:
            text = (
                f"{name} has {several(texts, 'text')}: intervals are rough, and a difference that "
                "is not found may well be there."
            )
            said.append(Statement(text, "scope", source=group))
    if scene.reference is None:
        return said
    for source in scene.others:
        if longer := scene.longer(source):
            text = f"The texts of {source} are {longer} than those of {scene.reference}."
            said.append(Statement(text, "scope", source=scene.group(source)))
    return said


def _beside(scene: Scene) -> list[Statement]:
    """Sources side by side, where none is the reference."""
    said = _on_sizes(scene)
    sources = scene.others
    if len(sources) < 2:
        text = "There is one source and no reference: nothing is compared."
    else:
        text = (
            "There is no reference: sources stand side by side, and nothing was tested. "
            "--reference names one to compare with."
        )
    said.insert(0, Statement(text, "scope"))
    for result in scene.results:
        for headline in headlines(result.measure):
            said += findings.extremes(result, headline, sources)
    return said + findings.of_texts(scene.results, None, sources, scene.group)


def _on_permutations(results: Sequence[Result]) -> list[Statement]:
    """Too few permutations or texts find nothing, whatever there is; which measures this is about
    is said where others are tested."""
    tested = {result.measure for result in results if result.comparisons}
    measures: dict[str, set[str]] = {}
    for result in results:
        for note in result.notes:
            if note.startswith(UNTESTED):
                measures.setdefault(note, set()).add(result.measure)
    said = []
    for note, own in measures.items():
        text = f"{note[0].upper()}{note[1:]}"
        said.append(text if own >= tested else f"{', '.join(sorted(own)).capitalize()}: {note}")
    return [Statement(f"{text}.", "scope") for text in said]


def _on_chance(scenes: Sequence[Scene]) -> Statement:
    text = (
        f"p-values are corrected over the sources and values of each facet, not over the "
        f"{len(scenes)} facets: where nothing differs, one facet in twenty still has a p below "
        f"{SIGNIFICANT}."
    )
    return Statement(text, "scope")
