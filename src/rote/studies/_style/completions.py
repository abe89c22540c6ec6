"""Texts cut after so many words, what a model writes after them, and how the two agree.

Both the text and the prompt with what was written after it are annotated whole and end at the
same word, so that the tagger sees as much of the one as of the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rote.annotate import annotators, words
from rote.core.document import Document
from rote.core.model import Decoding, Model, Prompt
from rote.core.progress import Reporter
from rote.models.answers import generate_all

_TOKENS_A_WORD = 4
"""More tokens than words are asked for: what is too much is cut off."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A training text: what the model is given, and what it should write."""

    document: Document
    prompt: str
    whole: str
    """The prompt and the words after it that count."""

    @property
    def key(self) -> tuple[str, str]:
        """Files may use the same ids for other texts."""
        return self.document.id, self.whole


@dataclass(frozen=True, slots=True)
class Completion:
    """The words that should follow and those that the model wrote, with their tags."""

    cut: Cut
    written: str
    words: tuple[str, ...]
    tags: tuple[str, ...]
    own_words: tuple[str, ...]
    own_tags: tuple[str, ...]
    """What the model wrote: fewer where it stopped early, none where it changed the prompt."""

    @property
    def exact(self) -> bool:
        return self.words == self.own_words

    @property
    def style(self) -> bool:
        """Whether the tags agree; they do wherever the words do."""
        return self.exact or self.tags == self.own_tags

    @property
    def words_agree(self) -> float:
        """The share of places where the same word stands."""
        return sum(map(str.__eq__, self.words, self.own_words)) / len(self.words)

    @property
    def tags_agree(self) -> float:
        return sum(map(str.__eq__, self.tags, self.own_tags)) / len(self.tags)

    def substitutions(self) -> list[tuple[str, str, str]]:
        """(tag, word, other word) where only the words differ."""
        found = zip(self.tags, self.own_tags, self.words, self.own_words)
        return [
            (tag, word, other) for tag, same, word, other in found if tag == same != word != other
        ]


def cut_texts(documents: Sequence[Document], prompt: int, count: int) -> list[Cut]:
    """The texts that are long enough, cut after `prompt` and after `prompt + count` words."""
    word = words.get()([document.text for document in documents])
    lengths = word.text_ends - word.text_starts
    cuts = []
    for number in np.flatnonzero(lengths >= prompt + count).tolist():
        first, document = int(word.text_starts[number]), documents[number]
        middle, last = (int(word.ends[first + n - 1]) for n in (prompt, prompt + count))
        cuts.append(Cut(document, document.text[:middle], document.text[:last]))
    return cuts


def complete(
    cuts: Sequence[Cut], model: Model, prompt: int, count: int, layer: str, reporter: Reporter
) -> list[Completion]:
    """What the model writes after each prompt, by greedy decoding."""
    decoding = Decoding(max_tokens=_TOKENS_A_WORD * count)
    prompts = [Prompt(cut.prompt) for cut in cuts]
    written = [one.text for one in generate_all(model, prompts, decoding, reporter)]
    originals = _annotated([cut.whole for cut in cuts], layer)
    # Cut before annotating: words further on must not change the tags.
    others = _annotated(
        _first_words([c.prompt + text for c, text in zip(cuts, written)], prompt + count), layer
    )
    found = []
    for cut, text, (held, tags), (own, own_tags) in zip(cuts, written, originals, others):
        kept = own[:prompt] == held[:prompt]
        found.append(
            Completion(
                cut,
                text,
                held[prompt:],
                tags[prompt:],
                own[prompt:] if kept else (),
                own_tags[prompt:] if kept else (),
            )
        )
    return found


def _first_words(texts: Sequence[str], count: int) -> list[str]:
    word = words.get()(texts)
    ends: NDArray[np.int64] = np.minimum(word.text_starts + count, word.text_ends)
    return [
        text[: int(word.ends[end - 1])] if end > start else ""
        for text, start, end in zip(texts, word.text_starts.tolist(), ends.tolist())
    ]


def _annotated(texts: Sequence[str], layer: str) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """The words and tags of each text."""
    documents = [Document(str(number), text) for number, text in enumerate(texts)]
    made = annotators.get()(documents, (layer,))
    return [
        (tuple(made.word.items(number)), tuple(made.layers[layer].items(number)))
        for number in range(len(texts))
    ]
