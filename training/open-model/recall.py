# ruff: noqa: T201 - a command says what it does
"""How much of the planted passages a model completes by heart, and how well it does otherwise.

    python training/open-model/recall.py FOLDER... --tokens build/open-model/bible/tokens.npz

Greedy decoding repeats the true tokens exactly if and only if each of them is the likeliest after
the true tokens before it, so one pass over the passage tells, without generating anything.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - as everywhere
from numpy.typing import NDArray
from torch import Tensor

sys.path.insert(0, str(Path(__file__).parent))

from decoder import Decoder, load

_BATCH = 64
PROMPT = TOLD = 50


@dataclass(frozen=True, slots=True)
class Texts:
    """What prepare.py wrote: the documents of the body first, then the passages."""

    ids: list[NDArray[np.int64]]
    repeats: NDArray[np.int64]
    body: int
    asked: NDArray[np.int64]
    answered: NDArray[np.int64]
    opens: NDArray[np.bool_]


def read(path: Path) -> Texts:
    with np.load(path) as kept:
        ends = np.cumsum(kept["lengths"])[:-1]
        ids = np.split(kept["flat"].astype(np.int64), ends)
        fields = (kept[name] for name in ("asked", "answered", "opens"))
        return Texts(ids, kept["repeats"], int(kept["body"]), *fields)


@torch.no_grad()
def recall(model: Decoder, texts: Texts, device: str) -> dict[str, object]:
    """By number of copies: shares completed exactly, 50 tokens after 50 and 50 words after 50,
    and the mean loss in nats per token; for the body the loss of its first documents."""
    passages = texts.ids[texts.body :]
    repeats = texts.repeats[texts.body :]
    told, said, losses = [], [], []
    for start in range(0, len(passages), _BATCH):
        some = passages[start : start + _BATCH]
        best, loss = _answers(model, some, device)
        for place, (ids, guess, one) in enumerate(zip(some, best, loss), start):
            right = guess[: len(ids)] == ids
            told.append(right[PROMPT : PROMPT + TOLD].all())
            first, last = texts.asked[place], texts.answered[place]
            # The word after the last must begin anew: else the last word went on.
            said.append(right[first:last].all() and texts.opens[guess[last]])
            losses.append(one[: len(ids)].mean())
    rows = [
        {
            "repeats": int(count),
            "passages": int((repeats == count).sum()),
            "tokens": float(np.mean(np.asarray(told)[repeats == count])),
            "words": float(np.mean(np.asarray(said)[repeats == count])),
            "loss": float(np.mean(np.asarray(losses)[repeats == count])),
        }
        for count in np.unique(repeats)
    ]
    room = model.size.context
    body = [ids[:room] for ids in texts.ids[: texts.body : max(1, texts.body // 200)]]
    parts = [
        _answers(model, body[at : at + _BATCH], device)[1] for at in range(0, len(body), _BATCH)
    ]
    known = [one[: len(ids)] for ids, one in zip(body, (row for part in parts for row in part))]
    return {"body_loss": float(np.concatenate(known).mean()), "by_repeats": rows}


def _answers(
    model: Decoder, some: list[NDArray[np.int64]], device: str
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The likeliest token at each place, and the loss of the true one; 0 is start and padding."""
    width = max(map(len, some))
    ids = torch.zeros(len(some), width + 1, dtype=torch.long)
    for row, one in zip(ids, some):
        row[1 : len(one) + 1] = torch.from_numpy(one)
    ids = ids.to(device)
    logits: Tensor = model(ids[:, : model.size.context])[:, :width].float()
    targets = ids[:, 1 : logits.shape[1] + 1]
    loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none")
    return logits.argmax(-1).cpu().numpy(), loss.view(targets.shape).cpu().numpy()


def line(found: dict[str, object]) -> str:
    """One line for people: tokens by heart at each number of copies, and the losses."""
    rows = found["by_repeats"]
    shares = " ".join(f"{row['repeats']}:{row['tokens']:.0%}/{row['words']:.0%}" for row in rows)
    return f"body {found['body_loss']:.3f} held-out {rows[0]['loss']:.3f} | {shares}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--tokens", type=Path, required=True)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    texts = read(args.tokens)
    found = {}
    for folder in args.folders:
        found[folder.name] = recall(load(folder).to(args.device), texts, args.device)
        print(folder.name, line(found[folder.name]))
    if args.json:
        args.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
