"""Which sentences are an original use of language, and which need a citation."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rote.cli._flags import build, flags
from rote.cli._index import several
from rote.cli._output import deliver
from rote.cli._places import LINES
from rote.cli._record import Further, Given, record_command
from rote.core.document import Document
from rote.core.errors import OptionError
from rote.core.metric import option
from rote.core.result import Result, Row

_STDIN = "-"
_VERDICTS = "verdicts"
# Of ids that are passed over so many are named.
_NAMED = 5


@dataclass(frozen=True, slots=True)
class GrowthOptions:
    """What becomes of the sentences that were judged."""

    write: Path | None = option(
        None,
        "Write the sentences that do not fail there, as JSON Lines",
        metavar="OUT",
        writes=LINES,
    )
    accept: bool = option(
        False,
        "Add sentences that are original and do not fail, and all of records with a field "
        "'citation', to the ground truth, an index",
    )


def prepare(given: Given) -> Mapping[str, Any]:
    """Refuse before the work what cannot work; both flags need the verdict on every sentence."""
    from rote.index.folders.manifest import is_index
    from rote.measure._against import WITHOUT

    options = build(GrowthOptions, given.options)
    if not (options.accept or options.write):
        return {}
    if not given.options["corpus"]:
        raise OptionError(WITHOUT)
    if given.options["within"]:
        raise OptionError("--within averages over sets of texts: it keeps and accepts no sentences")
    if options.accept:
        against = Path(given.options["corpus"])
        if not is_index(against):
            raise OptionError(
                f"--accept adds to an index, and {against} is none: make one with "
                f"`rote index build {against} -o IDX`, and name that with --corpus"
            )
        if _STDIN in given.files:
            raise OptionError("--accept reads the texts twice: put standard input into a file")
    return {_VERDICTS: True}


def finish(result: Result, given: Given) -> None:
    """Write what passes, show the result, and then, since nothing undoes it, let the index grow."""
    from rote.report.tables import results as tables
    from rote.report.texts.originality import print_originality

    options, verdicts = build(GrowthOptions, given.options), result.tables.get(_VERDICTS, ())
    if options.write:
        _write_passing(verdicts, options.write)
    if not given.options[_VERDICTS]:
        kept = {name: rows for name, rows in result.tables.items() if name != _VERDICTS}
        result = replace(result, tables=kept)

    def show(console: Any) -> None:
        tables.print_results([result], console)
        print_originality(result, console)

    deliver([result], given.output, panel=False, show=show)
    if options.accept:
        _accept(verdicts, given)


def _write_passing(verdicts: Iterable[Row], path: Path) -> None:
    """One record per sentence, each with an id of its own, so that it can be read as texts."""
    from rote.core.files import write_atomically

    lines = [
        json.dumps(
            {
                "id": f"{row['id']}#{row['sentence']}",
                "text": row["text"],
                "source": row["source"],
                "text_id": row["id"],
                "sentence": row["sentence"],
                "original": row["original"],
            }
        )
        for row in verdicts
        if not row["fails"]
    ]
    write_atomically(path, "".join(f"{line}\n" for line in lines))


def _accept(verdicts: Iterable[Row], given: Given) -> None:
    from rote.measure._originality.accepting import accept
    from rote.search.originality.authors import read_author_names

    path, authors = Path(given.options["corpus"]), given.options["authors"]
    known = read_author_names(authors) if authors else None
    found = accept(path, verdicts, _records(given), given.reporter, known)
    if found.documents:
        line = (
            f"accepted {several(found.sentences, 'sentence')} of "
            f"{several(len(found.documents), 'text')}"
        )
    else:
        line = "accepted nothing"
    given.reporter.say(f"{line} into {path}")
    if found.known:
        named = ", ".join(found.known[:_NAMED]) + ", …" * (len(found.known) > _NAMED)
        count = several(len(found.known), "text")
        given.reporter.say(f"passed over {count} whose id the index holds: {named}")


def _records(given: Given) -> Iterable[Document]:
    """The texts once more, for their authors and citations."""
    from rote.annotate.store import is_store, open_store
    from rote.corpus import ReadOptions, open_corpus

    files = [Path(name) for name in given.files]
    if len(files) == 1 and is_store(files[0]):
        return (
            document for batch, _ in open_store(files[0]).pieces() for document in batch.documents
        )
    return open_corpus(files, build(ReadOptions, given.options))


command = record_command(
    "originality",
    Further(flags(GrowthOptions, "What becomes of the sentences"), prepare, finish),
)
