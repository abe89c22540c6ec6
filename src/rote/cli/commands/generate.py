"""Texts by language models: prompts times settings times models, into one file."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rote.cli._flags import SectionedCommand, build, flags
from rote.cli._listing import SummaryOptions, as_json
from rote.cli._output import printing_console, written
from rote.cli._places import LINES, STDOUT
from rote.cli._progress import TerminalReporter
from rote.core.metric import option
from rote.corpus import ReadOptions
from rote.curate.generate import GenerateOptions
from rote.models.options import ModelOptions

if TYPE_CHECKING:
    from rote.curate._generate.plan import Plan

_HELP = """Texts by language models: prompts times settings times models, into one file.

PROMPTS are files of texts (the field `prompt`, else the text), `start` (the start token; start:20
for twenty texts), `prefix:INPUT` (the first words of texts, what follows is the reference), or
prompts of a study: set:cnn-dm, set:cochrane, set:rotten-tomatoes. Models are index:FOLDER,
transformers:NAME, numpy:FOLDER, openai:URL#NAME, openai-chat:URL#NAME:

\b
  rote generate start:20 --model index:IDX --temperature 0.7 -o texts.jsonl
  rote generate prompts.jsonl --model a=transformers:gpt2,b=openai:http://localhost:8000/v1#m \\
      --temperature 0,0.7,1 --top-p 0.9,1 --samples 3 -o texts.jsonl
  rote generate prefix:bible:asv --words 50 --model index:IDX --constraint 1,3,4 \\
      --temperature 1 -o continued.jsonl
  rote generate set:cnn-dm --about articles.jsonl --model openai-chat:gpt-4o -o summaries.jsonl

The same command goes on after an interruption. Each record holds text, source, doc_id, prompt,
all settings and its seed.
"""


@dataclass(frozen=True, slots=True)
class _Target:
    """Who writes, and where it goes."""

    model: tuple[str, ...] = option(
        (), "The models; NAME=MODEL gives one a name of its own", metavar="MODEL,..."
    )
    output: Path = option(
        Path("generated.jsonl"),
        "The file, JSON Lines; - is standard output",
        short="-o",
        metavar="FILE",
        writes=LINES,
    )


def run(prompts: tuple[str, ...], **given: Any) -> None:
    from rote.curate._generate.prompts import gather
    from rote.curate.generate import generate, plan_of
    from rote.measure._speaking import named, open_model

    target, shown = build(_Target, given), build(SummaryOptions, given)
    options, how = build(GenerateOptions, given), build(ModelOptions, given)
    reporter = TerminalReporter(shown.quiet)
    who = named(target.model)
    options.decodings()  # a contradiction is noticed before anything is read
    found = gather(prompts, options.prompts(), build(ReadOptions, given))
    for line in dict.fromkeys(found.remarks):
        reporter.say(line)
    for reason, count in found.left_out.items():
        reporter.say(f"{_several(count, 'prompt')} left out: {reason}")
    plan = plan_of(found.asked, who, options)
    reporter.say(_announced(plan))
    if alike := _alike(plan):
        reporter.say(alike)
    how = _agreed(plan, how)
    models = {one.name: open_model(one.spec, how, reporter) for one in who}
    with written(target.output) as path:
        made = generate(plan, models, path, reporter)
        if made.before == made.texts:
            reporter.say(f"{target.output} holds these texts already: nothing was written")
        _show(path, target.output, as_json_wanted=shown.json, made=made.texts, before=made.before)


def _announced(plan: Plan) -> str:
    settings, models = len(plan.decodings), len(plan.models)
    parts = [_several(len(plan.prompts), "prompt")]
    parts += [f"{settings} settings"] if settings > 1 else []
    parts += [f"{models} models"] if models > 1 else []
    if any(plan.times(one) > 1 for one in plan.decodings):
        parts.append(f"{plan.samples} samples")
    once = [one for one in plan.decodings if plan.times(one) < plan.samples]
    kept = " (one sample where nothing is drawn)" if once else ""
    texts = _several(len(plan), "text")
    return f"{' x '.join(parts)}{kept}: {texts}, at most {plan.tokens:,} tokens"


def _several(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"


def _alike(plan: Plan) -> str | None:
    """A remark on prompts that are the same where nothing is drawn."""
    from rote.curate._generate.grid import is_certain, label

    certain = next((one for one in plan.decodings if is_certain(one)), None)
    same = len(plan.prompts) - len({one.text for one in plan.prompts}) + 1
    if certain is None or same == 1:
        return None
    return (
        f"{same:,} prompts are the same, and {label(certain)} writes the same after them: "
        "--temperature 1 draws"
    )


def _agreed(plan: Plan, how: ModelOptions) -> ModelOptions:
    """Ask whoever sits there about the costs; where nobody does, --yes has to be given."""
    from rote.models.endpoint.cost import Estimate, check_price

    price = check_price(how.price)
    paid = sum(one.spec.startswith("openai") for one in plan.models)
    if price is None or how.yes or not paid or not sys.stdin.isatty():
        return how
    share = paid / len(plan.models)
    read = sum(
        max(1, len(one.text) // 4) * plan.times(decoding)
        for one in plan.prompts
        for decoding in plan.decodings
    )
    requests = round(share * len(plan))
    estimate = Estimate(requests, paid * read, round(share * plan.tokens), price)
    click.confirm(f"{estimate}. Go on?", abort=True, err=True)
    return replace(how, yes=True)


def _show(path: Path, target: Path, *, as_json_wanted: bool, made: int, before: int) -> None:
    """A row for each source: texts, tokens, and how they ended. `target`: as it was named."""
    import json

    texts: Counter[str] = Counter()
    tokens: Counter[str] = Counter()
    words: Counter[str] = Counter()
    cut: Counter[str] = Counter()
    empty: Counter[str] = Counter()
    with open(path, "rb") as file:
        for record in map(json.loads, file):
            source = record["source"]
            texts[source] += 1
            tokens[source] += record["tokens"]
            words[source] += len(record["text"].split())
            cut[source] += record["incomplete"]
            empty[source] += not record["text"].strip()
    rows = [
        {
            "source": source,
            "texts": texts[source],
            "tokens": tokens[source],
            "words": words[source],
            "incomplete": cut[source],
            "empty": empty[source],
        }
        for source in texts
    ]
    if as_json_wanted:
        held = {"file": str(target), "texts": made, "before": before, "sources": rows}
        click.echo(as_json(held), nl=False, err=target == STDOUT)
        return
    _print(target, rows)


def _print(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    from rich.table import Table

    from rote.report.terminal import harmless

    console = printing_console(path)
    total = sum(row["texts"] for row in rows)
    console.print(
        f"{path}: {_several(total, 'text')}", highlight=False, markup=False, soft_wrap=True
    )
    table = Table(box=None, pad_edge=False)
    table.add_column("source")
    for name in ("texts", "tokens", "words", "cut off", "empty"):
        table.add_column(name, justify="right")
    for row in rows:
        numbers = (row[name] for name in ("texts", "tokens", "words", "incomplete", "empty"))
        table.add_row(harmless(row["source"]), *(f"{number:,}" for number in numbers))
    console.print(table, highlight=False)


command = SectionedCommand(
    "generate",
    callback=run,
    help=_HELP,
    params=[
        click.Argument(["prompts"], metavar="PROMPTS...", nargs=-1, required=True),
        *flags(_Target, "Models and output"),
        *flags(GenerateOptions, "Texts", skip=("about", "words", "reference_words", "most")),
        *flags(
            GenerateOptions,
            "Prompts",
            skip=(
                *("temperature", "top_p", "top_k", "constraint", "samples", "max_tokens"),
                *("stop", "seed", "source"),
            ),
        ),
        *flags(ModelOptions, "How models are run"),
        *flags(ReadOptions, "Reading", skip=("strip_prompt",)),
        *flags(SummaryOptions, "Output"),
    ],
)
