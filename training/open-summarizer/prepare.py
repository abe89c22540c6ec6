# ruff: noqa: T201 - a command says what it does
"""Pairs as numbers for `run.py`: a tokenizer, all pairs in 16 bits, and the subsets to train on.

    python training/open-summarizer/prepare.py --data data -o build/summarizer

Needs rote and its extra `lm`; `run.py` then needs what this writes, torch and transformers alone.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np

from rote.core.progress import Silent
from rote.corpus import ReadOptions, open_corpus
from rote.curate.corpus_reader import json_line
from rote.curate.limit import LimitOptions
from rote.curate.limit_folder import limit
from rote.curate.pairs import (
    VALIDATION,
    PairOptions,
    TrainingPair,
    read_pairs,
    select_split,
    shares_ngram,
)
from rote.models.training.summarizer import train_tokenizer
from rote.studies.train_intervene import edit_documents, find_mentions, frequent_entities

TARGET, BASE = "pairs_rss_headlines", ("pairs_acl_titles", "pairs_samsum", "pairs_dialogsum")
LONGEST, MOST, SIZE, SEEDS, CALIBRATED = 160, 48, 12_000, 3, 3_072
ALONE = 2_232
"""Test items whose neighbours one arm leaves out of training."""
KEPT, LOOKED_AT = 0.1, 1_024
"""Share of the pairs that no arm is trained on (the placebo); settings are chosen by some of it."""
FREQUENT, EDITED = 2_000, 300


def read(data: Path, name: str) -> list[TrainingPair]:
    corpus = open_corpus(data / name / "pairs.jsonl.zst", ReadOptions(text_field="document"))
    return read_pairs(corpus, PairOptions(), Silent())


def ragged(tokenizer: Any, texts: list[str], longest: int) -> dict[str, np.ndarray]:
    found = tokenizer(texts, add_special_tokens=False)["input_ids"]
    rows = [[*row[: longest - 1], 2] for row in found]
    lengths = np.array([len(row) for row in rows], np.int64)
    return {"flat": np.concatenate([np.array(row, np.int16) for row in rows]), "lengths": lengths}


def packed(tokenizer: Any, pairs: list[TrainingPair]) -> dict[str, np.ndarray]:
    documents = ragged(tokenizer, [one.document for one in pairs], LONGEST)
    references = ragged(tokenizer, [one.reference for one in pairs], MOST)
    return {
        **{f"document_{name}": one for name, one in documents.items()},
        **{f"reference_{name}": one for name, one in references.items()},
    }


def edited(train: list[TrainingPair], test: list[TrainingPair]) -> dict[str, list[dict[str, Any]]]:
    """Documents with a changed fact: an entity that many training references hold, or, to compare
    with, one that none of them holds, so that no model can have learned it there."""
    references = [one.reference for one in train]
    found = {"edited": frequent_entities(references, FREQUENT), "unseen": unseen(references, test)}
    return {
        name: [one.record for one in edit_documents(test, own, EDITED, 2, 0)]
        for name, own in found.items()
    }


def unseen(references: list[str], test: list[TrainingPair]) -> dict[str, str]:
    """Entities of test references, and their types, that occur in no training reference."""
    every = "\n".join(references).lower()
    named = {
        one.text: one.type for own in find_mentions([one.reference for one in test]) for one in own
    }
    return {name: kind for name, kind in named.items() if name.lower() not in every}


def subsets(
    train: list[TrainingPair], test: list[TrainingPair], out: Path
) -> dict[str, np.ndarray]:
    """Row numbers of the training pairs of each arm and seed, with those kept apart."""
    place = {one.id: number for number, one in enumerate(train)}
    file = out / "pairs.jsonl"
    file.write_bytes(b"".join(json_line(one.record) for one in train))
    made = limit(
        open_corpus(file), out / "limited", LimitOptions(most=(2,), seeds=SEEDS, random=True)
    )
    found: dict[str, np.ndarray] = {}
    for one in made.manifest["subsets"]:
        with open(out / "limited" / one["file"], "rb") as lines:
            rows = [place[json.loads(line)["doc_id"]] for line in lines]
        name = {"limited": "theta2", "random": "random"}[one["kind"]]
        found[f"{name}-{one['seed']}"] = np.array(rows, np.int32)
    for seed in range(SEEDS):
        random = np.random.default_rng([seed, 7])
        apart = np.sort(random.choice(len(test), ALONE, replace=False))
        near = shares_ngram([one.reference for one in train], [test[i].reference for i in apart], 4)
        found[f"apart-{seed}"] = np.flatnonzero(~near).astype(np.int32)
        found[f"apart_items-{seed}"] = apart.astype(np.int32)
    return found


def without_kept(found: dict[str, np.ndarray], pairs: int) -> dict[str, np.ndarray]:
    """All subsets without the pairs that no arm is trained on; D_2 and its twin of equal size."""
    order = np.random.default_rng(11).permutation(pairs).astype(np.int32)
    kept, left = np.split(order, [round(KEPT * pairs)])
    made = {"kept": np.sort(kept), "all": np.sort(left)}
    for seed in range(SEEDS):
        random = np.random.default_rng([seed, 11])
        twins = [np.intersect1d(found[f"{name}-{seed}"], left) for name in ("theta2", "random")]
        size = min(map(len, twins))
        for name, rows in zip(("theta2", "random"), twins):
            made[f"{name}-{seed}"] = np.sort(random.choice(rows, size, replace=False))
        made[f"apart-{seed}"] = np.intersect1d(found[f"apart-{seed}"], left)
        made[f"apart_items-{seed}"] = found[f"apart_items-{seed}"]
        for arm, rows in (("all", made["all"]), ("theta2", made[f"theta2-{seed}"])):
            some = random.choice(rows, CALIBRATED, replace=False)
            made[f"calibrate_{arm}-{seed}"] = np.sort(some)
    return made


def write_texts(
    out: Path,
    train: list[TrainingPair],
    test: list[TrainingPair],
    changed: Any,
    rows: dict[str, np.ndarray],
) -> None:
    """The documents to summarize, and, to score by, the pairs that are trained on and are not."""
    kept = [train[i] for i in rows["kept"]]
    for name, some in (("train", [train[i] for i in rows["all"]]), ("placebo", kept)):
        (out / f"{name}.jsonl").write_bytes(b"".join(json_line(one.record) for one in some))
    (out / "edited.json").write_text(json.dumps(changed))
    with gzip.open(out / "carried" / "documents.jsonl.gz", "wb") as file:
        for one in test:
            file.write(json_line({"id": one.id, "set": "test", "document": one.document}))
        for one in kept[:LOOKED_AT]:
            own = {"id": one.id, "set": "kept", "document": one.document}
            file.write(json_line({**own, "reference": one.reference}))
        for name, records in changed.items():
            for record in records:
                own = {"id": record["id"], "set": name, "document": record["document"]}
                file.write(json_line(own))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("-o", "--out", type=Path, default=Path("build/summarizer"))
    parser.add_argument("--most", type=int, default=0, help="pairs of each set, for a trial")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    (carried := given.out / "carried").mkdir(exist_ok=True)
    pairs = read(given.data, TARGET)
    train, test = select_split(pairs, "train"), select_split(pairs, *VALIDATION)
    base = [one for name in BASE for one in select_split(read(given.data, name), "train")]
    if given.most:
        train, test, base = (some[: given.most] for some in (train, test, base))
    tokenizer = train_tokenizer(
        (text for one in (*train, *base) for text in (one.document, one.reference)), SIZE, 512
    )
    tokenizer.backend_tokenizer.save(str(carried / "tokenizer.json"))
    for name, some in (("train", train), ("base", base)):
        np.savez_compressed(carried / f"{name}.npz", **packed(tokenizer, some))
    rows = without_kept(subsets(train, test, given.out), len(train))
    np.savez_compressed(carried / "subsets.npz", **rows)
    write_texts(given.out, train, test, edited(train, test), rows)
    size = sum(path.stat().st_size for path in carried.iterdir())
    print(
        f"{len(train):,} pairs, {len(base):,} to begin with, {len(test):,} to test: "
        f"{size / 2**20:.1f} MiB in {carried}"
    )


if __name__ == "__main__":
    main()
