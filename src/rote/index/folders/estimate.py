"""What building an index will take, told before it starts: from a sample of the input.

The first shards are read and their words counted; the rest is taken to be like them. The
constants were measured on English novels; they are meant to plan by.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from rote.annotate import annotators, words
from rote.annotate.layers import DERIVED
from rote.annotate.store import Store
from rote.core.progress import duration, several
from rote.corpus import Corpus
from rote.index.folders.options import BYTES_PER_PLACE, SUBWORDS, BuildOptions, choose, most_places
from rote.run import get

_SAMPLED_SHARDS = 2
_SAMPLED_CHARACTERS = 2 * 2**20
_TOKENIZER = "ud"  # the fastest; others differ from it by a few words in a hundred

# Bits of an item's number, by layer; other layers are like words.
_BITS = {"pos": 6, "upos": 5, "dep": 6, "entity": 5}
_WORD_BITS = 17
# Bytes for each word in a compact layer of words, more than of any other.
_COMPACT = 2.3
# Bytes for each word: words for display, spans, sentence ends, and compressed text.
_DISPLAYED, _TEXT = 3.4, 1.9
_PIECE = 4.5
_DOCUMENT = 150
# Words per second and core.
_ANNOTATED = {"trees": 100_000, "tags": 350_000, "words": 1_500_000}
_STORED = 3_000_000
_SORTED = 6_000_000
# What a process takes before it has read anything, and for the shards in its hands.
_PROCESS = 300 * 2**20


@dataclass(frozen=True, slots=True)
class Plan:
    """Figures to expect; `memory`, `disk` and `scratch` (gone afterwards) in bytes.

    `seconds` is nan where nothing is known of the annotator's speed; `least` is memory that is
    needed however small the segments are, `allowed` what may be used.
    """

    documents: int
    tokens: int
    segments: int
    memory: int
    disk: int
    scratch: int
    seconds: float
    least: int
    allowed: int

    def lines(self) -> list[str]:
        """For a person."""
        if not self.tokens:
            return ["no estimate: the beginning of the input has no texts that are taken"]
        segments = several(self.segments, "segment")
        lines = [
            f"about {_count(self.documents, 'document')} and {_count(self.tokens, 'word')}, in "
            f"{segments}",
            f"about {_bytes(self.memory)} of memory, {_bytes(self.disk)} on disk, and "
            f"{_bytes(self.scratch)} more while it is built",
        ]
        if self.least > self.allowed:
            lines.append(
                f"at least about {_bytes(self.least)} of memory are needed whatever is allowed "
                f"({_bytes(self.allowed)})"
            )
        if not math.isnan(self.seconds):
            lines.append(f"about {duration(max(1, self.seconds))}")
        return lines


def estimate(source: Corpus | Store, options: BuildOptions) -> Plan:
    """Look at the start of the input and say what all of it will take."""
    jobs = get(options.engine, options.jobs).jobs
    layers = choose(options.layers).names
    if isinstance(source, Store):
        documents, tokens = source.documents, source.words
        annotating = tokens / _STORED
    else:
        documents, tokens = _counted(source)
        annotating = tokens / _speed(options.annotator, layers) / jobs
    limit = most_places(options.memory)
    places = documents + tokens
    in_hand = min(places, limit)
    order = max(1, in_hand).bit_length() / 8
    each = [_COMPACT if options.compact else _layer_bytes(layer, order) for layer in layers]
    # The last segment is sorted when all is annotated, the others beside the annotating.
    sorting = tokens * len(layers) / _SORTED
    least = (options.jobs + (options.jobs > 1)) * _PROCESS
    return Plan(
        documents=documents,
        tokens=tokens,
        segments=-(-places // limit),
        memory=in_hand * BYTES_PER_PLACE + least,
        disk=round(tokens * (_DISPLAYED + _TEXT + sum(each)) + documents * _DOCUMENT),
        scratch=0 if isinstance(source, Store) else round(min(tokens, 2 * limit) * _PIECE),
        seconds=annotating + sorting,
        least=least,
        allowed=options.memory,
    )


def _layer_bytes(layer: str, order: float) -> float:
    """Of each word: its number, unless that follows from the word; its sorted place; a table."""
    if layer in DERIVED:
        return order * 1.4 + 0.1
    return _BITS.get(layer, _WORD_BITS) / 8 + order * 1.2


def _counted(corpus: Corpus) -> tuple[int, int]:
    """Documents and words of the whole, by the share of the input that was looked at."""
    read = documents = tokens = 0.0
    for _, shard in zip(range(_SAMPLED_SHARDS), corpus.shards()):
        batch = shard.read()
        read += shard.size
        documents += len(batch.documents)
        texts, characters = [], 0
        for document in batch.documents:
            texts.append(document.text[: _SAMPLED_CHARACTERS - characters])
            characters += len(texts[-1])
            if characters >= _SAMPLED_CHARACTERS:
                break
        found = words.get(_TOKENIZER)(texts)
        whole = sum(len(document.text) for document in batch.documents)
        tokens += len(found.ids) * whole / max(1, characters)
    share = corpus.size / read if read else 0.0
    return round(documents * share), round(tokens * share)


def _speed(annotator: str, layers: tuple[str, ...]) -> float:
    if annotator != annotators.DEFAULT or SUBWORDS in layers:
        return math.nan
    if any(layer.startswith("dep") for layer in layers):
        return _ANNOTATED["trees"]
    return _ANNOTATED["words" if set(layers) <= {"word", "lower", "shape"} else "tags"]


def _count(number: int, noun: str) -> str:
    return f"{number / 1e6:,.1f} million {noun}s" if number >= 1e6 else several(number, noun)


def _bytes(number: int) -> str:
    if number < 1e6:
        return f"{number / 1e3:,.0f} kB"
    return f"{number / 1e9:,.1f} GB" if number >= 1e9 else f"{number / 1e6:,.0f} MB"
