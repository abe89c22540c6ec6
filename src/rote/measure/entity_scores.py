"""How many of the names and numbers in a text are in its document, and how many are remembered.

Of a text (a summary), its `reference` and the `document` it was made from: E_Prc is the share of
the text's entity tokens that are in the document; E_Rem the share that are in the reference but
not in the document, so the model cannot have read them there; E_Rec the share of the reference's
entity tokens which are in the document that the text has too. Tokens are words of mentions of all
types, stop words and punctuation dropped, compared in lower case. Means over texts that have such
tokens.

Direction: none. Length: a longer text recalls more; how many texts there are does not matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rote.compare.intervals import mean_error
from rote.core.errors import OptionError
from rote.core.metric import Comparison, Metric, Value, Values, Work, option
from rote.core.sample import Need, Sample, Take
from rote.measure._entity_tokens import TITLES, Entities, entities
from rote.measure._entity_tokens import needs as entity_needs

_EXPLAINED = {
    "entity_recall": "entities of reference and document that the text has",
    "entity_precision": "entities of the text that are in the document",
    "entity_remembered": "entities of the text in the reference alone",
}
_OF_THE_PAPER = {"entity_recall": "entities of the text that are in reference and document"}


@dataclass(frozen=True, slots=True)
class Options:
    """Settings of `entity-scores`."""

    variant: Literal["exact", "paper"] = option(
        "exact",
        "exact: recall is over the reference's entities; paper: over the text's, those in both",
    )
    reference_field: str = option("reference", "field with the reference", metavar="FIELD")
    document_field: str = option(
        "document", "field with what the text was made from", metavar="FIELD"
    )

    def __post_init__(self) -> None:
        if not self.reference_field or not self.document_field:
            raise OptionError("both fields must have a name")


@dataclass(frozen=True, slots=True)
class Rows:
    """The scores of every text, and the entities that they come from."""

    scores: Mapping[str, NDArray[np.float64]]
    found: Entities


def values(options: Options) -> tuple[Value, ...]:
    said = _EXPLAINED | (_OF_THE_PAPER if options.variant == "paper" else {})
    return tuple(
        Value(
            name,
            f"{title}, {said[name]}",
            "neither",
            "length" if name == "entity_recall" else "neither",
            share=True,
        )
        for name, title in TITLES.items()
    )


def needs(options: Options) -> tuple[Need, ...]:
    return entity_needs(options.reference_field, options.document_field)


def rows(sample: Sample, options: Options, work: Work) -> Rows:
    found = entities(sample, options.reference_field, options.document_field)
    return Rows(found.scores(options.variant), found)


def reduce(rows: Rows, take: Take, options: Options, rng: np.random.Generator) -> Values:
    return {name: _mean(scores[take]) for name, scores in rows.scores.items()}


def standard_errors(rows: Rows, take: Take, options: Options) -> Values:
    return {name: mean_error(scores[take]) for name, scores in rows.scores.items()}


def per_text(rows: Rows, options: Options) -> Mapping[str, NDArray[np.float64]]:
    return rows.scores


def notes(rows: Rows, take: Take, options: Options) -> list[str]:
    none = int(np.isnan(rows.scores["entity_precision"][take]).sum())
    unrecalled = int(np.isnan(rows.scores["entity_recall"][take]).sum())
    said = []
    if none:
        said.append(f"left out: {none:,} of {len(take):,} texts without entities")
    if options.variant == "exact" and unrecalled:
        said.append(
            f"E_Rec leaves out {unrecalled:,} of {len(take):,} texts: no entity of their reference "
            "is in their document"
        )
    return said


def tables(rows: Rows, comparison: Comparison, options: Options) -> Mapping[str, Sequence[Any]]:
    """The scores by type of entity: each a mean over the texts that have that type."""
    by_type = [
        (type, rows.found.tokens(number), rows.found.scores(options.variant, number))
        for number, type in enumerate(rows.found.types)
    ]
    return {
        "types": [
            {
                "source": source,
                "type": type,
                "texts": int((tokens[take] > 0).sum()),
                "tokens": int(tokens[take].sum()),
                **{name: _mean(column[take]) for name, column in scores.items()},
                **{f"{name}_error": mean_error(column[take]) for name, column in scores.items()},
            }
            for source, take in comparison.groups.items()
            for type, tokens, scores in by_type
        ]
    }


def _mean(column: NDArray[np.float64]) -> float:
    defined = column[~np.isnan(column)]
    return float(defined.mean()) if len(defined) else np.nan


METRIC = Metric(
    name="entity-scores",
    title="Entities of a text, its reference and its document",
    values=values,
    needs=needs,
    options=Options,
    rows=rows,
    reduce=reduce,
    citation=(
        "Choubey et al. (2023), Lexical Repetitions Lead to Rote Learning: Unveiling the Impact of "
        "Lexical Overlap in Train and Test Reference Summaries"
    ),
    match=None,
    whole="a text is scored beside its whole document and reference",
    standard_errors=standard_errors,
    per_text=per_text,
    notes=notes,
    tables=tables,
    inputs=False,
)
