"""Precision and recall of sentences: time, memory, growth, and prdc 0.2 on the same vectors.

    python benchmarks/neighbours.py

Trees are those of two Bible translations, as many sentences of each, in the order of the text.
Vectors are made up, 384 numbers each with variances that fall off as those of embeddings do, one
sample a little narrower than the other; components that hold 90 % of the variance are kept. A pair
is all that rote takes from distances: the four scores, what halves of the texts need, and the
same for the reference beside itself. `half` is one of the 200 half-samples of an interval. Seconds
are processor seconds, all threads together; growth is the time over that of the line above; memory
is the peak of the process so far.

prdc (Naeem et al. 2020) gives the four scores from matrices of all distances, on which BLAS is
quicker than rote's loops, whose distances are equal wherever they should be; it is given the
components, as rote is there. Install it with: pip install prdc==0.2
"""

from __future__ import annotations

import contextlib
import io
import resource
import sys
import time
from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np

from rote.annotate import annotators
from rote.annotate.trees import head_layer
from rote.core.layer import concatenate
from rote.core.metric import Work
from rote.corpus import ReadOptions, open_corpus
from rote.measure._neighbour_balls import Effort, Pair, Rule, among_trees, among_vectors
from rote.measure._neighbour_balls import pair as measured
from rote.measure._neighbour_points import Members, VectorPoints, projected
from rote.measure._sentences import Sentences, sentences_of
from rote.measure._tree_histograms import Histograms, histograms

SIZES, PEER_SIZES = (2_500, 5_000, 10_000, 20_000), (1_000, 2_000, 4_000)
RULE = Rule(4, strict=False)
GROUPS = {"model": np.array([0]), "human": np.array([1])}
WORK = Work(groups=GROUPS, reference="human", ids=["model", "human"])
TEXTS_AT_A_TIME = 11


def two_samples(size: int) -> Sentences:
    """`size` sentences of a text each."""
    order = np.arange(2 * size, dtype=np.int64)
    return Sentences(order, order + 1, np.repeat(np.arange(2), size))


def translations(size: int) -> tuple[list[Any], list[Any]]:
    """Parsed batches of both translations, until each has `size` sentences."""
    found: tuple[list[Any], list[Any]] = [], []
    for batches, name in zip(found, ("bible:kjv", "bible:asv")):
        documents, count = iter(open_corpus([name], ReadOptions())), 0
        while count < size and (batch := list(islice(documents, TEXTS_AT_A_TIME))):
            batches.append(annotators.get()(batch, ("upos", "dep")))
            count += len(sentences_of(batches[-1].word))
    return found


def trees(parsed: tuple[list[Any], list[Any]], size: int) -> Histograms:
    """The histograms of the first sentences of both."""
    batches = [*parsed[0], *parsed[1]]
    upos = concatenate([batch.layers["upos"] for batch in batches])
    head = concatenate([head_layer(batch.word, batch.heads) for batch in batches])
    sentences = sentences_of(upos)
    first = sum(len(sentences_of(batch.word)) for batch in parsed[0])
    kept = np.zeros(len(sentences), np.bool_)
    kept[:size] = kept[first : first + size] = True
    return histograms(upos, head, sentences.chosen(kept))


def vectors(size: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    rng = np.random.default_rng(0)
    made = rng.normal(size=(2 * size, 384)) / np.sqrt(np.arange(1, 385))
    made[:size] *= 0.95
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    made = work()
    return time.process_time() - start, made


def peak_megabytes() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak / 1e3


def half_seconds(pair: Pair, size: int) -> float:
    rng = np.random.default_rng(0)
    halves = [rng.choice(size, size // 2, replace=False) for _ in range(20)]
    took, _ = seconds(lambda: [pair.scores(a, b) for a, b in zip(halves[::2], halves[1::2])])
    return took / 10


def section(title: str, one: Callable[[int], Pair]) -> None:
    print(f"{title}\n{'sentences':>10}{'pair s':>9}{'growth':>8}{'half s':>9}{'peak MB':>9}")
    one(100).scores()
    before = None
    for size in SIZES:
        took, pair = seconds(lambda size=size: one(size))
        grown = f"{took / before:.1f}x" if before else ""
        half, found = half_seconds(pair, size), pair.scores()
        print(
            f"{size:>10,}{took:>9.2f}{grown:>8}{half:>9.4f}{peak_megabytes():>9,.0f}   "
            + " ".join(f"{name} {score:.3f}" for name, score in found.items()),
            flush=True,
        )
        before = took


def peer_section() -> None:
    from prdc import compute_prdc

    def theirs(points: Any) -> dict[str, float]:
        half = len(points) // 2
        with contextlib.redirect_stdout(io.StringIO()):
            return dict(compute_prdc(points[half:], points[:half], RULE.k))

    print("prdc 0.2: the scores, and the scores with 200 half-samples (~: one of them, times 200)")
    print(
        f"{'sentences':>10}{'prdc s':>9}{'rote s':>9}{'prdc s':>9}{'rote s':>9}{'difference':>12}"
    )
    for size in PEER_SIZES:
        points = projected(vectors(size), np.ones(2 * size, np.int64), 0.9)
        once, expected = seconds(lambda points=points: theirs(points))
        one_half, _ = seconds(lambda points=points: theirs(points[::2]))
        ours, pair = seconds(lambda points=points: of_points(points))
        found = pair.scores()
        apart = max(abs(found[name] - float(expected[name])) for name in found)
        print(
            f"{size:>10,}{once:>9.2f}{ours:>9.2f}{'~':>2}{once + 200 * one_half:>7.1f}"
            f"{ours + 200 * half_seconds(pair, size):>9.2f}{apart:>12.1e}",
            flush=True,
        )


def of_points(points: Any) -> Pair:
    half = np.arange(len(points) // 2)
    samples = [Members(numbers, half, half, half) for numbers in (half, half + len(half))]
    return measured(VectorPoints(points), *samples, RULE, Effort())


def of_vectors(made: np.ndarray[Any, np.dtype[np.float32]]) -> Pair:
    sentences = two_samples(len(made) // 2)
    return among_vectors(made, sentences, WORK, RULE, 0.9).pairs["model"]


def main() -> None:
    parsed = translations(max(SIZES))
    made = {size: trees(parsed, size) for size in (100, *SIZES)}
    section(
        "dependency trees",
        lambda size: among_trees(made[size], two_samples(size), WORK, RULE).pairs["model"],
    )
    wide = {size: vectors(size) for size in (100, *SIZES)}
    section("vectors", lambda size: of_vectors(wide[size]))
    peer_section()


if __name__ == "__main__":
    main()
