"""The index beside tokengrams, pydivsufsort and libsais: building, counting, matching.

    python benchmarks/index.py [TEXTS]              the whole table
    python benchmarks/index.py --grow 10 [TEXTS]    the same on a corpus ten times as large
    python benchmarks/index.py --libsais libsais.so [TEXTS]    with libsais, compiled from source

TEXTS is anything rote reads (default: ../shared/data/novels_en/all-novels.jsonl.zst, or both
Bibles of the extra `demo`). A peer that is not installed is named and left out. All run in one
process on the same numbers; seconds are processor seconds, so that a busy machine distorts little.
A larger corpus is made of the same texts with 30 % of the words replaced at random, so that it does
not repeat itself. Compiling is done before the clock starts.

A second process runs the same kernels as numba compiles them without `rote.core.kernels`; each rate
is shown beside that one, so that a machine on which ours are slower is seen.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import importlib.util
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.annotate import annotators
from rote.core.layer import Layer
from rote.corpus import open_corpus
from rote.index.columns import packed_array
from rote.index.columns.layer_column import LayerColumn, Suffixes, Vocabulary
from rote.index.columns.packed_array import bits_for, pack, packed_size
from rote.index.columns.sais import sais
from rote.index.columns.suffix_sort import sort_suffixes
from rote.index.counts.frequent_ngrams import find_frequent
from rote.index.counts.longest_match import longest_matches
from rote.index.counts.lookup import Lookup

DEFAULT = Path("../shared/data/novels_en/all-novels.jsonl.zst")
CHANGED = 0.3
QUERIES = 1_000_000
ONE_BY_ONE = 20_000
Stream = NDArray[np.int32]
RELEASED = f"""
import functools, runpy, sys, types
import numba
kernels = types.ModuleType("rote.core.kernels")
plain = functools.partial(numba.njit, nogil=True)
kernels.njit = lambda function=None, cache=False, **options: (
    numba.njit(**options) if function is None else numba.njit(function))
kernels.lean, kernels.aside = plain(_nrt=False), plain(_nrt=False)
kernels.part = plain(_nrt=False, forceinline=True)
sys.modules["rote.core.kernels"] = kernels
sys.argv[0] = {__file__!r}
runpy.run_path(sys.argv[0], run_name="__main__")
"""
"""Runs this benchmark with kernels that numba alone compiles."""
rates: dict[str, float] = {}
"""Millions a second, by what is measured."""
released: dict[str, float] = {}
"""The same of kernels that numba alone compiles."""


@dataclass(frozen=True)
class Corpus:
    """One layer as a stream of numbers, each document followed by a 0."""

    name: str
    ids: Stream
    vocabulary: Vocabulary

    @property
    def entries(self) -> int:
        return len(self.vocabulary)


def clock(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def peer(package: str, ending: str = "") -> ModuleType | None:
    """A package, or one module of it without what the package itself would import.

    None, and a line that says so, if it is not installed.
    """
    try:
        if not ending:
            return importlib.import_module(package)
        files = [f for f in distribution(package).files or () if f.match(f"{package}/{ending}")]
    except (ModuleNotFoundError, PackageNotFoundError):
        print(f"{package} is not installed: nothing is compared with it")
        return None
    spec = importlib.util.spec_from_file_location(package, files[0].locate())
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def corpora(source: Path, grow: int) -> Iterator[Corpus]:
    """The layers `lower` and `pos` of all texts."""
    annotator = annotators.get("rote")
    found: dict[str, list[Layer]] = {"lower": [], "pos": []}
    seconds = 0.0
    for shard in open_corpus(source if source.exists() else ["bible:kjv", "bible:asv"]).shards():
        documents = shard.read().documents
        if not seconds:
            annotator(documents[:1], tuple(found))  # compile
        spent, made = clock(lambda documents=documents: annotator(documents, tuple(found)))
        seconds += spent
        for name, layers in found.items():
            layers.append(made.layers[name])
    line("words and tags of texts", seconds, sum(len(layer.ids) for layer in found["lower"]))
    for name, layers in found.items():
        strings = sorted({entry for layer in layers for entry in layer.vocabulary})
        number = {string: i for i, string in enumerate(strings, 1)}
        tables = [np.array([number[e] for e in layer.vocabulary], np.int32) for layer in layers]
        parts = [np.insert(t[layer.ids], layer.text_ends, 0) for t, layer in zip(tables, layers)]
        ids = np.concatenate(parts).astype(np.int32)
        yield Corpus(name, larger(ids, len(strings) + 1, grow), Vocabulary.of(strings))


def larger(ids: Stream, entries: int, times: int) -> Stream:
    """The stream so many times, each copy with some items replaced at random."""
    rng = np.random.default_rng(7)
    copies = [ids]
    for _ in range(times - 1):
        copy = ids.copy()
        chosen = np.flatnonzero((rng.random(len(ids)) < CHANGED) & (ids > 0))
        copy[chosen] = ids[rng.permutation(np.flatnonzero(ids))[: len(chosen)]]
        copies.append(copy)
    return np.concatenate(copies)


def column_of(corpus: Corpus) -> LayerColumn:
    made = sort_suffixes(corpus.ids, corpus.entries)
    order = pack(made.order, bits_for(len(corpus.ids) - 1))
    suffixes = Suffixes(order, made.lengths, pack(made.table, order.bits))
    return LayerColumn(
        corpus.name,
        packed_array.ItemStream(pack(corpus.ids, bits_for(corpus.entries - 1))),
        corpus.vocabulary,
        suffixes,
        np.flatnonzero(corpus.ids == 0),
    )


def line(
    title: str, seconds: float, amount: float, against: dict[str, float] | None = None
) -> None:
    rate = amount / seconds / 1e6
    rates[f"{len(rates)} {title}"] = rate
    ratios = "".join(f"   {s / seconds:5.1f}x {name}" for name, s in (against or {}).items())
    if plain := list(released.values())[len(rates) - 1 : len(rates)]:
        ratios += f"   {rate / plain[0]:5.2f}x numba as released"
    print(f"  {title:<44}{seconds:8.2f} s{rate:9.2f} M/s{ratios}", flush=True)


def libsais(library: ctypes.CDLL, ids: Stream, entries: int) -> None:
    """Sort the suffixes of whole numbers; it writes into its input, so a copy is sorted."""
    text, order = ids.copy(), np.empty(len(ids), np.int32)
    pointer = ctypes.POINTER(ctypes.c_int32)
    failed = library.libsais_int(
        text.ctypes.data_as(pointer), order.ctypes.data_as(pointer), len(text), entries, 0
    )
    if failed:
        raise SystemExit(f"libsais failed: {failed}")


def build(corpus: Corpus, tokens: Any, division: Any, sorter: ctypes.CDLL | None) -> Any:
    """Sorting all suffixes, beside the peers; gives the index of tokengrams back."""
    size, index = len(corpus.ids), None
    theirs: dict[str, float] = {}
    if tokens is not None:
        width = np.uint16 if corpus.entries <= 2**16 else np.uint32
        vocab = 2**16 if width is np.uint16 else 2**17
        with tempfile.NamedTemporaryFile(suffix=".bin") as file:
            corpus.ids.astype(width).tofile(file)
            file.flush()
            theirs["tokengrams"], index = clock(
                lambda: tokens.InMemoryIndex.from_token_file(file.name, vocab=vocab)
            )
    if division is not None:
        theirs["pydivsufsort"], _ = clock(lambda: division.divsufsort(corpus.ids))
    if sorter is not None:
        theirs["libsais"], _ = clock(lambda: libsais(sorter, corpus.ids, corpus.entries))
    ours, _ = clock(lambda: sort_suffixes(corpus.ids, corpus.entries))
    line("build, natural text", ours, size, theirs)
    # Where everything repeats: a twentieth of the corpus, twenty times.
    part = np.append(corpus.ids[: size // 20], np.int32(0))
    repeated = np.tile(part, 20)
    theirs = {}
    if sorter is not None:
        theirs["libsais"], _ = clock(lambda: libsais(sorter, repeated, corpus.entries))
    ours, _ = clock(lambda: sort_suffixes(repeated, corpus.entries))
    line("build, a twentieth repeated 20 times", ours, len(repeated), theirs)
    ours, _ = clock(lambda: sais(corpus.ids, corpus.entries))
    line("build, natural text by SA-IS", ours, size)
    return index


def grams_of(corpus: Corpus, lookup: Lookup, n: int, present: bool) -> Stream:
    """N-grams of the corpus, or ones of its items that occur nowhere."""
    rng = np.random.default_rng(n)
    rows = np.empty((0, n), np.int32)
    while len(rows) < QUERIES // 16:
        starts = rng.integers(0, len(corpus.ids) - n, QUERIES // 8)
        drawn = corpus.ids[starts[:, None] + np.arange(n)]
        if not present:
            column = rng.integers(0, n, len(drawn))
            drawn[np.arange(len(drawn)), column] = corpus.ids[rng.permutation(starts)]
        drawn = drawn[(drawn > 0).all(axis=1)]
        if not present:
            ends = np.arange(1, len(drawn) + 1) * n
            low, high = lookup.ranges(drawn.reshape(-1), ends)
            drawn = drawn[low == high]
        rows = np.concatenate([rows, drawn])
        if not present and not len(rows):
            break  # every single item occurs
    return rows[: QUERIES // 16]


def count(corpus: Corpus, lookup: Lookup, theirs: Any) -> None:
    rows = [grams_of(corpus, lookup, n, there) for n in range(1, 9) for there in (True, False)]
    grams = [row for part in rows for row in part]
    order = np.random.default_rng(1).permutation(len(grams))
    shuffled = [grams[i] for i in order]
    flat = np.concatenate(shuffled)
    ends = np.cumsum([len(gram) for gram in shuffled])
    lookup.ranges(flat[: ends[99]], ends[:100])
    ours, _ = clock(lambda: lookup.ranges(flat, ends))
    line("counts in a batch, n = 1..8", ours, len(ends))
    asked = [gram.tolist() for gram in shuffled[:ONE_BY_ONE]]
    calls = {"rote": lookup.count} | ({} if theirs is None else {"tokengrams": theirs.count})
    for name, call in calls.items():
        times = []
        for gram in asked[:1000]:
            call(gram)
        for gram in asked:
            start = time.perf_counter()
            call(gram)
            times.append(time.perf_counter() - start)
        title = f"one count, median of {ONE_BY_ONE:,}, {name}"
        print(f"  {title:<44}{1e6 * float(np.median(times)):8.2f} us")
    if theirs is not None:
        differ = sum(lookup.count(gram) != theirs.count(gram) for gram in asked)
        print(f"  {'answers that differ from tokengrams':<44}{differ:8}")


def time_longest(corpus: Corpus) -> None:
    """The last twentieth of the texts, looked up in the others."""
    cut = int(np.flatnonzero(corpus.ids == 0)[-max(1, (corpus.ids == 0).sum() // 20)]) + 1
    asked = corpus.ids[cut:][:500_000]
    for part in (16, 4, 1):
        held = corpus.ids[: cut // part]
        held = np.append(held[: np.flatnonzero(held == 0)[-1]], np.int32(0))
        rest = Corpus(corpus.name, held, corpus.vocabulary)
        lookup = Lookup(column_of(rest))
        longest_matches(lookup, asked[:100])
        seconds, _ = clock(lambda lookup=lookup: longest_matches(lookup, asked))
        line(f"longest match in {len(held) / 1e6:.1f}M", seconds, len(asked))


def top(column: LayerColumn, sizes: tuple[int, ...]) -> None:
    for n in sizes:
        find_frequent(column, n, most=50_000)
        seconds, _ = clock(lambda n=n: find_frequent(column, n, most=50_000))
        line(f"50,000 most frequent {n}-grams", seconds, len(column.ids))


def disk(column: LayerColumn) -> None:
    assert column.suffixes is not None
    parts = {
        "items": packed_size(len(column.ids), column.ids.bits),
        "order": len(column.suffixes.order.data),
        "table": len(column.suffixes.table.data),
        "codes and strings": column.suffixes.lengths.nbytes
        + column.vocabulary.data.nbytes
        + column.vocabulary.ends.nbytes,
    }
    each = ", ".join(f"{name} {size / column.items:.2f}" for name, size in parts.items())
    print(f"  bytes per item: {sum(parts.values()) / column.items:.2f} ({each})")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("texts", nargs="?", type=Path, default=DEFAULT)
    options.add_argument("--grow", type=int, default=1, help="times the size of the corpus")
    options.add_argument("--libsais", type=ctypes.CDLL, help="libsais as a shared library")
    options.add_argument("--rates", type=Path, help=argparse.SUPPRESS)
    given = options.parse_args()
    tokens = division = None
    if given.rates is None:
        tokens, division = peer("tokengrams", "tokengrams.*.so"), peer("pydivsufsort")
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            call = [sys.executable, "-c", RELEASED, str(given.texts), "--grow", str(given.grow)]
            subprocess.run([*call, "--rates", file.name], check=True, stdout=subprocess.DEVNULL)
            released.update(json.load(file))
    for corpus in corpora(given.texts, given.grow):
        print(f"{corpus.name}: {len(corpus.ids):,} numbers, {corpus.entries:,} entries")
        sort_suffixes(corpus.ids[:1].clip(0, 0), corpus.entries)  # compile
        small = np.append(corpus.ids[:1000], np.int32(0))
        sort_suffixes(small, corpus.entries), sais(small, corpus.entries)
        theirs = build(corpus, tokens, division, given.libsais)
        column = column_of(corpus)
        disk(column)
        lookup = Lookup(column)
        count(corpus, lookup, theirs)
        if corpus.name == "lower":
            time_longest(corpus)
            top(column, (1, 2, 3, 5))
        else:
            top(column, (4, 6, 8, 12))
    if given.rates is not None:
        given.rates.write_text(json.dumps(rates))


if __name__ == "__main__":
    main()
