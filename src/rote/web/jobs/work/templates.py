"""Measure the templates of files, and keep the result in the history."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rote.core.progress import Reporter
from rote.web.forms.templates import TemplatesAsked
from rote.web.store.history import History
from rote.web.workspace import Workspace


def run(settings: Mapping[str, Any], opened: Workspace, reporter: Reporter) -> str:
    asked = TemplatesAsked.from_dict(settings)
    result = asked.measured(opened, reporter)
    id = History(opened.store).add(
        [result],
        title=asked.title,
        kind="templates",
        settings=settings,
        files={key: str(opened.file(key)) for key in asked.files},
        address="/templates/kept/{id}",
    )
    return f"/templates/kept/{id}"
