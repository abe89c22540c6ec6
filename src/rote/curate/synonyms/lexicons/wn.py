"""Any lexicon of the package `wn` (Open English WordNet, WordNets of other languages).

`wn:oewn:2024` names it as `wn` does; it has to be downloaded before (`python -m wn download
oewn:2024`). The words to replace are found by an annotator of the texts' language.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rote.core.errors import MissingExtra, OptionError
from rote.curate.synonyms.lexicons import Pos, Sense

_POS = {"noun": "n", "verb": "v"}


def lexicon(rest: str) -> Wn:
    try:
        import wn
    except ImportError:
        raise MissingExtra("wn", "wordnet", f"The lexicon 'wn:{rest}'") from None
    if not rest:
        raise OptionError("which lexicon of the package wn? Name it, such as wn:oewn:2024")
    try:
        return Wn(wn.Wordnet(rest))
    except wn.Error as error:
        raise OptionError(
            f"the package wn does not hold '{rest}' ({error}): download it with "
            f"`python -m wn download {rest}`"
        ) from None


@dataclass(frozen=True, slots=True)
class Wn:
    """A lexicon that `wn` has opened."""

    wordnet: Any

    @property
    def signature(self) -> str:
        from importlib.metadata import version

        names = "+".join(each.specifier() for each in self.wordnet.lexicons())
        return f"wn/{version('wn')}/{names}"

    @property
    def defines(self) -> bool:
        return True

    def senses(self, lemma: str, pos: Pos) -> tuple[Sense, ...]:
        # `wn` also finds inflected forms; what is asked for here is a lemma.
        words = [
            word
            for word in self.wordnet.words(lemma, pos=_POS[pos])
            if word.lemma().lower() == lemma.lower()
        ]
        return tuple(
            Sense(sense.synset().id, _lemmas(sense.synset()), sum(map(int, sense.counts())))
            for word in words
            for sense in word.senses()
        )

    def related(self, sense: Sense) -> tuple[str, ...]:
        synset = self.wordnet.synset(sense.synset)
        near = [*synset.hypernyms(), *synset.hyponyms()]
        return tuple(dict.fromkeys(lemma for synset in near for lemma in _lemmas(synset)))

    def is_fixed(self, words: str) -> bool:
        # `wn` holds adverbs with their part of speech: those of several words are expressions.
        return " " in words and bool(self.wordnet.words(words, pos="r"))

    def gloss(self, sense: Sense) -> str:
        return self.wordnet.synset(sense.synset).definition() or ""


def _lemmas(synset: Any) -> tuple[str, ...]:
    return tuple(lemma.replace("_", " ") for lemma in synset.lemmas())
