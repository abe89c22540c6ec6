"""How much of its reference, or of any field beside it, a text shares: ROUGE-1, 2, L, Lsum.

ROUGE (Lin 2004) of each text against its `reference` (or `input`, `document`, any field), and the
mean over the texts of a source. Values are those of the package rouge-score 0.1.2, digit by digit:
its words (lower case, a-z and 0-9), its clipped counts of n-grams, and for Lsum its union of
longest common subsequences over lines. Of several references the one with the highest F counts.

Direction: none. More overlap with a reference is usually read as quality, more overlap with the
input as copying. Length: recall rises and precision falls with the length of the text; how many
texts there are does not matter. A text or a reference without words scores 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rote.compare.intervals import mean_error
from rote.core.compiling import say_if_compiling
from rote.core.errors import MissingExtra, OptionError
from rote.core.layer import Layer
from rote.core.metric import Metric, Value, Values, Work, option
from rote.core.sample import Need, Sample, Take

TITLES = {
    "rouge_1": "ROUGE-1",
    "rouge_2": "ROUGE-2",
    "rouge_l": "ROUGE-L",
    "rouge_lsum": "ROUGE-Lsum",
}
_STEMMED = 4
"""The fewest letters of a word that is stemmed."""


def _stemmer_version(stemming: bool) -> str | bool:
    from importlib.metadata import version

    return f"porter/nltk-{version('nltk')}" if stemming else False


@dataclass(frozen=True, slots=True)
class Options:
    """Settings of `rouge`."""

    to: str = option(
        "reference", "field of the record that the text is compared with", metavar="FIELD"
    )
    score: Literal["f", "precision", "recall"] = option(
        "f", "which of the three; precision is of the text, recall of the field"
    )
    stemming: bool = option(
        False, "compare Porter stems, as rouge-score does when asked to", sign=_stemmer_version
    )

    def __post_init__(self) -> None:
        if not self.to:
            raise OptionError("to must name a field of the records")


@dataclass(frozen=True, slots=True)
class Rows:
    """The scores of every text, and how many words it and its field have."""

    scores: Mapping[str, NDArray[np.float64]]
    lengths: NDArray[np.int64]
    other_lengths: NDArray[np.int64]


def values(options: Options) -> tuple[Value, ...]:
    kind = {"f": "F"}.get(options.score, options.score)
    return tuple(
        Value(name, f"{title} {kind}", "neither", "length", share=True)
        for name, title in TITLES.items()
    )


def needs(options: Options) -> tuple[Need, ...]:
    return (
        Need("word", "rouge", spans=True),
        Need("word", "rouge", spans=True, field=options.to, several=True),
        Need("text"),
        Need("text", field=options.to, several=True),
    )


def check(options: Options, signature: str) -> None:
    if options.stemming:
        _stem()


def rows(sample: Sample, options: Options, work: Work) -> Rows:
    from rote.measure._rouge.scores import Side, rouge

    say_if_compiling(work.reporter, "rote.measure._rouge.overlap")
    own, other, *_ = needs(options)
    text, field = sample.layer(own), sample.layer(other)
    if options.stemming:
        text, field = _stemmed(text), _stemmed(field)
    found = rouge(
        Side(text, sample.text()),
        Side(field, sample.text(options.to)),
        threads=work.jobs,
        progress=work.progress,
    )
    return Rows(
        scores={name: getattr(found[name], options.score) for name in TITLES},
        lengths=text.text_ends - text.text_starts,
        other_lengths=field.text_ends - field.text_starts,
    )


def reduce(rows: Rows, take: Take, options: Options, rng: np.random.Generator) -> Values:
    return {
        name: float(scores[take].mean()) if len(take) else np.nan
        for name, scores in rows.scores.items()
    }


def standard_errors(rows: Rows, take: Take, options: Options) -> Values:
    return {name: mean_error(scores[take]) for name, scores in rows.scores.items()}


def per_text(rows: Rows, options: Options) -> Mapping[str, NDArray[np.float64]]:
    return rows.scores


def notes(rows: Rows, take: Take, options: Options) -> list[str]:
    found = []
    for what, lengths in (("texts", rows.lengths), (f"fields '{options.to}'", rows.other_lengths)):
        empty = int((lengths[take] == 0).sum())
        if empty:
            found.append(f"scored 0: {empty:,} of {len(take):,} {what} without words (a-z, 0-9)")
    return found


def _stemmed(layer: Layer) -> Layer:
    """Every word of the vocabulary is stemmed once, however often it stands in the texts."""
    stem = _stem()
    return layer.map("stem", lambda word: stem(word) if len(word) >= _STEMMED else word)


def _stem() -> Any:
    try:
        from nltk.stem.porter import PorterStemmer
    except ImportError:
        raise MissingExtra("nltk", "stemming", "ROUGE with stemming") from None
    return PorterStemmer().stem


METRIC = Metric(
    name="rouge",
    title="ROUGE",
    values=values,
    needs=needs,
    options=Options,
    rows=rows,
    reduce=reduce,
    citation="Lin (2004), ROUGE: A Package for Automatic Evaluation of Summaries",
    match=None,
    whole="a text is scored beside its whole reference",
    standard_errors=standard_errors,
    per_text=per_text,
    notes=notes,
    check=check,
    inputs=False,
)
