"""Which templates are asked for, of which files: in an address, in a job, and as a measure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from rote.core.errors import OptionError
from rote.core.progress import Reporter
from rote.core.result import Result
from rote.measure import Settings
from rote.web.files import glimpse
from rote.web.store.fingerprints import fingerprint
from rote.web.store.uploads import COLUMNS, unpacked
from rote.web.workspace import Workspace

LAYERS = ("pos", "upos", "dep", "lower", "lemma", "shape")
SMALL = 1 << 20
"""Bytes of texts that are measured while one waits; more is work for a process of its own."""
MOST_LISTED, LONGEST = 1_000, 32
_BUNDLED = "example:"
_USUAL = "source"


@dataclass(frozen=True, slots=True)
class TemplatesAsked:
    """Files by their keys, and settings as they stand in an address."""

    files: tuple[str, ...] = ()
    layer: str = "pos"
    n: int = 6
    top: int = 100
    min_count: int = 2
    by: str = ""
    """Fields that tell sources apart; without one `source`, where the records have it."""
    reference: str = ""

    def __post_init__(self) -> None:
        if not 1 <= self.n <= LONGEST:
            raise OptionError(f"a template has 1 to {LONGEST} items, and not {self.n}")
        if not 1 <= self.top <= MOST_LISTED:
            raise OptionError(f"1 to {MOST_LISTED:,} templates are listed here, not {self.top}")
        if self.min_count < 1:
            raise OptionError(f"min_count must be at least 1, not {self.min_count}")
        if self.layer not in LAYERS:
            raise OptionError(f"the layer is one of {', '.join(LAYERS)}, not '{self.layer}'")

    @property
    def title(self) -> str:
        return f"templates of {', '.join(name.split('~')[0] for name in self.files)}"

    def address(self, **further: Any) -> str:
        """The page with these settings."""
        pairs = [("file", key) for key in self.files]
        usual = asdict(TemplatesAsked())
        pairs += [(n, str(v)) for n, v in asdict(self).items() if n != "files" and v != usual[n]]
        pairs += [(name, str(value)) for name, value in further.items() if value]
        return "/templates?" + urlencode(pairs, errors="replace")

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> TemplatesAsked:
        """From JSON, where tuples are lists."""
        return cls(**{**data, "files": tuple(data["files"])})

    def paths(self, opened: Workspace) -> list[Path]:
        return list(self.places(opened).values())

    def places(self, opened: Workspace) -> dict[str, Path]:
        return {key: opened.file(key) for key in self.files}

    def version(self, opened: Workspace) -> tuple[Any, ...]:
        """The same for the same settings on the same files."""
        return ("templates", self, *map(fingerprint, self.paths(opened)))

    def is_small(self, opened: Workspace) -> bool:
        return sum(map(_size, self.paths(opened))) <= SMALL

    def _fields(self, opened: Workspace) -> tuple[str, ...]:
        if self.by.strip():
            return tuple(part.strip() for part in self.by.split(",") if part.strip())
        known = all(_USUAL in glimpse(path).fields for path in self.paths(opened))
        return (_USUAL,) if known else ()

    def measured(self, opened: Workspace, reporter: Reporter | None = None) -> Result:
        """The measure `templates` on the files; tests and curves are the page Compare's."""
        from rote.measure._compute import compute
        from rote.measure._templates.core import Options

        if not self.files:
            raise OptionError("no file is chosen")
        (found,) = compute(
            [
                (
                    "templates",
                    Options(
                        layer=self.layer,
                        n=self.n,
                        top=self.top,
                        min_count=self.min_count,
                        lengths=tuple(sorted({4, 5, 6, 7, 8, self.n})),
                    ),
                )
            ],
            self.paths(opened),
            settings=Settings(
                by=self._fields(opened),
                reference=self.reference or None,
                permutations=0,
                matched=False,
                jobs=opened.jobs,
            ),
            reporter=reporter,
        )
        return found


def _size(path: Path) -> int:
    """About how many bytes of text; what is not known is large."""
    if path.is_dir():
        return sum(_size(one) for one in path.rglob("*") if one.is_file())
    if path.is_file():
        return unpacked(path, SMALL) if COLUMNS.isdisjoint(path.suffixes) else SMALL + 1
    return 0 if str(path).startswith(_BUNDLED) else SMALL + 1
