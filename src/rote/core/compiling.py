"""Compiled kernels are cached; the first use of all is slow, and should not surprise."""

from __future__ import annotations

from pathlib import Path

from rote.core.progress import Reporter

_PACKAGE = Path(__file__).resolve().parent.parent
# Where numba puts its cache if the package's own folder cannot be written to.
_USER_CACHE = Path.home() / ".cache" / "numba"


def say_if_compiling(reporter: Reporter, kernels: str) -> None:
    """Tell the user, before the first kernel runs, that it has to be compiled.

    `kernels` is the file that holds those needed first, without its ending.
    """
    compiled = f"{kernels}.*.nbi"
    if not any(any(folder.rglob(compiled)) for folder in (_PACKAGE, _USER_CACHE)):
        reporter.say("first use: compiling the kernels, about half a minute, once")
