"""How popular test items are in a corpus, and whether popular ones are answered better.

ITEMS are benchmarks (BLiMP, LAMBADA, COPA, PIQA, WinoGrande), sample logs of
lm-evaluation-harness, or records with context, options and answer. The popularity of an
instance (1 to 10) is the mean decile of the counts of its n-grams in the corpus:


  rote popularity samples_piqa_*.jsonl --corpus IDX -n 4
  rote popularity results/ --corpus IDX -n 3 --by kind,task --figure popularity.png
  rote popularity piqa.jsonl --corpus infini-gram:v4_piletrain_llama --correct olmo
  rote popularity blimp.jsonl --corpus FOLDER --tokenizer tokenizer.json --save-deciles d.json
  rote popularity answers.jsonl --corpus IDX -n 3 --pairs 1 --pairs-within 200

IDX is an index of rote, FOLDER one of infini-gram. In words, seven are too many for short
sentences: the command says so, and which n would do.

Items are put into a low and a high half by the median of their score within their task: how much
more popular the right option is than the wrong ones (Ruzzetti et al. 2026, section 4).


  two options and more:  score = IPS(right) - mean IPS(wrong)
  a single option:       score = IPS(right)
  variant paper:         score = (IPS(right) - mean IPS(wrong)) / IPS(right)

--pairs asks whether the corpus predicts how likely the model finds the right answer (distributional
memorization, Wang et al. 2025): pairs of an n-gram of what it was asked and one of the answer,
by how many documents hold both. It needs the answers that `rote evaluate --write` writes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rote.compare.clusters import numbered
from rote.core.errors import OptionError
from rote.core.metric import LONGEST_NGRAM, check_options, handle, option, unsigned
from rote.core.record import Asked, Call, Findings, Study
from rote.corpus.items import Item, ItemOptions, fingerprint
from rote.search.backends import BackendOptions
from rote.studies._items import Floats, Groups, check_by, correctness, groups_of, halves
from rote.studies._popularity import pairs as task_grams
from rote.studies._popularity import tables
from rote.studies._popularity.layout import CHARTS, LAYOUT
from rote.studies._popularity.scores import Scale, Scored, score
from rote.studies._popularity.tables import Scoring

_LONGEST, _SHORTEST = 7, 2
"""N-grams that a report may look at: those of the paper first."""
METHOD = "Wilson (shares), Newcombe (their difference), jackknife (means); twins belong together"
_INFLUENCE = "; correlations by what each item adds"


@dataclass(frozen=True, slots=True)
class Options:
    """Where n-grams are counted, what is scored, and how items are grouped."""

    corpus: str | None = handle(
        None,
        "Where n-grams are counted: an index of rote, a folder of infini-gram, infini-gram:NAME",
        "IDX",
        takes="index",
    )
    n: int = option(7, "Tokens in an n-gram", short="-n", most=LONGEST_NGRAM)
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
    pairs: int | None = option(
        None,
        "Also count pairs of n-grams of this many tokens: one of the input, one of the answer; "
        "how often both occur in a document, and whether the likelihood goes with it",
        metavar="N",
        least=1,
        sign=unsigned,
        most=LONGEST_NGRAM,
    )
    pairs_within: int | None = option(
        None,
        "Cut documents into stretches of this many tokens: a pair is counted where one holds both",
        metavar="TOKENS",
        least=1,
        sign=unsigned,
        most=1_000_000,
    )
    pairs_similar: float | None = option(
        None,
        "Least cosine between the embeddings of a pair; others are left out",
        metavar="COSINE",
        least=-1,
        most=1,
        sign=unsigned,
    )
    embedder: str = option(
        "minilm",
        "Embedder for --pairs-similar: minilm (extra semantic), sentence-transformers:NAME",
        metavar="NAME",
        sign=unsigned,
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
        if self.pairs is None and (self.pairs_within, self.pairs_similar) != (None, None):
            raise OptionError("--pairs says of how many tokens the n-grams of a pair are")


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
    index = task_grams.checked(items, backend) if options.pairs is not None else None
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
    made, added, said = tables.all_tables(scored), {}, list(tables.notes(scored))
    if index is not None:
        pairs = task_grams.count_pairs(items, index, options, call.reporter)
        made["pairs"] = list(task_grams.table(pairs, scored.bases, groups, options))
        made["items"] = [{**row, **own} for row, own in zip(made["items"], task_grams.rows(pairs))]
        added = task_grams.signed(options)
        said += task_grams.notes(pairs, options)
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
            **added,
        },
        tables=made,
        method=METHOD + (_INFLUENCE if options.pairs else ""),
        notes=tuple(said),
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
        + (f"; pairs are of {s['pairs']}-grams, held by one {s['in']}" if "pairs" in s else "")
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
