# ruff: noqa: T201 - a command says what it does
"""One job of `run.py`: a base, an arm, a calibration, or the choice of how to calibrate."""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from rote.models.hub_models import Loaded
from rote.models.training.objectives import PairTokens, Ragged
from rote.models.training.summarizer import (
    Searching,
    model_config,
    random_model,
    wrap_tokenizer,
    write,
)

BEAM = Searching(beams=4, max_tokens=48, longest=160)
CANDIDATES = {
    "diverse": Searching(candidates=16, diversity=1.0, max_tokens=48, longest=160),
    "likely": Searching(beams=16, candidates=16, max_tokens=48, longest=160),
}
SETTINGS = [
    {"candidates": made, "alpha": alpha, "rank_weight": rank, "reference_weight": own, "rate": rate}
    for made, alpha, rank, own, rate in (
        ("diverse", 1.0, 10.0, 0.1, 3e-6),
        ("diverse", 1.0, 10.0, 0.1, 1e-5),
        ("diverse", 1.0, 1.0, 1.0, 3e-6),
        ("diverse", 1.0, 1.0, 1.0, 1e-5),
        ("diverse", 1.0, 0.1, 1.0, 1e-5),
        ("diverse", 0.6, 10.0, 0.1, 3e-6),
        ("likely", 1.0, 10.0, 0.1, 3e-6),
        ("likely", 1.0, 10.0, 0.1, 1e-5),
        ("likely", 1.0, 1.0, 1.0, 1e-5),
        ("likely", 1.0, 1.0, 1.0, 3e-5),
        ("likely", 0.6, 10.0, 0.1, 3e-6),
    )
]
"""How to calibrate; alpha 1 is the power of the length that the search for summaries has."""
PAD, START, ITEMS = 1, 2, 16
LOOKS, SAVED = 100, 600
"""Updates between two looks at whether to stop, and between two checkpoints."""


class Work:
    """What one job reads and writes."""

    def __init__(self, folder: Path, device: str, small: bool, eager: bool) -> None:
        import torch
        from tokenizers import Tokenizer

        torch.backends.cuda.matmul.allow_tf32 = True
        torch.set_num_threads(2)
        self.folder, self.device, self.small, self.eager = folder, device, small, eager
        self.carried, self.stopped = folder / "carried", False
        self.read: dict[str, PairTokens] = {}
        self.ranked: dict[tuple[str, str], tuple[PairTokens, Ragged]] = {}
        made = Tokenizer.from_file(str(self.carried / "tokenizer.json"))
        self.tokenizer = wrap_tokenizer(made, 512)
        (folder / "models").mkdir(exist_ok=True)
        (folder / "texts").mkdir(exist_ok=True)
        signal.signal(signal.SIGTERM, self._stop)

    def _stop(self, *_: Any) -> None:
        self.stopped = True

    def random(self, seed: int) -> Loaded:
        return random_model(
            model_config("tiny" if self.small else "small"), self.tokenizer, seed, self.device
        )

    def opened(self, name: str) -> Loaded:
        import torch

        loaded = self.random(0)
        path = self.folder / "models" / f"{name}.pt"
        held = torch.load(path, map_location=self.device, weights_only=True)
        loaded.model.load_state_dict(held)
        return loaded

    def tokens(self, name: str) -> PairTokens:
        if name in self.read:
            return self.read[name]
        held = np.load(self.carried / f"{name}.npz")
        document, reference = (
            Ragged.from_arrays(held[f"{side}_flat"], held[f"{side}_lengths"], self.device)
            for side in ("document", "reference")
        )
        return self.read.setdefault(name, PairTokens(document, reference, PAD, START))

    def subset(self, name: str) -> np.ndarray:
        name = "all" if name.startswith("all-") else name
        return np.load(self.carried / "subsets.npz")[name].astype(np.int64)

    def fitting(self, job: str, loaded: Loaded, steps: int) -> tuple[Any, Any]:
        """What an arm or a base minimizes, and its updates."""
        from quick import Fitted

        tokens = self.tokens("base" if job.startswith("base-") else "train")
        rows = np.arange(len(tokens)) if job.startswith("base-") else self.subset(job)
        room = 2_048 if self.small else 24_576
        one = Fitted(loaded.model, tokens, rows, room, 0.1, self.device)
        return one, one.plan(int(job.partition("-")[2]), steps)

    def do(self, job: str) -> None:
        kind, _, number = job.partition("-")
        seed, began = int(number), time.time()
        account: dict[str, Any] = {"job": job}
        if kind == "tune":
            account |= self._tuned()
        else:
            if kind.startswith("brio_"):
                loaded = self.opened(f"all-{seed}")
                held = json.loads((self.folder / "texts" / "tune-0.json").read_text())
                account |= held["chosen"]
                account["loss"] = self._calibrate(loaded, f"{kind[5:]}-{seed}", held["chosen"])
            else:
                loaded = self.random(seed) if kind == "base" else self.opened(f"base-{seed}")
                account["loss"] = self._fit(loaded, job)
            account["train_seconds"] = time.time() - began
            if kind != "base":
                account["kept"] = self._summaries(loaded, job)
            self._save(loaded, job)
        account["seconds"] = time.time() - began
        _replace(self.folder / "texts" / f"{job}.json", json.dumps(account))
        (self.folder / "models" / f"{job}.checkpoint").unlink(missing_ok=True)

    def _save(self, loaded: Loaded, job: str) -> None:
        import torch

        path = self.folder / "models" / f"{job}.pt"
        torch.save(loaded.model.state_dict(), f"{path}.half")
        os.replace(f"{path}.half", path)

    def _fit(self, loaded: Loaded, job: str) -> float:
        from quick import Updates

        base = job.startswith("base-")
        steps = 6 if self.small else 1_100 if base else 1_900
        one, plan = self.fitting(job, loaded, steps)
        made = Updates(loaded.model, one.loss, plan, self.device, self.eager)
        path = self.folder / "models" / f"{job}.checkpoint"
        if path.exists():
            made.load(path)
        seed, warmup = int(job.partition("-")[2]), min(400, steps // 2)
        while made.step < steps:
            made.run(1e-3 if base else 6e-4, warmup, seed, min(steps, made.step + LOOKS))
            made.mean_loss()
            if self.stopped or made.step % SAVED == 0 or made.step == steps:
                made.save(path)
            if self.stopped:
                raise SystemExit(f"{job}: stopped after update {made.step}")
        return made.mean_loss()

    def _calibrate(self, loaded: Loaded, which: str, how: dict[str, Any]) -> float:
        """The model after one epoch of BRIO; `which` names arm and seed of the pairs."""
        from quick import Calibrated, Updates

        tokens, candidates = self._ranked(loaded, f"calibrate_{which}", how["candidates"])
        weights = {name: how[name] for name in ("alpha", "rank_weight", "reference_weight")}
        one = Calibrated(
            loaded.model,
            tokens,
            candidates,
            16,
            4 if self.small else ITEMS,
            margin=0.001,
            smoothing=0.1,
            device=self.device,
            **weights,
        )
        seed, steps = int(which.partition("-")[2]), len(tokens) // one.items
        plan = one.plan(seed, steps)
        made = Updates(loaded.model, one.loss, plan, self.device, self.eager)
        made.run(how["rate"], min(20, steps // 2), seed, steps)
        return made.mean_loss()

    def _tuned(self) -> dict[str, Any]:
        """Every setting on the first seed, by ROUGE of pairs that no arm is trained on."""
        loaded = self.opened("all-0")
        held = {name: own.clone() for name, own in loaded.model.state_dict().items()}
        records = [one for one in self._records() if one["set"] == "kept"]
        none = self._quality(records, self._written(loaded, records))
        print(f"tune: {100 * none:.2f} before", flush=True)
        rows = []
        for how in SETTINGS[::6] if self.small else SETTINGS:
            loaded.model.load_state_dict(held)
            loss = self._calibrate(loaded, "all-0", how)
            kept = self._quality(records, self._written(loaded, records))
            rows.append({**how, "loss": loss, "kept": kept})
            print(f"tune: {100 * kept:.2f} with {how}", flush=True)
        best = max(rows, key=lambda row: row["kept"])
        return {
            "before": none,
            "settings": rows,
            "chosen": {name: best[name] for name in SETTINGS[0]},
        }

    def _records(self) -> list[dict[str, Any]]:
        with gzip.open(self.carried / "documents.jsonl.gz", "rb") as lines:
            found = [json.loads(line) for line in lines]
        return found[:: len(found) // 24] if self.small else found

    def _written(self, loaded: Loaded, records: list[dict[str, Any]]) -> list[str]:
        documents = [one["document"] for one in records]
        return [own[0] for own in self._searched(loaded, documents, BEAM, 1_024)]

    def _searched(
        self, loaded: Loaded, documents: list[str], how: Searching, size: int
    ) -> list[list[str]]:
        """Documents of like length together."""
        loaded.model.eval()
        order = sorted(range(len(documents)), key=lambda i: -len(documents[i]))
        found: list[list[str]] = [[] for _ in order]
        for first in range(0, len(order), size):
            some = order[first : first + size]
            for i, own in zip(some, write(loaded, [documents[i] for i in some], how)):
                found[i] = [one.text for one in own]
        return found

    def _summaries(self, loaded: Loaded, job: str) -> float:
        records = self._records()
        arm, _, seed = job.partition("-")
        texts = self._written(loaded, records)
        lines = [
            json.dumps(
                {
                    "id": record["id"],
                    "set": record["set"],
                    "source": arm,
                    "seed": int(seed),
                    "text": text,
                },
                ensure_ascii=False,
            )
            for record, text in zip(records, texts)
        ]
        _replace(self.folder / "texts" / f"{job}.jsonl", "\n".join([*lines, ""]))
        kept = [(one, text) for one, text in zip(records, texts) if one["set"] == "kept"]
        return self._quality([one for one, _ in kept], [text for _, text in kept])

    def _quality(self, records: list[dict[str, Any]], texts: list[str]) -> float:
        pairs = [quality(text, one["reference"]) for one, text in zip(records, texts)]
        return float(np.mean(pairs))

    def _ranked(self, loaded: Loaded, name: str, how: str) -> tuple[PairTokens, Ragged]:
        """Some training pairs and their candidates, the best first."""
        if (name, how) in self.ranked:
            return self.ranked[name, how]
        tokens, rows = self.tokens("train"), self.subset(name)[: 8 if self.small else None]
        path = self.folder / "texts" / f"{name}.{how}"
        texts = [self._text(side, rows) for side in (tokens.documents, tokens.references)]
        if not path.exists():
            made = self._searched(loaded, texts[0], CANDIDATES[how], 256)
            _replace(path, json.dumps(made))
        ranked = [
            sorted(own, key=lambda text: -quality(text, reference))
            for own, reference in zip(json.loads(path.read_text("utf-8")), texts[1])
        ]
        flat = self.tokenizer([t for own in ranked for t in own], add_special_tokens=False)
        encoded = [[*row[:47], START] for row in flat["input_ids"]]
        chosen = [self._rows(side, rows) for side in (tokens.documents, tokens.references)]
        own = PairTokens(*(Ragged.of(some, 2**14, self.device) for some in chosen), PAD, START)
        found = own, Ragged.of(encoded, 2**14, self.device)
        return self.ranked.setdefault((name, how), found)

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


def _replace(path: Path, text: str) -> None:
    half = path.with_name(f"{path.name}.half")
    half.write_text(text, "utf-8")
    os.replace(half, path)
