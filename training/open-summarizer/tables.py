# ruff: noqa: T201 - a command says what it does
"""Score what `run.py` wrote: bins, averages, contrasts, the neighbours' effect, interventions.

python training/open-summarizer/tables.py build/summarizer texts.jsonl.gz -o tables.json
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections import defaultdict
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np

from rote.core.progress import Silent
from rote.core.result import plain
from rote.curate.corpus_reader import json_line
from rote.curate.pairs import TrainingPair
from rote.studies._repetition import (
    EMPTY,
    OverlapScores,
    StudyArm,
    TrainedStudy,
    average_rows,
    contrast_rows,
    neighbour_rows,
)
from rote.studies.dispatch.driver import run_command
from rote.studies.train_intervene import Edit, outcome_rows

ARMS = {
    "theta2": StudyArm("theta2", "limited", 2),
    "all": StudyArm("all", "all"),
    "random": StudyArm("random", "random", 2),
    "apart": StudyArm("apart", "apart"),
    "brio_theta2": StudyArm("brio_theta2", "limited", 2, True),
    "brio_all": StudyArm("brio_all", "all", 0, True),
}
COMPARED = (
    ("all", "theta2"),
    ("random", "theta2"),
    ("all", "random"),
    ("brio_all", "all"),
    ("brio_theta2", "all"),
    ("brio_theta2", "brio_all"),
)


def changed(
    records: list[dict[str, Any]], made: dict[str, list[dict[str, Any]]]
) -> list[dict[str, Any]]:
    """What becomes of changed facts, by arm; the models of all seeds together."""
    edits = [
        Edit(
            TrainingPair(one["doc_id"], "", ""),
            0,
            one["how"],
            one["type"],
            one["old"],
            one["new"],
            "",
        )
        for one in records
    ]
    place = {one["id"]: number for number, one in enumerate(records)}
    texts: dict[str, list[list[str]]] = {}
    for arm, own in made.items():
        texts[arm] = [[] for _ in edits]
        for one in own:
            texts[arm][place[one["id"]]].append(one["text"])
    return outcome_rows(edits, texts, 0.95)


def by_placebo(table: OverlapScores, scored: Path, kept: str, made: TrainedStudy) -> OverlapScores:
    """The same scores, items in bins by what they share with pairs that no arm is trained on."""
    first = made.arms[0].name
    some = scored.with_name("some.jsonl")
    with scored.open("rb") as lines:
        every = (json.loads(line) for line in lines)
        some.write_bytes(
            b"".join(json_line(one) for one in every if (one["source"], one["seed"]) == (first, 0))
        )
    given = {"train": kept, "scores": ("rouge",), "permutations": 0, "matched": False}
    place = {one.id: number for number, one in enumerate(made.test)}
    beside = copy(table)
    beside.bin = np.full(table.count, -1, np.int64)
    for row in run_command("overlap", some, given, reporter=Silent()).tables["items"]:
        if row["bin"] is not None:
            beside.bin[place[row["id"].rpartition(f"/{first}/")[0]]] = row["bin"] - 1
    return beside


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("texts", type=Path)
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("-o", "--out", type=Path, default=Path("tables.json"))
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    from prepare import TARGET, VALIDATION, of_split, read

    pairs = read(given.data, TARGET)
    test = of_split(pairs, *VALIDATION)
    by_id = {one.id: one for one in test}
    scored = given.folder / "scored.jsonl"
    edited: dict[str, Any] = defaultdict(lambda: defaultdict(list))
    texts: dict[tuple[str, int], Path] = {}
    with gzip.open(given.texts, "rt", encoding="utf-8") as lines, scored.open("wb") as out:
        for line in lines:
            one = json.loads(line)
            if one["set"] != "test":
                edited[one["set"]][one["source"]].append(one)
                continue
            pair: TrainingPair = by_id[one["id"]]
            own = {
                "id": f"{pair.id}/{one['source']}/{one['seed']}",
                "doc_id": pair.id,
                "text": one["text"] or EMPTY,
                "source": one["source"],
                "seed": one["seed"],
                "document": pair.document,
                "reference": pair.reference,
            }
            texts[one["source"], one["seed"]] = scored
            out.write(json_line(own))
    made = TrainedStudy(
        given.folder, [ARMS[n] for n in ARMS if (n, 0) in texts], test, [], "", texts
    )
    held = np.load(given.folder / "carried" / "subsets.npz")
    made.apart = {s: held[f"apart_items-{s}"] for s in sorted({seed for _, seed in texts})}
    options: dict[str, Any] = {
        "by": "source",
        "scores": ("rouge", "entities"),
        "permutations": 0,
        "matched": False,
        "normalize_to": "theta2",
        "control": "theta2",
        "jobs": given.jobs,
    }
    train, kept = (str(given.folder / f"{name}.jsonl") for name in ("train", "placebo"))
    found = run_command(
        "overlap", scored, {**options, "train": train, "placebo": kept}, reporter=Silent()
    )
    table = OverlapScores(found, made)
    beside = by_placebo(table, scored, kept, made)
    rows = {
        "sizes": {name: len(held[name]) for name in held.files},
        "partition": found.tables["partition"],
        "bins": found.tables["bins"],
        "trends": found.tables["trends"],
        "averages": list(average_rows(found, table, made)),
        "contrasts": [
            r
            for a, b in COMPARED
            if a in table.scores and b in table.scores
            for r in contrast_rows(a, b, table, beside, 0.95)
        ],
        "neighbours": [
            r
            for arm in ("apart",)
            if arm in table.scores
            for r in neighbour_rows(table, made, 0.95, arm)
        ],
        "outcomes": [
            {"entities": {"edited": "frequent"}.get(name, name), **row}
            for name, records in json.loads((given.folder / "edited.json").read_text()).items()
            for row in changed(records, edited[name])
        ],
    }
    given.out.write_text(json.dumps(plain(rows), indent=1))
    print(f"{given.out}: {', '.join(f'{name} {len(own)}' for name, own in rows.items())}")


if __name__ == "__main__":
    main()
