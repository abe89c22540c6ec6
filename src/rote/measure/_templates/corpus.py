"""Templates in a corpus: are a source's patterns of grammar in the training data, and how common?

Stands behind `rote templates --corpus NAME=IDX`. Each source's templates are looked up in the
layer of each index, beside as many random n-grams of the same texts that are no templates, and
the reference's templates. Several corpora are asked one by one and, as if they were one, all
together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rote.compare._resample import generator
from rote.compare.exact_tests import mann_whitney
from rote.compare.intervals import wilson
from rote.core.array_types import Flags, Integers
from rote.core.errors import OptionError
from rote.core.metric import Comparison
from rote.core.progress import Reporter
from rote.core.sample import Take
from rote.index.factory import to_index
from rote.index.index import Index
from rote.measure._against import check_against, check_index, named_indexes
from rote.measure._templates.lookup import (
    WORDS,
    Gram,
    Standing,
    can_look_up,
    draw_others,
    standing,
    texts_in_corpus,
)

if TYPE_CHECKING:
    from rote.measure._templates.core import Options, Rows

Table = list[dict[str, Any]]
Tables = dict[str, Table]
MOST_FREQUENT = 50_000
"""So many n-grams of a corpus count as its most frequent."""
TEMPLATES, OTHERS, REFERENCE = "templates", "others", "reference templates"


@dataclass(frozen=True, slots=True)
class _Source:
    """What is looked up for a source: its templates by number, and the n-grams of each kind."""

    name: str
    take: Take
    templates: Integers
    grams: Mapping[str, Sequence[Gram]]


@dataclass(frozen=True, slots=True)
class _Found:
    """N-grams of one kind as they occur in one corpus."""

    grams: Sequence[Gram]
    counts: Integers
    ranks: Integers
    among: Flags


def open_corpora(
    options: Options, *, signature: str, reporter: Reporter | None = None
) -> dict[str, Index]:
    """The named corpora, opened; refuses one that cannot be compared with the measured texts.

    `signature`: of whatever made the measured layer.
    """
    given = check_corpora(options, signature=signature)
    return {name: to_index(index, "corpus", reporter) for name, index in given.items()}


def check_corpora(options: Options, *, signature: str) -> dict[str, Path | Index]:
    """The same without opening them: cheap enough to be asked before any text is read."""
    found: dict[str, Path | Index] = {}
    for name, index in named_indexes(options.corpus):
        if name in found:
            raise OptionError(
                f"two corpora are called '{name}': give each a name of its own, as NAME={index}"
            )
        if isinstance(index, Path):
            check_index(index, [options.layer], signature)
        else:
            check_against(index, [options.layer], signature)
        found[name] = index
    return found


def tables_of(
    corpora: Mapping[str, Index], rows: Rows, comparison: Comparison, options: Options
) -> Tables:
    """The tables for indexes that are open."""
    tables: Tables = {
        name: [] for name in ("coverage", "ranks", "rank_tests", "found_in_texts", "in_corpus")
    }
    asked = dict(corpora)
    if len(corpora) > 1:
        # Counts over the segments of all are the sums, so an index of them all is the union.
        everything = [segment for index in corpora.values() for segment in index.segments]
        asked[" + ".join(corpora)] = Index(everything, layers=(options.layer,))
    sources = _sources(rows, comparison, options)
    total = len(asked) + len(corpora)
    with comparison.reporter.stage("templates: in the corpora", total) as advance:
        for name, index in asked.items():
            corpus = standing(index, options.layer, options.n, MOST_FREQUENT)
            for source in sources:
                _look_up(name, corpus, source, rows, comparison, tables)
            advance(1)
        for name, index in corpora.items():
            tables["in_corpus"] += _in_corpus(name, index, rows, comparison)
            advance(1)
    return tables


def _sources(rows: Rows, comparison: Comparison, options: Options) -> list[_Source]:
    from rote.measure._templates.core import templates_of

    chosen = {name: templates_of(rows, take, options) for name, take in comparison.groups.items()}
    reference = comparison.reference
    found = []
    for name, take in comparison.groups.items():
        rng = generator(comparison.seed, f"templates others {name}")
        # The package's n-grams stay within sentences, and all of them have numbers.
        whole = options.variant == "package"
        places = draw_others(rows.windows, rows.layer, take, chosen[name], rng, numbered=whole)
        grams = {
            TEMPLATES: rows.windows.grams(rows.layer, chosen[name]),
            OTHERS: _grams_at(rows, places, options.n),
        }
        if reference is not None and name != reference:
            grams[REFERENCE] = rows.windows.grams(rows.layer, chosen[reference])
        found.append(_Source(name, take, chosen[name], grams))
    return found


def _grams_at(rows: Rows, places: Integers, n: int) -> list[Gram]:
    ids = rows.layer.ids[places[:, None] + np.arange(n)]
    return [tuple(rows.layer.vocabulary[i] for i in row) for row in ids.tolist()]


def _look_up(
    name: str, corpus: Standing, source: _Source, rows: Rows, comparison: Comparison, tables: Tables
) -> None:
    """Add one source's rows for one corpus."""
    found = {kind: _found(corpus, grams) for kind, grams in source.grams.items()}
    head = {"corpus": name, "source": source.name}
    level = comparison.level
    tables["coverage"] += [{**head, "kind": kind, **_shares(f, level)} for kind, f in found.items()]
    tables["ranks"] += [
        {**head, "kind": kind, "n_gram": " ".join(gram), "count": count, "rank": rank}
        for kind in (TEMPLATES, OTHERS)
        for gram, count, rank in zip(
            found[kind].grams, found[kind].counts.tolist(), found[kind].ranks.tolist()
        )
    ]
    tables["rank_tests"].append({**head, **_test(found[TEMPLATES], found[OTHERS])})
    held, known = _in_texts(rows, source, found[TEMPLATES].counts > 0)
    tables["found_in_texts"] += [
        {
            **head,
            "id": comparison.ids[text],
            "templates": templates,
            "found": in_corpus,
            "share": in_corpus / templates if templates else math.nan,
        }
        for text, templates, in_corpus in zip(source.take.tolist(), held, known)
    ]


def _in_texts(rows: Rows, source: _Source, there: Flags) -> tuple[list[int], list[int]]:
    """How many different templates each text holds, and how many of them are in the corpus."""
    places, which = rows.windows.places(rows.layer, source.take, source.templates)
    texts = np.searchsorted(rows.layer.text_ends, places, side="right")
    kinds = max(1, len(source.templates))
    held = np.unique(texts * kinds + which)
    texts, which = held // kinds, held % kinds
    total = len(rows.layer)
    every = np.bincount(texts, minlength=total)
    known = np.bincount(texts[there[which]], minlength=total)
    return every[source.take].tolist(), known[source.take].tolist()


def _found(corpus: Standing, grams: Sequence[Gram]) -> _Found:
    counts = corpus.of(grams)
    return _Found(grams, counts, corpus.ranks(counts), corpus.among(grams, counts))


def _shares(found: _Found, level: float) -> dict[str, Any]:
    total, there, among = len(found.grams), int((found.counts > 0).sum()), int(found.among.sum())
    low, high = wilson(there, total, level)
    among_low, among_high = wilson(among, total, level)
    return {
        "n_grams": total,
        "among_frequent": among / total if total else math.nan,
        "among_low": among_low,
        "among_high": among_high,
        "found": there / total if total else math.nan,
        "low": low,
        "high": high,
    }


def _test(templates: _Found, others: _Found) -> dict[str, Any]:
    u, p = mann_whitney(templates.ranks, others.ranks)
    return {
        "n_grams": len(templates.ranks),
        "others": len(others.ranks),
        "median": _median(templates.ranks),
        "median_others": _median(others.ranks),
        "u": u,
        "p": p,
    }


def _median(ranks: Integers) -> float:
    return float(np.median(ranks)) if len(ranks) else math.nan


def _in_corpus(name: str, index: Index, rows: Rows, comparison: Comparison) -> Table:
    """Which texts occur in the corpus; how many is said, since it explains what is found."""
    if not can_look_up(index):
        comparison.reporter.say(
            f"{name}: without a sorted layer '{WORDS}', texts that occur in the corpus themselves "
            f"are noticed by their ids alone; `rote index add-layer {index.path or 'IDX'} {WORDS}`"
        )
    why = texts_in_corpus(index, rows.word, rows.raw, comparison.ids)
    found = [
        {"corpus": name, "source": source, **comparison.named(text), "why": why[text]}
        for source, take in comparison.groups.items()
        for text in take.tolist()
        if text in why
    ]
    if found:
        total = sum(map(len, comparison.groups.values()))
        comparison.reporter.say(
            f"{name}: {len(found):,} of {total:,} measured texts occur in this corpus themselves, "
            "so their templates are found there"
        )
    return found
