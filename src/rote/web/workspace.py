"""What the app was started with: indexes and files, each under a key; nothing else is read.

A page names an index or a file by its key, never by a path, so that no request can reach a path
that was not given at the start or uploaded since.

An open index is mapped as its manifest was, so a request sees one state from first to last. The
manifest's time and inode tell whether there is a newer state; while one request opens it the others
go on with the old one.
"""

from __future__ import annotations

import os
import shutil
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from rote.annotate.store import is_store
from rote.core import plugins
from rote.core.errors import InputError, UnknownName
from rote.core.json_reader import read_json
from rote.core.locked_folder import is_abandoned
from rote.core.result import RESULT_FILE
from rote.corpus import open_corpus, short_names
from rote.index.factory import open_index
from rote.index.folders.manifest import MANIFEST, Manifest, is_index, read_manifest
from rote.index.index import Index
from rote.report.texts.ledger import find_ledger
from rote.web.files import list_uploads

T = TypeVar("T")
_INDEX, _FILE = "index:", "file:"
LOCAL = ("localhost", "127.0.0.1", "[::1]")


class KnownIndexes(Mapping[str, Path]):
    """Indexes by key: those of the start, then those that the app has built since."""

    def __init__(self, indexes: Mapping[str, Path], folder: Path) -> None:
        self.given: Mapping[str, Path] = (
            indexes.given if isinstance(indexes, KnownIndexes) else indexes
        )
        self._folder = folder

    @property
    def built(self) -> dict[str, Path]:
        folders = sorted(self._folder.iterdir()) if self._folder.is_dir() else []
        return {
            folder.name: folder
            for folder in folders
            if folder.name not in self.given and is_index(folder) and not folder.is_symlink()
        }

    def __getitem__(self, key: str) -> Path:
        return self.given[key] if key in self.given else self.built[key]

    def __iter__(self) -> Iterator[str]:
        return iter((*self.given, *self.built))

    def __len__(self) -> int:
        return len(self.given) + len(self.built)

    def place(self, name: str) -> Path:
        return self._folder / name

    def sweep(self) -> None:
        """Remove what an ended process had begun to build."""
        for folder in self._folder.iterdir() if self._folder.is_dir() else ():
            if not is_index(folder) and is_abandoned(folder):
                shutil.rmtree(folder, ignore_errors=True)


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
        object.__setattr__(self, "indexes", KnownIndexes(self.indexes, self.store / "indexes"))

    @property
    def known(self) -> KnownIndexes:
        """The indexes, with what can be done to those that were built here."""
        assert isinstance(self.indexes, KnownIndexes)
        return self.indexes

    def index(self, key: str) -> Path:
        return _look_up("index", key, self.indexes)

    @property
    def made(self) -> Path:
        return self.store / "made"

    def all_ledgers(self) -> dict[str, Path]:
        """Those of the start, then those that were made here."""
        folders = sorted(self.made.iterdir()) if self.made.is_dir() else []
        return {**self.ledgers, **{path.name: path for path in folders if find_ledger(path)}}

    def ledger(self, key: str) -> Path:
        return _look_up("ledger", key, self.all_ledgers())

    def file(self, key: str) -> Path:
        return self.files[key] if key in self.files else _look_up("file", key, self.all_files())

    def all_files(self) -> dict[str, Path]:
        return {**self.files, **list_uploads(self.store)}

    def grounds(self) -> dict[str, str]:
        """What texts can be held against: its place -> how it is called."""
        indexes = {_INDEX + key: f"index {key}" for key in self.indexes}
        files = {_FILE + key: f"texts of {key.split('~')[0]}" for key in self.all_files()}
        return {**indexes, **files}

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
        return _look_up("model", key, self.speakers())


def _look_up(kind: str, key: str, known: Mapping[str, T]) -> T:
    if key not in known:
        raise UnknownName(kind, key, known)
    return known[key]


def split_keys(files: Sequence[str], places: Sequence[str]) -> tuple[list[str], list[str]]:
    """Keys of all files and indexes that are read, with those that texts are held against."""
    extra = [place[len(_FILE) :] for place in places if place.startswith(_FILE)]
    indexes = [place[len(_INDEX) :] for place in places if place.startswith(_INDEX)]
    return [*files, *extra], indexes


@dataclass(frozen=True, slots=True)
class RecognizedInputs:
    """Paths by key; results have none, they go to the history."""

    indexes: dict[str, Path]
    files: dict[str, Path]
    results: tuple[Path, ...]
    ledgers: dict[str, Path]


def recognize_inputs(names: Sequence[str]) -> RecognizedInputs:
    """Every name is looked at; what cannot be used is an error before the app starts."""
    paths: dict[str, list[Path]] = {"index": [], "file": [], "results": [], "ledger": []}
    for name in dict.fromkeys(names):
        kind = _input_kind(name)
        # In full, so that work in other processes finds it; `bible:kjv` is no path.
        path = Path(name) if kind == "named" else Path(name).resolve()
        paths[kind if kind in paths else "file"].append(path)
    results = [*paths["results"], *(path / RESULT_FILE for path in paths["ledger"])]
    indexes, files, ledgers = (_key_paths(paths[kind]) for kind in ("index", "file", "ledger"))
    return RecognizedInputs(indexes, files, tuple(r for r in results if r.is_file()), ledgers)


def _input_kind(name: str) -> str:
    path = Path(name)
    if path.is_dir() and is_index(path):
        return "index"
    if path.is_dir() and is_store(path):
        return "store"
    if path.is_dir() and find_ledger(path):
        return "ledger"
    if path.suffix == ".json" and path.is_file() and _is_result_file(path):
        return "results"
    if name == "-":
        raise InputError("standard input cannot be served", remedy="Write it to a file first")
    # A pattern is looked up now, and again at every use.
    open_corpus([path])
    reader, colon, _ = name.partition(":")
    is_named = bool(colon) and reader in plugins.members("corpus")
    return "named" if is_named and not path.exists() else "file"


def _is_result_file(path: Path) -> bool:
    """Results and studies are objects with a schema; a file of texts is not."""
    try:
        data = read_json(path)
    except InputError:
        return False
    return isinstance(data, dict) and "schema" in data and ("panel" in data or "measure" in data)


def _key_paths(paths: Sequence[Path]) -> dict[str, Path]:
    return dict(zip(short_names(paths, paths), paths))


Stamp = tuple[int, int, int]
MAX_RECENT = 32
"""Answers that took a while and are kept: a reload, or another view of the same, is at once."""


class RecentAnswers:
    """Answers by what was asked; of too many the one goes that was not asked for longest."""

    def __init__(self, most: int = MAX_RECENT) -> None:
        self._held: OrderedDict[Hashable, Any] = OrderedDict()
        self._most = most
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                cached: T = self._held[key]
                return cached
        # Not under the lock: others need not wait. The same may be made twice, and is the same.
        value = make()
        with self._lock:
            self._held[key] = value
            while len(self._held) > self._most:
                self._held.popitem(last=False)
        return value


@dataclass(frozen=True, slots=True)
class OpenIndex:
    index: Index
    manifest: Manifest
    recent: RecentAnswers = field(default_factory=RecentAnswers)
    """Answers that depend on what was asked; those of this state go with it."""
    _made: dict[Any, Any] = field(default_factory=dict)
    _making: dict[Any, Lock] = field(default_factory=dict)

    def once(self, name: Any, make: Callable[[], T]) -> T:
        """What this state of the index needs once; who comes meanwhile waits for it."""
        with self._making.setdefault(name, Lock()):
            if name not in self._made:
                self._made[name] = make()
            value: T = self._made[name]
        return value

    def about(self, key: str) -> dict[str, Any]:
        properties = ("generation", "signature", "documents", "words")
        return {"index": key, **{name: getattr(self.manifest, name) for name in properties}}


class IndexCache:
    def __init__(self) -> None:
        self._held: dict[Path, tuple[Stamp, OpenIndex]] = {}
        self._doors: dict[Path, Lock] = {}
        self._lock = Lock()

    def current(self, path: Path) -> OpenIndex:
        """The index as it is now, or as it was a moment ago while another request opens it."""
        stamp, entry = _manifest_stamp(path), self._held.get(path)
        if entry and entry[0] == stamp:
            return entry[1]
        with self._lock:
            door = self._doors.setdefault(path, Lock())
        # Whoever has something to read need not wait for something newer.
        if not door.acquire(blocking=entry is None):
            assert entry is not None
            return entry[1]
        try:
            stamp, entry = _manifest_stamp(path), self._held.get(path)
            if entry and entry[0] == stamp:
                return entry[1]
            index = open_index(path)
            assert index.manifest is not None
            opened = OpenIndex(index, index.manifest)
            self._held[path] = stamp, opened
            return opened
        finally:
            door.release()


def _manifest_stamp(path: Path) -> Stamp:
    """Of the manifest's file: another one whenever it was replaced."""
    try:
        status = os.stat(path / MANIFEST)
    except OSError:
        read_manifest(path)  # says what is wrong
        raise
    return status.st_mtime_ns, status.st_ino, status.st_size
