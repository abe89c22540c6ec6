"""What decides each sentence, whose it is, and what is known of the ground truth itself.

A book has more sentences than anybody reads, and each has many fragments: some are drawn and
listed with all that decides them. The verdicts alone can be had of all sentences.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rote.compare.clusters import share_error
from rote.compare.intervals import interval_from_error, shares
from rote.core.array_types import Flags, Floats, Integers
from rote.core.layer import Layer
from rote.core.metric import Comparison, Work
from rote.core.result import Row
from rote.core.sample import RawText
from rote.measure._sentences import Sentences, drawn

if TYPE_CHECKING:
    from rote.search.originality.edges import Rule
    from rote.search.originality.reach import GroundTruth
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
    assert rows.ground is not None
    assert rows.verdicts is not None
    wanted = np.full(len(rows.sentences), options.verdicts)
    every = [row for _, row in _numbered(rows, comparison, wanted)]
    longest = _longest_cited(rows, rows.verdicts)
    listed = _listed(rows, longest, comparison, options.top)
    exact = options.variant == "exact"
    flagged = _held_out(rows.ground, rows.rule, options) if exact else None
    return {
        "counts": _counts(rows, rows.verdicts, comparison, listed, flagged),
        **_fragments(rows, rows.verdicts, comparison, listed),
        "lengths": _lengths(rows, longest, comparison, options.min_words if exact else 2),
        **ground_tables(rows.ground, comparison, options, flagged),
        **({"verdicts": every} if options.verdicts else {}),
    }


def _longest_cited(rows: Rows, verdicts: SentenceVerdicts) -> Integers:
    """Words of the longest fragment of each sentence that needs a citation; 0 if none does."""
    found = np.zeros(len(rows.sentences), np.int64)
    cited = verdicts.longest
    sentence = np.searchsorted(rows.sentences.ends, cited.starts, side="right")
    np.maximum.at(found, sentence, cited.ends - cited.starts)
    return found


def _listed(rows: Rows, longest: Integers, comparison: Comparison, count: int) -> Flags:
    """So many failing sentences of each source, the longest cited fragments first, and as many
    others; what is drawn of those that are alike does not depend on the order of texts."""
    listed = np.zeros(len(rows.sentences), np.bool_)
    for source, take in comparison.groups.items():
        work = Work(groups={source: take}, ids=comparison.ids, seed=comparison.seed)
        own = np.zeros(len(rows.sentences), np.bool_)
        own[rows.sentences.of(take)] = True
        left = count
        for words in np.unique(longest[own & (longest > 0)])[::-1]:
            alike = own & (longest == words)
            listed |= _drawn(rows, alike, work, left)
            left = max(0, left - int(alike.sum()))
        listed |= _drawn(rows, own & (longest == 0), work, count)
    return listed


def _drawn(rows: Rows, among: Flags, work: Work, count: int) -> Flags:
    """At most so many of these sentences."""
    found = np.zeros(len(among), np.bool_)
    found[np.flatnonzero(among)] = drawn(rows.sentences.chosen(among), work, count)
    return found


def _held_out(ground: GroundTruth, rule: Rule, options: Any) -> HeldOut | None:
    from rote.search.originality.verdicts import judge_held_out

    return judge_held_out(
        ground, rule, relax=options.relax, min_words=options.min_words, chance=options.chance
    )


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
    found: list[Row] = []
    for source, take in comparison.groups.items():
        own = rows.sentences.of(take)
        counts = {kind: int(holds[own].sum()) for kind, holds in kinds.items()}
        words = int(rows.sentences.lengths[own].sum())
        chance = flagged.expected(words) if flagged and flagged.words else None
        found.append(
            {"source": source, "sentences": len(own), **counts, "failing_by_chance": chance}
        )
    return found


def _numbered(
    rows: Rows, comparison: Comparison, wanted: Flags
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The verdict on each of the wanted sentences, source by source, with its number among all."""
    assert rows.verdicts is not None
    every, layer = rows.sentences, rows.layer
    original, fails = rows.verdicts.original, rows.verdicts.fails
    place, text = -1, ""
    for source, take in comparison.groups.items():
        own = every.of(take)
        for number in own[wanted[own]].tolist():
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
    for number, row in _numbered(rows, comparison, listed):
        found = [_span(rows, row, *span) for _, *span in own_cited.get(number, ())]
        sentences.append(
            {
                **row,
                "fragments": int(counted[number]),
                "original_fragments": [
                    _span(rows, row, *span) for _, *span in originals.get(number, ())
                ],
                "cited_fragments": found,
            }
        )
        names: tuple[str, ...] = ("source", "id", "file", "sentence")
        head = {name: row[name] for name in names if name in row}
        for span, (fragment, *_) in zip(found, own_cited.get(number, ())):
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
    """The fragments of the listed sentences."""
    from rote.search.originality.verdicts import FragmentSpans

    kept = listed[np.searchsorted(ends, spans.starts, side="right")]
    return FragmentSpans(spans.starts[kept], spans.ends[kept])


def _by_sentence(spans: FragmentSpans, ends: Integers) -> dict[int, list[tuple[int, int, int]]]:
    """For each sentence its fragments: number, first item, item behind the last."""
    found: dict[int, list[tuple[int, int, int]]] = {}
    sentence = np.searchsorted(ends, spans.starts, side="right").tolist()
    for fragment, (number, start, end) in enumerate(
        zip(sentence, spans.starts.tolist(), spans.ends.tolist())
    ):
        found.setdefault(number, []).append((fragment, start, end))
    return found


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
    low, high = interval_from_error(share, error, comparison.level, known, share=True)
    return {"failing": share, "low": low, "high": high}


_LONGEST_SHOWN = 12


def ground_tables(
    ground: GroundTruth, comparison: Comparison, options: Any, flagged: HeldOut | None
) -> dict[str, Sequence[Row]]:
    """`ground_truth`, `merged_authors`, and `incompleteness` if asked for."""
    from rote.search.originality.edges import rule_for

    sources, authors = ground.sources, ground.sources.authors
    found: dict[str, Sequence[Row]] = {
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
        found["incompleteness"] = _incompleteness(ground, comparison, options)
    return found


def _incompleteness(ground: GroundTruth, comparison: Comparison, options: Any) -> list[Row]:
    """Good and Turing's estimate, by length: the share of fragments to come that is not yet held.

    Of all occurrences of fragments, those that stand once; a ground truth in which nothing is
    repeated says that nearly everything is still missing. The last row is about all lengths.
    """
    from rote.search.originality.originals import find_originals

    found = find_originals(
        ground.index,
        options.layer,
        relax=options.relax,
        sources=ground.sources,
        reporter=comparison.reporter,
    )
    return [
        {
            "length": row.length or None,
            "fragments": row.fragments,
            "occurrences": row.occurrences,
            "once": row.once,
            "unseen": row.once / row.occurrences if row.occurrences else None,
            "original": row.original,
        }
        for row in (*found.by_length, found.total)
        if row.length <= _LONGEST_SHOWN
    ]
