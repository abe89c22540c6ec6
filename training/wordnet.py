# ruff: noqa: T201 - a command says what it does
"""Make the table of WordNet's nouns and verbs: facts alone, no glosses and no examples.

    apt-get download wordnet-base && dpkg-deb -x wordnet-base_*.deb wordnet-base
    python training/wordnet.py wordnet-base/usr/share/wordnet

Reads Princeton's `data`, `index` and `cntlist.rev` (formats: wndb(5WN), cntlist(5WN)). Kept are the
lemmas as they are spelled, the synsets that hold them, the order of the senses of a word and how
often each was tagged in Princeton's corpora, the hypernyms of a synset and the numbers of the
sentence frames of verbs; and adverbs of several words (*of course*), in which nothing is replaced.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from rote.core.arrays import pack
from rote.core.files import write_atomically

TARGET = Path(__file__).parents[1] / "src/rote/curate/wordnet"
POS = ("noun", "verb")
_HYPERNYMS = ("@", "@i")
_LEVEL = 19
_HEADER = "  "


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the table of WordNet's nouns and verbs.")
    parser.add_argument("wordnet", type=Path, help="the folder with data.noun and the others")
    parser.add_argument("--output", type=Path, default=TARGET / "nouns-verbs.npz.zst")
    options = parser.parse_args()
    arrays = table(options.wordnet)
    about = {
        "name": "WordNet 3.0, nouns and verbs",
        "version": "3.0",
        "source": "Debian's wordnet-base; Copyright 2006 by Princeton University",
        "pos": POS,
    }
    write_atomically(options.output, pack(arrays, about, _LEVEL))
    size = options.output.stat().st_size / 1e6
    print(f"{len(arrays['offset']):,} synsets, {len(arrays['sense']):,} senses, {size:.2f} MB")


def table(folder: Path) -> dict[str, np.ndarray]:
    """All arrays; runs follow each other and `*_end` says where each ends."""
    counts = _counts(folder)
    words: dict[str, int] = {}
    number: dict[tuple[int, int], int] = {}
    members, member_ends, hypernyms, frames = [], [], [], []
    for pos, name in enumerate(POS):
        for offset, lemmas, above, framed in _synsets(folder / f"data.{name}"):
            number[pos, offset] = len(number)
            members += [words.setdefault(lemma, len(words)) for lemma in lemmas]
            member_ends.append(len(members))
            hypernyms.append([(pos, other) for other in above])
            frames.append(sum(1 << frame for frame in framed))
    entries, entry_pos, senses, sense_ends, tagged = [], [], [], [], []
    for pos, name in enumerate(POS):
        for lemma, offsets in _entries(folder / f"index.{name}"):
            entries.append(words.setdefault(lemma, len(words)))
            entry_pos.append(pos)
            senses += [number[pos, offset] for offset in offsets]
            tagged += [counts.get((name, lemma, n), 0) for n in range(1, len(offsets) + 1)]
            sense_ends.append(len(senses))
    blob = "\n".join(words).encode("utf-8")
    return {
        "words": np.frombuffer(blob, np.uint8),
        "offset": np.array([offset for _, offset in number], np.int32),
        "pos": np.array([pos for pos, _ in number], np.uint8),
        "member": np.array(members, np.int32),
        "member_end": np.array(member_ends, np.int32),
        "hypernym": np.array([number[key] for keys in hypernyms for key in keys], np.int32),
        "hypernym_end": np.cumsum([len(keys) for keys in hypernyms], dtype=np.int32),
        "entry": np.array(entries, np.int32),
        "entry_pos": np.array(entry_pos, np.uint8),
        "sense": np.array(senses, np.int32),
        "sense_end": np.array(sense_ends, np.int32),
        "tagged": np.array(tagged, np.uint16),
        "frames": np.array(frames, np.uint64),
        "fixed": np.frombuffer("\n".join(_fixed(folder)).encode("utf-8"), np.uint8),
    }


def _lines(path: Path) -> Iterator[str]:
    """The lines of a file but for its licence."""
    with path.open(encoding="utf-8") as file:
        yield from (line for line in file if not line.startswith(_HEADER))


def _synsets(path: Path) -> Iterator[tuple[int, list[str], list[int], set[int]]]:
    """Offset, lemmas as spelled, offsets of the hypernyms, frames; what follows the bar is not
    read."""
    for line in _lines(path):
        fields = line.partition("|")[0].split()
        held = int(fields[3], 16)
        lemmas = fields[4 : 4 + 2 * held : 2]
        at = 4 + 2 * held
        pointers = [fields[at + 1 + 4 * n : at + 5 + 4 * n] for n in range(int(fields[at]))]
        above = [int(offset) for sign, offset, _, _ in pointers if sign in _HYPERNYMS]
        rest = fields[at + 1 + 4 * len(pointers) :]
        yield int(fields[0]), lemmas, above, {int(frame) for frame in rest[2::3]}


def _entries(path: Path) -> Iterator[tuple[str, list[int]]]:
    """A lemma in lower case, and its synsets in the order of its senses."""
    for line in _lines(path):
        fields = line.split()
        yield fields[0], [int(offset) for offset in fields[-int(fields[2]) :]]


def _fixed(folder: Path) -> list[str]:
    """Adverbs of several words."""
    return [lemma for lemma, _ in _entries(folder / "index.adv") if "_" in lemma]


def _counts(folder: Path) -> dict[tuple[str, str, int], int]:
    """How often a sense (part of speech, lemma, number from 1 on) was tagged."""
    found = {}
    kinds = {"1": "noun", "2": "verb"}
    for line in _lines(folder / "cntlist.rev"):
        key, sense, count = line.split()
        lemma, _, rest = key.rpartition("%")
        if rest[0] in kinds:
            found[kinds[rest[0]], lemma, int(sense)] = int(count)
    return found


if __name__ == "__main__":
    main()
