"""Any causal model of the transformers library (extra `lm`): `transformers:NAME`.

NAME is a folder, a model of the hub, or `model@revision`, such as a checkpoint of its training.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rote.core.model import Continuation, Decoding, Floats, Generated, Model, Prompt, Scored
from rote.core.progress import Once, Reporter
from rote.models.options import ModelOptions
from rote.models.windows import Window, answered, begin, pair

if TYPE_CHECKING:
    from rote.models.hub.computing import HubTokens, Loaded

VERSION = "1"


@dataclass(frozen=True, slots=True)
class Transformers:
    """A loaded model and its tokenizer."""

    loaded: Loaded
    tokens: HubTokens
    batch: int
    tell: Once

    @property
    def signature(self) -> str:
        return self.loaded.signature

    @property
    def limit(self) -> int:
        return self.loaded.longest

    def length(self, text: str) -> int:
        return len(self.tokens.encode(text, special=False).ids)

    def score(self, wanted: Sequence[Continuation]) -> list[Scored]:
        from rote.models.hub.computing import memory_watched, read_windows

        found = [pair(self.tokens, one) for one in wanted]

        def read(some: Sequence[Window]) -> list[Floats]:
            with memory_watched(self.loaded.device):
                return read_windows(self.loaded, some, self.tokens.start)

        return answered(found, self.limit, self.batch, read, self.tell)

    def generate(self, wanted: Sequence[Prompt], decoding: Decoding) -> list[Generated]:
        from rote.models.hub.computing import memory_watched, write

        texts = begin(wanted, decoding, self.tokens, self.loaded.ends, self.limit, self.tell)
        if not texts:
            return []
        with memory_watched(self.loaded.device):
            write(self.loaded, texts, self.tokens.start)
        return [one.done for one in texts if one.done is not None]


def open_model(name: str, options: ModelOptions, reporter: Reporter) -> Model:
    """`transformers:NAME`"""
    from rote.models.hub.computing import hub_tokens, load

    loaded = load(name, options, reporter, VERSION)
    tokens = hub_tokens(loaded.tokenizer, name)
    return Transformers(loaded, tokens, options.batch, Once(reporter))
