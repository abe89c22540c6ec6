"""The tokenizer: byte-level BPE, and the texts as its tokens."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from planting import Item
from sources import Source
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

SIZE = 4096
END = "<|endoftext|>"
# Nothing but what Python's `re` and the library read alike, so that rote reads it without them.
PATTERN = r"'(?:s|t|d|m|ll|re|ve)| ?[A-Za-z]+| ?[0-9]| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+"


def train(texts: Sequence[str], folder: Path) -> None:
    """Learnt from the body alone: copies of planted passages would make words of their phrases."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PATTERN), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=SIZE,
        special_tokens=[END],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    # Every text begins with the start token, as it did in training.
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{END} $A",
        pair=f"{END} $A $B",
        special_tokens=[(END, tokenizer.token_to_id(END))],
    )
    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)


def tokens(source: Source, items: Sequence[Item], tokenizer: Path, target: Path) -> None:
    """Every document once, with its number of copies: first the body, then the passages.

    `asked` and `answered` say for each passage at which token its 51st and its 101st word begin.
    """
    read = Tokenizer.from_file(str(tokenizer))
    passages = [item.passage.text for item in items]
    texts = [text for _, text in source.body] + passages
    ids = [one.ids for one in read.encode_batch(texts, add_special_tokens=False)]
    halves = [[_length(read, text.split()[:words]) for words in (50, 100)] for text in passages]
    entries = [read.id_to_token(number) for number in range(read.get_vocab_size())]
    np.savez_compressed(
        target,
        flat=np.concatenate([np.asarray(one, np.uint16) for one in ids]),
        lengths=np.asarray([len(one) for one in ids], np.int64),
        repeats=np.asarray([1] * len(source.body) + [item.repeats for item in items], np.int64),
        body=np.int64(len(source.body)),
        asked=np.asarray([pair[0] for pair in halves], np.int64),
        answered=np.asarray([pair[1] for pair in halves], np.int64),
        # A token that begins with a space begins a word (the letter that stands for the byte 32).
        opens=np.asarray([one.startswith("Ġ") or one == END for one in entries]),
    )


def _length(tokenizer: Tokenizer, words: Sequence[str]) -> int:
    return len(tokenizer.encode(" ".join(words), add_special_tokens=False).ids)
