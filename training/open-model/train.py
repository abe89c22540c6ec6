# ruff: noqa: T201 - a command says what it does
"""Train the decoder; needs torch and safetensors, a GPU for the whole of it, nothing of rote.

    python training/open-model/train.py build/open-model/bible/tokens.npz OUT --passes 8

Documents follow each other, each after the end token, in an order drawn anew in every pass, and
are cut into blocks of the context's length; what does not fill a last batch is left out.
Checkpoints are kept at the last step, half of it, a quarter, ... and before the first.
`figures.json` holds what recall.py finds at each of them.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - as everywhere
from torch import Tensor

sys.path.insert(0, str(Path(__file__).parent))

from decoder import Decoder, Size, load, save
from recall import Texts, line, read, recall

BATCH = 32  # blocks
WARMUP = 100
DECAY = 0.1
LOWEST = 0.1  # of the highest rate, at the end


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tokens", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--passes", type=float, default=16)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=10, help="of the first weights and the order")
    parser.add_argument("--checkpoints", type=int, default=10)
    parser.add_argument("--steps", type=int, help="stop early: for trying")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    texts, model = read(args.tokens), Decoder(Size()).to(args.device)
    stream = torch.from_numpy(_stream(texts, args.passes, args.seed)).to(args.device)
    steps = (len(stream) - 1) // (BATCH * model.size.context)
    last = min(steps, args.steps or steps)
    kept = {last >> half for half in range(args.checkpoints - 1)} | {0}
    optimizer = _optimizer(model, args.rate)
    print(f"{sum(w.numel() for w in model.parameters()):,} weights, {steps:,} steps")
    found, began = {}, time.monotonic()
    for step in range(last + 1):
        if step in kept:
            name = f"step-{step:05d}"
            save(model, args.output / name)
            found[name] = {"step": step, "passes": step / steps * args.passes}
            # What was written is asked, not what is at hand: half precision is part of it.
            kept_model = load(args.output / name).to(args.device)
            found[name] |= recall(kept_model, texts, args.device)
            print(f"{time.monotonic() - began:6.0f} s {name}", line(found[name]), flush=True)
        if step < last:
            for group in optimizer.param_groups:
                group["lr"] = args.rate * _rate(step, steps)
            _step(model, optimizer, stream, step, args.device)
    written = json.dumps({"rate": args.rate, "seed": args.seed, "checkpoints": found}, indent=1)
    (args.output / "figures.json").write_text(written + "\n", encoding="utf-8")


def _stream(texts: Texts, passes: float, seed: int) -> np.ndarray:
    """All passes one after the other; a part of a pass at the end if `passes` is not whole."""
    places = np.repeat(np.arange(len(texts.ids)), texts.repeats)
    draw = np.random.default_rng(seed)
    ids = [np.concatenate([[0], one]).astype(np.int32) for one in texts.ids]
    shown = [ids[place] for _ in range(math.ceil(passes)) for place in draw.permutation(places)]
    once = sum(len(ids[place]) for place in places)
    return np.concatenate(shown)[: int(passes * once)]


def _optimizer(model: Decoder, rate: float) -> torch.optim.Optimizer:
    flat = [weight for weight in model.parameters() if weight.dim() < 2]
    deep = [weight for weight in model.parameters() if weight.dim() >= 2]
    groups = [{"params": deep, "weight_decay": DECAY}, {"params": flat, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.95))


def _rate(step: int, steps: int) -> float:
    """Up for the first steps, then down along a cosine."""
    warm = min(1.0, (step + 1) / WARMUP)
    return warm * (LOWEST + (1 - LOWEST) * (1 + math.cos(math.pi * step / steps)) / 2)


def _step(
    model: Decoder, optimizer: torch.optim.Optimizer, stream: Tensor, step: int, device: str
) -> None:
    span = BATCH * model.size.context
    here = stream[step * span : (step + 1) * span + 1].long()
    ids, targets = here[:-1].view(BATCH, -1), here[1:]
    with torch.autocast(device, torch.bfloat16):
        logits = model(ids)
    loss = F.cross_entropy(logits.float().flatten(0, 1), targets)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()


if __name__ == "__main__":
    main()
