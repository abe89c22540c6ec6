"""Sentence structure, how varied: Weisfeiler-Lehman kernel over dependency trees.

The syntactic diversity of Guo, Shang and Clavel (2025): sentences as graphs of their words' parts
of speech and dependencies, k the normalized Weisfeiler-Lehman kernel of depth 2, and the mean of
1 - k over all pairs of sentences of a source. Pairs are never looked at: with unit vectors u the
mean of k is (|sum of u|^2 - n) / (n (n - 1)), exact and linear in n. Pairs within a text count too.

Direction: higher is more diverse. Length: the mean rises a little with the number of texts
(sentences of one text are more alike), and falls steeply as sentences get longer. So there is a
second value, with sentences weighted until all sources have the same lengths, and a table of the
value among those of about equal length.

Variants. `exact`: all sentences. `paper`: 3,000 sentences of each source, drawn at random.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np

from rote.annotate.trees import head_distances
from rote.compare.intervals import (
    clustered_error,
    left_out_error,
    mean_similarity,
    shares,
    similarity_without,
)
from rote.core.arrays import Flags, Floats, Integers
from rote.core.errors import MissingExtra, OptionError
from rote.core.layer import Layer
from rote.core.metric import (
    Comparison,
    Metric,
    Progress,
    Value,
    Values,
    Work,
    check_options,
    members,
    option,
    owners,
)
from rote.core.progress import several
from rote.core.record import Headline
from rote.core.sample import Cut, Need, Sample, Take
from rote.core.table import Table
from rote.measure._sentences import Drop, Sentences, complete_sentences, drawn, sentences_of
from rote.measure._tree_histograms import (
    BANDS,
    LENGTHS,
    EqualLengthSentences,
    Histograms,
    TextSums,
    bands_of,
    by_band,
    equal_lengths,
    histograms,
    square_of,
    text_sums,
)
from rote.run import Engine, Shared, get

PAPER_SENTENCES = 3_000
MATCHED = "mean distance of trees at equal sentence lengths"
WORD, UPOS, HEAD = Need("word", spans=True), Need("upos"), Need("head")
# What the weights of equal lengths leave of the sentences is said when it is not much.
_MUCH = 0.8
# Many groups are taken at once up to so many labels of texts and texts of groups: some 200 MB.
_TOGETHER = 10_000_000
# Fewer at once are not worth sorting the labels for.
_FEW_GROUPS = 8
_NO_CHANCE = np.random.default_rng(0)


@dataclass(frozen=True, slots=True)
class Options:
    variant: Literal["exact", "paper"] = option(
        "exact", "definition: all sentences, or 3,000 per source as in the paper"
    )
    sentences: int | None = option(
        None, "maximum number of sentences per source, drawn at random", least=2, most=1_000_000
    )
    drop_incomplete: Drop = option(
        "none", "sentences to drop from a truncated text: its last, or first and last"
    )
    depth: int = option(
        2, "depth of the kernel: steps around a word that its label describes", least=0, most=100
    )
    edit_distance: int = option(
        0,
        "sentences per source for the mean tree edit distance (slow)",
        least=0,
        most=10_000,
    )

    def __post_init__(self) -> None:
        check_options(self)
        if self.edit_distance == 1:
            problem = "edit_distance must be 0 or at least 2 sentences"
            raise OptionError(f"{problem}, not {self.edit_distance}")

    def signed(self) -> dict[str, Any]:
        return {"sentences": self.most}

    @property
    def most(self) -> int | None:
        """How many sentences of each source are used at most."""
        paper = self.variant == "paper" and self.sentences is None
        return PAPER_SENTENCES if paper else self.sentences


@dataclass(frozen=True, slots=True)
class Edits:
    """Edit distances of each source's sentences, and whose texts are whose."""

    blocks: tuple[Block, ...]
    block_of: Integers
    too_long: Integers
    """Sentences of each text that are too long to be drawn."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The sentences used, those of a text by their lengths; of every text: sums over its own, their
    words, how many were left out."""

    sentences: Sentences
    histograms: Histograms
    sums: TextSums
    equal_lengths: EqualLengthSentences
    words: Integers
    cut_off: Integers
    not_drawn: Integers
    edits: Edits | None
    sources: Sequence[Take]


def values(options: Options) -> tuple[Value, ...]:
    values = [
        Value("wl", "mean distance of dependency trees", "diverse", "texts", share=True),
        Value("wl_matched", MATCHED, "diverse", "texts", share=True, relative=True),
        Value("sentence_length", "mean sentence length in words", "neither", "neither"),
    ]
    if options.edit_distance:
        edits = "mean tree edit distance"
        values.append(Value("tree_edit", edits, "diverse", "neither", share=True))
    return tuple(values)


def needs(options: Options) -> tuple[Need, ...]:
    return (WORD, UPOS, HEAD)


def check(options: Options, signature: str) -> None:
    """The edit distance comes from another package."""
    if options.edit_distance:
        try:
            import apted  # noqa: F401
        except ImportError:
            raise MissingExtra("apted", "tree-edit", "the tree edit distance") from None


def rows(sample: Sample, options: Options, work: Work) -> Rows:
    word, texts = sample.layer(WORD), len(sample)
    everything = sentences_of(word)
    complete = everything.chosen(complete_sentences(word, everything, options.drop_incomplete))
    chosen = complete.chosen(drawn(complete, work, options.most))
    used = by_band(chosen)
    trees = histograms(sample.layer(UPOS), sample.layer(HEAD), used, options.depth)
    sums = text_sums(trees, used, texts)
    work.progress(0.1 if options.edit_distance else 1.0)
    return Rows(
        sentences=used,
        histograms=trees,
        sums=sums,
        equal_lengths=equal_lengths(trees, used, texts, work.sources(texts)),
        words=np.bincount(used.texts, used.lengths, texts).astype(np.int64),
        cut_off=_per_text(everything, texts) - _per_text(complete, texts),
        not_drawn=_per_text(complete, texts) - sums.counts,
        edits=_edits(sample, chosen, options, work) if options.edit_distance else None,
        sources=work.sources(texts),
    )


def sizes(rows: Rows, options: Options) -> Integers:
    return rows.sums.counts


def cut(rows: Rows, windows: Cut, options: Options) -> Rows:
    """Of as many sentences in a row from each text."""
    sentences, texts = rows.sentences, len(windows.texts)
    in_order = np.lexsort((sentences.starts, sentences.texts))
    firsts = np.searchsorted(sentences.texts, windows.texts) + windows.firsts
    numbers = np.sort(in_order[(firsts[:, None] + np.arange(windows.size)).ravel()])
    window = np.searchsorted(windows.texts, sentences.texts[numbers])
    chosen = Sentences(sentences.starts[numbers], sentences.ends[numbers], window)
    trees = rows.histograms.chosen(numbers)
    texts_of = (np.intersect1d(take, windows.texts) for take in rows.sources)
    sources = [np.searchsorted(windows.texts, of_source) for of_source in texts_of]
    return replace(
        rows,
        sentences=chosen,
        histograms=trees,
        sums=text_sums(trees, chosen, texts),
        equal_lengths=equal_lengths(trees, chosen, texts, sources),
        words=np.bincount(window, chosen.lengths, texts).astype(np.int64),
        edits=None,
        sources=sources,
    )


def reduce(rows: Rows, take: Take, options: Options, rng: np.random.Generator) -> Values:
    values = resample(rows, take, options, rng)
    if rows.edits is not None:
        block = _block(rows.edits, take)
        values["tree_edit"] = np.nan if block is None else block.mean_distance(take)
    return values


def resample(rows: Rows, take: Take, options: Options, rng: np.random.Generator) -> Values:
    """Without the edit distance: that of sentences of different sources is not computed."""
    count = int(rows.sums.counts[take].sum())
    return {
        "wl": 1 - mean_similarity(rows.sums.square(take), count),
        "wl_matched": rows.equal_lengths.diversity(take),
        "sentence_length": float(rows.words[take].sum() / count) if count else np.nan,
    }


def many(
    rows: Rows, takes: Sequence[Take], names: Collection[str], options: Options
) -> dict[str, Floats]:
    """`resample` of many groups: the labels of their texts are gone through once, or once for as
    many groups as fit in memory."""
    every, membership = members(takes)
    entries = rows.equal_lengths.entries(every)
    width = (_TOGETHER - entries) // (len(every) * BANDS) if len(every) else 0
    if width < min(_FEW_GROUPS, len(takes)):
        each = [resample(rows, take, options, _NO_CHANCE) for take in takes]
        wanted = [name for name in each[0] if name in names]
        return {name: np.array([values[name] for values in each]) for name in wanted}
    blocks = [
        _of_groups(rows, every, membership[:, first : first + width], names)
        for first in range(0, len(takes), width)
    ]
    return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}


def _of_groups(
    rows: Rows, every: Take, membership: Floats, names: Collection[str]
) -> dict[str, Floats]:
    counts = rows.sums.counts[every] @ membership
    words = rows.words[every] @ membership
    squares = partial(rows.sums.squares_of_groups, every, membership)
    columns: dict[str, Callable[[], Floats]] = {
        "wl": lambda: 1 - np.array(list(map(mean_similarity, squares().tolist(), counts.tolist()))),
        "wl_matched": lambda: rows.equal_lengths.diversities(every, membership),
        "sentence_length": lambda: shares(words, counts),
    }
    return {name: compute() for name, compute in columns.items() if name in names}


def standard_errors(rows: Rows, take: Take, options: Options) -> Values:
    sums = rows.sums
    counts = sums.counts[take].astype(np.float64)
    square, products = sums.square(take), sums.products(take)
    known = counts[counts > 0]
    words = rows.words[take][counts > 0]
    errors = {
        "wl": clustered_error(square, products, sums.squares[take], counts),
        "wl_matched": rows.equal_lengths.error(take),
        "sentence_length": left_out_error(shares(words.sum() - words, known.sum() - known)),
    }
    if rows.edits is not None:
        block = _block(rows.edits, take)
        errors["tree_edit"] = np.nan if block is None else block.error(take)
    return errors


def contributions(rows: Rows, take: Take, options: Options) -> Mapping[str, Floats]:
    """The similarity that is left without each text."""
    sums, counts = rows.sums, rows.sums.counts[take].astype(np.float64)
    return {
        "wl": similarity_without(
            sums.square(take), sums.products(take), sums.squares[take], counts
        ),
        "wl_matched": rows.equal_lengths.similarity_without(take),
        "sentence_length": shares(rows.words[take], counts),
    }


def per_text(rows: Rows, options: Options) -> Mapping[str, Floats]:
    """A text's diversity is that among its own sentences."""
    counts, squares = rows.sums.counts.tolist(), rows.sums.squares.tolist()
    lengths = shares(rows.words, rows.sums.counts)
    diversities = [1 - mean_similarity(square, count) for square, count in zip(squares, counts)]
    return {"wl": np.array(diversities, np.float64), "sentence_length": lengths}


def undefined(rows: Rows, options: Options) -> Mapping[str, Flags]:
    """Sentences are compared: a text of one has a part in every value but its own diversity."""
    none = rows.sums.counts + rows.not_drawn == 0
    return {value.name: none for value in values(options)}


def tables(rows: Rows, comparison: Comparison, options: Options) -> Mapping[str, Sequence[Any]]:
    """The diversity among sentences of about equal length, and how much they weigh when matched."""
    table = []
    bands, target = bands_of(rows.sentences), rows.equal_lengths.target.tolist()
    for source, take in comparison.groups.items():
        of_source = rows.sentences.of(take)
        for band, least in enumerate(LENGTHS):
            chosen = of_source[bands[of_source] == band]
            similarity = mean_similarity(square_of(rows.histograms, chosen), len(chosen))
            most = LENGTHS[band + 1] - 1 if band + 1 < len(LENGTHS) else None
            row = {"source": source, "from_words": least, "to_words": most}
            row |= {"sentences": len(chosen), "wl": 1 - similarity, "target": target[band]}
            table.append(row)
    return {"sentence_lengths": table}


def notes(rows: Rows, take: Take, options: Options) -> list[str]:
    count = int(rows.sums.counts[take].sum())
    cut_off, not_drawn = int(rows.cut_off[take].sum()), int(rows.not_drawn[take].sum())
    lines = []
    if not_drawn:
        lines.append(f"{several(count, 'sentence')} drawn at random from {count + not_drawn:,}")
    if cut_off:
        lines.append(f"left out: {several(cut_off, 'sentence')} of truncated texts")
    if count < 2:
        lines.append("fewer than two sentences: no pairs to compare")
    else:
        lines += _matched_notes(rows.equal_lengths, take)
    if rows.edits is not None:
        lines += _edit_notes(rows.edits, take)
    return lines


def _matched_notes(equal_lengths: EqualLengthSentences, take: Take) -> list[str]:
    """What the weights did to these sentences; nothing, if all count alike."""
    counts = equal_lengths.counts(take).sum(axis=0)
    common, count = int(counts[equal_lengths.target > 0].sum()), int(counts.sum())
    if equal_lengths.alone:
        return ["wl_matched: one source: nothing to match with"]
    if not equal_lengths.target.any():
        return ["wl_matched: the sources share no sentence length, so it is undefined"]
    if common < 2:
        few = several(common, "sentence")
        return [f"wl_matched: {few} of a length shared by all sources: undefined"]
    worth, lost = round(equal_lengths.effective(take)), (count - common) / count
    if worth > _MUCH * count and lost < 1 - _MUCH:
        return []
    weighted = f"weighted to equal lengths, {several(count, 'sentence')} are worth {worth:,}"
    lacking = f"; {lost:.0%} have lengths that some source lacks" if lost else ""
    return [f"wl_matched: {weighted}{lacking}"]


def _edit_notes(edits: Edits, take: Take) -> list[str]:
    block = _block(edits, take)
    count = 0 if block is None else int(np.isin(block.texts, take).sum())
    if count < 2:
        lines = ["tree_edit: fewer than two sentences were drawn, so it is undefined"]
    else:
        pairs = count * (count - 1) // 2
        lines = [f"tree_edit: {several(pairs, 'pair')} of {count:,} sentences; not tested"]
    too_long = int(edits.too_long[take].sum())
    if too_long:
        left_out = f"{several(too_long, 'sentence')} of more than {LONGEST} words"
        lines.append(f"tree_edit: {left_out} could not be drawn")
    return lines


def _edits(sample: Sample, used: Sentences, options: Options, work: Work) -> Edits:
    """The pairs of some sentences of each source; those between sources are left out."""
    texts = len(sample)
    short = used.chosen(used.lengths <= LONGEST)
    some = short.chosen(drawn(short, work, options.edit_distance))
    trees = trees_of(sample.layer(UPOS), sample.layer(HEAD), some)
    groups = work.sources(texts)
    numbers = [some.of(take) for take in groups]
    distances = blocks(
        [[trees[number] for number in of_source] for of_source in numbers],
        [some.texts[of_source] for of_source in numbers],
        get(work.engine, work.jobs),
        lambda share: work.progress(0.1 + 0.9 * share),
    )
    too_long = _per_text(used, texts) - _per_text(short, texts)
    return Edits(tuple(distances), owners(groups, texts), too_long)


def _block(edits: Edits, take: Take) -> Block | None:
    return edits.blocks[edits.block_of[take[0]]] if len(take) else None


def _per_text(sentences: Sentences, texts: int) -> Integers:
    return np.bincount(sentences.texts, minlength=texts).astype(np.int64)


_LAYOUT = (Table("sentence_lengths", "Sentences by length", limit=0, page=False),)


def method(s: Mapping[str, str]) -> str:
    return (
        "Syntactic diversity is the mean over pairs of sentences of 1 - k, with k the normalized "
        f"Weisfeiler-Lehman kernel (depth {s['depth']}) of their dependency trees with nodes "
        "labelled by universal part of speech; it is also given at equal lengths of sentences"
    )


LONGEST = 150
"""Words in a sentence; a pair of such sentences takes some seconds."""

Tree: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]
"""Labels of the words, and how far from each its head stands; 0 for none."""


@dataclass(frozen=True, slots=True)
class Block:
    """All pairs of some sentences of one source: 1 minus their distance, and whose they are."""

    texts: Integers
    likeness: Floats

    def mean_distance(self, take: Take) -> float:
        chosen = np.isin(self.texts, take)
        square = float(self.likeness[np.ix_(chosen, chosen)].sum())
        return 1 - mean_similarity(square, int(chosen.sum()))

    def error(self, take: Take) -> float:
        """Jackknife over texts."""
        chosen = np.isin(self.texts, take)
        likeness = self.likeness[np.ix_(chosen, chosen)]
        texts, owner = np.unique(self.texts[chosen], return_inverse=True)
        membership = np.zeros((len(texts), len(owner)))
        membership[owner, np.arange(len(owner))] = 1
        products = membership @ likeness.sum(axis=1)
        squares = np.einsum("ts,sr,tr->t", membership, likeness, membership, optimize=True)
        return clustered_error(float(likeness.sum()), products, squares, membership.sum(axis=1))


def trees_of(upos: Layer, head: Layer, sentences: Sentences) -> list[Tree]:
    away = head_distances(head)
    return [
        (tuple(upos.ids[start:end].tolist()), tuple(away[start:end].tolist()))
        for start, end in zip(sentences.starts.tolist(), sentences.ends.tolist())
    ]


def blocks(
    trees: Sequence[Sequence[Tree]], texts: Sequence[Integers], engine: Engine, tell: Progress
) -> list[Block]:
    """The pairs of each source's trees, on several processes."""
    everything = [tree for trees_of_source in trees for tree in trees_of_source]
    ends = np.cumsum([len(trees_of_source) for trees_of_source in trees]).tolist()
    rows = [
        (number, end)
        for trees_of_source, end in zip(trees, ends)
        for number in range(end - len(trees_of_source), end)
    ]
    work = partial(distances_from, engine.share(everything))
    distances = enumerate(engine.map(work, rows, doing="comparing trees"), 1)
    pairs = []
    for trees_of_source, owner in zip(trees, texts):
        likeness = np.eye(len(trees_of_source))
        for place in range(len(trees_of_source)):
            number, of_row = next(distances)
            likeness[place, place + 1 :] = 1 - np.array(of_row)
            tell(number / len(rows))
        pairs.append(Block(owner, np.triu(likeness, 1).T + likeness))
    return pairs


def distances_from(shared: Shared[Sequence[Tree]], row: tuple[int, int]) -> list[float]:
    """From tree number `row[0]` to each of those behind it and before `row[1]`."""
    from apted import APTED, Config

    trees, (number, end) = shared.value, row
    first, config = _nested_tree(trees[number]), Config()
    return [
        APTED(first, _nested_tree(second), config).compute_edit_distance()
        / (len(trees[number][0]) + len(second[0]))
        for second in trees[number + 1 : end]
    ]


def _nested_tree(tree: Tree) -> Any:
    from apted.helpers import Tree as Node

    labels, away = tree
    root, nodes = Node("root"), [Node(label) for label in labels]
    for place, node in enumerate(nodes):
        (nodes[place + away[place]] if away[place] else root).children.append(node)
    return root


METRIC = Metric(
    name="syntactic",
    title="Sentence structure",
    values=values,
    needs=needs,
    options=Options,
    rows=rows,
    reduce=reduce,
    resample=resample,
    many=many,
    citation=(
        "Guo, Shang and Clavel (2025), Benchmarking Linguistic Diversity of Large Language "
        "Models; Shervashidze, Schweitzer, van Leeuwen, Mehlhorn and Borgwardt (2011) for the "
        "kernel; Zhang and Shasha (1989) for the edit distance"
    ),
    match="sentences",
    sizes=sizes,
    cut=cut,
    standard_errors=standard_errors,
    per_text=per_text,
    contributions=contributions,
    undefined=undefined,
    notes=notes,
    tables=tables,
    check=check,
    layout=_LAYOUT,
    says="How different the dependency trees of sentences are.",
    section="diversity",
    place=20,
    panel=({},),
    main=("wl",),
    headlines=(
        Headline(
            "wl",
            "has more varied sentence structures",
            "has less varied sentence structures",
            equal="wl_matched",
        ),
    ),
    method=method,
    cited_with={"edit_distance": "edit distance"},
)
