"""Remove duplicates from a corpus, with a ledger of what was removed, where, and which copy stayed.

Whole documents go if an earlier one that stays is at least --near similar: the Jaccard similarity
of their runs of five words, without case, punctuation and typography, computed in full (no
pair is missed, and none is guessed). Of the others every run of --length words or more is cut that
was kept before, punctuation included, so one copy of everything stays. --exact takes words as they
are.

With --meaning a document goes also if it says in other words what an earlier one says: their static
vectors are near, and they share rare words, as chance alone brings for at most --chance of the
documents. Where numbers, names or negation differ both stay, and similar.jsonl lists them.

The folder DIR gets the files in the formats they came in, removed.jsonl and a manifest.json
with what each source shares with the others.

\b
  rote dedup crawl/*.jsonl.zst -o clean
  rote dedup answers.jsonl --meaning -o clean
  rote dedup web.parquet --length 100 --near 0 --cut sentence -o clean
  rote dedup train.jsonl --corpus IDX --keep source:books,newest:year -o clean
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rote.core.chart import make_chart
from rote.core.metric import check_options, handle, unsigned_option
from rote.core.numbers import parse_memory
from rote.core.progress import several
from rote.core.record import Call, Findings, Study
from rote.core.result import Result
from rote.core.table import Column, FullTable, Pivot, Rows, Table, make_columns
from rote.corpus import ReadOptions, read_option
from rote.curate.dedup import DedupOptions
from rote.curate.output_folder import FolderOptions, folder_findings, folder_work


@dataclass(frozen=True, slots=True)
class Options:
    """What the corpus is compared with beside itself, and what that may take."""

    SECTION: ClassVar[str] = "Comparison"
    corpus: str | None = handle(
        None,
        "Also cut what occurs in this corpus: an index, or a file of texts",
        "IDX",
        takes="corpus",
    )
    corpus_read: tuple[str, ...] = read_option("that corpus")
    memory: str = unsigned_option(
        "4G",
        "Memory for comparing, such as 512M or 4G; the rest is in files; results do not depend on "
        "it",
        metavar="SIZE",
    )

    def __post_init__(self) -> None:
        check_options(self)
        parse_memory(self.memory)


def run(call: Call) -> Findings:
    """Find what is repeated, and write what is left."""
    from rote.curate.dedup_folder import dedup

    folder, memory = call.of(FolderOptions).folder("dedup"), parse_memory(call.options.memory)
    how = {"against": call.options.corpus, "memory": memory, **folder_work(call)}
    result = dedup(call.inputs, folder, call.of(DedupOptions), **how)
    manifest = result.manifest
    rows = []
    for row in manifest["sources"]:
        gone = row["words_removed_with_documents"] + row["words_cut"]
        rows.append({**row, "share": gone / max(1, row["words"])})
    tables = {"sources": rows, "shared": manifest["shared"], "passages": manifest["passages"]}
    return folder_findings(call, folder, result, tables, result.problems.listed())


def _account(result: Result, place: str) -> str:
    manifest = result.about["manifest"]
    gone = sum(row["documents_removed"] for row in manifest["sources"])
    words = sum(row["words_cut"] for row in manifest["sources"])
    text_count = sum(file["texts"] for file in manifest["files"])
    similar = ""
    if "similar" in manifest:
        similar = (
            f"; similar to others but with different facts, not removed: "
            f"{several(manifest['similar'], 'document')} (similar.jsonl)"
        )
    return (
        f"{place}: {text_count:,} of {manifest['input']['texts']:,} texts; removed as duplicates: "
        f"{several(gone, 'document')}; cut from others: {several(words, 'word')} (removed.jsonl "
        f"lists them, ledger.html shows them){similar}"
    )


_SETS = 10


def _most_shared(rows: Rows, result: Result) -> Rows:
    """Those of the sources that share most, in the order in which they came."""
    most: dict[str, int] = {}
    for row in rows:
        most[row["source"]] = max(most.get(row["source"], 0), row["words"])
    chosen = set(sorted(most, key=lambda name: -most[name])[:_SETS])
    return [row for row in rows if row["source"] in chosen and row["also_in"] in chosen]


def _note_sets(rows: Rows, result: Result) -> str:
    sets = len({row["source"] for row in result.tables["shared"]})
    more = f" The {_SETS} of {sets} sources that share most; manifest.json has all."
    return "As part of repeated runs of words." + (more if sets > _SETS else "")


_WORDS = {"False": " (in lower case, without punctuation)", "True": " (as they are)"}

STUDY = Study(
    name="dedup",
    title="Near-duplicates",
    says="A corpus without near-duplicates and repeated spans.",
    takes="texts",
    metavar="CORPUS...",
    options=Options,
    more=(DedupOptions, FolderOptions, ReadOptions),
    without=("strip_prompt", "prompt_field", "shingle"),
    run=run,
    output="data",
    account=_account,
    ledger="removed.jsonl",
    section="corpus",
    method=lambda settings: (
        (
            f"Documents whose runs of {settings['shingle']} "
            f"words{_WORDS.get(str(settings['exact']), '')} are at least "
            f"{float(settings['near']):.0%} the same (Jaccard) as those of an earlier one were "
            "removed"
            if float(settings["near"])
            else "Whole documents stayed"
        )
        + (
            "; documents that paraphrase an earlier one were removed (static vectors and shared "
            f"rare words, with a probability by chance of at most {float(settings['chance']):g} of "
            "the documents), unless numbers, names or negation differ"
            if settings.get("meaning") not in (None, "None")
            else ""
        )
        + (
            f"; of the others runs of {settings['length']} words or more that were kept before "
            "were cut"
            if int(settings["length"])
            else ""
        )
    ),
    charts=(
        make_chart(
            "shared",
            "Words of each source that also occur in another document of these",
            "shared matrix x=also_in y=source colour=share",
            titles={"share": "share of words", "also_in": "also in"},
            rows=_most_shared,
            share=True,
            zero=True,
            says="A matrix of sources: how much of the row's source also occurs in another "
            "document of the column's source.",
        ),
    ),
    layout=(
        FullTable(
            "sources",
            "What went",
            make_columns(
                "source texts:count words:count documents_removed=documents_that_went:count "
                "words_cut:count share=share_of_words:share"
            ),
        ),
        Table(
            "shared",
            "Words of each source that also occur in another document of these",
            make_columns("source"),
            note=_note_sets,
            rows=_most_shared,
            limit=100,
            pivot=Pivot("also_in", Column("share", kind="share", decimals=2)),
        ),
        Table(
            "passages",
            "Passages that are repeated most",
            make_columns("times:count documents:count words=length:count text:text"),
            limit=10,
        ),
    ),
)
