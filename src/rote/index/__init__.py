"""Exact counts and places over layers of texts; and `rote.index(...)`, which makes an index."""

from rote.core.plugins import make_callable

make_callable(__name__)
