"""The arms of a repetition study: who is trained on which pairs, and what each of them writes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from rote.core.array_types import Integers
from rote.core.errors import InputError, OptionError
from rote.core.files import write_atomically
from rote.core.folder import clear_errors, inside, refuse_links
from rote.core.json_reader import JsonObject, as_json, read_json
from rote.core.progress import Reporter, several
from rote.corpus import open_corpus
from rote.curate.generate import record_in
from rote.curate.limit import LimitOptions
from rote.curate.limit_folder import limit
from rote.curate.pairs import (
    VALIDATION,
    Pair,
    PairOptions,
    chosen,
    fingerprint,
    hold_out,
    of_split,
    sharing,
)
from rote.curate.reading import write_lines
from rote.models.options import ModelOptions
from rote.models.training.loop import TrainOptions
from rote.studies._calibration import Calibration, calibrate, write_resumed
from rote.studies._training import Fit, fit, opened, room_of

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
class Arm:
    """One kind of training set; `file` is that of a subset, by seed."""

    name: str
    kind: str
    theta: int = 0
    calibrated: bool = False


@dataclass(slots=True)
class Trained:
    """Everything that a study has on disk."""

    folder: Path
    arms: list[Arm]
    test: list[Pair]
    train: list[Pair]
    fingerprint: str
    texts: dict[tuple[str, int], Path] = field(default_factory=dict)
    sizes: list[dict[str, Any]] = field(default_factory=list)
    apart: dict[int, Integers] = field(default_factory=dict)
    """By seed the test items whose neighbours were left out."""
    training: TrainOptions = field(default_factory=TrainOptions)
    room: int = 0
    """How the models were trained, and tokens in one batch."""
    held_out: list[Pair] = field(default_factory=list)
    """Validates; empty where nothing asks for it."""
    notes: list[str] = field(default_factory=list)


def arms(options: Any) -> list[Arm]:
    found = [Arm(f"theta={limit}", "limited", limit) for limit in options.limits]
    found += [Arm("all", "all")] if options.whole else []
    if options.equal_size:
        found += [Arm(f"random as theta={one}", "random", one) for one in options.limits]
        lowest = options.limits[0]
        found.append(Arm(f"most repeated as theta={lowest}", "most-repeated", lowest))
    if options.without_neighbours:
        found.append(Arm("without neighbours", "apart"))
    if options.calibrate:
        found += [
            replace(one, name=f"BRIO-{one.theta or 'all'}", calibrated=True)
            for one in list(found)
            if one.kind in ("limited", "all")
        ]
    return found


def trained(
    options: Any,
    every: Sequence[Pair],
    pairs: PairOptions,
    training: TrainOptions,
    running: ModelOptions,
    reporter: Reporter,
) -> Trained:
    """Make what is missing: subsets, models, texts."""
    train, kept, test, notes = _parts(options, every)
    train, held_out, validated = _validation(train, test, every, training)
    notes += validated
    training = training.settled(options.from_config)
    room = room_of(options.tokens, options.from_config)
    if options.from_config and not training.steps:
        # Epochs of a small subset are too few updates for random weights to learn anything.
        training = replace(training, steps=_updates(train, room))
        reporter.say(
            f"random weights: {training.steps:,} updates for every model; --steps gives others"
        )
    options = replace(options, tokens=room)
    folder: Path = options.output
    with clear_errors(folder, "the study"):
        _begin(folder, options, training, every)
        data = folder / "data"
        data.mkdir(exist_ok=True)
        parts = {"train": train, "placebo": kept, "validation": held_out, "test": test}
        for name, some in parts.items():
            if some and not (data / f"{name}.jsonl").exists():
                write_lines(data / f"{name}.jsonl", [one.record for one in some])
        if options.limits:
            limit(
                open_corpus(data / "train.jsonl"),
                folder / "limited",
                # Also what other arms may ask for later: a folder is made once.
                LimitOptions(
                    max=options.limits,
                    field="reference",
                    seeds=len(options.seeds),
                    seed=options.seeds[0],
                    random=True,
                    most_repeated=True,
                ),
                reporter=reporter,
            )
        found = Trained(
            folder,
            arms(options),
            test,
            train,
            fingerprint(every),
            training=training,
            room=room,
            held_out=held_out,
            notes=notes,
        )
        for arm in found.arms:
            for seed in options.seeds:
                some = _subset(arm, seed, found, options)
                place = folder / "models" / _file(arm.name)
                place.mkdir(parents=True, exist_ok=True)
                made = _model(arm, seed, some, found, options, training, running, reporter, place)
                found.sizes.append(
                    {
                        "source": arm.name,
                        "seed": seed,
                        "pairs": len(some),
                        "words": sum(len(one.reference.split()) for one in some),
                        **made,
                    }
                )
                found.texts[arm.name, seed] = _texts(
                    arm, seed, place / f"seed-{seed}", found, options, running, reporter
                )
    return found


def _parts(
    options: Any, every: Sequence[Pair]
) -> tuple[list[Pair], list[Pair], list[Pair], list[str]]:
    """Pairs to train on, those that are kept apart, the test items, and a note where those had to
    be drawn: records that name no split at all are held out for it."""
    names = {one.fields.get("split") for one in every}
    wanted = [options.test] if options.test else ["test", *VALIDATION]
    split, notes = next((one for one in wanted if one in names), None), []
    if names == {None} and not options.test:
        train, test = hold_out(every)
        drawn = several(len(test), "pair")
        notes = [f"records name no split: tested on {drawn}, drawn at random and held out"]
    elif split is None or "train" not in names:
        raise InputError(
            f"no pairs of the split {' or '.join(wanted)} beside those of 'train'",
            field="split",
            remedy="Records name their split; --test names that of the test items",
        )
    else:
        train, test = of_split(every, "train"), of_split(every, split)
    random = np.random.default_rng(0)
    if options.sample and options.sample < len(test):
        test = [test[i] for i in np.sort(random.choice(len(test), options.sample, replace=False))]
    order = random.permutation(len(train))
    kept = set(order[: round(options.placebo * len(train))].tolist())
    return (
        [one for place, one in enumerate(train) if place not in kept],
        [train[place] for place in sorted(kept)],
        test,
        notes,
    )


def _validation(
    train: list[Pair], test: Sequence[Pair], every: Sequence[Pair], training: TrainOptions
) -> tuple[list[Pair], list[Pair], list[str]]:
    """Pairs to train on, those to validate on where that is asked for, and a note that names them:
    a validation split that is not tested on, else a tenth of the training pairs."""
    if not training.validates:
        return train, [], []
    tested = test[0].fields.get("split")
    held_out = of_split(every, *(one for one in VALIDATION if one != tested))
    if held_out:
        return (
            train,
            held_out,
            [f"validated on {several(len(held_out), 'pair')} of their own split"],
        )
    train, held_out = hold_out(train)
    drawn = several(len(held_out), "training pair")
    return train, held_out, [f"validated on {drawn}, drawn at random and held out from all models"]


def _updates(train: Sequence[Pair], room: int) -> int:
    """As many as one pass over all pairs takes, within bounds; the same for every subset."""
    tokens = sum(len(one.document) + len(one.reference) for one in train) / _CHARACTERS
    return min(max(round(tokens / room), _STEPS[0]), _STEPS[1])


def _begin(folder: Path, options: Any, training: TrainOptions, every: Sequence[Pair]) -> None:
    """A folder of another study is refused; one of this study goes on."""
    free = ("output", "theta", "equal_size", "without_neighbours", "calibrate", "interval")
    wanted = {k: v for k, v in asdict(options).items() if k not in free}
    wanted = as_json({**wanted, **asdict(training), "pairs": fingerprint(every)})
    wanted["limits"] = list(options.limits)
    path, remedy = folder / "study.json", "Choose a new folder"
    if path.exists():
        refuse_links(inside(folder))
        held = JsonObject.of(read_json(path, remedy=remedy), str(path), remedy=remedy).values
        if different := [name for name in wanted if held.get(name) != wanted[name]]:
            shown = ", ".join(f"{n} {held.get(n)}, not {wanted[n]}" for n in different)
            raise OptionError(
                f"{folder} holds a study with other settings ({shown}): choose a new folder"
            )
        return
    if folder.exists() and any(folder.iterdir()):
        raise OptionError(f"{folder} is a folder with other things in it: choose a new one")
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps(wanted, indent=1))


def _subset(arm: Arm, seed: int, found: Trained, options: Any) -> list[Pair]:
    if arm.kind == "all":
        some = found.train
    elif arm.kind == "apart":
        random = np.random.default_rng([seed, 7])
        half = np.sort(random.choice(len(found.test), len(found.test) // 2, replace=False))
        found.apart[seed] = half
        near = sharing(
            [one.reference for one in found.train], [found.test[i].reference for i in half]
        )
        some = [one for one, beside in zip(found.train, near) if not beside]
    else:
        ending = "" if arm.kind == "limited" else f".{arm.kind}"
        file = found.folder / "limited" / f"max-{arm.theta}.seed-{seed}{ending}.jsonl"
        some = chosen(found.train, file)
    if arm.calibrated and len(some) > _CALIBRATED:
        random = np.random.default_rng([seed, 11])
        places = np.sort(random.choice(len(some), _CALIBRATED, replace=False))
        some = [some[place] for place in places]
    return some


def _model(
    arm: Arm,
    seed: int,
    some: Sequence[Pair],
    found: Trained,
    options: Any,
    training: TrainOptions,
    running: ModelOptions,
    reporter: Reporter,
    place: Path,
) -> dict[str, Any]:
    folder = place / f"seed-{seed}"
    if arm.calibrated:
        start = found.folder / "models" / "all" / f"seed-{seed}"
        how = TrainOptions(epochs=1, learning_rate=_CALIBRATION_RATE)
        wanted = Calibration(
            options.candidates,
            0.001,
            options.alpha,
            options.longest,
            options.max_tokens,
            how,
            running,
        )
        made = calibrate(wanted, str(start), some, seed, folder, reporter)
        return {"updates": made["updates"], "loss": made["loss"]}
    wanted_fit = Fit(
        options.model,
        options.from_config,
        options.tokens,
        options.longest,
        options.max_tokens,
        training,
        running,
    )
    settings = {"pairs": fingerprint(some), "arm": arm.name}
    done = fit(wanted_fit, found.train, some, found.held_out, seed, folder, settings, reporter)
    last = done["loss"][-20:]
    looks = [loss for _, loss in done["validation"]]
    return {
        "updates": done["updates"],
        "loss": sum(last) / max(1, len(last)),
        **({"validation": min(looks)} if looks else {}),
    }


def _texts(
    arm: Arm,
    seed: int,
    model: Path,
    found: Trained,
    options: Any,
    running: ModelOptions,
    reporter: Reporter,
) -> Path:
    """The summaries of the test items by one model, with document and reference."""
    from rote.models.training.writing import Searching

    (found.folder / "texts").mkdir(exist_ok=True)
    path = found.folder / "texts" / f"{_file(arm.name)}.seed-{seed}.jsonl"
    if path.exists():
        return path
    how = Searching(options.beams, options.max_tokens, options.longest)

    def record(number: int, made: Sequence[str]) -> dict[str, Any]:
        one = found.test[number]
        return {
            "id": f"{one.id}/{arm.name}/{seed}",
            "text": made[0] or EMPTY,
            "source": arm.name,
            "seed": seed,
            "doc_id": one.id,
            "document": one.document,
            "reference": one.reference,
        }

    def wrong(number: int, line: bytes) -> str | None:
        held = record_in(line).get("doc_id")
        return None if held == found.test[number].id else f"'doc_id' is {held}"

    loaded = opened(str(model), running, reporter)
    documents = [one.document for one in found.test]
    write_resumed(loaded, documents, how, path, running.batch * 4, record, wrong, reporter)
    return path


def _file(name: str) -> str:
    return name.replace(" ", "-").replace("=", "-")
