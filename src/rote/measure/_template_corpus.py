"""`rote templates --corpus` and `--model`: templates in a corpus, beside as many random n-grams of
the same texts; which measured texts occur there themselves; how surprising templates are to models.

A text is taken to occur there if a document with its id has the same text, or if long runs of its
words, from its beginning, its middle and its end, all occur there: in one document, or in several,
since corpora are often cut at other places than the texts.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rote.compare.clusters import clustered_mean
from rote.compare.exact_tests import mann_whitney, signed_ranks
from rote.compare.intervals import mean, wilson
from rote.compare.resampling import generator
from rote.core.arrays import Flags, Floats, Integers
from rote.core.errors import OptionError
from rote.core.layer import Layer, derive, items_of
from rote.core.metric import Comparison
from rote.core.model import Continuation, Model, Scored
from rote.core.ngrams import ONCE
from rote.core.progress import Reporter
from rote.core.sample import RawText, Take
from rote.core.table import ends, estimate
from rote.index.factory import to_index
from rote.index.grams import Grams
from rote.index.index import Index
from rote.measure._template_rows import Options, Rows, templates_of
from rote.measure._template_windows import Chosen, Windows, spans
from rote.models.answers import score_all
from rote.models.options import how_to_run
from rote.search.open_models import open_models
from rote.search.reference_corpus import check_index, check_reference_corpus, name_indexes

Gram = tuple[str, ...]
# N-grams of one segment that are looked up in the others at a time.
_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True)
class Standing:
    """The n-grams of a corpus by their counts.

    `counts` ascend; `above[i]` n-grams have a larger count than `counts[i]`; `kinds` is how many
    different n-grams there are. `last` is the count and the items of the last n-gram that is
    among the most frequent; None where all are.
    """

    index: Index
    layer: str
    counts: Integers
    above: Integers
    kinds: int
    last: tuple[int, Gram] | None

    def of(self, grams: Sequence[Gram]) -> Integers:
        return self.index.counts(Grams.of(grams), self.layer)

    def ranks(self, counts: Integers) -> Integers:
        """1 + how many n-grams are more frequent; one that is absent comes after all present."""
        at = np.searchsorted(self.counts, counts)
        return 1 + np.where(counts > 0, np.append(self.above, 0)[at], self.kinds)

    def among(self, grams: Sequence[Gram], counts: Integers) -> Flags:
        """Whether each is among the most frequent; ties at the cut go by the order of items."""
        least, last = self.last or (0, ())
        tied = np.array([gram <= last for gram in grams], np.bool_)
        is_top: Flags = (counts > least) | ((counts == least) & tied)
        return is_top


def standing(index: Index, layer: str, n: int, most_frequent: int) -> Standing:
    tallied = count_of_counts(index, layer, n)
    counts = np.array(sorted(tallied), np.int64)
    kinds = np.array([tallied[count] for count in counts.tolist()], np.int64)
    total = int(kinds.sum())
    last = None
    if total > most_frequent:
        foremost = index.top(n, most_frequent, layer)
        last = int(foremost.counts[-1]), foremost.grams[len(foremost) - 1]
    return Standing(index, layer, counts, total - np.cumsum(kinds), total, last)


def count_of_counts(index: Index, layer: str, n: int) -> Counter[int]:
    """How many different n-grams have which count.

    An n-gram that several segments hold is counted in the first of them, with what the later
    ones add, so that no list of all n-grams of all segments is ever needed.
    """
    frequencies: Counter[int] = Counter()
    segments = [Index([segment]) for segment in index.segments]
    for number, segment in enumerate(segments):
        of_segment = segment.top(n, None, layer)
        rows = of_segment.grams.ids.reshape(-1, n)
        for start in range(0, len(of_segment), _AT_ONCE):
            totals = of_segment.counts[start : start + _AT_ONCE].copy()
            grams = Grams.of_rows(rows[start : start + _AT_ONCE], of_segment.grams.vocabulary)
            for earlier in segments[:number]:
                new = earlier.counts(grams, layer) == 0
                totals = totals[new]
                grams = Grams.of_rows(grams.ids.reshape(-1, n)[new], grams.vocabulary)
            for later in segments[number + 1 :]:
                totals += later.counts(grams, layer)
            values, kinds = np.unique(totals, return_counts=True)
            frequencies.update(dict(zip(values.tolist(), kinds.tolist())))
    return frequencies


# So many places are drawn for each n-gram that is wanted before all places are gone through.
_TRIES = 50


def draw_others(
    windows: Windows,
    layer: Layer,
    take: Take,
    templates: Chosen,
    rng: np.random.Generator,
    *,
    numbered: bool = False,
) -> Integers:
    """As many n-grams as there are templates, each by a place at which it stands.

    Places are drawn at random, so a frequent n-gram comes more easily; one that is a template
    or was drawn before does not count. There are fewer where the texts hold no more. `numbered`:
    every n-gram has a number, so that a place without one begins none.
    """
    lengths = np.maximum(layer.text_ends[take] - layer.text_starts[take] - windows.n + 1, 0)
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    used = set(templates.tolist())
    chosen: list[int] = []
    if not total or not len(templates):
        return np.empty(0, np.int64)

    def rounds() -> Iterator[Integers]:
        """First some with replacement, then every one once. What was drawn before counts no more,
        so the chances of what comes next are the same in both; the second is seldom needed."""
        yield rng.integers(0, total, _TRIES * len(templates))
        yield rng.permutation(total)

    for drawn in rounds():
        rank = np.searchsorted(ends, drawn, side="right")
        places = layer.text_starts[take][rank] + drawn - (ends - lengths)[rank]
        if numbered:
            places = places[windows.numbers[places] != ONCE]
        numbers = windows.numbers[places]
        # What stands once has no number; its place names it as well.
        names = np.where(numbers == ONCE, -2 - places, numbers)
        for place, name in zip(places.tolist(), names.tolist()):
            if len(chosen) == len(templates):
                return np.array(chosen, np.int64)
            if name not in used:
                used.add(name)
                chosen.append(place)
    return np.array(chosen, np.int64)


WORDS = "lower"
RUN = 13
"""Words of a run: so many hardly ever agree by chance."""
SHORTEST = 8
"""A text of fewer than RUN words is one run; with fewer than this, agreement says little."""
_RUNS = 3


def can_look_up(index: Index) -> bool:
    """Whether runs of words can be looked up, or ids alone."""
    return WORDS in index.sorted_layers


def texts_in_corpus(index: Index, word: Layer, raw: RawText, ids: Sequence[str]) -> dict[int, str]:
    """The numbers of the texts that occur in the corpus, and how that was seen."""
    by_text = _by_words(index, derive(word, WORDS)) if can_look_up(index) else {}
    for text, identity in enumerate(ids):
        content = raw.text(text)
        if content and any(
            segment.documents.text(number).encode("utf-8", "surrogatepass") == content
            for segment in index.segments
            if (number := segment.documents.find(identity)) is not None
        ):
            by_text[text] = "a document of the same id has the same text"
    return dict(sorted(by_text.items()))


def _by_words(index: Index, lower: Layer) -> dict[int, str]:
    """All runs of all texts are counted at once; documents are asked for where all are there."""
    runs, texts = _runs(lower)
    counts = index.counts(runs, WORDS)
    missing = np.unique(texts[counts == 0])
    by_text = {}
    for text in np.setdiff1d(texts, missing).tolist():
        mine = np.arange(*np.searchsorted(texts, [text, text + 1]))
        # The rarest run first: it leaves the fewest documents.
        documents: set[str] | None = None
        for run in mine[np.argsort(counts[mine], kind="stable")].tolist():
            holders = index.documents(runs[run], WORDS)
            documents = set(holders) if documents is None else documents & set(holders)
            if not documents:
                break
        by_text[text] = _why(len(mine), documents or set())
    return by_text


def _why(runs: int, documents: set[str]) -> str:
    where = "the corpus, though in no one document"
    if documents:
        more = f" (and in {len(documents) - 1:,} more)" if len(documents) > 1 else ""
        where = f"the document '{min(documents)}'{more}"
    if runs == 1:
        return f"all its words occur together in {where}"
    return f"runs of {RUN} words from its beginning, middle and end all occur in {where}"


def _runs(lower: Layer) -> tuple[Grams, Integers]:
    """The runs of each text, and whose they are; texts of too few words have none."""
    starts, lengths = lower.text_starts, lower.text_ends - lower.text_starts
    texts = np.flatnonzero(lengths >= SHORTEST)
    sizes = np.minimum(lengths[texts], RUN)
    room = lengths[texts] - sizes
    begins = starts[texts][:, None] + room[:, None] * np.arange(_RUNS) // (_RUNS - 1)
    # In a text of one run, or of little more, some are the same.
    new = np.ones(begins.shape, np.bool_)
    new[:, 1:] = begins[:, 1:] > begins[:, :-1]
    each = np.broadcast_to(sizes[:, None], begins.shape)[new]
    items, ends = items_of(begins[new], begins[new] + each)
    owners = np.broadcast_to(texts[:, None], begins.shape)[new]
    return Grams(lower.ids[items], ends, lower.vocabulary), owners


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
class _FoundGrams:
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
    corpora = check_corpora(options, signature=signature)
    return {name: to_index(index, "corpus", reporter) for name, index in corpora.items()}


def check_corpora(options: Options, *, signature: str) -> dict[str, Path | Index]:
    """The same without opening them: cheap enough to be asked before any text is read."""
    corpora: dict[str, Path | Index] = {}
    for name, index in name_indexes(options.corpus):
        if name in corpora:
            raise OptionError(
                f"two corpora are called '{name}': give each a unique name, as NAME={index}"
            )
        if isinstance(index, Path):
            check_index(index, [options.layer], signature)
        else:
            check_reference_corpus(index, [options.layer], signature)
        corpora[name] = index
    return corpora


def tables_of(
    corpora: Mapping[str, Index], rows: Rows, comparison: Comparison, options: Options
) -> Tables:
    names = ("coverage", "ranks", "rank_tests", "found_in_texts", "in_corpus")
    tables: Tables = {name: [] for name in names}
    by_name = dict(corpora)
    if len(corpora) > 1:
        # Counts over the segments of all are the sums, so an index of them all is the union.
        everything = [segment for index in corpora.values() for segment in index.segments]
        by_name[" + ".join(corpora)] = Index(everything, layers=(options.layer,))
    sources = _sources(rows, comparison, options)
    total = len(by_name) + len(corpora)
    with comparison.reporter.stage("templates: in the corpora", total) as advance:
        for name, index in by_name.items():
            corpus = standing(index, options.layer, options.n, MOST_FREQUENT)
            for source in sources:
                _look_up(name, corpus, source, rows, comparison, tables)
            advance(1)
        for name, index in corpora.items():
            tables["in_corpus"] += _in_corpus(name, index, rows, comparison)
            advance(1)
    return tables


def _sources(rows: Rows, comparison: Comparison, options: Options) -> list[_Source]:
    chosen = {name: templates_of(rows, take, options) for name, take in comparison.groups.items()}
    reference = comparison.reference
    sources = []
    for name, take in comparison.groups.items():
        rng = generator(comparison.seed, f"templates others {name}")
        # The package's n-grams stay within sentences, and all of them have numbers.
        is_package = options.variant == "package"
        places = draw_others(rows.windows, rows.layer, take, chosen[name], rng, numbered=is_package)
        grams = {
            TEMPLATES: rows.windows.grams(rows.layer, chosen[name]),
            OTHERS: [
                tuple(rows.layer.vocabulary[item] for item in row)
                for row in rows.layer.ids[places[:, None] + np.arange(options.n)].tolist()
            ],
        }
        if reference is not None and name != reference:
            grams[REFERENCE] = rows.windows.grams(rows.layer, chosen[reference])
        sources.append(_Source(name, take, chosen[name], grams))
    return sources


def _look_up(
    name: str, corpus: Standing, source: _Source, rows: Rows, comparison: Comparison, tables: Tables
) -> None:
    """Add one source's rows for one corpus."""
    by_kind = {}
    for kind, grams in source.grams.items():
        counts = corpus.of(grams)
        among = corpus.among(grams, counts)
        by_kind[kind] = _FoundGrams(grams, counts, corpus.ranks(counts), among)
    head = {"corpus": name, "source": source.name}
    level = comparison.level
    tables["coverage"] += [{**head, "kind": k, **_shares(f, level)} for k, f in by_kind.items()]
    tables["ranks"] += [
        {**head, "kind": kind, "n_gram": " ".join(gram), "count": count, "rank": rank}
        for kind in (TEMPLATES, OTHERS)
        for gram, count, rank in zip(
            by_kind[kind].grams, by_kind[kind].counts.tolist(), by_kind[kind].ranks.tolist()
        )
    ]
    tables["rank_tests"].append({**head, **_test(by_kind[TEMPLATES], by_kind[OTHERS])})
    text_shares, known = _in_texts(rows, source, by_kind[TEMPLATES].counts > 0)
    tables["found_in_texts"] += [
        {
            **head,
            "id": comparison.ids[text],
            "templates": templates,
            "found": in_corpus,
            "share": in_corpus / templates if templates else math.nan,
        }
        for text, templates, in_corpus in zip(source.take.tolist(), text_shares, known)
    ]


def _in_texts(rows: Rows, source: _Source, there: Flags) -> tuple[list[int], list[int]]:
    """How many different templates each text holds, and how many of them are in the corpus."""
    places, which = rows.windows.places(rows.layer, source.take, source.templates)
    texts = np.searchsorted(rows.layer.text_ends, places, side="right")
    kinds = max(1, len(source.templates))
    pairs = np.unique(texts * kinds + which)
    texts, which = pairs // kinds, pairs % kinds
    total = len(rows.layer)
    every = np.bincount(texts, minlength=total)
    known = np.bincount(texts[there[which]], minlength=total)
    return every[source.take].tolist(), known[source.take].tolist()


def _shares(counts: _FoundGrams, level: float) -> dict[str, Any]:
    total, there, among = len(counts.grams), int((counts.counts > 0).sum()), int(counts.among.sum())
    share, there_share = (count / total if total else math.nan for count in (among, there))
    return {
        "n_grams": total,
        **estimate("among_frequent", share, wilson(among, total, level), ends("among")),
        **estimate("found", there_share, wilson(there, total, level), ("low", "high")),
    }


def _test(templates: _FoundGrams, others: _FoundGrams) -> dict[str, Any]:
    ours, theirs = templates.ranks, others.ranks
    u, p = mann_whitney(ours, theirs)
    median, median_others = (float(np.median(r)) if len(r) else math.nan for r in (ours, theirs))
    counts = {"n_grams": len(ours), "others": len(theirs)}
    return {**counts, "median": median, "median_others": median_others, "u": u, "p": p}


def _in_corpus(name: str, index: Index, rows: Rows, comparison: Comparison) -> Table:
    """Which texts occur in the corpus; how many is said, since it explains what is found."""
    if not can_look_up(index):
        comparison.reporter.say(
            f"{name}: without a sorted layer '{WORDS}', texts that occur in the corpus are "
            f"recognized only by their ids; `rote index add-layer {index.path or 'IDX'} {WORDS}`"
        )
    why = texts_in_corpus(index, rows.word, rows.raw, comparison.ids)
    table = [
        {"corpus": name, "source": source, **comparison.named(text), "why": why[text]}
        for source, take in comparison.groups.items()
        for text in take.tolist()
        if text in why
    ]
    if table:
        total = sum(map(len, comparison.groups.values()))
        comparison.reporter.say(
            f"{name}: {len(table):,} of {total:,} measured texts occur in this corpus, so their "
            "templates are found there"
        )
    return table


# How surprising templates are to language models, against other stretches of the same texts.
#
# Figure 3 of Shaib et al. (2024): for every occurrence of a template H is the mean number of bits
# of its tokens; 2 ** H is averaged over the occurrences in a text, then over texts (their equation
# 4). The same for as many random stretches of equal length that are no template. Several
# checkpoints of one model show when templates are learned.

TEMPLATE, OTHER = "template", "other"


@dataclass(frozen=True, slots=True)
class Stretches:
    """Stretches of one text, of templates and others, in character offsets."""

    text: str
    cluster: int
    """Texts with the same number belong together."""
    by_kind: Mapping[str, list[tuple[int, int]]]


def perplexity_table(rows: Rows, comparison: Comparison, options: Options) -> list[dict[str, Any]]:
    """`perplexity`: one row for each source, model and kind of stretch."""
    models = open_models(options.model, how_to_run(options), comparison.reporter)
    sources = comparison.groups
    stretches = {name: list(_stretches(rows, name, comparison, options)) for name in sources}
    return [
        row
        for name, model in models.items()
        for source, of_source in stretches.items()
        for row in _rows(source, name, model, of_source, comparison, options)
    ]


def _stretches(
    rows: Rows, source: str, comparison: Comparison, options: Options
) -> Iterator[Stretches]:
    """The texts that hold a template, and where; for each template another stretch, if there is."""
    take, random = comparison.groups[source], np.random.default_rng(comparison.seed)
    chosen = templates_of(rows, take, options)
    windows, layer = rows.windows, rows.layer
    for number, cluster in zip(take.tolist(), comparison.together(source).tolist()):
        places, _ = windows.places(layer, np.array([number]), chosen)
        if not len(places):
            continue
        text = layer.slice(number)
        free = np.arange(text.start, max(text.start, text.stop - windows.n + 1))
        if options.by_sentence:
            free = free[windows.numbers[free] != ONCE]
        free = free[~np.isin(windows.numbers[free], chosen)]  # windows that are no template
        drawn = np.sort(random.choice(free, min(len(free), len(places)), replace=False))
        by_kind = {
            kind: list(zip(*(column.tolist() for column in spans(layer, at, windows.n))))
            for kind, at in ((TEMPLATE, places), (OTHER, drawn))
        }
        yield Stretches(rows.raw.string(number), cluster, by_kind)


def _rows(
    source: str,
    name: str,
    model: Model,
    stretches: Sequence[Stretches],
    comparison: Comparison,
    options: Options,
) -> Iterator[dict[str, Any]]:
    title = f"templates: {name}"
    reporter, in_text = comparison.reporter, options.context == "text"
    bits = _bits(model, stretches, in_text, reporter, title)
    # Per text: the mean of 2 ** H over its stretches.
    means = {kind: np.array([_mean(2**text_bits) for text_bits in bits[kind]]) for kind in bits}
    # Logarithms are compared, since a few rare words would decide about means.
    logs = {kind: np.array([_mean(text_bits) for text_bits in bits[kind]]) for kind in bits}
    together = np.array([stretch.cluster for stretch in stretches], np.int64)
    test = signed_ranks(logs[OTHER], logs[TEMPLATE], together)
    for kind, values in means.items():
        overall = clustered_mean(values, together)
        low, high = overall.interval(comparison.level)
        yield {
            "source": source,
            "model": name,
            "kind": kind,
            "perplexity": overall.value,
            "low": low,
            "high": high,
            "bits": mean(logs[kind]),
            "texts": int((~np.isnan(values)).sum()),
            "spans": sum(map(len, bits[kind])),
            "p": test.p,
            "signature": model.signature,
        }


def _bits(
    model: Model, stretches: Sequence[Stretches], in_text: bool, reporter: Reporter, title: str
) -> dict[str, list[Floats]]:
    """For each kind and text the bits per token of every stretch."""
    kinds = (TEMPLATE, OTHER)
    spans = [(s, span) for kind in kinds for s in stretches for span in s.by_kind[kind]]
    full_texts = [stretch.text for stretch in stretches]
    texts = full_texts if in_text else [stretch.text[a:b] for stretch, (a, b) in spans]
    questions = [Continuation("", text) for text in texts]
    scored = score_all(model, questions, reporter, title=title)
    if in_text:
        answers = {id(stretch): answer for stretch, answer in zip(stretches, scored)}
        bits = iter([within(answers[id(stretch)], *span) for stretch, span in spans])
    else:
        bits = iter([_mean_bits(answer.logprobs) for answer in scored])
    return {
        kind: [np.array([next(bits) for _ in stretch.by_kind[kind]]) for stretch in stretches]
        for kind in kinds
    }


def within(scored: Scored, start: int, end: int) -> float:
    """The mean bits of the tokens that occur in these characters; a token that only reaches into
    them counts too."""
    return _mean_bits(scored.logprobs[(scored.ends > start) & (scored.starts < end)])


def _mean_bits(logprobs: Floats) -> float:
    return -_mean(logprobs) / math.log(2)


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else math.nan
