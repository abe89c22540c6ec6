"""The back-off model of an index behind the contract of language models (`core.model.Model`).

A token is an item of the index, with the white space before it. Nothing is random but the draws
and nothing is trained: a text of the index is likely because it stands there. So this is the
model to try a measure on when every word of the training data has to be known, and the baseline
that a real model has to beat.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np

from rote.core.choosing import choose, generator
from rote.core.errors import OptionError
from rote.core.layer import Layer
from rote.core.model import Continuation, Decoding, Generated, Model, Prompt, Scored
from rote.index.columns.parts import END
from rote.index.index import Index
from rote.search.model.back_off import BackOff
from rote.search.model.spelling import Spelling

_LAYERS = ("word", "lower")
"""Layers that can be written down, the better one first."""


class Speaker:
    """An index that scores and continues texts."""

    batch = 1024
    """Nothing is gained by large batches, and one that is not finished is lost by a kill."""
    limit: int | None = None
    """Any text may be as long as it likes."""

    def __init__(self, index: Index, layer: str, name: str) -> None:
        self._index, self._layer = index, layer
        self._model = BackOff(index, layer)
        self._model.after([])  # an index without documents is refused at once
        self._spelling = Spelling(self._model)
        self._name = name

    @property
    def signature(self) -> str:
        return f"index/1-{self._name}-{self._layer}-{self._model.signature}"

    def length(self, text: str) -> int:
        return len(text.split())

    def score(self, wanted: Sequence[Continuation]) -> list[Scored]:
        layer = self._index.layer_of([one.context + one.text for one in wanted], self._layer)
        return [self._scored(layer, i, len(one.context)) for i, one in enumerate(wanted)]

    def generate(self, wanted: Sequence[Prompt], decoding: Decoding) -> list[Generated]:
        layer = self._index.layer_of([one.text for one in wanted], self._layer)
        return [
            self._generated(self._model.numbers(layer.items(i)), one, decoding)
            for i, one in enumerate(wanted)
        ]

    def _scored(self, layer: Layer, text: int, before: int) -> Scored:
        """The tokens of one text that end behind its first `before` characters."""
        items, spans = self._model.numbers(layer.items(text)), layer.spans(text)
        rows: list[tuple[float, int, int, bool, float, float]] = []
        last = 0
        for i, (_, end) in enumerate(spans):
            if end > before:
                found = self._model.after(items[:i])
                rows.append(
                    (
                        float(np.log(found.chance(items[i]))),
                        max(0, last - before),
                        end - before,
                        items[i] == found.best,
                        found.expected,
                        found.spread,
                    )
                )
            last = end
        return Scored.of(rows)

    def _generated(self, context: list[int], prompt: Prompt, decoding: Decoding) -> Generated:
        random = generator(prompt)
        # The space after a prompt is there already, or there is no prompt to be kept apart from.
        spaced = not prompt.text or prompt.text[-1:].isspace()
        text = ""
        for tokens in range(1, decoding.max_tokens + 1):
            found = self._model.after(context)
            # The likeliest is known without looking at the whole vocabulary.
            item = found.best
            if decoding.sampled:
                item = choose(np.log(found.all()), decoding, random)
            if item == END:
                return Generated(text, tokens, "end")
            gap, word = self._spelling.written(context, item)
            text += word if spaced and not text else gap + word
            context.append(item)
            stops = [text.index(stop) for stop in decoding.stop if stop in text]
            if stops:
                return Generated(text[: min(stops)], tokens, "stop")
        return Generated(text, decoding.max_tokens, "length")


def open_speaker(path: str) -> Model:
    """The model of an index folder; `FOLDER#lower` names the layer that it speaks."""
    from rote.index.folders.folder import read_manifest
    from rote.index.folders.manifest import is_index
    from rote.index.opening import open_index

    folder, _, layer = path, "", ""
    if not is_index(Path(path)) and "#" in path:
        folder, _, layer = path.rpartition("#")
    manifest = read_manifest(Path(folder))
    can = [name for name in _LAYERS if name in manifest.sorted_layers]
    if layer and layer not in _LAYERS:
        raise OptionError(
            f"an index speaks in words: its layer is {' or '.join(_LAYERS)}, not '{layer}'"
        )
    if not can or (layer and layer not in can):
        raise OptionError(
            f"{folder} has no sorted layer {layer or ' or '.join(_LAYERS)} to speak in. Add it "
            f"with: rote index add-layer {folder} {layer or 'lower'}"
        )
    # What is written may depend on how the documents are spread over segments (capitals are
    # looked up at a sample of places), so that is part of the name too.
    made_of = [
        manifest.fingerprint,
        manifest.signature,
        [listed.record.documents for listed in manifest.segments],
    ]
    digest = blake2b(json.dumps(made_of).encode(), digest_size=6).hexdigest()
    name = Path(folder).resolve().name
    return Speaker(open_index(folder), layer or can[0], f"{name}-{digest}")
