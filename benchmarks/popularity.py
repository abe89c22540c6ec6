"""Time of popularity scores against counting one n-gram after another, same index, same items.

    python benchmarks/popularity.py IDX ITEMS... [-n 4] [--count 10000]

The peer is the definition in plain Python: each different n-gram of the task is asked for by itself
(`Index.count`), deciles by sorting, means by dictionaries. Seconds are processor seconds on one
core, from texts to scores, cutting included on both sides; compiled kernels are loaded before the
clock starts. The peer runs on some of the items.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rote.corpus.items import Item, read_items
from rote.index.factory import open_index
from rote.search.backends import open_backend
from rote.studies._popularity_scores import score_popularity

PEER_ITEMS = 500


def plainly(index_path: str, items: Sequence[Item], n: int) -> list[float]:
    index = open_index(index_path)
    texts = [(item.task, text) for item in items for text in item.instances()]
    layer = index.layer_of([text for _, text in texts])
    found: list[float] = [math.nan] * len(texts)
    grams = []
    for number in range(len(texts)):
        words = layer.items(number)
        grams.append({tuple(words[i : i + n]) for i in range(len(words) - n + 1)})
    for task in {task for task, _ in texts}:
        own = [number for number, (name, _) in enumerate(texts) if name == task]
        counts = {gram: index.count(gram) for number in own for gram in grams[number]}
        ordered = sorted(counts.values())
        popularity: dict[int, int] = {}
        for place, value in enumerate(ordered):
            popularity.setdefault(value, 1 + 10 * place // len(ordered))
        for number in own:
            if grams[number]:
                total = sum(popularity[counts[gram]] for gram in grams[number])
                found[number] = total / len(grams[number])
    return found


def fast(index_path: str, items: Sequence[Item], n: int) -> list[float]:
    texts = [text for item in items for text in item.instances()]
    tasks = [item.task for item in items for _ in item.options]
    return score_popularity(texts, tasks, open_backend(index_path), n).ips.tolist()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("index")
    parser.add_argument("items", nargs="+", type=Path)
    parser.add_argument("-n", type=int, default=4)
    parser.add_argument("--count", type=int, default=10_000)
    asked = parser.parse_args()
    items = list(read_items(asked.items))[: asked.count]
    some = items[:: max(1, len(items) // PEER_ITEMS)]
    fast(asked.index, some[:5], asked.n)
    seconds = {}
    for name, function, own in (("rote", fast, items), ("plain", plainly, some)):
        started = time.process_time()
        found = function(asked.index, own, asked.n)
        seconds[name] = (time.process_time() - started) / len(own)
        print(f"{name:6} {len(own):7,} items {1e6 * seconds[name]:9.0f} us each")
        if name == "plain":
            same = np.allclose(found, fast(asked.index, some, asked.n), equal_nan=True)
            print(f"equal: {same}; {seconds['plain'] / seconds['rote']:.1f} times faster")


if __name__ == "__main__":
    main()
