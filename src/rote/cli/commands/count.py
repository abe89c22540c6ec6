"""Count phrases in an index: occurrences, documents, authors, per layer.

PHRASE is a text; the index's own annotator cuts and tags it, as it would standing alone. With
--items it is a list of items, separated by spaces. A phrase with a quote or a bracket in it is
a query, of which occurrences are counted:

\b
  rote count IDX "at the end of the day"
  rote count IDX --layer pos --items "DT JJ NN"
  rote count IDX '[pos="JJ"] "dog"'
  rote count IDX --phrases-from phrases.txt --csv
  rote count IDX "of course" --by author
  rote count IDX --patterns known --by source
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import click

from rote.cli._flags import command_of
from rote.cli._index import about, check_layers, index_argument, lines_of, opened, signed
from rote.cli._output import Draw, Listing, Output, deliver_rows
from rote.cli._progress import TerminalReporter
from rote.core.errors import InputError, OptionError
from rote.core.metric import engine_option, option
from rote.core.progress import Reporter
from rote.core.result import Result

if TYPE_CHECKING:
    from rote.index.index import Index


@dataclass(frozen=True, slots=True)
class CountOptions:
    """Which layers are asked, and how the phrases are read."""

    SECTION: ClassVar[str] = "What is counted"
    layer: tuple[str, ...] = option((), "Layers to count in  [default: all sorted layers]")
    items: bool = option(False, "Phrases are given as items, separated by spaces")
    phrases_from: Path | None = option(
        None,
        "Also count the phrases in this file, one per line; - is standard input",
        metavar="FILE",
    )
    by: str | None = option(
        None, "Count per group of documents: author, source, year, any field", metavar="FIELD"
    )
    patterns: str | None = option(
        None,
        "Also count named patterns: a file (.json, .toml, or a phrase or query in each line), or "
        "known for those that come with rote",
        metavar="FILE",
    )
    engine: str | None = engine_option()


@dataclass(frozen=True, slots=True)
class Phrase:
    """What was asked, and the line it occurs in if it came from a file."""

    text: str
    file: str | None = None
    line: int | None = None


def count(
    index: Index | str | Path,
    phrases: str | Sequence[str] = (),
    *,
    options: CountOptions,
    reporter: Reporter,
) -> Result:
    index = opened(index, reporter, options.engine)
    wanted = [phrases] if isinstance(phrases, str) else list(phrases)
    listing, _ = _answer(index, wanted, options)
    return listing.result("count", phrases="\n".join(wanted), **signed(index, options))


@command_of(__doc__, index_argument(), click.Argument(["phrases"], metavar="PHRASE...", nargs=-1))
def command(
    idx: Path,
    phrases: tuple[str, ...],
    options: CountOptions,
    output: Output,
    reporter: TerminalReporter,
) -> None:
    deliver_rows(*_answer(opened(idx, reporter, options.engine), phrases, options), output)


def _answer(index: Index, phrases: Sequence[str], options: CountOptions) -> tuple[Listing, Draw]:
    from rote.index.query import is_plain
    from rote.search.rows.counts import COUNT_COLUMNS

    check_layers(index, options.layer)
    layers = options.layer or (index.manifest or index).sorted_layers
    wanted = [Phrase(phrase) for phrase in phrases]
    if file := options.phrases_from:
        wanted += [Phrase(line, str(file), n) for n, line in lines_of(file, "phrases")]
    if not wanted and not options.patterns:
        raise OptionError(
            "give at least one phrase, or a file of them with --phrases-from or --patterns"
        )
    if options.by or options.patterns:
        return _count_by_name(index, wanted, options)
    plain = [p for p in wanted if options.items or is_plain(p.text)]
    counted = {layer: iter(_count_phrases(index, plain, layer, options)) for layer in layers}
    rows: list[dict[str, Any]] = []
    for phrase in wanted:
        if options.items or is_plain(phrase.text):
            rows += [next(counted[layer]) for layer in layers]
        else:
            rows.append(_count_matches(index, phrase, options.layer))
    listing = Listing("counts", rows, COUNT_COLUMNS, about(index))
    return listing, lambda console: _draw(rows, console)


def _draw(rows: list[dict[str, Any]], console: Any) -> None:
    from rote.report.texts.concordance import count_table
    from rote.search.rows.matches import name_forms

    console.print(count_table(rows))
    for row in rows:
        if "forms" in row:
            line = f"{row['phrase']}: {name_forms(row['forms'])}"
            console.print(line, highlight=False, markup=False)


def _count_by_name(
    index: Index, wanted: Sequence[Phrase], options: CountOptions
) -> tuple[Listing, Draw]:
    """Phrases, queries and named patterns, in all documents or group by group."""
    from rote.index.index import DEFAULT
    from rote.report.texts.concordance import named_table
    from rote.search.patterns import (
        PATTERN_COLUMNS,
        count_patterns,
        count_patterns_by_group,
        layers_of,
        read_patterns,
    )
    from rote.search.rows.counts import GROUPED, groups_by_field

    if options.items:
        raise OptionError("--items cannot be combined with --by and --patterns: write a query")
    patterns: dict[str, Sequence[str]] = {phrase.text: [phrase.text] for phrase in wanted}
    patterns |= {} if options.patterns is None else dict(read_patterns(options.patterns))
    default = options.layer[0] if options.layer else DEFAULT
    check_layers(index, layers_of(patterns, default))
    if options.by is None:
        rows, columns = count_patterns(index, patterns, default), PATTERN_COLUMNS
    else:
        rows = count_patterns_by_group(index, patterns, default, groups_by_field(index, options.by))
        columns = ("pattern", *GROUPED)
    listing = Listing("counts", rows, columns, about(index))
    return listing, lambda console: console.print(named_table(rows, options.by))


def _count_phrases(
    index: Index, phrases: Sequence[Phrase], layer: str, options: CountOptions
) -> list[dict[str, Any]]:
    """One row for each phrase, all counted at once."""
    from rote.index.grams import Grams
    from rote.search.rows.counts import count_phrases, split_phrases

    texts = [phrase.text for phrase in phrases]
    if options.items:
        grams = Grams.of([text.split() for text in texts])
    else:
        grams = split_phrases(index, texts, layer)
    for number, phrase in enumerate(phrases):
        if not grams[number]:
            problem = f"{phrase.text!r} holds nothing to count"
            raise InputError(problem, file=phrase.file, line=phrase.line)
    return count_phrases(index, texts, grams, layer)


def _count_matches(index: Index, phrase: Phrase, layers: Sequence[str]) -> dict[str, Any]:
    from rote.index.index import DEFAULT
    from rote.index.query import parse
    from rote.search.rows.counts import count_query

    default = layers[0] if layers else DEFAULT
    check_layers(index, parse(phrase.text, default).layers)
    return count_query(index, phrase.text, default)
