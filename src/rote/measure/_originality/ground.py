"""What is known of the ground truth itself: its sources, its authors, how much it leaves out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rote.core.metric import Comparison
from rote.core.result import Row

if TYPE_CHECKING:
    from rote.measure.originality import Options
    from rote.search.originality.reach import GroundTruth

_LONGEST_SHOWN = 12


def ground_tables(
    ground: GroundTruth, comparison: Comparison, options: Options
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


def _incompleteness(ground: GroundTruth, comparison: Comparison, options: Options) -> list[Row]:
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
