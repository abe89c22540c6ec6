"""How close a text is in meaning to its reference or any field beside it: cosine, BERTScore, COMET.

The cosine of the embeddings of the text and of its `reference` (or `input`, `document`, any
field), each embedded as a whole; with `--bertscore MODEL` also precision, recall and F of BERTScore
(Zhang et al. 2020), as the package bert-score computes them, and with `--comet MODEL` COMET (Rei et
al. 2020), which also reads what was translated. Values are means over the texts of a
source. Of several references the best counts.

Direction: none. Closeness to a reference is usually read as quality, closeness to the input as
staying with it. Length: longer texts tend to be closer, and a model reads only so much of them;
how many texts there are does not matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from rote.annotate import embeddings
from rote.compare.intervals import shares
from rote.core.array_types import Flags, Floats
from rote.core.errors import OptionError
from rote.core.metric import Metric, Value, Work, check_options, option
from rote.core.record import Headline
from rote.core.sample import SEVERAL, Need, Sample, Take
from rote.measure import _bertscore, _comet
from rote.measure import _meaning as meaning
from rote.measure._means import per_text, reduce, said_of, standard_errors

NONE = "none"
BERTSCORE = {
    "bertscore_precision": "BERTScore precision",
    "bertscore_recall": "BERTScore recall",
    "bertscore_f": "BERTScore F",
}


def _signed(name: str) -> str:
    return name if name == NONE else meaning.signed(name)


@dataclass(frozen=True, slots=True)
class Options:
    """Settings of `similarity`."""

    to: str = option(
        "reference", "field of the record that the text is compared with", metavar="FIELD"
    )
    embedder: str = option(
        embeddings.DEFAULT,
        "who makes the vectors: minilm (English), sentence-transformers:NAME; none leaves the "
        "cosine out; de=NAME: of German texts",
        sign=_signed,
    )
    bertscore: str | None = option(
        None,
        "also give BERTScore, by this model: a path, or a name that bert-score knows",
        metavar="MODEL",
        sign=_bertscore.signed,
    )
    bertscore_layer: int | None = option(
        None,
        "layer of that model; needed for a path",
        sign=lambda layer: layer,
        least=0,
        most=1_000,
    )
    comet: str | None = option(
        None,
        "also give COMET, by this model: a checkpoint's path, or a name such as "
        "Unbabel/wmt22-comet-da (extra comet)",
        metavar="MODEL",
        sign=_comet.signed,
    )
    comet_source: str = option(
        "document",
        "field of the record that holds what was translated, for COMET",
        metavar="FIELD",
        sign=lambda field: None if field == "document" else field,
    )

    def __post_init__(self) -> None:
        check_options(self)
        if not self.to:
            raise OptionError("to must name a field of the records")
        if self.embedder == NONE and self.bertscore is None and self.comet is None:
            raise OptionError(
                "nothing to measure: embedder is none, and bertscore and comet name no model"
            )


@dataclass(frozen=True, slots=True)
class Rows:
    """The scores of every text (nan: undefined); which texts and fields have nothing to compare;
    which are longer than the embedder reads."""

    scores: Mapping[str, Floats]
    empty: Flags
    cut: Flags
    other_cut: Flags


def values(options: Options) -> tuple[Value, ...]:
    found = []
    if options.embedder != NONE:
        found.append(Value("cosine", "cosine of embeddings", "neither", "length"))
    if options.bertscore is not None:
        found += [Value(name, title, "neither", "length") for name, title in BERTSCORE.items()]
    if options.comet is not None:
        found.append(Value("comet", "COMET", "neither", "length"))
    return tuple(found)


def needs(options: Options) -> tuple[Need, ...]:
    translated = () if options.comet is None else (Need("text", field=options.comet_source),)
    return (Need("text"), Need("text", field=options.to, several=True), *translated)


def check(options: Options, signature: str) -> None:
    """What is not installed is missed before the texts are read."""
    if options.embedder != NONE:
        meaning.check(options.embedder)
    if options.bertscore is not None:
        _bertscore.check(options.bertscore, options.bertscore_layer)
    if options.comet is not None:
        _comet.check(options.comet)


def rows(sample: Sample, options: Options, work: Work) -> Rows:
    texts = sample.text().strings()
    references = [
        [part for part in field.split(SEVERAL) if part.strip()]
        for field in sample.text(options.to).strings()
    ]
    chosen = [n for n, text in enumerate(texts) if text.strip() and references[n]]
    found = Rows(
        scores={value.name: np.full(len(texts), np.nan) for value in values(options)},
        empty=np.ones(len(texts), np.bool_),
        cut=np.zeros(len(texts), np.bool_),
        other_cut=np.zeros(len(texts), np.bool_),
    )
    found.empty[chosen] = False
    own, other = [texts[n] for n in chosen], [references[n] for n in chosen]
    if options.embedder != NONE and chosen:
        cosine, cut, other_cut = _cosines(own, other, options, work)
        found.scores["cosine"][chosen] = cosine
        found.cut[chosen], found.other_cut[chosen] = cut, other_cut
    if options.bertscore is not None and chosen:
        columns = _bertscore.scores(
            own,
            other,
            model=options.bertscore,
            layer=options.bertscore_layer,
            progress=work.progress,
        )
        for name, column in zip(BERTSCORE, columns.T):
            found.scores[name][chosen] = column
    if options.comet is not None and chosen:
        sources = sample.text(options.comet_source).strings()
        translated = [sources[n] for n in chosen]
        found.scores["comet"][chosen] = _comet.scores(translated, own, other, options.comet)
    work.progress(1.0)
    return found


def notes(rows: Rows, take: Take, options: Options) -> list[str]:
    empty = rows.empty[take]
    found = said_of(empty, f"texts, whose '{options.to}' is empty", "left out: ")
    if "cosine" in rows.scores:
        undefined = np.isnan(rows.scores["cosine"][take]) & ~empty
        found += said_of(undefined, "texts without a vector", "cosine: left out ")
    for what, cut in (("texts", rows.cut), (f"fields '{options.to}'", rows.other_cut)):
        longer = f"{what} are longer than the model reads: their vectors stand for the beginning"
        found += said_of(cut[take], longer, "cosine: ")
    return found


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
    products = np.einsum(
        "ij,ij->i", vectors[owner], vectors[len(texts) :], dtype=np.float64, casting="safe"
    )
    both = lengths[owner] * lengths[len(texts) :]
    cosines = shares(products, both)
    best = np.full(len(texts), np.nan)
    np.fmax.at(best, owner, cosines)
    cut = np.zeros(len(texts), np.bool_)
    np.logical_or.at(cut, owner, embedder.cut(others))
    return best, embedder.cut(texts), cut


METRIC = Metric(
    name="similarity",
    title="Similarity in meaning",
    values=values,
    needs=needs,
    options=Options,
    rows=rows,
    reduce=reduce,
    citation=(
        "Reimers and Gurevych (2019), Sentence-BERT: Sentence Embeddings using Siamese "
        "BERT-Networks; Zhang, Kishore, Wu, Weinberger and Artzi (2020), BERTScore: Evaluating "
        "Text Generation with BERT; Rei, Stewart, Farinha and Lavie (2020), COMET: A Neural "
        "Framework for MT Evaluation"
    ),
    match=None,
    embeds=lambda options: options.embedder != NONE,
    whole="a text is scored beside its whole reference",
    standard_errors=standard_errors,
    per_text=per_text,
    notes=notes,
    check=check,
    inputs=False,
    heading="Similarity",
    says="How close a text is in meaning to its reference.",
    section="references",
    place=30,
    main=("cosine", "bertscore_f"),
    headlines=(
        Headline(
            *("cosine", "similarity in meaning to the reference texts"),
            "is more similar in meaning to the reference texts",
            "is less similar in meaning to the reference texts",
            "cosine of embeddings",
            ways=("less similar", "more similar"),
        ),
    ),
    method=lambda settings: (
        f"Similarity is the cosine of the embeddings of each text and of the field {settings['to']}"
    ),
    cited_with={"bertscore": "BERTScore"},
    report=lambda asked: asked.lacks_fields("reference") or {"embedder": asked.embedder},
)
