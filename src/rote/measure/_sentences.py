"""The sentences of a sample: where they stand, whose they are, and which of them are measured.

A text that was cut off in the middle ends in a piece of a sentence, which is no sentence; and
where there are more sentences than are needed, some are drawn, from every source alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Literal

import numpy as np

from rote.core.array_types import Flags, Integers
from rote.core.layer import Layer, Offsets, items_of, starts_of
from rote.core.metric import Work
from rote.core.progress import several
from rote.core.sample import Take

Drop = Literal["none", "last", "both"]
# What a whole sentence ends with, perhaps behind closing quotes and brackets.
_FINAL = frozenset(".!?…‽。！？｡։؟۔।॥")
_CLOSING = frozenset("\"'”’»›)]}」』*_`")


@dataclass(frozen=True, slots=True)
class Sentences:
    """Sentence s holds the items `starts[s]:ends[s]` and occurs in text `texts[s]`.

    Sentences of one text follow each other; none is empty.
    """

    starts: Offsets
    ends: Offsets
    texts: Integers

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def lengths(self) -> Integers:
        return self.ends - self.starts

    def chosen(self, kept: Flags) -> Sentences:
        return replace(self, starts=self.starts[kept], ends=self.ends[kept], texts=self.texts[kept])

    def of(self, take: Take) -> Integers:
        """Numbers of the sentences of the chosen texts, text after text."""
        bounds = (np.searchsorted(self.texts, take, side=side) for side in ("left", "right"))
        return items_of(*bounds)[0]


def sentences_of(word: Layer) -> Sentences:
    """All sentences; without sentence ends every text that holds something is one."""
    ends = word.text_ends if word.sentence_ends is None else word.sentence_ends
    starts = starts_of(ends)
    filled = ends > starts
    texts = np.searchsorted(word.text_ends, starts[filled], side="right")
    return Sentences(starts[filled], ends[filled], texts.astype(np.int64))


def whole(word: Layer, sentences: Sentences, drop: Drop) -> Flags:
    """Which sentences are kept when cut-off texts lose theirs.

    A text is cut off if it does not end as a sentence does. `last` drops its last sentence,
    `both` also its first, for texts that go on where another text stopped.
    """
    kept = np.ones(len(sentences), np.bool_)
    if drop == "none" or not len(sentences):
        return kept
    last = np.append(np.diff(sentences.texts) > 0, True)
    first = np.append(True, last[:-1])
    cut = {
        int(sentences.texts[number])
        for number in np.flatnonzero(last)
        if not _ends_well(word, int(sentences.starts[number]), int(sentences.ends[number]))
    }
    of_cut = np.isin(sentences.texts, list(cut))
    kept[last & of_cut] = False
    if drop == "both":
        kept[first & of_cut] = False
    return kept


def _ends_well(word: Layer, start: int, end: int) -> bool:
    for item in range(end - 1, start - 1, -1):
        bare = word.vocabulary[word.ids[item]].rstrip("".join(_CLOSING))
        if bare:
            return bare[-1] in _FINAL
    return False


def drawn(sentences: Sentences, work: Work, count: int | None) -> Flags:
    """At most `count` sentences of every source, by a hash of text and place.

    So the draw depends on which texts there are, not on their order, nor on the seed: what rests on
    it is no matter of chance.
    """
    kept = np.ones(len(sentences), np.bool_)
    if count is None:
        return kept
    everything = np.unique(sentences.texts)
    for take in work.groups.values() if work.groups else (everything,):
        own = sentences.of(take)
        if len(own) > count:
            kept[own[np.argsort(ranks(sentences, own, work), kind="stable")[count:]]] = False
    return kept


def ranks(sentences: Sentences, numbers: Integers, work: Work) -> Integers:
    """The order in which these sentences are drawn: smaller ones first."""
    texts = sentences.texts[numbers]
    places = numbers - np.searchsorted(sentences.texts, texts)
    found = bytearray()
    for text, place in zip(texts.tolist(), places.tolist()):
        key = f"{work.ids[text] if work.ids else text}\n{place}".encode("utf-8", "surrogatepass")
        found += blake2b(key, digest_size=7).digest() + b"\0"
    return np.frombuffer(found, "<i8").astype(np.int64)


def limited(settings: Mapping[str, str]) -> str:
    """How many sentences were drawn, from the settings of a signature, for a method section."""
    if settings.get("sentences", "None") == "None":
        return ""
    return f", at most {several(int(settings['sentences']), 'sentence')} of each source"
