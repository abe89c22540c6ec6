"""Time of measures against `diversity` 0.3.1 and `lexicalrichness`, same texts, same process.

    python benchmarks/measures.py            sizes 1,000 and 10,000
    python benchmarks/measures.py --full     also 100,000, and the peer's slow runs in full

Seconds are processor seconds, so that a busy machine does not distort the ratio; all
of it runs on one core. rote's time includes tokenizing the raw strings. A `~` marks a
peer's time that was measured on a part and extrapolated; a pairwise score is measured
on a few pairs.
Compiling (cached on disk after the first run) is done before the clock starts.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import distribution
from itertools import combinations
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from lexicalrichness import LexicalRichness

from rote.annotate import words
from rote.core.layer import Layer
from rote.core.metric import Metric, Work
from rote.core.sample import Need, RawText, Sample
from rote.measure import compression, homogenization, lexical, self_repetition

WORDS_A_TEXT = 150
VOCABULARY = 50_000
PAIRS = 20


@dataclass(frozen=True)
class Peer:
    """A peer's seconds on n texts: `time(texts)` up to `most`, beyond that `growth` decides."""

    seconds: Callable[[list[str]], float]
    most: int
    growth: Callable[[int], float]


def make_texts(count: int, seed: int = 0) -> list[str]:
    """Texts of words drawn from a Zipf distribution."""
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, VOCABULARY + 1)
    drawn = rng.choice(VOCABULARY, size=(count, WORDS_A_TEXT), p=share / share.sum())
    letters = np.array(list("etaoinshrdlu"))
    spelled = ["".join(rng.choice(letters, rng.integers(2, 9))) + str(i) for i in range(VOCABULARY)]
    return [" ".join(spelled[word] for word in text) for text in drawn]


def diversity(name: str) -> Any:
    """One file of the package, by path: importing it whole needs torch and downloads."""
    stand_in: Any = ModuleType("evaluate")
    stand_in.load = None
    sys.modules.setdefault("evaluate", stand_in)
    files = distribution("diversity").files or []
    path = next(file.locate() for file in files if str(file) == f"diversity/{name}.py")
    spec = importlib.util.spec_from_file_location(f"diversity_{name}", str(path))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def clock(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def tokens(metric: Metric, options: Any, texts: Sequence[str]) -> Sample:
    layers = {}
    for need in metric.needs(options):
        if need.layer == "text":
            continue
        layer = words.get(need.tokenizer or words.DEFAULT)(texts)
        layers[need] = layer.map("lower", str.lower) if need.layer == "lower" else layer
    return Sample(np.zeros(len(texts), np.int64), layers, {None: raw_text(texts)})


def run(metric: Metric, options: Any, texts: Sequence[str]) -> tuple[float, float]:
    """Seconds that a user waits for values, and seconds of that for tokens."""
    start = time.process_time()
    sample = tokens(metric, options, texts)
    tokenized = time.process_time() - start
    everything = np.arange(len(texts), dtype=np.int64)
    rows = metric.rows(sample, options, Work())
    metric.reduce(rows, everything, options, np.random.default_rng(0))
    return time.process_time() - start, tokenized


def raw_text(texts: Sequence[str]) -> RawText:
    encoded = [text.encode() for text in texts]
    ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
    return RawText(np.frombuffer(bytearray(b"".join(encoded)), np.uint8), ends)


def some_pairs(texts: list[str]) -> float:
    """Seconds of the package's scorer for all ordered pairs, from a few."""
    scorer = diversity("homogenization").rouge_scorer.RougeScorer(["rougeL"])
    pairs = list(combinations(texts[:10], 2))[:PAIRS]
    seconds = clock(lambda: [scorer.score(a, b) for a, b in pairs])
    return seconds / len(pairs) * len(texts) * (len(texts) - 1)


def richness(texts: list[str]) -> float:
    def each() -> None:
        for text in texts:
            one = LexicalRichness(text.split(), preprocessor=None, tokenizer=None)
            one.mattr(50), one.mtld(), one.hdd()

    return clock(each)


def linear(count: int) -> float:
    return float(count)


def quadratic(count: int) -> float:
    return float(count) ** 2


def cases(full: bool) -> list[tuple[str, Metric, Any, Peer]]:
    ngram, repeat, zipped = (
        diversity(name) for name in ("ngram_diversity", "self_repetition", "compression")
    )
    return [
        (
            "n-gram diversity",
            lexical.METRIC,
            lexical.Options(variant="package"),
            Peer(lambda t: clock(lambda: ngram.ngram_diversity_score(t)), 10_000, linear),
        ),
        (
            "n-gram diversity (all of lexical)",
            lexical.METRIC,
            lexical.Options(),
            Peer(lambda t: clock(lambda: ngram.ngram_diversity_score(t)), 10_000, linear),
        ),
        (
            "self-repetition",
            self_repetition.METRIC,
            self_repetition.Options(variant="package"),
            Peer(
                lambda t: clock(lambda: repeat.self_repetition_score(t, verbose=False)),
                10_000 if full else 3_000,
                quadratic,
            ),
        ),
        (
            "gzip ratio",
            compression.METRIC,
            compression.Options(variant="package"),
            Peer(lambda t: clock(lambda: zipped.compression_ratio(t)), 10_000, linear),
        ),
        (
            "ROUGE-L, all pairs",
            homogenization.METRIC,
            homogenization.Options(variant="package", scores=("rouge_l",)),
            Peer(some_pairs, 10_000, quadratic),
        ),
        (
            "MATTR, MTLD, HD-D (lexicalrichness)",
            lexical.METRIC,
            lexical.Options(ngram_max=0),
            Peer(richness, 100, linear),
        ),
    ]


def table(sizes: list[int], full: bool) -> None:
    heads = ("texts", "peer s", "rote s", "of it tokens", "ratio", "growth")
    print(f"{'measure':<36}" + "".join(f"{head:>14}" for head in heads))
    for name, metric, options, peer in cases(full):
        run(metric, options, make_texts(20))
        before = 0.0
        measured: dict[int, float] = {}
        for size in sizes:
            if metric.name == "homogenization" and size > 10_000:
                continue
            texts = make_texts(size)
            part = min(size, peer.most)
            if part not in measured:
                measured[part] = peer.seconds(texts[:part])
            theirs = measured[part] * peer.growth(size) / peer.growth(part)
            guessed = "~" if part < size or peer.seconds is some_pairs else ""
            ours, tokenized = run(metric, options, texts)
            cells = (
                f"{size:,}",
                f"{guessed}{theirs:,.2f}",
                f"{ours:.3f}",
                f"{tokenized:.3f}",
                f"{theirs / ours:,.1f}x",
                f"x {ours / before:.1f}" if before else "",
            )
            print(f"{name:<36}" + "".join(f"{cell:>14}" for cell in cells), flush=True)
            before = ours


def anonymous_memory() -> int:
    """Bytes of this process that are not pages of a file."""
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("RssAnon"))
    return int(line.split()[1]) * 1024


def peak_of(work: Callable[[], Any]) -> int:
    """The most extra memory while `work` runs, looked at every few milliseconds."""
    before = anonymous_memory()
    seen = [0]
    done = threading.Event()

    def look() -> None:
        while not done.wait(0.002):
            seen[0] = max(seen[0], anonymous_memory() - before)

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        work()
    finally:
        done.set()
        watcher.join()
    return seen[0]


def streaming(sizes: list[int]) -> None:
    """Lexical values without n-gram sets over a column of ids that is a file."""
    print(f"\n{'lexical, ids in a file':<36}{'texts':>9}{'words':>14}{'s':>10}{'MB':>12}")
    options = lexical.Options(ngram_max=0)
    share = 1 / np.arange(1, VOCABULARY + 1)
    block = np.random.default_rng(0).choice(VOCABULARY, 1_500_000, p=share / share.sum())
    none = np.empty(0, np.int32)
    for size in sizes:
        count = size * WORDS_A_TEXT
        with tempfile.TemporaryFile() as file:
            for first in range(0, count, len(block)):
                block[: count - first].astype(np.int32).tofile(file)
            file.flush()
            ids = np.memmap(file, np.int32, "r+").view(np.ndarray)
            ends = np.arange(1, size + 1, dtype=np.int64) * WORDS_A_TEXT
            layer = Layer("lower", ids, [""] * VOCABULARY, none, none, ends)
            sample = Sample(ends, {Need("lower"): layer})
            everything = np.arange(size, dtype=np.int64)

            def work(sample: Sample = sample, everything: Any = everything) -> None:
                rows = lexical.rows(sample, options, Work())
                lexical.reduce(rows, everything, options, np.random.default_rng(0))

            seconds = time.perf_counter()
            peak = peak_of(work)
            seconds = time.perf_counter() - seconds
            print(f"{'':<36}{size:>9,}{count:>14,}{seconds:>10.2f}{peak / 1e6:>12.1f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="larger sizes, peers in full")
    full = parser.parse_args().full
    sizes = [1_000, 10_000, 100_000] if full else [1_000, 10_000]
    table(sizes, full)
    streaming([10_000, 100_000, 400_000])


if __name__ == "__main__":
    main()
