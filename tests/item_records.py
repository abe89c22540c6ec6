"""Records of every reader of items, made of a question and its answer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rote.corpus.items._read import benchmark_names
from tests.kit import write_jsonl

READERS = tuple(benchmark_names())
_LOG = "samples_piqa_2024-01-01T00-00-00.jsonl"
_WRONG = "No."


def record(
    reader: str, name: str, question: str, answer: str, *, marked: bool = True
) -> dict[str, Any]:
    """The right answer is the second option where there are two; `marked`: whether it says so.

    Readers whose items always have a right answer mark it anyway.
    """
    whole, right = f"{question} {answer}", {"answer": 2} if marked else {}
    before, _, after = whole.partition(f" {(gap := answer.split()[0])}")
    # In the log of a task that generates, the target is what was asked for.
    log = {"doc_id": int(name), "doc": {}, "target": 1}
    made: dict[str, dict[str, Any]] = {
        "blimp": {"sentence_good": whole, "sentence_bad": f"{question} {question}"},
        "choices": {"context": f"{before} ", "options": [_WRONG, gap], "ending": after}
        | ({"answer": 1} if marked else {}),
        "copa": {"premise": question, "choice1": _WRONG, "choice2": answer, **right},
        "lambada": {"context": " ".join(whole.split()[:-1]), "target": whole.split()[-1]},
        "lm-eval": log | {"arguments": [[question, f" {_WRONG}"], [question, f" {answer}"]]},
        "piqa": {"goal": question, "sol1": _WRONG, "sol2": answer}
        | ({"label": 1} if marked else {}),
        "questions": {"question": question, "answer": answer if marked else [_WRONG, answer]},
        "texts": {"text": whole},
        "winogrande": {
            "sentence": f"{before} _{after}",
            "option1": _WRONG,
            "option2": gap,
            **right,
        },
    }
    own = made[reader]
    return own if reader == "lm-eval" else {"id": name, **own}


def write_records(reader: str, folder: Path, records: Sequence[dict[str, Any]]) -> Path:
    """A file that is known as one of this reader's."""
    path = folder / (_LOG if reader == "lm-eval" else "items.jsonl")
    return write_jsonl(path, records)
