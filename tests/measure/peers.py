"""Single files of the `diversity` package; importing the whole needs a download and torch."""

from __future__ import annotations

import importlib.util
import sys
from importlib.metadata import distribution
from types import ModuleType
from typing import Any


def diversity_file(name: str) -> Any:
    """One module of `diversity` 0.3.1, loaded by its path."""
    files = distribution("diversity").files or []
    path = next(file.locate() for file in files if str(file) == f"diversity/{name}.py")
    spec = importlib.util.spec_from_file_location(f"diversity_{name}", str(path))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def diversity_homogenization() -> Any:
    """Its homogenization module; `evaluate`, which it imports for BLEU, is stood in for."""
    stand_in = ModuleType("evaluate")
    stand_in.load = None  # type: ignore[attr-defined]
    before = sys.modules.get("evaluate")
    sys.modules["evaluate"] = stand_in
    try:
        return diversity_file("homogenization")
    finally:
        if before is None:
            del sys.modules["evaluate"]
        else:
            sys.modules["evaluate"] = before
