"""A model for tests: the distribution of the next word is known and depends on the last word only.

`fake:` opens it from a JSON file `{"word": {"next": probability, ...}, ...}`; the start and the
end are written `""`. Tokens are a word with the space before it.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rote.core.decoding import choose, drawn_logs, generator
from rote.core.errors import InputError
from rote.core.json_reader import read_json
from rote.core.model import Continuation, Decoding, Generated, Model, Prompt, Scored
from rote.core.progress import Reporter
from rote.models.options import ModelOptions
from rote.models.windows import near_bound

_TOKEN = re.compile(r"\s*\S+|\s+")
_UNSEEN = 1e-6
"""The chance of a word that the table does not name."""


@dataclass(frozen=True, slots=True)
class Fake:
    """Next words by a table; small enough to work out every score by hand."""

    table: Mapping[str, Mapping[str, float]]
    batch: int = 4096
    limit: int | None = None

    @property
    def signature(self) -> str:
        serialized = json.dumps(self.table, sort_keys=True).encode()
        return f"fake/1-{hashlib.blake2b(serialized, digest_size=6).hexdigest()}"

    def length(self, text: str) -> int:
        return len(_TOKEN.findall(text))

    def score(self, wanted: Sequence[Continuation]) -> list[Scored]:
        return [self._score(request) for request in wanted]

    def drawn(self, wanted: Sequence[Continuation], decoding: Decoding) -> list[Scored]:
        return [self._score(request, decoding) for request in wanted]

    def generate(self, wanted: Sequence[Prompt], decoding: Decoding) -> list[Generated]:
        return [self._generate(prompt, decoding) for prompt in wanted]

    def near(
        self, wanted: Sequence[Continuation], decoding: Decoding, edits: int, beams: int
    ) -> list[float]:
        return [self._near(request, decoding, edits, beams) for request in wanted]

    def _near(self, request: Continuation, decoding: Decoding, edits: int, beams: int) -> float:
        """Words are numbered over the whole table; those that do not follow have no chance."""
        words = request.text.split()
        names = sorted({name for row in self.table.values() for name in row} | set(words))
        number = {name: place for place, name in enumerate(names)}

        def logits(last: str) -> np.ndarray:
            row = np.full(len(names), -np.inf)
            following, logs = self._following(last)
            row[[number[name] for name in following]] = logs
            return row

        def step(parents: list[int], tokens: list[int]) -> np.ndarray:
            return np.array([logits(names[token]) for token in tokens])

        begin = logits((request.context.split() or [""])[-1])[None]
        return near_bound([number[word] for word in words], begin, step, decoding, edits, beams)

    def _following(self, word: str) -> tuple[list[str], np.ndarray]:
        chances = self.table.get(word, {})
        return list(chances), np.log(np.array(list(chances.values()), np.float64))

    def _score(self, request: Continuation, decoding: Decoding | None = None) -> Scored:
        last = (request.context.split() or [""])[-1]
        rows: list[tuple[float, int, int, bool, float, float]] = []
        for match in _TOKEN.finditer(request.text):
            names, logs = self._following(last)
            chances = np.exp(logs)
            word = match.group().strip()
            at = names.index(word) if word in names else None
            mean = float((chances * logs).sum()) if names else float("nan")
            spread = float(np.sqrt((chances * (logs - mean) ** 2).sum())) if names else mean
            likely = at is not None and at == int(np.argmax(logs))
            logprob = float(np.log(_UNSEEN)) if at is None else float(logs[at])
            if decoding is not None:
                logprob = -math.inf
                if at is not None:
                    logprob = float(drawn_logs(logs[None], np.array([at]), decoding)[0])
            rows.append((logprob, match.start(), match.end(), likely, mean, spread))
            last = word
        return Scored.of(rows)

    def _generate(self, prompt: Prompt, decoding: Decoding) -> Generated:
        random = generator(prompt)
        last = (prompt.text.split() or [""])[-1]
        completion = ""
        for tokens in range(1, decoding.max_tokens + 1):
            names, logs = self._following(last)
            last = names[choose(logs, decoding, random)] if names else ""
            if not last:
                return Generated(completion, tokens, "end")
            completion += f" {last}" if completion or prompt.text else last
            places = [completion.index(stop) for stop in decoding.stop if stop in completion]
            if places:
                return Generated(completion[: min(places)], tokens, "stop")
        return Generated(completion, decoding.max_tokens, "length")


def open_model(name: str, options: ModelOptions, reporter: Reporter) -> Model:
    """`fake:FILE.json`"""
    try:
        table = read_json(Path(name), regular=False)
    except OSError as error:
        raise InputError(f"no table of next words: {error.strerror}", file=name) from None
    try:
        chances = [chance for following in table.values() for chance in following.values()]
        fits = all(0 < chance <= 1 for chance in chances)
    except (AttributeError, TypeError):
        fits = False
    if not fits:
        raise InputError(
            "a table of next words contains, for each word, words and their probabilities above 0",
            file=name,
            remedy='Write {"word": {"next": 0.5, "other": 0.5}}; "" is the start and the end',
        )
    return Fake(table)
