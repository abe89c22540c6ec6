"""Contamination: which items of a benchmark occur in a corpus, whole or in part.

For every item the longest run of words that the corpus holds, and the shares of its n-grams that
it holds (n = 8 and 13). An item is contaminated if at least 70 % of its 8-grams are held
(Chowdhery et al. 2022), near if that is less but one passage of the corpus holds it by the rule of
`rote decontaminate` (words changed or added, punctuation left out), touched if a 13-gram is held
(Brown et al. 2020), clean otherwise; all thresholds are options. Of an item of a benchmark the
question, the question with its answer (with each option where none is marked right) and the passage
are looked up, and the part that is held most counts. Each with an 8-gram in the corpus comes with
its evidence, also if it is clean, so that one can read what the thresholds decide.

With --meaning an item that the corpus does not hold word for word is reworded if sentences there
say what it says, with the probability that chance does as well; if numbers, names or negation
differ, it is similar, but states other facts. Neither counts as contaminated.

Direction: higher is more copied. Length: items of fewer than 8 words, or of common words alone,
cannot be judged; they are left out and counted. A longer item is touched more easily.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rote.compare.clusters import share_interval
from rote.compare.intervals import mean, mean_error, shares
from rote.core.arrays import Floats, Integers
from rote.core.errors import OptionError
from rote.core.layer import Layer
from rote.core.metric import (
    LONGEST_NGRAM,
    Comparison,
    Metric,
    Value,
    Values,
    Work,
    check_options,
    option,
)
from rote.core.progress import several
from rote.core.record import Headline
from rote.core.result import Result
from rote.core.sample import SEVERAL, Need, Sample, Take
from rote.core.table import Column, Pivot, Table, make_columns
from rote.corpus import read_option
from rote.measure._overlap_partition import count_flagged
from rote.measure._text_means import count_note
from rote.search import reference_corpus
from rote.search.part_matcher import SCORE, MatchOptions
from rote.search.reference_corpus import describe_passage, describe_span

if TYPE_CHECKING:
    from rote.index.index import Index
    from rote.search.meaning.index_matches import ItemMeaning

CONTAMINATED, TOUCHED, CLEAN, SHORT = "contaminated", "touched", "clean", "too short"
REWORDED, FACTS = "reworded", "other_facts"
LOWER, MEANING = "lower", "meaning"
CHANCE = 0.001
_FOUND = (None, reference_corpus.NEAR, reference_corpus.FOLDED, reference_corpus.EXACT)
_CONTEXT = 60


def _sign_meaning(is_asked: bool) -> str | None:
    """What matches in other words depend on beside the index."""
    if not is_asked:
        return None
    from rote.search.meaning import index_matches

    return index_matches.VERSION


@dataclass(frozen=True, slots=True)
class Options:
    corpus: str | None = reference_corpus.corpus_option()
    corpus_read: tuple[str, ...] = read_option("the corpus")
    layer: str = option("lower", "layer of words")
    n: tuple[int, ...] = option(
        (8, 13),
        "two n-gram lengths to look up, the shorter first",
        short="-n",
        most=LONGEST_NGRAM,
        common=True,
    )
    share: float = option(
        0.7,
        "minimum share of the shorter n-grams for an item to be contaminated",
        above=0,
        most=1,
        common=True,
    )
    near: float = option(
        SCORE,
        "minimum share of an item's words, weighted by rarity, for it to be near: words that "
        "occur in one passage in the same order, ignoring punctuation",
        above=0,
        most=1,
        common=True,
    )
    meaning: bool = option(
        False,
        "also look for paraphrased items, in an index with the layer meaning",
        sign=_sign_meaning,
        common=True,
    )
    chance: float = option(
        CHANCE,
        "maximum probability of a paraphrase match by chance (in an unrelated item of its length)",
        sign=lambda chance: None if chance == CHANCE else chance,
        above=0.0,
        most=0.2,
    )
    benchmark: str | None = option(
        None,
        "benchmark name: blimp, choices, copa, lambada, lm-eval, piqa, questions, winogrande; "
        "texts: no benchmark, a field is looked up as it is; default: detected from the fields",
        metavar="NAME",
        common=True,
    )

    def __post_init__(self) -> None:
        check_options(self)
        if len(self.n) != 2 or not 1 <= self.n[0] < self.n[1]:
            raise OptionError("-n takes two lengths, the shorter first, such as 8,13")
        if self.chance != CHANCE and not self.meaning:
            raise OptionError("--chance is for paraphrases: add --meaning")

    @property
    def layers(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.layer, *((LOWER, MEANING) if self.meaning else ()))))


@dataclass(frozen=True, slots=True)
class Rows:
    """Per item its words, the longest held run, and the shares of held n-grams (nan: too short), of
    the part that is held most.

    `judged` says whether that part can be judged, `part` which one it is, `first` the word at which
    its longest run begins, `occurrence` how it occurs in the corpus (a place in `_FOUND`),
    `passages` what comes nearest to each part. The index is None where none was named.
    """

    lengths: Integers
    longest: Integers
    first: Integers
    shares: Mapping[int, Floats]
    judged: NDArray[np.bool_]
    occurrence: Integers
    part: Integers
    parts: reference_corpus.ItemParts
    together: Integers
    """Items with the same number belong together."""
    index: Index | None = None
    passages: Mapping[int, reference_corpus.MatchedPassage] = field(default_factory=dict)
    meanings: Mapping[int, ItemMeaning] = field(default_factory=dict)
    """Of items, what says the same in other words."""

    @property
    def layer(self) -> Layer:
        return self.parts.layer


def values(options: Options) -> tuple[Value, ...]:
    short, long = options.n
    values = [
        Value("contaminated", "items that are contaminated", "repetitive", "neither", True),
        Value("near", "items that are nearly there", "neither", "neither", True),
        Value("touched", "items that are touched", "neither", "neither", True),
        Value(f"found_{short}", f"{short}-grams of an item found", "repetitive", "neither", True),
        Value(f"found_{long}", f"{long}-grams of an item found", "repetitive", "neither", True),
        Value("longest", "longest run found, in words", "repetitive", "length"),
    ]
    if options.meaning:
        values += [
            Value("reworded", "items found in other words", "neither", "neither", True),
            Value("other_facts", "items found with other facts", "neither", "neither", True),
        ]
    return tuple(values)


def needs(options: Options) -> tuple[Need, ...]:
    return (Need(options.layer, spans=True), Need("text"))


def check(options: Options, signature: str) -> None:
    if options.corpus:
        layers = tuple(layer for layer in options.layers if layer != MEANING)
        reference_corpus.check_reference_corpus(options.corpus, layers, signature)
        if options.meaning:
            reference_corpus.check_meanings(options.corpus)


def rows(sample: Sample, options: Options, work: Work) -> Rows:
    items = sample.layer(Need(options.layer, spans=True))
    parts = reference_corpus.split_parts(items, sample.text())
    layer, count = parts.layer, len(sample)
    lengths: Integers = np.diff(layer.text_ends, prepend=0)
    if not options.corpus:
        nothing, no = np.zeros(count, np.int64), np.zeros(count, np.bool_)
        firsts = lengths[np.searchsorted(parts.item, np.arange(count))]
        unknown = dict.fromkeys(options.n, np.full(count, np.nan))
        return Rows(firsts, nothing, nothing, unknown, no, nothing, nothing, parts, nothing)
    index = reference_corpus.open_reference_index(options.corpus, options.layers, work.reporter)
    runs = reference_corpus.longest_matches(index, layer, work)
    slices = map(layer.slice, range(len(layer)))
    # Of a part without words the place where it would stand.
    first = np.array([s.start + np.append(runs[s], 0).argmax() for s in slices], np.int64)
    longest = np.where(lengths > 0, np.append(runs, 0)[first], 0)
    shares_by_n = {n: shares(*count_flagged(layer, n, runs >= n)) for n in options.n}
    short, long = (np.nan_to_num(shares_by_n[n], nan=-1.0) for n in options.n)
    unsure = np.flatnonzero((longest < lengths) & (short < options.share))
    rule = MatchOptions(share=options.near, min_words=options.n[0])
    judged, passages = reference_corpus.find_passages(index, layer, unsure, rule)
    exact = np.where((longest == lengths) & (lengths > 0), _FOUND.index(reference_corpus.EXACT), 0)
    for text, passage in passages.items():
        if passage.score >= options.near:
            how = reference_corpus.FOLDED if passage.folded else reference_corpus.NEAR
            exact[text] = _FOUND.index(how)
    # The part that counts stands last of its item's own: of those that can be judged the one that
    # is held most.
    rank = np.select([short >= options.share, exact > 0, long > 0], [3, 2, 1], 0)
    order = np.lexsort((longest, short, exact, rank, judged, parts.item))
    best = order[np.searchsorted(parts.item[order], np.arange(count), side="right") - 1]
    meanings: Mapping[int, ItemMeaning] = {}
    if options.meaning:
        from rote.search.meaning.index_matches import find_reworded

        is_verbatim = (short[best] >= options.share) | (exact[best] > 0)
        wanted = np.flatnonzero(judged & ~is_verbatim[parts.item])
        strings = SEVERAL.join(sample.text().strings()).split(SEVERAL)
        sought = [strings[part] for part in wanted.tolist()], parts.item[wanted]
        reworded = find_reworded(index.on(work.jobs), *sought, options.chance, work.reporter)
        meanings = {
            item: replace(meaning, part=int(wanted[meaning.part]))
            for item, meaning in reworded.items()
        }
    strata = work.strata if len(work.strata) else np.full(count, -1, np.int64)
    return Rows(
        lengths[best],
        longest[best],
        first[best],
        {n: column[best] for n, column in shares_by_n.items()},
        judged[best],
        exact[best],
        best,
        parts,
        np.where(strata >= 0, strata, -1 - np.arange(count)),
        index,
        passages,
        meanings,
    )


def verdicts(rows: Rows, options: Options) -> list[str]:
    """Of every item: contaminated, near, touched, clean, or too short to be judged."""
    short, long = (np.nan_to_num(rows.shares[n]) for n in options.n)
    kinds = np.select(
        [~rows.judged, short >= options.share, rows.occurrence > 0, long > 0],
        [SHORT, CONTAMINATED, reference_corpus.NEAR, TOUCHED],
        CLEAN,
    )
    return [str(kind) for kind in kinds]


def reduce(rows: Rows, take: Take, options: Options, rng: np.random.Generator) -> Values:
    return {name: mean(column[take]) for name, column in per_text(rows, options).items()}


def standard_errors(rows: Rows, take: Take, options: Options) -> Values:
    return {name: mean_error(column[take]) for name, column in per_text(rows, options).items()}


def intervals(
    rows: Rows, take: Take, options: Options, level: float
) -> Mapping[str, tuple[float, float]]:
    """Shares of items: none of 3,000 is not surely none."""
    meanings = (REWORDED, FACTS) if options.meaning else ()
    names = (CONTAMINATED, reference_corpus.NEAR, TOUCHED, *meanings)
    columns, together = per_text(rows, options), rows.together[take]
    return {name: share_interval(columns[name][take], together, level) for name in names}


def per_text(rows: Rows, options: Options) -> Mapping[str, Floats]:
    """Means over items are the values, so these are the values of each item."""
    verdict = np.array(verdicts(rows, options))
    known = rows.lengths > 0 if rows.index is not None else np.zeros(len(rows.lengths), bool)
    columns = {name: verdict == name for name in (CONTAMINATED, reference_corpus.NEAR, TOUCHED)}
    columns |= {f"found_{n}": rows.shares[n] for n in options.n}
    columns["longest"] = np.where(known, rows.longest, np.nan)
    if options.meaning:
        columns[REWORDED] = _reworded(rows, other_facts=False)
        columns[FACTS] = _reworded(rows, other_facts=True)
    # Verdicts are flags.
    return {
        name: np.where(rows.judged, column, np.nan) if column.dtype == np.bool_ else column
        for name, column in columns.items()
    }


def _reworded(rows: Rows, *, other_facts: bool) -> NDArray[np.bool_]:
    """Which items the corpus holds in other words, with the same facts or with others."""
    is_reworded = np.zeros(len(rows.lengths), np.bool_)
    for item, meaning in rows.meanings.items():
        is_reworded[item] = bool(meaning.differing) == other_facts
    return is_reworded


def notes(rows: Rows, take: Take, options: Options) -> list[str]:
    if rows.index is None:
        return [reference_corpus.NO_CORPUS]
    short, long = options.n
    why = f"items cannot be judged: fewer than {several(short, 'word')}, or only common words"
    lines = count_note(~rows.judged[take], why)
    lines += count_note(
        rows.lengths[take] < long, f"items are shorter than {several(long, 'word')}: no {long}-gram"
    )
    there = int((~rows.judged[take] & (rows.occurrence[take] > 0)).sum())
    if there:
        lines.append(f"{there:,} of those that cannot be judged occur in the corpus as a whole")
    return lines


def tables(rows: Rows, comparison: Comparison, options: Options) -> Mapping[str, Sequence[Any]]:
    """Every item with its verdict; the evidence where at least a shorter n-gram is held."""
    if rows.index is None:
        return {}
    nothing = dict.fromkeys(("count", "document", "author", "start", "end"))
    nothing |= dict.fromkeys(("before", "match", "after"))
    judged, items, parts = verdicts(rows, options), [], rows.parts
    for source, take in comparison.groups.items():
        for item in take.tolist():
            evidence: dict[str, Any] = dict(nothing)
            part = int(rows.part[item])
            first, last = int(rows.first[item]), int(rows.first[item] + rows.longest[item])
            passage = rows.passages.get(part)
            if rows.longest[item] and (
                rows.longest[item] >= options.n[0]
                or _FOUND[rows.occurrence[item]] == reference_corpus.EXACT
            ):
                evidence = describe_span(rows.index, rows.layer, first, last, _CONTEXT)
                evidence["text_start"] = int(rows.layer.starts[first] - parts.offset[part])
                evidence["text_end"] = int(rows.layer.ends[last - 1] - parts.offset[part])
            elif rows.occurrence[item] and passage is not None:
                evidence = describe_passage(rows.index, rows.layer.name, passage, _CONTEXT)
            items.append(
                {
                    "source": source,
                    **comparison.named(item),
                    "words": int(rows.lengths[item]),
                    "verdict": judged[item],
                    "found": _FOUND[rows.occurrence[item]],
                    "near": passage.score if passage is not None else None,
                    "part": int(parts.number[part]),
                    "longest": int(rows.longest[item]),
                    **{f"found_{n}": float(rows.shares[n][item]) for n in options.n},
                    "text_start": None,
                    "text_end": None,
                    **evidence,
                }
            )
    meanings = _meaning_rows(rows, comparison) if options.meaning else {}
    return {"items": items, **meanings}


def _meaning_rows(rows: Rows, comparison: Comparison) -> dict[str, list[dict[str, Any]]]:
    """Items that the corpus holds in other words, the least probable by chance first."""
    from rote.search.meaning.index_matches import describe_meaning

    assert rows.index is not None
    listed = [
        {
            "source": source,
            **comparison.named(item),
            "part": int(rows.parts.number[meaning.part]),
            **describe_meaning(rows.index, meaning, _CONTEXT),
        }
        for source, take in comparison.groups.items()
        for item in take.tolist()
        if (meaning := rows.meanings.get(item))
    ]
    listed.sort(key=lambda row: (row["p"], row["source"], row["id"]))
    return {
        REWORDED: [row for row in listed if not row["differing"]],
        FACTS: [row for row in listed if row["differing"]],
    }


_VERDICTS = ("contaminated", "near", "touched", "clean", "too short")


def _verdicts(rows: Sequence[Mapping[str, Any]], result: Result) -> list[dict[str, Any]]:
    counts = Counter((row["source"], row["verdict"]) for row in rows)
    return [
        {"source": source, "verdict": verdict, "items": counts[source, verdict]}
        for source in dict.fromkeys(row["source"] for row in rows)
        for verdict in _VERDICTS
    ]


def _evidence(rows: Sequence[Mapping[str, Any]], result: Result) -> list[Mapping[str, Any]]:
    """Items that the corpus holds, those that it holds most of first."""
    with_document = [row for row in rows if row.get("document") is not None]
    return sorted(with_document, key=lambda row: (_VERDICTS.index(row["verdict"]), -row["longest"]))


def _explained(rows: Sequence[Mapping[str, Any]], result: Result) -> str:
    sizes = [name.removeprefix("found_") for name in rows[0] if name.startswith("found_")]
    run = f"{sizes[0]} words or more in a row" if sizes else "a long run of words"
    return (
        f"{several(len(rows), 'item')} with {run}, or found: exact (as a whole), folded (ignoring "
        "punctuation), near (words changed); longest: words of the longest run there."
    )


_MEANING_COLUMNS = (
    *make_columns("source id=item p:number"),
    Column("similarity", kind="number", decimals=2),
    *make_columns("document text=the_item:text"),
)
_LAYOUT = (
    Table(
        "items",
        "Verdicts",
        (Column("source"),),
        note="number of items",
        rows=_verdicts,
        by="source",
        pivot=Pivot("verdict", Column("items", kind="count")),
    ),
    Table(
        "items",
        "Items that the corpus holds",
        (
            *make_columns("source id=item verdict found? longest:count words:count document"),
            *make_columns("author? match:text"),
        ),
        note=_explained,
        rows=_evidence,
        by="source",
    ),
    Table(
        REWORDED,
        "Items in other words",
        (*_MEANING_COLUMNS, Column("match", kind="text")),
        note="p: probability of such a match by chance",
        by="source",
    ),
    Table(
        FACTS,
        "Similar, but different facts",
        (*_MEANING_COLUMNS, Column("differing"), Column("match", kind="text")),
        by="source",
    ),
)


def method(s: Mapping[str, str]) -> str:
    short, _, long = s["n"].partition(",")
    return (
        f"A text is contaminated if the corpus contains at least {float(s['share']):.0%} of its "
        f"{short}-grams, near if {float(s.get('near', SCORE)):.0%} of its words, by their rarity, "
        "occur in one passage in the same order, and touched if neither holds but it has a "
        f"{long}-gram; texts of fewer than {short} words, or of common words alone, are not judged"
        + (
            "; a text is reworded if sentences of the corpus that hold half of it or more in other "
            "words are nearer than chance allows for more than "
            f"{float(s.get('chance') or CHANCE):g} of such texts"
            if s.get("meaning", "None") != "None"
            else ""
        )
    )


METRIC = Metric(
    name="contamination",
    title="Contamination",
    values=values,
    needs=needs,
    options=Options,
    rows=rows,
    reduce=reduce,
    citation=(
        "Brown et al. (2020), Language Models are Few-Shot Learners (13-grams); Chowdhery et al. "
        "(2022), PaLM: Scaling Language Modeling with Pathways (70 % of 8-grams)"
    ),
    match=None,
    uncut_reason="each item is looked up as a whole",
    standard_errors=standard_errors,
    intervals=intervals,
    interval_method="Wilson (shares of items), jackknife over items (means)",
    per_text=per_text,
    notes=notes,
    tables=tables,
    check=check,
    items=True,
    inputs=False,
    layout=_LAYOUT,
    says="Which items occur in a corpus, in full or in part.",
    section="corpus",
    circular=("corpus", "found_8", 1.0),
    place=30,
    headlines=(
        Headline(
            "contaminated",
            "has more contaminated texts",
            "has fewer contaminated texts",
            unit="of its texts long enough to judge",
            percent=True,
        ),
    ),
    method=method,
    effort="light",
    report=lambda asked: asked.lacks("corpus") or {"corpus": asked.corpus},
)
