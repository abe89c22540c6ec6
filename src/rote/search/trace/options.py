"""What counts as a matched span, which are listed, and with how much evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rote.core.errors import OptionError, UnknownName
from rote.core.metric import LONGEST_NGRAM, check_options, option

VERBATIM, LEMMA, GAPPED = "verbatim", "lemma", "gapped"
KINDS = (VERBATIM, LEMMA, GAPPED)
"""From strict to loose."""
MEANING = "meaning"
"""Never matched unless it is named: it embeds every sentence."""
MOST_GAP = 100
"""The time of an alignment grows with it."""
EXACT_LAYER, LEMMA_LAYER = "lower", "lemma"


@dataclass(frozen=True, slots=True)
class TraceOptions:
    kinds: tuple[str, ...] = option(
        (),
        "Kinds of match: verbatim, lemma (same words in any form), gapped (near-verbatim: words "
        "added, left out or exchanged); default: all that the index has the layers for; and "
        "meaning (sentences that say the same, by an index with the layer meaning)",
        common=True,
    )
    min_words: int = option(
        8,
        "Minimum match length in words, two more for each word that differs; punctuation counts "
        "as words",
        most=10_000,
        common=True,
    )
    min_bits: float = option(
        24.0,
        "Minimum surprisal of a match, in bits: at 1, words in random order would give half a "
        "match in the whole index, at 2 a quarter",
    )
    gap: int = option(
        6,
        "Maximum gap of a gapped match: consecutive words added, left out or exchanged",
        most=MOST_GAP,
    )
    seed_words: int = option(
        4,
        "Seed length of a gapped match: consecutive words shared with a document",
        most=LONGEST_NGRAM,
    )
    seed_count: int = option(100, "Maximum frequency of a seed in the index")
    chance: float = option(
        0.01,
        "Maximum probability of a match of meaning by chance (in an unrelated text of its length)",
        above=0,
        most=0.2,
    )
    sort: Literal["longest", "unlikely"] = option(
        "longest", "Which matches come first", common=True
    )
    limit: int = option(100, "Number of matches to list with sources; 0: all", common=True)
    places: int = option(
        3, "Number of positions to show per match, in as many documents as possible", most=1_000
    )
    context: int = option(80, "Characters of context on either side of a match", most=100_000)

    def __post_init__(self) -> None:
        check_options(self)
        for kind in self.kinds:
            if kind not in (*KINDS, MEANING):
                raise UnknownName("kind of match", kind, (*KINDS, MEANING))
        for name in ("min_words", "seed_words", "seed_count", "places"):
            if getattr(self, name) < 1:
                flag = name.replace("_", "-")
                raise OptionError(f"--{flag} must be at least 1, not {getattr(self, name)}")
        for name in ("gap", "limit", "context"):
            if getattr(self, name) < 0:
                raise OptionError(f"--{name} must not be negative, not {getattr(self, name)}")

    @property
    def gap_layer(self) -> str:
        """Gapped matches look past inflection where lemma matches do."""
        return LEMMA_LAYER if LEMMA in self.kinds else EXACT_LAYER

    @property
    def layer_of(self) -> dict[str, str]:
        needed = {VERBATIM: EXACT_LAYER, LEMMA: LEMMA_LAYER, GAPPED: self.gap_layer}
        needed[MEANING] = EXACT_LAYER
        return {kind: layer for kind, layer in needed.items() if kind in self.kinds}

    @property
    def layers(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.layer_of.values()))
