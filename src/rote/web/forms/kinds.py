"""The kinds of work that a form can ask for, each a class, by the name that jobs are kept under."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol

from rote.core.errors import UnknownName
from rote.core.progress import Reporter
from rote.core.result import Result
from rote.report.report import Report
from rote.web.forms.compare import CompareForm
from rote.web.forms.options import from_json
from rote.web.forms.run import RunForm
from rote.web.forms.templates import TemplatesForm
from rote.web.workspace import Workspace


class Form(Protocol):
    """What was asked for: settings that stand in an address, in a job, and beside its result."""

    __dataclass_fields__: ClassVar[dict[str, Any]]
    kind: ClassVar[str]
    page: ClassVar[str]
    """Where the result is shown."""

    @property
    def files(self) -> Sequence[str]:
        """Keys of the files whose texts are measured."""

    @property
    def title(self) -> str: ...

    @property
    def address(self) -> str:
        """The form with these settings."""

    def check(self, opened: Workspace) -> None:
        """Refuse what could not work, before a process is started for it."""

    def places(self) -> tuple[Sequence[str], Sequence[str]]:
        """Keys of all files and of all indexes that are read."""

    def perform(self, opened: Workspace, reporter: Reporter) -> Report | Sequence[Result]:
        """Do it; what came out."""


_KINDS: dict[str, type[Form]] = {one.kind: one for one in (CompareForm, RunForm, TemplatesForm)}


def form_of(kind: str, settings: Mapping[str, Any]) -> Form:
    """From the JSON of a job or of a kept result."""
    return from_json(class_of(kind), settings)


def address_of(kind: str, settings: Mapping[str, Any]) -> str:
    """The form with these settings; empty where another version kept others."""
    try:
        return form_of(kind, settings).address if settings else ""
    except (UnknownName, TypeError):
        return ""


def class_of(kind: str) -> type[Form]:
    if kind not in _KINDS:
        raise UnknownName("kind of work", kind, _KINDS)
    return _KINDS[kind]
