"""Addresses of pages, made in one place; whatever names hold, an address stays an address."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode


def link(path: str, **given: Any) -> str:
    """The address with those parameters that are given."""
    pairs = {name.rstrip("_"): value for name, value in given.items() if value not in (None, "")}
    return f"{path}?{urlencode(pairs, errors='replace')}" if pairs else path


def document_link(
    key: str,
    identity: str,
    start: int | None = None,
    end: int | None = None,
    *,
    at: int | None = None,
) -> str | None:
    """Where a document of an index is shown, around a place or from a character on.

    None if its id fits no address.
    """
    try:
        identity.encode()
    except UnicodeEncodeError:
        return None
    # The id stands behind the question mark: in a path, browsers would read "../" as a way.
    found = link(f"/document/{quote(key, safe='')}", id=identity, from_=start, to=end, at=at)
    return found if start is None or at is not None else f"{found}#hit"
