"""All scores of all instances, and what else is known of the items: membership, right answers, how
often a corpus holds them; how well a score tells members of the training data from others.

Logarithms are natural. An attack that needs what a backend does not give is nan.
"""

from __future__ import annotations

import math
import re
import zlib as packing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rote.compare.clusters import mean_by_cluster, number_clusters
from rote.compare.intervals import interval_from_error
from rote.core.errors import InputError, OptionError
from rote.core.model import Continuation, Model, Scored
from rote.core.progress import Reporter
from rote.core.table import estimate
from rote.corpus.items import Item
from rote.index.grams import Grams
from rote.models.answers import score_all
from rote.search.backends import Backend
from rote.studies._items import Floats, Labels, mean_by_number, read_field, share_cells
from rote.studies._popularity_scores import score_popularity as popularity

_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Attack:
    """One score of a text; `sign` is +1 where higher values speak for memorization."""

    name: str
    title: str
    sign: Literal[1, -1]


ATTACKS = (
    Attack("tde_accuracy", "second half completed word for word", 1),
    Attack("tde_likelihood", "log-likelihood of the second half", 1),
    Attack("loss", "loss per token", -1),
    Attack("neighbours", "loss less that of neighbours", -1),
    Attack("zlib", "loss per compressed byte", -1),
    Attack("min_k", "Min-K%", 1),
    Attack("min_k_plus", "Min-K%++", 1),
)
REFERENCE_ATTACKS = (
    Attack("reference", "loss less that of the reference model", -1),
    Attack("error_zone", "share of rises at wrongly guessed tokens", 1),
)
"""Attacks that need a second model."""


def cut_in_half(text: str) -> Continuation:
    """The first half of the words, and the second with the space before it.

    Of an odd number of words the second half has one more. A text of one word has no half.
    """
    words = list(_WORD.finditer(text))
    cut = words[len(words) // 2 - 1].end() if len(words) > 1 else len(text)
    return Continuation(text[:cut], text[cut:])


def is_completed(second: Scored) -> float:
    """1 where every token of the second half is the likeliest one, so that greedy decoding writes
    exactly it; nan where there is none."""
    return float(second.greedy.all()) if len(second.greedy) else math.nan


def second_half_likelihood(second: Scored) -> float:
    return second.total if len(second.logprobs) else math.nan


def loss(scored: Scored) -> float:
    return -float(scored.logprobs.mean()) if len(scored.logprobs) else math.nan


def neighbour_loss(scored: Scored, neighbours: Sequence[Scored]) -> float:
    """Negative where the model likes the text better than what could stand in its place."""
    losses = [loss(neighbour) for neighbour in neighbours]
    return loss(scored) - sum(losses) / len(losses) if losses else math.nan


def zlib_loss(text: str, scored: Scored) -> float:
    return loss(scored) / len(packing.compress(text.encode("utf-8", "surrogatepass")))


def min_k(scored: Scored, k: float) -> float:
    return _mean_of_lowest(scored.logprobs, k)


def min_k_plus(scored: Scored, k: float) -> float:
    """A place where the model is certain (no spread) says nothing and is left out."""
    defined = scored.spread > 0
    if np.isnan(scored.spread).any():
        return math.nan
    above = scored.logprobs[defined] - scored.expected[defined]
    return _mean_of_lowest(above / scored.spread[defined], k)


def error_zone(scored: Scored, reference: Scored) -> float:
    """nan where every token is the likeliest one, or the models agree."""
    moved = (scored.logprobs - reference.logprobs)[~scored.greedy]
    up, down = moved[moved > 0].sum(), -moved[moved < 0].sum()
    return float(up / (up + down)) if up + down > 0 else math.nan


def _mean_of_lowest(values: Floats, k: float) -> float:
    """The mean of the lowest share `k` of the values, of one at least."""
    if not len(values):
        return math.nan
    count = max(1, int(k * len(values)))
    return float(np.sort(values)[:count].mean())


Neighbours = Callable[[Sequence[str], Reporter], list[list[str]]]
"""Texts that could stand in the place of each text; none for one in which nothing can change."""


@dataclass(frozen=True, slots=True)
class AttackScores:
    """By attack one number per instance, and which instances of each item are right and wrong."""

    by_attack: dict[str, Floats]
    right: Labels
    """-1 where no item has a recorded right option."""
    wrong: tuple[Labels, ...]

    def of_right(self, attack: str) -> Floats:
        column = self.by_attack[attack][self.right]
        return np.where(self.right < 0, np.nan, column)

    def of_wrong(self, attack: str) -> Floats:
        """The mean over the wrong options; nan where there are none."""
        column = self.by_attack[attack]
        return np.array([column[places].mean() if len(places) else np.nan for places in self.wrong])

    def differences(self, attack: str) -> Floats:
        """(right - wrong) / |right|: log-likelihoods are negative, and the sign must stay."""
        right = self.of_right(attack)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = (right - self.of_wrong(attack)) / np.abs(right)
        return np.where(np.isfinite(ratios), ratios, np.nan)


def score_attacks(
    items: Sequence[Item],
    model: Model,
    k: float,
    neighbours: Neighbours | None,
    reporter: Reporter,
    reference: Model | None = None,
) -> AttackScores:
    """Ask the model for every instance whole, its second half, and its neighbours; the reference
    model for those whole."""
    instances = [text for item in items for text in item.instances()]
    wholes = score_all(model, [Continuation("", text) for text in instances], reporter)
    cuts = [cut_in_half(text) for text in instances]
    seconds = score_all(model, cuts, reporter, title="second halves")
    near = neighbours(instances, reporter) if neighbours else [[] for _ in instances]
    requests = [Continuation("", text) for some in near for text in some]
    answered = iter(score_all(model, requests, reporter, title="neighbours"))
    beside = [[next(answered) for _ in some] for some in near]
    rows = []
    for text, scored, second, others in zip(instances, wholes, seconds, beside):
        halves = is_completed(second), second_half_likelihood(second)
        losses = loss(scored), neighbour_loss(scored, others), zlib_loss(text, scored)
        rows.append((*halves, *losses, min_k(scored, k), min_k_plus(scored, k)))
    table = np.array(rows, np.float64).reshape(len(instances), len(ATTACKS))
    by_attack: dict[str, Floats] = {a.name: table[:, place] for place, a in enumerate(ATTACKS)}
    if reference is not None:
        requests = [Continuation("", text) for text in instances]
        others = score_all(reference, requests, reporter, title="reference")
        by_attack |= _reference_scores(wholes, others, model, reference)
    return AttackScores(by_attack, *instance_numbers(items))


def _reference_scores(
    wholes: Sequence[Scored], others: Sequence[Scored], model: Model, reference: Model
) -> dict[str, Floats]:
    for scored, reference_scored in zip(wholes, others):
        if scored.ends.tolist() != reference_scored.ends.tolist():
            raise OptionError(
                f"{reference.signature} cuts texts into other tokens than {model.signature}, so "
                "their losses are not comparable: --reference-model needs the same tokenizer"
            )
    pairs = list(zip(wholes, others))
    return {
        "reference": np.array([loss(a) - loss(b) for a, b in pairs], np.float64),
        "error_zone": np.array([error_zone(*pair) for pair in pairs], np.float64),
    }


def undefined_scores(items: Sequence[Item]) -> AttackScores:
    """Of a model that gives no log-probabilities: every score is undefined."""
    count = sum(len(item.options) for item in items)
    return AttackScores(
        {attack.name: np.full(count, np.nan) for attack in ATTACKS}, *instance_numbers(items)
    )


def instance_numbers(items: Sequence[Item]) -> tuple[Labels, tuple[Labels, ...]]:
    """Of each item the number of the right instance (-1: nobody knows) and those of the others."""
    right, wrong, first = [], [], 0
    for item in items:
        numbers = np.arange(first, first + len(item.options))
        right.append(-1 if item.answer is None else first + item.answer)
        wrong.append(numbers[:0] if item.answer is None else np.delete(numbers, item.answer))
        first += len(item.options)
    return np.array(right, np.int64), tuple(wrong)


_MEMBER = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0}


@dataclass(frozen=True, slots=True)
class Frequencies:
    """How the corpus knows the right instance of each item: nan where it is too short."""

    copies: Floats
    """How often the whole instance occurs there."""
    ips: Floats
    """Its popularity (1 to 10): the mean decile of its n-grams' counts."""
    coverage: Floats
    """The share of its n-grams that occur there at all."""


def read_member(item: Item, field: str) -> float:
    """1 for a member of the training data, 0 for another, nan where it is null or empty; a
    number is how often it was seen."""
    value = read_field(item, field, "--member")
    if value is None or value == "":
        return np.nan
    word = str(value).strip().lower()
    try:
        return _MEMBER[word] if word in _MEMBER else float(float(word) > 0)
    except ValueError:
        raise InputError(
            f"the item '{item.id}' contains {value!r}: members are true or above 0, others false "
            "or 0",
            field=field,
        ) from None


def corpus_frequencies(
    items: Sequence[Item], right: Labels, backend: Backend, n: int, reporter: Reporter
) -> Frequencies:
    """Of the right instances; items without one have none."""
    instances = [text for item in items for text in item.instances()]
    texts = [instances[place] for place in right.tolist() if place >= 0]
    tasks = [item.task for item, place in zip(items, right.tolist()) if place >= 0]
    layer = backend.tokenize(texts, reporter)
    filled = np.diff(layer.text_ends, prepend=0) > 0
    wholes = Grams(layer.ids, layer.text_ends[filled], layer.vocabulary)
    copies = np.full(len(texts), np.nan)
    copies[filled] = backend.counts(wholes, reporter)
    scored = popularity(texts, tasks, backend, n, reporter=reporter)
    windows, starts = Grams.windows(layer, n)
    occurs = backend.counts(windows, reporter) > 0
    text = np.searchsorted(layer.text_ends, starts, side="right")
    coverage = mean_by_number(text, occurs, len(texts))
    # Numbers of the items with a right instance, among all items.
    spread = np.full((3, len(items)), np.nan)
    spread[:, right >= 0] = copies, scored.ips, coverage
    return Frequencies(*spread)


def separation(
    members: Floats,
    others: Floats,
    *,
    alarms: float,
    level: float,
    bases: tuple[Labels, Labels] | None = None,
) -> dict[str, Any]:
    """AUC, and the share of members found at a given share of false alarms, as a row.

    Higher scores speak for membership; undefined ones (nan) are left out.

    `bases`: members and others with the same number belong together.
    """
    member_bases, theirs = bases or (np.arange(len(members)), -1 - np.arange(len(others)))
    member_bases, theirs = member_bases[~np.isnan(members)], theirs[~np.isnan(others)]
    members, others = members[~np.isnan(members)], others[~np.isnan(others)]
    counts = {"members": len(members), "others": len(others)}
    if not all(counts.values()):
        return {**counts, "auc": math.nan}
    auc, error = _auc(members, others, member_bases, theirs)
    units = min(len(np.unique(member_bases)), len(np.unique(theirs)))
    # The lowest threshold that at most the share `alarms` of the others exceeds.
    allowed = int(alarms * len(others) + 1e-9)
    threshold = float(np.sort(others)[::-1][allowed]) if allowed < len(others) else -math.inf
    real = float((others > threshold).mean())
    detected = (members > threshold).astype(np.float64)
    return {
        **counts,
        **estimate("auc", auc, interval_from_error(auc, error, level, units, share=True)),
        # The threshold is taken as given: of the members alone this says how sure the share is.
        **share_cells("found", detected, member_bases, level),
        "false_alarms": real,
    }


def _auc(
    members: Floats, others: Floats, member_bases: Labels, theirs: Labels
) -> tuple[float, float]:
    """The chance that a member scores above another, ties half; its standard error (DeLong, by
    clusters as Obuchowski)."""
    clusters = number_clusters(np.concatenate((member_bases, theirs)))
    count = len(clusters)
    by_member = mean_by_cluster(share_below(members, others), clusters[: len(members)], count)
    by_other = mean_by_cluster(share_below(others, members), clusters[len(members) :], count)
    return by_member.value, (by_member - by_other).error


def share_below(scores: Floats, others: Floats) -> Floats:
    """For each score the share of the others below it, equal ones half."""
    ordered = np.sort(others)
    low, right = (np.searchsorted(ordered, scores, side) for side in ("left", "right"))
    return np.asarray((low + right) / (2 * len(others)))
