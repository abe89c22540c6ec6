"""Pairs as token numbers on the device, in batches of so many tokens, in an order by the seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rote.core.array_types import Integers
from rote.core.errors import InputError
from rote.models.training.losses import IGNORED

PROMPT = "\n\nTL;DR:"
"""What a decoder-only model reads between a document and its summary."""
_POOL = 64
"""Batches' worth of pairs among which those of like length are put together."""
_STRIPS = 4
"""Parts of such a pool by the length of the documents; inside each, references are sorted."""


@dataclass(frozen=True, slots=True)
class Ragged:
    """Rows of different length, one behind the other; a device holds them whole."""

    flat: Any
    starts: Any
    lengths: Any

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]], size: int, device: str) -> Ragged:
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        kind = np.int16 if size <= 2**15 else np.int32
        flat = np.fromiter((one for row in rows for one in row), kind, int(lengths.sum()))
        return cls.from_arrays(flat, lengths, device)

    @classmethod
    def from_arrays(cls, flat: Any, lengths: Integers, device: str) -> Ragged:
        import torch

        starts = np.cumsum(lengths) - lengths
        moved = (torch.from_numpy(np.asarray(one)).to(device) for one in (flat, starts, lengths))
        return cls(*moved)

    def rows(self, numbers: Integers, filler: int, *, left: bool = False) -> tuple[Any, Any]:
        """Some rows side by side, padded to the longest, and where they are no padding."""
        import torch

        chosen = torch.as_tensor(numbers, device=self.lengths.device)
        lengths = self.lengths[chosen]
        width = int(lengths.max())
        place = torch.arange(width, device=lengths.device)[None]
        if left:
            place = place - (width - lengths[:, None])
        mask = (place >= 0) & (place < lengths[:, None])
        at = (self.starts[chosen][:, None] + place).clamp(0, max(len(self.flat) - 1, 0))
        return torch.where(mask, self.flat[at].long(), filler), mask


@dataclass(frozen=True, slots=True)
class Batch:
    """What a model reads, and what it is to say: `labels` are IGNORED where nothing is learned."""

    inputs: Any
    mask: Any
    labels: Any


@dataclass(frozen=True, slots=True)
class Tokens:
    """The documents and references of all pairs."""

    documents: Ragged
    references: Ragged
    pad: int
    start: int | None
    """The first token of a decoder that has an encoder; None for a decoder alone."""

    def __len__(self) -> int:
        return len(self.documents.lengths)

    def batch(self, numbers: Integers, said_by: Integers | None = None) -> Batch:
        """Some pairs; `said_by` are the rows of the references where those are others."""
        import torch

        alone = self.start is None
        inputs, mask = self.documents.rows(numbers, self.pad, left=alone)
        said, is_said = self.references.rows(numbers if said_by is None else said_by, self.pad)
        labels = torch.where(is_said, said, IGNORED)
        if alone:  # document and reference in one row
            labels = torch.cat([torch.full_like(inputs, IGNORED), labels], 1)
            inputs, mask = torch.cat([inputs, said], 1), torch.cat([mask, is_said], 1)
        return Batch(inputs, mask, labels)

    def share(self, rows: Integers, batch: Integers) -> float:
        """How much of the tokens to learn of a batch some of its rows have."""
        own, every = (int(self.references.lengths[some].sum()) for some in (rows, batch))
        return own / every

    def lengths(self, rows: Integers) -> tuple[Integers, Integers]:
        """How many tokens the documents and the references of some pairs have."""
        both = self.documents.lengths, self.references.lengths
        read, said = (np.asarray(one.cpu(), np.int64)[rows] for one in both)
        return read, said


def tokens_of(
    loaded: Any, documents: Sequence[str], references: Sequence[str], longest: int, most: int
) -> Tokens:
    """Texts as a model reads and writes them, cut to so many tokens.

    References of an encoder-decoder have the form that its tokenizer gives to targets, with a start
    token where it writes one, since that is what the decoder reads when it generates. All
    references end in the end token.
    """
    tokenizer, model = loaded.tokenizer, loaded.model
    paired = bool(model.config.is_encoder_decoder)
    limit = min(longest, loaded.longest if paired else loaded.longest - most)
    end = tokenizer.eos_token_id

    def encode(texts: Sequence[str], special: bool) -> list[list[int]]:
        found = tokenizer(list(texts), add_special_tokens=special, verbose=False)["input_ids"]
        return [list(row) for row in found]

    if paired:
        read = [row[: limit - 1] + row[limit - 1 :][-1:] for row in encode(documents, True)]
        targets = tokenizer(
            text_target=list(references), truncation=True, max_length=most, verbose=False
        )["input_ids"]
        # A language code may follow the end token.
        said = [row if end in row[-2:] else [*row[: most - 1], end] for row in map(list, targets)]
    else:
        prompt = encode([PROMPT], False)[0]
        read = [row[: limit - len(prompt)] + prompt for row in encode(documents, True)]
        said = encode([f" {one}" for one in references], False)
        said = [[*row[: most - 1], end] for row in said]
    size, start = len(tokenizer), decoder_start(model) if paired else None
    pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else end
    return Tokens(
        Ragged.of(read, size, loaded.device), Ragged.of(said, size, loaded.device), pad, start
    )


def decoder_start(model: Any) -> int:
    """The token that the decoder of an encoder-decoder reads first, as in generation."""
    for name in ("decoder_start_token_id", "bos_token_id"):
        for held in (model.generation_config, model.config):
            if (value := getattr(held, name, None)) is not None:
                return int(value)
    raise InputError("its config names no decoder_start_token_id", file=model.name_or_path)


def batches(
    documents: Integers, references: Integers, room: int, seed: int, epoch: int
) -> list[Integers]:
    """All rows once, in batches of at most `room` tokens, padding included; a row that is longer
    is a batch of its own. The order depends on seed and epoch alone."""
    random = np.random.default_rng([seed, epoch])
    order = random.permutation(len(documents))
    read_by, said_by = documents.tolist(), references.tolist()
    mean = float((documents + references).mean()) if len(order) else 1.0
    pool = max(1, round(_POOL * room / max(1.0, mean)))
    found: list[Integers] = []
    for first in range(0, len(order), pool):
        some = order[first : first + pool]
        # Documents of like length, and among them references of like length: both are padded.
        some = some[np.argsort(documents[some], kind="stable")]
        strip = np.arange(len(some)) * _STRIPS // len(some)
        some = some[np.lexsort((references[some], strip))]
        begin = read = said = 0
        for place, row in enumerate(some.tolist()):
            read, said = max(read, read_by[row]), max(said, said_by[row])
            if place > begin and (place - begin + 1) * (read + said) > room:
                found.append(some[begin:place])
                begin, read, said = place, read_by[row], said_by[row]
        found.append(some[begin:])
    return [found[place] for place in random.permutation(len(found))]
