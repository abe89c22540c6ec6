"""Originality beside a dictionary of fragments: the linear pass, how it grows, and generated texts.

    python benchmarks/originality.py [TEXTS] [--generated TEXTS]

TEXTS is anything rote reads, with authors (default: ../shared/data/novels_en/all-novels.jsonl.zst,
or both Bibles of the extra `demo`). The peer is the definition as one would write it: all windows
of all sentences, a dictionary from fragments to sources; it runs on the first 20,000
sentences only, and has to find the same. Seconds are processor seconds without annotating,
sorting the index apart; compiling is done before the clock starts. Where threads are named they are
those of the wall.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from rote.annotate import annotators
from rote.core.document import Annotation
from rote.core.layer import concatenate
from rote.corpus import Batch, open_corpus
from rote.index.index import Index
from rote.index.segments.writers import build_memory_segment
from rote.search.originality.algorithm1 import algorithm1
from rote.search.originality.authors import sources_of
from rote.search.originality.edges import edges_of_text
from rote.search.originality.originals import find_originals
from rote.search.originality.reach import GroundTruth
from rote.search.originality.verdicts import find_citations, judge

DEFAULT = Path("../shared/data/novels_en/all-novels.jsonl.zst")
LAYERS = ("lower", "pos")
SENTENCES = 20_000
PARTS = (1 / 8, 1 / 4, 1 / 2, 1)
SEGMENTS = (2, 4, 8, 16)
Piece = tuple[Batch, Annotation]


def clock(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def line(title: str, seconds: float, words: int, rest: str = "") -> None:
    print(
        f"  {title:<46}{seconds:8.2f} s{words / seconds / 1e6:8.2f} M words/s  {rest}", flush=True
    )


def annotated(source: Path) -> list[Piece]:
    annotator = annotators.get("rote")
    held = source if source.exists() else ["bible:kjv", "bible:asv"]
    pieces = []
    for shard in open_corpus(held).shards():
        batch = shard.read()
        pieces.append((batch, annotator(batch.documents, LAYERS)))
    return pieces


def first_sentences(piece: Piece, most: int) -> tuple[Piece, int]:
    """The piece's first documents, so many that they hold about `most` sentences."""
    batch, made = piece
    ends = made.word.text_ends
    sentences = made.word.sentence_ends
    assert sentences is not None
    texts = int((sentences.searchsorted(ends, "right") <= most).sum())
    items, held = int(ends[texts - 1]), int(sentences.searchsorted(ends[texts - 1], "right"))
    cut = {
        name: replace(
            layer,
            ids=layer.ids[:items],
            starts=layer.starts[:items],
            ends=layer.ends[:items],
            text_ends=ends[:texts],
            sentence_ends=sentences[:held],
        )
        for name, layer in made.layers.items()
    }
    small = replace(batch, documents=batch.documents[:texts], lines=batch.lines[:texts])
    return (small, Annotation(cut)), held


def index_of(pieces: list[Piece], segments: int = 1) -> Index:
    size = -(-len(pieces) // segments)
    parts = [pieces[start : start + size] for start in range(0, len(pieces), size)]
    return Index(
        [build_memory_segment(part, layers=LAYERS, sorted_layers=("lower",)) for part in parts]
    )


def dictionary(index: Index, made: Annotation) -> int:
    """How many different fragments have one source, as one would find them."""
    sources = sources_of(index).of[0].tolist()
    edges = edges_of_text(made.word, made.layers["pos"], "tags").tolist()
    lower = made.layers["lower"]
    ids, ends, texts = lower.ids.tolist(), lower.sentence_ends, lower.text_ends
    assert ends is not None
    documents = texts.searchsorted(ends).tolist()
    by: dict[tuple[int, ...], int] = {}  # the only source, or -1 for several
    allowed: set[tuple[int, ...]] = set()
    start = 0
    for stop, document in zip(ends.tolist(), documents):
        for first in range(start, stop):
            for last in range(first + 1, stop):
                fragment = tuple(ids[first : last + 1])
                if by.setdefault(fragment, sources[document]) != sources[document]:
                    by[fragment] = -1
                if edges[first] and edges[last]:
                    allowed.add(fragment)
        start = stop
    return sum(by[fragment] >= 0 for fragment in allowed)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("texts", nargs="?", type=Path, default=DEFAULT)
    options.add_argument("--generated", type=Path, help="texts to judge (default: the last shard)")
    given = options.parse_args()
    pieces = annotated(given.texts)
    small, sentences = first_sentences(pieces[0], SENTENCES)
    index = index_of([small])
    find_originals(index)  # compiles
    words = index.items_held()
    print(f"{sentences:,} sentences, {words:,} words")
    seconds, found = clock(lambda: find_originals(index))
    slow, count = clock(lambda: dictionary(index, small[1]))
    assert found.total.original == count
    line("linear pass", seconds, words, f"{slow / seconds:.0f}x a dictionary")
    algorithm1(index).by_length()
    line("Algorithm 1 as printed", clock(lambda: algorithm1(index).by_length())[0], words)
    print("growth")
    for part in PARTS:
        held = pieces[: max(1, round(len(pieces) * part))]
        seconds, index = clock(lambda held=held: index_of(held))  # type: ignore[misc]
        words = index.items_held()
        line(f"sorting {words:,} words", seconds, words)
        seconds, found = clock(lambda index=index: find_originals(index))  # type: ignore[misc]
        line("linear pass", seconds, words, f"{found.total.original:,} original fragments")
    start = time.perf_counter()
    find_originals(index)
    line(f"linear pass, {index.threads} threads", time.perf_counter() - start, words)
    seconds, _ = clock(lambda: find_originals(index, relax=5))
    line("linear pass, relax 5", seconds, words)
    for segments in SEGMENTS:
        parts = index_of(pieces, segments)
        find_originals(parts)  # joins vocabularies
        seconds, joined = clock(lambda parts=parts: find_originals(parts))  # type: ignore[misc]
        assert joined.by_length == found.by_length
        line(f"linear pass, {len(parts.segments)} segments", seconds, words)
    generated(index, annotated(given.generated) if given.generated else pieces[-1:])


def generated(index: Index, pieces: list[Piece]) -> None:
    """Judging texts against all of the index."""
    layers = {n: concatenate([made.layers[n] for _, made in pieces]) for n in ("word", *LAYERS)}
    edges = edges_of_text(layers["word"], layers["pos"], "tags")
    ground = GroundTruth(index, "lower", sources_of(index))
    judge(ground, small_layer(layers["lower"]), edges[:0])
    words = len(edges)
    seconds, found = clock(lambda: judge(ground, layers["lower"], edges))
    print(f"{words:,} words judged against {index.items_held():,}")
    line("judging", seconds, words, f"{found.fails.mean():.1%} of sentences fail")
    seconds, _ = clock(lambda: find_citations(ground, layers["lower"], found.longest))
    line("citations", seconds, words, f"{len(found.longest):,} fragments cited")


def small_layer(layer: Any) -> Any:
    """No words at all: enough to compile what judging needs."""
    none = layer.text_ends[:0]
    return replace(
        layer,
        ids=layer.ids[:0],
        starts=layer.starts[:0],
        ends=layer.ends[:0],
        text_ends=none,
        sentence_ends=none,
    )


if __name__ == "__main__":
    main()
