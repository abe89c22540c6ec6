"""ROUGE-2 of summarizers from the most novel to the most familiar test items, on Cochrane reviews.

    python benchmarks/cochrane.py [FOLDER] [--jobs 1]

FOLDER holds `references.jsonl` (conclusions of reviews, split train, dev and test) and
`systems.jsonl` (outputs on the test reviews), joined by `doc_id` (default:
../shared/data/cochrane). Outputs without a text are left out and counted. The training set is the
references of the split train; the control is the extractive baseline, which never saw them.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rote import overlap

DEFAULT = Path("../shared/data/cochrane")
REFERENCES, SYSTEMS = "references.jsonl", "systems.jsonl"
CONTROL = "Concatenate last sentence of each abstract"
ABSENT = """{folder} does not hold {name}.
The set is the Cochrane part of the MSLR-2022 shared task: conclusions of reviews from
github.com/bwallace/RCT-summarization-data, outputs of systems from
github.com/allenai/mslr-annotated-dataset. Write them as JSON Lines:
  {references}: doc_id, split (train, dev, test), text
  {systems}: doc_id, source (the system), text
and name the folder: python benchmarks/cochrane.py FOLDER"""
Record = dict[str, Any]


def records(path: Path) -> Iterator[Record]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def joined(folder: Path) -> tuple[list[Record], list[Record]]:
    """The training references, and the outputs with the test reference of their `doc_id`."""
    references = list(records(folder / REFERENCES))
    train = [record for record in references if record["split"] == "train"]
    tested = {r["doc_id"]: r["text"] for r in references if r["split"] == "test"}
    outputs = list(records(folder / SYSTEMS))
    alone = [record for record in outputs if record["doc_id"] not in tested]
    if alone:
        raise SystemExit(f"{len(alone)} outputs have no test reference: {alone[0]['doc_id']}, ...")
    kept = [{**r, "reference": tested[r["doc_id"]]} for r in outputs if r["text"].strip()]
    print(
        f"{len(train):,} training references, {len(tested):,} test references, {len(kept):,} "
        f"outputs; {len(outputs) - len(kept)} without a text left out"
    )
    return train, kept


def written(path: Path, held: list[Record]) -> str:
    path.write_text("".join(json.dumps(record) + "\n" for record in held), encoding="utf-8")
    return str(path)


def between(row: Record, name: str, form: str) -> str:
    """A value with its interval; a dash where the control is not set beside itself."""
    if math.isnan(row[name]):
        return "-"
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return f"{row[name]:{form}} ({low:{form}} to {high:{form}})"


def show(tables: dict[str, list[Record]]) -> None:
    print(f"\n{'ROUGE-2 F':<52}{'T_nov':>8}{'T_sim':>8}   ", end="")
    print(f"{'T_sim / T_nov':<22}{'rank correlation':<24}rise above the control")
    ordered = sorted(tables["trends"], key=lambda row: (row["source"] == CONTROL, -row["ratio"]))
    for row in ordered:
        print(f"{row['source']:<52}{row['nov']:8.3f}{row['sim']:8.3f}   ", end="")
        print(f"{between(row, 'ratio', '.2f'):<22}{between(row, 'trend', '.2f'):<24}", end="")
        print(between(row, "rise", ".3f"))
    print("\nbins (percent of a reference's 4-grams that the training references hold): items")
    for row in tables["partition"]:
        if row["source"] == CONTROL and row["bin"]:
            said = f"{100 * row['low']:.0f} to {100 * row['high']:.0f}: {row['items']}"
            print(f"  {said:<18}{row['name'] or ''}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", default=DEFAULT)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    for name in (REFERENCES, SYSTEMS):
        if not (options.folder / name).exists():
            absent = {"folder": options.folder, "references": REFERENCES, "systems": SYSTEMS}
            raise SystemExit(ABSENT.format(name=name, **absent))
    train, outputs = joined(options.folder)
    with TemporaryDirectory() as place:
        result = overlap(
            written(Path(place, "outputs.jsonl"), outputs),
            train=written(Path(place, "train.jsonl"), train),
            by="source",
            scores=("rouge_2",),
            control=CONTROL,
            jobs=options.jobs,
        )
    show(dict(result.tables))


if __name__ == "__main__":
    main()
