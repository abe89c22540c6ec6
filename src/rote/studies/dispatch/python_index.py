"""The index as Python has it: `trace` with the keywords of `rote.trace`, and errors in the words of
Python. Commands use `rote.index.index.Index`, whose errors are the shell's. A module of its own,
since it loads kernels, which no help may wait for.
"""

from __future__ import annotations

import inspect
from typing import Any

from rote.core.result import Result
from rote.corpus import Input
from rote.index.index import Index as ShellIndex
from rote.studies.dispatch.functions import IMPLIED, command_function, translate_errors


class PythonIndex(ShellIndex):
    __doc__ = ShellIndex.__doc__

    def trace(self, texts: Input, /, **keywords: Any) -> Result:
        """Which spans of some texts the index holds: `rote.trace(texts, corpus=index, ...)`."""
        result: Result = command_function("trace")(texts, corpus=self, **keywords)
        return result


def _translate_methods(kind: type[PythonIndex]) -> None:
    for name, method in inspect.getmembers(ShellIndex, inspect.isfunction):
        if not name.startswith("_"):
            setattr(kind, name, translate_errors(method))
    traced = inspect.signature(command_function("trace"))
    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)]
    parameters += [
        parameter for name, parameter in traced.parameters.items() if name not in IMPLIED
    ]
    kind.trace.__signature__ = traced.replace(parameters=parameters)  # type: ignore[attr-defined]


_translate_methods(PythonIndex)
Index = PythonIndex
# What help, messages and pickles call it.
Index.__name__ = Index.__qualname__ = "Index"
