"""Which passages the model is shown, and how often: the truth that measures are held against."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sources import Passage, Source

# Many passages where recall rises, few where it is sure: 128 copies of one weigh as much as a
# short book.
PLANTED = {1: 50, 2: 50, 4: 50, 8: 50, 16: 50, 32: 25, 64: 25, 128: 25}
HELD_OUT = 400
SEED = 10
Record = dict[str, object]


@dataclass(frozen=True, slots=True)
class Item:
    """A passage and the number of its copies in the training text; 0: held out."""

    passage: Passage
    repeats: int

    @property
    def truth(self) -> Record:
        """The facts about it, without its text."""
        return {
            "id": self.passage.id,
            "source": "planted" if self.repeats else "held-out",
            "repeats": self.repeats,
            "member": self.repeats > 0,
            **self.passage.place,
            "sha256": hashlib.sha256(self.passage.text.encode()).hexdigest()[:16],
        }

    @property
    def record(self) -> Record:
        facts = {key: value for key, value in self.truth.items() if key != "sha256"}
        return {**facts, "doc_id": self.passage.id, "text": self.passage.text}


def draw(passages: Sequence[Passage], seed: int = SEED) -> list[Item]:
    """Passages drawn without replacement, so that members and non-members are alike."""
    counts = [repeats for repeats, number in PLANTED.items() for _ in range(number)]
    counts += [0] * HELD_OUT
    drawn = random.Random(seed).sample(list(passages), len(counts))
    return [Item(passage, repeats) for passage, repeats in zip(drawn, counts)]


def training_records(source: Source, items: Sequence[Item], seed: int = SEED) -> Iterator[Record]:
    """Exactly what the model is trained on: a record per document, and one for each copy."""
    records: list[Record] = [
        {"id": name, "doc_id": name, "source": "body", "repeats": 1, "text": text}
        for name, text in source.body
    ]
    for item in items:
        records.extend(
            {
                "id": f"{item.passage.id}#{copy}",
                "doc_id": item.passage.id,
                "source": "planted",
                "repeats": item.repeats,
                "text": item.passage.text,
            }
            for copy in range(1, item.repeats + 1)
        )
    random.Random(seed).shuffle(records)
    yield from records
