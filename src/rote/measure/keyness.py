"""Which words and phrases set a source apart from another, from the rest, or from a corpus.

Every n-gram of a layer (words, lemmas, tags) is counted in the source and on the other side: the
--reference, without one all other sources together, or an index (--corpus). Each comes with the
log-odds ratio under an informative prior and its z (Monroe et al. 2008), log-likelihood G2 (Dunning
1993) with p-values corrected over all items (Benjamini and Hochberg), the log ratio of frequencies
(Hardie 2014), and how evenly the texts hold it (Juilland's D, Gries' DP). Windows of one phrase are
put together. Punctuation, and phrases of function words alone, are left out unless asked for
(--function-words).

G2 takes occurrences as independent, which those of one text are not: among thousands of items it
finds some between halves of one source. So texts are permuted between the two sides as well, and p
is how often that gives any item that stands out as far.

Named patterns ("not X but Y", lists of words and phrases) are counted and tested alike: --patterns.

With --of patterns it is patterns of grammar: n-grams of tags that a source uses often and the
reference rarely, and those of the reference's sentences that are unlike any of the source's.


  rote keyness stories.jsonl --by source --reference human
  rote keyness stories.jsonl --by source --reference human --of patterns

Direction: none; `key` is the share of a source's words that lie in a phrase that it uses more (p <
0.05), `outside` the share of the reference's sentences that the source does not reach (1 - recall
of `rote precision-recall` on trees). Length: more texts show smaller differences.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from rote.annotate import annotators
from rote.compare.permutation import LEVEL, tested_texts_note
from rote.core.arrays import Integers
from rote.core.chart import Chart
from rote.core.errors import OptionError
from rote.core.layer import Layer, layer_words
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
from rote.core.record import ReportContext
from rote.core.result import Result, Row
from rote.core.sample import Need, Sample, Take
from rote.core.table import Column, Pivot, Rows, Table, defined, distinct, make_columns
from rote.corpus import read_option
from rote.measure import _keyness_patterns as grammar
from rote.measure._keyness import (
    Items,
    SourceContrast,
    Where,
    covered,
    exchanged,
    held_against,
    matched,
    ngrams,
    phrases,
    spread,
)
from rote.measure._sentences import Drop
from rote.search.reference_corpus import (
    check_reference_corpus,
    corpus_option,
    open_reference_index,
    reference_name,
)

_DRAWN = 12


def _strongest(rows: Rows, result: Result) -> Rows:
    """Of each source its own phrases, then those of the other side."""
    strongest: list[Row] = []
    for source in distinct(rows, "source"):
        rows_of_source = [row for row in rows if row["source"] == source]
        more = [row for row in rows_of_source if row["used_more_by"] == source][:_DRAWN]
        less = [row for row in rows_of_source if row["used_more_by"] != source][: _DRAWN // 2]
        for row in [*more, *reversed(less)]:
            p = row["p_corrected"] if defined(row["p_corrected"]) else row["p_independent"]
            sure = defined(p) and p < LEVEL
            side = "source" if row["used_more_by"] == source else "reference"
            title = f"z (left: more in {row['other']})"
            strongest.append({**row, "zero": 0, "unsure": not sure, "side": side, "title": title})
    return strongest


def _marked_patterns(rows: Rows, result: Result) -> Rows:
    """Which patterns a source uses more or less, beyond chance."""
    marked: list[Row] = []
    for row in rows:
        sure = defined(row["p_corrected"]) and row["p_corrected"] < LEVEL
        marked.append({**row, "mark": ("▲" if row["log_odds"] > 0 else "▼") if sure else ""})
    return marked


def _both_sides(rows: Rows, count: int) -> Rows:
    more = [row for row in rows if row["used_more_by"] == row["source"]][: count // 2]
    return [*more, *[row for row in rows if row["used_more_by"] != row["source"]][: count // 4]]


_NUMBERS = (
    Column("rate", "per 1,000", "number", 3, also=Column("count", kind="count")),
    Column("other_rate", "of the other", "number", 3, also=Column("other_count", kind="count")),
    Column("texts", kind="count"),
    Column("log_ratio", "log ratio", "number", 2, signed=True),
    Column("z", kind="number", decimals=1, signed=True),
    Column("g2", "G2", "number", 1, signed=True),
    Column("p_independent", "p (G2)", "p", note="independent words"),
    Column("p_corrected", "p", "p", note="texts permuted"),
    Column("dp", "DP", "number", 2),
    Column("juilland_d", "D", "number", 2),
)
LAYOUT = (
    Table(
        "phrases",
        "Words and phrases that set a source apart",
        lambda rows, result: (*make_columns("pair=between used_more_by phrase"), *_NUMBERS),
        note="in 1,000 items of its length (count); windows of one phrase are one row",
        rows=lambda rows, result: [
            {**row, "pair": f"{row['source']} and {row['other']}"} for row in rows
        ],
        by="pair",
        limit=24,
        first=_both_sides,
    ),
    Table(
        "patterns",
        "Named patterns",
        (Column("pattern"),),
        note="per 1,000 words; more (▲) or less (▼) than on the other side, p < 0.05 by permuting "
        "texts",
        rows=_marked_patterns,
        pivot=Pivot("source", Column("rate", kind="number", decimals=3, mark="mark")),
        limit=40,
    ),
)
CHARTS = (
    Chart(
        "phrases",
        "Words and phrases that set a source apart",
        table="phrases",
        x="z",
        y="phrase",
        colour="side",
        colours={"source": "plain", "reference": "reference"},
        panel=("source",),
        ends=("zero", "z"),
        titles={"z": "title"},
        hollow="unsure",
        rows=_strongest,
        says="Right: phrases that the source uses more; left: those of the other side. Hollow "
        "points may be due to chance among so many.",
    ),
)


_REST = "all others"
_USUAL: Mapping[str, Mapping[str, Any]] = {
    "phrases": {"layer": "lower", "lengths": (1, 2, 3, 4), "top": 20},
    "patterns": {
        "layer": "upos",
        "lengths": (3, 4, 5, 6),
        "top": 10,
        "k": 4,
        "sentences": 5_000,
        "drop_incomplete": "none",
    },
}
"""Defaults that depend on what is compared."""
_ONLY = {"phrases": ("k", "sentences", "drop_incomplete"), "patterns": ("corpus", "patterns")}
"""Options that only the other takes."""


def _signed_patterns(file: Any) -> str | None:
    """The names and queries themselves may be many: a hash of them."""
    from hashlib import blake2b

    from rote.search.patterns import read_patterns

    if file is None:
        return None
    serialized = repr(sorted(read_patterns(file).items())).encode()
    return blake2b(serialized, digest_size=6).hexdigest()


@dataclass(frozen=True, slots=True)
class Options:
    of: Literal["phrases", "patterns"] = option(
        "phrases",
        "what is compared: words and phrases, or patterns of grammar",
        sign=lambda of: None if of == "phrases" else of,
        common=True,
    )
    layer: str = option(
        "",
        "layer whose items are counted: lower, lemma, word, pos, upos, dep; default: lower, of "
        "patterns upos",
    )
    lengths: tuple[int, ...] = option(
        (),
        "lengths of phrases, in items; default: 1,2,3,4, of patterns 3,4,5,6",
        least=1,
        most=LONGEST_NGRAM,
        common=True,
    )
    top: int = option(
        0,
        "number of phrases to list per source and side; 0: 20, of patterns 10 of each length",
        least=0,
        common=True,
    )
    function_words: bool = option(
        False, "also list punctuation, and phrases of only function words"
    )
    min_count: int = option(5, "minimum frequency of an item in all texts", least=2)
    min_texts: int = option(3, "minimum number of texts of its own side that contain it", least=1)
    corpus: str | None = corpus_option(
        "an index, or a file of texts, as the other side", needed=False
    )
    corpus_read: tuple[str, ...] = read_option("the corpus")
    patterns: str | None = option(
        None,
        "named patterns as well: a file (.json, .toml, or a phrase in each line), or known for "
        "those that come with rote",
        metavar="FILE",
        sign=_signed_patterns,
        opened=True,
        takes="table",
        common=True,
    )

    k: int | None = option(
        None,
        "of patterns: radius of a ball, the distance to this neighbour; default: 4",
        short="-k",
        least=1,
        most=10_000,
        sign=lambda k: k,
    )
    sentences: int | None = option(
        None,
        "of patterns: maximum number of sentences per source with a ball; default: 5000",
        least=1,
        most=1_000_000,
        sign=lambda sentences: sentences,
    )
    drop_incomplete: Drop | None = option(
        None,
        "of patterns: sentences to drop from a truncated text: its last, or first and last; "
        "default: none",
        sign=lambda drop: drop,
    )

    def __post_init__(self) -> None:
        check_options(self)
        for name, usual in _USUAL[self.of].items():
            if not getattr(self, name):
                object.__setattr__(self, name, usual)
        refused = [name for name in _ONLY[self.of] if getattr(self, name) is not None]
        if refused:
            flag = refused[0].replace("_", "-")
            raise OptionError(f"--{flag} is not for --of {self.of}: leave it out")


@dataclass(frozen=True, slots=True)
class Counted:
    """Items of all lengths, named patterns, and each source beside the other side."""

    layer: Layer
    items: Sequence[Items]
    patterns: Items | None
    groups: Mapping[str, Take]
    others: Mapping[str, Take | None]
    opposites: Mapping[str, str]
    contrasts: Mapping[str, SourceContrast] = field(default_factory=dict)
    pattern_contrasts: Mapping[str, SourceContrast] = field(default_factory=dict)


def values(options: Options) -> tuple[Value, ...]:
    title = "words in phrases that the source uses more"
    return (Value("key", title, "neither", "neither", share=True, relative=True),)


def needs(options: Options) -> tuple[Need, ...]:
    layers = [Need(options.layer)]
    if options.patterns is not None:
        from rote.search.patterns import layers_of, read_patterns

        layers += [Need(name) for name in layers_of(read_patterns(options.patterns))]
        layers.append(Need("word", spans=True))
    return tuple(dict.fromkeys(layers))


def check(options: Options, signature: str) -> None:
    if options.corpus is not None:
        check_reference_corpus(options.corpus, (options.layer,), signature, "corpus")


def rows(sample: Sample, options: Options, work: Work) -> Counted:
    layer = sample.layer(Need(options.layer))
    items = list(ngrams(layer, options.lengths, options.min_count, options.function_words))
    patterns = _patterns(sample, options)
    groups = dict(work.groups) or {"": np.arange(len(sample), dtype=np.int64)}
    others, pattern_names = _others(groups, work, options)
    corpus = _in_corpus(items, options, work) if options.corpus is not None else []
    by_source, found_patterns = {}, {}
    compared = [source for source in groups if pattern_names.get(source)]
    for done, source in enumerate(compared):
        ours, theirs = groups[source], others[source]
        purpose = f"keyness {source} {pattern_names[source]}"
        how: dict[str, Any] = {"permutations": 0, "permuted": None, "jobs": work.jobs}
        if theirs is not None:
            strata = work.strata if len(work.strata) else np.full(len(sample), -1, np.int64)
            permuted = exchanged(ours, theirs, work.ids, strata, work.seed, purpose)
            how |= {"permutations": work.permutations, "permuted": permuted}
        if any(len(counts.grams) for counts in items):
            by_source[source] = held_against(items, ours, theirs, corpus, **how)
        if patterns is not None and theirs is not None:
            found_patterns[source] = held_against([patterns], ours, theirs, (), **how)
        work.progress((done + 1) / len(compared))
    return Counted(layer, items, patterns, groups, others, pattern_names, by_source, found_patterns)


def _others(
    groups: Mapping[str, Take], work: Work, options: Options
) -> tuple[dict[str, Take | None], dict[str, str]]:
    """What each source is held against: texts, or nothing where it is a corpus; and its name."""
    others: dict[str, Take | None] = {}
    pattern_names: dict[str, str] = {}
    for source in groups:
        if options.corpus is not None:
            others[source], pattern_names[source] = None, reference_name(options.corpus)
        elif work.reference is not None and source != work.reference:
            others[source], pattern_names[source] = groups[work.reference], work.reference
        elif work.reference is None and len(groups) > 1:
            rest = {name: take for name, take in groups.items() if name != source}
            others[source] = np.sort(np.concatenate(list(rest.values())))
            pattern_names[source] = next(iter(rest)) if len(rest) == 1 else _REST
    return others, pattern_names


def _in_corpus(items: Sequence[Items], options: Options, work: Work) -> list[tuple[Integers, int]]:
    """Counts of all items in the index, and how many n-grams it holds of each length."""
    from rote.index.grams import Grams

    assert options.corpus is not None
    index = open_reference_index(options.corpus, (options.layer,), work.reporter)
    total, documents = index.items_held(options.layer), index.documents_held
    corpus_counts = []
    for items_of_length in items:
        counts = np.asarray(index.counts(Grams.of(items_of_length.grams), options.layer), np.int64)
        # As if no document were shorter than the n-gram.
        places = max(total - documents * (items_of_length.n - 1), int(counts.sum()))
        corpus_counts.append((counts, places))
    return corpus_counts


def _patterns(sample: Sample, options: Options) -> Items | None:
    if options.patterns is None:
        return None
    from rote.annotate.pieces import Recipe
    from rote.index.index import Index
    from rote.index.segments.writers import build_layer_segment
    from rote.search.patterns import layers_of, read_patterns

    by_name = read_patterns(options.patterns)
    names = layers_of(by_name)
    layers = {name: sample.layer(Need(name)) for name in names}
    all_layers = {"word": sample.layer(Need("word", spans=True)), **layers}
    segment = build_layer_segment(all_layers, sorted_layers=names)
    recipe = Recipe(annotators.DEFAULT, annotators.get().signature, names)
    return matched(Index([segment], recipe), by_name, sample.words)


def reduce(rows: Counted, take: Take, options: Options, rng: np.random.Generator) -> Values:
    source = grammar.source_of(rows.groups, take)
    if source not in rows.contrasts:
        return {"key": np.nan}
    contrast = rows.contrasts[source]
    p = contrast.p_independent if rows.others[source] is None else contrast.p
    key = (p < LEVEL) & (contrast.delta > 0)
    if np.isnan(p).all():
        return {"key": np.nan}
    ends = np.cumsum([len(counts.grams) for counts in rows.items])
    return {"key": covered(rows.layer, rows.items, np.split(key, ends[:-1]), take)}


def notes(rows: Counted, take: Take, options: Options) -> list[str]:
    source = grammar.source_of(rows.groups, take)
    if source not in rows.opposites and len(rows.groups) > 1:
        return ["this is the reference: nothing to compare"]
    if source not in rows.opposites:
        return ["nothing to compare with: name a --reference, a --corpus, or give several sources"]
    if source not in rows.contrasts:
        return [f"no item occurs {several(options.min_count, 'time')}"]
    lines = [f"compared with {rows.opposites[source]}"]
    contrast, others = rows.contrasts[source], rows.others[source]
    if others is None:
        lines.append("the texts of a corpus cannot be permuted: p assumes independent words")
    elif np.isnan(contrast.p).all():
        lines.append("no permutations, so no phrase is tested")
    else:
        lines += tested_texts_note(contrast.texts, len(take) + len(others))
    return lines


def tables(rows: Counted, comparison: Comparison, options: Options) -> Mapping[str, Sequence[Row]]:
    by_name: dict[str, list[Row]] = {"phrases": [], "patterns": []}
    for source, contrast in rows.contrasts.items():
        for more in (True, False):
            by_name["phrases"] += _phrase_rows(rows, source, contrast, more, options)
    for source, contrast in rows.pattern_contrasts.items():
        assert rows.patterns is not None
        for number, (name,) in enumerate(rows.patterns.grams):
            row = _row(rows, source, contrast, number, rows.patterns, number)
            by_name["patterns"].append({**row, "pattern": name})
    return {name: table_rows for name, table_rows in by_name.items() if table_rows}


def _phrase_rows(
    rows: Counted, source: str, contrast: SourceContrast, more: bool, options: Options
) -> list[Row]:
    grams = [gram for counts in rows.items for gram in counts.grams]
    side, theirs = rows.groups[source], rows.others[source]
    take = side if more else theirs
    allowed = contrast.tested & ((contrast.delta > 0) if more else (contrast.delta < 0))
    if take is not None:
        held_by = np.concatenate([counts.texts(take) for counts in rows.items])
        allowed &= held_by >= options.min_texts
    (numbers,) = np.nonzero(allowed)
    z, strength = contrast.z[numbers], contrast.strength[numbers]
    order = numbers[np.lexsort((numbers, -np.abs(z), -strength))]
    where = Where(rows.items, rows.layer, take)
    table: list[Row] = []
    for phrase in phrases(grams, where, order, options.top):
        length, gram = where.split(phrase.number)
        counts = rows.items[length]
        row = _row(rows, source, contrast, phrase.number, counts, gram)
        words = {"phrase": " ".join(phrase.words), "window": " ".join(grams[phrase.number])}
        table.append({**row, **words, "windows": phrase.windows, "n": counts.n})
    return table


def _row(
    rows: Counted, source: str, contrast: SourceContrast, number: int, counts: Items, gram: int
) -> dict[str, Any]:
    """All that is known of one item; p is corrected for the number of sources."""
    times = max(len(rows.contrasts), 1)
    ours, theirs = rows.groups[source], rows.others[source]
    more = bool(contrast.delta[number] > 0)
    side = ours if more or theirs is None else theirs
    a, b = int(contrast.ours[number]), int(contrast.theirs[number])
    size, other_size = (totals[number] for totals in contrast.totals)
    column = counts.column(gram)
    return {
        "source": source,
        "other": rows.opposites[source],
        "used_more_by": source if more else rows.opposites[source],
        "count": a,
        "other_count": b,
        "rate": 1000 * a / size if size else np.nan,
        "other_rate": 1000 * b / other_size if other_size else np.nan,
        "texts": int((column[ours] > 0).sum()),
        "other_texts": None if theirs is None else int((column[theirs] > 0).sum()),
        "log_odds": float(contrast.delta[number]),
        "z": float(contrast.z[number]),
        "g2": float(contrast.g2[number]),
        "log_ratio": float(contrast.log_ratio[number]),
        "p_independent": float(contrast.p_independent[number]),
        "p_corrected": float(np.minimum(1.0, times * contrast.p[number])),
        **spread(counts, gram, side),
    }


def method(s: Mapping[str, str]) -> str:
    content = "" if s["function_words"] == "True" else ", with a content word in each"
    return (
        f"Phrases that set a source apart are n-grams of {layer_words(s['layer'])} (n = "
        f"{s['lengths'].replace(',', ', ')}{content}), ranked by their log-odds ratio with "
        "an informative prior; p-values are family-wise, from texts permuted between the two sides"
    )


def _of_kind(phrases: Callable[..., Any], patterns: Callable[..., Any]) -> Callable[..., Any]:
    """Whichever of the two the options, one of the arguments, are about."""

    def chosen(*arguments: Any) -> Any:
        options = next(argument for argument in arguments if isinstance(argument, Options))
        return (patterns if options.of == "patterns" else phrases)(*arguments)

    return chosen


def _in_report(context: ReportContext) -> Sequence[Mapping[str, Any] | str]:
    if lacking := context.lacks("reference"):
        return [f"patterns of grammar: {lacking}", {}]
    return [{"of": "patterns", "sentences": context.sentences}, {}]


def _is_patterns(settings: Mapping[str, str]) -> bool:
    return settings.get("of") == "patterns"


METRIC = Metric(
    name="keyness",
    title="Keyness",
    values=_of_kind(values, grammar.values),
    needs=_of_kind(needs, grammar.needs),
    options=Options,
    rows=_of_kind(rows, grammar.rows),
    reduce=_of_kind(reduce, grammar.reduce),
    # What is key is known of whole sources alone.
    resample=lambda rows, take, options, rng: {},
    citation=(
        "Monroe, Colaresi and Quinn (2008), Fightin' Words; Dunning (1993), Accurate Methods for "
        "the Statistics of Surprise and Coincidence; Guo, Shang and Clavel (2025), Benchmarking "
        "Linguistic Diversity of Large Language Models, table 2"
    ),
    cited_with={"of": "Guo"},
    match=None,
    check=check,
    needs_reference=lambda options: grammar.NO_REFERENCE if options.of == "patterns" else "",
    notes=_of_kind(notes, grammar.notes),
    tables=_of_kind(tables, grammar.tables),
    permutations=199,
    tested=False,
    alone=True,
    inputs=False,
    layout=(*LAYOUT, *grammar.LAYOUT),
    charts=(*CHARTS, *grammar.CHARTS),
    heading=lambda s: "Favoured patterns" if _is_patterns(s) else "Keyness",
    says=lambda s: (
        "Patterns of grammar that set a source apart from the reference."
        if _is_patterns(s)
        else "Words and phrases that set a source apart."
    ),
    section="patterns",
    joins={"grammar": "templates"},
    place=35,
    method=lambda s: grammar.method(s) if _is_patterns(s) else method(s),
    report=_in_report,
)
