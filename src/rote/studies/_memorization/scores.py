"""All scores of all instances, and what else is known of the items: membership, right answers, how
often a corpus holds them; how well a score tells members of the training data from others.

    TDE accuracy      whether the greedy completion of the first half is the second
    TDE likelihood    log p(second half | first half)
    loss              - mean over tokens of log p(t)
    neighbours        loss(text) - mean over neighbours of loss(neighbour)
    zlib              loss / number of bytes after zlib
    Min-K%            mean of the k % lowest log p(t)
    Min-K%++          the same of (log p(t) - mu(t)) / sigma(t), mu and sigma those of log p under
                      the model's own distribution at t
    reference         loss - loss by a reference model
    error zone        P / (P + N): at the tokens that the model would not have taken, P is the sum
                      of log p(t) - log q(t) where that is above 0, N the sum of what is below,
                      q that of the reference model. It orders texts as P / N does.

Logarithms are natural. Carlini et al. (2021, 2023), Yeom et al. (2018), Mattern et al. (2023),
Shi et al. (2024), Zhang et al. (2025), Ilić et al. (2026). An attack that needs what a backend does
not give is nan.
"""

from __future__ import annotations

import math
import re
import zlib as packing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rote.compare.clusters import mean, numbered, share_interval
from rote.compare.intervals import interval_from_error
from rote.core.errors import InputError, OptionError
from rote.core.model import Continuation, Model, Scored
from rote.core.progress import Reporter
from rote.core.table import estimate
from rote.corpus.items import Item
from rote.index.grams import Grams, window_starts
from rote.models.answers import score_all
from rote.search.backends import Backend
from rote.studies._popularity.scores import score as popularity

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
REFERRED = (
    Attack("reference", "loss less that of the reference model", -1),
    Attack("error_zone", "share of rises at wrongly guessed tokens", 1),
)
"""Attacks that need a second model."""


def halves(text: str) -> Continuation:
    """The first half of the words, and the second with the space before it.

    Of an odd number of words the second half has one more. A text of one word has no half.
    """
    words = list(_WORD.finditer(text))
    cut = words[len(words) // 2 - 1].end() if len(words) > 1 else len(text)
    return Continuation(text[:cut], text[cut:])


def completed(second: Scored) -> float:
    """1 where every token of the second half is the likeliest one, so that greedy decoding writes
    exactly it; nan where there is none."""
    return float(second.greedy.all()) if len(second.greedy) else math.nan


def likelihood(second: Scored) -> float:
    return second.total if len(second.logprobs) else math.nan


def loss(whole: Scored) -> float:
    return -float(whole.logprobs.mean()) if len(whole.logprobs) else math.nan


def against_neighbours(whole: Scored, neighbours: Sequence[Scored]) -> float:
    """Negative where the model likes the text better than what could stand in its place."""
    losses = [loss(one) for one in neighbours]
    return loss(whole) - sum(losses) / len(losses) if losses else math.nan


def zlib(text: str, whole: Scored) -> float:
    return loss(whole) / len(packing.compress(text.encode("utf-8", "surrogatepass")))


def min_k(whole: Scored, k: float) -> float:
    return _lowest(whole.logprobs, k)


def min_k_plus(whole: Scored, k: float) -> float:
    """A place where the model is certain (no spread) says nothing and is left out."""
    told = whole.spread > 0
    if np.isnan(whole.spread).any():
        return math.nan
    return _lowest((whole.logprobs[told] - whole.expected[told]) / whole.spread[told], k)


def error_zone(whole: Scored, reference: Scored) -> float:
    """nan where every token is the likeliest one, or the models agree."""
    moved = (whole.logprobs - reference.logprobs)[~whole.greedy]
    up, down = moved[moved > 0].sum(), -moved[moved < 0].sum()
    return float(up / (up + down)) if up + down > 0 else math.nan


def _lowest(values: NDArray[np.float64], k: float) -> float:
    """The mean of the lowest share `k` of the values, of one at least."""
    if not len(values):
        return math.nan
    count = max(1, int(k * len(values)))
    return float(np.sort(values)[:count].mean())


Floats = NDArray[np.float64]
Neighbours = Callable[[Sequence[str], Reporter], list[list[str]]]
"""Texts that could stand in the place of each text; none for one in which nothing can change."""


@dataclass(frozen=True, slots=True)
class Scores:
    """By attack one number per instance, and which instances of each item are right and wrong."""

    by_attack: dict[str, Floats]
    right: NDArray[np.int64]
    """-1 where nobody says which option is right."""
    wrong: tuple[NDArray[np.int64], ...]

    def of_right(self, attack: str) -> Floats:
        found = self.by_attack[attack][self.right]
        return np.where(self.right < 0, np.nan, found)

    def of_wrong(self, attack: str) -> Floats:
        """The mean over the wrong options; nan where there are none."""
        column = self.by_attack[attack]
        return np.array([column[own].mean() if len(own) else np.nan for own in self.wrong])

    def differences(self, attack: str) -> Floats:
        """(right - wrong) / |right|: log-likelihoods are negative, and the sign must stay."""
        right = self.of_right(attack)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = (right - self.of_wrong(attack)) / np.abs(right)
        return np.where(np.isfinite(found), found, np.nan)


def score(
    items: Sequence[Item],
    model: Model,
    k: float,
    neighbours: Neighbours | None,
    reporter: Reporter,
    reference: Model | None = None,
) -> Scores:
    """Ask the model for every instance whole, its second half, and its neighbours; the reference
    model for those whole."""
    instances = [text for item in items for text in item.instances()]
    wholes = score_all(model, [Continuation("", text) for text in instances], reporter)
    cuts = [halves(text) for text in instances]
    seconds = score_all(model, cuts, reporter, title="second halves")
    near = neighbours(instances, reporter) if neighbours else [[] for _ in instances]
    asked = [Continuation("", text) for some in near for text in some]
    answered = iter(score_all(model, asked, reporter, title="neighbours"))
    beside = [[next(answered) for _ in some] for some in near]
    rows = [
        (
            completed(second),
            likelihood(second),
            loss(whole),
            against_neighbours(whole, others),
            zlib(text, whole),
            min_k(whole, k),
            min_k_plus(whole, k),
        )
        for text, whole, second, others in zip(instances, wholes, seconds, beside)
    ]
    table = np.array(rows, np.float64).reshape(len(instances), len(ATTACKS))
    found: dict[str, Floats] = {a.name: table[:, place] for place, a in enumerate(ATTACKS)}
    if reference is not None:
        asked = [Continuation("", text) for text in instances]
        others = score_all(reference, asked, reporter, title="reference")
        found |= _referred(wholes, others, model, reference)
    return Scores(found, *places(items))


def _referred(
    wholes: Sequence[Scored], others: Sequence[Scored], model: Model, reference: Model
) -> dict[str, Floats]:
    for one, other in zip(wholes, others):
        if one.ends.tolist() != other.ends.tolist():
            raise OptionError(
                f"{reference.signature} cuts texts into other tokens than {model.signature}, so "
                "that their losses do not compare: --reference-model needs the same tokenizer"
            )
    pairs = list(zip(wholes, others))
    return {
        "reference": np.array([loss(one) - loss(other) for one, other in pairs], np.float64),
        "error_zone": np.array([error_zone(one, other) for one, other in pairs], np.float64),
    }


def unscored(items: Sequence[Item]) -> Scores:
    """Of a model that gives no log-probabilities: every score is undefined."""
    count = sum(len(item.options) for item in items)
    return Scores({attack.name: np.full(count, np.nan) for attack in ATTACKS}, *places(items))


def places(items: Sequence[Item]) -> tuple[NDArray[np.int64], tuple[NDArray[np.int64], ...]]:
    """Of each item the number of the right instance (-1: nobody knows) and those of the others."""
    right, wrong, first = [], [], 0
    for item in items:
        own = np.arange(first, first + len(item.options))
        right.append(-1 if item.answer is None else first + item.answer)
        wrong.append(own[:0] if item.answer is None else np.delete(own, item.answer))
        first += len(item.options)
    return np.array(right, np.int64), tuple(wrong)


_SAID = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0}


@dataclass(frozen=True, slots=True)
class Frequencies:
    """How the corpus knows the right instance of each item: nan where it is too short."""

    copies: Floats
    """How often the whole instance occurs there."""
    ips: Floats
    """Its popularity (1 to 10): the mean decile of its n-grams' counts."""
    held: Floats
    """The share of its n-grams that occur there at all."""


def member(item: Item, field: str) -> float:
    """1 for a member of the training data, 0 for another, nan where it is null or empty; a
    number is how often it was seen."""
    if field not in item.meta:
        raise InputError(
            f"the item '{item.id}' has no such field, only {', '.join(item.meta)}",
            field=field,
            remedy="--member names a field that says of every item whether it is a member",
        )
    value = item.meta[field]
    if value is None or value == "":
        return np.nan
    written = str(value).strip().lower()
    try:
        return _SAID[written] if written in _SAID else float(float(written) > 0)
    except ValueError:
        raise InputError(
            f"the item '{item.id}' holds {value!r}: members are true or above 0, others false or 0",
            field=field,
        ) from None


def frequencies(
    items: Sequence[Item], right: NDArray[np.int64], backend: Backend, n: int, reporter: Reporter
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
    starts = window_starts(layer, n)
    ids = layer.ids[starts[:, None] + np.arange(n)].reshape(-1)
    ends = np.arange(1, len(starts) + 1, dtype=np.int64) * n
    found = backend.counts(Grams(ids, ends, layer.vocabulary), reporter) > 0
    text = np.searchsorted(layer.text_ends, starts, side="right")
    places = np.bincount(text, minlength=len(texts))
    held = np.full(len(texts), np.nan)
    np.divide(np.bincount(text, found, minlength=len(texts)), places, out=held, where=places > 0)
    return Frequencies(*(_spread(column, right) for column in (copies, scored.ips, held)))


def _spread(column: NDArray[np.generic], right: NDArray[np.int64]) -> Floats:
    """Numbers of the items with a right instance, among all items."""
    found = np.full(len(right), np.nan)
    found[right >= 0] = column
    return found


Labels = NDArray[np.int64]


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
    own, theirs = bases or (np.arange(len(members)), -1 - np.arange(len(others)))
    own, theirs = own[~np.isnan(members)], theirs[~np.isnan(others)]
    members, others = members[~np.isnan(members)], others[~np.isnan(others)]
    counts = {"members": len(members), "others": len(others)}
    if not all(counts.values()):
        return {**counts, "auc": math.nan}
    auc, error = _auc(members, others, own, theirs)
    units = min(len(np.unique(own)), len(np.unique(theirs)))
    # At most the share of false alarms that was asked for.
    threshold, real = _threshold(others, alarms)
    found = (members > threshold).astype(np.float64)
    return {
        **counts,
        **estimate("auc", auc, interval_from_error(auc, error, level, units, share=True)),
        # The threshold is taken as given: of the members alone this says how sure the share is.
        **estimate("found", float(found.mean()), share_interval(found, own, level)),
        "false_alarms": real,
    }


def _auc(members: Floats, others: Floats, own: Labels, theirs: Labels) -> tuple[float, float]:
    """The chance that a member scores above another, ties half; its standard error (DeLong, by
    clusters as Obuchowski)."""
    clusters = numbered(np.concatenate((own, theirs)))
    count = len(clusters)
    by_member = mean(below(members, others), clusters[: len(members)], count)
    by_other = mean(below(others, members), clusters[len(members) :], count)
    return by_member.value, (by_member - by_other).error


def below(scores: Floats, others: Floats) -> Floats:
    """For each score the share of the others below it, equal ones half."""
    ordered = np.sort(others)
    left, right = (np.searchsorted(ordered, scores, side) for side in ("left", "right"))
    return np.asarray((left + right) / (2 * len(others)))


def _threshold(others: Floats, alarms: float) -> tuple[float, float]:
    """The lowest threshold that at most the share `alarms` of the others exceeds."""
    allowed = int(alarms * len(others) + 1e-9)
    threshold = float(np.sort(others)[::-1][allowed]) if allowed < len(others) else -math.inf
    return threshold, float((others > threshold).mean())
