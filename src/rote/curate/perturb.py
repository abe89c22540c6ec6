"""Items with nouns and verbs replaced by synonyms (Ruzzetti, Zanzotto and Caselli, section 5).

For every noun and verb but auxiliaries, modals and proper nouns the sense in context is chosen,
and a lemma of its synset takes its place, in the same form. What a word is replaced by is settled
once for an item: it is the same in all of its options, and wherever it stands again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, ClassVar

from rote.core.document import Document
from rote.core.errors import OptionError
from rote.core.metric import check_options, option
from rote.core.progress import Reporter, Silent
from rote.corpus.items import Item
from rote.curate._perturb import lexicons, senses
from rote.curate._perturb.care import fitting
from rote.curate._perturb.lexicons import Lexicon, Sense
from rote.curate._perturb.replacing import (
    TARGET,
    Chosen,
    Replacement,
    Variant,
    agreed,
    distinct,
    drawn,
    exchanged,
    target_forms,
)
from rote.curate._perturb.senses import Question
from rote.curate._perturb.senses.model import ByModel
from rote.curate._perturb.words import CONTEXT, LAYERS, OPTIONS, Finder, Key, Word
from rote.models.options import ModelOptions

_AT_A_TIME = 500
"""Items that are annotated together."""
_VERSION = "3"
"""2: a word is replaced wherever it occurs in an item, or nowhere. 3: `careful` is the default."""
_ALONE = "no synonym"
_ITSELF = "drawn itself"
_UNSURE = "sense not sure"
_SAME = "options would be the same"


@dataclass(frozen=True, slots=True)
class PerturbOptions:
    """What is replaced, by what."""

    SECTION: ClassVar[str] = "What is replaced"
    pos: tuple[str, ...] = option(("noun", "verb"), "parts of speech to replace: noun, verb")
    variant: Variant = option(
        "careful",
        "what replaces a word: careful draws from other lemmas of the synset that mean the same "
        "most of the time and leaves words that phrases, clauses or answers hang on; exact draws "
        "from all other lemmas; paper from all of them and the word itself, so that it may stay",
    )
    lexicon: str = option(
        lexicons.DEFAULT,
        "where synonyms come from: wordnet, wordnet:FOLDER with WordNet's own files (definitions), "
        "or wn:NAME of the package wn",
    )
    sense: str = option(
        senses.DEFAULT,
        "how the sense is chosen: context (order of senses and words around), order (the first), "
        "model:M (a language model, among the definitions of the lexicon)",
    )
    sure: float = option(
        0.0,
        "leave words whose sense has a smaller share than this among all senses: fewer words, "
        "better chosen; 0 leaves none",
        least=0,
        most=1,
    )
    annotator: str = option("rote", "what tags the items: rote, spacy:MODEL, stanza:LANGUAGE")
    seed: int = option(0, "seed of the draws")

    def __post_init__(self) -> None:
        check_options(self)
        wrong = [pos for pos in self.pos if pos not in ("noun", "verb")]
        if wrong or not self.pos:
            raise OptionError(f"pos must name noun, verb or both, not {', '.join(self.pos)!r}")


@dataclass(frozen=True, slots=True)
class Perturbed:
    """The new items in the order of the old, what was replaced in them, and how many words were
    not: per task and reason."""

    items: list[Item]
    replacements: list[Replacement]
    kept: dict[str, Counter[str]]
    settings: dict[str, Any]
    """What it depends on, for the signature."""


def perturb(
    items: Sequence[Item],
    options: PerturbOptions,
    reporter: Reporter | None = None,
    *,
    models: ModelOptions | None = None,
) -> Perturbed:
    """Replace what can be replaced in every item; `models` says how a model is run that chooses
    senses."""
    reporter = reporter or Silent()
    lexicon = lexicons.get(options.lexicon)
    chooser = senses.get(options.sense, models, reporter)
    if isinstance(chooser, ByModel):
        chooser.check(lexicon)
    found, signature = _words(items, lexicon, options, reporter)
    numbers: dict[tuple[int, Key], int] = {}
    questions: list[Question] = []
    for number, words in enumerate(found):
        for word in words:
            if not word.why and (number, word.key) not in numbers:
                numbers[number, word.key] = len(questions)
                questions.append(_question(items[number], word, words, lexicon))
    answers = chooser(questions, lexicon, reporter)
    settings = {
        "variant": options.variant,
        "pos": options.pos,
        "sure": options.sure,
        "version": _VERSION,
        "lexicon": lexicon.signature,
        "sense": chooser.signature,
        "annotator": signature,
        "seed": options.seed,
    }
    made = Perturbed([], [], {}, settings)
    for number, (item, words) in enumerate(zip(items, found)):
        kept = made.kept.setdefault(item.task, Counter())
        chosen: list[tuple[Word, Chosen]] = []
        for word in words:
            if word.why:
                kept[word.why] += 1
                continue
            at = numbers[number, word.key]
            if answers[at].share < options.sure:
                kept[_UNSURE] += 1
                continue
            sense = questions[at].senses[answers[at].number]
            same = [each for each in words if each.key == word.key]
            lemmas, why = _lemmas(sense, same, lexicon, options.variant)
            if not lemmas:
                kept[why] += 1
                continue
            choice = drawn(lemmas, sense, answers[at], word, item, seed=options.seed)
            if choice.lemma.lower() == word.lemma.lower():
                kept[_ITSELF] += 1
            elif choice.lemma.lower() in target_forms(item):
                kept[TARGET] += 1  # it would give the answer away
            else:
                chosen.append((word, choice))
        left = distinct(item, chosen)
        kept.update([_SAME] * (len(chosen) - len(left)))
        new, log = exchanged(item, left)
        made.items.append(new)
        made.replacements.extend(log)
    return made


def _lemmas(
    sense: Sense, words: Sequence[Word], lexicon: Lexicon, variant: Variant
) -> tuple[tuple[str, ...], str]:
    """What one is drawn from for a word, wherever it occurs, or why there is nothing to draw."""
    others = sense.others(words[0].lemma)
    if variant == "careful" and others:
        return fitting(words, sense, lexicon)
    if variant == "paper" and len(sense.usable) > 1:
        return sense.usable, ""
    return (others, "") if others and variant == "exact" else ((), _ALONE)


def _words(
    items: Sequence[Item], lexicon: Lexicon, options: PerturbOptions, reporter: Reporter
) -> tuple[list[list[Word]], str]:
    from rote.annotate import annotators

    annotator = annotators.get(options.annotator)
    careful = options.variant == "careful"
    finder = Finder(lexicon, options.pos, careful)
    found: list[list[Word]] = []
    with reporter.stage("annotating", len(items)) as advance:
        for start in range(0, len(items), _AT_A_TIME):
            some = items[start : start + _AT_A_TIME]
            texts = [text for item in some for text in item.instances()]
            annotation = annotator([Document(str(n), text) for n, text in enumerate(texts)], LAYERS)
            firsts = accumulate((len(item.options) for item in some), initial=0)
            for item, first in zip(some, firsts):
                words, standing = finder.words(item, annotation, first)
                found.append(agreed(item, words, standing, careful=careful))
            advance(len(some))
    return found, annotator.signature


def _question(item: Item, word: Word, words: Sequence[Word], lexicon: Lexicon) -> Question:
    """What is asked about a word: where it first stands, and all that stands around it."""
    around = dict.fromkeys(lemma for each in words if each.key == word.key for lemma in each.around)
    around.pop(word.lemma, None)
    number = int(word.field.partition(".")[2] or 0) if word.field.startswith(OPTIONS) else 0
    before = 0
    if word.field != CONTEXT:
        before = len(item.context)
    if not word.field.startswith((CONTEXT, OPTIONS)):
        before += len(item.options[0])
    return Question(
        lemma=word.lemma,
        pos=word.pos,
        tag=word.tag,
        senses=lexicon.senses(word.lemma, word.pos),
        around=tuple(around),
        text=item.instances()[number],
        start=before + word.start,
        end=before + word.end,
        frame=word.frame,
    )
