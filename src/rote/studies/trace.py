"""Find where a text comes from: its spans in a corpus, word for word or nearly, with sources.

Every maximal span of a text that occurs in the corpus, with the documents, authors and places
that hold it. Kinds: verbatim (the same words; capitals and line breaks may differ), lemma (the
same words in other forms), gapped (near-verbatim: words added, left out or exchanged). Where it is
named, meaning: sentences that say the same, consecutive ones that lead to consecutive places as one
match, with the probability that chance does as well, and with the facts (numbers, names, negation)
in which both sides differ.

\b
  rote trace story.txt --corpus IDX
  rote trace answers.jsonl --corpus IDX --sort unlikely -o trace.html
  rote trace essay.txt --corpus sources.jsonl --kinds verbatim --json
  rote trace essay.txt --corpus IDX --kinds verbatim,gapped,meaning -o trace.html
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from rote.core.errors import OptionError
from rote.core.metric import (
    MOST_JOBS,
    check_options,
    engine_option,
    handle,
    is_given,
    unsigned_option,
)
from rote.core.record import Call, Findings, Study
from rote.core.table import Table, make_columns
from rote.corpus import ReadOptions, open_corpus, read_option
from rote.search.trace.options import MEANING, TraceOptions

if TYPE_CHECKING:
    from rote.search.trace.evidence import Span
    from rote.search.trace.trace import Trace

COLUMNS = tuple(
    "kind id source words bits edit_rate start end text occurrences documents authors recased "
    "document author similarity p differing".split()
)


@dataclass(frozen=True, slots=True)
class Options:
    """What the texts are held against."""

    SECTION: ClassVar[str] = "Corpus"
    corpus: str | None = handle(
        None,
        "Corpus to search: an index, or a file of texts if they are few",
        "IDX",
        takes="corpus",
    )
    corpus_read: tuple[str, ...] = read_option("the corpus")
    unrelated: str | None = handle(
        None,
        "Texts unrelated to the corpus, to estimate the probability of matches of meaning from; "
        "default: the corpus's own sentences, compared with its other documents",
        "FILE",
        takes="texts",
    )
    unrelated_read: tuple[str, ...] = read_option("the unrelated texts")
    jobs: int = unsigned_option(1, "Number of cores; results do not depend on it", most=MOST_JOBS)
    engine: str | None = engine_option()

    def __post_init__(self) -> None:
        from rote.search.reference_corpus import NO_CORPUS

        check_options(self)
        if self.corpus is None:
            raise OptionError(NO_CORPUS)


def run(call: Call) -> Findings:
    """Match the texts, and list the best spans with their sources."""
    from rote.search import reference_corpus
    from rote.search.trace.trace import trace

    options, texts = call.options, call.inputs
    layers = ("lower", "lemma", *([MEANING] if MEANING in call.of(TraceOptions).kinds else ()))
    index = reference_corpus.open_reference_index(options.corpus, layers, call.reporter)
    unrelated = None
    if is_given(options.unrelated):
        if MEANING not in layers:
            raise OptionError(f"--unrelated is for matches of meaning: add --kinds {MEANING}")
        read = call.of(ReadOptions).beside(options.unrelated_read)
        unrelated = open_corpus(options.unrelated, read, role="unrelated")
    traced = trace(
        index,
        texts,
        call.of(TraceOptions),
        jobs=options.jobs,
        engine=options.engine,
        reporter=call.reporter,
        unrelated=unrelated,
    )
    return Findings(
        signed={
            **asdict(traced.options),
            "annotator": traced.signature,
            "corpus": reference_corpus.reference_signature(options.corpus),
            "texts": texts.fingerprint[:12],
        },
        tables={"spans": [_span_row(span, traced) for span in traced.spans]},
        notes=traced.notes,
        about={
            "corpus": reference_corpus.reference_name(options.corpus),
            "signature": "",
            "settings": asdict(traced.options),
            "notes": list(traced.notes),
            "found": traced.span_counts,
            "words": sum(text.words for text in traced.texts),
            "covered": sum(text.covered for text in traced.texts),
            "reworded": sum(text.reworded for text in traced.texts),
            "texts": [asdict(text) for text in traced.texts],
        },
        listing="spans",
        detail=traced,
    )


def _span_row(span: Span, traced: Trace) -> dict[str, Any]:
    places = [asdict(place) for place in span.places]
    more = ("runs", "occurrences", "documents", "authors", "recased")
    return {
        "kind": span.kind,
        "id": span.id,
        "source": traced.texts[span.number].source,
        "words": span.words,
        "bits": span.bits,
        "edits": span.edits._asdict(),
        **{name: getattr(span, name) for name in ("edit_rate", "start", "end", "text", *more)},
        # The first place once more, for those who want one line per span.
        "document": places[0]["document"],
        "author": places[0]["author"],
        "similarity": span.match.similarity,
        "p": span.match.p,
        "differing": span.differing,
        "places": places,
    }


STUDY = Study(
    name="trace",
    title="Trace",
    says="Where a text comes from: its spans that occur in a corpus, with sources.",
    takes="texts",
    options=Options,
    more=(TraceOptions, ReadOptions),
    without=("seed_words", "seed_count"),
    run=run,
    output="listing",
    layout=(
        Table(
            "spans",
            "Spans that the corpus holds",
            make_columns(
                "kind id words:count bits:number.0 text:text document author "
                "occurrences=times:count"
            ),
        ),
    ),
)
