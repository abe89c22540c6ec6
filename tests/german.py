"""German texts, and a spaCy pipeline that has all layers of such: made here, hardly trained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

TEXTS = [
    "Der alte Hafen ist ruhig und die Boote liegen noch im Nebel des Morgens.",
    "Niemand hat den Brief geöffnet, obwohl er eine Woche auf dem Tisch lag.",
    "Mein Onkel hat Uhren repariert; keine von ihnen war sich mit den anderen einig.",
    "Der Regen ist so stark, dass der Keller voll ist und die Katze nach oben zieht.",
    "Sie hat den Fahrplan zweimal gelesen und ist doch mit dem falschen Zug gefahren.",
    "Sechs Orangen, eine Lampe und ein halbes Brot: das war das ganze Erbe.",
]
_WORDS = "Der alte Hafen ist ruhig .".split()


def save_pipeline(path: Path) -> str:
    """The annotator's name; tags, trees and lemmas are there, and of no use."""
    import spacy
    from spacy.tokens import Doc
    from spacy.training import Example

    nlp = spacy.blank("de")
    for name in ("tagger", "morphologizer", "parser", "trainable_lemmatizer"):
        nlp.add_pipe(name)
    columns: dict[str, Any] = {
        "tags": ["ART", "ADJA", "NN", "VAFIN", "ADJD", "$."],
        "pos": ["DET", "ADJ", "NOUN", "AUX", "ADJ", "PUNCT"],
        "deps": ["det", "amod", "nsubj", "cop", "ROOT", "punct"],
        "lemmas": ["der", "alt", "Hafen", "sein", "ruhig", "."],
        "heads": [2, 2, 4, 4, 4, 4],
        "sent_starts": [True, *[False] * 5],
    }
    gold = Doc(nlp.vocab, words=_WORDS, **columns)
    # Labels that are rarer are not learned.
    examples = [Example(nlp.make_doc(" ".join(_WORDS)), gold) for _ in range(30)]
    nlp.initialize(lambda: examples)
    nlp.to_disk(path)
    return f"spacy:{path}"
