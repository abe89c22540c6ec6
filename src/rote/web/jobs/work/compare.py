"""Measure files, and keep the study in the history."""

from __future__ import annotations

import os
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rote.core.progress import Reporter
from rote.core.result import Result
from rote.measure import Settings
from rote.report.report import Report
from rote.web.files import batches
from rote.web.forms.compare import CompareForm, path_of
from rote.web.forms.options import from_json
from rote.web.pages.sections import sections_of
from rote.web.store.history import History
from rote.web.store.texts import TEXTS
from rote.web.workspace import Workspace

_PER_TEXT = 512 * 2**20
"""Bytes of input up to which every text has its values kept."""
_EXCERPT = 160


def run(settings: Mapping[str, Any], opened: Workspace, reporter: Reporter) -> str:
    comparison = from_json(CompareForm, settings)
    comparison.check(opened)
    paths = [opened.file(key) for key in comparison.files]
    per_text = sum(map(_size, paths)) <= _PER_TEXT
    if not per_text:
        reporter.say(
            "these are too many texts to keep the values of each: take a sample to see them"
        )
    study = _study(comparison, paths, per_text, opened, reporter)
    history = History(opened.store)
    id = history.add(
        study,
        title=comparison.title,
        settings=settings,
        files={key: str(opened.file(key)) for key in comparison.files},
        excerpts=_excerpts(study.results, paths, reporter),
    )
    _draw(history, id, reporter)
    return f"/compare/result/{id}"


def _draw(history: History, id: str, reporter: Reporter) -> None:
    """Ahead of the first look. The numbers are kept by now: no picture is worth losing them."""
    try:
        with reporter.stage("drawing", None):
            sections_of(history, id)
    except Exception as error:
        traceback.print_exc()
        reporter.say(f"the figures could not be drawn ({error}); the numbers are kept")


def _study(
    comparison: CompareForm,
    paths: Sequence[Path],
    per_text: bool,
    opened: Workspace,
    reporter: Reporter,
) -> Report:
    from rote.report.make import make_report
    from rote.report.options import ReportOptions

    settings = replace(Settings(**comparison.settings), per_text=per_text, jobs=opened.jobs)
    return make_report(
        list(paths),
        ReportOptions(
            corpus=path_of(comparison.corpus, opened),
            train=path_of(comparison.train, opened),
            measures=comparison.measures,
            title=comparison.title,
        ),
        settings=settings,
        own=comparison.own,
        reporter=reporter,
    )


def _excerpts(
    results: Sequence[Result], paths: Sequence[Path], reporter: Reporter
) -> dict[tuple[str, str], str]:
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


def _size(path: Path) -> int:
    if path.is_dir():
        return sum(one.stat().st_size for one in path.rglob("*") if one.is_file())
    return os.path.getsize(path) if path.exists() else 0
