"""The values that a summary speaks of, and how it speaks of them.

One value stands for each aspect, as in the figure of the panel; the tables have the others. The
words say what was counted and never why.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Headline:
    """A value in words: `SOURCE more than REFERENCE: name a against b unit`."""

    measure: str
    value: str
    noun: str
    more: str
    less: str
    name: str = ""
    unit: str = ""
    percent: bool = False
    """A share, written as a percentage."""
    ratio: bool = True
    """Whether a relative difference means something; not so on a logarithmic scale."""
    equal: str = ""
    """The value that is the same at equal length of sentences, where the measure has one."""


HEADLINES = (
    Headline(
        *("templates", "per_token", "templates of grammar"),
        *("repeats templates of grammar more", "repeats templates of grammar less"),
        unit="templates per word",
    ),
    Headline(
        *("lexical", "unique", "variety of words"),
        *("uses more varied words", "uses less varied words"),
        "share of different n-grams",
    ),
    Headline(
        *("syntactic", "wl", "variety of sentence structures"),
        *("has more varied sentence structures", "has less varied sentence structures"),
        "mean distance of dependency trees",
        equal="wl_matched",
    ),
    Headline(
        *("semantic", "semantic", "variety of meanings"),
        *("says more varied things", "says less varied things"),
        "mean distance of sentence embeddings",
    ),
    Headline(
        *("compression", "gzip", "compression of the texts"),
        *("has texts that compress better", "has texts that compress less"),
        "compression ratio",
    ),
    Headline(
        *("compression", "gzip_pos", "compression of the tags"),
        *("has grammar that compresses better", "has grammar that compresses less"),
        "compression ratio of the tags",
    ),
    Headline(
        *("self-repetition", "self_repetition", "phrases shared by its texts"),
        *("has more phrases that its texts share", "has fewer phrases that its texts share"),
        "self-repetition of 4-grams",
        ratio=False,
    ),
    Headline(
        *("homogenization", "rouge_l", "likeness of its texts"),
        *("has texts that are more alike", "has texts that are less alike"),
        "mean ROUGE-L of pairs of texts",
    ),
    Headline(
        *("novelty", "coverage_8", "runs of 8 words that the corpus holds"),
        "has more words in runs of 8 or more that the corpus holds",
        "has fewer words in runs of 8 or more that the corpus holds",
        unit="of its words",
        percent=True,
    ),
    Headline(
        *("originality", "failing", "sentences that need a citation"),
        *("has more sentences that need a citation", "has fewer sentences that need a citation"),
        unit="of its sentences",
        percent=True,
    ),
    Headline(
        *("contamination", "contaminated", "texts that the corpus largely holds"),
        "has more texts that the corpus largely holds",
        "has fewer texts that the corpus largely holds",
        unit="of its texts",
        percent=True,
    ),
    Headline(
        *("overlap", "overlap", "n-grams that the training set holds"),
        "has more 4-grams that the training set holds",
        "has fewer 4-grams that the training set holds",
        unit="of the 4-grams",
        percent=True,
    ),
    Headline(
        *("entity-scores", "entity_precision", "entities that are in the document"),
        "has more of its entities in the document",
        "has fewer of its entities in the document",
        unit="of its entity words",
        percent=True,
    ),
    Headline(
        *("entity-scores", "entity_remembered", "entities that only the reference text has"),
        "names more entities that only the reference text has",
        "names fewer entities that only the reference text has",
        unit="of its entity words",
        percent=True,
    ),
    Headline(
        *("rouge", "rouge_l", "closeness in words to the reference texts"),
        *(
            "is closer in words to the reference texts",
            "is less close in words to the reference texts",
        ),
        "ROUGE-L",
    ),
    Headline(
        *("similarity", "cosine", "closeness in meaning to the reference texts"),
        "is closer in meaning to the reference texts",
        "is less close in meaning to the reference texts",
        "cosine of embeddings",
    ),
)
