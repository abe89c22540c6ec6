"""Generate texts with language models: prompts times settings times models, into one file.

PROMPTS are files of texts (the field `prompt`, else the text), `start` (the start token; start:20
for twenty texts), `prefix:INPUT` (the first words of texts, what follows is the reference),
`sample:INPUT` (words from a random place of each), or prompts of a study: set:cnn-dm, set:cochrane,
set:rotten-tomatoes, set:writing-prompts, set:xsum, set:wmt-14, set:daily-dialog. Models are
index:FOLDER, transformers:NAME, numpy:FOLDER, gguf:FILE, openai:URL#NAME, openai-chat:URL#NAME:

\b
  rote generate start:20 --model index:IDX --temperature 0.7 -o texts.jsonl
  rote generate prompts.jsonl --model a=transformers:gpt2,b=openai:http://localhost:8000/v1#m \\
      --temperature 0,0.7,1 --top-p 0.9,1 --samples 3 -o texts.jsonl
  rote generate prefix:bible:asv --words 50 --model index:IDX --constraint 1,3,4 \\
      --temperature 1 -o continued.jsonl
  rote generate sample:corpus.jsonl --sample 1000 --words 100 --model transformers:gpt2 \\
      --vary temperature=0.8,0.9 --vary top_p=0.8,0.9 -o open-ended.jsonl
  rote generate set:cnn-dm --about articles.jsonl --model openai-chat:gpt-4o -o summaries.jsonl

The same command goes on after an interruption. Each record holds text, source, doc_id, prompt,
all settings and its seed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from rote.core.json_reader import read_json_lines
from rote.core.metric import OptionSet, handle, lines_option
from rote.core.model import Model
from rote.core.progress import Asking, Reporter, several
from rote.core.record import Call, Findings, Study
from rote.core.table import FullTable, make_columns
from rote.corpus import ReadOptions
from rote.curate import generate as generating
from rote.curate.generate import GenerateOptions, GenerationPlan
from rote.models.options import ModelOptions

_COUNTERS: dict[str, Callable[[dict[str, Any]], int]] = {
    "texts": lambda record: 1,
    "tokens": lambda record: record["tokens"],
    "words": lambda record: len((record["text"] or "").split()),
    "incomplete": lambda record: int(record["ended"] == "length"),
    "empty": lambda record: int(record["text"] is not None and not record["text"].strip()),
    "filtered": lambda record: int(record["ended"] == "filtered"),
}


@dataclass(frozen=True, slots=True)
class Options(OptionSet):
    """Who writes, and where it goes."""

    SECTION: ClassVar[str] = "Models and output"
    model: tuple[str, ...] = handle((), "The models; NAME=MODEL names a model", "MODEL,...")
    output: Path = lines_option(
        Path("generated.jsonl"), "The file, JSON Lines; - is standard output", short="-o"
    )


def run(call: Call) -> Findings:
    """Make what the file does not hold yet."""
    from rote.curate.prompts import gather_prompts
    from rote.search.open_models import NamedModel, name_models, open_model

    target, options, reporter = call.options, call.of(GenerateOptions), call.reporter
    opened_models = target.model if isinstance(target.model, Mapping) else {}
    who = [NamedModel(name, name) for name in opened_models] or name_models(target.model)
    options.decodings()  # a contradiction is noticed before anything is read
    prompts = gather_prompts(call.inputs, options.prompts(), call.of(ReadOptions))
    for line in dict.fromkeys(prompts.remarks):
        reporter.say(line)
    for reason, count in prompts.left_out.items():
        reporter.say(f"{several(count, 'prompt')} left out: {reason}")
    plan = generating.build_plan(prompts.requests, who, options)
    reporter.say(_announce_plan(plan))
    if alike := _note_repeated_prompts(plan):
        reporter.say(alike)
    how = _confirm_costs(plan, call.of(ModelOptions), reporter)
    models: Mapping[str, Model] = opened_models or {
        entry.name: open_model(entry.spec, how, reporter) for entry in who
    }
    result = generating.generate(plan, models, target.output, reporter)
    if result.before == result.texts:
        reporter.say(f"{target.output} already contains these texts: nothing was written")
    rows = _count_sources(target.output)
    if filtered := sum(row["filtered"] for row in rows):
        reporter.say(
            f"endpoints filtered {filtered:,} of {several(result.texts, 'text')}: their `ended` is "
            "'filtered', and `text` is null where nothing came (measures: --on-error skip)"
        )
    return Findings(
        signed={"models": [model.signature for model in models.values()], "texts": result.texts},
        tables={"sources": rows},
        about={"file": str(target.output), **asdict(result), "sources": rows},
    )


def _announce_plan(plan: GenerationPlan) -> str:
    settings, models = len(plan.decodings), len(plan.models)
    parts = [several(len(plan.prompts), "prompt")]
    parts += [f"{settings} settings"] if settings > 1 else []
    parts += [f"{models} models"] if models > 1 else []
    if any(plan.times(decoding) > 1 for decoding in plan.decodings):
        parts.append(f"{plan.samples} samples")
    once = [decoding for decoding in plan.decodings if plan.times(decoding) < plan.samples]
    note = " (one sample without sampling)" if once else ""
    texts = several(len(plan), "text")
    return f"{' x '.join(parts)}{note}: {texts}, at most {several(plan.tokens, 'token')}"


def _note_repeated_prompts(plan: GenerationPlan) -> str | None:
    """A remark on prompts that are the same where nothing is drawn."""
    certain = next(filter(generating.is_certain, plan.decodings), None)
    same = len(plan.prompts) - len({prompt.text for prompt in plan.prompts}) + 1
    if certain is None or same == 1:
        return None
    label = generating.decoding_label(certain)
    return (
        f"{same:,} prompts are the same, and {label} always continues them alike: use "
        "--temperature 1 to sample"
    )


def _confirm_costs(plan: GenerationPlan, how: ModelOptions, reporter: Reporter) -> ModelOptions:
    """Ask whoever sits there about the costs; where nobody does, --yes has to be given."""
    from rote.models.endpoint.model import CostEstimate, check_price

    price = check_price(how.price)
    paid = sum(model.spec.startswith("openai") for model in plan.models)
    if price is None or how.yes or not paid or not isinstance(reporter, Asking):
        return how
    share = paid / len(plan.models)
    length = sum(max(1, len(prompt.text) // 4) for prompt in plan.prompts)
    read = length * sum(map(plan.times, plan.decodings))
    requests = round(share * len(plan))
    estimate = CostEstimate(requests, paid * read, round(share * plan.tokens), price)
    return replace(how, yes=reporter.ask(f"{estimate}. Go on?"))


def _count_sources(path: Path) -> list[dict[str, Any]]:
    """For each source of the file: texts, tokens, and how they ended."""
    rows: dict[str, dict[str, Any]] = {}
    for _, record in read_json_lines(path):
        record.check({"source": str, "tokens": int, "text?": str, "ended": str})
        source, nothing = record.text("source"), dict.fromkeys(_COUNTERS, 0)
        row = rows.setdefault(source, {"source": source, **nothing})
        for name, count in _COUNTERS.items():
            row[name] += count(dict(record.values))
    return list(rows.values())


STUDY = Study(
    name="generate",
    title="Generated texts",
    says="Texts generated by language models: prompts times settings times models.",
    takes="prompts",
    metavar="PROMPTS...",
    options=Options,
    more=(GenerateOptions, ModelOptions, ReadOptions),
    without=("strip_prompt",),
    run=run,
    output="data",
    account=lambda result, place: f"{place}: {several(result.about['texts'], 'text')}",
    layout=(
        FullTable(
            "sources",
            "Sources",
            make_columns(
                "source texts:count tokens:count words:count incomplete=cut_off:count "
                "empty:count filtered:count"
            ),
        ),
    ),
)
