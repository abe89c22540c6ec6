"""Every text that is to be generated, in the order of the file: who, after what, how, which seed.

A plan depends on nothing but the inputs and the settings, so a run that goes on makes the same
one, and compares it with what is in the file already.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import product
from typing import Any, Literal

from rote.core.errors import InputError, OptionError
from rote.core.json_reader import parse_json
from rote.core.model import Decoding, Generated, Prompt
from rote.curate._generate.prompts import Asked
from rote.curate.reading import json_line
from rote.measure._speaking import Named

_ESCAPES = {r"\n": "\n", r"\t": "\t"}


def grid(
    temperatures: Sequence[float],
    top_ps: Sequence[float],
    top_ks: Sequence[int],
    constraints: Sequence[float],
    *,
    max_tokens: int,
    stop: Sequence[str] = (),
    beams: int = 1,
) -> list[Decoding]:
    """The settings in the order in which they are given. Greedy decoding draws nothing, so
    settings of draws leave it as it is, and it occurs there once."""
    for name, values in (
        ("temperature", temperatures),
        ("top-p", top_ps),
        ("top-k", top_ks),
        ("constraint", constraints),
    ):
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
            made = Decoding(max_tokens, temperature, top_p, top_k, constraint, stops, beams)
        else:
            # Its settings are as if they were not there, but a wrong one is still an error.
            Decoding(max_tokens, 1, top_p, top_k, constraint)
            made = Decoding(max_tokens, stop=stops, beams=beams)
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


Source = Literal["auto", "model", "settings", "both"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """One text of the plan."""

    asked: Asked
    model: Named
    decoding: Decoding
    sample: int
    seed: int
    source: str

    @property
    def prompt(self) -> Prompt:
        return Prompt(self.asked.text, self.seed)

    @property
    def id(self) -> str:
        return "/".join((self.asked.id, self.model.name, label(self.decoding), str(self.sample)))

    def settled(self, signature: str) -> dict[str, Any]:
        """What is in its record whatever the model writes."""
        decoding = self.decoding
        return {
            "id": self.id,
            "source": self.source,
            "doc_id": self.asked.doc_id,
            "prompt": self.asked.text,
            **self.asked.fields,
            "model": self.model.name,
            "signature": signature,
            "temperature": decoding.temperature,
            "top_p": decoding.top_p,
            "top_k": decoding.top_k,
            "constraint": decoding.constraint,
            "max_tokens": decoding.max_tokens,
            **({"stop": list(decoding.stop)} if decoding.stop else {}),
            **_searched(decoding),
            "sample": self.sample,
            "seed": self.seed,
        }

    def record(self, signature: str, made: Generated) -> dict[str, Any]:
        settled = self.settled(signature)
        withheld = made.ended == "filtered" and not made.text
        return {
            "id": settled.pop("id"),
            # An empty text would be one that the model wrote.
            "text": None if withheld else made.text,
            **settled,
            "ended": made.ended,
            "incomplete": made.ended in ("length", "filtered"),
            "tokens": made.tokens,
            **({} if made.sent is None else {"sent": made.sent}),
        }


def _searched(decoding: Decoding) -> dict[str, Any]:
    if decoding.beams == 1:
        return {}
    return {"beams": decoding.beams}


@dataclass(frozen=True, slots=True)
class Plan:
    """Texts that share a model and settings stand together: they are asked for in batches."""

    prompts: Sequence[Asked]
    models: Sequence[Named]
    decodings: Sequence[Decoding]
    samples: int
    seed: int
    source: Source

    def parts(self) -> Iterator[tuple[Named, Decoding, list[Wanted]]]:
        for model in self.models:
            for decoding in self.decodings:
                yield model, decoding, list(self._part(model, decoding))

    def __len__(self) -> int:
        return len(self.models) * sum(self.texts(decoding) for decoding in self.decodings)

    def texts(self, decoding: Decoding) -> int:
        return len(self.prompts) * self.times(decoding)

    def times(self, decoding: Decoding) -> int:
        """How often a prompt is continued: more than once would be the same where nothing is
        drawn."""
        return 1 if is_certain(decoding) else self.samples

    @property
    def tokens(self) -> int:
        """Tokens that are generated at most."""
        return len(self.models) * sum(self.texts(d) * d.max_tokens for d in self.decodings)

    def _part(self, model: Named, decoding: Decoding) -> Iterator[Wanted]:
        source = self._source(model, decoding)
        for asked in self.prompts:
            for sample in range(1, self.times(decoding) + 1):
                seed = _seed(self.seed, asked.id, asked.text, label(decoding), sample)
                yield Wanted(asked, model, decoding, sample, seed, source)

    def _source(self, model: Named, decoding: Decoding) -> str:
        kind = self.source
        if kind == "auto":
            kind = "both" if len(self.decodings) > 1 else "model"
        parts = {"model": [model.name], "settings": [label(decoding)]}
        return "|".join(parts.get(kind, [model.name, label(decoding)]))


def _seed(*parts: object) -> int:
    """Of 31 bits, which every endpoint takes. It does not depend on the model, so that two
    models draw with the same luck."""
    return int.from_bytes(blake2b(json.dumps(parts).encode(), digest_size=4).digest(), "big") >> 1


def fits(line: bytes, wanted: Wanted, signature: str) -> str | None:
    """None if a line of a file is the record of this text; else what is different."""
    try:
        held = parse_json(line)
    except InputError:
        held = None
    if not isinstance(held, dict):
        return "a line is no record"
    # As it would be written, so that tuples, dates and the like compare.
    settled: Mapping[str, Any] = parse_json(json_line(wanted.settled(signature)))
    # A setting says more than the id, which is made of settings.
    for name, value in sorted(settled.items(), key=lambda one: one[0] == "id"):
        if held.get(name) != value:
            return f"'{name}' is {_brief(held.get(name))}, not {_brief(value)}"
    missing = [name for name in ("text", "ended", "tokens") if name not in held]
    return f"a record has no '{missing[0]}'" if missing else None


def _brief(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else text[:77] + "..."
