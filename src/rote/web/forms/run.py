"""What can be asked for as work, each kind a class, by the name that jobs are kept under; and any
command by its record: what goes in, by keys of what the app was started with, and options.

Nothing is listed here: what the registry holds, from whichever package, has a form.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from dataclasses import fields as options_fields
from pathlib import Path
from typing import Any, ClassVar, Protocol
from urllib.parse import quote, urlencode

from rote.core.errors import OptionError, UnknownName
from rote.core.folder import refuse_links
from rote.core.metric import Metric, at_a_glance
from rote.core.progress import Reporter, Silent
from rote.core.record import Study
from rote.core.registry import find, names, words_of
from rote.core.result import Result
from rote.corpus import ReadOptions
from rote.measure._compute import open_texts
from rote.report.report import Report
from rote.studies._driver import kinds, options_of, run
from rote.web.files import Reader, batches, batches_of, fingerprint, hashed
from rote.web.forms import options as forms
from rote.web.forms.compare import CompareForm, named_in, per_text, resolved
from rote.web.forms.index import IndexForm
from rote.web.forms.options import from_json
from rote.web.forms.templates import TemplatesForm
from rote.web.store.history import RESULT, History
from rote.web.store.uploads import check_unpacked
from rote.web.workspace import Workspace, keys_of

_INPUT, _RESULT = "FILE", "RESULT.json"
"""In the place of what was not chosen, and of results, which the app has in its history."""


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
        """From an address or a posted form; what else there is in it is left alone."""
        given, fields = list(pairs), fields_of(name)
        inputs = tuple(dict.fromkeys(value for key, value in given if key == "input"))
        return cls(name, inputs, forms.read(fields, forms.joined(given, fields)))

    @classmethod
    def of(cls, name: str, inputs: Iterable[str], options: Mapping[str, Any]) -> RunForm:
        """From JSON; an option that the command does not have is refused."""
        fields = fields_of(name)
        forms.check_names(options, fields, forms.refused(*kinds(record_of(name))))
        return cls(name, tuple(dict.fromkeys(inputs)), forms.read(fields, options))

    @property
    def title(self) -> str:
        named = ", ".join(one.split("~")[0] for one in self.inputs[:3])
        return f"{record_of(self.name).title} of {named}"

    @property
    def address(self) -> str:
        """The form with these settings."""
        pairs = [("input", key) for key in self.inputs]
        pairs += forms.pairs_from(fields_of(self.name), self.options)
        return f"/run/{quote(self.name)}?" + urlencode(pairs, errors="replace")

    def lines(self) -> dict[str, str]:
        """What does the same at the shell and in Python; files and indexes by their names here."""
        named = {one.name: one for one in fields_of(self.name)}
        results = takes_of(record_of(self.name)) == "results"
        inputs = [_RESULT if results else key.split("~")[0] for key in self.inputs] or [_INPUT]
        flags: list[str] = []
        keywords: list[str] = []
        for name, value in self.options.items():
            if value is None:
                continue
            flag, shown = f"--{name.replace('_', '-')}", _without_keys(named[name], value)
            keywords.append(f"{name}={shown!r}")
            if isinstance(value, bool):
                flags.append(flag if value else f"--no-{flag[2:]}")
                continue
            for part in shown if named[name].repeated else (shown,):
                flags += [flag, forms.written(part)]
        shell = ["rote", *words_of(self.name), *inputs, *flags]
        given = [repr(inputs[0] if len(inputs) == 1 else inputs), *keywords]
        return {
            "shell": " ".join(map(shlex.quote, shell)),
            "python": f"import rote\nrote.{self.name.replace('-', '_')}({', '.join(given)})",
        }

    @property
    def files(self) -> Sequence[str]:
        return () if takes_of(record_of(self.name)) in ("results", "index") else self.inputs

    def check(self, opened: Workspace) -> None:
        if not self.inputs:
            raise OptionError("nothing is chosen that could go in")
        inputs = self._inputs(opened)
        options = options_of(kinds(record_of(self.name)), self._given(opened))
        if "input_format" in self.options:
            for key, path in zip(self.files, inputs):
                if key not in opened.files:
                    check_unpacked(path, opened.upload_limit, options.get(ReadOptions))

    def places(self) -> tuple[Sequence[str], Sequence[str]]:
        files, indexes = keys_of(self.files, named_in(fields_of(self.name), self.options))
        return files, [
            *indexes,
            *(self.inputs if takes_of(record_of(self.name)) == "index" else ()),
        ]

    def perform(self, opened: Workspace, reporter: Reporter) -> Sequence[Result]:
        given, inputs = self._given(opened), self._inputs(opened)
        record = record_of(self.name)
        if any(one.name == "jobs" for kind in kinds(record) for one in options_fields(kind)):
            given["jobs"] = opened.jobs
        if isinstance(record, Metric):
            given["per_text"] = per_text(inputs, reporter)
        elif record.ledger:
            opened.made.mkdir(exist_ok=True)
            refuse_links((self.folder(opened),))
            given["output"] = self.folder(opened)
        return [run(self.name, inputs, given, reporter=reporter)]

    def reader(self, opened: Workspace) -> Reader:
        """How the command reads a file of texts, so that its texts are found again."""
        record = record_of(self.name)
        if not isinstance(record, Metric):
            return batches
        options = options_of(kinds(record), self._given(opened))
        chosen, read = [(record, options[record.options])], options[ReadOptions]
        return lambda path: batches_of(open_texts(chosen, [path], read, Silent()))

    def _given(self, opened: Workspace) -> dict[str, Any]:
        """The options, with paths in place of keys."""
        return resolved(fields_of(self.name), self.options, opened)

    def folder(self, opened: Workspace) -> Path:
        """Where a command with a ledger writes what it makes of all it reads, as that is now."""
        files, indexes = self.places()
        read = [*map(opened.file, files), *map(opened.index, indexes)]
        asked = json.dumps([self.inputs, self.options], sort_keys=True)
        return opened.made / f"{self.name}-{hashed(asked, *map(fingerprint, read))[:8]}"

    def _inputs(self, opened: Workspace) -> Any:
        takes = takes_of(record_of(self.name))
        if takes == "results":
            history = History(opened.store)
            return [result for id in self.inputs for result in history.results(id)]
        if takes == "index":
            return next(opened.index(key) for key in self.inputs)
        return [opened.file(key) for key in self.inputs]


def _without_keys(one: forms.Field, value: Any) -> Any:
    """A value with the names of files and indexes in place of the app's keys."""
    if isinstance(value, (list, tuple)):
        return tuple(_without_keys(one, part) for part in value)
    if one.kind in ("place", "file") and isinstance(value, str):
        return value.removeprefix("index:").removeprefix(forms.FILE).split("~")[0]
    return value


def offered() -> list[str]:
    """The records that give values or a ledger to look at; any other data set is written on the
    shell, to a place that no request may name, and so are files of a form of their own named
    there."""
    return [name for name in names() if _shown(find(name))]


def record_of(name: str) -> Metric | Study:
    record = find(name)
    if not _shown(record):
        raise UnknownName("command of the app", name, offered())
    return record


def _shown(record: Metric | Study) -> bool:
    seen = getattr(record, "output", "result") == "result" or getattr(record, "ledger", "")
    return bool(seen) and takes_of(record) != "prompts"


def takes_of(record: Metric | Study) -> str:
    """What goes in: texts, items, results, or an index."""
    return record.takes if isinstance(record, Study) else "items" if record.items else "texts"


def fields_of(name: str) -> list[forms.Field]:
    """The fields that the form of a record has; one that several kinds of options have, once."""
    record = record_of(name)
    without = record.without
    glance = at_a_glance(kinds(record), without)
    found: dict[str, forms.Field] = {}
    for kind in kinds(record):
        for one in forms.fields_of(kind, open=True):
            further = one.further or one.name not in glance
            found.setdefault(one.name, replace(one, further=further))
    return [one for one in found.values() if one.name not in without]


class Form(Protocol):
    """What was asked for: settings that are in an address, in a job, and beside its result."""

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

    def perform(self, opened: Workspace, reporter: Reporter) -> Report | Sequence[Result] | str:
        """Do it; what came out, or the address of the page that shows it."""


_FORMS: tuple[type[Form], ...] = (CompareForm, RunForm, TemplatesForm, IndexForm)
_KINDS = {one.kind: one for one in _FORMS}


def form_of(kind: str, settings: Mapping[str, Any]) -> Form:
    """From the JSON of a job or of a kept result."""
    return from_json(class_of(kind), settings)


def address_of(kind: str, settings: Mapping[str, Any]) -> str:
    """The form with these settings; empty where another version kept others."""
    try:
        return form_of(kind, settings).address if settings else ""
    except (UnknownName, TypeError):
        return ""


def reader_of(kind: str, settings: Mapping[str, Any], opened: Workspace) -> Reader:
    """How the texts of a result were read."""
    known = settings and kind in (RunForm.kind, CompareForm.kind)
    form = form_of(kind, settings) if known else None
    return form.reader(opened) if isinstance(form, (RunForm, CompareForm)) else batches


def class_of(kind: str) -> type[Form]:
    if kind not in _KINDS:
        raise UnknownName("kind of work", kind, _KINDS)
    return _KINDS[kind]
