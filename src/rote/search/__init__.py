"""Questions to an index: phrases, patterns, sources; and `rote.search(...)`."""

from rote.core.plugins import make_callable

make_callable(__name__)
