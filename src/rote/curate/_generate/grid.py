"""All combinations of decoding settings, each once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from rote.core.errors import OptionError
from rote.core.model import Decoding

_ESCAPES = {r"\n": "\n", r"\t": "\t"}


def grid(
    temperatures: Sequence[float],
    top_ps: Sequence[float],
    top_ks: Sequence[int],
    constraints: Sequence[float],
    *,
    max_tokens: int,
    stop: Sequence[str] = (),
) -> list[Decoding]:
    """The settings in the order in which they are given. Greedy decoding draws nothing, so
    settings of draws leave it as it is, and it stands there once."""
    for name, values in (
        ("temperature", temperatures), ("top-p", top_ps), ("top-k", top_ks),
        ("constraint", constraints),
    ):  # fmt: skip
        if not values:
            raise OptionError(f"--{name} names no value")
    drawn = any(p < 1 for p in top_ps) or any(top_ks) or any(constraints)
    if drawn and not any(temperatures):
        raise OptionError(
            "--top-p, --top-k and --constraint change draws, and temperature 0 draws nothing: set "
            "one, such as --temperature 1"
        )
    stops = tuple(_unescaped(one) for one in stop)
    found: dict[str, Decoding] = {}
    for temperature, top_p, top_k, constraint in product(temperatures, top_ps, top_ks, constraints):
        if temperature:
            made = Decoding(max_tokens, temperature, top_p, top_k, constraint, stops)
        else:
            # Its settings are as if they were not there, but a wrong one is still an error.
            Decoding(max_tokens, 1, top_p, top_k, constraint)
            made = Decoding(max_tokens, stop=stops)
        found.setdefault(made.signature, made)
    return list(found.values())


def label(decoding: Decoding) -> str:
    """The settings without what all have in common."""
    return decoding.signature.partition(f"-max{decoding.max_tokens}")[0]


def is_certain(decoding: Decoding) -> bool:
    """Whether every draw would come out the same."""
    return not decoding.sampled or decoding.constraint == 1 or decoding.top_k == 1


def _unescaped(stop: str) -> str:
    for written, meant in _ESCAPES.items():
        stop = stop.replace(written, meant)
    return stop
