"""Pairs for zero-shot training: each document's most telling sentence as its summary."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from rote.cli._flags import SectionedCommand, build, flags
from rote.cli._listing import SummaryOptions, as_json
from rote.cli._output import written
from rote.cli._places import LINES, STDOUT
from rote.cli._progress import TerminalReporter
from rote.core.metric import option
from rote.corpus import ReadOptions

_HELP = """Pairs for zero-shot training: each document's most telling sentence as its summary.

The sentence with the highest ROUGE-1 F against the rest of its document goes to the fields `text`
and `reference`, the rest to `document`, the score to `rouge_1`; all other fields are kept.
Documents of fewer than two sentences are left out and counted.

\b
  rote pseudo-summaries news.jsonl -o pairs.jsonl
  rote limit pairs.jsonl --max 2,5,10,25,100 -o limited
"""


@dataclass(frozen=True, slots=True)
class _Target:
    """Where the pairs go, and with how many cores they are made."""

    output: Path = option(
        Path("pseudo-summaries.jsonl"),
        "The file, JSON Lines; - is standard output",
        short="-o",
        metavar="FILE",
        writes=LINES,
    )
    jobs: int = option(1, "How many cores to use; results do not depend on it")


def run(inputs: tuple[str, ...], **given: Any) -> None:
    from rote.core.compiling import say_if_compiling
    from rote.corpus import open_corpus
    from rote.curate.pseudo_summaries import pseudo_summaries

    target, shown = build(_Target, given), build(SummaryOptions, given)
    reporter = TerminalReporter(shown.quiet)
    corpus = open_corpus([Path(name) for name in inputs], build(ReadOptions, given))
    for line in corpus.guesses:
        reporter.say(line)
    say_if_compiling(reporter, "rote.curate._sentence_kernels")
    with written(target.output) as path:
        made = pseudo_summaries(corpus, path, jobs=target.jobs, reporter=reporter)
    for line in made.problems.listed():
        reporter.say(line)
    for name, count in sorted(made.replaced.items()):
        reporter.say(f"{count:,} documents had a field '{name}', which the pairs replace")
    aside = target.output == STDOUT  # where the pairs go there, the rest does not
    if shown.json:
        held = {
            "file": str(target.output),
            "pairs": made.pairs,
            "left_out": {reason: made.left_out[reason] for reason in sorted(made.left_out)},
            "unrelated": made.unrelated,
            "skipped": len(made.problems),
        }
        click.echo(as_json(held), nl=False, err=aside)
        return
    click.echo(f"{target.output}: {made.pairs:,} pairs", err=aside)
    for reason, count in sorted(made.left_out.items()):
        click.echo(f"left out, {reason}: {count:,}", err=aside)
    if made.unrelated:
        said = "no sentence shares a word with the rest, so the first"
        click.echo(f"{said}: {made.unrelated:,}", err=aside)


command = SectionedCommand(
    "pseudo-summaries",
    callback=run,
    help=_HELP,
    params=[
        click.Argument(["inputs"], metavar="DOCS...", nargs=-1, required=True),
        *flags(_Target, "Output"),
        *flags(ReadOptions, "Reading"),
        *flags(SummaryOptions, "Output"),
    ],
)
