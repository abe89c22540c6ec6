"""What the app was started with: indexes and files, each under a name; nothing else is read.

A page names an index or a file by its key, never by a path, so that no request can reach a path
that was not given at the start or uploaded since.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rote.core.errors import InputError, UnknownName
from rote.core.json_reader import read_json
from rote.core.saved import RESULT
from rote.web.store.uploads import uploaded

_INDEX, _FILE = "index:", "file:"
LOCAL = ("localhost", "127.0.0.1", "[::1]")


class Known(Mapping[str, Path]):
    """Indexes by key: those of the start, then those that the app has built since."""

    def __init__(self, given: Mapping[str, Path], folder: Path) -> None:
        self.given: Mapping[str, Path] = given.given if isinstance(given, Known) else given
        self._folder = folder

    @property
    def own(self) -> dict[str, Path]:
        """Those that were built here."""
        from rote.index.folders.manifest import is_index

        found = sorted(self._folder.iterdir()) if self._folder.is_dir() else []
        return {
            one.name: one
            for one in found
            if one.name not in self.given and is_index(one) and not one.is_symlink()
        }

    def __getitem__(self, key: str) -> Path:
        return self.given[key] if key in self.given else self.own[key]

    def __iter__(self) -> Iterator[str]:
        return iter((*self.given, *self.own))

    def __len__(self) -> int:
        return len(self.given) + len(self.own)

    def place(self, name: str) -> Path:
        """Where one of this name is, or would be, built here."""
        return self._folder / name

    def sweep(self) -> None:
        """Remove what an ended process had begun to build."""
        from rote.core.folder import is_left
        from rote.index.folders.manifest import is_index

        for one in self._folder.iterdir() if self._folder.is_dir() else ():
            if not is_index(one) and is_left(one):
                shutil.rmtree(one, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class Workspace:
    """Indexes and files by key, where the app keeps its own things, and its limits."""

    indexes: Mapping[str, Path]
    files: Mapping[str, Path]
    store: Path
    """Folder of the history (SQLite), of jobs and of uploads."""
    jobs: int = 1
    """Cores that one piece of work may use."""
    upload_limit: int = 64 * 2**20
    """Bytes of one request."""
    hosts: Sequence[str] = LOCAL
    """Names by which a browser may call the app; "*": by any."""
    token: str | None = None
    """Asked for where the app listens to other machines."""
    at_once: int = 2
    """Pieces of long work that run side by side; others wait."""
    models: Mapping[str, str] = field(default_factory=dict)
    """Language models that pages may ask, by name."""
    ledgers: Mapping[str, Path] = field(default_factory=dict)
    """Folders that `dedup` or `decontaminate` made."""
    first: bool = False
    """Whether an empty history begins with the first file: so it is with the bundled texts."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "indexes", Known(self.indexes, self.store / "indexes"))

    @property
    def known(self) -> Known:
        """The indexes, with what can be done to those that were built here."""
        assert isinstance(self.indexes, Known)
        return self.indexes

    def index(self, key: str) -> Path:
        if key not in self.indexes:
            raise UnknownName("index", key, self.indexes)
        return self.indexes[key]

    @property
    def made(self) -> Path:
        """Folders that the app itself made."""
        return self.store / "made"

    def all_ledgers(self) -> dict[str, Path]:
        """Those of the start, then those that were made here."""
        from rote.report.texts.ledger import ledger_of

        own = sorted(self.made.iterdir()) if self.made.is_dir() else []
        return {**self.ledgers, **{path.name: path for path in own if ledger_of(path)}}

    def ledger(self, key: str) -> Path:
        known = self.all_ledgers()
        if key not in known:
            raise UnknownName("ledger", key, known)
        return known[key]

    def file(self, key: str) -> Path:
        if key in self.files:
            return self.files[key]
        known = self.all_files()
        if key not in known:
            raise UnknownName("file", key, known)
        return known[key]

    def all_files(self) -> dict[str, Path]:
        """Those of the start, then those that were uploaded."""
        return {**self.files, **uploaded(self.store)}

    def grounds(self) -> dict[str, str]:
        """What texts can be held against: its place -> how it is called."""
        indexes = {_INDEX + key: f"index {key}" for key in self.indexes}
        return {
            **indexes,
            **{_FILE + key: f"texts of {key.split('~')[0]}" for key in self.all_files()},
        }

    def ground(self, place: str) -> str | None:
        """The path of such a place; None if none is named."""
        if not place:
            return None
        if place.startswith(_INDEX):
            return str(self.index(place[len(_INDEX) :]))
        if place.startswith(_FILE):
            return str(self.file(place[len(_FILE) :]))
        raise UnknownName("corpus", place, self.grounds())

    def named(self, place: str) -> str:
        """The path of `file:KEY`; anything else is a name that rote knows."""
        if place.startswith(_INDEX):
            raise UnknownName("file", place, [_FILE + key for key in self.all_files()])
        return str(self.file(place[len(_FILE) :])) if place.startswith(_FILE) else place

    def speakers(self) -> dict[str, str]:
        """Models that can be asked: by key, what `open_models` takes. An index speaks as well."""
        indexes = {f"{_INDEX}{key}": f"{key}=index:{path}" for key, path in self.indexes.items()}
        return {**self.models, **indexes}

    def speaker(self, key: str) -> str:
        if key not in self.speakers():
            raise UnknownName("model", key, self.speakers())
        return self.speakers()[key]


def keys_of(files: Sequence[str], places: Sequence[str]) -> tuple[list[str], list[str]]:
    """Keys of all files and indexes that are read, with those that texts are held against."""
    extra = [place[len(_FILE) :] for place in places if place.startswith(_FILE)]
    indexes = [place[len(_INDEX) :] for place in places if place.startswith(_INDEX)]
    return [*files, *extra], indexes


@dataclass(frozen=True, slots=True)
class Recognized:
    """Paths by key; results have none, they go to the history."""

    indexes: dict[str, Path]
    files: dict[str, Path]
    results: tuple[Path, ...]
    ledgers: dict[str, Path]


def recognize(names: Sequence[str]) -> Recognized:
    """Every name is looked at; what cannot be used is an error before the app starts."""
    indexes: list[Path] = []
    files: list[Path] = []
    results: list[Path] = []
    ledgers: list[Path] = []
    for name in dict.fromkeys(names):
        kind = _kind(name)
        # In full, so that work in other processes finds it; `bible:kjv` is no path.
        path = Path(name) if kind == "named" else Path(name).resolve()
        kinds = {"index": indexes, "results": results, "ledger": ledgers}
        kinds.get(kind, files).append(path)
    results += [path / RESULT for path in ledgers if (path / RESULT).is_file()]
    return Recognized(_keyed(indexes), _keyed(files), tuple(results), _keyed(ledgers))


def _kind(name: str) -> str:
    from rote.annotate.store import is_store
    from rote.corpus import open_corpus
    from rote.index.folders.manifest import is_index
    from rote.report.texts.ledger import ledger_of

    path = Path(name)
    if path.is_dir() and is_index(path):
        return "index"
    if path.is_dir() and is_store(path):
        return "store"
    if path.is_dir() and ledger_of(path):
        return "ledger"
    if path.suffix == ".json" and path.is_file() and _holds_results(path):
        return "results"
    if name == "-":
        raise InputError("standard input cannot be served", remedy="Write it to a file first")
    # A pattern is looked up now, and again at every use.
    open_corpus([path])
    return "file" if path.exists() or not _is_named(name) else "named"


def _holds_results(path: Path) -> bool:
    """Results and studies are objects with a schema; a file of texts is not."""
    try:
        data = read_json(path)
    except InputError:
        return False
    return isinstance(data, dict) and "schema" in data and ("panel" in data or "measure" in data)


def _is_named(name: str) -> bool:
    from rote.core import plugins

    reader, colon, _ = name.partition(":")
    return bool(colon) and reader in plugins.members("corpus")


def _keyed(paths: Sequence[Path]) -> dict[str, Path]:
    from rote.corpus._paths import short_names

    return dict(zip(short_names(paths, paths), paths))
