"""Count, and list, the original fragments of an index's own sentences.

A fragment is two words or more inside one sentence that do not begin or end with a determiner, a
preposition, a form of be or have, or a punctuation mark. It is original if at most --relax sources
have it; documents that share a known author are one source. The table shows how many there are
of each length; --write writes them all, one JSON object per line.

\b
  rote index originals IDX
  rote index originals IDX --shortest --write originals.jsonl
  rote index originals IDX --variant paper
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TextIO

from rote.cli._flags import command_of
from rote.cli._index import about, check_layers, index_argument, opened, several, signed
from rote.cli._output import LINES, Listing, Output, deliver_rows
from rote.cli._progress import TerminalReporter
from rote.core.errors import OptionError
from rote.core.files import new_file
from rote.core.metric import option
from rote.core.progress import Reporter
from rote.core.result import Result

if TYPE_CHECKING:
    from rote.index.index import Index
    from rote.search.originality.authors import DocumentSources
    from rote.search.originality.edges import Rule
    from rote.search.originality.originals import OriginalFragment

_EXACT = ("length", "fragments", "original", "occurrences", "original_occurrences", "once")
_PAPER = ("length", "fragments", "original")
# Of names that were merged so many are shown, and all with --json.
_NAMED = 5
# Of lengths so many have a row of their own on the terminal.
_SHOWN = 14


@dataclass(frozen=True, slots=True)
class OriginalsOptions:
    """What counts as original."""

    SECTION: ClassVar[str] = "What is original"
    layer: str = option("lower", "Layer in which fragments are compared")
    relax: int = option(1, "How many sources an original fragment may have")
    variant: Literal["exact", "paper"] = option(
        "exact", "The definition, or Algorithm 1 of Brooks and Youssef (2021) as printed"
    )
    document_field: str | None = option(
        None, "Records that agree in this field are parts of one document", metavar="FIELD"
    )
    authors: Path | None = option(
        None,
        "CSV file with the columns name and author: who a name is, where rote takes the wrong "
        "names for one author",
        metavar="FILE",
    )
    write: Path | None = option(
        None, "Write all original fragments there", metavar="FILE", writes=LINES
    )
    shortest: bool = option(False, "Of fragments, only those that hold no other original one")


def index_originals(
    index: Index | str | Path, options: OriginalsOptions, reporter: Reporter
) -> Result:
    index = opened(index, reporter)
    return _list_originals(index, options, reporter).result(
        "index-originals", **signed(index, options)
    )


@command_of(__doc__, index_argument())
def command(
    idx: Path, options: OriginalsOptions, output: Output, reporter: TerminalReporter
) -> None:
    listing = _list_originals(opened(idx, reporter), options, reporter)
    deliver_rows(listing, lambda console: _draw(listing, console), output)


def _list_originals(index: Index, options: OriginalsOptions, reporter: Reporter) -> Listing:
    from rote.search.originality.edges import rule_for

    _check(options)
    rule = rule_for(index)
    check_layers(index, [options.layer, *(["pos"] if rule == "tags" else [])])
    settings = {"layer": options.layer, "variant": options.variant, "edges": rule}
    with _target(options.write) as file:
        if options.variant == "paper":
            listing = _by_algorithm(index, rule, options, file, reporter)
        else:
            listing = _by_definition(index, rule, options, file, reporter)
    about_listing = {**about(index), **settings, **listing.about}
    return Listing(listing.name, listing.rows, listing.columns, about_listing)


def _check(options: OriginalsOptions) -> None:
    if options.shortest and options.write is None:
        raise OptionError("--shortest chooses fragments to write: name a file with --write")
    unknown = {
        "documents: leave --document-field out": options.document_field is not None,
        "authors: leave --authors out": options.authors is not None,
        "--relax; leave it out, or --variant paper": options.relax != 1,
        "--shortest; leave it out, or --variant paper": options.shortest,
    }
    for what, names in unknown.items():
        if names and options.variant == "paper":
            raise OptionError(f"Algorithm 1 knows no {what}")


def _by_definition(
    index: Index, rule: Rule, options: OriginalsOptions, file: TextIO | None, reporter: Reporter
) -> Listing:
    from rote.search.originality.authors import read_author_names, sources_of
    from rote.search.originality.originals import find_originals

    names = read_author_names(options.authors) if options.authors else None
    sources = sources_of(index, options.document_field, names)
    _say_merged(sources, reporter)
    originals = find_originals(
        index, options.layer, relax=options.relax, rule=rule, sources=sources, reporter=reporter
    )
    if file is not None:
        _write(originals.fragments(shortest=options.shortest), file)
    about_originals = {
        "relax": options.relax,
        "sources": {
            "count": sources.count,
            "authors": len(sources.authors.names),
            "documents_without_author": sources.unknown,
            "merged": {name: list(of) for name, of in sources.authors.merged.items()},
            "guessed": dict(sources.authors.guessed),
            "ambiguous": {name: list(of) for name, of in sources.authors.ambiguous.items()},
        },
        "sentences": originals.sentences,
        "original_sentences": originals.original_sentences,
        "total": {
            name: value for name, value in asdict(originals.total).items() if name != "length"
        },
    }
    return Listing("lengths", [asdict(row) for row in originals.by_length], _EXACT, about_originals)


def _by_algorithm(
    index: Index, rule: Rule, options: OriginalsOptions, file: TextIO | None, reporter: Reporter
) -> Listing:
    from rote.search.originality.algorithm1 import algorithm1

    originals = algorithm1(index, options.layer, rule=rule)
    rows, original = originals.by_length(reporter)
    if file is not None:
        _write(originals.fragments(), file)
    about_originals = {
        "sentences": len(originals.ends),
        "removed": originals.removed,
        "original_sentences": original,
        "total": {name: sum(getattr(row, name) for row in rows) for name in _PAPER[1:]},
    }
    return Listing("lengths", [asdict(row) for row in rows], _PAPER, about_originals)


def _say_merged(sources: DocumentSources, reporter: Reporter) -> None:
    """Which spellings were taken for one author: a wrong merge hides a source."""
    authors = sources.authors
    merged = {
        "authors with several spellings": [" = ".join(of) for of in authors.merged.values()],
        "of these, guessed": [f"{name} = {of}" for name, of in authors.guessed.items()],
        "left apart, though they could be": [
            f"{name} ({' or '.join(of)})" for name, of in authors.ambiguous.items()
        ],
    }
    for what, names in merged.items():
        more = f"; {len(names) - _NAMED:,} more with --json" if len(names) > _NAMED else ""
        if names:
            reporter.say(f"{what}: {'; '.join(names[:_NAMED])}{more}")
    if authors.guessed or authors.ambiguous:
        reporter.say("--authors FILE says who a name is")


def _draw(listing: Listing, console: Any) -> None:
    from rote.report.screen import plain_table
    from rote.report.terminal import facts_table

    known = listing.about
    facts = {
        "sentences": f"{known['sentences']:,}, of which {known['original_sentences']:,} "
        "hold an original fragment",
        "fragments": f"{known['total']['fragments']:,} different ones, of which "
        f"{known['total']['original']:,} are original",
    }
    if "removed" in known:
        facts["removed"] = f"{several(known['removed'], 'sentence')} equal to an earlier one"
    else:
        sources = known["sources"]
        facts["sources"] = (
            f"{sources['count']:,}: {several(sources['authors'], 'author')}, "
            f"{several(sources['documents_without_author'], 'document')} without one"
        )
    console.print(facts_table(facts))
    columns = {name.replace("_", " "): "right" for name in (*listing.columns, "share")}
    if listing.rows:
        console.print(plain_table(columns, [*map(_cells, _fold_rows(listing))]))


def _fold_rows(listing: Listing) -> Iterator[Mapping[str, Any]]:
    """The rows, those beyond the first few as one."""
    rest = listing.rows[_SHOWN:]
    yield from listing.rows[:_SHOWN] if len(rest) > 1 else listing.rows
    if len(rest) > 1:
        sums = {name: sum(row[name] for row in rest) for name in listing.columns[1:]}
        yield {"length": f"{rest[0]['length']} to {rest[-1]['length']}", **sums}


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    length, *counts = row.values()
    return (str(length), *(f"{n:,}" for n in counts), f"{row['original'] / row['fragments']:.1%}")


def _write(fragments: Iterable[OriginalFragment], file: TextIO) -> None:
    for fragment in fragments:
        place = fragment.place
        where = {name: getattr(place, name) for name in ("document", "author", "start", "end")}
        record = {"words": fragment.words, **where}
        file.write(json.dumps(record, ensure_ascii=True) + "\n")


@contextmanager
def _target(path: Path | None) -> Iterator[TextIO | None]:
    """Where fragments go: nowhere, or beside the file until all are there."""
    if path is None:
        yield None
        return
    with new_file(path) as raw, TextIOWrapper(raw, encoding="utf-8") as file:
        yield file
