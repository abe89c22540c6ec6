"""A transformers model run over a batch: padded, with masks and positions that hide the padding."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from rote.core.errors import InputError
from rote.core.model import Floats
from rote.models.continuing import Writing
from rote.models.hub.loading import Loaded
from rote.models.tokens.encoding import Encoded, without_gaps
from rote.models.tokens.library import decoded
from rote.models.windows import Window


@dataclass(frozen=True, slots=True)
class HubTokens:
    """A fast tokenizer; `start` is its start token, else its end token."""

    tokenizer: Any
    start: int
    start_text: str

    @property
    def size(self) -> int:
        return len(self.tokenizer)

    def encode(self, text: str, *, special: bool) -> Encoded:
        # Rust strings hold no surrogates; one character for one keeps the offsets right.
        clean = text.encode("utf-8", "replace").decode("utf-8")
        found = self.tokenizer(
            clean, add_special_tokens=special, return_offsets_mapping=True, verbose=False
        )
        ends = [end for _, end in found["offset_mapping"]]
        starts = [start for start, _ in found["offset_mapping"]]
        return Encoded(list(found["input_ids"]), without_gaps(starts, ends), ends)

    def decode(self, ids: Sequence[int], before: Sequence[int]) -> str:
        return decoded(self._decode, ids, before)

    def _decode(self, ids: list[int]) -> str:
        # Cleaning up would take out spaces that the model has written.
        text: str = self.tokenizer.decode(
            ids, skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return text


def hub_tokens(tokenizer: Any, name: str) -> HubTokens:
    """With its start token, which has to be there."""
    start = tokenizer.bos_token_id
    start = tokenizer.eos_token_id if start is None else start
    if start is None:
        raise InputError("its tokenizer has neither a start nor an end token", file=name)
    return HubTokens(tokenizer, int(start), str(tokenizer.decode([int(start)])))


_ROWS = 1 << 24
"""Logits made single precision at once."""


@contextmanager
def memory_watched(device: str) -> Iterator[None]:
    """What torch raises where a batch does not fit becomes a MemoryError."""
    import torch

    full = False
    try:
        with torch.inference_mode():
            yield
    except RuntimeError as error:
        # Of CUDA a class of its own, of other devices a message.
        text = str(error).lower()
        if "out of memory" not in text and "can't allocate memory" not in text:
            raise
        full = True
    if full:  # outside of the handler, which would keep the batch alive
        if device == "cuda":
            torch.cuda.empty_cache()
        raise MemoryError


def read_windows(loaded: Loaded, some: Sequence[Window], filler: int) -> list[Floats]:
    """For each window the columns log-probability, greedy, expected, spread of what it asks."""
    import torch

    width = max(len(one.ids) for one in some) - 1
    ids = torch.full((len(some), width), filler, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for row, one in enumerate(some):
        ids[row, : len(one.ids) - 1] = torch.tensor(one.ids[:-1])
        mask[row, : len(one.ids) - 1] = 1
    first = min(one.first for one in some) - 1
    given = _inputs(loaded, ids, mask) | {"use_cache": False}
    # Most contexts are much longer than what follows: the logits of those before are left out.
    kept = "logits_to_keep" in _parameters(loaded)
    if kept:
        given["logits_to_keep"] = width - first
    logits = loaded.model(**given).logits
    away = first if kept else 0
    found = []
    for row, one in enumerate(some):
        part = logits[row, one.first - 1 - away : len(one.ids) - 1 - away]
        found.append(_columns(part, torch.tensor(one.ids[one.first :], device=part.device)))
    return found


def _columns(logits: Any, targets: Any) -> Floats:
    import torch

    parts = []
    step = max(1, _ROWS // logits.shape[-1])
    for first in range(0, len(targets), step):
        exact = torch.log_softmax(logits[first : first + step].float(), -1)
        wanted = targets[first : first + step]
        own = exact.gather(1, wanted[:, None])[:, 0]
        greedy = (exact.argmax(-1) == wanted).float()
        # Tokens that can not follow (minus infinity) weigh nothing.
        exact = exact.clamp(min=-1e4)
        chances = exact.exp()
        mean = (chances * exact).sum(-1)
        spread = (chances * (exact - mean[:, None]) ** 2).sum(-1).sqrt()
        parts.append(torch.stack([own, greedy, mean, spread]).cpu().numpy())
    return np.concatenate(parts, 1).astype(np.float64)


def write(loaded: Loaded, texts: Sequence[Writing], filler: int) -> None:
    """Continue all of them until each is done; padding stands on the left."""
    import torch

    width = max(len(one.before) for one in texts)
    ids = torch.full((len(texts), width), filler, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for row, one in enumerate(texts):
        ids[row, width - len(one.before) :] = torch.tensor(one.before)
        mask[row, width - len(one.before) :] = 1
    past = None
    while True:
        given = _inputs(loaded, ids, mask) | {"use_cache": True}
        if past is not None:
            given["past_key_values"] = past
        if "logits_to_keep" in _parameters(loaded):
            given["logits_to_keep"] = 1
        answer = loaded.model(**given)
        past = answer.past_key_values
        rows = answer.logits[:, -1].float().cpu().numpy()
        for one, logits in zip(texts, rows):
            if one.done is None:
                one.go_on(logits)
        if all(one.done is not None for one in texts):
            return
        # Rows that are done read on, unheard.
        last = [one.ids[-1] if one.done is None else filler for one in texts]
        ids = torch.tensor(last)[:, None]
        mask = torch.cat([mask, torch.ones_like(ids)], 1)


def _inputs(loaded: Loaded, ids: Any, mask: Any) -> dict[str, Any]:
    """The last tokens under the mask, with their positions, on the device."""
    given = {"input_ids": ids, "attention_mask": mask}
    if "position_ids" in _parameters(loaded):
        positions = (mask.cumsum(-1) - 1).clamp(min=0)
        given["position_ids"] = positions[:, -ids.shape[1] :]
    return {name: one.to(loaded.device) for name, one in given.items()}


def _parameters(loaded: Loaded) -> frozenset[str]:
    return frozenset(inspect.signature(loaded.model.forward).parameters)
