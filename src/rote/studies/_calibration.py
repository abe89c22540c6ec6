"""Candidates on disk, ranked by ROUGE, and the training on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rote.core.array_types import Floats
from rote.core.folder import clear_errors
from rote.core.json_reader import JsonObject, read_json_lines
from rote.core.progress import Reporter
from rote.curate.generate import growing, lines_held, partial_of, record_in
from rote.curate.pairs import Pair, fingerprint
from rote.curate.reading import json_line
from rote.models.options import ModelOptions
from rote.models.training.loop import TrainOptions, finished, train

VERSION = "3"
_DIVERSITY = 1.0
"""Penalty of a token that another candidate has at the same place."""
_DOCUMENTS = 8
"""In one update."""
_RANKED_BY = ("rouge_1", "rouge_2", "rouge_l")


@dataclass(frozen=True, slots=True)
class Calibration:
    """How a model is calibrated."""

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
    pairs: Sequence[Pair],
    seed: int,
    folder: Path,
    reporter: Reporter,
) -> dict[str, Any]:
    """Write candidates, rank them, train; gives what a table says of it."""
    from rote.models.training.objectives import Calibrating
    from rote.models.training.pairs import Ragged, tokens_of
    from rote.studies._training import opened

    loaded = opened(model, wanted.running, reporter)
    own = {k: v for k, v in asdict(wanted).items() if k not in ("training", "running")}
    settings = {
        "calibrate": VERSION,
        "model": loaded.signature,
        "pairs": fingerprint(pairs),
        **own,
        **asdict(wanted.training),
        "seed": seed,
    }
    path = folder.with_name(f"{folder.name}.candidates.jsonl")
    with clear_errors(folder.parent, "the calibration"):
        found = candidates(loaded, wanted, pairs, path, reporter)
    references = [one.reference for one in pairs]
    scored = ranks(found, references)
    order = np.argsort(-scored, axis=1, kind="stable")
    if (made := finished(folder, settings)) is None:
        ranked = [own[i] for own, places in zip(found, order.tolist()) for i in places]
        documents = [one.document for one in pairs]
        tokens = tokens_of(loaded, documents, references, wanted.longest, wanted.max_tokens)
        said = tokens_of(loaded, [""] * len(ranked), ranked, wanted.longest, wanted.max_tokens)
        rows: Ragged = said.references
        objective = Calibrating(
            loaded,
            tokens,
            rows,
            wanted.candidates,
            _DOCUMENTS,
            wanted.margin,
            wanted.alpha,
        )
        made = train(loaded, objective, folder, wanted.training, seed, reporter, settings=settings)
    losses = made["loss"]
    return {
        "updates": made["updates"],
        "best": float(scored.max(1).mean()),
        "worst": float(scored.min(1).mean()),
        "first_loss": sum(losses[:20]) / max(1, len(losses[:20])),
        "loss": sum(losses[-20:]) / max(1, len(losses[-20:])),
        "model": str(folder),
    }


def candidates(
    loaded: Any, wanted: Calibration, pairs: Sequence[Pair], path: Path, reporter: Reporter
) -> list[list[str]]:
    """Of each document what the model writes; those that are on disk are not written again."""
    from rote.models.training.writing import Searching

    how = Searching(
        beams=wanted.candidates,
        max_tokens=wanted.max_tokens,
        longest=wanted.longest,
        candidates=wanted.candidates,
        diversity=_DIVERSITY,
    )
    said = f"{loaded.signature} {how}"

    def wrong(number: int, line: bytes) -> str | None:
        held = record_in(line)
        if held.get("id") != pairs[number].id:
            return f"'id' is {held.get('id')}, not {pairs[number].id}"
        return None if held.get("by") == said else f"'by' is {held.get('by')}, not {said}"

    write_resumed(
        loaded,
        [one.document for one in pairs],
        how,
        path,
        wanted.running.batch,
        lambda number, own: {"id": pairs[number].id, "by": said, "candidates": own},
        wrong,
        reporter,
    )
    return [_texts(row) for _, row in read_json_lines(path)]


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
    from rote.models.training.writing import write

    held = lines_held(path, len(documents), wrong)
    if path.exists():
        return
    loaded.model.eval()
    beams = max(how.beams, how.candidates)
    with growing(path) as grow, reporter.stage(path.stem, len(documents), "documents") as advance:
        advance(held)
        rows = (_texts(row) for _, row in read_json_lines(partial_of(path)))
        made = dict(zip(documents, rows))
        at = held
        while at < len(documents):
            begin, new = at, Counter[str]()
            while at < len(documents) and len(new) < _BLOCK:
                if documents[at] not in made:
                    new[documents[at]] += 1
                at += 1
            advance(at - begin - new.total())
            order = sorted(new, key=lambda one: -_length(one, how))
            while order:
                wide = _length(order[0], how) + how.max_tokens
                some = order[: max(1, room // (wide * beams))]
                found = write(loaded, some, how)
                made.update(zip(some, ([one.text for one in own] for own in found)))
                order = order[len(some) :]
                advance(sum(new[one] for one in some))
            grow(b"".join(json_line(record(i, made[documents[i]])) for i in range(begin, at)))


def _length(document: str, how: Any) -> int:
    """About how many tokens of it are read."""
    return min(int(how.longest), len(document) // 3 + 2)


def _texts(row: JsonObject) -> list[str]:
    """What a line that `write_resumed` wrote holds."""
    if "candidates" not in row.values:
        return [row.text("text")]
    texts = row.array("candidates")
    if not all(isinstance(text, str) for text in texts):
        raise row.error("candidates", "holds something else than texts")
    return texts


_BLOCK = 256
"""Different documents between two writings to the file."""


def ranks(found: Sequence[Sequence[str]], references: Sequence[str]) -> Floats:
    """The mean of ROUGE-1, 2 and L of each candidate, a row for each document."""
    from rote.measure._score.rouge import rouge, side_of

    texts = [text for own in found for text in own]
    others = [reference for own, reference in zip(found, references) for _ in own]
    made = rouge(side_of(texts), side_of(others), threads=1, progress=lambda share: None)
    mean = sum(made[name].f for name in _RANKED_BY) / len(_RANKED_BY)
    return np.asarray(mean).reshape(len(references), -1)
