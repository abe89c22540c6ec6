"""What an engine costs: the same corpus annotated by one process, several, and Spark's executors.

    python benchmarks/engines.py [--megabytes 100] [--jobs 2] [--layers lower] [--times 2] [FILE]

Each core gets so many megabytes of text: verses of the Bible, or the texts of FILE, again and again
until there is enough. Seconds are the least of several runs on the wall, taken in turn, and the
median of the processors: of all processes at work (on Linux), which a busy machine does not
change. The start of Java is left out. What is lost to Spark is told against processes that start
with the command, as they do in use, and against processes that are there already, as Spark's are.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import count
from pathlib import Path
from statistics import median

from rote.annotate import annotators, store
from rote.core.errors import RoteError
from rote.core.progress import Silent
from rote.corpus import open_corpus
from rote.run import get
from rote.run.processes import keep_processes

WARM = "processes that had started"


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


def processor_seconds() -> float:
    """Of this process and all that descend from it, those that have ended included."""
    found: dict[int, tuple[int, int]] = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = place.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue  # it has just ended
        found[int(place.parent.name)] = (int(fields[1]), sum(map(int, fields[11:15])))
    ours, more = {os.getpid()}, {os.getpid()}
    while more:
        more = {process for process, (parent, _) in found.items() if parent in more}
        ours |= more
    ticks = sum(ticks for process, (_, ticks) in found.items() if process in ours)
    return ticks / os.sysconf("SC_CLK_TCK")


def seconds(
    corpus: Path, engine: str, layers: tuple[str, ...], jobs: int
) -> tuple[float, float, int]:
    """On the wall, of the processors, and how many words there are."""
    with tempfile.TemporaryDirectory() as folder:
        rote, before, start = annotators.get("rote"), processor_seconds(), time.perf_counter()
        made, _ = store.annotate(
            open_corpus([corpus]),
            Path(folder) / "store",
            rote,
            layers,
            jobs=jobs,
            engine=engine,
            reporter=Silent(),
        )
        return time.perf_counter() - start, processor_seconds() - before, made.words


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", nargs="?", default="bible:kjv")
    parser.add_argument("--megabytes", type=float, default=100, help="of text for each core")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--layers", default="lower")
    parser.add_argument("--times", type=int, default=2)
    given = parser.parse_args()
    layers = tuple(given.layers.split(","))
    spark = f"spark:local-cluster[{given.jobs},1,2048]"
    ways = {"serial": "serial", "processes": "processes", WARM: "processes", spark: spark}
    with tempfile.TemporaryDirectory() as folder:
        path, small = Path(folder) / "corpus.jsonl", Path(folder) / "small.jsonl"
        write_corpus(path, given.source, round(given.megabytes * 1e6 * given.jobs))
        write_corpus(small, given.source, 9_000_000 * given.jobs)
        for engine in ways.values():
            start = time.perf_counter()
            try:
                get(engine, given.jobs)
            except RoteError as error:  # no pyspark, or no Java
                print(f"{engine}: {error}")
                return
            if engine == spark:
                print(f"Java and its executors start in {time.perf_counter() - start:.1f} s")
        runs: dict[str, list[tuple[float, float, int]]] = {way: [] for way in ways}
        # In turn: a machine may be slower for a while.
        for _ in range(given.times):
            for way, engine in ways.items():
                with keep_processes(given.jobs) if way == WARM else nullcontext():
                    seconds(small, engine, layers, given.jobs)  # kernels and Spark's workers start
                    runs[way].append(seconds(path, engine, layers, given.jobs))
    wall = {way: min(spent for spent, _, _ in own) for way, own in runs.items()}
    # A process that ends while it is counted makes one run say too little.
    processors = {way: median(spent for _, spent, _ in own) for way, own in runs.items()}
    for way, own in runs.items():
        words = own[0][2]
        print(
            f"{way:32} {words / wall[way]:10,.0f} words/s on the wall, "
            f"{words / processors[way]:10,.0f} a processor second "
            f"({wall[way]:.1f} s, {processors[way]:.1f} s; {words / 1e6:.1f} M words)",
            flush=True,
        )
    print("lost to Spark, the start of Java left out:")
    for kind, spent in (("wall", wall), ("processor", processors)):
        for other in ("processes", WARM):
            lost = 1 - spent[other] / spent[spark]
            print(f"  {lost:6.1%} of {kind} seconds against {given.jobs} {other}")


if __name__ == "__main__":
    main()
