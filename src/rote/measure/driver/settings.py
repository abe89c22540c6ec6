"""What every measure can be asked for: grouping, reference, intervals, tests, jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rote.compare.multiple_testing import Correction, Margin
from rote.core.errors import OptionError
from rote.core.metric import MOST_JOBS, check_options, engine_option, option

DOC_ID = "doc_id"
"""Texts with the same one answer the same prompt."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings common to all measures; the shell's flags are made from this class."""

    SECTION: ClassVar[str] = "Comparison"
    SHARED: ClassVar[bool] = True
    by: tuple[str, ...] = option(
        (), "Fields that tell sources apart; without it each file is one", common=True
    )
    reference: str | None = option(
        None, "The source that the others are compared with; each: every two sources", common=True
    )
    within: str | None = option(
        None,
        "Field that makes sets: texts with the same value (doc_id: the answers to one input) are "
        "measured together, and the values averaged over the sets",
        metavar="FIELD",
    )
    cluster: str = option(
        DOC_ID,
        "Field that says which texts belong together: answers to one prompt, texts of one author "
        "are drawn and exchanged together",
        metavar="FIELD",
    )
    inputs: str = option(
        "document",
        "Field with what the texts were made from: measured as a source too, where records have "
        "it; '' leaves it out",
        metavar="FIELD",
    )
    tokenizer: str = option("ud", "Tokenizer by name; or the path of a tokenizer.json")
    annotator: str = option(
        "rote",
        "Who makes tags and trees: rote, spacy:MODEL, stanza:LANG, given; de=NAME,fr=NAME: of "
        "German, of French texts (field lang, or as they look)",
    )
    sample: int | None = option(
        None, "At most this many texts of each source, drawn at random", least=1
    )
    interval: float = option(0.95, "Level of the intervals; 0 leaves them out")
    permutations: int | None = option(
        None,
        "Permutations of each test against the reference; 0 leaves tests out",
        least=0,
        most=1_000_000,
    )
    correction: Correction = option(
        "westfall-young",
        "How p-values are corrected over all values and sources: by the largest differences of "
        "each draw (Westfall and Young), by Holm, or by Benjamini and Hochberg (share of false "
        "discoveries)",
    )
    equivalent: str | None = option(
        None,
        "Also test whether a difference is smaller than this: 5% (of the reference's value), or "
        "a number in units of the value",
        metavar="MARGIN",
    )
    matched: bool = option(
        True,
        "Also give values at equal size, and a curve over sizes (as many windows of equal length)",
    )
    per_text: bool = option(False, "Also give the values of each text, where a measure has any")
    seed: int = option(0, "Seed of everything that is drawn at random", least=0)
    jobs: int = option(
        1, "How many cores to use; results do not depend on it", least=1, most=MOST_JOBS
    )
    engine: str | None = engine_option()

    def __post_init__(self) -> None:
        check_options(self)
        if self.within and self.cluster != DOC_ID:
            raise OptionError("--within puts texts into sets, which are drawn: leave out --cluster")
        if self.equivalent is not None:
            Margin.of(self.equivalent)
            if not self.interval:
                raise OptionError("--equivalent rests on the intervals: leave out --interval 0")
