"""One batch to one loss: fine-tuning on references, calibrating on ranked candidates."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from rote.core.array_types import Integers
from rote.models.training.losses import cross_entropy, lengthwise, ranking
from rote.models.training.pairs import Batch, Ragged, Tokens, batches


class Objective(Protocol):
    """What a loop minimizes."""

    def batches(self, seed: int, epoch: int) -> list[Integers]:
        """The rows of each update of an epoch."""

    def loss(self, rows: Integers, batch: Integers) -> Any:
        """What some rows add to the loss of their batch: over the parts of a batch it sums up to
        the loss of all of its rows at once."""


def logits_of(loaded: Any, tokens: Tokens, batch: Batch, encoded: Any = None) -> tuple[Any, Any]:
    """Logits, and the label that each of them is for."""
    import torch

    if tokens.start is None:
        places = (batch.mask.long().cumsum(-1) - 1).clamp(min=0)
        made = loaded.model(
            input_ids=batch.inputs,
            attention_mask=batch.mask.long(),
            position_ids=places,
            use_cache=False,
        )
        return made.logits[:, :-1], batch.labels[:, 1:]
    before = torch.where(batch.labels < 0, tokens.pad, batch.labels)
    first = torch.full_like(before[:, :1], tokens.start)
    made = loaded.model(
        input_ids=None if encoded else batch.inputs,
        encoder_outputs=encoded,
        attention_mask=batch.mask.long(),
        decoder_input_ids=torch.cat([first, before[:, :-1]], 1),
        use_cache=False,
    )
    return made.logits, batch.labels


def half_precision(device: str) -> Any:
    """bfloat16 where the machine has it."""
    import torch

    if device == "cuda" and torch.cuda.is_bf16_supported():
        return torch.autocast("cuda", torch.bfloat16)
    return nullcontext()


@dataclass(frozen=True, slots=True)
class Fitting:
    """Cross-entropy of the references."""

    loaded: Any
    tokens: Tokens
    rows: Integers
    room: int
    smoothing: float

    def batches(self, seed: int, epoch: int) -> list[Integers]:
        lengths = self.tokens.lengths(self.rows)
        return [self.rows[some] for some in batches(*lengths, self.room, seed, epoch)]

    def loss(self, rows: Integers, batch: Integers) -> Any:
        return self._loss(rows, self.smoothing) * self.tokens.share(rows, batch)

    def held_out(self) -> float:
        """The loss of all rows without smoothing, a mean over tokens."""
        import torch

        self.loaded.model.eval()
        total = 0.0
        with torch.no_grad():
            for some in self.batches(0, 0):
                total += float(self._loss(some, 0.0)) * self.tokens.share(some, self.rows)
        self.loaded.model.train()
        return total

    def _loss(self, rows: Integers, smoothing: float) -> Any:
        with half_precision(self.loaded.device):
            logits, labels = logits_of(self.loaded, self.tokens, self.tokens.batch(rows))
        return cross_entropy(logits, labels, smoothing)


@dataclass(frozen=True, slots=True)
class Calibrating:
    """BRIO. The candidates of item i are the rows `i * count` to `(i + 1) * count`, the best
    first; its document and reference are row i of `tokens`."""

    loaded: Any
    tokens: Tokens
    candidates: Ragged
    count: int
    items: int
    """In one update."""
    margin: float = 0.001
    alpha: float = 2.0
    rank_weight: float = 10.0
    reference_weight: float = 0.1
    smoothing: float = 0.1

    def batches(self, seed: int, epoch: int) -> list[Integers]:
        order = np.random.default_rng([seed, epoch]).permutation(len(self.tokens))
        return [order[first : first + self.items] for first in range(0, len(order), self.items)]

    def loss(self, rows: Integers, batch: Integers) -> Any:
        several = (rows[:, None] * self.count + np.arange(self.count)).ravel()
        candidates = replace(self.tokens, references=self.candidates).batch(
            np.repeat(rows, self.count), several
        )
        with half_precision(self.loaded.device):
            read = self._encoded(rows)
            logits, labels = logits_of(self.loaded, self.tokens, candidates, read)
            said, wanted = logits_of(self.loaded, self.tokens, self.tokens.batch(rows))
        scores = lengthwise(logits, labels, self.alpha).view(len(rows), self.count)
        # The ranking is a mean over items, the cross-entropy one over tokens.
        ranked = ranking(scores, self.margin) * (len(rows) / len(batch))
        fitted = cross_entropy(said, wanted, self.smoothing) * self.tokens.share(rows, batch)
        return self.rank_weight * ranked + self.reference_weight * fitted

    def _encoded(self, rows: Integers) -> Any:
        """An encoder reads the document of all candidates once."""
        if self.tokens.start is None:
            return None
        inputs, mask = self.tokens.documents.rows(rows, self.tokens.pad)
        made = self.loaded.model.get_encoder()(input_ids=inputs, attention_mask=mask.long())
        made.last_hidden_state = made.last_hidden_state.repeat_interleave(self.count, 0)
        return made
