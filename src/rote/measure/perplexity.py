"""How surprising the texts are to a language model.

Perplexity is two to the mean number of bits per token. Tokens are the model's own, so only values
of the same model compare; bits per word and per byte compare between models too. Low perplexity is
what the model expects, which is not the same as good or human: a text of repetitions has little.

Direction: none; a quality column for `rote correlate`. Length: a token has more context in a longer
text, so that longer texts come out a little less surprising.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rote.core.metric import Metric, Value, Values, Work, option
from rote.core.sample import Need, Sample, Take

WITHOUT = (
    "no model to ask: --model names a folder, transformers:NAME, openai:URL#NAME, index:FOLDER"
)
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Options:
    """Settings of `perplexity`."""

    model: str | None = option(
        None, "the model: a folder, transformers:NAME, openai:URL#NAME, index:FOLDER", metavar="M"
    )
    device: str = option("auto", "where a model of transformers runs", sign=lambda name: None)


@dataclass(frozen=True, slots=True)
class Rows:
    """Per text: bits, tokens, words, bytes; no text has bits where there is no model."""

    bits: Floats
    tokens: Floats
    words: Floats
    bytes: Floats
    asked: bool


def values(options: Options) -> tuple[Value, ...]:
    return (
        Value("perplexity", "perplexity per token", "neither", True),
        Value("bits_per_word", "bits per word", "neither", True),
        Value("bits_per_byte", "bits per byte", "neither", True),
    )


def needs(options: Options) -> tuple[Need, ...]:
    return (Need("text"),)


def rows(sample: Sample, options: Options, work: Work) -> Rows:
    raw, words = sample.text(), sample.words.astype(np.float64)
    sizes = np.diff(raw.ends, prepend=0).astype(np.float64)
    if not options.model:
        nothing = np.full(len(raw), np.nan)
        return Rows(nothing, nothing, words, sizes, asked=False)
    from rote.core.model import Continuation
    from rote.measure._speaking import open_model
    from rote.models.asking import score_all
    from rote.models.options import ModelOptions

    model = open_model(options.model, ModelOptions(device=options.device), work.reporter)
    texts = [raw.text(number).decode("utf-8", "surrogatepass") for number in range(len(raw))]
    scored = score_all(model, [Continuation("", text) for text in texts], work.reporter)
    return Rows(
        np.array([-one.total / math.log(2) for one in scored]),
        np.array([float(len(one.logprobs)) for one in scored]),
        words,
        sizes,
        asked=True,
    )


def reduce(rows: Rows, take: Take, options: Options, rng: np.random.Generator) -> Values:
    bits = float(rows.bits[take].sum())
    return {
        "perplexity": 2 ** _ratio(bits, rows.tokens[take]),
        "bits_per_word": _ratio(bits, rows.words[take]),
        "bits_per_byte": _ratio(bits, rows.bytes[take]),
    }


def per_text(rows: Rows, options: Options) -> Mapping[str, Floats]:
    with np.errstate(divide="ignore", invalid="ignore"):
        return {
            "perplexity": 2 ** _defined(rows.bits / rows.tokens),
            "bits_per_word": _defined(rows.bits / rows.words),
            "bits_per_byte": _defined(rows.bits / rows.bytes),
        }


def notes(rows: Rows, take: Take, options: Options) -> list[str]:
    if not rows.asked:
        return [WITHOUT]
    return [] if rows.words[take].sum() else ["no words: nothing to be surprised by"]


def _ratio(bits: float, of: Floats) -> float:
    total = float(of.sum())
    return bits / total if total else math.nan


def _defined(shares: Floats) -> Floats:
    return np.where(np.isfinite(shares), shares, np.nan)


METRIC = Metric(
    name="perplexity",
    title="Perplexity",
    values=values,
    needs=needs,
    options=Options,
    rows=rows,
    reduce=reduce,
    citation=(
        "Jelinek, Mercer, Bahl and Baker (1977), Perplexity: a measure of the difficulty of speech "
        "recognition tasks"
    ),
    match="texts",
    per_text=per_text,
    notes=notes,
)
