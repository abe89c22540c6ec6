"""Templates as `diversity` 0.3.1 counts them, on the tags and sentences of the layer at hand.

`extract_patterns`: the most frequent n-grams within sentences, equal ones as first seen, without
a minimum count, and their word strings. `template_rate`: share of texts that hold one of the
strings. `templates_per_token`: at each place of a text, how many shards of 500 strings have one
that begins there, so two strings of one shard at one place count once; by the text's white-space
words; here its mean over texts. The package shards a Python set, whose order changes from run to
run; here strings are sharded as they are first seen. Sentences end with their text, while the
package joins all texts and may let one run on into the next.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import OptionError
from rote.core.layer import Layer
from rote.core.metric import Values
from rote.core.sample import RawText, Take
from rote.measure._templates.strings import matches_of, strings_of, templates_held
from rote.measure._templates.windows import Chosen, Windows, windows

SHARD = 500


def package_windows(layer: Layer, n: int, top: int) -> Windows:
    """The layer's n-grams within sentences; their listings go by sentence, not by text."""
    if layer.sentence_ends is None:
        raise OptionError(
            f"variant package counts n-grams within sentences, and the layer '{layer.name}' comes "
            "without sentence ends: give them with the layer, or take --variant exact"
        )
    return windows(replace(layer, text_ends=layer.sentence_ends), n, top, singles=True)


def package_values(
    windows: Windows,
    word: Layer,
    raw: RawText,
    take: Take,
    chosen: Chosen,
    lengths: NDArray[np.int64],
    *,
    shard: int = SHARD,
) -> Values:
    """Share of texts with a template, mean hits per white-space word, templates in a text.

    `windows` and `chosen`: as `package_windows` and `first_seen` give them. `lengths`: those of
    all texts in white-space words. A text without words has 0 hits.
    """
    texts = len(take)
    if not texts:
        return {"rate": np.nan, "per_token": np.nan, "distinct": np.nan}
    given = strings_of(windows, word, take, chosen)
    matches = matches_of(given, raw, take)
    hits = np.stack((matches.texts, matches.starts, matches.strings // shard), axis=1)
    counts = np.bincount(np.unique(hits, axis=0)[:, 0], minlength=texts)
    return {
        "rate": len(np.unique(matches.texts)) / texts,
        "per_token": float(np.mean(counts / np.maximum(lengths[take], 1))),
        "distinct": templates_held(given, matches) / texts,
    }
