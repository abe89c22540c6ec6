"""Whether verdicts hold: the same whatever the seed, and seldom one where nothing differs.

    python benchmarks/seeds.py                                    the bundled answers, ten seeds
    python benchmarks/seeds.py FILE... --by source --reference human --seeds 10
    python benchmarks/seeds.py --null 500 FILE --where is_human=True --texts 40 --times 4

The first two print the verdicts of every aspect and pair of sources that are not the same with all
seeds. A verdict may turn to or from borderline, never otherwise: the exit status says so.

--null splits the texts of one kind of writer into two sources at random, again and again, and
counts in how many splits any verdict of the family is a difference; 5 % is what the correction
promises. With --times 4 the texts of one source are cut to a quarter, at a random place.

Many processes can share the work: --first says with which seed or split a part begins, -o appends
one line of JSON for each of them, and --sum reads the lines of all parts:

    python benchmarks/seeds.py STORE --first 3 --seeds 1 -o part-3.jsonl --jobs 1
    python benchmarks/seeds.py --sum part-*.jsonl

FILE may be a store (`rote annotate FILE... -o STORE`), so that texts are annotated once; vectors of
sentences are in rote's cache. Intervals are left out: no verdict rests on them. --report takes the
aspects of the report, with templates and style, instead of those of the panel.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import rote
from rote.corpus import ReadOptions, open_corpus
from rote.report.verdicts import judge_facets

Verdict = tuple[str, str, str]
"""Aspect, source and the one that it is compared with."""
Run = dict[str, Any]
"""One seed or split: what was measured, its number, its verdicts and the seconds it took."""
REPORTED = (
    "lexical,syntactic,semantic,compression,self-repetition,homogenization,templates,style"
).split(",")


def judge(texts: Any, seed: int, args: argparse.Namespace, **how: Any) -> list[list[str]]:
    """Of each verdict its aspect, its two sources, and the direction or why there is none."""
    how |= {"seed": seed, "jobs": args.jobs, "interval": 0}
    results = (
        rote.report(texts, measures=REPORTED, **how).results
        if args.report
        else rote.diversity(texts, **how)
    )
    return [
        [
            f"{facet.title} {aspect.name}".strip(),
            comparison.source,
            comparison.reference,
            comparison.direction if comparison.state == "differs" else comparison.state,
        ]
        for facet in judge_facets(results)
        for aspect in facet.aspects
        for comparison in aspect.comparisons
    ]


def run_seeds(args: argparse.Namespace) -> Iterator[tuple[int, list[list[str]]]]:
    how = {"by": args.by, "reference": args.reference, "where": args.where}
    for seed in range(args.first, args.first + args.seeds):
        yield seed, judge(args.inputs, seed, args, **how)


def run_splits(args: argparse.Namespace) -> Iterator[tuple[int, list[list[str]]]]:
    corpus = open_corpus(args.inputs, ReadOptions(where=tuple(args.where)))
    texts = [document.text for document in corpus]
    for number in range(args.first, args.first + args.null):
        rng = np.random.default_rng([number, 7])
        chosen = rng.permutation(len(texts))[: 2 * args.texts]
        halves = [[texts[n] for n in half] for half in np.array_split(chosen, 2)]
        if args.times > 1:
            halves[1] = [cut(text, args.times, rng) for text in halves[1]]
        sources = {"a": halves[0], "b": halves[1]}
        yield number, judge(sources, number, args, reference="a")


def cut(text: str, times: int, rng: np.random.Generator) -> str:
    words = text.split(" ")
    size = max(1, len(words) // times)
    first = int(rng.integers(0, len(words) - size + 1))
    return " ".join(words[first : first + size])


def measure(args: argparse.Namespace) -> Iterator[Run]:
    """Every seed or split; appended to the output as soon as it is there."""
    names = [Path(name).name for name in args.inputs]
    study = ["null", args.texts, args.times] if args.null else ["seeds", args.by, args.reference]
    study += [*names, *args.where, *(["report"] if args.report else [])]
    began, wall = time.process_time(), time.perf_counter()
    for number, verdicts in run_splits(args) if args.null else run_seeds(args):
        seconds = time.process_time() - began
        run = {"study": study, "number": number, "seconds": seconds, "verdicts": verdicts}
        if args.output:
            with open(args.output, "a", encoding="utf-8") as file:
                file.write(json.dumps(run) + "\n")
        passed = time.perf_counter() - wall
        print(f"{number}: {seconds:.0f} s of processor time, {passed:.0f} s", file=sys.stderr)
        yield run
        began, wall = time.process_time(), time.perf_counter()


def read_parts(paths: Sequence[str]) -> Iterator[Run]:
    for path in paths:
        with open(path, encoding="utf-8") as file:
            yield from map(json.loads, file)


def report(runs: Sequence[Run]) -> int:
    """Print what turns, or how many false alarms there are; how many verdicts turn."""
    turned = 0
    for study in dict.fromkeys(json.dumps(run["study"]) for run in runs):
        # A part that was run twice counts once.
        parts = {run["number"]: run for run in runs if json.dumps(run["study"]) == study}
        print(*json.loads(study))
        runs_of_study = [parts[number] for number in sorted(parts)]
        if json.loads(study)[0] == "null":
            report_false_alarms(runs_of_study)
        else:
            turned += report_turned(runs_of_study)
    return turned


def report_turned(runs: Sequence[Run]) -> int:
    by_run = [{(*verdict[:3],): verdict[3] for verdict in run["verdicts"]} for run in runs]
    turned = to_borderline = 0
    for verdict in dict.fromkeys(verdict for states in by_run for verdict in states):
        states = [states.get(verdict, "missing") for states in by_run]
        if len(set(states)) > 1:
            print("  " + " | ".join(verdict), *states, sep="\n    ")
            turned += len(set(states) - {"borderline"}) > 1
            to_borderline += len(set(states) - {"borderline"}) == 1
    counts = Counter(state for states in by_run for state in states.values())
    print(
        f"{len(by_run[0])} verdicts, {len(runs)} seeds: {turned} turn, {to_borderline} turn to or "
        f"from borderline ({', '.join(f'{n} {state}' for state, n in counts.most_common())})"
    )
    return turned


def report_false_alarms(runs: Sequence[Run]) -> None:
    false_alarms = [
        [verdict[0] for verdict in run["verdicts"] if verdict[3].startswith(("more", "differs"))]
        for run in runs
    ]
    count = sum(map(bool, false_alarms))
    error = (0.05 * 0.95 / len(runs)) ** 0.5
    print(
        f"{count} of {len(runs)} splits with a verdict: {count / len(runs):.1%} (5 % ± {error:.1%})"
    )
    for aspect, number in Counter(name for names in false_alarms for name in names).most_common():
        print(f"  {aspect}: {number}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("inputs", nargs="*", default=["example:answers"])
    parser.add_argument("--by", default="source")
    parser.add_argument("--reference")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--null", type=int, default=0, metavar="SPLITS")
    parser.add_argument("--first", type=int, default=0, metavar="NUMBER")
    parser.add_argument("--texts", type=int, default=40)
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--where", action="append", default=[])
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("-o", "--output")
    parser.add_argument("--sum", action="store_true", help="inputs are the outputs of parts")
    args = parser.parse_args()
    if args.sum:
        return report(list(read_parts(args.inputs)))
    if args.inputs == ["example:answers"] and not args.null:
        args.reference = args.reference or "plain"
    return report(list(measure(args)))


if __name__ == "__main__":
    sys.exit(main())
