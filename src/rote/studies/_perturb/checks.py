"""What perturbation did to items, one number per item: likeness, popularity, answers, frequency."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.core.progress import Reporter
from rote.core.sample import RawText
from rote.corpus.items import Item
from rote.index.grams import Grams
from rote.search.backends import Backend
from rote.studies._items import correctness
from rote.studies._popularity.scores import Scale, score

Floats = NDArray[np.float64]
NO_EMBEDDER = "none"


@dataclass(frozen=True, slots=True)
class Pairs:
    """Items before and after, one by one; the same number of options each."""

    before: Sequence[Item]
    after: Sequence[Item]

    def texts(self) -> tuple[list[str], list[str]]:
        """All instances, before and after, in the same order."""
        return _instances(self.before), _instances(self.after)

    def mean(self, values: Floats) -> Floats:
        """From instances to items."""
        sizes = [len(item.options) for item in self.before]
        owner = np.repeat(np.arange(len(sizes)), sizes)
        return np.asarray(np.bincount(owner, values, len(sizes)) / np.array(sizes))

    def right(self, values: Floats) -> Floats:
        """Of each item the value of the instance with the right option; nan where none is."""
        firsts = np.cumsum([0, *(len(item.options) for item in self.before)])
        found = np.full(len(self.before), np.nan)
        for number, item in enumerate(self.before):
            if item.answer is not None:
                found[number] = values[firsts[number] + item.answer]
        return found


def _instances(items: Sequence[Item]) -> list[str]:
    return [text for item in items for text in item.instances()]


def rouge_l(pairs: Pairs) -> Floats:
    """ROUGE-L F of each perturbed item with its original, mean over its instances."""
    from rote.measure.rouge import rouge

    before, after = (_side(texts) for texts in pairs.texts())
    found = rouge(after, before, threads=1, progress=lambda share: None)["rouge_l"].f
    return pairs.mean(found)


def _side(texts: Sequence[str]) -> Any:
    from rote.annotate import words
    from rote.measure.rouge import Side

    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    ends = np.cumsum([len(one) for one in encoded])
    return Side(
        words.get("rouge")(texts), RawText(np.frombuffer(b"".join(encoded), np.uint8), ends)
    )


def cosine(pairs: Pairs, embedder: str, reporter: Reporter) -> Floats:
    """Cosine of the embeddings of each perturbed item and its original, mean over instances."""
    from rote.annotate import embeddings

    before, after = pairs.texts()
    vectors = embeddings.get(embedder)([*before, *after], reporter).astype(np.float64)
    one, other = vectors[: len(before)], vectors[len(before) :]
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    products = np.einsum("ij,ij->i", one, other)
    cosines = np.divide(products, lengths, out=np.full(len(before), np.nan), where=lengths > 0)
    return pairs.mean(cosines)


def bertscore(pairs: Pairs, model: str, layer: int | None, reporter: Reporter) -> Floats:
    """BERTScore F of each perturbed item with its original, mean over its instances."""
    from rote.measure import _bertscore

    before, after = pairs.texts()
    with reporter.stage("BERTScore", 1.0) as advance:
        done = 0.0

        def progress(share: float) -> None:
            nonlocal done
            advance(share - done)
            done = share

        found = _bertscore.scores(
            after, [[text] for text in before], model=model, layer=layer, progress=progress
        )
    return pairs.mean(found[:, 2])


def popularity(
    pairs: Pairs,
    backend: Backend,
    n: int,
    *,
    scale: Scale | None,
    max_undefined: float,
    reporter: Reporter,
) -> tuple[Floats, Floats]:
    """IPS of the instances with the right option, before and after.

    The deciles are those of the originals, which the perturbed items do not change.
    """
    before, after = pairs.texts()
    tasks = [item.task for item in pairs.before for _ in item.options]
    first = score(
        before, tasks, backend, n, scale=scale, max_undefined=max_undefined, reporter=reporter
    )
    second = score(after, tasks, backend, n, scale=first.scale, reporter=reporter)
    return pairs.right(first.ips), pairs.right(second.ips)


def counts_of(words: Sequence[str], backend: Backend, reporter: Reporter) -> NDArray[np.int64]:
    """How often each word, or run of words, stands in the corpus."""
    layer = backend.tokenize(words, reporter)
    return np.asarray(
        backend.counts(Grams(layer.ids, layer.text_ends, layer.vocabulary), reporter), np.int64
    )


def answered(items: Sequence[Item], column: str | None) -> Floats:
    """1 where an item was answered rightly, 0 where not, nan where no field says it."""
    return np.array([correctness(item, column) for item in items])


def last_words(items: Sequence[Item]) -> Floats:
    """The log-likelihood of the last word, where an answer of `rote evaluate` tells it."""
    found = np.full(len(items), np.nan)
    for number, item in enumerate(items):
        told = item.meta.get("loglikelihoods")
        if len(item.options) == 1 and isinstance(told, list) and len(told) == 1:
            found[number] = float(told[0])
    return found
