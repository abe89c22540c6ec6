"""lemminflect's lemmatizer and inflections, without the package's own start.

That would import spaCy, where it is installed, only to hook into it: two seconds.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from rote.core.errors import MissingExtra


@cache
def lemmatizer(wanted_for: str) -> Any:
    """From forms to lemmas; `wanted_for` is what a message says where the package is missing."""
    with _package(wanted_for):
        from lemminflect.core.Lemmatizer import Lemmatizer

        return Lemmatizer()


@cache
def inflections(wanted_for: str) -> Any:
    """From lemmas to forms."""
    with _package(wanted_for):
        from lemminflect.core.Inflections import Inflections

        return Inflections()


@contextmanager
def _package(wanted_for: str) -> Iterator[None]:
    """The package as an empty room, so that its modules can be imported one by one."""
    loaded = "lemminflect" in sys.modules
    if not loaded:
        spec = importlib.util.find_spec("lemminflect")
        if spec is None:
            raise MissingExtra("lemminflect", "lemmas", wanted_for)
        sys.modules["lemminflect"] = importlib.util.module_from_spec(spec)
    try:
        yield
    finally:
        if not loaded:
            del sys.modules["lemminflect"]  # whoever imports the package gets all of it
