"""The kinds of work that can be asked for: any command by its record, an index, templates."""

from __future__ import annotations

import dataclasses
import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, TypeAlias
from urllib.parse import quote, urlencode

from rote.annotate.store import is_store, open_store
from rote.core.errors import OptionError, RoteError, UnknownName
from rote.core.locked_folder import refuse_links
from rote.core.metric import Metric, at_a_glance, option
from rote.core.progress import Reporter, Silent
from rote.core.record import Study
from rote.core.registry import find, names, words_of
from rote.core.result import Result
from rote.corpus import ReadOptions, open_corpus
from rote.index.folders.build import add_to_index, build_index
from rote.index.folders.options import BuildOptions
from rote.measure import Settings
from rote.measure.driver.compute import compute, open_texts
from rote.measure.templates import METRIC
from rote.studies.dispatch.driver import build_options, option_kinds, run_command
from rote.web import form_fields
from rote.web.compare_form import CompareForm, list_keys, resolve_keys, stores_texts
from rote.web.files import (
    Reader,
    check_unpacked,
    corpus_batches,
    fingerprint,
    hash_parts,
    preview_file,
    read_batches,
)
from rote.web.form_fields import form_from_json
from rote.web.history import RESULT, History
from rote.web.workspace import Workspace, split_keys

_INPUT, _RESULT = "FILE", "RESULT.json"
"""In the place of what was not chosen, and of results, which the app has in its history."""


@dataclass(frozen=True, slots=True)
class RunForm:
    """A record by its name, keys of what goes in, and the options that differ from the usual."""

    kind: ClassVar[str] = "run"
    page: ClassVar[str] = RESULT

    name: str
    inputs: tuple[str, ...] = ()
    """Keys of files or of an index, or ids of stored results."""
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @classmethod
    def read(cls, name: str, pairs: Iterable[tuple[str, str]]) -> RunForm:
        """From an address or a posted form; what else there is in it is left alone."""
        every, fields = list(pairs), command_fields(name)
        inputs = tuple(dict.fromkeys(value for key, value in every if key == "input"))
        return cls(
            name, inputs, form_fields.read_values(fields, form_fields.join_values(every, fields))
        )

    @classmethod
    def of(cls, name: str, inputs: Iterable[str], options: Mapping[str, Any]) -> RunForm:
        """From JSON; an option that the command does not have is refused."""
        fields = command_fields(name)
        form_fields.check_names(
            options, fields, form_fields.refused_options(*option_kinds(find_record(name)))
        )
        return cls(name, tuple(dict.fromkeys(inputs)), form_fields.read_values(fields, options))

    @property
    def title(self) -> str:
        names = ", ".join(key.split("~")[0] for key in self.inputs[:3])
        return f"{find_record(self.name).title} of {names}"

    @property
    def address(self) -> str:
        pairs = [("input", key) for key in self.inputs]
        pairs += form_fields.query_pairs(command_fields(self.name), self.options)
        return f"/run/{quote(self.name)}?" + urlencode(pairs, errors="replace")

    def lines(self) -> dict[str, str]:
        """What does the same at the shell and in Python; files and indexes by their names here."""
        field_by_name = {field.name: field for field in command_fields(self.name)}
        results = input_kind(find_record(self.name)) == "results"
        inputs = [_RESULT if results else key.split("~")[0] for key in self.inputs] or [_INPUT]
        flags: list[str] = []
        keywords: list[str] = []
        for name, value in self.options.items():
            if value is None:
                continue
            flag = f"--{name.replace('_', '-')}"
            shown_value = _strip_keys(field_by_name[name], value)
            keywords.append(f"{name}={shown_value!r}")
            if isinstance(value, bool):
                flags.append(flag if value else f"--no-{flag[2:]}")
                continue
            for part in shown_value if field_by_name[name].repeated else (shown_value,):
                flags += [flag, form_fields.format_value(part)]
        shell = ["rote", *words_of(self.name), *inputs, *flags]
        arguments = [repr(inputs[0] if len(inputs) == 1 else inputs), *keywords]
        return {
            "shell": " ".join(map(shlex.quote, shell)),
            "python": f"import rote\nrote.{self.name.replace('-', '_')}({', '.join(arguments)})",
        }

    @property
    def files(self) -> Sequence[str]:
        return () if input_kind(find_record(self.name)) in ("results", "index") else self.inputs

    def check(self, opened: Workspace) -> None:
        if not self.inputs:
            raise OptionError("nothing is chosen that could go in")
        inputs = self._inputs(opened)
        options = build_options(option_kinds(find_record(self.name)), self._given(opened))
        if "input_format" in self.options:
            for key, path in zip(self.files, inputs):
                if key not in opened.files:
                    check_unpacked(path, opened.upload_limit, options.get(ReadOptions))

    def places(self) -> tuple[Sequence[str], Sequence[str]]:
        files, indexes = split_keys(self.files, list_keys(command_fields(self.name), self.options))
        inputs = self.inputs if input_kind(find_record(self.name)) == "index" else ()
        return files, [*indexes, *inputs]

    def perform(self, opened: Workspace, reporter: Reporter) -> Sequence[Result]:
        values, inputs = self._given(opened), self._inputs(opened)
        record = find_record(self.name)
        if any(f.name == "jobs" for kind in option_kinds(record) for f in dataclasses.fields(kind)):
            values["jobs"] = opened.jobs
        if isinstance(record, Metric):
            values["per_text"] = stores_texts(inputs, reporter)
        elif record.ledger:
            opened.made.mkdir(exist_ok=True)
            refuse_links((self.folder(opened),))
            values["output"] = self.folder(opened)
        return [run_command(self.name, inputs, values, reporter=reporter)]

    def reader(self, opened: Workspace) -> Reader:
        record = find_record(self.name)
        if not isinstance(record, Metric):
            return read_batches
        options = build_options(option_kinds(record), self._given(opened))
        chosen, read = [(record, options[record.options])], options[ReadOptions]
        return lambda path: corpus_batches(open_texts(chosen, [path], read, Silent()))

    def _given(self, opened: Workspace) -> dict[str, Any]:
        return resolve_keys(command_fields(self.name), self.options, opened)

    def folder(self, opened: Workspace) -> Path:
        """Where a command with a ledger writes what it makes of all it reads, as that is now."""
        files, indexes = self.places()
        read = [*map(opened.file, files), *map(opened.index, indexes)]
        settings = json.dumps([self.inputs, self.options], sort_keys=True)
        return opened.made / f"{self.name}-{hash_parts(settings, *map(fingerprint, read))[:8]}"

    def _inputs(self, opened: Workspace) -> Any:
        takes = input_kind(find_record(self.name))
        if takes == "results":
            history = History(opened.store)
            return [result for id in self.inputs for result in history.results(id)]
        if takes == "index":
            return next(opened.index(key) for key in self.inputs)
        return [opened.file(key) for key in self.inputs]


def _strip_keys(field: form_fields.FormField, value: Any) -> Any:
    """A value with the names of files and indexes in place of the app's keys."""
    if isinstance(value, (list, tuple)):
        return tuple(_strip_keys(field, part) for part in value)
    if field.kind in ("place", "file") and isinstance(value, str):
        return value.removeprefix("index:").removeprefix(form_fields.FILE).split("~")[0]
    return value


def list_commands() -> list[str]:
    """The records that give values or a ledger; other data sets are written on the shell."""
    return [name for name in names() if _is_shown(find(name))]


def find_record(name: str) -> Metric | Study:
    record = find(name)
    if not _is_shown(record):
        raise UnknownName("command of the app", name, list_commands())
    return record


def _is_shown(record: Metric | Study) -> bool:
    gives_result = getattr(record, "output", "result") == "result" or getattr(record, "ledger", "")
    return bool(gives_result) and input_kind(record) != "prompts"


def input_kind(record: Metric | Study) -> str:
    return record.takes if isinstance(record, Study) else "items" if record.items else "texts"


def command_fields(name: str) -> list[form_fields.FormField]:
    """The fields that the form of a record has; one that several kinds of options have, once."""
    record = find_record(name)
    glance = at_a_glance(option_kinds(record), record.without)
    fields: dict[str, form_fields.FormField] = {}
    for kind in option_kinds(record):
        for field in form_fields.options_fields(kind, open=True):
            further = field.further or field.name not in glance
            fields.setdefault(field.name, replace(field, further=further))
    return [field for field in fields.values() if field.name not in record.without]


INDEX_LAYERS = {
    "lower": "words, whatever their capitals",
    "pos": "parts of speech, for templates and queries with tags",
    "lemma": "words by their base form",
    "word": "words as they are written",
}
_DEFAULT_LAYERS = ("lower", "pos")
_INDEX_NAME = re.compile(r"\w[\w.-]{0,59}")


@dataclass(frozen=True, slots=True)
class IndexForm:
    """What goes into which index; one that was named at the start is read, and never written."""

    kind: ClassVar[str] = "index"
    page: ClassVar[str] = "/search"

    files: tuple[str, ...] = ()
    name: str = ""
    into: str = ""
    """The index that is extended; none: a new one."""
    layers: tuple[str, ...] = _DEFAULT_LAYERS
    author: str = "author"
    skip: bool = False
    """Leave out what cannot be read, and documents with an id that the index has already."""

    @classmethod
    def read(cls, pairs: Iterable[tuple[str, str]]) -> IndexForm:
        every = list(pairs)
        single = {name: value.strip() for name, value in every}
        chosen = tuple(dict.fromkeys(value for name, value in every if name == "layer"))
        return cls(
            files=tuple(dict.fromkeys(value for name, value in every if name == "file")),
            name=single.get("name", ""),
            into=single.get("into", ""),
            layers=chosen or _DEFAULT_LAYERS,
            author=single.get("author", "") or "author",
            skip=single.get("bad", "") == "skip",
        )

    @property
    def key(self) -> str:
        return self.into or self.name

    @property
    def title(self) -> str:
        names = ", ".join(name.split("~")[0] for name in self.files[:3])
        return f"{names} into the index {self.into}" if self.into else f"index {self.name}: {names}"

    @property
    def address(self) -> str:
        pairs = [("file", key) for key in self.files]
        pairs += [("name", self.name), ("into", self.into), ("author", self.author)]
        pairs += [("bad", "skip" if self.skip else "")]
        pairs += [("layer", name) for name in self.layers]
        return "/indexes?" + urlencode([pair for pair in pairs if pair[1]], errors="replace")

    def check(self, opened: Workspace) -> None:
        if not self.files:
            raise OptionError("no file is chosen: choose one, or upload one on Compare")
        for key in self.files:
            opened.file(key)
        for layer in self.layers:
            if layer not in INDEX_LAYERS:
                raise UnknownName("layer", layer, INDEX_LAYERS)
        if self.into:
            if self.into not in opened.known.built:
                raise UnknownName("index that was built here", self.into, opened.known.built)
        elif not _INDEX_NAME.fullmatch(self.name):
            raise OptionError(
                "an index needs a name: letters, digits, dots and hyphens, at most 60"
            )
        elif self.name in opened.indexes:
            raise OptionError(f"there is an index '{self.name}': extend it, or choose another name")

    def places(self) -> tuple[Sequence[str], Sequence[str]]:
        return self.files, [self.into] if self.into else []

    def perform(self, opened: Workspace, reporter: Reporter) -> str:
        paths = [opened.file(key) for key in self.files]
        single: Path | None = paths[0] if len(paths) == 1 else None
        read = ReadOptions(on_error="skip" if self.skip else "stop")
        source = open_store(single) if single and is_store(single) else open_corpus(paths, read)
        place = opened.known.place(self.key)
        if self.into:
            manifest = add_to_index(place, source, jobs=opened.jobs, reporter=reporter)
        else:
            refuse_links((place,))
            opened.known.sweep()
            place.parent.mkdir(mode=0o700, exist_ok=True)
            options = BuildOptions(self.layers, author_field=self.author, jobs=opened.jobs)
            manifest = build_index(source, place, options, reporter)
        number = "document is" if manifest.added == 1 else "documents are"
        reporter.say(f"{manifest.added:,} {number} new in it")
        for line in manifest.problems.listed():
            reporter.say(line.strip())
        return "/search?" + urlencode({"index": self.key})


TEMPLATE_LAYERS = ("pos", "upos", "dep", "lower", "lemma", "shape")
MOST_LISTED, MAX_LENGTH = 1_000, 32
_DEFAULT_FIELD = "source"
NOT_COMPARED = "Not compared with"
"""How the note begins that says why there is no reference."""


@dataclass(frozen=True, slots=True)
class TemplatesForm:
    """Files by their keys, and settings as they are in an address."""

    kind: ClassVar[str] = "templates"
    page: ClassVar[str] = "/templates/kept/{id}"

    files: tuple[str, ...] = option((), "Keys of files, as /api/opened lists them", form=False)
    layer: str = option("pos", f"One of {', '.join(TEMPLATE_LAYERS)}")
    n: int = option(6, "Items of a template")
    top: int = option(100, "Templates of a source")
    min_count: int = option(2, "Minimum frequency of a template")
    by: str = option("", "Fields that tell sources apart; or: source")
    reference: str = option("", "Source that others are compared with")
    guess: str = option("", "The reference, if nobody chose it: left out if it fails", form=True)

    def __post_init__(self) -> None:
        if not 1 <= self.n <= MAX_LENGTH:
            raise OptionError(f"a template has 1 to {MAX_LENGTH} items, and not {self.n}")
        if not 1 <= self.top <= MOST_LISTED:
            raise OptionError(f"1 to {MOST_LISTED:,} templates are listed here, not {self.top}")
        if self.min_count < 1:
            raise OptionError(f"min_count must be at least 1, not {self.min_count}")
        if self.layer not in TEMPLATE_LAYERS:
            layers = ", ".join(TEMPLATE_LAYERS)
            raise OptionError(f"the layer is one of {layers}, not '{self.layer}'")

    @classmethod
    def read(cls, pairs: Iterable[tuple[str, str]]) -> TemplatesForm:
        """From an address or a posted form."""
        every = list(pairs)
        files = tuple(value for name, value in every if name == "file")
        return cls(files, **form_fields.read_values(form_fields.options_fields(cls), dict(every)))

    @property
    def title(self) -> str:
        return f"templates of {', '.join(name.split('~')[0] for name in self.files)}"

    @property
    def address(self) -> str:
        """The page with these settings."""
        usual = asdict(TemplatesForm())
        # Where an address says nothing of these, the page guesses.
        always = {"by", "reference"}
        pairs = [("file", key) for key in self.files]
        for name, value in asdict(self).items():
            if name in always or (name != "files" and value != usual[name]):
                pairs.append((name, str(value)))
        return "/templates?" + urlencode(pairs, errors="replace")

    def check(self, opened: Workspace) -> None:
        if not self.files:
            raise OptionError("no file is chosen")
        self.paths(opened)

    def places(self) -> tuple[Sequence[str], Sequence[str]]:
        return self.files, ()

    def paths(self, opened: Workspace) -> dict[str, Path]:
        return {key: opened.file(key) for key in self.files}

    def perform(self, opened: Workspace, reporter: Reporter) -> Sequence[Result]:
        """The measure `templates` on the files; tests and curves are the page Compare's."""
        try:
            return self._measured(opened, reporter)
        except RoteError as error:
            if not self.reference or self.reference != self.guess:
                raise
            # Nobody has asked for it: what can be seen without it is shown.
            why = str(error).partition(". ")[0]
            (result,) = replace(self, reference="")._measured(opened, reporter)
            note = f"{NOT_COMPARED} '{self.reference}': {why}."
            return [replace(result, notes=(*result.notes, note))]

    def _measured(self, opened: Workspace, reporter: Reporter) -> Sequence[Result]:
        paths = list(self.paths(opened).values())
        by = tuple(part.strip() for part in self.by.split(",") if part.strip())
        if not by and all(_DEFAULT_FIELD in preview_file(path).fields for path in paths):
            by = (_DEFAULT_FIELD,)
        plain = Settings(permutations=0, matched=False, jobs=opened.jobs)
        settings = replace(plain, by=by, reference=self.reference or None)
        lengths = tuple(sorted({4, 5, 6, 7, 8, self.n}))
        chosen = {name: getattr(self, name) for name in ("layer", "n", "top", "min_count")}
        wanted = METRIC.options(**chosen, lengths=lengths)
        return compute([(METRIC.name, wanted)], paths, settings=settings, reporter=reporter)


WorkForm: TypeAlias = CompareForm | RunForm | TemplatesForm | IndexForm
"""What was asked for: settings that are in an address, in a job, and beside its result.

Each has a `kind`, a `title`, the `address` of the form with these settings, the `page` that shows
the result, the keys of the `files` whose texts are measured, and the `places`: keys of all files
and of all indexes that are read. `check` refuses what could not work, before a process is started
for it; `perform` gives what came out, or the address of the page that shows it."""
_FORMS: tuple[type[WorkForm], ...] = (CompareForm, RunForm, TemplatesForm, IndexForm)
_KINDS = {form.kind: form for form in _FORMS}


def make_form(kind: str, settings: Mapping[str, Any]) -> WorkForm:
    return form_from_json(form_class(kind), settings)


def form_address(kind: str, settings: Mapping[str, Any]) -> str:
    """The form with these settings; empty where another version kept others."""
    try:
        return make_form(kind, settings).address if settings else ""
    except (UnknownName, TypeError):
        return ""


def text_reader(kind: str, settings: Mapping[str, Any], opened: Workspace) -> Reader:
    known = settings and kind in (RunForm.kind, CompareForm.kind)
    form = make_form(kind, settings) if known else None
    return form.reader(opened) if isinstance(form, (RunForm, CompareForm)) else read_batches


def form_class(kind: str) -> type[WorkForm]:
    if kind not in _KINDS:
        raise UnknownName("kind of work", kind, _KINDS)
    return _KINDS[kind]
