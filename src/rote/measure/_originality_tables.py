"""What decides each sentence, whose it is, and what is known of the ground truth itself. Of many
sentences some are drawn and listed with all that decides them.

BLEU (Papineni et al. 2002, n = 1 to 4) is against the whole ground truth: an n-gram counts as often
as some one sentence there holds it, and the reference length is the nearest of all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rote.compare.clusters import share_error
from rote.compare.intervals import interval_from_error, shares
from rote.core.arrays import Flags, Floats, Integers
from rote.core.layer import Layer
from rote.core.metric import Comparison, Work
from rote.core.result import Row
from rote.core.sample import RawText
from rote.core.table import Column, Pivot, Table, estimate, make_columns
from rote.index.grams import Grams
from rote.measure._sentences import Sentences, drawn

if TYPE_CHECKING:
    from rote.search.originality.edges import Rule
    from rote.search.originality.reach import GroundTruth
    from rote.search.originality.suffix_blocks import SourcedSegment
    from rote.search.originality.verdicts import FragmentSpans, HeldOut, SentenceVerdicts


# A fragment of up to K sources is cited with all of them, but no more than these.
_CITED = 5
_AROUND = 60
# Up to so many words of cited fragments the share of failing sentences is given.
_LONGEST_COUNTED = 8


@dataclass(frozen=True, slots=True)
class Rows:
    """The verdict on every sentence, sums per text, and what the tables read from.

    `sums` has one row per text, sums over its sentences: how many, original ones, failing ones,
    those that hold fragments, of these the share of original fragments and of cited ones; words,
    bits; then BLEU's found (4), total (4), nearest length.
    """

    layer: Layer
    raw: RawText
    sentences: Sentences
    sums: Floats
    verdicts: SentenceVerdicts | None = None
    ground: GroundTruth | None = None
    rule: Rule = "tags"


def all_tables(rows: Rows, comparison: Comparison, options: Any) -> dict[str, Sequence[Row]]:
    """`counts`, `sentences`, `citations`, `lengths`, those of the ground truth, `verdicts`."""
    from rote.search.originality.verdicts import judge_held_out

    assert rows.ground is not None
    assert rows.verdicts is not None
    wanted = np.full(len(rows.sentences), options.verdicts)
    every = [row for _, row in _numbered(rows, comparison, wanted)]
    # Words of the longest fragment of each sentence that needs a citation; 0 if none does.
    longest = np.zeros(len(rows.sentences), np.int64)
    cited = rows.verdicts.longest
    sentence = np.searchsorted(rows.sentences.ends, cited.starts, side="right")
    np.maximum.at(longest, sentence, cited.ends - cited.starts)
    listed = _choose_listed(rows, longest, comparison, options.top)
    exact, flagged = options.variant == "exact", None
    if exact:
        limits = {"relax": options.relax, "min_words": options.min_words}
        flagged = judge_held_out(rows.ground, rows.rule, **limits, chance=options.chance)
    return {
        "counts": _counts(rows, rows.verdicts, comparison, listed, flagged),
        **_fragments(rows, rows.verdicts, comparison, listed),
        "lengths": _lengths(rows, longest, comparison, options.min_words if exact else 2),
        **ground_tables(rows.ground, comparison, options, flagged),
        **({"verdicts": every} if options.verdicts else {}),
    }


def _choose_listed(rows: Rows, longest: Integers, comparison: Comparison, count: int) -> Flags:
    """So many failing sentences of each source, the longest cited fragments first, and as many
    others; what is drawn of those that are alike does not depend on the order of texts."""
    listed = np.zeros(len(rows.sentences), np.bool_)
    for source, take in comparison.groups.items():
        work = Work(groups={source: take}, ids=comparison.ids, seed=comparison.seed)
        is_listed = np.zeros(len(rows.sentences), np.bool_)
        is_listed[rows.sentences.of(take)] = True
        remaining = count
        for words in np.unique(longest[is_listed & (longest > 0)])[::-1]:
            alike = is_listed & (longest == words)
            listed |= _drawn(rows, alike, work, remaining)
            remaining = max(0, remaining - int(alike.sum()))
        listed |= _drawn(rows, is_listed & (longest == 0), work, count)
    return listed


def _drawn(rows: Rows, among: Flags, work: Work, count: int) -> Flags:
    is_drawn = np.zeros(len(among), np.bool_)
    is_drawn[np.flatnonzero(among)] = drawn(rows.sentences.chosen(among), work, count)
    return is_drawn


def _counts(
    rows: Rows,
    verdicts: SentenceVerdicts,
    comparison: Comparison,
    listed: Flags,
    flagged: HeldOut | None,
) -> list[Row]:
    """How many sentences each source has, how they were judged, how many are listed, and how many
    chance would flag in texts of that length."""
    kinds = {
        "original": verdicts.original,
        "failing": verdicts.fails,
        "without_fragment": verdicts.fragments == 0,
        "listed": listed,
    }
    table: list[Row] = []
    for source, take in comparison.groups.items():
        of_source = rows.sentences.of(take)
        row = {"source": source, "sentences": len(of_source)}
        row |= {kind: int(holds[of_source].sum()) for kind, holds in kinds.items()}
        words = int(rows.sentences.lengths[of_source].sum())
        chance = flagged.expected(words) if flagged and flagged.words else None
        table.append({**row, "failing_by_chance": chance})
    return table


def _numbered(
    rows: Rows, comparison: Comparison, wanted: Flags
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The verdict on each of the wanted sentences, source by source, with its number among all."""
    assert rows.verdicts is not None
    every, layer = rows.sentences, rows.layer
    original, fails = rows.verdicts.original, rows.verdicts.fails
    place, text = -1, ""
    for source, take in comparison.groups.items():
        of_source = every.of(take)
        for number in of_source[wanted[of_source]].tolist():
            if every.texts[number] != place:
                place = int(every.texts[number])
                text = rows.raw.string(place)
                first = int(np.searchsorted(every.texts, place))
            start = int(layer.starts[every.starts[number]])
            end = int(layer.ends[every.ends[number] - 1])
            row = {"source": source, **comparison.named(place), "sentence": number - first + 1}
            row |= {"start": start, "end": end, "text": text[start:end]}
            yield number, {**row, "original": bool(original[number]), "fails": bool(fails[number])}


def _fragments(
    rows: Rows, verdicts: SentenceVerdicts, comparison: Comparison, listed: Flags
) -> dict[str, Sequence[Row]]:
    """The listed sentences with the fragments that decide, and each place that has to be cited."""
    from rote.search.originality.verdicts import find_citations

    assert rows.ground is not None
    ends, counted = rows.sentences.ends, verdicts.fragments
    originals = _by_sentence(_within(verdicts.shortest, ends, listed), ends)
    cited = _within(verdicts.longest, ends, listed)
    own_cited = _by_sentence(cited, ends)
    places = find_citations(rows.ground, rows.layer, cited, limit=_CITED)
    sentences: list[Row] = []
    evidence: list[Row] = []
    names = ("source", "id", "file", "sentence")
    for number, row in _numbered(rows, comparison, listed):
        original, owed = (
            [(fragment, _span(rows, row, *span)) for fragment, *span in spans.get(number, ())]
            for spans in (originals, own_cited)
        )
        deciding = {"original_fragments": original, "cited_fragments": owed}
        by_kind = {kind: [span for _, span in spans] for kind, spans in deciding.items()}
        sentences.append({**row, "fragments": int(counted[number]), **by_kind})
        head = {name: row[name] for name in names if name in row}
        for fragment, span in owed:
            for place in places[fragment]:
                context = rows.ground.index.context(place, _AROUND)
                evidence.append(
                    {
                        **head,
                        **span,
                        "document": place.document,
                        "author": place.author,
                        "document_start": place.start,
                        "document_end": place.end,
                        "before": context.before,
                        "match": context.match,
                        "after": context.after,
                    }
                )
    return {"sentences": sentences, "citations": evidence}


def _within(spans: FragmentSpans, ends: Integers, listed: Flags) -> FragmentSpans:
    from rote.search.originality.verdicts import FragmentSpans

    is_inside = listed[np.searchsorted(ends, spans.starts, side="right")]
    return FragmentSpans(spans.starts[is_inside], spans.ends[is_inside])


def _by_sentence(spans: FragmentSpans, ends: Integers) -> dict[int, list[tuple[int, int, int]]]:
    """For each sentence its fragments: number, first item, item behind the last."""
    by_sentence: dict[int, list[tuple[int, int, int]]] = {}
    sentence = np.searchsorted(ends, spans.starts, side="right").tolist()
    ranges = zip(sentence, spans.starts.tolist(), spans.ends.tolist())
    for fragment, (number, start, end) in enumerate(ranges):
        by_sentence.setdefault(number, []).append((fragment, start, end))
    return by_sentence


def _span(rows: Rows, row: Row, first: int, last: int) -> dict[str, Any]:
    """A fragment's characters in its text, and what they read."""
    start, end = int(rows.layer.starts[first]), int(rows.layer.ends[last - 1])
    read = row["text"][start - row["start"] : end - row["start"]]
    return {"start": start, "end": end, "words": last - first, "fragment": read}


def _lengths(rows: Rows, longest: Integers, comparison: Comparison, least: int) -> list[Row]:
    """What would fail if only fragments of so many words and more were anybody's own.

    Two words that one source alone has are often chance, five hardly ever.
    """
    return [
        {"source": source, "words": words, **_share(rows, source, longest >= words, comparison)}
        for source in comparison.groups
        for words in range(least, max(least, _LONGEST_COUNTED) + 1)
    ]


def _share(rows: Rows, source: str, holds: Flags, comparison: Comparison) -> dict[str, float]:
    """The share of a source's sentences, and its interval by leaving out each text."""
    take, together = comparison.groups[source], comparison.together(source)
    texts = len(rows.layer)
    counts = np.bincount(rows.sentences.texts, minlength=texts)[take]
    having = np.bincount(rows.sentences.texts[holds], minlength=texts)[take]
    share = float(shares(having.sum(), counts.sum()))
    error, known = share_error(having, counts, together), len(np.unique(together[counts > 0]))
    interval = interval_from_error(share, error, comparison.level, known, share=True)
    return estimate("failing", share, interval, ("low", "high"))


_LONGEST_SHOWN = 12


def ground_tables(
    ground: GroundTruth, comparison: Comparison, options: Any, flagged: HeldOut | None
) -> dict[str, Sequence[Row]]:
    """`ground_truth`, `merged_authors`, and `incompleteness` if asked for."""
    from rote.search.originality.edges import rule_for

    sources, authors = ground.sources, ground.sources.authors
    by_name: dict[str, Sequence[Row]] = {
        "ground_truth": [
            {
                "documents": ground.index.documents_held,
                "words": ground.index.items_held(options.layer),
                "sources": sources.count,
                "authors": len(authors.names),
                "documents_without_author": sources.unknown,
                "edges": rule_for(ground.index),
                "held_out_sentences": flagged.sentences if flagged else None,
                "held_out_failing": flagged.failing if flagged else None,
            }
        ],
        "merged_authors": [
            *(
                {
                    "author": name,
                    "spellings": list(spellings),
                    "guessed": [each for each in spellings if each in authors.guessed],
                    "could_be": [],
                }
                for name, spellings in authors.merged.items()
            ),
            *(
                {"author": None, "spellings": [name], "guessed": [], "could_be": list(names)}
                for name, names in authors.ambiguous.items()
            ),
        ],
    }
    if options.incompleteness:
        by_name["incompleteness"] = _incompleteness(ground, comparison, options)
    return by_name


def _incompleteness(ground: GroundTruth, comparison: Comparison, options: Any) -> list[Row]:
    """Good and Turing's estimate, by length: the share of fragments to come that is not yet held.

    Of all occurrences of fragments, those that stand once; a ground truth in which nothing is
    repeated says that nearly everything is still missing. The last row is about all lengths.
    """
    from rote.search.originality.originals import find_originals

    how = {"relax": options.relax, "sources": ground.sources, "reporter": comparison.reporter}
    originals = find_originals(ground.index, options.layer, **how)
    return [
        {"length": row.length or None}
        | {name: getattr(row, name) for name in ("fragments", "occurrences", "once")}
        | {"unseen": row.once / row.occurrences if row.occurrences else None}
        | {"original": row.original}
        for row in (*originals.by_length, originals.total)
        if row.length <= _LONGEST_SHOWN
    ]


LAYOUT = (
    Table(
        "counts",
        "Sentences that need a citation",
        (
            *make_columns("source sentences:count failing=need_a_citation:count"),
            Column("failing_by_chance", "by chance", kind="number", decimals=1, optional=True),
        ),
        note="By chance: the number of sentences that would be flagged in any text of this "
        "length, measured on the ground truth's own sentences against all other sources. Texts of "
        "another genre share less with it: for them this is an upper bound.",
        by="source",
    ),
    Table(
        "lengths",
        "Failing sentences",
        (Column("source"),),
        note="The share of failing sentences by minimum fragment length in words.",
        by="source",
        pivot=Pivot(
            "words",
            Column("failing", kind="share", ends=("low", "high"), note="words"),
            lambda row: f"{row['words']}+",
        ),
    ),
    Table(
        "citations",
        "Fragments that need a citation",
        make_columns("source id=text words:count fragment:text document author?"),
        rows=lambda rows, result: sorted(rows, key=lambda row: -(row.get("words") or 0)),
        by="source",
        # The terminal shows them in their sentences.
        limit=0,
    ),
)


LONGEST = 4
# Places of an n-gram that are looked at before it is asked whether that was enough.
_AT_ONCE = 1 << 16


@dataclass(frozen=True, slots=True)
class SentenceMatches:
    """For every sentence: n-grams found and n-grams in all (columns n = 1 to 4), and lengths."""

    matched: Integers
    total: Integers
    lengths: Integers
    nearest: Floats


def match_sentences(ground: GroundTruth, text: Layer, known: NDArray[np.int32]) -> SentenceMatches:
    """Count for every sentence of a text; `known` as `GroundTruth.reach` gives it."""
    ends = text.sentence_ends
    assert ends is not None  # `reach` has asked
    lengths = np.diff(ends, prepend=0).astype(np.int64)
    sentence = np.repeat(np.arange(len(ends)), lengths)
    rests = np.repeat(ends, lengths) - np.arange(len(text.ids))
    counts = np.zeros((len(ends), LONGEST), np.int64)
    total = np.maximum(lengths[:, None] - np.arange(LONGEST), 0)
    key = np.zeros(len(text.ids), np.int64)
    for n in range(1, LONGEST + 1):
        # n-grams by number, each length made from the one before: (n-1)-gram, then the last item.
        here = np.flatnonzero(rests >= n)
        grown = key[here] * len(text.vocabulary) + text.ids[here + n - 1]
        kinds, renumbered = np.unique(grown, return_inverse=True)
        key[here] = renumbered
        is_known = _single(ground, text)[text.ids[here]] if n == 1 else known[here] >= n
        # One row for each different n-gram of a sentence.
        _, first, times = np.unique(
            sentence[here] * max(1, len(kinds)) + renumbered, return_index=True, return_counts=True
        )
        counted = np.where(is_known[first], times, 0)
        again = np.flatnonzero(counted > 1)
        counted[again] = _clipped(ground, text, here[first[again]], n, counted[again])
        np.add.at(counts[:, n - 1], sentence[here][first], counted)
    return SentenceMatches(counts, total, lengths, _nearest(reference_lengths(ground), lengths))


def bleu(counts: Floats, total: Floats, length: Floats, nearest: Floats) -> Floats:
    """BLEU from sums over sentences, the last axis of the first two being n; no smoothing."""
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = np.where(total > 0, counts / total, np.nan)
        brevity = np.minimum(0.0, 1 - nearest / length)
        return np.asarray(np.exp(brevity + np.log(precision).mean(axis=-1)), np.float64)


def reference_lengths(ground: GroundTruth) -> Integers:
    """The lengths that sentences of the ground truth have, each once."""
    lengths = [np.zeros(0, np.int64)]
    for segment in ground.segments:
        rests = segment.rests()
        # A sentence begins behind an end: of a sentence, of a document, or of nothing.
        begins = (rests > 0) & (np.append(0, rests[:-1])[: len(rests)] <= 1)
        lengths.append(np.unique(rests[begins]).astype(np.int64))
    return np.unique(np.concatenate(lengths))


def _nearest(known: Integers, lengths: Integers) -> Floats:
    """The known length nearest to each, of two equally near ones the shorter; nan if none is."""
    if not len(known):
        return np.full(len(lengths), np.nan)
    above = np.searchsorted(known, lengths)
    right = known[np.minimum(above, len(known) - 1)]
    below = known[np.maximum(above - 1, 0)]
    nearer = np.abs(right - lengths) < np.abs(lengths - below)
    return np.where(nearer, right, below).astype(np.float64)


def _single(ground: GroundTruth, text: Layer) -> Flags:
    """Of each entry of the vocabulary whether the ground truth has the word."""
    is_known = np.zeros(len(text.vocabulary), np.bool_)
    for lookup in ground.lookups:
        is_known |= lookup.column.vocabulary.numbers(text.vocabulary) > 0
    return is_known


def _clipped(
    ground: GroundTruth, text: Layer, places: Integers, n: int, times: Integers
) -> Integers:
    """How often the n-gram at each place may count: as often as one sentence holds it."""
    from rote.index.counts.lookup import find_ranges

    if not len(places):
        return times
    rows = text.ids[places[:, None] + np.arange(n)]
    grams, which = np.unique(rows, axis=0, return_inverse=True)
    which = which.reshape(-1)
    wanted, most = np.zeros(len(grams), np.int64), np.zeros(len(grams), np.int64)
    np.maximum.at(wanted, which, times)
    # The words of these n-grams alone: few of the text's occur in a sentence twice.
    used, ids = np.unique(grams, return_inverse=True)
    sought = Grams.of_rows(
        ids.reshape(len(grams), n).astype(np.int32), [text.vocabulary[i] for i in used.tolist()]
    )
    for lookup, segment in zip(ground.lookups, ground.segments):
        low, high = find_ranges(lookup, sought)
        for gram in np.flatnonzero(high > low).tolist():
            ranks = range(int(low[gram]), int(high[gram]))
            here = _most_in_one_sentence(segment, ranks, n, int(wanted[gram]))
            most[gram] = max(most[gram], here)
    return np.minimum(times, most[which])


def _most_in_one_sentence(segment: SourcedSegment, ranks: range, n: int, wanted: int) -> int:
    """How often one sentence holds an n-gram, given the suffixes that begin with it.

    No more than `wanted` is looked for.
    """
    ends, most = np.zeros(0, np.int64), 0
    for start in range(ranks.start, ranks.stop, _AT_ONCE):
        stop = min(start + _AT_ONCE, ranks.stop)
        places = np.asarray(segment.suffixes.order.slice(start, stop), np.int64)
        rests = segment.rests_at(places)
        # A sentence is known by its end; its occurrences may lie in different parts.
        ends = np.concatenate((ends, (places + rests)[rests >= n]))
        most = int(np.unique(ends, return_counts=True)[1].max(initial=0))
        if most >= wanted:
            break
    return most
