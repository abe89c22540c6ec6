"""Make subsets of a training set with limited n-gram repetition.

For every limit and seed one JSONL file in the folder DIR, with the records as they were read, and
a manifest.json: sizes, seeds, the input's fingerprint, and what was dropped and why. Texts are
shuffled with the seed; a text is kept if after it no n-gram of the kept ones occurs more than
--max times.

\b
  rote limit train.jsonl --max 2,5,10,25 --seeds 3 -o limited
  rote limit train.jsonl --max 2 --random --most-repeated --sizes 10000,20000 -o compared
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rote.core.progress import several
from rote.core.record import Call, Findings, Study
from rote.core.result import Result
from rote.core.table import FullTable, make_columns
from rote.corpus import ReadOptions
from rote.curate.limit import LimitOptions
from rote.curate.output_folder import FolderOptions, folder_findings, folder_work

_SHOWN = 3


def run(call: Call) -> Findings:
    """Count, choose, and write what is not there yet."""
    from rote.curate.limit_folder import limit

    folder = call.of(FolderOptions).folder("limit")
    result = limit(call.inputs, folder, call.options, **folder_work(call))
    tables = {"subsets": list(_subset_rows(result.manifest))}
    return folder_findings(call, folder, result, tables, result.problems.listed())


def _subset_rows(manifest: dict[str, Any]) -> Iterator[dict[str, str]]:
    """A row for each kind of subset, the seeds taken together."""
    kinds: dict[tuple[int, str], list[dict[str, Any]]] = {}
    for each in manifest["subsets"]:
        kind = f"{each['texts']:,} of {each['kind']}" if each["sample"] else each["kind"]
        kinds.setdefault((each["max"], kind), []).append(each)
    for (most, kind), seeds in kinds.items():
        blockers = seeds[0].get("dropped", {}).get("most_blocking", [])[:_SHOWN]
        shares = [each["texts"] / manifest["input"]["texts"] for each in seeds]
        yield {
            "max": f"{most:,}",
            "subset": kind,
            "texts": _format_range([each["texts"] for each in seeds], ","),
            "share": _format_range(shares, ".1%"),
            "words": _format_range([each["words"] for each in seeds], ","),
            "blocked": "; ".join(f"{each['ngram']} ({each['texts']:,})" for each in blockers),
        }


def _format_range(numbers: list[float], spec: str) -> str:
    low, high = format(min(numbers), spec), format(max(numbers), spec)
    return low if low == high else f"{low} to {high}"


def _account(result: Result, place: str) -> str:
    manifest = result.about["manifest"]
    about, settings, count = manifest["input"], manifest["settings"], len(manifest["subsets"])
    return (
        f"{place}: {several(count, 'subset')} of {about['texts']:,} texts ('"
        f"{settings['field']}', {settings['n']}-grams of {settings['layer']}, "
        f"{settings['tokenizer']}); the most frequent occurs "
        f"{several(about['largest_frequency'], 'time')}"
    )


STUDY = Study(
    name="limit",
    title="Limited repetition",
    says="Subsets of a training set in which no n-gram is repeated more often than a limit.",
    takes="texts",
    metavar="TRAIN...",
    options=LimitOptions,
    more=(FolderOptions, ReadOptions),
    run=run,
    output="data",
    account=_account,
    layout=(
        FullTable(
            "subsets",
            "Subsets",
            make_columns(
                "max:count subset texts:count share:count words:count blocked=kept_out_by_(texts)"
            ),
        ),
    ),
)
