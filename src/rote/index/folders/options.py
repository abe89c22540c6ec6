"""What can be chosen when an index is built, and how it is written on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from rote.core.errors import OptionError
from rote.core.metric import OptionSet, engine_option, option
from rote.index.grams import MAX_POSITIONS

SUBWORDS = "subwords"
MEANING = "meaning"
DEFAULT_EMBEDDER = "minilm"
BYTES_PER_POSITION = 17
"""Memory that writing a segment may take for each place of its stream, input included."""

_MAX_RESERVED = 2**30


@dataclass(frozen=True, slots=True)
class BuildOptions(OptionSet):
    SECTION: ClassVar[str] = "Index"
    layers: tuple[str, ...] = option(
        ("lower", "pos"),
        "Layers to count over; `word` is always stored for display. subwords:PATH/tokenizer.json "
        "for a tokenizer's subwords, meaning or meaning:EMBEDDER for a vector of each sentence",
    )
    annotator: str = option("rote", "Annotator: rote, spacy:MODEL, stanza:LANG, given")
    author_field: str = option("author", "Field with a document's author", metavar="FIELD")
    memory: int = option(4 * 2**30, "Memory for building; larger segments answer faster", size=True)
    compact: bool = option(
        False, "Store sorted layers in about half the space: same answers, several times slower"
    )
    jobs: int = option(1, "Number of cores; results do not depend on it")
    engine: str | None = engine_option()


@dataclass(frozen=True, slots=True)
class ChosenLayers:
    """Layers as they were asked for: those of the annotator, and a tokenizer's file if any."""

    layers: tuple[str, ...]
    tokenizer: Path | None = None
    embedder: str | None = None
    """Who makes a vector of each sentence, if there are to be some."""

    @property
    def names(self) -> tuple[str, ...]:
        return self.layers if self.tokenizer is None else (*self.layers, SUBWORDS)


def parse_layers(layers: Sequence[str]) -> ChosenLayers:
    """Read the names of layers; `subwords:PATH` is the layer `subwords` by that file, and
    `meaning:EMBEDDER` the vectors of sentences by that embedder."""
    embedders = [name for name in layers if name.partition(":")[0] == MEANING]
    if len(set(embedders)) > 1:
        raise OptionError("an index can have only one layer of meanings: give one embedder")
    embedder = (embedders[0].partition(":")[2] or DEFAULT_EMBEDDER) if embedders else None
    layers = [name for name in layers if name not in embedders]
    files = [name for name in layers if name.partition(":")[0] == SUBWORDS]
    if len(files) > 1:
        raise OptionError("an index can have only one layer of subwords: give one tokenizer.json")
    if files and not files[0].partition(":")[2]:
        raise OptionError(
            "the layer 'subwords' needs a tokenizer: write it as subwords:PATH/tokenizer.json"
        )
    annotated = tuple(dict.fromkeys(name for name in layers if name not in files))
    if not annotated and not files and not embedder:
        raise OptionError("an index needs at least one layer, such as lower")
    return ChosenLayers(annotated, Path(files[0].partition(":")[2]) if files else None, embedder)


def max_positions(memory: int) -> int:
    """How long the stream of one segment may be within this much memory."""
    if memory <= 0:
        raise OptionError(f"building needs memory: {memory} bytes are not enough")
    # What is there before the first word: the interpreter, the kernels, the models of two workers.
    reserved = min(memory // 4, _MAX_RESERVED)
    return max(1, min((memory - reserved) // BYTES_PER_POSITION, MAX_POSITIONS))
