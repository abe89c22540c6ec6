"""How often halves of one source differ: `favoured` and the distinctive n-grams of `templates`.

    python benchmarks/patterns_null.py TEXTS [TEXTS ...] [--splits 20] [--permutations 99]

TEXTS are files of texts by one kind of writer. Each is cut in two at random again and again, and
the halves are compared as if they were two sources. Whatever has a corrected p below 0.05 then is
a false alarm; one split in twenty may have any. With --where FIELD=VALUE only some records count.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from rote.core.metric import Comparison, Metric, Work
from rote.core.progress import Silent
from rote.core.sample import Sample
from rote.corpus import ReadOptions, open_corpus
from rote.measure import favoured, templates
from rote.measure._collect import collect
from rote.measure._prepare import Fields, Words
from rote.run import get

LISTS = ((favoured.METRIC, "patterns"), (templates.METRIC, "distinctive"))
LEVEL = 0.05


def sample_of(path: Path, where: str | None) -> tuple[Sample, list[str]]:
    """The texts with all layers that the two measures need."""
    field, _, value = (where or "").partition("=")
    documents = [
        document
        for document in open_corpus([path], ReadOptions())
        if not field or str(document.meta.get(field)) == value
    ]
    needs = [need for metric, _ in LISTS for need in metric.needs(metric.options())]
    collected = collect(
        open_corpus(documents, ReadOptions()),
        needs,
        words=Words("ud", "rote"),
        fields=Fields(()),
        engine=get(),
        reporter=Silent(),
    )
    return collected.sample, list(collected.ids)


def false_alarms(
    metric: Metric, table: str, sample: Sample, ids: list[str], permutations: int, seed: int
) -> tuple[int, float]:
    """How many rows of the list have a small p, and the largest z of any."""
    order = np.random.default_rng(seed).permutation(len(ids))
    groups = {
        "one": np.sort(order[: len(ids) // 2]).astype(np.int64),
        "other": np.sort(order[len(ids) // 2 :]).astype(np.int64),
    }
    strata = np.full(len(ids), -1, np.int64)
    options = metric.options()
    work = Work(groups=groups, reference="other", ids=ids, strata=strata, permutations=permutations)
    comparison = Comparison(
        groups, "other", ids, "", 0, Silent(), strata=strata, permutations=permutations
    )
    assert metric.tables is not None
    rows = metric.tables(metric.rows(sample, options, work), comparison, options)[table]
    largest = max((abs(row["z"]) for row in rows), default=0.0)
    return sum(row["p_corrected"] < LEVEL for row in rows), largest


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("texts", type=Path, nargs="+")
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--permutations", type=int, default=99)
    parser.add_argument("--where", metavar="FIELD=VALUE")
    given = parser.parse_args()
    print(f"{'texts':<24}{'list':<24}{'splits':>8}{'with any':>10}{'largest z':>12}", flush=True)
    for path in given.texts:
        sample, ids = sample_of(path, given.where)
        for metric, table in LISTS:
            found = [
                false_alarms(metric, table, sample, ids, given.permutations, seed)
                for seed in range(given.splits)
            ]
            wrong = sum(count > 0 for count, _ in found)
            largest = max(z for _, z in found)
            name = f"{metric.name}, {table}"
            line = f"{path.name:<24}{name:<24}{given.splits:>8}{wrong:>10}{largest:>12.1f}"
            print(line, flush=True)


if __name__ == "__main__":
    main()
