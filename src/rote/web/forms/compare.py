"""What a comparison was asked for: in an address, in a job, and as what `make_report` takes.

One comparison has one address; everything in it can be changed by hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlencode

from rote.core import plugins
from rote.core.errors import OptionError, UnknownName
from rote.core.metric import Metric
from rote.core.progress import Reporter
from rote.measure import Settings, panel
from rote.report.report import Report
from rote.web.files import glimpse
from rote.web.forms import options as forms
from rote.web.store.history import RESULT
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
        pairs += [(name, forms.written(value)) for name, value in self.settings.items()]
        for measure, own in self.own.items():
            pairs += [(f"{measure}.{name}", forms.written(value)) for name, value in own.items()]
        # An empty one says that it was left empty: without it the form would guess.
        return pairs + [("by", "")] * ("by" not in self.settings)

    @classmethod
    def read(cls, pairs: Iterable[tuple[str, str]]) -> CompareForm:
        """From an address or a posted form; unknown names are left alone, wrong values refused."""
        given = list(pairs)
        single = dict(given)
        several = {
            one: tuple(dict.fromkeys(value for name, value in given if name == one))
            for one in ("file", "measure")
        }
        own = {}
        for name in several["measure"]:
            if name not in offered():
                raise UnknownName("measure", name, offered())
            if mine := forms.read(_metric(name).options, single, prefix=f"{name}."):
                own[name] = mine
        return cls(
            files=several["file"],
            measures=several["measure"],
            corpus=single.get("corpus", ""),
            train=single.get("train", ""),
            settings=forms.read(Settings, single, SHARED),
            own=own,
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
            _metric(name).options(**self.own.get(name, {}))
            if lacking := self.lacks(name):
                title = _metric(name).title
                raise OptionError(f"{title} {lacking}: choose one below, or leave it out")
        Settings(**self.settings)
        for place in (self.corpus, self.train):
            opened.ground(place)

    def lacks(self, measure: str) -> str:
        """What a measure is held against and nobody chose; a missing reference leaves the measure
        out of the result, with the reason."""
        wanted = needs(_metric(measure))
        chosen = {CORPUS: self.corpus, TRAIN: self.train}
        return wanted if wanted in chosen and not chosen[wanted] else ""

    def places(self) -> tuple[Sequence[str], Sequence[str]]:
        return keys_of(self.files, (self.corpus, self.train))

    def perform(self, opened: Workspace, reporter: Reporter) -> Report:
        from rote.report.make import make_report
        from rote.report.options import ReportOptions

        paths = [opened.file(key) for key in self.files]
        return make_report(
            paths,
            ReportOptions(
                corpus=opened.ground(self.corpus),
                train=opened.ground(self.train),
                measures=self.measures,
                title=self.title,
            ),
            settings=replace(
                Settings(**self.settings), per_text=per_text(paths, reporter), jobs=opened.jobs
            ),
            own=self.own,
            reporter=reporter,
        )


def needs(metric: Metric) -> str:
    """What has to be chosen beside the texts."""
    names = {field.name for field in fields(metric.options)}
    if "against" in names:
        return CORPUS
    if "train" in names:
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
    likely = (n for n in shared if n == "source" or any(look.of(n) for look in looks))
    field = by or next(likely, "")
    if not field:
        return {}
    sources = {value.lower(): value for look in looks for value in look.of(field)}
    reference = next((sources[name] for name in _REFERENCES if name in sources), None)
    return {"by": (field,)} | ({"reference": reference} if reference else {})
