"""What a model recalls of its training text: word for word, or in the same grammar."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from rote.cli._derived import deliver
from rote.cli._flags import SectionedCommand, build, flags
from rote.cli._output import OutputOptions
from rote.cli._progress import TerminalReporter
from rote.core.errors import OptionError
from rote.core.metric import option
from rote.corpus import ReadOptions
from rote.models.options import ModelOptions
from rote.studies._style.study import StyleOptions

_HELP = """What a model recalls of its training text: word for word, or in the same grammar.

TEXTS are training texts. The model is given the first 50 words of each and goes on by greedy
decoding; a text is memorized exactly if the next 50 words are its own, in style if their tags are
(Shaib et al. 2024, section 8). With an index of the training data (--corpus), or a field that
holds it (--frequency), by how often the model saw the text:

\b
  rote style-memorization passages.jsonl --model FOLDER --corpus IDX
  rote style-memorization passages.jsonl --model step-100,step-1000 --frequency repeats
"""


@dataclass(frozen=True, slots=True)
class _Asked:
    """Which models, and what they were trained on."""

    model: tuple[str, ...] = option(
        (),
        "Models: a folder, transformers:NAME, openai:URL#NAME, index:FOLDER; NAME=MODEL gives one "
        "a name of its own",
        metavar="M,...",
    )
    corpus: Path | None = option(None, "Index of the training data", metavar="IDX")


def run(files: tuple[str, ...], **given: Any) -> None:
    from rote.corpus import open_corpus
    from rote.index.opening import open_index
    from rote.measure._speaking import open_models
    from rote.report.figures import style as style_figures
    from rote.report.tables import style as style_tables
    from rote.studies._style.study import style_memorization

    wanted, options = build(_Asked, given), build(StyleOptions, given)
    output = build(OutputOptions, given)
    output.form()  # a contradiction is noticed before the work, not after
    if not wanted.model:
        raise OptionError("who is asked? --model names one or more models")
    reporter = TerminalReporter(output.quiet)
    index = open_index(wanted.corpus, reporter) if wanted.corpus else None
    models = open_models(wanted.model, build(ModelOptions, given), reporter)
    documents = list(open_corpus([Path(name) for name in files], build(ReadOptions, given)))
    result = style_memorization(documents, models, options, index=index, reporter=reporter)
    deliver(result, output, tables=style_tables, figures=style_figures)


command = SectionedCommand(
    "style-memorization",
    callback=run,
    help=_HELP,
    params=[
        click.Argument(["files"], metavar="TEXTS...", nargs=-1, required=True),
        *flags(_Asked, "Who is asked"),
        *flags(StyleOptions, "What is measured"),
        *flags(ModelOptions, "How the model runs"),
        *flags(ReadOptions, "Reading"),
        *flags(OutputOptions, "Output"),
    ],
)
