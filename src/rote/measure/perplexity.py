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

from rote.compare.intervals import shares
from rote.core.arrays import Flags, Floats
from rote.core.metric import Metric, Value, Values, Work, option
from rote.core.model import Continuation
from rote.core.progress import several
from rote.core.sample import Need, Sample, Take
from rote.models.answers import score_all
from rote.models.options import how_to_run, run_option
from rote.search.open_models import check_models, model_signatures, name_models, open_model

WITHOUT = "no model: --model takes a folder, transformers:NAME, openai:URL#NAME, index:FOLDER"


@dataclass(frozen=True, slots=True)
class Options:
    model: str | None = option(
        None,
        "the model: a folder, transformers:NAME, openai:URL#NAME, index:FOLDER",
        metavar="M",
        needed=True,
        sign=lambda name: model_signatures([name])[0] if name else name,
    )
    device: str = run_option("device")
    dtype: str = run_option("dtype")
    batch: int = run_option("batch")
    threads: int = run_option("threads")
    key_variable: str = run_option("key_variable")
    rate: float = run_option("rate")
    price: tuple[float, float] | None = run_option("price")
    yes: bool = run_option("yes")

    def __post_init__(self) -> None:
        how_to_run(self)  # what it refuses


@dataclass(frozen=True, slots=True)
class Rows:
    """Per text: bits, tokens, words, bytes; no text has bits where there is no model."""

    bits: Floats
    tokens: Floats
    words: Floats
    bytes: Floats
    has_model: bool
    from_second: Flags
    """Texts whose first token the backend does not score."""


def values(options: Options) -> tuple[Value, ...]:
    return (
        Value("perplexity", "perplexity per token", "neither", "length"),
        Value("bits_per_word", "bits per word", "neither", "length"),
        Value("bits_per_byte", "bits per byte", "neither", "length"),
    )


def needs(options: Options) -> tuple[Need, ...]:
    return (Need("text"),)


def rows(sample: Sample, options: Options, work: Work) -> Rows:
    raw, words = sample.text(), sample.words.astype(np.float64)
    sizes = np.diff(raw.ends, prepend=0).astype(np.float64)
    if not options.model:
        nothing = np.full(len(raw), np.nan)
        return Rows(nothing, nothing, words, sizes, False, np.zeros(len(raw), np.bool_))
    (named_model,) = name_models([options.model])
    model = open_model(named_model.spec, how_to_run(options), work.reporter)
    texts = raw.strings()
    scored = score_all(model, [Continuation("", text) for text in texts], work.reporter)
    return Rows(
        np.array([-answer.total / math.log(2) for answer in scored]),
        np.array([float(len(answer.logprobs)) for answer in scored]),
        words,
        sizes,
        True,
        np.array([len(answer.starts) > 0 and answer.starts[0] > 0 for answer in scored], np.bool_),
    )


def reduce(rows: Rows, take: Take, options: Options, rng: np.random.Generator) -> Values:
    bits = float(rows.bits[take].sum())
    return {
        "perplexity": 2 ** _ratio(bits, rows.tokens[take]),
        "bits_per_word": _ratio(bits, rows.words[take]),
        "bits_per_byte": _ratio(bits, rows.bytes[take]),
    }


def per_text(rows: Rows, options: Options) -> Mapping[str, Floats]:
    bits = np.where(np.isfinite(rows.bits), rows.bits, np.nan)
    return {
        "perplexity": 2 ** shares(bits, rows.tokens),
        "bits_per_word": shares(bits, rows.words),
        "bits_per_byte": shares(bits, rows.bytes),
    }


def notes(rows: Rows, take: Take, options: Options) -> list[str]:
    if not rows.has_model:
        return [WITHOUT]
    if not rows.words[take].sum():
        return ["no words to score"]
    if count := int(rows.from_second[take].sum()):
        return [
            f"scored from the second token on: {several(count, 'text')}, since the endpoint gives "
            "nothing for the first; bits per word and per byte are a little too low"
        ]
    return []


def _ratio(bits: float, of: Floats) -> float:
    total = float(of.sum())
    return bits / total if total else math.nan


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
    match=None,
    uncut_reason="every window would need another pass of the model",
    per_text=per_text,
    notes=notes,
    check=lambda options, signature: check_models([options.model] if options.model else []),
    report=lambda context: "",  # a report asks no model
)
