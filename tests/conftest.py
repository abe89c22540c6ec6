"""Settings of all tests: no deadlines, since the first call of a kernel compiles it."""

from __future__ import annotations

import os
import tempfile
from typing import Any

from hypothesis import HealthCheck, settings

# As on the command line: with threads of their own the workers would wait for each
# other. Read when numpy is imported, which is later.
for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ.setdefault(name, "1")

settings.register_profile(
    "rote",
    deadline=None,
    # The same examples every time; `make fuzz` looks for new ones.
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "fuzz",
    deadline=None,
    max_examples=500,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("rote")

# Vectors are kept on disk; those of tests have no business in the user's folder.
os.environ["ROTE_CACHE"] = tempfile.mkdtemp(prefix="rote-tests-")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say what was not tried: a skipped end-to-end test is easily overlooked among thousands."""
    skipped = terminalreporter.stats.get("skipped", ())
    unseen = sum("tests/e2e" in report.nodeid for report in skipped)
    if unseen:
        terminalreporter.write_line(
            f"{unseen} end-to-end tests were skipped: no Chromium (on Debian: apt install chromium)"
        )
