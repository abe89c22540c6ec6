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


@cache
def lemmatizer() -> Any:
    """From forms to lemmas."""
    with _package():
        from lemminflect.core.Lemmatizer import Lemmatizer

        return Lemmatizer()


@cache
def inflections() -> Any:
    """From lemmas to forms."""
    with _package():
        from lemminflect.core.Inflections import Inflections

        return Inflections()


@contextmanager
def _package() -> Iterator[None]:
    """The package as an empty room, so that its modules can be imported one by one."""
    loaded = "lemminflect" in sys.modules
    if not loaded:
        spec = importlib.util.find_spec("lemminflect")
        if spec is None:
            raise ModuleNotFoundError("No module named 'lemminflect'", name="lemminflect")
        sys.modules["lemminflect"] = importlib.util.module_from_spec(spec)
    try:
        yield
    finally:
        if not loaded:
            del sys.modules["lemminflect"]  # whoever imports the package gets all of it
