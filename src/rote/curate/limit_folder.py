"""The folder of `rote limit`: one JSONL file for each subset, and a manifest that explains them.

The corpus is read twice: once for its words, once to copy records. Everything is written beside
the folder's place, which it gets when it is whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from itertools import pairwise
from operator import iadd
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote import run
from rote.annotate import words
from rote.core.errors import InputError, OptionError
from rote.core.layer import Layer, n_gram_starts
from rote.core.progress import Reporter, Silent, several, share_steps
from rote.corpus import Corpus, Shard, changed_file_error, group_shards, map_shards
from rote.curate import corpus_reader
from rote.curate.corpus_reader import TokenizedCorpus, TokenizedShard
from rote.curate.limit import LimitOptions, RepeatedNgrams, Subset, choose_subsets, count_repeats
from rote.curate.output_folder import FolderRun, MadeFolder, new_folder, plain_settings
from rote.run import Engine, Shared

MADE_BY = "rote limit"
FIELDS = {
    "input": {"fingerprint": str, "texts": int, "largest_frequency": int},
    "subsets": [
        {
            **dict.fromkeys(("file", "kind"), str),
            **dict.fromkeys(("max", "seed", "texts", "words", "bytes"), int),
            "sample": bool,
            "dropped?": {"most_blocking": [{"ngram": str, "texts": int}]},
        }
    ],
}
"""What is read of the manifest."""
# Seconds of one core and bytes for each word, measured on verses of 25 words; to plan by.
_READ, _NUMBERED, _WALKED, _MEMORY = 1e-6, 7e-8, 4e-8, 50
_PROCESS = 250e6


def limit(
    corpus: Corpus,
    folder: Path,
    options: LimitOptions | None = None,
    *,
    jobs: int = 1,
    engine: str | run.Engine | None = None,
    reporter: Reporter | None = None,
) -> MadeFolder:
    """Make the subsets; a folder that holds them already is left as it is, any other refused."""
    options, reporter = options or LimitOptions(), reporter or Silent()
    works = run.get(engine, jobs)
    options.check()
    tokenizer = words.get(options.tokenizer)
    first = corpus_reader.estimate_corpus(corpus, options.field, options.tokenizer)
    settings = plain_settings(options, field=first.name, tokenizer=tokenizer.signature)
    output = FolderRun(folder, MADE_BY, settings, FIELDS, "subsets")
    before = output.earlier()
    reporter.say(_describe_effort(first, options, works.jobs))
    skip = corpus.options.on_error == "skip"
    work = corpus_reader.ShardTokenizer(first.field, options.layer, options.tokenizer, skip)
    thins = works.remote and before is None
    # How repetitive a text is below all limits matters to one kind of subset alone.
    floor = 1 if options.most_repeated else min(options.max)
    thin = find_frequent(corpus, work, options.n, floor, works, first.words) if thins else work
    texts_read = corpus_reader.read_corpus(corpus, thin, engine=works, reporter=reporter)
    if not len(texts_read):
        raise InputError("the input contains no usable text")
    if before is not None:
        return output.reuse(before, texts_read.fingerprint, texts_read.problems)
    if options.sizes and max(options.sizes) > len(texts_read):
        raise OptionError(
            f"--sizes needs {several(max(options.sizes), 'text')}, but the input has "
            f"{len(texts_read):,}"
        )
    with reporter.stage("numbering n-grams", 1.0) as advance:
        counted = count_repeats(texts_read, options.n, min(options.max), share_steps(advance))
    if thins and floor > 1 and counted.everywhere.max() <= floor:
        # No n-gram is over a limit, and the manifest says how often the most frequent one occurs.
        thin = find_frequent(corpus, work, options.n, 1, works, first.words)
        texts_read = corpus_reader.read_corpus(corpus, thin, engine=works, reporter=reporter)
        counted = count_repeats(texts_read, options.n, min(options.max))
    if thins:
        # Also the texts that have n-grams, but none that is frequent.
        holds = np.array(texts_read.beside[HOLDS], np.int32)
        everywhere, inside = (np.maximum(n, holds) for n in (counted.everywhere, counted.inside))
        counted = replace(counted, everywhere=everywhere, inside=inside)
    with reporter.stage("choosing texts", 1.0) as advance:
        subsets = choose_subsets(
            counted, texts_read.keys, options, threads=jobs, progress=share_steps(advance)
        )
    # As large as their share of the input, unless that is packed.
    size = sum(map(len, subsets)) / len(texts_read) * corpus.size
    reporter.say(f"writing {several(len(subsets), 'file')}, about {size / 1e6:,.1f} MB")
    with new_folder(folder) as partial:
        _write_subsets(corpus, partial, subsets, texts_read, works, reporter)
        content = _describe_content(options.n, texts_read, counted, subsets, partial)
        return output.finish(partial, content, texts_read.problems)


def _describe_effort(first: corpus_reader.CorpusEstimate, options: LimitOptions, jobs: int) -> str:
    walks = len(options.max) * options.seeds
    seconds = first.words * (_READ / jobs + _NUMBERED * options.n + _WALKED * walks / jobs)
    memory = _PROCESS * (jobs + (jobs > 1)) + first.words * _MEMORY
    return f"{first}: about {max(1.0, seconds):,.0f} s and {memory / 1e9:,.1f} GB of memory"


def _write_subsets(
    corpus: Corpus,
    folder: Path,
    subsets: Sequence[Subset],
    texts_read: TokenizedCorpus,
    engine: run.Engine,
    reporter: Reporter,
) -> None:
    """Copy the records of all subsets in one pass over the corpus, in the order of the input."""
    anywhere = np.logical_or.reduce([subset.texts for subset in subsets])
    ends = np.cumsum([len(lines) for lines in texts_read.lines])
    places = [slice(end - len(lines), end) for end, lines in zip(ends, texts_read.lines)]

    def wanted(shard: int) -> Any:
        return texts_read.lines[shard][anywhere[places[shard]]]

    with ExitStack() as stack, reporter.stage("writing", corpus.size, unit="B") as advance:
        files = [stack.enter_context((folder / subset.name).open("wb")) for subset in subsets]
        copied = map_shards(
            corpus_reader.read_lines_at, corpus, engine, extra=wanted, doing="writing lines"
        )
        for place, (size, records) in zip(places, copied):
            here = np.flatnonzero(anywhere[place])
            for subset, file in zip(subsets, files):
                selected = np.flatnonzero(subset.texts[place][here])
                file.write(b"".join([records[i] for i in selected.tolist()]))
            advance(size)


def _describe_content(
    n: int,
    texts_read: TokenizedCorpus,
    counted: RepeatedNgrams,
    subsets: Sequence[Subset],
    folder: Path,
) -> dict[str, Any]:
    lengths = np.array(texts_read.beside[WORDS]) if WORDS in texts_read.beside else texts_read.words
    return {
        "input": {
            "fingerprint": texts_read.fingerprint,
            "texts": len(texts_read),
            "words": int(lengths.sum()),
            "shorter_than_n": int(np.count_nonzero(counted.everywhere == 0)),
            "largest_frequency": int(counted.everywhere.max()),
            "skipped": len(texts_read.problems),
        },
        "subsets": [
            {
                "file": subset.name,
                "kind": subset.kind,
                "max": subset.limit,
                "seed": subset.seed,
                "sample": subset.size is not None,
                "texts": len(subset),
                "words": int(lengths[subset.texts].sum()),
                "bytes": (folder / subset.name).stat().st_size,
                **_explain_dropped(subset, texts_read, counted, n),
            }
            for subset in subsets
        ],
    }


def _explain_dropped(
    subset: Subset, texts_read: TokenizedCorpus, counted: RepeatedNgrams, n: int
) -> dict[str, Any]:
    """Why texts are not in a limited subset; nothing for another."""
    if subset.kind != "limited" or subset.size is not None:
        return {}
    dropped = len(subset.texts) - len(subset)
    alone = int(np.count_nonzero(counted.inside > subset.limit))

    def spelled(gram: int) -> str:
        place = int(counted.places[gram])
        return " ".join(texts_read.vocabulary[word] for word in texts_read.ids[place : place + n])

    return {
        "dropped": {
            "texts": dropped,
            "over_the_limit_alone": alone,
            "over_the_limit_with_others": dropped - alone,
            "blocking_ngrams": subset.blocking,
            "most_blocking": [
                {"ngram": spelled(gram), "texts": texts, "frequency": int(counted.frequency[gram])}
                for gram, texts in subset.blockers
            ],
        }
    }


# The words of `limit` that engines of other machines send here: those of frequent n-grams.
#
# The texts are read twice over there. The first time n-grams are counted by a hash of 64 bits,
# which `group` adds up in parts, one for each range of hashes; what comes here are the hashes that
# occur more than so often. Two n-grams may share a hash, so an n-gram occurs at most as often as
# its hash, and none that is frequent is lost. The second time each shard gives the runs of words
# that n-grams with such a hash hold. `limit.repeats` numbers and counts those as it would all
# words, by the words themselves, so that n-grams which only share a hash are told apart.

WORDS, HOLDS = "words of the text", "n-grams in the text"
"""What is kept beside the runs: how many words a text has, and whether it has an n-gram."""
_TEXT_SUM = -1
"""The key under which each shard says what it has counted."""
_WORDS_A_PART = 4_000_000
_BITS_FOR_EACH = 16

Hashes = NDArray[np.uint64]
Block = tuple[Hashes, NDArray[np.integer[Any]]]
"""Hashes in order, and how often each occurs; or the number of a shard, and the sum of its own."""


@dataclass(frozen=True, slots=True)
class FrequentHashes:
    """Which hashes are frequent: a bit for each value of their first `width` bits, so that
    a few others pass as well. `sums` are of all hashes of each shard, to see that it is the same.
    """

    bits: NDArray[np.uint8]
    width: int
    sums: dict[int, int]

    def holds(self, hashes: Hashes) -> NDArray[np.bool_]:
        place = hashes >> np.uint64(64 - self.width)
        marks = self.bits[place >> np.uint64(3)] >> (place & np.uint64(7))
        return np.asarray(marks & 1, np.bool_)


@dataclass(frozen=True, slots=True)
class ShardThinner:
    """The work on one shard: its runs of frequent n-grams, as parts of the texts."""

    work: corpus_reader.ShardTokenizer
    n: int
    frequent: Shared[FrequentHashes]

    def __call__(self, shard: Shard) -> TokenizedShard:
        piece, frequent = self.work(shard), self.frequent.value
        places, hashes = _hash_ngrams(piece.layer, self.n)
        if frequent.sums.get(shard.number) != _sum_hashes(hashes):
            raise changed_file_error(shard.origin.file)
        return _thin_shard(piece, places, places[frequent.holds(hashes)], self.n)


def find_frequent(
    corpus: Corpus,
    work: corpus_reader.ShardTokenizer,
    n: int,
    least: int,
    engine: Engine,
    words: int,
) -> ShardThinner:
    """Find the hashes that occur more than `least` times in about so many `words`."""
    # What is wrong with a record is for the second reading to say, in the order of the input.
    width = (words // _WORDS_A_PART).bit_length()
    groups = group_shards(
        partial(_count_hashes, replace(work, skip=True), n, width),
        corpus,
        engine,
        iadd,
        then=partial(_hashes_above, least),
        doing="counting n-grams",
    )
    sums: dict[int, int] = {}
    several: list[Hashes] = []
    for key, (numbers, counts) in groups:
        if key == _TEXT_SUM:
            sums = dict(zip(numbers.tolist(), counts.tolist()))
        else:
            several.append(numbers)
    return ShardThinner(work, n, engine.share(_mark_hashes(several, sums)))


def _mark_hashes(several: list[Hashes], sums: dict[int, int]) -> FrequentHashes:
    width = max(3, (_BITS_FOR_EACH * sum(map(len, several))).bit_length())
    bits = np.zeros(1 << (width - 3), np.uint8)
    for hashes in several:
        place = hashes >> np.uint64(64 - width)
        np.bitwise_or.at(
            bits, place >> np.uint64(3), np.uint8(1) << (place & np.uint64(7)).astype(np.uint8)
        )
    return FrequentHashes(bits, width, sums)


def _count_hashes(
    work: corpus_reader.ShardTokenizer, n: int, width: int, shard: Shard
) -> Iterator[tuple[int, list[Block]]]:
    """The hashes of a shard by their first `width` bits."""
    lenient = replace(shard, options=replace(shard.options, on_error="skip"))
    _, hashes = _hash_ngrams(work(lenient).layer, n)
    yield _TEXT_SUM, [(np.array([shard.number], np.uint64), np.array([_sum_hashes(hashes)]))]
    different, counts = np.unique(hashes, return_counts=True)
    firsts = np.arange(1 << width, dtype=np.uint64) << np.uint64(64 - width) if width else [0]
    begins = [*np.searchsorted(different, firsts).tolist(), len(different)]
    for part, (begin, end) in enumerate(pairwise(begins)):
        if end > begin:
            yield part, [(different[begin:end], counts[begin:end].astype(np.int32))]


def _hashes_above(least: int, key: int, blocks: list[Block]) -> Block:
    """The hashes of a part that occur more than `least` times."""
    hashes, counts = (np.concatenate(column) for column in zip(*blocks))
    if key == _TEXT_SUM:
        return hashes, counts
    order = np.argsort(hashes, kind="stable")
    hashes = hashes[order]
    first = np.flatnonzero(np.concatenate(([True], hashes[1:] != hashes[:-1])))
    totals = np.add.reduceat(counts[order], first, dtype=np.int64)
    return hashes[first[totals > least]], np.empty(0, np.int64)


def _hash_ngrams(layer: Layer, n: int) -> tuple[NDArray[np.int64], Hashes]:
    """The places at which n-grams begin, and a hash of the words of each."""
    digests = b"".join(_word_digest(word) for word in layer.vocabulary)
    words = np.frombuffer(digests, "<u8").astype(np.uint64)[layer.ids]
    places = n_gram_starts(layer, n)
    hashes = np.zeros(len(places), np.uint64)
    for step in range(n):
        hashes = (hashes ^ words[places + step]) * np.uint64(0x9E3779B97F4A7C15)
        hashes ^= hashes >> np.uint64(32)
    return places, hashes * np.uint64(0xBF58476D1CE4E5B9)


def _word_digest(word: str) -> bytes:
    return blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def _sum_hashes(hashes: Hashes) -> int:
    return int(hashes.sum(dtype=np.uint64).astype(np.int64))


def _thin_shard(
    piece: TokenizedShard, places: NDArray[np.int64], chosen: NDArray[np.int64], n: int
) -> TokenizedShard:
    """The piece with those words alone that n-grams at the chosen places hold."""
    layer, text_ends = piece.layer, np.concatenate(([0], piece.layer.text_ends))
    last_parts = np.cumsum(piece.counts)
    bounds = text_ends[np.concatenate(([0], last_parts))]
    holds = np.diff(np.searchsorted(places, bounds)) > 0
    # Others may be in a run as well: they occur at most `least` times, whatever is counted of them.
    size = len(layer.ids) + 1
    steps = np.bincount(chosen, minlength=size) - np.bincount(chosen + n, minlength=size)
    positions = np.flatnonzero(np.cumsum(steps) > 0)
    part = np.searchsorted(layer.text_ends, positions, side="right")
    ends = np.flatnonzero((np.diff(positions) > 1) | (np.diff(part) > 0)) + 1
    ends = np.append(ends, [len(positions)] if len(positions) else []).astype(np.int64)
    used, numbers = np.unique(layer.ids[positions], return_inverse=True)
    return replace(
        piece,
        layer=replace(
            layer,
            ids=numbers.astype(np.int32),
            vocabulary=tuple(layer.vocabulary[word] for word in used.tolist()),
            text_ends=ends,
        ),
        counts=np.diff(np.searchsorted(positions[ends - 1], bounds)),
        beside={WORDS: np.diff(bounds).tolist(), HOLDS: holds.tolist()},
    )
