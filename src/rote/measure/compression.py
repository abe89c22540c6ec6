"""How well the texts compress together: original bytes / compressed bytes.

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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import zstandard
from numpy.typing import NDArray

from rote.core.array_types import Integers
from rote.core.errors import OptionError, UnknownName
from rote.core.layer import Ids, Offsets, layer_words, starts_of
from rote.core.metric import Metric, Value, Values, Work, check_options, option
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
LARGE = 8 * WINDOW
"""Groups of so many bytes have a standard error by a formula."""

Bytes: TypeAlias = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Options:
    """Settings of `compression`."""

    variant: Literal["exact", "package"] = option(
        "exact", "how it is computed: exact definition, or what the diversity package computes"
    )
    layer: str = option("text", "what is compressed: text (as it is), or a layer, its items joined")
    codecs: tuple[str, ...] = option(("gzip",), "codecs, one value each: gzip, xz, zstd")
    gzip_level: int = option(9, "level of gzip, 0 to 9", least=0, most=9)
    xz_preset: int = option(6, "preset of xz, 0 to 9", least=0, most=9)
    zstd_level: int = option(3, "level of zstd, 1 to 22", least=1, most=22)

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


def value_name(codec: str, layer: str) -> str:
    """The panel shows the ratio of the texts beside that of their tags: two names."""
    return codec if layer == "text" else f"{codec}_{layer}"


def values(options: Options) -> tuple[Value, ...]:
    layer = options.layer
    said = "compression ratio" if layer == "text" else f"ratio of {layer}"
    return tuple(
        Value(value_name(codec, layer), f"{codec} {said}", "repetitive", "both")
        for codec in options.codecs
    )


def needs(options: Options) -> tuple[Need, ...]:
    return (Need(options.layer),)


def rows(sample: Sample, options: Options, work: Work) -> Rows:
    if options.layer == "text":
        raw = sample.text()
        starts = starts_of(raw.ends)
        return Rows(raw.ends - starts, raw.data, starts, raw.ends, None)
    from rote.measure._spelling import spelled_lengths

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
    return Rows(lengths, layer.ids, starts, ends, (words, word_ends), coded)


def reduce(rows: Rows, take: Take, options: Options, rng: np.random.Generator) -> Values:
    size = int(rows.lengths[take].sum()) + max(len(take) - 1, 0)
    found: Values = {}
    for codec in options.codecs:
        name = value_name(codec, options.layer)
        if not rows.lengths[take].any():
            found[name] = np.nan
            continue
        pieces = _pieces(rows, take, ord(" ") if options.variant == "package" else ord("\n"))
        if options.variant == "package" and codec == "gzip":
            found[name] = size / _size_after_two(pieces, options.gzip_level)
        else:
            found[name] = size / _size_after(pieces, _compressor(codec, options, size))
    return found


def quick_ratio(rows: Rows, take: Take, options: Options, rng: np.random.Generator) -> Values:
    """The ratio after zstd at a quick level, whatever the codec: for groups that are drawn.

    gzip at level 9 takes 20 times as long on texts and 100 times on tags, where the same few
    letters follow one another everywhere. Layers of few items have a byte for each.
    """
    size = int(rows.lengths[take].sum()) + max(len(take) - 1, 0)
    ratio = np.nan
    if rows.lengths[take].any():
        coded, level = rows.coded or rows, QUICK_CODES if rows.coded else QUICK
        written = int(coded.lengths[take].sum()) + max(len(take) - 1, 0)
        # Always the same settings: zstd would choose others for small groups.
        settings = zstandard.ZstdCompressionParameters.from_level(level, source_size=1 << 20)
        compressor = zstandard.ZstdCompressor(compression_params=settings).compressobj(size=written)
        ratio = size / _size_after(_pieces(coded, take, ord("\n")), compressor)
    return {value_name(codec, options.layer): ratio for codec in options.codecs}


def standard_errors(rows: Rows, take: Take, options: Options) -> Values:
    """Of gzip's ratio, from the bytes that each text adds to the stream: a ratio of two sums.

    The first texts find little to look back at and say nothing about the others, so they are left
    out, and small groups, which have few others, have no formula.
    """
    sizes = rows.lengths[take] + 1
    if "gzip" not in options.codecs or int(sizes.sum()) < LARGE:
        return {}
    compressor = zlib.compressobj(options.gzip_level, wbits=GZIP_CONTAINER)
    costs = np.empty(len(take))
    for number, text in enumerate(take):
        (piece,) = _pieces(rows, np.array([text]), ord("\n"))
        costs[number] = len(compressor.compress(piece.tobytes() + b"\n"))
        costs[number] += len(compressor.flush(zlib.Z_SYNC_FLUSH))
    whole = _size_after(_pieces(rows, take, ord("\n")), _compressor("gzip", options, 0))
    # What ending a block costs is the same for every text.
    costs -= (costs.sum() - whole) / len(take)
    told = np.cumsum(sizes) - sizes >= WINDOW
    if told.sum() < 2:
        return {}
    ratio = sizes[told].sum() / costs[told].sum()
    apart = sizes[told] - ratio * costs[told]
    error = math.sqrt(len(take) / (len(apart) - 1) * float(apart @ apart)) / whole
    return {value_name("gzip", options.layer): error}


def notes(rows: Rows, take: Take, options: Options) -> list[str]:
    return [] if rows.lengths[take].any() else ["no bytes to compress: the ratio is undefined"]


def _pieces(rows: Rows, take: Take, separator: int) -> Iterator[Bytes]:
    """The joined texts in pieces of some megabytes, so that memory stays flat."""
    from rote.measure._spelling import raw_texts, spelled_texts

    ends = np.cumsum(rows.lengths[take] + 1)
    first = 0
    while first < len(take):
        before = int(ends[first - 1]) if first else 0
        last = max(int(np.searchsorted(ends, before + CHUNK)), first + 1)
        size = int(ends[last - 1]) - before
        part = take[first:last]
        if rows.spelling is None:
            piece = raw_texts(rows.column, rows.starts, rows.ends, part, size, separator)
        else:
            piece = spelled_texts(
                rows.column, rows.starts, rows.ends, *rows.spelling, part, size, separator
            )
        # The separator stands between texts, not after the last one.
        yield piece if last < len(take) else piece[:-1]
        first = last


def _compressor(codec: str, options: Options, size: int) -> Compressor:
    if codec == "xz":
        return lzma.LZMACompressor(preset=options.xz_preset)
    if codec == "zstd":
        # The size is told in advance because zstd chooses its tables by it.
        return zstandard.ZstdCompressor(level=options.zstd_level).compressobj(size=size)
    return zlib.compressobj(options.gzip_level, wbits=GZIP_CONTAINER)


def _size_after(pieces: Iterator[Bytes], compressor: Compressor) -> int:
    size = sum(len(compressor.compress(piece)) for piece in pieces)
    return size + len(compressor.flush())


def _size_after_two(pieces: Iterator[Bytes], level: int) -> int:
    """Bytes of gzip(gzip(x)) in a file whose header holds the package's file name."""
    first: Compressor = zlib.compressobj(level, wbits=-zlib.MAX_WBITS)
    second: Compressor = zlib.compressobj(level, wbits=GZIP_CONTAINER)
    written = len(second.compress(INNER_HEADER))
    checksum = size = 0
    for piece in pieces:
        written += len(second.compress(first.compress(piece)))
        checksum = zlib.crc32(piece.data, checksum)
        size += len(piece)
    trailer = struct.pack("<LL", checksum, size & 0xFFFFFFFF)
    written += len(second.compress(first.flush() + trailer)) + len(second.flush())
    return written + FILE_NAME_IN_HEADER


def method(s: Mapping[str, str]) -> str:
    of = layer_words(s["layer"])
    level = f" at level {s['gzip_level']}" if "gzip" in s["codecs"] else ""
    return (
        f"The compression ratio of {of} is their size divided by that after {s['codecs']}"
        f"{level}, texts in the order of the input"
    )


def says(settings: Mapping[str, str]) -> str:
    if settings.get("layer") == "pos":
        return "How well the parts of speech compress: what repeats in grammar, whatever the words."
    return "How well the texts compress together: what repeats takes less room."


METRIC = Metric(
    name="compression",
    title="Compression ratio",
    values=values,
    needs=needs,
    options=Options,
    rows=rows,
    reduce=reduce,
    resample=quick_ratio,
    standard_errors=standard_errors,
    interval_method="spread of what each text adds",
    stand_in="zstd",
    citation=(
        "Shaib, Barrow, Sun, Siu, Wallace and Nenkova (2024), Standardizing the Measurement of "
        "Text Diversity: A Tool and a Comparative Analysis of Scores; on tags: Shaib, Elazar, Li "
        "and Wallace (2024), Detection and Measurement of Syntactic Templates in Generated Text"
    ),
    match="words",
    notes=notes,
    order_matters=True,
    permutations=199,
    heading=lambda settings: "Compression" + " of tags" * (settings.get("layer") == "pos"),
    says=says,
    section="diversity",
    place=40,
    panel=({}, {"layer": "pos"}),
    headlines=(
        Headline(
            *("gzip", "compression of the texts"),
            *("has texts that compress better", "has texts that compress less"),
            "compression ratio",
        ),
        Headline(
            *("gzip_pos", "compression of the tags"),
            *("has grammar that compresses better", "has grammar that compresses less"),
            "compression ratio of the tags",
        ),
    ),
    method=method,
    effort="heavy",
)
