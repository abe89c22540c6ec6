"""How a file is read, as a form: which fields hold text, source and id, the format, the encoding,
and what becomes of bad records. What was read so is kept as a file of its own, so that every page
reads it without being told how."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from rote.core import plugins
from rote.core.document import Document
from rote.core.errors import InputError, OptionError
from rote.corpus import Corpus, ReadOptions, open_corpus
from rote.web.store import uploads
from rote.web.workspace import Workspace

ENCODINGS = ("utf-8", "utf-16", "cp1252", "latin-1", "mac-roman", "shift_jis", "gb18030", "koi8-r")
PLAIN = ("file", "line", "paragraph")
_OWN = ("id", "text")


@dataclass(frozen=True, slots=True)
class Reading:
    """Empty is guessed."""

    text: str = ""
    source: str = ""
    id: str = ""
    format: str = ""
    plain: str = "file"
    encoding: str = "utf-8"
    bad: str = "stop"

    @classmethod
    def read(cls, pairs: Iterable[tuple[str, str]]) -> Reading:
        """From an address or a posted form; unknown names are left alone, wrong values refused."""
        known = {one.name for one in fields(cls)}
        found = cls(**{name: value for name, value in pairs if name in known and value})
        for name, value, choices in (
            ("format", found.format, ("", *formats())),
            ("plain", found.plain, PLAIN),
            ("encoding", found.encoding, ENCODINGS),
            ("bad", found.bad, ("stop", "skip")),
        ):
            if value not in choices:
                raise OptionError(f"{name} is one of {', '.join(filter(None, choices))}")
        return found

    @property
    def options(self) -> ReadOptions:
        return ReadOptions(
            text_field=self.text or None,
            id_field=self.id or None,
            input_format=self.format or None,
            plain=self.plain,  # type: ignore[arg-type]
            encoding=self.encoding,
            on_error="skip" if self.bad == "skip" else "stop",
        )

    @property
    def usual(self) -> bool:
        """Whether the file is read as it would be anyhow; who its sources are is another matter."""
        return replace(self, source="") == Reading()

    def address(self, key: str) -> str:
        told = {one.name: getattr(self, one.name) for one in fields(self)}
        given = {name: value for name, value in told.items() if value != getattr(Reading(), name)}
        return f"/files/{quote(key, safe='')}" + ("?" + urlencode(given) if given else "")


def formats() -> list[str]:
    """The readers of files, by name."""
    return [n for n in plugins.members("corpus") if plugins.load("corpus", n).SUFFIXES]


def keep_read(opened: Workspace, key: str, reading: Reading) -> str:
    """Read a file so, keep what came out as JSON lines, and give the key of that."""
    from rote.curate.reading import json_line

    path = opened.file(key)
    if not path.is_file():
        raise OptionError("only a file can be read in another way: name its folder's files")
    if path.stat().st_size > opened.upload_limit:
        raise OptionError(
            f"{path.name} is too large to be read in another way here, which makes a copy: the "
            "commands on the shell read it with --text-field, --input-format and the like"
        )
    if key not in opened.files:
        uploads.check_unpacked(path, opened.upload_limit, reading.options)
    corpus = open_corpus([path], reading.options)
    with tempfile.TemporaryFile() as copy:
        for document in _all(corpus, path):
            copy.write(json_line(_record(document, reading.source)))
        copy.seek(0)
        name = f"{path.name.split('.')[0]}.jsonl"
        return uploads.keep(opened.store, name, copy, opened.upload_limit)


def _all(corpus: Corpus, path: Path) -> Iterable[Document]:
    """Not one of its records, if the file is without any."""
    held = False
    for document in corpus:
        held = True
        yield document
    if not held:
        raise InputError("the file holds no text that can be read", file=path.name)


def _record(document: Document, source: str) -> Mapping[str, Any]:
    """Under the usual names; a field that bears one of them and was not chosen gets another."""
    from rote.curate.reading import fields_of

    others = {f"given_{n}" if n in _OWN else n: v for n, v in fields_of(document).items()}
    if source and source in others:
        others.setdefault("source", others[source])
    return {"id": document.id, "text": document.text, **others}
