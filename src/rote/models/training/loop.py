"""The loop of training. A kill at any step and a second start end in the same weights as one run:
every step draws from a generator of its own, a checkpoint holds all that the rest depends on."""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain, count
from pathlib import Path
from typing import Any, ClassVar

from rote.core.arrays import Integers
from rote.core.errors import InputError, OptionError, RoteError
from rote.core.files import beside, open_regular, write_atomically
from rote.core.json_reader import JsonObject, as_json, read_json
from rote.core.locked_folder import os_error_messages, refuse_links
from rote.core.metric import OptionSet, option
from rote.core.progress import Reporter
from rote.models.hub_models import is_out_of_memory, quiet_transformers
from rote.models.training.objectives import Objective

ACCOUNT = "training.json"
SAVE_EVERY = 500
"""Updates between two checkpoints."""
_BETAS = (0.9, 0.999)
_LARGEST_GRADIENT = 1.0
"""Norm that gradients are cut to."""


@dataclass(frozen=True, slots=True)
class TrainOptions(OptionSet):
    """How long and how fast a model learns."""

    SECTION: ClassVar[str] = "Training"
    epochs: int = option(3, "Maximum number of epochs", least=1)
    steps: int = option(0, "Total number of updates, instead of epochs; 0: use epochs", least=0)
    learning_rate: float = option(
        0.0,
        "Peak learning rate, decayed to 0 after the warm-up; 0: 5e-5 (adapters 2e-4), or with "
        "random weights 2e-3 (tiny 3e-3) and 100 updates of warm-up",
        least=0,
    )
    warmup: int = option(0, "Warm-up updates", least=0)
    evaluate_every: int = option(0, "Updates between validations; 0: after each epoch", least=0)
    patience: int = option(
        0,
        "Early stopping: stop after this many validations without a lower loss and keep the best "
        "weights; 0: train to the end. Without a validation split, a tenth of the pairs is held "
        "out",
        least=0,
    )

    @property
    def validates(self) -> bool:
        return bool(self.patience or self.evaluate_every)

    def settled(self, shape: str = "", *, lora: bool = False) -> TrainOptions:
        """With a learning rate; random weights (of a shape) and adapters need a larger one."""
        if self.learning_rate:
            return self
        if shape:
            rate = 3e-3 if shape == "tiny" else 2e-3
            return replace(self, learning_rate=rate, warmup=self.warmup or 100)
        return replace(self, learning_rate=2e-4 if lora else 5e-5)


@dataclass(slots=True)
class TrainingState:
    step: int = 0
    parts: int = 1
    """Into how many parts a batch is cut, so that it fits into memory."""
    best: float = float("inf")
    waited: int = 0
    losses: list[float] = field(default_factory=list)
    looks: list[list[float]] = field(default_factory=list)
    """Step and validation loss."""


def train(
    loaded: Any,
    objective: Objective,
    folder: Path,
    options: TrainOptions,
    seed: int,
    reporter: Reporter,
    *,
    settings: Mapping[str, Any],
    held_out: Callable[[], float] | None = None,
    finish: Callable[[], None] | None = None,
) -> dict[str, Any]:
    """Train to the end, `finish` the weights and write the model to `folder`; gives what
    `training.json` there says.

    A folder of the same settings is left as it is; its checkpoint stands beside it until then.
    """
    settings, options = as_json(settings), options.settled()
    if (done := read_finished(folder, settings)) is not None:
        return done
    with os_error_messages(folder.parent, "the training"):
        state = _train(loaded, objective, folder, options, seed, reporter, settings, held_out)
        if finish is not None:
            finish()
        return _write_model(loaded, folder, _checkpoint_path(folder), state, settings)


def read_finished(folder: Path, settings: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a training of these settings left there; refuses what others did."""
    refuse_links((folder, _checkpoint_path(folder)))
    if not folder.exists():
        return None
    place, remedy = folder / ACCOUNT, "Choose a new folder"
    try:
        account = JsonObject.of(read_json(place, remedy=remedy), str(place), remedy=remedy)
    except OSError:
        raise OptionError(f"{folder} was not made by this command: choose a new folder") from None
    account.check({"settings": dict, "updates": int, "loss": list, "validation": list})
    pairs = account.array("validation")
    if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise account.error(
            "validation", "contains something other than pairs of an update and a loss"
        )
    if not all(isinstance(loss, (int, float)) for loss in (*account.array("loss"), *chain(*pairs))):
        raise account.error("loss", "or 'validation' contains something other than numbers")
    _refuse_other_settings(folder, account.values["settings"], settings)
    return dict(account.values)


def _checkpoint_path(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.checkpoint")


def _refuse_other_settings(
    place: Path, before: Mapping[str, Any], wanted: Mapping[str, Any]
) -> None:
    wanted = as_json(wanted)
    if different := [name for name in wanted if before.get(name) != wanted[name]]:
        differences = ", ".join(f"{n} {before.get(n)}, not {wanted[n]}" for n in different)
        raise OptionError(
            f"{place} contains a training with other settings ({differences}): choose a new folder"
        )


def _train(
    loaded: Any,
    objective: Objective,
    folder: Path,
    options: TrainOptions,
    seed: int,
    reporter: Reporter,
    settings: Mapping[str, Any],
    held_out: Callable[[], float] | None,
) -> TrainingState:
    import torch

    model, state, best = loaded.model, TrainingState(), None
    checkpoint = _checkpoint_path(folder)
    adam = torch.optim.AdamW(
        model.parameters(),
        lr=options.learning_rate,
        betas=_BETAS,
        weight_decay=0.0,
        fused=loaded.device != "mps",  # older versions of torch have none there
    )
    first_epoch = objective.batches(seed, 0)
    total = options.steps or options.epochs * len(first_epoch)
    rate = torch.optim.lr_scheduler.LambdaLR(adam, lambda step: _rate_share(step, options, total))
    if checkpoint.exists():
        with _checkpoint_errors(checkpoint):
            with open_regular(checkpoint) as file:
                saved = torch.load(file, map_location=loaded.device, weights_only=True)
            _refuse_other_settings(checkpoint, saved["settings"], settings)
            model.load_state_dict(saved["model"])
            adam.load_state_dict(saved["adam"])
            rate.load_state_dict(saved["rate"])
            state, best = TrainingState(**saved["state"]), saved["best"]
        reporter.say(f"{folder.name}: resumes after update {state.step:,} of {total:,}")

    def save() -> None:
        content = {
            "settings": settings,
            "model": model.state_dict(),
            "adam": adam.state_dict(),
            "rate": rate.state_dict(),
            "best": best,
            "state": {name: getattr(state, name) for name in TrainingState.__slots__},
        }
        data = io.BytesIO()
        torch.save(content, data)
        write_atomically(checkpoint, data.getvalue())

    def updates() -> Any:
        """The batches that are left, each with whether it ends an epoch."""
        step = 0
        for epoch in count():
            some = first_epoch if epoch == 0 else objective.batches(seed, epoch)
            for place, rows in enumerate(some, step + 1):
                if place > state.step:
                    yield rows, place == step + len(some)
            step += len(some)

    model.train()
    with reporter.stage(f"training {folder.name}", total, "updates") as advance:
        advance(state.step)
        for rows, ends in updates():
            if state.step >= total:
                break
            torch.manual_seed((seed << 32) + state.step)
            state.losses.append(_update(model, adam, objective, rows, state, reporter))
            rate.step()
            state.step += 1
            advance(1)
            every = options.evaluate_every
            due = state.step % every == 0 if every else ends
            if held_out and (due or state.step == total):
                loss = held_out()
                state.looks.append([state.step, loss])
                state.waited = 0 if loss < state.best else state.waited + 1
                if loss < state.best:
                    state.best = loss
                    if options.patience:
                        best = {k: v.detach().clone() for k, v in model.state_dict().items()}
                if options.patience and state.waited >= options.patience:
                    break
            if state.step % SAVE_EVERY == 0 and state.step < total:
                save()
    if best is not None:
        model.load_state_dict(best)
    return state


def _rate_share(step: int, options: TrainOptions, total: int) -> float:
    """Of the learning rate: up in the warm-up, then down to 0."""
    if step < options.warmup:
        return (step + 1) / (options.warmup + 1)
    return max(0.0, (total - step) / max(1, total - options.warmup))


def _start_checkpointing(model: Any) -> bool:
    """Keep less for gradients, which changes no number; whether the model had not done so yet."""
    started = any(getattr(part, "gradient_checkpointing", False) for part in model.modules())
    if started or not model.supports_gradient_checkpointing:
        return False
    # The method has another name since transformers 5.
    enable = getattr(model, "activation_checkpointing_enable", None)
    # The other way gives layers no gradients where what they read has none, as with LoRA.
    (enable or model.gradient_checkpointing_enable)({"use_reentrant": False})
    return True


def _update(
    model: Any,
    adam: Any,
    objective: Objective,
    rows: Integers,
    state: TrainingState,
    reporter: Reporter,
) -> float:
    """One step; a batch that does not fit into memory is cut, and its gradients are added up. Where
    one pair alone is too large, layers are computed again for their gradients instead of kept."""
    import torch

    while True:
        parts = [rows[first :: state.parts] for first in range(min(state.parts, len(rows)))]
        total, full = torch.zeros(()), False
        try:
            adam.zero_grad(set_to_none=True)
            for part in parts:
                loss = objective.loss(part, rows)
                loss.backward()
                total = total.to(loss.device) + loss.detach()
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            full = True
        if not full:
            break
        if state.parts >= len(rows) and _start_checkpointing(model):
            reporter.say("out of memory: switching to gradient checkpointing")
            continue
        if state.parts >= len(rows):
            raise RoteError(
                "a single pair does not fit into memory: truncate documents more, or use a smaller "
                "model"
            )
        state.parts *= 2
        reporter.say(f"out of memory: splitting batches into {state.parts} parts from now on")
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
    torch.nn.utils.clip_grad_norm_(model.parameters(), _LARGEST_GRADIENT)
    value = float(total)
    if value != value:
        raise RoteError(
            f"the loss of update {state.step + 1} is not a number: use a smaller learning rate"
        )
    adam.step()
    return value


@contextmanager
def _checkpoint_errors(path: Path) -> Iterator[None]:
    """Whatever a file holds that is no checkpoint of this model: torch has many errors for it."""
    try:
        yield
    except RoteError:
        raise
    except Exception as error:
        raise InputError(
            f"the checkpoint cannot be read ({type(error).__name__})",
            file=str(path),
            remedy="Remove it: training then starts again",
        ) from None


def _write_model(
    loaded: Any, folder: Path, checkpoint: Path, state: TrainingState, settings: Mapping[str, Any]
) -> dict[str, Any]:
    """The model in its folder, whole or not there."""
    losses = {"loss": state.losses, "validation": state.looks}
    account = {"settings": settings, "updates": state.step, **losses, "parts": state.parts}
    partial = beside(folder)
    try:
        loaded.model.eval()
        with quiet_transformers():
            loaded.model.save_pretrained(partial)
            loaded.tokenizer.save_pretrained(partial)
        (partial / ACCOUNT).write_text(json.dumps(account), "utf-8")
        os.rename(partial, folder)
    except BaseException as error:
        shutil.rmtree(partial, ignore_errors=True)
        if "No space left" in str(error):  # safetensors has an error of its own for it
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error
        raise
    checkpoint.unlink(missing_ok=True)
    return account
