"""Results as something to look at; and `rote.report(...)`, which makes a whole report."""

from rote.core.plugins import make_callable

make_callable(__name__)
