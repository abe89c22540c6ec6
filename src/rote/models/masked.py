"""A masked language model: which words could stand in the place of one (extra `lm`)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from rote.core.errors import MissingExtra, OptionError

_BATCH = 32
_LOOKED_AT = 20
"""Guesses among which the first that is another word is taken."""
_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Masked:
    """A model of transformers with a mask token."""

    tokenizer: Any
    model: Any

    def other_words(self, texts: Sequence[str], places: Sequence[tuple[int, int]]) -> list[str]:
        """For each text the likeliest other word at these characters; "" where there is none."""
        found: list[str] = []
        for start in range(0, len(texts), _BATCH):
            some = list(zip(texts, places))[start : start + _BATCH]
            found += self._batch(some)
        return found

    def _batch(self, some: Sequence[tuple[str, tuple[int, int]]]) -> list[str]:
        import torch

        mask = self.tokenizer.mask_token
        masked = [text[:first] + mask + text[last:] for text, (first, last) in some]
        given = self.tokenizer(masked, return_tensors="pt", padding=True, truncation=True)
        with torch.no_grad():
            logits = self.model(**given).logits
        words = []
        for row, (text, (first, last)) in enumerate(some):
            at = (given["input_ids"][row] == self.tokenizer.mask_token_id).nonzero()
            # A mask beyond what the model reads was cut off.
            guesses = logits[row, at[0, 0]].topk(_LOOKED_AT).indices.tolist() if len(at) else []
            told = (self.tokenizer.decode([guess]).strip() for guess in guesses)
            own = text[first:last].lower()
            fitting = (word for word in told if _WORD.fullmatch(word) and word.lower() != own)
            words.append(next(fitting, ""))
        return words


def open_masked(name: str) -> Masked:
    """A masked model by its name or folder."""
    for package in ("torch", "transformers"):  # transformers alone would begin to look for files
        if find_spec(package) is None:
            raise MissingExtra(package, "lm", "A masked model")
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=False)
        model = AutoModelForMaskedLM.from_pretrained(name, trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise OptionError(f"no masked model '{name}': {str(error).splitlines()[0]}") from None
    if tokenizer.mask_token is None:
        raise OptionError(f"'{name}' has no mask token: it is no masked model")
    return Masked(tokenizer, model.eval())
