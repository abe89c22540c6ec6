"""Exact and style memorization, by how often a text was seen: Shaib et al. (2024), section 8.

A model is given the first words of a training text and goes on by greedy decoding. The text is
memorized exactly if the next words are those of the text, in style if their tags are. Shaib,
Elazar, Li and Wallace, "Detection and Measurement of Syntactic Templates in Generated Text" (2024).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from rote.annotate import annotators
from rote.core.document import Document
from rote.core.errors import InputError, OptionError
from rote.core.facets import JOINT
from rote.core.metric import check_options, option
from rote.core.model import Model
from rote.core.progress import Reporter, Silent
from rote.core.result import Interval, Result
from rote.core.signature import Signature
from rote.index.index import Index
from rote.measure._against import signed_against
from rote.measure._groups import in_order
from rote.studies._style import tables
from rote.studies._style.completions import Completion, Cut, complete, cut_texts

METHOD = "Wilson (shares), jackknife over texts (means)"


@dataclass(frozen=True, slots=True)
class StyleOptions:
    """How texts are cut, and how they are grouped."""

    prompt: int = option(50, "Words of a text that the model is given")
    words: int = option(50, "Words after them that it should write")
    layer: str = option("pos", "Layer that makes the style: pos, upos, ...")
    by: tuple[str, ...] = option((), "Fields of the records that make a group")
    frequency: str | None = option(
        None,
        "Field that says how often the model saw a text; default: how often its words stand in "
        "--corpus",
        metavar="FIELD",
    )
    sample: int | None = option(None, "Take this many texts, drawn by the seed", metavar="N")
    resamples: int = option(1000, "Draws of half of the texts, for the spread of the shares")
    seed: int = option(0, "Seed of all draws")
    interval: float = option(0.95, "Level of the intervals; 0 leaves them out")

    def __post_init__(self) -> None:
        check_options(self)
        if self.prompt < 1 or self.words < 1:
            raise OptionError("the prompt and what follows it have at least one word each")
        if self.sample is not None and self.sample < 1:
            raise OptionError(f"a sample has at least one text, not {self.sample}")
        if self.resamples < 2:
            raise OptionError(f"a spread needs at least 2 resamples, not {self.resamples}")


@dataclass(frozen=True, slots=True)
class Study:
    """What the tables are made from: completions by group, and how often each text was seen."""

    groups: Mapping[str, Sequence[Completion]]
    frequency: Mapping[tuple[str, str], float]
    """By the key of the text; empty where nobody says it."""
    options: StyleOptions


def style_memorization(
    documents: Sequence[Document],
    models: Mapping[str, Model],
    options: StyleOptions | None = None,
    *,
    index: Index | None = None,
    reporter: Reporter | None = None,
) -> Result:
    """Which texts the models go on with word for word, and which in the same grammar."""
    options, reporter = options or StyleOptions(), reporter or Silent()
    if options.layer not in annotators.get().gives:
        raise OptionError(
            f"there is no layer '{options.layer}': one of {', '.join(annotators.get().gives)}"
        )
    drawn = _drawn(documents, options)
    cuts = cut_texts(drawn, options.prompt, options.words)
    if not cuts:
        raise InputError(
            f"none of the {len(drawn):,} texts has {options.prompt + options.words} words",
            remedy="Give longer texts, or shorter --prompt and --words",
        )
    for cut in cuts:  # what is missing is noticed before a model is asked
        for name in options.by:
            _field(cut.document, name)
    frequency = _frequency(cuts, index, options)
    groups: dict[str, list[Completion]] = {}
    for name, model in models.items():
        reporter.say(f"{name}: {len(cuts):,} texts, {options.words} words after {options.prompt}")
        for found in complete(cuts, model, options.prompt, options.words, options.layer, reporter):
            group = JOINT.join([name, *(_field(found.cut.document, f) for f in options.by)])
            groups.setdefault(group, []).append(found)
    study = Study(in_order(groups), frequency, options)
    short = len(drawn) - len(cuts)
    return Result(
        measure="style-memorization",
        signature=_signature(cuts, models, options, index),
        by=("model", *options.by),
        reference=None,
        interval=Interval(options.interval, METHOD) if options.interval else None,
        sources=tables.sources(study),
        tables=tables.all_tables(study),
        notes=(
            (
                f"{short:,} of {len(drawn):,} texts have fewer than "
                f"{options.prompt + options.words} words and are left out",
            )
            if short
            else ()
        ),
    )


def _drawn(documents: Sequence[Document], options: StyleOptions) -> Sequence[Document]:
    if options.sample is None or options.sample >= len(documents):
        return documents
    random = np.random.default_rng(options.seed)
    places = np.sort(random.choice(len(documents), options.sample, replace=False))
    return [documents[place] for place in places.tolist()]


def _frequency(
    cuts: Sequence[Cut], index: Index | None, options: StyleOptions
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


def _signature(
    cuts: Sequence[Cut], models: Mapping[str, Model], options: StyleOptions, index: Index | None
) -> Signature:
    # Other fields count too: --by and --frequency read them.
    held = blake2b(digest_size=6)
    for cut in cuts:
        known = [cut.document.id, cut.whole, dict(cut.document.meta)]
        held.update(json.dumps(known, sort_keys=True, default=str).encode())
    corpus = signed_against(str(index.path)) if index is not None and index.path else None
    return Signature.of(
        {
            "measure": "style-memorization",
            "models": [model.signature for model in models.values()],
            "prompt": options.prompt,
            "words": options.words,
            "layer": options.layer,
            "frequency": options.frequency or corpus or ("index" if index is not None else "none"),
            "by": options.by,
            "annotator": annotators.get().signature,
            "seed": options.seed,
            "texts": held.hexdigest(),
        }
    )
