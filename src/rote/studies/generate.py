"""Texts by language models: prompts times settings times models, into one file.

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

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rote.core.json_reader import read_json_lines
from rote.core.metric import check_options, handle, option, unsigned
from rote.core.model import Model
from rote.core.progress import Asking, Reporter, several
from rote.core.record import LINES, Call, Findings, Study
from rote.core.table import Column, Table
from rote.corpus import ReadOptions
from rote.curate.generate import GenerateOptions
from rote.models.options import ModelOptions

if TYPE_CHECKING:
    from rote.curate._generate.plan import Plan

_COUNTED: dict[str, Callable[[dict[str, Any]], int]] = {
    "texts": lambda record: 1,
    "tokens": lambda record: record["tokens"],
    "words": lambda record: len((record["text"] or "").split()),
    "incomplete": lambda record: int(record["ended"] == "length"),
    "empty": lambda record: int(record["text"] is not None and not record["text"].strip()),
    "filtered": lambda record: int(record["ended"] == "filtered"),
}


@dataclass(frozen=True, slots=True)
class Options:
    """Who writes, and where it goes."""

    SECTION: ClassVar[str] = "Models and output"
    model: tuple[str, ...] = handle(
        (), "The models; NAME=MODEL gives one a name of its own", "MODEL,..."
    )
    output: Path = option(
        Path("generated.jsonl"),
        "The file, JSON Lines; - is standard output",
        short="-o",
        metavar="FILE",
        writes=LINES,
        sign=unsigned,
    )

    def __post_init__(self) -> None:
        check_options(self)


def run(call: Call) -> Findings:
    """Make what the file does not hold yet."""
    from rote.curate._generate.prompts import gather
    from rote.curate.generate import generate, plan_of
    from rote.measure._speaking import Named, named, open_model

    target, options, reporter = call.options, call.of(GenerateOptions), call.reporter
    given = target.model if isinstance(target.model, Mapping) else {}
    who = [Named(name, name) for name in given] or named(target.model)
    options.decodings()  # a contradiction is noticed before anything is read
    found = gather(call.inputs, options.prompts(), call.of(ReadOptions))
    for line in dict.fromkeys(found.remarks):
        reporter.say(line)
    for reason, count in found.left_out.items():
        reporter.say(f"{several(count, 'prompt')} left out: {reason}")
    plan = plan_of(found.asked, who, options)
    reporter.say(_announced(plan))
    if alike := _alike(plan):
        reporter.say(alike)
    how = _agreed(plan, call.of(ModelOptions), reporter)
    models: dict[str, Model] = {
        one.name: given[one.name] if given else open_model(one.spec, how, reporter) for one in who
    }
    made = generate(plan, models, target.output, reporter)
    if made.before == made.texts:
        reporter.say(f"{target.output} holds these texts already: nothing was written")
    rows = _rows(target.output)
    if filtered := sum(row["filtered"] for row in rows):
        reporter.say(
            f"endpoints filtered {filtered:,} of {several(made.texts, 'text')}: `ended` is "
            "'filtered' there, and `text` is null where nothing came (measures: --on-error skip)"
        )
    return Findings(
        signed={"models": [model.signature for model in models.values()], "texts": made.texts},
        tables={"sources": rows},
        about={
            "file": str(target.output),
            "texts": made.texts,
            "before": made.before,
            "sources": rows,
        },
    )


def _announced(plan: Plan) -> str:
    settings, models = len(plan.decodings), len(plan.models)
    parts = [several(len(plan.prompts), "prompt")]
    parts += [f"{settings} settings"] if settings > 1 else []
    parts += [f"{models} models"] if models > 1 else []
    if any(plan.times(one) > 1 for one in plan.decodings):
        parts.append(f"{plan.samples} samples")
    once = [one for one in plan.decodings if plan.times(one) < plan.samples]
    kept = " (one sample where nothing is drawn)" if once else ""
    texts = several(len(plan), "text")
    return f"{' x '.join(parts)}{kept}: {texts}, at most {several(plan.tokens, 'token')}"


def _alike(plan: Plan) -> str | None:
    """A remark on prompts that are the same where nothing is drawn."""
    from rote.curate._generate.plan import is_certain, label

    certain = next((one for one in plan.decodings if is_certain(one)), None)
    same = len(plan.prompts) - len({one.text for one in plan.prompts}) + 1
    if certain is None or same == 1:
        return None
    return (
        f"{same:,} prompts are the same, and {label(certain)} writes the same after them: "
        "--temperature 1 draws"
    )


def _agreed(plan: Plan, how: ModelOptions, reporter: Reporter) -> ModelOptions:
    """Ask whoever sits there about the costs; where nobody does, --yes has to be given."""
    from rote.models.endpoint.model import Estimate, check_price

    price = check_price(how.price)
    paid = sum(one.spec.startswith("openai") for one in plan.models)
    if price is None or how.yes or not paid or not isinstance(reporter, Asking):
        return how
    share = paid / len(plan.models)
    read = sum(
        max(1, len(one.text) // 4) * plan.times(decoding)
        for one in plan.prompts
        for decoding in plan.decodings
    )
    requests = round(share * len(plan))
    estimate = Estimate(requests, paid * read, round(share * plan.tokens), price)
    return replace(how, yes=reporter.ask(f"{estimate}. Go on?"))


def _rows(path: Path) -> list[dict[str, Any]]:
    """For each source of the file: texts, tokens, and how they ended."""
    rows: dict[str, dict[str, Any]] = {}
    for _, record in read_json_lines(path):
        record.check({"source": str, "tokens": int, "text?": str, "ended": str})
        source, nothing = record.text("source"), dict.fromkeys(_COUNTED, 0)
        row = rows.setdefault(source, {"source": source, **nothing})
        for name, count in _COUNTED.items():
            row[name] += count(dict(record.values))
    return list(rows.values())


STUDY = Study(
    name="generate",
    title="Generated texts",
    says="Texts by language models: prompts times settings times models.",
    takes="prompts",
    metavar="PROMPTS...",
    options=Options,
    more=(GenerateOptions, ModelOptions, ReadOptions),
    without=("strip_prompt",),
    run=run,
    output="data",
    account=lambda made, place: f"{place}: {several(made.about['texts'], 'text')}",
    layout=(
        Table(
            "sources",
            "Sources",
            (
                Column("source"),
                *(Column(name, kind="count") for name in ("texts", "tokens", "words")),
                Column("incomplete", "cut off", kind="count"),
                Column("empty", kind="count"),
                Column("filtered", kind="count"),
            ),
            limit=1000,
        ),
    ),
)
