"""Measure the templates of files, and keep the result in the history."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rote.core.progress import Reporter
from rote.web.forms.options import from_json
from rote.web.forms.templates import TemplatesForm
from rote.web.store.history import History
from rote.web.workspace import Workspace


def run(settings: Mapping[str, Any], opened: Workspace, reporter: Reporter) -> str:
    form = from_json(TemplatesForm, settings)
    result = form.measured(opened, reporter)
    history = History(opened.store)
    id = history.add(
        [result],
        title=form.title,
        kind="templates",
        settings=settings,
        files={key: str(path) for key, path in form.places(opened).items()},
        address="/templates/kept/{id}",
    )
    return history.get(id).address
