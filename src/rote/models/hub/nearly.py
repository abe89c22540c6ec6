"""The beam search of `models.near` over a model of the transformers library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rote.core.choosing import Logits
from rote.core.model import Decoding
from rote.models.hub.computing import model_inputs
from rote.models.near import near

if TYPE_CHECKING:
    from rote.models.hub.computing import Loaded


def search_near(
    loaded: Loaded, ids: Sequence[int], first: int, decoding: Decoding, edits: int, beams: int
) -> float:
    """The bound of `models.near` for the tokens from `first` on."""
    import torch

    past: Any = None
    length = 0

    def read(rows: Any) -> Logits:
        nonlocal past, length
        length += rows.shape[1]
        mask = torch.ones((rows.shape[0], length), dtype=torch.long)
        given = model_inputs(loaded, rows, mask) | {"use_cache": True}
        if past is not None:
            given["past_key_values"] = past
        with torch.inference_mode():
            answer = loaded.model(**given)
        past = answer.past_key_values
        found: Logits = answer.logits[:, -1].float().cpu().numpy()
        return found

    def step(parents: list[int], tokens: list[int]) -> Logits:
        past.batch_select_indices(torch.tensor(parents, device=loaded.device))
        return read(torch.tensor(tokens)[:, None])

    begin = read(torch.tensor([list(ids[:first])]))
    return near(ids[first:], begin, step, decoding, edits, beams)
