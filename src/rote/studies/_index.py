"""The index as Python has it: `trace` with the keywords of `rote.trace`, and errors in the words of
Python. Commands use `rote.index.index.Index`, whose errors are the shell's."""

from __future__ import annotations

import inspect
from typing import Any

from rote.core.result import Result
from rote.corpus import Input
from rote.index.index import Index as ShellIndex
from rote.studies._functions import IMPLIED, function, speaking_python


class Index(ShellIndex):
    __doc__ = ShellIndex.__doc__

    def trace(self, texts: Input, /, **keywords: Any) -> Result:
        """Which spans of some texts the index holds: `rote.trace(texts, corpus=index, ...)`."""
        found: Result = function("trace")(texts, corpus=self, **keywords)
        return found


def _finish(kind: type[Index]) -> None:
    for name, method in inspect.getmembers(ShellIndex, inspect.isfunction):
        if not name.startswith("_"):
            setattr(kind, name, speaking_python(method))
    traced = inspect.signature(function("trace"))
    own = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)]
    own += [one for name, one in traced.parameters.items() if name not in IMPLIED]
    kind.trace.__signature__ = traced.replace(parameters=own)  # type: ignore[attr-defined]


_finish(Index)
