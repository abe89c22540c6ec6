"""What else is known of the items: membership, right answers, how often a corpus holds them; and
how well a score tells members of the training data from others, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.compare.clusters import mean, numbered, share_interval
from rote.compare.intervals import around
from rote.core.errors import InputError
from rote.core.progress import Reporter
from rote.core.table import estimate
from rote.corpus.items import Item
from rote.index.grams import Grams, window_starts
from rote.search.backends import Backend
from rote.studies._popularity.scores import score as popularity

Floats = NDArray[np.float64]
_SAID = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0}


@dataclass(frozen=True, slots=True)
class Frequencies:
    """How the corpus knows the right instance of each item: nan where it is too short."""

    copies: Floats
    """How often the whole instance stands there."""
    ips: Floats
    """Its popularity (1 to 10): the mean decile of its n-grams' counts."""
    held: Floats
    """The share of its n-grams that stand there at all."""


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


def overlap_of_groups(members: Sequence[str], others: Sequence[str], n: int) -> Floats:
    """For each of the others the share of its n-grams (of words, in lower case) that stand in a
    member: without a corpus, what can be said about how alike the two groups are."""
    from rote.annotate import words

    def grams(text: str) -> list[tuple[str, ...]]:
        own = [word.lower() for word in words.get()([text]).items(0)]
        return [tuple(own[i : i + n]) for i in range(len(own) - n + 1)]

    held = {gram for text in members for gram in grams(text)}
    shares = []
    for text in others:
        own = grams(text)
        shares.append(sum(gram in held for gram in own) / len(own) if own else np.nan)
    return np.array(shares, np.float64)


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
    # At most the share of false alarms that was asked for.
    threshold, real = _threshold(others, alarms)
    found = (members > threshold).astype(np.float64)
    return {
        **counts,
        **estimate("auc", auc, around(auc, error, level, texts=min(counts.values()))),
        # The threshold is taken as given: of the members alone this says how sure the share is.
        **estimate("found", float(found.mean()), share_interval(found, own, level)),
        "false_alarms": real,
    }


def _auc(members: Floats, others: Floats, own: Labels, theirs: Labels) -> tuple[float, float]:
    """The chance that a member scores above another, ties half; its standard error (DeLong, by
    clusters as Obuchowski)."""
    clusters = numbered(np.concatenate((own, theirs)))
    count = len(clusters)
    by_member = mean(_below(members, others), clusters[: len(members)], count)
    by_other = mean(_below(others, members), clusters[len(members) :], count)
    return by_member.value, (by_member - by_other).error


def _below(scores: Floats, others: Floats) -> Floats:
    """For each score the share of the others below it, equal ones half."""
    ordered = np.sort(others)
    left, right = (np.searchsorted(ordered, scores, side) for side in ("left", "right"))
    return np.asarray((left + right) / (2 * len(others)))


def _threshold(others: Floats, alarms: float) -> tuple[float, float]:
    """The lowest threshold that at most the share `alarms` of the others exceeds."""
    allowed = int(alarms * len(others) + 1e-9)
    threshold = float(np.sort(others)[::-1][allowed]) if allowed < len(others) else -math.inf
    return threshold, float((others > threshold).mean())
