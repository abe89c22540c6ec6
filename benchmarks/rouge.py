"""Time and equality of ROUGE in `rote score` and in rouge-score 0.1.2: same texts, same process.

    python benchmarks/rouge.py [FILE.jsonl]

The file holds records with `text` and `reference`; without it texts are made up: words drawn from a
Zipf distribution, in lines, 20, 60 and 200 words long. Seconds are processor seconds on one core,
from strings to ROUGE-1, 2, L and Lsum, tokenizing included on both sides. Compiling (cached on disk
after the first run) is done before the clock starts. rouge-score is timed on some of the pairs.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rouge_score.rouge_scorer import RougeScorer

from rote.annotate import words
from rote.core.metric import Work
from rote.core.sample import RawText, Sample
from rote.measure.reference_scores import rouge

PEER = {"rouge_1": "rouge1", "rouge_2": "rouge2", "rouge_l": "rougeL", "rouge_lsum": "rougeLsum"}
PAIRS = 10_000
PEER_PAIRS = 300
VOCABULARY = 20_000
WORDS_A_LINE = 20

Pair = tuple[str, str]


def made_up(length: int, seed: int = 0) -> list[Pair]:
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, VOCABULARY + 1)
    drawn = rng.choice(VOCABULARY, size=(2 * PAIRS, length), p=share / share.sum())
    letters = np.array(list("etaoinshrdlu"))
    spelled = ["".join(rng.choice(letters, rng.integers(2, 9))) + str(i) for i in range(VOCABULARY)]
    texts = [
        "\n".join(
            " ".join(spelled[word] for word in text[first : first + WORDS_A_LINE])
            for first in range(0, length, WORDS_A_LINE)
        )
        for text in drawn
    ]
    return list(zip(texts[:PAIRS], texts[PAIRS:]))


def read(path: Path) -> list[Pair]:
    with path.open(encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    return [(record["text"], record["reference"]) for record in records]


def raw_text(texts: list[str]) -> RawText:
    encoded = [text.encode() for text in texts]
    ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
    return RawText(np.frombuffer(b"".join(encoded), np.uint8), ends)


def scored(pairs: list[Pair], stemming: bool) -> Any:
    """ROUGE of all pairs as the measure computes it, from strings."""
    options = rouge.Options(stemming=stemming)
    own, other, *_ = rouge.needs(options)
    texts, references = (list(side) for side in zip(*pairs))
    tokenize = words.get("rouge")
    layers = {own: tokenize(texts), other: tokenize(references)}
    raws = {None: raw_text(texts), options.to: raw_text(references)}
    sample = Sample(np.zeros(len(pairs), np.int64), layers, raws)
    return rouge.rows(sample, options, Work()).scores


def clock(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def compared(name: str, pairs: list[Pair]) -> Iterator[str]:
    for stemming in (False, True):
        scorer = RougeScorer(list(PEER.values()), use_stemmer=stemming)
        some = pairs[:: max(len(pairs) // PEER_PAIRS, 1)]
        theirs, expected = clock(lambda: [scorer.score(b, a) for a, b in some])  # noqa: B023
        scored(some, stemming)
        ours, found = clock(lambda: scored(pairs, stemming))  # noqa: B023
        step = max(len(pairs) // PEER_PAIRS, 1)
        worst = max(
            abs(found[own][number * step] - score[peer].fmeasure)
            for number, score in enumerate(expected)
            for own, peer in PEER.items()
        )
        each, their_each = 1e6 * ours / len(pairs), 1e6 * theirs / len(some)
        yield (
            f"| {name} | {len(pairs):,} | {'yes' if stemming else 'no'} | {their_each:,.0f} "
            f"| {each:,.1f} | {their_each / each:,.0f} | {worst:.0e} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("files", nargs="*", type=Path)
    files = parser.parse_args().files
    print(
        "| texts | pairs | stems | rouge-score, µs a pair | rote, µs | ratio | largest difference |"
    )
    print("|---|---|---|---|---|---|---|")
    sets = [(f"{n} words", lambda n=n: made_up(n)) for n in (20, 60, 200)]
    for name, load in [(path.stem, lambda path=path: read(path)) for path in files] or sets:
        for line in compared(name, load()):
            print(line, flush=True)


if __name__ == "__main__":
    main()
