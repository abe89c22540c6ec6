"""What the measure `templates` counts: its options, the rows of all texts, a group's values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rote.annotate import words
from rote.annotate.glyphs import fold, fold_texts
from rote.compare.intervals import shares
from rote.core.arrays import Floats, Integers
from rote.core.errors import InputError, OptionError
from rote.core.json_reader import parse_json
from rote.core.layer import Layer, items_of, starts_of
from rote.core.metric import LONGEST_NGRAM, Values, Work, check_options, is_given, option
from rote.core.ngrams import ONCE
from rote.core.progress import several
from rote.core.sample import Need, RawText, Sample, Take
from rote.measure import compression
from rote.measure._template_windows import (
    Chosen,
    Windows,
    reaching_top,
    sentence_ends,
    windows,
    windows_by_length,
)
from rote.models.options import how_to_run, run_option
from rote.search.open_models import model_signatures
from rote.search.reference_corpus import name_indexes, reference_signature

_WHITE_SPACE = Need("word", "whitespace")


@dataclass(frozen=True, slots=True)
class Options:
    variant: Literal["exact", "paper", "package"] = option(
        "exact",
        "definition: exact, as printed in the paper, or as in the diversity package",
    )
    layer: str = option("pos", "layer whose n-grams are templates: pos, upos, dep, dep-bfs, ...")
    n: int = option(6, "items in a template", short="-n", least=1, most=LONGEST_NGRAM, common=True)
    windows: Literal["text", "sentence"] = option(
        "text",
        "where a template may occur: anywhere in a text, or within one sentence",
        sign=lambda within: None if within == "text" else within,
    )
    lengths: tuple[int, ...] = option(
        (4, 5, 6, 7, 8), "template lengths of the curve", least=1, most=LONGEST_NGRAM, common=True
    )
    top: int = option(100, "maximum number of templates per source", least=1, common=True)
    min_count: int = option(2, "minimum frequency of a template (variant exact)", least=1)
    templates_from: str | None = option(
        None,
        "use the templates of this source, or of a file, for all sources",
        metavar="SOURCE",
        sign=lambda name: name and signed_set(name),
    )
    corpus: tuple[str, ...] = option(
        (),
        "look up the templates in an index; several need names",
        metavar="NAME=IDX,...",
        opened=True,
        takes="index",
        sign=lambda corpora: signed_corpora(corpora) or None,
        common=True,
    )
    highlight: str | None = option(
        None,
        "show this text with its templates marked instead of the tables",
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
        "transformers:NAME, ...; several are checkpoints; NAME=MODEL names a model",
        metavar="M,...",
        sign=lambda models: model_signatures(models) if models else None,
    )
    context: Literal["text", "none"] = option(
        "text",
        "context of a span for the model: the text before it, or none",
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
            of_package = self.variant == "package"
            known = "the package's are so already" if of_package else "the paper's not"
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
    windows = next(windows_of(layer, (options.n,), options))
    work.progress(0.8)
    raw = plain = sample.text()
    if options.variant != "exact":
        plain = RawText.of(fold_texts(raw.strings()).texts)
    fixed, origin = _fixed_templates(layer, windows, options, work.groups)
    return Rows(
        layer=layer,
        word=word,
        raw=raw,
        plain=plain,
        words=sample.words,
        lengths=_lengths(sample, word, options),
        windows=windows,
        compression=compression.rows(sample, compression_options(options), work),
        fixed=fixed,
        origin=origin,
        groups=work.groups,
    )


def windows_of(layer: Layer, lengths: Sequence[int], options: Options) -> Iterator[Windows]:
    """The n-grams of a layer as the variant counts them."""
    if options.variant == "package":
        return (package_windows(layer, n) for n in lengths)

    # Given templates count wherever they stand, even if that is only once.
    singles = options.by_sentence or options.variant == "paper" or options.min_count < 2
    singles = singles or options.templates_from is not None
    within = sentence_ends(layer) if options.by_sentence else None
    return windows_by_length(layer, lengths, singles=singles, within=within)


def windows_in_texts(rows: Rows, options: Options) -> Integers:
    windows, layer = rows.windows, rows.layer
    if not options.by_sentence:
        lengths = layer.text_ends - layer.text_starts
        return np.asarray(np.maximum(lengths - windows.n + 1, 0), np.int64)
    before = np.concatenate((np.zeros(1, np.int64), np.cumsum(windows.numbers != ONCE)))
    return np.asarray(before[layer.text_ends] - before[layer.text_starts], np.int64)


def template_values(rows: Rows, take: Take, options: Options) -> Values:
    """All values but CR; a source without texts or words has none."""
    words = int(rows.words[take].sum())
    length = {"length": words / len(take) if len(take) else np.nan}
    if not words:
        return {**length, "rate": np.nan, "per_token": np.nan, "distinct": np.nan}
    chosen = templates_of(rows, take, options)
    if options.variant != "exact":
        texts = (rows.windows, rows.word, rows.plain, take, chosen, rows.lengths)
        return {**length, **string_values(options.variant, *texts, origin=rows.origin)}
    counts, different = rows.windows.every.occurrences(take, chosen)
    return {
        **length,
        "rate": float(np.mean(counts > 0)),
        "per_token": int(counts.sum()) / words,
        "distinct": float(np.mean(different)),
    }


def counted_of_many(rows: Rows, takes: Sequence[Take], options: Options) -> dict[str, Floats]:
    """`template_values` of many groups (variant exact)."""
    if rows.fixed is not None:
        each = [template_values(rows, take, options) for take in takes]
        return {name: np.array([values[name] for values in each]) for name in each[0]}
    sizes = np.array([len(take) for take in takes])
    words = np.array([rows.words[take].sum() for take in takes])
    by_group = rows.windows.of_groups(takes, options.top, options.min_count)
    texts = np.where(words > 0, sizes, 0)
    return {
        "length": shares(words, sizes),
        "rate": shares(by_group[:, 0], texts),
        "per_token": shares(by_group[:, 1], words),
        "distinct": shares(by_group[:, 2], texts),
    }


def counted_in_texts(rows: Rows, options: Options) -> dict[str, Floats]:
    """In every text the templates of its source; the other variants count in all texts at once."""
    if options.variant != "exact":
        return {}
    columns = {name: np.full(len(rows.words), np.nan) for name in ("per_token", "distinct")}
    for take in rows.groups.values():
        values = contributions(rows, take, options)
        for name, column in columns.items():
            column[take] = values[name]
    return columns


def contributions(rows: Rows, take: Take, options: Options) -> dict[str, Floats]:
    """In every text the templates of all these texts together, whatever their source."""
    if options.variant != "exact":
        return {}
    counts, different = rows.windows.every.occurrences(take, templates_of(rows, take, options))
    return {
        "rate": (counts > 0).astype(np.float64),
        "per_token": shares(counts, rows.words[take]),
        "distinct": different.astype(np.float64),
    }


def templates_of(rows: Rows, take: Take, options: Options) -> Chosen:
    """The numbers of a group's templates: its own, or those that were given for all."""
    return _select(rows.layer, rows.windows, take, options) if rows.fixed is None else rows.fixed


def _fixed_templates(
    layer: Layer, windows: Windows, options: Options, groups: Mapping[str, Take]
) -> tuple[Chosen | None, Take | None]:
    """The templates to be matched on all sources, and the texts they come from."""
    if options.templates_from is None:
        return None, None
    if options.variant == "package":
        raise OptionError("--templates-from works with the variants exact and paper")
    if options.templates_from in groups:
        origin = groups[options.templates_from]
        return _select(layer, windows, origin, options), origin
    return numbers_of(read_templates(options.templates_from, options.n), layer, windows), None


def _select(layer: Layer, windows: Windows, take: Take, options: Options) -> Chosen:
    """A group's own templates; the paper and the package break ties by what they saw first."""
    if options.variant == "exact":
        return windows.templates(take, options.top, options.min_count)
    return first_seen(windows, layer, take, options.top)


def _lengths(sample: Sample, word: Layer, options: Options) -> Integers:
    """Each text's length in the tokens that the variant divides by."""
    if options.variant == "package":
        counted = sample.layer(_WHITE_SPACE)
        return counted.text_ends - counted.text_starts
    if options.variant == "paper":
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
        problem = f"--templates-from {name}: there is no source and no file of that name"
        raise OptionError(problem) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read ({error})", file=name) from None
    lines = _from_json(text, name) if text.lstrip().startswith("{") else text.splitlines()
    templates = list(dict.fromkeys(tuple(line.split()) for line in lines if line.strip()))
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
    numbers: list[int] = []
    for template in templates:
        wanted = [known.get(item, -1) for item in template]
        candidates = np.arange(len(windows.first))
        for offset, item in enumerate(wanted):
            candidates = candidates[layer.ids[windows.first[candidates] + offset] == item]
        numbers += candidates.tolist()
    return np.array(numbers, np.int64)


def signed_set(name: str) -> str:
    """What the signature says of a given set: a source's name, or what is in the file."""
    path = Path(name)
    return blake2b(path.read_bytes(), digest_size=6).hexdigest() if path.is_file() else name


def signed_corpora(corpora: Any) -> tuple[str, ...]:
    """What the signature says of corpora: their names, and which documents they hold."""
    signatures = []
    for name, index in name_indexes(corpora):
        signature = str(reference_signature(str(index) if isinstance(index, Path) else index))
        signatures.append(f"{name}={signature.rpartition('=')[2]}")
    return tuple(signatures)


def _from_json(text: str, name: str) -> list[str]:
    try:
        data = parse_json(text)
        return [row["template"] for row in data["tables"]["templates"]]
    except (InputError, KeyError, TypeError) as error:
        raise InputError(
            f"this is no JSON result of `rote templates` ({error})",
            file=name,
            remedy="Write one with `rote templates ... --json`, or give one template per line",
        ) from None


# Templates by their word strings: how the paper's tables, and the package, look for them. A text
# holds a template if one of the strings of words at its occurrences is a substring of the raw text.
#
# The paper leaves three things open. Of what was tried on the runs of its table 12, these come
# nearest: n-grams cross sentence ends, of equally frequent n-grams those seen first are taken, and
# a text's length is that of its sentences in the tokens of NLTK's `word_tokenize` (a full stop is
# a token at the end of every sentence; the mean lengths that the table prints are these within
# 0.2). Strings and texts are compared in plain glyphs.
#
# The package, `diversity` 0.3.1: n-grams within sentences, equal ones as first seen, without a
# minimum count. At each place of a text it counts how many shards of 500 strings have one that
# begins there. It shards a Python set, whose order changes from run to run; here strings are
# sharded as they are first seen. Sentences end with their text, while the package joins all texts.

# What `word_tokenize` cuts off beyond the treebank's own conventions.
_LAST_STOP = re.compile(r"""(?<=[^.])\.(?=[\])}>"'»\s]*\Z)""")
_STOPS = re.compile(r"\.{2,}")
_MARKS = re.compile(r"[«»*]|`+|(?<!\w)'(?!(?:re|ve|ll|m|t|s|d|n)\b)(?=\w)", re.IGNORECASE)
_STEP = 0xD6E8FEB86659FD93
"""Odd, without structure, for hashes that wrap at 64 bits; and what undoes it."""
_STEPS = (_STEP, pow(_STEP, -1, 2**64))
_BYTES_AT_ONCE, _BITS = 1 << 20, 22
_SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")
SHARD = 500


@dataclass(frozen=True, slots=True)
class TemplateStrings:
    """The strings of some templates, numbered as they are first seen.

    `pairs[i]` = (string, template): that string stands at an occurrence of that template, which
    is a number below `templates`. Sorted by string.
    """

    strings: Sequence[bytes]
    pairs: Integers
    templates: int

    def count_held(self, matches: StringMatches) -> int:
        """How many (text, template) pairs there are: any of its strings is a template's."""
        texts, strings = _different(matches.texts, matches.strings, len(self.strings))
        first = np.searchsorted(self.pairs[:, 0], np.arange(len(self.strings) + 1))
        rows, _ = items_of(first[strings], first[strings + 1])
        texts = np.repeat(texts, first[strings + 1] - first[strings])
        return len(_different(texts, self.pairs[rows, 1], self.templates)[0])


@dataclass(frozen=True, slots=True)
class StringMatches:
    """String `strings[i]` stands at byte `starts[i]` of text `texts[i]`."""

    texts: Integers
    starts: Integers
    strings: Integers


def string_values(
    variant: Literal["paper", "package"],
    windows: Windows,
    word: Layer,
    raw: RawText,
    take: Take,
    chosen: Chosen,
    lengths: Integers,
    *,
    origin: Take | None = None,
    shard: int = SHARD,
) -> Values:
    """Share of texts with a template, templates per token, templates in a text.

    `lengths`: those of all texts in the tokens of the variant. `origin`: the texts that the strings
    come from, if not these. Per token the paper counts (template, string) pairs of each text, and
    divides by all tokens; the package has a mean over texts, in which one without words has 0 hits.
    """
    if not len(take):
        return dict.fromkeys(("rate", "per_token", "distinct"), np.nan)
    strings = strings_of(windows, word, take if origin is None else origin, chosen)
    matches = find(strings.strings, raw, take)
    if variant == "package":
        hits = np.stack((matches.texts, matches.starts, matches.strings // shard), axis=1)
        counts = np.bincount(np.unique(hits, axis=0)[:, 0], minlength=len(take))
        per_token = float(np.mean(counts / np.maximum(lengths[take], 1)))
    else:
        _, once_in_text = _different(matches.texts, matches.strings, len(strings.strings))
        weights = np.bincount(strings.pairs[:, 0], minlength=len(strings.strings))
        tokens = int(lengths[take].sum())
        per_token = int(weights[once_in_text].sum()) / tokens if tokens else np.nan
    return {
        "rate": len(np.unique(matches.texts)) / len(take),
        "per_token": per_token,
        "distinct": strings.count_held(matches) / len(take),
    }


def package_windows(layer: Layer, n: int) -> Windows:
    """The layer's n-grams within sentences; their listings go by sentence, not by text."""
    return windows(replace(layer, text_ends=sentence_ends(layer)), n, singles=True)


def strings_of(windows: Windows, word: Layer, take: Take, chosen: Chosen) -> TemplateStrings:
    """The words at every occurrence of the templates in these texts.

    `windows` may be those of texts or of sentences, with all n-grams numbered.
    """
    if len(windows.numbers) != len(word.ids):
        raise OptionError(
            "the variants paper and package look for the words of a template, and this layer's "
            "items are not words: use a layer such as pos, or --variant exact"
        )
    places, templates = windows.places(word, take, chosen)
    encoded = [fold(entry).encode("utf-8", "surrogatepass") for entry in word.vocabulary]
    rows = word.ids[places[:, None] + np.arange(windows.n)].tolist()
    known: dict[bytes, int] = {}
    spelled = (b" ".join([encoded[i] for i in row]) for row in rows)
    numbers = np.array([known.setdefault(s, len(known)) for s in spelled], np.int64)
    pairs = np.stack(_different(numbers, templates, len(chosen)), axis=1)
    return TemplateStrings(list(known), pairs, len(chosen))


def find(strings: Sequence[bytes], raw: RawText, take: Take) -> StringMatches:
    """Every place at which one of the strings stands; texts by their rank in `take`.

    Each string is held by its core, from its first space to its last, so that only the spaces of
    the texts have to be looked at: a core that is known says how far before and behind it strings
    reach, and each such stretch is looked up whole. Bytes are compared before a match counts. A
    string without a space has an empty core, which stands everywhere. No string is empty.
    """
    starts, ends = starts_of(raw.ends)[take], raw.ends[take]
    parts = np.flatnonzero(np.diff(np.cumsum(ends - starts) // _BYTES_AT_ONCE, prepend=-1))
    matches = [np.empty((0, 3), np.int64)]
    if len(strings):
        looking = _Cores(strings)
        for first, last in pairwise([*parts.tolist(), len(take)]):
            bounds = zip(starts[first:last].tolist(), ends[first:last].tolist())
            data = np.concatenate([raw.data[a:b] for a, b in bounds])
            rows = looking.standing(data, np.cumsum((ends - starts)[first:last]))
            rows[:, 0] += first
            matches.append(rows)
    columns = np.concatenate(matches).T
    return StringMatches(*(np.ascontiguousarray(column) for column in columns))


class _Cores:
    """Strings by their hashes, and what stands around each core."""

    def __init__(self, strings: Sequence[bytes]) -> None:
        self.strings = strings
        sizes = np.array([len(string) for string in strings])
        low = np.array([max(string.find(b" "), 0) for string in strings])
        high = np.array([string.rfind(b" ") + 1 for string in strings])
        self.spaces = np.array([string.count(b" ") for string in strings])
        ends = np.cumsum(sizes)
        hashes = _Hashes(np.frombuffer(b"".join(strings), np.uint8))
        hashed = hashes.of(ends - sizes, ends)
        self.order = np.argsort(hashed, kind="stable")
        self.whole = hashed[self.order]
        cores = hashes.of(ends - sizes + low, ends - sizes + high)
        # Two cores of one hash would share their shapes: more is looked up, nothing is missed.
        around = (column.astype(np.uint64) for column in (low, sizes - high))
        shapes = np.unique(np.stack((cores, *around), axis=1), axis=0)
        self.cores, self.before, self.behind = shapes[:, 0], *shapes[:, 1:].astype(np.int64).T
        self.may_be = np.zeros((2, 1 << _BITS), np.bool_)
        for kind, known in enumerate((cores, hashed)):
            self.may_be[kind, known >> np.uint64(64 - _BITS)] = True

    def standing(self, data: NDArray[np.uint8], ends: Integers) -> Integers:
        """Text, start in it and string of each match in a block of texts."""
        hashes, gaps, starts = _Hashes(data), np.flatnonzero(data == ord(" ")), starts_of(ends)
        parts = [np.empty((0, 3), np.int64)]
        for spaces in np.unique(self.spaces).tolist():
            low = gaps[: max(0, len(gaps) - spaces + 1)] if spaces else np.arange(len(data) + 1)
            high = gaps[spaces - 1 :] + 1 if spaces else low
            core = hashes.of(low, high)
            # Most are not known: that is seen in one look.
            maybe = self.may_be[0, core >> np.uint64(64 - _BITS)]
            low, high, core = low[maybe], high[maybe], core[maybe]
            first, last = (np.searchsorted(self.cores, core, side=side) for side in _SIDES)
            shapes, _ = items_of(first, last)
            begin = np.repeat(low, last - first) - self.before[shapes]
            end = np.repeat(high, last - first) + self.behind[shapes]
            inside = (begin >= 0) & (end <= len(data)) & (begin < end)
            begin, end = begin[inside], end[inside]
            hashed = hashes.of(begin, end)
            maybe = self.may_be[1, hashed >> np.uint64(64 - _BITS)]
            begin, end, hashed = begin[maybe], end[maybe], hashed[maybe]
            text = np.searchsorted(ends, begin, side="right")
            place = np.minimum(np.searchsorted(self.whole, hashed), len(self.whole) - 1)
            string = self.order[place]
            known = (self.whole[place] == hashed) & (end <= ends[text])
            # What has more spaces than its core stands around another one too.
            known &= self.spaces[string] == spaces
            rows = np.stack((text, begin, string), axis=1)[known]
            same = [
                data[a : a + len(self.strings[s])].tobytes() == self.strings[s]
                for a, s in rows[:, 1:].tolist()
            ]
            rows[:, 1] -= starts[rows[:, 0]]
            parts.append(rows[np.array(same, np.bool_)])
        return np.concatenate(parts)


@lru_cache(maxsize=4)
def _powers(base: int, most: int) -> NDArray[np.uint64]:
    powers = np.full(most + 1, base, np.uint64)
    powers[0] = 1
    return np.cumprod(powers, out=powers)


class _Hashes:
    """Hashes of any stretches of some bytes, from running sums."""

    def __init__(self, data: NDArray[np.uint8]) -> None:
        powers, self.back = (_powers(step, 1 << len(data).bit_length()) for step in _STEPS)
        self.sums = np.zeros(len(data) + 1, np.uint64)
        np.cumsum((data + np.uint64(1)) * powers[: len(data)], out=self.sums[1:])

    def of(self, starts: Integers, ends: Integers) -> NDArray[np.uint64]:
        return np.asarray((self.sums[ends] - self.sums[starts]) * self.back[starts], np.uint64)


def first_seen(windows: Windows, layer: Layer, take: Take, top: int) -> Chosen:
    """The `top` most frequent n-grams of these texts; of equal ones, those that are seen first."""
    counts, _ = windows.tally(layer, take)
    there = np.flatnonzero(counts)
    there = there[reaching_top(counts[there], top)]
    places, which = windows.places(layer, take, there)
    first = places[np.unique(which, return_index=True)[1]]
    return there[np.lexsort((first, -counts[there]))][:top]


def treebank_lengths(word: Layer, raw: RawText) -> Integers:
    """Tokens of each text as NLTK counts them, sentence by sentence (without ends: as one)."""
    ends = np.unique(word.text_ends) if word.sentence_ends is None else word.sentence_ends
    cuts = np.searchsorted(ends, word.text_ends, side="right")
    sentences, owners, first = [], [], 0
    for text, last in enumerate(cuts.tolist()):
        letters = raw.string(text)
        # A sentence reaches to the end of its last word, the last one of a text to the text's.
        inner = word.ends[ends[first : last - 1] - 1].tolist() if last - first > 1 else []
        bounds = [0, *inner, len(letters)]
        sentences += [letters[a:b] for a, b in pairwise(bounds)]
        owners += [text] * (len(bounds) - 1)
        first = last
    stops_apart = (_LAST_STOP.sub(" . ", fold(sentence)) for sentence in sentences)
    spaced = [_MARKS.sub(r" \g<0> ", _STOPS.sub(" ... ", sentence)) for sentence in stops_apart]
    tokens = words.get("treebank")(spaced)
    counts = tokens.text_ends - tokens.text_starts
    lengths = np.zeros(len(word), np.int64)
    np.add.at(lengths, owners, counts)
    return lengths


def _different(first: Integers, second: Integers, kinds: int) -> tuple[Integers, Integers]:
    """The different pairs of two columns, sorted; the second's numbers lie below `kinds`."""
    keys = np.unique(first * max(kinds, 1) + second)
    return keys // max(kinds, 1), keys % max(kinds, 1)
