"""One sentence of a summary, with the numbers that it speaks of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence in plain text; names of sources stand in it as they were given.

    kind        overall (a source as a whole), difference, length (a difference that was not
                found at equal length), none (no difference found), untested (could not have been
                found), found (a finding that is no test against the reference), undefined, scope
                (what the numbers can say at all)
    direction   "more repetitive", "more diverse" or nothing
    sure        sure (test and interval), likely (the test alone), not, untested, or nothing where
                it is no test
    difference  of the source less the reference; `relative` is its share of the reference
    p           corrected over the sources and values of a facet
    """

    text: str
    kind: str
    measure: str = ""
    value: str = ""
    source: str = ""
    facet: str = ""
    direction: str = ""
    sure: str = ""
    difference: float | None = None
    relative: float | None = None
    p: float | None = None
