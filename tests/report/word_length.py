"""A measure as another package would bring it, in one file: how long words are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rote.core.metric import Metric, Value, Values, Work
from rote.core.record import Headline
from rote.core.sample import Need, Sample, Take

_WORD = Need("word")
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Options:
    """It has none."""


def rows(sample: Sample, options: Options, work: Work) -> Floats:
    layer = sample.layer(_WORD)
    lengths = np.array([len(word) for word in layer.vocabulary], float)[layer.ids]
    return np.array([lengths[layer.slice(text)].mean() for text in range(len(layer))])


def reduce(found: Floats, take: Take, options: Options, rng: np.random.Generator) -> Values:
    return {"letters": float(found[take].mean())}


def method(settings: Mapping[str, str]) -> str:
    return "The length of words is the mean over texts of their mean number of letters"


METRIC = Metric(
    name="word-length",
    title="Length of words",
    options=Options,
    values=lambda options: (Value("letters", "letters", "diverse", "neither"),),
    needs=lambda options: (_WORD,),
    rows=rows,
    reduce=reduce,
    match=None,
    citation="Zipf (1935), The Psycho-Biology of Language",
    says="How long words are.",
    section="diversity",
    place=15,
    panel=({},),
    headlines=(Headline("letters", "has longer words", "has shorter words"),),
    method=method,
    effort="light",
)
