"""The tokenizer of a transformers model, as rote asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rote.core.errors import InputError
from rote.models.tokens.encoding import Encoded, without_gaps
from rote.models.tokens.library import decoded


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
