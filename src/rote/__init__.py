"""rote: what is new in the text of language models, and what they repeat.

    import rote
    result = rote.lexical("stories.jsonl", by="source", reference="human")
    print(result)

Every command is a function of this package: `rote.diversity` runs the panel, `rote.index` makes an
index over a corpus, in a folder or in memory, and `rote.open_index` opens one. Nothing heavy is
imported before it is used; `__init__.pyi`, which is generated, has the types.
"""

from __future__ import annotations

import importlib
from typing import Any

_ROOMS = {
    "rote.core.document": ("Document",),
    "rote.core.errors": ("InputError", "MissingExtra", "OptionError", "RoteError", "UnknownName"),
    "rote.core.layer": ("Layer",),
    "rote.core.result": ("Result",),
    "rote.core.signature": ("Signature",),
    "rote.corpus": ("Corpus", "ReadOptions", "open_corpus"),
    "rote.studies.dispatch.python_index": ("Index",),
    "rote.search.index_language_model": ("BackOff",),
    "rote.index.factory": ("open_index",),
    "rote.measure": ("Settings",),
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from rote.core.distribution import version

        return version()
    if name == "__all__":
        return __dir__()
    if name in _HOME:
        value = getattr(importlib.import_module(_HOME[name]), name)
        if isinstance(value, type):
            return value
        from rote.studies.dispatch.functions import translate_errors

        return translate_errors(value)
    if not name.startswith("_"):
        from rote.core.registry import functions

        if name in functions():
            from rote.studies.dispatch.functions import command_function

            return command_function(name)
    raise AttributeError(f"module 'rote' has no attribute {name!r}")


def __dir__() -> list[str]:
    from rote.core.registry import functions

    return sorted([*_HOME, "__version__", *functions()])
