"""Every command with a call that works, on little data: what contract tests over all of them use.

Names of sources are as bad as names get; they must come out as they went in.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import click
import pytest

from rote.cli.main import Rote, rote
from rote.core import plugins
from rote.core.record import Study
from rote.core.registry import find
from rote.core.result import Interval, Result, SourceResult
from rote.core.signature import Signature
from rote.measure.driver.compute import compute
from rote.studies.dispatch.driver import run_command
from tests.kit import write_jsonl

# They take `run` when they are imported, which must not be the one that remembers.
for _taker in ("rote.report.builder", "rote.studies.dispatch.functions", "rote.web.forms"):
    import_module(_taker)

HUMAN = "human [/b]"
NAMES = (HUMAN, "llama[instruct]", "[bold]x :tada:", "=cmd|' /C'!A0", "50 %_{it}\\<i>\ny")
MODEL = "small[b]"
OPENINGS = ("The old cat sat", "A grey hen ran", "Some cold rain fell", "One man sang", "It was")
TABLE = {
    "": {"the": 0.5, "with": 0.5},
    "the": {"tin": 0.7, "hen": 0.3},
    "with": {"a": 0.9, "no": 0.1},
    "a": {"key": 0.5, "hen": 0.3, "spoon": 0.2},
}
GOALS = (
    ("open the tin", "with a key", "with a hen", 0),
    ("open the tin", "with a spoon", "with a hen", 0),
    ("stir the tea", "with a spoon", "with no hands", 0),
    ("feed the hen", "with no hands", "with a key", 1),
)
FAST = ("--permutations", "9", "--no-matched", "-q")


@cache
def commands() -> dict[str, click.Command]:
    """All commands by the words that call them; making them takes long."""
    return dict(_walk(rote, ()))


def _walk(group: click.Group, before: tuple[str, ...]) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from _walk(command, (*before, name))
        else:
            yield " ".join((*before, name)), command


LOADED = cache(Rote.load)


def make_once(patch: pytest.MonkeyPatch) -> None:
    """Let a command be the one that was made before; at the shell each is made once, too."""
    patch.setattr(Rote, "load", lambda group, name, room: LOADED(group, name, room))


def measure_once(patch: pytest.MonkeyPatch, kept: dict[str, Any]) -> None:
    """Let the same question about the same files be answered from what is kept."""

    def remembered(chosen: Any, files: Any, **given: Any) -> Any:
        key = repr((chosen, files, given["settings"], given.get("read"), given.get("panel")))
        if key not in kept:
            kept[key] = compute(chosen, files, **given)
        return kept[key]

    def studied(name: str, inputs: Any, given: Mapping[str, Any], **told: Any) -> Result:
        record = find(name)
        if not isinstance(record, Study) or record.ledger or given.get("write"):
            return run_command(name, inputs, given, **told)
        key = repr((name, inputs, sorted(given.items())))
        if key not in kept:
            kept[key] = run_command(name, inputs, given, **told)
        return cast(Result, kept[key])

    patch.setattr("rote.measure.driver.compute.compute", remembered)
    patch.setattr("rote.studies.dispatch.driver.run_command", studied)


def writing(kind: Any) -> list[str]:
    """The commands whose -o writes this."""
    return [
        name
        for name, command in commands().items()
        if any(p.name == "output" and getattr(p, "writes", None) == kind for p in command.params)
    ]


class World:
    """A folder of data; `changed` names one piece of it that is not as usual. Items are four, or
    `times` as many, enough to predict answers from."""

    def __init__(self, path: Path, changed: str = "", times: int = 1) -> None:
        self.path, self.changed, self.goals = path, changed, GOALS * times
        other = " again" if changed == "texts" else ""
        self.texts = self.lines(
            "texts.jsonl",
            [
                {
                    "id": f"{place}-{n}",
                    # Whose a text is may change and the texts stay the same.
                    "source": NAMES[(place + (changed == "sources")) % len(NAMES)],
                    "doc_id": n,
                    "text": f"{opening}{other} on a mat by the door. It was day {n} of the year.",
                    "reference": f"A cat sat on the mat by a door. Day {n}.",
                    "document": f"{opening} for long. A cat sat on the mat. Day {n} of May came.",
                }
                for place, opening in enumerate(OPENINGS)
                for n in range(5)
            ],
        )
        corpus = ["He opened the tin with a key. The old cat sat on a mat by the door."]
        corpus += ["With a spoon, the hen ran again." if changed == "corpus" else "With a spoon."]
        self.corpus = self.lines(
            "corpus.jsonl",
            [{"id": str(n), "text": t, "author": f"A{n} [/b]"} for n, t in enumerate(corpus)],
        )
        table = {**TABLE, "with": {"a": 0.2, "no": 0.8}} if changed == "model" else TABLE
        (path / "table.json").write_text(json.dumps(table))
        self.model = f"{MODEL}=fake:{path / 'table.json'}"
        self.items = self.items_of("items.jsonl")
        self.after = self.items_of("after.jsonl", again=" again" * (1 + (changed == "after")))
        self.words = self.lines(
            "words.jsonl",
            [{"id": str(n), "context": "He opened the", "target": "tin"} for n in range(3)],
        )
        self.results = self.result("results.json", NAMES)
        self.swept = self.result("swept.json", [f"{a}|{t}" for a in NAMES[:3] for t in ("1", "2")])
        self.answers = self.lines(
            "answers.jsonl",
            [
                {
                    "judge": judge,
                    "doc_id": str(n),
                    "source": name,
                    "highlights": 3,
                    "covered": (n + place + (changed == "answers")) % 4,
                    "made_up": (n * place + (judge == "b")) % 3,
                }
                for judge in "ab"
                for n in range(4)
                for place, name in enumerate(NAMES)
            ],
        )
        self.summaries = self.lines(
            "summaries.jsonl",
            [
                {
                    "id": f"{n}-{name}",
                    "text": f"Day {n} came" + " again" * (place + (changed == "summaries")) + ".",
                    "source": name,
                    "doc_id": str(n),
                    "document": f"Day {n} came and went.",
                }
                for n in range(4)
                for place, name in enumerate(NAMES)
            ],
        )
        # By the last word: longer texts win against the first, the second place among them.
        says: dict[str, dict[str, float]] = {"came.": {"A": 1}, "again.": {"B": 1}}
        says |= {"Answer:": {"A": 1}} | ({"again.": {"T": 1}} if changed == "judge" else {})
        (path / "judge.json").write_text(json.dumps(says))
        self.judge = f"{MODEL}=fake:{path / 'judge.json'}"
        rise = 9 * (changed == "quality")
        rated = [f'"{name}",{n + rise * (n % 2)}' for n, name in enumerate(NAMES)]
        (path / "ratings.csv").write_text("\n".join(["source,rating", *rated]))
        self.quality = str(path / "ratings.csv")

    @cached_property
    def index(self) -> str:
        """An index of the corpus, made when it is asked for."""
        from tests.indexes import build_index

        path = self.path / "IDX"
        if not path.exists():
            build_index(self.corpus, path, layers=("lower", "pos", "lemma"))
        return str(path)

    @cached_property
    def sampled(self) -> str:
        """Three answers to each prompt of two sources."""
        year = "week" if self.changed == "texts" else "year"
        return self.lines(
            "sampled.jsonl",
            [
                {
                    "id": f"{place}-{n}-{m}",
                    "doc_id": n,
                    "score": m + 1,
                    "kind": m * place,
                    "source": NAMES[1 - place if self.changed == "sources" else place],
                    "text": f"{OPENINGS[m * place]} on day {n} of the {year}.",
                }
                for place in range(2)
                for n in range(5)
                for m in range(3)
            ],
        )

    def lines(self, name: str, records: Sequence[Mapping[str, Any]]) -> str:
        return str(write_jsonl(self.path / name, records))

    def items_of(self, name: str, again: str = "") -> str:
        flipped = self.changed == "answers"
        return self.lines(
            name,
            [
                {
                    "id": str(n),
                    "goal": goal + again,
                    "sol1": one,
                    "sol2": two,
                    "label": label,
                    "acc": (n + flipped) % 2,
                    "member": n % 2,
                }
                for n, (goal, one, two, label) in enumerate(self.goals)
            ],
        )

    def result(self, name: str, sources: Sequence[str]) -> str:
        lift = 7 * (self.changed == "results")
        made = Result(
            measure="lexical",
            signature=Signature.of({"measure": "lexical", "texts": "0"}),
            by=("source", "temperature") if "|" in sources[0] else ("source",),
            reference=None,
            interval=Interval(0.95, "by hand"),
            by_source={
                source: SourceResult(
                    *(5, 50, {"ttr": n + 0.5, "mtld": (n * (3 + lift)) % 5 + 0.25}),
                    intervals={"ttr": (n, n + 1)},
                )
                for n, source in enumerate(sources)
            },
            tables={
                "values": [
                    {"value": v, "title": v, "higher": "diverse", "length_sensitive": False}
                    for v in ("ttr", "mtld")
                ]
            },
        )
        (self.path / name).write_text(made.to_json())
        return str(self.path / name)

    def call(self, command: str) -> list[str]:
        """The command with what it needs, without where the result goes."""
        own: dict[str, Sequence[str]] = {
            "correlate": (self.results, "--values", "all", "--quality", self.quality),
            "factors": (self.swept, "--values", "all", "--over", "temperature"),
            "popularity": (self.items, "--corpus", self.index, "-n", "2"),
            "perturb": (self.items, "--perturbed", self.after),
            "evaluate": (self.items, self.words, "--model", self.model),
            "memorization": (
                *(self.items, "--model", self.model, "--member", "member"),
                *("--corpus", self.index, "-n", "2"),
            ),
            "trace": (
                *(self.texts, "--corpus", self.index),
                *("--min-words", "3", "--min-bits", "1", "--kinds", "verbatim"),
            ),
            "judge agreement": (self.answers,),
            "judge model": (
                *(self.summaries, "--model", self.judge, "--of", "quality"),
                *("--instruction", "{first} {second}"),
            ),
            "decontaminate": (self.texts, "--test-items", self.texts, "--benchmark", "texts"),
            "train intervene": (self.texts,),
            "train study": (self.texts, "--from-config", "tiny"),
            "count": (self.index, "the tin", "a mat"),
            "search": (self.index, "the"),
            "table": (self.swept,),
            "top": (self.index, "-n", "2"),
            "index originals": (self.index,),
            "novelty": self._measured("--corpus", self.corpus),
            "contamination": self._measured("--corpus", self.corpus),
            "originality": self._measured("--corpus", self.corpus),
            "overlap": self._measured("--train", self.corpus),
            "distinct": (
                self.sampled,
                *self._measured("--partition", "kind", "--quality", "score")[1:],
            ),
            "perplexity": self._measured("--model", f"fake:{self.path / 'table.json'}"),
        }
        if command in own:
            return [*command.split(), *own[command], "-q"]
        assert command == "diversity" or command in plugins.members("measure"), command
        return [command, *self._measured()]

    def _measured(self, *more: str) -> list[str]:
        return [self.texts, "--by", "source", "--reference", HUMAN, *more, *FAST]
