"""Where a text comes from: its spans that a corpus holds, word for word or nearly, with sources."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rote.cli._flags import SectionedCommand, build, flags
from rote.cli._listing import Listing, deliver
from rote.cli._output import Output
from rote.cli._progress import TerminalReporter
from rote.core.errors import OptionError
from rote.core.metric import option
from rote.corpus import ReadOptions
from rote.search.trace.options import TraceOptions

if TYPE_CHECKING:
    from rote.search.trace.evidence import Span
    from rote.search.trace.trace import Trace

_HELP = """Where a text comes from: its spans that a corpus holds, word for word or nearly.

Every maximal span of a text that stands in the corpus, with the documents, authors and places
that hold it. Kinds: verbatim (the same words; capitals and line breaks may differ), lemma (the
same words in other forms), gapped (near-verbatim: words added, left out or exchanged).

\b
  rote trace story.txt --against IDX
  rote trace answers.jsonl --against IDX --sort unlikely -o trace.html
  rote trace essay.txt --against sources.jsonl --kinds verbatim --json
"""
_COLUMNS = (
    *("kind", "id", "source", "words", "bits", "edit_rate", "start", "end", "text"),
    *("occurrences", "documents", "authors", "recased", "document", "author"),
)


@dataclass(frozen=True, slots=True)
class _Corpus:
    """What the texts are held against."""

    against: str | None = option(
        None, "The corpus: an index, or a file of texts if they are few", metavar="IDX"
    )
    jobs: int = option(1, "How many cores to use; results do not depend on it")


def run(inputs: tuple[str, ...], **given: Any) -> None:
    from rote.core.compiling import say_if_compiling
    from rote.core.signature import Signature
    from rote.corpus import open_corpus
    from rote.measure._against import WITHOUT, open_against, signed_against
    from rote.search.trace.trace import trace

    options, output = build(TraceOptions, given), build(Output, given)
    output.form(page=True)  # a contradiction is noticed before the work, not after
    corpus, reporter = build(_Corpus, given), TerminalReporter(output.quiet)
    if corpus.against is None:
        raise OptionError(WITHOUT)
    texts = open_corpus([Path(name) for name in inputs], build(ReadOptions, given))
    for line in texts.guesses:
        reporter.say(line)
    index = open_against(corpus.against, ("lower", "lemma"), reporter)
    say_if_compiling(reporter, "rote.index.counting.longest")
    traced = trace(index, texts, options, jobs=corpus.jobs, reporter=reporter)
    signature = Signature.of(
        {
            "measure": "trace",
            **asdict(traced.options),
            "annotator": traced.signature,
            "against": signed_against(corpus.against),
            "texts": texts.fingerprint[:12],
        }
    )
    _deliver(traced, corpus.against, inputs, str(signature), output)


def _deliver(
    traced: Trace, against: str, inputs: tuple[str, ...], signature: str, output: Output
) -> None:
    from rote.report.texts import trace as shown

    names = ", ".join(Path(name).name for name in inputs)
    title = f"{names} against {Path(against).name}"
    rows = [_row(span, traced) for span in traced.spans]
    deliver(
        Listing("spans", rows, _COLUMNS, _about(traced, against, signature)),
        output,
        lambda console: shown.terminal(traced, console),
        page=lambda: shown.page(traced, title),
    )


def _row(span: Span, traced: Trace) -> dict[str, Any]:
    places = [asdict(place) for place in span.places]
    return {
        "kind": span.kind,
        "id": span.id,
        "source": traced.texts[span.number].source,
        "words": span.words,
        "bits": span.bits,
        "edits": span.edits._asdict(),
        "edit_rate": span.edit_rate,
        "start": span.start,
        "end": span.end,
        "text": span.text,
        "runs": span.runs,
        "occurrences": span.occurrences,
        "documents": span.documents,
        "authors": span.authors,
        "recased": span.recased,
        # The first place once more, for those who want one line per span.
        "document": places[0]["document"],
        "author": places[0]["author"],
        "places": places,
    }


def _about(traced: Trace, against: str, signature: str) -> dict[str, Any]:
    return {
        "against": against,
        "signature": signature,
        "settings": asdict(traced.options),
        "notes": list(traced.notes),
        "found": traced.found,
        "words": sum(text.words for text in traced.texts),
        "covered": sum(text.covered for text in traced.texts),
        "texts": [asdict(text) for text in traced.texts],
    }


command = SectionedCommand(
    "trace",
    callback=run,
    help=_HELP,
    params=[
        click.Argument(["inputs"], metavar="FILE...", nargs=-1, required=True),
        *flags(_Corpus, "Corpus"),
        *flags(TraceOptions, "What is matched and shown"),
        *flags(ReadOptions, "Reading"),
        *flags(Output, "Output"),
    ],
)
