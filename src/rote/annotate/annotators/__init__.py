"""Annotators: documents to layers, one file each, known by the file's name.

`get("rote")` gives rote's own English models; `get("spacy:MODEL")` any installed spaCy
pipeline, `get("stanza:LANG")` Stanza's models of a language, `get("given")` the
annotation that came with the input. An annotator is small and travels to worker
processes as it is; each process loads the models once, when they are first needed.
`get("de=spacy:MODEL")` has German texts read by another one (`_languages.py`).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import cast

from rote.annotate.annotators._entry import Entry
from rote.core import plugins
from rote.core.annotation import Annotator
from rote.core.errors import InputError, UnknownName

ROOM = "annotate.annotators"
DEFAULT = "rote"
TRUSTED = "ROTE_TRUSTED_ANNOTATORS"
"""Names, separated by commas, that are loaded whichever file names them."""


def entries() -> list[Entry]:
    """What can be used here, and what could be."""
    return [entry for name in plugins.members(ROOM) for entry in plugins.load(ROOM, name).entries()]


def get(name: str = DEFAULT) -> Annotator:
    """The annotator of this name; what stands behind a colon is handed on to it."""
    from rote.annotate.script import by_language

    if len(names := by_language(name, DEFAULT)) > 1:
        from rote.annotate.annotators._languages import ByLanguage

        return ByLanguage(tuple(names.items()))
    kind, _, rest = name.partition(":")
    known = plugins.members(ROOM)
    if kind not in known:
        raise UnknownName("annotator", kind, known)
    return cast(Annotator, plugins.load(ROOM, kind).annotator(rest))


def get_recorded(name: str, file: Path) -> Annotator:
    """The annotator that a file names, which may be somebody else's: none that is loaded from a
    path, unless the user trusts it."""
    kind, _, rest = name.partition(":")
    if name in os.environ.get(TRUSTED, "").split(","):
        return get(name)
    known = kind in plugins.members(ROOM)
    if not known or not getattr(plugins.load(ROOM, kind), "is_installed", _is_name)(rest):
        raise InputError(
            f"is '{name}', which is not installed, and a path in a file that may be somebody "
            "else's is not loaded",
            file=str(file),
            field="annotator",
            remedy=f"Install it; or, if you trust it, set {TRUSTED}={name}",
        )
    return get(name)


def _is_name(rest: str) -> bool:
    return "/" not in rest and "\\" not in rest
