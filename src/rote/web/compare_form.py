"""What a comparison was asked for: in an address, in a job, and as what `make_report` takes.

One comparison has one address; everything in it can be changed by hand.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlencode

from rote.core import plugins
from rote.core.errors import OptionError, UnknownName
from rote.core.metric import Metric
from rote.core.numbers import name_some
from rote.core.progress import Reporter
from rote.core.registry import find
from rote.corpus import ReadOptions
from rote.measure import Settings, panel
from rote.report.builder import make_report
from rote.report.options import ReportOptions, check_across, list_offered
from rote.report.report import Report
from rote.search.open_models import name_models
from rote.studies.dispatch.driver import build_options
from rote.web import form_fields
from rote.web.files import FEW_VALUES, Reader, check_unpacked, preview_file, read_batches
from rote.web.history import RESULT
from rote.web.workspace import Workspace, split_keys

SHARED_SETTINGS = tuple(
    "by reference across sample permutations seed interval matched within cluster".split()
)
"""The settings that the form offers, in its order."""


def usual_measures() -> tuple[str, ...]:
    """The panel, and what records say to be usual beside it."""
    usual = (name for name in plugins.members("measure") if find(name).usual)
    return tuple(dict.fromkeys((*(name for name, _ in panel()), *usual)))


DEFAULT_MEASURES = usual_measures()
_REFERENCES = ("human", "humans", "plain", "reference", "original", "gold", "kjv")
"""Names of sources that others are usually compared with."""
_SOURCES = ("source", "model", "generator", "system", "writer", "author")
"""Fields that usually say who wrote a text."""
_MAX_STORED = 512 * 2**20
"""Bytes of input up to which every text has its values kept."""
CORPUS, TRAIN = "needs a corpus", "needs training texts"


@dataclass(frozen=True, slots=True)
class CompareForm:
    """Files by their keys, measures by their names, and the settings that differ from the usual."""

    kind: ClassVar[str] = "compare"
    page: ClassVar[str] = RESULT

    files: tuple[str, ...]
    measures: tuple[str, ...] = DEFAULT_MEASURES
    corpus: str = ""
    """`index:KEY` or `file:KEY`: what the texts are held against."""
    train: str = ""
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    measure_options: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    """Settings of single measures."""

    @property
    def title(self) -> str:
        reference = self.settings.get("reference")
        names = name_some([name.split("~")[0] for name in self.files], 3)
        return names + (f", against {reference}" if reference else "")

    @property
    def address(self) -> str:
        return "/compare?" + urlencode(self.query())

    def query(self) -> list[tuple[str, str]]:
        pairs = [("file", key) for key in self.files]
        pairs += [("measure", name) for name in self.measures]
        places = {"corpus": self.corpus, "train": self.train}
        pairs += [(name, place) for name, place in places.items() if place]
        pairs += form_fields.query_pairs(settings_fields(), self.settings)
        for measure, options in self.measure_options.items():
            query = form_fields.query_pairs(measure_fields(measure), options)
            pairs += [(f"{measure}.{name}", value) for name, value in query]
        # An empty one says that it was left empty: without it the form would guess.
        return pairs + [("by", "")] * ("by" not in self.settings)

    @classmethod
    def read(cls, pairs: Iterable[tuple[str, str]]) -> CompareForm:
        """From an address or a posted form; unknown names are left alone, wrong values refused."""
        every = list(pairs)
        single = form_fields.join_values(every, settings_fields())
        several = {
            key: tuple(dict.fromkeys(value for name, value in every if name == key))
            for key in ("file", "measure")
        }
        measure_options = {}
        for name in several["measure"]:
            if name not in offered_measures():
                raise UnknownName("measure", name, offered_measures())
            if mine := form_fields.read_values(measure_fields(name), single, prefix=f"{name}."):
                measure_options[name] = mine
        return cls(
            files=several["file"],
            measures=several["measure"],
            corpus=single.get("corpus", ""),
            train=single.get("train", ""),
            settings=form_fields.read_values(settings_fields(), single),
            measure_options=measure_options,
        )

    @classmethod
    def of(
        cls,
        files: Iterable[str],
        measures: Iterable[str],
        settings: Mapping[str, Any],
        measure_options: Mapping[str, Mapping[str, Any]],
        **places: str,
    ) -> CompareForm:
        """From JSON; an option that a measure does not have is refused."""
        chosen = tuple(dict.fromkeys(measures))
        for name in chosen:
            if name not in offered_measures():
                raise UnknownName("measure", name, offered_measures())
        for name in measure_options:
            if name not in chosen:
                raise OptionError(f"options are given for '{name}', which is not a measure chosen")
            options = _find_metric(name).options
            form_fields.check_names(
                measure_options[name], measure_fields(name), form_fields.refused_options(options)
            )
        form_fields.check_names(
            settings, settings_fields(), form_fields.refused_options(Settings, ReadOptions)
        )
        read = {
            name: form_fields.read_values(measure_fields(name), options)
            for name, options in measure_options.items()
        }
        return cls(
            tuple(dict.fromkeys(files)),
            chosen,
            settings=form_fields.read_values(settings_fields(), settings),
            measure_options={name: options for name, options in read.items() if options},
            **places,
        )

    def check(self, opened: Workspace) -> None:
        if not self.files:
            raise OptionError("no file is chosen: choose one, or upload one")
        if not self.measures:
            raise OptionError("no measure is chosen")
        for key in self.files:
            opened.file(key)
        for name in self.measures:
            _find_metric(name).options(
                **resolve_keys(measure_fields(name), self.measure_options.get(name, {}), opened)
            )
            if lacking := self.lacks(name):
                raise OptionError(f"`{name}` {lacking}: choose one below, or leave it out")
        settings = self._settings(opened)
        check_across(self.settings.get("across"), self.settings.get("by", ()))
        if "input_format" in self.settings:
            for key in self.files:
                if key not in opened.files:
                    check_unpacked(opened.file(key), opened.upload_limit, settings[ReadOptions])
        for place in (self.corpus, self.train):
            opened.ground(place)

    def lacks(self, measure: str) -> str:
        """What a measure is held against and nobody chose, but for a missing reference."""
        wanted = missing_input(_find_metric(measure))
        chosen = {CORPUS: self.corpus, TRAIN: self.train}
        return wanted if wanted in chosen and not chosen[wanted] else ""

    def places(self) -> tuple[Sequence[str], Sequence[str]]:
        keys = list_keys(settings_fields(), self.settings)
        for name, options in self.measure_options.items():
            keys += list_keys(measure_fields(name), options)
        return split_keys(self.files, (self.corpus, self.train, *keys))

    def reader(self, opened: Workspace) -> Reader:
        return partial(read_batches, read=self._settings(opened)[ReadOptions])

    def _settings(self, opened: Workspace) -> dict[type, Any]:
        values = resolve_keys(settings_fields(), self.settings, opened)
        return build_options((Settings, ReadOptions, ReportOptions), values)

    def perform(self, opened: Workspace, reporter: Reporter) -> Report:
        paths = [opened.file(key) for key in self.files]
        settings = self._settings(opened)
        return make_report(
            paths,
            replace(
                settings[ReportOptions],
                corpus=opened.ground(self.corpus),
                train=opened.ground(self.train),
                measures=self.measures,
                title=self.title,
            ),
            settings=replace(
                settings[Settings], per_text=stores_texts(paths, reporter), jobs=opened.jobs
            ),
            read=settings[ReadOptions],
            measure_options={
                name: resolve_keys(measure_fields(name), options, opened)
                for name, options in self.measure_options.items()
            },
            reporter=reporter,
        )


@cache
def settings_fields() -> tuple[form_fields.FormField, ...]:
    """How texts are compared and read: what the form offers, in its order, then the others."""
    kinds = ((Settings, None), (ReadOptions, None), (ReportOptions, ("across",)))
    every = [f for kind, only in kinds for f in form_fields.options_fields(kind, only, open=True)]
    by_name = {f.name: replace(f, further=f.name not in SHARED_SETTINGS) for f in every}
    return tuple(by_name[name] for name in dict.fromkeys((*SHARED_SETTINGS, *by_name)))


@cache
def measure_fields(measure: str) -> tuple[form_fields.FormField, ...]:
    """The options of a measure; what it is held against is chosen for all of them."""
    every = form_fields.options_fields(_find_metric(measure).options, open=True)
    usual = {field.name for field in form_fields.options_fields(_find_metric(measure).options)}
    chosen = (field for field in every if field.name not in ("train", "corpus"))
    return tuple(replace(field, further=field.name not in usual) for field in chosen)


def resolve_keys(
    fields: Iterable[form_fields.FormField], values: Mapping[str, Any], opened: Workspace
) -> dict[str, Any]:
    """Options with paths and models in place of their keys."""
    paths = dict(values)
    for field in fields:
        turns = {"place": opened.ground, "file": opened.named, "models": opened.speaker}
        turn, value = turns.get(field.kind), paths.get(field.name)
        if turn is None or value is None:
            continue
        paths[field.name] = tuple(map(turn, value)) if field.several else turn(value)
        if field.kind == "models" and not field.several:
            paths[field.name] = name_models([paths[field.name]])[0].spec  # one alone needs no name
    return paths


def list_keys(fields: Iterable[form_fields.FormField], values: Mapping[str, Any]) -> list[str]:
    kinds = ("place", "file", "models")
    chosen = [values[f.name] for f in fields if f.kind in kinds and values.get(f.name)]
    return [field for value in chosen for field in form_fields.format_value(value).split(",")]


def missing_input(metric: Metric) -> str:
    needed = {field.name for field in fields(metric.options) if field.metadata.get("needed")}
    if "corpus" in needed:
        return CORPUS
    if "train" in needed:
        return TRAIN
    return "" if metric.tested or metric.alone else "needs a reference"


@cache
def offered_measures() -> tuple[str, ...]:
    """The measures that a whole picture can hold, the usual ones first."""
    others = (name for name in list_offered() if name in plugins.members("measure"))
    return tuple(dict.fromkeys((*DEFAULT_MEASURES, *others)))


def stores_texts(paths: Sequence[Path], reporter: Reporter) -> bool:
    """Whether the values of every text are kept: not of very many."""
    files = [file for path in paths for file in (path.rglob("*") if path.is_dir() else (path,))]
    if sum(file.stat().st_size for file in files if file.is_file()) <= _MAX_STORED:
        return True
    reporter.say("there are too many texts to store the values of each: use a sample to see them")
    return False


def _find_metric(name: str) -> Metric:
    metric: Metric = plugins.load("measure", name).METRIC
    return metric


def guess_settings(files: Sequence[str], opened: Workspace, by: str = "") -> dict[str, Any]:
    """A usual field that tells sources apart (or `by`), and a usual reference among its values."""
    looks = [preview_file(opened.file(key)) for key in files]
    shared = [n for n in _SOURCES if looks and all(n in look.fields for look in looks)]
    # Any field may be called source; of another, few values tell that it names sources.
    few = (n for n in shared if any(0 < len(look.of(n)) <= FEW_VALUES for look in looks))
    field = by or ("source" if shared[:1] == ["source"] else next(few, ""))
    if not field:
        return {}
    sources = {value.lower(): value for look in looks for value in look.of(field)}
    reference = next((sources[name] for name in _REFERENCES if name in sources), None)
    return {"by": (field,)} | ({"reference": reference} if reference else {})
