"""What a comparison was asked for: in an address, in a job, and as what `make_report` takes.

One comparison has one address; everything in it can be changed by hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlencode

from rote.core import plugins
from rote.core.errors import OptionError, UnknownName
from rote.core.metric import Metric
from rote.core.progress import Reporter
from rote.corpus import ReadOptions
from rote.measure import Settings, panel
from rote.measure._speaking import named
from rote.report.report import Report
from rote.studies._driver import options_of
from rote.web.files import FEW, Reader, batches, glimpse
from rote.web.forms import options as forms
from rote.web.store.history import RESULT
from rote.web.store.uploads import check_unpacked
from rote.web.workspace import Workspace, keys_of

SHARED = (
    *("by", "reference", "sample", "permutations", "seed", "interval", "matched", "within"),
    "cluster",
)
"""The settings that the form offers, in its order."""
USUAL = (*dict.fromkeys(name for name, _ in panel()), "templates")
_REFERENCES = ("human", "humans", "plain", "reference", "original", "gold", "kjv")
"""Names of sources that others are usually compared with."""
_SOURCES = ("source", "model", "generator", "system", "writer", "author")
"""Fields that usually say who wrote a text."""
_PER_TEXT = 512 * 2**20
"""Bytes of input up to which every text has its values kept."""
CORPUS, TRAIN = "needs a corpus", "needs training texts"


@dataclass(frozen=True, slots=True)
class CompareForm:
    """Files by their keys, measures by their names, and the settings that differ from the usual."""

    kind: ClassVar[str] = "compare"
    page: ClassVar[str] = RESULT

    files: tuple[str, ...]
    measures: tuple[str, ...] = USUAL
    corpus: str = ""
    """`index:KEY` or `file:KEY`: what the texts are held against."""
    train: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    own: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Settings of single measures."""

    @property
    def title(self) -> str:
        shown = ", ".join(name.split("~")[0] for name in self.files[:3])
        more = f" and {len(self.files) - 3} more" if len(self.files) > 3 else ""
        reference = self.settings.get("reference")
        return shown + more + (f", against {reference}" if reference else "")

    @property
    def address(self) -> str:
        """The form with these settings."""
        return "/compare?" + urlencode(self.query())

    def query(self) -> list[tuple[str, str]]:
        pairs = [("file", key) for key in self.files]
        pairs += [("measure", name) for name in self.measures]
        pairs += [
            (n, place) for n, place in (("corpus", self.corpus), ("train", self.train)) if place
        ]
        pairs += forms.pairs_from(settings_fields(), self.settings)
        for measure, own in self.own.items():
            given = forms.pairs_from(own_fields(measure), own)
            pairs += [(f"{measure}.{name}", value) for name, value in given]
        # An empty one says that it was left empty: without it the form would guess.
        return pairs + [("by", "")] * ("by" not in self.settings)

    @classmethod
    def read(cls, pairs: Iterable[tuple[str, str]]) -> CompareForm:
        """From an address or a posted form; unknown names are left alone, wrong values refused."""
        given = list(pairs)
        single = forms.joined(given, settings_fields())
        several = {
            one: tuple(dict.fromkeys(value for name, value in given if name == one))
            for one in ("file", "measure")
        }
        own = {}
        for name in several["measure"]:
            if name not in offered():
                raise UnknownName("measure", name, offered())
            if mine := forms.read(own_fields(name), single, prefix=f"{name}."):
                own[name] = mine
        return cls(
            files=several["file"],
            measures=several["measure"],
            corpus=single.get("corpus", ""),
            train=single.get("train", ""),
            settings=forms.read(settings_fields(), single),
            own=own,
        )

    @classmethod
    def of(
        cls,
        files: Iterable[str],
        measures: Iterable[str],
        settings: Mapping[str, Any],
        own: Mapping[str, Mapping[str, Any]],
        **places: str,
    ) -> CompareForm:
        """From JSON; an option that a measure does not have is refused."""
        chosen = tuple(dict.fromkeys(measures))
        for name in chosen:
            if name not in offered():
                raise UnknownName("measure", name, offered())
        for name in own:
            if name not in chosen:
                raise OptionError(f"options are given for '{name}', which is not a measure chosen")
            options = _metric(name).options
            forms.check_names(own[name], own_fields(name), forms.refused(options))
        forms.check_names(settings, settings_fields(), forms.refused(Settings, ReadOptions))
        read = {name: forms.read(own_fields(name), given) for name, given in own.items()}
        return cls(
            tuple(dict.fromkeys(files)),
            chosen,
            settings=forms.read(settings_fields(), settings),
            own={name: given for name, given in read.items() if given},
            **places,
        )

    def check(self, opened: Workspace) -> None:
        """Refuse what could not work, before a process is started for it."""
        if not self.files:
            raise OptionError("no file is chosen: choose one, or upload one")
        if not self.measures:
            raise OptionError("no measure is chosen")
        for key in self.files:
            opened.file(key)
        for name in self.measures:
            _metric(name).options(**resolved(own_fields(name), self.own.get(name, {}), opened))
            if lacking := self.lacks(name):
                raise OptionError(f"`{name}` {lacking}: choose one below, or leave it out")
        settings = self._settings(opened)
        if "input_format" in self.settings:
            for key in self.files:
                if key not in opened.files:
                    path, read = opened.file(key), settings[ReadOptions]
                    check_unpacked(path, opened.upload_limit, read)
        for place in (self.corpus, self.train):
            opened.ground(place)

    def lacks(self, measure: str) -> str:
        """What a measure is held against and nobody chose; a missing reference leaves the measure
        out of the result, with the reason."""
        wanted = needs(_metric(measure))
        chosen = {CORPUS: self.corpus, TRAIN: self.train}
        return wanted if wanted in chosen and not chosen[wanted] else ""

    def places(self) -> tuple[Sequence[str], Sequence[str]]:
        named = named_in(settings_fields(), self.settings)
        for name, given in self.own.items():
            named += named_in(own_fields(name), given)
        return keys_of(self.files, (self.corpus, self.train, *named))

    def reader(self, opened: Workspace) -> Reader:
        """How a file of texts is read."""
        return partial(batches, read=self._settings(opened)[ReadOptions])

    def _settings(self, opened: Workspace) -> dict[type, Any]:
        given = resolved(settings_fields(), self.settings, opened)
        return options_of((Settings, ReadOptions), given)

    def perform(self, opened: Workspace, reporter: Reporter) -> Report:
        from rote.report.make import make_report
        from rote.report.options import ReportOptions

        paths = [opened.file(key) for key in self.files]
        settings = self._settings(opened)
        return make_report(
            paths,
            ReportOptions(
                corpus=opened.ground(self.corpus),
                train=opened.ground(self.train),
                measures=self.measures,
                title=self.title,
            ),
            settings=replace(
                settings[Settings], per_text=per_text(paths, reporter), jobs=opened.jobs
            ),
            read=settings[ReadOptions],
            own={
                name: resolved(own_fields(name), given, opened) for name, given in self.own.items()
            },
            reporter=reporter,
        )


@cache
def settings_fields() -> tuple[forms.Field, ...]:
    """How texts are compared and read: what the form offers, in its order, then the others."""
    every = [one for kind in (Settings, ReadOptions) for one in forms.fields_of(kind, open=True)]
    found = {one.name: replace(one, further=one.name not in SHARED) for one in every}
    return tuple(found[name] for name in (*SHARED, *(n for n in found if n not in SHARED)))


@cache
def own_fields(measure: str) -> tuple[forms.Field, ...]:
    """The options of a measure; what it is held against is chosen for all of them."""
    every = forms.fields_of(_metric(measure).options, open=True)
    usual = {one.name for one in forms.fields_of(_metric(measure).options)}
    chosen = (one for one in every if one.name not in ("train", "corpus"))
    return tuple(replace(one, further=one.name not in usual) for one in chosen)


def resolved(
    fields: Iterable[forms.Field], given: Mapping[str, Any], opened: Workspace
) -> dict[str, Any]:
    """Options with paths and models in place of their keys."""
    found = dict(given)
    for one in fields:
        turns = {"place": opened.ground, "file": opened.named, "models": opened.speaker}
        turn, value = turns.get(one.kind), found.get(one.name)
        if turn is None or value is None:
            continue
        found[one.name] = tuple(map(turn, value)) if one.several else turn(value)
        if one.kind == "models" and not one.several:
            found[one.name] = named([found[one.name]])[0].spec  # one alone needs no name
    return found


def named_in(fields: Iterable[forms.Field], given: Mapping[str, Any]) -> list[str]:
    """The keys of files, indexes and models that options name."""
    kinds = ("place", "file", "models")
    held = [given[one.name] for one in fields if one.kind in kinds and given.get(one.name)]
    return [one for value in held for one in forms.written(value).split(",")]


def needs(metric: Metric) -> str:
    """What has to be chosen beside the texts."""
    needed = {field.name for field in fields(metric.options) if field.metadata.get("needed")}
    if "corpus" in needed:
        return CORPUS
    if "train" in needed:
        return TRAIN
    return "" if metric.tested or metric.alone else "needs a reference"


@cache
def offered() -> tuple[str, ...]:
    """The measures that a whole picture can hold, the usual ones first."""
    from rote.report.options import offered as known

    there = plugins.members("measure")
    return tuple(dict.fromkeys((*USUAL, *(name for name in known() if name in there))))


def per_text(paths: Sequence[Path], reporter: Reporter) -> bool:
    """Whether the values of every text are kept: not of very many."""
    held = [one for path in paths for one in (path.rglob("*") if path.is_dir() else (path,))]
    few = sum(one.stat().st_size for one in held if one.is_file()) <= _PER_TEXT
    if not few:
        reporter.say(
            "these are too many texts to keep the values of each: take a sample to see them"
        )
    return few


def _metric(name: str) -> Metric:
    found: Metric = plugins.load("measure", name).METRIC
    return found


def guessed(files: Sequence[str], opened: Workspace, by: str = "") -> dict[str, Any]:
    """Settings for files of which nobody said anything, or only which field tells their sources
    apart: a usual one, if all of them have it, and a usual reference among its values."""
    looks = [glimpse(opened.file(key)) for key in files]
    shared = [n for n in _SOURCES if looks and all(n in look.fields for look in looks)]
    # Any field may be called source; of another, few values tell that it names sources.
    likely = (
        n for n in shared if n == "source" or any(0 < len(look.of(n)) <= FEW for look in looks)
    )
    field = by or next(likely, "")
    if not field:
        return {}
    sources = {value.lower(): value for look in looks for value in look.of(field)}
    reference = next((sources[name] for name in _REFERENCES if name in sources), None)
    return {"by": (field,)} | ({"reference": reference} if reference else {})
