"""How long people wait: commands as users call them, stage by stage.

    python benchmarks/waiting.py TEXTS --by source --reference human    texts of several sources
    python benchmarks/waiting.py --texts 100000                         short texts made for it
    python benchmarks/waiting.py TEXTS ... --only lexical,diversity     some of the commands

Every command runs in a process of its own, as from the shell, twice: kernels compile in the first
run, the second one counts. Wall and processor seconds are those of all its processes, peak memory
that of the largest. A stage's seconds are its own, without those of stages inside it; `rest` is
what no stage covers: starting, importing, tables. Load on the machine shows in wall seconds first.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

MEASURES = (
    *("lexical", "self-repetition", "compression", "compression --layer pos", "templates"),
    *("homogenization", "syntactic", "semantic"),
)
COMMANDS = (*MEASURES, "diversity", "report", "demo")
STAGES = ("reading", "counting", "embedding", "values", "intervals", "equal sizes", "tests")
SHORT = 280
"""Words of a text that is made here."""


def run(command: str, texts: list[str], folder: Path) -> dict[str, Any]:
    """One command, in a process of its own: its stages and what it took in all."""
    name, *given = command.split()
    out = folder / "found.json"
    arguments = {
        "demo": ["demo", "-o", str(folder / "demo")],
        "report": ["report", *texts, "-o", str(folder / "report.html")],
    }.get(name, [name, *given, *texts])
    began = time.perf_counter()
    child = subprocess.run(
        [sys.executable, __file__, "--child", str(out), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=folder,
    )
    wall = time.perf_counter() - began
    if child.returncode:
        raise SystemExit(f"rote {' '.join(arguments)} failed:\n{child.stdout[-3000:]}")
    return json.loads(out.read_text()) | {"wall": wall}


def child(out: Path, arguments: list[str]) -> None:
    """Runs a command of rote with a reporter that keeps time."""
    from rote.cli._progress import TerminalReporter
    from rote.cli.main import main

    wall: dict[str, float] = defaultdict(float)
    processor: dict[str, float] = defaultdict(float)
    inside = ["rest"]
    last = [time.perf_counter(), _processor()]

    def charge() -> None:
        """What passed since the last call goes to the stage that was running."""
        now = [time.perf_counter(), _processor()]
        wall[inside[-1]] += now[0] - last[0]
        processor[inside[-1]] += now[1] - last[1]
        last[:] = now

    @contextmanager
    def stage(self: Any, title: str, total: float | None, unit: str = "") -> Iterator[Any]:
        charge()
        inside.append(title.rsplit(": ", 1)[-1])
        try:
            yield lambda amount: None
        finally:
            charge()
            inside.pop()

    TerminalReporter.stage = stage  # type: ignore[method-assign]
    sys.argv = ["rote", *arguments]
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise
    charge()
    memory = max(resource.getrusage(who).ru_maxrss for who in _PROCESSES)
    found = {"stages": wall, "processor": processor, "memory": memory / 2**20}
    out.write_text(json.dumps(found))


_PROCESSES = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)


def _processor() -> float:
    used = [resource.getrusage(who) for who in _PROCESSES]
    return sum(of.ru_utime + of.ru_stime for of in used)


def made(path: Path, texts: int) -> None:
    """Short texts of three sources, words drawn by Zipf's law and phrases of a source's own."""
    rng = random.Random(0)
    words = [
        "".join(
            rng.choices("bcdfghklmnprst", k=1)[0] + rng.choice("aeiou") for _ in range(1 + n % 4)
        )
        for n in range(30_000)
    ]
    weights = [1 / (rank + 3) for rank in range(len(words))]
    phrases = {s: [rng.choices(words, k=6) for _ in range(50)] for s in ("human", "one", "two")}
    with path.open("w") as file:
        for number in range(texts):
            source = ("human", "one", "two")[number % 3]
            drawn = rng.choices(words, weights, k=SHORT)
            for place in range(10, SHORT - 10, {"human": 90, "one": 45, "two": 30}[source]):
                drawn[place : place + 6] = rng.choice(phrases[source])
            for place in range(11, SHORT, 12):
                drawn[place] += "."
            record = {
                "id": str(number),
                "source": source,
                "doc_id": str(number // 3),
                "text": " ".join(drawn),
            }
            file.write(json.dumps(record) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("inputs", nargs="*", help="texts, as for `rote diversity`")
    parser.add_argument("--by", default="source")
    parser.add_argument("--reference", default="human")
    parser.add_argument("--texts", type=int, default=1_440, help="texts made where none are given")
    parser.add_argument("--only", default=",".join(COMMANDS), help="some of the commands")
    parser.add_argument("--stages", action="store_true", help="name the other stages below")
    parser.add_argument("--once", action="store_true", help="no first run: kernels are compiled")
    options = parser.parse_args()
    names = options.only.split(",")
    if unknown := set(names) - set(COMMANDS):
        parser.error(f"{', '.join(unknown)}: choose from {', '.join(COMMANDS)}")
    with tempfile.TemporaryDirectory() as kept:
        folder = Path(kept)
        inputs = [str(Path(path).resolve()) for path in options.inputs]
        if not inputs:
            inputs = [str(folder / "made.jsonl")]
            made(Path(inputs[0]), options.texts)
        texts = [*inputs, "--by", options.by, "--reference", options.reference]
        titles = (*STAGES, "other stages", "rest")
        print(f"load {os.getloadavg()[0]:.1f}; processor seconds by stage", flush=True)
        print(f"| command | wall s | processor s | memory GiB | {' | '.join(titles)} |")
        print("|---|" + "---|" * (len(titles) + 3), flush=True)
        for command in names:
            if not options.once:
                run(command, texts, folder)
            found = run(command, texts, folder)
            own = found["processor"]
            others = sum(seconds for title, seconds in own.items() if title not in titles)
            by_stage = {**own, "other stages": others}
            cells = (f"{by_stage.get(title, 0.0):.1f}" for title in titles)
            print(
                f"| {command} | {found['wall']:.1f} | {sum(own.values()):.1f} "
                f"| {found['memory']:.2f} | {' | '.join(cells)} |",
                flush=True,
            )
            if options.stages:
                for title, seconds in sorted(own.items(), key=lambda one: -one[1]):
                    if title not in titles:
                        print(f"    {seconds:7.1f}  {title}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(Path(sys.argv[2]), sys.argv[3:])
    else:
        main()
