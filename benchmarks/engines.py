"""What an engine costs: the same corpus annotated by one process, several, and Spark's executors.

    python benchmarks/engines.py [--megabytes 100] [--jobs 2] [--layers lower] [--times 2] [FILE]

Each core gets so many megabytes of text: verses of the Bible, or the texts of FILE, again and again
until there is enough. Times are on the wall, the least of several, without the start of Java; the
share lost is that of Spark against as many processes of this machine.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from rote.annotate import annotators, store
from rote.core.errors import RoteError
from rote.core.progress import Silent
from rote.corpus import open_corpus
from rote.run import get


def texts(source: str) -> Iterator[dict[str, str]]:
    for turn in count():
        for document in open_corpus([source]):
            yield {"id": f"{turn}-{document.id}", "text": document.text}


def write_corpus(path: Path, source: str, size: int) -> None:
    written = 0
    with path.open("w", encoding="utf-8") as file:
        for record in texts(source):
            written += file.write(json.dumps(record, ensure_ascii=False) + "\n")
            if written >= size:
                return


def seconds(corpus: Path, engine: str, layers: tuple[str, ...], jobs: int) -> tuple[float, int]:
    with tempfile.TemporaryDirectory() as folder:
        rote, start = annotators.get("rote"), time.perf_counter()
        made, _ = store.annotate(
            open_corpus([corpus]), Path(folder) / "store", rote, layers,
            jobs=jobs, engine=engine, reporter=Silent(),
        )  # fmt: skip
        return time.perf_counter() - start, made.words


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", nargs="?", default="bible:kjv")
    parser.add_argument("--megabytes", type=float, default=100, help="of text for each core")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--layers", default="lower")
    parser.add_argument("--times", type=int, default=2)
    given = parser.parse_args()
    layers = tuple(given.layers.split(","))
    engines = ["serial", "processes", f"spark:local-cluster[{given.jobs},1,2048]"]
    with tempfile.TemporaryDirectory() as folder:
        path, small = Path(folder) / "corpus.jsonl", Path(folder) / "small.jsonl"
        write_corpus(path, given.source, round(given.megabytes * 1e6 * given.jobs))
        write_corpus(small, given.source, 9_000_000 * given.jobs)
        least: dict[str, float] = {}
        words = 0
        for engine in engines:
            try:
                get(engine, given.jobs)
            except RoteError as error:  # no pyspark, or no Java
                print(f"{engine}: {error}")
                return
            started, _ = seconds(small, engine, layers, given.jobs)  # kernels and workers start
            for _ in range(given.times):
                spent, words = seconds(path, engine, layers, given.jobs)
                # Processes start anew for every command; Spark's stay.
                least[engine] = min(spent, least.get(engine, spent))
            print(
                f"{engine:32} {least[engine]:8.1f} s {words / least[engine]:12,.0f} words/s"
                f" {words / 1e6:8.1f} million words (small one: {started:.1f} s)",
                flush=True,
            )
    lost = 1 - least["processes"] / least[engines[2]]
    print(f"lost to Spark against {given.jobs} processes: {lost:.1%}")


if __name__ == "__main__":
    main()
