"""Summaries by beam search, and the candidates that calibration ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rote.models.training.objectives import half_precision
from rote.models.training.pairs import PROMPT


@dataclass(frozen=True, slots=True)
class Searching:
    """How summaries are looked for."""

    beams: int = 4
    max_tokens: int = 64
    longest: int = 512
    """Tokens of a document that are read."""
    candidates: int = 1
    diversity: float = 0.0
    """Taken off the log-probability of a token for each other candidate that has it at the same
    place (diverse beam search, one beam in a group); 0: plain beam search."""


@dataclass(frozen=True, slots=True)
class Written:
    text: str
    tokens: int
    ended: bool


def write(loaded: Any, documents: Sequence[str], how: Searching) -> list[list[Written]]:
    """One batch: of each document its summaries, the likeliest first."""
    import torch

    tokenizer, model = loaded.tokenizer, loaded.model
    paired = bool(model.config.is_encoder_decoder)
    limit = min(how.longest, loaded.longest if paired else loaded.longest - how.max_tokens)
    read = [list(row) for row in tokenizer(list(documents), verbose=False)["input_ids"]]
    if paired:
        read = [row[: limit - 1] + row[limit - 1 :][-1:] for row in read]
    else:
        prompt = list(tokenizer(PROMPT, add_special_tokens=False)["input_ids"])
        read = [row[: limit - len(prompt)] + prompt for row in read]
    pad, end = tokenizer.pad_token_id, tokenizer.eos_token_id
    pad = end if pad is None else pad
    width = max(map(len, read))
    rows = [[pad] * (width - len(row)) * (not paired) + row for row in read]
    masks = [[0] * (width - len(row)) * (not paired) + [1] * len(row) for row in read]
    ids = torch.tensor([row + [pad] * (width - len(row)) for row in rows], device=loaded.device)
    mask = torch.tensor([row + [0] * (width - len(row)) for row in masks], device=loaded.device)
    more: dict[str, Any] = {"num_beams": max(how.beams, how.candidates)}
    if how.diversity:
        ids, mask = (one.repeat_interleave(how.candidates, 0) for one in (ids, mask))
        more = {"num_beams": 1, "logits_processor": [_apart(how, 1 if paired else width, end)]}
    elif more["num_beams"] > 1:
        more |= {"length_penalty": 1.0, "early_stopping": True}
        more |= {"num_return_sequences": how.candidates}
    with torch.inference_mode(), half_precision(loaded.device):
        made = model.generate(
            input_ids=ids,
            attention_mask=mask,
            do_sample=False,
            max_new_tokens=how.max_tokens,
            pad_token_id=pad,
            **more,
        )
    first = 1 if paired else width
    found = []
    for row in made[:, first:].tolist():
        ended = end in row
        row = row[: row.index(end)] if ended else row
        text = tokenizer.decode(row, skip_special_tokens=True)
        found.append(Written(text.strip(), len(row) + ended, ended))
    return [found[at : at + how.candidates] for at in range(0, len(found), how.candidates)]


def _apart(how: Searching, first: int, end: int) -> Any:
    """Groups of one beam each choose in turn; what an earlier one has chosen costs the later."""
    count = how.candidates

    def process(ids: Any, scores: Any) -> Any:
        import torch

        rows = torch.log_softmax(scores.float(), -1).view(-1, count, scores.shape[-1])
        on = (ids[:, first:] != end).all(1).view(-1, count)
        taken = torch.zeros_like(rows[:, 0])
        made = torch.empty_like(rows)
        for group in range(count):
            made[:, group] = rows[:, group] - how.diversity * taken
            chosen = made[:, group].argmax(-1, keepdim=True)
            taken.scatter_add_(1, chosen, on[:, group : group + 1].to(taken.dtype))
        return made.view_as(scores)

    return process
