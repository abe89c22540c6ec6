"""Whether verdicts hold: the same whatever the seed, and seldom one where nothing differs.

    python benchmarks/seeds.py                                    the bundled answers, ten seeds
    python benchmarks/seeds.py FILE... --by source --reference human --seeds 10
    python benchmarks/seeds.py --null 500 FILE --where is_human=True --texts 40 --times 4

The first two print the verdicts of every aspect and pair of sources that are not the same with all
seeds. A verdict may turn to or from borderline, never otherwise: the exit status says so.

--null splits the texts of one kind of writer into two sources at random, again and again, and
counts in how many splits any verdict of the family is a difference; 5 % is what the correction
promises. With --times 4 the texts of one source are cut to a quarter, at a random place.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import rote
from rote.corpus import ReadOptions, open_corpus
from rote.report.verdicts import verdicts

Verdict = tuple[str, str, str]
"""Aspect, source and the one that it is compared with."""


def states(results: Sequence[Any]) -> dict[Verdict, str]:
    """The direction of each difference, or why there is none."""
    found = {}
    for facet in verdicts(results):
        for aspect in facet.aspects:
            for one in aspect.comparisons:
                state = one.direction if one.state == "differs" else one.state
                found[f"{facet.title} {aspect.name}".strip(), one.source, one.reference] = state
    return found


def compare_seeds(args: argparse.Namespace) -> int:
    how = {"by": args.by, "reference": args.reference, "jobs": args.jobs}
    runs, turned = [], 0
    for seed in range(args.seeds):
        began = time.perf_counter()
        runs.append(states(rote.diversity(args.inputs, seed=seed, **how)))
        print(f"seed {seed}: {time.perf_counter() - began:.0f} s", file=sys.stderr)
        turned = report_turned(runs)
    return turned


def report_turned(runs: Sequence[dict[Verdict, str]]) -> int:
    """Print what turns so far."""
    turned = borderline = 0
    for verdict in runs[0]:
        own = [run.get(verdict, "missing") for run in runs]
        if len(set(own)) > 1:
            print(" | ".join(verdict), *own, sep="\n  ")
            turned += len(set(own) - {"borderline"}) > 1
            borderline += len(set(own) - {"borderline"}) == 1
    print(
        f"{len(runs[0])} verdicts, {len(runs)} seeds: {turned} turn, {borderline} turn to or from "
        "borderline",
        flush=True,
    )
    return turned


def null_splits(args: argparse.Namespace) -> Iterator[tuple[int, dict[Verdict, str]]]:
    corpus = open_corpus(args.inputs, ReadOptions(where=tuple(args.where)))
    texts = [document.text for document in corpus]
    for number in range(args.null):
        rng = np.random.default_rng([number, 7])
        chosen = rng.permutation(len(texts))[: 2 * args.texts]
        halves = [[texts[n] for n in half] for half in np.array_split(chosen, 2)]
        if args.times > 1:
            halves[1] = [cut(text, args.times, rng) for text in halves[1]]
        sources = {"one": halves[0], "other": halves[1]}
        found = rote.diversity(sources, reference="one", seed=number, jobs=args.jobs)
        yield number, states(found)


def cut(text: str, times: int, rng: np.random.Generator) -> str:
    words = text.split(" ")
    size = max(1, len(words) // times)
    first = int(rng.integers(0, len(words) - size + 1))
    return " ".join(words[first : first + size])


def count_false_alarms(args: argparse.Namespace) -> None:
    alarms, by_aspect, splits = 0, dict[str, int](), 0
    for _, found in null_splits(args):
        splits += 1
        differing = [verdict[0] for verdict, state in found.items() if state.startswith("more")]
        differing += [v[0] for v, state in found.items() if state == "differs"]
        alarms += bool(differing)
        for aspect in differing:
            by_aspect[aspect] = by_aspect.get(aspect, 0) + 1
        if splits % 10 == 0:
            print(f"{splits} splits: {alarms} with a verdict", file=sys.stderr)
    error = (0.05 * 0.95 / max(splits, 1)) ** 0.5
    print(f"{splits} splits: {alarms / max(splits, 1):.1%} with a verdict (5 % ± {error:.1%})")
    print(*(f"  {aspect}: {count}" for aspect, count in by_aspect.items()), sep="\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("inputs", nargs="*", default=["example:answers"])
    parser.add_argument("--by", default="source")
    parser.add_argument("--reference")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--null", type=int, default=0, metavar="SPLITS")
    parser.add_argument("--texts", type=int, default=40)
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--where", action="append", default=[])
    args = parser.parse_args()
    if args.inputs == ["example:answers"] and not args.null:
        args.reference = args.reference or "plain"
    if args.null:
        count_false_alarms(args)
        return 0
    return compare_seeds(args)


if __name__ == "__main__":
    sys.exit(main())
