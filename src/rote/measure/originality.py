"""Sentences that need a citation, and those that are an original use of language.

The GOT test of Brooks and Youssef (2021) against a ground truth: a fragment (two words or more of
one sentence, not begun or ended by a function word) is original if no source holds it, and common
property if more than one does (with --relax K: more than K). What is left needs a citation if it
has at least five words (--min-words) and is rarer than chance: so that chance brings at most 0.05
such fragments in 1,000 words (--chance). A sentence is original if it holds an original fragment;
it fails the test if it holds one that needs a citation. Documents of one author are one source.

`counts` says how many sentences of a text of that length chance would flag: held out, sentences of
the ground truth itself are judged by all other sources.

Direction: more original sentences are newer, more failing ones more repeated. Length: the number
of texts does not matter, but a longer sentence holds more fragments, so it is more easily original
and fails more easily; and everything depends on the size of the ground truth. Perplexity and BLEU
are there as what the paper calls insufficient: they see neither whose a fragment is nor
whether one is new, and they move with the number of texts.

Variants. `exact`: as defined, sources by document and author, duplicates kept; with --min-words 2
--chance 0 every fragment of one source needs a citation, as the paper's text says. `paper`: equal
sentences are removed first, then Algorithm 1 as printed, which counts windows and not sources.

Brooks and Youssef (2021), GOT: Testing for Originality in Natural Language Generation.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rote.compare.intervals import left_out_error
from rote.core.arrays import Floats
from rote.core.document import Document
from rote.core.errors import OptionError
from rote.core.evidence import (
    Evidence,
    EvidenceTexts,
    Mark,
    corpus_place,
    cut_evidence,
    encodable,
    group_by_source,
)
from rote.core.layer import Layer
from rote.core.metric import (
    Comparison,
    Metric,
    Value,
    Values,
    Work,
    check_options,
    is_given,
    option,
    unsigned,
)
from rote.core.progress import several
from rote.core.record import Chapter, Headline
from rote.core.result import Result, Row
from rote.core.sample import Need, Sample, Take
from rote.corpus import read_option
from rote.measure._originality_tables import LAYOUT, Rows, all_tables, bleu, match_sentences
from rote.measure._sentences import sentences_of
from rote.measure.novelty import COVERING, covered_words
from rote.search.reference_corpus import (
    NO_CORPUS,
    check_reference_corpus,
    corpus_option,
    longest_matches,
    open_reference_index,
)

if TYPE_CHECKING:
    from rote.index.index import Index
    from rote.search.originality.reach import GroundTruth
    from rote.search.originality.verdicts import FragmentSpans, HeldOut, SentenceVerdicts


# Words and tags say where a fragment may begin and end, whatever layer it is looked up in.
_WORDS, _TAGS = Need("word"), Need("pos")
_LISTED = 25
"""Sentences of each source, of every kind, that a report lists."""


def _signed_authors(authors: str) -> str:
    from rote.search.originality.authors import authors_signature

    return authors_signature(authors)


@dataclass(frozen=True, slots=True)
class Options:
    variant: Literal["exact", "paper"] = option(
        "exact", "procedure: as defined, or Algorithm 1 as printed"
    )
    corpus: str = corpus_option(default="")
    corpus_read: tuple[str, ...] = read_option("the corpus")
    relax: int = option(
        1, "a fragment with at most this many sources needs a citation", least=1, common=True
    )
    min_words: int = option(
        5, "minimum length of a fragment that needs a citation, in words", least=2, most=10_000
    )
    chance: float = option(
        0.05,
        "maximum number of fragments in 1,000 words that chance makes need a citation; 0: no "
        "maximum",
        least=0,
    )
    layer: str = option("lower", "layer of words in which fragments are looked up")
    document_field: str | None = option(
        None,
        "field that groups records of the ground truth into documents",
        metavar="FIELD",
        common=True,
    )
    authors: str = option(
        "",
        "CSV file with the columns name and author; corrects which names of the ground truth "
        "count as one author",
        metavar="FILE",
        sign=_signed_authors,
        opened=True,
        takes="table",
        common=True,
    )
    incompleteness: bool = option(
        True,
        "estimate how much is missing from the ground truth (one pass over all of it)",
        sign=unsigned,
    )
    top: int = option(
        250,
        "number of sentences to list per source with their evidence: this many failing ones, most "
        "repetitive first, and equally many others",
        least=0,
        sign=unsigned,
    )
    verdicts: bool = option(
        False, "also give a table with the verdict on every sentence", sign=unsigned, common=True
    )

    def __post_init__(self) -> None:
        check_options(self)
        chosen = {
            "relax": self.relax != 1,
            "min_words": self.min_words != 5,
            "chance": self.chance != 0.05,
            "document_field": self.document_field,
            "authors": is_given(self.authors),
        }
        for name in chosen if self.variant == "paper" else ():
            if chosen[name]:
                raise OptionError(f"Algorithm 1 knows no {name}: leave it out, or variant 'paper'")


SENTENCES, ORIGINAL, FAILING, HOLDING, NEW, CITED, WORDS, BITS = range(8)
FOUND, TOTAL, NEAREST = slice(8, 12), slice(12, 16), 16
COLUMNS = 17


def values(options: Options) -> tuple[Value, ...]:
    return (
        Value("original", "original sentences", "diverse", "neither", share=True),
        Value("failing", "sentences that need a citation", "repetitive", "neither", share=True),
        Value("new_fragments", "original fragments", "diverse", "neither", share=True),
        Value(
            "cited_fragments", "fragments that need a citation", "repetitive", "neither", share=True
        ),
        Value("perplexity", "perplexity under the index", "neither", "texts"),
        Value("bleu", "BLEU against the ground truth", "neither", "texts", share=True),
    )


def needs(options: Options) -> tuple[Need, ...]:
    layers = (Need(options.layer, spans=True), Need("text"))
    # Without a ground truth nothing is looked up, so nothing has to be tagged.
    return (*layers, _WORDS, _TAGS) if options.corpus else layers


def check(options: Options, signature: str) -> None:
    if is_given(options.authors):
        from rote.search.originality.authors import read_author_names

        read_author_names(options.authors)
    if options.corpus:
        check_reference_corpus(options.corpus, (options.layer,), signature)


def rows(sample: Sample, options: Options, work: Work) -> Rows:
    layer, raw = sample.layer(Need(options.layer, spans=True)), sample.text()
    sentences = sentences_of(layer)
    if not options.corpus:
        return Rows(layer, raw, sentences, np.full((len(layer), COLUMNS), np.nan))
    from rote.search.originality.algorithm1 import algorithm1
    from rote.search.originality.authors import read_author_names, sources_of
    from rote.search.originality.edges import edges_of_text, rule_for
    from rote.search.originality.reach import GroundTruth
    from rote.search.originality.verdicts import judge

    index = open_reference_index(options.corpus, (options.layer, "pos"), work.reporter)
    names = read_author_names(options.authors) if is_given(options.authors) else None
    sources = sources_of(index, options.document_field, names)
    ground = GroundTruth(index, options.layer, sources)
    rule = rule_for(index)
    edges = edges_of_text(sample.layer(_WORDS), sample.layer(_TAGS), rule)
    work.progress(0.2)
    relax, least, chance = options.relax, options.min_words, options.chance
    exact = judge(ground, layer, edges, relax=relax, min_words=least, chance=chance)
    assert exact.reach is not None
    verdicts = exact
    if options.variant == "paper":
        verdicts = algorithm1(index, options.layer).judge(layer, edges)
    work.progress(0.5)
    matched = match_sentences(ground, layer, exact.reach.known)
    bits = _bits(index, layer)
    work.progress(0.9)
    # A sentence has about as many fragments as the square of its length: each counts alike.
    fragments = np.maximum(verdicts.fragments, 1)
    by_sentence = np.column_stack(
        (
            np.ones(len(sentences)),
            verdicts.original,
            verdicts.fails,
            verdicts.fragments > 0,
            verdicts.originals / fragments,
            verdicts.cited / fragments,
            matched.lengths,
            np.add.reduceat(bits, sentences.starts) if len(sentences) else bits,
            matched.matched,
            matched.total,
            matched.nearest,
        )
    )
    sums = np.zeros((len(layer), COLUMNS))
    np.add.at(sums, sentences.texts, by_sentence)
    work.progress(1.0)
    return Rows(layer, raw, sentences, sums, verdicts, ground, rule)


def _bits(index: Index, layer: Layer) -> Floats:
    """What every word costs under the index's own language model; nothing is no model."""
    from rote.search.index_language_model import BackOff

    if not index.items_held(layer.name):
        return np.full(len(layer.ids), np.nan)
    return np.asarray(-np.log2(BackOff(index, layer.name).probabilities(layer)), np.float64)


def reduce(rows: Rows, take: Take, options: Options, rng: np.random.Generator) -> Values:
    return {name: float(value) for name, value in _values(rows.sums[take].sum(axis=0)).items()}


def standard_errors(rows: Rows, take: Take, options: Options) -> Values:
    """Each text left out in turn: all values are made of sums over texts."""
    sums = rows.sums[take]
    without = _values(sums.sum(axis=0) - sums)
    return {name: left_out_error(np.asarray(column)) for name, column in without.items()}


def per_text(rows: Rows, options: Options) -> Mapping[str, Floats]:
    return _values(rows.sums)


def notes(rows: Rows, take: Take, options: Options) -> list[str]:
    if rows.ground is None or rows.verdicts is None:
        return [NO_CORPUS]
    from rote.search.originality.verdicts import remarks

    # Algorithm 1 knows no sources.
    relax = options.relax if options.variant == "exact" else -1
    lines = remarks(rows.ground, rows.rule, relax, "the ground truth")
    if not rows.ground.index.items_held(options.layer):
        lines[0] += "; perplexity and BLEU are undefined"
    totals = rows.sums[take].sum(axis=0)
    return [*lines, *_undefined(totals)]


def _undefined(totals: Floats) -> Iterator[str]:
    """Why a value is nan, and which sentences cannot be judged; from the sums of a source."""
    if not totals[SENTENCES]:
        yield "no sentences: everything is undefined"
        return
    bare = int(totals[SENTENCES] - totals[HOLDING])
    if bare:
        yield (
            f"{bare:,} of {int(totals[SENTENCES]):,} sentences contain no fragment (one word, or "
            "only function words): neither original nor failing"
        )
    if not totals[HOLDING]:
        yield "no sentence contains a fragment: shares of fragments are undefined"
    if not totals[TOTAL][-1]:
        yield "no sentence of four words: BLEU is undefined"


def tables(rows: Rows, comparison: Comparison, options: Options) -> Mapping[str, Sequence[Any]]:
    if rows.ground is None:
        return {}
    return all_tables(rows, comparison, options)


def _values(sums: Floats) -> dict[str, Floats]:
    """All values, from sums over sentences; undefined ones are nan."""
    with np.errstate(divide="ignore", invalid="ignore"):
        values = {
            "original": sums[..., ORIGINAL] / sums[..., SENTENCES],
            "failing": sums[..., FAILING] / sums[..., SENTENCES],
            "new_fragments": sums[..., NEW] / sums[..., HOLDING],
            "cited_fragments": sums[..., CITED] / sums[..., HOLDING],
            "perplexity": np.exp2(sums[..., BITS] / sums[..., WORDS]),
        }
    # Without references (their length is nan) there is nothing to be near to.
    values["bleu"] = bleu(sums[..., FOUND], sums[..., TOTAL], sums[..., WORDS], sums[..., NEAREST])
    return values


def method(s: Mapping[str, str]) -> str:
    most = s["relax"]
    whose = "one source" if most == "1" else f"at most {most} sources"
    least = ""
    if s["variant"] == "exact":
        least = f" of at least {several(int(s['min_words']), 'word')}"
        if s["chance"] != "0":
            least += f", with at most {s['chance']} expected by chance in 1,000 words,"
    return (
        "A fragment (two words or more of a sentence, not begun or ended by a function word) is "
        f"original if no source of the corpus holds it; one{least} needs a citation if {whose} of "
        "the corpus holds it; a sentence is original if it holds an original fragment and fails if "
        "it holds one that needs a citation, documents of one author being one source"
    )


_MAX_CITED = 3


def evidence(result: Result, texts: EvidenceTexts) -> Iterator[Evidence]:
    """Sentences that need a citation, those that repeat most first, and one that does not."""
    sentences = group_by_source(result.tables.get("sentences", ()))
    citations: dict[tuple[Any, ...], list[Row]] = {}
    for row in result.tables.get("citations", ()):
        citations.setdefault(_citation_key(row, row), []).append(row)
    for source, rows in sentences.items():
        failing = sorted(
            (row for row in rows if row["fails"]),
            key=lambda row: -max((span["words"] for span in row["cited_fragments"]), default=0),
        )
        passing = [row for row in rows if row["original"] and not row["fails"]]
        for row in (*failing[: max(1, texts.count - 1)], *passing[:1]):
            cited = [
                _fragment_mark(row, span, "cited", citations.get(_citation_key(row, span), ()))
                for span in row["cited_fragments"]
            ]
            new = [_fragment_mark(row, span, "original", ()) for span in row["original_fragments"]]
            text, sentence = texts.of(row), encodable(row["text"])
            uncut = Evidence("originality", source, row["id"], sentence, tuple(cited or new))
            excerpt = cut_evidence(uncut)
            yield replace(excerpt, cut=excerpt.cut or text is None or len(text) > len(row["text"]))


def _citation_key(row: Row, span: Row) -> tuple[Any, ...]:
    place = (row["sentence"], span["start"], span["end"])
    return (row["source"], row["id"], row.get("file", ""), *place)


def _fragment_mark(row: Row, span: Row, kind: str, places: Sequence[Row]) -> Mark:
    return Mark(
        span["start"] - row["start"],
        span["end"] - row["start"],
        f"{several(span['words'], 'word')}",
        kind,
        tuple(corpus_place(place) for place in places[:_MAX_CITED]),
    )


METRIC = Metric(
    name="originality",
    title="Sentences that need a citation",
    values=values,
    needs=needs,
    options=Options,
    rows=rows,
    reduce=reduce,
    standard_errors=standard_errors,
    per_text=per_text,
    notes=notes,
    tables=tables,
    check=check,
    citation=(
        "Brooks and Youssef (2021), GOT: Testing for Originality in Natural Language Generation; "
        "Papineni et al. (2002) for BLEU; Good (1953) for the unseen mass"
    ),
    match="texts",
    inputs=False,
    layout=LAYOUT,
    says="Which sentences are an original use of language, and which need a citation.",
    section="corpus",
    chapter=Chapter(
        "Originality",
        20,
        texts="Sentences and the sources of their words",
        legend="A solid line: words that need a citation, with their sources below the text; a "
        "dotted line: words that occur nowhere in the corpus.",
        first=("lengths",),
    ),
    evidence=evidence,
    circular=("corpus", "new_fragments", 0.0),
    place=20,
    headlines=(
        Headline(
            "failing",
            "has more sentences that need a citation",
            "has fewer sentences that need a citation",
            unit="of its sentences",
            percent=True,
        ),
    ),
    method=method,
    effort="light",
    report=lambda context: context.lacks("corpus") or {"corpus": context.corpus, "top": _LISTED},
)


# One text judged by itself: its sentences with their verdicts, and every fragment that decides
# one, with its places; how much of it lies in runs that the index holds.
#
# The rules are those of `rote originality` and `rote novelty`, asked about a text that somebody
# reads; the web app shows what comes out.

LAYER = "lower"
LEAST_WORDS = 2 * COVERING[-1]
"""Words that a text needs for a creativity index: in a shorter one a run of the greatest length
has hardly room, and whatever was written would count as new."""
MOST_CITED = 300
"""Fragments to be cited that are looked up; of further ones it is only said where they are."""
_CITED = 3
"""Sources that are shown of a fragment."""
_AROUND = 80


@dataclass(frozen=True, slots=True)
class Fragment:
    """Characters of the text that are of one kind; `places` where the index has them."""

    kind: str
    start: int
    end: int
    words: int
    places: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Judged:
    """What was found in a text. Shares are nan where there is nothing to take a share of."""

    words: int
    coverage: dict[int, float]
    """Share of words in a run of at least so many words that the index holds."""
    creativity: float
    """nan for a text of fewer than LEAST_WORDS words."""
    longest: int
    sources: int
    """Authors and documents that the text was held against."""
    sentences: list[dict[str, Any]]
    fragments: list[Fragment]
    notes: list[str]
    by_chance: float
    """Sentences that chance would flag in a text of this length; nan where nobody knows."""


def ground_of(index: Index) -> GroundTruth:
    """An index as a ground truth; it can be kept for the next text."""
    from rote.search.originality.authors import sources_of
    from rote.search.originality.reach import GroundTruth

    if LAYER not in index.sorted_layers:
        raise OptionError(
            f"the index cannot count over the layer '{LAYER}', only over "
            f"{', '.join(index.sorted_layers) or 'none'}. `rote index add-layer IDX {LAYER}` adds "
            "it"
        )
    return GroundTruth(index, LAYER, sources_of(index))


def judged(
    ground: GroundTruth,
    text: str,
    flagged: HeldOut | None,
    *,
    relax: int,
    min_words: int,
    chance: float,
) -> Judged:
    """Hold a text against a ground truth; `flagged` are its own sentences by the same rule."""
    from rote.search.originality.edges import TAGS, edges_of_text, rule_for
    from rote.search.originality.verdicts import find_common, judge, remarks

    index = ground.index
    rule = rule_for(index)
    wanted = (LAYER, TAGS) if rule == "tags" else (LAYER,)
    recipe = replace(index.recipe, layers=wanted, subwords=())
    annotation = recipe.annotate([Document("text", text)])
    layer = annotation.layers[LAYER]
    if layer.sentence_ends is None:
        layer = replace(layer, sentence_ends=annotation.word.sentence_ends)
    edges = edges_of_text(annotation.word, annotation.layers.get(TAGS), rule)
    verdicts = judge(ground, layer, edges, relax=relax, min_words=min_words, chance=chance)
    runs = longest_matches(index, layer)
    words = len(layer.ids)
    shares = covered_words(runs, layer.text_ends)[0] / words if words else np.full(8, np.nan)
    fragments = [
        *_cited_fragments(ground, layer, verdicts.longest),
        *_list_fragments("original", layer, verdicts.shortest),
        *_list_fragments("common", layer, find_common(edges, verdicts)),
    ]
    return Judged(
        words=words,
        coverage=dict(zip(COVERING, shares.tolist())),
        creativity=float((1 - shares).sum()) if words >= LEAST_WORDS else math.nan,
        longest=int(runs.max(initial=0)),
        sources=ground.sources.count,
        sentences=_sentences(layer, verdicts, text),
        fragments=sorted(fragments, key=lambda fragment: (fragment.start, fragment.end)),
        notes=remarks(ground, rule, relax, "the index"),
        by_chance=flagged.expected(words) if flagged else math.nan,
    )


def _sentences(layer: Layer, verdicts: SentenceVerdicts, text: str) -> list[dict[str, Any]]:
    assert layer.sentence_ends is not None
    columns = {
        "original": verdicts.original,
        "fails": verdicts.fails,
        "fragments": verdicts.fragments,
        "original_fragments": verdicts.originals,
        "cited_fragments": verdicts.cited,
        "common_fragments": verdicts.commons,
    }
    sentences, first = [], 0
    for number, end in enumerate(layer.sentence_ends.tolist()):
        start, stop = int(layer.starts[first]), int(layer.ends[end - 1])
        row = {"number": number + 1, "start": start, "end": stop, "text": text[start:stop]}
        sentences.append(row | {name: column[number].item() for name, column in columns.items()})
        first = end
    return sentences


def _cited_fragments(ground: GroundTruth, layer: Layer, owed: FragmentSpans) -> list[Fragment]:
    """The longest fragments that need a citation, and where each of the first is."""
    from rote.search.originality.verdicts import FragmentSpans, find_citations
    from rote.search.rows.matches import row_of

    first = FragmentSpans(owed.starts[:MOST_CITED], owed.ends[:MOST_CITED])
    places = find_citations(ground, layer, first, limit=_CITED)
    citations = _list_fragments("cited", layer, owed)
    rows = [
        tuple(row_of(place, ground.index.context(place, _AROUND)) for place in places_of_span)
        for places_of_span in places
    ]
    cited = [replace(citation, places=of_span) for citation, of_span in zip(citations, rows)]
    return cited + citations[len(rows) :]


def _list_fragments(kind: str, layer: Layer, spans: FragmentSpans) -> list[Fragment]:
    return [
        Fragment(kind, int(layer.starts[first]), int(layer.ends[last - 1]), last - first)
        for first, last in zip(spans.starts.tolist(), spans.ends.tolist())
    ]
