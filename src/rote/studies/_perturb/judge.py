"""A model that says whether items mean the same before and after.

The instructions are those of Ruzzetti et al. (2026), appendix A.3. By default the model does not
write: which of the two words, *same* or *different*, is the likelier one is its verdict. An
endpoint that gives no log-probabilities is made to write one (`--judge-by writing`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import ClassVar, Literal

import numpy as np

from rote.core.errors import OptionError
from rote.core.metric import check_options, option
from rote.core.model import Continuation, Decoding, Model, Prompt
from rote.core.progress import Reporter
from rote.models.answers import generate_all, score_all
from rote.studies._perturb.checks import Floats, Pairs

SAME, DIFFERENT = "same", "different"
# Ruzzetti, Zanzotto and Caselli, appendix A.3, word for word: another prompt is another judge.
_SYSTEM = (
    "You are a strict semantic evaluator. Your only task is to determine whether two sentences "
    "express the same meaning. Consider only their meaning, not style. If they convey the same "
    "meaning, output exactly: same. If they do not, output exactly: different. There might be some "
    "unusual words, but this will not affect your judgement negatively, and in this case you "
    "should output same. Synonyms are ok. Do not output anything else."
)
_USER = (
    'Compare the following two sentences:\nSentence A: "{one}" Sentence B: "{other}"\n'
    "Do they convey the same meaning? Respond with only one word: same or different."
)
_WRITTEN = 8
"""Tokens in which the verdict has to be given."""


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """Who judges, and how many items."""

    SECTION: ClassVar[str] = "A model that judges"
    judge: str | None = option(
        None, "Model that judges whether items still mean the same, with the paper's prompt",
        metavar="M",
    )  # fmt: skip
    judge_items: int = option(50, "Items of each task that it judges, drawn by --seed; 0: all")
    judge_by: Literal["likelihood", "writing"] = option(
        "likelihood", "Its verdict: the likelier of same and different, or the word that it writes"
    )

    def __post_init__(self) -> None:
        check_options(self)
        if self.judge_items < 0:
            raise OptionError(f"judge_items must not be negative, not {self.judge_items}")


def prompt(one: str, other: str) -> str:
    """What the judge reads."""
    return f"{_SYSTEM}\n\n{_USER.format(one=one.strip(), other=other.strip())}"


def judged(
    pairs: Pairs, model: Model, options: JudgeOptions, reporter: Reporter, *, seed: int = 0
) -> Floats:
    """1 where the judge says same, 0 where different; nan where it was not asked or says neither.

    Only items that changed are judged, in the instance with the right option.
    """
    places = drawn(pairs, options.judge_items, seed)
    texts = [
        prompt(*(item.instances()[item.answer or 0] for item in (pairs.before[n], pairs.after[n])))
        for n in places
    ]
    verdicts = (_likelier if options.judge_by == "likelihood" else _written)(texts, model, reporter)
    found = np.full(len(pairs.before), math.nan)
    found[places] = verdicts
    return found


def drawn(pairs: Pairs, size: int, seed: int) -> list[int]:
    """So many of the changed items of each task; which ones depends on seed and ids alone."""
    by_task: dict[str, list[tuple[bytes, int]]] = {}
    for number, (one, other) in enumerate(zip(pairs.before, pairs.after)):
        if one.instances() != other.instances():
            key = f"{seed}\0{one.task}\0{one.id}".encode("utf-8", "surrogatepass")
            by_task.setdefault(one.task, []).append((blake2b(key, digest_size=8).digest(), number))
    return sorted(
        number for own in by_task.values() for _, number in sorted(own)[: size or len(own)]
    )


def _likelier(texts: Sequence[str], model: Model, reporter: Reporter) -> list[float]:
    wanted = [Continuation(text, f"\n{word}") for text in texts for word in (SAME, DIFFERENT)]
    scores = iter(score_all(model, wanted, reporter, title="judging"))
    return [float(next(scores).total >= next(scores).total) for _ in texts]


def _written(texts: Sequence[str], model: Model, reporter: Reporter) -> list[float]:
    decoding = Decoding(max_tokens=_WRITTEN)
    said = generate_all(
        model, [Prompt(f"{text}\n") for text in texts], decoding, reporter, title="judging"
    )
    return [verdict(one.text) for one in said]


def verdict(said: str) -> float:
    """What a written answer means: its first word."""
    first = (said.split() or [""])[0].strip("\"'*.:,!").lower()
    return {SAME: 1.0, DIFFERENT: 0.0}.get(first, math.nan)
