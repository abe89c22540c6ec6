"""Make pairs for zero-shot training: each document's most informative sentence as its summary.

The sentence with the highest ROUGE-1 F against the rest of its document goes to the fields `text`
and `reference`, the rest to `document`, the score to `rouge_1`; all other fields are kept.
Documents of fewer than two sentences are left out and counted.

\b
  rote train pseudo-summaries news.jsonl -o pairs.jsonl
  rote limit pairs.jsonl --max 2,5,10,25,100 -o limited
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from rote.core.metric import MOST_JOBS, OptionSet, engine_option, lines_option, unsigned_option
from rote.core.progress import several
from rote.core.record import Call, Findings, Study
from rote.core.result import Result
from rote.corpus import ReadOptions


@dataclass(frozen=True, slots=True)
class Options(OptionSet):
    """Where the pairs go, and with how many cores they are made."""

    SECTION: ClassVar[str] = "Output"
    output: Path = lines_option(
        Path("pseudo-summaries.jsonl"), "The file, JSON Lines; - is standard output", short="-o"
    )
    jobs: int = unsigned_option(1, "Number of cores; results do not depend on it", most=MOST_JOBS)
    engine: str | None = engine_option()


def run(call: Call) -> Findings:
    from rote.curate.pseudo_summaries import pseudo_summaries

    options, reporter = call.options, call.reporter
    result = pseudo_summaries(
        call.inputs, options.output, jobs=options.jobs, engine=options.engine, reporter=reporter
    )
    for line in result.problems.listed():
        reporter.say(line)
    for name, count in sorted(result.replaced.items()):
        reporter.say(f"{several(count, 'document')} had a field '{name}', which the pairs replace")
    return Findings(
        signed={"texts": call.inputs.fingerprint[:12]},
        about={
            "file": str(options.output),
            "pairs": result.pairs,
            "left_out": {reason: result.left_out[reason] for reason in sorted(result.left_out)},
            "unrelated": result.unrelated,
            "skipped": len(result.problems),
        },
    )


def _account(result: Result, place: str) -> str:
    lines = [f"{place}: {several(result.about['pairs'], 'pair')}"]
    lines += [
        f"left out, {reason}: {count:,}" for reason, count in result.about["left_out"].items()
    ]
    if unrelated := result.about["unrelated"]:
        lines.append(f"no sentence shares a word with the rest, so the first: {unrelated:,}")
    return "\n".join(lines)


STUDY = Study(
    name="train-pseudo-summaries",
    title="Pseudo-summaries",
    says="Make pairs for zero-shot training: each document's most informative sentence as its "
    "summary.",
    takes="texts",
    metavar="DOCS...",
    options=Options,
    more=(ReadOptions,),
    run=run,
    output="data",
    account=_account,
)
