"""The scores that are held against the overlap: ROUGE, entity scores, or fields with numbers."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np

from rote.core.array_types import Floats
from rote.core.errors import InputError, OptionError
from rote.core.metric import Work
from rote.core.sample import Need, Sample
from rote.measure._score import entities, rouge
from rote.measure._score.entities import TITLES as ENTITY_TITLES
from rote.measure._score.options import Options, Variant

REFERENCE, DOCUMENT = "reference", "document"
ROUGE = ("rouge_1", "rouge_2", "rouge_l")
ENTITIES = tuple(ENTITY_TITLES)
_SETS = {"rouge": ROUGE, "entities": ENTITIES, "none": ()}
_TRUTH = {"true": 1.0, "false": 0.0}


def title(name: str) -> str:
    return {**rouge.TITLES, **ENTITY_TITLES}.get(name, name)


def wanted(asked: Sequence[str], fields: Collection[str]) -> tuple[str, ...]:
    """The scores to take from records with these fields: those asked for, or all that can be made.

    `rouge` and `entities` stand for three each, `none` for no score at all.
    """
    if not asked:
        made = ROUGE if REFERENCE in fields else ()
        return (*made, *(ENTITIES if {REFERENCE, DOCUMENT} <= set(fields) else ()))
    for name in (named := expanded(asked)):
        if is_made(name) and name in fields:
            raise OptionError(
                f"the records have a field '{name}', and so is a score called that rote computes: "
                "rename the field"
            )
    return named


def expanded(asked: Sequence[str]) -> tuple[str, ...]:
    """Every score by its own name, once."""
    return tuple(dict.fromkeys(name for one in asked for name in _SETS.get(one, (one,))))


def is_made(name: str) -> bool:
    """Whether a score is computed here, rather than read from a field of that name."""
    return name in rouge.TITLES or name in ENTITY_TITLES


def needs(names: Sequence[str], variant: Variant) -> tuple[Need, ...]:
    """What the scores are made from; a field with numbers is read as text."""
    found: list[Need] = []
    if any(name in rouge.TITLES for name in names):
        found += rouge.needs(Options())
    if any(name in ENTITY_TITLES for name in names):
        found += entities.needs(Options(variant=variant))
    found += [Need("text", field=name, empty=True) for name in names if not is_made(name)]
    return tuple(found)


def scores(sample: Sample, names: Sequence[str], variant: Variant, work: Work) -> dict[str, Floats]:
    """One number per text for every score; nan where it is undefined."""
    made: dict[str, Floats] = {}
    if any(name in rouge.TITLES for name in names):
        made |= rouge.rows(sample, Options(), work).scores
    if any(name in ENTITY_TITLES for name in names):
        made |= entities.rows(sample, Options(variant=variant), work).scores
    return {n: made[n] if is_made(n) else _numbers(sample, n, work.ids) for n in names}


def _numbers(sample: Sample, field: str, ids: Sequence[str]) -> Floats:
    """A field with numbers; true and false are 1 and 0, nothing and null are nan."""
    raw = sample.text(field)
    found = np.empty(len(raw))
    for text in range(len(raw)):
        written = raw.text(text).decode().strip()
        try:
            found[text] = _TRUTH.get(written.lower(), math.nan) if _no_number(written) else written
        except ValueError:
            raise InputError(
                f"the score of '{ids[text]}' is no number: {written!r}", field=field
            ) from None
    return found


def _no_number(written: str) -> bool:
    return not written or written.lower() in _TRUTH
