"""The answers of several sources to one prompt, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from rote.web.files import fingerprint
from rote.web.forms.run import reader_of
from rote.web.pages import side
from rote.web.pages.render import page
from rote.web.pages.templates import open_files
from rote.web.state import bounded, state
from rote.web.store.history import Entry
from rote.web.store.uploads import LONGEST_TEXT

router = APIRouter()
Least = Annotated[int, Query(ge=2, le=50)]


@router.get("/compare/side/{id}", include_in_schema=False)
async def side_page(request: Request, id: str, key: str = "", n: Least = side.LEAST) -> Response:
    """`key`: what the answers share, their doc_id or prompt; without one the first set."""

    def work() -> dict[str, Any]:
        app = state(request)
        entry = app.history.get(id)
        given = open_files(app.workspace, entry.files)
        sets = known_sets(request, entry, given)
        chosen = key or next(iter(sets.answers))
        before, behind = sets.around(chosen)
        answers = _in_order(sets.answers[chosen], _reference(entry))[: side.MOST]
        read = reader_of(entry.kind, entry.settings, app.workspace)
        documents = side.read_answers(given, answers, read)
        shown, runs = side.columns(answers, documents, n)
        return {
            "entry": entry,
            "key": chosen,
            "before": before,
            "behind": behind,
            "at": list(sets.answers).index(chosen) + 1,
            "total": len(sets.answers),
            "left_out": len(sets.answers[chosen]) - len(answers),
            "prompt": next(filter(None, (side.prompt_of(one.meta) for one in documents)), ""),
            "columns": shown,
            "runs": runs,
            "least": n,
            "longest_traced": LONGEST_TEXT,
        }

    return page(request, "compare_side.html", **await bounded(request, work))


def known_sets(request: Request, entry: Entry, given: Mapping[str, Path]) -> side.Sets:
    """Read once for each state of the files."""
    by = by_of(entry)
    asked = ("sets", entry.id, by, *map(fingerprint, given.values()))
    read = reader_of(entry.kind, entry.settings, state(request).workspace)
    return state(request).recent.get(asked, lambda: side.sets_of(given, by, read))


def by_of(entry: Entry) -> tuple[str, ...]:
    """The fields that told the sources of a result apart."""
    held = entry.settings.get("settings") or entry.settings.get("options") or entry.settings
    by = held.get("by") or ()
    return tuple(by.split(",")) if isinstance(by, str) else tuple(by)


def _reference(entry: Entry) -> str:
    held = entry.settings.get("settings") or entry.settings.get("options") or entry.settings
    return str(held.get("reference") or "")


def _in_order(answers: Sequence[side.Answer], reference: str) -> list[side.Answer]:
    """The reference first, the others as they come."""
    return sorted(answers, key=lambda one: one.source != reference)
