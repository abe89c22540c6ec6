"""The long work itself, in the other process: do what a form asks, and keep what came out."""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rote.core.progress import Reporter
from rote.core.result import Result
from rote.report.report import Report
from rote.web.files import batches
from rote.web.forms.kinds import form_of
from rote.web.pages.sections import sections_of
from rote.web.store.history import RESULT, TEXTS, Excerpts, History
from rote.web.workspace import Workspace

_EXCERPT = 160


def run(kind: str, settings: Mapping[str, Any], opened: Workspace, reporter: Reporter) -> str:
    """The address of the page that shows what came out."""
    form = form_of(kind, settings)
    form.check(opened)
    found = form.perform(opened, reporter)
    results = found.results if isinstance(found, Report) else found
    files = {key: opened.file(key) for key in form.files}
    history = History(opened.store)
    id = history.add(
        found,
        title=form.title,
        kind=kind,
        settings=settings,
        files={key: str(path) for key, path in files.items()},
        address=form.page,
        excerpts=_excerpts(results, list(files.values()), reporter),
    )
    if form.page == RESULT:
        _draw(history, id, reporter)
    return form.page.format(id=id)


def _draw(history: History, id: str, reporter: Reporter) -> None:
    """Ahead of the first look. The numbers are kept by now: no picture is worth losing them."""
    try:
        with reporter.stage("drawing", None):
            sections_of(history, id)
    except Exception as error:
        traceback.print_exc()
        reporter.say(f"the figures could not be drawn ({error}); the numbers are kept")


def _excerpts(results: Sequence[Result], paths: Sequence[Path], reporter: Reporter) -> Excerpts:
    """How the texts begin that have values of their own."""
    rows = [row for result in results for row in result.tables.get(TEXTS, ())]
    wanted = {(row.get("file", ""), row["id"]) for row in rows}
    several = any("file" in row for row in rows)
    found: dict[tuple[str, str], str] = {}
    if not wanted:
        return found
    with reporter.stage("reading the texts again", len(wanted)) as advance:
        for path in paths:
            for batch in batches(path):
                for document in batch.documents:
                    key = (batch.file if several else "", document.id)
                    if key in wanted:
                        found[key] = " ".join(document.text[: 4 * _EXCERPT].split())[:_EXCERPT]
                        advance(1)
    return found
