"""Lexicons: which lemmas mean the same, one file each, known by the file's name.

`get("wordnet")` is the default, the nouns and verbs of WordNet 3.0, which come with the package;
`get("wordnet:FOLDER")` the same with the definitions of Princeton's files in a folder;
`get("wn:oewn:2024")` any lexicon that the package `wn` holds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, Protocol, cast

from rote.core import plugins
from rote.core.errors import UnknownName

_BLANK = re.compile(r"\b(?:one|someone|somebody)(?:'s|self)\b")
ROOM = "curate.synonyms.lexicons"
DEFAULT = "wordnet"
Pos = Literal["noun", "verb"]
Frame = Literal["object", "clause", "alone"]
"""What a verb takes: an object, a clause or another verb, neither."""


@dataclass(frozen=True, slots=True)
class Sense:
    """One synset that a word occurs in.

    `lemmas` are all of its lemmas as they are spelled, with spaces inside; `count` is how often
    the word was tagged with this sense by those who made the lexicon. `frames` are the kinds of
    sentence that a verb of the synset makes; empty where the lexicon does not say.
    """

    synset: str
    lemmas: tuple[str, ...]
    count: int = 0
    frames: frozenset[Frame] = frozenset()

    def others(self, lemma: str) -> tuple[str, ...]:
        """The lemmas that are not the word itself."""
        return tuple(candidate for candidate in self.usable if candidate.lower() != lemma.lower())

    @property
    def usable(self) -> tuple[str, ...]:
        """The lemmas that can occur in a text: not *make up one's mind*."""
        return tuple(lemma for lemma in self.lemmas if not _BLANK.search(lemma))


class SynonymLexicon(Protocol):
    """What a file in this folder makes."""

    @property
    def signature(self) -> str:
        """Name and version."""

    @property
    def defines(self) -> bool:
        """Whether it says what senses mean."""

    def senses(self, lemma: str, pos: Pos) -> tuple[Sense, ...]:
        """The senses of a word, the most usual first; none if it is not held."""

    def related(self, sense: Sense) -> tuple[str, ...]:
        """Lemmas of the synsets right above and below."""

    def is_fixed(self, words: str) -> bool:
        """Whether words are an expression (*of course*) in which none can be replaced."""

    def gloss(self, sense: Sense) -> str:
        """What the sense means, in words; empty where the lexicon does not say."""


def get(name: str = DEFAULT) -> SynonymLexicon:
    """The lexicon of this name."""
    kind, _, rest = name.partition(":")
    known = plugins.members(ROOM)
    if kind not in known:
        raise UnknownName("lexicon", kind, known)
    return cast(SynonymLexicon, plugins.load(ROOM, kind).lexicon(rest))
