"""Words, tags, lemmas, trees and entities of texts; and `rote.annotate(...)`."""

from rote.core.plugins import make_callable

make_callable(__name__)
