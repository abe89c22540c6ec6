"""`python -m pytest tests/golden --record` writes the golden outputs anew, and says what they held
and hold no longer."""

from __future__ import annotations

from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--record", action="store_true", help="Write the golden outputs anew")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    for report in terminalreporter.getreports("passed"):
        for line in dict(report.user_properties).get("lost", ()):
            terminalreporter.write_line(f"gone from {line}")
