"""How many of the names and numbers in a text are in its document (E_Prc), how many it can only
remember, since the reference alone has them (E_Rem), and how many of those of reference and
document it has (E_Rec). Tokens are words of mentions of all types, without stop words and
punctuation, in lower case; values are means over texts that have such tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rote.annotate.glyphs import fold
from rote.compare.clusters import clustered_mean
from rote.compare.intervals import mean, shares
from rote.core.arrays import Flags, Floats, Integers
from rote.core.layer import Layer
from rote.core.metric import Comparison, Moves, Value, Work
from rote.core.result import Result
from rote.core.sample import Need, Sample, Take
from rote.core.table import Column, Table, defined, distinct, make_columns
from rote.core.table import Rows as TableRows
from rote.measure._text_means import count_note
from rote.measure.reference_scores.options import Options, Variant

_EXPLAINED = {
    "entity_recall": "entities of reference and document that the text has",
    "entity_precision": "entities of the text that are in the document",
    "entity_remembered": "entities of the text in the reference alone",
}
_OF_THE_PAPER = {"entity_recall": "entities of the text that are in reference and document"}


@dataclass(frozen=True, slots=True)
class Rows:
    scores: Mapping[str, Floats]
    entities: Entities


def values(options: Options) -> tuple[Value, ...]:
    explained = _EXPLAINED | (_OF_THE_PAPER if options.variant == "paper" else {})
    moves: dict[str, Moves] = {"entity_recall": "length"}
    return tuple(
        Value(n, f"{title}, {explained[n]}", "neither", moves.get(n, "neither"), share=True)
        for n, title in TITLES.items()
    )


def needs(options: Options) -> tuple[Need, ...]:
    """Words and entities of the text and its reference, and the words of its document."""
    reference = options.reference_field
    layers = Need("lower"), Need("entity")
    of_reference = Need("lower", field=reference), Need("entity", field=reference)
    return (*layers, *of_reference, Need("lower", field=options.document_field))


def rows(sample: Sample, options: Options, work: Work) -> Rows:
    counts = entities(sample, options)
    return Rows(counts.scores(options.variant), counts)


def notes(rows: Rows, take: Take, options: Options) -> list[str]:
    names = ("entity_precision", "entity_recall")
    none, unrecalled = (np.isnan(rows.scores[name][take]) for name in names)
    lines = count_note(none, "texts without entities", "left out: ")
    if options.variant == "exact":
        why = "texts: no entity of their reference is in their document"
        lines += count_note(unrecalled, why, "E_Rec leaves out ")
    return lines


def tables(rows: Rows, comparison: Comparison, options: Options) -> Mapping[str, Sequence[Any]]:
    """The scores by type of entity: each a mean over the texts that have that type."""
    by_type = [
        (type, rows.entities.tokens(number), rows.entities.scores(options.variant, number))
        for number, type in enumerate(rows.entities.types)
    ]
    return {
        "types": [
            {
                "source": source,
                "type": type,
                "texts": int((tokens[take] > 0).sum()),
                "tokens": int(tokens[take].sum()),
                **{name: mean(column[take]) for name, column in scores.items()},
                **{
                    f"{name}_error": clustered_mean(column[take], comparison.together(source)).error
                    for name, column in scores.items()
                },
            }
            for source, take in comparison.groups.items()
            for type, tokens, scores in by_type
        ]
    }


TITLES = {"entity_recall": "E_Rec", "entity_precision": "E_Prc", "entity_remembered": "E_Rem"}
OUTSIDE = "O"
_TEXTS_AT_A_TIME = 2_000


@dataclass(frozen=True, slots=True)
class EntityTokens:
    """The entity tokens of all texts, one after another: the text and the type of each.

    `in_document`, `in_other`: whether the document, and the other one of text and reference,
    have the word too.
    """

    text: Integers
    type: Integers
    in_document: Flags
    in_other: Flags

    def of_type(self, type: int | None) -> EntityTokens:
        chosen = slice(None) if type is None else self.type == type
        columns = (self.text, self.type, self.in_document, self.in_other)
        return EntityTokens(*(column[chosen] for column in columns))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Entities:
    generated: EntityTokens
    reference: EntityTokens
    types: tuple[str, ...]
    texts: int

    def scores(self, variant: Variant, type: int | None = None) -> dict[str, Floats]:
        """The three scores of every text, of all entities or of one type; nan where undefined."""
        ours, theirs = (tokens.of_type(type) for tokens in (self.generated, self.reference))
        have = ours.in_document
        every = self._count(ours, np.ones(len(ours.text), np.bool_))
        if variant == "paper":
            recalled, to_recall = self._count(ours, have & ours.in_other), every
        else:
            to_recall = self._count(theirs, theirs.in_document)
            recalled = self._count(theirs, theirs.in_document & theirs.in_other)
        return {
            "entity_recall": shares(recalled, to_recall),
            "entity_precision": shares(self._count(ours, have), every),
            "entity_remembered": shares(self._count(ours, ~have & ours.in_other), every),
        }

    def tokens(self, type: int) -> Integers:
        return self._count(self.generated, self.generated.type == type)

    def _count(self, tokens: EntityTokens, chosen: Flags) -> Integers:
        return np.bincount(tokens.text[chosen], minlength=self.texts)


def entities(sample: Sample, options: Options) -> Entities:
    """Find the entity tokens of every text and of its reference, and where else they stand."""
    text, our_entities, their_words, others, source = (sample.layer(n) for n in needs(options))
    every = {_type(label) for layer in (our_entities, others) for label in layer.vocabulary}
    types = tuple(sorted(every - {""}))
    numbers: dict[str, int] = {}
    words = [_numbered(layer, numbers) for layer in (text, their_words, source)]
    sides = []
    for layer, labels, here, there in (
        (text, our_entities, words[0], words[1]),
        (their_words, others, words[1], words[0]),
    ):
        kind = np.array([types.index(t) if (t := _type(e)) else -1 for e in labels.vocabulary])
        telling = np.array([says_something(word) for word in layer.vocabulary], np.bool_)
        places = np.flatnonzero((kind[labels.ids] >= 0) & telling[layer.ids])
        texts = np.searchsorted(layer.text_ends, places, side="right")
        other_layer = their_words if layer is text else text
        sides.append(
            EntityTokens(
                text=texts,
                type=kind[labels.ids[places]],
                in_document=_occurs_among(here[places], texts, words[2], source, len(numbers)),
                in_other=_occurs_among(here[places], texts, there, other_layer, len(numbers)),
            )
        )
    return Entities(sides[0], sides[1], types, len(sample))


def _type(label: str) -> str:
    """PER of B-PER and I-PER; nothing of O."""
    return "" if label == OUTSIDE else label.partition("-")[2] or label


def _numbered(layer: Layer, numbers: dict[str, int]) -> Integers:
    """The words of a layer in numbers that several layers share."""
    table = [numbers.setdefault(word, len(numbers)) for word in layer.vocabulary]
    return np.array(table, np.int64)[layer.ids] if table else np.empty(0, np.int64)


def _occurs_among(
    words: Integers, texts: Integers, there: Integers, layer: Layer, kinds: int
) -> Flags:
    """Whether each word of a text is among those of the same text in another layer."""
    is_shared = np.zeros(len(words), np.bool_)
    # Documents are long: a few thousand at a time.
    for first in range(0, len(layer), _TEXTS_AT_A_TIME):
        last = min(first + _TEXTS_AT_A_TIME, len(layer))
        part = slice(*np.searchsorted(texts, (first, last)).tolist())
        begin = int(layer.text_ends[first - 1]) if first else 0
        end = int(layer.text_ends[last - 1])
        owner = np.searchsorted(layer.text_ends, np.arange(begin, end), side="right")
        keys = owner * kinds + there[begin:end]
        is_shared[part] = np.isin(texts[part] * kinds + words[part], keys)
    return is_shared


_DETERMINERS = "a an the this that these those such some any each every either neither no all both"
_PRONOUNS = """
i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself
she her hers herself it its itself they them their theirs themselves who whom whose which what
somebody someone something anybody anyone anything everybody everyone everything nobody nothing
"""
_PREPOSITIONS = """
about above across after against along among around as at before behind below beneath beside
besides between beyond by despite down during except for from in inside into like near of off on
onto out outside over past per since than through throughout till to toward towards under until
up upon via with within without
"""
_CONJUNCTIONS = "and or but nor so yet if because although though unless while whereas whether"
_VERBS = """
be am is are was were been being have has had having do does did doing done can could will would
shall should may might must ought
"""
_ADVERBS = "not there here then when where why how also too very only just again once more most"
_PIECES = "'s ' n't 're 've 'll 'd 'm ca wo"

_KINDS = (_DETERMINERS, _PRONOUNS, _PREPOSITIONS, _CONJUNCTIONS, _VERBS, _ADVERBS, _PIECES)
STOP_WORDS = frozenset(" ".join(_KINDS).split())


def says_something(word: str) -> bool:
    """Whether a word is neither a stop word nor punctuation alone."""
    return fold(word.lower()) not in STOP_WORDS and any(map(str.isalnum, word))


def _shown_types(rows: TableRows, result: Result) -> TableRows:
    """A type that only references have is a miss, which recall shows."""
    with_tokens = [row for row in rows if row["tokens"] or defined(row["entity_recall"])]
    sources = set(distinct(with_tokens, "source"))
    return with_tokens + [
        {"source": source, "type": "no entities"}
        for source in distinct(rows, "source")
        if source not in sources
    ]


LAYOUT = (
    Table(
        "types",
        "By type of entity",
        (
            *make_columns("source type texts:count tokens:count"),
            *(Column(name, title, "number", 3, optional=True) for name, title in TITLES.items()),
        ),
        note="means over the texts that have the type",
        rows=_shown_types,
        by="source",
        limit=40,
    ),
)


def method(settings: Mapping[str, str]) -> str:
    return (
        "Of the words of named entities, E_Prc is the share of the text's that are in the "
        "document, E_Rem the share that are in the reference text and not in the document, and "
        "E_Rec the share of those of reference text and document that the text has"
    )


CITATION = (
    "Choubey et al. (2023), Lexical Repetitions Lead to Rote Learning: Unveiling the Impact of "
    "Lexical Overlap in Train and Test Reference Summaries"
)
