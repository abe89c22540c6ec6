"""Updates of a few fixed shapes: a GPU records each shape once (a CUDA graph) and plays it again.

The model is that of transformers, whose weights these functions read: `logits` gives what its own
forward gives, without what Python does between two kernels. Nothing here waits for the GPU.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn.functional import dropout, embedding, linear, scaled_dot_product_attention

from rote.models.training.objectives import (
    IGNORED,
    PairTokens,
    Ragged,
    cross_entropy,
    half_precision,
    length_normalized,
    ranking_loss,
)

CLIP = 1.0
DOCUMENT, REFERENCE = (40, 56, 88, 120, 160), (24, 48)
"""Widths that documents and references are padded to."""


def encode(model: Any, ids: Any, mask: Any) -> Any:
    """What the encoder makes of some documents."""
    own = model.get_encoder()
    hidden = _begun(own, ids)
    for one in own.layers:
        hidden = _attended(one, "self_attn", hidden, None, mask[:, None, None], False)
        hidden = _fed(one, hidden)
    return own.layer_norm(hidden)


def decode(model: Any, before: Any, read: Any, mask: Any) -> Any:
    """Logits after each token; padding comes last, so what is causal needs no other mask."""
    own = model.get_decoder()
    hidden = _begun(own, before)
    for one in own.layers:
        hidden = _attended(one, "self_attn", hidden, None, None, True)
        hidden = _attended(one, "encoder_attn", hidden, read, mask[:, None, None], False)
        hidden = _fed(one, hidden)
    return linear(own.layer_norm(hidden), model.lm_head.weight, model.final_logits_bias[0])


def logits(model: Any, inputs: Any, mask: Any, before: Any) -> Any:
    return decode(model, before, encode(model, inputs, mask), mask)


def _begun(own: Any, ids: Any) -> Any:
    words, places = own.embed_tokens, own.embed_positions
    found = embedding(ids, words.weight, words.padding_idx) * words.embed_scale
    found = found + places.weight[places.offset : places.offset + ids.shape[1]]
    return dropout(own.layernorm_embedding(found), own.dropout, own.training)


def _attended(one: Any, name: str, hidden: Any, read: Any, mask: Any, causal: bool) -> Any:
    own = getattr(one, name)
    asked = getattr(one, f"{name}_layer_norm")(hidden)
    read = asked if read is None else read

    def heads(made: Any) -> Any:
        return made.unflatten(-1, (own.num_heads, -1)).transpose(1, 2)

    made = scaled_dot_product_attention(
        heads(own.q_proj(asked)),
        heads(own.k_proj(read)),
        heads(own.v_proj(read)),
        attn_mask=mask,
        is_causal=causal,
    )
    made = own.out_proj(made.transpose(1, 2).flatten(2))
    return hidden + dropout(made, one.dropout, one.training)


def _fed(one: Any, hidden: Any) -> Any:
    made = one.fc2(one.activation_fn(one.fc1(one.final_layer_norm(hidden))))
    return hidden + dropout(made, one.dropout, one.training)


def padded(side: Ragged, rows: Any, width: int, filler: int) -> tuple[Any, Any]:
    """`Ragged.rows` at a width that is given, with rows that are on the device."""
    lengths = side.lengths[rows][:, None]
    place = torch.arange(width, device=lengths.device)[None]
    at = (side.starts[rows][:, None] + place).clamp(max=len(side.flat) - 1)
    mask = place < lengths
    return torch.where(mask, side.flat[at].long(), filler), mask


def shifted(said: Any, start: int) -> Any:
    """What a decoder has read before each token."""
    return torch.cat([torch.full_like(said[:, :1], start), said[:, :-1]], 1)


def repeated(rows: Any, count: int) -> Any:
    """Each row so often, one after the other."""
    return rows[:, None].expand(-1, count, *rows.shape[1:]).flatten(0, 1)


@dataclass(frozen=True, slots=True)
class Fitted:
    """Cross-entropy of references; a shape is a width of documents and one of references."""

    model: Any
    tokens: PairTokens
    rows: Any
    room: int
    smoothing: float
    device: str

    def loss(self, shape: Any, rows: Any) -> Any:
        documents, references = self.tokens.documents, self.tokens.references
        inputs, mask = padded(documents, rows, shape[0], self.tokens.pad)
        said, is_said = padded(references, rows, shape[1], self.tokens.pad)
        with half_precision(self.device):
            made = logits(self.model, inputs, mask, shifted(said, self.tokens.start or 0))
        return cross_entropy(made, torch.where(is_said, said, IGNORED), self.smoothing)

    def plan(self, seed: int, steps: int) -> list[tuple[Any, Any]]:
        """Shape and rows of each update. An epoch reads every row once, but for those that do not
        fill a batch, with which the next epoch begins. All depends on the seed alone."""
        lengths = [
            np.asarray(side.lengths.cpu())[self.rows]
            for side in (self.tokens.documents, self.tokens.references)
        ]
        widths = [np.searchsorted(some, own) for some, own in zip((DOCUMENT, REFERENCE), lengths)]
        shape_of = widths[0] * len(REFERENCE) + widths[1]
        left: dict[int, Any] = dict.fromkeys(np.unique(shape_of).tolist(), self.rows[:0])
        found: list[tuple[Any, Any]] = []
        for epoch in range(steps + 1):
            if len(found) >= steps:
                break
            random = np.random.default_rng([seed, epoch])
            made = []
            for number in left:
                shape = DOCUMENT[number // len(REFERENCE)], REFERENCE[number % len(REFERENCE)]
                some = random.permutation(self.rows[shape_of == number])
                some, size = np.concatenate([left[number], some]), self.room // sum(shape)
                full = len(some) // size * size
                made += [(shape, own) for own in some[:full].reshape(-1, size)]
                left[number] = some[full:]
            found += [made[place] for place in random.permutation(len(made))]
        return found[:steps]


@dataclass(frozen=True, slots=True)
class Calibrated:
    """BRIO, as `Calibrating`; all candidates and the reference of a document are read at once."""

    model: Any
    tokens: PairTokens
    candidates: Ragged
    count: int
    items: int
    margin: float
    alpha: float
    rank_weight: float
    reference_weight: float
    smoothing: float
    device: str

    def loss(self, shape: Any, rows: Any) -> Any:
        pad, each = self.tokens.pad, self.count + 1
        inputs, mask = padded(self.tokens.documents, rows, DOCUMENT[-1], pad)
        several = rows[:, None] * self.count + torch.arange(self.count, device=rows.device)
        own = padded(self.candidates, several.flatten(), REFERENCE[-1], pad)
        wanted = padded(self.tokens.references, rows, REFERENCE[-1], pad)
        said, is_said = (
            torch.cat([a.unflatten(0, (-1, self.count)), b[:, None]], 1).flatten(0, 1)
            for a, b in zip(own, wanted)
        )
        with half_precision(self.device):
            read = repeated(encode(self.model, inputs, mask), each)
            before = shifted(said, self.tokens.start or 0)
            made = decode(self.model, before, read, repeated(mask, each))
        labels = torch.where(is_said, said, IGNORED).unflatten(0, (-1, each))
        made = made.unflatten(0, (-1, each))
        scores = length_normalized(
            made[:, :-1].flatten(0, 1), labels[:, :-1].flatten(0, 1), self.alpha
        ).unflatten(0, (-1, self.count))
        fitted = cross_entropy(made[:, -1], labels[:, -1], self.smoothing)
        return self.rank_weight * ranking_loss(scores, self.margin) + self.reference_weight * fitted

    def plan(self, seed: int, steps: int) -> list[tuple[Any, Any]]:
        found: list[tuple[Any, Any]] = []
        for epoch in range(steps):
            order = np.random.default_rng([seed, epoch]).permutation(len(self.tokens))
            full = len(order) // self.items * self.items
            found += [("all", own) for own in order[:full].reshape(-1, self.items)]
        return found[:steps]


class Updates:
    """Weights, their optimizer, and a planned training; `eager`: nothing is recorded."""

    def __init__(
        self,
        model: Any,
        loss: Callable[[Any, Any], Any],
        plan: Sequence[tuple[Hashable, Any]],
        device: str,
        eager: bool,
    ) -> None:
        self.model, self.loss, self.plan, self.device = model, loss, plan, device
        self.weights = [one for one in model.parameters() if one.requires_grad]
        self.rate = torch.zeros((), device=device)
        self.adam = torch.optim.AdamW(
            self.weights, lr=self.rate, weight_decay=0.0, fused=True, capturable=device == "cuda"
        )
        self.step, self.losses = 0, torch.zeros(len(plan), device=device)
        self.last = torch.zeros((), device=device)
        self.rows = {shape: torch.tensor(rows, device=device) for shape, rows in plan}
        self.flat = torch.as_tensor(np.concatenate([rows for _, rows in plan]), device=device)
        self.starts = np.cumsum([0, *(len(rows) for _, rows in plan)]).tolist()
        self.graphs: dict[Hashable, Any] = {}
        model.train()
        if device == "cuda" and not eager:
            self._record()

    def _update(self, shape: Hashable) -> None:
        self.adam.zero_grad(set_to_none=True)
        loss = self.loss(shape, self.rows[shape])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.weights, CLIP)
        self.adam.step()
        self.last.copy_(loss.detach())

    def _record(self) -> None:
        """Updates with a rate of 0 first, as recording asks for; then all is as it was."""
        held = [one.detach().clone() for one in self.weights]
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for shape in self.rows:
                self._update(shape)
        torch.cuda.current_stream().wait_stream(side)
        pool = None
        for shape in self.rows:
            self.adam.zero_grad(set_to_none=True)
            self.graphs[shape] = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graphs[shape], pool=pool):
                self._update(shape)
            pool = pool or self.graphs[shape].pool()
        self.reset(held)

    def reset(self, weights: Sequence[Any]) -> None:
        """To the beginning, with these weights."""
        self.step = 0
        with torch.no_grad():
            for one, other in zip(self.weights, weights):
                one.copy_(other)
            for state in self.adam.state.values():
                for own in state.values():
                    own.zero_()

    def run(self, rate: float, warmup: int, seed: int, until: int) -> None:
        """On to update `until`; each draws from a generator of its own."""
        total = len(self.plan)
        while self.step < until:
            shape, step = self.plan[self.step][0], self.step
            share = (
                (step + 1) / (warmup + 1) if step < warmup else (total - step) / (total - warmup)
            )
            self.rate.fill_(rate * share)
            self.rows[shape].copy_(self.flat[self.starts[step] : self.starts[step + 1]])
            torch.manual_seed((seed << 32) + step)
            if shape in self.graphs:
                self.graphs[shape].replay()
            else:
                self._update(shape)
            self.losses[step].copy_(self.last)
            self.step += 1

    def mean_loss(self, most: int = 50) -> float:
        """Of the last updates; waits for the GPU."""
        found = float(self.losses[max(0, self.step - most) : self.step].mean())
        if not math.isfinite(found):
            raise SystemExit(f"the loss is no number at update {self.step}")
        return found

    def save(self, path: Path) -> None:
        self.mean_loss()
        kept = {
            "step": self.step,
            "losses": self.losses,
            "weights": self.weights,
            "adam": [list(self.adam.state[one].values()) for one in self.weights],
        }
        with open(half := path.with_name(f"{path.name}.half"), "wb") as file:
            torch.save(kept, file)
        half.replace(path)

    def load(self, path: Path) -> None:
        """What `save` wrote, in place: what is recorded reads these very tensors."""
        held = torch.load(path, map_location=self.device, weights_only=True)
        if not self.adam.state:  # nothing was recorded: an update makes the places of its state
            self._update(self.plan[0][0])
        self.reset(held["weights"])
        self.step = held["step"]
        with torch.no_grad():
            self.losses.copy_(held["losses"])
            for one, other in zip(self.weights, held["adam"]):
                for own, value in zip(self.adam.state[one].values(), other):
                    own.copy_(value)
