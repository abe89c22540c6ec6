"""Results as something to look at; and `rote.report(...)`, which makes a whole report.

    report = rote.report("stories.jsonl", by="source", reference="human", output="report.html")

The room bears the name of the command, so the room itself is the function.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _Room(ModuleType):
    def __call__(self, texts: Any, /, **keywords: Any) -> Any:
        """Everything that can be measured of some texts; see `rote.report.make.report`."""
        from rote.report.make import report

        return report(texts, **keywords)


sys.modules[__name__].__class__ = _Room
