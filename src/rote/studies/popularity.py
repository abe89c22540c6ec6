"""Measure how popular test items are in a corpus, and whether models answer popular ones better.

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

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rote.compare.clusters import number_clusters
from rote.core.errors import OptionError
from rote.core.metric import LONGEST_NGRAM, check_options, handle, option, unsigned_option
from rote.core.numbers import format_interval, format_number, format_percent, format_points
from rote.core.record import Call, Finding, Findings, ReportContext, Study
from rote.core.result import Result
from rote.corpus.items import Item, ItemOptions, fingerprint
from rote.search.backends import BackendOptions, open_backend
from rote.studies import _items, _popularity_output
from rote.studies import _popularity_scores as task_grams
from rote.studies._popularity_output import CHARTS, LAYOUT, PopularityScoring
from rote.studies._popularity_scores import DecileScale, PopularityScores, score_popularity

_LONGEST, _SHORTEST = 7, 2
"""N-grams that a report may look at: those of the paper first."""
METHOD = "Wilson (shares), Newcombe (their difference), jackknife (means); twins are kept together"
_INFLUENCE = "; correlations by what each item adds"


@dataclass(frozen=True, slots=True)
class Options:
    """Where n-grams are counted, what is scored, and how items are grouped."""

    corpus: str | None = handle(
        None,
        "Corpus to count n-grams in: an index of rote, a folder of infini-gram, infini-gram:NAME",
        "IDX",
        takes="index",
    )
    n: int = option(7, "Tokens in an n-gram", short="-n", most=LONGEST_NGRAM)
    correct: str | None = option(
        None,
        "Field with whether an item was answered correctly (true or 1, false or 0); acc in logs "
        "of lm-evaluation-harness",
        metavar="FIELD",
        sign=lambda name: name or "acc",
    )
    by: tuple[str, ...] = option(
        ("task",), "Fields to group by: task, kind (formal, functional), source, any other"
    )
    deciles: Path | None = unsigned_option(
        None, "Deciles of the original items, to be applied unchanged", metavar="FILE"
    )
    save_deciles: Path | None = unsigned_option(
        None,
        "Write the deciles to this file, for items made from these (.json)",
        metavar="FILE",
        writes=(".json",),
    )
    variant: Literal["exact", "paper"] = option(
        "exact",
        "score of an item with several options: how much more popular the right one is (exact), or "
        "that divided by its popularity (paper), whose mean is biased below 0",
    )
    pairs: int | None = unsigned_option(
        None,
        "Also count pairs of n-grams of this many tokens: one of the input, one of the answer; "
        "how often both occur in a document, and whether the likelihood goes with it",
        metavar="N",
        least=1,
        most=LONGEST_NGRAM,
    )
    pairs_within: int | None = unsigned_option(
        None,
        "Cut documents into spans of this many tokens: a pair counts where one span contains both",
        metavar="TOKENS",
        least=1,
        most=1_000_000,
    )
    pairs_similar: float | None = unsigned_option(
        None,
        "Minimum cosine between the embeddings of a pair; others are left out",
        metavar="COSINE",
        least=-1,
        most=1,
    )
    embedder: str = unsigned_option(
        "minilm",
        "Embedder for --pairs-similar: minilm (extra semantic), sentence-transformers:NAME",
        metavar="NAME",
    )
    max_undefined: float = unsigned_option(
        0.1, "Maximum share of instances shorter than n", least=0, most=1
    )
    interval: float = unsigned_option(0.95, "Confidence level of the intervals; 0: no intervals")

    def __post_init__(self) -> None:
        check_options(self)
        _items.check_by(self.by)
        if self.corpus is None:
            raise OptionError("no corpus: name an index with --corpus")
        if self.pairs is None and (self.pairs_within, self.pairs_similar) != (None, None):
            raise OptionError("--pairs takes the length of a pair's n-grams, in tokens")


def run(call: Call) -> Findings:
    """How popular items are in a corpus, and how well the popular ones are answered."""
    options: Options = call.options
    items = [record.item for record in call.inputs]
    groups = _items.items_by_group(items, options.by)
    correct = np.array([_items.read_correctness(item, options.correct) for item in items])
    scale = DecileScale.read(options.deciles) if options.deciles else None
    assert options.corpus is not None
    backend = open_backend(options.corpus, call.of(BackendOptions), call.reporter)
    index = task_grams.check_pairs(items, backend) if options.pairs is not None else None
    instances = score_popularity(
        [instance for item in items for instance in item.instances()],
        [item.task for item in items for _ in item.options],
        backend,
        options.n,
        scale=scale,
        max_undefined=options.max_undefined,
        reporter=call.reporter,
    )
    if options.save_deciles:
        instances.scale.write(options.save_deciles)
    scored = _score_items(items, instances, correct, groups, options)
    output, added = _popularity_output.build_tables(scored), {}
    notes = list(_popularity_output.notes(scored))
    if index is not None:
        pairs = task_grams.count_pairs(items, index, options, call.reporter)
        output["pairs"] = list(task_grams.correlation_rows(pairs, scored.bases, groups, options))
        more = task_grams.pair_columns(pairs)
        output["items"] = [{**row, **cells} for row, cells in zip(output["items"], more)]
        added = task_grams.pair_signature(options)
        notes += task_grams.pair_notes(pairs, options)
    return Findings(
        sources=_popularity_output.source_results(scored),
        values=_popularity_output.value_rows(scored),
        by=options.by,
        signed={
            "backend": backend.name,
            "tokenizer": backend.tokenizer,
            "index": backend.index,
            "count": backend.count,
            "deciles": "own" if scale is None else scale.fingerprint,
            "items": fingerprint(items),
            **added,
        },
        tables=output,
        method=METHOD + (_INFLUENCE if options.pairs else ""),
        notes=tuple(notes),
    )


def _score_items(
    items: Sequence[Item],
    instances: PopularityScores,
    correct: _items.Floats,
    groups: _items.Groups,
    options: Options,
) -> PopularityScoring:
    sizes = np.array([len(item.options) for item in items])
    first = np.concatenate(([0], np.cumsum(sizes)))[:-1]
    right, wrong = np.full((2, len(items)), np.nan)
    for number, item in enumerate(items):
        if item.answer is not None:
            item_scores = instances.ips[first[number] : first[number] + sizes[number]]
            right[number] = item_scores[item.answer]
            if len(item_scores) > 1:
                wrong[number] = np.delete(item_scores, item.answer).mean()
    gap = (right - wrong) / right if options.variant == "paper" else right - wrong
    scores = np.where(sizes > 1, gap, right)
    tasks = np.unique([item.task for item in items], return_inverse=True)[1]
    return PopularityScoring(
        items=items,
        instances=instances,
        first=first,
        right=right,
        wrong=wrong,
        bases=number_clusters([item.base for item in items]),
        scores=scores,
        half=_items.split_halves(scores, tasks),
        tenth=_popularity_output.split_tenths(scores, tasks),
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


def report(context: ReportContext) -> dict[str, Any] | str:
    if context.corpus is None:
        return "no corpus: name an index to count n-grams of the items in, with --corpus"
    return {"corpus": context.corpus, "n": _LONGEST}


def with_shorter_ngrams(keywords: Mapping[str, Any]) -> dict[str, Any] | None:
    """Words are fewer than subwords, so a report may need shorter n-grams than the paper."""
    return {**keywords, "n": keywords["n"] - 1} if keywords["n"] > _SHORTEST else None


def findings(result: Result, sources: Sequence[str]) -> Iterator[Finding]:
    """Whether items that are popular in the corpus are answered better."""
    level = result.interval.level if result.interval else None
    for name in sources:
        at_source = result.by_source[name]
        gap = at_source.values.get("accuracy_difference", math.nan)
        popular = at_source.values.get("ips", math.nan)
        if math.isnan(gap):
            mean = f"{format_number(popular, '.2f')} (1 to 10)"
            text = f"{name}: the right instances have a mean popularity of {mean}"
            text = f"{name}: no item has a popularity" if math.isnan(popular) else text
            text += "; no item has a recorded answer."
            yield Finding(text, "ips", name)
            continue
        low, high = at_source.ends("accuracy_difference")
        apart = low > 0 or high < 0
        ends = format_interval(level, (low, high), format_points)
        ends = f", {ends[2:-1]}" if ends else ""
        text = (
            f"{name}: accuracy is {format_percent(at_source.values['accuracy_high'])} on the more "
            f"popular half and {format_percent(at_source.values['accuracy_low'])} on the less "
            f"popular one ({format_points(gap)}{ends})"
            + ("." if apart or math.isnan(low) else ": no difference was found.")
        )
        state = "" if math.isnan(low) else "differs" if apart else "not found"
        yield Finding(text, "accuracy_difference", name, state, gap)


STUDY = Study(
    name="popularity",
    title="Popularity",
    says="How popular items are in a corpus, and whether models answer popular ones better.",
    takes="items",
    metavar="ITEMS...",
    options=Options,
    more=(ItemOptions, BackendOptions),
    run=run,
    citation="Ruzzetti, Zanzotto and Caselli, Lexical Popularity: Quantifying the Impact of "
    "Pre-training for LLM Performance",
    findings=findings,
    section="items",
    layout=LAYOUT,
    method=method,
    report=report,
    lesser=with_shorter_ngrams,
    charts=CHARTS,
)
