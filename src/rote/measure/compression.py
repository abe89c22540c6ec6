"""Compression of the texts together: original bytes / compressed bytes.

The compression ratio of Shaib et al. (2024): what repeats, within a text or
between texts, is stored once. On `--layer pos` it is the ratio CR-POS of their
paper on syntactic templates.

Direction: higher is more repetitive. Length: the ratio grows with the number of texts
and with their length until the codec's memory is full, so compare groups of different
size by the values at equal length. Order: gzip looks back 32 KiB, zstd (level 3) 2 MiB, xz
(preset 6) 8 MiB; texts farther apart than that do not see each other, so the order
of the texts matters.

Variants. `exact`: items joined by single spaces, texts by newlines, compressed once;
gzip at level 9 without a file name in its header. `package`: as `diversity` 0.3.1:
texts joined by spaces, gzip applied twice, and 11 bytes for the file name that the
package's temporary file puts into the header; xz once, no zstd; left unrounded here.
"""

from __future__ import annotations

import lzma
import math
import struct
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import zstandard
from numpy.typing import NDArray

from rote.compare.intervals import shares
from rote.core.arrays import Array, Floats, Integers
from rote.core.errors import OptionError, UnknownName
from rote.core.kernels import njit
from rote.core.layer import Ids, Offsets, layer_words, starts_of
from rote.core.metric import Metric, Value, Values, Work, check_options, option
from rote.core.ngrams import Postings, TextGroups, number_ngrams, number_pairs
from rote.core.record import Headline
from rote.core.sample import Need, Sample, Take

CODECS = ("gzip", "xz", "zstd")
CHUNK = 4 * 1024 * 1024
FILE_NAME_IN_HEADER = 11
# The package writes the time of day into the inner gzip header, which its second pass
# cannot compress; a fixed time takes the same room and gives the same size each time.
INNER_HEADER = b"\x1f\x8b\x08\x00\x21\x43\x65\x67\x02\xff"
GZIP_CONTAINER = 31
QUICK, QUICK_CODES = 1, 2
"""Levels of zstd for groups that are drawn: of texts, and of items that have a byte each."""
MOST_CODES = 255
WINDOW = 1 << 15
"""How far gzip looks back."""
BYTES_IN_NGRAM, ITEMS_IN_NGRAM = 6, 4
"""Of windows of texts, and of layers: how many differ moves as the size after gzip does."""
MOST_HALVES = 1 << 22
"""Kinds of half an n-gram that have a number each."""
LARGEST = 20_000
"""Words of windows in a draw: some 115 KiB, more than gzip looks back."""
GZIP_LEVEL, XZ_PRESET, ZSTD_LEVEL = 9, 6, 3
"""What the command-line tools take, and for gzip what the diversity package takes."""
LARGE = 8 * WINDOW
"""Groups of so many bytes have a standard error by a formula."""

Bytes: TypeAlias = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Options:
    variant: Literal["exact", "package"] = option(
        "exact", "definition: exact, or as in the diversity package"
    )
    layer: str = option("text", "what to compress: text (as it is), or a layer, its items joined")
    codecs: tuple[str, ...] = option(("gzip",), "codecs, one value each: gzip, xz, zstd")

    def __post_init__(self) -> None:
        check_options(self)
        for codec in self.codecs:
            if codec not in CODECS:
                raise UnknownName("codec", codec, CODECS)
        if not self.codecs:
            raise OptionError(f"codecs is empty: name at least one of {', '.join(CODECS)}")
        if self.variant == "package" and "zstd" in self.codecs:
            raise OptionError("variant package knows gzip and xz only: leave zstd out of codecs")


class Compressor(Protocol):
    def compress(self, data: Any, /) -> bytes: ...
    def flush(self) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Rows:
    """What to write for each text: raw bytes, or item numbers and how items are spelled.

    `lengths` are the bytes of each text without separators. Nothing is written in
    advance: groups are spelled piece by piece on their way into the compressor.
    """

    lengths: Integers
    column: Bytes | Ids
    starts: Offsets
    ends: Offsets
    spelling: tuple[Bytes, Offsets] | None
    coded: Rows | None = None
    """A layer of few items with a byte for each, in place of its spelling."""
    postings: Postings | None = None
    """Of windows: which of them hold each n-gram."""
    gzip_sizes: dict[bytes, int] = field(default_factory=dict)
    """By group its bytes after gzip: the value and its error ask for the same."""
    gzip_errors: dict[bytes, Floats] = field(default_factory=dict)
    """By group what its texts add to the error of the ratio."""


def value_name(codec: str, layer: str) -> str:
    """The panel shows the ratio of the texts beside that of their tags: two names."""
    return codec if layer == "text" else f"{codec}_{layer}"


def values(options: Options) -> tuple[Value, ...]:
    layer = options.layer
    title = "compression ratio" if layer == "text" else f"compression ratio of {layer}"
    return tuple(
        Value(value_name(codec, layer), f"{codec} {title}", "repetitive", "both")
        for codec in options.codecs
    )


def needs(options: Options) -> tuple[Need, ...]:
    return (Need(options.layer),)


def rows(sample: Sample, options: Options, work: Work) -> Rows:
    """The same for every measure of these texts: templates compress their tags too."""
    key = "compression", options.layer
    if key not in sample.shared:
        sample.shared[key] = _rows(sample, options)
    shared_rows: Rows = sample.shared[key]
    return shared_rows


def _rows(sample: Sample, options: Options) -> Rows:
    if options.layer == "text":
        raw = sample.text()
        starts = starts_of(raw.ends)
        columns = Rows(raw.ends - starts, raw.data, starts, raw.ends, None)
        return _with_postings(columns, BYTES_IN_NGRAM) if sample.windowed else columns
    layer = sample.layer(Need(options.layer))
    encoded = [entry.encode("utf-8", "surrogatepass") for entry in layer.vocabulary]
    words = np.frombuffer(bytearray(b"".join(encoded)), np.uint8)
    word_ends = np.cumsum([len(entry) for entry in encoded], dtype=np.int64)
    starts, ends = layer.text_starts, layer.text_ends
    lengths = spelled_lengths(layer.ids, starts, ends, word_ends)
    coded = None
    if len(encoded) < MOST_CODES:
        # The newline between texts is code 10.
        codes = np.arange(len(encoded)) + (np.arange(len(encoded)) >= ord("\n"))
        coded = Rows(ends - starts, codes.astype(np.uint8)[layer.ids], starts, ends, None)
    columns = Rows(lengths, layer.ids, starts, ends, (words, word_ends), coded)
    return _with_postings(columns, ITEMS_IN_NGRAM) if sample.windowed else columns


def _with_postings(rows: Rows, n: int) -> Rows:
    ids, ends, half = rows.column.astype(np.int32), rows.ends, n // 2
    present = np.flatnonzero(np.bincount(ids, minlength=1))
    if (kinds := len(present) ** half) <= MOST_HALVES:
        # Halves have numbers by themselves, so that only two of them together take looking up.
        codes = np.searchsorted(present, np.append(ids, ids[:1].repeat(half - 1)))
        ids = np.zeros(len(ids), np.int32)
        for step in range(half):
            ids = ids * len(present) + codes[step : step + len(ids)]
        ids, ends, n = ids.astype(np.int32), np.maximum(ends - half + 1, rows.starts), half + 1
        numbers, repeated = number_pairs(ids, rows.starts, ends, kinds, half)
    else:
        kinds = int(ids.max(initial=0)) + 1
        *_, (_, numbers, repeated, _) = number_ngrams(ids, rows.starts, ends, kinds, n)
    postings = Postings.build(numbers, rows.starts, ends, n, repeated, counted=False)
    return replace(rows, postings=postings)


def reduce(rows: Rows, take: Take, options: Options, rng: np.random.Generator) -> Values:
    size = int(rows.lengths[take].sum()) + max(len(take) - 1, 0)
    values: Values = {}
    for codec in options.codecs:
        name = value_name(codec, options.layer)
        if not rows.lengths[take].any():
            values[name] = np.nan
            continue
        if codec == "gzip" and options.variant == "exact":
            values[name] = size / _gzip_size(rows, take)
            continue
        pieces = _pieces(rows, take, ord(" ") if options.variant == "package" else ord("\n"))
        if options.variant == "package" and codec == "gzip":
            values[name] = size / _size_after_two(pieces)
        else:
            values[name] = size / _size_after(pieces, _compressor(codec, size))
    return values


def resample(rows: Rows, take: Take, options: Options, rng: np.random.Generator) -> Values:
    by_name = many(rows, [take], [value.name for value in values(options)], options)
    return {name: float(column[0]) for name, column in by_name.items()}


def many(
    rows: Rows, takes: Sequence[Take], names: Collection[str], options: Options
) -> dict[str, Floats]:
    """Ratios of groups that are drawn, whatever the codec: gzip at level 9 takes too long.

    Of windows, few of which fill the 32 KiB that gzip looks back: bytes for each different n-gram.
    Of whole texts: after zstd.
    """
    if rows.postings is None:
        ratios = np.array([_zstd_ratio(rows, take) for take in takes])
    else:
        groups = TextGroups.of(takes)
        sizes = groups.sums(rows.lengths)[0]
        ratios = shares(sizes, rows.postings.distinct(groups).astype(np.float64))
    return dict.fromkeys(names, ratios)


def _zstd_ratio(rows: Rows, take: Take) -> float:
    """The ratio after zstd at a quick level: gzip at level 9 takes 20 times as long on texts and
    100 times on tags, where the same few letters follow one another everywhere. Layers of few items
    have a byte for each."""
    size = int(rows.lengths[take].sum()) + max(len(take) - 1, 0)
    if not rows.lengths[take].any():
        return math.nan
    coded, level = rows.coded or rows, QUICK_CODES if rows.coded else QUICK
    coded_bytes = int(coded.lengths[take].sum()) + max(len(take) - 1, 0)
    # Always the same settings: zstd would choose others for small groups.
    settings = zstandard.ZstdCompressionParameters.from_level(level, source_size=1 << 20)
    compressor = zstandard.ZstdCompressor(compression_params=settings).compressobj(size=coded_bytes)
    return size / _size_after(_pieces(coded, take, ord("\n")), compressor)


def text_errors(rows: Rows, take: Take, options: Options) -> Mapping[str, Floats]:
    """Of gzip's ratio, from the bytes that each text adds to the stream: a ratio of two sums.

    The first texts find little to look back at and say nothing about the others, so they are left
    out, and small groups, which have few others, have no formula.
    """
    sizes = rows.lengths[take] + 1
    if "gzip" not in options.codecs or int(sizes.sum()) < LARGE:
        return {}
    key = take.tobytes()
    if key not in rows.gzip_errors:
        rows.gzip_errors[key] = _gzip_errors(rows, take, sizes)
    errors = rows.gzip_errors[key]
    return {value_name("gzip", options.layer): errors} if len(errors) else {}


def _gzip_errors(rows: Rows, take: Take, sizes: Integers) -> Floats:
    """Nothing where too few texts have others to look back at."""
    compressor = zlib.compressobj(GZIP_LEVEL, wbits=GZIP_CONTAINER)
    costs = np.empty(len(take))
    for number, text in enumerate(take):
        (piece,) = _pieces(rows, np.array([text]), ord("\n"))
        costs[number] = len(compressor.compress(piece.tobytes() + b"\n"))
        costs[number] += len(compressor.flush(zlib.Z_SYNC_FLUSH))
    total_size = _gzip_size(rows, take)
    # What ending a block costs is the same for every text.
    costs -= (costs.sum() - total_size) / len(take)
    past_window = np.cumsum(sizes) - sizes >= WINDOW
    if past_window.sum() < 2:
        return np.empty(0)
    ratio = sizes[past_window].sum() / costs[past_window].sum()
    return np.where(past_window, (sizes - ratio * costs) / total_size, math.nan)


def notes(rows: Rows, take: Take, options: Options) -> list[str]:
    return [] if rows.lengths[take].any() else ["no bytes to compress: the ratio is undefined"]


def _pieces(rows: Rows, take: Take, separator: int) -> Iterator[Bytes]:
    """The joined texts in pieces of some megabytes, so that memory stays flat."""
    ends = np.cumsum(rows.lengths[take] + 1)
    first = 0
    while first < len(take):
        before = int(ends[first - 1]) if first else 0
        last = max(int(np.searchsorted(ends, before + CHUNK)), first + 1)
        size = int(ends[last - 1]) - before
        part = take[first:last]
        columns = (rows.column, rows.starts, rows.ends)
        if rows.spelling is None:
            piece = raw_texts(*columns, part, size, separator)
        else:
            piece = spelled_texts(*columns, *rows.spelling, part, size, separator)
        # The separator stands between texts, not after the last one.
        yield piece if last < len(take) else piece[:-1]
        first = last


def _compressor(codec: str, size: int) -> Compressor:
    if codec == "xz":
        return lzma.LZMACompressor(preset=XZ_PRESET)
    if codec == "zstd":
        # The size is told in advance because zstd chooses its tables by it.
        return zstandard.ZstdCompressor(level=ZSTD_LEVEL).compressobj(size=size)
    return zlib.compressobj(GZIP_LEVEL, wbits=GZIP_CONTAINER)


def _gzip_size(rows: Rows, take: Take) -> int:
    key = take.tobytes()
    if key not in rows.gzip_sizes:
        pieces = _pieces(rows, take, ord("\n"))
        rows.gzip_sizes[key] = _size_after(pieces, _compressor("gzip", 0))
    return rows.gzip_sizes[key]


def _size_after(pieces: Iterator[Bytes], compressor: Compressor) -> int:
    size = sum(len(compressor.compress(piece)) for piece in pieces)
    return size + len(compressor.flush())


def _size_after_two(pieces: Iterator[Bytes]) -> int:
    """Bytes of gzip(gzip(x)) in a file whose header holds the package's file name."""
    first: Compressor = zlib.compressobj(GZIP_LEVEL, wbits=-zlib.MAX_WBITS)
    second: Compressor = zlib.compressobj(GZIP_LEVEL, wbits=GZIP_CONTAINER)
    compressed_bytes = len(second.compress(INNER_HEADER))
    checksum = size = 0
    for piece in pieces:
        compressed_bytes += len(second.compress(first.compress(piece)))
        checksum = zlib.crc32(piece.data, checksum)
        size += len(piece)
    trailer = struct.pack("<LL", checksum, size & 0xFFFFFFFF)
    compressed_bytes += len(second.compress(first.flush() + trailer)) + len(second.flush())
    return compressed_bytes + FILE_NAME_IN_HEADER


def method(s: Mapping[str, str]) -> str:
    of = layer_words(s["layer"])
    level = f" at level {GZIP_LEVEL}" if "gzip" in s["codecs"] else ""
    return (
        f"The compression ratio of {of} is their size divided by that after {s['codecs']}"
        f"{level}, texts in the order of the input"
    )


METRIC = Metric(
    name="compression",
    title="Compression",
    values=values,
    needs=needs,
    options=Options,
    rows=rows,
    reduce=reduce,
    resample=resample,
    text_errors=text_errors,
    interval_method="spread of what each text adds",
    stand_in="zstd and n-grams",
    many=many,
    largest=LARGEST,
    citation=(
        "Shaib, Barrow, Sun, Siu, Wallace and Nenkova (2024), Standardizing the Measurement of "
        "Text Diversity: A Tool and a Comparative Analysis of Scores; on tags: Shaib, Elazar, Li "
        "and Wallace (2024), Detection and Measurement of Syntactic Templates in Generated Text"
    ),
    match="words",
    notes=notes,
    order_matters=True,
    permutations=199,
    says=lambda settings: (
        "How well the parts of speech compress: what repeats in grammar, whatever the words."
        if settings.get("layer") == "pos"
        else "How well the texts compress together: repetition takes less space."
    ),
    section="diversity",
    place=40,
    panel=({}, {"layer": "pos"}),
    headlines=(
        Headline("gzip", "has texts that compress better", "has texts that compress less"),
        Headline(
            "gzip_pos",
            "has grammar that compresses better",
            "has grammar that compresses less",
            noun="compression of tags",
            detail=True,
        ),
    ),
    method=method,
    effort="medium",
)


SPACE = 32


@njit(cache=True, nogil=True)
def spelled_lengths(ids: Array, starts: Array, ends: Array, word_ends: Array) -> Array:
    """Bytes of each text when its items are joined by single spaces."""
    lengths = np.zeros(len(starts), np.int64)
    for text in range(len(starts)):
        for place in range(starts[text], ends[text]):
            word = ids[place]
            lengths[text] += word_ends[word] - (word_ends[word - 1] if word else 0)
        if ends[text] > starts[text]:
            lengths[text] += ends[text] - starts[text] - 1
    return lengths


@njit(cache=True, nogil=True)
def spelled_texts(
    ids: Array,
    starts: Array,
    ends: Array,
    words: Array,
    word_ends: Array,
    take: Array,
    size: int,
    separator: int,
) -> Array:
    """The chosen texts, items joined by spaces, the separator after every text."""
    out = np.empty(size, np.uint8)
    filled = 0
    for text in take:
        for place in range(starts[text], ends[text]):
            word = ids[place]
            if place > starts[text]:
                out[filled] = SPACE
                filled += 1
            for letter in range(word_ends[word - 1] if word else 0, word_ends[word]):
                out[filled] = words[letter]
                filled += 1
        out[filled] = separator
        filled += 1
    return out


@njit(cache=True, nogil=True)
def raw_texts(
    data: Array, starts: Array, ends: Array, take: Array, size: int, separator: int
) -> Array:
    """The chosen raw texts, the separator after every text."""
    out = np.empty(size, np.uint8)
    filled = 0
    for text in take:
        # To assign a slice would take a second to compile. Of slices that begin at 0 a loop is
        # vectorized, and takes a tenth of the time.
        source = data[starts[text] : ends[text]]
        target = out[filled : filled + len(source)]
        for place in range(len(source)):
            target[place] = source[place]
        out[filled + len(source)] = separator
        filled += len(source) + 1
    return out
