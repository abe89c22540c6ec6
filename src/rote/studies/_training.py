"""What commands that train share: a model opened, pairs as tokens, a training in its folder; and
candidates on disk, ranked by ROUGE, to calibrate on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from rote.core.arrays import Floats
from rote.core.errors import InputError, OptionError
from rote.core.json_reader import JsonObject, read_json_lines
from rote.core.locked_folder import os_error_messages
from rote.core.metric import check_options, option, unsigned_option
from rote.core.progress import Reporter
from rote.curate.corpus_reader import json_line
from rote.curate.generate import count_lines, grow_file, parse_record, partial_path
from rote.curate.pairs import TrainingPair, pairs_fingerprint
from rote.models.options import ModelOptions
from rote.models.training.loop import TrainOptions, read_finished, train

if TYPE_CHECKING:
    from rote.models.hub_models import Loaded


Settings = TypeVar("Settings")
VERSION = "4"
SMOOTHING = 0.1
"""Of labels, in training."""
NOT_OF_TRAINING = tuple(
    "text_field strip_prompt prompt_field plain threads key_variable rate price yes dtype".split()
)
"""Options of texts and of models behind an address: training reads pairs and opens weights."""


@dataclass(frozen=True, slots=True)
class StartOptions:
    """What a training starts from."""

    model: str = option("", "A folder or a model on the hub; or use --from-config", metavar="MODEL")
    from_config: str = option(
        "", "Start from random weights: tiny, small, or a config.json", metavar="SHAPE"
    )
    tokens: int = option(
        0,
        "Tokens in one batch, padding included; 0: 8192, or 1024 of a tiny model",
        least=0,
        most=2**24,
    )

    def __post_init__(self) -> None:
        check_options(self)
        if bool(self.model) == bool(self.from_config):
            raise OptionError("give a model: either --model or --from-config")


def longest_option() -> Any:
    return option(512, "Maximum tokens read per document", least=8, most=1_000_000)


def max_tokens_option() -> Any:
    return option(128, "Maximum tokens per summary", least=2, most=100_000)


def folder_option(default: str) -> Any:
    return unsigned_option(Path(default), "The folder", short="-o", metavar="DIR", writes="folder")


def check_seeds(seeds: Sequence[int]) -> None:
    if not seeds or len(set(seeds)) < len(seeds):
        raise OptionError("--seeds names no seed, or one twice")


def from_options(kind: type[Settings], options: Any, **more: Any) -> Settings:
    """Settings whose fields are options of the same names, or given beside them."""
    names = [field.name for field in fields(kind) if hasattr(options, field.name)]  # type: ignore[arg-type]
    return kind(**{**{name: getattr(options, name) for name in names}, **more})


@dataclass(frozen=True, slots=True)
class FitSettings:
    model: str
    from_config: str
    tokens: int
    longest: int
    max_tokens: int
    training: TrainOptions
    running: ModelOptions
    lora: int = 0
    """Rank of the adapters that are trained; 0: all weights are."""

    def settings(self, seed: int) -> dict[str, Any]:
        """What the weights depend on."""
        names = ("model", "from_config", "tokens", "longest", "max_tokens")
        values = {name: getattr(self, name) for name in names}
        how = self.training.settled(self.from_config, lora=bool(self.lora))
        adapters = {"lora": self.lora} if self.lora else {}
        return {"finetune": VERSION, **values, **adapters, **asdict(how), "seed": seed}


def batch_tokens(tokens: int, shape: str) -> int:
    """Tokens in one batch where none are asked for: a tiny model learns most in a given time from
    many small updates."""
    return tokens or (1024 if shape == "tiny" else 8192)


def open_trainable(model: str, running: ModelOptions, reporter: Reporter) -> Loaded:
    """A model in full precision, to be trained or to write."""
    from rote.models.hub_models import choose_device, load

    choose_device(running.device)
    loaded = load(model.removeprefix("transformers:"), running, reporter, VERSION)
    if loaded.tokenizer.eos_token_id is None:
        raise InputError("its tokenizer has no end token", file=model)
    return loaded


def fit(
    wanted: FitSettings,
    every: Sequence[TrainingPair],
    some: Sequence[TrainingPair],
    held_out: Sequence[TrainingPair],
    seed: int,
    folder: Path,
    settings: Mapping[str, Any],
    reporter: Reporter,
) -> dict[str, Any]:
    """Train on some pairs; a tokenizer that is learned is learned from every pair, so that subsets
    differ in nothing else."""
    from rote.models.hub_models import choose_device
    from rote.models.training.objectives import FineTuning, encode_pairs
    from rote.models.training.summarizer import add_adapters, start_from_config

    settings = {**settings, **wanted.settings(seed)}
    if (done := read_finished(folder, settings)) is not None:
        reporter.say(f"{folder} holds this model already")
        return done
    if wanted.from_config:
        texts = [text for pair in every for text in (pair.document, pair.reference)]
        loaded = start_from_config(
            wanted.from_config, texts, seed, choose_device(wanted.running.device)
        )
    else:
        loaded = open_trainable(wanted.model, wanted.running, reporter)
    finish = add_adapters(loaded, wanted.lora, seed) if wanted.lora else None

    def objective(pairs: Sequence[TrainingPair], smoothing: float) -> FineTuning:
        texts = [pair.document for pair in pairs], [pair.reference for pair in pairs]
        tokens = encode_pairs(loaded, *texts, wanted.longest, wanted.max_tokens)
        return FineTuning(loaded, tokens, np.arange(len(pairs)), wanted.tokens, smoothing)

    fitting = objective(some, SMOOTHING)
    look = objective(held_out, 0.0).held_out if held_out else None
    how = wanted.training.settled(wanted.from_config, lora=bool(wanted.lora))
    more: dict[str, Any] = {"settings": settings, "held_out": look, "finish": finish}
    return train(loaded, fitting, folder, how, seed, reporter, **more)


_CALIBRATION_VERSION = "3"
_DIVERSITY = 1.0
"""Penalty of a token that another candidate has at the same place."""
_DOCUMENTS = 8
"""In one update."""
_RANKED_BY = ("rouge_1", "rouge_2", "rouge_l")
_BLOCK = 256
"""Different documents between two writings to the file."""


@dataclass(frozen=True, slots=True)
class Calibration:
    candidates: int
    margin: float
    alpha: float
    longest: int
    max_tokens: int
    training: TrainOptions
    running: ModelOptions


def calibrate(
    wanted: Calibration,
    model: str,
    pairs: Sequence[TrainingPair],
    seed: int,
    folder: Path,
    reporter: Reporter,
) -> dict[str, Any]:
    """Write candidates, rank them, train; gives what a table says of it."""
    from rote.models.training.objectives import CalibrationObjective, Ragged, encode_pairs

    loaded = open_trainable(model, wanted.running, reporter)
    parameters = {k: v for k, v in asdict(wanted).items() if k not in ("training", "running")}
    settings = {
        "calibrate": _CALIBRATION_VERSION,
        "model": loaded.signature,
        "pairs": pairs_fingerprint(pairs),
        **parameters,
        **asdict(wanted.training),
        "seed": seed,
    }
    path = folder.with_name(f"{folder.name}.candidates.jsonl")
    with os_error_messages(folder.parent, "the calibration"):
        candidate_lists = write_candidates(loaded, wanted, pairs, path, reporter)
    references = [pair.reference for pair in pairs]
    scored = score_candidates(candidate_lists, references)
    order = np.argsort(-scored, axis=1, kind="stable")
    if (result := read_finished(folder, settings)) is None:
        ordered = zip(candidate_lists, order.tolist())
        ranked = [texts[i] for texts, places in ordered for i in places]
        documents, sizes = [pair.document for pair in pairs], (wanted.longest, wanted.max_tokens)
        tokens = encode_pairs(loaded, documents, references, *sizes)
        rows: Ragged = encode_pairs(loaded, [""] * len(ranked), ranked, *sizes).references
        objective = CalibrationObjective(
            loaded, tokens, rows, wanted.candidates, _DOCUMENTS, wanted.margin, wanted.alpha
        )
        result = train(
            loaded, objective, folder, wanted.training, seed, reporter, settings=settings
        )
    losses, best, worst = result["loss"], scored.max(1).mean(), scored.min(1).mean()
    row = {"updates": result["updates"], "best": float(best), "worst": float(worst)}
    row |= {"first_loss": last_loss(losses[:20]), "loss": last_loss(losses)}
    return row | {"model": str(folder)}


def last_loss(losses: Sequence[float]) -> float:
    """The mean over the last twenty updates."""
    return sum(losses[-20:]) / max(1, len(losses[-20:]))


def write_candidates(
    loaded: Any, wanted: Calibration, pairs: Sequence[TrainingPair], path: Path, reporter: Reporter
) -> list[list[str]]:
    """Of each document what the model writes; those that are on disk are not written again."""
    from rote.models.training.summarizer import Searching

    how = Searching(
        beams=wanted.candidates,
        max_tokens=wanted.max_tokens,
        longest=wanted.longest,
        candidates=wanted.candidates,
        diversity=_DIVERSITY,
    )
    writer = f"{loaded.signature} {how}"

    def wrong(number: int, line: bytes) -> str | None:
        record = parse_record(line)
        if record.get("id") != pairs[number].id:
            return f"'id' is {record.get('id')}, not {pairs[number].id}"
        return None if record.get("by") == writer else f"'by' is {record.get('by')}, not {writer}"

    write_resumed(
        loaded,
        [pair.document for pair in pairs],
        how,
        path,
        wanted.running.batch,
        lambda number, texts: {"id": pairs[number].id, "by": writer, "candidates": texts},
        wrong,
        reporter,
    )
    return [_candidate_texts(row) for _, row in read_json_lines(path)]


def write_resumed(
    loaded: Any,
    documents: Sequence[str],
    how: Any,
    path: Path,
    room: int,
    record: Any,
    wrong: Any,
    reporter: Reporter,
) -> None:
    """A line for each document, those that are missing; in blocks, sorted by length inside. Equal
    documents are read once, and those of lines that are held not again."""
    from rote.models.training.summarizer import write

    lines_done = count_lines(path, len(documents), wrong)
    if path.exists():
        return
    loaded.model.eval()
    beams = max(how.beams, how.candidates)
    with grow_file(path) as grow, reporter.stage(path.stem, len(documents), "documents") as advance:
        advance(lines_done)
        rows = (_candidate_texts(row) for _, row in read_json_lines(partial_path(path)))
        row_by_document = dict(zip(documents, rows))
        at = lines_done
        while at < len(documents):
            begin, new = at, Counter[str]()
            while at < len(documents) and len(new) < _BLOCK:
                if documents[at] not in row_by_document:
                    new[documents[at]] += 1
                at += 1
            advance(at - begin - new.total())
            order = sorted(new, key=lambda document: -_estimate_tokens(document, how))
            while order:
                wide = _estimate_tokens(order[0], how) + how.max_tokens
                some = order[: max(1, room // (wide * beams))]
                for document, outputs in zip(some, write(loaded, some, how)):
                    row_by_document[document] = [output.text for output in outputs]
                order = order[len(some) :]
                advance(sum(new[document] for document in some))
            records = (record(i, row_by_document[documents[i]]) for i in range(begin, at))
            grow(b"".join(map(json_line, records)))


def _estimate_tokens(document: str, how: Any) -> int:
    """About how many tokens of it are read."""
    return min(int(how.longest), len(document) // 3 + 2)


def _candidate_texts(row: JsonObject) -> list[str]:
    """What a line that `write_resumed` wrote holds."""
    if "candidates" not in row.values:
        return [row.text("text")]
    texts = row.array("candidates")
    if not all(isinstance(text, str) for text in texts):
        raise row.error("candidates", "holds something else than texts")
    return texts


def score_candidates(candidate_lists: Sequence[Sequence[str]], references: Sequence[str]) -> Floats:
    """The mean of ROUGE-1, 2 and L of each candidate, a row for each document."""
    from rote.measure.reference_scores.rouge import rouge, side_of

    texts = [text for candidates in candidate_lists for text in candidates]
    pairs = zip(candidate_lists, references)
    others = [reference for candidates, reference in pairs for _ in candidates]
    scores = rouge(side_of(texts), side_of(others), threads=1, progress=lambda share: None)
    mean = sum(scores[name].f for name in _RANKED_BY) / len(_RANKED_BY)
    return np.asarray(mean).reshape(len(references), -1)
