"""Another measure of another package: all that a record may say to a report and to the app."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rote.core.evidence import Evidence, EvidenceTexts, Mark, cut_evidence
from rote.core.record import Chapter, Finding
from rote.core.result import Result
from rote.core.sample import Need
from tests.report import word_length


def evidence(result: Result, texts: EvidenceTexts) -> Iterator[Evidence]:
    """The longest word of the first texts of each source."""
    for source, numbers in texts.groups.items():
        for number in numbers[: texts.count]:
            text = texts.read(number)
            word = max(text.split(), key=len)
            start = text.index(word)
            mark = Mark(start, start + len(word), "longest", "original")
            yield cut_evidence(Evidence(result.measure, source, texts.ids[number], text, (mark,)))


def findings(result: Result, sources: Sequence[str]) -> Iterator[Finding]:
    for source in sources:
        letters = result.by_source[source].values["letters"]
        yield Finding(f"{source} writes words of {letters:.1f} letters.", "letters", source)


METRIC = replace(
    word_length.METRIC,
    name="long-words",
    title="Long words",
    needs=lambda options: (Need("word"), Need("text")),
    panel=(),
    section="patterns",
    headlines=(),
    chapter=Chapter("Long words", 15, texts="Long words in texts", legend="Underlined: long."),
    evidence=evidence,
    findings=findings,
    circular=("dictionary", "letters", 4.0),
    usual=True,
)
