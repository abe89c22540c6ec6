"""What measures are called in a report, and in a line what they say."""

from __future__ import annotations

from rote.core.result import Result

_TITLES = {
    "lexical": ("Words", "How varied the words are."),
    "syntactic": (
        "Sentence structure",
        "How different the dependency trees of sentences are from each other.",
    ),
    "semantic": ("Meaning", "How far apart sentences are in meaning, by their embeddings."),
    "compression": (
        "Compression",
        "How well the texts compress together: what repeats takes less room.",
    ),
    "compression/pos": (
        "Compression of tags",
        "How well the parts of speech compress: what repeats in grammar, whatever the words.",
    ),
    "self-repetition": ("Self-repetition", "How much of a text other texts of its source say too."),
    "homogenization": ("Homogenization", "How alike the texts of a source are, pair by pair."),
    "templates": ("Templates", "Patterns of grammar that stand again and again."),
    "favoured": (
        "Favoured patterns",
        "Patterns of grammar that set a source apart from the reference.",
    ),
    "precision-recall": (
        "Precision and recall",
        "How far the sentences of a source and of the reference cover each other.",
    ),
    "novelty": ("Novelty", "How much of the texts a corpus does not hold."),
    "originality": (
        "Originality",
        "Which sentences are an original use of language, and which need a citation.",
    ),
    "contamination": ("Contamination", "Which items stand in a corpus, whole or in part."),
    "overlap": (
        "Closeness to the training set",
        "How close items are to the training set, and whether scores rise with that.",
    ),
    "entity-scores": (
        "Names and numbers",
        "How many names and numbers of a text are in its document, and how many are remembered.",
    ),
    "rouge": ("ROUGE", "How much of its reference a text shares, in words."),
    "similarity": ("Similarity", "How close a text is in meaning to its reference."),
    "popularity": (
        "Popularity",
        "How popular items are in a corpus, and whether popular ones are answered better.",
    ),
    "memorization": ("Memorization", "What a model can say by heart."),
}


def title(result: Result) -> str:
    return _known(result)[0]


def says(result: Result) -> str:
    return _known(result)[1]


def _known(result: Result) -> tuple[str, str]:
    layer = dict(result.signature.settings).get("layer", "")
    name = result.measure.replace("-", " ")
    return _TITLES.get(f"{result.measure}/{layer}") or _TITLES.get(
        result.measure, (name[:1].upper() + name[1:], "")
    )
