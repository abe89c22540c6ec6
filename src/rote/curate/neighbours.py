"""Texts that could stand in the place of others: the same but for one word (Mattern et al. 2023).

A masked language model says which words fit (extra `lm`). Without one, WordNet gives other lemmas
of a noun or verb, in any of its senses and in the same form, or an index gives words that stand
between the same two words somewhere in a corpus.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rote.core.document import Document
from rote.core.errors import OptionError, UnknownName
from rote.core.progress import Reporter
from rote.corpus.items import Item
from rote.curate._perturb import lexicons
from rote.curate._perturb.inflection import in_case_of, inflected
from rote.curate._perturb.words import LAYERS, Finder, Word
from rote.index.index import Index

Neighbours = Callable[[Sequence[str], Reporter], list[list[str]]]
KINDS = ("none", "wordnet", "index", "masked:NAME")
_AT_A_TIME = 200
_TRIES = 4
"""Places looked at for each neighbour that is wanted, where most places have no other word."""
_WORD = re.compile(r"[^\W\d_]+")


def neighbour_maker(
    kind: str | Neighbours, count: int, *, corpus: str | None, seed: int
) -> Neighbours | None:
    """Whoever makes `count` neighbours of each text; None for the kind `none`."""
    if not isinstance(kind, str):
        return kind
    if count < 1:
        raise OptionError(f"at least one neighbour of each text, not {count}")
    if kind == "none":
        return None
    if kind == "wordnet":
        return ByLexicon(count, seed)
    if kind == "index":
        from rote.index.folders.manifest import is_index

        if corpus is None or not is_index(Path(corpus)):
            raise OptionError("--neighbours index takes words from an index: --corpus names it")
        return ByIndex(Path(corpus), count, seed)
    name, _, rest = kind.partition(":")
    if name == "masked" and rest:
        from rote.models.masked import open_masked

        masked = open_masked(rest)
        return ByMaskedModel(masked.other_words, count, seed)
    raise UnknownName("kind of neighbours", kind, KINDS)


@dataclass(frozen=True, slots=True)
class ByLexicon:
    """One noun or verb exchanged for another lemma of WordNet."""

    count: int
    seed: int

    def __call__(self, texts: Sequence[str], reporter: Reporter) -> list[list[str]]:
        from rote.annotate import annotators

        lexicon = lexicons.get()
        finder = Finder(lexicon, ("noun", "verb"))
        found: list[list[str]] = []
        with reporter.stage("making neighbours", len(texts)) as advance:
            for start in range(0, len(texts), _AT_A_TIME):
                some = texts[start : start + _AT_A_TIME]
                documents = [Document(str(n), text) for n, text in enumerate(some)]
                annotation = annotators.get()(documents, LAYERS)
                for number, text in enumerate(some):
                    words = finder.words(Item("", "", text, ("",), None), annotation, number)[0]
                    choices = [
                        (word.start, word.end, other)
                        for word in words
                        if not word.why
                        for other in _others(word, lexicon)
                    ]
                    found.append(_drawn(text, choices, self.count, self.seed))
                advance(len(some))
        return found


@dataclass(frozen=True, slots=True)
class ByIndex:
    """One word exchanged for another that an index has between the same two words."""

    path: Path
    count: int
    seed: int

    def __call__(self, texts: Sequence[str], reporter: Reporter) -> list[list[str]]:
        from rote.index.factory import open_index

        index = open_index(self.path, reporter)
        found = []
        with reporter.stage("making neighbours", len(texts)) as advance:
            for text in texts:
                found.append(_drawn(text, self._choices(index, text), self.count, self.seed))
                advance(1)
        return found

    def _choices(self, index: Index, text: str) -> list[tuple[int, int, str]]:
        """At random places, all words that occur there in the index, drawn by how often."""
        layer = index.layer_of([text])
        items, spans = layer.items(0), layer.spans(0)
        inner = [
            place
            for place in range(1, len(items) - 1)
            if _WORD.fullmatch(text[slice(*spans[place])])
        ]
        random = _random(text, self.seed)
        choices = []
        for place in random.permutation(inner)[: _TRIES * self.count].astype(int).tolist():
            before, own, after = items[place - 1 : place + 2]
            fitting = [
                other
                for other in index.extend((before,)).items
                if other != own and _WORD.fullmatch(other)
            ]
            counts = index.counts([(before, other, after) for other in fitting])
            if not counts.sum():
                continue
            other = fitting[int(random.choice(len(fitting), p=counts / counts.sum()))]
            start, end = spans[place]
            choices.append((start, end, in_case_of(other, text[start:end])))
        return choices


@dataclass(frozen=True, slots=True)
class ByMaskedModel:
    """One word exchanged for the likeliest other one."""

    other_words: Callable[[Sequence[str], Sequence[tuple[int, int]]], list[str]]
    count: int
    seed: int

    def __call__(self, texts: Sequence[str], reporter: Reporter) -> list[list[str]]:
        found = []
        with reporter.stage("making neighbours", len(texts)) as advance:
            for text in texts:
                spans = [match.span() for match in _WORD.finditer(text)]
                order = _random(text, self.seed).permutation(len(spans))[: self.count]
                places = [spans[place] for place in order.tolist()]
                words = self.other_words([text] * len(places), places)
                found.append(
                    [
                        text[:start] + in_case_of(word, text[start:end]) + text[end:]
                        for (start, end), word in zip(places, words)
                        if word
                    ]
                )
                advance(1)
        return found


def _others(word: Word, lexicon: lexicons.Lexicon) -> Iterator[str]:
    """Other lemmas in the form of a word, each once."""
    senses = lexicon.senses(word.lemma, word.pos)
    lemmas = dict.fromkeys(lemma for sense in senses for lemma in sense.others(word.lemma))
    inflections = (inflected(lemma, word.pos, word.tag) for lemma in lemmas)
    forms = dict.fromkeys(in_case_of(form, word.form) for form in inflections)
    yield from (form for form in forms if form.lower() != word.form.lower())


def _drawn(text: str, choices: Sequence[tuple[int, int, str]], count: int, seed: int) -> list[str]:
    """Some of the texts that the choices make; all where there are no more."""
    random = _random(text, seed)
    order = random.permutation(len(choices))[:count].tolist()
    return [text[:start] + word + text[end:] for start, end, word in (choices[n] for n in order)]


def _random(text: str, seed: int) -> np.random.Generator:
    """A generator that depends on the text and the seed alone, not on what else is asked."""
    written = text.encode("utf-8", "surrogatepass")
    key = hashlib.blake2b(written, digest_size=8, salt=str(seed).encode()[:16]).digest()
    return np.random.default_rng(int.from_bytes(key, "big"))
