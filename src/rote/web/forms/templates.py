"""Which templates are asked for, of which files: in an address, in a job, and as a measure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlencode

from rote.core.errors import OptionError, RoteError
from rote.core.metric import option
from rote.core.progress import Reporter
from rote.core.result import Result
from rote.measure import Settings
from rote.web.files import glimpse
from rote.web.forms import options
from rote.web.workspace import Workspace

LAYERS = ("pos", "upos", "dep", "lower", "lemma", "shape")
MOST_LISTED, LONGEST = 1_000, 32
_USUAL = "source"
LEFT_OUT = "Not compared with"
"""How the note begins that says why there is no reference."""


@dataclass(frozen=True, slots=True)
class TemplatesForm:
    """Files by their keys, and settings as they are in an address."""

    kind: ClassVar[str] = "templates"
    page: ClassVar[str] = "/templates/kept/{id}"

    files: tuple[str, ...] = option((), "Keys of files, as /api/opened lists them", form=False)
    layer: str = option("pos", f"One of {', '.join(LAYERS)}")
    n: int = option(6, "Items of a template")
    top: int = option(100, "Templates of a source")
    min_count: int = option(2, "How often a template has to occur")
    by: str = option("", "Fields that tell sources apart; or: source")
    reference: str = option("", "Source that others are compared with")
    guess: str = option("", "The reference, if nobody chose it: left out if it fails", form=True)

    def __post_init__(self) -> None:
        if not 1 <= self.n <= LONGEST:
            raise OptionError(f"a template has 1 to {LONGEST} items, and not {self.n}")
        if not 1 <= self.top <= MOST_LISTED:
            raise OptionError(f"1 to {MOST_LISTED:,} templates are listed here, not {self.top}")
        if self.min_count < 1:
            raise OptionError(f"min_count must be at least 1, not {self.min_count}")
        if self.layer not in LAYERS:
            raise OptionError(f"the layer is one of {', '.join(LAYERS)}, not '{self.layer}'")

    @classmethod
    def read(cls, pairs: Iterable[tuple[str, str]]) -> TemplatesForm:
        """From an address or a posted form."""
        given = list(pairs)
        files = tuple(value for name, value in given if name == "file")
        return cls(files, **options.read(options.fields_of(cls), dict(given)))

    @property
    def title(self) -> str:
        return f"templates of {', '.join(name.split('~')[0] for name in self.files)}"

    @property
    def address(self) -> str:
        """The page with these settings."""
        usual = asdict(TemplatesForm())
        # Where an address says nothing of these, the page guesses.
        said = {"by", "reference"}
        pairs = [("file", key) for key in self.files]
        for name, value in asdict(self).items():
            if name in said or (name != "files" and value != usual[name]):
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
            (found,) = replace(self, reference="")._measured(opened, reporter)
            return [replace(found, notes=(*found.notes, f"{LEFT_OUT} '{self.reference}': {why}."))]

    def _measured(self, opened: Workspace, reporter: Reporter) -> Sequence[Result]:
        from rote.measure._compute import compute
        from rote.measure._templates.core import Options

        paths = list(self.paths(opened).values())
        by = tuple(part.strip() for part in self.by.split(",") if part.strip())
        if not by and all(_USUAL in glimpse(path).fields for path in paths):
            by = (_USUAL,)
        settings = Settings(
            by=by, reference=self.reference or None, permutations=0, matched=False, jobs=opened.jobs
        )
        lengths = tuple(sorted({4, 5, 6, 7, 8, self.n}))
        wanted = Options(
            layer=self.layer, n=self.n, top=self.top, min_count=self.min_count, lengths=lengths
        )
        return compute([("templates", wanted)], paths, settings=settings, reporter=reporter)
