"""How close a text is to its reference or document: ROUGE, cosine, BERTScore, copies, entities.

Each score compares a text with a field of its record, `reference` or `document`, and is averaged
over the texts of a source. Without --scores all are given that the fields allow:

\b
  rouge      words shared with the reference (ROUGE-1, 2, L, Lsum), as rouge-score
  cosine     of the embeddings of text and reference, each embedded as a whole
  bertscore  precision, recall and F of BERTScore (Zhang et al. 2020); --bertscore names a model
  comet      COMET (Rei et al. 2020), which also reads the document; --comet names a model
  fragments  coverage, density and compression of runs copied from the document (Grusky et al. 2018)
  entities   names and numbers that are in the document, or can only be remembered

\b
  rote score summaries.jsonl --by source --reference human
  rote score summaries.jsonl --scores rouge,entities --reference-field summary
  rote score summaries.jsonl --scores rouge --rouge precision --reference-field document

Of several references the best counts. Direction: none. Closeness to a reference is usually read as
quality, closeness to the input as copying. Length: all scores but the cosine's depend on the length
of the text; how many texts there are does not matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

from rote.core.arrays import Floats
from rote.core.metric import Comparison, Metric, Value, Work
from rote.core.record import Headline, ReportContext
from rote.core.result import Row
from rote.core.sample import Need, Sample, Take
from rote.measure._text_means import per_text, reduce, standard_errors
from rote.measure.reference_scores import entities, fragments, meaning, rouge
from rote.measure.reference_scores.options import (
    BY_MODEL,
    NONE,
    Options,
    chosen_scores,
    possible_scores,
    settle_scores,
)

_PARTS: Mapping[str, ModuleType] = {
    "rouge": rouge,
    **dict.fromkeys(("cosine", *BY_MODEL), meaning),
    "fragments": fragments,
    "entities": entities,
}


_HEADINGS = {
    "rouge": "ROUGE",
    "cosine": "Similarity in meaning",
    "fragments": "Extractive fragments",
    "entities": "Names and numbers",
}


@dataclass(frozen=True, slots=True)
class Rows:
    """The scores of every text, and what each part found."""

    scores: Mapping[str, Floats]
    parts: Mapping[ModuleType, Any]


def parts_of(options: Options) -> list[Any]:
    return list(dict.fromkeys(_PARTS[name] for name in chosen_scores(options)))


def values(options: Options) -> tuple[Value, ...]:
    return tuple(value for part in parts_of(options) for value in part.values(options))


def needs(options: Options) -> tuple[Need, ...]:
    layers = (need for part in parts_of(options) for need in part.needs(options))
    return tuple(dict.fromkeys(layers))


def check(options: Options, signature: str) -> None:
    for part in parts_of(options):
        if hasattr(part, "check"):
            part.check(options)


def rows(sample: Sample, options: Options, work: Work) -> Rows:
    parts, by_part = parts_of(options), {}
    for number, part in enumerate(parts):

        def progress(share: float, number: int = number) -> None:
            work.progress((number + share) / len(parts))

        by_part[part] = part.rows(sample, options, replace(work, progress=progress))
        progress(1.0)
    scores: dict[str, Floats] = {}
    for part_rows in by_part.values():
        scores |= part_rows.scores
    return Rows(scores, by_part)


def notes(rows: Rows, take: Take, options: Options) -> list[str]:
    names = {part: name for name, part in _PARTS.items() if part is not meaning}
    lines = []
    for part, part_rows in rows.parts.items():
        of = f"{names[part]}: " if part in names and len(rows.parts) > 1 else ""
        lines += [f"{of}{note}" for note in part.notes(part_rows, take, options)]
    return lines


def tables(rows: Rows, comparison: Comparison, options: Options) -> Mapping[str, Sequence[Row]]:
    entity_rows = rows.parts.get(entities)
    return entities.tables(entity_rows, comparison, options) if entity_rows is not None else {}


def method(s: Mapping[str, str]) -> str:
    """One sentence for the scores that were taken."""
    names = s["scores"].split(",") if s["scores"] else chosen_scores(Options())
    return "; ".join(dict.fromkeys(_PARTS[name].method(s) for name in names))


def heading(s: Mapping[str, str]) -> str:
    names = [_HEADINGS.get(name, name) for name in s["scores"].split(",")]
    return names[0] if len(names) == 1 else "Scores"


def report(context: ReportContext) -> Sequence[Mapping[str, Any]] | str:
    """Each score by itself: one that cannot work leaves the others."""
    if not (scores := possible_scores(Options(), context.fields)):
        return context.lacks_fields("reference")
    made_by = {"cosine": context.embedder}
    return [{"scores": (name,), "embedder": made_by.get(name, NONE)} for name in scores]


METRIC = Metric(
    name="score",
    title="Scores against reference and document",
    values=values,
    needs=needs,
    options=Options,
    rows=rows,
    reduce=reduce,
    citation="; ".join(part.CITATION for part in (rouge, meaning, fragments, entities)),
    match=None,
    uncut_reason="a text is scored against its whole reference and document",
    standard_errors=standard_errors,
    per_text=per_text,
    notes=notes,
    tables=tables,
    check=check,
    settle=settle_scores,
    embeds=lambda options: "cosine" in chosen_scores(options),
    inputs=False,
    layout=entities.LAYOUT,
    heading=heading,
    says="How close a text is to its reference, and how much of it comes from its document.",
    section="references",
    place=20,
    main=("rouge_l", "cosine", "bertscore_f", "coverage", "density", "entity_precision"),
    headlines=(
        Headline(
            "rouge_l",
            "is more similar in words to the reference texts",
            "is less similar in words to the reference texts",
            noun="similarity in words to the reference texts",
            ways=("less similar", "more similar"),
        ),
        Headline(
            "cosine",
            "is more similar in meaning to the reference texts",
            "is less similar in meaning to the reference texts",
            noun="similarity in meaning to the reference texts",
            ways=("less similar", "more similar"),
        ),
        Headline(
            "density",
            "copies longer spans of the document",
            "copies shorter spans of the document",
            noun="copying from the document",
            ways=("shorter spans", "longer spans"),
        ),
        Headline(
            "entity_precision",
            "has more of its entities in the document",
            "has fewer of its entities in the document",
            noun="entities of the document",
            unit="of its entity words",
            ways=("fewer", "more"),
            percent=True,
        ),
        Headline(
            "entity_remembered",
            "names more entities that only the reference text has",
            "names fewer entities that only the reference text has",
            noun="entities of the reference text alone",
            unit="of its entity words",
            ways=("fewer", "more"),
            percent=True,
        ),
    ),
    method=method,
    cited_with={"bertscore": "BERTScore", "comet": "COMET"},
    report=report,
)
