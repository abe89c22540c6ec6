"""The whole panel at once: words, trees, meanings, compression, self-repetition, homogenization.

`--figure` draws one picture of it: all sources on all aspects, against the reference. With several
tasks, `--by task,source --reference human` compares the sources of each task with its human texts.
Semantic diversity needs the extra `semantic` and is left out without it.

\b
  rote diversity stories.jsonl --by source --reference human
  rote diversity tasks.jsonl --by task,source --reference human --figure panel.png
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rote.annotate import embeddings
from rote.cli._record import panel_command
from rote.core.metric import option
from rote.measure import panel


@dataclass(frozen=True, slots=True)
class PanelOptions:
    """What all measures of the panel share; their other settings stay at their defaults."""

    variant: Literal["exact", "paper", "package"] = option(
        "exact", "As defined, as printed in the paper, or as the `diversity` package computes it"
    )
    sentences: int | None = option(
        None,
        "At most this many sentences of each source, drawn at random, for trees (all) and meanings "
        "(1,000); variant paper: 3,000 and 2,000",
    )
    embedder: str = option(
        embeddings.DEFAULT,
        "Who makes the vectors: minilm (English), sentence-transformers:NAME; de=NAME: of German "
        "texts",
    )


command = panel_command("diversity", __doc__ or "", panel(), PanelOptions)
