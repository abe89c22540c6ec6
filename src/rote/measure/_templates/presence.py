"""Measured texts that stand in the corpus themselves: their templates are found there for sure.

A text is taken to stand there if a document with its id has the same text, or if long runs of
its words, from its beginning, its middle and its end, all stand there: in one document, or in
several, since corpora are often cut at other places than the texts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rote.annotate.layers import derive
from rote.core.layer import Layer
from rote.core.sample import RawText
from rote.index.grams import Grams
from rote.index.index import Index

WORDS = "lower"
RUN = 13
"""Words of a run: so many hardly ever agree by chance."""
SHORTEST = 8
"""A text of fewer than RUN words is one run; with fewer than this, agreement says little."""
_RUNS = 3


def can_look_up(index: Index) -> bool:
    """Whether runs of words can be looked up, or ids alone."""
    return WORDS in index.sorted_layers


def texts_in_corpus(index: Index, word: Layer, raw: RawText, ids: Sequence[str]) -> dict[int, str]:
    """The numbers of the texts that stand in the corpus, and how that was seen."""
    found = _by_words(index, derive(word, WORDS)) if can_look_up(index) else {}
    for text, identity in enumerate(ids):
        if _same_document(index, identity, raw.text(text)):
            found[text] = "a document of the same id has the same text"
    return dict(sorted(found.items()))


def _same_document(index: Index, identity: str, text: bytes) -> bool:
    if not text:
        return False
    for segment in index.segments:
        number = segment.documents.find(identity)
        if number is not None:
            held = segment.documents.text(number)
            if held.encode("utf-8", "surrogatepass") == text:
                return True
    return False


def _by_words(index: Index, lower: Layer) -> dict[int, str]:
    """All runs of all texts are counted at once; documents are asked for where all are there."""
    runs, texts = _runs(lower)
    counts = index.counts(runs, WORDS)
    missing = np.unique(texts[counts == 0])
    found = {}
    for text in np.setdiff1d(texts, missing).tolist():
        mine = np.arange(*np.searchsorted(texts, [text, text + 1]))
        # The rarest run first: it leaves the fewest documents.
        documents: set[str] | None = None
        for run in mine[np.argsort(counts[mine], kind="stable")].tolist():
            holders = index.documents(runs[run], WORDS)
            documents = set(holders) if documents is None else documents & set(holders)
            if not documents:
                break
        found[text] = _why(len(mine), documents or set())
    return found


def _why(runs: int, documents: set[str]) -> str:
    if not documents:
        where = "the corpus, though in no one document"
    else:
        where = f"the document '{min(documents)}'"
        if len(documents) > 1:
            where += f" (and in {len(documents) - 1:,} more)"
    if runs == 1:
        return f"all its words stand together in {where}"
    return f"runs of {RUN} words from its beginning, middle and end all stand in {where}"


def _runs(lower: Layer) -> tuple[Grams, NDArray[np.int64]]:
    """The runs of each text, and whose they are; texts of too few words have none."""
    starts, lengths = lower.text_starts, lower.text_ends - lower.text_starts
    texts = np.flatnonzero(lengths >= SHORTEST)
    sizes = np.minimum(lengths[texts], RUN)
    room = lengths[texts] - sizes
    begins = starts[texts][:, None] + room[:, None] * np.arange(_RUNS) // (_RUNS - 1)
    # In a text of one run, or of little more, some are the same.
    new = np.ones(begins.shape, np.bool_)
    new[:, 1:] = begins[:, 1:] > begins[:, :-1]
    each = np.broadcast_to(sizes[:, None], begins.shape)[new]
    ends = np.cumsum(each)
    items = np.arange(int(each.sum())) + np.repeat(begins[new] - (ends - each), each)
    owners = np.broadcast_to(texts[:, None], begins.shape)[new]
    return Grams(lower.ids[items], ends, lower.vocabulary), owners
