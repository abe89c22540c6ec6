"""Pairs as token numbers on the device, in batches by the seed, and the losses of a batch:
label-smoothed cross-entropy of references, BRIO's ranking of candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from rote.core.arrays import Integers
from rote.core.errors import InputError

IGNORED = -100
"""The label of a place that is not learned."""


def cross_entropy(logits: Any, labels: Any, smoothing: float) -> Any:
    """The mean over all labels; smoothing spreads so much of each over the whole vocabulary."""
    from torch.nn.functional import cross_entropy

    how: dict[str, Any] = {"ignore_index": IGNORED, "label_smoothing": smoothing}
    return cross_entropy(logits.float().flatten(0, 1), labels.flatten(), **how)


def length_normalized(logits: Any, labels: Any, alpha: float) -> Any:
    """Of each row f(S) = sum log p / |S|^alpha, start and end tokens included."""
    import torch

    learned = labels != IGNORED
    chances = torch.log_softmax(logits.float(), -1)
    label_logs = chances.gather(-1, labels.clamp(min=0)[..., None])[..., 0]
    lengths = learned.sum(-1).clamp(min=1).to(label_logs.dtype)
    return (label_logs * learned).sum(-1) / lengths**alpha


def ranking_loss(scores: Any, margin: float) -> Any:
    """BRIO (Liu et al. 2022): candidates of an item stand in a row, the best first. For each gap
    between ranks the mean over pairs of max(0, f(worse) - f(better) + gap * margin), summed."""
    total = scores.new_zeros(())
    for gap in range(1, scores.shape[1]):
        total = total + (scores[:, gap:] - scores[:, :-gap] + gap * margin).clamp(min=0).mean()
    return total


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
        flat = np.fromiter((token for row in rows for token in row), kind, int(lengths.sum()))
        return cls.from_arrays(flat, lengths, device)

    @classmethod
    def from_arrays(cls, flat: Any, lengths: Integers, device: str) -> Ragged:
        import torch

        arrays = (flat, np.cumsum(lengths) - lengths, lengths)
        return cls(*(torch.from_numpy(np.asarray(array)).to(device) for array in arrays))

    def rows(self, numbers: Integers, filler: int, *, pad_left: bool = False) -> tuple[Any, Any]:
        """Some rows side by side, padded to the longest, and where they are no padding."""
        import torch

        chosen = torch.as_tensor(numbers, device=self.lengths.device)
        lengths = self.lengths[chosen]
        width = int(lengths.max())
        place = torch.arange(width, device=lengths.device)[None]
        if pad_left:
            place = place - (width - lengths[:, None])
        mask = (place >= 0) & (place < lengths[:, None])
        at = (self.starts[chosen][:, None] + place).clamp(0, max(len(self.flat) - 1, 0))
        return torch.where(mask, self.flat[at].long(), filler), mask


@dataclass(frozen=True, slots=True)
class TrainingBatch:
    """What a model reads, and what it is to say: `labels` are IGNORED where nothing is learned."""

    inputs: Any
    mask: Any
    labels: Any


@dataclass(frozen=True, slots=True)
class PairTokens:
    documents: Ragged
    references: Ragged
    pad: int
    start: int | None
    """The first token of a decoder that has an encoder; None for a decoder alone."""

    def __len__(self) -> int:
        return len(self.documents.lengths)

    def batch(self, numbers: Integers, references_of: Integers | None = None) -> TrainingBatch:
        """Some pairs; `references_of` are the rows of the references where those are others."""
        import torch

        alone = self.start is None
        inputs, mask = self.documents.rows(numbers, self.pad, pad_left=alone)
        targets, is_target = self.references.rows(
            numbers if references_of is None else references_of, self.pad
        )
        labels = torch.where(is_target, targets, IGNORED)
        if alone:  # document and reference in one row
            labels = torch.cat([torch.full_like(inputs, IGNORED), labels], 1)
            inputs, mask = torch.cat([inputs, targets], 1), torch.cat([mask, is_target], 1)
        return TrainingBatch(inputs, mask, labels)

    def share(self, rows: Integers, batch: Integers) -> float:
        """How much of the tokens to learn of a batch some of its rows have."""
        row_tokens, every = (int(self.references.lengths[some].sum()) for some in (rows, batch))
        return row_tokens / every

    def lengths(self, rows: Integers) -> tuple[Integers, Integers]:
        both = self.documents.lengths, self.references.lengths
        read, reference_sizes = (np.asarray(column.cpu(), np.int64)[rows] for column in both)
        return read, reference_sizes


def encode_documents(
    loaded: Any, documents: Sequence[str], longest: int, most: int
) -> tuple[Ragged, int]:
    """Documents cut to so many tokens, with room for `most` that a decoder alone writes behind
    them; and the token that pads them."""
    tokenizer, paired = loaded.tokenizer, bool(loaded.model.config.is_encoder_decoder)
    limit = min(longest, loaded.longest if paired else loaded.longest - most)
    rows = [list(row) for row in tokenizer(list(documents), verbose=False)["input_ids"]]
    if paired:
        rows = [row[: limit - 1] + row[limit - 1 :][-1:] for row in rows]
    else:
        prompt = list(tokenizer(PROMPT, add_special_tokens=False)["input_ids"])
        rows = [row[: limit - len(prompt)] + prompt for row in rows]
    pad = tokenizer.pad_token_id
    pad = tokenizer.eos_token_id if pad is None else pad
    return Ragged.of(rows, len(tokenizer), loaded.device), pad


def encode_pairs(
    loaded: Any, documents: Sequence[str], references: Sequence[str], longest: int, most: int
) -> PairTokens:
    """Texts as a model reads and writes them, cut to so many tokens.

    References of an encoder-decoder have the form that its tokenizer gives to targets, with a start
    token where it writes one, since that is what the decoder reads when it generates. All
    references end in the end token.
    """
    tokenizer, model = loaded.tokenizer, loaded.model
    paired, end = bool(model.config.is_encoder_decoder), tokenizer.eos_token_id
    if paired:
        cut: dict[str, Any] = {"truncation": True, "max_length": most, "verbose": False}
        targets = map(list, tokenizer(text_target=list(references), **cut)["input_ids"])
        # A language code may follow the end token.
        token_rows = [row if end in row[-2:] else [*row[: most - 1], end] for row in targets]
    else:
        spaced = [f" {text}" for text in references]
        plain = tokenizer(spaced, add_special_tokens=False, verbose=False)["input_ids"]
        token_rows = [[*row[: most - 1], end] for row in plain]
    read, pad = encode_documents(loaded, documents, longest, most)
    learned = Ragged.of(token_rows, len(tokenizer), loaded.device)
    return PairTokens(read, learned, pad, decoder_start(model) if paired else None)


def decoder_start(model: Any) -> int:
    """The token that the decoder of an encoder-decoder reads first, as in generation."""
    for name in ("decoder_start_token_id", "bos_token_id"):
        for config in (model.generation_config, model.config):
            if (value := getattr(config, name, None)) is not None:
                return int(value)
    raise InputError("its config names no decoder_start_token_id", file=model.name_or_path)


def token_batches(
    documents: Integers, references: Integers, room: int, seed: int, epoch: int
) -> list[Integers]:
    """All rows once, in batches of at most `room` tokens, padding included; a row that is longer
    is a batch of its own. The order depends on seed and epoch alone."""
    random = np.random.default_rng([seed, epoch])
    order = random.permutation(len(documents))
    read_by, references_of = documents.tolist(), references.tolist()
    mean = float((documents + references).mean()) if len(order) else 1.0
    pool = max(1, round(_POOL * room / max(1.0, mean)))
    groups: list[Integers] = []
    for first in range(0, len(order), pool):
        some = order[first : first + pool]
        # Documents of like length, and among them references of like length: both are padded.
        some = some[np.argsort(documents[some], kind="stable")]
        strip = np.arange(len(some)) * _STRIPS // len(some)
        some = some[np.lexsort((references[some], strip))]
        begin = read = longest_reference = 0
        for place, row in enumerate(some.tolist()):
            read = max(read, read_by[row])
            longest_reference = max(longest_reference, references_of[row])
            if place > begin and (place - begin + 1) * (read + longest_reference) > room:
                groups.append(some[begin:place])
                begin, read, longest_reference = place, read_by[row], references_of[row]
        groups.append(some[begin:])
    return [groups[place] for place in random.permutation(len(groups))]


class Objective(Protocol):
    """What a loop minimizes."""

    def batches(self, seed: int, epoch: int) -> list[Integers]:
        """The rows of each update of an epoch."""

    def loss(self, rows: Integers, batch: Integers) -> Any:
        """What some rows add to the loss of their batch: over the parts of a batch it sums up to
        the loss of all of its rows at once."""


def logits_of(
    loaded: Any, tokens: PairTokens, batch: TrainingBatch, encoded: Any = None
) -> tuple[Any, Any]:
    """Logits, and the label that each of them is for."""
    import torch

    if tokens.start is None:
        places = (batch.mask.long().cumsum(-1) - 1).clamp(min=0)
        inputs = {"input_ids": batch.inputs, "attention_mask": batch.mask.long()}
        output = loaded.model(**inputs, position_ids=places, use_cache=False)
        return output.logits[:, :-1], batch.labels[:, 1:]
    before = torch.where(batch.labels < 0, tokens.pad, batch.labels)
    first = torch.full_like(before[:, :1], tokens.start)
    output = loaded.model(
        input_ids=None if encoded else batch.inputs,
        encoder_outputs=encoded,
        attention_mask=batch.mask.long(),
        decoder_input_ids=torch.cat([first, before[:, :-1]], 1),
        use_cache=False,
    )
    return output.logits, batch.labels


def half_precision(device: str) -> Any:
    """bfloat16 where the machine has it."""
    import torch

    if device == "cuda" and torch.cuda.is_bf16_supported():
        return torch.autocast("cuda", torch.bfloat16)
    return nullcontext()


@dataclass(frozen=True, slots=True)
class FineTuning:
    """Cross-entropy of the references."""

    loaded: Any
    tokens: PairTokens
    rows: Integers
    room: int
    smoothing: float

    def batches(self, seed: int, epoch: int) -> list[Integers]:
        lengths = self.tokens.lengths(self.rows)
        return [self.rows[some] for some in token_batches(*lengths, self.room, seed, epoch)]

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
class CalibrationObjective:
    """BRIO. The candidates of item i are the rows `i * count` to `(i + 1) * count`, the best
    first; its document and reference are row i of `tokens`."""

    loaded: Any
    tokens: PairTokens
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
        ranked_tokens = replace(self.tokens, references=self.candidates)
        candidates = ranked_tokens.batch(np.repeat(rows, self.count), several)
        with half_precision(self.loaded.device):
            read = self._encoded(rows)
            logits, labels = logits_of(self.loaded, self.tokens, candidates, read)
            reference_logits, wanted = logits_of(self.loaded, self.tokens, self.tokens.batch(rows))
        scores = length_normalized(logits, labels, self.alpha).view(len(rows), self.count)
        # The ranking is a mean over items, the cross-entropy one over tokens.
        ranked = ranking_loss(scores, self.margin) * (len(rows) / len(batch))
        fitted = cross_entropy(reference_logits, wanted, self.smoothing)
        fitted = fitted * self.tokens.share(rows, batch)
        return self.rank_weight * ranked + self.reference_weight * fitted

    def _encoded(self, rows: Integers) -> Any:
        """An encoder reads the document of all candidates once."""
        if self.tokens.start is None:
            return None
        inputs, mask = self.tokens.documents.rows(rows, self.tokens.pad)
        encoded = self.loaded.model.get_encoder()(input_ids=inputs, attention_mask=mask.long())
        encoded.last_hidden_state = encoded.last_hidden_state.repeat_interleave(self.count, 0)
        return encoded
