"""`rote memorization --layer pos`: what a model recalls word for word, or in the same grammar.

The model is given the first words of each text and goes on by greedy decoding; a text is memorized
exactly if the next words are its own, in style if their tags are (Shaib et al. 2024, section 8).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.annotate import annotators
from rote.core.document import Document
from rote.core.errors import InputError
from rote.core.progress import several
from rote.core.record import Call, Findings
from rote.corpus.items import Item
from rote.index.index import Index
from rote.measure._groups import in_order
from rote.models.options import ModelOptions
from rote.studies._items import described, grouped
from rote.studies._style import tables
from rote.studies._style.tables import Completion, Cut, Recall, complete, cut_texts

METHOD = "Wilson (shares), jackknife over texts (means)"


def run(call: Call) -> Findings:
    """Which texts the models go on with word for word, and which in the same grammar."""
    from rote.index.factory import to_index
    from rote.measure._speaking import open_models
    from rote.search.backends.rote import index_signature

    options, reporter = call.options, call.reporter
    index: Index | None = None
    if options.corpus is not None:
        index = to_index(options.corpus, "corpus", reporter)
    models = open_models(options.model, call.of(ModelOptions), reporter)
    drawn = _drawn([_document(record.item) for record in call.inputs], options)
    cuts = cut_texts(drawn, options.prefix, options.suffix)
    least = options.prefix + options.suffix
    if not cuts:
        raise InputError(
            f"none of the {len(drawn):,} texts has {several(least, 'word')}",
            remedy="Give longer texts, or shorter --prefix and --suffix",
        )
    # What is missing is noticed before a model is asked.
    fields = [[_field(cut.document, name) for name in options.by] for cut in cuts]
    frequency = _frequency(cuts, index, options)
    found: list[Completion] = []
    for name, model in models.items():
        reporter.say(
            f"{name}: {several(len(cuts), 'text')}, {several(options.suffix, 'word')} after "
            f"{options.prefix}"
        )
        found += complete(cuts, model, options.prefix, options.suffix, options.layer, reporter)
    groups = grouped([name, *own] for name in models for own in fields)
    of_groups = {name: [found[i] for i in own.tolist()] for name, own in groups.items()}
    recall = Recall(in_order(of_groups), frequency, options)
    short = len(drawn) - len(cuts)
    said = f"left out: {short:,} of {len(drawn):,} texts, shorter than {several(least, 'word')}"
    return Findings(
        sources=tables.sources(recall),
        values=described(tables.VALUES, higher="repetitive", shares=tuple(tables.VALUES)),
        by=("model", *options.by),
        signed={
            "layer": options.layer,
            "windows": f"{options.prefix}-{options.suffix}",
            "frequency": options.frequency or ("none" if index is None else index_signature(index)),
            "annotator": annotators.get().signature,
            "models": [model.signature for model in models.values()],
            "texts": _fingerprint(cuts),
        },
        tables=tables.all_tables(recall),
        method=METHOD,
        notes=(said,) if short else (),
    )


def _document(item: Item) -> Document:
    """The text of an item: the context with its right option."""
    text = item.instances()[item.answer or 0]
    return Document(item.id, text, {"task": item.task, **item.meta})


def _drawn(documents: Sequence[Document], options: Any) -> Sequence[Document]:
    if options.sample is None or options.sample >= len(documents):
        return documents
    random = np.random.default_rng(options.seed)
    places = np.sort(random.choice(len(documents), options.sample, replace=False))
    return [documents[place] for place in places.tolist()]


def _frequency(
    cuts: Sequence[Cut], index: Index | None, options: Any
) -> dict[tuple[str, str], float]:
    if options.frequency is not None:
        return {cut.key: _number(cut.document, options.frequency) for cut in cuts}
    if index is None:
        return {}
    layer = index.layer_of([cut.whole for cut in cuts])
    counts: NDArray[np.int64] = index.counts([layer.items(n) for n in range(len(cuts))])
    return {cut.key: float(count) for cut, count in zip(cuts, counts.tolist())}


def _field(document: Document, field: str) -> str:
    if field not in document.meta:
        raise InputError(
            f"the text '{document.id}' has no such field, only {', '.join(document.meta)}",
            field=field,
            remedy="--by and --frequency name fields that all texts have",
        )
    return str(document.meta[field])


def _number(document: Document, field: str) -> float:
    written = _field(document, field)
    try:
        return float(written)
    except ValueError:
        empty = document.meta[field] is None or not written
        holds = "nothing" if empty else f"{written!r}"
        raise InputError(
            f"the text '{document.id}' holds {holds}, which is no number", field=field
        ) from None


def _fingerprint(cuts: Sequence[Cut]) -> str:
    """Other fields count too: --by and --frequency read them."""
    held = blake2b(digest_size=6)
    for cut in cuts:
        known = [cut.document.id, cut.whole, dict(cut.document.meta)]
        held.update(json.dumps(known, sort_keys=True, default=str).encode())
    return held.hexdigest()


CITATION = (
    "Shaib, Elazar, Li and Wallace (2024), Detection and Measurement of Syntactic Templates in "
    "Generated Text, section 8"
)
