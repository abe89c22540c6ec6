"""The tables of a repetition study: averages, contrasts between arms, what neighbours do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any

import numpy as np

from rote.compare import clusters
from rote.compare.clusters import Estimate
from rote.compare.intervals import interval_from_error
from rote.core.array_types import Floats, Integers
from rote.core.errors import UnknownName
from rote.core.progress import Reporter
from rote.core.result import Result, SourceResult
from rote.studies._repetition.arms import Trained

SCORES = ("rouge_1", "rouge_2", "rouge_l", "entity_recall", "entity_precision", "entity_remembered")
FIGURES = ("bins", "normalized", "excess")


def scored(
    made: Trained, options: Any, reporter: Reporter
) -> tuple[dict[str, list[dict[str, Any]]], Mapping[str, SourceResult], list[str]]:
    """Scores of all texts by `overlap`, written beside them, and what they say of the arms."""
    folder, level = made.folder, options.interval
    lowest = made.arms[0].name
    first = _overlap(made, folder / "data" / "train.jsonl", lowest, options, reporter)
    for name in (".json", ".md", ".txt"):
        first.save(folder / f"overlap{name}")
    (folder / "figures").mkdir(exist_ok=True)
    for name in FIGURES:
        with suppress(UnknownName):  # nothing to draw: one arm, or no score above 0
            first.figure(name).save(str(folder / "figures" / f"{name}.svg"))
    beside = None
    if options.placebo:
        beside = _overlap(made, folder / "data" / "placebo.jsonl", lowest, options, reporter)
    table = Items(first, made)
    other = Items(beside, made) if beside is not None else None
    tables = {
        "sizes": _sizes(made),
        "averages": list(averages(first, table, made, level)),
        "contrasts": [
            row for a, b in _compared(made) for row in contrast(a, b, table, other, level)
        ],
        "neighbours": list(neighbours(table, made, level)) if made.apart else [],
    }
    notes = list(dict.fromkeys(note for one in first.by_source.values() for note in one.notes))
    return tables, first.by_source, [*made.notes, *notes]


def _overlap(made: Trained, train: Any, lowest: str, options: Any, reporter: Reporter) -> Result:
    from rote.studies._driver import run

    several = len(made.arms) > 1
    given: dict[str, Any] = {
        "train": str(train),
        "by": "source",
        "scores": SCORES,
        "permutations": 0,
        "matched": False,
        "interval": options.interval,
        "normalize_to": lowest if several else None,
        "control": lowest if several else None,
    }
    if options.placebo and train.stem == "train":
        given["placebo"] = str(train.with_name("placebo.jsonl"))
    return run("overlap", list(made.texts.values()), given, reporter=reporter)


class Items:
    """The scores of an overlap by arm, seed and test item."""

    def __init__(self, result: Result, made: Trained) -> None:
        place = {one.id: number for number, one in enumerate(made.test)}
        self.count = len(made.test)
        # Items with the same document have the same summary.
        self.clusters = clusters.numbered([one.document for one in made.test])
        self.bin = np.full(self.count, -1, np.int64)
        seeds = sorted({seed for _, seed in made.texts})
        shape = (len(seeds), self.count)
        self.scores: dict[str, dict[str, Floats]] = {}
        at = {seed: row for row, seed in enumerate(seeds)}
        for row in result.tables["items"]:
            name, _, rest = row["id"].rpartition(f"/{row['source']}/")
            own = self.scores.setdefault(row["source"], {})
            item = place[name]
            self.bin[item] = row["bin"] - 1 if row["bin"] is not None else -1
            for score in SCORES:
                own.setdefault(score, np.full(shape, np.nan))[at[int(rest)], item] = row[score]
        self.seeds = seeds

    @property
    def last(self) -> int:
        return int(self.bin.max(initial=-1))

    def difference(self, a: str, b: str, score: str, chosen: Any) -> Estimate:
        """Of two arms on the same items, a mean over seeds and items; documents are clusters."""
        apart = self.scores[a][score] - self.scores[b][score]
        return self.mean(apart, np.broadcast_to(chosen, apart.shape))

    def ends(
        self, arm: str, score: str, bin: int | None, mean: float | None, level: float
    ) -> tuple[float | None, float | None]:
        """The interval of a mean in a bin (from 1 on), or of all items."""
        if mean is None or not level:
            return None, None
        scores = self.scores[arm][score]
        chosen = self.bin >= 0 if bin is None else self.bin == bin - 1
        found = self.mean(scores, np.broadcast_to(chosen, scores.shape) & ~np.isnan(scores))
        return interval_from_error(mean, found.error, level, found.least, share=True)

    def mean(self, table: Floats, chosen: Any) -> Estimate:
        _, items = np.nonzero(chosen)
        return clusters.mean(table[chosen], self.clusters[items], self.count)


def _estimate(name: str, made: Estimate, level: float) -> dict[str, float]:
    low, high = made.interval(level)
    return {name: made.value, f"{name}_low": low, f"{name}_high": high}


def _sizes(made: Trained) -> list[dict[str, Any]]:
    rows = []
    for arm in made.arms:
        own = [one for one in made.sizes if one["source"] == arm.name]
        means = {
            name: float(np.mean([one[name] for one in own]))
            for name in ("pairs", "words", "updates", "loss", "validation")
            if all(name in one for one in own)
        }
        whole = {name: round(means[name]) for name in ("pairs", "words", "updates")}
        rows.append({"source": arm.name, **means, **whole})
    return rows


def averages(result: Result, table: Items, made: Trained, level: float) -> Any:
    """All items, T_nov and T_sim of each arm, and how far the seeds are apart."""
    held = {(row["source"], row["score"], row["bin"]): row for row in result.tables["bins"]}
    for arm in made.arms:
        for score in SCORES:
            row: dict[str, Any] = {"source": arm.name, "score": score}
            for name, bin in (("mean", None), ("nov", 1), ("sim", table.last + 1)):
                row[name] = held.get((arm.name, score, bin), {}).get("mean")
                ends = table.ends(arm.name, score, bin, row[name], level)
                row |= dict(zip((f"{name}_low", f"{name}_high"), ends))
            with np.errstate(invalid="ignore"):
                means = [
                    float(np.nanmean(one))
                    for one in table.scores[arm.name][score]
                    if not np.isnan(one).all()
                ]
            row["between_seeds"] = float(np.std(means, ddof=1)) if len(means) > 1 else None
            yield row


def _compared(made: Trained) -> list[tuple[str, str]]:
    """Each arm with the next lower theta and the lowest, equal sizes with their own size."""
    names = [one.name for one in made.arms if not one.calibrated and one.kind in ("limited", "all")]
    pairs = [*((after, before) for before, after in pairwise(names))]
    pairs += [(names[-1], names[0])] if len(names) > 2 else []
    for one in made.arms:
        if one.kind in ("random", "most-repeated"):
            pairs.append((one.name, f"theta={one.theta}"))
        if one.calibrated:
            pairs.append((one.name, "all"))
    return list(dict.fromkeys(pairs))


def contrast(a: str, b: str, table: Items, beside: Items | None, level: float) -> Any:
    for score in SCORES:
        row: dict[str, Any] = {"source": a, "than": b, "score": score}
        for name, items in (("sim", table), ("placebo", beside)):
            if items is None or items.last < 1:
                continue
            novel = items.difference(a, b, score, items.bin == 0)
            similar = items.difference(a, b, score, items.bin == items.last)
            if name == "sim":
                row |= _estimate("in_nov", novel, level) | _estimate("in_sim", similar, level)
                row["between_seeds"] = _between(items, a, b, score)
            row |= _estimate(f"more_in_{name}", similar - novel, level)
        yield row


def _between(items: Items, a: str, b: str, score: str) -> float | None:
    """How far the seeds are apart in how much more is gained in T_sim: a standard deviation."""
    apart = items.scores[a][score] - items.scores[b][score]
    found = []
    for own in apart:
        ends = [own[(items.bin == bin) & ~np.isnan(own)] for bin in (items.last, 0)]
        if all(map(len, ends)):
            found.append(float(ends[0].mean() - ends[1].mean()))
    return float(np.std(found, ddof=1)) if len(found) > 1 else None


def neighbours(table: Items, made: Trained, level: float, arm: str = "without neighbours") -> Any:
    """What items lose without their neighbours, and what the others lose; by bin."""
    treated = np.zeros((len(table.seeds), table.count), bool)
    for row, seed in enumerate(table.seeds):
        treated[row, made.apart[seed]] = True
    for name, chosen in _groups(table):
        for score in SCORES:
            lost = table.scores["all"][score] - table.scores[arm][score]
            both = np.broadcast_to(chosen, lost.shape)
            own = table.mean(lost, treated & both)
            others = table.mean(lost, ~treated & both)
            yield {
                "items": name,
                "score": score,
                "count": int(chosen.sum()),
                **_estimate("lost", own, level),
                **_estimate("lost_by_others", others, level),
                **_estimate("by_rote", own - others, level),
            }


def _groups(table: Items) -> Sequence[tuple[str, Integers]]:
    groups: list[tuple[str, Any]] = [("all", table.bin >= 0)]
    if table.last > 0:
        groups += [("T_nov", table.bin == 0), ("T_sim", table.bin == table.last)]
    return groups
