"""An index that is built or extended: its name, the files that go in, and its layers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlencode

from rote.core.errors import OptionError, UnknownName
from rote.core.folder import refuse_links
from rote.core.progress import Reporter
from rote.web.workspace import Workspace

LAYERS = {
    "lower": "words, whatever their capitals",
    "pos": "parts of speech, for templates and queries with tags",
    "lemma": "words by their base form",
    "word": "words as they are written",
}
_USUAL = ("lower", "pos")
_NAME = re.compile(r"\w[\w.-]{0,59}")


@dataclass(frozen=True, slots=True)
class IndexForm:
    """What goes into which index. Only those that were built here are extended: a folder that was
    named at the start is read, and never written."""

    kind: ClassVar[str] = "index"
    page: ClassVar[str] = "/search"

    files: tuple[str, ...] = ()
    name: str = ""
    into: str = ""
    """The index that is extended; none: a new one."""
    layers: tuple[str, ...] = _USUAL
    author: str = "author"
    skip: bool = False
    """Leave out what cannot be read, and documents with an id that the index has already."""

    @classmethod
    def read(cls, pairs: Iterable[tuple[str, str]]) -> IndexForm:
        given = list(pairs)
        single = {name: value.strip() for name, value in given}
        chosen = tuple(dict.fromkeys(value for name, value in given if name == "layer"))
        return cls(
            files=tuple(dict.fromkeys(value for name, value in given if name == "file")),
            name=single.get("name", ""),
            into=single.get("into", ""),
            layers=chosen or _USUAL,
            author=single.get("author", "") or "author",
            skip=single.get("bad", "") == "skip",
        )

    @property
    def key(self) -> str:
        return self.into or self.name

    @property
    def title(self) -> str:
        shown = ", ".join(name.split("~")[0] for name in self.files[:3])
        return f"{shown} into the index {self.into}" if self.into else f"index {self.name}: {shown}"

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
            if layer not in LAYERS:
                raise UnknownName("layer", layer, LAYERS)
        if self.into:
            if self.into not in opened.known.own:
                raise UnknownName("index that was built here", self.into, opened.known.own)
        elif not _NAME.fullmatch(self.name):
            raise OptionError(
                "an index needs a name: letters, digits, points and hyphens, at most 60"
            )
        elif self.name in opened.indexes:
            raise OptionError(f"there is an index '{self.name}': extend it, or choose another name")

    def places(self) -> tuple[Sequence[str], Sequence[str]]:
        return self.files, [self.into] if self.into else []

    def perform(self, opened: Workspace, reporter: Reporter) -> str:
        from rote.annotate.store import is_store, open_store
        from rote.corpus import ReadOptions, open_corpus
        from rote.index.folders.build import add_to_index, build_index
        from rote.index.folders.options import BuildOptions

        paths = [opened.file(key) for key in self.files]
        one: Path | None = paths[0] if len(paths) == 1 else None
        read = ReadOptions(on_error="skip" if self.skip else "stop")
        source = open_store(one) if one and is_store(one) else open_corpus(paths, read)
        place = opened.known.place(self.key)
        if self.into:
            written = add_to_index(place, source, jobs=opened.jobs, reporter=reporter)
        else:
            refuse_links((place,))
            opened.known.sweep()
            place.parent.mkdir(mode=0o700, exist_ok=True)
            options = BuildOptions(self.layers, author_field=self.author, jobs=opened.jobs)
            written = build_index(source, place, options, reporter)
        reporter.say(
            f"{written.added:,} document{'s are' * (written.added != 1) or ' is'} new in it"
        )
        for line in written.problems.listed():
            reporter.say(line.strip())
        return "/search?" + urlencode({"index": self.key})
