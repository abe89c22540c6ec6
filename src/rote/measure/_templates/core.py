"""What the measure `templates` counts: its options, the rows of all texts, a group's values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rote.compare.intervals import shares
from rote.core.array_types import Floats, Integers
from rote.core.errors import InputError, OptionError
from rote.core.json_reader import parse_json
from rote.core.layer import Layer
from rote.core.metric import LONGEST_NGRAM, Values, Work, check_options, is_given, option
from rote.core.progress import several
from rote.core.sample import Need, RawText, Sample, Take
from rote.measure import compression
from rote.measure._ngram_kernels import ONCE
from rote.measure._speaking import signed
from rote.models.options import how_to_run, run_option

if TYPE_CHECKING:
    from rote.measure._templates.windows import Chosen, Windows

_WHITE_SPACE = Need("word", "whitespace")


@dataclass(frozen=True, slots=True)
class Options:
    """Settings of `templates`."""

    variant: Literal["exact", "paper", "package"] = option(
        "exact",
        "how it is computed: exactly, as the paper prints it, or as the diversity package does",
    )
    layer: str = option("pos", "layer whose n-grams are templates: pos, upos, dep, dep-bfs, ...")
    n: int = option(
        6,
        "items in a template",
        short="-n",
        least=1,
        most=LONGEST_NGRAM,
        common=True,
    )
    windows: Literal["text", "sentence"] = option(
        "text",
        "where a template may occur: anywhere in a text, or within one sentence",
        sign=lambda within: None if within == "text" else within,
    )
    lengths: tuple[int, ...] = option(
        (4, 5, 6, 7, 8),
        "template lengths of the curve",
        least=1,
        most=LONGEST_NGRAM,
        common=True,
    )
    top: int = option(
        100,
        "at most this many templates of a source",
        least=1,
        common=True,
    )
    min_count: int = option(2, "how often a template has to occur (variant exact)", least=1)
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
        opened=True,
        takes="index",
        sign=lambda corpora: signed_corpora(corpora) or None,
        common=True,
    )
    highlight: str | None = option(
        None,
        "show this text with its templates marked, instead of the tables",
        metavar="ID",
        sign=lambda name: None,
        common=True,
    )
    write: Path | None = option(
        None,
        "write every occurrence of a template to this file, one JSON object a line",
        metavar="FILE",
        sign=lambda path: None,
        form=False,
        writes=(".jsonl", ".ndjson"),
    )
    model: tuple[str, ...] = option(
        (),
        "how surprising templates are to these models, against other spans: folders, "
        "transformers:NAME, ...; several are checkpoints; NAME=MODEL gives one a name of its own",
        metavar="M,...",
        sign=lambda models: signed(models) if models else None,
    )
    context: Literal["text", "none"] = option(
        "text",
        "what a model sees before a span: the text up to it, or nothing",
        form=False,
        sign=lambda context: None if context == "text" else context,
    )
    device: str = run_option("device")
    dtype: str = run_option("dtype")
    batch: int = run_option("batch")
    threads: int = run_option("threads")
    key_variable: str = run_option("key_variable")
    rate: float = run_option("rate")
    price: tuple[float, float] | None = run_option("price")
    yes: bool = run_option("yes")

    def __post_init__(self) -> None:
        check_options(self)
        if self.windows == "sentence" and self.variant != "exact":
            known = (
                "the package's are so already" if self.variant == "package" else "the paper's not"
            )
            raise OptionError(f"--windows sentence is for the variant exact: {known}")
        if self.windows == "sentence" and is_given(self.corpus):
            raise OptionError(
                "an index counts n-grams across the ends of sentences, so templates within "
                "sentences cannot be compared with it: leave out --corpus, or --windows sentence"
            )
        how_to_run(self)  # what it refuses

    @property
    def by_sentence(self) -> bool:
        """Whether n-grams stay within sentences; all of them have numbers then."""
        return self.variant == "package" or self.windows == "sentence"

    def signed(self) -> dict[str, Any]:
        """The other variants ask for no minimum."""
        return {} if self.variant == "exact" else {"min_count": 1}


@dataclass(frozen=True, slots=True)
class Rows:
    """The layer's n-grams by number, and what the further tables need.

    `plain` is the raw text in plain glyphs, in which a variant looks for strings of words;
    `lengths` holds each text's length in the tokens that it divides by. `fixed` are the
    templates that were given for all sources, and `origin` the texts they come from, if any.
    `groups` are the sources.
    """

    layer: Layer
    word: Layer
    raw: RawText
    plain: RawText
    words: Integers
    lengths: Integers
    windows: Windows
    compression: compression.Rows
    fixed: Chosen | None = None
    origin: Take | None = None
    groups: Mapping[str, Take] = field(default_factory=dict)


def needs(options: Options) -> tuple[Need, ...]:
    return (
        Need(options.layer, spans=True),
        Need("word", spans=True),
        Need("text"),
        *((_WHITE_SPACE,) if options.variant == "package" else ()),
        *compression.needs(compression_options(options)),
    )


def rows(sample: Sample, options: Options, work: Work) -> Rows:
    layer, word = (sample.layer(Need(name, spans=True)) for name in (options.layer, "word"))
    found = windows_for(layer, options.n, options)
    work.progress(0.8)
    fixed, origin = _fixed(layer, found, options, work.groups)
    return Rows(
        layer=layer,
        word=word,
        raw=sample.text(),
        plain=_plain(sample.text(), options),
        words=sample.words,
        lengths=_lengths(sample, word, options),
        windows=found,
        compression=compression.rows(sample, compression_options(options), work),
        fixed=fixed,
        origin=origin,
        groups=work.groups,
    )


def _plain(raw: RawText, options: Options) -> RawText:
    if options.variant == "exact":
        return raw
    from rote.annotate.glyphs import fold_texts

    return RawText.of(fold_texts(raw.strings()).texts)


def windows_for(layer: Layer, n: int, options: Options) -> Windows:
    """The n-grams of a layer as the variant counts them."""
    return next(windows_of(layer, (n,), options))


def windows_of(layer: Layer, lengths: Sequence[int], options: Options) -> Iterator[Windows]:
    """The same for several lengths."""
    if options.variant == "package":
        from rote.measure._templates.strings import package_windows

        return (package_windows(layer, n) for n in lengths)
    from rote.measure._templates.windows import sentence_ends, windows_by_length

    # Given templates count wherever they stand, even if that is only once.
    singles = options.by_sentence or options.variant == "paper" or options.min_count < 2
    singles = singles or options.templates_from is not None
    within = sentence_ends(layer) if options.by_sentence else None
    return windows_by_length(layer, lengths, singles=singles, within=within)


def windows_in_texts(rows: Rows, options: Options) -> Integers:
    """How many n-grams each text holds."""
    found, layer = rows.windows, rows.layer
    if not options.by_sentence:
        lengths = layer.text_ends - layer.text_starts
        return np.asarray(np.maximum(lengths - found.n + 1, 0), np.int64)
    before = np.concatenate((np.zeros(1, np.int64), np.cumsum(found.numbers != ONCE)))
    return np.asarray(before[layer.text_ends] - before[layer.text_starts], np.int64)


def counted(rows: Rows, take: Take, options: Options) -> Values:
    """All values but CR; a source without texts or words has none."""
    words = int(rows.words[take].sum())
    length = {"length": words / len(take) if len(take) else np.nan}
    if not words:
        return {**length, "rate": np.nan, "per_token": np.nan, "distinct": np.nan}
    chosen = templates_of(rows, take, options)
    strings = (rows.windows, rows.word, rows.plain, take, chosen, rows.lengths)
    if options.variant == "paper":
        from rote.measure._templates.strings import paper_values

        return {**length, **paper_values(*strings, origin=rows.origin)}
    if options.variant == "package":
        from rote.measure._templates.strings import package_values

        return {**length, **package_values(*strings)}
    found, different = rows.windows.every.occurrences(take, chosen)
    return {
        **length,
        "rate": float(np.mean(found > 0)),
        "per_token": int(found.sum()) / words,
        "distinct": float(np.mean(different)),
    }


def counted_of_many(rows: Rows, takes: Sequence[Take], options: Options) -> dict[str, Floats]:
    """`counted` of many groups (variant exact)."""
    if rows.fixed is not None:
        each = [counted(rows, take, options) for take in takes]
        return {name: np.array([one[name] for one in each]) for name in each[0]}
    sizes = np.array([len(take) for take in takes])
    words = np.array([rows.words[take].sum() for take in takes])
    found = rows.windows.of_groups(takes, options.top, options.min_count)
    texts = np.where(words > 0, sizes, 0)
    return {
        "length": shares(words, sizes),
        "rate": shares(found[:, 0], texts),
        "per_token": shares(found[:, 1], words),
        "distinct": shares(found[:, 2], texts),
    }


def counted_in_texts(rows: Rows, options: Options) -> dict[str, Floats]:
    """In every text the templates of its source; the other variants count in all texts at once."""
    if options.variant != "exact":
        return {}
    columns = {name: np.full(len(rows.words), np.nan) for name in ("per_token", "distinct")}
    for take in rows.groups.values():
        found, different = rows.windows.every.occurrences(take, templates_of(rows, take, options))
        with np.errstate(invalid="ignore"):
            columns["per_token"][take] = found / rows.words[take]
        columns["distinct"][take] = different
    return columns


def templates_of(rows: Rows, take: Take, options: Options) -> Chosen:
    """The numbers of a group's templates: its own, or those that were given for all."""
    return _own(rows.layer, rows.windows, take, options) if rows.fixed is None else rows.fixed


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
    return numbers_of(read_templates(options.templates_from, options.n), layer, found), None


def _own(layer: Layer, found: Windows, take: Take, options: Options) -> Chosen:
    """A group's own templates; the paper and the package break ties by what they saw first."""
    if options.variant == "exact":
        return found.templates(take, options.top, options.min_count)
    from rote.measure._templates.strings import first_seen

    return first_seen(found, layer, take, options.top)


def _lengths(sample: Sample, word: Layer, options: Options) -> Integers:
    """Each text's length in the tokens that the variant divides by."""
    if options.variant == "package":
        counted = sample.layer(_WHITE_SPACE)
        return counted.text_ends - counted.text_starts
    if options.variant == "paper":
        from rote.measure._templates.strings import treebank_lengths

        return treebank_lengths(word, sample.text())
    return sample.words


def compression_options(options: Options) -> compression.Options:
    variant: Literal["exact", "package"] = "package" if options.variant == "package" else "exact"
    return compression.Options(variant=variant, layer=options.layer, codecs=("gzip",))


def read_templates(name: str, n: int) -> list[tuple[str, ...]]:
    """Templates from a file: a JSON result of `rote templates`, or one template per line."""
    path = Path(name)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise OptionError(
            f"--templates-from {name}: there is no source and no file of that name"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read ({error})", file=name) from None
    found = _from_json(text, name) if text.lstrip().startswith("{") else text.splitlines()
    templates = list(dict.fromkeys(tuple(line.split()) for line in found if line.strip()))
    for number, template in enumerate(templates, 1):
        if len(template) != n:
            raise InputError(
                f"'{' '.join(template)}' has {several(len(template), 'item')}, not {n}",
                file=name,
                line=number,
                remedy=f"Set -n {len(template)} if all of them are that long",
            )
    if not templates:
        raise InputError("no template in it", file=name, remedy="One per line, items by spaces")
    return templates


def numbers_of(templates: list[tuple[str, ...]], layer: Layer, windows: Windows) -> Chosen:
    """The numbers of those templates that stand anywhere in the texts."""
    known = {item: number for number, item in enumerate(layer.vocabulary)}
    found: list[int] = []
    for template in templates:
        wanted = [known.get(item, -1) for item in template]
        candidates = np.arange(len(windows.first))
        for offset, item in enumerate(wanted):
            candidates = candidates[layer.ids[windows.first[candidates] + offset] == item]
        found += candidates.tolist()
    return np.array(found, np.int64)


def signed_set(name: str) -> str:
    """What the signature says of a given set: a source's name, or what is in the file."""
    path = Path(name)
    return blake2b(path.read_bytes(), digest_size=6).hexdigest() if path.is_file() else name


def signed_corpora(corpora: Any) -> tuple[str, ...]:
    """What the signature says of corpora: their names, and which documents they hold."""
    from rote.measure._against import named_indexes, signed_against

    found = []
    for name, index in named_indexes(corpora):
        said = str(signed_against(str(index) if isinstance(index, Path) else index))
        found.append(f"{name}={said.rpartition('=')[2]}")
    return tuple(found)


def _from_json(text: str, name: str) -> list[str]:
    try:
        held = parse_json(text)
        return [row["template"] for row in held["tables"]["templates"]]
    except (InputError, KeyError, TypeError) as error:
        raise InputError(
            f"this is no JSON result of `rote templates` ({error})",
            file=name,
            remedy="Write one with `rote templates ... --json`, or give one template per line",
        ) from None
