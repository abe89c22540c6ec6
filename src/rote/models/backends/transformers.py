"""Any language model of the transformers library (extra `lm`): `transformers:NAME`.

Decoders continue a text; encoder-decoders read a text, a document, and write another. NAME
is a folder, a model of the hub, or `model@revision`, such as a checkpoint of its training;
`gguf:FILE` or `gguf:PACKAGE` is what `backends.gguf` runs by numpy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rote.core.errors import InputError, OptionError
from rote.core.model import (
    Continuation,
    Decoding,
    Floats,
    Generated,
    Message,
    Model,
    Prompt,
    Scored,
)
from rote.core.progress import Once, Reporter
from rote.models.chat import render
from rote.models.options import ModelOptions
from rote.models.windows import Window, encode_pair, encode_uncut, score_pairs, start_texts

if TYPE_CHECKING:
    from rote.models.hub_models import HubTokens, Loaded

VERSION = "2"
_GGUF = "gguf:"


@dataclass(frozen=True, slots=True)
class Transformers:
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

    @property
    def chat_form(self) -> str | None:
        return self.loaded.template.signature if self.loaded.template else None

    def render(self, messages: Sequence[Message]) -> str:
        return render(self.loaded.template, messages)

    def length(self, text: str) -> int:
        return len(self.tokens.encode(text, special=False).ids)

    def score(self, wanted: Sequence[Continuation]) -> list[Scored]:
        return self._scored(wanted, None)

    def drawn(self, wanted: Sequence[Continuation], decoding: Decoding) -> list[Scored]:
        return self._scored(wanted, decoding)

    def _scored(self, wanted: Sequence[Continuation], decoding: Decoding | None) -> list[Scored]:
        from rote.models.hub_models import read_windows, watch_memory

        pairs = [encode_pair(self.tokens, request) for request in wanted]

        def read(some: Sequence[Window]) -> list[Floats]:
            with watch_memory(self.loaded.device):
                return read_windows(self.loaded, some, self.tokens.start, decoding)

        return score_pairs(pairs, self.limit, self.batch, read, self.tell)

    def near(
        self, wanted: Sequence[Continuation], decoding: Decoding, edits: int, beams: int
    ) -> list[float]:
        from rote.models.hub_models import search_near, watch_memory

        bounds = []
        for part in encode_uncut(self.tokens, wanted, self.limit):
            place = part.ids, part.first
            with watch_memory(self.loaded.device):
                bounds.append(search_near(self.loaded, *place, decoding, edits, beams))
        return bounds

    def generate(self, wanted: Sequence[Prompt], decoding: Decoding) -> list[Generated]:
        from rote.models.hub_models import watch_memory, write

        texts = start_texts(
            wanted, decoding, self.tokens, self.loaded.ends, self.limit, self.tell, self.render
        )
        if not texts:
            return []
        with watch_memory(self.loaded.device):
            write(self.loaded, texts, self.tokens.start)
        return [text.done for text in texts if text.done is not None]


@dataclass(frozen=True, slots=True)
class EncoderDecoder:
    """A model that writes a text about the one that it is given, by beam search."""

    loaded: Loaded
    batch: int
    tell: Once
    searches: ClassVar[bool] = True

    @property
    def signature(self) -> str:
        return self.loaded.signature

    @property
    def limit(self) -> int:
        return self.loaded.longest

    def length(self, text: str) -> int:
        return len(self.loaded.tokenizer(text, verbose=False)["input_ids"])

    def score(self, wanted: Sequence[Continuation]) -> list[Scored]:
        raise OptionError(
            "an encoder-decoder does not continue texts, so it gives no scores: name a "
            "decoder-only model"
        )

    def generate(self, wanted: Sequence[Prompt], decoding: Decoding) -> list[Generated]:
        from rote.models.hub_models import watch_memory
        from rote.models.training.summarizer import Searching, write

        if decoding.sampled or decoding.stop:
            raise OptionError(
                "an encoder-decoder is searched with --beams: it takes no --temperature, no --stop"
            )
        if not wanted:
            return []
        if any(not prompt.text.strip() for prompt in wanted):
            raise InputError("an empty document has no summary", remedy="Leave it out")
        if any(self.length(prompt.text) > self.limit for prompt in wanted):
            self.tell(f"documents are truncated to the {self.limit:,} tokens that the model reads")
        how = Searching(decoding.beams, decoding.max_tokens, self.limit)
        with watch_memory(self.loaded.device):
            summaries = write(self.loaded, [prompt.text for prompt in wanted], how)
        return [
            Generated(summary.text, summary.tokens, "end" if summary.ended else "length")
            for summary, *_ in summaries
        ]


def open_model(name: str, options: ModelOptions, reporter: Reporter) -> Model:
    """`transformers:NAME`"""
    from rote.models.hub_models import hub_tokens, load, load_gguf

    if name.startswith(_GGUF):
        loaded = load_gguf(name.removeprefix(_GGUF), options, reporter, VERSION)
    else:
        loaded = load(name, options, reporter, VERSION)
    if loaded.model.config.is_encoder_decoder:
        return EncoderDecoder(loaded, options.batch, Once(reporter))
    tokens = hub_tokens(loaded.tokenizer, name)
    return Transformers(loaded, tokens, options.batch, Once(reporter))
