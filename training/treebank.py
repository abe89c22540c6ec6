"""Read treebanks (CoNLL-U) and entity sets (IOB2) as layers with gold labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from rote.core.layer import Layer, number

TRAIN = Path("treebanks/en_ewt-ud-train.conllu")
DEV = Path("treebanks/en_ewt-ud-dev.conllu")
ENTITY_TRAIN = Path("entities_uner/en_ewt-ud-train.iob2")
ENTITY_DEV = Path("entities_uner/en_ewt-ud-dev.iob2")


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a treebank; `space` is the white space that follows it in the text."""

    form: str
    upos: str = "_"
    xpos: str = "_"
    head: int = 0
    relation: str = "_"
    entity: str = "O"
    space: str = " "


Sentence = list[Word]
Text = list[Sentence]


def read(path: Path) -> list[Text]:
    """The documents of a CoNLL-U or IOB2 file; ranges and empty words are left out."""
    texts: list[Text] = []
    sentence: Sentence = []
    plain = path.suffix == ".iob2"
    glued_until, glued_space, written = 0, True, ""
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("# newdoc"):
            texts.append([])
        elif line.startswith("# newpar") and texts and texts[-1]:
            end = texts[-1][-1]
            end[-1] = replace(end[-1], space="\n\n")
        elif plain and line.startswith("# text = "):
            written = line.removeprefix("# text = ")
        elif not line and sentence:
            if not texts:
                texts.append([])
            texts[-1].append(_spaced(sentence, written) if plain else sentence)
            sentence = []
            glued_until = 0
        elif line and not line.startswith("#"):
            fields = line.split("\t")
            if plain:
                sentence.append(Word(form=fields[1], entity=fields[2]))
            elif "-" in fields[0]:
                # Words that share one stretch of text (don't): no space between them.
                glued_until = int(fields[0].split("-")[1])
                glued_space = "SpaceAfter=No" not in fields[9]
            elif "." not in fields[0]:
                place = int(fields[0])
                space = "SpaceAfter=No" not in fields[9]
                if place <= glued_until:
                    space = place == glued_until and glued_space
                head = int(fields[6]) if fields[6].isdigit() else 0
                white = " " if space else ""
                sentence.append(Word(fields[1], fields[3], fields[4], head, fields[7], space=white))
    if sentence:
        texts[-1].append(_spaced(sentence, written) if plain else sentence)
    return texts


def _spaced(sentence: Sentence, written: str) -> Sentence:
    """The words with the white space that the sentence, as written, has between them."""
    found: Sentence = []
    place = 0
    for word in sentence:
        place = max(place, written.find(word.form, place)) + len(word.form)
        white = " " if place >= len(written) or written[place].isspace() else ""
        found.append(replace(word, space=white))
    return found


def layer(texts: list[Text]) -> Layer:
    """The words as a layer, one text per document, spans in the text that `plain` gives."""
    starts, ends, text_ends, sentence_ends = [], [], [], []
    forms: list[str] = []
    for text in texts:
        place = 0
        for sentence in text:
            for word in sentence:
                forms.append(word.form)
                starts.append(place)
                ends.append(place + len(word.form))
                place = ends[-1] + len(word.space)
            sentence_ends.append(len(forms))
        text_ends.append(len(forms))
    vocabulary, ids = number(forms)
    return Layer(
        name="word",
        ids=ids,
        vocabulary=vocabulary,
        starts=np.array(starts, np.int32),
        ends=np.array(ends, np.int32),
        text_ends=np.array(text_ends, np.int64),
        sentence_ends=np.array(sentence_ends, np.int64),
    )


def names(path: Path) -> list[str]:
    """The names of a file's documents."""
    mark = "# newdoc id = "
    lines = path.read_text("utf-8").splitlines()
    return [line.removeprefix(mark) for line in lines if line.startswith(mark)]


def plain(text: Text) -> str:
    """The text of a document."""
    return "".join(word.form + word.space for sentence in text for word in sentence)


def labels(texts: list[Text], field: str) -> list[str]:
    """One field of every word."""
    return [getattr(word, field) for text in texts for sentence in text for word in sentence]
