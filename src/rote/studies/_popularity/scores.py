"""The instance popularity score (IPS) of texts: counts, deciles, means.

IPS(x) = mean of popularity(g) over the different n-grams g of x;  nan where x has none
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import OptionError
from rote.core.progress import Reporter, Silent
from rote.index.grams import Grams
from rote.search.backends import Backend
from rote.studies._popularity.deciles import Deciles, Scale
from rote.studies._popularity.windows import windows

Scores = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Scored:
    """Per text its score, its tokens and its different n-grams; the deciles that were used.

    `grams` and `counts` are the different n-grams of all texts, with their counts.
    """

    ips: Scores
    tokens: NDArray[np.int64]
    different: NDArray[np.int64]
    scale: Scale
    grams: Grams
    counts: NDArray[np.int64]


def score(
    texts: Sequence[str],
    tasks: Sequence[str],
    backend: Backend,
    n: int,
    *,
    scale: Scale | None = None,
    max_undefined: float = 1.0,
    reporter: Reporter | None = None,
) -> Scored:
    """The score of each text; `tasks` says for each which task it belongs to.

    Without `scale` the deciles come from these texts, task by task. Where more than
    `max_undefined` of a task's texts are shorter than n, nothing is counted at all.
    """
    reporter = reporter or Silent()
    if n < 1:
        raise OptionError(f"an n-gram has at least one token, not {n}")
    if scale is not None:
        scale.check(backend, n)
        for task in dict.fromkeys(tasks):
            scale.of(task)
    layer = backend.tokenize(texts, reporter)
    tokens = np.diff(layer.text_ends, prepend=0)
    names = list(dict.fromkeys(tasks))
    place = {task: number for number, task in enumerate(names)}
    of_text = np.array([place[task] for task in tasks], np.int64)
    _check_lengths(tokens, of_text, names, n, max_undefined)
    found = windows(layer, n)
    counts = backend.counts(found.grams, reporter) if len(found.grams) else np.empty(0, np.int64)
    own = of_text[found.text]
    if scale is None:
        made = {task: _deciles(found.gram[own == t], counts) for t, task in enumerate(names)}
        scale = Scale.by(backend, n, {task: d for task, d in made.items() if d is not None})
    popularity = np.zeros(len(found.gram), np.int64)
    for number, task in enumerate(names):
        if (mine := own == number).any():
            popularity[mine] = scale.of(task)(counts[found.gram[mine]])
    different = np.bincount(found.text, minlength=len(texts))
    total = np.bincount(found.text, popularity, minlength=len(texts))
    ips = np.full(len(texts), np.nan)
    np.divide(total, different, out=ips, where=different > 0)
    return Scored(ips, tokens, different, scale, found.grams, counts)


def _deciles(grams: NDArray[np.int64], counts: NDArray[np.int64]) -> Deciles | None:
    """Of the different n-grams of a task; None where all of its texts are too short."""
    different = np.unique(grams)
    return Deciles.of(counts[different]) if len(different) else None


def _check_lengths(
    tokens: NDArray[np.int64],
    of_text: NDArray[np.int64],
    names: Sequence[str],
    n: int,
    allowed: float,
) -> None:
    """Refuse an n that leaves too many texts without a score, and say which one does not."""
    lengths = [tokens[of_text == number] for number in range(len(names))]
    short = {
        name: share
        for name, own in zip(names, lengths)
        if (share := float((own < n).mean())) > allowed
    }
    if not short:
        return
    worst = sorted(short, key=lambda name: -short[name])
    said = ", ".join(f"{name} {short[name]:.0%}" for name in worst[:_NAMED])
    if len(worst) > _NAMED:
        said += f" and {len(worst) - _NAMED} more tasks"
    fits = min(_longest(own, allowed) for own in lengths)
    smaller = f"-n {fits} fits all of them" if fits else "some texts hold no token at all"
    raise OptionError(
        f"too many instances are shorter than {n} tokens ({said}; at most {allowed:.0%} may be): "
        f"take a smaller n ({smaller}), or an index of subwords, which cut texts into more tokens"
    )


_NAMED = 4


def _longest(tokens: NDArray[np.int64], allowed: float) -> int:
    """The largest n that leaves at most the allowed share of these texts too short."""
    ordered = np.sort(tokens)
    return int(ordered[min(len(ordered) - 1, int(allowed * len(ordered)))])
