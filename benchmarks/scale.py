"""How building and asking an index grow with the corpus: 16 million to a billion words.

    python benchmarks/scale.py [--words 16e6,160e6] [--memory 4G] [--compact] [--folder DIR] [TEXTS]

Builds indexes of the layer `lower`, with the words it follows from, and asks them. A corpus
larger than TEXTS is made of copies of it in which 30 % of the words are replaced by others drawn
by frequency, so that it does not repeat itself. Seconds are processor seconds of one core, unless
they are called wall.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rote.annotate import words
from rote.core.document import Document
from rote.core.layer import Layer
from rote.core.numbers import parse_memory
from rote.corpus import open_corpus
from rote.index.folders.options import max_positions
from rote.index.grams import Grams
from rote.index.index import Index
from rote.index.segments.part import FolderTarget
from rote.index.segments.segment import LayerForms, SegmentRecord, open_segment
from rote.index.segments.writers import AnnotatedDocuments, write_pieces

DEFAULT = Path("../shared/data/novels_en/all-novels.jsonl.zst")
CHANGED = 0.3
QUERIES, TEXT = 1_000_000, 200_000
Stream = NDArray[np.int32]


def read(source: Path) -> tuple[Stream, list[str]]:
    """The texts as one stream of words, each text followed by a 0, and its vocabulary."""
    corpus = open_corpus(source if source.exists() else ["bible:kjv", "bible:asv"])
    cut = words.get()
    batches = [[d.text for d in shard.read().documents] for shard in corpus.shards()]
    layers = [cut(texts) for texts in batches]
    strings = sorted({entry for layer in layers for entry in layer.vocabulary})
    number = {string: i for i, string in enumerate(strings, 1)}
    parts = []
    for layer in layers:
        table = np.array([number[entry] for entry in layer.vocabulary], np.int32)
        parts.append(np.insert(table[layer.ids], layer.text_ends, 0).astype(np.int32))
    return np.concatenate(parts), strings


def lowered(strings: list[str]) -> tuple[Stream, list[str]]:
    """What each word is in lower case, and the vocabulary of that."""
    ordered = sorted({string.lower() for string in strings})
    number = {string: i for i, string in enumerate(ordered, 1)}
    return np.array([0, *(number[string.lower()] for string in strings)], np.int32), ordered


def changed(ids: Stream, seed: int) -> Stream:
    """A copy in which some items are replaced by others, drawn by their frequency."""
    if seed == 0:
        return ids
    rng = np.random.default_rng(seed)
    copy = ids.copy()
    chosen = np.flatnonzero((rng.random(len(ids), np.float32) < CHANGED) & (ids > 0))
    other = ids[rng.integers(0, len(ids), len(chosen))]
    copy[chosen] = np.where(other > 0, other, 1)
    return copy


def segments(ids: Stream, total: int, most: int) -> Iterator[Stream]:
    """A corpus of `total` items in streams of at most `most`."""
    copies = -(-total // len(ids))
    per_segment = max(1, most // len(ids))
    for first in range(0, copies, per_segment):
        several = range(first, min(first + per_segment, copies))
        yield np.concatenate([changed(ids, seed) for seed in several])


def ask(index: Index, ids: Stream, strings: list[str]) -> str:
    """Counts in a batch and one by one, longest matches of a text that is not in the corpus."""
    rng = np.random.default_rng(5)
    text = changed(ids, 10_000)
    vocabulary = ["", *strings]
    n = rng.integers(1, 9, QUERIES)
    starts = rng.integers(0, len(text) - 9, QUERIES)
    flat = text[np.concatenate([np.arange(s, s + k) for s, k in zip(starts, n)])]
    grams = Grams(flat, np.cumsum(n), vocabulary)
    index.counts(Grams(flat[: n[0]], np.cumsum(n[:1]), vocabulary))
    begin = time.process_time()
    index.counts(grams)
    batch = QUERIES / (time.process_time() - begin)
    single = []
    for g in range(2000):
        gram = grams[g]
        begin = time.perf_counter()
        index.count(gram)
        single.append(time.perf_counter() - begin)
    asked = [vocabulary[i] for i in text[:TEXT] if i]
    index.longest(asked[:100])
    begin = time.process_time()
    index.longest(asked)
    longest = len(asked) / (time.process_time() - begin)
    return (
        f"{batch / 1e6:.2f} M counts/s, one count {1e6 * np.median(single):.1f} us (median), "
        f"longest {longest / 1e6:.2f} M words/s"
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("--folder", type=Path, help="where the indexes go (default: temporary)")
    options.add_argument("texts", nargs="?", type=Path, default=DEFAULT)
    options.add_argument("--words", default="16e6,160e6")
    options.add_argument("--memory", default="4G")
    options.add_argument("--threads", type=int, default=2)
    options.add_argument("--compact", action="store_true", help="keep `lower` in the compact form")
    given = options.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        grow(given, Path(folder))


def pieces(layers: dict[str, tuple[Stream, list[str]]]) -> Iterator[AnnotatedDocuments]:
    """The documents of streams, some at a time; of texts and characters nothing is known."""
    ends = np.flatnonzero(layers["word"][0] == 0)
    for first in range(0, len(ends), 1 << 10):
        some = ends[first : first + (1 << 10)]
        start, stop = int(ends[first - 1]) + 1 if first else 0, int(some[-1]) + 1
        text_ends = some - start - np.arange(len(some))
        documents = [Document(str(first + i), "") for i in range(len(some))]
        none = np.zeros(int(text_ends[-1]), np.int32)
        yield AnnotatedDocuments(
            documents,
            {
                name: Layer(
                    name, ids[start:stop][ids[start:stop] > 0] - 1, words, none, none, text_ends
                )
                for name, (ids, words) in layers.items()
            },
        )


def grow(given: argparse.Namespace, folder: Path) -> None:
    ids, strings = read(given.texts)
    print(f"{len(ids):,} items, {len(strings):,} different")
    table, lower = lowered(strings)

    def write(place: Path, stream: Stream) -> SegmentRecord:
        layers = {"word": (stream, strings), "lower": (table[stream], lower)}
        forms = LayerForms(["lower"], given.compact, given.threads)
        return write_pieces(FolderTarget(place), pieces(layers), tuple(layers), forms)

    write(folder / "compile", np.append(ids[:1000], np.int32(0)))
    for total in (int(float(size)) for size in given.words.split(",")):
        opened, sizes, tokens, spent, wall = [], Counter[str](), 0, 0.0, 0.0
        for number, stream in enumerate(
            segments(ids, total, max_positions(parse_memory(given.memory)))
        ):
            place = folder / f"{total}-{number}"
            begin, begin_wall = time.process_time(), time.perf_counter()
            record = write(place, stream)
            spent += time.process_time() - begin
            wall += time.perf_counter() - begin_wall
            sizes.update({part.name: part.bytes for part in record.parts})
            tokens += record.tokens
            del stream
            opened.append(open_segment(place))
            print(f"  segment {number}: {record.tokens:,} items", flush=True)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(
            f"{tokens / 1e6:,.0f} M words in {len(opened)} segments: "
            f"{tokens / spent / 1e6:.1f} M words/s per core, "
            f"{tokens / wall / 1e6:.1f} wall on {given.threads} threads, "
            f"{_bytes(sizes, tokens)} bytes a word, peak {peak / 2**30:.1f} GiB",
            flush=True,
        )
        print(f"  {ask(Index(opened), table[ids], lower)}", flush=True)


def _bytes(sizes: Counter[str], tokens: int) -> str:
    return ", ".join(f"{name} {sizes[name] / tokens:.2f}" for name in ("lower", "word"))


if __name__ == "__main__":
    main()
