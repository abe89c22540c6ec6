"""Annotators: documents to layers, one file each, known by the file's name.

`get("rote")` gives rote's own English models; `get("spacy:MODEL")` any installed spaCy
pipeline, `get("stanza:LANG")` Stanza's models of a language, `get("given")` the
annotation that came with the input. An annotator is small and travels to worker
processes as it is; each process loads the models once, when they are first needed.
`get("de=spacy:MODEL")` has German texts read by another one (`_languages.py`).
"""

from __future__ import annotations

from typing import cast

from rote.annotate.annotators._entry import Entry
from rote.core import plugins
from rote.core.annotation import Annotator
from rote.core.errors import UnknownName

ROOM = "annotate.annotators"
DEFAULT = "rote"


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
