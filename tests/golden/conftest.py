"""`python -m pytest tests/golden --record` writes the golden outputs anew."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--record", action="store_true", help="Write the golden outputs anew")
