"""Any command by its record: what goes in, by keys of what the app was started with, and options.

Nothing is listed here: what the registry holds, from whichever package, has a form.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar
from urllib.parse import quote, urlencode

from rote.core.errors import OptionError
from rote.core.metric import Metric
from rote.core.progress import Reporter
from rote.core.record import Study, find
from rote.core.result import Result
from rote.measure import Settings
from rote.web.forms import options as forms
from rote.web.forms.compare import SHARED
from rote.web.store.history import RESULT, History
from rote.web.workspace import Workspace, keys_of


@dataclass(frozen=True, slots=True)
class RunForm:
    """A record by its name, keys of what goes in, and the options that differ from the usual."""

    kind: ClassVar[str] = "run"
    page: ClassVar[str] = RESULT

    name: str
    inputs: tuple[str, ...] = ()
    """Keys of files or of an index, or ids of kept results."""
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, name: str, pairs: Iterable[tuple[str, str]]) -> RunForm:
        """From an address or a posted form; several values of one name are joined by commas."""
        given: dict[str, list[str]] = {}
        for key, value in pairs:
            given.setdefault(key, []).append(value)
        single = {key: ",".join(dict.fromkeys(filter(None, held))) for key, held in given.items()}
        found: dict[str, Any] = {}
        for kind, only in _kinds(find(name)):
            found |= forms.read(kind, single, only, open=True)
        return cls(name, tuple(dict.fromkeys(given.get("input", ()))), found)

    @property
    def title(self) -> str:
        named = ", ".join(one.split("~")[0] for one in self.inputs[:3])
        return f"{find(self.name).title} of {named}"

    @property
    def address(self) -> str:
        """The form with these settings."""
        pairs = [("input", key) for key in self.inputs]
        pairs += [(name, forms.written(value)) for name, value in self.options.items()]
        return f"/run/{quote(self.name)}?" + urlencode(pairs, errors="replace")

    @property
    def files(self) -> Sequence[str]:
        return self.inputs if takes_of(find(self.name)) in ("texts", "items") else ()

    def check(self, opened: Workspace) -> None:
        if not self.inputs:
            raise OptionError("nothing is chosen that could go in")
        record = find(self.name)
        _inputs(record, self.inputs, opened)
        for kind, _ in _kinds(record):
            kind(**self._given(kind, opened))

    def places(self) -> tuple[Sequence[str], Sequence[str]]:
        record, grounds = find(self.name), []
        for one in fields_of(self.name):
            if one.kind in ("place", "models") and one.name in self.options:
                grounds += forms.written(self.options[one.name]).split(",")
        files, indexes = keys_of(self.files, grounds)
        return files, [*indexes, *(self.inputs if takes_of(record) == "index" else ())]

    def perform(self, opened: Workspace, reporter: Reporter) -> list[Result]:
        record = find(self.name)
        made = [kind(**self._given(kind, opened)) for kind, _ in _kinds(record)]
        inputs = _inputs(record, self.inputs, opened)
        if isinstance(record, Study):
            raise NotImplementedError
        from rote.measure._compute import compute

        return compute([(self.name, made[0])], inputs, settings=made[1], reporter=reporter)

    def _given(self, kind: type, opened: Workspace) -> dict[str, Any]:
        """The options of one kind, with paths in place of keys."""
        found = {
            one.name: self.options[one.name] for one in fields(kind) if one.name in self.options
        }
        for one in forms.fields_of(kind, found, open=True):
            value = found[one.name]
            turn = {"place": opened.ground, "models": opened.speaker}.get(one.kind)
            if turn:
                found[one.name] = turn(value) if isinstance(value, str) else tuple(map(turn, value))
        return found | ({"jobs": opened.jobs} if kind is Settings else {})


def takes_of(record: Metric | Study) -> str:
    """What goes in: texts, items, results, or an index."""
    return record.takes if isinstance(record, Study) else "items" if record.items else "texts"


def fields_of(name: str) -> list[forms.Field]:
    """The fields that the form of a record has."""
    return [
        one for kind, only in _kinds(find(name)) for one in forms.fields_of(kind, only, open=True)
    ]


def _kinds(record: Metric | Study) -> list[tuple[type, Sequence[str] | None]]:
    """The dataclasses that its options lie in, each with the fields that are offered."""
    if isinstance(record, Study):
        return [(kind, None) for kind in (record.options, *record.more)]
    return [(record.options, None), (Settings, SHARED)]


def _inputs(record: Metric | Study, keys: Sequence[str], opened: Workspace) -> list[Any]:
    takes = takes_of(record)
    if takes == "results":
        return [result for id in keys for result in History(opened.store).results(id)]
    return [opened.index(key) if takes == "index" else opened.file(key) for key in keys]
