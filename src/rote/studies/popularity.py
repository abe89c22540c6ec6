"""How popular test items are in a corpus, and whether popular ones are answered better.

ITEMS are benchmarks (BLiMP, LAMBADA, COPA, PIQA, WinoGrande), sample logs of
lm-evaluation-harness, or records with context, options and answer. The popularity of an
instance (1 to 10) is the mean decile of the counts of its n-grams in the corpus:


  rote popularity samples_piqa_*.jsonl --corpus IDX -n 4
  rote popularity results/ --corpus IDX -n 3 --by kind,task --figure popularity.png
  rote popularity piqa.jsonl --corpus infini-gram:v4_piletrain_llama --correct olmo
  rote popularity blimp.jsonl --corpus FOLDER --tokenizer tokenizer.json --save-deciles d.json

IDX is an index of rote, FOLDER one of infini-gram. In words, seven are too many for short
sentences: the command says so, and which n would do.

Items are put into a low and a high half by the median of their score within their task: how much
more popular the right option is than the wrong ones (Ruzzetti et al. 2026, section 4).


  two options and more:  score = IPS(right) - mean IPS(wrong)
  a single option:       score = IPS(right)
  variant paper:         score = (IPS(right) - mean IPS(wrong)) / IPS(right)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rote.compare.clusters import numbered
from rote.core.chart import Chart
from rote.core.errors import OptionError
from rote.core.facets import JOINT
from rote.core.metric import check_options, handle, option, unsigned
from rote.core.record import Asked, Call, Findings, Study
from rote.core.result import Result
from rote.core.table import VALUES, Column, Row, Rows, Table, defined, value_ends
from rote.corpus.items import Item, ItemOptions, fingerprint
from rote.search.backends import BackendOptions
from rote.studies._items import Floats, Groups, check_by, correctness, groups_of, halves
from rote.studies._popularity import tables
from rote.studies._popularity.scores import Scale, Scored, score
from rote.studies._popularity.tables import Scoring

_EVERY = 1000
_SAID = (
    "right, wrong: mean popularity (1 to 10) of the instances with the right option and with the "
    "wrong ones; difference: right - wrong, 0 where popularity does not tell them apart",
    "ahead: of the items in which one is ahead, the share in which the right one is: 50% by "
    "chance; p: of the difference, its signs turned by chance, corrected over the groups",
)
_ANSWERED = (
    "low, high: accuracy of the items up to the median of their task's difference (popularity, "
    "where there is one option) and above it"
)
_RELATIVE = (
    "relative: the mean of (right - wrong) / right, as Ruzzetti et al. have it, biased below 0; "
    "low and high are by it"
)


def _with_tests(rows: Rows, result: Result) -> Rows:
    """Where no option is ahead in any item, there is no difference to speak of."""
    tests = {row["group"]: row for row in result.tables.get("tests", ())}
    found = []
    for row in rows:
        test = tests.get(row["source"], {})
        told: dict[str, Any] = {"p_corrected": test.get("p_corrected")}
        if test and not test["ahead"] + test["behind"]:
            told = {"p_corrected": None, "difference": None}
        found.append({**row, **told})
    return found


def _columns(rows: Rows, result: Result) -> list[Column]:
    return [
        Column("source", ", ".join(result.by)),
        Column("texts", "items", "count"),
        Column("ips", "right", "number"),
        Column("ips_wrong", "wrong", "number", optional=True),
        Column(
            "difference", kind="number", signed=True, ends=value_ends("difference"), optional=True
        ),
        Column("ahead", kind="share", ends=value_ends("ahead"), optional=True),
        Column("p_corrected", "p", "p", optional=True),
        Column("advantage", "relative", "number", optional=True),
        Column("accuracy", kind="share", optional=True),
        Column("accuracy_low", "low", "share", optional=True),
        Column("accuracy_high", "high", "share", optional=True),
        Column(
            *("accuracy_difference", "high - low", "share"),
            signed=True,
            ends=value_ends("accuracy_difference"),
            optional=True,
        ),
    ]


def _said(rows: Rows, result: Result) -> str:
    answered = any(defined(row.get("accuracy")) for row in rows)
    relative = any(defined(row.get("advantage")) for row in rows)
    lines = [*_SAID, *([_ANSWERED] if answered else []), *([_RELATIVE] if relative else [])]
    return "; ".join(lines)


LAYOUT = (
    Table(VALUES, "Popularity", _columns, said=_said, rows=_with_tests, limit=_EVERY),
    Table(
        "groups",
        "Accuracy by popularity",
        (
            *(Column("group"), Column("popularity"), Column("items", kind="count")),
            *(Column("score", kind="number"), Column("answered", kind="count")),
            Column("correct", kind="count"),
            Column("accuracy", kind="share", ends=("low", "high")),
        ),
        limit=0,
    ),
)


def _facets(rows: Rows, result: Result) -> Rows:
    """Rows under what the first of several fields says (formal, functional)."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        first, joint, rest = row["group"].partition(JOINT)
        facet, name = (first, rest) if joint else ("", row["group"])
        found.setdefault(facet, []).append({**row, "facet": facet, "name": name})
    return [row for own in found.values() for row in own]


def _spread(rows: Rows, result: Result) -> Rows:
    """The popularity of the right instances."""
    return [
        {"group": group, "ips": row["ips"][row["answer"]]}
        for group in result.sources
        for row in rows
        if row["group"] == group and row["answer"] is not None
    ]


CHARTS = (
    Chart(
        "halves",
        "Accuracy of the less and the more popular half",
        table="groups",
        shape="bars",
        x="name",
        y="accuracy",
        colour="popularity",
        colours={"low": "pale", "high": "plain"},
        panel=("facet",),
        ends=("low", "high"),
        titles={"accuracy": "accuracy", "popularity": "popularity"},
        share=True,
        rows=_facets,
        says="Accuracy of the items up to the median popularity of their task, and above it.",
    ),
    Chart(
        "deciles",
        "Accuracy over popularity",
        table="accuracy",
        shape="lines",
        x="decile",
        y="accuracy",
        colour="name",
        panel=("facet",),
        ends=("low", "high"),
        titles={"decile": "decile of popularity", "accuracy": "accuracy"},
        scales={"decile": "ordinal"},
        share=True,
        rows=_facets,
        says="Accuracy over the deciles of popularity.",
    ),
    Chart(
        "popularity",
        "Popularity of items",
        table="items",
        shape="boxes",
        x="ips",
        y="group",
        titles={"ips": "popularity (IPS)"},
        domain=(1, 10),
        rows=_spread,
        says="How the popularity of the right instances is spread.",
    ),
)


_LONGEST, _SHORTEST = 7, 2
"""N-grams that a report may look at: those of the paper first."""
METHOD = "Wilson (shares), Newcombe (their difference), jackknife (means); twins belong together"


@dataclass(frozen=True, slots=True)
class Options:
    """Where n-grams are counted, what is scored, and how items are grouped."""

    corpus: str | None = handle(
        None,
        "Where n-grams are counted: an index of rote, a folder of infini-gram, infini-gram:NAME",
        "IDX",
    )
    n: int = option(7, "Tokens in an n-gram", short="-n")
    correct: str | None = option(
        None,
        "Field that says whether an item was answered rightly (true or 1, false or 0); logs of "
        "lm-evaluation-harness have it as acc",
        metavar="FIELD",
        sign=lambda name: name or "acc",
    )
    by: tuple[str, ...] = option(
        ("task",), "Fields that make a group: task, kind (formal, functional), source, any other"
    )
    deciles: Path | None = option(
        None,
        "Deciles of the original items, to be applied unchanged",
        metavar="FILE",
        sign=unsigned,
    )
    save_deciles: Path | None = option(
        None,
        "Write the deciles there, for items made from these (.json)",
        metavar="FILE",
        writes=(".json",),
        sign=unsigned,
    )
    variant: Literal["exact", "paper"] = option(
        "exact",
        "score of an item with several options: how much more popular the right one is (exact), or "
        "that divided by its popularity (paper), whose mean is biased below 0",
    )
    max_undefined: float = option(
        0.1, "Largest share of instances that may be shorter than n", least=0, most=1, sign=unsigned
    )
    interval: float = option(0.95, "Level of the intervals; 0 leaves them out", sign=unsigned)

    def __post_init__(self) -> None:
        check_options(self)
        check_by(self.by)
        if self.corpus is None:
            raise OptionError("popular where? --corpus names the index that counts")


def run(call: Call) -> Findings:
    """How popular items are in a corpus, and how well the popular ones are answered."""
    from rote.search.backends import open_backend

    options: Options = call.options
    items = [record.item for record in call.inputs]
    groups = groups_of(items, options.by)
    correct = np.array([correctness(item, options.correct) for item in items])
    given = Scale.read(options.deciles) if options.deciles else None
    assert options.corpus is not None
    backend = open_backend(options.corpus, call.of(BackendOptions), call.reporter)
    instances = score(
        [instance for item in items for instance in item.instances()],
        [item.task for item in items for _ in item.options],
        backend,
        options.n,
        scale=given,
        max_undefined=options.max_undefined,
        reporter=call.reporter,
    )
    if options.save_deciles:
        instances.scale.write(options.save_deciles)
    scored = _scored(items, instances, correct, groups, options)
    return Findings(
        sources=tables.sources(scored),
        values=tables.values(scored),
        by=options.by,
        signed={
            "backend": backend.name,
            "tokenizer": backend.tokenizer,
            "index": backend.index,
            "count": backend.count,
            "deciles": "own" if given is None else given.fingerprint,
            "items": fingerprint(items),
        },
        tables=tables.all_tables(scored),
        method=METHOD,
        notes=tuple(tables.notes(scored)),
    )


def _scored(
    items: Sequence[Item],
    instances: Scored,
    correct: Floats,
    groups: Groups,
    options: Options,
) -> Scoring:
    sizes = np.array([len(item.options) for item in items])
    first = np.concatenate(([0], np.cumsum(sizes)))[:-1]
    right = np.full(len(items), np.nan)
    wrong = np.full(len(items), np.nan)
    for number, item in enumerate(items):
        if item.answer is not None:
            own = instances.ips[first[number] : first[number] + sizes[number]]
            right[number] = own[item.answer]
            if len(own) > 1:
                wrong[number] = np.delete(own, item.answer).mean()
    gap = (right - wrong) / right if options.variant == "paper" else right - wrong
    scores = np.where(sizes > 1, gap, right)
    tasks = np.unique([item.task for item in items], return_inverse=True)[1]
    return Scoring(
        items=items,
        instances=instances,
        first=first,
        right=right,
        wrong=wrong,
        bases=numbered([item.base for item in items]),
        scores=scores,
        half=halves(scores, tasks),
        tenth=tables.tenths(scores, tasks),
        correct=correct,
        groups=groups,
        options=options,
    )


def method(s: Mapping[str, str]) -> str:
    return (
        "The popularity of an instance is the mean decile (1 to 10) of the counts of its "
        f"{s['n']}-grams in the corpus ({s['count']}); items are put into a low and a high half by "
        "the median of how much more popular the right option is"
        + (", divided by its popularity" if s.get("variant") == "paper" else "")
    )


def report(asked: Asked) -> dict[str, Any] | str:
    if asked.corpus is None:
        return "no corpus: --corpus names the index in which n-grams of the items are counted"
    return {"corpus": asked.corpus, "n": _LONGEST}


def shorter(given: Mapping[str, Any]) -> dict[str, Any] | None:
    """Words are fewer than subwords, so a report may need shorter n-grams than the paper."""
    return {**given, "n": given["n"] - 1} if given["n"] > _SHORTEST else None


STUDY = Study(
    name="popularity",
    title="Popularity",
    says="How popular items are in a corpus, and whether popular ones are answered better.",
    takes="items",
    metavar="ITEMS...",
    options=Options,
    more=(ItemOptions, BackendOptions),
    run=run,
    citation="Ruzzetti, Zanzotto and Caselli, Lexical Popularity: Quantifying the Impact of "
    "Pre-training for LLM Performance",
    section="items",
    layout=LAYOUT,
    method=method,
    report=report,
    lesser=shorter,
    charts=CHARTS,
)
