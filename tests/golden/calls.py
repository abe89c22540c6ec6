"""What is asked of every command, and what it shows: sections by form, ready to be kept.

All paths are relative to the folder that the tests run in, so that no output holds or wraps at
another folder's name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.cli.calls import HUMAN, World, commands, writing
from tests.golden import app, plain
from tests.golden.shell import Sections, drawn, forms, written
from tests.golden.wider import ANSWERS, FEW, WIDER

Case = Callable[[World], Sections]
NOT_HERE = {
    "demo": "takes minutes and texts that are no part of the base install; its parts are here",
    "serve": "waits for a browser; its pages are here",
    **dict.fromkeys(
        ("train calibrate", "train finetune", "train intervene", "train study"), "needs torch"
    ),
}


def _result(name: str) -> Case:
    def asked(world: World) -> Sections:
        words = world.call(name)
        draws = any(parameter.name == "figures" for parameter in commands()[name].params)
        # All figures of the panel are those of its measures, and the panel.
        one = name == "diversity"
        shown = drawn(*words, one=one) if draws else forms(*words, only=["text"])
        return shown | forms(*words, only=["json", "csv", "latex"])

    return asked


def _limit(world: World) -> Sections:
    asked = ("limit", world.texts, "--max", "4,5", "--seeds", "2", "--field", "text", "-q")
    more = ("--random", "--most-repeated", "--sizes", "2")
    return written(*asked, *more, path="limited") | forms(*asked, "-o", "other", only=["json"])


def _dedup(world: World) -> Sections:
    asked = ("dedup", world.texts, "--length", "6", "--near", "0.9", "-q")
    return written(*asked, path="clean") | forms(*asked, "-o", "clean2", only=["json"])


def _decontaminate(world: World) -> Sections:
    asked = ("decontaminate", world.texts, "--test-items", world.texts, "--benchmark", "texts")
    more = ("-q", "--policy", "cut", "--min-bits", "20", "--share", "0.99")
    found = written(*asked, *more, path="uncontaminated")
    return found | forms(*asked, "-o", "uncontaminated2", only=["json"])


def _pseudo_summaries(world: World) -> Sections:
    asked = ("train", "pseudo-summaries", "example:answers", "-q")
    return written(*asked, path="pairs.jsonl") | forms(*asked, "-o", "p2.jsonl", only=["json"])


def _generate(world: World) -> Sections:
    asked = ("generate", "start:2", "--model", world.model, "--temperature", "0,1", "-q")
    asked += ("--samples", "2", "--max-tokens", "6")
    return written(*asked, path="made.jsonl") | forms(*asked, "-o", "made2.jsonl", only=["json"])


def _judge(world: World) -> Sections:
    texts = [
        {
            "id": f"{n}-{name}",
            "text": f"{name} of {n}.",
            "source": name,
            "doc_id": n,
            "document": f"Day {n} came.",
        }
        for n in range(3)
        for name in "ab"
    ]
    path = world.lines("summaries.jsonl", texts)
    return written("judge", "page", path, "--sample", "2", "-q", path="page.html")


def _reina(world: World) -> Sections:
    return written("train", "reina", world.texts, "-q", path="retrieved.jsonl")


def _annotate(world: World) -> Sections:
    return {
        **written("annotate", world.texts, "-q", path="store"),
        **forms("show", "store", "--limit", "2", only=["text"]),
    }


def _show(world: World) -> Sections:
    return forms("show", "example:answers", "--layers", "lemma,upos,pos,dep,entity", only=["text"])


def _index(world: World) -> Sections:
    both = ("text", "json")
    found: Sections = {}
    for form in both:
        path = f"idx-{form}"
        found |= forms("index", "build", world.corpus, "-o", path, "-q", only=[form])
        found |= forms("index", "info", path, only=[form])
        found |= forms("index", "add", path, world.texts, "-q", only=[form])
        found |= forms("index", "add-layer", path, "lemma", "-q", only=[form])
        found |= forms("index", "merge", path, "-q", only=[form])
        found |= forms("show", path, "--id", "1", only=[form])
        found |= forms("index", "remove", path, "1", "-q", only=[form])
        found |= forms("index", "replace", path, world.texts, "-q", only=[form])
        found |= forms("index", "verify", path, "-q", only=[form])
        found |= forms("index", "info", path, "-q", only=[form])
    return found


def _report(world: World) -> Sections:
    asked = ("report", *ANSWERS, *FEW, "--title", "Short answers", "--examples", "1")
    found = written(*asked, path="study.json")
    for path in ("report.html", "report.md"):
        found |= written("report", "study.json", "-q", path=path)
    folder = written("report", "study.json", "-q", path="paper")
    for title, text in folder.items():
        alike = found.get(title.replace("paper/", ""))
        found[title] = plain.beside(text, alike) if alike else text
    return found


FIRST: dict[str, Case] = {
    **{name.replace(" ", "-"): _result(name) for name in writing("result")},
    "limit": _limit,
    "dedup": _dedup,
    "decontaminate": _decontaminate,
    "train-pseudo-summaries": _pseudo_summaries,
    "generate": _generate,
    "judge-page": _judge,
    "train-reina": _reina,
    "annotate": _annotate,
    "show": _show,
    "index": _index,
    "report": _report,
    "app": app.pages,
}


def keywords(name: str, world: World) -> dict[str, Any]:
    """A measure's call in Python that asks what `World.call` asks."""
    corpus, model = {"corpus": world.corpus}, f"fake:{world.path / 'table.json'}"
    own = {
        **dict.fromkeys(("novelty", "contamination", "originality"), corpus),
        "overlap": {"train": world.corpus},
        "perplexity": {"model": model},
        "distinct": {"partition": "kind", "quality": "score"},
    }
    common = {"by": "source", "reference": HUMAN, "permutations": 9, "matched": False}
    return {**common, **own.get(name, {})}


def sections(name: str, world: World) -> Sections:
    """Everything that is kept in one file."""
    found: Sections = {}
    for cases in (FIRST, WIDER):
        if name in cases:
            found |= cases[name](world)
    return {title: plain.without_place(text) for title, text in found.items()}


CASES = tuple(dict.fromkeys((*FIRST, *WIDER)))
