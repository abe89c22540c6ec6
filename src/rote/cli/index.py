"""The commands of `rote index`: build, change, check and describe an index."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TextIO

import click

from rote.cli._flags import command_of, files_argument
from rote.cli._index import (
    Change,
    UseOptions,
    about,
    carry_out,
    changed,
    check_layers,
    describe,
    index_argument,
    lines_of,
    opened,
    places_of,
    signed,
    size,
    source_of,
)
from rote.cli._output import (
    LINES,
    Listing,
    Output,
    SummaryOptions,
    as_json,
    deliver_rows,
    printing_console,
)
from rote.cli._progress import TerminalReporter
from rote.core.errors import OptionError
from rote.core.files import new_file
from rote.core.metric import option
from rote.core.progress import Reporter, several
from rote.core.result import Result
from rote.corpus import Corpus, Input, ReadOptions
from rote.index.folders.options import BuildOptions

if TYPE_CHECKING:
    from rote.index.folders.build import IndexChange
    from rote.index.folders.source import BuildEstimate
    from rote.index.index import Index
    from rote.search.originality.authors import DocumentSources
    from rote.search.originality.edges import Rule
    from rote.search.originality.originals import OriginalFragment


@dataclass(frozen=True, slots=True)
class TargetOptions:
    """Where the index goes."""

    SECTION: ClassVar[str] = "Index"
    output: Path | None = option(
        None,
        "Folder of the index  [default: rote-index; from Python, the index is built in memory]",
        short="-o",
        metavar="IDX",
        writes="folder",
    )


def index(
    texts: Input,
    target: TargetOptions,
    options: BuildOptions,
    read: ReadOptions,
    reporter: Reporter,
) -> Index:
    from rote.index.factory import index_corpus
    from rote.index.folders.build import build_index

    source = source_of(texts, target.output, read, reporter)
    if target.output is not None:
        work = partial(build_index, source, target.output, options, reporter)
        return changed(target.output, work)
    if not isinstance(source, Corpus):
        raise OptionError(
            f"{source.path} is a store: name the index to build from it with --output"
        )
    return index_corpus(source, options, reporter)


@command_of(None, files_argument(metavar="INPUT..."))
def build(
    inputs: tuple[str, ...],
    target: TargetOptions,
    options: BuildOptions,
    read: ReadOptions,
    summary: SummaryOptions,
    reporter: TerminalReporter,
) -> None:
    """Build an index from texts, or from a store of `rote annotate`.

    Says first what it expects to need, then builds. Run again after an interruption it goes on;
    run again after it has ended it finds that nothing is left to do.

    \b
      rote index build novels.jsonl -o IDX
      rote index build novels.jsonl -o IDX --layers lower,pos,lemma --compact
    """
    from rote.index.folders.build import build_index
    from rote.index.folders.source import estimate_build

    path = target.output or Path("rote-index")
    source = source_of(places_of(inputs), path, read, reporter)

    work = partial(build_index, source, path, options, reporter)
    carry_out(work, path, summary, reporter, estimate_build(source, options))


def index_add(
    index: str | Path, texts: Input, options: UseOptions, read: ReadOptions, reporter: Reporter
) -> Index:
    from rote.index.folders.build import add_to_index

    work, _ = _texts_work(add_to_index, Path(index), texts, options, read, reporter)
    return changed(Path(index), work)


def index_replace(
    index: str | Path, texts: Input, options: UseOptions, read: ReadOptions, reporter: Reporter
) -> Index:
    from rote.index.folders.maintenance import replace_documents

    work, _ = _texts_work(replace_documents, Path(index), texts, options, read, reporter)
    return changed(Path(index), work)


@command_of(None, index_argument(), files_argument(metavar="INPUT..."))
def add(
    idx: Path,
    inputs: tuple[str, ...],
    options: UseOptions,
    read: ReadOptions,
    summary: SummaryOptions,
    reporter: TerminalReporter,
) -> None:
    """Add texts to an index; those it has already are skipped.

    The new texts are annotated as the old ones were and become segments of their own;
    `rote index merge` makes one segment of several.

    \b
      rote index add IDX more.jsonl
    """
    from rote.index.folders.build import add_to_index

    work, plan = _texts_work(add_to_index, idx, places_of(inputs), options, read, reporter)
    carry_out(work, idx, summary, reporter, plan)


@command_of(None, index_argument(), files_argument(metavar="INPUT..."))
def replace(
    idx: Path,
    inputs: tuple[str, ...],
    options: UseOptions,
    read: ReadOptions,
    summary: SummaryOptions,
    reporter: TerminalReporter,
) -> None:
    """Put documents in place of those with the same ids.

    INPUT is read and annotated as for `rote index add`. The old documents go and the new ones come
    in one step; documents whose ids the index does not hold are added, and how many of each there
    were is said. Where all are in the index as they are, nothing changes.

    \b
      rote index replace IDX mended.jsonl
    """
    from rote.index.folders.maintenance import replace_documents

    work, plan = _texts_work(replace_documents, idx, places_of(inputs), options, read, reporter)
    carry_out(work, idx, summary, reporter, plan)


def _texts_work(
    change: Callable[..., IndexChange],
    path: Path,
    texts: Input,
    options: UseOptions,
    read: ReadOptions,
    reporter: Reporter,
) -> tuple[Change, BuildEstimate]:
    """What changes the index at `path`, and what that will need."""
    from rote.index.folders.manifest import read_manifest
    from rote.index.folders.source import estimate_build

    manifest = read_manifest(path)
    source = source_of(texts, path, read, reporter)
    subwords = {each.layer: f"{each.layer}:{path / each.file}" for each in manifest.subwords}
    as_built = BuildOptions(
        layers=tuple(subwords.get(name, name) for name in manifest.sorted_layers),
        annotator=manifest.annotator,
        author_field=manifest.author_field,
        memory=options.memory,
        compact=manifest.is_compact,
        jobs=options.jobs,
        engine=options.engine,
    )
    used = {name: getattr(options, name) for name in ("memory", "jobs", "engine")}
    work = partial(change, path, source, **used, reporter=reporter)
    return work, estimate_build(source, as_built)


@dataclass(frozen=True, slots=True)
class RemoveOptions:
    """Which documents go."""

    SECTION: ClassVar[str] = "Documents"
    ids: Path | None = option(
        None, "Also the ids in this file, one per line; - is standard input", metavar="FILE"
    )
    missing: Literal["stop", "skip"] = option(
        "stop", "If the index does not contain an id: remove nothing, or remove the others"
    )


def index_remove(
    index: str | Path,
    documents: str | Sequence[str] = (),
    *,
    chosen: RemoveOptions,
    options: UseOptions,
    reporter: Reporter,
) -> Index:
    return changed(Path(index), _remove_work(Path(index), documents, chosen, options, reporter))


@command_of(
    None,
    index_argument(),
    click.Argument(["document_ids"], metavar="ID...", nargs=-1),
    skip=("UseOptions.memory", "UseOptions.engine"),
)
def remove(
    idx: Path,
    document_ids: tuple[str, ...],
    chosen: RemoveOptions,
    options: UseOptions,
    summary: SummaryOptions,
    reporter: TerminalReporter,
) -> None:
    """Remove documents from an index, by their ids.

    The segments that hold them are written again without them: every answer is then that of an
    index that was built without them, at the speed that it had. Nothing is annotated again. Readers
    of the index go on with the old segments until they close it.

    \b
      rote index remove IDX novel-17 novel-18
      rote index remove IDX --ids withdrawn.txt --missing skip
    """
    carry_out(_remove_work(idx, document_ids, chosen, options, reporter), idx, summary, reporter)


def _remove_work(
    path: Path, ids: Sequence[str], chosen: RemoveOptions, options: UseOptions, reporter: Reporter
) -> Change:
    from rote.index.folders.maintenance import remove_documents

    wanted = [ids] if isinstance(ids, str) else list(ids)
    listed = [line.strip() for _, line in lines_of(chosen.ids, "ids")] if chosen.ids else []
    work = partial(remove_documents, path, [*wanted, *listed], missing=chosen.missing)
    return partial(work, threads=options.jobs, reporter=reporter)


def index_add_layer(
    index: str | Path, layer: str, options: UseOptions, reporter: Reporter
) -> Index:
    from rote.index.folders.maintenance import add_layer

    how: dict[str, Any] = {"jobs": options.jobs, "engine": options.engine, "reporter": reporter}
    return changed(Path(index), partial(add_layer, Path(index), layer, **how))


@command_of(
    None,
    index_argument(),
    click.Argument(["layer"], metavar="LAYER"),
    skip=("UseOptions.memory",),
)
def add_layer(
    idx: Path, layer: str, options: UseOptions, summary: SummaryOptions, reporter: TerminalReporter
) -> None:
    """Add a layer to an index, or sort one that is kept for display only.

    LAYER is what the index's own annotator gives (lemma, upos, dep, ...), `word`,
    subwords:PATH/tokenizer.json for the subwords of a tokenizer, or `meaning` for a vector of each
    sentence (meaning:EMBEDDER by another embedder than minilm).

    \b
      rote index add-layer IDX lemma
      rote index add-layer IDX meaning
    """
    carry_out(partial(index_add_layer, idx, layer, options, reporter), idx, summary, reporter)


def index_merge(index: str | Path, options: UseOptions, reporter: Reporter) -> Index:
    from rote.index.folders.maintenance import merge_index

    how: dict[str, Any] = {"memory": options.memory, "threads": options.jobs, "reporter": reporter}
    return changed(Path(index), partial(merge_index, Path(index), **how))


@command_of(None, index_argument())
def merge(
    idx: Path, options: UseOptions, summary: SummaryOptions, reporter: TerminalReporter
) -> None:
    """Make few large segments of an index's many small ones: it answers faster.

    Answers do not change. Readers of the index go on with the old segments until they close it.

    \b
      rote index merge IDX
    """
    carry_out(partial(index_merge, idx, options, reporter), idx, summary, reporter)


_NAMED = 8
"""So many sources are named; of more, the largest."""


def index_info(index: str | Path, reporter: Reporter) -> Result:
    facts = describe(Path(index), reporter)
    rows = facts.pop("layers")
    return Listing("layers", rows, list(rows[0]) if rows else [], facts).result("index-info")


@command_of(None, index_argument())
def info(idx: Path, options: SummaryOptions, reporter: TerminalReporter) -> None:
    """Describe an index: who made it, its documents, layers and segments.

    \b
      rote index info IDX
    """
    from rote.report.screen import plain_table
    from rote.report.terminal import facts_table

    facts = describe(idx, reporter)
    if options.json:
        click.echo(as_json(facts), nl=False)
        return
    console = printing_console()
    console.print(facts_table(_facts(facts)))
    columns = {"layer": "left", "sorted": "left", "items": "right", "different": "right"}
    columns |= {"size": "right", "bytes per item": "right"}
    console.print(plain_table(columns, [_layer(layer) for layer in facts["layers"]]))
    columns = {"segment": "left", "documents": "right", "words": "right", "size": "right"}
    rows = [
        (s["name"], f"{s['documents']:,}", f"{s['words']:,}", size(s["bytes"]))
        for s in facts["segments"]
    ]
    if rows:
        console.print(plain_table(columns, rows))


def _facts(facts: Mapping[str, Any]) -> dict[str, str]:
    meanings = {}
    if about := facts.get("meanings"):
        per_word = f", {about['bytes_per_word']:.1f} bytes per word" if about["sentences"] else ""
        sentences = several(about["sentences"], "sentence")
        meanings = {"meanings": f"{about['signature']}, of {sentences}{per_word}"}
    sources = [f"{name} ({documents:,})" for name, documents in facts["sources"].items()]
    more = f", and {len(sources) - _NAMED:,} more" if len(sources) > _NAMED else ""
    listed = f"{len(sources):,}: {', '.join(sources[:_NAMED])}{more}"
    return {
        "index": facts["index"],
        "format": f"{facts['format']}, {facts['form']}, generation {facts['generation']}",
        "annotator": facts["signature"],
        **facts["subwords"],
        **meanings,
        "documents": f"{facts['documents']:,}",
        "words": f"{facts['words']:,}",
        "authors": f"{facts['authors']:,} (field '{facts['author_field']}')",
        "sources": listed if sources else "none",
        "texts": f"{size(facts['text_bytes'])}, compressed, with ids, metadata and places",
        "on disk": f"{size(facts['bytes'])} in {several(len(facts['segments']), 'segment')}",
    }


def _layer(layer: Mapping[str, Any]) -> tuple[str, ...]:
    per_item = layer["bytes_per_item"]
    return (
        layer["layer"],
        "yes" if layer["sorted"] else "no",
        f"{layer['items']:,}",
        f"{layer['vocabulary']:,}",
        size(layer["bytes"]),
        "–" if per_item is None else f"{per_item:.2f}",
    )


def index_verify(index: str | Path, reporter: Reporter) -> Result:
    path = Path(index)
    rows = [{"problem": line} for line in _problems(path, reporter)]
    about = {"index": str(path), "whole": not rows}
    return Listing("problems", rows, ("problem",), about).result("index-verify")


@command_of(None, index_argument())
def verify(idx: Path, options: SummaryOptions, reporter: TerminalReporter) -> None:
    """Read every byte of an index and compare it with what was written.

    Says "whole", or lists what is damaged or missing and ends with exit code 1.

    \b
      rote index verify IDX
    """
    from rote.report.terminal import strip_controls

    problems = _problems(idx, reporter)
    if options.json:
        facts = {"index": str(idx), "whole": not problems, "problems": problems}
        click.echo(as_json(facts), nl=False)
    else:
        for line in problems:
            click.echo(strip_controls(line))
        state = f"damaged, {several(len(problems), 'problem')}" if problems else "whole"
        click.echo(f"{idx}: {state}")
    if problems:
        sys.exit(1)


def _problems(path: Path, reporter: Reporter) -> list[str]:
    from rote.index.folders.folder import verify_index
    from rote.index.folders.manifest import is_index, read_manifest

    if not is_index(path):
        read_manifest(path)  # says what it is instead
    return verify_index(path, reporter)


_EXACT = ("length", "fragments", "original", "occurrences", "original_occurrences", "once")
_PAPER = ("length", "fragments", "original")
# Of names that were merged so many are shown, and all with --json.
_NAMES = 5
# Of lengths so many have a row of their own on the terminal.
_LENGTHS = 14


@dataclass(frozen=True, slots=True)
class OriginalsOptions:
    """What counts as original."""

    SECTION: ClassVar[str] = "What is original"
    layer: str = option("lower", "Layer in which fragments are compared")
    relax: int = option(1, "Maximum number of sources of an original fragment")
    variant: Literal["exact", "paper"] = option(
        "exact", "The definition, or Algorithm 1 of Brooks and Youssef (2021) as printed"
    )
    document_field: str | None = option(
        None, "Field that groups records into documents", metavar="FIELD"
    )
    authors: Path | None = option(
        None,
        "CSV file with the columns name and author; corrects which names count as one author",
        metavar="FILE",
    )
    write: Path | None = option(
        None, "Write all original fragments there", metavar="FILE", writes=LINES
    )
    shortest: bool = option(False, "Only fragments that contain no other original one")


def index_originals(
    index: Index | str | Path, options: OriginalsOptions, reporter: Reporter
) -> Result:
    index = opened(index, reporter)
    listing = _list_originals(index, options, reporter)
    return listing.result("index-originals", **signed(index, options))


@command_of(None, index_argument())
def originals(
    idx: Path, options: OriginalsOptions, output: Output, reporter: TerminalReporter
) -> None:
    """Count, and list, the original fragments of an index's own sentences.

    A fragment is two words or more inside one sentence that do not begin or end with a determiner,
    a preposition, a form of be or have, or a punctuation mark. It is original if at most --relax
    sources have it; documents that share a known author are one source. The table shows how many
    there are of each length; --write writes them all, one JSON object per line.

    \b
      rote index originals IDX
      rote index originals IDX --shortest --write originals.jsonl
      rote index originals IDX --variant paper
    """
    listing = _list_originals(opened(idx, reporter), options, reporter)
    deliver_rows(listing, lambda console: _draw_originals(listing, console), output)


def _list_originals(index: Index, options: OriginalsOptions, reporter: Reporter) -> Listing:
    from rote.search.originality.edges import rule_for

    _check_originals(options)
    rule = rule_for(index)
    check_layers(index, [options.layer, *(["pos"] if rule == "tags" else [])])
    settings = {"layer": options.layer, "variant": options.variant, "edges": rule}
    count = _by_algorithm if options.variant == "paper" else _by_definition
    with _originals_file(options.write) as file:
        listing = count(index, rule, options, file, reporter)
    about_listing = {**about(index), **settings, **listing.about}
    return Listing(listing.name, listing.rows, listing.columns, about_listing)


def _check_originals(options: OriginalsOptions) -> None:
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
        "total": {n: value for n, value in asdict(originals.total).items() if n != "length"},
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
        more = f"; {len(names) - _NAMES:,} more with --json" if len(names) > _NAMES else ""
        if names:
            reporter.say(f"{what}: {'; '.join(names[:_NAMES])}{more}")
    if authors.guessed or authors.ambiguous:
        reporter.say("--authors FILE says who a name is")


def _draw_originals(listing: Listing, console: Any) -> None:
    from rote.report.screen import plain_table
    from rote.report.terminal import facts_table

    known = listing.about
    sentences, fragments = known["sentences"], known["total"]["fragments"]
    original, original_fragments = known["original_sentences"], known["total"]["original"]
    facts = {
        "sentences": f"{sentences:,}, of which {original:,} hold an original fragment",
        "fragments": f"{fragments:,} different ones, of which {original_fragments:,} are original",
    }
    if "removed" in known:
        facts["removed"] = f"{several(known['removed'], 'sentence')} equal to an earlier one"
    else:
        sources = known["sources"]
        authors = f"{sources['count']:,}: {several(sources['authors'], 'author')}"
        unknown = several(sources["documents_without_author"], "document")
        facts["sources"] = f"{authors}, {unknown} without one"
    console.print(facts_table(facts))
    columns = {name.replace("_", " "): "right" for name in (*listing.columns, "share")}
    if listing.rows:
        console.print(plain_table(columns, [*map(_cells, _fold_rows(listing))]))


def _fold_rows(listing: Listing) -> Iterator[Mapping[str, Any]]:
    """The rows, those beyond the first few as one."""
    rest = listing.rows[_LENGTHS:]
    yield from listing.rows[:_LENGTHS] if len(rest) > 1 else listing.rows
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
        file.write(json.dumps({"words": fragment.words, **where}) + "\n")


@contextmanager
def _originals_file(path: Path | None) -> Iterator[TextIO | None]:
    """Where fragments go: nowhere, or beside the file until all are there."""
    if path is None:
        yield None
        return
    with new_file(path) as raw, TextIOWrapper(raw, encoding="utf-8") as file:
        yield file
