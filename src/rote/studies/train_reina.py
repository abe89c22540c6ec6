"""Put the summary of the most similar training document before each document (REINA).

A baseline that learns by rote on purpose: of every pair the training document most like its own is
looked up (BM25; never itself), and its summary goes before the document, which `rote train
finetune` and `rote generate` then read like any other:


  rote train reina pairs.jsonl -o retrieved.jsonl
  rote train finetune retrieved.jsonl --model facebook/bart-base -o reina

Words are counted by scikit-learn, scores computed by scipy. Wang et al. (2022), Training Data is
More Valuable than You Think.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from rote.core.arrays import Floats, Integers
from rote.core.errors import OptionError
from rote.core.metric import OptionSet, lines_option
from rote.core.progress import several
from rote.core.record import Call, Findings, Study
from rote.corpus import ReadOptions
from rote.curate.corpus_reader import write_lines
from rote.curate.pairs import PairOptions, read_pairs, select_split

_SEPARATOR = " | "
"""Between the summary and the document."""


@dataclass(frozen=True, slots=True)
class Options(OptionSet):
    """Where the pairs go."""

    SECTION: ClassVar[str] = "Output"
    output: Path = lines_option(Path("retrieved.jsonl"), "The pairs, all splits", short="-o")


def run(call: Call) -> Findings:
    options: Options = call.options
    pairs = call.of(PairOptions)
    every = read_pairs(call.inputs, pairs, call.reporter)
    training = select_split(every, pairs.split)
    if len(training) < 2:
        raise OptionError(f"there are fewer than two pairs of the split '{pairs.split}'")
    place = {pair.id: number for number, pair in enumerate(training)}
    with call.reporter.stage("counting words", None):
        index = Bm25([pair.document for pair in training])
    with call.reporter.stage("retrieving", len(every), "documents") as advance:
        best = index.nearest(
            [pair.document for pair in every],
            exclude=[place.get(pair.id) for pair in every],
            advance=advance,
        )
    records = []
    for pair, near in zip(every, (training[place] for place in best.tolist())):
        document = near.reference + _SEPARATOR + pair.document
        more = {"retrieved": near.id, "plain_document": pair.document}
        records.append({**pair.record, "document": document, **more})
    write_lines(options.output, records)
    return Findings(
        signed={"texts": call.inputs.fingerprint[:12]},
        about={"file": str(options.output), "pairs": len(every), "training": len(training)},
    )


K1, B = 1.5, 0.75
_AT_ONCE = 256


class Bm25:
    """Documents ready to be asked."""

    def __init__(self, documents: Sequence[str]) -> None:
        from scipy import sparse
        from sklearn.feature_extraction.text import CountVectorizer

        self._words = CountVectorizer(token_pattern=r"(?u)\w+")
        counts = sparse.csr_array(self._words.fit_transform(documents), dtype=np.float64)
        lengths = np.asarray(counts.sum(1)).ravel()
        often = np.bincount(counts.indices, minlength=counts.shape[1])
        rarity = np.log1p((len(documents) - often + 0.5) / (often + 0.5))
        norm = K1 * (1 - B + B * lengths / max(lengths.mean(), 1e-9))
        rows = np.repeat(np.arange(len(documents)), np.diff(counts.indptr))
        counts.data = rarity[counts.indices] * counts.data * (K1 + 1) / (counts.data + norm[rows])
        self._weights: Any = sparse.csc_array(counts.T)

    def scores(self, queries: Sequence[str]) -> Floats:
        """A row for each query, a column for each document; a word counts as often as it occurs."""
        counts = self._words.transform(queries)
        return np.asarray((counts @ self._weights).toarray(), np.float64)

    def nearest(
        self,
        queries: Sequence[str],
        *,
        exclude: Sequence[int | None] | None = None,
        advance: Callable[[float], None] = lambda amount: None,
    ) -> Integers:
        """The best document of each query, the first of equals; `exclude` is left out."""
        best = np.empty(len(queries), np.int64)
        for first in range(0, len(queries), _AT_ONCE):
            some = slice(first, min(first + _AT_ONCE, len(queries)))
            scores = self.scores(queries[some])
            for row, place in enumerate((exclude or [None] * len(queries))[some]):
                if place is not None:
                    scores[row, place] = -np.inf
            best[some] = scores.argmax(1)
            advance(some.stop - some.start)
        return best


STUDY = Study(
    name="train-reina",
    title="Retrieved summaries",
    says="Pairs with the summary of the most similar training document before the document.",
    takes="texts",
    metavar="DATA...",
    options=Options,
    more=(PairOptions, ReadOptions),
    without=("text_field", "strip_prompt", "prompt_field", "plain"),
    run=run,
    output="data",
    account=lambda result, place: (
        f"{place}: {several(result.about['pairs'], 'pair')} with a summary of "
        f"{result.about['training']:,}"
    ),
    citation="Wang et al. (2022), Training Data is More Valuable than You Think: A Simple and "
    "Effective Method by Retrieving from Training Data",
)
