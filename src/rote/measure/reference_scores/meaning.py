"""How close a text is in meaning to its reference: cosine of embeddings, BERTScore, COMET.

The model of BERTScore and of the embeddings reads only so much of a long text. Of several
references the best counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from rote.annotate import embeddings
from rote.compare.intervals import shares
from rote.core.arrays import Flags, Floats
from rote.core.metric import Value, Work
from rote.core.sample import SEVERAL, Need, Sample, Take
from rote.measure import _sentences as meaning
from rote.measure._text_means import count_note
from rote.measure.reference_scores.neural import (
    check_bertscore,
    check_comet,
    score_bertscore,
    score_comet,
)
from rote.measure.reference_scores.options import Options, chosen_scores

BERTSCORE = {
    "bertscore_precision": "BERTScore precision",
    "bertscore_recall": "BERTScore recall",
    "bertscore_f": "BERTScore F",
}


@dataclass(frozen=True, slots=True)
class Rows:
    """The scores of every text (nan: undefined); which texts and fields have nothing to compare;
    which are longer than the embedder reads."""

    scores: Mapping[str, Floats]
    empty: Flags
    cut: Flags
    other_cut: Flags


def values(options: Options) -> tuple[Value, ...]:
    values = []
    if "cosine" in chosen_scores(options):
        values.append(Value("cosine", "cosine of embeddings", "neither", "length"))
    if options.bertscore is not None:
        values += [Value(name, title, "neither", "length") for name, title in BERTSCORE.items()]
    if options.comet is not None:
        values.append(Value("comet", "COMET", "neither", "length"))
    return tuple(values)


def needs(options: Options) -> tuple[Need, ...]:
    translated = () if options.comet is None else (Need("text", field=options.document_field),)
    return (Need("text"), Need("text", field=options.reference_field, several=True), *translated)


def check(options: Options) -> None:
    """What is not installed is missed before the texts are read."""
    if "cosine" in chosen_scores(options):
        meaning.check(options.embedder)
    if options.bertscore is not None:
        check_bertscore(options.bertscore, options.bertscore_layer)
    if options.comet is not None:
        check_comet(options.comet)


def rows(sample: Sample, options: Options, work: Work) -> Rows:
    texts = sample.text().strings()
    references = [
        [part for part in field.split(SEVERAL) if part.strip()]
        for field in sample.text(options.reference_field).strings()
    ]
    chosen = [n for n, text in enumerate(texts) if text.strip() and references[n]]
    result = Rows(
        scores={value.name: np.full(len(texts), np.nan) for value in values(options)},
        empty=np.ones(len(texts), np.bool_),
        cut=np.zeros(len(texts), np.bool_),
        other_cut=np.zeros(len(texts), np.bool_),
    )
    result.empty[chosen] = False
    chosen_texts, chosen_references = [texts[n] for n in chosen], [references[n] for n in chosen]
    if "cosine" in chosen_scores(options) and chosen:
        cosine, cut, other_cut = _cosines(chosen_texts, chosen_references, options, work)
        result.scores["cosine"][chosen] = cosine
        result.cut[chosen], result.other_cut[chosen] = cut, other_cut
    if options.bertscore is not None and chosen:
        columns = score_bertscore(
            chosen_texts,
            chosen_references,
            model=options.bertscore,
            layer=options.bertscore_layer,
            progress=work.progress,
        )
        for name, column in zip(BERTSCORE, columns.T):
            result.scores[name][chosen] = column
    if options.comet is not None and chosen:
        sources = sample.text(options.document_field).strings()
        translated = [sources[n] for n in chosen]
        result.scores["comet"][chosen] = score_comet(
            translated, chosen_texts, chosen_references, options.comet
        )
    work.progress(1.0)
    return result


def notes(rows: Rows, take: Take, options: Options) -> list[str]:
    empty = rows.empty[take]
    lines = count_note(empty, f"texts, whose '{options.reference_field}' is empty", "left out: ")
    if "cosine" in rows.scores:
        undefined = np.isnan(rows.scores["cosine"][take]) & ~empty
        lines += count_note(undefined, "texts without a vector", "cosine: left out ")
    for what, cut in (("texts", rows.cut), (f"fields '{options.reference_field}'", rows.other_cut)):
        longer = f"{what} are longer than the model reads: their vectors cover only the beginning"
        lines += count_note(cut[take], longer, "cosine: ")
    return lines


def _cosines(
    texts: Sequence[str], references: Sequence[Sequence[str]], options: Options, work: Work
) -> tuple[Floats, Flags, Flags]:
    """Of each text the cosine with its nearest reference; whether it, or one of them, was cut."""
    embedder = embeddings.get(options.embedder)
    others = list(chain.from_iterable(references))
    # In one call, since what occurs in several records is embedded once.
    vectors = embedder([*texts, *others], work.reporter)
    owner = np.repeat(np.arange(len(texts)), [len(parts) for parts in references])
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
    pairs = vectors[owner], vectors[len(texts) :]
    products = np.einsum("ij,ij->i", *pairs, dtype=np.float64, casting="safe")
    both = lengths[owner] * lengths[len(texts) :]
    cosines = shares(products, both)
    best = np.full(len(texts), np.nan)
    np.fmax.at(best, owner, cosines)
    cut = np.zeros(len(texts), np.bool_)
    np.logical_or.at(cut, owner, embedder.cut(others))
    return best, embedder.cut(texts), cut


def method(s: Mapping[str, str]) -> str:
    of = {"cosine": "the cosine of the embeddings", "bertscore": "BERTScore", "comet": "COMET"}
    list_of_scores = " and ".join(of[name] for name in s["scores"].split(",") if name in of)
    return f"Similarity is {list_of_scores} of each text and of the field {s['reference_field']}"


CITATION = (
    "Reimers and Gurevych (2019), Sentence-BERT: Sentence Embeddings using Siamese BERT-Networks; "
    "Zhang, Kishore, Wu, Weinberger and Artzi (2020), BERTScore: Evaluating Text Generation with "
    "BERT; Rei, Stewart, Farinha and Lavie (2020), COMET: A Neural Framework for MT Evaluation"
)
