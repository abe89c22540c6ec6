"""Templates: patterns of grammar that recur, and how much of the texts they fill.

Syntactic templates (Shaib et al. 2024): the most frequent n-grams of part-of-speech tags (or of
any layer) in a source's texts. Their rate is the share of texts that hold at least one of them;
templates per token says how many occurrences there are for each word; CR-POS how well the tags
compress, apart from any template.

Direction: higher is more repetitive. Length: a longer text holds a template more easily, templates
per token moves with the length of texts too, and with more texts the same number of templates
fills less of each. Compare groups of different size by the values at equal length.

Variants. `exact`: an occurrence is a place with these tags. `paper`: as in the printed
tables, a text holds a template if one of the template's word strings is a substring of the raw
text; no minimum count. `package`: as `diversity` 0.3.1, n-grams within sentences of all texts
joined. `--windows sentence` counts n-grams within sentences under the exact definition.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import permutations
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rote.compare.log_odds import LogOdds, contrast, frequent_enough, permuted_excess
from rote.compare.permutation import balance_groups_by_id, make_exchange
from rote.compare.resampling import generator
from rote.core.arrays import Floats, Integers
from rote.core.errors import OptionError
from rote.core.evidence import Evidence, EvidenceTexts, Mark, cut_evidence, group_by_source
from rote.core.files import check_parent
from rote.core.layer import Layer, layer_words
from rote.core.metric import Comparison, Metric, Value, Values, is_given
from rote.core.progress import several
from rote.core.record import Chapter, Headline, ReportContext
from rote.core.result import Result
from rote.core.sample import Need, Take
from rote.measure import compression
from rote.measure._template_output import CHARTS, LAYOUT
from rote.measure._template_rows import (
    Options,
    Rows,
    compression_options,
    contributions,
    counted_in_texts,
    counted_of_many,
    needs,
    rows,
    template_values,
    templates_of,
    windows_in_texts,
    windows_of,
)
from rote.measure._template_windows import EXAMPLES, Chosen, MatchReader, Read, spans
from rote.measure._text_means import count_note
from rote.search.open_models import check_models
from rote.search.reference_corpus import annotator_signature


def values(options: Options) -> tuple[Value, ...]:
    n, holding = options.n, f"texts with a template (n = {options.n})"
    return (
        Value("cr", f"CR of {options.layer}", "repetitive", "both"),
        Value("length", "mean length in words", "neither", "length", size=True),
        Value("rate", holding, "repetitive", "length", share=True, of_texts=True),
        Value("per_token", f"templates per token (n = {n})", "repetitive", "both"),
        Value("distinct", f"different templates in a text (n = {n})", "repetitive", "both"),
    )


def check(options: Options, signature: str) -> None:
    """A corpus or a model that cannot be asked is refused before any text is read."""
    if is_given(options.corpus):
        from rote.measure._template_corpus import check_corpora

        check_corpora(options, signature=annotator_signature(signature))
    if (path := options.write) is not None:
        # A file that is there is never written over: it may be an input.
        check_parent(path)
        if path.exists():
            raise OptionError(f"{path} already exists: choose another file for --write")
    if options.model:
        check_models(options.model)


def reduce(rows: Rows, take: Take, options: Options, rng: np.random.Generator) -> Values:
    of_tags = compression.reduce(rows.compression, take, compression_options(options), rng)
    return {"cr": next(iter(of_tags.values())), **template_values(rows, take, options)}


def resample(rows: Rows, take: Take, options: Options, rng: np.random.Generator) -> Values:
    """Without what is too costly: the string search of the other variants."""
    by_name = many(rows, [take], [value.name for value in values(options)], options)
    return {name: float(column[0]) for name, column in by_name.items()}


def many(
    rows: Rows, takes: Sequence[Take], names: Collection[str], options: Options
) -> dict[str, Floats]:
    """`resample` of many groups; CR by what stands in for it in `compression`."""
    if options.variant != "exact":
        return {}
    by_name = {}
    if set(names) != {"cr"}:
        by_name = counted_of_many(rows, takes, options)
    if "cr" in names:
        by_name |= compression.many(rows.compression, takes, ["cr"], compression_options(options))
    return {name: column for name, column in by_name.items() if name in names}


def text_errors(rows: Rows, take: Take, options: Options) -> Mapping[str, Floats]:
    if options.variant != "exact":
        return {}
    errors = compression.text_errors(rows.compression, take, compression_options(options))
    return dict(zip(["cr"], errors.values()))


def tables(rows: Rows, comparison: Comparison, options: Options) -> Mapping[str, Sequence[Any]]:
    """The templates themselves, the curve over n, the corpora; or one text with its templates."""
    if options.write is not None:
        write_matches(rows, comparison, options, options.write)
    if options.highlight is not None:
        return {"highlight": highlighted(rows, comparison, options)}
    by_name: dict[str, Sequence[Any]] = {"lengths": length_table(rows, comparison, options)}
    by_name |= TemplateTables(rows, comparison, options).tables()
    if is_given(options.corpus):
        from rote.measure._template_corpus import open_corpora, tables_of

        signature = annotator_signature(comparison.signature)
        corpora = open_corpora(options, signature=signature, reporter=comparison.reporter)
        by_name |= tables_of(corpora, rows, comparison, options)
    if options.model:
        from rote.measure._template_corpus import perplexity_table

        by_name["perplexity"] = perplexity_table(rows, comparison, options)
    return by_name


def notes(rows: Rows, take: Take, options: Options) -> list[str]:
    windows = windows_in_texts(rows, options)[take]
    short = "have no sentence of" if options.windows == "sentence" else "are shorter than"
    lines = count_note(windows == 0, f"texts {short} n = {options.n}")
    if not len(templates_of(rows, take, options)):
        least = several(options.min_count, "time")
        lines.append(f"no {options.n}-gram occurs {least}: no template")
    if options.variant == "paper" and rows.word.sentence_ends is None:
        lines.append("no sentence ends: each text's Treebank tokens are those of one sentence")
    if options.variant != "exact":
        lines.append(f"variant {options.variant}: no intervals or tests")
    return lines


def method(s: Mapping[str, str]) -> str:
    of = layer_words(s["layer"])
    where = "in its texts" if s.get("windows") is None else "within the sentences of its texts"
    least = "" if s["min_count"] == "1" else f" that occur at least {s['min_count']} times"
    return (
        f"Templates of a source are the {s['top']} most frequent n-grams (n = {s['n']}) of {of} "
        f"{where}{least}; we report the share of texts with one, and occurrences per word"
    )


def looked_up(context: ReportContext) -> dict[str, Any]:
    """A report looks templates up in its corpus; a file of texts cannot be asked for tags."""
    from rote.index.folders.manifest import is_index
    from rote.index.index import Index

    if isinstance(context.corpus, Index):
        return {"corpus": (context.corpus,)}
    if not isinstance(context.corpus, str) or not is_index(Path(context.corpus)):
        return {}
    return {"corpus": (f"{Path(context.corpus).resolve().name}={context.corpus}",)}


_MIN_WORDS = 30
"""Words from which on a text shows a habit, and not just itself."""
_TAGS = Need("pos", spans=True)
_FACTOR = 0xD6E8FEB86659FD93
"""Odd, without structure: its powers make hashes of n-grams."""
TemplatePlace = tuple[int, int]
"""An item of a text, and which of the templates begins there."""


def evidence(result: Result, texts: EvidenceTexts) -> Iterator[Evidence]:
    """The texts that templates fill most, and one at random."""
    if _TAGS not in texts.sample.layers:
        return
    layer = texts.sample.layer(_TAGS)
    numbers = {item: number for number, item in enumerate(layer.vocabulary)}
    listed = group_by_source(result.tables.get("templates", ()))
    for source, numbers_of_source in texts.groups.items():
        templates = [row["template"].split(" ") for row in listed.get(source, ())]
        if not templates:
            continue
        known = np.array([[numbers[item] for item in template] for template in templates])
        items = {text: layer.ids[layer.slice(text)] for text in numbers_of_source}
        places = {text: _find_templates(ids, known) for text, ids in items.items()}
        for text in _select_texts(places, layer, known.shape[1], texts):
            marks = _template_marks(layer, text, places[text], templates)
            uncut = Evidence("templates", source, texts.ids[text], texts.read(text), marks)
            yield cut_evidence(uncut)


def _find_templates(ids: NDArray[np.int32], known: NDArray[np.int64]) -> list[TemplatePlace]:
    n = known.shape[1]
    if len(ids) < n:
        return []
    windows = np.lib.stride_tricks.sliding_window_view(ids, n)
    factors = np.cumprod(np.full(n, _FACTOR, np.uint64))
    hashes, sought = (rows.astype(np.uint64) @ factors for rows in (known, windows))
    order = np.argsort(hashes)
    which = order[np.searchsorted(hashes, sought, sorter=order).clip(max=len(order) - 1)]
    places = np.flatnonzero((known[which] == windows).all(axis=1))
    return list(zip(places.tolist(), which[places].tolist()))


def _select_texts(
    places: Mapping[int, Sequence[TemplatePlace]], layer: Layer, n: int, texts: EvidenceTexts
) -> list[int]:
    """Those of which templates fill the largest share, then one of the others at random."""
    from rote.measure.driver.preparation import hash_id

    def share(text: int) -> float:
        words = int(layer.slice(text).stop - layer.slice(text).start)
        inside: set[int] = {place + step for place, _ in places[text] for step in range(n)}
        # Of a short text a single template fills much.
        return len(inside) / max(words, _MIN_WORDS)

    def by_chance(text: int) -> bytes:
        return hash_id(texts.ids[text], texts.seed)

    ranked = sorted(places, key=lambda text: (-share(text), by_chance(text)))
    first = ranked[: max(1, texts.count - 1)]
    rest = ranked[len(first) :]
    return [*first, min(rest, key=by_chance)] if rest and texts.count > 1 else first


def _template_marks(
    layer: Layer, text: int, places: Sequence[TemplatePlace], templates: Sequence[Sequence[str]]
) -> list[Mark]:
    begin = layer.slice(text).start
    marks = []
    for place, which in places:
        first, last = begin + place, begin + place + len(templates[which]) - 1
        ends = int(layer.starts[first]), int(layer.ends[last])
        marks.append(Mark(*ends, " ".join(templates[which]), "template"))
    return marks


Row: TypeAlias = dict[str, Any]

# Rows of `distinctive` for each source and direction.
_DISTINCTIVE = 50
# In fewer texts, an n-gram says something about these texts, not about their source.
_LEAST_TEXTS = 2


def length_table(rows: Rows, comparison: Comparison, options: Options) -> list[Row]:
    """`lengths`: the values of each source for templates of other lengths.

    Templates that were given from outside have one length only, and so has the table then.
    """
    lengths = (options.n,) if rows.fixed is not None else sorted(set(options.lengths))
    by_source: dict[str, list[Row]] = {source: [] for source in comparison.groups}
    with comparison.reporter.stage("templates: lengths", len(lengths)) as advance:
        for here in _of_lengths(rows, options, lengths):
            n = here.windows.n
            at = replace(options, n=n)
            for source, take in comparison.groups.items():
                row = {"source": source, "n": n, "templates": len(templates_of(here, take, at))}
                values = template_values(here, take, at)
                del values["length"]
                by_source[source].append(row | values)
            advance(1)
    return [
        row for source in by_source.values() for row in sorted(source, key=lambda row: row["n"])
    ]


def _of_lengths(rows: Rows, options: Options, lengths: Sequence[int]) -> Iterator[Rows]:
    """The rows for other lengths, one at a time: each takes as much room as the first."""
    others = [n for n in lengths if n != options.n]
    if len(others) < len(lengths):
        yield rows
    for windows in windows_of(rows.layer, others, options):
        yield replace(rows, windows=windows)


@dataclass(frozen=True, slots=True)
class _Group:
    """How often each n-gram occurs in a source, and in how many of its texts."""

    counts: Integers
    texts: Integers
    total: int

    def counted(self, number: int, prefix: str = "") -> Row:
        names = (f"{prefix}count", f"{prefix}texts")
        return dict(zip(names, (int(self.counts[number]), int(self.texts[number]))))


@dataclass(frozen=True, slots=True)
class _Apart:
    """Of every n-gram the log-odds ratio, and p: family-wise, over all n-grams and sources."""

    odds: LogOdds
    p: Floats

    def tested(self, number: int) -> Row:
        columns = {"log_odds": self.odds.delta, "z": self.odds.z, "p_corrected": self.p}
        return {name: float(column[number]) for name, column in columns.items()}


class TemplateTables:
    """The tables at work. Counts by n-gram are large: those of one source and of the reference
    are held at a time."""

    def __init__(self, rows: Rows, comparison: Comparison, options: Options) -> None:
        self.rows, self.comparison, self.options = rows, comparison, options
        self.groups = comparison.groups
        self.reader = MatchReader(rows.layer, rows.word, rows.raw, rows.windows.n)
        self.chosen = {s: templates_of(rows, take, options) for s, take in self.groups.items()}
        self.sizes = windows_in_texts(rows, options)

    def tables(self) -> dict[str, list[Row]]:
        """`templates`, `matches`, `examples`, `distinctive` and `overlap`."""
        tables: dict[str, list[Row]] = {
            name: [] for name in ("templates", "matches", "examples", "distinctive")
        }
        reference = self.comparison.reference
        against = None if reference is None else self.group(self.groups[reference])
        stage = self.comparison.reporter.stage("templates: listing", len(self.groups))
        with stage as advance:
            for source, take in self.groups.items():
                group = self.group(take)
                apart = None
                if against is not None and source != reference:
                    apart = self.apart(source, group, against)
                    tables["distinctive"] += self.distinctive(source, group, against, apart)
                tables["templates"] += self.templates(source, group, apart)
                for name, table in self.shown(source, take).items():
                    tables[name] += table
                advance(1)
        # Templates that were given for all sources are shared by all.
        tables["overlap"] = _overlap(self.chosen) if self.rows.fixed is None else []
        return tables

    def group(self, take: Take) -> _Group:
        counts, texts = self.rows.windows.tally(self.rows.layer, take)
        return _Group(counts, texts, int(self.sizes[take].sum()))

    def apart(self, source: str, group: _Group, against: _Group) -> _Apart:
        """How far every n-gram sets a source apart from the reference, and how certainly.

        Texts are permuted between the two, as many of each doc_id. An n-gram of one text, or one
        so rare that it would not show if one side had it all, is not tested and certainly not
        certain: 1.
        """
        totals = group.total, against.total
        log_odds = contrast(group.counts, against.counts, totals)
        p = np.full(len(log_odds.z), np.nan)
        if permutations := self.comparison.permutations:
            reference, strata = str(self.comparison.reference), self.comparison.strata
            all_texts = self.groups[source], self.groups[reference]
            rng = generator(self.comparison.seed, f"choose {source} {reference}")
            pair = balance_groups_by_id(*all_texts, strata, self.comparison.ids, rng)
            exchange = make_exchange(*pair, strata)
            ours, theirs = map(np.sort, pair)
            both = self.group(np.sort(np.concatenate(pair)))
            if len(ours) < len(all_texts[0]) or len(theirs) < len(all_texts[1]):
                group, against = self.group(ours), self.group(theirs)
                totals = group.total, against.total
            tested = np.flatnonzero(
                (both.texts >= _LEAST_TEXTS) & frequent_enough(group.counts, against.counts, totals)
            )
            listing = self.rows.windows.listing(self.rows.layer, tested)
            of_both = both.counts[tested]

            def z(run: int) -> Floats:
                rng = generator(self.comparison.seed, f"templates {source}", run)
                group = exchange(rng)[0] if run else ours
                counts, total = listing.counts(group), int(self.sizes[group].sum())
                return contrast(counts, of_both - counts, (total, both.total - total)).z

            p[~np.isnan(log_odds.z)] = 1.0
            others = len(self.groups) - 1
            stands = permuted_excess(z, permutations, two_sided=True)
            # What all texts say the other way round than as many of each doc_id is not certain.
            turned = z(0) * log_odds.z[tested] < 0
            p[tested] = np.where(turned, 1.0, np.minimum(1.0, others * stands.p()))
        return _Apart(log_odds, p)

    def names(self, numbers: Chosen) -> list[str]:
        return [" ".join(items) for items in self.rows.windows.grams(self.rows.layer, numbers)]

    @cached_property
    def everywhere(self) -> dict[int, dict[str, int]]:
        wanted = np.unique(np.concatenate(list(self.chosen.values())))
        layer, windows = self.rows.layer, self.rows.windows
        columns = {s: windows.tally(layer, take)[0][wanted] for s, take in self.groups.items()}
        return {
            number: {source: int(column[rank]) for source, column in columns.items()}
            for rank, number in enumerate(wanted.tolist())
        }

    def templates(self, source: str, group: _Group, apart: _Apart | None) -> list[Row]:
        numbers = self.chosen[source]
        untested: Row = dict.fromkeys(("log_odds", "z", "p_corrected"))
        return [
            {"source": source, "rank": rank, "template": name}
            | {**group.counted(number), "counts": self.everywhere[number]}
            | (untested if apart is None else apart.tested(number))
            for rank, (number, name) in enumerate(zip(numbers.tolist(), self.names(numbers)), 1)
        ]

    def shown(self, source: str, take: Take) -> dict[str, list[Row]]:
        """Matched text and examples of a source's templates."""
        numbers = self.chosen[source]
        places = self.places(take, numbers)
        matches, examples = [], []
        for name, read, of_template in zip(
            self.names(numbers), self.reader.matches(places), self.reader.examples(places)
        ):
            base = {"source": source, "template": name}
            matches += [{**base, "text": text, "count": count} for text, count in read]
            examples += [
                {**base, **self.comparison.named(example.text), **example.row}
                for example in of_template
            ]
        return {"matches": matches, "examples": examples}

    def distinctive(self, source: str, group: _Group, against: _Group, apart: _Apart) -> list[Row]:
        """The n-grams that set a source apart, then those that set the reference apart.

        Listed whether certain or not: `p_corrected` says it, over all n-grams of the pair.
        """
        ours = _furthest(apart.odds.z, group.texts)
        theirs = _furthest(-apart.odds.z, against.texts)[::-1]
        reference = str(self.comparison.reference)
        read = self.read(source, ours) + self.read(reference, theirs)
        numbers = np.concatenate((ours, theirs))
        return [
            {"source": source, "template": name, **group.counted(number)}
            | {**against.counted(number, "reference_"), **apart.tested(number)}
            | {"examples": [text for text, _ in matches[:EXAMPLES]]}
            for number, name, matches in zip(numbers.tolist(), self.names(numbers), read)
        ]

    def read(self, source: str, numbers: Chosen) -> list[Read]:
        return self.reader.matches(self.places(self.groups[source], numbers))

    def places(self, take: Take, numbers: Chosen) -> list[Integers]:
        places, which = self.rows.windows.places(self.rows.layer, take, numbers)
        order = np.argsort(which, kind="stable")
        ends = np.cumsum(np.bincount(which, minlength=len(numbers)))
        return np.split(places[order], ends[:-1]) if len(numbers) else []


def _furthest(z: Floats, texts: Integers) -> Chosen:
    """The n-grams with the largest z above 0, among those that occur in more than one text."""
    there = np.flatnonzero((z > 0) & (texts >= _LEAST_TEXTS))
    return there[np.argsort(-z[there], kind="stable")][:_DISTINCTIVE]


def _overlap(chosen: Mapping[str, Chosen]) -> list[Row]:
    """How far sources share templates; nan where neither has any."""
    sets = {source: set(numbers.tolist()) for source, numbers in chosen.items()}
    table: list[Row] = []
    for source, second in permutations(sets, 2):
        shared, every = len(sets[source] & sets[second]), len(sets[source] | sets[second])
        row = {"source": source, "other": second, "shared": shared}
        table.append({**row, "jaccard": shared / every if every else float("nan")})
    return table


def highlighted(rows: Rows, comparison: Comparison, options: Options) -> list[dict[str, Any]]:
    """The text of this id, and every place in it where a template of its source stands.

    Nothing where it is a text of another facet; that there is one was checked before the work.
    """
    if options.highlight not in comparison.ids:
        return []
    number = comparison.ids.index(options.highlight)
    source = next(name for name, take in comparison.groups.items() if number in take)
    chosen = templates_of(rows, comparison.groups[source], options)
    _, numbers = _standing(rows, np.array([number]), chosen)
    keys = ("start", "end", "template", "rank")
    marks = [dict(zip(keys, (*span, name, rank + 1))) for *span, name, rank in numbers]
    text = rows.raw.string(number)
    return [{"source": source, "id": options.highlight, "text": text, "spans": marks}]


def _standing(
    rows: Rows, take: Take, chosen: Chosen
) -> tuple[Integers, list[tuple[int, int, str, int]]]:
    """Where templates occur in texts: places, and of each start, end, name and rank."""
    names = [" ".join(gram) for gram in rows.windows.grams(rows.layer, chosen)]
    places, which = rows.windows.places(rows.layer, take, chosen)
    starts, ends = (ends.tolist() for ends in spans(rows.layer, places, rows.windows.n))
    return places, [(a, b, names[rank], rank) for a, b, rank in zip(starts, ends, which.tolist())]


def write_matches(rows: Rows, comparison: Comparison, options: Options, path: Path) -> None:
    """Every place of every template in every text, text after text, as JSON lines.

    Facets follow each other, so what is there is added to.
    """
    reader = MatchReader(rows.layer, rows.word, rows.raw, options.n)
    total = len(comparison.groups)
    with (
        open(path, "a", encoding="utf-8") as file,
        comparison.reporter.stage("templates: all matches", total) as advance,
    ):
        for source, take in comparison.groups.items():
            places, numbers = _standing(rows, take, templates_of(rows, take, options))
            for index, number, text in reader.decoded(places):
                start, end, name, _ = numbers[index]
                row: Row = {"id": comparison.ids[number], "source": source, "template": name}
                row |= {"start": start, "end": end, "text": text[start:end]}
                file.write(json.dumps(row) + "\n")
            advance(1)


METRIC = Metric(
    name="templates",
    title="Templates",
    values=values,
    needs=needs,
    options=Options,
    rows=rows,
    reduce=reduce,
    resample=resample,
    many=many,
    text_errors=text_errors,
    interval_method=compression.METRIC.interval_method,
    stand_in=compression.METRIC.stand_in,
    per_text=counted_in_texts,
    contributions=contributions,
    undefined=lambda rows, options: {"per_token": rows.words == 0},
    citation=(
        "Shaib, Elazar, Li and Wallace (2024), Detection and Measurement of Syntactic Templates in "
        "Generated Text"
    ),
    match="words",
    notes=notes,
    tables=tables,
    charts=CHARTS,
    check=check,
    order_matters=True,
    layout=LAYOUT,
    says="Patterns of grammar that recur.",
    section="patterns",
    chapter=Chapter(
        "Templates",
        10,
        texts="Templates in their texts",
        legend="Each line under the words is a template; its number leads to the list below.",
        lead="A template is a sequence of parts of speech that recurs in the texts of a source; "
        "the words in it differ.",
        first=("", "lengths", "templates"),
        folded="Templates that set a source apart",
    ),
    evidence=evidence,
    usual=True,
    place=10,
    main=("rate",),
    headlines=(
        Headline(
            "per_token",
            "repeats templates more",
            "repeats templates less",
            unit="templates per word",
        ),
    ),
    method=method,
    report=looked_up,
    lesser=lambda options: replace(options, corpus=()) if is_given(options.corpus) else None,
)
