# ruff: noqa: T201 - a command says what it does
"""A large teacher for the parser: a transformer that never ships.

    python training/parser_teacher.py DATA.npz TREES.npz

Needs torch and a large GPU for about ten minutes, and nothing of the package: the
data come from `parser.py --prepare`, the trees go back to `parser.py --trees`. It
learns to fill gaps in the novels, then tags and trees on EWT (several times, with
other seeds), and parses sentences of the novels: trees far better than the small
parser can find, from which it learns.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - as everywhere
from torch import Tensor, nn

WIDTH, LAYERS, HEADS = 512, 8, 8
CHARACTERS, LETTERS = 16, 64
KNOWN, COMMON = 60_000, 30_000  # words with a vector of their own; words to guess
LONGEST = 128
DEVICE = "cuda"
Batch = tuple[Tensor, Tensor]


class Layer(nn.Module):
    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.query, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        size, length, _ = x.shape
        parts = self.query(self.first(x)).view(size, length, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(parts[0], parts[1], parts[2], attn_mask=mask)
        x = x + self.dropout(self.out(seen.transpose(1, 2).reshape(size, length, WIDTH)))
        return x + self.dropout(self.down(F.gelu(self.up(self.second(x)))))


class Encoder(nn.Module):
    """Words by number and by letters, then transformer layers within the sentence."""

    def __init__(self, letters: Tensor, alphabet: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.register_buffer("letters", letters, persistent=False)
        self.word = nn.Embedding(KNOWN + 2, WIDTH)  # 0 unknown, last: gap
        self.letter = nn.Embedding(alphabet, LETTERS, padding_idx=0)
        self.read = nn.Conv1d(LETTERS, WIDTH, 5, padding=2)
        self.place = nn.Embedding(LONGEST, WIDTH)
        self.layers = nn.ModuleList(Layer(dropout) for _ in range(LAYERS))
        self.norm, self.begin = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.dropout = nn.Dropout(dropout)

    def forward(self, ids: Tensor, gaps: Tensor, unknown: Tensor) -> Tensor:
        real = ids >= 0
        different, back = torch.unique(ids.clamp(min=0), return_inverse=True)
        spelled = self.read(self.letter(self.letters[different]).transpose(1, 2)).amax(2)
        numbers = torch.where(ids < KNOWN, ids + 1, 0) * ~unknown
        numbers = torch.where(gaps, KNOWN + 1, numbers.clamp(min=0))
        x = self.word(numbers) + spelled[back] * ~gaps[..., None]
        x = self.begin(x + self.place.weight[: ids.shape[1]])
        x = self.dropout(x)
        mask = real[:, None, None, :]
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)


class Parser(nn.Module):
    """Arcs and labels by biaffine scores, tags by linear ones."""

    def __init__(self, encoder: Encoder, labels: int, penn: int, universal: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.arc_child, self.arc_head = (nn.Linear(WIDTH, 400) for _ in range(2))
        self.label_child, self.label_head = (nn.Linear(WIDTH, 160) for _ in range(2))
        self.arc = nn.Parameter(torch.zeros(401, 400))
        self.label = nn.Parameter(torch.zeros(labels, 161, 161))
        self.root = nn.Parameter(torch.zeros(WIDTH))
        self.penn, self.universal = nn.Linear(WIDTH, penn), nn.Linear(WIDTH, universal)
        self.dropout = nn.Dropout(0.3)

    def forward(self, ids: Tensor, unknown: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Scores of heads (0 is the root), of labels for every head, and of tags."""
        x = self.encoder(ids, torch.zeros_like(unknown), unknown)
        x = self.dropout(x)
        heads = torch.cat((self.root.expand(len(x), 1, -1), x), 1)
        child, head = (
            self.dropout(F.gelu(f(y))) for f, y in ((self.arc_child, x), (self.arc_head, heads))
        )
        arcs = F.pad(child, (0, 1), value=1.0) @ self.arc @ head.transpose(1, 2)
        real = F.pad(ids >= 0, (1, 0), value=True)
        arcs = arcs.float().masked_fill(~real[:, None, :], -1e9)
        child = F.pad(self.dropout(F.gelu(self.label_child(x))), (0, 1), value=1.0)
        head = F.pad(self.dropout(F.gelu(self.label_head(heads))), (0, 1), value=1.0)
        return arcs, (child, head), self.penn(x).float(), self.universal(x).float()  # type: ignore[return-value]

    def labels(self, pair: Any, heads: Tensor) -> Tensor:
        """Scores of labels, given the heads."""
        child, head = pair
        chosen = head.gather(1, heads[..., None].expand(-1, -1, head.shape[2]))
        return torch.einsum("bnx,lxy,bny->bnl", child, self.label, chosen).float()


def batches(ends: Any, tokens: int, generator: np.random.Generator | None) -> list[Any]:
    """Sentence numbers in batches of like length."""
    starts = np.concatenate(([0], ends[:-1]))
    lengths = ends - starts
    order = np.arange(len(ends)) if generator is None else generator.permutation(len(ends))
    order = order[(lengths[order] <= LONGEST - 1) & (lengths[order] > 0)]
    order = order[np.argsort(lengths[order], kind="stable")]
    cuts = np.unique(np.cumsum(lengths[order]) // tokens, return_index=True)[1][1:]
    groups = np.split(order, cuts)
    if generator is not None:
        generator.shuffle(groups)
    return groups


def padded(column: Tensor, ends: Any, group: Any, empty: int) -> Tensor:
    starts = torch.from_numpy(np.concatenate(([0], ends[:-1]))[group]).to(DEVICE)
    lengths = torch.from_numpy(ends[group]).to(DEVICE) - starts
    places = starts[:, None] + torch.arange(int(lengths.max()), device=DEVICE)
    inside = places < (starts + lengths)[:, None]
    return torch.where(inside, column[places.clamp(max=len(column) - 1)], empty)


def pretrain(encoder: Encoder, ids: Tensor, ends: Any, seconds: float) -> None:
    """Fill gaps in raw text until the time is up."""
    guess = nn.Linear(WIDTH, COMMON).to(DEVICE)
    weights = [*encoder.parameters(), *guess.parameters()]
    optimizer = torch.optim.AdamW(weights, lr=1e-3, betas=(0.9, 0.98), weight_decay=0.01)
    generator = np.random.default_rng(1)
    begun, step = time.time(), 0
    while True:
        for group in batches(ends, 32_768, generator):
            passed = (time.time() - begun) / seconds
            if passed >= 1:
                return
            rate = 8e-4 * min(1.0, step / 500) * min(1.0, 2 * (1 - passed))
            for part in optimizer.param_groups:
                part["lr"] = rate
            words = padded(ids, ends, group, -1)
            gaps = (torch.rand_like(words, dtype=torch.float32) < 0.2) & (words >= 0)
            hidden = gaps & (torch.rand_like(words, dtype=torch.float32) < 0.9)
            unknown = torch.rand_like(words, dtype=torch.float32) < 0.15
            with torch.autocast(DEVICE, torch.bfloat16):
                x = encoder(words, hidden, unknown)
                wanted = gaps & (words < COMMON)
                loss = F.cross_entropy(guess(x[wanted]).float(), words[wanted])
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(weights, 1.0)
            optimizer.step()
            step += 1
            if step % 500 == 0:
                passed, now = time.time() - begun, float(loss.detach())
                print(f"{step} steps, {passed:.0f} s, loss {now:.3f}", flush=True)


def finetune(parser: Parser, data: Any, epochs: int, seed: int, rate: float) -> None:
    """Learn trees and tags from the treebank."""
    torch.manual_seed(seed)
    generator = np.random.default_rng(seed)
    names = ("ids", "heads", "labels", "pos", "upos")
    column = {name: torch.from_numpy(data["train_" + name]).long().to(DEVICE) for name in names}
    ends = data["train_ends"]
    inner = list(parser.encoder.parameters())
    outer = [p for n, p in parser.named_parameters() if not n.startswith("encoder.")]
    optimizer = torch.optim.AdamW(
        [{"params": inner}, {"params": outer}], betas=(0.9, 0.98), weight_decay=0.02
    )
    steps = epochs * len(batches(ends, 3000, generator))
    step = 0
    parser.train()
    for _ in range(epochs):
        for group in batches(ends, 3000, generator):
            pace = min(1.0, step / 100) * (1 - step / steps)
            optimizer.param_groups[0]["lr"] = rate * pace
            optimizer.param_groups[1]["lr"] = 1e-3 * pace
            words = padded(column["ids"], ends, group, -1)
            real = words >= 0
            heads = padded(column["heads"], ends, group, -1) + 1
            unknown = torch.rand_like(words, dtype=torch.float32) < 0.1
            with torch.autocast(DEVICE, torch.bfloat16):
                arcs, pair, penn, universal = parser(words, unknown)
                labels = parser.labels(pair, heads)
            loss = F.cross_entropy(arcs[real], heads[real])
            loss = loss + F.cross_entropy(
                labels[real], padded(column["labels"], ends, group, 0)[real]
            )
            loss = loss + 0.3 * F.cross_entropy(
                penn[real], padded(column["pos"], ends, group, 0)[real]
            )
            loss = loss + 0.3 * F.cross_entropy(
                universal[real], padded(column["upos"], ends, group, 0)[real]
            )
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(parser.parameters(), 1.0)
            optimizer.step()
            step += 1


@torch.no_grad()
def annotate(parsers: list[Parser], ids: Any, ends: Any) -> dict[str, Any]:
    """Heads (within the sentence, -1 root), labels, tags and the chance of each head."""
    column = torch.from_numpy(ids).long().to(DEVICE)
    starts = np.concatenate(([0], ends[:-1]))
    names = ("heads", "labels", "pos", "upos", "chance")
    out: dict[str, Any] = {name: np.zeros(len(ids), np.int16) for name in names}
    out["chance"] = np.zeros(len(ids), np.float16)
    for parser in parsers:
        parser.eval()
    for group in batches(ends, 32_768, None):
        words = padded(column, ends, group, -1)
        sums: list[Any] = [0, 0, 0, 0]
        with torch.autocast(DEVICE, torch.bfloat16):
            said = [parser(words, torch.zeros_like(words, dtype=torch.bool)) for parser in parsers]
            for arcs, _, penn, universal in said:
                for i, scores in ((0, arcs), (2, penn), (3, universal)):
                    sums[i] = sums[i] + scores.softmax(-1) / len(parsers)
            heads = sums[0].argmax(-1)
            for parser, (_, pair, _, _) in zip(parsers, said):
                sums[1] = sums[1] + parser.labels(pair, heads).softmax(-1)
        found = (
            heads - 1,
            sums[1].argmax(-1),
            sums[2].argmax(-1),
            sums[3].argmax(-1),
            sums[0].amax(-1),
        )
        inside = np.arange(words.shape[1])[None] < (ends - starts)[group][:, None]
        places = (starts[group][:, None] + np.arange(words.shape[1])[None])[inside]
        for name, values in zip(names, found):
            out[name][places] = values.cpu().numpy()[inside]
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description="Parse the novels with a large teacher.")
    parser.add_argument("data", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--seconds", type=float, default=300, help="of pre-training")
    parser.add_argument("--teachers", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=15)
    options = parser.parse_args()
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = True
    with np.load(options.data) as held:
        data = {name: held[name] for name in held.files}
    words = data["vocabulary"].tobytes().decode("utf-8").split("\n")
    letters, alphabet = spell(words)
    encoder = Encoder(letters, alphabet).to(DEVICE)
    raw = torch.from_numpy(data["raw_ids"]).long().to(DEVICE)
    pretrain(encoder, raw, data["raw_ends"], options.seconds)
    kept = {name: value.clone() for name, value in encoder.state_dict().items()}
    sizes = [int(data["train_" + name].max()) + 1 for name in ("labels", "pos", "upos")]
    teachers = []
    for seed in range(options.teachers):
        begun = time.time()
        own = Encoder(letters, alphabet, dropout=0.15).to(DEVICE)
        own.load_state_dict(kept)
        teachers.append(Parser(own, *sizes).to(DEVICE))
        finetune(teachers[-1], data, options.epochs, seed, (3e-4, 4e-4, 5e-4, 6e-4)[seed % 4])
        report(
            f"teacher {seed}, {time.time() - begun:.0f} s",
            data,
            annotate(teachers[-1:], data["dev_ids"], data["dev_ends"]),
        )
    report("together", data, annotate(teachers, data["dev_ids"], data["dev_ends"]))
    begun = time.time()
    found = annotate(teachers, *chosen(data["raw_ids"], data["raw_ends"], data["parse"]))
    # Small enough to carry: chances in fifteenths, all else fits into bytes by itself.
    found["chance"] = np.rint(15 * found["chance"].astype(np.float32))
    types = {name: np.int16 if name == "heads" else np.uint8 for name in found}
    np.savez_compressed(options.output, **{n: found[n].astype(types[n]) for n in found})
    print(f"{len(found['heads']):,} words in {time.time() - begun:.0f} s")


def chosen(ids: Any, ends: Any, sentences: Any) -> tuple[Any, Any]:
    """Some sentences of raw text."""
    starts = np.concatenate(([0], ends[:-1]))
    places = [np.arange(starts[s], ends[s]) for s in sentences.tolist()]
    return ids[np.concatenate(places)], np.cumsum((ends - starts)[sentences])


def spell(words: list[str]) -> tuple[Tensor, int]:
    """The first and last letters of each word as numbers."""
    alphabet: dict[str, int] = {}
    half = CHARACTERS // 2
    out = np.zeros((len(words), CHARACTERS), np.int64)
    for i, word in enumerate(words):
        short = word if len(word) <= CHARACTERS else word[:half] + word[-half:]
        for j, letter in enumerate(short):
            out[i, j] = alphabet.setdefault(letter, len(alphabet) + 1)
    return torch.from_numpy(out).to(DEVICE), len(alphabet) + 1


def report(name: str, data: dict[str, Any], found: dict[str, Any]) -> None:
    """Print how good the annotation of dev is."""
    same = found["heads"] == data["dev_heads"]
    right = same & (found["labels"] == data["dev_labels"])
    tags = [np.mean(found[tag] == data["dev_" + tag]) for tag in ("pos", "upos")]
    scores = zip(("UAS", "LAS", "XPOS", "UPOS"), (np.mean(same), np.mean(right), *tags))
    print(f"{name}:", *(f"{what} {100 * value:.2f}" for what, value in scores), flush=True)


if __name__ == "__main__":
    main()
