"""Which sense a word has where it stands: one file for each way to choose, known by its name.

`context` (default) weighs how usual a sense is against what stands around the word, `order` takes
the first, `model:M` asks a language model. Packages outside add others through entry points of the
group named by ROOM.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from rote.core import plugins
from rote.core.errors import UnknownName
from rote.core.progress import Reporter, Silent
from rote.curate.synonyms.lexicons import Frame, Pos, Sense, SynonymLexicon
from rote.models.options import ModelOptions

ROOM = "curate.synonyms.senses"
DEFAULT = "context"
_MODEL = "model"


@dataclass(frozen=True, slots=True)
class SenseQuestion:
    """A word of an item whose sense is asked for.

    `around` are lemmas of the words that stand with it, itself not among them; `text` is one
    instance in which it stands, at `start:end`, with `tag`; `frame` is what a verb takes there.
    """

    lemma: str
    pos: Pos
    tag: str
    senses: tuple[Sense, ...]
    around: tuple[str, ...]
    text: str
    start: int
    end: int
    frame: Frame | None = None


@dataclass(frozen=True, slots=True)
class SenseAnswer:
    """The number of a sense, and how sure it is: its share of all senses, 0 to 1."""

    number: int
    share: float


class SenseChooser(Protocol):
    """What a file in this folder makes."""

    @property
    def signature(self) -> str:
        """Name and version."""

    def __call__(
        self, questions: Sequence[SenseQuestion], lexicon: SynonymLexicon, reporter: Reporter
    ) -> list[SenseAnswer]:
        """For each question a sense."""


_UNTAGGED, _DECAY = 0.5, 0.7
"""What a sense that nobody tagged counts, and what each later one counts of the one before."""


def sense_shares(senses: Sequence[Sense]) -> NDArray[np.float64]:
    """How usual each sense of a word is, by how often it was tagged and by the order of senses."""
    usual = np.array([sense.count + _UNTAGGED * _DECAY**n for n, sense in enumerate(senses)])
    return np.asarray(usual / usual.sum())


def get(
    name: str = DEFAULT, models: ModelOptions | None = None, reporter: Reporter | None = None
) -> SenseChooser:
    """The way to choose of this name; `models` says how a model is run, where one is asked."""
    kind, _, rest = name.partition(":")
    known = plugins.members(ROOM)
    if kind not in known:
        raise UnknownName("way to choose a sense", kind, known)
    module = plugins.load(ROOM, kind)
    if kind == _MODEL:
        return cast(
            SenseChooser, module.chooser(rest, models or ModelOptions(), reporter or Silent())
        )
    return cast(SenseChooser, module.chooser(rest))
