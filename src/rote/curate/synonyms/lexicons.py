"""Lexicons: which lemmas mean the same.

`get("wordnet")` is the default, the nouns and verbs of WordNet 3.0, which come with the package;
`get("wordnet:FOLDER")` the same with the definitions of Princeton's files in a folder;
`get("wn:oewn:2024")` any lexicon that the package `wn` holds.
Packages outside add modules with a function `lexicon` through entry points of the group named by
ROOM.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from rote.core import plugins
from rote.core.arrays import ENDING, unpack
from rote.core.errors import MissingExtra, OptionError

_BLANK = re.compile(r"\b(?:one|someone|somebody)(?:'s|self)\b")
ROOM = "curate.synonyms.lexicons"
DEFAULT = "wordnet"
Pos = Literal["noun", "verb"]
Frame = Literal["object", "clause", "alone"]
"""What a verb takes: an object, a clause or another verb, neither."""


@dataclass(frozen=True, slots=True)
class Sense:
    """One synset that a word occurs in.

    `lemmas` are all of its lemmas as they are spelled, with spaces inside; `count` is how often
    the word was tagged with this sense by those who made the lexicon. `frames` are the kinds of
    sentence that a verb of the synset makes; empty where the lexicon does not say.
    """

    synset: str
    lemmas: tuple[str, ...]
    count: int = 0
    frames: frozenset[Frame] = frozenset()

    def others(self, lemma: str) -> tuple[str, ...]:
        """The lemmas that are not the word itself."""
        return tuple(candidate for candidate in self.usable if candidate.lower() != lemma.lower())

    @property
    def usable(self) -> tuple[str, ...]:
        """The lemmas that can occur in a text: not *make up one's mind*."""
        return tuple(lemma for lemma in self.lemmas if not _BLANK.search(lemma))


class SynonymLexicon(Protocol):
    @property
    def signature(self) -> str:
        """Name and version."""

    @property
    def defines(self) -> bool:
        """Whether it says what senses mean."""

    def senses(self, lemma: str, pos: Pos) -> tuple[Sense, ...]:
        """The senses of a word, the most usual first; none if it is not held."""

    def related(self, sense: Sense) -> tuple[str, ...]:
        """Lemmas of the synsets right above and below."""

    def is_fixed(self, words: str) -> bool:
        """Whether words are an expression (*of course*) in which none can be replaced."""

    def gloss(self, sense: Sense) -> str:
        """What the sense means, in words; empty where the lexicon does not say."""


def get(name: str = DEFAULT) -> SynonymLexicon:
    kind, _, rest = name.partition(":")
    member = plugins.load(ROOM, kind)
    return cast(SynonymLexicon, getattr(member, "lexicon", member)(rest))


_FRAMES: dict[Frame, tuple[int, ...]] = {
    "object": (5, 8, 9, 10, 11, 14, 15, 16, 17, 18, 19, 20, 21, 24, 25, 30, 31),
    "clause": (24, 25, 26, 28, 29, 32, 33, 34, 35),
    "alone": (1, 2, 3, 4, 6, 7, 12, 13, 22, 23, 27),
}
"""Princeton's sentence frames by number (8: *Somebody ----s something*)."""
_FILE = f"nouns-verbs{ENDING}"


def wordnet(rest: str) -> WordNet:
    """The nouns and verbs of WordNet 3.0 (Miller 1995), which come with the package.

    Lemmas, synsets, order and counts of senses, hypernyms; no glosses. Made by
    `training/wordnet.py`. A synset is named by its place in Princeton's files, `02958343-n`, as
    everywhere else: where these files are at hand (`wordnet:FOLDER`, with data.noun and data.verb),
    glosses are read from there.
    """
    table = _read_wordnet()
    return replace(table, definitions=_definition_files(Path(rest))) if rest else table


def _definition_files(folder: Path) -> dict[str, Path]:
    """The files that hold the glosses, by the letter that synsets end in."""
    files = {pos[0]: folder / f"data.{pos}" for pos in ("noun", "verb")}
    if not all(file.is_file() for file in files.values()):
        raise OptionError(
            f"the lexicon 'wordnet' has no variants, and {folder} is not a folder with the files "
            "data.noun and data.verb of WordNet 3.0, such as Debian's /usr/share/wordnet"
        )
    synset, lemma = "02958343-n", b" car "
    if lemma not in _read_line(files["n"], synset):
        raise OptionError(f"{files['n']} is not of WordNet 3.0: its synsets have other offsets")
    return files


@dataclass(frozen=True, slots=True)
class _IntRuns:
    """Numbers in runs that follow each other."""

    values: NDArray[Any]
    ends: NDArray[Any]

    def place(self, number: int) -> slice:
        return slice(int(self.ends[number - 1]) if number else 0, int(self.ends[number]))

    def __getitem__(self, number: int) -> list[int]:
        run: list[int] = self.values[self.place(number)].tolist()
        return run


@dataclass(frozen=True, slots=True)
class WordNet:
    """The table; synsets and words are numbers until somebody asks for them."""

    version: str
    words: list[str]
    entries: dict[tuple[str, str], int]
    numbers: dict[str, int]
    members: _IntRuns
    above: _IntRuns
    below: _IntRuns
    entry_senses: _IntRuns
    tagged: NDArray[np.uint16]
    frames: list[frozenset[Frame]]
    names: list[str]
    fixed: frozenset[str]
    definitions: Mapping[str, Path] = field(default_factory=dict)

    @property
    def signature(self) -> str:
        return f"wordnet/{self.version}" + ("+definitions" if self.definitions else "")

    @property
    def defines(self) -> bool:
        return bool(self.definitions)

    def senses(self, lemma: str, pos: Pos) -> tuple[Sense, ...]:
        entry = self.entries.get((lemma.lower(), pos))
        if entry is None:
            return ()
        counts = self.tagged[self.entry_senses.place(entry)].tolist()
        return tuple(
            Sense(self.names[synset], self._lemmas(synset), count, self.frames[synset])
            for synset, count in zip(self.entry_senses[entry], counts)
        )

    def related(self, sense: Sense) -> tuple[str, ...]:
        synset = self.numbers[sense.synset]
        near = [*self.above[synset], *self.below[synset]]
        return tuple(dict.fromkeys(lemma for synset in near for lemma in self._lemmas(synset)))

    def is_fixed(self, words: str) -> bool:
        return words in self.fixed

    def gloss(self, sense: Sense) -> str:
        file = self.definitions.get(sense.synset[-1])
        return _gloss(file, sense.synset) if file is not None else ""

    def _lemmas(self, synset: int) -> tuple[str, ...]:
        return tuple(self.words[word] for word in self.members[synset])


def _read_line(file: Path, synset: str) -> bytes:
    """The line of a synset, which is named by where it begins."""
    with open(file, "rb") as data:
        data.seek(int(synset.partition("-")[0]))
        return data.readline()


@cache
def _gloss(file: Path, synset: str) -> str:
    """The definition of a synset; the examples that follow it in quotes are left out."""
    _, _, gloss = _read_line(file, synset).partition(b"| ")
    return gloss.decode("utf-8", "replace").partition('; "')[0].strip()


@cache
def _read_wordnet() -> WordNet:
    file = resources.files("rote.curate") / "wordnet" / _FILE
    arrays, about = unpack(file.read_bytes(), str(file))
    words = _split_text(arrays["words"])
    kinds: list[str] = about["pos"]
    offsets, pos = arrays["offset"].tolist(), arrays["pos"].tolist()
    names = [f"{offset:08}-{kinds[kind][0]}" for offset, kind in zip(offsets, pos)]
    entered = zip(arrays["entry"].tolist(), arrays["entry_pos"].tolist())
    entries = {(words[w].lower(), kinds[kind]): n for n, (w, kind) in enumerate(entered)}
    masks = arrays["frames"].tolist()
    kinds_of = {
        mask: frozenset(k for k, ns in _FRAMES.items() if any(mask >> n & 1 for n in ns))
        for mask in set(masks)
    }
    above = _IntRuns(arrays["hypernym"], arrays["hypernym_end"])
    return WordNet(
        version=about["version"],
        words=words,
        entries=entries,
        numbers={name: number for number, name in enumerate(names)},
        members=_IntRuns(arrays["member"], arrays["member_end"]),
        above=above,
        below=_invert_runs(above),
        entry_senses=_IntRuns(arrays["sense"], arrays["sense_end"]),
        tagged=arrays["tagged"],
        frames=[kinds_of[mask] for mask in masks],
        names=names,
        fixed=frozenset(_split_text(arrays["fixed"])),
    )


def _split_text(column: NDArray[np.uint8]) -> list[str]:
    return column.tobytes().decode("utf-8").replace("_", " ").split("\n")


def _invert_runs(above: _IntRuns) -> _IntRuns:
    """From synset -> hypernyms to synset -> hyponyms."""
    sizes = np.diff(above.ends, prepend=0)
    owner = np.repeat(np.arange(len(above.ends)), sizes)
    order = np.argsort(above.values, kind="stable")
    counts = np.bincount(above.values, minlength=len(above.ends))
    return _IntRuns(owner[order], np.cumsum(counts))


_POS = {"noun": "n", "verb": "v"}


def wn(rest: str) -> Wn:
    """Any lexicon of the package `wn` (Open English WordNet, WordNets of other languages).

    `wn:oewn:2024` names it as `wn` does; it has to be downloaded before (`python -m wn download
    oewn:2024`). The words to replace are found by an annotator of the texts' language.
    """
    try:
        import wn as package
    except ImportError:
        raise MissingExtra("wn", "wordnet", f"The lexicon 'wn:{rest}'") from None
    if not rest:
        raise OptionError("which lexicon of the package wn? Name it, such as wn:oewn:2024")
    try:
        return Wn(package.Wordnet(rest))
    except package.Error as error:
        raise OptionError(
            f"the package wn does not contain '{rest}' ({error}): download it with `python -m wn "
            f"download {rest}`"
        ) from None


@dataclass(frozen=True, slots=True)
class Wn:
    wordnet: Any

    @property
    def signature(self) -> str:
        from importlib.metadata import version

        names = "+".join(each.specifier() for each in self.wordnet.lexicons())
        return f"wn/{version('wn')}/{names}"

    @property
    def defines(self) -> bool:
        return True

    def senses(self, lemma: str, pos: Pos) -> tuple[Sense, ...]:
        # `wn` also finds inflected forms; what is asked for here is a lemma.
        every = self.wordnet.words(lemma, pos=_POS[pos])
        words = [word for word in every if word.lemma().lower() == lemma.lower()]
        return tuple(
            Sense(sense.synset().id, _lemmas(sense.synset()), sum(map(int, sense.counts())))
            for word in words
            for sense in word.senses()
        )

    def related(self, sense: Sense) -> tuple[str, ...]:
        synset = self.wordnet.synset(sense.synset)
        near = [*synset.hypernyms(), *synset.hyponyms()]
        return tuple(dict.fromkeys(lemma for synset in near for lemma in _lemmas(synset)))

    def is_fixed(self, words: str) -> bool:
        # `wn` holds adverbs with their part of speech: those of several words are expressions.
        return " " in words and bool(self.wordnet.words(words, pos="r"))

    def gloss(self, sense: Sense) -> str:
        return self.wordnet.synset(sense.synset).definition() or ""


def _lemmas(synset: Any) -> tuple[str, ...]:
    return tuple(lemma.replace("_", " ") for lemma in synset.lemmas())
