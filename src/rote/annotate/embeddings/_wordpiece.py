"""The word pieces of uncased BERT, which MiniLM reads: 30,522 of them, and how to cut.

The list is a file beside this one; the rules (lower case, no accents, marks on their
own, longest piece first) are those that BERT was trained with.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

from rote.core.errors import MissingExtra

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
