"""Items with nouns and verbs replaced by synonyms (Ruzzetti, Zanzotto and Caselli, section 5).

For every noun and verb but auxiliaries, modals and proper nouns the sense in context is chosen,
and a lemma of its synset takes its place, in the same form. What a word is replaced by is settled
once for an item: it is the same in all of its options, and wherever it stands again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, ClassVar

from rote.core.document import Document
from rote.core.errors import InputError, OptionError
from rote.core.metric import check_options, option
from rote.core.numbers import name_some
from rote.core.progress import Reporter, Silent, several
from rote.corpus.items import Item, ItemRecord
from rote.curate.synonyms import lexicons, replacement, senses
from rote.curate.synonyms.lexicons import Sense, SynonymLexicon
from rote.curate.synonyms.replacement import ChosenLemma, Replacement, Variant
from rote.curate.synonyms.senses import ModelChooser, SenseQuestion
from rote.curate.synonyms.words import CONTEXT, LAYERS, OPTIONS, Key, Word, WordFinder
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
        "replacement: careful draws from other lemmas of the synset that usually mean the same "
        "and leaves words that phrases, clauses or answers depend on; exact draws from all other "
        "lemmas; paper from all of them and the word itself, so it may stay",
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
        "minimum share of the chosen sense among all senses; other words stay: fewer words, "
        "better chosen; 0: no minimum",
        least=0,
        most=1,
    )
    annotator: str = option("rote", "annotator of the items: rote, spacy:MODEL, stanza:LANGUAGE")
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
    unreplaced: dict[str, Counter[str]]
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
    if isinstance(chooser, ModelChooser):
        chooser.check(lexicon)
    item_words, signature = _find_words(items, lexicon, options, reporter)
    numbers: dict[tuple[int, Key], int] = {}
    questions: list[SenseQuestion] = []
    for number, words in enumerate(item_words):
        for word in words:
            if not word.why and (number, word.key) not in numbers:
                numbers[number, word.key] = len(questions)
                questions.append(_ask_sense(items[number], word, words, lexicon))
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
    result = Perturbed([], [], {}, settings)
    for number, (item, words) in enumerate(zip(items, item_words)):
        unreplaced = result.unreplaced.setdefault(item.task, Counter())
        chosen: list[tuple[Word, ChosenLemma]] = []
        for word in words:
            if word.why:
                unreplaced[word.why] += 1
                continue
            at = numbers[number, word.key]
            if answers[at].share < options.sure:
                unreplaced[_UNSURE] += 1
                continue
            sense = questions[at].senses[answers[at].number]
            same = [each for each in words if each.key == word.key]
            lemmas, why = _candidate_lemmas(sense, same, lexicon, options.variant)
            if not lemmas:
                unreplaced[why] += 1
                continue
            choice = replacement.draw_lemma(
                lemmas, sense, answers[at], word, item, seed=options.seed
            )
            if choice.lemma.lower() == word.lemma.lower():
                unreplaced[_ITSELF] += 1
            elif choice.lemma.lower() in replacement.target_forms(item):
                unreplaced[replacement.TARGET] += 1  # it would give the answer away
            else:
                chosen.append((word, choice))
        distinct = replacement.keep_distinct(item, chosen)
        unreplaced.update([_SAME] * (len(chosen) - len(distinct)))
        new, log = replacement.replace_words(item, distinct)
        result.items.append(new)
        result.replacements.extend(log)
    return result


def _candidate_lemmas(
    sense: Sense, words: Sequence[Word], lexicon: SynonymLexicon, variant: Variant
) -> tuple[tuple[str, ...], str]:
    """What one is drawn from for a word, wherever it occurs, or why there is nothing to draw."""
    others = sense.others(words[0].lemma)
    if variant == "careful" and others:
        return replacement.fitting_lemmas(words, sense, lexicon)
    if variant == "paper" and len(sense.usable) > 1:
        return sense.usable, ""
    return (others, "") if others and variant == "exact" else ((), _ALONE)


def _find_words(
    items: Sequence[Item], lexicon: SynonymLexicon, options: PerturbOptions, reporter: Reporter
) -> tuple[list[list[Word]], str]:
    from rote.annotate import annotators

    annotator = annotators.get(options.annotator)
    careful = options.variant == "careful"
    finder = WordFinder(lexicon, options.pos, careful)
    item_words: list[list[Word]] = []
    with reporter.stage("annotating", len(items)) as advance:
        for start in range(0, len(items), _AT_A_TIME):
            some = items[start : start + _AT_A_TIME]
            texts = [text for item in some for text in item.instances()]
            annotation = annotator([Document(str(n), text) for n, text in enumerate(texts)], LAYERS)
            firsts = accumulate((len(item.options) for item in some), initial=0)
            for item, first in zip(some, firsts):
                words, standing = finder.words(item, annotation, first)
                item_words.append(
                    replacement.mark_bound_words(item, words, standing, careful=careful)
                )
            advance(len(some))
    return item_words, annotator.signature


def _ask_sense(
    item: Item, word: Word, words: Sequence[Word], lexicon: SynonymLexicon
) -> SenseQuestion:
    """What is asked about a word: where it first stands, and all that stands around it."""
    around = dict.fromkeys(lemma for each in words if each.key == word.key for lemma in each.around)
    around.pop(word.lemma, None)
    number = int(word.field.partition(".")[2] or 0) if word.field.startswith(OPTIONS) else 0
    before = len(item.context) if word.field != CONTEXT else 0
    if not word.field.startswith((CONTEXT, OPTIONS)):
        before += len(item.options[0])
    return SenseQuestion(
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


_GAP = "_"
_LOGS = "lm-eval"
_SHOWN = 10
Fields = Mapping[str, Any]


def check_ids(items: Iterable[Item]) -> None:
    """Items are told apart by task and id; two of the same could not be matched."""
    pairs_so_far: set[tuple[str, str]] = set()
    twice = []
    for item in items:
        key = (item.task, item.id)
        if key in pairs_so_far:
            twice.append(f"{item.task} {item.id}")
        pairs_so_far.add(key)
    if twice:
        raise InputError(
            f"items with the same task and id: {name_some(twice, _SHOWN, '; ')}",
            remedy="Give every item a unique id, and the answers of one model at a time",
        )


def match_items(originals: Sequence[Item], others: Sequence[Item]) -> list[Item]:
    """The other items in the order of the originals; all that do not match up are listed.

    Where each side is one task, its name does not matter: perturbed items are often evaluated as a
    task of their own.
    """
    check_ids(originals)
    check_ids(others)
    tasks, other_tasks = ({item.task for item in items} for items in (originals, others))
    if len(tasks) == len(other_tasks) == 1:
        others = [replace(item, task=next(iter(tasks))) for item in others]
    by_key = {(item.task, item.id): item for item in others}
    wanted = {(item.task, item.id): item for item in originals}
    missing, more = ([k for k in a if k not in b] for a, b in ((wanted, by_key), (by_key, wanted)))
    problems = [f"{task} {id} is not among the perturbed" for task, id in missing]
    problems += [f"{task} {id} is not among the originals" for task, id in more]
    for key in (key for key in wanted if key in by_key):
        name, item, counterpart = " ".join(key), wanted[key], by_key[key]
        if len(counterpart.options) != len(item.options):
            options = several(len(counterpart.options), "option")
            problems.append(f"{name} has {options}, not {len(item.options)}")
        elif counterpart.answer != item.answer:
            problems.append(f"{name} has another right answer")
    if problems:
        raise InputError(
            "original and perturbed items do not match up: " + name_some(problems, _SHOWN, "; "),
            remedy="Give the original items and their perturbed versions",
        )
    return [by_key[key] for key in wanted]


def order_records(items: Sequence[Item], records: Sequence[ItemRecord]) -> list[ItemRecord]:
    """The records that hold matched items; the task may have been taken for another one."""
    by_key = {(record.item.task, record.item.id): record for record in records}
    only = {record.item.id: record for record in records}
    return [by_key.get((item.task, item.id)) or only[item.id] for item in items]


def rewrite_record(record: ItemRecord, item: Item, answered: Iterable[str] = ()) -> dict[str, Any]:
    """The record with the texts of another item in the place of its own.

    `answered` are fields that say how the original was answered, which say nothing of this one.
    """
    if record.form not in _FORMS:
        raise OptionError(f"items of the form '{record.form}' cannot be written")
    texts = _FORMS[record.form](record.fields, item)
    if record.form == _LOGS:
        return texts
    stale = set(answered)
    return {k: v for k, v in record.fields.items() if k not in stale} | texts


def _context_like(text: str, item: Item) -> str:
    """The context without its space, but with the spaces of the text that a reader takes away."""
    return item.context[:-1] + text[len(text.rstrip()) :]


def _name_options(item: Item, *names: str) -> dict[str, Any]:
    """The options under the names that a benchmark has for them."""
    return dict(zip(names, item.options, strict=True))


def _plain_choices(fields: Fields, item: Item) -> dict[str, Any]:
    texts: dict[str, Any] = {"context": item.context, "options": list(item.options)}
    if "ending" in fields:
        texts["ending"] = item.ending
    if isinstance(fields.get("answer"), str) and fields["answer"] in fields["options"]:
        texts["answer"] = item.options[fields["options"].index(fields["answer"])]
    return texts


_FORMS: dict[str, Callable[[Fields, Item], dict[str, Any]]] = {
    "blimp": lambda fields, item: _name_options(item, "sentence_good", "sentence_bad"),
    "choices": _plain_choices,
    "copa": lambda fields, item: {
        "premise": _context_like(fields["premise"], item),
        **_name_options(item, "choice1", "choice2"),
    },
    "lambada": lambda fields, item: {"context": item.context[:-1], **_name_options(item, "target")},
    "piqa": lambda fields, item: {
        "goal": _context_like(fields["goal"], item),
        **_name_options(item, "sol1", "sol2"),
    },
    "winogrande": lambda fields, item: {
        "sentence": f"{item.context}{_GAP}{item.ending}",
        **_name_options(item, "option1", "option2"),
    },
    _LOGS: lambda fields, item: {
        **{name: getattr(item, name) for name in ("id", "task", "context")},
        "options": list(item.options),
        **{name: getattr(item, name) for name in ("ending", "answer")},
    },
}
