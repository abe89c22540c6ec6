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
from rote.core.model import Continuation, Decoding, Floats, Generated, Model, Prompt, Scored
from rote.core.progress import Once, Reporter
from rote.models.options import ModelOptions
from rote.models.windows import Window, answered, begin, pair, uncut

if TYPE_CHECKING:
    from rote.models.hub.computing import HubTokens, Loaded

VERSION = "1"
_GGUF = "gguf:"


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
        return self._scored(wanted, None)

    def drawn(self, wanted: Sequence[Continuation], decoding: Decoding) -> list[Scored]:
        return self._scored(wanted, decoding)

    def _scored(self, wanted: Sequence[Continuation], decoding: Decoding | None) -> list[Scored]:
        from rote.models.hub.computing import memory_watched, read_windows

        found = [pair(self.tokens, one) for one in wanted]

        def read(some: Sequence[Window]) -> list[Floats]:
            with memory_watched(self.loaded.device):
                return read_windows(self.loaded, some, self.tokens.start, decoding)

        return answered(found, self.limit, self.batch, read, self.tell)

    def near(
        self, wanted: Sequence[Continuation], decoding: Decoding, edits: int, beams: int
    ) -> list[float]:
        from rote.models.hub.computing import memory_watched
        from rote.models.hub.nearly import search_near

        found = []
        for one in uncut(self.tokens, wanted, self.limit):
            with memory_watched(self.loaded.device):
                found.append(search_near(self.loaded, one.ids, one.first, decoding, edits, beams))
        return found

    def generate(self, wanted: Sequence[Prompt], decoding: Decoding) -> list[Generated]:
        from rote.models.hub.computing import memory_watched, write

        texts = begin(wanted, decoding, self.tokens, self.loaded.ends, self.limit, self.tell)
        if not texts:
            return []
        with memory_watched(self.loaded.device):
            write(self.loaded, texts, self.tokens.start)
        return [one.done for one in texts if one.done is not None]


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
            "an encoder-decoder continues no text, so it gives no scores: name a decoder-only model"
        )

    def generate(self, wanted: Sequence[Prompt], decoding: Decoding) -> list[Generated]:
        from rote.models.hub.computing import memory_watched
        from rote.models.training.writing import Searching, write

        if decoding.sampled or decoding.stop:
            raise OptionError(
                "an encoder-decoder is searched with --beams: it takes no --temperature, no --stop"
            )
        if not wanted:
            return []
        if any(not one.text.strip() for one in wanted):
            raise InputError("an empty document has no summary", remedy="Leave it out")
        if any(self.length(one.text) > self.limit for one in wanted):
            self.tell(f"documents are cut to the {self.limit:,} tokens that the model reads")
        how = Searching(decoding.beams, decoding.max_tokens, self.limit)
        with memory_watched(self.loaded.device):
            made = write(self.loaded, [one.text for one in wanted], how)
        return [
            Generated(own.text, own.tokens, "end" if own.ended else "length") for own, *_ in made
        ]


def open_model(name: str, options: ModelOptions, reporter: Reporter) -> Model:
    """`transformers:NAME`"""
    from rote.models.hub.computing import hub_tokens, load, load_gguf

    if name.startswith(_GGUF):
        loaded = load_gguf(name.removeprefix(_GGUF), options, reporter, VERSION)
    else:
        loaded = load(name, options, reporter, VERSION)
    if loaded.model.config.is_encoder_decoder:
        return EncoderDecoder(loaded, options.batch, Once(reporter))
    tokens = hub_tokens(loaded.tokenizer, name)
    return Transformers(loaded, tokens, options.batch, Once(reporter))
