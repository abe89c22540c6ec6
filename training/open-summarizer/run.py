# ruff: noqa: T201 - a command says what it does
"""Train all arms on one GPU, several at once, and write their summaries; goes on where it stopped.

    PYTHONPATH=src python training/open-summarizer/run.py build/summarizer --minutes 9 --out OUT

Arms: all pairs; D_2; as many at random; all but the neighbours of half of the test items; and the
first calibrated (BRIO) on some of all, or of D_2, with the settings that do best on pairs kept
apart. `--probe` says first how fast this machine is. Needs torch, transformers and tokenizers.
"""

from __future__ import annotations

import argparse
import gzip
import json
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
from work import Work

ARMS = ("all", "theta2", "random", "apart")
CALIBRATED = ("all", "theta2")
GRACE = 20
"""Seconds that a job has to stop in."""


def lacking(folder: Path, seeds: int) -> str:
    """What `prepare.py` did not make of what so many seeds need; nothing if all is there."""
    path = folder / "carried" / "subsets.npz"
    if not path.is_file():
        return f"{path} is not there: prepare.py makes it"
    held = set(np.load(path).files)
    made = next(n for n in range(len(held) + 1) if f"theta2-{n}" not in held)
    if 1 <= seeds <= made:
        return ""
    return f"--seeds {seeds}: {path} has subsets for {made} seeds (SEEDS in prepare.py)"


def jobs(seeds: int) -> dict[str, tuple[str, ...]]:
    """Each with those that it needs, in the order in which they are started."""
    found: dict[str, tuple[str, ...]] = {"base-0": (), "all-0": ("base-0",), "tune-0": ("all-0",)}
    found |= {f"base-{seed}": () for seed in range(seeds)}
    found |= {f"{arm}-{seed}": (f"base-{seed}",) for seed in range(seeds) for arm in ARMS}
    return found | {
        f"brio_{arm}-{seed}": (f"all-{seed}", "tune-0")
        for seed in range(seeds)
        for arm in CALIBRATED
    }


def probe(work: Work, number: int) -> None:
    """Updates and summaries a second, by one process, three and six at once, in turns of seconds
    that all of them begin together."""
    from quick import Updates

    loaded = work.random(0)
    one, plan = work.fitting("all-0", loaded, 2_000)
    began = [own.detach().clone() for own in loaded.model.parameters()]
    eager = Updates(loaded.model, one.loss, plan, work.device, True)
    if number == 0:
        eager.run(6e-4, 400, 0, 20)
        print(f"probe: loss after 20 updates {eager.mean_loss(1):.4f} eager", flush=True)
        eager.reset(began)
    try:
        made = Updates(loaded.model, one.loss, plan, work.device, work.eager)
    except RuntimeError as error:
        print(f"probe: nothing can be recorded here, take --eager: {error}", flush=True)
        made = eager
    if number == 0:
        made.run(6e-4, 400, 0, 20)
        print(f"probe: loss after 20 updates {made.mean_loss(1):.4f} recorded", flush=True)
    records = work._records()[:1_024]
    (work.folder / "texts" / f"ready-{number}").touch()
    while not (go := work.folder / "texts" / "go").exists():
        time.sleep(0.1)
    begin, each = float(go.read_text()), 2.0 if work.small else 8.0

    def updates(which: Updates) -> int:
        before = which.step = which.step % 1_000
        which.run(6e-4, 400, 0, which.step + (2 if work.small else 20))
        which.mean_loss(1)
        return which.step - before

    turns: list[tuple[str, int, Callable[[], int]]] = [
        *(("updates, recorded", count, lambda: updates(made)) for count in (1, 3, 6)),
        *(("updates, eager", count, lambda: updates(eager)) for count in (1, 6)),
        *(("summaries", c, lambda: len(work._written(loaded, records))) for c in (1, 6)),
    ]
    found = []
    for place, (name, count, act) in enumerate(turns):
        time.sleep(max(0.0, begin + place * each - time.time()))
        start, done = time.time(), 0
        while number < count and time.time() < begin + place * each + each - 1:
            done += act()
        if number < count:
            found.append([name, count, done / (time.time() - start)])
    (work.folder / "texts" / f"rates-{number}").write_text(json.dumps(found))


def quick_look(given: argparse.Namespace) -> None:
    """`--probe`: six processes at once."""
    texts = given.folder / "texts"
    texts.mkdir(exist_ok=True)

    def clear() -> None:
        for path in (*texts.glob("ready-*"), *texts.glob("rates-*"), texts / "go"):
            path.unlink(missing_ok=True)

    clear()
    count, began = 2 if given.small else 6, time.time()
    running = [_started(f"probe-{number}") for number in range(count)]
    while len(list(texts.glob("ready-*"))) < count and all(one.poll() is None for one in running):
        time.sleep(0.1)
    print(f"probe: {count} processes are ready after {time.time() - began:.0f} s", flush=True)
    (texts / "go").write_text(str(time.time() + 1))
    for one in running:
        one.wait()
    rates: dict[tuple[str, int], float] = Counter()
    for path in texts.glob("rates-*"):
        for name, several, rate in json.loads(path.read_text()):
            rates[name, several] += rate
    for (name, several), rate in sorted(rates.items()):
        print(f"probe: {name}, {several} processes: {rate:.1f} a second in all", flush=True)
    for name in ("updates, recorded", "updates, eager"):
        best = max((rate for (own, _), rate in rates.items() if own == name), default=0.0)
        if best:
            every = given.seeds * (1_100 + len(ARMS) * 1_900)
            print(f"probe: {name}: all {every:,} take {every / best / 60:.1f} minutes", flush=True)
    clear()


def _started(job: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, __file__, *sys.argv[1:], "--job", job])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--minutes", type=float, default=9.0)
    parser.add_argument("--workers", type=int, default=6)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--job", default="")
    parser.add_argument("--eager", action="store_true", help="record nothing (no CUDA graphs)")
    parser.add_argument("--probe", action="store_true", help="how fast is this machine?")
    parser.add_argument("--small", action="store_true", help="a trial of every part")
    given = parser.parse_args()
    if given.job:
        work = Work(given.folder, given.device, given.small, given.eager)
        kind, _, number = given.job.partition("-")
        if kind == "probe":
            probe(work, int(number))
        else:
            work.do(given.job)
        return
    if problem := lacking(given.folder, given.seeds):
        parser.error(problem)
    if given.probe:
        quick_look(given)
        return
    began, running, wanted = time.time(), {}, jobs(given.seeds)
    end, texts, failed = began + 60 * given.minutes, given.folder / "texts", Counter[str]()

    def done(name: str) -> bool:
        return (texts / f"{name}.json").exists()

    def said(name: str) -> str:
        held = json.loads((texts / f"{name}.json").read_text())
        shown = (f"{key} {held[key]:.4g}" for key in ("loss", "kept", "seconds") if key in held)
        return f"{time.time() - began:4.0f} s  {name}: {', '.join(shown)}"

    while time.time() < end:
        for name in [n for n, one in running.items() if one.poll() is not None]:
            code = running.pop(name).returncode
            print(said(name) if done(name) else f"{name}: ended with {code}", flush=True)
            failed[name] += not done(name)
        ready = [
            n
            for n, needs in wanted.items()
            if n not in running and failed[n] < 2 and not done(n) and all(map(done, needs))
        ]
        if time.time() < end - GRACE:
            for name in ready[: given.workers - len(running)]:
                running[name] = _started(name)
        if not running:
            break
        time.sleep(0.2)
    for one in running.values():
        one.send_signal(signal.SIGTERM)
    while time.time() < end + GRACE and any(one.poll() is None for one in running.values()):
        time.sleep(0.2)
    for one in running.values():
        if one.poll() is None:
            one.kill()
            one.wait()
    left = [name for name in wanted if not done(name)]
    print(f"{len(wanted) - len(left)} of {len(wanted)} jobs are done; left: {left}", flush=True)
    if given.out:
        with gzip.open(given.out / "texts.jsonl.gz", "wb") as file:
            for path in sorted(texts.glob("*.jsonl")):
                file.write(path.read_bytes())
        accounts = [json.loads((texts / f"{n}.json").read_text()) for n in wanted if done(n)]
        (given.out / "jobs.json").write_text(json.dumps(accounts, indent=1))


if __name__ == "__main__":
    main()
