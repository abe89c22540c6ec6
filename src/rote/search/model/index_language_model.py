"""The back-off model of an index behind the contract of language models (`core.model.Model`).

A token is an item of the index, with the white space before it. Nothing is random but the draws
and nothing is trained: a text of the index is likely because it stands there. So this is the
model to try a measure on when every word of the training data has to be known, and the baseline
that a real model has to beat.

Items as text: capitals and spaces as the index has them where the same words stand.
An item of the layer `lower` has no capitals, and no item knows whether a space stands before it.
Both are looked up where the item stands behind the longest part of its context that is in the
index, by the majority of a sample of these positions. So a sentence begins with a capital because
sentences in the index do, and a comma has no space before it for the same reason.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np

from rote.core.decoding import choose, generator
from rote.core.errors import OptionError
from rote.core.layer import Layer
from rote.core.model import Continuation, Decoding, Generated, Model, Prompt, Scored
from rote.index.columns.layer_column import LayerColumn
from rote.index.grams import ABSENT, END
from rote.index.index import Index
from rote.index.segments.segment import WORD
from rote.search.model.back_off import BackOff

_SAMPLE = 64
"""Positions that are looked at in each segment."""


class Spelling:
    """How an item is written behind a context."""

    def __init__(self, model: BackOff) -> None:
        index, layer = model.index, model.layer
        self._model = model
        self._columns = index.columns(layer)
        self._lookups = index.lookups(layer)
        # The words as they were written align with those of the layer.
        display_layer = WORD if WORD in index.layers else layer
        self._spelled_columns: Sequence[LayerColumn] = index.columns(display_layer)

    def spell(self, context: Sequence[int], item: int) -> tuple[str, str]:
        """What stands between the item before and this one (a space or nothing), and the item."""
        if not context and (spellings := Counter(self._at_starts(item))):
            return "", spellings.most_common(1)[0][0][1]
        length, ranges = 0, self._ranges([item])
        while length < min(len(context), self._model.longest):
            longer = self._ranges([*context[len(context) - length - 1 :], item])
            if not longer:
                break
            length, ranges = length + 1, longer
        gap, word = self._majority(ranges, length)
        return gap if context else "", word

    def _ranges(self, run: Sequence[int]) -> list[tuple[int, int, int]]:
        """The segments that hold a run, and where it stands among their sorted positions."""
        ranges = []
        for segment, lookup in enumerate(self._lookups):
            segment_run = self._model.to_segment(segment, run)
            low, high = (0, 0) if ABSENT in segment_run else lookup.range(segment_run)
            if low < high:
                ranges.append((segment, low, high))
        return ranges

    def _majority(self, ranges: Sequence[tuple[int, int, int]], length: int) -> tuple[str, str]:
        spellings: Counter[tuple[str, str]] = Counter()
        for segment, low, high in ranges:
            suffixes = self._columns[segment].suffixes
            assert suffixes is not None
            count = min(high - low, _SAMPLE)
            ranks = low + (high - low) * np.arange(count, dtype=np.int64) // count
            spellings.update(self._spellings_at(segment, suffixes.order.take(ranks) + length))
        return spellings.most_common(1)[0][0]

    def _at_starts(self, item: int) -> Iterator[tuple[str, str]]:
        """Where a document begins with the item."""
        for segment, column in enumerate(self._columns):
            ends = column.document_ends
            starts = np.append(np.int64(0), ends + 1)[: len(ends)]
            number = self._model.to_segment(segment, [item])[0]
            yield from self._spellings_at(
                segment, starts[column.ids.take(starts) == number][:_SAMPLE]
            )

    def _spellings_at(self, segment: int, positions: np.ndarray) -> Iterator[tuple[str, str]]:
        column = self._spelled_columns[segment]
        spans = self._model.index.segments[segment].positions_of(column.name).spans
        starts, _ = spans.spans(positions)
        # The item before; that of a document's first is its end, which stands at 0.
        _, ends = spans.spans(np.maximum(positions - 1, 0))
        for number, start, end in zip(column.ids.take(positions).tolist(), starts, ends):
            yield " " if start > end else "", column.vocabulary[number]


_LAYERS = ("word", "lower")
"""Layers that can be written down, the better one first."""


class IndexLanguageModel:
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
        layer = self._index.layer_of(
            [continuation.context + continuation.text for continuation in wanted], self._layer
        )
        return [
            self._score_text(layer, i, len(continuation.context))
            for i, continuation in enumerate(wanted)
        ]

    def generate(self, wanted: Sequence[Prompt], decoding: Decoding) -> list[Generated]:
        layer = self._index.layer_of([prompt.text for prompt in wanted], self._layer)
        return [
            self._continue_prompt(self._model.numbers(layer.items(i)), prompt, decoding)
            for i, prompt in enumerate(wanted)
        ]

    def _score_text(self, layer: Layer, text: int, before: int) -> Scored:
        """The tokens of one text that end behind its first `before` characters."""
        items, spans = self._model.numbers(layer.items(text)), layer.spans(text)
        rows: list[tuple[float, int, int, bool, float, float]] = []
        last = 0
        for i, (_, end) in enumerate(spans):
            if end > before:
                mixture = self._model.after(items[:i])
                rows.append(
                    (
                        float(np.log(mixture.chance(items[i]))),
                        max(0, last - before),
                        end - before,
                        items[i] == mixture.best,
                        mixture.expected,
                        mixture.spread,
                    )
                )
            last = end
        return Scored.of(rows)

    def _continue_prompt(self, context: list[int], prompt: Prompt, decoding: Decoding) -> Generated:
        random = generator(prompt)
        # The space after a prompt is there already, or there is no prompt to be kept apart from.
        spaced = not prompt.text or prompt.text[-1:].isspace()
        text = ""
        for tokens in range(1, decoding.max_tokens + 1):
            mixture = self._model.after(context)
            # The likeliest is known without looking at the whole vocabulary.
            item = mixture.best
            if decoding.sampled:
                item = choose(np.log(mixture.all()), decoding, random)
            if item == END:
                return Generated(text, tokens, "end")
            gap, word = self._spelling.spell(context, item)
            text += word if spaced and not text else gap + word
            context.append(item)
            stops = [text.index(stop) for stop in decoding.stop if stop in text]
            if stops:
                return Generated(text[: min(stops)], tokens, "stop")
        return Generated(text, decoding.max_tokens, "length")


def open_index_model(path: str) -> Model:
    """The model of an index folder; `FOLDER#lower` names the layer that it speaks."""
    from rote.index.factory import open_index
    from rote.index.folders.manifest import is_index, read_manifest

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
    # looked up at a sample of positions), so that is part of the name too.
    made_of = [
        manifest.fingerprint,
        manifest.signature,
        [listed.record.documents for listed in manifest.segments],
    ]
    digest = blake2b(json.dumps(made_of).encode(), digest_size=6).hexdigest()
    name = Path(folder).resolve().name
    return IndexLanguageModel(open_index(folder), layer or can[0], f"{name}-{digest}")
