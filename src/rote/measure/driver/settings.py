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
        (), "Fields to group by; default: one source per file", common=True
    )
    reference: str | None = option(
        None, "Source to compare the others with; each: compare every pair of sources", common=True
    )
    within: str | None = option(
        None,
        "Field that groups texts into sets: texts with the same value (doc_id: the answers to one "
        "input) are measured together, and values are averaged over the sets",
        metavar="FIELD",
    )
    cluster: str = option(
        DOC_ID,
        "Field with the cluster of each text (a prompt, an author): texts of one cluster are "
        "resampled and permuted together",
        metavar="FIELD",
    )
    inputs: str = option(
        "document",
        "Field with the input of each text: also measured as a source if records have it; '' "
        "leaves it out",
        metavar="FIELD",
    )
    tokenizer: str = option("ud", "Tokenizer name; or the path of a tokenizer.json")
    annotator: str = option(
        "rote",
        "Annotator for tags and trees: rote, spacy:MODEL, stanza:LANG, given; de=NAME,fr=NAME: "
        "for German, French texts (field lang, or detected)",
    )
    sample: int | None = option(
        None, "Maximum number of texts per source, drawn at random", least=1
    )
    interval: float = option(0.95, "Confidence level of the intervals; 0: no intervals")
    permutations: int | None = option(
        None,
        "Permutations per test against the reference; 0: no tests",
        least=0,
        most=1_000_000,
    )
    correction: Correction = option(
        "westfall-young",
        "Correction of p-values over all values and sources: step-down maxima (Westfall and "
        "Young), Holm, or Benjamini and Hochberg (false discovery rate)",
    )
    equivalent: str | None = option(
        None,
        "Also test for equivalence within this margin: 5% (of the reference's value), or a number "
        "in the value's units",
        metavar="MARGIN",
    )
    matched: bool = option(
        True,
        "Also give values at equal size and a curve over sizes (equally many windows of equal "
        "length)",
    )
    per_text: bool = option(False, "Also give per-text values, if the measure has any")
    seed: int = option(0, "Random seed", least=0)
    jobs: int = option(1, "Number of cores; results do not depend on it", least=1, most=MOST_JOBS)
    engine: str | None = engine_option()

    def __post_init__(self) -> None:
        check_options(self)
        if self.within and self.cluster != DOC_ID:
            raise OptionError("--within resamples sets of texts: leave out --cluster")
        if self.equivalent is not None:
            Margin.of(self.equivalent)
            if not self.interval:
                raise OptionError("--equivalent needs the intervals: leave out --interval 0")
