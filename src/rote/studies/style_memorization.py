"""What a model recalls of its training text: word for word, or in the same grammar.

TEXTS are training texts. The model is given the first 50 words of each and goes on by greedy
decoding; a text is memorized exactly if the next 50 words are its own, in style if their tags are
(Shaib et al. 2024, section 8). With an index of the training data (--corpus), or a field that
holds it (--frequency), by how often the model saw the text:

\b
  rote style-memorization passages.jsonl --model FOLDER --corpus IDX
  rote style-memorization passages.jsonl --model step-100,step-1000 --frequency repeats
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from rote.annotate import annotators
from rote.core.document import Document
from rote.core.errors import InputError, OptionError
from rote.core.metric import check_options, handle, option, unsigned
from rote.core.progress import several
from rote.core.record import Call, Findings, Study
from rote.corpus import ReadOptions
from rote.index.index import Index
from rote.measure._groups import in_order
from rote.models.options import ModelOptions
from rote.studies._items import described, grouped
from rote.studies._style import tables
from rote.studies._style.tables import CHARTS, LAYOUT, Completion, Cut, Recall, complete, cut_texts

METHOD = "Wilson (shares), jackknife over texts (means)"


@dataclass(frozen=True, slots=True)
class Options:
    """Who is asked, how texts are cut, and how they are grouped."""

    model: tuple[str, ...] = handle(
        (),
        "Models: a folder, transformers:NAME, openai:URL#NAME, index:FOLDER; NAME=MODEL gives one "
        "a name of its own",
        "M,...",
    )
    corpus: str | None = option(
        None,
        "Index of the training data",
        metavar="IDX",
        opened=True,
        takes="index",
        sign=unsigned,
    )
    prompt: int = option(50, "Words of a text that the model is given", least=1, most=10_000)
    words: int = option(50, "Words that it should write after those", least=1, most=10_000)
    layer: str = option("pos", "Layer that makes the style: pos, upos, ...")
    by: tuple[str, ...] = option((), "Fields of the records that make a group")
    frequency: str | None = option(
        None,
        "Field that says how often the model saw a text; default: how often its words occur in "
        "--corpus",
        metavar="FIELD",
        sign=unsigned,
    )
    sample: int | None = option(
        None, "Take this many texts, drawn by the seed", metavar="N", least=1, sign=unsigned
    )
    resamples: int = option(
        1000, "Draws of half of the texts, for the spread of the shares", least=2, most=1_000_000
    )
    seed: int = option(0, "Seed of all draws")
    interval: float = option(0.95, "Level of the intervals; 0 leaves them out", sign=unsigned)

    def __post_init__(self) -> None:
        check_options(self)
        if not self.model:
            raise OptionError("who is asked? --model names one or more models")
        if self.layer not in annotators.get().gives:
            raise OptionError(
                f"there is no layer '{self.layer}': one of {', '.join(annotators.get().gives)}"
            )


def run(call: Call) -> Findings:
    """Which texts the models go on with word for word, and which in the same grammar."""
    from rote.index.opening import to_index
    from rote.measure._speaking import open_models
    from rote.search.backends.rote import signed_index

    options, reporter = call.options, call.reporter
    index: Index | None = None
    if options.corpus is not None:
        index = to_index(options.corpus, "corpus", reporter)
    models = open_models(options.model, call.of(ModelOptions), reporter)
    drawn = _drawn(list(call.inputs), options)
    cuts = cut_texts(drawn, options.prompt, options.words)
    least = options.prompt + options.words
    if not cuts:
        raise InputError(
            f"none of the {len(drawn):,} texts has {several(least, 'word')}",
            remedy="Give longer texts, or shorter --prompt and --words",
        )
    # What is missing is noticed before a model is asked.
    fields = [[_field(cut.document, name) for name in options.by] for cut in cuts]
    frequency = _frequency(cuts, index, options)
    found: list[Completion] = []
    for name, model in models.items():
        reporter.say(
            f"{name}: {several(len(cuts), 'text')}, {several(options.words, 'word')} after "
            f"{options.prompt}"
        )
        found += complete(cuts, model, options.prompt, options.words, options.layer, reporter)
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
            "frequency": options.frequency or ("none" if index is None else signed_index(index)),
            "annotator": annotators.get().signature,
            "models": [model.signature for model in models.values()],
            "texts": _fingerprint(cuts),
        },
        tables=tables.all_tables(recall),
        method=METHOD,
        notes=(said,) if short else (),
    )


def _drawn(documents: Sequence[Document], options: Options) -> Sequence[Document]:
    if options.sample is None or options.sample >= len(documents):
        return documents
    random = np.random.default_rng(options.seed)
    places = np.sort(random.choice(len(documents), options.sample, replace=False))
    return [documents[place] for place in places.tolist()]


def _frequency(
    cuts: Sequence[Cut], index: Index | None, options: Options
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


STUDY = Study(
    name="style-memorization",
    title="Style memorization",
    says="What a model recalls of its training text: word for word, or in the same grammar.",
    takes="texts",
    metavar="TEXTS...",
    options=Options,
    more=(ModelOptions, ReadOptions),
    run=run,
    citation="Shaib, Elazar, Li and Wallace (2024), Detection and Measurement of Syntactic "
    "Templates in Generated Text, section 8",
    section="items",
    layout=LAYOUT,
    charts=CHARTS,
)
