"""The arms of a repetition study: which pairs each is trained on, what it writes, and the tables:
averages, contrasts between arms, what neighbours do.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from rote.compare import clusters
from rote.compare.clusters import ClusterEstimate
from rote.compare.intervals import interval_from_error
from rote.core.arrays import Floats, Integers
from rote.core.errors import InputError, OptionError, UnknownName
from rote.core.files import write_atomically
from rote.core.json_reader import JsonObject, as_json, read_json
from rote.core.locked_folder import inside, os_error_messages, refuse_links
from rote.core.progress import Reporter, several
from rote.core.result import Result, SourceResult
from rote.corpus import ReadOptions, open_corpus
from rote.curate.corpus_reader import write_lines
from rote.curate.generate import parse_record
from rote.curate.limit import LimitOptions
from rote.curate.limit_folder import limit
from rote.curate.pairs import (
    VALIDATION,
    PairOptions,
    TrainingPair,
    hold_out,
    pairs_fingerprint,
    read_pairs,
    select_split,
    select_subset,
    shares_ngram,
)
from rote.models.options import ModelOptions
from rote.models.training.loop import TrainOptions
from rote.studies import _training
from rote.studies._items import draw_in_order

_STEPS = (1000, 2000)
"""Updates of random weights, at least and at most."""
_CALIBRATION_RATE = 3e-5
"""Learning rate of calibration."""
_CALIBRATED = 3072
"""Pairs of a subset that are calibrated on at most."""
_CHARACTERS = 4
"""About so many are a token of a tokenizer that was learned from the data."""
EMPTY = "."
"""What stands for a summary without a word: records hold texts, and it scores nothing."""


@dataclass(frozen=True, slots=True)
class StudyArm:
    """One kind of training set; `file` is that of a subset, by seed."""

    name: str
    kind: str
    theta: int = 0
    calibrated: bool = False


@dataclass(slots=True)
class TrainedStudy:
    folder: Path
    arms: list[StudyArm]
    test: list[TrainingPair]
    train: list[TrainingPair]
    fingerprint: str
    texts: dict[tuple[str, int], Path] = field(default_factory=dict)
    sizes: list[dict[str, Any]] = field(default_factory=list)
    apart: dict[int, Integers] = field(default_factory=dict)
    """By seed the test items whose neighbours were left out."""
    training: TrainOptions = field(default_factory=TrainOptions)
    room: int = 0
    """How the models were trained, and tokens in one batch."""
    held_out: list[TrainingPair] = field(default_factory=list)
    """Validates; empty where nothing asks for it."""
    notes: list[str] = field(default_factory=list)
    test_sets: dict[str, list[TrainingPair]] = field(default_factory=dict)
    """The test items of each file that --test names; none where they are a split of the data."""

    def on(self, test_set: str) -> TrainedStudy:
        """The study on one of its test sets."""
        tested = replace(self, test=self.test_sets[test_set])
        return replace(
            tested, texts={key: _text_path(self.folder, *key, test_set) for key in self.texts}
        )


def list_arms(options: Any) -> list[StudyArm]:
    all_arms = [StudyArm(f"theta={limit}", "limited", limit) for limit in options.limits]
    all_arms += [StudyArm("all", "all")] if options.has_all else []
    if options.equal_size:
        all_arms += [StudyArm(f"random as theta={n}", "random", n) for n in options.limits]
        lowest = options.limits[0]
        all_arms.append(StudyArm(f"most repeated as theta={lowest}", "most-repeated", lowest))
    if options.without_neighbours:
        all_arms.append(StudyArm("without neighbours", "apart"))
    if options.calibrate:
        all_arms += [
            replace(arm, name=f"BRIO-{arm.theta or 'all'}", calibrated=True)
            for arm in list(all_arms)
            if arm.kind in ("limited", "all")
        ]
    return all_arms


@dataclass(frozen=True, slots=True)
class _ArmTrainer:
    study: TrainedStudy
    options: Any
    running: ModelOptions
    reporter: Reporter

    def make(self, arm: StudyArm, seed: int) -> None:
        """What is missing of an arm with this seed."""
        study = self.study
        some = _select_subset(arm, seed, study)
        place = study.folder / "models" / _file_name(arm.name)
        place.mkdir(parents=True, exist_ok=True)
        training_row = self._train(arm, seed, some, place / f"seed-{seed}")
        words = sum(len(pair.reference.split()) for pair in some)
        row = {"source": arm.name, "seed": seed, "pairs": len(some), "words": words}
        study.sizes.append(row | training_row)
        study.texts[arm.name, seed] = _text_path(study.folder, arm.name, seed)
        for tested in [study.on(name) for name in study.test_sets] or [study]:
            self._write_texts(arm, seed, place / f"seed-{seed}", tested)

    def _train(
        self, arm: StudyArm, seed: int, some: Sequence[TrainingPair], folder: Path
    ) -> dict[str, Any]:
        study, options, running = self.study, self.options, self.running
        if arm.calibrated:
            start = study.folder / "models" / "all" / f"seed-{seed}"
            how = TrainOptions(epochs=1, learning_rate=_CALIBRATION_RATE)
            wanted = _training.from_options(
                _training.Calibration, options, margin=0.001, training=how, running=running
            )
            result = _training.calibrate(wanted, str(start), some, seed, folder, self.reporter)
            return {"updates": result["updates"], "loss": result["loss"]}
        wanted_fit = _training.from_options(
            _training.FitSettings, options, training=study.training, running=running
        )
        settings = {"pairs": pairs_fingerprint(some), "arm": arm.name}
        held_out = study.held_out
        done = _training.fit(
            wanted_fit, study.train, some, held_out, seed, folder, settings, self.reporter
        )
        looks = [loss for _, loss in done["validation"]]
        row = {"updates": done["updates"], "loss": _training.last_loss(done["loss"])}
        return row | ({"validation": min(looks)} if looks else {})

    def _write_texts(self, arm: StudyArm, seed: int, model: Path, study: TrainedStudy) -> None:
        """The summaries of the test items by one model, with document and reference."""
        from rote.models.training.summarizer import Searching

        path, options = study.texts[arm.name, seed], self.options
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            return
        how = Searching(options.beams, options.max_tokens, options.longest)

        def record(number: int, summaries: Sequence[str]) -> dict[str, Any]:
            pair = study.test[number]
            return {
                "id": f"{pair.id}/{arm.name}/{seed}",
                "text": summaries[0] or EMPTY,
                "source": arm.name,
                "seed": seed,
                "doc_id": pair.id,
                "document": pair.document,
                "reference": pair.reference,
            }

        def wrong(number: int, line: bytes) -> str | None:
            doc_id = parse_record(line).get("doc_id")
            return None if doc_id == study.test[number].id else f"'doc_id' is {doc_id}"

        loaded = _training.open_trainable(str(model), self.running, self.reporter)
        documents = [pair.document for pair in study.test]
        room = self.running.batch * 4
        _training.write_resumed(loaded, documents, how, path, room, record, wrong, self.reporter)


def train_arms(
    options: Any,
    every: Sequence[TrainingPair],
    pairs: PairOptions,
    training: TrainOptions,
    running: ModelOptions,
    reporter: Reporter,
) -> TrainedStudy:
    """Make what is missing: subsets, models, texts."""
    test_sets = read_test_sets(options, pairs, reporter)
    train, placebo, test, notes = _split_pairs(options, every, test_sets)
    train, held_out, validated = _hold_out_validation(train, test, every, training)
    every = [*every, *(pair for some in test_sets.values() for pair in some)]
    training = training.settled(options.from_config)
    room = _training.batch_tokens(options.tokens, options.from_config)
    if options.from_config and not training.steps:
        # Epochs of a small subset are too few updates for random weights to learn anything.
        training = replace(training, steps=_count_updates(train, room))
        reporter.say(
            f"random weights: {training.steps:,} updates for every model; --steps gives others"
        )
    options = replace(options, tokens=room)
    folder: Path = options.output
    with os_error_messages(folder, "the study"):
        _start_folder(folder, options, training, every)
        data = folder / "data"
        data.mkdir(exist_ok=True)
        parts = {"train": train, "placebo": placebo, "validation": held_out, "test": test}
        for name, some in parts.items():
            if some and not (data / f"{name}.jsonl").exists():
                write_lines(data / f"{name}.jsonl", [pair.record for pair in some])
        if options.limits:
            # Also what other arms may ask for later: a folder is made once.
            wanted = LimitOptions(
                variant=options.variant,
                max=options.limits,
                field="reference",
                seeds=len(options.seeds),
                seed=options.seeds[0],
                random=True,
                most_repeated=True,
            )
            train_data = open_corpus(data / "train.jsonl")
            limit(train_data, folder / "limited", wanted, reporter=reporter)
        study = TrainedStudy(
            folder,
            list_arms(options),
            test,
            train,
            pairs_fingerprint(every),
            training=training,
            room=room,
            held_out=held_out,
            notes=notes + validated,
            test_sets=test_sets,
        )
        trainer = _ArmTrainer(study, options, running, reporter)
        for arm in study.arms:
            for seed in options.seeds:
                trainer.make(arm, seed)
    return study


def read_test_sets(
    options: Any, pairs: PairOptions, reporter: Reporter
) -> dict[str, list[TrainingPair]]:
    """The test items of the files that --test names, by the files' names; nothing where it names a
    split. Of a file whose records name splits they are those of its test split, else of its
    validation split; all where there is none."""
    names = [name for name in options.test.split(",") if name]
    if not any(Path(name).exists() for name in names):
        return {}
    test_sets: dict[str, list[TrainingPair]] = {}
    for name in names:
        stem = Path(name).name.partition(".")[0] or name
        stem = Path(name).resolve().parent.name if stem in test_sets else stem
        if stem in test_sets:
            raise OptionError(f"--test names two files '{stem}': give them unique names")
        # As the pairs themselves are read.
        reading = ReadOptions(text_field=pairs.document_field)
        every = read_pairs(open_corpus([Path(name)], reading), pairs, reporter)
        splits = {pair.fields.get("split") for pair in every}
        split = next((split for split in ("test", *VALIDATION) if split in splits), None)
        chosen = every if split is None else select_split(every, split)
        chosen = draw_in_order(chosen, options.sample, np.random.default_rng(0))
        test_sets[stem] = [replace(pair, id=f"{stem}/{pair.id}") for pair in chosen]
    return test_sets


def _split_pairs(
    options: Any, every: Sequence[TrainingPair], test_sets: Mapping[str, Sequence[TrainingPair]]
) -> tuple[list[TrainingPair], list[TrainingPair], list[TrainingPair], list[str]]:
    """Pairs to train on, those that are kept apart, the test items, and a note where those had to
    be drawn: records that name no split at all are held out for it."""
    names = {pair.fields.get("split") for pair in every}
    wanted = [options.test] if options.test else ["test", *VALIDATION]
    split, notes = next((name for name in wanted if name in names), None), []
    if test_sets:
        train = select_split(every, "train")
        test = [pair for some in test_sets.values() for pair in some]
        if not train:
            raise InputError("no pairs of the split 'train' to train on", field="split")
        notes = [f"zero-shot: trained on {several(len(train), 'pair')}, tested on other files"]
    elif names == {None} and not options.test:
        train, test = hold_out(every)
        drawn = several(len(test), "pair")
        notes = [f"records have no split: tested on {drawn}, drawn at random and held out"]
    elif split is None or "train" not in names:
        raise InputError(
            f"no pairs of the split {' or '.join(wanted)} besides those of 'train'",
            field="split",
            remedy="Records name their split; --test names that of the test items, or their files",
        )
    else:
        train, test = select_split(every, "train"), select_split(every, split)
    random = np.random.default_rng(0)
    if not test_sets:
        test = draw_in_order(test, options.sample, random)
    order = random.permutation(len(train))
    placebo = set(order[: round(options.placebo * len(train))].tolist())
    remaining = [pair for place, pair in enumerate(train) if place not in placebo]
    return remaining, [train[place] for place in sorted(placebo)], test, notes


def _hold_out_validation(
    train: list[TrainingPair],
    test: Sequence[TrainingPair],
    every: Sequence[TrainingPair],
    training: TrainOptions,
) -> tuple[list[TrainingPair], list[TrainingPair], list[str]]:
    """Pairs to train on, those to validate on where that is asked for, and a note that names them:
    a validation split that is not tested on, else a tenth of the training pairs."""
    if not training.validates:
        return train, [], []
    tested = test[0].fields.get("split")
    held_out = select_split(every, *(split for split in VALIDATION if split != tested))
    if held_out:
        note = f"validated on {several(len(held_out), 'pair')} of their own split"
        return train, held_out, [note]
    train, held_out = hold_out(train)
    drawn = several(len(held_out), "training pair")
    return train, held_out, [f"validated on {drawn}, drawn at random and held out from all models"]


def _count_updates(train: Sequence[TrainingPair], room: int) -> int:
    """As many as one pass over all pairs takes, within bounds; the same for every subset."""
    tokens = sum(len(pair.document) + len(pair.reference) for pair in train) / _CHARACTERS
    return min(max(round(tokens / room), _STEPS[0]), _STEPS[1])


def _start_folder(
    folder: Path, options: Any, training: TrainOptions, every: Sequence[TrainingPair]
) -> None:
    """A folder of another study is refused; one of this study goes on."""
    free = ("output", "theta", "equal_size", "without_neighbours", "calibrate", "interval")
    wanted = {k: v for k, v in asdict(options).items() if k not in free}
    wanted = as_json({**wanted, **asdict(training), "pairs": pairs_fingerprint(every)})
    wanted["limits"] = list(options.limits)
    path, remedy = folder / "study.json", "Choose a new folder"
    if path.exists():
        refuse_links(inside(folder))
        previous = JsonObject.of(read_json(path, remedy=remedy), str(path), remedy=remedy).values
        if different := [name for name in wanted if previous.get(name) != wanted[name]]:
            differences = ", ".join(f"{n} {previous.get(n)}, not {wanted[n]}" for n in different)
            raise OptionError(
                f"{folder} contains a study with other settings ({differences}): choose a new "
                "folder"
            )
        return
    if folder.exists() and any(folder.iterdir()):
        raise OptionError(f"{folder} is a folder with other files in it: choose a new one")
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps(wanted, indent=1))


def _select_subset(arm: StudyArm, seed: int, study: TrainedStudy) -> list[TrainingPair]:
    if arm.kind == "all":
        some = study.train
    elif arm.kind == "apart":
        random = np.random.default_rng([seed, 7])
        half = np.sort(random.choice(len(study.test), len(study.test) // 2, replace=False))
        study.apart[seed] = half
        near = shares_ngram(
            [pair.reference for pair in study.train], [study.test[i].reference for i in half]
        )
        some = [pair for pair, beside in zip(study.train, near) if not beside]
    else:
        ending = "" if arm.kind == "limited" else f".{arm.kind}"
        file = study.folder / "limited" / f"max-{arm.theta}.seed-{seed}{ending}.jsonl"
        some = select_subset(study.train, file)
    if arm.calibrated:
        some = draw_in_order(some, _CALIBRATED, np.random.default_rng([seed, 11]))
    return some


def _text_path(folder: Path, arm: str, seed: int, test_set: str = "") -> Path:
    return folder / "texts" / test_set / f"{_file_name(arm)}.seed-{seed}.jsonl"


def _file_name(name: str) -> str:
    return name.replace(" ", "-").replace("=", "-")


SCORES = ("rouge_1", "rouge_2", "rouge_l", "entity_recall", "entity_precision", "entity_remembered")
FIGURES = ("bins", "normalized", "excess")


def score_arms(
    study: TrainedStudy, options: Any, reporter: Reporter
) -> tuple[dict[str, list[dict[str, Any]]], Mapping[str, SourceResult], list[str]]:
    """Scores of all texts by `overlap`, written beside them, and what they say of the arms; of
    each test set by itself, where there are several."""
    if not study.test_sets:
        return _score_set(study, options, reporter, study.folder)
    tables: dict[str, list[dict[str, Any]]] = {}
    sources: dict[str, SourceResult] = {}
    notes: list[str] = []
    for name in study.test_sets:
        place = study.folder / "tested" / name
        place.mkdir(parents=True, exist_ok=True)
        set_tables, set_sources, set_notes = _score_set(study.on(name), options, reporter, place)
        for title, rows in set_tables.items():
            if title == "sizes":
                tables[title] = rows
            else:
                tables.setdefault(title, []).extend({"test": name, **row} for row in rows)
        sources |= {f"{name}|{arm}": source for arm, source in set_sources.items()}
        notes += [note for note in set_notes if note not in notes]
    return tables, sources, notes


def _score_set(
    study: TrainedStudy, options: Any, reporter: Reporter, place: Path
) -> tuple[dict[str, list[dict[str, Any]]], Mapping[str, SourceResult], list[str]]:
    folder, level = study.folder, options.interval
    lowest = study.arms[0].name
    first = _measure_overlap(study, folder / "data" / "train.jsonl", lowest, options, reporter)
    for name in (".json", ".md", ".txt"):
        first.save(place / f"overlap{name}")
    (place / "figures").mkdir(exist_ok=True)
    for name in FIGURES:
        with suppress(UnknownName):  # nothing to draw: one arm, or no score above 0
            first.figure(name).save(str(place / "figures" / f"{name}.svg"))
    table, beside_scores = OverlapScores(first, study), None
    if options.placebo:
        placebo = folder / "data" / "placebo.jsonl"
        overlap = _measure_overlap(study, placebo, lowest, options, reporter)
        beside_scores = OverlapScores(overlap, study)
    tables = {
        "sizes": _size_rows(study),
        "averages": list(average_rows(first, table, study, level)),
        "contrasts": [
            row
            for a, b in _compared_arms(study)
            for row in contrast_rows(a, b, table, beside_scores, level)
        ],
        "neighbours": list(neighbour_rows(table, study, level)) if study.apart else [],
    }
    notes = dict.fromkeys(note for source in first.by_source.values() for note in source.notes)
    return tables, first.by_source, [*study.notes, *notes]


def _measure_overlap(
    study: TrainedStudy, train: Any, lowest: str, options: Any, reporter: Reporter
) -> Result:
    from rote.studies.dispatch.driver import run_command

    several = len(study.arms) > 1
    keywords: dict[str, Any] = {
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
        keywords["placebo"] = str(train.with_name("placebo.jsonl"))
    return run_command("overlap", list(study.texts.values()), keywords, reporter=reporter)


class OverlapScores:
    """The scores of an overlap by arm, seed and test item."""

    def __init__(self, result: Result, study: TrainedStudy) -> None:
        place = {pair.id: number for number, pair in enumerate(study.test)}
        self.count = len(study.test)
        # Items with the same document have the same summary.
        self.clusters = clusters.number_clusters([pair.document for pair in study.test])
        self.bin = np.full(self.count, -1, np.int64)
        seeds = sorted({seed for _, seed in study.texts})
        shape = (len(seeds), self.count)
        self.scores: dict[str, dict[str, Floats]] = {}
        at = {seed: row for row, seed in enumerate(seeds)}
        for row in result.tables["items"]:
            name, _, rest = row["id"].rpartition(f"/{row['source']}/")
            arm_scores = self.scores.setdefault(row["source"], {})
            item = place[name]
            self.bin[item] = row["bin"] - 1 if row["bin"] is not None else -1
            for score in SCORES:
                column = arm_scores.setdefault(score, np.full(shape, np.nan))
                column[at[int(rest)], item] = row[score]
        self.seeds = seeds

    @property
    def last(self) -> int:
        return int(self.bin.max(initial=-1))

    def difference(self, a: str, b: str, score: str, chosen: Any) -> ClusterEstimate:
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
        average = self.mean(scores, np.broadcast_to(chosen, scores.shape) & ~np.isnan(scores))
        return interval_from_error(mean, average.error, level, average.least, share=True)

    def mean(self, table: Floats, chosen: Any) -> ClusterEstimate:
        _, items = np.nonzero(chosen)
        return clusters.mean_by_cluster(table[chosen], self.clusters[items], self.count)


def _size_rows(study: TrainedStudy) -> list[dict[str, Any]]:
    rows = []
    for arm in study.arms:
        arm_sizes = [size for size in study.sizes if size["source"] == arm.name]
        means = {
            name: float(np.mean([size[name] for size in arm_sizes]))
            for name in ("pairs", "words", "updates", "loss", "validation")
            if all(name in size for size in arm_sizes)
        }
        rounded = {name: round(means[name]) for name in ("pairs", "words", "updates")}
        rows.append({"source": arm.name, **means, **rounded})
    return rows


def average_rows(result: Result, table: OverlapScores, study: TrainedStudy, level: float) -> Any:
    """All items, T_nov and T_sim of each arm, and how far the seeds are apart."""
    bin_rows = {(row["source"], row["score"], row["bin"]): row for row in result.tables["bins"]}
    for arm in study.arms:
        for score in SCORES:
            row: dict[str, Any] = {"source": arm.name, "score": score}
            for name, bin in (("mean", None), ("nov", 1), ("sim", table.last + 1)):
                row[name] = bin_rows.get((arm.name, score, bin), {}).get("mean")
                ends = table.ends(arm.name, score, bin, row[name], level)
                row |= dict(zip((f"{name}_low", f"{name}_high"), ends))
            with np.errstate(invalid="ignore"):
                by_seed = table.scores[arm.name][score]
                means = [float(np.nanmean(s)) for s in by_seed if not np.isnan(s).all()]
            row["between_seeds"] = float(np.std(means, ddof=1)) if len(means) > 1 else None
            yield row


def _compared_arms(study: TrainedStudy) -> list[tuple[str, str]]:
    """Each arm with the next lower theta and the lowest, equal sizes with their own size."""
    plain = (arm for arm in study.arms if not arm.calibrated)
    names = [arm.name for arm in plain if arm.kind in ("limited", "all")]
    pairs = [(after, before) for before, after in pairwise(names)]
    pairs += [(names[-1], names[0])] if len(names) > 2 else []
    for arm in study.arms:
        if arm.kind in ("random", "most-repeated"):
            pairs.append((arm.name, f"theta={arm.theta}"))
        if arm.calibrated:
            pairs.append((arm.name, "all"))
    return list(dict.fromkeys(pairs))


def contrast_rows(
    a: str, b: str, table: OverlapScores, beside: OverlapScores | None, level: float
) -> Any:
    for score in SCORES:
        row: dict[str, Any] = {"source": a, "than": b, "score": score}
        for name, items in (("sim", table), ("placebo", beside)):
            if items is None or items.last < 1:
                continue
            novel = items.difference(a, b, score, items.bin == 0)
            similar = items.difference(a, b, score, items.bin == items.last)
            if name == "sim":
                row |= novel.cells("in_nov", level) | similar.cells("in_sim", level)
                row["between_seeds"] = _between_seeds(items, a, b, score)
            row |= (similar - novel).cells(f"more_in_{name}", level)
        yield row


def _between_seeds(items: OverlapScores, a: str, b: str, score: str) -> float | None:
    """How far the seeds are apart in how much more is gained in T_sim: a standard deviation."""
    apart = items.scores[a][score] - items.scores[b][score]
    gains = []
    for seed_scores in apart:
        ends = [seed_scores[(items.bin == bin) & ~np.isnan(seed_scores)] for bin in (items.last, 0)]
        if all(map(len, ends)):
            gains.append(float(ends[0].mean() - ends[1].mean()))
    return float(np.std(gains, ddof=1)) if len(gains) > 1 else None


def neighbour_rows(table: OverlapScores, study: TrainedStudy, level: float) -> Any:
    """What items lose without their neighbours, and what the others lose; by bin."""
    treated = np.zeros((len(table.seeds), table.count), bool)
    for row, seed in enumerate(table.seeds):
        treated[row, study.apart[seed]] = True
    groups: list[tuple[str, Any]] = [("all", table.bin >= 0)]
    if table.last > 0:
        groups += [("T_nov", table.bin == 0), ("T_sim", table.bin == table.last)]
    for name, mask in groups:
        for score in SCORES:
            lost = table.scores["all"][score] - table.scores["without neighbours"][score]
            both = np.broadcast_to(mask, lost.shape)
            loss = table.mean(lost, treated & both)
            others = table.mean(lost, ~treated & both)
            yield {
                "items": name,
                "score": score,
                "count": int(mask.sum()),
                **loss.cells("lost", level),
                **others.cells("lost_by_others", level),
                **(loss - others).cells("by_rote", level),
            }
