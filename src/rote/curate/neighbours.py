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
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from rote.core.document import Document
from rote.core.errors import MissingExtra, OptionError, UnknownName
from rote.core.progress import Reporter
from rote.corpus.items import Item
from rote.curate.synonyms import lexicons
from rote.curate.synonyms.words import LAYERS, Word, WordFinder, inflect, match_case
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
        finder = WordFinder(lexicon, ("noun", "verb"))
        neighbours: list[list[str]] = []
        with reporter.stage("making neighbours", len(texts)) as advance:
            for start in range(0, len(texts), _AT_A_TIME):
                some = texts[start : start + _AT_A_TIME]
                documents = [Document(str(n), text) for n, text in enumerate(some)]
                annotation = annotators.get()(documents, LAYERS)
                for number, text in enumerate(some):
                    words = finder.words(Item("", "", text, ("",), None), annotation, number)[0]
                    choices = [
                        (word.start, word.end, form)
                        for word in words
                        if not word.why
                        for form in _other_forms(word, lexicon)
                    ]
                    neighbours.append(_draw_texts(text, choices, self.count, self.seed))
                advance(len(some))
        return neighbours


@dataclass(frozen=True, slots=True)
class ByIndex:
    """One word exchanged for another that an index has between the same two words."""

    path: Path
    count: int
    seed: int

    def __call__(self, texts: Sequence[str], reporter: Reporter) -> list[list[str]]:
        from rote.index.factory import open_index

        index = open_index(self.path, reporter)
        neighbours = []
        with reporter.stage("making neighbours", len(texts)) as advance:
            for text in texts:
                choices = self._choices(index, text)
                neighbours.append(_draw_texts(text, choices, self.count, self.seed))
                advance(1)
        return neighbours

    def _choices(self, index: Index, text: str) -> list[tuple[int, int, str]]:
        """At random places, all words that occur there in the index, drawn by how often."""
        layer = index.layer_of([text])
        items, spans = layer.items(0), layer.spans(0)
        inner = range(1, len(items) - 1)
        inner_words = [at for at in inner if _WORD.fullmatch(text[slice(*spans[at])])]
        random = _text_generator(text, self.seed)
        choices = []
        for place in random.permutation(inner_words)[: _TRIES * self.count].astype(int).tolist():
            before, word, after = items[place - 1 : place + 2]
            following = index.extend((before,)).items
            fitting = [item for item in following if item != word and _WORD.fullmatch(item)]
            counts = index.counts([(before, item, after) for item in fitting])
            if not counts.sum():
                continue
            substitute = fitting[int(random.choice(len(fitting), p=counts / counts.sum()))]
            start, end = spans[place]
            choices.append((start, end, match_case(substitute, text[start:end])))
        return choices


@dataclass(frozen=True, slots=True)
class ByMaskedModel:
    """One word exchanged for the likeliest other one."""

    other_words: Callable[[Sequence[str], Sequence[tuple[int, int]]], list[str]]
    count: int
    seed: int

    def __call__(self, texts: Sequence[str], reporter: Reporter) -> list[list[str]]:
        neighbours = []
        with reporter.stage("making neighbours", len(texts)) as advance:
            for text in texts:
                spans = [match.span() for match in _WORD.finditer(text)]
                order = _text_generator(text, self.seed).permutation(len(spans))[: self.count]
                places = [spans[place] for place in order.tolist()]
                words = zip(places, self.other_words([text] * len(places), places))
                cased = [(a, b, match_case(word, text[a:b])) for (a, b), word in words if word]
                neighbours.append([text[:a] + word + text[b:] for a, b, word in cased])
                advance(1)
        return neighbours


def _other_forms(word: Word, lexicon: lexicons.SynonymLexicon) -> Iterator[str]:
    """Other lemmas in the form of a word, each once."""
    senses = lexicon.senses(word.lemma, word.pos)
    lemmas = dict.fromkeys(lemma for sense in senses for lemma in sense.others(word.lemma))
    inflections = (inflect(lemma, word.pos, word.tag) for lemma in lemmas)
    forms = dict.fromkeys(match_case(form, word.form) for form in inflections)
    yield from (form for form in forms if form.lower() != word.form.lower())


def _draw_texts(
    text: str, choices: Sequence[tuple[int, int, str]], count: int, seed: int
) -> list[str]:
    """Some of the texts that the choices make; all where there are no more."""
    random = _text_generator(text, seed)
    order = random.permutation(len(choices))[:count].tolist()
    return [text[:start] + word + text[end:] for start, end, word in (choices[n] for n in order)]


def _text_generator(text: str, seed: int) -> np.random.Generator:
    """A generator that depends on the text and the seed alone, not on what else is asked."""
    encoded = text.encode("utf-8", "surrogatepass")
    key = hashlib.blake2b(encoded, digest_size=8, salt=str(seed).encode()[:16]).digest()
    return np.random.default_rng(int.from_bytes(key, "big"))


# A masked language model: which words could stand in the place of one (extra `lm`).

_BATCH = 32
_LOOKED_AT = 20
"""Guesses among which the first that is another word is taken."""


@dataclass(frozen=True, slots=True)
class Masked:
    """A model of transformers with a mask token."""

    tokenizer: Any
    model: Any

    def other_words(self, texts: Sequence[str], places: Sequence[tuple[int, int]]) -> list[str]:
        """For each text the likeliest other word at these characters; "" where there is none."""
        words: list[str] = []
        for start in range(0, len(texts), _BATCH):
            some = list(zip(texts, places))[start : start + _BATCH]
            words += self._batch(some)
        return words

    def _batch(self, some: Sequence[tuple[str, tuple[int, int]]]) -> list[str]:
        import torch

        mask = self.tokenizer.mask_token
        masked = [text[:first] + mask + text[last:] for text, (first, last) in some]
        inputs = self.tokenizer(masked, return_tensors="pt", padding=True, truncation=True)
        with torch.no_grad():
            logits = self.model(**inputs).logits
        words = []
        for row, (text, (first, last)) in enumerate(some):
            at = (inputs["input_ids"][row] == self.tokenizer.mask_token_id).nonzero()
            # A mask beyond what the model reads was cut off.
            guesses = logits[row, at[0, 0]].topk(_LOOKED_AT).indices.tolist() if len(at) else []
            guessed_words = (self.tokenizer.decode([guess]).strip() for guess in guesses)
            original = text[first:last].lower()
            others = (word for word in guessed_words if word.lower() != original)
            words.append(next(filter(_WORD.fullmatch, others), ""))
        return words


def open_masked(name: str) -> Masked:
    for package in ("torch", "transformers"):  # transformers alone would begin to look for files
        if find_spec(package) is None:
            raise MissingExtra(package, "lm", "A masked model")
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=False)
        model = AutoModelForMaskedLM.from_pretrained(name, trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise OptionError(f"no masked model '{name}': {str(error).splitlines()[0]}") from None
    if tokenizer.mask_token is None:
        raise OptionError(f"'{name}' has no mask token: it is not a masked model")
    return Masked(tokenizer, model.eval())
