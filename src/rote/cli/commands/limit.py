"""Subsets of a training set in which no n-gram is repeated more than so often."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rote.cli._flags import SectionedCommand, build, flags
from rote.cli._listing import SummaryOptions, as_json
from rote.cli._output import printing_console
from rote.cli._progress import TerminalReporter
from rote.core.metric import option
from rote.corpus import ReadOptions
from rote.curate.limit import LimitOptions

if TYPE_CHECKING:
    from rote.curate.limit_folder import Made

_HELP = """Subsets of a training set in which no n-gram is repeated more than so often.

For every limit and seed one JSONL file in the folder DIR, with the records as they were read, and
a manifest.json: sizes, seeds, the input's fingerprint, and what was dropped and why. Texts are
shuffled with the seed; a text is kept if after it no n-gram of the kept ones stands more than
--max times.

\b
  rote limit train.jsonl --max 2,5,10,25 --seeds 3 -o limited
  rote limit train.jsonl --max 2 --random --most-repeated --sizes 10000,20000 -o compared
"""
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class _Target:
    """Where the subsets go, and with how many cores they are made."""

    output: Path = option(
        Path("rote-limit"),
        "The folder; a new one, or one of the same run",
        short="-o",
        metavar="DIR",
        writes="folder",
    )
    jobs: int = option(1, "How many cores to use; results do not depend on it")


def run(inputs: tuple[str, ...], **given: Any) -> None:
    from rote.core.compiling import say_if_compiling
    from rote.corpus import open_corpus
    from rote.curate.limit_folder import limit

    options, target = build(LimitOptions, given), build(_Target, given)
    shown = build(SummaryOptions, given)
    options.check()
    reporter = TerminalReporter(shown.quiet)
    corpus = open_corpus([Path(name) for name in inputs], build(ReadOptions, given))
    for line in corpus.guesses:
        reporter.say(line)
    say_if_compiling(reporter, "rote.curate._limit_kernels")
    made = limit(corpus, target.output, options, jobs=target.jobs, reporter=reporter)
    for line in made.problems.listed():
        reporter.say(line)
    if not made.new:
        reporter.say(f"{target.output} holds these subsets already: nothing was written")
    if shown.json:
        click.echo(as_json({"folder": str(target.output), "manifest": made.manifest}), nl=False)
    else:
        _show(made, target.output)


def _show(made: Made, folder: Path) -> None:
    """A row for each kind of subset, the seeds taken together."""
    from rich.table import Table

    from rote.report.terminal import harmless

    held, console = made.manifest, printing_console()
    about, settings, count = held["input"], held["settings"], len(held["subsets"])
    console.print(
        f"{folder}: {count} subset{'s' * (count > 1)} of {about['texts']:,} texts ('"
        f"{settings['field']}', {settings['n']}-grams of {settings['layer']}, "
        f"{settings['tokenizer']}); the most frequent stands {about['largest_frequency']:,} times",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
    table = Table(box=None, pad_edge=False)
    for name in ("max", "subset", "texts", "share", "words", "kept out by (texts)"):
        table.add_column(name, justify="left" if name[0] in "sk" and name != "share" else "right")
    rows: dict[tuple[int, str], list[dict[str, Any]]] = {}
    for each in held["subsets"]:
        kind = f"{each['texts']:,} of {each['kind']}" if each["sample"] else each["kind"]
        rows.setdefault((each["max"], kind), []).append(each)
    for (most, kind), seeds in rows.items():
        blockers = seeds[0].get("dropped", {}).get("most_blocking", [])[:_SHOWN]
        shares = [each["texts"] / about["texts"] for each in seeds]
        table.add_row(
            f"{most:,}",
            kind,
            _range([f"{each['texts']:,}" for each in sorted(seeds, key=lambda e: e["texts"])]),
            _range([f"{share:.1%}" for share in sorted(shares)]),
            _range([f"{each['words']:,}" for each in sorted(seeds, key=lambda e: e["words"])]),
            harmless("; ".join(f"{each['ngram']} ({each['texts']:,})" for each in blockers)),
        )
    console.print(table, highlight=False)


def _range(ordered: list[str]) -> str:
    return ordered[0] if ordered[0] == ordered[-1] else f"{ordered[0]} to {ordered[-1]}"


command = SectionedCommand(
    "limit",
    callback=run,
    help=_HELP,
    params=[
        click.Argument(["inputs"], metavar="TRAIN...", nargs=-1, required=True),
        *flags(_Target, "Output"),
        *flags(LimitOptions, "Subsets"),
        *flags(ReadOptions, "Reading"),
        *flags(SummaryOptions, "Output"),
    ],
)
