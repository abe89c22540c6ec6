"""Which patterns of grammar stand again and again, and how much of the texts they fill.

Syntactic templates (Shaib et al. 2024): the most frequent n-grams of part-of-speech tags (or of
any layer) in a source's texts. Their rate is the share of texts that hold at least one of them;
templates per token says how many occurrences there are for each word; CR-POS how well the tags
compress, apart from any template.

Direction: higher is more repetitive. Length: a longer text holds a template more easily, and with
more texts the same number of templates fills less of each. Compare groups of different size by
the values at equal numbers of texts, and read the rate beside the mean length.

Variants. `exact`: an occurrence is a place where the tags stand. `paper`: as in the printed
tables, a text holds a template if one of the template's word strings is a substring of the raw
text; no minimum count. `package`: as `diversity` 0.3.1, n-grams within sentences of all texts
joined.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import OptionError
from rote.core.layer import Layer
from rote.core.metric import Comparison, Metric, Value, Values, Work, option
from rote.core.sample import Need, RawText, Sample, Take
from rote.measure import compression
from rote.measure._template_set import signed_corpora, signed_set

if TYPE_CHECKING:
    from rote.measure._windows import Chosen, Windows

# gzip at level 9 packs some 10 MB of tags a second: beyond this, resampling CR takes minutes.
_RESAMPLED_BYTES = 300_000
_WHITE_SPACE = Need("word", "whitespace")


@dataclass(frozen=True, slots=True)
class Options:
    """Settings of `templates`."""

    variant: Literal["exact", "paper", "package"] = option(
        "exact", "exact definition, the paper's printed numbers, or the diversity package"
    )
    layer: str = option("pos", "layer whose n-grams are templates: pos, upos, dep, dep-bfs, ...")
    n: int = option(6, "items in a template", short="-n")
    lengths: tuple[int, ...] = option((4, 5, 6, 7, 8), "template lengths of the curve")
    top: int = option(100, "at most this many templates of a source")
    min_count: int = option(2, "how often a template has to stand (variant exact)")
    documents: bool = option(
        True, "measure the documents that texts were made from (field document) as a source too"
    )
    templates_from: str | None = option(
        None,
        "match the templates of this source, or of a file, on all sources",
        metavar="SOURCE",
        sign=lambda name: name and signed_set(name),
    )
    corpus: tuple[str, ...] = option(
        (),
        "look the templates up in an index; several are named",
        metavar="NAME=IDX,...",
        sign=lambda corpora: signed_corpora(corpora) or None,
    )
    highlight: str | None = option(
        None,
        "show this text with its templates marked, instead of the tables",
        metavar="ID",
        sign=lambda name: None,
    )
    most_frequent: int = option(50_000, "how many n-grams of a corpus count as its most frequent")

    def __post_init__(self) -> None:
        for name in ("n", "top", "min_count", "most_frequent"):
            if getattr(self, name) < 1:
                raise OptionError(f"{name} must be at least 1, not {getattr(self, name)}")
        if any(n < 1 for n in self.lengths):
            raise OptionError("lengths must be at least 1")


@dataclass(frozen=True, slots=True)
class Rows:
    """The layer's n-grams by number, and what the further tables need.

    `lengths` holds each text's length in the tokens that a variant divides by. `fixed` are the
    templates that were given for all sources, and `origin` the texts they come from, if any.
    """

    layer: Layer
    word: Layer
    raw: RawText
    words: NDArray[np.int64]
    lengths: NDArray[np.int64]
    windows: Windows
    compression: compression.Rows
    fixed: Chosen | None = None
    origin: Take | None = None


def values(options: Options) -> tuple[Value, ...]:
    n = options.n
    return (
        Value("cr", f"CR of {options.layer}", "repetitive", True),
        Value("length", "mean length in words", "neither", False),
        Value("rate", f"texts with a template (n = {n})", "repetitive", True, share=True),
        Value("per_token", f"templates per token (n = {n})", "repetitive", True),
        Value("distinct", f"different templates in a text (n = {n})", "repetitive", True),
    )


def needs(options: Options) -> tuple[Need, ...]:
    return (
        Need(options.layer, spans=True),
        Need("word", spans=True),
        Need("text"),
        *((_WHITE_SPACE,) if options.variant == "package" else ()),
        *compression.needs(_compression(options)),
    )


def check(options: Options, signature: str) -> None:
    """A corpus that cannot be asked is refused before any text is read."""
    if options.corpus:
        from rote.measure._template_corpus import check_corpora

        check_corpora(options, signature=_annotator(signature))


def rows(sample: Sample, options: Options, work: Work) -> Rows:
    layer, word = (sample.layer(Need(name, spans=True)) for name in (options.layer, "word"))
    found = windows_for(layer, options.n, options)
    work.progress(0.8)
    fixed, origin = _fixed(layer, found, options, work.groups)
    return Rows(
        layer=layer,
        word=word,
        raw=sample.text(),
        words=sample.words,
        lengths=_lengths(sample, word, options),
        windows=found,
        compression=compression.rows(sample, _compression(options), work),
        fixed=fixed,
        origin=origin,
    )


def windows_for(layer: Layer, n: int, options: Options) -> Windows:
    """The n-grams of a layer as the variant counts them."""
    if options.variant == "package":
        from rote.measure._template_package import package_windows

        return package_windows(layer, n, options.top)
    from rote.measure._windows import windows

    # Given templates count wherever they stand, even if that is only once.
    singles = options.variant == "paper" or options.min_count < 2
    singles = singles or options.templates_from is not None
    return windows(layer, n, options.top, singles=singles)


def reduce(rows: Rows, take: Take, options: Options, rng: np.random.Generator) -> Values:
    ratio = compression.reduce(rows.compression, take, _compression(options), rng)["gzip"]
    return {"cr": ratio, **counted(rows, take, options)}


def resample(rows: Rows, take: Take, options: Options, rng: np.random.Generator) -> Values:
    """Without what is too costly: CR of many texts, and the string search of the other variants."""
    if options.variant != "exact":
        return {}
    if _long_to_compress(rows):
        return counted(rows, take, options)
    return reduce(rows, take, options, rng)


def counted(rows: Rows, take: Take, options: Options) -> Values:
    """All values but CR; a source without texts or words has none."""
    words = int(rows.words[take].sum())
    length = {"length": words / len(take) if len(take) else np.nan}
    if not words:
        return {**length, "rate": np.nan, "per_token": np.nan, "distinct": np.nan}
    chosen = templates_of(rows, take, options)
    strings = (rows.windows, rows.word, rows.raw, take, chosen, rows.lengths)
    if options.variant == "paper":
        from rote.measure._template_strings import paper_values

        return {**length, **paper_values(*strings, origin=rows.origin)}
    if options.variant == "package":
        from rote.measure._template_package import package_values

        return {**length, **package_values(*strings)}
    found, different = rows.windows.occurrences(take, chosen)
    return {
        **length,
        "rate": float(np.mean(found > 0)),
        "per_token": int(found.sum()) / words,
        "distinct": float(np.mean(different)),
    }


def templates_of(rows: Rows, take: Take, options: Options) -> Chosen:
    """The numbers of a group's templates: its own, or those that were given for all."""
    return _own(rows.layer, rows.windows, take, options) if rows.fixed is None else rows.fixed


def tables(rows: Rows, comparison: Comparison, options: Options) -> Mapping[str, Sequence[Any]]:
    """The templates themselves, the curve over n, the corpora; or one text with its templates."""
    from rote.measure._template_tables import length_table, template_tables

    if options.highlight is not None:
        from rote.measure._template_highlight import highlighted

        return {"highlight": [highlighted(rows, comparison, options)]}
    found: dict[str, Sequence[Any]] = {"lengths": length_table(rows, comparison, options)}
    found |= template_tables(rows, comparison, options)
    if options.corpus:
        from rote.measure._template_corpus import corpus_tables

        signature = _annotator(comparison.signature)
        found |= corpus_tables(rows, comparison, options, signature=signature)
    return found


def notes(rows: Rows, take: Take, options: Options) -> list[str]:
    found = []
    lengths = rows.layer.text_ends[take] - rows.layer.text_starts[take]
    short = int((lengths < options.n).sum())
    if short:
        found.append(f"{short:,} of {len(take):,} texts are shorter than n = {options.n}")
    if not len(templates_of(rows, take, options)):
        found.append(f"no {options.n}-gram stands {options.min_count} times: no template")
    if options.variant == "paper" and rows.word.sentence_ends is None:
        found.append("no sentence ends: each text's Treebank tokens are those of one sentence")
    if options.variant != "exact":
        found.append(f"variant {options.variant}: no intervals and no tests")
    elif _long_to_compress(rows):
        found.append(
            "no interval for CR, since it would have to be compressed hundreds of times; "
            f"`rote compression --layer {options.layer} --sample 50` gives one for a part"
        )
    return found


def _fixed(
    layer: Layer, found: Windows, options: Options, groups: Mapping[str, Take]
) -> tuple[Chosen | None, Take | None]:
    """The templates to be matched on all sources, and the texts they come from."""
    if options.templates_from is None:
        return None, None
    if options.variant == "package":
        raise OptionError("--templates-from works with the variants exact and paper")
    if options.templates_from in groups:
        origin = groups[options.templates_from]
        return _own(layer, found, origin, options), origin
    from rote.measure._template_set import numbers_of, read_templates

    return numbers_of(read_templates(options.templates_from, options.n), layer, found), None


def _own(layer: Layer, found: Windows, take: Take, options: Options) -> Chosen:
    """A group's own templates; the paper and the package break ties by what they saw first."""
    if options.variant == "exact":
        return found.templates(take, options.top, options.min_count)
    from rote.measure._template_strings import first_seen

    return first_seen(found, layer, take, options.top)


def _long_to_compress(rows: Rows) -> bool:
    return int(rows.compression.lengths.sum()) > _RESAMPLED_BYTES


def _lengths(sample: Sample, word: Layer, options: Options) -> NDArray[np.int64]:
    """Each text's length in the tokens that the variant divides by."""
    if options.variant == "package":
        counted = sample.layer(_WHITE_SPACE)
        return counted.text_ends - counted.text_starts
    if options.variant == "paper":
        from rote.measure._template_strings import treebank_lengths

        return treebank_lengths(word, sample.text())
    return sample.words


def _compression(options: Options) -> compression.Options:
    variant: Literal["exact", "package"] = "package" if options.variant == "package" else "exact"
    return compression.Options(variant=variant, layer=options.layer, codecs=("gzip",))


def _annotator(signature: str) -> str:
    """Words of the default tokenizer alone are those of the default annotator."""
    from rote.annotate import annotators, words

    return annotators.get().signature if signature == words.get().signature else signature


METRIC = Metric(
    name="templates",
    title="Syntactic templates",
    values=values,
    needs=needs,
    options=Options,
    rows=rows,
    reduce=reduce,
    resample=resample,
    citation=(
        "Shaib, Elazar, Li and Wallace (2024), Detection and Measurement of Syntactic Templates in "
        "Generated Text"
    ),
    match="texts",
    notes=notes,
    tables=tables,
    check=check,
    order_matters=True,
)
