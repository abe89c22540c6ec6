"""The name and version under which rote is installed.

The package and the command are called `rote`; on the package index that name is another project's,
so the distribution is `rote-text`. It is not on the index yet: it is installed from a checkout.
"""

from __future__ import annotations

from functools import cache

NAME = "rote-text"


@cache
def version() -> str:
    import importlib.metadata

    return importlib.metadata.version(NAME)


def install_command(extra: str) -> str:
    """What a user types, in a checkout of rote, to get an optional part.

    >>> install_command("semantic")
    "pip install '.[semantic]'"
    """
    return f"pip install '.[{extra}]'"
