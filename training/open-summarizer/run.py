# ruff: noqa: T201 - a command says what it does
"""Train all arms on one GPU, several at once, and write their summaries; goes on where it stopped.

    PYTHONPATH=src python training/open-summarizer/run.py build/summarizer --minutes 9 --out OUT

Arms: all pairs; D_2; as many at random; all but the neighbours of half of the test items; and the
first calibrated (BRIO) on some of all, or of D_2. Needs torch, transformers, tokenizers and numpy.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from rote.core.progress import Silent
from rote.models.hub.computing import Loaded
from rote.models.training.loop import TrainOptions, train
from rote.models.training.objectives import Calibrating, Fitting
from rote.models.training.pairs import Ragged, Tokens
from rote.models.training.starting import random_model, shape_of, wrapped
from rote.models.training.writing import Searching, write

ARMS = ("all", "theta2", "random", "apart")
CALIBRATED = ("all", "theta2")
BEAM = Searching(beams=4, max_tokens=48, longest=160)
CANDIDATES = Searching(candidates=16, diversity=1.0, max_tokens=48, longest=160)
PAD, START = 1, 2


def jobs(seeds: int) -> dict[str, str]:
    """Each with the one that it needs, in the order in which they are started."""
    found = {f"base-{seed}": "" for seed in range(seeds)}
    found |= {f"{arm}-{seed}": f"base-{seed}" for seed in range(seeds) for arm in ARMS}
    return found | {
        f"brio_{arm}-{seed}": f"all-{seed}" for seed in range(seeds) for arm in CALIBRATED
    }


class Work:
    """What one job reads and writes."""

    def __init__(self, folder: Path, device: str, small: bool) -> None:
        import torch
        from tokenizers import Tokenizer

        torch.backends.cuda.matmul.allow_tf32 = True
        self.folder, self.device, self.small = folder, device, small
        self.carried = folder / "carried"
        made = Tokenizer.from_file(str(self.carried / "tokenizer.json"))
        self.tokenizer = wrapped(made, 512)
        (folder / "models").mkdir(exist_ok=True)
        (folder / "texts").mkdir(exist_ok=True)

    def random(self, seed: int) -> Loaded:
        return random_model(
            shape_of("tiny" if self.small else "small"), self.tokenizer, seed, self.device
        )

    def opened(self, name: str) -> Loaded:
        import transformers

        loaded = self.random(0)
        path = self.folder / "models" / name
        model = transformers.AutoModelForSeq2SeqLM.from_pretrained(path).to(self.device)
        return Loaded(model, self.tokenizer, self.device, name, loaded.longest, loaded.ends)

    def tokens(self, name: str) -> Tokens:
        held = np.load(self.carried / f"{name}.npz")
        document, reference = (
            Ragged.from_arrays(held[f"{side}_flat"], held[f"{side}_lengths"], self.device)
            for side in ("document", "reference")
        )
        return Tokens(document, reference, PAD, START)

    def subset(self, name: str, pairs: int) -> np.ndarray:
        if name.startswith("all-"):
            return np.arange(pairs)
        return np.load(self.carried / "subsets.npz")[name].astype(np.int64)

    def do(self, job: str) -> None:
        kind, _, number = job.partition("-")
        seed, folder, began = int(number), self.folder / "models" / job, time.time()
        settings = {"job": job}
        if kind.startswith("brio_"):
            loaded = self.opened(f"all-{seed}")
            objective: Any = self._ranked(loaded, kind, seed)
            how = TrainOptions(epochs=1 if self.small else 2, learning_rate=3e-5, warmup=20,
                               save_every=1000)  # fmt: skip
        else:
            base = kind == "base"
            loaded = self.random(seed) if base else self.opened(f"base-{seed}")
            tokens = self.tokens("base" if base else "train")
            rows = np.arange(len(tokens)) if base else self.subset(job, len(tokens))
            steps = (4 if self.small else 1_100) if base else (4 if self.small else 1_900)
            objective = Fitting(loaded, tokens, rows, 2_048 if self.small else 24_576, 0.1)
            how = TrainOptions(steps=steps, learning_rate=1e-3 if base else 6e-4,
                               warmup=min(400, steps // 2), save_every=400)  # fmt: skip
        made = train(loaded, objective, folder, how, seed, Silent(), settings=settings)
        trained = time.time() - began
        if kind != "base":
            self._summaries(loaded, job)
        account = {"job": job, "loss": float(np.mean(made["loss"][-50:])),
                   "updates": made["updates"], "train_seconds": trained,
                   "seconds": time.time() - began}  # fmt: skip
        (self.folder / "texts" / f"{job}.json").write_text(json.dumps(account))

    def _summaries(self, loaded: Loaded, job: str) -> None:
        with gzip.open(self.carried / "documents.jsonl.gz", "rb") as lines:
            records = [json.loads(line) for line in lines][: 20 if self.small else None]
        order = sorted(range(len(records)), key=lambda i: -len(records[i]["document"]))
        arm, _, seed = job.partition("-")
        made: dict[int, Any] = {}
        for first in range(0, len(order), 384):
            some = order[first : first + 384]
            texts = write(loaded, [records[i]["document"] for i in some], BEAM)
            made.update((i, own[0].text) for i, own in zip(some, texts))
        path = self.folder / "texts" / f"{job}.jsonl"
        with open(f"{path}.half", "w", encoding="utf-8") as file:
            for i, record in enumerate(records):
                own = {"id": record["id"], "set": record["set"], "source": arm, "seed": int(seed)}
                file.write(json.dumps({**own, "text": made[i]}, ensure_ascii=False) + "\n")
        os.replace(f"{path}.half", path)

    def _ranked(self, loaded: Loaded, kind: str, seed: int) -> Calibrating:
        """Candidates of some training pairs, the best first."""
        name = f"calibrate_{kind.removeprefix('brio_')}-{seed}"
        tokens, rows = self.tokens("train"), self.subset(name, 0)[: 8 if self.small else None]
        path = self.folder / "texts" / f"{name}.json"
        texts = [self._text(side, rows) for side in (tokens.documents, tokens.references)]
        if not path.exists():
            loaded.model.eval()
            found: list[list[str]] = []
            for first in range(0, len(rows), 96):
                some = write(loaded, texts[0][first : first + 96], CANDIDATES)
                found += [[one.text for one in own] for own in some]
            path.write_text(json.dumps(found))
        ranked = [
            sorted(own, key=lambda text: -quality(text, reference))
            for own, reference in zip(json.loads(path.read_text()), texts[1])
        ]
        flat = self.tokenizer([t for own in ranked for t in own], add_special_tokens=False)
        encoded = [[*row[:47], START] for row in flat["input_ids"]]
        chosen = [self._rows(side, rows) for side in (tokens.documents, tokens.references)]
        own = Tokens(*(Ragged.of(some, 2**14, self.device) for some in chosen), PAD, START)
        candidates = Ragged.of(encoded, 2**14, self.device)
        return Calibrating(loaded, own, candidates, 16, 16, margin=0.001, alpha=0.6)

    def _rows(self, side: Ragged, rows: np.ndarray) -> list[list[int]]:
        flat, starts, lengths = (
            one.cpu().numpy() for one in (side.flat, side.starts, side.lengths)
        )
        return [flat[starts[i] : starts[i] + lengths[i]].tolist() for i in rows]

    def _text(self, side: Ragged, rows: np.ndarray) -> list[str]:
        return [self.tokenizer.decode(row[:-1]) for row in self._rows(side, rows)]


def quality(text: str, reference: str) -> float:
    """The mean of ROUGE-1, 2 and L, as BRIO ranks; rote's own kernels need more than is here."""
    one, other = (re.findall(r"[a-z0-9]+", side.lower()) for side in (text, reference))
    if not one or not other:
        return 0.0

    def f(shared: int, a: int, b: int) -> float:
        return 2 * shared / (a + b) if shared else 0.0

    found = f((Counter(one) & Counter(other)).total(), len(one), len(other))
    pairs = [Counter(pairwise(side)) for side in (one, other)]
    found += f((pairs[0] & pairs[1]).total(), len(one) - 1, len(other) - 1)
    row = [0] * (len(other) + 1)
    for word in one:
        last = 0
        for place, same in enumerate(other, 1):
            last, row[place] = (
                row[place],
                last + 1 if word == same else max(row[place], row[place - 1]),
            )
    return (found + f(row[-1], len(one), len(other))) / 3


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--minutes", type=float, default=9.0)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--job", default="")
    parser.add_argument("--small", action="store_true", help="a trial of every part")
    given = parser.parse_args()
    if given.job:
        Work(given.folder, given.device, given.small).do(given.job)
        return
    end, running, wanted = time.time() + 60 * given.minutes, {}, jobs(given.seeds)
    texts = given.folder / "texts"
    failed: set[str] = set()

    def done(name: str) -> bool:
        return (texts / f"{name}.json").exists()

    while time.time() < end:
        for name in [n for n, one in running.items() if one.poll() is not None]:
            code = running.pop(name).returncode
            print(f"{name}: {'done' if done(name) else f'ended with {code}'}", flush=True)
            failed |= set() if done(name) else {name}
        ready = [n for n, needs in wanted.items() if n not in running and n not in failed
                 and not done(n) and (not needs or done(needs))]  # fmt: skip
        for name in ready[: given.workers - len(running)]:
            command = [sys.executable, __file__, *sys.argv[1:], "--job", name]
            running[name] = subprocess.Popen(command)
        if not running:
            break
        time.sleep(0.5)
    for one in running.values():
        one.send_signal(signal.SIGKILL)
        one.wait()
    left = [name for name in wanted if not done(name)]
    print(f"{len(wanted) - len(left)} of {len(wanted)} jobs are done; left: {left}", flush=True)
    if given.out:
        with gzip.open(given.out / "texts.jsonl.gz", "wb") as file:
            for path in sorted(texts.glob("*.jsonl")):
                file.write(path.read_bytes())
        accounts = [json.loads(path.read_text()) for path in sorted(texts.glob("*-*.json"))
                    if not path.name.startswith("calibrate_")]  # fmt: skip
        (given.out / "jobs.json").write_text(json.dumps(accounts, indent=1))


if __name__ == "__main__":
    main()
